//! Choice of the next instruction: elementwise functions, and the table of all kinds of instructions.

use farcall::ir::op::{Binary, Compare, CompareKind, ComparisonDirection, Derived, Unary};
use farcall::ir::{DType, NewInst, Op, TensorType};

use super::generate::{Gen, Meta, Need, is_float, largest_integer};
use super::{movement, products, regions};

/// Function that adds an instruction. Returns `None` if the drawn instruction is not valid.
pub(crate) type Make = fn(&mut Gen) -> Option<()>;

/// Kinds of instructions, each with its weight.
static TABLE: &[(usize, Make)] = &[
    (10, unary),
    (16, binary),
    (6, rules),
    (4, compare),
    (4, select),
    (2, clamp),
    (4, convert),
    (1, bitcast),
    (1, copy),
    (1, reduce_precision),
    (1, quantized),
    (1, sin_cos),
    (24, movement::any),
    (16, regions::any),
    (14, products::any),
];

/// Adds the next instruction.
pub(crate) fn any(g: &mut Gen) -> Option<()> {
    let make = draw(g, TABLE);
    make(g)
}

/// Draws an entry of a table.
pub(crate) fn draw(g: &mut Gen, table: &[(usize, Make)]) -> Make {
    let mut at = g.r.below(table.iter().map(|(weight, _)| weight).sum());
    for (weight, make) in table {
        if at < *weight {
            return *make;
        }
        at -= weight;
    }
    unary
}

/// Adds an elementwise instruction, for regions that are applied to scalars (of maps, reductions and
/// scatters).
pub(crate) fn on_elements(g: &mut Gen) -> Option<()> {
    static TABLE: &[(usize, Make)] =
        &[(4, unary), (8, binary), (3, rules), (3, compare), (3, select), (1, clamp), (3, convert)];
    let make = draw(g, TABLE);
    make(g)
}

fn unary(g: &mut Gen) -> Option<()> {
    const COMMON_OPS: [Unary; 8] = [
        Unary::Negate,
        Unary::Not,
        Unary::Abs,
        Unary::Sign,
        Unary::Floor,
        Unary::Real,
        Unary::Sqrt,
        Unary::Square,
    ];
    let op = if g.r.one_in(2) { g.r.pick(&COMMON_OPS) } else { g.r.pick(&Unary::VARIANTS) };
    let class = op.info().operand;
    let taken = |d: DType| class.has(&TensorType::scalar(d));
    let exact = is_exact(op);
    let need = if exact { Need::Exact } else { Need::Integers(8) };
    let x = g.some(need, taken, 0..=4);
    let (known, dtype) = (g.meta_of(x), g.tensor(x).dtype);
    let complex = dtype.is_complex();
    let meta = match op {
        _ if !is_float(dtype) => Meta::BITS,
        Unary::IsFinite | Unary::IsInf | Unary::IsNegInf | Unary::IsPosInf => Meta::BITS,
        Unary::Real | Unary::Imag => known,
        Unary::Negate | Unary::Conj => Meta::bounded(known.bound, dtype),
        Unary::Abs | Unary::Ceil | Unary::Floor if !complex => Meta::bounded(known.bound, dtype),
        Unary::Square if known.bound.is_some() => {
            let twice = if complex { 2 } else { 1 };
            Meta::bounded(known.bound.and_then(|b| b.checked_mul(b)?.checked_mul(twice)), dtype)
        }
        _ if exact && !complex => Meta::EXACT,
        _ => Meta::FUZZY,
    };
    g.value(Op::Unary(op), &[x], meta).map(drop)
}

/// Returns true for functions of real numbers whose results are the same to the last bit wherever they are
/// computed.
fn is_exact(op: Unary) -> bool {
    use Unary as U;
    matches!(
        op,
        U::Abs
            | U::Ceil
            | U::Conj
            | U::CountLeadingZeros
            | U::Floor
            | U::Imag
            | U::IsFinite
            | U::IsInf
            | U::IsNegInf
            | U::IsPosInf
            | U::Negate
            | U::Not
            | U::Popcnt
            | U::Real
            | U::RoundNearestAfz
            | U::RoundNearestEven
            | U::Sign
            | U::Sqrt
            | U::Square
    )
}

fn binary(g: &mut Gen) -> Option<()> {
    use Binary as B;
    const COMMON_OPS: [B; 8] =
        [B::Add, B::Subtract, B::Multiply, B::Divide, B::Maximum, B::Minimum, B::And, B::Xor];
    let op = if g.r.one_in(3) { g.r.pick(&B::VARIANTS) } else { g.r.pick(&COMMON_OPS) };
    let class = op.info().operand;
    let taken = |d: DType| class.has(&TensorType::scalar(d));
    let fuzzy = matches!(op, B::Atan2 | B::Power | B::Polygamma | B::Zeta);
    let need = if fuzzy { Need::Integers(8) } else { Need::Exact };
    let a = g.some(need, taken, 0..=4);
    let ty = g.tensor(a);
    let b = if g.r.one_in(8) { a } else { g.of(&ty, need) };
    let (a, b) = if g.r.one_in(4) { (b, a) } else { (a, b) };
    let meta = binary_meta(op, ty.dtype, g.meta_of(a), g.meta_of(b));
    g.value(Op::Binary(op), &[a, b], meta).map(drop)
}

/// Properties of the result of a binary operation.
pub(crate) fn binary_meta(op: Binary, dtype: DType, a: Meta, b: Meta) -> Meta {
    use Binary as B;
    let (bounds, complex) = (a.bound.zip(b.bound), dtype.is_complex());
    match op {
        _ if !is_float(dtype) => Meta::BITS,
        B::Atan2 | B::Power | B::Polygamma | B::Zeta => Meta::FUZZY,
        B::Complex => a.or(b),
        B::Add | B::Subtract => Meta::bounded(bounds.map(|(a, b)| a.saturating_add(b)), dtype),
        B::Maximum | B::Minimum => Meta::bounded(bounds.map(|(a, b)| a.max(b)), dtype),
        B::Multiply if complex => match bounds.and_then(|(a, b)| a.checked_mul(b)?.checked_mul(2)) {
            Some(n) if n <= largest_integer(dtype) => Meta::bounded(Some(n), dtype),
            _ => Meta::FUZZY,
        },
        B::Multiply => Meta::bounded(bounds.and_then(|(a, b)| a.checked_mul(b)), dtype),
        B::Divide | B::Remainder if complex => Meta::FUZZY,
        _ => Meta::EXACT,
    }
}

/// Adds patterns that the simplification rules look for.
fn rules(g: &mut Gen) -> Option<()> {
    use Binary as B;
    let op = g.r.pick(&[B::Add, B::Subtract, B::Multiply, B::Divide, B::And, B::Or, B::Xor, B::Maximum]);
    let class = op.info().operand;
    let x = g.some(Need::Exact, |d| class.has(&TensorType::scalar(d)), 0..=4);
    let ty = g.tensor(x);
    let n = g.r.pick(&[0i64, 0, 1, -1]);
    let scalar = TensorType::scalar(ty.dtype);
    let negative = g.r.one_in(6);
    let number = super::generate::splat(&scalar, n, negative);
    let constant = if g.r.one_in(2) {
        let one = g.put(number);
        g.value_of(Op::BroadcastInDim { dims: vec![] }, &[one], &ty, g.meta_of(one))?
    } else {
        g.put(super::generate::splat(&ty, n, negative))
    };
    let (a, b) = if g.r.one_in(3) { (constant, x) } else { (x, constant) };
    let meta = binary_meta(op, ty.dtype, g.meta_of(a), g.meta_of(b));
    let y = g.value(Op::Binary(op), &[a, b], meta)?;
    if g.r.one_in(3) {
        // The same operation again, for common subexpression elimination.
        g.value(Op::Binary(op), &[a, b], meta)?;
    }
    if g.r.one_in(3) && ty.dtype.class() != DType::Pred.class() {
        let meta = Meta::bounded(g.meta_of(y).bound, ty.dtype);
        let minus = g.value(Op::Unary(Unary::Negate), &[y], meta)?;
        g.value(Op::Unary(Unary::Negate), &[minus], meta)?;
    }
    Some(())
}

fn compare(g: &mut Gen) -> Option<()> {
    let total = g.r.one_in(3);
    let need = if total { Need::Bits } else { Need::Exact };
    let a = g.some(need, |_| true, 0..=4);
    let ty = g.tensor(a);
    let b = if g.r.one_in(8) { a } else { g.of(&ty, need) };
    let holds = comparison(g, [a, b], total)?;
    if g.r.one_in(4) {
        g.value(Op::Unary(Unary::Not), &[holds], Meta::BITS)?;
    }
    Some(())
}

/// Adds a comparison of two values of one type.
pub(crate) fn comparison(
    g: &mut Gen,
    operands: [farcall::ir::ValueId; 2],
    total: bool,
) -> Option<farcall::ir::ValueId> {
    let dtype = g.tensor(operands[0]).dtype;
    let direction = if dtype.is_complex() {
        g.r.pick(&[ComparisonDirection::Eq, ComparisonDirection::Ne])
    } else {
        g.r.pick(&ComparisonDirection::VARIANTS)
    };
    let kind = match dtype {
        d if d.is_float() && total => Some(CompareKind::TotalOrder),
        d if is_float(d) => Some(CompareKind::Float),
        d if d.is_signed_integer() => Some(CompareKind::Signed),
        _ => Some(CompareKind::Unsigned),
    };
    let kind = if !(dtype.is_float() && total) && g.r.one_in(3) { None } else { kind };
    g.value(Op::Compare(Compare { direction, kind }), &operands, Meta::BITS)
}

fn select(g: &mut Gen) -> Option<()> {
    let a = g.some(Need::Anything, |_| true, 0..=4);
    let ty = g.tensor(a);
    let b = if g.r.one_in(10) { a } else { g.of(&ty, Need::Anything) };
    let wanted = if g.r.one_in(3) { TensorType::scalar(DType::Pred) } else { ty.with_dtype(DType::Pred) };
    let pred = g.of(&wanted, Need::Exact);
    let meta = g.meta_of(a).or(g.meta_of(b));
    g.value(Op::Select, &[pred, a, b], meta).map(drop)
}

fn clamp(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Exact, |d| !d.is_complex(), 0..=4);
    let ty = g.tensor(x);
    let bound = |g: &mut Gen| {
        let ty = if g.r.one_in(2) { TensorType::scalar(ty.dtype) } else { ty.clone() };
        g.of(&ty, Need::Exact)
    };
    let (low, high) = (bound(g), bound(g));
    g.value(Op::Clamp, &[low, x, high], Meta::EXACT).map(drop)
}

fn convert(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Exact, |_| true, 0..=4);
    let (known, from) = (g.meta_of(x), g.tensor(x));
    let mut to = g.dtype();
    if from.dtype.is_integer() && g.r.one_in(2) {
        // Convert to another integer type. A conversion back may follow below.
        to = g.r.pick(&[DType::S64, DType::S16, DType::U8, DType::S32, DType::U32]);
    }
    let bound = match from.dtype {
        d if is_float(d) => known.bound,
        d if d.bits() < 8 => Some(1 << d.bits()),
        DType::Pred => Some(1),
        _ => None,
    };
    let y = g.value_of(Op::Convert, &[x], &from.with_dtype(to), Meta::bounded(bound, to))?;
    if g.r.one_in(4) {
        let back = g.r.pick(&[from.dtype, DType::S8, DType::F32]);
        let meta = Meta::bounded(g.meta_of(y).bound, back);
        g.value_of(Op::Convert, &[y], &from.with_dtype(back), meta)?;
    }
    Some(())
}

fn bitcast(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Bits, |_| true, 0..=3);
    let from = g.tensor(x);
    let to = g.dtype();
    let (a, b) = (from.dtype.bits() as usize, to.bits() as usize);
    let mut dims = from.sizes().to_vec();
    if a > b {
        dims.push(a / b);
    } else if a < b && dims.pop()? * a != b {
        return None;
    }
    g.value_of(Op::BitcastConvert, &[x], &TensorType::new(to, dims), Meta::BITS).map(drop)
}

fn copy(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Anything, |_| true, 0..=4);
    let meta = g.meta_of(x);
    g.value(Op::Copy, &[x], meta).map(drop)
}

fn reduce_precision(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Exact, DType::is_float, 0..=4);
    let exponent_bits = 1 + g.r.below(9) as u32;
    let mantissa_bits = g.r.below(25) as u32;
    g.value(Op::ReducePrecision { exponent_bits, mantissa_bits }, &[x], Meta::EXACT).map(drop)
}

fn sin_cos(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Integers(8), DType::is_float, 0..=4);
    let ty = g.tensor(x);
    let types = vec![ty.clone().into(), ty.into()];
    g.emit(NewInst::new(Op::Derived(Derived::SinCos), [x]), types, &[Meta::FUZZY; 2]).map(drop)
}

/// Quantizes numbers, applies a function to them, and dequantizes the result.
fn quantized(g: &mut Gen) -> Option<()> {
    let x = g.some(Need::Exact, |d| matches!(d, DType::F32 | DType::BF16 | DType::F16), 1..=3);
    let from = g.tensor(x);
    let axis = if g.r.one_in(3) { Some(g.r.below(from.rank())) } else { None };
    let count = axis.map_or(1, |a| from.sizes()[a]);
    if count == 0 {
        return None;
    }
    let dtype = g.r.pick(&[DType::S8, DType::U8, DType::S4, DType::S32]);
    let (storage_min, storage_max) = farcall::ir::types::default_storage_range(dtype);
    let quant = farcall::ir::types::Quantization {
        expressed: from.dtype,
        storage_min,
        storage_max,
        axis,
        scales: (0..count).map(|i| (0.5 * (i + 1) as f64).to_bits()).collect(),
        zero_points: (0..count).map(|i| i as i64 % 2).collect(),
    };
    let ty = from.with_dtype(dtype).with_quant(Some(quant.into()));
    let q = g.value_of(Op::UniformQuantize, &[x], &ty, Meta::EXACT)?;
    let op = g.r.pick(&[Binary::Add, Binary::Maximum, Binary::Multiply]);
    let y = match g.r.below(3) {
        0 => q,
        1 => g.value_of(Op::Binary(op), &[q, q], &ty, Meta::EXACT).unwrap_or(q),
        _ => g
            .emit(NewInst::new(Op::Unary(Unary::Abs), [q]), vec![ty.clone().into()], &[Meta::EXACT])
            .map_or(q, |v| v[0]),
    };
    g.value_of(Op::UniformDequantize, &[y], &from, Meta::EXACT).map(drop)
}
