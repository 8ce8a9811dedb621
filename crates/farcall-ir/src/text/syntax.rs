//! Parts of which the syntax table consists, and the data that the parser and the printer pass to hooks.
//!
//! This module lies below the table: `hooks` makes [`Hook`]s, `table` lists the [`Syntax`] of each operation,
//! and `inst` and `print` interpret it. Parsing fills in a [`Draft`]; printing takes from a [`View`].

use farcall_sig::DType;

use super::parser::{Parsed, Parser};
use super::printer::Printer;
use super::scope::Operands;
use crate::attr::{AttrDict, Attribute};
use crate::diag::Span;
use crate::module::{Inst, RegionId, ValueId};
use crate::op::CustomCall;
use crate::types::TypeList;

/// Syntax of an operation.
pub(super) struct Syntax {
    /// Name, including the dialect.
    pub(super) name: &'static str,
    /// Pretty form, after the name.
    pub(super) form: &'static [Directive],
    /// Representation of the operation in a parsed module.
    pub(super) read: Read,
}

/// Representation of an operation in a parsed module.
pub(super) enum Read {
    /// The operation that [`crate::attributes`] creates from its attributes.
    Op,
    /// An operation of another dialect: a custom call with the operation's name as its target. The attributes
    /// stay on the instruction.
    Call { has_side_effect: bool },
}

impl Syntax {
    /// True if the pretty form begins with operands.
    pub(super) fn takes_operands_first(&self) -> bool {
        let first = self.form.iter().find(|directive| !matches!(directive, Directive::PrefixDict));
        matches!(first, Some(Directive::Operand | Directive::Operands))
    }

    /// The custom call that represents an operation of another dialect.
    pub(super) fn call(&self) -> Option<CustomCall> {
        match self.read {
            Read::Call { has_side_effect } => {
                Some(CustomCall { has_side_effect, ..CustomCall::new(self.name) })
            }
            Read::Op => None,
        }
    }
}

/// One element of a pretty form. A field of type `&'static str` is the name of an attribute, except in
/// [`Directive::Lit`].
pub(super) enum Directive {
    /// Tokens, printed exactly as they are written here.
    Lit(&'static str),
    /// `%a`
    Operand,
    /// `%a, %b`: all remaining operands; optionally `()` if none remain.
    Operands,
    /// `[1, 2]`: attribute `array<i64: 1, 2>`.
    Ints(&'static str),
    /// `5`: an integer attribute of this type.
    Int(&'static str, DType),
    /// `true`
    Flag(&'static str),
    /// `0.1`: an `f64` attribute.
    Float(&'static str),
    /// `FFT`: attribute `#stablehlo<kind FFT>`. The fields are the name of the attribute and its kind.
    Keyword(&'static str, &'static str),
    /// `@f`: a symbol attribute.
    Symbol(&'static str),
    /// `@f`: a string attribute.
    Target(&'static str),
    /// `"text"`: a string attribute.
    Text(&'static str),
    /// An attribute with its type.
    Value(&'static str),
    /// `{a = 1 : i64}`, if attributes remain.
    Dict,
    /// `{a = 1 : i64}` before the operands; always the first directive of a form.
    PrefixDict,
    /// Directives that apply if their first attribute is present. They begin with a [`Directive::Lit`].
    Optional(&'static [Directive]),
    /// The types of operands and results.
    Types(Types),
    /// Syntax with its own code.
    Hook(&'static Hook),
}

impl Directive {
    /// The attribute that a directive prints.
    pub(super) fn key(&self) -> Option<&'static str> {
        match self {
            Directive::Ints(k)
            | Directive::Int(k, _)
            | Directive::Flag(k)
            | Directive::Float(k)
            | Directive::Keyword(k, _)
            | Directive::Symbol(k)
            | Directive::Target(k)
            | Directive::Text(k)
            | Directive::Value(k) => Some(k),
            _ => None,
        }
    }
}

/// Syntax for the types of operands and results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Types {
    /// `: (t, t) -> t`; the syntax of [`Types::Same`] is accepted, too.
    Function,
    /// `: t` if all operands and the result have this type, otherwise [`Types::Function`].
    Same,
    /// `: t` for the only result, without operands.
    Result,
    /// `: t, t` for the operands and the results, which have the same types; empty without operands.
    Pairs,
    /// `: t, t` for the operands, without results; empty without operands.
    Operands,
    /// `: t` for all operands, without results.
    SameOperands,
    /// `: t, t -> t` or `: t -> (t, t)`
    Bare,
    /// `: p, t` for the predicate, and for both values and the result; otherwise [`Types::Function`].
    Select,
    /// `: t` for the complex result of two real operands, otherwise [`Types::Function`].
    Complex,
    /// `: tuple<t, t>` for the result, whose elements have the types of the operands.
    Tuple,
}

/// Syntax with a custom parser and printer.
pub(super) struct Hook {
    /// Parses the syntax into the draft.
    pub(super) parse: for<'s> fn(&mut Parser<'s>, &mut Draft) -> Parsed<()>,
    /// Prints the syntax, and removes the printed parts from the view.
    pub(super) print: for<'a> fn(&mut Printer<'a>, &mut View<'a>) -> Result<(), NotPretty>,
    /// True if the syntax follows the operation's name without a space.
    pub(super) tight: bool,
}

/// The parsed pieces of an instruction.
#[derive(Default)]
pub(super) struct Draft {
    /// Position of the operation's name.
    pub(super) span: Span,
    pub(super) operands: Operands,
    pub(super) attrs: AttrDict,
    pub(super) regions: Vec<RegionId>,
    pub(super) results: TypeList,
}

/// The parts of an instruction that have not been printed yet.
pub(super) struct View<'a> {
    pub(super) inst: Inst<'a>,
    /// Remaining operands.
    pub(super) operands: &'a [ValueId],
    /// Remaining attributes.
    pub(super) attrs: AttrDict,
    /// True if a hook printed the regions.
    pub(super) regions_done: bool,
}

impl View<'_> {
    /// Takes the first remaining operand.
    pub(super) fn next_operand(&mut self) -> Result<ValueId, NotPretty> {
        let (first, rest) = self.operands.split_first().ok_or(NotPretty)?;
        self.operands = rest;
        Ok(*first)
    }

    /// Takes a remaining attribute.
    pub(super) fn take(&mut self, key: &str) -> Result<Attribute, NotPretty> {
        self.attrs.remove(key).ok_or(NotPretty)
    }
}

/// Error: the pretty form cannot express this instruction.
pub(super) struct NotPretty;

/// Attribute with which the middle form states the number of captured operands (see [`Inst::captures`]).
pub(crate) const CAPTURES: &str = "farcall.captures";
