//! Reports foreign code that ends the process.
//!
//! A handler, or the static constructor of a library, may call `exit` with any code, or crash. The end cannot
//! be prevented, but it can be reported: in one line that names the foreign code, its library, and the place
//! in the program that calls it. Each thread keeps a pointer to the foreign code that it runs, which costs
//! two stores per call.
//!
//! ```text
//! exit, quick_exit     ExitWatch (watch.rs) registers a function that these call
//! _exit, _Exit         ExitWatch, if the program exports functions of these names (watch_exits!)
//! a signal             crash.rs
//! pthread_exit         Inside is dropped: the thread unwinds, but nothing has panicked
//! an exception         from a static constructor ([`ended`]), which leaves the dynamic linker locked
//! ```

use std::cell::Cell;
use std::ffi::c_int;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize, Ordering};

use farcall_ffi::abi::Stage;

/// Name of a call in messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CallName {
    /// Target of the call.
    pub target: Arc<str>,
    /// Location of the call in the program; empty if unknown.
    pub place: Arc<str>,
    /// Library of the target; `None` for code of the program itself.
    pub library: Option<Arc<Path>>,
}

/// Foreign code that a thread runs.
pub(crate) enum Doing<'a> {
    /// A handler in this stage, or a task that the handler scheduled.
    Call(&'a CallName, Stage),
    /// The static constructors of a library.
    Opening(&'a Path),
    /// The function that describes a library.
    Describing(&'a Path),
}

thread_local! {
    /// Foreign code that this thread runs; null outside of foreign code.
    static DOING: Cell<*const Doing<'static>> = const { Cell::new(std::ptr::null()) };
}

/// [`DOING`] of the watching thread. Stands in for threads that a handler has started, which have no foreign
/// code recorded.
static WATCHER_DOING: AtomicPtr<Cell<*const Doing<'static>>> = AtomicPtr::new(std::ptr::null_mut());

/// Runs foreign code. While the code runs, it is recorded as the foreign code of this thread.
#[inline]
pub(crate) fn within<R>(doing: &Doing<'_>, code: impl FnOnce() -> R) -> R {
    let mut inside = Inside { outer: DOING.replace(std::ptr::from_ref(doing).cast()), has_returned: false };
    let returned = code();
    inside.has_returned = true;
    returned
}

/// Restores the thread's enclosing foreign code when dropped.
struct Inside {
    outer: *const Doing<'static>,
    has_returned: bool,
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        if !self.has_returned {
            unwound();
        }
        DOING.set(self.outer);
    }
}

/// Called when foreign code unwinds instead of returning.
#[cold]
fn unwound() {
    if is_watching() && !std::thread::panicking() {
        end(&[b"ended its thread: it called `pthread_exit`, or threw an exception"]);
    }
}

/// Returns the call that this thread runs, for the tasks that the call schedules.
pub(super) fn call() -> Option<(CallName, Stage)> {
    // SAFETY: the pointer is null, or `within` borrows its target until the foreign code returns. The foreign
    // code has not returned.
    match unsafe { DOING.get().as_ref() }? {
        Doing::Call(name, stage) => Some(((*name).clone(), *stage)),
        Doing::Opening(_) | Doing::Describing(_) => None,
    }
}

/// Returns the foreign code of this thread, or else of the watching thread.
fn doing() -> Option<&'static Doing<'static>> {
    // SAFETY: the pointer is null, or `within` borrows its target until the foreign code returns. The foreign
    // code has not returned.
    let own = unsafe { DOING.get().as_ref() };
    own.or_else(|| {
        // SAFETY: null, or a thread-local of the watching thread, which lives as long as the watch. Its
        // foreign code may end concurrently, but this function is only called in a process that is ending.
        unsafe { WATCHER_DOING.load(Ordering::Relaxed).as_ref()?.get().as_ref() }
    })
}

/// Returns true if this thread runs foreign code.
pub(super) fn is_inside() -> bool {
    !DOING.get().is_null()
}

/// Number of live watches.
static WATCH_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Process id of the watching process. Child processes of handlers may end in any way.
static WATCHER_PID: AtomicI32 = AtomicI32::new(0);

/// Starts a watch. The calling thread is regarded as the thread that runs programs.
pub(super) fn begin_watch() {
    // SAFETY: `getpid` only returns a number.
    WATCHER_PID.store(unsafe { libc::getpid() }, Ordering::Relaxed);
    DOING.with(|own| WATCHER_DOING.store(std::ptr::from_ref(own).cast_mut(), Ordering::Relaxed));
    WATCH_COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Ends a watch.
pub(super) fn end_watch() {
    WATCHER_DOING.store(std::ptr::null_mut(), Ordering::Relaxed);
    WATCH_COUNT.fetch_sub(1, Ordering::Relaxed);
}

fn is_watching() -> bool {
    // SAFETY: `getpid` only returns a number.
    WATCH_COUNT.load(Ordering::Relaxed) > 0
        && WATCHER_PID.load(Ordering::Relaxed) == unsafe { libc::getpid() }
}

/// Reports that foreign code called a function that ends the process, while a watch lives.
pub(super) fn ends_by(function: &[u8]) {
    if is_watching() {
        end(&[b"ended the process: it called ", function]);
    }
}

/// Ends the process, even if `_exit` is replaced.
pub(super) fn leave(code: c_int) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { libc::syscall(libc::SYS_exit_group, code) };
    }
}

/// Reports an exception that leaves a static constructor, given its type and message, and ends the process.
#[cfg(feature = "cxx-exceptions")]
pub(super) fn ended(exception: &str) -> ! {
    end(&[b"threw ", exception.as_bytes(), b", which ends the process"]);
}

fn end(what: &[&[u8]]) -> ! {
    tell(what);
    leave(1)
}

/// True once a line was written. The first report names the cause, so later ones are dropped.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Writes a line that names the foreign code and `what` it did. Async-signal-safe: takes no lock and
/// allocates nothing.
pub(super) fn tell(what: &[&[u8]]) {
    /// Maximum number of parts of the line.
    const MAX_PARTS: usize = 16;
    if REPORTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut parts: [&[u8]; MAX_PARTS] = [b""; MAX_PARTS];
    let mut len = 0;
    let mut add = |part: &'static [u8]| {
        parts[len] = part;
        len += 1;
    };
    add(b"error: ");
    match doing() {
        Some(Doing::Call(CallName { target, place, library }, stage)) => {
            add(b"custom call `");
            add(target.as_bytes());
            add(b"`");
            if let Some(library) = library {
                add(b" of ");
                add(library.as_os_str().as_bytes());
            }
            if !place.is_empty() {
                add(b" at ");
                add(place.as_bytes());
            }
            add(b", in its ");
            add(stage.name().as_bytes());
            add(b" stage, ");
        }
        Some(Doing::Opening(path)) => {
            add(b"a static constructor of library ");
            add(path.as_os_str().as_bytes());
            add(b" ");
        }
        Some(Doing::Describing(path)) => {
            add(b"the descriptor of library ");
            add(path.as_os_str().as_bytes());
            add(b" ");
        }
        None => add(b"farcall, or a thread that a library started, "),
    }
    let end: &[u8] = b"\n";
    let line = parts[..len].iter().chain(what).chain([&end]);
    let mut vectors = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 2 * MAX_PARTS];
    let mut count = 0;
    for (vector, part) in vectors.iter_mut().zip(line) {
        *vector = libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() };
        count += 1;
    }
    // SAFETY: `count` vectors, whose parts are borrowed above. A failed write cannot be reported.
    unsafe { libc::writev(libc::STDERR_FILENO, vectors.as_ptr(), count) };
}
