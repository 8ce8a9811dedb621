//! Operations that exist only in the middle form ([`crate::middle`]).

use std::ops::Range;

use smallvec::smallvec;

use crate::infer::control::list;
use crate::infer::cx::Cx;
use crate::infer::{indexing, reduction};
use crate::op::FormOp;
use crate::types::{Dim, Type, TypeList};

pub(super) fn form(cx: &mut Cx<'_>, op: &FormOp) -> Option<TypeList> {
    match op {
        FormOp::Fusion => fusion(cx),
        FormOp::Copy => Some(smallvec![cx.t(0).clone().into()]),
        FormOp::WrappingGather(wrapping) => {
            // gather_wrap
            wrap(cx, "gather_wrap", &wrapping.wrap, wrapping.op.start_index_map.len(), 1);
            indexing::gather(cx, &wrapping.op, false)
        }
        FormOp::WrappingScatter(wrapping) => {
            let entries = wrapping.op.scatter_dims_to_operand_dims.len();
            // scatter_wrap
            wrap(cx, "scatter_wrap", &wrapping.wrap, entries, cx.operand_count() / 2);
            indexing::scatter(cx, &wrapping.op)
        }
        FormOp::PartialSort { dim, part, .. } => partial_sort(cx, *dim, part),
    }
}

/// Checks a `fusion`: the region's arguments have the operands' types.
fn fusion(cx: &mut Cx<'_>) -> Option<TypeList> {
    let operands = cx.types(cx.inst.own_operands());
    let region = cx.region(0);
    let args = cx.types(region.own_args());
    cx.check(args == operands, "fusion-arguments", || {
        format!("the region must take the operands' types, {}, found {}", list(&operands), list(&args))
    });
    Some(cx.types(region.returned()))
}

/// Checks a partial sort, whose results hold only a part of each sorted line.
fn partial_sort(cx: &mut Cx<'_>, dim: usize, part: &Range<usize>) -> Option<TypeList> {
    let sorted = reduction::sort(cx, dim)?;
    let first = cx.t(0);
    let length = first.static_sizes().and_then(|sizes| sizes.get(dim).copied());
    let fits = part.start <= part.end && length.is_some_and(|length| part.end <= length);
    // sort_part
    cx.check(fits, "sort_part", || {
        format!(
            "elements {} to {} are outside of a line of {first} along dimension {dim}",
            part.start, part.end
        )
    });
    let size = |(d, size)| if d == dim { Dim::Static(part.len()) } else { size };
    let resized = sorted.iter().filter_map(Type::tensor).map(|t| t.with_dims(t.dims().enumerate().map(size)));
    Some(resized.map(Type::from).collect())
}

/// Checks `wrap`, the numbers that are added to negative entries of an index. There must be one number for
/// each entry, and the element type of the indices must be able to represent it. The indices are operand
/// `place`.
fn wrap(cx: &mut Cx<'_>, code: &'static str, wrap: &[usize], entries: usize, place: usize) {
    if cx.length(code, "wrap", wrap.len(), entries, "one per entry of an index")
        && let Some(indices) = cx.tensors(0..cx.operand_count()).get(place)
    {
        let bits = indices.dtype.bits();
        let fits = |n: &usize| u64::try_from(*n).is_ok_and(|n| n >> (bits - 1) == 0);
        cx.check(indices.dtype.is_signed_integer() && wrap.iter().all(fits), code, || {
            format!("wrap must hold numbers of a signed index type, found {wrap:?} for {indices}")
        });
    }
}
