//! `sort` by comparators that it understands: those that order by the elements of one operand, or lexicographically
//! by those of several.
//!
//! ```text
//! comparator ──order──▶ keys ──read──▶ integers of the same order ──radix──▶ the line in order
//! ```
//!
//! Lines of one operand, or of a key and what goes with it in four bytes, are sorted as they are ([`line`]). In others,
//! the numbers of elements are sorted, and the operands brought in this order ([`order`]). Lines with elements that are
//! neither less than, greater than nor equal to others (NaNs) are merged like in the evaluator, to produce the same
//! permutation.

mod comparator;
mod element;
mod line;
mod order;
mod radix;

use farcall_ir::{DType, Op};

use super::args::{Args, Prepared};
use super::{InPlace, Kernel, Request, nothing};
use comparator::{Key, Order};

pub(super) static KERNEL: Kernel =
    Kernel { name: "sort", prepare, in_place: |_| InPlace::Corresponding, describe: nothing };

/// Elements of a task, and from which on a run may take long.
const TASK: usize = 1 << 15;
/// Most tasks, each of which has scratch memory for a line.
const MOST_TASKS: usize = 16;

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Sort { dim, .. }, [body]) = (request.op, request.bodies) else { return None };
    let first = request.inputs.first()?;
    let elements = first.elements()?;
    let (inputs, outputs) = (request.inputs, request.outputs);
    if inputs != outputs || inputs.iter().any(|x| x.sizes() != first.sizes()) {
        return None;
    }
    let types: Vec<DType> = inputs.iter().map(|x| x.dtype).collect();
    let keys: Vec<Key> = comparator::order(body, inputs)?;
    let length = *first.sizes().get(*dim)?;
    u32::try_from(length).ok()?;
    let stride = if elements == 0 { 0 } else { first.sizes()[dim + 1..].iter().product() };
    let shape = Shape { length, stride };
    // What is sorted as it is may turn out to be unordered.
    let alone = line::sorter(&types, &keys, shape);
    let by_order = match &alone {
        Some(_) if !keys.iter().any(Key::may_be_unordered) => None,
        _ => Some(order::sorter(&types, keys, shape)?),
    };
    let scratch = [&alone, &by_order].into_iter().flatten().map(|s| s.scratch).max().unwrap_or(0);
    let scratch = scratch.checked_next_multiple_of(64)?;
    let lines = elements.checked_div(length).unwrap_or(0);
    let per_task = (TASK / length.max(1)).max(lines.div_ceil(MOST_TASKS)).max(1);
    let tasks = lines.div_ceil(per_task).max(1);
    let prepared = Prepared::in_tasks(tasks, move |args, task| {
        let room = args.ptr::<u8>(args.scratch_place().from(task * scratch));
        for line in task * per_task..((task + 1) * per_task).min(lines) {
            let begin = line / stride * stride * length + line % stride;
            // The first element of a line, and scratch memory that no other task uses.
            let sorted = |s: &Option<Sorter>| s.as_ref().is_some_and(|s| (s.sort)(args, begin, room));
            let _ = sorted(&alone) || sorted(&by_order);
        }
    });
    let prepared = if elements < TASK { prepared } else { prepared.slow() };
    Some(prepared.with_scratch(scratch.checked_mul(tasks)?))
}

/// A way to sort lines.
struct Sorter {
    /// Bytes of scratch memory that it needs.
    scratch: usize,
    /// Sorts the line that begins at an element; false if it has no order, and was left as it is.
    ///
    /// To be called with the number of the line's first element, and scratch memory.
    sort: SortLine,
}

type SortLine = Box<dyn Fn(&Args<'_>, usize, *mut u8) -> bool + Send + Sync>;

/// The lines of all operands.
#[derive(Clone, Copy)]
struct Shape {
    /// Elements of a line, whose number fits into 32 bits.
    length: usize,
    /// Distance of neighbours.
    stride: usize,
}

impl Key {
    fn may_be_unordered(&self) -> bool {
        self.order == Order::Numbers && self.dtype.is_float()
    }
}
