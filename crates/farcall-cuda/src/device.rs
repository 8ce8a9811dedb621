//! A device with a stream and memory, for tools and tests that call handlers themselves. In a normal call,
//! the host provides the stream and the memory.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::ptr::null_mut;

use cudarc::driver::sys;
use farcall_ffi::{Error, Result};

use crate::driver::{DRIVER, Driver, HostContext};
use crate::library::function_table;

function_table! {
    /// Functions of the CUDA driver that hosts call.
    struct HostFunctions of DRIVER, sys::CUresult;

    fn cuInit(c_uint);
    fn cuDeviceGet(*mut sys::CUdevice, c_int);
    fn cuDeviceGetName(*mut c_char, c_int, sys::CUdevice);
    fn cuDevicePrimaryCtxRetain(*mut sys::CUcontext, sys::CUdevice);
    fn cuMemcpyDtoHAsync_v2(*mut c_void, sys::CUdeviceptr, usize, sys::CUstream);
    fn cuMemcpyHtoDAsync_v2(sys::CUdeviceptr, *const c_void, usize, sys::CUstream);
    fn cuStreamCreate(*mut sys::CUstream, c_uint);
    fn cuStreamDestroy_v2(sys::CUstream);
    fn cuStreamSynchronize(sys::CUstream);
    unchecked {}
    optional {}
}

/// Size of the buffer for a device's name, in bytes.
const NAME_BYTES: usize = 256;

/// A GPU with a stream, for tools and tests that call handlers for CUDA without XLA.
///
/// ```no_run
/// use farcall_cuda::{CudaStream, GpuDevice, GpuMemory};
/// use farcall_ffi::prelude::*;
/// use farcall_ffi::testing::Call;
///
/// #[handler(name = "copy", platform = "CUDA")]
/// fn copy(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
///     stream.copy(x, y)
/// }
///
/// # fn main() -> Result<()> {
/// let gpu = GpuDevice::open(0)?;
/// let (x, y) = (GpuMemory::new(&gpu, 4)?, GpuMemory::new(&gpu, 4)?);
/// x.write(&1f32.to_ne_bytes())?;
/// let call = Call::to::<copy>().gpu_operand::<f32>(x.address(), &[1]).gpu_result::<f32>(y.address(), &[1]);
/// // SAFETY: the stream is one of the device, and the buffers exist until its work has ended.
/// gpu.run(|| unsafe { call.on_stream(gpu.stream(), gpu.ordinal()) }.run())??;
/// assert_eq!(y.read()?, 1f32.to_ne_bytes());
/// # Ok(())
/// # }
/// ```
pub struct GpuDevice {
    driver: &'static Driver,
    functions: &'static HostFunctions,
    /// The device's primary context, which is never released: kernels in statics belong to it.
    context: HostContext,
    stream: sys::CUstream,
    ordinal: i32,
    name: String,
}

// SAFETY: any thread may use a context and a stream.
unsafe impl Send for GpuDevice {}
// SAFETY: any thread may use a context and a stream, also at the same time.
unsafe impl Sync for GpuDevice {}

impl GpuDevice {
    /// Opens the device with this number, and makes a stream.
    ///
    /// # Errors
    /// `NOT_FOUND` if no driver is installed; `FAILED_PRECONDITION` or `INVALID_ARGUMENT` if there is no such
    /// device; otherwise the driver's own error.
    pub fn open(ordinal: i32) -> Result<GpuDevice> {
        let (driver, functions) = (Driver::get()?, HostFunctions::get()?);
        // SAFETY: the function has no requirements.
        driver.check("cuInit", unsafe { (functions.cuInit)(0) })?;
        let mut device = 0;
        // SAFETY: the pointer is valid.
        driver.check("cuDeviceGet", unsafe { (functions.cuDeviceGet)(&mut device, ordinal) })?;
        let mut name = [0u8; NAME_BYTES];
        // SAFETY: the driver writes at most `NAME_BYTES` bytes.
        let status =
            unsafe { (functions.cuDeviceGetName)(name.as_mut_ptr().cast(), NAME_BYTES as c_int, device) };
        driver.check("cuDeviceGetName", status)?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned();
        let mut context = null_mut();
        // SAFETY: the pointer is valid, and the device exists.
        let status = unsafe { (functions.cuDevicePrimaryCtxRetain)(&mut context, device) };
        driver.check("cuDevicePrimaryCtxRetain", status)?;
        // SAFETY: the context is never released.
        let context = unsafe { HostContext::from_raw(driver, context) };
        let mut stream = null_mut();
        {
            let _current = context.enter().ok_or_else(refused)?;
            const NON_BLOCKING: c_uint = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint;
            // SAFETY: the pointer is valid, and the device's context is current.
            let status = unsafe { (functions.cuStreamCreate)(&mut stream, NON_BLOCKING) };
            driver.check("cuStreamCreate", status)?;
        }
        Ok(GpuDevice { driver, functions, context, stream, ordinal, name })
    }

    /// Name of the device, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of the device.
    pub fn ordinal(&self) -> i32 {
        self.ordinal
    }

    /// The stream, as a `CUstream`. As in XLA, it does not wait for the default stream.
    pub fn stream(&self) -> *mut c_void {
        self.stream.cast()
    }

    /// Runs a function in which the device's context is current on this thread, as it is when XLA calls a
    /// handler, then waits for the work on the stream.
    ///
    /// # Errors
    /// The driver's error. The wait reports an error of a kernel. After such an error, all later uses of the
    /// device in this process fail, too.
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> Result<R> {
        let _current = self.context.enter().ok_or_else(refused)?;
        let outcome = work();
        self.wait()?;
        Ok(outcome)
    }

    /// Waits for the work on the stream. The context is current.
    fn wait(&self) -> Result<()> {
        // SAFETY: the stream exists.
        let status = unsafe { (self.functions.cuStreamSynchronize)(self.stream) };
        self.driver.check("cuStreamSynchronize", status)
    }

    /// Allocates memory. Returns its address.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if there is not enough memory, or the driver's own error.
    fn allocate(&self, size: usize) -> Result<sys::CUdeviceptr> {
        let _current = self.context.enter().ok_or_else(refused)?;
        let mut address = 0;
        // SAFETY: the pointer is valid, and the device's context is current. The driver refuses a size of 0.
        let status = unsafe { (self.driver.cuMemAlloc_v2)(&mut address, size.max(1)) };
        self.driver.check("cuMemAlloc", status)?;
        Ok(address)
    }

    /// Frees memory, after the work on the stream.
    ///
    /// # Safety
    /// The memory is from `allocate`, and is freed once.
    unsafe fn free(&self, address: sys::CUdeviceptr) {
        if let Some(_current) = self.context.enter() {
            // If the wait fails, no work can use the memory any more.
            let _outcome = self.wait();
            // SAFETY: the caller guarantees an allocation (`# Safety` above), which no work uses any more.
            unsafe { (self.driver.cuMemFree_v2)(address) };
        }
    }
}

/// Returns the error for a context that cannot be made current.
#[cold]
fn refused() -> Error {
    Error::failed_precondition("cuCtxPushCurrent: the driver refuses the device's context")
}

impl Drop for GpuDevice {
    fn drop(&mut self) {
        if let Some(_current) = self.context.enter() {
            // SAFETY: the stream exists. The driver destroys it when its work has ended.
            unsafe { (self.functions.cuStreamDestroy_v2)(self.stream) };
        }
    }
}

impl fmt::Debug for GpuDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuDevice").field("ordinal", &self.ordinal).field("name", &self.name).finish()
    }
}

/// Memory of a [`GpuDevice`], with unspecified contents until it is written.
#[derive(Debug)]
pub struct GpuMemory<D: AsRef<GpuDevice>> {
    device: D,
    address: sys::CUdeviceptr,
    size: usize,
}

impl AsRef<GpuDevice> for GpuDevice {
    fn as_ref(&self) -> &GpuDevice {
        self
    }
}

impl<D: AsRef<GpuDevice>> GpuMemory<D> {
    /// Allocates `size` bytes. `device` is a reference to the device, or an `Arc` of it.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if there is not enough memory, or the driver's own error.
    pub fn new(device: D, size: usize) -> Result<GpuMemory<D>> {
        let address = device.as_ref().allocate(size)?;
        Ok(GpuMemory { device, address, size })
    }

    /// Address on the device. It is a multiple of 256 bytes.
    pub fn address(&self) -> usize {
        self.address as usize
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Copies bytes to the memory, after the work on the stream.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` unless `bytes` and the memory have the same size, or the driver's error.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        if bytes.len() != self.size {
            let message = format!("cannot copy {} bytes to memory of {} bytes", bytes.len(), self.size);
            return Err(Error::invalid_argument(message));
        }
        if self.size == 0 {
            return Ok(());
        }
        let device = self.device.as_ref();
        device.run(|| {
            // SAFETY: both sides have `size` bytes. `run` waits for the copy.
            let status = unsafe {
                (device.functions.cuMemcpyHtoDAsync_v2)(
                    self.address,
                    bytes.as_ptr().cast(),
                    self.size,
                    device.stream,
                )
            };
            device.driver.check("cuMemcpyHtoDAsync", status)
        })?
    }

    /// Sets all bytes to one value, after the work on the stream.
    ///
    /// # Errors
    /// The driver's error.
    pub fn fill(&self, byte: u8) -> Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        let device = self.device.as_ref();
        device.run(|| {
            // SAFETY: the memory has `size` bytes.
            let status =
                unsafe { (device.driver.cuMemsetD8Async)(self.address, byte, self.size, device.stream) };
            device.driver.check("cuMemsetD8Async", status)
        })?
    }

    /// Returns the bytes in the memory, after the work on the stream.
    ///
    /// # Errors
    /// The driver's error.
    pub fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.size];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        let device = self.device.as_ref();
        device.run(|| {
            // SAFETY: both sides have `size` bytes. `run` waits for the copy.
            let status = unsafe {
                (device.functions.cuMemcpyDtoHAsync_v2)(
                    bytes.as_mut_ptr().cast(),
                    self.address,
                    self.size,
                    device.stream,
                )
            };
            device.driver.check("cuMemcpyDtoHAsync", status)
        })??;
        Ok(bytes)
    }
}

impl<D: AsRef<GpuDevice>> Drop for GpuMemory<D> {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, and freed only here.
        unsafe { self.device.as_ref().free(self.address) };
    }
}
