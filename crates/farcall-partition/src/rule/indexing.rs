//! Rules of gathers, scatters and updates of slices.

use farcall_ir::dims::IndexedDims;
use farcall_ir::op::{Gather, Scatter};

use super::{Call, Rule};

/// Adds factors of a `dynamic_update_slice`: for the dimensions that the update covers completely.
pub(super) fn update(rule: &mut Rule, call: &Call<'_>) {
    for (d, (size, update)) in call.operands[0].iter().zip(call.operands[1]).enumerate() {
        if size == update {
            rule.factor(*size, &[(0, d), (1, d), (call.result(0), d)]);
        }
    }
}

pub(super) fn gather(rule: &mut Rule, call: &Call<'_>, op: &Gather) {
    let dims = IndexedDims::from(op);
    let sizes = [call.operands[0], call.operands[1], call.results[0]];
    // The start of a complete window is clamped to zero.
    windows(rule, dims, (0, 2), sizes, &[]);
    let batch = dims.indices_batch_dims(sizes[1].len());
    for (d, to) in batch.into_iter().zip(dims.windows_batch_dims(sizes[2].len())) {
        let mut places = vec![(1, d), (2, to)];
        if let Some(i) = dims.indices_batching_dims.iter().position(|b| *b == d) {
            places.push((0, dims.operand_batching_dims[i]));
        }
        rule.factor(sizes[1][d], &places);
    }
}

pub(super) fn scatter(rule: &mut Rule, call: &Call<'_>, op: &Scatter) {
    let dims = IndexedDims::from(op);
    let inputs = (call.operands.len() - 1) / 2;
    let (indices, updates) = (inputs, inputs + 1);
    let sizes = [call.operands[0], call.operands[indices], call.operands[updates]];
    // An index shifts a window, even a complete one.
    windows(rule, dims, (0, updates), sizes, &op.scatter_dims_to_operand_dims);
    let batch = dims.indices_batch_dims(sizes[1].len());
    for (d, to) in batch.into_iter().zip(dims.windows_batch_dims(sizes[2].len())) {
        // The updates of all other index vectors go into one operand.
        if let Some(i) = dims.indices_batching_dims.iter().position(|b| *b == d) {
            rule.factor(sizes[1][d], &[(indices, d), (updates, to), (0, dims.operand_batching_dims[i])]);
        }
    }
    // Further inputs and updates, and the results, are divided like the first.
    for i in 1..inputs {
        rule.tensors[i] = rule.tensors[0].clone();
        rule.tensors[updates + i] = rule.tensors[updates].clone();
    }
    for i in 0..call.results.len() {
        rule.tensors[call.result(i)] = rule.tensors[0].clone();
    }
}

/// Adds factors for dimensions in which windows are complete, except for the operand's dimensions in
/// `shifted`. `tensors` are the operand and the windows.
fn windows(
    rule: &mut Rule,
    dims: IndexedDims<'_>,
    (operand, windows): (usize, usize),
    sizes: [&[usize]; 3],
    shifted: &[usize],
) {
    for (d, to) in dims.operand_window_dims(sizes[0].len()).into_iter().zip(dims.window_dims) {
        if sizes[0][d] == sizes[2][*to] && !shifted.contains(&d) {
            rule.factor(sizes[0][d], &[(operand, d), (windows, *to)]);
        }
    }
}
