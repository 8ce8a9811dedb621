//! Aliases (`#map = …`, `!t = …`, `#loc1 = loc(…)`) and locations.
//!
//! An alias may be used before its definition, as MLIR prints locations. Definitions begin a line, so they are found
//! and read before everything else. A use counts with the size and depth of what it stands for, so a few lines of
//! aliases of aliases cannot exhaust the memory or the stack.

use std::collections::HashMap;
use std::sync::Arc;

use super::lexer::{Tok, Token, next_token};
use super::parser::{Parsed, Parser, span};
use super::{MAX_ALIAS_NODES, MAX_LOC_DEPTH, MAX_NESTING};
use crate::attr::Attr;
use crate::diag::Span;
use crate::module::Loc;
use crate::types::Type;

/// What is known of a program's aliases.
#[derive(Default)]
pub(super) struct Aliases<'s> {
    /// Where definitions that have not been read yet begin.
    pending: HashMap<&'s str, usize>,
    /// Where a definition that begins at a byte ends.
    ends: HashMap<usize, usize>,
    known: HashMap<&'s str, Alias>,
    /// Nodes that uses of aliases have added so far.
    expanded: u64,
}

#[derive(Clone)]
struct Alias {
    value: Meaning,
    nodes: u64,
    depth: u32,
}

#[derive(Clone)]
enum Meaning {
    Attr(Attr),
    Type(Type),
    Loc(SharedLoc),
}

/// A location and how deeply it is nested.
type SharedLoc = (Arc<Loc>, u32);

impl<'s> Parser<'s> {
    /// Reads all definitions of the text, in its order.
    pub(super) fn read_aliases(&mut self) -> Parsed<()> {
        let bytes = self.bytes();
        let mut found = Vec::new();
        let mut line = 0;
        while line < bytes.len() {
            let mut at = line;
            while matches!(bytes.get(at), Some(b' ' | b'\t')) {
                at += 1;
            }
            if matches!(bytes.get(at), Some(b'#' | b'!')) {
                let name = next_token(bytes, at);
                let equals = next_token(bytes, name.end);
                if matches!(name.tok, Tok::Hash | Tok::Bang) && equals.tok == Tok::Punct(b'=') {
                    found.push((self.str_of(name), at));
                }
            }
            line = self.slice(at, bytes.len()).find('\n').map_or(bytes.len(), |n| at + n + 1);
        }
        for (name, at) in &found {
            self.aliases.pending.entry(name).or_insert(*at);
        }
        for (name, at) in found {
            if self.aliases.pending.get(name) == Some(&at) {
                self.define_alias(name, at)?;
            }
        }
        Ok(())
    }

    /// A definition where a top-level item may stand: read already, unless it does not begin a line.
    pub(super) fn alias_definition(&mut self) -> Parsed<()> {
        let t = self.peek();
        match self.aliases.ends.get(&t.start) {
            Some(end) => {
                let end = *end;
                self.jump(end);
                Ok(())
            }
            None => {
                let equals = next_token(self.bytes(), t.end);
                if equals.tok != Tok::Punct(b'=') {
                    self.bump();
                    return self.expected("`=`");
                }
                self.define_alias(self.str_of(t), t.start)?;
                let end = self.aliases.ends.get(&t.start).copied().unwrap_or(t.end);
                self.jump(end);
                Ok(())
            }
        }
    }

    fn define_alias(&mut self, name: &'s str, at: usize) -> Parsed<()> {
        self.aliases.pending.remove(name);
        let (nodes, deepest, depth) = (self.nodes, self.deepest, self.depth);
        self.deepest = depth;
        let (value, end) = self.within(at, self.end(), |p| {
            p.bump();
            p.expect(b'=')?;
            let value = if name.starts_with('!') {
                // Older programs write `!t = type tensor<…>`.
                p.eat_word("type");
                Meaning::Type(p.ty()?)
            } else if p.at_word("loc") {
                Meaning::Loc(p.loc()?)
            } else {
                Meaning::Attr(p.attr()?)
            };
            Ok((value, p.pos()))
        })?;
        let alias = match value {
            // Shared, and cut at a depth of its own.
            Meaning::Loc(_) => Alias { value, nodes: 0, depth: 0 },
            _ => Alias { value, nodes: self.nodes - nodes, depth: self.deepest - depth },
        };
        self.deepest = self.deepest.max(deepest);
        self.aliases.ends.insert(at, end);
        self.aliases.known.insert(name, alias);
        Ok(())
    }

    fn alias(&mut self, t: Token) -> Parsed<Meaning> {
        let name = self.str_of(t);
        if let Some(at) = self.aliases.pending.get(name).copied() {
            self.enter()?;
            self.define_alias(name, at)?;
            self.leave();
        }
        let Some(alias) = self.aliases.known.get(name) else {
            return self.fail("undefined-alias", span(t), format!("{name} is not defined"));
        };
        let alias = alias.clone();
        self.deepest = self.deepest.max(self.depth + alias.depth);
        if self.depth + alias.depth > MAX_NESTING {
            return self.fail("nesting", span(t), format!("nested more than {MAX_NESTING} deep"));
        }
        self.nodes += alias.nodes;
        self.aliases.expanded += alias.nodes;
        if self.aliases.expanded > MAX_ALIAS_NODES {
            let message = format!("aliases stand for more than {MAX_ALIAS_NODES} attributes and types");
            return self.fail("nesting", span(t), message);
        }
        Ok(alias.value)
    }

    /// `#name`, which has been taken, as an attribute.
    pub(super) fn attr_alias(&mut self, t: Token) -> Parsed<Attr> {
        match self.alias(t)? {
            Meaning::Attr(a) => Ok(a),
            Meaning::Loc(_) => Ok(Attr::dialect("builtin.loc", "unknown")),
            Meaning::Type(ty) => Ok(Attr::Type(ty)),
        }
    }

    /// `!name`, which has been taken, as a type.
    pub(super) fn type_alias(&mut self, t: Token) -> Parsed<Type> {
        match self.alias(t)? {
            Meaning::Type(ty) => Ok(ty),
            _ => self.fail("undefined-alias", span(t), format!("{} is not a type", self.str_of(t))),
        }
    }

    /// `loc(…)`, if that comes next.
    pub(super) fn trailing_loc(&mut self) -> Parsed<Option<Arc<Loc>>> {
        if self.at_word("loc") { Ok(Some(self.loc()?.0)) } else { Ok(None) }
    }

    fn loc(&mut self) -> Parsed<SharedLoc> {
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
                    Meaning::Loc(loc) => loc,
                    // `#dialect.loc<…>` and the like say nothing that is understood here.
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
                // The end of a very long stack is left out.
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

    /// `"file":1:2`, `"file":1:2 to 3:4`, `"name"` or `"name"(child)`
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
