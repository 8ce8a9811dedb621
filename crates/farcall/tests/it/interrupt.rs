//! An interrupt ends a run between thunks, between iterations and within a kernel, and the executable stays
//! usable. It ends other work, too.

use farcall::CodedError;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use farcall::custom_call::RunContext;
use farcall::interrupt::{self, Interrupted};
use farcall::ir::eval::{Denormals, NoHost, eval};
use farcall::ir::verify::verify_owned;
use farcall::ir::{DType, Literal, Scalar, Source, text};
use farcall::{CompileOptions, ErrorCode, Executable, Interrupt, Registry, RunError};
use farcall_testing::engine;

/// Counts down from its input.
const COUNT_DOWN: &str = "\
func.func @main(%n: tensor<i64>) -> tensor<i64> {
  %0 = stablehlo.constant dense<0> : tensor<i64>
  %1 = stablehlo.constant dense<1> : tensor<i64>
  %end = stablehlo.while(%i = %n) : tensor<i64>
  cond {
    %p = stablehlo.compare GT, %i, %0 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.subtract %i, %1 : tensor<i64>
    stablehlo.return %j : tensor<i64>
  }
  return %end : tensor<i64>
}";

/// The loop of `COUNT_DOWN`, in a region that is applied to elements. The instructions of such a region are
/// not thunks.
const IN_A_REGION: &str = "\
func.func @main(%n: tensor<i64>) -> tensor<i64> {
  %0 = stablehlo.constant dense<0> : tensor<i64>
  %1 = stablehlo.constant dense<1> : tensor<i64>
  %ones = stablehlo.constant dense<1> : tensor<3xi64>
  %sum = stablehlo.reduce(%ones init: %n) across dimensions = [0] : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
   reducer(%a: tensor<i64>, %b: tensor<i64>) {
    %end = stablehlo.while(%i = %a) : tensor<i64>
    cond {
      %p = stablehlo.compare GT, %i, %0 : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.subtract %i, %1 : tensor<i64>
      stablehlo.return %j : tensor<i64>
    }
    stablehlo.return %end : tensor<i64>
  }
  return %sum : tensor<i64>
}";

fn compile(program: &str) -> Executable {
    engine::compile(program, &Registry::new())
}

fn number(n: i64) -> Vec<Literal> {
    vec![Literal::from_bytes(DType::S64, [], &n.to_ne_bytes()).unwrap()]
}

#[test]
fn another_thread_ends_a_run() {
    for program in [COUNT_DOWN, IN_A_REGION] {
        let executable = compile(program);
        let interrupt = Arc::new(Interrupt::new());
        let run = RunContext::new().with_interrupt(Arc::clone(&interrupt));
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(50));
                interrupt.raise();
            });
            assert!(matches!(executable.execute_with(number(i64::MAX), &run), Err(RunError::Interrupted)));
        });
        assert!(matches!(executable.execute_with(number(3), &run), Err(RunError::Interrupted)));
        interrupt.lower();
        assert_eq!(executable.execute_with(number(3), &run).unwrap(), number(0));
    }
}

#[test]
fn a_question_ends_a_run() {
    for program in [COUNT_DOWN, IN_A_REGION] {
        let executable = compile(program);
        let begin = Instant::now();
        let interrupt = Interrupt::asking(move || begin.elapsed() > Duration::from_millis(120));
        let run = RunContext::new().with_interrupt(Arc::new(interrupt));
        assert!(matches!(executable.execute_with(number(i64::MAX), &run), Err(RunError::Interrupted)));
        assert!(begin.elapsed() >= Duration::from_millis(120));
    }
}

#[test]
fn the_question_is_asked_on_the_run_s_thread_and_not_often() {
    let thread = thread::current().id();
    let asked = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let interrupt = Interrupt::asking(move || {
        assert_eq!(thread::current().id(), thread);
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 3
    });
    let begin = Instant::now();
    let run = RunContext::new().with_interrupt(Arc::new(interrupt));
    assert!(matches!(compile(COUNT_DOWN).execute_with(number(i64::MAX), &run), Err(RunError::Interrupted)));
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 4);
    assert!(begin.elapsed() >= 4 * Interrupt::PERIOD);
}

/// Returns programs with a single long instruction, with their inputs.
fn long_instructions() -> Vec<(&'static str, String, Vec<Literal>)> {
    let floats = |sizes: &[usize]| Literal::splat(DType::F32, sizes, Scalar::Float(0.5));
    let line = |op: &str, x: &str, y: &str| {
        format!(
            "func.func @main(%x: tensor<{x}>) -> tensor<{y}> {{\n  %0 = {op}\n  return %0 : tensor<{y}>\n}}"
        )
    };
    let reduce = |to: &str, from: &str, dims: &str, body: &str| {
        format!(
            "func.func @main(%x: tensor<{from}xf32>) -> tensor<{to}f32> {{
              %init = stablehlo.constant dense<0.0> : tensor<f32>
              %0 = stablehlo.reduce(%x init: %init) across dimensions = [{dims}] : (tensor<{from}xf32>, tensor<f32>) -> tensor<{to}f32>
               reducer(%a: tensor<f32>, %b: tensor<f32>) {{
                {body}
                stablehlo.return %c : tensor<f32>
              }}
              return %0 : tensor<{to}f32>
            }}"
        )
    };
    let ints = Literal::from_fn(DType::S32, [2_000_000], |i| {
        Scalar::Signed(i64::from((i as u32).wrapping_mul(0x9e37_79b9).cast_signed()))
    });
    let comparator = "func.func @main(%a: tensor<2000000xi32>) -> tensor<2000000xi32> {
      %0 = \"stablehlo.sort\"(%a) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%x: tensor<i32>, %y: tensor<i32>):
        %c = stablehlo.constant dense<1000> : tensor<i32>
        %u = stablehlo.remainder %x, %c : tensor<i32>
        %v = stablehlo.remainder %y, %c : tensor<i32>
        %p = stablehlo.compare LT, %u, %v : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }) : (tensor<2000000xi32>) -> tensor<2000000xi32>
      return %0 : tensor<2000000xi32>
    }";
    vec![
        (
            "a product",
            line(
                "stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<2000x2000xf32>, tensor<2000x2000xf32>) -> tensor<2000x2000xf32>",
                "2000x2000xf32",
                "2000x2000xf32",
            ),
            vec![floats(&[2000, 2000])],
        ),
        (
            "transforms of rows",
            line(
                "stablehlo.fft %x, type = RFFT, length = [1000] : (tensor<20000x1000xf32>) -> tensor<20000x501xcomplex<f32>>",
                "20000x1000xf32",
                "20000x501xcomplex<f32>",
            ),
            vec![floats(&[20_000, 1000])],
        ),
        ("a sort with a custom comparator", comparator.to_owned(), vec![ints]),
        (
            "a reduction by a custom operation",
            reduce(
                "",
                "5000000",
                "0",
                "%s = stablehlo.sine %b : tensor<f32>\n %c = stablehlo.atan2 %a, %s : tensor<f32>",
            ),
            vec![floats(&[5_000_000])],
        ),
        (
            "an elementwise operation",
            line(
                "chlo.lgamma %x : tensor<20000000xf32> -> tensor<20000000xf32>",
                "20000000xf32",
                "20000000xf32",
            ),
            vec![floats(&[20_000_000])],
        ),
        (
            "a convolution",
            "func.func @main(%x: tensor<1x200x200x64xf32>) -> tensor<1x200x200x64xf32> {
              %k = stablehlo.constant dense<0.5> : tensor<9x9x64x64xf32>
              %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
                window = {pad = [[4, 4], [4, 4]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
                : (tensor<1x200x200x64xf32>, tensor<9x9x64x64xf32>) -> tensor<1x200x200x64xf32>
              return %0 : tensor<1x200x200x64xf32>
            }"
            .to_owned(),
            vec![floats(&[1, 200, 200, 64])],
        ),
    ]
}

/// Maximum time from an interrupt to the end of the run. A fifth of a second is guaranteed; unoptimized code
/// on a busy machine gets more.
const GRACE: Duration = Duration::from_secs(1);

#[test]
fn a_single_instruction_is_ended() {
    for (name, program, inputs) in long_instructions() {
        let executable = compile(&program);
        for attempt in 0..2 {
            let begin = Instant::now();
            let interrupt = Interrupt::asking(move || begin.elapsed() > Duration::from_millis(60));
            let run = RunContext::new().with_interrupt(Arc::new(interrupt));
            let ended = executable.run_with(&inputs, &run);
            let took = begin.elapsed();
            assert!(matches!(ended, Err(RunError::Interrupted)), "{name}, attempt {attempt}: {ended:?}");
            assert!(took < GRACE, "{name}, attempt {attempt}: the run ended after {took:?}");
        }
    }
}

#[test]
fn a_run_that_was_interrupted_leaves_nothing_behind() {
    let program = "func.func @main(%x: tensor<500x500xf32>) -> tensor<500x500xf32> {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<500x500xf32>, tensor<500x500xf32>) -> tensor<500x500xf32>
      %1 = stablehlo.sine %0 : tensor<500x500xf32>
      %2 = stablehlo.dot_general %1, %x, contracting_dims = [1] x [0] : (tensor<500x500xf32>, tensor<500x500xf32>) -> tensor<500x500xf32>
      return %2 : tensor<500x500xf32>
    }";
    let executable = compile(program);
    let x = [Literal::from_fn(DType::F32, [500, 500], |i| Scalar::Float((i % 17) as f64 - 8.0))];
    let expected = executable.run(&x).unwrap();
    let interrupt = Arc::new(Interrupt::new());
    let run = RunContext::new().with_interrupt(Arc::clone(&interrupt));
    for wait in [0, 1, 2, 5, 10, 20] {
        interrupt.lower();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(wait));
                interrupt.raise();
            });
            match executable.run_with(&x, &run) {
                Ok(results) => {
                    assert!(results == expected, "a run that was not interrupted has wrong results");
                }
                Err(error) => assert!(matches!(error, RunError::Interrupted), "{error}"),
            }
        });
        assert!(
            executable.run(&x).unwrap() == expected,
            "wrong results after a run with an interrupt at {wait} ms"
        );
    }
}

#[test]
fn evaluation_compilation_and_parsing_are_ended() {
    let mut text = "func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {\n".to_owned();
    for i in 0..40_000 {
        let next = i + 1;
        text += &format!("  %{next} = stablehlo.add %{i}, %{i} : tensor<4xf32>\n");
    }
    text += "  return %40000 : tensor<4xf32>\n}";
    let source = Source::new("long.mlir", text);
    let module = text::parse(&source).unwrap();
    let folded = text::parse(&Source::new(
        "folded.mlir",
        "func.func @main() -> tensor<3000x3000xf32> {
          %0 = stablehlo.iota dim = 0 : tensor<3000x3000xf32>
          %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<3000x3000xf32>, tensor<3000x3000xf32>) -> tensor<3000x3000xf32>
          return %1 : tensor<3000x3000xf32>
        }",
    ))
    .unwrap();
    let folded = verify_owned(folded).unwrap();
    let compile = |module| {
        let compiled = Executable::compile(module, &Registry::new(), &CompileOptions::new());
        assert!(compiled.is_err_and(|e| e.code() == ErrorCode::Interrupted));
    };
    let evaluate = || {
        let values = eval(&folded, folded.entry().unwrap(), &[], &NoHost, Denormals::Ieee);
        assert!(values.is_err());
    };
    let works: [(&str, &dyn Fn()); 3] = [
        ("parsing", &|| assert!(text::parse(&source).is_err())),
        ("compilation", &|| compile(&module)),
        ("evaluation", &evaluate),
    ];
    for (name, work) in works {
        let begin = Instant::now();
        let interrupt = Arc::new(Interrupt::asking(move || begin.elapsed() > Duration::from_millis(60)));
        assert_eq!(interrupt::during(&interrupt, work), Err(Interrupted), "{name}");
        assert!(begin.elapsed() < GRACE, "{name} ended after {:?}", begin.elapsed());
    }
}

/// A run is also ended by the interrupts of the enclosing work.
#[test]
fn outer_work_ends_a_run() {
    let executable = compile(COUNT_DOWN);
    let begin = Instant::now();
    let interrupt = Arc::new(Interrupt::asking(move || begin.elapsed() > Duration::from_millis(60)));
    let ended = interrupt::during(&interrupt, || {
        assert!(matches!(executable.run(&number(i64::MAX)), Err(RunError::Interrupted)));
    });
    assert_eq!(ended, Err(Interrupted));
    assert_eq!(executable.run(&number(3)).unwrap(), number(0));
}
