//! `dynamic_slice`: copies a window of the operand. The position of the window is computed at run time.

use farcall_ir::{Op, TensorType};
use smallvec::SmallVec;

use super::args::Args;
use super::loops::prepared::PreparedKernel;
use super::loops::straight_line::{self, At, StraightLine};
use super::loops::vector::moves::{Index, Moves, Window};
use super::movement::{Movement, fill, row_major, run_parts};
use super::types::index_reader;
use super::{Kernel, Request, apart, nothing};

pub(super) static KERNEL: Kernel =
    Kernel { name: "dynamic_slice", prepare, in_place: apart, describe: nothing };

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::DynamicSlice { sizes }, [x, indices @ ..], [y]) = (request.op, request.inputs, request.outputs)
    else {
        return None;
    };
    if sizes[..] != y.sizes()[..] || x.rank() != y.rank() || x.dtype != y.dtype {
        return None;
    }
    let start = Start::new(x, y, indices, 1)?;
    let strides = row_major(x.sizes());
    let movement = Movement::new([x, y], fill(y, |d| strides[d]), [0, 0])?;
    if !movement.fits([x, y], [start.far()?, 0]) {
        return None;
    }
    if y.bytes().is_some_and(|n| n <= straight_line::MAX_MOVEMENT_BYTES) {
        let mut line = StraightLine::new(SHIFT_BYTES)?;
        start.in_steps(At::Input(0), movement, true, &mut line)?;
        return Some(PreparedKernel::straight(line));
    }
    let parts = movement.parts();
    let prepared = PreparedKernel::new(move |args| {
        // SAFETY: the tensors have these types and do not overlap. Indices are clamped, so the shift is at
        // most `start.far()`, with which the movement fits (checked in `prepare`).
        unsafe { run_parts(&parts, args.input_ptr(0), args.output_ptr(0), [start.shift(args), 0]) };
    });
    Some(prepared.moving(y.bytes()?))
}

/// Number of bytes of the registers that hold the shift in a straight-line program.
pub(super) const SHIFT_BYTES: usize = 64;

/// The start of a window, read from the last inputs of a kernel.
pub(super) struct Start {
    /// Number of the first index among the inputs.
    first: usize,
    steps: Vec<Index>,
}

impl Start {
    /// Creates the start of a window in `whole` that is as large as `part`. `indices` are the types of the
    /// inputs from `first` on.
    pub(super) fn new(
        whole: &TensorType,
        part: &TensorType,
        indices: &[&TensorType],
        first: usize,
    ) -> Option<Start> {
        if indices.len() != whole.rank() || part.rank() != whole.rank() {
            return None;
        }
        let strides = row_major(whole.sizes());
        let each = indices.iter().enumerate().map(|(d, index)| {
            let limit = whole.sizes()[d].checked_sub(part.sizes()[d])?;
            let one = index.elements() == Some(1);
            let read = index_reader(index.dtype).filter(|_| one)?;
            Some(Index { dtype: index.dtype, read, limit, stride: strides[d].unsigned_abs() })
        });
        Some(Start { first, steps: each.collect::<Option<_>>()? })
    }

    /// Returns the largest number of elements by which the window can be shifted.
    pub(super) fn far(&self) -> Option<usize> {
        let mut steps = self.steps.iter();
        steps.try_fold(0usize, |n, index| n.checked_add(index.limit.checked_mul(index.stride)?))
    }

    /// Adds the steps that move elements from `moved` to the output. The start of the window shifts the
    /// source of the movement if `reads` is true, else the destination.
    pub(super) fn in_steps(
        self,
        moved: At,
        movement: Movement,
        reads: bool,
        line: &mut StraightLine,
    ) -> Option<()> {
        // An index that can only be zero shifts nothing.
        let live = (self.first..).zip(self.steps).filter(|(_, index)| index.limit > 0);
        let mut live: Vec<(At, Index)> = live.map(|(i, index)| (At::Input(i), index)).collect();
        // The step that moves elements has room for two indices. If there are more, earlier steps add up the
        // shifts of the first indices in a register.
        let mut sum = None;
        while live.len() + usize::from(sum.is_some()) > 2 {
            let (at, index) = live.remove(0);
            let from: SmallVec<[At; 2]> = [at].into_iter().chain(sum).collect();
            line.shift(index, &from, At::Register(0));
            sum = Some(At::Register(0));
        }
        let (at, indices): (Vec<At>, SmallVec<[Index; 2]>) = live.into_iter().unzip();
        let from: Vec<At> = [moved].into_iter().chain(at).chain(sum).collect();
        let moves = Moves::new(movement)?;
        line.window(Window { moves, indices, reads, added: sum.is_some() }, &from, At::Output(0));
        Some(())
    }

    /// Returns the number of elements by which the window is shifted.
    pub(super) fn shift(&self, args: &Args<'_>) -> usize {
        let each = self.steps.iter().enumerate().map(|(i, index)| {
            // SAFETY: the input has one element of the type that is read.
            index.stride * unsafe { (index.read)(args.input_ptr(self.first + i), index.limit) }
        });
        each.sum()
    }
}
