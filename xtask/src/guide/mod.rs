//! `cargo xtask guide`: builds the guide as a book, tests the code blocks of its pages, and checks the links
//! of all Markdown files.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use crate::python::{self, Venv};
use crate::shell::{cargo, must, outputs, program, root, target};
use crate::test::{JAX, number_before};

mod links;
mod page;
mod session;

pub(crate) use links::check as broken_links;
use page::{Action, Page};

/// The version of mdbook that builds the book.
const MDBOOK: &str = "0.5.4";

/// Runs the task `cargo xtask guide`.
pub(crate) fn run(args: &[&str]) -> Result<bool> {
    match args {
        [] => build(),
        ["links"] => report_links(),
        ["test", pages @ ..] => {
            if std::env::var_os("FARCALL_BUILT").is_none() {
                python::package()?;
            }
            let outcome = test(&Venv::with_jax(JAX[0])?, pages)?;
            let mut doctests = cargo(&["test", "--quiet", "--doc", "--package", "farcall-guide", "--"]);
            let (ok, text, errors) = outputs(doctests.args(pages.iter().map(|page| page.replace('-', "_"))))?;
            let doctests = text.lines().filter_map(|line| line.strip_prefix("test result: "));
            let doctests: u64 = doctests.map(|counts| number_before(counts, " passed")).sum();
            if ok {
                println!("{doctests} doctests passed");
            } else {
                println!("{text}\n{errors}");
            }
            Ok(report_links()? && ok && outcome.failures.is_empty())
        }
        _ => bail!("usage: cargo xtask guide [test [PAGES] | links]"),
    }
}

/// Builds the book with mdbook, which is first installed under `target/` if necessary. A warning is an error.
fn build() -> Result<bool> {
    let tools = target().join("mdbook");
    let mdbook = tools.join("bin/mdbook");
    let version = outputs(&mut program(&mdbook, &["--version"])).map_or_else(|_| String::new(), |out| out.1);
    if !version.contains(MDBOOK) {
        println!("installing mdbook {MDBOOK} under {}", tools.display());
        // Without its web server, mdbook compiles in half the time.
        let features = ["--no-default-features", "--features", "search"];
        let mut install = cargo(&["install", "--locked", "--quiet", "mdbook", "--version", MDBOOK]);
        must(install.args(features).arg("--root").arg(&tools))?;
    }
    let book = target().join("guide/book");
    let (ok, text, errors) = outputs(program(&mdbook, &["build", "docs/guide", "--dest-dir"]).arg(&book))?;
    print!("{text}{errors}");
    let warnings = [&text, &errors].iter().any(|out| out.contains("WARN") || out.contains("ERROR"));
    ensure!(ok && !warnings, "mdbook reports errors or warnings");
    println!("{}", book.join("index.html").display());
    Ok(true)
}

fn report_links() -> Result<bool> {
    let broken = broken_links()?;
    for link in &broken {
        println!("{link}");
    }
    println!("{} broken links in Markdown files", broken.len());
    Ok(broken.is_empty())
}

/// Outcome of a test of pages.
pub(crate) struct Outcome {
    pub(crate) passed: u64,
    /// A line for each failure. The full report of each failure has already been printed.
    pub(crate) failures: Vec<String>,
}

/// Runs the code blocks of the named pages, or of all pages, two pages at a time. The caller has built the
/// command `farcall` and the Python package.
pub(crate) fn test(venv: &Venv, names: &[&str]) -> Result<Outcome> {
    let pages = pages(names)?;
    let reports = session::run(venv, &pages)?;
    let mut outcome = Outcome { passed: 0, failures: Vec::new() };
    for (page, report) in pages.iter().zip(reports) {
        println!("{}: {} blocks passed in {:.1} s", page.name, report.passed, report.seconds);
        outcome.passed += report.passed;
        for failure in report.failures {
            let place = page.place(failure.line);
            println!("\n{place}: {}\n{}", failure.message, indented(&failure.detail));
            outcome.failures.push(format!("{place}: {}", failure.message));
        }
    }
    let blocks = || pages.iter().flat_map(|page| page.blocks.iter().map(move |block| (page, block)));
    for (page, block) in blocks() {
        if let Action::Skip(reason) = &block.action {
            println!("not run: {}: {reason}", page.place(block.line));
        }
    }
    let skips = blocks().filter(|(_, block)| matches!(block.action, Action::Skip(_))).count();
    let failed = outcome.failures.len();
    println!("{} pages: {} blocks passed, {failed} failed, {skips} skipped", pages.len(), outcome.passed);
    Ok(outcome)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Reads the named pages, or all pages if `names` is empty.
fn pages(names: &[&str]) -> Result<Vec<Page>> {
    let folder = folder();
    let mut paths: Vec<PathBuf> = names.iter().map(|name| folder.join(format!("{name}.md"))).collect();
    if names.is_empty() {
        paths = std::fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|e| e == "md") && !path.ends_with("SUMMARY.md"));
        paths.sort();
    }
    paths.iter().map(|path| Page::read(path)).collect()
}

/// Returns the folder of the pages.
fn folder() -> PathBuf {
    root().join(Path::new("docs/guide/src"))
}
