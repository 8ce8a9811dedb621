use farcall_ffi::Complex;

use super::{Matrix, read};

fn entries(text: &str) -> Vec<(usize, usize, f64, f64)> {
    let matrix = read(text.as_bytes()).unwrap();
    matrix.entries.iter().map(|(row, column, value)| (*row, *column, value.re, value.im)).collect()
}

#[test]
fn coordinates() {
    let text = "%%MatrixMarket matrix coordinate real general\n% comment\n\n2 3 2\n1 3 -1.5e1\n 2  1 4\n";
    let entries = vec![(0, 2, Complex::new(-15.0, 0.0)), (1, 0, Complex::new(4.0, 0.0))];
    let expected = Matrix { rows: 2, columns: 3, is_complex: false, entries };
    assert_eq!(read(text.as_bytes()), Ok(expected));
}

#[test]
fn symmetries() {
    let header = "%%MatrixMarket MATRIX Coordinate";
    let symmetric = format!("{header} integer symmetric\n2 2 2\n1 1 3\n2 1 -4\n");
    assert_eq!(entries(&symmetric), [(0, 0, 3.0, 0.0), (1, 0, -4.0, 0.0), (0, 1, -4.0, 0.0)]);
    let skew = format!("{header} real skew-symmetric\n2 2 1\n2 1 2.5\n");
    assert_eq!(entries(&skew), [(1, 0, 2.5, 0.0), (0, 1, -2.5, 0.0)]);
    let hermitian = format!("{header} complex Hermitian\n2 2 2\n1 1 3 0\n2 1 1 2\n");
    assert_eq!(entries(&hermitian), [(0, 0, 3.0, 0.0), (1, 0, 1.0, 2.0), (0, 1, 1.0, -2.0)]);
    let pattern = format!("{header} pattern symmetric\n2 2 1\n2 1\n");
    assert_eq!(entries(&pattern), [(1, 0, 1.0, 0.0), (0, 1, 1.0, 0.0)]);
}

#[test]
fn arrays() {
    let general = "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n";
    assert_eq!(entries(general), [(0, 0, 1.0, 0.0), (1, 0, 2.0, 0.0), (0, 1, 3.0, 0.0), (1, 1, 4.0, 0.0)]);
    let symmetric = "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n";
    assert_eq!(entries(symmetric), [(0, 0, 1.0, 0.0), (1, 0, 2.0, 0.0), (0, 1, 2.0, 0.0), (1, 1, 3.0, 0.0)]);
    let skew = "%%MatrixMarket matrix array real skew-symmetric\n2 2\n7\n";
    assert_eq!(entries(skew), [(1, 0, 7.0, 0.0), (0, 1, -7.0, 0.0)]);
}

#[test]
fn errors_have_line_numbers() {
    let error = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    let general = "%%MatrixMarket matrix coordinate real general\n";
    assert_eq!(error(""), "line 1: the file is empty");
    assert_eq!(error("matrix"), "line 1: expected `%%MatrixMarket matrix FORMAT FIELD SYMMETRY`");
    assert_eq!(error(general), "line 2: the line with the sizes is missing");
    let sizes = format!("{general}%\n2 2\n");
    assert_eq!(error(&sizes), "line 3: expected the numbers of rows, columns and entries, found `2 2`");
    assert_eq!(error(&format!("{general}2 2 2\n1 1 1\n")), "line 4: the file ends after 1 of 2 entries");
    assert_eq!(error(&format!("{general}2 2 1\n3 1 1\n")), "line 3: the row must be from 1 to 2, but is `3`");
    assert_eq!(
        error(&format!("{general}2 2 1\n1 0 1\n")),
        "line 3: the column must be from 1 to 2, but is `0`"
    );
    assert_eq!(error(&format!("{general}2 2 1\n1 1 x\n")), "line 3: expected a number, found `x`");
    assert_eq!(
        error(&format!("{general}2 2 1\n1 1 1 2\n")),
        "line 3: expected the end of the line, found `2`"
    );
    assert_eq!(
        error(&format!("{general}2 2 0\n1 1 1\n")),
        "line 3: expected the end of the file, found `1 1 1`"
    );
    let integer = "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n";
    assert_eq!(error(integer), "line 3: expected an integer, found `1.5`");
    let symmetric = "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n";
    assert_eq!(error(symmetric), "line 3: a symmetric matrix lists its lower triangle only");
    let hermitian = "%%MatrixMarket matrix coordinate real hermitian\n";
    assert_eq!(error(hermitian), "line 1: a Hermitian matrix must be complex");
}
