//! Estimates of costs, under the names of XLA's `HloCostAnalysis`.

use farcall::plan::Plan;

/// Costs of one run. Bodies of loops count once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Costs {
    /// Number of arithmetic operations.
    pub(crate) operations: u64,
    /// Number of bytes that are read and written.
    pub(crate) bytes: u64,
    /// Rough estimate of the time on one thread.
    pub(crate) picoseconds: u64,
}

impl Costs {
    /// Adds up the costs of a plan's steps.
    pub(crate) fn of(plan: &Plan) -> Costs {
        let mut costs = Costs::default();
        for thunk in plan.thunks() {
            thunk.walk(&mut |thunk| {
                let cost = plan.work(thunk);
                costs.operations = costs.operations.saturating_add(cost.flops);
                costs.bytes = costs.bytes.saturating_add(cost.bytes);
                costs.picoseconds = costs.picoseconds.saturating_add(plan.estimated_picoseconds(thunk));
            });
        }
        costs
    }

    /// Returns the costs by name.
    pub(crate) fn named(self) -> Vec<(String, f32)> {
        vec![("flops".to_owned(), self.operations as f32), ("bytes accessed".to_owned(), self.bytes as f32)]
    }
}
