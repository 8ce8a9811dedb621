//! Elementary functions of vectors of `f32`: the same operations as in [`math`], so that results have the
//! same bits.

use std::f32::consts::LOG2_E;

use farcall_ir::op::Unary;

use super::assembler::{Last, Opcode, Vector};
use super::emitter::{ADD, AND, Emitter, OR, SUBTRACT, VECTOR_BYTES};
#[cfg(doc)]
use crate::math;
use crate::math::{EXP_BOUNDS, EXP_REST, LN_2_32, LN_2_REST, ROUND_32, TANH_DOUBLE, TANH_SMALL};

/// Multiply-adds of the registers `x` and `y`, and of `z`, which is a register or in memory. The result
/// replaces `x`.
const X_TIMES_Y_PLUS_Z: Opcode = Opcode::new(1, 2, 0xa8);
const X_TIMES_Z_PLUS_Y: Opcode = Opcode::new(1, 2, 0x98);
const Y_TIMES_Z_PLUS_X: Opcode = Opcode::new(1, 2, 0xb8);
const X_MINUS_Y_TIMES_Z: Opcode = Opcode::new(1, 2, 0xbc);
const Z_MINUS_X_TIMES_Y: Opcode = Opcode::new(1, 2, 0xac);

const PLUS: Opcode = Opcode::new(0, 1, 0x58);
const TIMES: Opcode = Opcode::new(0, 1, 0x59);
const MINUS: Opcode = Opcode::new(0, 1, 0x5c);
const OVER: Opcode = Opcode::new(0, 1, 0x5e);
/// Minimum and maximum. If an operand is NaN, the result is the second operand.
const MINIMUM: Opcode = Opcode::new(0, 1, 0x5d);
const MAXIMUM: Opcode = Opcode::new(0, 1, 0x5f);
const COPY: Opcode = Opcode::new(0, 1, 0x28);
/// Condition of a comparison: less than, and not NaN.
const BELOW: u8 = 0x11;

const SIGN: u32 = 1 << 31;

/// Returns the constants of a function that should stay in registers.
pub(crate) fn resident(op: Unary) -> &'static [f32] {
    match op {
        Unary::Exponential => &[ROUND_32, EXP_BOUNDS[0], EXP_BOUNDS[1]],
        Unary::Tanh => &[ROUND_32, TANH_DOUBLE, TANH_SMALL],
        _ => &[],
    }
}

/// Emits the instructions of a function of `x`, which is preserved, and returns the result. `constant`
/// returns the place of a vector in which each element has the given bits. Eight registers must be free, one
/// of which may hold `x`. `None` for unsupported functions.
pub(crate) fn emit(
    op: Unary,
    emitter: &mut Emitter,
    constant: impl FnMut(u32) -> Option<Last>,
    x: Vector,
) -> Option<Vector> {
    let mut writer = Writer { emitter, constant, kept: Vec::new() };
    writer.keep(x);
    let result = match op {
        Unary::Exponential => writer.exp(x)?,
        Unary::Tanh => writer.tanh(x)?,
        _ => return None,
    };
    for x in std::mem::take(&mut writer.kept) {
        writer.emitter.vectors.release(x);
    }
    Some(result)
}

struct Writer<'a, F> {
    emitter: &'a mut Emitter,
    constant: F,
    /// Registers that the function keeps.
    kept: Vec<Vector>,
}

impl<F: FnMut(u32) -> Option<Last>> Writer<'_, F> {
    /// Keeps the contents of a register until [`done`](Writer::done) is called.
    fn keep(&mut self, x: Vector) -> Vector {
        if self.emitter.vectors.keep(x) {
            self.kept.push(x);
        }
        x
    }

    /// Releases a register whose contents are dead.
    fn done(&mut self, x: Vector) {
        if let Some(i) = self.kept.iter().position(|kept| *kept == x) {
            self.kept.swap_remove(i);
            self.emitter.vectors.release(x);
        }
    }

    fn at(&mut self, x: f32) -> Option<Last> {
        (self.constant)(x.to_bits())
    }

    /// Returns a register with a constant. The register must not be changed.
    fn load(&mut self, x: f32) -> Option<Vector> {
        let at = self.at(x)?;
        self.emitter.loaded(at)
    }

    /// Returns a constant in a new register, which may be changed.
    fn start(&mut self, x: f32) -> Option<Vector> {
        match self.at(x)? {
            Last::Register(register) => self.copy(Vector(register)),
            Last::Memory(at) => self.emitter.load_from(at, VECTOR_BYTES),
        }
    }

    fn op(&mut self, op: Opcode, x: Vector, y: Vector) -> Option<Vector> {
        self.emitter.op(op, VECTOR_BYTES, x, y)
    }

    fn op_from(&mut self, op: Opcode, x: Vector, y: f32) -> Option<Vector> {
        self.bits_from(op, x, y.to_bits())
    }

    fn bits_from(&mut self, op: Opcode, x: Vector, y: u32) -> Option<Vector> {
        let at = (self.constant)(y)?;
        self.emitter.op_with(op, VECTOR_BYTES, x, at)
    }

    fn copy(&mut self, x: Vector) -> Option<Vector> {
        self.emitter.map(COPY, VECTOR_BYTES, x)
    }

    fn update(&mut self, op: Opcode, x: Vector, y: Vector, z: Vector) {
        self.emitter.update(op, x, y, Last::Register(z.0));
    }

    fn update_from(&mut self, op: Opcode, x: Vector, y: Vector, z: f32) -> Option<()> {
        let at = self.at(z)?;
        self.emitter.update(op, x, y, at);
        Some(())
    }

    /// Emits `x · log₂ e`, rounded to an integer that is in the low bits of the result.
    fn shifted(&mut self, x: Vector) -> Option<Vector> {
        let shifted = self.start(ROUND_32)?;
        self.update_from(Y_TIMES_Z_PLUS_X, shifted, x, LOG2_E)?;
        Some(self.keep(shifted))
    }

    /// Emits `eʳ - 1`.
    fn exp_rest(&mut self, r: Vector) -> Option<Vector> {
        self.keep(r);
        let [first, rest @ ..] = EXP_REST;
        let q = self.start(first)?;
        for c in rest {
            self.update_from(X_TIMES_Y_PLUS_Z, q, r, c)?;
        }
        let p = self.op(TIMES, r, r)?;
        self.update(X_TIMES_Y_PLUS_Z, p, q, r);
        self.done(r);
        Some(self.keep(p))
    }

    /// Emits `2^(k - by)` for integers `k` of 32 bits.
    fn two_to_the(&mut self, k: Vector, by: u32) -> Option<Vector> {
        let exponent = self.bits_from(ADD, k, 127u32.wrapping_sub(by))?;
        self.emitter.shift(exponent, VECTOR_BYTES, 4, true, 23)
    }

    fn exp(&mut self, x: Vector) -> Option<Vector> {
        let low = self.load(EXP_BOUNDS[0])?;
        let x = self.op(MAXIMUM, low, x)?;
        let high = self.load(EXP_BOUNDS[1])?;
        let r = self.op(MINIMUM, high, x)?;
        self.keep(r);
        let shifted = self.shifted(r)?;
        let k = self.op_from(MINUS, shifted, ROUND_32)?;
        self.update_from(X_MINUS_Y_TIMES_Z, r, k, LN_2_32)?;
        self.update_from(X_MINUS_Y_TIMES_Z, r, k, LN_2_REST)?;
        let p = self.exp_rest(r)?;
        let k = self.bits_from(SUBTRACT[0], shifted, ROUND_32.to_bits())?;
        let half = self.emitter.shift_signed(k, 1)?;
        let other = self.op(SUBTRACT[0], k, half)?;
        let (first, second) = (self.two_to_the(half, 0)?, self.two_to_the(other, 0)?);
        let y = self.op_from(PLUS, p, 1.0)?;
        let y = self.op(TIMES, y, first)?;
        self.op(TIMES, y, second)
    }

    fn tanh(&mut self, x: Vector) -> Option<Vector> {
        let a = self.bits_from(AND, x, !SIGN)?;
        self.keep(a);
        let double = self.op(PLUS, a, a)?;
        let most = self.load(TANH_DOUBLE)?;
        let t = self.op(MINIMUM, most, double)?;
        self.keep(t);
        let shifted = self.shifted(t)?;
        let round = self.load(ROUND_32)?;
        let r = self.op(MINUS, round, shifted)?;
        self.update_from(X_TIMES_Z_PLUS_Y, r, t, LN_2_32)?;
        self.done(t);
        let m = self.exp_rest(r)?;
        let power = self.two_to_the(shifted, ROUND_32.to_bits())?;
        self.done(shifted);
        let less = self.op_from(MINUS, power, 1.0)?;
        self.update(X_TIMES_Y_PLUS_Z, m, power, less);
        let below = self.op_from(PLUS, m, 2.0)?;
        let y = self.op(OVER, m, below)?;
        let half = self.op_from(TIMES, m, 0.5)?;
        self.done(m);
        self.keep(y);
        self.keep(half);
        let small = self.copy(y)?;
        self.update(Z_MINUS_X_TIMES_Y, small, half, half);
        self.done(half);
        self.keep(small);
        let bound = self.load(TANH_SMALL)?;
        let is_small = self.emitter.compare_floats(4, VECTOR_BYTES, a, bound, BELOW)?;
        let y = self.emitter.choose(is_small, 4, VECTOR_BYTES, small, y)?;
        // The sign bit of `y` is not set, so the operation OR gives `y` the sign of `x`.
        let sign = self.bits_from(AND, x, SIGN)?;
        self.op(OR, y, sign)
    }
}
