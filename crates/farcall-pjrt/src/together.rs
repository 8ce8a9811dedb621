//! Runs of one program on several devices at once.

use std::sync::Arc;

use farcall::custom_call::RunContext;
use farcall::ffi::unwind::catch;
use farcall::ir::Literal;
use farcall_pjrt_abi::ErrorCode;

use crate::event::Event;
use crate::executable::{self, Completion, Launch, Run};
use crate::status::{Outcome, Status};
use crate::value::{Promise, Value};

impl Launch<'_> {
    /// Starts the runs of all devices of a program, which exchange values. They run as soon as the arguments
    /// of all are ready. Returns the values of the results of each device, and the event of its run's end.
    ///
    /// # Errors
    /// The error of a run that happens in the call; other errors reach the values and the events.
    pub(crate) fn start_together(
        &self,
        mut runs: Vec<Run>,
        devices: &[usize],
    ) -> Outcome<Vec<(Vec<Value>, Event)>> {
        let [first, ..] = devices else { return Ok(Vec::new()) };
        let platform = Arc::clone(self.platform());
        let device = &self.platform().devices()[*first];
        for (run, device) in runs.iter_mut().zip(devices) {
            let context = run.context.take().unwrap_or_default();
            run.context = Some(context.with_device_ordinal(*device as i32));
        }
        if self.has_context() {
            let values = |outputs: Vec<Literal>| outputs.into_iter().map(Value::Known).collect();
            let of_device = |outputs| (values(outputs), Event::complete(Ok(())));
            return Ok(execute(runs)?.into_iter().map(of_device).collect());
        }
        if let Some(run) = runs.first_mut() {
            let context = run.context.take().unwrap_or_default();
            run.context = Some(context.with_interrupt(Arc::clone(device.interrupt())));
        }
        let calls_host = runs.iter().any(|run| run.program.calls_host);
        let waits_for_host =
            calls_host || runs.iter().flat_map(|run| &run.arguments).any(Value::waits_for_host);
        let mut started = Vec::with_capacity(runs.len());
        let mut completions = Vec::with_capacity(runs.len());
        for run in &runs {
            let promises: Vec<Promise> =
                run.program.results.iter().map(|_| Promise::new(waits_for_host)).collect();
            let done = Event::default();
            started.push((promises.iter().cloned().map(Value::Promised).collect(), done.clone()));
            completions.push(Completion { promises, done });
        }
        let arguments = runs.iter().flat_map(|run| &run.arguments);
        let pending: Vec<Event> =
            arguments.filter(|value| !value.is_ready()).map(Value::is_defined).collect();
        let slot = device.admit();
        let index = *first;
        Event::after_all(pending, move || {
            let work = move || {
                let mut outcomes = match execute(runs) {
                    Ok(outputs) => outputs.into_iter().map(Ok).collect(),
                    Err(status) => vec![Err(status); completions.len()],
                };
                for (completion, outcome) in completions.into_iter().zip(outcomes.drain(..)) {
                    completion.complete(outcome);
                }
            };
            // If the work does not start, the completions define the results.
            let _ = platform.devices()[index].start(slot, calls_host, work);
        });
        Ok(started)
    }
}

/// Waits for the arguments, and runs the program on all devices. Returns the results of each device.
fn execute(runs: Vec<Run>) -> Outcome<Vec<Vec<Literal>>> {
    let Some(program) = runs.first().map(|run| Arc::clone(&run.program)) else { return Ok(Vec::new()) };
    let mut contexts: Vec<RunContext> = Vec::with_capacity(runs.len());
    let mut inputs = Vec::with_capacity(runs.len());
    for run in runs {
        inputs.push(executable::inputs(&program, run.arguments)?);
        contexts.push(run.context.unwrap_or_default());
    }
    let run = || program.executable.execute_on_devices(inputs, &contexts).map_err(|e| Status::of(&e));
    let outputs = catch(run).unwrap_or_else(|panic| {
        let cause = panic.message().unwrap_or("no message");
        let message = format!("`{}`: a fault in farcall: {cause}", program.name);
        Err(Status::new(ErrorCode::INTERNAL, message))
    })?;
    outputs.into_iter().map(|outputs| executable::results(&program, outputs)).collect()
}
