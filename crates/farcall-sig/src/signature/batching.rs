//! What `vmap` may do with a call: prepend its axis to `*`, or call the op once for each entry.
//!
//! # Why prepending is sound
//!
//! `*` promises that the kernel handles each batch entry independently. Prepending the mapped axis to `*` makes each
//! of its indices a set of batch entries. The result is that of separate calls if
//!
//! - every batched operand has `*` (an operand without it is shared by all entries: there is no place
//!   for the axis, and its values would differ between calls);
//! - every operand that has `*` gets the axis, also those that are not batched: they are broadcast;
//! - every result has `*`: one without it is reduced over the batch, and would mix what separate calls
//!   keep apart;
//! - `*` is mapped, not taken back by `*: whole`;
//! - the op has no side effect, which would happen once instead of once for each entry.
//!
//! Named dimensions, conditions and layouts are not affected: none of them mentions `*`, and batch
//! dimensions are outermost in memory. An aliased operand has `*` where its result has; if it was not
//! batched, the broadcast copy is what the kernel overwrites.

use std::fmt;

use super::Signature;
use super::ast::{Arity, DimUse};
use super::infer::{Mismatch, slot_names};
use crate::attr::Attrs;

/// How to vmap one call.
#[derive(Clone, PartialEq, Debug)]
pub enum Batching {
    /// No operand is batched: the call is as it was, once, and its results are not batched.
    Unbatched,
    /// One call, with the axis prepended: it becomes the first dimension of every operand that has `*`,
    /// and of every result. Operands without `*` are passed as they are.
    Native {
        /// Operands of the call that are not batched but have `*`: to be broadcast along the axis first.
        broadcast: Vec<usize>,
    },
    /// One call, changed as the op's batching function says.
    Custom {
        /// For each operand of the call, which dimension the axis becomes: a batched operand has it moved
        /// there, another one is broadcast along it. `None`, of operands that are not batched: as it is.
        operands: Vec<Option<usize>>,
        /// All attributes of the changed call, defaults too.
        attrs: Attrs,
        /// For each result, which dimension is the axis.
        results: Vec<usize>,
    },
    /// One call for each index of the axis, in order; the results are stacked.
    Loop {
        /// Why, in words: `scale is batched but has no *`.
        reason: String,
    },
}

/// How calls of an op are vmapped in general.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BatchSummary {
    /// Always natively.
    Native,
    /// Natively, unless one of these operands is batched.
    NativeUnless {
        /// Names of operands without `*`.
        operands: Vec<String>,
    },
    /// As the op's batching function says of each call.
    ByHand,
    /// Always as a loop.
    Loop {
        /// Why, in words.
        reason: String,
    },
    /// Not at all, as its author says.
    Never,
}

impl Signature {
    /// What vmap may do with a call where these operands are batched; one flag for each operand of the call.
    ///
    /// # Errors
    /// If a call cannot have this number of operands.
    pub fn batch_rule(&self, batched: &[bool]) -> Result<Batching, Mismatch> {
        let slots = self.operand_slots(batched.len())?;
        if !batched.contains(&true) {
            return Ok(Batching::Unbatched);
        }
        if let Some(reason) = self.never_native() {
            return Ok(Batching::Loop { reason });
        }
        let has_batch = |i: &usize| self.operands[slots[*i]].shape.batch.is_some();
        let indices = 0..slots.len();
        if let Some(i) = indices.clone().find(|i| batched[*i] && !has_batch(i)) {
            let name = &slot_names(self, &slots)[i];
            return Ok(Batching::Loop { reason: format!("{name} is batched but has no *") });
        }
        Ok(Batching::Native { broadcast: indices.filter(|i| !batched[*i] && has_batch(i)).collect() })
    }

    /// How calls of the op are vmapped in general.
    pub fn batching(&self) -> BatchSummary {
        if let Some(reason) = self.never_native() {
            return BatchSummary::Loop { reason };
        }
        let without = self.operands.iter().filter(|o| o.shape.batch.is_none());
        let operands: Vec<String> = without
            .map(|o| match o.arity {
                Arity::Variadic => format!("{}...", o.name),
                _ => o.name.text.clone(),
            })
            .collect();
        if operands.is_empty() { BatchSummary::Native } else { BatchSummary::NativeUnless { operands } }
    }

    /// Why no call can have an axis prepended.
    fn never_native(&self) -> Option<String> {
        if self.has_side_effect() {
            return Some("it has a side effect, once for each entry".into());
        }
        if let Some(any) = self.results.iter().find(|r| r.shape.any.is_some()) {
            return Some(format!("{} can have any dimensions", any.name));
        }
        if !self.operands.iter().any(|o| o.shape.batch.is_some()) {
            return Some("no operand has *".into());
        }
        if self.dim_use("*") == DimUse::Whole {
            return Some("the kernel looks at the whole batch at once".into());
        }
        let reduced = self.results.iter().find(|r| r.shape.batch.is_none())?;
        Some(match self.dim_use("*") {
            DimUse::Reduce(reducer) => format!("{} is reduced over * ({})", reduced.name, reducer.name()),
            _ => format!("{} has no *", reduced.name),
        })
    }
}

impl fmt::Display for BatchSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BatchSummary::Native => f.write_str("native"),
            BatchSummary::NativeUnless { operands } => {
                write!(f, "native, a loop if {} is batched", operands.join(" or "))
            }
            BatchSummary::ByHand => f.write_str("by hand"),
            BatchSummary::Loop { reason } => write!(f, "loop: {reason}"),
            BatchSummary::Never => f.write_str("none"),
        }
    }
}
