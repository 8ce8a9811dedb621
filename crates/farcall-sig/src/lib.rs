//! What every part of farcall agrees on about an op from the outside: element types, attributes, the
//! [signature language](signature) with all that follows from a signature, and the words in which
//! mistakes about names are reported.
//!
//! This crate stands below all others: the macros, the SDK, the program representation and the
//! engine use it.
//!
//! **Invariants.** No dependencies, no `unsafe`. Knows neither the C ABI nor the program
//! representation.
#![forbid(unsafe_code)]
#![deny(clippy::incompatible_msrv)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod attr;
pub mod dtype;
pub mod nearest;
pub mod reserved;
pub mod signature;

pub use attr::{AttrType, AttrValue, Attrs, ScalarType};
pub use dtype::{DType, DTypeClass};
pub use nearest::UnknownName;
pub use signature::{Signature, SignatureError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
