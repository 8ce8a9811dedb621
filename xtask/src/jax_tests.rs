//! `cargo xtask jax-tests`: runs JAX's own test files on XLA:CPU and on farcall as a backend of JAX, and
//! compares the results.
//!
//! The Python package in `xtask/jax_tests` does the work and parses the options. This module provides its
//! environment: JAX with the packages that its tests import, and farcall's package.

use std::path::Path;

use anyhow::{Context, Result};

use crate::jax_suite::check_version;
use crate::python::{Venv, release_package, release_package_folder};
use crate::shell::{root, target};
use crate::test::JAX;

pub(crate) fn run(args: &[&str]) -> Result<bool> {
    let version = JAX[0];
    let venv = Venv::with_jax_tests(version)?;
    let mut python = venv.python();
    python.args(["-m", "jax_tests", "--store"]).arg(target().join("jax-tests"));
    if let Some(checkout) = value(args, "--jax") {
        check_version(Path::new(checkout), version)?;
        if value(args, "--package").is_none() && !args.contains(&"--reference-only") {
            release_package()?;
        }
    }
    // Options in `args` come last and override these defaults.
    python.arg("--package").arg(release_package_folder()).args(args);
    python.env("PYTHONPATH", root().join("xtask")).env("PYTHONDONTWRITEBYTECODE", "1");
    let status = python.status().context("cannot start Python")?;
    Ok(status.success())
}

/// Returns the value of an option, written as `--option VALUE` or `--option=VALUE`.
pub(crate) fn value<'a>(args: &[&'a str], option: &str) -> Option<&'a str> {
    let joined = args.iter().find_map(|arg| arg.strip_prefix(option)?.strip_prefix('='));
    let at = args.iter().position(|arg| *arg == option);
    joined.or_else(|| args.get(at? + 1).copied())
}
