//! Declared ops: the consequences of a signature, for the Python package.
//!
//! The engine's crates make all decisions about an op; this file converts them to Python's types. A call is
//! described by the element type and shape of each operand, and by [`Attributes`].

use farcall::CodedError;
use std::collections::HashMap;
use std::sync::Arc;

use farcall::registry::{self, Declaration, Handler};
use farcall::{CompileOptions, OpError};
use farcall_ir::TensorType;
use farcall_sig::signature::{
    Arity, BatchDims, BatchSplit, BatchSummary, Batching, CallFactors, GivenType, Inference, Mismatch,
    NumberKind, OperandType,
};
use farcall_sig::{AttrValues, DType, Signature};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::attributes::{Attributes, from_python, to_python};
use crate::capsule::capsules;
use crate::dim::{self, Dim};
use crate::elements::element_type;
use crate::error::{exception, guarded};
use crate::executable::Executable;
use crate::linear::Linear;

/// An op: a target with a signature.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Op {
    target: Arc<registry::Target>,
}

/// Element type, dimensions, and the dimensions from the fastest in memory to the slowest.
type Tensor = (&'static str, Vec<Dim>, Vec<usize>);

/// Name, type, true if required, default.
type DeclaredAttribute<'a, 'py> = (&'a str, String, bool, Option<Bound<'py, PyAny>>);

/// A call's factors, as in [`CallFactors`](farcall_sig::signature::CallFactors): size and kind of each
/// factor; for each operand and each result, the factors of its dimensions; pairs of an offset operand and
/// its factor.
type Factors = (Vec<(Dim, &'static str)>, Vec<Vec<usize>>, Vec<Vec<usize>>, Vec<(usize, usize)>);

/// Inference results for one call.
#[pyclass(frozen, get_all, module = "farcall._farcall")]
pub(crate) struct Call {
    /// For each operand, the index of its declaration.
    operand_slots: Vec<usize>,
    /// For each operand, its dimensions from the fastest in memory to the slowest.
    operand_layouts: Vec<Vec<usize>>,
    /// For each result, the index of its declaration.
    result_slots: Vec<usize>,
    results: Vec<Tensor>,
    /// Pairs of a result and the operand whose memory holds it.
    aliases: Vec<(usize, usize)>,
    /// For each operand, true if it has batch dimensions.
    has_batch: Vec<bool>,
    /// Number of leading batch dimensions.
    batch_rank: usize,
    /// Number of dimensions that XLA's partitioner treats as batch dimensions. The second number counts
    /// dimensions of size 1, which must be added to all tensors with batch dimensions for the partitioner.
    batch_split: (usize, usize),
}

impl Op {
    /// Returns the op of a target, if it is declared.
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
        let message = mismatch.in_op(self.target.name());
        exception(mismatch.kind.into(), dim::explained(mismatch.kind, message))
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

    /// Text of the signature.
    #[getter]
    fn signature(&self) -> PyResult<String> {
        Ok(self.declared()?.to_string())
    }

    /// Explanation of the signature.
    #[getter]
    fn markdown(&self) -> PyResult<String> {
        Ok(self.declaration()?.markdown(self.target.name()))
    }

    /// Description of how calls are vmapped.
    #[getter]
    fn batching(&self) -> PyResult<String> {
        Ok(self.declaration()?.batching().to_string())
    }

    /// Description of the library's location.
    #[getter]
    fn origin(&self) -> String {
        self.target.origin().to_string()
    }

    /// File of the library; `None` for code of the program itself.
    #[getter]
    fn file(&self) -> Option<&std::path::Path> {
        self.target.origin().file.as_deref()
    }

    /// True for farcall's own ops.
    #[getter]
    fn is_built_in(&self) -> bool {
        self.target.origin().how == registry::How::BuiltIn
    }

    /// Number of the op among all ops that have had its name, starting at 1.
    #[getter]
    fn edition(&self) -> u32 {
        self.target.edition()
    }

    /// The name without its library's namespace.
    #[getter]
    fn local_name(&self) -> &str {
        self.target.local_name()
    }

    /// Addresses of the functions by stage; 0 for a missing stage. Ops of the same name have different
    /// addresses, because libraries stay loaded.
    #[getter]
    fn functions(&self) -> Vec<usize> {
        match self.target.handler() {
            Handler::Typed(bundle) => {
                let stages =
                    [bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute, bundle.record];
                stages.map(|function| function.map_or(0, |function| function as usize)).to_vec()
            }
            Handler::Untyped(function) => vec![*function as usize],
            _ => Vec::new(),
        }
    }

    /// Name of each declared operand, and its arity: `required`, `optional` or `variadic`.
    #[getter]
    fn operands(&self) -> PyResult<Vec<(&str, &'static str)>> {
        let arity = |arity| match arity {
            Arity::Required => "required",
            Arity::Optional => "optional",
            Arity::Variadic => "variadic",
        };
        let operands = self.declared()?.operands().iter();
        Ok(operands.map(|o| (o.name.text.as_str(), arity(o.arity))).collect())
    }

    /// Names of the offset operands, and of their dimensions.
    #[getter]
    fn offsets(&self) -> PyResult<Vec<(&str, &str)>> {
        let signature = self.declared()?;
        let name = |slot: usize| signature.operands()[slot].name.text.as_str();
        Ok(signature.offsets().map(|(slot, dim)| (name(slot), dim)).collect())
    }

    /// Names of the declared results.
    #[getter]
    fn results(&self) -> PyResult<Vec<&str>> {
        Ok(self.declared()?.results().iter().map(|r| r.name.text.as_str()).collect())
    }

    /// Names of the results that occur once for each entry of the variadic operands.
    #[getter]
    fn variadic_results(&self) -> PyResult<Vec<&str>> {
        let results = self.declared()?.results().iter();
        Ok(results.filter(|r| r.variadic).map(|r| r.name.text.as_str()).collect())
    }

    /// Name, type, true if required, and default (`None` if absent) of each attribute.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Vec<DeclaredAttribute<'_, 'py>>> {
        let attrs = self.declared()?.attrs().iter();
        let attrs = attrs.map(|a| {
            let default = a.default.as_ref().map(|v| to_python(py, v)).transpose()?;
            Ok((a.name.text.as_str(), a.ty.to_string(), a.is_required(), default))
        });
        attrs.collect()
    }

    /// Returns the possible element types of the numbers among a call's operands. Each operand is given by
    /// its element type or by the kind of its numbers: `"none"`, `"bool"`, `"int"`, `"index"` (an array of
    /// NumPy's integers), `"float"`, `"complex"`.
    ///
    /// The result lists groups of operands whose types are chosen together, with the choices for each group
    /// in order of preference.
    #[expect(clippy::type_complexity, reason = "a list that Python unpacks at once")]
    fn number_types(
        &self,
        given: Vec<String>,
        wide: bool,
    ) -> PyResult<Vec<(Vec<usize>, Vec<Vec<&'static str>>)>> {
        let given = given.iter().map(|word| match word.parse::<NumberKind>() {
            Ok(kind) => Ok(GivenType::Number(kind)),
            Err(_) => Ok(GivenType::Typed(element_type(word)?)),
        });
        let given = given.collect::<PyResult<Vec<_>>>()?;
        let groups = self.declared()?.number_types(&given, wide).map_err(|e| self.mismatch(&e))?;
        let names = |types: Vec<DType>| types.into_iter().map(DType::name).collect();
        Ok(groups.into_iter().map(|g| (g.operands, g.choices.into_iter().map(names).collect())).collect())
    }

    /// Returns the operands of a call, in order, and its attributes, converted to the declared types. `None`
    /// stands for an absent value. `names` maps Python's parameter names to the op's names.
    fn bind<'py>(
        &self,
        operands: Vec<Option<Bound<'py, PyAny>>>,
        named: Vec<(String, Option<Bound<'py, PyAny>>)>,
        names: HashMap<String, String>,
    ) -> PyResult<(Vec<Bound<'py, PyAny>>, Attributes)> {
        let named = named.into_iter().map(|(name, value)| (names.get(&name).cloned().unwrap_or(name), value));
        let spell = |name: String| {
            let python = names.iter().find(|(_, own)| **own == name);
            python.map_or(name.clone(), |(python, _)| python.clone())
        };
        let arguments = farcall::bind(&self.target, operands, named).map_err(|e| match e {
            OpError::Arguments { op, error } => OpError::Arguments { op, error: error.spelled(spell) },
            other => other,
        });
        let arguments = arguments.map_err(|e| exception(e.code(), e.to_string()))?;
        let mut attrs = AttrValues::new();
        for (name, value) in arguments.attributes {
            let value = from_python(&value).map_err(|e| {
                let op = self.target.name();
                PyTypeError::new_err(format!("{op}: attribute {name} {}", e.value(value.py())))
            })?;
            attrs.insert(name, value);
        }
        let attrs = self.declared()?.convert_attrs(&attrs).map_err(|e| self.mismatch(&e))?;
        Ok((arguments.operands, Attributes::new(attrs)?))
    }

    /// Infers the results of a call.
    fn infer(&self, operands: Vec<(String, Vec<Dim>)>, attrs: &Attributes) -> PyResult<Call> {
        let operands = Operands::new(operands)?;
        guarded(|| {
            let declaration = self.declaration()?;
            let inference = declaration.infer(&operands.types(), &attrs.inner);
            Ok(Call::new(inference.map_err(|e| self.mismatch(&e))?, &declaration.signature))
        })
    }

    /// Returns the batching rule of a call in which some operands have the mapped axis as their first
    /// dimension:
    ///
    /// - `("unbatched",)`
    /// - `("native", operands to be broadcast)`
    /// - `("custom", axis of each operand or None, attributes, axis of each result)`
    /// - `("loop", reason)`
    fn batch_rule<'py>(
        &self,
        py: Python<'py>,
        operands: Vec<(String, Vec<Dim>)>,
        batched: Vec<bool>,
        attrs: &Attributes,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let operands = Operands::new(operands)?;
        let rule = guarded(|| Ok(self.declaration()?.batch_rule(&operands.types(), &batched, &attrs.inner)))?;
        match rule.map_err(|e| self.mismatch(&e))? {
            Batching::Unbatched => ("unbatched",).into_pyobject(py),
            Batching::Native { broadcast } => ("native", broadcast).into_pyobject(py),
            Batching::Custom { operands, attrs, results } => {
                ("custom", operands, Attributes::new(attrs)?, results).into_pyobject(py)
            }
            Batching::Loop { reason } => ("loop", reason).into_pyobject(py),
        }
    }

    /// Names of the op's derivatives in its library: the forward, backward and tangent op, and the transpose,
    /// as far as they are declared.
    #[getter]
    fn derivatives(&self) -> PyResult<Vec<&str>> {
        Ok(self.declaration()?.derivatives())
    }

    /// Name of the op's forward op, if it has one.
    #[getter]
    fn forward(&self) -> PyResult<Option<&str>> {
        Ok(self.declaration()?.vjp.as_ref().and_then(|vjp| vjp.forward.as_deref()))
    }

    /// True if the op is the forward op of another one, generated from a function that returns residuals.
    #[getter]
    fn is_generated(&self) -> PyResult<bool> {
        Ok(self.declaration()?.is_generated())
    }

    /// Returns the derivative of a call with respect to some of its operands.
    fn linear(
        &self,
        operands: Vec<(String, Vec<Dim>)>,
        attrs: &Attributes,
        moving: Vec<usize>,
    ) -> PyResult<Linear> {
        let operands = Operands::new(operands)?;
        guarded(|| Linear::new(&self.target, operands.0, attrs, moving))
    }

    /// Returns the sharding rule, in MLIR syntax, of a call that is split along its batch dimensions only.
    fn batch_sharding_rule(&self, operands: Vec<(String, Vec<i64>)>, attrs: &Attributes) -> PyResult<String> {
        let operands = Operands::new(operands)?;
        guarded(|| {
            let (types, declaration) = (operands.types(), self.declaration()?);
            let call = declaration.infer(&types, &attrs.inner).map_err(|e| self.mismatch(&e))?;
            Ok(declaration.signature.batch_sharding_rule(&types, &call))
        })
    }

    /// Returns the factors of a call: the size and kind of each (`"map"`, `"whole"`, or a reducer such as
    /// `"sum"`); for each operand and for each result, the factors of its dimensions; and pairs of an offset
    /// operand and its factor.
    fn factors(&self, operands: Vec<(String, Vec<Dim>)>, attrs: &Attributes) -> PyResult<Factors> {
        let operands = Operands::new(operands)?;
        guarded(|| {
            let (types, declaration) = (operands.types(), self.declaration()?);
            let call = declaration.infer(&types, &attrs.inner).map_err(|e| self.mismatch(&e))?;
            let CallFactors { factors, operands, results, offsets } =
                declaration.signature.call_factors(&types, &call);
            Ok((factors.into_iter().map(|f| (f.size, f.kind.name())).collect(), operands, results, offsets))
        })
    }

    /// True if calls are never removed or repeated.
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

    /// Returns the handlers by stage, in the form expected by `jax.ffi.register_ffi_target`.
    fn capsules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        capsules(py, self.target.handler())
    }

    /// Compiles the program of one call.
    fn compile(&self, operands: Vec<(String, Vec<usize>)>, attrs: &Attributes) -> PyResult<Executable> {
        let types =
            operands.into_iter().map(|(dtype, dims)| Ok(TensorType::new(element_type(&dtype)?, dims)));
        let types = types.collect::<PyResult<Vec<_>>>()?;
        guarded(|| {
            let module = farcall::op_program(&self.target, &types, &attrs.inner)
                .map_err(|e| exception(e.code(), e.to_string()))?;
            // The target registered under this name may be another version by now.
            let own = farcall::Registry::new();
            own.replace(registry::Target::clone(&self.target));
            Executable::new(module, &own, &CompileOptions::new())
        })
    }

    fn __repr__(&self) -> String {
        format!("<farcall._farcall.Op {}>", self.target.name())
    }
}

impl Call {
    fn new(inference: Inference<Dim>, signature: &Signature) -> Call {
        let BatchSplit { dims, added } = signature.batch_split(&inference);
        let BatchDims { operands: has_batch, rank: batch_rank } = signature.batch_dims(&inference);
        let results = inference.results;
        Call {
            has_batch,
            batch_split: (dims, added),
            operand_slots: inference.operands,
            operand_layouts: inference.operand_layouts,
            result_slots: results.iter().map(|r| r.decl).collect(),
            aliases: results.iter().enumerate().filter_map(|(i, r)| Some((i, r.aliases?))).collect(),
            results: results.into_iter().map(|r| (r.dtype.name(), r.dims, r.minor_to_major)).collect(),
            batch_rank,
        }
    }
}

/// Operands of a call: element types and dimensions.
pub(crate) struct Operands<S = Dim>(pub(crate) Vec<(DType, Vec<S>)>);

impl<S> Operands<S> {
    pub(crate) fn new(operands: Vec<(String, Vec<S>)>) -> PyResult<Operands<S>> {
        let operands = operands.into_iter().map(|(dtype, dims)| Ok((element_type(&dtype)?, dims)));
        Ok(Operands(operands.collect::<PyResult<_>>()?))
    }

    fn types(&self) -> Vec<OperandType<'_, S>> {
        self.0.iter().map(|(dtype, dims)| OperandType { dtype: *dtype, dims }).collect()
    }
}
