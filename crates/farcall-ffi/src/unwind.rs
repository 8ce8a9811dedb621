//! Catches panics: [`catch`] is the only caller of `std::panic::catch_unwind` (`clippy.toml` disallows
//! others).
//!
//! `std::panic::panic_any` accepts any value, including one whose destructor panics. If a caught payload is
//! dropped at the end of an `extern "C"` function, such a destructor aborts the process; in the middle of a
//! function, it skips the rest of the function.
//!
//! **Invariants.** Dropping a [`Payload`] never unwinds, and neither does [`discard`].

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The payload of a caught panic. Its destructor does not unwind.
pub struct Payload(Option<Box<dyn Any + Send>>);

/// Calls a function and catches its panic.
///
/// # Errors
/// The panic's payload.
#[inline(always)]
#[expect(clippy::disallowed_methods, reason = "the one place that may, because it wraps the payload")]
pub fn catch<R>(work: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Payload(Some(payload)))
}

/// Drops a value whose destructor may panic. The panic ends here, after the process's panic hook has reported
/// it.
pub fn discard<T>(value: T) {
    drop(catch(|| drop(value)));
}

impl Payload {
    /// Returns the text that `panic!` formatted; `None` for other values.
    pub fn message(&self) -> Option<&str> {
        let payload = self.0.as_ref()?;
        let text = payload.downcast_ref::<&str>().copied();
        text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
    }

    /// Continues the panic on this thread.
    pub fn resume(mut self) -> ! {
        match self.0.take() {
            Some(payload) => resume_unwind(payload),
            None => unreachable!("only the destructor takes the payload"),
        }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        let payload = self.0.take();
        if let Err(mut second) = catch(|| drop(payload)) {
            // The second payload may panic as well, and so on without end: it is leaked.
            std::mem::forget(second.0.take());
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Payload").field(&self.message()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Panics in its destructor, with another value of the same type as payload.
    struct Endless<'a>(&'a AtomicUsize);

    impl Drop for Endless<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            std::panic::resume_unwind(Box::new(Endless(&DROPPED)));
        }
    }

    static DROPPED: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn a_payload_whose_destructor_panics_is_dropped_once_and_its_successor_leaked() {
        let first = AtomicUsize::new(0);
        discard(Endless(&first));
        assert_eq!(first.into_inner(), 1);
        // The payload of the first destructor's panic was dropped; the second payload leaked.
        assert_eq!(DROPPED.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_payload_is_discarded_while_the_thread_unwinds() {
        struct Outer;
        impl Drop for Outer {
            fn drop(&mut self) {
                let caught = catch(|| std::panic::resume_unwind(Box::new(Bomb)));
                assert!(caught.is_err());
            }
        }
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                std::panic::resume_unwind(Box::new("again"));
            }
        }
        let caught = catch(|| {
            let _outer = Outer;
            std::panic::resume_unwind(Box::new("first"))
        });
        assert_eq!(
            caught.map(|(): ()| ()).map_err(|p| p.message().map(str::to_owned)),
            Err(Some("first".into()))
        );
    }
}
