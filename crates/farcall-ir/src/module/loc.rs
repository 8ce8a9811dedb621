//! Locations that a program gives its instructions.

use std::sync::Arc;

/// Where an instruction came from, as the program that wrote the text says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Loc {
    /// `loc(unknown)`
    Unknown,
    /// `loc("file":line:column)`
    File {
        /// Path as written.
        file: String,
        /// From 1.
        line: u32,
        /// From 1.
        column: u32,
    },
    /// `loc("name")` or `loc("name"(child))`
    Name(String, Option<Arc<Loc>>),
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
}
