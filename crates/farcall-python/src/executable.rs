//! Compiled programs, and programs that are compiled for the sizes of each call.

use farcall::CodedError;
use farcall::plan::{BlockChoice, BlockDecision};
use farcall::{CompileOptions, PolymorphicError};
use farcall_ir::interface::{SymbolicSize, SymbolicType};
use farcall_ir::{Literal, Module, TensorType};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays;
use crate::elements::{literal, tensor_type};
use crate::error::{self, guarded};
use crate::lowering::compiling;
use crate::profile::{self, Step, described};
use crate::run;

/// An element type's short name, and a shape.
type DtypeAndShape = (&'static str, Vec<usize>);

/// Decision about a block: its tag, its place, the lowerings that were skipped (with rank, origin and
/// reason), the target that is called, if any, and the reason for the decision.
type BlockParts = (String, String, Vec<(&'static str, String, String)>, Option<String>, String);

/// An input: element type, shape and bytes.
type InputParts<'py> = (String, Vec<usize>, Bound<'py, PyAny>);

/// A compiled program.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Executable {
    inner: farcall::Executable,
}

/// A program with dynamic sizes.
#[pyclass(frozen, module = "farcall._farcall")]
pub(crate) struct Polymorphic {
    inner: farcall::Polymorphic,
}

/// An element type's short name, and sizes as text.
type Symbolic = (&'static str, Vec<String>);

fn symbolic(ty: &SymbolicType) -> Symbolic {
    (ty.dtype.name(), ty.sizes.iter().map(SymbolicSize::to_string).collect())
}

#[pymethods]
impl Polymorphic {
    /// Name, element type and sizes of each input.
    #[getter]
    fn inputs(&self) -> Vec<(String, Symbolic)> {
        let inputs = self.inner.interface().inputs().into_iter();
        inputs.map(|argument| (argument.name.clone(), symbolic(&argument.ty))).collect()
    }

    /// Element type and sizes of each result.
    #[getter]
    fn outputs(&self) -> Vec<Symbolic> {
        self.inner.interface().results.iter().map(symbolic).collect()
    }

    /// Constraints on the symbols.
    #[getter]
    fn constraints(&self) -> Vec<String> {
        self.inner.interface().constraints.iter().map(ToString::to_string).collect()
    }

    /// Runs the program on inputs given as element type, shape and bytes. Compiles the program first if the
    /// types of the inputs are new.
    fn run<'py>(&self, py: Python<'py>, inputs: Vec<InputParts<'py>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let inputs = literals(inputs)?;
        guarded(|| {
            let types: Vec<TensorType> = inputs.iter().map(Literal::ty).collect();
            results(py, &self.compiled_for(py, &types)?, inputs)
        })
    }

    /// Returns the executable for inputs of these element types and shapes.
    fn for_types(&self, py: Python<'_>, types: Vec<(String, Vec<usize>)>) -> PyResult<Executable> {
        let types = types.into_iter().map(|(dtype, dims)| tensor_type(&dtype, dims));
        let types = types.collect::<PyResult<Vec<_>>>()?;
        guarded(|| Ok(Executable { inner: self.compiled_for(py, &types)? }))
    }
}

impl Polymorphic {
    pub(crate) fn of(inner: farcall::Polymorphic) -> Polymorphic {
        Polymorphic { inner }
    }

    fn compiled_for(&self, py: Python<'_>, types: &[TensorType]) -> PyResult<farcall::Executable> {
        compiling(py, || {
            self.inner.for_types(types).map_err(|e| match e {
                PolymorphicError::Compile(e) => error::compile(e),
                other => error::exception(other.code(), other.to_string()),
            })
        })
    }
}

fn literals(inputs: Vec<(String, Vec<usize>, Bound<'_, PyAny>)>) -> PyResult<Vec<Literal>> {
    inputs.into_iter().map(|(dtype, dims, bytes)| literal(&dtype, dims, &bytes)).collect()
}

/// Runs a program and converts its results to arrays.
fn results<'py>(
    py: Python<'py>,
    executable: &farcall::Executable,
    inputs: Vec<Literal>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    run::run(py, executable, inputs)?.into_iter().map(|result| arrays::of_result(py, result)).collect()
}

impl Executable {
    pub(crate) fn new(
        module: Module,
        registry: &farcall::Registry,
        options: &CompileOptions,
    ) -> PyResult<Executable> {
        let inner = farcall::Executable::compile_owned(module, registry, options).map_err(error::compile)?;
        Ok(Executable { inner })
    }

    /// Returns an error if the program is divided among devices, for a method that is about one device.
    fn refuse_parts(&self, method: &str) -> PyResult<()> {
        match self.is_divided() {
            false => Ok(()),
            true => Err(PyValueError::new_err(format!(
                "`{method}` is not available for a program that was compiled with partitioned=True; call it with \
                 complete inputs"
            ))),
        }
    }
}

#[pymethods]
impl Executable {
    /// Element type and shape of each input. A partitioned program takes complete inputs.
    #[getter]
    fn inputs(&self) -> Vec<DtypeAndShape> {
        self.inner.complete_inputs().iter().map(described).collect()
    }

    /// Element type and shape of each result.
    #[getter]
    fn outputs(&self) -> Vec<DtypeAndShape> {
        self.inner.complete_outputs().iter().map(described).collect()
    }

    /// Text of the plan: the thunks, and the memory locations of their operands.
    #[getter]
    fn plan(&self) -> String {
        self.inner.plan().to_string()
    }

    /// Numbers of bytes that a run needs: temporary memory, constants, and results that are not inputs.
    #[getter]
    fn memory(&self) -> PyResult<(usize, usize, usize)> {
        self.refuse_parts("memory_analysis")?;
        let plan = self.inner.plan();
        Ok((plan.temporary_bytes(), plan.constant_bytes(), plan.new_result_bytes()))
    }

    /// Decision about each block: tag, place, the lowerings that skipped it (rank, origin, reason), the
    /// target that is called instead, and the reason.
    #[getter]
    fn blocks(&self) -> Vec<BlockParts> {
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
        self.inner.plan().blocks().iter().map(one).collect()
    }

    /// Runs the program on inputs given as element type, shape and bytes.
    fn run<'py>(&self, py: Python<'py>, inputs: Vec<InputParts<'py>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let inputs = literals(inputs)?;
        guarded(|| results(py, &self.inner, inputs))
    }

    /// Numbers of replicas and partitions.
    #[getter]
    fn grid(&self) -> (usize, usize) {
        let grid = self.inner.grid();
        (grid.replicas, grid.partitions)
    }

    /// True if the program is divided among devices.
    #[getter]
    fn is_divided(&self) -> bool {
        self.inner.plan().sharding().is_some()
    }

    /// Runs the program on all devices of its grid. Each device has a list of inputs, given as element type,
    /// shape and bytes.
    fn run_on_devices<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<Vec<InputParts<'py>>>,
    ) -> PyResult<Vec<Vec<Bound<'py, PyAny>>>> {
        self.refuse_parts("run_on_devices")?;
        let inputs = inputs.into_iter().map(literals).collect::<PyResult<Vec<_>>>()?;
        guarded(|| {
            let results = run::run_on_devices(py, &self.inner, inputs)?.into_iter();
            let arrays = |of: Vec<Literal>| of.into_iter().map(|one| arrays::of_result(py, one)).collect();
            results.map(arrays).collect()
        })
    }

    /// Like `run`, for a list or tuple of one array per input, of exactly the input's type. Returns `None`
    /// for other inputs.
    fn run_arrays<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        match arrays::arguments(&self.inner.complete_inputs(), inputs)? {
            Some(inputs) => guarded(|| results(py, &self.inner, inputs).map(Some)),
            None => Ok(None),
        }
    }

    /// Runs the program on inputs given as element type, shape and bytes, once and then `runs` times. Returns
    /// the seconds of each of these runs, and the steps with their times.
    fn profile(
        &self,
        py: Python<'_>,
        inputs: Vec<InputParts<'_>>,
        runs: usize,
    ) -> PyResult<(Vec<f64>, Vec<Step>)> {
        self.refuse_parts("profile")?;
        let inputs = literals(inputs)?;
        guarded(|| {
            let profile = run::profiled(py, &self.inner, &inputs, runs)?;
            Ok(profile::steps(&self.inner, &profile))
        })
    }
}
