//! `cargo xtask jax-users`: runs programs that use JAX's libraries on XLA:CPU and on farcall as a backend of
//! JAX, and compares their numbers and times.
//!
//! The Python package in `xtask/jax_users` does the work and parses the options. This module provides its
//! environment: JAX with these libraries, and farcall's package.

use anyhow::{Context, Result};

use crate::jax_tests::value;
use crate::python::{Venv, release_package, release_package_folder};
use crate::shell::root;
use crate::test::JAX;

pub(crate) fn run(args: &[&str]) -> Result<bool> {
    let venv = Venv::with_jax_users(JAX[0])?;
    if value(args, "--package").is_none() {
        release_package()?;
    }
    let mut python = venv.python();
    // Options in `args` come last and override this default.
    python.args(["-m", "jax_users", "--package"]).arg(release_package_folder()).args(args);
    python.env("PYTHONPATH", root().join("xtask")).env("PYTHONDONTWRITEBYTECODE", "1");
    let status = python.status().context("cannot start Python")?;
    Ok(status.success())
}
