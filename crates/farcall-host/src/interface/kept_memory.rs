//! Memory that outlives its run because views of it are still in use.
//!
//! A handler's views of operands and results should end with the call. In a language with garbage collection,
//! an exception or a global variable may still refer to a view. Such a handler fails its call, and asks to
//! keep the call's memory until its views are gone ([`Keeper::keep_call`]). Otherwise later runs would store
//! other values in this memory, which the views would show and change.
//!
//! **Invariants.** Handlers run on the thread of their run. The innermost run of the thread hands over its
//! memory when it ends ([`Keeping`]).

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    /// Keepers that were requested by handlers in the innermost run of this thread.
    static REQUESTED: RefCell<Vec<Keeper>> = const { RefCell::new(Vec::new()) };
}

/// Owner of the memory of calls whose views are still in use. Clones share ownership.
#[derive(Clone, Default)]
pub struct Keeper(Arc<Mutex<Vec<Box<dyn Any + Send>>>>);

impl Keeper {
    /// Creates a keeper that owns nothing yet.
    pub fn new() -> Keeper {
        Keeper::default()
    }

    /// Keeps the memory of the custom call whose handler this thread is running. Operands, results and
    /// everything else in the same allocations live until the last clone of this keeper is dropped.
    pub fn keep_call(&self) {
        REQUESTED.with_borrow_mut(|asked| asked.push(self.clone()));
    }

    fn own(&self, memory: Box<dyn Any + Send>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keeper").finish_non_exhaustive()
    }
}

/// Guard of a run whose handlers may ask to keep the run's memory. The keepers of the enclosing run are set
/// aside until the guard is dropped.
pub struct Keeping {
    outer: Vec<Keeper>,
}

impl Keeping {
    /// Begins a run: memory that handlers keep from now on belongs to the run.
    pub fn begin() -> Keeping {
        Keeping { outer: REQUESTED.take() }
    }

    /// Returns true if a handler has asked to keep the memory of this thread's run.
    pub fn is_asked() -> bool {
        REQUESTED.with_borrow(|asked| !asked.is_empty())
    }

    /// Hands memory of this thread's run over to the keepers that handlers have requested.
    pub fn keep(memory: impl Any + Send) {
        let keepers = REQUESTED.with_borrow(Vec::clone);
        if let Some((first, others)) = keepers.split_first() {
            first.own(Box::new(memory));
            others.iter().for_each(|other| other.own(Box::new(first.clone())));
        }
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        REQUESTED.set(std::mem::take(&mut self.outer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_kept_for_every_request_of_the_innermost_run() {
        let memory = Arc::new(());
        let (a, b) = (Keeper::new(), Keeper::new());
        let outer = Keeping::begin();
        a.keep_call();
        {
            let _inner = Keeping::begin();
            assert!(!Keeping::is_asked());
            Keeping::keep(Arc::clone(&memory));
            assert_eq!(Arc::strong_count(&memory), 1);
        }
        b.keep_call();
        assert!(Keeping::is_asked());
        Keeping::keep(Arc::clone(&memory));
        drop(outer);
        assert!(!Keeping::is_asked());
        drop(a);
        assert_eq!(Arc::strong_count(&memory), 2);
        drop(b);
        assert_eq!(Arc::strong_count(&memory), 1);
    }
}
