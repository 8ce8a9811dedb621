//! Checks the links of all Markdown files, and that the guide has each page that a message names. A link is
//! broken if its file or its anchor does not exist. Links with a scheme are not followed.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use super::folder;
use super::page::{closes, fence};
use crate::shell::{outputs, program, root};

/// Returns a line for each broken link and each unknown page: the place and the problem.
pub(crate) fn check() -> Result<Vec<String>> {
    let root = root();
    let (_, files, _) =
        outputs(&mut program("git", &["ls-files", "-z", "-co", "--exclude-standard", "*.md"]))?;
    let mut broken = Vec::new();
    let mut anchors = HashMap::new();
    for name in files.split('\0').filter(|name| !name.is_empty()) {
        let path = root.join(name);
        if !path.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        for (line, link) in links(&text) {
            if let Some(problem) = problem(&path, &link, &mut anchors)? {
                broken.push(format!("{name}:{line}: {link}: {problem}"));
            }
        }
    }
    broken.extend(unknown_pages()?);
    Ok(broken)
}

/// Returns a line for each message in the sources that names a missing page: `see: farcall guide NAME`.
fn unknown_pages() -> Result<Vec<String>> {
    const NAMED: &str = "see: farcall guide ";
    let sources = ["crates", "examples", "python"];
    let (_, found, _) = outputs(program("git", &["grep", "--line-number", NAMED, "--"]).args(sources))?;
    let mut unknown = Vec::new();
    for line in found.lines() {
        let mut parts = line.split(NAMED);
        let place = parts.next().unwrap_or_default().split_inclusive(':').take(2).collect::<String>();
        for part in parts {
            let name = part.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap_or_default();
            if !folder().join(format!("{name}.md")).is_file() {
                unknown.push(format!("{place} the guide has no page `{name}`"));
            }
        }
    }
    Ok(unknown)
}

/// Returns the problem of a link in a file, if the link is broken.
fn problem(
    file: &Path,
    link: &str,
    anchors: &mut HashMap<PathBuf, HashSet<String>>,
) -> Result<Option<String>> {
    let scheme = link.split(['/', '#', '?']).next().is_some_and(|head| head.contains(':'));
    if scheme || link.is_empty() {
        return Ok(link.is_empty().then(|| "the link has no target".to_owned()));
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = match path {
        "" => file.to_owned(),
        path => normalized(&file.parent().unwrap_or(file).join(path)),
    };
    if !target.exists() {
        return Ok(Some("there is no such file".to_owned()));
    }
    if file.starts_with(folder()) && !target.starts_with(folder()) {
        return Ok(Some("the book has only the pages of the guide".to_owned()));
    }
    let Some(anchor) = anchor.filter(|_| target.extension().is_some_and(|e| e == "md")) else {
        return Ok(None);
    };
    if !anchors.contains_key(&target) {
        let text = std::fs::read_to_string(&target)?;
        anchors.insert(target.clone(), headings(&text));
    }
    Ok((!anchors[&target].contains(anchor)).then(|| "there is no such heading".to_owned()))
}

/// Returns the path without components `.` and `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

/// Returns the lines of a text outside of code blocks, each with its line number.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut open = None;
    (1..).zip(text.lines()).filter(move |(_, line)| match open {
        Some(opening) => {
            if closes(line, opening) {
                open = None;
            }
            false
        }
        None => {
            open = fence(line.trim_start());
            open.is_none()
        }
    })
}

/// Returns the targets of links and images, each with its line number.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        for part in line.split("](").skip(1) {
            let end = part.find(')').unwrap_or(part.len());
            // A title may follow the target.
            let target = part[..end].split_whitespace().next().unwrap_or_default();
            found.push((number, target.trim_matches(['<', '>']).to_owned()));
        }
        for name in ["href=\"", "src=\""] {
            for part in line.split(name).skip(1) {
                found.push((number, part.split('"').next().unwrap_or_default().to_owned()));
            }
        }
        let definition = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        if let Some((_, target)) = definition {
            found.push((number, target.split_whitespace().next().unwrap_or_default().to_owned()));
        }
    }
    found
}

/// Returns the line without its code spans.
fn without_code(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].len() - rest[start..].trim_start_matches('`').len();
        let (before, after) = (&rest[..start], &rest[start + ticks..]);
        out += before;
        let Some(end) = after.find(&"`".repeat(ticks)) else { return out + &rest[start..] };
        rest = &after[end + ticks..];
    }
    out + rest
}

/// Returns the anchors that GitHub and mdbook generate for the headings of a file.
fn headings(text: &str) -> HashSet<String> {
    let mut anchors = HashSet::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, line) in prose(text) {
        let level = line.len() - line.trim_start_matches('#').len();
        if !(1..=6).contains(&level) || !line[level..].starts_with(' ') {
            continue;
        }
        let slug = slug(&line[level..]);
        let count = counts.entry(slug.clone()).or_default();
        anchors.insert(if *count == 0 { slug.clone() } else { format!("{slug}-{count}") });
        *count += 1;
    }
    anchors
}

fn slug(heading: &str) -> String {
    let mut title = String::new();
    let mut rest = heading.trim();
    // A link contributes only its text to the anchor.
    while let Some((before, after)) = rest.split_once("](") {
        title += before;
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    title += rest;
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_anchors() {
        let text = "# Using `farcall.ffi`, or: [not](x.md)\n## A b\n```text\n# c\n```\n## A b\n";
        let expected = ["using-farcallffi-or-not", "a-b", "a-b-1"];
        assert_eq!(headings(text), expected.map(str::to_owned).into());
    }

    #[test]
    fn links_in_code_do_not_count() {
        let text = "[a](b.md#c) `[x](y)` ![p](p.svg \"title\")\n```text\n[x](y)\n```\n[r]: r.md\n";
        let found: Vec<_> = links(text);
        let expected = [(1, "b.md#c"), (1, "p.svg"), (5, "r.md")];
        assert_eq!(found, expected.map(|(line, link)| (line, link.to_owned())));
    }
}
