//! Buffers as inputs and results of executables; streams; and values that a program exchanges with its caller
//! at run time.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use farcall::custom_call::RunContext;
use farcall::device::{Device, DeviceBuffer, DeviceStream};
use farcall::ir::{DType, Literal};
use farcall::registry::Platform;
use farcall::{CompileError, Executable, Interrupt, Registry, RunError, Transfers};
use farcall_testing::engine;

fn compile(program: &str) -> Executable {
    engine::compile(program, &Registry::new())
}

fn f32s(values: &[f32]) -> Literal {
    Literal::from_slice(DType::F32, [values.len()], values)
}

fn address(buffer: &DeviceBuffer) -> *const u8 {
    buffer.host().unwrap().bytes().as_ptr()
}

const NOTHING: [Literal; 0] = [];

#[test]
fn buffers_go_from_run_to_run() {
    let step = compile(
        "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = stablehlo.add %x, %x : tensor<4xf32>
  return %y, %y : tensor<4xf32>, tensor<4xf32>
}",
    );
    assert_eq!(step.device(), Device::host());
    let mut state = DeviceBuffer::from(f32s(&[1.0, 2.0, 3.0, 4.0]));
    let at = address(&state);
    for _ in 0..3 {
        let mut results = step.execute([state]).unwrap();
        // The program returns one value twice, so both results share one buffer.
        assert_eq!(address(&results[0]), address(&results[1]));
        results.truncate(1);
        state = results.remove(0);
        // The memory of the donated input is reused.
        assert_eq!(address(&state), at);
    }
    assert_eq!(state, f32s(&[8.0, 16.0, 24.0, 32.0]));
    // A run does not change a value to which there is another reference.
    let results = step.execute([state.clone()]).unwrap();
    assert_eq!(state, f32s(&[8.0, 16.0, 24.0, 32.0]));
    assert_eq!(results[0], f32s(&[16.0, 32.0, 48.0, 64.0]));
}

#[test]
fn large_results_are_in_memory_that_is_used_again() {
    let n = 3_000_017;
    let program = format!(
        "func.func @main(%x: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %y = stablehlo.add %x, %x : tensor<{n}xf32>
  return %y : tensor<{n}xf32>
}}"
    );
    let double = compile(&program);
    let x = DeviceBuffer::from(f32s(&vec![1.5; n]));
    let first = double.execute([x.clone()]).unwrap().remove(0);
    let at = address(&first);
    drop(first);
    let second = double.execute([x.clone()]).unwrap().remove(0);
    assert_eq!(address(&second), at);
    // A buffer that is still held is not reused.
    let third = double.execute([x]).unwrap().remove(0);
    assert_ne!(address(&third), at);
    assert_eq!(second, third);
    assert_eq!(third.host().unwrap().as_slice::<f32>()[n - 1], 3.0);
}

#[test]
fn a_plan_for_a_missing_device_is_refused() {
    let program = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }";
    let parts = compile(program).plan().clone().into_parts();
    let plan = farcall::Plan::from(farcall::plan::PlanParts { platform: Platform::Cuda, ..parts });
    let read = farcall::Plan::from_bytes(&plan.to_bytes().unwrap()).unwrap();
    assert_eq!(*read, plan);
    let error = Executable::from_plan(read, &Registry::new()).unwrap_err();
    assert!(matches!(error, CompileError::NoDevice(Platform::Cuda)));
    assert_eq!(error.to_string(), "the program was compiled for platform CUDA, which has no device here");
}

#[test]
fn runs_on_a_stream_are_in_order() {
    let add = compile(
        "func.func @main(%x: tensor<i64>) -> tensor<i64> {
  %t = stablehlo.create_token : !stablehlo.token
  %y:2 = \"stablehlo.infeed\"(%t) {infeed_config = \"\"} : (!stablehlo.token) -> (tensor<i64>, !stablehlo.token)
  %z = stablehlo.add %x, %y#0 : tensor<i64>
  return %z : tensor<i64>
}",
    );
    let number = |n: i64| Literal::from_slice(DType::S64, [], &[n]);
    let stream = DeviceStream::new(Device::host()).unwrap();
    let transfers = Arc::new(Transfers::new());
    let run = || RunContext::new().with_transfers(Arc::clone(&transfers));
    let pending: Vec<_> =
        (0..10).map(|i| add.enqueue(vec![number(100 * i).into()], run(), &stream)).collect();
    // The first run waits for a value from the infeed, and the others wait for the first run.
    for i in 0..10 {
        transfers.feed([number(i)]);
    }
    for (i, pending) in (0..).zip(pending) {
        assert_eq!(pending.wait().unwrap(), [number(101 * i)]);
    }
    let wrong = add.enqueue(Vec::new(), run(), &stream).wait();
    assert!(matches!(wrong, Err(RunError::InputCount { found: 0, .. })));
}

/// Adds up the values from the infeed, and writes the sum to the outfeed after each value. A negative value
/// ends the loop.
const SUM: &str = r#"func.func @main() -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %t = stablehlo.create_token : !stablehlo.token
  %r:3 = stablehlo.while(%sum = %zero, %go = %true, %u = %t) : tensor<i32>, tensor<i1>, !stablehlo.token
    cond { stablehlo.return %go : tensor<i1> }
    do {
      %x:2 = "stablehlo.infeed"(%u) {infeed_config = ""} : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
      %next = stablehlo.add %sum, %x#0 : tensor<i32>
      %more = stablehlo.compare GE, %x#0, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %v = "stablehlo.outfeed"(%next, %x#1) {outfeed_config = ""} : (tensor<i32>, !stablehlo.token) -> !stablehlo.token
      stablehlo.return %next, %more, %v : tensor<i32>, tensor<i1>, !stablehlo.token
    }
  return %r#0 : tensor<i32>
}"#;

fn int(n: i32) -> Literal {
    Literal::from_slice(DType::S32, [], &[n])
}

#[test]
fn a_program_is_fed_and_read_while_it_runs() {
    let executable = compile(SUM);
    let transfers = Arc::new(Transfers::new());
    let run = RunContext::new().with_transfers(Arc::clone(&transfers));
    let total = thread::scope(|scope| {
        let running = scope.spawn(|| executable.execute_with(NOTHING, &run));
        let mut sum = 0;
        for n in [5, 7, 0, -2] {
            transfers.feed([int(n)]);
            sum += n;
            let out = transfers.read(Duration::from_secs(60)).unwrap();
            assert_eq!(out, [int(sum)]);
        }
        running.join().unwrap().unwrap()
    });
    assert_eq!(total, [int(10)]);
    assert_eq!(transfers.read(Duration::ZERO), None);
}

#[test]
fn channels_are_apart() {
    let program = r#"func.func @main() -> tensor<i32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
  %b:2 = "stablehlo.recv"(%a#1) {channel_handle = #stablehlo.channel_handle<handle = 4, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<i32>, !stablehlo.token)
  %c = stablehlo.subtract %a#0, %b#0 : tensor<i32>
  %u = "stablehlo.send"(%c, %b#1) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<i32>, !stablehlo.token) -> !stablehlo.token
  return %c : tensor<i32>
}"#;
    let transfers = Arc::new(Transfers::new());
    transfers.send(4, [int(1)]);
    transfers.send(3, [int(10)]);
    let run = RunContext::new().with_transfers(Arc::clone(&transfers));
    assert_eq!(compile(program).execute_with(NOTHING, &run).unwrap(), [int(9)]);
    assert_eq!(transfers.receive(5, Duration::ZERO).unwrap(), [int(9)]);
    assert_eq!(transfers.receive(3, Duration::ZERO), None);
}

#[test]
fn a_run_that_waits_for_values_ends() {
    let executable = compile(SUM);
    let message = |run: &RunContext| executable.execute_with(NOTHING, run).unwrap_err().to_string();
    let place = "test.mlir:8:14: stablehlo.infeed: ";
    let none = "this run has no queues to exchange values with its caller";
    assert_eq!(message(&RunContext::new()), format!("{place}{none}"));

    let transfers = Arc::new(Transfers::new());
    let run = RunContext::new().with_transfers(Arc::clone(&transfers));
    transfers.feed([f32s(&[1.0])]);
    let wrong = "the program takes (tensor<i32>) from the infeed, but (tensor<1xf32>) was put there";
    assert_eq!(message(&run), format!("{place}{wrong}"));

    // The rejected values stay in the queue, for a program that takes values of their type.
    assert_eq!(message(&run), format!("{place}{wrong}"));
    let other = "func.func @main() -> tensor<1xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %x:2 = \"stablehlo.infeed\"(%t) {infeed_config = \"\"} : (!stablehlo.token) -> (tensor<1xf32>, !stablehlo.token)
  return %x#0 : tensor<1xf32>
}";
    assert_eq!(compile(other).execute_with(NOTHING, &run).unwrap(), [f32s(&[1.0])]);

    let interrupt = Arc::new(Interrupt::new());
    let interrupted = run.with_interrupt(Arc::clone(&interrupt));
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(30));
            interrupt.raise();
        });
        let outcome = executable.execute_with(NOTHING, &interrupted);
        assert!(matches!(outcome, Err(RunError::Interrupted)), "{outcome:?}");
    });

    let begin = Instant::now();
    assert_eq!(transfers.read(Duration::from_millis(10)), None);
    assert!(begin.elapsed() >= Duration::from_millis(10));
    let run = RunContext::new().with_transfers(Arc::clone(&transfers));
    transfers.feed([int(1)]);
    transfers.close();
    assert_eq!(message(&run), format!("{place}the infeed is closed and empty"));
    // The effects of the program before its failure have happened.
    assert_eq!(transfers.read(Duration::ZERO).unwrap(), [int(1)]);
}
