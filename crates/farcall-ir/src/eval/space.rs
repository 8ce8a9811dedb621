//! Functions on dimensions and start indices that gather, scatter, slices, products and reductions share.
//! Simpler functions on indices are in [`super::index`].

use farcall_sig::DType;

use super::index::{for_each, zeros};
use super::{EvalError, EvalValue, tensor};
use crate::literal::Literal;
use crate::scalar::Scalar;

/// The operands, which must all be tensors in a verified module.
pub(super) fn tensors(operands: &[EvalValue]) -> Result<Vec<Literal>, EvalError> {
    (0..operands.len()).map(|i| tensor(operands, i).cloned()).collect()
}

/// A tensor of the shape `dims` whose element at an index is the operand's element at the position
/// `source(index)`; zero if the position does not exist, since a collapsed slice may have no elements.
pub(super) fn take(
    operand: &Literal,
    dims: &[usize],
    mut source: impl FnMut(&[usize]) -> usize,
) -> Result<Literal, EvalError> {
    let mut out = zeros(operand.dtype(), dims)?;
    let size = operand.dtype().size();
    let from = operand.bytes();
    let mut to = out.bytes_mut().chunks_exact_mut(size);
    for_each(dims, |index| {
        let at = source(index) * size;
        if let (Some(to), Some(from)) = (to.next(), from.get(at..at + size)) {
            to.copy_from_slice(from);
        }
    });
    Ok(out)
}

/// Checks that two lists of sizes are equal. Dynamic sizes are known only during evaluation.
pub(super) fn same_sizes(what: &str, a: &[usize], b: &[usize]) -> Result<(), EvalError> {
    if a == b { Ok(()) } else { Err(EvalError::new(format!("{what} differ: {a:?} and {b:?}"))) }
}

/// Checks that all tensors have equal dimensions.
pub(super) fn same_dims(what: &str, tensors: &[Literal]) -> Result<(), EvalError> {
    tensors.windows(2).try_for_each(|pair| same_sizes(what, pair[0].dims(), pair[1].dims()))
}

/// Converts the elements of a tensor to another type of their class.
pub(super) fn recast(tensor: &Literal, dtype: DType) -> Result<Literal, EvalError> {
    if tensor.dtype() == dtype {
        return Ok(tensor.clone());
    }
    Ok(Literal::try_from_fn(dtype, tensor.dims(), |i| tensor.get(i))?)
}

/// Returns the value of an index element, in a type wide enough for every integer type.
pub(super) fn coordinate(value: Scalar) -> i128 {
    match value {
        Scalar::Unsigned(x) => i128::from(x),
        other => i128::from(other.as_i64()),
    }
}

/// The start nearest to `start` for which `size` elements fit into a dimension of `dim`.
pub(super) fn clamp_start(start: i128, size: usize, dim: usize) -> usize {
    let last = dim.saturating_sub(size);
    usize::try_from(start.max(0)).map_or(last, |s| s.min(last))
}

/// The entries of `values` at these positions.
pub(super) fn pick(values: &[usize], positions: &[usize]) -> Vec<usize> {
    positions.iter().map(|p| values[*p]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_clamped() {
        assert_eq!(clamp_start(-3, 2, 5), 0);
        assert_eq!(clamp_start(4, 2, 5), 3);
        assert_eq!(clamp_start(coordinate(Scalar::Unsigned(u64::MAX)), 2, 5), 3);
    }
}
