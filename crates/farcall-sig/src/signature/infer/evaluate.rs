//! Evaluates the expressions of a signature for one call.

use super::super::ast::*;
use super::super::size::{Size, SizeError};
use super::{Call, CallPart, MismatchKind, Result, mismatch};

impl<S: Size> Call<'_, S> {
    /// Returns the value of an integer attribute.
    pub(super) fn attr_size(&self, name: &str) -> Option<i128> {
        self.attrs.get(name)?.as_int()
    }

    pub(super) fn size(&self, expr: &Expr, place: CallPart) -> Result<S> {
        match self.eval(expr) {
            Ok(size) => Ok(size),
            Err(EvalError::Unknown(name)) => mismatch(MismatchKind::Count, place, self.needs_one(&name)),
            Err(EvalError::Size(error)) => {
                let values = self.with_values(&[expr]);
                let (kind, what) = match error {
                    SizeError::Overflow => (MismatchKind::Shape, "is too large"),
                    SizeError::DivisionByZero => (MismatchKind::Shape, "divides by zero"),
                    SizeError::Open => (MismatchKind::Open, "has no value yet"),
                };
                mismatch(kind, place, format!("{expr} {what}{values}"))
            }
        }
    }

    fn eval(&self, expr: &Expr) -> std::result::Result<S, EvalError> {
        match expr {
            Expr::Literal(value, _) => Ok(S::of(*value)),
            Expr::Name(name) => match (self.attr_size(&name.text), self.dims.get(name.text.as_str())) {
                (Some(value), _) => number(value),
                (None, Some((size, _))) => Ok(size.clone()),
                (None, None) => Err(EvalError::Unknown(name.text.clone())),
            },
            Expr::Binary(op, left, right) => Ok(S::compute(*op, &self.eval(left)?, &self.eval(right)?)?),
            Expr::Call(function, arguments, _) => {
                let values =
                    arguments.iter().map(|a| self.eval(a)).collect::<std::result::Result<Vec<_>, _>>()?;
                match (function, values.as_slice()) {
                    (ExprFn::CeilDiv, [left, right]) => {
                        let negated = |size| S::compute(BinaryOp::Sub, &S::of(0), size);
                        Ok(negated(&S::compute(BinaryOp::Div, &negated(left)?, right)?)?)
                    }
                    (ExprFn::Min, values) => extreme(false, values, expr),
                    (ExprFn::Max | ExprFn::CeilDiv, values) => extreme(true, values, expr),
                }
            }
            Expr::Fold(fold, name) => {
                let sizes = self.each.get(name.text.as_str()).map_or(&[][..], Vec::as_slice);
                match fold {
                    Fold::Sum => {
                        let add = |sum, size| S::compute(BinaryOp::Add, &sum, size);
                        Ok(sizes.iter().try_fold(S::of(0), add)?)
                    }
                    Fold::Min => extreme(false, sizes, expr),
                    Fold::Max => extreme(true, sizes, expr),
                }
            }
            Expr::Len(operand) => {
                let slot = self.signature.operands.iter().position(|o| o.name.text == operand.text);
                let count = self.slots.iter().filter(|s| Some(**s) == slot).count();
                number(count as i128)
            }
        }
    }

    /// Formats the values of the names in these expressions: ` (n = 3, k = 5)`.
    pub(super) fn with_values(&self, exprs: &[&Expr]) -> String {
        let mut seen: Vec<String> = Vec::new();
        for expr in exprs {
            if matches!(expr, Expr::Literal(..)) {
                continue;
            }
            expr.visit(&mut |name, folded| {
                let value = match (self.attr_size(&name.text), self.dims.get(name.text.as_str())) {
                    _ if folded => {
                        self.each.get(name.text.as_str()).map(|sizes| format!("{name} = {sizes:?}"))
                    }
                    (Some(value), _) => Some(format!("{name} = {value}")),
                    (None, Some((size, _))) => Some(format!("{name} = {size}")),
                    (None, None) => None,
                };
                seen.extend(value.filter(|value| !seen.contains(value)));
            });
        }
        if seen.is_empty() { String::new() } else { format!(" ({})", seen.join(", ")) }
    }
}

enum EvalError {
    /// The name is determined only by variadic operands, and the call passes none.
    Unknown(String),
    Size(SizeError),
}

impl From<SizeError> for EvalError {
    fn from(error: SizeError) -> EvalError {
        EvalError::Size(error)
    }
}

fn number<S: Size>(value: i128) -> std::result::Result<S, EvalError> {
    i64::try_from(value).map(S::of).map_err(|_| SizeError::Overflow.into())
}

/// Returns the minimum or the maximum of some sizes.
fn extreme<S: Size>(greatest: bool, sizes: &[S], expr: &Expr) -> std::result::Result<S, EvalError> {
    let Some((first, rest)) = sizes.split_first() else { return Err(EvalError::Unknown(expr.to_string())) };
    Ok(rest.iter().try_fold(first.clone(), |best, size| S::extreme(greatest, &best, size))?)
}
