//! Analysis of regions that only compare and select, by trying every case.
//!
//! Special numbers are the constants of the region, zeros, infinities and NaNs. The region treats two lists
//! of arguments alike if their elements have the same order relative to each other and to the special
//! numbers. One list for each such order, a *case*, therefore suffices to determine the behavior of the
//! region, however it is written. Numbers are represented by integers, called keys, that have the same order
//! as the numbers ([`key`]).

use farcall_ir::op::{Binary, Compare, CompareKind, ComparisonDirection, Unary};
use farcall_ir::{DType, Literal, Op};

use super::body::{Body, BodyInst};

/// For each value of a region, its key in each case; `None` if unknown.
pub(super) type Columns = Vec<Option<Vec<u64>>>;

/// Fills in the missing columns of all instructions that can be computed from the given columns. With
/// `flush`, subnormal numbers compare as zeros.
pub(super) fn evaluate(body: &Body, columns: &mut Columns, flush: bool) {
    columns.resize(body.args.len() + body.insts.len(), None);
    let cases = columns.iter().flatten().map(Vec::len).next().unwrap_or(0);
    for (i, inst) in body.insts.iter().enumerate() {
        let to = body.args.len() + i;
        if columns[to].is_none() {
            columns[to] = column(body, inst, columns, cases, flush);
        }
    }
}

fn column(body: &Body, inst: &BodyInst, known: &Columns, cases: usize, flush: bool) -> Option<Vec<u64>> {
    let of = |i: usize| known[*inst.operands.get(i)?].as_deref();
    let is_pred = inst.ty.dtype == DType::Pred;
    let two = |f: &dyn Fn(u64, u64) -> u64| {
        Some(of(0)?.iter().zip(of(1)?).map(|(x, y)| f(*x, *y)).collect::<Vec<u64>>())
    };
    match &inst.op {
        Op::Constant(literal) => Some(vec![constant(literal)?; cases]),
        Op::Compare(compare) => {
            let order = Numbers::of(dtype_of(body, *inst.operands.first()?), flush)?;
            two(&|x, y| u64::from(order.holds(compare, x, y)))
        }
        Op::Select => {
            let chosen = of(0)?.iter().zip(of(1)?).zip(of(2)?);
            Some(chosen.map(|((p, x), y)| if *p == 1 { *x } else { *y }).collect())
        }
        Op::Binary(Binary::And) if is_pred => two(&|x, y| x & y),
        Op::Binary(Binary::Or) if is_pred => two(&|x, y| x | y),
        Op::Binary(Binary::Xor) if is_pred => two(&|x, y| x ^ y),
        Op::Unary(Unary::Not) if is_pred => Some(of(0)?.iter().map(|x| x ^ 1).collect()),
        _ => None,
    }
}

/// Returns the element type of a value.
pub(super) fn dtype_of(body: &Body, value: usize) -> DType {
    body.inst(value).map_or_else(|| body.args[value].dtype, |inst| inst.ty.dtype)
}

/// Returns keys of a type, in order: the special numbers, and two numbers from each interval between them.
/// `None` for types without an order, and if there are too many numbers.
pub(super) fn kinds(body: &Body, dtype: DType) -> Option<Vec<u64>> {
    /// Maximum number of keys: a region that compares and selects has few constants.
    const MAX_KINDS: usize = 32;
    let numbers = Numbers::of(dtype, true)?;
    let mut special = numbers.special();
    for inst in body.insts.iter().filter(|inst| inst.ty.dtype == dtype) {
        if let Op::Constant(literal) = &inst.op {
            special.push(constant(literal)?);
        }
    }
    special.sort_unstable();
    special.dedup();
    let mut kinds = special.clone();
    // Two arguments need at most two different numbers from an interval. Keys are converted to `u128`, so
    // that every key has a successor.
    let mut next = 0;
    for point in special.into_iter().map(u128::from).chain([u128::from(numbers.all) + 1]) {
        if next < point {
            kinds.extend([next as u64, (point - 1) as u64]);
        }
        next = point + 1;
    }
    kinds.sort_unstable();
    kinds.dedup();
    (kinds.len() <= MAX_KINDS).then_some(kinds)
}

/// Returns the key of a constant.
fn constant(literal: &Literal) -> Option<u64> {
    if literal.is_empty() {
        return None;
    }
    let dtype = literal.dtype();
    let mut word = [0; 8];
    let bytes = literal.element(0);
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    key(dtype, u64::from_le_bytes(word))
}

/// Returns the key of the number with these bits. Keys have the order of the numbers; for floats, the total
/// order. `None` for types other than integers, `pred` and floats of 16 to 64 bits.
pub(super) fn key(dtype: DType, bits: u64) -> Option<u64> {
    let Numbers { all, float, .. } = Numbers::of(dtype, false)?;
    let sign = all / 2 + 1;
    Some(match (float.is_some(), bits & sign == 0) {
        (true, false) => !bits & all,
        (true, true) => bits | sign,
        _ if dtype.is_signed_integer() => bits ^ sign,
        _ => bits,
    })
}

/// Comparison of the numbers of a type, by their keys.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    /// The largest key.
    all: u64,
    float: Option<Float>,
}

/// Bits of infinity, and of the largest number that compares as zero.
#[derive(Clone, Copy)]
struct Float {
    infinity: u64,
    zero: u64,
}

impl Numbers {
    /// Creates the comparison for a type. With `flush`, subnormals of the types whose subnormals can be
    /// flushed compare as zeros.
    pub(super) fn of(dtype: DType, flush: bool) -> Option<Numbers> {
        let (infinity, smallest) = match dtype {
            DType::F16 => (0x7c00, 0),
            DType::BF16 => (0x7f80, 0x80),
            DType::F32 => (0x7f80_0000, 0x80_0000),
            DType::F64 => (0x7ff0 << 48, 1 << 52),
            DType::Pred => return Some(Numbers { all: 1, float: None }),
            _ if super::is_int(dtype) => {
                return Some(Numbers { all: u64::MAX >> (64 - dtype.bits()), float: None });
            }
            _ => return None,
        };
        let zero = if flush && smallest > 0 { smallest - 1 } else { 0 };
        Some(Numbers { all: u64::MAX >> (64 - dtype.bits()), float: Some(Float { infinity, zero }) })
    }

    /// Returns the keys of the special numbers that do not depend on the region: the zeros, the largest
    /// numbers that are flushed to zero, and the infinities, with both signs. NaNs lie in the intervals
    /// beyond the infinities.
    fn special(&self) -> Vec<u64> {
        let Some(Float { infinity, zero }) = self.float else { return Vec::new() };
        let sign = self.all / 2 + 1;
        [0, zero, infinity].iter().flat_map(|bits| [sign + bits, sign - 1 - bits]).collect()
    }

    /// Returns the key with which a number is compared; `None` for NaN, which is unordered.
    pub(super) fn number(&self, key: u64) -> Option<u64> {
        let Some(Float { infinity, zero }) = self.float else { return Some(key) };
        let sign = self.all / 2 + 1;
        let size = if key >= sign { key - sign } else { sign - 1 - key };
        match size {
            _ if size > infinity => None,
            _ if size <= zero => Some(sign),
            _ => Some(key),
        }
    }

    fn holds(&self, compare: &Compare, x: u64, y: u64) -> bool {
        let total = self.float.is_none() || compare.kind == Some(CompareKind::TotalOrder);
        let (x, y) = if total { (Some(x), Some(y)) } else { (self.number(x), self.number(y)) };
        let (Some(x), Some(y)) = (x, y) else { return compare.direction == ComparisonDirection::Ne };
        match compare.direction {
            ComparisonDirection::Lt => x < y,
            ComparisonDirection::Gt => x > y,
            ComparisonDirection::Le => x <= y,
            ComparisonDirection::Ge => x >= y,
            ComparisonDirection::Eq => x == y,
            ComparisonDirection::Ne => x != y,
        }
    }
}

/// Returns all pairs of these numbers, as two columns.
pub(super) fn pairs(kinds: &[u64]) -> [Vec<u64>; 2] {
    let n = kinds.len();
    [kinds.iter().flat_map(|x| vec![*x; n]).collect(), kinds.repeat(n)]
}
