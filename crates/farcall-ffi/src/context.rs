//! Services that a handler can request from its host during a call.
//!
//! **Invariants.** A function of the host's table is only called if the table's size covers it. The layout of
//! its arguments follows the version in the host's table.

use std::ffi::{CStr, CString, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;

use crate::abi::{self, Api};
use crate::attr::{Attrs, Dict};
use crate::error::{Error, ErrorCode, Result};
use crate::pointer::unusable;
use crate::pool::Tasks;

/// The host's side of one call, as a parameter `&Context`.
pub struct Context {
    pub(crate) host: Host,
    /// Tasks that the handler may have to wait for; `None` if it keeps no buffers.
    pub(crate) tasks: Option<Tasks>,
}

/// A type of user data: an object that the application passes to a run, for all handlers of the run.
///
/// # Safety
/// In every library and program of the process, user data of this name have the type `Self`, with the same
/// layout. For types that cross library boundaries, this means `repr(C)` types of a common crate or header.
pub unsafe trait UserData: Send + Sync + 'static {
    /// Name under which hosts know the type.
    const NAME: &'static str;
}

impl Context {
    pub(crate) fn new(host: Host, tasks: Option<Tasks>) -> Context {
        Context { host, tasks }
    }

    /// Version of the interface that the host implements, major and minor.
    pub fn host_version(&self) -> (i32, i32) {
        self.host.version
    }

    /// Number of the logical run that this call is part of.
    ///
    /// # Errors
    /// `UNIMPLEMENTED` if the host does not offer run ids, or the host's own error.
    pub fn run_id(&self) -> Result<i64> {
        let function = function!(self.host, run_id_get)?;
        let mut args = abi::RunIdGetArgs {
            struct_size: abi::RunIdGetArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: self.host.ctx,
            run_id: 0,
        };
        // SAFETY: a function of the host, with the arguments it expects.
        let error = unsafe { function(&mut args) };
        self.host.check(error)?;
        Ok(args.run_id)
    }

    /// Number of the device of this platform that the call runs on.
    ///
    /// # Errors
    /// `UNIMPLEMENTED` if the host does not offer device numbers, or the host's own error.
    pub fn device_ordinal(&self) -> Result<i32> {
        let function = function!(self.host, device_ordinal_get)?;
        let mut args = abi::DeviceOrdinalGetArgs {
            struct_size: abi::DeviceOrdinalGetArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: self.host.ctx,
            device_ordinal: 0,
        };
        // SAFETY: a function of the host, with the arguments it expects.
        let error = unsafe { function(&mut args) };
        self.host.check(error)?;
        Ok(args.device_ordinal)
    }

    /// The platform's stream, such as a `CUstream`, as returned by the host.
    ///
    /// # Errors
    /// `UNIMPLEMENTED` if the host does not offer streams (no CPU host does), or the host's own error.
    pub fn stream(&self) -> Result<*mut c_void> {
        let function = function!(self.host, stream_get)?;
        let mut args = abi::StreamGetArgs {
            struct_size: abi::StreamGetArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: self.host.ctx,
            stream: null_mut(),
        };
        // SAFETY: a function of the host, with the arguments it expects.
        let error = unsafe { function(&mut args) };
        self.host.check(error)?;
        Ok(args.stream)
    }

    /// Returns the user data of this type that the program passed to the run.
    ///
    /// # Errors
    /// The host's own error if the program passed none, or `UNIMPLEMENTED` if the host does not offer user
    /// data.
    pub fn user_data<T: UserData>(&self) -> Result<&T> {
        let mut type_id = crate::state::named_type_id::<T>(&self.host, T::NAME)?;
        let data = self.user_data_by_id(&mut type_id)?;
        if data.is_null() {
            return Err(Error::not_found(format!("no user data `{}`", T::NAME)));
        }
        if !data.cast::<T>().is_aligned() {
            return Err(Error::internal(format!("the pointer to the user data `{}` is misaligned", T::NAME)));
        }
        // SAFETY: the host's object has this type, which the implementer of `UserData` guarantees, and lives
        // as long as the call.
        Ok(unsafe { &*data.cast_const().cast() })
    }

    /// Returns a pointer to the user data of a type, by its number in this host.
    ///
    /// # Errors
    /// Same errors as [`user_data`](Self::user_data).
    pub fn user_data_by_id(&self, type_id: &mut abi::TypeId) -> Result<*mut c_void> {
        let function = function!(self.host, invoke_context_get)?;
        let mut args = abi::InvokeContextGetArgs {
            struct_size: abi::InvokeContextGetArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: self.host.ctx,
            type_id,
            data: null_mut(),
        };
        // SAFETY: a function of the host, with the arguments it expects.
        let error = unsafe { function(&mut args) };
        self.host.check(error)?;
        Ok(args.data)
    }

    /// Returns the options that the program passed to the run.
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
        // SAFETY: a function of the host, with the arguments it expects.
        let error = unsafe { function(&mut args) };
        self.host.check(error)?;
        if args.attrs.is_null() {
            return Err(Error::not_found("the run has no options"));
        }
        if !args.attrs.is_aligned() {
            return Err(Error::internal("the host's pointer to its options is misaligned"));
        }
        // SAFETY: the pointer is neither null nor misaligned, and the host's options live as long as the
        // call.
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
        // SAFETY: `Host::new` checked that the table starts with its size; a member within that size can be
        // read.
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
        Error::new(ErrorCode::from(args.errc), message)
    }
}

#[cold]
pub(crate) fn not_offered(function: &str) -> Error {
    Error::unimplemented(format!("the host does not offer {function}"))
}
