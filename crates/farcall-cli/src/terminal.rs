//! Output to the terminal: optional colors, tables, and the detection of a closed standard output.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, Color, ContentArrangement, Table};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default().bold();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// Applies `--color` to all following output.
pub(crate) fn set_color(choice: clap::ColorChoice) {
    match choice {
        // `NO_COLOR`, `CLICOLOR_FORCE` and the type of the stream decide.
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// Standard output. Escape sequences are dropped if colors are disabled.
pub(crate) fn stdout() -> impl Write {
    anstream::stdout()
}

/// Standard error. Escape sequences are dropped if colors are disabled.
pub(crate) fn stderr() -> impl Write {
    anstream::stderr()
}

/// Returns true if colors are enabled on standard error.
pub(crate) fn stderr_has_color() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

fn stdout_has_color() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Formats text in a style, which is reset at the end.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Creates a table with a header. On a terminal it is as wide as the terminal; elsewhere each row is one
/// line.
pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    if io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    } else {
        table.force_no_tty();
    }
    if stdout_has_color() {
        table.enforce_styling();
    }
    table.set_header(header.iter().map(|h| color(Cell::new(h), Color::Cyan)));
    table
}

/// Colors a cell, if colors are enabled.
pub(crate) fn color(cell: Cell, color: Color) -> Cell {
    if stdout_has_color() { cell.fg(color) } else { cell }
}

/// Returns true if an error means that the reader of the output has gone away (`farcall … | head`).
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|e| {
        let io = e.downcast_ref::<io::Error>();
        io.is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}
