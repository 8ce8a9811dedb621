//! Text in constants, where strings cannot be allocated.

/// A fixed-capacity text buffer that can be built in constants. A piece that does not fit is left out.
///
/// ```
/// use farcall_sig::text::Text;
///
/// const TEXT: Text = {
///     let mut text = Text::new();
///     text.add("there is no ").quote("x");
///     text
/// };
/// assert_eq!(TEXT.as_str(), "there is no `x`");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Text {
    bytes: [u8; Text::CAPACITY],
    len: usize,
}

impl Text {
    const CAPACITY: usize = 1024;

    /// Creates an empty text.
    pub const fn new() -> Text {
        Text { bytes: [0; Text::CAPACITY], len: 0 }
    }

    /// Appends a piece.
    pub const fn add(&mut self, piece: &str) -> &mut Text {
        let piece = piece.as_bytes();
        if piece.len() <= Text::CAPACITY - self.len {
            let (_, rest) = self.bytes.split_at_mut(self.len);
            rest.split_at_mut(piece.len()).0.copy_from_slice(piece);
            self.len += piece.len();
        }
        self
    }

    /// Appends a name in backquotes.
    pub const fn quote(&mut self, name: &str) -> &mut Text {
        self.add("`").add(name).add("`")
    }

    /// The text as a string.
    pub const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            // Only whole pieces are appended, so the bytes are valid UTF-8.
            Err(_) => unreachable!(),
        }
    }
}

impl Default for Text {
    fn default() -> Text {
        Text::new()
    }
}

/// String equality that is usable in constants.
pub const fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && order(a, b) == 0
}

/// Compares texts by their bytes: negative if `a` comes before `b`, 0 if they are equal.
pub(crate) const fn order(a: &str, b: &str) -> i32 {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return a[i] as i32 - b[i] as i32;
        }
        i += 1;
    }
    a.len() as i32 - b.len() as i32
}

/// Returns true if `texts` contains `text`.
pub const fn contains(texts: &[&str], text: &str) -> bool {
    let mut i = 0;
    while i < texts.len() {
        if same(texts[i], text) {
            return true;
        }
        i += 1;
    }
    false
}
