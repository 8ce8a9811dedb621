//! Sorts lines by any comparator. The comparator is applied to elements in the evaluator's merge sort.
//!
//! The merge sort orders the indices of elements; then every operand is permuted accordingly. A long line is
//! cut into runs, which are sorted in parallel. Each round of merges is a phase of tasks.

use std::ops::Range;

use super::super::args::Args;
use super::super::body::Body;
use super::super::loops::prepared::PreparedKernel;
use super::super::scalars::{CopyElement, Frame, Scalars, copy_element};
use super::super::{InPlace, Kernel, Request, nothing};
use super::order::{self, Permute};
use super::{Begin, MIN_TASK_ELEMENTS, Shape, Sorted, end};

pub(crate) static KERNEL: Kernel =
    Kernel { name: "sort_by_region", prepare, in_place: |_| InPlace::Corresponding, describe: nothing };

/// Maximum number of runs of a long line that are sorted in parallel.
const MAX_RUNS: usize = 16;

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let [body] = request.bodies else { return None };
    let sorted = Sorted::of(request)?;
    let comparator = Comparator::new(request, body, &sorted)?;
    let permute = Permute::of(sorted.operands(), |_| true)?;
    let (shape, part) = (sorted.shape, sorted.part.clone());
    let tasks = sorted.tasks();
    let n = shape.length;
    let is_long = tasks.lines == 1 && n >= MIN_TASK_ELEMENTS;
    let frames = if is_long { MAX_RUNS } else { 1 };
    let frame = comparator.scalars.frame_bytes();
    let spare = end(0, n, 4)?;
    let frames_at = end(spare, n, 4)?;
    let room = frames_at.checked_add(frames.checked_mul(frame)?)?;
    let scratch = end(room, permute.room(part.len()), 1)?;
    let lines = RegionSort { comparator, permute, shape, part, spare, frames_at, frame, room };
    if is_long {
        return Some(lines.in_rounds()?.with_scratch(scratch));
    }
    let prepared = PreparedKernel::in_tasks(tasks.count, move |args, task| {
        let memory = args.ptr::<u8>(args.scratch_place().from(task * scratch));
        for begin in tasks.lines(task) {
            // SAFETY: the line lies in the operands and results, and no other task uses this scratch memory.
            unsafe { lines.sort(args, begin, memory) };
        }
    });
    let prepared = if sorted.elements < MIN_TASK_ELEMENTS { prepared } else { prepared.slow() };
    Some(prepared.with_scratch(scratch.checked_mul(tasks.count)?))
}

/// A comparator with the operands that it compares.
struct Comparator {
    scalars: Scalars,
    /// Compared operands: the number of the operand, the size of an element in bytes, and the function that
    /// copies an element.
    compared: Vec<(usize, usize, CopyElement)>,
    /// Captured values: the number of the kernel's input, the number of the comparator's argument, and the
    /// function that copies the value.
    captured: Vec<(usize, usize, CopyElement)>,
}

impl Comparator {
    fn new(request: &Request<'_>, body: &Body, sorted: &Sorted) -> Option<Comparator> {
        let count = sorted.types.len();
        let captures = request.inputs.get(count..)?;
        let pairs = sorted.types.iter().flat_map(|dtype| [*dtype; 2]);
        let dtypes = pairs.chain(captures.iter().map(|ty| ty.dtype));
        let [less] = body.returned[..] else { return None };
        let is_pred = body.ty(less)?.dtype.is_bool();
        if !body.args.iter().map(|ty| ty.dtype).eq(dtypes) || !is_pred {
            return None;
        }
        let is_taken = |arg: usize| less == arg || body.insts.iter().any(|inst| inst.operands.contains(&arg));
        let (mut compared, mut captured) = (Vec::new(), Vec::new());
        for (i, dtype) in
            sorted.types.iter().enumerate().filter(|(i, _)| is_taken(2 * i) || is_taken(2 * i + 1))
        {
            if sorted.counted[i] {
                return None;
            }
            compared.push((i, dtype.size(), copy_element(dtype.size())?));
        }
        for (i, ty) in captures.iter().enumerate() {
            (ty.elements() == Some(1)).then_some(())?;
            captured.push((count + i, 2 * count + i, copy_element(ty.dtype.size())?));
        }
        Some(Comparator { scalars: Scalars::new(body)?, compared, captured })
    }
}

struct RegionSort {
    comparator: Comparator,
    permute: Permute,
    shape: Shape,
    part: Range<usize>,
    /// Offsets in the scratch memory, except for `frame`, the size of a frame. The sorted indices come first,
    /// then (at `spare`) room for as many indices, then the frames, then room for permuted elements.
    spare: usize,
    frames_at: usize,
    frame: usize,
    room: usize,
}

/// Applies the comparator to the elements of a line.
struct Comparing<'a> {
    lines: &'a RegionSort,
    frame: Frame<'a>,
    /// For each compared operand, the first element of its line.
    first: Vec<*const u8>,
}

impl Comparing<'_> {
    /// Returns true if element `a` comes before element `b`.
    ///
    /// # Safety
    /// `a` and `b` must be indices of elements of the line.
    #[inline]
    unsafe fn less(&mut self, a: u32, b: u32) -> bool {
        let stride = self.lines.shape.stride;
        for ((operand, size, copy), first) in self.lines.comparator.compared.iter().zip(&self.first) {
            // SAFETY: the caller guarantees that the elements are in the line; `arg` has room for an element
            // of an argument's type.
            unsafe {
                copy(first.add(a as usize * stride * size), self.frame.arg(2 * operand));
                copy(first.add(b as usize * stride * size), self.frame.arg(2 * operand + 1));
            }
        }
        // SAFETY: the arguments that the comparator uses have been written; it returns a `pred`.
        unsafe {
            self.frame.apply();
            self.frame.result(0).read() != 0
        }
    }
}

/// # Safety
/// For all functions: `begin` must be the first element of a line of the operands and results that the sort
/// was prepared for, and the scratch memory must have the prepared size. Nothing else may use the parts of
/// the scratch memory that the `# Safety` section of a function names.
impl RegionSort {
    /// Returns the comparator for a line, with its frame.
    ///
    /// # Safety
    /// Nothing else may use this frame.
    unsafe fn comparing(
        &self,
        args: &Args<'_>,
        begin: Begin,
        memory: *mut u8,
        frame: usize,
    ) -> Comparing<'_> {
        let Comparator { scalars, compared, captured } = &self.comparator;
        // SAFETY: the caller guarantees the frame in the scratch memory and the lines of the operands. A
        // captured value has one element.
        unsafe {
            let frame = scalars.frame(memory.add(self.frames_at + frame * self.frame));
            for (input, arg, copy) in captured {
                copy(args.input_ptr(*input), frame.arg(*arg));
            }
            let first = |(operand, size, _): &(usize, usize, CopyElement)| {
                args.input_ptr::<u8>(*operand).add(begin.input * size)
            };
            Comparing { lines: self, frame, first: compared.iter().map(first).collect() }
        }
    }

    /// Returns two parts of the scratch memory for this range of elements: the sorted indices, and the spare
    /// room.
    ///
    /// # Safety
    /// Nothing else may use these indices of the two parts.
    unsafe fn numbers<'a>(&self, memory: *mut u8, range: Range<usize>) -> [&'a mut [u32]; 2] {
        // SAFETY: the caller guarantees the scratch memory, which has room for an index per element in both
        // parts.
        [0, self.spare].map(|part| unsafe {
            std::slice::from_raw_parts_mut(memory.add(part).cast::<u32>().add(range.start), range.len())
        })
    }

    /// Sorts a line and writes the results.
    ///
    /// # Safety
    /// Nothing else may use the scratch memory.
    unsafe fn sort(&self, args: &Args<'_>, begin: Begin, memory: *mut u8) {
        // SAFETY: the caller guarantees the line and its scratch memory.
        unsafe {
            self.sort_run(args, begin, memory, 0..self.shape.length, 0);
            self.permute(args, begin, memory, false);
        }
    }

    /// Sorts a range of elements of a line.
    ///
    /// # Safety
    /// Nothing else may use these indices and this frame.
    unsafe fn sort_run(
        &self,
        args: &Args<'_>,
        begin: Begin,
        memory: *mut u8,
        range: Range<usize>,
        frame: usize,
    ) {
        // SAFETY: the caller upholds the same contract; all indices are below the length of the line.
        unsafe {
            let [order, spare] = self.numbers(memory, range.clone());
            order.iter_mut().zip(range).for_each(|(to, i)| *to = i as u32);
            let mut comparing = self.comparing(args, begin, memory, frame);
            order::merge_sort(order, spare, |a, b| comparing.less(a, b));
        }
    }

    /// Writes the results, in the order of the sorted indices. If `swapped`, the sorted indices are in the
    /// spare part.
    ///
    /// # Safety
    /// Nothing else may use the scratch memory.
    unsafe fn permute(&self, args: &Args<'_>, begin: Begin, memory: *mut u8, swapped: bool) {
        // SAFETY: the caller upholds the same contract; all indices are below the length of the line.
        unsafe {
            let numbers = self.numbers(memory, 0..self.shape.length);
            let order = &numbers[usize::from(swapped)][self.part.clone()];
            self.permute.lines(args, begin, self.shape.stride, order, memory.add(self.room));
        }
    }

    /// Prepares the sort of a single long line.
    fn in_rounds(self) -> Option<PreparedKernel> {
        let lines = std::sync::Arc::new(self);
        let n = lines.shape.length;
        let begin = Begin { input: 0, output: 0 };
        // The evaluator's merge sort merges the same runs, since the length of a run is a power of two.
        let run = n.div_ceil(MAX_RUNS).checked_next_power_of_two()?;
        let of = std::sync::Arc::clone(&lines);
        let mut all = PreparedKernel::in_tasks(n.div_ceil(run), move |args, task| {
            let range = task * run..((task + 1) * run).min(n);
            // SAFETY: this is the only line; tasks use disjoint indices and frames.
            unsafe { of.sort_run(args, begin, args.ptr(args.scratch_place()), range, task) };
        });
        let (mut width, mut swapped) = (run, false);
        while width < n {
            let of = std::sync::Arc::clone(&lines);
            all = all.then(PreparedKernel::in_tasks(n.div_ceil(2 * width), move |args, task| {
                let range = task * 2 * width..((task + 1) * 2 * width).min(n);
                // SAFETY: this is the only line; tasks use disjoint indices and frames.
                unsafe {
                    let memory = args.ptr::<u8>(args.scratch_place());
                    let [mut from, mut to] = of.numbers(memory, range);
                    if swapped {
                        std::mem::swap(&mut from, &mut to);
                    }
                    let mut comparing = of.comparing(args, begin, memory, task);
                    order::merge_runs(from, to, width, |a, b| comparing.less(a, b));
                }
            }));
            (width, swapped) = (2 * width, !swapped);
        }
        all = all.then(PreparedKernel::new(move |args| {
            // SAFETY: this is the only line, and no other task is running.
            unsafe { lines.permute(args, begin, args.ptr(args.scratch_place()), swapped) };
        }));
        Some(all.slow())
    }
}
