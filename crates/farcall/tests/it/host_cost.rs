//! Benchmarks, run by hand: the cost of entering and leaving a handler, and of running a program.
//!
//! ```text
//! cargo test --release -p farcall --test it host_cost -- --ignored --nocapture
//! cargo test --release -p farcall --features cxx-exceptions --test it host_cost -- --ignored --nocapture
//! ```
#![expect(clippy::print_stdout, reason = "prints the measured times")]

use std::sync::Arc;
use std::time::Instant;

use farcall::custom_call::{CallFrame, CallSite, RunContext};
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::ir::{DType, Literal, Source, TensorType, Type, text};
use farcall::registry::{Platform, Target, TargetOrigin};
use farcall::{CompileOptions, Executable, Registry};
use farcall_ffi::abi::{self, HandlerBundle, MetadataExtension};

/// Does nothing.
unsafe extern "C" fn no_op(frame: *mut abi::CallFrame) -> *mut abi::Error {
    // SAFETY: the host calls handlers with a valid frame, whose only extension asks for the metadata.
    unsafe {
        if !(*frame).extension_start.is_null() {
            let metadata = (*(*frame).extension_start.cast::<MetadataExtension>()).metadata;
            (*metadata).api_version = abi::ApiVersion::new(0, 1);
        }
    }
    std::ptr::null_mut()
}

unsafe extern "C" fn untyped_no_op() {}

const CHAIN: usize = 1000;

#[test]
#[ignore = "a measurement, not a check"]
fn a_chain_of_no_ops() {
    let bundle = HandlerBundle {
        instantiate: None,
        prepare: None,
        initialize: None,
        execute: Some(no_op),
        record: None,
    };
    // SAFETY: the bundle's handler is a function of this program.
    let typed =
        unsafe { Target::typed("no_op", Platform::Host, bundle, 0, TargetOrigin::program()) }.unwrap();
    // SAFETY: the function uses no parameter.
    let untyped =
        unsafe { Target::untyped("no_op", Platform::Host, untyped_no_op, TargetOrigin::program()) }.unwrap();
    println!("C++ exceptions are caught: {}", cfg!(feature = "cxx-exceptions"));
    measure("typed", typed, CallConfig::Dict(Default::default()));
    measure("untyped", untyped, CallConfig::Absent);
}

#[test]
#[ignore = "a measurement, not a check"]
fn programs_that_do_little() {
    let mut calls = String::new();
    for i in 0..CHAIN {
        calls += &format!(
            "%v{} = stablehlo.custom_call @no_op(%v{i}) : (tensor<8xf32>) -> tensor<8xf32>\n",
            i + 1
        );
    }
    let registry = Registry::new();
    // SAFETY: the function uses no parameter.
    let target = unsafe { Target::untyped("no_op", Platform::Host, untyped_no_op, TargetOrigin::program()) };
    registry.register(target.unwrap()).unwrap();
    for (what, body, runs) in [
        ("nothing", "return %v0 : tensor<8xf32>".to_owned(), 100_001),
        (
            "one addition",
            "%y = stablehlo.add %v0, %v0 : tensor<8xf32>\nreturn %y : tensor<8xf32>".to_owned(),
            100_001,
        ),
        ("a thousand calls", format!("{calls}return %v{CHAIN} : tensor<8xf32>"), 2001),
    ] {
        let program = format!("func.func @main(%v0: tensor<8xf32>) -> tensor<8xf32> {{\n{body}\n}}");
        let module = text::parse(&Source::new("test.mlir", program)).unwrap();
        let executable = Executable::compile(&module, &registry, &CompileOptions::new()).unwrap();
        let inputs = [Literal::zeros(DType::F32, [8])];
        let times = (0..runs).map(|_| {
            let start = Instant::now();
            std::hint::black_box(executable.run(&inputs).unwrap());
            start.elapsed().as_secs_f64() * 1e9
        });
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        println!(
            "a program of {what}: median {:.0} ns per run, minimum {:.0} ns",
            times[times.len() / 2],
            times[0]
        );
    }
}

/// Prints the median time of a call in a chain of a thousand calls.
fn measure(what: &str, target: Target, config: CallConfig) {
    let target = Arc::new(target);
    let call = CustomCall { config, ..CustomCall::new("no_op") };
    let ty = || Type::from(TensorType::new(DType::F32, [16]));
    let mut frames: Vec<CallFrame> = (0..CHAIN)
        .map(|_| {
            let site = CallSite::new(Arc::clone(&target), &call, &[ty()], &[ty()], "").unwrap();
            CallFrame::new(&Arc::new(site))
        })
        .collect();
    let mut buffers = [[0f32; 16]; 2];
    let [x, y] = buffers.each_mut().map(|b| b.as_mut_ptr().cast::<u8>());
    let run = RunContext::new();
    let mut times: Vec<f64> = (0..2001)
        .map(|_| {
            let start = Instant::now();
            for frame in &mut frames {
                frame.set_operand(0, x);
                frame.set_result(0, y);
                // SAFETY: both buffers are 16 floats.
                unsafe { frame.call(&run) }.unwrap();
            }
            start.elapsed().as_secs_f64() * 1e9 / CHAIN as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{what}: median {:.1} ns per call, minimum {:.1} ns", times[times.len() / 2], times[0]);
}
