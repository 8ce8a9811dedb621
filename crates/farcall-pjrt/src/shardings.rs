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
    // Numbers of the message's fields.
    const KIND: u64 = 1;
    const TILES: u64 = 3;
    const DEVICES: u64 = 4;
    const LAST_TILE_IS_REPLICATED: u64 = 6;
    const LAST_TILES: u64 = 8;
    // Kinds of shardings and of groups of devices.
    const REPLICATED: usize = 0;
    const TILED: u64 = 3;
    const UNREDUCED: usize = 6;
    let mut out = Vec::new();
    let Some(TileAssignment { tiles, summands, copies, devices, .. }) = assignment else {
        put_number(&mut out, KIND, REPLICATED as u64);
        return out;
    };
    let one_kind = match (tiles.iter().all(|n| *n == 1), *summands, *copies) {
        (true, 1, _) => Some(REPLICATED),
        (true, _, 1) => Some(UNREDUCED),
        _ => None,
    };
    if let Some(kind) = one_kind {
        put_number(&mut out, KIND, kind as u64);
        return out;
    }
    let packed = |numbers: &[usize]| {
        let mut packed = Vec::new();
        numbers.iter().for_each(|n| put_varint(&mut packed, *n as u64));
        packed
    };
    let groups: Vec<(usize, usize)> =
        [(UNREDUCED, *summands), (REPLICATED, *copies)].into_iter().filter(|(_, size)| *size > 1).collect();
    let (kinds, sizes): (Vec<usize>, Vec<usize>) = groups.into_iter().unzip();
    put_number(&mut out, KIND, TILED);
    put_bytes(&mut out, TILES, &packed(&[tiles.as_slice(), &sizes].concat()));
    put_bytes(&mut out, DEVICES, &packed(devices));
    match kinds[..] {
        [] => {}
        [REPLICATED] => put_number(&mut out, LAST_TILE_IS_REPLICATED, 1),
        _ => put_bytes(&mut out, LAST_TILES, &packed(&kinds)),
    }
    out
}
