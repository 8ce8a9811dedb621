//! Lexer for MLIR text, one token at a time.
//!
//! The lexer holds only a position. The parser peeks at the next token, consumes it, or continues from
//! another byte (dimension lists and dense constants are read directly from the bytes).

use crate::quote::{is_word, is_word_start};

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tok {
    /// The end of the text.
    Eof,
    /// `tensor`, `stablehlo.add`
    Word,
    /// `12`, `0xFF`
    Int,
    /// `1.0`, `2.5e-3`
    Float,
    /// `"…"`, including the quotes.
    Str,
    /// `@name` or `@"name"`
    At,
    /// `%name`
    Percent,
    /// `#name`
    Hash,
    /// `!name`
    Bang,
    /// `^name`
    Caret,
    /// `->`
    Arrow,
    /// `::`
    Colons,
    /// `{-#`
    ResourcesBegin,
    /// `#-}`
    ResourcesEnd,
    /// One of `()[]{}<>,:=-+*?/|`.
    Punct(u8),
    /// A string that does not end on its line.
    Unterminated,
    /// Anything else.
    Bad,
}

/// A token and its range of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) tok: Tok,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Returns the first position at or after `pos` that is neither white space nor part of a comment.
pub(super) fn skip_space(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(b) = bytes.get(pos) {
        match b {
            b' ' | b'\t' | b'\n' | b'\r' => pos += 1,
            b'/' if bytes.get(pos + 1) == Some(&b'/') => {
                pos = bytes[pos..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| pos + n);
            }
            _ => break,
        }
    }
    pos
}

/// Returns the token at or after `pos`.
pub(super) fn next_token(bytes: &[u8], pos: usize) -> Token {
    let start = skip_space(bytes, pos);
    let Some(&first) = bytes.get(start) else {
        return Token { tok: Tok::Eof, start: bytes.len(), end: bytes.len() };
    };
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let token = |tok, end| Token { tok, start, end };
    match first {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => token(Tok::Word, run(bytes, start + 1, is_word)),
        b'0'..=b'9' => number(bytes, start),
        b'"' => string(bytes, start, start),
        b'@' if at(start + 1) == b'"' => string(bytes, start, start + 1),
        b'@' if is_word_start(at(start + 1)) => token(Tok::At, run(bytes, start + 1, is_word)),
        b'%' | b'^' | b'!' | b'#' => {
            if first == b'#' && at(start + 1) == b'-' && at(start + 2) == b'}' {
                return token(Tok::ResourcesEnd, start + 3);
            }
            let tok = match first {
                b'%' => Tok::Percent,
                b'^' => Tok::Caret,
                b'!' => Tok::Bang,
                _ => Tok::Hash,
            };
            let next = at(start + 1);
            let end = if next.is_ascii_digit() {
                run(bytes, start + 1, |b| b.is_ascii_digit())
            } else if is_suffix_start(next) {
                run(bytes, start + 1, is_suffix)
            } else {
                return token(Tok::Bad, start + 1);
            };
            token(tok, end)
        }
        b'-' if at(start + 1) == b'>' => token(Tok::Arrow, start + 2),
        b':' if at(start + 1) == b':' => token(Tok::Colons, start + 2),
        b'{' if at(start + 1) == b'-' && at(start + 2) == b'#' => token(Tok::ResourcesBegin, start + 3),
        b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b',' | b':' | b'=' | b'-' | b'+' | b'*'
        | b'?' | b'/' | b'|' => token(Tok::Punct(first), start + 1),
        _ => {
            // Take a whole character, so that spans stay on character boundaries.
            let end = run(bytes, start + 1, |b| b & 0xc0 == 0x80);
            token(Tok::Bad, end)
        }
    }
}

/// Returns the first position at or after `from` whose byte is not `ok`.
fn run(bytes: &[u8], from: usize, ok: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|b| !ok(*b)).map_or(bytes.len(), |n| from + n)
}

fn is_suffix_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || matches!(b, b'_' | b'$' | b'.' | b'-')
}

fn is_suffix(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.' | b'-')
}

fn number(bytes: &[u8], start: usize) -> Token {
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let digits = |mut i: usize| {
        while at(i).is_ascii_digit() {
            i += 1;
        }
        i
    };
    if at(start) == b'0' && at(start + 1) == b'x' && at(start + 2).is_ascii_hexdigit() {
        let mut end = start + 2;
        while at(end).is_ascii_hexdigit() {
            end += 1;
        }
        return Token { tok: Tok::Int, start, end };
    }
    let whole = digits(start);
    if at(whole) != b'.' {
        return Token { tok: Tok::Int, start, end: whole };
    }
    let mut end = digits(whole + 1);
    if matches!(at(end), b'e' | b'E') {
        let sign = usize::from(matches!(at(end + 1), b'+' | b'-'));
        if at(end + 1 + sign).is_ascii_digit() {
            end = digits(end + 1 + sign);
        }
    }
    Token { tok: Tok::Float, start, end }
}

/// Lexes a string. `quote` is the position of the opening quote.
fn string(bytes: &[u8], start: usize, quote: usize) -> Token {
    let tok = if start == quote { Tok::Str } else { Tok::At };
    let mut i = quote + 1;
    while let Some(b) = bytes.get(i) {
        match b {
            b'"' => return Token { tok, start, end: i + 1 },
            b'\\' if i + 1 < bytes.len() && bytes[i + 1] != b'\n' => i += 2,
            b'\n' => break,
            _ => i += 1,
        }
    }
    Token { tok: Tok::Unterminated, start, end: i.min(bytes.len()) }
}

/// Resolves the escapes of a string's text (without quotes). `None` for an invalid escape.
pub(super) fn unescape(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] != b'\\' {
            out.push(bytes[i]);
            i += 1;
            continue;
        }
        let hex = |b: u8| char::from(b).to_digit(16);
        match *bytes.get(i + 1)? {
            c @ (b'"' | b'\\') => out.push(c),
            // `n` and `t` are not hexadecimal digits, so `\n` and `\t` are unambiguous.
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            high => {
                let (high, low) = (hex(high)?, hex(*bytes.get(i + 2)?)?);
                out.push((high * 16 + low) as u8);
                i += 1;
            }
        }
        i += 2;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens() {
        let text = "%0#1 \"a\\22\" @\"x y\" 0x1F 1.5e-3 2x -> {-# a.b // c\n é";
        let mut pos = 0;
        let mut out = Vec::new();
        loop {
            let t = next_token(text.as_bytes(), pos);
            if t.tok == Tok::Eof {
                break;
            }
            out.push(format!("{:?} {}", t.tok, &text[t.start..t.end]));
            pos = t.end;
        }
        expect_test::expect![[r##"
            Percent %0
            Hash #1
            Str "a\22"
            At @"x y"
            Int 0x1F
            Float 1.5e-3
            Int 2
            Word x
            Arrow ->
            ResourcesBegin {-#
            Word a.b
            Bad é"##]]
        .assert_eq(&out.join("\n"));
    }
}
