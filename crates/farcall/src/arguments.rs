//! Assigns the arguments of a call to operands and attributes, so that languages can call ops by position and
//! by name.
//!
//! ```text
//! signature + arguments by position + arguments by name ──bind──▶ operands in order + attributes by name
//! ```
//!
//! Operands are given by position or by name, variadic operands by position only, attributes by name only.
//! Any argument may be given as nothing (Python's `None`), which counts as not given. The values themselves
//! are not checked here: [`Signature::convert_attrs`](farcall_sig::Signature::convert_attrs) checks the names
//! and types of attributes, [`op_program`](crate::op_program) the types of operands.

use std::fmt;

use farcall_sig::Signature;
use farcall_sig::signature::{Arity, OperandDecl};

use crate::OpError;
use farcall_host::registry::Target;

/// The arguments of a call, divided into operands and attributes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arguments<T> {
    /// The operands, in the order of the signature. Optional operands at the end that were not given are left
    /// out.
    pub operands: Vec<T>,
    /// The attributes, by name, in the order in which they were given. Names that the signature does not
    /// declare are included.
    pub attributes: Vec<(String, T)>,
}

/// Arguments that do not fit the operands of an op.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ArgumentError {
    /// There are more arguments by position than operands.
    TooMany {
        /// Names of the operands.
        operands: Vec<String>,
        /// Number of arguments by position.
        given: usize,
        /// An attribute to which the caller may have meant to pass one of the arguments.
        attribute: Option<String>,
    },
    /// An operand is given both by position and by name.
    Twice {
        /// Name of the operand.
        operand: String,
    },
    /// An optional operand, or one of several variadic operands, is not given, although a later operand is.
    Gap {
        /// Name of the operand.
        operand: String,
    },
    /// Required operands are not given.
    Missing {
        /// Names of the operands.
        operands: Vec<String>,
    },
}

impl ArgumentError {
    /// Returns the error with the names of operands and attributes spelled as another language spells them.
    #[must_use]
    pub fn spelled(self, spell: impl Fn(String) -> String) -> ArgumentError {
        let all = |names: Vec<String>| names.into_iter().map(&spell).collect();
        match self {
            ArgumentError::TooMany { operands, given, attribute } => {
                ArgumentError::TooMany { operands: all(operands), given, attribute: attribute.map(&spell) }
            }
            ArgumentError::Twice { operand } => ArgumentError::Twice { operand: spell(operand) },
            ArgumentError::Gap { operand } => ArgumentError::Gap { operand: spell(operand) },
            ArgumentError::Missing { operands } => ArgumentError::Missing { operands: all(operands) },
        }
    }
}

/// Writes the error without the op's name.
impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        match self {
            ArgumentError::TooMany { operands, given, attribute } => {
                let (count, names) = (operands.len(), operands.join(", "));
                write!(f, "takes {count} operand{}", plural(count))?;
                if count > 0 {
                    write!(f, " ({names})")?;
                }
                write!(f, ", but is given {given}")?;
                match attribute {
                    Some(attribute) => write!(f, "; attributes are given by name: {attribute}=…"),
                    None => Ok(()),
                }
            }
            ArgumentError::Twice { operand } => {
                write!(f, "{operand} is given twice, by position and by name")
            }
            ArgumentError::Gap { operand } => write!(f, "{operand} must be given if a later operand is"),
            ArgumentError::Missing { operands } => {
                write!(f, "operand{} missing: {}", plural(operands.len()), operands.join(", "))
            }
        }
    }
}

impl std::error::Error for ArgumentError {}

/// Assigns the arguments of a call to the operands and attributes of an op. `None` is an argument that is not
/// given.
///
/// # Errors
/// If the target has no signature, there are too many arguments by position, an operand is given twice, or a
/// required operand is missing.
pub fn bind<T>(
    target: &Target,
    positional: impl IntoIterator<Item = Option<T>>,
    named: impl IntoIterator<Item = (String, Option<T>)>,
) -> Result<Arguments<T>, OpError> {
    let op = || target.name().to_owned();
    let signature = target.signature().ok_or_else(|| OpError::NoSignature { op: op() })?;
    bind_to(signature, positional.into_iter().collect(), named)
        .map_err(|error| OpError::Arguments { op: op(), error })
}

fn bind_to<T>(
    signature: &Signature,
    positional: Vec<Option<T>>,
    named: impl IntoIterator<Item = (String, Option<T>)>,
) -> Result<Arguments<T>, ArgumentError> {
    let declared = signature.operands();
    let name = |operand: &OperandDecl| operand.name.text.clone();
    let is_variadic = declared.last().is_some_and(|last| last.arity == Arity::Variadic);
    if !is_variadic && positional.len() > declared.len() {
        return Err(ArgumentError::TooMany {
            operands: declared.iter().map(name).collect(),
            given: positional.len(),
            attribute: signature.attrs().first().map(|attr| attr.name.text.clone()),
        });
    }
    let by_position = positional.len();
    let mut operands = positional;
    let mut attributes = Vec::new();
    for (key, value) in named {
        let slot = declared.iter().position(|o| o.name.text == key && o.arity != Arity::Variadic);
        match (slot, value) {
            (_, None) => {}
            (None, Some(value)) => attributes.push((key, value)),
            (Some(slot), Some(_)) if slot < by_position => return Err(ArgumentError::Twice { operand: key }),
            (Some(slot), Some(value)) => {
                let len = operands.len().max(slot + 1);
                operands.resize_with(len, || None);
                operands[slot] = Some(value);
            }
        }
    }
    // An operand of a variadic list is never left out, not even the last.
    while !is_variadic && operands.last().is_some_and(Option::is_none) {
        operands.pop();
    }
    let is_missing = |(i, operand): &(usize, &OperandDecl)| {
        operand.arity == Arity::Required && operands.get(*i).is_none_or(Option::is_none)
    };
    let missing: Vec<String> = declared.iter().enumerate().filter(is_missing).map(|(_, o)| name(o)).collect();
    if !missing.is_empty() {
        return Err(ArgumentError::Missing { operands: missing });
    }
    let gap = operands.iter().position(Option::is_none);
    if let Some(operand) = gap.and_then(|i| declared.get(i).or(declared.last())) {
        return Err(ArgumentError::Gap { operand: name(operand) });
    }
    Ok(Arguments { operands: operands.into_iter().flatten().collect(), attributes })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Binds numbers; `_` is an argument that is not given.
    fn check(signature: &str, positional: &str, named: &str, expected: Expect) {
        let value = |word: &str| (word != "_").then(|| word.to_owned());
        let named = named.split_whitespace().map(|pair| {
            let (name, word) = pair.split_once('=').unwrap();
            (name.to_owned(), value(word))
        });
        let positional = positional.split_whitespace().map(value).collect();
        let found = match bind_to(&signature.parse().unwrap(), positional, named) {
            Ok(Arguments { operands, attributes }) => {
                let attributes = attributes.iter().map(|(name, value)| format!("; {name}={value}"));
                format!("{}{}", operands.join(" "), attributes.collect::<String>())
            }
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn operands_are_given_by_position_and_by_name() {
        const NORM: &str = "(x: f32[n], scale: f32[n], bias: f32[n]?, eps: f32 = 0.5) -> (y: f32[n])";
        check(NORM, "1 2", "", expect!["1 2"]);
        check(NORM, "1 2 _", "eps=4", expect!["1 2; eps=4"]);
        check(NORM, "1", "bias=3 scale=2", expect!["1 2 3"]);
        check(NORM, "", "scale=2 bias=_ eps=_ x=1 esp=4", expect!["1 2; esp=4"]);
        check(
            NORM,
            "1 2 3 4",
            "",
            expect!["takes 3 operands (x, scale, bias), but is given 4; attributes are given by name: eps=…"],
        );
        check(NORM, "1 2", "x=3", expect!["x is given twice, by position and by name"]);
        check(NORM, "1 2", "x=_", expect!["1 2"]);
        check(NORM, "1", "", expect!["operand missing: scale"]);
        check(NORM, "_ _ 3", "", expect!["operands missing: x, scale"]);
        check(NORM, "", "bias=3", expect!["operands missing: x, scale"]);
        check("() -> (y: f32[2])", "1", "", expect!["takes 0 operands, but is given 1"]);
    }

    #[test]
    fn no_operand_is_left_out_before_another() {
        const TWO: &str = "(x: f32[n], a: f32[n]?, b: f32[n]?) -> (y: f32[n])";
        check(TWO, "1 _ _", "", expect!["1"]);
        check(TWO, "1 2", "b=_", expect!["1 2"]);
        check(TWO, "1", "b=3", expect!["a must be given if a later operand is"]);
        check(TWO, "1 _ 3", "", expect!["a must be given if a later operand is"]);
    }

    #[test]
    fn variadic_operands_are_given_by_position() {
        const SUM: &str = "(x: f32[n], xs: f32[n]...) -> (y: f32[n])";
        check(SUM, "1", "", expect!["1"]);
        check(SUM, "1 2 3", "", expect!["1 2 3"]);
        check(SUM, "", "x=1", expect!["1"]);
        check(SUM, "1 2 _", "", expect!["xs must be given if a later operand is"]);
        check(SUM, "1", "xs=2", expect!["1; xs=2"]);
    }
}
