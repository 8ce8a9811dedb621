//! `gather`: slices of the operand whose positions are data.

use farcall_ir::op::Gather;
use farcall_ir::{Op, TensorType};

use super::args::{Args, Prepared};
use super::index::{self, Batch, Entry, Reader, Starts};
use super::movement::{Axis, Movement, row_major};
use super::{Kernel, Request, apart};

pub(super) static KERNEL: Kernel = Kernel { name: "gather", prepare, in_place: apart, describe };

/// Elements from which on a run may take long.
const SLOW: usize = 1 << 20;
/// Elements of a task, of which a slice counts as some at least.
const TASK: usize = 1 << 17;
const LEAST: usize = 8;

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Gather(g), [x, indices], [y]) = (request.op, request.inputs, request.outputs) else {
        return None;
    };
    let slices = Slices::new(g, x, indices, y)?;
    let (elements, count) = (y.elements()?, slices.starts.count());
    let per_task = (TASK / elements.checked_div(count).unwrap_or(0).max(LEAST)).max(1);
    let tasks = if elements == 0 { 1 } else { count.div_ceil(per_task).max(1) };
    let prepared = Prepared::in_tasks(tasks, move |args, task| {
        if elements > 0 {
            slices.take(args, task * per_task..((task + 1) * per_task).min(count));
        }
    });
    Some(if elements >= SLOW { prepared.slow() } else { prepared })
}

fn describe(request: &Request<'_>) -> String {
    match request.op {
        Op::Gather(g) if g.wrap.iter().any(|n| *n > 0) => index::WRAPS.to_owned(),
        _ => String::new(),
    }
}

/// Which slices become which part of the result.
struct Slices {
    /// The movement of the slice that begins at the operand's first element to the begin of the result.
    slice: Movement,
    /// Bytes of a slice, if its elements follow each other in operand and result.
    block: Option<usize>,
    /// Bytes of an element.
    size: usize,
    starts: Starts,
    reader: Reader,
}

impl Slices {
    fn new(g: &Gather, x: &TensorType, indices: &TensorType, y: &TensorType) -> Option<Slices> {
        let [x_strides, i_strides, y_strides] = [x, indices, y]
            .map(|t| row_major(t.sizes()).iter().map(|s| s.unsigned_abs()).collect::<Vec<usize>>());
        if x.dtype != y.dtype || g.slice_sizes.len() != x.rank() || g.index_vector_dim > indices.rank() {
            return None;
        }
        let limit = |d: usize| x.sizes().get(d)?.checked_sub(g.slice_sizes[d]);
        (0..x.rank()).try_for_each(|d| limit(d).map(drop))?;

        // The slice, whose dimensions are the result's that `offset_dims` names.
        let dropped = |d: &usize| g.collapsed_slice_dims.contains(d) || g.operand_batching_dims.contains(d);
        let kept: Vec<usize> = (0..x.rank()).filter(|d| !dropped(d)).collect();
        let mut free: Vec<usize> = (0..y.rank()).collect();
        let mut axes = Vec::new();
        for (d, to) in kept.iter().zip(&g.offset_dims) {
            free.remove(free.iter().position(|f| f == to)?);
            let [src, dst] =
                [x_strides[*d], y_strides[*to]].map(|s| isize::try_from(s).unwrap_or(isize::MAX));
            let size = g.slice_sizes[*d];
            (y.sizes()[*to] == size).then(|| axes.push(Axis { size, src, dst }))?;
        }
        // The other ones are those of the indices.
        let outer: Vec<usize> = (0..indices.rank()).filter(|d| *d != g.index_vector_dim).collect();
        if kept.len() != g.offset_dims.len() || outer.len() != free.len() {
            return None;
        }
        let batch = outer.iter().zip(&free).map(|(d, to)| {
            let parted = g.start_indices_batching_dims.iter().position(|b| b == d);
            let operand = match parted {
                Some(i) => {
                    let of = *g.operand_batching_dims.get(i)?;
                    (x.sizes().get(of)? == &indices.sizes()[*d]).then_some(x_strides[of])?
                }
                None => 0,
            };
            let size = indices.sizes()[*d];
            (y.sizes()[*to] == size).then_some(Batch {
                size,
                indices: i_strides[*d],
                operand,
                slices: y_strides[*to],
            })
        });
        let batch: Vec<Batch> = batch.collect::<Option<_>>()?;

        let entries = g.start_index_map.iter().enumerate().map(|(i, d)| {
            let wrap = g.wrap.get(i).copied().unwrap_or(0);
            Some(Entry { limit: limit(*d)?, stride: x_strides[*d], wrap })
        });
        let entries: Vec<Entry> = entries.collect::<Option<_>>()?;
        let twice = |(i, d): (usize, &usize)| g.start_index_map[..i].contains(d);
        let length = indices.sizes().get(g.index_vector_dim).copied().unwrap_or(1);
        if length != entries.len() || g.start_index_map.iter().enumerate().any(twice) {
            return None;
        }
        let mut length = 1;
        let follows = |a: &Axis| {
            let fits = a.size == 1 || [a.src, a.dst].iter().all(|s| usize::try_from(*s) == Ok(length));
            length = length.saturating_mul(a.size);
            fits
        };
        let together = axes.iter().rev().all(follows);
        let size = x.dtype.size();
        let block = together.then(|| length.checked_mul(size)).flatten();
        let slice = Movement::new([x, y], axes, [0, 0])?;
        let far = |start: Option<usize>, each: &dyn Fn(&Batch) -> usize| {
            batch.iter().try_fold(start?, |n, b| n.checked_add(b.size.checked_sub(1)?.checked_mul(each(b))?))
        };
        let starts = entries.iter().try_fold(0usize, |n, e| n.checked_add(e.limit.checked_mul(e.stride)?));
        let (src, dst) = (far(starts, &|b| b.operand), far(Some(0), &|b| b.slices));
        let empty = batch.iter().any(|b| b.size == 0);
        if !empty && !slice.fits([x, y], [src?, dst?]) {
            return None;
        }
        let distance = i_strides.get(g.index_vector_dim).copied().unwrap_or(0);
        let reader = Reader::clamping(indices.dtype)?;
        Some(Slices { slice, block, size, starts: Starts::new(batch, entries, distance), reader })
    }

    /// Moves the slices of the index vectors that have these numbers.
    fn take(&self, args: &Args<'_>, numbers: std::ops::Range<usize>) {
        let (x, out, size) = (args.input_ptr::<u8>(0), args.output_ptr::<u8>(0), self.size);
        let indices = args.input_ptr::<u8>(1);
        macro_rules! element {
            ($t:ty) => {
                // SAFETY: index vectors among the indices, an element of the operand, and of the result.
                unsafe {
                    let (x, out) = (x.cast::<$t>(), out.cast::<$t>());
                    self.starts.each(numbers, self.reader, indices, |positions, slices| {
                        for (i, at) in positions.iter().enumerate() {
                            out.add(slices.at(i)).write(x.add(*at).read());
                        }
                    })
                }
            };
        }
        match self.block {
            Some(1) if size == 1 => element!(u8),
            Some(2) if size == 2 => element!(u16),
            Some(4) if size == 4 => element!(u32),
            Some(8) if size == 8 => element!([u32; 2]),
            // SAFETY: index vectors among the indices, a slice of the operand, and of the result, which are apart.
            Some(bytes) => unsafe {
                self.starts.each(numbers, self.reader, indices, |positions, slices| {
                    for (i, at) in positions.iter().enumerate() {
                        out.add(slices.at(i) * size).copy_from_nonoverlapping(x.add(at * size), bytes);
                    }
                });
            },
            // SAFETY: index vectors among the indices. Tensors of the types that this was made for, which are apart; the
            // shifts are not above those that fit.
            None => unsafe {
                self.starts.each(numbers, self.reader, indices, |positions, slices| {
                    for (i, at) in positions.iter().enumerate() {
                        self.slice.run_shifted(x, out, [*at, slices.at(i)]);
                    }
                });
            },
        }
    }
}
