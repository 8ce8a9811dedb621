//! Tables whose rows keep their address while the table grows.

use std::ops::{Index, IndexMut};

/// Rows per piece. A smaller table is one growing vector.
const PIECE_ROWS: usize = 128;
/// Initial capacity of the first piece, in rows.
const FIRST_PIECE_ROWS: usize = 8;

/// Rows by number, stored in pieces. A growing table neither copies its rows nor leaves ever larger freed
/// blocks behind; both would cost more than finding the piece of a row.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    /// All pieces except the last are full.
    pieces: Vec<Vec<T>>,
}

impl<T> Table<T> {
    pub(super) fn new() -> Table<T> {
        Table { pieces: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.pieces.last().map_or(0, |last| (self.pieces.len() - 1) * PIECE_ROWS + last.len())
    }

    /// Inlined so that the row is constructed in its final place.
    #[inline(always)]
    pub(super) fn push(&mut self, row: T) {
        match self.pieces.last_mut() {
            Some(last) if last.len() < PIECE_ROWS => last.push(row),
            full => {
                let mut piece =
                    Vec::with_capacity(if full.is_some() { PIECE_ROWS } else { FIRST_PIECE_ROWS });
                piece.push(row);
                self.pieces.push(piece);
            }
        }
    }

    /// Reserves capacity for `rows` rows, at most one piece, if the table is empty.
    pub(super) fn reserve(&mut self, rows: usize) {
        if self.pieces.is_empty() {
            self.pieces.push(Vec::with_capacity(rows.min(PIECE_ROWS)));
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pieces.iter_mut().flatten()
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline]
    fn index(&self, i: usize) -> &T {
        &self.pieces[i / PIECE_ROWS][i % PIECE_ROWS]
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline]
    fn index_mut(&mut self, i: usize) -> &mut T {
        &mut self.pieces[i / PIECE_ROWS][i % PIECE_ROWS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_number() {
        let mut table = Table::new();
        assert_eq!(table.len(), 0);
        for i in 0..3 * PIECE_ROWS + 1 {
            table.push(i);
            assert_eq!(table.len(), i + 1);
        }
        table.iter_mut().for_each(|row| *row += 1);
        assert!((0..table.len()).all(|i| table[i] == i + 1));
    }
}
