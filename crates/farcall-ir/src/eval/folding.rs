//! Reductions: `reduce`, `reduce_window`, `select_and_scatter`, `map`.
//!
//! A region is a function of scalars ([`Body`]). Nothing is rounded here between its steps: a region
//! rounds what it returns to its types, and a body that stands for a sum of floats may return more
//! digits than the type has (see [`super::reduction`]); the last one is rounded when it is stored.

use farcall_sig::DType;

use super::EvalError;
use super::index::{position, strides, try_for_each, zeros};
use super::space::{other_dims, pick, same_dims};
use crate::literal::Literal;
use crate::op::{ReduceWindow, SelectAndScatter};
use crate::scalar::Scalar;

/// A region applied to scalars: arguments, and where to put what it returns.
pub(super) type Body<'a> = &'a mut dyn FnMut(&[Scalar], &mut Vec<Scalar>) -> Result<(), EvalError>;

/// `reduce` over `dims`: combines elements in row-major order, starting with the init values.
///
/// `body` takes the accumulators, then the elements. Results have the element types `dtypes`.
pub(super) fn fold(
    inputs: &[Literal],
    init_values: &[Literal],
    dims: &[usize],
    dtypes: &[DType],
    body: Body<'_>,
) -> Result<Vec<Literal>, EvalError> {
    same_dims("dimensions of the inputs", inputs)?;
    let Some(first) = inputs.first() else { return Ok(Vec::new()) };
    let kept = other_dims(first.dims().len(), &[dims]);
    let result_dims = pick(first.dims(), &kept);
    // Where an element of the input goes: the coordinates of reduced dimensions do not count.
    let mut result_strides = vec![0; first.dims().len()];
    for (d, stride) in kept.iter().zip(strides(&result_dims)) {
        result_strides[*d] = stride;
    }

    let n = inputs.len();
    let init: Vec<Scalar> = init_values.iter().map(|v| v.get(0)).collect();
    let mut accumulators = init.repeat(result_dims.iter().product());
    let (mut args, mut combined) = (Vec::new(), Vec::new());
    let mut element = 0;
    try_for_each(first.dims(), |index| {
        let at = position(index, &result_strides) * n;
        args.clear();
        args.extend_from_slice(&accumulators[at..at + n]);
        args.extend(inputs.iter().map(|t| t.get(element)));
        body(&args, &mut combined)?;
        accumulators[at..at + n].copy_from_slice(&combined);
        element += 1;
        Ok(())
    })?;
    unzip(&accumulators, &result_dims, dtypes)
}

/// `reduce_window`: each result combines what lies under one window, in row-major order, starting with
/// the init values. Padding and the holes of base dilation hold the init values too.
pub(super) fn fold_windows(
    inputs: &[Literal],
    init_values: &[Literal],
    w: &ReduceWindow,
    dtypes: &[DType],
    body: Body<'_>,
) -> Result<Vec<Literal>, EvalError> {
    same_dims("dimensions of the inputs", inputs)?;
    let Some(first) = inputs.first() else { return Ok(Vec::new()) };
    let axes: Vec<Axis> = (0..first.dims().len())
        .map(|d| Axis {
            size: first.dims()[d],
            window: w.window[d],
            stride: w.strides[d],
            base_dilation: w.base_dilations[d],
            window_dilation: w.window_dilations[d],
            padding: w.padding[d],
        })
        .collect();
    let result_dims: Vec<usize> = axes.iter().map(Axis::windows).collect();
    for dtype in dtypes {
        zeros(*dtype, &result_dims)?; // an error if padding makes it too large
    }
    let input_strides = strides(first.dims());

    let n = inputs.len();
    let init: Vec<Scalar> = init_values.iter().map(|v| v.get(0)).collect();
    let mut accumulators = Vec::with_capacity(n * result_dims.iter().product::<usize>());
    let (mut args, mut combined) = (Vec::new(), Vec::new());
    try_for_each(&result_dims, |result_index| {
        let mut accumulator = init.clone();
        each_place(&axes, &input_strides, result_index, |element| {
            args.clear();
            args.extend_from_slice(&accumulator);
            match element {
                Some(element) => args.extend(inputs.iter().map(|t| t.get(element))),
                None => args.extend_from_slice(&init),
            }
            body(&args, &mut combined)?;
            accumulator.clone_from(&combined);
            Ok(())
        })?;
        accumulators.extend_from_slice(&accumulator);
        Ok(())
    })?;
    unzip(&accumulators, &result_dims, dtypes)
}

/// The first half of `select_and_scatter`: of each window of the operand, the position of the element that
/// `select` keeps when it is asked about each one after the first, in row-major order.
///
/// A window that lies in the padding as a whole has none.
pub(super) fn select(
    operand: &Literal,
    source_dims: &[usize],
    s: &SelectAndScatter,
    select: Body<'_>,
) -> Result<Vec<Option<usize>>, EvalError> {
    let axes: Vec<Axis> = (0..operand.dims().len())
        .map(|d| Axis {
            size: operand.dims()[d],
            window: s.window[d],
            stride: s.strides[d],
            base_dilation: 1,
            window_dilation: 1,
            padding: s.padding[d],
        })
        .collect();
    let operand_strides = strides(operand.dims());
    let mut picked = Vec::with_capacity(source_dims.iter().product());
    let mut returned = Vec::new();
    try_for_each(source_dims, |source_index| {
        let mut selected: Option<usize> = None;
        each_place(&axes, &operand_strides, source_index, |candidate| {
            let Some(candidate) = candidate else { return Ok(()) };
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

/// The second half of `select_and_scatter`: combines each source value with what is where it goes, the
/// init value at first.
pub(super) fn scatter(
    dims: &[usize],
    source: &Literal,
    init_value: &Literal,
    picked: &[Option<usize>],
    dtype: DType,
    scatter: Body<'_>,
) -> Result<Literal, EvalError> {
    let mut sums = vec![init_value.get(0); dims.iter().product()];
    let mut returned = Vec::new();
    for (value, at) in source.iter().zip(picked) {
        let Some(at) = *at else { continue };
        scatter(&[sums[at], value], &mut returned)?;
        sums[at] = returned[0];
    }
    Ok(Literal::try_from_fn(dtype, dims, |i| sums[i])?)
}

/// `map`: `body` applied to the elements of the inputs at each index.
pub(super) fn map(inputs: &[Literal], dtypes: &[DType], body: Body<'_>) -> Result<Vec<Literal>, EvalError> {
    same_dims("dimensions of the inputs", inputs)?;
    let Some(first) = inputs.first() else { return Ok(Vec::new()) };
    let mut values = Vec::with_capacity(first.len() * dtypes.len());
    let (mut args, mut returned) = (Vec::new(), Vec::new());
    for i in 0..first.len() {
        args.clear();
        args.extend(inputs.iter().map(|t| t.get(i)));
        body(&args, &mut returned)?;
        values.extend_from_slice(&returned);
    }
    unzip(&values, first.dims(), dtypes)
}

/// What a region with one `pred` result says.
pub(super) fn truth(returned: &[Scalar]) -> bool {
    returned.first().is_some_and(|s| s.as_bool())
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

impl Axis {
    /// How many windows fit.
    fn windows(&self) -> usize {
        windows(self.size, self.window, self.stride, self.base_dilation, self.window_dilation, self.padding)
    }

    /// The element under place `w` of window `r`, unless padding or a hole is there.
    fn covered(&self, r: usize, w: usize) -> Option<usize> {
        let at = r as i128 * self.stride as i128 + w as i128 * self.window_dilation as i128
            - i128::from(self.padding.0);
        let dilation = self.base_dilation.max(1) as i128;
        if at < 0 || at % dilation != 0 {
            return None;
        }
        usize::try_from(at / dilation).ok().filter(|i| *i < self.size)
    }
}

/// How many windows of a size fit in a dimension after dilation and padding; 0 if none does.
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

/// Calls `visit` with what lies under each place of the window at `result_index`: the number of an element,
/// or `None` for padding and holes.
fn each_place(
    axes: &[Axis],
    input_strides: &[usize],
    result_index: &[usize],
    mut visit: impl FnMut(Option<usize>) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    // Per dimension and place, the offset of the element that lies there.
    let each = axes.iter().zip(input_strides).zip(result_index);
    let offsets: Vec<Vec<Option<usize>>> = each
        .map(|((axis, stride), r)| (0..axis.window).map(|w| Some(axis.covered(*r, w)? * stride)).collect())
        .collect();
    let window: Vec<usize> = axes.iter().map(|a| a.window).collect();
    try_for_each(&window, |place| visit(place.iter().zip(&offsets).map(|(p, o)| o[*p]).sum()))
}

/// Tuples that lie one after the other, as one tensor per member.
fn unzip(tuples: &[Scalar], dims: &[usize], dtypes: &[DType]) -> Result<Vec<Literal>, EvalError> {
    let n = dtypes.len();
    let each = dtypes.iter().enumerate();
    each.map(|(k, dtype)| Ok(Literal::try_from_fn(*dtype, dims, |i| tuples[i * n + k])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s64(dims: &[usize], values: &[i64]) -> Literal {
        Literal::from_slice(DType::S64, dims, values)
    }

    fn add(args: &[Scalar], out: &mut Vec<Scalar>) -> Result<(), EvalError> {
        *out = vec![Scalar::Signed(args[0].as_i64() + args[1].as_i64())];
        Ok(())
    }

    #[test]
    fn dimensions_are_reduced() {
        let x = s64(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        let init = s64(&[], &[10]);
        let sum = |dims: &[usize]| {
            fold(std::slice::from_ref(&x), std::slice::from_ref(&init), dims, &[DType::S64], &mut add)
                .unwrap()
        };
        assert_eq!(sum(&[0])[0], s64(&[3], &[15, 17, 19]));
        assert_eq!(sum(&[1])[0], s64(&[2], &[16, 25]));
        assert_eq!(sum(&[0, 1])[0], s64(&[], &[31]));
        let nothing = fold(&[s64(&[0, 2], &[])], &[init], &[0], &[DType::S64], &mut add).unwrap();
        assert_eq!(nothing[0], s64(&[2], &[10, 10]));
    }

    #[test]
    fn several_inputs_are_reduced_together() {
        // Largest element and its place.
        let body: Body<'_> = &mut |args, out| {
            let keep = args[0].as_i64() >= args[2].as_i64();
            *out = if keep { args[..2].to_vec() } else { args[2..].to_vec() };
            Ok(())
        };
        let inputs = [s64(&[4], &[3, 9, 9, 1]), s64(&[4], &[0, 1, 2, 3])];
        let inits = [s64(&[], &[i64::MIN]), s64(&[], &[-1])];
        let out = fold(&inputs, &inits, &[0], &[DType::S64, DType::S32], body).unwrap();
        assert_eq!((out[0].get(0), out[1].get(0)), (Scalar::Signed(9), Scalar::Signed(1)));
        assert_eq!(out[1].dtype(), DType::S32);
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
        let run = |w: &ReduceWindow, init: i64| {
            fold_windows(std::slice::from_ref(&x), &[s64(&[], &[init])], w, &[DType::S64], &mut add)
                .unwrap()
                .remove(0)
        };
        assert_eq!(run(&w, 0), s64(&[2, 2], &[0, 0, 3, 4]));
        // One for the start, one for each place in padding or a hole.
        assert_eq!(run(&w, 1), s64(&[2, 2], &[3, 3, 5, 6]));
        w.window[0] = 3;
        assert_eq!(run(&w, 0), s64(&[1, 2], &[5, 6]));
        w.padding[0] = (-9, 0);
        assert_eq!(run(&w, 0), s64(&[0, 2], &[]));
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
