//! Parses locations: `loc("file":1:2)`, `loc(callsite(… at …))`.

use std::sync::Arc;

use super::MAX_LOC_DEPTH;
use super::aliases::{AliasValue, SharedLoc};
use super::lexer::Tok;
use super::parser::{Parsed, Parser};
use crate::diag::Span;
use crate::module::Loc;

impl Parser<'_> {
    /// Parses `loc(…)` if it comes next.
    pub(super) fn trailing_loc(&mut self) -> Parsed<Option<Arc<Loc>>> {
        if self.at_word("loc") { Ok(Some(self.loc()?.0)) } else { Ok(None) }
    }

    /// Parses `loc(…)`.
    pub(super) fn loc(&mut self) -> Parsed<SharedLoc> {
        self.expect_word("loc")?;
        self.expect(b'(')?;
        let loc = self.loc_body()?;
        self.expect(b')')?;
        Ok(loc)
    }

    fn loc_body(&mut self) -> Parsed<SharedLoc> {
        self.enter()?;
        let t = self.peek();
        let word = if t.tok == Tok::Word { self.str_of(t) } else { "" };
        let loc = match (t.tok, word) {
            (Tok::Hash, _) => {
                self.bump();
                match self.alias(t)? {
                    AliasValue::Loc(loc) => loc,
                    // Other location attributes (`#dialect.loc<…>`) are not interpreted.
                    _ => (Arc::new(Loc::Unknown), 0),
                }
            }
            (_, "unknown") => {
                self.bump();
                (Arc::new(Loc::Unknown), 0)
            }
            (_, "loc") => self.loc()?,
            (_, "callsite") => {
                self.bump();
                self.expect(b'(')?;
                let callee = self.loc_body()?;
                self.expect_word("at")?;
                let caller = self.loc_body()?;
                self.expect(b')')?;
                let depth = callee.1.max(caller.1) + 1;
                // Drop the outer end of a very long call stack.
                if depth > MAX_LOC_DEPTH {
                    callee
                } else {
                    (Arc::new(Loc::CallSite(callee.0, caller.0)), depth)
                }
            }
            (_, "fused") => {
                self.bump();
                if self.eat(b'<') {
                    self.attr()?;
                    self.expect(b'>')?;
                }
                let (mut parts, mut depth) = (Vec::new(), 0);
                self.expect(b'[')?;
                self.list_until(b']', |p| {
                    let (part, d) = p.loc_body()?;
                    if d < MAX_LOC_DEPTH {
                        parts.push(part);
                        depth = depth.max(d + 1);
                    }
                    Ok(())
                })?;
                (Arc::new(Loc::Fused(parts)), depth)
            }
            (Tok::Str, _) => self.named_loc()?,
            _ => return self.expected("a location"),
        };
        self.leave();
        Ok(loc)
    }

    /// Parses `"file":1:2`, `"file":1:2 to 3:4`, `"name"` or `"name"(child)`.
    fn named_loc(&mut self) -> Parsed<SharedLoc> {
        let bytes = self.string_bytes()?;
        let text = String::from_utf8_lossy(&bytes).into();
        if self.eat(b'(') {
            let (child, depth) = self.loc_body()?;
            self.expect(b')')?;
            if depth >= MAX_LOC_DEPTH {
                return Ok((Arc::new(Loc::Name(text, None)), 0));
            }
            return Ok((Arc::new(Loc::Name(text, Some(child))), depth + 1));
        }
        if !self.eat(b':') {
            return Ok((Arc::new(Loc::Name(text, None)), 0));
        }
        let line = self.line_number()?;
        self.expect(b':')?;
        let column = self.line_number()?;
        if self.eat_word("to") {
            if !self.at(b':') {
                self.line_number()?;
            }
            self.expect(b':')?;
            self.line_number()?;
        }
        Ok((Arc::new(Loc::File { file: text, line, column }), 0))
    }

    fn line_number(&mut self) -> Parsed<u32> {
        let t = self.peek();
        let n = self.unsigned("a number")?;
        match u32::try_from(n) {
            Ok(n) => Ok(n),
            Err(_) => self.fail("parse", Span::new(t.start, t.end), "this number does not fit 32 bits"),
        }
    }
}
