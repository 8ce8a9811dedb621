//! Remedies: what a user can do about a library that was not loaded or a target that is missing.
//!
//! An error records facts, from which the engine derives the remedy. A front end phrases the remedy in the
//! terms of its users; [`Display`](fmt::Display) phrases it for users of this crate.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use farcall_ir::ProgramError;
use farcall_ir::sharding::borders;

/// A way to make an error go away.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Remedy {
    /// Loading the library that has the target of this name, or registering the target.
    LoadTarget(Arc<str>),
    /// Compiling the program for several devices, because it computes with their parts of tensors.
    Divide,
    /// Registering the LAPACK handlers of jaxlib, which only Python can do. It may help for names of LAPACK for
    /// which farcall has no handler.
    RegisterLapack,
    /// Loading the library with a list of the symbols of its handlers, because it describes no targets.
    NameSymbols,
    /// Loading the library in a namespace, or letting it replace the registered targets.
    NamespaceOrReplace,
}

impl Remedy {
    /// Returns the remedy for a missing target.
    pub(super) fn of_target(name: &Arc<str>) -> Remedy {
        match &**name {
            name if is_lapack(name) => Remedy::RegisterLapack,
            borders::GLOBAL_TO_LOCAL | borders::LOCAL_TO_GLOBAL => Remedy::Divide,
            _ => Remedy::LoadTarget(Arc::clone(name)),
        }
    }
}

/// Phrases the remedy for users of this crate.
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::LoadTarget(name) => write!(
                f,
                "load the library that has it: Registry::load; if the library does not register it, \
                 Registry::load_symbols with {name}=SYMBOL; see: farcall guide embedding"
            ),
            Remedy::Divide => f.write_str(
                "the program computes with the parts that several devices have of a tensor: compile it with \
                 CompileOptions::partitioned; see: farcall guide devices",
            ),
            Remedy::RegisterLapack => f.write_str(
                "farcall has no handler of this LAPACK name. jaxlib may have one, in Python: \
                 `farcall.register_lapack()` registers jaxlib's LAPACK handlers, all of them, and \
                 `farcall.compile` runs the program; see: farcall guide linear-algebra",
            ),
            Remedy::NameSymbols => f.write_str("name its handlers: Registry::load_symbols with NAME=SYMBOL"),
            Remedy::NamespaceOrReplace => f.write_str(
                "to have both, load it in a namespace (LoadOptions::namespace); to replace the registered ones, \
                 LoadOptions::replace",
            ),
        }
    }
}

/// Adds the remedies for the missing targets of a program, in the words of `phrase`. Each remedy is added
/// once, as a note of the first error that it applies to.
pub fn advise(mut error: ProgramError, phrase: impl Fn(&Remedy) -> String) -> ProgramError {
    let mut given = HashSet::new();
    for diagnostic in error.diagnostics.iter_mut().filter(|d| d.code == super::MISSING_TARGET) {
        let Some(name) = &diagnostic.subject else { continue };
        let advice = phrase(&Remedy::of_target(name));
        if given.insert(advice.clone()) {
            diagnostic.notes.push(advice);
        }
    }
    error
}

/// Returns true for the names under which JAX calls LAPACK and BLAS: `lapack_spotrf_ffi`, `blas_strsm`.
fn is_lapack(name: &str) -> bool {
    name.starts_with("lapack_") || name.starts_with("blas_")
}

#[cfg(test)]
mod tests {
    use farcall_ir::diag::Diagnostics;
    use farcall_ir::op::CustomCall;
    use farcall_ir::{Source, Span};

    use super::*;
    use crate::registry::{Platform, Registry};

    #[test]
    fn each_remedy_is_given_once() {
        let missing = |name: &str| {
            let error =
                Registry::without_built_ins().resolve(&CustomCall::new(name), &Platform::Host).unwrap_err();
            error.at(Span::default(), "")
        };
        let names = ["lapack_spotrf_ffi", "swish", "blas_strsm", "swish", "norm"];
        let error = Diagnostics::from_iter(names.map(missing)).into_error(&Source::none());
        let advised = advise(error, |remedy| match remedy {
            Remedy::LoadTarget(name) => format!("load {name}"),
            other => format!("{other:?}"),
        });
        let notes: Vec<_> = advised.diagnostics.into_iter().map(|d| d.notes.join("; ")).collect();
        assert_eq!(notes, ["RegisterLapack", "load swish", "", "", "load norm"]);
    }
}
