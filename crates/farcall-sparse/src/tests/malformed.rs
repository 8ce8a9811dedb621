//! Errors about malformed index arrays.

use farcall_ffi::testing::Call;

use super::message;
use crate::products::{bsr_matvec, csc_matmul, csr_matmul, csr_matvec, csr_sddmm, sparse_matmul};

/// Makes the products of a CSR matrix of 3 rows, 4 entries and 3 columns, and returns their common error.
fn csr(columns: [i32; 4], starts: [i32; 4]) -> String {
    let (a, x) = ([1.0f64; 4], [1.0f64; 6]);
    let (mut vector, mut matrix, mut transposed, mut values) =
        ([0.0f64; 3], [0.0f64; 6], [0.0f64; 6], [0.0f64; 4]);
    let call = Call::to::<csr_matvec::op>().operand(&a, &[4]).operand(&columns, &[4]).operand(&starts, &[4]);
    let first = message(call.operand(&x[..3], &[3]).result(&mut vector, &[3]).run());
    let call = Call::to::<csr_matmul::op>().operand(&a, &[4]).operand(&columns, &[4]).operand(&starts, &[4]);
    let second = message(call.operand(&x, &[3, 2]).result(&mut matrix, &[3, 2]).run());
    let call = Call::to::<csc_matmul::op>().operand(&a, &[4]).operand(&columns, &[4]).operand(&starts, &[4]);
    let call = call.operand(&x, &[3, 2]).attr("m", 3i64);
    let third = message(call.result(&mut transposed, &[3, 2]).run());
    let call =
        Call::to::<csr_sddmm::op>().operand(&x, &[3, 2]).operand(&columns, &[4]).operand(&starts, &[4]);
    let fourth = message(call.operand(&x, &[3, 2]).result(&mut values, &[4]).run());
    let own = |text: &str| {
        text.split_once(": ").map(|(_, own)| own.replace("rows[", "columns[")).unwrap_or_default()
    };
    let found = own(&first);
    assert_eq!([own(&second), own(&third), own(&fourth)], [(); 3].map(|()| found.clone()));
    assert!(first.starts_with("csr_matvec: "), "{first}");
    found
}

#[test]
fn errors_name_the_entry() {
    let columns = [0, 1, 2, 0];
    assert_eq!(csr(columns, [0, 3, 2, 4]), "starts[2] is 2, which is less than starts[1] = 3");
    assert_eq!(csr(columns, [0, 2, 3, 5]), "starts[3] is 5, but the matrix has 4 entries");
    assert_eq!(csr(columns, [-1, 2, 3, 4]), "starts[0] is -1, but the matrix has 4 entries");
    assert_eq!(csr(columns, [0, -2, 3, 4]), "starts[1] is -2, but the matrix has 4 entries");
    assert_eq!(csr(columns, [i32::MIN; 4]), "starts[0] is -2147483648, but the matrix has 4 entries");
    assert_eq!(csr(columns, [9, 9, 9, 9]), "starts[0] is 9, but the matrix has 4 entries");
    assert_eq!(csr([0, 1, 3, 0], [0, 2, 3, 4]), "columns[2] is 3, but must be from 0 to below 3");
    assert_eq!(csr([0, -1, 2, 0], [0, 2, 3, 4]), "columns[1] is -1, but must be from 0 to below 3");
}

#[test]
fn coordinates_and_blocks() {
    let sparse = |rows: [i64; 2], columns: [i64; 2]| {
        let mut y = [0.0f32; 2];
        let call = Call::to::<sparse_matmul::op>().operand(&[1.0f32; 2], &[2]).operand(&rows, &[2]);
        let call = call.operand(&columns, &[2]).operand(&[1.0f32; 3], &[3, 1]).attr("m", 2i64);
        message(call.result(&mut y, &[2, 1]).run())
    };
    assert_eq!(sparse([0, 2], [0, 1]), "sparse_matmul: rows[1] is 2, but must be from 0 to below 2");
    assert_eq!(sparse([1, 0], [-5, 1]), "sparse_matmul: columns[0] is -5, but must be from 0 to below 3");
    let mut y = [0.0f32; 4];
    let call = Call::to::<bsr_matvec::op>().operand(&[1.0f32; 8], &[2, 2, 2]).operand(&[0i32, 3], &[2]);
    let call = call.operand(&[0i32, 1, 2], &[3]).operand(&[1.0f32; 6], &[6]).result(&mut y, &[4]);
    assert_eq!(message(call.run()), "bsr_matvec: columns[1] is 3, but must be from 0 to below 3");
}

#[test]
fn sizes_that_do_not_fit() {
    let mut y = [0.0f32; 2];
    let call = Call::to::<csr_matvec::op>().operand(&[1.0f32; 3], &[3]).operand(&[0i32; 2], &[2]);
    let call = call.operand(&[0i32, 1, 2], &[3]).operand(&[1.0f32; 3], &[3]).result(&mut y, &[2]);
    assert_eq!(message(call.run()), "csr_matvec: columns has 2 elements, but the matrix has 3 entries");
    let call = Call::to::<csr_matvec::op>().operand(&[1.0f32; 2], &[2]).operand(&[0i32; 2], &[2]);
    let call = call.operand(&[0i32, 1], &[2]).operand(&[1.0f32; 3], &[3]).result(&mut y, &[2]);
    assert_eq!(message(call.run()), "csr_matvec: starts has 2 elements, but the matrix has 2 rows");
    let call = Call::to::<csr_matvec::op>().operand(&[1.0f64; 2], &[2]).operand(&[0i32; 2], &[2]);
    let call = call.operand(&[0i32, 1, 2], &[3]).operand(&[1.0f64; 3], &[3]).result(&mut y, &[2]);
    assert_eq!(message(call.run()), "csr_matvec: a has elements of type f64, but y of type f32");
}
