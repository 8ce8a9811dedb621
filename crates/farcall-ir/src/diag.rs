//! Errors in a program: a code, a position in the source, a message, and notes.
//!
//! Every stage that reads a program (parser, verifier, compiler) reports [`Diagnostic`]s. A [`ProgramError`]
//! combines them with the source; its `Display` shows line, column, the source line and a caret for each
//! diagnostic.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::interrupt::Interrupted;
use crate::memory::Charge;

/// A range of bytes in a source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to, but not including, `end`.
    pub fn new(start: usize, end: usize) -> Span {
        let clamp = |x: usize| u32::try_from(x).unwrap_or(u32::MAX);
        Span { start: clamp(start), end: clamp(end) }
    }

    /// The smallest span that covers both spans.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// The text of a program, and the name that errors give it.
pub struct Source {
    name: String,
    text: String,
    /// Computed on first use: most programs never report a position.
    line_starts: OnceLock<Vec<u32>>,
    /// Number of lines of the file that precede the text.
    lines_before: usize,
    /// Memory of the text, if it counts toward the memory limit.
    _charge: Charge,
}

/// Equality ignores `line_starts`, which follows from the text and may not have been computed yet.
impl PartialEq for Source {
    fn eq(&self, other: &Source) -> bool {
        (&self.name, &self.text, self.lines_before) == (&other.name, &other.text, other.lines_before)
    }
}

impl Eq for Source {}

/// Leaves out the text, which may be long: errors contain their source.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).field("bytes", &self.text.len()).finish()
    }
}

impl Source {
    /// Maximum length of a source in bytes. Positions in a source have 32 bits.
    pub const MAX_LEN: usize = u32::MAX as usize - 1;

    /// Creates a source called `name` (a path, or `<stdin>`) with this text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Source> {
        Source::part(name, text, 0)
    }

    /// Creates a source from part of a file, after `lines_before` lines. Line numbers refer to the whole
    /// file. The byte order mark that some editors write at the beginning is removed.
    pub fn part(name: impl Into<String>, text: impl Into<String>, lines_before: usize) -> Arc<Source> {
        Source::of(name.into(), text.into(), lines_before, Charge::EMPTY)
    }

    /// Creates a source whose text counts toward the memory limit.
    pub fn charged(name: impl Into<String>, text: impl Into<String>, charge: Charge) -> Arc<Source> {
        Source::of(name.into(), text.into(), 0, charge)
    }

    fn of(name: String, mut text: String, lines_before: usize, charge: Charge) -> Arc<Source> {
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Arc::new(Source { name, text, line_starts: OnceLock::new(), lines_before, _charge: charge })
    }

    /// Positions at which lines begin.
    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let newlines = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            let starts = newlines.map(|(i, _)| u32::try_from(i + 1).unwrap_or(u32::MAX));
            std::iter::once(0).chain(starts).collect()
        })
    }

    /// The source of a program that was built rather than read: name and text are empty. Messages give no
    /// position in it.
    pub fn none() -> Arc<Source> {
        Source::new("", "")
    }

    /// True for [`Source::none`].
    pub fn is_none(&self) -> bool {
        self.name.is_empty() && self.text.is_empty()
    }

    /// Name of the source in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Number of lines of the file that precede the text.
    pub fn lines_before(&self) -> usize {
        self.lines_before
    }

    /// Line and column of a byte. Both count from 1; columns count characters.
    pub fn line_column(&self, byte: u32) -> (usize, usize) {
        let starts = self.line_starts();
        let line = starts.partition_point(|s| *s <= byte).max(1) - 1;
        let start = starts[line] as usize;
        let column = self.text[start..self.floor(byte as usize).max(start)].chars().count();
        (self.lines_before + line + 1, column + 1)
    }

    /// Returns the character boundary at or before a byte.
    fn floor(&self, byte: usize) -> usize {
        self.text.floor_char_boundary(byte)
    }

    /// Widens a span to whole characters: readers may produce spans that begin or end within one.
    fn whole(&self, span: Span) -> (usize, usize) {
        let start = self.floor(span.start as usize);
        (start, self.text.ceil_char_boundary(span.end as usize).max(start))
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &str {
        let (start, end) = self.whole(span);
        &self.text[start..end]
    }

    /// `name:line:column` of the start of a span; empty for [`Source::none`].
    pub fn place(&self, span: Span) -> String {
        if self.is_none() {
            return String::new();
        }
        let (line, column) = self.line_column(span.start);
        format!("{}:{line}:{column}", self.name)
    }

    /// Returns the excerpt around `span` that a message shows: its line number, its text, and the byte at
    /// which it starts. The excerpt is the line of the span, with at most [`EXCERPT_BYTES`] bytes before and
    /// after the start of the span (a constant can fill megabytes of one line).
    fn excerpt(&self, span: Span) -> (usize, &str, usize) {
        let len = self.text.len();
        let (at, _) = self.whole(span);
        let starts = self.line_starts();
        let line = starts.partition_point(|s| *s as usize <= at).max(1) - 1;
        let line_start = starts[line] as usize;
        let line_end = self.text[at..].find('\n').map_or(len, |n| at + n);
        let start = self.floor(line_start.max(at.saturating_sub(EXCERPT_BYTES)));
        let end = self.floor(line_end.min(at + EXCERPT_BYTES)).max(start);
        (self.lines_before + line + 1, &self.text[start..end], start)
    }
}

/// Bytes of a source line shown before and after the start of an error.
const EXCERPT_BYTES: usize = 100;

/// One error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// A stable identifier, for example `parse` or the specification's constraint `reduce_c4`.
    pub code: &'static str,
    /// Position of the error, if it has one.
    pub span: Option<Span>,
    /// Description of the error: what was expected, and what was found.
    pub message: String,
    /// Suggested fixes, where one is known.
    pub notes: Vec<String>,
    /// Location of the error if the source has no text: a location that the program records, such as a line
    /// of Python.
    pub place: Option<Arc<str>>,
    /// Name of the custom call's target if the target is missing, for code that handles this error; otherwise
    /// `None`.
    pub subject: Option<Arc<str>>,
}

/// The diagnostic has the code `interrupted`.
impl From<Interrupted> for Diagnostic {
    fn from(error: Interrupted) -> Diagnostic {
        Diagnostic::global("interrupted", error.to_string())
    }
}

impl Diagnostic {
    /// An error at a position of the source.
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { span: Some(span), ..Diagnostic::global(code, message) }
    }

    /// An error of the program as a whole.
    pub fn global(code: &'static str, message: impl Into<String>) -> Diagnostic {
        let message = message.into();
        Diagnostic { code, span: None, message, notes: Vec::new(), place: None, subject: None }
    }

    /// Returns the diagnostic with a note added.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Returns the diagnostic with a location for programs without text. An empty location is ignored.
    #[must_use]
    pub fn place(self, place: impl Into<Arc<str>>) -> Diagnostic {
        Diagnostic { place: Some(place.into()).filter(|place| !place.is_empty()), ..self }
    }

    /// Renders the message with source line and caret. `color` adds terminal escapes.
    pub fn render(&self, source: &Source, color: bool) -> String {
        let title = format!("[{}] {}", self.code, shortened(&self.message));
        let notes: Vec<_> = self.notes.iter().map(|note| shortened(note)).collect();
        let mut group = Level::ERROR
            .primary_title(title.as_str())
            .elements(std::iter::empty::<Snippet<'_, annotate_snippets::Annotation<'_>>>());
        if let Some(span) = self.span.filter(|_| !source.is_none()) {
            let (line, text, start) = source.excerpt(span);
            let (_, column) = source.line_column(span.start);
            let (first, end) = source.whole(span);
            let from = first.saturating_sub(start).min(text.len());
            let to = end.saturating_sub(start).clamp(from, text.len());
            let origin = format!("{}:{line}:{column}", source.name());
            let mut snippet = Snippet::source(text.to_owned())
                .line_start(line)
                .annotation(AnnotationKind::Primary.span(from..to));
            group = Group::with_title(Level::ERROR.primary_title(title.as_str()));
            if column == 1 + text[..from].chars().count() {
                // The excerpt starts at the beginning of its line, so the renderer computes the same column.
                snippet = snippet.path(source.name().to_owned());
            } else {
                group = group.element(annotate_snippets::Origin::path(origin));
            }
            group = group.element(snippet);
        } else if let Some(place) = &self.place {
            group = Group::with_title(Level::ERROR.primary_title(title.as_str()))
                .element(annotate_snippets::Origin::path(shortened(place)));
        }
        for note in &notes {
            group = group.element(Level::NOTE.message(note.as_ref()));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

/// Maximum length of a rendered message or note in bytes. Names and types in messages may be as long as the
/// program.
const MAX_MESSAGE_BYTES: usize = 8_000;

/// Shortens a long text: keeps the beginning and the end, where tracebacks name the cause, and states the
/// number of bytes left out.
pub fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_MESSAGE_BYTES {
        return Cow::Borrowed(text);
    }
    let start = &text[..text.floor_char_boundary(MAX_MESSAGE_BYTES * 3 / 4)];
    let end = &text[text.ceil_char_boundary(text.len() - MAX_MESSAGE_BYTES / 4)..];
    Cow::Owned(format!("{start}… ({} bytes left out) …{end}", text.len() - start.len() - end.len()))
}

/// Collected errors. The first [`Diagnostics::MAX`] are kept; the rest are only counted. Past the limit,
/// further errors are usually repeats.
#[derive(Clone, Default, Debug)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    omitted: usize,
}

impl Diagnostics {
    /// Maximum number of errors kept.
    pub const MAX: usize = 100;

    /// Keeps the error, or counts it if the limit is reached.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.is_full() {
            self.omitted += 1;
        } else {
            self.kept.push(diagnostic);
        }
    }

    /// Keeps the error even if the limit is reached. Meant for an error that ends the search for errors.
    pub fn push_last(&mut self, diagnostic: Diagnostic) {
        if self.is_full() {
            self.kept.pop();
            self.omitted += 1;
        }
        self.kept.push(diagnostic);
    }

    /// True if further errors are only counted. Callers then need not format their messages; see
    /// [`Diagnostics::count`].
    pub fn is_full(&self) -> bool {
        self.kept.len() >= Diagnostics::MAX
    }

    /// Counts an error without keeping it.
    pub fn count(&mut self) {
        self.omitted += 1;
    }

    /// True if no errors were collected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of errors, counted ones included.
    pub fn len(&self) -> usize {
        self.kept.len() + self.omitted
    }

    /// Discards all but the first `n` errors.
    pub fn truncate(&mut self, n: usize) {
        self.kept.truncate(n);
        self.omitted = n - self.kept.len();
    }

    /// The kept errors, in the order in which they were found.
    pub fn kept(&self) -> &[Diagnostic] {
        &self.kept
    }

    /// Converts the errors into a [`ProgramError`], sorted by their position in the source.
    pub fn into_error(mut self, source: &Arc<Source>) -> ProgramError {
        self.kept.sort_by_key(|d| d.span.map_or(0, |s| s.start));
        ProgramError { source: Arc::clone(source), diagnostics: self.kept, omitted: self.omitted }
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Diagnostics {
        let mut new = Diagnostics::default();
        new.extend(diagnostics);
        new
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        diagnostics.into_iter().for_each(|d| self.push(d));
    }
}

/// A program that cannot be used, with the errors found in it.
#[derive(Clone, Debug)]
pub struct ProgramError {
    /// The source that the spans refer to.
    pub source: Arc<Source>,
    /// The errors, of which there is at least one, sorted by position in the source.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of further errors, which were only counted.
    pub omitted: usize,
}

impl ProgramError {
    /// Creates an error with one diagnostic.
    pub fn new(source: &Arc<Source>, diagnostic: Diagnostic) -> ProgramError {
        ProgramError { source: Arc::clone(source), diagnostics: vec![diagnostic], omitted: 0 }
    }

    /// Renders every diagnostic, and the number of omitted ones.
    pub fn render(&self, color: bool) -> String {
        let mut parts: Vec<String> = self.diagnostics.iter().map(|d| d.render(&self.source, color)).collect();
        if self.omitted > 0 {
            parts.push(format!(
                "… and {} more error{}",
                self.omitted,
                if self.omitted == 1 { "" } else { "s" }
            ));
        }
        parts.join("\n\n")
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for ProgramError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rendering must not panic, whatever bytes a span covers.
    #[test]
    fn no_span_breaks_a_character() {
        let text = "é🦀\n\u{301}x\tÄ\r\n🦀🦀".to_owned() + &"ü".repeat(300);
        let source = Source::new("t", text.clone());
        let ends = (0..40).chain(text.len() - 30..text.len() + 3);
        for start in ends.clone() {
            for end in ends.clone() {
                let span = Span::new(start, end);
                let rendered = Diagnostic::new("c", span, "message").render(&source, false);
                assert!(rendered.contains("[c] message"));
                assert!(text.contains(source.slice(span)));
                source.place(span);
            }
        }
    }

    #[test]
    fn a_program_without_text_may_record_places() {
        let error = Diagnostic::new("c", Span::default(), "message").place("f at model.py:3:5");
        assert_eq!(error.render(&Source::none(), false), "error: [c] message\n--> f at model.py:3:5");
        let noted = error.note("a note").render(&Source::none(), false);
        assert_eq!(noted, "error: [c] message\n--> f at model.py:3:5\n = note: a note");
    }

    #[test]
    fn many_mistakes_are_counted() {
        let source = Source::new("t", "x");
        let mut diagnostics = Diagnostics::default();
        diagnostics
            .extend((0..300_000).map(|i| Diagnostic::new("c", Span::new(0, 1), format!("number {i}"))));
        let text = diagnostics.into_error(&source).to_string();
        assert!(text.contains("number 99\n") && !text.contains("number 100\n"));
        assert!(
            text.ends_with("… and 299900 more errors"),
            "the end is not the number of errors; {} bytes",
            text.len()
        );
    }

    #[test]
    fn long_messages_are_cut() {
        let long = format!("{}the end", "ä".repeat(1_000_000));
        let rendered = Diagnostic::global("c", long.clone()).note(long).render(&Source::none(), false);
        assert!(rendered.len() < 20_000, "the message has {} bytes", rendered.len());
        assert!(rendered.contains("ä… (1992008 bytes left out) …ä"), "{rendered}");
        assert!(rendered.ends_with("äthe end"));
    }
}
