//! Compiled programs: the type that users of the engine hold.

use crate::CodedError;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_ir::bounded;
use farcall_ir::diag::Diagnostics;
use farcall_ir::eval::Numerics;
use farcall_ir::interface::{ArgumentInfo, Interface, SymbolicType};
use farcall_ir::interrupt;
use farcall_ir::memory;
use farcall_ir::op::collective::Grid;
use farcall_ir::stack;
use farcall_ir::verify::{Verified, verify, verify_owned};
use farcall_ir::{Diagnostic, Literal, Module, ProgramError, Span, TensorType};

use farcall_compile::{CompileError, CompileOptions, compile_static, specialize};
use farcall_host::ErrorCode;
use farcall_host::custom_call::{CallError, RunContext};
use farcall_host::device::{BufferError, Device, DeviceBuffer, DeviceStream, Pending};
use farcall_host::registry::Registry;
use farcall_plan::{ParamSpec, Plan, ValidPlan};
use farcall_runtime::profile::Profile;
use farcall_runtime::{Inputs, InstantiateError, LoadedPlan, RunError};

/// Statistics of a compilation: its time and its result.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CompileStats {
    /// Time to check the program against the specification.
    pub verify: Duration,
    /// Time to compile the module to the plan.
    pub plan: Duration,
    /// Time to lay out the constants and load the plan.
    pub load: Duration,
    /// Bytes of scratch memory per concurrent run.
    pub arena_bytes: usize,
    /// Bytes of constants.
    pub constant_bytes: usize,
    /// Number of thunks by kind, nested thunks included. `reference` counts the operations that have no
    /// kernel.
    pub thunks: BTreeMap<&'static str, usize>,
}

/// Options of one run of an executable. A [`RunContext`] or a [`Profile`] can be passed in place of options.
///
/// ```
/// use farcall::custom_call::RunContext;
/// use farcall::{Profile, RunOptions};
///
/// let (run, mut profile) = (RunContext::new(), Profile::new());
/// let options = RunOptions::new().context(&run).profile(&mut profile);
/// # drop(options);
/// ```
#[derive(Debug, Default)]
pub struct RunOptions<'r> {
    context: Option<&'r RunContext>,
    profile: Option<&'r mut Profile>,
}

impl<'r> RunOptions<'r> {
    /// Creates the default options; each setter documents its default.
    pub fn new() -> RunOptions<'r> {
        RunOptions::default()
    }

    /// Sets the context, which determines what handlers see of the run: its id, the device, the threads for
    /// their tasks, and the embedder's data and options. By default, every run has a fresh id, is on device
    /// 0, and uses the threads of the process.
    #[must_use]
    pub fn context(mut self, run: impl Into<Option<&'r RunContext>>) -> RunOptions<'r> {
        self.context = run.into();
        self
    }

    /// Adds the times of the run to a profile, which holds runs of one executable only. By default, times are
    /// not measured.
    #[must_use]
    pub fn profile(mut self, profile: &'r mut Profile) -> RunOptions<'r> {
        self.profile = Some(profile);
        self
    }
}

impl<'r> From<&'r RunContext> for RunOptions<'r> {
    fn from(run: &'r RunContext) -> RunOptions<'r> {
        RunOptions::new().context(run)
    }
}

impl<'r> From<&'r mut Profile> for RunOptions<'r> {
    fn from(profile: &'r mut Profile) -> RunOptions<'r> {
        RunOptions::new().profile(profile)
    }
}

/// A compiled program.
///
/// Clones share the program. Any number of threads may run it at once, and it stays usable after a failed
/// run.
#[derive(Clone, Debug)]
pub struct Executable {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    program: Arc<LoadedPlan>,
    device: Device,
    inputs: Vec<TensorType>,
    outputs: Vec<TensorType>,
    stats: CompileStats,
}

impl Executable {
    /// Verifies and compiles a program, and binds its custom calls to targets of `registry`.
    ///
    /// A program with dynamic dimensions is compiled for one list of input types: the types in `options`, or
    /// the types of the parameters, if these are static and only values computed from them are dynamic.
    ///
    /// ```
    /// use farcall::ir::{DType, Literal, Source, TensorType, text};
    /// use farcall::{CompileOptions, Executable, Registry};
    ///
    /// let program = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
    ///   %0 = stablehlo.add %x, %x : tensor<?xf32>
    ///   return %0 : tensor<?xf32>
    /// }";
    /// let module = text::parse(&Source::new("double.mlir", program))?;
    /// let options = CompileOptions::new().inputs([TensorType::new(DType::F32, [2])]);
    /// let double = Executable::compile(&module, &Registry::new(), &options)?;
    /// let results = double.run(&[Literal::from_slice(DType::F32, [2], &[1f32, 2.5])])?;
    /// assert_eq!(results[0].as_slice::<f32>(), [2.0, 5.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Every violation of the specification that the verifier finds; a shape that does not follow from the
    /// types of the inputs; then every missing target, with its location, similar names and how to load a
    /// library; then the errors of [`from_plan`](Executable::from_plan).
    pub fn compile(
        module: &Module,
        registry: &Registry,
        options: &CompileOptions,
    ) -> Result<Executable, CompileError> {
        stack::with_room(|| Executable::of(|| verify(module), registry, options))
    }

    /// Compiles like [`compile`](Executable::compile), and consumes the module. A module with custom calls
    /// that stand for operations (`Sharding`, `ApproxTopK`, …) is rewritten in place instead of copied; for
    /// other modules, the two methods do the same.
    ///
    /// # Errors
    /// Same errors as [`compile`](Executable::compile).
    pub fn compile_owned(
        module: Module,
        registry: &Registry,
        options: &CompileOptions,
    ) -> Result<Executable, CompileError> {
        stack::with_room(|| Executable::of(|| verify_owned(module), registry, options))
    }

    /// Compiles a program that has been verified, like [`compile`](Executable::compile).
    ///
    /// # Errors
    /// Same errors as [`compile`](Executable::compile), except those of the verifier.
    pub fn compile_verified(
        module: &Verified<'_>,
        registry: &Registry,
        options: &CompileOptions,
    ) -> Result<Executable, CompileError> {
        stack::with_room(|| Executable::of(|| Ok(module.borrowed()), registry, options))
    }

    fn of<'m>(
        verify: impl FnOnce() -> Result<Verified<'m>, ProgramError>,
        registry: &Registry,
        options: &CompileOptions,
    ) -> Result<Executable, CompileError> {
        let begin = Instant::now();
        let planned = || {
            let module = specialize(verify()?, options)?;
            let took = begin.elapsed();
            Ok((compile_static(&module, registry, options, &mut |_| {})?, took))
        };
        let planned: Result<_, CompileError> = planned();
        // After an interrupt, the plan may be incomplete, and an error may only be a consequence of the
        // interrupt.
        interrupt::complete()?;
        let (plan, verify) = planned?;
        let took = begin.elapsed();
        let mut executable = Executable::loaded(plan, registry)?;
        if let Some(inner) = Arc::get_mut(&mut executable.inner) {
            inner.stats.verify = verify;
            inner.stats.plan = took - verify;
        }
        Ok(executable)
    }

    /// Compiles a program that consists of one custom call of a verified program.
    pub(crate) fn of_call(
        module: Module,
        registry: &Registry,
        numerics: Numerics,
    ) -> Result<Executable, CompileError> {
        let module = verify_owned(module)?.into_static()?;
        let options = CompileOptions::new().numerics(numerics);
        Executable::loaded(compile_static(&module, registry, &options, &mut |_| {})?, registry)
    }

    /// Prepares a plan to run: lays out its constants, and instantiates the targets of its custom calls,
    /// which are looked up in `registry`.
    ///
    /// # Errors
    /// If the plan is for a device that does not exist here, needs more memory than is available, or calls a
    /// target that is missing or refuses the call.
    pub fn from_plan(plan: ValidPlan, registry: &Registry) -> Result<Executable, CompileError> {
        stack::with_room(|| Executable::loaded(plan, registry))
    }

    fn loaded(plan: ValidPlan, registry: &Registry) -> Result<Executable, CompileError> {
        let begin = Instant::now();
        let device =
            Device::of(plan.platform()).ok_or_else(|| CompileError::NoDevice(plan.platform().clone()))?;
        // A program that needs too much memory is refused when it is loaded rather than when it runs.
        memory::admit_program(plan.memory()).map_err(|error| {
            let what = format!(
                "the program's values take {} bytes, its constants {}, its results the rest",
                plan.arena_size(),
                plan.constant_bytes()
            );
            CompileError::Memory { what, error }
        })?;
        let source = Arc::clone(plan.source());
        let calls = |diagnostics: Vec<Diagnostic>, code| CompileError::Calls {
            error: Diagnostics::from_iter(diagnostics).into_error(&source),
            code,
        };
        let loaded = LoadedPlan::new(plan, registry);
        interrupt::complete()?;
        let loaded = loaded.map_err(|error| match error {
            InstantiateError::Memory(error) => {
                CompileError::Memory { what: "the program's constants".to_owned(), error }
            }
            InstantiateError::Targets(missing) => calls(missing, ErrorCode::MissingTarget),
            InstantiateError::Calls(refused) => {
                let code = refused.first().map_or(ErrorCode::InvalidPlan, CallError::code);
                // A plan may leave out the locations of its calls.
                let nowhere = |e: &CallError| Diagnostic::new("custom_call", Span::default(), e.to_string());
                calls(refused.iter().map(|e| e.diagnostic().unwrap_or_else(|| nowhere(e))).collect(), code)
            }
        })?;
        let plan = loaded.plan();
        let stats = CompileStats {
            verify: Duration::ZERO,
            plan: Duration::ZERO,
            load: begin.elapsed(),
            arena_bytes: plan.arena_size(),
            constant_bytes: plan.constant_bytes(),
            thunks: plan.thunk_counts(),
        };
        let inputs = plan.params().iter().map(|p| p.ty.clone()).collect();
        let sizes: HashSet<usize> = plan.cuts().iter().map(|cut| cut.size).collect();
        let outputs = plan.results().iter().enumerate().filter(|(i, _)| !sizes.contains(i));
        let outputs = outputs.map(|(_, r)| r.ty.clone()).collect();
        let inner = Inner { device, inputs, outputs, stats, program: Arc::new(loaded) };
        Ok(Executable { inner: Arc::new(inner) })
    }

    /// The device that the program runs on.
    pub fn device(&self) -> Device {
        self.inner.device
    }

    /// The grid of devices that the program is for. [`run_on_devices`](Executable::run_on_devices) runs a
    /// program on all devices of its grid.
    pub fn grid(&self) -> Grid {
        self.plan().grid()
    }

    /// Types of the inputs.
    pub fn inputs(&self) -> &[TensorType] {
        &self.inner.inputs
    }

    /// Types of the results. A bounded dimension whose size is computed at run time has its bound as size
    /// here; each run cuts the result to the computed size.
    pub fn outputs(&self) -> &[TensorType] {
        &self.inner.outputs
    }

    /// Time that all runs together have spent in the reference evaluator, which computes the operations
    /// without a kernel.
    pub fn evaluator_time(&self) -> std::time::Duration {
        self.inner.program.evaluator_time()
    }

    /// The interface of the program: its argument and result types, and the names of the arguments, as far as
    /// the program gives names.
    pub fn interface(&self) -> Interface {
        let params = self.plan().params().iter().enumerate();
        let arguments = params.map(|(i, param)| ArgumentInfo {
            name: param.name.clone().unwrap_or_else(|| format!("arg{i}")),
            path: None,
            ty: SymbolicType::of(&param.ty),
            input: Some(i),
        });
        Interface {
            name: "the program".to_owned(),
            arguments: arguments.collect(),
            results: self.outputs().iter().map(SymbolicType::of).collect(),
            constraints: Vec::new(),
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.inner.program.plan()
    }

    /// Statistics of the compilation.
    pub fn stats(&self) -> &CompileStats {
        &self.inner.stats
    }

    /// Runs the program and returns one buffer per result.
    ///
    /// An input that the program donates (`tf.aliasing_output`, `jax.buffer_donor`; a plan shows it as
    /// `donated`) is updated in place: the result that takes over the input's memory needs no copy, and a
    /// custom call that changes its operand in place gets the input's memory, too. A donated input that
    /// shares its elements with another buffer is copied first, so that no value that is still in use
    /// changes.
    ///
    /// ```
    /// use farcall::ir::{DType, Literal, Source, text};
    /// use farcall::{CompileOptions, Executable, Registry};
    ///
    /// let program = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    ///   %0 = stablehlo.add %x, %x : tensor<2xf32>
    ///   return %0 : tensor<2xf32>
    /// }";
    /// let module = text::parse(&Source::new("double.mlir", program))?;
    /// let double = Executable::compile(&module, &Registry::new(), &CompileOptions::new())?;
    /// let results = double.execute([Literal::from_slice(DType::F32, [2], &[1f32, 2.5])])?;
    /// assert_eq!(results[0].host().unwrap().as_slice::<f32>(), [2.0, 5.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there are too few or too many inputs, if an input does not have the type of the parameter or is on
    /// another device, or if a custom call fails. The inputs are consumed even then.
    pub fn execute<B: Into<DeviceBuffer>>(
        &self,
        inputs: impl IntoIterator<Item = B>,
    ) -> Result<Vec<DeviceBuffer>, RunError> {
        self.execute_with(inputs, RunOptions::new())
    }

    /// Runs the program like [`execute`](Executable::execute), with options.
    ///
    /// # Errors
    /// Same errors as [`execute`](Executable::execute).
    pub fn execute_with<'r, B: Into<DeviceBuffer>>(
        &self,
        inputs: impl IntoIterator<Item = B>,
        options: impl Into<RunOptions<'r>>,
    ) -> Result<Vec<DeviceBuffer>, RunError> {
        self.executed(inputs.into_iter().map(B::into).collect(), options.into())
    }

    /// Enqueues a run of the program on a stream. The run begins when all earlier work on the stream is done;
    /// the caller does not wait.
    ///
    /// # Errors
    /// The errors of [`execute`](Executable::execute), from [`Pending::wait`]; [`RunError::Device`] if the
    /// stream belongs to another device.
    pub fn enqueue(
        &self,
        inputs: Vec<DeviceBuffer>,
        run: RunContext,
        stream: &DeviceStream,
    ) -> Pending<Result<Vec<DeviceBuffer>, RunError>> {
        let (executable, device) = (self.clone(), stream.device());
        stream.enqueue(move || {
            if device != executable.device() {
                return Err(RunError::Device { expected: executable.device(), found: device });
            }
            executable.execute_with(inputs, &run)
        })
    }

    /// Runs the program on literals and returns one literal per result. This method is meant for tests, and
    /// for inputs and results in host memory. To keep values on a device between runs, use
    /// [`execute`](Executable::execute).
    ///
    /// The inputs stay unchanged: a donated input is copied first.
    ///
    /// # Errors
    /// Same errors as [`execute`](Executable::execute).
    pub fn run(&self, inputs: &[Literal]) -> Result<Vec<Literal>, RunError> {
        self.run_with(inputs, RunOptions::new())
    }

    /// Runs the program like [`run`](Executable::run), with options.
    ///
    /// # Errors
    /// Same errors as [`execute`](Executable::execute).
    pub fn run_with<'r>(
        &self,
        inputs: &[Literal],
        options: impl Into<RunOptions<'r>>,
    ) -> Result<Vec<Literal>, RunError> {
        self.check(inputs)?;
        self.launch(Inputs::Borrowed(inputs), options.into())
    }

    /// Runs the program on inputs that have been checked.
    pub(crate) fn launch(
        &self,
        inputs: Inputs<'_>,
        options: RunOptions<'_>,
    ) -> Result<Vec<Literal>, RunError> {
        let RunOptions { context, profile } = options;
        let program = &self.inner.program;
        self.cut(match profile {
            None => program.run(inputs, context),
            Some(profile) => profile.measure(|profile| program.run_watched(inputs, context, profile)),
        }?)
    }

    fn executed(
        &self,
        inputs: Vec<DeviceBuffer>,
        options: RunOptions<'_>,
    ) -> Result<Vec<DeviceBuffer>, RunError> {
        let device = self.device();
        if let Some(index) = inputs.iter().position(|input| input.device() != device) {
            let (expected, found) = (device, inputs[index].device());
            return Err(RunError::InputDevice { index, name: self.name(index), expected, found });
        }
        let inputs: Result<Vec<Literal>, BufferError> =
            inputs.into_iter().map(DeviceBuffer::into_literal).collect();
        let inputs = inputs.map_err(RunError::Buffer)?;
        self.check(&inputs)?;
        let results = self.launch(Inputs::Owned(inputs), options)?;
        Ok(results.into_iter().map(DeviceBuffer::from).collect())
    }

    /// Cuts results with bounded dimensions to their sizes.
    fn cut(&self, results: Vec<Literal>) -> Result<Vec<Literal>, RunError> {
        match self.plan().cuts() {
            [] => Ok(results),
            cuts => bounded::cut(cuts, results).map_err(RunError::Reference),
        }
    }

    /// The name of an input, if the program gives one.
    fn name(&self, index: usize) -> Option<String> {
        self.plan().params().get(index)?.name.clone()
    }

    /// Checks the number and the types of the inputs, and the elements of the inputs for which the program
    /// was compiled ([`ParamSpec::known`]).
    pub(crate) fn check(&self, inputs: &[Literal]) -> Result<(), RunError> {
        self.check_types(inputs, self.inputs())?;
        let differs =
            |(given, param): (&Literal, &ParamSpec)| param.known.as_ref().is_some_and(|k| k != given);
        match inputs.iter().zip(self.plan().params()).position(differs) {
            None => Ok(()),
            Some(index) => Err(RunError::KnownInput { index, name: self.name(index) }),
        }
    }

    /// Checks that inputs have these types.
    pub(crate) fn check_types(&self, inputs: &[Literal], wanted: &[TensorType]) -> Result<(), RunError> {
        if inputs.len() != wanted.len() {
            return Err(RunError::InputCount { expected: wanted.into(), found: inputs.len() });
        }
        for (index, (input, ty)) in inputs.iter().zip(wanted).enumerate() {
            if input.dtype() != ty.dtype || input.dims() != ty.sizes() {
                return Err(RunError::Input {
                    index,
                    name: self.name(index),
                    expected: ty.clone().into(),
                    found: input.ty().into(),
                });
            }
        }
        Ok(())
    }
}
