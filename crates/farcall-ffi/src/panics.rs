//! Panics of handlers and their tasks, with the location of the panic, which a payload lacks.
//!
//! **Invariants.** The panic hook of the process (that is, of the copy of the standard library that this copy of the
//! crate is linked with) is replaced once, by one that always calls the previous hook. Knowing whether a panic will
//! become a call's error would cost a thread-local write in each call (0.6 ns of the 3 that an empty handler takes),
//! and staying silent would lose backtraces and the effects of an author's hook.

use std::any::Any;
use std::cell::RefCell;
use std::panic::PanicHookInfo;
use std::sync::Once;

use crate::error::Error;
use crate::unwind::Payload;

thread_local! {
    /// This thread's last panic.
    static LAST: RefCell<Option<Noted>> = const { RefCell::new(None) };
}

#[derive(Clone, Debug)]
struct Noted {
    location: Option<String>,
    message: Option<String>,
}

static NOTED: Once = Once::new();

/// True if panics leave their location behind.
#[inline(always)]
pub(crate) fn are_noted() -> bool {
    NOTED.is_completed()
}

/// Lets panics leave their location behind, unless there is one now.
pub(crate) fn note() {
    if std::thread::panicking() {
        return;
    }
    NOTED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            set_last(Some(Noted {
                location: info.location().map(ToString::to_string),
                message: message(info.payload()),
            }));
            before(info);
        }));
    });
}

/// Within a panic in a panic, or after the thread's end, nothing is set: the location is not that important.
fn set_last(noted: Option<Noted>) {
    let _ = LAST.try_with(|last| last.try_borrow_mut().map(|mut last| *last = noted));
}

/// A panic that was caught on its way.
pub(crate) struct Panic {
    payload: Payload,
    location: Option<String>,
}

impl Panic {
    /// What this thread caught just now.
    #[cold]
    pub(crate) fn caught(payload: Payload) -> Panic {
        let noted = LAST.try_with(|last| last.try_borrow_mut().ok()?.take()).ok().flatten();
        Panic { payload, location: noted.and_then(|noted| noted.location) }
    }

    /// Goes on with it on this thread, which may be another one.
    pub(crate) fn resume(self) -> ! {
        set_last(Some(Noted { location: self.location, message: None }));
        self.payload.resume()
    }

    pub(crate) fn into_error(self) -> Error {
        let message = self.payload.message().map(str::to_owned);
        error(self.location, message)
    }
}

/// The panic that this thread is unwinding from, as an error; for destructors, which do not have the payload.
#[cold]
pub(crate) fn current() -> Error {
    let noted = LAST.try_with(|last| last.try_borrow().ok()?.clone()).ok().flatten();
    noted.map_or_else(|| error(None, None), |noted| error(noted.location, noted.message))
}

/// What `panic!` was given, if that is text.
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
