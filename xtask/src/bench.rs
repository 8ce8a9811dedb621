//! `cargo xtask bench`: farcall and jaxlib on the same programs, in turn, in one sitting.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::python::{self, Venv};
use crate::shell::{cargo, must, program, root, shared, target};
use crate::suites;

/// Runs all benchmarks. With a bar, handlers written in Python that cost more than it are an error.
pub(crate) fn run(has_bar: bool) -> Result<bool> {
    let venv = Venv::with_jax(crate::test::JAX[0])?;
    let include = venv.include()?;
    must(&mut cargo(&["build", "--release", "--package", "farcall-cli", "--package", "rms-norm-ops"]))?;

    println!("\n## Decoding a call frame: farcall-ffi and ffi.h on the same frames");
    let mut decode = cargo(&["bench", "--quiet", "--package", "farcall-ffi", "--bench", "decode"]);
    must(decode.env("FARCALL_XLA_INCLUDE", &include))?;

    println!("\n## Calls");
    script(&venv, "calls.py", &[&noop(&include)?])?;

    println!("\n## Handlers written in Python");
    let package = python::release_package()?;
    let mut handlers = venv.python();
    handlers.env("PYTHONPATH", package).arg(root().join("xtask/bench/handlers.py"));
    must(handlers.args(has_bar.then_some("--bar")))?;

    println!("\n## Programs");
    match shared() {
        Some(shared) => {
            let library = suites::corpus_handlers(&shared, &include)?;
            script(
                &venv,
                "peer.py",
                &[&shared.join("corpus/cases/manifest.json"), "--load".as_ref(), &library],
            )?;
        }
        None => {
            println!("no folder `shared` beside the checkout: the demo's program is all there is to time");
            let library = target().join("release/librms_norm_ops.so");
            script(&venv, "peer.py", &[&root().join("demo/manifest.json"), "--load".as_ref(), &library])?;
        }
    }
    Ok(true)
}

/// Runs a script of `xtask/bench` with the path of the program `farcall` and arguments.
fn script(venv: &Venv, name: &str, args: &[&Path]) -> Result<()> {
    let mut python = venv.python();
    python.current_dir(root()).arg(root().join("xtask/bench").join(name));
    must(python.arg(target().join("release/farcall")).args(args))
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
