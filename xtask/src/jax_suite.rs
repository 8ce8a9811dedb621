//! `cargo xtask jax-suite`: takes programs from JAX's own tests, and runs each in XLA and in farcall.
//!
//! The Python code in `xtask/jax_suite` does the work in two phases. *capture* runs the tests and stores the
//! programs that they compile. *compare* runs these programs in farcall and compares the results; it can be
//! repeated alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::python::{Venv, release_package};
use crate::shell::{must, root, target};
use crate::test::JAX;

/// Command-line options.
#[derive(Default)]
struct Options {
    jax: Option<PathBuf>,
    compare_only: bool,
    /// Options that are passed on to the capture phase.
    capture: Vec<String>,
    files: Vec<String>,
}

pub(crate) fn run(args: &[&str]) -> Result<bool> {
    let options = parse(args)?;
    let version = JAX[0];
    let venv = Venv::with_jax_tests(version)?;
    let store = target().join("jax-suite");
    if let Some(jax) = &options.jax {
        check_version(jax, version)?;
        let mut capture = tool(&venv, &store, "capture");
        must(capture.arg("--jax").arg(jax).args(&options.capture).args(&options.files))?;
    }
    let package = release_package()?;
    let mut compare = tool(&venv, &store, "compare");
    compare.env("PYTHONPATH", package).args(options.files.iter().flat_map(|file| ["--file", file]));
    let status = compare.status().context("cannot start Python")?;
    Ok(status.success())
}

fn parse(args: &[&str]) -> Result<Options> {
    let mut options = Options::default();
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        match arg {
            "--jax" => {
                options.jax = Some(args.next().context("--jax needs the folder of a checkout")?.into())
            }
            "--compare" => options.compare_only = true,
            "--seconds" | "--rounds" => {
                let value = args.next().with_context(|| format!("{arg} needs a number"))?;
                value.parse::<u32>().with_context(|| format!("{arg} needs a number, not `{value}`"))?;
                options.capture.extend([arg.to_owned(), value.to_owned()]);
            }
            flag if flag.starts_with('-') => {
                bail!("jax-suite has no option `{flag}`; see `cargo xtask help`")
            }
            file => options.files.push(file.to_owned()),
        }
    }
    if options.jax.is_some() == options.compare_only {
        bail!(
            "JAX's tests are not in its wheel: name a checkout with --jax, or use --compare for the stored programs"
        );
    }
    Ok(options)
}

/// Returns the command for a phase of the tool.
fn tool(venv: &Venv, store: &Path, phase: &str) -> Command {
    let mut python = venv.python();
    python.current_dir(root()).env("PYTHONDONTWRITEBYTECODE", "1");
    python.arg("xtask/jax_suite").arg("--store").arg(store).arg(phase);
    python
}

/// Fails unless the checkout has the version whose tests can run in the installed JAX.
pub(crate) fn check_version(jax: &Path, installed: &str) -> Result<()> {
    if !jax.join("tests").is_dir() {
        bail!("{} is not a checkout of JAX: it has no folder `tests`", jax.display());
    }
    let Ok(text) = std::fs::read_to_string(jax.join("jax/version.py")) else {
        println!(
            "warning: {} has no jax/version.py; assuming that its tests belong to {installed}",
            jax.display()
        );
        return Ok(());
    };
    let found = text.lines().find_map(|line| line.strip_prefix("_version = ")).unwrap_or_default();
    let found = found.trim().trim_matches(['"', '\'']);
    if found != installed {
        bail!(
            "{} is a checkout of JAX {found}, but its tests would run in {installed}: check out the tag jax-v{installed}",
            jax.display()
        );
    }
    Ok(())
}
