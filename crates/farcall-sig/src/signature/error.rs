//! Errors in a signature, and positions in its text.

use std::fmt;

/// Range of bytes in a signature's text.
///
/// All ranges compare equal, so that the position of a declaration does not affect equality of signatures.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextRange {
    /// Offset of the first byte.
    pub offset: usize,
    /// Number of bytes; 0 for the end of the text.
    pub len: usize,
}

impl TextRange {
    /// Returns the span from the start of this span to the end of another.
    pub fn to(self, end: TextRange) -> TextRange {
        TextRange { offset: self.offset, len: (end.offset + end.len).saturating_sub(self.offset) }
    }
}

impl PartialEq for TextRange {
    fn eq(&self, _: &TextRange) -> bool {
        true
    }
}

/// The first error in a signature.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct SignatureError {
    /// The characters that the error is about.
    pub span: TextRange,
    /// Error message.
    pub message: String,
    /// Hints: valid alternatives, or probable corrections.
    pub notes: Vec<String>,
}

impl SignatureError {
    pub(super) fn new(span: TextRange, message: impl Into<String>) -> SignatureError {
        SignatureError { span, message: message.into(), notes: Vec::new() }
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> SignatureError {
        self.notes.push(note.into());
        self
    }

    /// Adds a note with the names that are close to a mistyped one, if there are any.
    pub(super) fn did_you_mean<'a>(
        self,
        name: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> SignatureError {
        match crate::nearest::nearest(name, candidates).as_slice() {
            [] => self,
            near => {
                let near: Vec<String> = near.iter().map(|n| format!("`{n}`")).collect();
                self.note(format!("did you mean {}?", near.join(" or ")))
            }
        }
    }

    /// Formats the message, the line of the text with carets under the faulty characters, and the notes.
    /// `text` must be the text that was parsed.
    pub fn render(&self, text: &str) -> String {
        let offset = floor(text, self.span.offset);
        let start = text[..offset].rfind('\n').map_or(0, |i| i + 1);
        let end = text[offset..].find('\n').map_or(text.len(), |i| offset + i);
        let stop = floor(text, self.span.offset.saturating_add(self.span.len)).clamp(offset, end);
        let carets = text[offset..stop].chars().count().max(1);
        let indent: String =
            text[start..offset].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let mut out =
            format!("{}\n  | {}\n  | {indent}{}", self.message, &text[start..end], "^".repeat(carets));
        for note in &self.notes {
            out.push_str("\n  = ");
            out.push_str(note);
        }
        out
    }
}

/// Returns the last character boundary at or before `offset`.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for note in &self.notes {
            write!(f, "; {note}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SignatureError {}
