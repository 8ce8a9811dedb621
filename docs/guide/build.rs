//! Copies the pages of the guide for rustdoc. A Rust block below the comment `<!-- fails -->` becomes a
//! doctest that must not compile. A Rust block below another comment, such as `<!-- file: src/lib.rs -->`,
//! becomes plain text. The copies have the same line numbers as the pages.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

mod fences;

use fences::{Fences, Role};

fn main() {
    println!("cargo:rerun-if-changed=src");
    let out = env::var("OUT_DIR").expect("Cargo sets OUT_DIR");
    let mut modules = String::new();
    let mut pages: Vec<_> =
        fs::read_dir("src").expect("the pages are readable").flatten().map(|e| e.path()).collect();
    pages.sort();
    for page in pages.iter().filter(|page| page.extension().is_some_and(|e| e == "md")) {
        let name = page.file_stem().expect("a page has a name").to_string_lossy();
        let text = fs::read_to_string(page).expect("the page is readable");
        let copy = Path::new(&out).join(format!("{name}.md"));
        fs::write(&copy, doctests(&text)).expect("OUT_DIR is writable");
        let module = name.replace('-', "_").to_lowercase();
        writeln!(modules, "#[doc = include_str!({copy:?})]\nmod {module} {{}}")
            .expect("a String is writable");
    }
    fs::write(Path::new(&out).join("pages.rs"), modules).expect("OUT_DIR is writable");
}

/// Returns the copy of a page, in which all blocks marked as Rust are doctests.
fn doctests(page: &str) -> String {
    let (mut out, mut fences, mut directive) = (String::new(), Fences::default(), None);
    for line in page.lines() {
        match fences.next(line) {
            Role::Code => {}
            Role::Opens(info) => {
                let other = match directive.take() {
                    Some("fails") if info.starts_with("rust") => Some(format!("{info},compile_fail")),
                    Some(_) if info.starts_with("rust") => Some("text".to_owned()),
                    _ => None,
                };
                if let Some(other) = other {
                    let fence = &line[..line.len() - info.len()];
                    out += &format!("{fence}{other}\n");
                    continue;
                }
            }
            Role::Text => {
                let comment = line.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
                directive = comment.map(str::trim);
            }
        }
        out += line;
        out.push('\n');
    }
    out
}
