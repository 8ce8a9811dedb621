//! `geqp3`.

use num_complex::Complex;

use super::matrix::{Kind, Matrix, Number};
use super::qr::orgqr;
use super::{assert_ratio, call};
use crate::for_each_type;

/// Returns the matrix after the factorization, the permutation, and `tau`.
fn geqp3<T: Number>(a: &Matrix, jpvt: &[i32]) -> (Matrix, Vec<i32>, Vec<T>) {
    let (m, n) = (a.rows, a.columns);
    let (mut entries, mut jpvt) = (a.round::<T>(), jpvt.to_vec());
    let mut tau = vec![T::round(Complex::ZERO); m.min(n)];
    let k = tau.len();
    call::<T>("lapack_*geqp3_ffi")
        .in_place(&mut entries, &[m, n])
        .in_place(&mut jpvt, &[n])
        .result(&mut tau, &[k])
        .run()
        .unwrap();
    (Matrix::of(m, n, &entries), jpvt, tau)
}

const SIZES: [[usize; 2]; 12] = [
    [1, 1],
    [3, 3],
    [5, 2],
    [2, 5],
    [32, 32],
    [33, 35],
    [70, 40],
    [40, 70],
    [100, 3],
    [3, 100],
    [120, 120],
    [64, 64],
];

/// Checks a factorization and returns the triangular factor.
#[track_caller]
fn check_factors<T: Number>(a: &Matrix, jpvt: &[i32], what: &str) -> (Matrix, Vec<i32>) {
    let (factors, jpvt, tau) = geqp3::<T>(a, jpvt);
    let mut sorted = jpvt.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=a.columns as i32).collect::<Vec<_>>(), "{what}");
    let q = orgqr(&factors, &tau, tau.len());
    assert_ratio(q.orthogonality::<T>(), what);
    let r = factors.upper().first_rows(tau.len());
    let permuted = Matrix::from_fn(a.rows, a.columns, |i, j| a[(i, jpvt[j] as usize - 1)]);
    assert_ratio(permuted.ratio_to::<T>(&q.times(&r)), what);
    (r, jpvt)
}

#[test]
fn factors_multiply_to_the_permuted_matrix() {
    fn check<T: Number>() {
        for [m, n] in SIZES {
            for kind in Kind::ALL {
                let a = kind.matrix::<T>(m, n, (m * 3 + n) as u64);
                let what = format!("{} {kind:?} {m}×{n}", T::LETTER);
                let (r, _) = check_factors::<T>(&a, &vec![0; n], &what);
                let scale = a.norm() * T::EPSILON * m.max(n) as f64;
                for j in 0..n {
                    // Each diagonal entry is at least as large as the columns right of it, from its row on.
                    let mut rest = 0.0f64;
                    for i in (0..=j.min(r.rows - 1)).rev() {
                        rest = rest.hypot(r[(i, j)].norm());
                        assert!(rest <= r[(i, i)].norm() * (1.0 + 1e-3) + scale, "{what}: {i} {j}");
                    }
                }
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn fixed_columns_come_first() {
    fn check<T: Number>() {
        for [m, n] in SIZES {
            let a = Kind::Random.matrix::<T>(m, n, 8);
            let jpvt: Vec<i32> = (0..n).map(|j| i32::from(j % 3 == 2)).collect();
            let (_, found) = check_factors::<T>(&a, &jpvt, &format!("{} {m}×{n}", T::LETTER));
            let fixed: Vec<i32> = (0..n as i32).filter(|j| j % 3 == 2).map(|j| j + 1).collect();
            assert_eq!(found[..fixed.len()], fixed);
        }
    }
    for_each_type!(check);
}

#[test]
fn the_rank_is_visible() {
    fn check<T: Number>() {
        let a = Kind::RankDeficient.matrix::<T>(60, 40, 5);
        let (r, _) = check_factors::<T>(&a, &[0; 40], "rank");
        let rank = (0..40).filter(|i| r[(*i, *i)].norm() > a.norm() * 1e3 * T::EPSILON).count();
        assert!((20..=30).contains(&rank), "the rank is {rank}");
    }
    for_each_type!(check);
}

/// The squares of the entries overflow or underflow.
#[test]
fn columns_of_any_size_are_ordered() {
    fn check<T: Number>() {
        let tiny = T::TINY_MODULUS;
        for sizes in [[tiny, 100.0 * tiny], [0.01 / tiny, 0.1 / tiny], [1e-3, 1.0]] {
            for first in [0.0, 1.0] {
                let n = if first == 0.0 { 2 } else { 3 };
                let size = |i: usize| if i + 2 < n { 0.5 / tiny } else { sizes[i + 2 - n] };
                let diagonal =
                    Matrix::from_fn(n, n, |i, j| Complex::new(if i == j { size(i) } else { 0.0 }, 0.0));
                let row = Matrix::from_fn(1, n, |_, j| Complex::new(size(j), 0.0));
                let mut expected: Vec<i32> = (1..=n as i32).collect();
                expected.swap(n - 2, n - 1);
                let (r, jpvt, _) = geqp3::<T>(&diagonal, &vec![0; n]);
                assert_eq!(jpvt, expected, "{} {sizes:?}", T::LETTER);
                assert!((1..n).all(|i| r[(i, i)].norm() <= r[(i - 1, i - 1)].norm()));
                let largest = if n == 2 { 2 } else { 1 };
                assert_eq!(geqp3::<T>(&row, &vec![0; n]).1[0], largest, "{} {sizes:?}", T::LETTER);
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
                let (factors, jpvt, _) = geqp3::<T>(&a, &vec![0; n]);
                assert!(!factors.is_finite());
                assert!(jpvt.iter().all(|column| 1 <= *column && *column as usize <= n));
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn matrices_without_entries_have_factors() {
    for dims in [[0, 0], [0, 3], [3, 0]] {
        let (_, jpvt, _) = geqp3::<f64>(&Matrix::zeros(dims[0], dims[1]), &vec![0; dims[1]]);
        assert_eq!(jpvt, (1..=dims[1] as i32).collect::<Vec<_>>());
    }
}

#[test]
fn matrices_of_a_batch_are_independent() {
    fn check<T: Number>() {
        for [m, n] in [[5, 5], [7, 4], [4, 7], [20, 18]] {
            let k = m.min(n);
            let mut matrices: Vec<Matrix> = (0..40).map(|i| Kind::Random.matrix::<T>(m, n, i)).collect();
            matrices[3][(1, 1)] = Complex::new(f64::NAN, 0.0);
            matrices[6] = Matrix::zeros(m, n);
            matrices[9] = matrices[9].scaled(T::EPSILON.powi(5));
            let fixed: Vec<i32> = (0..40 * n).map(|i| i32::from(i % (5 * n) == 2)).collect();
            let (mut entries, mut jpvt): (Vec<T>, _) =
                (matrices.iter().flat_map(|a| a.round::<T>()).collect(), fixed.clone());
            let mut tau = vec![T::round(Complex::ZERO); 40 * k];
            call::<T>("lapack_*geqp3_ffi")
                .in_place(&mut entries, &[40, m, n])
                .in_place(&mut jpvt, &[40, n])
                .result(&mut tau, &[40, k])
                .run()
                .unwrap();
            for (i, a) in matrices.iter().enumerate() {
                let (factors, pivots, taus) = geqp3::<T>(a, &fixed[i * n..][..n]);
                let of_batch = Matrix::of(m, n, &entries[i * m * n..][..m * n]);
                assert_eq!(
                    format!("{:?}", of_batch.entries),
                    format!("{:?}", factors.entries),
                    "{m}×{n} {i}"
                );
                assert_eq!(jpvt[i * n..][..n], pivots);
                assert_eq!(format!("{:?}", &tau[i * k..][..k]), format!("{taus:?}"));
            }
        }
    }
    for_each_type!(check);
}
