//! Operations without a dynamic form: JAX writes them as custom calls whose operands would be attributes.
//! Once these operands are known, the calls are replaced by the operations.
//!
//! | call | operands | is |
//! | --- | --- | --- |
//! | `stablehlo.dynamic_reduce_window` | N inputs, N initial values, window, strides, two dilations, padding | `reduce_window` by the called computation |
//! | `stablehlo.dynamic_rng_bit_generator` | state, shape | `rng_bit_generator` |
//! | `stablehlo.dynamic_top_k` | operand, k | `chlo.top_k` |
//! | `stablehlo.dynamic_approx_top_k` | N tensors, N initial values, k | the first k elements of a sort by the called computation |
//! | `ApproxTopK` | N tensors, N initial values, shapes of the results | the first elements of a sort by the called computation |

use super::Stop;
use super::func::Walk;
use crate::attr::Attr;
use crate::module::{Inst, NewInst, RegionId, ValueId};
use crate::op::{CallConfig, CustomCall, Op, ReduceWindow, RngAlgorithm, Slice};
use crate::types::TensorType;

/// Rewrites a call to the operation that it stands for. Returns false if it stands for none, or an operand is
/// not known.
pub(super) fn to_op<'m>(
    walk: &mut Walk<'_, 'm>,
    call: &CustomCall,
    inst: Inst<'m>,
    new: &mut NewInst,
) -> Result<bool, Stop> {
    let found = match call.target.as_str() {
        "stablehlo.dynamic_reduce_window" => reduce_window(walk, call, new),
        "stablehlo.dynamic_rng_bit_generator" => rng_bit_generator(walk, inst, new),
        "stablehlo.dynamic_top_k" => top_k(walk, new),
        _ => None,
    };
    let Some((op, operands)) = found else { return Ok(false) };
    if let Op::ReduceWindow(_) = &op {
        let [reducer] = call.called_computations.as_slice() else { return Ok(false) };
        let region = walk.inlined(*reducer, inst)?;
        new.regions.push(region);
    }
    new.op = op;
    new.operands.truncate(operands);
    Ok(true)
}

/// Rewrites an approximate top-k to a sort whose first elements are used. Returns false for other calls.
pub(super) fn approx_top_k<'m>(
    walk: &mut Walk<'_, 'm>,
    call: &CustomCall,
    inst: Inst<'m>,
    new: &NewInst,
    out: RegionId,
) -> Result<bool, Stop> {
    let (CallConfig::Dict(config), [comparator]) = (&call.config, call.called_computations.as_slice()) else {
        return Ok(false);
    };
    let number = |key: &str| config.get(key).and_then(Attr::as_i64).and_then(|n| usize::try_from(n).ok());
    let n = inst.results().len();
    let k = match call.target.as_str() {
        "ApproxTopK" => number("top_k"),
        "stablehlo.dynamic_approx_top_k" => {
            let k = new.operands.get(2 * n).and_then(|k| walk.integers(*k));
            k.and_then(|k| usize::try_from(*k.first()?).ok())
        }
        _ => return Ok(false),
    };
    let (Some(dim), Some(k)) = (number("reduction_dim"), k) else { return Ok(false) };
    let sorted: Vec<ValueId> = new.operands.iter().take(n).copied().collect();
    let types: Option<Vec<TensorType>> = sorted.iter().map(|v| walk.to.tensor(*v).cloned()).collect();
    let fits = |t: &TensorType| t.sizes().get(dim).is_some_and(|size| k <= *size);
    let Some(types) = types.filter(|types| types.len() == n && n > 0 && types.iter().all(fits)) else {
        return Ok(false);
    };
    let region = walk.inlined(*comparator, inst)?;
    let here = |op: Op, operands: Vec<ValueId>| NewInst::new(op, operands).at(new.span, new.loc.clone());
    let sort = here(Op::Sort { dim, is_stable: true, part: None }, sorted).with_regions([region]);
    let sort = walk.to.push(out, sort, types.iter().cloned().map(Into::into));
    let results = walk.to.inst(sort).results().to_vec();
    for ((value, ty), result) in results.into_iter().zip(types).zip(inst.results()) {
        let mut limit = ty.sizes().to_vec();
        limit[dim] = k;
        let ty = ty.with_sizes(limit.clone());
        let slice = Slice { start: vec![0; limit.len()], strides: vec![1; limit.len()], limit };
        let taken = walk.to.push(out, here(Op::Slice(slice), vec![value]), [ty.into()]);
        let taken = walk.to.inst(taken).results()[0];
        walk.bind(*result, taken, new)?;
    }
    Ok(true)
}

fn reduce_window(walk: &Walk<'_, '_>, call: &CustomCall, new: &NewInst) -> Option<(Op, usize)> {
    let operands = new.operands.len().checked_sub(5)?;
    if call.called_computations.len() != 1 {
        return None;
    }
    let list = |i: usize| walk.integers(new.operands[operands + i]);
    let sizes =
        |i: usize| list(i)?.into_iter().map(|n| usize::try_from(n).ok()).collect::<Option<Vec<usize>>>();
    let op = ReduceWindow {
        window: sizes(0)?,
        strides: sizes(1)?,
        base_dilations: sizes(2)?,
        window_dilations: sizes(3)?,
        padding: list(4)?.chunks_exact(2).map(|p| (p[0], p[1])).collect(),
    };
    Some((Op::ReduceWindow(Box::new(op)), operands))
}

fn rng_bit_generator(walk: &mut Walk<'_, '_>, inst: Inst<'_>, new: &mut NewInst) -> Option<(Op, usize)> {
    let ([_, shape], [_, bits]) = (new.operands.as_slice(), inst.results()) else { return None };
    let dims: Option<Vec<usize>> =
        walk.integers(*shape)?.into_iter().map(|n| usize::try_from(n).ok()).collect();
    let Some(Attr::Dialect(named)) = new.attrs.get("rng_algorithm") else { return None };
    let algorithm = RngAlgorithm::VARIANTS.into_iter().find(|a| a.name() == named.text)?;
    walk.shape_is(*bits, dims?);
    new.attrs.remove("rng_algorithm");
    Some((Op::RngBitGenerator(algorithm), 1))
}

fn top_k(walk: &Walk<'_, '_>, new: &NewInst) -> Option<(Op, usize)> {
    let [_, k] = new.operands.as_slice() else { return None };
    let k = walk.integers(*k)?;
    let [k] = k.as_slice() else { return None };
    Some((Op::TopK { k: usize::try_from(*k).ok()? }, 1))
}
