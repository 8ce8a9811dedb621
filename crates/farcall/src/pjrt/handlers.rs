//! Handlers of custom calls, registered with a plugin through its extensions.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use farcall_ffi::abi::HandlerFn;
use farcall_host::Registry;
use farcall_host::registry::{Handler, How, Platform, Target};
use farcall_ir::op::CustomCall;
use farcall_ir::{Literal, Module, Op, Scalar};
use farcall_pjrt_abi::{
    ApiEntry, ExtensionType, FfiExtension, FfiRegisterHandler, GpuCustomCallExtension, GpuRegisterCustomCall,
    HandlerInterface,
};
use farcall_sig::DType;

use super::client::{Client, ClientDevice};
use super::error::PjrtError;

/// Registers the handlers of a program's custom calls for the plugin's platform. Calls without a target in
/// `registry` are left to the plugin, which may have handlers of its own.
///
/// # Errors
/// If a handler cannot be registered: the plugin has no extension for it, the target is untyped, or the plugin
/// refuses the handler.
pub(super) fn register(
    client: &Client,
    device: &ClientDevice,
    module: &Module,
    registry: &Registry,
) -> Result<(), PjrtError> {
    let mut targets = BTreeMap::new();
    let on_host = OnceCell::new();
    for func in module.funcs() {
        let mut result = Ok(());
        func.walk(&mut |inst| {
            if let (Op::CustomCall(call), Ok(())) = (inst.op(), &result) {
                match find(call, client, device, registry, &on_host) {
                    Ok(target) => targets.extend(target.map(|target| (call.target.clone(), target))),
                    Err(error) => result = Err(error),
                }
            }
        });
        result?;
    }
    if targets.is_empty() {
        return Ok(());
    }
    let functions = Functions::of(client);
    if let Functions { handler: None, stages: None } = functions {
        let names: Vec<String> = targets.keys().map(|name| format!("`{name}`")).collect();
        return Err(PjrtError::Unsupported(format!(
            "the program has custom calls ({}), but {} has no FFI extension, through which handlers are registered",
            names.join(", "),
            client.plugin().path().display()
        )));
    }
    targets.iter().try_for_each(|(name, target)| functions.add(client, name, target))
}

/// Returns the target of a call for the client's platform. A platform without targets of its own, whose
/// arrays lie in the host's memory, takes the targets for the host.
fn find(
    call: &CustomCall,
    client: &Client,
    device: &ClientDevice,
    registry: &Registry,
    on_host: &OnceCell<bool>,
) -> Result<Option<Arc<Target>>, PjrtError> {
    let platform = Platform::from(client.platform_name());
    let own = registry.resolve(call, &platform).ok();
    if own.is_some() || platform == Platform::Host {
        return Ok(own);
    }
    let Ok(host) = registry.resolve(call, &Platform::Host) else { return Ok(None) };
    let on_host = match on_host.get() {
        Some(known) => *known,
        None => {
            let probe = client.buffer(&Literal::scalar(DType::F32, Scalar::Float(0.0)), device)?;
            *on_host.get_or_init(|| probe.is_on_cpu().unwrap_or(false))
        }
    };
    Ok(on_host.then_some(host))
}

/// Functions of a plugin that register handlers.
struct Functions {
    /// Registers a handler with the stage execute only.
    handler: Option<ApiEntry<FfiRegisterHandler>>,
    /// Registers a handler with more stages. Only plugins for GPUs and farcall's own have this function.
    stages: Option<ApiEntry<GpuRegisterCustomCall>>,
}

impl Functions {
    fn of(client: &Client) -> Functions {
        let ffi = client.table().extension(ExtensionType::FFI, size_of::<FfiExtension>());
        let gpu = [ExtensionType::GPU_CUSTOM_CALL, ExtensionType::STAGED_CUSTOM_CALL]
            .into_iter()
            .find_map(|r#type| client.table().extension(r#type, size_of::<GpuCustomCallExtension>()));
        // SAFETY: extensions of these types and sizes have these members.
        unsafe {
            Functions {
                handler: ffi.and_then(|at| (*at.cast::<FfiExtension>()).register_handler),
                stages: gpu.and_then(|at| (*at.cast::<GpuCustomCallExtension>()).custom_call),
            }
        }
    }

    fn add(&self, client: &Client, name: &str, target: &Target) -> Result<(), PjrtError> {
        let refused = |why: &str| {
            Err(PjrtError::Unsupported(format!(
                "the handler of `{name}`, from {}, cannot be registered with {}: {why}",
                target.origin(),
                client.plugin().path().display()
            )))
        };
        let bundle = match target.handler() {
            Handler::Typed(bundle) => bundle,
            _ => return refused("it is untyped, and plugins take typed handlers"),
        };
        let Some(execute) = bundle.execute else { return refused("it has no stage execute") };
        let has_more =
            bundle.instantiate.is_some() || bundle.prepare.is_some() || bundle.initialize.is_some();
        let outcome = match (self, has_more) {
            (Functions { handler: Some(entry), .. }, false) => {
                let platform = client.platform_name();
                let mut args = FfiRegisterHandler {
                    struct_size: size_of::<FfiRegisterHandler>(),
                    target_name: name.as_ptr().cast(),
                    target_name_size: name.len(),
                    handler: execute as *mut c_void,
                    platform_name: platform.as_ptr().cast(),
                    platform_name_size: platform.len(),
                    traits: target.traits(),
                };
                // SAFETY: the texts outlive the call. The handler is one of the typed interface, and stays
                // loaded.
                unsafe { client.table().call_entry("PJRT_FFI_Register_Handler", *entry, &mut args) }
            }
            (Functions { stages: Some(entry), .. }, _) => {
                let address = |stage: Option<HandlerFn>| stage.map_or(null_mut(), |f| f as *mut c_void);
                let mut args = GpuRegisterCustomCall {
                    struct_size: size_of::<GpuRegisterCustomCall>(),
                    function_name: name.as_ptr().cast(),
                    function_name_size: name.len(),
                    api_version: HandlerInterface::TYPED,
                    handler_instantiate: address(bundle.instantiate),
                    handler_prepare: address(bundle.prepare),
                    handler_initialize: address(bundle.initialize),
                    handler_execute: execute as *mut c_void,
                };
                // SAFETY: the text outlives the call. The handlers are those of the typed interface, and stay
                // loaded. They report their traits themselves.
                unsafe { client.table().call_entry("PJRT_Gpu_Register_Custom_Call", *entry, &mut args) }
            }
            _ => {
                return refused(
                    "it has several stages, and the plugin takes handlers with the stage execute only",
                );
            }
        };
        match outcome {
            // The plugin has a handler of its own, which it prefers to the engine's.
            Err(_) if target.origin().how == How::BuiltIn => Ok(()),
            outcome => outcome,
        }
    }
}
