//! `scatter` of any number of operands by a region of plain operations. The region is applied to one update
//! after another.
//!
//! If the last dimension of windows is long and contiguous, it is called a row. The region is then compiled
//! to a tile program ([`tiles`](super::super::loops::tiles)) and applied to a row at once.

use farcall_ir::dims::IndexedDims;
use farcall_ir::{DType, TensorType};
use smallvec::SmallVec;

use super::super::args::{Args, Place};
use super::super::body::Body;
use super::super::loops::lower;
use super::super::loops::prepared::PreparedKernel;
use super::super::scalars::{CopyElement, Frame, Scalars, copy_element};
use super::super::{Kernel, Request};
use super::{InPlace, MIN_SLOW_ELEMENTS, OUTSIDE, Windows};

pub(in super::super) static KERNEL: Kernel = Kernel {
    name: "scatter_by_region",
    prepare,
    in_place: |_| InPlace::First,
    describe: super::super::nothing,
};

/// Minimum number of elements of a row.
const MIN_ROW_ELEMENTS: usize = 16;

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    request.op.as_scatter()?;
    let [body] = request.bodies else { return None };
    let count = request.outputs.len();
    let (operands, rest) = request.inputs.split_at_checked(count)?;
    let (indices, rest) = rest.split_first()?;
    let (updates, captures) = rest.split_at_checked(count)?;
    let (x, u) = (operands.first()?, updates.first()?);
    let same = operands == request.outputs
        && operands.iter().all(|ty| ty.sizes() == x.sizes())
        && updates.iter().all(|ty| ty.sizes() == u.sizes())
        && operands.iter().zip(updates).all(|(x, u)| x.dtype == u.dtype);
    let dtypes = operands.iter().chain(updates).chain(captures).map(|ty| ty.dtype);
    let args = body.args.iter().map(|ty| ty.dtype);
    let returned: Vec<DType> =
        body.returned.iter().map(|v| Some(body.ty(*v)?.dtype)).collect::<Option<_>>()?;
    let fits = args.eq(dtypes) && returned.iter().copied().eq(operands.iter().map(|ty| ty.dtype));
    if !same || !fits || captures.iter().any(|ty| ty.elements() != Some(1)) {
        return None;
    }
    let mut windows = Windows::new(IndexedDims::of(request.op)?, x, indices, u)?;
    let (elements, all) = (x.elements()?, u.elements()?);
    let size = |dtype: DType| Some((dtype.size(), copy_element(dtype.size())?));
    let sizes: Vec<(usize, CopyElement)> = operands.iter().map(|ty| size(ty.dtype)).collect::<Option<_>>()?;
    let captured: Vec<CopyElement> =
        captures.iter().map(|ty| copy_element(ty.dtype.size())).collect::<Option<_>>()?;
    let scalars = Scalars::new(body)?;
    let row = RowProgram::of(body, 2 * count, &windows);
    if row.is_some() {
        windows.window.pop();
    }
    let scratch = scalars.frame_bytes();
    let by_region = ByRegion { windows, scalars, row, elements, sizes, captured };
    let prepared = PreparedKernel::new(move |args| by_region.run(args)).with_scratch(scratch);
    Some(if elements.max(all) < MIN_SLOW_ELEMENTS { prepared } else { prepared.slow() })
}

/// The region, compiled for rows.
struct RowProgram {
    elements: usize,
    prepared: PreparedKernel,
}

impl RowProgram {
    /// Compiles the region for the last dimension of windows, if it is long and contiguous and there is a
    /// tile program for such rows. The region's arguments from number `own` on are captured scalars.
    fn of(body: &Body, own: usize, windows: &Windows) -> Option<RowProgram> {
        let (elements, 1, 1) = *windows.window.last()? else { return None };
        if elements < MIN_ROW_ELEMENTS {
            return None;
        }
        let row = |ty: &TensorType| ty.with_sizes([elements]);
        let mut body = body.clone();
        body.args[..own].iter_mut().for_each(|ty| *ty = row(ty));
        body.insts.iter_mut().for_each(|inst| inst.ty = row(&inst.ty));
        let inputs: Vec<&TensorType> = body.args.iter().collect();
        let outputs: Vec<&TensorType> =
            body.returned.iter().map(|value| body.ty(*value)).collect::<Option<_>>()?;
        let prepared = lower::tiles(&inputs, &body, &outputs)?;
        (prepared.scratch() == 0).then_some(RowProgram { elements, prepared })
    }
}

struct ByRegion {
    /// The windows, without their last dimension if rows are updated at once.
    windows: Windows,
    scalars: Scalars,
    row: Option<RowProgram>,
    /// Number of elements of an operand.
    elements: usize,
    /// For each operand: the size of an element in bytes, and the function that copies an element.
    sizes: Vec<(usize, CopyElement)>,
    captured: Vec<CopyElement>,
}

impl ByRegion {
    fn run(&self, args: &Args<'_>) {
        let count = self.sizes.len();
        for (i, (size, _)) in self.sizes.iter().enumerate() {
            let (x, out) = (args.input_ptr::<u8>(i), args.output_ptr::<u8>(i));
            if !std::ptr::eq(x, out) {
                // SAFETY: the operand and the result have `elements` elements and do not overlap.
                unsafe { out.copy_from_nonoverlapping(x, self.elements * size) };
            }
        }
        if self.windows.size == 0 {
            return;
        }
        // SAFETY: the scratch memory has the size of a frame, and a captured value has one element.
        let mut frame = unsafe {
            let frame = self.scalars.frame(args.ptr(args.scratch_place()));
            for (i, copy) in self.captured.iter().enumerate() {
                copy(args.input_ptr(2 * count + 1 + i), frame.arg(2 * count + i));
            }
            frame
        };
        self.windows.blocks(args, count, |positions, slices| {
            for (i, at) in positions.iter().enumerate().filter(|(_, at)| **at != OUTSIDE) {
                // SAFETY: a position other than `OUTSIDE` is that of a window inside the results, and
                // `slices.at(i)` is the start of the window's updates in the inputs.
                unsafe { self.window(args, &mut frame, &self.windows.window, *at, slices.at(i)) };
            }
        });
    }

    /// Updates a window.
    ///
    /// # Safety
    /// The window must lie inside the results from the element `to` on, and its updates inside the updates
    /// from `from` on.
    unsafe fn window(
        &self,
        args: &Args<'_>,
        frame: &mut Frame<'_>,
        dims: &[(usize, usize, usize)],
        to: usize,
        from: usize,
    ) {
        if let [(n, u, x), rest @ ..] = dims {
            for i in 0..*n {
                // SAFETY: `i` is below the size of the dimension, so this is a part of the window that the
                // caller guarantees.
                unsafe { self.window(args, frame, rest, to + i * x, from + i * u) };
            }
            return;
        }
        if let Some(row) = &self.row {
            // SAFETY: the caller guarantees the window, whose last dimension is a row.
            return unsafe { self.row(row, args, to, from) };
        }
        let count = self.sizes.len();
        for (i, (size, copy)) in self.sizes.iter().enumerate() {
            // SAFETY: the caller guarantees that the elements lie inside the result and the updates; the
            // frame has arguments of these sizes.
            unsafe {
                copy(args.output_ptr::<u8>(i).add(to * size), frame.arg(i));
                copy(args.input_ptr::<u8>(count + 1 + i).add(from * size), frame.arg(count + i));
            }
        }
        // SAFETY: all arguments have been written.
        unsafe { frame.apply() };
        for (i, (size, copy)) in self.sizes.iter().enumerate() {
            // SAFETY: the caller guarantees that the element lies inside the result; the region returns an
            // element of this size.
            unsafe { copy(frame.result(i), args.output_ptr::<u8>(i).add(to * size)) };
        }
    }
    /// Updates a row.
    ///
    /// # Safety
    /// The row must lie inside the results from the element `to` on, and its updates inside the updates from
    /// `from` on.
    unsafe fn row(&self, row: &RowProgram, args: &Args<'_>, to: usize, from: usize) {
        let count = self.sizes.len();
        let part = |place: Place, first: usize, size: usize| Place {
            size: row.elements * size,
            ..place.from(first * size)
        };
        let outputs: SmallVec<[Place; 2]> = self
            .sizes
            .iter()
            .enumerate()
            .map(|(i, (size, _))| part(args.output_place(i), to, *size))
            .collect();
        let updates = (0..count).map(|i| part(args.input_place(count + 1 + i), from, self.sizes[i].0));
        let captured = (0..self.captured.len()).map(|i| args.input_place(2 * count + 1 + i));
        let places: SmallVec<[Place; 8]> =
            outputs.iter().copied().chain(updates).chain(captured).chain(outputs.iter().copied()).collect();
        // SAFETY: the caller guarantees the row and its updates, and the program was prepared for rows of
        // this length. Input `i` is in the same place as output `i`, and has as many elements of the same
        // size. The updates do not overlap the outputs.
        unsafe { row.prepared.run_here(&args.with(&places, 2 * count + self.captured.len())) };
    }
}
