//! Expansion of CHLO's functions into StableHLO operations, for formats that lack these functions.
//!
//! Functions of types narrower than `f32` are computed in `f32`, other functions in the type of the operand.
//! All types use the constants that were derived for `f64`. Sources of the formulas: W. J. Cody, *Rational
//! Chebyshev approximations for the error function*, 1969; C. Lanczos, *A precision approximation of the
//! gamma function*, 1964, with g = 7; M. Giles, *Approximating the erfinv function*, 2012; Euler–Maclaurin
//! summation for zeta; Chebyshev series for the Bessel function.

mod coefficients;
mod real;

use farcall_sig::DType;

use super::builder::Builder;
use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, NewInst, ValueId, ValueMap};
use crate::op::{Binary, Compare, CompareKind, ComparisonDirection, Op, Slice, Unary};
use crate::scalar::Scalar;
use crate::types::{TensorType, Type};
use real::Real;

/// Replaces CHLO operations by StableHLO operations, if their tensors have static shapes. Complex functions
/// that have no short expansion stay unchanged.
pub(crate) fn run(func: &mut Func) {
    super::run_where(func, &|inst| is_chlo(inst) && has_static_types(inst));
    let mut found = Vec::new();
    func.walk(&mut |inst| {
        if is_chlo(inst) && has_static_types(inst) {
            found.push(inst.id());
        }
    });
    let mut replaced = ValueMap::default();
    for inst in found {
        if let Some(values) = expanded(func, inst) {
            replaced.extend(func.inst(inst).results().iter().copied().zip(values));
            func.detach(inst);
        }
    }
    func.replace_operands(&replaced);
}

fn is_chlo(inst: Inst<'_>) -> bool {
    inst.op().name().starts_with("chlo.")
}

fn has_static_types(inst: Inst<'_>) -> bool {
    let is_static =
        |id: &ValueId| inst.func().tensor(*id).is_some_and(|t| t.is_static() && t.quant.is_none());
    inst.operands().iter().chain(inst.results()).all(is_static)
}

fn expanded(func: &mut Func, inst: InstId) -> Option<Vec<ValueId>> {
    let view = func.inst(inst);
    let (op, operands) = (view.op().clone(), view.operands().to_vec());
    let types: Vec<TensorType> =
        view.operands().iter().map(|v| func.tensor(*v).cloned()).collect::<Option<_>>()?;
    let first = types.first()?.clone();
    let mut b = Builder::before(func, inst);
    let narrow = first.dtype.is_float() && first.dtype.bits() < 32;
    let wide = if narrow { DType::F32 } else { first.dtype };
    Some(match (op, operands.as_slice()) {
        (Op::TopK { k }, [x]) => b.top_k(*x, k)?,
        (Op::Unary(op), [x]) => {
            let x = b.convert(*x, wide);
            let mut f = Real::new(&mut b, x);
            let y = f.unary(op, x)?;
            vec![if matches!(op, Unary::IsInf | Unary::IsNegInf | Unary::IsPosInf) {
                y
            } else {
                b.convert(y, first.dtype)
            }]
        }
        (Op::Binary(Binary::NextAfter), [x, y]) => vec![b.next_after(*x, *y)?],
        (Op::Binary(Binary::MulHi), [x, y]) => vec![b.mul_hi(*x, *y)?],
        (Op::Binary(op), [x, y]) => {
            let (x, y) = (b.convert(*x, wide), b.convert(*y, wide));
            let mut f = Real::new(&mut b, x);
            let z = match op {
                Binary::Zeta => f.zeta(x, y),
                Binary::Polygamma => f.polygamma(x, y),
                _ => return None,
            };
            vec![b.convert(z, first.dtype)]
        }
        _ => return None,
    })
}

impl Builder<'_> {
    /// A tensor whose elements all equal an integer.
    fn integer(&mut self, value: i128, ty: &TensorType) -> ValueId {
        let value = if ty.dtype.is_unsigned_integer() {
            Scalar::Unsigned(value as u64)
        } else {
            Scalar::Signed(value as i64)
        };
        self.constant(Literal::splat(ty.dtype, ty.sizes(), value))
    }

    fn top_k(&mut self, x: ValueId, k: usize) -> Option<Vec<ValueId>> {
        let ty = self.ty(x);
        let dim = ty.rank().checked_sub(1)?;
        let places = self.iota(DType::S32, ty.sizes(), dim);
        let kind = if ty.dtype.is_float() { Some(CompareKind::TotalOrder) } else { None };
        let sorted = self.sorted(x, places, dim, Compare { direction: ComparisonDirection::Gt, kind });
        let mut limit = ty.sizes().to_vec();
        limit[dim] = k;
        let slice = Op::Slice(Slice {
            start: vec![0; limit.len()],
            strides: vec![1; limit.len()],
            limit: limit.clone(),
        });
        Some(
            sorted
                .into_iter()
                .map(|v| {
                    let ty = self.ty(v).with_sizes(limit.clone());
                    self.emit(slice.clone(), &[v], ty)
                })
                .collect(),
        )
    }

    /// The next number after `x` in the direction of `y`, computed on the bits.
    fn next_after(&mut self, x: ValueId, y: ValueId) -> Option<ValueId> {
        let ty = self.ty(x);
        let (dtype, bits) = match ty.dtype.bits() {
            64 => (DType::S64, 64),
            32 => (DType::S32, 32),
            16 => (DType::S16, 16),
            _ => return None,
        };
        let int = ty.with_dtype(dtype);
        let [a, b] = [x, y].map(|v| self.emit(Op::BitcastConvert, &[v], int.clone()));
        let [sign, magnitude] = [1i128 << (bits - 1), (1i128 << (bits - 1)) - 1];
        let [sign, magnitude] = [-sign, magnitude].map(|m| self.integer(m, &int));
        let zero = self.integer(0, &int);
        let one = self.integer(1, &int);
        let size_a = self.binary(Binary::And, a, magnitude)?;
        let size_b = self.binary(Binary::And, b, magnitude)?;
        let sign_a = self.binary(Binary::And, a, sign)?;
        let sign_b = self.binary(Binary::And, b, sign)?;
        // Step away from zero if the signs are equal and `y` has the larger magnitude, otherwise toward zero.
        let opposite = self.is(ComparisonDirection::Ne, sign_a, sign_b);
        let larger = self.is(ComparisonDirection::Gt, size_a, size_b);
        let inwards = self.binary(Binary::Or, opposite, larger)?;
        let minus_one = self.integer(-1, &int);
        let step = self.select(inwards, minus_one, one);
        let moved = self.binary(Binary::Add, a, step)?;
        // Step from zero to the smallest number with the sign of `y`.
        let smallest = self.binary(Binary::Or, sign_b, one)?;
        let from_zero = self.is(ComparisonDirection::Eq, size_a, zero);
        let moved = self.select(from_zero, smallest, moved);
        let moved = self.emit(Op::BitcastConvert, &[moved], ty.clone());
        let equal = self.is(ComparisonDirection::Eq, x, y);
        let moved = self.select(equal, y, moved);
        // Return NaN if either operand is NaN.
        let sum = self.binary(Binary::Add, x, y)?;
        let [x_nan, y_nan] = [x, y].map(|v| self.is(ComparisonDirection::Ne, v, v));
        let nan = self.binary(Binary::Or, x_nan, y_nan)?;
        Some(self.select(nan, sum, moved))
    }

    /// The upper half of a product, computed in integers of twice the width or by four products of halves.
    fn mul_hi(&mut self, x: ValueId, y: ValueId) -> Option<ValueId> {
        let ty = self.ty(x);
        let bits = ty.dtype.bits();
        let is_signed = ty.dtype.is_signed_integer();
        if bits < 64 {
            let wide = if is_signed { DType::S64 } else { DType::U64 };
            let [a, b] = [x, y].map(|v| self.convert(v, wide));
            let product = self.binary(Binary::Multiply, a, b)?;
            let shift = self.integer(i128::from(bits), &ty.with_dtype(wide));
            let op = if is_signed { Binary::ShiftRightArithmetic } else { Binary::ShiftRightLogical };
            let high = self.binary(op, product, shift)?;
            return Some(self.convert(high, ty.dtype));
        }
        let half = self.integer(32, &ty);
        let mask = self.integer(0xffff_ffff, &ty);
        let high = if is_signed { Binary::ShiftRightArithmetic } else { Binary::ShiftRightLogical };
        let [x_low, y_low] = [self.binary(Binary::And, x, mask)?, self.binary(Binary::And, y, mask)?];
        let [x_high, y_high] = [self.binary(high, x, half)?, self.binary(high, y, half)?];
        let low = self.binary(Binary::Multiply, x_low, y_low)?;
        let carry = self.binary(Binary::ShiftRightLogical, low, half)?;
        let cross = self.binary(Binary::Multiply, x_high, y_low)?;
        let middle = self.binary(Binary::Add, cross, carry)?;
        let middle_low = self.binary(Binary::And, middle, mask)?;
        let middle_high = self.binary(high, middle, half)?;
        let cross = self.binary(Binary::Multiply, x_low, y_high)?;
        let other = self.binary(Binary::Add, cross, middle_low)?;
        let other_high = self.binary(high, other, half)?;
        let top = self.binary(Binary::Multiply, x_high, y_high)?;
        let sum = self.binary(Binary::Add, top, middle_high)?;
        self.binary(Binary::Add, sum, other_high)
    }
}

impl Builder<'_> {
    /// Sorts two tensors by the elements of the first.
    fn sorted(&mut self, x: ValueId, y: ValueId, dim: usize, compare: Compare) -> Vec<ValueId> {
        let types = [self.ty(x), self.ty(y)];
        let at = self.inner();
        let region = at.func().new_region();
        let mut args = Vec::new();
        for ty in &types {
            for _ in 0..2 {
                args.push(at.func().add_arg(region, ty.with_sizes([]).into()));
            }
        }
        let mut inner = at.inside(region);
        let pred = Type::Tensor(TensorType::scalar(DType::Pred));
        let less = inner.unchecked(NewInst::new(Op::Compare(compare), [args[0], args[1]]), [pred]);
        let less = inner.func().inst(less).results().to_vec();
        inner.unchecked(NewInst::new(Op::Return, less), []);
        let sort = NewInst::new(Op::Sort { dim, is_stable: true }, [x, y]).with_regions([region]);
        let sort = at.unchecked(sort, types.map(Type::Tensor));
        at.func().inst(sort).results().to_vec()
    }
}

#[cfg(test)]
mod tests;
