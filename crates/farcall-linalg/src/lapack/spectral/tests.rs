//! Tests of the reductions and decompositions: residuals and orthogonality, relative to the norm, the order
//! and the rounding error, as in LAPACK's own tests.

use farcall_ffi::Float;
use num_complex::Complex;

use super::balance::Balance;
use super::eigenvectors::{EigenField, Side, multiply_by_schur_vectors};
use super::field::{block, block_mut, multiply};
use super::reflect::form_product;
use super::schur::{self, Iteration, SchurField};
use super::square::Square;
use super::{hessenberg, singular, symmetric, tridiagonal};
use crate::lapack::options::{SvdMode, Uplo};
use crate::lapack::scalar::{RealScalar, Scalar};

/// Maximum of a test ratio.
const MAX_RATIO: f64 = 30.0;

/// Returns numbers between −1 and 1 that are the same in every run.
struct Random(u64);

impl Random {
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as f64 / u64::MAX as f64 * 2.0 - 1.0
    }

    fn scalar<T: Scalar>(&mut self) -> T {
        T::of_parts(T::Real::of(self.number()), T::Real::of(self.number()))
    }

    fn matrix<T: Scalar>(&mut self, n: usize) -> Vec<T> {
        (0..n * n).map(|_| self.scalar()).collect()
    }
}

fn product<T: Scalar>(a: &[T], b: &[T], n: usize) -> Vec<T> {
    let mut out = vec![T::zero(); n * n];
    multiply(
        block_mut(&mut out, n, [0, 0], [n, n]),
        block(a, n, [0, 0], [n, n]),
        block(b, n, [0, 0], [n, n]),
    );
    out
}

fn adjoint<T: Scalar>(a: &[T], n: usize) -> Vec<T> {
    (0..n * n).map(|at| a[at / n + at % n * n].conjugate()).collect()
}

fn norm<T: Scalar>(a: &[T]) -> f64 {
    a.iter().map(|x| x.modulus1().into()).map(|x: f64| x * x).sum::<f64>().sqrt()
}

fn difference<T: Scalar>(a: &[T], b: &[T]) -> f64 {
    norm(&a.iter().zip(b).map(|(a, b)| *a - *b).collect::<Vec<_>>())
}

fn identity<T: Scalar>(n: usize) -> Vec<T> {
    (0..n * n).map(|at| if at % n == at / n { T::one() } else { T::zero() }).collect()
}

#[track_caller]
fn check<T: Scalar>(what: &str, error: f64, scale: f64, n: usize) {
    let epsilon: f64 = T::Real::EPSILON.into();
    let ratio = error / (scale.max(1e-200) * n as f64 * epsilon);
    assert!(ratio < MAX_RATIO, "{what} of {} with {n} rows: {ratio}", std::any::type_name::<T>());
}

/// Checks `A·Q = Q·H` and `Qᴴ·Q = I`.
#[track_caller]
fn check_similar<T: Scalar>(what: &str, a: &[T], q: &[T], h: &[T], n: usize) {
    check::<T>(&format!("{what}: residual"), difference(&product(a, q, n), &product(q, h, n)), norm(a), n);
    let gram = product(&adjoint(q, n), q, n);
    check::<T>(&format!("{what}: orthogonality"), difference(&gram, &identity(n)), 1.0, n);
}

const ORDERS: [usize; 11] = [1, 2, 3, 4, 5, 8, 17, 32, 65, 97, 160];

fn reduces_to_hessenberg_form<T: Scalar>() {
    for n in ORDERS {
        for range in [[0, n], [n / 4, n - n / 5]] {
            let mut a = Random(n as u64).matrix::<T>(n);
            // A range requires triangular form outside of it.
            for j in 0..n {
                for i in j + 1..n {
                    if j < range[0] || i >= range[1] {
                        a[i + j * n] = T::zero();
                    }
                }
            }
            let mut h = a.clone();
            let (mut tau, mut work) = (vec![T::zero(); n - 1], hessenberg::Workspace::default());
            hessenberg::reduce(&mut h, n, range, &mut tau, &mut work);
            let mut q = vec![T::zero(); n * n];
            hessenberg::form_q(&mut q, n, &h, range, &tau, &mut work);
            (0..n).for_each(|j| (j + 2..n).for_each(|i| h[i + j * n] = T::zero()));
            check_similar("Hessenberg", &a, &q, &h, n);
        }
    }
}

fn reduces_to_tridiagonal_form<T: Scalar>() {
    for n in ORDERS {
        let a = Random(n as u64).matrix::<T>(n);
        let a: Vec<T> = a.iter().zip(adjoint(&a, n)).map(|(a, b)| *a + b).collect();
        let (mut d, mut e) = (vec![T::Real::ZERO; n], vec![T::Real::ZERO; n - 1]);
        let (mut tau, mut work) = (vec![T::zero(); n - 1], tridiagonal::Workspace::default());
        let mut h = a.clone();
        tridiagonal::reduce(&mut h, tridiagonal::Triangle::Lower, &mut d, &mut e, &mut tau, &mut work);
        let mut q = vec![T::zero(); n * n];
        form_product(&mut q, n, &h, &tau, [0, n - 1, n], &mut Default::default());
        let mut t = vec![T::zero(); n * n];
        for i in 0..n {
            t[i + i * n] = T::of_real(d[i]);
            if i + 1 < n {
                t[i + 1 + i * n] = T::of_real(e[i]);
                t[i + (i + 1) * n] = T::of_real(e[i]);
            }
        }
        check_similar("tridiagonal", &a, &q, &t, n);
        for j in 0..n {
            (0..j).for_each(|i| assert!(h[i + j * n] == a[i + j * n], "the upper triangle changes"));
        }
    }
}

/// Computes a Schur form by the steps of `gees`.
fn schur_form<T: SchurField>(a: &[T], n: usize) -> (Vec<T>, Vec<T>, Vec<Complex<T::Real>>) {
    let mut h = a.to_vec();
    let (mut tau, mut work) = (vec![T::zero(); n - 1], schur::Workspace::default());
    hessenberg::reduce(&mut h, n, [0, n], &mut tau, &mut hessenberg::Workspace::default());
    let mut z = vec![T::zero(); n * n];
    hessenberg::form_q(&mut z, n, &h, [0, n], &tau, &mut hessenberg::Workspace::default());
    (0..n).for_each(|j| (j + 2..n).for_each(|i| h[i + j * n] = T::zero()));
    let mut w = vec![Complex::new(T::Real::ZERO, T::Real::ZERO); n];
    let iteration = Iteration { low: 0, high: n, full: true };
    let left =
        schur::decompose(Square::new(&mut h, n), Some(Square::new(&mut z, n)), &mut w, iteration, &mut work);
    assert_eq!(left, 0);
    (h, z, w)
}

/// Matrices with different eigenvalues: random, graded, with a Jordan block, of low rank, cyclic.
fn general_matrices<T: Scalar>(n: usize) -> Vec<(&'static str, Vec<T>)> {
    let mut random = Random(n as u64 + 7);
    let plain = random.matrix::<T>(n);
    let digits: f64 = if T::Real::EPSILON.into() < 1e-10 { 12.0 } else { 5.0 };
    let grade = |i: usize| T::Real::of(10f64.powf(-digits * i as f64 / n as f64));
    let graded = (0..n * n).map(|at| plain[at].times(grade(at % n) * grade(at / n))).collect();
    let entry = |i: usize, j: usize| if i == j || i + 1 == j { T::one() } else { T::zero() };
    let jordan = (0..n * n).map(|at| entry(at % n, at / n)).collect();
    let low_rank = (0..n * n).map(|at| plain[at % n] * plain[at / n]).collect();
    let next = |i: usize, j: usize| if i == (j + 1) % n { T::one() } else { T::zero() };
    let cyclic = (0..n * n).map(|at| next(at % n, at / n)).collect();
    vec![
        ("random", plain),
        ("graded", graded),
        ("Jordan block", jordan),
        ("rank 1", low_rank),
        ("cyclic", cyclic),
        ("zero", vec![T::zero(); n * n]),
    ]
}

fn computes_schur_forms<T: SchurField>() {
    for n in ORDERS {
        for (kind, a) in general_matrices::<T>(n) {
            let (t, z, w) = schur_form(&a, n);
            check_similar(&format!("Schur form, {kind}"), &a, &z, &t, n);
            for j in 0..n {
                (j + 2..n).for_each(|i| assert!(t[i + j * n] == T::zero()));
                if j + 1 < n && t[j + 1 + j * n] != T::zero() {
                    assert!(T::IS_REAL, "a complex Schur form is triangular");
                    assert!(
                        t[j + j * n] == t[j + 1 + (j + 1) * n],
                        "{kind}, {n}: the diagonal entries differ"
                    );
                    assert!(w[j].im > T::Real::ZERO && w[j].im == -w[j + 1].im);
                    assert!(j + 2 >= n || t[j + 2 + (j + 1) * n] == T::zero());
                } else if j == 0 || t[j + (j - 1) * n] == T::zero() {
                    assert!(w[j].im == T::Real::ZERO || !T::IS_REAL);
                    assert!(w[j].re == t[j + j * n].re());
                }
            }
        }
    }
}

fn computes_eigenvectors<T: SchurField + EigenField>() {
    for n in ORDERS {
        for (kind, a) in general_matrices::<T>(n) {
            let (t, z, w) = schur_form(&a, n);
            let mut t = t;
            let t = Square::new(&mut t, n);
            for side in [Side::Right, Side::Left] {
                let (mut x, mut v) = (vec![T::zero(); n * n], vec![T::zero(); n * n]);
                T::eigenvectors(&t, &w, &mut x, side);
                multiply_by_schur_vectors(&mut v, &z, &x, n, side);
                let a = if side == Side::Left { adjoint(&a, n) } else { a.clone() };
                let av = product(&a, &v, n);
                // The product of the vectors and the block diagonal matrix of eigenvalues.
                let mut d = vec![T::zero(); n * n];
                for (j, w) in w.iter().enumerate() {
                    let w = if side == Side::Left { Complex::new(w.re, -w.im) } else { *w };
                    d[j + j * n] = T::of_parts(w.re, w.im);
                    if T::IS_REAL && w.im != T::Real::ZERO {
                        let other = if self::first(&t, j) { j + 1 } else { j - 1 };
                        d[other + j * n] = T::of_real(-w.im);
                    }
                }
                let vd = product(&v, &d, n);
                for j in 0..n {
                    let size = norm(&v[j * n..(j + 1) * n]);
                    // One of the two parts of a complex vector may be small.
                    let single = !T::IS_REAL || w[j].im == T::Real::ZERO;
                    assert!(
                        size.is_finite() && (size > 0.1 || !single),
                        "{kind}, {n}: {j} has the size {size}"
                    );
                }
                check::<T>(&format!("eigenvectors, {kind}"), difference(&av, &vd), norm(&a).max(1e-30), n);
            }
        }
    }
}

/// Returns true if a 2×2 block starts at `j`.
fn first<T: Scalar>(t: &Square<'_, T>, j: usize) -> bool {
    j + 1 < t.n && t[[j + 1, j]] != T::zero()
}

fn balances<T: Scalar>() {
    let n = 6;
    let mut a = Random(3).matrix::<T>(n);
    for i in 0..n {
        for j in 0..n {
            let exponent = 8 * (i as i32 - j as i32);
            a[i + j * n] = a[i + j * n].times(T::Real::of(2f64.powi(exponent)));
        }
    }
    // An isolated row and an isolated column.
    (0..n).filter(|j| *j != 2).for_each(|j| a[2 + j * n] = T::zero());
    (0..n).filter(|i| *i != 4).for_each(|i| a[i + 4 * n] = T::zero());
    let mut balanced = a.clone();
    let balance = Balance::new(Square::new(&mut balanced, n), true);
    assert_eq!((balance.low, balance.high), (1, 5));
    let mut d = identity::<T>(n);
    balance.restore(Square::new(&mut d, n), false);
    // A·D = D·B, exactly.
    assert_eq!(difference(&product(&a, &d, n), &product(&d, &balanced, n)), 0.0);
    let inner = (0..n * n).filter(|at| (1..5).contains(&(at % n)) && (1..5).contains(&(at / n)));
    assert!(inner.map(|at| balanced[at].modulus1().into()).fold(0.0, f64::max) < 2f64.powi(9));
}

/// Hermitian matrices: random ones, and products whose rank is half of the order.
fn hermitian_matrices<T: Scalar>(n: usize) -> [Vec<T>; 2] {
    let mut random = Random(n as u64);
    let mut full = random.matrix::<T>(n);
    let transposed = adjoint(&full, n);
    full.iter_mut().zip(&transposed).for_each(|(x, y)| *x += *y);
    let mut half = random.matrix::<T>(n);
    half[n * (n / 2)..].fill(T::zero());
    let deficient = product(&half, &adjoint(&half, n), n);
    [full, deficient]
}

/// Orders with and without divide and conquer, and factors of matrices.
const DIVIDED: [(usize, f64); 5] = [(20, 1.0), (130, 1e-7), (130, 1.0), (150, 1e-3), (150, 1e7)];

/// Checks an error more strictly than LAPACK's tests, whose limit allows the loss of two digits at these orders.
#[track_caller]
fn check_strictly<T: Scalar>(what: &str, error: f64, scale: f64, n: usize) {
    check::<T>(what, error * MAX_RATIO / 4.0, scale, n);
}

fn decomposes_hermitian_matrices<T: Scalar>() {
    for (n, factor) in DIVIDED {
        for mut a in hermitian_matrices::<T>(n) {
            a.iter_mut().for_each(|x| *x = x.times(T::Real::of(factor)));
            let (mut v, mut w) = (a.clone(), vec![T::Real::of(0.0); n]);
            let mut solver = symmetric::Solver::new(n, true, None);
            solver.decompose(&mut v, Uplo::Lower, &mut w).expect("the matrix is finite");
            assert!(w.is_sorted());
            let scaled: Vec<T> = v.iter().enumerate().map(|(at, x)| x.times(w[at / n])).collect();
            let residual = difference(&product(&a, &v, n), &scaled);
            check_strictly::<T>(&format!("eigenvectors at {factor}"), residual, norm(&a), n);
            let gram = difference(&product(&adjoint(&v, n), &v, n), &identity(n));
            check_strictly::<T>("orthogonality", gram, (n as f64).sqrt(), n);
        }
    }
}

fn decomposes_into_singular_values<T: Scalar>() {
    for (n, factor) in DIVIDED {
        for mut a in hermitian_matrices::<T>(n) {
            a.iter_mut().for_each(|x| *x = x.times(T::Real::of(factor)));
            let (mut u, mut vt, mut s) = (a.clone(), a.clone(), vec![T::Real::of(0.0); n]);
            let mut solver = singular::Solver::new(n, n, SvdMode::Full);
            assert_eq!(solver.decompose(&mut a.clone(), &mut s, &mut u, &mut vt), 0);
            let scaled: Vec<T> = u.iter().enumerate().map(|(at, x)| x.times(s[at / n])).collect();
            let residual = difference(&product(&scaled, &vt, n), &a);
            check_strictly::<T>(&format!("singular vectors at {factor}"), residual, norm(&a), n);
            let mut values = vec![T::Real::of(0.0); n];
            let mut solver = singular::Solver::new(n, n, SvdMode::Values);
            assert_eq!(solver.decompose(&mut a.clone(), &mut values, &mut [], &mut []), 0);
            let difference = s.iter().zip(&values).map(|(a, b)| (*a - *b).into().abs()).fold(0.0, f64::max);
            check_strictly::<T>("singular values alone", difference, norm(&a), n);
        }
    }
}

macro_rules! for_all_types {
    ($($test:ident: $function:ident;)*) => {$(
        #[test]
        fn $test() {
            $function::<f32>();
            $function::<f64>();
            $function::<Complex<f32>>();
            $function::<Complex<f64>>();
        }
    )*};
}
for_all_types! {
    hessenberg_forms: reduces_to_hessenberg_form;
    tridiagonal_forms: reduces_to_tridiagonal_form;
    schur_forms: computes_schur_forms;
    eigenvectors: computes_eigenvectors;
    balance: balances;
    hermitian_matrices_of_many_norms: decomposes_hermitian_matrices;
    singular_values: decomposes_into_singular_values;
}
