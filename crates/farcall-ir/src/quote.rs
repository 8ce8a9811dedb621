//! Names and strings as MLIR writes them: in quotes if necessary.

use std::fmt::{self, Display, Formatter, Write};

/// True for a byte that may begin a word.
pub(crate) fn is_word_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

/// True for a byte that may continue a word.
pub(crate) fn is_word(b: u8) -> bool {
    WORD[usize::from(b)]
}

/// [`is_word`] as a table: the lexer tests most bytes of a program.
static WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        table[b] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
        b += 1;
    }
    table
};

/// True if `name` needs no quotes after `@` or as a key.
pub(crate) fn is_bare(name: &str) -> bool {
    name.bytes().next().is_some_and(is_word_start) && name.bytes().all(is_word)
}

/// Formats a name, with quotes where it needs them.
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_bare(self.0) { f.write_str(self.0) } else { write!(f, "{}", Quoted(self.0.as_bytes())) }
    }
}

/// Formats a string in quotes; everything except printable ASCII is escaped.
pub(crate) struct Quoted<'a>(pub(crate) &'a [u8]);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for b in self.0 {
            match b {
                b'\\' => f.write_str("\\\\")?,
                b'"' => f.write_str("\\22")?,
                b' '..=b'~' => f.write_char(char::from(*b))?,
                _ => write!(f, "\\{b:02X}")?,
            }
        }
        f.write_str("\"")
    }
}
