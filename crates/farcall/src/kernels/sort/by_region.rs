//! Sorts lines by any comparator: it is applied to elements, in the evaluator's merge sort.
//!
//! The numbers of elements are merged, then every operand is permuted. A long line is cut into runs that
//! tasks sort; each round of merges is a phase.

use std::ops::Range;

use farcall_ir::Op;

use super::order::{self, Permute};
use super::{Begin, Shape, Sorted, TASK, end};
use crate::kernels::args::{Args, Prepared};
use crate::kernels::body::Body;
use crate::kernels::scalars::{CopyElement, Frame, Scalars, copy_element};
use crate::kernels::{InPlace, Kernel, Request, nothing};

pub(in crate::kernels) static KERNEL: Kernel =
    Kernel { name: "sort_by_region", prepare, in_place: |_| InPlace::Corresponding, describe: nothing };

/// Maximum number of runs of a long line that are sorted at once.
const MAX_RUNS: usize = 16;

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Sort { .. }, [body]) = (request.op, request.bodies) else { return None };
    let sorted = Sorted::of(request)?;
    let comparator = Comparator::new(request, body, &sorted)?;
    let permute = Permute::of(sorted.operands(), |_| true)?;
    let (shape, part) = (sorted.shape, sorted.part.clone());
    let tasks = sorted.tasks();
    let n = shape.length;
    let is_long = tasks.lines == 1 && n >= TASK;
    let frames = if is_long { MAX_RUNS } else { 1 };
    let frame = comparator.scalars.frame_bytes();
    let spare = end(0, n, 4)?;
    let frames_at = end(spare, n, 4)?;
    let room = frames_at.checked_add(frames.checked_mul(frame)?)?;
    let scratch = end(room, permute.room(part.len()), 1)?;
    let lines = Lines { comparator, permute, shape, part, spare, frames_at, frame, room };
    if is_long {
        return Some(lines.in_rounds()?.with_scratch(scratch));
    }
    let prepared = Prepared::in_tasks(tasks.count, move |args, task| {
        let memory = args.ptr::<u8>(args.scratch_place().from(task * scratch));
        for begin in tasks.lines(task) {
            // SAFETY: a line, and scratch memory that no other task uses.
            unsafe { lines.sort(args, begin, memory) };
        }
    });
    let prepared = if sorted.elements < TASK { prepared } else { prepared.slow() };
    Some(prepared.with_scratch(scratch.checked_mul(tasks.count)?))
}

/// A comparator with the operands that it compares.
struct Comparator {
    scalars: Scalars,
    /// Operands whose elements it takes: number, bytes of an element, and the function that copies one.
    compared: Vec<(usize, usize, CopyElement)>,
    /// Captured values: the input, the argument, and the function that copies it.
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

struct Lines {
    comparator: Comparator,
    permute: Permute,
    shape: Shape,
    part: Range<usize>,
    /// Offsets in the scratch memory: the sorted numbers come first, then room for as many.
    spare: usize,
    frames_at: usize,
    frame: usize,
    room: usize,
}

/// Applies the comparator to the elements of a line.
struct Comparing<'a> {
    lines: &'a Lines,
    frame: Frame<'a>,
    /// The first element of the line of each operand that is compared.
    first: Vec<*const u8>,
}

impl Comparing<'_> {
    /// True if element `a` comes before element `b`.
    ///
    /// # Safety
    /// `a` and `b` are numbers of elements of the line.
    #[inline]
    unsafe fn less(&mut self, a: u32, b: u32) -> bool {
        let stride = self.lines.shape.stride;
        for ((operand, size, copy), first) in self.lines.comparator.compared.iter().zip(&self.first) {
            // SAFETY: the caller guarantees elements of the line; `arg` has room for an element of an
            // argument's type.
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
/// For all functions: `begin` is the first element of a line of the operands and results that this was
/// prepared for, the scratch memory has the prepared size, and nothing else uses the parts named below.
impl Lines {
    /// # Safety
    /// Nothing else uses this frame.
    unsafe fn comparing(
        &self,
        args: &Args<'_>,
        begin: Begin,
        memory: *mut u8,
        frame: usize,
    ) -> Comparing<'_> {
        let Comparator { scalars, compared, captured } = &self.comparator;
        // SAFETY: the caller's promise. A captured value has one element.
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

    /// Returns two parts of the scratch memory for this range: the sorted numbers of elements, and spare
    /// room.
    ///
    /// # Safety
    /// Nothing else uses these numbers of the two parts.
    unsafe fn numbers<'a>(&self, memory: *mut u8, range: Range<usize>) -> [&'a mut [u32]; 2] {
        // SAFETY: the caller's promise.
        [0, self.spare].map(|part| unsafe {
            std::slice::from_raw_parts_mut(memory.add(part).cast::<u32>().add(range.start), range.len())
        })
    }

    /// # Safety
    /// Nothing else uses the scratch memory.
    unsafe fn sort(&self, args: &Args<'_>, begin: Begin, memory: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            self.sort_run(args, begin, memory, 0..self.shape.length, 0);
            self.permute(args, begin, memory, false);
        }
    }

    /// Sorts elements of a line among themselves.
    ///
    /// # Safety
    /// Nothing else uses these numbers, and this frame.
    unsafe fn sort_run(
        &self,
        args: &Args<'_>,
        begin: Begin,
        memory: *mut u8,
        range: Range<usize>,
        frame: usize,
    ) {
        // SAFETY: the caller's promise; the numbers are below the length of the line.
        unsafe {
            let [order, spare] = self.numbers(memory, range.clone());
            order.iter_mut().zip(range).for_each(|(to, i)| *to = i as u32);
            let mut comparing = self.comparing(args, begin, memory, frame);
            order::merge_sort(order, spare, |a, b| comparing.less(a, b));
        }
    }

    /// Writes the results, in the order of the sorted numbers; if `swapped`, these are in the spare part.
    ///
    /// # Safety
    /// Nothing else uses the scratch memory.
    unsafe fn permute(&self, args: &Args<'_>, begin: Begin, memory: *mut u8, swapped: bool) {
        // SAFETY: the caller's promise; the numbers are below the length of the line.
        unsafe {
            let numbers = self.numbers(memory, 0..self.shape.length);
            let order = &numbers[usize::from(swapped)][self.part.clone()];
            self.permute.lines(args, begin, self.shape.stride, order, memory.add(self.room));
        }
    }

    /// Sorts a line that is the only one, and long.
    fn in_rounds(self) -> Option<Prepared> {
        let lines = std::sync::Arc::new(self);
        let n = lines.shape.length;
        let begin = Begin { input: 0, output: 0 };
        // The merge sort has the same runs, since their length is a power of two.
        let run = n.div_ceil(MAX_RUNS).checked_next_power_of_two()?;
        let of = std::sync::Arc::clone(&lines);
        let mut all = Prepared::in_tasks(n.div_ceil(run), move |args, task| {
            let range = task * run..((task + 1) * run).min(n);
            // SAFETY: the only line; tasks use disjoint numbers and frames.
            unsafe { of.sort_run(args, begin, args.ptr(args.scratch_place()), range, task) };
        });
        let (mut width, mut swapped) = (run, false);
        while width < n {
            let of = std::sync::Arc::clone(&lines);
            all = all.then(n.div_ceil(2 * width), move |args, task| {
                let range = task * 2 * width..((task + 1) * 2 * width).min(n);
                // SAFETY: as above.
                unsafe {
                    let memory = args.ptr::<u8>(args.scratch_place());
                    let [mut from, mut to] = of.numbers(memory, range);
                    if swapped {
                        std::mem::swap(&mut from, &mut to);
                    }
                    let mut comparing = of.comparing(args, begin, memory, task);
                    order::merge_runs(from, to, width, |a, b| comparing.less(a, b));
                }
            });
            (width, swapped) = (2 * width, !swapped);
        }
        all = all.finally(move |args| {
            // SAFETY: as above.
            unsafe { lines.permute(args, begin, args.ptr(args.scratch_place()), swapped) };
        });
        Some(all.slow())
    }
}
