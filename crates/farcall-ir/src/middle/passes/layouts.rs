//! Layouts: operands and results that are not row-major are transposed before and after their custom call.
//!
//! Every value of the middle form is row-major. A call that expects an operand in another layout gets a copy
//! of the operand: transposed, so that its bytes are in the layout's order, and then reshaped to the type
//! that the call declares. A result in another layout is reshaped to the dimensions in memory order, and then
//! transposed back.
//!
//! If two of these transposes cancel, neither is inserted.
//!
//! The call keeps its layouts, which its target may query. The attribute `farcall.laid_out` marks a call
//! whose operands and results have already been transposed, so that the pass does not transpose them twice.

use super::{Pass, PassOptions, erase_unused};
use crate::attr::Attribute;
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
use crate::op::{CustomCall, Op};
use crate::types::{TensorType, Type};

/// The pass for layouts of custom calls.
pub static PASS: Pass =
    Pass { name: "layouts", about: "transposes operands and results of calls with other layouts", run };

/// Attribute of a call whose operands and results already have the call's layouts.
const LAID_OUT: &str = "farcall.laid_out";

fn run(func: &mut Func, _: &PassOptions) {
    let mut found = Vec::new();
    func.walk(&mut |inst| {
        if let Op::CustomCall(call) = inst.op()
            && !inst.attrs().contains_key(LAID_OUT)
        {
            let layouts = Layouts::of(inst, call);
            if layouts.operands.iter().chain(&layouts.results).any(Option::is_some) {
                found.push((inst.id(), layouts));
            }
        }
    });
    if found.is_empty() {
        return;
    }
    let mut r = Rewriter::new(func);
    for (id, layouts) in found {
        operands(&mut r, id, &layouts.operands);
        results(&mut r, id, &layouts.results);
        r.attrs_mut(id).insert(LAID_OUT.to_owned(), Attribute::Unit);
    }
}

/// For each operand and result of a call, the dimensions in the order of memory, major to minor; `None` for a
/// row-major operand or result.
struct Layouts {
    operands: Vec<Option<Vec<usize>>>,
    results: Vec<Option<Vec<usize>>>,
}

impl Layouts {
    fn of(inst: Inst<'_>, call: &CustomCall) -> Layouts {
        let types = |ids: &[ValueId]| ids.iter().map(|v| inst.func().ty(*v).clone()).collect::<Vec<Type>>();
        let (params, results) = match &call.types {
            Some(types) => (types.params.clone(), types.results.clone()),
            None => (types(inst.operands()), types(inst.results())),
        };
        let orders = |types: &[Type], layouts: Option<&[Vec<usize>]>, ids: &[ValueId]| {
            let each = leaf_layouts(types, layouts).into_iter().zip(ids);
            each.map(|(layout, id)| order(layout?, inst.func().tensor(*id)?)).collect()
        };
        Layouts {
            operands: orders(&params, call.operand_layouts.as_deref(), inst.operands()),
            results: orders(&results, call.result_layouts.as_deref(), inst.results()),
        }
    }
}

/// The order of the dimensions in a layout (which is minor to major); `None` if the layout is row-major.
fn order(layout: &[usize], ty: &TensorType) -> Option<Vec<usize>> {
    let order: Vec<usize> = layout.iter().rev().copied().collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let valid = sorted.into_iter().eq(0..ty.rank());
    (valid && !order.iter().copied().eq(0..ty.rank())).then_some(order)
}

/// The layout of each tensor in values of these types. Tensors in a tuple have no layouts, except if the
/// tuple is the only value and there is one layout for each of its parts.
fn leaf_layouts<'l>(types: &[Type], layouts: Option<&'l [Vec<usize>]>) -> Vec<Option<&'l Vec<usize>>> {
    let layout = |i: usize| layouts.and_then(|l| l.get(i));
    let mut out = Vec::new();
    for (i, ty) in types.iter().enumerate() {
        match ty {
            Type::Tensor(_) => out.push(layout(i)),
            Type::Tuple(parts) if types.len() == 1 && layouts.is_some_and(|l| l.len() == parts.len()) => {
                return leaf_layouts(parts, layouts);
            }
            Type::Tuple(parts) => out.extend(leaf_layouts(parts, None)),
            _ => {}
        }
    }
    out
}

/// Transposes the operands of a call.
fn operands(r: &mut Rewriter<'_>, call: InstId, orders: &[Option<Vec<usize>>]) {
    let given = r.func().inst(call).operands().to_vec();
    let mut operands = given.clone();
    for (x, order) in operands.iter_mut().zip(orders) {
        let (Some(order), Some(ty)) = (order, r.func().tensor(*x).cloned()) else { continue };
        let plain = stored(r, call, *x, &ty);
        let moved = transposed(r, call, plain, order.clone());
        *x = seen_as(r, call, moved, &ty);
    }
    r.set_operands(call, operands);
    given.into_iter().for_each(|x| erase_unused(r, x, is_moved));
}

/// Transposes the used results of a call back.
fn results(r: &mut Rewriter<'_>, call: InstId, orders: &[Option<Vec<usize>>]) {
    let results = r.func().inst(call).results().to_vec();
    for (y, order) in results.into_iter().zip(orders) {
        let (Some(order), Some(ty)) = (order, r.func().tensor(y).cloned()) else { continue };
        let Some(next) = r.func().inst(call).next().map(Inst::id) else { return };
        if !r.is_used(y) {
            continue;
        }
        let sizes: Vec<usize> = order.iter().map(|d| ty.sizes()[*d]).collect();
        let inverse: Vec<usize> =
            (0..order.len()).filter_map(|d| order.iter().position(|o| *o == d)).collect();
        // An instruction that uses the result twice is listed twice.
        let mut users = r.users(y).to_vec();
        users.sort_unstable();
        users.dedup();
        let plain = stored(r, next, y, &ty);
        let physical = seen_as(r, next, plain, &ty.with_dtype(ty.dtype).with_sizes(sizes));
        let undoing = |user: &InstId| {
            let user = r.func().inst(*user);
            is_undone(user.op(), &inverse) && r.func().ty(user.results()[0]) == r.func().ty(physical)
        };
        let (undoing, users): (Vec<InstId>, Vec<InstId>) = users.into_iter().partition(undoing);
        let moved = transposed(r, next, physical, inverse);
        let row_major = seen_as(r, next, moved, &ty);
        for user in users {
            let operands = r.func().inst(user).operands().iter();
            let operands: Vec<ValueId> = operands.map(|v| if *v == y { row_major } else { *v }).collect();
            r.set_operands(user, operands);
        }
        undoing.into_iter().for_each(|user| r.replace(user, &[physical]));
        erase_unused(r, row_major, is_moved);
    }
}

/// Returns true for transposes and for views of the same bytes as another type.
fn is_moved(inst: Inst<'_>) -> bool {
    matches!(inst.op(), Op::Transpose { .. } | Op::Reshape | Op::BitcastConvert)
}

/// The storage elements of a quantized value; quantization does not matter when elements are moved.
fn stored(r: &mut Rewriter<'_>, before: InstId, x: ValueId, ty: &TensorType) -> ValueId {
    match &ty.quant {
        Some(_) => r.value_before(before, Op::BitcastConvert, [x], ty.with_dtype(ty.dtype)),
        None => x,
    }
}

/// Views the same bytes as a value of this type.
fn seen_as(r: &mut Rewriter<'_>, before: InstId, x: ValueId, ty: &TensorType) -> ValueId {
    let plain = ty.with_dtype(ty.dtype);
    let shaped = match r.func().tensor(x) {
        Some(from) if *from == plain => x,
        _ => r.value_before(before, Op::Reshape, [x], plain),
    };
    match &ty.quant {
        Some(_) => r.value_before(before, Op::BitcastConvert, [shaped], ty.clone()),
        None => shaped,
    }
}

fn transposed(r: &mut Rewriter<'_>, before: InstId, x: ValueId, permutation: Vec<usize>) -> ValueId {
    let Some(ty) = r.func().tensor(x).cloned() else { return x };
    if let Some(made) = r.func().defining_inst(x)
        && is_undone(made.op(), &permutation)
    {
        return made.operands()[0];
    }
    let sizes: Vec<usize> = permutation.iter().map(|d| ty.sizes()[*d]).collect();
    r.value_before(before, Op::Transpose { permutation }, [x], ty.with_sizes(sizes))
}

/// Returns true if `op` is a transpose that this permutation undoes.
fn is_undone(op: &Op, permutation: &[usize]) -> bool {
    let Op::Transpose { permutation: first } = op else { return false };
    first.len() == permutation.len() && permutation.iter().enumerate().all(|(to, at)| first[*at] == to)
}
