//! Errors of opening and loading a library.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farcall_sig::namespace;

use super::remedy::Remedy;
use super::{RegisterError, TargetOrigin};
use crate::{CodedError, ErrorCode};

/// The reason why a library was not loaded.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file does not exist.
    #[error("library {} does not exist", path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("library {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
    /// The file is not a shared library.
    #[error("{} is not a shared library: it is {what}", path.display())]
    NotALibrary {
        /// The file.
        path: PathBuf,
        /// Its format.
        what: String,
    },
    /// The library was built for another processor.
    #[error("library {} was built for {found}, but this program runs on {here}", path.display())]
    WrongMachine {
        /// The file.
        path: PathBuf,
        /// Processor that the library was built for.
        found: String,
        /// Processor of this machine.
        here: String,
    },
    /// The library registers itself through symbols that this program has but does not export.
    #[error("library {} needs {} from the program that loads it, but the program does not export this symbol{}",
        path.display(), symbols.join(" and "), export_hint(symbols))]
    HostSymbols {
        /// The file.
        path: PathBuf,
        /// The symbols.
        symbols: Vec<&'static str>,
    },
    /// The dynamic linker rejected the library.
    #[error("library {} cannot be opened: {}{words}", path.display(), lacks(why.as_deref()))]
    Open {
        /// The file.
        path: PathBuf,
        /// The missing dependency, if it could be determined.
        why: Option<Box<LinkError>>,
        /// The linker's message.
        words: String,
    },
    /// The library lacks a symbol.
    #[error("library {} has no symbol `{symbol}` (for {role} of target `{target}`){}",
        path.display(), nearest_hint(nearest))]
    MissingSymbol {
        /// The file.
        path: PathBuf,
        /// The symbol.
        symbol: String,
        /// The role of the symbol.
        role: String,
        /// The target.
        target: String,
        /// Symbols with similar names.
        nearest: Vec<String>,
    },
    /// The library has no descriptor and registered nothing.
    #[error("library {} neither describes nor registers any targets{}{}", path.display(), reason(notes),
            nothing_hint(exports, Remedy::NameSymbols))]
    Nothing {
        /// The file.
        path: PathBuf,
        /// Observations made while loading the library.
        notes: Vec<String>,
        /// Symbols that the library exports.
        exports: Vec<String>,
    },
    /// The file has changed, but the dynamic linker returns the earlier library.
    #[error("library {} has changed since this process loaded it, but the dynamic linker returns the earlier \
             library; restart the process to load the new one", path.display())]
    NotReplaced {
        /// The file.
        path: PathBuf,
    },
    /// The namespace is invalid.
    #[error("library {}: `{namespace}` is not a namespace: write {}", path.display(), namespace::FORM)]
    Namespace {
        /// The file.
        path: PathBuf,
        /// The namespace as given.
        namespace: String,
    },
    /// Other libraries have targets of the same names, or lowerings for the same blocks.
    #[error("{}; {}", taken(path, others), Remedy::NamespaceOrReplace)]
    NameConflict {
        /// The file.
        path: PathBuf,
        /// The other libraries, with the conflicting names.
        others: Vec<NameConflict>,
    },
    /// The registry rejected targets or types of the library.
    #[error("library {}: {}", path.display(), all(errors))]
    Refused {
        /// The file.
        path: PathBuf,
        /// The reasons.
        errors: Vec<RegisterError>,
    },
}

/// The reason why the dynamic linker rejected a library: a dependency that is missing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LinkError {
    /// A dependency of the library is not found.
    Library {
        /// Name of the missing library.
        name: String,
        /// Library that needs it, if different from the library to be opened.
        needed_by: Option<PathBuf>,
    },
    /// A dependency of the library is found, but in the wrong version.
    Version {
        /// Name of the dependency.
        library: String,
        /// Required version, such as `GLIBC_2.99`.
        version: String,
        /// Version of this system's C library, if the dependency is the C library.
        here: Option<String>,
    },
    /// Neither the process nor the dependencies of the library define symbols that it needs.
    Symbols {
        /// Missing symbols; at least one.
        names: Vec<String>,
        /// Library that needs them, if different from the library to be opened.
        needed_by: Option<PathBuf>,
    },
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |library: &Option<PathBuf>| {
            library.as_ref().map_or("it".to_owned(), |path| path.display().to_string())
        };
        match self {
            LinkError::Library { name, needed_by } => {
                let it = of(needed_by);
                write!(f, "{it} depends on {name}, which is not found (is LD_LIBRARY_PATH set?)")
            }
            LinkError::Version { version, here: Some(here), .. } => write!(
                f,
                "it was built on a system with a newer C library ({version}, this one has glibc {here}); build it on \
                 this system or an older one"
            ),
            LinkError::Version { library, version, here: None } => {
                write!(f, "it needs another version of {library}, one that has {version}")
            }
            LinkError::Symbols { names, needed_by } => {
                let it = of(needed_by);
                match names.as_slice() {
                    [name] => write!(
                        f,
                        "no library provides the symbol `{name}` that {it} needs; link the library that defines it"
                    ),
                    names => {
                        let shown: Vec<String> = names.iter().take(3).map(|n| format!("`{n}`")).collect();
                        let more = if names.len() > shown.len() {
                            format!(" and {} more", names.len() - shown.len())
                        } else {
                            String::new()
                        };
                        write!(
                            f,
                            "no library provides the symbols {}{more} that {it} needs; link the library that defines them",
                            shown.join(", ")
                        )
                    }
                }
            }
        }
    }
}

/// Names that another library already uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameConflict {
    /// The other library.
    pub by: TargetOrigin,
    /// Names of targets, and descriptions of blocks in the form `the blocks TAG`, in order.
    pub names: Vec<String>,
}

impl NameConflict {
    /// Groups the names by library; `None` if no target name is taken, or if any error is of another kind.
    pub(super) fn of(errors: &[RegisterError]) -> Option<Vec<NameConflict>> {
        let mut all: Vec<NameConflict> = Vec::new();
        for error in errors {
            let (by, name) = match error {
                RegisterError::Conflict { name, existing, .. } => (existing, name.clone()),
                RegisterError::Lowering { tag, existing, .. } => (existing, format!("the blocks {tag}")),
                _ => return None,
            };
            match all.iter_mut().find(|taken| taken.by.place() == by.place()) {
                Some(taken) if taken.names.contains(&name) => {}
                Some(taken) => taken.names.push(name),
                None => all.push(NameConflict { by: TargetOrigin::clone(by), names: vec![name] }),
            }
        }
        errors.iter().any(|e| matches!(e, RegisterError::Conflict { .. })).then_some(all)
    }
}

/// Returns one line for each library.
fn taken(path: &Path, others: &[NameConflict]) -> String {
    const MAX_NAMES: usize = 3;
    let line = |taken: &NameConflict| {
        let count = taken.names.len();
        let mut names = taken.names.iter().take(MAX_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
        if count > MAX_NAMES {
            let _infallible = write!(names, " and {} more", count - MAX_NAMES);
        }
        let verb = if count == 1 { "is" } else { "are" };
        format!("library {}: {names} {verb} registered already, by {}", path.display(), taken.by)
    };
    others.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn export_hint(symbols: &[&str]) -> String {
    let mut out = String::from("; add to the build.rs of the program's crate:");
    for symbol in symbols {
        let _infallible = write!(
            out,
            "\n    println!(\"cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}\");"
        );
    }
    out
}

impl CodedError for LoadError {
    fn code(&self) -> ErrorCode {
        match self {
            LoadError::NotFound { .. } => ErrorCode::FileNotFound,
            LoadError::Io { .. } => ErrorCode::UnreadableFile,
            LoadError::NotALibrary { .. } | LoadError::WrongMachine { .. } => ErrorCode::NotALibrary,
            LoadError::HostSymbols { .. } | LoadError::Open { .. } | LoadError::NotReplaced { .. } => {
                ErrorCode::Link
            }
            LoadError::MissingSymbol { .. } => ErrorCode::MissingSymbol,
            LoadError::Nothing { .. } => ErrorCode::NoTargets,
            LoadError::Refused { .. } => ErrorCode::RefusedTargets,
            LoadError::NameConflict { .. } => ErrorCode::AlreadyRegistered,
            LoadError::Namespace { .. } => ErrorCode::InvalidText,
        }
    }
}

impl LoadError {
    /// Returns the message, with advice in the words of `phrase`. `Display` gives advice to users of this
    /// crate.
    pub fn describe(&self, phrase: impl Fn(&Remedy) -> String) -> String {
        match self {
            LoadError::Nothing { path, notes, exports } => format!(
                "library {} neither describes nor registers any targets{}{}",
                path.display(),
                reason(notes),
                nothing_hint(exports, phrase(&Remedy::NameSymbols))
            ),
            LoadError::NameConflict { path, others } => {
                format!("{}; {}", taken(path, others), phrase(&Remedy::NamespaceOrReplace))
            }
            other => other.to_string(),
        }
    }
}

fn all(errors: &[RegisterError]) -> String {
    errors.iter().map(RegisterError::to_string).collect::<Vec<_>>().join("; ")
}

fn lacks(why: Option<&LinkError>) -> String {
    why.map_or_else(String::new, |why| format!("{why}: "))
}

fn nearest_hint(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; it has {}", nearest.join(", ")) }
}

fn reason(notes: &[String]) -> String {
    notes.iter().map(|note| format!(" ({note})")).collect()
}

fn nothing_hint(exports: &[String], advice: impl fmt::Display) -> String {
    if exports.is_empty() {
        return "; it exports no functions: is `farcall_ffi::library!` missing?".into();
    }
    let shown: Vec<&str> = exports.iter().take(8).map(String::as_str).collect();
    let more = if exports.len() > shown.len() { ", …" } else { "" };
    format!("; {advice}; it exports {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_missing_dependency() {
        let symbols = |names: &[&str]| LinkError::Symbols {
            names: names.iter().map(|n| (*n).to_owned()).collect(),
            needed_by: Some("/x/liby.so".into()),
        };
        assert_eq!(
            symbols(&["a"]).to_string(),
            "no library provides the symbol `a` that /x/liby.so needs; link the library that defines it"
        );
        assert_eq!(
            symbols(&["a", "b", "c", "d"]).to_string(),
            "no library provides the symbols `a`, `b`, `c` and 1 more that /x/liby.so needs; link the library that defines them"
        );
        let version = LinkError::Version { library: "libz.so".into(), version: "Z_9".into(), here: None };
        assert_eq!(version.to_string(), "it needs another version of libz.so, one that has Z_9");
    }
}
