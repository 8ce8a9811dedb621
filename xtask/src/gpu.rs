//! `cargo xtask gpu`: the checks of the ops for CUDA on a machine with a GPU.
//!
//! The checks are scripts in `xtask/gpu`. [`run`] packs them into a folder with everything that they need and
//! that only a machine with Rust can build: the Python package, the library of ops, and a library with
//! mistakes to find. The folder's program `run` needs Python, JAX with its CUDA plugin, and CUDA's tools.
//!
//! [`test()`] packs a debug build and runs the checks on JAX's CPU backend, so that mistakes in the checks
//! are found on a machine without a GPU.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use object::{Object, ObjectSection};
use serde_json::{Value, json};

use crate::python::{self, Venv};
use crate::shell::{cargo, must, output, outputs, program, root, target};

/// Maximum size of the folder in bytes, if it is a release build.
const MAX_BYTES: u64 = 60 << 20;

/// The engine as a PJRT plugin.
const OWN_PLUGIN: &str = "libfarcall_pjrt.so";

/// Packs the checks into `DIR` (`--pack DIR`), or without arguments into `target/gpu`, where the checks then
/// run. Returns true if all checks passed.
pub(crate) fn run(args: &[&str]) -> Result<bool> {
    match args {
        ["--pack", folder] => {
            let folder = std::path::absolute(folder)?;
            pack(&folder, "release")?;
            println!("on a machine with a GPU: {}", folder.join("run").display());
            Ok(true)
        }
        [] => {
            let folder = target().join("gpu");
            pack(&folder, "release")?;
            // If this machine cannot run the checks, the program names the missing parts.
            Ok(Command::new(python::find_python()?).arg(folder.join("run")).status()?.success())
        }
        other => bail!("unknown arguments `{}`: expected none, or `--pack DIR`", other.join(" ")),
    }
}

/// Runs the checks on JAX's CPU backend, with the debug build. Returns the numbers of passed checks, and the
/// failed checks.
pub(crate) fn test(venv: &Venv) -> Result<(u64, Vec<String>)> {
    let folder = target().join("gpu-test");
    pack(&folder, "debug")?;
    let run = |args: &[&str]| {
        let mut run = venv.python();
        run.arg(folder.join("run")).args(args);
        run
    };
    let (ok, list) = output(&mut run(&["--list"]))?;
    if !ok || !list.contains("op-rms_norm") {
        bail!("`run --list` does not list the ops:\n{list}");
    }
    let (_, text, errors) = outputs(&mut run(&["--platform", "cpu"]))?;
    let results = fs::read(folder.join("results.json")).with_context(|| format!("{text}{errors}"))?;
    let page = fs::read_to_string(folder.join("results.md"))?;
    let results: Value = serde_json::from_slice(&results)?;
    let checks = results["checks"].as_array().context("the results have no checks")?;
    let entries = || checks.iter().flat_map(|check| check["results"].as_array().into_iter().flatten());
    let outcome = |entry: &Value, wanted: &str| entry["outcome"].as_str() == Some(wanted);
    let named = |entry: &Value| {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", text("name"), text("reason"))
    };
    let passed = entries().filter(|entry| outcome(entry, "PASS")).count() as u64;
    let mut failed: Vec<String> = entries().filter(|entry| outcome(entry, "FAIL")).map(named).collect();
    if checks.len() != list.lines().count() {
        failed.push(format!("{} of {} listed checks ran", checks.len(), list.lines().count()));
    }
    let summary = text.lines().last().unwrap_or_default();
    if !page.contains(summary) {
        failed.push(format!("the page results.md lacks the summary `{summary}`"));
    }
    Ok((passed, failed))
}

/// Builds everything for the checks, and writes it to a folder.
fn pack(folder: &Path, profile: &str) -> Result<()> {
    let package = build(profile)?;
    // Results of an earlier build must not be taken for results of this one.
    if folder.exists() {
        if fs::read_dir(folder)?.next().is_some() && !folder.join("pack.json").exists() {
            bail!("{} is not empty, and not a folder of an earlier run", folder.display());
        }
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let scripts = root().join("xtask/gpu");
    for (name, source) in
        [("checks", scripts.join("checks")), ("twins", scripts.join("twins")), ("python", package)]
    {
        fs::create_dir(folder.join(name))?;
        python::copy_files(&source, &folder.join(name))?;
    }
    let built = target().join(profile);
    let probe = root().join("crates/farcall-cuda/examples/gpu_probe.ptx");
    for file in
        [built.join("farcall"), built.join("libcuda_ops.so"), built.join("examples/libgpu_probe.so"), probe]
    {
        let name = file.file_name().context("a library has a name")?;
        fs::copy(&file, folder.join(name)).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    // Debug builds run on this machine only, where `cargo test` runs the tests of the handlers. On the CPU,
    // programs run on farcall's own plugin. The plugin is large, so it is linked instead of copied.
    match profile {
        "release" => _ = fs::copy(handler_tests()?, folder.join("handler_tests"))?,
        _ => std::os::unix::fs::symlink(built.join(OWN_PLUGIN), folder.join(OWN_PLUGIN))?,
    }
    let run = folder.join("run");
    fs::copy(scripts.join("run.py"), &run)?;
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755))?;
    let glibc = newest_glibc(&compiled_files(folder)?)?;
    let about = json!({
        "version": version()?,
        "commit": commit()?,
        "profile": profile,
        "machine": std::env::consts::ARCH,
        "glibc": glibc,
        "kernels": kernels()?,
    });
    fs::write(folder.join("pack.json"), serde_json::to_string_pretty(&about)?)?;
    if profile == "release" {
        compress(folder)?;
    }
    let bytes = size(folder)?;
    let shown = format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    println!("packed {}: {shown}; needs glibc {glibc} or later, and Python 3.11 or later", folder.display());
    if profile == "release" && bytes > MAX_BYTES {
        bail!("the folder has {shown}; the limit is {} MiB", MAX_BYTES >> 20);
    }
    Ok(())
}

/// Builds the libraries that the checks load, and returns the folder of the Python package.
fn build(profile: &str) -> Result<PathBuf> {
    const PROBE: [&str; 2] = ["--example", "gpu_probe"];
    if profile == "release" {
        let package = python::release_package()?;
        must(&mut cargo(&["build", "--quiet", "--release", "--package", "cuda-ops"]))?;
        must(&mut cargo(&["build", "--quiet", "--release", "--package", "farcall-cli"]))?;
        must(cargo(&["build", "--quiet", "--release", "--package", "farcall-cuda"]).args(PROBE))?;
        return Ok(package);
    }
    // These are the builds of `cargo xtask test`, so nothing is compiled twice.
    let package = python::package()?;
    must(cargo(&["build", "--quiet", "--workspace"]).args(PROBE))?;
    Ok(package)
}

/// Returns the version of the workspace's crates.
fn version() -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(version.context("the workspace has a version")?.trim_matches('"').to_owned())
}

/// Returns the current commit, with `-dirty` if there are changes.
fn commit() -> Result<String> {
    Ok(output(&mut program("git", &["describe", "--always", "--dirty"]))?.1.trim().to_owned())
}

/// Builds the tests of the handlers, and returns the path of the program.
fn handler_tests() -> Result<PathBuf> {
    let tests = ["test", "--quiet", "--release", "--package", "cuda-ops", "--lib", "--no-run"];
    let (ok, text) = output(cargo(&tests).arg("--message-format=json-render-diagnostics"))?;
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut ours = messages.filter(|message| message["target"]["name"].as_str() == Some("cuda_ops"));
    // The library itself has a message, too, without a program.
    let program = ours.find_map(|message| message["executable"].as_str().map(PathBuf::from));
    program.filter(|_| ok).context("the tests of the handlers cannot be built")
}

/// Returns the names of the kernels of the ops.
fn kernels() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for file in fs::read_dir(root().join("examples/cuda/kernels"))? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let text = fs::read_to_string(path)?;
            let entries = text.lines().filter_map(|line| line.split_once(".entry "));
            names.extend(entries.filter_map(|(_, name)| name.split(['(', ' ']).next()).map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

/// Compresses the programs and libraries below a folder. The program `run` decompresses them.
fn compress(folder: &Path) -> Result<()> {
    for path in compiled_files(folder)? {
        let mut compressed = path.clone().into_os_string();
        compressed.push(".gz");
        let mut out = GzEncoder::new(fs::File::create(&compressed)?, Compression::default());
        io::copy(&mut fs::File::open(&path)?, &mut out)?;
        out.finish()?;
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Returns the total size of the files below a folder in bytes.
fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { size(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

/// Returns the compiled files in the folder and in its Python package.
fn compiled_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in [folder.to_owned(), folder.join("python/farcall")] {
        for entry in fs::read_dir(folder)? {
            found.push(entry?.path());
        }
    }
    let is_program = |path: &PathBuf| path.ends_with("handler_tests") || path.ends_with("farcall");
    found.retain(|path| path.extension().is_some_and(|e| e == "so") || is_program(path));
    Ok(found)
}

/// Returns the newest version of glibc whose symbols the libraries import: the oldest version that they run
/// on.
fn newest_glibc(libraries: &[PathBuf]) -> Result<String> {
    let mut newest = vec![2, 0];
    for path in libraries {
        let bytes = fs::read(path)?;
        let object = object::File::parse(&*bytes).with_context(|| format!("{}", path.display()))?;
        let names =
            object.section_by_name(".dynstr").context("a shared library has a section .dynstr")?.data()?;
        for name in names.split(|byte| *byte == 0) {
            let version = str::from_utf8(name).ok().and_then(|name| name.strip_prefix("GLIBC_"));
            let numbers = version.map(|version| version.split('.').map(str::parse).collect());
            if let Some(Ok(numbers)) = numbers {
                newest = newest.max(numbers);
            }
        }
    }
    Ok(newest.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
}
