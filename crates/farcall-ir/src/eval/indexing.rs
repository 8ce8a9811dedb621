//! Operations whose indices are data: gather, scatter, dynamic slices.
//!
//! The index arithmetic uses the specification's names, so that it can be compared with the specification.

use super::folding::Body;
use super::index::{for_each, position, try_for_each};
use super::machine::Machine;
use super::reduction::applied;
use super::space::{clamp_start, coordinate, pick, recast, same_dims, same_sizes, take, tensors};
use super::{EvalError, EvalValue, Semantics, one, tensor};
use crate::dims::{IndexedDims, strides};
use crate::literal::Literal;
use crate::module::Inst;
use crate::op::{Gather, Scatter};

/// `dynamic_slice`: operand, start indices.
pub(super) fn dynamic_slice(xs: &[EvalValue], sizes: &[usize]) -> Result<Vec<EvalValue>, EvalError> {
    let all = tensors(xs)?;
    one(slice_at(tensor(xs, 0)?, all.get(1..).unwrap_or_default(), sizes)?)
}

/// `dynamic_update_slice`: operand, update, start indices.
pub(super) fn dynamic_update_slice(xs: &[EvalValue]) -> Result<Vec<EvalValue>, EvalError> {
    let all = tensors(xs)?;
    one(update_at(tensor(xs, 0)?, tensor(xs, 1)?, all.get(2..).unwrap_or_default())?)
}

/// `real_dynamic_slice`: operand, start indices, limit indices, strides.
pub(super) fn real_dynamic_slice(xs: &[EvalValue]) -> Result<Vec<EvalValue>, EvalError> {
    one(slice_between(tensor(xs, 0)?, tensor(xs, 1)?, tensor(xs, 2)?, tensor(xs, 3)?)?)
}

/// `gather`: operand, start indices. If `wrap` is not empty, it is added to negative indices.
pub(super) fn gather(xs: &[EvalValue], g: &Gather, wrap: &[usize]) -> Result<Vec<EvalValue>, EvalError> {
    one(gathered(tensor(xs, 0)?, tensor(xs, 1)?, g, wrap)?)
}

/// `dynamic_gather`: operand, start indices, slice sizes.
pub(super) fn dynamic_gather(xs: &[EvalValue], g: &Gather) -> Result<Vec<EvalValue>, EvalError> {
    let slice_sizes = sizes("slice size", tensor(xs, 2)?)?;
    one(gathered(tensor(xs, 0)?, tensor(xs, 1)?, &Gather { slice_sizes, ..g.clone() }, &[])?)
}

/// `scatter`: inputs, scatter indices, and one update for each input. If `wrap` is not empty, it is added to
/// negative indices.
pub(super) fn scatter<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    xs: &[EvalValue],
    s: &Scatter,
    wrap: &[usize],
) -> Result<Vec<EvalValue>, EvalError> {
    let all = tensors(xs)?;
    let n = all.len() / 2;
    let mut inputs = Vec::with_capacity(n);
    for (i, input) in all.iter().take(n).enumerate() {
        inputs.push(recast(input, m.result_type(inst, i)?.dtype)?);
    }
    let mut body = applied(m, inst, 0)?;
    let updates = all.get(n + 1..).unwrap_or_default();
    let (starts, semantics) = (Starts::new(tensor(xs, n)?, s.index_vector_dim, wrap), m.semantics);
    let results =
        scattered(&inputs, &starts, updates, s, semantics, &mut |args, out| body.call(m, args, out))?;
    Ok(results.into_iter().map(EvalValue::Tensor).collect())
}

/// Gathers slices of the operand with the slice sizes of `g`. Starts are clamped, so that every slice lies
/// within the operand.
fn gathered(
    operand: &Literal,
    start_indices: &Literal,
    g: &Gather,
    wrap: &[usize],
) -> Result<Literal, EvalError> {
    let starts = Starts::new(start_indices, g.index_vector_dim, wrap);
    let numbers = IndexedDims::from(g);
    let sliced = numbers.operand_window_dims(operand.dims().len());
    check_fits("slice", &g.slice_sizes, operand.dims())?;
    starts.check_vectors(g.start_index_map.len())?;
    let [batching, start_batching] = [
        pick(operand.dims(), &g.operand_batching_dims),
        pick(start_indices.dims(), &g.start_indices_batching_dims),
    ];
    same_sizes("sizes of batching dimensions", &batching, &start_batching)?;

    // The result has the dimensions of the slices at `offset_dims`, and the dimensions of the indices
    // elsewhere.
    let rank = starts.batch_dims.len() + g.offset_dims.len();
    let batch_dims = numbers.windows_batch_dims(rank);
    let mut dims = vec![0; rank];
    for (d, size) in batch_dims.iter().zip(&starts.batch_dims) {
        dims[*d] = *size;
    }
    for (d, s) in g.offset_dims.iter().zip(&sliced) {
        dims[*d] = g.slice_sizes[*s];
    }

    let operand_strides = strides(operand.dims());
    let mut operand_index = vec![0; operand.dims().len()];
    take(operand, &dims, |result_index| {
        let batch_index = pick(result_index, &batch_dims);
        operand_index.fill(0);
        for (d_start, d_operand) in g.start_index_map.iter().enumerate() {
            let start = starts.get(&batch_index, d_start);
            operand_index[*d_operand] =
                clamp_start(start, g.slice_sizes[*d_operand], operand.dims()[*d_operand]);
        }
        for (d_operand, d_start) in g.operand_batching_dims.iter().zip(&g.start_indices_batching_dims) {
            operand_index[*d_operand] += starts.batch_coordinate(&batch_index, *d_start);
        }
        for (d_operand, d_result) in sliced.iter().zip(&g.offset_dims) {
            operand_index[*d_operand] += result_index[*d_result];
        }
        position(&operand_index, &operand_strides)
    })
}

/// Applies updates to any number of tensors at once, in row-major order of their indices.
///
/// A window that is not entirely inside the tensor is skipped, as in XLA. Under the specification's
/// semantics, only its elements outside of the tensor are skipped. `body` takes the current elements,
/// followed by the elements of the updates.
fn scattered(
    inputs: &[Literal],
    starts: &Starts<'_>,
    updates: &[Literal],
    s: &Scatter,
    semantics: Semantics,
    body: Body<'_>,
) -> Result<Vec<Literal>, EvalError> {
    same_dims("dimensions of the inputs", inputs)?;
    same_dims("dimensions of the updates", updates)?;
    let mut results = inputs.to_vec();
    results.iter_mut().try_for_each(Literal::unshare)?;
    let Some((input, update)) = inputs.first().zip(updates.first()) else { return Ok(results) };
    let numbers = IndexedDims::from(s);
    let update_scatter_dims = numbers.windows_batch_dims(update.dims().len());
    starts.check_vectors(s.scatter_dims_to_operand_dims.len())?;
    let scattered_sizes = pick(update.dims(), &update_scatter_dims);
    same_sizes("sizes of scattered dimensions", &scattered_sizes, &starts.batch_dims)?;
    let windowed = numbers.operand_window_dims(input.dims().len());

    // Size of a window along each dimension of the inputs.
    let mut window = vec![1; input.dims().len()];
    for (d_input, d_update) in windowed.iter().zip(&s.update_window_dims) {
        window[*d_input] = update.dims()[*d_update];
    }

    let one_element = vec![1; input.dims().len()];
    let input_strides = strides(input.dims());
    let mut result_index = vec![0i128; input.dims().len()];
    let (mut args, mut combined) = (Vec::new(), Vec::new());
    let mut update_number = 0;
    try_for_each(update.dims(), |update_index| {
        let u = update_number;
        update_number += 1;

        let update_scatter_index = pick(update_index, &update_scatter_dims);
        result_index.fill(0);
        for (d_start, d_input) in s.scatter_dims_to_operand_dims.iter().enumerate() {
            result_index[*d_input] = starts.get(&update_scatter_index, d_start);
        }
        for (d_input, d_start) in s.input_batching_dims.iter().zip(&s.scatter_indices_batching_dims) {
            result_index[*d_input] += starts.batch_coordinate(&update_scatter_index, *d_start) as i128;
        }
        let within = |index: &[i128], window: &[usize]| {
            let mut each = index.iter().zip(window).zip(input.dims());
            each.all(|((i, size), dim)| *i >= 0 && i + *size as i128 <= *dim as i128)
        };
        if semantics == Semantics::Xla && !within(&result_index, &window) {
            return Ok(());
        }
        for (d_input, d_update) in windowed.iter().zip(&s.update_window_dims) {
            result_index[*d_input] += update_index[*d_update] as i128;
        }
        if semantics == Semantics::StableHlo && !within(&result_index, &one_element) {
            return Ok(());
        }
        let r: usize = result_index.iter().zip(&input_strides).map(|(i, stride)| *i as usize * stride).sum();
        args.clear();
        args.extend(results.iter().map(|t| t.get(r)));
        args.extend(updates.iter().map(|t| t.get(u)));
        body(&args, &mut combined)?;
        for (result, value) in results.iter_mut().zip(&combined) {
            result.set(r, *value);
        }
        Ok(())
    })?;
    Ok(results)
}

/// Slices the operand at the start indices, which are clamped so that the slice lies within the operand.
fn slice_at(operand: &Literal, start_indices: &[Literal], sizes: &[usize]) -> Result<Literal, EvalError> {
    check_fits("slice", sizes, operand.dims())?;
    let start = clamped_starts(operand, start_indices, sizes);
    let operand_strides = strides(operand.dims());
    let first = position(&start, &operand_strides);
    take(operand, sizes, |index| first + position(index, &operand_strides))
}

/// Writes the update over a slice of the operand. Starts are clamped, so that the slice lies within the
/// operand.
fn update_at(operand: &Literal, update: &Literal, start_indices: &[Literal]) -> Result<Literal, EvalError> {
    check_fits("update", update.dims(), operand.dims())?;
    let start = clamped_starts(operand, start_indices, update.dims());
    let operand_strides = strides(operand.dims());
    let first = position(&start, &operand_strides);
    let size = operand.dtype().size();
    let mut out = operand.clone();
    out.unshare()?;
    let to = out.bytes_mut();
    let mut from = update.bytes().chunks_exact(size);
    for_each(update.dims(), |index| {
        let at = (first + position(index, &operand_strides)) * size;
        if let Some(element) = from.next() {
            to[at..at + size].copy_from_slice(element);
        }
    });
    Ok(out)
}

/// Slices the operand with this start, limit and stride in each dimension. Nothing is clamped: a slice
/// outside of the operand is an error.
fn slice_between(
    operand: &Literal,
    start_indices: &Literal,
    limit_indices: &Literal,
    strides_operand: &Literal,
) -> Result<Literal, EvalError> {
    let start = sizes("start index", start_indices)?;
    let limit = sizes("limit index", limit_indices)?;
    let steps = sizes("stride", strides_operand)?;
    let mut dims = Vec::with_capacity(start.len());
    for (d, dim) in operand.dims().iter().enumerate() {
        let bounds = start.get(d).copied().zip(limit.get(d).copied()).zip(steps.get(d).copied());
        let Some(((first, end), step)) = bounds else {
            return Err(EvalError::new(format!("the bounds of the slice in dimension {d} are missing")));
        };
        if first > end || end > *dim || step == 0 {
            return Err(EvalError::new(format!(
                "slice [{first}:{end}:{step}] of dimension {d}, which has {dim} elements"
            )));
        }
        dims.push((end - first).div_ceil(step));
    }
    let operand_strides = strides(operand.dims());
    let first = position(&start, &operand_strides);
    let step: Vec<usize> = steps.iter().zip(&operand_strides).map(|(a, b)| a * b).collect();
    take(operand, &dims, |index| first + position(index, &step))
}

/// The index vectors that a tensor holds along one of its dimensions. If that dimension is one past the last,
/// each element is an index vector with one entry.
struct Starts<'a> {
    tensor: &'a Literal,
    /// Sizes of the other dimensions.
    batch_dims: Vec<usize>,
    /// Strides of the other dimensions.
    batch_strides: Vec<usize>,
    index_vector_dim: usize,
    vector_stride: usize,
    /// Sizes that are added to negative entries; empty if indices do not wrap.
    wrap: &'a [usize],
}

impl<'a> Starts<'a> {
    fn new(tensor: &'a Literal, index_vector_dim: usize, wrap: &'a [usize]) -> Starts<'a> {
        let mut batch_dims = tensor.dims().to_vec();
        let mut batch_strides = strides(tensor.dims());
        let mut vector_stride = 0;
        if index_vector_dim < batch_dims.len() {
            batch_dims.remove(index_vector_dim);
            vector_stride = batch_strides.remove(index_vector_dim);
        }
        Starts { tensor, batch_dims, batch_strides, index_vector_dim, vector_stride, wrap }
    }

    /// Checks that the index vectors have `n` entries.
    fn check_vectors(&self, n: usize) -> Result<(), EvalError> {
        let found = self.tensor.dims().get(self.index_vector_dim).copied().unwrap_or(1);
        same_sizes("sizes of index vectors", &[found], &[n])
    }

    /// Entry `i` of the index vector at `batch_index`.
    fn get(&self, batch_index: &[usize], i: usize) -> i128 {
        let at = position(batch_index, &self.batch_strides) + i * self.vector_stride;
        match (coordinate(self.tensor.get(at)), self.wrap.get(i)) {
            (index @ ..0, Some(wrap)) => index + *wrap as i128,
            (index, _) => index,
        }
    }

    /// The coordinate of `batch_index` that belongs to dimension `d` of the tensor.
    fn batch_coordinate(&self, batch_index: &[usize], d: usize) -> usize {
        batch_index[if d < self.index_vector_dim { d } else { d - 1 }]
    }
}

/// Checks that a part of these sizes fits into a tensor with the dimensions `dims`.
fn check_fits(what: &str, sizes: &[usize], dims: &[usize]) -> Result<(), EvalError> {
    if sizes.len() == dims.len() && sizes.iter().zip(dims).all(|(size, dim)| size <= dim) {
        return Ok(());
    }
    Err(EvalError::new(format!("{what} sizes {sizes:?} do not fit into dimensions {dims:?}")))
}

fn clamped_starts(operand: &Literal, start_indices: &[Literal], sizes: &[usize]) -> Vec<usize> {
    let each = start_indices.iter().zip(sizes).zip(operand.dims());
    each.map(|((start, size), dim)| clamp_start(coordinate(start.get(0)), *size, *dim)).collect()
}

/// The elements of a rank 1 tensor as sizes, which must not be negative.
fn sizes(what: &str, tensor: &Literal) -> Result<Vec<usize>, EvalError> {
    let values = tensor.iter().map(coordinate);
    values
        .map(|x| usize::try_from(x).map_err(|_| EvalError::new(format!("{what} {x} is not a size"))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Scalar;
    use farcall_sig::DType;

    fn s64(dims: &[usize], values: &[i64]) -> Literal {
        Literal::from_slice(DType::S64, dims, values)
    }

    fn count(dims: &[usize]) -> Literal {
        Literal::from_fn(DType::S64, dims, |i| Scalar::Signed(i as i64 + 1))
    }

    fn starts<'a>(indices: &'a Literal, s: &Scatter) -> Starts<'a> {
        Starts::new(indices, s.index_vector_dim, &[])
    }

    #[test]
    fn gather_clamps_starts() {
        let g = Gather {
            offset_dims: vec![2, 3],
            collapsed_slice_dims: vec![0],
            start_index_map: vec![1, 0],
            index_vector_dim: 2,
            slice_sizes: vec![1, 2, 2],
            ..Gather::default()
        };
        let starts = s64(&[2, 3, 2], &[0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9]);
        let out = gathered(&count(&[3, 4, 2]), &starts, &g, &[]).unwrap();
        assert_eq!(out.dims(), [2, 3, 2, 2]);
        let expected =
            [1, 2, 3, 4, 3, 4, 5, 6, 13, 14, 15, 16, 9, 10, 11, 12, 11, 12, 13, 14, 17, 18, 19, 20];
        assert_eq!(out.as_slice::<i64>(), expected);
    }

    #[test]
    fn gather_of_batches_and_scalar_indices() {
        // Element i of the result is element starts[i], clamped, of row i of the operand.
        let g = Gather {
            operand_batching_dims: vec![0],
            start_indices_batching_dims: vec![0],
            start_index_map: vec![1],
            index_vector_dim: 1,
            slice_sizes: vec![1, 1],
            ..Gather::default()
        };
        let out = gathered(&count(&[3, 4]), &s64(&[3], &[2, -1, 7]), &g, &[]).unwrap();
        assert_eq!((out.dims(), out.as_slice::<i64>()), (&[3][..], &[3, 5, 12][..]));
    }

    #[test]
    fn dynamic_gather_rejects_slices_that_do_not_fit() {
        let g = Gather { offset_dims: vec![0], start_index_map: vec![0], ..Gather::default() };
        let xs = [count(&[3]), s64(&[1], &[0]), s64(&[1], &[4])].map(EvalValue::Tensor);
        let e = dynamic_gather(&xs, &g).unwrap_err();
        assert_eq!(e.message, "slice sizes [4] do not fit into dimensions [3]");
        let xs = [count(&[3]), s64(&[1], &[0]), s64(&[1], &[-4])].map(EvalValue::Tensor);
        assert_eq!(dynamic_gather(&xs, &g).unwrap_err().message, "slice size -4 is not a size");
    }

    #[test]
    fn scatter_skips_what_is_out_of_bounds() {
        let s = Scatter {
            update_window_dims: vec![2, 3],
            inserted_window_dims: vec![0],
            scatter_dims_to_operand_dims: vec![1, 0],
            index_vector_dim: 2,
            ..Scatter::default()
        };
        let indices = s64(&[2, 3, 2], &[0, 2, 1, 0, 2, 1, 0, 1, 1, 0, 0, 9]);
        let ones = Literal::splat(DType::S64, [2, 3, 2, 2], Scalar::Signed(1));
        let add: Body<'_> = &mut |args, out| {
            *out = vec![Scalar::Signed(args[0].as_i64() + args[1].as_i64())];
            Ok(())
        };
        let out =
            scattered(&[count(&[3, 4, 2])], &starts(&indices, &s), &[ones], &s, Semantics::Xla, add).unwrap();
        let expected =
            [1, 2, 5, 6, 7, 8, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 21, 22, 23, 24];
        assert_eq!(out[0].as_slice::<i64>(), expected);
    }

    #[test]
    fn a_scatter_window_is_written_as_a_whole_or_by_element() {
        let s = Scatter {
            update_window_dims: vec![1],
            scatter_dims_to_operand_dims: vec![0],
            index_vector_dim: 1,
            ..Scatter::default()
        };
        let nines = s64(&[4, 2], &[9; 8]);
        let run = |semantics| {
            let replace: Body<'_> = &mut |args, out| {
                *out = vec![args[1]];
                Ok(())
            };
            let indices = s64(&[4, 1], &[-1, 2, 5, 9]);
            let out = scattered(
                &[count(&[6])],
                &starts(&indices, &s),
                std::slice::from_ref(&nines),
                &s,
                semantics,
                replace,
            );
            out.unwrap()[0].as_slice::<i64>().to_vec()
        };
        assert_eq!(run(Semantics::Xla), [1, 2, 9, 9, 5, 6]);
        assert_eq!(run(Semantics::StableHlo), [9, 2, 9, 9, 5, 9]);
    }

    #[test]
    fn scatter_of_several_tensors_at_once() {
        let s = Scatter {
            inserted_window_dims: vec![0],
            scatter_dims_to_operand_dims: vec![0],
            index_vector_dim: 1,
            ..Scatter::default()
        };
        let swap: Body<'_> = &mut |args, out| {
            *out = vec![args[3], args[2]];
            Ok(())
        };
        let inputs = [count(&[3]), count(&[3])];
        let updates = [s64(&[2], &[10, 20]), s64(&[2], &[30, 40])];
        let indices = s64(&[2, 1], &[2, -1]);
        let out = scattered(&inputs, &starts(&indices, &s), &updates, &s, Semantics::Xla, swap).unwrap();
        assert_eq!(out[0].as_slice::<i64>(), [1, 2, 30]);
        assert_eq!(out[1].as_slice::<i64>(), [1, 2, 10]);
    }

    #[test]
    fn slices_are_clamped() {
        let starts = [s64(&[], &[-1]), s64(&[], &[3])];
        let slice = slice_at(&count(&[4, 4]), &starts, &[2, 3]).unwrap();
        assert_eq!(slice.as_slice::<i64>(), [2, 3, 4, 6, 7, 8]);
        let updated =
            update_at(&count(&[3, 2]), &s64(&[2, 1], &[-1, -2]), &[s64(&[], &[9]), s64(&[], &[1])]).unwrap();
        assert_eq!(updated.as_slice::<i64>(), [1, 2, 3, -1, 5, -2]);
    }

    #[test]
    fn real_slices_are_not() {
        let vector = |x| s64(&[1], &[x]);
        let out = slice_between(&count(&[10]), &vector(1), &vector(8), &vector(3)).unwrap();
        assert_eq!(out.as_slice::<i64>(), [2, 5, 8]);
        let e = slice_between(&count(&[10]), &vector(1), &vector(11), &vector(3)).unwrap_err();
        assert_eq!(e.message, "slice [1:11:3] of dimension 0, which has 10 elements");
    }
}
