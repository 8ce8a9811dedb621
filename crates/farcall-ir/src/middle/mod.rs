//! The middle form: a program as passes rewrite it, between the module that was read and the plan that runs.
//!
//! ```text
//! Module ──build──▶ middle form ──passes, one after the other──▶ middle form ──compiler──▶ Plan
//! ```
//!
//! It is a [`Module`](crate::Module) of one function, in the same tables and with the same operations but those that only
//! structure a program ([`Traits::STRUCTURE`](crate::op::Traits::STRUCTURE)), in which
//!
//! - calls that are operations in disguise have been replaced by these ([`normalize`](crate::normalize));
//! - calls are inlined, and so are composites, unless a custom call takes their place ([`Lower`]); every shape is static;
//! - values are tensors: tuples are flattened, tokens are gone (side effects happen in program order), and a custom
//!   call that had either remembers the types of its operands and results
//!   ([`CustomCall::types`](crate::op::CustomCall::types));
//! - regions are closed: a value that a region uses from outside is an operand of its instruction, after the
//!   operation's own operands, and an argument of every region, after the operation's own arguments
//!   ([`Inst::captures`](crate::module::Inst::captures)). Small constants are duplicated instead.
//!
//! So a pass can look at one region at a time, and knows everything that goes into it. [`verify`] checks that a
//! module is in the form. It is printed and read like any module; captures are the attribute `farcall.captures` of
//! the generic form.
//!
//! A pass is one file in [`passes`], with filetests: text in, text out. [`pipeline`] runs them.
//!
//! The form also says where values lie, as the compiler decides it: [`Op::Copy`](crate::op::Op::Copy) is a value in
//! memory of its own, `farcall.laid_out` a call whose operands and results lie in its layouts
//! ([`passes::layouts`]), and the compiler's own passes add attributes for donated inputs and places.

mod build;
mod lower;
pub mod passes;
pub mod pipeline;
pub mod rows;
mod verify;

pub use build::{MAX_INSTRUCTIONS, MAX_NESTING, build, build_lowered};
pub use lower::{CompositeCall, Inline, Lower};
pub use verify::verify;
