//! `cargo xtask bench`: farcall and jaxlib on the same programs, in turn, in one sitting.
//!
//! It has parts, which can run alone. What each comes to is kept under `target/bench`, as JSON or as the text that it
//! prints, and `docs/benchmarks.md` is made of all that is there; on machines without AVX-512, a page beside it.

mod report;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::python::{self, Venv};
use crate::shell::{cargo, must, output, program, root, shared, target};
use crate::suites;

/// The parts that print text.
const TEXTS: [&str; 4] = ["decode", "calls", "kernels", "handlers"];

/// The programs of the folder `shared`, then the families of `xtask/bench/shapes.py`.
const FAMILIES: [&str; 9] =
    ["corpus", "elementwise", "products", "indexing", "sorting", "random", "convolutions", "loops", "models"];

/// Runs the parts that are named, or all of them. With `--bar` among them, handlers written in Python that cost more
/// than their bar are an error.
pub(crate) fn run(parts: &[&str]) -> Result<bool> {
    let (bar, parts): (Vec<&str>, Vec<&str>) = parts.iter().partition(|part| **part == "--bar");
    let all = || TEXTS.into_iter().chain(FAMILIES);
    if let Some(unknown) = parts.iter().find(|part| all().all(|p| p != **part)) {
        bail!("there is no part `{unknown}`; there are {}", all().collect::<Vec<_>>().join(", "));
    }
    let wanted: Vec<&str> = all().filter(|part| parts.is_empty() || parts.contains(part)).collect();
    let bench = Bench::new(!bar.is_empty())?;
    for part in wanted {
        println!("\n## {part}");
        bench.part(part)?;
    }
    let (name, page) = report::page(&bench.results, &TEXTS, &FAMILIES)?;
    let path = root().join("docs").join(name);
    std::fs::write(&path, page)?;
    println!("\nwrote {}", path.display());
    Ok(true)
}

struct Bench {
    venv: Venv,
    include: PathBuf,
    /// The package `farcall`, as fast as users have it.
    package: PathBuf,
    /// Where the parts leave what they come to.
    results: PathBuf,
    /// Handlers written in Python that cost more than their bar are an error.
    has_bar: bool,
}

impl Bench {
    fn new(has_bar: bool) -> Result<Bench> {
        let venv = Venv::with_jax(crate::test::JAX[0])?;
        let include = venv.include()?;
        let results = target().join("bench/results");
        std::fs::create_dir_all(&results)?;
        Ok(Bench { include, package: python::release_package()?, results, has_bar, venv })
    }

    fn part(&self, part: &str) -> Result<()> {
        match part {
            "decode" => {
                let mut decode =
                    cargo(&["bench", "--quiet", "--package", "farcall-ffi", "--bench", "decode"]);
                self.text(part, decode.env("FARCALL_XLA_INCLUDE", &self.include))
            }
            "calls" => {
                let farcall = target().join("release/farcall");
                let noop = noop(&self.include)?;
                self.text(part, self.python("calls.py").args([&farcall, &noop]))
            }
            "kernels" => {
                must(&mut cargo(&["build", "--release", "--quiet", "--package", "gallery-ops"]))?;
                self.text(part, self.python("kernels.py").arg(target().join("release/libgallery_ops.so")))
            }
            "handlers" => self.text(part, self.python("handlers.py").args(self.has_bar.then_some("--bar"))),
            "corpus" => {
                let Some(shared) = shared() else {
                    println!("left out: there is no folder `shared` beside the checkout");
                    return Ok(());
                };
                let library = suites::corpus_handlers(&shared, &self.include)?;
                let mut corpus = self.family(part);
                corpus.arg("--manifest").arg(shared.join("corpus/cases/manifest.json"));
                must(corpus.arg("--load").arg(library))
            }
            family => must(self.family(family).arg("--cache").arg(target().join("bench/programs"))),
        }
    }

    /// Runs a part that prints text, and keeps that.
    fn text(&self, part: &str, command: &mut Command) -> Result<()> {
        let (done, text) = output(command)?;
        print!("{text}");
        if !done {
            bail!("the part {part} failed");
        }
        Ok(std::fs::write(self.results.join(format!("{part}.txt")), text)?)
    }

    fn family(&self, family: &str) -> Command {
        let mut python = self.python("programs.py");
        python.arg(family).arg(self.results.join(format!("{family}.json")));
        python
    }

    /// A script of `xtask/bench`.
    fn python(&self, script: &str) -> Command {
        let mut python = self.venv.script(script, &self.package);
        python.env("FARCALL_COMMIT", commit());
        python
    }
}

/// The commit that is checked out, if that can be told: `-dirty` with changes to more than the pages that are written here.
fn commit() -> String {
    let described = output(&mut program("git", &["describe", "--always"]));
    let commit = described.map(|(_, text)| text.trim().to_owned()).unwrap_or_default();
    let changed = program("git", &["diff", "--quiet", "HEAD", "--", ".", ":!docs"]).status();
    if changed.is_ok_and(|status| status.code() == Some(1)) { format!("{commit}-dirty") } else { commit }
}

/// Builds the handler that does nothing.
fn noop(include: &Path) -> Result<PathBuf> {
    let dir = target().join("cc");
    std::fs::create_dir_all(&dir)?;
    let library = dir.join("libnoop.so");
    let mut cc = program("cc", &["-O2", "-shared", "-fPIC", "xtask/bench/noop.c"]);
    must(cc.arg("-I").arg(include).arg("-o").arg(&library))?;
    Ok(library)
}
