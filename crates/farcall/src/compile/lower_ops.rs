//! One operation at a time: which thunks it becomes.
//!
//! An operation whose element types or form no kernel covers becomes a reference thunk.

use std::collections::HashSet;
use std::sync::Arc;

use farcall_ir::op::collective::{Grid, Role};
use farcall_ir::op::{DotGeneral, Pad};
use farcall_ir::{DType, Diagnostic, Inst, Literal, Op, Region, Scalar, Span, TensorType, ValueId};

use super::lower::{Lowering, Lv, Operand, copy_step, internal};
use super::nested;
use crate::plan::{
    Axis, Dot, Movement, Reduce, ReduceOp, ReferenceId, ReferenceSite, Thunk, ThunkOp, Window, support,
};

type Results = Result<Vec<Lv>, Diagnostic>;

impl<'m> Lowering<'m> {
    /// Emits an operation and gives its results.
    pub(super) fn op(&mut self, inst: &'m Inst, values: &[Lv]) -> Results {
        if let Op::CustomCall(call) = &inst.op {
            return self.custom_call(inst, call, values);
        }
        let operands: Option<Vec<Operand>> = values
            .iter()
            .map(|v| match v {
                Lv::Tensor(o) => Some(o.clone()),
                _ => None,
            })
            .collect();
        let operands = operands
            .ok_or_else(|| internal(inst.span, &format!("{} of a token or tuple", inst.op.name())))?;
        let func = self.func();
        let types: Option<Vec<&TensorType>> = inst.results.iter().map(|r| func.tensor(*r)).collect();
        let types =
            types.ok_or_else(|| internal(inst.span, &format!("{} that gives no tensor", inst.op.name())))?;
        if let Some(role) = role(&inst.op, Grid::of(&self.module.attrs)) {
            // Who is alone gets what it gives.
            let same =
                operands.len() >= types.len() && operands.iter().zip(&types).all(|(o, ty)| o.ty == **ty);
            match role {
                Role::Alone if same => {
                    return Ok(operands.into_iter().take(types.len()).map(Lv::Tensor).collect());
                }
                Role::Alone | Role::Outside => return self.reference(inst, operands, &types),
                Role::OneOf(n) => {
                    let message = format!(
                        "{} takes {n} participants, but a program runs on one device here",
                        inst.op.name()
                    );
                    return Err(Diagnostic::new("participants", inst.span, message));
                }
            }
        }
        let plain = operands.iter().map(|o| &o.ty).chain(types.iter().copied()).all(|t| t.quant.is_none());
        if plain
            && let [ty] = types.as_slice()
            && let Some(result) = self.kernel(inst, &operands, ty)?
        {
            return Ok(vec![Lv::Tensor(result)]);
        }
        self.reference(inst, operands, &types)
    }

    /// The result, if there are kernels for the operation.
    fn kernel(
        &mut self,
        inst: &'m Inst,
        xs: &[Operand],
        ty: &TensorType,
    ) -> Result<Option<Operand>, Diagnostic> {
        let first = xs.first().map_or(ty.dtype, |x| x.ty.dtype);
        let one = |op: ThunkOp| (op, xs.to_vec());
        let (op, inputs) = match &inst.op {
            Op::Constant(literal) => return self.constant_of(inst, literal, ty).map(Some),
            Op::Reshape | Op::BitcastConvert if reinterprets(first, ty.dtype) => {
                return Ok(xs.first().map(|x| Operand { id: x.id, ty: ty.clone() }));
            }
            Op::GetDimensionSize { dim } => {
                let size = xs.first().and_then(|x| x.ty.dims.get(*dim)).copied().unwrap_or(0);
                let literal =
                    Literal::scalar(ty.dtype, Scalar::Signed(i64::try_from(size).unwrap_or(i64::MAX)));
                return self.constant(&literal, ty).map(Some);
            }
            Op::Unary(u) if support::unary(*u, first) => one(ThunkOp::Unary(*u)),
            Op::Binary(b) if support::binary(*b, first) => one(ThunkOp::Binary(*b)),
            Op::Compare(c) if support::ordered(first) => one(ThunkOp::Compare(*c)),
            Op::Select => one(ThunkOp::Select),
            Op::Clamp if support::ordered(first) => one(ThunkOp::Clamp),
            Op::Convert if first == ty.dtype => return Ok(xs.first().cloned()),
            Op::Convert if first == DType::BF16 && matches!(ty.dtype, DType::F32 | DType::F64) => {
                match self.unrounded(inst, &xs[0])? {
                    Some(wide) if ty.dtype == DType::F32 => return Ok(Some(wide)),
                    wide => (ThunkOp::Convert, vec![wide.unwrap_or_else(|| xs[0].clone())]),
                }
            }
            Op::Convert if support::convert(first, ty.dtype) => one(ThunkOp::Convert),
            Op::Iota { dim } if support::iota(ty.dtype) => one(ThunkOp::Iota { dim: *dim }),
            Op::BroadcastInDim { dims } => one(ThunkOp::Move(broadcast(&xs[0].ty, ty, dims))),
            Op::Transpose { permutation } => one(ThunkOp::Move(transpose(&xs[0].ty, permutation))),
            Op::Slice(s) => {
                let strides = row_major(&xs[0].ty.dims);
                let src = s.start.iter().zip(&strides).map(|(i, s)| i * s.unsigned_abs()).sum();
                let axes = walk(ty, |d| strides[d] * s.strides[d] as isize);
                one(ThunkOp::Move(Movement::new("slice", ty.dtype.size(), axes, src, 0)))
            }
            Op::Reverse { dims } => one(ThunkOp::Move(reverse(ty, dims))),
            Op::Concatenate { dim } => return self.concatenate(inst.span, xs, ty, *dim).map(Some),
            Op::Pad(p) => return self.pad(inst.span, xs, ty, p).map(Some),
            Op::DynamicSlice { sizes } if xs[1..].iter().all(|i| support::index(i.ty.dtype)) => {
                let strides = row_major(&xs[0].ty.dims);
                let axes = walk(ty, |d| strides[d]);
                let movement = Movement::new("dynamic_slice", ty.dtype.size(), axes, 0, 0);
                one(ThunkOp::DynamicSlice(Window { movement, steps: steps(&xs[0].ty, sizes) }))
            }
            Op::DynamicUpdateSlice if xs[2..].iter().all(|i| support::index(i.ty.dtype)) => {
                let out = self.fresh(ty, inst.span)?;
                self.push(copy_step(xs[0].clone(), out.clone(), inst.span))?;
                let strides = row_major(&ty.dims);
                let axes = xs[1].ty.dims.iter().zip(row_major(&xs[1].ty.dims)).zip(strides);
                let axes = axes.map(|((size, src), dst)| Axis { size: *size, src, dst });
                let movement = Movement::new("dynamic_update_slice", ty.dtype.size(), axes, 0, 0);
                let window = Window { movement, steps: steps(ty, &xs[1].ty.dims) };
                self.emit(ThunkOp::DynamicUpdateSlice(window), xs[1..].to_vec(), out.clone(), inst.span)?;
                return Ok(Some(out));
            }
            Op::Reduce { dims } => match reducer(inst, first) {
                Some(op) if xs.len() == 2 && support::reduce(op, first) => {
                    let reduce = ThunkOp::Reduce(Reduce { op, dims: reduced_dims(&xs[0].ty, dims) });
                    if op == ReduceOp::Add
                        && let Some(terms) = self.unrounded(inst, &xs[0])?
                    {
                        let init = self.widened(&xs[1], DType::F32, inst.span)?.unwrap_or(xs[1].clone());
                        let sum = self.fresh(&ty.with_dtype(DType::F32), inst.span)?;
                        self.emit(reduce, vec![terms, init], sum.clone(), inst.span)?;
                        (ThunkOp::Convert, vec![sum])
                    } else {
                        one(reduce)
                    }
                }
                _ => return Ok(None),
            },
            Op::DotGeneral(d) => return self.dot(inst.span, xs, ty, d),
            _ => return Ok(None),
        };
        let out = self.fresh(ty, inst.span)?;
        self.note_arithmetic(inst, &op, &inputs, ty.dtype);
        self.emit(op, inputs, out.clone(), inst.span)?;
        Ok(Some(out))
    }

    fn emit(
        &mut self,
        op: ThunkOp,
        inputs: Vec<Operand>,
        output: Operand,
        span: Span,
    ) -> Result<(), Diagnostic> {
        self.push(Thunk { op, inputs, outputs: vec![output], bodies: Vec::new(), span })
    }

    /// A strided copy of an operand to a fresh place.
    pub(super) fn moved(
        &mut self,
        movement: Movement,
        from: &Operand,
        ty: &TensorType,
        span: Span,
    ) -> Result<Operand, Diagnostic> {
        let out = self.fresh(ty, span)?;
        self.emit(ThunkOp::Move(movement), vec![from.clone()], out.clone(), span)?;
        Ok(out)
    }

    fn concatenate(
        &mut self,
        span: Span,
        xs: &[Operand],
        ty: &TensorType,
        dim: usize,
    ) -> Result<Operand, Diagnostic> {
        let out = self.fresh(ty, span)?;
        let strides = row_major(&ty.dims);
        let mut at = 0;
        for x in xs {
            let axes = x.ty.dims.iter().zip(row_major(&x.ty.dims)).zip(&strides);
            let axes = axes.map(|((size, src), dst)| Axis { size: *size, src, dst: *dst });
            let dst = at * strides[dim].unsigned_abs();
            let movement = Movement::new("concatenate", ty.dtype.size(), axes, 0, dst);
            at += x.ty.dims[dim];
            if movement.elements() > 0 {
                self.emit(ThunkOp::Move(movement), vec![x.clone()], out.clone(), span)?;
            }
        }
        Ok(out)
    }

    fn pad(&mut self, span: Span, xs: &[Operand], ty: &TensorType, p: &Pad) -> Result<Operand, Diagnostic> {
        let element = ty.dtype.size();
        let out = self.fresh(ty, span)?;
        let fill = Movement::new("pad", element, walk(ty, |_| 0), 0, 0);
        self.emit(ThunkOp::Move(fill), vec![xs[1].clone()], out.clone(), span)?;
        let (src_strides, dst_strides) = (row_major(&xs[0].ty.dims), row_major(&ty.dims));
        let (mut axes, mut src, mut dst) = (Vec::new(), 0, 0);
        for (d, size) in xs[0].ty.dims.iter().enumerate() {
            // Element `i` goes to `low + i * step`; those that fall outside are cut off.
            let step = p.interior[d] as i128 + 1;
            let (low, end) = (p.low[d] as i128, ty.dims[d] as i128);
            let first = if low < 0 { (-low + step - 1) / step } else { 0 };
            let last = ((end - 1 - low).div_euclid(step)).min(*size as i128 - 1);
            let size = usize::try_from(last - first + 1).unwrap_or(0);
            if size == 0 {
                return Ok(out);
            }
            let to_size = |x: i128| usize::try_from(x).unwrap_or(0);
            src += to_size(first) * src_strides[d].unsigned_abs();
            dst += to_size(low + first * step) * dst_strides[d].unsigned_abs();
            axes.push(Axis { size, src: src_strides[d], dst: dst_strides[d] * step as isize });
        }
        let movement = Movement::new("pad", element, axes, src, dst);
        self.emit(ThunkOp::Move(movement), vec![xs[0].clone()], out.clone(), span)?;
        Ok(out)
    }

    fn dot(
        &mut self,
        span: Span,
        xs: &[Operand],
        ty: &TensorType,
        d: &DotGeneral,
    ) -> Result<Option<Operand>, Diagnostic> {
        let [lhs, rhs] = xs else { return Ok(None) };
        if !support::dot(ty.dtype) {
            return Ok(None);
        }
        let Some(lhs) = self.widened(lhs, ty.dtype, span)? else { return Ok(None) };
        let Some(rhs) = self.widened(rhs, ty.dtype, span)? else { return Ok(None) };
        let lhs_free = free(lhs.ty.rank(), &d.lhs_batch, &d.lhs_contract);
        let rhs_free = free(rhs.ty.rank(), &d.rhs_batch, &d.rhs_contract);
        let (lhs, lhs_strides, lhs_axes) =
            self.matrix(lhs, &d.lhs_batch, &lhs_free, &d.lhs_contract, span)?;
        let (rhs, rhs_strides, rhs_axes) =
            self.matrix(rhs, &d.rhs_batch, &d.rhs_contract, &rhs_free, span)?;
        let size = |x: &Operand, dims: &[usize]| dims.iter().map(|i| x.ty.dims[*i]).product::<usize>();
        let sizes = d.lhs_batch.iter().map(|i| xs[0].ty.dims[*i]);
        let batch = sizes.zip(lhs_axes.iter().zip(&rhs_axes)).map(|(n, (l, r))| (n, *l, *r)).collect();
        let dot = Dot {
            batch,
            m: size(&xs[0], &lhs_free),
            n: size(&xs[1], &rhs_free),
            k: size(&xs[0], &d.lhs_contract),
            lhs: lhs_strides,
            rhs: rhs_strides,
        };
        let out = self.fresh(ty, span)?;
        self.emit(ThunkOp::Dot(dot), vec![lhs, rhs], out.clone(), span)?;
        Ok(Some(out))
    }

    /// The operand converted to a wider type, if that loses nothing.
    fn widened(&mut self, x: &Operand, to: DType, span: Span) -> Result<Option<Operand>, Diagnostic> {
        let from = x.ty.dtype;
        if from == to {
            return Ok(Some(x.clone()));
        }
        let wider = from.class() == to.class() && from.bits() < to.bits();
        if !wider || !support::convert(from, to) {
            return Ok(None);
        }
        let out = self.fresh(&x.ty.with_dtype(to), span)?;
        self.emit(ThunkOp::Convert, vec![x.clone()], out.clone(), span)?;
        Ok(Some(out))
    }

    /// An operand as a batch of matrices: its strides along rows and columns and along the batching
    /// dimensions. Dimensions that cannot be walked with one stride are brought together by a copy.
    #[expect(clippy::type_complexity, reason = "three parts of one answer, used once")]
    fn matrix(
        &mut self,
        x: Operand,
        batch: &[usize],
        rows: &[usize],
        columns: &[usize],
        span: Span,
    ) -> Result<(Operand, (usize, usize), Vec<usize>), Diagnostic> {
        let strides = row_major(&x.ty.dims);
        let along = |dims: &[usize]| joined(dims.iter().map(|d| (x.ty.dims[*d], strides[*d].unsigned_abs())));
        if let (Some(r), Some(c)) = (along(rows), along(columns)) {
            let batch = batch.iter().map(|d| strides[*d].unsigned_abs()).collect();
            return Ok((x, (r, c), batch));
        }
        let permutation: Vec<usize> = batch.iter().chain(rows).chain(columns).copied().collect();
        let movement = transpose(&x.ty, &permutation);
        let dims: Vec<usize> = permutation.iter().map(|d| x.ty.dims[*d]).collect();
        let ty = x.ty.with_dims(dims);
        let n: usize = columns.iter().map(|d| x.ty.dims[*d]).product();
        let strides = row_major(&ty.dims);
        let batch = (0..batch.len()).map(|d| strides[d].unsigned_abs()).collect();
        let packed = self.moved(movement, &x, &ty, span)?;
        Ok((packed, (n, 1), batch))
    }

    fn reference(&mut self, inst: &'m Inst, operands: Vec<Operand>, types: &[&TensorType]) -> Results {
        let func = self.func();
        let mut inputs = operands;
        let captured = captured(inst);
        for id in &captured {
            match self.get(*id, inst.span)? {
                Lv::Tensor(o) => inputs.push(o),
                _ => return Err(internal(inst.span, "a region that uses a token or tuple from outside")),
            }
        }
        let outputs: Result<Vec<Operand>, Diagnostic> =
            types.iter().map(|t| self.fresh(t, inst.span)).collect();
        let outputs = outputs?;
        let id = ReferenceId::new(self.references.len());
        let index = self.module.funcs.iter().position(|f| std::ptr::eq(f, func)).unwrap_or(0);
        let inst = Arc::new(inst.clone());
        let calls = match nested::calls(self.module, func, &inst, self.registry, self.numerics) {
            Ok(calls) => calls,
            Err(mistakes) => {
                mistakes.into_iter().for_each(|mistake| self.note(mistake));
                Vec::new()
            }
        };
        self.references.push(ReferenceSite { func: index, inst: Arc::clone(&inst), captured, calls });
        let op = ThunkOp::Reference(id);
        self.push(Thunk { op, inputs, outputs: outputs.clone(), bodies: Vec::new(), span: inst.span })?;
        Ok(outputs.into_iter().map(Lv::Tensor).collect())
    }
}

/// What the device is to a collective; `None` for other operations.
fn role(op: &Op, grid: Grid) -> Option<Role> {
    Some(match op {
        Op::AllGather(op) => op.groups.role(grid),
        Op::AllReduce(groups) => groups.role(grid),
        Op::ReduceScatter(op) => op.groups.role(grid),
        Op::AllToAll(op) => op.groups.exchange_role(grid),
        Op::CollectiveBroadcast(op) | Op::CollectiveReduce(op) => op.groups.exchange_role(grid),
        Op::CollectivePermute(op) => op.role(),
        _ => return None,
    })
}

/// True if elements of one type are elements of the other without a change.
fn reinterprets(from: DType, to: DType) -> bool {
    from == to || (from.bits() == to.bits() && from.bits() >= 8)
}

/// Values that an instruction's regions take from around it, each once.
fn captured(inst: &Inst) -> Vec<ValueId> {
    fn visit(region: &Region, defined: &mut HashSet<ValueId>, found: &mut Vec<ValueId>) {
        defined.extend(&region.args);
        for inst in &region.insts {
            for id in &inst.operands {
                if !defined.contains(id) && !found.contains(id) {
                    found.push(*id);
                }
            }
            inst.regions.iter().for_each(|r| visit(r, defined, found));
            defined.extend(&inst.results);
        }
    }
    let (mut defined, mut found) = (HashSet::new(), Vec::new());
    inst.regions.iter().for_each(|r| visit(r, &mut defined, &mut found));
    found.retain(|id| !inst.operands.contains(id));
    found
}

/// Strides of a row-major tensor.
pub(super) fn row_major(dims: &[usize]) -> Vec<isize> {
    let mut strides = vec![1isize; dims.len()];
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(isize::try_from(dims[d]).unwrap_or(isize::MAX));
    }
    strides
}

/// The axes that fill a row-major tensor, with these strides in the source.
fn walk(ty: &TensorType, src: impl Fn(usize) -> isize) -> Vec<Axis> {
    let strides = row_major(&ty.dims);
    (0..ty.rank()).map(|d| Axis { size: ty.dims[d], src: src(d), dst: strides[d] }).collect()
}

fn broadcast(from: &TensorType, to: &TensorType, dims: &[usize]) -> Movement {
    let strides = row_major(&from.dims);
    let axes = walk(to, |d| match dims.iter().position(|x| *x == d) {
        Some(i) if from.dims[i] == to.dims[d] => strides[i],
        _ => 0,
    });
    Movement::new("broadcast", to.dtype.size(), axes, 0, 0)
}

/// The movement to a row-major tensor whose dimension `i` is dimension `permutation[i]` of `from`.
pub(super) fn transpose(from: &TensorType, permutation: &[usize]) -> Movement {
    let strides = row_major(&from.dims);
    let dims: Vec<usize> = permutation.iter().map(|p| from.dims[*p]).collect();
    let axes = walk(&from.with_dims(dims), |d| strides[permutation[d]]);
    Movement::new("transpose", from.dtype.size(), axes, 0, 0)
}

fn reverse(ty: &TensorType, dims: &[usize]) -> Movement {
    let strides = row_major(&ty.dims);
    let src = dims.iter().map(|d| ty.dims[*d].saturating_sub(1) * strides[*d].unsigned_abs()).sum();
    let axes = walk(ty, |d| if dims.contains(&d) { -strides[d] } else { strides[d] });
    Movement::new("reverse", ty.dtype.size(), axes, src, 0)
}

/// Per dimension of `ty`: the largest start of a window of these sizes, and the stride.
fn steps(ty: &TensorType, sizes: &[usize]) -> Vec<(usize, usize)> {
    let strides = row_major(&ty.dims);
    let limits = ty.dims.iter().zip(sizes).map(|(d, s)| d.saturating_sub(*s));
    limits.zip(strides).map(|(l, s)| (l, s.unsigned_abs())).collect()
}

/// The one operation that a reducer applies to its two arguments, if it is one that has a kernel.
fn reducer(inst: &Inst, dtype: DType) -> Option<ReduceOp> {
    use farcall_ir::op::Binary;
    let [region] = inst.regions.as_slice() else { return None };
    // All of these are commutative.
    let only = farcall_ir::reducer::of(region)?.inst;
    Some(match (&only.op, dtype.is_bool()) {
        (Op::Binary(Binary::Add), false) => ReduceOp::Add,
        (Op::Binary(Binary::Multiply), false) => ReduceOp::Multiply,
        (Op::Binary(Binary::Maximum), false) => ReduceOp::Maximum,
        (Op::Binary(Binary::Minimum), false) => ReduceOp::Minimum,
        (Op::Binary(Binary::And), _) | (Op::Binary(Binary::Multiply | Binary::Minimum), true) => {
            ReduceOp::And
        }
        (Op::Binary(Binary::Or), _) | (Op::Binary(Binary::Add | Binary::Maximum), true) => ReduceOp::Or,
        _ => return None,
    })
}

/// Dimensions with neighbours of the same kind joined.
fn reduced_dims(ty: &TensorType, reduced: &[usize]) -> Vec<(usize, bool)> {
    let mut out: Vec<(usize, bool)> = Vec::new();
    for (d, size) in ty.dims.iter().enumerate() {
        let kind = reduced.contains(&d);
        match out.last_mut() {
            Some((n, k)) if *k == kind => *n *= size,
            _ => out.push((*size, kind)),
        }
    }
    out.retain(|(n, _)| *n != 1);
    // Dropping a dimension of size 1 may have made neighbours of two of a kind.
    let mut joined: Vec<(usize, bool)> = Vec::new();
    for (n, kind) in out {
        match joined.last_mut() {
            Some((m, k)) if *k == kind => *m *= n,
            _ => joined.push((n, kind)),
        }
    }
    joined
}

/// Dimensions that neither batch nor contract.
fn free(rank: usize, batch: &[usize], contract: &[usize]) -> Vec<usize> {
    (0..rank).filter(|d| !batch.contains(d) && !contract.contains(d)).collect()
}

/// The stride with which several dimensions (size, stride; from outer to inner) are walked as one.
fn joined(dims: impl Iterator<Item = (usize, usize)>) -> Option<usize> {
    let mut whole: Option<(usize, usize)> = None;
    for (size, stride) in dims.filter(|(size, _)| *size != 1) {
        whole = match whole {
            None => Some((size, stride)),
            Some((n, outer)) if outer == size * stride => Some((n * size, stride)),
            Some(_) => return None,
        };
    }
    Some(whole.map_or(1, |(_, stride)| stride))
}
