//! Values that exist once for each device: modules, handles of libraries, tuned parameters.

use std::sync::{Mutex, OnceLock, PoisonError};

use farcall_ffi::{Error, Result};

use crate::stream::CudaStream;

/// Maximum number of devices in a process.
const MAX_DEVICES: usize = 64;

/// A value for each device: made in a handler's initialize stage, read when the handler runs.
///
/// It can be a `static`, so that all call sites of the process share it. This fits kernels, whose modules are
/// then loaded once:
///
/// ```
/// use farcall_cuda::{PerDevice, CudaStream, kernels, launch};
/// use farcall_ffi::prelude::*;
///
/// # const PTX: &[u8] = b"";
/// kernels! {
///     struct Kernels = PTX;
///     unsafe fn scale(x: *const f32, y: *mut f32, by: f32, n: u32);
/// }
///
/// static KERNELS: PerDevice<Kernels> = PerDevice::new();
///
/// #[stage(initialize)]
/// fn load(stream: &CudaStream) -> Result<()> {
///     KERNELS.get_or_init(stream, Kernels::load).map(drop)
/// }
///
/// #[handler(name = "scale", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
/// fn scale(x: &GpuBuffer<f32>, by: f32, y: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
///     ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
///     let n = u32::try_from(x.len())?;
///     // SAFETY: x and y have n elements.
///     unsafe {
///         launch!(KERNELS.get(stream)?.scale, stream, grid: n.div_ceil(256), block: 256, (x, y, by, n))
///     }
/// }
/// ```
///
/// Or it can be the state of a call site (`&State<PerDevice<T>>`), made empty in the instantiate stage, which
/// has no device. This fits values that belong to one call site, such as a [`Blas`](crate::Blas).
///
/// Reading takes no lock.
#[derive(Debug)]
pub struct PerDevice<T> {
    slots: [Slot<T>; MAX_DEVICES],
}

#[derive(Debug)]
struct Slot<T> {
    value: OnceLock<T>,
    /// Held by the thread that makes the value.
    making: Mutex<()>,
}

impl<T> PerDevice<T> {
    /// Returns a `PerDevice` without values.
    pub const fn new() -> PerDevice<T> {
        PerDevice { slots: [const { Slot { value: OnceLock::new(), making: Mutex::new(()) } }; MAX_DEVICES] }
    }

    /// Returns the value for the stream's device, and makes it if this is the first call for the device.
    /// Calls for other devices do not wait. If `make` fails, the next call tries again.
    ///
    /// `make` must not call this function on the same `PerDevice`.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if the value does not exist and the stream is being recorded into a CUDA graph,
    /// or the error of `make`.
    pub fn get_or_init(
        &self,
        stream: &CudaStream,
        make: impl FnOnce(&CudaStream) -> Result<T>,
    ) -> Result<&T> {
        let slot = self.slot(stream)?;
        if let Some(value) = slot.value.get() {
            return Ok(value);
        }
        let _making = slot.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = slot.value.get() {
            return Ok(value);
        }
        stream.expect_not_capturing("values for a device cannot be made")?;
        let value = make(stream)?;
        Ok(slot.value.get_or_init(|| value))
    }

    /// Returns the value for the stream's device.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if [`get_or_init`](Self::get_or_init) was not called for this device.
    #[inline]
    pub fn get(&self, stream: &CudaStream) -> Result<&T> {
        match self.slots.get(stream.device_ordinal() as usize).and_then(|slot| slot.value.get()) {
            Some(value) => Ok(value),
            None => Err(missing(stream)),
        }
    }

    fn slot(&self, stream: &CudaStream) -> Result<&Slot<T>> {
        let ordinal = stream.device_ordinal();
        let slot = usize::try_from(ordinal).ok().and_then(|ordinal| self.slots.get(ordinal));
        slot.ok_or_else(|| {
            Error::out_of_range(format!("device {ordinal}: a process has at most {MAX_DEVICES} devices"))
        })
    }
}

impl<T> Default for PerDevice<T> {
    fn default() -> PerDevice<T> {
        PerDevice::new()
    }
}

#[cold]
#[inline(never)]
fn missing(stream: &CudaStream) -> Error {
    let message = format!(
        "no value was made for device {}: call `PerDevice::get_or_init` in the handler's initialize stage",
        stream.device_ordinal()
    );
    Error::failed_precondition(message)
}
