//! Code generation for steps.

use farcall_ir::DType;
use farcall_ir::op::ComparisonDirection;

use super::super::capability::{ExprKind, Lane};
use super::super::expression::{Expr, ScalarOp};
use super::super::ir::{Access, Address, LoopOp, LoopStep};
use super::super::linked::BASES;
use super::super::vector::BLOCK;
use super::super::vector::moves::{Kind, Moves, Window};
use super::assembler::{Condition, Last, Memory, Opcode, R12, RAX, RBX, RCX, RDX, RSI, Reg, Vector};
use super::emitter::{Emitter, VECTOR_BYTES, by_size};
use super::expression::{Constants, Evaluator, Typed};

/// The memory of a uniform operand holds a block of copies of its element, from which a whole vector is
/// loaded.
const _: () = assert!(VECTOR_BYTES <= BLOCK);
/// Maximum number of bytes that a step moves.
const MAX_STEP_BYTES: usize = 512;
/// Narrows words to half of their size.
const PACK_WORDS: Opcode = Opcode::new(1, 1, 0x6b);
const PACK_HALVES: Opcode = Opcode::new(1, 1, 0x63);
const BYTES_ABS: Opcode = Opcode::new(1, 2, 0x1c);
const UPPER: Opcode = Opcode::new(1, 3, 0x39);
const INSERT_UPPER: Opcode = Opcode::new(1, 3, 0x18);
const INSERT_WORD: Opcode = Opcode::new(1, 3, 0x21);
const LOAD_HIGH: Opcode = Opcode::new(0, 1, 0x16);
const BROADCAST: [Opcode; 2] = [Opcode::new(1, 2, 0x18), Opcode::new(1, 2, 0x19)];

/// Divides `n` elements into parts that fit in a vector. Returns the first element and the number of elements
/// of each part.
fn parts(n: usize, size: usize) -> impl Iterator<Item = (usize, usize)> {
    let (mut at, mut count) = (0, (VECTOR_BYTES / size).max(1));
    std::iter::from_fn(move || {
        while count > 1 && at + count > n {
            count /= 2;
        }
        let part = (at, count);
        at += count;
        (part.0 < n).then_some(part)
    })
}

impl Emitter {
    /// Emits the instructions of a step. `None` if the step must run its prebuilt loop.
    pub(crate) fn step(&mut self, step: &LoopStep<Address>) -> Option<()> {
        // An operand with one element for each row needs the prebuilt loop, which computes row after row.
        if step.from.iter().any(|(_, access)| *access == Access::Row) {
            return None;
        }
        match &*step.op {
            LoopOp::Copy => self.copy(step, step.n.checked_mul(step.bytes)?),
            LoopOp::Splat(_) | LoopOp::Fill => self.splat(step, step.bytes),
            LoopOp::Compute(_, Some(expr)) => self.compute(step, expr),
            LoopOp::Move(moves) => self.moves(step, moves),
            LoopOp::Window(window) if !window.added => self.window(step, window),
            _ => None,
        }
    }

    /// Returns the memory operand for the byte at distance `byte` from an address.
    pub(crate) fn memory(&mut self, address: Address, byte: usize) -> Option<Memory> {
        let offset = i32::try_from(u64::from(address.offset) + byte as u64).ok()?;
        if (address.base as usize) < BASES {
            return Some(Memory { base: Reg(R12.0 + address.base as u8), offset });
        }
        let at = i32::try_from(8 * u64::from(address.base)).ok()?;
        self.assembler.load(true, RDX, Memory { base: RBX, offset: at });
        Some(Memory { base: RDX, offset })
    }

    fn load(&mut self, address: Address, byte: usize, bytes: usize) -> Option<Vector> {
        let begin = u64::from(address.offset) + byte as u64;
        if let Some(register) = self.vectors.find(address.base, begin, bytes) {
            return Some(register);
        }
        let at = self.memory(address, byte)?;
        let register = self.load_from(at, bytes)?;
        self.vectors.knows(address.base, begin, bytes, register);
        Some(register)
    }

    fn store(&mut self, x: Vector, address: Address, byte: usize, bytes: usize) -> Option<()> {
        let at = self.memory(address, byte)?;
        self.store_to(x, at, bytes);
        let begin = u64::from(address.offset) + byte as u64;
        self.vectors.written(address.base, begin, bytes as u64);
        self.vectors.knows(address.base, begin, bytes, x);
        Some(())
    }

    /// Loads `count` elements of an operand from element `at` on, or copies of its repeated element.
    fn operand(
        &mut self,
        (address, access): (Address, Access),
        at: usize,
        count: usize,
        size: usize,
    ) -> Option<Vector> {
        self.load(address, if access == Access::Uniform { 0 } else { at * size }, count * size)
    }

    fn copy(&mut self, step: &LoopStep<Address>, bytes: usize) -> Option<()> {
        (bytes <= MAX_STEP_BYTES).then_some(())?;
        for (at, count) in parts(bytes, 1) {
            let x = self.load(step.from[0].0, at, count)?;
            self.store(x, step.to, at, count)?;
        }
        Some(())
    }

    fn splat(&mut self, step: &LoopStep<Address>, size: usize) -> Option<()> {
        if !matches!(size, 4 | 8) || step.n * size > MAX_STEP_BYTES {
            return None;
        }
        let from = self.memory(step.from[0].0, 0)?;
        let x = self.vectors.fresh()?;
        self.assembler.vector(BROADCAST[by_size(size)], true, x, Vector(0), Last::Memory(from));
        for (at, count) in parts(step.n, size) {
            self.store(x, step.to, at * size, count * size)?;
        }
        Some(())
    }

    fn compute(&mut self, step: &LoopStep<Address>, expr: &Expr) -> Option<()> {
        use DType::{Pred, S32, S64, U32, U64};
        if let (Some(ScalarOp::Compare(compare, dtype @ (Pred | S32 | U32 | S64 | U64))), 1) =
            (expr.op(), step.n)
        {
            return self.compare_one(step, compare.direction, dtype);
        }
        let typed = Typed::new(expr, ExprKind::Step)?;
        let (size, result) = (typed.size, typed.result()?);
        self.is_short(step, size)?;
        for (at, count) in parts(step.n, size) {
            let bytes = count * size;
            let mut constants = Constants::default();
            let mut evaluator = Evaluator { emitter: self, constants: &mut constants, size, bytes };
            let x = evaluator.vector(&typed, |emitter, i, lane| {
                let size = if let Lane::Elements(size) = lane { size } else { 1 };
                emitter.operand(step.from[i], at, count, size)
            })?;
            match result {
                Lane::Pred if size > 1 => self.preds(x, count, size, step.to, at)?,
                _ => self.store(x, step.to, at * size, bytes)?,
            }
        }
        Some(())
    }

    /// Returns `None` if a step has so many elements that running its loop is faster.
    fn is_short(&self, step: &LoopStep<Address>, size: usize) -> Option<()> {
        (step.n * size <= MAX_STEP_BYTES).then_some(())
    }

    /// Compares two integers.
    fn compare_one(
        &mut self,
        step: &LoopStep<Address>,
        direction: ComparisonDirection,
        dtype: DType,
    ) -> Option<()> {
        let condition = match (direction, matches!(dtype, DType::S32 | DType::S64)) {
            (ComparisonDirection::Eq, _) => Condition::Equal,
            (ComparisonDirection::Ne, _) => Condition::NotEqual,
            (ComparisonDirection::Lt, true) => Condition::Less,
            (ComparisonDirection::Le, true) => Condition::LessEqual,
            (ComparisonDirection::Gt, true) => Condition::Greater,
            (ComparisonDirection::Ge, true) => Condition::GreaterEqual,
            (ComparisonDirection::Lt, false) => Condition::Below,
            (ComparisonDirection::Le, false) => Condition::BelowEqual,
            (ComparisonDirection::Gt, false) => Condition::Above,
            (ComparisonDirection::Ge, false) => Condition::AboveEqual,
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

    /// Stores masks of `count` elements as `pred`s, from element `at` on.
    fn preds(&mut self, mask: Vector, count: usize, size: usize, to: Address, at: usize) -> Option<()> {
        let mut words = mask;
        let upper = if count * size == VECTOR_BYTES {
            let upper = self.vectors.fresh()?;
            self.assembler.vector_byte(UPPER, true, mask, Vector(0), Last::Register(upper.0), 1);
            upper
        } else {
            mask
        };
        if size == 8 {
            words = self.op(PACK_WORDS, 16, words, upper)?;
            words = self.op(PACK_WORDS, 16, words, words)?;
        } else {
            words = self.op(PACK_WORDS, 16, words, upper)?;
        }
        let bytes = self.op(PACK_HALVES, 16, words, words)?;
        let preds = self.map(BYTES_ABS, 16, bytes)?;
        self.store(preds, to, at, count)
    }

    fn moves(&mut self, step: &LoopStep<Address>, moves: &[Moves]) -> Option<()> {
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

    /// Loads elements from arbitrary addresses into a vector. Their number is a power of two.
    fn gathered(&mut self, elements: &[Element], size: usize) -> Option<Vector> {
        let next = |e: &[Element]| e[0].from == e[1].from && e[0].x + size == e[1].x;
        if elements.windows(2).all(next) {
            return self.load(elements[0].from, elements[0].x, elements.len() * size);
        }
        if elements.len() * size == VECTOR_BYTES {
            let (low, high) = elements.split_at(elements.len() / 2);
            let (low, high) = (self.gathered(low, size)?, self.gathered(high, size)?);
            return self.op_byte(INSERT_UPPER, VECTOR_BYTES, low, high, 1);
        }
        let mut x = self.load(elements[0].from, elements[0].x, size)?;
        for (i, element) in elements.iter().enumerate().skip(1) {
            let from = Last::Memory(self.memory(element.from, element.x)?);
            let to = self.vectors.fresh()?;
            if size == 8 {
                self.assembler.vector(LOAD_HIGH, false, to, x, from);
            } else {
                self.assembler.vector_byte(INSERT_WORD, false, to, x, from, (i as u8) << 4);
            }
            x = to;
        }
        Some(x)
    }

    fn window(&mut self, step: &LoopStep<Address>, window: &Window) -> Option<()> {
        let Window { moves, indices, reads, .. } = window;
        let reads = *reads;
        let (size, mut pairs) = (moves.size, listed(moves)?);
        pairs.sort_by_key(|pair| pair[1]);
        let shifted = if reads { step.from[0].0 } else { step.to };
        // Computes the address of the window.
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
                    let x = self.load_from(near(x)?, bytes)?;
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
            // The window may be anywhere in the updated tensor, so no bytes of it stay known.
            self.vectors.written(step.to.base, 0, u64::MAX);
        }
        Some(())
    }
}

/// An element that is moved: the address of its tensor, and its byte offsets in the tensor and in the result.
struct Element {
    from: Address,
    x: usize,
    to: usize,
}

/// Returns the byte offsets of each element of a movement, in source and destination. `None` for long
/// movements, and for elements that do not have four or eight bytes, the sizes of general-purpose registers.
fn listed(moves: &Moves) -> Option<Vec<[usize; 2]>> {
    let size = moves.size;
    matches!(size, 4 | 8).then_some(())?;
    match &moves.kind {
        Kind::Block { first, bytes } if *bytes <= MAX_STEP_BYTES => {
            Some((0..bytes / size).map(|i| first.map(|x| x + i * size)).collect())
        }
        Kind::List { pairs, .. } if pairs.len() * size <= MAX_STEP_BYTES => Some(pairs.clone()),
        _ => None,
    }
}
