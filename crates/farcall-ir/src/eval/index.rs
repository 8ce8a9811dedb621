//! Row-major positions of elements, and tensors constructed by moving elements.

use super::EvalError;
use crate::interrupt::Pace;
use crate::literal::Literal;
use crate::types::TensorType;
use farcall_sig::DType;

/// The position of an element with this index.
pub(super) fn position(index: &[usize], strides: &[usize]) -> usize {
    index.iter().zip(strides).map(|(i, s)| i * s).sum()
}

/// Calls `f` for every index of a shape, in row-major order; stops early if an interrupt is due.
pub(super) fn for_each(dims: &[usize], mut f: impl FnMut(&[usize])) {
    let _ = try_for_each(dims, |index| {
        f(index);
        Ok(())
    });
}

/// Calls `f` for every index of a shape, in row-major order, until the first error.
pub(super) fn try_for_each(
    dims: &[usize],
    mut f: impl FnMut(&[usize]) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    if dims.contains(&0) {
        return Ok(());
    }
    let (mut index, mut pace) = (vec![0; dims.len()], Pace::default());
    loop {
        pace.check()?;
        f(&index)?;
        let Some(d) = (0..dims.len()).rev().find(|d| index[*d] + 1 < dims[*d]) else { return Ok(()) };
        index[d] += 1;
        index[d + 1..].fill(0);
    }
}

/// The sizes of a declared type; an error if a dimension is dynamic.
pub(super) fn known_sizes(ty: &TensorType) -> Result<&[usize], EvalError> {
    ty.static_sizes().ok_or_else(|| EvalError::new(format!("the shape of {ty} is not known")))
}

/// A tensor of zeros; an error if it does not fit into memory.
pub(super) fn zeros(dtype: DType, dims: &[usize]) -> Result<Literal, EvalError> {
    Literal::try_zeros(dtype, dims)
        .map_err(|e| EvalError::new(format!("a {} is too large: {e}", TensorType::new(dtype, dims))))
}

/// A tensor whose element at `index` is the element of `source` at position `offset + Σ index[d] *
/// strides[d]`.
///
/// All of these positions must exist.
pub(super) fn strided(
    source: &Literal,
    dims: &[usize],
    offset: usize,
    strides: &[isize],
) -> Result<Literal, EvalError> {
    let mut out = zeros(source.dtype(), dims)?;
    let size = source.dtype().size();
    let from = source.bytes();
    let mut chunks = out.bytes_mut().chunks_exact_mut(size);
    for_each(dims, |index| {
        let at = index.iter().zip(strides).fold(offset, |at, (i, s)| at.wrapping_add_signed(*i as isize * s));
        if let Some(to) = chunks.next() {
            to.copy_from_slice(&from[at * size..][..size]);
        }
    });
    Ok(out)
}
