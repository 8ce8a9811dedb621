//! A cursor over HLO text, which reads words, numbers, strings and bracketed text.
//!
//! HLO has no keywords. The meaning of a word depends on its position, so a token type would be of no use.

use crate::diag::Span;

/// A range of the text and a position in it.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'s> {
    text: &'s str,
    pos: usize,
    end: usize,
}

/// A syntax error: the expected item and the position.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) span: Span,
    pub(super) message: String,
    /// True if a bracket or string is never closed, so the text after it cannot be interpreted.
    pub(super) is_open: bool,
}

pub(super) type Read<T> = Result<T, Expected>;

impl Expected {
    pub(super) fn new(span: Span, message: impl Into<String>) -> Expected {
        Expected { span, message: message.into(), is_open: false }
    }

    fn open(at: usize, message: impl Into<String>) -> Expected {
        Expected { is_open: true, ..Expected::new(Span::new(at, at + 1), message) }
    }
}

/// True for a byte that may continue a word.
fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')
}

impl<'s> Cursor<'s> {
    /// Creates a cursor over the bytes of `text` from `start` to `end`.
    pub(super) fn new(text: &'s str, start: usize, end: usize) -> Cursor<'s> {
        Cursor { text, pos: start, end }
    }

    /// Returns a cursor over another range of the text.
    pub(super) fn part(self, start: usize, end: usize) -> Cursor<'s> {
        Cursor { pos: start, end, ..self }
    }

    fn bytes(self) -> &'s [u8] {
        &self.text.as_bytes()[..self.end]
    }

    /// The current position.
    pub(super) fn pos(self) -> usize {
        self.pos
    }

    /// The remaining text.
    pub(super) fn rest(self) -> &'s str {
        &self.text[self.pos..self.end]
    }

    /// The text between two positions.
    pub(super) fn slice(self, start: usize, end: usize) -> &'s str {
        &self.text[start..end]
    }

    /// Continues from another byte.
    pub(super) fn jump(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// Skips white space and comments (`/*index=5*/`, `// …`).
    pub(super) fn skip(&mut self) {
        let bytes = self.bytes();
        while let Some(b) = bytes.get(self.pos) {
            match (b, bytes.get(self.pos + 1)) {
                (b' ' | b'\t' | b'\n' | b'\r', _) => self.pos += 1,
                (b'/', Some(b'*')) => {
                    let close = bytes[self.pos + 2..].windows(2).position(|w| w == b"*/");
                    self.pos = close.map_or(self.end, |n| self.pos + n + 4);
                }
                (b'/', Some(b'/')) => {
                    let line = bytes[self.pos..].iter().position(|b| *b == b'\n');
                    self.pos = line.map_or(self.end, |n| self.pos + n);
                }
                _ => break,
            }
        }
    }

    /// Skips white space and comments, and returns the next byte without consuming it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.skip();
        self.here()
    }

    /// The byte at the position.
    pub(super) fn here(self) -> Option<u8> {
        self.bytes().get(self.pos).copied()
    }

    pub(super) fn at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    pub(super) fn eat(&mut self, b: u8) -> bool {
        let found = self.peek() == Some(b);
        self.pos += usize::from(found);
        found
    }

    /// Consumes `s` if it comes next.
    pub(super) fn eat_str(&mut self, s: &str) -> bool {
        self.skip();
        let found = self.rest().starts_with(s);
        self.pos += if found { s.len() } else { 0 };
        found
    }

    pub(super) fn expect(&mut self, b: u8) -> Read<()> {
        if self.eat(b) { Ok(()) } else { self.wrong(&format!("`{}`", char::from(b))) }
    }

    /// The next word or character, for a message.
    fn next_piece(&mut self) -> Span {
        self.skip();
        let mut ahead = *self;
        if ahead.word().is_ok() {
            return Span::new(self.pos, ahead.pos);
        }
        let width = self.rest().chars().next().map_or(0, char::len_utf8);
        Span::new(self.pos, self.pos + width)
    }

    /// Returns the error that `expected` was expected here.
    pub(super) fn wrong<T>(&mut self, expected: &str) -> Read<T> {
        let span = self.next_piece();
        let found = match &self.text[span.start as usize..span.end as usize] {
            "" => "the end".to_owned(),
            text => format!("`{}`", text.escape_debug()),
        };
        Err(Expected::new(span, format!("expected {expected}, found {found}")))
    }

    /// Parses a word such as `get-tuple-element`, `add.1` or `_x`.
    pub(super) fn word(&mut self) -> Read<&'s str> {
        self.skip();
        let bytes = self.bytes();
        let start = self.pos;
        if !bytes.get(start).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_') {
            return Err(Expected::new(Span::new(start, start), "expected a name"));
        }
        let mut end = bytes[start..].iter().position(|b| !is_word(*b)).map_or(self.end, |n| start + n);
        // Leave out the dash of an arrow.
        if bytes.get(end) == Some(&b'>') && bytes[end - 1] == b'-' {
            end -= 1;
        }
        self.pos = end;
        Ok(&self.text[start..end])
    }

    /// Parses the name of a value or computation, with or without `%`. After `%`, a name may begin with a
    /// digit.
    pub(super) fn name(&mut self) -> Read<(&'s str, Span)> {
        self.skip();
        let start = self.pos;
        if self.here() != Some(b'%') {
            return match self.word() {
                Ok(word) => Ok((word, Span::new(start, self.pos))),
                Err(_) => self.wrong("a name"),
            };
        }
        let bytes = self.bytes();
        let end = bytes[start + 1..].iter().position(|b| !is_word(*b)).map_or(self.end, |n| start + 1 + n);
        if end == start + 1 {
            return Err(Expected::new(Span::new(start, end), "expected a name after `%`"));
        }
        self.pos = end;
        Ok((&self.text[start + 1..end], Span::new(start, end)))
    }

    /// Parses an integer such as `-12`.
    pub(super) fn int(&mut self) -> Read<i64> {
        self.skip();
        let bytes = self.bytes();
        let start = self.pos;
        let sign = usize::from(bytes.get(start) == Some(&b'-'));
        let digits = bytes[start + sign..].iter().position(|b| !b.is_ascii_digit());
        let end = digits.map_or(self.end, |n| start + sign + n);
        if end == start + sign {
            return self.wrong("an integer");
        }
        let text = &self.text[start..end];
        self.pos = end;
        let span = Span::new(start, end);
        text.parse().map_err(|_| Expected::new(span, format!("{text} does not fit in 64 bits")))
    }

    pub(super) fn usize(&mut self) -> Read<usize> {
        self.skip();
        let start = self.pos;
        let value = self.int()?;
        let span = Span::new(start, self.pos);
        usize::try_from(value).map_err(|_| Expected::new(span, format!("{value} is negative")))
    }

    /// Parses `"…"` and resolves its escapes.
    pub(super) fn string(&mut self) -> Read<Vec<u8>> {
        if self.peek() != Some(b'"') {
            return self.wrong("a string");
        }
        let start = self.pos;
        self.skip_string()?;
        Ok(unescape(&self.text[start + 1..self.pos - 1]))
    }

    /// Skips the string that begins here.
    fn skip_string(&mut self) -> Read<()> {
        let (bytes, start) = (self.bytes(), self.pos);
        let mut pos = start + 1;
        loop {
            match bytes.get(pos) {
                Some(b'"') => {
                    self.pos = pos + 1;
                    return Ok(());
                }
                Some(b'\\') => pos += 2,
                Some(_) => pos += 1,
                None => return Err(Expected::open(start, "this string does not end")),
            }
        }
    }

    /// Skips the bracket at the current position, and the text up to and including the bracket that closes
    /// it.
    pub(super) fn skip_balanced(&mut self) -> Read<()> {
        let (bytes, start) = (self.bytes(), self.pos);
        // Open brackets: their positions, and the brackets that close them.
        let mut open: Vec<(usize, u8)> = Vec::new();
        while let Some(b) = bytes.get(self.pos) {
            match b {
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                b'/' if matches!(bytes.get(self.pos + 1), Some(b'*' | b'/')) => {
                    self.skip();
                    continue;
                }
                b'(' => open.push((self.pos, b')')),
                b'[' => open.push((self.pos, b']')),
                b'{' => open.push((self.pos, b'}')),
                b')' | b']' | b'}' => match open.pop() {
                    Some((_, close)) if close == *b && open.is_empty() => {
                        self.pos += 1;
                        return Ok(());
                    }
                    Some((_, close)) if close == *b => {}
                    Some((at, _)) => {
                        let (first, other) = (char::from(bytes[at]), char::from(*b));
                        let message = format!("this `{first}` is not closed before `{other}`");
                        return Err(Expected::new(Span::new(at, at + 1), message));
                    }
                    None => return Ok(()),
                },
                _ => {}
            }
            self.pos += 1;
        }
        let open = char::from(bytes[start]);
        Err(Expected::open(start, format!("this `{open}` is never closed")))
    }

    /// Consumes the value of an attribute without interpreting it, up to a comma or white space outside of
    /// brackets.
    pub(super) fn value(&mut self) -> Read<Cursor<'s>> {
        self.skip();
        let start = self.pos;
        while let Some(b) = self.here() {
            match b {
                b'(' | b'[' | b'{' => self.skip_balanced()?,
                b'"' => self.skip_string()?,
                b',' | b' ' | b'\t' | b'\r' | b'\n' | b')' | b']' | b'}' => break,
                _ => self.pos += 1,
            }
        }
        if start == self.pos {
            return self.wrong("a value");
        }
        // Groups by axes continue after a space: `mesh['x'=2] {'x'}`.
        let end = self.pos;
        if self.part(start, end).rest().starts_with("mesh[") && self.peek() == Some(b'{') {
            self.skip_balanced()?;
        } else {
            self.pos = end;
        }
        Ok(self.part(start, self.pos))
    }

    /// The span of the remaining text.
    pub(super) fn span(self) -> Span {
        Span::new(self.pos, self.end)
    }

    /// Parses `{1, 2}`.
    pub(super) fn ints(&mut self) -> Read<Vec<i64>> {
        self.braced(Cursor::int)
    }

    /// Parses `{1, 2}`, without negative numbers.
    pub(super) fn usizes(&mut self) -> Read<Vec<usize>> {
        self.braced(Cursor::usize)
    }

    /// Parses `{a, b}`.
    pub(super) fn braced<T>(&mut self, item: impl FnMut(&mut Cursor<'s>) -> Read<T>) -> Read<Vec<T>> {
        self.list(b'{', b'}', item)
    }

    /// Parses items between brackets, separated by commas.
    pub(super) fn list<T>(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Cursor<'s>) -> Read<T>,
    ) -> Read<Vec<T>> {
        self.expect(open)?;
        let mut out = Vec::new();
        if self.eat(close) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if self.eat(close) {
                return Ok(out);
            }
            if !self.eat(b',') {
                return self.wrong(&format!("`,` or `{}`", char::from(close)));
            }
        }
    }

    /// Returns an error unless all text has been consumed.
    pub(super) fn finish(&mut self) -> Read<()> {
        if self.at_end() { Ok(()) } else { self.wrong("nothing more") }
    }
}

/// Resolves C escapes in a string's text (without quotes). An unknown escape keeps its backslash.
fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let next = bytes.get(i + 1).copied();
        let (byte, taken) = match (bytes[i], next) {
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b't')) => (b'\t', 2),
            (b'\\', Some(b'r')) => (b'\r', 2),
            (b'\\', Some(c @ (b'"' | b'\'' | b'\\'))) => (c, 2),
            (b'\\', Some(b'x')) => number(&bytes[i + 2..], 16, 2).map_or((b'\\', 1), |(b, n)| (b, n + 2)),
            (b'\\', Some(b'0'..=b'7')) => {
                number(&bytes[i + 1..], 8, 3).map_or((b'\\', 1), |(b, n)| (b, n + 1))
            }
            (b, _) => (b, 1),
        };
        out.push(byte);
        i += taken;
    }
    out
}

/// Reads a byte written with at most `max_digits` digits; returns the byte and the number of digits read.
fn number(bytes: &[u8], radix: u32, max_digits: usize) -> Option<(u8, usize)> {
    let digits = bytes.iter().take(max_digits).map_while(|b| char::from(*b).to_digit(radix));
    let (value, count) = digits.fold((0u32, 0), |(value, n), d| (value * radix + d, n + 1));
    u8::try_from(value).ok().filter(|_| count > 0).map(|value| (value, count))
}

/// Quotes a string with escapes that both [`Cursor::string`] and XLA read.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for b in bytes {
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            b' '..=b'~' => out.push(char::from(*b)),
            // Always three digits, so that a following digit is not read as part of the escape.
            _ => out.push_str(&format!("\\{b:03o}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(text: &str) -> Cursor<'_> {
        Cursor::new(text, 0, text.len())
    }

    #[test]
    fn strings_read_as_they_are_written() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [&all[..], b"", b"\\\"0\x007"] {
            let text = quoted(bytes);
            assert_eq!(cursor(&text).string().ok().unwrap(), bytes);
        }
        assert_eq!(cursor(r#""\x41\q""#).string().ok().unwrap(), b"A\\q");
    }

    #[test]
    fn values_end_at_commas_outside_brackets() {
        let mut c = cursor("{a=\"}\", [1,2]}, b01f_01io->b01f\n [2,4]<=[8]T(1,0) ");
        assert_eq!(c.value().ok().unwrap().rest(), "{a=\"}\", [1,2]}");
        assert!(c.eat(b','));
        assert_eq!(c.value().ok().unwrap().rest(), "b01f_01io->b01f");
        assert_eq!(c.value().ok().unwrap().rest(), "[2,4]<=[8]T(1,0)");
        assert_eq!(cursor("mesh['x'=2] {'x'}, a").value().ok().unwrap().rest(), "mesh['x'=2] {'x'}");
        assert!(cursor("{(}").value().is_err());
    }

    #[test]
    fn names_and_comments() {
        let mut c = cursor("/*a*/ %add.1 // x\n b-c->d");
        assert_eq!(c.name().ok().unwrap().0, "add.1");
        assert_eq!(c.name().ok().unwrap().0, "b-c");
        assert!(c.eat_str("->"));
    }
}
