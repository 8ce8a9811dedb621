//! Patterns of sums and products, and values for them.

use farcall_ffi::testing::Call;

use super::{Matrix, Numbers, message, unwritten};
use crate::matrix_product::csr_csr_matmul as product;
use crate::patterns::*;

/// Index arrays of a compressed matrix.
type Pattern = (Vec<i32>, Vec<i32>);

/// Returns the dense form of a CSR matrix.
fn dense((columns, starts): &Pattern, a: &[f64], k: usize) -> Vec<f64> {
    let mut dense = vec![0.0; (starts.len() - 1) * k];
    for row in 0..starts.len() - 1 {
        for at in starts[row] as usize..starts[row + 1] as usize {
            dense[row * k + columns[at] as usize] += a[at];
        }
    }
    dense
}

/// Returns the elements of a dense matrix at the first entry of each column in each row; other entries are 0.
fn sampled((columns, starts): &Pattern, dense: &[f64], k: usize) -> Vec<f64> {
    let mut a = vec![0.0; columns.len()];
    for row in 0..starts.len() - 1 {
        for at in (starts[row] as usize..starts[row + 1] as usize).rev() {
            let is_first = !columns[starts[row] as usize..at].contains(&columns[at]);
            a[at] = if is_first { dense[row * k + columns[at] as usize] } else { 0.0 };
        }
    }
    a
}

fn dense_product(a: &[f64], b: &[f64], [m, l, k]: [usize; 3]) -> Vec<f64> {
    let mut c = vec![0.0; m * k];
    for (i, t, j) in (0..m * l * k).map(|at| (at / (l * k), at / k % l, at % k)) {
        c[i * k + j] += a[i * l + t] * b[t * k + j];
    }
    c
}

fn transposed(a: &[f64], columns: usize) -> Vec<f64> {
    let rows = a.len().checked_div(columns).unwrap_or(0);
    (0..a.len()).map(|at| a[at % rows * columns + at / rows]).collect()
}

macro_rules! operands {
    ($op:ty, [$($pattern:expr),*], $attrs:expr) => {{
        let call = Call::to::<$op>();
        $(
            let (columns, starts) = &$pattern;
            let call = call.operand(columns, &[columns.len()]).operand(starts, &[starts.len()]);
        )*
        $attrs.iter().fold(call, |call, (name, value): &(&str, i64)| call.attr(name, *value))
    }};
}

#[test]
fn sums() {
    for ([m, k], count) in [([5, 4], 7), ([3, 9], 20), ([1, 1], 3), ([4, 4], 0)] {
        let mut numbers = Numbers::new(count as u64);
        let [a, b] = [(); 2].map(|()| Matrix::random(&mut numbers, [m, k], count).compressed::<i32>());
        let entries = (m * k).min(2 * count) as i64;
        let (mut columns, mut starts) = (vec![-1; entries as usize], vec![-1; m + 1]);
        let call = operands!(csr_add_pattern, [a, b], [("k", k as i64), ("entries", entries)]);
        call.result(&mut columns, &[entries as usize]).result(&mut starts, &[m + 1]).run().unwrap();
        let c: Pattern = (columns, starts);
        let [x, y]: [Vec<f64>; 2] = [numbers.numbers(a.0.len()), numbers.numbers(b.0.len())];
        let mut z = unwritten::<f64>(c.0.len());
        let call = Call::to::<csr_add>().operand(&x, &[x.len()]).operand(&a.0, &[x.len()]);
        let call = call.operand(&a.1, &[m + 1]).operand(&y, &[y.len()]).operand(&b.0, &[y.len()]);
        let call = call.operand(&b.1, &[m + 1]).operand(&c.0, &[z.len()]).operand(&c.1, &[m + 1]);
        let len = z.len();
        call.attr("k", k as i64).result(&mut z, &[len]).run().unwrap();
        let sum: Vec<f64> = dense(&a, &x, k).iter().zip(dense(&b, &y, k)).map(|(x, y)| x + y).collect();
        assert_eq!(dense(&c, &z, k), sum);

        // The transpose returns the elements of the sum for each entry.
        let w: Vec<f64> = numbers.numbers(len);
        let (mut p, mut q) = (unwritten::<f64>(x.len()), unwritten::<f64>(y.len()));
        let call = Call::to::<csr_add_transpose>().operand(&w, &[len]);
        let call = call.operand(&a.0, &[x.len()]).operand(&a.1, &[m + 1]).operand(&b.0, &[y.len()]);
        let call = call.operand(&b.1, &[m + 1]).operand(&c.0, &[len]).operand(&c.1, &[m + 1]);
        let call = call.attr("k", k as i64).result(&mut p, &[x.len()]).result(&mut q, &[y.len()]);
        call.run().unwrap();
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        assert_eq!(dot(&p, &x) + dot(&q, &y), dot(&w, &z));
    }
}

#[test]
fn products_of_two_sparse_matrices() {
    for ([m, l, k], count) in [([5, 4, 3], 9), ([2, 7, 6], 14), ([3, 3, 3], 0), ([300, 200, 250], 4000)] {
        let mut numbers = Numbers::new(count as u64 + 1);
        let a = Matrix::random(&mut numbers, [m, l], count).compressed::<i32>();
        let b = Matrix::random(&mut numbers, [l, k], count).compressed::<i32>();
        let entries = m * k;
        let (mut columns, mut starts) = (vec![-1; entries], vec![-1; m + 1]);
        let call = operands!(csr_csr_matmul_pattern, [a, b], [("k", k as i64), ("entries", entries as i64)]);
        call.result(&mut columns, &[entries]).result(&mut starts, &[m + 1]).run().unwrap();
        let full: Pattern = (columns, starts);
        assert!(full.1.windows(2).all(|row| full.0[row[0] as usize..row[1] as usize].is_sorted()));
        let masked = Matrix::random(&mut numbers, [m, k], count / 2).compressed::<i32>();
        for c in [full, masked] {
            let [x, y, z]: [Vec<f64>; 3] = [a.0.len(), b.0.len(), c.0.len()].map(|len| numbers.numbers(len));
            macro_rules! call {
                ($op:ty) => {{
                    let call = Call::to::<$op>().operand(&x, &[x.len()]).operand(&a.0, &[x.len()]);
                    let call = call.operand(&a.1, &[m + 1]).attr("k", k as i64);
                    (call, [&b.0, &b.1, &c.0, &c.1])
                }};
            }
            let mut found = unwritten::<f64>(z.len());
            let (call, [b0, b1, c0, c1]) = call!(product::op);
            let call = call.operand(&y, &[y.len()]).operand(b0, &[b0.len()]).operand(b1, &[b1.len()]);
            let call = call.operand(c0, &[c0.len()]).operand(c1, &[c1.len()]);
            call.result(&mut found, &[z.len()]).run().unwrap();
            let [left, right] = [dense(&a, &x, l), dense(&b, &y, k)];
            assert_eq!(found, sampled(&c, &dense_product(&left, &right, [m, l, k]), k));

            // Cotangents: those of repeated entries have no effect.
            let (mut dx, mut dy) = (unwritten::<f64>(x.len()), unwritten::<f64>(y.len()));
            let (call, [b0, b1, c0, c1]) = call!(product::bwd);
            let call = call.operand(b0, &[b0.len()]).operand(b1, &[b1.len()]).operand(c0, &[c0.len()]);
            let call = call.operand(c1, &[c1.len()]).operand(&y, &[y.len()]).operand(&z, &[z.len()]);
            call.result(&mut dx, &[x.len()]).result(&mut dy, &[y.len()]).run().unwrap();
            let first = sampled(&c, &vec![1.0; m * k], k);
            let z: Vec<f64> = z.iter().zip(first).map(|(z, first)| z * first).collect();
            let cotangent = dense(&c, &z, k);
            let by_a = dense_product(&cotangent, &transposed(&right, k), [m, k, l]);
            let by_b = dense_product(&transposed(&left, l), &cotangent, [l, m, k]);
            let every = |(columns, starts): &Pattern, dense: &[f64], k: usize| {
                let mut a = vec![0.0; columns.len()];
                for row in 0..starts.len() - 1 {
                    let own = starts[row] as usize..starts[row + 1] as usize;
                    own.for_each(|at| a[at] = dense[row * k + columns[at] as usize]);
                }
                a
            };
            assert_eq!(dx, every(&a, &by_a, l));
            assert_eq!(dy, every(&b, &by_b, k));
        }
    }
}

#[test]
fn patterns_that_are_too_small() {
    let (a, b): (Pattern, Pattern) = ((vec![0, 1], vec![0, 2]), (vec![2], vec![0, 1]));
    let (mut columns, mut starts) = ([0i32; 2], [0i32; 2]);
    let call = operands!(csr_add_pattern, [a, b], [("k", 3), ("entries", 2)]);
    let error = message(call.result(&mut columns, &[2]).result(&mut starts, &[2]).run());
    assert_eq!(error, "csr_add_pattern: the pattern has 3 entries, but entries = 2");
    let mut c = [0.0f64; 2];
    let call = Call::to::<csr_add>().operand(&[1.0f64, 2.0], &[2]).operand(&a.0, &[2]).operand(&a.1, &[2]);
    let call = call.operand(&[1.0f64], &[1]).operand(&b.0, &[1]).operand(&b.1, &[2]).attr("k", 3i64);
    let error = message(call.operand(&a.0, &[2]).operand(&a.1, &[2]).result(&mut c, &[2]).run());
    assert_eq!(error, "csr_add: b_columns[0] is 2, which row 0 of the pattern does not have");
}
