//! Keeps the memory of dropped tensors for new tensors of the same size.
//!
//! The system clears every page of new memory when it is first touched. For a large tensor, clearing takes
//! longer than computing the tensor, and a program that runs repeatedly requests the same sizes each time.
//!
//! **Invariants.** Kept memory counts as in use ([`memory::taken`](crate::memory::taken)), and is released
//! before a request is refused. It is a small part of the machine's memory.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::Charge;
use crate::memory;

/// Minimum size in bytes of a kept block. Allocators reuse smaller blocks without asking the system.
const MIN_BLOCK_BYTES: usize = 1 << 16;

/// Maximum number of kept blocks, whatever their size.
const MAX_BLOCKS: usize = 64;

/// Maximum number of kept bytes on a machine with much memory.
const MAX_BYTES: usize = 256 << 20;
/// On a machine with less memory, the maximum is the machine's memory divided by this number.
const MEMORY_DIVISOR: usize = 32;

/// Memory of a dropped tensor, with its charge.
type Block = (Box<[u64]>, Charge);

struct FreeList {
    /// Oldest blocks first.
    blocks: VecDeque<Block>,
    bytes: usize,
}

impl FreeList {
    const EMPTY: FreeList = FreeList { blocks: VecDeque::new(), bytes: 0 };

    fn take(&mut self, words: usize) -> Option<Block> {
        // The latest block is the likeliest to be in a cache.
        let at = self.blocks.iter().rposition(|(block, _)| block.len() == words)?;
        self.bytes -= words * size_of::<u64>();
        self.blocks.remove(at)
    }

    /// Keeps a block; returns the blocks that it displaces.
    fn give(&mut self, block: Block, max_bytes: usize) -> Vec<Block> {
        let mut gone = Vec::new();
        self.bytes += size_of_val(&*block.0);
        self.blocks.push_back(block);
        while self.bytes > max_bytes || self.blocks.len() > MAX_BLOCKS {
            let Some(oldest) = self.blocks.pop_front() else { break };
            self.bytes -= size_of_val(&*oldest.0);
            gone.push(oldest);
        }
        gone
    }
}

fn free_list() -> MutexGuard<'static, FreeList> {
    static FREE_LIST: Mutex<FreeList> = Mutex::new(FreeList::EMPTY);
    FREE_LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Maximum number of bytes that are kept on this machine.
fn max_bytes() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT
        .get_or_init(|| memory::physical().map_or(MAX_BYTES, |bytes| (bytes / MEMORY_DIVISOR).min(MAX_BYTES)))
}

/// Takes a kept block of this many words. The contents of the block are left over from its last use.
pub fn take(words: usize) -> Option<Block> {
    if words * size_of::<u64>() < MIN_BLOCK_BYTES {
        return None;
    }
    free_list().take(words)
}

/// Keeps a block of unused memory, or returns the block to the system.
pub fn give(block: Block) {
    let bytes = size_of_val(&*block.0);
    if bytes < MIN_BLOCK_BYTES || bytes > max_bytes() {
        return;
    }
    // Freeing memory is slow, and other threads may wait for the lock. So displaced blocks are dropped after
    // the lock is released.
    let gone = free_list().give(block, max_bytes());
    drop(gone);
}

/// Gives all kept memory back to the system, and returns the number of bytes.
pub(super) fn release() -> usize {
    // A concurrent caller waits until the memory has been released.
    static RELEASING: Mutex<()> = Mutex::new(());
    let _alone = RELEASING.lock().unwrap_or_else(PoisonError::into_inner);
    let FreeList { blocks, bytes } = std::mem::replace(&mut *free_list(), FreeList::EMPTY);
    drop(blocks);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(words: usize, value: u64) -> Block {
        (vec![value; words].into_boxed_slice(), Charge::EMPTY)
    }

    #[test]
    fn the_latest_of_a_size_is_taken() {
        let mut free_list = FreeList::EMPTY;
        for (words, value) in [(4, 1), (5, 2), (4, 3)] {
            assert!(free_list.give(block(words, value), 1000).is_empty());
        }
        assert!(free_list.take(6).is_none());
        assert_eq!(free_list.take(4).unwrap().0[3], 3);
        assert_eq!(free_list.take(4).unwrap().0[3], 1);
        assert!(free_list.take(4).is_none());
        assert_eq!(free_list.bytes, 40);
    }

    #[test]
    fn the_oldest_goes() {
        let mut free_list = FreeList::EMPTY;
        assert!(free_list.give(block(4, 1), 100).is_empty());
        assert!(free_list.give(block(4, 2), 100).is_empty());
        let gone = free_list.give(block(10, 3), 100);
        assert_eq!(gone.iter().map(|b| b.0[0]).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(free_list.bytes, 80);
        for i in 0..MAX_BLOCKS as u64 {
            free_list.give(block(1, i), 10_000);
        }
        assert_eq!(free_list.blocks.len(), MAX_BLOCKS);
        assert!(free_list.take(10).is_none());
    }
}
