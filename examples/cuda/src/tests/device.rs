//! The device of a test, and arrays in its memory.

use std::ffi::c_void;
use std::sync::OnceLock;

use farcall_cuda::cudarc::driver::{result, sys};
use farcall_ffi::Element;
use farcall_ffi::testing::{Call, ScratchAllocator};

/// Makes the context of the first device current on this thread.
pub(crate) fn set_up() {
    static CONTEXT: OnceLock<usize> = OnceLock::new();
    let context = CONTEXT.get_or_init(|| {
        if std::env::var("FARCALL_CUDA_TESTS").as_deref() != Ok("device") {
            ["libcuda_emulator.so", "libcublas_emulator.so", "libnccl_emulator.so"]
                .into_iter()
                .for_each(open);
        }
        result::init().expect("a driver");
        let device = result::device::get(0).expect("a device");
        // SAFETY: the device exists. Its context is never released.
        unsafe { result::primary_ctx::retain(device) }.expect("a context").addr()
    });
    let context: sys::CUcontext = std::ptr::with_exposed_provenance_mut(*context);
    // SAFETY: the context is never released.
    unsafe { result::ctx::set_current(context) }.expect("a current context");
}

/// Loads a library that Cargo has put beside this test's program. The dynamic linker knows it by the name
/// that it has in its file, such as `libcuda.so.1`, until the process ends.
fn open(file: &str) {
    let path = std::env::current_exe().expect("tests have a path").with_file_name(file);
    // SAFETY: the emulators have no initializers.
    let library = unsafe { libloading::Library::new(path) };
    std::mem::forget(library.expect("cargo builds the emulators with this test"));
}

/// Makes a call on the default stream of the first device. Its buffers are [`Array`]s.
pub(crate) fn on_device(call: Call<'_>) -> farcall_ffi::Result<()> {
    // SAFETY: the null stream is the default stream of the current context. Buffers and scratch memory lie in
    // memory of the device, which is freed after `synchronize`.
    let outcome = unsafe { call.on_stream(std::ptr::null_mut(), 0) }.scratch_from(&Scratch).run();
    result::ctx::synchronize().expect("no kernel has failed");
    outcome
}

/// The allocator of scratch memory on the device.
#[derive(Debug)]
struct Scratch;

// SAFETY: the driver keeps the memory until it is freed.
unsafe impl ScratchAllocator for Scratch {
    fn allocate(&self, size: usize, _alignment: usize) -> *mut c_void {
        // SAFETY: a context is current.
        let address = unsafe { result::malloc_sync(size.max(1)) }.unwrap_or(0);
        std::ptr::without_provenance_mut(address as usize)
    }

    fn free(&self, data: *mut c_void) {
        // The kernels that use the memory have been enqueued, and may still run.
        result::ctx::synchronize().expect("no kernel has failed");
        // SAFETY: the memory is from `allocate`, and no kernel uses it any more.
        unsafe { result::free_sync(data.addr() as sys::CUdeviceptr) }.expect("an allocation");
    }
}

/// Elements in the memory of the device.
pub(crate) struct Array<T> {
    allocation: sys::CUdeviceptr,
    /// Distance of the first element from the start of the allocation, in elements.
    shift: usize,
    len: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: Element> Array<T> {
    /// Copies elements to the device.
    pub(crate) fn new(elements: &[T]) -> Array<T> {
        Array::shifted(elements, 0)
    }

    /// Copies elements to the device, `shift` elements after a multiple of 256 bytes.
    pub(crate) fn shifted(elements: &[T], shift: usize) -> Array<T> {
        // An allocation has at least one element.
        let size = (shift + elements.len().max(1)) * size_of::<T>();
        // SAFETY: a context is current.
        let allocation = unsafe { result::malloc_sync(size) }.expect("memory");
        let array = Array { allocation, shift, len: elements.len(), element: std::marker::PhantomData };
        if !elements.is_empty() {
            // SAFETY: the allocation has room for the elements.
            unsafe { result::memcpy_htod_sync(array.address() as u64, elements) }.expect("a copy");
        }
        array
    }

    /// Address of the first element.
    pub(crate) fn address(&self) -> usize {
        self.allocation as usize + self.shift * size_of::<T>()
    }

    /// Copies the elements from the device.
    pub(crate) fn read(&self) -> Vec<T>
    where
        T: Default + Clone,
    {
        let mut elements = vec![T::default(); self.len];
        if self.len > 0 {
            // SAFETY: the allocation has these elements.
            unsafe { result::memcpy_dtoh_sync(&mut elements, self.address() as u64) }.expect("a copy");
        }
        elements
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated here, and the device has no work left (`on_device`).
        unsafe { result::free_sync(self.allocation) }.expect("an allocation");
    }
}
