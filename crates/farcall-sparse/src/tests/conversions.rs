//! Conversions between formats, and sums and diagonals of rows.

use farcall_ffi::testing::Call;

use super::{Matrix, Numbers, message, unwritten};
use crate::convert::*;
use crate::reduce::*;

/// Returns `[row, column, position of the value]` of each entry of a compressed matrix, sorted.
fn entries(columns: &[i32], starts: &[i32], order: &[i32], is_transposed: bool) -> Vec<[i32; 3]> {
    let rows = (0..starts.len() - 1).flat_map(|row| (starts[row]..starts[row + 1]).map(move |at| (row, at)));
    let entry = |(row, at): (usize, i32)| {
        let (row, column, value) = (row as i32, columns[at as usize], order[at as usize]);
        if is_transposed { [column, row, value] } else { [row, column, value] }
    };
    let mut entries: Vec<_> = rows.map(entry).collect();
    entries.sort_unstable();
    entries
}

fn identity(len: usize) -> Vec<i32> {
    (0..len as i32).collect()
}

#[test]
fn csr_to_csc_and_coo() {
    for (shape, count) in [([5, 4], 12), ([4, 7], 0), ([3, 3], 40)] {
        let matrix = Matrix::random(&mut Numbers::new(count as u64), shape, count);
        let (columns, starts) = matrix.compressed::<i32>();
        let e = columns.len();
        let (mut order, mut rows, mut column_starts) = (vec![-1; e], vec![-1; e], vec![-1; shape[1] + 1]);
        let call = Call::to::<csr_to_csc_pattern>().operand(&columns, &[e]).operand(&starts, &[starts.len()]);
        let call = call.attr("k", shape[1] as i64).result(&mut order, &[e]).result(&mut rows, &[e]);
        call.result(&mut column_starts, &[shape[1] + 1]).run().unwrap();
        let expected = entries(&columns, &starts, &identity(e), false);
        assert_eq!(entries(&rows, &column_starts, &order, true), expected);
        for column in column_starts.windows(2) {
            assert!(rows[column[0] as usize..column[1] as usize].is_sorted());
        }
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, identity(e));

        let mut found = vec![-1; e];
        let call = Call::to::<csr_to_coo_pattern>().operand(&columns, &[e]).operand(&starts, &[starts.len()]);
        call.result(&mut found, &[e]).run().unwrap();
        let own = &found[1..e - 1];
        assert_eq!(own, matrix.entries.iter().map(|[row, _]| *row as i32).collect::<Vec<_>>());
        assert_eq!([found[0], found[e - 1]], [shape[0] as i32; 2]);

        let (own_rows, own_columns, e) = (own.to_vec(), columns[1..e - 1].to_vec(), e - 2);
        let (mut order, mut csr_columns, mut starts) = (vec![-1; e], vec![-1; e], vec![-1; shape[0] + 1]);
        let call = Call::to::<coo_to_csr_pattern>().operand(&own_rows, &[e]).operand(&own_columns, &[e]);
        let call = call.attr("m", shape[0] as i64).result(&mut order, &[e]).result(&mut csr_columns, &[e]);
        call.result(&mut starts, &[shape[0] + 1]).run().unwrap();
        assert_eq!((order, csr_columns), (identity(e), own_columns));
    }
}

#[test]
fn blocks_to_csr() {
    let (mut order, mut columns, mut starts) = ([-1i64; 12], [-1i64; 12], [-1i64; 5]);
    let call = Call::to::<bsr_to_csr_pattern>().operand(&[1i64, 0], &[2]).operand(&[0i64, 1, 2], &[3]);
    let call = call.attr("p", 2i64).attr("q", 3i64).result(&mut order, &[12]).result(&mut columns, &[12]);
    call.result(&mut starts, &[5]).run().unwrap();
    assert_eq!(starts, [0, 3, 6, 9, 12]);
    assert_eq!(columns, [3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2]);
    assert_eq!(order.to_vec(), (0..12).collect::<Vec<_>>());
}

#[test]
fn patterns_of_dense_matrices() {
    let dense = [0.0f32, 2.0, 0.0, 0.0, 0.0, -1.0];
    let (mut columns, mut starts) = ([-1i32; 3], [-1i32; 3]);
    let call = Call::to::<dense_to_csr_pattern>().operand(&dense, &[2, 3]).attr("entries", 3i64);
    call.result(&mut columns, &[3]).result(&mut starts, &[3]).run().unwrap();
    assert_eq!((columns, starts), ([1, 2, 0], [0, 1, 2]));
    let call = Call::to::<dense_to_csr_pattern>().operand(&dense, &[2, 3]).attr("entries", 1i64);
    let error = message(call.result(&mut columns[..1], &[1]).result(&mut starts, &[3]).run());
    assert_eq!(error, "dense_to_csr_pattern: the matrix has 2 nonzero elements, but entries = 1");
}

#[test]
fn permutations() {
    let (a, order) = ([1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0], [2i32, 0, 1]);
    let mut values = unwritten::<f64>(6);
    let call = Call::to::<sparse_permute>().operand(&a, &[2, 3]).operand(&order, &[3]);
    call.result(&mut values, &[2, 3]).run().unwrap();
    assert_eq!(values, [3.0, 1.0, 2.0, 6.0, 4.0, 5.0]);
    let mut back = unwritten::<f64>(6);
    let call = Call::to::<sparse_unpermute>().operand(&values, &[2, 3]).operand(&order, &[3]);
    call.result(&mut back, &[2, 3]).run().unwrap();
    assert_eq!(back, a);
    let call = Call::to::<sparse_permute>().operand(&a, &[2, 3]).operand(&[2i32, 0, 2], &[3]);
    let error = message(call.result(&mut values, &[2, 3]).run());
    assert_eq!(error, "sparse_permute: order[2] is 2, which occurs before");
    let call = Call::to::<sparse_permute>().operand(&a, &[2, 3]).operand(&[2i32, 0, 3], &[3]);
    let error = message(call.result(&mut values, &[2, 3]).run());
    assert_eq!(error, "sparse_permute: order[2] is 3, but must be from 0 to below 3");
}

/// Each of these ops is the derivative of a form of values and dense elements.
#[test]
fn diagonals_sums_and_dense_matrices() {
    for (shape, count) in [([4, 4], 12), ([3, 5], 4), ([2000, 30], 9000)] {
        let mut numbers = Numbers::new(9);
        let matrix = Matrix::random(&mut numbers, shape, count);
        let (columns, starts) = matrix.compressed::<i32>();
        let ([m, k], e, s) = (shape, columns.len(), starts.len());
        let a: Vec<f64> = numbers.numbers(2 * e);
        let [mut diagonal, mut sums] = [(); 2].map(|()| vec![0.0; 2 * m]);
        let mut dense = vec![0.0; 2 * m * k];
        for batch in 0..2 {
            for [at, row, column] in matrix.terms() {
                let value = a[batch * e + at];
                dense[(batch * m + row) * k + column] += value;
                sums[batch * m + row] += value;
                diagonal[batch * m + row] += if row == column { value } else { 0.0 };
            }
        }
        let [mut rows, mut elements] = [unwritten::<f64>(2 * m), unwritten(2 * m * k)];
        let call =
            Call::to::<csr_diagonal>().operand(&a, &[2, e]).operand(&columns, &[e]).operand(&starts, &[s]);
        // Columns are not limited by the number of rows.
        call.result(&mut rows, &[2, m]).run().unwrap();
        assert_eq!(rows, diagonal);
        let call =
            Call::to::<csr_row_sums>().operand(&a, &[2, e]).operand(&columns, &[e]).operand(&starts, &[s]);
        call.result(&mut rows, &[2, m]).run().unwrap();
        assert_eq!(rows, sums);
        let call =
            Call::to::<csr_to_dense>().operand(&a, &[2, e]).operand(&columns, &[e]).operand(&starts, &[s]);
        call.attr("k", k as i64).result(&mut elements, &[2, m, k]).run().unwrap();
        assert_eq!(elements, dense);

        let [x, y]: [Vec<f64>; 2] = [numbers.numbers(2 * m), numbers.numbers(2 * m * k)];
        let mut values = unwritten::<f64>(2 * e);
        let (mut by_diagonal, mut by_row, mut by_element) =
            (vec![0.0; 2 * e], vec![0.0; 2 * e], vec![0.0; 2 * e]);
        for batch in 0..2 {
            for [at, row, column] in matrix.terms() {
                by_row[batch * e + at] = x[batch * m + row];
                by_element[batch * e + at] = y[(batch * m + row) * k + column];
                by_diagonal[batch * e + at] = if row == column { x[batch * m + row] } else { 0.0 };
            }
        }
        let call = Call::to::<csr_from_diagonal>().operand(&x, &[2, m]).operand(&columns, &[e]);
        call.operand(&starts, &[s]).result(&mut values, &[2, e]).run().unwrap();
        assert_eq!(values, by_diagonal);
        let call = Call::to::<csr_from_row_sums>().operand(&x, &[2, m]).operand(&columns, &[e]);
        call.operand(&starts, &[s]).result(&mut values, &[2, e]).run().unwrap();
        assert_eq!(values, by_row);
        let call = Call::to::<csr_from_dense>().operand(&y, &[2, m, k]).operand(&columns, &[e]);
        call.operand(&starts, &[s]).attr("k", k as i64).result(&mut values, &[2, e]).run().unwrap();
        assert_eq!(values, by_element);
    }
}
