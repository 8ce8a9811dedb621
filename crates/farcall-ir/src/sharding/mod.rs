//! Shardings: meshes of devices, and the mesh axes that split each dimension of a value. Shardings are read,
//! kept and printed. They say how a program is divided among devices, not what it computes.
//!
//! The text format is the dialect `sdy`: `sdy.mesh @mesh = <["x"=2, "y"=4]>` in a module, and the attributes
//! `#sdy.sharding<@mesh, [{"x"}, {?}]>` (of an argument, a result, a constraint) and
//! `#sdy.sharding_per_value<[<@mesh, [{"x"}]>]>` (of the results of an operation). Shardings written in any
//! other way stay a [dialect attribute](crate::attr::DialectAttr), as do propagation rules. The sharding of
//! older programs, `mhlo.sharding = "{devices=[2,4]<=[8]}"`, is a string.

pub mod borders;
mod read;

use std::fmt::{self, Display, Formatter};

use crate::quote::Name;

pub(crate) use read::is_plain;

/// A grid of devices.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mesh {
    /// Name and size of each axis; the first changes slowest.
    pub axes: Vec<(String, usize)>,
    /// Device numbers, row-major over the axes. If empty, devices are numbered by their positions.
    pub device_ids: Vec<i64>,
}

/// Sharding of a tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sharding {
    /// Mesh of the devices.
    pub mesh: MeshRef,
    /// Axes that split each dimension.
    pub dims: Vec<DimSharding>,
    /// Axes along which every device holds the same data; propagation must not split along them.
    pub replicated: Vec<AxisRef>,
    /// Axes along which the devices hold summands of the value.
    pub unreduced: Vec<AxisRef>,
}

/// Mesh of a sharding.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MeshRef {
    /// A mesh of the module, by its name without `@`.
    Named(String),
    /// `mesh<["x"=2]>`
    Inline(Mesh),
}

/// Sharding of one dimension.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct DimSharding {
    /// The axes that split the dimension, from major to minor.
    pub axes: Vec<AxisRef>,
    /// `?`: propagation may split the dimension further.
    pub open: bool,
    /// `p1`: the round of propagation that considers the dimension.
    pub priority: Option<u32>,
}

/// An axis of a mesh, or a part of such an axis.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AxisRef {
    /// Name of the axis.
    pub name: String,
    /// Part of the axis, as in `:(1)2`: the product of the sizes of the parts before, and the size of this
    /// part.
    pub part: Option<(usize, usize)>,
}

/// A division of a tensor among devices, as XLA states it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TileAssignment {
    /// Sizes of the complete tensor. Parts have the size of a dimension divided by the number of parts,
    /// rounded up: the last parts may end with padding.
    pub sizes: Vec<usize>,
    /// Number of parts of each dimension.
    pub tiles: Vec<usize>,
    /// Number of summands of each part, which different devices hold; 1 if the devices hold the parts
    /// themselves.
    pub summands: usize,
    /// Number of devices that hold the same part or summand.
    pub copies: usize,
    /// Numbers of the devices, row-major over the tiles, then the summands, then the copies.
    pub devices: Vec<usize>,
}

/// How a program that each device runs on its parts divides the complete inputs and results.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ProgramSharding {
    /// Division of each input tensor.
    pub inputs: Vec<TileAssignment>,
    /// Division of each result tensor.
    pub results: Vec<TileAssignment>,
}

impl TileAssignment {
    /// The division of a tensor that each of the devices holds completely.
    pub fn replicated(sizes: Vec<usize>, devices: Vec<usize>) -> TileAssignment {
        TileAssignment { tiles: vec![1; sizes.len()], sizes, summands: 1, copies: devices.len(), devices }
    }

    /// Returns the sizes of the parts of the tensor.
    pub fn part_sizes(&self) -> Vec<usize> {
        self.sizes.iter().zip(&self.tiles).map(|(size, n)| size.div_ceil((*n).max(1))).collect()
    }

    /// Returns true if the parts of the tensor have these sizes.
    pub fn has_parts_of(&self, sizes: &[usize]) -> bool {
        self.sizes.len() == self.tiles.len() && self.part_sizes() == sizes
    }
}

impl Mesh {
    /// Parses the text between `<` and `>`: `["x"=2, "y"=4], device_ids=[…]`.
    pub(crate) fn read(body: &str) -> Option<Mesh> {
        read::mesh(body)
    }
}

impl Sharding {
    /// Parses the text between `<` and `>`: `@mesh, [{"x"}, {?}]`.
    pub(crate) fn read(body: &str) -> Option<Sharding> {
        read::sharding(body)
    }

    /// Parses one sharding for each value: `[<@mesh, [{"x"}]>]`. Returns `None` for text in any other form.
    pub fn read_per_value(body: &str) -> Option<Vec<Sharding>> {
        read::per_value(body)
    }
}

impl Display for Mesh {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        list(f, &self.axes, |f, (name, size)| write!(f, "\"{name}\"={size}"))?;
        f.write_str("]")?;
        if !self.device_ids.is_empty() {
            f.write_str(", device_ids=[")?;
            list(f, &self.device_ids, |f, id| write!(f, "{id}"))?;
            f.write_str("]")?;
        }
        Ok(())
    }
}

impl Display for Sharding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.mesh {
            MeshRef::Named(name) => write!(f, "@{}", Name(name))?,
            MeshRef::Inline(mesh) => write!(f, "mesh<{mesh}>")?,
        }
        f.write_str(", [")?;
        list(f, &self.dims, |f, dim| write!(f, "{dim}"))?;
        f.write_str("]")?;
        for (key, axes) in [("replicated", &self.replicated), ("unreduced", &self.unreduced)] {
            if !axes.is_empty() {
                write!(f, ", {key}={{")?;
                list(f, axes, |f, axis| write!(f, "{axis}"))?;
                f.write_str("}")?;
            }
        }
        Ok(())
    }
}

impl Display for DimSharding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        list(f, &self.axes, |f, axis| write!(f, "{axis}"))?;
        if self.open {
            f.write_str(if self.axes.is_empty() { "?" } else { ", ?" })?;
        }
        f.write_str("}")?;
        self.priority.map_or(Ok(()), |p| write!(f, "p{p}"))
    }
}

impl Display for AxisRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.name)?;
        self.part.map_or(Ok(()), |(before, size)| write!(f, ":({before}){size}"))
    }
}

/// Writes `#sdy.sharding_per_value<[<@mesh, []>]>`.
pub(crate) fn write_per_value(f: &mut Formatter<'_>, shardings: &[Sharding]) -> fmt::Result {
    f.write_str("#sdy.sharding_per_value<[")?;
    list(f, shardings, |f, sharding| write!(f, "<{sharding}>"))?;
    f.write_str("]>")
}

fn list<T>(
    f: &mut Formatter<'_>,
    items: &[T],
    each: impl Fn(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        each(f, item)?;
    }
    Ok(())
}
