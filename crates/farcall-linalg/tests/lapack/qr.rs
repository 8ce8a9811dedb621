//! `geqrf`, `orgqr` and `ormqr`.

use farcall_ffi::testing::Call;
use num_complex::Complex;

use super::matrix::{Kind, Matrix, Number};
use super::{assert_error, assert_ratio, call, op};
use crate::for_each_type;

/// Returns the name of a routine, whose complex form begins with `un` instead of `or`.
fn name<T: Number>(routine: &str) -> String {
    format!("lapack_*{}{routine}_ffi", if T::IS_COMPLEX { "un" } else { "or" })
}

/// Returns the matrix after the factorization, and `tau`.
pub(crate) fn geqrf<T: Number>(a: &Matrix) -> (Matrix, Vec<T>) {
    let (m, n) = (a.rows, a.columns);
    let (mut entries, mut tau) = (a.round::<T>(), vec![T::round(Complex::new(7.0, 7.0)); m.min(n)]);
    let k = tau.len();
    call::<T>("lapack_*geqrf_ffi").in_place(&mut entries, &[m, n]).result(&mut tau, &[k]).run().unwrap();
    (Matrix::of(m, n, &entries), tau)
}

/// Returns the first `n` columns of `q`.
pub(crate) fn orgqr<T: Number>(factors: &Matrix, tau: &[T], n: usize) -> Matrix {
    let m = factors.rows;
    // Entries that the routine does not read are NaN.
    let nan = Complex::new(f64::NAN, f64::NAN);
    let vectors = Matrix::from_fn(m, n, |i, j| if j < tau.len() && i > j { factors[(i, j)] } else { nan });
    let mut entries = vectors.round::<T>();
    call::<T>(&name::<T>("gqr")).in_place(&mut entries, &[m, n]).operand(tau, &[tau.len()]).run().unwrap();
    Matrix::of(m, n, &entries)
}

fn ormqr<T: Number>(factors: &Matrix, tau: &[T], c: &Matrix, left: bool, transpose: bool) -> Matrix {
    let (vectors, mut entries) = (factors.round::<T>(), c.round::<T>());
    call::<T>(&name::<T>("mqr"))
        .operand(&vectors, &[factors.rows, factors.columns])
        .operand(tau, &[tau.len()])
        .in_place(&mut entries, &[c.rows, c.columns])
        .attr("left", left)
        .attr("transpose", transpose)
        .run()
        .unwrap();
    Matrix::of(c.rows, c.columns, &entries)
}

const SIZES: [[usize; 2]; 15] = [
    [1, 1],
    [2, 2],
    [4, 3],
    [3, 4],
    [7, 1],
    [1, 7],
    [32, 32],
    [33, 31],
    [40, 40],
    [70, 50],
    [50, 70],
    [100, 33],
    [33, 100],
    [200, 9],
    [150, 150],
];

#[test]
fn factors_multiply_to_the_matrix() {
    fn check<T: Number>() {
        for [m, n] in SIZES {
            for kind in Kind::ALL {
                let a = kind.matrix::<T>(m, n, (m * 3 + n) as u64);
                let what = format!("{} {kind:?} {m}×{n}", T::LETTER);
                let (factors, tau) = geqrf::<T>(&a);
                let k = tau.len();
                let q = orgqr(&factors, &tau, k);
                assert_ratio(q.orthogonality::<T>(), &what);
                let r = factors.upper().first_rows(k);
                assert_ratio(a.ratio_to::<T>(&q.times(&r)), &what);
                assert!((0..k).all(|i| r[(i, i)].im == 0.0 || i + 1 == m), "{what}: r has complex diagonal");
            }
        }
    }
    for_each_type!(check);
}

/// Threads share the work on these matrices.
#[test]
fn large_factors_multiply_to_the_matrix() {
    fn check<T: Number>() {
        for [m, n] in [[520, 400], [300, 700]] {
            let a = Kind::Random.matrix::<T>(m, n, 8);
            let (factors, tau) = geqrf::<T>(&a);
            let q = orgqr(&factors, &tau, tau.len());
            assert_ratio(q.orthogonality::<T>(), &format!("{} {m}×{n}", T::LETTER));
            let product = q.times(&factors.upper().first_rows(tau.len()));
            assert_ratio(a.ratio_to::<T>(&product), &format!("{} {m}×{n}", T::LETTER));
        }
        let (factors, tau) = geqrf::<T>(&Kind::Random.matrix::<T>(300, 300, 9));
        let q = orgqr(&factors, &tau, 300);
        for left in [true, false] {
            let (rows, columns) = if left { (300, 500) } else { (500, 300) };
            let c = Kind::Random.matrix::<T>(rows, columns, 7);
            let expected = if left { q.times(&c) } else { c.times(&q) };
            let found = ormqr(&factors, &tau, &c, left, false);
            let ratio = found.minus(&expected).norm() / (c.norm() * 300.0 * T::EPSILON);
            assert_ratio(ratio, &format!("{} {left}", T::LETTER));
        }
    }
    check::<f64>();
    check::<num_complex::Complex<f32>>();
}

#[test]
fn signs_are_those_of_lapack() {
    fn check<T: Number>() {
        let a = Kind::Random.matrix::<T>(9, 5, 3);
        let (factors, _) = geqrf::<T>(&a);
        assert!(factors[(0, 0)].re * a[(0, 0)].re < 0.0);
        // A column that is a multiple of the first unit vector stays.
        let a =
            Matrix::from_fn(4, 2, |i, j| Complex::new([[-2., 1.], [0., 3.], [0., 0.], [0., 0.]][i][j], 0.0));
        let (factors, tau) = geqrf::<T>(&a);
        assert_eq!(factors, a);
        assert!(tau.iter().all(|tau| tau.widen() == Complex::ZERO));
    }
    for_each_type!(check);
}

#[test]
fn more_columns_complete_the_factor() {
    fn check<T: Number>() {
        for [m, k] in [[4, 2], [40, 7], [100, 40], [70, 64], [33, 0]] {
            let a = Kind::Random.matrix::<T>(m, k, 4);
            let (factors, tau) = geqrf::<T>(&a);
            let complete = orgqr(&factors, &tau, m);
            assert_ratio(complete.orthogonality::<T>(), &format!("{m} rows, {k} reflectors"));
            let first = orgqr(&factors, &tau, k);
            let difference = first.minus(&complete.first_columns(k)).norm();
            assert!(difference <= 30.0 * m as f64 * T::EPSILON);
        }
    }
    for_each_type!(check);
}

#[test]
fn products_are_those_with_the_generated_factor() {
    fn check<T: Number>() {
        for [m, k] in [[1, 1], [5, 5], [6, 2], [40, 33], [70, 70], [100, 9]] {
            let (factors, tau) = geqrf::<T>(&Kind::Random.matrix::<T>(m, k, 6));
            let q = orgqr(&factors, &tau, m);
            for others in [1, 3, 50] {
                for left in [true, false] {
                    for transpose in [true, false] {
                        let (rows, columns) = if left { (m, others) } else { (others, m) };
                        let c = Kind::Random.matrix::<T>(rows, columns, 7);
                        let q = if transpose { q.adjoint() } else { q.clone() };
                        let expected = if left { q.times(&c) } else { c.times(&q) };
                        let found = ormqr(&factors, &tau, &c, left, transpose);
                        let ratio = found.minus(&expected).norm() / (c.norm() * m as f64 * T::EPSILON);
                        assert_ratio(ratio, &format!("{} {m} {k} {others} {left} {transpose}", T::LETTER));
                    }
                }
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn matrices_that_are_not_finite_give_nan() {
    fn check<T: Number>() {
        for bad in [f64::NAN, f64::INFINITY] {
            for [m, n] in SIZES {
                let mut a = Kind::Random.matrix::<T>(m, n, 1);
                a[(m / 2, n / 2)] = Complex::new(bad, 0.0);
                let (factors, _) = geqrf::<T>(&a);
                assert!(!factors.is_finite());
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn matrices_of_a_batch_are_independent() {
    fn check<T: Number>() {
        for [m, n] in [[4, 3], [3, 4], [50, 40]] {
            let k = m.min(n);
            let matrices: Vec<Matrix> = (0..200).map(|i| Kind::Random.matrix::<T>(m, n, i)).collect();
            let mut entries: Vec<T> = matrices.iter().flat_map(|a| a.round::<T>()).collect();
            let mut tau = vec![T::round(Complex::ZERO); 200 * k];
            call::<T>("lapack_*geqrf_ffi")
                .in_place(&mut entries, &[200, m, n])
                .result(&mut tau, &[200, k])
                .run()
                .unwrap();
            for (i, a) in matrices.iter().enumerate() {
                let (factors, expected) = geqrf::<T>(a);
                assert_eq!(Matrix::of(m, n, &entries[i * m * n..(i + 1) * m * n]), factors);
                assert_eq!(tau[i * k..(i + 1) * k], expected);
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn matrices_without_entries_have_factors() {
    for dims in [[0, 0], [0, 3], [3, 0]] {
        call::<f32>("lapack_*geqrf_ffi")
            .in_place::<f32>(&mut [], &dims)
            .result::<f32>(&mut [], &[0])
            .run()
            .unwrap();
    }
    let c = Kind::Random.matrix::<f64>(3, 2, 1);
    assert_eq!(ormqr::<f64>(&Matrix::zeros(3, 0), &[], &c, true, false), c);
}

#[test]
fn mistakes_are_reported() {
    let (a, tau, mut c) = ([0f32; 6], [0f32; 2], [0f32; 8]);
    let result = call::<f32>("lapack_*ormqr_ffi")
        .operand(&a, &[3, 2])
        .operand(&tau, &[2])
        .in_place(&mut c, &[2, 4])
        .attr("left", true)
        .attr("transpose", true)
        .run();
    assert_error(result, "a has the dimensions [3, 2], but [2, 2] follow from the operands");
}

#[test]
fn row_major_factorizations_have_the_factors_of_geqrf() {
    fn check<T: Number>() {
        for [m, n] in [[1, 1], [5, 3], [3, 5], [40, 7], [70, 50]] {
            let a = Kind::Random.matrix::<T>(m, n, 3);
            let k = m.min(n);
            let zero = T::round(Complex::ZERO);
            let (mut packed, mut tau) = (vec![zero; m * n], vec![zero; k]);
            Call::of(op("Qr"))
                .operand(&a.transpose().round::<T>(), &[m, n])
                .result(&mut packed, &[m, n])
                .result(&mut tau, &[k])
                .run()
                .unwrap();
            let packed = Matrix::of(n, m, &packed).transpose();
            let reflectors = packed.first_columns(k);
            let mut q = vec![zero; m * k];
            Call::of(op("ProductOfElementaryHouseholderReflectors"))
                .operand(&reflectors.transpose().round::<T>(), &[m, k])
                .operand(&tau, &[k])
                .result(&mut q, &[m, k])
                .run()
                .unwrap();
            let q = Matrix::of(k, m, &q).transpose();
            assert_ratio(q.orthogonality::<T>(), "orthogonality");
            assert_ratio(q.times(&packed.upper().first_rows(k)).ratio_to::<T>(&a), "product");
        }
    }
    for_each_type!(check);
}
