//! Emission of vector instructions: register allocation, and operations on registers.

use farcall_ir::DType;
use farcall_ir::op::{Binary, Compare, ComparisonDirection, Unary};

use super::super::expression::ScalarOp;
use super::assembler::{Assembler, Last, Memory, Opcode, RAX, Vector};

/// Size of a vector in bytes.
pub(crate) const VECTOR_BYTES: usize = 32;

const MOVE: [[Opcode; 2]; 4] = {
    const fn both(prefix: u8) -> [Opcode; 2] {
        [Opcode::new(prefix, 1, 0x10), Opcode::new(prefix, 1, 0x11)]
    }
    // Loads and stores of 4, 8, 16 and 32 bytes.
    [both(2), both(3), both(0), both(0)]
};
pub(crate) const AND: Opcode = Opcode::new(1, 1, 0xdb);
pub(crate) const OR: Opcode = Opcode::new(1, 1, 0xeb);
pub(crate) const XOR: Opcode = Opcode::new(1, 1, 0xef);
const EQUAL: [Opcode; 2] = [Opcode::new(1, 1, 0x76), Opcode::new(1, 2, 0x29)];
const GREATER: [Opcode; 2] = [Opcode::new(1, 1, 0x66), Opcode::new(1, 2, 0x37)];
const SHIFT_LEFT: Opcode = Opcode::new(1, 2, 0x47);
const SHIFT_RIGHT: Opcode = Opcode::new(1, 2, 0x45);
pub(crate) const ADD: Opcode = Opcode::new(1, 1, 0xfe);
pub(crate) const SUBTRACT: [Opcode; 2] = [Opcode::new(1, 1, 0xfa), Opcode::new(1, 1, 0xfb)];
const BLEND: [Opcode; 2] = [Opcode::new(1, 3, 0x4a), Opcode::new(1, 3, 0x4b)];
/// Widens bytes to integers of 32 and 64 bits.
pub(crate) const WIDEN_BYTES: [Opcode; 2] = [Opcode::new(1, 2, 0x31), Opcode::new(1, 2, 0x32)];

/// Bytes in memory that a vector register also holds.
struct Known {
    base: u32,
    begin: u64,
    len: usize,
    register: Vector,
}

/// Contents and use of the vector registers.
#[derive(Default)]
pub(crate) struct Vectors {
    known: Vec<Known>,
    /// Time of the last use of each register, by the clock `now`.
    used: [u32; 16],
    now: u32,
    /// Bit mask of the registers whose contents are kept.
    kept: u16,
}

impl Vectors {
    /// Forgets all contents.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.kept = 0;
    }

    fn touch(&mut self, register: Vector) -> Vector {
        self.now += 1;
        self.used[usize::from(register.0)] = self.now;
        register
    }

    pub(crate) fn find(&mut self, base: u32, begin: u64, len: usize) -> Option<Vector> {
        let same = |k: &&Known| k.base == base && k.begin == begin && k.len == len;
        let register = self.known.iter().find(same)?.register;
        Some(self.touch(register))
    }

    /// Keeps the contents of a register until it is released. Returns false if the register is already kept.
    pub(crate) fn keep(&mut self, register: Vector) -> bool {
        let before = self.kept;
        self.kept |= 1 << register.0;
        self.kept != before
    }

    pub(crate) fn release(&mut self, register: Vector) {
        self.kept &= !(1 << register.0);
    }

    /// Returns the number of registers that are not kept.
    pub(crate) fn free(&self) -> u32 {
        self.kept.count_zeros()
    }

    /// Returns the least recently used register that is not kept, for a new value; `None` if all are kept.
    pub(crate) fn fresh(&mut self) -> Option<Vector> {
        let free = (0..16u8).filter(|r| self.kept >> r & 1 == 0);
        let oldest = free.min_by_key(|r| self.used[usize::from(*r)])?;
        self.known.retain(|k| k.register.0 != oldest);
        Some(self.touch(Vector(oldest)))
    }

    /// Records that these bytes are written. Registers with bytes relative to other base addresses stay
    /// valid, because the caller of a line guarantees that these are other bytes.
    pub(crate) fn written(&mut self, base: u32, begin: u64, len: u64) {
        self.known.retain(|k| k.base != base || k.begin >= begin + len || k.begin + k.len as u64 <= begin);
    }

    pub(crate) fn knows(&mut self, base: u32, begin: u64, len: usize, register: Vector) {
        self.known.push(Known { base, begin, len, register });
    }
}

/// Returns the index of the instruction for elements of 32 bits (0) or 64 bits (1).
pub(crate) fn by_size(size: usize) -> usize {
    usize::from(size == 8)
}

/// Emits vector instructions.
#[derive(Default)]
pub(crate) struct Emitter {
    pub(crate) assembler: Assembler,
    pub(crate) vectors: Vectors,
}

impl Emitter {
    /// Emits an operation on two vectors of this number of bytes.
    pub(crate) fn op(&mut self, op: Opcode, bytes: usize, x: Vector, y: Vector) -> Option<Vector> {
        self.op_with(op, bytes, x, Last::Register(y.0))
    }

    /// Emits an operation on two vectors, of which the second may be in memory.
    pub(crate) fn op_with(&mut self, op: Opcode, bytes: usize, x: Vector, y: Last) -> Option<Vector> {
        let to = self.vectors.fresh()?;
        self.assembler.vector(op, bytes == VECTOR_BYTES, to, x, y);
        Some(to)
    }

    pub(crate) fn op_byte(
        &mut self,
        op: Opcode,
        bytes: usize,
        x: Vector,
        y: Vector,
        byte: u8,
    ) -> Option<Vector> {
        let to = self.vectors.fresh()?;
        self.assembler.vector_byte(op, bytes == VECTOR_BYTES, to, x, Last::Register(y.0), byte);
        Some(to)
    }

    /// Emits an operation on one vector.
    pub(crate) fn map(&mut self, op: Opcode, bytes: usize, x: Vector) -> Option<Vector> {
        self.op(op, bytes, Vector(0), x)
    }

    /// Emits an operation on three vectors of 32 bytes, the first of which is replaced by the result.
    pub(crate) fn update(&mut self, op: Opcode, x: Vector, y: Vector, z: Last) {
        self.vectors.touch(x);
        self.assembler.vector(op, true, x, y, z);
    }

    /// Loads 1, 2, 4, 8, 16 or 32 bytes.
    pub(crate) fn load_from(&mut self, at: Memory, bytes: usize) -> Option<Vector> {
        let to = self.vectors.fresh()?;
        match bytes {
            1 | 2 => {
                self.assembler.load_narrow(bytes == 2, RAX, at);
                let word = Opcode::new(1, 1, 0x6e);
                self.assembler.vector(word, false, to, Vector(0), Last::Register(RAX.0));
            }
            _ => {
                let op = MOVE[bytes.ilog2() as usize - 2][0];
                self.assembler.vector(op, bytes == VECTOR_BYTES, to, Vector(0), Last::Memory(at));
            }
        }
        Some(to)
    }

    /// Returns the register that holds a vector of 32 bytes. Loads the vector if it is in memory.
    pub(crate) fn loaded(&mut self, x: Last) -> Option<Vector> {
        match x {
            Last::Register(register) => Some(Vector(register)),
            Last::Memory(at) => self.load_from(at, VECTOR_BYTES),
        }
    }

    pub(crate) fn store_to(&mut self, x: Vector, at: Memory, bytes: usize) {
        let at = Last::Memory(at);
        match bytes {
            1 => self.assembler.vector_byte(Opcode::new(1, 3, 0x14), false, x, Vector(0), at, 0),
            2 => self.assembler.vector_byte(Opcode::new(1, 3, 0x15), false, x, Vector(0), at, 0),
            _ => {
                let op = MOVE[bytes.ilog2() as usize - 2][1];
                self.assembler.vector(op, bytes == VECTOR_BYTES, x, Vector(0), at);
            }
        }
    }

    /// Emits an operation on `bytes` bytes of elements of this size. Returns the register of the result.
    pub(crate) fn apply(
        &mut self,
        op: ScalarOp,
        size: usize,
        bytes: usize,
        x: Vector,
        y: Vector,
    ) -> Option<Vector> {
        match op {
            ScalarOp::Binary(op, DType::F32 | DType::F64) => {
                self.op(float(arithmetic(op)?, size, bytes), bytes, x, y)
            }
            ScalarOp::Binary(op, dtype) => {
                let op = integer(op, dtype)?;
                self.op(op, bytes, x, y)
            }
            ScalarOp::Unary(op, DType::F32 | DType::F64) => match op {
                Unary::Square => self.op(float(0x59, size, bytes), bytes, x, x),
                Unary::Sqrt if bytes > size => self.map(float(0x51, size, bytes), bytes, x),
                // For a single element, the instruction copies the rest of the result from an operand.
                Unary::Sqrt => self.op(float(0x51, size, bytes), bytes, x, x),
                Unary::Negate => {
                    let sign = self.ones(bytes, size, true, (8 * size - 1) as u8)?;
                    self.op(XOR, bytes, x, sign)
                }
                Unary::Abs => {
                    let rest = self.ones(bytes, size, false, 1)?;
                    self.op(AND, bytes, x, rest)
                }
                _ => None,
            },
            ScalarOp::Unary(op, _) => match op {
                Unary::Not => self.not(x, bytes),
                Unary::Negate => {
                    let zero = self.op(XOR, bytes, x, x)?;
                    self.op(SUBTRACT[by_size(size)], bytes, zero, x)
                }
                _ => None,
            },
            ScalarOp::RotateLeft => {
                // Computes 32 − y. The constant 32 is made from a word of ones, shifted right to 1 and then
                // left by 5.
                let one = self.ones(bytes, 4, false, 31)?;
                let width = self.shift(one, bytes, 4, true, 5)?;
                let back = self.op(SUBTRACT[0], bytes, width, y)?;
                let low = self.op(SHIFT_RIGHT, bytes, x, back)?;
                let high = self.op(SHIFT_LEFT, bytes, x, y)?;
                self.op(OR, bytes, low, high)
            }
            ScalarOp::Compare(..) | ScalarOp::Select(_) | ScalarOp::Convert(..) => None,
        }
    }

    /// Returns words of `size` bytes in which all bits are set, shifted by `by`.
    fn ones(&mut self, bytes: usize, size: usize, left: bool, by: u8) -> Option<Vector> {
        let any = self.vectors.fresh()?;
        self.assembler.vector(EQUAL[0], bytes == VECTOR_BYTES, any, any, Last::Register(any.0));
        self.shift(any, bytes, size, left, by)
    }

    pub(crate) fn shift(
        &mut self,
        x: Vector,
        bytes: usize,
        size: usize,
        left: bool,
        by: u8,
    ) -> Option<Vector> {
        let (op, which) = (Opcode::new(1, 1, 0x72 + by_size(size) as u8), if left { 6 } else { 2 });
        self.shift_by(op, which, bytes, x, by)
    }

    /// Shifts eight integers of 32 bits to the right, keeping their signs.
    pub(crate) fn shift_signed(&mut self, x: Vector, by: u8) -> Option<Vector> {
        self.shift_by(Opcode::new(1, 1, 0x72), 4, VECTOR_BYTES, x, by)
    }

    fn shift_by(&mut self, op: Opcode, which: u8, bytes: usize, x: Vector, by: u8) -> Option<Vector> {
        let to = self.vectors.fresh()?;
        // The `reg` field extends the opcode, and the second operand is the destination.
        self.assembler.vector_byte(op, bytes == VECTOR_BYTES, Vector(which), to, Last::Register(x.0), by);
        Some(to)
    }

    /// Returns a mask for `bytes` bytes of elements: all bits of an element where the comparison holds, none
    /// elsewhere. `None` for integer comparisons that generated code does not support.
    pub(crate) fn mask(
        &mut self,
        compare: Compare,
        dtype: DType,
        bytes: usize,
        x: Vector,
        y: Vector,
    ) -> Option<Vector> {
        let size = dtype.size();
        if dtype.is_float() {
            let predicate = match compare.direction {
                ComparisonDirection::Eq => 0,
                ComparisonDirection::Ne => 4,
                ComparisonDirection::Lt => 0x11,
                ComparisonDirection::Le => 0x12,
                ComparisonDirection::Ge => 0x1d,
                ComparisonDirection::Gt => 0x1e,
            };
            return self.compare_floats(size, bytes, x, y, predicate);
        }
        let signed = matches!(dtype, DType::S32 | DType::S64);
        let (op, swapped, not) = match compare.direction {
            ComparisonDirection::Eq => (EQUAL, false, false),
            ComparisonDirection::Ne => (EQUAL, false, true),
            ComparisonDirection::Gt if signed => (GREATER, false, false),
            ComparisonDirection::Le if signed => (GREATER, false, true),
            ComparisonDirection::Lt if signed => (GREATER, true, false),
            ComparisonDirection::Ge if signed => (GREATER, true, true),
            _ => return None,
        };
        let (x, y) = if swapped { (y, x) } else { (x, y) };
        let mask = self.op(op[by_size(size)], bytes, x, y)?;
        if not { self.not(mask, bytes) } else { Some(mask) }
    }

    pub(crate) fn compare_floats(
        &mut self,
        size: usize,
        bytes: usize,
        x: Vector,
        y: Vector,
        predicate: u8,
    ) -> Option<Vector> {
        self.op_byte(Opcode::new(u8::from(size == 8), 1, 0xc2), bytes, x, y, predicate)
    }

    /// Inverts all bits.
    pub(crate) fn not(&mut self, x: Vector, bytes: usize) -> Option<Vector> {
        let ones = self.op(EQUAL[0], bytes, x, x)?;
        self.op(XOR, bytes, x, ones)
    }

    /// Widens `pred`s to a mask of elements of this size.
    pub(crate) fn widened(&mut self, preds: Vector, size: usize, bytes: usize) -> Option<Vector> {
        let words = self.map(WIDEN_BYTES[by_size(size)], bytes, preds)?;
        let zero = self.op(XOR, bytes, words, words)?;
        self.op(GREATER[by_size(size)], bytes, words, zero)
    }

    /// Returns elements of `x` where a mask is set, and of `y` elsewhere.
    pub(crate) fn choose(
        &mut self,
        mask: Vector,
        size: usize,
        bytes: usize,
        x: Vector,
        y: Vector,
    ) -> Option<Vector> {
        self.op_byte(BLEND[by_size(size)], bytes, y, x, mask.0 << 4)
    }
}

/// Returns the opcode byte of an operation on floating-point numbers.
pub(crate) fn arithmetic(op: Binary) -> Option<u8> {
    Some(match op {
        Binary::Add => 0x58,
        Binary::Multiply => 0x59,
        Binary::Subtract => 0x5c,
        Binary::Divide => 0x5e,
        _ => return None,
    })
}

/// Returns the opcode for `bytes` bytes of floating-point numbers of this size.
pub(crate) fn float(code: u8, size: usize, bytes: usize) -> Opcode {
    let double = u8::from(size == 8);
    Opcode::new(if bytes == size { 2 + double } else { double }, 1, code)
}

/// Returns the opcode of an operation on integers.
fn integer(op: Binary, dtype: DType) -> Option<Opcode> {
    let wide = dtype.size() == 8;
    let by_size = |narrow: Opcode, of_64: Opcode| Some(if wide { of_64 } else { narrow });
    match op {
        Binary::Add => by_size(ADD, Opcode::new(1, 1, 0xd4)),
        Binary::Subtract => by_size(SUBTRACT[0], SUBTRACT[1]),
        Binary::Multiply if !wide => Some(Opcode::new(1, 2, 0x40)),
        Binary::Maximum | Binary::Minimum => {
            let code = match (op, dtype) {
                (Binary::Maximum, DType::S32) => 0x3d,
                (Binary::Maximum, DType::U32) => 0x3f,
                (Binary::Minimum, DType::S32) => 0x39,
                (Binary::Minimum, DType::U32) => 0x3b,
                _ => return None,
            };
            Some(Opcode::new(1, 2, code))
        }
        Binary::And => Some(AND),
        Binary::Or => Some(OR),
        Binary::Xor => Some(XOR),
        Binary::ShiftLeft => by_size(SHIFT_LEFT, SHIFT_LEFT.wide()),
        Binary::ShiftRightLogical => by_size(SHIFT_RIGHT, SHIFT_RIGHT.wide()),
        Binary::ShiftRightArithmetic if !wide => Some(Opcode::new(1, 2, 0x46)),
        _ => None,
    }
}
