//! Eigendecompositions of symmetric matrices.

use farcall::ir::{DType, Literal};

use super::{assert_close, call, identity, numbers, product, random, tensor, transposed};

fn eigh(x: &Literal) -> Result<[Vec<f64>; 2], String> {
    let name = format!("eigh_cpu_custom_call_{}", x.dtype());
    let w = &x.dims()[..x.dims().len() - 1];
    let results = call(&name, &[x], &[(x.dtype(), w), (x.dtype(), x.dims())])?;
    Ok([numbers(&results[0]), numbers(&results[1])])
}

/// Returns a matrix with NaN in the upper triangle, which must not be read, and the full symmetric matrix.
fn symmetric(dtype: DType, n: usize, seed: u64) -> (Literal, Vec<f64>) {
    let x = numbers(&random(dtype, &[n, n], seed));
    let full = (0..n * n).map(|at| x[(at / n).max(at % n) * n + (at / n).min(at % n)]).collect();
    let lower = tensor(dtype, &[n, n], |at| if at % n > at / n { f64::NAN } else { x[at] });
    (lower, full)
}

#[test]
fn vectors_are_orthonormal_and_values_ascend() {
    for (dtype, tolerance) in [(DType::F64, 1e-14), (DType::F32, 4e-6)] {
        for n in [1, 2, 3, 5, 16, 33, 64, 100] {
            let (x, full) = symmetric(dtype, n, n as u64);
            let [w, v] = eigh(&x).unwrap();
            let tolerance = tolerance * n as f64;
            assert!(w.is_sorted(), "{w:?} are not in ascending order");
            assert_close(&product(&transposed(&v, [n, n]), &v, [n, n, n]), &identity(n), tolerance);
            let scaled: Vec<f64> = v.iter().enumerate().map(|(at, v)| v * w[at % n]).collect();
            assert_close(&product(&full, &v, [n, n, n]), &scaled, tolerance);
        }
    }
}

#[test]
fn the_first_large_entry_of_a_vector_is_positive() {
    let [w, v] = eigh(&tensor(DType::F64, &[2, 2], |i| [2.0, 1.0, 1.0, 2.0][i])).unwrap();
    let half = 0.5f64.sqrt();
    assert_close(&w, &[1.0, 3.0], 1e-15);
    assert_close(&v, &[half, half, -half, half], 1e-15);
    let [w, v] = eigh(&tensor(DType::F64, &[3, 3], |i| if i % 4 == 0 { -(i as f64) } else { 0.0 })).unwrap();
    assert_close(&w, &[-8.0, -4.0, 0.0], 0.0);
    assert_close(&v, &[0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0], 0.0);
}

#[test]
fn matrices_of_a_batch_are_decomposed_independently() {
    let x = random(DType::F32, &[2, 200, 5, 5], 4);
    let [w, v] = eigh(&x).unwrap();
    assert_eq!([w.clone(), v.clone()], eigh(&x).unwrap());
    let entries = numbers(&x);
    for i in [0, 199, 200, 399] {
        let [one_w, one_v] = eigh(&tensor(DType::F32, &[5, 5], |at| entries[i * 25 + at])).unwrap();
        assert_eq!(w[i * 5..(i + 1) * 5], one_w);
        assert_eq!(v[i * 25..(i + 1) * 25], one_v);
    }
}

#[test]
fn decompositions_terminate_for_every_matrix() {
    for dims in [&[0, 0][..], &[3, 0, 0], &[0, 2, 2]] {
        let [w, v] = eigh(&tensor(DType::F64, dims, |_| 0.0)).unwrap();
        assert!(w.is_empty() && v.is_empty());
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let [w, v] =
            eigh(&tensor(DType::F64, &[2, 40, 40], |i| if i == 40 { bad } else { (i % 7) as f64 })).unwrap();
        assert!(w[..40].iter().chain(&v[..1600]).all(|y| y.is_nan()));
        assert!(w[40..].iter().chain(&v[1600..]).all(|y| y.is_finite()));
    }
    let (_, full) = symmetric(DType::F64, 6, 1);
    let [expected, _] = eigh(&tensor(DType::F64, &[6, 6], |i| full[i])).unwrap();
    for size in [1e-300, 1e-200, 1e200, 1e307] {
        let [w, v] = eigh(&tensor(DType::F64, &[6, 6], |i| full[i] * size)).unwrap();
        let w: Vec<f64> = w.iter().map(|w| w / size).collect();
        assert_close(&w, &expected, 1e-13);
        assert_close(&product(&transposed(&v, [6, 6]), &v, [6, 6, 6]), &identity(6), 1e-13);
    }
}

#[test]
fn mismatches_are_reported() {
    let error = eigh(&random(DType::F32, &[3, 4], 1)).unwrap_err();
    assert!(
        error.contains("eigh_cpu_custom_call_f32: x has shape [3, 4], but [*, n, n] has n twice"),
        "{error}"
    );
}
