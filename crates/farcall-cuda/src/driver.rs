//! The CUDA driver: its functions, and the conversion of its errors to errors of a handler.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null;

use cudarc::driver::sys;
use farcall_ffi::{Error, Result, StatusCode};

use crate::library::{LibraryFiles, function_table};

function_table! {
    /// Functions of the CUDA driver.
    struct Driver of DRIVER, sys::CUresult;

    fn cuDriverGetVersion(*mut c_int);
    fn cuCtxGetCurrent(*mut sys::CUcontext);
    fn cuCtxPushCurrent_v2(sys::CUcontext);
    fn cuCtxPopCurrent_v2(*mut sys::CUcontext);
    fn cuCtxGetDevice(*mut sys::CUdevice);
    fn cuDeviceGetAttribute(*mut c_int, sys::CUdevice_attribute, sys::CUdevice);
    fn cuEventCreate(*mut sys::CUevent, c_uint);
    fn cuEventDestroy_v2(sys::CUevent);
    fn cuEventRecord(sys::CUevent, sys::CUstream);
    fn cuFuncSetAttribute(sys::CUfunction, sys::CUfunction_attribute, c_int);
    fn cuLaunchKernel(
        sys::CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, sys::CUstream,
        *mut *mut c_void, *mut *mut c_void,
    );
    fn cuMemAlloc_v2(*mut sys::CUdeviceptr, usize);
    fn cuMemFree_v2(sys::CUdeviceptr);
    fn cuMemcpyDtoDAsync_v2(sys::CUdeviceptr, sys::CUdeviceptr, usize, sys::CUstream);
    fn cuMemsetD8Async(sys::CUdeviceptr, u8, usize, sys::CUstream);
    fn cuModuleGetFunction(*mut sys::CUfunction, sys::CUmodule, *const c_char);
    fn cuModuleLoadDataEx(
        *mut sys::CUmodule, *const c_void, c_uint, *mut sys::CUjit_option, *mut *mut c_void,
    );
    fn cuModuleUnload(sys::CUmodule);
    fn cuStreamWaitEvent(sys::CUstream, sys::CUevent, c_uint);
    unchecked {
        fn cuGetErrorName(u32, *mut *const c_char) -> u32;
        fn cuGetErrorString(u32, *mut *const c_char) -> u32;
        fn cuStreamIsCapturing(sys::CUstream, *mut u32) -> u32;
    }
    optional {
        fn cuFuncGetParamInfo(sys::CUfunction, usize, *mut usize, *mut usize);
    }
}

/// The driver's files: the name that hosts use, then the name in folders for development.
pub(crate) const DRIVER: LibraryFiles =
    LibraryFiles { title: "the CUDA driver", files: &["libcuda.so.1", "libcuda.so"] };

/// Version of CUDA that the driver supports, major and minor.
///
/// # Errors
/// `NOT_FOUND` if no driver is installed, or the driver's own error.
pub fn driver_version() -> Result<(i32, i32)> {
    let driver = Driver::get()?;
    let mut version = 0;
    // SAFETY: the pointer is valid.
    let status = unsafe { (driver.cuDriverGetVersion)(&mut version) };
    driver.check("cuDriverGetVersion", status)?;
    Ok((version / 1000, version % 1000 / 10))
}

/// Number of the status `CUDA_ERROR_INVALID_VALUE`.
pub(crate) const INVALID_VALUE: u32 = sys::CUresult::CUDA_ERROR_INVALID_VALUE as u32;

impl Driver {
    /// Converts the status that a function returned to a result.
    ///
    /// # Errors
    /// The driver's error: `cuLaunchKernel: CUDA_ERROR_INVALID_VALUE: invalid argument`.
    #[inline(always)]
    pub(crate) fn check(&self, function: &str, status: u32) -> Result<()> {
        if status == 0 { Ok(()) } else { Err(self.error(function, status)) }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn error(&self, function: &str, status: u32) -> Error {
        let text = |get: unsafe extern "C" fn(u32, *mut *const c_char) -> u32| {
            let mut text = null();
            // SAFETY: the pointer is valid. The functions accept unknown numbers, and return an error then.
            let unknown = unsafe { get(status, &mut text) } != 0 || text.is_null();
            // SAFETY: the driver's texts are null-terminated constants.
            (!unknown).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
        };
        let name = text(self.cuGetErrorName).unwrap_or_else(|| format!("error {status}").into());
        let reason = text(self.cuGetErrorString).unwrap_or_else(|| "the driver has no text for it".into());
        Error::new(code_of(status), format!("{function}: {name}: {reason}"))
    }
}

/// Returns XLA's status code for a status of the driver.
fn code_of(status: u32) -> StatusCode {
    use sys::CUresult as Status;
    const CODES: [(Status, StatusCode); 24] = [
        (Status::CUDA_ERROR_INVALID_VALUE, StatusCode::InvalidArgument),
        (Status::CUDA_ERROR_OUT_OF_MEMORY, StatusCode::ResourceExhausted),
        (Status::CUDA_ERROR_NOT_INITIALIZED, StatusCode::FailedPrecondition),
        (Status::CUDA_ERROR_DEINITIALIZED, StatusCode::FailedPrecondition),
        (Status::CUDA_ERROR_NO_DEVICE, StatusCode::FailedPrecondition),
        (Status::CUDA_ERROR_INVALID_DEVICE, StatusCode::InvalidArgument),
        (Status::CUDA_ERROR_INVALID_IMAGE, StatusCode::InvalidArgument),
        (Status::CUDA_ERROR_INVALID_CONTEXT, StatusCode::FailedPrecondition),
        (Status::CUDA_ERROR_NO_BINARY_FOR_GPU, StatusCode::Unimplemented),
        (Status::CUDA_ERROR_INVALID_PTX, StatusCode::InvalidArgument),
        (Status::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, StatusCode::Unimplemented),
        (Status::CUDA_ERROR_JIT_COMPILER_NOT_FOUND, StatusCode::FailedPrecondition),
        (Status::CUDA_ERROR_INVALID_SOURCE, StatusCode::InvalidArgument),
        (Status::CUDA_ERROR_INVALID_HANDLE, StatusCode::InvalidArgument),
        (Status::CUDA_ERROR_NOT_FOUND, StatusCode::NotFound),
        (Status::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, StatusCode::ResourceExhausted),
        (Status::CUDA_ERROR_LAUNCH_TIMEOUT, StatusCode::DeadlineExceeded),
        (Status::CUDA_ERROR_NOT_PERMITTED, StatusCode::PermissionDenied),
        (Status::CUDA_ERROR_NOT_SUPPORTED, StatusCode::Unimplemented),
        (Status::CUDA_ERROR_SYSTEM_NOT_READY, StatusCode::Unavailable),
        (Status::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, StatusCode::FailedPrecondition),
        (Status::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, StatusCode::FailedPrecondition),
        (Status::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, StatusCode::FailedPrecondition),
        (Status::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, StatusCode::FailedPrecondition),
    ];
    let known = CODES.iter().find(|(known, _)| *known as u32 == status);
    known.map_or(StatusCode::Internal, |(_, code)| *code)
}

/// The context of a device, made by the host or by a [`GpuDevice`](crate::GpuDevice).
#[derive(Clone, Copy)]
pub(crate) struct HostContext {
    driver: &'static Driver,
    raw: sys::CUcontext,
}

// SAFETY: a context is a handle that any thread may use.
unsafe impl Send for HostContext {}
// SAFETY: a context is a handle that any thread may use, also at the same time.
unsafe impl Sync for HostContext {}

impl HostContext {
    /// Wraps a context.
    ///
    /// # Safety
    /// The context exists until the process ends, or until the driver is shut down.
    pub(crate) unsafe fn from_raw(driver: &'static Driver, raw: sys::CUcontext) -> HostContext {
        HostContext { driver, raw }
    }

    /// Returns the context that is current on this thread.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if no context is current, or the driver's error.
    pub(crate) fn of_this_thread(driver: &'static Driver) -> Result<HostContext> {
        let raw = current(driver)?;
        if raw.is_null() {
            let message = "the host has made no CUDA context current on this thread";
            return Err(Error::failed_precondition(message));
        }
        Ok(HostContext { driver, raw })
    }

    /// Returns true if the context is current on this thread.
    ///
    /// # Errors
    /// The driver's error.
    pub(crate) fn is_current(self) -> Result<bool> {
        Ok(current(self.driver)? == self.raw)
    }

    /// Makes the context current on this thread until the returned value is dropped. Returns `None` if the
    /// driver refuses, as it does when the process ends.
    pub(crate) fn enter(self) -> Option<CurrentContext> {
        // SAFETY: the context exists (`from_raw`), or it was current while a stream of its device was used, and
        // exists until the driver is shut down (`CudaStream::from_raw`).
        let status = unsafe { (self.driver.cuCtxPushCurrent_v2)(self.raw) };
        (status == 0).then_some(CurrentContext(self.driver))
    }
}

/// Returns the context that is current on this thread, or null.
fn current(driver: &Driver) -> Result<sys::CUcontext> {
    let mut raw = std::ptr::null_mut();
    // SAFETY: the pointer is valid.
    driver.check("cuCtxGetCurrent", unsafe { (driver.cuCtxGetCurrent)(&mut raw) })?;
    Ok(raw)
}

/// A context that is current on this thread until this value is dropped.
pub(crate) struct CurrentContext(&'static Driver);

impl Drop for CurrentContext {
    fn drop(&mut self) {
        let mut context = std::ptr::null_mut();
        // SAFETY: the pointer is valid, and `enter` made a context current.
        unsafe { (self.0.cuCtxPopCurrent_v2)(&mut context) };
    }
}
