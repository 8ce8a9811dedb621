//! The targets without the suffix `_ffi`: the results are those of the targets with it.

use farcall_ffi::testing::Call;
use num_complex::Complex;

use super::matrix::{Kind, Number};
use super::spectral::{Spectral, zeros};
use super::{assert_error, call};
use crate::for_each_type;

/// A size, which the targets do not read. JAX also passed sizes as `s32`.
const SIZE: [i64; 1] = [i64::MIN];
const SIZE32: [i32; 1] = [i32::MIN];

#[test]
fn results_are_those_of_the_typed_targets() {
    fn check<T: Number>() {
        let (m, n, work_size) = (6, 4, 9);
        let zero = T::round(Complex::ZERO);
        let a = Kind::Random.matrix::<T>(m, n, 1).round::<T>();
        let orthogonal = if T::IS_COMPLEX { "un" } else { "or" };

        let (mut x, mut ipiv, mut info) = (a.clone(), [0; 4], [-1]);
        let sizes = |call, count| (0..count).fold(call, |call: Call<'static>, _| call.operand(&SIZE, &[]));
        sizes(call::<T>("lapack_*getrf"), 3)
            .in_place(&mut x, &[m, n])
            .result(&mut ipiv, &[4])
            .result(&mut info, &[])
            .run()
            .unwrap();
        let (mut y, mut expected) = (a.clone(), [0; 4]);
        call::<T>("lapack_*getrf_ffi")
            .in_place(&mut y, &[m, n])
            .result(&mut expected, &[4])
            .result(&mut info, &[])
            .run()
            .unwrap();
        assert_eq!((x, ipiv, info), (y, expected, [0]));

        let (mut x, mut tau, mut work) = (a.clone(), [zero; 4], [T::round(Complex::ONE); 9]);
        sizes(call::<T>("lapack_*geqrf"), 4)
            .in_place(&mut x, &[m, n])
            .result(&mut tau, &[4])
            .result(&mut info, &[])
            .result(&mut work, &[work_size])
            .run()
            .unwrap();
        let (mut y, mut expected) = (a.clone(), [zero; 4]);
        call::<T>("lapack_*geqrf_ffi").in_place(&mut y, &[m, n]).result(&mut expected, &[4]).run().unwrap();
        assert_eq!((&x, tau, work), (&y, expected, [zero; 9]));

        sizes(call::<T>(&format!("lapack_*{orthogonal}gqr")), 5)
            .in_place(&mut x, &[m, n])
            .operand(&tau, &[4])
            .result(&mut info, &[])
            .result(&mut work, &[work_size])
            .run()
            .unwrap();
        call::<T>(&format!("lapack_*{orthogonal}gqr_ffi"))
            .in_place(&mut y, &[m, n])
            .operand(&tau, &[4])
            .run()
            .unwrap();
        assert_eq!(x, y);

        let positive = Kind::Random.positive::<T>(n, 2).round::<T>();
        for (lower, uplo) in [([1], b'L'), ([0], b'U')] {
            let (mut x, mut y) = (positive.clone(), positive.clone());
            call::<T>("lapack_*potrf")
                .operand(&lower, &[])
                .operand(&SIZE, &[])
                .operand(&SIZE, &[])
                .in_place(&mut x, &[n, n])
                .result(&mut info, &[])
                .run()
                .unwrap();
            call::<T>("lapack_*potrf_ffi")
                .in_place(&mut y, &[n, n])
                .result(&mut info, &[])
                .attr("uplo", uplo)
                .run()
                .unwrap();
            assert_eq!(x, y);
        }
        for (transpose, letter) in [([0], b'N'), ([1], b'T'), ([2], b'C')] {
            let (mut x, mut y) = (a.clone(), a.clone());
            let alpha = [T::round(Complex::new(2.0, 0.0))];
            let options = [[0], [1], transpose, [1]];
            let call_with =
                options.iter().fold(call::<T>("blas_*trsm"), |call, option| call.operand(option, &[]));
            (0..3)
                .fold(call_with, |call, _| call.operand(&SIZE, &[]))
                .operand(&alpha, &[])
                .operand(&positive, &[n, n])
                .in_place(&mut x, &[m, n])
                .run()
                .unwrap();
            call::<T>("blas_*trsm_ffi")
                .operand(&positive, &[n, n])
                .in_place(&mut y, &[m, n])
                .operand(&alpha, &[])
                .attr("side", b'R')
                .attr("uplo", b'L')
                .attr("trans_x", letter)
                .attr("diag", b'U')
                .run()
                .unwrap();
            assert_eq!(x, y);
        }
    }
    for_each_type!(check);
}

/// Adds the operands that the targets do not read.
fn sizes(call: Call<'_>, count: usize) -> Call<'_> {
    (0..count).fold(call, |call, _| call.operand(&SIZE, &[]))
}

/// A workspace before the call.
fn workspace<T: Number>(len: usize) -> Vec<T> {
    vec![T::round(Complex::ONE); len]
}

#[test]
fn singular_values_are_those_of_the_typed_targets() {
    fn check<T: Spectral>() {
        for ([m, n], compute, mode) in
            [([5, 3], [1], b'A'), ([3, 5], [1], b'S'), ([4, 4], [1], b'A'), ([3, 5], [0], b'N')]
        {
            let (a, k) = (Kind::Random.matrix::<T>(m, n, 3).round::<T>(), m.min(n));
            let [columns, rows] = if mode == b'A' { [m, n] } else { [k, k] };
            let run = |is_typed: bool| {
                let (mut x, mut info) = (a.clone(), [-1]);
                let (mut s, mut u, mut vt) =
                    (zeros::<T::Part>(k), zeros::<T>(m * columns), zeros::<T>(rows * n));
                let (mut integers, mut real, mut work) =
                    ([-1; 5], workspace::<T::Part>(6), workspace::<T>(7));
                let call = match is_typed {
                    true => call::<T>("lapack_*gesdd_ffi").attr("mode", mode),
                    false => {
                        sizes(call::<T>("lapack_*gesdd").operand(&SIZE32, &[]).operand(&compute, &[]), 4)
                    }
                };
                let call = call.in_place(&mut x, &[m, n]).result(&mut s, &[k]).result(&mut u, &[m, columns]);
                let mut call = call.result(&mut vt, &[rows, n]).result(&mut info, &[]);
                if !is_typed {
                    call = call.result(&mut integers, &[5]);
                    if T::IS_COMPLEX {
                        call = call.result(&mut real, &[6]);
                    }
                    call = call.result(&mut work, &[7]);
                }
                call.run().unwrap();
                if !is_typed {
                    assert_eq!((integers, &work), ([0; 5], &zeros::<T>(7)));
                    assert!(!T::IS_COMPLEX || real == zeros::<T::Part>(6));
                }
                (x, s, u, vt, info)
            };
            assert_eq!(run(false), run(true));
        }
    }
    for_each_type!(check);
}

#[test]
fn hermitian_decompositions_are_those_of_the_typed_targets() {
    fn check<T: Spectral>() {
        let n = 5;
        let a = Kind::Random.positive::<T>(n, 4).round::<T>();
        let family = if T::IS_COMPLEX { "he" } else { "sy" };
        for (lower, uplo) in [([1], b'L'), ([0], b'U')] {
            let run = |is_typed: bool| {
                let (mut x, mut w, mut info) = (a.clone(), zeros::<T::Part>(n), [-1]);
                let (mut work, mut real, mut integers) =
                    (workspace::<T>(6), workspace::<T::Part>(7), [-1; 8]);
                let call = match is_typed {
                    true => {
                        call::<T>(&format!("lapack_*{family}evd_ffi")).attr("uplo", uplo).attr("mode", b'V')
                    }
                    false => sizes(call::<T>(&format!("lapack_*{family}evd")).operand(&lower, &[]), 2),
                };
                let mut call = call.in_place(&mut x, &[n, n]).result(&mut w, &[n]).result(&mut info, &[]);
                if !is_typed {
                    call = call.result(&mut work, &[6]);
                    if T::IS_COMPLEX {
                        call = call.result(&mut real, &[7]);
                    }
                    call = call.result(&mut integers, &[8]);
                }
                call.run().unwrap();
                if !is_typed {
                    assert_eq!((&work, integers), (&zeros::<T>(6), [0; 8]));
                    assert!(!T::IS_COMPLEX || real == zeros::<T::Part>(7));
                }
                (x, w, info)
            };
            assert_eq!(run(false), run(true));

            let run = |is_typed: bool| {
                let (mut x, mut tau, mut info, mut work) =
                    (a.clone(), zeros::<T>(n - 1), [-1], workspace::<T>(6));
                let (mut diagonal, mut off_diagonal) = (zeros::<T::Part>(n), zeros::<T::Part>(n - 1));
                let call = match is_typed {
                    true => call::<T>(&format!("lapack_*{family}trd_ffi")).attr("uplo", uplo),
                    false => {
                        let call = sizes(call::<T>(&format!("lapack_*{family}trd")), 1).operand(&lower, &[]);
                        sizes(call, 3)
                    }
                };
                let call = call.in_place(&mut x, &[n, n]).result(&mut diagonal, &[n]);
                let call = call.result(&mut off_diagonal, &[n - 1]).result(&mut tau, &[n - 1]);
                let mut call = call.result(&mut info, &[]);
                if !is_typed {
                    call = call.result(&mut work, &[6]);
                }
                call.run().unwrap();
                assert!(is_typed || work == zeros::<T>(6));
                (x, diagonal, off_diagonal, tau, info)
            };
            assert_eq!(run(false), run(true));
        }
    }
    for_each_type!(check);
}

#[test]
fn general_decompositions_are_those_of_the_typed_targets() {
    fn check<T: Spectral>() {
        let n = 5;
        let a = Kind::Random.matrix::<T>(n, n, 5).round::<T>();
        for letters in [[*b"V", *b"V"], [*b"N", *b"V"], [*b"N", *b"N"]] {
            let run = |is_typed: bool| {
                let (mut left, mut right) = (zeros::<T::Complex>(n * n), zeros::<T::Complex>(n * n));
                let mut works = [workspace::<T>(n * n), workspace::<T>(n * n), workspace::<T>(n * n)];
                let (mut real, mut info) = (workspace::<T::Part>(2 * n), [-1]);
                let (mut w, mut w_imag) = (zeros::<T>(n), zeros::<T>(n));
                let mut call = match is_typed {
                    true => call::<T>("lapack_*geev_ffi")
                        .attr("compute_left", letters[0][0])
                        .attr("compute_right", letters[1][0]),
                    false => {
                        let call = sizes(call::<T>("lapack_*geev"), 2);
                        letters.iter().fold(call, |call, letter| call.operand(letter, &[]))
                    }
                };
                call = call.operand(&a, &[n, n]);
                if !is_typed {
                    for work in works.iter_mut().take(if T::IS_COMPLEX { 1 } else { 3 }) {
                        call = call.result(work, &[n, n]);
                    }
                    if T::IS_COMPLEX {
                        call = call.result(&mut real, &[2 * n]);
                    }
                }
                call = call.result(&mut w, &[n]);
                if !T::IS_COMPLEX {
                    call = call.result(&mut w_imag, &[n]);
                }
                call.result(&mut left, &[n, n])
                    .result(&mut right, &[n, n])
                    .result(&mut info, &[])
                    .run()
                    .unwrap();
                assert!(is_typed || works[0] == zeros::<T>(n * n));
                (w, w_imag, left, right, info)
            };
            assert_eq!(run(false), run(true));
        }
        for mode in [*b"V", *b"N"] {
            let run = |is_typed: bool| {
                let (mut x, mut vectors, mut real) = (a.clone(), zeros::<T>(n * n), workspace::<T::Part>(n));
                let (mut w, mut w_imag, mut selected, mut info) = (zeros::<T>(n), zeros::<T>(n), [-1], [-1]);
                let call = match is_typed {
                    true => call::<T>("lapack_*gees_ffi").attr("mode", mode[0]).attr("sort", b'N'),
                    false => sizes(call::<T>("lapack_*gees"), 2).operand(&mode, &[]).operand(b"N", &[]),
                };
                let mut call = call.in_place(&mut x, &[n, n]);
                if is_typed {
                    call = call.result(&mut vectors, &[n, n]).result(&mut w, &[n]);
                    if !T::IS_COMPLEX {
                        call = call.result(&mut w_imag, &[n]);
                    }
                } else {
                    if T::IS_COMPLEX {
                        call = call.result(&mut real, &[n]);
                    }
                    call = call.result(&mut w, &[n]);
                    if !T::IS_COMPLEX {
                        call = call.result(&mut w_imag, &[n]);
                    }
                    call = call.result(&mut vectors, &[n, n]);
                }
                call.result(&mut selected, &[]).result(&mut info, &[]).run().unwrap();
                assert!(is_typed || !T::IS_COMPLEX || real == zeros::<T::Part>(n));
                (x, vectors, w, w_imag, selected, info)
            };
            assert_eq!(run(false), run(true));
        }
        for range in [[1, 5], [2, 4]] {
            let run = |is_typed: bool| {
                let (mut x, mut tau, mut info, mut work) =
                    (a.clone(), zeros::<T>(n - 1), [-1], workspace::<T>(6));
                let (low, high) = ([range[0]], [range[1]]);
                let call = match is_typed {
                    true => call::<T>("lapack_*gehrd_ffi").attr("low", range[0]).attr("high", range[1]),
                    false => {
                        let call = sizes(call::<T>("lapack_*gehrd"), 1);
                        sizes(call.operand(&low, &[]).operand(&high, &[]), 3)
                    }
                };
                let call = call.in_place(&mut x, &[n, n]).result(&mut tau, &[n - 1]);
                let mut call = call.result(&mut info, &[]);
                if !is_typed {
                    call = call.result(&mut work, &[6]);
                }
                call.run().unwrap();
                assert!(is_typed || work == zeros::<T>(6));
                (x, tau, info)
            };
            assert_eq!(run(false), run(true));
        }
    }
    for_each_type!(check);
}

#[test]
fn unknown_letters_are_errors() {
    let (n, a) = (2, [1.0f64, 2.0, 3.0, 4.0]);
    let (mut left, mut right) = ([Complex::<f64>::ZERO; 4], [Complex::<f64>::ZERO; 4]);
    let (mut works, mut w, mut info) = ([[0.0f64; 4]; 3], [[0.0f64; 2]; 2], [0]);
    let call =
        sizes(call::<f64>("lapack_*geev"), 2).operand(b"V", &[]).operand(b"X", &[]).operand(&a, &[n, n]);
    let call = works.iter_mut().fold(call, |call, work| call.result(work, &[n, n]));
    let call = w.iter_mut().fold(call, |call, w| call.result(w, &[n]));
    let result = call.result(&mut left, &[n, n]).result(&mut right, &[n, n]).result(&mut info, &[]).run();
    assert_error(result, "compute_right is 88 ('X'), but must be 78 ('N') or 86 ('V')");
}
