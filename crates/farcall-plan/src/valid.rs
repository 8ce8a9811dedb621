//! Plans that keep their invariants.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use farcall_ir::stack;
use farcall_kernels::{KernelId, PreparedKernel};

use super::{InvalidPlan, Plan};

/// A plan that keeps the invariants of the [module](super), with its prepared kernels. Only such a plan can
/// be loaded.
#[derive(Clone, Debug)]
pub struct ValidPlan {
    plan: Plan,
    kernels: Vec<Arc<PreparedKernel>>,
}

impl Plan {
    /// Checks the invariants of the [module](super), and prepares the kernels.
    ///
    /// # Errors
    /// If the plan violates an invariant. The error names the first thunk that does.
    pub fn validate(self) -> Result<ValidPlan, InvalidPlan> {
        let kernels = stack::with_room(|| self.prepare(None))?;
        Ok(ValidPlan { plan: self, kernels })
    }

    /// Returns the plan with kernels that have been prepared already, for the thunks that
    /// [have one](crate::ThunkOp::has_kernel), in the order of [`Plan::walk`]. Checks the other invariants, except for the one that no thunk reads unwritten memory.
    /// (Debug builds check this invariant, too.)
    ///
    /// # Errors
    /// If the plan violates an invariant. The error names the first thunk that does.
    ///
    /// # Safety
    /// Each kernel must have been prepared for the operation of its thunk and for the types of the thunk's
    /// operands and results. Every byte that a thunk reads must have been written before.
    pub unsafe fn with_kernels(
        self,
        kernels: Vec<(KernelId, PreparedKernel)>,
    ) -> Result<ValidPlan, InvalidPlan> {
        let kernels = stack::with_room(|| self.prepare(Some(kernels)))?;
        Ok(ValidPlan { plan: self, kernels })
    }
}

impl ValidPlan {
    /// The prepared kernels of the thunks that [have one](crate::ThunkOp::has_kernel), in the order of
    /// [`Plan::walk`].
    pub fn kernels(&self) -> &[Arc<PreparedKernel>] {
        &self.kernels
    }

    /// Returns the plan without its kernels, for [changes](Plan::into_parts).
    pub fn into_plan(self) -> Plan {
        self.plan
    }
}

impl Deref for ValidPlan {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

impl fmt::Display for ValidPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

/// Compares the plans. Equal plans have the same kernels.
impl PartialEq for ValidPlan {
    fn eq(&self, other: &ValidPlan) -> bool {
        self.plan == other.plan
    }
}
