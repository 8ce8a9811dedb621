//! Lowerings that are Python functions.
//!
//! The Python package wraps a lowering function so that it takes and returns plain values (`_blocks.py`). The
//! interpreter's lock is held only while the function runs.

use std::cell::RefCell;

use farcall::attribute_value;
use farcall::registry::Lowering;
use farcall_ffi::lowering::{Block, CallAttr, Lowered, TargetCall};
use farcall_ffi::{Error, Result};
use farcall_ir::Attribute;
use farcall_sig::DType;
use farcall_sig::signature::OperandType;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::attributes::{from_python, to_python};
use crate::run;

/// A wrapped lowering function, and the function that writes the error message for its exceptions.
pub(crate) struct PythonLowering {
    pub(crate) function: Py<PyAny>,
    pub(crate) explain: Py<PyAny>,
}

impl Lowering for PythonLowering {
    fn lower(&self, block: &Block<'_>) -> Result<Lowered> {
        Python::attach(|py| {
            let said = self.ask(py, block);
            said.map_err(|e| {
                let words = self.explain.call1(py, (e.value(py), e.traceback(py)));
                let words = words.and_then(|words| words.extract(py));
                let error = Error::unknown(words.unwrap_or_else(|_| e.to_string()));
                keep_raised(e);
                error
            })
        })
    }
}

thread_local! {
    /// Exception raised by a lowering or partitioner, which ends the compilation on this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps an exception as the cause of the error with which the compilation on this thread ends.
pub(crate) fn keep_raised(error: PyErr) {
    RAISED.set(Some(error));
}

/// Compiles a program without the interpreter's lock. If a lowering or partitioner raises an exception, the
/// exception becomes the cause of the compilation's error. An exception that is not an error
/// (`KeyboardInterrupt`, `SystemExit`) is raised unchanged.
pub(crate) fn compiling<T: Send>(
    py: Python<'_>,
    compile: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    // Compilations of other interfaces end without a look at their exception.
    RAISED.set(None);
    let compiled = run::detached(py, compile).flatten();
    match (compiled, RAISED.take()) {
        (Err(error), Some(raised)) if raised.is_instance_of::<PyException>(py) => {
            error.set_cause(py, Some(raised));
            Err(error)
        }
        (Err(_), Some(raised)) => Err(raised),
        (compiled, _) => compiled,
    }
}

/// Parts of a [`TargetCall`], in order: the target; attributes (name, value, true if the value is text);
/// element types of operands and of results; layouts of operands and of results; aliases; true if the call
/// has a side effect.
type CallParts<'py> = (
    String,
    Vec<(String, Bound<'py, PyAny>, bool)>,
    Vec<(usize, String)>,
    Vec<(usize, String)>,
    Vec<(usize, Vec<usize>)>,
    Vec<(usize, Vec<usize>)>,
    Vec<(usize, usize)>,
    bool,
);

impl PythonLowering {
    fn ask(&self, py: Python<'_>, block: &Block<'_>) -> PyResult<Lowered> {
        let described = |types: &[OperandType<'_>]| -> Vec<(&'static str, Vec<i64>)> {
            types.iter().map(|ty| (ty.dtype.name(), ty.dims.to_vec())).collect()
        };
        let client = block.client();
        let client_options = PyDict::new(py);
        for (name, value) in client.options() {
            client_options.set_item(name, value)?;
        }
        let said = self.function.bind(py).call1((
            block.tag(),
            block.version(),
            options(py, block)?,
            described(block.operands()),
            described(block.results()),
            (client.platform(), client.engine(), client.version(), client_options),
        ))?;
        if let Ok(reason) = said.cast::<PyString>() {
            return Ok(Lowered::skip(reason.to_str()?));
        }
        let parts: CallParts<'_> = said.extract()?;
        call(parts).map(Lowered::Call)
    }
}

/// Returns the options by name: a value and false, or MLIR text and true.
fn options<'py>(py: Python<'py>, block: &Block<'_>) -> PyResult<Bound<'py, PyDict>> {
    let options = PyDict::new(py);
    for (name, text) in block.options().texts() {
        match text.parse::<Attribute>().ok().as_ref().and_then(attribute_value) {
            Some(value) => options.set_item(name, (to_python(py, &value)?, false))?,
            None => options.set_item(name, (text, true))?,
        }
    }
    Ok(options)
}

fn call(
    (target, attrs, operand_types, result_types, operand_layouts, result_layouts, aliases, has_side_effect): CallParts<'_>,
) -> PyResult<TargetCall> {
    let types = |types: Vec<(usize, String)>| -> PyResult<Vec<(usize, DType)>> {
        let one = |(index, name): (usize, String)| match name.parse::<DType>() {
            Ok(dtype) => Ok((index, dtype)),
            Err(e) => Err(PyValueError::new_err(e.to_string())),
        };
        types.into_iter().map(one).collect()
    };
    let mut call = TargetCall::new(target);
    for (name, value, is_text) in attrs {
        let value = match is_text {
            true => CallAttr::Text(value.extract()?),
            false => CallAttr::Value(from_python(&value).map_err(|e| {
                let message = format!("attribute {name} {}", e.value(value.py()));
                PyErr::from_type(e.get_type(value.py()), message)
            })?),
        };
        call.attrs.push((name, value));
    }
    call.operand_types = types(operand_types)?;
    call.result_types = types(result_types)?;
    call.operand_layouts = operand_layouts;
    call.result_layouts = result_layouts;
    call.aliases = aliases;
    call.has_side_effect = has_side_effect;
    Ok(call)
}
