//! Runs as the runtime sees them: the run that handlers belong to, its pending calls, and the memory that
//! must outlive it.

pub use crate::interface::context::Run;
pub use crate::interface::future::{Completion, KeptMemory};
pub use crate::interface::kept_memory::Keeping;
