//! The ops of the BLAS, against products that follow the definitions.

use farcall_ffi::Element;
use farcall_ffi::descriptor::LibraryOp;
use farcall_ffi::testing::Call;
use half::{bf16, f16};
use num_complex::Complex;

use super::matrix::{Kind, Matrix, Number};
use crate::for_each_type;

const FORMS: [&str; 3] = ["no", "transpose", "adjoint"];

fn call<'a>(name: &str) -> Call<'a> {
    let mut ops = farcall_linalg::blas::OPS.iter();
    Call::of(ops.find(|op| LibraryOp::of(op).name() == name).unwrap())
}

/// Returns the entries in row-major order.
fn rows<T: Number>(matrix: &Matrix) -> Vec<T> {
    matrix.transpose().round()
}

fn of_rows<T: Number>(rows: usize, columns: usize, entries: &[T]) -> Matrix {
    Matrix::of(columns, rows, entries).transpose()
}

fn in_form(matrix: &Matrix, form: &str) -> Matrix {
    match form {
        "no" => matrix.clone(),
        "transpose" => matrix.transpose(),
        _ => matrix.adjoint(),
    }
}

fn plus(a: &Matrix, b: &Matrix) -> Matrix {
    a.minus(&b.scaled(-1.0))
}

/// Returns the dimensions of a matrix whose form has these dimensions.
fn stored([rows, columns]: [usize; 2], form: &str) -> [usize; 2] {
    if form == "no" { [rows, columns] } else { [columns, rows] }
}

/// Runs a product with the default options, which hosts pass.
fn gemm(call: Call<'_>) -> farcall_ffi::Result<()> {
    let call = call.attr("alpha", 1.0).attr("beta", 0.0);
    call.attr("transpose_a", "no").attr("transpose_b", "no").run()
}

#[track_caller]
fn assert_close<T: Number>(found: &Matrix, expected: &Matrix, what: &str) {
    assert!(found.is_finite(), "{what}: not finite");
    let error = found.minus(expected).norm();
    let bound = 100.0 * (found.rows + found.columns + 100) as f64 * T::EPSILON * expected.norm().max(1e-30);
    assert!(error <= bound, "{what}: the error is {error}");
}

#[test]
fn products_follow_the_definition() {
    fn check<T: Number>() {
        // Threads share the work on the last product.
        for [m, k, n] in [[1, 1, 1], [2, 3, 4], [40, 33, 17], [5, 0, 3], [1, 9, 1], [200, 90, 180]] {
            for form_a in FORMS {
                for form_b in FORMS {
                    for [alpha, beta] in [[1.0, 0.0], [-2.0, 0.5], [0.5, 1.0]] {
                        let (a_dims, b_dims) = (stored([m, k], form_a), stored([k, n], form_b));
                        let a = Kind::Random.matrix::<T>(a_dims[0], a_dims[1], 1);
                        let b = Kind::Random.matrix::<T>(b_dims[0], b_dims[1], 2);
                        let c = Kind::Random.matrix::<T>(m, n, 3);
                        let mut out = rows::<T>(&c);
                        if beta == 0.0 {
                            out.fill(T::round(Complex::new(f64::NAN, 0.0)));
                        }
                        call("blas_gemm")
                            .operand(&rows::<T>(&a), &a_dims)
                            .operand(&rows::<T>(&b), &b_dims)
                            .in_place(&mut out, &[m, n])
                            .attr("alpha", alpha)
                            .attr("beta", beta)
                            .attr("transpose_a", form_a)
                            .attr("transpose_b", form_b)
                            .run()
                            .unwrap();
                        let product = in_form(&a, form_a).times(&in_form(&b, form_b)).scaled(alpha);
                        let expected = plus(&product, &c.scaled(beta));
                        let what = format!("{} {m} {k} {n} {form_a} {form_b} {alpha} {beta}", T::LETTER);
                        assert_close::<T>(&of_rows(m, n, &out), &expected, &what);
                    }
                    // The reference takes long for large matrices.
                    if m < 100 {
                        check_matmul::<T>([m, k, n], [form_a, form_b]);
                    }
                }
            }
        }
    }
    for_each_type!(check);
}

/// Checks `blas_matmul` on a batch of two products, into memory with other numbers.
fn check_matmul<T: Number>([m, k, n]: [usize; 3], [form_a, form_b]: [&str; 2]) {
    let (a_dims, b_dims) = (stored([m, k], form_a), stored([k, n], form_b));
    let a = [1, 2].map(|seed| Kind::Random.matrix::<T>(a_dims[0], a_dims[1], seed));
    let b = [3, 4].map(|seed| Kind::Random.matrix::<T>(b_dims[0], b_dims[1], seed));
    let both = |matrices: &[Matrix; 2]| matrices.iter().flat_map(rows::<T>).collect::<Vec<T>>();
    let mut out = vec![T::round(Complex::new(f64::NAN, 0.0)); 2 * m * n];
    call("blas_matmul")
        .operand(&both(&a), &[2, a_dims[0], a_dims[1]])
        .operand(&both(&b), &[2, b_dims[0], b_dims[1]])
        .result(&mut out, &[2, m, n])
        .attr("transpose_a", form_a)
        .attr("transpose_b", form_b)
        .run()
        .unwrap();
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        let expected = in_form(a, form_a).times(&in_form(b, form_b));
        let found = of_rows(m, n, &out[i * m * n..][..m * n]);
        assert_close::<T>(&found, &expected, &format!("{} {m} {k} {n} {form_a} {form_b} {i}", T::LETTER));
    }
}

#[test]
fn products_of_16_bit_numbers_are_accumulated_in_f32() {
    fn check<T: Element>(round: impl Fn(f32) -> T, widen: impl Fn(T) -> f32) {
        let (m, k, n) = (3, 500, 2);
        let a: Vec<T> = (0..m * k).map(|i| round((i % 7) as f32 * 0.25 - 0.5)).collect();
        let b: Vec<T> = (0..k * n).map(|i| round((i % 5) as f32 * 0.5 - 0.75)).collect();
        let mut out = [f32::NAN; 6];
        gemm(call("blas_gemm").operand(&a, &[m, k]).operand(&b, &[k, n]).in_place(&mut out, &[m, n]))
            .unwrap();
        for i in 0..m {
            for j in 0..n {
                let expected: f32 = (0..k).map(|l| widen(a[i * k + l]) * widen(b[l * n + j])).sum();
                assert_eq!(out[i * n + j], expected);
            }
        }
    }
    check(f16::from_f32, f16::to_f32);
    check(bf16::from_f32, bf16::to_f32);
}

/// Compares with the derivative's definition: the product with `dout` is linear in each operand.
#[test]
fn cotangents_of_products_are_adjoint_to_tangents() {
    fn check<T: Number>() {
        let (m, k, n) = (4, 3, 5);
        let (alpha, beta) = (1.5, -0.5);
        for form_a in FORMS {
            for form_b in FORMS {
                let (a_dims, b_dims) = (stored([m, k], form_a), stored([k, n], form_b));
                let a = Kind::Random.matrix::<T>(a_dims[0], a_dims[1], 1);
                let b = Kind::Random.matrix::<T>(b_dims[0], b_dims[1], 2);
                let dout = Kind::Random.matrix::<T>(m, n, 3);
                let mut results = [m * k, k * n, m * n].map(|len| vec![T::round(Complex::ZERO); len]);
                let [da, db, dc] = &mut results;
                call("blas_gemm_vjp")
                    .operand(&rows::<T>(&a), &a_dims)
                    .operand(&rows::<T>(&b), &b_dims)
                    .operand(&rows::<T>(&dout), &[m, n])
                    .result(da, &a_dims)
                    .result(db, &b_dims)
                    .result(dc, &[m, n])
                    .attr("alpha", alpha)
                    .attr("beta", beta)
                    .attr("transpose_a", form_a)
                    .attr("transpose_b", form_b)
                    .run()
                    .unwrap();
                let pairing = |x: &Matrix, y: &Matrix| -> f64 {
                    x.entries.iter().zip(&y.entries).map(|(x, y)| (x * y).re).sum()
                };
                let [da, db, dc] = results;
                for (direction, found, tangent) in [
                    (
                        Kind::Random.matrix::<T>(a_dims[0], a_dims[1], 7),
                        of_rows(a_dims[0], a_dims[1], &da),
                        0,
                    ),
                    (
                        Kind::Random.matrix::<T>(b_dims[0], b_dims[1], 8),
                        of_rows(b_dims[0], b_dims[1], &db),
                        1,
                    ),
                    (Kind::Random.matrix::<T>(m, n, 9), of_rows(m, n, &dc), 2),
                ] {
                    let change = match tangent {
                        0 => in_form(&direction, form_a).times(&in_form(&b, form_b)).scaled(alpha),
                        1 => in_form(&a, form_a).times(&in_form(&direction, form_b)).scaled(alpha),
                        _ => direction.scaled(beta),
                    };
                    let (expected, found) = (pairing(&change, &dout), pairing(&direction, &found));
                    let what = format!("{} {form_a} {form_b} {tangent}", T::LETTER);
                    assert!(
                        (expected - found).abs() <= 1e4 * T::EPSILON,
                        "{what}: {found} is not {expected}"
                    );
                }
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn vectors_are_multiplied() {
    fn check<T: Number>() {
        for [m, k] in [[1, 1], [3, 4], [50, 20], [3, 0]] {
            for form in FORMS {
                let dims = stored([m, k], form);
                let a = Kind::Random.matrix::<T>(dims[0], dims[1], 1);
                let (x, y) = (Kind::Random.matrix::<T>(k, 1, 2), Kind::Random.matrix::<T>(m, 1, 3));
                let mut out = y.round::<T>();
                call("blas_gemv")
                    .operand(&rows::<T>(&a), &dims)
                    .operand(&x.round::<T>(), &[k])
                    .in_place(&mut out, &[m])
                    .attr("alpha", 2.0)
                    .attr("beta", 0.5)
                    .attr("transpose_a", form)
                    .run()
                    .unwrap();
                let expected = plus(&in_form(&a, form).times(&x).scaled(2.0), &y.scaled(0.5));
                assert_close::<T>(&Matrix::of(m, 1, &out), &expected, form);
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn updates_change_one_triangle() {
    fn check<T: Number>() {
        for [n, k] in [[1, 1], [3, 4], [40, 20], [3, 0]] {
            for (name, form) in [("blas_syrk", "transpose"), ("blas_herk", "adjoint")] {
                for lower in [true, false] {
                    for transpose in [true, false] {
                        let dims = if transpose { [k, n] } else { [n, k] };
                        let a = Kind::Random.matrix::<T>(dims[0], dims[1], 1);
                        let c = Kind::Random.positive::<T>(n, 2);
                        let mut out = rows::<T>(&c);
                        call(name)
                            .operand(&rows::<T>(&a), &dims)
                            .in_place(&mut out, &[n, n])
                            .attr("alpha", 2.0)
                            .attr("beta", 0.5)
                            .attr("lower", lower)
                            .attr("transpose", transpose)
                            .run()
                            .unwrap();
                        let operator = if transpose { in_form(&a, form) } else { a };
                        let product = operator.times(&in_form(&operator, form)).scaled(2.0);
                        let all = plus(&product, &c.scaled(0.5));
                        let expected =
                            c.map(|i, j, c| if (i >= j) == lower || i == j { all[(i, j)] } else { c });
                        assert_close::<T>(&of_rows(n, n, &out), &expected, name);
                    }
                }
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn triangular_products_and_solutions_are_inverse() {
    fn check<T: Number>() {
        for [m, n] in [[1, 1], [3, 5], [40, 7], [7, 70], [100, 33]] {
            for flags in 0..8 {
                for form in FORMS {
                    let [left, lower, unit] = [1, 2, 4].map(|bit| flags & bit != 0);
                    let order = if left { m } else { n };
                    let a = Kind::Random.matrix::<T>(order, order, 1).scaled(1.0 / order as f64);
                    let a = a.map(|i, j, x| if i == j { x + 2.0 } else { x }).rounded::<T>();
                    let b = Kind::Random.matrix::<T>(m, n, 2);
                    let mut out = rows::<T>(&b);
                    let mut run = |name, alpha: f64| {
                        call(name)
                            .operand(&rows::<T>(&a), &[order, order])
                            .in_place(&mut out, &[m, n])
                            .attr("alpha", alpha)
                            .attr("left", left)
                            .attr("lower", lower)
                            .attr("transpose_a", form)
                            .attr("unit_diagonal", unit)
                            .run()
                            .unwrap();
                        of_rows(m, n, &out)
                    };
                    let product = run("blas_trmm", 2.0);
                    let triangle = if lower { a.lower() } else { a.upper() };
                    let triangle = in_form(&if unit { triangle.unit() } else { triangle }, form);
                    let expected = if left { triangle.times(&b) } else { b.times(&triangle) };
                    let what = format!("{} {m}×{n} {left} {lower} {unit} {form}", T::LETTER);
                    assert_close::<T>(&product, &expected.scaled(2.0), &what);
                    assert_close::<T>(&run("blas_trsm", 0.5), &b, &what);
                }
            }
        }
    }
    for_each_type!(check);
}

#[test]
fn mistakes_are_reported() {
    let (a, b, mut c) = ([0f32; 6], [0f32; 6], [0f32; 4]);
    let result = gemm(call("blas_gemm").operand(&a, &[2, 3]).operand(&b, &[2, 3]).in_place(&mut c, &[2, 2]));
    let message = result.unwrap_err().message().to_owned();
    let expected = "op(a) is 2×3, op(b) is 2×3, and c is 2×2, which do not fit";
    assert!(message.contains(expected), "{message}");
}
