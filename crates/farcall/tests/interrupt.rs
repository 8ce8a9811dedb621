//! A run ends between thunks and between iterations, wherever its loop is, and the executable stays usable.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use farcall::custom_call::RunContext;
use farcall::ir::{DType, Literal, Source, text};
use farcall::{CompileOptions, Executable, Interrupt, Registry, RunError};

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

/// The same in a region that is applied to elements, which has no thunks.
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
    let module = text::parse(&Source::new("loop.mlir", program)).unwrap();
    Executable::compile(&module, &Registry::new(), &CompileOptions::new()).unwrap()
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
            assert!(matches!(executable.execute_in(number(i64::MAX), &run), Err(RunError::Interrupted)));
        });
        assert!(matches!(executable.execute_in(number(3), &run), Err(RunError::Interrupted)));
        interrupt.lower();
        assert_eq!(executable.execute_in(number(3), &run).unwrap(), number(0));
    }
}

#[test]
fn a_question_ends_a_run() {
    for program in [COUNT_DOWN, IN_A_REGION] {
        let executable = compile(program);
        let begin = Instant::now();
        let interrupt = Interrupt::asking(move || begin.elapsed() > Duration::from_millis(120));
        let run = RunContext::new().with_interrupt(Arc::new(interrupt));
        assert!(matches!(executable.execute_in(number(i64::MAX), &run), Err(RunError::Interrupted)));
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
    assert!(matches!(compile(COUNT_DOWN).execute_in(number(i64::MAX), &run), Err(RunError::Interrupted)));
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 4);
    assert!(begin.elapsed() >= 4 * Interrupt::PERIOD);
}
