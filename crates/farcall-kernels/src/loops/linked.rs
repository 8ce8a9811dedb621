//! Linked straight-line programs of neighboring thunks. A linked step addresses memory by an offset from one
//! of the run's base addresses. Loops and choices are jumps between steps.
//!
//! ```text
//! programs, copies, other kernels, loops ──▶ [`Linked`], in a sequence ──▶ `Line`
//! ```

use std::sync::Arc;

use farcall_ir::DType;

use super::ir::{Access, Address, LoopOp, LoopStep};
use super::prepared::{LONG_BYTES, PlacedKernel, PreparedKernel};
use super::straight_line::{Linking, StraightLine};
use super::vector::Operand;
use super::vector::moves::copying;
use crate::args::Place;

/// Number of base addresses, counted from the first, that generated code keeps in processor registers. A run
/// with fewer base addresses does not use generated code.
pub(crate) const BASES: usize = 3;

/// A step or a jump. All addresses are offsets from base addresses.
pub enum Linked {
    /// A loop over elements.
    Step(LoopStep<Address>),
    /// A kernel that is not a straight-line program.
    Kernel(Box<PlacedKernel>),
    /// Jumps this number of steps forward if a `pred` is false. Otherwise an iteration of a loop begins.
    Unless(Address, usize),
    /// Jumps this number of steps forward.
    Skip(usize),
    /// Jumps this number of steps back.
    Back(usize),
    /// Jumps forward by an element of the list. The index of the element is at this address, and has this
    /// type.
    Choose(Address, DType, Box<[usize]>),
}

impl Linked {
    /// Adds the steps of a straight-line program, for a kernel with these places. Adds nothing and returns
    /// `None` if a place is too far from its base address.
    pub fn program(line: &StraightLine, linking: &Linking<'_>, list: &mut Vec<Linked>) -> Option<()> {
        list.extend(line.link(linking)?.into_iter().map(Linked::Step));
        Some(())
    }

    /// Adds a copy between two places of the same size, unless they are the same place. `None` if a place is
    /// too far from its base address, or if the copy is so long that interrupts must be able to end it.
    pub fn copy(from: Place, to: Place, list: &mut Vec<Linked>) -> Option<()> {
        let (x, y) = (Address::of(from)?, Address::of(to)?);
        if x != y {
            (to.size < LONG_BYTES).then_some(())?;
            let (code, op, from) = (copying(1), Arc::new(LoopOp::Copy), [(x, Access::Each); 3]);
            list.push(Linked::Step(LoopStep { code, op, from, to: y, n: to.size, bytes: 1 }));
        }
        Some(())
    }

    /// Creates a step that runs a kernel with these places, inputs first. `None` if the kernel is worth
    /// several threads, which a line does not use.
    pub fn kernel(prepared: &Arc<PreparedKernel>, places: &Arc<[Place]>, inputs: usize) -> Option<Linked> {
        let (prepared, places) = (Arc::clone(prepared), Arc::clone(places));
        (!prepared.is_slow()).then(|| Linked::Kernel(Box::new(PlacedKernel::new(prepared, places, inputs))))
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

    /// Adds a choice: runs the branch whose number is the element of type `dtype` at `index`.
    pub fn choose(
        index: Place,
        dtype: DType,
        branches: Vec<Vec<Linked>>,
        list: &mut Vec<Linked>,
    ) -> Option<()> {
        let index = Address::of(index)?;
        // `Choose` is the first step; each branch is followed by a jump to the end.
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

/// The environment of a run of a line. It counts the iterations of loops, and can end the run.
pub trait Runner {
    /// The reason why a run ends early.
    type Error;

    /// Requests up to `most` further iterations of loops. Returns the number of iterations that may start,
    /// which is at least one.
    ///
    /// # Errors
    /// If no further iteration is allowed.
    fn request_iterations(&mut self, most: u64) -> Result<u64, Self::Error>;

    /// Gives back iterations that were requested but not started.
    fn return_iterations(&mut self, count: u64);

    /// Announces a kernel that is not a straight-line program.
    ///
    /// # Errors
    /// If the kernel may not run.
    fn kernel(&mut self) -> Result<(), Self::Error>;
}

impl LoopStep<Address> {
    /// Runs the step alone.
    ///
    /// # Safety
    /// Same requirements as [`Line::run`](super::line::Line::run); `bases` points to the first base address.
    #[cfg_attr(
        not(all(target_arch = "x86_64", unix)),
        expect(dead_code, reason = "only called by machine code")
    )]
    pub(crate) unsafe fn run(&self, bases: *const *mut u8) {
        // SAFETY: the caller guarantees that the places are in the memory of these base addresses (`# Safety`
        // above).
        let at = |address: Address| unsafe { address_at(address, bases) };
        let from = self.from.map(|(x, access)| Operand::new(at(x), access == Access::Uniform));
        // SAFETY: the caller guarantees the elements of the step (`# Safety` above).
        unsafe { self.code.run(&from, at(self.to), self.n) };
    }
}

/// Returns the pointer to an address that is relative to base addresses.
///
/// # Safety
/// `bases` points to enough base addresses, and the memory of this one reaches to the offset.
#[inline(always)]
pub(crate) unsafe fn address_at(address: Address, bases: *const *mut u8) -> *mut u8 {
    // SAFETY: the caller guarantees the base address and the offset (`# Safety` above).
    unsafe { (*bases.add(address.base as usize)).add(address.offset as usize) }
}
