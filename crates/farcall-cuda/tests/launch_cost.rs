//! A launch allocates nothing and calls the driver once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{CStr, c_char};

use farcall_ffi::__private::enter;
use farcall_ffi::abi::CallFrame;
use farcall_ffi::testing::Call;
use farcall_testing::library::plain_cc;
use libloading::Library;
use scaling::scale;

mod scaling;

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_launch_allocates_nothing_and_calls_the_driver_once() {
    let Some(driver) = plain_cc("farcall-cuda", "driver", "standin_cost", &["-Wl,-soname,libcuda.so.1"])
    else {
        return;
    };
    // SAFETY: the stand-in has no initializers.
    let driver = unsafe { Library::new(driver) }.unwrap();
    let log = || {
        // SAFETY: the stand-in declares this type; the text is valid until the next call.
        unsafe {
            let log = driver.get::<unsafe extern "C" fn() -> *const c_char>(b"standin_log\0").unwrap();
            CStr::from_ptr(log()).to_str().unwrap().to_owned()
        }
    };
    let call = Call::to::<scale>().gpu_operand::<f32>(0x1000, &[24]).gpu_result::<f32>(0x2000, &[24]);
    // SAFETY: the stand-in accesses neither the stream nor memory of a device.
    let call = unsafe { call.attr("by", 2.5f32).on_stream(std::ptr::without_provenance_mut(0x5000), 0) };
    let repeat = |frame: &mut CallFrame| {
        // The first call checks the parameters of the frame, and stores the proof that they fit.
        for is_first in [true, false, false] {
            log();
            let before = ALLOCATIONS.get();
            // SAFETY: the frame is one of this handler.
            let error = unsafe { enter::<scale>(frame) };
            let allocations = ALLOCATIONS.get() - before;
            assert!(error.is_null());
            assert!(is_first || allocations == 0, "{allocations} allocations");
            assert_eq!(
                log(),
                "cuLaunchKernel(scale<<<1x1x1, 256x1x1, 0, 0x5000>>>(0x1000, 0x2000, 2.5, 24))\n"
            );
        }
    };
    // SAFETY: the frame is unchanged.
    unsafe { call.run_changed(repeat) }.unwrap();
}
