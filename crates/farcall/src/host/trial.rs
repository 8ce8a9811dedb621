//! Calling a function in a child process first, which may crash in place of this one.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What became of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It returned, and this is its answer.
    Returned(bool),
    /// The child ended before it returned.
    Crashed,
    /// There was no child, or it took too long: it may wait for a lock that a thread held which the child does not have.
    Unknown,
}

/// How long the child may take.
const LIMIT_MS: i32 = 2000;

/// Calls a function in a copy of this process, which then ends; nothing that it writes is seen here.
///
/// # Safety
/// The function may be called after a fork in a process with threads: it waits for no other thread.
pub(crate) unsafe fn call(function: impl FnOnce() -> bool) -> Outcome {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Outcome::Unknown;
    }
    // SAFETY: nobody else has them.
    let [answers, answer] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    // SAFETY: the child calls the function, and nothing else that takes locks.
    match unsafe { libc::fork() } {
        -1 => Outcome::Unknown,
        0 => child(&answer, function),
        pid => {
            drop(answer);
            let outcome = receive(&answers);
            // SAFETY: the child is ours and has not been waited for. Its status does not matter.
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

/// In the child: calls the function, sends its answer, and ends. A crash is silent: no handler of the parent reports it.
fn child(answer: &OwnedFd, function: impl FnOnce() -> bool) -> ! {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: these change this process alone.
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
        // Should nobody be left who would end it.
        libc::alarm(LIMIT_MS as u32 / 1000 * 2);
    }
    let byte = u8::from(function());
    // SAFETY: writes one byte, which lives here. Then the process ends without running anything else.
    unsafe {
        libc::write(answer.as_raw_fd(), (&raw const byte).cast(), 1);
    }
    super::exit::leave(0)
}

/// The child's answer.
fn receive(answers: &OwnedFd) -> Outcome {
    let fd = answers.as_raw_fd();
    let mut wanted = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one element, which is there.
    if unsafe { libc::poll(&raw mut wanted, 1, LIMIT_MS) } != 1 {
        return Outcome::Unknown;
    }
    let mut byte = 0_u8;
    // SAFETY: there is room for one byte.
    match unsafe { libc::read(fd, (&raw mut byte).cast(), 1) } {
        1 => Outcome::Returned(byte == 1),
        0 => Outcome::Crashed,
        _ => Outcome::Unknown,
    }
}
