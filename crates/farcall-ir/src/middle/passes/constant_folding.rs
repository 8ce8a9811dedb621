//! Constant folding: operations on constants become constants, up to a maximum size.
//!
//! Only operations whose results have the same bits in every kernel are folded: data movement, selection,
//! comparison, conversion, arithmetic on integers and booleans, and sums, differences and products of floats,
//! which are correctly rounded. Functions such as `tanh` are left to their kernels.

use smallvec::SmallVec;

use super::{Pass, PassOptions, each_inst, is_pure};
use crate::eval::{EvalValue, NoHost, eval_inst, tensors};
use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, Module, NewInst, Rewriter, ValueId};
use crate::op::{Op, Traits};
use crate::types::{TensorType, Type};

/// The constant folding pass.
pub static PASS: Pass =
    Pass { name: "constant_folding", about: "computes small operations on constants", run };

fn run(func: &mut Func, cx: &PassOptions) {
    let nothing = no_module();
    each_inst(func, |r, _, id| {
        let inst = r.func().inst(id);
        if let Some(literals) = folded(&nothing, inst, cx, |v| constant(inst.func(), v)) {
            replace(r, id, literals);
        }
    });
}

/// An empty module: the evaluator requires a module, but no folded instruction contains a call.
pub(super) fn no_module() -> Module {
    Module::new(crate::diag::Source::none())
}

/// The literal of a value that is a constant.
pub(super) fn constant(func: &Func, value: ValueId) -> Option<&Literal> {
    match func.defining_inst(value)?.op() {
        Op::Constant(literal) => Some(literal),
        _ => None,
    }
}

/// The results of an instruction, if they are small and `known` returns literals for all operands.
pub(super) fn folded<'l>(
    nothing: &Module,
    inst: Inst<'_>,
    cx: &PassOptions,
    known: impl Fn(ValueId) -> Option<&'l Literal>,
) -> Option<Vec<Literal>> {
    let operands: SmallVec<[&Literal; 4]> =
        inst.operands().iter().map(|v| known(*v)).collect::<Option<_>>()?;
    if !is_exact(inst) || !inst.region_ids().is_empty() || !is_pure(inst) {
        return None;
    }
    let func = inst.func();
    let small = |v: &ValueId| match func.ty(*v) {
        Type::Tensor(t) => t.quant.is_none() && t.elements().is_some_and(|n| n <= cx.fold_limit),
        _ => false,
    };
    if !inst.results().iter().chain(inst.operands()).all(small) {
        return None;
    }
    if let Some(splat) = moved_splat(inst, &operands) {
        return Some(vec![splat]);
    }
    let operands: Vec<EvalValue> = operands.into_iter().map(|l| EvalValue::Tensor(l.clone())).collect();
    // If evaluation fails, the instruction stays and fails at run time.
    let values = eval_inst(nothing, inst, &operands, &|_| None, &NoHost, cx.numerics).ok()?;
    let literals = tensors(&values);
    (literals.len() == inst.results().len()).then_some(literals)
}

/// Folds movements of a splat constant: the result is a splat of another shape. (The evaluator would move
/// each element.)
fn moved_splat(inst: Inst<'_>, operands: &[&Literal]) -> Option<Literal> {
    let moves = matches!(
        inst.op(),
        Op::BroadcastInDim { .. } | Op::Reshape | Op::Transpose { .. } | Op::Slice(_) | Op::Reverse { .. }
    );
    let (true, [literal], [y]) = (moves, operands, inst.results()) else { return None };
    let ty = inst.func().tensor(*y)?;
    if !literal.is_splat() || literal.dtype() != ty.dtype {
        return None;
    }
    let mut element = [0; 16];
    element[..ty.dtype.size()].copy_from_slice(literal.element(0));
    Literal::splat_of(ty.dtype, ty.shared_sizes(), element).ok()
}

/// Returns true for operations whose results have the same bits in every implementation.
fn is_exact(inst: Inst<'_>) -> bool {
    let of = |v: Option<&ValueId>| v.and_then(|v| inst.func().tensor(*v));
    let discrete = |t: Option<&TensorType>| t.is_some_and(|t| t.dtype.is_integer() || t.dtype.is_bool());
    let (first, result) = (of(inst.operands().first()), of(inst.results().first()));
    let is_function = matches!(inst.op(), Op::Unary(_) | Op::Binary(_));
    let info = inst.op().info();
    info.is(Traits::EXACT)
        || (info.is(Traits::EXACT_REAL) && result.is_some_and(|t| !t.dtype.is_complex()))
        || (is_function && discrete(first) && discrete(result))
}

fn replace(r: &mut Rewriter<'_>, inst: InstId, mut literals: Vec<Literal>) {
    if literals.len() == 1
        && let Some(literal) = literals.pop()
    {
        r.set_operands(inst, []);
        r.set_op(inst, Op::Constant(literal));
        r.attrs_mut(inst).clear();
        return;
    }
    let at = r.func().inst(inst);
    let (span, loc) = (at.span(), at.loc().cloned());
    let types: Vec<Type> = at.results().iter().map(|v| r.func().ty(*v).clone()).collect();
    let mut values = Vec::with_capacity(literals.len());
    for (literal, ty) in literals.into_iter().zip(types) {
        let new = NewInst::new(Op::Constant(literal), []).at(span, loc.clone());
        let constant = r.insert_before(inst, new, [ty]);
        values.extend_from_slice(r.func().inst(constant).results());
    }
    r.replace(inst, &values);
}
