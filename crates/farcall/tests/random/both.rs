//! Runs a program in the engine and in the evaluator.

use farcall::eval_host::RegistryHost;
use farcall::ir::eval::{self, Denormals, Value, eval};
use farcall::ir::middle::pipeline::Pipeline;
use farcall::ir::{Literal, Source, text};
use farcall::{CompileOptions, Executable, Registry};

/// The engine's executable of a program, its results, and the expected results.
pub(crate) struct Both {
    pub(crate) executable: Executable,
    pub(crate) found: Vec<Literal>,
    pub(crate) wanted: Vec<Literal>,
}

impl Both {
    /// Runs a program in the engine and in the evaluator.
    ///
    /// # Panics
    /// If the program cannot be compiled or run.
    pub(crate) fn run(program: &str, inputs: &[Literal], denormals: Denormals, passes: Pipeline) -> Both {
        let registry = Registry::new();
        let module =
            text::parse(&Source::new("random", program)).unwrap_or_else(|e| panic!("{e}\n{program}"));
        let options = CompileOptions::new().denormals(denormals).passes(passes);
        let executable =
            Executable::compile(&module, &registry, &options).unwrap_or_else(|e| panic!("{e}\n{program}"));
        let found = executable.run(inputs).unwrap();
        let values: Vec<Value> = inputs.iter().cloned().map(Value::Tensor).collect();
        let host = RegistryHost::new(&registry, denormals);
        let wanted = eval(&module, module.entry().unwrap(), &values, &host, denormals).unwrap();
        Both { executable, found, wanted: eval::tensors(&wanted) }
    }

    /// Returns the number of thunks of this kernel.
    pub(crate) fn thunks(&self, kernel: &str) -> usize {
        self.executable.stats().thunks.get(kernel).copied().unwrap_or(0)
    }

    /// Iterates over pairs of results: the engine's and the evaluator's.
    pub(crate) fn results(&self) -> impl Iterator<Item = (&Literal, &Literal)> {
        assert_eq!(self.found.len(), self.wanted.len());
        self.found.iter().zip(&self.wanted)
    }
}
