//! Negative indices: the code that makes negative indices count from the end, before a `gather` or `scatter`,
//! becomes part of the gather or scatter.
//!
//! ```text
//! j = select(i < 0, i + n, i);  y = gather(x, j)      ──▶  y = gather(x, i), wrap [n]
//! ```
//!
//! NumPy's indices work like this, so JAX's programs contain such code everywhere. After the rewrite, the
//! wrapped indices need not be stored. The exception is wrapped indices that also have other users than
//! gathers, scatters, elementwise operations and movements of elements: these indices are computed anyway,
//! and the gathers and scatters keep using them.

use rustc_hash::FxHashMap;

use super::simplify::number;
use super::{Pass, PassOptions, running_regions};
use crate::dims::IndexedDims;
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
use crate::op::{Binary, ComparisonDirection, FormOp, Gather, Op, Scatter, Wrapping};
use crate::scalar::Scalar;

/// The pass for negative indices.
pub static PASS: Pass =
    Pass { name: "negative_indices", about: "lets gathers and scatters wrap negative indices", run };

/// Maximum number of movements between the wrapped indices and their user.
const MAX_MOVES: usize = 4;

fn run(func: &mut Func, _: &PassOptions) {
    let regions = running_regions(func);
    let mut r = Rewriter::new(func);
    for region in regions {
        let takers = r.func().region(region).insts().filter(|inst| index_vectors(inst.op()).is_some());
        let takers: Vec<InstId> = takers.map(|inst| inst.id()).collect();
        // A cache, since several gathers and scatters often use the same indices.
        let mut known: FxHashMap<(ValueId, usize), Option<Indices>> = FxHashMap::default();
        for id in takers {
            let inst = r.func().inst(id);
            let Some((dim, entries)) = index_vectors(inst.op()) else { continue };
            let (place, value) = indices(inst);
            let before = known.entry((value, dim)).or_insert_with(|| all(&mut r, id, value, dim, entries));
            if let Some(before) = before {
                wrap(&mut r, id, place, before.clone());
            }
        }
    }
}

/// Indices before wrapping, and the size that wrapping adds to each entry if it is negative.
type Indices = (ValueId, Vec<usize>);

/// Returns, for an operation that does not wrap indices yet, the dimension of the index vectors, and the
/// number of entries of an index vector.
fn index_vectors(op: &Op) -> Option<(usize, usize)> {
    let numbers = IndexedDims::of(op)?;
    numbers.wrap.is_empty().then_some((numbers.index_vector_dim, numbers.indexed_dims.len()))
}

/// Returns the operand that holds the indices of a gather or scatter: its position among the operands, and
/// the value.
fn indices(inst: Inst<'_>) -> (usize, ValueId) {
    let place = inst.own_operands().len() / 2;
    (place, inst.own_operands()[place])
}

/// Makes a gather or scatter wrap these indices.
fn wrap(r: &mut Rewriter<'_>, id: InstId, place: usize, (indices, wrap): Indices) {
    let inst = r.func().inst(id);
    let mut operands = inst.operands().to_vec();
    // `indices_are_sorted` referred to the wrapped indices; the indices before wrapping may be unsorted.
    let op = match inst.op() {
        Op::Gather(gather) => {
            let op = Gather { indices_are_sorted: false, ..(**gather).clone() };
            FormOp::WrappingGather(Box::new(Wrapping { op, wrap }))
        }
        Op::Scatter(scatter) => {
            let op = Scatter { indices_are_sorted: false, ..(**scatter).clone() };
            FormOp::WrappingScatter(Box::new(Wrapping { op, wrap }))
        }
        _ => return,
    };
    operands[place] = indices;
    r.set_op(id, op.into());
    r.set_operands(id, operands);
}

/// The indices before wrapping. Either one select wraps whole index vectors, or the indices are a
/// concatenation whose parts are wrapped separately.
fn all(r: &mut Rewriter<'_>, id: InstId, indices: ValueId, dim: usize, entries: usize) -> Option<Indices> {
    let made = r.func().defining_inst(indices)?;
    if *made.op() != (Op::Concatenate { dim }) {
        let (before, size) = before_wrapping(r, id, indices)?;
        return Some((before, vec![size; entries]));
    }
    let parts = made.operands().to_vec();
    let (mut before, mut wrap) = (Vec::with_capacity(parts.len()), Vec::with_capacity(entries));
    for part in &parts {
        let (value, size) = before_wrapping(r, id, *part).unwrap_or((*part, 0));
        before.push(value);
        wrap.resize(wrap.len() + r.func().tensor(*part)?.sizes()[dim], size);
    }
    if before == parts || !is_for_elements(r, indices) {
        return None;
    }
    let ty = r.func().tensor(indices)?.clone();
    Some((r.value_before(id, Op::Concatenate { dim }, before, ty), wrap))
}

/// The value before wrapping, in the same shape, and the size that is added to negative elements.
fn before_wrapping(r: &mut Rewriter<'_>, id: InstId, value: ValueId) -> Option<(ValueId, usize)> {
    let (mut value, mut moves) = (value, Vec::new());
    let (mut before, size) = loop {
        let made = r.func().defining_inst(value)?;
        match made.op() {
            Op::Reshape | Op::BroadcastInDim { .. } | Op::Transpose { .. } if moves.len() < MAX_MOVES => {
                moves.push((made.op().clone(), value));
                value = made.operands()[0];
            }
            Op::Select => break wrapped(made)?,
            _ => return None,
        }
    };
    if !moves.iter().map(|(_, moved)| *moved).chain([value]).all(|value| is_for_elements(r, value)) {
        return None;
    }
    for (op, moved) in moves.into_iter().rev() {
        let ty = r.func().tensor(moved)?.clone();
        before = r.value_before(id, op, [before], ty);
    }
    Some((before, size))
}

/// The indices that a select wraps, and the size that the select adds to negative indices.
fn wrapped(select: Inst<'_>) -> Option<(ValueId, usize)> {
    let (func, &[pred, chosen, other]) = (select.func(), select.operands()) else { return None };
    let compared = func.defining_inst(pred)?;
    let (Op::Compare(compare), &[a, b]) = (compared.op(), compared.operands()) else { return None };
    let (index, direction, bound) = match (number(func, a), number(func, b)) {
        (_, Some(Scalar::Signed(bound))) => (a, compare.direction, bound),
        (Some(Scalar::Signed(bound)), _) => (b, compare.direction.mirrored(), bound),
        _ => return None,
    };
    let (moved, kept) = match (direction, bound) {
        (ComparisonDirection::Lt, 0) | (ComparisonDirection::Le, -1) => (chosen, other),
        (ComparisonDirection::Ge, 0) | (ComparisonDirection::Gt, -1) => (other, chosen),
        _ => return None,
    };
    let sum = func.defining_inst(moved)?;
    let (Op::Binary(Binary::Add), &[a, b]) = (sum.op(), sum.operands()) else { return None };
    let size = number(func, if a == index { b } else { a })?;
    let is_sum = kept == index && (a == index || b == index);
    match size {
        Scalar::Signed(size) if is_sum => Some((index, usize::try_from(size).ok()?)),
        _ => None,
    }
}

/// Returns true if all users of a value are elementwise operations, movements of elements, or gathers and
/// scatters that use it as indices only.
fn is_for_elements(r: &Rewriter<'_>, value: ValueId) -> bool {
    r.users(value).iter().all(|user| {
        let user = r.func().inst(*user);
        match user.op() {
            op if IndexedDims::of(op).is_some() => {
                let place = indices(user).0;
                user.operands().iter().enumerate().all(|(i, operand)| (i == place) == (*operand == value))
            }
            Op::Reshape | Op::BroadcastInDim { .. } | Op::Transpose { .. } => true,
            op => op.is_elementwise() || op.moves_elements(),
        }
    })
}
