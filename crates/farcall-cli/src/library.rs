//! Libraries on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use farcall::lapack::LapackSource;
use farcall::sig::namespace::is_namespace;

/// Libraries that contain targets.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct LoadArgs {
    /// Library with targets: a farcall library, one that registers itself, or one with plain symbols
    ///
    /// Loading a library runs its code: only load libraries that you trust. NAMESPACE=LIB distinguishes its
    /// targets from targets of the same name in other libraries: `rms_norm` becomes NAMESPACE.rms_norm. May
    /// be repeated.
    #[arg(short, long, value_name = "[NAMESPACE=]LIB", value_parser = LibraryArg::parser())]
    pub load: Vec<LibraryArg>,
    /// Let a library replace targets and lowerings of libraries that were loaded before it
    ///
    /// Without this option, libraries with targets of the same name can be loaded together only in
    /// namespaces.
    #[arg(long, requires = "load")]
    pub replace: bool,
    /// Define a target from a symbol of a loaded library
    ///
    /// Stages by name: NAME=instantiate:SYMBOL,execute:SYMBOL. A platform: NAME@gpu=SYMBOL. The untyped API:
    /// NAME=untyped:SYMBOL. The type of a state: …,type:ID_SYMBOL/INFO_SYMBOL. May be repeated.
    #[arg(short, long, value_name = "NAME=SYMBOL", requires = "load")]
    pub target: Vec<farcall::registry::TargetSpec>,
    /// LAPACK routines for calls such as `lapack_sgetrf_ffi`: built-in, system or system=PATH
    ///
    /// `built-in` selects farcall's own routines. `system` opens OpenBLAS, MKL or another library that the
    /// system's dynamic linker finds, and `system=PATH` opens the library at PATH. Large products of matrices
    /// then run in the library, too. Loading a library runs its code: only load libraries that you trust.
    /// Defaults to the environment variable FARCALL_LINALG, or else to built-in.
    #[arg(long, value_name = "ROUTINES", value_parser = lapack_source())]
    pub linalg: Option<LapackSource>,
}

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

    /// Returns true for the name of farcall's own ops, in place of a library. A file of this name must be
    /// written with its folder.
    pub(crate) fn is_built_in(&self) -> bool {
        self.namespace.is_none() && self.path.as_os_str() == "built-in"
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

/// Parses `--linalg`.
fn lapack_source() -> impl TypedValueParser<Value = LapackSource> {
    OsStringValueParser::new().try_map(|text| LapackSource::parse(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_may_have_a_namespace() {
        let built_in = |text: &str| LibraryArg::from(OsString::from(text)).is_built_in();
        assert!(built_in("built-in") && !built_in("./built-in") && !built_in("a=built-in"));
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
