//! `pad`: padding around and between the operand's elements.

use farcall_ir::{Op, TensorType};

use super::loops::prepared::PreparedKernel;
use super::loops::vector::fill::splat;
use super::loops::{data_movement, straight_line};
use super::movement::{Movement, fill};
use super::{Kernel, Request, apart, nothing};

pub(super) static KERNEL: Kernel = Kernel { name: "pad", prepare, in_place: apart, describe: nothing };

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::Pad(p), [x, value], [y]) = (request.op, request.inputs, request.outputs) else { return None };
    if x.dtype != y.dtype || value.dtype != y.dtype || value.elements() != Some(1) {
        return None;
    }
    let filling = Movement::new([value, y], fill(y, |_| 0), [0, 0])?;
    let inside = Movement::pad(x, y, p)?;
    if y.bytes().is_some_and(|n| n <= straight_line::MAX_MOVEMENT_BYTES) {
        return data_movement::movements([(1, filling), (0, inside)]);
    }
    parts(inside.in_order()?, y)
}

/// Number of elements that are filled with the padding value before the operand's elements are written over
/// them. The filled elements are still in the cache then.
const PART_ELEMENTS: usize = 1 << 12;
/// Minimum number of bytes that a task writes.
const MIN_TASK_BYTES: usize = 1 << 18;

/// Prepares a kernel that writes one part of the padded tensor after another, in tasks.
fn parts(inside: Movement, y: &TensorType) -> Option<PreparedKernel> {
    let (n, size) = (y.elements()?, y.dtype.size());
    let share = (MIN_TASK_BYTES / size).max(PART_ELEMENTS);
    Some(PreparedKernel::in_tasks(n.div_ceil(share), move |args, task| {
        let (from, value, to) = (args.input_ptr(0), args.input_ptr(1), args.output_ptr::<u8>(0));
        let end = ((task + 1) * share).min(n);
        for start in (task * share..end).step_by(PART_ELEMENTS) {
            let len = PART_ELEMENTS.min(end - start);
            // SAFETY: the tensors have these types; the output has these elements and is disjoint from both
            // inputs. `prepare` passes a movement in order.
            unsafe {
                let to = to.add(start * size);
                splat(value, to, size, len);
                inside.run_within(from, to, [start, len]);
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use farcall_ir::DType;
    use farcall_ir::op::Pad;

    use super::*;
    use crate::tests::Random;

    /// Compares parts of padded tensors with the same elements computed one by one.
    #[test]
    fn parts_of_padded_tensors() {
        let mut r = Random(1);
        let mut below = |n: usize| r.below(n);
        let mut checked = 0;
        for _ in 0..4000 {
            let rank = 1 + below(3);
            let mut sizes = || (0..rank).map(|_| 1 + below(4)).collect::<Vec<usize>>();
            let from = sizes();
            let plain = below(3);
            let mut edge = |d: usize| if d % 3 == plain { 0 } else { below(5) as i64 - 2 };
            let [low, high]: [Vec<i64>; 2] = [0; 2].map(|_| (0..rank).map(&mut edge).collect());
            let interior: Vec<i64> =
                (0..rank).map(|d| if d % 3 == plain { 0 } else { below(3) as i64 }).collect();
            let size = |d: usize| low[d] + high[d] + from[d] as i64 + (from[d] as i64 - 1) * interior[d];
            let Some(to) = (0..rank)
                .map(|d| usize::try_from(size(d)).ok().filter(|n| *n > 0))
                .collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            let [x, y] = [&from, &to].map(|sizes| TensorType::new(DType::U16, sizes.clone()));
            let pad = Pad { low: low.clone(), high, interior: interior.clone() };
            let padded = Movement::pad(&x, &y, &pad).and_then(Movement::in_order).unwrap();
            let elements: Vec<u16> = (1..=x.elements().unwrap() as u16).collect();
            let wanted: Vec<u16> = (0..y.elements().unwrap())
                .map(|number| {
                    let (mut rest, mut at, mut stride) = (number, 0, 1);
                    for d in (0..rank).rev() {
                        let place = (rest % to[d]) as i64 - low[d];
                        rest /= to[d];
                        let element = place.div_euclid(interior[d] + 1);
                        if place < 0 || place % (interior[d] + 1) != 0 || element >= from[d] as i64 {
                            return 0;
                        }
                        at += element as usize * stride;
                        stride *= from[d];
                    }
                    elements[at]
                })
                .collect();
            let start = below(wanted.len());
            let len = 1 + below(wanted.len() - start);
            let mut found = vec![0u16; len];
            // SAFETY: the tensor has the type that `padded` was created for, and `found` has room for the
            // elements.
            unsafe { padded.run_within(elements.as_ptr().cast(), found.as_mut_ptr().cast(), [start, len]) };
            assert_eq!(
                found,
                wanted[start..start + len],
                "{len} elements from {start} on, {pad:?} of {from:?}"
            );
            checked += 1;
        }
        assert!(checked > 2000, "only {checked} of 4000 padded tensors were compared");
    }
}
