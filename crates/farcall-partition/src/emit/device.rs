//! The device's place among the others, and the collectives that change and combine parts.

use std::ops::Range;

use farcall_ir::builder::Builder;
use farcall_ir::module::NewInst;
use farcall_ir::op::{
    AllGather, AllToAll, Binary, Channel, CollectivePermute, Compare, ComparisonDirection, Groups, Op, Pad,
    ReduceScatter, Slice,
};
use farcall_ir::{DType, Literal, Scalar, TensorType, Type, ValueId};
use farcall_sig::DTypeClass;

use super::{Emitted, Emitter};
use crate::grid::SubAxis;
use crate::reshard::{self, Step, scattered};
use crate::tiling::Tiling;

impl Emitter<'_> {
    /// Returns the first index of the device's part along a dimension: its coordinate along sub-axes times
    /// the size of a part.
    pub(super) fn offset(&mut self, axes: &[SubAxis], part_size: usize, dtype: DType) -> Emitted<ValueId> {
        let at = self.coordinate(axes)?;
        let scalar = TensorType::scalar(dtype);
        let at = self.at().value_of(Op::Convert, [at], scalar.clone())?;
        let size = self.number(part_size, dtype)?;
        self.at().value_of(Op::Binary(Binary::Multiply), [at, size], scalar)
    }

    /// Returns the index in the complete tensor of each element of the device's part along a dimension that
    /// is divided along sub-axes. `sizes` are the sizes of the part.
    pub(super) fn indices(&mut self, dim: usize, sizes: &[usize], axes: &[SubAxis]) -> Emitted<ValueId> {
        // Sums in a smaller type may wrap.
        let wide = TensorType::new(DType::S64, sizes.to_vec());
        let indices = self.at().value_of(Op::Iota { dim }, [], wide.clone())?;
        let offset = self.offset(axes, sizes[dim], DType::S64)?;
        let offset = self.splat(offset, wide)?;
        self.at().value(Op::Binary(Binary::Add), [indices, offset])
    }

    /// Broadcasts a scalar.
    pub(super) fn splat(&mut self, scalar: ValueId, ty: TensorType) -> Emitted<ValueId> {
        self.at().value_of(Op::BroadcastInDim { dims: Vec::new() }, [scalar], ty)
    }

    pub(super) fn number(&mut self, n: usize, dtype: DType) -> Emitted<ValueId> {
        let scalar = match dtype.class() {
            DTypeClass::Unsigned => Scalar::Unsigned(n as u64),
            _ => Scalar::Signed(n as i64),
        };
        let literal = Literal::scalar(dtype, scalar);
        self.at().value_of(Op::Constant(literal), [], TensorType::scalar(dtype))
    }

    /// Returns the device's coordinate along sub-axes as one `ui32`.
    pub(super) fn coordinate(&mut self, axes: &[SubAxis]) -> Emitted<ValueId> {
        if let Some(found) = self.scopes.last().and_then(|scope| scope.coordinates.get(axes)) {
            return Ok(*found);
        }
        let position = self.position()?;
        let scalar = TensorType::scalar(DType::U32);
        let binary = |this: &mut Self, function, a, b| {
            this.at().value_of(Op::Binary(function), [a, b], scalar.clone())
        };
        let mut sum: Option<ValueId> = None;
        let mut rest = axes;
        while !rest.is_empty() {
            // Neighboring sub-axes are one axis.
            let run = (1..rest.len())
                .find(|i| !self.program.grid.follows(rest[i - 1], rest[*i]))
                .unwrap_or(rest.len());
            let (axes, after) = rest.split_at(run);
            rest = after;
            let (stride, size) = (self.program.grid.stride(axes[run - 1]), self.program.grid.parts(axes));
            let mut along = position;
            if stride > 1 {
                let stride = self.number(stride, DType::U32)?;
                along = binary(self, Binary::Divide, along, stride)?;
            }
            if stride * size < self.program.grid.devices() {
                let size = self.number(size, DType::U32)?;
                along = binary(self, Binary::Remainder, along, size)?;
            }
            sum = Some(match sum {
                None => along,
                Some(sum) => {
                    let size = self.number(size, DType::U32)?;
                    let shifted = binary(self, Binary::Multiply, sum, size)?;
                    binary(self, Binary::Add, shifted, along)?
                }
            });
        }
        let at = match sum {
            Some(sum) => sum,
            None => self.number(0, DType::U32)?,
        };
        let scope = self.scopes.last_mut().expect("a region is being written");
        scope.coordinates.insert(axes.to_vec(), at);
        Ok(at)
    }

    /// Returns the device's position in the grid.
    pub(super) fn position(&mut self) -> Emitted<ValueId> {
        if let Some(found) = self.scopes.last().and_then(|scope| scope.partition) {
            return Ok(found);
        }
        let scalar = TensorType::scalar(DType::U32);
        let mut position = self.at().value_of(Op::PartitionId, [], scalar.clone())?;
        if !self.program.grid.is_row_major() {
            let count = self.program.grid.devices();
            let mut positions = vec![0_u32; count];
            (0..count).for_each(|position| positions[self.program.grid.device(position)] = position as u32);
            let table = Literal::from_slice(DType::U32, [count], &positions);
            let ty = table.ty();
            let table = self.at().value_of(Op::Constant(table), [], ty)?;
            let one = scalar.with_sizes([1]);
            let entry = self.at().value_of(Op::DynamicSlice { sizes: vec![1] }, [table, position], one)?;
            position = self.at().value_of(Op::Reshape, [entry], scalar)?;
        }
        self.scopes.last_mut().expect("a region is being written").partition = Some(position);
        Ok(position)
    }

    pub(super) fn groups(&mut self, axes: &[SubAxis]) -> Groups {
        let groups = self.program.grid.groups(axes);
        let width = groups.first().map_or(0, Vec::len);
        let ids: Vec<i64> = groups.iter().flatten().map(|device| *device as i64).collect();
        Groups {
            ids: Literal::from_slice(DType::S64, [groups.len(), width], &ids),
            channel: Some(self.channel()),
            global_ids: true,
        }
    }

    pub(super) fn channel(&mut self) -> Channel {
        let handle = self.next_channel;
        self.next_channel += 1;
        Channel { handle, kind: 1 }
    }

    // --- collectives

    /// Changes the tiling of a tensor.
    pub(super) fn reshard(
        &mut self,
        part: ValueId,
        ty: &TensorType,
        from: &Tiling,
        to: &Tiling,
    ) -> Emitted<ValueId> {
        let mut now = from.clone();
        let mut part = part;
        for step in reshard::plan(self.program.grid, ty.sizes(), from, to) {
            let before = self.part_of(ty, &now);
            reshard::apply(&mut now, &step);
            part = self.step(part, &step, &before, &self.part_of(ty, &now))?;
        }
        Ok(part)
    }

    /// Emits a step of a resharding, from a part of the type `before` to one of the type `ty`.
    pub(super) fn step(
        &mut self,
        part: ValueId,
        step: &Step,
        before: &TensorType,
        ty: &TensorType,
    ) -> Emitted<ValueId> {
        let grid = self.program.grid;
        let joined = |dim: usize, axes: &[SubAxis]| before.sizes()[dim] * grid.parts(axes);
        let divided = |dim: usize, axes: &[SubAxis]| ty.sizes()[dim] * grid.parts(axes);
        match step {
            Step::Slice { dim, axes } => {
                let elements = divided(*dim, axes);
                let mut operands = vec![self.padded(part, *dim, elements)?];
                let index = if i32::try_from(elements).is_ok() { DType::S32 } else { DType::S64 };
                for d in 0..ty.rank() {
                    operands.push(match d == *dim {
                        true => self.offset(axes, ty.sizes()[d], index)?,
                        false => self.number(0, index)?,
                    });
                }
                let op = Op::DynamicSlice { sizes: ty.sizes().to_vec() };
                self.at().value_of(op, operands, ty.clone())
            }
            Step::Gather { dim, axes } => {
                let op = AllGather { dim: *dim, groups: self.groups(axes) };
                let gathered = with_size(before, *dim, joined(*dim, axes));
                let part = self.moved("all_gather", Op::AllGather(Box::new(op)), part, &gathered)?;
                self.section(part, *dim, 0..ty.sizes()[*dim])
            }
            Step::AllToAll { from, to, axes } => {
                let part = self.padded(part, *to, divided(*to, axes))?;
                // A channel alone makes the group's numbers partitions.
                let groups = Groups { global_ids: false, ..self.groups(axes) };
                let split_count = grid.parts(axes);
                let op = AllToAll { split_dim: *to, concat_dim: *from, split_count, groups };
                let moved = with_size(ty, *from, joined(*from, axes));
                let part = self.moved("all_to_all", Op::AllToAll(Box::new(op)), part, &moved)?;
                self.section(part, *from, 0..ty.sizes()[*from])
            }
            Step::Permute { from, to } => self.permuted(part, &reshard::pairs(grid, from, to)),
        }
    }

    /// Sends a part from the first device of each pair to the second. Devices that receive nothing have
    /// zeros.
    pub(super) fn permuted(&mut self, part: ValueId, pairs: &[(usize, usize)]) -> Emitted<ValueId> {
        let ty = self.type_of_part(part).clone();
        let ids: Vec<i64> = pairs.iter().flat_map(|(from, to)| [*from as i64, *to as i64]).collect();
        let pairs = Literal::from_slice(DType::S64, [pairs.len(), 2], &ids);
        let op = CollectivePermute { pairs, channel: Some(self.channel()) };
        self.moved("collective_permute", Op::CollectivePermute(Box::new(op)), part, &ty)
    }

    /// Emits a collective.
    fn moved(&mut self, name: &'static str, op: Op, part: ValueId, ty: &TensorType) -> Emitted<ValueId> {
        self.report_moved(name, ty);
        self.at().value_of(op, [part], ty.clone())
    }

    /// Appends padding to a dimension, up to a size. Zeros would hide that an operation reads padding.
    pub(super) fn padded(&mut self, part: ValueId, dim: usize, size: usize) -> Emitted<ValueId> {
        let ty = self.type_of_part(part).clone();
        let missing = size - ty.sizes()[dim];
        if missing == 0 {
            return Ok(part);
        }
        let fill = Scalar::extreme(ty.dtype, true).unwrap_or_else(|| Scalar::zero(ty.dtype));
        let fill = Literal::scalar(ty.dtype, fill);
        let fill = self.at().value_of(Op::Constant(fill), [], ty.with_sizes([]))?;
        let none = vec![0; ty.rank()];
        let mut high = none.clone();
        high[dim] = missing as i64;
        let op = Op::Pad(Pad { low: none.clone(), high, interior: none });
        self.at().value_of(op, [part, fill], with_size(&ty, dim, size))
    }

    /// Returns a range of elements along a dimension.
    pub(super) fn section(&mut self, part: ValueId, dim: usize, range: Range<usize>) -> Emitted<ValueId> {
        let ty = self.type_of_part(part).clone();
        if range == (0..ty.sizes()[dim]) {
            return Ok(part);
        }
        let (mut start, mut limit) = (vec![0; ty.rank()], ty.sizes().to_vec());
        (start[dim], limit[dim]) = (range.start, range.end);
        let slice = Op::Slice(Slice { start, limit, strides: vec![1; ty.rank()] });
        self.at().value_of(slice, [part], with_size(&ty, dim, range.len()))
    }

    /// Combines summands that the devices along `axes` hold. If the wanted tiling divides the sum along these
    /// sub-axes, each device receives its part only, and `tiling` changes.
    pub(super) fn combine(
        &mut self,
        part: ValueId,
        ty: &TensorType,
        function: Binary,
        axes: &[SubAxis],
        tiling: &mut Tiling,
        wanted: &Tiling,
    ) -> Emitted<ValueId> {
        let mut part = part;
        let mut rest = axes.to_vec();
        for (dim, axes) in scattered(self.program.grid, ty.sizes(), (tiling, wanted), axes) {
            tiling.dims[dim].extend(&axes);
            rest.retain(|axis| !axes.contains(axis));
            let of_part = self.part_of(ty, tiling);
            let padded = self.padded(part, dim, of_part.sizes()[dim] * self.program.grid.parts(&axes))?;
            let groups = self.groups(&axes);
            let op = Op::ReduceScatter(Box::new(ReduceScatter { dim, groups }));
            part = self.reduction(op, padded, function, &of_part, "reduce_scatter")?;
        }
        if !rest.is_empty() {
            let op = Op::AllReduce(Box::new(self.groups(&rest)));
            part = self.reduction(op, part, function, &self.part_of(ty, tiling), "all_reduce")?;
        }
        Ok(part)
    }

    pub(super) fn reduction(
        &mut self,
        op: Op,
        part: ValueId,
        function: Binary,
        ty: &TensorType,
        name: &'static str,
    ) -> Emitted<ValueId> {
        let region = self.func.new_region();
        let scalar = Type::Tensor(ty.with_sizes([]));
        let args = [0, 1].map(|_| self.func.add_arg(region, scalar.clone()));
        let mut inside = Builder::at_end(&mut self.func, region).from_source(self.span, self.loc.clone());
        let sum = inside.value(Op::Binary(function), args)?;
        inside.inst(NewInst::new(Op::Return, [sum]))?;
        self.report_moved(name, ty);
        let new = NewInst::new(op, [part]).with_regions([region]);
        let made = self.inst(new, vec![Type::Tensor(ty.clone())])?;
        Ok(made[0])
    }

    /// Adds the summands that the devices along `axes` hold.
    pub(super) fn sum(&mut self, part: ValueId, axes: &[SubAxis]) -> Emitted<ValueId> {
        let Some(ty) = self.func.tensor(part).filter(|_| !axes.is_empty()).cloned() else { return Ok(part) };
        let op = Op::AllReduce(Box::new(self.groups(axes)));
        self.reduction(op, part, Binary::Add, &ty, "all_reduce")
    }

    /// Turns a value that all devices along `axes` hold into summands: the first device keeps it, and the
    /// others have zeros.
    pub(super) fn summand(&mut self, part: ValueId, axes: &[SubAxis]) -> Emitted<ValueId> {
        let Some(ty) = self.func.tensor(part).filter(|_| !axes.is_empty()).cloned() else { return Ok(part) };
        let at = self.coordinate(axes)?;
        let is_first = self.equals(at, 0)?;
        let zeros = self.zeros(&ty)?;
        self.at().value_of(Op::Select, [is_first, part, zeros], ty)
    }

    /// Returns whether a number of the type `ui32` is `n`.
    pub(super) fn equals(&mut self, number: ValueId, n: usize) -> Emitted<ValueId> {
        let n = self.number(n, DType::U32)?;
        let equal = Compare { direction: ComparisonDirection::Eq, kind: None };
        self.at().value(Op::Compare(equal), [number, n])
    }

    pub(super) fn zeros(&mut self, ty: &TensorType) -> Emitted<ValueId> {
        let zeros = Literal::splat(ty.dtype, ty.sizes().to_vec(), Scalar::zero(ty.dtype));
        self.at().value_of(Op::Constant(zeros), [], ty.clone())
    }
}

/// Returns a type with another size of one dimension.
pub(super) fn with_size(ty: &TensorType, dim: usize, size: usize) -> TensorType {
    let mut sizes = ty.sizes().to_vec();
    sizes[dim] = size;
    ty.with_sizes(sizes)
}
