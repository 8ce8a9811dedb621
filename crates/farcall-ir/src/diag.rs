//! Errors in a program: a code, a place in the source, a message, notes.
//!
//! Every stage that reads a program (parser, verifier, compiler) reports [`Diagnostic`]s; a
//! [`ProgramError`] joins them with the source, so that its `Display` shows line, column, the
//! source line and a caret for each.

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
    /// The bytes from `start` to `end`.
    pub fn new(start: usize, end: usize) -> Span {
        let clamp = |x: usize| u32::try_from(x).unwrap_or(u32::MAX);
        Span { start: clamp(start), end: clamp(end) }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// The text of a program and the name it is reported under.
pub struct Source {
    name: String,
    text: String,
    /// Found when somebody asks for a place, which most programs never do.
    line_starts: OnceLock<Vec<u32>>,
    /// Lines of the file before the text.
    lines_before: usize,
    /// The memory of the text, if it counts towards the limit.
    _charge: Charge,
}

/// Where lines begin follows from the text, whether it is known already or not.
impl PartialEq for Source {
    fn eq(&self, other: &Source) -> bool {
        (&self.name, &self.text, self.lines_before) == (&other.name, &other.text, other.lines_before)
    }
}

impl Eq for Source {}

/// Without the text, which may be long: errors have their source with them.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).field("bytes", &self.text.len()).finish()
    }
}

impl Source {
    /// Largest text that can be read, in bytes: places in a source are 32-bit.
    pub const MAX_LEN: usize = u32::MAX as usize - 1;

    /// A source called `name` (a path, or `<stdin>`), which holds `text`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Source> {
        Source::part(name, text, 0)
    }

    /// A part of a source, without the byte order mark that some editors begin it with, which `lines_before` lines come before: line numbers are those of the whole.
    pub fn part(name: impl Into<String>, text: impl Into<String>, lines_before: usize) -> Arc<Source> {
        Source::of(name.into(), text.into(), lines_before, Charge::NONE)
    }

    /// Makes a source whose text counts towards the memory limit.
    pub fn charged(name: impl Into<String>, text: impl Into<String>, charge: Charge) -> Arc<Source> {
        Source::of(name.into(), text.into(), 0, charge)
    }

    fn of(name: String, mut text: String, lines_before: usize, charge: Charge) -> Arc<Source> {
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Arc::new(Source { name, text, line_starts: OnceLock::new(), lines_before, _charge: charge })
    }

    /// Where lines begin.
    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let newlines = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            let starts = newlines.map(|(i, _)| u32::try_from(i + 1).unwrap_or(u32::MAX));
            std::iter::once(0).chain(starts).collect()
        })
    }

    /// The source of a program that was made, not read: without name and text. Messages give no place in it.
    pub fn none() -> Arc<Source> {
        Source::new("", "")
    }

    /// True for [`Source::none`].
    pub fn is_none(&self) -> bool {
        self.name.is_empty() && self.text.is_empty()
    }

    /// The name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Lines of the file before the text.
    pub fn lines_before(&self) -> usize {
        self.lines_before
    }

    /// Line and column (both from 1, columns in characters) of a byte.
    pub fn line_column(&self, byte: u32) -> (usize, usize) {
        let starts = self.line_starts();
        let line = starts.partition_point(|s| *s <= byte).max(1) - 1;
        let start = starts[line] as usize;
        let column = self.text[start..self.floor(byte as usize).max(start)].chars().count();
        (self.lines_before + line + 1, column + 1)
    }

    /// The character boundary at or before a byte.
    fn floor(&self, byte: usize) -> usize {
        self.text.floor_char_boundary(byte)
    }

    /// The characters of which a span has a byte: no span breaks one, whatever reader it comes from.
    fn whole(&self, span: Span) -> (usize, usize) {
        let start = self.floor(span.start as usize);
        (start, self.text.ceil_char_boundary(span.end as usize).max(start))
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &str {
        let (start, end) = self.whole(span);
        &self.text[start..end]
    }

    /// `name:line:column` of the start of a span; empty if there is no source.
    pub fn place(&self, span: Span) -> String {
        if self.is_none() {
            return String::new();
        }
        let (line, column) = self.line_column(span.start);
        format!("{}:{line}:{column}", self.name)
    }

    /// The part of the text around `span` that a message shows: its lines, but never more than
    /// [`EXCERPT`] bytes before and after (a constant can fill megabytes of one line).
    fn excerpt(&self, span: Span) -> (usize, &str, usize) {
        let len = self.text.len();
        let (at, _) = self.whole(span);
        let starts = self.line_starts();
        let line = starts.partition_point(|s| *s as usize <= at).max(1) - 1;
        let line_start = starts[line] as usize;
        let line_end = self.text[at..].find('\n').map_or(len, |n| at + n);
        let start = self.floor(line_start.max(at.saturating_sub(EXCERPT)));
        let end = self.floor(line_end.min(at + EXCERPT)).max(start);
        (self.lines_before + line + 1, &self.text[start..end], start)
    }
}

/// Bytes of a source line shown to the left and to the right of an error.
const EXCERPT: usize = 100;

/// One error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// A stable identifier, for example `parse` or the specification's constraint `reduce_c4`.
    pub code: &'static str,
    /// Where, if the error has a place.
    pub span: Option<Span>,
    /// What was expected, what was found.
    pub message: String,
    /// How to mend it, where that is known.
    pub notes: Vec<String>,
}

/// Code `interrupted`.
impl From<Interrupted> for Diagnostic {
    fn from(error: Interrupted) -> Diagnostic {
        Diagnostic::global("interrupted", error.to_string())
    }
}

impl Diagnostic {
    /// An error at a place.
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code, span: Some(span), message: message.into(), notes: Vec::new() }
    }

    /// An error of the program as a whole.
    pub fn global(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code, span: None, message: message.into(), notes: Vec::new() }
    }

    /// The same with a note added.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// The message with source line and caret. `color` adds terminal escapes.
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
            group = Group::with_title(Level::ERROR.primary_title(title));
            if column == 1 + text[..from].chars().count() {
                // The renderer finds the same place.
                snippet = snippet.path(source.name().to_owned());
            } else {
                group = group.element(annotate_snippets::Origin::path(origin));
            }
            group = group.element(snippet);
        }
        for note in &notes {
            group = group.element(Level::NOTE.message(note.as_ref()));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

/// Longest message or note that is shown, in bytes: names and types in it may be as long as the program.
const MESSAGE: usize = 8_000;

/// A text; if it is long, its beginning, how much is left out, and its end, where tracebacks say what happened.
pub fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= MESSAGE {
        return Cow::Borrowed(text);
    }
    let start = &text[..text.floor_char_boundary(MESSAGE * 3 / 4)];
    let end = &text[text.ceil_char_boundary(text.len() - MESSAGE / 4)..];
    Cow::Owned(format!("{start}… ({} bytes left out) …{end}", text.len() - start.len() - end.len()))
}

/// Mistakes as they are found: the first [`Diagnostics::MAX`] are kept, the others counted. Whoever has made
/// so many repeats one mistake.
#[derive(Clone, Default, Debug)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    omitted: usize,
}

impl Diagnostics {
    /// Mistakes that are kept.
    pub const MAX: usize = 100;

    /// Keeps or counts one more.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.is_full() {
            self.omitted += 1;
        } else {
            self.kept.push(diagnostic);
        }
    }

    /// Keeps one in any case: the one that nothing can be found after.
    pub fn push_last(&mut self, diagnostic: Diagnostic) {
        if self.is_full() {
            self.kept.pop();
            self.omitted += 1;
        }
        self.kept.push(diagnostic);
    }

    /// True if more are only counted: their words need not be found.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= Diagnostics::MAX
    }

    /// Counts one more without words for it.
    pub fn count(&mut self) {
        self.omitted += 1;
    }

    /// True if nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.kept.len() + self.omitted
    }

    /// Forgets all but the first `n`.
    pub fn truncate(&mut self, n: usize) {
        self.kept.truncate(n);
        self.omitted = n - self.kept.len();
    }

    /// Those that are kept, as they were found.
    pub fn kept(&self) -> &[Diagnostic] {
        &self.kept
    }

    /// An error of these, in the order of the source.
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
    /// The text in which the spans lie.
    pub source: Arc<Source>,
    /// At least one, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
    /// How many more there are.
    pub omitted: usize,
}

impl ProgramError {
    /// An error of one diagnostic.
    pub fn new(source: &Arc<Source>, diagnostic: Diagnostic) -> ProgramError {
        ProgramError { source: Arc::clone(source), diagnostics: vec![diagnostic], omitted: 0 }
    }

    /// Every diagnostic, rendered, and how many more there are.
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

    /// Whatever the bytes of a span, a message about them is made.
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
    fn many_mistakes_are_counted() {
        let source = Source::new("t", "x");
        let mut diagnostics = Diagnostics::default();
        diagnostics
            .extend((0..300_000).map(|i| Diagnostic::new("c", Span::new(0, 1), format!("number {i}"))));
        let text = diagnostics.into_error(&source).to_string();
        assert!(text.contains("number 99\n") && !text.contains("number 100\n"));
        assert!(text.ends_with("… and 299900 more errors"), "{}", text.len());
    }

    #[test]
    fn long_messages_are_cut() {
        let long = format!("{}the end", "ä".repeat(1_000_000));
        let rendered = Diagnostic::global("c", long.clone()).note(long).render(&Source::none(), false);
        assert!(rendered.len() < 20_000, "{}", rendered.len());
        assert!(rendered.contains("ä… (1992008 bytes left out) …ä"), "{rendered}");
        assert!(rendered.ends_with("äthe end"));
    }
}
