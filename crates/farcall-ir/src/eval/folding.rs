//! Reductions: `reduce`, the second half of `select_and_scatter`, `map`. Reductions of windows are in
//! [`super::windows`].
//!
//! A region is a function of scalars ([`Body`]). This module does not round between steps: a region rounds
//! its results to their types, and a body for a sum of floats may return more digits than the type has (see
//! [`super::reduction`]). The final value is rounded when it is stored.

use farcall_sig::DType;

use super::EvalError;
use super::index::{position, try_for_each};
use super::space::{pick, same_dims};
use crate::dims::{self, strides};
use crate::literal::Literal;
use crate::scalar::Scalar;

/// A region applied to scalars: takes the arguments, and the vector for the returned values.
pub(super) type Body<'a> = &'a mut dyn FnMut(&[Scalar], &mut Vec<Scalar>) -> Result<(), EvalError>;

/// `reduce` over `dims`: combines elements in row-major order, starting with the initial values.
///
/// `body` takes the accumulators, then the elements. Results have the element types `dtypes`.
pub(super) fn fold(
    inputs: &[Literal],
    init_values: &[Literal],
    dims: &[usize],
    dtypes: &[DType],
    body: Body<'_>,
) -> Result<Vec<Literal>, EvalError> {
    same_dims("dimensions of the inputs", inputs)?;
    let Some(first) = inputs.first() else { return Ok(Vec::new()) };
    let kept = dims::others(first.dims().len(), &[dims]);
    let result_dims = pick(first.dims(), &kept);
    // Strides of the result along the dimensions of an input; the stride is 0 along a reduced dimension.
    let mut result_strides = vec![0; first.dims().len()];
    for (d, stride) in kept.iter().zip(strides(&result_dims)) {
        result_strides[*d] = stride;
    }

    let n = inputs.len();
    let init: Vec<Scalar> = init_values.iter().map(|v| v.get(0)).collect();
    let mut accumulators = init.repeat(result_dims.iter().product());
    let (mut args, mut combined) = (Vec::new(), Vec::new());
    let mut element = 0;
    try_for_each(first.dims(), |index| {
        let at = position(index, &result_strides) * n;
        args.clear();
        args.extend_from_slice(&accumulators[at..at + n]);
        args.extend(inputs.iter().map(|t| t.get(element)));
        body(&args, &mut combined)?;
        accumulators[at..at + n].copy_from_slice(&combined);
        element += 1;
        Ok(())
    })?;
    unzip(&accumulators, &result_dims, dtypes)
}

/// The second half of `select_and_scatter`: combines each source value with the current value at its
/// destination. All elements of the result start with the initial value.
pub(super) fn scatter(
    dims: &[usize],
    source: &Literal,
    init_value: &Literal,
    picked: &[Option<usize>],
    dtype: DType,
    scatter: Body<'_>,
) -> Result<Literal, EvalError> {
    let mut sums = vec![init_value.get(0); dims.iter().product()];
    let mut returned = Vec::new();
    for (value, at) in source.iter().zip(picked) {
        let Some(at) = *at else { continue };
        scatter(&[sums[at], value], &mut returned)?;
        sums[at] = returned[0];
    }
    Ok(Literal::try_from_fn(dtype, dims, |i| sums[i])?)
}

/// `map`: applies `body` to the elements of the inputs at each index.
pub(super) fn map(inputs: &[Literal], dtypes: &[DType], body: Body<'_>) -> Result<Vec<Literal>, EvalError> {
    same_dims("dimensions of the inputs", inputs)?;
    let Some(first) = inputs.first() else { return Ok(Vec::new()) };
    let mut values = Vec::with_capacity(first.len() * dtypes.len());
    let (mut args, mut returned) = (Vec::new(), Vec::new());
    for i in 0..first.len() {
        args.clear();
        args.extend(inputs.iter().map(|t| t.get(i)));
        body(&args, &mut returned)?;
        values.extend_from_slice(&returned);
    }
    unzip(&values, first.dims(), dtypes)
}

/// The result of a region that returns one `pred`.
pub(super) fn truth(returned: &[Scalar]) -> bool {
    returned.first().is_some_and(|s| s.as_bool())
}

/// Splits tuples of elements, stored one after another, into one tensor per member of the tuples.
pub(super) fn unzip(tuples: &[Scalar], dims: &[usize], dtypes: &[DType]) -> Result<Vec<Literal>, EvalError> {
    let n = dtypes.len();
    let each = dtypes.iter().enumerate();
    each.map(|(k, dtype)| Ok(Literal::try_from_fn(*dtype, dims, |i| tuples[i * n + k])?)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn s64(dims: &[usize], values: &[i64]) -> Literal {
        Literal::from_slice(DType::S64, dims, values)
    }

    pub(in super::super) fn add(args: &[Scalar], out: &mut Vec<Scalar>) -> Result<(), EvalError> {
        *out = vec![Scalar::Signed(args[0].as_i64() + args[1].as_i64())];
        Ok(())
    }

    #[test]
    fn dimensions_are_reduced() {
        let x = s64(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        let init = s64(&[], &[10]);
        let sum = |dims: &[usize]| {
            fold(std::slice::from_ref(&x), std::slice::from_ref(&init), dims, &[DType::S64], &mut add)
                .unwrap()
        };
        assert_eq!(sum(&[0])[0], s64(&[3], &[15, 17, 19]));
        assert_eq!(sum(&[1])[0], s64(&[2], &[16, 25]));
        assert_eq!(sum(&[0, 1])[0], s64(&[], &[31]));
        let nothing = fold(&[s64(&[0, 2], &[])], &[init], &[0], &[DType::S64], &mut add).unwrap();
        assert_eq!(nothing[0], s64(&[2], &[10, 10]));
    }

    #[test]
    fn several_inputs_are_reduced_together() {
        // Computes the largest element and its position.
        let body: Body<'_> = &mut |args, out| {
            let keep = args[0].as_i64() >= args[2].as_i64();
            *out = if keep { args[..2].to_vec() } else { args[2..].to_vec() };
            Ok(())
        };
        let inputs = [s64(&[4], &[3, 9, 9, 1]), s64(&[4], &[0, 1, 2, 3])];
        let inits = [s64(&[], &[i64::MIN]), s64(&[], &[-1])];
        let out = fold(&inputs, &inits, &[0], &[DType::S64, DType::S32], body).unwrap();
        assert_eq!((out[0].get(0), out[1].get(0)), (Scalar::Signed(9), Scalar::Signed(1)));
        assert_eq!(out[1].dtype(), DType::S32);
    }
}
