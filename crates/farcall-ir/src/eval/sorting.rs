//! Sorting: `sort` and `top_k`.

use std::cmp::Ordering;

use farcall_sig::DType;

use super::EvalError;
use super::folding::{Body, truth};
use super::index::{for_each, position, zeros};
use super::space::same_dims;
use crate::dims::strides;
use crate::interrupt::{self, Pace};
use crate::literal::Literal;
use crate::memory::count;
use crate::scalar::Scalar;

/// `sort` along `dim`, always stable. All inputs are permuted in the same way.
///
/// `body` takes the left and right element of the first input, then of the second, and so on, and returns
/// true if the left one comes first. An inconsistent comparator (NaNs, `LE`) yields some permutation.
pub(super) fn sort(inputs: &[Literal], dim: usize, body: Body<'_>) -> Result<Vec<Literal>, EvalError> {
    same_dims("dimensions of the inputs", inputs)?;
    let Some(first) = inputs.first() else { return Ok(Vec::new()) };
    let dims = first.dims();
    let (Some(length), false) = (dims.get(dim).copied(), first.is_empty()) else {
        return Ok(inputs.to_vec());
    };
    let all_strides = strides(dims);
    let stride = all_strides[dim];
    let mut line_dims = dims.to_vec();
    line_dims[dim] = 1;
    let mut lines = Vec::new();
    for_each(&line_dims, |index| lines.push(position(index, &all_strides)));

    let mut results = inputs.to_vec();
    results.iter_mut().try_for_each(Literal::unshare)?;
    let (mut args, mut returned, mut pace) = (Vec::new(), Vec::new(), Pace::default());
    for line in lines {
        let elements =
            inputs.iter().map(|t| Pace::until_due(0..length).map(|i| t.get(line + i * stride)).collect());
        let elements: Vec<Vec<Scalar>> = elements.collect();
        interrupt::complete()?;
        let order = merge_sort(length, |left, right| {
            pace.check()?;
            args.clear();
            for input in &elements {
                args.extend([input[left], input[right]]);
            }
            body(&args, &mut returned)?;
            Ok::<bool, EvalError>(truth(&returned))
        })?;
        for (result, input) in results.iter_mut().zip(&elements) {
            for (i, from) in Pace::until_due(order.iter().enumerate()) {
                result.set(line + i * stride, input[*from]);
            }
        }
    }
    Ok(results)
}

/// `top_k`: the `k` largest elements of each line along the last dimension, largest first, and their
/// positions as `s32`. Equal elements keep the order of the operand.
///
/// Floats are ordered by `totalOrder`, as in XLA: NaNs are largest (or smallest, if their sign bit is set).
pub(super) fn top_k(operand: &Literal, k: usize) -> Result<(Literal, Literal), EvalError> {
    let mut dims = operand.dims().to_vec();
    let length = dims.pop().unwrap_or(1);
    let lines = count(&dims);
    let k = k.min(length);
    dims.push(k);
    let mut values = zeros(operand.dtype(), &dims)?;
    let mut places = zeros(DType::S32, &dims)?;
    if values.is_empty() {
        return Ok((values, places));
    }
    for line in 0..lines {
        let elements: Vec<Scalar> = (0..length).map(|i| operand.get(line * length + i)).collect();
        let mut pace = Pace::default();
        let order = merge_sort(length, |a, b| {
            pace.check()?;
            Ok::<bool, EvalError>(total_order(elements[a], elements[b]) == Ordering::Greater)
        })?;
        for (i, from) in order.iter().take(k).enumerate() {
            values.set(line * k + i, elements[*from]);
            places.set(line * k + i, Scalar::Signed(*from as i64));
        }
    }
    Ok((values, places))
}

/// Order of two elements of one type: IEEE 754's `totalOrder` for floats; complex numbers by real, then
/// imaginary part.
fn total_order(a: Scalar, b: Scalar) -> Ordering {
    match (a, b) {
        (Scalar::Float(a), Scalar::Float(b)) => a.total_cmp(&b),
        (Scalar::Unsigned(a), Scalar::Unsigned(b)) => a.cmp(&b),
        (Scalar::Complex(a), Scalar::Complex(b)) => a.re.total_cmp(&b.re).then(a.im.total_cmp(&b.im)),
        (a, b) => a.as_i64().cmp(&b.as_i64()),
    }
}

/// Sorts `0..n` stably. Any `less` is allowed, unlike in the standard library, whose sorts may panic.
fn merge_sort<E>(n: usize, mut less: impl FnMut(usize, usize) -> Result<bool, E>) -> Result<Vec<usize>, E> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut merged = Vec::with_capacity(n);
    let mut width = 1;
    while width < n {
        merged.clear();
        for run in order.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            while let (Some((l, left_rest)), Some((r, right_rest))) =
                (left.split_first(), right.split_first())
            {
                // The right element goes first only if it is less, so that equal elements keep their order.
                if less(*r, *l)? {
                    merged.push(*r);
                    right = right_rest;
                } else {
                    merged.push(*l);
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(&mut order, &mut merged);
        width *= 2;
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s64(dims: &[usize], values: &[i64]) -> Literal {
        Literal::from_slice(DType::S64, dims, values)
    }

    #[test]
    fn lines_are_sorted_along_any_dimension_and_stably() {
        let keys = s64(&[3, 2], &[2, 1, 1, 1, 2, 0]);
        let places = s64(&[3, 2], &[0, 1, 2, 3, 4, 5]);
        let less: Body<'_> = &mut |args, out| {
            assert_eq!(args.len(), 4);
            *out = vec![Scalar::Bool(args[0].as_i64() < args[1].as_i64())];
            Ok(())
        };
        let out = sort(&[keys, places], 0, less).unwrap();
        assert_eq!(out[0].as_slice::<i64>(), [1, 0, 2, 1, 2, 1]);
        assert_eq!(out[1].as_slice::<i64>(), [2, 5, 0, 1, 4, 3]);
    }

    #[test]
    fn comparators_that_contradict_themselves_permute() {
        let x = Literal::from_fn(DType::S64, [100], |i| Scalar::Signed(i as i64));
        let mut asked = 0;
        let body: Body<'_> = &mut |_, out| {
            asked += 1;
            *out = vec![Scalar::Bool(asked % 3 != 0)];
            Ok(())
        };
        let mut out = sort(std::slice::from_ref(&x), 0, body).unwrap()[0].as_slice::<i64>().to_vec();
        out.sort_unstable();
        assert_eq!(out, x.as_slice::<i64>());
    }

    #[test]
    fn the_largest_come_first_in_total_order() {
        let nan = f32::NAN.copysign(1.0);
        let x = Literal::from_slice(DType::F32, [8], &[1.0, nan, -nan, 3.0, f32::INFINITY, 3.0, -0.0, 0.0]);
        let (values, places) = top_k(&x, 8).unwrap();
        assert_eq!(places.as_slice::<i32>(), [1, 4, 3, 5, 0, 7, 6, 2]);
        assert_eq!(values.as_slice::<f32>()[1..4], [f32::INFINITY, 3.0, 3.0]);
        let (values, places) = top_k(&s64(&[2, 3], &[1, 3, 3, -1, -5, 0]), 2).unwrap();
        assert_eq!((values.dims(), values.as_slice::<i64>()), (&[2, 2][..], &[3, 3, 0, -1][..]));
        assert_eq!(places.as_slice::<i32>(), [1, 2, 2, 0]);
    }
}
