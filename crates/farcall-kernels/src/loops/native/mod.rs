//! Machine code for expressions over many elements, and for lines with loops: x86-64 with AVX2.
//!
//! ```text
//! [`Linked`], in a sequence ──compile──▶ machine code ──a run──▶ results, or a reason to end early
//! ```
//!
//! A step with a simple operation ([`LoopOp`](super::ir::LoopOp)) becomes a few instructions. All other steps
//! become calls of their prebuilt loops. Every step writes its result to memory, where all other steps find
//! it. The compiler also tracks which bytes of memory a vector register holds, because they were loaded or
//! stored recently and not overwritten since. Operations on elements are the same as in the loops, so results
//! have the same bits.
//!
//! **The encoder** writes about sixty instructions. Their opcodes are data, so that one function encodes all
//! instructions of the same shape. For 24 operations on four vectors, it takes 0.6 µs, `dynasm-rs` 0.7 µs,
//! `iced-x86` 25 µs, and Cranelift 600 µs. Their code runs equally fast, except for the code of Cranelift:
//! Cranelift has only vectors of 16 bytes, with which the loop takes twice as long. (Mapping executable
//! memory takes another 6 µs.) For more instructions, or for AArch64, `dynasm-rs` would be the choice.
//! Emitters for another processor would replace `assembler` and `emitter`, and would read the same
//! expressions, steps and capabilities.

mod assembler;
mod element_loop;
mod emitter;
mod expression;
mod functions;
mod memory;
mod runs;
mod steps;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::ir::{Address, LoopStep};
use super::linked::{BASES, Linked, address_at};
use super::prepared::PlacedKernel;
use crate::types::branch;
use assembler::{Condition, Jump, Memory, R12, R15, RAX, RBX, RCX, RDI, RDX, RSI, Reg};
use emitter::Emitter;
use memory::Executable;

pub(crate) use element_loop::expression;

/// Maximum number of steps in a line. It keeps the code far below the range of jumps.
const MAX_STEPS: usize = 1 << 14;
/// Maximum size of the code in bytes.
const MAX_CODE_BYTES: usize = 4 << 20;

/// Maximum number of iterations that a loop starts without asking the runner. It bounds the delay until an
/// interrupted run ends.
const MAX_UNCHECKED_TURNS: usize = 64;
/// Maximum number of elements computed in the iterations that a loop starts without asking the runner.
const MAX_UNCHECKED_ELEMENTS: usize = 1 << 14;

/// A compiled line.
pub(crate) struct Native {
    code: Executable,
    /// The steps, whose addresses are in the code.
    _steps: Arc<Vec<Linked>>,
    /// Number of iterations that a loop starts without asking the runner.
    turns: u64,
}

/// The interface between generated code and the runner.
#[repr(C)]
struct Asked {
    /// Number of iterations that loops may still start without asking.
    turns: i64,
    /// Called when an iteration starts and `turns` is used up; returns 1 to end the run.
    turn: unsafe extern "sysv64" fn(*mut Asked) -> u8,
    /// Runs a kernel; returns 1 to end the run.
    kernel: unsafe extern "sysv64" fn(*mut Asked, *const PlacedKernel, *const *mut u8) -> u8,
    /// Number of iterations that `turn` requests at once.
    most: u64,
}

/// Runs a step by its prebuilt loop.
///
/// # Safety
/// Same requirements as [`Line::run`](super::line::Line::run); `bases` points to the first base address.
unsafe extern "sysv64" fn run_step(step: *const LoopStep<Address>, bases: *const *mut u8) {
    // SAFETY: the caller guarantees the memory; the step belongs to the line that runs.
    unsafe { (*step).run(bases) };
}

/// Returns the number of the branch to take.
///
/// # Safety
/// Same requirements as [`run_step`]; `choice` is a [`Linked::Choose`].
unsafe extern "sysv64" fn choose(choice: *const Linked, bases: *const *mut u8) -> usize {
    // SAFETY: the caller guarantees that the choice belongs to the line that runs.
    match unsafe { &*choice } {
        // SAFETY: the caller guarantees that the index is an initialized element of this type.
        Linked::Choose(index, dtype, begins) => unsafe {
            branch(*dtype, address_at(*index, bases), begins.len())
        },
        _ => 0,
    }
}

impl Native {
    /// Compiles a line; `None` if the processor or the system does not support it, or the line is too large.
    /// The code shares the steps, so that their addresses stay valid.
    pub(crate) fn new(steps: &Arc<Vec<Linked>>) -> Option<Native> {
        if steps.len() > MAX_STEPS || !is_x86_feature_detected!("avx2") {
            return None;
        }
        let mut compiler = Compiler::new(steps);
        compiler.all(steps)?;
        let code = &compiler.emitter.assembler.code;
        let elements = steps.iter().map(|step| match step {
            Linked::Step(step) => step.n,
            _ => 0,
        });
        let turns =
            (MAX_UNCHECKED_ELEMENTS / elements.sum::<usize>().max(1)).clamp(1, MAX_UNCHECKED_TURNS) as u64;
        let code = Executable::new(code).filter(|_| code.len() <= MAX_CODE_BYTES)?;
        Some(Native { code, _steps: Arc::clone(steps), turns })
    }

    /// # Safety
    /// Same requirements as [`Native::run`].
    unsafe fn enter(&self, bases: &[*mut u8], asked: *mut Asked) {
        type Entry = unsafe extern "sysv64" fn(*const *mut u8, *mut Asked);
        // SAFETY: the code was generated as a function of this type.
        let entry: Entry = unsafe { std::mem::transmute(self.code.begin()) };
        // SAFETY: same requirements as this function.
        unsafe { entry(bases.as_ptr(), asked) };
    }
}

struct Compiler {
    emitter: Emitter,
    /// True for each step that is the target of a jump.
    targets: Vec<bool>,
    /// Code offset of each step.
    begins: Vec<usize>,
    /// Jumps to steps, each with the number of the step.
    jumps: Vec<(Jump, usize)>,
    /// Jumps to the end, for runs that end early.
    ends: Vec<Jump>,
}

impl Compiler {
    fn new(steps: &[Linked]) -> Compiler {
        let mut targets = vec![false; steps.len() + 1];
        for (i, step) in steps.iter().enumerate() {
            match step {
                Linked::Unless(_, n) | Linked::Skip(n) => targets[i + n] = true,
                Linked::Back(n) => targets[i - n] = true,
                Linked::Choose(_, _, begins) => begins.iter().for_each(|n| targets[i + n] = true),
                Linked::Step(_) | Linked::Kernel(_) => {}
            }
        }
        Compiler {
            emitter: Emitter::default(),
            targets,
            begins: Vec::with_capacity(steps.len() + 1),
            jumps: Vec::new(),
            ends: Vec::new(),
        }
    }

    fn all(&mut self, steps: &[Linked]) -> Option<()> {
        for saved in [RBX, R12, Reg(13), Reg(14), R15] {
            self.emitter.assembler.push(saved);
        }
        self.emitter.assembler.copy(RBX, RDI);
        self.emitter.assembler.copy(R15, RSI);
        for base in 0..BASES {
            self.emitter.assembler.load(
                true,
                Reg(R12.0 + base as u8),
                Memory { base: RBX, offset: 8 * base as i32 },
            );
        }
        for (i, step) in steps.iter().enumerate() {
            self.begin(i);
            self.linked(i, step)?;
        }
        self.begin(steps.len());
        let end = self.emitter.assembler.code.len();
        self.emitter.assembler.clear_upper_halves();
        for saved in [R15, Reg(14), Reg(13), R12, RBX] {
            self.emitter.assembler.pop(saved);
        }
        self.emitter.assembler.end();
        for jump in std::mem::take(&mut self.ends) {
            self.emitter.assembler.land(jump, end)?;
        }
        for (jump, step) in std::mem::take(&mut self.jumps) {
            self.emitter.assembler.land(jump, self.begins[step])?;
        }
        Some(())
    }

    /// Starts the code of a step.
    fn begin(&mut self, step: usize) {
        if self.targets[step] {
            self.emitter.vectors.forget();
        }
        self.begins.push(self.emitter.assembler.code.len());
    }

    fn linked(&mut self, i: usize, linked: &Linked) -> Option<()> {
        match linked {
            Linked::Step(step) => {
                let before = self.emitter.assembler.code.len();
                if self.emitter.step(step).is_none() {
                    self.emitter.assembler.code.truncate(before);
                    self.emitter.assembler.constant(RDI, std::ptr::from_ref(step) as u64);
                    self.emitter.assembler.copy(RSI, RBX);
                    self.call(run_step as *const () as u64);
                }
            }
            Linked::Kernel(kernel) => {
                self.emitter.assembler.copy(RDI, R15);
                self.emitter.assembler.constant(RSI, (&raw const **kernel) as u64);
                self.emitter.assembler.copy(RDX, RBX);
                self.call_asked(std::mem::offset_of!(Asked, kernel))?;
            }
            Linked::Unless(pred, n) => {
                let pred = self.emitter.memory(*pred, 0)?;
                self.emitter.assembler.compare_byte(pred);
                let jump = self.emitter.assembler.jump(Some(Condition::Equal));
                self.jumps.push((jump, i + n));
                let turns = Memory { base: R15, offset: std::mem::offset_of!(Asked, turns) as i32 };
                self.emitter.assembler.count_down(turns);
                let go_on = self.emitter.assembler.jump(Some(Condition::GreaterEqual));
                self.emitter.assembler.copy(RDI, R15);
                self.call_asked(std::mem::offset_of!(Asked, turn))?;
                let here = self.emitter.assembler.code.len();
                self.emitter.assembler.land(go_on, here)?;
            }
            Linked::Skip(n) => {
                let jump = self.emitter.assembler.jump(None);
                self.jumps.push((jump, i + n));
            }
            Linked::Back(n) => {
                let jump = self.emitter.assembler.jump(None);
                self.jumps.push((jump, i - n));
            }
            Linked::Choose(_, _, begins) => {
                self.emitter.assembler.constant(RDI, std::ptr::from_ref(linked) as u64);
                self.emitter.assembler.copy(RSI, RBX);
                self.call(choose as *const () as u64);
                for (number, n) in begins.iter().enumerate() {
                    self.emitter.assembler.constant(RCX, number as u64);
                    self.emitter.assembler.compare_registers(RAX, RCX);
                    let jump = self.emitter.assembler.jump(Some(Condition::Equal));
                    self.jumps.push((jump, i + n));
                }
            }
        }
        Some(())
    }

    /// Emits a call of the function at this address. Arguments are already in their registers.
    fn call(&mut self, function: u64) {
        self.emitter.assembler.clear_upper_halves();
        self.emitter.assembler.constant(RAX, function);
        self.emitter.assembler.call(RAX);
        self.emitter.vectors.forget();
    }

    /// Emits a call of the function at this offset in [`Asked`]. If the function returns 1, the run ends.
    fn call_asked(&mut self, offset: usize) -> Option<()> {
        self.emitter.assembler.clear_upper_halves();
        self.emitter.assembler.load(true, RAX, Memory { base: R15, offset: i32::try_from(offset).ok()? });
        self.emitter.assembler.call(RAX);
        self.emitter.vectors.forget();
        self.emitter.assembler.test_byte();
        let jump = self.emitter.assembler.jump(Some(Condition::NotEqual));
        self.ends.push(jump);
        Some(())
    }
}
