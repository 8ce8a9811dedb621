//! Measures the time of a handler that launches a kernel, without the driver's own time, side by side with
//! the same handler in C++ on the same frame. The tests' stand-in takes the place of the driver; its launch
//! returns at once.
//!
//! ```text
//! FARCALL_XLA_INCLUDE=…/jaxlib/include cargo bench -p farcall-cuda --bench launch
//! ```
//!
//! `FARCALL_XLA_INCLUDE` lists folders with `xla/ffi/api/ffi.h`; the benchmark uses the first one. Each
//! figure is the fastest of many rounds, in nanoseconds per call. The handlers take turns. A launch by
//! NVIDIA's driver takes about two microseconds more.
#![expect(clippy::print_stdout, reason = "the figures")]

use std::ffi::c_void;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use farcall_ffi::__private::enter;
use farcall_ffi::abi::{CallFrame, HandlerFn};
use farcall_ffi::testing::Call;
use farcall_testing::library::plain_cc;
use libloading::Library;
use scaling::scale;

#[path = "../tests/scaling/mod.rs"]
mod scaling;

const ROUNDS: usize = 401;
const CALLS: usize = 20_000;

fn main() {
    let Some(driver) =
        plain_cc("farcall-cuda", "driver", "standin_bench", &["-O2", "-Wl,-soname,libcuda.so.1"])
    else {
        return;
    };
    // SAFETY: the stand-in has no initializers.
    let driver = unsafe { Library::new(driver) }.expect("it was just built");
    let include = std::env::var_os("FARCALL_XLA_INCLUDE");
    let include = include.as_ref().and_then(|dirs| std::env::split_paths(dirs).next());
    let theirs = include.map(|include| compile(&include));
    let symbol = |name: &str| {
        // SAFETY: the symbols of launch.cc are handlers.
        theirs
            .as_ref()
            .map(|library| *unsafe { library.get::<HandlerFn>(name) }.expect("launch.cc defines it"))
    };
    let sides = [Some(enter::<scale> as HandlerFn), symbol("scale"), symbol("only_launch")];
    let mut times: [Vec<f64>; 3] = Default::default();
    let call = Call::to::<scale>().gpu_operand::<f32>(0x1000, &[2, 3, 4]).attr("by", 2.5f32);
    let call = call.gpu_result::<f32>(0x2000, &[2, 3, 4]);
    // SAFETY: the stand-in accesses neither the stream nor memory of a device.
    let call = unsafe { call.on_stream(std::ptr::without_provenance_mut(0x5000), 0) };
    let measure = |frame: &mut CallFrame| {
        // SAFETY: the stand-in and launch.cc declare these types.
        unsafe {
            driver.get::<unsafe extern "C" fn()>(b"standin_quiet\0").expect("the stand-in has it")();
            if let Some(library) = &theirs {
                let set = library.get::<unsafe extern "C" fn(*mut c_void)>(b"set_kernel\0");
                // The stand-in does not look at the kernel once it is quiet.
                set.expect("launch.cc defines it")(std::ptr::without_provenance_mut(0x10));
            }
        }
        for _ in 0..ROUNDS {
            for (side, times) in sides.iter().zip(&mut times) {
                times.extend(side.map(|side| time(side, frame)));
            }
        }
    };
    // SAFETY: the frame is unchanged.
    unsafe { call.run_changed(measure) }.expect("the call succeeds");
    println!("{:<34}{:>8}", "ns a call, without the driver", "");
    for (what, times) in ["farcall-cuda", "XLA's C++ header", "only the launch, in C++"].iter().zip(times) {
        if !times.is_empty() {
            println!("{what:<34}{:>8.1}", fastest(&times));
        }
    }
}

/// Returns nanoseconds per call.
fn time(handler: HandlerFn, frame: &mut CallFrame) -> f64 {
    let start = Instant::now();
    for _ in 0..CALLS {
        // SAFETY: `frame` is a valid call frame for `handler`.
        let error = unsafe { black_box(handler)(black_box(frame)) };
        assert!(error.is_null(), "the handler failed");
    }
    start.elapsed().as_secs_f64() * 1e9 / CALLS as f64
}

fn fastest(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

fn compile(include: &Path) -> Library {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("liblaunch.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/launch.cc");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| String::from("c++"));
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-O2", "-w", "-shared", "-fPIC", "-I"]).arg(include).arg(source);
    let status = command.arg("-o").arg(&output).status().expect("a C++ compiler");
    assert!(status.success(), "launch.cc does not compile with {}", include.display());
    // SAFETY: the library's initializer opens the stand-in.
    unsafe { Library::new(output) }.expect("it was just built")
}
