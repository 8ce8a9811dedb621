//! The untyped API: C functions that take pointers. The parent module lists their parameters.

use std::ffi::c_void;

use farcall_ir::op::{CallConfig, CustomCall};

use crate::interface::error::{Failure, take_error};
use crate::interface::guard::{self, Original, Unified, WithStatus};
use crate::interface::status::CallStatus;
use crate::registry::UntypedHandler;

/// A function of the untyped API, with its arguments other than buffers.
#[derive(Debug)]
pub(super) struct UntypedCall {
    function: Function,
    /// True if the function gets an array of result pointers: with several results, none, or a tuple.
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
    /// Creates the call of a function, with the parameters that the call's `api_version` implies.
    pub(super) fn new(function: UntypedHandler, call: &CustomCall, tuple: bool) -> UntypedCall {
        // SAFETY: the caller of `Target::untyped` guarantees that the function's parameters are those of the
        // `api_version` of its calls.
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
    /// `ins` and `outs` point to the data of the operands and results.
    pub(super) unsafe fn call(&self, ins: &mut [*mut u8], outs: &mut [*mut u8]) -> Result<(), Failure> {
        let out = match outs {
            [only] if !self.tuple => only.cast(),
            _ => outs.as_mut_ptr().cast(),
        };
        let ins = ins.as_mut_ptr().cast::<*const c_void>().cast_const();
        let status = CallStatus::new();
        let status_at = status.pointer();
        // SAFETY: the caller guarantees valid pointers (`# Safety` above), and the caller of
        // `Target::untyped` guarantees the function's parameters.
        let thrown = unsafe {
            match self.function {
                Function::Original(f) => guard::original(f, out, ins),
                Function::WithStatus(f) => guard::with_status(f, out, ins, status_at),
                Function::Unified(f) => guard::unified(f, out, ins, &self.opaque, status_at),
            }
        };
        if let Some(failure) = take_error(thrown) {
            return Err(failure);
        }
        status.outcome()
    }
}
