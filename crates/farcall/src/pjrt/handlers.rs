//! Handlers of custom calls, registered with a plugin through its FFI extension.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

use farcall_host::Registry;
use farcall_host::registry::{Handler, How, Platform, Target};
use farcall_ir::op::CustomCall;
use farcall_ir::{Literal, Module, Op, Scalar};
use farcall_pjrt_abi::{ApiEntry, ExtensionType, FfiExtension, FfiRegisterHandler};
use farcall_sig::DType;

use super::client::{Client, ClientDevice};
use super::error::PjrtError;

/// Registers the handlers of a program's custom calls for the plugin's platform. Calls without a target in
/// `registry` are left to the plugin, which may have handlers of its own.
///
/// # Errors
/// If a handler cannot be registered: the plugin has no FFI extension, the target is untyped or has more
/// stages than execution, or the plugin refuses the handler.
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
    let Some(entry) = entry(client) else {
        let names: Vec<String> = targets.keys().map(|name| format!("`{name}`")).collect();
        return Err(PjrtError::Unsupported(format!(
            "the program has custom calls ({}), but {} has no FFI extension, through which handlers are registered",
            names.join(", "),
            client.plugin().path().display()
        )));
    };
    targets.iter().try_for_each(|(name, target)| add(client, entry, name, target))
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

/// Returns the function of the plugin that registers handlers.
fn entry(client: &Client) -> Option<ApiEntry<FfiRegisterHandler>> {
    let extension = client.table().extension(ExtensionType::FFI, size_of::<FfiExtension>())?;
    // SAFETY: an extension of this type and size has these members.
    unsafe { (*extension.cast::<FfiExtension>()).register_handler }
}

fn add(
    client: &Client,
    entry: ApiEntry<FfiRegisterHandler>,
    name: &str,
    target: &Target,
) -> Result<(), PjrtError> {
    let refused = |why: &str| {
        PjrtError::Unsupported(format!(
            "the handler of `{name}`, from {}, cannot be registered with {}: {why}",
            target.origin(),
            client.plugin().path().display()
        ))
    };
    let bundle = match target.handler() {
        Handler::Typed(bundle) => bundle,
        _ => return Err(refused("it is untyped, and plugins take typed handlers")),
    };
    if bundle.instantiate.is_some() || bundle.prepare.is_some() || bundle.initialize.is_some() {
        return Err(refused("it has several stages, and plugins take handlers with the stage execute only"));
    }
    let Some(execute) = bundle.execute else { return Err(refused("it has no stage execute")) };
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
    // SAFETY: the texts outlive the call. The handler is one of the typed interface, and stays loaded.
    match unsafe { client.table().call_entry("PJRT_FFI_Register_Handler", entry, &mut args) } {
        // The plugin has a handler of its own, which it prefers to the engine's.
        Err(_) if target.origin().how == How::BuiltIn => Ok(()),
        outcome => outcome,
    }
}
