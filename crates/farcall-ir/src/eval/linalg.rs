//! Linear algebra and Fourier transforms, computed in `f64` and rounded once.

use farcall_sig::DType;
use num_complex::Complex;

use super::fourier::Fourier;
use super::index::{for_each, position, zeros};
use super::machine::Machine;
use super::number::{Divisible, load, store};
use super::space::same_sizes;
use super::{Denormals, EvalError, EvalValue, one, tensor};
use crate::dims::strides;
use crate::interrupt::Pace;
use crate::literal::Literal;
use crate::module::Inst;
use crate::op::{FftKind, TriangularSolve, TriangularTranspose};

/// `cholesky`: a. The triangle that `lower` does not select is zero in the result. If the matrix is not
/// positive definite, the whole result is NaN.
pub(super) fn cholesky(
    m: &Machine<'_>,
    _inst: Inst<'_>,
    xs: &[EvalValue],
    lower: bool,
) -> Result<Vec<EvalValue>, EvalError> {
    let a = tensor(xs, 0)?;
    let n = square(a)?;
    one(if a.dtype().is_complex() {
        let mut values = load::<Complex<f64>>(a, m.denormals);
        matrices(&mut values, n * n).for_each(|matrix| factor(matrix, n, lower));
        store(&values, zeros(a.dtype(), a.dims())?, m.denormals)
    } else {
        let mut values = load::<f64>(a, m.denormals);
        matrices(&mut values, n * n).for_each(|matrix| factor(matrix, n, lower));
        store(&values, zeros(a.dtype(), a.dims())?, m.denormals)
    })
}

/// `triangular_solve`: a, b.
pub(super) fn triangular_solve(
    m: &Machine<'_>,
    _inst: Inst<'_>,
    xs: &[EvalValue],
    s: &TriangularSolve,
) -> Result<Vec<EvalValue>, EvalError> {
    let (a, b) = (tensor(xs, 0)?, tensor(xs, 1)?);
    let n = square(a)?;
    let [.., rows, columns] = *b.dims() else {
        return Err(EvalError::new(format!("{} holds no matrices", b.ty())));
    };
    if n != if s.left_side { rows } else { columns } {
        return Err(EvalError::new(format!("{} and {} do not fit", a.ty(), b.ty())));
    }
    same_sizes("batches", &a.dims()[..a.dims().len() - 2], &b.dims()[..b.dims().len() - 2])?;
    one(if b.dtype().is_complex() {
        let (a, mut x) = (load::<Complex<f64>>(a, m.denormals), load(b, m.denormals));
        let each = a.chunks_exact((n * n).max(1)).zip(matrices(&mut x, rows * columns));
        each.for_each(|(a, x)| solve(a, x, n, s));
        store(&x, zeros(b.dtype(), b.dims())?, m.denormals)
    } else {
        let (a, mut x) = (load::<f64>(a, m.denormals), load(b, m.denormals));
        let each = a.chunks_exact((n * n).max(1)).zip(matrices(&mut x, rows * columns));
        each.for_each(|(a, x)| solve(a, x, n, s));
        store(&x, zeros(b.dtype(), b.dims())?, m.denormals)
    })
}

/// `fft`: operand. Transforms the last dimensions, one for each entry of `length`.
pub(super) fn fft(
    m: &Machine<'_>,
    inst: Inst<'_>,
    xs: &[EvalValue],
    kind: FftKind,
    length: &[usize],
) -> Result<Vec<EvalValue>, EvalError> {
    one(transformed(tensor(xs, 0)?, kind, length, m.result_type(inst, 0)?.dtype, m.denormals)?)
}

fn transformed(
    operand: &Literal,
    kind: FftKind,
    length: &[usize],
    dtype: DType,
    denormals: Denormals,
) -> Result<Literal, EvalError> {
    if operand.is_empty() && matches!(kind, FftKind::Fft | FftKind::Ifft) {
        // There are no lines to transform, so any length is valid.
        return zeros(dtype, operand.dims());
    }
    let rank = operand.dims().len();
    let (Some(last), Some(n), Some(first)) =
        (rank.checked_sub(1), length.last().copied(), rank.checked_sub(length.len()))
    else {
        return Err(EvalError::new(format!("{} lengths do not fit {}", length.len(), operand.ty())));
    };
    let half = n / 2 + 1;
    let expected = if kind == FftKind::Irfft { half } else { n };
    let sizes = operand.dims()[first..last].iter().chain([&operand.dims()[last]]);
    if !sizes.eq(length[..length.len() - 1].iter().chain([&expected])) {
        return Err(EvalError::new(format!("lengths {length:?} do not fit {}", operand.ty())));
    }

    let inverse = matches!(kind, FftKind::Ifft | FftKind::Irfft);
    let mut lines = Lines { values: load(operand, denormals), dims: operand.dims().to_vec() };
    // The transform of a real tensor keeps only half of the last dimension, since the rest mirrors it. That
    // dimension is transformed first in the forward direction, and last in the inverse.
    if kind == FftKind::Rfft {
        let fourier = Fourier::new(n, inverse);
        lines.map(last, half, |line| fourier.run(line));
    }
    let mut whole: Vec<usize> =
        if matches!(kind, FftKind::Fft | FftKind::Ifft) { first..rank } else { first..last }.collect();
    if kind != FftKind::Irfft {
        whole.reverse();
    }
    for d in whole {
        let fourier = Fourier::new(lines.dims[d], inverse);
        lines.map(d, lines.dims[d], |line| fourier.run(line));
    }
    if kind == FftKind::Irfft {
        let fourier = Fourier::new(n, inverse);
        lines.map(last, n, |line| {
            let line: Vec<_> = (0..n).map(|k| if k < half { line[k] } else { line[n - k].conj() }).collect();
            fourier.run(&line)
        });
    }
    Ok(store(&lines.values, zeros(dtype, &lines.dims)?, denormals))
}

/// A tensor of complex numbers that is transformed line by line.
struct Lines {
    values: Vec<Complex<f64>>,
    dims: Vec<usize>,
}

impl Lines {
    /// Replaces each line along `d` by the first `length` elements of `f(line)`.
    fn map(&mut self, d: usize, length: usize, f: impl Fn(&[Complex<f64>]) -> Vec<Complex<f64>>) {
        let mut dims = self.dims.clone();
        dims[d] = length;
        let (from, to) = (strides(&self.dims), strides(&dims));
        let mut values = vec![Complex::new(0.0, 0.0); dims.iter().product()];
        let mut starts = dims.clone();
        starts[d] = 1.min(length);
        for_each(&starts, |index| {
            let (a, b) = (position(index, &from), position(index, &to));
            let line: Vec<_> = (0..self.dims[d]).map(|i| self.values[a + i * from[d]]).collect();
            for (i, x) in f(&line).into_iter().take(length).enumerate() {
                values[b + i * to[d]] = x;
            }
        });
        (self.values, self.dims) = (values, dims);
    }
}

/// Size of the square matrices in the last two dimensions.
fn square(a: &Literal) -> Result<usize, EvalError> {
    match *a.dims() {
        [.., rows, columns] if rows == columns => Ok(rows),
        _ => Err(EvalError::new(format!("{} holds no square matrices", a.ty()))),
    }
}

/// Iterates over consecutive matrices of `size` elements.
fn matrices<N>(values: &mut [N], size: usize) -> impl Iterator<Item = &mut [N]> {
    values.chunks_exact_mut(size.max(1))
}

/// Computes `a = l lᴴ`, column by column, from the lower triangle of `a` only (or `a = uᴴ u` from the upper
/// triangle, with `u = lᴴ`).
fn factor<N: Divisible>(a: &mut [N], n: usize, lower: bool) {
    // Element (i, j) of the lower triangle, or its counterpart in the upper triangle.
    let at = |i: usize, j: usize| if lower { i * n + j } else { j * n + i };
    let side = |x: N| if lower { x } else { x.conj() };
    let mut l = vec![N::ZERO; n * n];
    let (mut definite, mut pace) = (true, Pace::default());
    for j in 0..n {
        for i in j..n {
            if pace.is_due_after(j + 1) {
                return;
            }
            let products = (0..j).fold(N::ZERO, |sum, k| sum + l[i * n + k] * l[j * n + k].conj());
            let rest = side(a[at(i, j)]) - products;
            if i == j {
                definite &= rest.re() > 0.0;
                l[j * n + j] = N::from_real(rest.re().sqrt());
            } else {
                l[i * n + j] = rest / l[j * n + j];
            }
        }
    }
    for i in 0..n {
        for j in 0..n {
            a[at(i, j)] = match (j <= i, definite) {
                (true, true) => side(l[i * n + j]),
                (false, true) => N::ZERO,
                (_, false) => N::from_real(f64::NAN),
            };
        }
    }
}

/// Replaces `b` by the solution `x` of `op(a) x = b`, or of `x op(a) = b`, which is `op(a)ᵀ xᵀ = bᵀ`.
fn solve<N: Divisible>(a: &[N], b: &mut [N], n: usize, s: &TriangularSolve) {
    if n == 0 {
        return;
    }
    let transposed = (s.transpose_a != TriangularTranspose::NoTranspose) == s.left_side;
    let conjugated = s.transpose_a == TriangularTranspose::Adjoint;
    let element = |i: usize, j: usize| {
        let x = if transposed { a[j * n + i] } else { a[i * n + j] };
        if conjugated { x.conj() } else { x }
    };
    let forward = s.lower != transposed;
    let (count, mut pace) = (b.len() / n, Pace::default());
    for column in 0..count {
        let at = |i: usize| if s.left_side { i * count + column } else { column * n + i };
        for step in 0..n {
            if pace.is_due_after(step + 1) {
                return;
            }
            let i = if forward { step } else { n - 1 - step };
            let known = if forward { 0..i } else { i + 1..n };
            let products = known.fold(N::ZERO, |sum, j| sum + element(i, j) * b[at(j)]);
            let rest = b[at(i)] - products;
            b[at(i)] = if s.unit_diagonal { rest } else { rest / element(i, i) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Scalar;

    #[test]
    fn a_matrix_is_the_product_of_its_factors() {
        let i = Complex::new(0.0, 1.0);
        let one = Complex::new(1.0, 0.0);
        let matrix = [one * 4.0, one - i * 2.0, one + i * 2.0, one * 9.0];
        for lower in [true, false] {
            let mut l = matrix;
            factor(&mut l, 2, lower);
            assert_eq!(l[if lower { 1 } else { 2 }], Complex::new(0.0, 0.0));
            for (r, c) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let product: Complex<f64> = (0..2)
                    .map(|k| {
                        if lower {
                            l[r * 2 + k] * l[c * 2 + k].conj()
                        } else {
                            l[k * 2 + r].conj() * l[k * 2 + c]
                        }
                    })
                    .sum();
                assert!(
                    (product - matrix[r * 2 + c]).norm() < 1e-12,
                    "lower = {lower}: element ({r}, {c}) of the product is {product}"
                );
            }
        }
        let mut indefinite = [1.0, 2.0, 2.0, 1.0];
        factor(&mut indefinite, 2, true);
        assert!(indefinite.iter().all(|x| x.is_nan()));
    }

    #[test]
    fn solutions_solve() {
        let a: Vec<Complex<f64>> =
            (0..9).map(|k| Complex::new(f64::from(k % 4) + 1.0, f64::from(k % 3) - 1.0)).collect();
        let n = 3;
        for (lower, unit_diagonal, transpose_a, left_side) in [true, false].into_iter().flat_map(|lower| {
            [true, false].into_iter().flat_map(move |unit| {
                TriangularTranspose::VARIANTS
                    .into_iter()
                    .flat_map(move |t| [true, false].map(|left| (lower, unit, t, left)))
            })
        }) {
            let s = TriangularSolve { left_side, lower, unit_diagonal, transpose_a };
            // Elements of the matrix as the operation reads it: those of the other triangle are 0.
            let read = |i: usize, j: usize| match i.cmp(&j) {
                std::cmp::Ordering::Equal if unit_diagonal => Complex::new(1.0, 0.0),
                std::cmp::Ordering::Equal => a[i * n + j],
                o if (o == std::cmp::Ordering::Greater) == lower => a[i * n + j],
                _ => Complex::new(0.0, 0.0),
            };
            let op = |i: usize, j: usize| match transpose_a {
                TriangularTranspose::NoTranspose => read(i, j),
                TriangularTranspose::Transpose => read(j, i),
                TriangularTranspose::Adjoint => read(j, i).conj(),
            };
            let (rows, columns) = if left_side { (n, 2) } else { (2, n) };
            let b: Vec<_> = (0..rows * columns).map(|k| Complex::new(k as f64, 1.0)).collect();
            let mut x = b.clone();
            solve(&a, &mut x, n, &s);
            for r in 0..rows {
                for c in 0..columns {
                    let product: Complex<f64> = (0..n)
                        .map(|k| {
                            if left_side {
                                op(r, k) * x[k * columns + c]
                            } else {
                                x[r * columns + k] * op(k, c)
                            }
                        })
                        .sum();
                    let expected = b[r * columns + c];
                    assert!(
                        (product - expected).norm() < 1e-9,
                        "{s:?}: element ({r}, {c}) is {product}, not {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn real_transforms_are_half_of_complex_ones_and_invert() {
        for (dims, length) in
            [(&[2, 3, 5][..], &[3, 5][..]), (&[2, 4], &[4]), (&[3, 2, 6], &[3, 2, 6]), (&[1], &[1])]
        {
            let run =
                |x: &Literal, kind, dtype| transformed(x, kind, length, dtype, Denormals::Ieee).unwrap();
            let x = Literal::from_fn(DType::F64, dims, |i| Scalar::Float((i * i % 11) as f64));
            let whole = run(&x, FftKind::Fft, DType::C128);
            let half = run(&x, FftKind::Rfft, DType::C128);
            let last = dims.len() - 1;
            assert_eq!(half.dims()[last], dims[last] / 2 + 1);
            for_each(half.dims(), |index| {
                let [a, b] = [&whole, &half].map(|l| l.get(position(index, &strides(l.dims()))).as_complex());
                assert!((a - b).norm() < 1e-11, "{dims:?}: element {index:?} is {b}, not {a}");
            });
            for (back, kind) in [
                (run(&half, FftKind::Irfft, DType::F64), "irfft"),
                (run(&whole, FftKind::Ifft, DType::C128), "ifft"),
            ] {
                assert_eq!(back.dims(), dims);
                for (a, b) in back.iter().zip(x.iter()) {
                    assert!(
                        (a.as_f64() - b.as_f64()).abs() < 1e-12,
                        "{kind} of {dims:?} returns {a:?}, not {b:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn lengths_must_be_those_of_the_operand() {
        let x = Literal::zeros(DType::F64, [4]);
        let run = |length: &[usize]| transformed(&x, FftKind::Rfft, length, DType::C128, Denormals::Ieee);
        assert_eq!(run(&[5]).unwrap_err().message, "lengths [5] do not fit tensor<4xf64>");
        assert_eq!(run(&[]).unwrap_err().message, "0 lengths do not fit tensor<4xf64>");
    }
}
