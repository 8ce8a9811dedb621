//! `cargo xtask bench`: farcall and jaxlib on the same programs, in turn, in one sitting.
//!
//! It has parts, which can run alone. What each comes to is kept under `target/bench`, as JSON or as the text that it
//! prints, and `docs/benchmarks.md` is made of all that is there; on machines without AVX-512, a page beside it.

mod report;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::python::{self, Venv};
use crate::shell::{cargo, must, output, program, root, shared, target};
use crate::suites;

/// The parts that print text.
const TEXTS: [&str; 4] = ["decode", "calls", "kernels", "handlers"];

/// The programs of the folder `shared`, then the families of `xtask/bench/shapes.py`.
const FAMILIES: [&str; 9] =
    ["corpus", "elementwise", "products", "indexing", "sorting", "random", "convolutions", "loops", "models"];

/// Runs the parts that are named, or all of them. With `--bar` among them, handlers written in Python that cost more
/// than their bar are an error. With `--filter TEXT`, only the programs with this in their names, which nothing keeps.
pub(crate) fn run(args: &[&str]) -> Result<bool> {
    let (mut parts, mut has_bar, mut filter) = (Vec::new(), false, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match *arg {
            "--bar" => has_bar = true,
            "--filter" => filter = Some(args.next().context("--filter takes a part of a program's name")?),
            part => parts.push(part),
        }
    }
    let all = || TEXTS.into_iter().chain(FAMILIES);
    if let Some(unknown) = parts.iter().find(|part| all().all(|p| p != **part)) {
        bail!("there is no part `{unknown}`; there are {}", all().collect::<Vec<_>>().join(", "));
    }
    let bench = Bench::new(has_bar)?;
    let wanted = all().filter(|part| parts.is_empty() || parts.contains(part));
    if let Some(filter) = filter {
        for family in wanted.filter(|part| FAMILIES.contains(part)) {
            println!("\n## {family}");
            must(bench.family(family, &target().join("bench/filtered.json"))?.arg("--filter").arg(filter))?;
        }
        return Ok(true);
    }
    for part in wanted {
        println!("\n## {part}");
        bench.part(part)?;
    }
    let (name, page) = report::page(&bench.results, &TEXTS, &FAMILIES)?;
    let missing: Vec<&str> = all().filter(|part| !bench.has(part)).collect();
    // A page of some parts does not take the place of one of all.
    let folder = if missing.is_empty() { root().join("docs") } else { target().join("bench") };
    let path = folder.join(name);
    std::fs::write(&path, page)?;
    println!("\nwrote {}", path.display());
    if !missing.is_empty() {
        println!("it goes to docs when these have run, too: {}", missing.join(", "));
    }
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
            "corpus" if shared().is_none() => {
                println!("left out: there is no folder `shared` beside the checkout");
                Ok(())
            }
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
            family => must(&mut self.family(family, &self.file(family))?),
        }
    }

    /// True if a part has run, now or before.
    fn has(&self, part: &str) -> bool {
        self.file(part).exists()
    }

    /// What a part comes to.
    fn file(&self, part: &str) -> PathBuf {
        let kind = if TEXTS.contains(&part) { "txt" } else { "json" };
        self.results.join(format!("{part}.{kind}"))
    }

    /// Runs a part that prints text, and keeps that, below a line that says when it ran and what.
    fn text(&self, part: &str, command: &mut Command) -> Result<()> {
        let (_, when) = output(program("date", &["-u"]).arg("+%Y-%m-%d %H:%M UTC"))?;
        let (done, text) = output(command)?;
        print!("{text}");
        if !done {
            bail!("the part {part} failed");
        }
        Ok(std::fs::write(self.file(part), format!("{}, farcall {}\n{text}", when.trim(), commit()))?)
    }

    /// Times the programs of a family; the figures go to `out`.
    fn family(&self, family: &str, out: &Path) -> Result<Command> {
        let mut python = self.python("programs.py");
        python.arg(family).arg(out);
        if family == "corpus" {
            let shared = shared()
                .context("the corpus is in a folder `shared` beside the checkout, which is not there")?;
            python.arg("--manifest").arg(shared.join("corpus/cases/manifest.json"));
            python.arg("--load").arg(suites::corpus_handlers(&shared, &self.include)?);
        } else {
            python.arg("--cache").arg(target().join("bench/programs"));
        }
        Ok(python)
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
