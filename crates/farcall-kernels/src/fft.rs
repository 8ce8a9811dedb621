//! `fft`: discrete Fourier transforms of the last one to three dimensions, by `rustfft` and `realfft`.
//!
//! ```text
//! FFT, IFFT  rows x ─▶ y, then the columns of the other dimensions, in y
//! RFFT       rows x ─▶ y (half of each), then columns, in y
//! IRFFT      columns x ─▶ scratch, then rows scratch ─▶ y
//! ```
//!
//! *Rows* are the lines along the last dimension, which are contiguous. Lines along other dimensions are
//! *columns*: a few neighboring columns at a time are gathered, transformed and written back. Each phase
//! transforms all lines of one dimension and divides them among its tasks.
//!
//! Lines of millions of elements are transformed in steps ([`long`]).
//!
//! A kernel is prepared several times before it runs. It therefore creates its plans (tables of factors) only
//! when it first runs. The plans and the memory of the tasks are kept for later runs.

mod long;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use farcall_ir::eval::Fourier;
use farcall_ir::interrupt::{self, Pace};
use farcall_ir::op::FftKind;
use farcall_ir::{DType, Op, TensorType};
use long::{Long, LongReal};
use num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_traits::Zero;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

use super::args::Args;
use super::loops::prepared::PreparedKernel;
use super::{Kernel, Request, apart};

pub(super) static KERNEL: Kernel = Kernel { name: "fft", prepare, in_place: apart, describe };

/// Minimum number of elements for which the kernel is marked [slow](PreparedKernel::slow).
const MIN_SLOW_ELEMENTS: usize = 1 << 18;
/// Minimum work of a task: the number of elements, multiplied by one plus the binary logarithm of the length
/// of a line.
const MIN_TASK_WORK: usize = 1 << 19;
/// Maximum number of tasks.
const MAX_TASKS: usize = 16;
/// Maximum number of columns that are gathered at once.
const MAX_GATHERED_COLUMNS: usize = 16;
/// Gap between gathered columns, in elements, so that columns whose length is a power of two do not compete
/// for cache sets.
const COLUMN_GAP_ELEMENTS: usize = 8;
/// Number of elements in a group of rows, which are transformed and then scaled while they are in cache.
const ROW_GROUP_ELEMENTS: usize = 1 << 12;

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::Fft { kind, length }, [x], [y]) = (request.op, request.inputs, request.outputs) else {
        return None;
    };
    let shape = Shape::new(*kind, length, x, y)?;
    Some(match y.dtype.real() {
        DType::F32 => shape.prepared::<f32>(),
        DType::F64 => shape.prepared::<f64>(),
        _ => return None,
    })
}

fn describe(request: &Request<'_>) -> String {
    match request.op {
        Op::Fft { kind, length } => format!("{} {length:?}", kind.name().to_lowercase()),
        _ => String::new(),
    }
}

/// Dimensions and scale of a transform.
struct Shape {
    kind: FftKind,
    /// Number of elements of the result.
    elements: usize,
    /// Length of a row's transform.
    row: usize,
    /// Number of rows.
    rows: usize,
    /// The other transformed dimensions, from inner to outer.
    columns: Vec<Columns>,
    /// Number of elements of the operand.
    operand: usize,
    /// Factor by which every element of the result is multiplied.
    scale: f64,
}

/// Lines of complex elements along a dimension other than the last.
#[derive(Clone, Copy)]
struct Columns {
    /// Number of elements of a line.
    length: usize,
    /// Distance between the elements of a line, which is the number of neighboring lines.
    inner: usize,
    /// Number of groups of `inner` lines.
    outer: usize,
}

impl Shape {
    fn new(kind: FftKind, length: &[usize], x: &TensorType, y: &TensorType) -> Option<Shape> {
        let (from, to) = match kind {
            FftKind::Fft | FftKind::Ifft => (y.dtype, y.dtype),
            FftKind::Rfft => (y.dtype.real(), y.dtype),
            FftKind::Irfft => (y.dtype.complex()?, y.dtype),
        };
        let complex = if kind == FftKind::Irfft { x } else { y };
        if (x.dtype, y.dtype) != (from, to) || !complex.dtype.is_complex() || x.rank() != y.rank() {
            return None;
        }
        let (row, others) = length.split_last()?;
        let last = x.rank().checked_sub(1)?;
        let first = x.rank().checked_sub(length.len())?;
        let half = if *row == 0 { 0 } else { row / 2 + 1 };
        let lengths = match kind {
            FftKind::Fft | FftKind::Ifft => [*row, *row],
            FftKind::Rfft => [*row, half],
            FftKind::Irfft => [half, *row],
        };
        // If the result is empty, the last dimensions need not have these lengths.
        let fits = [x.sizes()[last], y.sizes()[last]] == lengths || y.elements() == Some(0);
        if !fits || x.sizes()[..last] != y.sizes()[..last] || x.sizes()[first..last] != *others {
            return None;
        }
        let (sizes, elements) = (complex.sizes(), y.elements()?);
        let product = |sizes: &[usize]| sizes.iter().fold(1usize, |n, d| n.saturating_mul(*d));
        let columns = |d: usize| Columns {
            length: sizes[d],
            inner: product(&sizes[d + 1..]),
            outer: product(&sizes[..d]),
        };
        let inverse = matches!(kind, FftKind::Ifft | FftKind::Irfft);
        Some(Shape {
            kind,
            elements,
            row: *row,
            rows: product(&sizes[..last]),
            columns: if elements == 0 { Vec::new() } else { (first..last).rev().map(columns).collect() },
            operand: x.elements()?,
            scale: if inverse { 1.0 / length.iter().map(|n| *n as f64).product::<f64>() } else { 1.0 },
        })
    }

    fn prepared<T: Number>(self) -> PreparedKernel {
        if self.elements == 0 {
            return PreparedKernel::new(|_| ());
        }
        let slow = self.elements.max(self.operand) >= MIN_SLOW_ELEMENTS;
        let prepared = match self.kind {
            FftKind::Fft => self.complex::<T>(FftDirection::Forward),
            FftKind::Ifft => self.complex::<T>(FftDirection::Inverse),
            FftKind::Rfft => self.forward::<T>(),
            FftKind::Irfft => self.backward::<T>(),
        };
        if slow { prepared.slow() } else { prepared }
    }

    /// Prepares FFT and IFFT.
    fn complex<T: Number>(&self, direction: FftDirection) -> PreparedKernel {
        let (length, scale) = (self.row, self.scale::<T>());
        let lines = Lines::new(length, move || {
            Arc::new(match Long::new(length, direction) {
                Some(long) => Plan::Long(long),
                None => Plan::Whole(FftPlanner::new().plan_fft(length, direction)),
            })
        });
        let rows = self.each_row(move |args, rows| {
            // SAFETY: the rows are within the operand and the result, which do not overlap, and belong to
            // this task alone.
            let (from, to) = unsafe { (rows.input(args, length), rows.output(args, length)) };
            lines.with(|plan: &Plan<dyn Fft<T>, Long<T>>, memory| {
                let group = (ROW_GROUP_ELEMENTS / length).max(1) * length;
                for (from, to) in from.chunks(group).zip(to.chunks_mut(group)) {
                    if interrupt::is_due() {
                        return;
                    }
                    match plan {
                        Plan::Whole(plan) => {
                            let scratch = resized(&mut memory.complex, plan.get_immutable_scratch_len());
                            plan.process_immutable_with_scratch(from, to, scratch);
                        }
                        Plan::Long(long) => long.run(from, to, &mut memory.complex),
                    }
                    for (from, to) in from.chunks(length).zip(to.chunks_mut(length)) {
                        if !is_finite(from) {
                            exceptional(from, to, direction);
                        }
                    }
                    multiply(to, scale);
                }
            });
        });
        let columns = self.columns.iter();
        columns.fold(rows, |rows, columns| columns.then::<T>(rows, direction, |args| args.output_ptr(0)))
    }

    /// Prepares RFFT.
    fn forward<T: Number>(&self) -> PreparedKernel {
        let (length, half) = (self.row, self.row / 2 + 1);
        let lines = Lines::new(length, move || {
            Arc::new(match LongReal::new(length, FftDirection::Forward) {
                Some(long) => Plan::Long(long),
                None => Plan::Whole(RealFftPlanner::new().plan_fft_forward(length)),
            })
        });
        let rows = self.each_row(move |args, rows| {
            // SAFETY: the rows are within the operand and the result, which do not overlap, and belong to
            // this task alone.
            let (from, to) = unsafe { (rows.input::<T>(args, length), rows.output(args, half)) };
            lines.with(|plan: &Plan<dyn RealToComplex<T>, LongReal<T>>, memory| {
                let mut pace = Pace::default();
                for (from, to) in from.chunks(length).zip(to.chunks_mut(half)) {
                    if pace.is_due_after(length) {
                        return;
                    }
                    match plan {
                        Plan::Whole(plan) => {
                            let scratch = resized(&mut memory.complex, plan.get_scratch_len());
                            let line = resized(&mut memory.real, length);
                            line.copy_from_slice(from);
                            let done = plan.process_with_scratch(line, to, scratch);
                            debug_assert!(done.is_ok(), "{done:?}");
                        }
                        Plan::Long(long) => long.forward(pairs(from), to, &mut memory.complex),
                    }
                    if !from.iter().all(|x| x.wide().is_finite()) {
                        let line: Vec<Complex<T>> =
                            from.iter().map(|x| Complex::new(*x, T::zero())).collect();
                        exceptional(&line, to, FftDirection::Forward);
                    }
                }
            });
        });
        let columns = self.columns.iter();
        columns.fold(rows, |rows, columns| {
            columns.then::<T>(rows, FftDirection::Forward, |args| args.output_ptr(0))
        })
    }

    /// Prepares IRFFT.
    fn backward<T: Number>(&self) -> PreparedKernel {
        let (length, half, scale) = (self.row, self.row / 2 + 1, self.scale::<T>());
        let lines = Lines::new(length, move || {
            Arc::new(match LongReal::new(length, FftDirection::Inverse) {
                Some(long) => Plan::Long(long),
                None => Plan::Whole(RealFftPlanner::new().plan_fft_inverse(length)),
            })
        });
        let direct = self.columns.is_empty();
        let work = move |args: &Args<'_>, rows: &Rows| {
            // SAFETY: the rows are within the operand or, if there are columns, within the scratch memory,
            // which holds the transformed columns. No task of this phase writes either.
            let from: &[Complex<T>] =
                unsafe { if direct { rows.input(args, half) } else { rows.scratch(args, half) } };
            // SAFETY: the rows are within the result, which does not overlap the operand, and belong to this
            // task alone.
            let to: &mut [T] = unsafe { rows.output(args, length) };
            lines.with(|plan: &Plan<dyn ComplexToReal<T>, LongReal<T>>, memory| {
                let mut pace = Pace::default();
                for (from, to) in from.chunks(half).zip(to.chunks_mut(length)) {
                    if pace.is_due_after(length) {
                        return;
                    }
                    match plan {
                        Plan::Whole(plan) => {
                            let (line, scratch) = resized(&mut memory.complex, half + plan.get_scratch_len())
                                .split_at_mut(half);
                            line.copy_from_slice(from);
                            // The first and the middle element are their own conjugates, so their imaginary
                            // parts are ignored.
                            line[0].im = T::zero();
                            if length.is_multiple_of(2) {
                                line[half - 1].im = T::zero();
                            }
                            let done = plan.process_with_scratch(line, to, scratch);
                            debug_assert!(done.is_ok(), "{done:?}");
                        }
                        Plan::Long(long) => {
                            long.backward(from, pairs_mut(to), &mut memory.packed, &mut memory.complex);
                        }
                    }
                    // Also here, the imaginary parts of elements that are their own conjugates are ignored.
                    let counts = |k: usize, z: Complex<T>| match k == 0 || 2 * k == length {
                        true => Complex::new(z.re, T::zero()),
                        false => z,
                    };
                    if !from.iter().enumerate().all(|(k, z)| is_finite(&[counts(k, *z)])) {
                        // The other half consists of the conjugates of this half, in reverse.
                        let whole = |k: usize| if k < half { from[k] } else { from[length - k].conj() };
                        let line: Vec<Complex<T>> = (0..length).map(whole).collect();
                        let mut sums = line.clone();
                        exceptional(&line, &mut sums, FftDirection::Inverse);
                        to.iter_mut().zip(&sums).for_each(|(x, sum)| *x = sum.re);
                    }
                    to.iter_mut().for_each(|x| *x = *x * scale);
                }
            });
        };
        let Some((outermost, others)) = self.columns.split_last() else { return self.each_row(work) };
        // The outermost columns are read from the operand.
        let first = outermost.all::<T>(FftDirection::Inverse);
        let columns = PreparedKernel::in_tasks(first.tasks, move |args, task| {
            first.run(args.input_ptr(0), args.ptr(args.scratch_place()), task);
        });
        let columns = others.iter().fold(columns, |prepared, columns| {
            columns.then::<T>(prepared, FftDirection::Inverse, |args| args.ptr(args.scratch_place()))
        });
        let (tasks, rows) = (tasks(self.rows, length), self.rows);
        columns
            .then(PreparedKernel::in_tasks(tasks, move |args, task| work(args, &Rows::of(task, tasks, rows))))
            .with_scratch(self.operand * size_of::<Complex<T>>())
    }

    /// Makes a phase that processes all rows.
    fn each_row(&self, work: impl Fn(&Args<'_>, &Rows) + Send + Sync + 'static) -> PreparedKernel {
        let (tasks, rows) = (tasks(self.rows, self.row), self.rows);
        PreparedKernel::in_tasks(tasks, move |args, task| work(args, &Rows::of(task, tasks, rows)))
    }

    fn scale<T: Number>(&self) -> T {
        T::from_f64(self.scale).unwrap_or_else(T::one)
    }
}

/// Number of tasks for this many lines of this length.
fn tasks(lines: usize, length: usize) -> usize {
    let steps = length.ilog2() as usize + 1;
    let work = lines.saturating_mul(length).saturating_mul(steps);
    (work / MIN_TASK_WORK).clamp(1, MAX_TASKS).min(lines.max(1))
}

/// Rows of a task.
struct Rows {
    first: usize,
    count: usize,
}

impl Rows {
    fn of(task: usize, tasks: usize, rows: usize) -> Rows {
        let (first, end) = (rows * task / tasks, rows * (task + 1) / tasks);
        Rows { first, count: end - first }
    }

    /// Returns the rows' elements in the operand.
    ///
    /// # Safety
    /// The operand must have rows of `length` elements of this type, and these rows must be among them.
    unsafe fn input<'a, E>(&self, args: &Args<'a>, length: usize) -> &'a [E] {
        // SAFETY: the caller guarantees that the operand has these rows.
        unsafe {
            std::slice::from_raw_parts(args.input_ptr::<E>(0).add(self.first * length), self.count * length)
        }
    }

    /// Returns the rows' elements in the scratch memory.
    ///
    /// # Safety
    /// Same requirements as [`Rows::input`] for the scratch memory. Nothing may write to it while the
    /// returned slice is in use.
    unsafe fn scratch<'a, E>(&self, args: &Args<'a>, length: usize) -> &'a [E] {
        let from = args.ptr::<E>(args.scratch_place());
        // SAFETY: the caller guarantees that the scratch memory has these rows and that nothing writes them.
        unsafe { std::slice::from_raw_parts(from.add(self.first * length), self.count * length) }
    }

    /// Returns the rows' elements in the result.
    ///
    /// # Safety
    /// Same requirements as [`Rows::input`] for the result. Nothing else may refer to these elements
    /// while the returned slice is in use.
    unsafe fn output<'a, E>(&self, args: &Args<'a>, length: usize) -> &'a mut [E] {
        let to = args.output_ptr::<E>(0);
        // SAFETY: the caller guarantees that the result has these rows and that nothing else refers to them.
        unsafe { std::slice::from_raw_parts_mut(to.add(self.first * length), self.count * length) }
    }
}

/// Transforms of lines of one length.
struct Lines<P: ?Sized, T> {
    make: Box<dyn Fn() -> Arc<P> + Send + Sync>,
    plan: OnceLock<Arc<P>>,
    /// Memory that no task uses at the moment.
    memory: Mutex<Vec<TaskMemory<T>>>,
}

/// Transform of lines of one length: as a whole, or in steps that can be interrupted in between.
enum Plan<W: ?Sized, L> {
    Whole(Arc<W>),
    Long(L),
}

/// Returns each pair of neighboring elements as the real and the imaginary part of a complex number. The
/// number of elements is even.
fn pairs<T>(line: &[T]) -> &[Complex<T>] {
    // SAFETY: a complex number has the layout of its two parts, and there are half as many complex numbers.
    unsafe { std::slice::from_raw_parts(line.as_ptr().cast(), line.len() / 2) }
}

/// Mutable version of [`pairs`].
fn pairs_mut<T>(line: &mut [T]) -> &mut [Complex<T>] {
    // SAFETY: a complex number has the layout of its two parts, there are half as many complex numbers, and
    // the line is borrowed exclusively.
    unsafe { std::slice::from_raw_parts_mut(line.as_mut_ptr().cast(), line.len() / 2) }
}

/// Work memory of a task.
struct TaskMemory<T> {
    complex: Vec<Complex<T>>,
    packed: Vec<Complex<T>>,
    real: Vec<T>,
}

impl<P: ?Sized, T: Number> Lines<P, T> {
    /// Makes the transforms whose plan `make` creates on first use. `length` is not 0.
    fn new(length: usize, make: impl Fn() -> Arc<P> + Send + Sync + 'static) -> Lines<P, T> {
        debug_assert!(length > 0, "lines of length 0 have no transform");
        Lines { make: Box::new(make), plan: OnceLock::new(), memory: Mutex::default() }
    }

    /// Calls `f` with the plan and with work memory, whose contents are unspecified.
    fn with(&self, f: impl FnOnce(&P, &mut TaskMemory<T>)) {
        let plan = self.plan.get_or_init(|| (self.make)());
        let kept = self.memory.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut memory =
            kept.unwrap_or_else(|| TaskMemory { complex: Vec::new(), packed: Vec::new(), real: Vec::new() });
        f(plan, &mut memory);
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
    }
}

/// Floating-point types of transforms.
trait Number: FftNum {
    fn wide(self) -> f64;
    fn narrow(wide: f64) -> Self;
}

impl Number for f32 {
    fn wide(self) -> f64 {
        self.into()
    }

    fn narrow(wide: f64) -> f32 {
        wide as f32
    }
}

impl Number for f64 {
    fn wide(self) -> f64 {
        self
    }

    fn narrow(wide: f64) -> f64 {
        wide
    }
}

/// Returns true if a line has neither NaN nor infinities.
fn is_finite<T: Number>(line: &[Complex<T>]) -> bool {
    line.iter().all(|x| x.re.wide().is_finite() && x.im.wide().is_finite())
}

/// Transforms a line that has NaN or infinities with the evaluator's algorithm, since their effect on the
/// result depends on the algorithm. Writes the first `to.len()` elements of the transform.
#[cold]
fn exceptional<T: Number>(from: &[Complex<T>], to: &mut [Complex<T>], direction: FftDirection) {
    let line: Vec<Complex<f64>> = from.iter().map(|x| Complex::new(x.re.wide(), x.im.wide())).collect();
    let sums = Fourier::new(line.len(), direction == FftDirection::Inverse).sums(&line);
    for (to, sum) in to.iter_mut().zip(sums) {
        *to = Complex::new(T::narrow(sum.re), T::narrow(sum.im));
    }
}

/// Returns the first `n` elements of `memory`, which grows if necessary. Their contents are unspecified.
fn resized<E: Copy + Zero>(memory: &mut Vec<E>, n: usize) -> &mut [E] {
    if memory.len() < n {
        memory.resize(n, E::zero());
    }
    &mut memory[..n]
}

fn multiply<T: Number>(line: &mut [Complex<T>], factor: T) {
    if !factor.is_one() {
        line.iter_mut().for_each(|x| *x = *x * factor);
    }
}

impl Columns {
    /// Adds a phase to `kernel`. The phase transforms these lines of the tensor at `place`, in place.
    fn then<T: Number>(
        self,
        kernel: PreparedKernel,
        direction: FftDirection,
        place: fn(&Args<'_>) -> *mut Complex<T>,
    ) -> PreparedKernel {
        let strided = self.all::<T>(direction);
        let tasks = strided.tasks;
        let work = move |args: &Args<'_>, task| strided.run(place(args), place(args), task);
        kernel.then(PreparedKernel::in_tasks(tasks, work))
    }

    fn all<T: Number>(self, direction: FftDirection) -> Strided<T> {
        let length = self.length;
        let lines = Lines::new(length, move || FftPlanner::new().plan_fft(length, direction));
        let blocks = self.inner.div_ceil(MAX_GATHERED_COLUMNS);
        let tasks = tasks(self.outer * self.inner, length).min(self.outer * blocks);
        Strided { columns: self, lines, blocks, tasks }
    }
}

/// Transforms of columns.
struct Strided<T> {
    columns: Columns,
    lines: Lines<dyn Fft<T>, T>,
    /// Number of blocks of neighboring columns.
    blocks: usize,
    tasks: usize,
}

impl<T: Number> Strided<T> {
    /// Transforms the lines of a task, from one tensor to another or in place.
    fn run(&self, from: *const Complex<T>, to: *mut Complex<T>, task: usize) {
        let Columns { length, inner, outer } = self.columns;
        let count = outer * self.blocks;
        let distance = length + COLUMN_GAP_ELEMENTS;
        self.lines.with(|plan, memory| {
            let (lines, scratch) = resized(
                &mut memory.complex,
                MAX_GATHERED_COLUMNS * distance + plan.get_inplace_scratch_len(),
            )
            .split_at_mut(MAX_GATHERED_COLUMNS * distance);
            for block in count * task / self.tasks..count * (task + 1) / self.tasks {
                if interrupt::is_due() {
                    return;
                }
                let first = block % self.blocks * MAX_GATHERED_COLUMNS;
                let start = block / self.blocks * length * inner + first;
                let width = MAX_GATHERED_COLUMNS.min(inner - first);
                for i in 0..length {
                    for c in 0..width {
                        // SAFETY: this is element `i` of a column of the operand.
                        lines[c * distance + i] = unsafe { from.add(start + i * inner + c).read() };
                    }
                }
                for line in lines.chunks_mut(distance).take(width) {
                    let line = &mut line[..length];
                    if is_finite(line) {
                        plan.process_with_scratch(line, scratch);
                    } else {
                        let from = line.to_vec();
                        exceptional(&from, line, plan.fft_direction());
                    }
                }
                for i in 0..length {
                    for c in 0..width {
                        // SAFETY: this is element `i` of a column that belongs to this task alone.
                        unsafe { to.add(start + i * inner + c).write(lines[c * distance + i]) };
                    }
                }
            }
        });
    }
}
