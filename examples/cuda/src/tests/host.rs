//! The handlers for the CPU compared with formulas in `f64`.

use farcall_ffi::Float;
use farcall_ffi::half::{bf16, f16};
use farcall_ffi::testing::Call;

use super::{Numbers, assert_close, epsilon};
use crate::{csr_matmul, cublas_gemm, custom_relu, flash_attention, rms_norm};

fn wide<T: Float>(all: &[T]) -> Vec<f64> {
    all.iter().map(|&x| x.into()).collect()
}

#[test]
fn relu() {
    let (x, dy) = ([-1.0f32, 0.0, 2.0, f32::NAN], [5.0f32, 6.0, 7.0, 8.0]);
    let (mut y, mut dx) = ([9.0f32; 4], [9.0f32; 4]);
    Call::to::<custom_relu::custom_relu>().operand(&x, &[4]).result(&mut y, &[4]).run().unwrap();
    assert!(y[..3] == [0.0, 0.0, 2.0] && y[3].is_nan(), "{y:?}");
    let call = Call::to::<custom_relu::custom_relu_bwd>().operand(&x, &[4]).operand(&dy, &[4]);
    call.result(&mut dx, &[4]).run().unwrap();
    assert_eq!(dx, [0.0, 0.0, 7.0, 0.0]);
}

#[test]
fn products() {
    let (m, k, n) = (3, 4, 5);
    let mut numbers = Numbers(1);
    let (a, b, dc): (Vec<f32>, Vec<f32>, Vec<f32>) =
        (numbers.vec(m * k), numbers.vec(k * n), numbers.vec(m * n));
    let (mut c, mut da, mut db) = (vec![0f32; m * n], vec![0f32; m * k], vec![0f32; k * n]);
    let call = Call::to::<cublas_gemm::cublas_gemm>().operand(&a, &[m, k]).operand(&b, &[k, n]);
    call.result(&mut c, &[m, n]).run().unwrap();
    let call = Call::to::<cublas_gemm::cublas_gemm_bwd>().operand(&a, &[m, k]).operand(&b, &[k, n]);
    let call = call.operand(&dc, &[m, n]).result(&mut da, &[m, k]);
    call.result(&mut db, &[k, n]).run().unwrap();
    let sum = |count: usize, term: &dyn Fn(usize) -> f32| (0..count).map(term).sum::<f32>();
    let expected: Vec<f32> = (0..m * n).map(|i| sum(k, &|l| a[i / n * k + l] * b[l * n + i % n])).collect();
    assert_close(&c, &expected, 1e-6, "c");
    let expected: Vec<f32> = (0..m * k).map(|i| sum(n, &|j| dc[i / k * n + j] * b[i % k * n + j])).collect();
    assert_close(&da, &expected, 1e-6, "da");
    let expected: Vec<f32> =
        (0..k * n).map(|i| sum(m, &|row| a[row * k + i / n] * dc[row * n + i % n])).collect();
    assert_close(&db, &expected, 1e-6, "db");
}

/// Compares `rms_norm` with its formula, and its gradients with the derivatives of the formula.
fn check_rows<T: Float<Acc = f32>>() {
    let (rows, n, eps) = (3, 7, 0.01);
    let mut numbers = Numbers(2);
    let (x, scale, dy): (Vec<T>, Vec<T>, Vec<T>) =
        (numbers.vec(rows * n), numbers.vec(n), numbers.vec(rows * n));
    let [mut y, mut dx] = [vec![T::ZERO; rows * n], vec![T::ZERO; rows * n]];
    let mut dscale = vec![T::ZERO; n];
    let call = Call::to::<rms_norm::rms_norm>().operand(&x, &[rows, n]).operand(&scale, &[n]);
    call.attr("eps", eps as f32).result(&mut y, &[rows, n]).run().unwrap();
    let call = Call::to::<rms_norm::rms_norm_bwd>().operand(&x, &[rows, n]).operand(&scale, &[n]);
    let call = call.operand(&dy, &[rows, n]).attr("eps", eps as f32);
    call.result(&mut dx, &[rows, n]).result(&mut dscale, &[n]).run().unwrap();

    let (x, scale, dy) = (wide(&x), wide(&scale), wide(&dy));
    let formula = |x: &[f64], scale: &[f64]| -> Vec<f64> {
        let row = |x: &[f64]| {
            let root = (x.iter().map(|x| x * x).sum::<f64>() / n as f64 + eps).sqrt();
            x.iter().zip(scale).map(|(x, scale)| x / root * scale).collect::<Vec<_>>()
        };
        x.chunks(n).flat_map(row).collect()
    };
    let loss =
        |x: &[f64], scale: &[f64]| formula(x, scale).iter().zip(&dy).map(|(y, dy)| y * dy).sum::<f64>();
    let step = 1e-4;
    let moved = |all: &[f64], i: usize, by: f64| {
        let mut all = all.to_vec();
        all[i] += by;
        all
    };
    let slope = |loss: &dyn Fn(f64) -> f64| (loss(step) - loss(-step)) / (2.0 * step);
    let of_x: Vec<f64> = (0..rows * n).map(|i| slope(&|by| loss(&moved(&x, i, by), &scale))).collect();
    let of_scale: Vec<f64> = (0..n).map(|i| slope(&|by| loss(&x, &moved(&scale, i, by)))).collect();
    let tolerance = epsilon::<T>() + 1e-6;
    assert_close(&wide(&y), &formula(&x, &scale), tolerance, "y");
    assert_close(&wide(&dx), &of_x, tolerance, "dx");
    assert_close(&wide(&dscale), &of_scale, tolerance, "dscale");
}

#[test]
fn rows_and_their_gradients() {
    check_rows::<f32>();
    check_rows::<f16>();
    check_rows::<bf16>();
}

#[test]
fn attention() {
    let (h, g, n, m, d) = (4, 2, 5, 6, 3);
    for causal in [false, true] {
        let mut numbers = Numbers(3);
        let (q, k, v): (Vec<f16>, Vec<f16>, Vec<f16>) =
            (numbers.vec(h * n * d), numbers.vec(g * m * d), numbers.vec(g * m * d));
        let (mut out, mut lse) = (vec![f16::ZERO; h * n * d], vec![0f32; h * n]);
        let call = Call::to::<flash_attention::flash_attention>().operand(&q, &[h, n, d]);
        let call = call.operand(&k, &[g, m, d]).operand(&v, &[g, m, d]).attr("causal", causal);
        call.result(&mut out, &[h, n, d]).result(&mut lse, &[h, n]).run().unwrap();

        let (q, k, v) = (wide(&q), wide(&k), wide(&v));
        let (mut expected, mut logs) = (Vec::new(), Vec::new());
        for (head, i) in (0..h).flat_map(|head| (0..n).map(move |i| (head, i))) {
            let of_keys = head / (h / g) * m * d;
            let weight = |j: usize| {
                let products = (0..d).map(|l| q[(head * n + i) * d + l] * k[of_keys + j * d + l]);
                (products.sum::<f64>() / (d as f64).sqrt()).exp()
            };
            let seen = if causal { i + 1 } else { m };
            let total: f64 = (0..seen).map(weight).sum();
            logs.push(total.ln() as f32);
            let entry = |l: usize| (0..seen).map(|j| weight(j) / total * v[of_keys + j * d + l]).sum::<f64>();
            expected.extend((0..d).map(entry));
        }
        assert_close(&wide(&out), &expected, epsilon::<f16>(), "out");
        assert_close(&lse, &logs, 1e-5, "lse");
    }
}

#[test]
fn sparse_products_are_those_of_dense_matrices() {
    // Row 1 is empty; the entry in column 7 is outside of the matrix, which has four columns.
    let (starts, columns) = ([0, 2, 2, 5], [3, 0, 7, 1, 1]);
    let (rows, k, n) = (3, 4, 2);
    let mut numbers = Numbers(4);
    let (a, b, dy): (Vec<f64>, Vec<f64>, Vec<f64>) =
        (numbers.vec(5), numbers.vec(k * n), numbers.vec(rows * n));
    let mut dense = vec![0.0; rows * k];
    for (row, column, e) in [(0, 3, 0), (0, 0, 1), (2, 1, 3), (2, 1, 4)] {
        dense[row * k + column] += a[e];
    }
    let (mut y, mut da, mut db) = (vec![0f64; rows * n], vec![0f64; 5], vec![0f64; k * n]);
    let call = Call::to::<csr_matmul::csr_matmul>().operand(&a, &[5]).operand(&columns, &[5]);
    call.operand(&starts, &[4]).operand(&b, &[k, n]).result(&mut y, &[rows, n]).run().unwrap();
    let expected: Vec<f64> =
        (0..rows * n).map(|i| (0..k).map(|l| dense[i / n * k + l] * b[l * n + i % n]).sum()).collect();
    assert_close(&y, &expected, 1e-15, "y");
    let call = Call::to::<csr_matmul::csr_matmul_bwd>().operand(&a, &[5]).operand(&columns, &[5]);
    let call = call.operand(&starts, &[4]).operand(&b, &[k, n]).operand(&dy, &[rows, n]);
    call.result(&mut da, &[5]).result(&mut db, &[k, n]).run().unwrap();
    let along = |row: usize, column: usize| (0..n).map(|j| dy[row * n + j] * b[column * n + j]).sum();
    assert_close(&da, &[along(0, 3), along(0, 0), 0.0, along(2, 1), along(2, 1)], 1e-15, "da");
    let expected: Vec<f64> =
        (0..k * n).map(|i| (0..rows).map(|row| dense[row * k + i / n] * dy[row * n + i % n]).sum()).collect();
    assert_close(&db, &expected, 1e-15, "db");
}
