//! Excess precision: a `bf16` result of arithmetic that is only widened or summed is kept in `f32`, without
//! rounding.
//!
//! `convert(multiply(a, b))` to `f32`, with which JAX begins sums of products, becomes `multiply(convert(a),
//! convert(b))`. A sum of `bf16` products is rewritten in the same way. XLA:CPU does the same: if farcall
//! rounded here, its results would be further from the mathematical value than XLA's. A value with other uses
//! is rounded for every use (the numerator and the denominator of a softmax have to agree), and so is a value
//! that the program itself rounds, with a `convert` or `reduce_precision`.

use super::{Pass, PassOptions, each_inst};
use crate::eval::Semantics;
use crate::module::{Func, Inst, InstId, NewInst, RegionId, Rewriter, ValueId};
use crate::op::{Binary, Op};
use crate::reducer;
use crate::types::{TensorType, Type};
use farcall_sig::DType;

/// The excess precision pass.
pub static PASS: Pass = Pass {
    name: "excess_precision",
    about: "keeps bf16 results in f32 if they are only widened, as XLA does",
    run,
};

/// Maximum length of a chain of operations that is recomputed in `f32`.
const MAX_CHAIN: usize = 16;

fn run(func: &mut Func, cx: &PassOptions) {
    if cx.numerics.semantics != Semantics::Xla || !has_bf16(func) {
        return;
    }
    each_inst(func, widen);
}

fn has_bf16(func: &Func) -> bool {
    func.values().any(|v| func.tensor(v).is_some_and(|t| t.dtype == DType::BF16))
}

fn widen(r: &mut Rewriter<'_>, region: RegionId, id: InstId) {
    let inst = r.func().inst(id);
    let (Some(first), [result]) = (inst.operands().first().copied(), inst.results()) else { return };
    let result = *result;
    let to = r.func().tensor(result).map(|t| t.dtype);
    if !is_made_here(r, region, first) {
        return;
    }
    match inst.op() {
        Op::Convert if matches!(to, Some(DType::F32 | DType::F64)) => {
            let wide = unrounded(r, region, first, id, MAX_CHAIN);
            if to == Some(DType::F32) {
                r.replace(id, &[wide]);
            } else {
                r.set_operands(id, vec![wide]);
            }
        }
        Op::Reduce { .. } if is_sum(inst) => sum(r, region, id, first, result),
        _ => {}
    }
}

/// Returns true for a reduction of one operand by `add`.
fn is_sum(inst: Inst<'_>) -> bool {
    let applied = inst.region(0).and_then(reducer::of).map(|r| r.inst.op());
    inst.own_operands().len() == 2
        && inst.captures().is_empty()
        && matches!(applied, Some(Op::Binary(Binary::Add)))
}

/// Returns true for a `bf16` result of arithmetic in this region with a single use.
fn is_made_here(r: &Rewriter<'_>, region: RegionId, value: ValueId) -> bool {
    let func = r.func();
    func.tensor(value).is_some_and(|t| t.dtype == DType::BF16 && t.quant.is_none())
        && r.users(value).len() == 1
        && func.defining_inst(value).is_some_and(|i| {
            let of_bf16 =
                i.operands().iter().all(|v| func.tensor(*v).is_some_and(|t| t.dtype == DType::BF16));
            matches!(i.op(), Op::Unary(_) | Op::Binary(_))
                && of_bf16
                && i.parent().is_some_and(|p| p.id() == region)
        })
}

/// Computes a result of arithmetic in `f32`, without rounding it; the new instructions go before `at`.
fn unrounded(r: &mut Rewriter<'_>, region: RegionId, value: ValueId, at: InstId, chain: usize) -> ValueId {
    let ty = r.func().tensor(value).cloned().unwrap_or_else(|| TensorType::scalar(DType::BF16));
    let wide = ty.with_dtype(DType::F32);
    let made = (chain > 0 && is_made_here(r, region, value)).then(|| r.func().defining_inst(value)).flatten();
    let Some(made) = made else {
        return r.value_before(at, Op::Convert, [value], wide);
    };
    let (op, operands) = (made.op().clone(), made.operands().to_vec());
    let operands: Vec<ValueId> =
        operands.into_iter().map(|v| unrounded(r, region, v, at, chain - 1)).collect();
    r.value_before(at, op, operands, wide)
}

/// Sums unrounded terms, and rounds once at the end.
fn sum(r: &mut Rewriter<'_>, region: RegionId, id: InstId, terms: ValueId, result: ValueId) {
    let terms = unrounded(r, region, terms, id, MAX_CHAIN);
    let init = r.func().inst(id).operands()[1];
    let init = r.value_before(id, Op::Convert, [init], TensorType::scalar(DType::F32));
    let narrow = r.func().ty(result).clone();
    let Type::Tensor(ty) = &narrow else { return };
    let wide = Type::Tensor(ty.with_dtype(DType::F32));
    let inst = r.func().inst(id);
    let (op, span, loc) = (inst.op().clone(), inst.span(), inst.loc().cloned());
    let add = r.new_region(|func, region| {
        let scalar = || Type::Tensor(TensorType::scalar(DType::F32));
        let args = [func.add_arg(region, scalar()), func.add_arg(region, scalar())];
        let add =
            func.push(region, NewInst::new(Op::Binary(Binary::Add), args).at(span, loc.clone()), [scalar()]);
        let sum = func.inst(add).results().to_vec();
        func.push(region, NewInst::new(Op::Return, sum).at(span, loc.clone()), []);
    });
    let reduce = NewInst::new(op, [terms, init]).with_regions([add]).at(span, loc.clone());
    let reduce = r.insert_before(id, reduce, [wide]);
    let wide = r.func().inst(reduce).results()[0];
    let rounded = r.value_before(id, Op::Convert, [wide], narrow);
    r.replace(id, &[rounded]);
}
