//! Loop unrolling: a short loop with a known trip count becomes copies of its body.
//!
//! The instructions of the body can then be fused with the instructions before and after the loop. For
//! example, JAX writes the rounds of its random number generator as a loop of five iterations. Constants of
//! an iteration (the induction variable, and values that follow from it) are folded while the body is copied.
//! Only bodies of plain operations are unrolled, without loops, calls or operations that apply a region.

use rustc_hash::FxHashMap;

use super::constant_folding::{constant, folded, no_module};
use super::{Pass, PassOptions, is_pure, regions_inside_out};
use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, Module, Rewriter, ValueId, ValueMap};
use crate::op::{Binary, ComparisonDirection, Op, Traits};
use crate::scalar::Scalar;

/// The loop unrolling pass.
pub static PASS: Pass = Pass { name: "unroll", about: "unrolls loops of a few iterations", run };

/// Maximum number of iterations of an unrolled loop.
const MAX_ITERATIONS: usize = 8;
/// Maximum number of instructions that a loop may become.
const MAX_INSTRUCTIONS: usize = 512;

fn run(func: &mut Func, cx: &PassOptions) {
    // Inner loops first: after they are unrolled, the outer loop may be short enough.
    for region in regions_inside_out(func) {
        let loops: Vec<InstId> =
            func.region(region).insts().filter(|i| *i.op() == Op::While).map(|i| i.id()).collect();
        let short: Vec<(InstId, usize)> = loops
            .into_iter()
            .filter_map(|id| Some((id, usize::try_from(trip_count(func.inst(id))?).ok()?)))
            .filter(|(id, count)| *count <= MAX_ITERATIONS && is_plain(func.inst(*id), *count))
            .collect();
        if short.is_empty() {
            continue;
        }
        let mut r = Rewriter::new(func);
        let mut unroller = Unroller { r: &mut r, cx, nothing: no_module(), constants: FxHashMap::default() };
        for (id, count) in short {
            unroller.unroll(id, count);
        }
    }
}

/// Unrolls the loops of a region, in order.
struct Unroller<'r, 'f> {
    r: &'r mut Rewriter<'f>,
    cx: &'r PassOptions,
    nothing: Module,
    /// Constants created in the region by folding.
    constants: FxHashMap<Literal, ValueId>,
}

/// A value carried from one iteration to the next.
enum Carried {
    Value(ValueId),
    /// A folded value, for which no instruction exists yet.
    Constant(Literal),
}

impl Unroller<'_, '_> {
    fn unroll(&mut self, id: InstId, count: usize) {
        let inst = self.r.func().inst(id);
        let Some(body) = inst.region(1) else { return };
        let insts = body.insts().filter(|i| *i.op() != Op::Return);
        let (constants, insts): (Vec<Inst<'_>>, Vec<Inst<'_>>) =
            insts.partition(|i| matches!(i.op(), Op::Constant(_)));
        let [constants, insts]: [Vec<InstId>; 2] =
            [constants, insts].map(|list| list.into_iter().map(Inst::id).collect());
        let (args, returned) = (body.own_args().to_vec(), body.returned().to_vec());
        let mut carried: Vec<Carried> = inst.own_operands().iter().copied().map(Carried::Value).collect();
        // Maps values of the body to values of the current iteration, except for folded values.
        let captured = body.captured_args().iter().copied();
        let mut map: ValueMap = captured.zip(inst.captures().iter().copied()).collect();
        for constant in constants {
            self.r.copy_before(constant, id, &mut map);
        }
        for _ in 0..count {
            let mut known: FxHashMap<ValueId, Literal> = FxHashMap::default();
            for (arg, value) in args.iter().zip(carried) {
                match value {
                    Carried::Value(value) => _ = map.insert(*arg, value),
                    Carried::Constant(literal) => _ = known.insert(*arg, literal),
                }
            }
            for inst in &insts {
                self.copy(*inst, id, &mut map, &mut known);
            }
            let handed = |v: &ValueId| match known.get(v) {
                Some(literal) => Carried::Constant(literal.clone()),
                None => Carried::Value(map.get(v).copied().unwrap_or(*v)),
            };
            carried = returned.iter().map(handed).collect();
        }
        let results = returned.iter().zip(carried).map(|(of, value)| match value {
            Carried::Value(value) => value,
            Carried::Constant(literal) => self.constant(literal, *of, id),
        });
        let results: Vec<ValueId> = results.collect();
        self.r.replace(id, &results);
    }

    /// Copies an instruction of the body to before the loop, or adds its folded results to `known`.
    fn copy(
        &mut self,
        inst: InstId,
        next: InstId,
        map: &mut ValueMap,
        known: &mut FxHashMap<ValueId, Literal>,
    ) {
        let view = self.r.func().inst(inst);
        let of = |v: ValueId| known.get(&v).or_else(|| constant(view.func(), *map.get(&v)?));
        if let Some(literals) = folded(&self.nothing, view, self.cx, of) {
            let results = view.results().to_vec();
            known.extend(results.into_iter().zip(literals));
            return;
        }
        let asked: Vec<ValueId> = view.operands().iter().copied().filter(|v| known.contains_key(v)).collect();
        for operand in asked {
            if let Some(literal) = known.remove(&operand) {
                map.insert(operand, self.constant(literal, operand, next));
            }
        }
        self.r.copy_before(inst, next, map);
    }

    /// Returns a constant value in the region; `of` is the value of the body that it represents.
    fn constant(&mut self, literal: Literal, of: ValueId, next: InstId) -> ValueId {
        let func = self.r.func();
        let ty = func.ty(of).clone();
        if let Some(value) = self.constants.get(&literal).filter(|v| *func.ty(**v) == ty) {
            return *value;
        }
        let value = self.r.value_before(next, Op::Constant(literal.clone()), [], ty);
        self.constants.insert(literal, value);
        value
    }
}

/// Returns true if the condition and the body consist of plain operations, and `count` copies of the body
/// have at most [`MAX_INSTRUCTIONS`] instructions.
pub(super) fn is_plain(inst: Inst<'_>, count: usize) -> bool {
    let plain = |i: Inst<'_>| {
        let calls = matches!(i.op(), Op::CustomCall(_) | Op::Call { .. });
        i.region_ids().is_empty() && (i.op().info().is(Traits::TERMINATOR) || is_pure(i) && !calls)
    };
    let (Some(condition), Some(body)) = (inst.region(0), inst.region(1)) else { return false };
    condition.insts().all(plain)
        && body.insts().all(plain)
        && body.insts().count().saturating_mul(count) <= MAX_INSTRUCTIONS
}

/// Trip count of a loop, if it is known and not zero. The loop must have an integer induction variable that
/// starts at a constant, is incremented by a constant, and is compared with a constant.
pub(super) fn trip_count(inst: Inst<'_>) -> Option<i128> {
    let (condition, body) = (inst.region(0)?, inst.region(1)?);
    let func = inst.func();
    let [verdict] = condition.returned() else { return None };
    let compare = func.defining_inst(*verdict)?;
    let (Op::Compare(c), [counter, bound]) = (compare.op(), compare.operands()) else { return None };
    let which = condition.own_args().iter().position(|a| a == counter)?;
    let dtype = func.tensor(*counter)?.dtype;
    if !dtype.is_integer() || dtype.bits() < 8 {
        return None;
    }
    let next = func.defining_inst(*body.returned().get(which)?)?;
    let (Op::Binary(Binary::Add), [a, b]) = (next.op(), next.operands()) else { return None };
    let counter = body.own_args()[which];
    let step = if *a == counter { *b } else { *a };
    if step == counter || ![*a, *b].contains(&counter) {
        return None;
    }
    let [first, step, bound] = [inst.own_operands()[which], step, *bound].map(|v| integer(inst, v));
    let (first, step, bound) = (first?, step?, bound?);
    let count = count_iterations(c.direction, first, step, bound).filter(|count| *count > 0)?;
    // Trip counts are unknown if the induction variable wraps around.
    let limits = match dtype.is_signed_integer() {
        true => -(1i128 << (dtype.bits() - 1))..(1 << (dtype.bits() - 1)),
        false => 0..1i128 << dtype.bits(),
    };
    limits.contains(&(first + count * step)).then_some(count)
}

/// Number of iterations before the comparison with the bound fails; `None` if it never fails.
fn count_iterations(direction: ComparisonDirection, first: i128, step: i128, bound: i128) -> Option<i128> {
    let distance = bound - first;
    match direction {
        ComparisonDirection::Lt if distance <= 0 => Some(0),
        ComparisonDirection::Lt => (step > 0).then(|| (distance + step - 1) / step),
        ComparisonDirection::Le => count_iterations(ComparisonDirection::Lt, first, step, bound + 1),
        ComparisonDirection::Gt => count_iterations(ComparisonDirection::Lt, -first, -step, -bound),
        ComparisonDirection::Ge => count_iterations(ComparisonDirection::Le, -first, -step, -bound),
        ComparisonDirection::Eq if distance != 0 => Some(0),
        ComparisonDirection::Eq => (step != 0).then_some(1),
        ComparisonDirection::Ne if distance == 0 => Some(0),
        ComparisonDirection::Ne => {
            let ends = step != 0 && distance % step == 0 && distance / step > 0;
            ends.then(|| distance / step)
        }
    }
}

/// The integer that a value holds, if the value is a constant or an argument for which the loop captures a
/// constant.
fn integer(while_: Inst<'_>, value: ValueId) -> Option<i128> {
    let captured = while_.regions().find_map(|r| r.captured_args().iter().position(|a| *a == value));
    let literal = constant(while_.func(), captured.map_or(value, |i| while_.captures()[i]))?;
    if literal.len() != 1 {
        return None;
    }
    match literal.get(0) {
        Scalar::Signed(x) => Some(x.into()),
        Scalar::Unsigned(x) => Some(x.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the iterations one by one; `None` if the loop does not end within 100 steps.
    fn counted(direction: ComparisonDirection, mut value: i128, step: i128, bound: i128) -> Option<i128> {
        for count in 0..100 {
            let holds = match direction {
                ComparisonDirection::Lt => value < bound,
                ComparisonDirection::Le => value <= bound,
                ComparisonDirection::Gt => value > bound,
                ComparisonDirection::Ge => value >= bound,
                ComparisonDirection::Eq => value == bound,
                ComparisonDirection::Ne => value != bound,
            };
            if !holds {
                return Some(count);
            }
            value += step;
        }
        None
    }

    #[test]
    fn turns_are_those_that_are_counted() {
        for direction in ComparisonDirection::VARIANTS {
            for first in -7..8 {
                for bound in -7..8 {
                    for step in -4..5 {
                        let found = count_iterations(direction, first, step, bound);
                        let wanted = counted(direction, first, step, bound);
                        assert_eq!(found, wanted, "{direction:?} from {first} by {step} to {bound}");
                    }
                }
            }
        }
    }
}
