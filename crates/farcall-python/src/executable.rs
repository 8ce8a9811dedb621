//! Compiled programs.

use farcall::CompileOptions;
use farcall::plan::{BlockChoice, BlockDecision};
use farcall::sig::UnknownName;
use farcall_ir::eval::{Denormals, Semantics};
use farcall_ir::{Module, ProgramError, Source, TensorType, hlo, read, text, verify};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::elements::{Elements, literal};
use crate::error::{self, guarded};
use crate::registry::Registry;
use crate::run;

/// An element type's short name, and a shape.
type Described = (&'static str, Vec<usize>);

/// What became of a block.
type Decided = (String, String, Vec<(&'static str, String, String)>, Option<String>, String);

/// A compiled program.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Executable {
    inner: farcall::Executable,
}

/// Compiles a program.
#[pyfunction]
#[pyo3(signature = (text, *, registry, name, entry, denormals, semantics))]
pub(crate) fn compile(
    py: Python<'_>,
    text: String,
    registry: &Bound<'_, Registry>,
    name: String,
    entry: Option<String>,
    denormals: &str,
    semantics: &str,
) -> PyResult<Executable> {
    let wrong = |e: UnknownName| PyValueError::new_err(e.to_string());
    let denormals: Denormals = denormals.parse().map_err(wrong)?;
    let semantics: Semantics = semantics.parse().map_err(wrong)?;
    let registry = registry.get().inner.clone();
    let mut options = CompileOptions::new().denormals(denormals).semantics(semantics);
    if let Some(entry) = entry {
        options = options.entry(entry);
    }
    guarded(|| {
        py.detach(move || {
            let module = read::text(&Source::new(name, text)).map_err(|e| error::program(&e))?;
            Executable::new(&module, &registry, &options)
        })
    })
}

/// The text of a program in another format.
#[pyfunction]
#[pyo3(signature = (text, *, to, name))]
pub(crate) fn convert(py: Python<'_>, text: String, to: &str, name: String) -> PyResult<String> {
    let write: fn(&Module) -> Result<String, ProgramError> = match to {
        "stablehlo" => |module| Ok(text::print(module)),
        "stablehlo-generic" => |module| Ok(text::print_generic(module)),
        "hlo" => hlo::print,
        other => {
            let message =
                format!("a format is \"stablehlo\", \"stablehlo-generic\" or \"hlo\", not {other:?}");
            return Err(PyValueError::new_err(message));
        }
    };
    guarded(|| {
        py.detach(move || {
            let converted = || {
                let module = read::text(&Source::new(name, text))?;
                verify::verify(&module)?;
                write(&module)
            };
            converted().map_err(|e| error::program(&e))
        })
    })
}

impl Executable {
    pub(crate) fn new(
        module: &Module,
        registry: &farcall::Registry,
        options: &CompileOptions,
    ) -> PyResult<Executable> {
        let inner =
            farcall::Executable::compile(module, registry, options).map_err(|e| error::compile(&e))?;
        Ok(Executable { inner })
    }
}

#[pymethods]
impl Executable {
    /// Element type and shape of each input.
    #[getter]
    fn inputs(&self) -> Vec<Described> {
        self.inner.inputs().iter().map(describe).collect()
    }

    /// Element type and shape of each result.
    #[getter]
    fn outputs(&self) -> Vec<Described> {
        self.inner.outputs().iter().map(describe).collect()
    }

    /// What runs: the thunks, and where their operands lie.
    #[getter]
    fn plan(&self) -> String {
        self.inner.plan().to_string()
    }

    /// What became of each block: tag, place, the lowerings that skipped it (rank, origin, reason), the target that is
    /// called instead, and why.
    #[getter]
    fn blocks(&self) -> Vec<Decided> {
        let one = |block: &BlockDecision| {
            let skipped = block.skipped.iter();
            let skipped = skipped.map(|s| (s.rank.name(), s.origin.clone(), s.reason.clone())).collect();
            let (target, reason) = match &block.choice {
                BlockChoice::DefaultBody { reason } => (None, reason.clone()),
                BlockChoice::Call { rank, origin, target, .. } => {
                    (Some(target.clone()), format!("{rank} lowering of {origin}"))
                }
            };
            (block.tag.clone(), block.place.to_string(), skipped, target, reason)
        };
        self.inner.plan().blocks.iter().map(one).collect()
    }

    /// Runs the program on inputs given as element type, shape and bytes.
    fn run(
        &self,
        py: Python<'_>,
        inputs: Vec<(String, Vec<usize>, Bound<'_, PyAny>)>,
    ) -> PyResult<Vec<Elements>> {
        let inputs = inputs.into_iter().map(|(dtype, dims, bytes)| literal(&dtype, dims, &bytes));
        let inputs = inputs.collect::<PyResult<Vec<_>>>()?;
        guarded(|| match run::run(py, &self.inner, inputs)? {
            Ok(outputs) => outputs.into_iter().map(Elements::new).collect(),
            Err(e) => Err(error::exception(e.code(), e.to_string())),
        })
    }
}

fn describe(ty: &TensorType) -> Described {
    (ty.dtype.name(), ty.sizes().to_vec())
}
