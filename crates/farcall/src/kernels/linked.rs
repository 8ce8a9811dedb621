//! Straight-line programs of neighbouring thunks, linked: steps that count their places from the base addresses of a run,
//! and between them the jumps of loops and choices.
//!
//! ```text
//! programs, copies, other kernels, loops of them ──▶ [`Linked`], one after the other ──▶ [`Line`] ──a run──▶ [`Code`]
//! ```
//!
//! A line without jumps finds its places as it goes. One with loops finds them once, before the first step, since most of
//! its steps run often.

use std::fmt;
use std::sync::{Arc, OnceLock};

use farcall_ir::DType;

use super::args::{Args, LONG_BYTES, NUMBERS, Place, Prepared};
use super::map::Operand;
use super::native::Native;
use super::straight_line::{Loop, What, copies};
use super::types::branch;

/// Base addresses that have registers of their own in instructions: the first ones. A run with fewer has none.
pub(super) const BASES: usize = 3;

/// What a kernel does between its base addresses, or a jump.
pub(crate) enum Linked {
    /// A loop over elements.
    Step(Step),
    /// A kernel that is no straight-line program.
    Kernel(Box<Kernel>),
    /// Goes on so many steps later if a `pred` is false. Otherwise a loop begins another turn.
    Unless(Address, usize),
    /// Goes on so many steps later.
    Skip(usize),
    /// Goes on so many steps before.
    Back(usize),
    /// Goes on so many steps later as a number says, of this type.
    Choose(Address, DType, Box<[usize]>),
}

/// A loop over elements, with its places.
pub(crate) struct Step {
    pub(super) work: Loop,
    /// With those marked that have one element for all.
    pub(super) from: [(Address, bool); 3],
    pub(super) to: Address,
    pub(super) n: usize,
    #[cfg_attr(
        not(all(target_arch = "x86_64", unix)),
        expect(dead_code, reason = "instructions are made of it, where they are")
    )]
    pub(super) what: What,
}

/// A kernel with its places.
pub(crate) struct Kernel {
    prepared: Arc<Prepared>,
    places: Arc<[Place]>,
    inputs: usize,
}

/// A place without its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Address {
    pub(super) base: u32,
    pub(super) offset: u32,
}

impl Address {
    pub(super) fn of(place: Place) -> Option<Address> {
        Some(Address { base: u32::try_from(place.base).ok()?, offset: u32::try_from(place.offset).ok()? })
    }
}

impl Linked {
    /// Adds a copy of the bytes of a place to another one of the same size, unless they are the same; `None` if one of them
    /// is too far from its base address, or interrupts have to end it.
    pub(crate) fn copy(from: Place, to: Place, list: &mut Vec<Linked>) -> Option<()> {
        let (x, y) = (Address::of(from)?, Address::of(to)?);
        if x != y {
            (to.size < LONG_BYTES).then_some(())?;
            let (work, what) = (copies(1), What::Copy(1));
            list.push(Linked::Step(Step { work, from: [(x, false); 3], to: y, n: to.size, what }));
        }
        Some(())
    }

    /// A kernel with these places, inputs first; `None` if it is worth several threads.
    pub(crate) fn kernel(prepared: &Arc<Prepared>, places: &Arc<[Place]>, inputs: usize) -> Option<Linked> {
        let (prepared, places) = (Arc::clone(prepared), Arc::clone(places));
        (!prepared.is_slow()).then(|| Linked::Kernel(Box::new(Kernel { prepared, places, inputs })))
    }

    /// Adds a loop: as long as the condition leaves true at a place, its body.
    pub(crate) fn repeat(
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

    /// Adds a choice: the branch whose number is at a place, of this type.
    pub(crate) fn choose(
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

/// Who runs a line.
pub(crate) trait Runner {
    /// Why the run ends early.
    type Error;

    /// Loops begin other turns: at most so many, and one at least. Returns how many they may begin.
    ///
    /// # Errors
    /// If they may not.
    fn turns(&mut self, most: u64) -> Result<u64, Self::Error>;

    /// Turns that they have not begun.
    #[cfg_attr(
        not(all(target_arch = "x86_64", unix)),
        expect(dead_code, reason = "instructions have turns left")
    )]
    fn unused(&mut self, turns: u64);

    /// A kernel begins that is no straight-line program.
    ///
    /// # Errors
    /// If it may not.
    fn kernel(&mut self) -> Result<(), Self::Error>;
}

/// Steps and jumps that run without anything between them.
pub(crate) struct Line {
    steps: Vec<Linked>,
    jumps: bool,
    /// Interrupts have to end one of its kernels.
    long: bool,
    /// The same as instructions of the processor, if there can be such; made when it first runs.
    native: OnceLock<Option<Native>>,
}

/// A step or a jump whose places are addresses.
pub(crate) struct Code(Instruction);

enum Instruction {
    Step { work: *const Work, from: [Operand; 3], to: *mut u8, n: usize },
    Kernel(*const Kernel),
    Unless(*const u8, usize),
    Skip(usize),
    Back(usize),
    Choose(*const u8, DType, *const [usize]),
}

/// What a [`Loop`] refers to.
type Work = dyn Fn(&[Operand; 3], *mut u8, usize) + Send + Sync;

impl Line {
    pub(crate) fn new(steps: Vec<Linked>) -> Line {
        let mut line = Line { steps: Vec::new(), jumps: false, long: false, native: OnceLock::new() };
        line.append(steps);
        line
    }

    /// Adds steps at its end.
    pub(crate) fn append(&mut self, mut steps: Vec<Linked>) {
        self.jumps |= steps.iter().any(|s| !matches!(s, Linked::Step(_) | Linked::Kernel(_)));
        self.long |= steps.iter().any(|s| matches!(s, Linked::Kernel(kernel) if kernel.prepared.is_long()));
        self.steps.append(&mut steps);
    }

    /// True if one of its kernels may take so long that interrupts have to end it.
    pub(crate) fn is_long(&self) -> bool {
        self.long
    }

    /// Its steps, for another line.
    pub(crate) fn into_steps(self) -> Vec<Linked> {
        self.steps
    }

    /// Runs it; `code` is memory that it may use.
    ///
    /// # Errors
    /// That of the runner.
    ///
    /// # Safety
    /// As [`Prepared::run`], with the places of each kernel that was linked counted from these base addresses; the
    /// constants have been written, nobody else uses the registers, and what jumps read is there.
    #[inline]
    pub(crate) unsafe fn run<R: Runner>(
        &self,
        bases: &[*mut u8],
        code: &mut Vec<Code>,
        runner: &mut R,
    ) -> Result<(), R::Error> {
        if self.jumps {
            if let Some(native) = self.native.get_or_init(|| Native::new(&self.steps))
                && bases.len() >= BASES
            {
                // SAFETY: the caller's promise; the steps are where they were, since a line that runs is not changed.
                return unsafe { native.run(bases, runner) };
            }
            // SAFETY: the caller's promise.
            return unsafe { self.run_with_jumps(bases, code, runner) };
        }
        for step in &self.steps {
            // SAFETY: the caller's promise.
            match unsafe { step.instruction(bases) } {
                // SAFETY: the same.
                Instruction::Step { work, from, to, n } => unsafe { (*work)(&from, to, n) },
                Instruction::Kernel(kernel) => {
                    runner.kernel()?;
                    // SAFETY: the same.
                    unsafe { (*kernel).run(bases) };
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`Line::run`].
    unsafe fn run_with_jumps<R: Runner>(
        &self,
        bases: &[*mut u8],
        code: &mut Vec<Code>,
        runner: &mut R,
    ) -> Result<(), R::Error> {
        code.clear();
        // SAFETY: the caller's promise.
        code.extend(self.steps.iter().map(|step| Code(unsafe { step.instruction(bases) })));
        let mut at = 0;
        while let Some(Code(step)) = code.get(at) {
            // SAFETY: the caller's promise, and the steps are those of this line.
            match step {
                Instruction::Step { work, from, to, n } => {
                    // SAFETY: the caller's promise, and the loop is one of this line.
                    unsafe { (**work)(from, *to, *n) };
                    at += 1;
                }
                Instruction::Kernel(kernel) => {
                    runner.kernel()?;
                    // SAFETY: the same.
                    unsafe { (**kernel).run(bases) };
                    at += 1;
                }
                // SAFETY: a byte.
                Instruction::Unless(pred, steps) if unsafe { pred.read() } == 0 => at += steps,
                Instruction::Unless(..) => {
                    runner.turns(1)?;
                    at += 1;
                }
                Instruction::Skip(steps) => at += steps,
                Instruction::Back(steps) => at -= steps,
                Instruction::Choose(index, dtype, begins) => {
                    // SAFETY: the same, and an element of this type.
                    at += unsafe { (&**begins)[branch(*dtype, *index, begins.len())] };
                }
            }
        }
        Ok(())
    }
}

impl Linked {
    /// # Safety
    /// As [`Line::run`].
    #[inline(always)]
    unsafe fn instruction(&self, bases: &[*mut u8]) -> Instruction {
        // SAFETY: the caller's promise.
        let at = |address: Address| unsafe { address_at(address, bases.as_ptr()) };
        match self {
            Linked::Step(Step { work, from, to, n, what: _ }) => Instruction::Step {
                work: Arc::as_ptr(work),
                from: from.map(|(x, one)| Operand::new(at(x), one)),
                to: at(*to),
                n: *n,
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
    /// Resolves the addresses of the instruction.
    ///
    /// # Safety
    /// As [`Line::run`].
    pub(super) unsafe fn code(&self, bases: &[*mut u8]) -> Code {
        // SAFETY: the caller's promise.
        Code(unsafe { self.instruction(bases) })
    }
}

impl Code {
    /// Runs a loop over elements; jumps and kernels are for [`Line::run`].
    ///
    /// # Safety
    /// As [`Line::run`].
    #[inline(always)]
    pub(super) unsafe fn run(&self) {
        if let Instruction::Step { work, from, to, n } = &self.0 {
            // SAFETY: the caller's promise.
            unsafe { (**work)(from, *to, *n) };
        }
    }
}

impl Step {
    /// Runs it alone.
    ///
    /// # Safety
    /// As [`Line::run`], with the first of the base addresses here.
    #[cfg_attr(not(all(target_arch = "x86_64", unix)), expect(dead_code, reason = "instructions call it"))]
    pub(super) unsafe fn run(&self, bases: *const *mut u8) {
        // SAFETY: the caller's promise.
        let at = |address: Address| unsafe { address_at(address, bases) };
        (self.work)(&self.from.map(|(x, one)| Operand::new(at(x), one)), at(self.to), self.n);
    }
}

/// Where an address is.
///
/// # Safety
/// There is such a base address, of memory that reaches so far.
#[inline(always)]
pub(super) unsafe fn address_at(address: Address, bases: *const *mut u8) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { (*bases.add(address.base as usize)).add(address.offset as usize) }
}

impl Kernel {
    /// # Safety
    /// As [`Kernel::run`], with the first of the base addresses here.
    #[cfg_attr(not(all(target_arch = "x86_64", unix)), expect(dead_code, reason = "instructions call it"))]
    pub(super) unsafe fn run_from(&self, bases: *const *mut u8) {
        let counted = self.places.iter().map(|place| place.base).filter(|base| *base != NUMBERS);
        let count = counted.max().map_or(0, |last| last + 1);
        // SAFETY: the caller's promise: there are all that the places count from.
        unsafe { self.run(std::slice::from_raw_parts(bases, count)) };
    }

    /// # Safety
    /// As [`Prepared::run`].
    unsafe fn run(&self, bases: &[*mut u8]) {
        // SAFETY: the caller's promise.
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
