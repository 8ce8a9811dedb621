//! Passes the elements of a tensor to and from Python, as bytes.

use std::ffi::c_int;
use std::fmt::Display;
use std::ptr::NonNull;
use std::sync::Arc;

use farcall::sig::UnknownName;
use farcall_ir::{DType, Literal, TensorType};
use farcall_sig::signature::NumberKind;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

/// The elements of a result: a writable buffer of bytes, row-major, shared with every array made of it.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Elements {
    start: NonNull<u8>,
    len: usize,
    /// Owns the bytes; not looked at while Python may write to them.
    _owner: Literal,
}

// SAFETY: the bytes are plain memory that this object owns; who may touch them when is decided by
// those who hold the Python buffer, as with any other.
unsafe impl Send for Elements {}
// SAFETY: as above; no method reads or writes the bytes.
unsafe impl Sync for Elements {}

impl Elements {
    /// Takes a literal's elements, without a copy unless they are shared: unshare them first, without the
    /// interpreter's lock.
    ///
    /// # Errors
    /// If there is no memory for a copy.
    pub(crate) fn new(mut literal: Literal) -> PyResult<Elements> {
        literal.unshare().map_err(no_memory)?;
        let bytes = literal.bytes_mut();
        Ok(Elements { start: NonNull::from(&mut *bytes).cast(), len: bytes.len(), _owner: literal })
    }

    /// The first one; dangling if there are none.
    pub(crate) fn data(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

#[pymethods]
impl Elements {
    /// # Safety
    /// Python calls this with a `view` to fill, which it releases later.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let this = slf.get();
        let len = ffi::Py_ssize_t::try_from(this.len)?;
        let start = this.start.as_ptr().cast();
        // SAFETY: the view keeps a reference to this object, which owns the bytes.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 0, flags) };
        if filled < 0 { Err(PyErr::fetch(slf.py())) } else { Ok(()) }
    }
}

/// The element types: name, what their numbers are, bytes of an element, and the least and the greatest integer.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a list that Python unpacks at once")]
pub(crate) fn element_types() -> Vec<(&'static str, &'static str, usize, Option<(i128, i128)>)> {
    let described =
        |dtype: DType| (dtype.name(), NumberKind::of(dtype).name(), dtype.size(), dtype.integer_range());
    DType::ALL.into_iter().map(described).collect()
}

/// True if an array of this element type can hold numbers of this kind.
#[pyfunction]
pub(crate) fn holds(dtype: &str, kind: &str) -> PyResult<bool> {
    let kind: NumberKind = kind.parse().map_err(|e: UnknownName| PyValueError::new_err(e.to_string()))?;
    Ok(kind.is_held_by(element_type(dtype)?))
}

/// The element type of this name.
pub(crate) fn element_type(name: &str) -> PyResult<DType> {
    name.parse().map_err(|e: UnknownName| PyTypeError::new_err(e.to_string()))
}

/// A tensor's type, given as the element type's short name and a shape.
pub(crate) fn tensor_type(dtype: &str, dims: Vec<usize>) -> PyResult<TensorType> {
    Ok(TensorType::new(element_type(dtype)?, dims))
}

/// Bytes from which on the elements of an argument are not copied.
const LARGE: usize = 1 << 14;

/// A tensor of the elements in a Python buffer of bytes, which is kept, and must not be written to while it is: as with
/// any function of arrays, nobody may change them while a run reads them.
///
/// # Errors
/// If there is no such element type, or the buffer has another size.
pub(crate) fn literal(dtype: &str, dims: Vec<usize>, bytes: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let ty = tensor_type(dtype, dims)?;
    let py = bytes.py();
    let bytes = PyUntypedBuffer::get(bytes)?;
    bytes.as_typed::<u8>()?;
    if ty.bytes() != Some(bytes.len_bytes()) {
        let found = bytes.len_bytes();
        return Err(PyValueError::new_err(format!("{found} bytes are not the elements of {ty}")));
    }
    of_buffer(py, &ty, bytes)
}

/// NumPy's booleans are any bytes, of which all but 0 are true; the engine's are 0 and 1.
fn normalize(dtype: DType, elements: &mut [u8]) {
    if dtype == DType::Pred {
        elements.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
}

/// The tensor of this type whose bytes a buffer has.
fn of_buffer(py: Python<'_>, ty: &TensorType, buffer: PyUntypedBuffer) -> PyResult<Literal> {
    if buffer.is_c_contiguous() {
        let (data, len) = (buffer.buf_ptr().cast::<u8>(), buffer.len_bytes());
        // SAFETY: that many bytes are there, without gaps, as long as the buffer is, which is the owner.
        return unsafe { of_bytes(ty, data, len, || Arc::new(buffer)) };
    }
    let mut literal = for_overwrite(ty)?;
    let elements = literal.bytes_mut();
    buffer.as_typed::<u8>()?.copy_to_slice(py, elements)?;
    normalize(ty.dtype, elements);
    Ok(literal)
}

/// The tensor of this type with the bytes at `data`: copied, unless there are many; their owner is asked for and kept then.
///
/// # Errors
/// If there is no memory for a copy.
///
/// # Safety
/// So many bytes, those of the type, are there until this returns, and as long as their owner is; of none, `data` may be
/// anything.
pub(crate) unsafe fn of_bytes<O: Send + Sync + 'static>(
    ty: &TensorType,
    data: *const u8,
    len: usize,
    owner: impl FnOnce() -> Arc<O>,
) -> PyResult<Literal> {
    if len >= LARGE && ty.dtype != DType::Pred {
        // SAFETY: the caller's promise; the literal keeps the owner.
        let elements = unsafe { std::slice::from_raw_parts(data, len) };
        return Literal::borrowed(ty.dtype, ty.shared_sizes(), elements, owner()).map_err(no_memory);
    }
    let mut literal = for_overwrite(ty)?;
    let copy = literal.bytes_mut();
    // SAFETY: the caller's promise, and the literal has as many bytes of its own.
    unsafe { copy.as_mut_ptr().copy_from_nonoverlapping(data, len) };
    normalize(ty.dtype, copy);
    Ok(literal)
}

fn for_overwrite(ty: &TensorType) -> PyResult<Literal> {
    Literal::try_for_overwrite(ty.dtype, ty.shared_sizes()).map_err(no_memory)
}

fn no_memory(error: impl Display) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}
