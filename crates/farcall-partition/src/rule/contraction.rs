//! Rules of products and convolutions.

use farcall_ir::dims::others;
use farcall_ir::op::{Binary, Convolution, DotGeneral};

use super::{Call, Rule, Windows, reach};

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
    if op.batch_group_count != 1 {
        return;
    }
    rule.factor(image[dims.input_batch], &[(0, dims.input_batch), (2, dims.output_batch)]);
    for (i, (from, to)) in dims.input_spatial.iter().zip(&dims.output_spatial).enumerate() {
        let sizes = (image[*from], call.results[0][*to]);
        if op.lhs_dilation[i] == 1
            && let Some(reach) = reach(kernels[dims.kernel_spatial[i]], op.rhs_dilation[i])
        {
            let windows = Windows::new(sizes, reach, op.strides[i], op.padding[i].0);
            rule.windows(&[(0, *from), (2, *to)], windows);
        }
    }
    if op.feature_group_count == 1 {
        let features = dims.kernel_output_feature;
        rule.factor(kernels[features], &[(1, features), (2, dims.output_feature)]);
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
