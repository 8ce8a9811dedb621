//! Named meshes of a module.

use std::fmt::{self, Display, Formatter};

use crate::attr::{AttrDict, Dict};
use crate::quote::Name;
use crate::sharding::Mesh;

/// A mesh of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedMesh {
    /// Name in shardings, without `@`.
    pub name: String,
    /// The device grid.
    pub mesh: Mesh,
    /// Attributes of the operation that defines the mesh.
    pub attrs: AttrDict,
}

impl Display for NamedMesh {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "sdy.mesh @{} = <{}>", Name(&self.name), self.mesh)?;
        if self.attrs.is_empty() { Ok(()) } else { write!(f, " {}", Dict(&self.attrs)) }
    }
}
