//! Scatters of a single window to a known position become updates of that part of the operand.
//!
//! ```text
//! y = scatter(x, [1, 1], v: [6, 6]) { set }    ──▶  y = dynamic_update_slice(x, v, 1, 1)
//! y = scatter(x, [1, 1], v: [6, 6]) { add }    ──▶  y = dynamic_update_slice(x, slice(x) + v, 1, 1)
//! ```
//!
//! `x.at[1:-1, 1:-1].set(v)` in JAX is such a scatter. An update copies runs of contiguous elements, in place
//! if possible, and its operands can be fused. Windows that are not inside the operand are left alone: a
//! scatter skips them, an update would shift them.

use super::simplify::{number, reshaped, splat_before};
use super::{Pass, PassOptions, each_inst};
use crate::dims::IndexedDims;
use crate::module::{Func, Inst, Region, ValueId};
use crate::op::{Op, Scatter, Slice};
use crate::reducer;
use crate::scalar::Scalar;
use crate::types::TensorType;
use farcall_sig::DType;

/// The pass for windows at known positions.
pub static PASS: Pass =
    Pass { name: "scatter_updates", about: "turns scatters of one window into updates of a part", run };

fn run(func: &mut Func, _: &PassOptions) {
    each_inst(func, |r, _, id| {
        let inst = r.func().inst(id);
        let Some((window, combine)) = window(inst).zip(inst.region(0).and_then(Combine::of)) else { return };
        let &[x, _, update] = inst.operands() else { return };
        let Some(ty) = r.func().tensor(x).cloned() else { return };
        let part = window.of_type(&ty);
        let mut update = reshaped(r, id, update, part.clone());
        if let Combine::By(op, swapped) = combine {
            let before = r.value_before(id, Op::Slice(window.clone()), [x], part.clone());
            let pair = if swapped { [update, before] } else { [before, update] };
            update = r.value_before(id, op, pair, part);
        }
        let mut operands = vec![x, update];
        for start in window.start {
            let start = Scalar::Signed(i64::try_from(start).unwrap_or(i64::MAX));
            operands.push(splat_before(r, id, start, TensorType::scalar(DType::S64)));
        }
        let value = r.value_before(id, Op::DynamicUpdateSlice, operands, ty);
        r.replace(id, &[value]);
    });
}

/// Way in which a scatter combines an element and its update.
enum Combine {
    /// Replaces the element by the update.
    Set,
    /// Applies an operation to the element and the update. The update is the first operand if the second
    /// field is true.
    By(Op, bool),
}

impl Combine {
    fn of(region: Region<'_>) -> Option<Combine> {
        if let ([_, update], [returned]) = (region.args(), region.returned())
            && update == returned
        {
            return Some(Combine::Set);
        }
        let by = reducer::of(region)?;
        matches!(by.inst.op(), Op::Binary(_)).then(|| Combine::By(by.inst.op().clone(), by.swapped))
    }
}

/// The part of its operand that a scatter updates, if it is a single known part.
fn window(inst: Inst<'_>) -> Option<Slice> {
    let (Op::Scatter(scatter), &[x, indices, update]) = (inst.op(), inst.operands()) else { return None };
    let func = inst.func();
    let plain = |v: ValueId| func.tensor(v).filter(|ty| ty.quant.is_none() && ty.is_static());
    let (x, update, result) = (plain(x)?, plain(update)?, plain(*inst.results().first()?)?);
    let numbers = IndexedDims::from(&**scatter);
    if !scatter.input_batching_dims.is_empty() || [update.dtype, result.dtype] != [x.dtype; 2] {
        return None;
    }
    let mut starts = vec![0; x.rank()];
    for (d, index) in numbers.indexed_dims.iter().zip(vector(func, indices, scatter)?) {
        starts[*d] = index;
    }
    let sizes = numbers.window_sizes(x.rank(), update.sizes())?;
    let limits = sizes
        .iter()
        .enumerate()
        .map(|(d, size)| starts[d].checked_add(*size).filter(|limit| *size > 0 && *limit <= x.sizes()[d]));
    let limit = limits.collect::<Option<Vec<usize>>>()?;
    let window = Slice { start: starts, limit, strides: vec![1; x.rank()] };
    // Index vectors without entries have no elements, so `vector` does not notice if there are several of
    // them.
    let elements = window.sizes().try_fold(1, usize::checked_mul);
    (elements == update.elements()).then_some(window)
}

/// The only index vector, if it is known and has no negative entries.
fn vector(func: &Func, indices: ValueId, scatter: &Scatter) -> Option<Vec<usize>> {
    let entries = scatter.scatter_dims_to_operand_dims.len();
    if func.tensor(indices)?.elements() != Some(entries) {
        return None;
    }
    let index = |scalar: Scalar| match scalar {
        Scalar::Signed(n) => usize::try_from(n).ok(),
        Scalar::Unsigned(n) => usize::try_from(n).ok(),
        _ => None,
    };
    match func.defining_inst(indices).map(Inst::op) {
        Some(Op::Constant(literal)) => literal.iter().map(index).collect(),
        _ => Some(vec![index(number(func, indices)?)?; entries]),
    }
}
