//! Handlers written in Python.
//!
//! ```text
//! host ──▶ C function (of ctypes, takes the interpreter's lock) ──▶ Handler::enter ──▶ the author's function
//! ```
//!
//! ctypes makes a C function of [`Handler::enter`], so that a handler has an address of its own, as every host of XLA's
//! FFI wants one. The function gets NumPy arrays over the memory of the call: operands are read-only, results are not.
//!
//! **Invariants.** No array refers to memory that is gone. A function that keeps an array, or a view of it,
//! makes the call fail. In this engine, nothing is copied: the call's memory then stays as long as the array
//! does ([`Keeper`]). Another host reuses its memory despite such references, so there the arrays are copies.
//! A function's exception waits for the run that called it, on the thread of both ([`raised`]).

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
    /// What the handler that was called last on this thread has raised.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// What functions of the untyped API have raised in the run of this thread, if there is one.
    static UNTOLD: RefCell<Option<Untold>> = const { RefCell::new(None) };
}

/// An exception of a function of the untyped API, which has no way to tell its host, and the function's name.
type Untold = Option<(String, PyErr)>;

/// A run on this thread, which asks what Python functions have raised in it. What runs inside of it has a frame of its
/// own.
pub(crate) struct UntoldFrame {
    outer: Option<Untold>,
}

impl UntoldFrame {
    pub(crate) fn new() -> UntoldFrame {
        RAISED.set(None); // by a call of another host
        UntoldFrame { outer: UNTOLD.replace(Some(None)) }
    }

    /// The end of the run, and what was raised in it: the first exception, or the first that is no `Exception`.
    pub(crate) fn finish(self) -> Untold {
        UNTOLD.take().flatten()
    }
}

impl Drop for UntoldFrame {
    fn drop(&mut self) {
        UNTOLD.set(self.outer.take());
    }
}

/// Fails the run that calls a function of the untyped API on this thread, because of this exception. The run goes on until
/// its end. Without a run, which means that another host has called the function, the exception is printed.
#[pyfunction]
pub(crate) fn fail_run(py: Python<'_>, name: String, exception: Bound<'_, PyAny>) {
    let error = PyErr::from_value(exception);
    let is_exception = |error: &PyErr| error.is_instance_of::<PyException>(py);
    let outside = UNTOLD.with_borrow_mut(|run| {
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

/// What the handler of Python that was called last on this thread has raised, if it failed.
pub(crate) fn raised() -> Option<PyErr> {
    RAISED.take()
}

/// Forgets what handlers have raised that a Python function has called through another host: the function has returned, and
/// if it has failed, then with an exception of its own. The exception would also keep the function's arrays.
#[pyfunction]
pub(crate) fn forget_raised() {
    RAISED.set(None);
}

/// Turns on reports of crashes of handlers.
#[pyfunction]
pub(crate) fn report_crashes() {
    farcall::custom_call::report_crashes();
}

/// A function of Python that hosts can call as a handler.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Handler {
    name: String,
    function: Py<PyAny>,
    /// The function takes operands, results and attributes as two tuples and a dictionary, `None` for a token; else each as
    /// an argument, and no tokens.
    grouped: bool,
}

#[pymethods]
impl Handler {
    #[new]
    #[pyo3(signature = (name, function, *, grouped))]
    fn new(name: String, function: Py<PyAny>, grouped: bool) -> Handler {
        Handler { name, function, grouped }
    }

    /// Calls the function with what the call frame at this address holds; the address of an error, or 0. Only for the C
    /// function that ctypes makes of it.
    fn enter(&self, py: Python<'_>, frame: Option<usize>) -> usize {
        RAISED.set(None);
        let frame = std::ptr::with_exposed_provenance_mut(frame.unwrap_or(0));
        // SAFETY: hosts call the C function, with a call frame.
        let error = unsafe { dynamic::enter(frame, &self.name, |call| self.call(py, call)) };
        error.expose_provenance()
    }
}

impl Handler {
    fn call(&self, py: Python<'_>, call: &dynamic::Call) -> Result<()> {
        let mut views = Views { py, is_own_host: call.is_from(host_api()), memory: Vec::new() };
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

    /// Calls the function. The arrays are gone when it returns, but for those that the function keeps.
    fn called<'py>(&self, py: Python<'py>, call: &dynamic::Call, views: &mut Views<'py>) -> PyResult<()> {
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

/// Why Python did not even enter a function, with what the call has; other exceptions are as they are.
#[cold]
fn explained(py: Python<'_>, error: PyErr, given: impl FnOnce() -> String) -> PyErr {
    if error.traceback(py).is_some() || !error.get_type(py).is(py.get_type::<PyTypeError>()) {
        return error;
    }
    PyTypeError::new_err(format!("{}: {}", error.value(py), given()))
}

/// `called with 2 operands, 1 result and the attributes factor`.
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
struct Views<'py> {
    py: Python<'py>,
    /// The host is this engine, which keeps memory that is still in use.
    is_own_host: bool,
    memory: Vec<Bound<'py, Memory>>,
}

impl<'py> Views<'py> {
    /// An array over the elements, or over a copy; `None` for a token. `is_shared` is `None` for an operand, and true for a
    /// result that shares its memory with an operand.
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
            // SAFETY: the call has that many bytes at `data`. A result's bytes are initialized if it shares
            // them with an operand.
            unsafe { Memory::copied(data, bytes, writable, is_shared != Some(false)) }
        };
        let memory = Bound::new(self.py, memory)?;
        let start = memory.get().start;
        // SAFETY: the call's bytes are valid until it returns, and longer if `memory` has a keeper; a copy is
        // owned by `memory`.
        let array = unsafe { arrays::view(memory.clone().into_any(), dtype, dims, start, writable)? };
        self.memory.push(memory);
        Ok(Some(array))
    }

    /// Copies results to where the host wants them, if the arrays are copies.
    fn give_back(&self) {
        for memory in self.memory.iter().map(Bound::get).filter(|memory| memory.writable) {
            if let Some(copy) = &memory.copy {
                // SAFETY: the copy and the call's result have `len` bytes each, and the call has not
                // returned.
                unsafe { std::ptr::copy_nonoverlapping(memory.start, copy.of, memory.len) };
            }
        }
    }

    /// Keeps the call's memory as long as arrays refer to it, and names the first such array.
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

    /// An array that something still refers to: `operand 0`, not counting tokens.
    fn kept(&self) -> Option<String> {
        // SAFETY: a pointer to an object that is there.
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
    /// The copied elements, unless the array uses the call's own.
    copy: Option<Copied>,
    /// The call's memory, once the call is over.
    keeper: OnceLock<Keeper>,
}

/// A copy of elements.
struct Copied {
    /// The call's own elements, valid until it returns.
    of: *mut u8,
    _elements: Box<[u128]>,
}

impl Memory {
    /// Copies `len` bytes, or makes as many zeros.
    ///
    /// # Safety
    /// `data` points to `len` bytes, initialized if they are `read`.
    unsafe fn copied(data: *mut u8, len: usize, writable: bool, read: bool) -> Memory {
        let mut elements = vec![0u128; len.div_ceil(size_of::<u128>())].into_boxed_slice();
        let start = elements.as_mut_ptr().cast::<u8>();
        if read {
            // SAFETY: the caller's promise; the copy is a separate allocation of at least `len` bytes.
            unsafe { std::ptr::copy_nonoverlapping(data, start, len) };
        }
        let copy = Some(Copied { of: data, _elements: elements });
        Memory { start, len, writable, copy, keeper: OnceLock::new() }
    }
}

// SAFETY: the bytes are the call's or a copy; the owners of the Python buffer coordinate access to them, as
// for any other buffer.
unsafe impl Send for Memory {}
// SAFETY: as above; no method reads or writes the bytes.
unsafe impl Sync for Memory {}

#[pymethods]
impl Memory {
    /// # Safety
    /// Python calls this with a `view` to fill, which it releases later.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let this = slf.get();
        let len = ffi::Py_ssize_t::try_from(this.len)?;
        let readonly = c_int::from(!this.writable);
        // SAFETY: the bytes are valid during the call, and after it as long as this object exists.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), this.start.cast(), len, readonly, flags) };
        if filled < 0 { Err(PyErr::fetch(slf.py())) } else { Ok(()) }
    }
}

/// The exception with its traceback, as Python prints it; its last line first, in case that a message must be shortened.
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

/// Collects garbage, which may refer to arrays.
#[cold]
fn collect_garbage(py: Python<'_>) {
    // Without a collector, arrays in cycles count as kept.
    let _collected: PyResult<Bound<'_, PyAny>> = py.import("gc").and_then(|gc| gc.call_method0("collect"));
}

/// Clears the local variables of the functions that an exception has left: they refer to arrays that are gone.
#[cold]
fn forget_locals(py: Python<'_>, error: &PyErr) {
    if let Some(traceback) = error.traceback(py) {
        // Nothing is lost but the arrays' validity, which the documentation does not promise.
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
