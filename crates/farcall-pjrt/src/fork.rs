//! Forked processes, which lack the plugin's threads.

use std::sync::atomic::{AtomicBool, Ordering};

use farcall_pjrt_abi::ErrorCode;

use crate::status::Status;

/// True in a process that was forked after the plugin was loaded.
static IS_FORKED: AtomicBool = AtomicBool::new(false);

/// Makes calls fail in forked processes.
pub(crate) fn watch() {
    extern "C" fn forked() {
        IS_FORKED.store(true, Ordering::Relaxed);
    }
    // SAFETY: the function only sets a flag, which is allowed after a fork.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
}

pub(crate) fn is_forked() -> bool {
    IS_FORKED.load(Ordering::Relaxed)
}

/// Error of an action that needs the plugin's threads.
#[cold]
pub(crate) fn error() -> Status {
    let message = "this process was forked after JAX had started farcall's threads, which the new process lacks. \
                   Start processes with multiprocessing.get_context(\"spawn\"), or fork before the first use of JAX";
    Status::new(ErrorCode::FAILED_PRECONDITION, message)
}
