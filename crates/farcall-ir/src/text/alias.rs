//! Parses definitions and uses of aliases (`#map = …`, `!t = …`, `#loc1 = loc(…)`).
//!
//! An alias may be used before its definition: MLIR prints the definitions of locations at the end.
//! Definitions begin a line, so they are found and read before everything else. Each use is charged with the
//! size and depth of the aliased value, so a few lines of nested aliases cannot exhaust memory or the stack.

use super::aliases::{Alias, AliasValue};
use super::lexer::{Tok, Token, next_token};
use super::parser::{Parsed, Parser, span};
use super::{MAX_ALIAS_NODES, MAX_NESTING};
use crate::attr::Attribute;
use crate::types::Type;

impl<'s> Parser<'s> {
    /// Reads all definitions in the text, in order.
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

    /// Parses a definition in the position of a top-level item. The definition has been read already, unless
    /// it does not begin a line.
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
                AliasValue::Type(p.ty()?)
            } else if p.at_word("loc") {
                AliasValue::Loc(p.loc()?)
            } else {
                AliasValue::Attr(p.attr()?)
            };
            Ok((value, p.pos()))
        })?;
        let alias = match value {
            // Locations are shared and have their own depth limit, so their uses cost nothing.
            AliasValue::Loc(_) => Alias { value, nodes: 0, depth: 0 },
            _ => Alias { value, nodes: self.nodes - nodes, depth: self.deepest - depth },
        };
        self.deepest = self.deepest.max(deepest);
        self.aliases.ends.insert(at, end);
        self.aliases.known.insert(name, alias);
        Ok(())
    }

    /// Returns the value of the alias `t`, a token that has been consumed.
    pub(super) fn alias(&mut self, t: Token) -> Parsed<AliasValue> {
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

    /// Returns the attribute for which `#name` stands. `t` is the token `#name`, which has been consumed.
    pub(super) fn attr_alias(&mut self, t: Token) -> Parsed<Attribute> {
        match self.alias(t)? {
            AliasValue::Attr(a) => Ok(a),
            AliasValue::Loc(_) => Ok(Attribute::dialect("builtin.loc", "unknown")),
            AliasValue::Type(ty) => Ok(Attribute::Type(ty)),
        }
    }

    /// Returns the type for which `!name` stands. `t` is the token `!name`, which has been consumed.
    pub(super) fn type_alias(&mut self, t: Token) -> Parsed<Type> {
        match self.alias(t)? {
            AliasValue::Type(ty) => Ok(ty),
            _ => self.fail("undefined-alias", span(t), format!("{} is not a type", self.str_of(t))),
        }
    }
}
