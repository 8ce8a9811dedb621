//! `cargo xtask demo`: the main use case, on a fresh machine.
//!
//! Needs only Rust and a linker: no Python, and no network except for crates.

use std::process::Command;

use anyhow::Result;

use crate::shell::{cargo, must, program, root, show, target};

const CASE: &str = "demo/transformer_block";

pub(crate) fn run() -> Result<bool> {
    step("Building the farcall program and a library of one Rust kernel");
    must(&mut cargo(&["build", "--release", "--package", "farcall-cli", "--package", "rms-norm-ops"]))?;
    let release = target().join("release");
    let farcall = release.join("farcall");
    let library = release.join("librms_norm_ops.so");
    let library = library.strip_prefix(root()).unwrap_or(&library).to_string_lossy().into_owned();
    let model = format!("{CASE}/program.mlir");

    step("The program's inputs, results and custom calls");
    must(shown(&mut program(&farcall, &["inspect", &model, "--load", &library])))?;

    step("Running it on the inputs that JAX was given");
    let mut run = program(&farcall, &["run", &model, "--load", &library, "--stats", "--repeat", "100"]);
    for i in 0..8 {
        run.arg("--input").arg(format!("{CASE}/in{i}.npy"));
    }
    must(shown(&mut run))?;

    step("Comparing with what JAX computed");
    must(shown(&mut program(&farcall, &["test", "demo/manifest.json", "--load", &library])))?;
    Ok(true)
}

fn step(what: &str) {
    println!("\n## {what}\n");
}

fn shown(command: &mut Command) -> &mut Command {
    println!("$ {}", show(command));
    command
}
