//! `select_and_scatter` as in the gradient of pooling: each window selects its largest or smallest element,
//! and a value is added at the position of that element.
//!
//! The positions along the dimensions after the windowed dimensions are columns. Neighboring columns are
//! processed at once, but each column selects its own element. Values are added in row-major order.

use farcall_ir::interrupt::Pace;
use farcall_ir::op::{Binary, ComparisonDirection, SelectAndScatter};
use farcall_ir::{Op, TensorType};

use super::args::Args;
use super::body::Body;
use super::loops::prepared::PreparedKernel;
use super::number::Compared;
use super::simd::{has_vectors, with_vectors};
use super::types::dispatch;
use super::window::{Axis, fits, product};
use super::{Kernel, Request, apart, nothing};

pub(super) static KERNEL: Kernel =
    Kernel { name: "select_and_scatter", prepare, in_place: apart, describe: nothing };

/// Minimum number of comparisons of a task.
const MIN_TASK_COMPARISONS: usize = 1 << 17;
/// Maximum number of columns that are processed at once. The loops over columns have a trip count that is
/// unknown at compile time, because the compiler would unroll them otherwise instead of vectorizing them.
const LANES: usize = 64;

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::SelectAndScatter(s), [select, scatter]) = (request.op, request.bodies) else { return None };
    let ([x, source, init], [y]) = (request.inputs, request.outputs) else { return None };
    let dtype = x.dtype;
    let same = [source.dtype, init.dtype, y.dtype] == [dtype; 3];
    if !same || y.sizes() != x.sizes() || init.elements() != Some(1) {
        return None;
    }
    let shape = Shape::new(x, source, s)?;
    let keep = selection(select, x)?;
    let add = scatter.reducer()?;
    if add.op != Op::Binary(Binary::Add) || scatter.args.iter().chain([&add.ty]).any(|t| t.dtype != dtype) {
        return None;
    }
    if dtype.is_float() && has_vectors() {
        return dispatch!(dtype, [floats], T => reduction::<T>(shape, vector_selection(keep)));
    }
    dispatch!(dtype, [ints, floats], T => reduction::<T>(shape, any_selection(keep)))
}

/// Finds, for each column, the row of the element that a window selects. The arguments are the windows, the
/// index of one window, the number of columns, a pointer to the first element of these columns, and the
/// output: one row number per column. Returns false if the window is empty.
type Select<T> = Box<dyn Fn(&Shape, usize, usize, *const T, &mut [u32; LANES]) -> bool + Send + Sync>;

/// Returns the selection with loops for vectors, compiled for each comparison.
fn vector_selection<T: Compared>(keep: ComparisonDirection) -> Select<T> {
    fn with<T: Compared>(
        keeps: impl Fn(T::Wide, T::Wide) -> bool + Copy + Send + Sync + 'static,
    ) -> Select<T> {
        Box::new(move |shape, window, width, x, best| {
            with_vectors(
                #[inline(always)]
                || select(shape, keeps, window, width, x, best),
            )
        })
    }
    match keep {
        ComparisonDirection::Ge => with(|a, b| a >= b),
        ComparisonDirection::Gt => with(|a, b| a > b),
        ComparisonDirection::Le => with(|a, b| a <= b),
        _ => with(|a, b| a < b),
    }
}

/// Returns the selection for any processor. Its loop is compiled once for all comparisons.
fn any_selection<T: Compared>(keep: ComparisonDirection) -> Select<T> {
    let keeps: fn(T::Wide, T::Wide) -> bool = match keep {
        ComparisonDirection::Ge => |a, b| a >= b,
        ComparisonDirection::Gt => |a, b| a > b,
        ComparisonDirection::Le => |a, b| a <= b,
        _ => |a, b| a < b,
    };
    Box::new(move |shape, window, width, x, best| select(shape, keeps, window, width, x, best))
}

/// Returns the direction of the region's comparison of the selected element with the next one. If the
/// comparison holds, the selected element is kept. `None` for other regions.
fn selection(body: &Body, x: &TensorType) -> Option<ComparisonDirection> {
    let only = body.reducer()?;
    let Op::Compare(compare) = &only.op else { return None };
    let total = compare.kind == Some(farcall_ir::op::CompareKind::TotalOrder) && x.dtype.is_float();
    if total || body.args.iter().any(|t| t.dtype != x.dtype) {
        return None;
    }
    let swapped = only.operands == [1, 0];
    Some(match (compare.direction, swapped) {
        (ComparisonDirection::Ge, false) | (ComparisonDirection::Le, true) => ComparisonDirection::Ge,
        (ComparisonDirection::Gt, false) | (ComparisonDirection::Lt, true) => ComparisonDirection::Gt,
        (ComparisonDirection::Le, false) | (ComparisonDirection::Ge, true) => ComparisonDirection::Le,
        (ComparisonDirection::Lt, false) | (ComparisonDirection::Gt, true) => ComparisonDirection::Lt,
        (ComparisonDirection::Eq | ComparisonDirection::Ne, _) => return None,
    })
}

/// Windows over the operand. There is one window per value.
struct Shape {
    /// Number of indices of the leading dimensions without windows. These indices are independent of each
    /// other.
    apart: usize,
    /// Number of elements of the operand per index of the leading dimensions.
    elements: usize,
    /// Number of values per index of the leading dimensions.
    values: usize,
    /// The dimensions from the first to the last one with windows: axis, number of windows, and stride. The
    /// stride counts rows, which have `inner` elements.
    axes: Vec<(Axis, usize, usize)>,
    /// Number of elements of the dimensions after the last one with windows.
    inner: usize,
}

impl Shape {
    fn new(x: &TensorType, source: &TensorType, s: &SelectAndScatter) -> Option<Shape> {
        let rank = x.rank();
        if [s.window.len(), s.strides.len(), s.padding.len(), source.rank()] != [rank; 4] {
            return None;
        }
        let axes: Vec<Axis> = (0..rank)
            .map(|d| Axis {
                size: x.sizes()[d],
                window: s.window[d],
                stride: s.strides[d],
                base_dilation: 1,
                window_dilation: 1,
                padding: s.padding[d],
            })
            .collect();
        let elements = x.elements().filter(|n| u32::try_from(*n).is_ok())?;
        if !fits(&axes, source) {
            return None;
        }
        let first = axes.iter().position(|a| !a.is_trivial()).unwrap_or(rank);
        let behind = axes.iter().rposition(|a| !a.is_trivial()).map_or(rank, |d| d + 1);
        let apart = product(axes[..first].iter().map(|a| a.size));
        let inner = product(axes[behind..].iter().map(|a| a.size));
        let mut stride = 1usize;
        let mut windowed = Vec::new();
        for axis in axes[first..behind].iter().rev() {
            windowed.push((*axis, axis.windows(), stride));
            stride = stride.saturating_mul(axis.size);
        }
        windowed.reverse();
        let values = source.elements()?.checked_div(apart).unwrap_or(0);
        Some(Shape {
            apart,
            elements: elements.checked_div(apart).unwrap_or(0),
            values,
            axes: windowed,
            inner,
        })
    }
}

impl Shape {
    /// Maximum number of rows under a window.
    fn under(&self) -> usize {
        product(self.axes.iter().map(|a| a.0.most()))
    }
}

fn reduction<T: Compared>(shape: Shape, select: Select<T>) -> PreparedKernel {
    let under = shape.under();
    // A unit is a group of columns at one index of the leading dimensions. Units are independent.
    let columns = shape.inner.div_ceil(LANES);
    let units = shape.apart.saturating_mul(columns);
    let work = (shape.values / columns.max(1)).saturating_mul(under.max(1));
    let per_task = (MIN_TASK_COMPARISONS / work.max(1)).max(1);
    let tasks = units.div_ceil(per_task).max(1);
    let prepared = PreparedKernel::in_tasks(tasks, move |args, task| {
        let units = task * per_task..((task + 1) * per_task).min(units);
        for unit in units {
            part::<T>(args, &shape, &select, unit / columns, unit % columns * LANES);
        }
    });
    prepared.slow()
}

/// Selects elements and adds values in a group of columns at one index of the leading dimensions.
fn part<T: Compared>(args: &Args<'_>, shape: &Shape, select: &Select<T>, index: usize, column: usize) {
    let inner = shape.inner;
    let width = LANES.min(inner - column);
    let (begin, values) = (index * shape.elements + column, index * shape.values + column);
    // SAFETY: the operand, the values and the result have these columns, which belong to this unit alone, and
    // the result does not overlap the others.
    let (x, source, out, init) = unsafe {
        (
            args.input_ptr::<T>(0).add(begin),
            args.input_ptr::<T>(1).add(values),
            args.output_ptr::<T>(0).add(begin),
            args.input_ptr::<T>(2).read(),
        )
    };
    for row in 0..shape.elements / inner {
        for j in 0..width {
            // SAFETY: the element lies in the result.
            unsafe { out.add(row * inner + j).write(init) };
        }
    }
    let (under, mut pace) = (shape.under().saturating_mul(width), Pace::default());
    for window in 0..shape.values / inner {
        if pace.is_due_after(under) {
            return;
        }
        let mut best = [0u32; LANES];
        let selected = select(shape, window, width, x, &mut best);
        if !selected {
            continue;
        }
        for (j, at) in best[..width].iter().enumerate() {
            // SAFETY: the elements are in these columns, in rows under the window.
            unsafe {
                let to = out.add(*at as usize * inner + j);
                to.write(to.read().add(source.add(window * inner + j).read()));
            }
        }
    }
}

/// The loop of a [`Select`].
#[inline(always)]
fn select<T: Compared>(
    shape: &Shape,
    keeps: impl Fn(T::Wide, T::Wide) -> bool + Copy,
    window: usize,
    width: usize,
    x: *const T,
    best: &mut [u32; LANES],
) -> bool {
    let mut kept = [T::ZERO; LANES];
    let mut first = true;
    each_row(
        shape,
        window,
        #[inline(always)]
        |row| {
            // SAFETY: the row is under the window, and the operand has these columns of it.
            let values = unsafe { std::slice::from_raw_parts(x.add(row * shape.inner), width) };
            let row = row as u32;
            if first {
                kept[..width].copy_from_slice(values);
                best[..width].fill(row);
                first = false;
                return;
            }
            for ((kept, best), x) in kept[..width].iter_mut().zip(&mut best[..width]).zip(values) {
                let stays = keeps(kept.wide(), x.wide());
                *kept = if stays { *kept } else { *x };
                *best = if stays { *best } else { row };
            }
        },
    );
    !first
}

/// Calls `f` with each row under a window, in row-major order.
#[inline(always)]
fn each_row(shape: &Shape, window: usize, mut f: impl FnMut(usize)) {
    match shape.axes[..] {
        [(a, _, stride)] => {
            let a = a.run(window);
            for i in a.first..a.end() {
                f(i * stride);
            }
        }
        [(a, _, a_stride), (b, windows, b_stride)] => {
            let (a, b) = (a.run(window / windows), b.run(window % windows));
            for i in a.first..a.end() {
                for j in b.first..b.end() {
                    f(i * a_stride + j * b_stride);
                }
            }
        }
        _ => any_row(&shape.axes, window, 0, &mut f),
    }
}

/// Version of [`each_row`] for any number of dimensions.
fn any_row(axes: &[(Axis, usize, usize)], window: usize, base: usize, f: &mut dyn FnMut(usize)) {
    let [(axis, _, stride), rest @ ..] = axes else { return f(base) };
    let behind: usize = rest.iter().map(|a| a.1).product();
    let run = axis.run(window / behind);
    for i in run.first..run.end() {
        any_row(rest, window % behind, base + i * stride, f);
    }
}
