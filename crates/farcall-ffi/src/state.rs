//! State of a call site: created before the program runs, available in every call, owned by the host.
//!
//! A host identifies a type by a number, which it assigns when the type is registered. That happens when the number
//! is first needed (the host asks the instantiate function for it before the target can be used). The number is
//! cached per host and type, since one library may serve several hosts in a process.
//!
//! **Invariants.** The list of numbers only grows, so that reading it takes no lock. The name under which a type is
//! registered is unique in the process: it contains an address of this copy of the crate.

use std::any::TypeId;
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::abi;
use crate::context::{Host, function};
use crate::error::{Error, Result};
use crate::unwind::discard;

/// The state of this call site, as a parameter `&State<T>`: what the handler's `instantiate` function
/// returned. It dereferences to the `T`.
///
/// Calls may run at the same time, so a state that changes needs an atomic or a lock.
#[repr(transparent)]
#[derive(Debug)]
pub struct State<T>(T);

impl<T> State<T> {
    /// # Safety
    /// The pointer is to a `T` that lives, and is only shared, during `'a`.
    pub(crate) unsafe fn from_raw<'a>(state: *const T) -> &'a State<T> {
        // SAFETY: the caller's promise; `repr(transparent)`.
        unsafe { &*state.cast() }
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// What the handler's `prepare` function returned for this run, as a parameter `&Prepared<T>`. It
/// dereferences to the `T`. Needs a host from 0.3 on.
#[repr(transparent)]
#[derive(Debug)]
pub struct Prepared<T>(T);

/// What the handler's `initialize` function returned for this run, as a parameter `&Initialized<T>`. It
/// dereferences to the `T`. Needs a host from 0.3 on.
#[repr(transparent)]
#[derive(Debug)]
pub struct Initialized<T>(T);

macro_rules! run_states {
    ($($name:ident)*) => {$(
        impl<T> $name<T> {
            /// # Safety
            /// As for [`State::from_raw`].
            pub(crate) unsafe fn from_raw<'a>(state: *const T) -> &'a $name<T> {
                // SAFETY: the caller's promise; `repr(transparent)`.
                unsafe { &*state.cast() }
            }
        }

        impl<T> Deref for $name<T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.0
            }
        }
    )*};
}

run_states!(Prepared Initialized);

/// Up to 0.2 hosts know no state but that of the instantiate stage.
fn check_stage(host: &Host, stage: abi::Stage) -> Result<()> {
    if stage == abi::Stage::INSTANTIATE || host.at_least(3) {
        return Ok(());
    }
    let (stage, (major, minor)) = (stage.name(), host.version);
    let message =
        format!("state of the stage {stage} needs a host of 0.3 or later, this one speaks {major}.{minor}");
    Err(Error::unimplemented(message))
}

/// Hands the host the state that a stage of a call site made.
pub(crate) fn set<T: Send + Sync + 'static>(host: &Host, stage: abi::Stage, state: T) -> Result<()> {
    check_stage(host, stage)?;
    let mut type_id = type_id::<T>(host)?;
    let function = function!(host, state_set)?;
    let state = Box::into_raw(Box::new(state));
    let error = if host.at_least(3) {
        let mut args = abi::StateSetArgs {
            struct_size: abi::StateSetArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: host.ctx,
            stage,
            type_id: &mut type_id,
            state: state.cast(),
        };
        // SAFETY: a function of the host, with the arguments it takes.
        unsafe { function(&mut args) }
    } else {
        let mut args = abi::StateSetArgsV2 {
            struct_size: abi::StateSetArgsV2::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: host.ctx,
            type_id: &mut type_id,
            state: state.cast(),
        };
        // SAFETY: a function of the host, which up to 0.2 takes the older arguments.
        unsafe { function((&raw mut args).cast()) }
    };
    host.check(error).inspect_err(|_| {
        // SAFETY: the host refused it, so it is still ours.
        drop(unsafe { Box::from_raw(state) });
    })
}

/// The state that a stage of this call site made.
pub(crate) fn get<T: Send + Sync + 'static>(host: &Host, stage: abi::Stage) -> Result<*const T> {
    check_stage(host, stage)?;
    let mut type_id = type_id::<T>(host)?;
    let function = function!(host, state_get)?;
    let (error, state) = if host.at_least(3) {
        let mut args = abi::StateGetArgs {
            struct_size: abi::StateGetArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: host.ctx,
            stage,
            type_id: &mut type_id,
            state: null_mut(),
        };
        // SAFETY: a function of the host, with the arguments it takes.
        (unsafe { function(&mut args) }, args.state)
    } else {
        let mut args = abi::StateGetArgsV2 {
            struct_size: abi::StateGetArgsV2::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: host.ctx,
            type_id: &mut type_id,
            state: null_mut(),
        };
        // SAFETY: a function of the host, which up to 0.2 takes the older arguments.
        (unsafe { function((&raw mut args).cast()) }, args.state)
    };
    host.check(error)?;
    if state.is_null() {
        let message = format!("the call site has no state of the stage {}", stage.name());
        return Err(Error::failed_precondition(message));
    }
    let state: *const T = state.cast_const().cast();
    if !state.is_aligned() {
        return Err(Error::internal(format!(
            "the pointer to the state of the stage {} is misaligned",
            stage.name()
        )));
    }
    Ok(state)
}

/// A type's number in one host.
struct Number {
    api: *const abi::Api,
    rust: TypeId,
    number: abi::TypeId,
    /// What the host was told, and may keep pointers to.
    _description: (&'static str, &'static abi::TypeInfo),
    next: *const Number,
}

static NUMBERS: AtomicPtr<Number> = AtomicPtr::new(null_mut());
static REGISTERING: Mutex<()> = Mutex::new(());

/// The host's number of a type, which is registered if it has none.
pub(crate) fn type_id<T: Send + Sync + 'static>(host: &Host) -> Result<abi::TypeId> {
    if let Some(number) = find(host, TypeId::of::<T>()) {
        return Ok(number);
    }
    let _guard = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(number) = find(host, TypeId::of::<T>()) {
        return Ok(number);
    }
    let name = format!("farcall:{}:{:p}", std::any::type_name::<T>(), &raw const NUMBERS);
    register::<T>(host, name)
}

/// The host's number of a type that has this name in every library, which is registered if it has none.
pub(crate) fn named_type_id<T: Send + Sync + 'static>(host: &Host, name: &str) -> Result<abi::TypeId> {
    if let Some(number) = find(host, TypeId::of::<T>()) {
        return Ok(number);
    }
    let _guard = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(number) = find(host, TypeId::of::<T>()) {
        return Ok(number);
    }
    register::<T>(host, name.to_owned())
}

/// Registers a type, with the lock held.
fn register<T: Send + Sync + 'static>(host: &Host, name: String) -> Result<abi::TypeId> {
    let info = abi::TypeInfo {
        struct_size: abi::TypeInfo::STRUCT_SIZE,
        extension_start: null_mut(),
        deleter: Some(delete::<T>),
    };
    let mut number = abi::TypeId::UNKNOWN;
    let description: (&'static str, &'static abi::TypeInfo) = (name.leak(), Box::leak(Box::new(info)));
    let mut args = abi::TypeRegisterArgs {
        struct_size: size_of::<abi::TypeRegisterArgs>(),
        extension_start: null_mut(),
        name: abi::ByteSpan::new(description.0.as_bytes()),
        type_id: &mut number,
        type_info: description.1,
    };
    let function = function!(host, type_register)?;
    // SAFETY: a function of the host, with the arguments it takes.
    let error = unsafe { function(&mut args) };
    host.check(error)?;
    #[cfg(target_os = "linux")]
    crate::registration::stay_loaded();
    let next = NUMBERS.load(Ordering::Acquire);
    let node = Number { api: host.api, rust: TypeId::of::<T>(), number, _description: description, next };
    NUMBERS.store(Box::leak(Box::new(node)), Ordering::Release);
    Ok(number)
}

fn find(host: &Host, rust: TypeId) -> Option<abi::TypeId> {
    let mut node = NUMBERS.load(Ordering::Acquire).cast_const();
    // SAFETY: nodes are leaked, and not written after they were published.
    while let Some(number) = unsafe { node.as_ref() } {
        if number.api == host.api && number.rust == rust {
            return Some(number.number);
        }
        node = number.next;
    }
    None
}

/// Destroys a state; a panic in its destructor goes no further.
unsafe extern "C" fn delete<T>(state: *mut c_void) {
    // SAFETY: the host gives back what `set` made, once.
    discard(unsafe { Box::from_raw(state.cast::<T>()) });
}
