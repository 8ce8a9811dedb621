//! Sort keys: if a comparator applies the same function to its left and its right elements, the function is
//! computed once per element, not once per comparison.
//!
//! ```text
//! sort(x) { (a, b) → abs(a) < abs(b) }   ──▶   k = abs(x);  sort(x, k) { (a, b, j, k) → j < k }
//! ```
//!
//! Both sides of the comparison must use the same function of their elements. If a comparator computes
//! several keys, such as the real and the imaginary part of a complex number, the sort gets a tensor for each
//! key. The comparator then only compares and selects, which the sort kernel supports.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{PassOptions, is_plain, number};
use crate::middle::passes::simplify::filled_before;
use crate::module::{Inst, InstId, NewInst, Rewriter, ValueId, ValueMap};
use crate::op::{Binary, Op, Unary};
use crate::types::{TensorType, Type};
use farcall_sig::DType;

pub(super) fn run(r: &mut Rewriter<'_>, id: InstId, cx: &PassOptions) {
    let inst = r.func().inst(id);
    if !inst.op().is_sort() || (cx.computes)(inst) {
        return;
    }
    let Some(comparator) = Comparator::of(inst) else { return };
    for cut in [Cut::Late, Cut::Early] {
        let Some(keyed) = comparator.keyed(r, cut) else { continue };
        let sort = comparator.sort_by(r, id, &keyed);
        if (cx.computes)(r.func().inst(sort)) {
            let results = r.func().inst(sort).results()[..comparator.operands.len()].to_vec();
            r.replace(id, &results);
            return;
        }
        r.erase(sort);
    }
}

/// The point at which values that depend on only one side become keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// As late as possible: comparisons and selects stay in the comparator, since they define the order of
    /// the sort.
    Late,
    /// As early as possible: the comparator only compares keys.
    Early,
}

/// The side of a comparison that a value of the comparator depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Neither,
    /// 0 for the first element of each pair, 1 for the second.
    One(usize),
    Both,
}

impl Side {
    fn join(self, other: Side) -> Side {
        match (self, other) {
            (Side::Neither, side) | (side, Side::Neither) => side,
            (a, b) if a == b => a,
            _ => Side::Both,
        }
    }
}

/// Index in [`Comparator::expressions`] of a function of the elements of one side.
type ExpressionId = usize;

#[derive(Clone, PartialEq, Eq)]
struct Expression {
    kind: ExpressionKind,
    dtype: DType,
}

#[derive(Clone, PartialEq, Eq)]
enum ExpressionKind {
    /// The element of an operand.
    Element(usize),
    /// A captured value.
    Captured(usize),
    Computed(Op, SmallVec<[ExpressionId; 3]>),
    /// Any value that depends on both sides.
    Mixed,
}

/// A comparator that consists of plain operations on scalars.
struct Comparator {
    operands: Vec<ValueId>,
    captures: Vec<ValueId>,
    captured_args: Vec<ValueId>,
    insts: Vec<InstId>,
    returned: ValueId,
    /// Side that each value depends on, and its expression; the expression is `Mixed` if the value depends on
    /// both sides.
    values: FxHashMap<ValueId, (Side, ExpressionId)>,
    expressions: Vec<Expression>,
}

/// A comparator in terms of keys.
struct Keyed {
    keys: Vec<ExpressionId>,
    /// Instructions that stay in the comparator.
    kept: FxHashSet<InstId>,
    captures: bool,
}

impl Comparator {
    fn of(inst: Inst<'_>) -> Option<Comparator> {
        let (region, func) = (inst.region(0)?, inst.func());
        let operands = inst.own_operands().to_vec();
        let [returned] = *region.returned() else { return None };
        if region.own_args().len() != 2 * operands.len() {
            return None;
        }
        let insts = region.insts().filter(|i| *i.op() != Op::Return);
        let mut comparator = Comparator {
            operands,
            captures: inst.captures().to_vec(),
            captured_args: region.captured_args().to_vec(),
            insts: insts.clone().map(Inst::id).take(super::MAX_INSTRUCTIONS + 1).collect(),
            returned,
            values: FxHashMap::default(),
            expressions: Vec::new(),
        };
        if comparator.insts.len() > super::MAX_INSTRUCTIONS {
            return None;
        }
        for (i, arg) in region.own_args().iter().enumerate() {
            let dtype = number(func, *arg)?.dtype;
            let operand = func.tensor(comparator.operands[i / 2])?;
            (operand.dtype == dtype && operand.quant.is_none()).then_some(())?;
            let element = Expression { kind: ExpressionKind::Element(i / 2), dtype };
            comparator.define(*arg, Side::One(i % 2), element);
        }
        for (i, arg) in region.captured_args().iter().enumerate() {
            let captured = Expression { kind: ExpressionKind::Captured(i), dtype: number(func, *arg)?.dtype };
            comparator.define(*arg, Side::Neither, captured);
        }
        for inst in insts {
            let [result] = *inst.results() else { return None };
            let computes = inst.op().is_elementwise()
                || matches!(inst.op(), Op::Constant(_) | Op::Reshape | Op::BitcastConvert);
            (computes && is_plain(inst)).then_some(())?;
            let (mut side, mut operands) = (Side::Neither, SmallVec::new());
            for operand in inst.operands() {
                let (of, expression) = *comparator.values.get(operand)?;
                side = side.join(of);
                operands.push(expression);
            }
            let kind = ExpressionKind::Computed(inst.op().clone(), operands);
            let expression = Expression { kind, dtype: number(func, result)?.dtype };
            comparator.define(result, side, expression);
        }
        Some(comparator)
    }

    fn define(&mut self, value: ValueId, side: Side, expression: Expression) {
        // Two values that depend on both sides may differ although their operands have equal expressions.
        let expression = match side {
            Side::Both => Expression { kind: ExpressionKind::Mixed, ..expression },
            _ => expression,
        };
        // A linear search suffices: comparators are short.
        let known = self.expressions.iter().position(|known| *known == expression);
        let id = known.unwrap_or(self.expressions.len());
        if known.is_none() {
            self.expressions.push(expression);
        }
        self.values.insert(value, (side, id));
    }

    /// Expresses the comparator in terms of keys; `None` if it computes no key.
    fn keyed(&self, r: &Rewriter<'_>, cut: Cut) -> Option<Keyed> {
        let mut keyed = Keyed { keys: Vec::new(), kept: FxHashSet::default(), captures: false };
        let mut open = vec![self.returned];
        while let Some(value) = open.pop() {
            let (side, expression) = *self.values.get(&value)?;
            let is_key = match (side, &self.expressions[expression].kind) {
                (Side::One(_), ExpressionKind::Computed(op, operands)) => match cut {
                    Cut::Early => true,
                    Cut::Late => !self.compares(op, operands),
                },
                (Side::One(_), _) => true,
                _ => false,
            };
            if is_key {
                if !keyed.keys.contains(&expression) {
                    keyed.keys.push(expression);
                }
                continue;
            }
            match r.func().defining_inst(value) {
                Some(made) if keyed.kept.insert(made.id()) => open.extend(made.operands()),
                Some(_) => {}
                None => keyed.captures = true,
            }
        }
        let computed =
            |key: &ExpressionId| matches!(self.expressions[*key].kind, ExpressionKind::Computed(..));
        keyed.keys.iter().any(computed).then_some(keyed)
    }

    /// Returns true for comparisons, selects and logic.
    fn compares(&self, op: &Op, operands: &[ExpressionId]) -> bool {
        let is_pred = |x: &ExpressionId| self.expressions[*x].dtype == DType::Pred;
        match op {
            Op::Compare(_) | Op::Select => true,
            Op::Binary(Binary::And | Binary::Or | Binary::Xor) | Op::Unary(Unary::Not) => {
                operands.iter().all(is_pred)
            }
            _ => false,
        }
    }

    /// Inserts a sort by keys before the original sort. The first results of the new sort correspond to the
    /// results of the original sort.
    fn sort_by(&self, r: &mut Rewriter<'_>, id: InstId, keyed: &Keyed) -> InstId {
        let mut tensors = vec![None; self.expressions.len()];
        let mut operands = self.operands.clone();
        // The operand index of each key.
        let mut places: FxHashMap<ExpressionId, usize> = FxHashMap::default();
        for key in &keyed.keys {
            let place = match self.expressions[*key].kind {
                ExpressionKind::Element(operand) => operand,
                _ => {
                    operands.push(self.tensor(r, id, *key, &mut tensors));
                    operands.len() - 1
                }
            };
            places.insert(*key, place);
        }
        let types: Vec<Type> = operands.iter().map(|x| r.func().ty(*x).clone()).collect();
        let captures: &[ValueId] = if keyed.captures { &self.captures } else { &[] };
        let captured: Vec<Type> = captures.iter().map(|x| r.func().ty(*x).clone()).collect();
        let region = r.new_region(|func, region| {
            let mut args: Vec<ValueId> = Vec::new();
            for ty in &types {
                let ty: Type = match ty {
                    Type::Tensor(ty) => ty.with_sizes([]).into(),
                    other => other.clone(),
                };
                args.extend([func.add_arg(region, ty.clone()), func.add_arg(region, ty)]);
            }
            let mut map = ValueMap::default();
            for (value, (side, expression)) in &self.values {
                if let (Side::One(side), Some(place)) = (side, places.get(expression)) {
                    map.insert(*value, args[2 * place + side]);
                }
            }
            for (arg, ty) in self.captured_args.iter().zip(captured) {
                map.insert(*arg, func.add_arg(region, ty));
            }
            for inst in self.insts.iter().filter(|inst| keyed.kept.contains(inst)) {
                let copy = func.clone_inst(*inst, &mut map);
                func.append(region, copy);
            }
            let returned = map.get(&self.returned).copied().unwrap_or(self.returned);
            func.push(region, NewInst::new(Op::Return, [returned]), []);
        });
        let inst = r.func().inst(id);
        let operands: Vec<ValueId> = operands.iter().chain(captures).copied().collect();
        let new = NewInst {
            captures: captures.len() as u32,
            attrs: inst.attrs().clone(),
            ..NewInst::new(inst.op().clone(), operands)
                .with_regions([region])
                .at(inst.span(), inst.loc().cloned())
        };
        r.insert_before(id, new, types)
    }

    /// Evaluates an expression on whole operands.
    fn tensor(
        &self,
        r: &mut Rewriter<'_>,
        id: InstId,
        expression: ExpressionId,
        made: &mut [Option<ValueId>],
    ) -> ValueId {
        if let Some(value) = made[expression] {
            return value;
        }
        let Expression { kind, dtype } = &self.expressions[expression];
        let sizes = r.func().tensor(self.operands[0]).map_or(Vec::new(), |ty| ty.sizes().to_vec());
        let ty = TensorType::new(*dtype, sizes);
        let value = match kind {
            ExpressionKind::Element(operand) => self.operands[*operand],
            // A key never depends on both sides.
            ExpressionKind::Mixed => self.operands[0],
            ExpressionKind::Captured(number) => {
                let op = Op::BroadcastInDim { dims: Vec::new() };
                r.value_before(id, op, [self.captures[*number]], ty)
            }
            ExpressionKind::Computed(Op::Constant(literal), _) => filled_before(r, id, literal.clone(), ty),
            ExpressionKind::Computed(op, operands) => {
                let mut values: SmallVec<[ValueId; 3]> = SmallVec::new();
                for operand in operands {
                    values.push(self.tensor(r, id, *operand, made));
                }
                match op {
                    Op::Reshape => values[0],
                    op => r.value_before(id, op.clone(), values, ty),
                }
            }
        };
        made[expression] = Some(value);
        value
    }
}
