//! Windows over tensors: `reduce_window`, and the first half of `select_and_scatter`.
//!
//! ```text
//! window r along a dimension ──Axis::run──▶ the elements it covers (a Run) ──fold──▶ one value
//! ```
//!
//! Short windows are folded element by element, in row-major order. For long windows, the dimensions are
//! folded one after the other, and overlapping windows share their partial results. The time is then linear
//! in the number of elements, independent of the size of the window. The specification requires the reducer
//! of a `reduce_window` to be associative; a running reduction (`cumsum`) does not even need this property.

use farcall_sig::DType;

use super::folding::{Body, truth, unzip};
use super::index::{try_for_each, zeros};
use super::number::MAX_SHORT_SUM_TERMS;
use super::space::same_dims;
use super::{EvalError, Semantics};
use crate::dims::strides;
use crate::literal::Literal;
use crate::memory::{self, count};
use crate::op::{ReduceWindow, SelectAndScatter};
use crate::scalar::Scalar;

/// `reduce_window`: each result combines the elements covered by one window, starting with the initial
/// values.
///
/// Under XLA's semantics, padding and the holes of base dilation contain no elements. Under the
/// specification's semantics, they contain the initial values.
pub(super) fn fold_windows(
    inputs: &[Literal],
    init_values: &[Literal],
    w: &ReduceWindow,
    dtypes: &[DType],
    semantics: Semantics,
    body: Body<'_>,
) -> Result<Vec<Literal>, EvalError> {
    same_dims("dimensions of the inputs", inputs)?;
    let Some(first) = inputs.first() else { return Ok(Vec::new()) };
    let axes = axes(first.dims(), w);
    let result_dims: Vec<usize> = axes.iter().map(Axis::windows).collect();
    for dtype in dtypes {
        zeros(*dtype, &result_dims)?; // fails if padding makes the result too large
    }
    if result_dims.contains(&0) {
        return unzip(&[], &result_dims, dtypes);
    }
    admit_runs(&result_dims)?;
    let init: Vec<Scalar> = init_values.iter().map(|v| v.get(0)).collect();
    let tuples = if semantics == Semantics::StableHlo {
        fold_positions(inputs, &init, &axes, &result_dims, body)?
    } else {
        let runs: Vec<Vec<Run>> = axes.iter().map(Axis::runs).collect();
        let longest = runs.iter().map(|axis| axis.iter().map(|r| r.count).max().unwrap_or(0));
        if longest.fold(1usize, usize::saturating_mul) <= MAX_SHORT_SUM_TERMS {
            fold_elements(inputs, &init, &runs, body)?
        } else {
            fold_dimensions(inputs, &init, &runs, body)?
        }
    };
    unzip(&tuples, &result_dims, dtypes)
}

/// The first half of `select_and_scatter`: for each window of the operand, returns the position of the
/// element that `select` keeps. `select` compares the element kept so far with each later element, in
/// row-major order.
///
/// A window that lies entirely in the padding selects no element.
pub(super) fn select(
    operand: &Literal,
    source_dims: &[usize],
    s: &SelectAndScatter,
    select: Body<'_>,
) -> Result<Vec<Option<usize>>, EvalError> {
    if source_dims.contains(&0) {
        return Ok(Vec::new());
    }
    admit_runs(source_dims)?;
    let runs: Vec<Vec<Run>> = (0..operand.dims().len())
        .map(|d| Axis {
            size: operand.dims()[d],
            window: s.window[d],
            stride: s.strides[d],
            base_dilation: 1,
            window_dilation: 1,
            padding: s.padding[d],
        })
        .map(|axis| axis.runs())
        .collect();
    let operand_strides = strides(operand.dims());
    let mut picked = Vec::with_capacity(count(source_dims));
    let mut returned = Vec::new();
    try_for_each(source_dims, |source_index| {
        let mut selected: Option<usize> = None;
        each_element(&runs, &operand_strides, source_index, |candidate| {
            if let Some(best) = selected {
                select(&[operand.get(best), operand.get(candidate)], &mut returned)?;
                if truth(&returned) {
                    return Ok(());
                }
            }
            selected = Some(candidate);
            Ok(())
        })?;
        picked.push(selected);
        Ok(())
    })?;
    Ok(picked)
}

/// Folds every position of every window; positions without an element count as the initial values.
fn fold_positions(
    inputs: &[Literal],
    init: &[Scalar],
    axes: &[Axis],
    result_dims: &[usize],
    body: Body<'_>,
) -> Result<Vec<Scalar>, EvalError> {
    let input_strides = strides(inputs.first().map_or(&[][..], Literal::dims));
    let window: Vec<usize> = axes.iter().map(|a| a.window).collect();
    fold_each(inputs, init, result_dims, body, |result_index, step| {
        try_for_each(&window, |place| {
            let each = axes.iter().zip(result_index).zip(place).zip(&input_strides);
            step(each.map(|(((a, r), w), s)| Some(a.element(*r, *w)? * s)).sum())
        })
    })
}

/// Folds the elements covered by every window, one by one.
fn fold_elements(
    inputs: &[Literal],
    init: &[Scalar],
    runs: &[Vec<Run>],
    body: Body<'_>,
) -> Result<Vec<Scalar>, EvalError> {
    let input_strides = strides(inputs.first().map_or(&[][..], Literal::dims));
    let result_dims: Vec<usize> = runs.iter().map(Vec::len).collect();
    fold_each(inputs, init, &result_dims, body, |result_index, step| {
        each_element(runs, &input_strides, result_index, |element| step(Some(element)))
    })
}

/// One step of a fold: combines the element at this position or, for `None`, the initial values.
type FoldStep<'a> = &'a mut dyn FnMut(Option<usize>) -> Result<(), EvalError>;

/// Folds the elements that `visit` finds in each window into the initial values, in the order of `visit`.
fn fold_each(
    inputs: &[Literal],
    init: &[Scalar],
    result_dims: &[usize],
    body: Body<'_>,
    visit: impl Fn(&[usize], FoldStep<'_>) -> Result<(), EvalError>,
) -> Result<Vec<Scalar>, EvalError> {
    let mut tuples = Vec::new();
    let (mut args, mut accumulator) = (Vec::new(), Vec::new());
    try_for_each(result_dims, |result_index| {
        accumulator.clear();
        accumulator.extend_from_slice(init);
        visit(result_index, &mut |element| {
            args.clear();
            args.extend_from_slice(&accumulator);
            match element {
                Some(element) => args.extend(inputs.iter().map(|t| t.get(element))),
                None => args.extend_from_slice(init),
            }
            body(&args, &mut accumulator)
        })?;
        tuples.extend_from_slice(&accumulator);
        Ok(())
    })?;
    Ok(tuples)
}

/// Requests the memory for the runs of each window along each dimension.
fn admit_runs(dims: &[usize]) -> Result<(), EvalError> {
    let each = dims.iter().map(|n| n.saturating_mul(size_of::<Run>()));
    Ok(memory::admit_scratch(each.fold(0, usize::saturating_add))?)
}

/// Folds one dimension after the other, the last one first, which preserves the order of the elements.
fn fold_dimensions(
    inputs: &[Literal],
    init: &[Scalar],
    runs: &[Vec<Run>],
    body: Body<'_>,
) -> Result<Vec<Scalar>, EvalError> {
    let mut dims = inputs.first().map_or(&[][..], Literal::dims).to_vec();
    let n = inputs.len();
    let mut cells = Cells::of(inputs);
    let mut folder = Folder { n, body, args: Vec::new(), out: Vec::new() };
    let trivial = |d: usize| {
        runs[d].len() == dims[d]
            && runs[d].iter().enumerate().all(|(r, run)| run.first == r && run.count == 1)
    };
    let mut long: Vec<usize> = (0..dims.len()).filter(|d| !trivial(*d)).collect();
    // If only one dimension has windows, and these grow from a fixed start (a running sum), the initial
    // values come first. Each result then takes one step from its predecessor.
    let mut seed = None;
    if let [d] = long[..]
        && runs[d].windows(2).all(|pair| pair[0].first == pair[1].first && pair[0].count <= pair[1].count)
        && runs[d].iter().all(|run| run.step == 1)
    {
        seed = Some(init);
    }
    while let Some(d) = long.pop() {
        let (inner, old) = (count(&dims[d + 1..]), dims[d]);
        let outer = count(&dims[..d]);
        // Intermediate results may have more values than the operand and the result.
        let between = outer.saturating_mul(runs[d].len()).saturating_mul(inner);
        memory::admit_scratch(between.saturating_mul(n * size_of::<Scalar>() + 1))?;
        let mut next = Cells::empty(n, between);
        for at in 0..outer * inner {
            let (o, i) = (at / inner.max(1), at % inner.max(1));
            let from = CellLine { first: o * old * inner + i, stride: inner };
            let to = CellLine { first: o * runs[d].len() * inner + i, stride: inner };
            folder.line(&cells, from, &runs[d], seed, &mut next, to)?;
        }
        dims[d] = runs[d].len();
        cells = next;
    }
    if seed.is_none() {
        for at in 0..cells.filled.len() {
            let folded = folder.combine(Some(init), cells.get(at))?;
            cells.set(at, folded);
        }
    }
    Ok(cells.tuples)
}

/// Tuples that may be absent: the partial results of each element or window.
struct Cells {
    n: usize,
    tuples: Vec<Scalar>,
    filled: Vec<bool>,
}

impl Cells {
    fn empty(n: usize, count: usize) -> Cells {
        Cells { n, tuples: vec![Scalar::Bool(false); n * count], filled: vec![false; count] }
    }

    fn of(inputs: &[Literal]) -> Cells {
        let count = inputs.first().map_or(0, Literal::len);
        let tuples = (0..count).flat_map(|i| inputs.iter().map(move |t| t.get(i))).collect();
        Cells { n: inputs.len(), tuples, filled: vec![true; count] }
    }

    fn get(&self, at: usize) -> Option<&[Scalar]> {
        self.filled[at].then(|| &self.tuples[at * self.n..][..self.n])
    }

    fn set(&mut self, at: usize, tuple: Option<&[Scalar]>) {
        self.filled[at] = tuple.is_some();
        if let Some(tuple) = tuple {
            self.tuples[at * self.n..][..self.n].copy_from_slice(tuple);
        }
    }
}

/// A line of cells along one dimension.
#[derive(Clone, Copy)]
struct CellLine {
    first: usize,
    stride: usize,
}

impl CellLine {
    fn at(self, i: usize) -> usize {
        self.first + i * self.stride
    }
}

/// Scratch memory for applying the reducer.
struct Folder<'a> {
    n: usize,
    body: Body<'a>,
    args: Vec<Scalar>,
    out: Vec<Scalar>,
}

impl Folder<'_> {
    /// Combines two tuples; a single tuple is returned unchanged.
    fn combine<'s>(
        &'s mut self,
        a: Option<&[Scalar]>,
        b: Option<&[Scalar]>,
    ) -> Result<Option<&'s [Scalar]>, EvalError> {
        match (a, b) {
            (Some(a), Some(b)) => {
                self.args.clear();
                self.args.extend_from_slice(a);
                self.args.extend_from_slice(b);
                (self.body)(&self.args, &mut self.out)?;
            }
            (Some(one), None) | (None, Some(one)) => {
                self.out.clear();
                self.out.extend_from_slice(one);
            }
            (None, None) => return Ok(None),
        }
        Ok(Some(&self.out))
    }

    /// Folds the runs of one line of cells.
    ///
    /// Consecutive runs begin and end in order, so a single queue of two halves serves all runs: `front`
    /// holds, for each of its elements, the combination of this and all later elements of `front`; `back`
    /// holds the combination of the elements that were added after `front` was filled.
    fn line(
        &mut self,
        cells: &Cells,
        from: CellLine,
        runs: &[Run],
        seed: Option<&[Scalar]>,
        out: &mut Cells,
        to: CellLine,
    ) -> Result<(), EvalError> {
        if runs.iter().any(|run| run.step != 1) {
            return self.line_by_element(cells, from, runs, out, to);
        }
        let (mut begin, mut end) = (0, 0);
        // The last entry of `front` belongs to the element `begin`.
        let mut front = Cells::empty(self.n, 0);
        let mut back = Cells::empty(self.n, 1);
        back.set(0, seed);
        for (r, run) in runs.iter().enumerate() {
            if run.count == 0 {
                out.set(to.at(r), seed);
                continue;
            }
            let (first, last) = (run.first, run.first + run.count);
            if first >= end {
                (begin, end) = (first, first);
                (front.tuples, front.filled) = (Vec::new(), Vec::new());
                back.set(0, seed);
            }
            while end < last {
                let folded = self.combine(back.get(0), cells.get(from.at(end)))?;
                back.set(0, folded);
                end += 1;
            }
            while begin < first {
                if front.filled.is_empty() {
                    for e in (begin..end).rev() {
                        let before = front.filled.len().checked_sub(1).and_then(|top| front.get(top));
                        let folded = self.combine(cells.get(from.at(e)), before)?;
                        let filled = folded.is_some();
                        let nothing = vec![Scalar::Bool(false); front.n];
                        front.tuples.extend_from_slice(folded.unwrap_or(&nothing));
                        front.filled.push(filled);
                    }
                    back.set(0, None);
                }
                front.filled.pop();
                front.tuples.truncate(front.filled.len() * front.n);
                begin += 1;
            }
            let top = front.filled.len().checked_sub(1).and_then(|top| front.get(top));
            let folded = self.combine(top, back.get(0))?;
            out.set(to.at(r), folded);
        }
        Ok(())
    }

    /// Folds the runs of one line of cells if the runs have gaps.
    fn line_by_element(
        &mut self,
        cells: &Cells,
        from: CellLine,
        runs: &[Run],
        out: &mut Cells,
        to: CellLine,
    ) -> Result<(), EvalError> {
        for (r, run) in runs.iter().enumerate() {
            for e in run.elements() {
                let folded = self.combine(out.get(to.at(r)), cells.get(from.at(e)))?;
                out.set(to.at(r), folded);
            }
        }
        Ok(())
    }
}

/// The elements along a dimension that a window covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    first: usize,
    step: usize,
    count: usize,
}

impl Run {
    fn elements(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |i| self.first + i * self.step)
    }
}

/// The windows along one dimension.
struct Axis {
    size: usize,
    window: usize,
    stride: usize,
    base_dilation: usize,
    window_dilation: usize,
    padding: (i64, i64),
}

/// Describes the windows of a `reduce_window` along each dimension.
fn axes(dims: &[usize], w: &ReduceWindow) -> Vec<Axis> {
    let axis = |d: usize| Axis {
        size: dims[d],
        window: w.window[d],
        stride: w.strides[d],
        base_dilation: w.base_dilations[d],
        window_dilation: w.window_dilations[d],
        padding: w.padding[d],
    };
    (0..dims.len()).map(axis).collect()
}

impl Axis {
    /// Number of windows that fit.
    fn windows(&self) -> usize {
        windows(self.size, self.window, self.stride, self.base_dilation, self.window_dilation, self.padding)
    }

    /// The elements covered by each window.
    fn runs(&self) -> Vec<Run> {
        (0..self.windows()).map(|r| self.run(r)).collect()
    }

    /// Start of window `r`, in units where element `e` lies at `e * base_dilation`.
    fn start(&self, r: usize) -> i128 {
        r as i128 * self.stride as i128 - i128::from(self.padding.0)
    }

    /// The element at position `w` of window `r`; `None` if the position is in the padding, or in a hole of
    /// base dilation.
    fn element(&self, r: usize, w: usize) -> Option<usize> {
        let at = self.start(r) + w as i128 * self.window_dilation as i128;
        let dilation = self.base_dilation.max(1) as i128;
        if at < 0 || at % dilation != 0 {
            return None;
        }
        usize::try_from(at / dilation).ok().filter(|i| *i < self.size)
    }

    /// The elements covered by window `r`.
    fn run(&self, r: usize) -> Run {
        let (start, base) = (self.start(r), self.base_dilation.max(1) as i128);
        let dilation = self.window_dilation.max(1) as i128;
        let clamp = |e: i128| usize::try_from(e.max(0)).map_or(self.size, |e| e.min(self.size));
        // The first element at or after a position in the padded and dilated dimension.
        let after = |at: i128| clamp(at.div_euclid(base) + i128::from(at.rem_euclid(base) != 0));
        let end = start + (self.window as i128 - 1) * dilation + 1;
        let (first, last) = (after(start), after(end));
        if dilation == 1 || self.window <= 1 {
            return Run { first, step: 1, count: last.saturating_sub(first) };
        }
        // Every covered element is a whole number of steps from the window's start.
        let step = (dilation / num_integer::gcd(base, dilation)) as usize;
        let under = |e: &usize| (*e as i128 * base - start) % dilation == 0;
        match (first..last).take(step).find(under) {
            Some(first) => Run { first, step, count: (last - first).div_ceil(step) },
            None => Run { first, step, count: 0 },
        }
    }
}

/// Number of windows of a size that fit in a dimension after dilation and padding; 0 if none fits.
pub(super) fn windows(
    size: usize,
    window: usize,
    stride: usize,
    base_dilation: usize,
    window_dilation: usize,
    padding: (i64, i64),
) -> usize {
    fn dilated(size: usize, dilation: usize) -> i128 {
        if size == 0 { 0 } else { (size as i128 - 1) * dilation as i128 + 1 }
    }
    let padded = dilated(size, base_dilation) + i128::from(padding.0) + i128::from(padding.1);
    let window = dilated(window, window_dilation);
    if padded <= 0 || window > padded {
        return 0;
    }
    usize::try_from((padded - window) / stride.max(1) as i128 + 1).unwrap_or(0)
}

/// Calls `visit` with the position of each element covered by the window at `result_index`, in row-major
/// order.
fn each_element(
    runs: &[Vec<Run>],
    input_strides: &[usize],
    result_index: &[usize],
    mut visit: impl FnMut(usize) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    let under: Vec<Run> = runs.iter().zip(result_index).map(|(axis, r)| axis[*r]).collect();
    let counts: Vec<usize> = under.iter().map(|run| run.count).collect();
    try_for_each(&counts, |place| {
        let each = under.iter().zip(place).zip(input_strides);
        visit(each.map(|((run, p), stride)| (run.first + p * run.step) * stride).sum())
    })
}

#[cfg(test)]
mod tests {
    use super::super::folding::scatter;
    use super::super::folding::tests::{add, s64};
    use super::*;

    fn run(x: &Literal, w: &ReduceWindow, init: i64, semantics: Semantics) -> Literal {
        let init = [s64(&[], &[init])];
        fold_windows(std::slice::from_ref(x), &init, w, &[DType::S64], semantics, &mut add).unwrap().remove(0)
    }

    #[test]
    fn windows_over_dilated_and_padded_inputs() {
        let x = s64(&[3, 2], &[1, 2, 3, 4, 5, 6]);
        let mut w = ReduceWindow {
            window: vec![2, 1],
            strides: vec![4, 1],
            base_dilations: vec![2, 1],
            window_dilations: vec![3, 1],
            padding: vec![(2, 1), (0, 0)],
        };
        let [xla, stablehlo] = [Semantics::Xla, Semantics::StableHlo];
        for semantics in [xla, stablehlo] {
            assert_eq!(run(&x, &w, 0, semantics), s64(&[2, 2], &[0, 0, 3, 4]));
        }
        // In XLA, the initial value counts once, at the start.
        assert_eq!(run(&x, &w, 1, xla), s64(&[2, 2], &[1, 1, 4, 5]));
        // By the specification, the initial value also counts once for each position in padding or a hole.
        assert_eq!(run(&x, &w, 1, stablehlo), s64(&[2, 2], &[3, 3, 5, 6]));
        w.window[0] = 3;
        assert_eq!(run(&x, &w, 0, xla), s64(&[1, 2], &[5, 6]));
        w.padding[0] = (-9, 0);
        assert_eq!(run(&x, &w, 0, xla), s64(&[0, 2], &[]));
    }

    /// Folding by dimensions, by elements, and by positions must give the same results.
    #[test]
    fn long_windows_give_what_short_ones_give() {
        let values: Vec<i64> = (0..60).map(|i| (i * 37 + 11) % 23 - 9).collect();
        let x = s64(&[6, 10], &values);
        let mut seed = 1u64;
        let mut random = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % n
        };
        for _ in 0..3000 {
            let w = ReduceWindow {
                window: vec![1 + random(6), 1 + random(9)],
                strides: vec![1 + random(3), 1 + random(3)],
                base_dilations: vec![1 + random(3), 1 + random(3)],
                window_dilations: vec![1 + random(3), 1 + random(3)],
                padding: (0..2).map(|_| (random(12) as i64 - 3, random(12) as i64 - 3)).collect(),
            };
            let axes = axes(x.dims(), &w);
            for axis in &axes {
                for r in 0..axis.windows() {
                    let places: Vec<usize> = (0..axis.window).filter_map(|p| axis.element(r, p)).collect();
                    assert_eq!(axis.run(r).elements().collect::<Vec<_>>(), places);
                }
            }
            let runs: Vec<Vec<Run>> = axes.iter().map(Axis::runs).collect();
            let (inputs, init) = (std::slice::from_ref(&x), [Scalar::Signed(0)]);
            let expected =
                fold_positions(inputs, &init, &axes, &[runs[0].len(), runs[1].len()], &mut add).unwrap();
            assert_eq!(fold_elements(inputs, &init, &runs, &mut add).unwrap(), expected, "{w:?}");
            assert_eq!(fold_dimensions(inputs, &init, &runs, &mut add).unwrap(), expected, "{w:?}");
        }
    }

    #[test]
    fn a_running_reduction_takes_one_step_for_each_element() {
        let n = 1000;
        let x = Literal::from_fn(DType::S64, [n], |i| Scalar::Signed(i as i64));
        let mut w = ReduceWindow {
            window: vec![n],
            strides: vec![1],
            base_dilations: vec![1],
            window_dilations: vec![1],
            padding: vec![(n as i64 - 1, 0)],
        };
        // The reducer is neither associative nor commutative, so the order of the steps is visible.
        let mut steps = 0;
        let body: Body<'_> = &mut |args, out| {
            steps += 1;
            *out = vec![Scalar::Signed((args[0].as_i64() * 3 + args[1].as_i64()) % 1_000_003)];
            Ok(())
        };
        let init = [s64(&[], &[7])];
        let forward = |w: &ReduceWindow, body: Body<'_>| {
            fold_windows(std::slice::from_ref(&x), &init, w, &[DType::S64], Semantics::Xla, body)
                .unwrap()
                .remove(0)
        };
        let out = forward(&w, body);
        let mut expected = 7;
        for i in 0..n as i64 {
            expected = (expected * 3 + i) % 1_000_003;
            assert_eq!(out.get(i as usize), Scalar::Signed(expected));
        }
        assert_eq!(steps, n);
        w.padding[0] = (0, n as i64 - 1);
        let sums = forward(&w, &mut add);
        assert_eq!(sums.get(n - 3), Scalar::Signed(7 + 997 + 998 + 999));
    }

    #[test]
    fn each_window_scatters_to_the_element_it_selects() {
        let operand = s64(&[4, 2], &[1, 5, 2, 5, 3, 6, 4, 4]);
        let source = s64(&[2, 2], &[5, 6, 7, 8]);
        let s = SelectAndScatter { window: vec![3, 1], strides: vec![2, 1], padding: vec![(0, 1), (0, 0)] };
        let ge: Body<'_> = &mut |args, out| {
            *out = vec![Scalar::Bool(args[0].as_i64() >= args[1].as_i64())];
            Ok(())
        };
        let picked = select(&operand, source.dims(), &s, ge).unwrap();
        let out = scatter(operand.dims(), &source, &s64(&[], &[0]), &picked, DType::S64, &mut add).unwrap();
        assert_eq!(out, s64(&[4, 2], &[0, 0, 0, 0, 5, 14, 7, 0]));
    }
}
