//! What runs of a program spend their time on, for Python.

use farcall::Profile;
use farcall::plan::Numbered;
use farcall_ir::TensorType;

/// A step: its number and that of the loop or choice that it is nested in; what it does; the types of its results; where it
/// comes from; how often it ran; seconds without and with what is nested in it; bytes and operations of a call.
pub(crate) type Step =
    (usize, Option<usize>, String, Vec<(&'static str, Vec<usize>)>, String, u64, f64, f64, u64, u64);

/// Seconds of each run, and the steps in order.
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

/// An element type's short name, and a shape.
pub(crate) fn described(ty: &TensorType) -> (&'static str, Vec<usize>) {
    (ty.dtype.name(), ty.sizes().to_vec())
}
