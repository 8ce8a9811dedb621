//! Room on the thread's stack.
//!
//! Regions, types and attributes nest, and so does the code that reads, checks and rewrites them. How deep they nest is
//! bounded ([`text::MAX_NESTING`](crate::text::MAX_NESTING), [`middle::MAX_NESTING`](crate::middle::MAX_NESTING)), but a
//! thread may have less stack than that takes. So each way into such code begins with [`with_room`], which is quick where
//! there is enough.

/// Bytes of stack that bounded nesting takes at most. Code without optimization has larger frames.
const NEEDED_BYTES: usize = if cfg!(debug_assertions) { 6 << 20 } else { 3 << 19 };

/// Bytes of the stack that is allocated if less is left.
const MADE_BYTES: usize = 2 * NEEDED_BYTES;

/// Does work that nests, on another stack if too little is left of the thread's.
#[inline]
pub fn with_room<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(NEEDED_BYTES, MADE_BYTES, work)
}
