//! QR decompositions.

use farcall::ir::{DType, Literal};

use super::{assert_close, call, identity, mlir_type, numbers, product, random, run, tensor, transposed};

const SIZES: [[usize; 2]; 11] =
    [[1, 1], [3, 3], [4, 3], [3, 4], [7, 1], [1, 7], [40, 40], [70, 50], [50, 70], [100, 33], [33, 100]];

/// Returns `q` and `r`, with `k` columns of `q`.
fn qr(x: &Literal, k: usize) -> Result<[Literal; 2], String> {
    let (batch, [m, n]) = (x.dims()[..x.dims().len() - 2].to_vec(), last(x));
    let [q, r] = [[m, k], [k, n]].map(|dims| [batch.as_slice(), &dims].concat());
    let name = format!("qr_cpu_custom_call_{}", x.dtype());
    call(&name, &[x], &[(x.dtype(), &q), (x.dtype(), &r)]).map(|y| y.try_into().unwrap())
}

fn last(x: &Literal) -> [usize; 2] {
    x.dims()[x.dims().len() - 2..].try_into().unwrap()
}

/// Computes all columns of `q`, and `r`, like LAPACK's `geqr2` and `org2r` according to their documentation.
fn by_the_book(x: &[f64], [m, n]: [usize; 2]) -> [Vec<f64>; 2] {
    let (mut q, mut r) = (identity(m), x.to_vec());
    for j in 0..m.min(n) {
        let alpha = r[j * n + j];
        let tail = (j + 1..m).map(|i| r[i * n + j].powi(2)).sum::<f64>().sqrt();
        if tail == 0.0 {
            continue;
        }
        let beta = -alpha.hypot(tail).copysign(alpha);
        let tau = (beta - alpha) / beta;
        let v: Vec<f64> = (0..m)
            .map(|i| match i.cmp(&j) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => r[i * n + j] / (alpha - beta),
            })
            .collect();
        for c in 0..n {
            let along = tau * (0..m).map(|i| v[i] * r[i * n + c]).sum::<f64>();
            (0..m).for_each(|i| r[i * n + c] -= along * v[i]);
        }
        for row in q.chunks_exact_mut(m) {
            let along = tau * row.iter().zip(&v).map(|(q, v)| q * v).sum::<f64>();
            row.iter_mut().zip(&v).for_each(|(q, v)| *q -= along * v);
        }
    }
    [q, r]
}

/// Returns the first `k` columns of a matrix with `n` columns.
fn columns(x: &[f64], n: usize, k: usize) -> Vec<f64> {
    x.chunks_exact(n).flat_map(|row| row[..k].to_vec()).collect()
}

#[test]
fn signs_and_values_are_those_of_lapack() {
    for [m, n] in SIZES {
        for (dtype, tolerance) in
            [(DType::F64, 1e-13), (DType::F32, 3e-6), (DType::F16, 2e-2), (DType::BF16, 0.2)]
        {
            let x = random(dtype, &[m, n], (m * 1000 + n) as u64);
            let [expected_q, expected_r] = by_the_book(&numbers(&x), [m, n]);
            for k in [m.min(n), m] {
                let [q, r] = qr(&x, k).unwrap();
                assert_close(&numbers(&q), &columns(&expected_q, m, k), tolerance);
                let tolerance = tolerance * (m as f64).sqrt();
                assert_close(&numbers(&r), &expected_r[..k * n], tolerance);
            }
        }
    }
}

#[test]
fn factors_are_orthonormal_and_triangular() {
    for [m, n] in SIZES {
        let x = random(DType::F64, &[m, n], 7);
        let k = m.min(n);
        let [q, r] = qr(&x, k).unwrap().map(|y| numbers(&y));
        assert_close(&product(&transposed(&q, [m, k]), &q, [k, m, k]), &identity(k), 1e-13);
        assert_close(&product(&q, &r, [m, k, n]), &numbers(&x), 1e-13);
        assert!((0..k).all(|i| (0..i.min(n)).all(|j| r[i * n + j] == 0.0)));
    }
}

/// Checks matrices with a column that depends on preceding columns. The column leaves a zero on the diagonal,
/// and the next reflection begins below this zero.
#[test]
fn dependent_columns_are_decomposed_as_lapack_does() {
    let x = random(DType::F64, &[5, 4], 3);
    let mut entries = numbers(&x);
    for row in entries.chunks_exact_mut(4) {
        (row[0], row[2]) = (0.0, 0.0);
    }
    for entries in [
        entries,
        vec![0.0; 20],
        numbers(&tensor(DType::F64, &[5, 4], |i| if i % 5 == 0 { -2.0 } else { 0.0 })),
    ] {
        let x = tensor(DType::F64, &[5, 4], |i| entries[i]);
        let [q, r] = qr(&x, 5).unwrap().map(|y| numbers(&y));
        let [expected_q, expected_r] = by_the_book(&entries, [5, 4]);
        assert_close(&q, &expected_q, 1e-14);
        assert_close(&r, &expected_r, 1e-14);
    }
}

/// Checks the error bounds of EXLA's tests, with programs like EXLA's.
#[test]
fn the_product_is_the_matrix_to_the_last_digits() {
    let bars = [
        (DType::BF16, 6e-2, 6e-2),
        (DType::F16, 7e-3, 7e-3),
        (DType::F32, 1e-6, 1e-6),
        (DType::F64, 1e-14, 1e-15),
    ];
    for (dtype, absolute, relative) in bars {
        for [m, n] in [[4, 4], [4, 3], [3, 4]] {
            let k = m.min(n);
            let [x, q, r] = [[m, n], [m, k], [k, n]].map(|dims| mlir_type(dtype, &dims));
            let program = format!(
                "func.func @main() -> {x} {{\n  \
                 %x = stablehlo.iota dim = 0 : tensor<{}x{dtype}>\n  \
                 %0 = stablehlo.reshape %x : (tensor<{}x{dtype}>) -> {x}\n  \
                 %1:2 = stablehlo.custom_call @qr_cpu_custom_call_{dtype}(%0) {{api_version = 4 : i32}} : ({x}) -> ({q}, {r})\n  \
                 %2 = stablehlo.dot %1#0, %1#1 : ({q}, {r}) -> {x}\n  \
                 return %2 : {x}\n}}",
                m * n,
                m * n
            );
            let found = numbers(&run(&program, &[]).unwrap()[0]);
            for (i, found) in found.into_iter().enumerate() {
                let expected = i as f64;
                let bound = absolute + relative * expected;
                assert!((found - expected).abs() <= bound, "{dtype} {m}×{n}: {found} is not {expected}");
            }
        }
    }
}

#[test]
fn matrices_of_a_batch_are_decomposed_independently() {
    for (batch, [m, n], k) in [(300, [4, 3], 3), (300, [3, 4], 3), (7, [70, 50], 70), (33, [1, 1], 1)] {
        let x = random(DType::F32, &[3, batch, m, n], 5);
        let [q, r] = qr(&x, k).unwrap();
        let again = qr(&x, k).unwrap();
        assert!(q == again[0] && r == again[1], "two runs on {m}×{n} matrices differ");
        let (q, r, entries) = (numbers(&q), numbers(&r), numbers(&x));
        for i in [0, 1, batch, 3 * batch - 1] {
            let alone = tensor(DType::F32, &[m, n], |at| entries[i * m * n + at]);
            let [one_q, one_r] = qr(&alone, k).unwrap().map(|y| numbers(&y));
            assert_eq!(q[i * m * k..(i + 1) * m * k], one_q);
            assert_eq!(r[i * k * n..(i + 1) * k * n], one_r);
        }
    }
}

#[test]
fn matrices_without_entries_have_decompositions() {
    for dims in [&[0, 0][..], &[0, 3], &[3, 0], &[0, 3, 2], &[2, 0, 3], &[2, 3, 0]] {
        let x = tensor(DType::F32, dims, |_| 0.0);
        let [m, n] = last(&x);
        let [q, r] = qr(&x, m.min(n)).unwrap();
        assert!(q.is_empty() && r.is_empty());
        let [q, r] = qr(&x, m).unwrap();
        assert!(r.is_empty());
        let count = dims[..dims.len() - 2].iter().product();
        assert_eq!(numbers(&q), vec![identity(m); count].concat());
    }
}

#[test]
fn numbers_of_any_size_are_decomposed() {
    for (dtype, sizes) in
        [(DType::F32, [1e-40, 1e-30, 1e30, 1e38]), (DType::F64, [1e-310, 1e-200, 1e200, 1e307])]
    {
        let x = random(dtype, &[6, 4], 11);
        let [expected_q, _] = by_the_book(&numbers(&x), [6, 4]);
        for size in sizes {
            let scaled = tensor(dtype, &[6, 4], |i| numbers(&x)[i] * size);
            let [q, r] = qr(&scaled, 4).unwrap().map(|y| numbers(&y));
            // The smallest numbers are subnormal and have fewer digits.
            assert_close(&q, &columns(&expected_q, 6, 4), 1e-2);
            assert!(r.iter().all(|r| r.is_finite()));
        }
    }
}

#[test]
fn a_matrix_with_nan_or_infinity_gives_nan_and_leaves_the_others_alone() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let x = tensor(DType::F64, &[2, 3, 2], |i| if i == 4 { bad } else { i as f64 });
        let [q, r] = qr(&x, 2).unwrap().map(|y| numbers(&y));
        assert!(q[..6].iter().all(|q| q.is_nan()) && q[6..].iter().all(|q| q.is_finite()));
        assert!(r[..4].iter().enumerate().all(|(i, r)| if i == 2 { *r == 0.0 } else { r.is_nan() }));
        assert!(r[4..].iter().all(|r| r.is_finite()));
    }
}

#[test]
fn mismatches_are_reported() {
    let x = random(DType::F32, &[4, 3], 1);
    let error = qr(&x, 2).unwrap_err();
    assert!(error.contains("q is f32[4, 3], but the call's result is f32[4, 2]"), "{error}");
    let error = qr(&x, 5).unwrap_err();
    assert!(error.contains("q is f32[4, 3], but the call's result is f32[4, 5]"), "{error}");
    let error =
        call("qr_cpu_custom_call_f64", &[&x], &[(DType::F64, &[4, 3]), (DType::F64, &[3, 3])]).unwrap_err();
    assert!(error.contains("x must be f64, but is f32"), "{error}");
}
