//! Registry of a command: the libraries named on the command line, and the built-in targets of this program.

use anyhow::{Result, anyhow, bail};
use farcall::CodedError;
use farcall::lapack::LapackSource;
use farcall::registry::{LoadError, LoadOptions, LoadReport, Remedy, TargetSpec};
use farcall::{ErrorCode, Registry};

use crate::check_targets;
use crate::library::{LibraryArg, LoadArgs};

/// Creates the registry for `--load` and `--target`. `offered` lists targets to make from symbols, for
/// libraries that do not register targets themselves.
pub(crate) fn registry(args: &LoadArgs, offered: &[TargetSpec]) -> Result<Registry> {
    choose_lapack(args.linalg.as_ref())?;
    let registry = Registry::new();
    registry.register_ops(check_targets::OPS)?;
    let mut without_targets = Vec::new();
    for library in &args.load {
        match load(&registry, library, args.replace, &[]) {
            Ok(report) => {
                report.warnings.iter().for_each(|warning| anstream::eprintln!("warning: {warning}"))
            }
            Err(e) if e.code() == ErrorCode::NoTargets => without_targets.push((library, e)),
            Err(e) => return Err(refused(&e)),
        }
    }
    for spec in &args.target {
        let library = add_symbols(&registry, args, spec)?;
        without_targets.retain(|(other, _)| *other != library);
    }
    for (library, error) in without_targets {
        let mut found = false;
        for spec in offered {
            match load(&registry, library, args.replace, std::slice::from_ref(spec)) {
                Ok(_) => found = true,
                Err(e) if e.code() == ErrorCode::MissingSymbol => {}
                Err(e) => return Err(refused(&e)),
            }
        }
        if !found {
            return Err(refused(&error));
        }
    }
    Ok(registry)
}

/// Loads a library named on the command line, with `targets` made from its symbols.
///
/// # Errors
/// The errors of [`Registry::load_with`].
#[expect(unsafe_code, reason = "loading a library runs its code: the one unsafe call of the command")]
pub(crate) fn load(
    registry: &Registry,
    library: &LibraryArg,
    replace: bool,
    targets: &[TargetSpec],
) -> Result<LoadReport, LoadError> {
    let options = LoadOptions { targets: targets.to_vec(), namespace: library.namespace.clone(), replace };
    // SAFETY: `load_with` requires that the library and its symbols can be trusted. The user of the command
    // vouches for the library and symbols on the command line (see the help of `--load`).
    unsafe { registry.load_with(&library.path, &options) }
}

/// Opens the LAPACK library that `--linalg` or the environment variable names.
#[expect(unsafe_code, reason = "loading a library runs its code")]
fn choose_lapack(source: Option<&LapackSource>) -> Result<()> {
    match source {
        None => drop(farcall::lapack::path()?),
        Some(LapackSource::BuiltIn) => farcall::lapack::use_built_in(),
        Some(LapackSource::System(path)) => {
            // SAFETY: the user of the command vouches for the library (see the help of `--linalg`).
            unsafe { farcall::lapack::open(path.as_deref()) }?;
        }
    }
    Ok(())
}

/// Phrases a remedy in terms of the command line.
pub(crate) fn advice(remedy: &Remedy) -> String {
    match remedy {
        Remedy::LoadTarget(name) => format!(
            "load the library that has it: --load LIB; if the library does not register it, --load LIB --target \
             {name}=SYMBOL; see: farcall guide running-programs"
        ),
        Remedy::Divide => {
            "the program computes with the parts that several devices have of a tensor: --devices N; \
             see: farcall guide devices"
                .to_owned()
        }
        Remedy::NameSymbols => "name its handlers: --target NAME=SYMBOL".to_owned(),
        Remedy::NamespaceOrReplace => {
            "to have both, --load NAMESPACE=LIB; to replace the registered ones, --replace".to_owned()
        }
        other => other.to_string(),
    }
}

/// Converts a load error to a message with advice for the command line.
fn refused(error: &LoadError) -> anyhow::Error {
    anyhow!(error.describe(advice))
}

/// Adds a target made from symbols of the first library that has them.
fn add_symbols<'a>(registry: &Registry, args: &'a LoadArgs, spec: &TargetSpec) -> Result<&'a LibraryArg> {
    let mut missing = Vec::new();
    for library in &args.load {
        match load(registry, library, args.replace, std::slice::from_ref(spec)) {
            Ok(_) => return Ok(library),
            Err(e) if e.code() == ErrorCode::MissingSymbol => missing.push(e),
            Err(e) => return Err(refused(&e)),
        }
    }
    let errors: Vec<String> = missing.iter().map(ToString::to_string).collect();
    if errors.is_empty() {
        bail!("--target {spec} needs a library: --load LIB");
    }
    Err(anyhow!(errors.join("\n")))
}
