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
//!   its result, and the number of elements of the result ([`ir::Level`]). [`expression`] describes
//!   operations on single elements.
//! - [`lower`], [`tiles`] and [`data_movement`] lower operations. A program either runs tile by tile in tasks
//!   ([`tiles`]), or has only one tile and becomes a straight-line program ([`straight_line`]). [`linked`]
//!   joins the straight-line programs of neighboring thunks to a line ([`line`]).
//! - [`vector`] is the backend of prebuilt loops. It runs everywhere, and needs no time to compile.
//! - `native` is the backend of generated machine code. It keeps the intermediate results of an expression in
//!   processor registers, and runs steps over few elements without calls.
//! - [`capability`] is the table of capabilities: the operations that each backend can compute. Fusion,
//!   lowering and code generation read it.
//!
//! # Terms
//!
//! - A *step* is one loop in a sequence of loops. In a line, a step can also be a jump, or a kernel without a
//!   straight-line program.
//! - A *tile* is a range of a few hundred elements. All steps compute one tile before the next tile begins.
//! - A *register* is memory for the elements of an intermediate value. The registers of the processor are
//!   called processor registers; only in `native` and in the loops of [`vector`], *register* alone means
//!   these.
//! - An *accumulator* is memory for the totals of a reduction. Each task has its own, and they are combined
//!   when all tasks are done.
//! - A *place* ([`crate::Place`]) is a range of bytes at an offset from one of the base addresses of a run.
//!   An *address* ([`ir::Address`]) is the start of a place.
//! - A *run* is one execution of a kernel or of a line.
//! - A *line* is a sequence of steps that run without the runtime's work between thunks.

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
