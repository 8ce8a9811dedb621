//! Pages of the guide: their code blocks, and the comments that direct them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A page with its code blocks.
#[derive(Debug)]
pub(crate) struct Page {
    /// File name without extension, as `farcall guide NAME` knows it.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) blocks: Vec<Block>,
}

/// A fenced code block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Line number of the fence that opens it.
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) text: String,
    pub(crate) action: Action,
}

/// Action of the guide's test for a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Run the block. It must fail if `fails` is true.
    Run { fails: bool },
    /// Write the block to a file, or append it to a file.
    Write { path: PathBuf, append: bool },
    /// Compare the block with the output of the last block that ran.
    Output,
    /// Leave the block to the doctests of the crate `farcall-guide`.
    Doctest,
    /// Do not run the block, for this reason.
    Skip(String),
    /// Do nothing: the block is only for readers.
    Show,
    /// Report an error, with this message: the block breaks the conventions.
    Invalid(String),
}

/// Languages of blocks that are only shown, unless a comment directs them.
const SHOWN: &[&str] = &["mlir", "hlo", "toml", "text", "json", "console", "yaml", "diff", "ini", "html"];

impl Page {
    pub(crate) fn read(path: &Path) -> Result<Page> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Page { name, path: path.to_owned(), blocks: blocks(&text) })
    }

    /// Formats the place of a line: `docs/guide/src/kernels.md:12`.
    pub(crate) fn place(&self, line: usize) -> String {
        format!("docs/guide/src/{}.md:{line}", self.name)
    }
}

/// Returns the code blocks of a page.
fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut directives) = (Vec::new(), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let trimmed = line.trim_start();
        if let Some(comment) =
            trimmed.strip_prefix("<!--").and_then(|rest| rest.trim_end().strip_suffix("-->"))
        {
            directives.push(comment.trim().to_owned());
            continue;
        }
        if let Some(fence) = fence(trimmed) {
            let indent = line.len() - trimmed.len();
            let info = trimmed.trim_start_matches('`').trim().to_owned();
            let body = lines.by_ref().map(|(_, line)| line).take_while(|line| !closes(line, fence));
            let body: Vec<&str> = body.map(|line| line.get(indent..).unwrap_or(line.trim_start())).collect();
            let text = body.iter().map(|line| format!("{line}\n")).collect();
            let action = action(&info, &directives);
            let language = info.split([',', ' ']).next().unwrap_or_default().to_owned();
            blocks.push(Block { line: number + 1, language, text, action });
        }
        directives.clear();
    }
    blocks
}

/// Returns the backquotes at the beginning of a line that opens a fence; `None` for any other line.
pub(super) fn fence(line: &str) -> Option<&str> {
    let end = line.find(|c| c != '`').filter(|end| *end >= 3)?;
    Some(&line[..end])
}

/// Returns true if the line closes this fence.
pub(super) fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.starts_with(fence) && line.bytes().all(|b| b == b'`')
}

fn action(info: &str, directives: &[String]) -> Action {
    let mut words = info.split([',', ' ']).filter(|word| !word.is_empty());
    let Some(language) = words.next() else {
        return Action::Invalid("the block has no language; use `text` for plain text".to_owned());
    };
    if words.any(|word| word == "ignore") {
        return Action::Invalid("`ignore` gives no reason; use <!-- skip: reason -->".to_owned());
    }
    let [directive] = directives else {
        return match (directives.is_empty(), language) {
            (false, _) => Action::Invalid("a block has at most one directive".to_owned()),
            (true, "sh" | "python") => Action::Run { fails: false },
            (true, "rust") => Action::Doctest,
            (true, shown) if SHOWN.contains(&shown) => Action::Show,
            (true, _) => {
                Action::Invalid(format!("a `{language}` block needs <!-- file: … --> or <!-- skip: … -->"))
            }
        };
    };
    let (name, value) = directive.split_once(':').unwrap_or((directive, ""));
    match (name.trim(), value.trim()) {
        ("file" | "append", "") => Action::Invalid(format!("<!-- {name}: … --> needs a path")),
        ("file", path) => Action::Write { path: path.into(), append: false },
        ("append", path) => Action::Write { path: path.into(), append: true },
        ("skip", "") => Action::Invalid("<!-- skip: … --> needs a reason".to_owned()),
        ("skip", reason) => Action::Skip(reason.to_owned()),
        ("output", "") if language == "text" => Action::Output,
        ("output", _) => Action::Invalid("<!-- output --> belongs above a `text` block".to_owned()),
        ("fails", "") if matches!(language, "sh" | "python") => Action::Run { fails: true },
        ("fails", "") if language == "rust" => Action::Doctest,
        ("fails", _) => Action::Invalid("<!-- fails --> belongs above a block that runs".to_owned()),
        _ => Action::Invalid(format!("there is no directive <!-- {directive} -->")),
    }
}

/// Returns the first expected line that is missing in the output. The output must contain the expected lines
/// in order, but may have other lines between them. A `…` matches any characters, and a run of spaces matches
/// any run of spaces.
pub(crate) fn missing<'a>(expected: &'a str, output: &str) -> Option<&'a str> {
    let mut found = output.lines().map(squeeze);
    expected.lines().filter(|line| !matches!(line.trim(), "" | "…")).find(|line| {
        let pattern = squeeze(line);
        !found.by_ref().any(|line| matches(&pattern, &line))
    })
}

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_direct_blocks() {
        let text = "\
# A page
<!-- file: src/lib.rs -->
```rust
fn f() {}
```

```sh
cargo build
```
<!-- output -->
```text
done
```
<!-- fails -->
```python
f(
```
<!-- skip: no network -->
````sh
```
````
- in a list
  ```rust
  f();
  ```
```c
```
";
        let found: Vec<(usize, Action)> = blocks(text).into_iter().map(|b| (b.line, b.action)).collect();
        let needs = "a `c` block needs <!-- file: … --> or <!-- skip: … -->".to_owned();
        assert_eq!(
            found,
            [
                (3, Action::Write { path: "src/lib.rs".into(), append: false }),
                (7, Action::Run { fails: false }),
                (11, Action::Output),
                (15, Action::Run { fails: true }),
                (19, Action::Skip("no network".to_owned())),
                (23, Action::Doctest),
                (26, Action::Invalid(needs)),
            ]
        );
        assert_eq!(blocks(text)[5].text, "f();\n");
    }

    #[test]
    fn expected_lines_are_found_in_order() {
        assert_eq!(missing("a  b\n…\nc", "x\na b\ny\n  c\n"), None);
        assert_eq!(missing("c\na b", "a b\nc\n"), Some("a b"));
        assert_eq!(missing("took … ms (… runs)", "took 12 ms (3 runs)"), None);
        assert_eq!(missing("took … ms", "took 12 s"), Some("took … ms"));
    }
}
