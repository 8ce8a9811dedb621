//! `gtsv`, and the solver that perturbs small pivots.

use num_complex::Complex;

use super::matrix::{Kind, Matrix, Number};
use super::{assert_ratio, call, op};
use crate::for_each_type;
use farcall_ffi::testing::Call;

/// A tridiagonal matrix by its three diagonals, each of length `n`.
struct Tridiagonal {
    diagonals: Matrix,
}

impl Tridiagonal {
    fn new<T: Number>(kind: Kind, n: usize, seed: u64) -> Self {
        Tridiagonal { diagonals: kind.matrix::<T>(n, 3, seed) }
    }

    fn diagonal<T: Number>(&self, which: usize) -> Vec<T> {
        let n = self.diagonals.rows;
        self.diagonals.entries[which * n..(which + 1) * n].iter().map(|x| T::round(*x)).collect()
    }

    fn dense(&self) -> Matrix {
        let n = self.diagonals.rows;
        Matrix::from_fn(n, n, |i, j| match (i + 1).checked_sub(j) {
            Some(2) => self.diagonals[(i, 0)],
            Some(1) => self.diagonals[(i, 1)],
            Some(0) => self.diagonals[(i, 2)],
            _ => Complex::ZERO,
        })
    }

    fn gtsv<T: Number>(&self, b: &Matrix) -> (Matrix, i32) {
        let n = b.rows;
        let [mut dl, mut d, mut du] = [0, 1, 2].map(|i| self.diagonal::<T>(i));
        let (mut x, mut info) = (b.round::<T>(), [-1]);
        call::<T>("lapack_*gtsv_ffi")
            .in_place(&mut dl, &[n])
            .in_place(&mut d, &[n])
            .in_place(&mut du, &[n])
            .in_place(&mut x, &[n, b.columns])
            .result(&mut info, &[])
            .run()
            .unwrap();
        (Matrix::of(n, b.columns, &x), info[0])
    }

    fn perturbed<T: Number>(&self, b: &Matrix) -> Matrix {
        let n = b.rows;
        let [dl, d, du] = [0, 1, 2].map(|i| self.diagonal::<T>(i));
        let (b_entries, mut x) = (b.round::<T>(), vec![T::round(Complex::new(7.0, 0.0)); n * b.columns]);
        Call::of(op("tridiagonal_solve_perturbed_ffi"))
            .operand(&dl, &[n])
            .operand(&d, &[n])
            .operand(&du, &[n])
            .operand(&b_entries, &[n, b.columns])
            .result(&mut x, &[n, b.columns])
            .run()
            .unwrap();
        Matrix::of(n, b.columns, &x)
    }
}

#[test]
fn solutions_satisfy_the_system() {
    fn check<T: Number>() {
        for n in [1, 2, 3, 4, 10, 100] {
            for columns in [1, 3, 40] {
                for kind in [Kind::Random, Kind::Tiny, Kind::Huge] {
                    let a = Tridiagonal::new::<T>(kind, n, n as u64);
                    let scale = match kind {
                        Kind::Tiny => T::TINY_MODULUS,
                        Kind::Huge => T::HUGE_MODULUS * 1e-3,
                        _ => 1.0,
                    };
                    let b = Kind::Random.matrix::<T>(n, columns, 2).scaled(scale).rounded::<T>();
                    let (solved, info) = a.gtsv::<T>(&b);
                    assert_eq!(info, 0);
                    for x in [solved, a.perturbed::<T>(&b)] {
                        let residual = a.dense().times(&x).minus(&b).norm();
                        let ratio = residual / (a.dense().norm() * x.norm() * T::EPSILON);
                        assert_ratio(ratio, &format!("{} {kind:?} {n}×{columns}", T::LETTER));
                    }
                }
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn exactly_singular_systems_are_reported() {
    fn check<T: Number>() {
        for n in [1, 2, 5] {
            let zero = Tridiagonal { diagonals: Matrix::zeros(n, 3) };
            let b = Kind::Random.matrix::<T>(n, 2, 1);
            assert_eq!(zero.gtsv::<T>(&b).1, 1);
            let mut diagonals = Matrix::zeros(n, 3);
            (0..n - 1).for_each(|i| diagonals[(i, 1)] = Complex::ONE);
            assert_eq!(Tridiagonal { diagonals }.gtsv::<T>(&b).1, n as i32);
        }
    }
    for_each_type!(check);
}

/// The factor of the elimination is a quotient, not a product with a rounded reciprocal: equal rows give a pivot
/// that is exactly zero.
#[test]
fn equal_rows_are_singular() {
    fn check<T: Number>() {
        for number in 1..100 {
            // The last system is too large for the layout of small ones.
            for n in [2, 60] {
                let row = |i: usize, which: usize| match (n - i, which) {
                    (1, 0 | 1) | (2, 1 | 2) => f64::from(number),
                    (_, 1) => 1.0,
                    _ => 0.0,
                };
                let diagonals = Matrix::from_fn(n, 3, |i, which| Complex::new(row(i, which), 0.0));
                let b = Kind::Random.matrix::<T>(n, 2, 1);
                let (_, info) = Tridiagonal { diagonals }.gtsv::<T>(&b);
                assert_eq!(info, n as i32, "{} {number} {n}", T::LETTER);
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn perturbed_solutions_of_singular_systems_are_finite() {
    fn check<T: Number>() {
        for n in [1, 2, 3, 50] {
            for size in [1.0, T::TINY_MODULUS, 1.0 / T::TINY_MODULUS.sqrt()] {
                // The second difference matrix with free ends: the vector of ones is in its kernel.
                let mut a = Tridiagonal {
                    diagonals: Matrix::from_fn(n, 3, |i, which| {
                        let at_end = f64::from(u8::from(i == 0) + u8::from(i + 1 == n));
                        Complex::new([-size, size * (2.0 - at_end), -size][which], 0.0)
                    }),
                };
                let b = Kind::Random.matrix::<T>(n, 2, 1);
                assert!(a.perturbed::<T>(&b).is_finite(), "{} {n} {size}", T::LETTER);
                a.diagonals = Matrix::zeros(n, 3);
                assert!(a.perturbed::<T>(&b).is_finite(), "{} {n} zeros", T::LETTER);
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn systems_that_are_not_finite_end() {
    fn check<T: Number>() {
        for bad in [f64::NAN, f64::INFINITY] {
            for at in 0..12 {
                let mut a = Tridiagonal::new::<T>(Kind::Random, 4, 3);
                a.diagonals.entries[at] = Complex::new(bad, bad);
                let b = Kind::Random.matrix::<T>(4, 2, 1);
                a.gtsv::<T>(&b);
                a.perturbed::<T>(&b);
                let mut b = b;
                b[(2, 1)] = Complex::new(bad, 0.0);
                assert!(!a.perturbed::<T>(&b).is_finite() && !a.gtsv::<T>(&b).0.is_finite());
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn systems_without_equations_have_solutions() {
    let a = Tridiagonal { diagonals: Matrix::zeros(0, 3) };
    assert_eq!(a.gtsv::<f64>(&Matrix::zeros(0, 2)).1, 0);
    a.perturbed::<f64>(&Matrix::zeros(0, 2));
    let a = Tridiagonal::new::<f64>(Kind::Random, 3, 1);
    assert_eq!(a.gtsv::<f64>(&Matrix::zeros(3, 0)).1, 0);
    a.perturbed::<f64>(&Matrix::zeros(3, 0));
}
