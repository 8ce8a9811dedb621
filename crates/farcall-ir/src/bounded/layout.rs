//! Operations whose results depend on the positions of elements. Their lowerings move the elements so that
//! the padding is last.

use farcall_sig::DType;

use super::{Lowering, Tracked, clamped, masked, scalar, scalar_op, unsupported};
use crate::diag::Diagnostic;
use crate::expand::builder::Builder;
use crate::module::{Inst, NewInst, RegionId, ValueId, ValueMap};
use crate::op::{Binary, ComparisonDirection, Gather, Op, Pad};
use crate::types::{TensorType, Type};

/// Ranges of operand and result dimensions with equal products of sizes.
type Group = (std::ops::Range<usize>, std::ops::Range<usize>);

impl<'m> Lowering<'m> {
    pub(super) fn dynamic_reshape(&mut self, inst: Inst<'m>, operands: &[Tracked]) -> Result<(), Diagnostic> {
        let [x, shape] = operands else { return Err(unsupported(inst, "an operand with")) };
        let sizes = self.sizes_from(inst, shape.id);
        self.reshape(inst, x, Some(sizes))
    }

    /// Reshapes a tensor. Without `sizes`, the sizes of the result follow from the operand's.
    pub(super) fn reshape(
        &mut self,
        inst: Inst<'m>,
        x: &Tracked,
        sizes: Option<Vec<Option<ValueId>>>,
    ) -> Result<(), Diagnostic> {
        let (from, to) = (self.ty(x.id), self.result(inst)?);
        let groups = groups(from.sizes(), to.sizes());
        let sizes = match sizes {
            Some(sizes) => sizes,
            None => self.reshaped_sizes(inst, x, &to, &groups)?,
        };
        // In a group whose only tracked dimension is the outermost, the padding is last before and after the
        // reshape.
        let is_outermost = |sizes: &[Option<ValueId>], dims: &[usize]| {
            let first = dims.iter().position(|d| *d != 1).unwrap_or(0);
            sizes.iter().enumerate().all(|(d, size)| size.is_none() || d <= first)
        };
        let stays = from.elements() != to.elements()
            || from.elements() == Some(0)
            || groups.iter().all(|(old, new)| {
                is_outermost(&x.sizes[old.clone()], &from.sizes()[old.clone()])
                    && is_outermost(&sizes[new.clone()], &to.sizes()[new.clone()])
            });
        // The elements are numbered with integers of type `i32`.
        if !stays && to.elements().is_none_or(|n| i32::try_from(n).is_err()) {
            return Err(unsupported(inst, "more than 2³¹ elements along"));
        }
        let mut b = self.at(inst);
        let id = if stays { b.emit(Op::Reshape, &[x.id], to) } else { rearranged(&mut b, x, &to, &sizes) };
        self.bind(inst, Tracked { id, sizes });
        Ok(())
    }

    fn reshaped_sizes(
        &mut self,
        inst: Inst<'m>,
        x: &Tracked,
        to: &TensorType,
        groups: &[Group],
    ) -> Result<Vec<Option<ValueId>>, Diagnostic> {
        let from = self.ty(x.id);
        let declared = inst.results().first().and_then(|r| inst.func().tensor(*r));
        let is_declared = |d: usize| declared.and_then(|t| t.get_dim(d)?.bound()).is_some();
        let mut sizes = vec![None; to.rank()];
        for (old, new) in groups {
            if x.sizes[old.clone()].iter().all(Option::is_none) || new.is_empty() {
                continue;
            }
            if from.sizes()[old.clone()] == to.sizes()[new.clone()] {
                sizes[new.clone()].copy_from_slice(&x.sizes[old.clone()]);
                continue;
            }
            let chosen: Vec<usize> = new.clone().filter(|d| is_declared(*d)).collect();
            let plain: Vec<usize> = new.clone().filter(|d| to.sizes()[*d] != 1).collect();
            let [dim] = if chosen.is_empty() { plain } else { chosen }[..] else {
                return Err(unsupported(inst, "several dimensions that may stand for"));
            };
            let mut b = self.at(inst);
            let total = product(&mut b, &x.sizes[old.clone()], &from.sizes()[old.clone()]);
            let others = new.clone().filter(|d| *d != dim).map(|d| to.sizes()[d]);
            let others = scalar(&mut b, others.fold(1, usize::saturating_mul));
            let size = scalar_op(&mut b, Binary::Divide, total, others);
            sizes[dim] = Some(clamped(&mut b, size, to.sizes()[dim]));
        }
        Ok(sizes)
    }

    /// Writes the operands one after another, so that each overwrites the padding of the previous operand.
    pub(super) fn concatenate(
        &mut self,
        inst: Inst<'m>,
        operands: &[Tracked],
        dim: usize,
    ) -> Result<(), Diagnostic> {
        let to = self.result(inst)?;
        let mut sizes: Vec<Option<ValueId>> =
            (0..to.rank()).map(|d| operands.iter().find_map(|x| x.sizes[d]).filter(|_| d != dim)).collect();
        if operands.iter().all(|x| x.sizes[dim].is_none()) {
            let ids = self.emit(inst, operands.iter().map(|x| x.id).collect())?;
            self.bind(inst, Tracked { id: ids[0], sizes });
            return Ok(());
        }
        let mut b = self.at(inst);
        let zero = scalar(&mut b, 0);
        let mut joined = b.splat(0.0, to.dtype, to.sizes());
        let mut end = zero;
        for x in operands {
            let mut arguments = vec![joined, x.id];
            arguments.extend((0..to.rank()).map(|d| if d == dim { end } else { zero }));
            joined = b.emit(Op::DynamicUpdateSlice, &arguments, to.clone());
            let size = x.sizes[dim].unwrap_or_else(|| {
                let size = b.ty(x.id).sizes()[dim];
                scalar(&mut b, size)
            });
            end = scalar_op(&mut b, Binary::Add, end, size);
        }
        sizes[dim] = Some(end);
        self.bind(inst, Tracked { id: joined, sizes });
        Ok(())
    }

    /// Reverses the dimensions. The elements are then behind the padding, so they are moved to the front.
    pub(super) fn reverse(&mut self, inst: Inst<'m>, x: &Tracked, dims: &[usize]) -> Result<(), Diagnostic> {
        let ty = self.ty(x.id);
        let ids = self.emit(inst, vec![x.id])?;
        let mut id = ids[0];
        let mut b = self.at(inst);
        for dim in dims {
            let Some(size) = x.sizes[*dim] else { continue };
            let bound = ty.sizes()[*dim];
            let (zero, all) = (scalar(&mut b, 0), scalar(&mut b, bound));
            let first = scalar_op(&mut b, Binary::Subtract, all, size);
            let none = vec![0; ty.rank()];
            let mut high = none.clone();
            high[*dim] = i64::try_from(bound).unwrap_or(i64::MAX);
            let mut doubled = ty.sizes().to_vec();
            doubled[*dim] = bound.saturating_mul(2);
            let fill = b.splat(0.0, ty.dtype, &[]);
            let pad = Pad { low: none.clone(), high, interior: none };
            let padded = b.emit(Op::Pad(pad), &[id, fill], ty.with_sizes(doubled));
            let mut arguments = vec![padded];
            arguments.extend((0..ty.rank()).map(|d| if d == *dim { first } else { zero }));
            id = b.emit(Op::DynamicSlice { sizes: ty.sizes().to_vec() }, &arguments, ty.clone());
        }
        self.bind(inst, Tracked { id, sizes: x.sizes.clone() });
        Ok(())
    }

    /// Sorts with an additional operand that is true for padding. The comparator compares this operand first.
    pub(super) fn sort(
        &mut self,
        inst: Inst<'m>,
        operands: Vec<Tracked>,
        dim: usize,
    ) -> Result<(), Diagnostic> {
        let rank = operands[0].sizes.len();
        let sizes: Vec<Option<ValueId>> =
            (0..rank).map(|d| operands.iter().find_map(|x| x.sizes[d])).collect();
        let mut ids: Vec<ValueId> = operands.iter().map(|x| x.id).collect();
        let Some(size) = sizes[dim] else {
            let results = self.emit(inst, ids)?;
            for (result, id) in inst.results().iter().zip(results) {
                self.values.insert(*result, Tracked { id, sizes: sizes.clone() });
            }
            return Ok(());
        };
        let Some(comparator) = inst.region(0) else { return Err(unsupported(inst, "an operand with")) };
        let mut map = ValueMap::default();
        for free in inst.free_values() {
            if self.values[&free].is_tracked() {
                return Err(unsupported(inst, "a region that uses"));
            }
            map.insert(free, self.values[&free].id);
        }
        let ty = self.ty(ids[0]);
        let mut b = self.at(inst);
        let (no, yes) = (b.splat(0.0, DType::Pred, ty.sizes()), b.splat(1.0, DType::Pred, &[]));
        let padding = masked(&mut b, no, dim, size, yes);
        ids.push(padding);

        let region = self.to.new_region();
        for arg in comparator.args() {
            let id = self.to.add_arg(region, comparator.func()[*arg].clone());
            map.insert(*arg, id);
        }
        let [left, right] = [(); 2].map(|()| self.to.add_arg(region, TensorType::scalar(DType::Pred).into()));
        for part in comparator.insts().filter(|part| *part.op() != Op::Return) {
            let copy = self.to.import_inst(part, &mut map);
            self.to.append(region, copy);
        }
        let less = comparator.returned().first().and_then(|v| map.get(v)).copied();
        let Some(less) = less else { return Err(unsupported(inst, "an operand with")) };
        let answer = self.padding_last(inst, region, [left, right], less);
        self.to.push(region, NewInst::new(Op::Return, [answer]).at(inst.span(), None), []);

        let new = NewInst::new(inst.op().clone(), ids.iter().copied()).at(inst.span(), inst.loc().cloned());
        let new = NewInst { attrs: inst.attrs().clone(), ..new }.with_regions([region]);
        let types: Vec<Type> = ids.iter().map(|id| self.to[*id].clone()).collect();
        let id = self.to.push(self.out, new, types);
        let results = self.to.inst(id).results().to_vec();
        for (result, id) in inst.results().iter().zip(results) {
            self.values.insert(*result, Tracked { id, sizes: sizes.clone() });
        }
        Ok(())
    }

    /// Extends a comparator, whose result is `less`, so that elements come before padding.
    fn padding_last(
        &mut self,
        inst: Inst<'m>,
        region: RegionId,
        [left, right]: [ValueId; 2],
        less: ValueId,
    ) -> ValueId {
        let mut b = Builder::at_end_of(&mut self.to, region, inst);
        let differ = b.is(ComparisonDirection::Ne, left, right);
        b.select(differ, right, less)
    }
}

/// Splits the dimensions of a reshape into the smallest groups with equal products of sizes.
fn groups(from: &[usize], to: &[usize]) -> Vec<Group> {
    if from.contains(&0) || to.contains(&0) {
        return vec![(0..from.len(), 0..to.len())];
    }
    let (mut groups, mut i, mut j) = (Vec::new(), 0, 0);
    while i < from.len() || j < to.len() {
        let (first, start) = (i, j);
        let (mut old, mut new) = (1_usize, 1_usize);
        loop {
            if old <= new && i < from.len() && (old < new || i == first) {
                old = old.saturating_mul(from[i]);
                i += 1;
            } else if j < to.len() && (new < old || j == start) {
                new = new.saturating_mul(to[j]);
                j += 1;
            } else {
                break;
            }
        }
        // Dimensions of size 1 at the end belong to the last group.
        if to[j..].iter().all(|d| *d == 1) && i == from.len() {
            j = to.len();
        }
        if from[i..].iter().all(|d| *d == 1) && j == to.len() {
            i = from.len();
        }
        groups.push((first..i, start..j));
    }
    groups
}

/// The product of sizes, some of which are tracked.
fn product(b: &mut Builder<'_>, sizes: &[Option<ValueId>], dims: &[usize]) -> ValueId {
    let constant = dims.iter().zip(sizes).filter(|(_, size)| size.is_none()).map(|(d, _)| *d);
    let constant = scalar(b, constant.fold(1, usize::saturating_mul));
    sizes.iter().flatten().fold(constant, |total, size| scalar_op(b, Binary::Multiply, total, *size))
}

/// Reshapes a padded tensor to the padded shape `to`. The elements that are not padding keep their row-major
/// order, and fill the part of the result within `sizes`.
fn rearranged(b: &mut Builder<'_>, x: &Tracked, to: &TensorType, sizes: &[Option<ValueId>]) -> ValueId {
    let from = b.ty(x.id);
    let dims = to.sizes().to_vec();
    let along = |b: &mut Builder<'_>, op: Binary, a: ValueId, size: ValueId| {
        let size = b.broadcast(size, &[], &dims);
        b.emit(Op::Binary(op), &[a, size], TensorType::new(DType::S32, dims.clone()))
    };
    // For each result element, its number among the elements that are not padding, in row-major order.
    let mut number = b.splat(0.0, DType::S32, &dims);
    for d in 0..dims.len() {
        let index = b.iota(DType::S32, &dims, d);
        let stride = product(b, &sizes[d + 1..], &dims[d + 1..]);
        let index = along(b, Binary::Multiply, index, stride);
        number = b.emit(Op::Binary(Binary::Add), &[number, index], TensorType::new(DType::S32, dims.clone()));
    }
    // The position of the element with this number in the padded operand, as a row-major index.
    let mut position = b.splat(0.0, DType::S32, &dims);
    let mut stride = 1_usize;
    for (d, size) in x.sizes.iter().enumerate().rev() {
        let limit = match size {
            Some(size) => {
                let one = scalar(b, 1);
                scalar_op(b, Binary::Maximum, *size, one)
            }
            None => scalar(b, from.sizes()[d]),
        };
        let index = if d == 0 { number } else { along(b, Binary::Remainder, number, limit) };
        let steps = scalar(b, stride);
        let index = along(b, Binary::Multiply, index, steps);
        position =
            b.emit(Op::Binary(Binary::Add), &[position, index], TensorType::new(DType::S32, dims.clone()));
        if d > 0 {
            number = along(b, Binary::Divide, number, limit);
        }
        stride = stride.saturating_mul(from.sizes()[d]);
    }
    let flat = b.reshape(x.id, &[stride]);
    let gather = Gather {
        offset_dims: Vec::new(),
        collapsed_slice_dims: vec![0],
        operand_batching_dims: Vec::new(),
        start_indices_batching_dims: Vec::new(),
        start_index_map: vec![0],
        index_vector_dim: dims.len(),
        slice_sizes: vec![1],
        indices_are_sorted: false,
    };
    b.emit(Op::Gather(Box::new(gather)), &[flat, position], to.clone())
}
