//! How values are split among devices, as programs say it: meshes, and which of their axes split which
//! dimension. It is kept with the program, read and printed; nothing that is computed depends on it.
//!
//! The text is that of the dialect `sdy`: `sdy.mesh @mesh = <["x"=2, "y"=4]>` in a module, and attributes
//! `#sdy.sharding<@mesh, [{"x"}, {?}]>` (of an argument, a result, a constraint) and
//! `#sdy.sharding_per_value<[<@mesh, [{"x"}]>]>` (of the results of an operation). What is written in another
//! way stays a [dialect attribute](crate::attr::DialectAttr), and so do rules of propagation; the sharding of
//! older programs, `mhlo.sharding = "{devices=[2,4]<=[8]}"`, is a string.

mod read;

use std::fmt::{self, Display, Formatter};

use crate::attr::{Attr, AttrDict};
use crate::text::SymbolName;

/// A grid of devices.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mesh {
    /// Name and size of each axis, the first of which changes slowest.
    pub axes: Vec<(String, usize)>,
    /// The numbers of the devices in that order; their places, if there are none.
    pub device_ids: Vec<i64>,
}

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

/// How a tensor is split.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sharding {
    /// Among which devices.
    pub mesh: MeshRef,
    /// Which axes split each dimension.
    pub dims: Vec<DimSharding>,
    /// Axes along which every device has the same, whatever propagation finds.
    pub replicated: Vec<AxisRef>,
    /// Axes along which the devices have summands of the value.
    pub unreduced: Vec<AxisRef>,
}

/// The mesh of a sharding.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MeshRef {
    /// One of the module's, by its name without `@`.
    Named(String),
    /// `mesh<["x"=2]>`
    Inline(Mesh),
}

/// How one dimension is split.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct DimSharding {
    /// By these axes, from major to minor.
    pub axes: Vec<AxisRef>,
    /// `?`: propagation may split it further.
    pub open: bool,
    /// `p1`: in which round propagation looks at it.
    pub priority: Option<u32>,
}

/// An axis of a mesh, or a part of one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AxisRef {
    /// Its name.
    pub name: String,
    /// The product of the parts before, and the size.
    pub part: Option<(usize, usize)>,
}

/// The attribute `#name<body>`, if it is a sharding.
pub(crate) fn attr(name: &str, body: &str) -> Option<Attr> {
    match name {
        "sdy.sharding" => Some(Attr::Sharding(read::sharding(body)?.into())),
        "sdy.sharding_per_value" => Some(Attr::ShardingPerValue(read::per_value(body)?.into())),
        _ => None,
    }
}

impl Mesh {
    /// The mesh of the text between `<` and `>`: `["x"=2, "y"=4], device_ids=[…]`.
    pub(crate) fn read(body: &str) -> Option<Mesh> {
        read::mesh(body)
    }

    /// The mesh of an attribute `stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}`.
    pub(crate) fn of_dict(attr: &Attr) -> Option<Mesh> {
        let Attr::Dict(dict) = attr else { return None };
        let Attr::Array(axes) = dict.get("axes")? else { return None };
        let axis = |axis: &Attr| match axis {
            Attr::Dict(d) => {
                let name = d.get("name")?.as_str().filter(|name| read::is_plain(name))?;
                Some((name.to_owned(), usize::try_from(d.get("size")?.as_i64()?).ok()?))
            }
            _ => None,
        };
        let axes = axes.iter().map(axis).collect::<Option<_>>()?;
        let device_ids = dict.get("device_ids").and_then(Attr::as_i64_list).unwrap_or_default();
        if device_ids.iter().any(|id| *id < 0) {
            return None;
        }
        Some(Mesh { axes, device_ids })
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

impl Display for NamedMesh {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "sdy.mesh @{} = <{}>", SymbolName(&self.name), self.mesh)?;
        if self.attrs.is_empty() { Ok(()) } else { write!(f, " {}", crate::text::show_dict(&self.attrs)) }
    }
}

impl Display for Sharding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.mesh {
            MeshRef::Named(name) => write!(f, "@{}", SymbolName(name))?,
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

/// `#sdy.sharding_per_value<[<@mesh, []>]>`
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
