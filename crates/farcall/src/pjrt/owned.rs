//! Handles that the client owns and frees.

use std::ptr::NonNull;

use farcall_pjrt_abi::{
    ApiFunction, BufferDestroy, BufferHandle, ClientDestroy, ClientHandle, EventAwait, EventDestroy,
    EventHandle, ExecutableDestroy, ExecutableHandle, LoadedExecutableDestroy, LoadedExecutableHandle,
};

use super::error::PjrtError;
use super::table::Table;

/// A kind of handle that its owner frees.
pub(super) trait Freed: Sized {
    /// Arguments of the function that frees a handle.
    type Destroy: ApiFunction;

    /// Returns the arguments that free a handle.
    fn destroy(handle: *mut Self) -> Self::Destroy;
}

macro_rules! freed {
    ($($handle:ident: $destroy:ident.$member:ident,)*) => {$(
        impl Freed for $handle {
            type Destroy = $destroy;

            fn destroy($member: *mut $handle) -> $destroy {
                $destroy { $member, ..ApiFunction::zeroed() }
            }
        }
    )*};
}

freed! {
    ClientHandle: ClientDestroy.client,
    EventHandle: EventDestroy.event,
    ExecutableHandle: ExecutableDestroy.executable,
    LoadedExecutableHandle: LoadedExecutableDestroy.executable,
    BufferHandle: BufferDestroy.buffer,
}

/// A live handle, which is freed when it is dropped.
#[derive(Debug)]
pub(super) struct Owned<H: Freed> {
    table: Table,
    handle: NonNull<H>,
}

// SAFETY: functions of a plugin may be called on any thread.
unsafe impl<H: Freed> Send for Owned<H> {}
// SAFETY: see above.
unsafe impl<H: Freed> Sync for Owned<H> {}

impl<H: Freed> Owned<H> {
    /// Takes a handle that the function `name` returned; `None` for null.
    ///
    /// # Safety
    /// The handle is null, or a live handle of the plugin that nobody else frees.
    pub(super) unsafe fn new(table: Table, handle: *mut H) -> Option<Owned<H>> {
        NonNull::new(handle).map(|handle| Owned { table, handle })
    }

    pub(super) fn get(&self) -> *mut H {
        self.handle.as_ptr()
    }
}

impl<H: Freed> Drop for Owned<H> {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and not used again. An error cannot be reported here.
        let _ = unsafe { self.table.call(&mut H::destroy(self.handle.as_ptr())) };
    }
}

/// Waits for an event, and frees it. Null is the event of work that is complete.
///
/// # Errors
/// The error of the work.
///
/// # Safety
/// Same requirements as [`Owned::new`].
pub(super) unsafe fn wait(table: Table, event: *mut EventHandle) -> Result<(), PjrtError> {
    // SAFETY: the caller guarantees the event (`# Safety` above).
    let Some(event) = (unsafe { Owned::new(table, event) }) else { return Ok(()) };
    // SAFETY: the event is live.
    unsafe { table.call(&mut EventAwait { event: event.get(), ..ApiFunction::zeroed() }) }
}

/// Error for a function that returned null instead of a handle.
pub(super) fn no_handle<A: ApiFunction>() -> PjrtError {
    PjrtError::Unsupported(format!(
        "{} returned no handle and no error; this is a fault of the plugin",
        A::NAME
    ))
}
