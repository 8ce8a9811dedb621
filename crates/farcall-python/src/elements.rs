//! Passes the elements of tensors to and from Python as bytes.

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

/// Elements of a result: a writable buffer of row-major bytes, shared with every array created from it.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Elements {
    start: NonNull<u8>,
    len: usize,
    /// Owner of the bytes. It is not accessed while Python may write to the bytes.
    _owner: Literal,
}

// SAFETY: the bytes are plain memory that this object owns. The users of the Python buffer coordinate access
// to them, as for any other buffer.
unsafe impl Send for Elements {}
// SAFETY: the users of the Python buffer coordinate access, and no method of this type reads or writes the
// bytes.
unsafe impl Sync for Elements {}

impl Elements {
    /// Takes the elements of a literal. They are copied only if they are shared. Callers unshare the elements
    /// beforehand, to avoid copying while the interpreter's lock is held.
    ///
    /// # Errors
    /// If memory for a copy cannot be allocated.
    pub(crate) fn new(mut literal: Literal) -> PyResult<Elements> {
        literal.unshare().map_err(no_memory)?;
        let bytes = literal.bytes_mut();
        Ok(Elements { start: NonNull::from(&mut *bytes).cast(), len: bytes.len(), _owner: literal })
    }

    /// Pointer to the first element; dangling if the tensor is empty.
    pub(crate) fn data(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

#[pymethods]
impl Elements {
    /// # Safety
    /// Must be called by Python, with a `view` to fill that Python releases later.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let this = slf.get();
        let len = ffi::Py_ssize_t::try_from(this.len)?;
        let start = this.start.as_ptr().cast();
        // SAFETY: the view keeps a reference to this object, which owns the bytes.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 0, flags) };
        if filled < 0 { Err(PyErr::fetch(slf.py())) } else { Ok(()) }
    }
}

/// Returns the element types: name, kind of their numbers, bytes of an element, and range of an integer type.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a list that Python unpacks at once")]
pub(crate) fn element_types() -> Vec<(&'static str, &'static str, usize, Option<(i128, i128)>)> {
    let described =
        |dtype: DType| (dtype.name(), NumberKind::of(dtype).name(), dtype.size(), dtype.integer_range());
    DType::VARIANTS.into_iter().map(described).collect()
}

/// Returns true if an array of this element type can hold numbers of this kind.
#[pyfunction]
pub(crate) fn holds(dtype: &str, kind: &str) -> PyResult<bool> {
    let kind: NumberKind = kind.parse().map_err(|e: UnknownName| PyValueError::new_err(e.to_string()))?;
    Ok(kind.is_held_by(element_type(dtype)?))
}

/// Returns the element type of this name.
pub(crate) fn element_type(name: &str) -> PyResult<DType> {
    name.parse().map_err(|e: UnknownName| PyTypeError::new_err(e.to_string()))
}

/// Returns the type of a tensor, given as the element type's short name and a shape.
pub(crate) fn tensor_type(dtype: &str, dims: Vec<usize>) -> PyResult<TensorType> {
    Ok(TensorType::new(element_type(dtype)?, dims))
}

/// Minimum size in bytes of an argument whose elements are not copied.
const MIN_BORROWED_BYTES: usize = 1 << 14;

/// Returns a tensor of the elements in a Python buffer of bytes. The tensor keeps the buffer, which must not
/// be written to during that time. As for any function on arrays, callers must not change the elements while
/// a run reads them.
///
/// # Errors
/// If the element type is unknown, or the buffer has another size.
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

/// Normalizes booleans: in NumPy any nonzero byte is true, in the engine only 0 and 1 are valid.
fn normalize(dtype: DType, elements: &mut [u8]) {
    if dtype == DType::Pred {
        elements.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
}

/// Returns the tensor of this type with the bytes of a buffer.
fn of_buffer(py: Python<'_>, ty: &TensorType, buffer: PyUntypedBuffer) -> PyResult<Literal> {
    if buffer.is_c_contiguous() {
        let (data, len) = (buffer.buf_ptr().cast::<u8>(), buffer.len_bytes());
        // SAFETY: the buffer has `len` contiguous bytes at `data`, valid as long as the buffer is alive, and
        // the buffer is the owner.
        return unsafe { of_bytes(ty, data, len, || Arc::new(buffer)) };
    }
    let mut literal = for_overwrite(ty)?;
    let elements = literal.bytes_mut();
    buffer.as_typed::<u8>()?.copy_to_slice(py, elements)?;
    normalize(ty.dtype, elements);
    Ok(literal)
}

/// Returns the tensor of this type with the bytes at `data`. Booleans, and fewer than [`MIN_BORROWED_BYTES`]
/// bytes, are copied. Otherwise, the tensor borrows the bytes and keeps the result of `owner`.
///
/// # Errors
/// If memory for a copy cannot be allocated.
///
/// # Safety
/// `data` is valid for reads of as many bytes as the type has, until this function returns and for as long as
/// the owner of the bytes is alive. If the type has no bytes, `data` may be any pointer.
pub(crate) unsafe fn of_bytes<O: Send + Sync + 'static>(
    ty: &TensorType,
    data: *const u8,
    len: usize,
    owner: impl FnOnce() -> Arc<O>,
) -> PyResult<Literal> {
    if len >= MIN_BORROWED_BYTES && ty.dtype != DType::Pred {
        // SAFETY: the caller guarantees that `data` is valid for `len` reads as long as the owner is alive
        // (`# Safety` above), and the literal keeps the owner.
        let elements = unsafe { std::slice::from_raw_parts(data, len) };
        return Literal::borrowed(ty.dtype, ty.shared_sizes(), elements, owner()).map_err(no_memory);
    }
    let mut literal = for_overwrite(ty)?;
    let copy = literal.bytes_mut();
    // SAFETY: the caller guarantees that `data` is valid for `len` reads (`# Safety` above), and the literal
    // has a separate allocation of the same size.
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
