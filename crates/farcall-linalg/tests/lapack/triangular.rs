//! `trsm`.

use num_complex::Complex;

use super::matrix::{Kind, Matrix, Number};
use super::{assert_error, assert_ratio, call};
use crate::for_each_type;

/// Returns the solution of a system.
fn trsm<T: Number>(a: &Matrix, b: &Matrix, options: [u8; 4], alpha: Option<f64>) -> Matrix {
    let (a_entries, mut b_entries) = (a.round::<T>(), b.round::<T>());
    let (a_dims, b_dims) = ([a.rows, a.columns], [b.rows, b.columns]);
    let alpha = alpha.map(|alpha| [T::round(Complex::new(alpha, 0.0))]);
    let [side, uplo, trans, diag] = options;
    let name = if alpha.is_some() { "blas_*trsm_ffi" } else { "lapack_*trsm_ffi" };
    let mut call = call::<T>(name).operand(&a_entries, &a_dims).in_place(&mut b_entries, &b_dims);
    if let Some(alpha) = &alpha {
        call = call.operand(alpha, &[]);
    }
    call.attr("side", side).attr("uplo", uplo).attr("trans_x", trans).attr("diag", diag).run().unwrap();
    Matrix::of(b.rows, b.columns, &b_entries)
}

/// Returns `op(a)`, computed from the documentation of the options.
fn operator(a: &Matrix, [_, uplo, trans, diag]: [u8; 4]) -> Matrix {
    let a = if uplo == b'L' { a.lower() } else { a.upper() };
    let a = if diag == b'U' { a.unit() } else { a };
    match trans {
        b'N' => a,
        b'T' => a.transpose(),
        _ => a.adjoint(),
    }
}

/// Returns all combinations of the options.
fn options() -> impl Iterator<Item = [u8; 4]> {
    (0..24).map(|i| [b"LR"[i & 1], b"LU"[i >> 1 & 1], b"NTC"[i >> 3], b"NU"[i >> 2 & 1]])
}

/// Returns a triangular matrix that is far from singular.
fn triangle<T: Number>(kind: Kind, n: usize) -> Matrix {
    let a = kind.matrix::<T>(n, n, n as u64 + 50);
    let size = a.entries.iter().map(|x| x.norm()).fold(0.0, f64::max);
    a.map(|i, j, x| if i == j { x + size * 2.0 } else { x / n as f64 }).rounded::<T>()
}

#[test]
fn solutions_satisfy_the_system() {
    fn check<T: Number>() {
        for [m, n] in [[1, 1], [3, 2], [8, 8], [32, 5], [33, 40], [70, 9], [40, 70], [100, 1], [1, 100]] {
            let b = Kind::Random.matrix::<T>(m, n, 5);
            for options in options() {
                let order = if options[0] == b'L' { m } else { n };
                let a = triangle::<T>(Kind::Random, order);
                let x = trsm::<T>(&a, &b, options, None);
                let a = operator(&a, options);
                let (product, scale) = match options[0] {
                    b'L' => (a.times(&x), a.norm() * x.norm()),
                    _ => (x.times(&a), a.norm() * x.norm()),
                };
                let ratio = product.minus(&b).norm() / (scale * order as f64 * T::EPSILON);
                assert_ratio(ratio, &format!("{} {m}×{n} {options:?}", T::LETTER));
            }
        }
    }
    for_each_type!(check);
}

/// Threads share the work on these systems.
#[test]
fn large_solutions_satisfy_the_system() {
    fn check<T: Number>() {
        for options in options().filter(|options| options[3] == b'N') {
            let [m, n] = if options[0] == b'L' { [260, 300] } else { [300, 260] };
            let (a, b) = (triangle::<T>(Kind::Random, 260), Kind::Random.matrix::<T>(m, n, 5));
            let x = trsm::<T>(&a, &b, options, None);
            let operator = operator(&a, options);
            let product = if options[0] == b'L' { operator.times(&x) } else { x.times(&operator) };
            let ratio = product.minus(&b).norm() / (a.norm() * x.norm() * 260.0 * T::EPSILON);
            assert_ratio(ratio, &format!("{} {options:?}", T::LETTER));
        }
    }
    check::<f64>();
    check::<num_complex::Complex<f32>>();
}

#[test]
fn numbers_of_any_size_are_divided() {
    fn check<T: Number>() {
        for size in [T::TINY_MODULUS, T::HUGE_MODULUS] {
            let a = triangle::<T>(Kind::Random, 5).scaled(size / 4.0).rounded::<T>();
            let b = Kind::Random.matrix::<T>(5, 3, 8).scaled(size / 4.0).rounded::<T>();
            let x = trsm::<T>(&a, &b, [b'L', b'U', b'N', b'N'], None);
            let ratio = a.upper().times(&x).minus(&b).norm() / (a.norm() * x.norm() * 5.0 * T::EPSILON);
            assert_ratio(ratio, &format!("{} {size}", T::LETTER));
        }
    }
    for_each_type!(check);
}

#[test]
fn alpha_scales_the_right_hand_sides() {
    fn check<T: Number>() {
        let (a, b) = (triangle::<T>(Kind::Random, 6), Kind::Random.matrix::<T>(6, 4, 9));
        for options in options().filter(|options| options[0] == b'L') {
            let one = trsm::<T>(&a, &b, options, Some(1.0));
            assert_eq!(one, trsm::<T>(&a, &b, options, None));
            assert_eq!(trsm::<T>(&a, &b, options, Some(2.0)), one.scaled(2.0));
            assert_eq!(trsm::<T>(&a, &b, options, Some(0.0)), Matrix::zeros(6, 4));
            let singular = Matrix::zeros(6, 6);
            assert_eq!(trsm::<T>(&singular, &b, options, Some(0.0)), Matrix::zeros(6, 4));
        }
    }
    for_each_type!(check);
}

#[test]
fn singular_and_not_finite_systems_end() {
    fn check<T: Number>() {
        for bad in [0.0, f64::NAN, f64::INFINITY] {
            let mut a = triangle::<T>(Kind::Random, 40);
            a[(20, 20)] = Complex::new(bad, 0.0);
            let b = Kind::Random.matrix::<T>(40, 3, 1);
            let x = trsm::<T>(&a, &b, [b'L', b'L', b'N', b'N'], None);
            assert!(x.first_rows(20).is_finite());
            assert_eq!(x.is_finite(), bad == f64::INFINITY);
        }
    }
    for_each_type!(check);
}

#[test]
fn empty_systems_have_solutions() {
    for [m, n] in [[0, 3], [3, 0], [0, 0]] {
        let x = trsm::<f64>(&Matrix::identity(m), &Matrix::zeros(m, n), [b'L', b'L', b'N', b'N'], None);
        assert!(x.entries.is_empty());
    }
}

#[test]
fn mistakes_are_reported() {
    let (a, mut b) = ([1f32; 4], [1f32; 6]);
    let result = call::<f32>("lapack_*trsm_ffi")
        .operand(&a, &[2, 2])
        .in_place(&mut b, &[2, 3])
        .attr("side", b'R')
        .attr("uplo", b'L')
        .attr("trans_x", b'N')
        .attr("diag", b'N')
        .run();
    assert_error(result, "x has the dimensions [2, 2], but [3, 3] follow from the operands");
    let result = call::<f32>("lapack_*trsm_ffi")
        .operand(&a, &[2, 2])
        .in_place(&mut b, &[2, 3])
        .attr("side", b'L')
        .attr("uplo", b'L')
        .attr("trans_x", b'H')
        .attr("diag", b'N')
        .run();
    assert_error(result, "trans_x is 72 ('H'), but must be 78 ('N') or 84 ('T') or 67 ('C')");
}
