//! Capsules, in which Python passes handlers.
//!
//! A capsule holds the address of a function. The capsules of `jax.ffi.pycapsule` and of jaxlib's handlers
//! have no name, and libraries use the name `xla._CUSTOM_CALL_TARGET` for functions of both interfaces. Only
//! a capsule with a name of the typed interface, such as `XLA_FFI_Handler`, shows its function's interface.
//! In addition, the interface is known for handlers of this module, for handlers that were registered before,
//! and for handlers that their library describes. A function known to be typed is not registered for the
//! untyped interface.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_void};
use std::os::raw::c_char;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use farcall::registry::{self, Handler};
use farcall_ffi::abi::{self, HandlerBundle, Stage};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

/// Known addresses of handlers of the typed interface, which are not registered for the untyped interface.
static TYPED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn typed_addresses() -> MutexGuard<'static, BTreeSet<usize>> {
    TYPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a capsule with this address. Like the capsules of `jax.ffi.pycapsule`, it has no name.
///
/// # Errors
/// If the address is 0.
#[pyfunction]
pub(crate) fn capsule(py: Python<'_>, address: usize) -> PyResult<Bound<'_, PyCapsule>> {
    if address == 0 {
        return Err(PyValueError::new_err("a capsule needs an address other than null"));
    }
    // SAFETY: this thread holds the interpreter's lock. The capsule only stores the address.
    let capsule = unsafe {
        let address = std::ptr::with_exposed_provenance_mut(address);
        Bound::from_owned_ptr_or_err(py, pyo3::ffi::PyCapsule_New(address, std::ptr::null(), None))?
    };
    Ok(capsule.cast_into()?)
}

/// Creates a capsule for a handler of the typed interface, and records the handler as typed.
#[pyfunction]
pub(crate) fn handler_capsule(py: Python<'_>, address: usize) -> PyResult<Bound<'_, PyCapsule>> {
    let capsule = capsule(py, address)?;
    typed_addresses().insert(address);
    Ok(capsule)
}

/// Returns a target's functions: a dictionary of capsules by stage if typed, else a capsule. The functions
/// stay loaded until the process ends.
pub(crate) fn capsules<'py>(py: Python<'py>, handler: &Handler) -> PyResult<Bound<'py, PyAny>> {
    let bundle = match handler {
        Handler::Typed(bundle) => bundle,
        Handler::Untyped(function) => return Ok(capsule(py, *function as usize)?.into_any()),
        other => return Err(PyTypeError::new_err(format!("a {} target has no capsules", other.kind()))),
    };
    let stages = [
        (Stage::INSTANTIATE, bundle.instantiate),
        (Stage::PREPARE, bundle.prepare),
        (Stage::INITIALIZE, bundle.initialize),
        (Stage::EXECUTE, bundle.execute),
    ];
    let by_stage = PyDict::new(py);
    for (stage, handler) in stages {
        if let Some(handler) = handler {
            by_stage.set_item(stage.name(), handler_capsule(py, handler as usize)?)?;
        }
    }
    Ok(by_stage.into_any())
}

/// Records a target's functions as typed, because they have answered a metadata query.
pub(crate) fn note_typed(target: &registry::Target) {
    if let Handler::Typed(bundle) = target.handler() {
        let stages = [bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute];
        typed_addresses().extend(stages.into_iter().flatten().map(|handler| handler as usize));
    }
}

/// Returns the functions in a capsule (the execute stage) or in a dictionary of capsules by stage.
pub(crate) fn bundle(name: &str, fn_: &Bound<'_, PyAny>) -> PyResult<HandlerBundle> {
    let mut bundle =
        HandlerBundle { instantiate: None, prepare: None, initialize: None, execute: None, record: None };
    let typed = |capsule: &Bound<'_, PyAny>, stage: &str| -> PyResult<Option<abi::HandlerFn>> {
        if capsule.is_none() {
            return Ok(None);
        }
        let address = handler(capsule, &format!("{name}: {stage}"))?;
        // SAFETY: a data pointer and a function pointer have the same representation.
        Ok(Some(unsafe { std::mem::transmute::<NonNull<c_void>, abi::HandlerFn>(address) }))
    };
    let Ok(stages) = fn_.cast::<PyDict>() else {
        bundle.execute = typed(fn_, Stage::EXECUTE.name())?;
        return Ok(bundle);
    };
    for (stage, capsule) in stages {
        let stage: String = stage.extract()?;
        let place = match stage.as_str() {
            "instantiate" => &mut bundle.instantiate,
            "prepare" => &mut bundle.prepare,
            "initialize" => &mut bundle.initialize,
            "execute" => &mut bundle.execute,
            "record" => &mut bundle.record,
            other => {
                let message = format!(
                    "`{name}`: there is no stage `{other}`, only instantiate, prepare, initialize, execute \
                     and record"
                );
                return Err(PyValueError::new_err(message));
            }
        };
        *place = typed(&capsule, &stage)?;
    }
    Ok(bundle)
}

/// Returns the address of a function of the untyped interface, unless the function is known to be typed.
pub(crate) fn untyped(fn_: &Bound<'_, PyAny>, name: &str) -> PyResult<NonNull<c_void>> {
    if fn_.is_instance_of::<PyDict>() {
        let message = format!(
            "`{name}`: functions by stage are registered with api_version=1; api_version=0 is one function"
        );
        return Err(PyTypeError::new_err(message));
    }
    let refuse = |why: &str| {
        Err(PyValueError::new_err(format!(
            "`{name}` is registered for the untyped API (api_version=0), but {why} a handler of the typed one; register it \
             with api_version=1"
        )))
    };
    if let Ok(capsule) = fn_.cast::<PyCapsule>()
        && let Some(called) = capsule_name(capsule)?
        && called.to_bytes().to_ascii_lowercase().windows(3).any(|part| part == b"ffi")
    {
        return refuse(&format!("its capsule, called {called:?}, holds"));
    }
    let address = handler(fn_, name)?;
    if typed_addresses().contains(&address.as_ptr().addr()) {
        return refuse("the function is");
    }
    Ok(address)
}

/// Returns the address of a handler. The owner of its code is kept until the process ends, because
/// executables may use the handler.
fn handler(capsule: &Bound<'_, PyAny>, what: &str) -> PyResult<NonNull<c_void>> {
    let address = pointer(capsule, &|| format!("`{what}`"))?;
    std::mem::forget(capsule.clone().unbind());
    Ok(address)
}

/// Returns the address in a capsule of any name.
pub(crate) fn pointer(capsule: &Bound<'_, PyAny>, what: &dyn Fn() -> String) -> PyResult<NonNull<c_void>> {
    let Ok(capsule) = capsule.cast::<PyCapsule>() else {
        let message = format!(
            "{} needs a PyCapsule (jax.ffi.pycapsule makes one of a ctypes function), not {}",
            what(),
            capsule.get_type()
        );
        return Err(PyTypeError::new_err(message));
    };
    capsule.pointer_checked(capsule_name(capsule)?)
}

/// Returns the name of a capsule. The name must be used immediately.
fn capsule_name<'a>(capsule: &'a Bound<'_, PyCapsule>) -> PyResult<Option<&'a CStr>> {
    let name = capsule.name()?;
    // SAFETY: the name is valid while the capsule has it, and no other thread can change the name while this
    // thread holds the interpreter's lock.
    Ok(name.map(|name| unsafe { CStr::from_ptr(name.as_ptr().cast::<c_char>()) }))
}
