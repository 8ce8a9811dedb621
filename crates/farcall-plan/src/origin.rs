//! Origins of thunks in the program that the plan was made from.

use std::sync::Arc;

use farcall_ir::{Inst, Source, Span};

use super::{Plan, Thunk};

/// The origin of a thunk. All fields are `None` if the program has neither text nor locations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The name of the operation's first result in the text, such as `%3` or `%dot.7`.
    pub value: Option<String>,
    /// Line and column of the operation in the text, both from 1.
    pub place: Option<(usize, usize)>,
    /// Location according to the program, such as `jit(f)/mul at model.py:3:9`.
    pub loc: Option<Arc<str>>,
}

impl Plan {
    /// Returns the origin of a thunk of this plan. If the thunk computes several operations, this is the
    /// origin of the last one.
    pub fn origin(&self, thunk: &Thunk) -> Origin {
        Origin::at(&self.parts.source, thunk.span, thunk.loc.clone())
    }

    /// Returns the location of a thunk for messages: `file:line:column` or, for a program without text, the
    /// location that the program states. Empty if nothing is known.
    pub fn place(&self, thunk: &Thunk) -> Arc<str> {
        let source = &self.parts.source;
        match is_in_text(source, thunk.span) {
            true => source.place(thunk.span).into(),
            false => thunk.loc.clone().unwrap_or_default(),
        }
    }
}

impl Origin {
    /// Returns the origin of an instruction of a program that was made from this text.
    pub fn of(inst: Inst<'_>, source: &Source) -> Origin {
        Origin::at(source, inst.span(), inst.loc().and_then(|loc| loc.place()).map(Arc::from))
    }

    fn at(source: &Source, span: Span, loc: Option<Arc<str>>) -> Origin {
        let known = is_in_text(source, span);
        let value = || {
            let before = source.text().get(..span.start as usize)?;
            value_before(before.get(before.rfind('\n').map_or(0, |at| at + 1)..)?)
        };
        Origin {
            value: if known { value() } else { None },
            place: known.then(|| source.line_column(span.start)),
            loc,
        }
    }

    /// Returns a short form: `%3 at 12:5 (jit(f)/mul)`; empty if nothing is known.
    pub fn short(&self) -> String {
        let place = self.place.map(|(line, column)| format!("{line}:{column}"));
        let text = match (&self.value, place) {
            (Some(value), Some(place)) => format!("{value} at {place}"),
            (value, place) => value.clone().or(place).unwrap_or_default(),
        };
        match &self.loc {
            Some(loc) if text.is_empty() => loc.to_string(),
            Some(loc) => format!("{text} ({loc})"),
            None => text,
        }
    }
}

/// Returns false for a program without text, and for instructions that the engine adds.
fn is_in_text(source: &Source, span: Span) -> bool {
    !source.is_none() && span.end > 0
}

/// Returns the first name in `%a, %b:2 = "`, or in HLO's `ROOT %a = f32[2] `.
fn value_before(line: &str) -> Option<String> {
    let (names, _) = line.split_once('=')?;
    let names = names.trim().trim_start_matches("ROOT ");
    let first = names.split([',', ':', ' ']).next()?;
    let plain = first.strip_prefix('%').unwrap_or(first);
    let is_name = !plain.is_empty() && plain.chars().all(|c| c.is_alphanumeric() || "._-$".contains(c));
    is_name.then(|| format!("%{plain}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_before_the_operation() {
        for (line, name) in [
            ("    %2 = ", Some("%2")),
            ("  %a:2, %b = \"", Some("%a")),
            ("  ROOT %add.3 = f32[2]{0} ", Some("%add.3")),
            ("  exp.1 = f32[] ", Some("%exp.1")),
            ("  return ", None),
            ("  @f(%x) {a = ", None),
        ] {
            assert_eq!(value_before(line).as_deref(), name, "{line}");
        }
    }
}
