//! The status object that functions of the untyped API report to, and the symbols through which they do.
//!
//! A library that is linked with XLA's own `XlaCustomCallStatusSetFailure` (jaxlib is) does not call the host's: it writes
//! XLA's `struct XlaCustomCallStatus_`, which is a `std::optional<std::string>`. The status object begins with one.

use std::cell::UnsafeCell;
use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use farcall_ffi::abi::ErrorCode;

use super::error::Failure;

/// What functions with a status report to (`XlaCustomCallStatus`); success until they say otherwise.
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

/// `std::optional<std::string>` as libstdc++ lays it out, with which XLA's Linux wheels are built. All zero, it is empty.
#[derive(Debug)]
#[repr(C)]
struct OptionalString {
    /// The text: on the heap, or in `short`.
    data: *const u8,
    len: usize,
    short: [u8; 16],
    present: u8,
}

impl OptionalString {
    const NONE: OptionalString =
        OptionalString { data: std::ptr::null(), len: 0, short: [0; 16], present: 0 };

    /// The text, if there is one. Its memory belongs to C++'s allocator, which is unknown: a text on the heap is never freed.
    fn text(&self) -> Option<Vec<u8>> {
        if self.present == 0 {
            return None;
        }
        let len = if self.data.is_null() { 0 } else { self.len };
        // SAFETY: only XLA's functions write here, and a string that is present has that many bytes at `data`.
        Some((0..len).map(|i| unsafe { self.data.add(i).read() }).collect())
    }
}

impl CallStatus {
    /// Success, until the function says otherwise.
    pub(crate) fn new() -> CallStatus {
        let xla = UnsafeCell::new(OptionalString::NONE);
        CallStatus { xla, magic: STATUS_MAGIC, message: Mutex::new(None) }
    }

    /// What functions are given. The object must stay where it is until the function has returned and `outcome` was asked:
    /// a short text lies within it.
    pub(crate) fn pointer(&self) -> *mut CallStatus {
        std::ptr::from_ref(self).cast_mut()
    }

    /// What the function said.
    pub(crate) fn outcome(&self) -> Result<(), Failure> {
        let message = self.message.lock().unwrap_or_else(PoisonError::into_inner).take();
        // SAFETY: the function has returned: nobody writes.
        let message = message.or_else(|| unsafe { &*self.xla.get() }.text());
        match message {
            None => Ok(()),
            Some(message) => {
                Err(Failure::new(ErrorCode::INTERNAL, String::from_utf8_lossy(&message).into_owned()))
            }
        }
    }

    /// The status behind a function's pointer.
    ///
    /// # Safety
    /// `status` is null, or what the running function was given.
    unsafe fn of<'a>(status: *mut CallStatus) -> Option<&'a CallStatus> {
        if !status.is_aligned() {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe { status.as_ref() }.filter(|s| s.magic == STATUS_MAGIC)
    }

    fn set(&self, message: Option<Vec<u8>>) {
        *self.message.lock().unwrap_or_else(PoisonError::into_inner) = message;
    }
}

/// Reports success.
///
/// # Safety
/// `status` is null, or what the running function was given.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn XlaCustomCallStatusSetSuccess(status: *mut CallStatus) {
    // SAFETY: the caller's promise.
    if let Some(status) = unsafe { CallStatus::of(status) } {
        status.set(None);
    }
}

/// Reports failure: `message` up to its null byte, at most `message_len` bytes.
///
/// # Safety
/// `status` is null, or what the running function was given; `message` is null or such a text.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn XlaCustomCallStatusSetFailure(
    status: *mut CallStatus,
    message: *const c_char,
    message_len: usize,
) {
    let mut text = Vec::new();
    if !message.is_null() {
        for i in 0..message_len {
            // SAFETY: the bytes before this one were not null, and it is within the length.
            match unsafe { message.add(i).cast::<u8>().read() } {
                0 => break,
                byte => text.push(byte),
            }
        }
    }
    // SAFETY: the caller's promise.
    if let Some(status) = unsafe { CallStatus::of(status) } {
        status.set(Some(text));
    }
}
