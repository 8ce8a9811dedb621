//! Lines: linked steps of neighboring thunks that run without overhead between them.
//!
//! ```text
//! [`Linked`], in a sequence ──▶ [`Line`] ──a run──▶ [`Code`], or machine code
//! ```
//!
//! A line without jumps resolves its places while it runs. A line with jumps runs as machine code where code
//! can be generated. Otherwise, it resolves all places before its first step, since most steps of a loop run
//! often.

use std::fmt;
use std::sync::{Arc, OnceLock};

use farcall_ir::DType;

use super::ir::{Access, Address};
use super::linked::{BASES, Kernel, Linked, Runner, address_at};
use super::native::Native;
use super::vector::{Operand, VectorLoop};
use crate::types::branch;

/// Steps and jumps that run without overhead between them.
pub struct Line {
    /// Shared with the machine code, which has their addresses.
    steps: Arc<Vec<Linked>>,
    jumps: bool,
    /// True if a kernel takes so long that interrupts must be able to end it.
    long: bool,
    /// The line as machine code, where code can be generated. Created by the first run.
    native: OnceLock<Option<Native>>,
}

/// A step or a jump whose places are resolved to addresses.
pub struct Code(Instruction);

enum Instruction {
    Step { code: *const VectorLoop, from: [Operand; 3], to: *mut u8, n: usize },
    Kernel(*const Kernel),
    Unless(*const u8, usize),
    Skip(usize),
    Back(usize),
    Choose(*const u8, DType, *const [usize]),
}

impl Line {
    /// Creates a line of these steps and jumps.
    pub fn new(steps: Vec<Linked>) -> Line {
        let jumps = steps.iter().any(|s| !matches!(s, Linked::Step(_) | Linked::Kernel(_)));
        let long = steps.iter().any(|s| matches!(s, Linked::Kernel(kernel) if kernel.prepared.is_long()));
        Line { steps: Arc::new(steps), jumps, long, native: OnceLock::new() }
    }

    /// Returns true if a kernel of the line may take so long that interrupts must be able to end it.
    pub fn is_long(&self) -> bool {
        self.long
    }

    /// Returns the steps, for use in another line; `None` if the line has run as machine code.
    pub fn into_steps(self) -> Option<Vec<Linked>> {
        Arc::into_inner(self.steps)
    }

    /// Runs the line; `code` is memory for its use.
    ///
    /// # Errors
    /// The error of the runner.
    ///
    /// # Safety
    /// Same requirements as [`PreparedKernel::run`](crate::PreparedKernel::run) for each linked kernel, with
    /// its places relative to these base addresses. The constants have been written, nothing else uses the
    /// registers, and the values that jumps read are initialized. Memory that the line writes relative to one
    /// base address is not accessed relative to another: machine code keeps values in processor registers,
    /// and identifies them by base and offset.
    #[inline]
    pub unsafe fn run<R: Runner>(
        &self,
        bases: &[*mut u8],
        code: &mut Vec<Code>,
        runner: &mut R,
    ) -> Result<(), R::Error> {
        if self.jumps {
            if let Some(native) = self.native.get_or_init(|| Native::new(&self.steps))
                && bases.len() >= BASES
            {
                // SAFETY: the caller guarantees the memory (`# Safety` above).
                return unsafe { native.run(bases, runner) };
            }
            // SAFETY: same requirements as this function.
            return unsafe { self.run_with_jumps(bases, code, runner) };
        }
        for step in self.steps.iter() {
            // SAFETY: the caller guarantees that the places are in the memory of these base addresses.
            match unsafe { step.instruction(bases) } {
                // SAFETY: the caller guarantees the elements of each step.
                Instruction::Step { code, from, to, n } => unsafe { (*code).run(&from, to, n) },
                Instruction::Kernel(kernel) => {
                    runner.kernel()?;
                    // SAFETY: the caller guarantees the requirements of each kernel.
                    unsafe { (*kernel).run(bases) };
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// # Safety
    /// Same requirements as [`Line::run`].
    unsafe fn run_with_jumps<R: Runner>(
        &self,
        bases: &[*mut u8],
        code: &mut Vec<Code>,
        runner: &mut R,
    ) -> Result<(), R::Error> {
        code.clear();
        // SAFETY: the caller guarantees that the places are in the memory of these base addresses (`# Safety`
        // above).
        code.extend(self.steps.iter().map(|step| Code(unsafe { step.instruction(bases) })));
        let mut at = 0;
        while let Some(Code(step)) = code.get(at) {
            // SAFETY: the caller guarantees the requirements of `Line::run`; the steps belong to this line.
            match step {
                Instruction::Step { code, from, to, n } => {
                    // SAFETY: the caller guarantees the elements of the step (`# Safety` above), and the loop
                    // belongs to a step of this line.
                    unsafe { (**code).run(from, *to, *n) };
                    at += 1;
                }
                Instruction::Kernel(kernel) => {
                    runner.kernel()?;
                    // SAFETY: the caller guarantees the requirements of the kernel, which belongs to this
                    // line.
                    unsafe { (**kernel).run(bases) };
                    at += 1;
                }
                // SAFETY: the caller guarantees that the `pred` is initialized; a `pred` is a byte.
                Instruction::Unless(pred, steps) if unsafe { pred.read() } == 0 => at += steps,
                Instruction::Unless(..) => {
                    runner.turns(1)?;
                    at += 1;
                }
                Instruction::Skip(steps) => at += steps,
                Instruction::Back(steps) => at -= steps,
                Instruction::Choose(index, dtype, begins) => {
                    // SAFETY: the caller guarantees that the index is an initialized element of this type.
                    at += unsafe { (&**begins)[branch(*dtype, *index, begins.len())] };
                }
            }
        }
        Ok(())
    }
}

impl Linked {
    /// # Safety
    /// Same requirements as [`Line::run`].
    #[inline(always)]
    unsafe fn instruction(&self, bases: &[*mut u8]) -> Instruction {
        // SAFETY: the caller guarantees that the places are in the memory of these base addresses (`# Safety`
        // above).
        let at = |address: Address| unsafe { address_at(address, bases.as_ptr()) };
        match self {
            Linked::Step(step) => Instruction::Step {
                code: &raw const step.code,
                from: step.from.map(|(x, access)| Operand::new(at(x), access == Access::Uniform)),
                to: at(step.to),
                n: step.n,
            },
            Linked::Kernel(kernel) => Instruction::Kernel(&raw const **kernel),
            Linked::Unless(pred, steps) => Instruction::Unless(at(*pred), *steps),
            Linked::Skip(steps) => Instruction::Skip(*steps),
            Linked::Back(steps) => Instruction::Back(*steps),
            Linked::Choose(index, dtype, begins) => {
                Instruction::Choose(at(*index), *dtype, &raw const **begins)
            }
        }
    }
}

impl Linked {
    /// Resolves the places to addresses.
    ///
    /// # Safety
    /// Same requirements as [`Line::run`].
    pub(crate) unsafe fn code(&self, bases: &[*mut u8]) -> Code {
        // SAFETY: the caller guarantees the requirements of `Line::run` (`# Safety` above).
        Code(unsafe { self.instruction(bases) })
    }
}

impl Code {
    /// Runs a loop over elements. Jumps and kernels do nothing here; [`Line::run`] handles them.
    ///
    /// # Safety
    /// Same requirements as [`Line::run`].
    #[inline(always)]
    pub unsafe fn run(&self) {
        if let Instruction::Step { code, from, to, n } = &self.0 {
            // SAFETY: the caller guarantees the elements of the step (`# Safety` above).
            unsafe { (**code).run(from, *to, *n) };
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("steps", &self.steps.len()).field("jumps", &self.jumps).finish()
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}
