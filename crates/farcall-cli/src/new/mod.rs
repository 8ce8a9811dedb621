//! `farcall new`: creates a library of ops to start from.
//!
//! The crate is written next to its destination and moved there once it is complete, so an incomplete crate
//! is never left behind. Its files come from the folder `template`, with the names replaced.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use crate::args::NewArgs;
use crate::terminal::{self, BOLD, DIM, GREEN, styled};

mod names;
mod template;

use names::Names;
use template::Farcall;

/// Creates a crate and prints the next steps.
pub(crate) fn new(args: &NewArgs) -> Result<()> {
    let path = &args.path;
    let Some(name) = path.file_name() else { bail!("{} does not name a folder to create", path.display()) };
    let name = name.to_str().with_context(|| format!("{} cannot be a crate's name", path.display()))?;
    let names = Names::new(name, args.op.as_deref())?;
    let farcall = Farcall::find(args.farcall.as_deref())?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    ensure!(
        path.symlink_metadata().is_err(),
        "{} exists already; farcall new does not change existing folders",
        path.display()
    );
    ensure!(parent.is_dir(), "there is no folder {} to make {name} in", parent.display());
    let files = template::files(&names, &farcall, args.cuda, enclosing_workspace(parent).is_some());
    write(path, parent, &files)?;
    let next = next_steps(path, &names, &farcall, args.cuda);
    let mut out = terminal::stdout();
    if args.json {
        let steps: Vec<&str> = next.iter().map(|(command, _)| command.as_str()).collect();
        let value = json!({
            "path": path, "crate": names.krate, "op": names.op, "library": names.library(),
            "source": path.join("src/lib.rs"), "next": steps, "cuda": args.cuda,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        return Ok(());
    }
    let made = format!("{}/", path.display());
    writeln!(out, "Made {} with the op {}.", styled(GREEN, made), styled(BOLD, &names.op))?;
    if let Some(given) = args.op.as_deref().filter(|given| *given != names.op) {
        writeln!(out, "`{given}` is `{}` in Rust and Python.", names.op)?;
    }
    writeln!(
        out,
        "Its kernel is a swish, x * sigmoid(beta * x) * scale. Replace it in {}: the function {}, its \
         signature, its gradient and the tests. Then adapt example.py and README.md, which call it.",
        styled(BOLD, path.join("src/lib.rs").display()),
        names.op
    )?;
    if args.cuda {
        let [handlers, kernels] = ["src/cuda.rs", "src/kernels.cu"].map(|file| path.join(file));
        writeln!(
            out,
            "For CUDA, its handlers are in {}, and their kernels in {}.",
            styled(BOLD, handlers.display()),
            styled(BOLD, kernels.display())
        )?;
    }
    writeln!(out, "\nNext:\n")?;
    for (command, what) in &next {
        match what.is_empty() {
            true => writeln!(out, "  {command}")?,
            false => writeln!(out, "  {command:24}  {}", styled(DIM, format!("# {what}")))?,
        }
    }
    Ok(())
}

/// Writes the files into a temporary folder beside `path`, then renames the folder to `path`.
fn write(path: &Path, parent: &Path, files: &BTreeMap<&'static str, String>) -> Result<()> {
    let attempt = || -> Result<()> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".farcall-new-");
        // Temporary folders are private to their owner, but a crate needs the usual permissions.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let folder = builder.tempdir_in(parent)?;
        for (name, text) in files {
            let file = folder.path().join(name);
            file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(file, text)?;
        }
        match std::fs::rename(folder.path(), path) {
            Ok(()) => {
                // The folder was renamed, so the destructor must not remove the old path.
                let _moved = folder.keep();
                Ok(())
            }
            // Another process created the folder first.
            Err(e) if [ErrorKind::DirectoryNotEmpty, ErrorKind::NotADirectory].contains(&e.kind()) => {
                bail!("it exists already")
            }
            Err(e) => Err(e.into()),
        }
    };
    attempt().with_context(|| format!("cannot make {}", path.display()))
}

/// Returns the manifest of the workspace that would claim a crate in this folder as a member.
fn enclosing_workspace(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    folder.ancestors().map(|f| f.join("Cargo.toml")).find(|manifest| {
        std::fs::read_to_string(manifest)
            .is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with("[workspace")))
    })
}

/// Returns commands to paste, each with a description. `cuda` adds the commands for a machine with a GPU.
fn next_steps(path: &Path, names: &Names, farcall: &Farcall, cuda: bool) -> Vec<(String, &'static str)> {
    let quoted = |path: &Path| terminal::quoted(&path.display().to_string());
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let library = quoted(&target.join("release").join(names.library()));
    let program = program();
    let package = farcall.checkout().map_or_else(|| "farcall".to_owned(), |c| c.display().to_string());
    let package = terminal::quoted(&format!("{package}[jax]"));
    let on_gpu = [
        ("pip install 'jax[cuda13]'".to_owned(), "on a machine with a GPU"),
        ("python example.py".to_owned(), "JAX on the GPU"),
    ];
    let steps = [
        (format!("cd {}", quoted(path)), ""),
        ("cargo test".to_owned(), "values and gradient"),
        ("cargo build --release".to_owned(), ""),
        (format!("{program} op {library} {}", names.op), ""),
        (format!("{program} op {library} {} -i 'rand:f32[2,4]' -i ones", names.op), ""),
        (format!("{program} op {library} --check"), "what its signatures promise"),
        (format!("pip install {package}"), ""),
        ("python example.py".to_owned(), "NumPy and JAX"),
    ];
    steps.into_iter().chain(on_gpu.into_iter().filter(|_| cuda)).collect()
}

/// Returns the command for this program: its name if a shell finds it, else its path.
fn program() -> String {
    let Ok(this) = std::env::current_exe().and_then(|p| p.canonicalize()) else {
        return "farcall".to_owned();
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path).map(|folder| folder.join("farcall")).find(|p| p.is_file());
    match first.and_then(|p| p.canonicalize().ok()) {
        Some(found) if found == this => "farcall".to_owned(),
        _ => terminal::quoted(&this.display().to_string()),
    }
}
