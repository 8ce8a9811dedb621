//! Tilings: how the devices divide a tensor.
//!
//! All parts of a tensor have one shape. If the number of parts does not divide the size of a dimension, the
//! size of a part is rounded up, and *padding* of arbitrary content follows the last elements.

use farcall_ir::sharding::TileAssignment;

use crate::grid::{DeviceGrid, SubAxis};

/// Returns true if the parts of a dimension of this size along `all` are what the parts along `kept`, which
/// starts `all`, are divided into. A complete dimension can be padded, so it can be divided in any way.
pub(crate) fn is_nested(grid: &DeviceGrid, size: usize, kept: &[SubAxis], all: &[SubAxis]) -> bool {
    let further = grid.parts(&all[kept.len()..]);
    kept.is_empty() || size.div_ceil(grid.parts(kept)) == size.div_ceil(grid.parts(all)) * further
}

/// The sub-axes that divide each dimension of a tensor, from major to minor. Devices that differ only along
/// other sub-axes hold the same part.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tiling {
    /// One list for each dimension.
    pub dims: Vec<Vec<SubAxis>>,
}

impl Tiling {
    /// The tiling of a tensor that every device holds completely.
    pub fn whole(rank: usize) -> Tiling {
        Tiling { dims: vec![Vec::new(); rank] }
    }

    /// Returns true if every device holds the complete tensor.
    pub fn is_whole(&self) -> bool {
        self.dims.iter().all(Vec::is_empty)
    }

    /// Returns true if a sub-axis divides a dimension.
    pub fn uses(&self, axis: SubAxis) -> bool {
        self.dims.iter().any(|dim| dim.contains(&axis))
    }

    /// Returns the sizes of the part of a tensor of these sizes on one device. All parts have the same sizes:
    /// if the number of parts does not divide a size, the last parts contain padding or nothing else.
    pub fn part_sizes(&self, grid: &DeviceGrid, sizes: &[usize]) -> Vec<usize> {
        sizes.iter().zip(&self.dims).map(|(size, axes)| size.div_ceil(grid.parts(axes))).collect()
    }

    /// Returns the tiling of a tensor of these sizes as XLA's tile assignment. Devices along `unreduced` hold
    /// summands.
    pub fn assignment(&self, grid: &DeviceGrid, sizes: &[usize], unreduced: &[SubAxis]) -> TileAssignment {
        let tiles: Vec<usize> = self.dims.iter().map(|axes| grid.parts(axes)).collect();
        let mut order: Vec<SubAxis> = self.dims.concat();
        order.extend(unreduced);
        let rest: Vec<SubAxis> = grid.sub_axes().filter(|axis| !order.contains(axis)).collect();
        order.extend(&rest);
        let (summands, copies) = (grid.parts(unreduced), grid.parts(&rest));
        TileAssignment { sizes: sizes.to_vec(), tiles, summands, copies, devices: grid.ordered(&order) }
    }

    /// Returns the tiling of a tile assignment for a tensor of this rank.
    ///
    /// # Errors
    /// A sentence: the devices hold summands, or the tiles are not products of the grid's axes.
    pub fn of_assignment(grid: &DeviceGrid, rank: usize, from: &TileAssignment) -> Result<Tiling, String> {
        let TileAssignment { tiles, summands, copies, devices, .. } = from;
        if *summands != 1 || tiles.len() != rank {
            return Err(format!(
                "a sharding of {} dimensions into {summands} summands for a tensor of rank {rank}",
                tiles.len()
            ));
        }
        let tiles_and_copies = [&tiles[..], &[*copies]].concat();
        let mut dims = grid.listed_tile_axes(&tiles_and_copies, devices).or_else(|problem| {
            // Devices with the same part may be listed in any order.
            let mut sorted = devices.clone();
            sorted.chunks_mut((*copies).max(1)).for_each(<[usize]>::sort_unstable);
            grid.listed_tile_axes(&tiles_and_copies, &sorted).map_err(|_| problem)
        })?;
        dims.truncate(rank);
        Ok(Tiling { dims })
    }

    /// Writes the tiling like a sharding of Shardy: `[{"x"}, {}]`.
    pub fn show(&self, grid: &DeviceGrid) -> String {
        let dims: Vec<String> = self.dims.iter().map(|axes| format!("{{{}}}", grid.show(axes))).collect();
        format!("[{}]", dims.join(", "))
    }
}
