//! The registry of a command: the libraries named on the command line, and the built-in targets of this program.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use farcall::registry::{FrontEnd, TargetSpec};
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
        match registry.load(path) {
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
            match registry.load_symbols(path, std::slice::from_ref(spec)) {
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

/// Adds a target made of symbols of the first library that has them.
fn add_symbols<'a>(
    registry: &Registry,
    libraries: &'a [std::path::PathBuf],
    spec: &TargetSpec,
) -> Result<&'a Path> {
    let mut missing = Vec::new();
    for path in libraries {
        match registry.load_symbols(path, std::slice::from_ref(spec)) {
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
