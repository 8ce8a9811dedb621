//! `cargo xtask hlo-texts`: runs the HLO texts of XLA's tests in jaxlib and in farcall.
//!
//! The Python code in `xtask/hlo_texts` does the work in two phases. *reference* extracts the texts and runs
//! them in jaxlib. *compare* runs them in farcall and compares the results; it can be repeated alone.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::python::{Venv, release_package};
use crate::shell::{must, root, target};
use crate::test::JAX;

pub(crate) fn run(args: &[&str]) -> Result<bool> {
    let (checkout, names): (Option<&Path>, &[&str]) = match args {
        ["--xla", checkout] => (Some(Path::new(checkout)), &[]),
        ["--compare", names @ ..] => (None, names),
        _ => bail!(
            "XLA's tests are not in jaxlib's wheel: name a checkout with --xla, or use --compare for the stored results"
        ),
    };
    let venv = Venv::with_jax_tests(JAX[0])?;
    let store = target().join("hlo-texts");
    if let Some(checkout) = checkout {
        if !checkout.is_dir() {
            bail!("{} is not a folder", checkout.display());
        }
        must(tool(&venv, &store, "reference").arg("--xla").arg(checkout))?;
    }
    let package = release_package()?;
    let mut compare = tool(&venv, &store, "compare");
    let status = compare.env("PYTHONPATH", package).args(names).status().context("cannot start Python")?;
    Ok(status.success())
}

/// Returns the command for a phase of the tool.
fn tool(venv: &Venv, store: &Path, phase: &str) -> Command {
    let mut python = venv.python();
    python.current_dir(root()).env("PYTHONDONTWRITEBYTECODE", "1");
    python.arg("xtask/hlo_texts").arg("--store").arg(store).arg(phase);
    python
}
