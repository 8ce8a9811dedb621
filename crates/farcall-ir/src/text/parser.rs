//! State of the parser, and the functions on which every part of the grammar is built: peeking at tokens,
//! taking tokens, and reporting unexpected ones.
//!
//! A function that finds an error records a diagnostic and returns [`Stop`]. Where the parser can continue
//! (an unknown operation, an undefined value, a wrong type), it records the error and continues.

use std::collections::HashMap;

use farcall_sig::DType;
use rustc_hash::FxHashMap;

use super::MAX_NESTING;
use super::aliases::Aliases;
use super::lexer::{Tok, Token, next_token, unescape};
use super::scope::Scope;
use super::symbols::Symbols;
use crate::diag::{Diagnostic, Diagnostics, Span};
use crate::interrupt::Pace;
use crate::module::Func;
use crate::sharding::Mesh;
use crate::types::TensorType;

/// Parsing cannot continue; a diagnostic has been recorded.
#[derive(Debug)]
pub(super) struct Stop;

pub(super) type Parsed<T> = Result<T, Stop>;

pub(super) struct Parser<'s> {
    pub(super) text: &'s str,
    /// One past the last byte that may be read.
    end: usize,
    pos: usize,
    peeked: Option<Token>,
    pace: Pace,
    /// Number of brackets, regions and aliases that enclose the current position.
    pub(super) depth: u32,
    /// Maximum depth so far, from which the depth of an alias's definition is computed.
    pub(super) deepest: u32,
    /// Number of attributes and types read so far, including those expanded from aliases.
    pub(super) nodes: u64,
    pub(super) diagnostics: Diagnostics,
    pub(super) aliases: Aliases<'s>,
    /// Strings of `{-# dialect_resources: … #-}` by name. Read on the first use.
    pub(super) resources: Option<HashMap<&'s str, &'s str>>,
    /// Tensor types by their text: programs have few distinct tensor types, each used often.
    pub(super) tensor_types: FxHashMap<&'s str, TensorType>,
    /// The function whose body is being parsed.
    pub(super) func: Func,
    pub(super) scope: Scope<'s>,
    pub(super) symbols: Symbols,
    /// Meshes by name.
    pub(super) meshes: HashMap<String, Mesh>,
}

impl<'s> Parser<'s> {
    pub(super) fn new(text: &'s str) -> Parser<'s> {
        Parser {
            text,
            end: text.len(),
            pace: Pace::default(),
            pos: 0,
            peeked: None,
            depth: 0,
            deepest: 0,
            nodes: 0,
            diagnostics: Diagnostics::default(),
            aliases: Aliases::default(),
            resources: None,
            tensor_types: FxHashMap::default(),
            func: Func::new("", Span::default()),
            scope: Scope::default(),
            symbols: Symbols::default(),
            meshes: HashMap::new(),
        }
    }

    // --- tokens

    /// Returns the next token without consuming it.
    pub(super) fn peek(&mut self) -> Token {
        match self.peeked {
            Some(t) => t,
            None => {
                let t = next_token(&self.text.as_bytes()[..self.end], self.pos);
                self.peeked = Some(t);
                t
            }
        }
    }

    /// Consumes the next token.
    pub(super) fn bump(&mut self) -> Token {
        let t = self.peek();
        self.pos = t.end;
        self.peeked = None;
        if self.pace.is_due() {
            // The run was interrupted: act as if the whole text had been read.
            self.pos = self.end;
        }
        t
    }

    /// Position just after the last token taken, where the search for the next token begins.
    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    /// Continues from another byte.
    pub(super) fn jump(&mut self, pos: usize) {
        self.pos = pos;
        self.peeked = None;
    }

    /// Calls `f` at `start`, with `end` as the end of the text, then restores the position.
    pub(super) fn within<T>(&mut self, start: usize, end: usize, f: impl FnOnce(&mut Self) -> T) -> T {
        let saved = (self.end, self.pos, self.peeked, self.depth);
        self.end = end;
        self.jump(start);
        let out = f(self);
        (self.end, self.pos, self.peeked, self.depth) = saved;
        out
    }

    /// The bytes that may be read.
    pub(super) fn bytes(&self) -> &'s [u8] {
        &self.text.as_bytes()[..self.end]
    }

    /// One past the last byte that may be read.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    pub(super) fn str_of(&self, t: Token) -> &'s str {
        self.slice(t.start, t.end)
    }

    /// The text between two bytes, without partial characters at both ends.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'s str {
        let start = self.text.ceil_char_boundary(start);
        &self.text[start..self.text.floor_char_boundary(end).max(start)]
    }

    pub(super) fn at(&mut self, c: u8) -> bool {
        self.peek().tok == Tok::Punct(c)
    }

    /// Consumes the next token if it is `c`, and returns true if so.
    pub(super) fn eat(&mut self, c: u8) -> bool {
        let yes = self.at(c);
        if yes {
            self.bump();
        }
        yes
    }

    pub(super) fn expect(&mut self, c: u8) -> Parsed<Token> {
        if self.at(c) { Ok(self.bump()) } else { self.expected(&format!("`{}`", char::from(c))) }
    }

    pub(super) fn at_word(&mut self, word: &str) -> bool {
        let t = self.peek();
        t.tok == Tok::Word && self.str_of(t) == word
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let yes = self.at_word(word);
        if yes {
            self.bump();
        }
        yes
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<Token> {
        if self.at_word(word) { Ok(self.bump()) } else { self.expected(&format!("`{word}`")) }
    }

    pub(super) fn word(&mut self, what: &str) -> Parsed<Token> {
        if self.peek().tok == Tok::Word { Ok(self.bump()) } else { self.expected(what) }
    }

    pub(super) fn arrow(&mut self) -> Parsed<()> {
        if self.peek().tok == Tok::Arrow {
            self.bump();
            return Ok(());
        }
        self.expected("`->`")
    }

    /// Consumes the tokens of `literal`, in which white space separates tokens that would otherwise be read
    /// as one.
    pub(super) fn literal(&mut self, literal: &str) -> Parsed<()> {
        let bytes = literal.as_bytes();
        let mut pos = 0;
        loop {
            let want = next_token(bytes, pos);
            if want.tok == Tok::Eof {
                return Ok(());
            }
            let text = &literal[want.start..want.end];
            let found = self.peek();
            if self.str_of(found) != text {
                return self.expected(&format!("`{text}`"));
            }
            self.bump();
            pos = want.end;
        }
    }

    /// True if the tokens of `literal` come next. Consumes no token.
    pub(super) fn at_literal(&mut self, literal: &str) -> bool {
        let bytes = literal.as_bytes();
        let (mut want_pos, mut pos) = (0, self.pos);
        loop {
            let want = next_token(bytes, want_pos);
            if want.tok == Tok::Eof {
                return true;
            }
            let found = next_token(self.bytes(), pos);
            if self.str_of(found) != &literal[want.start..want.end] {
                return false;
            }
            (want_pos, pos) = (want.end, found.end);
        }
    }

    // --- small pieces of grammar

    /// Parses `item, item, …` up to and including `close`. The opening bracket has been consumed.
    pub(super) fn list_until(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        if self.eat(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.eat(close) {
                return Ok(());
            }
            if !self.eat(b',') {
                return self.expected(&format!("`,` or `{}`", char::from(close)));
            }
        }
    }

    /// Consumes a string token and returns its bytes.
    pub(super) fn string_bytes(&mut self) -> Parsed<Vec<u8>> {
        let t = self.peek();
        if t.tok != Tok::Str {
            return self.expected("a string");
        }
        self.bump();
        self.unescape(t, t.start)
    }

    /// Consumes a string token, which must be UTF-8.
    pub(super) fn string(&mut self) -> Parsed<String> {
        let t = self.peek();
        let bytes = self.string_bytes()?;
        self.utf8(t, bytes)
    }

    /// Parses `@name` and returns it without the `@`.
    pub(super) fn symbol(&mut self) -> Parsed<String> {
        let t = self.peek();
        if t.tok != Tok::At {
            return self.expected("a name that starts with `@`");
        }
        self.bump();
        self.symbol_of(t)
    }

    pub(super) fn symbol_of(&mut self, t: Token) -> Parsed<String> {
        let text = self.str_of(t);
        if !text.starts_with("@\"") {
            return Ok(text[1..].to_owned());
        }
        let bytes = self.unescape(t, t.start + 1)?;
        self.utf8(t, bytes)
    }

    /// Resolves the escapes of a string. `quote` is the position of the opening quote.
    fn unescape(&mut self, t: Token, quote: usize) -> Parsed<Vec<u8>> {
        match unescape(self.slice(quote + 1, t.end - 1)) {
            Some(bytes) => Ok(bytes),
            None => self.fail(
                "parse",
                span(t),
                "a backslash in a string starts `\\\\`, `\\\"`, `\\n`, `\\t`, or two hexadecimal digits",
            ),
        }
    }

    fn utf8(&mut self, t: Token, bytes: Vec<u8>) -> Parsed<String> {
        match String::from_utf8(bytes) {
            Ok(s) => Ok(s),
            Err(_) => self.fail("parse", span(t), "this name is not UTF-8"),
        }
    }

    /// Parses an integer without a sign.
    pub(super) fn unsigned(&mut self, what: &str) -> Parsed<usize> {
        let t = self.peek();
        if t.tok != Tok::Int {
            return self.expected(what);
        }
        self.bump();
        match self.str_of(t).parse() {
            Ok(v) => Ok(v),
            Err(_) => self.fail("parse", span(t), format!("{what} is too large")),
        }
    }

    /// Parses `-5` or `0x1F`, an integer of at most 128 bits, and returns its position, too.
    pub(super) fn integer(&mut self) -> Parsed<(i128, Span)> {
        let start = self.peek();
        let negative = self.eat(b'-');
        let t = self.peek();
        if t.tok != Tok::Int {
            return self.expected("an integer");
        }
        self.bump();
        let place = span(start).to(span(t));
        let text = self.str_of(t);
        let value = match text.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16),
            None => text.parse(),
        };
        match value {
            Ok(v) => Ok((if negative { -v } else { v }, place)),
            Err(_) => self.fail("parse", place, "this integer is too large"),
        }
    }

    /// Parses `[1, -2]`.
    pub(super) fn integers(&mut self) -> Parsed<Vec<i64>> {
        let mut out = Vec::new();
        self.expect(b'[')?;
        self.list_until(b']', |p| {
            let (v, place) = p.integer()?;
            match i64::try_from(v) {
                Ok(v) => out.push(v),
                Err(_) => return p.fail("parse", place, "this integer does not fit 64 bits"),
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// The value of an [`Tok::Int`] or [`Tok::Float`] token as a decimal number.
    pub(super) fn decimal(&mut self, t: Token, negative: bool) -> Parsed<f64> {
        match self.str_of(t).parse::<f64>() {
            Ok(v) => Ok(if negative { -v } else { v }),
            Err(_) => self.fail("parse", span(t), "this is not a number"),
        }
    }

    /// Parses an element type in StableHLO's spelling.
    pub(super) fn dtype(&mut self) -> Parsed<DType> {
        let t = self.word("an element type")?;
        let text = self.str_of(t);
        if text == "complex" {
            self.expect(b'<')?;
            let inner = self.word("`f32` or `f64`")?;
            let Some(d) = DType::from_mlir(self.str_of(inner)).and_then(DType::complex) else {
                return self.fail(
                    "type",
                    span(inner),
                    "the parts of a complex number must have type f32 or f64",
                );
            };
            self.expect(b'>')?;
            return Ok(d);
        }
        match DType::from_mlir(text) {
            Some(d) => Ok(d),
            None => {
                let near = farcall_sig::nearest::nearest(text, DType::VARIANTS.iter().map(|d| d.mlir()));
                let d = Diagnostic::new("type", span(t), format!("unknown element type `{text}`"));
                self.stop(hinted(d, &near))
            }
        }
    }

    // --- nesting

    /// Enters a nesting level; fails if that is too deep. Pairs with [`Parser::leave`].
    pub(super) fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        if self.depth > MAX_NESTING {
            let t = self.peek();
            return self.fail("nesting", span(t), format!("nested more than {MAX_NESTING} deep"));
        }
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    // --- errors

    /// True if further errors are only counted, so callers need not format messages.
    pub(super) fn is_full(&self) -> bool {
        self.diagnostics.is_full()
    }

    /// Records an error after which the parser can continue.
    pub(super) fn report(&mut self, d: Diagnostic) {
        self.diagnostics.push(d);
    }

    pub(super) fn fail<T>(&mut self, code: &'static str, at: Span, message: impl Into<String>) -> Parsed<T> {
        self.stop(Diagnostic::new(code, at, message))
    }

    /// Records an error after which the parser cannot continue.
    pub(super) fn stop<T>(&mut self, d: Diagnostic) -> Parsed<T> {
        self.diagnostics.push_last(d);
        Err(Stop)
    }

    /// Fails at the next token, where `what` was expected.
    pub(super) fn expected<T>(&mut self, what: &str) -> Parsed<T> {
        let t = self.peek();
        let found = match t.tok {
            Tok::Eof => "the end of the text".to_owned(),
            Tok::Unterminated => "a string without a closing quote".to_owned(),
            _ => {
                let text = self.str_of(t);
                let short: String = text.chars().take(40).collect();
                let more = if short.len() < text.len() { "…" } else { "" };
                format!("`{}{more}`", short.escape_debug())
            }
        };
        self.fail("parse", span(t), format!("expected {what}, found {found}"))
    }
}

pub(super) fn span(t: Token) -> Span {
    Span::new(t.start, t.end)
}

/// Adds the names that may have been meant to an error, if there are any.
pub(super) fn hinted(d: Diagnostic, near: &[&str]) -> Diagnostic {
    if near.is_empty() { d } else { d.note(format!("did you mean {}?", or_list(near))) }
}

/// Formats a list such as `a`, `b` or `c`.
fn or_list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.join(""),
    }
}
