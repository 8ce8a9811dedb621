//! Measures the time to decode a call frame, side by side with XLA's C++ header on the same frames.
//!
//! ```text
//! FARCALL_XLA_INCLUDE=…/jaxlib/include cargo bench -p farcall-ffi --bench decode
//! ```
//!
//! `FARCALL_XLA_INCLUDE` lists folders with `xla/ffi/api/ffi.h`; the benchmark uses the first one. Without
//! this variable, only the Rust side runs. Each figure is the median of many rounds, in nanoseconds per call.
//! The two sides take turns.
//!
//! - `again`: a frame as XLA passes it, the same in each call
//! - `moved`: a frame whose first operand has its elements at a different address in each call
//! - `checked`: a frame that is checked in full in each call, because its extension rules out a proof
//! - `kept`: a frame with a memo of the decoded arguments, as in farcall's engine
#![expect(clippy::print_stdout, reason = "the figures")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use farcall_ffi::abi::{self, CallFrame, Error, ExtensionBase, ExtensionType, HandlerFn};
use farcall_ffi::memo::FrameMemo;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

const ROUNDS: usize = 401;
const CALLS: usize = 20_000;

unsafe extern "C" fn raw(_: *mut CallFrame) -> *mut Error {
    std::ptr::null_mut()
}

#[handler(name = "nothing")]
fn nothing() -> Result<()> {
    Ok(())
}

#[handler(name = "one_buffer")]
fn one_buffer(x: &Buffer<f32>) -> Result<()> {
    black_box(x.as_ptr());
    Ok(())
}

#[handler(name = "eight_buffers")]
#[expect(clippy::too_many_arguments, reason = "the subject")]
fn eight_buffers(
    a: &Buffer<f32>,
    b: &Buffer<f32>,
    c: &Buffer<f32>,
    d: &Buffer<f32>,
    e: &mut Buffer<f32>,
    f: &mut Buffer<f32>,
    g: &mut Buffer<f32>,
    h: &mut Buffer<f32>,
) -> Result<()> {
    black_box((a.as_ptr(), b.as_ptr(), c.as_ptr(), d.as_ptr()));
    black_box((e.as_ptr(), f.as_ptr(), g.as_ptr(), h.as_ptr()));
    Ok(())
}

#[handler(name = "eight_scalars")]
#[expect(clippy::too_many_arguments, reason = "the subject")]
fn eight_scalars(
    x: &Buffer<f32>,
    alpha: f32,
    beta: f64,
    count: i32,
    depth: i64,
    exact: bool,
    factor: f32,
    groups: i64,
    height: i32,
) -> Result<()> {
    black_box((x.as_ptr(), alpha, beta, count, depth, exact, factor, groups, height));
    Ok(())
}

fn main() {
    let include = std::env::var_os("FARCALL_XLA_INCLUDE");
    let include = include.as_ref().and_then(|dirs| std::env::split_paths(dirs).next());
    let theirs = include.map(|include| compile(&include));
    println!("{:<26}{:>8}{:>8}{:>8}{:>8}{:>8}", "ns a call", "again", "moved", "checked", "kept", "ffi.h");

    // One element more than the shape needs, so that the operand can also begin at the second element.
    let x = [0f32; 25];
    let dims = [2, 3, 4];
    let mut y = [[0f32; 24]; 4];
    let with_buffer = || Call::to::<one_buffer>().operand(&x[..24], &dims);

    report("entry of a raw function", raw, theirs.as_ref(), "raw", Call::to::<nothing>());
    report("no parameters", enter::<nothing>, None, "", Call::to::<nothing>());
    report("one buffer", enter::<one_buffer>, theirs.as_ref(), "one_buffer", with_buffer());
    let mut call = Call::to::<eight_buffers>();
    for _ in 0..4 {
        call = call.operand(&x[..24], &dims);
    }
    for y in &mut y {
        call = call.result(y, &dims);
    }
    report("eight buffers", enter::<eight_buffers>, theirs.as_ref(), "eight_buffers", call);
    let call = with_buffer().attr("alpha", 1f32).attr("beta", 2f64).attr("count", 3i32).attr("depth", 4i64);
    let call = call.attr("exact", true).attr("factor", 5f32).attr("groups", 6i64).attr("height", 7i32);
    report("one buffer, eight scalars", enter::<eight_scalars>, theirs.as_ref(), "eight_scalars", call);
    println!(
        "again: the frame of the call before; moved: the first operand is somewhere else; checked: all of it is checked;\n\
         kept: a frame whose host says that nothing has changed, as farcall does; ffi.h: XLA's header, with fewer checks"
    );
}

use farcall_ffi::__private::enter;

/// Measures the Rust handler and, if available, the C++ handler on the call's frame.
fn report(what: &str, ours: HandlerFn, library: Option<&libloading::Library>, symbol: &str, call: Call<'_>) {
    let theirs = library.map(|library| {
        // SAFETY: the symbols of decode.cc are handlers.
        *unsafe { library.get::<HandlerFn>(symbol) }.expect("decode.cc defines it")
    });
    let mut times: [Vec<f64>; 5] = Default::default();
    let mut room = [0u128; 64];
    let calls = |frame: &mut CallFrame| {
        let mut unknown = ExtensionBase {
            struct_size: ExtensionBase::STRUCT_SIZE,
            r#type: ExtensionType(0),
            next: std::ptr::null_mut(),
        };
        let mut memo = FrameMemo::new(frame, room.as_mut_ptr().cast(), size_of_val(&room));
        for _ in 0..ROUNDS {
            times[0].push(time(ours, frame, |_, _| {}));
            times[1].push(time(ours, frame, move_elements));
            frame.args.extension_start = &raw mut unknown;
            times[2].push(time(ours, frame, |_, _| {}));
            frame.args.extension_start = (&raw mut memo).cast();
            times[3].push(time(ours, frame, |_, _| {}));
            frame.args.extension_start = std::ptr::null_mut();
            times[4].extend(theirs.map(|theirs| time(theirs, frame, |_, _| {})));
        }
        // The call only provides the frame; its outcome is ignored.
    };
    // SAFETY: the frame is unchanged, except for valid extensions and elements that moved within their
    // memory.
    let outcome = unsafe { call.run_changed(calls) };
    drop(outcome);
    print!("{what:<26}");
    for times in times {
        let time = if times.is_empty() { String::new() } else { format!("{:.1}", median(times)) };
        print!("{time:>8}");
    }
    println!();
}

/// Moves the first buffer's elements to another address in every call.
fn move_elements(frame: &mut CallFrame, call: usize) {
    if let Some(buffer) = first(frame) {
        let data: *mut u8 = buffer.data.cast();
        buffer.data = if call.is_multiple_of(2) { data.wrapping_add(4) } else { data.wrapping_sub(4) }.cast();
    }
}

fn first(frame: &mut CallFrame) -> Option<&mut abi::Buffer> {
    // SAFETY: the operands of this benchmark's frames are buffers, which nothing else accesses in the
    // meantime.
    (frame.args.size > 0).then(|| unsafe { &mut *(*frame.args.args).cast() })
}

/// Returns nanoseconds per call.
fn time(handler: HandlerFn, frame: &mut CallFrame, change: impl Fn(&mut CallFrame, usize)) -> f64 {
    let start = Instant::now();
    for call in 0..CALLS {
        change(frame, call);
        // SAFETY: `frame` is a valid call frame for `handler`.
        let error = unsafe { black_box(handler)(black_box(frame)) };
        assert!(error.is_null(), "the handler failed");
    }
    start.elapsed().as_secs_f64() * 1e9 / CALLS as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn compile(include: &Path) -> libloading::Library {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("libdecode.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/decode.cc");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| String::from("c++"));
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-O2", "-w", "-shared", "-fPIC", "-I"]).arg(include).arg(source);
    let status = command.arg("-o").arg(&output).status().expect("a C++ compiler");
    assert!(status.success(), "decode.cc does not compile with {}", include.display());
    // SAFETY: the library has no initializers.
    unsafe { libloading::Library::new(output) }.expect("it was just built")
}
