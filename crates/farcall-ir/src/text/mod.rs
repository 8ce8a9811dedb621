//! StableHLO text, in and out.
//!
//! ```text
//! lexer ─▶ parser (types, attr, dense, alias) ─▶ program ─▶ region ─▶ inst ─▶ attributes ─▶ Module
//!                                                            table ──┤
//! text ◀───────────────────────────── show ◀── names ◀── print ◀─────┴─ attributes ◀────── Module
//! ```
//!
//! - `table`: the syntax of every operation, interpreted by `inst` and `print`; `hooks`: pieces
//!   of syntax with their own code.
//! - [`attributes`](crate::attributes): operations from attribute dictionaries and back.
//! - `foreign`: operations of other dialects (MHLO, `arith`, `tensor`, `shape`) as operations of StableHLO; `extents`:
//!   shapes as vectors. `parts`: several modules in one text.
//! - `operation`: single operations, with attributes and nothing else.
//!
//! ARCHITECTURE.md lists what a new operation needs; here, it is an entry of `table`.
//!
//! **Invariants.** `parse(print(m)) == m` for every module that was parsed. No input makes the parser
//! panic or overflow the stack: brackets, regions and aliases nest at most [`MAX_NESTING`] deep, and
//! everything that repeats without a limit is read in a loop. Memory stays in proportion to the text,
//! up to [`MAX_ALIAS_NODES`] attributes behind aliases. A region's values are defined before the results of the
//! instruction that it belongs to.

mod alias;
mod attr;
mod dense;
mod extents;
mod foreign;
mod hooks;
mod inst;
mod lexer;
mod mesh;
mod names;
mod operation;
mod parser;
mod parts;
mod print;
mod program;
mod region;
mod scope;
mod symbols;
mod table;
mod types;

use std::str::FromStr;
use std::sync::Arc;

use crate::attr::{Attr, AttrDict, Dict};
use crate::diag::{Diagnostic, ProgramError, Source, Span};
use crate::module::Module;
use crate::op::Op;
use crate::stack;
use crate::types::Type;
pub(crate) use mesh::resolve as resolve_groups;
use parser::{Parsed, Parser};
pub(crate) use print::CAPTURES;

/// How deeply regions, types, attributes and aliases may nest, together; a region counts twice.
pub const MAX_NESTING: u32 = 256;

/// Attributes and types that the uses of aliases may stand for together.
pub const MAX_ALIAS_NODES: u64 = 1 << 22;

/// How deeply a location may nest; what is deeper (the outer end of a long call stack) is left out.
pub const MAX_LOC_DEPTH: u32 = 128;

/// Suggestions for a mistyped name are looked for among at most so many.
const MAX_CANDIDATES: usize = 2000;

/// Reads a program: a module, or functions without one.
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
/// Every error that was found, in the order of the text. Codes: `parse` (grammar), `unknown-op`,
/// `undefined-value`, `undefined-alias`, `redefinition`, `type`, `type-mismatch`, `result-count`,
/// `attribute`, `terminator`, `unknown-function`, `no-body`, `resource`, `constant-size`, `nesting`,
/// `empty`.
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

/// Writes a module as text that [`parse`] reads as an equal module: pretty forms where they exist, as
/// JAX prints them. Locations are left out.
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

/// The same in MLIR's generic form, which needs no knowledge of the operations to read.
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

/// The programs of a text that lines `// -----` split, each with the number of lines before it (see
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

/// Reads a type: `tensor<4xf32>`. The error says what is wrong with the text, and where.
impl FromStr for Type {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Type, ProgramError> {
        whole("<type>", text, |p| p.ty())
    }
}

/// Reads an attribute: `dense<[1, 2]> : tensor<2xi32>`. The error says what is wrong with the text, and where.
impl FromStr for Attr {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Attr, ProgramError> {
        whole("<attribute>", text, |p| p.attr())
    }
}

/// Writes an operation by itself, without operands and results: its name and attributes, as in
/// `stablehlo.iota {iota_dimension = 0 : i64}`. Functions that it mentions have no name.
pub fn print_op(op: &Op) -> String {
    operation::print(op)
}

/// Reads what [`print_op`] writes. Defaults of attributes may follow from the types of the operands.
///
/// # Errors
/// What is wrong with the text, and where; operations that mention functions are refused.
pub fn parse_op(text: &str, operands: &[Type]) -> Result<Op, ProgramError> {
    whole("<operation>", text, |p| p.lone_op(operands))
}

/// The names of all operations that [`parse`] knows, with their dialects, sorted.
pub fn op_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = table::names().collect();
    names.sort_unstable();
    names
}

/// Writes a dictionary: `{a = 1 : i64, b}`.
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
