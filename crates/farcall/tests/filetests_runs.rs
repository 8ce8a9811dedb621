//! Executables as a user holds them: wrong inputs, failed runs, many threads, deep programs.

use expect_test::expect;
use farcall::ir::{DType, Literal, Source, text};
use farcall::{CompileOptions, Executable, Registry};
use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::prelude::*;

/// Fails for negative numbers.
#[handler(name = "root")]
fn root(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    for (x, y) in x.iter().zip(y.iter_mut()) {
        ensure!(*x >= 0.0, "{x} has no root");
        *y = x.sqrt();
    }
    Ok(())
}

const OPS: &[&OpDescriptor] = farcall_ffi::ops![root];

fn compile(program: &str) -> Executable {
    let registry = Registry::new();
    registry.register_ops(OPS).unwrap();
    let module = text::parse(&Source::new("test.mlir", program)).unwrap();
    Executable::compile(&module, &registry, &CompileOptions::default()).unwrap()
}

const ROOTS: &str = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  %1 = stablehlo.custom_call @root(%0) {mhlo.backend_config = {}} : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}";

fn f32s(values: &[f32]) -> Literal {
    Literal::from_slice(DType::F32, [values.len()], values)
}

#[test]
fn wrong_inputs_are_named() {
    let executable = compile(ROOTS);
    let message = |inputs: &[Literal]| executable.run(inputs).unwrap_err().to_string();
    expect!["the program takes 1 inputs, 0 were given (it takes tensor<2xf32>)"].assert_eq(&message(&[]));
    expect!["input 0 is tensor<3xf32>, but the program takes tensor<2xf32>"]
        .assert_eq(&message(&[f32s(&[1.0, 2.0, 3.0])]));
    expect!["input 0 is tensor<2xi32>, but the program takes tensor<2xf32>"]
        .assert_eq(&message(&[Literal::zeros(DType::S32, [2])]));
}

#[test]
fn a_failed_run_leaves_the_executable_usable() {
    let executable = compile(ROOTS);
    for _ in 0..3 {
        let message = executable.run(&[f32s(&[-1.0, 2.0])]).unwrap_err().to_string();
        assert!(
            message.contains("`root` at test.mlir:3:8") && message.ends_with("-2 has no root"),
            "{message}"
        );
        let out = executable.run(&[f32s(&[2.0, 8.0])]).unwrap();
        assert_eq!(out, [f32s(&[2.0, 4.0])]);
    }
}

#[test]
fn many_threads_run_it_at_once() {
    let executable = compile(ROOTS);
    std::thread::scope(|scope| {
        for i in 0..8 {
            let executable = executable.clone();
            scope.spawn(move || {
                let x = (i * i) as f32;
                for _ in 0..200 {
                    let out = executable.run(&[f32s(&[2.0 * x, x / 2.0])]).unwrap();
                    assert_eq!(out, [f32s(&[2.0 * i as f32, i as f32])]);
                }
            });
        }
    });
}

#[test]
fn deep_calls_with_choices_do_not_overflow_the_stack() {
    // Each function chooses, and calls the next one in the branch.
    let mut program = String::from(
        "func.func @main(%p: tensor<i1>, %x: tensor<i32>) -> tensor<i32> {\n  %0 = call @f0(%p, %x) : (tensor<i1>, tensor<i32>) -> tensor<i32>\n  return %0 : tensor<i32>\n}\n",
    );
    let depth = 900;
    for i in 0..depth {
        let inner = match i + 1 < depth {
            true => format!("%1 = func.call @f{}(%p, %x) : (tensor<i1>, tensor<i32>) -> tensor<i32>", i + 1),
            false => "%1 = stablehlo.add %x, %x : tensor<i32>".to_owned(),
        };
        program += &format!(
            "func.func private @f{i}(%p: tensor<i1>, %x: tensor<i32>) -> tensor<i32> {{\n  %0 = \"stablehlo.if\"(%p) ({{\n    {inner}\n    stablehlo.return %1 : tensor<i32>\n  }}, {{\n    stablehlo.return %x : tensor<i32>\n  }}) : (tensor<i1>) -> tensor<i32>\n  return %0 : tensor<i32>\n}}\n"
        );
    }
    let executable = compile(&program);
    let yes = Literal::from_slice(DType::Pred, [], &[1u8]);
    let out = executable.run(&[yes, Literal::from_slice(DType::S32, [], &[21i32])]).unwrap();
    assert_eq!(out[0].as_slice::<i32>(), [42]);
    assert_eq!(executable.stats().thunks["case"], depth);
}
