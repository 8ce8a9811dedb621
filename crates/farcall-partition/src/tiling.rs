//! Tilings: how the devices divide a tensor.

use farcall_ir::sharding::TileAssignment;

use crate::grid::{DeviceGrid, SubAxis};

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

    /// Returns the sizes of the part of a tensor of these sizes on one device.
    pub fn part_sizes(&self, grid: &DeviceGrid, sizes: &[usize]) -> Vec<usize> {
        sizes.iter().zip(&self.dims).map(|(size, axes)| size / grid.parts(axes)).collect()
    }

    /// Returns the tiling without sub-axes that are only a part of an axis of the program's mesh.
    pub(crate) fn with_complete_axes(&self, grid: &DeviceGrid) -> Tiling {
        Tiling { dims: self.dims.iter().map(|axes| grid.complete_axes(axes).to_vec()).collect() }
    }

    /// Returns the tiling without these sub-axes, and without sub-axes that are minor to them.
    pub(crate) fn without(&self, excluded: &[SubAxis]) -> Tiling {
        let kept =
            |axes: &Vec<SubAxis>| axes.iter().copied().take_while(|axis| !excluded.contains(axis)).collect();
        Tiling { dims: self.dims.iter().map(kept).collect() }
    }

    /// Returns the tiling as XLA's tile assignment, for a value of which devices along `unreduced` hold summands.
    pub fn assignment(&self, grid: &DeviceGrid, unreduced: &[SubAxis]) -> TileAssignment {
        let tiles: Vec<usize> = self.dims.iter().map(|axes| grid.parts(axes)).collect();
        let mut order: Vec<SubAxis> = self.dims.concat();
        order.extend(unreduced);
        let rest: Vec<SubAxis> = grid.sub_axes().filter(|axis| !order.contains(axis)).collect();
        order.extend(&rest);
        let (summands, copies) = (grid.parts(unreduced), grid.parts(&rest));
        TileAssignment { tiles, summands, copies, devices: grid.ordered(&order) }
    }

    /// Writes the tiling like a sharding of Shardy: `[{"x"}, {}]`.
    pub fn show(&self, grid: &DeviceGrid) -> String {
        let dims: Vec<String> = self.dims.iter().map(|axes| format!("{{{}}}", grid.show(axes))).collect();
        format!("[{}]", dims.join(", "))
    }
}
