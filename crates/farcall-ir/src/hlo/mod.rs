//! Parser and printer for HLO text.
//!
//! ```text
//! cursor ─▶ syntax (shape, literal, stack) ─▶ lower (calls, …) ─▶ header ─▶ Module
//!                                              table (hooks, groups, calls) ──┤
//! text ◀─────────────────────────────────────────── emit ◀── print ◀──────────┴─ Module
//! bytes ─▶ proto ─▶ text
//! ```
//!
//! - `cursor`: words, numbers and strings at a position; `shape`, `literal`: types and constants.
//! - `syntax`: computations and instructions, without their meaning; `lower`: conversion to a module.
//! - `lowering`: the state of the conversion. Above it are `value` (values of instructions), files per kind
//!   of instruction (`control`, `collectives`, `asynchronous`, `expanded`, `non_operations`), and
//!   `result_types` (inference of types that the text leaves out).
//! - `print`: computations of functions and regions; `emit`: single instructions.
//! - `proto`: XLA's binary form, which is converted to text.
//! - `table`: the opcodes, for reader and printer alike; `hooks`, `groups`, `calls`: attributes with custom
//!   syntax.
//!
//! HLO has tuples where StableHLO has several values, and computations where StableHLO has regions. The
//! reader flattens tuples, and the printer builds them again. A short computation that several instructions
//! apply is copied into each instruction; a longer one is called. Fusions and asynchronous instructions are
//! replaced by the instructions in them, and a `bitcast` by the operations that its layouts imply, so
//! programs that XLA has optimized can be read, too. Layouts are kept where custom calls require them;
//! elsewhere they do not affect results and are dropped. The entry is named `main`.
//!
//! **Invariants.** No input makes the reader panic or overflow the stack, and memory stays proportional to
//! the text.

mod asynchronous;
mod attr_syntax;
mod attribute_fields;
mod calls;
mod collectives;
mod control;
mod cursor;
mod emit;
mod expanded;
mod groups;
mod header;
mod hooks;
mod literal;
mod lower;
mod lowering;
mod non_operations;
mod print;
pub mod proto;
mod result_types;
mod shape;
mod stack;
mod syntax;
mod table;
mod value;

use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics, ProgramError, Source};
use crate::expand;
use crate::literal::Literal;
use crate::module::{Inst, Module};
use crate::normalize;
use crate::op::{CustomCall, Derived, Op};

/// True if the text is HLO text: its first word is `HloModule`.
pub fn is_hlo(text: &str) -> bool {
    let mut c = cursor::Cursor::new(text, 0, text.len());
    c.eat_str("HloModule")
}

/// Parses a program in HLO text.
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
/// Every error found, in the order of the text. Codes: `parse` (grammar), `attribute`, `unknown-op`,
/// `unsupported`, `undefined-value`, `unknown-function`, `redefinition`, `type-mismatch`, `operands`,
/// `index`, `parameter`, `recursion`, `nesting`, `tuple`, `empty`.
pub fn parse(source: &Arc<Source>) -> Result<Module, ProgramError> {
    parse_with(source, &[])
}

/// Parses a text whose constants are stored separately: `constant(#3)` is the fourth constant.
fn parse_with(source: &Arc<Source>, constants: &[Literal]) -> Result<Module, ProgramError> {
    crate::stack::with_room(|| parsed(source, constants))
}

fn parsed(source: &Arc<Source>, constants: &[Literal]) -> Result<Module, ProgramError> {
    let mut diagnostics = Diagnostics::default();
    if source.text().len() > Source::MAX_LEN {
        let message = format!("the text is longer than {} bytes", Source::MAX_LEN);
        return Err(ProgramError::new(source, Diagnostic::global("parse", message)));
    }
    let text = syntax::read(source.text(), &mut diagnostics);
    let mut found = None;
    // Lower the program even if there are syntax errors, to find further errors.
    if !text.computations.is_empty() || diagnostics.is_empty() {
        found = Some(lower::module(source, &text, constants, &mut diagnostics));
    }
    match found {
        Some(module) if diagnostics.is_empty() => Ok(module),
        _ => Err(diagnostics.into_error(source)),
    }
}

/// Prints a verified module as HLO text that [`parse`] and XLA read. Functions that the entry does not use
/// are left out. Operations that HLO lacks are expanded into simpler ones where [`crate::expand`] can.
/// Functions of CHLO become custom calls of their names, which only [`parse`] converts back. Values keep
/// their own names ([`Func::name_of`](crate::Func::name_of)), which are adjusted if HLO cannot write them or
/// another value has the same name.
///
/// ```
/// use farcall_ir::{Source, hlo};
///
/// let module = hlo::parse(&Source::new("x.hlo", "HloModule x ENTRY main { ROOT x = s32[] parameter(0) }"))?;
/// assert!(hlo::print(&module)?.contains("ROOT %Arg.1 = s32[] parameter(0)"));
/// # Ok::<(), farcall_ir::ProgramError>(())
/// ```
///
/// # Errors
/// Code `no-hlo`: every instruction that has no equivalent in HLO, for example on dynamic shapes and
/// quantized tensors. Code `entry`: a program without an entry.
pub fn print(module: &Module) -> Result<String, ProgramError> {
    crate::stack::with_room(|| printed(module))
}

fn printed(module: &Module) -> Result<String, ProgramError> {
    let mut prepared = None;
    if module.funcs().iter().any(needs_preparation) {
        let mut module = module.clone();
        normalize::run_where(&mut module, &is_rewritten);
        for id in module.func_ids() {
            expand::run_where(module.func_mut(id), &is_expanded);
        }
        prepared = Some(module);
    }
    print::module(prepared.as_ref().unwrap_or(module))
}

fn needs_preparation(func: &crate::module::Func) -> bool {
    let mut found = false;
    func.walk(&mut |inst| {
        found |= is_expanded(inst) || matches!(inst.op(), Op::CustomCall(call) if is_rewritten(call));
    });
    found
}

/// True for calls that are printed as the operations for which they stand, because XLA would not recognize
/// the calls.
fn is_rewritten(call: &CustomCall) -> bool {
    let is_known = normalize::is_placement(call) || normalize::is_decomposition(call);
    !is_known || call.target.starts_with("sdy.")
}

/// True for operations that HLO lacks. A scan is expanded only if its region captures nothing.
fn is_expanded(inst: Inst<'_>) -> bool {
    match inst.op() {
        Op::Scan(_) => inst.free_values().is_empty(),
        Op::Derived(op) => !matches!(
            op,
            Derived::BatchNormInference(_)
                | Derived::BatchNormTraining(_)
                | Derived::BatchNormGrad(_)
                | Derived::RaggedDot(_)
        ),
        _ => false,
    }
}
