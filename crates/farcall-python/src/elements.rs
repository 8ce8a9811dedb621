//! Passes the elements of a tensor to and from Python, as bytes.

use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use farcall::sig::UnknownName;
use farcall_ir::{DType, Literal, TensorType};
use farcall_sig::signature::NumberKind;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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
        literal.unshare().map_err(|e| PyMemoryError::new_err(e.to_string()))?;
        let bytes = literal.bytes_mut();
        Ok(Elements { start: NonNull::from(&mut *bytes).cast(), len: bytes.len(), _owner: literal })
    }
}

#[pymethods]
impl Elements {
    fn __len__(&self) -> usize {
        self.len
    }

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

/// The tensor in an array of exactly this type, row-major; `None` if it is anything else, text in bytes included.
///
/// # Errors
/// If there is no memory for its elements, or what it raises when it is asked for them, unless that says that it has none.
pub(crate) fn array(ty: &TensorType, array: &Bound<'_, PyAny>) -> PyResult<Option<Literal>> {
    let (Some(format), Some(len)) = (format(ty.dtype), ty.bytes()) else { return Ok(None) };
    if array.is_instance_of::<PyBytes>() {
        return Ok(None);
    }
    if len < LARGE {
        let mut literal = Literal::try_for_overwrite(ty.dtype, ty.shared_sizes())
            .map_err(|e| PyMemoryError::new_err(e.to_string()))?;
        return Ok(copied(ty, format, array, literal.bytes_mut())?.then_some(literal));
    }
    let buffer = match PyUntypedBuffer::get(array) {
        Ok(buffer) => buffer,
        Err(error) => return no_buffer(array.py(), error).map(|()| None),
    };
    let same = buffer.format() == format
        && buffer.item_size() == ty.dtype.size()
        && buffer.shape() == ty.sizes()
        && buffer.is_c_contiguous();
    if same { of_buffer(array.py(), ty, buffer).map(Some) } else { Ok(None) }
}

/// Copies the elements of an array, if it has exactly this type and is row-major. (PyO3's buffers are objects of their own, and
/// none of scalars.)
fn copied(ty: &TensorType, format: &CStr, array: &Bound<'_, PyAny>, to: &mut [u8]) -> PyResult<bool> {
    let mut view = MaybeUninit::<ffi::Py_buffer>::uninit();
    // SAFETY: the view is filled, and stays where it is until it is released, or there is an error.
    let view = unsafe {
        if ffi::PyObject_GetBuffer(array.as_ptr(), view.as_mut_ptr(), ffi::PyBUF_FULL_RO) < 0 {
            return no_buffer(array.py(), PyErr::fetch(array.py())).map(|()| false);
        }
        view.assume_init_mut()
    };
    let rank = usize::try_from(view.ndim).unwrap_or(0);
    // SAFETY: there is a text, and there are `ndim` sizes, unless the pointers are null.
    let same = unsafe {
        !view.format.is_null()
            && CStr::from_ptr(view.format) == format
            && usize::try_from(view.itemsize) == Ok(ty.dtype.size())
            && rank == ty.rank()
            && (rank == 0
                || !view.shape.is_null()
                    && std::slice::from_raw_parts(view.shape.cast::<usize>(), rank) == ty.sizes())
            && usize::try_from(view.len) == Ok(to.len())
            && ffi::PyBuffer_IsContiguous(view, b'C'.cast_signed()) != 0
    };
    if same {
        // SAFETY: that many bytes are there, without gaps, and those of the literal are its own.
        unsafe { to.as_mut_ptr().copy_from_nonoverlapping(view.buf.cast(), to.len()) };
        normalize(ty.dtype, to);
    }
    // SAFETY: it was filled above.
    unsafe { ffi::PyBuffer_Release(view) };
    Ok(same)
}

/// What an object raises that has no buffer, or none of the kind that is asked for: it may be a number, or a list.
///
/// # Errors
/// Anything else.
fn no_buffer(py: Python<'_>, error: PyErr) -> PyResult<()> {
    let expected = error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyBufferError>(py);
    if expected { Ok(()) } else { Err(error) }
}

/// NumPy's booleans are any bytes, of which all but 0 are true; the engine's are 0 and 1.
fn normalize(dtype: DType, elements: &mut [u8]) {
    if dtype == DType::Pred {
        elements.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
}

/// How Python's buffers describe elements of this type in the machine's byte order, if they can.
fn format(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::Pred => c"?",
        DType::S8 => c"b",
        DType::S16 => c"h",
        DType::S32 => c"i",
        DType::S64 => c"l",
        DType::U8 => c"B",
        DType::U16 => c"H",
        DType::U32 => c"I",
        DType::U64 => c"L",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
        _ => return None,
    })
}

/// The tensor of this type whose bytes a buffer has.
fn of_buffer(py: Python<'_>, ty: &TensorType, buffer: PyUntypedBuffer) -> PyResult<Literal> {
    let (dtype, len) = (ty.dtype, buffer.len_bytes());
    let whole = buffer.is_c_contiguous();
    if len >= LARGE && dtype != DType::Pred && whole {
        // SAFETY: that many bytes are there, without gaps, as long as the buffer is, which the literal keeps.
        let elements = unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), len) };
        return Literal::borrowed(dtype, ty.shared_sizes(), elements, Arc::new(buffer))
            .map_err(|e| PyMemoryError::new_err(e.to_string()));
    }
    let mut literal = Literal::try_for_overwrite(dtype, ty.shared_sizes())
        .map_err(|e| PyMemoryError::new_err(e.to_string()))?;
    let elements = literal.bytes_mut();
    if whole {
        // SAFETY: that many bytes are there, without gaps, and those of the literal are its own.
        unsafe { elements.as_mut_ptr().copy_from_nonoverlapping(buffer.buf_ptr().cast(), len) };
    } else {
        buffer.as_typed::<u8>()?.copy_to_slice(py, elements)?;
    }
    normalize(dtype, elements);
    Ok(literal)
}
