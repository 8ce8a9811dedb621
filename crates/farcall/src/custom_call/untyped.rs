//! The untyped API: C functions of pointers. See the parent module for their parameters.

use std::ffi::{c_char, c_void};
use std::sync::Mutex;
use std::sync::PoisonError;

use farcall_ffi::abi::ErrorCode;
use farcall_ir::op::{CallConfig, CustomCall};

use super::api;
use super::error::Failure;
use super::guard::{self, Original, Unified, WithStatus};
use crate::registry::UntypedHandler;

/// A function of the untyped API and what it gets besides buffers.
#[derive(Debug)]
pub(super) struct UntypedCall {
    function: Function,
    /// Several results, none, or a tuple: the function gets an array of pointers.
    pub(super) tuple: bool,
    opaque: Box<[u8]>,
}

#[derive(Debug)]
enum Function {
    Original(Original),
    WithStatus(WithStatus),
    Unified(Unified),
}

impl UntypedCall {
    /// The call of a function by the parameters that the call's `api_version` implies.
    pub(super) fn new(function: UntypedHandler, call: &CustomCall, tuple: bool) -> UntypedCall {
        // SAFETY: `Target::untyped` had the promise that the parameters are those of the calls' version.
        let function = unsafe {
            match call.api_version {
                Some(2) => Function::WithStatus(std::mem::transmute::<UntypedHandler, WithStatus>(function)),
                Some(3) => Function::Unified(std::mem::transmute::<UntypedHandler, Unified>(function)),
                _ => Function::Original(std::mem::transmute::<UntypedHandler, Original>(function)),
            }
        };
        let opaque = match &call.config {
            CallConfig::Text(text) => text.to_vec().into(),
            CallConfig::Absent | CallConfig::Dict(_) => Box::default(),
        };
        UntypedCall { function, tuple, opaque }
    }

    /// Calls the function.
    ///
    /// # Safety
    /// `ins` and `outs` point to the operands' and results' data.
    pub(super) unsafe fn call(&self, ins: &[*const c_void], outs: &mut [*mut c_void]) -> Result<(), Failure> {
        let out = match outs {
            [only] if !self.tuple => *only,
            _ => outs.as_mut_ptr().cast(),
        };
        let ins = ins.as_ptr();
        let status = CallStatus { magic: STATUS_MAGIC, message: Mutex::new(None) };
        let status_at = (&raw const status).cast_mut();
        // SAFETY: the caller's promise, and that of `Target::untyped`.
        let thrown = unsafe {
            match self.function {
                Function::Original(f) => guard::original(f, out, ins),
                Function::WithStatus(f) => guard::with_status(f, out, ins, status_at),
                Function::Unified(f) => guard::unified(f, out, ins, &self.opaque, status_at),
            }
        };
        if let Some(failure) = api::take_error(thrown) {
            return Err(failure);
        }
        match status.message.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(message) => {
                Err(Failure::new(ErrorCode::INTERNAL, String::from_utf8_lossy(&message).into_owned()))
            }
        }
    }
}

/// What functions with a status report to (`XlaCustomCallStatus`); success until they say otherwise.
#[derive(Debug)]
#[repr(C)]
pub(super) struct CallStatus {
    magic: u64,
    message: Mutex<Option<Vec<u8>>>,
}

const STATUS_MAGIC: u64 = u64::from_le_bytes(*b"status!!");

impl CallStatus {
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
pub(super) unsafe extern "C" fn XlaCustomCallStatusSetSuccess(status: *mut CallStatus) {
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
pub(super) unsafe extern "C" fn XlaCustomCallStatusSetFailure(
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
