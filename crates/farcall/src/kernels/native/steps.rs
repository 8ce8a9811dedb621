//! The instructions of steps.

use farcall_ir::DType;
use farcall_ir::op::{Binary, Compare, CompareKind, Direction, Unary};

use super::super::linked::{Address, BASES, Step};
use super::super::map::BLOCK;
use super::super::pair::Formula;
use super::super::straight_line::{Kind, Moves, Window};
use super::Compiler;
use super::assembler::{Condition, Last, Memory, Opcode, R12, RAX, RBX, RCX, RDX, RSI, Reg, Vector};

/// Bytes of a vector.
pub(super) const WIDEST: usize = 32;
/// An operand with one element for all is repeated that often.
const _: () = assert!(WIDEST <= BLOCK);
/// Bytes that a step moves at most.
const MOST: usize = 512;

const MOVE: [[Opcode; 2]; 4] = {
    const fn both(prefix: u8) -> [Opcode; 2] {
        [Opcode::new(prefix, 1, 0x10), Opcode::new(prefix, 1, 0x11)]
    }
    // Of 4, 8, 16 and 32 bytes.
    [both(2), both(3), both(0), both(0)]
};
pub(super) const AND: Opcode = Opcode::new(1, 1, 0xdb);
pub(super) const OR: Opcode = Opcode::new(1, 1, 0xeb);
pub(super) const XOR: Opcode = Opcode::new(1, 1, 0xef);
const EQUAL: [Opcode; 2] = [Opcode::new(1, 1, 0x76), Opcode::new(1, 2, 0x29)];
const GREATER: [Opcode; 2] = [Opcode::new(1, 1, 0x66), Opcode::new(1, 2, 0x37)];
const SHIFT_LEFT: Opcode = Opcode::new(1, 2, 0x47);
const SHIFT_RIGHT: Opcode = Opcode::new(1, 2, 0x45);
const SUBTRACT: [Opcode; 2] = [Opcode::new(1, 1, 0xfa), Opcode::new(1, 1, 0xfb)];
/// Words to half of their size.
const PACK_WORDS: Opcode = Opcode::new(1, 1, 0x6b);
const PACK_HALVES: Opcode = Opcode::new(1, 1, 0x63);
const BYTES_ABS: Opcode = Opcode::new(1, 2, 0x1c);
const UPPER: Opcode = Opcode::new(1, 3, 0x39);
const INSERT_UPPER: Opcode = Opcode::new(1, 3, 0x18);
const INSERT_WORD: Opcode = Opcode::new(1, 3, 0x21);
const LOAD_HIGH: Opcode = Opcode::new(0, 1, 0x16);
pub(super) const BLEND: [Opcode; 2] = [Opcode::new(1, 3, 0x4a), Opcode::new(1, 3, 0x4b)];
/// Bytes as numbers of 32 and 64 bits.
const WIDEN_BYTES: [Opcode; 2] = [Opcode::new(1, 2, 0x31), Opcode::new(1, 2, 0x32)];
const BROADCAST: [Opcode; 2] = [Opcode::new(1, 2, 0x18), Opcode::new(1, 2, 0x19)];

/// Bytes in memory that a vector register has as well.
struct Known {
    base: u32,
    begin: u64,
    len: usize,
    register: Vector,
}

/// What the vector registers hold.
#[derive(Default)]
pub(super) struct Vectors {
    known: Vec<Known>,
    /// When each was used last.
    used: [u32; 16],
    now: u32,
    /// A bit for each register that keeps what it has.
    kept: u16,
}

impl Vectors {
    /// Nothing is known.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    fn touch(&mut self, register: Vector) -> Vector {
        self.now += 1;
        self.used[usize::from(register.0)] = self.now;
        register
    }

    fn find(&mut self, base: u32, begin: u64, len: usize) -> Option<Vector> {
        let same = |k: &&Known| k.base == base && k.begin == begin && k.len == len;
        let register = self.known.iter().find(same)?.register;
        Some(self.touch(register))
    }

    /// Keeps what a register has until it is released.
    pub(super) fn keep(&mut self, register: Vector) {
        self.kept |= 1 << register.0;
    }

    pub(super) fn release(&mut self, register: Vector) {
        self.kept &= !(1 << register.0);
    }

    /// How many registers are not kept.
    pub(super) fn free(&self) -> u32 {
        self.kept.count_zeros()
    }

    /// The register that was not used for the longest time, for something new.
    pub(super) fn fresh(&mut self) -> Vector {
        let free = (0..16u8).filter(|r| self.kept >> r & 1 == 0);
        let oldest = free.min_by_key(|r| self.used[usize::from(*r)]).unwrap_or(0);
        self.known.retain(|k| k.register.0 != oldest);
        self.touch(Vector(oldest))
    }

    /// These bytes are written to.
    fn written(&mut self, base: u32, begin: u64, len: u64) {
        self.known.retain(|k| k.base != base || k.begin >= begin + len || k.begin + k.len as u64 <= begin);
    }

    fn knows(&mut self, base: u32, begin: u64, len: usize, register: Vector) {
        self.known.push(Known { base, begin, len, register });
    }
}

/// Parts of `n` elements that a vector has room for: the first element, and how many.
fn parts(n: usize, size: usize) -> impl Iterator<Item = (usize, usize)> {
    let (mut at, mut count) = (0, (WIDEST / size).max(1));
    std::iter::from_fn(move || {
        while count > 1 && at + count > n {
            count /= 2;
        }
        let part = (at, count);
        at += count;
        (part.0 < n).then_some(part)
    })
}

/// Which of the instructions for words of 32 and of 64 bits.
pub(super) fn by_size(size: usize) -> usize {
    usize::from(size == 8)
}

impl Compiler {
    /// Where a byte from an address on is.
    pub(super) fn memory(&mut self, address: Address, byte: usize) -> Option<Memory> {
        let offset = i32::try_from(u64::from(address.offset) + byte as u64).ok()?;
        if (address.base as usize) < BASES {
            return Some(Memory { base: Reg(R12.0 + address.base as u8), offset });
        }
        let at = i32::try_from(8 * u64::from(address.base)).ok()?;
        self.assembler.load(true, RDX, Memory { base: RBX, offset: at });
        Some(Memory { base: RDX, offset })
    }

    /// An operation of two vectors, of so many bytes.
    pub(super) fn op(&mut self, op: Opcode, bytes: usize, x: Vector, y: Vector) -> Vector {
        let to = self.vectors.fresh();
        self.assembler.vector(op, bytes == WIDEST, to, x, Last::Register(y.0));
        to
    }

    pub(super) fn op_byte(&mut self, op: Opcode, bytes: usize, x: Vector, y: Vector, byte: u8) -> Vector {
        let to = self.vectors.fresh();
        self.assembler.vector_byte(op, bytes == WIDEST, to, x, Last::Register(y.0), byte);
        to
    }

    /// An operation of one vector.
    fn map(&mut self, op: Opcode, bytes: usize, x: Vector) -> Vector {
        self.op(op, bytes, Vector(0), x)
    }

    /// Loads 1, 2, 4, 8, 16 or 32 bytes.
    pub(super) fn load_from(&mut self, at: Memory, bytes: usize) -> Vector {
        let to = self.vectors.fresh();
        match bytes {
            1 | 2 => {
                self.assembler.load_narrow(bytes == 2, RAX, at);
                let word = Opcode::new(1, 1, 0x6e);
                self.assembler.vector(word, false, to, Vector(0), Last::Register(RAX.0));
            }
            _ => {
                let op = MOVE[bytes.ilog2() as usize - 2][0];
                self.assembler.vector(op, bytes == WIDEST, to, Vector(0), Last::Memory(at));
            }
        }
        to
    }

    fn load(&mut self, address: Address, byte: usize, bytes: usize) -> Option<Vector> {
        let begin = u64::from(address.offset) + byte as u64;
        if let Some(register) = self.vectors.find(address.base, begin, bytes) {
            return Some(register);
        }
        let at = self.memory(address, byte)?;
        let register = self.load_from(at, bytes);
        self.vectors.knows(address.base, begin, bytes, register);
        Some(register)
    }

    pub(super) fn store_to(&mut self, x: Vector, at: Memory, bytes: usize) {
        let at = Last::Memory(at);
        match bytes {
            1 => self.assembler.vector_byte(Opcode::new(1, 3, 0x14), false, x, Vector(0), at, 0),
            2 => self.assembler.vector_byte(Opcode::new(1, 3, 0x15), false, x, Vector(0), at, 0),
            _ => {
                let op = MOVE[bytes.ilog2() as usize - 2][1];
                self.assembler.vector(op, bytes == WIDEST, x, Vector(0), at);
            }
        }
    }

    fn store(&mut self, x: Vector, address: Address, byte: usize, bytes: usize) -> Option<()> {
        let at = self.memory(address, byte)?;
        self.store_to(x, at, bytes);
        let begin = u64::from(address.offset) + byte as u64;
        self.vectors.written(address.base, begin, bytes as u64);
        self.vectors.knows(address.base, begin, bytes, x);
        Some(())
    }

    /// Part of an operand: so many elements of a size from one on, unless one element is there for all.
    fn operand(
        &mut self,
        (address, one): (Address, bool),
        at: usize,
        count: usize,
        size: usize,
    ) -> Option<Vector> {
        self.load(address, if one { 0 } else { at * size }, count * size)
    }

    pub(super) fn copy(&mut self, step: &Step, bytes: usize) -> Option<()> {
        (bytes <= MOST).then_some(())?;
        for (at, count) in parts(bytes, 1) {
            let x = self.load(step.from[0].0, at, count)?;
            self.store(x, step.to, at, count)?;
        }
        Some(())
    }

    pub(super) fn splat(&mut self, step: &Step, size: usize) -> Option<()> {
        if !matches!(size, 4 | 8) || step.n * size > MOST {
            return None;
        }
        let from = self.memory(step.from[0].0, 0)?;
        let x = self.vectors.fresh();
        self.assembler.vector(BROADCAST[by_size(size)], true, x, Vector(0), Last::Memory(from));
        for (at, count) in parts(step.n, size) {
            self.store(x, step.to, at * size, count * size)?;
        }
        Some(())
    }

    pub(super) fn one(&mut self, step: &Step, formula: Formula) -> Option<()> {
        match formula {
            Formula::Compare(compare, dtype) => return self.compare(step, compare, dtype),
            Formula::Select(size) => return self.select(step, size),
            Formula::Convert(from, to) => return self.convert(step, from, to),
            _ => {}
        }
        let (size, operands) = shape(formula)?;
        self.is_short(step, size)?;
        for (at, count) in parts(step.n, size) {
            let x = self.operand(step.from[0], at, count, size)?;
            let y = if operands == 2 { self.operand(step.from[1], at, count, size)? } else { x };
            let result = self.apply(formula, size, count * size, x, y)?;
            self.store(result, step.to, at * size, count * size)?;
        }
        Some(())
    }

    pub(super) fn two(&mut self, step: &Step, first: Formula, second: Formula, swapped: bool) -> Option<()> {
        let ((size, 2), (other, 2)) = (shape(first)?, shape(second)?) else { return None };
        (size == other).then_some(())?;
        self.is_short(step, size)?;
        for (at, count) in parts(step.n, size) {
            let bytes = count * size;
            let x = self.operand(step.from[0], at, count, size)?;
            let y = self.operand(step.from[1], at, count, size)?;
            let z = self.operand(step.from[2], at, count, size)?;
            let between = self.apply(first, size, bytes, x, y)?;
            let (x, y) = if swapped { (z, between) } else { (between, z) };
            let result = self.apply(second, size, bytes, x, y)?;
            self.store(result, step.to, at * size, bytes)?;
        }
        Some(())
    }

    /// `None` if a step has so many elements that its loop is worth more.
    fn is_short(&self, step: &Step, size: usize) -> Option<()> {
        (step.n * size <= MOST).then_some(())
    }

    /// The result of an operation on so many bytes of elements of a size.
    pub(super) fn apply(
        &mut self,
        formula: Formula,
        size: usize,
        bytes: usize,
        x: Vector,
        y: Vector,
    ) -> Option<Vector> {
        match formula {
            Formula::Binary(op, DType::F32 | DType::F64) => {
                let code = match op {
                    Binary::Add => 0x58,
                    Binary::Multiply => 0x59,
                    Binary::Subtract => 0x5c,
                    Binary::Divide => 0x5e,
                    _ => return None,
                };
                Some(self.op(float(code, size, bytes), bytes, x, y))
            }
            Formula::Binary(op, dtype) => {
                let op = integer(op, dtype)?;
                Some(self.op(op, bytes, x, y))
            }
            Formula::Unary(op, DType::F32 | DType::F64) => match op {
                Unary::Square => Some(self.op(float(0x59, size, bytes), bytes, x, x)),
                Unary::Sqrt if bytes > size => Some(self.map(float(0x51, size, bytes), bytes, x)),
                // Of one element, the rest of the result is that of an operand.
                Unary::Sqrt => Some(self.op(float(0x51, size, bytes), bytes, x, x)),
                Unary::Negate => {
                    let sign = self.ones(bytes, size, true, (8 * size - 1) as u8);
                    Some(self.op(XOR, bytes, x, sign))
                }
                Unary::Abs => {
                    let rest = self.ones(bytes, size, false, 1);
                    Some(self.op(AND, bytes, x, rest))
                }
                _ => None,
            },
            Formula::Unary(op, _) => match op {
                Unary::Not => Some(self.not(x, bytes)),
                Unary::Negate => {
                    let zero = self.op(XOR, bytes, x, x);
                    Some(self.op(SUBTRACT[by_size(size)], bytes, zero, x))
                }
                _ => None,
            },
            Formula::RotateLeft => {
                // 32 − y: 1 is what is left of all ones, shifted right.
                let one = self.ones(bytes, 4, false, 31);
                let width = self.shift(one, bytes, 4, true, 5);
                let back = self.op(SUBTRACT[0], bytes, width, y);
                let low = self.op(SHIFT_RIGHT, bytes, x, back);
                let high = self.op(SHIFT_LEFT, bytes, x, y);
                Some(self.op(OR, bytes, low, high))
            }
            Formula::Compare(..) | Formula::Select(_) | Formula::Convert(..) => None,
        }
    }

    /// All bits of words of a size, shifted.
    fn ones(&mut self, bytes: usize, size: usize, left: bool, by: u8) -> Vector {
        let any = self.vectors.fresh();
        self.assembler.vector(EQUAL[0], bytes == WIDEST, any, any, Last::Register(any.0));
        self.shift(any, bytes, size, left, by)
    }

    fn shift(&mut self, x: Vector, bytes: usize, size: usize, left: bool, by: u8) -> Vector {
        let to = self.vectors.fresh();
        // The operation is in the place of a register, the result in that of the second operand.
        let (op, which) = (Opcode::new(1, 1, 0x72 + by_size(size) as u8), Vector(if left { 6 } else { 2 }));
        self.assembler.vector_byte(op, bytes == WIDEST, which, to, Last::Register(x.0), by);
        to
    }

    fn compare(&mut self, step: &Step, compare: Compare, dtype: DType) -> Option<()> {
        use DType::{Pred, S32, S64, U32, U64};
        let size = dtype.size();
        if step.n == 1 && matches!(dtype, Pred | S32 | U32 | S64 | U64) {
            return self.compare_one(step, compare.direction, dtype);
        }
        self.is_short(step, size)?;
        for (at, count) in parts(step.n, size) {
            let x = self.operand(step.from[0], at, count, size)?;
            let y = self.operand(step.from[1], at, count, size)?;
            let mask = self.mask(compare, dtype, count * size, x, y)?;
            self.preds(mask, count, size, step.to, at)?;
        }
        Some(())
    }

    /// All bits of an element where the comparison holds of so many bytes of elements, and none elsewhere.
    pub(super) fn mask(
        &mut self,
        compare: Compare,
        dtype: DType,
        bytes: usize,
        x: Vector,
        y: Vector,
    ) -> Option<Vector> {
        let size = dtype.size();
        if dtype.is_float() {
            if !matches!(dtype, DType::F32 | DType::F64) || compare.kind == Some(CompareKind::TotalOrder) {
                return None;
            }
            let predicate = match compare.direction {
                Direction::Eq => 0,
                Direction::Ne => 4,
                Direction::Lt => 0x11,
                Direction::Le => 0x12,
                Direction::Ge => 0x1d,
                Direction::Gt => 0x1e,
            };
            return Some(self.compare_floats(size, bytes, x, y, predicate));
        }
        if !matches!(dtype, DType::S32 | DType::U32 | DType::S64 | DType::U64) {
            return None;
        }
        let signed = matches!(dtype, DType::S32 | DType::S64);
        let (op, swapped, not) = match compare.direction {
            Direction::Eq => (EQUAL, false, false),
            Direction::Ne => (EQUAL, false, true),
            Direction::Gt if signed => (GREATER, false, false),
            Direction::Le if signed => (GREATER, false, true),
            Direction::Lt if signed => (GREATER, true, false),
            Direction::Ge if signed => (GREATER, true, true),
            _ => return None,
        };
        let (x, y) = if swapped { (y, x) } else { (x, y) };
        let mask = self.op(op[by_size(size)], bytes, x, y);
        Some(if not { self.not(mask, bytes) } else { mask })
    }

    pub(super) fn compare_floats(
        &mut self,
        size: usize,
        bytes: usize,
        x: Vector,
        y: Vector,
        predicate: u8,
    ) -> Vector {
        self.op_byte(Opcode::new(u8::from(size == 8), 1, 0xc2), bytes, x, y, predicate)
    }

    /// All bits exchanged.
    pub(super) fn not(&mut self, x: Vector, bytes: usize) -> Vector {
        let ones = self.op(EQUAL[0], bytes, x, x);
        self.op(XOR, bytes, x, ones)
    }

    /// Compares two integers.
    fn compare_one(&mut self, step: &Step, direction: Direction, dtype: DType) -> Option<()> {
        let condition = match (direction, matches!(dtype, DType::S32 | DType::S64)) {
            (Direction::Eq, _) => Condition::Equal,
            (Direction::Ne, _) => Condition::NotEqual,
            (Direction::Lt, true) => Condition::Less,
            (Direction::Le, true) => Condition::LessEqual,
            (Direction::Gt, true) => Condition::Greater,
            (Direction::Ge, true) => Condition::GreaterEqual,
            (Direction::Lt, false) => Condition::Below,
            (Direction::Le, false) => Condition::BelowEqual,
            (Direction::Gt, false) => Condition::Above,
            (Direction::Ge, false) => Condition::AboveEqual,
        };
        for (register, (from, _)) in [RAX, RCX].into_iter().zip(step.from) {
            let x = self.memory(from, 0)?;
            match dtype {
                DType::Pred => self.assembler.load_narrow(false, register, x),
                DType::S32 => self.assembler.load_signed(register, x),
                _ => self.assembler.load(dtype.size() == 8, register, x),
            }
        }
        self.assembler.compare_registers(RAX, RCX);
        self.assembler.set(condition, RAX);
        let to = self.memory(step.to, 0)?;
        self.assembler.store_byte(RAX, to);
        self.vectors.written(step.to.base, u64::from(step.to.offset), 1);
        Some(())
    }

    /// Stores masks of so many elements of a size as `pred`s, from this element on.
    fn preds(&mut self, mask: Vector, count: usize, size: usize, to: Address, at: usize) -> Option<()> {
        let mut words = mask;
        let upper = if count * size == WIDEST {
            let upper = self.vectors.fresh();
            self.assembler.vector_byte(UPPER, true, mask, Vector(0), Last::Register(upper.0), 1);
            upper
        } else {
            mask
        };
        if size == 8 {
            words = self.op(PACK_WORDS, 16, words, upper);
            words = self.op(PACK_WORDS, 16, words, words);
        } else {
            words = self.op(PACK_WORDS, 16, words, upper);
        }
        let bytes = self.op(PACK_HALVES, 16, words, words);
        let preds = self.map(BYTES_ABS, 16, bytes);
        self.store(preds, to, at, count)
    }

    fn select(&mut self, step: &Step, size: usize) -> Option<()> {
        matches!(size, 4 | 8).then_some(())?;
        self.is_short(step, size)?;
        for (at, count) in parts(step.n, size) {
            let bytes = count * size;
            let pred = self.operand(step.from[0], at, count, 1)?;
            let x = self.operand(step.from[1], at, count, size)?;
            let y = self.operand(step.from[2], at, count, size)?;
            let holds = self.widened(pred, size, bytes);
            let result = self.choose(holds, size, bytes, x, y);
            self.store(result, step.to, at * size, bytes)?;
        }
        Some(())
    }

    /// The mask for elements of a size that has these `pred`s.
    pub(super) fn widened(&mut self, preds: Vector, size: usize, bytes: usize) -> Vector {
        let words = self.map(WIDEN_BYTES[by_size(size)], bytes, preds);
        let zero = self.op(XOR, bytes, words, words);
        self.op(GREATER[by_size(size)], bytes, words, zero)
    }

    /// Elements of `x` where a mask holds, of `y` elsewhere.
    pub(super) fn choose(&mut self, mask: Vector, size: usize, bytes: usize, x: Vector, y: Vector) -> Vector {
        self.op_byte(BLEND[by_size(size)], bytes, y, x, mask.0 << 4)
    }

    fn convert(&mut self, step: &Step, from: DType, to: DType) -> Option<()> {
        let (narrow, wide) = (from.size(), to.size());
        use DType::{F32, F64, Pred, S32, S64, U32, U64};
        // One after the other, on vectors of results.
        let ops: &[Opcode] = match (from, to) {
            (Pred, S32 | U32) => &WIDEN_BYTES[..1],
            (Pred, S64 | U64) => &WIDEN_BYTES[1..],
            (Pred, F32) => const { &[WIDEN_BYTES[0], Opcode::new(0, 1, 0x5b)] },
            (S32, F32) => const { &[Opcode::new(0, 1, 0x5b)] },
            (S32, F64) => const { &[Opcode::new(2, 1, 0xe6)] },
            (S32, S64 | U64) => const { &[Opcode::new(1, 2, 0x25)] },
            (U32, S64 | U64) => const { &[Opcode::new(1, 2, 0x35)] },
            (F32, F64) => const { &[Opcode::new(0, 1, 0x5a)] },
            (S32 | U32, S32 | U32) | (S64 | U64, S64 | U64) => &[],
            _ => return None,
        };
        self.is_short(step, wide)?;
        for (at, count) in parts(step.n, wide) {
            let mut x = self.operand(step.from[0], at, count, narrow)?;
            for op in ops {
                x = self.map(*op, count * wide, x);
            }
            self.store(x, step.to, at * wide, count * wide)?;
        }
        Some(())
    }

    pub(super) fn moves(&mut self, step: &Step, moves: &[Moves]) -> Option<()> {
        let mut elements: Vec<Element> = Vec::new();
        let size = moves.first()?.size;
        for (moves, (from, _)) in moves.iter().zip(step.from) {
            elements.extend(listed(moves)?.into_iter().map(|[x, to]| Element { from, x, to }));
        }
        elements.sort_by_key(|e| e.to);
        let dense = elements.windows(2).all(|e| e[0].to + size == e[1].to);
        if dense {
            let first = elements.first()?.to;
            for (at, count) in parts(elements.len(), size) {
                let x = self.gathered(&elements[at..at + count], size)?;
                self.store(x, step.to, first + at * size, count * size)?;
            }
            return Some(());
        }
        for Element { from, x, to } in elements {
            let x = self.memory(from, x)?;
            self.assembler.load(size == 8, RAX, x);
            let at = self.memory(step.to, to)?;
            self.assembler.store(size == 8, RAX, at);
            self.vectors.written(step.to.base, u64::from(step.to.offset) + to as u64, size as u64);
        }
        Some(())
    }

    /// Elements from anywhere as a vector: a power of two.
    fn gathered(&mut self, elements: &[Element], size: usize) -> Option<Vector> {
        let next = |e: &[Element]| e[0].from == e[1].from && e[0].x + size == e[1].x;
        if elements.windows(2).all(next) {
            return self.load(elements[0].from, elements[0].x, elements.len() * size);
        }
        if elements.len() * size == WIDEST {
            let (low, high) = elements.split_at(elements.len() / 2);
            let (low, high) = (self.gathered(low, size)?, self.gathered(high, size)?);
            return Some(self.op_byte(INSERT_UPPER, WIDEST, low, high, 1));
        }
        let mut x = self.load(elements[0].from, elements[0].x, size)?;
        for (i, element) in elements.iter().enumerate().skip(1) {
            let from = Last::Memory(self.memory(element.from, element.x)?);
            let to = self.vectors.fresh();
            if size == 8 {
                self.assembler.vector(LOAD_HIGH, false, to, x, from);
            } else {
                self.assembler.vector_byte(INSERT_WORD, false, to, x, from, (i as u8) << 4);
            }
            x = to;
        }
        Some(x)
    }

    pub(super) fn window(&mut self, step: &Step, window: &Window, reads: bool) -> Option<()> {
        let Window { moves, indices } = window;
        let (size, mut pairs) = (moves.size, listed(moves)?);
        pairs.sort_by_key(|pair| pair[1]);
        let shifted = if reads { step.from[0].0 } else { step.to };
        // Where the window is.
        let begin = self.memory(shifted, 0)?;
        self.assembler.address(RSI, begin);
        for (index, (at, _)) in indices.iter().zip(&step.from[1..]) {
            let at = self.memory(*at, 0)?;
            match index.dtype {
                DType::S32 => self.assembler.load_signed(RAX, at),
                DType::U32 => self.assembler.load(false, RAX, at),
                DType::S64 => self.assembler.load(true, RAX, at),
                _ => return None,
            }
            self.assembler.constant(RCX, 0);
            self.assembler.test(RAX);
            self.assembler.copy_if(Condition::Sign, RAX, RCX);
            self.assembler.constant(RCX, index.limit as u64);
            self.assembler.compare_registers(RAX, RCX);
            self.assembler.copy_if(Condition::Greater, RAX, RCX);
            let stride = i32::try_from(index.stride.checked_mul(size)?).ok()?;
            self.assembler.multiply(RAX, RAX, stride);
            self.assembler.add(RSI, RAX);
        }
        let near = |byte: usize| Some(Memory { base: RSI, offset: i32::try_from(byte).ok()? });
        let dense = pairs.windows(2).all(|p| p[0].map(|x| x + size) == p[1]);
        let first = *pairs.first()?;
        if dense {
            for (at, bytes) in parts(pairs.len() * size, 1) {
                let [x, to] = first.map(|byte| byte + at);
                if reads {
                    let x = self.load_from(near(x)?, bytes);
                    self.store(x, step.to, to, bytes)?;
                } else {
                    let x = self.load(step.from[0].0, x, bytes)?;
                    self.store_to(x, near(to)?, bytes);
                }
            }
        } else {
            for [x, to] in pairs {
                let from = if reads { near(x)? } else { self.memory(step.from[0].0, x)? };
                self.assembler.load(size == 8, RAX, from);
                let at = if reads { self.memory(step.to, to)? } else { near(to)? };
                self.assembler.store(size == 8, RAX, at);
                if reads {
                    self.vectors.written(step.to.base, u64::from(step.to.offset) + to as u64, size as u64);
                }
            }
        }
        if !reads {
            // Anywhere in what is updated.
            self.vectors.written(step.to.base, 0, u64::MAX);
        }
        Some(())
    }
}

/// An element that is moved: from where, and its first bytes there and in the result.
struct Element {
    from: Address,
    x: usize,
    to: usize,
}

/// The first bytes of each element of a movement, before and after: of elements that a general register has room for, or
/// else of parts of them.
fn listed(moves: &Moves) -> Option<Vec<[usize; 2]>> {
    let size = moves.size;
    matches!(size, 4 | 8).then_some(())?;
    match &moves.kind {
        Kind::Block { first, bytes } if *bytes <= MOST => {
            Some((0..bytes / size).map(|i| first.map(|x| x + i * size)).collect())
        }
        Kind::List { pairs, .. } if pairs.len() * size <= MOST => Some(pairs.clone()),
        _ => None,
    }
}

/// Bytes of an element, and how many operands there are, of an operation on elements of one type.
pub(super) fn shape(formula: Formula) -> Option<(usize, usize)> {
    use DType::{F32, F64, S32, S64, U32, U64};
    let (dtype, operands) = match formula {
        // A byte of 0 or 1 each.
        Formula::Binary(Binary::And | Binary::Or | Binary::Xor, DType::Pred) => return Some((1, 2)),
        Formula::Binary(_, dtype) => (dtype, 2),
        Formula::Unary(_, dtype) => (dtype, 1),
        Formula::RotateLeft => (U32, 2),
        Formula::Compare(..) | Formula::Select(_) | Formula::Convert(..) => return None,
    };
    matches!(dtype, F32 | F64 | S32 | S64 | U32 | U64).then(|| (dtype.size(), operands))
}

/// Of so many bytes of floating-point numbers of a size.
pub(super) fn float(code: u8, size: usize, bytes: usize) -> Opcode {
    let double = u8::from(size == 8);
    Opcode::new(if bytes == size { 2 + double } else { double }, 1, code)
}

/// An operation on integers.
fn integer(op: Binary, dtype: DType) -> Option<Opcode> {
    let wide = dtype.size() == 8;
    let by_size = |narrow: Opcode, of_64: Opcode| Some(if wide { of_64 } else { narrow });
    match op {
        Binary::Add => by_size(Opcode::new(1, 1, 0xfe), Opcode::new(1, 1, 0xd4)),
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
