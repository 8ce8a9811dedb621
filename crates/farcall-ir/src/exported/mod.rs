//! Functions exported by JAX: the files that `Exported.serialize()` of `jax.export` writes.
//!
//! Such a file holds a [portable artifact](crate::vhlo) and the information that callers need: the trees of
//! arguments and results, the types with symbolic sizes, the platforms that the function was lowered for, and
//! the arguments that the program uses. The file is a FlatBuffer of a schema that JAX publishes
//! (`jax/_src/export/serialization.fbs`). [`Exported::read`] accepts every schema version up to 12.
//!
//! ```no_run
//! use farcall_ir::exported::{Exported, is_exported};
//!
//! let bytes = std::fs::read("f.bin")?;
//! assert!(is_exported(&bytes));
//! let exported = Exported::read(&bytes, "f.bin")?;
//! println!("{} for {}", exported.function_name, exported.platforms.join(", "));
//! let module = exported.module("f.bin")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Invariants.** Bytes are not trusted. The reader counts every object that it creates, including repeated
//! references to one table, so time and memory stay proportional to the file. Trees and derivatives nest at
//! most [`MAX_DEPTH`] deep.

mod flat;
mod program;
mod read;

use crate::diag::{Diagnostic, ProgramError, Source};
use crate::module::Module;
use crate::vhlo;
use farcall_sig::DType;

pub(crate) use program::specialize;

/// Maximum nesting depth of trees, and of derivatives of derivatives.
pub const MAX_DEPTH: usize = 128;

/// Newest schema version that the reader knows. Of newer files, only the fields of this version are read.
pub const NEWEST: u16 = 12;

/// Versions of the calling convention that the reader knows.
pub const CALLING_CONVENTIONS: std::ops::RangeInclusive<u16> = 9..=10;

/// An exported function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exported<'a> {
    /// Schema version that the file states. Most writers before version 12 left it out.
    pub serialization_version: u16,
    /// Version of JAX that wrote the file, if stated.
    pub jax_version: Option<String>,
    /// Name of the Python function.
    pub function_name: String,
    /// Tree of the arguments: a pair of the tuple of positional arguments and the dictionary of keyword
    /// arguments.
    pub in_tree: Tree,
    /// Tree of the result.
    pub out_tree: Tree,
    /// Types of the flat arguments.
    pub in_avals: Vec<Aval>,
    /// Types of the flat results.
    pub out_avals: Vec<Aval>,
    /// Platforms that the function was lowered for. If there are several, the module's first argument is the
    /// index of the current platform in this list.
    pub platforms: Vec<String>,
    /// Number of devices that the function was lowered for.
    pub devices: u32,
    /// Ordered effects. For each, the module takes a token as an argument and returns a token.
    pub ordered_effects: Vec<String>,
    /// Unordered effects.
    pub unordered_effects: Vec<String>,
    /// Checks that the exporter waived.
    pub disabled_checks: Vec<DisabledCheck>,
    /// Version of the calling convention, which relates the module's arguments to the function's arguments.
    pub calling_convention: u16,
    /// Indices of the flat arguments that the module takes. The other arguments are unused.
    pub kept_vars: Vec<usize>,
    /// True if the module refers to constants of the process that wrote it.
    pub uses_global_constants: bool,
    /// Shardings of the flat arguments; `None` for arguments without one.
    pub in_shardings: Vec<Option<AvalSharding>>,
    /// Shardings of the flat results; `None` for results without one.
    pub out_shardings: Vec<Option<AvalSharding>>,
    /// The portable artifact, and the byte of the file at which it begins.
    pub artifact: (&'a [u8], usize),
    /// The derivative (VJP): a function from the arguments and the cotangents of the results to the
    /// cotangents of the arguments.
    pub vjp: Option<Box<Exported<'a>>>,
}

/// A pytree: the structure by which Python values are flattened into a list of arrays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tree {
    /// An array.
    Leaf,
    /// `None`
    None,
    /// A tuple.
    Tuple(Vec<Tree>),
    /// A list.
    List(Vec<Tree>),
    /// A dictionary, in key order.
    Dict(Vec<(String, Tree)>),
    /// A node of a type that the user registered with JAX.
    Custom {
        /// Name that the type is registered under.
        name: String,
        /// Auxiliary data, as serialized by the type's own code.
        data: Vec<u8>,
        /// Children of the node.
        children: Vec<Tree>,
    },
}

/// Type of an array.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Aval {
    /// Dimension sizes: numbers, or expressions of variables such as `2*b + 1`.
    pub shape: Vec<String>,
    /// Element type.
    pub dtype: AvalDType,
    /// Memory space.
    pub memory: Memory,
}

/// Element type of an array in JAX.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AvalDType {
    /// An element type that StableHLO also has.
    Plain(DType),
    /// `float0`, the tangent of an integer. Programs store it as `i1`.
    Float0,
    /// Random keys of an implementation (`fry`, `rbg`, `unsafe_rbg`). Programs store each key as several
    /// integers, in additional dimensions.
    Key(&'static str),
}

/// Memory space of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Memory {
    /// Not stated in the file.
    #[default]
    Unspecified,
    /// Device memory.
    Device,
    /// Host memory.
    Host,
    /// Any memory space.
    Any,
}

/// Sharding of an array among devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AvalSharding {
    /// XLA's encoding of an HLO sharding; written up to schema version 8.
    Hlo(Vec<u8>),
    /// Named sharding: dimensions are split along the axes of a mesh.
    Named {
        /// Name and size of each mesh axis.
        mesh: Vec<(String, u32)>,
        /// The axes that split each dimension.
        spec: Vec<Vec<String>>,
        /// Memory kind, if the sharding requires one.
        memory_kind: Option<String>,
    },
}

/// A check that callers of an exported function make unless the exporter waived it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DisabledCheck {
    /// The current platform is among the platforms of the function.
    Platform,
    /// The target of a custom call is one that JAX keeps compatible.
    CustomCall(String),
    /// No longer used.
    ShapeAssertions,
}

/// True if `bytes` are an exported function, judging by the fields of the root table.
pub fn is_exported(bytes: &[u8]) -> bool {
    read::looks_right(bytes)
}

impl<'a> Exported<'a> {
    /// Reads a file, which errors call `name`. Does not decode the program; see [`Exported::module`].
    ///
    /// # Errors
    /// Code `exported`: malformed bytes, with the byte concerned, or parts of the file that contradict each
    /// other.
    pub fn read(bytes: &'a [u8], name: &str) -> Result<Exported<'a>, ProgramError> {
        read::exported(bytes).map_err(|e| {
            let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
            let message = format!("at byte {}{of}, in an exported function: {}", e.at, e.message);
            ProgramError::new(&Source::none(), Diagnostic::global("exported", message))
        })
    }

    /// Decodes the program. Errors give positions in the artifact, which begins at byte `artifact.1` of the
    /// file.
    ///
    /// # Errors
    /// Same errors as [`vhlo::read`]. Code `unsupported` if the calling convention is not known. Code
    /// `exported` if the number of parameters or results differs from that implied by the function and its
    /// calling convention.
    pub fn module(&self, name: &str) -> Result<Module, ProgramError> {
        if !CALLING_CONVENTIONS.contains(&self.calling_convention) {
            let (known, found) = (CALLING_CONVENTIONS, self.calling_convention);
            let message = format!(
                "an exported function of calling convention {found}; {} to {} are known",
                known.start(),
                known.end()
            );
            return Err(ProgramError::new(&Source::none(), Diagnostic::global("unsupported", message)));
        }
        let (bytes, start) = self.artifact;
        let of = if name.is_empty() { "an exported function" } else { name };
        let mut module = vhlo::read(bytes, &format!("the artifact that begins at byte {start} of {of}"))?;
        match self.program_agrees(&module) {
            Ok(()) => {
                program::name_params(&mut module);
                Ok(module)
            }
            Err(message) => Err(ProgramError::new(&module.source, Diagnostic::global("exported", message))),
        }
    }
}

impl Tree {
    /// Number of arrays in the tree.
    pub fn leaves(&self) -> usize {
        match self {
            Tree::Leaf => 1,
            Tree::None => 0,
            Tree::Tuple(children) | Tree::List(children) | Tree::Custom { children, .. } => {
                children.iter().map(Tree::leaves).sum()
            }
            Tree::Dict(entries) => entries.iter().map(|(_, tree)| tree.leaves()).sum(),
        }
    }
}
