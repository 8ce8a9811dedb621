//! Futures: calls that complete after their handler has returned.
//!
//! The handler's side holds a handle, which becomes invalid when the future is first completed. The host's
//! side is a [`Completion`], which a [`PendingCall`](crate::custom_call::PendingCall) waits for.
//!
//! The interface has no way to cancel a future. An interrupted run stops waiting for its futures. Memory that
//! a handler may still use is kept until the future completes ([`Completion::keep`]). If a future never
//! completes, its memory is kept forever. The table entry of a future that is created and never returned is
//! kept forever, too.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use farcall_ffi::abi;
use farcall_ir::interrupt::{self, Interrupt, Interrupted};

use super::error::Failure;
use super::handles::Handles;

/// The outcome of a call, once known.
#[derive(Debug, Default)]
pub struct Completion {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Default)]
struct State {
    outcome: Option<Result<(), Failure>>,
    /// Memory of an interrupted run that the handler may use until there is an outcome.
    kept: Option<KeptMemory>,
}

/// Memory that an interrupted run leaves to its incomplete calls.
pub type KeptMemory = Arc<dyn Any + Send + Sync>;

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

/// Table entry of a future. It is removed once the future is both claimed and completed.
struct Entry {
    completion: Arc<Completion>,
    claimed: bool,
    completed: bool,
}

static FUTURES: Handles<Entry> = Handles::new();

/// Creates a future that is not complete.
pub(crate) fn create() -> *mut abi::Future {
    FUTURES.insert(Entry { completion: Arc::default(), claimed: false, completed: false })
}

/// Completes a future, on behalf of the handler.
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
    let mut state = completion.state.lock().unwrap_or_else(PoisonError::into_inner);
    state.outcome = Some(outcome);
    let kept = state.kept.take();
    drop(state);
    completion.done.notify_all();
    // Frames check the outcome when they are dropped. Another thread drops the frames, because destructors of
    // states may wait for this thread, or for a lock that this thread holds.
    if let Some(kept) = kept {
        super::pool::ThreadPool::global().spawn(move || drop(kept));
    }
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

/// Removes a future that a handler returned together with an error: the call is over. Completing the future
/// later is an error, like completing a future twice.
pub(crate) fn give_up(future: *mut abi::Future) {
    drop(FUTURES.take(future));
}

impl Completion {
    /// Waits for the outcome.
    ///
    /// # Errors
    /// The failure with which the future was completed.
    pub fn wait(&self) -> Result<(), Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = &state.outcome {
                return outcome.clone();
            }
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the outcome, unless an interrupt of this thread's work is due.
    ///
    /// # Errors
    /// If an interrupt is due before the call is complete.
    pub fn wait_unless_due(&self) -> Result<Result<(), Failure>, Interrupted> {
        if interrupt::Scope::current().is_none() {
            return Ok(self.wait());
        }
        loop {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let waits = |state: &mut State| state.outcome.is_none();
            let woken = self.done.wait_timeout_while(state, Interrupt::PERIOD, waits);
            let (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
            if let Some(outcome) = &state.outcome {
                return Ok(outcome.clone());
            }
            // The interrupt's callback may complete the future, which takes the lock.
            drop(state);
            interrupt::look_soon();
            interrupt::check()?;
        }
    }

    /// Keeps an object until the call is complete, then drops it.
    pub fn keep(&self, kept: KeptMemory) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.outcome.is_none() {
            state.kept = Some(kept);
        }
    }

    /// Returns true if [`Completion::wait`] would return immediately.
    pub fn is_complete(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).outcome.is_some()
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
