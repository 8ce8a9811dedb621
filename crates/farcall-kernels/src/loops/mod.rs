//! Loops over elements: one representation, two backends.
//!
//! ```text
//! operations ──lower──▶ loops over values ──▶ loops over registers and memory
//! (elementwise, fusions)  (tiles: optimize)      │                 │
//!                                                │ tiles, tasks    │ one tile: straight line ──link──▶ line
//!                                                ▼                 ▼                                   │
//!                          prebuilt code of vector loops ◀─────────┴───────────────────────────────────┤
//!                          (vector)                                machine code for expressions, steps  │
//!                                                                  and lines (native) ◀─────────────────┘
//! ```
//!
//! - [`ir`] has the representation: what a loop computes ([`ir::LoopOp`]), the locations of its operands and
//!   its result, and the level of its elements. [`expression`] describes operations on single elements.
//! - [`lower`], [`tiles`] and [`data_movement`] lower operations. A schedule is either tiles in tasks
//!   ([`tiles`]), or a single tile ([`straight_line`]), which [`linked`] joins with neighboring thunks.
//! - [`vector`] is the backend of prebuilt loops. It runs everywhere, and needs no time to compile.
//! - `native` is the backend of generated machine code. It keeps the intermediate results of an expression in
//!   registers, and runs the steps of a loop over few elements without calls.
//! - [`capability`] is the table of what both can compute. Fusion, lowering and code generation read it.

pub(crate) mod capability;
pub(crate) mod data_movement;
pub(crate) mod expression;
pub(crate) mod ir;
pub(crate) mod line;
pub(crate) mod linked;
pub(crate) mod lower;
#[cfg(all(target_arch = "x86_64", unix))]
pub(crate) mod native;
#[cfg(not(all(target_arch = "x86_64", unix)))]
#[path = "native/none.rs"]
pub(crate) mod native;
pub(crate) mod prepared;
pub(crate) mod straight_line;
#[cfg(test)]
mod tests;
pub(crate) mod tiles;
pub(crate) mod vector;
