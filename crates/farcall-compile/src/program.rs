//! Compilation of programs: options, errors, and the steps before the stages of the compiler (verification,
//! and refinement of dynamic dimensions).

use farcall_host::device::Device;
use farcall_host::registry::{Platform, Registry, Remedy, advise};
use farcall_host::{CodedError, ErrorCode};
use farcall_ir::bounded;
use farcall_ir::eval::{Denormals, Numerics, Semantics};
use farcall_ir::interrupt::Interrupted;
use farcall_ir::memory::OutOfMemory;
use farcall_ir::middle::pipeline::Pipeline;
use farcall_ir::op::collective::Grid;
use farcall_ir::refine::{self, RefineError};
use farcall_ir::verify::{StaticModule, Verified, entry, verify, verify_owned};
use farcall_ir::{Literal, Module, ProgramError, TensorType, middle};
use farcall_partition::Partitioned;
use farcall_plan::{InvalidPlan, ValidPlan};

use crate::blocks::Blocks;
use crate::options::Options;
use crate::partition;
use crate::stage::Stage;
use crate::stages::compile_stages;

/// Compiler options.
///
/// ```
/// use farcall::CompileOptions;
/// use farcall::ir::eval::{Denormals, Semantics};
///
/// let options = CompileOptions::new()
///     .entry("main")
///     .denormals(Denormals::Flush)
///     .semantics(Semantics::StableHlo);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompileOptions {
    entry: Option<String>,
    platform: Platform,
    numerics: Numerics,
    inputs: Option<Vec<TensorType>>,
    known: Vec<Option<Literal>>,
    passes: Pipeline,
    grid: Option<Grid>,
    partitioned: bool,
}

impl CompileOptions {
    /// Creates the default options; each setter documents its default.
    pub fn new() -> CompileOptions {
        CompileOptions::default()
    }

    /// Sets the function that a run starts with. Default: `main`, or the only public function.
    #[must_use]
    pub fn entry(mut self, name: impl Into<String>) -> CompileOptions {
        self.entry = Some(name.into());
        self
    }

    /// Sets the device that the program is compiled for. Default: the host.
    #[must_use]
    pub fn device(self, device: Device) -> CompileOptions {
        self.platform(device.platform().clone())
    }

    /// Sets the platform of the device that the program is compiled for. The device need not exist in this
    /// process ([`compile_plan`]). Default: `Host`.
    #[must_use]
    pub fn platform(mut self, platform: Platform) -> CompileOptions {
        self.platform = platform;
        self
    }

    /// Sets how subnormal numbers are handled.
    #[must_use]
    pub fn denormals(mut self, denormals: Denormals) -> CompileOptions {
        self.numerics.denormals = denormals;
        self
    }

    /// Sets which semantics to follow where XLA and the StableHLO specification disagree.
    #[must_use]
    pub fn semantics(mut self, semantics: Semantics) -> CompileOptions {
        self.numerics.semantics = semantics;
        self
    }

    /// Sets both parts of the numerics, denormals and semantics, at once.
    #[must_use]
    pub fn numerics(mut self, numerics: impl Into<Numerics>) -> CompileOptions {
        self.numerics = numerics.into();
        self
    }

    /// Sets the types of the inputs, for a program with dynamic dimensions. Default: the types that the
    /// program declares.
    #[must_use]
    pub fn inputs(mut self, types: impl IntoIterator<Item = TensorType>) -> CompileOptions {
        self.inputs = Some(types.into_iter().collect());
        self
    }

    /// Sets the elements of those inputs on which sizes depend; `inputs` has one entry for each input, in
    /// order. The program is compiled for these elements: a run with other elements is an error.
    #[must_use]
    pub fn known(mut self, inputs: impl IntoIterator<Item = Option<Literal>>) -> CompileOptions {
        self.known = inputs.into_iter().collect();
        self
    }

    /// Sets the grid of devices that the program is for. Default: the grid that the module names
    /// (`mhlo.num_replicas`, `mhlo.num_partitions`).
    #[must_use]
    pub fn grid(mut self, grid: impl Into<Option<Grid>>) -> CompileOptions {
        self.grid = grid.into();
        self
    }

    /// Sets whether a program that states shardings is divided among the partitions of its grid. Each device
    /// then takes its parts of the inputs, and returns its parts of the results
    /// ([`Plan::sharding`](farcall_plan::Plan::sharding)). Default: false, so that the program computes with
    /// complete tensors.
    #[must_use]
    pub fn partitioned(mut self, partitioned: bool) -> CompileOptions {
        self.partitioned = partitioned;
        self
    }

    /// Name of the function that a run starts with, if the options give one.
    pub fn entry_name(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// The platform that the program is for.
    pub fn target_platform(&self) -> &Platform {
        &self.platform
    }

    /// The options of the compiler's stages.
    pub(crate) fn stage_options(&self) -> Options<'_> {
        Options {
            platform: &self.platform,
            numerics: self.numerics,
            partitions: self.partitioned,
            passes: self.passes.passes(),
        }
    }

    /// Sets the passes that rewrite the program before kernels are chosen.
    #[must_use]
    pub fn passes(mut self, passes: Pipeline) -> CompileOptions {
        self.passes = passes;
        self
    }
}

/// A compilation failure.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The program violates the specification, has dynamic dimensions that cannot be determined, or passes a
    /// target something that the target does not accept.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Custom calls of the program cannot be made. The message has advice for users of this crate; other
    /// front ends use [`advise`].
    #[error("{}", advise(error.clone(), Remedy::to_string))]
    Calls {
        /// The calls, each with its location in the program and the reason.
        error: ProgramError,
        /// [`ErrorCode::MissingTarget`], or the code of the first target that refuses its call.
        code: ErrorCode,
    },
    /// The compiler made an invalid plan, which is a bug in farcall.
    #[error(transparent)]
    Plan(#[from] InvalidPlan),
    /// The program was compiled for a device that does not exist here.
    #[error("the program was compiled for platform {0}, which has no device here")]
    NoDevice(Platform),
    /// An [interrupt](farcall_ir::interrupt) ended the compilation.
    #[error("the compilation was interrupted")]
    Interrupted,
    /// The program needs more memory than is available.
    #[error("{what}: {error}")]
    Memory {
        /// Purpose of the memory.
        what: String,
        /// The number of bytes, and why they are not available.
        error: OutOfMemory,
    },
}

impl From<RefineError> for CompileError {
    fn from(error: RefineError) -> CompileError {
        CompileError::Program(error.into())
    }
}

impl From<Interrupted> for CompileError {
    fn from(_: Interrupted) -> CompileError {
        CompileError::Interrupted
    }
}

impl CompileError {
    /// Returns the errors with their locations in the program, if this error has any.
    ///
    /// # Errors
    /// The error itself, if it has no locations in the program.
    pub fn into_program(self) -> Result<ProgramError, CompileError> {
        match self {
            CompileError::Program(error) | CompileError::Calls { error, .. } => Ok(error),
            other => Err(other),
        }
    }
}

impl CodedError for CompileError {
    fn code(&self) -> ErrorCode {
        match self {
            CompileError::Program(_) => ErrorCode::InvalidProgram,
            CompileError::Calls { code, .. } => *code,
            CompileError::Plan(error) => error.code(),
            CompileError::NoDevice(_) => ErrorCode::Device,
            CompileError::Interrupted => ErrorCode::Interrupted,
            CompileError::Memory { .. } => ErrorCode::OutOfMemory,
        }
    }
}

/// Verifies and compiles a program for a platform, without running any of it. The targets of its custom calls
/// are looked up in `registry` for their declarations only; no target is entered before the plan is loaded
/// (`farcall::Executable::from_plan`).
///
/// ```
/// use farcall::ir::{Source, text};
/// use farcall::{CompileOptions, Executable, Registry, compile_plan};
///
/// let program = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
///   %0 = stablehlo.add %x, %x : tensor<2xf32>
///   return %0 : tensor<2xf32>
/// }";
/// let module = text::parse(&Source::new("double.mlir", program))?;
/// let plan = compile_plan(&module, &Registry::new(), &CompileOptions::new())?;
/// let mut file = Vec::new();
/// plan.write_to(&mut file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Every violation of the specification that the verifier finds; a shape that does not follow from the types
/// of the inputs; then every missing target, with its location, similar names and how to load a library.
pub fn compile_plan(
    module: &Module,
    registry: &Registry,
    options: &CompileOptions,
) -> Result<ValidPlan, CompileError> {
    let module = specialize(verify(module)?, options)?;
    compile_static(&module, registry, options, &mut |_| {})
}

/// Compiles a program that is [specialized](specialize) already. Calls `after` with the middle form once the
/// form has been built (stage `build`), and again after each pass (the stage has the name of the pass). The
/// input types in `options` are not used.
///
/// # Errors
/// Every missing target, as [`compile_plan`] describes.
pub fn compile_static(
    module: &StaticModule<'_>,
    registry: &Registry,
    options: &CompileOptions,
    after: &mut dyn FnMut(&Stage<'_>),
) -> Result<ValidPlan, CompileError> {
    let module = &module.borrowed().with_grid(options.grid.unwrap_or_else(|| Grid::of(&module.attrs)));
    let entry = entry(module, options.entry.as_deref())?;
    let stage_options = options.stage_options();
    let mut compiled = compile_stages(module, entry, registry, &stage_options, after).map_err(|refused| {
        let error = refused.diagnostics.into_error(&module.source);
        match refused.code {
            ErrorCode::InvalidProgram => CompileError::Program(error),
            code => CompileError::Calls { error, code },
        }
    })?;
    compiled.plan.cuts = bounded::cuts(entry);
    for (param, known) in compiled.plan.params.iter_mut().zip(&options.known) {
        param.known.clone_from(known);
    }
    Ok(compiled.validate()?)
}

/// Specializes a program to the input types and the known elements of `options`, from which all sizes in the
/// program follow. A program without dynamic dimensions is returned unchanged.
///
/// # Errors
/// The errors of [`refine`](farcall_ir::refine::refine) and [`Verified::into_static`].
pub fn specialize<'m>(
    module: Verified<'m>,
    options: &CompileOptions,
) -> Result<StaticModule<'m>, RefineError> {
    let needed = refine::is_needed(&module) || options.inputs.is_some() || !options.known.is_empty();
    let module = match needed {
        false => module,
        true => {
            let entry = entry(&module, options.entry.as_deref()).map_err(RefineError::Invalid)?;
            refine::refine(&module, entry, options.inputs.as_deref(), &options.known)?
        }
    };
    module.into_static().map_err(RefineError::Invalid)
}

/// Divides a function of the module, by default `main`, among the devices of its shardings. Returns `None` if the
/// program states no sharding, or only shardings for one device.
///
/// # Errors
/// If the module is invalid or has dynamic sizes; the errors of [`farcall_partition::partition`], and of the
/// lowerings of the program's composites.
pub fn partition_module(
    module: Module,
    function: Option<&str>,
    registry: &Registry,
    options: &CompileOptions,
) -> Result<Option<Partitioned>, ProgramError> {
    let found = divide(module.clone(), function, registry, options)?;
    let grid = Grid::of(&module.attrs);
    match &found {
        // Where the module states one partition, the middle form has replaced `partition_id` by 0.
        Some(divided) if divided.grid.devices() != grid.partitions => {
            let mut module = module;
            Grid { partitions: divided.grid.devices(), ..grid }.write_to(&mut module.attrs);
            divide(module, function, registry, options)
        }
        _ => Ok(found),
    }
}

fn divide(
    module: Module,
    function: Option<&str>,
    registry: &Registry,
    options: &CompileOptions,
) -> Result<Option<Partitioned>, ProgramError> {
    let module = verify_owned(module)?.into_static()?;
    let options = options.stage_options();
    let mut blocks = Blocks::new(&module.source, registry, &options);
    let form = middle::build_lowered(&module, entry(&module, function)?, &mut blocks);
    let form = form.map_err(|diagnostic| ProgramError::new(&module.source, diagnostic))?;
    farcall_partition::partition(&form, &partition::Signatures { registry, platform: options.platform })
}
