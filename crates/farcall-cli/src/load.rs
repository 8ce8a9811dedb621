//! Registry of a command: the libraries named on the command line, and the built-in targets of this program.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};
use farcall::registry::{LoadError, LoadOptions, LoadReport, Remedy, TargetSpec};
use farcall::sig::namespace::is_namespace;
use farcall::{ErrorCode, Registry};

use crate::args::LoadArgs;
use crate::check_targets;

/// A library on the command line: `LIB` or `NAMESPACE=LIB`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LibraryArg {
    pub(crate) namespace: Option<String>,
    pub(crate) path: PathBuf,
}

impl LibraryArg {
    pub(crate) fn parser() -> impl TypedValueParser<Value = LibraryArg> {
        OsStringValueParser::new().map(LibraryArg::from)
    }

    /// Returns the argument as written.
    pub(crate) fn as_arg(&self) -> OsString {
        let path = self.path.as_os_str();
        self.namespace.as_ref().map_or_else(
            || path.to_owned(),
            |namespace| [format!("{namespace}=").as_ref(), path].into_iter().collect(),
        )
    }
}

impl From<OsString> for LibraryArg {
    /// A file name that contains `=` must be written with its folder: `./a=b.so`.
    fn from(text: OsString) -> LibraryArg {
        let (namespace, path) = match text.to_str().and_then(|text| text.split_once('=')) {
            Some((namespace, path)) if is_namespace(namespace) => (Some(namespace.to_owned()), path.into()),
            _ => (None, text.into()),
        };
        LibraryArg { namespace, path }
    }
}

/// Creates the registry for `--load` and `--target`. `offered` lists targets to make from symbols, for
/// libraries that do not register targets themselves.
pub(crate) fn registry(args: &LoadArgs, offered: &[TargetSpec]) -> Result<Registry> {
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

/// Phrases a remedy in terms of the command line.
pub(crate) fn advice(remedy: &Remedy) -> String {
    match remedy {
        Remedy::LoadTarget(name) => format!(
            "load the library that has it: --load LIB; if it does not register itself, --load LIB --target \
             {name}=SYMBOL; see: farcall guide running-programs"
        ),
        Remedy::NameSymbols => "name its handlers: --target NAME=SYMBOL".to_owned(),
        Remedy::NamespaceOrReplace => {
            "to have both, --load NAMESPACE=LIB; to replace the registered ones, --replace".to_owned()
        }
        other => other.to_string(),
    }
}

/// Converts an error of loading a library.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_may_have_a_namespace() {
        let read = |text: &str| {
            let argument = LibraryArg::from(OsString::from(text));
            assert_eq!(argument.as_arg(), text);
            let LibraryArg { namespace, path } = argument;
            (namespace.unwrap_or_default(), path.display().to_string())
        };
        assert_eq!(read("libnorm.so"), ("".into(), "libnorm.so".into()));
        assert_eq!(read("acme.v2=/ops/lib=norm.so"), ("acme.v2".into(), "/ops/lib=norm.so".into()));
        assert_eq!(read("./a=b.so"), ("".into(), "./a=b.so".into()));
    }
}
