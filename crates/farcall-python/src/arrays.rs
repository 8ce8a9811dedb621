//! NumPy arrays, through NumPy's C interface. Inspecting arguments and creating the arrays of results account
//! for most of the overhead of a call from Python.

use std::ffi::c_int;
use std::sync::Arc;

use farcall_ir::{DType, Literal, Scalar, TensorType};
use numpy::npyffi::{
    NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE, NpyTypes, PY_ARRAY_API, PyArray_Check, PyArrayObject,
    get_type_object, npy_intp,
};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple};

use crate::elements::{Elements, element_type, of_bytes};

/// NumPy's element types, indexed by [`DType`].
static DTYPES: PyOnceLock<Vec<Option<Py<PyArrayDescr>>>> = PyOnceLock::new();

/// Sets NumPy's element type for each of the engine's element types.
///
/// # Errors
/// If an element type has another size, or if other element types have been set before.
#[pyfunction]
pub(crate) fn set_dtypes(py: Python<'_>, dtypes: Vec<(String, Bound<'_, PyArrayDescr>)>) -> PyResult<()> {
    let mut by_place: Vec<Option<Py<PyArrayDescr>>> = DType::VARIANTS.iter().map(|_| None).collect();
    for (name, numpys) in dtypes {
        let dtype = element_type(&name)?;
        if numpys.itemsize() != dtype.size() || numpys.has_object() {
            return Err(PyTypeError::new_err(format!(
                "elements of {numpys} do not have the bytes of {dtype} elements"
            )));
        }
        by_place[dtype as usize] = Some(numpys.unbind());
    }
    let Err(again) = DTYPES.set(py, by_place) else { return Ok(()) };
    let same = DTYPES.get(py).into_iter().flatten().zip(&again).all(|pair| match pair {
        (Some(a), Some(b)) => a.bind(py).is_equiv_to(b.bind(py)),
        (a, b) => a.is_none() && b.is_none(),
    });
    if same {
        Ok(())
    } else {
        Err(PyRuntimeError::new_err("the element types have already been set to other types"))
    }
}

fn numpys(py: Python<'_>, dtype: DType) -> Option<&Bound<'_, PyArrayDescr>> {
    DTYPES.get(py)?[dtype as usize].as_ref().map(|x| x.bind(py))
}

/// Creates an array over elements that its base keeps alive.
///
/// # Safety
/// The elements of a tensor of this type are at `data`. They are valid for reads, and for writes if the array
/// is writable, as long as `base` is alive.
pub(crate) unsafe fn view<'py>(
    base: Bound<'py, PyAny>,
    dtype: DType,
    sizes: &[usize],
    data: *mut u8,
    writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = base.py();
    let Some(descr) = numpys(py, dtype) else {
        return Err(PyTypeError::new_err(format!("NumPy has no arrays of {dtype}")));
    };
    let flags = if writable { NPY_ARRAY_WRITEABLE } else { 0 };
    let rank = c_int::try_from(sizes.len())?;
    // SAFETY: the element type, whose reference is consumed, has the element size of the engine's type; NumPy
    // only reads and checks the sizes; the caller guarantees that `data` is valid as long as `base` is alive
    // (`# Safety` above).
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            descr.clone().into_dtype_ptr(),
            rank,
            sizes.as_ptr().cast::<npy_intp>().cast_mut(),
            std::ptr::null_mut(),
            data.cast(),
            flags,
            std::ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), base.into_ptr()) < 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}

/// Creates the array of a result that exclusively owns its elements.
pub(crate) fn of_result(py: Python<'_>, literal: Literal) -> PyResult<Bound<'_, PyAny>> {
    let ty = literal.ty();
    let elements = Bound::new(py, Elements::new(literal)?)?;
    let data = elements.get().data();
    // SAFETY: `data` points to the elements of the literal, which `elements` owns and keeps alive.
    unsafe { view(elements.into_any(), ty.dtype, ty.sizes(), data, true) }
}

/// Returns the tensors in a list or tuple of numbers and of row-major arrays of exactly these types; `None`
/// for anything else.
///
/// # Errors
/// If memory for the elements cannot be allocated.
pub(crate) fn arguments(types: &[TensorType], given: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Literal>>> {
    if let Ok(list) = given.cast_exact::<PyList>() {
        return each(types, list.iter());
    }
    given.cast_exact::<PyTuple>().map_or(Ok(None), |tuple| each(types, tuple.iter()))
}

fn each<'py>(
    types: &[TensorType],
    given: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Option<Vec<Literal>>> {
    if given.len() != types.len() {
        return Ok(None);
    }
    types.iter().zip(given).map(|(ty, object)| argument(ty, &object)).collect()
}

fn argument(ty: &TensorType, object: &Bound<'_, PyAny>) -> PyResult<Option<Literal>> {
    let py = object.py();
    let Some(descr) = numpys(py, ty.dtype) else { return Ok(None) };
    // SAFETY: the pointer refers to a live object.
    if unsafe { PyArray_Check(py, object.as_ptr()) } != 0 {
        return of_array(ty, descr, object);
    }
    if ty.rank() > 0 {
        return Ok(None);
    }
    if !object.get_type().is(descr.typeobj()) {
        return Ok(number(ty.dtype, object).map(|scalar| Literal::splat(ty.dtype, [], scalar)));
    }
    // SAFETY: the object is a NumPy scalar of this element type.
    let array = unsafe {
        let array = PY_ARRAY_API.PyArray_FromScalar(py, object.as_ptr(), std::ptr::null_mut());
        Bound::from_owned_ptr_or_err(py, array)?
    };
    of_array(ty, descr, &array)
}

/// Converts a Python number to an element. Returns `None` if the element type is an uncommon type, or
/// cannot hold the number.
fn number(dtype: DType, object: &Bound<'_, PyAny>) -> Option<Scalar> {
    if let Ok(x) = object.cast_exact::<PyFloat>() {
        let x = x.value();
        let fits = match dtype {
            DType::F32 => (x as f32).is_finite() || !x.is_finite(),
            other => other == DType::F64,
        };
        return fits.then_some(Scalar::Float(x));
    }
    if let Ok(x) = object.cast_exact::<PyBool>() {
        return (dtype == DType::Pred).then(|| Scalar::Bool(x.is_true()));
    }
    let x: i64 = object.cast_exact::<PyInt>().ok()?.extract().ok()?;
    match dtype {
        // Floating-point types represent integers up to this limit exactly.
        DType::F32 if x.unsigned_abs() <= 1 << f32::MANTISSA_DIGITS => Some(Scalar::Float(x as f64)),
        DType::F64 if x.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS => Some(Scalar::Float(x as f64)),
        DType::S32 => i32::try_from(x).is_ok().then_some(Scalar::Signed(x)),
        DType::S64 => Some(Scalar::Signed(x)),
        DType::U32 => u32::try_from(x).ok().map(|x| Scalar::Unsigned(x.into())),
        _ => None,
    }
}

/// Returns the tensor in an array.
fn of_array(
    ty: &TensorType,
    descr: &Bound<'_, PyArrayDescr>,
    array: &Bound<'_, PyAny>,
) -> PyResult<Option<Literal>> {
    let py = array.py();
    let Some(len) = ty.bytes() else { return Ok(None) };
    // SAFETY: the object is an array, and its `dimensions` pointer is valid for `nd` sizes.
    let (data, same) = unsafe {
        let array = &(*array.as_ptr().cast::<PyArrayObject>()).fields;
        let same = array.flags & NPY_ARRAY_C_CONTIGUOUS != 0
            && usize::try_from(array.nd) == Ok(ty.rank())
            && (ty.rank() == 0
                || std::slice::from_raw_parts(array.dimensions.cast::<usize>(), ty.rank()) == ty.sizes())
            && (array.descr == descr.as_dtype_ptr()
                || PY_ARRAY_API.PyArray_EquivTypes(py, array.descr, descr.as_dtype_ptr()) != 0);
        (array.data.cast::<u8>(), same)
    };
    if !same {
        return Ok(None);
    }
    // SAFETY: the array owns `len` contiguous bytes at `data`, valid as long as the array is alive, and the
    // array is the owner.
    unsafe { of_bytes(ty, data, len, || Arc::new(array.clone().unbind())) }.map(Some)
}
