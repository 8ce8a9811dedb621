//! Observers of a run: none, or a profile.
//!
//! The executor is compiled separately for each observer, so that runs without an observer are not slowed
//! down.

use farcall_kernels::Tasks;

/// An observer of a run. Thunks are identified by their numbers: their positions in the order of the plan's
/// text, nested thunks included. (Custom calls in regions that the evaluator applies have plans of their own,
/// whose thunks are not observed. Such a call counts as a part of the thunk that the evaluator runs.)
pub trait Watch {
    /// True if the observer must be told when each thunk begins and ends. Otherwise, neighboring thunks may
    /// run as one.
    const SEES_THUNKS: bool = true;

    /// Called when a thunk begins.
    fn enter(&mut self, thunk: u32);

    /// Called when the innermost running thunk ends, even if it failed.
    fn leave(&mut self, thunk: u32);

    /// Runs a kernel, which shares its work among threads through the given pool.
    fn tasks<R>(&self, thunk: u32, pool: &dyn Tasks, kernel: impl FnOnce(&dyn Tasks) -> R) -> R;

    /// Called when the handler of a custom call has returned, but the call completes later.
    fn started(&mut self, thunk: u32);

    /// Called when a custom call that was reported as started is complete.
    fn completed(&mut self, thunk: u32);
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    const SEES_THUNKS: bool = false;

    #[inline(always)]
    fn enter(&mut self, _: u32) {}

    #[inline(always)]
    fn leave(&mut self, _: u32) {}

    #[inline(always)]
    fn tasks<R>(&self, _: u32, pool: &dyn Tasks, kernel: impl FnOnce(&dyn Tasks) -> R) -> R {
        kernel(pool)
    }

    #[inline(always)]
    fn started(&mut self, _: u32) {}

    #[inline(always)]
    fn completed(&mut self, _: u32) {}
}
