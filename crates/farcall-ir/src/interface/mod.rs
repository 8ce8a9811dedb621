//! The interface of a program as its author sees it: names of arguments, sizes with symbols, and constraints
//! on the symbols.
//!
//! ```text
//! entry function ─────────────▶ Interface ─ solve(types of the inputs) ─▶ Symbols: b = 8
//! exported function (its trees and types) ─┘ └─ bind(names) ─▶ indices of arguments
//! ```
//!
//! A function that JAX has exported with symbolic shapes takes `x: f32[b,4]` where its program has
//! `tensor<?x4xf32>`. The interface keeps `b`, and finds its value from the types of the inputs
//! ([`Interface::solve`]) before anything is compiled. Mismatches are reported in the author's terms.
//! Arguments are found by their names in the spellings that files use ([`Interface::bind`]).
//!
//! **Invariants.** An interface adds no conditions to those of its program. Conditions that `solve` cannot
//! check are left to the program's own assertions ([`crate::refine`]).

mod names;
mod size;
mod solve;

use std::collections::HashSet;
use std::fmt;

use farcall_sig::DType;

use crate::attr::Attribute;
use crate::module::{Func, MAX_NAME, Module};
use crate::refine;
use crate::types::{TensorType, Type};

pub use names::NameError;
pub use size::{Constraint, InvalidSize, MAX_NESTING, SymbolicExpr, SymbolicSize};
pub use solve::{InputMismatch, InputMismatchKind, SymbolValues};

/// Arguments and results of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// The function's name.
    pub name: String,
    /// The arguments, including unused ones.
    pub arguments: Vec<ArgumentInfo>,
    /// The results.
    pub results: Vec<SymbolicType>,
    /// Constraints on the symbols. (All symbols are also positive.)
    pub constraints: Vec<Constraint>,
}

/// An argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgumentInfo {
    /// The author's name for the argument (`params['w']`), or else its position: `args[0]['w']`, `arg0`.
    pub name: String,
    /// Path in the argument trees of an exported function.
    pub path: Option<String>,
    /// Type of the argument.
    pub ty: SymbolicType,
    /// Index of the program's input; `None` if the program does not use the argument.
    pub input: Option<usize>,
}

/// The type of an array whose sizes may contain symbols.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolicType {
    /// Type of the elements.
    pub dtype: DType,
    /// Sizes of the dimensions.
    pub sizes: Vec<SymbolicSize>,
}

impl Interface {
    /// Creates the interface of a function. Names come from the parameters; dynamic sizes have no symbols.
    /// Tokens are left out, and a tuple becomes one argument per tensor.
    pub fn of(func: &Func) -> Interface {
        let params = func.params().iter().enumerate();
        let tensors = params.flat_map(|(i, p)| func.ty(*p).tensors().map(move |ty| (i, ty)));
        let mut names = NamesLeft::new();
        let arguments = tensors.enumerate().map(|(input, (i, ty))| ArgumentInfo {
            name: func
                .param_name(i)
                .and_then(|name| names.keep(name))
                .unwrap_or_else(|| format!("arg{input}")),
            path: None,
            ty: SymbolicType::of(ty),
            input: Some(input),
        });
        Interface {
            name: format!("@{}", func.name),
            arguments: arguments.collect(),
            results: func.results().iter().flat_map(Type::tensors).map(SymbolicType::of).collect(),
            constraints: Vec::new(),
        }
    }

    /// Returns true if an input has a size that is not fixed.
    pub fn is_open(&self) -> bool {
        let inputs = self.arguments.iter().filter(|argument| argument.input.is_some());
        inputs.flat_map(|argument| &argument.ty.sizes).any(|size| !matches!(size, SymbolicSize::Fixed(_)))
    }

    /// Returns the arguments that are inputs of the program, in the order of the inputs.
    pub fn inputs(&self) -> Vec<&ArgumentInfo> {
        let mut inputs: Vec<&ArgumentInfo> = self.arguments.iter().filter(|a| a.input.is_some()).collect();
        inputs.sort_by_key(|a| a.input);
        inputs
    }
}

impl SymbolicType {
    /// Returns the type of a tensor.
    pub fn of(ty: &TensorType) -> SymbolicType {
        SymbolicType { dtype: ty.dtype, sizes: ty.dims().map(SymbolicSize::of).collect() }
    }
}

/// `f32[b,4]`
impl fmt::Display for SymbolicType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(SymbolicSize::to_string).collect();
        write!(f, "{}[{}]", self.dtype.name(), sizes.join(","))
    }
}

/// Returns the author's names for the inputs of a function, where known. Tokens are not inputs; the parts of
/// a tuple have the tuple's name. Names that are too long are left out, as are names beyond a total size.
pub fn input_names(func: &Func) -> Vec<Option<String>> {
    let mut left = NamesLeft::new();
    let params = func.params().iter().enumerate();
    let inputs = params.flat_map(|(i, p)| std::iter::repeat_n(i, func.ty(*p).tensors().count()));
    inputs.map(|i| left.keep(func.param_name(i)?)).collect()
}

/// Remaining budget, in bytes, for copies of names. The author of a file may give one long name to every
/// parameter.
pub(crate) struct NamesLeft(usize);

impl NamesLeft {
    /// Creates the budget for the names of one program.
    pub(crate) fn new() -> NamesLeft {
        NamesLeft(16 << 20)
    }

    /// Copies a name if it is short enough and fits in the budget.
    pub(crate) fn keep(&mut self, name: &str) -> Option<String> {
        self.0 = self.0.checked_sub(name.len()).filter(|_| name.len() <= MAX_NAME)?;
        Some(name.to_owned())
    }
}

/// Text before and after a constraint stated by the author, in the message of an assertion.
const STATED: (&str, &str) = ("Input shapes do not match the symbolic shape constraint ", ". Expected '");

/// Returns the constraints on symbols that the author of an exported program has stated. JAX writes them only
/// into the messages of the program's assertions.
pub(crate) fn stated_constraints(module: &Module) -> Vec<Constraint> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for func in module.funcs() {
        func.walk(&mut |inst| {
            let message = inst.attrs().get("error_message").and_then(Attribute::as_str);
            let message = message.filter(|_| refine::is_assertion(inst));
            let stated = message.and_then(|m| m.strip_prefix(STATED.0));
            let constraint = stated.and_then(|m| m.split_once(STATED.1)?.0.parse::<Constraint>().ok());
            found.extend(constraint.filter(|c| seen.insert(c.to_string())));
        });
    }
    // For each constraint that an expression is a multiple of a number, JAX adds an equivalent constraint.
    let implied: HashSet<String> = found.iter().filter_map(Constraint::implied).collect();
    found.retain(|constraint| !implied.contains(&constraint.to_string()));
    found
}
