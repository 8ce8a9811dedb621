//! `cargo xtask bench`: times farcall and jaxlib on the same programs, alternating in one session.
//!
//! The benchmark has parts that can run separately. Their results are kept under `target/bench`, as JSON or
//! as the printed text. `docs/benchmarks.md` is generated from all results that exist; machines without
//! AVX-512 have a separate page beside it.

mod report;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::python::{self, Venv};
use crate::shell::{cargo, must, output, program, root, shared, target};
use crate::suites;

/// Parts that print text.
const TEXTS: [&str; 4] = ["decode", "calls", "kernels", "handlers"];

/// Families of programs: the corpus of the folder `shared`, then the families of `xtask/bench/shapes.py`.
const FAMILIES: [&str; 9] =
    ["corpus", "elementwise", "products", "indexing", "sorting", "random", "convolutions", "loops", "models"];

/// Runs the named parts, or all parts. With `--bar` in `args`, it is an error if a call of a handler written
/// in Python costs more than the limit. With `--filter TEXT`, only programs whose names contain the text run,
/// and the results are not kept.
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
        bail!("unknown part `{unknown}`; the parts are {}", all().collect::<Vec<_>>().join(", "));
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
    // A page in `docs` has the results of all parts, so a page without some parts must not replace it.
    let folder = if missing.is_empty() { root().join("docs") } else { target().join("bench") };
    let path = folder.join(name);
    std::fs::write(&path, page)?;
    println!("\nwrote {}", path.display());
    if !missing.is_empty() {
        println!("the page is written to docs once these parts have run as well: {}", missing.join(", "));
    }
    Ok(true)
}

/// Runs a script of `xtask/bench` that compares farcall with other implementations, and writes its tables to
/// `target/bench`.
pub(crate) fn script(part: &str, options: &[&str]) -> Result<bool> {
    let bench = Bench::new(false)?;
    let mut python = bench.python(&format!("{part}.py"));
    // These variables of OpenBLAS choose kernels for another processor.
    python.env_remove("OPENBLAS_CORETYPE").env_remove("OPENBLAS_L2_SIZE");
    must(python.arg(target().join("bench")).args(options))?;
    Ok(true)
}

struct Bench {
    venv: Venv,
    include: PathBuf,
    /// The release build of the package `farcall`, as users have it.
    package: PathBuf,
    /// Folder for the results of the parts.
    results: PathBuf,
    /// True if it is an error when a call of a handler written in Python costs more than the limit.
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
                println!("left out: the folder `shared` beside the checkout is missing");
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

    /// Returns true if the part has results from this or an earlier run.
    fn has(&self, part: &str) -> bool {
        self.file(part).exists()
    }

    /// Returns the file with the results of a part.
    fn file(&self, part: &str) -> PathBuf {
        let kind = if TEXTS.contains(&part) { "txt" } else { "json" };
        self.results.join(format!("{part}.{kind}"))
    }

    /// Runs a part that prints text, and stores the text below a line with the time and the commit.
    fn text(&self, part: &str, command: &mut Command) -> Result<()> {
        let (_, when) = output(program("date", &["-u"]).arg("+%Y-%m-%d %H:%M UTC"))?;
        let (done, text) = output(command)?;
        print!("{text}");
        if !done {
            bail!("the part {part} failed");
        }
        Ok(std::fs::write(self.file(part), format!("{}, farcall {}\n{text}", when.trim(), commit()))?)
    }

    /// Returns the command that times the programs of a family and writes the results to `out`.
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

    /// Returns the command for a script of `xtask/bench`.
    fn python(&self, script: &str) -> Command {
        let mut python = self.venv.script(script, &self.package);
        python.env("FARCALL_COMMIT", commit());
        python
    }
}

/// Returns the current commit if it is known, with `-dirty` if there are changes outside of the generated
/// pages.
fn commit() -> String {
    let described = output(&mut program("git", &["describe", "--always"]));
    let commit = described.map(|(_, text)| text.trim().to_owned()).unwrap_or_default();
    let changed = program("git", &["diff", "--quiet", "HEAD", "--", ".", ":!docs"]).status();
    if changed.is_ok_and(|status| status.code() == Some(1)) { format!("{commit}-dirty") } else { commit }
}

/// Builds the library with the handler that does nothing. Returns its path.
fn noop(include: &Path) -> Result<PathBuf> {
    let dir = target().join("cc");
    std::fs::create_dir_all(&dir)?;
    let library = dir.join("libnoop.so");
    let mut cc = program("cc", &["-O2", "-shared", "-fPIC", "xtask/bench/noop.c"]);
    must(cc.arg("-I").arg(include).arg("-o").arg(&library))?;
    Ok(library)
}
