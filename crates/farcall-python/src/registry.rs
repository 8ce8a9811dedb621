//! Registries, and targets that are passed as capsules.
//!
//! A capsule holds the address of a function. The capsules of `jax.ffi.pycapsule` and of jaxlib's handlers
//! have no name, and libraries use the name `xla._CUSTOM_CALL_TARGET` for functions of both interfaces. Only
//! a name of the typed interface, such as `XLA_FFI_Handler`, tells the interface of a function. In addition,
//! the interface is known for handlers of this module, for handlers that were registered before, and for
//! handlers that their library describes. A function known to be typed is not registered for the untyped
//! interface.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_void};
use std::os::raw::c_char;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farcall::registry::{
    self, ApiKind, Handler, LoadError, LoadOptions, LoadReport, Origin, Platform, Rank, TargetSpec,
};
use farcall_ffi::abi::{self, HandlerBundle, Stage, TypeId, TypeInfo};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

use crate::error::{self, guarded};
use crate::lowering::PythonLowering;
use crate::op::Op;

/// A set of targets that custom calls can name.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Registry {
    pub(crate) inner: farcall::Registry,
}

#[pymethods]
impl Registry {
    #[new]
    fn new() -> Registry {
        Registry { inner: farcall::Registry::new() }
    }

    /// Returns the registry of the process.
    #[staticmethod]
    fn process() -> Registry {
        Registry { inner: farcall::Registry::global().clone() }
    }

    /// Registers a target.
    #[pyo3(signature = (name, fn_, /, *, platform, api_version, traits, replace))]
    fn register(
        &self,
        name: &str,
        fn_: &Bound<'_, PyAny>,
        platform: &str,
        api_version: i64,
        traits: u32,
        replace: bool,
    ) -> PyResult<Target> {
        let platform = Platform::from(platform);
        let origin = Origin::program();
        let target = match api_version {
            // SAFETY: the caller of `register` vouches for the handlers in the capsules; `handler` keeps the
            // owner of their code until the process ends.
            1 => unsafe { registry::Target::claimed(name, platform, bundle(name, fn_)?, traits, origin) }
                .inspect(note_typed),
            0 => {
                let address = untyped(fn_, name)?;
                // SAFETY: a data pointer and a function pointer have the same representation.
                let function =
                    unsafe { std::mem::transmute::<NonNull<c_void>, registry::UntypedHandler>(address) };
                // SAFETY: the caller of `register` vouches for the function; `untyped` keeps the owner of its
                // code until the process ends.
                unsafe { registry::Target::untyped(name, platform, function, origin) }
            }
            other => {
                let message = format!("`{name}`: api_version is 1 (typed) or 0 (untyped), not {other}");
                return Err(PyValueError::new_err(message));
            }
        };
        let target = target.map_err(|e| error::exception(e.code(), e.to_string()))?;
        if replace {
            let target = Arc::new(target);
            self.inner.replace(registry::Target::clone(&target));
            return Ok(Target { inner: target });
        }
        guarded(|| {
            let inner = self.inner.register(target).map_err(|e| error::exception(e.code(), e.to_string()))?;
            Ok(Target { inner })
        })
    }

    /// Loads a library. Returns its targets, and notes for the user.
    #[pyo3(signature = (path, *, targets, namespace, replace))]
    fn load(
        &self,
        py: Python<'_>,
        path: PathBuf,
        targets: Vec<String>,
        namespace: Option<String>,
        replace: bool,
    ) -> PyResult<(Vec<Target>, Vec<String>)> {
        let specs = targets.iter().map(|t| t.parse::<TargetSpec>());
        let targets =
            specs.collect::<Result<Vec<_>, _>>().map_err(|e| error::exception(e.code(), e.to_string()))?;
        let options = LoadOptions { targets, namespace, replace };
        guarded(|| {
            let report = py
                .detach(|| load(&self.inner, &path, &options))
                .map_err(|e| error::exception(e.code(), e.describe(error::advice)))?;
            let targets = report.targets.into_iter().map(|inner| Target { inner }).collect();
            Ok((targets, report.warnings))
        })
    }

    /// Adds an application's lowering for the blocks of a tag. `function` and `explain` are defined in
    /// `_blocks.py`.
    #[pyo3(signature = (tag, function, explain, /, *, replace))]
    fn lower(
        &self,
        py: Python<'_>,
        tag: &str,
        function: Py<PyAny>,
        explain: Py<PyAny>,
        replace: bool,
    ) -> PyResult<()> {
        let lowering = PythonLowering { function, explain };
        let added = py.detach(|| {
            if replace {
                self.inner.replace_lowering(tag, Rank::Application, lowering);
                return Ok(());
            }
            self.inner.register_lowering(tag, Rank::Application, lowering)
        });
        added.map_err(|e| error::exception(e.code(), e.to_string()))
    }

    /// Returns a registry with the same targets and additional typed handlers for the CPU, given by name and
    /// address. The handlers must stay valid until everything that was compiled with the registry is gone.
    fn with_handlers(&self, handlers: Vec<(String, usize)>) -> PyResult<Registry> {
        let inner = self.inner.fork();
        for (name, address) in handlers {
            let address = std::ptr::with_exposed_provenance::<c_void>(address);
            // SAFETY: a null pointer is `None`; a data pointer and a function pointer have the same
            // representation.
            let execute = unsafe { std::mem::transmute::<*const c_void, Option<abi::Handler>>(address) };
            let bundle =
                HandlerBundle { instantiate: None, prepare: None, initialize: None, execute, record: None };
            // SAFETY: the caller of `with_handlers` vouches for the handlers at these addresses, and keeps
            // them valid.
            let target =
                unsafe { registry::Target::typed(&name, Platform::Host, bundle, 0, Origin::program()) };
            inner.replace(target.map_err(|e| error::exception(e.code(), e.to_string()))?);
        }
        Ok(Registry { inner })
    }

    /// Returns a number that identifies the target of this name on the CPU as long as a program with the
    /// target exists; 0 if the target does not exist.
    fn identity(&self, name: &str) -> usize {
        self.inner.lookup(name, &Platform::Host).map_or(0, |target| Arc::as_ptr(&target).addr())
    }

    /// Returns the functions of the platform's targets by name, in the form expected by
    /// `jax.ffi.register_ffi_target`.
    fn capsules<'py>(&self, py: Python<'py>, platform: &str) -> PyResult<Bound<'py, PyDict>> {
        let platform = Platform::from(platform);
        let by_name = PyDict::new(py);
        for target in self.inner.targets() {
            if *target.platform() == platform {
                by_name.set_item(target.name(), capsules(py, target.handler())?)?;
            }
        }
        Ok(by_name)
    }

    /// Returns all targets, sorted by name.
    fn targets(&self) -> Vec<Target> {
        self.inner.targets().into_iter().map(|inner| Target { inner }).collect()
    }
}

/// A target of a registry.
#[pyclass(frozen, module = "farcall")]
pub(crate) struct Target {
    inner: Arc<registry::Target>,
}

#[pymethods]
impl Target {
    /// Name that programs call.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// Platform, by its canonical name: `Host`, `CUDA`.
    #[getter]
    fn platform(&self) -> &str {
        self.inner.platform().name()
    }

    /// True for XLA's FFI, false for the older C interface.
    #[getter]
    fn typed(&self) -> bool {
        self.inner.kind() == ApiKind::Typed
    }

    /// Version of XLA's FFI that the target was built for, as (major, minor); `None` if untyped.
    #[getter]
    fn api_version(&self) -> Option<(i32, i32)> {
        self.inner.api_version()
    }

    /// Names of the stages for which the target has a handler.
    #[getter]
    fn stages(&self) -> Vec<&'static str> {
        self.inner.stages().iter().map(|s| s.name()).collect()
    }

    /// Names of the target's traits.
    #[getter]
    fn traits(&self) -> Vec<&'static str> {
        self.inner.trait_names()
    }

    /// Description of the target's origin.
    #[getter]
    fn origin(&self) -> String {
        self.inner.origin().to_string()
    }

    /// Description; may be empty.
    #[getter]
    fn docs(&self) -> &str {
        self.inner.docs()
    }

    /// Returns the op that the author declared; `None` if the target has no signature.
    fn op(&self) -> Option<Op> {
        Op::of(&self.inner)
    }

    fn __repr__(&self) -> String {
        let t = &self.inner;
        format!("<farcall.Target {} ({}, {}) from {}>", t.name(), t.platform(), t.kind(), t.origin())
    }
}

/// Registers a type of handler state.
#[pyfunction]
#[pyo3(signature = (name, type_id, type_info, /))]
pub(crate) fn register_type(
    name: &str,
    type_id: &Bound<'_, PyAny>,
    type_info: Option<&Bound<'_, PyAny>>,
) -> PyResult<i64> {
    let what = || format!("type `{name}`");
    let id = pointer(type_id, &what)?.cast::<TypeId>();
    let info = type_info.map(|info| pointer(info, &what)).transpose()?.map(NonNull::cast::<TypeInfo>);
    // SAFETY: the caller of `register_type` vouches for the objects that the capsules point to. The deleter
    // is read only if the struct is large enough to contain it.
    let deleter = unsafe {
        info.filter(|info| (*info.as_ptr()).struct_size >= TypeInfo::STRUCT_SIZE)
            .and_then(|info| (*info.as_ptr()).deleter)
    };
    // SAFETY: the caller of `register_type` vouches for the pointer, and no other thread writes the id while
    // this thread holds the interpreter's lock.
    unsafe {
        let known = registry::register_type(name, id.read(), deleter)
            .map_err(|e| error::exception(e.code(), e.to_string()))?;
        id.write(known);
        Ok(known.type_id)
    }
}

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
fn note_typed(target: &registry::Target) {
    if let Handler::Typed(bundle) = target.handler() {
        let stages = [bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute];
        typed_addresses().extend(stages.into_iter().flatten().map(|handler| handler as usize));
    }
}

/// Returns the functions in a capsule (the execute stage) or in a dictionary of capsules by stage.
fn bundle(name: &str, fn_: &Bound<'_, PyAny>) -> PyResult<HandlerBundle> {
    let mut bundle =
        HandlerBundle { instantiate: None, prepare: None, initialize: None, execute: None, record: None };
    let typed = |capsule: &Bound<'_, PyAny>, stage: &str| -> PyResult<Option<abi::Handler>> {
        if capsule.is_none() {
            return Ok(None);
        }
        let address = handler(capsule, &format!("{name}: {stage}"))?;
        // SAFETY: a data pointer and a function pointer have the same representation.
        Ok(Some(unsafe { std::mem::transmute::<NonNull<c_void>, abi::Handler>(address) }))
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
fn untyped(fn_: &Bound<'_, PyAny>, name: &str) -> PyResult<NonNull<c_void>> {
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
fn pointer(capsule: &Bound<'_, PyAny>, what: &dyn Fn() -> String) -> PyResult<NonNull<c_void>> {
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

/// Loads a library. A library that registers itself does so through symbols of this module.
///
/// Python opens extension modules with local visibility, so that other libraries do not see the symbols that
/// they export. The first library that needs the symbols causes this module to become visible to all
/// libraries that are opened later.
fn load(
    registry: &farcall::Registry,
    path: &std::path::Path,
    options: &LoadOptions,
) -> Result<LoadReport, LoadError> {
    // SAFETY: the caller of `farcall.load` vouches for the library and for the symbols that the call names.
    let load = || unsafe { registry.load_with(path, options) };
    match load() {
        Err(e) if misses_host_symbol(&e) && export_own_symbols() => load(),
        result => result,
    }
}

/// Returns true if a library could not be opened because it does not see this module's symbols. None of its
/// code has run.
fn misses_host_symbol(error: &LoadError) -> bool {
    matches!(error, LoadError::HostSymbols { .. })
}

/// Makes the symbols of this module visible to libraries that are opened later.
fn export_own_symbols() -> bool {
    // SAFETY: all fields are pointers, for which zero is valid.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let own = export_own_symbols as *const () as *const c_void;
    // SAFETY: `dladdr` accepts any address. The name that it returns is valid as long as this module is
    // loaded. With `RTLD_NOLOAD`, `dlopen` finds this module already open and only widens its scope.
    unsafe {
        libc::dladdr(own, &raw mut info) != 0
            && !info.dli_fname.is_null()
            && !libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_GLOBAL).is_null()
    }
}
