//! HLO text, in and out.
//!
//! ```text
//! cursor ─▶ syntax (shape, literal, stack) ─▶ lower (table, given, hooks, groups, calls, special, control) ─▶ header ─▶ Module
//! ```
//!
//! - `cursor`: words, numbers and strings at a position; `shape`, `literal`: types and constants.
//! - `syntax`: computations and instructions as they stand; `lower`: the module that they mean.
//! - `table`: the opcodes, for reader and printer alike; `hooks`, `groups`, `calls`: attributes with a syntax of
//!   their own.
//!
//! HLO has tuples where StableHLO has several values, and computations where it has regions. A tuple is taken apart
//! when it is read, and put together when it is written. Layouts are kept where custom calls ask for them; elsewhere
//! they are XLA's business. The entry is called `main`.
//!
//! **Invariants.** No input makes the reader panic or overflow the stack, and memory stays in proportion to the text.

mod calls;
mod control;
mod cursor;
mod given;
mod groups;
mod header;
mod hooks;
mod literal;
mod lower;
mod shape;
mod special;
mod stack;
mod syntax;
mod table;

use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics, ProgramError, Source};
use crate::module::Module;

/// True if a text is HLO text: its first word is `HloModule`.
pub fn is_hlo(text: &str) -> bool {
    let mut c = cursor::Cursor::new(text, 0, text.len());
    c.eat_str("HloModule")
}

/// Reads a program in HLO text.
///
/// ```
/// use farcall_ir::{Source, hlo};
///
/// let program = "HloModule double
/// ENTRY main {
///   x = f32[2]{0} parameter(0)
///   ROOT add.1 = f32[2]{0} add(x, x)
/// }";
/// let module = hlo::parse(&Source::new("double.hlo", program))?;
/// assert_eq!(module.entry().unwrap().params().len(), 1);
///
/// let error = hlo::parse(&Source::new("typo.hlo", program.replace("add(", "ad("))).unwrap_err();
/// assert_eq!(error.diagnostics[0].code, "unknown-op");
/// # Ok::<(), farcall_ir::ProgramError>(())
/// ```
///
/// # Errors
/// Every error that was found, in the order of the text. Codes: `parse` (grammar), `attribute`, `unknown-op`,
/// `unsupported`, `undefined-value`, `unknown-function`, `redefinition`, `type-mismatch`, `operands`, `index`,
/// `parameter`, `recursion`, `nesting`, `tuple`, `empty`.
pub fn parse(source: &Arc<Source>) -> Result<Module, ProgramError> {
    let mut diagnostics = Diagnostics::default();
    if source.text().len() > Source::MAX_LEN {
        let message = format!("the text is longer than {} bytes", Source::MAX_LEN);
        return Err(ProgramError::new(source, Diagnostic::global("parse", message)));
    }
    let text = syntax::read(source.text(), &mut diagnostics);
    let mut found = None;
    // What opcodes mean is looked at even if there are errors: there may be others.
    if !text.computations.is_empty() || diagnostics.is_empty() {
        found = Some(lower::module(source, &text, &mut diagnostics));
    }
    match found {
        Some(module) if diagnostics.is_empty() => Ok(module),
        _ => Err(diagnostics.into_error(source)),
    }
}
