//! Values of buffers, which may be computed later.

use std::sync::{Arc, OnceLock};

use farcall::ir::Literal;

use crate::event::Event;
use crate::status::Outcome;

/// A tensor, or the error of the run that should have computed it. Clones share the tensor.
#[derive(Clone)]
pub(crate) enum Value {
    Known(Literal),
    Promised(Promise),
}

/// A tensor that is defined later.
#[derive(Clone, Default)]
pub(crate) struct Promise {
    outcome: Arc<OnceLock<Outcome<Literal>>>,
    is_defined: Event,
    /// True if code of the host, such as a Python function, may run before the tensor is defined.
    needs_host: bool,
}

impl Promise {
    /// Creates a promise. `needs_host` is true if code of the host may run before the tensor is defined.
    pub(crate) fn new(needs_host: bool) -> Promise {
        Promise { needs_host, ..Promise::default() }
    }

    /// Defines the tensor.
    pub(crate) fn define(&self, outcome: Outcome<Literal>) {
        let state = outcome.as_ref().map(drop).map_err(Clone::clone);
        let _ = self.outcome.set(outcome);
        self.is_defined.set(state);
    }

    fn wait(&self) -> Outcome<&Literal> {
        self.is_defined.wait()?;
        self.outcome.get().expect("the value is defined before its event").as_ref().map_err(Clone::clone)
    }
}

impl Value {
    /// Creates a value that stands for an error.
    pub(crate) fn failed(status: crate::status::Status) -> Value {
        let promise = Promise::default();
        promise.define(Err(status));
        Value::Promised(promise)
    }

    /// Returns true if waiting for the value takes no time.
    pub(crate) fn is_ready(&self) -> bool {
        match self {
            Value::Known(_) => true,
            Value::Promised(promise) => promise.outcome.get().is_some(),
        }
    }

    /// Returns true if the value waits for code of the host. Such code may need a lock of the waiting thread.
    pub(crate) fn waits_for_host(&self) -> bool {
        match self {
            Value::Known(_) => false,
            Value::Promised(promise) => promise.needs_host && promise.outcome.get().is_none(),
        }
    }

    /// Returns the event of the value's definition.
    pub(crate) fn is_defined(&self) -> Event {
        match self {
            Value::Known(_) => Event::complete(Ok(())),
            Value::Promised(promise) => promise.is_defined.clone(),
        }
    }

    /// Waits for the tensor.
    pub(crate) fn wait(&self) -> Outcome<&Literal> {
        match self {
            Value::Known(literal) => Ok(literal),
            Value::Promised(promise) => promise.wait(),
        }
    }

    /// Waits for the tensor, and takes it out of the value if it is not shared.
    pub(crate) fn take(self) -> Outcome<Literal> {
        match self {
            Value::Known(literal) => Ok(literal),
            Value::Promised(promise) => {
                promise.is_defined.wait()?;
                let outcome = match Arc::try_unwrap(promise.outcome) {
                    Ok(cell) => cell.into_inner(),
                    Err(shared) => shared.get().cloned(),
                };
                outcome.expect("the value is defined before its event")
            }
        }
    }
}
