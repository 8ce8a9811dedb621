//! A minimal host for tests: errors, types, state, threads, futures, scratch memory, user data, options.

use std::alloc::Layout;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, OnceLock, PoisonError};

use farcall_sig::AttrValues;

use super::{Call, Metadata, ScratchAllocator, frame};
use crate::abi::{self, Api};
use crate::arena::Arena;
use crate::encode::encode_attrs;
use crate::error::{Error, Result, StatusCode};

/// A call site after instantiation, with its state.
#[derive(Debug)]
pub struct Instance {
    minor: i32,
    /// State by stage.
    states: [State; 3],
}

/// State that a stage made.
#[derive(Debug)]
struct State {
    object: AtomicPtr<c_void>,
    type_id: AtomicI64,
}

/// Data of a running call, which the call frame's context points to.
struct RunningCall<'a> {
    instance: &'a Instance,
    /// Objects with the names of their types.
    user_data: &'a [(&'static str, *mut c_void)],
    options: Option<abi::Attrs>,
    device: Device,
    /// First of the extensions of the call.
    extensions: *const abi::Extension,
    /// Allocator of scratch memory, if it is not the process's own.
    allocator: Option<&'a dyn ScratchAllocator>,
    /// Number of bytes of scratch memory that the handler has not freed yet.
    scratch: AtomicUsize,
}

/// The device that a call runs on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    pub(super) ordinal: i32,
    /// `None` on the host.
    pub(super) stream: Option<*mut c_void>,
}

/// A call's future: its outcome, once known.
#[derive(Default)]
struct Future {
    outcome: Mutex<Option<Result<()>>>,
    known: Condvar,
}

impl Instance {
    pub(super) fn new(minor: i32) -> Instance {
        let nothing = || State { object: AtomicPtr::new(null_mut()), type_id: AtomicI64::new(0) };
        Instance { minor, states: std::array::from_fn(|_| nothing()) }
    }

    pub(super) fn minor(&self) -> i32 {
        self.minor
    }
}

impl State {
    /// Destroys the object, if there is one.
    fn clear(&self) {
        let object = self.object.swap(null_mut(), Ordering::AcqRel);
        let type_id = self.type_id.swap(0, Ordering::AcqRel);
        let types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
        let delete = types.get(&type_id).and_then(|known| known.deleter);
        drop(types);
        if let Some(delete) = delete.filter(|_| !object.is_null()) {
            // SAFETY: the deleter belongs to the object's type, and is called once.
            unsafe { delete(object) }
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.states.iter().for_each(State::clear);
    }
}

/// Calls an entry with a frame for the call.
pub(super) fn call(
    entry: Option<abi::HandlerFn>,
    stage: abi::Stage,
    call: &Call<'_>,
    instance: &Instance,
    change: impl FnOnce(&mut abi::CallFrame),
) -> Result<()> {
    let mut arena = Arena::default();
    let running = RunningCall {
        instance,
        user_data: &call.user_data,
        options: call.options.as_ref().map(|options| encode_attrs(&mut arena, options)).transpose()?,
        device: if matches!(stage, abi::Stage::PREPARE | abi::Stage::INSTANTIATE) {
            Device { stream: None, ..call.device }
        } else {
            call.device
        },
        extensions: call.extensions,
        allocator: call.scratch,
        scratch: AtomicUsize::new(0),
    };
    let mut frame = abi::CallFrame {
        struct_size: abi::CallFrame::STRUCT_SIZE,
        extension_start: null_mut(),
        api: api(call.minor),
        ctx: (&raw const running).cast_mut().cast(),
        stage,
        args: frame::args(&mut arena, &call.operands),
        rets: frame::rets(&mut arena, &call.results),
        attrs: encode_attrs(&mut arena, &call.attrs)?,
        future: null_mut(),
    };
    change(&mut frame);
    let outcome = enter(entry, &mut frame).and_then(|()| {
        if frame.future.is_null() {
            return Ok(());
        }
        // SAFETY: the future was made by `future_create`, which left a share for the call.
        let future = unsafe { Arc::from_raw(frame.future.cast_const().cast::<Future>()) };
        // Kept buffers must not depend on the frame, so the contents of the frame are destroyed.
        for buffers in [(frame.args.size, frame.args.args), (frame.rets.size, frame.rets.rets)] {
            for i in 0..buffers.0 as usize {
                // SAFETY: the frame's buffers are in its arena, which is still alive.
                unsafe { (*(*buffers.1.add(i)).cast::<abi::Buffer>()).dims = null_mut() }
            }
        }
        drop(arena);
        let mut outcome = future.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match outcome.take() {
                Some(outcome) => return outcome,
                None => outcome = future.known.wait(outcome).unwrap_or_else(PoisonError::into_inner),
            }
        }
    });
    match running.scratch.load(Ordering::Acquire) {
        0 => outcome,
        bytes => Err(Error::internal(format!("{bytes} bytes of scratch memory were not given back"))),
    }
}

/// Requests the metadata of an entry.
pub(super) fn metadata(entry: Option<abi::HandlerFn>, minor: i32) -> Result<Metadata> {
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
    let mut arena = Arena::default();
    let mut frame = abi::CallFrame {
        struct_size: abi::CallFrame::STRUCT_SIZE,
        extension_start: (&raw mut extension).cast(),
        api: api(minor),
        ctx: null_mut(),
        stage: abi::Stage::EXECUTE,
        args: frame::args(&mut arena, &[]),
        rets: frame::rets(&mut arena, &[]),
        attrs: encode_attrs(&mut arena, &AttrValues::new())?,
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

fn enter(entry: Option<abi::HandlerFn>, frame: &mut abi::CallFrame) -> Result<()> {
    let entry = entry.ok_or_else(|| Error::unimplemented("the handler has no such stage"))?;
    // SAFETY: a handler's entry, with a call frame.
    let error = unsafe { entry(frame) };
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: `error_create` made the error, and this function owns it.
    Err(*unsafe { Box::from_raw(error.cast::<HostError>()) }.0)
}

/// Representation of this host's opaque errors.
struct HostError(Box<Error>, CString);

fn new_error(error: Error) -> *mut abi::Error {
    let text = CString::new(error.message()).unwrap_or_default();
    Box::into_raw(Box::new(HostError(Box::new(error), text))).cast()
}

/// Registered types by number.
static TYPES: LazyLock<Mutex<HashMap<i64, Type>>> = LazyLock::new(Mutex::default);

/// A registered type.
struct Type {
    name: Vec<u8>,
    /// Destroys objects of the type.
    deleter: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// Function tables, which outlive every call because handlers identify a host by the address of its table.
struct Tables([Api; abi::API_MINOR as usize + 1]);
// SAFETY: the tables are constant.
unsafe impl Send for Tables {}
// SAFETY: the tables are constant.
unsafe impl Sync for Tables {}

/// Returns the function table of a host of version 0.`minor`.
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
        stream_get: Some(stream_get),
        type_register: Some(type_register),
        invoke_context_get: Some(invoke_context_get),
        state_set: Some(if minor < 3 { state_set_v2 } else { state_set }),
        state_get: Some(if minor < 3 { state_get_v2 } else { state_get }),
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

unsafe extern "C" fn error_create(args: *mut abi::ErrorCreateArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments, and the message is null-terminated.
    let (code, message) = unsafe { ((*args).errc, CStr::from_ptr((*args).message)) };
    new_error(Error::new(StatusCode::from(code), message.to_string_lossy()))
}

unsafe extern "C" fn error_get_details(args: *mut abi::ErrorGetDetailsArgs) {
    // SAFETY: the caller passes arguments that are valid for their size, with an error of this host.
    unsafe {
        let error = (*args).error.cast::<HostError>();
        (*args).message = (*error).1.as_ptr();
        if (*args).struct_size >= abi::ErrorGetDetailsArgs::STRUCT_SIZE {
            (*args).errc = (*error).0.code().into();
        }
    }
}

unsafe extern "C" fn error_destroy(args: *mut abi::ErrorDestroyArgs) {
    // SAFETY: the error is one of this host, and the caller gives up its ownership.
    drop(unsafe { Box::from_raw((*args).error.cast::<HostError>()) });
}

unsafe extern "C" fn type_register(args: *mut abi::TypeRegisterArgs) -> *mut abi::Error {
    static NEXT: AtomicI64 = AtomicI64::new(1000);
    // SAFETY: the caller passes valid arguments.
    let (name, id, info) = unsafe { ((*args).name.as_bytes(), &mut *(*args).type_id, &*(*args).type_info) };
    if *id != abi::TypeId::UNKNOWN {
        return new_error(Error::unimplemented("types with a preassigned number are not supported"));
    }
    let mut types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = types.iter().find(|(_, known)| known.name == name).map(|(id, _)| *id);
    id.type_id = known.unwrap_or_else(|| {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        types.insert(id, Type { name: name.to_owned(), deleter: info.deleter });
        id
    });
    null_mut()
}

unsafe extern "C" fn invoke_context_get(args: *mut abi::InvokeContextGetArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments; the context is a running call.
    let (running, type_id) = unsafe { (&*(*args).ctx.cast::<RunningCall<'_>>(), *(*args).type_id) };
    let types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(wanted) = types.get(&type_id.type_id) else {
        return new_error(Error::not_found(format!("no type {}", type_id.type_id)));
    };
    match running.user_data.iter().find(|(name, _)| name.as_bytes() == wanted.name) {
        Some((_, object)) => {
            // SAFETY: the caller passes valid arguments.
            unsafe { (*args).data = *object };
            null_mut()
        }
        None => {
            let name = String::from_utf8_lossy(&wanted.name);
            new_error(Error::not_found(format!("no user data of the type {name}")))
        }
    }
}

unsafe extern "C" fn custom_options_get(args: *mut abi::CustomOptionsGetArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments; the context is a running call.
    unsafe {
        let running = &*(*args).ctx.cast::<RunningCall<'_>>();
        (*args).attrs = running.options.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    }
    null_mut()
}

unsafe extern "C" fn device_memory_allocate(args: *mut abi::DeviceMemoryAllocateArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments; the context is a running call.
    let (running, size, alignment) =
        unsafe { (&*(*args).ctx.cast::<RunningCall<'_>>(), (*args).size, (*args).alignment) };
    if running.device.stream.is_some() && alignment > MAX_GPU_ALIGNMENT {
        return new_error(Error::invalid_argument(format!("Unsupported alignment: {alignment}")));
    }
    if let Some(allocator) = running.allocator {
        let data = allocator.allocate(size, alignment);
        // SAFETY: the caller passes valid arguments.
        unsafe { (*args).data = data };
        running.scratch.fetch_add(if data.is_null() { 0 } else { size }, Ordering::AcqRel);
        return null_mut();
    }
    let Ok(layout) = Layout::from_size_align(size.max(1), alignment.max(ALIGNMENT)) else {
        return new_error(Error::resource_exhausted("scratch memory of an impossible size"));
    };
    // SAFETY: the size is not 0.
    unsafe { (*args).data = std::alloc::alloc_zeroed(layout).cast() };
    running.scratch.fetch_add(size, Ordering::AcqRel);
    null_mut()
}

unsafe extern "C" fn device_memory_free(args: *mut abi::DeviceMemoryFreeArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments; the context is a running call.
    let (running, size) = unsafe { (&*(*args).ctx.cast::<RunningCall<'_>>(), (*args).size) };
    if let Some(allocator) = running.allocator {
        // SAFETY: the caller passes valid arguments.
        allocator.free(unsafe { (*args).data });
    } else if let Ok(layout) = Layout::from_size_align(size.max(1), ALIGNMENT) {
        // SAFETY: the memory is from `device_memory_allocate`, which tests never ask for a larger alignment.
        unsafe { std::alloc::dealloc((*args).data.cast(), layout) };
    }
    running.scratch.fetch_sub(size, Ordering::AcqRel);
    null_mut()
}

/// Maximum alignment in bytes that a handler may request on a GPU, as in XLA.
const MAX_GPU_ALIGNMENT: usize = 16;

/// Minimum alignment of scratch memory in bytes. Freeing assumes it, because the arguments do not contain the
/// alignment.
const ALIGNMENT: usize = crate::scratch::ALIGNMENT;

unsafe extern "C" fn future_create(args: *mut abi::FutureCreateArgs) -> *mut abi::Error {
    let future: Arc<Future> = Arc::default();
    // One share for the handler, which completes the future, and one for the call.
    let _call = Arc::into_raw(Arc::clone(&future));
    // SAFETY: the caller passes valid arguments.
    unsafe { (*args).future = Arc::into_raw(future).cast_mut().cast() };
    null_mut()
}

unsafe extern "C" fn future_set_available(args: *mut abi::FutureSetAvailableArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments, with a future that is not complete.
    unsafe { complete((*args).future, Ok(())) }
}

unsafe extern "C" fn future_set_error(args: *mut abi::FutureSetErrorArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments, with a future that is not complete. The error is one of this
    // host, which takes ownership of it.
    unsafe {
        let error = Box::from_raw((*args).error.cast::<HostError>());
        complete((*args).future, Err(*error.0))
    }
}

/// Completes a future.
///
/// # Safety
/// The future is one of this host and not complete yet.
unsafe fn complete(future: *mut abi::Future, outcome: Result<()>) -> *mut abi::Error {
    // SAFETY: this is the share of the handler, which completes a future once.
    let future = unsafe { Arc::from_raw(future.cast_const().cast::<Future>()) };
    *future.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    future.known.notify_all();
    null_mut()
}

unsafe extern "C" fn state_set(args: *mut abi::StateSetArgs) -> *mut abi::Error {
    // SAFETY: the caller passes arguments that are valid for their size.
    unsafe {
        if (*args).struct_size != abi::StateSetArgs::STRUCT_SIZE {
            return wrong_size("state_set", (*args).struct_size, abi::StateSetArgs::STRUCT_SIZE);
        }
        set((*args).ctx, (*args).stage, (*args).type_id, (*args).state)
    }
}

unsafe extern "C" fn state_set_v2(args: *mut abi::StateSetArgs) -> *mut abi::Error {
    let args = args.cast::<abi::StateSetArgsV2>();
    // SAFETY: a caller that knows this host's version passes the older arguments.
    unsafe {
        if (*args).struct_size != abi::StateSetArgsV2::STRUCT_SIZE {
            return wrong_size("state_set", (*args).struct_size, abi::StateSetArgsV2::STRUCT_SIZE);
        }
        set((*args).ctx, abi::Stage::INSTANTIATE, (*args).type_id, (*args).state)
    }
}

unsafe extern "C" fn state_get(args: *mut abi::StateGetArgs) -> *mut abi::Error {
    // SAFETY: the caller passes arguments that are valid for their size.
    unsafe {
        if (*args).struct_size != abi::StateGetArgs::STRUCT_SIZE {
            return wrong_size("state_get", (*args).struct_size, abi::StateGetArgs::STRUCT_SIZE);
        }
        get((*args).ctx, (*args).stage, (*args).type_id, &raw mut (*args).state)
    }
}

unsafe extern "C" fn state_get_v2(args: *mut abi::StateGetArgs) -> *mut abi::Error {
    let args = args.cast::<abi::StateGetArgsV2>();
    // SAFETY: a caller that knows this host's version passes the older arguments.
    unsafe {
        if (*args).struct_size != abi::StateGetArgsV2::STRUCT_SIZE {
            return wrong_size("state_get", (*args).struct_size, abi::StateGetArgsV2::STRUCT_SIZE);
        }
        get((*args).ctx, abi::Stage::INSTANTIATE, (*args).type_id, &raw mut (*args).state)
    }
}

fn wrong_size(function: &str, found: usize, expected: usize) -> *mut abi::Error {
    new_error(Error::internal(format!("{function}: expected {expected} bytes, found {found}")))
}

unsafe fn set(
    ctx: *mut abi::InvokeContext,
    stage: abi::Stage,
    type_id: *const abi::TypeId,
    object: *mut c_void,
) -> *mut abi::Error {
    // SAFETY: the context is a running call, and the pointer to the type's number is valid.
    let (running, type_id) = unsafe { (&*ctx.cast::<RunningCall<'_>>(), *type_id) };
    let Some(state) = running.instance.states.get(stage.0 as usize) else {
        return new_error(Error::invalid_argument(format!("no state of the stage {}", stage.name())));
    };
    state.clear();
    state.object.store(object, Ordering::Release);
    state.type_id.store(type_id.type_id, Ordering::Release);
    null_mut()
}

unsafe fn get(
    ctx: *mut abi::InvokeContext,
    stage: abi::Stage,
    type_id: *const abi::TypeId,
    object: *mut *mut c_void,
) -> *mut abi::Error {
    // SAFETY: the context is a running call, and the pointer to the type's number is valid.
    let (running, type_id) = unsafe { (&*ctx.cast::<RunningCall<'_>>(), *type_id) };
    let Some(state) = running.instance.states.get(stage.0 as usize) else {
        return new_error(Error::invalid_argument(format!("no state of the stage {}", stage.name())));
    };
    let found = state.type_id.load(Ordering::Acquire);
    if found != type_id.type_id {
        return new_error(Error::not_found(format!("state has type {found}, not {}", type_id.type_id)));
    }
    // SAFETY: `object` is a member of the caller's arguments.
    unsafe { *object = state.object.load(Ordering::Acquire) };
    null_mut()
}

unsafe extern "C" fn thread_pool_schedule(args: *mut abi::ThreadPoolScheduleArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments.
    let (task, data) = unsafe { ((*args).task, AtomicPtr::new((*args).data)) };
    if let Some(task) = task {
        // SAFETY: the caller's task is called once, with its data.
        std::thread::spawn(move || unsafe { task(data.into_inner()) });
    }
    null_mut()
}

unsafe extern "C" fn thread_pool_num_threads(args: *mut abi::ThreadPoolNumThreadsArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments.
    unsafe { *(*args).num_threads = 4 };
    null_mut()
}

unsafe extern "C" fn run_id_get(args: *mut abi::RunIdGetArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments.
    unsafe { (*args).run_id = 1 };
    null_mut()
}

unsafe extern "C" fn device_ordinal_get(args: *mut abi::DeviceOrdinalGetArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments; the context is a running call.
    unsafe { (*args).device_ordinal = (*(*args).ctx.cast::<RunningCall<'_>>()).device.ordinal };
    null_mut()
}

unsafe extern "C" fn stream_get(args: *mut abi::StreamGetArgs) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments; the context is a running call.
    let running = unsafe { &*(*args).ctx.cast::<RunningCall<'_>>() };
    let Some(stream) = running.device.stream else {
        return new_error(Error::unimplemented("the call has no stream"));
    };
    // SAFETY: the caller passes valid arguments.
    unsafe { (*args).stream = stream };
    null_mut()
}

unsafe extern "C" fn invoke_context_find_extension(
    args: *mut abi::InvokeContextFindExtensionArgs,
) -> *mut abi::Error {
    // SAFETY: the caller passes valid arguments; the context is a running call.
    let (running, wanted) = unsafe { (&*(*args).ctx.cast::<RunningCall<'_>>(), (*args).extension_type) };
    let mut extension = running.extensions;
    // SAFETY: whoever made the call promised that its extensions are valid (`Call::extensions`).
    while let Some(header) = unsafe { extension.as_ref() } {
        if header.id.extension_type == wanted {
            break;
        }
        extension = header.next;
    }
    // SAFETY: the caller passes valid arguments.
    unsafe { (*args).extension = extension };
    null_mut()
}
