//! Operations without a dynamic form: JAX writes them as custom calls, with operands in the place of the
//! operation's attributes. Once these operands are known, the calls are replaced by the operations.
//!
//! | call | operands | replaced by |
//! | --- | --- | --- |
//! | `stablehlo.dynamic_reduce_window` | N inputs, N initial values, window, strides, two dilations, padding | `reduce_window` by the called computation |
//! | `stablehlo.dynamic_rng_bit_generator` | state, shape | `rng_bit_generator` |
//! | `stablehlo.dynamic_top_k` | operand, k | `chlo.top_k` |
//! | `stablehlo.dynamic_approx_top_k` | N tensors, N initial values, k | the first k elements of a sort by the called computation |
//! | `ApproxTopK` | N tensors, N initial values, shapes of the results | the first elements of a sort by the called computation |

use super::Stop;
use super::walk::Walk;
use crate::attr::Attribute;
use crate::module::{FuncId, Inst, NewInst, RegionId, ValueId};
use crate::op::{CallConfig, CustomCall, Op, ReduceWindow, RngAlgorithm, Slice};
use crate::types::TensorType;

/// Rewrites a call to the operation that it stands for. The caller adds the region of a `reduce_window`.
/// Returns false if the call stands for no operation, or if a necessary operand is not known.
pub(super) fn to_op(walk: &mut Walk<'_, '_>, call: &CustomCall, inst: Inst<'_>, new: &mut NewInst) -> bool {
    let found = match call.target.as_str() {
        "stablehlo.dynamic_reduce_window" => reduce_window(walk, call, new),
        "stablehlo.dynamic_rng_bit_generator" => rng_bit_generator(walk, inst, new),
        "stablehlo.dynamic_top_k" => top_k(walk, new),
        _ => None,
    };
    let Some((op, operands)) = found else { return false };
    new.op = op;
    new.operands.truncate(operands);
    true
}

/// An approximate top-k, which becomes a sort whose first elements are used.
pub(super) struct ApproxTopK {
    /// The computation that orders the elements.
    pub(super) comparator: FuncId,
    dim: usize,
    k: usize,
    sorted: Vec<ValueId>,
    /// Types of the sorted tensors.
    types: Vec<TensorType>,
}

/// Recognizes an approximate top-k whose `k` is known.
pub(super) fn approx_top_k(
    walk: &Walk<'_, '_>,
    call: &CustomCall,
    inst: Inst<'_>,
    new: &NewInst,
) -> Option<ApproxTopK> {
    let (CallConfig::Dict(config), [comparator]) = (&call.config, call.called_computations.as_slice()) else {
        return None;
    };
    let number =
        |key: &str| config.get(key).and_then(Attribute::as_i64).and_then(|n| usize::try_from(n).ok());
    let n = inst.results().len();
    let k = match call.target.as_str() {
        "ApproxTopK" => number("top_k"),
        "stablehlo.dynamic_approx_top_k" => {
            let k = new.operands.get(2 * n).and_then(|k| walk.integers(*k));
            k.and_then(|k| usize::try_from(*k.first()?).ok())
        }
        _ => None,
    };
    let (dim, k) = (number("reduction_dim")?, k?);
    let sorted: Vec<ValueId> = new.operands.iter().take(n).copied().collect();
    let types: Option<Vec<TensorType>> = sorted.iter().map(|v| walk.to.tensor(*v).cloned()).collect();
    let fits = |t: &TensorType| t.sizes().get(dim).is_some_and(|size| k <= *size);
    let types = types.filter(|types| types.len() == n && n > 0 && types.iter().all(fits))?;
    Some(ApproxTopK { comparator: *comparator, dim, k, sorted, types })
}

impl ApproxTopK {
    /// Adds the sort to `out`, with its comparator as a region, and binds the results of the call to the
    /// first elements.
    pub(super) fn write(
        self,
        walk: &mut Walk<'_, '_>,
        comparator: RegionId,
        inst: Inst<'_>,
        new: &NewInst,
        out: RegionId,
    ) -> Result<(), Stop> {
        let ApproxTopK { dim, k, sorted, types, .. } = self;
        let here = |op: Op, operands: Vec<ValueId>| NewInst::new(op, operands).at(new.span, new.loc.clone());
        let sort = here(Op::Sort { dim, is_stable: true }, sorted).with_regions([comparator]);
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
        Ok(())
    }
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
    let Some(Attribute::Dialect(named)) = new.attrs.get("rng_algorithm") else { return None };
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
