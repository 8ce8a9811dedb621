//! `gesdd`, `gesvd`, `syevd`, `sytrd`, `geev`, `gees` and `gehrd`. `syevd` and `sytrd` are `heevd` and
//! `hetrd` for complex types.

use farcall_ffi::testing::Call;
use num_complex::Complex;

use super::matrix::{Kind, Matrix, Number};
use super::{assert_error, assert_ratio, call};
use crate::for_each_type;

/// A type, with the type of its parts and the complex type.
pub(super) trait Spectral: Number {
    type Part: Number;
    type Complex: Number;
}

macro_rules! spectral {
    ($($ty:ty)*) => {$(
        impl Spectral for $ty {
            type Part = $ty;
            type Complex = Complex<$ty>;
        }

        impl Spectral for Complex<$ty> {
            type Part = $ty;
            type Complex = Complex<$ty>;
        }
    )*};
}
spectral!(f32 f64);

const SQUARE_ORDERS: [usize; 9] = [1, 2, 3, 4, 8, 17, 33, 66, 100];
const SHAPES: [[usize; 2]; 10] =
    [[1, 1], [1, 5], [4, 1], [3, 3], [8, 5], [5, 8], [33, 33], [60, 17], [17, 60], [140, 135]];

/// Returns vectors of results: zeros.
pub(super) fn zeros<T: Number>(len: usize) -> Vec<T> {
    vec![T::round(Complex::ZERO); len]
}

fn symmetric<'a, T: Number>(name: &str) -> Call<'a> {
    call::<T>(&format!("lapack_*{}{name}_ffi", if T::IS_COMPLEX { "he" } else { "sy" }))
}

/// Returns a diagonal matrix.
fn diagonal<T: Number>(entries: &[T]) -> Matrix {
    let n = entries.len();
    Matrix::from_fn(n, n, |i, j| if i == j { entries[i].widen() } else { Complex::ZERO })
}

struct Svd {
    s: Vec<f64>,
    u: Matrix,
    vt: Matrix,
    info: i32,
}

fn svd<T: Spectral>(name: &str, a: &Matrix, mode: u8) -> Svd {
    let ([m, n], k) = ([a.rows, a.columns], a.rows.min(a.columns));
    let [columns, rows] = if mode == b'A' { [m, n] } else { [k, k] };
    let (mut x, mut info) = (a.round::<T>(), [-1]);
    let (mut s, mut u, mut vt) = (zeros::<T::Part>(k), zeros::<T>(m * columns), zeros::<T>(rows * n));
    call::<T>(name)
        .in_place(&mut x, &[m, n])
        .result(&mut s, &[k])
        .result(&mut u, &[m, columns])
        .result(&mut vt, &[rows, n])
        .result(&mut info, &[])
        .attr("mode", mode)
        .run()
        .unwrap();
    let s = s.iter().map(|s| s.widen().re).collect();
    Svd { s, u: Matrix::of(m, columns, &u), vt: Matrix::of(rows, n, &vt), info: info[0] }
}

#[test]
fn singular_vectors_multiply_to_the_matrix() {
    fn check<T: Spectral>() {
        for [m, n] in SHAPES {
            for kind in Kind::ALL {
                let a = kind.matrix::<T>(m, n, (m * n) as u64);
                let k = m.min(n);
                for (name, mode) in
                    [("lapack_*gesdd_ffi", b'A'), ("lapack_*gesdd_ffi", b'S'), ("lapack_*gesvd_ffi", b'S')]
                {
                    let what = format!("{name} of {} {m}×{n} {kind:?}", T::LETTER);
                    let Svd { s, u, vt, info } = svd::<T>(name, &a, mode);
                    assert_eq!(info, 0, "{what}");
                    assert!(s.windows(2).all(|s| s[0] >= s[1]) && s[k - 1] >= 0.0, "{what}: {s:?}");
                    assert_ratio(u.orthogonality::<T>(), &what);
                    assert_ratio(vt.adjoint().orthogonality::<T>(), &what);
                    let scaled = u.first_columns(k).map(|_, j, x| x * s[j]);
                    assert_ratio(a.ratio_to::<T>(&scaled.times(&vt.first_rows(k))), &what);
                    let values = svd::<T>(name, &a, b'N');
                    let bound = 30.0 * s[0] * m.max(n) as f64 * T::EPSILON;
                    assert!(s.iter().zip(&values.s).all(|(a, b)| (a - b).abs() <= bound), "{what}");
                }
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn eigenvectors_of_hermitian_matrices_are_orthonormal() {
    fn check<T: Spectral>() {
        // From order 128 on, matrices are divided.
        for n in SQUARE_ORDERS.into_iter().chain([135]) {
            for kind in Kind::ALL {
                let a = kind.matrix::<T>(n, n, n as u64);
                let a = Matrix::from_fn(n, n, |i, j| a[(i, j)] + a[(j, i)].conj()).rounded::<T>();
                for uplo in [b'L', b'U'] {
                    let what = format!("{} {n} {kind:?}", T::LETTER);
                    // The other triangle is not read.
                    let nan = Complex::new(f64::NAN, f64::NAN);
                    // Nor are the imaginary parts of the diagonal.
                    let half = a.map(|i, j, x| match i == j {
                        true if T::IS_COMPLEX => Complex::new(x.re, x.re + 1.0),
                        true => x,
                        false => {
                            if (i > j) == (uplo == b'L') {
                                x
                            } else {
                                nan
                            }
                        }
                    });
                    let (mut x, mut info, mut w) = (half.round::<T>(), [-1], zeros::<T::Part>(n));
                    symmetric::<T>("evd")
                        .in_place(&mut x, &[n, n])
                        .result(&mut w, &[n])
                        .result(&mut info, &[])
                        .attr("uplo", uplo)
                        .attr("mode", b'V')
                        .run()
                        .unwrap();
                    assert_eq!(info, [0]);
                    let v = Matrix::of(n, n, &x);
                    assert!(w.windows(2).all(|w| w[0].widen().re <= w[1].widen().re));
                    assert_ratio(v.orthogonality::<T>(), &what);
                    let product = v.times(&diagonal(&w)).times(&v.adjoint());
                    assert_ratio(a.ratio_to::<T>(&product), &what);
                    let (mut x, mut values) = (half.round::<T>(), zeros::<T::Part>(n));
                    symmetric::<T>("evd")
                        .in_place(&mut x, &[n, n])
                        .result(&mut values, &[n])
                        .result(&mut info, &[])
                        .attr("uplo", uplo)
                        .attr("mode", b'N')
                        .run()
                        .unwrap();
                    assert_ratio(diagonal(&w).ratio_to::<T>(&diagonal(&values)), &what);
                }
            }
        }
    }
    for_each_type!(check);
}

/// Returns the product of reflections `1 − τ·v·vᴴ` in the given order.
fn reflections(n: usize, vectors: impl Iterator<Item = (Vec<Complex<f64>>, Complex<f64>)>) -> Matrix {
    vectors.fold(Matrix::identity(n), |q, (v, tau)| {
        let reflection = Matrix::identity(n).map(|i, j, x| x - tau * v[i] * v[j].conj());
        q.times(&reflection)
    })
}

#[test]
fn tridiagonal_forms_are_similar_to_the_matrix() {
    fn check<T: Spectral>() {
        for n in [1, 2, 3, 8, 40, 90] {
            for kind in Kind::ALL {
                let a = kind.matrix::<T>(n, n, n as u64);
                let a = Matrix::from_fn(n, n, |i, j| a[(i, j)] + a[(j, i)].conj()).rounded::<T>();
                for uplo in [b'L', b'U'] {
                    let (mut x, mut info) = (a.round::<T>(), [-1]);
                    let (mut d, mut e) = (zeros::<T::Part>(n), zeros::<T::Part>(n - 1));
                    let mut tau = zeros::<T>(n - 1);
                    symmetric::<T>("trd")
                        .in_place(&mut x, &[n, n])
                        .result(&mut d, &[n])
                        .result(&mut e, &[n - 1])
                        .result(&mut tau, &[n - 1])
                        .result(&mut info, &[])
                        .attr("uplo", uplo)
                        .run()
                        .unwrap();
                    assert_eq!(info, [0]);
                    let x = Matrix::of(n, n, &x);
                    let vector = |l: usize| {
                        let entry = |i: usize| match uplo {
                            b'L' if i == l + 1 => Complex::ONE,
                            b'L' if i > l + 1 => x[(i, l)],
                            b'U' if i == l => Complex::ONE,
                            b'U' if i < l => x[(i, l + 1)],
                            _ => Complex::ZERO,
                        };
                        ((0..n).map(entry).collect::<Vec<_>>(), tau[l].widen())
                    };
                    let q = match uplo {
                        b'L' => reflections(n, (0..n - 1).map(vector)),
                        _ => reflections(n, (0..n - 1).rev().map(vector)),
                    };
                    let t = Matrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
                        0 => d[i].widen(),
                        1 => e[i.min(j)].widen(),
                        _ => Complex::ZERO,
                    });
                    let what = format!("{} {n} {kind:?} {uplo}", T::LETTER);
                    assert_ratio(q.orthogonality::<T>(), &what);
                    assert_ratio(a.ratio_to::<T>(&q.times(&t).times(&q.adjoint())), &what);
                    for i in 0..n {
                        assert_eq!(x[(i, i)], t[(i, i)], "{what}");
                        let next = if uplo == b'L' { (i + 1, i) } else { (i, i + 1) };
                        assert!(i + 1 == n || x[next] == t[next], "{what}");
                    }
                }
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn hessenberg_forms_are_similar_to_the_matrix() {
    fn check<T: Spectral>() {
        for n in [1, 2, 3, 8, 40, 110] {
            for kind in Kind::ALL {
                for [low, high] in [[1, n], [1 + n / 5, n - n / 4]] {
                    let a = kind.matrix::<T>(n, n, n as u64);
                    let outside = |i: usize, j: usize| i > j && (j + 1 < low || i + 1 > high);
                    let a = a.map(|i, j, x| if outside(i, j) { Complex::ZERO } else { x });
                    let (mut x, mut tau, mut info) = (a.round::<T>(), zeros::<T>(n - 1), [-1]);
                    call::<T>("lapack_*gehrd_ffi")
                        .in_place(&mut x, &[n, n])
                        .result(&mut tau, &[n - 1])
                        .result(&mut info, &[])
                        .attr("low", low as i32)
                        .attr("high", high as i32)
                        .run()
                        .unwrap();
                    assert_eq!(info, [0]);
                    let x = Matrix::of(n, n, &x);
                    let vector = |l: usize| {
                        let inside = l + 1 >= low && l + 1 < high;
                        assert!(inside || tau[l].widen() == Complex::ZERO);
                        let entry = |i: usize| match i {
                            _ if i == l + 1 => Complex::ONE,
                            _ if i > l + 1 && i < high => x[(i, l)],
                            _ => Complex::ZERO,
                        };
                        ((0..n).map(entry).collect::<Vec<_>>(), tau[l].widen())
                    };
                    let q = reflections(n, (0..n - 1).map(vector));
                    let h = x.map(|i, j, x| if i > j + 1 { Complex::ZERO } else { x });
                    let what = format!("{} {n} {kind:?} {low} {high}", T::LETTER);
                    assert_ratio(q.orthogonality::<T>(), &what);
                    assert_ratio(a.ratio_to::<T>(&q.times(&h).times(&q.adjoint())), &what);
                }
            }
        }
    }
    for_each_type!(check);
}

/// Returns the Schur form, the Schur vectors, and `info`.
fn gees<T: Spectral>(a: &Matrix, mode: u8) -> (Matrix, Matrix, Matrix, i32) {
    let n = a.rows;
    let (mut x, mut vectors) = (a.round::<T>(), zeros::<T>(n * n));
    let (mut re, mut im) = (zeros::<T>(n), zeros::<T>(n));
    let (mut selected, mut info) = ([-1], [-1]);
    let mut call = call::<T>("lapack_*gees_ffi")
        .in_place(&mut x, &[n, n])
        .result(&mut vectors, &[n, n])
        .result(&mut re, &[n]);
    if !T::IS_COMPLEX {
        call = call.result(&mut im, &[n]);
    }
    call.result(&mut selected, &[])
        .result(&mut info, &[])
        .attr("mode", mode)
        .attr("sort", b'N')
        .run()
        .unwrap();
    assert_eq!(selected, [0]);
    let w: Vec<Complex<f64>> =
        re.iter().zip(&im).map(|(re, im)| re.widen() + Complex::<f64>::I * im.widen()).collect();
    let w = Matrix { rows: 1, columns: n, entries: w };
    (Matrix::of(n, n, &x), Matrix::of(n, n, &vectors), w, info[0])
}

#[test]
fn schur_forms_are_similar_to_the_matrix() {
    fn check<T: Spectral>() {
        for n in SQUARE_ORDERS {
            for kind in Kind::ALL {
                let a = kind.matrix::<T>(n, n, n as u64 + 1);
                let (t, z, w, info) = gees::<T>(&a, b'V');
                let what = format!("{} {n} {kind:?}", T::LETTER);
                assert_eq!(info, 0, "{what}");
                assert_ratio(z.orthogonality::<T>(), &what);
                assert_ratio(a.ratio_to::<T>(&z.times(&t).times(&z.adjoint())), &what);
                for j in 0..n {
                    assert!((j + 2..n).all(|i| t[(i, j)] == Complex::ZERO), "{what}");
                    let pair = j + 1 < n && t[(j + 1, j)] != Complex::ZERO;
                    assert!(!pair || !T::IS_COMPLEX && t[(j, j)] == t[(j + 1, j + 1)], "{what}");
                    assert!(
                        !pair || w.entries[j] == w.entries[j + 1].conj() && w.entries[j].im > 0.0,
                        "{what}"
                    );
                }
                let (values, vectors, ..) = gees::<T>(&a, b'N');
                assert_eq!(vectors, Matrix::zeros(n, n));
                assert_eq!(values, t, "{what}");
            }
        }
    }
    for_each_type!(check);
}

/// Returns the eigenvalues, left and right eigenvectors, and `info`.
fn geev<T: Spectral>(a: &Matrix, jobs: [u8; 2]) -> (Vec<Complex<f64>>, [Matrix; 2], i32) {
    let n = a.rows;
    let (x, mut info) = (a.round::<T>(), [-1]);
    let (mut re, mut im) = (zeros::<T>(n), zeros::<T>(n));
    let (mut left, mut right) = (zeros::<T::Complex>(n * n), zeros::<T::Complex>(n * n));
    let mut call = call::<T>("lapack_*geev_ffi").operand(&x, &[n, n]).result(&mut re, &[n]);
    if !T::IS_COMPLEX {
        call = call.result(&mut im, &[n]);
    }
    call.result(&mut left, &[n, n])
        .result(&mut right, &[n, n])
        .result(&mut info, &[])
        .attr("compute_left", jobs[0])
        .attr("compute_right", jobs[1])
        .run()
        .unwrap();
    let w = re.iter().zip(&im).map(|(re, im)| re.widen() + Complex::<f64>::I * im.widen()).collect();
    (w, [Matrix::of(n, n, &left), Matrix::of(n, n, &right)], info[0])
}

#[test]
fn eigenvectors_of_general_matrices() {
    fn check<T: Spectral>() {
        for n in SQUARE_ORDERS {
            for kind in Kind::ALL {
                let a = kind.matrix::<T>(n, n, n as u64 + 2);
                let (w, [left, right], info) = geev::<T>(&a, [b'V', b'V']);
                let what = format!("{} {n} {kind:?}", T::LETTER);
                assert_eq!(info, 0, "{what}");
                let w_matrix = Matrix::from_fn(n, n, |i, j| if i == j { w[i] } else { Complex::ZERO });
                let conjugate = w_matrix.map(|_, _, x| x.conj());
                for (a, v, w) in [(&a, &right, &w_matrix), (&a.adjoint(), &left, &conjugate)] {
                    for j in 0..n {
                        let norm = (0..n).map(|i| v[(i, j)].norm_sqr()).sum::<f64>().sqrt();
                        assert!((norm - 1.0).abs() <= 30.0 * n as f64 * T::EPSILON, "{what}: {norm}");
                    }
                    let difference = a.times(v).minus(&v.times(w)).norm();
                    let scale = a.norm().max(f64::MIN_POSITIVE) * n as f64 * T::EPSILON;
                    assert_ratio(if difference == 0.0 { 0.0 } else { difference / scale }, &what);
                }
                let (values, [left, right], info) = geev::<T>(&a, [b'N', b'N']);
                assert_eq!((info, &left, &right), (0, &Matrix::zeros(n, n), &Matrix::zeros(n, n)));
                assert!(values.iter().all(|x| x.is_finite()), "{what}");
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn results_for_infinite_and_nan_entries_are_nan() {
    fn check<T: Spectral>() {
        for n in [1, 3, 40] {
            for bad in [f64::NAN, f64::INFINITY] {
                let mut a = Kind::Random.matrix::<T>(n, n, 1);
                a[(n - 1, 0)] = Complex::new(bad, 0.0);
                let nan = |x: &Matrix| x.entries.iter().all(|x| x.re.is_nan());
                let result = svd::<T>("lapack_*gesdd_ffi", &a, b'S');
                assert!(result.info == -4 && result.s[0].is_nan() && nan(&result.u) && nan(&result.vt));
                let (w, [left, right], info) = geev::<T>(&a, [b'V', b'V']);
                assert!(info == -4 && w.iter().all(|w| w.re.is_nan()) && nan(&left) && nan(&right));
                let (t, z, w, info) = gees::<T>(&a, b'V');
                assert!(info == -4 && nan(&t) && nan(&z) && nan(&w));
                let (mut x, mut w, mut info) = (a.round::<T>(), zeros::<T::Part>(n), [-1]);
                symmetric::<T>("evd")
                    .in_place(&mut x, &[n, n])
                    .result(&mut w, &[n])
                    .result(&mut info, &[])
                    .attr("uplo", b'L')
                    .attr("mode", b'V')
                    .run()
                    .unwrap();
                assert!(info == [1] && nan(&Matrix::of(n, n, &x)) && nan(&Matrix::of(1, n, &w)));
                // Reductions end, with any results.
                let (mut x, mut tau, mut info) = (a.round::<T>(), zeros::<T>(n - 1), [-1]);
                call::<T>("lapack_*gehrd_ffi")
                    .in_place(&mut x, &[n, n])
                    .result(&mut tau, &[n - 1])
                    .result(&mut info, &[])
                    .attr("low", 1i32)
                    .attr("high", n as i32)
                    .run()
                    .unwrap();
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn decompositions_of_a_batch_are_independent() {
    let (count, n) = (60, 9);
    let matrices: Vec<Matrix> = (0..count).map(|i| Kind::Random.matrix::<f64>(n, n, i as u64)).collect();
    let x: Vec<f64> = matrices.iter().flat_map(|a| a.round::<f64>()).collect();
    let (mut re, mut im, mut info) = (vec![0.0; count * n], vec![0.0; count * n], vec![-1; count]);
    let mut left = zeros::<Complex<f64>>(count * n * n);
    let mut right = left.clone();
    call::<f64>("lapack_*geev_ffi")
        .operand(&x, &[3, 20, n, n])
        .result(&mut re, &[3, 20, n])
        .result(&mut im, &[3, 20, n])
        .result(&mut left, &[3, 20, n, n])
        .result(&mut right, &[3, 20, n, n])
        .result(&mut info, &[3, 20])
        .attr("compute_left", b'N')
        .attr("compute_right", b'V')
        .run()
        .unwrap();
    for (i, a) in matrices.iter().enumerate() {
        let (w, [_, vectors], _) = geev::<f64>(a, [b'N', b'V']);
        assert_eq!(Matrix::of(n, n, &right[i * n * n..(i + 1) * n * n]), vectors);
        assert!(w.iter().enumerate().all(|(j, w)| (w.re, w.im) == (re[i * n + j], im[i * n + j])));
    }
}

#[test]
fn matrices_without_entries_have_decompositions() {
    for dims in [&[0, 0][..], &[3, 0, 0], &[0, 4, 4]] {
        let (batch, count) = (&dims[..dims.len() - 2], dims[..dims.len() - 2].iter().product());
        let (mut info, w) = (vec![-1; count], [batch, &dims[dims.len() - 1..]].concat());
        symmetric::<f64>("evd")
            .in_place::<f64>(&mut [], dims)
            .result::<f64>(&mut [], &w)
            .result(&mut info, batch)
            .attr("uplo", b'L')
            .attr("mode", b'V')
            .run()
            .unwrap();
        assert!(info.iter().all(|info| *info == 0));
    }
    // Complete singular vectors of a matrix without columns.
    let (mut u, mut info) = (zeros::<f64>(9), [-1]);
    call::<f64>("lapack_*gesdd_ffi")
        .in_place::<f64>(&mut [], &[3, 0])
        .result::<f64>(&mut [], &[0])
        .result(&mut u, &[3, 3])
        .result::<f64>(&mut [], &[0, 0])
        .result(&mut info, &[])
        .attr("mode", b'A')
        .run()
        .unwrap();
    assert_eq!((Matrix::of(3, 3, &u), info), (Matrix::identity(3), [0]));
}

#[test]
fn mistakes_are_reported() {
    let (mut x, mut info, mut other) = ([0f32; 4], [0], [0f32; 4]);
    let (mut w, mut v) = ([0f32; 2], [0f32; 2]);
    let result = call::<f32>("lapack_*gees_ffi")
        .in_place(&mut x, &[2, 2])
        .result(&mut other, &[2, 2])
        .result(&mut w, &[2])
        .result(&mut v, &[2])
        .result(&mut [0], &[])
        .result(&mut info, &[])
        .attr("mode", b'V')
        .attr("sort", b'S')
        .run();
    assert_error(result, "sort is 83 ('S')");
    let result = call::<f32>("lapack_*gehrd_ffi")
        .in_place(&mut x, &[2, 2])
        .result(&mut [0f32], &[1])
        .result(&mut info, &[])
        .attr("low", 0i32)
        .attr("high", 2i32)
        .run();
    assert_error(result, "low is 0 and high is 2, but 1 ≤ low ≤ high ≤ 2 must hold");
    let result = call::<f32>("lapack_*gesdd_ffi")
        .in_place(&mut x, &[2, 2])
        .result(&mut w, &[2])
        .result(&mut other, &[2, 2])
        .result(&mut [0f32; 4], &[2, 2])
        .result(&mut info, &[])
        .attr("mode", b'O')
        .run();
    assert_error(result, "mode is 79 ('O')");
}
