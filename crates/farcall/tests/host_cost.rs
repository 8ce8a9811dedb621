//! What it costs to enter and leave a handler: a measurement, for people to run.
//!
//! ```text
//! cargo test --release -p farcall --test host_cost -- --ignored --nocapture
//! cargo test --release -p farcall --features cxx-exceptions --test host_cost -- --ignored --nocapture
//! ```
#![expect(clippy::print_stdout, reason = "prints what it measures")]

use std::sync::Arc;
use std::time::Instant;

use farcall::custom_call::{CallFrame, CallSite, RunContext};
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::ir::{DType, TensorType, Type};
use farcall::registry::{Origin, Platform, Target};
use farcall_ffi::abi::{self, HandlerBundle, MetadataExtension};

/// Does nothing.
unsafe extern "C" fn no_op(frame: *mut abi::CallFrame) -> *mut abi::Error {
    // SAFETY: the host's frame; its only extension is the question for the metadata.
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
    // SAFETY: a handler of this program.
    let typed = unsafe { Target::typed("no_op", Platform::Host, bundle, 0, Origin::program()) }.unwrap();
    // SAFETY: a function that looks at no parameter.
    let untyped =
        unsafe { Target::untyped("no_op", Platform::Host, untyped_no_op, Origin::program()) }.unwrap();
    println!("exceptions caught: {}", cfg!(feature = "cxx-exceptions"));
    measure("typed", typed, CallConfig::Dict(Default::default()));
    measure("untyped", untyped, CallConfig::Absent);
}

/// The median time of a call in a chain of a thousand.
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
                // SAFETY: both are 16 floats.
                unsafe { frame.call(&run) }.unwrap();
            }
            start.elapsed().as_secs_f64() * 1e9 / CHAIN as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{what}: {:.1} ns a call (least {:.1})", times[times.len() / 2], times[0]);
}
