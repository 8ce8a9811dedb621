//! `dynamic_slice`: a window of the operand whose position is data.

use std::sync::Arc;

use farcall_ir::{Op, TensorType};

use super::args::{Args, Prepared};
use super::movement::{Movement, fill, row_major};
use super::straight_line::{self, At, Loop, StraightLine};
use super::types::{ReadIndex, index_reader};
use super::{Kernel, Request, apart, nothing};

pub(super) static KERNEL: Kernel =
    Kernel { name: "dynamic_slice", prepare, in_place: apart, describe: nothing };

fn prepare(request: &Request<'_>) -> Option<Prepared> {
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
    if y.bytes().is_some_and(|n| n <= straight_line::SMALL) {
        let mut line = StraightLine::new(SHIFT)?;
        let shift = start.in_steps(&mut line);
        let work = straight_line::moves_shifted(y.dtype.size(), movement, |shift| [shift, 0])?;
        line.push(work, &[At::Input(0), shift], At::Output(0), 0);
        return Some(Prepared::straight(line));
    }
    Some(Prepared::new(move |args| {
        // SAFETY: tensors of these types, which are apart; the shift is not above that which fits.
        unsafe { movement.run_shifted(args.input_ptr(0), args.output_ptr(0), [start.shift(args), 0]) };
    }))
}

/// Bytes of the registers in which a straight-line program has the shift.
pub(super) const SHIFT: usize = 64;

/// Where a window starts, as the last inputs of a kernel say.
pub(super) struct Start {
    /// Number of the first index among the inputs.
    first: usize,
    /// Per index: how it is read, the largest value that keeps the window inside (others are clamped), and the
    /// stride in elements.
    steps: Vec<(ReadIndex, usize, usize)>,
}

impl Start {
    /// For a window of the dimensions of `part` in `whole`; `indices` are the inputs from `first` on.
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
            Some((index_reader(index.dtype).filter(|_| one)?, limit, strides[d].unsigned_abs()))
        });
        Some(Start { first, steps: each.collect::<Option<_>>()? })
    }

    /// The largest shift.
    pub(super) fn far(&self) -> Option<usize> {
        let mut steps = self.steps.iter();
        steps.try_fold(0usize, |n, (_, limit, stride)| n.checked_add(limit.checked_mul(*stride)?))
    }

    /// The steps that leave the shift in the first register, two indices each.
    pub(super) fn in_steps(self, line: &mut StraightLine) -> At {
        let shift = At::Register(0);
        for k in 0..self.steps.len().div_ceil(2).max(1) {
            let pair: Vec<_> = self.steps.iter().skip(2 * k).take(2).copied().collect();
            let indices = (0..pair.len()).map(|i| At::Input(self.first + 2 * k + i));
            let from: Vec<At> = [shift].into_iter().chain(indices).collect();
            let work: Loop = Arc::new(move |[before, i, j], to, _| {
                // SAFETY: the step before has written it.
                let before = if k == 0 { 0 } else { unsafe { before.at.cast::<usize>().read() } };
                let each = pair.iter().zip([i, j]).map(|((read, limit, stride), index)| {
                    // SAFETY: the input has one element of the type that is read.
                    stride * unsafe { read(index.at, *limit) }
                });
                // SAFETY: the register has room for it.
                unsafe { to.cast::<usize>().write(before + each.sum::<usize>()) };
            });
            line.push(work, &from, shift, 1);
        }
        shift
    }

    /// Elements by which the window is shifted.
    pub(super) fn shift(&self, args: &Args<'_>) -> usize {
        let each = self.steps.iter().enumerate().map(|(i, (read, limit, stride))| {
            // SAFETY: the input has one element of the type that is read.
            stride * unsafe { read(args.input_ptr(self.first + i), *limit) }
        });
        each.sum()
    }
}
