//! Chains of operations on many elements as loops over vectors.
//!
//! ```text
//! [`Chain`] ──▶ some constants in registers ─▶ ╭ load operands ─▶ operations ─▶ store ╮ ─▶ the remainder,
//!               (others stay in memory)        ╰───── 32 elements per iteration ◀─────╯    on the stack
//! ```

use std::mem::offset_of;

use farcall_ir::DType;
use farcall_ir::op::{Binary, Unary};

use super::super::chain::{Chain, Kind, MAX_OPERANDS, Member, Source, kinds};
use super::super::map::{BLOCK, Operand, VectorLoop};
use super::super::pair::Formula;
use super::assembler::{Condition, Last, Memory, Opcode, R8, R9, RAX, RCX, RDI, RDX, RSI, Reg, Vector};
use super::emitter::{AND, Emitter, OR, VECTOR_BYTES, XOR, arithmetic, float};
use super::functions;
use super::memory::Executable;

/// Registers with the addresses of operands.
const OPERAND_REGISTERS: [Reg; MAX_OPERANDS] = [RSI, RDX, RCX];
/// Number of registers that operations need for intermediate results.
const MIN_FREE_REGISTERS: u32 = 8;
/// Numbers of constants to keep in registers, in the order in which they are tried. If a number leaves too
/// few registers, the next number is tried. Other constants are read from memory.
const RESIDENT_CONSTANTS: [usize; 3] = [6, 4, 0];

/// The arguments of a compiled loop.
#[repr(C)]
struct Call {
    from: [*const u8; MAX_OPERANDS],
    /// Distance in bytes between blocks, and between vectors.
    by_block: [usize; MAX_OPERANDS],
    by_vector: [usize; MAX_OPERANDS],
    to: *mut u8,
    blocks: usize,
    vectors: usize,
    constants: *const Constant,
}

/// An element, repeated for a vector.
#[repr(C, align(32))]
#[derive(Clone, Copy)]
struct Constant([u8; VECTOR_BYTES]);

/// A compiled chain.
struct Code {
    instructions: Executable,
    constants: Vec<Constant>,
    /// Element size of each operand in bytes.
    sizes: [usize; MAX_OPERANDS],
    /// Element size of the result in bytes.
    size: usize,
}

/// Compiles the loop of a chain; `None` if the processor or the system does not support it.
pub(in super::super) fn chain(chain: &Chain) -> Option<VectorLoop> {
    if !is_x86_feature_detected!("avx2") {
        return None;
    }
    let code = RESIDENT_CONSTANTS.iter().find_map(|resident| Loop::new(chain)?.finish(*resident))?;
    Some(VectorLoop::new(move |from: &[Operand; 3], to, n| {
        // SAFETY: the caller of the loop guarantees operands and results for `n` elements.
        unsafe { code.run(from, to, n) }
    }))
}

impl Code {
    /// # Safety
    /// Same requirements as [`VectorLoop::run`].
    unsafe fn run(&self, from: &[Operand; 3], to: *mut u8, n: usize) {
        let vector = VECTOR_BYTES / self.size;
        let (blocks, vectors, rest) = (n / BLOCK, n % BLOCK / vector, n % vector);
        let mut call = Call {
            from: from.map(|x| x.at),
            by_block: [0; MAX_OPERANDS],
            by_vector: [0; MAX_OPERANDS],
            to,
            blocks,
            vectors,
            constants: self.constants.as_ptr(),
        };
        for (i, size) in self.sizes.iter().enumerate().filter(|(i, _)| !from[*i].is_repeated()) {
            (call.by_block[i], call.by_vector[i]) = (size * BLOCK, size * vector);
        }
        if n >= vector {
            // SAFETY: the blocks and vectors are within the caller's `n` elements.
            unsafe { self.enter(&call) };
        }
        if rest == 0 {
            return;
        }
        let mut vectors = [Constant([0; VECTOR_BYTES]); MAX_OPERANDS];
        let mut result = Constant([0; VECTOR_BYTES]);
        for (i, size) in self.sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
            let first = if from[i].is_repeated() { 0 } else { n - rest };
            // SAFETY: operands have as many elements as there are results, and a repeated operand has at
            // least as many as remain.
            unsafe {
                let at = from[i].at.add(first * size);
                std::ptr::copy_nonoverlapping(at, vectors[i].0.as_mut_ptr(), rest * size);
            }
            call.from[i] = vectors[i].0.as_ptr();
        }
        (call.to, call.blocks, call.vectors) = (result.0.as_mut_ptr(), 0, 1);
        // SAFETY: one vector is computed, from `vectors` to `result`.
        unsafe { self.enter(&call) };
        // SAFETY: `rest` results remain to be written.
        unsafe {
            let to = to.add((n - rest) * self.size);
            std::ptr::copy_nonoverlapping(result.0.as_ptr(), to, rest * self.size);
        }
    }

    /// # Safety
    /// The addresses of the call are valid for its blocks and vectors: operands for reads, the result for writes.
    unsafe fn enter(&self, call: &Call) {
        type Entry = unsafe extern "sysv64" fn(*const Call);
        // SAFETY: the code was generated as a function of this type.
        let entry: Entry = unsafe { std::mem::transmute(self.instructions.begin()) };
        // SAFETY: the caller guarantees the addresses (`# Safety` above).
        unsafe { entry(call) };
    }
}

struct Loop<'a> {
    chain: &'a Chain,
    /// Size of an element of the result in bytes.
    size: usize,
    sizes: [usize; MAX_OPERANDS],
    emitter: Emitter,
    constants: Constants,
    /// For each operand, the last member that uses it.
    last_of_operands: [usize; MAX_OPERANDS],
    last_of_members: Vec<usize>,
}

/// The bytes of a constant of 32 bits.
fn word(bits: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&bits.to_ne_bytes());
    bytes
}

/// The constants of the operations, as the bytes of an element.
#[derive(Default)]
struct Constants {
    all: Vec<[u8; 8]>,
    /// The registers of the first constants.
    resident: Vec<Vector>,
}

impl Constants {
    /// Returns the place of a constant's vector, adding the constant if it is new.
    fn find(&mut self, bytes: [u8; 8]) -> Last {
        let number = self.all.iter().position(|x| *x == bytes).unwrap_or_else(|| {
            self.all.push(bytes);
            self.all.len() - 1
        });
        let memory = Memory { base: R9, offset: (number * VECTOR_BYTES) as i32 };
        self.resident.get(number).map_or(Last::Memory(memory), |x| Last::Register(x.0))
    }
}

/// Returns the constant 1 for elements of four or eight bytes, which some operations need.
fn one(size: usize) -> [u8; 8] {
    if size == 8 { 1f64.to_ne_bytes() } else { word(1f32.to_bits()) }
}

impl<'a> Loop<'a> {
    fn new(chain: &'a Chain) -> Option<Loop<'a>> {
        let Kind::Elements(size) = kinds(chain.members.last()?.formula)?.1 else { return None };
        let mut constants = Constants::default();
        // Constants that would otherwise be loaded for each vector come first.
        for member in &chain.members {
            if let Formula::Unary(op, DType::F32) = member.formula {
                functions::resident(op).iter().for_each(|x| _ = constants.find(word(x.to_bits())));
            }
        }
        let mut sizes = [0; MAX_OPERANDS];
        let mut last_of_operands = [0; MAX_OPERANDS];
        let mut last_of_members: Vec<usize> = (0..chain.members.len()).collect();
        for (i, member) in chain.members.iter().enumerate() {
            let (takes, _) = kinds(member.formula)?;
            (takes.len() == member.from.len()).then_some(())?;
            for (source, kind) in member.from.iter().zip(takes) {
                let bytes = match kind {
                    Kind::Elements(bytes) if bytes == size => bytes,
                    Kind::Elements(_) => return None,
                    Kind::Pred => 1,
                };
                match *source {
                    Source::Constant(_) if kind == Kind::Pred => return None,
                    Source::Constant(bytes) => _ = constants.find(bytes),
                    Source::Operand(x) => {
                        (sizes[x] == 0 || sizes[x] == bytes).then_some(())?;
                        (sizes[x], last_of_operands[x]) = (bytes, i);
                    }
                    Source::Member(x) => last_of_members[x] = i,
                }
            }
            let takes_one = matches!(
                member.formula,
                Formula::Binary(Binary::Maximum | Binary::Minimum, DType::F32 | DType::F64)
                    | Formula::Unary(Unary::Rsqrt, _)
            );
            if takes_one {
                _ = constants.find(one(size));
            }
        }
        Some(Loop {
            chain,
            size,
            sizes,
            emitter: Emitter::default(),
            constants,
            last_of_operands,
            last_of_members,
        })
    }

    fn finish(mut self, resident: usize) -> Option<Code> {
        let field = |offset: usize| Memory { base: RDI, offset: offset as i32 };
        let pointer = |offset: usize, i: usize| field(offset + i * size_of::<usize>());
        for (i, at) in OPERAND_REGISTERS.into_iter().enumerate() {
            self.emitter.assembler.load(true, at, pointer(offset_of!(Call, from), i));
        }
        self.emitter.assembler.load(true, R8, field(offset_of!(Call, to)));
        self.emitter.assembler.load(true, R9, field(offset_of!(Call, constants)));
        for i in 0..self.constants.all.len().min(resident) {
            let constant = self.find_constant(self.constants.all[i]);
            self.emitter.vectors.keep(constant);
            self.constants.resident.push(constant);
        }
        let vector = VECTOR_BYTES / self.size;
        for (count, by, vectors) in [
            (offset_of!(Call, blocks), offset_of!(Call, by_block), BLOCK / vector),
            (offset_of!(Call, vectors), offset_of!(Call, by_vector), 1),
        ] {
            self.emitter.assembler.load(true, RAX, field(count));
            self.emitter.assembler.test(RAX);
            let none = self.emitter.assembler.jump(Some(Condition::Equal));
            let begin = self.emitter.assembler.code.len();
            for k in 0..vectors {
                self.vector(k)?;
            }
            for (i, at) in OPERAND_REGISTERS.into_iter().enumerate().filter(|(i, _)| self.sizes[*i] > 0) {
                self.emitter.assembler.add_from(at, pointer(by, i));
            }
            self.emitter.assembler.add_constant(R8, (vectors * VECTOR_BYTES) as i32);
            self.emitter.assembler.decrement(RAX);
            let again = self.emitter.assembler.jump(Some(Condition::NotEqual));
            self.emitter.assembler.land(again, begin)?;
            let end = self.emitter.assembler.code.len();
            self.emitter.assembler.land(none, end)?;
        }
        self.emitter.assembler.clear_upper_halves();
        self.emitter.assembler.end();
        let repeated = |bytes: &[u8; 8]| {
            let mut constant = Constant([0; VECTOR_BYTES]);
            constant.0.chunks_exact_mut(self.size).for_each(|x| x.copy_from_slice(&bytes[..self.size]));
            constant
        };
        Some(Code {
            constants: self.constants.all.iter().map(repeated).collect(),
            instructions: Executable::new(&self.emitter.assembler.code)?,
            sizes: self.sizes,
            size: self.size,
        })
    }

    /// Returns a register that holds a constant.
    fn find_constant(&mut self, bytes: [u8; 8]) -> Vector {
        self.emitter.loaded(self.constants.find(bytes))
    }

    /// Emits the operations on vector `k` after the current positions of the operands.
    fn vector(&mut self, k: usize) -> Option<()> {
        let chain = self.chain;
        let mut operands: [Option<Vector>; MAX_OPERANDS] = [None; MAX_OPERANDS];
        let mut made: Vec<Vector> = Vec::with_capacity(chain.members.len());
        for (i, member) in chain.members.iter().enumerate() {
            let result = if let Some((op, source, constant)) = self.with_constant(member) {
                let x = self.source(source, k, &made, &mut operands)?;
                self.emitter.op_with(op, VECTOR_BYTES, x, Last::Memory(constant))
            } else {
                let mut from = [Vector(0); 3];
                for (to, source) in from.iter_mut().zip(&member.from) {
                    *to = self.source(*source, k, &made, &mut operands)?;
                }
                self.member(member.formula, from)?
            };
            let ended = |last: &usize| *last == i;
            for register in
                operands.iter().zip(&self.last_of_operands).filter_map(|(x, last)| x.filter(|_| ended(last)))
            {
                self.emitter.vectors.release(register);
            }
            for (x, _) in self.last_of_members[..i].iter().enumerate().filter(|(_, last)| ended(last)) {
                self.emitter.vectors.release(made[x]);
            }
            if self.last_of_members[i] > i {
                self.emitter.vectors.keep(result);
            }
            made.push(result);
        }
        self.emitter.store_to(
            made.pop()?,
            Memory { base: R8, offset: (k * VECTOR_BYTES) as i32 },
            VECTOR_BYTES,
        );
        Some(())
    }

    /// Returns the register of an operand of an operation on vector `k`.
    fn source(
        &mut self,
        source: Source,
        k: usize,
        made: &[Vector],
        operands: &mut [Option<Vector>; MAX_OPERANDS],
    ) -> Option<Vector> {
        let register = match source {
            Source::Member(x) => made[x],
            Source::Constant(bytes) => self.find_constant(bytes),
            Source::Operand(x) => match operands[x] {
                Some(register) => register,
                None => {
                    let register = self.operand(x, k);
                    self.emitter.vectors.keep(register);
                    operands[x] = Some(register);
                    register
                }
            },
        };
        // Enough registers must be left for intermediate results.
        (self.emitter.vectors.free() >= MIN_FREE_REGISTERS).then_some(register)
    }

    /// Describes an operation with a constant in memory: opcode, other operand, and place of the constant.
    fn with_constant(&mut self, member: &Member) -> Option<(Opcode, Source, Memory)> {
        let Formula::Binary(op, DType::F32 | DType::F64) = member.formula else { return None };
        let code = arithmetic(op)?;
        let [x, y] = *member.from.as_slice() else { return None };
        let swaps = matches!(op, Binary::Add | Binary::Multiply);
        let mut in_memory = |source: Source| match source {
            Source::Constant(bytes) => match self.constants.find(bytes) {
                Last::Memory(at) => Some(at),
                Last::Register(_) => None,
            },
            _ => None,
        };
        let (other, at) = match (in_memory(x), in_memory(y)) {
            (_, Some(at)) => (x, at),
            (Some(at), None) if swaps => (y, at),
            _ => return None,
        };
        Some((float(code, self.size, VECTOR_BYTES), other, at))
    }

    /// Vector `k` of an operand; of `pred`s, as a mask.
    fn operand(&mut self, x: usize, k: usize) -> Vector {
        let bytes = self.sizes[x] * (VECTOR_BYTES / self.size);
        let loaded =
            self.emitter.load_from(Memory { base: OPERAND_REGISTERS[x], offset: (k * bytes) as i32 }, bytes);
        match self.sizes[x] {
            1 => self.emitter.widened(loaded, self.size, VECTOR_BYTES),
            _ => loaded,
        }
    }

    fn member(&mut self, formula: Formula, [x, y, z]: [Vector; 3]) -> Option<Vector> {
        let size = self.size;
        let emitter = &mut self.emitter;
        Some(match formula {
            Formula::Unary(op @ (Unary::Exponential | Unary::Tanh), DType::F32) => {
                functions::emit(op, emitter, |bits| self.constants.find(word(bits)), x)?
            }
            Formula::Compare(compare, dtype) => emitter.mask(compare, dtype, VECTOR_BYTES, x, y)?,
            Formula::Select(_) => emitter.choose(x, size, VECTOR_BYTES, y, z),
            Formula::Binary(Binary::And, DType::Pred) => emitter.op(AND, VECTOR_BYTES, x, y),
            Formula::Binary(Binary::Or, DType::Pred) => emitter.op(OR, VECTOR_BYTES, x, y),
            Formula::Binary(Binary::Xor, DType::Pred) => emitter.op(XOR, VECTOR_BYTES, x, y),
            Formula::Convert(DType::S32, DType::F32) => {
                emitter.op(Opcode::new(0, 1, 0x5b), VECTOR_BYTES, Vector(0), x)
            }
            Formula::Binary(op @ (Binary::Maximum | Binary::Minimum), DType::F32 | DType::F64) => {
                self.extreme(op == Binary::Maximum, x, y)
            }
            Formula::Unary(Unary::Rsqrt, DType::F32 | DType::F64) => {
                let root = emitter.op(float(0x51, size, VECTOR_BYTES), VECTOR_BYTES, Vector(0), x);
                let one = self.find_constant(one(size));
                self.emitter.op(float(0x5e, size, VECTOR_BYTES), VECTOR_BYTES, one, root)
            }
            _ => emitter.apply(formula, size, VECTOR_BYTES, x, y)?,
        })
    }

    /// Computes the larger or smaller number like [`Number::max`](super::super::number::Number::max).
    fn extreme(&mut self, larger: bool, x: Vector, y: Vector) -> Vector {
        let size = self.size;
        let of = |code: u8| float(code, size, VECTOR_BYTES);
        // The multiplication by one flushes subnormal numbers if the processor flushes them.
        let one = self.find_constant(one(size));
        let emitter = &mut self.emitter;
        let [x, y] = [x, y].map(|x| {
            let settled = emitter.op(of(0x59), VECTOR_BYTES, x, one);
            emitter.vectors.keep(settled);
            settled
        });
        // If both operands are zeros, these instructions return the second operand. The bitwise operation on
        // both orders therefore gives the sign.
        let code = of(if larger { 0x5f } else { 0x5d });
        let [first, second] = [(x, y), (y, x)].map(|(x, y)| emitter.op(code, VECTOR_BYTES, x, y));
        let number = emitter.op(if larger { AND } else { OR }, VECTOR_BYTES, first, second);
        let nan = emitter.op(of(0x58), VECTOR_BYTES, x, y);
        let unordered = emitter.compare_floats(size, VECTOR_BYTES, x, y, 3);
        emitter.vectors.release(x);
        emitter.vectors.release(y);
        emitter.choose(unordered, size, VECTOR_BYTES, nan, number)
    }
}
