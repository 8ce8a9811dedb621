//! Compiles programs given as text, and runs them in the engine and in the evaluator.

use std::path::Path;

use farcall::eval_host::RegistryHost;
use farcall::ir::eval::{self, Denormals, EvalValue, eval};
use farcall::ir::middle::pipeline::Pipeline;
use farcall::ir::verify::verify;
use farcall::ir::{Literal, Module, Source, text};
use farcall::registry::{LoadError, LoadOptions, LoadReport, TargetSpec};
use farcall::{CompileOptions, Executable, Registry};
use farcall_ffi::descriptor::OpDescriptor;

/// Returns a registry with these ops.
///
/// # Panics
/// If an op cannot be registered.
pub fn registry(ops: &[&'static OpDescriptor]) -> Registry {
    let registry = Registry::new();
    registry.register_ops(ops).unwrap_or_else(|e| panic!("{e}"));
    registry
}

/// Reads a program named `test.mlir`.
///
/// # Panics
/// If the program is malformed.
#[track_caller]
pub fn parse(program: &str) -> Module {
    text::parse(&Source::new("test.mlir", program)).unwrap_or_else(|e| panic!("{e}\n{program}"))
}

/// Compiles a program with the default options.
///
/// # Panics
/// If the program is invalid, or the engine cannot compile it.
#[track_caller]
pub fn compile(program: &str, registry: &Registry) -> Executable {
    let compiled = Executable::compile(&parse(program), registry, &CompileOptions::new());
    compiled.unwrap_or_else(|e| panic!("{e}\n{program}"))
}

/// Runs the entry of a module in the evaluator.
///
/// # Errors
/// The error of the verifier or the evaluator, as text.
///
/// # Panics
/// If the module has no entry.
pub fn evaluate(
    module: &Module,
    registry: &Registry,
    inputs: &[Literal],
    denormals: Denormals,
) -> Result<Vec<Literal>, String> {
    let values: Vec<EvalValue> = inputs.iter().cloned().map(EvalValue::Tensor).collect();
    let host = RegistryHost::new(registry, denormals);
    let module = &verify(module).map_err(|e| e.to_string())?;
    let entry = module.entry().expect("a program has an entry");
    let results = eval(module, entry, &values, &host, denormals).map_err(|e| e.to_string())?;
    Ok(eval::tensors(&results))
}

/// The engine's executable of a program, with the engine's results and the expected results.
#[derive(Debug)]
pub struct Both {
    /// The compiled program.
    pub executable: Executable,
    /// Results of the engine.
    pub found: Vec<Literal>,
    /// Results of the evaluator.
    pub wanted: Vec<Literal>,
}

impl Both {
    /// Runs a program in the engine and in the evaluator.
    ///
    /// # Panics
    /// If the program cannot be compiled or run.
    pub fn run(program: &str, inputs: &[Literal], denormals: Denormals, passes: Pipeline) -> Both {
        let registry = Registry::new();
        let module = parse(program);
        let options = CompileOptions::new().denormals(denormals).passes(passes);
        let executable =
            Executable::compile(&module, &registry, &options).unwrap_or_else(|e| panic!("{e}\n{program}"));
        let found = executable.run(inputs).unwrap_or_else(|e| panic!("{e}\n{program}"));
        let wanted =
            evaluate(&module, &registry, inputs, denormals).unwrap_or_else(|e| panic!("{e}\n{program}"));
        Both { executable, found, wanted }
    }

    /// Returns the number of thunks that this kernel computes.
    pub fn thunks(&self, kernel: &str) -> usize {
        self.executable.stats().thunks.get(kernel).copied().unwrap_or(0)
    }

    /// Iterates over pairs of results: the engine's and the evaluator's.
    ///
    /// # Panics
    /// If the engine and the evaluator return different numbers of results.
    pub fn results(&self) -> impl Iterator<Item = (&Literal, &Literal)> {
        assert_eq!(self.found.len(), self.wanted.len());
        self.found.iter().zip(&self.wanted)
    }
}

/// Loads a library, with targets for the given symbols.
///
/// # Errors
/// If the library cannot be loaded.
pub fn load(
    registry: &Registry,
    path: impl AsRef<Path>,
    symbols: &[TargetSpec],
) -> Result<LoadReport, LoadError> {
    load_with(registry, path, &LoadOptions { targets: symbols.to_vec(), ..LoadOptions::default() })
}

/// Loads a library with these options.
///
/// # Errors
/// If the library cannot be loaded.
pub fn load_with(
    registry: &Registry,
    path: impl AsRef<Path>,
    options: &LoadOptions,
) -> Result<LoadReport, LoadError> {
    // SAFETY: the tests load libraries that they have built, other files, and the system's libm.
    unsafe { registry.load_with(path, options) }
}
