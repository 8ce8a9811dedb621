//! Reads the shardings that a program states: Shardy's attributes, and XLA's `mhlo.sharding`.

use farcall_ir::module::NamedMesh;
use farcall_ir::sharding::{AxisRef, Mesh, MeshRef, Sharding};
use farcall_ir::{AttrDict, Attribute};

use crate::grid::{DeviceGrid, SubAxis};

/// A stated sharding of a tensor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Annotation {
    /// Sharding of each dimension.
    pub(crate) dims: Vec<DimAnnotation>,
    /// Sub-axes along which every device holds the same data; propagation must not split along them.
    pub(crate) replicated: Vec<SubAxis>,
    /// Sub-axes along which the program itself divides the tensor: the shape is the shape of a part.
    pub(crate) manual: Vec<SubAxis>,
    /// Sub-axes along which the devices hold summands.
    pub(crate) unreduced: Vec<SubAxis>,
}

/// A stated sharding of one dimension.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct DimAnnotation {
    /// Sub-axes that divide the dimension, from major to minor.
    pub(crate) axes: Vec<SubAxis>,
    /// True if propagation may divide the dimension further.
    pub(crate) is_open: bool,
    /// Round of propagation that considers the dimension.
    pub(crate) priority: u32,
}

impl Annotation {
    /// The sharding of a tensor that every device holds completely.
    pub(crate) fn whole(rank: usize) -> Annotation {
        Annotation { dims: vec![DimAnnotation::default(); rank], ..Annotation::default() }
    }
}

/// Reads shardings for the devices of one program.
pub(crate) struct Reader<'p> {
    pub(crate) grid: &'p DeviceGrid,
    pub(crate) meshes: &'p [NamedMesh],
}

/// Returns the sharding attributes in a dictionary: of a parameter, a result of a function, or an operation.
fn stated(attrs: &AttrDict) -> Option<&Attribute> {
    attrs.get("sdy.sharding").or_else(|| attrs.get("mhlo.sharding"))
}

/// Returns the mesh of the first Shardy attribute or the device array of the first tile assignment, which
/// determine the axes of the grid.
pub(crate) fn first_grid(meshes: &[NamedMesh], attrs: &AttrDict) -> Option<Result<DeviceGrid, String>> {
    match stated(attrs)? {
        Attribute::Sharding(sharding) => Some(DeviceGrid::of_mesh(mesh_of(meshes, &sharding.mesh)?)),
        Attribute::ShardingPerValue(all) => Some(DeviceGrid::of_mesh(mesh_of(meshes, &all.first()?.mesh)?)),
        Attribute::String(text) => {
            let text = std::str::from_utf8(text).ok()?;
            let (_, rest) = text.split_once("devices=[")?;
            let (tiles, rest) = rest.split_once(']')?;
            match rest.strip_prefix("<=[") {
                Some(rest) => {
                    let (tiles, dims) = (numbers(tiles)?, numbers(rest.split_once(']')?.0)?);
                    let grid = DeviceGrid::of_dims(&dims);
                    // Devices in one row may be divided in any order of factors: 6 into 3 times 2.
                    let is_row =
                        |grid: &DeviceGrid| dims.len() == 1 && grid.tile_axes(&tiles, &dims, &[0]).is_err();
                    match grid.as_ref().is_ok_and(is_row) {
                        true => Some(DeviceGrid::of_dims(&tiles)),
                        false => Some(grid),
                    }
                }
                None => {
                    let listed = rest.split([' ', '}']).next()?;
                    Some(DeviceGrid::of_dims(&[numbers(listed)?.len()]))
                }
            }
        }
        _ => None,
    }
}

/// Returns the device that an operation states as the only one that runs it.
pub(crate) fn maximal_device(meshes: &[NamedMesh], attrs: &AttrDict) -> Option<usize> {
    let of_mesh = |mesh: &MeshRef| match mesh_of(meshes, mesh)? {
        Mesh { axes, device_ids } if axes.is_empty() => usize::try_from(*device_ids.first()?).ok(),
        _ => None,
    };
    match stated(attrs)? {
        Attribute::Sharding(sharding) => of_mesh(&sharding.mesh),
        Attribute::ShardingPerValue(all) => of_mesh(&all.first()?.mesh),
        Attribute::String(text) => {
            let text = std::str::from_utf8(text).ok()?.trim_start_matches('{');
            let device = text.strip_prefix("maximal device=")?;
            device.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        }
        _ => None,
    }
}

fn mesh_of<'p>(meshes: &'p [NamedMesh], mesh: &'p MeshRef) -> Option<&'p Mesh> {
    match mesh {
        MeshRef::Inline(mesh) => Some(mesh),
        MeshRef::Named(name) => meshes.iter().find(|m| m.name == *name).map(|m| &m.mesh),
    }
}

impl Reader<'_> {
    /// Returns the mesh of a sharding.
    pub(crate) fn mesh<'m>(&'m self, mesh: &'m MeshRef) -> Option<&'m Mesh> {
        mesh_of(self.meshes, mesh)
    }

    /// Returns the stated sharding of each of `ranks.len()` tensors, given by their ranks; `None` for tensors
    /// without one.
    ///
    /// # Errors
    /// A sentence that describes a sharding that is wrong or not supported.
    pub(crate) fn read(&self, attrs: &AttrDict, ranks: &[usize]) -> Result<Vec<Option<Annotation>>, String> {
        let Some(attr) = stated(attrs) else { return Ok(vec![None; ranks.len()]) };
        self.read_attribute(attr, ranks)
    }

    /// Reads an attribute with the shardings of tensors of these ranks.
    pub(crate) fn read_attribute(
        &self,
        attr: &Attribute,
        ranks: &[usize],
    ) -> Result<Vec<Option<Annotation>>, String> {
        let found = match attr {
            Attribute::Sharding(sharding) => vec![Some(self.shardy(sharding)?)],
            Attribute::ShardingPerValue(all) => {
                all.iter().map(|sharding| self.shardy(sharding).map(Some)).collect::<Result<_, _>>()?
            }
            Attribute::String(text) => {
                let text = String::from_utf8_lossy(text);
                self.tiled_list(text.trim()).map_err(|problem| format!("the sharding {text}: {problem}"))?
            }
            other => return Err(format!("{other} is not a sharding")),
        };
        let found = match (found.as_slice(), ranks.len()) {
            // One sharding may serve all results.
            ([one], n) if n != 1 => vec![one.clone(); n],
            _ => found,
        };
        if found.len() != ranks.len() {
            return Err(format!("{attr} has {} shardings for {} tensors", found.len(), ranks.len()));
        }
        for (annotation, rank) in found.iter().zip(ranks) {
            if let Some(annotation) = annotation
                && !annotation.dims.is_empty()
                && annotation.dims.len() != *rank
            {
                return Err(format!(
                    "{attr} has {} dimensions for a tensor of rank {rank}",
                    annotation.dims.len()
                ));
            }
        }
        let sized = found.into_iter().zip(ranks).map(|(annotation, rank)| {
            let mut annotation = annotation?;
            annotation.dims.resize(*rank, DimAnnotation::default());
            Some(annotation)
        });
        Ok(sized.collect())
    }

    /// Converts a sharding of Shardy.
    pub(crate) fn shardy(&self, sharding: &Sharding) -> Result<Annotation, String> {
        let mesh = mesh_of(self.meshes, &sharding.mesh)
            .ok_or_else(|| format!("<{sharding}>: there is no such mesh"))?;
        if mesh.axes.is_empty() {
            // A mesh with a device puts the complete value on this device; here, every device computes it.
            // With a mesh without devices, propagation may divide the open dimensions.
            let mut annotation = Annotation::whole(sharding.dims.len());
            for (annotation, dim) in annotation.dims.iter_mut().zip(&sharding.dims) {
                annotation.is_open = dim.open && mesh.device_ids.is_empty();
            }
            return Ok(annotation);
        }
        let axes = |axes: &[AxisRef]| {
            self.grid.sub_axes_of(mesh, axes).map_err(|problem| format!("<{sharding}>: {problem}"))
        };
        let dims = sharding.dims.iter().map(|dim| {
            let priority = dim.priority.unwrap_or(0);
            Ok(DimAnnotation { axes: axes(&dim.axes)?, is_open: dim.open, priority })
        });
        let annotation = Annotation {
            dims: dims.collect::<Result<_, String>>()?,
            replicated: axes(&sharding.replicated)?,
            manual: Vec::new(),
            unreduced: axes(&sharding.unreduced)?,
        };
        let mut all: Vec<SubAxis> = annotation.dims.iter().flat_map(|dim| dim.axes.iter().copied()).collect();
        all.extend(&annotation.replicated);
        all.extend(&annotation.unreduced);
        all.sort_unstable();
        if all.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(format!("<{sharding}>: an axis is used twice"));
        }
        Ok(annotation)
    }

    /// Reads `{{replicated}, {devices=[2]<=[2]}}` or a single sharding.
    fn tiled_list(&self, text: &str) -> Result<Vec<Option<Annotation>>, String> {
        let body = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let body = body.ok_or("it does not stand between braces")?.trim();
        if body.starts_with('{') {
            return split(body).into_iter().map(|part| self.tiled(inside(part)?)).collect();
        }
        Ok(vec![self.tiled(body)?])
    }

    /// Reads the text between the braces of a sharding: `devices=[2,1,4]<=[8] last_tile_dim_replicate`.
    fn tiled(&self, text: &str) -> Result<Option<Annotation>, String> {
        let text = text.split(" metadata=").next().unwrap_or(text).trim();
        let Some(rest) = text.strip_prefix("devices=[") else {
            return match text.split([' ', '=']).next() {
                Some("replicated" | "maximal") => Ok(Some(Annotation::default())),
                Some("manual") => {
                    Ok(Some(Annotation { manual: self.grid.sub_axes().collect(), ..Annotation::default() }))
                }
                Some("unreduced") => Ok(Some(Annotation {
                    unreduced: self.grid.sub_axes().collect(),
                    ..Annotation::default()
                })),
                Some("unknown" | "unknown shard_as" | "shard_like" | "") | None => Ok(None),
                Some(other) => Err(format!("`{other}` is not supported")),
            };
        };
        let (tiles, rest) = rest.split_once(']').ok_or("a bracket is missing")?;
        let tiles = numbers(tiles).ok_or("the numbers of tiles are not numbers")?;
        let (devices, roles) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut axes = match devices.strip_prefix("<=[") {
            Some(rest) => {
                let (dims, rest) = rest.split_once(']').ok_or("a bracket is missing")?;
                let dims = numbers(dims).ok_or("the dimensions of the devices are not numbers")?;
                let order = match rest.strip_prefix("T(").and_then(|rest| rest.strip_suffix(')')) {
                    Some(order) => numbers(order).ok_or("the order of the devices has no numbers")?,
                    None => (0..dims.len()).collect(),
                };
                self.grid.tile_axes(&tiles, &dims, &order)?
            }
            None => {
                let listed = numbers(devices).ok_or("the devices are not numbers")?;
                self.grid.listed_tile_axes(&tiles, &listed)?
            }
        };
        let mut annotation = Annotation::default();
        let subgroups: Vec<&str> = match roles.trim() {
            "" => Vec::new(),
            "last_tile_dim_replicate" => vec!["replicated"],
            other => {
                let list = other.strip_prefix("last_tile_dims={").and_then(|rest| rest.split_once('}'));
                let (list, _) = list.ok_or_else(|| format!("`{other}` is not supported"))?;
                list.split(',').map(str::trim).collect()
            }
        };
        let of_groups =
            axes.split_off(axes.len().checked_sub(subgroups.len()).ok_or("too few tile dimensions")?);
        for (role, axes) in subgroups.iter().zip(of_groups) {
            match *role {
                "replicated" => {}
                "manual" => annotation.manual.extend(axes),
                "unreduced" => annotation.unreduced.extend(axes),
                other => return Err(format!("the role `{other}` of devices is not supported")),
            }
        }
        let dims = axes.into_iter().map(|axes| DimAnnotation { axes, ..DimAnnotation::default() });
        annotation.dims = dims.collect();
        Ok(Some(annotation))
    }
}

/// Returns the text between the braces around a part.
fn inside(part: &str) -> Result<&str, String> {
    let body = part.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    Ok(body.ok_or("a part does not stand between braces")?.trim())
}

/// Splits a list at commas outside of braces and brackets.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, c) in list.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

/// Parses `2,1,4`.
fn numbers(list: &str) -> Option<Vec<usize>> {
    list.split(',').map(|n| n.trim().parse().ok()).collect()
}
