//! Futures: calls that complete after their handler has returned.
//!
//! The handler's side holds a handle, which its first completion uses up; the host's side is a
//! [`Completion`] that a [`Pending`](super::Pending) call waits for.
//!
//! The interface has no way to abandon a future: one that is returned and never completed keeps its call waiting
//! forever, and one that is created and never returned stays in the table.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use farcall_ffi::abi;

use super::error::Failure;
use super::handles::Handles;

/// Where a call's outcome appears.
#[derive(Debug, Default)]
pub(crate) struct Completion {
    outcome: Mutex<Option<Result<(), Failure>>>,
    done: Condvar,
}

/// One future: both sides are here until they are taken.
struct Entry {
    completion: Arc<Completion>,
    claimed: bool,
    completed: bool,
}

static FUTURES: Handles<Entry> = Handles::new();

/// A future that is not complete.
pub(crate) fn create() -> *mut abi::Future {
    FUTURES.insert(Entry { completion: Arc::default(), claimed: false, completed: false })
}

/// Completes a future, for the handler.
pub(crate) fn complete(future: *mut abi::Future, outcome: Result<(), Failure>) -> Result<(), Failure> {
    let found = FUTURES.with(future, |entry| {
        let first = !std::mem::replace(&mut entry.completed, true);
        (first, entry.claimed, Arc::clone(&entry.completion))
    });
    let Some((true, claimed, completion)) = found else {
        return Err(Failure::invalid("there is no such future, or it is complete already"));
    };
    if claimed {
        FUTURES.take(future);
    }
    *completion.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    completion.done.notify_all();
    Ok(())
}

/// Takes the host's side of a future that a handler returned.
pub(crate) fn claim(future: *mut abi::Future) -> Option<Arc<Completion>> {
    let (first, completed, completion) = FUTURES.with(future, |entry| {
        let first = !std::mem::replace(&mut entry.claimed, true);
        (first, entry.completed, Arc::clone(&entry.completion))
    })?;
    if !first {
        return None;
    }
    if completed {
        FUTURES.take(future);
    }
    Some(completion)
}

/// Forgets a future that a handler returned beside an error: its call is over. Completing it later
/// is an error like completing one twice.
pub(crate) fn give_up(future: *mut abi::Future) {
    drop(FUTURES.take(future));
}

impl Completion {
    /// Waits for the outcome.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = &*outcome {
                return outcome.clone();
            }
            outcome = self.done.wait(outcome).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// True if [`Completion::wait`] would not wait.
    pub(crate) fn is_complete(&self) -> bool {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_completes_once() {
        for claim_first in [true, false] {
            let future = create();
            let early = claim_first.then(|| claim(future).unwrap());
            assert!(early.as_ref().is_none_or(|c| !c.is_complete()));
            complete(future, Err(Failure::invalid("no"))).unwrap();
            let completion = early.unwrap_or_else(|| claim(future).unwrap());
            assert_eq!(completion.wait(), Err(Failure::invalid("no")));
            assert!(complete(future, Ok(())).is_err());
            assert!(claim(future).is_none());
            assert!(!FUTURES.contains(future));
        }
    }
}
