//! `cargo xtask bench`: farcall and jaxlib on the same programs, in turn, in one sitting.

use anyhow::Result;

use crate::python::Venv;
use crate::shell::{cargo, must, root, shared, target};
use crate::suites;

pub(crate) fn run() -> Result<bool> {
    let venv = Venv::with_jax(crate::test::JAX[0])?;
    must(&mut cargo(&["build", "--release", "--package", "farcall-cli", "--package", "rms-norm-ops"]))?;
    let farcall = target().join("release/farcall");
    let script = root().join("xtask/bench/peer.py");
    let bench = |manifest: std::path::PathBuf, library: std::path::PathBuf| {
        let mut python = venv.python();
        python.current_dir(root()).arg(&script).arg(&farcall).arg(manifest).arg("--load").arg(library);
        must(&mut python)
    };
    match shared() {
        Some(shared) => {
            let library = suites::corpus_handlers(&shared, &venv.include()?)?;
            bench(shared.join("corpus/cases/manifest.json"), library)?;
        }
        None => {
            println!("no folder `shared` beside the checkout: the demo's program is all there is to time");
            bench(root().join("demo/manifest.json"), target().join("release/librms_norm_ops.so"))?;
        }
    }
    Ok(true)
}
