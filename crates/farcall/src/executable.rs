//! A compiled program: what users of the engine hold.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_ir::eval::{Denormals, Numerics, Semantics};
use farcall_ir::memory::{self, OutOfMemory};
use farcall_ir::refine;
use farcall_ir::verify::{entry, require_static, verify};
use farcall_ir::{Attr, Literal, Module, ProgramError, TensorType, Type};

use crate::compile;
use crate::custom_call::RunContext;
use crate::plan::{InvalidPlan, Plan};
use crate::registry::Registry;
use crate::runtime::{Inputs, LoadError, Program, RunError};

/// How a program is compiled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompileOptions {
    /// Function that a run starts with; `None`: `main`, or the only public one.
    pub entry: Option<String>,
    /// What runs do with subnormal numbers.
    pub denormals: Denormals,
    /// Whose word counts where XLA and the StableHLO specification differ.
    pub semantics: Semantics,
    /// Types of the inputs, for a program that leaves sizes open; `None`: those that it declares.
    pub inputs: Option<Vec<TensorType>>,
    /// Elements of inputs on which sizes depend, by number. The program is compiled for these: a run that
    /// gives others is an error.
    pub known: Vec<Option<Literal>>,
}

impl CompileOptions {
    /// How runs compute.
    fn numerics(&self) -> Numerics {
        Numerics { denormals: self.denormals, semantics: self.semantics }
    }
}

/// Why a program could not be compiled.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompileError {
    /// The program is at fault: it breaks the specification, or calls a target that is not there.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The engine is at fault.
    #[error(transparent)]
    Plan(#[from] InvalidPlan),
    /// The program needs more memory than there is.
    #[error("{what}: {error}")]
    Memory {
        /// What the memory is for.
        what: String,
        /// How much it is, and what stands against it.
        error: OutOfMemory,
    },
}

/// What compiling took, and what it made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompileStats {
    /// Checking the program against the specification.
    pub verify: Duration,
    /// From the module to the plan.
    pub plan: Duration,
    /// Laying out constants.
    pub load: Duration,
    /// Bytes of scratch memory per concurrent run.
    pub arena_bytes: usize,
    /// Bytes of constants.
    pub constant_bytes: usize,
    /// Number of thunks by kind, nested ones included. `reference` counts the operations that no
    /// kernel covers.
    pub thunks: BTreeMap<&'static str, usize>,
}

/// A compiled program.
///
/// Cloning shares it. Any number of threads may run it at once; it stays usable after a failed run.
#[derive(Clone, Debug)]
pub struct Executable {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    program: Arc<Program>,
    inputs: Vec<TensorType>,
    outputs: Vec<TensorType>,
    names: Vec<Option<String>>,
    /// Inputs that must be what the program was compiled for.
    known: Vec<Option<Literal>>,
    stats: CompileStats,
}

impl Executable {
    /// Verifies and compiles a program; custom calls are bound to targets of `registry`.
    ///
    /// A program with dynamic dimensions is compiled for inputs of one list of types: those that
    /// `options` give, or the parameters', if only what is computed from them is dynamic.
    ///
    /// # Errors
    /// Every violation of the specification that the verifier finds; a shape that does not follow from
    /// the types of the inputs; then every target that is missing, with its place, close names and how to
    /// load one.
    pub fn compile(
        module: &Module,
        registry: &Registry,
        options: &CompileOptions,
    ) -> Result<Executable, CompileError> {
        let begin = Instant::now();
        verify(module)?;
        let refined = refined(module, options)?;
        let module = refined.unwrap_or_else(|| module.clone());
        require_static(&module)?;
        Executable::verified(module, registry, options, begin)
    }

    /// A program of one custom call that is a part of a verified one.
    pub(crate) fn of_call(
        module: Module,
        registry: &Registry,
        numerics: Numerics,
    ) -> Result<Executable, CompileError> {
        let Numerics { denormals, semantics } = numerics;
        let options = CompileOptions { denormals, semantics, ..CompileOptions::default() };
        Executable::verified(module, registry, &options, Instant::now())
    }

    fn verified(
        module: Module,
        registry: &Registry,
        options: &CompileOptions,
        begin: Instant,
    ) -> Result<Executable, CompileError> {
        let verified = Instant::now();
        let module = Arc::new(module);
        let entry = entry(&module, options.entry.as_deref())?;
        let plan = compile::compile(&module, entry, registry, options.numerics())
            .map_err(|diagnostics| diagnostics.into_error(&module.source))?;
        let planned = Instant::now();
        // Refused now rather than when it runs.
        memory::admit_program(plan.memory()).map_err(|error| {
            let what = format!(
                "the program's values take {} bytes, its constants {}, its results the rest",
                plan.arena_size,
                plan.constant_bytes()
            );
            CompileError::Memory { what, error }
        })?;
        let program = Program::new(plan).map_err(|error| match error {
            LoadError::Plan(error) => CompileError::Plan(error),
            LoadError::Memory(error) => {
                CompileError::Memory { what: "the program's constants".to_owned(), error }
            }
        })?;
        let plan = program.plan();
        let stats = CompileStats {
            verify: verified - begin,
            plan: planned - verified,
            load: planned.elapsed(),
            arena_bytes: plan.arena_size,
            constant_bytes: plan.constant_bytes(),
            thunks: plan.thunk_counts(),
        };
        let inputs = plan.params.iter().map(|p| p.ty.clone()).collect();
        let outputs = plan.results.iter().map(|r| r.ty.clone()).collect();
        // Tokens are no inputs.
        let params = entry.params().iter().zip(&entry.param_attrs);
        let names =
            params.filter(|(p, _)| *entry.ty(**p) != Type::Token).map(|(_, attrs)| name(attrs)).collect();
        let known = options.known.clone();
        let inner = Inner { inputs, outputs, names, known, stats, program: Arc::new(program) };
        Ok(Executable { inner: Arc::new(inner) })
    }

    /// Types of the inputs.
    pub fn inputs(&self) -> &[TensorType] {
        &self.inner.inputs
    }

    /// Types of the results.
    pub fn outputs(&self) -> &[TensorType] {
        &self.inner.outputs
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.inner.program.plan()
    }

    /// What compiling took, and what it made.
    pub fn stats(&self) -> &CompileStats {
        &self.inner.stats
    }

    /// Runs the program: one literal per result.
    ///
    /// The inputs stay as they are: one that the program donates is copied first. (See
    /// [`run_owned`](Executable::run_owned).)
    ///
    /// # Errors
    /// If there are too few or too many inputs, if one has another type than the program takes, or if
    /// a custom call fails.
    pub fn run(&self, inputs: &[Literal]) -> Result<Vec<Literal>, RunError> {
        self.check(inputs)?;
        self.inner.program.run(Inputs::Borrowed(inputs), None)
    }

    /// Runs the program on inputs that are given up: one literal per result.
    ///
    /// An input that the program donates (`tf.aliasing_output`, `jax.buffer_donor`; a plan shows it as
    /// `donated`) is worked on in place, and the result that takes it over has its memory, without a
    /// copy. A custom call that changes it in place gets that memory, too. An input that shares its
    /// elements with another literal is copied first: no value that somebody still holds is changed.
    ///
    /// # Errors
    /// As [`run`](Executable::run). The inputs are gone then, too.
    pub fn run_owned(&self, inputs: Vec<Literal>) -> Result<Vec<Literal>, RunError> {
        self.check(&inputs)?;
        self.inner.program.run(Inputs::Owned(inputs), None)
    }

    /// The same as part of a given run, which says what handlers see of it: the run's id, the device, the
    /// threads for their tasks, the embedder's data and options. Without one, every run has an id of its
    /// own, is on device 0, and has the threads of the process.
    ///
    /// # Errors
    /// As [`run`](Executable::run).
    pub fn run_in(&self, inputs: Vec<Literal>, run: &RunContext) -> Result<Vec<Literal>, RunError> {
        self.check(&inputs)?;
        self.inner.program.run(Inputs::Owned(inputs), Some(run))
    }

    /// Compares number and types of inputs with those of the program.
    fn check(&self, inputs: &[Literal]) -> Result<(), RunError> {
        let wanted = self.inputs();
        if inputs.len() != wanted.len() {
            let signature: Vec<String> = wanted.iter().map(TensorType::to_string).collect();
            return Err(RunError::InputCount {
                expected: wanted.len(),
                found: inputs.len(),
                signature: if signature.is_empty() { "none".to_owned() } else { signature.join(", ") },
            });
        }
        for (index, (input, ty)) in inputs.iter().zip(wanted).enumerate() {
            if input.dtype() != ty.dtype || input.dims() != &*ty.dims {
                return Err(RunError::Input {
                    index,
                    name: self.inner.names.get(index).cloned().flatten(),
                    expected: ty.to_string(),
                    found: input.ty().to_string(),
                });
            }
        }
        let differs =
            |(given, known): (&Literal, &Option<Literal>)| known.as_ref().is_some_and(|k| k != given);
        match inputs.iter().zip(&self.inner.known).position(differs) {
            None => Ok(()),
            Some(index) => {
                Err(RunError::KnownInput { index, name: self.inner.names.get(index).cloned().flatten() })
            }
        }
    }
}

/// A verified program with the sizes that follow from the types of its inputs; `None` if it leaves none
/// open. (The rest of the options does not count here.)
///
/// # Errors
/// As [`refine`](farcall_ir::refine::refine), and what the verifier finds wrong once sizes are known.
pub fn refined(module: &Module, options: &CompileOptions) -> Result<Option<Module>, ProgramError> {
    if !refine::is_needed(module) && options.inputs.is_none() && options.known.is_empty() {
        return Ok(None);
    }
    let entry = entry(module, options.entry.as_deref())?;
    let refined = refine::refine(module, entry, options.inputs.as_deref(), &options.known)?;
    verify(&refined)?;
    Ok(Some(refined))
}

/// The name that a parameter was given by the program that wrote the text.
fn name(attrs: &farcall_ir::AttrDict) -> Option<String> {
    attrs.get("jax.arg_info").and_then(Attr::as_str).map(str::to_owned)
}
