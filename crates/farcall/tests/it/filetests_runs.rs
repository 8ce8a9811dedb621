//! Executables as users handle them: wrong inputs, failed runs, many threads, deep programs.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use expect_test::expect;
use farcall::ir::{DType, Literal, Source, text};
use farcall::{CompileOptions, Executable, Registry};
use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::prelude::*;
use farcall_testing::engine;

/// Fails for negative numbers.
#[handler(name = "root")]
fn root(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    for (x, y) in x.iter().zip(y.iter_mut()) {
        ensure!(*x >= 0.0, "{x} has no root");
        *y = x.sqrt();
    }
    Ok(())
}

const OPS: &[&OpDescriptor] = farcall_ffi::ops![root, after_signal, signal, fails_later];

fn compile(program: &str) -> Executable {
    engine::compile(program, &engine::registry(OPS))
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
    expect!["the program takes 1 inputs (tensor<2xf32>), but 0 were given"].assert_eq(&message(&[]));
    expect!["input 0 is tensor<3xf32>, but the program takes tensor<2xf32>"]
        .assert_eq(&message(&[f32s(&[1.0, 2.0, 3.0])]));
    expect!["input 0 is tensor<2xi32>, but the program takes tensor<2xf32>"]
        .assert_eq(&message(&[Literal::zeros(DType::S32, [2])]));
}

#[test]
fn a_program_is_compiled_for_the_known_sizes_of_its_inputs() {
    let program = "func.func @main(%x: tensor<?xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
  %0 = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}";
    let module = text::parse(&Source::new("test.mlir", program)).unwrap();
    let compile = |options: &CompileOptions| Executable::compile(&module, &Registry::new(), options);
    let (x, sizes) = (f32s(&[1.0, 2.0]), Literal::from_slice(DType::S32, [2], &[2, 1]));
    let mut options = CompileOptions::new();
    expect![[r#"
        error: [dynamic-shape] parameter 0 of @main, tensor<?xf32>, has a dynamic dimension
         --> test.mlir:1:11
          |
        1 | func.func @main(%x: tensor<?xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
          |           ^^^^^
          |
          = note: the types of the inputs determine its size"#]]
    .assert_eq(&compile(&options).unwrap_err().to_string());
    options = options.inputs([x.ty(), sizes.ty()]);
    expect![[r#"
        error: [dynamic-shape] stablehlo.dynamic_reshape: the shape of result 0, tensor<?x?xf32>, does not follow from the known inputs
         --> test.mlir:2:8
          |
        2 |   %0 = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
          |        ^^^^^^^^^^^^^^^^^^^^^^^^^"#]].assert_eq(&compile(&options).unwrap_err().to_string());
    options = options.known([None, Some(sizes.clone())]);
    let executable = compile(&options).unwrap();
    assert_eq!(executable.outputs()[0].to_string(), "tensor<2x1xf32>");
    assert_eq!(executable.run(&[x.clone(), sizes]).unwrap(), [x.reshape([2, 1])]);
    let others = Literal::from_slice(DType::S32, [2], &[1, 2]);
    expect!["input 1 does not have the elements that the program was compiled for"]
        .assert_eq(&executable.run(&[x, others]).unwrap_err().to_string());
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
    // Each function has a conditional, and calls the next function in a branch.
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

/// Set by `signal`, awaited by `after_signal`.
static SIGNAL: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// The handler returns at once, but the call completes only after `signal` has run.
#[handler(name = "after_signal")]
fn after_signal(x: Kept<Buffer<f32>>, mut y: KeptMut<Buffer<f32>>) -> Result<()> {
    std::thread::spawn(move || {
        let (lock, changed) = &SIGNAL;
        let given = lock.lock().unwrap();
        let (given, _) = changed.wait_timeout_while(given, Duration::from_secs(20), |given| !*given).unwrap();
        if !*given {
            return y.fail(Error::unavailable("nobody signaled"));
        }
        for (y, x) in y.iter_mut().zip(x.iter()) {
            *y = 10.0 * x;
        }
    });
    Ok(())
}

/// Lets the call of `after_signal` complete.
#[handler(name = "signal")]
fn signal(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    y.copy_from_slice(x);
    *SIGNAL.0.lock().unwrap() = true;
    SIGNAL.1.notify_all();
    Ok(())
}

/// The call fails after its handler has returned.
#[handler(name = "fails_later")]
fn fails_later(x: Kept<Buffer<f32>>, y: KeptMut<Buffer<f32>>) -> Result<()> {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(5));
        y.fail(Error::data_loss(format!("lost {} numbers", x.len())));
    });
    Ok(())
}

#[test]
fn independent_work_goes_on_while_a_call_is_not_complete() {
    let executable = compile(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %later = stablehlo.custom_call @after_signal(%x) {mhlo.backend_config = {}} : (tensor<2xf32>) -> tensor<2xf32>
  %now = stablehlo.custom_call @signal(%x) {mhlo.backend_config = {}} : (tensor<2xf32>) -> tensor<2xf32>
  %twice = stablehlo.add %now, %now : tensor<2xf32>
  %sum = stablehlo.add %later, %twice : tensor<2xf32>
  return %sum : tensor<2xf32>
}",
    );
    for _ in 0..3 {
        *SIGNAL.0.lock().unwrap() = false;
        assert_eq!(executable.run(&[f32s(&[1.0, 2.0])]).unwrap(), [f32s(&[12.0, 24.0])]);
    }
}

#[test]
fn a_call_that_fails_later_fails_the_run_and_not_the_next() {
    let executable = compile(
        "func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %root = stablehlo.custom_call @root(%x) {mhlo.backend_config = {}} : (tensor<2xf32>) -> tensor<2xf32>
  %lost = stablehlo.custom_call @fails_later(%x) {mhlo.backend_config = {}} : (tensor<2xf32>) -> tensor<2xf32>
  return %root, %lost : tensor<2xf32>, tensor<2xf32>
}",
    );
    for _ in 0..3 {
        let message = executable.run(&[f32s(&[1.0, 2.0])]).unwrap_err().to_string();
        assert!(message.ends_with("DATA_LOSS: lost 2 numbers"), "{message}");
    }
}
