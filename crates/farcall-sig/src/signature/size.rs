//! Size of a dimension: a number, or a host's representation of a symbolic size.
//!
//! A signature is evaluated over either kind ([`Signature::infer`](super::Signature::infer)), so rules that
//! hold for numbers also hold for JAX's symbolic dimensions.

use std::fmt::{Debug, Display};

use super::ast::{BinaryOp, Comparison};

/// A size. Messages print a single size with `Display` and a list of sizes with `Debug`, so both print `4*n`.
///
/// Two symbolic sizes that are not known to be equal count as different, just as two different numbers do.
pub trait Size: Clone + PartialEq + Debug + Display {
    /// Creates the size with this value.
    fn of(number: i64) -> Self;

    /// Returns the number if the size is known.
    fn known(&self) -> Option<i64>;

    /// Computes an operation.
    ///
    /// # Errors
    /// If the operation has no value.
    fn compute(op: BinaryOp, left: &Self, right: &Self) -> Result<Self, SizeError>;

    /// Returns the smaller of two sizes, or the larger one if `greatest`.
    ///
    /// # Errors
    /// If the order of the two sizes is not known.
    fn extreme(greatest: bool, left: &Self, right: &Self) -> Result<Self, SizeError>;

    /// Returns true if the comparison holds for two sizes.
    ///
    /// # Errors
    /// If the answer depends on the values of symbolic sizes.
    fn compare(comparison: Comparison, left: &Self, right: &Self) -> Result<bool, SizeError>;
}

/// Reason why an expression has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SizeError {
    /// The value does not fit in 64 bits.
    Overflow,
    /// A divisor is zero.
    DivisionByZero,
    /// Known facts about symbolic sizes do not determine the value.
    Open,
}

impl Size for i64 {
    fn of(number: i64) -> i64 {
        number
    }

    fn known(&self) -> Option<i64> {
        Some(*self)
    }

    fn compute(op: BinaryOp, left: &i64, right: &i64) -> Result<i64, SizeError> {
        let (left, right) = (*left, *right);
        let value = match op {
            BinaryOp::Add => left.checked_add(right),
            BinaryOp::Sub => left.checked_sub(right),
            BinaryOp::Mul => left.checked_mul(right),
            BinaryOp::Div | BinaryOp::Rem if right == 0 => return Err(SizeError::DivisionByZero),
            BinaryOp::Div => floor_div(left, right),
            BinaryOp::Rem => floor_div(left, right)
                .and_then(|quotient| quotient.checked_mul(right))
                .and_then(|multiple| left.checked_sub(multiple)),
        };
        value.ok_or(SizeError::Overflow)
    }

    fn extreme(greatest: bool, left: &i64, right: &i64) -> Result<i64, SizeError> {
        Ok(if greatest { *left.max(right) } else { *left.min(right) })
    }

    fn compare(comparison: Comparison, left: &i64, right: &i64) -> Result<bool, SizeError> {
        Ok(comparison.holds(*left, *right))
    }
}

/// Returns the quotient, rounded down. The divisor is not zero.
fn floor_div(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    let inexact = left.checked_rem(right)? != 0;
    Some(if inexact && (left < 0) != (right < 0) { quotient - 1 } else { quotient })
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;
    use crate::signature::{MismatchKind, OperandType};
    use crate::{AttrValues, DType, Signature};

    /// A size that is represented by its text.
    #[derive(Clone, PartialEq)]
    struct Text(String);

    impl fmt::Display for Text {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.0)
        }
    }

    impl Debug for Text {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.0)
        }
    }

    impl Size for Text {
        fn of(number: i64) -> Text {
            Text(number.to_string())
        }

        fn known(&self) -> Option<i64> {
            self.0.parse().ok()
        }

        fn compute(op: BinaryOp, left: &Text, right: &Text) -> Result<Text, SizeError> {
            Ok(Text(format!("{op:?}({left}, {right})")))
        }

        fn extreme(greatest: bool, left: &Text, right: &Text) -> Result<Text, SizeError> {
            Ok(Text(format!("{}({left}, {right})", if greatest { "Max" } else { "Min" })))
        }

        /// Assumes that sizes are at least 1, so an expression without a subtraction is at least 1.
        fn compare(comparison: Comparison, left: &Text, right: &Text) -> Result<bool, SizeError> {
            match (left.known(), right.known()) {
                (Some(left), Some(right)) => Ok(comparison.holds(left, right)),
                (None, Some(0 | 1)) if comparison == Comparison::Ge && !left.0.contains("Sub") => Ok(true),
                _ => Err(SizeError::Open),
            }
        }
    }

    /// Returns the result shapes of a call with operands of these shapes, or the error message.
    fn shapes(signature: &str, operands: &[&str]) -> String {
        let signature: Signature = signature.parse().unwrap();
        let dims = |text: &&str| text.split_whitespace().map(|size| Text(size.into())).collect::<Vec<_>>();
        let dims: Vec<_> = operands.iter().map(dims).collect();
        let types: Vec<_> = dims.iter().map(|dims| OperandType { dtype: DType::F32, dims }).collect();
        match signature.infer(&types, &AttrValues::new()) {
            Ok(call) => call.results.iter().map(|r| format!("{:?}", r.dims)).collect::<Vec<_>>().join(" "),
            Err(mismatch) => {
                format!("{}: {mismatch}", if mismatch.kind == MismatchKind::Open { "open" } else { "wrong" })
            }
        }
    }

    #[test]
    fn signatures_are_evaluated_over_open_sizes() {
        let gemm = "(a: f32[*, m, k], b: f32[*, k, n]) -> (c: f32[*, m, n])";
        assert_eq!(shapes(gemm, &["q r s", "q s 4"]), "[q, r, 4]");
        assert_eq!(shapes(gemm, &["r s", "t 4"]), "wrong: b has k = t but a has k = s");
        assert_eq!(shapes(gemm, &["q r s", "2 s 4"]), "wrong: b has batch dimensions [2] but a has [q]");
        let rows = "(xs: f32[n..., 2]...) -> (y: f32[sum(n), min(n)], z: f32[len(xs)])";
        assert_eq!(shapes(rows, &["a 2", "b 2"]), "[Add(Add(0, a), b), Min(a, b)] [2]");
        assert_eq!(
            shapes(rows, &["a b"]),
            "wrong: xs[0] has shape [a, b], but its dimension 1 of [n..., 2] must be 2"
        );
        let half = "(x: f32[n]) -> (y: f32[ceil_div(n, 2)], z: f32[n - 1]) where n >= 1";
        assert_eq!(
            shapes(half, &["a"]),
            "open: y would have the size ceil_div(n, 2) = Sub(0, Div(Sub(0, a), 2)) (n = a), which may be negative"
        );
        assert_eq!(
            shapes("(x: f32[n]) -> (y: f32[2*n]) where n > 3", &["a"]),
            "open: n > 3 may not hold (n = a)"
        );
        assert_eq!(shapes("(x: f32[n]) -> (y: f32[2*n]) where n >= 1", &["a"]), "[Mul(2, a)]");
    }
}
