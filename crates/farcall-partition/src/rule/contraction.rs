//! Rules of products and convolutions.

use farcall_ir::dims::others;
use farcall_ir::op::{Binary, Convolution, DotGeneral};

use super::{Call, Rule, WindowShape, Windows, reach};

pub(super) fn product(rule: &mut Rule, call: &Call<'_>, op: &DotGeneral) {
    let (lhs, rhs) = (call.operands[0], call.operands[1]);
    let mut to = 0..;
    let mut next = || to.next().unwrap_or_default();
    for (l, r) in op.lhs_batch.iter().zip(&op.rhs_batch) {
        rule.factor(lhs[*l], &[(0, *l), (1, *r), (2, next())]);
    }
    for l in others(lhs.len(), &[&op.lhs_batch, &op.lhs_contract]) {
        rule.factor(lhs[l], &[(0, l), (2, next())]);
    }
    for r in others(rhs.len(), &[&op.rhs_batch, &op.rhs_contract]) {
        rule.factor(rhs[r], &[(1, r), (2, next())]);
    }
    if has_sums(call) {
        for (l, r) in op.lhs_contract.iter().zip(&op.rhs_contract) {
            rule.reduced(lhs[*l], &[(0, *l), (1, *r)], Binary::Add);
        }
    }
}

pub(super) fn convolution(rule: &mut Rule, call: &Call<'_>, op: &Convolution) {
    let dims = &op.dims;
    let (image, kernels) = (call.operands[0], call.operands[1]);
    // Groups connect the batch with the result's features.
    if op.batch_group_count == 1 {
        rule.factor(image[dims.input_batch], &[(0, dims.input_batch), (2, dims.output_batch)]);
    }
    rule.exchanged = 1;
    for (i, (from, to)) in dims.input_spatial.iter().zip(&dims.output_spatial).enumerate() {
        let kernel = dims.kernel_spatial[i];
        let [image, window, result] = [image[*from], kernels[kernel], call.results[0][*to]];
        let (stride, dilation, low) = (op.strides[i], op.lhs_dilation[i], op.padding[i].0);
        // In the gradient of a kernel, the window is the larger dimension. Parts of a reversed window would
        // meet parts of the image on other devices.
        let is_larger = window.checked_mul(op.rhs_dilation[i]) > result.checked_mul(stride);
        let is_reversed = op.reversal.get(i).is_some_and(|reversed| *reversed);
        if is_larger && dilation == 1 && !is_reversed && has_sums(call) {
            // Element `w` of the window meets the image's elements `r * stride + w * rhs_dilation - low`, for
            // each result `r`.
            if let Some(reach) = reach(result, stride) {
                let shape = WindowShape { reach, stride: op.rhs_dilation[i], dilation, low };
                let windows = Windows::new((image, window), shape);
                rule.reduced_windows(&[(0, *from), (1, kernel)], windows, Binary::Add);
            }
        } else if let Some(reach) = reach(window, op.rhs_dilation[i]) {
            let windows = Windows::new((image, result), WindowShape { reach, stride, dilation, low });
            rule.windows(&[(0, *from), (2, *to)], windows);
        }
    }
    if op.feature_group_count == 1 {
        let features = dims.kernel_output_feature;
        if op.batch_group_count == 1 {
            rule.factor(kernels[features], &[(1, features), (2, dims.output_feature)]);
        }
        if has_sums(call) {
            let features = dims.kernel_input_feature;
            rule.reduced(kernels[features], &[(0, dims.input_feature), (1, features)], Binary::Add);
        }
    }
}

/// Returns true if the results are sums of products, as for all element types except booleans.
fn has_sums(call: &Call<'_>) -> bool {
    call.inst.func().tensor(call.inst.results()[0]).is_some_and(|ty| !ty.dtype.is_bool())
}
