//! Reports signals by which foreign code ends the process.
//!
//! A signal on a thread that runs foreign code is reported in one line ([`exit::tell`]). The signal then has
//! its usual effect: an earlier handler of the signal is called, or the signal's default action ends the
//! process, with a core dump if enabled.
//!
//! **Invariants.** The signal handler only calls functions that are safe in signal handlers
//! (`signal-safety(7)`). It runs on the thread's alternate stack, so that a stack overflow can be reported.
//! The thread that installs the signal handler gets an alternate stack, and so do threads of the pool that
//! start later. In a Rust program, threads of the standard library already have an alternate stack.
//!
//! **Limit.** The signal handler reads a thread-local value. In a library that was opened at run time, such
//! as the Python module, that read may allocate on a thread that has never run foreign code. Such a thread
//! may hang if it crashes inside the allocator.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::exit;

/// The signals of crashes, with their descriptions.
const CRASHES: [(c_int, &[u8]); 6] = [
    (libc::SIGSEGV, b"crashed: invalid memory access (SIGSEGV)"),
    (libc::SIGBUS, b"crashed: invalid memory access (SIGBUS)"),
    (libc::SIGFPE, b"crashed: arithmetic error (SIGFPE)"),
    (libc::SIGILL, b"crashed: illegal instruction (SIGILL)"),
    (libc::SIGTRAP, b"crashed: trap (SIGTRAP)"),
    (libc::SIGABRT, b"aborted (SIGABRT)"),
];

/// The earlier actions of the signals, in the order of [`CRASHES`].
static EARLIER: [OnceLock<libc::sigaction>; CRASHES.len()] = [const { OnceLock::new() }; CRASHES.len()];

/// True if earlier handlers are called after the report. An [`ExitWatch`](super::watch::ExitWatch) sets it to
/// false: its program is written in Rust, and the handlers of Rust's standard library would only add another
/// report.
static CALLS_EARLIER: AtomicBool = AtomicBool::new(true);

/// Size in bytes of the alternate stack for a thread without one.
const STACK_BYTES: usize = 64 << 10;

/// Maximum distance in bytes from the stack pointer at which an invalid access counts as a stack overflow.
const GUARD_BYTES: usize = 64 << 10;

/// Starts reporting crashes of handlers and libraries on the standard error, in one line that names the
/// target, its library, and the place where the program calls the target. The process then ends as it would
/// have otherwise: earlier handlers of these signals are called, and a core dump is written if enabled.
///
/// The signals are `SIGSEGV`, `SIGBUS`, `SIGFPE`, `SIGILL`, `SIGTRAP` and `SIGABRT`, on a thread that runs
/// foreign code. Other signals are left alone, and so are calls of `exit`.
pub fn report_crashes() {
    install(true);
}

pub(super) fn install(calls_earlier: bool) {
    CALLS_EARLIER.store(calls_earlier, Ordering::Relaxed);
    own_stack();
    for ((signal, _), earlier) in CRASHES.iter().zip(&EARLIER) {
        // `on_signal` is installed already. A handler that was installed later is expected to call
        // `on_signal`.
        if earlier.get().is_some() {
            continue;
        }
        // SAFETY: all zeros is a valid `sigaction`.
        let mut ours: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        ours.sa_sigaction = on_signal as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: all zeros is a valid `sigaction`.
        let mut before: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: both actions are local variables, and the handler keeps the invariants of this module.
        let installed = unsafe {
            libc::sigemptyset(&raw mut ours.sa_mask);
            libc::sigaction(*signal, null_mut(), &raw mut before) == 0
                && before.sa_sigaction != ours.sa_sigaction
        };
        if installed {
            // Stored first, because the handler may need it immediately.
            earlier.get_or_init(|| before);
            // SAFETY: `ours` is a local variable, and the handler keeps the invariants of this module.
            unsafe { libc::sigaction(*signal, &raw const ours, null_mut()) };
        }
    }
}

/// Gives a thread of the pool an alternate stack, if crashes are reported.
pub(super) fn cover_thread() {
    if EARLIER[0].get().is_some() {
        own_stack();
    }
}

/// Gives this thread an alternate stack if it has none, until the process ends.
fn own_stack() {
    // SAFETY: all zeros is a valid `stack_t`.
    let mut present: libc::stack_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the null pointer means a query, which writes only to `present`.
    if unsafe { libc::sigaltstack(std::ptr::null(), &raw mut present) } != 0
        || present.ss_flags & libc::SS_DISABLE == 0
    {
        return;
    }
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, at an address that the system chooses.
    let start = unsafe { libc::mmap(null_mut(), STACK_BYTES, access, kind, -1, 0) };
    if start != libc::MAP_FAILED {
        let stack = libc::stack_t { ss_sp: start, ss_flags: 0, ss_size: STACK_BYTES };
        // SAFETY: the mapping is never removed.
        unsafe { libc::sigaltstack(&raw const stack, null_mut()) };
    }
}

/// # Safety
/// Only the system calls this function, as the handler of one of the signals.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let found = CRASHES.iter().zip(&EARLIER).find(|((known, _), _)| *known == signal);
    let Some(((_, words), earlier)) = found else { return };
    // SAFETY: `__errno_location` returns a pointer to `errno` of this thread.
    let errno = unsafe { *libc::__errno_location() };
    if exit::is_inside() || !CALLS_EARLIER.load(Ordering::Relaxed) {
        // SAFETY: the system passed both pointers for this signal.
        let overflowed = signal == libc::SIGSEGV && unsafe { has_overflowed(info, context) };
        exit::tell(&[if overflowed { b"crashed: its stack overflowed (SIGSEGV)" } else { words }]);
    }
    let earlier = earlier.get().filter(|_| CALLS_EARLIER.load(Ordering::Relaxed));
    match earlier {
        Some(before) if !matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) => {
            // SAFETY: the earlier handler of this signal, called with the arguments that its flags ask for.
            unsafe {
                if before.sa_flags & libc::SA_SIGINFO != 0 {
                    type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
                    std::mem::transmute::<usize, Handler>(before.sa_sigaction)(signal, info, context);
                } else {
                    std::mem::transmute::<usize, unsafe extern "C" fn(c_int)>(before.sa_sigaction)(signal);
                }
            }
        }
        // SAFETY: sets the default action, which takes effect once this function returns: a fault occurs
        // again, and a signal that was sent is sent again.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
            // A trap is reported after its instruction, which therefore does not run again.
            if (*info).si_code <= 0 || signal == libc::SIGTRAP {
                libc::raise(signal);
            }
        },
    }
    // SAFETY: `__errno_location` returns a pointer to `errno` of this thread.
    unsafe { *libc::__errno_location() = errno };
}

/// Returns true if the address of a fault was near the thread's stack pointer, as in a stack overflow.
///
/// # Safety
/// The arguments were passed to a handler of `SIGSEGV`.
unsafe fn has_overflowed(info: *const libc::siginfo_t, context: *const c_void) -> bool {
    // SAFETY: the caller passes the arguments of a handler of `SIGSEGV` (`# Safety` above).
    let (at, context) = unsafe { ((*info).si_addr().addr(), &*context.cast::<libc::ucontext_t>()) };
    #[cfg(target_arch = "x86_64")]
    let stack = context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize;
    #[cfg(target_arch = "aarch64")]
    let stack = context.uc_mcontext.sp as usize;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let stack = {
        let _unknown = context;
        return false;
    };
    at > 0 && at.abs_diff(stack) < GUARD_BYTES
}
