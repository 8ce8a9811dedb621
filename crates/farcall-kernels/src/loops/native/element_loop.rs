//! Expressions over many elements as loops over vectors.
//!
//! ```text
//! [`Expr`] ──▶ some constants in registers ─▶ ╭ load operands ─▶ operations ─▶ store ╮ ─▶ the remainder,
//!              (others stay in memory)        ╰───── 32 elements per iteration ◀─────╯    on the stack
//! ```

use std::mem::offset_of;

use super::super::capability::{ExprKind, Lane};
use super::super::expression::{Expr, MAX_OPERANDS};
use super::super::vector::{BLOCK, Operand, VectorLoop};
use super::assembler::{Condition, Memory, R8, R9, RAX, RCX, RDI, RDX, RSI, Reg};
use super::emitter::{Emitter, VECTOR_BYTES};
use super::expression::{Constants, Evaluator, Typed};
use super::memory::Executable;

/// Registers with the addresses of operands.
const OPERAND_REGISTERS: [Reg; MAX_OPERANDS] = [RSI, RDX, RCX];
/// Candidates for the number of constants to keep in registers, in the order in which they are tried. If a
/// number leaves too few registers, the next number is tried. Other constants are read from memory.
const RESIDENT_CONSTANTS: [usize; 3] = [6, 4, 0];

/// The arguments of a compiled loop.
#[repr(C)]
struct Call {
    from: [*const u8; MAX_OPERANDS],
    /// Distance in bytes between the blocks of each operand.
    by_block: [usize; MAX_OPERANDS],
    /// Distance in bytes between the vectors of each operand.
    by_vector: [usize; MAX_OPERANDS],
    to: *mut u8,
    blocks: usize,
    vectors: usize,
    constants: *const Constant,
}

/// A vector of copies of one element.
#[repr(C, align(32))]
#[derive(Clone, Copy)]
struct Constant([u8; VECTOR_BYTES]);

/// A compiled expression.
struct Code {
    instructions: Executable,
    constants: Vec<Constant>,
    /// Element size of each operand in bytes.
    sizes: [usize; MAX_OPERANDS],
    /// Element size of the result in bytes.
    size: usize,
}

/// Compiles the loop of an expression; `None` if the processor or the system does not support it.
pub(crate) fn expression(expr: &Expr) -> Option<VectorLoop> {
    if !is_x86_feature_detected!("avx2") {
        return None;
    }
    let typed = Typed::new(expr, ExprKind::Loop)?;
    let code = RESIDENT_CONSTANTS.iter().find_map(|resident| Loop::new(&typed)?.finish(*resident))?;
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
            // SAFETY: an operand has as many elements as there are results; a repeated operand has at least
            // `rest` copies of its element.
            unsafe {
                let at = from[i].at.add(first * size);
                std::ptr::copy_nonoverlapping(at, vectors[i].0.as_mut_ptr(), rest * size);
            }
            call.from[i] = vectors[i].0.as_ptr();
        }
        (call.to, call.blocks, call.vectors) = (result.0.as_mut_ptr(), 0, 1);
        // SAFETY: the call computes one vector. It only reads `vectors` and only writes `result`.
        unsafe { self.enter(&call) };
        // SAFETY: `rest` results remain to be written.
        unsafe {
            let to = to.add((n - rest) * self.size);
            std::ptr::copy_nonoverlapping(result.0.as_ptr(), to, rest * self.size);
        }
    }

    /// # Safety
    /// The addresses of the call are valid for its blocks and vectors: operands for reads, the result for
    /// writes.
    unsafe fn enter(&self, call: &Call) {
        type Entry = unsafe extern "sysv64" fn(*const Call);
        // SAFETY: the code was generated as a function of this type.
        let entry: Entry = unsafe { std::mem::transmute(self.instructions.begin()) };
        // SAFETY: the caller guarantees the addresses (`# Safety` above).
        unsafe { entry(call) };
    }
}

struct Loop<'a> {
    typed: &'a Typed<'a>,
    /// Size of each operand's elements in bytes; 0 for an operand that the expression does not have.
    sizes: [usize; MAX_OPERANDS],
    emitter: Emitter,
    constants: Constants,
}

impl<'a> Loop<'a> {
    fn new(typed: &'a Typed<'a>) -> Option<Loop<'a>> {
        (typed.result()? == Lane::Elements(typed.size)).then_some(())?;
        let mut constants = Constants { base: Some(R9), ..Constants::default() };
        constants.collect(typed)?;
        let sizes = typed.operands.map(|lane| match lane {
            Some(Lane::Elements(bytes)) => bytes,
            Some(Lane::Pred) => 1,
            None => 0,
        });
        Some(Loop { typed, sizes, emitter: Emitter::default(), constants })
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
            let at = self.constants.find(self.constants.all[i])?;
            let constant = self.emitter.loaded(at)?;
            self.emitter.vectors.keep(constant);
            self.constants.resident.push(constant);
        }
        let size = self.typed.size;
        let vector = VECTOR_BYTES / size;
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
            constant.0.chunks_exact_mut(size).for_each(|x| x.copy_from_slice(&bytes[..size]));
            constant
        };
        Some(Code {
            constants: self.constants.all.iter().map(repeated).collect(),
            instructions: Executable::new(&self.emitter.assembler.code)?,
            sizes: self.sizes,
            size,
        })
    }

    /// Emits the code for the vector that is `k` vectors after the current position of each operand.
    fn vector(&mut self, k: usize) -> Option<()> {
        let Loop { typed, sizes, emitter, constants } = self;
        let mut evaluator = Evaluator { emitter, constants, size: typed.size, bytes: VECTOR_BYTES };
        let result = evaluator.vector(typed, |emitter, x, _| {
            let bytes = sizes[x] * (VECTOR_BYTES / typed.size);
            let at = Memory { base: OPERAND_REGISTERS[x], offset: i32::try_from(k * bytes).ok()? };
            emitter.load_from(at, bytes)
        })?;
        let to = Memory { base: R8, offset: i32::try_from(k * VECTOR_BYTES).ok()? };
        self.emitter.store_to(result, to, VECTOR_BYTES);
        Some(())
    }
}
