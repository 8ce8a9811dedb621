//! Stack space for nested work.
//!
//! Regions, types and attributes nest, so the code that reads, checks and rewrites them is recursive. The
//! nesting depth is bounded ([`text::MAX_NESTING`](crate::text::MAX_NESTING),
//! [`middle::MAX_NESTING`](crate::middle::MAX_NESTING)), but a thread's stack may still be too small.
//! Therefore each entry to such code begins with [`with_room`], which is cheap if the stack suffices.

/// Maximum number of bytes of stack that bounded nesting needs. Code without optimization has larger frames.
const NEEDED_BYTES: usize = if cfg!(debug_assertions) { 6 << 20 } else { 3 << 19 };

/// Size in bytes of the stack that is allocated if less than [`NEEDED_BYTES`] is left.
const NEW_STACK_BYTES: usize = 2 * NEEDED_BYTES;

/// Runs nested work, on a new stack if too little of the thread's stack is left.
#[inline]
pub fn with_room<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(NEEDED_BYTES, NEW_STACK_BYTES, work)
}
