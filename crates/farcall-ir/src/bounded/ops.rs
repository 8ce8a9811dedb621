//! The operations that compute padding along with elements.

use farcall_sig::DType;

use super::{Lowering, Tracked, clamped, has_bound, masked_by, scalar, scalar_op, unsupported, with_bounds};
use crate::diag::Diagnostic;
use crate::expand::builder::Builder;
use crate::literal::Literal;
use crate::module::{Inst, ValueId};
use crate::op::{Binary, ComparisonDirection, Gather, Op, Pad, Slice};
use crate::scalar::Scalar;
use crate::types::{Dim, TensorType};

impl<'m> Lowering<'m> {
    /// Lowers an instruction.
    pub(super) fn inst(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let operands = self.operands(inst);
        let module = self.module;
        let is_tracked = operands.iter().any(Tracked::is_tracked);
        let is_static = operands.iter().all(|x| self.to[x.id].tensors().all(TensorType::is_static));
        match inst.op() {
            Op::Call { callee } if is_tracked || self.is_affected(*callee) => {
                return self.inline(inst, &module[*callee]);
            }
            Op::Composite(op) if is_tracked || self.is_affected(op.decomposition) => {
                return self.inline(inst, &module[op.decomposition]);
            }
            Op::If | Op::Case => return self.branches(inst),
            Op::While => return self.while_loop(inst),
            // Dimensions without a bound cannot be masked: refinement has to find their sizes.
            _ if !is_static && is_tracked => {
                return Err(unsupported(inst, "a dimension without a bound next to"));
            }
            _ if !is_static => return self.copy(inst),
            Op::GetDimensionSize { dim } => return self.get_dimension_size(inst, &operands, *dim),
            Op::SetDimensionSize { dim } => return self.set_dimension_size(inst, operands, *dim),
            Op::DynamicReshape => return self.dynamic_reshape(inst, &operands),
            Op::DynamicBroadcastInDim { dims } => return self.dynamic_broadcast(inst, &operands, dims),
            Op::DynamicIota { dim } => return self.dynamic_iota(inst, &operands, *dim),
            Op::CustomCall(call) if call.target == "PadToStatic" => {
                return self.pad_to_static(inst, &operands);
            }
            Op::CustomCall(call) if call.target == "SliceToDynamic" => {
                return self.slice_to_dynamic(inst, &operands);
            }
            _ if !is_tracked => {
                let is_bounded = |result: &ValueId| inst.func().ty(*result).tensors().any(has_bound);
                if inst.results().iter().any(is_bounded) {
                    return Err(unsupported(inst, "a result with"));
                }
                return self.copy(inst);
            }
            _ => {}
        }
        match inst.op() {
            op if op.is_elementwise() || matches!(op, Op::Copy | Op::BitcastConvert | Op::Map { .. }) => {
                self.elementwise(inst, operands)
            }
            Op::OptimizationBarrier => {
                let (ids, sizes): (Vec<_>, Vec<_>) = operands.into_iter().map(|x| (x.id, x.sizes)).unzip();
                self.emit_sized(inst, ids, &sizes)
            }
            Op::BroadcastInDim { dims } => self.broadcast(inst, &operands, dims),
            Op::Transpose { permutation } => {
                let sizes = permutation.iter().map(|d| operands[0].sizes[*d]).collect();
                self.simple(inst, &operands, sizes)
            }
            Op::Reshape => self.reshape(inst, &operands[0], None),
            Op::Concatenate { dim } => self.concatenate(inst, &operands, *dim),
            Op::Reverse { dims } => self.reverse(inst, &operands[0], dims),
            Op::Sort { dim, .. } => self.sort(inst, operands, *dim),
            Op::Slice(slice) => self.slice(inst, &operands, slice),
            Op::Pad(pad) => self.pad(inst, &operands, pad),
            Op::Reduce { dims } => self.reduce(inst, operands, dims),
            Op::ReduceWindow(_) => self.reduce_window(inst, operands),
            Op::DotGeneral(_) => self.dot_general(inst, operands),
            Op::Convolution(_) => self.convolution(inst, operands),
            Op::Gather(gather) => self.gather(inst, &operands, gather),
            Op::Scatter(_) => self.scatter(inst, operands),
            Op::DynamicSlice { sizes } => self.dynamic_slice(inst, &operands, sizes),
            Op::DynamicUpdateSlice => self.dynamic_update_slice(inst, &operands),
            _ => Err(unsupported(inst, "an operand with")),
        }
    }

    /// Appends an instruction whose results have these sizes.
    fn simple(
        &mut self,
        inst: Inst<'m>,
        operands: &[Tracked],
        sizes: Vec<Option<ValueId>>,
    ) -> Result<(), Diagnostic> {
        self.emit_sized(inst, operands.iter().map(|value| value.id).collect(), &[sizes])
    }

    // --- sizes

    fn get_dimension_size(
        &mut self,
        inst: Inst<'m>,
        operands: &[Tracked],
        dim: usize,
    ) -> Result<(), Diagnostic> {
        // A dimension that is declared static has its declared size, even if the lowered operand is tracked.
        let declared = inst.func().tensor(inst.operands()[0]).and_then(|t| t.get_dim(dim)?.size());
        let size = operands[0].sizes.get(dim).copied().flatten();
        let bound = self.ty(operands[0].id).get_dim(dim).and_then(|d| d.size()).unwrap_or(0);
        let id = match (declared, size) {
            (None, Some(size)) => size,
            (declared, _) => scalar(&mut self.at(inst), declared.unwrap_or(bound)),
        };
        self.bind(inst, Tracked::untracked(id, 0));
        Ok(())
    }

    fn set_dimension_size(
        &mut self,
        inst: Inst<'m>,
        operands: Vec<Tracked>,
        dim: usize,
    ) -> Result<(), Diagnostic> {
        let [x, size] = operands.try_into().map_err(|_| unsupported(inst, "an operand with"))?;
        let Tracked { id, mut sizes } = x;
        let bound = self.ty(id).get_dim(dim).and_then(|d| d.size()).unwrap_or(0);
        let constant = match self.to.defining_inst(size.id).map(Inst::op) {
            Some(Op::Constant(literal)) => literal.iter().next().map(|n| n.as_i64()),
            _ => None,
        };
        if let Some(slot) = sizes.get_mut(dim) {
            let is_full = constant.and_then(|n| usize::try_from(n).ok()) == Some(bound);
            *slot = (!is_full).then(|| clamped(&mut self.at(inst), size.id, bound));
        }
        self.bind(inst, Tracked { id, sizes });
        Ok(())
    }

    /// Sizes of the bounded dimensions of a result, from the elements of its shape operand.
    pub(super) fn sizes_from(&mut self, inst: Inst<'m>, shape: ValueId) -> Vec<Option<ValueId>> {
        let declared: Vec<_> =
            inst.results().iter().filter_map(|r| inst.func().tensor(*r)).flat_map(TensorType::dims).collect();
        let ty = self.ty(shape);
        let mut b = self.at(inst);
        let element = |(i, dim): (usize, Dim)| {
            let slice = Slice { start: vec![i], limit: vec![i + 1], strides: vec![1] };
            let bound = dim.bound()?;
            let one = b.emit(Op::Slice(slice), &[shape], ty.with_sizes([1]));
            let one = b.reshape(one, &[]);
            let size = b.convert(one, DType::S32);
            Some(clamped(&mut b, size, bound))
        };
        declared.into_iter().enumerate().map(element).collect()
    }

    /// Lowers `PadToStatic`, a call that returns padded data and the sizes of all dimensions. The lowered
    /// operand is already padded.
    fn pad_to_static(&mut self, inst: Inst<'m>, operands: &[Tracked]) -> Result<(), Diagnostic> {
        let [x] = operands else { return Err(unsupported(inst, "an operand with")) };
        let dims = self.ty(x.id).sizes().to_vec();
        let Some((data, sizes)) = inst.results().split_first().filter(|(_, s)| s.len() == dims.len()) else {
            return Err(unsupported(inst, "an operand with"));
        };
        self.values.insert(*data, Tracked::untracked(x.id, dims.len()));
        for (result, (size, dim)) in sizes.iter().zip(x.sizes.iter().zip(&dims)) {
            let id = size.unwrap_or_else(|| scalar(&mut self.at(inst), *dim));
            self.values.insert(*result, Tracked::untracked(id, 0));
        }
        Ok(())
    }

    /// Lowers `SliceToDynamic`, a call that takes padded data and the sizes of all dimensions.
    fn slice_to_dynamic(&mut self, inst: Inst<'m>, operands: &[Tracked]) -> Result<(), Diagnostic> {
        let declared = inst.results().first().and_then(|r| inst.func().tensor(*r));
        let (Some((x, sizes)), Some(declared)) = (operands.split_first(), declared) else {
            return Err(unsupported(inst, "an operand with"));
        };
        if sizes.len() != declared.rank() || x.sizes.len() != declared.rank() {
            return Err(unsupported(inst, "an operand with"));
        }
        let mut b = self.at(inst);
        let pairs = declared.dims().zip(sizes);
        let sizes = pairs.map(|(dim, size)| Some(clamped(&mut b, size.id, dim.bound()?))).collect();
        self.bind(inst, Tracked { id: x.id, sizes });
        Ok(())
    }

    // --- elementwise

    fn elementwise(&mut self, inst: Inst<'m>, mut operands: Vec<Tracked>) -> Result<(), Diagnostic> {
        if *inst.op() == Op::BitcastConvert {
            let rank =
                inst.results().first().and_then(|r| inst.func().tensor(*r)).map_or(0, TensorType::rank);
            if rank != operands[0].sizes.len() {
                return Err(unsupported(inst, "an operand with"));
            }
        }
        let rank = operands.iter().map(|value| value.sizes.len()).max().unwrap_or(0);
        let sizes = (0..rank).map(|dim| self.common_size(inst, &mut operands, dim)).collect();
        self.simple(inst, &operands, sizes)
    }

    /// The size of a dimension that all operands share. If the sizes of the operands differ, operands of size
    /// 1 are broadcast, as in XLA. Among other sizes, the smallest counts.
    fn common_size(&mut self, inst: Inst<'m>, operands: &mut [Tracked], dim: usize) -> Option<ValueId> {
        let size_of = |value: &Tracked| value.sizes.get(dim).copied().flatten();
        let mut found: Vec<ValueId> = operands.iter().filter_map(size_of).collect();
        found.dedup();
        let (first, others) = found.split_first()?;
        if others.is_empty() {
            return Some(*first);
        }
        let mut b = self.at(inst);
        let mut common = *first;
        for size in others {
            let least = scalar_op(&mut b, Binary::Minimum, common, *size);
            let most = scalar_op(&mut b, Binary::Maximum, common, *size);
            let one = scalar(&mut b, 1);
            let broadcasts = b.is(ComparisonDirection::Eq, least, one);
            common = b.select(broadcasts, most, least);
        }
        for operand in operands {
            let Some(size) = size_of(operand) else { continue };
            let ty = b.ty(operand.id);
            let mut limit = ty.sizes().to_vec();
            if limit[dim] == 0 {
                continue;
            }
            limit[dim] = 1;
            let (start, strides) = (vec![0; limit.len()], vec![1; limit.len()]);
            let first_sizes = limit.clone();
            let slice = Op::Slice(Slice { start, limit, strides });
            let first = b.emit(slice, &[operand.id], ty.with_sizes(first_sizes));
            let dims: Vec<usize> = (0..ty.rank()).collect();
            let repeated = b.emit(Op::BroadcastInDim { dims }, &[first], ty.clone());
            let one = scalar(&mut b, 1);
            let is_one = b.is(ComparisonDirection::Eq, size, one);
            operand.id = b.emit(Op::Select, &[is_one, repeated, operand.id], ty);
        }
        Some(common)
    }

    // --- data

    fn broadcast(&mut self, inst: Inst<'m>, operands: &[Tracked], dims: &[usize]) -> Result<(), Diagnostic> {
        let result = self.result(inst)?;
        let from = self.ty(operands[0].id);
        let mut sizes = vec![None; result.rank()];
        for (i, dim) in dims.iter().enumerate() {
            if from.sizes()[i] == result.sizes()[*dim] {
                sizes[*dim] = operands[0].sizes[i];
            }
        }
        self.simple(inst, operands, sizes)
    }

    fn dynamic_broadcast(
        &mut self,
        inst: Inst<'m>,
        operands: &[Tracked],
        dims: &[usize],
    ) -> Result<(), Diagnostic> {
        let result = self.result(inst)?;
        let sizes = self.sizes_from(inst, operands[1].id);
        let from = self.ty(operands[0].id);
        let fits =
            |(i, dim): (usize, &usize)| from.sizes()[i] == 1 || from.sizes()[i] == result.sizes()[*dim];
        if !dims.iter().enumerate().all(fits) {
            return Err(unsupported(inst, "a result with"));
        }
        let op = Op::BroadcastInDim { dims: dims.to_vec() };
        let id = self.at(inst).emit(op, &[operands[0].id], result);
        self.bind(inst, Tracked { id, sizes });
        Ok(())
    }

    fn dynamic_iota(&mut self, inst: Inst<'m>, operands: &[Tracked], dim: usize) -> Result<(), Diagnostic> {
        let result = self.result(inst)?;
        let sizes = self.sizes_from(inst, operands[0].id);
        let id = self.at(inst).emit(Op::Iota { dim }, &[], result);
        self.bind(inst, Tracked { id, sizes });
        Ok(())
    }

    /// Returns the type of the only result, with the bounds as sizes.
    pub(super) fn result(&self, inst: Inst<'_>) -> Result<TensorType, Diagnostic> {
        let ty = inst.results().first().map(|r| with_bounds(&inst.func()[*r]));
        let ty = ty.as_ref().and_then(|ty| ty.tensor()).filter(|t| t.is_static());
        ty.cloned().ok_or_else(|| unsupported(inst, "a result with"))
    }

    /// Lowers a slice. A dimension that is taken whole stays tracked; a part of a dimension has a static
    /// size.
    fn slice(&mut self, inst: Inst<'m>, operands: &[Tracked], slice: &Slice) -> Result<(), Diagnostic> {
        let from = self.ty(operands[0].id);
        let whole =
            |d: usize| slice.start[d] == 0 && slice.strides[d] == 1 && slice.limit[d] == from.sizes()[d];
        let sizes = (0..from.rank()).map(|d| operands[0].sizes[d].filter(|_| whole(d))).collect();
        self.simple(inst, operands, sizes)
    }

    fn dynamic_slice(
        &mut self,
        inst: Inst<'m>,
        operands: &[Tracked],
        sizes: &[usize],
    ) -> Result<(), Diagnostic> {
        let from = self.ty(operands[0].id);
        let sizes = (0..from.rank()).map(|d| operands[0].sizes[d].filter(|_| sizes[d] == from.sizes()[d]));
        let sizes = sizes.collect();
        self.simple(inst, operands, sizes)
    }

    /// Updates the elements within the sizes of the update.
    fn dynamic_update_slice(&mut self, inst: Inst<'m>, operands: &[Tracked]) -> Result<(), Diagnostic> {
        let [to, update, starts @ ..] = operands else { return Err(unsupported(inst, "an operand with")) };
        let (whole, part) = (self.ty(to.id), self.ty(update.id));
        let mut operands = operands.to_vec();
        if (0..whole.rank()).any(|d| update.sizes[d].is_some() && whole.sizes()[d] != part.sizes()[d]) {
            let mut arguments = vec![to.id];
            arguments.extend(starts.iter().map(|start| start.id));
            let mut b = self.at(inst);
            let op = Op::DynamicSlice { sizes: part.sizes().to_vec() };
            let old = b.emit(op, &arguments, part.clone());
            for (d, size) in update.sizes.iter().enumerate() {
                if let Some(size) = size {
                    operands[1].id = masked_by(&mut b, operands[1].id, d, *size, old);
                }
            }
        }
        let sizes = (0..whole.rank()).map(|d| {
            let replaced = update.sizes[d].filter(|_| whole.sizes()[d] == part.sizes()[d]);
            replaced.or(to.sizes[d])
        });
        let sizes = sizes.collect();
        self.simple(inst, &operands, sizes)
    }

    fn pad(&mut self, inst: Inst<'m>, operands: &[Tracked], pad: &Pad) -> Result<(), Diagnostic> {
        let [x, value] = operands else { return Err(unsupported(inst, "an operand with")) };
        let rank = x.sizes.len();
        // The existing padding becomes a part of the new padding.
        let data = self.masked(inst, x, 0..rank, value.id);
        let result = self.result(inst)?;
        let mut b = self.at(inst);
        let mut sizes = x.sizes.clone();
        for (d, size) in sizes.iter_mut().enumerate() {
            *size = size.map(|size| {
                let mut total = size;
                if pad.interior[d] != 0 {
                    let (zero, one) = (scalar(&mut b, 0), scalar(&mut b, 1));
                    let gaps = scalar_op(&mut b, Binary::Subtract, size, one);
                    let gaps = scalar_op(&mut b, Binary::Maximum, gaps, zero);
                    let width = scalar(&mut b, usize::try_from(pad.interior[d]).unwrap_or(0));
                    let gaps = scalar_op(&mut b, Binary::Multiply, gaps, width);
                    total = scalar_op(&mut b, Binary::Add, total, gaps);
                }
                let total = shifted(&mut b, total, pad.low[d].saturating_add(pad.high[d]));
                clamped(&mut b, total, result.sizes()[d])
            });
        }
        let padded = Tracked { id: data, sizes: x.sizes.clone() };
        self.simple(inst, &[padded, value.clone()], sizes)
    }

    // --- indexing

    fn gather(&mut self, inst: Inst<'m>, operands: &[Tracked], gather: &Gather) -> Result<(), Diagnostic> {
        let [x, indices] = operands else { return Err(unsupported(inst, "an operand with")) };
        let result = self.result(inst)?;
        let mut sizes = vec![None; result.rank()];
        let from = self.ty(x.id);
        let is_dropped =
            |d: &usize| gather.collapsed_slice_dims.contains(d) || gather.operand_batching_dims.contains(d);
        let kept = (0..from.rank()).filter(|d| !is_dropped(d));
        for (d, offset) in kept.zip(&gather.offset_dims) {
            if gather.slice_sizes[d] == from.sizes()[d] {
                sizes[*offset] = x.sizes[d];
            }
        }
        let batch = (0..result.rank()).filter(|d| !gather.offset_dims.contains(d));
        let of_indices = (0..indices.sizes.len()).filter(|d| *d != gather.index_vector_dim);
        for (d, from) in batch.zip(of_indices) {
            sizes[d] = indices.sizes[from];
        }
        if indices.sizes.get(gather.index_vector_dim).is_some_and(Option::is_some) {
            return Err(unsupported(inst, "an index vector along"));
        }
        self.simple(inst, operands, sizes)
    }
}

/// A size plus a number of elements.
pub(super) fn shifted(b: &mut Builder<'_>, size: ValueId, by: i64) -> ValueId {
    if by == 0 {
        return size;
    }
    let by = b.constant(Literal::scalar(DType::S32, Scalar::Signed(by).round_to(DType::S32)));
    scalar_op(b, Binary::Add, size, by)
}
