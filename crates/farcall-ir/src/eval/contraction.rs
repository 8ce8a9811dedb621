//! Products and convolutions.
//!
//! Products are summed in `f64`, complex `f64` or wrapping `i64` (which holds every integer type modulo its
//! width) and rounded once to the result's type; short sums of `f32` are computed in `f32`
//! ([`MAX_SHORT_SUM_TERMS`]). `precision` and `algorithm` would allow less exact results and are ignored.

use std::num::Wrapping;

use farcall_sig::DType;
use num_complex::Complex;

use super::index::{for_each, position, zeros};
use super::machine::Machine;
use super::number::{MAX_SHORT_SUM_TERMS, Number, load, store};
use super::space::{pick, same_sizes};
use super::windows::windows;
use super::{Denormals, EvalError, EvalValue, one, tensor};
use crate::dims::{self, strides};
use crate::interrupt::{self, Pace};
use crate::literal::Literal;
use crate::module::Inst;
use crate::op::{Convolution, DotGeneral};

/// `dot_general`: lhs, rhs.
pub(super) fn dot_general(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    d: &DotGeneral,
) -> Result<Vec<EvalValue>, EvalError> {
    one(dot(tensor(xs, 0)?, tensor(xs, 1)?, d, m.result_type(inst, 0)?.dtype, m.denormals)?)
}

/// `convolution`: lhs, rhs.
pub(super) fn convolution(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    c: &Convolution,
) -> Result<Vec<EvalValue>, EvalError> {
    one(convolved(tensor(xs, 0)?, tensor(xs, 1)?, c, m.result_type(inst, 0)?.dtype, m.denormals)?)
}

/// `dynamic_conv`: lhs, rhs, padding.
pub(super) fn dynamic_convolution(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    c: &Convolution,
) -> Result<Vec<EvalValue>, EvalError> {
    let flat: Vec<i64> = tensor(xs, 2)?.iter().map(|x| x.as_i64()).collect();
    let padding = flat.chunks_exact(2).map(|p| (p[0], p[1])).collect();
    convolution(m, inst, xs, &Convolution { padding, ..c.clone() })
}

/// Computes the product of two tensors. The result has the batch dimensions, then the free dimensions of lhs,
/// then the free dimensions of rhs.
fn dot(
    lhs: &Literal,
    rhs: &Literal,
    d: &DotGeneral,
    dtype: DType,
    denormals: Denormals,
) -> Result<Literal, EvalError> {
    let lhs_free = dims::others(lhs.dims().len(), &[&d.lhs_batch, &d.lhs_contract]);
    let rhs_free = dims::others(rhs.dims().len(), &[&d.rhs_batch, &d.rhs_contract]);
    let batch = pick(lhs.dims(), &d.lhs_batch);
    let contract = pick(lhs.dims(), &d.lhs_contract);
    same_sizes("sizes of batching dimensions", &batch, &pick(rhs.dims(), &d.rhs_batch))?;
    same_sizes("sizes of contracting dimensions", &contract, &pick(rhs.dims(), &d.rhs_contract))?;
    let rows = pick(lhs.dims(), &lhs_free);
    let columns = pick(rhs.dims(), &rhs_free);
    let sizes = [&batch, &rows, &columns, &contract].map(|dims| dims.iter().product::<usize>());

    // Both operands as matrices: lhs [batch, rows, contracted], rhs [batch, contracted, columns].
    let lhs_order = permuted_positions(lhs.dims(), &[&d.lhs_batch, &lhs_free, &d.lhs_contract]);
    let rhs_order = permuted_positions(rhs.dims(), &[&d.rhs_batch, &d.rhs_contract, &rhs_free]);
    let out = zeros(dtype, &[batch, rows, columns].concat())?;
    let short = sizes[3] <= MAX_SHORT_SUM_TERMS;
    let product = match field([lhs.dtype(), rhs.dtype(), dtype]) {
        Field::Integers => product::<Wrapping<i64>>,
        Field::Reals if short && dtype == DType::F32 => product::<f32>,
        Field::Reals => product::<f64>,
        Field::Complex if short && dtype == DType::C64 => product::<Complex<f32>>,
        Field::Complex => product::<Complex<f64>>,
    };
    interrupt::complete()?;
    Ok(product([lhs, rhs], [&lhs_order, &rhs_order], sizes, out, denormals))
}

/// Multiplies two tensors whose elements are read in these orders.
fn product<N: Number>(
    [lhs, rhs]: [&Literal; 2],
    [lhs_order, rhs_order]: [&[usize]; 2],
    sizes: [usize; 4],
    out: Literal,
    denormals: Denormals,
) -> Literal {
    let (lhs, rhs) = (load::<N>(lhs, denormals), load::<N>(rhs, denormals));
    let lhs: Vec<N> = lhs_order.iter().map(|p| lhs[*p]).collect();
    let rhs: Vec<N> = rhs_order.iter().map(|p| rhs[*p]).collect();
    store(&multiply(&lhs, &rhs, sizes), out, denormals)
}

/// Multiplies `batch` matrices [rows, contracted] and [contracted, columns].
fn multiply<N: Number>(a: &[N], b: &[N], [batch, rows, columns, contracted]: [usize; 4]) -> Vec<N> {
    let (mut out, mut pace) = (vec![N::ZERO; batch * rows * columns], Pace::default());
    if columns == 0 || contracted == 0 {
        return out;
    }
    for (row, sums) in out.chunks_exact_mut(columns).enumerate() {
        let a = &a[row * contracted..(row + 1) * contracted];
        let b = &b[row / rows * contracted * columns..];
        for (x, b) in a.iter().zip(b.chunks_exact(columns)) {
            if pace.is_due_after(columns) {
                return out;
            }
            for (sum, y) in sums.iter_mut().zip(b) {
                *sum = *sum + *x * *y;
            }
        }
    }
    out
}

/// Positions of a tensor's elements after its dimensions are permuted.
fn permuted_positions(dims: &[usize], order: &[&[usize]]) -> Vec<usize> {
    let order = order.concat();
    let all_strides = strides(dims);
    let (dims, strides) = (pick(dims, &order), pick(&all_strides, &order));
    let mut positions = Vec::with_capacity(dims.iter().product());
    for_each(&dims, |index| positions.push(position(index, &strides)));
    positions
}

/// Computes a convolution. Feature groups split the features of lhs and the kernels of rhs; batch groups
/// split the batch of lhs and the kernels of rhs. The kernels of group `g` only see group `g`'s part of lhs.
fn convolved(
    lhs: &Literal,
    rhs: &Literal,
    c: &Convolution,
    dtype: DType,
    denormals: Denormals,
) -> Result<Literal, EvalError> {
    let plan = ConvolutionPlan::new(lhs.dims(), rhs.dims(), c)?;
    let out = zeros(dtype, &plan.result_dims)?;
    Ok(match field([lhs.dtype(), rhs.dtype(), dtype]) {
        Field::Integers => plan.run::<Wrapping<i64>>(lhs, rhs, out, denormals),
        Field::Reals if plan.terms() <= MAX_SHORT_SUM_TERMS && dtype == DType::F32 => {
            plan.run::<f32>(lhs, rhs, out, denormals)
        }
        Field::Reals => plan.run::<f64>(lhs, rhs, out, denormals),
        Field::Complex => plan.run::<Complex<f64>>(lhs, rhs, out, denormals),
    })
}

/// Sizes and strides of a convolution.
struct ConvolutionPlan<'a> {
    c: &'a Convolution,
    lhs_dims: Vec<usize>,
    lhs_strides: Vec<usize>,
    rhs_dims: Vec<usize>,
    rhs_strides: Vec<usize>,
    result_dims: Vec<usize>,
    result_strides: Vec<usize>,
}

impl<'a> ConvolutionPlan<'a> {
    fn new(lhs: &[usize], rhs: &[usize], c: &'a Convolution) -> Result<ConvolutionPlan<'a>, EvalError> {
        let n = &c.dims;
        if c.padding.len() != n.input_spatial.len() {
            return Err(EvalError::new(format!(
                "{} dimensions are padded, but {} are spatial",
                c.padding.len(),
                n.input_spatial.len()
            )));
        }
        let groups = c.feature_group_count.max(1);
        let features = [lhs[n.input_feature] / groups, lhs[n.input_feature] % groups];
        same_sizes("features of image and kernels", &features, &[rhs[n.kernel_input_feature], 0])?;
        let mut result_dims = vec![0; lhs.len()];
        result_dims[n.output_batch] = lhs[n.input_batch] / c.batch_group_count.max(1);
        result_dims[n.output_feature] = rhs[n.kernel_output_feature];
        for (s, d) in n.output_spatial.iter().enumerate() {
            result_dims[*d] = windows(
                lhs[n.input_spatial[s]],
                rhs[n.kernel_spatial[s]],
                c.strides[s],
                c.lhs_dilation[s],
                c.rhs_dilation[s],
                c.padding[s],
            );
        }
        Ok(ConvolutionPlan {
            c,
            lhs_dims: lhs.to_vec(),
            lhs_strides: strides(lhs),
            rhs_dims: rhs.to_vec(),
            rhs_strides: strides(rhs),
            result_strides: strides(&result_dims),
            result_dims,
        })
    }

    /// Maximum number of products summed in an element of the result.
    fn terms(&self) -> usize {
        let n = &self.c.dims;
        let window = pick(&self.rhs_dims, &n.kernel_spatial);
        window.into_iter().fold(self.rhs_dims[n.kernel_input_feature], usize::saturating_mul)
    }

    fn run<N: Number>(&self, lhs: &Literal, rhs: &Literal, out: Literal, denormals: Denormals) -> Literal {
        store(&self.sums(&load::<N>(lhs, denormals), &load::<N>(rhs, denormals)), out, denormals)
    }

    fn sums<N: Number>(&self, lhs: &[N], rhs: &[N]) -> Vec<N> {
        let n = &self.c.dims;
        let mut out = vec![N::ZERO; self.result_dims.iter().product()];
        let batch = self.result_dims[n.output_batch];
        let kernels = self.result_dims[n.output_feature];
        let features = self.rhs_dims[n.kernel_input_feature];
        let kernels_per_feature_group = (kernels / self.c.feature_group_count.max(1)).max(1);
        let kernels_per_batch_group = (kernels / self.c.batch_group_count.max(1)).max(1);
        let (lhs_step, rhs_step) =
            (self.lhs_strides[n.input_feature], self.rhs_strides[n.kernel_input_feature]);

        let spatial = pick(&self.result_dims, &n.output_spatial);
        let spatial_strides = pick(&self.result_strides, &n.output_spatial);
        let mut pace = Pace::default();
        for_each(&spatial, |index| {
            let taps = self.taps(index);
            let steps = taps.len() * features + 1;
            for kernel in 0..kernels {
                let feature = kernel / kernels_per_feature_group * features;
                let rhs_at = kernel * self.rhs_strides[n.kernel_output_feature];
                for b in 0..batch {
                    if pace.is_due_after(steps) {
                        return;
                    }
                    let image = kernel / kernels_per_batch_group * batch + b;
                    let lhs_at = image * self.lhs_strides[n.input_batch] + feature * lhs_step;
                    let mut sum = N::ZERO;
                    for (l, r) in &taps {
                        for f in 0..features {
                            let image = l.map_or(N::ZERO, |l| lhs[lhs_at + l + f * lhs_step]);
                            sum = sum + image * rhs[rhs_at + r + f * rhs_step];
                        }
                    }
                    let at = position(index, &spatial_strides)
                        + b * self.result_strides[n.output_batch]
                        + kernel * self.result_strides[n.output_feature];
                    out[at] = sum;
                }
            }
        });
        out
    }

    /// Offsets of the elements of lhs and rhs that are multiplied for the result at a spatial index. Padding
    /// counts as zeros of lhs. These zeros are multiplied even by infinities of rhs, unless
    /// [`Convolution::skips_padding`]. Holes of dilation are skipped.
    fn taps(&self, index: &[usize]) -> Vec<(Option<usize>, usize)> {
        let (c, n) = (self.c, &self.c.dims);
        let skips_padding = c.skips_padding(&self.lhs_dims, &self.rhs_dims);
        let mut taps = vec![(Some(0), 0)];
        for (s, r) in index.iter().enumerate() {
            let (lhs_d, rhs_d) = (n.input_spatial[s], n.kernel_spatial[s]);
            let window = self.rhs_dims[rhs_d];
            let dilation = c.lhs_dilation[s].max(1) as i128;
            let mut along = Vec::new();
            for w in 0..window {
                let at = *r as i128 * c.strides[s] as i128 + w as i128 * c.rhs_dilation[s] as i128
                    - i128::from(c.padding[s].0);
                if at.rem_euclid(dilation) != 0 {
                    continue;
                }
                let reversed = c.reversal.get(s).is_some_and(|r| *r);
                let w = if reversed { window - 1 - w } else { w };
                let place =
                    usize::try_from(at / dilation).ok().filter(|p| at >= 0 && *p < self.lhs_dims[lhs_d]);
                if skips_padding && place.is_none() {
                    continue;
                }
                along.push((place.map(|p| p * self.lhs_strides[lhs_d]), w * self.rhs_strides[rhs_d]));
            }
            let both = |l: Option<usize>, a: Option<usize>| Some(l? + a?);
            taps = taps
                .iter()
                .flat_map(|(l, r)| along.iter().map(move |(a, b)| (both(*l, *a), r + b)))
                .collect();
        }
        taps
    }
}

/// The number system in which products are summed.
enum Field {
    Integers,
    Reals,
    Complex,
}

fn field(dtypes: [DType; 3]) -> Field {
    if dtypes.iter().any(|d| d.is_complex()) {
        Field::Complex
    } else if dtypes.iter().any(|d| d.is_float()) {
        Field::Reals
    } else {
        Field::Integers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::ConvolutionDims;
    use crate::scalar::Scalar;

    fn count(dtype: DType, dims: &[usize]) -> Literal {
        Literal::from_fn(dtype, dims, |i| Scalar::Signed(i as i64 + 1))
    }

    fn dims(batch: [&[usize]; 2], contract: [&[usize]; 2]) -> DotGeneral {
        DotGeneral {
            lhs_batch: batch[0].to_vec(),
            rhs_batch: batch[1].to_vec(),
            lhs_contract: contract[0].to_vec(),
            rhs_contract: contract[1].to_vec(),
            precision: Vec::new(),
            algorithm: None,
        }
    }

    #[test]
    fn products_of_batches_in_any_order_of_dimensions() {
        // The product of lhs [k, b, m] and rhs [n, k, b] has the dimensions [b, m, n].
        let (lhs, rhs) = (count(DType::S64, &[2, 2, 3]), count(DType::S64, &[2, 2, 2]));
        let d = dims([&[1], &[2]], [&[0], &[1]]);
        let out = dot(&lhs, &rhs, &d, DType::S64, Denormals::Ieee).unwrap();
        assert_eq!(out.dims(), [2, 3, 2]);
        let at = |l: &Literal, i: &[usize]| l.get(position(i, &strides(l.dims()))).as_i64();
        for_each(&[2, 3, 2], |i| {
            let [b, m, n] = [i[0], i[1], i[2]];
            let expected: i64 = (0..2).map(|k| at(&lhs, &[k, b, m]) * at(&rhs, &[n, k, b])).sum();
            assert_eq!(at(&out, i), expected, "{i:?}");
        });
    }

    #[test]
    fn integers_wrap_and_long_sums_of_floats_round_once() {
        let d = dims([&[], &[]], [&[0], &[0]]);
        let hundred = Literal::splat(DType::S8, [4], Scalar::Signed(100));
        let narrow = dot(&hundred, &hundred, &d, DType::S8, Denormals::Ieee).unwrap();
        assert_eq!(narrow.get(0), Scalar::Signed(i64::from(40_000_i32 as i8)));
        let wide = dot(&hundred, &hundred, &d, DType::S32, Denormals::Ieee).unwrap();
        assert_eq!(wide.get(0), Scalar::Signed(40_000));
        let sum = |n: usize| {
            let term = |i| {
                if i == 0 {
                    1e8
                } else if i == n - 1 {
                    -1e8
                } else {
                    1.0
                }
            };
            let x = Literal::from_fn(DType::F32, [n], |i| Scalar::Float(term(i)));
            let ones = Literal::splat(DType::F32, [n], Scalar::Float(1.0));
            dot(&x, &ones, &d, DType::F32, Denormals::Ieee).unwrap().get(0)
        };
        assert_eq!(sum(3), Scalar::Float(0.0));
        assert_eq!(sum(MAX_SHORT_SUM_TERMS + 1), Scalar::Float(MAX_SHORT_SUM_TERMS as f64 - 1.0));
        let truth = Literal::splat(DType::Pred, [3], Scalar::Bool(true));
        assert_eq!(dot(&truth, &truth, &d, DType::Pred, Denormals::Ieee).unwrap().get(0), Scalar::Bool(true));
        let none = dot(
            &count(DType::F32, &[2, 0]),
            &count(DType::F32, &[0, 2]),
            &dims([&[], &[]], [&[1], &[0]]),
            DType::F32,
            Denormals::Ieee,
        );
        assert_eq!(none.unwrap().as_slice::<f32>(), [0.0; 4]);
    }

    #[test]
    fn subnormal_numbers_are_flushed_if_asked_for() {
        let d = dims([&[], &[]], [&[0], &[0]]);
        let tiny = Literal::splat(DType::F32, [1], Scalar::Float(1e-40));
        let large = Literal::splat(DType::F32, [1], Scalar::Float(1e20));
        let product = |denormals| dot(&tiny, &large, &d, DType::F32, denormals).unwrap().get(0).as_f64();
        assert!(product(Denormals::Ieee) > 0.0);
        assert_eq!(product(Denormals::Flush), 0.0);
    }

    /// A convolution of an image with the dimensions [b, 0, f] and kernels with the dimensions [0, i, o],
    /// where 0 is the spatial dimension.
    fn conv() -> Convolution {
        Convolution {
            strides: vec![1],
            padding: vec![(0, 0)],
            lhs_dilation: vec![1],
            rhs_dilation: vec![1],
            reversal: vec![false],
            dims: ConvolutionDims {
                input_batch: 0,
                input_feature: 2,
                input_spatial: vec![1],
                kernel_input_feature: 1,
                kernel_output_feature: 2,
                kernel_spatial: vec![0],
                output_batch: 0,
                output_feature: 2,
                output_spatial: vec![1],
            },
            feature_group_count: 1,
            batch_group_count: 1,
            precision: Vec::new(),
        }
    }

    fn run(lhs: &[usize], rhs: &[usize], c: &Convolution) -> Literal {
        convolved(&count(DType::S64, lhs), &count(DType::S64, rhs), c, DType::S64, Denormals::Ieee).unwrap()
    }

    #[test]
    fn windows_move_over_the_image() {
        let out = run(&[1, 4, 1], &[2, 1, 1], &conv());
        assert_eq!((out.dims(), out.as_slice::<i64>()), (&[1, 3, 1][..], &[5, 8, 11][..]));
        let reversed = run(&[1, 4, 1], &[2, 1, 1], &Convolution { reversal: vec![true], ..conv() });
        assert_eq!(reversed.as_slice::<i64>(), [4, 7, 10]);
        let padded = Convolution { padding: vec![(1, 1)], strides: vec![2], ..conv() };
        assert_eq!(run(&[1, 4, 1], &[2, 1, 1], &padded).as_slice::<i64>(), [2, 8, 4]);
        // The dilated image is 1 0 2 0 3. The dilated kernel has the weights 1 and 2 for the first and the
        // third element of a window.
        let dilated = Convolution { lhs_dilation: vec![2], rhs_dilation: vec![2], ..conv() };
        assert_eq!(run(&[1, 3, 1], &[2, 1, 1], &dilated).as_slice::<i64>(), [5, 0, 8]);
        let cut = Convolution { padding: vec![(-1, -1)], ..conv() };
        assert_eq!(run(&[1, 4, 1], &[2, 1, 1], &cut).as_slice::<i64>(), [8]);
    }

    #[test]
    fn groups_see_their_part_alone() {
        // Two features, one kernel each.
        let features = Convolution { feature_group_count: 2, ..conv() };
        let out = run(&[1, 2, 2], &[1, 1, 2], &features);
        assert_eq!((out.dims(), out.as_slice::<i64>()), (&[1, 2, 2][..], &[1, 4, 3, 8][..]));
        // Two images, one kernel each: the result is a batch of one image with two features.
        let batches = Convolution { batch_group_count: 2, ..conv() };
        let out = run(&[2, 2, 1], &[1, 1, 2], &batches);
        assert_eq!((out.dims(), out.as_slice::<i64>()), (&[1, 2, 2][..], &[1, 6, 2, 8][..]));
    }

    #[test]
    fn padding_must_match_the_window() {
        let c = Convolution { padding: vec![], ..conv() };
        let x = count(DType::S64, &[1, 4, 1]);
        let e = convolved(&x, &x, &c, DType::S64, Denormals::Ieee).unwrap_err();
        assert_eq!(e.message, "0 dimensions are padded, but 1 are spatial");
    }
}
