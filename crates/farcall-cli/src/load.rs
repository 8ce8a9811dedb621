//! The registry of a command: the libraries named on the command line, and the built-in targets of this program.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use farcall::registry::{FrontEnd, LoadError, LoadReport, TargetSpec};
use farcall::{ErrorCode, Registry};

use crate::args::LoadArgs;
use crate::check_targets;

/// A registry with what `--load` and `--target` ask for. `offered` are targets made of symbols that are
/// tried for libraries that bring no targets of themselves.
pub(crate) fn registry(args: &LoadArgs, offered: &[TargetSpec]) -> Result<Registry> {
    let registry = Registry::new().for_front_end(FrontEnd::CommandLine);
    registry.register_ops(check_targets::OPS)?;
    let mut without_targets = Vec::new();
    for path in &args.load {
        match library(&registry, path, &[]) {
            Ok(report) => {
                report.warnings.iter().for_each(|warning| anstream::eprintln!("warning: {warning}"))
            }
            Err(e) if e.code() == ErrorCode::NoTargets => without_targets.push((path, e)),
            Err(e) => return Err(e.into()),
        }
    }
    for spec in &args.target {
        let path = add_symbols(&registry, &args.load, spec)?;
        without_targets.retain(|(p, _)| *p != path);
    }
    for (path, error) in without_targets {
        let mut found = false;
        for spec in offered {
            match library(&registry, path, std::slice::from_ref(spec)) {
                Ok(_) => found = true,
                Err(e) if e.code() == ErrorCode::MissingSymbol => {}
                Err(e) => return Err(e.into()),
            }
        }
        if !found {
            return Err(error.into());
        }
    }
    Ok(registry)
}

/// Loads a library that the command line names, with targets made of its symbols.
///
/// # Errors
/// As [`Registry::load_symbols`].
#[expect(unsafe_code, reason = "loading a library runs its code: the one unsafe call of the command")]
pub(crate) fn library(
    registry: &Registry,
    path: &Path,
    symbols: &[TargetSpec],
) -> Result<LoadReport, LoadError> {
    // SAFETY: whoever runs the command vouches for the libraries and symbols that the command line names.
    unsafe { registry.load_symbols(path, symbols) }
}

/// Adds a target made of symbols of the first library that has them.
fn add_symbols<'a>(
    registry: &Registry,
    libraries: &'a [std::path::PathBuf],
    spec: &TargetSpec,
) -> Result<&'a Path> {
    let mut missing = Vec::new();
    for path in libraries {
        match library(registry, path, std::slice::from_ref(spec)) {
            Ok(_) => return Ok(path),
            Err(e) if e.code() == ErrorCode::MissingSymbol => missing.push(e),
            Err(e) => return Err(e.into()),
        }
    }
    let errors: Vec<String> = missing.iter().map(ToString::to_string).collect();
    if errors.is_empty() {
        bail!("--target {spec} needs a library: --load LIB");
    }
    Err(anyhow!(errors.join("\n")))
}
