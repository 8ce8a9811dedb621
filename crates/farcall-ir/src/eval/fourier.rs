//! Discrete Fourier transforms of any length, in `f64`.
//!
//! A transform follows Cooley and Tukey's recursion over the prime factors of the length. The roots of unity
//! come from one table, so that errors do not accumulate along a line. The product of a number and a zero
//! part of a root is 0, even if the number is infinite or NaN. The engine uses this module for lines with
//! NaNs or infinities, so that its results for such lines equal the evaluator's.

use std::f64::consts::FRAC_PI_4;

use num_complex::Complex;

use crate::interrupt::{self, Pace};

/// A transform for lines of one length.
#[derive(Debug)]
pub struct Fourier {
    /// `exp(-2πi k / n)`; for the inverse, `exp(2πi k / n)`.
    roots: Vec<Complex<f64>>,
    inverse: bool,
}

impl Fourier {
    /// Creates a transform for lines of `n` elements. The inverse divides by `n`.
    pub fn new(n: usize, inverse: bool) -> Fourier {
        let root = |k| {
            let (cos, sin) = on_circle(8 * k, n);
            Complex::new(cos, if inverse { sin } else { -sin })
        };
        Fourier { roots: (0..n).map(root).collect(), inverse }
    }

    /// Transforms a line of `n` elements.
    pub(super) fn run(&self, line: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let mut out = self.sums(line);
        if self.inverse {
            out.iter_mut().for_each(|x| *x /= line.len() as f64);
        }
        out
    }

    /// Transforms a line; the inverse is not divided by the length.
    ///
    /// # Panics
    /// If the line has a different number of elements.
    pub fn sums(&self, line: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let n = self.roots.len();
        assert_eq!(line.len(), n, "the elements of a line");
        if n == 0 {
            return Vec::new();
        }
        let is_finite = |x: &Complex<f64>| x.re.is_finite() && x.im.is_finite();
        if largest_prime_factor(n) > MAX_SUMMED_FACTOR && !line.iter().all(is_finite) {
            return vec![Complex::new(f64::NAN, f64::NAN); n];
        }
        self.part(line, 0, 1, n)
    }

    /// Transforms the `n` elements `line[first]`, `line[first + step]`, …, where `n * step` is the length of
    /// the line.
    fn part(&self, line: &[Complex<f64>], first: usize, step: usize, n: usize) -> Vec<Complex<f64>> {
        if n == 1 {
            return vec![line[first]];
        }
        let p = smallest_prime_factor(n);
        let m = n / p;
        let zero = Complex::new(0.0, 0.0);
        if n >= Pace::STEPS && interrupt::has_ended() {
            return vec![zero; n];
        }
        let parts: Vec<_> = (0..p).map(|r| self.part(line, first + r * step, step * p, m)).collect();
        let sum = |k: usize| -> Complex<f64> {
            let parts = Pace::until_due(parts.iter().enumerate());
            parts.map(|(r, part)| times(part[k % m], self.roots[r * k % n * step])).sum()
        };
        let (mut out, mut pace) = (Vec::with_capacity(n), Pace::default());
        out.extend((0..n).take_while(|_| !pace.is_due_after(p)).map(sum));
        // Zeros replace the elements that an interrupt left out.
        out.resize(n, zero);
        out
    }
}

/// Multiplies by a root; zero parts of the root give zero.
fn times(x: Complex<f64>, root: Complex<f64>) -> Complex<f64> {
    let part = |x: f64, root: f64| if root == 0.0 { 0.0 } else { x * root };
    Complex::new(part(x.re, root.re) - part(x.im, root.im), part(x.re, root.im) + part(x.im, root.re))
}

/// Cosine and sine of `a / 8n` turns, for `a` up to `8n`. Symmetry reduces angles to an eighth of a turn, so
/// that the roots are exactly symmetric.
fn on_circle(a: usize, n: usize) -> (f64, f64) {
    if a > 4 * n {
        let (cos, sin) = on_circle(8 * n - a, n);
        (cos, -sin)
    } else if a > 2 * n {
        let (cos, sin) = on_circle(4 * n - a, n);
        (-cos, sin)
    } else if a > n {
        let (cos, sin) = on_circle(2 * n - a, n);
        (sin, cos)
    } else {
        let (sin, cos) = (FRAC_PI_4 * a as f64 / n as f64).sin_cos();
        (cos, sin)
    }
}

/// Maximum prime factor of the length with which a line with NaNs or infinities is still transformed. The
/// transform takes as many steps per element as the largest prime factor. If this factor exceeds the maximum,
/// every element of the result is NaN.
const MAX_SUMMED_FACTOR: usize = 256;

fn largest_prime_factor(mut n: usize) -> usize {
    let mut largest = 1;
    while n > 1 {
        largest = smallest_prime_factor(n);
        n /= largest;
    }
    largest
}

fn smallest_prime_factor(n: usize) -> usize {
    (2..).take_while(|p| p * p <= n).find(|p| n.is_multiple_of(*p)).unwrap_or(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_as_defined_gives_the_same() {
        for n in [1, 2, 3, 4, 6, 7, 8, 30, 49, 97, 120] {
            let line: Vec<_> =
                (0..n).map(|i| Complex::new((i * i % 7) as f64 - 3.0, (i % 5) as f64)).collect();
            let found = Fourier::new(n, false).run(&line);
            for (k, found) in found.iter().enumerate() {
                let term = |(i, x): (usize, &Complex<f64>)| {
                    x * Complex::from_polar(1.0, -std::f64::consts::TAU * (i * k % n) as f64 / n as f64)
                };
                let expected: Complex<f64> = line.iter().enumerate().map(term).sum();
                assert!(
                    (found - expected).norm() < 1e-11,
                    "{n} elements: element {k} is {found}, not {expected}"
                );
            }
            for (there, back) in line.iter().zip(Fourier::new(n, true).run(&found)) {
                assert!((there - back).norm() < 1e-13, "{n} elements: {there} is inverted to {back}");
            }
        }
    }

    #[test]
    fn whole_quarters_are_exact() {
        let roots = Fourier::new(8, false).roots;
        assert_eq!(roots[2], Complex::new(0.0, -1.0));
        assert_eq!(roots[4], Complex::new(-1.0, 0.0));
    }
}
