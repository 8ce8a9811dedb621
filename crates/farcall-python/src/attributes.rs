//! Converts attributes of calls from and to Python values.

use std::hash::{Hash, Hasher};

use farcall_ir::{AttrDict, Attribute, UnwritableAttr};
use farcall_sig::{AttrArray, AttrValue, AttrValues, ScalarType};
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyMapping, PyString, PyTuple};

use crate::elements::element_type;

/// Attributes of a call, of exactly the declared types, with defaults filled in.
#[pyclass(frozen, eq, hash, module = "farcall._farcall")]
#[derive(PartialEq)]
pub(crate) struct Attributes {
    pub(crate) inner: AttrValues,
    /// Text in StableHLO syntax. It distinguishes values that differ in their bits.
    text: String,
}

impl Hash for Attributes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

#[pymethods]
impl Attributes {
    /// Text as a dictionary attribute of StableHLO.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Short form for jaxprs: `{eps=1e-5}`.
    fn __repr__(&self) -> String {
        let entries: Vec<String> = self.inner.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{{{}}}", entries.join(", "))
    }
}

impl Attributes {
    /// Converts the attributes to a program's attributes.
    ///
    /// # Errors
    /// If memory cannot be allocated.
    pub(crate) fn dict(&self) -> PyResult<AttrDict> {
        let entries =
            self.inner.iter().map(|(name, value)| Ok((name.to_owned(), Attribute::try_from(value)?)));
        entries.collect::<Result<_, UnwritableAttr>>().map_err(|e| PyMemoryError::new_err(e.to_string()))
    }

    /// # Errors
    /// If a program cannot represent the attributes: memory cannot be allocated, or an attribute is
    /// a complex number.
    pub(crate) fn new(inner: AttrValues) -> PyResult<Attributes> {
        let entry = |(name, value)| Ok(format!("{name} = {}", Attribute::try_from(value)?));
        let entries: Result<Vec<String>, UnwritableAttr> = inner.iter().map(entry).collect();
        let entries = entries.map_err(|e| match e {
            UnwritableAttr::Memory(_) => PyMemoryError::new_err(e.to_string()),
            UnwritableAttr::Complex => PyTypeError::new_err(e.to_string()),
        })?;
        Ok(Attributes { inner, text: format!("{{{}}}", entries.join(", ")) })
    }
}

/// Converts a Python value to an attribute: a number, a string, a sequence of numbers, or a dictionary.
pub(crate) fn from_python(value: &Bound<'_, PyAny>) -> PyResult<AttrValue> {
    nested(value, 0)
}

/// Converts the attributes of a call of a target without a signature. Each attribute keeps exactly the type
/// of its value. A value with a NumPy type is passed as a tuple: name of the element type, bytes of the
/// elements, true for a scalar. All other values are converted by [`from_python`].
#[pyfunction]
pub(crate) fn exact_attributes(entries: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Attributes> {
    let mut attrs = AttrValues::new();
    for (name, value) in entries {
        let exact = exact(&value, 0)
            .map_err(|e| PyTypeError::new_err(format!("attribute {name} {}", e.value(value.py()))))?;
        attrs.insert(name, exact);
    }
    Attributes::new(attrs)
}

fn exact(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<AttrValue> {
    if let Ok(numpy) = value.cast::<PyTuple>() {
        let (dtype, bytes, is_scalar): (String, Vec<u8>, bool) = numpy.extract()?;
        let unsupported = || PyTypeError::new_err(format!("is of type {dtype}, which no attribute has"));
        let array = AttrArray::new(element_type(&dtype)?, bytes).map_err(|_| unsupported())?;
        return if is_scalar { array.get(0).ok_or_else(unsupported) } else { Ok(array.into()) };
    }
    match value.cast::<PyDict>() {
        Ok(_) if depth == MAX_DICT_NESTING => Err(too_deep()),
        Ok(entries) => {
            let entries =
                entries.iter().map(|(name, value)| Ok((name.extract()?, exact(&value, depth + 1)?)));
            Ok(AttrValue::Dict(entries.collect::<PyResult<_>>()?))
        }
        Err(_) => from_python(value),
    }
}

#[cold]
fn too_deep() -> PyErr {
    PyTypeError::new_err(format!("has dictionaries more than {MAX_DICT_NESTING} deep"))
}

/// Maximum nesting depth of dictionaries. A limit is needed because a dictionary may contain itself.
const MAX_DICT_NESTING: usize = 64;

/// Converts a value inside `depth` dictionaries.
fn nested(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<AttrValue> {
    let ty = || value.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    let scalar = |value: &Bound<'_, PyAny>| -> Option<AttrValue> {
        if let Ok(flag) = value.extract::<bool>() {
            return Some(flag.into());
        }
        // An object that defines `__float__` is not an integer; an object that defines only `__index__` is an
        // integer.
        if value.hasattr("__index__").unwrap_or(false)
            && !value.is_instance_of::<PyFloat>()
            && let Ok(number) = value.extract::<i128>()
        {
            return Some(AttrValue::Int(number, ScalarType::I64));
        }
        value.extract::<f64>().ok().map(AttrValue::from)
    };
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str()?.into());
    }
    if let Ok(entries) = value.cast::<PyMapping>() {
        if depth == MAX_DICT_NESTING {
            return Err(too_deep());
        }
        let mut dict = Vec::new();
        for entry in entries.items()?.iter() {
            let (name, value): (String, Bound<'_, PyAny>) = entry.extract()?;
            dict.push((name, nested(&value, depth + 1)?));
        }
        return Ok(AttrValue::Dict(dict));
    }
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        let too_large =
            || PyTypeError::new_err(format!("is {value}, which is out of range for every attribute"));
        return scalar(value).ok_or_else(too_large);
    }
    let no_scalar = value.hasattr("shape")? && value.getattr("shape")?.len()? > 0;
    if !no_scalar && let Some(number) = scalar(value) {
        return Ok(number);
    }
    let wrong = || {
        let what = match value.hasattr("aval").unwrap_or(false)
            && !value.hasattr("addressable_shards").unwrap_or(false)
        {
            true => {
                "is traced, but must be known when the program is traced: attributes are constants. Make it a static argument \
                 (jax.jit: static_argnames), or, where it changes within a program, an operand of the op, in its signature \
                 with brackets (`eps: f32[]`)"
            }
            false => "is neither a number, a string, a list of numbers nor a dictionary",
        };
        PyTypeError::new_err(format!("{what}; it is a {}", ty()))
    };
    let items = value.try_iter().map_err(|_| wrong())?;
    let items = items.map(|item| scalar(&item?).ok_or_else(wrong)).collect::<PyResult<Vec<_>>>()?;
    AttrValue::list(&items).map_err(|e| PyTypeError::new_err(format!("is not an array: {e}")))
}

/// Converts an attribute to a Python value.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &AttrValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        AttrValue::Bool(v) => PyBool::new(py, *v).to_owned().into_any(),
        AttrValue::Int(v, _) => v.into_pyobject(py)?.into_any(),
        // The shortest form of the number, as its author wrote it: 1e-6, not all digits of the nearest f32.
        AttrValue::Float(v, ScalarType::F32) => {
            PyFloat::new(py, (*v as f32).to_string().parse().unwrap_or(*v)).into_any()
        }
        AttrValue::Float(v, _) => PyFloat::new(py, *v).into_any(),
        AttrValue::C64(v) => PyComplex::from_doubles(py, v.re.into(), v.im.into()).into_any(),
        AttrValue::C128(v) => PyComplex::from_doubles(py, v.re, v.im).into_any(),
        AttrValue::Str(v) => PyString::new(py, v).into_any(),
        AttrValue::Bytes(v) => PyBytes::new(py, v).into_any(),
        AttrValue::Array(items) => {
            let items = items.iter().map(|v| to_python(py, &v)).collect::<PyResult<Vec<_>>>()?;
            PyTuple::new(py, items)?.into_any()
        }
        AttrValue::Dict(entries) => {
            let dict = PyDict::new(py);
            for (name, value) in entries {
                dict.set_item(name, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
