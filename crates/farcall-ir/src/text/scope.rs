//! Names of values: `%x`, `%0#1`. The names of a region go out of scope at its end.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::MAX_CANDIDATES;
use super::lexer::Tok;
use super::parser::{Parsed, Parser, hinted, span};
use crate::diag::{Diagnostic, Span};
use crate::module::ValueId;
use crate::types::Type;

/// The bindings of the visible names.
#[derive(Default)]
pub(super) struct Scope<'s> {
    values: HashMap<&'s str, Binding>,
    /// Bindings of names that are numbers, indexed by the number: most values in generated programs have such
    /// names.
    numbered: Vec<Option<Binding>>,
    /// Names in the order of definition, so that a region's names can be removed.
    order: Vec<&'s str>,
}

enum Binding {
    One(ValueId),
    Many(Box<[ValueId]>),
    /// Defined by an operation that was not understood. Uses are not errors.
    Unknown,
}

/// A use of a value.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) id: ValueId,
    /// False if the value's type is unknown because its definition was not understood.
    pub(super) known: bool,
    pub(super) span: Span,
}

/// Uses of values, in order.
pub(super) type Operands = SmallVec<[Operand; 4]>;

/// `%name` or `%name:2` to the left of `=`.
#[derive(Clone, Copy)]
pub(super) struct ResultName<'s> {
    pub(super) name: &'s str,
    pub(super) count: usize,
    pub(super) span: Span,
}

/// Maximum gap between consecutive numeric names that are still stored by number.
const MAX_GAP: usize = 8;

impl<'s> Scope<'s> {
    /// Removes all names, at the beginning of a function.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.numbered.clear();
        self.order.clear();
    }

    fn get(&self, name: &str) -> Option<&Binding> {
        let numbered = number(name).and_then(|n| self.numbered.get(n)?.as_ref());
        numbered.or_else(|| if self.values.is_empty() { None } else { self.values.get(name) })
    }

    /// Binds a name and returns its previous binding.
    fn insert(&mut self, name: &'s str, bound: Binding) -> Option<Binding> {
        let old = match number(name) {
            Some(n) if n < self.numbered.len() + MAX_GAP && !self.values.contains_key(name) => {
                if n >= self.numbered.len() {
                    self.numbered.resize_with(n + 1, || None);
                }
                self.numbered[n].replace(bound)
            }
            _ => self.values.insert(name, bound),
        };
        if old.is_none() {
            self.order.push(name);
        }
        old
    }

    /// Opens a scope; returns the mark for [`Scope::close`].
    pub(super) fn open(&self) -> usize {
        self.order.len()
    }

    /// Removes the names defined since [`Scope::open`] returned `mark`.
    pub(super) fn close(&mut self, mark: usize) {
        for name in self.order.drain(mark..) {
            match number(name).and_then(|n| self.numbered.get_mut(n)?.take()) {
                Some(_) => {}
                None => {
                    self.values.remove(name);
                }
            }
        }
    }
}

/// The number of a numeric name such as `%12`, in canonical spelling.
fn number(name: &str) -> Option<usize> {
    match name.as_bytes() {
        [b'%', b'0'] => Some(0),
        [b'%', b'1'..=b'9', rest @ ..] if rest.len() < 8 => {
            name[1..].bytes().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + usize::from(b - b'0')))
        }
        _ => None,
    }
}

impl<'s> Parser<'s> {
    /// Binds `%name` to values. Without values, the name is bound to an unknown value.
    pub(super) fn define(&mut self, name: &'s str, at: Span, values: &[ValueId]) {
        let bound = match values {
            [] => Binding::Unknown,
            [one] => Binding::One(*one),
            many => Binding::Many(many.into()),
        };
        if self.scope.insert(name, bound).is_some() {
            self.report(Diagnostic::new("redefinition", at, format!("{name} is already defined")));
        }
    }

    /// Parses `%name` or `%name#1`.
    pub(super) fn operand(&mut self) -> Parsed<Operand> {
        let t = self.peek();
        if t.tok != Tok::Percent {
            return self.expected("a value such as `%0`");
        }
        self.bump();
        let name = self.str_of(t);
        let mut place = span(t);
        let mut index = None;
        if self.bytes().get(t.end) == Some(&b'#') {
            let t = self.bump();
            place = place.to(span(t));
            index = self.str_of(t).get(1..).and_then(|n| n.parse::<usize>().ok());
            if index.is_none() {
                return self.fail("parse", place, "expected the number of a result after `#`");
            }
        }
        let found = match (self.scope.get(name), index) {
            (Some(Binding::One(id)), None | Some(0)) => Some(*id),
            (Some(Binding::Many(ids)), Some(i)) if i < ids.len() => Some(ids[i]),
            (Some(Binding::One(_)), Some(_)) => {
                let message = format!("{name} is one value, so that it has no result {}", index.unwrap_or(0));
                self.report(Diagnostic::new("undefined-value", place, message));
                None
            }
            (Some(Binding::Many(ids)), i) => {
                let n = ids.len();
                let message = match i {
                    Some(i) => format!("{name} is {n} values, so that it has no result {i}"),
                    None => format!("{name} is {n} values; write {name}#0 for the first"),
                };
                self.report(Diagnostic::new("undefined-value", place, message));
                None
            }
            (Some(Binding::Unknown), _) => None,
            (None, _) => {
                self.report(self.undefined(name, place));
                // Report each name only once.
                self.scope.insert(name, Binding::Unknown);
                None
            }
        };
        Ok(match found {
            Some(id) => Operand { id, known: true, span: place },
            None => Operand { id: self.func.new_value(Type::Token), known: false, span: place },
        })
    }

    fn undefined(&self, name: &str, at: Span) -> Diagnostic {
        let d = Diagnostic::new("undefined-value", at, format!("{name} is not defined here"));
        // Similar names do not help with a mistyped number.
        let number = name[1..].starts_with(|c: char| c.is_ascii_digit());
        if number || self.is_full() || self.scope.values.len() > MAX_CANDIDATES {
            return d;
        }
        let near = farcall_sig::nearest::nearest(name, self.scope.values.keys().copied());
        hinted(d, &near)
    }

    /// Parses `%a, %b`, possibly empty. Does not take a comma unless another value follows.
    pub(super) fn operands(&mut self) -> Parsed<Operands> {
        let mut out = Operands::new();
        if self.peek().tok != Tok::Percent {
            return Ok(out);
        }
        loop {
            out.push(self.operand()?);
            let before = self.pos();
            if !self.eat(b',') {
                return Ok(out);
            }
            if self.peek().tok != Tok::Percent {
                self.jump(before);
                return Ok(out);
            }
        }
    }

    /// Parses `%a, %b:2 =`, or nothing.
    pub(super) fn result_names(&mut self) -> Parsed<SmallVec<[ResultName<'s>; 1]>> {
        let mut out = SmallVec::new();
        if self.peek().tok != Tok::Percent {
            return Ok(out);
        }
        loop {
            let t = self.peek();
            if t.tok != Tok::Percent {
                return self.expected("a value such as `%0`");
            }
            self.bump();
            let mut count = 1;
            if self.eat(b':') {
                let at = self.peek();
                count = self.unsigned("a number of results")?;
                if count == 0 {
                    return self.fail("parse", span(at), "an operation without results has no names");
                }
            }
            out.push(ResultName { name: self.str_of(t), count, span: span(t) });
            if !self.eat(b',') {
                self.expect(b'=')?;
                return Ok(out);
            }
        }
    }

    /// Reports an operand whose type differs from the type in the text.
    pub(super) fn check_type(&mut self, operand: Operand, said: &Type) {
        if !operand.known || self.func[operand.id] == *said {
            return;
        }
        let name = self.slice(operand.span.start as usize, operand.span.end as usize);
        let message = format!("{name} is used as {said}, but it is {}", self.func[operand.id]);
        self.report(Diagnostic::new("type-mismatch", operand.span, message));
    }
}
