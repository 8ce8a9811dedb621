//! `cargo xtask jax-shardings`: runs random programs with shardings on 8 devices of XLA:CPU and of farcall.
//!
//! A test of the crate `farcall` writes the programs. The Python code in `xtask/jax_shardings` runs them.

use anyhow::{Context, Result, bail};

use crate::python::{Venv, release_package};
use crate::shell::{cargo, must, root, target};
use crate::test::JAX;

pub(crate) fn run(args: &[&str]) -> Result<bool> {
    let mut programs = "1000";
    let mut seed = "1";
    let mut package = None;
    let mut options = args.iter();
    while let Some(option) = options.next() {
        let value = options.next().with_context(|| format!("{option} needs a value"))?;
        match *option {
            "--programs" => programs = value,
            "--seed" => seed = value,
            "--package" => package = Some(root().join(value)),
            _ => bail!("jax-shardings has no option `{option}`; see `cargo xtask help`"),
        }
    }
    let folder = target().join("jax-shardings");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let mut write = cargo(&["test", "--package", "farcall", "--test", "fuzz", "--", "--ignored"]);
    write.arg("write_programs_for_jaxlib").env("FARCALL_FUZZ_WRITE", &folder);
    must(write.env("FARCALL_FUZZ_SEED", seed).env("FARCALL_FUZZ_ITERATIONS", programs))?;
    let package = package.map_or_else(release_package, Ok)?;
    let mut python = Venv::with_jax_tests(JAX[0])?.python();
    python.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONPATH", package).current_dir(root());
    python.arg("xtask/jax_shardings").arg(folder);
    Ok(python.status().context("cannot start Python")?.success())
}
