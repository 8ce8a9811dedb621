//! Values of buffers, which may be computed later.

use std::sync::{Arc, OnceLock};

use farcall::ir::Literal;

use crate::event::Event;
use crate::status::Outcome;

/// A tensor, or the error of the run that should have computed it. Clones share the tensor.
#[derive(Clone)]
pub(crate) struct Value {
    outcome: Arc<OnceLock<Outcome<Literal>>>,
    pub(crate) is_defined: Event,
}

impl Value {
    /// Creates a value that is known.
    pub(crate) fn known(literal: Literal) -> Value {
        Value { outcome: Arc::new(OnceLock::from(Ok(literal))), is_defined: Event::complete(Ok(())) }
    }

    /// Creates a value that is defined later.
    pub(crate) fn pending() -> Value {
        Value { outcome: Arc::default(), is_defined: Event::default() }
    }

    /// Defines a pending value.
    pub(crate) fn define(&self, outcome: Outcome<Literal>) {
        let state = outcome.as_ref().map(drop).map_err(Clone::clone);
        let _ = self.outcome.set(outcome);
        self.is_defined.set(state);
    }

    /// Returns the tensor if it is defined.
    pub(crate) fn get(&self) -> Option<&Outcome<Literal>> {
        self.outcome.get()
    }

    /// Waits for the tensor.
    pub(crate) fn wait(&self) -> Outcome<&Literal> {
        self.is_defined.wait()?;
        self.outcome.get().expect("the value is defined before its event").as_ref().map_err(Clone::clone)
    }

    /// Waits for the tensor, and takes it out of the value if it is not shared.
    pub(crate) fn take(self) -> Outcome<Literal> {
        self.is_defined.wait()?;
        let outcome = match Arc::try_unwrap(self.outcome) {
            Ok(cell) => cell.into_inner(),
            Err(shared) => shared.get().cloned(),
        };
        outcome.expect("the value is defined before its event")
    }
}
