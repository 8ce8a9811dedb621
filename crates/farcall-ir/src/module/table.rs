//! Tables whose rows stay where they are while they grow.

use std::ops::{Index, IndexMut};

/// Rows in a piece. What has fewer is a vector like others.
const PIECE: usize = 128;
/// Rows for which the first piece has room from the start.
const FIRST: usize = 8;

/// Rows by number, in pieces: a table that grows neither copies its rows nor leaves larger and larger memory behind, and both
/// cost more than finding the piece does.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    /// All full but the last one.
    pieces: Vec<Vec<T>>,
}

impl<T> Table<T> {
    pub(super) fn new() -> Table<T> {
        Table { pieces: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.pieces.last().map_or(0, |last| (self.pieces.len() - 1) * PIECE + last.len())
    }

    /// Inline, so that a row is made where it stays.
    #[inline(always)]
    pub(super) fn push(&mut self, row: T) {
        match self.pieces.last_mut() {
            Some(last) if last.len() < PIECE => last.push(row),
            full => {
                let mut piece = Vec::with_capacity(if full.is_some() { PIECE } else { FIRST });
                piece.push(row);
                self.pieces.push(piece);
            }
        }
    }

    /// Makes room for so many rows, or those of a piece, in a table without any.
    pub(super) fn reserve(&mut self, rows: usize) {
        if self.pieces.is_empty() {
            self.pieces.push(Vec::with_capacity(rows.min(PIECE)));
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
        &self.pieces[i / PIECE][i % PIECE]
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline]
    fn index_mut(&mut self, i: usize) -> &mut T {
        &mut self.pieces[i / PIECE][i % PIECE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_number() {
        let mut table = Table::new();
        assert_eq!(table.len(), 0);
        for i in 0..3 * PIECE + 1 {
            table.push(i);
            assert_eq!(table.len(), i + 1);
        }
        table.iter_mut().for_each(|row| *row += 1);
        assert!((0..table.len()).all(|i| table[i] == i + 1));
    }
}
