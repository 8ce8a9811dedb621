//! What a program takes and gives, in the terms of whoever wrote it: names of arguments, sizes with symbols, and what
//! must hold of the symbols.
//!
//! ```text
//! entry function ─────────────▶ Interface ─ solve(types of the inputs) ─▶ Symbols: b = 8
//! exported function (its trees and types) ─┘ └─ bind(names) ─▶ numbers of arguments
//! ```
//!
//! A function that JAX has exported with symbolic shapes takes `x: f32[b,4]` where its program has `tensor<?x4xf32>`. The
//! interface keeps `b`, finds its value from the types of inputs ([`Interface::solve`]) before anything is compiled,
//! and says in these terms what does not fit. Arguments are found by their names in the spellings that files have
//! ([`Interface::bind`]).
//!
//! **Invariants.** An interface decides nothing that the program does not: what `solve` cannot tell, the program's own
//! assertions do ([`crate::refine`]).

mod names;
mod size;
mod solve;

use std::collections::HashSet;
use std::fmt;

use farcall_sig::DType;

use crate::attr::Attr;
use crate::module::{Func, MAX_NAME, Module};
use crate::refine;
use crate::types::{TensorType, Type};

pub use names::NameError;
pub use size::{Constraint, Expr, MAX_NESTING, Size, SizeError};
pub use solve::{Mismatch, MismatchKind, Symbols};

/// What a program takes and gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// The function's name.
    pub name: String,
    /// The arguments, those that the program does not use included.
    pub arguments: Vec<Argument>,
    /// The results.
    pub results: Vec<SymbolicType>,
    /// What must hold of the symbols, beyond that they are positive.
    pub constraints: Vec<Constraint>,
}

/// An argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument {
    /// What whoever wrote the program calls it (`params['w']`), or else its place: `args[0]['w']`, `arg0`.
    pub name: String,
    /// Its place in the trees of arguments of an exported function.
    pub path: Option<String>,
    /// Its type.
    pub ty: SymbolicType,
    /// Which input of the program it is; none if the program does not use it.
    pub input: Option<usize>,
}

/// The type of an array whose sizes may have symbols.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolicType {
    /// Type of the elements.
    pub dtype: DType,
    /// Sizes of the dimensions.
    pub sizes: Vec<Size>,
}

impl Interface {
    /// That of a function: names are those of its parameters, sizes that it leaves open have no symbols. Tokens are
    /// left out; a tuple is as many arguments as it has tensors.
    pub fn of(func: &Func) -> Interface {
        let params = func.params().iter().enumerate();
        let tensors = params.flat_map(|(i, p)| func.ty(*p).tensors().map(move |ty| (i, ty)));
        let mut names = NamesLeft::new();
        let arguments = tensors.enumerate().map(|(input, (i, ty))| Argument {
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

    /// True if a size of an input is not fixed.
    pub fn is_open(&self) -> bool {
        let inputs = self.arguments.iter().filter(|argument| argument.input.is_some());
        inputs.flat_map(|argument| &argument.ty.sizes).any(|size| !matches!(size, Size::Fixed(_)))
    }

    /// The arguments that are inputs of the program, in the order of the inputs.
    pub fn inputs(&self) -> Vec<&Argument> {
        let mut inputs: Vec<&Argument> = self.arguments.iter().filter(|a| a.input.is_some()).collect();
        inputs.sort_by_key(|a| a.input);
        inputs
    }
}

impl SymbolicType {
    /// That of a tensor.
    pub fn of(ty: &TensorType) -> SymbolicType {
        SymbolicType { dtype: ty.dtype, sizes: ty.dims().map(Size::of).collect() }
    }
}

/// `f32[b,4]`
impl fmt::Display for SymbolicType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(Size::to_string).collect();
        write!(f, "{}[{}]", self.dtype.name(), sizes.join(","))
    }
}

/// The names that whoever wrote a program gave to the inputs of a function, where they did. Tokens are not inputs; the parts
/// of a tuple have the tuple's name. Names that are too long, or too many, are left out.
pub fn input_names(func: &Func) -> Vec<Option<String>> {
    let mut left = NamesLeft::new();
    let params = func.params().iter().enumerate();
    let inputs = params.flat_map(|(i, p)| std::iter::repeat_n(i, func.ty(*p).tensors().count()));
    inputs.map(|i| left.keep(func.param_name(i)?)).collect()
}

/// Bytes of names that may still be copied. Whoever has written a file may give one long name to every parameter.
pub(crate) struct NamesLeft(usize);

impl NamesLeft {
    /// As many as the names of one program may have.
    pub(crate) fn new() -> NamesLeft {
        NamesLeft(16 << 20)
    }

    /// A name, if it is not too long.
    pub(crate) fn keep(&mut self, name: &str) -> Option<String> {
        self.0 = self.0.checked_sub(name.len()).filter(|_| name.len() <= MAX_NAME)?;
        Some(name.to_owned())
    }
}

/// How the message of an assertion begins that is a constraint which the author has stated, and goes on behind it.
const STATED: (&str, &str) = ("Input shapes do not match the symbolic shape constraint ", ". Expected '");

/// The constraints on symbols that the author of an exported program has stated. JAX writes them into the messages of
/// the program's assertions, and nowhere else.
pub(crate) fn stated_constraints(module: &Module) -> Vec<Constraint> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for func in module.funcs() {
        func.walk(&mut |inst| {
            let message = inst.attrs().get("error_message").and_then(Attr::as_str);
            let message = message.filter(|_| refine::is_assertion(inst));
            let stated = message.and_then(|m| m.strip_prefix(STATED.0));
            let constraint = stated.and_then(|m| m.split_once(STATED.1)?.0.parse::<Constraint>().ok());
            found.extend(constraint.filter(|c| seen.insert(c.to_string())));
        });
    }
    // JAX adds one to each that says what something is a multiple of.
    let implied: HashSet<String> = found.iter().filter_map(Constraint::implied).collect();
    found.retain(|constraint| !implied.contains(&constraint.to_string()));
    found
}
