//! Locations that a program gives its instructions.

use std::sync::Arc;

/// Bytes of the longest name of a parameter. Longer ones, which nobody types, are not kept: a file has a text once, and may
/// refer to it as often as it likes.
pub(crate) const MAX_NAME: usize = 1 << 12;

/// Where an instruction came from, as the program that wrote the text says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Loc {
    /// `loc(unknown)`
    Unknown,
    /// `loc("file":line:column)`
    File {
        /// Path as written.
        file: Arc<str>,
        /// From 1.
        line: u32,
        /// From 1.
        column: u32,
    },
    /// `loc("name")` or `loc("name"(child))`
    Name(Arc<str>, Option<Arc<Loc>>),
    /// `loc(callsite(callee at caller))`
    CallSite(Arc<Loc>, Arc<Loc>),
    /// `loc(fused[…])`
    Fused(Vec<Arc<Loc>>),
}

impl Loc {
    /// The name, if it is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Loc::Name(name, _) => Some(name),
            _ => None,
        }
    }

    /// The name that it gives to a parameter: shared, and at most [`MAX_NAME`] bytes.
    pub(crate) fn param_name(&self) -> Option<Arc<str>> {
        match self {
            Loc::Name(name, _) if name.len() <= MAX_NAME => Some(name.clone()),
            _ => None,
        }
    }
}
