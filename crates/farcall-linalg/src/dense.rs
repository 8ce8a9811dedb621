//! Single matrices: row-major in buffers, `faer` matrices for arithmetic.

use faer::Mat;

use crate::number::Number;

/// Reads a row-major matrix with `columns` columns, and converts it to the type for arithmetic.
pub(crate) fn read<T: Number>(matrix: &[T], rows: usize, columns: usize) -> Mat<T::Real> {
    Mat::from_fn(rows, columns, |i, j| matrix[i * columns + j].widen())
}

/// Writes a row-major matrix with `columns` columns.
pub(crate) fn write<T>(matrix: &mut [T], columns: usize, entry: impl Fn(usize, usize) -> T) {
    for (i, row) in matrix.chunks_exact_mut(columns.max(1)).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, out)| *out = entry(i, j));
    }
}

/// Transposes a row-major matrix with `columns` columns.
pub(crate) fn transpose<T: Copy>(to: &mut [T], from: &[T], columns: usize) {
    if columns == 0 {
        return;
    }
    let rows = from.len() / columns;
    for (j, to) in to.chunks_exact_mut(rows.max(1)).enumerate() {
        to.iter_mut().enumerate().for_each(|(i, to)| *to = from[i * columns + j]);
    }
}
