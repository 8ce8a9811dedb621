//! Services of devices other than the host's processor: a stream, and scratch memory.

use std::ffi::c_void;
use std::fmt::Debug;
use std::ptr::NonNull;

/// Services that a device offers to the handlers of its platform. The engine runs on the host's processor
/// only; tools and tests pass these services to single calls
/// ([`RunContext::on_device`](super::context::RunContext::on_device)).
///
/// # Safety
/// [`stream`](Self::stream) is a stream of the device, valid as long as the services exist. Handlers of the
/// device's platform may use memory that [`allocate`](Self::allocate) returns until it is freed.
pub unsafe trait DeviceServices: Debug + Send + Sync {
    /// Number of the device among the devices of its platform.
    fn device_ordinal(&self) -> i32;

    /// The platform's stream, such as a `CUstream`.
    fn stream(&self) -> *mut c_void;

    /// Maximum alignment in bytes that [`allocate`](Self::allocate) supports.
    fn max_alignment(&self) -> usize;

    /// Allocates memory of the device with at least the maximum alignment. Returns `None` if there is not
    /// enough memory.
    fn allocate(&self, size: usize) -> Option<NonNull<c_void>>;

    /// Frees memory, after the work that is on the stream.
    ///
    /// # Safety
    /// The memory is from [`allocate`](Self::allocate) of the same services, and is freed once.
    unsafe fn free(&self, data: NonNull<c_void>);
}
