//! The program representation: StableHLO as data.
//!
//! ```text
//! HLO ───hlo::parse───┐
//! text ──text::parse──▶ Module ──verify──▶ Module ──eval──▶ Literals
//!                          │                 └─refine─▶ Module, static
//!                          ├──text::print──▶ text
//!                          └──hlo::print───▶ HLO
//! ```
//!
//! - [`module`]: modules, functions, regions, instructions, values.
//! - [`builder`]: creates instructions, with inferred result types.
//! - [`op`]: the closed set of operations, one file per family. The dispatch functions of `infer`, `verify`,
//!   `eval` and `attributes` match it exhaustively, and most families have the same file name in each.
//! - [`dims`]: strides, joining dimensions, and dimension numbers of gathers and scatters.
//! - [`types`], [`literal`], [`attr`]: tensor types, constant tensors, attributes.
//! - [`sharding`]: how programs split values among devices.
//! - [`attributes`]: converts attribute dictionaries to operations and back, for any format.
//! - [`text`], [`hlo`]: parsers and printers of StableHLO text and HLO text.
//! - [`vhlo`]: portable StableHLO artifacts, in the container [`bytecode`].
//! - [`exported`]: functions that `jax.export` wrote.
//! - [`interface`]: a program's arguments and results by name, with symbolic sizes.
//! - [`read`], [`write`](mod@write): read and write a program in any of these formats.
//! - [`verify`], [`infer`]: the specification's constraints, and the types of results.
//! - [`expand`]: defines derived operations by simpler ones.
//! - [`normalize`]: replaces custom calls that stand for operations by these operations.
//! - [`refine`]: specializes programs with dynamic dimensions to static ones, for inputs of known types.
//! - [`bounded`]: makes bounded dimensions with computed sizes static.
//! - [`middle`]: the middle form of a program, which passes rewrite on the way to a plan, and these passes.
//! - [`file_kind`]: recognizes files of other formats.
//! - [`elided`]: constants whose elements a printer omitted.
//! - [`eval`]: the reference evaluator, against which faster implementations are tested.
//! - [`memory`], [`iterations`], [`interrupt`]: limits of work, from `farcall-limits`.
//! - [`stack`]: extends the thread's stack for recursive code.
//! - [`diag`]: errors in a program, with source line and caret.
//!
//! **Invariants.** No `unsafe`, no threads, no I/O.
//! The crate knows neither the C ABI of custom calls nor the engine: a custom call is a name, attributes,
//! operands and results, and the evaluator asks its host to run it.
#![forbid(unsafe_code)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod attr;
pub mod attributes;
pub mod bounded;
pub mod builder;
pub mod bytecode;
pub mod diag;
pub mod dims;
pub mod elided;
pub mod eval;
pub mod expand;
pub mod exported;
pub mod file_kind;
pub mod hlo;
pub mod ids;
pub mod infer;
pub mod interface;
pub mod literal;
mod manual;
pub mod middle;
pub mod minifloat;
pub mod module;
pub mod normalize;
pub mod op;
mod quote;
pub mod read;
pub mod reducer;
pub mod refine;
pub mod scalar;
pub mod sharding;
pub mod stack;
pub mod text;
pub mod types;
pub mod verify;
pub mod vhlo;
pub mod write;

pub use attr::{AttrDict, Attribute, UnwritableAttr};
pub use diag::{Diagnostic, ProgramError, Source, Span};
pub use farcall_limits::{interrupt, iterations, memory};
pub use farcall_sig::DType;
pub use literal::Literal;
pub use module::{Func, FuncId, Inst, InstId, Module, NewInst, Region, RegionId, ValueId, ValueIds};
pub use op::Op;
pub use scalar::Scalar;
pub use types::{Dim, TensorType, Type};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
