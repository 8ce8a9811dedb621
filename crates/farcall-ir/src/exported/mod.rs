//! Functions that JAX has exported: what `Exported.serialize()` of `jax.export` writes.
//!
//! Such a file is a [portable artifact](crate::vhlo) and what a caller has to know about it: the trees of arguments
//! and results, their types with symbolic sizes, the platforms that it was lowered for, and which of its arguments the
//! program takes at all. It is a FlatBuffer of a schema that JAX publishes (`jax/_src/export/serialization.fbs`);
//! [`Exported::read`] takes every version of it up to 12.
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
//! **Invariants.** Bytes are not trusted. What is made of a file is counted, whoever refers to it and however often, so
//! that time and memory stay in proportion to it; trees and derivatives nest at most [`MAX_DEPTH`] deep.

mod flat;
mod program;
mod read;

use crate::diag::{Diagnostic, ProgramError, Source};
use crate::module::Module;
use crate::vhlo;
use farcall_sig::DType;

pub(crate) use program::specialize;

/// How deep trees, and derivatives of derivatives, may nest.
pub const MAX_DEPTH: usize = 128;

/// The newest version of the schema that is known. Newer files are read as far as this version goes.
pub const NEWEST: u16 = 12;

/// The versions of the calling convention that are known.
pub const CALLING_CONVENTIONS: std::ops::RangeInclusive<u16> = 9..=10;

/// A function that has been exported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exported<'a> {
    /// Version of the schema, as the file says; most writers before 12 left it out.
    pub serialization_version: u16,
    /// The version of JAX that wrote the file, if it says so.
    pub jax_version: Option<String>,
    /// Name of the function in Python.
    pub function_name: String,
    /// How positional and keyword arguments are a flat list: a pair of a tuple and a dictionary.
    pub in_tree: Tree,
    /// How the result is a flat list.
    pub out_tree: Tree,
    /// Types of the flat arguments.
    pub in_avals: Vec<Aval>,
    /// Types of the flat results.
    pub out_avals: Vec<Aval>,
    /// The kinds of devices that it was lowered for. If there are several, the module's first argument says which it
    /// runs on, by the position in this list.
    pub platforms: Vec<String>,
    /// How many devices it was lowered for.
    pub devices: u32,
    /// Effects that happen in order. For each, the module has a token as an argument and as a result.
    pub ordered_effects: Vec<String>,
    /// Other effects.
    pub unordered_effects: Vec<String>,
    /// Checks that whoever exported it waived.
    pub disabled_checks: Vec<DisabledCheck>,
    /// How the module's arguments follow from those of the function.
    pub calling_convention: u16,
    /// The flat arguments that the module takes. Others are not used.
    pub kept_vars: Vec<usize>,
    /// If the module refers to constants of the process that wrote it.
    pub uses_global_constants: bool,
    /// Shardings of the flat arguments, where they have one.
    pub in_shardings: Vec<Option<Sharding>>,
    /// Shardings of the flat results, where they have one.
    pub out_shardings: Vec<Option<Sharding>>,
    /// The portable artifact, and at which byte of the file it begins.
    pub artifact: (&'a [u8], usize),
    /// The derivative: it takes arguments and cotangents of the results, and returns cotangents of the arguments.
    pub vjp: Option<Box<Exported<'a>>>,
}

/// How values in Python are a flat list of arrays.
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
    /// A dictionary, in the order of its keys.
    Dict(Vec<(String, Tree)>),
    /// A type that the program registered: its name, what it stores beside its children, and these.
    Custom {
        /// The name it is registered under.
        name: String,
        /// What its own code wrote.
        data: Vec<u8>,
        /// The values in it.
        children: Vec<Tree>,
    },
}

/// The type of an array.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Aval {
    /// Sizes: numbers, or expressions of variables such as `2*b + 1`.
    pub shape: Vec<String>,
    /// Type of the elements.
    pub dtype: AvalDType,
    /// Where it is.
    pub memory: Memory,
}

/// The element type of an array in JAX.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AvalDType {
    /// One that programs have.
    Plain(DType),
    /// `float0`: the tangent of an integer, which programs have as `i1`.
    Float0,
    /// Keys of random numbers of an implementation (`fry`, `rbg`, `unsafe_rbg`), which programs have as more numbers.
    Key(&'static str),
}

/// The memory of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Memory {
    /// The file does not say.
    #[default]
    Unspecified,
    /// That of the device.
    Device,
    /// That of the host.
    Host,
    /// Wherever.
    Any,
}

/// How an array is split among devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sharding {
    /// In the encoding that XLA has, until version 8.
    Hlo(Vec<u8>),
    /// By the names of axes of a mesh.
    Named {
        /// Name and size of the mesh's axes.
        mesh: Vec<(String, u32)>,
        /// The axes that split each dimension.
        spec: Vec<Vec<String>>,
        /// The memory, if it is a certain one.
        memory_kind: Option<String>,
    },
}

/// A check of whoever calls an exported function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DisabledCheck {
    /// That the platform is one that it was lowered for.
    Platform,
    /// That a custom call is one that JAX keeps compatible.
    CustomCall(String),
    /// Not used any more.
    ShapeAssertions,
}

/// True for the bytes of an exported function, told by the layout of its first table.
pub fn is_exported(bytes: &[u8]) -> bool {
    read::looks_right(bytes)
}

impl<'a> Exported<'a> {
    /// Reads a file, which errors call `name`. The program in it is not looked at yet: see [`Exported::module`].
    ///
    /// # Errors
    /// What is wrong, and at which byte: also, which parts do not fit together. Code: `exported`.
    pub fn read(bytes: &'a [u8], name: &str) -> Result<Exported<'a>, ProgramError> {
        read::exported(bytes).map_err(|e| {
            let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
            let message = format!("at byte {}{of}, in an exported function: {}", e.at, e.message);
            ProgramError::new(&Source::none(), Diagnostic::global("exported", message))
        })
    }

    /// The program. Errors give places in the artifact, which begins at byte `artifact.1` of the file.
    ///
    /// # Errors
    /// As [`vhlo::read`]; if the calling convention is not known (code `unsupported`); and if the program takes or returns
    /// another number of values than the function and its calling convention say (code `exported`).
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
    /// How many arrays there are.
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
