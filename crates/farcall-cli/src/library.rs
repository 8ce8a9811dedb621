//! Libraries on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use farcall::sig::namespace::is_namespace;

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
