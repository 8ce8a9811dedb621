//! Compares a result with the expected result, by the method that the corpus specifies for each output.
//!
//! - exact: equal values, including the sign of zero; NaN equals NaN.
//! - allclose: `|got - expected| <= atol + rtol * |expected|`; NaN equals NaN; infinities must be equal.
//! - phase_cols, phase_rows: like allclose, after each column (row) of the last two dimensions has been
//!   multiplied by the unit phase that fits best. Eigenvectors and singular vectors are determined only up to
//!   such a phase.
//!
//! Integers and booleans are always compared exactly.

use farcall::ir::literal::Literal;
use farcall::ir::scalar::Scalar;
use num_complex::Complex;
use serde::Deserialize;

use crate::show::{element, short_type};

/// Comparison method of an output.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Method {
    #[default]
    Exact,
    Allclose,
    PhaseCols,
    PhaseRows,
}

/// Method and tolerances.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Tolerance {
    pub method: Method,
    pub atol: f64,
    pub rtol: f64,
}

/// Describes the difference between `got` and `want`; `None` if they agree.
pub(crate) fn difference(got: &Literal, want: &Literal, tolerance: Tolerance) -> Option<String> {
    if got.ty() != want.ty() {
        return Some(format!("it is {}, expected {}", short_type(&got.ty()), short_type(&want.ty())));
    }
    let inexact = want.dtype().is_float() || want.dtype().is_complex();
    if !inexact {
        let bad = |i: usize| (got.get(i) != want.get(i)).then_some(f64::INFINITY);
        return report(got, want, "", bad);
    }
    let of = |l: &Literal| l.iter().map(Scalar::as_complex).collect::<Vec<_>>();
    let (mut g, w) = (of(got), of(want));
    match tolerance.method {
        Method::Exact => {
            let bad = |i: usize| (!same(g[i], w[i])).then_some(f64::INFINITY);
            return report(got, want, "", bad);
        }
        Method::Allclose => {}
        Method::PhaseCols => align(&mut g, &w, want.dims(), false),
        Method::PhaseRows => align(&mut g, &w, want.dims(), true),
    }
    let bad = |i: usize| {
        let ratio = ratio(g[i], w[i], tolerance);
        (ratio > 1.0).then_some(ratio)
    };
    let how = match tolerance.method {
        Method::PhaseCols => " up to the phase of each column",
        Method::PhaseRows => " up to the phase of each row",
        Method::Exact | Method::Allclose => "",
    };
    report(got, want, how, bad)
}

/// Counts bad elements and shows the worst. For the index of a bad element, `bad` returns the element's error
/// in units of the tolerance.
fn report(got: &Literal, want: &Literal, how: &str, bad: impl Fn(usize) -> Option<f64>) -> Option<String> {
    let mut count = 0usize;
    let mut worst: Option<(usize, f64)> = None;
    for i in 0..want.len() {
        if let Some(ratio) = bad(i) {
            count += 1;
            if worst.is_none_or(|(_, w)| ratio > w) {
                worst = Some((i, ratio));
            }
        }
    }
    let (at, ratio) = worst?;
    let times = if ratio.is_finite() { format!(" ({ratio:.3} times the tolerance)") } else { String::new() };
    Some(format!(
        "{count} of {} elements differ{how}; the worst is at {:?}: {}, expected {}{times}",
        want.len(),
        index(at, want.dims()),
        element(got.dtype(), got.get(at)),
        element(want.dtype(), want.get(at)),
    ))
}

/// Returns the index of the element at a row-major position.
pub(crate) fn index(mut at: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for (i, d) in index.iter_mut().zip(dims).rev() {
        *i = at % d;
        at /= d;
    }
    index
}

fn is_nan(z: Complex<f64>) -> bool {
    z.re.is_nan() || z.im.is_nan()
}

fn same(a: Complex<f64>, b: Complex<f64>) -> bool {
    (is_nan(a) && is_nan(b)) || (a == b && a.re.is_sign_negative() == b.re.is_sign_negative())
}

/// Returns the error in units of the tolerance. It is infinite if non-finite values differ.
fn ratio(g: Complex<f64>, w: Complex<f64>, tolerance: Tolerance) -> f64 {
    if !w.is_finite() {
        return if g == w || (is_nan(g) && is_nan(w)) { 0.0 } else { f64::INFINITY };
    }
    if !g.is_finite() {
        return f64::INFINITY;
    }
    let d = (g - w).norm();
    if d == 0.0 {
        return 0.0;
    }
    d / (tolerance.atol + tolerance.rtol * w.norm()).max(1e-300)
}

/// Multiplies each column (row) of the last two dimensions of `g` by the unit phase that brings the column
/// (row) closest to that of `w`.
fn align(g: &mut [Complex<f64>], w: &[Complex<f64>], dims: &[usize], rows: bool) {
    let [.., m, n] = *dims else { return };
    // Number and length of the vectors; strides between vectors and between elements of a vector.
    let (count, len, across, along) = if rows { (m, n, n, 1) } else { (n, m, 1, n) };
    if m * n == 0 {
        return;
    }
    for (g, w) in g.chunks_exact_mut(m * n).zip(w.chunks_exact(m * n)) {
        for v in 0..count {
            let at = |i: usize| v * across + i * along;
            let product: Complex<f64> = (0..len).map(|i| g[at(i)].conj() * w[at(i)]).sum();
            let norm = product.norm();
            if norm > 0.0 {
                let phase = product / norm.max(1e-300);
                for i in 0..len {
                    g[at(i)] *= phase;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcall::sig::DType;

    fn f32s(dims: &[usize], values: &[f32]) -> Literal {
        Literal::from_slice(DType::F32, dims, values)
    }

    fn close(method: Method) -> Tolerance {
        Tolerance { method, atol: 1e-6, rtol: 1e-5 }
    }

    #[test]
    fn exact_sees_the_sign_of_zero_and_equates_nans() {
        let exact = Tolerance::default();
        let nan = f32s(&[2], &[f32::NAN, 1.0]);
        assert_eq!(difference(&nan, &nan, exact), None);
        let message = difference(&f32s(&[2], &[0.0, 1.0]), &f32s(&[2], &[-0.0, 1.0]), exact).unwrap();
        assert_eq!(message, "1 of 2 elements differ; the worst is at [0]: 0.0, expected -0.0");
        assert!(difference(&f32s(&[2], &[0.0; 2]), &f32s(&[1, 2], &[0.0; 2]), exact).is_some());
    }

    #[test]
    fn allclose_has_a_bound() {
        let want = f32s(&[1, 3], &[1.0, f32::INFINITY, f32::NAN]);
        let got = f32s(&[1, 3], &[1.000_001, f32::INFINITY, f32::NAN]);
        assert_eq!(difference(&got, &want, close(Method::Allclose)), None);
        let got = f32s(&[1, 3], &[1.001, f32::INFINITY, f32::NAN]);
        let message = difference(&got, &want, close(Method::Allclose)).unwrap();
        assert!(message.starts_with("1 of 3 elements differ; the worst is at [0, 0]: 1.001"), "{message}");
        let got = f32s(&[1, 3], &[1.0, f32::MAX, f32::NAN]);
        assert!(difference(&got, &want, close(Method::Allclose)).is_some());
    }

    #[test]
    fn phases_are_free_per_column_or_row() {
        let want = f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        let columns = f32s(&[2, 2], &[-1.0, 2.0, -3.0, 4.0]);
        let rows = f32s(&[2, 2], &[-1.0, -2.0, 3.0, 4.0]);
        assert_eq!(difference(&columns, &want, close(Method::PhaseCols)), None);
        assert_eq!(difference(&rows, &want, close(Method::PhaseRows)), None);
        assert!(difference(&rows, &want, close(Method::PhaseCols)).is_some());
        assert!(difference(&columns, &want, close(Method::PhaseRows)).is_some());
    }
}
