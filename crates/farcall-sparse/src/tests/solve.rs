//! Triangular systems.

use farcall_ffi::testing::Call;

use super::{Matrix, Numbers, message, unwritten};
use crate::solve::*;

/// Flags of a system: lower, unit diagonal, transpose.
type Flags = [bool; 3];

struct System {
    columns: Vec<i32>,
    starts: Vec<i32>,
    flags: Flags,
    n: usize,
}

macro_rules! run {
    ($op:ident, $system:expr, [$($operand:expr),*], [$($result:expr),*]) => {{
        let (system, e, s) = (&$system, $system.columns.len(), $system.starts.len());
        let dims = |len: usize| if len == e { vec![e] } else { vec![s - 1, system.n] };
        let mut operands = [$(&$operand[..]),*].into_iter();
        let call = Call::to::<$op>();
        let a: &[f64] = operands.next().unwrap();
        let call = call.operand(a, &[e]).operand(&system.columns, &[e]).operand(&system.starts, &[s]);
        let call = operands.fold(call, |call, x| call.operand(x, &dims(x.len())));
        let [lower, unit, transpose] = system.flags;
        let call = call.attr("lower", lower).attr("unit_diagonal", unit).attr("transpose", transpose);
        $(let len = $result.len(); let call = call.result(&mut $result, &dims(len));)*
        call.run().unwrap();
    }};
}

/// Returns a random system with a diagonal of 4, and its values.
fn random(numbers: &mut Numbers, rows: usize, flags: Flags, n: usize) -> (System, Vec<f64>) {
    let mut matrix = Matrix::random(numbers, [rows, rows], 3 * rows);
    matrix.entries.retain(|[row, column]| row != column);
    matrix.entries.extend((0..rows).map(|row| [row, row]));
    matrix.entries.sort_by_key(|[row, _]| *row);
    let (columns, starts) = matrix.compressed::<i32>();
    let mut a: Vec<f64> = numbers.numbers(columns.len());
    matrix.terms().iter().filter(|[_, row, column]| row == column).for_each(|[at, ..]| a[*at] = 4.0);
    (System { columns, starts, flags, n }, a)
}

/// Returns the product of the system's matrix with values `a`, and `x`.
fn product(system: &System, a: &[f64], x: &[f64], with_unit: bool) -> Vec<f64> {
    let ([lower, unit, transpose], n) = (system.flags, system.n);
    let mut y = if unit && with_unit { x.to_vec() } else { vec![0.0; x.len()] };
    for row in 0..system.starts.len() - 1 {
        let entries = system.starts[row] as usize..system.starts[row + 1] as usize;
        for (column, value) in system.columns[entries.clone()].iter().zip(&a[entries]) {
            let column = *column as usize;
            let is_inside = if lower { column < row } else { column > row };
            if is_inside || (row == column && !unit) {
                let (to, from) = if transpose { (column, row) } else { (row, column) };
                (0..n).for_each(|j| y[to * n + j] += value * x[from * n + j]);
            }
        }
    }
    y
}

fn assert_close(found: &[f64], expected: &[f64]) {
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{i}: {found} is not {expected}");
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn all_flags() -> impl Iterator<Item = Flags> {
    (0..8).map(|bits| [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0])
}

#[test]
fn solutions_and_first_derivatives() {
    let numbers = &mut Numbers::new(3);
    for (flags, rows, n) in all_flags().flat_map(|flags| [(flags, 6, 1), (flags, 9, 3), (flags, 0, 2)]) {
        let (system, a) = random(numbers, rows, flags, n);
        let b: Vec<f64> = numbers.numbers(rows * n);
        let mut x = unwritten::<f64>(rows * n);
        run!(csr_triangular_solve, system, [a, b], [x]);
        assert_close(&product(&system, &a, &x, true), &b);

        let (da, db): (Vec<f64>, Vec<f64>) = (numbers.numbers(a.len()), numbers.numbers(b.len()));
        let mut dx = unwritten::<f64>(rows * n);
        run!(csr_triangular_solve_jvp, system, [a, x, da, db], [dx]);
        let sum = product(&system, &a, &dx, true);
        let rest: Vec<f64> = sum.iter().zip(product(&system, &da, &x, false)).map(|(x, y)| x + y).collect();
        assert_close(&rest, &db);

        let cotangent: Vec<f64> = numbers.numbers(rows * n);
        let (mut ca, mut cb) = (unwritten::<f64>(a.len()), unwritten::<f64>(b.len()));
        run!(csr_triangular_solve_bwd, system, [a, x, cotangent], [ca, cb]);
        assert_close(&[dot(&ca, &da) + dot(&cb, &db)], &[dot(&cotangent, &dx)]);
    }
}

#[test]
fn second_derivatives() {
    let numbers = &mut Numbers::new(4);
    for flags in all_flags() {
        let (system, a) = random(numbers, 7, flags, 2);
        let [x, dx, tx, tdx]: [Vec<f64>; 4] = [(); 4].map(|()| numbers.numbers(14));
        let ta: Vec<f64> = numbers.numbers(a.len());
        let (mut da, mut db) = (unwritten::<f64>(a.len()), unwritten::<f64>(14));
        run!(csr_triangular_solve_bwd, system, [a, x, dx], [da, db]);
        let (mut tda, mut tdb) = (unwritten::<f64>(a.len()), unwritten::<f64>(14));
        run!(csr_triangular_solve_bwd_jvp, system, [a, x, db, ta, tx, tdx], [tda, tdb]);

        let step = 1e-6;
        let moved =
            |x: &[f64], t: &[f64], by: f64| x.iter().zip(t).map(|(x, t)| x + by * t).collect::<Vec<_>>();
        let mut at = [(); 2].map(|()| (unwritten::<f64>(a.len()), unwritten::<f64>(14)));
        for (by, (da, db)) in [step, -step].into_iter().zip(&mut at) {
            let (a, x, dx) = (moved(&a, &ta, by), moved(&x, &tx, by), moved(&dx, &tdx, by));
            run!(csr_triangular_solve_bwd, system, [a, x, dx], [*da, *db]);
        }
        let slope =
            |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y) / (2.0 * step)).collect::<Vec<_>>();
        let near = |found: &[f64], expected: &[f64]| {
            found
                .iter()
                .zip(expected)
                .for_each(|(x, y)| assert!((x - y).abs() < 1e-5 * (1.0 + y.abs()), "{x} {y}"));
        };
        near(&tda, &slope(&at[0].0, &at[1].0));
        near(&tdb, &slope(&at[0].1, &at[1].1));

        // The reverse derivative is the transpose of the forward derivative.
        let (dda, ddb): (Vec<f64>, Vec<f64>) = (numbers.numbers(a.len()), numbers.numbers(14));
        let (mut ca, mut cx, mut cdx) =
            (unwritten::<f64>(a.len()), unwritten::<f64>(14), unwritten::<f64>(14));
        run!(csr_triangular_solve_bwd_bwd, system, [a, x, db, dda, ddb], [ca, cx, cdx]);
        let (left, right) =
            (dot(&dda, &tda) + dot(&ddb, &tdb), dot(&ca, &ta) + dot(&cx, &tx) + dot(&cdx, &tdx));
        assert_close(&[left], &[right]);
    }
}

#[test]
fn singular_and_malformed_systems() {
    let system = System { columns: vec![0], starts: vec![0, 1, 1], flags: [true, false, false], n: 1 };
    let mut x = [7.0f64; 2];
    run!(csr_triangular_solve, system, [[0.0], [0.0, 2.0]], [x]);
    assert!(x[0].is_nan() && x[1] == f64::INFINITY);
    let call = Call::to::<csr_triangular_solve>().operand(&[1.0f64], &[1]).operand(&[2i32], &[1]);
    let call = call.operand(&[0i32, 1, 1], &[3]).operand(&[1.0f64, 1.0], &[2, 1]).attr("lower", true);
    let call = call.attr("unit_diagonal", false).attr("transpose", false).result(&mut x, &[2, 1]);
    let expected = "csr_triangular_solve: columns[0] is 2, but must be from 0 to below 2";
    assert_eq!(message(call.run()), expected);
}
