//! The devices of a program: a grid of sub-axes.
//!
//! Meshes and tile assignments name groups of devices in many ways: `["x"=2, "y"=4]`, `"y":(1)2`,
//! `devices=[4,2]<=[2,4]T(1,0)`. In this crate, all these names are lists of *sub-axes*: the devices form a
//! grid, the size of each axis of the grid is a prime number, and an axis of a mesh is a sequence of such
//! sub-axes.

use farcall_ir::sharding::{AxisRef, Mesh};

/// Maximum number of devices of a program.
pub const MAX_DEVICES: usize = 1 << 16;

/// A sub-axis of a [`DeviceGrid`], by its index; the first changes slowest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SubAxis(u8);

/// The devices of a program, as a grid whose axes have prime sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceGrid {
    /// Size of each sub-axis.
    sizes: Vec<usize>,
    /// Number of the device at each position, row-major; empty if devices are numbered by their positions.
    numbers: Vec<usize>,
    /// Names and sizes of the axes of the program's first mesh.
    names: Vec<(String, usize)>,
    /// True if the program names the axes.
    is_named: bool,
}

impl DeviceGrid {
    /// Creates the grid of a mesh.
    ///
    /// # Errors
    /// A sentence that describes the problem: too many devices, two axes of one name, or device numbers that are
    /// not a permutation.
    pub fn of_mesh(mesh: &Mesh) -> Result<DeviceGrid, String> {
        let count = device_count(mesh)?;
        for (i, (name, _)) in mesh.axes.iter().enumerate() {
            if mesh.axes[..i].iter().any(|(other, _)| other == name) {
                return Err(format!("the mesh <{mesh}> has two axes \"{name}\""));
            }
        }
        let mut numbers: Vec<usize> = Vec::new();
        if !mesh.device_ids.is_empty() {
            let ids = mesh.device_ids.iter().map(|id| usize::try_from(*id).ok());
            numbers = ids.collect::<Option<_>>().unwrap_or_default();
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..count) {
                return Err(format!("the devices of a mesh are not numbered from 0 to {}", count - 1));
            }
            if numbers.iter().copied().eq(0..count) {
                numbers.clear();
            }
        }
        let sizes = mesh.axes.iter().flat_map(|(_, size)| prime_factors(*size)).collect();
        Ok(DeviceGrid { sizes, numbers, names: mesh.axes.clone(), is_named: true })
    }

    /// Creates the grid of devices that are numbered row-major in an array of these dimensions.
    ///
    /// # Errors
    /// A sentence if there are too many devices.
    pub fn of_dims(dims: &[usize]) -> Result<DeviceGrid, String> {
        let axes = dims.iter().enumerate().map(|(i, size)| (format!("d{i}"), *size)).collect();
        let grid = DeviceGrid::of_mesh(&Mesh { axes, device_ids: Vec::new() })?;
        Ok(DeviceGrid { is_named: false, ..grid })
    }

    /// Returns the number of devices.
    pub fn devices(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Returns the size of a sub-axis.
    pub fn size(&self, axis: SubAxis) -> usize {
        self.sizes[usize::from(axis.0)]
    }

    /// Returns the number of parts into which sub-axes divide a dimension.
    pub fn parts(&self, axes: &[SubAxis]) -> usize {
        axes.iter().map(|axis| self.size(*axis)).product()
    }

    /// Returns every sub-axis.
    pub fn sub_axes(&self) -> impl Iterator<Item = SubAxis> + use<> {
        (0..self.sizes.len() as u8).map(SubAxis)
    }

    /// Returns the sub-axes of the axes of a mesh, from major to minor.
    ///
    /// # Errors
    /// A sentence: the mesh cannot be divided into this grid's sub-axes, or lacks an axis.
    pub fn sub_axes_of(&self, mesh: &Mesh, axes: &[AxisRef]) -> Result<Vec<SubAxis>, String> {
        let order = self.order_of(mesh)?;
        let mut found = Vec::new();
        for axis in axes {
            let place = mesh.axes.iter().position(|(name, _)| *name == axis.name);
            let place = place.ok_or_else(|| format!("the mesh has no axis \"{}\"", axis.name))?;
            let before: usize = mesh.axes[..place].iter().map(|(_, size)| prime_factors(*size).len()).sum();
            let size = mesh.axes[place].1;
            let (skipped, size) = axis.part.unwrap_or((1, size));
            let all = order[before..].iter().copied().take(prime_factors(mesh.axes[place].1).len());
            let error = || format!("the axis \"{}\" of the mesh has no part {axis}", axis.name);
            let mut all = all.peekable();
            self.take(&mut all, skipped).ok_or_else(error)?;
            found.extend(self.take(&mut all, size).ok_or_else(error)?);
        }
        Ok(found)
    }

    /// Takes sub-axes whose sizes have this product; `None` if the next sub-axes have another product.
    fn take(&self, axes: &mut impl Iterator<Item = SubAxis>, product: usize) -> Option<Vec<SubAxis>> {
        let mut left = product;
        let mut taken = Vec::new();
        while left > 1 {
            let axis = axes.next()?;
            if !left.is_multiple_of(self.size(axis)) {
                return None;
            }
            left /= self.size(axis);
            taken.push(axis);
        }
        Some(taken)
    }

    /// Returns the sub-axes of all axes of a mesh, whose devices may be in another order than this grid's.
    fn order_of(&self, mesh: &Mesh) -> Result<Vec<SubAxis>, String> {
        let own = DeviceGrid::of_mesh(mesh)?;
        if (&own.sizes, &own.numbers) == (&self.sizes, &self.numbers) {
            return Ok(self.sub_axes().collect());
        }
        let devices: Vec<usize> = (0..own.devices()).map(|position| own.device(position)).collect();
        let axes = self.listed_tile_axes(&own.sizes, &devices).map_err(|_| {
            format!(
                "the mesh <{mesh}> divides the devices in another way than the first mesh of the program; \
                 programs whose meshes cannot be divided into the same axes are not supported"
            )
        })?;
        Ok(axes.concat())
    }

    /// Returns the sub-axes that divide each tile dimension of a tile assignment. `dims` and `permutation`
    /// describe the order of the devices (`<=[2,4]T(1,0)`), and `tiles` has the number of tiles in each
    /// dimension.
    ///
    /// # Errors
    /// A sentence if the number of tiles in a dimension is not the product of consecutive sub-axes.
    pub fn tile_axes(
        &self,
        tiles: &[usize],
        dims: &[usize],
        permutation: &[usize],
    ) -> Result<Vec<Vec<SubAxis>>, String> {
        let error = || {
            format!(
                "the tiles {tiles:?} of devices {dims:?} in the order {permutation:?} are not products of \
                 the axes of the program's devices"
            )
        };
        let mut sorted = permutation.to_vec();
        sorted.sort_unstable();
        if !self.numbers.is_empty() || !sorted.iter().copied().eq(0..dims.len()) || tiles.contains(&0) {
            return Err(error());
        }
        let mut axes = self.sub_axes();
        let groups: Option<Vec<Vec<SubAxis>>> = dims.iter().map(|size| self.take(&mut axes, *size)).collect();
        let groups = groups.filter(|_| axes.next().is_none()).ok_or_else(error)?;
        let ordered: Option<Vec<&Vec<SubAxis>>> = permutation.iter().map(|i| groups.get(*i)).collect();
        let mut ordered = ordered.ok_or_else(error)?.into_iter().flatten().copied();
        let found: Option<Vec<Vec<SubAxis>>> =
            tiles.iter().map(|size| self.take(&mut ordered, *size)).collect();
        found.filter(|_| ordered.next().is_none()).ok_or_else(error)
    }

    /// Returns the sub-axes that divide each tile dimension, for devices that are listed one by one.
    ///
    /// # Errors
    /// A sentence if the number of tiles in a dimension is not the product of consecutive sub-axes.
    pub fn listed_tile_axes(&self, tiles: &[usize], devices: &[usize]) -> Result<Vec<Vec<SubAxis>>, String> {
        let error =
            || "the tiles of listed devices are not products of the axes of the program's devices".to_owned();
        if devices.len() != self.devices() {
            return Err(error());
        }
        // The distance between neighbors along the minor sub-axis is its stride, and so on outward.
        let mut order = Vec::new();
        let mut block = 1;
        while block < devices.len() {
            let next = devices[block];
            let axis =
                self.sub_axes().find(|axis| !order.contains(axis) && self.device_at(&[(*axis, 1)]) == next);
            let axis = axis.ok_or_else(error)?;
            order.push(axis);
            block *= self.size(axis);
        }
        order.reverse();
        if !self.positions(&order).eq(devices.iter().copied()) {
            return Err(error());
        }
        let mut order = order.into_iter();
        let found: Option<Vec<Vec<SubAxis>>> =
            tiles.iter().map(|size| self.take(&mut order, *size)).collect();
        found.filter(|_| order.next().is_none()).ok_or_else(error)
    }

    /// Returns true if the sub-axis `minor` is the next one after `major`.
    pub fn follows(&self, major: SubAxis, minor: SubAxis) -> bool {
        minor.0 == major.0 + 1
    }

    /// Returns the distance between the positions of neighbors along a sub-axis.
    pub fn stride(&self, axis: SubAxis) -> usize {
        self.sizes[usize::from(axis.0) + 1..].iter().product()
    }

    /// Returns true if devices are numbered by their positions.
    pub fn is_row_major(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Returns the number of the device at a position.
    pub fn device(&self, position: usize) -> usize {
        self.numbers.get(position).copied().unwrap_or(position)
    }

    /// Returns the device with these coordinates; its other coordinates are 0.
    fn device_at(&self, coordinates: &[(SubAxis, usize)]) -> usize {
        self.device(coordinates.iter().map(|(axis, i)| i * self.stride(*axis)).sum())
    }

    /// Returns the devices along sub-axes, the last of which changes fastest; other coordinates are 0.
    fn positions(&self, axes: &[SubAxis]) -> impl Iterator<Item = usize> {
        self.offsets(axes).into_iter().map(|position| self.device(position))
    }

    /// Returns all devices in the order of their coordinates along these sub-axes, which are all sub-axes;
    /// the last one changes fastest.
    pub fn ordered(&self, axes: &[SubAxis]) -> Vec<usize> {
        self.positions(axes).collect()
    }

    /// Returns the positions along sub-axes, the last of which changes fastest; other coordinates are 0.
    fn offsets(&self, axes: &[SubAxis]) -> Vec<usize> {
        let mut offsets = vec![0];
        for axis in axes {
            let stride = self.stride(*axis);
            let size = self.size(*axis);
            offsets = offsets.into_iter().flat_map(|at| (0..size).map(move |i| at + i * stride)).collect();
        }
        offsets
    }

    /// Returns the groups of devices that differ only along sub-axes. Members are ordered by their
    /// coordinates, of which the last changes fastest.
    pub fn groups(&self, axes: &[SubAxis]) -> Vec<Vec<usize>> {
        let others: Vec<SubAxis> = self.sub_axes().filter(|axis| !axes.contains(axis)).collect();
        let members = self.offsets(axes);
        let group = |at: usize| members.iter().map(|member| self.device(at + member)).collect();
        self.offsets(&others).into_iter().map(group).collect()
    }

    /// Returns the coordinate of a position along sub-axes, as one number.
    pub fn coordinate(&self, position: usize, axes: &[SubAxis]) -> usize {
        let along = |axis: SubAxis| position / self.stride(axis) % self.size(axis);
        axes.iter().fold(0, |at, axis| at * self.size(*axis) + along(*axis))
    }

    /// Returns the longest start of a list of sub-axes that consists of complete axes of the program's mesh.
    /// If the program names no axes, that is the list.
    pub fn complete_axes<'a>(&self, axes: &'a [SubAxis]) -> &'a [SubAxis] {
        let mut complete = 0;
        while self.is_named && complete < axes.len() {
            let (_, start, sizes) = self.named(axes[complete]);
            let all = (start..start + sizes.len() as u8).map(SubAxis);
            if !axes[complete..].iter().copied().take(sizes.len()).eq(all) {
                return &axes[..complete];
            }
            complete += sizes.len();
        }
        axes
    }

    /// Writes sub-axes with the names of the first mesh: `"x", "y":(1)2`.
    pub fn show(&self, axes: &[SubAxis]) -> String {
        let mut shown: Vec<String> = Vec::new();
        let mut rest = axes;
        while let [first, ..] = rest {
            let (name, start, sizes) = self.named(*first);
            let run =
                rest.iter().zip(first.0..start + sizes.len() as u8).take_while(|(axis, i)| axis.0 == *i);
            let run = run.count();
            let before: usize = sizes[..usize::from(first.0 - start)].iter().product();
            let size = self.parts(&rest[..run]);
            shown.push(match run == sizes.len() {
                true => format!("\"{name}\""),
                false => format!("\"{name}\":({before}){size}"),
            });
            rest = &rest[run..];
        }
        shown.join(", ")
    }

    /// Returns the axis of the first mesh that a sub-axis belongs to: its name, its first sub-axis, and the
    /// sizes of its sub-axes.
    fn named(&self, axis: SubAxis) -> (&str, u8, Vec<usize>) {
        let mut start = 0;
        for (name, size) in &self.names {
            let sizes = prime_factors(*size);
            if usize::from(axis.0 - start) < sizes.len() {
                return (name, start, sizes);
            }
            start += sizes.len() as u8;
        }
        ("", axis.0, vec![self.size(axis)])
    }
}

/// Returns the number of devices of a mesh.
fn device_count(mesh: &Mesh) -> Result<usize, String> {
    let count = mesh.axes.iter().try_fold(1_usize, |n, (_, size)| n.checked_mul(*size));
    let count = count.filter(|n| (1..=MAX_DEVICES).contains(n));
    count.ok_or_else(|| format!("the mesh <{mesh}> does not have 1 to {MAX_DEVICES} devices"))
}

/// Returns the prime factors of a number in ascending order; none for 0 and 1.
fn prime_factors(mut n: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut p = 2;
    while n > 1 {
        while n.is_multiple_of(p) {
            factors.push(p);
            n /= p;
        }
        p += 1;
        if p * p > n && n > 1 {
            factors.push(n);
            break;
        }
    }
    factors
}
