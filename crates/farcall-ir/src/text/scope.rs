//! Names of values: `%x`, `%0#1`. A region's names are forgotten where it ends.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::MAX_CANDIDATES;
use super::lexer::Tok;
use super::parser::{Parsed, Parser, hinted, span};
use crate::diag::{Diagnostic, Span};
use crate::module::ValueId;
use crate::types::Type;

/// What the names that are visible now stand for.
#[derive(Default)]
pub(super) struct Scope<'s> {
    values: HashMap<&'s str, Bound>,
    /// Those whose name is a number, by that number: a compiler names most values so.
    numbered: Vec<Option<Bound>>,
    /// Names in the order of their definition, so that a region's can be removed again.
    order: Vec<&'s str>,
}

enum Bound {
    One(ValueId),
    Many(Box<[ValueId]>),
    /// Defined by something that was not understood; uses are not errors.
    Unknown,
}

/// A use of a value.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) id: ValueId,
    /// False if nothing is known about the value, because its definition was not understood.
    pub(super) known: bool,
    pub(super) span: Span,
}

/// Uses of values in order.
pub(super) type Operands = SmallVec<[Operand; 4]>;

/// `%name` or `%name:2` to the left of `=`.
#[derive(Clone, Copy)]
pub(super) struct ResultName<'s> {
    pub(super) name: &'s str,
    pub(super) count: usize,
    pub(super) span: Span,
}

/// Numbers that may be left out between two names, for a name to be kept by its number.
const MAX_GAP: usize = 8;

impl<'s> Scope<'s> {
    /// Forgets everything: a new function begins.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.numbered.clear();
        self.order.clear();
    }

    fn get(&self, name: &str) -> Option<&Bound> {
        let numbered = number(name).and_then(|n| self.numbered.get(n)?.as_ref());
        numbered.or_else(|| if self.values.is_empty() { None } else { self.values.get(name) })
    }

    /// Lets a name stand for something; gives what it stood for.
    fn insert(&mut self, name: &'s str, bound: Bound) -> Option<Bound> {
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

    /// How many names are visible; see [`Scope::close`].
    pub(super) fn open(&self) -> usize {
        self.order.len()
    }

    /// Forgets the names defined since [`Scope::open`] returned `mark`.
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

/// The number that a name is (`%12`), as it is usually written.
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
    /// Binds `%name` to values (none: to something unknown).
    pub(super) fn define(&mut self, name: &'s str, at: Span, values: &[ValueId]) {
        let bound = match values {
            [] => Bound::Unknown,
            [one] => Bound::One(*one),
            many => Bound::Many(many.into()),
        };
        if self.scope.insert(name, bound).is_some() {
            self.report(Diagnostic::new("redefinition", at, format!("{name} is already defined")));
        }
    }

    /// `%name` or `%name#1`
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
            (Some(Bound::One(id)), None | Some(0)) => Some(*id),
            (Some(Bound::Many(ids)), Some(i)) if i < ids.len() => Some(ids[i]),
            (Some(Bound::One(_)), Some(_)) => {
                let message = format!("{name} is one value, so that it has no result {}", index.unwrap_or(0));
                self.report(Diagnostic::new("undefined-value", place, message));
                None
            }
            (Some(Bound::Many(ids)), i) => {
                let n = ids.len();
                let message = match i {
                    Some(i) => format!("{name} is {n} values, so that it has no result {i}"),
                    None => format!("{name} is {n} values; write {name}#0 for the first"),
                };
                self.report(Diagnostic::new("undefined-value", place, message));
                None
            }
            (Some(Bound::Unknown), _) => None,
            (None, _) => {
                self.report(self.undefined(name, place));
                // Once is enough.
                self.scope.insert(name, Bound::Unknown);
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
        // A number is a slip of another kind than a word.
        let number = name[1..].starts_with(|c: char| c.is_ascii_digit());
        if number || self.is_full() || self.scope.values.len() > MAX_CANDIDATES {
            return d;
        }
        let near = farcall_sig::nearest::nearest(name, self.scope.values.keys().copied());
        hinted(d, &near)
    }

    /// `%a, %b`, possibly none. A comma that something else follows is left alone.
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

    /// `%a, %b:2 =`, or nothing.
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

    /// Reports if the text says another type for an operand than it has.
    pub(super) fn check_type(&mut self, operand: Operand, said: &Type) {
        if !operand.known || self.func[operand.id] == *said {
            return;
        }
        let name = self.slice(operand.span.start as usize, operand.span.end as usize);
        let message = format!("{name} is used as {said}, but it is {}", self.func[operand.id]);
        self.report(Diagnostic::new("type-mismatch", operand.span, message));
    }
}
