//! Panics of handlers and their tasks, with the location of the panic, which a payload lacks.
//!
//! **Invariants.** The panic hook is replaced once, by a hook that always calls the previous one. (Each copy
//! of the standard library in a process has a panic hook; this is the hook of the copy that this copy of the
//! crate is linked with.) The hook does not suppress the message of a panic that becomes a call's error. To
//! recognize such a panic, each call would have to write to thread-local memory, which takes 0.6 ns; a call
//! of an empty handler takes 3 ns. Without the message, backtraces and the effects of an author's hook would
//! be lost as well.

use std::any::Any;
use std::cell::RefCell;
use std::panic::PanicHookInfo;
use std::sync::Once;

use crate::error::Error;
use crate::unwind::Payload;

thread_local! {
    /// Record of this thread's last panic.
    static LAST_PANIC: RefCell<Option<PanicRecord>> = const { RefCell::new(None) };
}

#[derive(Clone, Debug)]
struct PanicRecord {
    location: Option<String>,
    message: Option<String>,
}

static INSTALLED: Once = Once::new();

/// Returns true if the panic hook is installed, so that panics record their location.
#[inline(always)]
pub(crate) fn is_hook_installed() -> bool {
    INSTALLED.is_completed()
}

/// Installs the panic hook, unless this thread is panicking.
pub(crate) fn install_hook() {
    if std::thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            set_last(Some(PanicRecord {
                location: info.location().map(ToString::to_string),
                message: message(info.payload()),
            }));
            before(info);
        }));
    });
}

/// Sets this thread's record. Does nothing during a nested panic or after the thread's end, since the
/// location is not essential.
fn set_last(record: Option<PanicRecord>) {
    let _ = LAST_PANIC.try_with(|last| last.try_borrow_mut().map(|mut last| *last = record));
}

/// A caught panic.
pub(crate) struct Panic {
    payload: Payload,
    location: Option<String>,
}

impl Panic {
    /// Makes a panic from a payload that this thread has just caught.
    #[cold]
    pub(crate) fn caught(payload: Payload) -> Panic {
        let record = LAST_PANIC.try_with(|last| last.try_borrow_mut().ok()?.take()).ok().flatten();
        Panic { payload, location: record.and_then(|record| record.location) }
    }

    /// Resumes the panic on this thread, which need not be the thread that caught it.
    pub(crate) fn resume(self) -> ! {
        set_last(Some(PanicRecord { location: self.location, message: None }));
        self.payload.resume()
    }

    pub(crate) fn into_error(self) -> Error {
        let message = self.payload.message().map(str::to_owned);
        error(self.location, message)
    }
}

/// Returns the panic that this thread is unwinding from, as an error; for destructors, which do not have the
/// payload.
#[cold]
pub(crate) fn current() -> Error {
    let record = LAST_PANIC.try_with(|last| last.try_borrow().ok()?.clone()).ok().flatten();
    record.map_or_else(|| error(None, None), |record| error(record.location, record.message))
}

/// Returns the message of `panic!`, if it is text.
fn message(payload: &(dyn Any + Send)) -> Option<String> {
    match payload.downcast_ref::<&str>() {
        Some(message) => Some((*message).to_owned()),
        None => payload.downcast_ref::<String>().cloned(),
    }
}

fn error(location: Option<String>, message: Option<String>) -> Error {
    let at = location.map(|location| format!(" at {location}")).unwrap_or_default();
    Error::internal(format!("panicked{at}: {}", message.as_deref().unwrap_or("no message")))
}
