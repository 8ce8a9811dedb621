//! The aliases of a program (`#map = …`, `!t = …`, `#loc1 = loc(…)`), as far as they have been read.

use std::collections::HashMap;
use std::sync::Arc;

use crate::attr::Attribute;
use crate::module::Loc;
use crate::types::Type;

/// The aliases of a program.
#[derive(Default)]
pub(super) struct Aliases<'s> {
    /// Positions of definitions that have not been read yet, by name.
    pub(super) pending: HashMap<&'s str, usize>,
    /// End of each definition that has been read, by the byte at which it begins.
    pub(super) ends: HashMap<usize, usize>,
    /// Definitions that have been read, by name.
    pub(super) known: HashMap<&'s str, Alias>,
    /// Number of nodes that uses of aliases have added so far.
    pub(super) expanded: u64,
}

/// A definition that has been read.
#[derive(Clone)]
pub(super) struct Alias {
    pub(super) value: AliasValue,
    /// Number of nodes in the value.
    pub(super) nodes: u64,
    /// Nesting depth of the value.
    pub(super) depth: u32,
}

/// The value for which an alias stands.
#[derive(Clone)]
pub(super) enum AliasValue {
    Attr(Attribute),
    Type(Type),
    Loc(SharedLoc),
}

/// A location and its nesting depth.
pub(super) type SharedLoc = (Arc<Loc>, u32);
