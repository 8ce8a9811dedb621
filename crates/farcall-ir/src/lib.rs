//! The program: StableHLO as data.
//!
//! ```text
//! text ──text::parse──▶ Module ──verify──▶ Module ──eval──▶ Literals
//!                          │                 └─refine─▶ Module, static
//!                          └──text::print──▶ text
//! ```
//!
//! - [`module`]: modules, functions, regions, instructions, values.
//! - [`builder`]: instructions whose types follow.
//! - [`op`]: the closed set of operations, one file a family. The folders `infer`, `verify` and `eval`
//!   match it exhaustively, and the same family has the same file name in each.
//! - [`types`], [`literal`], [`attr`]: tensor types, constant tensors, attributes.
//! - [`sharding`]: how values are split among devices, as programs say it.
//! - [`attributes`]: operations from attribute dictionaries, and back, for any format.
//! - [`text`]: StableHLO text, in and out.
//! - [`verify`], [`infer`]: the specification's constraints, and the types that results have.
//! - [`expand`]: what operations that are defined by simpler ones are.
//! - [`normalize`]: calls that are operations in disguise, as what they mean.
//! - [`refine`]: programs with dynamic dimensions, made static for inputs of known types.
//! - [`middle`]: the form that passes rewrite on the way to a plan, and the passes.
//! - [`eval`]: the reference evaluator, the oracle for everything faster.
//! - [`diag`]: mistakes in a program, with source line and caret.
//!
//! **Invariants.** No `unsafe`, no threads, no I/O but for asking how much memory there is ([`memory`]). Nothing here knows the C ABI of custom calls or
//! the engine: a custom call is a name, attributes, operands and results, and the evaluator asks its
//! host to run it.
#![forbid(unsafe_code)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod attr;
pub mod attributes;
pub mod builder;
pub mod diag;
pub mod eval;
pub mod expand;
pub mod ids;
pub mod infer;
pub mod iterations;
pub mod literal;
pub mod memory;
pub mod middle;
pub mod minifloat;
pub mod module;
pub mod normalize;
pub mod op;
mod quote;
pub mod reducer;
pub mod refine;
pub mod scalar;
pub mod sharding;
pub mod text;
pub mod types;
pub mod verify;

pub use attr::{Attr, AttrDict};
pub use diag::{Diagnostic, ProgramError, Source, Span};
pub use farcall_sig::DType;
pub use literal::Literal;
pub use module::{Func, FuncId, Inst, InstId, Module, NewInst, Region, RegionId, ValueId};
pub use op::Op;
pub use scalar::Scalar;
pub use types::{Dim, TensorType, Type};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
