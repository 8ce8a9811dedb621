//! The status object to which functions of the untyped API report errors, and the symbols that they call to
//! report an error or success.
//!
//! A library that is linked with XLA's own `XlaCustomCallStatusSetFailure` (as jaxlib is) does not call the
//! host's function. Instead it writes XLA's `struct XlaCustomCallStatus_`, which is a
//! `std::optional<std::string>`. The status object therefore begins with an optional string in this layout.

use std::cell::UnsafeCell;
use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use farcall_ffi::abi::ErrorCode;

use super::error::Failure;

/// The object behind `XlaCustomCallStatus`, which receives the outcome from functions that take such an
/// object. The status means success unless a function reports a failure.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct CallStatus {
    /// Written by XLA's functions in the library.
    xla: UnsafeCell<OptionalString>,
    magic: u64,
    /// Written by the host's functions.
    message: Mutex<Option<Vec<u8>>>,
}

const STATUS_MAGIC: u64 = u64::from_le_bytes(*b"status!!");

/// `std::optional<std::string>` in the layout of libstdc++, which XLA's Linux wheels are built with. All
/// zeros means empty.
#[derive(Debug)]
#[repr(C)]
struct OptionalString {
    /// Pointer to the text, which is on the heap or in `short`.
    data: *const u8,
    len: usize,
    short: [u8; 16],
    present: u8,
}

impl OptionalString {
    const EMPTY_OPTIONAL: OptionalString =
        OptionalString { data: std::ptr::null(), len: 0, short: [0; 16], present: 0 };

    /// Returns the text, if present. Its memory belongs to an unknown C++ allocator, so text on the heap is
    /// never freed.
    fn text(&self) -> Option<Vec<u8>> {
        if self.present == 0 {
            return None;
        }
        let len = if self.data.is_null() { 0 } else { self.len };
        // SAFETY: only XLA's functions write here, and a present string has `len` bytes at `data`.
        Some((0..len).map(|i| unsafe { self.data.add(i).read() }).collect())
    }
}

impl CallStatus {
    /// Creates a status that means success.
    pub(crate) fn new() -> CallStatus {
        let xla = UnsafeCell::new(OptionalString::EMPTY_OPTIONAL);
        CallStatus { xla, magic: STATUS_MAGIC, message: Mutex::new(None) }
    }

    /// Returns the pointer to pass to functions. The object must not move until the function has returned and
    /// `outcome` was called, because a short text is stored inside it.
    pub(crate) fn pointer(&self) -> *mut CallStatus {
        std::ptr::from_ref(self).cast_mut()
    }

    /// Returns the outcome that the function reported.
    pub(crate) fn outcome(&self) -> Result<(), Failure> {
        let message = self.message.lock().unwrap_or_else(PoisonError::into_inner).take();
        // SAFETY: the function has returned, so nothing writes to the status.
        let message = message.or_else(|| unsafe { &*self.xla.get() }.text());
        match message {
            None => Ok(()),
            Some(message) => {
                Err(Failure::new(ErrorCode::INTERNAL, String::from_utf8_lossy(&message).into_owned()))
            }
        }
    }

    /// Returns the status behind a function's pointer.
    ///
    /// # Safety
    /// `status` is null, or the pointer passed to the running function.
    unsafe fn of<'a>(status: *mut CallStatus) -> Option<&'a CallStatus> {
        if !status.is_aligned() {
            return None;
        }
        // SAFETY: the caller guarantees that `status` is null or a status (`# Safety` above).
        unsafe { status.as_ref() }.filter(|s| s.magic == STATUS_MAGIC)
    }

    fn set(&self, message: Option<Vec<u8>>) {
        *self.message.lock().unwrap_or_else(PoisonError::into_inner) = message;
    }
}

/// Reports success.
///
/// # Safety
/// `status` is null, or the pointer passed to the running function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn XlaCustomCallStatusSetSuccess(status: *mut CallStatus) {
    // SAFETY: the caller guarantees a valid status (`# Safety` above).
    if let Some(status) = unsafe { CallStatus::of(status) } {
        status.set(None);
    }
}

/// Reports failure. The message extends up to its null byte, and has at most `message_len` bytes.
///
/// # Safety
/// `status` is null, or the pointer passed to the running function. `message` is null, or points to text
/// that has `message_len` bytes or ends earlier with a null byte.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn XlaCustomCallStatusSetFailure(
    status: *mut CallStatus,
    message: *const c_char,
    message_len: usize,
) {
    let mut text = Vec::new();
    if !message.is_null() {
        for i in 0..message_len {
            // SAFETY: the preceding bytes are not null, and the index is below `message_len`.
            match unsafe { message.add(i).cast::<u8>().read() } {
                0 => break,
                byte => text.push(byte),
            }
        }
    }
    // SAFETY: the caller guarantees a valid status (`# Safety` above).
    if let Some(status) = unsafe { CallStatus::of(status) } {
        status.set(Some(text));
    }
}
