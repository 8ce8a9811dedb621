//! `argmax` and `argmin`: a `reduce` of numbers with indices, by a region that keeps the largest or smallest
//! number and its index.
//!
//! The behavior of a region is found by trying every case ([`case_analysis`]). A row is searched for the
//! largest (or smallest) number first, then for that number's index, so most indices are never read. Columns,
//! and rows with NaNs, are reduced step by step, as the region specifies. Indices that are an iota are
//! computed instead of read.

use farcall_ir::interrupt::Pace;
use farcall_ir::memory::count;
use farcall_ir::{DType, Op};

use super::args::Args;
use super::body::Body;
use super::case_analysis::{self, Columns, Numbers};
use super::loops::prepared::PreparedKernel;
use super::number::{Compared, Integer};
use super::reduce::{Shape, joined};
use super::simd::{has_vectors, vectorized, with_vectors};
use super::types::dispatch;
use super::{Kernel, Request, apart};

pub(super) static KERNEL: Kernel = Kernel { name: "arg_reduce", prepare, in_place: apart, describe };

/// Number of elements of a task, and minimum number of elements for which the kernel is marked
/// [slow](PreparedKernel::slow).
const TASK_ELEMENTS: usize = 1 << 17;
/// Number of columns that are reduced at once.
const BLOCK_COLUMNS: usize = 256;
/// Number of elements that are compared at once.
const LANES: usize = 32;

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::Reduce { dims }, [body]) = (request.op, request.bodies) else { return None };
    let ([x, places, init, first], [y, found]) = (request.inputs, request.outputs) else { return None };
    let kept = (0..x.rank()).filter(|d| !dims.contains(d)).map(|d| x.sizes()[d]);
    let same = init.dtype == x.dtype
        && y.dtype == x.dtype
        && first.dtype == places.dtype
        && found.dtype == places.dtype;
    let one = init.elements() == Some(1) && first.elements() == Some(1);
    let fits = same && one && x.sizes() == places.sizes() && y.sizes() == found.sizes();
    if !fits || !kept.eq(y.sizes().iter().copied()) || dims.iter().any(|d| *d >= x.rank()) {
        return None;
    }
    let keep = Choice::of(body, x.dtype, places.dtype)?;
    let shape = Shape::new(&joined(x.sizes(), dims));
    let counted = match (request.iotas, request.iota(1)) {
        ([] | [None, _, None, None], None) => None,
        ([None, _, None, None], Some(dim)) => Some(IotaIndices::along(dim, x.sizes(), &shape)?),
        _ => return None,
    };
    let (elements, results) = (x.elements()?, y.elements()?);
    macro_rules! go {
        ($T:ty, $I:ty, $line:expr) => {
            Some(reduction::<$T, $I>(keep, $line, shape.clone(), counted, elements, results))
        };
    }
    let common = dispatch!(x.dtype, [common_ints, floats], T => match places.dtype {
        DType::S32 if has_vectors() => go!(T, i32, vector_line),
        DType::S64 if has_vectors() => go!(T, i64, vector_line),
        _ => None,
    });
    common.flatten().or_else(|| {
        dispatch!(x.dtype, [ints, floats], T => match places.dtype {
            DType::S32 => go!(T, i32, line),
            DType::S64 => go!(T, i64, line),
            DType::U32 => go!(T, u32, line),
            _ => None,
        })?
    })
}

/// Indices that are an iota: the position of an element in the operand determines its index.
#[derive(Clone, Copy)]
struct IotaIndices {
    /// Number of adjacent elements that have the same index.
    stride: usize,
    size: usize,
}

impl IotaIndices {
    /// Creates the indices along a dimension. `None` if columns are reduced and adjacent columns have
    /// different indices.
    fn along(dim: usize, sizes: &[usize], shape: &Shape) -> Option<IotaIndices> {
        let stride = count(&sizes[dim + 1..]).max(1);
        let same = shape.rows || stride.is_multiple_of(shape.length.max(1));
        same.then_some(IotaIndices { stride, size: sizes[dim].max(1) })
    }
}

/// The indices of elements.
#[derive(Clone, Copy)]
struct Indices<I> {
    /// Address of the indices; not used if they are an iota.
    at: *const I,
    counted: Option<IotaIndices>,
}

impl<I: Integer> Indices<I> {
    /// Returns the index of an element.
    ///
    /// # Safety
    /// The operand has an element with this number.
    #[inline(always)]
    unsafe fn get(self, element: usize) -> I {
        match self.counted {
            Some(IotaIndices { stride, size }) => I::from_index(element / stride % size),
            // SAFETY: the caller guarantees that the element, and so its index, exists.
            None => unsafe { self.at.add(element).read() },
        }
    }
}

fn describe(request: &Request<'_>) -> String {
    let ([body], [x, places, ..]) = (request.bodies, request.inputs) else { return String::new() };
    let keep = Choice::of(body, x.dtype, places.dtype);
    keep.map_or(String::new(), |keep| (if keep.largest { "largest" } else { "smallest" }).to_owned())
}

/// The choice of a region between two numbers with their indices. The region keeps the first number if that
/// number is NaN, or is larger (or smaller, if `largest` is false) than the second. It keeps the second
/// number in all other cases in which the two differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Choice {
    largest: bool,
    /// Keeps the first of two equal numbers, rather than the second.
    first: bool,
    /// Index that is kept for equal numbers.
    tie: Tie,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tie {
    /// The smaller index.
    Lower,
    First,
    Second,
}

impl Choice {
    /// Returns the choice of a region; `None` if the region does anything else.
    fn of(body: &Body, dtype: DType, index: DType) -> Option<Choice> {
        let types = [dtype, index, dtype, index];
        if body.args.len() != 4 || body.returned.len() != 2 || !body.args.iter().map(|t| t.dtype).eq(types) {
            return None;
        }
        let numbers = case_analysis::pairs(&case_analysis::kinds(body, dtype)?);
        let indices = case_analysis::pairs(&case_analysis::kinds(body, index)?);
        let times = indices[0].len();
        // Limits the number of cases to try. A region that keeps the greater of two numbers has few
        // constants, and so few cases.
        if times * numbers[0].len() * body.insts.len() > 1 << 20 {
            return None;
        }
        let each =
            |column: &[u64]| column.iter().flat_map(|x| std::iter::repeat_n(*x, times)).collect::<Vec<u64>>();
        let [a, b] = [0, 1].map(|i| each(&numbers[i]));
        let [i, j] = [0, 1].map(|k| indices[k].repeat(numbers[0].len()));
        let mut possible: Vec<Choice> = Vec::new();
        for tie in [Tie::Lower, Tie::First, Tie::Second] {
            let all = [(true, false), (true, true), (false, false), (false, true)];
            possible.extend(all.map(|(largest, first)| Choice { largest, first, tie }));
        }
        for flush in [false, true] {
            let mut columns: Columns = [&a, &i, &b, &j].map(|c| Some(c.clone())).into();
            case_analysis::evaluate(body, &mut columns, flush);
            let numbers = Numbers::of(dtype, flush)?;
            let (value, place) = (columns[body.returned[0]].as_ref()?, columns[body.returned[1]].as_ref()?);
            possible.retain(|keep| {
                (0..a.len()).all(|c| keep.case(numbers, (a[c], i[c]), (b[c], j[c])) == (value[c], place[c]))
            });
        }
        possible.first().copied()
    }

    /// Returns the choice between two numbers with their indices. Numbers and indices are given and returned
    /// as [keys](case_analysis::key).
    fn case(self, numbers: Numbers, a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
        let (x, y) = (numbers.number(a.0), numbers.number(b.0));
        let keeps = match (x, y) {
            (None, _) => true,
            (_, None) => false,
            (Some(x), Some(y)) => {
                if self.largest {
                    x > y
                } else {
                    x < y
                }
            }
        };
        let equal = x == y && x.is_some();
        let value = if keeps || (equal && self.first) { a.0 } else { b.0 };
        let place = match (keeps, equal, self.tie) {
            (true, ..) | (_, true, Tie::First) => a.1,
            (_, true, Tie::Lower) => a.1.min(b.1),
            _ => b.1,
        };
        (value, place)
    }

    /// Returns the choice between two elements with their indices.
    #[inline(always)]
    fn step<T: Compared, I: Integer>(self, (a, i): (T, I), (b, j): (T, I)) -> (T, I) {
        let (x, y) = (a.wide(), b.wide());
        #[expect(clippy::eq_op, reason = "NaN")]
        let keeps = (if self.largest { x > y } else { x < y }) | (x != x);
        let equal = x == y;
        let value = if keeps | (equal & self.first) { a } else { b };
        let first = match self.tie {
            Tie::Lower => i < j,
            Tie::First => true,
            Tie::Second => false,
        };
        (value, if keeps | (equal & first) { i } else { j })
    }
}

fn reduction<T: Compared, I: Integer + Send + Sync>(
    keep: Choice,
    line: Line<T, I>,
    shape: Shape,
    counted: Option<IotaIndices>,
    elements: usize,
    results: usize,
) -> PreparedKernel {
    // A unit is one result or, if columns are reduced, one block of columns at one index of the outer kept
    // dimensions.
    let columns = if shape.rows { 1 } else { shape.length.div_ceil(BLOCK_COLUMNS) };
    let units = if results == 0 { 0 } else { results / shape.inner_results() * columns };
    let work = (elements / units.max(1)).max(1);
    let per_task = (TASK_ELEMENTS / work).max(1);
    let tasks = units.div_ceil(per_task).max(1);
    let prepared = PreparedKernel::in_tasks(tasks, move |args, task| {
        let units = task * per_task..((task + 1) * per_task).min(units);
        for unit in units {
            let (unit, begin) = (unit / columns, unit % columns * BLOCK_COLUMNS);
            // SAFETY: `prepare` has checked that operands and results have elements of these types and this
            // shape.
            unsafe { part::<T, I>(args, (keep, line), (&shape, counted), unit, begin) };
        }
    });
    if elements < TASK_ELEMENTS { prepared } else { prepared.slow() }
}

/// Computes one result or, if columns are reduced, the results of the block of columns that starts with
/// column `begin`. `unit` is the index along the kept dimensions; if columns are reduced, the innermost one
/// is not counted.
///
/// # Safety
/// Operands and results have elements of these types and this shape, and `unit` and `begin` are in range.
unsafe fn part<T: Compared, I: Integer>(
    args: &Args<'_>,
    (keep, line): (Choice, Line<T, I>),
    (shape, counted): (&Shape, Option<IotaIndices>),
    unit: usize,
    begin: usize,
) {
    let (x, places) = (args.input_ptr::<T>(0), Indices { at: args.input_ptr::<I>(1), counted });
    // SAFETY: initial values have one element each, and results are disjoint from operands.
    let init = unsafe { (args.input_ptr::<T>(2).read(), args.input_ptr::<I>(3).read()) };
    let (values, found) = (args.output_ptr::<T>(0), args.output_ptr::<I>(1));
    let base = shape.base(unit);
    if shape.rows {
        let (mut kept, mut pace) = (init, Pace::default());
        for i in 0..shape.lines() {
            if pace.is_due_after(shape.length) {
                return;
            }
            let at = base + shape.line(i);
            // SAFETY: the row lies in the operand, and the indices have the operand's shape.
            kept =
                unsafe { row(keep, kept, std::slice::from_raw_parts(x.add(at), shape.length), places, at) };
        }
        // SAFETY: results have one element for each unit.
        unsafe {
            values.add(unit).write(kept.0);
            found.add(unit).write(kept.1);
        }
        return;
    }
    let width = BLOCK_COLUMNS.min(shape.length - begin);
    let (mut best, mut at_best) = ([init.0; BLOCK_COLUMNS], [init.1; BLOCK_COLUMNS]);
    let mut pace = Pace::default();
    for i in 0..shape.lines() {
        if pace.is_due_after(width) {
            return;
        }
        let at = base + begin + shape.line(i);
        // SAFETY: the operand has `width` elements from `at` on.
        let x = unsafe { std::slice::from_raw_parts(x.add(at), width) };
        let (best, at_best) = (&mut best[..width], &mut at_best[..width]);
        if counted.is_some() {
            // SAFETY: the operand has element `at`. All elements of the line have the same index.
            let j = unsafe { places.get(at) };
            line(keep, best, at_best, x, LineIndices::All(j));
        } else {
            // SAFETY: the indices have the operand's shape, so they have `width` elements from `at` on.
            let places = unsafe { std::slice::from_raw_parts(places.at.add(at), width) };
            line(keep, best, at_best, x, LineIndices::Each(places));
        }
    }
    let to = unit * shape.length + begin;
    // SAFETY: there are `width` results from `to` on.
    unsafe {
        values.add(to).copy_from_nonoverlapping(best.as_ptr(), width);
        found.add(to).copy_from_nonoverlapping(at_best.as_ptr(), width);
    }
}

/// Indices of the elements of a line.
enum LineIndices<'a, I> {
    /// One index for all elements.
    All(I),
    Each(&'a [I]),
}

/// Reduces the next line of columns. For each column, chooses between the element that was chosen so far and
/// the line's element, each with its index.
type Line<T, I> = fn(Choice, &mut [T], &mut [I], &[T], LineIndices<'_, I>);

/// The [`Line`] for any processor.
#[inline(always)]
fn line<T: Compared, I: Integer>(
    keep: Choice,
    best: &mut [T],
    at_best: &mut [I],
    x: &[T],
    indices: LineIndices<'_, I>,
) {
    let kept = best.iter_mut().zip(at_best).zip(x);
    match indices {
        LineIndices::All(j) => kept.for_each(
            #[inline(always)]
            |((a, i), b)| (*a, *i) = keep.step((*a, *i), (*b, j)),
        ),
        LineIndices::Each(places) => kept.zip(places).for_each(
            #[inline(always)]
            |(((a, i), b), j)| (*a, *i) = keep.step((*a, *i), (*b, *j)),
        ),
    }
}

/// The [`Line`] for processors with vectors.
fn vector_line<T: Compared, I: Integer>(
    keep: Choice,
    best: &mut [T],
    at_best: &mut [I],
    x: &[T],
    indices: LineIndices<'_, I>,
) {
    with_vectors(
        #[inline(always)]
        || line(keep, best, at_best, x, indices),
    );
}

/// Reduces a row whose first element is at position `begin` of the operand.
///
/// # Safety
/// The operand has the elements of this row.
unsafe fn row<T: Compared, I: Integer>(
    keep: Choice,
    init: (T, I),
    x: &[T],
    places: Indices<I>,
    begin: usize,
) -> (T, I) {
    // SAFETY: the caller guarantees that the row's elements have indices.
    let place = |i: usize| unsafe { places.get(begin + i) };
    if x.len() < LANES {
        // Avoids divisions if the index of each element is its position in the row.
        let numbers = places.counted.is_some_and(|c| c.stride == 1 && c.size == x.len());
        let place = |i: usize| if numbers { I::from_index(i) } else { place(i) };
        return x.iter().enumerate().fold(init, |kept, (i, x)| keep.step(kept, (*x, place(i))));
    }
    let Some(most) = most(keep, init.0, x) else {
        return x.iter().enumerate().fold(init, |kept, (i, x)| keep.step(kept, (*x, place(i))));
    };
    // True if the first element that equals `most` determines the result. A later equal number matters if the
    // region keeps that number's index. It also matters if the region keeps the number itself and the bits
    // may differ: equal numbers have the same bits, except zeros (and subnormals, if the processor flushes
    // them to zero).
    let ascends = |IotaIndices { stride, size }| begin % (stride * size) + x.len() <= stride * size;
    let settled = (keep.first || most != T::ZERO.wide())
        && match keep.tie {
            Tie::Lower => places.counted.is_some_and(ascends),
            Tie::First => true,
            Tie::Second => false,
        };
    // Only the elements that equal `most`, the largest or the smallest number, matter.
    let (mut kept, mut chunk) = (init, 0);
    while let Some(found) = next_equal(x, most, chunk) {
        for i in (found * LANES..x.len().min((found + 1) * LANES)).filter(|i| x[*i].wide() == most) {
            kept = keep.step(kept, (x[i], place(i)));
            if settled {
                return kept;
            }
        }
        chunk = found + 1;
    }
    kept
}

/// Returns the largest or the smallest of a row's elements and the initial value; `None` if one is NaN.
#[inline(never)]
fn most<T: Compared>(keep: Choice, init: T, x: &[T]) -> Option<T::Wide> {
    vectorized(
        #[inline(always)]
        || {
            let (whole, rest) = x.as_chunks::<LANES>();
            let mut best = [init.wide(); LANES];
            let is_nan = |x: &T| x.wide() != x.wide();
            let mut nan = is_nan(&init) | rest.iter().any(is_nan);
            for chunk in whole {
                nan |= chunk.iter().fold(false, |any, x| any | is_nan(x));
                for (best, x) in best.iter_mut().zip(chunk) {
                    let x = x.wide();
                    let is_better = if keep.largest { x > *best } else { x < *best };
                    *best = if is_better { x } else { *best };
                }
            }
            let mut most = init.wide();
            for x in best.into_iter().chain(rest.iter().map(|x| x.wide())) {
                if if keep.largest { x > most } else { x < most } {
                    most = x;
                }
            }
            (!nan).then_some(most)
        },
    )
}

/// Returns the number of the first chunk of [`LANES`] elements that has an element equal to `most`. The
/// search starts with chunk `from`. The last chunk may be shorter.
#[inline(never)]
fn next_equal<T: Compared>(x: &[T], most: T::Wide, from: usize) -> Option<usize> {
    vectorized(
        #[inline(always)]
        || {
            let (whole, rest) = x.as_chunks::<LANES>();
            for (c, chunk) in whole.iter().enumerate().skip(from) {
                if chunk.iter().fold(false, |any, x| any | (x.wide() == most)) {
                    return Some(c);
                }
            }
            (from <= whole.len() && rest.iter().any(|x| x.wide() == most)).then_some(whole.len())
        },
    )
}
