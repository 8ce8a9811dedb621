//! Sample calls for tools that check the ops, since random index arrays are malformed.

use farcall_ffi::{Complex, Sample};

/// Row of each entry of the sample matrix, a matrix of 4 rows and 5 columns. Row 1 is empty, and an entry of
/// row 2 occurs twice.
const ROWS: [i64; 7] = [0, 0, 2, 2, 2, 3, 3];
/// Column of each entry of the sample matrix; those of row 3 are not in order.
const COLUMNS: [i64; 7] = [1, 4, 0, 3, 3, 4, 2];
/// Start of each row of the sample matrix.
const STARTS: [i64; 5] = [0, 2, 2, 5, 7];

/// Returns numbers between -1 and 1.
fn real(count: usize, seed: f64) -> Vec<f64> {
    (1..=count).map(|i| (i as f64 * 0.7 + seed).sin()).collect()
}

/// Returns complex numbers in the unit circle.
fn complex(count: usize, seed: f64) -> Vec<Complex<f64>> {
    real(count, seed).into_iter().map(|x| Complex::new(0.7 * x, 0.7 * (3.0 * x).cos())).collect()
}

/// Index arrays of the sample matrix as `i32`.
fn narrow(indices: &[i64]) -> Vec<i32> {
    indices.iter().map(|index| *index as i32).collect()
}

/// Returns a call with real numbers and a batch, and a call with complex numbers. `operands` lists the
/// operands in order: numbers of these dimensions, or indices. Attributes have a value in each call.
fn calls(operands: &[Operand<'_>], attrs: &[(&str, [i64; 2])]) -> Vec<Sample> {
    let (mut first, mut second) = (Sample::new(), Sample::new());
    for (i, operand) in operands.iter().enumerate() {
        match operand {
            Operand::Numbers(dims) => {
                let (len, seed) = (dims.iter().product::<usize>(), i as f64);
                let batched = [&[2], *dims].concat();
                first = first.operand(&real(2 * len, seed), &batched);
                second = second.operand(&complex(len, seed), dims);
            }
            Operand::Indices(indices) => {
                first = first.operand(&narrow(indices), &[indices.len()]);
                second = second.operand(indices, &[indices.len()]);
            }
        }
    }
    for (name, [value, other]) in attrs {
        (first, second) = (first.attr(name, *value), second.attr(name, *other));
    }
    vec![first, second]
}

/// An operand of a sample.
enum Operand<'a> {
    /// Numbers of these dimensions.
    Numbers(&'a [usize]),
    Indices(&'a [i64]),
}
use Operand::{Indices, Numbers};

pub(crate) fn csr_matmul() -> Vec<Sample> {
    calls(&[Numbers(&[7]), Indices(&COLUMNS), Indices(&STARTS), Numbers(&[5, 3])], &[])
}

pub(crate) fn csr_matvec() -> Vec<Sample> {
    calls(&[Numbers(&[7]), Indices(&COLUMNS), Indices(&STARTS), Numbers(&[5])], &[])
}

pub(crate) fn csr_sddmm() -> Vec<Sample> {
    calls(&[Numbers(&[4, 3]), Indices(&COLUMNS), Indices(&STARTS), Numbers(&[5, 3])], &[])
}

/// Block column of each block of the sample matrix in BSR, a matrix of 3×2 blocks.
const BLOCK_COLUMNS: [i64; 4] = [1, 0, 0, 1];
/// Start of each row of blocks.
const BLOCK_STARTS: [i64; 4] = [0, 1, 1, 4];

pub(crate) fn csc_matmul() -> Vec<Sample> {
    calls(&[Numbers(&[7]), Indices(&COLUMNS), Indices(&STARTS), Numbers(&[4, 3])], &[("m", [5, 6])])
}

pub(crate) fn csc_matvec() -> Vec<Sample> {
    calls(&[Numbers(&[7]), Indices(&COLUMNS), Indices(&STARTS), Numbers(&[4])], &[("m", [5, 6])])
}

pub(crate) fn sparse_matmul() -> Vec<Sample> {
    calls(&[Numbers(&[7]), Indices(&ROWS), Indices(&COLUMNS), Numbers(&[5, 3])], &[("m", [4, 5])])
}

pub(crate) fn coo_matvec() -> Vec<Sample> {
    calls(&[Numbers(&[7]), Indices(&ROWS), Indices(&COLUMNS), Numbers(&[5])], &[("m", [4, 5])])
}

pub(crate) fn bsr_matmul() -> Vec<Sample> {
    calls(&[Numbers(&[4, 2, 3]), Indices(&BLOCK_COLUMNS), Indices(&BLOCK_STARTS), Numbers(&[6, 3])], &[])
}

pub(crate) fn bsr_matvec() -> Vec<Sample> {
    calls(&[Numbers(&[4, 2, 2]), Indices(&BLOCK_COLUMNS), Indices(&BLOCK_STARTS), Numbers(&[4])], &[])
}

pub(crate) fn dense_csr_matmul() -> Vec<Sample> {
    calls(&[Numbers(&[3, 4]), Numbers(&[7]), Indices(&COLUMNS), Indices(&STARTS)], &[("k", [5, 6])])
}

pub(crate) fn dense_csc_matmul() -> Vec<Sample> {
    calls(&[Numbers(&[3, 5]), Numbers(&[7]), Indices(&COLUMNS), Indices(&STARTS)], &[])
}

pub(crate) fn dense_coo_matmul() -> Vec<Sample> {
    calls(&[Numbers(&[3, 4]), Numbers(&[7]), Indices(&ROWS), Indices(&COLUMNS)], &[("k", [5, 6])])
}

pub(crate) fn dense_bsr_matmul() -> Vec<Sample> {
    calls(
        &[Numbers(&[3, 6]), Numbers(&[4, 2, 3]), Indices(&BLOCK_COLUMNS), Indices(&BLOCK_STARTS)],
        &[("k", [6, 9])],
    )
}

pub(crate) fn csr_sparse_dense() -> Vec<Sample> {
    let call = || {
        let data = Sample::new().operand(&real(7, 0.0), &[7]);
        data.operand(&narrow(&STARTS), &[5]).operand(&narrow(&COLUMNS), &[7])
    };
    vec![call().operand(&real(15, 1.0), &[5, 3]), call().operand(&real(5, 2.0), &[5])]
}

pub(crate) fn csr_values() -> Vec<Sample> {
    calls(&[Numbers(&[7]), Indices(&COLUMNS), Indices(&STARTS)], &[])
}

pub(crate) fn csr_rows() -> Vec<Sample> {
    calls(&[Numbers(&[4]), Indices(&COLUMNS), Indices(&STARTS)], &[])
}

pub(crate) fn csr_to_dense() -> Vec<Sample> {
    calls(&[Numbers(&[7]), Indices(&COLUMNS), Indices(&STARTS)], &[("k", [5, 6])])
}

pub(crate) fn csr_from_dense() -> Vec<Sample> {
    let call = |k: usize| {
        let dense = Sample::new().operand(&real(4 * k, 0.1), &[4, k]);
        dense.operand(&COLUMNS, &[7]).operand(&STARTS, &[5]).attr("k", k as i64)
    };
    vec![call(5), call(6)]
}

pub(crate) fn csr_to_csc_pattern() -> Vec<Sample> {
    calls(&[Indices(&COLUMNS), Indices(&STARTS)], &[("k", [5, 6])])
}

pub(crate) fn coo_to_csr_pattern() -> Vec<Sample> {
    calls(&[Indices(&ROWS), Indices(&COLUMNS)], &[("m", [4, 5])])
}

pub(crate) fn csr_to_coo_pattern() -> Vec<Sample> {
    calls(&[Indices(&COLUMNS), Indices(&STARTS)], &[])
}

pub(crate) fn bsr_to_csr_pattern() -> Vec<Sample> {
    calls(&[Indices(&BLOCK_COLUMNS), Indices(&BLOCK_STARTS)], &[("p", [2, 3]), ("q", [3, 4])])
}

pub(crate) fn dense_to_csr_pattern() -> Vec<Sample> {
    let call = || Sample::new().operand(&[1.0, 0.0, 2.0, 0.0, 0.0, 3.0], &[2, 3]);
    vec![call().attr("entries", 4i64), call().attr("entries", 3i64)]
}

pub(crate) fn permute() -> Vec<Sample> {
    calls(&[Numbers(&[5]), Indices(&[3, 0, 4, 1, 2])], &[])
}

pub(crate) fn csr_triangular_solve() -> Vec<Sample> {
    // The sample matrix of the other ops has no diagonal.
    let (columns, starts) = ([0, 0, 1, 3, 0, 2, 1, 3], [0, 1, 4, 6, 8]);
    let a: Vec<f64> = vec![2.0, 0.5, 3.0, 9.0, -0.7, 1.5, 0.3, -2.0];
    let call = || Sample::new().operand(&a, &[8]);
    let indices = |call: Sample| call.operand(&narrow(&columns), &[8]).operand(&narrow(&starts), &[5]);
    let b = |call: Sample| indices(call).operand(&real(12, 0.3), &[4, 3]);
    let batched = indices(Sample::new().operand(&[&a[..], &a[..]].concat(), &[2, 8]));
    vec![
        b(call()),
        b(call()).attr("lower", false),
        b(call()).attr("transpose", true),
        batched.operand(&real(24, 0.3), &[2, 4, 3]).attr("unit_diagonal", true),
    ]
}

pub(crate) fn csr_add() -> Vec<Sample> {
    let (columns, starts) = ([1, 4, 0, 3, 2, 4, 1], [0, 2, 3, 5, 7]);
    let (a_columns, a_starts) = ([1, 0, 2, 4, 1], [0, 1, 2, 3, 5]);
    let (b_columns, b_starts) = ([4, 0, 3], [0, 1, 2, 3, 3]);
    let a = [Numbers(&[5]), Indices(&a_columns), Indices(&a_starts)];
    let [a, a_columns, a_starts] = a;
    let (b, b_columns, b_starts) = (Numbers(&[3]), Indices(&b_columns), Indices(&b_starts));
    let operands = [a, a_columns, a_starts, b, b_columns, b_starts, Indices(&columns), Indices(&starts)];
    calls(&operands, &[("k", [5, 6])])
}

pub(crate) fn csr_add_pattern() -> Vec<Sample> {
    let (b_columns, b_starts) = ([4, 0, 3], [0, 1, 2, 3, 3]);
    let operands = [Indices(&COLUMNS), Indices(&STARTS), Indices(&b_columns), Indices(&b_starts)];
    calls(&operands, &[("k", [5, 6]), ("entries", [10, 11])])
}

pub(crate) fn csr_csr_matmul_pattern() -> Vec<Sample> {
    let (b_columns, b_starts) = ([2, 0, 1, 1, 2], [0, 1, 2, 3, 4, 5]);
    let operands = [Indices(&COLUMNS), Indices(&STARTS), Indices(&b_columns), Indices(&b_starts)];
    calls(&operands, &[("k", [3, 4]), ("entries", [12, 13])])
}

pub(crate) fn csr_csr_matmul() -> Vec<Sample> {
    let (b_columns, b_starts) = ([2, 0, 1, 1, 2], [0, 1, 2, 3, 4, 5]);
    let (columns, starts) = ([0, 2, 1, 2, 1, 2], [0, 2, 3, 4, 6]);
    let a = [Numbers(&[7]), Indices(&COLUMNS), Indices(&STARTS)];
    let [a, a_columns, a_starts] = a;
    let (b, b_columns, b_starts) = (Numbers(&[5]), Indices(&b_columns), Indices(&b_starts));
    let operands = [a, a_columns, a_starts, b, b_columns, b_starts, Indices(&columns), Indices(&starts)];
    calls(&operands, &[("k", [3, 4])])
}
