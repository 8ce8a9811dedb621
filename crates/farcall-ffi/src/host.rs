//! The host of a call: its table of functions, and the context that it passes to them.
//!
//! **Invariants.** A function of the host's table is only called if the table's size covers it. The layout of
//! its arguments follows the version in the host's table.

use std::ffi::{CStr, CString};
use std::mem::offset_of;
use std::ptr::null_mut;

use crate::abi::{self, Api};
use crate::error::{Error, Result, StatusCode};
use crate::pointer::unusable;

/// A host, from a call frame.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Host {
    pub(crate) api: *const Api,
    pub(crate) ctx: *mut abi::InvokeContext,
    pub(crate) version: (i32, i32),
}

/// Returns a function of the host's table, or an `UNIMPLEMENTED` error.
macro_rules! function {
    ($host:expr, $name:ident) => {{
        let api = $host.api;
        // SAFETY: by the contract of `Host::new`, `struct_size` bytes of the table are readable; `offers`
        // checks that the member lies within them.
        let function = unsafe {
            const OFFSET: usize = std::mem::offset_of!($crate::abi::Api, $name);
            if $crate::abi::Api::offers((*api).struct_size, OFFSET) {
                (&raw const (*api).$name).read()
            } else {
                None
            }
        };
        function.ok_or_else(|| $crate::host::not_offered(stringify!($name)))
    }};
}
pub(crate) use function;

impl Host {
    /// Returns the host of a call; `None` if the table is null, misaligned, or too small to contain its
    /// version.
    ///
    /// # Safety
    /// `api` is null or points to as many bytes as its first member, `struct_size`, says.
    #[inline(always)]
    pub(crate) unsafe fn new(api: *const Api, ctx: *mut abi::InvokeContext) -> Option<Host> {
        // SAFETY: the pointer is usable, and `struct_size` is the first member.
        if unusable(api) != 0 || unsafe { (*api).struct_size } < offset_of!(Api, internal_api) {
            return None;
        }
        // SAFETY: the size covers the version.
        let version = unsafe { ((*api).api_version.major_version, (*api).api_version.minor_version) };
        Some(Host { api, ctx, version })
    }

    /// Returns true if the host implements version 0.`minor` or a later one.
    pub(crate) fn at_least(&self, minor: i32) -> bool {
        self.version.0 > 0 || self.version.1 >= minor
    }

    /// Makes an error of the host; null if the host's table has no function for this.
    #[cold]
    pub(crate) fn error(&self, error: &Error) -> *mut abi::Error {
        let Ok(create) = function!(self, error_create) else { return null_mut() };
        let message = error.message().replace('\0', "\u{fffd}");
        let message = CString::new(message).expect("no null is left");
        let mut args = abi::ErrorCreateArgs {
            struct_size: abi::ErrorCreateArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            message: message.as_ptr(),
            errc: error.code().into(),
        };
        // SAFETY: a function of the host, with the arguments it expects; it copies the message.
        unsafe { create(&mut args) }
    }

    /// Converts the return value of a host's function, and takes ownership of an error. Null is success.
    #[inline]
    pub(crate) fn check(&self, error: *mut abi::Error) -> Result<()> {
        if error.is_null() { Ok(()) } else { Err(self.take_error(error)) }
    }

    #[cold]
    fn take_error(&self, error: *mut abi::Error) -> Error {
        let mut args = abi::ErrorGetDetailsArgs {
            struct_size: abi::ErrorGetDetailsArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            error,
            message: std::ptr::null(),
            errc: abi::ErrorCode::UNKNOWN,
        };
        if !self.at_least(5) {
            args.struct_size = abi::ErrorGetMessageArgs::STRUCT_SIZE;
        }
        if let Ok(details) = function!(self, error_get_details) {
            // SAFETY: a function of the host; `struct_size` limits the arguments that it accesses.
            unsafe { details(&mut args) };
        }
        let message = if args.message.is_null() {
            String::from("the host gave no reason")
        } else {
            // SAFETY: the pointer is not null, so it points to the message, which lives as long as the error.
            unsafe { CStr::from_ptr(args.message) }.to_string_lossy().into_owned()
        };
        if let Ok(destroy) = function!(self, error_destroy) {
            let mut args = abi::ErrorDestroyArgs {
                struct_size: abi::ErrorDestroyArgs::STRUCT_SIZE,
                extension_start: null_mut(),
                error,
            };
            // SAFETY: a function of the host; this function owns the error, and does not use it any more.
            unsafe { destroy(&mut args) };
        }
        Error::new(StatusCode::from(args.errc), message)
    }
}

#[cold]
pub(crate) fn not_offered(function: &str) -> Error {
    Error::unimplemented(format!("the host does not offer {function}"))
}

/// Returns the frame's host; `None` if the frame is null, misaligned, or too small to have one.
///
/// # Safety
/// `frame` is null or a call frame as defined by XLA's C interface.
#[inline(always)]
pub(crate) unsafe fn host_of(frame: *const abi::CallFrame) -> Option<Host> {
    const END: usize = std::mem::offset_of!(abi::CallFrame, stage);
    // SAFETY: a usable pointer points to a frame, whose first member is `struct_size`; the size covers the
    // two members.
    unsafe {
        if unusable(frame) != 0 || (*frame).struct_size < END {
            None
        } else {
            Host::new((*frame).api, (*frame).ctx)
        }
    }
}
