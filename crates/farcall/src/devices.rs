//! Programs that run on several devices at once.
//!
//! A program for several devices is compiled once and runs on every device of its [`Grid`]: the replicas and
//! partitions that its module or its [`CompileOptions`](crate::CompileOptions::grid) name. The devices are
//! logical: each is a thread of this process with its share of the threads. They exchange values with
//! collectives (`all_reduce`, `collective_permute`, …), `send` and `recv`. The device of a replica and a
//! partition has the number `replica * partitions + partition`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use farcall_host::custom_call::{RunContext, ThreadPool};
use farcall_host::device::DeviceBuffer;
use farcall_host::processes::{Participant, ProcessFailure, Processes};
use farcall_ir::eval::{self, EvalError, EvalHost, EvalValue, HostCall, HostError, Link, Meeting, Numerics};
use farcall_ir::op::collective::Process;
use farcall_ir::verify::Verified;
use farcall_ir::{Func, Literal, Module, TensorType, interrupt};
use farcall_runtime::{Inputs, RunError};

pub use farcall_host::processes::MAX_PROCESSES as MAX_DEVICES;
pub use farcall_ir::op::collective::Grid;

use crate::Executable;
use crate::executable::RunOptions;

impl Executable {
    /// Runs the program on all devices of its [grid](Executable::grid). `inputs` has the inputs of each
    /// device, and the result has the results of each device, in the order of the devices' numbers. Inputs
    /// stay unchanged.
    ///
    /// Each device runs on a thread of its own. Handlers see the number of their device as the device
    /// ordinal, and all devices as one run (same run id).
    ///
    /// ```
    /// use farcall::devices::Grid;
    /// use farcall::ir::{DType, Literal, Source, text};
    /// use farcall::{CompileOptions, Executable, Registry};
    ///
    /// let program = r#"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    ///   %0 = "stablehlo.all_reduce"(%x) ({
    ///   ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    ///     %1 = stablehlo.add %a, %b : tensor<f32>
    ///     stablehlo.return %1 : tensor<f32>
    ///   }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    ///   return %0 : tensor<2xf32>
    /// }"#;
    /// let module = text::parse(&Source::new("sum.mlir", program))?;
    /// let options = CompileOptions::new().grid(Grid { replicas: 2, partitions: 1 });
    /// let sum = Executable::compile(&module, &Registry::new(), &options)?;
    /// let of = |x: [f32; 2]| vec![Literal::from_slice(DType::F32, [2], &x)];
    /// let results = sum.run_on_devices(&[of([1.0, 2.0]), of([10.0, 20.0])])?;
    /// assert_eq!(results[0][0].as_slice::<f32>(), [11.0, 22.0]);
    /// assert_eq!(results[0], results[1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one list of inputs for each device, or if the inputs of a device are wrong
    /// ([`execute`](Executable::execute)); the error of the first device that fails; or, if devices wait for
    /// each other in vain, an error that names them and what they wait for.
    pub fn run_on_devices(&self, inputs: &[Vec<Literal>]) -> Result<Vec<Vec<Literal>>, RunError> {
        self.run_on_devices_with(inputs, &[])
    }

    /// Runs the program like [`run_on_devices`](Executable::run_on_devices), with contexts: one for each
    /// device, one for all, or none. A context determines what handlers see of the run. If each device has
    /// its own context, handlers see the device ordinal of that context. The threads of the first context are
    /// divided among the devices, and its interrupt ends the run on all devices.
    ///
    /// # Errors
    /// Same errors as [`run_on_devices`](Executable::run_on_devices).
    pub fn run_on_devices_with(
        &self,
        inputs: &[Vec<Literal>],
        contexts: &[RunContext],
    ) -> Result<Vec<Vec<Literal>>, RunError> {
        self.check_devices(inputs.len(), contexts)?;
        let programs: Vec<&Executable> = vec![self; inputs.len()];
        let inputs: Vec<Given<'_>> =
            inputs.iter().map(|inputs| Given::new(Inputs::Borrowed(inputs))).collect();
        run_each(&Processes::new(self.grid()), &programs, &inputs, contexts)
    }

    /// Runs the program like [`run_on_devices_with`](Executable::run_on_devices_with) on buffers that the run
    /// consumes. Inputs that the program donates are updated in place, as
    /// [`execute`](Executable::execute) describes.
    ///
    /// # Errors
    /// Same errors as [`run_on_devices`](Executable::run_on_devices). The inputs are consumed even then.
    pub fn execute_on_devices(
        &self,
        inputs: Vec<Vec<DeviceBuffer>>,
        contexts: &[RunContext],
    ) -> Result<Vec<Vec<DeviceBuffer>>, RunError> {
        self.check_devices(inputs.len(), contexts)?;
        let programs: Vec<&Executable> = vec![self; inputs.len()];
        let given = |inputs: Vec<DeviceBuffer>| {
            let inputs: Result<Vec<Literal>, _> =
                inputs.into_iter().map(DeviceBuffer::into_literal).collect();
            Ok(Given::new(Inputs::Owned(inputs.map_err(RunError::Buffer)?)))
        };
        let inputs = inputs.into_iter().map(given).collect::<Result<Vec<Given<'_>>, RunError>>()?;
        let results = run_each(&Processes::new(self.grid()), &programs, &inputs, contexts)?;
        Ok(results.into_iter().map(|of| of.into_iter().map(DeviceBuffer::from).collect()).collect())
    }

    fn check_devices(&self, found: usize, contexts: &[RunContext]) -> Result<(), RunError> {
        let grid = self.grid();
        if found != grid.processes() || contexts.len() > 1 && contexts.len() != found {
            return Err(RunError::Grid { grid, found });
        }
        Ok(())
    }
}

/// The inputs of a device, which its thread takes.
pub(crate) struct Given<'a>(Mutex<Option<Inputs<'a>>>);

impl<'a> Given<'a> {
    pub(crate) fn new(inputs: Inputs<'a>) -> Given<'a> {
        Given(Mutex::new(Some(inputs)))
    }

    fn take(&self) -> Inputs<'a> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(Inputs::Borrowed(&[]))
    }
}

/// Runs one program for each process.
pub(crate) fn run_each(
    processes: &Arc<Processes>,
    programs: &[&Executable],
    inputs: &[Given<'_>],
    contexts: &[RunContext],
) -> Result<Vec<Vec<Literal>>, RunError> {
    let common = RunContext::new();
    let first = contexts.first().unwrap_or(&common);
    let pools = pools(first.pool().size(), programs.len());
    let own = first.interrupt();
    let is_due = || {
        interrupt::look_soon();
        own.is_some_and(|own| {
            own.look_soon();
            own.is_due()
        }) || interrupt::is_due()
    };
    let is_interruptible = own.is_some() || interrupt::Scope::current().is_some();
    let work = |participant: &Participant| {
        let number = participant.process().number;
        let (context, ordinal) = match contexts.get(number).filter(|_| contexts.len() > 1) {
            Some(context) => (context, context.device_ordinal()),
            None => (first, i32::try_from(number).unwrap_or(i32::MAX)),
        };
        let mut context = context.for_process(participant, ordinal, Arc::clone(&pools[number]));
        context.set_run_id(first.run_id());
        let (program, inputs) = (programs[number], inputs[number].take());
        program.check(match &inputs {
            Inputs::Borrowed(inputs) => inputs,
            Inputs::Owned(inputs) => inputs,
        })?;
        program.launch(inputs, RunOptions::new().context(&context))
    };
    let interrupted: Option<&dyn Fn() -> bool> = if is_interruptible { Some(&is_due) } else { None };
    processes.run(interrupted, work).map_err(|failure| match failure {
        ProcessFailure::Process { error: error @ RunError::Devices(_), .. } => error,
        ProcessFailure::Process { number, error } => RunError::OnDevice { number, error: Box::new(error) },
        ProcessFailure::Interrupted => RunError::Interrupted,
        ProcessFailure::Thread(error) => RunError::Thread(Arc::new(error)),
    })
}

/// Returns a pool of threads for each device, which together have `threads` threads, at least one each. The
/// pools are kept for later runs.
fn pools(threads: usize, devices: usize) -> Vec<Arc<ThreadPool>> {
    static KEPT: LazyLock<Mutex<HashMap<usize, Vec<Arc<ThreadPool>>>>> = LazyLock::new(Mutex::default);
    let share = Processes::share(threads, devices);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = kept.entry(share).or_default();
    while pools.len() < devices {
        pools.push(Arc::new(ThreadPool::new(share)));
    }
    pools[..devices].to_vec()
}

/// Evaluates a function of a program once for each process of a grid, with the reference evaluator.
/// `inputs` has the inputs of each process, and the result has its results. `host` makes the host of a
/// process, which runs the custom calls of the process on the process's thread.
///
/// # Errors
/// The error of the first process that fails, with its number; same errors as [`eval`](eval::eval).
pub fn eval_on_devices<H: EvalHost>(
    module: &Verified<'_>,
    func: &Func,
    grid: Grid,
    inputs: &[Vec<EvalValue>],
    host: impl Fn(Process) -> H + Sync,
    numerics: impl Into<Numerics>,
) -> Result<Vec<Vec<EvalValue>>, EvalError> {
    let programs: Vec<(&Func, &[EvalValue])> = inputs.iter().map(|inputs| (func, &**inputs)).collect();
    eval_each(module, &Processes::new(grid), &programs, host, numerics.into())
}

/// Evaluates one function for each process.
pub(crate) fn eval_each<H: EvalHost>(
    module: &Module,
    processes: &Arc<Processes>,
    programs: &[(&Func, &[EvalValue])],
    host: impl Fn(Process) -> H + Sync,
    numerics: Numerics,
) -> Result<Vec<Vec<EvalValue>>, EvalError> {
    let is_due = || {
        interrupt::look_soon();
        interrupt::is_due()
    };
    let interrupted: Option<&dyn Fn() -> bool> =
        if interrupt::Scope::current().is_some() { Some(&is_due) } else { None };
    let work = |participant: &Participant| {
        let host = OneOf { participant, host: host(participant.process()) };
        let (func, inputs) = programs[participant.process().number];
        let run = || eval::eval_form(module, func, inputs, &host, numerics);
        interrupt::during(participant.interrupt(), run).map_err(EvalError::from)?
    };
    processes.run(interrupted, work).map_err(|failure| match failure {
        ProcessFailure::Process { error, .. } => error,
        ProcessFailure::Interrupted => EvalError::from(interrupt::Interrupted),
        ProcessFailure::Thread(error) => EvalError::from(HostError::from(error)),
    })
}

/// The host of one process among several: passes values to the other processes, and everything else to a host
/// of its own.
struct OneOf<'a, H> {
    participant: &'a Participant,
    host: H,
}

impl<H: EvalHost> EvalHost for OneOf<'_, H> {
    fn custom_call(&self, call: &HostCall<'_>, operands: &[EvalValue]) -> Result<Vec<EvalValue>, HostError> {
        self.host.custom_call(call, operands)
    }

    fn infeed(&self, config: &str, types: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        self.host.infeed(config, types)
    }

    fn outfeed(&self, config: &str, values: Vec<Literal>) -> Result<(), HostError> {
        self.host.outfeed(config, values)
    }

    fn send(&self, channel: i64, values: Vec<Literal>) -> Result<(), HostError> {
        if self.participant.is_isolated() {
            self.participant.post(channel, None, values);
            return Ok(());
        }
        self.host.send(channel, values)
    }

    fn recv(&self, channel: i64, types: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        if self.participant.is_isolated() {
            return Ok(self.participant.receive_from_any(channel, types)?);
        }
        self.host.recv(channel, types)
    }

    fn process(&self) -> Option<Process> {
        Some(self.participant.process())
    }

    fn exchange(&self, meeting: &Meeting<'_>, values: Vec<Literal>) -> Result<Vec<Vec<Literal>>, HostError> {
        Ok(self.participant.exchange(meeting, values)?)
    }

    fn send_to(&self, link: &Link<'_>, values: Vec<Literal>) -> Result<(), HostError> {
        self.participant.post(link.channel, link.peer, values);
        Ok(())
    }

    fn recv_from(&self, link: &Link<'_>, types: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        Ok(self.participant.receive_over(link, types)?)
    }
}
