//! `scatter` of any number of operands, by a region of plain operations: it is applied to one update after the other.

use farcall_ir::{DType, Op};

use super::super::args::{Args, Prepared};
use super::super::scalars::{CopyElement, Frame, Scalars, copy_element};
use super::super::{Kernel, Request};
use super::{InPlace, OUTSIDE, SLOW, Windows};

pub(in super::super) static KERNEL: Kernel = Kernel {
    name: "scatter_by_region",
    prepare,
    in_place: |_| InPlace::First,
    describe: super::super::nothing,
};

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Scatter(s), [body]) = (request.op, request.bodies) else { return None };
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
    let windows = Windows::new(s, x, indices, u)?;
    let (elements, all) = (x.elements()?, u.elements()?);
    let size = |dtype: DType| Some((dtype.size(), copy_element(dtype.size())?));
    let sizes: Vec<(usize, CopyElement)> = operands.iter().map(|ty| size(ty.dtype)).collect::<Option<_>>()?;
    let captured: Vec<CopyElement> =
        captures.iter().map(|ty| copy_element(ty.dtype.size())).collect::<Option<_>>()?;
    let by_region = ByRegion { windows, scalars: Scalars::new(body)?, elements, sizes, captured };
    let scratch = by_region.scalars.frame_bytes();
    let prepared = Prepared::new(move |args| by_region.run(args)).with_scratch(scratch);
    Some(if elements.max(all) < SLOW { prepared } else { prepared.slow() })
}

struct ByRegion {
    windows: Windows,
    scalars: Scalars,
    /// Elements of an operand.
    elements: usize,
    /// Of each operand: bytes of an element, and how one is copied.
    sizes: Vec<(usize, CopyElement)>,
    captured: Vec<CopyElement>,
}

impl ByRegion {
    fn run(&self, args: &Args<'_>) {
        let count = self.sizes.len();
        for (i, (size, _)) in self.sizes.iter().enumerate() {
            let (x, out) = (args.input_ptr::<u8>(i), args.output_ptr::<u8>(i));
            if !std::ptr::eq(x, out) {
                // SAFETY: both have these elements, and are apart.
                unsafe { out.copy_from_nonoverlapping(x, self.elements * size) };
            }
        }
        if self.windows.size == 0 {
            return;
        }
        // SAFETY: scratch memory is for a frame. A captured value has one element.
        let mut frame = unsafe {
            let frame = self.scalars.frame(args.ptr(args.scratch_place()));
            for (i, copy) in self.captured.iter().enumerate() {
                copy(args.input_ptr(2 * count + 1 + i), frame.arg(2 * count + i));
            }
            frame
        };
        self.windows.blocks(args, count, |positions, slices| {
            for (i, at) in positions.iter().enumerate().filter(|(_, at)| **at != OUTSIDE) {
                // SAFETY: windows of the results, which lie inside as a whole, and their updates.
                unsafe { self.window(args, &mut frame, &self.windows.window, *at, slices.at(i)) };
            }
        });
    }

    /// Updates a window.
    ///
    /// # Safety
    /// It lies in the results from this element on, its updates in theirs from that element on.
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
                // SAFETY: the caller's promise.
                unsafe { self.window(args, frame, rest, to + i * x, from + i * u) };
            }
            return;
        }
        let count = self.sizes.len();
        for (i, (size, copy)) in self.sizes.iter().enumerate() {
            // SAFETY: an element of the result and its update, of these sizes; arguments of the region.
            unsafe {
                copy(args.output_ptr::<u8>(i).add(to * size), frame.arg(i));
                copy(args.input_ptr::<u8>(count + 1 + i).add(from * size), frame.arg(count + i));
            }
        }
        // SAFETY: all arguments have been written.
        unsafe { frame.apply() };
        for (i, (size, copy)) in self.sizes.iter().enumerate() {
            // SAFETY: an element of the result, which the region returns.
            unsafe { copy(frame.result(i), args.output_ptr::<u8>(i).add(to * size)) };
        }
    }
}
