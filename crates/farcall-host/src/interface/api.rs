//! The host's functions, which handlers and libraries call through one table.
//!
//! One table serves handlers of every version: a function reads its arguments by their `struct_size`, which
//! distinguishes the layouts of versions 0.2 to 0.5.

use crate::CodedError;
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use farcall_ffi::abi::{self, *};
use farcall_ffi::unwind::catch;

use super::context::Context;
use super::error::{ERRORS, Failure, HostError, new_error, take_error};
use super::future;
use super::types;

/// Version of XLA's FFI that this host implements, as (major, minor). Handlers may be older.
pub const API_VERSION: (i32, i32) = (abi::API_MAJOR, abi::API_MINOR);

/// Returns the table of functions, with the given function for registering handlers.
///
/// That function comes from the caller, because it adds to the registry, which this module does not know.
pub(crate) const fn table(
    handler_register: unsafe extern "C" fn(*mut HandlerRegisterArgs) -> *mut Error,
) -> Api {
    Api {
        struct_size: Api::STRUCT_SIZE,
        // Libraries built with farcall are read through their descriptor, and need not register themselves.
        extension_start: farcall_ffi::descriptor::HOST_MARK.list(),
        api_version: ApiVersion::new(API_VERSION.0, API_VERSION.1),
        internal_api: null(),
        error_create: Some(error_create),
        error_get_details: Some(error_get_details),
        error_destroy: Some(error_destroy),
        handler_register: Some(handler_register),
        stream_get: Some(stream_get),
        type_register: Some(type_register),
        invoke_context_get: Some(invoke_context_get),
        state_set: Some(state_set),
        state_get: Some(state_get),
        device_memory_allocate: Some(device_memory_allocate),
        device_memory_free: Some(device_memory_free),
        thread_pool_schedule: Some(thread_pool_schedule),
        thread_pool_num_threads: Some(thread_pool_num_threads),
        future_create: Some(future_create),
        future_set_available: Some(future_set_available),
        future_set_error: Some(future_set_error),
        run_id_get: Some(run_id_get),
        device_ordinal_get: Some(device_ordinal_get),
        invoke_context_find_extension: Some(invoke_context_find_extension),
        custom_options_get: Some(custom_options_get),
    }
}

/// Common entry point of all functions in the table. Checks the arguments for null and size, catches panics,
/// and converts a failure to an error.
///
/// # Safety
/// `args` is null, or points to a struct whose first member, `struct_size`, is its size in bytes.
pub(crate) unsafe fn enter<A>(
    args: *mut A,
    at_least: usize,
    body: impl FnOnce(usize) -> Result<(), Failure>,
) -> *mut Error {
    let outcome = catch(|| {
        if args.is_null() || !args.is_aligned() {
            return Err(Failure::invalid("the arguments are null or misaligned"));
        }
        // SAFETY: `args` is neither null nor misaligned, and the first member of every argument struct is its
        // size.
        let struct_size = unsafe { args.cast::<usize>().read() };
        if struct_size < at_least {
            let name = std::any::type_name::<A>().rsplit("::").next().unwrap_or_default();
            return Err(Failure::invalid(format!(
                "{name} of {struct_size} bytes, at least {at_least} expected: check the versions of \
                 library and host"
            )));
        }
        body(struct_size)
    });
    let failure = match outcome {
        Ok(Ok(())) => return null_mut(),
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(ErrorCode::INTERNAL, "the host panicked"),
    };
    // An invalid pointer stands for an error without message, because null would mean success.
    catch(|| new_error(failure)).unwrap_or_else(|_| std::ptr::without_provenance_mut(1))
}

/// Returns the text of a span that a library passed.
///
/// # Safety
/// Unless null, `span.ptr` points to `span.len` bytes.
pub(crate) unsafe fn text(span: ByteSpan, what: &str) -> Result<String, Failure> {
    if span.len > 0 && (span.ptr.is_null() || isize::try_from(span.len).is_err()) {
        return Err(Failure::invalid(format!("the {what} is null or too long")));
    }
    // SAFETY: the caller guarantees `span.len` bytes (`# Safety` above), and a null pointer with a nonzero
    // length is excluded above.
    let bytes = unsafe { span.as_bytes() };
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Failure::invalid(format!("the {what} is not UTF-8"))),
    }
}

unsafe extern "C" fn error_create(args: *mut ErrorCreateArgs) -> *mut Error {
    let mut created = null_mut();
    // SAFETY: the interface requires the caller to pass valid arguments.
    let failed = unsafe {
        enter(args, ErrorCreateArgs::STRUCT_SIZE, |_| {
            let (message, code) = ((*args).message, (*args).errc);
            let message =
                if message.is_null() { CString::default() } else { CStr::from_ptr(message).to_owned() };
            created = ERRORS.insert(HostError { code, message });
            Ok(())
        })
    };
    if failed.is_null() { created } else { failed }
}

unsafe extern "C" fn error_get_details(args: *mut ErrorGetDetailsArgs) {
    let before = std::mem::offset_of!(ErrorGetDetailsArgs, errc);
    // SAFETY: the interface requires the caller to pass valid arguments.
    let failed = unsafe {
        enter(args, ErrorGetMessageArgs::STRUCT_SIZE, |struct_size| {
            let found = ERRORS.with((*args).error, |e| (e.message.as_ptr(), e.code));
            // The text lives as long as the error, even if its table entry moves.
            let (message, code) =
                found.unwrap_or((c"not an error of this host".as_ptr(), ErrorCode::UNKNOWN));
            (*args).message = message;
            if struct_size >= before + size_of::<ErrorCode>() {
                (*args).errc = code;
            }
            Ok(())
        })
    };
    drop(ERRORS.take(failed));
}

unsafe extern "C" fn error_destroy(args: *mut ErrorDestroyArgs) {
    // SAFETY: the interface requires the caller to pass valid arguments.
    let failed = unsafe {
        enter(args, ErrorDestroyArgs::STRUCT_SIZE, |_| {
            drop(ERRORS.take((*args).error));
            Ok(())
        })
    };
    drop(ERRORS.take(failed));
}

unsafe extern "C" fn type_register(args: *mut TypeRegisterArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments. `type_info` lies beyond the
    // `struct_size` that XLA's header defines, but every caller passes a struct with this member.
    unsafe {
        enter(args, TypeRegisterArgs::STRUCT_SIZE, |_| {
            let name = text((*args).name, "name of the type")?;
            let (id, info) = ((*args).type_id, (*args).type_info);
            if id.is_null() || !id.is_aligned() {
                return Err(Failure::invalid(format!(
                    "the pointer to the id of the type `{name}` is null or misaligned"
                )));
            }
            *id = register_type(&name, *id, info)?;
            Ok(())
        })
    }
}

/// Registers a type by its C description, which may be null.
///
/// # Safety
/// `info` is null, or points to a struct whose first member, `struct_size`, is its size in bytes.
pub(crate) unsafe fn register_type(name: &str, id: TypeId, info: *const TypeInfo) -> Result<TypeId, Failure> {
    if !info.is_aligned() {
        return Err(Failure::invalid(format!("the description of the type `{name}` is misaligned")));
    }
    // SAFETY: the caller guarantees a valid description (`# Safety` above). The deleter is read only if the
    // size covers it.
    let deleter = unsafe {
        if info.is_null() || (*info).struct_size < TypeInfo::STRUCT_SIZE { None } else { (*info).deleter }
    };
    // SAFETY: the interface requires a library that registers a type to pass a deleter that fits the type's
    // objects.
    let registered = unsafe { types::register_type(name, id, deleter) };
    registered.map_err(|e| Failure::new(e.code().status().into(), e.to_string()))
}

/// Reads the type id behind a handler's pointer.
///
/// # Safety
/// `id` is null, misaligned, or points to an id.
unsafe fn read_type_id(id: *mut TypeId) -> Result<TypeId, Failure> {
    if id.is_null() || !id.is_aligned() {
        return Err(Failure::invalid("the type id is null or misaligned"));
    }
    // SAFETY: the caller guarantees that a pointer that is neither null nor misaligned points to an id
    // (`# Safety` above).
    Ok(unsafe { *id })
}

unsafe extern "C" fn stream_get(args: *mut StreamGetArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        enter(args, StreamGetArgs::STRUCT_SIZE, |_| {
            (*args).stream = null_mut();
            (*args).stream = Context::of((*args).ctx)?.stream()?;
            Ok(())
        })
    }
}

unsafe extern "C" fn invoke_context_get(args: *mut InvokeContextGetArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        enter(args, InvokeContextGetArgs::STRUCT_SIZE, |_| {
            let id = read_type_id((*args).type_id)?;
            let run = Context::of((*args).ctx)?.run()?;
            (*args).data = run.user_data(id).ok_or_else(|| {
                let name = types::type_name(id).unwrap_or_else(|| format!("type id {}", id.type_id));
                Failure::new(ErrorCode::NOT_FOUND, format!("the run has no user data of `{name}`"))
            })?;
            Ok(())
        })
    }
}

unsafe extern "C" fn state_set(args: *mut StateSetArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments. Arguments without a stage have the
    // layout of version 0.2.
    unsafe {
        enter(args, StateSetArgsV2::STRUCT_SIZE, |struct_size| {
            let (ctx, stage, id, state) = if struct_size >= StateSetArgs::STRUCT_SIZE {
                ((*args).ctx, (*args).stage, (*args).type_id, (*args).state)
            } else {
                let args = args.cast::<StateSetArgsV2>();
                ((*args).ctx, Stage::INSTANTIATE, (*args).type_id, (*args).state)
            };
            Context::of(ctx)?.set_state(stage, read_type_id(id)?, state)
        })
    }
}

unsafe extern "C" fn state_get(args: *mut StateGetArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments. Arguments without a stage have the
    // layout of version 0.2.
    unsafe {
        enter(args, StateGetArgsV2::STRUCT_SIZE, |struct_size| {
            if struct_size >= StateGetArgs::STRUCT_SIZE {
                let context = Context::of((*args).ctx)?;
                (*args).state = context.state((*args).stage, read_type_id((*args).type_id)?)?;
            } else {
                let args = args.cast::<StateGetArgsV2>();
                let context = Context::of((*args).ctx)?;
                (*args).state = context.state(Stage::INSTANTIATE, read_type_id((*args).type_id)?)?;
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn device_memory_allocate(args: *mut DeviceMemoryAllocateArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        enter(args, DeviceMemoryAllocateArgs::STRUCT_SIZE, |_| {
            (*args).data = Context::of((*args).ctx)?.allocate((*args).size, (*args).alignment)?;
            Ok(())
        })
    }
}

unsafe extern "C" fn device_memory_free(args: *mut DeviceMemoryFreeArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        enter(args, DeviceMemoryFreeArgs::STRUCT_SIZE, |_| Context::of((*args).ctx)?.free((*args).data))
    }
}

unsafe extern "C" fn thread_pool_schedule(args: *mut ThreadPoolScheduleArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        enter(args, ThreadPoolScheduleArgs::STRUCT_SIZE, |_| {
            let context = Context::of((*args).ctx)?;
            let run = context.run()?;
            let task = (*args).task.ok_or_else(|| Failure::invalid("the task is null"))?;
            run.pool().spawn_foreign(task, (*args).data, context.tasks());
            Ok(())
        })
    }
}

unsafe extern "C" fn thread_pool_num_threads(args: *mut ThreadPoolNumThreadsArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        enter(args, ThreadPoolNumThreadsArgs::STRUCT_SIZE, |_| {
            let run = Context::of((*args).ctx)?.run()?;
            if (*args).num_threads.is_null() || !(*args).num_threads.is_aligned() {
                return Err(Failure::invalid("the pointer to the number of threads is null or misaligned"));
            }
            *(*args).num_threads = i64::try_from(run.pool().size()).unwrap_or(i64::MAX);
            Ok(())
        })
    }
}

unsafe extern "C" fn future_create(args: *mut FutureCreateArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments. `future` lies beyond the
    // `struct_size` that XLA's header defines, but every caller passes a struct with this member.
    unsafe {
        enter(args, FutureCreateArgs::STRUCT_SIZE, |_| {
            (*args).future = future::create();
            Ok(())
        })
    }
}

unsafe extern "C" fn future_set_available(args: *mut FutureSetAvailableArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe { enter(args, FutureSetAvailableArgs::STRUCT_SIZE, |_| future::complete((*args).future, Ok(()))) }
}

unsafe extern "C" fn future_set_error(args: *mut FutureSetErrorArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        enter(args, FutureSetErrorArgs::STRUCT_SIZE, |_| {
            let nothing = || Failure::new(ErrorCode::UNKNOWN, "the call's future failed without an error");
            let failure = take_error((*args).error).unwrap_or_else(nothing);
            future::complete((*args).future, Err(failure))
        })
    }
}

unsafe extern "C" fn run_id_get(args: *mut RunIdGetArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        enter(args, RunIdGetArgs::STRUCT_SIZE, |_| {
            (*args).run_id = Context::of((*args).ctx)?.run()?.run_id();
            Ok(())
        })
    }
}

unsafe extern "C" fn device_ordinal_get(args: *mut DeviceOrdinalGetArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        enter(args, DeviceOrdinalGetArgs::STRUCT_SIZE, |_| {
            (*args).device_ordinal = Context::of((*args).ctx)?.run()?.device_ordinal();
            Ok(())
        })
    }
}

unsafe extern "C" fn invoke_context_find_extension(args: *mut InvokeContextFindExtensionArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        enter(args, InvokeContextFindExtensionArgs::STRUCT_SIZE, |_| {
            Context::of((*args).ctx)?;
            // This host has no extensions.
            (*args).extension = null();
            Ok(())
        })
    }
}

unsafe extern "C" fn custom_options_get(args: *mut CustomOptionsGetArgs) -> *mut Error {
    // SAFETY: the interface requires the caller to pass valid arguments.
    unsafe {
        enter(args, CustomOptionsGetArgs::STRUCT_SIZE, |_| {
            (*args).attrs = Context::of((*args).ctx)?.run()?.options().as_ptr();
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(error: *mut Error) -> (String, ErrorCode) {
        let mut args = ErrorGetDetailsArgs {
            struct_size: ErrorGetDetailsArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            error,
            message: null(),
            errc: ErrorCode::OK,
        };
        // SAFETY: `args` is complete.
        unsafe { error_get_details(&raw mut args) };
        // SAFETY: the host wrote a string that ends with a null byte.
        (unsafe { CStr::from_ptr(args.message) }.to_str().unwrap().to_owned(), args.errc)
    }

    #[test]
    fn wrong_arguments_are_errors() {
        // SAFETY: the function accepts a null pointer.
        let error = unsafe { run_id_get(null_mut()) };
        assert_eq!(
            message_of(error),
            ("the arguments are null or misaligned".into(), ErrorCode::INVALID_ARGUMENT)
        );
        assert!(take_error(error).is_some());

        let mut args =
            RunIdGetArgs { struct_size: 8, extension_start: null_mut(), ctx: null_mut(), run_id: 0 };
        // SAFETY: `args` is at least as large as its `struct_size`.
        let error = unsafe { run_id_get(&raw mut args) };
        assert!(message_of(error).0.starts_with("RunIdGetArgs of 8 bytes, at least 32"));
        take_error(error);
        args.struct_size = RunIdGetArgs::STRUCT_SIZE;
        // SAFETY: `args` is as large as its `struct_size`.
        let error = unsafe { run_id_get(&raw mut args) };
        assert_eq!(message_of(error).0, "the call's context is null or not a context");
        take_error(error);
        assert_eq!(message_of(error).0, "not an error of this host");
    }

    #[test]
    fn older_callers_get_no_error_code() {
        let error = new_error(Failure::new(ErrorCode::ABORTED, "stop\0ped"));
        let mut room = [u64::MAX; 5];
        let args = room.as_mut_ptr().cast::<ErrorGetMessageArgs>();
        // SAFETY: `room` is larger than the older arguments.
        unsafe {
            (*args).struct_size = ErrorGetMessageArgs::STRUCT_SIZE;
            (*args).error = error;
            error_get_details(args.cast());
            assert_eq!(CStr::from_ptr((*args).message), c"stopped");
        }
        assert_eq!(room[4], u64::MAX);
        take_error(error);
    }

    #[test]
    fn invalid_error_codes_become_unknown() {
        for code in [ErrorCode::OK, ErrorCode(99)] {
            assert_eq!(take_error(new_error(Failure::new(code, "x"))).unwrap().code, ErrorCode::UNKNOWN);
        }
        let stray: *mut Error = std::ptr::without_provenance_mut(0x1238);
        assert_eq!(take_error(stray).unwrap().code, ErrorCode::UNKNOWN);
        assert_eq!(take_error(null_mut()), None);
    }
}
