//! The host's stream as a parameter `&CudaStream` of a handler.

use std::ffi::c_void;
use std::fmt;

use cudarc::driver::sys;
use farcall_ffi::__private::{Boxed, Decoder, Param, Spec, ViewAt, platform};
use farcall_ffi::{Context, Error, Result};

use crate::array::GpuArray;
use crate::driver::Driver;

/// The stream on which a call enqueues its work, as a parameter `&CudaStream` of a handler for `"CUDA"`.
///
/// The host owns the stream: it runs the work in order after the work that the program enqueued before, and
/// waits for it where the program needs the results. A handler enqueues and returns.
///
/// The parameter is available in the initialize, execute and record stages. In the instantiate and prepare
/// stages, XLA has no stream, and the parameter is an error.
///
/// A handler or a stage function for another platform does not compile with this parameter:
///
/// ```compile_fail,E0080
/// use farcall_cuda::CudaStream;
/// use farcall_ffi::prelude::*;
///
/// #[handler(name = "other", platform = "ROCM")]
/// pub fn other(stream: &CudaStream) -> Result<()> {
///     Ok(())
/// }
/// ```
pub struct CudaStream {
    driver: &'static Driver,
    raw: sys::CUstream,
    device_ordinal: i32,
}

impl CudaStream {
    /// Returns the stream of a call.
    ///
    /// # Errors
    /// The host's error if the call has no stream (all hosts on the CPU, and XLA in the instantiate and
    /// prepare stages) or no device ordinal; `NOT_FOUND` if there is no CUDA driver.
    #[inline]
    fn of(context: &Context) -> Result<CudaStream> {
        let raw = context.stream()?.cast();
        let device_ordinal = context.device_ordinal()?;
        // SAFETY: a host of the platform CUDA returns a `CUstream`, which is valid during the call. The only
        // caller is the parameter `&CudaStream`, which does not outlive the call, and which only handlers for
        // CUDA and their stages can have (`Spec::platform`).
        unsafe { CudaStream::from_raw(raw, device_ordinal) }
    }

    /// Wraps a stream of the device with this ordinal.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is no CUDA driver.
    ///
    /// # Safety
    /// The stream is one of this device, and stays valid as long as the returned value is used. Meanwhile,
    /// the context of the device is current on this thread. Null is the default stream of this context. The
    /// context exists until the process ends or shuts the driver down: modules and handles of libraries keep
    /// it, and enter it when they are dropped.
    #[inline]
    pub unsafe fn from_raw(raw: sys::CUstream, device_ordinal: i32) -> Result<CudaStream> {
        Ok(CudaStream { driver: Driver::get()?, raw, device_ordinal })
    }

    /// The stream as a handle of the CUDA driver, for other libraries. The host owns it: never destroy it.
    #[inline]
    pub fn as_raw(&self) -> sys::CUstream {
        self.raw
    }

    /// Number of the stream's device among the devices of the platform.
    #[inline]
    pub fn device_ordinal(&self) -> i32 {
        self.device_ordinal
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// Returns true if the stream's work is recorded into a CUDA graph instead of running. Modules cannot be
    /// loaded, and memory cannot be allocated, until the recording ends.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if an earlier error has invalidated the recording, or the driver's error.
    pub fn is_capturing(&self) -> Result<bool> {
        use sys::CUstreamCaptureStatus as Status;
        let mut capture = 0;
        // SAFETY: the stream is valid during the call, and so is the pointer.
        let status = unsafe { (self.driver.cuStreamIsCapturing)(self.raw, &mut capture) };
        self.driver.check("cuStreamIsCapturing", status)?;
        if capture == Status::CU_STREAM_CAPTURE_STATUS_INVALIDATED as u32 {
            let message = "an earlier error has invalidated the recording of the stream into a CUDA graph";
            return Err(Error::failed_precondition(message));
        }
        Ok(capture != Status::CU_STREAM_CAPTURE_STATUS_NONE as u32)
    }

    /// Checks that the stream is not being recorded. `what` begins the message: `modules cannot be loaded`.
    pub(crate) fn expect_not_capturing(&self, what: &str) -> Result<()> {
        if !self.is_capturing()? {
            return Ok(());
        }
        let message = format!(
            "{what} while the stream is recorded into a CUDA graph: do it in the handler's initialize stage"
        );
        Err(Error::failed_precondition(message))
    }

    /// Checks that the stream belongs to a device. `what` names an object of this device, for the message.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with the numbers of both devices.
    pub(crate) fn expect_device(&self, device_ordinal: i32, what: &str) -> Result<()> {
        if self.device_ordinal == device_ordinal {
            return Ok(());
        }
        let own = self.device_ordinal;
        let message = format!("{what} belongs to device {device_ordinal}, but the stream to device {own}");
        Err(Error::invalid_argument(message))
    }

    /// Checks that work may use the arrays of a call. `uses_scratch` is true if an array is scratch memory,
    /// which a CUDA graph would access after the call has returned it to the host.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if an array is scratch memory and the stream is being recorded.
    #[inline]
    pub(crate) fn check_scratch(&self, uses_scratch: bool) -> Result<()> {
        if uses_scratch { self.refuse_recorded_scratch() } else { Ok(()) }
    }

    #[inline(never)]
    fn refuse_recorded_scratch(&self) -> Result<()> {
        if self.is_capturing()? { Err(recorded_scratch()) } else { Ok(()) }
    }

    /// Enqueues a copy of all elements of `from` to `to`. If the arrays are empty, nothing is enqueued.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the numbers of elements differ, `FAILED_PRECONDITION` if an array is scratch
    /// memory and the stream is being recorded into a CUDA graph, or the driver's error.
    pub fn copy<T>(
        &self,
        from: &(impl GpuArray<Element = T> + ?Sized),
        to: &mut (impl GpuArray<Element = T> + ?Sized),
    ) -> Result<()> {
        let (source, count) = (from.start(), from.count());
        if count != to.count() {
            let message = format!("cannot copy {count} elements to {}", to.count());
            return Err(Error::invalid_argument(message));
        }
        self.check_scratch(from.is_scratch() || to.is_scratch())?;
        let size = count * size_of::<T>();
        if size == 0 {
            return Ok(());
        }
        // SAFETY: both arrays cover `size` bytes on the device while the work runs (`GpuArray`), and `to` is
        // borrowed exclusively.
        let status =
            unsafe { (self.driver.cuMemcpyDtoDAsync_v2)(device(to.start()), device(source), size, self.raw) };
        self.driver.check("cuMemcpyDtoDAsync", status)
    }

    /// Enqueues work that sets all bytes of `array` to zero. If the array is empty, nothing is enqueued.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if the array is scratch memory and the stream is being recorded into a CUDA
    /// graph, or the driver's error.
    pub fn zero(&self, array: &mut (impl GpuArray + ?Sized)) -> Result<()> {
        self.check_scratch(array.is_scratch())?;
        self.zero_bytes(array.start().cast(), array.size())
    }

    fn zero_bytes(&self, start: *const c_void, size: usize) -> Result<()> {
        if size == 0 {
            return Ok(());
        }
        // SAFETY: the array covers `size` bytes on the device while the work runs (`GpuArray`), and the
        // caller has borrowed it exclusively.
        let status = unsafe { (self.driver.cuMemsetD8Async)(device(start), 0, size, self.raw) };
        self.driver.check("cuMemsetD8Async", status)
    }
}

/// Returns the error for scratch memory in a CUDA graph.
#[cold]
pub(crate) fn recorded_scratch() -> Error {
    Error::failed_precondition(
        "scratch memory of the call cannot be used while the stream is recorded into a CUDA graph, which \
         would access it after the call: declare another result, or allocate memory in the handler's \
         initialize stage",
    )
}

/// Converts an address to the driver's type.
fn device<T>(address: *const T) -> sys::CUdeviceptr {
    address.addr() as sys::CUdeviceptr
}

impl fmt::Debug for CudaStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaStream")
            .field("raw", &self.raw)
            .field("device_ordinal", &self.device_ordinal)
            .finish()
    }
}

/// Reads the parameter from the host.
#[inline]
fn read(decoder: &Decoder, name: &'static str, slot: &mut Option<CudaStream>) -> Boxed {
    *slot = None;
    match CudaStream::of(&decoder.context()?) {
        Ok(stream) => *slot = Some(stream),
        Err(error) => {
            return Err(Box::new(error.context(format_args!("{}: {name}", decoder.handler()))));
        }
    }
    Ok(())
}

impl<'a> Param<'a> for &'a CudaStream {
    const SPEC: Spec = Spec::context_on(platform::CUDA);
    type Slot = Option<CudaStream>;
    const EMPTY: Option<CudaStream> = None;

    #[inline]
    fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut Option<CudaStream>, _: ViewAt) -> Boxed {
        read(decoder, name, slot)
    }

    #[inline]
    fn renew(decoder: &mut Decoder, name: &'static str, slot: &mut Option<CudaStream>) -> Boxed {
        read(decoder, name, slot)
    }

    #[inline]
    fn take(slot: &'a mut Option<CudaStream>, _: ViewAt) -> &'a CudaStream {
        slot.as_ref().expect("a parameter is taken after it was read")
    }
}
