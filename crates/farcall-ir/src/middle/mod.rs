//! The middle form: the form of a program that passes rewrite, between the parsed module and the executable
//! plan.
//!
//! ```text
//! Module ──build──▶ middle form ──passes, one after the other──▶ middle form ──compiler──▶ Plan
//! ```
//!
//! The middle form is a [`Module`](crate::Module) of one function. It uses the same tables and operations as
//! other modules, except for operations that only structure a program
//! ([`Traits::STRUCTURE`](crate::op::Traits::STRUCTURE)). In the middle form
//!
//! - custom calls that stand for operations have been replaced by these operations
//!   ([`normalize`](crate::normalize));
//! - calls are inlined, and composites are inlined or replaced by a custom call ([`Lower`]);
//! - every shape is static;
//! - values are tensors: tuples are flattened, and tokens are gone (side effects happen in program order). A
//!   custom call with tuples or tokens records the types of its operands and results
//!   ([`CustomCall::types`](crate::op::CustomCall::types));
//! - regions are closed. An instruction takes the outside values that its regions use as operands, after the
//!   operation's own operands, and passes them to every region as arguments, after the operation's own
//!   arguments ([`Inst::captures`](crate::module::Inst::captures)). Small constants are duplicated instead.
//!
//! A pass can therefore look at one region at a time, and sees all of its inputs. [`verify`] checks that a
//! module is in the form. The form is printed and parsed like any module; captures are the attribute
//! `farcall.captures` of the generic form.
//!
//! Each pass is one file in [`passes`], with filetests: text in, text out. [`pipeline`] runs them.
//!
//! The form also records the compiler's decisions about memory. A [`FormOp::Copy`](crate::op::FormOp::Copy)
//! gives a value separate memory. `farcall.laid_out` marks a call whose operands and results are already in
//! the layouts that the call requires ([`passes::layouts`]). The compiler's own passes add attributes for
//! donated inputs and for the memory of results and scratch.

mod build;
mod lower;
mod open;
pub mod passes;
pub mod pipeline;
pub mod rows;
mod verify;

pub use build::{MAX_INSTRUCTIONS, MAX_NESTING, build, build_lowered};
pub use lower::{CompositeCall, Inline, Lower};
pub use open::open_regions;
pub use verify::verify;
