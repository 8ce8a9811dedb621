//! `potrf`.

use num_complex::Complex;

use super::matrix::{Kind, Matrix, Number};
use super::{assert_error, assert_ratio, call};
use crate::for_each_type;

/// Returns the matrix after the factorization, and `info`.
fn potrf<T: Number>(a: &Matrix, uplo: u8) -> (Matrix, i32) {
    let n = a.rows;
    let (mut entries, mut info) = (a.round::<T>(), [-1]);
    call::<T>("lapack_*potrf_ffi")
        .in_place(&mut entries, &[n, n])
        .result(&mut info, &[])
        .attr("uplo", uplo)
        .run()
        .unwrap();
    (Matrix::of(n, n, &entries), info[0])
}

#[test]
fn factors_multiply_to_the_matrix() {
    fn check<T: Number>() {
        for n in [1, 2, 3, 7, 8, 31, 32, 33, 65, 100, 150] {
            for kind in [Kind::Random, Kind::Graded, Kind::IllConditioned, Kind::Tiny, Kind::Huge] {
                let a = kind.positive::<T>(n, n as u64);
                for uplo in [b'L', b'U'] {
                    let (factor, info) = potrf::<T>(&a, uplo);
                    assert_eq!(info, 0, "{kind:?} of order {n}");
                    let (product, opposite, original) = match uplo {
                        b'L' => (factor.lower().times(&factor.lower().adjoint()), factor.upper(), a.upper()),
                        _ => (factor.upper().adjoint().times(&factor.upper()), factor.lower(), a.lower()),
                    };
                    assert_ratio(a.ratio_to::<T>(&product), &format!("{} {kind:?} {n}", T::LETTER));
                    let off_diagonal = |x: &Matrix| x.map(|i, j, x| if i == j { Complex::ZERO } else { x });
                    assert_eq!(
                        off_diagonal(&opposite),
                        off_diagonal(&original),
                        "the other triangle changed"
                    );
                }
            }
        }
    }
    for_each_type!(check);
}

/// Threads share the work on these matrices.
#[test]
fn large_factors_multiply_to_the_matrix() {
    fn check<T: Number>() {
        let a = Kind::Random.positive::<T>(410, 3);
        for uplo in [b'L', b'U'] {
            let (factor, info) = potrf::<T>(&a, uplo);
            assert_eq!(info, 0);
            let lower = if uplo == b'L' { factor.lower() } else { factor.upper().adjoint() };
            assert_ratio(a.ratio_to::<T>(&lower.times(&lower.adjoint())), T::LETTER);
        }
    }
    check::<f64>();
    check::<Complex<f32>>();
}

#[test]
fn info_is_the_first_minor_that_is_not_positive() {
    fn check<T: Number>() {
        for n in [1, 5, 32, 70] {
            for bad in [0, n / 2, n - 1] {
                for value in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
                    let mut a = Matrix::identity(n);
                    a[(bad, bad)] = Complex::new(value, 0.0);
                    for uplo in [b'L', b'U'] {
                        assert_eq!(potrf::<T>(&a, uplo).1, bad as i32 + 1, "{value} at {bad} of {n}");
                    }
                }
            }
            assert_eq!(potrf::<T>(&Matrix::zeros(n, n), b'L').1, 1);
            let deficient = Kind::RankDeficient.positive::<T>(n, 3);
            assert_eq!(potrf::<T>(&deficient, b'U').1, n as i32 / 2 + 1);
        }
    }
    for_each_type!(check);
}

#[test]
fn matrices_of_a_batch_are_independent() {
    fn check<T: Number>() {
        for n in [3, 40] {
            let matrices: Vec<Matrix> = (0..300).map(|i| Kind::Random.positive::<T>(n, i)).collect();
            let mut bad = matrices.clone();
            bad[7][(n - 1, n - 1)] = Complex::new(-1.0, 0.0);
            let mut entries: Vec<T> = bad.iter().flat_map(|a| a.round::<T>()).collect();
            let (mut copy, mut info) = (entries.clone(), vec![-1; 300]);
            call::<T>("lapack_*potrf_ffi")
                .operand(&entries.clone(), &[3, 100, n, n])
                .result(&mut copy, &[3, 100, n, n])
                .result(&mut info, &[3, 100])
                .attr("uplo", b'L')
                .run()
                .unwrap();
            for (i, a) in bad.iter().enumerate() {
                let (factor, expected) = potrf::<T>(a, b'L');
                assert_eq!(info[i], expected);
                assert_eq!(Matrix::of(n, n, &copy[i * n * n..(i + 1) * n * n]), factor);
            }
            call::<T>("lapack_*potrf_ffi")
                .in_place(&mut entries, &[300, n, n])
                .result(&mut info, &[300])
                .attr("uplo", b'L')
                .run()
                .unwrap();
            assert_eq!(entries, copy);
        }
    }
    for_each_type!(check);
}

#[test]
fn matrices_without_entries_have_factors() {
    for (dims, count) in [(&[0, 0][..], 1), (&[3, 0, 0], 3), (&[0, 4, 4], 0)] {
        let mut info = vec![-1; count];
        call::<f64>("lapack_*potrf_ffi")
            .in_place::<f64>(&mut [], dims)
            .result(&mut info, &dims[..dims.len() - 2])
            .attr("uplo", b'L')
            .run()
            .unwrap();
        assert!(info.iter().all(|info| *info == 0));
    }
}

#[test]
fn mistakes_are_reported() {
    let (mut x, mut info) = ([0f32; 4], [0]);
    let result = call::<f32>("lapack_*potrf_ffi")
        .in_place(&mut x, &[2, 2])
        .result(&mut info, &[])
        .attr("uplo", b'l')
        .run();
    assert_error(result, "uplo is 108 ('l'), but must be 76 ('L') or 85 ('U')");
    let result = call::<f32>("lapack_*potrf_ffi")
        .in_place(&mut x, &[4, 1])
        .result(&mut info, &[])
        .attr("uplo", b'L')
        .run();
    assert!(result.is_err());
}
