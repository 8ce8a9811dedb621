//! Compiled programs and their properties.

use std::any::Any;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use farcall::devices::Grid;
use farcall::ir::sharding::TileAssignment;
use farcall::ir::write::{self, ProgramFormat};
use farcall::ir::{AttrDict, Attribute, TensorType, Type, read, verify};
use farcall::partition::partition_module;
use farcall::plan::{CallSpec, Plan, ThunkOp};
use farcall::{CompileOptions as EngineOptions, Executable, Registry};
use farcall_pjrt_abi::{ElementType, ErrorCode};

use crate::client::MEMORY_KINDS;
use crate::compile_options::CompileOptions;
use crate::cost::Costs;
use crate::element;
use crate::inspect_sharding::{Reports, reporting};
use crate::named_values::{NamedValues, Value};
use crate::scope::{self, Targets};
use crate::shardings::Shardings;
use crate::status::{Outcome, Status};
use crate::topology::hash;

/// A compiled program.
pub(crate) struct Program {
    pub(crate) executable: Executable,
    pub(crate) name: String,
    /// The caller's options, as it passed them.
    pub(crate) options: Vec<u8>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) results: Vec<ResultSpec>,
    pub(crate) devices: CompileOptions,
    /// True if a run takes little time, apart from functions of the host.
    pub(crate) is_quick: bool,
    /// True if the program may call functions of the host: targets that are not farcall's own.
    pub(crate) calls_host: bool,
    /// True if a target may read the data that the caller passes to a run.
    pub(crate) reads_context: bool,
    /// Fingerprint of the program: equal for equal programs and options.
    pub(crate) fingerprint: String,
    /// The program before compilation, in a portable format.
    source: Vec<u8>,
    /// The program of each device, in the same format; `None` if it is the program itself. Made when a host
    /// first asks for it.
    of_device: OnceLock<Option<Vec<u8>>>,
    pub(crate) described: Described,
    /// An object that the handlers of the program need.
    _owner: Option<Arc<dyn Any + Send + Sync>>,
}

/// A parameter of a program, as the host sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Parameter {
    /// False for a token, which orders side effects. The host passes an empty array; the engine takes nothing.
    pub(crate) is_tensor: bool,
    /// True if a run takes over the caller's buffer.
    pub(crate) is_donated: bool,
    /// Index of the memory kind.
    pub(crate) kind: usize,
}

/// A result of a program, as the host sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ResultSpec {
    /// False for a token: the host gets an empty array.
    pub(crate) is_tensor: bool,
    /// Index of the memory kind.
    pub(crate) kind: usize,
}

/// Properties of a program as the interface passes them.
pub(crate) struct Described {
    /// Types of the results; `None` for a token.
    pub(crate) types: Vec<Option<TensorType>>,
    pub(crate) element_types: Vec<ElementType>,
    pub(crate) dims: Vec<i64>,
    pub(crate) ranks: Vec<usize>,
    pub(crate) parameter_kinds: Kinds,
    pub(crate) result_kinds: Kinds,
    pub(crate) costs: NamedValues,
    /// Shardings of the parameters, if the program was partitioned.
    pub(crate) parameter_shardings: Shardings,
    pub(crate) result_shardings: Shardings,
}

/// Names of memory kinds, as the interface passes them.
pub(crate) struct Kinds {
    pub(crate) names: Vec<*const std::ffi::c_char>,
    pub(crate) sizes: Vec<usize>,
}

// SAFETY: the pointers refer to constants.
unsafe impl Send for Kinds {}
// SAFETY: see above.
unsafe impl Sync for Kinds {}

impl Kinds {
    fn new(kinds: impl Iterator<Item = usize>) -> Kinds {
        let names: Vec<&str> = kinds.map(|kind| MEMORY_KINDS[kind]).collect();
        Kinds {
            sizes: names.iter().map(|name| name.len()).collect(),
            names: names.into_iter().map(|name| name.as_ptr().cast()).collect(),
        }
    }
}

/// Bits of a serialized parameter or result; the lower bits are the index of the memory kind.
const TENSOR: u8 = 0x80;
const DONATED: u8 = 0x40;

impl Parameter {
    fn to_byte(&self) -> u8 {
        self.kind as u8 | if self.is_tensor { TENSOR } else { 0 } | if self.is_donated { DONATED } else { 0 }
    }

    fn of_byte(byte: u8) -> Option<Parameter> {
        let kind = usize::from(byte & !(TENSOR | DONATED));
        let (is_tensor, is_donated) = (byte & TENSOR != 0, byte & DONATED != 0);
        (kind < MEMORY_KINDS.len()).then_some(Parameter { is_tensor, is_donated, kind })
    }
}

impl ResultSpec {
    fn to_byte(&self) -> u8 {
        self.kind as u8 | if self.is_tensor { TENSOR } else { 0 }
    }

    fn of_byte(byte: u8) -> Option<ResultSpec> {
        let kind = usize::from(byte & !TENSOR);
        (kind < MEMORY_KINDS.len()).then_some(ResultSpec { is_tensor: byte & TENSOR != 0, kind })
    }
}

/// Start of a serialized program. The version changes when the layout below does.
const MAGIC: &[u8; 8] = b"FCPJRT02";

/// Maximum estimated time of a quick run: passing a run to another thread and its results back takes about as
/// long.
const MAX_QUICK_PICOSECONDS: u64 = 32_000_000;

impl Program {
    /// Compiles a program.
    ///
    /// # Errors
    /// If the program is invalid, has dynamic sizes, or calls a target that is not registered.
    pub(crate) fn compile(code: &[u8], format: &str, options: Vec<u8>) -> Outcome<Program> {
        if !matches!(format, "mlir" | "hlo") {
            return Err(Status::invalid(format!("a program has the format `mlir` or `hlo`, not `{format}`")));
        }
        let devices = CompileOptions::read(&options)?;
        let module = read::module(code, "the program").map_err(|e| Status::invalid(e.to_string()))?;
        let CompileOptions { num_replicas, num_partitions, .. } = devices;
        // Hosts read the optimized program as MLIR.
        let source = match format {
            "mlir" => code.to_vec(),
            _ => {
                write::module(&module, ProgramFormat::Artifact).map_err(|e| Status::invalid(e.to_string()))?
            }
        };
        let name = module.name.clone().unwrap_or_else(|| "main".to_owned());
        let entry = verify::entry(&module, None).map_err(|e| Status::invalid(e.to_string()))?;
        let parameters = entry.params().iter().zip(entry.param_attrs()).map(|(param, attrs)| {
            let is_donated = attrs.get("tf.aliasing_output").is_some()
                || matches!(attrs.get("jax.buffer_donor"), Some(Attribute::Bool(true)));
            Ok(Parameter {
                is_tensor: *entry.ty(*param) != Type::Token,
                is_donated,
                kind: memory_kind(attrs)?,
            })
        });
        let parameters = parameters.collect::<Outcome<Vec<_>>>()?;
        let results = entry.results().iter().zip(entry.result_attrs());
        let results = results
            .map(|(ty, attrs)| Ok(ResultSpec { is_tensor: *ty != Type::Token, kind: memory_kind(attrs)? }))
            .collect::<Outcome<Vec<_>>>()?;
        let Targets { registry, owner } = scope::of(&module)?;
        let grid = Grid { replicas: num_replicas, partitions: num_partitions };
        let of_engine = EngineOptions::new().grid(grid).partitioned(num_partitions > 1);
        let compile = || Executable::compile_owned(module, &registry, &of_engine);
        let executable = reporting(Reports::OfHost, compile).map_err(Status::of_compiler)?;
        let parts = Parts { name, options, parameters, results, source, owner };
        Program::of(executable, parts)
    }

    fn of(executable: Executable, parts: Parts) -> Outcome<Program> {
        let Parts { name, options, parameters, results, source, owner } = parts;
        let costs = Costs::of(executable.plan());
        let mut tensors = executable.outputs().iter();
        let types =
            results.iter().map(|result| if result.is_tensor { tensors.next().cloned() } else { None });
        let types: Vec<Option<TensorType>> = types.collect();
        let described = Described {
            element_types: types
                .iter()
                .map(|ty| ty.as_ref().map_or(ElementType::TOKEN, |ty| element::of_dtype(ty.dtype)))
                .collect(),
            dims: types.iter().flatten().flat_map(|ty| ty.sizes().iter().map(|size| *size as i64)).collect(),
            ranks: types.iter().map(|ty| ty.as_ref().map_or(0, TensorType::rank)).collect(),
            parameter_kinds: Kinds::new(parameters.iter().map(|parameter| parameter.kind)),
            result_kinds: Kinds::new(results.iter().map(|result| result.kind)),
            parameter_shardings: shardings(
                parameters.iter().map(|parameter| parameter.is_tensor),
                executable.plan().sharding().map(|sharding| &*sharding.inputs),
            ),
            result_shardings: shardings(
                results.iter().map(|result| result.is_tensor),
                executable.plan().sharding().map(|sharding| &*sharding.results),
            ),
            types,
            costs: NamedValues::new(
                costs.named().into_iter().map(|(name, cost)| (name, Value::Float(cost))).collect(),
            ),
        };
        let is_quick = is_quick(executable.plan(), costs);
        let (calls_host, reads_context) = host_calls(executable.plan());
        let fingerprint = format!("{:016x}{:016x}", hash(&source), hash(&options));
        Ok(Program {
            executable,
            name,
            devices: CompileOptions::read(&options)?,
            options,
            parameters,
            results,
            is_quick,
            calls_host,
            reads_context,
            fingerprint,
            source,
            of_device: OnceLock::new(),
            described,
            _owner: owner,
        })
    }

    /// Returns the program that each device runs, in a portable format: with local shapes and collectives.
    pub(crate) fn optimized(&self) -> &[u8] {
        let divide = || match self.devices.num_partitions {
            0 | 1 => None,
            // The text of a program is not worth an error.
            _ => divided(&self.source).unwrap_or(None),
        };
        self.of_device.get_or_init(divide).as_deref().unwrap_or(&self.source)
    }

    /// Returns the ranks of the parameters.
    pub(crate) fn parameter_ranks(&self) -> Vec<usize> {
        let mut tensors = self.executable.inputs().iter();
        let ranks = self.parameters.iter().map(|p| if p.is_tensor { tensors.next() } else { None });
        ranks.map(|ty| ty.map_or(0, TensorType::rank)).collect()
    }

    /// Returns the bytes of a program that has been compiled, for another process.
    ///
    /// # Errors
    /// If the program calls functions of this process.
    pub(crate) fn to_bytes(&self) -> Outcome<Vec<u8>> {
        let plan = self.executable.plan();
        if plan.calls().iter().any(is_local) {
            let message =
                format!("`{}` calls Python functions of this process and cannot be stored", self.name);
            return Err(Status::unimplemented(message));
        }
        let plan = plan.to_bytes().map_err(|e| Status::new(ErrorCode::INTERNAL, e.to_string()))?;
        let parameters: Vec<u8> = self.parameters.iter().map(Parameter::to_byte).collect();
        let results: Vec<u8> = self.results.iter().map(ResultSpec::to_byte).collect();
        let parts: [&[u8]; 7] = [
            self.name.as_bytes(),
            &self.options,
            &parameters,
            &results,
            &lowerings(self.executable.plan()).to_le_bytes(),
            &self.source,
            &plan,
        ];
        let mut out =
            Vec::with_capacity(MAGIC.len() + parts.iter().map(|part| 8 + part.len()).sum::<usize>());
        out.extend_from_slice(MAGIC);
        for part in parts {
            out.extend_from_slice(&(part.len() as u64).to_le_bytes());
            out.extend_from_slice(part);
        }
        Ok(out)
    }

    /// Loads a program that [`to_bytes`](Program::to_bytes) stored. `options` replace the stored ones.
    ///
    /// # Errors
    /// If the bytes are not such a program, or of another version of farcall.
    pub(crate) fn from_bytes(bytes: &[u8], options: Option<Vec<u8>>) -> Outcome<Program> {
        let wrong =
            || Status::invalid("the bytes are not a program that this version of farcall has compiled");
        let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(wrong)?;
        let mut next = || {
            let (len, after) = rest.split_first_chunk::<8>().ok_or_else(wrong)?;
            let len = usize::try_from(u64::from_le_bytes(*len)).map_err(|_| wrong())?;
            let part = after.get(..len).ok_or_else(wrong)?;
            rest = &after[len..];
            Ok(part)
        };
        let name = String::from_utf8_lossy(next()?).into_owned();
        let stored = next()?;
        let parameters: Option<Vec<Parameter>> =
            next()?.iter().map(|byte| Parameter::of_byte(*byte)).collect();
        let results: Option<Vec<ResultSpec>> =
            next()?.iter().map(|byte| ResultSpec::of_byte(*byte)).collect();
        let (parameters, results) = parameters.zip(results).ok_or_else(wrong)?;
        let (known_lowerings, source, plan) = (next()?, next()?.to_vec(), next()?);
        let plan = Plan::from_bytes(plan).map_err(|e| Status::invalid(e.to_string()))?;
        let executable = Executable::from_plan(plan, Registry::global()).map_err(|e| Status::of(&e))?;
        if known_lowerings != lowerings(executable.plan()).to_le_bytes() {
            let message =
                format!("`{name}` was compiled with other lowerings of its blocks than are loaded now");
            return Err(Status::new(ErrorCode::FAILED_PRECONDITION, message));
        }
        let tensors = (
            parameters.iter().filter(|parameter| parameter.is_tensor).count(),
            results.iter().filter(|result| result.is_tensor).count(),
        );
        if tensors != (executable.inputs().len(), executable.outputs().len()) {
            return Err(wrong());
        }
        let parts = Parts {
            name,
            options: options.unwrap_or_else(|| stored.to_vec()),
            parameters,
            results,
            source,
            owner: None,
        };
        Program::of(executable, parts)
    }
}

/// Returns the shardings of values, which are tensors or tokens, from those of the tensors.
fn shardings(values: impl Iterator<Item = bool>, tensors: Option<&[TileAssignment]>) -> Shardings {
    let Some(tensors) = tensors else { return Shardings::default() };
    let mut tensors = tensors.iter();
    Shardings::new(values.map(|is_tensor| if is_tensor { tensors.next() } else { None }))
}

/// Targets that call Python functions by their numbers in the program's scope.
const NUMBERED_TARGETS: [&str; 2] =
    ["xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback"];

/// Targets that call Python functions of the process that compiled the program.
const LOCAL_TARGETS: [&str; 4] = [
    "xla_ffi_python_cpu_callback",
    "xla_ffi_partitioned_python_cpu_callback",
    "xla_buffer_python_cpu_callback",
    "xla_python_cpu_callback",
];

fn is_local(call: &CallSpec) -> bool {
    LOCAL_TARGETS.contains(&&*call.call.target)
}

/// Returns the program of each device; `None` if the program states no shardings.
fn divided(source: &[u8]) -> Outcome<Option<Vec<u8>>> {
    let invalid = |error: &dyn std::fmt::Display| Status::invalid(error.to_string());
    let module = read::module(source, "the program").map_err(|e| invalid(&e))?;
    let registry = scope::of(&module)?.registry;
    let options = EngineOptions::new();
    let parts = reporting(Reports::Omitted, || partition_module(module, None, &registry, &options));
    let parts = parts.map_err(|e| invalid(&e))?;
    let written = parts.map(|parts| write::module(&parts.module, ProgramFormat::Artifact)).transpose();
    written.map_err(|e| invalid(&e))
}

struct Parts {
    name: String,
    options: Vec<u8>,
    parameters: Vec<Parameter>,
    results: Vec<ResultSpec>,
    source: Vec<u8>,
    owner: Option<Arc<dyn Any + Send + Sync>>,
}

/// Returns the index of the memory kind that the attributes of a parameter or result name.
fn memory_kind(attrs: &AttrDict) -> Outcome<usize> {
    match attrs.get("mhlo.memory_kind") {
        None => Ok(0),
        Some(Attribute::String(kind)) => {
            let index = MEMORY_KINDS.iter().position(|known| known.as_bytes() == kind.as_ref());
            index.ok_or_else(|| {
                let kinds = MEMORY_KINDS.join(", ");
                let kind = String::from_utf8_lossy(kind.as_ref());
                Status::invalid(format!("there is no memory of the kind `{kind}`; kinds are {kinds}"))
            })
        }
        Some(_) => Err(Status::invalid("`mhlo.memory_kind` is a string")),
    }
}

/// Returns a hash of the lowerings that are registered for a program's blocks. A stored program is valid only
/// with the same ones, since others could replace its blocks.
fn lowerings(plan: &Plan) -> u64 {
    let mut tags: Vec<&str> = plan.blocks().iter().map(|block| &*block.tag).collect();
    tags.sort_unstable();
    tags.dedup();
    let of_tag = |tag: &&str| {
        let registered = Registry::global().lowerings(tag);
        let origins: Vec<String> = registered.iter().map(|l| format!("{} {}", l.rank, l.origin)).collect();
        format!("{tag}: {}\n", origins.join(", "))
    };
    hash(tags.iter().map(of_tag).collect::<String>().as_bytes())
}

/// Returns two flags: a program may call functions of the host, and such a function may read the caller's data.
fn host_calls(plan: &Plan) -> (bool, bool) {
    if plan.calls().is_empty() {
        return (false, false);
    }
    let own: HashSet<String> =
        Registry::global().built_ins().iter().map(|target| target.name().to_owned()).collect();
    let mut of_host = plan.calls().iter().map(|call| &call.call.target).filter(|name| !own.contains(*name));
    let calls_host = of_host.clone().next().is_some();
    (calls_host, of_host.any(|name| !NUMBERED_TARGETS.contains(&&**name)))
}

/// Returns true if a run takes little time: a few kernels for small arrays, and no loops or calls. Calls of
/// Python functions count as quick, so that their errors reach the caller of a small program at once, as in
/// XLA.
fn is_quick(plan: &Plan, costs: Costs) -> bool {
    let mut only_kernels = true;
    for thunk in plan.thunks() {
        thunk.walk(&mut |thunk| {
            only_kernels &= match &thunk.op {
                ThunkOp::Compute(_) | ThunkOp::Copy | ThunkOp::DeviceNumber(_) => true,
                ThunkOp::CustomCall(call) => is_local(&plan.calls()[call.id.index()]),
                _ => false,
            }
        });
    }
    only_kernels && costs.picoseconds <= MAX_QUICK_PICOSECONDS
}
