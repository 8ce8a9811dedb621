//! Handlers written in Python.
//!
//! ```text
//! host ──▶ C function (of ctypes, takes the interpreter's lock) ──▶ Handler::enter ──▶ the author's function
//! ```
//!
//! ctypes creates a C function from [`Handler::enter`], so that each handler has a separate address, as every
//! host of XLA's FFI requires. The author's function gets NumPy arrays over the memory of the call: operands
//! are read-only, results are writable.
//!
//! **Invariants.** No array refers to freed memory. A function that keeps an array, or a view of an array,
//! makes the call fail. In this engine, arrays are never copies: after such a failure, the call's memory
//! stays alive as long as the array ([`Keeper`]). Another host reuses its memory despite such references, so
//! the arrays of its calls are copies. The exception of a function is stored until the run that called the
//! function collects it, on the same thread ([`raised`]).

use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::OnceLock;

use farcall::custom_call::{Keeper, host_api};
use farcall_ffi::dynamic::{self, Tensor};
use farcall_ffi::{Error, Result};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::arrays;
use crate::attributes::to_python;

thread_local! {
    /// Exception raised by the handler that was called last on this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// Exception that functions of the untyped API have raised in the current run of this thread; `None`
    /// outside of a run.
    static UNTYPED_ERROR: RefCell<Option<UntypedError>> = const { RefCell::new(None) };
}

/// Exception of a function of the untyped API, which cannot report errors to its host, with the function's
/// name.
type UntypedError = Option<(String, PyErr)>;

/// Collects the exceptions of Python functions during a run on this thread. The exceptions of a nested run
/// are collected separately.
pub(crate) struct UntypedErrorScope {
    outer: Option<UntypedError>,
}

impl UntypedErrorScope {
    pub(crate) fn new() -> UntypedErrorScope {
        RAISED.set(None); // discards an exception that a call of another host left
        UntypedErrorScope { outer: UNTYPED_ERROR.replace(Some(None)) }
    }

    /// Ends the run and returns an exception that functions of the untyped API raised in it: the first one
    /// that is not an `Exception`, or else the first one.
    pub(crate) fn finish(self) -> UntypedError {
        UNTYPED_ERROR.take().flatten()
    }
}

impl Drop for UntypedErrorScope {
    fn drop(&mut self) {
        UNTYPED_ERROR.set(self.outer.take());
    }
}

/// Fails the run that calls a function of the untyped API on this thread, with this exception. The run
/// continues to its end. Outside of a run, when another host has called the function, the exception is
/// printed.
#[pyfunction]
pub(crate) fn fail_run(py: Python<'_>, name: String, exception: Bound<'_, PyAny>) {
    let error = PyErr::from_value(exception);
    let is_exception = |error: &PyErr| error.is_instance_of::<PyException>(py);
    let outside = UNTYPED_ERROR.with_borrow_mut(|run| {
        let Some(untold) = run else { return Some((name, error)) };
        if untold.as_ref().is_none_or(|(_, first)| is_exception(first) && !is_exception(&error)) {
            *untold = Some((name, error));
        }
        None
    });
    if let Some((name, error)) = outside {
        error.write_unraisable(py, Some(PyString::new(py, &format!("custom call `{name}`")).as_any()));
    }
}

/// Returns the exception of the Python handler that was called last on this thread, if it failed.
pub(crate) fn raised() -> Option<PyErr> {
    RAISED.take()
}

/// Discards the exceptions of handlers that a Python function has called through another host. The function
/// has returned; if it has failed, it raised a separate exception. The stored exception would also keep the
/// function's arrays alive.
#[pyfunction]
pub(crate) fn forget_raised() {
    RAISED.set(None);
}

/// Enables reports about crashes of handlers.
#[pyfunction]
pub(crate) fn report_crashes() {
    farcall::custom_call::report_crashes();
}

/// A Python function that hosts can call as a handler.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Handler {
    name: String,
    function: Py<PyAny>,
    /// True if the function takes operands, results and attributes as two tuples and a dictionary, with
    /// `None` for a token. Otherwise it takes each tensor and attribute as a separate argument, without
    /// tokens.
    grouped: bool,
}

#[pymethods]
impl Handler {
    #[new]
    #[pyo3(signature = (name, function, *, grouped))]
    fn new(name: String, function: Py<PyAny>, grouped: bool) -> Handler {
        Handler { name, function, grouped }
    }

    /// Calls the function with the contents of the call frame at this address. Returns the address of an
    /// error, or 0. Only the C function created by ctypes calls this method.
    fn enter(&self, py: Python<'_>, frame: Option<usize>) -> usize {
        RAISED.set(None);
        let frame = std::ptr::with_exposed_provenance_mut(frame.unwrap_or(0));
        // SAFETY: hosts call the C function, and pass a call frame.
        let error = unsafe { dynamic::enter(frame, &self.name, |call| self.call(py, call)) };
        error.expose_provenance()
    }
}

impl Handler {
    fn call(&self, py: Python<'_>, call: &dynamic::DynamicCall) -> Result<()> {
        let mut views = CallArrays { py, is_own_host: call.is_from(host_api()), memory: Vec::new() };
        let called = self.called(py, call, &mut views);
        forget_raised();
        let Err(error) = called else {
            if views.kept().is_some() {
                collect_garbage(py);
            }
            views.give_back();
            return views.keep_memory().map_or(Ok(()), |what| Err(keeps(&what)));
        };
        let words = words(py, &error);
        if views.kept().is_some() {
            forget_locals(py, &error);
            views.keep_memory();
        }
        RAISED.set(Some(error));
        Err(Error::internal(words))
    }

    /// Calls the function. The arrays are freed when this method returns, except for arrays that the function
    /// keeps.
    fn called<'py>(
        &self,
        py: Python<'py>,
        call: &dynamic::DynamicCall,
        views: &mut CallArrays<'py>,
    ) -> PyResult<()> {
        let attributes = call.attributes().map_err(|e| PyTypeError::new_err(e.to_string()))?;
        let named = PyDict::new(py);
        for (name, value) in attributes.iter() {
            named.set_item(name, to_python(py, value)?)?;
        }
        let operands = call.operands().map(|tensor| views.array(tensor, None));
        let mut operands = operands.collect::<PyResult<Vec<_>>>()?;
        let shared: Vec<usize> = call.operands().flatten().map(|operand| operand.data.addr()).collect();
        let result = |tensor: Option<Tensor<'_>>| {
            let is_shared = tensor.as_ref().is_some_and(|result| shared.contains(&result.data.addr()));
            views.array(tensor, Some(is_shared))
        };
        let results = call.results().map(result).collect::<PyResult<Vec<_>>>()?;
        let function = self.function.bind(py);
        let returned = if self.grouped {
            function.call1((PyTuple::new(py, operands)?, PyTuple::new(py, results)?, named))?
        } else {
            let operand_count = operands.iter().flatten().count();
            operands.extend(results);
            let arrays: Vec<_> = operands.into_iter().flatten().collect();
            let counts = (operand_count, arrays.len() - operand_count);
            let returned = function.call(PyTuple::new(py, arrays)?, (!named.is_empty()).then_some(&named));
            returned.map_err(|error| explained(py, error, || called_with(counts, &named)))?
        };
        if returned.is_none() {
            return Ok(());
        }
        let message = format!(
            "a handler writes its results to the arrays that come after the operands and returns nothing, but it \
             returned a {}",
            returned.get_type().name()?
        );
        Err(PyTypeError::new_err(message))
    }
}

/// Adds the contents of the call to an exception that Python raised because the arguments do not fit the
/// function. Returns other exceptions unchanged.
#[cold]
fn explained(py: Python<'_>, error: PyErr, given: impl FnOnce() -> String) -> PyErr {
    if error.traceback(py).is_some() || !error.get_type(py).is(py.get_type::<PyTypeError>()) {
        return error;
    }
    PyTypeError::new_err(format!("{}: {}", error.value(py), given()))
}

/// Formats the contents of a call: `called with 2 operands, 1 result and the attributes factor`.
#[cold]
fn called_with((operands, results): (usize, usize), attributes: &Bound<'_, PyDict>) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (operands, results) = (counted(operands, "operand"), counted(results, "result"));
    if attributes.is_empty() {
        return format!("called with {operands} and {results}");
    }
    let names: Vec<String> = attributes.keys().iter().map(|name| name.to_string()).collect();
    format!("called with {operands}, {results} and the attributes {}", names.join(", "))
}

/// The arrays of one call.
struct CallArrays<'py> {
    py: Python<'py>,
    /// True if the host is this engine, which keeps memory that is still in use.
    is_own_host: bool,
    memory: Vec<Bound<'py, Memory>>,
}

impl<'py> CallArrays<'py> {
    /// Creates an array over the elements or over a copy; `None` for a token. `is_shared` is `None` for an
    /// operand. For a result, it is true if the result shares its memory with an operand.
    fn array(
        &mut self,
        tensor: Option<Tensor<'_>>,
        is_shared: Option<bool>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(Tensor { dtype, dims, data, bytes }) = tensor else { return Ok(None) };
        let writable = is_shared.is_some();
        let memory = if self.is_own_host {
            Memory { start: data, len: bytes, writable, copy: None, keeper: OnceLock::new() }
        } else {
            // SAFETY: the call has `bytes` bytes at `data`. A result's bytes are initialized if it shares
            // them with an operand.
            unsafe { Memory::copied(data, bytes, writable, is_shared != Some(false)) }
        };
        let memory = Bound::new(self.py, memory)?;
        let start = memory.get().start;
        // SAFETY: the call's bytes are valid until it returns, and longer if `memory` has a keeper; `memory`
        // owns a copy.
        let array = unsafe { arrays::view(memory.clone().into_any(), dtype, dims, start, writable)? };
        self.memory.push(memory);
        Ok(Some(array))
    }

    /// Copies results to the host's memory, if the arrays are copies.
    fn give_back(&self) {
        for memory in self.memory.iter().map(Bound::get).filter(|memory| memory.writable) {
            if let Some(copy) = &memory.copy {
                // SAFETY: the copy and the call's result have `len` bytes each, and the call has not
                // returned.
                unsafe { std::ptr::copy_nonoverlapping(memory.start, copy.of, memory.len) };
            }
        }
    }

    /// Keeps the call's memory alive as long as arrays refer to it, and names the first such array.
    fn keep_memory(&self) -> Option<String> {
        let kept = self.kept()?;
        if self.is_own_host {
            let keeper = Keeper::new();
            for memory in &self.memory {
                memory.get().keeper.get_or_init(|| keeper.clone());
            }
            keeper.keep_call();
        }
        Some(kept)
    }

    /// Returns the name of an array that still has references: `operand 0`, not counting tokens.
    fn kept(&self) -> Option<String> {
        // SAFETY: the pointer refers to a live object.
        let is_kept = |memory: &Bound<'_, Memory>| unsafe { ffi::Py_REFCNT(memory.as_ptr()) } > 1;
        let kept = self.memory.iter().position(is_kept)?;
        let operands = self.memory.iter().filter(|memory| !memory.get().writable).count();
        Some(match kept.checked_sub(operands) {
            Some(result) => format!("result {result}"),
            None => format!("operand {kept}"),
        })
    }
}

/// The elements of an operand or result, as a buffer of bytes.
#[pyclass(frozen, module = "farcall._farcall")]
struct Memory {
    start: *mut u8,
    len: usize,
    writable: bool,
    /// The copied elements, unless the array uses the call's own memory.
    copy: Option<ElementCopy>,
    /// Keeps the call's memory alive after the call.
    keeper: OnceLock<Keeper>,
}

/// A copy of elements.
struct ElementCopy {
    /// The call's own elements, valid until the call returns.
    of: *mut u8,
    _elements: Box<[u128]>,
}

impl Memory {
    /// Copies `len` bytes, or creates a buffer of zeros.
    ///
    /// # Safety
    /// `data` points to `len` bytes, which are initialized if `read` is true.
    unsafe fn copied(data: *mut u8, len: usize, writable: bool, read: bool) -> Memory {
        let mut elements = vec![0u128; len.div_ceil(size_of::<u128>())].into_boxed_slice();
        let start = elements.as_mut_ptr().cast::<u8>();
        if read {
            // SAFETY: the caller guarantees that `data` is valid for `len` reads (`# Safety` above); the copy
            // is a separate allocation of at least `len` bytes.
            unsafe { std::ptr::copy_nonoverlapping(data, start, len) };
        }
        let copy = Some(ElementCopy { of: data, _elements: elements });
        Memory { start, len, writable, copy, keeper: OnceLock::new() }
    }
}

// SAFETY: the bytes belong to the call or to a copy. The users of the Python buffer coordinate access to
// them, as for any other buffer.
unsafe impl Send for Memory {}
// SAFETY: the users of the Python buffer coordinate access, and no method of this type reads or writes the
// bytes.
unsafe impl Sync for Memory {}

#[pymethods]
impl Memory {
    /// # Safety
    /// Must be called by Python, with a `view` to fill that Python releases later.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let this = slf.get();
        let len = ffi::Py_ssize_t::try_from(this.len)?;
        let readonly = c_int::from(!this.writable);
        // SAFETY: the bytes are valid during the call, and after the call as long as this object exists.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), this.start.cast(), len, readonly, flags) };
        if filled < 0 { Err(PyErr::fetch(slf.py())) } else { Ok(()) }
    }
}

/// Formats an exception with its traceback, as Python prints it. The last line comes first, in case the
/// message must be shortened.
#[cold]
pub(crate) fn words(py: Python<'_>, error: &PyErr) -> String {
    let Some(traceback) = error.traceback(py) else { return error.to_string() };
    let formatted = || -> PyResult<String> {
        let parts = (error.get_type(py), error.value(py), traceback);
        let lines = py.import("traceback")?.call_method1("format_exception", parts)?;
        PyString::new(py, "").call_method1("join", (lines,))?.extract()
    };
    match formatted() {
        Ok(traceback) => format!("{error}\n{}", traceback.trim_end()),
        Err(_) => error.to_string(),
    }
}

/// Runs the garbage collector, because garbage may refer to arrays.
#[cold]
fn collect_garbage(py: Python<'_>) {
    // Without a collector, arrays in reference cycles count as kept.
    let _collected: PyResult<Bound<'_, PyAny>> = py.import("gc").and_then(|gc| gc.call_method0("collect"));
}

/// Clears the local variables of the functions that an exception has left, because they may refer to the
/// call's arrays.
#[cold]
fn forget_locals(py: Python<'_>, error: &PyErr) {
    if let Some(traceback) = error.traceback(py) {
        // If this fails, the arrays stay valid, because the call's memory is then kept (`keep_memory`).
        let _cleared: PyResult<Bound<'_, PyAny>> =
            py.import("traceback").and_then(|module| module.call_method1("clear_frames", (traceback,)));
    }
}

#[cold]
fn keeps(what: &str) -> Error {
    Error::failed_precondition(format!(
        "the function keeps its view of {what}, whose memory is only the function's until it returns: keep a copy \
         (numpy.copy)"
    ))
}
