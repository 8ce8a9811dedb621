//! `sort` by comparators that are recognized: they order by the elements of one operand, or lexicographically
//! by the elements of several operands.
//!
//! ```text
//! comparator ──order──▶ keys ──read──▶ order-preserving integers ──quick, radix──▶ the sorted line
//! ```
//!
//! Keys of four bytes are sorted directly in the result ([`in_place`]), other keys in scratch memory. If a
//! line has one operand, or a key operand and a second operand with elements of four bytes (the payload), its
//! items are sorted: each item is a key and its payload, if any ([`line`]). For lines with more operands, the
//! indices of the elements are sorted, and the operands are permuted accordingly ([`order`]). If only the
//! first or the last elements of a line are wanted, these elements are selected, and only they are sorted
//! ([`part`]). Lines with elements that are neither less than, greater than nor equal to others (NaNs) are
//! sorted by the evaluator's merge sort, to produce the same permutation. The same merge sort applies all
//! other comparators to elements ([`by_region`]).

mod by_region;
mod comparator;
mod element;
mod in_place;
mod item;
mod line;
mod order;
mod part;
mod quick;
mod radix;

use std::ops::Range;

use farcall_ir::interrupt::Pace;
use farcall_ir::op::FormOp;
use farcall_ir::{DType, Op, TensorType};

use super::args::Args;
use super::loops::prepared::PreparedKernel;
use super::{InPlace, Kernel, Request, apart, nothing};
use comparator::{Key, Order};

pub(super) static KERNEL: Kernel =
    Kernel { name: "sort", prepare: whole, in_place: |_| InPlace::Corresponding, describe: nothing };

/// Kernel for sorts of which only a part of each line is a result.
pub(super) static PART_KERNEL: Kernel =
    Kernel { name: "sort_part", prepare: some, in_place: apart, describe: describe_part };

pub(super) use by_region::KERNEL as BY_REGION;

/// Minimum number of elements of a task, and of an operand for which the kernel is marked
/// [slow](PreparedKernel::slow).
const MIN_TASK_ELEMENTS: usize = 1 << 15;
/// Maximum number of tasks. Each task has scratch memory for a line.
const MAX_TASKS: usize = 16;

fn whole(request: &Request<'_>) -> Option<PreparedKernel> {
    if matches!(request.op, Op::Sort { .. }) { prepare(request) } else { None }
}

fn some(request: &Request<'_>) -> Option<PreparedKernel> {
    if matches!(request.op, Op::Form(FormOp::PartialSort { .. })) { prepare(request) } else { None }
}

fn describe_part(request: &Request<'_>) -> String {
    match request.op {
        Op::Form(FormOp::PartialSort { part, .. }) => format!("{} to {}", part.start, part.end),
        _ => String::new(),
    }
}

/// A sort whose operands have been checked.
struct Sorted {
    types: Vec<DType>,
    /// For each operand, true if it is an iota, which has no memory.
    counted: Vec<bool>,
    shape: Shape,
    /// The part of each line that is a result.
    part: Range<usize>,
    elements: usize,
}

impl Sorted {
    /// Returns `None` if operands and results do not match. There must be at least as many operands as
    /// results.
    fn of(request: &Request<'_>) -> Option<Sorted> {
        let (dim, part) = match request.op {
            Op::Sort { dim, .. } => (dim, None),
            Op::Form(FormOp::PartialSort { dim, part, .. }) => (dim, Some(part.clone())),
            _ => return None,
        };
        let outputs = request.outputs;
        let inputs = request.inputs.get(..outputs.len())?;
        let first = inputs.first()?;
        let elements = first.elements()?;
        let length = *first.sizes().get(*dim)?;
        u32::try_from(length).ok()?;
        let part = part.unwrap_or(0..length);
        if part.start > part.end || part.end > length {
            return None;
        }
        let mut sizes = first.sizes().to_vec();
        sizes[*dim] = part.len();
        let is_part = |(x, y): (&&TensorType, &&TensorType)| {
            x.sizes() == first.sizes() && x.dtype == y.dtype && y.sizes() == sizes
        };
        if !inputs.iter().zip(outputs).all(is_part) {
            return None;
        }
        let types: Vec<DType> = inputs.iter().map(|x| x.dtype).collect();
        let mut counted = vec![false; inputs.len()];
        for (i, counted) in counted.iter_mut().enumerate() {
            let Some(along) = request.iota(i) else { continue };
            // The elements of the iota are the positions in the line.
            *counted = along == *dim && matches!(types[i], DType::S32 | DType::U32 | DType::S64 | DType::U64);
            counted.then_some(())?;
        }
        let stride = if elements == 0 { 0 } else { first.sizes()[dim + 1..].iter().product() };
        Some(Sorted { types, counted, shape: Shape { length, stride }, part, elements })
    }

    fn operands(&self) -> Operands<'_> {
        Operands { types: &self.types, counted: &self.counted }
    }

    /// Divides the lines among tasks.
    fn tasks(&self) -> Tasks {
        let (length, stride) = (self.shape.length, self.shape.stride);
        let lines = self.elements.checked_div(length).unwrap_or(0);
        let per_task = (MIN_TASK_ELEMENTS / length.max(1)).max(lines.div_ceil(MAX_TASKS)).max(1);
        let count = lines.div_ceil(per_task).max(1);
        Tasks { count, per_task, lines, length, stride, wanted: self.part.len() }
    }
}

/// Division of lines among tasks.
#[derive(Clone, Copy)]
struct Tasks {
    count: usize,
    per_task: usize,
    lines: usize,
    length: usize,
    stride: usize,
    /// Number of elements of a line of the results.
    wanted: usize,
}

impl Tasks {
    /// Returns an iterator over the lines of a task. Its items are the first element of each line.
    fn lines(self, task: usize) -> impl Iterator<Item = Begin> {
        (task * self.per_task..((task + 1) * self.per_task).min(self.lines)).map(move |line| {
            let begin = |length: usize| line / self.stride * self.stride * length + line % self.stride;
            Begin { input: begin(self.length), output: begin(self.wanted) }
        })
    }
}

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let [body] = request.bodies else { return None };
    if request.inputs.len() != request.outputs.len() {
        return None;
    }
    let sorted = Sorted::of(request)?;
    let (shape, part, elements) = (sorted.shape, sorted.part.clone(), sorted.elements);
    let length = shape.length;
    let keys: Vec<Key> = comparator::order(body, request.inputs)?;
    if keys.iter().any(|key| sorted.counted[key.operand]) {
        return None;
    }
    let operands = sorted.operands();
    let is_whole = part.len() == length;
    if is_whole
        && elements == length
        && let Some(prepared) = in_place::long_line(operands, &keys, shape)
    {
        return Some(prepared);
    }
    // The sorter `alone` may find unordered elements in a line. The second sorter, `by_order`, then sorts the
    // line.
    let alone = if is_whole {
        in_place::sorter(operands, &keys, shape).or_else(|| line::sorter(operands, &keys, shape))
    } else {
        part::sorter(operands, &keys, shape, &part)
    };
    let by_order = match &alone {
        Some(_) if !keys.iter().any(Key::may_be_unordered) => None,
        Some(_) if is_whole && sorted.types.len() == 1 => Some(line::merger(operands, &keys, shape)?),
        alone => Some(order::sorter(operands, keys, shape, part.clone(), alone.is_some())?),
    };
    let scratch = [&alone, &by_order].into_iter().flatten().map(|s| s.scratch).max().unwrap_or(0);
    let scratch = scratch.checked_next_multiple_of(64)?;
    let tasks = sorted.tasks();
    let prepared = PreparedKernel::in_tasks(tasks.count, move |args, task| {
        // Scratch memory that no other task uses.
        let room = args.ptr::<u8>(args.scratch_place().from(task * scratch));
        let mut pace = Pace::default();
        for begin in tasks.lines(task) {
            if pace.is_due_after(length) {
                return;
            }
            let sorted = |s: &Option<Sorter>| s.as_ref().is_some_and(|s| (s.sort)(args, begin, room));
            let _ = sorted(&alone) || sorted(&by_order);
        }
    });
    let prepared = if elements < MIN_TASK_ELEMENTS { prepared } else { prepared.slow() };
    Some(prepared.with_scratch(scratch.checked_mul(tasks.count)?))
}

/// Indices of the first element of a line, in the operands and in the results.
#[derive(Clone, Copy)]
struct Begin {
    input: usize,
    output: usize,
}

/// The operands of a sort.
#[derive(Clone, Copy)]
struct Operands<'a> {
    types: &'a [DType],
    /// For each operand, true if it has no memory: its elements are the positions in the line, integers of
    /// four or eight bytes.
    counted: &'a [bool],
}

/// Returns the end of a part of scratch memory that starts at `begin` and has `count` items of `size` bytes.
/// The end is aligned, so that the next part can start there.
fn end(begin: usize, count: usize, size: usize) -> Option<usize> {
    begin.checked_add(count.checked_mul(size)?)?.checked_next_multiple_of(64)
}

/// A method of sorting lines.
struct Sorter {
    /// Size in bytes of the scratch memory that the method needs.
    scratch: usize,
    /// Sorts the line that starts at the given elements. Returns false if the line is unordered and was left
    /// unchanged.
    ///
    /// The caller must provide scratch memory of [`Sorter::scratch`] bytes.
    sort: SortLine,
}

type SortLine = Box<dyn Fn(&Args<'_>, Begin, *mut u8) -> bool + Send + Sync>;

/// Shape of the lines of all operands.
#[derive(Clone, Copy)]
struct Shape {
    /// Number of elements of a line, which fits in 32 bits.
    length: usize,
    /// Distance between adjacent elements.
    stride: usize,
}

impl Key {
    fn may_be_unordered(&self) -> bool {
        self.order == Order::Numbers && self.dtype.is_float()
    }
}
