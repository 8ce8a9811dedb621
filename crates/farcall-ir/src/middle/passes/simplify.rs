//! Algebraic simplification: rules that replace an instruction by simpler ones.
//!
//! Every rule has a name, and a filetest with one program that it changes and one that it must not change. A
//! rule preserves every bit: `x + 0` is `x` for integers, but not for floats, since `-0 + 0` is `0`. Float
//! arithmetic that returns an operand unchanged is removed only if denormals are kept, since otherwise the
//! arithmetic flushes them.

use super::{Pass, PassOptions, each_inst};
use crate::eval::Denormals;
use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
use crate::op::{Binary, Compare, CompareKind, ComparisonDirection, DotGeneral, Op, Slice, Traits, Unary};
use crate::reducer;
use crate::scalar::Scalar;
use crate::types::TensorType;
use farcall_sig::DType;

/// The algebraic simplification pass.
pub static PASS: Pass = Pass { name: "simplify", about: "applies algebraic rewrite rules", run };

/// The replacement of an instruction.
enum Replacement {
    /// An existing value.
    Value(ValueId),
    /// A constant whose elements all equal this number.
    Splat(Scalar),
    /// A different operation on different operands.
    Op(Op, Vec<ValueId>),
    /// A binary operation. Its operands are the first value (a scalar, which is broadcast to the result's
    /// type) and the second value (which is reshaped to the result's type).
    Each(Binary, [ValueId; 2]),
    /// A value multiplied by a number.
    Scaled(ValueId, Scalar),
    /// An operation on operands that are reshaped to the given types. The result of the operation has the
    /// type in the last field, and is reshaped to the type of the replaced result.
    Reshaped(Op, Vec<(ValueId, TensorType)>, TensorType),
    /// The values returned by this region of the instruction.
    Region(usize),
}

/// A simplification rule.
struct Rule {
    /// Name of the rule in filetests.
    name: &'static str,
    apply: fn(&Site<'_>) -> Option<Replacement>,
}

const fn rule(name: &'static str, apply: fn(&Site<'_>) -> Option<Replacement>) -> Rule {
    Rule { name, apply }
}

/// The rules, tried in this order. The first that applies is taken, and the result is simplified again.
static RULES: &[Rule] = &[
    rule("add_zero", add_zero),
    rule("subtract_zero", subtract_zero),
    rule("subtract_self", subtract_self),
    rule("multiply_one", multiply_one),
    rule("multiply_zero", multiply_zero),
    rule("divide_one", divide_one),
    rule("divide_by_power", divide_by_power),
    rule("and_or_xor", and_or_xor),
    rule("idempotent", idempotent),
    rule("double_inverse", double_inverse),
    rule("compare_self", compare_self),
    rule("not_of_compare", not_of_compare),
    rule("select_constant", select_constant),
    rule("select_same", select_same),
    rule("reshape_of_reshape", reshape_of_reshape),
    rule("transpose_of_transpose", transpose_of_transpose),
    rule("transpose_of_ones", transpose_of_ones),
    rule("product_of_ones", product_of_ones),
    rule("broadcast_of_broadcast", broadcast_of_broadcast),
    rule("broadcast_is_reshape", broadcast_is_reshape),
    rule("reduce_one", reduce_one),
    rule("reduce_by_one", reduce_by_one),
    rule("slice_of_slice", slice_of_slice),
    rule("slice_of_concatenate", slice_of_concatenate),
    rule("convert_of_convert", convert_of_convert),
    rule("known_start", known_start),
    rule("known_branch", known_branch),
];

/// Names of the rules.
pub fn rules() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|r| r.name)
}

/// Maximum number of rules applied to an instruction in a run.
const MAX_ROUNDS: usize = 8;

fn run(func: &mut Func, cx: &PassOptions) {
    each_inst(func, |r, _, id| {
        for _ in 0..MAX_ROUNDS {
            if r.func().inst(id).parent().is_none() || !simplify(r, id, cx) {
                break;
            }
        }
    });
}

fn simplify(r: &mut Rewriter<'_>, id: InstId, cx: &PassOptions) -> bool {
    let at = Site { inst: r.func().inst(id), keeps_denormals: cx.numerics.denormals == Denormals::Ieee };
    let applied = RULES.iter().find_map(|rule| Some((rule.name, (rule.apply)(&at)?)));
    let Some((name, replacement)) = applied else { return false };
    match replacement {
        Replacement::Value(value) => r.replace(id, &[value]),
        Replacement::Splat(scalar) => {
            let Some(ty) = at.result().cloned() else { return false };
            let value = splat_before(r, id, scalar, ty);
            r.replace(id, &[value]);
        }
        Replacement::Scaled(x, by) => {
            let Some(ty) = at.result().cloned() else { return false };
            let by = splat_before(r, id, by, ty);
            r.set_op(id, Op::Binary(Binary::Multiply));
            r.set_operands(id, [x, by]);
        }
        Replacement::Op(op, operands) if !at.inst.region_ids().is_empty() => {
            let Some(ty) = at.result().cloned() else { return false };
            let value = r.value_before(id, op, operands, ty);
            r.replace(id, &[value]);
        }
        Replacement::Op(op, operands) => {
            r.set_op(id, op);
            r.set_operands(id, operands);
        }
        Replacement::Each(op, [one, x]) => {
            let Some(ty) = at.result().cloned() else { return false };
            let one = r.value_before(id, Op::BroadcastInDim { dims: Vec::new() }, [one], ty.clone());
            let x = r.value_before(id, Op::Reshape, [x], ty.clone());
            let value = r.value_before(id, Op::Binary(op), [one, x], ty);
            r.replace(id, &[value]);
        }
        Replacement::Reshaped(op, operands, ty) => {
            let (before, is_whole) = (at.inst.operands().to_vec(), at.result() == Some(&ty));
            let operands: Vec<ValueId> = operands.into_iter().map(|(x, ty)| reshaped(r, id, x, ty)).collect();
            if is_whole {
                r.set_op(id, op);
                r.set_operands(id, operands);
            } else {
                let value = r.value_before(id, op, operands, ty);
                r.set_op(id, Op::Reshape);
                r.set_operands(id, [value]);
            }
            before.into_iter().for_each(|x| erase_reshape(r, x));
        }
        Replacement::Region(which) => r.replace_by_region(id, which),
    }
    (cx.on_rule)(name);
    true
}

/// Reshapes a value before an instruction. A reshape of a reshape becomes a single reshape.
pub(super) fn reshaped(r: &mut Rewriter<'_>, id: InstId, x: ValueId, ty: TensorType) -> ValueId {
    let before = r.func().defining_inst(x).filter(|made| *made.op() == Op::Reshape);
    let x = before.and_then(|made| made.operands().first().copied()).unwrap_or(x);
    if r.func().tensor(x) == Some(&ty) { x } else { r.value_before(id, Op::Reshape, [x], ty) }
}

/// Erases a reshape that has become unused, since some rules apply only to values with a single user.
fn erase_reshape(r: &mut Rewriter<'_>, x: ValueId) {
    let made = r.func().defining_inst(x).filter(|made| *made.op() == Op::Reshape && made.parent().is_some());
    if let Some(id) = made.map(|made| made.id()).filter(|_| !r.is_used(x)) {
        r.erase(id);
    }
}

/// Adds a value of the given type before an instruction. All its elements equal `scalar`.
pub(super) fn splat_before(r: &mut Rewriter<'_>, id: InstId, scalar: Scalar, ty: TensorType) -> ValueId {
    filled_before(r, id, Literal::splat(ty.dtype, [], scalar), ty)
}

/// Adds a value of the given type before an instruction. All its elements equal the single element of
/// `number`.
pub(super) fn filled_before(r: &mut Rewriter<'_>, id: InstId, number: Literal, ty: TensorType) -> ValueId {
    let number = r.value_before(id, Op::Constant(number), [], ty.with_sizes([]));
    match ty.rank() {
        0 => number,
        _ => r.value_before(id, Op::BroadcastInDim { dims: Vec::new() }, [number], ty),
    }
}

/// The number that all elements of a value equal, if known. Looks through broadcasts of constants.
pub(super) fn number(func: &Func, value: ValueId) -> Option<Scalar> {
    let made = func.defining_inst(value)?;
    match made.op() {
        Op::Constant(literal) if literal.is_splat() || literal.len() == 1 => literal.iter().next(),
        Op::BroadcastInDim { .. } => number(func, *made.operands().first()?),
        _ => None,
    }
}

/// An instruction to which rules are applied.
struct Site<'f> {
    inst: Inst<'f>,
    keeps_denormals: bool,
}

impl<'f> Site<'f> {
    fn op(&self) -> &'f Op {
        self.inst.op()
    }

    /// The operands, if there are exactly two.
    fn pair(&self) -> Option<(ValueId, ValueId)> {
        match self.inst.operands() {
            [a, b] => Some((*a, *b)),
            _ => None,
        }
    }

    fn first(&self) -> Option<ValueId> {
        self.inst.operands().first().copied()
    }

    fn ty(&self, value: ValueId) -> Option<&'f TensorType> {
        self.inst.func().tensor(value).filter(|t| t.quant.is_none())
    }

    /// The type of the only result.
    fn result(&self) -> Option<&'f TensorType> {
        match self.inst.results() {
            [one] => self.ty(*one),
            _ => None,
        }
    }

    /// The instruction that computes a value.
    fn made(&self, value: ValueId) -> Option<Inst<'f>> {
        self.inst.func().defining_inst(value)
    }

    fn number(&self, value: ValueId) -> Option<Scalar> {
        number(self.inst.func(), value)
    }

    fn is_number(&self, value: ValueId, wanted: f64) -> bool {
        match self.number(value) {
            Some(Scalar::Signed(n)) => n as f64 == wanted,
            Some(Scalar::Unsigned(n)) => n as f64 == wanted,
            Some(Scalar::Bool(b)) => f64::from(u8::from(b)) == wanted,
            // Positive and negative zero are different numbers here.
            Some(Scalar::Float(x)) => x.to_bits() == wanted.to_bits(),
            _ => false,
        }
    }

    /// Returns true for integers and booleans.
    fn is_discrete(&self, value: ValueId) -> bool {
        self.ty(value).is_some_and(|t| t.dtype.is_integer() || t.dtype.is_bool())
    }

    /// Returns true if arithmetic that returns this operand preserves all of its bits.
    fn keeps_bits(&self, value: ValueId) -> bool {
        self.is_discrete(value)
            || (self.keeps_denormals && self.ty(value).is_some_and(|t| t.dtype.is_float()))
    }

    fn is_binary(&self, op: Binary) -> Option<(ValueId, ValueId)> {
        if *self.op() == Op::Binary(op) { self.pair() } else { None }
    }
}

fn add_zero(at: &Site<'_>) -> Option<Replacement> {
    let (x, zero) = at.is_binary(Binary::Add)?;
    let is_zero = if at.is_discrete(x) { at.is_number(zero, 0.0) } else { at.is_number(zero, -0.0) };
    (at.keeps_bits(x) && is_zero).then_some(Replacement::Value(x))
}

fn subtract_zero(at: &Site<'_>) -> Option<Replacement> {
    let (x, zero) = at.is_binary(Binary::Subtract)?;
    (at.keeps_bits(x) && at.is_number(zero, 0.0)).then_some(Replacement::Value(x))
}

/// `x - x` is `0`. Not valid for floats, because of infinity and NaN.
fn subtract_self(at: &Site<'_>) -> Option<Replacement> {
    let (a, b) = at.is_binary(Binary::Subtract)?;
    (a == b && at.is_discrete(a)).then(|| Some(Replacement::Splat(Scalar::zero(at.ty(a)?.dtype))))?
}

fn multiply_one(at: &Site<'_>) -> Option<Replacement> {
    let (x, one) = at.is_binary(Binary::Multiply)?;
    (at.keeps_bits(x) && at.is_number(one, 1.0)).then_some(Replacement::Value(x))
}

/// `x * 0` is `0`. Not valid for floats, because of infinity, NaN, and the sign of zero.
fn multiply_zero(at: &Site<'_>) -> Option<Replacement> {
    let (x, zero) = at.is_binary(Binary::Multiply)?;
    (at.is_discrete(x) && at.is_number(zero, 0.0)).then_some(Replacement::Value(zero))
}

fn divide_one(at: &Site<'_>) -> Option<Replacement> {
    let (x, one) = at.is_binary(Binary::Divide)?;
    (at.keeps_bits(x) && at.is_number(one, 1.0)).then_some(Replacement::Value(x))
}

/// Division by a power of two whose inverse is representable in every supported float type. A multiplication
/// by the inverse returns the same bits and is faster.
fn divide_by_power(at: &Site<'_>) -> Option<Replacement> {
    const MAX_DIVISOR: f64 = 16_384.0;
    let (x, by) = at.is_binary(Binary::Divide)?;
    let of_numbers = matches!(at.ty(x)?.dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64);
    let Scalar::Float(by) = at.number(by)? else { return None };
    let is_power = by.to_bits() << 12 == 0 && (1.0 / MAX_DIVISOR..=MAX_DIVISOR).contains(&by.abs());
    (of_numbers && is_power).then(|| Replacement::Scaled(x, Scalar::Float(1.0 / by)))
}

fn and_or_xor(at: &Site<'_>) -> Option<Replacement> {
    let Op::Binary(op @ (Binary::And | Binary::Or | Binary::Xor)) = at.op() else { return None };
    let (x, y) = at.pair()?;
    let dtype = at.ty(x)?.dtype;
    if x == y && *op == Binary::Xor {
        return Some(Replacement::Splat(Scalar::zero(dtype)));
    }
    let zero = at.is_number(y, 0.0);
    let ones = match at.number(y) {
        Some(Scalar::Bool(b)) => b,
        Some(Scalar::Signed(n)) => n == -1,
        Some(Scalar::Unsigned(n)) => n == u64::MAX >> (64 - dtype.bits()),
        _ => false,
    };
    match op {
        Binary::And if ones => Some(Replacement::Value(x)),
        Binary::And if zero => Some(Replacement::Value(y)),
        Binary::Or if zero => Some(Replacement::Value(x)),
        Binary::Or if ones => Some(Replacement::Value(y)),
        Binary::Xor if zero => Some(Replacement::Value(x)),
        _ => None,
    }
}

/// `max(x, x)` and similar operations.
fn idempotent(at: &Site<'_>) -> Option<Replacement> {
    let (a, b) = at.pair()?;
    let law = matches!(at.op(), Op::Binary(_)) && at.op().info().is(Traits::IDEMPOTENT);
    (law && a == b && at.keeps_bits(a)).then_some(Replacement::Value(a))
}

/// `-(-x)`, `!(!x)`, and a reversal of a reversal.
fn double_inverse(at: &Site<'_>) -> Option<Replacement> {
    let x = at.first()?;
    let inner = at.made(x)?;
    let undone = match at.op() {
        // `f8E8M0FNU` has no negative numbers.
        Op::Unary(Unary::Negate) => at.keeps_bits(x) && at.ty(x)?.dtype != DType::F8E8M0FNU,
        Op::Unary(Unary::Not) | Op::Reverse { .. } => true,
        _ => false,
    };
    (undone && inner.op() == at.op()).then(|| inner.operands().first().copied().map(Replacement::Value))?
}

/// The comparison of a value with itself is constant. Not valid for floats: NaN is not equal to itself.
fn compare_self(at: &Site<'_>) -> Option<Replacement> {
    let Op::Compare(compare) = at.op() else { return None };
    let (a, b) = at.pair()?;
    let holds = matches!(
        compare.direction,
        ComparisonDirection::Eq | ComparisonDirection::Ge | ComparisonDirection::Le
    );
    (a == b && at.is_discrete(a)).then_some(Replacement::Splat(Scalar::Bool(holds)))
}

/// `!(a < b)` is `a >= b`. Not valid for floats, since `<` and `>=` are both false for NaN, unless the
/// comparison is `==`, `!=` or uses the total order.
fn not_of_compare(at: &Site<'_>) -> Option<Replacement> {
    let made = at.made(at.first()?)?;
    let (Op::Unary(Unary::Not), Op::Compare(compare)) = (at.op(), made.op()) else { return None };
    let a = *made.operands().first()?;
    let direction = match compare.direction {
        ComparisonDirection::Eq => ComparisonDirection::Ne,
        ComparisonDirection::Ne => ComparisonDirection::Eq,
        ComparisonDirection::Ge => ComparisonDirection::Lt,
        ComparisonDirection::Gt => ComparisonDirection::Le,
        ComparisonDirection::Le => ComparisonDirection::Gt,
        ComparisonDirection::Lt => ComparisonDirection::Ge,
    };
    let equality = matches!(direction, ComparisonDirection::Eq | ComparisonDirection::Ne);
    let total = compare.kind == Some(CompareKind::TotalOrder);
    let always = at.ty(a).is_some() && (equality || total || at.is_discrete(a));
    let op = Op::Compare(Compare { direction, ..*compare });
    always.then(|| Replacement::Op(op, made.operands().to_vec()))
}

fn select_constant(at: &Site<'_>) -> Option<Replacement> {
    let ([pred, a, b], Op::Select) = (at.inst.operands(), at.op()) else { return None };
    let Scalar::Bool(chosen) = at.number(*pred)? else { return None };
    Some(Replacement::Value(if chosen { *a } else { *b }))
}

fn select_same(at: &Site<'_>) -> Option<Replacement> {
    let ([_, a, b], Op::Select) = (at.inst.operands(), at.op()) else { return None };
    (a == b).then_some(Replacement::Value(*a))
}

/// Returns the instruction that computes the first operand, and the first operand of that instruction, if
/// `same` accepts the operations of both instructions. `None` for quantized tensors.
fn inner<'f>(at: &Site<'f>, same: impl Fn(&Op) -> bool) -> Option<(Inst<'f>, ValueId)> {
    let made = at.made(at.first()?)?;
    if !same(at.op()) || !same(made.op()) {
        return None;
    }
    let x = *made.operands().first()?;
    at.ty(x).and(at.ty(at.first()?)).and(at.result())?;
    Some((made, x))
}

fn reshape_of_reshape(at: &Site<'_>) -> Option<Replacement> {
    let (_, x) = inner(at, |op| *op == Op::Reshape)?;
    Some(if at.ty(x) == at.result() { Replacement::Value(x) } else { Replacement::Op(Op::Reshape, vec![x]) })
}

fn transpose_of_transpose(at: &Site<'_>) -> Option<Replacement> {
    let (made, x) = inner(at, |op| matches!(op, Op::Transpose { .. }))?;
    let (Op::Transpose { permutation: outer }, Op::Transpose { permutation: first }) = (at.op(), made.op())
    else {
        return None;
    };
    let permutation: Vec<usize> = outer.iter().map(|d| first[*d]).collect();
    Some(match permutation.is_sorted() {
        true => Replacement::Value(x),
        false => Replacement::Op(Op::Transpose { permutation }, vec![x]),
    })
}

/// The type without dimensions of size 1, and the new index of each remaining dimension.
fn without_ones(ty: &TensorType) -> (TensorType, Vec<Option<usize>>) {
    let mut sizes = Vec::with_capacity(ty.rank());
    let numbers = ty.sizes().iter().map(|size| {
        (*size != 1).then(|| {
            sizes.push(*size);
            sizes.len() - 1
        })
    });
    let numbers: Vec<Option<usize>> = numbers.collect();
    (ty.with_sizes(sizes), numbers)
}

/// A transpose of a tensor with dimensions of size 1. It becomes a transpose of the remaining dimensions or,
/// if these stay in order, a reshape.
fn transpose_of_ones(at: &Site<'_>) -> Option<Replacement> {
    let (Op::Transpose { permutation }, Some(x)) = (at.op(), at.first()) else { return None };
    let (from, numbers) = without_ones(at.ty(x)?);
    if from.rank() == numbers.len() {
        return None;
    }
    let (to, _) = without_ones(at.result()?);
    let permutation: Vec<usize> = permutation.iter().filter_map(|d| numbers[*d]).collect();
    Some(match permutation.is_sorted() {
        true => Replacement::Op(Op::Reshape, vec![x]),
        false => Replacement::Reshaped(Op::Transpose { permutation }, vec![(x, from)], to),
    })
}

/// A product of operands with dimensions of size 1. Other passes recognize the product once these dimensions
/// are removed.
fn product_of_ones(at: &Site<'_>) -> Option<Replacement> {
    let (Op::DotGeneral(dot), Some((x, y))) = (at.op(), at.pair()) else { return None };
    let [(lhs, of_lhs), (rhs, of_rhs)] = [at.ty(x)?, at.ty(y)?].map(without_ones);
    if lhs.rank() == of_lhs.len() && rhs.rank() == of_rhs.len() {
        return None;
    }
    let (to, _) = without_ones(at.result()?);
    let dims = |dims: &[usize], numbers: &[Option<usize>]| dims.iter().filter_map(|d| numbers[*d]).collect();
    let dot = DotGeneral {
        lhs_batch: dims(&dot.lhs_batch, &of_lhs),
        rhs_batch: dims(&dot.rhs_batch, &of_rhs),
        lhs_contract: dims(&dot.lhs_contract, &of_lhs),
        rhs_contract: dims(&dot.rhs_contract, &of_rhs),
        ..(**dot).clone()
    };
    Some(Replacement::Reshaped(Op::DotGeneral(Box::new(dot)), vec![(x, lhs), (y, rhs)], to))
}

fn broadcast_of_broadcast(at: &Site<'_>) -> Option<Replacement> {
    let (made, x) = inner(at, |op| matches!(op, Op::BroadcastInDim { .. }))?;
    let (Op::BroadcastInDim { dims: outer }, Op::BroadcastInDim { dims: first }) = (at.op(), made.op())
    else {
        return None;
    };
    let dims = first.iter().map(|d| outer[*d]).collect();
    Some(Replacement::Op(Op::BroadcastInDim { dims }, vec![x]))
}

/// A broadcast that only adds dimensions of size 1.
fn broadcast_is_reshape(at: &Site<'_>) -> Option<Replacement> {
    let (Op::BroadcastInDim { dims }, Some(x)) = (at.op(), at.first()) else { return None };
    let (from, to) = (at.ty(x)?, at.result()?);
    // A broadcast of a single element is left alone: it shows that all elements are equal.
    let same = dims.is_sorted() && from.elements()? == to.elements()? && from.elements()? > 1;
    same.then(|| Replacement::Op(Op::Reshape, vec![x]))
}

/// A reduction along dimensions of size 1, starting from the neutral element.
fn reduce_one(at: &Site<'_>) -> Option<Replacement> {
    let (Op::Reduce { dims }, [x, init]) = (at.op(), at.inst.operands()) else { return None };
    let (from, to) = (at.ty(*x)?, at.result()?);
    if !at.is_discrete(*x) || from.dtype != to.dtype || dims.iter().any(|d| from.sizes()[*d] != 1) {
        return None;
    }
    let Op::Binary(op) = reducer::of(at.inst.region(0)?)?.inst.op() else { return None };
    let neutral = matches!(
        (op, at.number(*init)?),
        (Binary::And | Binary::Multiply | Binary::Minimum, Scalar::Bool(true))
            | (Binary::Or | Binary::Add | Binary::Maximum, Scalar::Bool(false))
            | (Binary::Add | Binary::Or, Scalar::Signed(0) | Scalar::Unsigned(0))
            | (Binary::Multiply, Scalar::Signed(1) | Scalar::Unsigned(1))
    );
    neutral.then(|| Replacement::Op(Op::Reshape, vec![*x]))
}

/// A reduction along dimensions of size 1, which combines each element only with the initial value.
fn reduce_by_one(at: &Site<'_>) -> Option<Replacement> {
    let (Op::Reduce { dims }, [x, init]) = (at.op(), at.inst.operands()) else { return None };
    let (from, of_init, to) = (at.ty(*x)?, at.ty(*init)?, at.result()?);
    let plain = [from, of_init, to].iter().all(|t| t.quant.is_none() && t.dtype == to.dtype);
    if !plain || dims.iter().any(|d| from.sizes()[*d] != 1) || of_init.rank() != 0 {
        return None;
    }
    let combine = reducer::of(at.inst.region(0)?)?.inst;
    let Op::Binary(op) = combine.op() else { return None };
    let same = combine.results().iter().chain(combine.operands()).all(|v| {
        let ty = at.inst.func().tensor(*v);
        ty.is_some_and(|t| t.rank() == 0 && t.dtype == to.dtype)
    });
    // Operations that allow swapping the initial value and the element.
    let commutes = matches!(
        op,
        Binary::Add
            | Binary::Multiply
            | Binary::Maximum
            | Binary::Minimum
            | Binary::And
            | Binary::Or
            | Binary::Xor
    );
    (same && commutes).then_some(Replacement::Each(*op, [*init, *x]))
}

fn slice_of_slice(at: &Site<'_>) -> Option<Replacement> {
    let (made, x) = inner(at, |op| matches!(op, Op::Slice(_)))?;
    let (Op::Slice(second), Op::Slice(first)) = (at.op(), made.op()) else { return None };
    Some(Replacement::Op(Op::Slice(first.then(second)), vec![x]))
}

/// A slice that lies within one operand of a concatenation.
fn slice_of_concatenate(at: &Site<'_>) -> Option<Replacement> {
    let Op::Slice(slice) = at.op() else { return None };
    let made = at.made(at.first()?)?;
    let Op::Concatenate { dim } = made.op() else { return None };
    let mut begin = 0;
    for part in made.operands() {
        let end = begin + at.ty(*part)?.sizes()[*dim];
        if slice.start[*dim] >= begin && slice.limit[*dim] <= end && begin < end {
            let mut slice = slice.clone();
            slice.start[*dim] -= begin;
            slice.limit[*dim] -= begin;
            return Some(Replacement::Op(Op::Slice(slice), vec![*part]));
        }
        begin = end;
    }
    None
}

/// A conversion of integers through an intermediate type that represents all their values.
fn convert_of_convert(at: &Site<'_>) -> Option<Replacement> {
    let (_, x) = inner(at, |op| *op == Op::Convert)?;
    let (from, by, to) = (at.ty(x)?, at.ty(at.first()?)?, at.result()?);
    let holds = |t: &TensorType| t.dtype.is_integer() || t.dtype.is_bool();
    let wider = by.dtype.bits() > from.dtype.bits()
        || (by.dtype.bits() == from.dtype.bits()
            && by.dtype.is_unsigned_integer() == from.dtype.is_unsigned_integer());
    // An unsigned type does not represent negative numbers.
    let signs = from.dtype.is_bool() || from.dtype.is_unsigned_integer() || !by.dtype.is_unsigned_integer();
    if !(holds(from) && by.dtype.is_integer() && wider && signs && (holds(to) || to.dtype.is_float())) {
        return None;
    }
    // Types of less than a byte are converted through wider ones (`widen`).
    let is_part = |t: &TensorType| t.dtype.is_integer() && t.dtype.bits() < 8;
    if from != to && (is_part(from) || is_part(to)) {
        return None;
    }
    Some(if from == to { Replacement::Value(x) } else { Replacement::Op(Op::Convert, vec![x]) })
}

/// A dynamic slice with a known start, which is clamped as at run time.
fn known_start(at: &Site<'_>) -> Option<Replacement> {
    let Op::DynamicSlice { sizes } = at.op() else { return None };
    let (x, starts) = at.inst.operands().split_first()?;
    let dims = at.ty(*x)?.sizes();
    let mut start = Vec::with_capacity(starts.len());
    for (d, index) in starts.iter().enumerate() {
        let index = match at.number(*index)? {
            Scalar::Unsigned(n) => usize::try_from(n).unwrap_or(usize::MAX),
            n => usize::try_from(n.as_i64()).unwrap_or(0),
        };
        start.push(index.min(dims[d] - sizes[d]));
    }
    let limit = start.iter().zip(sizes).map(|(s, n)| s + n).collect();
    Some(Replacement::Op(Op::Slice(Slice { start, limit, strides: vec![1; sizes.len()] }), vec![*x]))
}

/// An `if` or `case` whose predicate is known.
fn known_branch(at: &Site<'_>) -> Option<Replacement> {
    if !matches!(at.op(), Op::If | Op::Case) {
        return None;
    }
    at.number(at.first()?).map(|index| Replacement::Region(at.inst.chosen(index)))
}
