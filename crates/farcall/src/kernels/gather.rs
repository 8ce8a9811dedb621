//! `gather`: slices of the operand whose positions are data.

use farcall_ir::op::Gather;
use farcall_ir::{Op, TensorType};

use super::args::{Args, Prepared};
use super::movement::{Axis, Movement, row_major};
use super::types::{ReadIndex, index_reader};
use super::{Kernel, Request, apart, nothing};

pub(super) static KERNEL: Kernel = Kernel { name: "gather", prepare, in_place: apart, describe: nothing };

/// Elements from which on a run may take long.
const SLOW: usize = 1 << 20;

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Gather(g), [x, indices], [y]) = (request.op, request.inputs, request.outputs) else {
        return None;
    };
    let slices = Slices::new(g, x, indices, y)?;
    let slow = y.elements()? >= SLOW;
    let prepared = Prepared::new(move |args| slices.each(args, &slices.batch, 0, [0, 0]));
    Some(if slow { prepared.slow() } else { prepared })
}

/// Which slices become which part of the result.
struct Slices {
    /// The movement of the slice that begins at the operand's first element to the begin of the result.
    slice: Movement,
    /// The dimensions of the indices, but for that along which the entries of one lie.
    batch: Vec<Batch>,
    /// Per entry of an index: the largest value that keeps the slice inside (others are clamped), and the
    /// stride in the operand.
    entries: Vec<(usize, usize)>,
    /// Distance of the entries, and bytes of one.
    entry: (usize, usize),
    read: ReadIndex,
}

/// A dimension of the indices; strides in elements.
struct Batch {
    size: usize,
    indices: usize,
    /// Not 0 if the slices are taken from a part of the operand for each.
    operand: usize,
    result: usize,
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
                result: y_strides[*to],
            })
        });
        let batch: Vec<Batch> = batch.collect::<Option<_>>()?;

        let entries = g.start_index_map.iter().map(|d| Some((limit(*d)?, x_strides[*d])));
        let entries: Vec<(usize, usize)> = entries.collect::<Option<_>>()?;
        let twice = |(i, d): (usize, &usize)| g.start_index_map[..i].contains(d);
        let length = indices.sizes().get(g.index_vector_dim).copied().unwrap_or(1);
        if length != entries.len() || g.start_index_map.iter().enumerate().any(twice) {
            return None;
        }
        let slice = Movement::new([x, y], axes, [0, 0])?;
        let far = |start: Option<usize>, each: &dyn Fn(&Batch) -> usize| {
            batch.iter().try_fold(start?, |n, b| n.checked_add(b.size.checked_sub(1)?.checked_mul(each(b))?))
        };
        let starts =
            entries.iter().try_fold(0usize, |n, (limit, stride)| n.checked_add(limit.checked_mul(*stride)?));
        let (src, dst) = (far(starts, &|b| b.operand), far(Some(0), &|b| b.result));
        let empty = batch.iter().any(|b| b.size == 0);
        if !empty && !slice.fits([x, y], [src?, dst?]) {
            return None;
        }
        let entry = (i_strides.get(g.index_vector_dim).copied().unwrap_or(0), indices.dtype.size());
        Some(Slices { slice, batch, entries, entry, read: index_reader(indices.dtype)? })
    }

    /// Moves the slices for the dimensions of the indices that are left, from these elements on: of the indices,
    /// of operand and result.
    fn each(&self, args: &Args<'_>, left: &[Batch], index: usize, at: [usize; 2]) {
        let [src, dst] = at;
        if let [outer, rest @ ..] = left {
            for i in 0..outer.size {
                let at = [src + i * outer.operand, dst + i * outer.result];
                self.each(args, rest, index + i * outer.indices, at);
            }
            return;
        }
        let (distance, size) = self.entry;
        let start = self.entries.iter().enumerate().map(|(i, (limit, stride))| {
            // SAFETY: an element of the indices.
            stride
                * unsafe { (self.read)(args.input_ptr::<u8>(1).add((index + i * distance) * size), *limit) }
        });
        let src = src + start.sum::<usize>();
        // SAFETY: tensors of the types that this was made for, which are apart; the shifts are not above those
        // that fit.
        unsafe { self.slice.run_shifted(args.input_ptr(0), args.output_ptr(0), [src, dst]) };
    }
}
