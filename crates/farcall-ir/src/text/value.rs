//! Parses names of values: `%x`, `%0#1`, `%a, %b:2 =`.

use smallvec::SmallVec;

use super::MAX_CANDIDATES;
use super::lexer::Tok;
use super::parser::{Parsed, Parser, hinted, span};
use super::scope::{Binding, Operand, Operands, ResultName};
use crate::diag::{Diagnostic, Span};
use crate::module::ValueId;
use crate::types::Type;

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
                let message = format!("{name} is one value, so it has no result {}", index.unwrap_or(0));
                self.report(Diagnostic::new("undefined-value", place, message));
                None
            }
            (Some(Binding::Many(ids)), i) => {
                let n = ids.len();
                let message = match i {
                    Some(i) => format!("{name} is {n} values, so it has no result {i}"),
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
        if number || self.is_full() || self.scope.names().len() > MAX_CANDIDATES {
            return d;
        }
        let near = farcall_sig::nearest::nearest(name, self.scope.names());
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
                    return self.fail(
                        "parse",
                        span(at),
                        "an operation without results must have no names before `=`",
                    );
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
