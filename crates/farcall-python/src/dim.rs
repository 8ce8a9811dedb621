//! Sizes that are numbers or JAX's symbolic dimensions.

use std::fmt;
use std::sync::Arc;

use farcall_sig::signature::{BinaryOp, Comparison, MismatchKind, Size, SizeError};
use pyo3::Borrowed;
use pyo3::prelude::*;

/// A size of a dimension.
#[derive(Clone)]
pub(crate) enum Dim {
    Known(i64),
    /// A symbolic dimension of JAX. It supports Python's operators, and the methods `min`, `rmin`, `max` and
    /// `rmax`; an undecidable operation raises an exception.
    Open(Arc<Py<PyAny>>),
}

impl<'py> FromPyObject<'_, 'py> for Dim {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Dim> {
        Ok(match object.extract() {
            Ok(number) => Dim::Known(number),
            Err(_) => Dim::Open(Arc::new(object.to_owned().unbind())),
        })
    }
}

impl<'py> IntoPyObject<'py> for &Dim {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = std::convert::Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Self::Error> {
        Ok(match self {
            Dim::Known(number) => number.into_pyobject(py)?.into_any(),
            Dim::Open(object) => object.bind(py).clone(),
        })
    }
}

impl<'py> IntoPyObject<'py> for Dim {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = std::convert::Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Self::Error> {
        (&self).into_pyobject(py)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Known(number) => number.fmt(f),
            Dim::Open(object) => Python::attach(|py| object.bind(py).fmt(f)),
        }
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Dim {
    fn eq(&self, other: &Dim) -> bool {
        match (self, other) {
            (Dim::Known(left), Dim::Known(right)) => left == right,
            _ => Python::attach(|py| {
                let (Ok(left), Ok(right)) = (self.into_pyobject(py), other.into_pyobject(py));
                left.eq(right).unwrap_or(false)
            }),
        }
    }
}

impl Dim {
    /// Evaluates a Python operation on two sizes. JAX raises an exception if the result cannot be decided.
    fn ask<T>(
        left: &Dim,
        right: &Dim,
        ask: impl for<'py> FnOnce(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Result<T, SizeError> {
        Python::attach(|py| {
            let (Ok(left), Ok(right)) = (left.into_pyobject(py), right.into_pyobject(py));
            ask(&left, &right).map_err(|_| SizeError::Open)
        })
    }
}

impl Size for Dim {
    fn of(number: i64) -> Dim {
        Dim::Known(number)
    }

    fn known(&self) -> Option<i64> {
        match self {
            Dim::Known(number) => Some(*number),
            Dim::Open(_) => None,
        }
    }

    fn compute(op: BinaryOp, left: &Dim, right: &Dim) -> Result<Dim, SizeError> {
        if let (Dim::Known(left), Dim::Known(right)) = (left, right) {
            return i64::compute(op, left, right).map(Dim::Known);
        }
        if let (BinaryOp::Div | BinaryOp::Rem, Dim::Known(0)) = (op, right) {
            return Err(SizeError::DivisionByZero);
        }
        Dim::ask(left, right, |left, right| {
            let value = match op {
                BinaryOp::Add => left.add(right),
                BinaryOp::Sub => left.sub(right),
                BinaryOp::Mul => left.mul(right),
                BinaryOp::Div => left.floor_div(right),
                BinaryOp::Rem => left.rem(right),
            };
            value?.extract()
        })
    }

    fn extreme(greatest: bool, left: &Dim, right: &Dim) -> Result<Dim, SizeError> {
        let name = if greatest { "max" } else { "min" };
        match (left, right) {
            (Dim::Known(left), Dim::Known(right)) => i64::extreme(greatest, left, right).map(Dim::Known),
            (Dim::Open(_), _) => {
                Dim::ask(left, right, |left, right| left.call_method1(name, (right,))?.extract())
            }
            (_, Dim::Open(_)) => {
                let name = format!("r{name}");
                Dim::ask(left, right, |left, right| right.call_method1(name.as_str(), (left,))?.extract())
            }
        }
    }

    fn compare(comparison: Comparison, left: &Dim, right: &Dim) -> Result<bool, SizeError> {
        if let (Dim::Known(left), Dim::Known(right)) = (left, right) {
            return i64::compare(comparison, left, right);
        }
        let (equal, unequal) = (comparison == Comparison::Eq, comparison == Comparison::Ne);
        if equal || unequal {
            // If JAX cannot compare two sizes, it considers them different and raises no exception.
            if left == right {
                return Ok(equal);
            }
            let apart = [Comparison::Lt, Comparison::Gt].map(|one| Dim::compare(one, left, right));
            return if apart.contains(&Ok(true)) { Ok(unequal) } else { Err(SizeError::Open) };
        }
        Dim::ask(left, right, |left, right| match comparison {
            Comparison::Lt => left.lt(right),
            Comparison::Le => left.le(right),
            Comparison::Gt => left.gt(right),
            _ => left.ge(right),
        })
    }
}

/// Extends the message of a mismatch with advice about symbolic sizes.
pub(crate) fn explained(kind: MismatchKind, message: String) -> String {
    match kind {
        MismatchKind::Open => format!(
            "{message}: export for known sizes, or declare constraints on the symbolic sizes that decide it \
             (jax.export.symbolic_shape(…, constraints=[…]))"
        ),
        _ => message,
    }
}
