//! Services that a handler can request from its host during a call.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::abi;
use crate::attr::{Attrs, Dict};
use crate::error::{Error, Result};
use crate::host::{Host, function};
use crate::pool::{self, Pool, Tasks};

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
    #[inline]
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
    #[inline]
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
    #[inline]
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

/// Extensions of the interface.
impl Context {
    /// Returns the extension of this type that the host has attached to the call. Returns `None` if there is
    /// none, or if the host has no extensions (hosts before 0.5).
    ///
    /// The extension's own header file defines which struct the returned header belongs to, depending on the
    /// version in `id`.
    ///
    /// # Errors
    /// The host's own error, or `INTERNAL` if the host returns a malformed extension.
    pub fn extension(&self, extension_type: i64) -> Result<Option<&abi::Extension>> {
        let Ok(function) = function!(self.host, invoke_context_find_extension) else { return Ok(None) };
        let mut args = abi::InvokeContextFindExtensionArgs {
            struct_size: abi::InvokeContextFindExtensionArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: self.host.ctx,
            extension_type,
            extension: std::ptr::null(),
        };
        // SAFETY: a function of the host, with the arguments it expects.
        let error = unsafe { function(&mut args) };
        self.host.check(error)?;
        if args.extension.is_null() {
            return Ok(None);
        }
        if !args.extension.is_aligned() {
            return Err(Error::internal(format!("the host's extension {extension_type} is misaligned")));
        }
        // SAFETY: the pointer is neither null nor misaligned, `struct_size` is the first member, and the
        // host's extensions live as long as the call.
        let size = unsafe { (&raw const (*args.extension).struct_size).read() };
        if size < abi::Extension::STRUCT_SIZE {
            return Err(Error::internal(format!("the host's extension {extension_type} has {size} bytes")));
        }
        // SAFETY: the size covers the header, which lives as long as the call.
        Ok(Some(unsafe { &*args.extension }))
    }

    /// Converts the return value of a function of an extension. Null is success.
    ///
    /// # Errors
    /// The error that the function returned.
    ///
    /// # Safety
    /// `error` is null, or an error of this call's host that nothing else owns.
    pub unsafe fn check(&self, error: *mut abi::Error) -> Result<()> {
        self.host.check(error)
    }
}

/// The host's thread pool.
impl Context {
    /// Runs a task on the host's pool, or immediately on this thread if the host has no pool. If
    /// [`Kept`](crate::Kept) buffers are moved into the task, the call ends when the task ends. A host
    /// without futures cannot continue with the program before then: the handler's thread waits, and runs the
    /// tasks that the pool has not started.
    ///
    /// A panic in the task is the error of the call if the task keeps buffers, and is only printed otherwise.
    /// If the handler itself panics, tasks that have not started may be dropped.
    ///
    /// Do not wait for a task in the handler: if the handler runs on the pool's only thread, the task never
    /// starts. [`parallel_for`](Self::parallel_for) waits without this risk of a deadlock.
    ///
    /// # Errors
    /// The host's own error; the task is then dropped.
    pub fn spawn(&self, task: impl FnOnce() + Send + 'static) -> Result<()> {
        pool::spawn(&self.host, self.tasks.as_ref(), task)
    }

    /// Number of threads of the host's pool; 1 if it has none.
    pub fn num_threads(&self) -> usize {
        self.pool().num_threads()
    }

    /// Calls [`Pool::parallel_for`] on the host's pool.
    pub fn parallel_for(&self, count: usize, work: impl Fn(usize) + Sync) {
        self.pool().parallel_for(count, work);
    }

    /// Returns the host's pool, which threads may share; nested loops need it.
    ///
    /// ```
    /// # use farcall_ffi::prelude::*;
    /// #[handler(name = "fill")]
    /// fn fill(x: &Buffer<f32, 1>, y: &mut Buffer<f32, 2>, host: &Context) -> Result<()> {
    ///     let pool = host.pool();
    ///     y.par_rows_mut().zip(x.par_chunks(1)).for_each(pool, |(y, x)| {
    ///         y.par_chunks_mut(4096).for_each(pool, |part| part.fill(x[0]));
    ///     });
    ///     Ok(())
    /// }
    /// ```
    pub fn pool(&self) -> Pool<'_> {
        Pool::of(self.host)
    }
}

impl<'a> From<&'a Context> for Pool<'a> {
    fn from(context: &'a Context) -> Pool<'a> {
        context.pool()
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("host_version", &self.host.version).finish_non_exhaustive()
    }
}
