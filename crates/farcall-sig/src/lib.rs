//! Description of an op from the outside: element types, attributes, the [signature language](signature) with
//! everything that follows from a signature, names of platforms, and suggestions for mistyped names.
//!
//! All other crates build on this one: the macros, the SDK, the program representation and the engine.
//!
//! **Invariants.** No dependencies, no `unsafe`. This crate knows neither the C ABI nor the program
//! representation.
#![forbid(unsafe_code)]
#![deny(clippy::incompatible_msrv)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod attr;
pub mod complex;
pub mod dtype;
pub mod namespace;
pub mod nearest;
pub mod platform;
pub mod reserved;
pub mod signature;
pub mod text;

pub use attr::{AttrArray, AttrElement, AttrType, AttrValue, AttrValues, ScalarType};
pub use complex::Complex;
pub use dtype::{DType, DTypeClass};
pub use nearest::UnknownName;
pub use signature::{Signature, SignatureError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
