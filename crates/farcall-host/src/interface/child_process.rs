//! Calls functions in a child process first, so that a crash ends the child instead of this process.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Outcome of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The function returned this answer.
    Returned(bool),
    /// The child ended before the function returned.
    Crashed,
    /// There was no child, or the child exceeded the time limit, possibly waiting for a lock whose owner is a
    /// thread that does not exist in the child.
    Unknown,
}

/// Time limit of the child in milliseconds.
const TIME_LIMIT_MS: i32 = 2000;

/// Calls a function in a copy of this process. The copy ends after the call, so the function's writes are not
/// visible in this process.
///
/// # Safety
/// The function may be called after a fork in a process with threads, and does not wait for other threads.
pub(crate) unsafe fn call(function: impl FnOnce() -> bool) -> Outcome {
    let mut ends = [0; 2];
    // SAFETY: `ends` has space for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Outcome::Unknown;
    }
    // SAFETY: `pipe2` returned these descriptors, which have no other owner.
    let [answers, answer] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    // SAFETY: apart from calling `function`, the child only makes system calls and takes no locks. The caller
    // guarantees that `function` may be called after a fork (`# Safety` above). If `function` waits for a
    // lock nevertheless, the child is killed after the time limit.
    match unsafe { libc::fork() } {
        -1 => Outcome::Unknown,
        0 => child(&answer, function),
        pid => {
            drop(answer);
            let outcome = receive(&answers);
            // SAFETY: the child belongs to this process and has not been waited for. Its status does not
            // matter.
            unsafe {
                if outcome == Outcome::Unknown {
                    libc::kill(pid, libc::SIGKILL);
                }
                libc::waitpid(pid, std::ptr::null_mut(), 0);
            }
            outcome
        }
    }
}

/// Runs in the child: calls the function, sends its answer, and ends. A crash is silent, because the parent's
/// signal handlers are reset.
fn child(answer: &OwnedFd, function: impl FnOnce() -> bool) -> ! {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: these calls change this process only.
    unsafe {
        for signal in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
            libc::SIGABRT,
            libc::SIGALRM,
        ] {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        // Ends the child in case the parent no longer exists.
        libc::alarm(TIME_LIMIT_MS as u32 / 1000 * 2);
    }
    let byte = u8::from(function());
    // SAFETY: writes one byte, which is a local variable. The process then ends without running other code.
    unsafe {
        libc::write(answer.as_raw_fd(), (&raw const byte).cast(), 1);
    }
    super::exit::leave(0)
}

/// Receives the child's answer.
fn receive(answers: &OwnedFd) -> Outcome {
    let fd = answers.as_raw_fd();
    let mut wanted = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: the list has one element, which is a local variable.
    if unsafe { libc::poll(&raw mut wanted, 1, TIME_LIMIT_MS) } != 1 {
        return Outcome::Unknown;
    }
    let mut byte = 0_u8;
    // SAFETY: `byte` has space for one byte.
    match unsafe { libc::read(fd, (&raw mut byte).cast(), 1) } {
        1 => Outcome::Returned(byte == 1),
        0 => Outcome::Crashed,
        _ => Outcome::Unknown,
    }
}
