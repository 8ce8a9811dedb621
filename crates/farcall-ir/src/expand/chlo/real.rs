//! Functions of real numbers, and the complex functions with short definitions.

use std::f64::consts::{LN_2, PI};

use farcall_sig::DType;

use super::coefficients::*;
use crate::expand::builder::Builder;
use crate::literal::Literal;
use crate::module::ValueId;
use crate::op::{Binary, ComparisonDirection, Op, Unary};
use crate::scalar::Scalar;
use crate::types::TensorType;

/// Builds functions of numbers of one type.
pub(super) struct Real<'b, 'f> {
    b: &'b mut Builder<'f>,
    ty: TensorType,
}

impl<'b, 'f> Real<'b, 'f> {
    /// Creates a builder for numbers with the type of an operand.
    pub(super) fn new(b: &'b mut Builder<'f>, x: ValueId) -> Real<'b, 'f> {
        Real { ty: b.ty(x), b }
    }
    fn c(&mut self, value: f64) -> ValueId {
        let value = match self.ty.dtype.is_complex() {
            true => Scalar::Complex(Scalar::Float(value).as_complex()),
            false => Scalar::Float(value),
        };
        self.b.constant(Literal::splat(self.ty.dtype, self.ty.sizes(), value))
    }

    fn f(&mut self, op: Unary, x: ValueId) -> ValueId {
        let ty = self.b.ty(x);
        self.b.emit(Op::Unary(op), &[x], ty)
    }

    fn f2(&mut self, op: Binary, x: ValueId, y: ValueId) -> ValueId {
        let ty = self.b.ty(x);
        self.b.emit(Op::Binary(op), &[x, y], ty)
    }

    fn add(&mut self, x: ValueId, y: ValueId) -> ValueId {
        self.f2(Binary::Add, x, y)
    }

    fn sub(&mut self, x: ValueId, y: ValueId) -> ValueId {
        self.f2(Binary::Subtract, x, y)
    }

    fn mul(&mut self, x: ValueId, y: ValueId) -> ValueId {
        self.f2(Binary::Multiply, x, y)
    }

    fn div(&mut self, x: ValueId, y: ValueId) -> ValueId {
        self.f2(Binary::Divide, x, y)
    }

    fn plus(&mut self, x: ValueId, c: f64) -> ValueId {
        let c = self.c(c);
        self.add(x, c)
    }

    fn times(&mut self, x: ValueId, c: f64) -> ValueId {
        let c = self.c(c);
        self.mul(x, c)
    }

    fn neg(&mut self, x: ValueId) -> ValueId {
        self.f(Unary::Negate, x)
    }

    fn exp(&mut self, x: ValueId) -> ValueId {
        self.f(Unary::Exponential, x)
    }

    fn log(&mut self, x: ValueId) -> ValueId {
        self.f(Unary::Log, x)
    }

    fn log1p(&mut self, x: ValueId) -> ValueId {
        self.f(Unary::LogPlusOne, x)
    }

    fn sqrt(&mut self, x: ValueId) -> ValueId {
        self.f(Unary::Sqrt, x)
    }

    fn is(&mut self, direction: ComparisonDirection, x: ValueId, c: f64) -> ValueId {
        let c = self.c(c);
        self.b.is(direction, x, c)
    }

    fn select(&mut self, p: ValueId, x: ValueId, y: ValueId) -> ValueId {
        self.b.select(p, x, y)
    }

    /// Selects a constant where a condition holds, and `x` elsewhere.
    fn set(&mut self, p: ValueId, c: f64, x: ValueId) -> ValueId {
        let c = self.c(c);
        self.b.select(p, c, x)
    }

    fn both(&mut self, p: ValueId, q: ValueId) -> ValueId {
        self.f2(Binary::And, p, q)
    }

    fn either(&mut self, p: ValueId, q: ValueId) -> ValueId {
        self.f2(Binary::Or, p, q)
    }

    /// Evaluates a polynomial by Horner's scheme; the coefficient of the highest power comes first.
    fn polynomial(&mut self, x: ValueId, coefficients: &[f64]) -> ValueId {
        let mut sum = self.c(coefficients[0]);
        for c in &coefficients[1..] {
            let product = self.mul(sum, x);
            sum = self.plus(product, *c);
        }
        sum
    }

    /// Evaluates a Chebyshev series at `t` between -1 and 1.
    fn chebyshev(&mut self, t: ValueId, coefficients: &[f64]) -> ValueId {
        let twice = self.times(t, 2.0);
        let (mut b1, mut b2) = (self.c(0.0), self.c(0.0));
        for c in coefficients[1..].iter().rev() {
            let product = self.mul(twice, b1);
            let difference = self.sub(product, b2);
            (b1, b2) = (self.plus(difference, *c), b1);
        }
        let product = self.mul(t, b1);
        let difference = self.sub(product, b2);
        self.plus(difference, coefficients[0])
    }

    pub(super) fn unary(&mut self, op: Unary, x: ValueId) -> Option<ValueId> {
        let is_complex = self.ty.dtype.is_complex();
        Some(match op {
            Unary::Square => self.mul(x, x),
            Unary::ChloTan => self.f(Unary::Tan, x),
            Unary::Conj if is_complex => {
                let part = self.ty.with_dtype(self.ty.dtype.real());
                let re = self.b.emit(Op::Unary(Unary::Real), &[x], part.clone());
                let im = self.b.emit(Op::Unary(Unary::Imag), &[x], part);
                let im = self.neg(im);
                self.b.emit(Op::Binary(Binary::Complex), &[re, im], self.ty.clone())
            }
            Unary::Conj => x,
            Unary::Cosh | Unary::Sinh if is_complex => {
                let [up, down] = self.half_exponentials(x);
                self.f2(if op == Unary::Cosh { Binary::Add } else { Binary::Subtract }, up, down)
            }
            _ if is_complex => return None,
            Unary::Acos => {
                let root = self.circle(x);
                self.f2(Binary::Atan2, root, x)
            }
            Unary::Asin => {
                let root = self.circle(x);
                self.f2(Binary::Atan2, x, root)
            }
            Unary::Atan => {
                let one = self.c(1.0);
                self.f2(Binary::Atan2, x, one)
            }
            Unary::Acosh => self.acosh(x),
            Unary::Asinh => self.asinh(x),
            Unary::Atanh => {
                let minus = self.neg(x);
                let (up, down) = (self.log1p(x), self.log1p(minus));
                let difference = self.sub(up, down);
                let half = self.times(difference, 0.5);
                // Preserves the sign of zero.
                let zero = self.is(ComparisonDirection::Eq, x, 0.0);
                self.select(zero, x, half)
            }
            Unary::Cosh => {
                let [up, down] = self.half_exponentials(x);
                self.add(up, down)
            }
            Unary::Sinh => self.sinh(x),
            Unary::Erf => self.erf(x),
            Unary::Erfc => self.erfc(x),
            Unary::ErfInv => self.erf_inv(x),
            Unary::Lgamma => self.lgamma(x),
            Unary::Digamma => self.digamma(x),
            Unary::BesselI1e => self.bessel_i1e(x),
            Unary::IsInf => {
                let size = self.f(Unary::Abs, x);
                self.is(ComparisonDirection::Eq, size, f64::INFINITY)
            }
            Unary::IsPosInf => self.is(ComparisonDirection::Eq, x, f64::INFINITY),
            Unary::IsNegInf => self.is(ComparisonDirection::Eq, x, f64::NEG_INFINITY),
            _ => return None,
        })
    }

    /// √((1 - x)(1 + x))
    fn circle(&mut self, x: ValueId) -> ValueId {
        let minus = self.neg(x);
        let (low, high) = (self.plus(minus, 1.0), self.plus(x, 1.0));
        let product = self.mul(low, high);
        self.sqrt(product)
    }

    /// `exp(x) / 2` and `exp(-x) / 2`, without the overflow of `exp(x)`.
    fn half_exponentials(&mut self, x: ValueId) -> [ValueId; 2] {
        let minus = self.neg(x);
        [x, minus].map(|x| {
            let less = self.plus(x, -LN_2);
            self.exp(less)
        })
    }

    fn sinh(&mut self, x: ValueId) -> ValueId {
        let [up, down] = self.half_exponentials(x);
        let large = self.sub(up, down);
        let e = self.f(Unary::ExponentialMinusOne, x);
        let above = self.plus(e, 1.0);
        let ratio = self.div(e, above);
        let sum = self.add(e, ratio);
        let small = self.times(sum, 0.5);
        let size = self.f(Unary::Abs, x);
        let is_small = self.is(ComparisonDirection::Lt, size, 1.0);
        self.select(is_small, small, large)
    }

    /// Returns true for numbers whose square would overflow.
    fn is_huge(&mut self, size: ValueId) -> ValueId {
        let limit = if self.ty.dtype == DType::F64 { 1e150 } else { 1e18 };
        self.is(ComparisonDirection::Gt, size, limit)
    }

    fn acosh(&mut self, x: ValueId) -> ValueId {
        let t = self.plus(x, -1.0);
        let above = self.plus(t, 2.0);
        let product = self.mul(t, above);
        let root = self.sqrt(product);
        let sum = self.add(t, root);
        let near = self.log1p(sum);
        let log = self.log(x);
        let far = self.plus(log, LN_2);
        let is_huge = self.is_huge(x);
        let y = self.select(is_huge, far, near);
        let outside = self.is(ComparisonDirection::Lt, x, 1.0);
        self.set(outside, f64::NAN, y)
    }

    fn asinh(&mut self, x: ValueId) -> ValueId {
        let size = self.f(Unary::Abs, x);
        let square = self.mul(size, size);
        let above = self.plus(square, 1.0);
        let root = self.sqrt(above);
        let below = self.plus(root, 1.0);
        let ratio = self.div(square, below);
        let sum = self.add(size, ratio);
        let near = self.log1p(sum);
        let log = self.log(size);
        let far = self.plus(log, LN_2);
        let is_huge = self.is_huge(size);
        let y = self.select(is_huge, far, near);
        self.with_sign_of(y, x)
    }

    /// Gives a non-negative `y` the sign of `x`; returns `x` itself if `x` is zero.
    fn with_sign_of(&mut self, y: ValueId, x: ValueId) -> ValueId {
        let minus = self.neg(y);
        let negative = self.is(ComparisonDirection::Lt, x, 0.0);
        let signed = self.select(negative, minus, y);
        let zero = self.is(ComparisonDirection::Eq, x, 0.0);
        self.select(zero, x, signed)
    }

    /// erf(x) for |x| below 0.5.
    fn erf_small(&mut self, x: ValueId) -> ValueId {
        let square = self.mul(x, x);
        let (p, q) = (self.polynomial(square, &ERF_P), self.polynomial(square, &ERF_Q));
        let ratio = self.div(p, q);
        self.mul(x, ratio)
    }

    /// erfc(y) for y of at least 0.46875.
    fn erfc_large(&mut self, y: ValueId) -> ValueId {
        // Beyond 30, the result is 0, and the square might overflow.
        let end = self.c(30.0);
        let y = self.f2(Binary::Minimum, y, end);
        let (p, q) = (self.polynomial(y, &ERFC_P), self.polynomial(y, &ERFC_Q));
        let middle = self.div(p, q);
        let one = self.c(1.0);
        let square = self.mul(y, y);
        let inverse = self.div(one, square);
        let (p, q) = (self.polynomial(inverse, &TAIL_P), self.polynomial(inverse, &TAIL_Q));
        let ratio = self.div(p, q);
        let product = self.mul(inverse, ratio);
        let minus = self.neg(product);
        let rest = self.plus(minus, 1.0 / PI.sqrt());
        let tail = self.div(rest, y);
        let is_middle = self.is(ComparisonDirection::Le, y, 4.0);
        let factor = self.select(is_middle, middle, tail);
        // `exp(-y²)`; the exponent is split so that its rounding error is not magnified.
        let sixteenths = self.times(y, 16.0);
        let floor = self.f(Unary::Floor, sixteenths);
        let head = self.times(floor, 1.0 / 16.0);
        let (below, above) = (self.sub(y, head), self.add(y, head));
        let rest = self.mul(below, above);
        let square = self.mul(head, head);
        let [square, rest] = [square, rest].map(|x| {
            let minus = self.neg(x);
            self.exp(minus)
        });
        let exp = self.mul(square, rest);
        self.mul(exp, factor)
    }

    fn erf(&mut self, x: ValueId) -> ValueId {
        let size = self.f(Unary::Abs, x);
        let small = self.erf_small(x);
        let complement = self.erfc_large(size);
        let minus = self.neg(complement);
        let large = self.plus(minus, 1.0);
        let large = self.with_sign_of(large, x);
        let is_small = self.is(ComparisonDirection::Le, size, 0.46875);
        self.select(is_small, small, large)
    }

    fn erfc(&mut self, x: ValueId) -> ValueId {
        let size = self.f(Unary::Abs, x);
        let small = self.erf_small(x);
        let minus = self.neg(small);
        let small = self.plus(minus, 1.0);
        let large = self.erfc_large(size);
        let minus = self.neg(large);
        let mirrored = self.plus(minus, 2.0);
        let negative = self.is(ComparisonDirection::Lt, x, 0.0);
        let large = self.select(negative, mirrored, large);
        let is_small = self.is(ComparisonDirection::Le, size, 0.46875);
        self.select(is_small, small, large)
    }

    fn erf_inv(&mut self, x: ValueId) -> ValueId {
        let a = self.f(Unary::Abs, x);
        let minus = self.neg(a);
        let (low, high) = (self.plus(minus, 1.0), self.plus(a, 1.0));
        let log_low = self.log1p(minus);
        let log_high = self.log(high);
        let sum = self.add(log_low, log_high);
        let w = self.neg(sum);
        let shifted = self.plus(w, -2.5);
        let near = self.polynomial(shifted, &ERF_INV_NEAR);
        let root = self.sqrt(w);
        let shifted = self.plus(root, -3.0);
        let far = self.polynomial(shifted, &ERF_INV_FAR);
        let is_near = self.is(ComparisonDirection::Lt, w, 5.0);
        let p = self.select(is_near, near, far);
        let mut y = self.mul(p, a);
        if self.ty.dtype == DType::F64 {
            let half = self.is(ComparisonDirection::Lt, a, 0.5);
            // Newton's iteration on `erf` or, where its result is near 1, on `erfc`.
            for _ in 0..3 {
                let (erf, erfc) = (self.erf(y), self.erfc(y));
                let (below, above) = (self.sub(a, erf), self.sub(erfc, low));
                let error = self.select(half, below, above);
                let square = self.mul(y, y);
                let exp = self.exp(square);
                let slope = self.times(exp, PI.sqrt() / 2.0);
                let step = self.mul(error, slope);
                y = self.add(y, step);
            }
        }
        let end = self.is(ComparisonDirection::Eq, a, 1.0);
        let y = self.set(end, f64::INFINITY, y);
        let outside = self.is(ComparisonDirection::Gt, a, 1.0);
        let y = self.set(outside, f64::NAN, y);
        self.with_sign_of(y, x)
    }

    /// Intermediate values of Lanczos's formulas: the argument `z`, `t = z + 7.5`, the logarithm of `t`, and
    /// a mask of the arguments below 0.5, for which a reflection formula is used.
    fn lanczos(&mut self, x: ValueId) -> [ValueId; 4] {
        let reflected = self.is(ComparisonDirection::Lt, x, 0.5);
        let (minus, less) = (self.neg(x), self.plus(x, -1.0));
        let z = self.select(reflected, minus, less);
        let t = self.plus(z, 7.5);
        let part = self.times(z, 1.0 / 7.5);
        let log = self.log1p(part);
        let log_t = self.plus(log, 7.5f64.ln());
        [z, t, log_t, reflected]
    }

    /// Lanczos's sum, and the sum of the terms' derivatives.
    fn lanczos_sums(&mut self, z: ValueId) -> [ValueId; 2] {
        let (mut sum, mut slope) = (self.c(LANCZOS_BASE), self.c(0.0));
        for (i, c) in LANCZOS.iter().enumerate() {
            let below = self.plus(z, (i + 1) as f64);
            let c = self.c(*c);
            let term = self.div(c, below);
            sum = self.add(sum, term);
            let term = self.div(term, below);
            slope = self.sub(slope, term);
        }
        [sum, slope]
    }

    fn lgamma(&mut self, x: ValueId) -> ValueId {
        let [z, t, log_t, reflected] = self.lanczos(x);
        let [sum, _] = self.lanczos_sums(z);
        let power = self.plus(z, 0.5);
        let ratio = self.div(t, log_t);
        let difference = self.sub(power, ratio);
        let product = self.mul(difference, log_t);
        let log_sum = self.log(sum);
        let y = self.add(product, log_sum);
        let y = self.plus(y, (2.0 * PI).sqrt().ln());
        let size = self.f(Unary::Abs, x);
        let floor = self.f(Unary::Floor, size);
        let fraction = self.sub(size, floor);
        let minus = self.neg(fraction);
        let rest = self.plus(minus, 1.0);
        let beyond = self.is(ComparisonDirection::Gt, fraction, 0.5);
        let fraction = self.select(beyond, rest, fraction);
        let angle = self.times(fraction, PI);
        let sine = self.f(Unary::Sine, angle);
        let log_sine = self.log(sine);
        let minus = self.neg(log_sine);
        let mirror = self.plus(minus, PI.ln());
        let mirror = self.sub(mirror, y);
        // At a pole, the sine is 0.
        let pole = self.is(ComparisonDirection::Eq, fraction, 0.0);
        let mirror = self.set(pole, f64::INFINITY, mirror);
        let y = self.select(reflected, mirror, y);
        let infinite = self.is(ComparisonDirection::Eq, size, f64::INFINITY);
        self.set(infinite, f64::INFINITY, y)
    }

    fn digamma(&mut self, x: ValueId) -> ValueId {
        let [z, t, log_t, reflected] = self.lanczos(x);
        let [sum, slope] = self.lanczos_sums(z);
        let ratio = self.div(slope, sum);
        let y = self.add(log_t, ratio);
        let g = self.c(7.0);
        let rest = self.div(g, t);
        let y = self.sub(y, rest);
        let half = self.plus(x, 0.5);
        let nearest = self.f(Unary::Floor, half);
        let fraction = self.sub(x, nearest);
        let angle = self.times(fraction, PI);
        let (cosine, sine) = (self.f(Unary::Cosine, angle), self.f(Unary::Sine, angle));
        let cotangent = self.div(cosine, sine);
        let cotangent = self.times(cotangent, PI);
        let mirror = self.sub(y, cotangent);
        let y = self.select(reflected, mirror, y);
        let pole = self.is_pole(x);
        let y = self.set(pole, f64::NAN, y);
        let below = self.is(ComparisonDirection::Eq, x, f64::NEG_INFINITY);
        self.set(below, f64::NAN, y)
    }

    /// Returns true for integers that are not positive.
    fn is_pole(&mut self, x: ValueId) -> ValueId {
        let floor = self.f(Unary::Floor, x);
        let integer = self.b.is(ComparisonDirection::Eq, x, floor);
        let low = self.is(ComparisonDirection::Le, x, 0.0);
        self.both(integer, low)
    }

    /// `Σ (q + k)⁻ˢ` by Euler–Maclaurin summation.
    pub(super) fn zeta(&mut self, s: ValueId, q: ValueId) -> ValueId {
        const TERMS: usize = 10;
        let minus = self.neg(s);
        let mut sum = self.f2(Binary::Power, q, minus);
        for k in 1..TERMS {
            let a = self.plus(q, k as f64);
            let term = self.f2(Binary::Power, a, minus);
            sum = self.add(sum, term);
        }
        let a = self.plus(q, TERMS as f64);
        let power = self.f2(Binary::Power, a, minus);
        let below = self.plus(s, -1.0);
        let product = self.mul(power, a);
        let integral = self.div(product, below);
        let sum = self.add(sum, integral);
        let half = self.times(power, 0.5);
        let mut sum = self.add(sum, half);
        // B₂ⱼ / (2j)! · s (s + 1) … (s + 2j - 2) · a⁻ˢ⁻²ʲ⁺¹
        let ratio = self.div(power, a);
        let mut factor = self.mul(ratio, s);
        let square = self.mul(a, a);
        for (j, bernoulli) in BERNOULLI_BY_FACTORIAL.iter().enumerate() {
            let term = self.times(factor, *bernoulli);
            sum = self.add(sum, term);
            let (one, two) = (self.plus(s, (2 * j + 1) as f64), self.plus(s, (2 * j + 2) as f64));
            let product = self.mul(one, two);
            let grown = self.mul(factor, product);
            factor = self.div(grown, square);
        }
        let floor = self.f(Unary::Floor, s);
        let integer = self.b.is(ComparisonDirection::Eq, s, floor);
        let half = self.times(s, 0.5);
        let floor = self.f(Unary::Floor, half);
        let even = self.b.is(ComparisonDirection::Eq, half, floor);
        let (infinity, nan) = (self.c(f64::INFINITY), self.c(f64::NAN));
        let at_pole = self.select(even, infinity, nan);
        let pole = self.is_pole(q);
        let y = self.select(pole, at_pole, sum);
        let negative = self.is(ComparisonDirection::Lt, q, 0.0);
        let broken = self.f(Unary::Not, integer);
        let undefined = self.both(negative, broken);
        let low = self.is(ComparisonDirection::Lt, s, 1.0);
        let undefined = self.either(undefined, low);
        let y = self.set(undefined, f64::NAN, y);
        let one = self.is(ComparisonDirection::Eq, s, 1.0);
        let y = self.set(one, f64::INFINITY, y);
        let nan = self.b.is(ComparisonDirection::Ne, q, q);
        self.select(nan, q, y)
    }

    pub(super) fn polygamma(&mut self, n: ValueId, x: ValueId) -> ValueId {
        let next = self.plus(n, 1.0);
        let zeta = self.zeta(next, x);
        let log = self.lgamma(next);
        let factorial = self.exp(log);
        let product = self.mul(factorial, zeta);
        let half = self.times(n, 0.5);
        let floor = self.f(Unary::Floor, half);
        let even = self.b.is(ComparisonDirection::Eq, half, floor);
        let minus = self.neg(product);
        let y = self.select(even, minus, product);
        let digamma = self.digamma(x);
        let zero = self.is(ComparisonDirection::Eq, n, 0.0);
        let y = self.select(zero, digamma, y);
        let floor = self.f(Unary::Floor, n);
        let broken = self.b.is(ComparisonDirection::Ne, n, floor);
        let negative = self.is(ComparisonDirection::Lt, n, 0.0);
        let undefined = self.either(broken, negative);
        self.set(undefined, f64::NAN, y)
    }

    fn bessel_i1e(&mut self, x: ValueId) -> ValueId {
        let size = self.f(Unary::Abs, x);
        let quarter = self.times(size, 0.25);
        let t = self.plus(quarter, -1.0);
        let near = self.chebyshev(t, &BESSEL_NEAR);
        let near = self.mul(near, size);
        let sixteen = self.c(16.0);
        let ratio = self.div(sixteen, size);
        let t = self.plus(ratio, -1.0);
        let far = self.chebyshev(t, &BESSEL_FAR);
        let root = self.sqrt(size);
        let far = self.div(far, root);
        let is_near = self.is(ComparisonDirection::Le, size, 8.0);
        let y = self.select(is_near, near, far);
        self.with_sign_of(y, x)
    }
}
