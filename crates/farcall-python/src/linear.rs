//! The derivative of a call, for Python. The engine decides what it needs and which op is called.

use std::sync::Arc;

use farcall::registry::Target;
use farcall::{Argument, DerivativeCall, DerivativeError, OpCall, OpError, Saved};
use pyo3::prelude::*;

use crate::attributes::Attributes;
use crate::dim::{self, Dim};
use crate::error::{exception, guarded};
use crate::op::Operands;

/// The derivative of one call with respect to some of its operands, as a linear map.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Linear {
    inner: farcall::Linear<Dim>,
}

/// Element type and dimensions.
type Tensor = (&'static str, Vec<Dim>);

/// What an operand of a derivative op is: `("value", number)`, `("cotangent", number)` or `("zeros", tensor)`.
#[derive(IntoPyObject)]
pub(crate) enum Given {
    Value(&'static str, usize),
    Zeros(&'static str, Tensor),
}

/// Target, attributes, operands, results.
type Call = (String, Attributes, Vec<Given>, Vec<Option<usize>>);

impl Linear {
    pub(crate) fn new(
        target: &Arc<Target>,
        operands: Operands,
        attrs: &Attributes,
        moving: Vec<usize>,
    ) -> PyResult<Linear> {
        let inner = farcall::Linear::new(target, operands.0, &attrs.inner, moving);
        Ok(Linear { inner: inner.map_err(|e| raised(&e))? })
    }
}

#[pymethods]
impl Linear {
    /// The op that gives the results and then the residuals, with its attributes; `None` if the op itself is enough.
    #[getter]
    fn forward(&self) -> PyResult<Option<(String, Attributes)>> {
        let words = |OpCall { target, attrs }| Ok((target, Attributes::new(attrs)?));
        guarded(|| self.inner.forward().map(words).transpose())
    }

    /// How many results the call has.
    #[getter]
    fn result_count(&self) -> usize {
        self.inner.call().results.len()
    }

    /// The operands with respect to which the derivative is taken: the given ones without `zero`.
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

    /// Their types.
    #[getter]
    fn result_types(&self) -> PyResult<Vec<Tensor>> {
        let results = &self.inner.call().results;
        let ty = |i: usize| tensor((results[i].dtype, results[i].dims.clone()));
        guarded(|| Ok(self.inner.results().into_iter().map(ty).collect()))
    }

    /// The values that derivatives need, in this order: `"operand"`, `"result"` or `"residual"`, and which.
    #[getter]
    fn saved(&self) -> PyResult<Vec<(&'static str, usize)>> {
        let words = |saved| match saved {
            Saved::Operand(i) => ("operand", i),
            Saved::Result(i) => ("result", i),
            Saved::Residual(i) => ("residual", i),
        };
        guarded(|| Ok(self.inner.saved().into_iter().map(words).collect()))
    }

    /// The call of the tangent op; its results are the tangents of `results`.
    fn tangent(&self) -> PyResult<Call> {
        guarded(|| call(self.inner.tangent().map_err(|e| raised(&e))?))
    }

    /// The call of the backward op, where these cotangents of `results` are zero. Its results are the cotangents of the
    /// operands that move; `None` for one that has none.
    #[expect(clippy::needless_pass_by_value, reason = "made of a Python list")]
    fn backward(&self, zero: Vec<bool>) -> PyResult<Call> {
        guarded(|| call(self.inner.backward(&zero).map_err(|e| raised(&e))?))
    }

    /// The call that transposes the op with respect to the operands that move. Its results are their cotangents, and values
    /// are operands of the op.
    #[expect(clippy::needless_pass_by_value, reason = "made of a Python list")]
    fn transpose(&self, zero: Vec<bool>) -> PyResult<Call> {
        guarded(|| call(self.inner.transpose(&zero).map_err(|e| raised(&e))?))
    }

    /// Raises an exception if there is no derivative with respect to what is saved.
    fn second(&self) -> PyResult<()> {
        guarded(|| self.inner.second().map_err(|e| raised(&e)))
    }

    /// Which values get the mapped axis in front, and the types of the operands of the larger call; `None`: a loop.
    #[expect(clippy::needless_pass_by_value, reason = "made of a Python list")]
    fn batch(&self, mapped: Vec<bool>, size: Dim) -> PyResult<Option<(Vec<bool>, Vec<Tensor>)>> {
        let batch = guarded(|| self.inner.batch(&mapped, &size).map_err(|e| raised(&e)))?;
        let tensors = |types: Vec<(farcall_sig::DType, Vec<Dim>)>| types.into_iter().map(tensor).collect();
        Ok(batch.map(|batch| (batch.batched, tensors(batch.operands))))
    }
}

fn call(call: DerivativeCall<Dim>) -> PyResult<Call> {
    let given = |argument| match argument {
        Argument::Value(i) => Given::Value("value", i),
        Argument::Cotangent(i) => Given::Value("cotangent", i),
        Argument::Zeros(ty) => Given::Zeros("zeros", tensor(ty)),
    };
    let operands = call.operands.into_iter().map(given).collect();
    Ok((call.op.target, Attributes::new(call.op.attrs)?, operands, call.results))
}

fn tensor((dtype, dims): (farcall_sig::DType, Vec<Dim>)) -> Tensor {
    (dtype.name(), dims)
}

/// The exception for an error; a missing derivative with what JAX calls it, and what it has for it.
fn raised(error: &OpError) -> PyErr {
    let message = match error {
        OpError::Derivative { op, what } => match what {
            DerivativeError::None => format!(
                "{op} has no gradient: add #[vjp(backward = …)] for jax.grad or #[jvp(tangent = …)] for jax.jvp to its \
                 declaration, or use jax.lax.stop_gradient on its operands or results"
            ),
            DerivativeError::NoForward => format!(
                "{op} has no forward derivative, which jax.jvp, jax.jacfwd and jax.linearize need: add \
                 #[jvp(tangent = …)] to its declaration, or use jax.grad, jax.vjp or jax.jacrev"
            ),
            DerivativeError::NoReverse { tangent } => format!(
                "{op} has no reverse derivative, which jax.grad, jax.vjp and jax.jacrev need: add #[transpose(…)] to \
                 the declaration of {tangent}, which is linear in the tangents, or #[vjp(backward = …)] to that of \
                 {op}; or use jax.jvp or jax.jacfwd"
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
