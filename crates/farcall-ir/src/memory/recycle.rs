//! Keeps the memory of dropped tensors for new ones of the same size.
//!
//! The system clears every page of new memory when it is first touched. For a large tensor, that takes longer than
//! computing it, and a program that runs repeatedly requests the same sizes each time.
//!
//! **Invariants.** Kept memory counts as taken ([`memory::taken`](crate::memory::taken)), and is released before a
//! request is refused. It is a small part of the machine's memory.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::Charge;
use crate::memory;

/// Smaller memory is not kept: allocators reuse that without the system.
const SMALLEST: usize = 1 << 16;

/// Kept at most, whatever its size.
const MAX_BLOCKS: usize = 64;

/// Kept at most, and at most this part of the machine's memory.
const MAX_BYTES: usize = 256 << 20;
const PART: usize = 32;

/// Words that were somebody's, with what they count.
type Block = (Box<[u64]>, Charge);

struct Kept {
    /// In the order in which they came.
    blocks: VecDeque<Block>,
    bytes: usize,
}

impl Kept {
    const EMPTY: Kept = Kept { blocks: VecDeque::new(), bytes: 0 };

    fn take(&mut self, words: usize) -> Option<Block> {
        // The latest is the likeliest to be in a cache.
        let at = self.blocks.iter().rposition(|(block, _)| block.len() == words)?;
        self.bytes -= words * size_of::<u64>();
        self.blocks.remove(at)
    }

    /// Keeps a block; returns what has to go for it.
    fn give(&mut self, block: Block, most: usize) -> Vec<Block> {
        let mut gone = Vec::new();
        self.bytes += size_of_val(&*block.0);
        self.blocks.push_back(block);
        while self.bytes > most || self.blocks.len() > MAX_BLOCKS {
            let Some(oldest) = self.blocks.pop_front() else { break };
            self.bytes -= size_of_val(&*oldest.0);
            gone.push(oldest);
        }
        gone
    }
}

fn kept() -> MutexGuard<'static, Kept> {
    static KEPT: Mutex<Kept> = Mutex::new(Kept::EMPTY);
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes that are kept at most.
fn most() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| memory::physical().map_or(MAX_BYTES, |bytes| (bytes / PART).min(MAX_BYTES)))
}

/// Memory of this many words, if some is kept: with whatever was written to it last.
pub(crate) fn take(words: usize) -> Option<Block> {
    if words * size_of::<u64>() < SMALLEST {
        return None;
    }
    kept().take(words)
}

/// Keeps memory that is no longer used, or returns it to the system.
pub(crate) fn give(block: Block) {
    let bytes = size_of_val(&*block.0);
    if bytes < SMALLEST || bytes > most() {
        return;
    }
    // The system is slow, and others may wait for the lock: what goes is dropped without it.
    let gone = kept().give(block, most());
    drop(gone);
}

/// Gives everything that is kept back to the system; the number of bytes.
pub(crate) fn release() -> usize {
    // Who comes while somebody else does this finds it done, not under way.
    static RELEASING: Mutex<()> = Mutex::new(());
    let _alone = RELEASING.lock().unwrap_or_else(PoisonError::into_inner);
    let Kept { blocks, bytes } = std::mem::replace(&mut *kept(), Kept::EMPTY);
    drop(blocks);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(words: usize, value: u64) -> Block {
        (vec![value; words].into_boxed_slice(), Charge::NONE)
    }

    #[test]
    fn the_latest_of_a_size_is_taken() {
        let mut kept = Kept::EMPTY;
        for (words, value) in [(4, 1), (5, 2), (4, 3)] {
            assert!(kept.give(block(words, value), 1000).is_empty());
        }
        assert!(kept.take(6).is_none());
        assert_eq!(kept.take(4).unwrap().0[3], 3);
        assert_eq!(kept.take(4).unwrap().0[3], 1);
        assert!(kept.take(4).is_none());
        assert_eq!(kept.bytes, 40);
    }

    #[test]
    fn the_oldest_goes() {
        let mut kept = Kept::EMPTY;
        assert!(kept.give(block(4, 1), 100).is_empty());
        assert!(kept.give(block(4, 2), 100).is_empty());
        let gone = kept.give(block(10, 3), 100);
        assert_eq!(gone.iter().map(|b| b.0[0]).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(kept.bytes, 80);
        for i in 0..MAX_BLOCKS as u64 {
            kept.give(block(1, i), 10_000);
        }
        assert_eq!(kept.blocks.len(), MAX_BLOCKS);
        assert!(kept.take(10).is_none());
    }
}
