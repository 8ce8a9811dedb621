//! Compares tangents with finite differences, and cotangents with tangents.

use farcall::ir::{DType, Literal};

use super::{assert_close, call, numbers, random, tensor};

const STEP: f64 = 1e-6;

/// Returns `x + step·dx`.
fn moved(x: &Literal, dx: &Literal, step: f64) -> Literal {
    let (entries, by) = (numbers(x), numbers(dx));
    tensor(DType::F64, x.dims(), |i| entries[i] + step * by[i])
}

fn dot(a: &[Literal], b: &[Literal]) -> f64 {
    let pairs =
        |(a, b): (&Literal, &Literal)| numbers(a).iter().zip(numbers(b)).map(|(a, b)| a * b).sum::<f64>();
    a.iter().zip(b).map(pairs).sum()
}

/// Checks the tangents of an op's results at `x` along `dx`, and the cotangent of `x`.
fn check(x: &Literal, dx: &Literal, [op, jvp, vjp]: [&str; 3], results: &[&[usize]]) {
    let types: Vec<(DType, &[usize])> = results.iter().map(|dims| (DType::F64, *dims)).collect();
    let at = |step: f64| call(op, &[&moved(x, dx, step)], &types).unwrap();
    let [before, values, after] = [-STEP, 0.0, STEP].map(at);
    let given: Vec<&Literal> = values.iter().chain([dx]).collect();
    let tangents = call(jvp, &given, &types).unwrap();
    for ((before, after), tangent) in before.iter().zip(&after).zip(&tangents) {
        let difference = numbers(before)
            .iter()
            .zip(numbers(after))
            .map(|(a, b)| (b - a) / (2.0 * STEP))
            .collect::<Vec<_>>();
        assert_close(&numbers(tangent), &difference, 1e-6);
    }
    let cotangents: Vec<Literal> =
        results.iter().enumerate().map(|(i, dims)| random(DType::F64, dims, 90 + i as u64)).collect();
    let given: Vec<&Literal> = values.iter().chain(&cotangents).collect();
    let gradient = call(vjp, &given, &[(DType::F64, x.dims())]).unwrap();
    let (along, back) = (dot(&cotangents, &tangents), dot(&gradient, std::slice::from_ref(dx)));
    assert!(
        (along - back).abs() < 1e-9 * along.abs().max(1.0),
        "the tangents give {along}, but the cotangent gives {back}"
    );
}

#[test]
fn of_qr() {
    for (i, [m, n]) in [[1, 1], [3, 3], [5, 3], [3, 5], [8, 1], [1, 8], [12, 12]].into_iter().enumerate() {
        let k = m.min(n);
        let [x, dx] = [0, 1].map(|seed| random(DType::F64, &[2, m, n], 10 * i as u64 + seed));
        check(&x, &dx, ["qr_cpu_custom_call_f64", "qr_jvp", "qr_vjp"], &[&[2, m, k], &[2, k, n]]);
    }
}

#[test]
fn of_eigh() {
    for n in [1, 2, 3, 6] {
        let [x, dx] = [0, 1].map(|seed| {
            let x = numbers(&random(DType::F64, &[2, n, n], 100 + seed));
            let transposed = |at: usize| at / (n * n) * n * n + at % n * n + at / n % n;
            // Eigenvalues far enough apart that the finite differences do not reorder them.
            tensor(DType::F64, &[2, n, n], |at| {
                x[at] + x[transposed(at)] + if at % n == at / n % n { 2.0 * (at % n) as f64 } else { 0.0 }
            })
        });
        check(&x, &dx, ["eigh_cpu_custom_call_f64", "eigh_jvp", "eigh_vjp"], &[&[2, n], &[2, n, n]]);
    }
}

#[test]
fn complete_decompositions_have_no_derivatives() {
    let [q, r] = [[4, 4], [4, 3]].map(|dims| random(DType::F64, &dims, 1));
    let x = random(DType::F64, &[4, 3], 2);
    let error = call("qr_jvp", &[&q, &r, &x], &[(DType::F64, &[4, 4]), (DType::F64, &[4, 3])]).unwrap_err();
    assert!(error.contains("qr_jvp: k <= n does not hold (k = 4, n = 3)"), "{error}");
}
