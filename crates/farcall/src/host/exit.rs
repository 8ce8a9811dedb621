//! Reports foreign code that ends the process.
//!
//! A handler, or the static constructor of a library, may call `exit` with any code. That cannot be undone, but it
//! can be reported: a program that watches ([`ExitWatch`]) prints whose code it was, and ends with code 1 instead.
//! Each thread records which foreign code it runs: two stores per call.
//!
//! An exception that leaves a static constructor ends the process, too ([`ended`]), because it leaves the dynamic
//! linker locked.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};

use farcall_ffi::abi::Stage;

/// What a call is called in messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CallName {
    /// The target.
    pub(crate) target: Arc<str>,
    /// Where the program calls it; empty if unknown.
    pub(crate) place: Arc<str>,
}

/// Foreign code that a thread is in.
#[derive(Clone, Copy)]
enum Doing {
    Nothing,
    Call(*const CallName, Stage),
    Opening(*const Path),
}

thread_local! {
    static DOING: Cell<Doing> = const { Cell::new(Doing::Nothing) };
}

/// Notes that this thread enters a handler. What it did before is put back by [`left`].
#[inline]
pub(crate) fn enters(call: &CallName, stage: Stage) -> Inside {
    Inside(DOING.replace(Doing::Call(call, stage)))
}

/// Notes that this thread opens a library.
pub(crate) fn opens(path: &Path) -> Inside {
    Inside(DOING.replace(Doing::Opening(path)))
}

/// What a thread did before it entered foreign code, and does again when this is dropped.
pub(crate) struct Inside(Doing);

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        DOING.set(self.0);
    }
}

/// What the thread is doing, for people.
fn doing() -> Option<String> {
    match DOING.get() {
        Doing::Nothing => None,
        Doing::Call(call, stage) => {
            // SAFETY: the caller of `enters` has the name until the guard is dropped, which nobody did.
            let CallName { target, place } = unsafe { &*call };
            let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
            Some(format!("custom call `{target}`{at}, in its {} stage,", stage.name()))
        }
        Doing::Opening(path) => {
            // SAFETY: as above, for `opens`.
            let path = unsafe { &*path };
            Some(format!("a static constructor of library {}", path.display()))
        }
    }
}

/// Watchers alive.
static WATCHING: AtomicUsize = AtomicUsize::new(0);

/// While one of these lives, a call of `exit` by foreign code is told on the standard error, and the process ends with
/// code 1. For programs, which drop it when they are done; a library in somebody else's process leaves that alone.
#[derive(Debug)]
pub struct ExitWatch(());

impl ExitWatch {
    /// Begins to watch.
    pub fn new() -> ExitWatch {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| {
            // SAFETY: a function of this program, which lives as long as it. If there is no room for it, nobody watches.
            unsafe { libc::atexit(at_exit) };
        });
        WATCHING.fetch_add(1, Ordering::Relaxed);
        ExitWatch(())
    }
}

impl Default for ExitWatch {
    fn default() -> ExitWatch {
        ExitWatch::new()
    }
}

impl Drop for ExitWatch {
    fn drop(&mut self) {
        WATCHING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Called by `exit`, on the thread that called that.
extern "C" fn at_exit() {
    if WATCHING.load(Ordering::Relaxed) == 0 {
        return;
    }
    let who = doing().unwrap_or_else(|| "the code of a library".to_owned());
    end(&format!("{who} ended the process: it called `exit`"));
}

/// An exception of this type and with these words leaves a static constructor.
#[cfg(feature = "cxx-exceptions")]
pub(super) fn ended(exception: &str) -> ! {
    let who = doing().unwrap_or_else(|| "a static constructor".to_owned());
    end(&format!("{who} threw {exception}, which ends the process"))
}

fn end(message: &str) -> ! {
    eprintln!("error: {message}");
    // SAFETY: ends the process.
    unsafe { libc::_exit(1) }
}
