//! State of a call site: created before the program runs, available in every call, owned by the host.
//!
//! A host identifies a type by a number, which it assigns when the type is registered. A type is registered
//! when its number is first needed. Before a target can be used, the host asks its instantiate function for
//! the number. The number is cached per host and type, since one library may serve several hosts in a
//! process.
//!
//! **Invariants.** The list of numbers only grows, so reading it takes no lock. The name under which a type
//! is registered is unique in the process: it contains an address of this copy of the crate.

use std::any::TypeId;
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::abi;
use crate::error::{Error, Result};
use crate::host::{Host, function};
use crate::unwind::discard;

/// State of this call site, as a parameter `&State<T>`: the value that the handler's `instantiate` function
/// returned. Dereferences to the `T`.
///
/// Calls may run at the same time, so a state that changes needs an atomic or a lock.
#[repr(transparent)]
#[derive(Debug)]
pub struct State<T>(T);

impl<T> State<T> {
    /// # Safety
    /// `state` points to a `T` that stays valid and is only shared during `'a`.
    pub(crate) unsafe fn from_raw<'a>(state: *const T) -> &'a State<T> {
        // SAFETY: the caller guarantees that the pointer is valid (`# Safety` above); `State` is
        // `repr(transparent)`.
        unsafe { &*state.cast() }
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// State of this run, as a parameter `&Prepared<T>`: the value that the handler's `prepare` function
/// returned. Dereferences to the `T`. Needs a host of version 0.3 or later.
#[repr(transparent)]
#[derive(Debug)]
pub struct Prepared<T>(T);

/// State of this run, as a parameter `&Initialized<T>`: the value that the handler's `initialize` function
/// returned. Dereferences to the `T`. Needs a host of version 0.3 or later.
#[repr(transparent)]
#[derive(Debug)]
pub struct Initialized<T>(T);

macro_rules! run_states {
    ($($name:ident)*) => {$(
        impl<T> $name<T> {
            /// # Safety
            /// Same requirements as [`State::from_raw`].
            pub(crate) unsafe fn from_raw<'a>(state: *const T) -> &'a $name<T> {
                // SAFETY: the caller guarantees that the pointer is valid (`# Safety` above); the type is
                // `repr(transparent)`.
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

/// Checks that the host supports states of a stage. Hosts up to 0.2 only support states of the instantiate
/// stage.
fn check_stage(host: &Host, stage: abi::Stage) -> Result<()> {
    if stage == abi::Stage::INSTANTIATE || host.at_least(3) {
        return Ok(());
    }
    let (stage, (major, minor)) = (stage.name(), host.version);
    let message =
        format!("state of the stage {stage} needs a host of 0.3 or later, this one speaks {major}.{minor}");
    Err(Error::unimplemented(message))
}

/// Gives the host the state that a stage of a call site has returned.
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
        // SAFETY: a function of the host, with the arguments it expects.
        unsafe { function(&mut args) }
    } else {
        let mut args = abi::StateSetArgsV2 {
            struct_size: abi::StateSetArgsV2::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: host.ctx,
            type_id: &mut type_id,
            state: state.cast(),
        };
        // SAFETY: a function of the host, which expects the older arguments up to 0.2.
        unsafe { function((&raw mut args).cast()) }
    };
    host.check(error).inspect_err(|_| {
        // SAFETY: the host refused the state, so this function still owns it.
        drop(unsafe { Box::from_raw(state) });
    })
}

/// Returns the state that a stage of this call site made.
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
        // SAFETY: a function of the host, with the arguments it expects.
        (unsafe { function(&mut args) }, args.state)
    } else {
        let mut args = abi::StateGetArgsV2 {
            struct_size: abi::StateGetArgsV2::STRUCT_SIZE,
            extension_start: null_mut(),
            ctx: host.ctx,
            type_id: &mut type_id,
            state: null_mut(),
        };
        // SAFETY: a function of the host, which expects the older arguments up to 0.2.
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

/// Number of a type in one host; a node of a linked list.
struct TypeNumber {
    api: *const abi::Api,
    rust: TypeId,
    number: abi::TypeId,
    /// Name and description that the host was given and may keep pointers to.
    _description: (&'static str, &'static abi::TypeInfo),
    next: *const TypeNumber,
}

static TYPE_NUMBERS: AtomicPtr<TypeNumber> = AtomicPtr::new(null_mut());
static REGISTERING: Mutex<()> = Mutex::new(());

/// Returns the host's number of a type, and registers the type if it has none.
pub(crate) fn type_id<T: Send + Sync + 'static>(host: &Host) -> Result<abi::TypeId> {
    if let Some(number) = find(host, TypeId::of::<T>()) {
        return Ok(number);
    }
    let _guard = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(number) = find(host, TypeId::of::<T>()) {
        return Ok(number);
    }
    let name = format!("farcall:{}:{:p}", std::any::type_name::<T>(), &raw const TYPE_NUMBERS);
    register::<T>(host, name)
}

/// Returns the host's number of a type with the same name in every library, and registers the type if it has
/// none.
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

/// Registers a type. The caller holds the lock `REGISTERING`.
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
    // SAFETY: a function of the host, with the arguments it expects.
    let error = unsafe { function(&mut args) };
    host.check(error)?;
    #[cfg(target_os = "linux")]
    crate::object::stay_loaded();
    let next = TYPE_NUMBERS.load(Ordering::Acquire);
    let node = TypeNumber { api: host.api, rust: TypeId::of::<T>(), number, _description: description, next };
    TYPE_NUMBERS.store(Box::leak(Box::new(node)), Ordering::Release);
    Ok(number)
}

fn find(host: &Host, rust: TypeId) -> Option<abi::TypeId> {
    let mut node = TYPE_NUMBERS.load(Ordering::Acquire).cast_const();
    // SAFETY: nodes are leaked, and not written to after they were published.
    while let Some(number) = unsafe { node.as_ref() } {
        if number.api == host.api && number.rust == rust {
            return Some(number.number);
        }
        node = number.next;
    }
    None
}

/// Destroys a state. A panic in its destructor does not leave this function.
unsafe extern "C" fn delete<T>(state: *mut c_void) {
    // SAFETY: the host passes a pointer that `set` made, once.
    discard(unsafe { Box::from_raw(state.cast::<T>()) });
}
