//! Profiles of runs, for Python.

use farcall::Profile;
use farcall::plan::Numbered;
use farcall_ir::TensorType;

/// A step: its number; the number of the loop or conditional that it is nested in; its operation; the types
/// of its results; its source location; its number of calls; seconds without and with nested steps; bytes and
/// operations of a call.
pub(crate) type Step =
    (usize, Option<usize>, String, Vec<(&'static str, Vec<usize>)>, String, u64, f64, f64, u64, u64);

/// Returns the seconds of each run, and the steps in order.
pub(crate) fn steps(executable: &farcall::Executable, profile: &Profile) -> (Vec<f64>, Vec<Step>) {
    let plan = executable.plan();
    let step = |Numbered { number, thunk, parent, .. }| {
        let (time, work) = (profile.thunk(number), plan.work(thunk));
        let results = thunk.results().iter().map(|b| described(&b.ty)).collect();
        let (own, total) = (time.own.as_secs_f64(), time.total.as_secs_f64());
        let operation = plan.operation(thunk);
        let origin = plan.origin(thunk).short();
        (number, parent, operation, results, origin, time.calls, own, total, work.bytes, work.flops)
    };
    let runs = profile.runs().iter().map(|run| run.length().as_secs_f64()).collect();
    (runs, plan.numbered().into_iter().map(step).collect())
}

/// Returns an element type's short name, and a shape.
pub(crate) fn described(ty: &TensorType) -> (&'static str, Vec<usize>) {
    (ty.dtype.name(), ty.sizes().to_vec())
}
