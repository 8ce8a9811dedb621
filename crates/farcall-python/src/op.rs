//! Declared ops: what follows from a signature, for the package to obey.
//!
//! All that is decided about an op is decided by the engine's crates; this file puts it into Python's
//! words. A call is described by the element type and shape of each operand, and by [`Attributes`].

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use farcall::CompileOptions;
use farcall::registry::{self, Declaration, Handler};
use farcall_ffi::abi::Stage;
use farcall_ir::{Attr, TensorType};
use farcall_sig::signature::{
    Arity, BatchSummary, Batching, GivenType, Inference, JvpSource, Mismatch, NumberKind, OperandType,
    VjpSource,
};
use farcall_sig::{AttrValue, Attrs, DType, ScalarType, Signature, UnknownName};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyFloat, PyInt, PyMapping, PyString, PyTuple};

use crate::error::{exception, guarded};
use crate::executable::Executable;
use crate::registry::Registry;

/// An op: a target with a signature.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Op {
    target: Arc<registry::Target>,
}

/// The constants of a call, of exactly the declared types, with defaults filled in.
#[pyclass(frozen, eq, hash, module = "farcall._farcall")]
#[derive(PartialEq)]
pub(crate) struct Attributes {
    inner: Attrs,
    /// As StableHLO writes it; tells values apart that differ in their bits.
    text: String,
}

impl Hash for Attributes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// Element type, dimensions, and dimensions from the fastest in memory to the slowest.
type Tensor = (&'static str, Vec<i64>, Vec<usize>);

/// Name, type, whether it must be given, default.
type DeclaredAttribute<'a, 'py> = (&'a str, String, bool, Option<Bound<'py, PyAny>>);

/// What a signature says of one call.
#[pyclass(frozen, get_all, module = "farcall._farcall")]
pub(crate) struct Call {
    /// For each operand, which declared one it is.
    operand_slots: Vec<usize>,
    /// For each operand, its dimensions from the fastest in memory to the slowest.
    operand_layouts: Vec<Vec<usize>>,
    /// For each result, which declared one it is.
    result_slots: Vec<usize>,
    results: Vec<Tensor>,
    /// Pairs of a result and the operand whose memory it is in.
    aliases: Vec<(usize, usize)>,
    /// Number of leading batch dimensions.
    batch_rank: usize,
}

impl Op {
    /// The op that a target is, if it is declared.
    pub(crate) fn of(target: &Arc<registry::Target>) -> Option<Op> {
        target.declaration().map(|_| Op { target: Arc::clone(target) })
    }

    fn declaration(&self) -> PyResult<&Declaration> {
        let missing = || PyValueError::new_err(format!("`{}` has no signature", self.target.name()));
        self.target.declaration().ok_or_else(missing)
    }

    fn declared(&self) -> PyResult<&Signature> {
        Ok(&self.declaration()?.signature)
    }

    fn mismatch(&self, mismatch: &Mismatch) -> PyErr {
        exception(mismatch.kind.into(), mismatch.in_op(self.target.name()))
    }
}

#[pymethods]
impl Op {
    /// Name that programs call.
    #[getter]
    fn name(&self) -> &str {
        self.target.name()
    }

    /// Platform, by its canonical name.
    #[getter]
    fn platform(&self) -> &str {
        self.target.platform().name()
    }

    /// The author's description.
    #[getter]
    fn docs(&self) -> &str {
        self.target.docs()
    }

    /// The signature, as it is written.
    #[getter]
    fn signature(&self) -> PyResult<String> {
        Ok(self.declared()?.to_string())
    }

    /// The signature explained.
    #[getter]
    fn markdown(&self) -> PyResult<String> {
        Ok(self.declaration()?.markdown(self.target.name()))
    }

    /// How calls are vmapped, in words.
    #[getter]
    fn batching(&self) -> PyResult<String> {
        Ok(self.declaration()?.batching().to_string())
    }

    /// Where its library is.
    #[getter]
    fn origin(&self) -> String {
        self.target.origin().to_string()
    }

    /// Name of each declared operand, whether it is `required`, `optional` or `variadic`, and whether it has batch
    /// dimensions.
    #[getter]
    fn operands(&self) -> PyResult<Vec<(&str, &'static str, bool)>> {
        let arity = |arity| match arity {
            Arity::Required => "required",
            Arity::Optional => "optional",
            Arity::Variadic => "variadic",
        };
        let operands = self.declared()?.operands().iter();
        Ok(operands.map(|o| (o.name.text.as_str(), arity(o.arity), o.shape.batch.is_some())).collect())
    }

    /// Names of the declared results.
    #[getter]
    fn results(&self) -> PyResult<Vec<&str>> {
        Ok(self.declared()?.results().iter().map(|r| r.name.text.as_str()).collect())
    }

    /// True if a result is one for each variadic operand.
    #[getter]
    fn has_variadic_result(&self) -> PyResult<bool> {
        Ok(self.declared()?.results().iter().any(|r| r.variadic))
    }

    /// Name, type, whether it must be given, and default (`None` if there is none) of each attribute.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Vec<DeclaredAttribute<'_, 'py>>> {
        let attrs = self.declared()?.attrs().iter();
        let attrs = attrs.map(|a| {
            let default = a.default.as_ref().map(|v| to_python(py, v)).transpose()?;
            Ok((a.name.text.as_str(), a.ty.to_string(), a.is_required(), default))
        });
        attrs.collect()
    }

    /// The element types that the numbers among a call's operands can have. Of each operand: its element type, or the
    /// kind of its numbers: `"none"`, `"bool"`, `"int"`, `"index"` (an array of NumPy's integers), `"float"`,
    /// `"complex"`.
    ///
    /// Groups of operands whose types go together, and the choices for each, the preferred ones first.
    #[expect(clippy::type_complexity, reason = "a list that Python unpacks at once")]
    fn number_types(
        &self,
        given: Vec<String>,
        wide: bool,
    ) -> PyResult<Vec<(Vec<usize>, Vec<Vec<&'static str>>)>> {
        let given = given.iter().map(|word| match word.parse::<NumberKind>() {
            Ok(kind) => Ok(GivenType::Number(kind)),
            Err(_) => Ok(GivenType::Typed(known(word)?)),
        });
        let given = given.collect::<PyResult<Vec<_>>>()?;
        let groups = self.declared()?.number_types(&given, wide).map_err(|e| self.mismatch(&e))?;
        let names = |types: Vec<DType>| types.into_iter().map(DType::name).collect();
        Ok(groups.into_iter().map(|g| (g.operands, g.choices.into_iter().map(names).collect())).collect())
    }

    /// The constants of a call, converted to the declared types. `None` is not given.
    fn convert(&self, given: &Bound<'_, PyDict>) -> PyResult<Attributes> {
        let mut attrs = Attrs::new();
        for (name, value) in given {
            let name: String = name.extract()?;
            if value.is_none() {
                continue;
            }
            let value = from_python(&value).map_err(|e| {
                let op = self.target.name();
                PyTypeError::new_err(format!("{op}: attribute {name} {}", e.value(value.py())))
            })?;
            attrs.insert(name, value);
        }
        let attrs = self.declared()?.convert_attrs(&attrs).map_err(|e| self.mismatch(&e))?;
        Ok(Attributes::new(attrs))
    }

    /// The attributes that this op has too: a derivative is called with those of its op.
    fn select(&self, attrs: &Attributes) -> PyResult<Attributes> {
        let own = self.declared()?.attrs().iter();
        let own = own.filter_map(|a| {
            let name = a.name.text.as_str();
            Some((name, attrs.inner.get(name)?.clone()))
        });
        Ok(Attributes::new(own.collect()))
    }

    /// What a call gives.
    fn infer(&self, operands: Vec<(String, Vec<i64>)>, attrs: &Attributes) -> PyResult<Call> {
        let operands = Operands::new(operands)?;
        guarded(|| {
            let inference = self.declaration()?.infer(&operands.types(), &attrs.inner);
            Ok(Call::from(inference.map_err(|e| self.mismatch(&e))?))
        })
    }

    /// How a call is vmapped, where some operands have the mapped axis, in front:
    ///
    /// - `("unbatched",)`
    /// - `("native", operands to be broadcast)`
    /// - `("custom", axis of each operand or None, attributes, axis of each result)`
    /// - `("loop", why)`
    fn batch_rule<'py>(
        &self,
        py: Python<'py>,
        operands: Vec<(String, Vec<i64>)>,
        batched: Vec<bool>,
        attrs: &Attributes,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let operands = Operands::new(operands)?;
        let rule = guarded(|| Ok(self.declaration()?.batch_rule(&operands.types(), &batched, &attrs.inner)))?;
        match rule.map_err(|e| self.mismatch(&e))? {
            Batching::Unbatched => ("unbatched",).into_pyobject(py),
            Batching::Native { broadcast } => ("native", broadcast).into_pyobject(py),
            Batching::Custom { operands, attrs, results } => {
                ("custom", operands, Attributes::new(attrs), results).into_pyobject(py)
            }
            Batching::Loop { reason } => ("loop", reason).into_pyobject(py),
        }
    }

    /// Names of the operands that have no derivatives by declaration.
    #[getter]
    fn non_differentiable(&self) -> PyResult<Vec<String>> {
        Ok(self.declaration()?.non_differentiable.clone())
    }

    /// The reverse derivative: forward target or `None`, backward target, what each of its operands is
    /// (`"operand"`, `"result"`, `"residual"` or `"cotangent"`, and which), and for each operand of the op
    /// the result that is its cotangent.
    #[getter]
    #[expect(clippy::type_complexity, reason = "a tuple that Python unpacks at once")]
    fn vjp(&self) -> PyResult<Option<(Option<&str>, &str, Vec<(&'static str, usize)>, Vec<Option<usize>>)>> {
        let source = |source: &VjpSource| match *source {
            VjpSource::Operand(i) => ("operand", i),
            VjpSource::Result(i) => ("result", i),
            VjpSource::Residual(i) => ("residual", i),
            VjpSource::Cotangent(i) => ("cotangent", i),
        };
        Ok(self.declaration()?.vjp.as_ref().map(|vjp| {
            let operands = vjp.rule.operands.iter().map(source).collect();
            (vjp.forward.as_deref(), vjp.backward.as_str(), operands, vjp.rule.cotangents.clone())
        }))
    }

    /// The forward derivative: tangent target, what each of its operands is (`"operand"`, `"result"` or
    /// `"tangent"`, and which), and for each result of the op the result that is its tangent.
    #[getter]
    #[expect(clippy::type_complexity, reason = "a tuple that Python unpacks at once")]
    fn jvp(&self) -> PyResult<Option<(&str, Vec<(&'static str, usize)>, Vec<Option<usize>>)>> {
        let source = |source: &JvpSource| match *source {
            JvpSource::Operand(i) => ("operand", i),
            JvpSource::Result(i) => ("result", i),
            JvpSource::Tangent(i) => ("tangent", i),
        };
        Ok(self.declaration()?.jvp.as_ref().map(|jvp| {
            let operands = jvp.rule.operands.iter().map(source).collect();
            (jvp.tangent.as_str(), operands, jvp.rule.tangents.clone())
        }))
    }

    /// True if calls are never dropped or repeated.
    #[getter]
    fn has_side_effect(&self) -> PyResult<bool> {
        Ok(self.declared()?.has_side_effect())
    }

    /// True if a call can be split along its leading batch dimensions, which all results have.
    #[getter]
    fn batch_partitionable(&self) -> PyResult<bool> {
        let batching = self.declaration()?.batching();
        Ok(matches!(batching, BatchSummary::Native | BatchSummary::NativeUnless { .. }))
    }

    /// The handlers by stage, as `jax.ffi.register_ffi_target` takes them.
    fn capsules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let capsules = PyDict::new(py);
        let Handler::Typed(bundle) = self.target.handler() else { return Ok(capsules) };
        let stages = [
            (Stage::INSTANTIATE, bundle.instantiate),
            (Stage::PREPARE, bundle.prepare),
            (Stage::INITIALIZE, bundle.initialize),
            (Stage::EXECUTE, bundle.execute),
        ];
        for (stage, handler) in stages {
            let Some(handler) = handler else { continue };
            // SAFETY: the interpreter's lock is held; the handler stays loaded for the rest of the process.
            // Like those of `jax.ffi.pycapsule`, the capsule has no name.
            let capsule = unsafe {
                let capsule = pyo3::ffi::PyCapsule_New(handler as *mut _, std::ptr::null(), None);
                Bound::from_owned_ptr_or_err(py, capsule)?
            };
            capsules.set_item(stage.name(), capsule.cast_into::<PyCapsule>()?)?;
        }
        Ok(capsules)
    }

    /// Compiles the program of one call.
    fn compile(
        &self,
        operands: Vec<(String, Vec<usize>)>,
        attrs: &Attributes,
        registry: &Bound<'_, Registry>,
    ) -> PyResult<Executable> {
        let types = operands.into_iter().map(|(dtype, dims)| Ok(TensorType::new(known(&dtype)?, dims)));
        let types = types.collect::<PyResult<Vec<_>>>()?;
        guarded(|| {
            let module = farcall::op_program(&self.target, &types, &attrs.inner)
                .map_err(|e| exception(e.code(), e.to_string()))?;
            Executable::new(&module, &registry.get().inner, &CompileOptions::new())
        })
    }

    fn __repr__(&self) -> String {
        format!("<farcall._farcall.Op {}>", self.target.name())
    }
}

#[pymethods]
impl Attributes {
    /// A dictionary attribute of StableHLO.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Short: `{eps=1e-5}`, as a jaxpr shows it.
    fn __repr__(&self) -> String {
        let entries: Vec<String> = self.inner.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{{{}}}", entries.join(", "))
    }
}

impl Attributes {
    fn new(inner: Attrs) -> Attributes {
        let entries: Vec<String> =
            inner.iter().map(|(name, value)| format!("{name} = {}", Attr::from(value))).collect();
        Attributes { inner, text: format!("{{{}}}", entries.join(", ")) }
    }
}

impl From<Inference> for Call {
    fn from(inference: Inference) -> Call {
        let results = inference.results;
        Call {
            operand_slots: inference.operands,
            operand_layouts: inference.operand_layouts,
            result_slots: results.iter().map(|r| r.decl).collect(),
            aliases: results.iter().enumerate().filter_map(|(i, r)| Some((i, r.aliases?))).collect(),
            results: results.into_iter().map(|r| (r.dtype.name(), r.dims, r.minor_to_major)).collect(),
            batch_rank: inference.batch.len(),
        }
    }
}

/// The operands of a call: element types and dimensions.
struct Operands(Vec<(DType, Vec<i64>)>);

impl Operands {
    fn new(operands: Vec<(String, Vec<i64>)>) -> PyResult<Operands> {
        let operands = operands.into_iter().map(|(dtype, dims)| Ok((known(&dtype)?, dims)));
        Ok(Operands(operands.collect::<PyResult<_>>()?))
    }

    fn types(&self) -> Vec<OperandType<'_>> {
        self.0.iter().map(|(dtype, dims)| OperandType { dtype: *dtype, dims }).collect()
    }
}

fn known(dtype: &str) -> PyResult<DType> {
    dtype.parse().map_err(|e: UnknownName| PyTypeError::new_err(e.to_string()))
}

/// A Python value as an attribute: numbers, texts, sequences of numbers, dictionaries.
fn from_python(value: &Bound<'_, PyAny>) -> PyResult<AttrValue> {
    let ty = || value.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    let scalar = |value: &Bound<'_, PyAny>| -> Option<AttrValue> {
        if let Ok(flag) = value.extract::<bool>() {
            return Some(AttrValue::Bool(flag));
        }
        // What rounds itself is no integer; what only counts itself is one.
        if value.hasattr("__index__").unwrap_or(false)
            && !value.is_instance_of::<PyFloat>()
            && let Ok(number) = value.extract::<i128>()
        {
            return Some(AttrValue::Int(number, ScalarType::I64));
        }
        value.extract::<f64>().ok().map(|number| AttrValue::Float(number, ScalarType::F64))
    };
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(AttrValue::Str(text.to_str()?.to_owned()));
    }
    if let Ok(entries) = value.cast::<PyMapping>() {
        let mut dict = Vec::new();
        for entry in entries.items()?.iter() {
            let (name, value): (String, Bound<'_, PyAny>) = entry.extract()?;
            dict.push((name, from_python(&value)?));
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
            true => "is traced, but must be known when the program is (jax.jit: static_argnames)",
            false => "is neither a number, a text, a list of numbers nor a dictionary",
        };
        PyTypeError::new_err(format!("{what}; it is a {}", ty()))
    };
    let items = value.try_iter().map_err(|_| wrong())?;
    let items = items.map(|item| scalar(&item?).ok_or_else(wrong)).collect::<PyResult<Vec<_>>>()?;
    Ok(AttrValue::Array(common_type(&items), items))
}

/// The type of an array of these; what they are converted to is the signature's business.
fn common_type(items: &[AttrValue]) -> ScalarType {
    match items.first() {
        Some(AttrValue::Bool(_)) => ScalarType::Bool,
        _ if items.iter().any(|i| matches!(i, AttrValue::Float(..))) => ScalarType::F64,
        _ => ScalarType::I64,
    }
}

/// An attribute as a Python value.
fn to_python<'py>(py: Python<'py>, value: &AttrValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        AttrValue::Bool(v) => PyBool::new(py, *v).to_owned().into_any(),
        AttrValue::Int(v, _) => v.into_pyobject(py)?.into_any(),
        // As it was written: 1e-6, not the digits of the nearest f32.
        AttrValue::Float(v, ScalarType::F32) => {
            PyFloat::new(py, (*v as f32).to_string().parse().unwrap_or(*v)).into_any()
        }
        AttrValue::Float(v, _) => PyFloat::new(py, *v).into_any(),
        AttrValue::Str(v) => PyString::new(py, v).into_any(),
        AttrValue::Array(_, items) => {
            let items = items.iter().map(|v| to_python(py, v)).collect::<PyResult<Vec<_>>>()?;
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
