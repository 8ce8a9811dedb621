//! Handlers that fail in every stage: the error has the handler's message, everything is released, and the
//! next run works. (C++ exceptions are in `host_exceptions.rs`.)

use farcall::CodedError;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use expect_test::expect;
use farcall::custom_call::{CallError, CallFrame, CallSite, RunContext, ThreadPool};
use farcall::interrupt::{self, Interrupt, Interrupted};
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::ir::{AttrDict, Attribute, DType, Source, TensorType, Type, text};
use farcall::registry::{Platform, Target, TargetOrigin, register_type};
use farcall::{CompileError, CompileOptions, Executable, Registry, RunError, compile_plan};
use farcall_ffi::abi::{self, *};

use crate::plugin::ops::{count, panics, scale};

#[test]
fn every_code_from_every_stage() {
    let host = Host::alone();
    let mut first = Vec::new();
    for stage in STAGES {
        for code in 1..=16 {
            let e = host.run(Fault { stage, what: FaultKind::Fail, code }).unwrap_err();
            assert_eq!((e.stage, e.code, e.message.as_str()), (stage, ErrorCode(code), "because"));
            if code == 1 {
                first.push(e.to_string());
            }
            host.run(NO_FAULT).unwrap();
            assert_eq!(live(), 0);
        }
    }
    expect![[r#"
        custom call `faulty` at p.mlir:3:8 failed in its instantiate stage: CANCELLED: because
        custom call `faulty` at p.mlir:3:8 failed in its prepare stage: CANCELLED: because
        custom call `faulty` at p.mlir:3:8 failed in its initialize stage: CANCELLED: because
        custom call `faulty` at p.mlir:3:8 failed in its execute stage: CANCELLED: because"#]]
    .assert_eq(&first.join("\n"));
}

#[test]
fn faults_of_every_kind_from_every_stage() {
    let host = Host::alone();
    let mut words = String::new();
    for what in [
        FaultKind::StrayError,
        FaultKind::StrayFuture,
        FaultKind::FutureFails,
        FaultKind::FutureFailsLater,
        FaultKind::ErrorAndFuture,
        FaultKind::UnknownCode,
        FaultKind::StateTwice,
        FaultKind::StateOfAnotherStage,
        FaultKind::StateOfNoType,
        FaultKind::StateOfNoStage,
        FaultKind::ScratchTwiceFreed,
    ] {
        let mut last = None;
        for stage in STAGES {
            let outcome = host.run(Fault { stage, what, code: 15 });
            let e = outcome.expect_err(&format!("{what:?} in {stage:?} must be an error"));
            assert_eq!(e.stage, stage, "{what:?}");
            let same = format!("{:?}: {}", e.code, e.message);
            if last.as_ref() != Some(&same) {
                words += &format!("{what:?} ({}): {same}\n", stage.name());
                last = Some(same);
            }
            host.run(NO_FAULT).unwrap();
            assert_eq!(live(), 0, "{what:?} in {stage:?}");
        }
    }
    expect![[r#"
        StrayError (instantiate): UNKNOWN: the handler returned an error that is not this host's
        StrayFuture (instantiate): INVALID_ARGUMENT: the handler returned a future that is not this host's
        FutureFails (instantiate): DATA_LOSS: because
        FutureFailsLater (instantiate): DATA_LOSS: because
        ErrorAndFuture (instantiate): DATA_LOSS: because
        UnknownCode (instantiate): UNKNOWN: because
        StateTwice (instantiate): FAILED_PRECONDITION: the state is set already
        StateTwice (execute): INVALID_ARGUMENT: the execute stage has no state
        StateOfAnotherStage (instantiate): FAILED_PRECONDITION: the state of the prepare stage cannot be set in the instantiate stage
        StateOfAnotherStage (prepare): FAILED_PRECONDITION: the state of the initialize stage cannot be set in the prepare stage
        StateOfAnotherStage (initialize): INVALID_ARGUMENT: the execute stage has no state
        StateOfAnotherStage (execute): INVALID_ARGUMENT: the record stage has no state
        StateOfNoType (instantiate): INVALID_ARGUMENT: type id 12345 of the state is not registered with this host
        StateOfNoType (execute): INVALID_ARGUMENT: the execute stage has no state
        StateOfNoStage (instantiate): INVALID_ARGUMENT: there is no stage 1000
        ScratchTwiceFreed (instantiate): FAILED_PRECONDITION: there is no run in the instantiate stage
        ScratchTwiceFreed (prepare): INVALID_ARGUMENT: this is not scratch memory of this call, or it is free already
    "#]].assert_eq(&words);
}

#[test]
fn one_frame_fails_and_works_by_turns() {
    let host = Host::alone();
    let site = host.site(NO_FAULT).unwrap();
    let mut frame = CallFrame::new(&site);
    let run = RunContext::new();
    for stage in [Stage::PREPARE, Stage::INITIALIZE, Stage::EXECUTE] {
        for what in
            [FaultKind::Fail, FaultKind::FutureFailsLater, FaultKind::StrayError, FaultKind::ErrorAndFuture]
        {
            FAULT.store(Fault { stage, what, code: 5 }.packed(), Ordering::Relaxed);
            assert!(stages(&mut frame, &run).is_err());
            FAULT.store(NO_FAULT.packed(), Ordering::Relaxed);
            stages(&mut frame, &run).unwrap();
            assert_eq!(live(), 3);
        }
    }
    drop((frame, site));
    assert_eq!(live(), 0);
}

#[test]
fn states_of_a_run_end_with_it() {
    let host = Host::alone();
    FAULT.store(NO_FAULT.packed(), Ordering::Relaxed);
    let call =
        "  stablehlo.custom_call @faulty() {has_side_effect = true, mhlo.backend_config = {}} : () -> ()\n";
    let source = Source::new("two.mlir", format!("func.func @main() {{\n{call}{call}  return\n}}"));
    let module = text::parse(&source).unwrap();
    let executable = Executable::compile(&module, &host.registry, &CompileOptions::new()).unwrap();
    // The states of the instantiate stage live as long as the executable.
    assert_eq!(live(), 2);
    for stage in [Stage::PREPARE, Stage::INITIALIZE, Stage::EXECUTE] {
        for what in [FaultKind::Fail, FaultKind::FutureFailsLater, FaultKind::StrayError] {
            FAULT.store(Fault { stage, what, code: 5 }.packed(), Ordering::Relaxed);
            let error = executable.run(&[]).unwrap_err();
            assert_eq!(live(), 2, "after {what:?} in {stage:?}");
            let shown = error.diagnostic().unwrap().render(&source, false);
            assert!(shown.contains("--> two.mlir:2:3") && shown.contains("^^^^"), "{shown}");
            FAULT.store(NO_FAULT.packed(), Ordering::Relaxed);
            executable.run(&[]).unwrap();
            assert_eq!(live(), 2);
        }
    }
    drop(executable);
    assert_eq!(live(), 0);
}

#[test]
fn compiling_enters_no_handler() {
    let host = Host::alone();
    // Every handler that is entered fails.
    let refuses = Fault { stage: Stage::INSTANTIATE, what: FaultKind::Fail, code: 9 };
    FAULT.store(refuses.packed(), Ordering::Relaxed);
    let program = "func.func @main() {
          stablehlo.custom_call @faulty() {has_side_effect = true, mhlo.backend_config = {}} : () -> ()
          return
        }";
    let module = text::parse(&Source::new("one.mlir", program)).unwrap();
    let plan = compile_plan(&module, &host.registry, &CompileOptions::new()).unwrap();
    assert_eq!(live(), 0);
    let error = Executable::from_plan(plan.clone(), &host.registry).unwrap_err();
    let code = farcall::ErrorCode::CustomCall(farcall_ffi::StatusCode::FailedPrecondition);
    assert!(matches!(&error, CompileError::Calls { .. }) && error.code() == code, "{error}");
    FAULT.store(NO_FAULT.packed(), Ordering::Relaxed);
    Executable::from_plan(plan, &host.registry).unwrap();
    let missing = Executable::compile(&module, &Registry::new(), &CompileOptions::new()).unwrap_err();
    assert_eq!(missing.code(), farcall::ErrorCode::MissingTarget);
}

#[test]
fn a_future_is_completed_once() {
    let host = Host::alone();
    let fault = Fault { stage: Stage::EXECUTE, what: FaultKind::CompletesTwice, code: 0 };
    host.run(fault).unwrap();
    assert_eq!(SECOND_COMPLETION.load(Ordering::Relaxed), i64::from(ErrorCode::INVALID_ARGUMENT.0));
    let e = host.run(Fault { what: FaultKind::ErrorAndFuture, code: 7, ..fault }).unwrap_err();
    assert_eq!(e.code, ErrorCode(7));
    // The host has abandoned the future that was returned with the error, so completing it is an error.
    assert_eq!(SECOND_COMPLETION.load(Ordering::Relaxed), i64::from(ErrorCode::INVALID_ARGUMENT.0));
}

#[test]
fn a_dropped_pending_call_is_waited_for_and_its_error_is_lost() {
    let host = Host::alone();
    let site = host.site(NO_FAULT).unwrap();
    let mut frame = CallFrame::new(&site);
    let run = RunContext::new();
    stages(&mut frame, &run).unwrap();
    let later = Fault { stage: Stage::EXECUTE, what: FaultKind::FutureFailsLater, code: 9 }.packed();
    FAULT.store(later, Ordering::Relaxed);
    let completed = COMPLETED.load(Ordering::Relaxed);
    // SAFETY: the call has no buffers.
    let pending = unsafe { frame.launch(&run) }.unwrap().expect("the call is not complete yet");
    drop(pending);
    assert_eq!(COMPLETED.load(Ordering::Relaxed), completed + 1);
    // The frame waits for a forgotten pending call, before its next stages and before it is dropped.
    for waited in [2, 3] {
        // SAFETY: the call has no buffers.
        std::mem::forget(unsafe { frame.launch(&run) }.unwrap().expect("the call is not complete yet"));
        if waited == 2 {
            FAULT.store(NO_FAULT.packed(), Ordering::Relaxed);
            stages(&mut frame, &run).unwrap();
            FAULT.store(later, Ordering::Relaxed);
        } else {
            frame = CallFrame::new(&site);
        }
        assert_eq!(COMPLETED.load(Ordering::Relaxed), completed + waited);
    }
    FAULT.store(NO_FAULT.packed(), Ordering::Relaxed);
    stages(&mut frame, &run).unwrap();
}

#[test]
fn a_record_stage_is_taken_along_but_never_called_here() {
    unsafe extern "C" fn record(_: *mut abi::CallFrame) -> *mut Error {
        panic!("the host must not call the record stage")
    }
    let host = Host::alone();
    let bundle = HandlerBundle { record: Some(record), ..BUNDLE };
    // SAFETY: the bundle's handlers are functions of this program.
    let target =
        unsafe { Target::typed("faulty", Platform::Host, bundle, 0, TargetOrigin::program()) }.unwrap();
    assert!(target.stages().contains(&Stage::RECORD));
    host.registry.replace(target);
    host.run(NO_FAULT).unwrap();
}

#[test]
fn operands_that_do_not_fit_the_handler() {
    let registry = Registry::new();
    registry.register_ops(farcall_ffi::ops![scale, panics, count]).unwrap();
    let (f32x2, f32x3, f64x2) = (ty(DType::F32, &[2]), ty(DType::F32, &[3]), ty(DType::F64, &[2]));
    let factor = || dict([("factor", Attribute::float(2.0, DType::F32))]);
    let try_call = |name: &str, attrs: AttrDict, ins: &[Type], outs: &[Type]| {
        let site = site(&registry, name, attrs, ins, outs)?;
        let mut memory = [[0u64; 8]; 4];
        let at = memory.each_mut().map(|m| m.as_mut_ptr().cast::<u8>());
        // SAFETY: every buffer has 64 bytes, and no operand or result is larger.
        unsafe { CallFrame::new(&site).execute(&at[..ins.len()], &at[3 - outs.len()..3], &RunContext::new()) }
    };
    let mut words = String::new();
    for (attrs, ins, outs) in [
        (factor(), vec![], vec![f32x2.clone()]),
        (factor(), vec![f32x2.clone(), f32x2.clone()], vec![f32x2.clone()]),
        (factor(), vec![f32x2.clone()], vec![]),
        (factor(), vec![f32x2.clone()], vec![f32x2.clone(), f32x2.clone()]),
        (factor(), vec![f64x2.clone()], vec![f32x2.clone()]),
        (factor(), vec![f32x2.clone()], vec![f64x2]),
        (factor(), vec![f32x2.clone()], vec![f32x3]),
        (factor(), vec![Type::Token], vec![f32x2.clone()]),
        (dict([]), vec![f32x2.clone()], vec![f32x2.clone()]),
        (dict([("factor", Attribute::i64(2))]), vec![f32x2.clone()], vec![f32x2.clone()]),
    ] {
        let e = try_call("scale", attrs, &ins, &outs).unwrap_err();
        assert_eq!(e.code, ErrorCode::INVALID_ARGUMENT, "{e}");
        words += &format!("{}\n", e.message.lines().next().unwrap_or_default());
        // The target still works with valid operands.
        try_call("scale", factor(), std::slice::from_ref(&f32x2), std::slice::from_ref(&f32x2)).unwrap();
    }
    expect![[r#"
        expected 1 operand (x), found 0
        expected 1 operand (x), found 2
        expected 1 result (y), found 0
        expected 1 result (y), found 2
        operand 0 (x): expected f32, found f64
        result 0 (y): expected f32, found f64
        x is f32[2], but y is f32[3]
        operand 0 (x): expected f32, found token
        missing attribute factor (f32); found no attribute
        attribute factor: expected f32, found s64
    "#]]
    .assert_eq(&words);
    let e = try_call("panics", dict([]), &[], &[]).unwrap_err();
    assert!(e.message.contains("there was nothing"), "{e}");
    let e =
        try_call("count", dict([("start", Attribute::i64(-1))]), &[], &[ty(DType::S64, &[])]).unwrap_err();
    assert_eq!(e.stage, Stage::INSTANTIATE);
}

/// An interrupt ends the wait for a future that never completes. Memory that the handler may use is kept
/// until the future completes.
#[test]
fn the_wait_for_a_future_is_interrupted() {
    let host = Host::alone();
    let program = "func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
      %0 = stablehlo.add %x, %x : tensor<1000xf32>
      stablehlo.custom_call @faulty() {api_version = 4 : i32, backend_config = {}, has_side_effect = true} : () -> ()
      return %0 : tensor<1000xf32>
    }";
    let module = text::parse(&Source::new("p.mlir", program)).unwrap();
    let compile = || Executable::compile(&module, &host.registry, &CompileOptions::new());
    let soon = || {
        let end = Instant::now() + Duration::from_millis(20);
        Arc::new(Interrupt::asking(move || Instant::now() > end))
    };
    let begin = |stage: Stage| {
        FAULT.store(Fault { stage, what: FaultKind::FutureNever, code: 0 }.packed(), Ordering::Relaxed);
        Instant::now()
    };
    let complete_later = || {
        let future = std::ptr::with_exposed_provenance_mut(PENDING_FUTURE.load(Ordering::Relaxed));
        let left = live();
        assert!(complete(future).is_null());
        left
    };
    let started = begin(Stage::INSTANTIATE);
    assert!(matches!(interrupt::during(&soon(), compile), Err(Interrupted)));
    assert!(started.elapsed() < Duration::from_millis(400), "{:?}", started.elapsed());
    assert_eq!((complete_later(), live_soon(0)), (1, 0));

    FAULT.store(NO_FAULT.packed(), Ordering::Relaxed);
    let executable = compile().unwrap();
    let x = || [farcall::ir::Literal::from_fn(DType::F32, [1000], |i| farcall::ir::Scalar::Float(i as f64))];
    let expected = executable.run(&x()).unwrap();
    assert_eq!(live(), 1);
    for stage in [Stage::PREPARE, Stage::INITIALIZE, Stage::EXECUTE] {
        for owned in [false, true] {
            let run = RunContext::new().with_interrupt(soon());
            let started = begin(stage);
            let ended = if owned {
                executable.execute_with(x(), &run).map(drop)
            } else {
                executable.run_with(&x(), &run).map(drop)
            };
            assert!(matches!(ended, Err(RunError::Interrupted)), "{ended:?}");
            assert!(started.elapsed() < Duration::from_millis(400), "{:?}", started.elapsed());
            drop(run);
            FAULT.store(NO_FAULT.packed(), Ordering::Relaxed);
            assert_eq!(
                executable.run(&x()).unwrap(),
                expected,
                "wrong results while another call is not complete"
            );
            let left = if stage == Stage::PREPARE { 2 } else { 3 };
            assert_eq!((complete_later(), live_soon(1)), (left, 1), "{stage:?}");
            assert_eq!(executable.run(&x()).unwrap(), expected);
        }
    }
    // Drop the executable before the call is complete.
    begin(Stage::EXECUTE);
    let run = RunContext::new().with_interrupt(soon());
    assert!(matches!(executable.run_with(&x(), &run), Err(RunError::Interrupted)));
    drop((executable, run));
    assert_eq!((complete_later(), live_soon(0)), (3, 0));
}

/// A callback that reports an interrupt only once, like a signal, ends every phase of a run: the product, and
/// the wait for a call that never completes.
#[test]
fn an_interrupt_that_is_reported_once_ends_a_run() {
    let host = Host::alone();
    let program = "func.func @main(%x: tensor<2500x2500xf32>) -> tensor<2500x2500xf32> {
      stablehlo.custom_call @faulty() {api_version = 4 : i32, backend_config = {}, has_side_effect = true} : () -> ()
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
        : (tensor<2500x2500xf32>, tensor<2500x2500xf32>) -> tensor<2500x2500xf32>
      return %0 : tensor<2500x2500xf32>
    }";
    let module = text::parse(&Source::new("p.mlir", program)).unwrap();
    let executable = Executable::compile(&module, &host.registry, &CompileOptions::new()).unwrap();
    FAULT.store(
        Fault { stage: Stage::EXECUTE, what: FaultKind::FutureNever, code: 0 }.packed(),
        Ordering::Relaxed,
    );
    let (end, told) = (Instant::now() + Duration::from_millis(20), AtomicBool::new(false));
    let once = Interrupt::asking(move || Instant::now() > end && !told.swap(true, Ordering::Relaxed));
    let run = RunContext::new().with_interrupt(Arc::new(once));
    let x = [farcall::ir::Literal::zeros(DType::F32, [2500, 2500])];
    assert!(matches!(executable.run_with(&x, &run), Err(RunError::Interrupted)));
    FAULT.store(NO_FAULT.packed(), Ordering::Relaxed);
    let future = std::ptr::with_exposed_provenance_mut(PENDING_FUTURE.load(Ordering::Relaxed));
    assert!(complete(future).is_null());
    drop((executable, run));
    assert_eq!(live_soon(0), 0);
}

// ---- The handler -----------------------------------------------------------------------------

/// A fault, and the stage where it happens.
#[derive(Clone, Copy, Debug)]
struct Fault {
    stage: Stage,
    what: FaultKind,
    code: u32,
}

const NO_FAULT: Fault = Fault { stage: Stage::RECORD, what: FaultKind::Fail, code: 0 };

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(u8)]
enum FaultKind {
    Fail,
    UnknownCode,
    StrayError,
    StrayFuture,
    FutureFails,
    FutureFailsLater,
    ErrorAndFuture,
    CompletesTwice,
    StateTwice,
    StateOfAnotherStage,
    StateOfNoStage,
    StateOfNoType,
    ScratchTwiceFreed,
    FutureNever,
}

const FAULTS: [FaultKind; 14] = [
    FaultKind::Fail,
    FaultKind::UnknownCode,
    FaultKind::StrayError,
    FaultKind::StrayFuture,
    FaultKind::FutureFails,
    FaultKind::FutureFailsLater,
    FaultKind::ErrorAndFuture,
    FaultKind::CompletesTwice,
    FaultKind::StateTwice,
    FaultKind::StateOfAnotherStage,
    FaultKind::StateOfNoStage,
    FaultKind::StateOfNoType,
    FaultKind::ScratchTwiceFreed,
    FaultKind::FutureNever,
];

impl Fault {
    fn packed(self) -> u64 {
        u64::from(self.stage.0) | (self.what as u64) << 8 | u64::from(self.code) << 16
    }

    fn unpack(packed: u64) -> Fault {
        let byte = |i: u32| (packed >> (8 * i)) as u8;
        let code = (packed >> 16) as u32;
        Fault { stage: Stage(byte(0).into()), what: FAULTS[usize::from(byte(1))], code }
    }
}

/// The last future that the handler did not complete.
static PENDING_FUTURE: AtomicUsize = AtomicUsize::new(0);

/// Current fault of the handler.
static FAULT: AtomicU64 = AtomicU64::new(0);
/// Number of states that have not been destroyed.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// Error code from completing a future for the second time.
static SECOND_COMPLETION: AtomicI64 = AtomicI64::new(-1);
/// Number of futures that threads of the handler have completed.
static COMPLETED: AtomicUsize = AtomicUsize::new(0);

static STATE: LazyLock<TypeId> = LazyLock::new(|| {
    unsafe extern "C" fn delete(state: *mut c_void) {
        // SAFETY: `new_state` has made the pointer with `Box::into_raw`.
        drop(unsafe { Box::from_raw(state.cast::<u64>()) });
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
    // SAFETY: only `new_state` makes objects of this type, which `delete` frees.
    unsafe { register_type("faulty", TypeId::UNKNOWN, Some(delete)) }.unwrap()
});

fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// Returns the number of states, after waiting up to five seconds for it to become `expected`: a thread of
/// the pool drops the states of a completed call.
fn live_soon(expected: usize) -> usize {
    let end = Instant::now() + Duration::from_secs(5);
    while live() != expected && Instant::now() < end {
        std::thread::yield_now();
    }
    live()
}

fn new_state() -> *mut c_void {
    LIVE.fetch_add(1, Ordering::Relaxed);
    Box::into_raw(Box::new(7u64)).cast()
}

const STAGES: [Stage; 4] = [Stage::INSTANTIATE, Stage::PREPARE, Stage::INITIALIZE, Stage::EXECUTE];

const BUNDLE: HandlerBundle = HandlerBundle {
    instantiate: Some(faulty),
    prepare: Some(faulty),
    initialize: Some(faulty),
    execute: Some(faulty),
    record: None,
};

/// Makes a state in each stage that has one, allocates scratch memory without freeing it, and then triggers
/// the current fault.
unsafe extern "C" fn faulty(frame: *mut abi::CallFrame) -> *mut Error {
    // SAFETY: the host calls handlers with a valid frame.
    let frame = unsafe { &mut *frame };
    if !frame.extension_start.is_null() {
        // SAFETY: the only extension that this host adds asks for the metadata.
        let metadata = unsafe { &mut *(*frame.extension_start.cast::<MetadataExtension>()).metadata };
        metadata.api_version = ApiVersion::new(0, 5);
        return null_mut();
    }
    let call = Call { ctx: frame.ctx, stage: frame.stage };
    if frame.stage != Stage::EXECUTE {
        let error = call.set_state(frame.stage, *STATE, new_state());
        assert!(error.is_null());
    }
    if frame.stage != Stage::INSTANTIATE {
        call.allocate().unwrap();
    }
    let fault = Fault::unpack(FAULT.load(Ordering::Relaxed));
    if fault.stage != frame.stage {
        return null_mut();
    }
    // A state that the host rejects still belongs to the handler.
    let refused = |stage: Stage, type_id: TypeId| {
        let state = new_state();
        let error = call.set_state(stage, type_id, state);
        assert!(!error.is_null());
        LIVE.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: `new_state` has just made the pointer.
        drop(unsafe { Box::from_raw(state.cast::<u64>()) });
        error
    };
    match fault.what {
        FaultKind::Fail => new_error(fault.code),
        FaultKind::UnknownCode => new_error(99),
        FaultKind::StrayError => std::ptr::without_provenance_mut(0x7777_0008),
        FaultKind::StrayFuture => {
            frame.future = std::ptr::without_provenance_mut(0x7777_0010);
            null_mut()
        }
        FaultKind::FutureFails => {
            frame.future = new_future();
            assert!(fail_future(frame.future, new_error(fault.code)).is_null());
            null_mut()
        }
        FaultKind::FutureFailsLater => {
            frame.future = new_future();
            let future = frame.future.expose_provenance();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(5));
                COMPLETED.fetch_add(1, Ordering::Relaxed);
                let future = std::ptr::with_exposed_provenance_mut(future);
                assert!(fail_future(future, new_error(fault.code)).is_null());
            });
            null_mut()
        }
        FaultKind::FutureNever => {
            frame.future = new_future();
            PENDING_FUTURE.store(frame.future.expose_provenance(), Ordering::Relaxed);
            null_mut()
        }
        FaultKind::ErrorAndFuture => {
            frame.future = new_future();
            let future = frame.future.expose_provenance();
            SECOND_COMPLETION.store(-1, Ordering::Relaxed);
            let error = new_error(fault.code);
            let later = move || {
                std::thread::sleep(Duration::from_millis(20));
                SECOND_COMPLETION.store(
                    code_of(complete(std::ptr::with_exposed_provenance_mut(future))),
                    Ordering::Relaxed,
                );
            };
            PENDING.lock().unwrap_or_else(PoisonError::into_inner).push(std::thread::spawn(later));
            error
        }
        FaultKind::CompletesTwice => {
            frame.future = new_future();
            assert!(complete(frame.future).is_null());
            SECOND_COMPLETION.store(code_of(complete(frame.future)), Ordering::Relaxed);
            null_mut()
        }
        FaultKind::StateTwice => refused(frame.stage, *STATE),
        FaultKind::StateOfAnotherStage => refused(Stage(frame.stage.0 + 1), *STATE),
        FaultKind::StateOfNoStage => refused(Stage(1000), *STATE),
        FaultKind::StateOfNoType => refused(frame.stage, TypeId { type_id: 12345 }),
        FaultKind::ScratchTwiceFreed => match call.allocate() {
            Err(error) => error,
            Ok(data) => {
                assert!(call.free(data).is_null());
                call.free(data)
            }
        },
    }
}

/// Threads that complete futures of failed calls.
static PENDING: Mutex<Vec<std::thread::JoinHandle<()>>> = Mutex::new(Vec::new());

fn api() -> &'static Api {
    // SAFETY: the table is static.
    unsafe { &*farcall::custom_call::host_api() }
}

/// Calls a function of the host. The macro fills in the arguments' size and extension.
macro_rules! host {
    ($function:ident, $args:ident { $($field:ident: $value:expr),* }) => {{
        let mut args = $args {
            struct_size: $args::STRUCT_SIZE,
            extension_start: null_mut(),
            $($field: $value),*
        };
        // SAFETY: the arguments are complete.
        let error = unsafe { api().$function.unwrap()(&raw mut args) };
        (error, args)
    }};
}

fn new_error(code: u32) -> *mut Error {
    let message = CString::new("because").unwrap();
    host!(error_create, ErrorCreateArgs { message: message.as_ptr(), errc: ErrorCode(code) }).0
}

fn code_of(error: *mut Error) -> i64 {
    let ((), args) = host!(
        error_get_details,
        ErrorGetDetailsArgs { error: error, message: std::ptr::null(), errc: ErrorCode::OK }
    );
    host!(error_destroy, ErrorDestroyArgs { error: error });
    args.errc.0.into()
}

fn new_future() -> *mut Future {
    let (error, args) = host!(future_create, FutureCreateArgs { future: null_mut() });
    assert!(error.is_null());
    args.future
}

fn complete(future: *mut Future) -> *mut Error {
    host!(future_set_available, FutureSetAvailableArgs { future: future }).0
}

fn fail_future(future: *mut Future, error: *mut Error) -> *mut Error {
    host!(future_set_error, FutureSetErrorArgs { future: future, error: error }).0
}

struct Call {
    ctx: *mut InvokeContext,
    stage: Stage,
}

impl Call {
    fn set_state(&self, stage: Stage, mut type_id: TypeId, state: *mut c_void) -> *mut Error {
        host!(
            state_set,
            StateSetArgs { ctx: self.ctx, stage: stage, type_id: &raw mut type_id, state: state }
        )
        .0
    }

    fn allocate(&self) -> Result<*mut c_void, *mut Error> {
        let (error, args) = host!(
            device_memory_allocate,
            DeviceMemoryAllocateArgs { ctx: self.ctx, size: 100, alignment: 128, data: null_mut() }
        );
        let _in = self.stage;
        if error.is_null() { Ok(args.data) } else { Err(error) }
    }

    fn free(&self, data: *mut c_void) -> *mut Error {
        host!(device_memory_free, DeviceMemoryFreeArgs { ctx: self.ctx, size: 100, data: data }).0
    }
}

// ---- Helpers ---------------------------------------------------------------------------------

/// A registry with the handler. Only one test at a time holds it, as the current fault is global.
struct Host {
    registry: Registry,
    _alone: MutexGuard<'static, ()>,
}

impl Host {
    fn alone() -> Host {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let registry = Registry::new();
        // SAFETY: the bundle's handlers are functions of this program.
        let target =
            unsafe { Target::typed("faulty", Platform::Host, BUNDLE, 0, TargetOrigin::program()) }.unwrap();
        registry.register(target).unwrap();
        Host { registry, _alone: alone }
    }

    fn site(&self, fault: Fault) -> Result<Arc<CallSite>, CallError> {
        FAULT.store(fault.packed(), Ordering::Relaxed);
        site(&self.registry, "faulty", dict([]), &[], &[])
    }

    /// Runs all stages of a call.
    fn run(&self, fault: Fault) -> Result<(), CallError> {
        let run = RunContext::new().with_pool(Arc::new(ThreadPool::new(1)));
        let outcome = self.site(fault).and_then(|site| stages(&mut CallFrame::new(&site), &run));
        for thread in PENDING.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            thread.join().unwrap();
        }
        outcome
    }
}

/// Runs the prepare, initialize and execute stages of a call.
fn stages(frame: &mut CallFrame, run: &RunContext) -> Result<(), CallError> {
    // SAFETY: the call has no buffers.
    unsafe {
        frame.prepare(&[], &[], run)?;
        frame.initialize(&[], &[], run)?;
        frame.execute(&[], &[], run)
    }
}

fn site(
    registry: &Registry,
    name: &str,
    attrs: AttrDict,
    ins: &[Type],
    outs: &[Type],
) -> Result<Arc<CallSite>, CallError> {
    let call = CustomCall { config: CallConfig::Dict(attrs), ..CustomCall::new(name) };
    let target = registry.resolve(&call, &Platform::Host).unwrap();
    CallSite::new(target, &call, ins, outs, "p.mlir:3:8").map(Arc::new)
}

fn dict<const N: usize>(entries: [(&str, Attribute); N]) -> AttrDict {
    entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

fn ty(dtype: DType, dims: &[usize]) -> Type {
    TensorType::new(dtype, dims).into()
}

/// Checks that the dimensions of its operand and of its result are 2 and 3, then overwrites these dimensions.
unsafe extern "C" fn scribbles(frame: *mut abi::CallFrame) -> *mut abi::Error {
    // SAFETY: the host calls handlers with a valid frame, whose only extension asks for the metadata. The
    // call has one operand and one result.
    unsafe {
        if !(*frame).extension_start.is_null() {
            let metadata = (*(*frame).extension_start.cast::<MetadataExtension>()).metadata;
            (*metadata).api_version = abi::ApiVersion::new(0, 1);
            return null_mut();
        }
        for buffer in [*(*frame).args.args, *(*frame).rets.rets] {
            let buffer = buffer.cast::<abi::Buffer>();
            let dims = (*buffer).dims;
            if (*dims, *dims.add(1)) != (2, 3) {
                WRONG_DIMS.fetch_add(1, Ordering::Relaxed);
            }
            (*dims, *dims.add(1)) = (1_000_000, -1);
        }
    }
    null_mut()
}

static WRONG_DIMS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn a_handler_that_overwrites_its_dims_does_not_harm_the_next_call() {
    let bundle = HandlerBundle {
        instantiate: None,
        prepare: None,
        initialize: None,
        execute: Some(scribbles),
        record: None,
    };
    let registry = Registry::new();
    // SAFETY: the bundle's handler is a function of this program.
    let target = unsafe { Target::typed("scribbles", Platform::Host, bundle, 0, TargetOrigin::program()) };
    registry.register(target.unwrap()).unwrap();
    let program = "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %0 = stablehlo.custom_call @scribbles(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = stablehlo.custom_call @scribbles(%0) {api_version = 4 : i32, backend_config = {}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      return %1 : tensor<2x3xf32>
    }";
    let module = text::parse(&Source::new("p.mlir", program)).unwrap();
    let executable = Executable::compile(&module, &registry, &CompileOptions::new()).unwrap();
    for _ in 0..3 {
        executable.run(&[farcall::ir::Literal::zeros(DType::F32, [2, 3])]).unwrap();
    }
    assert_eq!(WRONG_DIMS.load(Ordering::Relaxed), 0);
}

#[test]
fn a_frame_is_checked_again_when_a_pointer_changes() {
    let registry = Registry::new();
    registry.register_ops(farcall_ffi::ops![scale]).unwrap();
    let f32x2 = || ty(DType::F32, &[2]);
    let factor = dict([("factor", Attribute::float(2.0, DType::F32))]);
    let site = site(&registry, "scale", factor, &[f32x2()], &[f32x2()]).unwrap();
    let (mut frame, run) = (CallFrame::new(&site), RunContext::new());
    let mut memory = [[0f32; 2]; 3];
    let at = memory.each_mut().map(|m| m.as_mut_ptr());
    for turn in 0..3 {
        // Some calls have the same pointers as the call before. The elements differ from turn to turn.
        for (from, to) in [(0, 1), (0, 1), (0, 2), (2, 1), (2, 1)] {
            let x = [turn as f32, (from + to) as f32];
            // SAFETY: each buffer has two floats, and they do not overlap.
            unsafe {
                at[from].cast::<[f32; 2]>().write(x);
                frame.execute(&[at[from].cast()], &[at[to].cast()], &run).unwrap();
                assert_eq!(at[to].cast::<[f32; 2]>().read(), x.map(|x| 2.0 * x));
            }
        }
        for result in [at[0], at[0].wrapping_add(1), null_mut(), at[1].wrapping_byte_add(1)] {
            // SAFETY: the handler's entry rejects the call before it accesses the buffers.
            let e = unsafe { frame.execute(&[at[0].cast()], &[result.cast()], &run) }.unwrap_err();
            assert_eq!(e.code, ErrorCode::INVALID_ARGUMENT, "{e}");
        }
    }
}
