//! Derivatives of calls, for Python. The engine decides which values a derivative needs and which op it
//! calls.

use farcall::CodedError;
use std::sync::Arc;

use farcall::registry::Target;
use farcall::{Argument, DerivativeCall, DerivativeError, OpCall, OpError, Saved};
use pyo3::prelude::*;

use crate::attributes::Attributes;
use crate::dim::{self, Dim};
use crate::error::{exception, guarded};

/// The derivative of one call with respect to some of its operands, as a linear map.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Linear {
    inner: farcall::Linear<Dim>,
}

/// Element type and dimensions.
type Tensor = (&'static str, Vec<Dim>);

/// Source of a derivative op's operand: `("value", number)`, `("cotangent", number)` or `("zeros", tensor)`.
#[derive(IntoPyObject)]
pub(crate) enum DerivativeOperand {
    Value(&'static str, usize),
    Zeros(&'static str, Tensor),
}

/// Target, attributes, operands, results.
type Call = (String, Attributes, Vec<DerivativeOperand>, Vec<Option<usize>>);

impl Linear {
    pub(crate) fn new(
        target: &Arc<Target>,
        operands: Vec<(farcall_sig::DType, Vec<Dim>)>,
        attrs: &Attributes,
        moving: Vec<usize>,
    ) -> PyResult<Linear> {
        let inner = farcall::Linear::new(target, operands, &attrs.inner, moving);
        Ok(Linear { inner: inner.map_err(|e| raised(&e))? })
    }
}

#[pymethods]
impl Linear {
    /// The op that returns the results followed by the residuals, with its attributes; `None` if the op
    /// itself is sufficient.
    #[getter]
    fn forward(&self) -> PyResult<Option<(String, Attributes)>> {
        let words = |OpCall { target, attrs }| Ok((target, Attributes::new(attrs)?));
        guarded(|| self.inner.forward().map(words).transpose())
    }

    /// Number of results of the call.
    #[getter]
    fn result_count(&self) -> usize {
        self.inner.call().results.len()
    }

    /// The operands with respect to which the derivative is taken: the given operands without those in
    /// `zero`.
    #[getter]
    fn moving(&self) -> Vec<usize> {
        self.inner.moving().to_vec()
    }

    /// The operands with respect to which the derivative is zero by declaration.
    #[getter]
    fn zero(&self) -> PyResult<Vec<usize>> {
        guarded(|| Ok(self.inner.zero()))
    }

    /// The results that have tangents.
    #[getter]
    fn results(&self) -> PyResult<Vec<usize>> {
        guarded(|| Ok(self.inner.results()))
    }

    /// Types of the results that have tangents.
    #[getter]
    fn result_types(&self) -> PyResult<Vec<Tensor>> {
        let results = &self.inner.call().results;
        let ty = |i: usize| tensor((results[i].dtype, results[i].dims.clone()));
        guarded(|| Ok(self.inner.results().into_iter().map(ty).collect()))
    }

    /// The saved values that derivatives need, in this order: `"operand"`, `"result"` or `"residual"`, with
    /// an index.
    #[getter]
    fn saved(&self) -> PyResult<Vec<(&'static str, usize)>> {
        let words = |saved| match saved {
            Saved::Operand(i) => ("operand", i),
            Saved::Result(i) => ("result", i),
            Saved::Residual(i) => ("residual", i),
        };
        guarded(|| Ok(self.inner.saved().into_iter().map(words).collect()))
    }

    /// Returns the call of the tangent op; its results are the tangents of `results`.
    fn tangent(&self) -> PyResult<Call> {
        guarded(|| call(self.inner.tangent().map_err(|e| raised(&e))?))
    }

    /// Returns the call of the backward op. `zero` has a flag for each cotangent of `results` that is zero.
    /// The call's results are the cotangents of the operands in `moving`; `None` for an operand without a
    /// cotangent.
    #[expect(clippy::needless_pass_by_value, reason = "made of a Python list")]
    fn backward(&self, zero: Vec<bool>) -> PyResult<Call> {
        guarded(|| call(self.inner.backward(&zero).map_err(|e| raised(&e))?))
    }

    /// Returns the call that transposes the op with respect to the operands in `moving`. The call's results
    /// are the cotangents of these operands. In the call, `("value", number)` is an operand of the op.
    #[expect(clippy::needless_pass_by_value, reason = "made of a Python list")]
    fn transpose(&self, zero: Vec<bool>) -> PyResult<Call> {
        guarded(|| call(self.inner.transpose(&zero).map_err(|e| raised(&e))?))
    }

    /// Raises an exception if the derivative cannot be differentiated with respect to the saved values.
    fn second(&self) -> PyResult<()> {
        guarded(|| self.inner.second().map_err(|e| raised(&e)))
    }

    /// Returns a flag for each value that gets the mapped axis as its first dimension, and the operand types
    /// of the larger call; `None` if the derivative must be batched in a loop.
    #[expect(clippy::needless_pass_by_value, reason = "made of a Python list")]
    fn batch(&self, mapped: Vec<bool>, size: Dim) -> PyResult<Option<(Vec<bool>, Vec<Tensor>)>> {
        let batch = guarded(|| self.inner.batch(&mapped, &size).map_err(|e| raised(&e)))?;
        let tensors = |types: Vec<(farcall_sig::DType, Vec<Dim>)>| types.into_iter().map(tensor).collect();
        Ok(batch.map(|batch| (batch.batched, tensors(batch.operands))))
    }
}

fn call(call: DerivativeCall<Dim>) -> PyResult<Call> {
    let given = |argument| match argument {
        Argument::Value(i) => DerivativeOperand::Value("value", i),
        Argument::Cotangent(i) => DerivativeOperand::Value("cotangent", i),
        Argument::Zeros(ty) => DerivativeOperand::Zeros("zeros", tensor(ty)),
    };
    let operands = call.operands.into_iter().map(given).collect();
    Ok((call.op.target, Attributes::new(call.op.attrs)?, operands, call.results))
}

fn tensor((dtype, dims): (farcall_sig::DType, Vec<Dim>)) -> Tensor {
    (dtype.name(), dims)
}

/// Returns the exception for an error. For a missing derivative, the message contains JAX's terms and JAX's
/// alternative.
fn raised(error: &OpError) -> PyErr {
    let message = match error {
        OpError::Derivative { op, what } => match what {
            DerivativeError::None => format!(
                "{op} has no gradient: add #[vjp(backward = …)] for jax.grad or #[jvp(tangent = …)] for jax.jvp to its \
                 declaration, or use jax.lax.stop_gradient on its operands or results; see: farcall guide derivatives"
            ),
            DerivativeError::NoForward => format!(
                "{op} has no forward derivative, which jax.jvp, jax.jacfwd and jax.linearize need: add \
                 #[jvp(tangent = …)] to its declaration, or use jax.grad, jax.vjp or jax.jacrev; \
                 see: farcall guide derivatives"
            ),
            DerivativeError::NoReverse { tangent } => format!(
                "{op} has no reverse derivative, which jax.grad, jax.vjp and jax.jacrev need: add #[transpose(…)] to \
                 the declaration of {tangent}, which is linear in the tangents, or #[vjp(backward = …)] to that of \
                 {op}; or use jax.jvp or jax.jacfwd; see: farcall guide derivatives"
            ),
            DerivativeError::NotLinear { operand } => format!(
                "{op} cannot be transposed with respect to {operand}, which jax.linear_transpose, \
                 jax.lax.custom_linear_solve and what uses them (jax.scipy.sparse.linalg.gmres) need: if it is linear in \
                 {operand}, add #[transpose(…)] to its declaration, or #[transpose(…)] to that of its tangent op"
            ),
            DerivativeError::Operand { operand } => {
                format!("{error}: use jax.lax.stop_gradient({operand})")
            }
            _ => error.to_string(),
        },
        OpError::Mismatch { mismatch, .. } => dim::explained(mismatch.kind, error.to_string()),
        _ => error.to_string(),
    };
    exception(error.code(), message)
}
