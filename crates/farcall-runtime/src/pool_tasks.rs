//! Tasks of kernels on a pool of threads.

use farcall_host::custom_call::ThreadPool;
use farcall_kernels::Tasks;

/// Runs the tasks of kernels on the threads of a pool.
pub(super) struct PoolTasks<'a>(pub(super) &'a ThreadPool);

impl Tasks for PoolTasks<'_> {
    fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        self.0.each(count, task);
    }
}
