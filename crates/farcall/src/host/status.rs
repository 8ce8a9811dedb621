//! The status object that functions of the untyped API report to, and the symbols through which they do.

use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use farcall_ffi::abi::ErrorCode;

use super::error::Failure;

/// What functions with a status report to (`XlaCustomCallStatus`); success until they say otherwise.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct CallStatus {
    magic: u64,
    message: Mutex<Option<Vec<u8>>>,
}

const STATUS_MAGIC: u64 = u64::from_le_bytes(*b"status!!");

impl CallStatus {
    /// Success, until the function says otherwise.
    pub(crate) fn new() -> CallStatus {
        CallStatus { magic: STATUS_MAGIC, message: Mutex::new(None) }
    }

    /// What the function said.
    pub(crate) fn outcome(self) -> Result<(), Failure> {
        match self.message.into_inner().unwrap_or_else(PoisonError::into_inner) {
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
