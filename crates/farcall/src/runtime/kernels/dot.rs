//! Matrix products.

use farcall_ir::DType;
use half::{bf16, f16};
use num_complex::Complex;

use super::elementwise::dispatch;
use super::number::Number;
use crate::plan::Dot;

/// How many products are added up before their sum joins the others: the error of a long sum grows with the
/// length of its parts and with their number.
const SUMMANDS: usize = 96;

/// Multiplies; `false` if there is no kernel.
///
/// # Safety
/// `x` and `y` are valid for reads of the elements that the strides reach, `out` for writes of the
/// result; all of type `dtype` and aligned, the output apart from the inputs.
pub(in crate::runtime) unsafe fn run(
    d: &Dot,
    dtype: DType,
    x: *const u8,
    y: *const u8,
    out: *mut u8,
) -> bool {
    let matrix = |at: [usize; 3]| {
        let size = dtype.size();
        // SAFETY: a matrix of the batch, as the caller promises.
        unsafe { (x.add(at[0] * size), y.add(at[1] * size), out.add(at[2] * size)) }
    };
    let mut known = true;
    batches(&d.batch, d.m * d.n, &mut |at| {
        let (x, y, out) = matrix(at);
        // SAFETY: the caller's promise.
        known &= unsafe { product(d, dtype, x, y, out) };
    });
    known
}

/// Calls `f` with the offsets of both operands and the result for every matrix of the batch.
fn batches(batch: &[(usize, usize, usize)], size: usize, f: &mut dyn FnMut([usize; 3])) {
    fn go(batch: &[(usize, usize, usize)], size: usize, at: &mut [usize; 3], f: &mut dyn FnMut([usize; 3])) {
        match batch {
            [] => {
                f(*at);
                at[2] += size;
            }
            [(n, x, y), rest @ ..] => {
                let [x0, y0, _] = *at;
                for i in 0..*n {
                    (at[0], at[1]) = (x0 + i * x, y0 + i * y);
                    go(rest, size, at, f);
                }
                (at[0], at[1]) = (x0, y0);
            }
        }
    }
    go(batch, size, &mut [0; 3], f);
}

/// # Safety
/// As [`run`], for one matrix.
unsafe fn product(d: &Dot, dtype: DType, x: *const u8, y: *const u8, out: *mut u8) -> bool {
    let s = |stride: usize| stride as isize;
    let ((lm, lk), (rk, rn)) = (d.lhs, d.rhs);
    macro_rules! gemm {
        ($gemm:path, $ty:ty, $summands:expr) => {{
            let (x, y, out) = (x.cast::<$ty>(), y.cast::<$ty>(), out.cast::<$ty>());
            for start in (0..d.k).step_by($summands) {
                let k = $summands.min(d.k - start);
                let keep = if start == 0 { 0.0 } else { 1.0 };
                let (x, y) = (x.add(start * lk), y.add(start * rk));
                $gemm(d.m, k, d.n, 1.0, x, s(lm), s(lk), y, s(rk), s(rn), keep, out, s(d.n), 1);
            }
        }};
    }
    // SAFETY: the caller's promise; the result is row-major.
    unsafe {
        match dtype {
            DType::F32 if d.k > 0 => gemm!(matrixmultiply::sgemm, f32, SUMMANDS),
            DType::F64 if d.k > 0 => gemm!(matrixmultiply::dgemm, f64, d.k),
            DType::C64 => {
                simple::<Complex<f32>, _>(d, x, y, out, Complex::default(), |t, a, b| t + a * b, |t| t)
            }
            DType::C128 => {
                simple::<Complex<f64>, _>(d, x, y, out, Complex::default(), |t, a, b| t + a * b, |t| t)
            }
            DType::F16 => {
                simple(d, x, y, out, 0f32, |t, a: f16, b| t + a.to_f32() * b.to_f32(), f16::from_f32)
            }
            DType::BF16 => {
                simple(d, x, y, out, 0f32, |t, a: bf16, b| t + a.to_f32() * b.to_f32(), bf16::from_f32)
            }
            _ => {
                return dispatch!(dtype, [ints, floats], T => {
                    simple::<T, T>(d, x, y, out, T::ZERO, |t, a, b| t.add(a.mul(b)), |t| t)
                });
            }
        }
    }
    true
}

/// One element of the result at a time.
///
/// # Safety
/// As [`run`], for one matrix.
unsafe fn simple<T: Copy, A: Copy>(
    d: &Dot,
    x: *const u8,
    y: *const u8,
    out: *mut u8,
    zero: A,
    step: impl Fn(A, T, T) -> A,
    narrow: impl Fn(A) -> T,
) {
    let (x, y, out) = (x.cast::<T>(), y.cast::<T>(), out.cast::<T>());
    for i in 0..d.m {
        for j in 0..d.n {
            let mut total = zero;
            for k in 0..d.k {
                // SAFETY: the caller's promise.
                let (a, b) = unsafe {
                    (x.add(i * d.lhs.0 + k * d.lhs.1).read(), y.add(k * d.rhs.0 + j * d.rhs.1).read())
                };
                total = step(total, a, b);
            }
            // SAFETY: the caller's promise.
            unsafe { out.add(i * d.n + j).write(narrow(total)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In one go, the error is 1.5e-6.
    #[test]
    fn long_sums_are_added_up_in_parts() {
        let (m, n, k) = (32, 32, 300);
        let mut state = 1u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let x: Vec<f32> = (0..m * k).map(|_| random()).collect();
        let y: Vec<f32> = (0..k * n).map(|_| random()).collect();
        let d = Dot { batch: Vec::new(), m, n, k, lhs: (k, 1), rhs: (n, 1) };
        let mut out = vec![0f32; m * n];
        // SAFETY: the operands and the result have the elements that `d` says.
        let known =
            unsafe { run(&d, DType::F32, x.as_ptr().cast(), y.as_ptr().cast(), out.as_mut_ptr().cast()) };
        assert!(known);
        let error = |(at, &got): (usize, &f32)| {
            let (i, j) = (at / n, at % n);
            let exact: f64 = (0..k).map(|l| f64::from(x[i * k + l]) * f64::from(y[l * n + j])).sum();
            (f64::from(got) - exact).powi(2)
        };
        let rms = (out.iter().enumerate().map(error).sum::<f64>() / out.len() as f64).sqrt();
        assert!(rms < 1.2e-6, "{rms:e}");
    }
}
