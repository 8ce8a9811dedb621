//! Rules of operations that move elements.

use farcall_ir::op::{Pad, Slice};

use super::{Call, Exchange, Place, Rule, WindowShape, Windows};

pub(super) fn bitcast(rule: &mut Rule, call: &Call<'_>) {
    // The tensor of the smaller elements may have one more dimension.
    let common = call.operands[0].len().min(call.results[0].len());
    rule.factors_of(&call.operands[0][..common], &[0, 1]);
    rule.is_pointwise = true;
}

pub(super) fn broadcast(rule: &mut Rule, call: &Call<'_>, dims: &[usize]) {
    for (d, size) in call.results[0].iter().enumerate() {
        let from = dims.iter().position(|to| *to == d).filter(|from| call.operands[0][*from] == *size);
        let mut places: Vec<Place> = vec![(1, d)];
        places.extend(from.map(|from| (0, from)));
        rule.factor(*size, &places);
    }
    rule.is_pointwise = true;
}

pub(super) fn transpose(rule: &mut Rule, call: &Call<'_>, permutation: &[usize]) {
    for (d, from) in permutation.iter().enumerate() {
        rule.factor(call.results[0][d], &[(0, *from), (1, d)]);
    }
    rule.is_pointwise = true;
}

pub(super) fn reverse(rule: &mut Rule, call: &Call<'_>, dims: &[usize]) {
    for (d, size) in call.results[0].iter().enumerate() {
        let exchange = if dims.contains(&d) { Exchange::Reverse } else { Exchange::None };
        rule.exchanged(*size, &[(0, d), (1, d)], exchange);
    }
}

pub(super) fn slice(rule: &mut Rule, call: &Call<'_>, op: &Slice) {
    for (d, sizes) in call.dims() {
        if let Ok(start) = i64::try_from(op.start[d]) {
            let shape = WindowShape { reach: 1, stride: op.strides[d], dilation: 1, low: -start };
            rule.windows(&[(0, d), (1, d)], Windows::new(sizes, shape));
        }
    }
}

pub(super) fn pad(rule: &mut Rule, call: &Call<'_>, op: &Pad) {
    for (d, sizes) in call.dims() {
        if let Ok(interior) = usize::try_from(op.interior[d]) {
            let shape =
                WindowShape { reach: 1, stride: 1, dilation: interior.saturating_add(1), low: op.low[d] };
            rule.windows(&[(0, d), (2, d)], Windows::new(sizes, shape));
        }
    }
}

/// Adds factors for all dimensions except `dim`, which must be complete. Operands and results have the same
/// sizes in the other dimensions.
pub(super) fn all_but(rule: &mut Rule, call: &Call<'_>, dim: usize) {
    for (d, size) in call.results[0].iter().enumerate().filter(|(d, _)| *d != dim) {
        rule.factor(*size, &call.places(0..call.operands.len(), d));
    }
}

/// Adds the factors of a reshape: the sizes into which both lists of dimensions can be cut.
///
/// `[8]` to `[2, 4]` has the factors 2 and 4. `[6, 4]` to `[4, 6]` has the factor 2 alone: both first
/// dimensions begin with 2, and the rest has no common cut.
pub(super) fn reshape(rule: &mut Rule, call: &Call<'_>) {
    rule.is_pointwise = true;
    let (from, to) = (call.operands[0], call.results[0]);
    if from.contains(&0) || to.contains(&0) {
        return;
    }
    let (mut from_dims, mut to_dims) = (dims_above_one(from), dims_above_one(to));
    while let (Some((mut i, mut left)), Some((mut j, mut right))) = (from_dims.next(), to_dims.next()) {
        // One group: the shortest lists of dimensions with the same number of elements.
        loop {
            let common = gcd(left, right);
            if common == 1 {
                skip_group((left, right), &mut from_dims, &mut to_dims);
                break;
            }
            rule.factor(common, &[(0, i), (1, j)]);
            (left, right) = (left / common, right / common);
            match (left, right) {
                (1, 1) => break,
                (1, _) => match from_dims.next() {
                    Some(next) => (i, left) = next,
                    None => return,
                },
                (_, 1) => match to_dims.next() {
                    Some(next) => (j, right) = next,
                    None => return,
                },
                _ => {
                    skip_group((left, right), &mut from_dims, &mut to_dims);
                    break;
                }
            }
        }
    }
}

/// Returns the dimensions with more than one element, and their sizes.
fn dims_above_one(sizes: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    sizes.iter().copied().enumerate().filter(|(_, size)| *size > 1)
}

/// Skips dimensions until both lists have the same number of elements behind them.
fn skip_group(
    (mut left, mut right): (usize, usize),
    from: &mut impl Iterator<Item = (usize, usize)>,
    to: &mut impl Iterator<Item = (usize, usize)>,
) {
    while left != right {
        let (shorter, dims): (&mut usize, &mut dyn Iterator<Item = (usize, usize)>) =
            if left < right { (&mut left, from) } else { (&mut right, to) };
        match dims.next() {
            Some((_, size)) => *shorter *= size,
            None => return,
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
