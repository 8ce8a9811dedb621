//! Registries and targets.

use farcall::CodedError;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;

use farcall::registry::{
    self, ApiKind, LoadError, LoadOptions, LoadReport, Platform, Rank, TargetOrigin, TargetSpec,
};
use farcall_ffi::abi::{self, HandlerBundle, Stage, TypeId, TypeInfo};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::capsule::{bundle, capsules, note_typed, pointer, untyped};
use crate::error::{self, guarded};
use crate::lowering::PythonLowering;
use crate::op::Op;

/// Stages of a handler that XLA calls when it registers the handler, to learn its version and state type.
const CALLED_BY_XLA: &[Stage] = &[Stage::EXECUTE, Stage::INSTANTIATE];

/// A set of targets that custom calls can name.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Registry {
    pub(crate) inner: farcall::Registry,
}

#[pymethods]
impl Registry {
    #[new]
    #[pyo3(signature = (*, built_ins))]
    fn new(built_ins: bool) -> Registry {
        let new = if built_ins { farcall::Registry::new } else { farcall::Registry::without_built_ins };
        Registry { inner: new() }
    }

    /// Returns the registry of the process.
    #[staticmethod]
    fn process() -> Registry {
        Registry { inner: farcall::Registry::global().clone() }
    }

    /// Registers a target. `called_by_xla` states that XLA has registered the same functions for its CPU
    /// backend; the untyped API ignores it.
    #[pyo3(signature = (name, fn_, /, *, platform, api_version, traits, replace, called_by_xla=false))]
    #[expect(clippy::too_many_arguments, reason = "the arguments have names in Python")]
    fn register(
        &self,
        name: &str,
        fn_: &Bound<'_, PyAny>,
        platform: &str,
        api_version: i64,
        traits: u32,
        replace: bool,
        called_by_xla: bool,
    ) -> PyResult<Target> {
        let platform = Platform::from(platform);
        let origin = TargetOrigin::program();
        let target = match api_version {
            1 => {
                let bundle = bundle(name, fn_)?;
                let trusted = if called_by_xla { CALLED_BY_XLA } else { &[] };
                // SAFETY: the caller of `register` vouches for the handlers in the capsules; `handler` keeps
                // the owner of their code until the process ends. With `called_by_xla`, the caller also
                // vouches that XLA has called the functions of the trusted stages as handlers.
                let target =
                    unsafe { registry::Target::claimed(name, platform, bundle, traits, origin, trusted) };
                target.inspect(note_typed)
            }
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
            let execute = unsafe { std::mem::transmute::<*const c_void, Option<abi::HandlerFn>>(address) };
            let bundle =
                HandlerBundle { instantiate: None, prepare: None, initialize: None, execute, record: None };
            // SAFETY: the caller of `with_handlers` vouches for the handlers at these addresses, and keeps
            // them valid.
            let target =
                unsafe { registry::Target::typed(&name, Platform::Host, bundle, 0, TargetOrigin::program()) };
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

    /// Returns all registered targets, sorted by name.
    fn targets(&self) -> Vec<Target> {
        self.inner.targets().into_iter().map(|inner| Target { inner }).collect()
    }

    /// Returns the built-in targets whose names no registered target has, sorted by name.
    fn built_ins(&self) -> Vec<Target> {
        self.inner.built_ins().into_iter().map(|inner| Target { inner }).collect()
    }

    /// Returns true if a built-in target has this name.
    fn is_built_in(&self, name: &str) -> bool {
        self.inner.is_built_in(name)
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

/// Returns one of farcall's own ops, if there is one of this name.
#[pyfunction]
#[pyo3(signature = (name, /))]
pub(crate) fn built_in_op(name: &str) -> Option<Op> {
    farcall::Registry::new().get(name, &Platform::Host, ApiKind::Typed).and_then(|target| Op::of(&target))
}

/// Opens a LAPACK library. Returns its path, or its name if the system's dynamic linker found it.
#[pyfunction]
#[pyo3(signature = (path, /))]
pub(crate) fn open_lapack(path: Option<PathBuf>) -> PyResult<PathBuf> {
    // SAFETY: the caller of `farcall.use_lapack` trusts the library, as its documentation requires.
    let opened = unsafe { farcall::lapack::open(path.as_deref()) };
    opened.map(Path::to_owned).map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Waits until the runs of JAX's backend `farcall` are complete, but not longer than a number of seconds. Returns
/// true if they are complete.
#[pyfunction]
pub(crate) fn wait_for_runs(py: Python<'_>, seconds: f64) -> bool {
    py.detach(|| {
        farcall_pjrt::wait_for_runs(std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default())
    })
}

/// Targets of a single program of JAX's backend `farcall`.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Scope {
    inner: farcall_pjrt::ProgramScope,
}

#[pymethods]
impl Scope {
    /// Name of the module attribute that holds the number of a program's scope.
    #[classattr]
    const ATTRIBUTE: &'static str = farcall_pjrt::SCOPE_ATTRIBUTE;

    /// Creates a scope with the targets of a registry. Programs that are compiled in it keep `owner`.
    #[new]
    fn new(registry: &Bound<'_, Registry>, owner: Py<PyAny>) -> Scope {
        Scope { inner: farcall_pjrt::ProgramScope::new(registry.get().inner.clone(), Arc::new(owner)) }
    }

    /// The number of the scope.
    #[getter]
    fn number(&self) -> i64 {
        self.inner.number()
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
