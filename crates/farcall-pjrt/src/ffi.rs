//! The FFI extension: custom-call handlers, types and user data of the caller. The extension for custom calls of
//! GPU plugins registers handlers that have more stages than execution; this plugin offers it for the CPU.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use farcall::Registry;
use farcall::custom_call::RunContext;
use farcall::ffi::abi::{HandlerBundle, HandlerFn, HandlerTraits, TypeId};
use farcall::registry::{self, Deleter, Platform, Target, TargetOrigin};
use farcall_pjrt_abi::*;

use crate::call::{Arguments, Call, with};
use crate::object::{Object, into_handle};
use crate::status::{Outcome, Status};

/// Data that the caller passes to the handlers of a run.
#[derive(Default)]
pub(crate) struct ExecuteContext {
    data: Mutex<Vec<(i64, UserData)>>,
}

#[derive(Clone, Copy)]
struct UserData(*mut c_void);

// SAFETY: the caller lets handlers use the data on any thread.
unsafe impl Send for UserData {}

impl Object for ExecuteContext {
    type Abi = ExecuteContextHandle;
    const KIND: &'static str = "execution context";
}

impl ExecuteContext {
    pub(crate) fn is_empty(&self) -> bool {
        self.data.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Adds the data to the context of a run.
    pub(crate) fn add_to(&self, context: &mut RunContext) {
        for (type_id, UserData(data)) in self.data.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // SAFETY: the caller keeps the data until the run is complete.
            unsafe { context.set_user_data(TypeId { type_id: *type_id }, *data) };
        }
    }
}

impl Call for ExecuteContextCreate {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.context = into_handle(Box::<ExecuteContext>::default());
        Ok(())
    }
}

impl Call for ExecuteContextDestroy {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.take::<ExecuteContext>("context", |a| a.context).map(drop)
    }
}

/// Converts an outcome for the caller.
unsafe extern "C" fn type_register(args: *mut FfiTypeRegister) -> *mut ErrorHandle {
    // SAFETY: the caller passes null or arguments of this function.
    Status::handle(unsafe { with(args, register_type) })
}

fn register_type(args: &mut Arguments<FfiTypeRegister>) -> Outcome {
    let name = args.text("type_name", |a| (a.type_name, a.type_name_size))?;
    let info = args.members.type_info;
    let deleter = if info.is_null() {
        None
    } else if !info.is_aligned() {
        return Err(Status::invalid("PJRT_FFI_Type_Register: `type_info` is not aligned"));
    } else {
        // SAFETY: the caller passes a description of the type. Its first member is null or a deleter.
        unsafe { std::mem::transmute::<*const c_void, Option<Deleter>>((*info).deleter) }
    };
    let given = TypeId { type_id: args.members.type_id };
    // SAFETY: the caller vouches for the deleter of its type.
    let id = unsafe { registry::register_type(&name, given, deleter) }.map_err(|e| Status::of(&e))?;
    args.members.type_id = id.type_id;
    Ok(())
}

unsafe extern "C" fn user_data_add(args: *mut FfiUserDataAdd) -> *mut ErrorHandle {
    // SAFETY: the caller passes null or arguments of this function.
    Status::handle(unsafe { with(args, add_user_data) })
}

fn add_user_data(args: &mut Arguments<FfiUserDataAdd>) -> Outcome {
    let context: &ExecuteContext = args.object("context", |a| a.context)?;
    let FfiUserData { type_id, data } = args.members.user_data;
    let mut known = context.data.lock().unwrap_or_else(PoisonError::into_inner);
    if known.iter().any(|(id, _)| *id == type_id) {
        return Err(Status::new(
            ErrorCode::ALREADY_EXISTS,
            format!("the context has data of the type {type_id}"),
        ));
    }
    known.push((type_id, UserData(data)));
    Ok(())
}

unsafe extern "C" fn register_handler(args: *mut FfiRegisterHandler) -> *mut ErrorHandle {
    // SAFETY: the caller passes null or arguments of this function.
    Status::handle(unsafe { with(args, register) })
}

fn register(args: &mut Arguments<FfiRegisterHandler>) -> Outcome {
    let name = args.text("target_name", |a| (a.target_name, a.target_name_size))?;
    let platform = args.text("platform_name", |a| (a.platform_name, a.platform_name_size))?;
    let stages = [null_mut(), null_mut(), null_mut(), args.members.handler];
    // SAFETY: the caller passes a handler of the typed interface, or null. It stays loaded.
    unsafe { add(&name, Platform::from(&*platform), stages, args.members.traits as HandlerTraits) }
}

unsafe extern "C" fn register_custom_call(args: *mut GpuRegisterCustomCall) -> *mut ErrorHandle {
    // SAFETY: the caller passes null or arguments of this function.
    Status::handle(unsafe { with(args, register_stages) })
}

fn register_stages(args: &mut Arguments<GpuRegisterCustomCall>) -> Outcome {
    let name = args.text("function_name", |a| (a.function_name, a.function_name_size))?;
    let members = &args.members;
    if members.api_version != HandlerInterface::TYPED {
        return Err(Status::invalid(format!(
            "the handler of `{name}` has the API version {}; only typed handlers (version 1) can be registered",
            members.api_version.0
        )));
    }
    let stages = [
        members.handler_instantiate,
        members.handler_prepare,
        members.handler_initialize,
        members.handler_execute,
    ];
    // SAFETY: the caller passes handlers of the typed interface, or null. They stay loaded.
    unsafe { add(&name, Platform::Host, stages, 0) }
}

/// Registers the handlers of the stages instantiate, prepare, initialize and execute; the first three may be
/// null.
///
/// # Safety
/// Each is null, or a handler of the typed interface that stays loaded.
unsafe fn add(name: &str, platform: Platform, stages: [*mut c_void; 4], traits: HandlerTraits) -> Outcome {
    // SAFETY: the caller passes handlers or null.
    let stages = stages.map(|at| unsafe { std::mem::transmute::<*mut c_void, Option<HandlerFn>>(at) });
    let [instantiate, prepare, initialize, execute] = stages;
    if execute.is_none() {
        return Err(Status::invalid(format!("the handler of `{name}` is null")));
    }
    let bundle = HandlerBundle { instantiate, prepare, initialize, execute, record: None };
    // SAFETY: the caller vouches for the handlers, which stay loaded.
    let target = unsafe { Target::typed(name, platform, bundle, traits, TargetOrigin::program()) };
    let target = target.map_err(|e| Status::of(&e))?;
    Registry::global().register(target).map_err(|e| Status::of(&e))?;
    Ok(())
}

/// Returns the extension, followed by `next`.
pub(crate) fn extension(next: *mut ExtensionBase) -> FfiExtension {
    FfiExtension {
        base: ExtensionBase { struct_size: size_of::<FfiExtension>(), r#type: ExtensionType::FFI, next },
        type_register: Some(type_register),
        user_data_add: Some(user_data_add),
        register_handler: Some(register_handler),
    }
}

/// Returns the extension that registers handlers with all stages, followed by `next`.
pub(crate) fn custom_call_extension(next: *mut ExtensionBase) -> GpuCustomCallExtension {
    let r#type = ExtensionType::STAGED_CUSTOM_CALL;
    GpuCustomCallExtension {
        base: ExtensionBase { struct_size: size_of::<GpuCustomCallExtension>(), r#type, next },
        custom_call: Some(register_custom_call),
    }
}
