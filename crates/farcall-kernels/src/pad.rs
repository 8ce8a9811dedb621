//! `pad`: padding around and between the operand's elements.

use farcall_ir::op::Pad;
use farcall_ir::{Op, TensorType};

use super::loops::prepared::PreparedKernel;
use super::loops::vector::broadcast::splat;
use super::loops::vector::padding::Padded;
use super::loops::{data_movement, straight_line};
use super::movement::{Axis, Movement, fill, row_major};
use super::{Kernel, Request, apart, nothing};

pub(super) static KERNEL: Kernel = Kernel { name: "pad", prepare, in_place: apart, describe: nothing };

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::Pad(p), [x, value], [y]) = (request.op, request.inputs, request.outputs) else { return None };
    if x.dtype != y.dtype || value.dtype != y.dtype || value.elements() != Some(1) {
        return None;
    }
    let filling = Movement::new([value, y], fill(y, |_| 0), [0, 0])?;
    let inside = inside(x, y, p)?;
    if y.bytes().is_some_and(|n| n <= straight_line::MAX_MOVEMENT_BYTES) {
        return data_movement::movements(y.dtype.size(), [(1, filling), (0, inside)]);
    }
    match Padded::new(x, y, p) {
        Some(padded) => parts(padded, y),
        None => Some(PreparedKernel::new(move |args| {
            // SAFETY: the tensors have these types, and the output does not overlap the inputs.
            unsafe {
                filling.run(args.input_ptr(1), args.output_ptr(0));
                inside.run(args.input_ptr(0), args.output_ptr(0));
            }
        })),
    }
}

/// Number of elements that are filled with the padding value before the operand's elements are written over
/// them. The filled elements are still in the cache then.
const PART_ELEMENTS: usize = 1 << 12;
/// Minimum number of bytes that a task writes.
const MIN_TASK_BYTES: usize = 1 << 18;

/// Prepares a kernel that writes one part of the padded tensor after another, in tasks.
fn parts(padded: Padded, y: &TensorType) -> Option<PreparedKernel> {
    let (n, size) = (y.elements()?, y.dtype.size());
    let share = (MIN_TASK_BYTES / size).max(PART_ELEMENTS);
    Some(PreparedKernel::in_tasks(n.div_ceil(share), move |args, task| {
        let (from, value, to) = (args.input_ptr(0), args.input_ptr(1), args.output_ptr::<u8>(0));
        let end = ((task + 1) * share).min(n);
        for start in (task * share..end).step_by(PART_ELEMENTS) {
            let len = PART_ELEMENTS.min(end - start);
            // SAFETY: the tensors have these types; the output has these elements and is disjoint from both
            // inputs.
            unsafe {
                let to = to.add(start * size);
                splat(value, to, size, len);
                padded.run(from, to, [start, len]);
            }
        }
    }))
}

/// Returns the movement of the operand's elements to their places in the result.
fn inside(x: &TensorType, y: &TensorType, p: &Pad) -> Option<Movement> {
    let rank = x.rank();
    if [y.rank(), p.low.len(), p.interior.len()] != [rank; 3] || p.interior.iter().any(|i| *i < 0) {
        return None;
    }
    let (src_strides, dst_strides) = (row_major(x.sizes()), row_major(y.sizes()));
    let (mut axes, mut src, mut dst) = (Vec::new(), 0usize, 0usize);
    for (d, size) in x.sizes().iter().enumerate() {
        // Element `i` goes to `low + i * step`; elements that fall outside are cut off.
        let step = i128::from(p.interior[d]) + 1;
        let (low, end) = (i128::from(p.low[d]), y.sizes()[d] as i128);
        let first = if low < 0 { (-low + step - 1) / step } else { 0 };
        let last = ((end - 1 - low).div_euclid(step)).min(*size as i128 - 1);
        let size = usize::try_from(last - first + 1).unwrap_or(0);
        // If all elements are cut off, no element of the operand is moved.
        let at = |first: i128, stride: isize| match size {
            0 => Some(0),
            _ => usize::try_from(first).ok()?.checked_mul(stride.unsigned_abs()),
        };
        src = src.checked_add(at(first, src_strides[d])?)?;
        dst = dst.checked_add(at(low + first * step, dst_strides[d])?)?;
        let step = isize::try_from(step).unwrap_or(isize::MAX);
        axes.push(Axis { size, src: src_strides[d], dst: dst_strides[d].saturating_mul(step) });
    }
    Movement::new([x, y], axes, [src, dst])
}
