//! Operations without a kernel, which the reference evaluator runs on copies of the buffers.
//!
//! Each custom call in a region has a separate plan, whose contexts belong to the run. The call runs once
//! each time the evaluator applies the region. All of these executions share the states that the target
//! created when the plan was loaded and when the run began.

use std::cell::RefCell;

use farcall_ir::eval::{
    self, Denormals, EvalHost, EvalValue, HostCall, HostError, Link, Meeting, eval_form, tensors,
};
use farcall_ir::op::collective::Process;
use farcall_ir::{Literal, TensorType, Type, interrupt};

use super::RunError;
use super::context::Context;
use super::denormals::Mode;
use super::load::Loaded;
use farcall_host::custom_call::RunContext;
use farcall_host::processes::{Participant, ProcessError};
use farcall_host::transfers::{TransferError, Transfers};
use farcall_plan::{NestedCall, Plan, ReferenceSite};

/// Runs the plan of a custom call in a region.
pub(super) type RunNested =
    fn(&Loaded, &mut Context, inputs: Vec<Literal>, &RunContext) -> Result<Vec<Literal>, RunError>;

/// Evaluates an instruction on the inputs of its thunk. `nested` runs the custom calls in its regions.
pub(super) fn run(
    nested: RunNested,
    plan: &Plan,
    site: &ReferenceSite,
    loaded: &[Loaded],
    contexts: &mut [Context],
    run: &RunContext,
    inputs: Vec<Literal>,
) -> Result<Vec<Literal>, RunError> {
    let values: Vec<EvalValue> = inputs.into_iter().map(EvalValue::Tensor).collect();
    let host = Nested { nested, site, loaded, contexts: RefCell::new(contexts), run };
    // The evaluator itself flushes subnormal numbers where required. If the processor also flushed them, the
    // evaluator would lose subnormal numbers that it only moves.
    let _mode = Mode::enter(Denormals::Ieee);
    match eval_form(&site.program, site.entry(), &values, &host, plan.numerics()) {
        Ok(results) => Ok(results.iter().filter_map(|v| v.tensor().cloned()).collect()),
        Err(error) => Err(RunError::evaluating(error)),
    }
}

/// Runs the custom calls in the regions of an instruction.
struct Nested<'a> {
    nested: RunNested,
    site: &'a ReferenceSite,
    loaded: &'a [Loaded],
    contexts: RefCell<&'a mut [Context]>,
    run: &'a RunContext,
}

impl Nested<'_> {
    /// The process of this run, if its grid has no host.
    fn isolated(&self) -> Option<&Participant> {
        self.run.participant().filter(|participant| participant.is_isolated())
    }

    fn transfers(&self) -> Result<&Transfers, String> {
        self.run
            .transfers()
            .ok_or_else(|| "this run has no queues to exchange values with its caller".to_owned())
    }
}

impl EvalHost for Nested<'_> {
    fn custom_call(&self, site: &HostCall<'_>, operands: &[EvalValue]) -> Result<Vec<EvalValue>, HostError> {
        let is_this = |call: &NestedCall| {
            call.inst == site.inst.id() && site.module[call.func].name == site.inst.func().name
        };
        let found = self.site.calls.iter().position(is_this);
        let number = found.ok_or("this call is not known to the plan; this is a bug in farcall")?;
        let (loaded, mut contexts) = (&self.loaded[number], self.contexts.borrow_mut());
        let outputs = (self.nested)(loaded, &mut contexts[number], tensors(operands), self.run)?;
        Ok(values(site.results(), outputs)?)
    }

    fn infeed(&self, _: &str, types: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        self.transfers()?.infeed(types, &is_due_after_wait).map_err(failed)
    }

    fn outfeed(&self, _: &str, values: Vec<Literal>) -> Result<(), HostError> {
        self.transfers()?.outfeed(values);
        Ok(())
    }

    fn send(&self, channel: i64, values: Vec<Literal>) -> Result<(), HostError> {
        if let Some(participant) = self.isolated() {
            participant.post(channel, None, values);
            return Ok(());
        }
        self.transfers()?.sent(channel, values);
        Ok(())
    }

    fn recv(&self, channel: i64, types: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        if let Some(participant) = self.isolated() {
            return received(participant.receive_from_any(channel, types));
        }
        self.transfers()?.recv(channel, types, &is_due_after_wait).map_err(failed)
    }

    fn process(&self) -> Option<Process> {
        self.run.participant().map(Participant::process)
    }

    fn exchange(&self, meeting: &Meeting<'_>, values: Vec<Literal>) -> Result<Vec<Vec<Literal>>, HostError> {
        let participant = self.run.participant().ok_or("this run has no other processes")?;
        received(participant.exchange(meeting, values))
    }

    fn send_to(&self, link: &Link<'_>, values: Vec<Literal>) -> Result<(), HostError> {
        let participant = self.run.participant().ok_or("this run has no other processes")?;
        participant.post(link.channel, link.peer, values);
        Ok(())
    }

    fn recv_from(&self, link: &Link<'_>, types: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        let participant = self.run.participant().ok_or("this run has no other processes")?;
        received(participant.receive_over(link, types))
    }
}

/// Converts the error of an exchange with other processes.
fn received<T>(result: Result<T, ProcessError>) -> Result<T, HostError> {
    result.map_err(|error| RunError::from(error).into())
}

/// Returns true if the run has to end. Called after a wait, during which an interrupt may have become due.
fn is_due_after_wait() -> bool {
    interrupt::look_soon();
    interrupt::is_due()
}

/// Converts the error of a transfer. If an interrupt ended the run while the transfer waited, the error is
/// that of an interrupted run.
fn failed(error: TransferError) -> HostError {
    match error {
        TransferError::Interrupted => RunError::Interrupted.into(),
        other => other.into(),
    }
}

/// Assembles tensors into values of these types.
pub fn values<'t>(
    types: impl Iterator<Item = &'t Type>,
    tensors: Vec<Literal>,
) -> Result<Vec<EvalValue>, String> {
    eval::values(types, tensors).ok_or_else(|| "the call returned the wrong number of results".to_owned())
}
