//! Parser and printer for StableHLO text.
//!
//! ```text
//! lexer ─▶ parser (types, attr, dense, alias, …) ─▶ program ─▶ region ─▶ inst ─▶ attributes ─▶ Module
//!                                                               table ──┤
//! text ◀────────────────────────────────────────────── print ◀── names ◀┴─ attributes ◀────── Module
//! ```
//!
//! - `parser`: the parser's state, with `scope` (names of values), `aliases` and `symbols` (names of
//!   functions). Each piece of grammar is an `impl Parser` in a file of its own: `value`, `alias`, `loc`,
//!   `types`, `attr`, `dense`, `region`, `inst`, `program`.
//! - `table`: the syntax of every operation, interpreted by `inst` and `print`; `syntax`: the types of its
//!   entries; `hooks`: pieces of syntax with their own code.
//! - `printer`: the printer's state, with `names`; `print`: modules, functions and instructions.
//! - [`attributes`](crate::attributes): conversion between operations and attribute dictionaries.
//! - `other_dialects`: operations of other dialects (MHLO, `arith`, `tensor`, `shape`) as operations of
//!   StableHLO; `shape_operations`: shapes as vectors. `manual`: computations on parts. `merge_modules`: several modules in one text.
//! - `operation`: single operations, with attributes and nothing else.
//!
//! ARCHITECTURE.md lists the steps for a new operation. In this module, a new operation needs an entry in
//! `table`.
//!
//! **Invariants.** `parse(print(m)) == m` for every module that was parsed. No input makes the parser panic
//! or overflow the stack: brackets, regions and aliases nest at most [`MAX_NESTING`] deep, and everything
//! that repeats without a limit is read in a loop. Memory stays proportional to the text, plus up to
//! [`MAX_ALIAS_NODES`] attributes behind aliases. The values of a region are defined before the results of
//! the instruction that owns the region.

mod alias;
mod aliases;
mod attr;
mod dense;
mod hooks;
mod inst;
mod lexer;
mod loc;
mod manual;
mod merge_modules;
mod mesh;
mod names;
mod operation;
mod other_dialects;
mod parser;
mod print;
mod printer;
mod program;
mod region;
mod scope;
mod shape_operations;
mod symbols;
mod syntax;
mod table;
mod types;
mod value;

use std::str::FromStr;
use std::sync::Arc;

use crate::attr::{AttrDict, Attribute, Dict};
use crate::diag::{Diagnostic, ProgramError, Source, Span};
use crate::module::Module;
use crate::op::Op;
use crate::stack;
use crate::types::Type;
pub(crate) use mesh::resolve as resolve_groups;
use parser::{Parsed, Parser};
pub(crate) use syntax::CAPTURES;

/// Maximum nesting depth of regions, types, attributes and aliases combined. A region counts as two levels.
pub const MAX_NESTING: u32 = 256;

/// Maximum number of attributes and types that all uses of aliases expand to.
pub const MAX_ALIAS_NODES: u64 = 1 << 22;

/// Maximum nesting depth of a location. Deeper parts of a location (the outer end of a long call stack) are
/// left out.
pub const MAX_LOC_DEPTH: u32 = 128;

/// Maximum number of names that are searched for suggestions for a mistyped name.
const MAX_CANDIDATES: usize = 2000;

/// Parses a program: a module, or functions outside of a module.
///
/// ```
/// use farcall_ir::{Source, text};
///
/// let program = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
///   %0 = stablehlo.negate %x : tensor<2xf32>
///   return %0 : tensor<2xf32>
/// }";
/// let module = text::parse(&Source::new("negate.mlir", program))?;
/// assert_eq!(module.entry().unwrap().name, "main");
///
/// let error = text::parse(&Source::new("typo.mlir", program.replace("negate", "negat"))).unwrap_err();
/// assert_eq!(error.diagnostics[0].code, "unknown-op");
/// # Ok::<(), farcall_ir::ProgramError>(())
/// ```
///
/// # Errors
/// Every error found, in the order of the text. Codes: `parse` (grammar), `unknown-op`, `undefined-value`,
/// `undefined-alias`, `redefinition`, `type`, `type-mismatch`, `result-count`, `attribute`, `terminator`,
/// `unknown-function`, `no-body`, `resource`, `constant-size`, `nesting`, `empty`.
pub fn parse(source: &Arc<Source>) -> Result<Module, ProgramError> {
    stack::with_room(|| parsed(source))
}

fn parsed(source: &Arc<Source>) -> Result<Module, ProgramError> {
    let mut p = Parser::new(source.text());
    if source.text().len() > Source::MAX_LEN {
        let message = format!("the text is longer than {} bytes", Source::MAX_LEN);
        p.report(Diagnostic::global("parse", message));
    } else if let Ok(module) = p.program(source)
        && p.diagnostics.is_empty()
    {
        return Ok(module);
    }
    Err(p.diagnostics.into_error(source))
}

/// Prints a module as text that [`parse`] reads back as an equal module. Uses pretty forms where they exist,
/// as JAX does. Locations are left out.
///
/// ```
/// use farcall_ir::{Source, text};
///
/// let module = text::parse(&Source::new("empty.mlir", "func.func @main() { return }"))?;
/// assert!(text::print(&module).contains("func.func public @main()"));
/// # Ok::<(), farcall_ir::ProgramError>(())
/// ```
pub fn print(module: &Module) -> String {
    stack::with_room(|| print::module(module, false))
}

/// Prints a module in MLIR's generic form, which can be read without knowledge of the operations.
///
/// ```
/// use farcall_ir::{Source, text};
///
/// let module = text::parse(&Source::new("empty.mlir", "func.func @main() { return }"))?;
/// let printed = text::print_generic(&module);
/// assert!(printed.contains("\"func.return\"() : () -> ()"));
/// assert_eq!(text::parse(&Source::new("printed.mlir", printed))?, module);
/// # Ok::<(), farcall_ir::ProgramError>(())
/// ```
pub fn print_generic(module: &Module) -> String {
    stack::with_room(|| print::module(module, true))
}

/// Splits text at lines `// -----` into programs, each with the number of lines before it (see
/// [`Source::part`]).
pub fn split_programs(text: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    let (mut start, mut first_line) = (0, 0);
    let mut pos = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == "// -----" {
            out.push((first_line, &text[start..pos]));
            (start, first_line) = (pos + line.len(), number + 1);
        }
        pos += line.len();
    }
    out.push((first_line, &text[start..]));
    out
}

/// Parses a type: `tensor<4xf32>`. Errors give the problem and its position in the text.
impl FromStr for Type {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Type, ProgramError> {
        whole("<type>", text, |p| p.ty())
    }
}

/// Parses an attribute: `dense<[1, 2]> : tensor<2xi32>`. Errors give the problem and its position in the
/// text.
impl FromStr for Attribute {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Attribute, ProgramError> {
        whole("<attribute>", text, |p| p.attr())
    }
}

/// Prints an operation by itself, without operands and results: its name and attributes, as in
/// `stablehlo.iota {iota_dimension = 0 : i64}`. Functions that the operation refers to are printed without
/// names.
pub fn print_op(op: &Op) -> String {
    operation::print(op)
}

/// Parses the output of [`print_op`]. `operands` are the types of the operands, from which default values of
/// attributes may follow.
///
/// # Errors
/// Problems with the text, with their positions. Operations that refer to functions are rejected.
pub fn parse_op(text: &str, operands: &[Type]) -> Result<Op, ProgramError> {
    whole("<operation>", text, |p| p.lone_op(operands))
}

/// Names of all operations that [`parse`] knows, with their dialects, sorted.
pub fn op_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = table::names().collect();
    names.sort_unstable();
    names
}

/// Prints a dictionary: `{a = 1 : i64, b}`.
pub fn show_dict(attrs: &AttrDict) -> String {
    Dict(attrs).to_string()
}

fn whole<T>(name: &str, text: &str, read: impl Fn(&mut Parser<'_>) -> Parsed<T>) -> Result<T, ProgramError> {
    let mut p = Parser::new(text);
    let out = match read(&mut p) {
        Ok(out) if p.peek().tok == lexer::Tok::Eof => Some(out),
        Ok(_) => {
            let t = p.peek();
            p.report(Diagnostic::new("parse", Span::new(t.start, t.end), "nothing is expected here"));
            None
        }
        Err(_) => None,
    };
    match out {
        Some(out) if p.diagnostics.is_empty() => Ok(out),
        _ => Err(p.diagnostics.into_error(&Source::new(name, text))),
    }
}
