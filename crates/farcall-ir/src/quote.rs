//! Names and strings as MLIR writes them: in quotes if necessary.

use std::fmt::{self, Display, Formatter, Write};

/// A byte that a word may begin with.
pub(crate) fn is_word_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

/// A byte that a word may go on with.
pub(crate) fn is_word(b: u8) -> bool {
    WORD[usize::from(b)]
}

/// By byte: most bytes of a program are asked for.
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

/// A name, in quotes where it needs them.
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_bare(self.0) { f.write_str(self.0) } else { write!(f, "{}", Quoted(self.0.as_bytes())) }
    }
}

/// A string in quotes, with everything escaped that is not printable ASCII.
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
