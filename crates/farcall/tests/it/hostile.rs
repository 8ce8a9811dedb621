//! Small programs that demand much memory, time or text. Each must run or be rejected without delay.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use farcall::eval_host::RegistryHost;
use farcall::ir::eval::{Denormals, EvalValue, eval};
use farcall::ir::{DType, Literal, Scalar, Source, text, verify};
use farcall::{CompileOptions, Executable, Registry};
use farcall_testing::process::alone;

/// Runs a program on zeros in the engine and in the evaluator.
fn both(program: &str) -> [Result<Vec<Literal>, String>; 2] {
    let module = match text::parse(&Source::new("p.mlir", program)) {
        Ok(module) => module,
        Err(e) => return [Err(e.to_string()), Err(e.to_string())],
    };
    let engine = Executable::compile(&module, &Registry::new(), &CompileOptions::new());
    let engine = engine.map_err(|e| e.to_string()).and_then(|executable| {
        let inputs: Vec<Literal> =
            executable.inputs().iter().map(|ty| Literal::zeros(ty.dtype, ty.sizes())).collect();
        executable.run(&inputs).map_err(|e| e.to_string())
    });
    let evaluator = verify::verify(&module).map_err(|e| e.to_string()).and_then(|module| {
        let main = module.entry().unwrap();
        let inputs: Vec<EvalValue> = main
            .params()
            .iter()
            .filter_map(|p| main.tensor(*p))
            .map(|ty| EvalValue::Tensor(Literal::zeros(ty.dtype, ty.sizes())))
            .collect();
        let registry = Registry::new();
        let host = RegistryHost::new(&registry, Denormals::Ieee);
        let results = eval(&module, main, &inputs, &host, Denormals::Ieee).map_err(|e| e.to_string())?;
        Ok(results.iter().filter_map(|v| v.tensor().cloned()).collect())
    });
    [engine, evaluator]
}

/// Checks that engine and evaluator both report this error.
fn refuse(program: &str, words: &str) {
    let begin = Instant::now();
    for outcome in both(program) {
        let error = outcome.expect_err("the program must be rejected");
        assert!(error.contains(words), "{error}");
        assert!(error.len() < 100_000, "the error message has {} bytes", error.len());
    }
    in_time(begin);
}

fn in_time(begin: Instant) {
    // The work takes a fraction of a second, but the machine may be busy: allow for many seconds.
    assert!(begin.elapsed() < Duration::from_secs(20), "the work took {:?}", begin.elapsed());
}

#[test]
fn a_character_of_two_bytes_among_elements() {
    refuse(
        "func.func @main() -> tensor<f32> {\n  %0 = stablehlo.constant dense<é> : tensor<f32>\n  return %0 : tensor<f32>\n}",
        "expected an element of type f32",
    );
}

#[test]
fn a_result_of_terabytes() {
    refuse(
        "func.func @main(%a: tensor<2xi8>) -> tensor<40000000000000x2xi8> {
           %c = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2xi8>) -> tensor<40000000000000x2xi8>
           return %c : tensor<40000000000000x2xi8>
         }",
        "bytes of memory are needed, but",
    );
}

#[test]
fn windows_of_terabytes() {
    let padding = "window_dimensions = array<i64: 4000000000000>, padding = dense<[[3999999999999, 0]]> : tensor<1x2xi64>";
    // The padding is never read, so the program runs although its windows are large.
    let program = &format!(
        "func.func @main(%a: tensor<1xf32>, %b: tensor<1xf32>, %z: tensor<f32>) -> tensor<1xf32> {{
               %0 = \"stablehlo.select_and_scatter\"(%a, %b, %z) <{{{padding}}}> ({{
               ^bb0(%x: tensor<f32>, %y: tensor<f32>):
                 %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
                 stablehlo.return %s : tensor<i1>
               }}, {{
               ^bb0(%x: tensor<f32>, %y: tensor<f32>):
                 %s = stablehlo.add %x, %y : tensor<f32>
                 stablehlo.return %s : tensor<f32>
               }}) : (tensor<1xf32>, tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
               return %0 : tensor<1xf32>
             }}"
    );
    let begin = Instant::now();
    for outcome in both(program) {
        assert_eq!(outcome.unwrap()[0].as_slice::<f32>(), [0.0]);
    }
    in_time(begin);
}

/// A result of countless windows is computed if it has no elements. A small result is refused if the tensor
/// between two steps would be too large: padding lets one dimension grow before the other one is reduced.
#[test]
fn windows_between_small_tensors() {
    let program = |input: &str, attrs: &str, result: &str| {
        format!(
            "func.func @main(%a: {input}, %z: tensor<f32>) -> {result} {{
               %0 = \"stablehlo.reduce_window\"(%a, %z) <{{{attrs}}}> ({{
               ^bb0(%x: tensor<f32>, %y: tensor<f32>):
                 %s = stablehlo.add %x, %y : tensor<f32>
                 stablehlo.return %s : tensor<f32>
               }}) : ({input}, tensor<f32>) -> {result}
               return %0 : {result}
             }}"
        )
    };
    let begin = Instant::now();
    let empty = program(
        "tensor<1x0xf32>",
        "window_dimensions = array<i64: 1, 1>, padding = dense<[[1099511627775, 0], [0, 0]]> : tensor<2x2xi64>",
        "tensor<1099511627776x0xf32>",
    );
    for outcome in both(&empty) {
        assert!(outcome.unwrap()[0].is_empty());
    }
    in_time(begin);
    let between = program(
        "tensor<1048576x1xf32>",
        "window_dimensions = array<i64: 1048576, 1>, padding = dense<[[0, 0], [0, 1048575]]> : tensor<2x2xi64>",
        "tensor<1x1048576xf32>",
    );
    refuse(&between, "bytes of memory are needed, but");
}

/// A long list of devices is refused, although a single element in the text (a splat) describes it.
#[test]
fn splats_that_are_lists() {
    refuse(
        "func.func @main(%a: tensor<1xf32>) -> tensor<1xf32> {
           %0 = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1099511627776x1xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
           return %0 : tensor<1xf32>
         }",
        "replica_groups",
    );
}

/// A splat of terabytes is read, printed, checked and hashed as its one element; only running it is an error.
#[test]
fn a_splat_of_terabytes() {
    let program = "func.func @main() -> tensor<1xf64> {
      %0 = stablehlo.constant dense<1.5> : tensor<3000000000x1000xf64>
      %1 = stablehlo.slice %0 [0:1, 0:1] : (tensor<3000000000x1000xf64>) -> tensor<1x1xf64>
      %2 = stablehlo.reshape %1 : (tensor<1x1xf64>) -> tensor<1xf64>
      return %2 : tensor<1xf64>
    }";
    let module = text::parse(&Source::new("p.mlir", program)).unwrap();
    verify::verify(&module).unwrap();
    let printed = text::print(&module);
    assert_eq!(text::parse(&Source::new("p.mlir", printed.as_str())).unwrap(), module);
    refuse(program, "bytes of memory are needed, but");
}

/// A splat that fits in memory is an ordinary constant.
#[test]
fn a_splat_of_a_megabyte() {
    let program = "func.func @main() -> tensor<f32> {
      %0 = stablehlo.constant dense<1.5> : tensor<300000xf32>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<300000xf32>, tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    }";
    for outcome in both(program) {
        assert_eq!(outcome.unwrap(), [Literal::scalar(DType::F32, Scalar::Float(450_000.0))]);
    }
}

/// Each function calls the next one twice, so inlining all calls would make a huge program. It is refused.
#[test]
fn calls_that_double() {
    let mut program =
        "func.func @main(%x: tensor<f32>) -> tensor<f32> { %0 = call @f0(%x) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32> }\n"
            .to_owned();
    for i in 0..40 {
        writeln!(
            program,
            "func.func private @f{i}(%x: tensor<f32>) -> tensor<f32> {{
               %0 = call @f{next}(%x) : (tensor<f32>) -> tensor<f32>
               %1 = call @f{next}(%0) : (tensor<f32>) -> tensor<f32>
               return %1 : tensor<f32> }}",
            next = i + 1
        )
        .unwrap();
    }
    program += "func.func private @f40(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }";
    refuse(&program, "[inlined-size] @f21 is 2097149 instructions long once all its calls are inlined");
}

#[test]
fn many_parameters_results_and_functions() {
    let begin = Instant::now();
    let n = if cfg!(debug_assertions) { 10_000 } else { 100_000 };
    let mut program = "func.func @main(".to_owned();
    let list = |text: &dyn Fn(usize) -> String| (0..n).map(text).collect::<Vec<_>>().join(", ");
    let types = list(&|_| "tensor<f32>".to_owned());
    program += &list(&|i| format!("%a{i}: tensor<f32> {{tf.aliasing_output = {i} : i32}}"));
    writeln!(program, ") -> ({types}) {{").unwrap();
    for i in 0..n {
        writeln!(program, "%{i} = call @f{i}(%a{i}) : (tensor<f32>) -> tensor<f32>").unwrap();
    }
    writeln!(program, "return {} : {types} }}", list(&|i| format!("%{i}"))).unwrap();
    for i in 0..n {
        writeln!(
            program,
            "func.func private @f{i}(%x: tensor<f32>) -> tensor<f32> {{ %0 = stablehlo.add %x, %x : tensor<f32>
             return %0 : tensor<f32> }}"
        )
        .unwrap();
    }
    for outcome in both(&program) {
        assert_eq!(outcome.unwrap().len(), n);
    }
    in_time(begin);
}

#[test]
fn loops_without_an_end() {
    let program = "func.func @main() -> tensor<i32> {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %t = stablehlo.constant dense<true> : tensor<i1>
      %0 = stablehlo.while(%x = %one) : tensor<i32>
      cond { stablehlo.return %t : tensor<i1> } do {
        %y = stablehlo.add %x, %one : tensor<i32>
        stablehlo.return %y : tensor<i32>
      }
      return %0 : tensor<i32>
    }";
    alone("hostile::loops_without_an_end", || {
        farcall::iterations::set_limit(1000);
        refuse(program, "the loops of the run take more than 1000 iterations");
    });
}
