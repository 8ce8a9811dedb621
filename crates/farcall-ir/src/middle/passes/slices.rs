//! Slice propagation: if only slices of a value are used, only the elements in these slices are computed.
//!
//! ```text
//! y = exp(x: [6, 9]);  top = slice(y, [0:1, 0:9])      ──▶  x' = slice(x, [0:1, 0:9]);  top = exp(x')
//! s = sort(x: [100]);  last = slice(s, [90:100])       ──▶  last = sort(x), part [90, 100]
//! ```
//!
//! The last position of a sequence model's output is such a slice; so are `jax.numpy.sort(x)[-10:]`,
//! `argsort(x)[:10]` and `approx_max_k`. (`chlo.top_k` cannot replace all of these programs, because it
//! prescribes where NaNs are sorted.) Slices move up through elementwise operations and through operations
//! that move elements. An operation that sums elements is computed whole, since the order of its additions
//! may depend on its size.

use rustc_hash::FxHashSet;

use super::{Pass, PassOptions, running_regions};
use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
use crate::op::{FormOp, Op, Slice};
use crate::types::Type;

/// The slice propagation pass.
pub static PASS: Pass =
    Pass { name: "slices", about: "computes only the parts of values that slices use", run };

/// Minimum ratio of a value's elements to the elements of a part that is computed alone. The gain must
/// outweigh a lost fusion: an operation on a part cannot be fused with operations on whole tensors.
const MIN_SHRINK_FACTOR: usize = 2;
/// Minimum ratio of the length of a line (the elements that are sorted together) to the length of its sorted
/// part. If the part is longer, sorting the whole line is as fast.
const MIN_SORT_SHRINK_FACTOR: usize = 8;

fn run(func: &mut Func, _: &PassOptions) {
    let regions = running_regions(func);
    let mut r = Rewriter::new(func);
    for region in regions {
        let insts = r.func().region(region).insts();
        let mut open: Vec<ValueId> = insts.filter_map(|inst| slice_of(inst).map(|(x, _)| x)).collect();
        let mut seen = FxHashSet::default();
        open.retain(|x| seen.insert(*x));
        while let Some(value) = open.pop() {
            let Some(maker) = r.func().defining_inst(value).map(|inst| inst.id()) else { continue };
            if let Some(part) = part(&r, maker) {
                make_only(&mut r, maker, &part);
                let maker = r.func().inst(maker);
                open.extend(slice_of(maker).map(|(x, _)| x));
                open.extend(maker.operands().iter().filter_map(|x| taken_of(&r, *x)));
            }
        }
    }
}

/// The operand of a slice, and the slice.
fn slice_of(inst: Inst<'_>) -> Option<(ValueId, &Slice)> {
    match (inst.op(), inst.operands()) {
        (Op::Slice(slice), [x]) => Some((*x, slice)),
        _ => None,
    }
}

/// The operand of the slice that defines a value.
fn taken_of(r: &Rewriter<'_>, value: ValueId) -> Option<ValueId> {
    slice_of(r.func().defining_inst(value)?).map(|(x, _)| x)
}

/// A part of an instruction's results.
struct Part {
    /// The part of each result.
    slice: Slice,
    /// The operation that computes the part.
    op: Op,
    /// The slice that the operation needs of each operand; `None` for the whole operand.
    operands: Vec<Option<Slice>>,
}

/// The part of an instruction's results that is used, if computing it alone is possible and cheaper.
fn part(r: &Rewriter<'_>, inst: InstId) -> Option<Part> {
    let inst = r.func().inst(inst);
    // Among the operations with several results, only sorts can be computed in part. The results of other
    // operations may differ in size.
    if inst.results().len() > 1 && !inst.op().is_sort() {
        return None;
    }
    let from = r.func().tensor(*inst.results().first()?)?;
    let slice = taken(r, inst, from.sizes())?;
    if let Op::Sort { dim, is_stable } = *inst.op() {
        let (start, limit, length) = (*slice.start.get(dim)?, *slice.limit.get(dim)?, from.sizes()[dim]);
        // The first elements of each line, or the last.
        let end = [0..limit, start..length]
            .into_iter()
            .find(|end| end.len().saturating_mul(MIN_SORT_SHRINK_FACTOR) <= length)?;
        let mut slice = Slice::all(from.sizes());
        (slice.start[dim], slice.limit[dim]) = (end.start, end.end);
        let op = FormOp::PartialSort { dim, is_stable, part: end }.into();
        return Some(Part { slice, op, operands: vec![None; inst.operands().len()] });
    }
    let made = slice.sizes().try_fold(MIN_SHRINK_FACTOR, usize::checked_mul)?;
    if made > from.elements()? {
        return None;
    }
    let (op, operands) = sliced(r.func(), inst, &slice)?;
    Some(Part { slice, op, operands })
}

/// The smallest slice that contains all slices of an instruction's results. `None` if there are other users,
/// if the slices are empty, or if they cover the whole results.
fn taken(r: &Rewriter<'_>, inst: Inst<'_>, sizes: &[usize]) -> Option<Slice> {
    let mut all: Option<Slice> = None;
    for user in inst.results().iter().flat_map(|result| r.users(*result)) {
        let (_, slice) = slice_of(r.func().inst(*user))?;
        match &mut all {
            None => all = Some(slice.clone()),
            Some(all) if *all == *slice => {}
            Some(all) => {
                for d in 0..all.start.len() {
                    all.start[d] = all.start[d].min(slice.start[d]);
                    all.limit[d] = all.limit[d].max(slice.limit[d]);
                    all.strides[d] = 1;
                }
                // Together, many small slices may cover the whole value.
                if *all == Slice::all(sizes) {
                    return None;
                }
            }
        }
    }
    all.filter(|slice| slice.sizes().all(|n| n > 0))
}

/// The operation that computes a slice of an instruction's only result, and the slices of its operands;
/// `None` if no operation does.
fn sliced(func: &Func, inst: Inst<'_>, slice: &Slice) -> Option<(Op, Vec<Option<Slice>>)> {
    let plain = |v: &ValueId| func.tensor(*v).filter(|t| t.quant.is_none());
    let to = plain(inst.results().first()?)?;
    let along = |dims: &[usize]| Slice {
        start: dims.iter().map(|d| slice.start[*d]).collect(),
        limit: dims.iter().map(|d| slice.limit[*d]).collect(),
        strides: dims.iter().map(|d| slice.strides[*d]).collect(),
    };
    let (op, x) = (inst.op().clone(), inst.operands().first());
    let (op, operand) = match inst.op() {
        elementwise if elementwise.is_elementwise() => {
            // A predicate or bound may be a scalar.
            let each = |v: &ValueId| Some((plain(v)?.sizes() == to.sizes()).then(|| slice.clone()));
            return Some((op, inst.operands().iter().map(each).collect::<Option<_>>()?));
        }
        Op::Iota { dim } if slice.start[*dim] == 0 && slice.strides[*dim] == 1 => {
            return Some((op, Vec::new()));
        }
        Op::BroadcastInDim { dims } => {
            let mut operand = along(dims);
            for (d, n) in plain(x?)?.sizes().iter().enumerate().filter(|(_, n)| **n == 1) {
                (operand.start[d], operand.limit[d], operand.strides[d]) = (0, *n, 1);
            }
            (op, operand)
        }
        Op::Slice(first) => return Some((Op::Slice(first.then(slice)), vec![None])),
        Op::Transpose { permutation } => {
            let mut places = vec![0; permutation.len()];
            permutation.iter().enumerate().for_each(|(d, from)| places[*from] = d);
            (op, along(&places))
        }
        Op::Reverse { dims } => {
            let (from, mut operand) = (plain(x?)?.sizes(), slice.clone());
            for d in dims.iter().copied() {
                operand.start[d] = from[d] - 1 - slice.last(d);
                operand.limit[d] = from[d] - slice.start[d];
            }
            (op, operand)
        }
        _ => return None,
    };
    Some((op, vec![Some(operand)]))
}

/// Makes an instruction compute only a part of its results, and adjusts the slices of the results.
fn make_only(r: &mut Rewriter<'_>, id: InstId, part: &Part) {
    let inst = r.func().inst(id);
    let (results, operands) = (inst.results().to_vec(), inst.operands().to_vec());
    let resized = |ty: &Type| match ty {
        Type::Tensor(t) => Type::Tensor(part.slice.of_type(t)),
        other => other.clone(),
    };
    let types = results.iter().map(|v| resized(r.func().ty(*v))).collect();
    let mut slices: Vec<(ValueId, ValueId)> = Vec::new();
    let operands: Vec<ValueId> = operands
        .into_iter()
        .zip(&part.operands)
        .map(|(x, slice)| match (slice, slices.iter().find(|(whole, _)| *whole == x)) {
            (None, _) => x,
            (Some(_), Some((_, slice))) => *slice,
            (Some(slice), None) => {
                let value = slice_before(r, id, x, slice);
                slices.push((x, value));
                value
            }
        })
        .collect();
    r.set_op(id, part.op.clone());
    r.set_operands(id, operands);
    r.set_results(id, types);
    for value in results {
        for user in r.users(value).to_vec() {
            let Op::Slice(mut slice) = r.func().inst(user).op().clone() else { continue };
            if r.func().inst(user).results().iter().all(|taken| r.func().ty(*taken) == r.func().ty(value)) {
                r.replace(user, &[value]);
                continue;
            }
            for (d, start) in part.slice.start.iter().enumerate() {
                slice.start[d] -= start;
                slice.limit[d] -= start;
            }
            r.set_op(user, Op::Slice(slice));
        }
    }
}

/// Slices a value before an instruction. The slice of a splat constant, of an iota, or of a broadcast whose
/// operand is needed whole becomes a smaller constant, iota or broadcast.
fn slice_before(r: &mut Rewriter<'_>, id: InstId, x: ValueId, slice: &Slice) -> ValueId {
    let Some(ty) = r.func().tensor(x).cloned() else { return x };
    if *slice == Slice::all(ty.sizes()) {
        return x;
    }
    let to = slice.of_type(&ty);
    let less = r.func().defining_inst(x).and_then(|made| match made.op() {
        Op::Constant(literal) if literal.is_splat() => {
            let number = literal.iter().next()?;
            Some((Op::Constant(Literal::splat(literal.dtype(), to.sizes(), number)), None))
        }
        Op::Iota { .. } | Op::BroadcastInDim { .. } => {
            let (op, operands) = sliced(r.func(), made, slice)?;
            let whole = |(x, of): (&ValueId, &Option<Slice>)| {
                let sizes = r.func().tensor(*x)?.sizes();
                of.as_ref().is_none_or(|of| *of == Slice::all(sizes)).then_some(*x)
            };
            match made.operands().iter().zip(&operands).map(whole).collect::<Option<Vec<ValueId>>>()?[..] {
                [] => Some((op, None)),
                [x] => Some((op, Some(x))),
                _ => None,
            }
        }
        _ => None,
    });
    match less {
        Some((op, operand)) => r.value_before(id, op, operand, to),
        None => r.value_before(id, Op::Slice(slice.clone()), [x], to),
    }
}
