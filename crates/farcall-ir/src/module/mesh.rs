//! Meshes that a module names.

use std::fmt::{self, Display, Formatter};

use crate::attr::{AttrDict, Dict};
use crate::quote::Name;
use crate::sharding::Mesh;

/// A mesh of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedMesh {
    /// The name that shardings give it, without `@`.
    pub name: String,
    /// The grid.
    pub mesh: Mesh,
    /// Attributes of the operation that defines it.
    pub attrs: AttrDict,
}

impl Display for NamedMesh {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "sdy.mesh @{} = <{}>", Name(&self.name), self.mesh)?;
        if self.attrs.is_empty() { Ok(()) } else { write!(f, " {}", Dict(&self.attrs)) }
    }
}
