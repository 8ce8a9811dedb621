//! Transforms of long lines in steps that can be interrupted in between.
//!
//! A line of `rows * columns` elements is treated as a matrix. Its columns are transformed and multiplied by
//! roots of unity; then its rows are transformed and written as columns (Bailey, "FFTs in external or
//! hierarchical memory", 1989). A real line is transformed as a complex line of half the length.

use std::f64::consts::TAU;
use std::sync::Arc;

use farcall_ir::interrupt;
use num_complex::Complex;
use rustfft::num_traits::Zero;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

/// Minimum length of a line that is transformed in steps. Without steps, a line of this length takes about
/// twenty milliseconds.
const MIN_LENGTH: usize = 1 << 21;
/// Minimum number of elements of the shorter side of the matrix.
const MIN_SIDE: usize = 1 << 8;
/// Number of lines that are transformed together: the number of elements in a few cache lines.
const LINES_PER_BATCH: usize = 16;

/// Transform of a complex line.
pub(super) struct Long<T> {
    rows: usize,
    columns: usize,
    /// Transforms of a column and of a row.
    down: Arc<dyn Fft<T>>,
    across: Arc<dyn Fft<T>>,
    roots: Roots,
}

impl<T: FftNum> Long<T> {
    /// Returns `None` if the line is not long, or its length has no factor between [`MIN_SIDE`] and its
    /// square root.
    pub(super) fn new(length: usize, direction: FftDirection) -> Option<Long<T>> {
        if length < MIN_LENGTH {
            return None;
        }
        let rows = (MIN_SIDE..=length.isqrt()).rev().find(|side| length.is_multiple_of(*side))?;
        Some(Long::of(rows, length / rows, direction))
    }

    fn of(rows: usize, columns: usize, direction: FftDirection) -> Long<T> {
        let mut planner = FftPlanner::new();
        Long {
            rows,
            columns,
            down: planner.plan_fft(rows, direction),
            across: planner.plan_fft(columns, direction),
            roots: Roots::new(rows * columns, direction),
        }
    }

    /// Transforms a line. `between` is work memory, which is resized to the line's length.
    pub(super) fn run(&self, from: &[Complex<T>], to: &mut [Complex<T>], between: &mut Vec<Complex<T>>) {
        let (rows, columns) = (self.rows, self.columns);
        between.resize(rows * columns, Complex::zero());
        let mut lines = vec![Complex::zero(); LINES_PER_BATCH * rows.max(columns)];
        let scratch = self.down.get_inplace_scratch_len().max(self.across.get_inplace_scratch_len());
        let mut scratch = vec![Complex::zero(); scratch];
        for first in (0..columns).step_by(LINES_PER_BATCH) {
            if interrupt::is_due() {
                return;
            }
            let count = LINES_PER_BATCH.min(columns - first);
            for (row, elements) in from.chunks_exact(columns).enumerate() {
                for (c, x) in elements[first..first + count].iter().enumerate() {
                    lines[c * rows + row] = *x;
                }
            }
            let lines = &mut lines[..count * rows];
            self.down.process_with_scratch(lines, &mut scratch);
            for (row, elements) in between.chunks_exact_mut(columns).enumerate() {
                for (c, x) in elements[first..first + count].iter_mut().enumerate() {
                    *x = lines[c * rows + row] * self.roots.get(row * (first + c));
                }
            }
        }
        for first in (0..rows).step_by(LINES_PER_BATCH) {
            if interrupt::is_due() {
                return;
            }
            let count = LINES_PER_BATCH.min(rows - first);
            let lines = &mut between[first * columns..(first + count) * columns];
            self.across.process_with_scratch(lines, &mut scratch);
            for (column, elements) in to.chunks_exact_mut(rows).enumerate() {
                for (r, x) in elements[first..first + count].iter_mut().enumerate() {
                    *x = lines[r * columns + column];
                }
            }
        }
    }
}

/// Transform of a real line of even length, and its inverse. The transform is the first `half + 1` elements
/// of the complex result, since the others are conjugates of these.
pub(super) struct LongReal<T> {
    complex: Long<T>,
    roots: Roots,
    half: usize,
}

impl<T: FftNum> LongReal<T> {
    /// Returns `None` if the line is not long, its length is odd, or half of its length has no suitable
    /// factor.
    pub(super) fn new(length: usize, direction: FftDirection) -> Option<LongReal<T>> {
        let half = length.is_multiple_of(2).then_some(length / 2)?;
        Some(LongReal {
            complex: Long::new(half, direction)?,
            roots: Roots::new(length, FftDirection::Forward),
            half,
        })
    }

    /// Transforms a real line to `half + 1` elements. In `from`, each pair of neighbors of the line is one
    /// complex number.
    pub(super) fn forward(&self, from: &[Complex<T>], to: &mut [Complex<T>], between: &mut Vec<Complex<T>>) {
        let (half, two) = (self.half, T::one() + T::one());
        self.complex.run(from, &mut to[..half], between);
        let first = to[0];
        to[half] = Complex::new(first.re - first.im, T::zero());
        to[0] = Complex::new(first.re + first.im, T::zero());
        for k in 1..=half / 2 {
            let (a, b) = (to[k], to[half - k].conj());
            let (even, difference) = ((a + b) / two, a - b);
            let odd = Complex::new(difference.im, -difference.re) / two;
            let turned = odd * self.roots.get(k);
            to[half - k] = (even - turned).conj();
            to[k] = even + turned;
        }
    }

    /// Transforms `half + 1` elements back to a real line. In `to`, each pair of neighbors of the line is
    /// one complex number. The result is not scaled.
    pub(super) fn backward(
        &self,
        from: &[Complex<T>],
        to: &mut [Complex<T>],
        packed: &mut Vec<Complex<T>>,
        between: &mut Vec<Complex<T>>,
    ) {
        let half = self.half;
        // The first and the last element are their own conjugates.
        let own = |x: Complex<T>| Complex::new(x.re, T::zero());
        packed.clear();
        packed.extend((0..half).map(|k| {
            let (a, b) = match k {
                0 => (own(from[0]), own(from[half])),
                _ => (from[k], from[half - k].conj()),
            };
            let odd = (a - b) * self.roots.get::<T>(k).conj();
            a + b + Complex::new(-odd.im, odd.re)
        }));
        self.complex.run(packed, to, between);
    }
}

/// Roots of unity. Each root is the product of an entry of `low` and an entry of `high`. The length of each
/// table is about the square root of the number of roots.
struct Roots {
    low: Vec<Complex<f64>>,
    high: Vec<Complex<f64>>,
}

impl Roots {
    /// Makes the roots for a transform of `length` elements.
    fn new(length: usize, direction: FftDirection) -> Roots {
        let turn = if direction == FftDirection::Forward { -TAU } else { TAU };
        let root = |k: usize| Complex::from_polar(1.0, turn * k as f64 / length as f64);
        let period = length.isqrt() + 1;
        Roots {
            low: (0..period).map(root).collect(),
            high: (0..=length / period).map(|k| root(k * period)).collect(),
        }
    }

    /// Returns root `k`. The number `k` must be below the number of elements of the transform.
    fn get<T: FftNum>(&self, k: usize) -> Complex<T> {
        let period = self.low.len();
        let root = self.high[k / period] * self.low[k % period];
        let part = |x: f64| T::from_f64(x).unwrap_or_else(T::zero);
        Complex::new(part(root.re), part(root.im))
    }
}

#[cfg(test)]
mod tests {
    use realfft::RealFftPlanner;

    use super::*;

    fn line(length: usize) -> Vec<Complex<f64>> {
        (0..length).map(|i| Complex::new((i * i % 19) as f64 - 9.0, (i % 7) as f64 - 3.0)).collect()
    }

    fn near(found: &[Complex<f64>], expected: &[Complex<f64>]) -> bool {
        let scale = expected.iter().map(|x| x.norm()).fold(1.0, f64::max);
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(a, b)| (a - b).norm() < 1e-12 * scale)
    }

    #[test]
    fn a_matrix_is_transformed_as_its_line() {
        for (rows, columns) in [(2, 3), (4, 4), (5, 40), (33, 17)] {
            for direction in [FftDirection::Forward, FftDirection::Inverse] {
                let from = line(rows * columns);
                let mut expected = from.clone();
                FftPlanner::new().plan_fft(from.len(), direction).process(&mut expected);
                let mut found = vec![Complex::zero(); from.len()];
                Long::of(rows, columns, direction).run(&from, &mut found, &mut Vec::new());
                assert!(near(&found, &expected), "transform of {rows}×{columns} elements");
            }
        }
    }

    #[test]
    fn real_lines_are_halves_of_complex_ones() {
        for (rows, columns) in [(2, 3), (4, 4), (5, 3)] {
            let half = rows * columns;
            let real = |direction| LongReal {
                complex: Long::of(rows, columns, direction),
                roots: Roots::new(2 * half, FftDirection::Forward),
                half,
            };
            let packed = line(half);
            let mut plain: Vec<f64> = packed.iter().flat_map(|z| [z.re, z.im]).collect();
            let mut expected = vec![Complex::zero(); half + 1];
            RealFftPlanner::new().plan_fft_forward(2 * half).process(&mut plain, &mut expected).unwrap();
            let mut found = vec![Complex::zero(); half + 1];
            real(FftDirection::Forward).forward(&packed, &mut found, &mut Vec::new());
            assert!(near(&found, &expected), "forward, {rows}×{columns}: {found:?} is not {expected:?}");
            let mut back = vec![Complex::zero(); half];
            real(FftDirection::Inverse).backward(&found, &mut back, &mut Vec::new(), &mut Vec::new());
            back.iter_mut().for_each(|x| *x /= 2.0 * half as f64);
            assert!(near(&back, &packed), "backward, {rows}×{columns}: {back:?} is not {packed:?}");
        }
    }

    #[test]
    fn lines_with_large_factors_are_long() {
        let is_long = |length| Long::<f32>::new(length, FftDirection::Forward).is_some();
        assert!(is_long(1 << 22) && is_long(3 << 20) && !is_long(1 << 20) && !is_long(4_194_301));
        assert!(LongReal::<f64>::new(1 << 22, FftDirection::Forward).is_some());
    }
}
