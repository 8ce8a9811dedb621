//! Rules of reductions.

use farcall_ir::op::{Binary, Op, ReduceWindow, SelectAndScatter};
use farcall_ir::{Region, reducer};

use super::{Call, Rule, WindowShape, Windows, reach};
use crate::local;

pub(super) fn reduce(rule: &mut Rule, call: &Call<'_>, dims: &[usize]) {
    let inputs = call.operands.len() / 2;
    let combine = call.inst.region(0).filter(|_| inputs == 1).and_then(combiner);
    let mut to = 0;
    for (d, size) in call.operands[0].iter().enumerate() {
        let mut places: Vec<_> = (0..inputs).map(|tensor| (tensor, d)).collect();
        if !dims.contains(&d) {
            places.extend(call.places(0..0, to));
            rule.factor(*size, &places);
            to += 1;
        } else if let Some(combine) = combine {
            rule.reduced(*size, &places, combine);
        }
    }
}

pub(super) fn windows(rule: &mut Rule, call: &Call<'_>, op: &ReduceWindow) {
    let inputs = call.operands.len() / 2;
    for (d, sizes) in call.dims() {
        if let Some(reach) = reach(op.window[d], op.window_dilations[d]) {
            let (stride, dilation, low) = (op.strides[d], op.base_dilations[d], op.padding[d].0);
            let windows = Windows::new(sizes, WindowShape { reach, stride, dilation, low });
            rule.windows(&call.places(0..inputs, d), windows);
        }
    }
}

/// Adds factors for dimensions along which windows neither overlap nor leave elements out.
pub(super) fn select_and_scatter(rule: &mut Rule, call: &Call<'_>, op: &SelectAndScatter) {
    for (d, size) in call.operands[0].iter().enumerate() {
        let (reach, stride) = (op.window[d], op.strides[d]);
        if reach == stride && op.padding[d] == (0, 0) && size.is_multiple_of(stride.max(1)) {
            let shape = WindowShape { reach, stride, dilation: 1, low: 0 };
            rule.windows(&call.places(0..2, d), Windows::new((*size, call.operands[1][d]), shape));
        }
    }
}

/// Returns the function of a reduction's region, if the function can combine summands of several devices
/// without counting the initial value twice: if it has an [`identity`](local::identity).
pub(crate) fn combiner(region: Region<'_>) -> Option<Binary> {
    let Op::Binary(function) = reducer::of(region)?.inst.op() else { return None };
    let dtype = region.func().tensor(*region.args().first()?)?.dtype;
    local::identity(*function, dtype).is_some().then_some(*function)
}
