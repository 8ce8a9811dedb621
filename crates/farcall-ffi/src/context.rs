//! What a handler can request from its host during a call.
//!
//! **Invariants.** A function of the host's table is called only if the table's size covers it; the layout of its
//! arguments follows the version that the host states there.

use std::ffi::{CStr, CString, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;

use crate::abi::{self, Api};
use crate::attr::{Attrs, Dict};
use crate::error::{Error, ErrorCode, Result};
use crate::pointer::unusable;
use crate::pool::Tasks;

/// The host side of one call, as a parameter `&Context`.
pub struct Context {
    pub(crate) host: Host,
    /// Where tasks are noted that the handler may have to wait for.
    pub(crate) tasks: Option<Tasks>,
}

/// A type of user data: what the program that runs the graph hands to all of its handlers.
///
/// # Safety
/// In every library and program of the process, user data of this name are a `Self`, laid out alike: for
/// types that cross library boundaries, `repr(C)` types of a common crate or header.
pub unsafe trait UserData: Send + Sync + 'static {
    /// Name under which hosts know the type.
    const NAME: &'static str;
}

impl Context {
    pub(crate) fn new(host: Host, tasks: Option<Tasks>) -> Context {
        Context { host, tasks }
    }

    /// Version of the interface that the host speaks, major and minor.
    pub fn host_version(&self) -> (i32, i32) {
        self.host.version
    }

    /// Number of the logical run that this call is part of.
    ///
    /// # Errors
    /// `UNIMPLEMENTED` if the host does not offer it, or the host's own error.
    pub fn run_id(&self) -> Result<i64> {
        let function = function!(self.host, run_id_get)?;
        let mut args = abi::RunIdGetArgs {
            struct_size: abi::RunIdGetArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: self.host.ctx,
            run_id: 0,
        };
        // SAFETY: a function of the host, with the arguments it takes.
        let error = unsafe { function(&mut args) };
        self.host.check(error)?;
        Ok(args.run_id)
    }

    /// Which of the platform's devices the call runs on.
    ///
    /// # Errors
    /// `UNIMPLEMENTED` if the host does not offer it, or the host's own error.
    pub fn device_ordinal(&self) -> Result<i32> {
        let function = function!(self.host, device_ordinal_get)?;
        let mut args = abi::DeviceOrdinalGetArgs {
            struct_size: abi::DeviceOrdinalGetArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: self.host.ctx,
            device_ordinal: 0,
        };
        // SAFETY: a function of the host, with the arguments it takes.
        let error = unsafe { function(&mut args) };
        self.host.check(error)?;
        Ok(args.device_ordinal)
    }

    /// The platform's stream, such as a `CUstream`, as the host gives it.
    ///
    /// # Errors
    /// `UNIMPLEMENTED` if the host does not offer it (no CPU host does), or the host's own error.
    pub fn stream(&self) -> Result<*mut c_void> {
        let function = function!(self.host, stream_get)?;
        let mut args = abi::StreamGetArgs {
            struct_size: abi::StreamGetArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: self.host.ctx,
            stream: null_mut(),
        };
        // SAFETY: a function of the host, with the arguments it takes.
        let error = unsafe { function(&mut args) };
        self.host.check(error)?;
        Ok(args.stream)
    }

    /// The user data of this type that the program handed to the run.
    ///
    /// # Errors
    /// The host's own error if there are none, or `UNIMPLEMENTED` if it does not offer any.
    pub fn user_data<T: UserData>(&self) -> Result<&T> {
        let mut type_id = crate::state::named_type_id::<T>(&self.host, T::NAME)?;
        let data = self.user_data_by_id(&mut type_id)?;
        if data.is_null() {
            return Err(Error::not_found(format!("no user data `{}`", T::NAME)));
        }
        if !data.cast::<T>().is_aligned() {
            return Err(Error::internal(format!("the pointer to the user data `{}` is misaligned", T::NAME)));
        }
        // SAFETY: the host has an object of this type, by the promise of `UserData`, for as long as the
        // call lasts.
        Ok(unsafe { &*data.cast_const().cast() })
    }

    /// The user data of a type by its number in this host, as a pointer.
    ///
    /// # Errors
    /// As [`user_data`](Self::user_data).
    pub fn user_data_by_id(&self, type_id: &mut abi::TypeId) -> Result<*mut c_void> {
        let function = function!(self.host, invoke_context_get)?;
        let mut args = abi::InvokeContextGetArgs {
            struct_size: abi::InvokeContextGetArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: self.host.ctx,
            type_id,
            data: null_mut(),
        };
        // SAFETY: a function of the host, with the arguments it takes.
        let error = unsafe { function(&mut args) };
        self.host.check(error)?;
        Ok(args.data)
    }

    /// Options that the program gave to the run.
    ///
    /// # Errors
    /// `UNIMPLEMENTED` if the host does not offer them (hosts before 0.5), or the host's own error.
    pub fn custom_options(&self) -> Result<&Attrs> {
        let function = function!(self.host, custom_options_get)?;
        let mut args = abi::CustomOptionsGetArgs {
            struct_size: abi::CustomOptionsGetArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: self.host.ctx,
            attrs: std::ptr::null(),
        };
        // SAFETY: a function of the host, with the arguments it takes.
        let error = unsafe { function(&mut args) };
        self.host.check(error)?;
        if args.attrs.is_null() {
            return Err(Error::not_found("the run has no options"));
        }
        if !args.attrs.is_aligned() {
            return Err(Error::internal("the host's pointer to its options is misaligned"));
        }
        // SAFETY: not null, aligned, and the host's for as long as the call lasts.
        let options = unsafe { Dict::check(args.attrs) }.map_err(Error::internal)?;
        options.check_names().map_err(Error::internal)?;
        Ok(Attrs::from_dict(options))
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("host_version", &self.host.version).finish_non_exhaustive()
    }
}

/// A host, as a call frame gives it.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Host {
    pub(crate) api: *const Api,
    pub(crate) ctx: *mut abi::InvokeContext,
    pub(crate) version: (i32, i32),
}

/// A function of the host's table, or an `UNIMPLEMENTED` error.
macro_rules! function {
    ($host:expr, $name:ident) => {{
        let api = $host.api;
        // SAFETY: `Host::new` saw that the table starts with its size; a member within it can be read.
        let function = unsafe {
            const OFFSET: usize = std::mem::offset_of!($crate::abi::Api, $name);
            if $crate::abi::Api::offers((*api).struct_size, OFFSET) {
                (&raw const (*api).$name).read()
            } else {
                None
            }
        };
        function.ok_or_else(|| $crate::context::not_offered(stringify!($name)))
    }};
}
pub(crate) use function;

impl Host {
    /// The host of a call; `None` if the table is missing, misaligned, or too small to say its version.
    ///
    /// # Safety
    /// `api` is null or points to as many bytes as the `struct_size` at its start says.
    #[inline(always)]
    pub(crate) unsafe fn new(api: *const Api, ctx: *mut abi::InvokeContext) -> Option<Host> {
        // SAFETY: `struct_size` comes first.
        if unusable(api) != 0 || unsafe { (*api).struct_size } < offset_of!(Api, internal_api) {
            return None;
        }
        // SAFETY: the size covers the version.
        let version = unsafe { ((*api).api_version.major_version, (*api).api_version.minor_version) };
        Some(Host { api, ctx, version })
    }

    /// True if the host speaks version 0.`minor` or a later one.
    pub(crate) fn at_least(&self, minor: i32) -> bool {
        self.version.0 > 0 || self.version.1 >= minor
    }

    /// Hands an error to the host; null if it cannot even take that.
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
        // SAFETY: a function of the host, with the arguments it takes; it copies the message.
        unsafe { create(&mut args) }
    }

    /// Takes over what a function of the host returned: null is success.
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
            // SAFETY: a function of the host; `struct_size` says how much of the arguments it may use.
            unsafe { details(&mut args) };
        }
        let message = if args.message.is_null() {
            String::from("the host gave no reason")
        } else {
            // SAFETY: not null, so it is the message, which lives as long as the error.
            unsafe { CStr::from_ptr(args.message) }.to_string_lossy().into_owned()
        };
        if let Ok(destroy) = function!(self, error_destroy) {
            let mut args = abi::ErrorDestroyArgs {
                struct_size: abi::ErrorDestroyArgs::STRUCT_SIZE,
                extension_start: null_mut(),
                error,
            };
            // SAFETY: a function of the host; the error is ours, and not used any more.
            unsafe { destroy(&mut args) };
        }
        Error::new(ErrorCode::from(args.errc), message)
    }
}

#[cold]
pub(crate) fn not_offered(function: &str) -> Error {
    Error::unimplemented(format!("the host does not offer {function}"))
}
