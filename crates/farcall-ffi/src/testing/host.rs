//! A host that is just enough for tests: errors, types, state, threads.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use super::{Call, Metadata, frame};
use crate::abi::{self, Api};
use crate::error::{Error, ErrorCode, Result};

/// A call site after instantiation, with its state.
#[derive(Debug)]
pub struct Instance {
    minor: i32,
    state: AtomicPtr<c_void>,
    state_type: AtomicI64,
}

impl Instance {
    pub(super) fn new(minor: i32) -> Instance {
        Instance { minor, state: AtomicPtr::new(null_mut()), state_type: AtomicI64::new(0) }
    }

    pub(super) fn minor(&self) -> i32 {
        self.minor
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let state = *self.state.get_mut();
        let types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(delete) = types.get(self.state_type.get_mut()).copied().filter(|_| !state.is_null()) {
            drop(types);
            // SAFETY: the type's own deleter, once.
            unsafe { delete(state) }
        }
    }
}

/// Calls an entry with a frame for the call.
pub(super) fn call(
    entry: Option<abi::Handler>,
    stage: abi::Stage,
    call: &Call<'_>,
    instance: &Instance,
    change: impl FnOnce(&mut abi::CallFrame),
) -> Result<()> {
    let mut arena = frame::Arena::default();
    let mut frame = abi::CallFrame {
        struct_size: abi::CallFrame::STRUCT_SIZE,
        extension_start: null_mut(),
        api: api(call.minor),
        ctx: std::ptr::from_ref(instance).cast_mut().cast(),
        stage,
        args: frame::args(&mut arena, &call.operands),
        rets: frame::rets(&mut arena, &call.results),
        attrs: frame::attrs(&mut arena, &call.attrs),
        future: null_mut(),
    };
    change(&mut frame);
    enter(entry, &mut frame)
}

/// Asks an entry for its metadata.
pub(super) fn metadata(entry: Option<abi::Handler>, minor: i32) -> Result<Metadata> {
    let mut metadata = abi::Metadata {
        struct_size: abi::Metadata::STRUCT_SIZE,
        api_version: abi::ApiVersion::new(-1, -1),
        traits: 0,
        state_type_id: abi::TypeId::UNKNOWN,
    };
    let mut extension = abi::MetadataExtension {
        extension_base: abi::ExtensionBase {
            struct_size: abi::MetadataExtension::STRUCT_SIZE,
            r#type: abi::ExtensionType::METADATA,
            next: null_mut(),
        },
        metadata: &raw mut metadata,
    };
    let mut arena = frame::Arena::default();
    let mut frame = abi::CallFrame {
        struct_size: abi::CallFrame::STRUCT_SIZE,
        extension_start: (&raw mut extension).cast(),
        api: api(minor),
        ctx: null_mut(),
        stage: abi::Stage::EXECUTE,
        args: frame::args(&mut arena, &[]),
        rets: frame::rets(&mut arena, &[]),
        attrs: frame::attrs(&mut arena, &Default::default()),
        future: null_mut(),
    };
    enter(entry, &mut frame)?;
    let abi::Metadata { api_version, traits, state_type_id, .. } = metadata;
    Ok(Metadata {
        api_version: (api_version.major_version, api_version.minor_version),
        traits,
        state_type_id: state_type_id.type_id,
    })
}

fn enter(entry: Option<abi::Handler>, frame: &mut abi::CallFrame) -> Result<()> {
    let entry = entry.ok_or_else(|| Error::unimplemented("the handler has no such stage"))?;
    // SAFETY: an entry, with a call frame.
    let error = unsafe { entry(frame) };
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: `error_create` below made it, and it is ours.
    Err(*unsafe { Box::from_raw(error.cast::<HostError>()) }.0)
}

/// What an opaque error is, here.
struct HostError(Box<Error>, CString);

fn new_error(error: Error) -> *mut abi::Error {
    let text = CString::new(error.message()).unwrap_or_default();
    Box::into_raw(Box::new(HostError(Box::new(error), text))).cast()
}

/// Functions that destroy objects of the registered types, by the types' numbers.
static TYPES: LazyLock<Mutex<HashMap<i64, unsafe extern "C" fn(*mut c_void)>>> =
    LazyLock::new(Mutex::default);

/// Tables that outlive every call: handlers remember a host by the address of its table.
struct Tables([Api; abi::API_MINOR as usize + 1]);
// SAFETY: the tables are constant.
unsafe impl Send for Tables {}
// SAFETY: as above.
unsafe impl Sync for Tables {}

/// The function table of a host that speaks 0.`minor`.
fn api(minor: i32) -> &'static Api {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    let tables = TABLES.get_or_init(|| Tables(std::array::from_fn(|minor| table(minor as i32))));
    &tables.0[usize::try_from(minor).unwrap_or(0).min(abi::API_MINOR as usize)]
}

fn table(minor: i32) -> Api {
    Api {
        struct_size: if minor < 5 { Api::STRUCT_SIZE_V3 } else { Api::STRUCT_SIZE },
        extension_start: null_mut(),
        api_version: abi::ApiVersion::new(0, minor),
        internal_api: std::ptr::null(),
        error_create: Some(error_create),
        error_get_details: Some(error_get_details),
        error_destroy: Some(error_destroy),
        handler_register: None,
        stream_get: None,
        type_register: Some(type_register),
        invoke_context_get: None,
        state_set: Some(if minor < 3 { state_set_v2 } else { state_set }),
        state_get: Some(if minor < 3 { state_get_v2 } else { state_get }),
        device_memory_allocate: None,
        device_memory_free: None,
        thread_pool_schedule: Some(thread_pool_schedule),
        thread_pool_num_threads: Some(thread_pool_num_threads),
        future_create: None,
        future_set_available: None,
        future_set_error: None,
        run_id_get: Some(run_id_get),
        device_ordinal_get: Some(device_ordinal_get),
        invoke_context_find_extension: None,
        custom_options_get: None,
    }
}

unsafe extern "C" fn error_create(args: *mut abi::ErrorCreateArgs) -> *mut abi::Error {
    // SAFETY: the caller's arguments; the message is null-terminated.
    let (code, message) = unsafe { ((*args).errc, CStr::from_ptr((*args).message)) };
    new_error(Error::new(ErrorCode::from_abi(code), message.to_string_lossy()))
}

unsafe extern "C" fn error_get_details(args: *mut abi::ErrorGetDetailsArgs) {
    // SAFETY: the caller's arguments, as far as their size goes; the error is one of ours.
    unsafe {
        let error = (*args).error.cast::<HostError>();
        (*args).message = (*error).1.as_ptr();
        if (*args).struct_size >= abi::ErrorGetDetailsArgs::STRUCT_SIZE {
            (*args).errc = (*error).0.code().to_abi();
        }
    }
}

unsafe extern "C" fn error_destroy(args: *mut abi::ErrorDestroyArgs) {
    // SAFETY: the error is one of ours, and the caller's to destroy.
    drop(unsafe { Box::from_raw((*args).error.cast::<HostError>()) });
}

unsafe extern "C" fn type_register(args: *mut abi::TypeRegisterArgs) -> *mut abi::Error {
    static NEXT: AtomicI64 = AtomicI64::new(1000);
    // SAFETY: the caller's arguments.
    let (id, info) = unsafe { (&mut *(*args).type_id, &*(*args).type_info) };
    if *id != abi::TypeId::UNKNOWN {
        return new_error(Error::unimplemented("types with a number of their own"));
    }
    id.type_id = NEXT.fetch_add(1, Ordering::Relaxed);
    if let Some(deleter) = info.deleter {
        TYPES.lock().unwrap_or_else(PoisonError::into_inner).insert(id.type_id, deleter);
    }
    null_mut()
}

unsafe extern "C" fn state_set(args: *mut abi::StateSetArgs) -> *mut abi::Error {
    // SAFETY: the caller's arguments.
    unsafe { set((*args).struct_size, size_of_args::<4>(), (*args).ctx, (*args).type_id, (*args).state) }
}

unsafe extern "C" fn state_set_v2(args: *mut abi::StateSetArgs) -> *mut abi::Error {
    let args = args.cast::<abi::StateSetArgsV2>();
    // SAFETY: a caller that knows this host's version gives the older arguments.
    unsafe { set((*args).struct_size, size_of_args::<3>(), (*args).ctx, (*args).type_id, (*args).state) }
}

unsafe extern "C" fn state_get(args: *mut abi::StateGetArgs) -> *mut abi::Error {
    // SAFETY: the caller's arguments.
    unsafe {
        get((*args).struct_size, size_of_args::<4>(), (*args).ctx, (*args).type_id, &raw mut (*args).state)
    }
}

unsafe extern "C" fn state_get_v2(args: *mut abi::StateGetArgs) -> *mut abi::Error {
    let args = args.cast::<abi::StateGetArgsV2>();
    // SAFETY: a caller that knows this host's version gives the older arguments.
    unsafe {
        get((*args).struct_size, size_of_args::<3>(), (*args).ctx, (*args).type_id, &raw mut (*args).state)
    }
}

/// `STRUCT_SIZE` of arguments with this many words after the head.
const fn size_of_args<const WORDS: usize>() -> usize {
    offset_of!(abi::StateSetArgs, ctx) + WORDS * size_of::<usize>()
}

unsafe fn set(
    size: usize,
    expected: usize,
    ctx: *mut abi::InvokeContext,
    type_id: *const abi::TypeId,
    state: *mut c_void,
) -> *mut abi::Error {
    if size != expected {
        return new_error(Error::internal(format!("state_set: expected {expected} bytes, found {size}")));
    }
    // SAFETY: the context is an instance, the type's number is there.
    let (instance, type_id) = unsafe { (&*ctx.cast::<Instance>(), *type_id) };
    instance.state.store(state, Ordering::Release);
    instance.state_type.store(type_id.type_id, Ordering::Release);
    null_mut()
}

unsafe fn get(
    size: usize,
    expected: usize,
    ctx: *mut abi::InvokeContext,
    type_id: *const abi::TypeId,
    state: *mut *mut c_void,
) -> *mut abi::Error {
    if size != expected {
        return new_error(Error::internal(format!("state_get: expected {expected} bytes, found {size}")));
    }
    // SAFETY: the context is an instance, the type's number is there.
    let (instance, type_id) = unsafe { (&*ctx.cast::<Instance>(), *type_id) };
    let found = instance.state_type.load(Ordering::Acquire);
    if found != type_id.type_id {
        return new_error(Error::not_found(format!("state has type {found}, not {}", type_id.type_id)));
    }
    // SAFETY: the caller's result.
    unsafe { *state = instance.state.load(Ordering::Acquire) };
    null_mut()
}

unsafe extern "C" fn thread_pool_schedule(args: *mut abi::ThreadPoolScheduleArgs) -> *mut abi::Error {
    // SAFETY: the caller's arguments.
    let (task, data) = unsafe { ((*args).task, AtomicPtr::new((*args).data)) };
    if let Some(task) = task {
        // SAFETY: the caller's task, with its data, once.
        std::thread::spawn(move || unsafe { task(data.into_inner()) });
    }
    null_mut()
}

unsafe extern "C" fn thread_pool_num_threads(args: *mut abi::ThreadPoolNumThreadsArgs) -> *mut abi::Error {
    // SAFETY: the caller's arguments.
    unsafe { *(*args).num_threads = 4 };
    null_mut()
}

unsafe extern "C" fn run_id_get(args: *mut abi::RunIdGetArgs) -> *mut abi::Error {
    // SAFETY: the caller's arguments.
    unsafe { (*args).run_id = 1 };
    null_mut()
}

unsafe extern "C" fn device_ordinal_get(args: *mut abi::DeviceOrdinalGetArgs) -> *mut abi::Error {
    // SAFETY: the caller's arguments.
    unsafe { (*args).device_ordinal = 0 };
    null_mut()
}
