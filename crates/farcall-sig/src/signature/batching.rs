//! Rules for `vmap`, which prepends the mapped axis to the batch dimensions `*` of a call, or calls the op
//! once for each index of the axis.
//!
//! # Why prepending is sound
//!
//! `*` promises that the kernel handles each batch entry independently. Prepending the mapped axis to `*`
//! makes each index of the axis a set of batch entries. The result equals the results of separate calls if
//!
//! - every batched operand has `*` (an operand without `*` is shared by all entries: it has no position for
//!   the axis, and its values would differ between calls);
//! - every operand that has `*` gets the axis; operands that are not batched are broadcast along it;
//! - every result has `*`: a result without `*` is reduced over the batch, and would mix values that separate
//!   calls keep apart;
//! - `*` is mapped, and the promise is not withdrawn by `*: whole`;
//! - the op has no side effect, which would happen once instead of once for each entry.
//!
//! Named dimensions, conditions and layouts are not affected: they do not mention `*`, and batch dimensions
//! are outermost in memory. An aliased operand has `*` exactly if its result has `*`. If the operand was not
//! batched, the kernel overwrites the broadcast copy.

use std::fmt;

use super::Signature;
use super::ast::{Arity, DimUse};
use super::infer::{Mismatch, slot_names};
use crate::attr::AttrValues;

/// Batching rule for one call.
#[derive(Clone, PartialEq, Debug)]
pub enum Batching {
    /// No operand is batched: the call is unchanged, and its results are not batched.
    Unbatched,
    /// One call with the axis prepended: the axis becomes the first dimension of every operand that has `*`,
    /// and of every result. Operands without `*` are passed unchanged.
    Native {
        /// Operands that have `*` but are not batched. They must first be broadcast along the axis.
        broadcast: Vec<usize>,
    },
    /// One call, changed by the op's batching function.
    Custom {
        /// For each operand of the call, the position of the axis: a batched operand has its axis moved
        /// there, any other operand is broadcast along a new axis. `None` leaves an operand that is not
        /// batched unchanged.
        operands: Vec<Option<usize>>,
        /// All attributes of the changed call, including defaults.
        attrs: AttrValues,
        /// For each result, the position of the axis.
        results: Vec<usize>,
    },
    /// One call for each index of the axis, in order; the results are stacked.
    Loop {
        /// Reason for the loop: `scale is batched but has no *`.
        reason: String,
    },
}

/// Batching rule for all calls of an op.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BatchSummary {
    /// Always one call with the axis prepended.
    Native,
    /// One call with the axis prepended, unless one of these operands is batched.
    NativeUnless {
        /// Names of operands without `*`.
        operands: Vec<String>,
    },
    /// Decided for each call by the op's batching function.
    ByHand,
    /// Always as a loop.
    Loop {
        /// Reason for the loop.
        reason: String,
    },
    /// Never vmapped, as declared by the op's author.
    Never,
}

impl Signature {
    /// Returns the batching rule of a call. `batched` has one flag for each operand of the call.
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

    /// Returns the batching rule for all calls of the op.
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

    /// Returns the reason if no call can have an axis prepended.
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
