//! Room on the thread's stack.
//!
//! Regions, types and attributes nest, and so does the code that reads, checks and rewrites them. The depth
//! is bounded ([`text::MAX_NESTING`](crate::text::MAX_NESTING),
//! [`middle::MAX_NESTING`](crate::middle::MAX_NESTING)), but a thread may have too little stack for it. So
//! each way into such code begins with [`with_room`], which is quick if there is enough.

/// Maximum number of bytes of stack that bounded nesting takes. Code without optimization has larger frames.
const NEEDED_BYTES: usize = if cfg!(debug_assertions) { 6 << 20 } else { 3 << 19 };

/// Bytes of the stack that is allocated if less is left.
const MADE_BYTES: usize = 2 * NEEDED_BYTES;

/// Does nested work, on another stack if too little of the thread's stack is left.
#[inline]
pub fn with_room<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(NEEDED_BYTES, MADE_BYTES, work)
}
