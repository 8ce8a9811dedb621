//! Compiled programs, with what JAX asks about them.

use std::any::Any;
use std::sync::Arc;

use farcall::ir::{Attribute, Module, TensorType, read, verify};
use farcall::plan::{Plan, ThunkOp};
use farcall::{CompileOptions as EngineOptions, Executable, Registry};
use farcall_pjrt_abi::{ElementType, ErrorCode};

use crate::client::{MEMORY_KINDS, fnv1a};
use crate::element;
use crate::named_values::{NamedValues, Value};
use crate::scope::{self, Targets};
use crate::status::{Outcome, Status};

/// A compiled program.
pub(crate) struct Program {
    pub(crate) executable: Executable,
    pub(crate) name: String,
    /// The caller's options, as it passed them.
    pub(crate) options: Vec<u8>,
    /// For each parameter, whether a run takes over the caller's buffer.
    pub(crate) donated: Vec<bool>,
    /// Index of the memory kind of each parameter and each result.
    pub(crate) parameter_kinds: Vec<usize>,
    pub(crate) result_kinds: Vec<usize>,
    /// True if a run takes less time than a switch of threads.
    pub(crate) is_quick: bool,
    /// Fingerprint of the program: equal for equal programs and options.
    pub(crate) fingerprint: String,
    /// The program before compilation, in a portable format.
    pub(crate) source: Vec<u8>,
    pub(crate) described: Described,
    /// An object that the handlers of the program need.
    _owner: Option<Arc<dyn Any + Send + Sync>>,
}

/// Properties of a program as the interface passes them.
pub(crate) struct Described {
    pub(crate) element_types: Vec<ElementType>,
    pub(crate) dims: Vec<i64>,
    pub(crate) ranks: Vec<usize>,
    pub(crate) parameter_kinds: Kinds,
    pub(crate) result_kinds: Kinds,
    pub(crate) costs: NamedValues,
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
    fn new(kinds: &[usize]) -> Kinds {
        Kinds {
            names: kinds.iter().map(|kind| MEMORY_KINDS[*kind].as_ptr().cast()).collect(),
            sizes: kinds.iter().map(|kind| MEMORY_KINDS[*kind].len()).collect(),
        }
    }
}

/// Start of a serialized program. The version changes when the layout below does.
const MAGIC: &[u8; 8] = b"FCPJRT01";

/// Maximum number of bytes in the arena, arguments and results of a program whose runs are quick.
const MAX_QUICK_BYTES: usize = 1 << 16;

impl Program {
    /// Compiles a program.
    ///
    /// # Errors
    /// If the program is invalid, has dynamic sizes, or calls a target that is not registered.
    pub(crate) fn compile(code: &[u8], format: &str, options: Vec<u8>) -> Outcome<Program> {
        if !matches!(format, "mlir" | "hlo" | "hlo_with_config") {
            return Err(Status::invalid(format!("a program has the format `mlir` or `hlo`, not `{format}`")));
        }
        let module = read::module(code, "the program").map_err(|e| Status::invalid(e.to_string()))?;
        let name = module.name.clone().unwrap_or_else(|| "main".to_owned());
        let entry = verify::entry(&module, None).map_err(|e| Status::invalid(e.to_string()))?;
        let (parameters, results) = (entry.param_attrs(), entry.result_attrs());
        let is_donated = |attrs: &farcall::ir::AttrDict| {
            attrs.get("tf.aliasing_output").is_some()
                || matches!(attrs.get("jax.buffer_donor"), Some(Attribute::Bool(true)))
        };
        let donated = parameters.iter().map(is_donated).collect();
        let parameter_kinds = parameters.iter().map(memory_kind).collect::<Outcome<_>>()?;
        let result_kinds = results.iter().map(memory_kind).collect::<Outcome<_>>()?;
        let costs = costs(&module);
        let Targets { registry, owner } = scope::of(&module)?;
        let executable = Executable::compile_owned(module, &registry, &EngineOptions::new())
            .map_err(|e| Status::of(&e))?;
        let parts = Parts {
            name,
            options,
            donated,
            parameter_kinds,
            result_kinds,
            source: code.to_vec(),
            costs,
            owner,
        };
        Ok(Program::of(executable, parts))
    }

    fn of(executable: Executable, parts: Parts) -> Program {
        let Parts { name, options, donated, parameter_kinds, result_kinds, source, costs, owner } = parts;
        let outputs = executable.outputs();
        let described = Described {
            element_types: outputs.iter().map(|ty| element::of_dtype(ty.dtype)).collect(),
            dims: outputs.iter().flat_map(|ty| ty.sizes().iter().map(|size| *size as i64)).collect(),
            ranks: outputs.iter().map(TensorType::rank).collect(),
            parameter_kinds: Kinds::new(&parameter_kinds),
            result_kinds: Kinds::new(&result_kinds),
            costs: NamedValues::new(
                costs.iter().map(|(name, cost)| (name.clone(), Value::Float(*cost))).collect(),
            ),
        };
        let is_quick = is_quick(executable.plan(), executable.inputs(), executable.outputs());
        let fingerprint = format!("{:016x}{:016x}", fnv1a(&source), fnv1a(&options));
        Program {
            executable,
            name,
            options,
            donated,
            parameter_kinds,
            result_kinds,
            is_quick,
            fingerprint,
            source,
            described,
            _owner: owner,
        }
    }

    /// Returns the bytes of a program that has been compiled, for another process.
    ///
    /// # Errors
    /// If the program calls functions of this process.
    pub(crate) fn to_bytes(&self) -> Outcome<Vec<u8>> {
        let plan = self.executable.plan();
        let local = plan.calls().iter().find(|call| LOCAL_TARGETS.contains(&&*call.call.target));
        if local.is_some() {
            let message =
                format!("`{}` calls Python functions of this process and cannot be stored", self.name);
            return Err(Status::unimplemented(message));
        }
        let plan = plan.to_bytes().map_err(|e| Status::new(ErrorCode::INTERNAL, e.to_string()))?;
        let kinds = |kinds: &[usize]| kinds.iter().map(|kind| *kind as u8).collect::<Vec<u8>>();
        let donated: Vec<u8> = self.donated.iter().map(|is| u8::from(*is)).collect();
        let mut out = MAGIC.to_vec();
        let parts: [&[u8]; 7] = [
            self.name.as_bytes(),
            &self.options,
            &donated,
            &kinds(&self.parameter_kinds),
            &kinds(&self.result_kinds),
            &self.source,
            &plan,
        ];
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
        let (donated, parameter_kinds, result_kinds) = (next()?, next()?, next()?);
        let (source, plan) = (next()?.to_vec(), next()?);
        let plan = Plan::from_bytes(plan).map_err(|e| Status::invalid(e.to_string()))?;
        let executable = Executable::from_plan(plan, Registry::global()).map_err(|e| Status::of(&e))?;
        let kinds =
            |kinds: &[u8]| kinds.iter().map(|kind| usize::from(*kind).min(MEMORY_KINDS.len() - 1)).collect();
        if donated.len() != executable.inputs().len() || result_kinds.len() != executable.outputs().len() {
            return Err(wrong());
        }
        let costs = read::module(&source, "the program").map(|module| costs(&module)).unwrap_or_default();
        let parts = Parts {
            name,
            options: options.unwrap_or_else(|| stored.to_vec()),
            donated: donated.iter().map(|is| *is != 0).collect(),
            parameter_kinds: kinds(parameter_kinds),
            result_kinds: kinds(result_kinds),
            source,
            costs,
            owner: None,
        };
        Ok(Program::of(executable, parts))
    }
}

/// Targets that call Python functions of the process that compiled the program.
const LOCAL_TARGETS: [&str; 4] = [
    "xla_ffi_python_cpu_callback",
    "xla_ffi_partitioned_python_cpu_callback",
    "xla_buffer_python_cpu_callback",
    "xla_python_cpu_callback",
];

struct Parts {
    name: String,
    options: Vec<u8>,
    donated: Vec<bool>,
    parameter_kinds: Vec<usize>,
    result_kinds: Vec<usize>,
    source: Vec<u8>,
    costs: Vec<(String, f32)>,
    owner: Option<Arc<dyn Any + Send + Sync>>,
}

/// Returns the index of the memory kind that the attributes of a parameter or result name.
fn memory_kind(attrs: &farcall::ir::AttrDict) -> Outcome<usize> {
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

/// Returns true if the program has a few kernels for small arrays, and no loops or calls.
fn is_quick(plan: &Plan, inputs: &[TensorType], outputs: &[TensorType]) -> bool {
    let bytes = |types: &[TensorType]| types.iter().map(|ty| ty.bytes().unwrap_or(0)).sum::<usize>();
    let total = plan.arena_size() + plan.constant_bytes() + bytes(inputs) + bytes(outputs);
    let mut only_kernels = true;
    for thunk in plan.thunks() {
        thunk.walk(&mut |thunk| only_kernels &= matches!(thunk.op, ThunkOp::Compute(_) | ThunkOp::Copy));
    }
    only_kernels && total <= MAX_QUICK_BYTES
}

/// Returns estimates of a program's costs, under XLA's names.
fn costs(module: &Module) -> Vec<(String, f32)> {
    crate::cost::of(module)
}
