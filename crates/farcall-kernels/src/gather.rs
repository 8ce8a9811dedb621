//! `gather`: copies slices of the operand. The positions of the slices are computed at run time.

use farcall_ir::TensorType;
use farcall_ir::dims::indexed::{BatchAxis, IndexedDims, Placement, WindowAxis};

use super::args::Args;
use super::index::{self, Reader, Starts};
use super::loops::prepared::PreparedKernel;
use super::movement::{Axis, Movement, normal};
use super::{Kernel, Request, apart};

pub(super) static KERNEL: Kernel = Kernel { name: "gather", prepare, in_place: apart, describe };

/// Minimum number of elements for which the kernel is marked [slow](PreparedKernel::slow).
const MIN_SLOW_ELEMENTS: usize = 1 << 20;
/// Number of elements of a task.
const TASK_ELEMENTS: usize = 1 << 17;
/// When slices are divided among tasks, a slice counts as at least this many elements.
const MIN_SLICE_ELEMENTS: usize = 8;

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let g = request.op.as_gather()?;
    let ([x, indices], [y]) = (request.inputs, request.outputs) else { return None };
    let slices = Slices::new(IndexedDims::of(request.op)?, &g.slice_sizes, x, indices, y)?;
    let (elements, count) = (y.elements()?, slices.starts.count());
    let per_task = (TASK_ELEMENTS / elements.checked_div(count).unwrap_or(0).max(MIN_SLICE_ELEMENTS)).max(1);
    let tasks = if elements == 0 { 1 } else { count.div_ceil(per_task).max(1) };
    let prepared = PreparedKernel::in_tasks(tasks, move |args, task| {
        if elements > 0 {
            slices.take(args, task * per_task..((task + 1) * per_task).min(count));
        }
    });
    Some(if elements >= MIN_SLOW_ELEMENTS { prepared.slow() } else { prepared })
}

fn describe(request: &Request<'_>) -> String {
    let wraps = IndexedDims::of(request.op).is_some_and(|numbers| numbers.wraps());
    if wraps { index::WRAPS.to_owned() } else { String::new() }
}

/// The slices of the operand, and their positions in the result.
///
/// ```text
/// x[:, i], of 3 × 5:
///   ┌ · a · b · ┐        ┌ b a a ┐        Rows are the dimensions of a slice outside of the slice dimension
///   │ · c · d · │  ──▶   │ d c c │        of the result. For each row, the pieces (elements, blocks or
///   └ · e · f · ┘        └ f e e ┘        movements) of all slices are copied: they are adjacent in the
///       i = 3, 1, 1                       result, and close to each other in the operand.
/// ```
struct Slices {
    /// The dimensions of a slice that are, in the result, outside of the dimension along which slices are
    /// adjacent. They are ordered from outer to inner.
    rows: Vec<Axis>,
    /// The rest of a slice, within a row.
    piece: Piece,
    /// Size of an element in bytes.
    size: usize,
    starts: Starts,
    reader: Reader,
}

/// The part of a slice that is in one row.
enum Piece {
    /// Elements that are contiguous in operand and result: the number of bytes, and the function that copies
    /// them.
    Block(usize, CopyBlocks),
    /// Any other elements: their movement, relative to the first element of the piece in operand and result.
    Moved(Movement),
}

/// Copies blocks of `bytes` bytes from the positions `from` of the operand to the positions `to` of the
/// result. Positions count elements of `size` bytes.
///
/// # Safety
/// The blocks are within operand and result, which do not overlap.
type CopyBlocks =
    unsafe fn(bytes: usize, size: usize, from: &[usize], to: index::Slices, x: *const u8, out: *mut u8);

/// # Safety
/// Same requirements as [`CopyBlocks`].
unsafe fn copy_any(bytes: usize, size: usize, from: &[usize], to: index::Slices, x: *const u8, out: *mut u8) {
    for (i, at) in from.iter().enumerate() {
        // SAFETY: the caller guarantees both blocks (`# Safety` above).
        unsafe { out.add(to.at(i) * size).copy_from_nonoverlapping(x.add(at * size), bytes) };
    }
}

/// # Safety
/// Same requirements as [`CopyBlocks`], for blocks of `N` bytes.
unsafe fn copy_fixed<const N: usize>(
    _: usize,
    size: usize,
    from: &[usize],
    to: index::Slices,
    x: *const u8,
    out: *mut u8,
) {
    for (i, at) in from.iter().enumerate() {
        // SAFETY: the caller guarantees both blocks; arrays of bytes need no alignment.
        unsafe {
            let block = x.add(at * size).cast::<[u8; N]>().read();
            out.add(to.at(i) * size).cast::<[u8; N]>().write(block);
        }
    }
}

impl Piece {
    /// Creates the piece with these axes of a slice, from outer to inner.
    fn new(axes: &[Axis], [x, y]: [&TensorType; 2]) -> Option<Piece> {
        let mut length = 1;
        let follows = |a: &Axis| {
            let fits = a.size == 1 || [a.src, a.dst].iter().all(|s| usize::try_from(*s) == Ok(length));
            length = length.saturating_mul(a.size);
            fits
        };
        if !axes.iter().rev().all(follows) {
            return Some(Piece::Moved(Movement::new([x, y], axes.iter().copied(), [0, 0])?));
        }
        let bytes = length.checked_mul(x.dtype.size())?;
        let copy: CopyBlocks = match bytes {
            1 => copy_fixed::<1>,
            2 => copy_fixed::<2>,
            4 => copy_fixed::<4>,
            8 => copy_fixed::<8>,
            12 => copy_fixed::<12>,
            16 => copy_fixed::<16>,
            32 => copy_fixed::<32>,
            64 => copy_fixed::<64>,
            128 => copy_fixed::<128>,
            256 => copy_fixed::<256>,
            _ => copy_any,
        };
        Some(Piece::Block(bytes, copy))
    }
}

impl Slices {
    fn new(
        numbers: IndexedDims<'_>,
        slice_sizes: &[usize],
        x: &TensorType,
        indices: &TensorType,
        y: &TensorType,
    ) -> Option<Slices> {
        if x.dtype != y.dtype {
            return None;
        }
        let sizes = [x.sizes(), indices.sizes(), y.sizes()];
        let Placement { window, batch, entries, entry_stride } = numbers.placement(slice_sizes, sizes)?;
        let stride = |elements: usize| isize::try_from(elements).unwrap_or(isize::MAX);
        let axis = |w: WindowAxis| Axis { size: w.size, src: stride(w.operand), dst: stride(w.windows) };
        let mut axes: Vec<Axis> = window.into_iter().map(axis).collect();
        let slice = Movement::new([x, y], axes.iter().copied(), [0, 0])?;
        let far = |start: Option<usize>, each: &dyn Fn(&BatchAxis) -> usize| {
            batch.iter().try_fold(start?, |n, b| n.checked_add(b.size.checked_sub(1)?.checked_mul(each(b))?))
        };
        let starts = entries.iter().try_fold(0usize, |n, e| n.checked_add(e.limit.checked_mul(e.stride)?));
        let (src, dst) = (far(starts, &|b| b.operand), far(Some(0), &|b| b.windows));
        let empty = batch.iter().any(|b| b.size == 0);
        if !empty && !slice.fits([x, y], [src?, dst?]) {
            return None;
        }
        let reader = Reader::clamping(indices.dtype)?;
        let starts = Starts::new(batch, entries, entry_stride);
        let step = isize::try_from(starts.step()).unwrap_or(isize::MAX);
        // An empty dimension stays in the piece, which is then empty.
        let is_row = |a: &&Axis| step != 0 && (a.size == 1 || (a.size > 0 && a.dst > step));
        let outside = axes.iter().take_while(is_row).count();
        let piece = Piece::new(&axes.split_off(outside), [x, y])?;
        Some(Slices { rows: normal(axes), piece, size: x.dtype.size(), starts, reader })
    }

    /// Copies the slices of a range of index vectors.
    fn take(&self, args: &Args<'_>, numbers: std::ops::Range<usize>) {
        let (x, out, size) = (args.input_ptr::<u8>(0), args.output_ptr::<u8>(0), self.size);
        let of_row = |positions: &[usize], slices: index::Slices, [from, to]: [isize; 2]| {
            // SAFETY: the row of slices lies within the operand and the result, which do not overlap;
            // `Slices::new` has checked that the largest shifts fit.
            unsafe {
                let (x, out) = (x.offset(from * size as isize), out.offset(to * size as isize));
                match &self.piece {
                    Piece::Block(bytes, copy) => copy(*bytes, size, positions, slices, x, out),
                    Piece::Moved(movement) => {
                        for (i, at) in positions.iter().enumerate() {
                            movement.run_shifted(x, out, [*at, slices.at(i)]);
                        }
                    }
                }
            }
        };
        // SAFETY: the index vectors of this range exist, and `Slices::new` has checked that they are within
        // the indices.
        unsafe {
            self.starts.each(numbers, self.reader, args.input_ptr(1), |positions, slices| {
                each_row(&self.rows, [0, 0], &mut |row| of_row(positions, slices, row));
            });
        }
    }
}

/// Calls `f` with the distance of each row from the first one, in operand and result.
fn each_row(axes: &[Axis], first: [isize; 2], f: &mut impl FnMut([isize; 2])) {
    let [axis, rest @ ..] = axes else { return f(first) };
    for i in 0..axis.size as isize {
        each_row(rest, [first[0] + i * axis.src, first[1] + i * axis.dst], f);
    }
}

#[cfg(test)]
mod tests {
    use farcall_ir::op::Gather;
    use farcall_ir::{DType, Op};

    use super::*;

    #[test]
    fn an_empty_slice_has_a_kernel() {
        let op = Op::Gather(Box::new(Gather {
            offset_dims: vec![0, 2, 3],
            collapsed_slice_dims: vec![1],
            start_index_map: vec![1],
            index_vector_dim: 1,
            slice_sizes: vec![0, 1, 3, 2],
            ..Gather::default()
        }));
        let x = TensorType::new(DType::F32, [5, 7, 4, 6]);
        let (indices, y) = (TensorType::new(DType::S32, [4]), TensorType::new(DType::F32, [0, 4, 3, 2]));
        let (inputs, outputs) = ([&x, &indices], [&y]);
        let request = Request { op: &op, bodies: &[], inputs: &inputs, outputs: &outputs, iotas: &[] };
        assert!(prepare(&request).is_some());
    }
}
