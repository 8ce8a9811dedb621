//! Malformed index arrays, and the errors that name their first wrong entry.

use farcall_ffi::Error;

use crate::number::Index;

/// Position of a malformed index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Malformed {
    /// The start at this position is negative, below its predecessor, or above the number of entries.
    Start(usize),
    /// The index at this position is out of range.
    Index(usize),
}

/// Makes the error for a start. `name` is the array's name in the signature, and `entries` the number of
/// entries that the matrix has.
#[cold]
pub(crate) fn start_error<I: Index>(name: &str, starts: &[I], at: usize, entries: usize) -> Error {
    let value = |i: usize| starts.get(i).copied().unwrap_or(I::of(0));
    // A row is checked as a pair of starts, whose first is wrong only if it is the first of all.
    let at = if at == 1 && value(0).at() > entries { 0 } else { at };
    let found = value(at);
    Error::invalid_argument(match at.checked_sub(1).map(value) {
        Some(before) if found.at() <= entries => {
            format!("{name}[{at}] is {found}, which is less than {name}[{}] = {before}", at - 1)
        }
        _ => format!("{name}[{at}] is {found}, but the matrix has {entries} entries"),
    })
}

/// Makes the error for an index that is not below `limit`.
#[cold]
pub(crate) fn index_error<I: Index>(name: &str, indices: &[I], at: usize, limit: usize) -> Error {
    let found = indices.get(at).copied().unwrap_or(I::of(0));
    Error::invalid_argument(format!("{name}[{at}] is {found}, but must be from 0 to below {limit}"))
}
