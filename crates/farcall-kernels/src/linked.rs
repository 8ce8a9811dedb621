//! Linked straight-line programs of neighbouring thunks: steps whose places count from the base addresses of
//! a run, with the jumps of loops and choices between them.
//!
//! ```text
//! programs, copies, other kernels, loops ──▶ [`Linked`], in a sequence ──▶ [`Line`] ──a run──▶ [`Code`]
//! ```
//!
//! A line without jumps resolves its places while it runs. A line with loops resolves them once, before its
//! first step, since most of its steps run often.

use std::fmt;
use std::sync::{Arc, OnceLock};

use farcall_ir::DType;

use super::args::{Args, LONG_BYTES, NUMBERS, Place, Prepared};
use super::loops::ir::{Access, LoopOp, Step};
use super::loops::moves::copying;
use super::map::{Operand, VectorLoop};
use super::native::Native;
use super::types::branch;

/// Number of base addresses with dedicated registers in generated code: the first ones. A run with fewer base
/// addresses does not use generated code.
pub(super) const BASES: usize = 3;

/// A step of a kernel relative to base addresses, or a jump.
pub enum Linked {
    /// A loop over elements.
    Step(Step<Address>),
    /// A kernel that is not a straight-line program.
    Kernel(Box<Kernel>),
    /// Jumps this number of steps forward if a `pred` is false. Otherwise an iteration of a loop begins.
    Unless(Address, usize),
    /// Jumps this number of steps forward.
    Skip(usize),
    /// Jumps this number of steps back.
    Back(usize),
    /// Jumps forward by the number of steps listed for an index of this type.
    Choose(Address, DType, Box<[usize]>),
}

/// A kernel with its places.
pub struct Kernel {
    prepared: Arc<Prepared>,
    places: Arc<[Place]>,
    inputs: usize,
}

/// A place without its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    pub(super) base: u32,
    pub(super) offset: u32,
}

impl Address {
    pub(super) fn of(place: Place) -> Option<Address> {
        Some(Address { base: u32::try_from(place.base).ok()?, offset: u32::try_from(place.offset).ok()? })
    }
}

impl Linked {
    /// Adds a copy between two places of the same size, unless they are the same place. `None` if a place is
    /// too far from its base address, or if the copy is so long that interrupts must be able to end it.
    pub fn copy(from: Place, to: Place, list: &mut Vec<Linked>) -> Option<()> {
        let (x, y) = (Address::of(from)?, Address::of(to)?);
        if x != y {
            (to.size < LONG_BYTES).then_some(())?;
            let (code, op, from) = (copying(1), Arc::new(LoopOp::Copy), [(x, Access::Each); 3]);
            list.push(Linked::Step(Step { code, op, from, to: y, n: to.size, bytes: 1 }));
        }
        Some(())
    }

    /// Creates a step that runs a kernel with these places, inputs first. `None` if the kernel should use
    /// several threads.
    pub fn kernel(prepared: &Arc<Prepared>, places: &Arc<[Place]>, inputs: usize) -> Option<Linked> {
        let (prepared, places) = (Arc::clone(prepared), Arc::clone(places));
        (!prepared.is_slow()).then(|| Linked::Kernel(Box::new(Kernel { prepared, places, inputs })))
    }

    /// Adds a loop: runs the body as long as the condition writes true to `pred`.
    pub fn repeat(
        pred: Place,
        condition: Vec<Linked>,
        body: Vec<Linked>,
        list: &mut Vec<Linked>,
    ) -> Option<()> {
        let (pred, back) = (Address::of(pred)?, condition.len() + 1 + body.len());
        list.extend(condition);
        list.push(Linked::Unless(pred, body.len() + 2));
        list.extend(body);
        list.push(Linked::Back(back));
        Some(())
    }

    /// Adds a choice: runs the branch whose number, of this type, is at `index`.
    pub fn choose(
        index: Place,
        dtype: DType,
        branches: Vec<Vec<Linked>>,
        list: &mut Vec<Linked>,
    ) -> Option<()> {
        let index = Address::of(index)?;
        // Each branch ends with a jump.
        let end: usize = 1 + branches.iter().map(|b| b.len() + 1).sum::<usize>();
        let mut begin = 1;
        let begins = branches.iter().map(|branch| {
            begin += branch.len() + 1;
            begin - branch.len() - 1
        });
        let begins: Box<[usize]> = begins.collect();
        let ends: Vec<usize> =
            begins.iter().zip(&branches).map(|(begin, branch)| begin + branch.len()).collect();
        list.push(Linked::Choose(index, dtype, begins));
        for (branch, at) in branches.into_iter().zip(ends) {
            list.extend(branch);
            list.push(Linked::Skip(end - at));
        }
        Some(())
    }
}

/// The environment of a run of a line: accounts for loop iterations, and may end the run.
pub trait Runner {
    /// The reason why a run ends early.
    type Error;

    /// Allows loops to start at most `most` more iterations, and at least one. Returns the number of
    /// iterations that they may start.
    ///
    /// # Errors
    /// If no further iteration is allowed.
    fn turns(&mut self, most: u64) -> Result<u64, Self::Error>;

    /// Returns iterations that loops were allowed to start but did not.
    #[cfg_attr(
        not(all(target_arch = "x86_64", unix)),
        expect(dead_code, reason = "only called after machine code has run")
    )]
    fn unused(&mut self, turns: u64);

    /// Announces a kernel that is not a straight-line program.
    ///
    /// # Errors
    /// If the kernel may not run.
    fn kernel(&mut self) -> Result<(), Self::Error>;
}

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
    /// Same requirements as [`Prepared::run`] for each linked kernel, with its places relative to these base
    /// addresses. The constants have been written, nothing else uses the registers, and the values that jumps
    /// read are initialized.
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
    pub(super) unsafe fn code(&self, bases: &[*mut u8]) -> Code {
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
    pub(super) unsafe fn run(&self) {
        if let Instruction::Step { code, from, to, n } = &self.0 {
            // SAFETY: the caller guarantees the elements of the step (`# Safety` above).
            unsafe { (**code).run(from, *to, *n) };
        }
    }
}

impl Step<Address> {
    /// Runs the step alone.
    ///
    /// # Safety
    /// Same requirements as [`Line::run`]; `bases` points to the first base address.
    #[cfg_attr(not(all(target_arch = "x86_64", unix)), expect(dead_code, reason = "machine code calls it"))]
    pub(super) unsafe fn run(&self, bases: *const *mut u8) {
        // SAFETY: the caller guarantees that the places are in the memory of these base addresses (`# Safety`
        // above).
        let at = |address: Address| unsafe { address_at(address, bases) };
        let from = self.from.map(|(x, access)| Operand::new(at(x), access == Access::Uniform));
        // SAFETY: the caller guarantees the elements of the step (`# Safety` above).
        unsafe { self.code.run(&from, at(self.to), self.n) };
    }
}

/// Returns the memory address of an address relative to base addresses.
///
/// # Safety
/// The base address exists, and its memory reaches to the offset.
#[inline(always)]
pub(super) unsafe fn address_at(address: Address, bases: *const *mut u8) -> *mut u8 {
    // SAFETY: the caller guarantees the base address and the offset (`# Safety` above).
    unsafe { (*bases.add(address.base as usize)).add(address.offset as usize) }
}

impl Kernel {
    /// # Safety
    /// Same requirements as [`Kernel::run`]; `bases` points to the first base address.
    #[cfg_attr(not(all(target_arch = "x86_64", unix)), expect(dead_code, reason = "machine code calls it"))]
    pub(super) unsafe fn run_from(&self, bases: *const *mut u8) {
        let counted = self.places.iter().map(|place| place.base).filter(|base| *base != NUMBERS);
        let count = counted.max().map_or(0, |last| last + 1);
        // SAFETY: the caller guarantees all base addresses that the places use.
        unsafe { self.run(std::slice::from_raw_parts(bases, count)) };
    }

    /// # Safety
    /// Same requirements as [`Prepared::run`].
    unsafe fn run(&self, bases: &[*mut u8]) {
        // SAFETY: the caller guarantees the requirements of `Prepared::run` (`# Safety` above).
        unsafe { self.prepared.run_here(&Args::new(&self.places, self.inputs, bases)) };
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
