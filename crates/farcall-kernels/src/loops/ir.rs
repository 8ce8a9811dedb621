//! Loops as data: what a loop computes, where its operands and its result are, and how many elements the
//! result has.
//!
//! ```text
//! Loop<Slot>  ──allocate──▶  Loop<Operand, Location>  ─one tile─▶  LoopStep<At>  ─link─▶  LoopStep<Address>
//! (operands are values)      (registers, memory)                   (of a kernel)          (of a line)
//! ```
//!
//! The operation of a loop, a [`LoopOp`], is the same in all four forms. Both backends read it: prebuilt
//! code computes every operation, and generated code those that the code generator supports.

use std::sync::Arc;

use smallvec::SmallVec;

use super::expression::{Expr, ScalarOp};
use super::vector::VectorLoop;
use super::vector::combine::Accumulator;
use super::vector::fill::Iota;
use super::vector::moves::{Moves, Window};
use super::vector::rounds::Turn;
use super::vector::slices::Parts;
use crate::args::Place;
use crate::movement::Movement;

/// The number of elements of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// One element. Its register holds a block of copies ([`BLOCK`](super::vector::BLOCK)).
    Uniform,
    /// One element per row.
    Row,
    /// One element per element of a tile.
    Full,
    /// One element per element of a tile. The elements are the same in every tile.
    Fixed,
}

/// A value before registers are allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// An operand of the program.
    Input(usize),
    /// The result of a loop, by its number.
    Loop(usize),
}

/// The location of a value's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Location {
    /// Elements of an operand: its number, the size of an element in bytes, and the level of the value.
    Input(usize, usize, Level),
    /// Elements of an output: its number, the size of an element in bytes, and the level of the value.
    Output(usize, usize, Level),
    /// Byte offset of a register in the memory for registers.
    Register(usize),
    /// Accumulators, one for each task: byte offset of the first in scratch memory, and size of each in
    /// bytes.
    Accumulators(usize, usize),
}

/// The way in which a loop uses the elements of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// One element for each result.
    Each,
    /// One element for all results.
    Uniform,
    /// One element for each row.
    Row,
}

/// An operand of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) location: Location,
    /// Size of an element in bytes.
    pub(crate) bytes: usize,
    pub(crate) access: Access,
}

/// Computation of a loop.
pub(crate) enum LoopOp {
    /// An operation or an expression on corresponding elements, as prebuilt or generated code. The
    /// expression, if there is one, describes what the code computes.
    Compute(VectorLoop, Option<Expr>),
    /// Reductions of rows.
    ReduceRows(VectorLoop),
    /// Copies of the only element of a program's operand.
    Splat(usize),
    /// Elements of a program's operand, in the order of a broadcast.
    Broadcast(usize, Movement),
    /// Slices of a program's operands.
    Slices(Box<Parts>),
    /// Elements of a program's operand, padded around and between with a uniform value.
    Pad(usize, Movement),
    /// A constant element.
    Constant([u8; 16]),
    /// The index of each element along one dimension, computed from the number of the element.
    Iota(Iota),
    /// A copy of another value.
    Copy,
    /// A copy to an output, with non-temporal stores.
    StreamingCopy,
    /// Copies of the one element of a uniform value.
    Fill,
    /// Elements of a value with one element per row, each repeated for all elements of its row.
    Repeat,
    /// Rounds of a hash on pairs of words. The first two operands are the words; the rounds add the other
    /// operands. The result has all first words of a tile, then all second words.
    HashRounds(Vec<Turn>),
    /// The first word (0) or the second word (1) of each pair.
    Half(usize),
    /// Initializes an accumulator.
    Begin,
    /// Adds elements to an accumulator.
    Accumulate(Arc<Accumulator>),
    /// Writes the result of an accumulator.
    End,
    /// Movements, each of a different operand.
    Move(
        #[cfg_attr(
            not(all(target_arch = "x86_64", unix)),
            expect(dead_code, reason = "only read where machine code is generated")
        )]
        Arc<[Moves]>,
    ),
    /// A movement that is shifted by indices.
    Window(
        #[cfg_attr(
            not(all(target_arch = "x86_64", unix)),
            expect(dead_code, reason = "only read where machine code is generated")
        )]
        Arc<Window>,
    ),
    /// The number of elements by which one index shifts a window, plus the sum of earlier shifts.
    Shift,
}

impl LoopOp {
    /// Returns the operand of the program that the loop reads directly, in addition to the loop's
    /// [`operands`](Loop::operands).
    #[inline]
    pub(crate) fn input(&self) -> Option<usize> {
        match self {
            LoopOp::Splat(i) | LoopOp::Broadcast(i, _) | LoopOp::Pad(i, _) => Some(*i),
            _ => None,
        }
    }

    /// Returns the operation on elements, if the loop applies only one.
    pub(crate) fn scalar_op(&self) -> Option<ScalarOp> {
        if let LoopOp::Compute(_, Some(expr)) = self { expr.op() } else { None }
    }

    pub(crate) fn accumulator(&self) -> Option<&Arc<Accumulator>> {
        if let LoopOp::Accumulate(accumulator) = self { Some(accumulator) } else { None }
    }
}

/// A loop over the elements of a tile.
pub(crate) struct Loop<O, R = ()> {
    pub(crate) op: Arc<LoopOp>,
    pub(crate) operands: SmallVec<[O; 3]>,
    pub(crate) result: R,
    /// Size of an element of the result in bytes.
    pub(crate) bytes: usize,
    /// Number of elements of the result. Loops for uniform and fixed values run before the first tile.
    pub(crate) level: Level,
    /// Cost in picoseconds per element.
    pub(crate) cost: usize,
}

/// The start of a place: the number of a base address, and an offset in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    pub(crate) base: u32,
    pub(crate) offset: u32,
}

impl Address {
    pub(crate) fn of(place: Place) -> Option<Address> {
        Some(Address { base: u32::try_from(place.base).ok()?, offset: u32::try_from(place.offset).ok()? })
    }
}

/// A loop of a program with a single tile. Its code, its places and its number of elements are known before
/// the run.
pub struct LoopStep<L> {
    /// The prebuilt code.
    pub(crate) code: VectorLoop,
    pub(crate) op: Arc<LoopOp>,
    /// Operands. An absent operand has an arbitrary place, which the code does not read.
    pub(crate) from: [(L, Access); 3],
    pub(crate) to: L,
    /// Number of elements.
    pub(crate) n: usize,
    /// Size of an element of the result in bytes.
    pub(crate) bytes: usize,
}

impl<L: Copy> LoopStep<L> {
    /// Returns the step with each of its places `x` replaced by `place(x)`; `None` if `place` returns `None`
    /// for one of them.
    pub(crate) fn at<T>(&self, place: impl Fn(L) -> Option<T>) -> Option<LoopStep<T>> {
        let [a, b, c] = self.from.map(|(x, access)| Some((place(x)?, access)));
        let (code, op) = (self.code.clone(), Arc::clone(&self.op));
        Some(LoopStep { code, op, from: [a?, b?, c?], to: place(self.to)?, n: self.n, bytes: self.bytes })
    }
}
