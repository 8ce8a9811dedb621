//! Compiling programs, converting them to other formats, and reading the trees of exported functions.

use std::num::NonZero;

use farcall::CompileOptions;
use farcall::device::Device;
use farcall::devices::Grid;
use farcall::plan::file::MAGIC;
use farcall::sig::UnknownName;
use farcall_ir::eval::{Denormals, Semantics};
use farcall_ir::exported::{Exported, Tree, is_exported};
use farcall_ir::op::{CallConfig, CustomCall, OutputAlias};
use farcall_ir::write::{self, ProgramFormat};
use farcall_ir::{read, verify};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::attributes::Attributes;
use crate::elements::tensor_type;
use crate::error::{self, guarded};
use crate::executable::{Executable, Polymorphic};
use crate::lowering::compiling;
use crate::registry::Registry;
use crate::run;

/// A program: text, or the bytes of text or of an artifact. Python's memory is used directly; only text that
/// is not ASCII is copied.
pub(crate) enum Content {
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl<'py> FromPyObject<'_, 'py> for Content {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Content> {
        match object.cast::<PyString>() {
            Ok(text) => text.extract().map(Content::Text),
            Err(_) => object.extract().map(Content::Bytes).map_err(PyErr::from),
        }
    }
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        match self {
            Content::Text(text) => text.as_bytes(),
            Content::Bytes(bytes) => bytes,
        }
    }
}

/// Compiles a program: text or an artifact. The result is an [`Executable`] if the program has static sizes,
/// else a [`Polymorphic`]. If a function exported for several platforms is passed as text, `platforms` lists
/// these platforms, because the text does not. Numbers of replicas and partitions default to the program's.
/// If `partitioned`, a program with shardings is divided among the partitions.
#[pyfunction]
#[pyo3(signature = (program, *, registry, name, entry, denormals, semantics, platforms = None,
    num_replicas = None, num_partitions = None, partitioned = false))]
#[expect(clippy::too_many_arguments, reason = "options of a compilation, passed by name")]
pub(crate) fn compile<'py>(
    py: Python<'py>,
    program: Content,
    registry: &Bound<'_, Registry>,
    name: String,
    entry: Option<String>,
    denormals: &str,
    semantics: &str,
    platforms: Option<Vec<String>>,
    num_replicas: Option<NonZero<usize>>,
    num_partitions: Option<NonZero<usize>>,
    partitioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let wrong = |e: UnknownName| PyValueError::new_err(e.to_string());
    let denormals: Denormals = denormals.parse().map_err(wrong)?;
    let semantics: Semantics = semantics.parse().map_err(wrong)?;
    let registry = registry.get().inner.clone();
    let compiled = guarded(|| {
        compiling(py, move || {
            let platform = Device::default().platform().clone();
            let (bytes, platform) = (program.as_ref(), platform.jax_name());
            let program = match platforms.filter(|_| !is_exported(bytes)) {
                Some(platforms) => read::exported_program(bytes, &name, &platforms, platform),
                None => read::program(bytes, &name, platform, entry.as_deref()),
            };
            let program = program.map_err(|e| error::program(&e))?;
            let mut options = CompileOptions::new().denormals(denormals).semantics(semantics);
            if let Some(entry) = entry {
                options = options.entry(entry);
            }
            let named = Grid::of(&program.module.attrs);
            options = options.grid(Grid {
                replicas: num_replicas.map_or(named.replicas, NonZero::get),
                partitions: num_partitions.map_or(named.partitions, NonZero::get),
            });
            options = options.partitioned(partitioned);
            if !program.interface.is_open() {
                return Executable::new(program.module, &registry, &options).map(Compiled::Fixed);
            }
            let inner =
                farcall::Polymorphic::new(program, &registry, options).map_err(|e| error::program(&e))?;
            Ok(Compiled::Open(Polymorphic::of(inner)))
        })
    })?;
    match compiled {
        Compiled::Fixed(executable) => Ok(Bound::new(py, executable)?.into_any()),
        Compiled::Open(polymorphic) => Ok(Bound::new(py, polymorphic)?.into_any()),
    }
}

/// Compiles the program of one call of a target.
///
/// A layout lists dimensions from the fastest-varying in memory to the slowest. An alias is a pair of the
/// number of a result and the number of an operand. `attributes` is a dictionary for a typed target, bytes
/// for an untyped one.
#[pyfunction]
#[pyo3(signature = (target, operands, results, *, registry, attributes, opaque, api_version, has_side_effect,
    operand_layouts, result_layouts, aliases))]
#[expect(clippy::too_many_arguments, reason = "parts of a call, passed by name")]
pub(crate) fn compile_call(
    py: Python<'_>,
    target: &str,
    operands: Vec<(String, Vec<usize>)>,
    results: Vec<(String, Vec<usize>)>,
    registry: &Bound<'_, Registry>,
    attributes: Option<&Bound<'_, Attributes>>,
    opaque: Option<Vec<u8>>,
    api_version: i32,
    has_side_effect: bool,
    operand_layouts: Vec<Vec<usize>>,
    result_layouts: Vec<Vec<usize>>,
    aliases: Vec<(usize, usize)>,
) -> PyResult<Executable> {
    let types = |described: Vec<(String, Vec<usize>)>| {
        described.into_iter().map(|(dtype, dims)| tensor_type(&dtype, dims)).collect::<PyResult<Vec<_>>>()
    };
    let (operands, results) = (types(operands)?, types(results)?);
    let config = match (attributes, opaque) {
        (Some(attributes), _) => CallConfig::Dict(attributes.get().dict()?),
        (None, Some(opaque)) => CallConfig::Text(opaque.into()),
        (None, None) => CallConfig::Absent,
    };
    let alone = results.len() == 1;
    let alias = |(result, operand)| OutputAlias {
        output_tuple_indices: if alone { Vec::new() } else { vec![result] },
        operand_index: operand,
        operand_tuple_indices: Vec::new(),
    };
    let call = CustomCall {
        api_version: Some(api_version),
        config,
        has_side_effect,
        operand_layouts: Some(operand_layouts),
        result_layouts: Some(result_layouts),
        aliases: aliases.into_iter().map(alias).collect(),
        ..CustomCall::new(target)
    };
    let registry = registry.get().inner.clone();
    guarded(|| {
        run::detached(py, || {
            let module = farcall::call_program(call, &operands, &results);
            Executable::new(module, &registry, &CompileOptions::new())
        })
        .flatten()
    })
}

enum Compiled {
    Fixed(Executable),
    Open(Polymorphic),
}

/// Converts a program to another format.
#[pyfunction]
#[pyo3(signature = (program, *, to, name))]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    program: Content,
    to: &str,
    name: String,
) -> PyResult<Bound<'py, PyBytes>> {
    let Some(format) = ProgramFormat::named(to) else {
        let names = ProgramFormat::VARIANTS.map(|format| format!("{:?}", format.name()));
        let [others @ .., last] = &names;
        let message = format!("a format is {} or {last}, not {to:?}", others.join(", "));
        return Err(PyValueError::new_err(message));
    };
    let converted = guarded(|| {
        run::detached(py, move || {
            let converted = || {
                let module = read::module(program.as_ref(), &name)?;
                verify::verify(&module)?;
                write::module(&module, format)
            };
            converted().map_err(|e| error::program(&e))
        })
        .flatten()
    })?;
    Ok(PyBytes::new(py, &converted))
}

/// Returns true for the bytes of a portable artifact and of a function written by `jax.export`.
#[pyfunction]
pub(crate) fn is_artifact(program: PyBackedBytes) -> bool {
    read::is_artifact(&program)
}

/// Returns true for the bytes of a compiled plan.
#[pyfunction]
pub(crate) fn is_plan(program: PyBackedBytes) -> bool {
    program.starts_with(&MAGIC)
}

/// Returns the trees of arguments and results of a function written by `jax.export`, the indices of the
/// arguments that the program takes, and the number of all arguments; `None` for other bytes. In a tree, a
/// number stands for an array, and a name for a value of a type that was registered with JAX, which only the
/// type's own code can take apart.
#[pyfunction]
pub(crate) fn trees<'py>(py: Python<'py>, program: PyBackedBytes) -> PyResult<Option<Trees<'py>>> {
    if !is_exported(&program) {
        return Ok(None);
    }
    let exported = Exported::read(&program, "").map_err(|e| error::program(&e))?;
    let mut count = 0;
    let arguments = tree(py, &exported.in_tree, &mut count)?;
    let results = tree(py, &exported.out_tree, &mut 0)?;
    Ok(Some((arguments, results, exported.kept_vars, count)))
}

/// Trees of arguments and results, the kept arguments, and the number of all arguments.
type Trees<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Vec<usize>, usize);

/// Converts a tree to Python values. `next` is the number of the tree's first array.
fn tree<'py>(py: Python<'py>, of: &Tree, next: &mut usize) -> PyResult<Bound<'py, PyAny>> {
    let list = |children: &[Tree], next: &mut usize| {
        children.iter().map(|child| tree(py, child, next)).collect::<PyResult<Vec<_>>>()
    };
    Ok(match of {
        Tree::Leaf => {
            *next += 1;
            (*next - 1).into_pyobject(py)?.into_any()
        }
        Tree::None => py.None().into_bound(py),
        Tree::Tuple(children) => PyTuple::new(py, list(children, next)?)?.into_any(),
        Tree::List(children) => PyList::new(py, list(children, next)?)?.into_any(),
        Tree::Dict(entries) => {
            let dict = PyDict::new(py);
            for (key, child) in entries {
                dict.set_item(key, tree(py, child, next)?)?;
            }
            dict.into_any()
        }
        Tree::Custom { name, children, .. } => {
            list(children, next)?;
            PyString::new(py, name).into_any()
        }
    })
}
