//! Running commands, and the folders that tasks work in.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Returns the root of the checkout.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask lies in the workspace").to_path_buf()
}

/// Returns Cargo's target folder.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the folder `shared` beside the checkout, if it exists.
pub(crate) fn shared() -> Option<PathBuf> {
    let path = root().parent()?.join("shared");
    path.is_dir().then_some(path)
}

/// Returns the command `cargo` with arguments, in the root.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(args);
    command
}

/// Returns the command for any program, in the root.
pub(crate) fn program(name: impl AsRef<Path>, args: &[&str]) -> Command {
    let mut command = Command::new(name.as_ref());
    command.current_dir(root()).args(args);
    command
}

/// Runs a command and fails unless it succeeds.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status = command.status().with_context(|| format!("cannot start {shown}"))?;
    if !status.success() {
        bail!("{shown} failed ({status})");
    }
    Ok(())
}

/// Runs a command. Returns true if it succeeded, and its standard output. Its standard error is passed
/// through.
pub(crate) fn output(command: &mut Command) -> Result<(bool, String)> {
    let (ok, text, _) = outputs(command.stderr(Stdio::inherit()))?;
    Ok((ok, text))
}

/// Runs a command. Returns true if it succeeded, its standard output, and its standard error unless that is
/// redirected.
pub(crate) fn outputs(command: &mut Command) -> Result<(bool, String, String)> {
    let shown = show(command);
    let out = command.output().with_context(|| format!("cannot start {shown}"))?;
    let [text, errors] = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((out.status.success(), text, errors))
}

/// Formats a command line as a person would type it.
pub(crate) fn show(command: &Command) -> String {
    let root = root();
    let short = |word: &std::ffi::OsStr| {
        let path = Path::new(word);
        path.strip_prefix(&root).unwrap_or(path).to_string_lossy().into_owned()
    };
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name.to_string_lossy().into_owned()).chain(command.get_args().map(short));
    words.collect::<Vec<_>>().join(" ")
}
