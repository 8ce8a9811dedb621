//! The result of the last stage.

use farcall_kernels::{KernelId, PreparedKernel};
use farcall_plan::{InvalidPlan, Plan, PlanParts, ValidPlan};

/// The parts of a plan, and the prepared kernels of its compute thunks in the order of [`Plan::walk`].
/// `choose` has prepared these kernels for the operations and types of the thunks.
pub(crate) struct Compiled {
    pub(crate) plan: PlanParts,
    pub(crate) prepared: Vec<(KernelId, PreparedKernel)>,
}

impl Compiled {
    /// Checks the invariants of the plan, except those that the compiler itself guarantees: that the kernels
    /// fit their thunks, and that no thunk reads unwritten memory.
    pub(crate) fn validate(self) -> Result<ValidPlan, InvalidPlan> {
        // SAFETY: `lower` writes a thunk with the operation and the types for which `choose` has prepared its
        // kernel, and adds the kernel to the list at the same time. `assign` gives each value memory from
        // before the thunk that writes it until after the last thunk that reads it, and debug builds check
        // this.
        unsafe { Plan::from(self.plan).with_kernels(self.prepared) }
    }
}
