//! Reports foreign code that ends the process.
//!
//! A handler, or the static constructor of a library, may call `exit` with any code. That cannot be undone, but it
//! can be reported: a program that watches ([`ExitWatch`]) prints whose code it was, and ends with code 1 instead.
//! Each thread points to which foreign code it runs: two stores of a pointer per call.
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
pub(crate) enum Doing<'a> {
    /// A handler of a stage.
    Call(&'a CallName, Stage),
    /// The static constructors of a library.
    Opening(&'a Path),
}

thread_local! {
    /// Null outside of foreign code.
    static DOING: Cell<*const Doing<'static>> = const { Cell::new(std::ptr::null()) };
}

/// Runs foreign code, and notes meanwhile that this thread does.
#[inline]
pub(crate) fn within<R>(doing: &Doing<'_>, code: impl FnOnce() -> R) -> R {
    let _inside = Inside(DOING.replace(std::ptr::from_ref(doing).cast()));
    code()
}

/// What a thread did before it entered foreign code, and does again when this is dropped.
struct Inside(*const Doing<'static>);

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        DOING.set(self.0);
    }
}

/// What the thread is doing, for people.
fn doing() -> Option<String> {
    // SAFETY: null, or what `within` borrows until the code has returned, which it did not.
    Some(match unsafe { DOING.get().as_ref() }? {
        Doing::Call(CallName { target, place }, stage) => {
            let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
            format!("custom call `{target}`{at}, in its {} stage,", stage.name())
        }
        Doing::Opening(path) => format!("a static constructor of library {}", path.display()),
    })
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
