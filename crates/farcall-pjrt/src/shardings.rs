//! Shardings of the parameters and results of partitioned programs, as XLA's `OpSharding` messages.

use std::ffi::c_char;

use farcall::ir::sharding::TileAssignment;

use crate::compile_options::{put_bytes, put_number, put_varint};

/// Messages that the caller reads.
#[derive(Default)]
pub(crate) struct Shardings {
    messages: Vec<Vec<u8>>,
    pointers: Vec<*const c_char>,
    sizes: Vec<usize>,
}

// SAFETY: the pointers refer to the messages, which do not change.
unsafe impl Send for Shardings {}
// SAFETY: see above.
unsafe impl Sync for Shardings {}

impl Shardings {
    /// Creates the messages of values: `None` is a token, which every device has.
    pub(crate) fn new<'a>(assignments: impl Iterator<Item = Option<&'a TileAssignment>>) -> Shardings {
        let messages: Vec<Vec<u8>> = assignments.map(message).collect();
        Shardings {
            pointers: messages.iter().map(|message| message.as_ptr().cast()).collect(),
            sizes: messages.iter().map(Vec::len).collect(),
            messages,
        }
    }

    /// Returns the messages, their sizes, and their number.
    pub(crate) fn parts(&self) -> (*const *const c_char, *const usize, usize) {
        if self.messages.is_empty() {
            return (std::ptr::null(), std::ptr::null(), 0);
        }
        (self.pointers.as_ptr(), self.sizes.as_ptr(), self.messages.len())
    }
}

/// Writes an `OpSharding`.
fn message(assignment: Option<&TileAssignment>) -> Vec<u8> {
    const KIND: u64 = 1;
    const REPLICATED: u64 = 0;
    const TILED: u64 = 3;
    const TILES: u64 = 3;
    const DEVICES: u64 = 4;
    const LAST_DIMENSION_IS_REPLICATED: u64 = 6;
    let mut out = Vec::new();
    let Some(assignment) = assignment.filter(|assignment| assignment.tiles.iter().any(|n| *n > 1)) else {
        put_number(&mut out, KIND, REPLICATED);
        return out;
    };
    let packed = |numbers: &mut dyn Iterator<Item = usize>| {
        let mut packed = Vec::new();
        numbers.for_each(|n| put_varint(&mut packed, n as u64));
        packed
    };
    let has_copies = assignment.copies > 1;
    let copies = has_copies.then_some(assignment.copies);
    put_number(&mut out, KIND, TILED);
    put_bytes(&mut out, TILES, &packed(&mut assignment.tiles.iter().copied().chain(copies)));
    put_bytes(&mut out, DEVICES, &packed(&mut assignment.devices.iter().copied()));
    if has_copies {
        put_number(&mut out, LAST_DIMENSION_IS_REPLICATED, 1);
    }
    out
}
