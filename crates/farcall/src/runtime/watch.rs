//! What looks on while a plan runs: nothing, or what measures it.
//!
//! The executor is compiled for each of them, so that a run that nobody watches is not slower for it.

use crate::kernels::Tasks;

/// Sees the thunks of a run by their numbers: their positions in the order of the plan's text, nested ones included.
/// (Not those of custom calls in regions that the evaluator applies: these are part of the thunk that does.)
pub(crate) trait Watch {
    /// It is told when a thunk begins and ends; otherwise, neighbouring ones may run as one.
    const SEES_THUNKS: bool = true;

    /// A thunk begins.
    fn enter(&mut self, thunk: u32);

    /// The thunk that began last and has not ended ends; also if it failed.
    fn leave(&mut self, thunk: u32);

    /// Runs a kernel, which shares its work among threads by the tasks that it is given.
    fn tasks<R>(&self, thunk: u32, pool: &dyn Tasks, kernel: impl FnOnce(&dyn Tasks) -> R) -> R;

    /// A call has returned, and completes later.
    fn started(&mut self, thunk: u32);

    /// A call that was started is complete.
    fn completed(&mut self, thunk: u32);
}

/// Nobody.
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
