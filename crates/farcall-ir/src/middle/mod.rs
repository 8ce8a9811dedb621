//! The middle form: a program as passes rewrite it, between the module that was read and the plan that runs.
//!
//! ```text
//! Module ──build──▶ middle form ──passes, one after the other──▶ middle form ──compiler──▶ Plan
//! ```
//!
//! It is a [`Module`](crate::Module) of one function, in the same tables and with the same operations, of
//! which it allows those that are left when
//!
//! - calls that are operations in disguise are these ([`normalize`](crate::normalize));
//! - calls and composites are inlined, and every shape is static;
//! - values are tensors: tuples are taken apart, tokens are gone (what has a side effect runs in the order in
//!   which it stands), and a custom call that had either remembers the types of its operands and results
//!   ([`CustomCall::types`](crate::op::CustomCall::types));
//! - regions are closed: what a region uses from around it is an operand of its instruction, behind the
//!   operation's own, and an argument of every region, behind the operation's own
//!   ([`Inst::captures`](crate::module::Inst::captures)). Small constants are not captured but made again.
//!
//! So a pass can look at one region at a time, and knows all that goes into it. [`verify`] says whether a
//! module is in the form. It is printed and read as any module; captures are the attribute
//! `farcall.captures` of the generic form.
//!
//! A pass is one file in [`passes`], with filetests: text in, text out. [`pipeline`] runs them.

mod build;
pub mod passes;
pub mod pipeline;
mod verify;

pub use build::{MAX_INSTRUCTIONS, MAX_NESTING, build};
pub use verify::verify;
