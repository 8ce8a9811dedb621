//! Fenced code blocks of Markdown. `farcall-cli` has a link to this file.

/// Tracks the fences of a page, line by line.
#[derive(Default)]
pub(crate) struct Fences {
    /// Number of backticks of the open fence.
    open: Option<usize>,
}

/// Role of a line in a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role<'a> {
    /// The line opens a block; the text after the backticks names the language of the block.
    Opens(&'a str),
    /// The line belongs to the open block, or closes it.
    Code,
    /// The line is outside of blocks.
    Text,
}

impl Fences {
    /// Returns the role of the next line.
    pub(crate) fn next<'a>(&mut self, line: &'a str) -> Role<'a> {
        let trimmed = line.trim_start();
        let info = trimmed.trim_start_matches('`');
        let ticks = trimmed.len() - info.len();
        match self.open {
            Some(opening) => {
                if ticks >= opening && info.trim_end().is_empty() {
                    self.open = None;
                }
                Role::Code
            }
            None if ticks >= 3 => {
                self.open = Some(ticks);
                Role::Opens(info)
            }
            None => Role::Text,
        }
    }
}
