//! Sizes with symbols, as JAX writes them: `b`, `2*b + 1`, `mod(b, 4)`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::SymbolValues;
use crate::types::Dim;

/// Maximum nesting depth of an expression.
pub const MAX_NESTING: usize = 32;

/// The size of a dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SymbolicSize {
    /// A number.
    Fixed(usize),
    /// Any size, up to the bound if present.
    Any(Option<usize>),
    /// An expression of symbols.
    Symbolic(SymbolicExpr),
}

impl SymbolicSize {
    /// Returns the size of a dimension of a program.
    pub fn of(dim: Dim) -> SymbolicSize {
        dim.size().map_or(SymbolicSize::Any(dim.bound()), SymbolicSize::Fixed)
    }
}

/// Parses a number or an expression.
impl FromStr for SymbolicSize {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<SymbolicSize, InvalidSize> {
        match text.trim().parse() {
            Ok(size) => Ok(SymbolicSize::Fixed(size)),
            Err(_) => text.parse().map(SymbolicSize::Symbolic),
        }
    }
}

impl fmt::Display for SymbolicSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymbolicSize::Fixed(size) => size.fmt(f),
            SymbolicSize::Any(None) => f.write_str("?"),
            SymbolicSize::Any(Some(bound)) => write!(f, "<={bound}"),
            SymbolicSize::Symbolic(expr) => expr.fmt(f),
        }
    }
}

/// A symbolic expression: a sum of products. It prints as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolicExpr {
    text: String,
    terms: Vec<Term>,
}

/// A product of factors and an integer coefficient.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Term {
    pub(super) coefficient: i64,
    pub(super) factors: Vec<Factor>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Factor {
    Symbol(String),
    Call(Function, SymbolicExpr, SymbolicExpr),
    Sum(SymbolicExpr),
    /// A factor raised to a power.
    Power(Box<Factor>, u32),
}

/// A function that expressions may apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Function {
    FloorDiv,
    Mod,
    Max,
    Min,
}

impl SymbolicExpr {
    pub(super) fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Returns the value; `None` if a symbol has no value or the result does not fit in 64 bits.
    pub fn value(&self, symbols: &SymbolValues) -> Option<i64> {
        self.terms.iter().try_fold(0i64, |sum, term| sum.checked_add(term.value(symbols)?))
    }

    /// Returns the symbols of the expression.
    pub fn symbols(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        self.collect(&mut found);
        found
    }

    fn collect<'a>(&'a self, found: &mut BTreeSet<&'a str>) {
        self.terms.iter().flat_map(|t| &t.factors).for_each(|factor| factor.collect(found));
    }
}

impl Term {
    pub(super) fn value(&self, symbols: &SymbolValues) -> Option<i64> {
        self.factors.iter().try_fold(self.coefficient, |product, f| product.checked_mul(f.value(symbols)?))
    }
}

impl Factor {
    fn collect<'a>(&'a self, found: &mut BTreeSet<&'a str>) {
        match self {
            Factor::Symbol(name) => {
                found.insert(name);
            }
            Factor::Call(_, a, b) => [a, b].into_iter().for_each(|e| e.collect(found)),
            Factor::Sum(expr) => expr.collect(found),
            Factor::Power(base, _) => base.collect(found),
        }
    }

    fn value(&self, symbols: &SymbolValues) -> Option<i64> {
        match self {
            Factor::Symbol(name) => symbols.get(name),
            Factor::Sum(expr) => expr.value(symbols),
            Factor::Power(base, power) => base.value(symbols)?.checked_pow(*power),
            Factor::Call(function, a, b) => {
                let (a, b) = (a.value(symbols)?, b.value(symbols)?);
                match function {
                    Function::Max => Some(a.max(b)),
                    Function::Min => Some(a.min(b)),
                    // As in Python, the remainder has the sign of the divisor.
                    Function::FloorDiv => {
                        let (q, r) = (a.checked_div(b)?, a.checked_rem(b)?);
                        Some(if r != 0 && (r < 0) != (b < 0) { q - 1 } else { q })
                    }
                    Function::Mod => {
                        let r = a.checked_rem(b)?;
                        Some(if r != 0 && (r < 0) != (b < 0) { r + b } else { r })
                    }
                }
            }
        }
    }
}

impl fmt::Display for SymbolicExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Relation of two expressions, such as `b >= 2` or `mod(b, 4) == 0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constraint {
    text: String,
    left: SymbolicExpr,
    relation: Relation,
    right: SymbolicExpr,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    AtLeast,
    AtMost,
    Equal,
}

impl Constraint {
    /// Returns true if the constraint holds; `None` if the known symbols do not decide it.
    pub fn holds(&self, symbols: &SymbolValues) -> Option<bool> {
        let (left, right) = (self.left.value(symbols)?, self.right.value(symbols)?);
        Some(match self.relation {
            Relation::AtLeast => left >= right,
            Relation::AtMost => left <= right,
            Relation::Equal => left == right,
        })
    }

    /// Returns the constraint that JAX derives from `mod(b, 4) == 0` and writes down separately:
    /// `4*floordiv(b, 4) == b`.
    pub(super) fn implied(&self) -> Option<String> {
        let (of, by) = self.text.strip_prefix("mod(")?.strip_suffix(") == 0")?.rsplit_once(", ")?;
        Some(format!("{by}*floordiv({of}, {by}) == {of}"))
    }

    /// Returns the symbols of the constraint.
    pub fn symbols(&self) -> BTreeSet<&str> {
        self.left.symbols().into_iter().chain(self.right.symbols()).collect()
    }
}

impl FromStr for Constraint {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Constraint, InvalidSize> {
        let relations = [("==", Relation::Equal), (">=", Relation::AtLeast), ("<=", Relation::AtMost)];
        for (sign, relation) in relations {
            if let Some((left, right)) = text.split_once(sign) {
                let (left, right) = (left.parse()?, right.parse()?);
                return Ok(Constraint { text: text.trim().to_owned(), left, relation, right });
            }
        }
        Err(InvalidSize { text: text.to_owned(), wanted: "`==`, `>=` or `<=`", at: text.len() })
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Text that is not a size.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}` is not a size: {wanted} is expected at character {at}")]
pub struct InvalidSize {
    text: String,
    wanted: &'static str,
    at: usize,
}

impl FromStr for SymbolicExpr {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<SymbolicExpr, InvalidSize> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let expr = parser.sum()?;
        if parser.peek().is_some() { parser.wanted("the end") } else { Ok(expr) }
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn wanted<T>(&self, wanted: &'static str) -> Result<T, InvalidSize> {
        Err(InvalidSize { text: self.text.to_owned(), wanted, at: self.at })
    }

    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, c: char, name: &'static str) -> Result<(), InvalidSize> {
        if self.eat(c) { Ok(()) } else { self.wanted(name) }
    }

    /// Parses `- a + 2*b`.
    fn sum(&mut self) -> Result<SymbolicExpr, InvalidSize> {
        if self.depth >= MAX_NESTING {
            return self.wanted("a simpler expression");
        }
        self.depth += 1;
        self.peek();
        let start = self.at;
        let mut terms = Vec::new();
        let mut negative = self.eat('-');
        if !negative {
            self.eat('+');
        }
        loop {
            terms.push(self.product(negative)?);
            negative = self.eat('-');
            if !negative && !self.eat('+') {
                break;
            }
        }
        self.depth -= 1;
        let text = self.text[start..self.at].trim_end().to_owned();
        Ok(SymbolicExpr { text, terms })
    }

    /// Parses `2*a*b^2`.
    fn product(&mut self, negative: bool) -> Result<Term, InvalidSize> {
        let mut term = Term { coefficient: if negative { -1 } else { 1 }, factors: Vec::new() };
        loop {
            self.factor(&mut term)?;
            if !self.eat('*') {
                return Ok(term);
            }
        }
    }

    fn factor(&mut self, term: &mut Term) -> Result<(), InvalidSize> {
        let signed = self.eat('-');
        let (number, factor) = match self.peek() {
            Some('0'..='9') => (Some(self.number()?), None),
            Some('(') => {
                self.eat('(');
                let sum = self.sum()?;
                self.expect(')', "`)`")?;
                (None, Some(Factor::Sum(sum)))
            }
            Some(c) if c.is_alphabetic() || c == '_' => (None, Some(self.symbol()?)),
            _ => return self.wanted("a number, a symbol or `(`"),
        };
        let power = if self.eat('^') { self.number()? } else { 1 };
        let (Ok(power), true) = (u32::try_from(power), power <= 16) else {
            return self.wanted("a power of at most 16");
        };
        let number = number.unwrap_or(1).checked_pow(power);
        let number = number.and_then(|n| n.checked_mul(term.coefficient));
        let Some(number) = number.and_then(|n| if signed { n.checked_neg() } else { Some(n) }) else {
            return self.wanted("a smaller number");
        };
        term.coefficient = number;
        match (factor, power) {
            (None, _) | (_, 0) => {}
            (Some(factor), 1) => term.factors.push(factor),
            (Some(factor), _) => term.factors.push(Factor::Power(Box::new(factor), power)),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<i64, InvalidSize> {
        self.peek();
        let rest = &self.text[self.at..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(number) = rest[..digits].parse() else { return self.wanted("a number") };
        self.at += digits;
        Ok(number)
    }

    /// Parses `b` or `mod(b, 4)`.
    fn symbol(&mut self) -> Result<Factor, InvalidSize> {
        let rest = &self.text[self.at..];
        let len = rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        let name = &rest[..len];
        self.at += len;
        if !self.eat('(') {
            return Ok(Factor::Symbol(name.to_owned()));
        }
        let function = match name {
            "floordiv" => Function::FloorDiv,
            "mod" => Function::Mod,
            "max" => Function::Max,
            "min" => Function::Min,
            // Older versions of JAX wrote this instead of `max`.
            "non_negative" => {
                let a = self.sum()?;
                self.expect(')', "`)`")?;
                return Ok(Factor::Call(Function::Max, a, "0".parse()?));
            }
            _ => return self.wanted("floordiv, mod, max or min before the parenthesis"),
        };
        let a = self.sum()?;
        self.expect(',', "`,`")?;
        let b = self.sum()?;
        self.expect(')', "`)`")?;
        Ok(Factor::Call(function, a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<i64> {
        text.parse::<SymbolicExpr>()
            .unwrap()
            .value(&SymbolValues::from_iter([("b".to_owned(), 7), ("c".to_owned(), -3)]))
    }

    #[test]
    fn expressions_have_the_values_that_python_gives_them() {
        for (text, expected) in [
            ("b", 7),
            ("2*b + 1", 15),
            ("-1*b + c", -10),
            ("b - c - 1", 9),
            ("b^2*c", -147),
            ("mod(c, 4)", 1),
            ("floordiv(c, 4)", -1),
            ("mod(b, c)", -2),
            ("floordiv(b, c)", -3),
            ("max(b, c) + min(b, 2*c)", 1),
            ("non_negative(c)", 0),
            ("floordiv(b + 1, 2)*4", 16),
            ("2*(b - 1)", 12),
            ("2*(b - 1)^3 - b^0", 431),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
            assert_eq!(text.parse::<SymbolicExpr>().unwrap().to_string(), text);
        }
        for text in ["d", "mod(b, 0)", "9223372036854775807*b"] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    /// The memory for an expression, and the time to parse it, must be proportional to the length of its
    /// text, even if powers are nested.
    #[test]
    fn powers_nest() {
        let nested: SymbolicExpr = "((((((((b)^16)^16)^16)^16)^16)^16)^16)^16".parse().unwrap();
        let value = |b| nested.value(&SymbolValues::from_iter([("b".to_owned(), b)]));
        assert_eq!([value(1), value(-1), value(2)], [Some(1), Some(1), None]);
        assert_eq!(nested.symbols(), BTreeSet::from(["b"]));
    }

    #[test]
    fn errors_give_the_position() {
        let deep = "(".repeat(100);
        for (text, why) in [
            ("", "a number, a symbol or `(` is expected at character 0"),
            ("2*", "a number, a symbol or `(` is expected at character 2"),
            ("b b", "the end is expected at character 2"),
            ("sin(b)", "floordiv, mod, max or min before the parenthesis is expected at character 4"),
            ("mod(b)", "`,` is expected at character 5"),
            ("b^99", "a power of at most 16 is expected at character 4"),
            ("99999999999999999999*b", "a number is expected at character 0"),
            (&deep, "a simpler expression is expected at character 32"),
        ] {
            let error = text.parse::<SymbolicExpr>().unwrap_err().to_string();
            assert_eq!(error, format!("`{text}` is not a size: {why}"));
        }
    }

    #[test]
    fn constraints() {
        let symbols = SymbolValues::from_iter([("b".to_owned(), 8)]);
        let holds = |text: &str| text.parse::<Constraint>().unwrap().holds(&symbols);
        assert_eq!(holds("b >= 2"), Some(true));
        assert_eq!(holds("2*b <= 15"), Some(false));
        assert_eq!(holds("mod(b, 4) == 0"), Some(true));
        assert_eq!(holds("a == 0"), None);
        assert!("b > 2".parse::<Constraint>().is_err());
    }
}
