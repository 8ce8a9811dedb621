//! One operation at a time: which thunk it becomes.
//!
//! What no kernel serves becomes a reference thunk. Nothing here says what kernels serve: the table does
//! ([`kernels`]).

use std::collections::HashSet;
use std::sync::Arc;

use farcall_ir::op::collective::{Grid, Role};
use farcall_ir::{DType, Diagnostic, Inst, Literal, Op, Region, Scalar, Span, TensorType, ValueId};

use super::lower::{Lowering, Lv, Operand, internal};
use super::{body, nested};
use crate::kernels::{self, Request};
use crate::plan::{Body, Compute, ReferenceId, ReferenceSite, Thunk, ThunkOp};

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
        let kernel = match types.as_slice() {
            [ty] => self.kernel(inst, &operands, ty)?.map(|result| vec![result]),
            _ => self.computed(inst, &operands, &types)?,
        };
        match kernel {
            Some(results) => Ok(results.into_iter().map(Lv::Tensor).collect()),
            None => self.reference(inst, operands, &types),
        }
    }

    /// The result of an operation that has one, if it needs no code, or if kernels compute it.
    fn kernel(
        &mut self,
        inst: &'m Inst,
        xs: &[Operand],
        ty: &TensorType,
    ) -> Result<Option<Operand>, Diagnostic> {
        if xs.iter().map(|x| &x.ty).chain([ty]).any(|t| t.quant.is_some()) {
            return Ok(None);
        }
        let first = xs.first().map_or(ty.dtype, |x| x.ty.dtype);
        match &inst.op {
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
            Op::Convert if first == ty.dtype => return Ok(xs.first().cloned()),
            Op::Convert if first == DType::BF16 && matches!(ty.dtype, DType::F32 | DType::F64) => {
                match self.unrounded(inst, &xs[0])? {
                    Some(wide) if ty.dtype == DType::F32 => return Ok(Some(wide)),
                    Some(wide) => return self.compute(&Op::Convert, &[wide], ty, inst.span),
                    None => {}
                }
            }
            Op::Reduce { .. } => {
                if let Some(sum) = self.unrounded_sum(inst, xs, ty)? {
                    return Ok(Some(sum));
                }
            }
            _ => {}
        }
        let result = self.computed(inst, xs, &[ty])?.and_then(|mut results| results.pop());
        if result.is_some() {
            self.note_arithmetic(inst, xs, ty.dtype);
        }
        Ok(result)
    }

    /// The results of an instruction, if there is a kernel for it.
    fn computed(
        &mut self,
        inst: &'m Inst,
        xs: &[Operand],
        types: &[&TensorType],
    ) -> Result<Option<Vec<Operand>>, Diagnostic> {
        let Some(bodies) = body::bodies(self.func(), inst) else { return Ok(None) };
        self.compute_with(&inst.op, bodies, xs, types, inst.span)
    }

    /// The result of an operation without regions, if there is a kernel for it.
    pub(super) fn compute(
        &mut self,
        op: &Op,
        xs: &[Operand],
        ty: &TensorType,
        span: Span,
    ) -> Result<Option<Operand>, Diagnostic> {
        let results = self.compute_with(op, Vec::new(), xs, &[ty], span)?;
        Ok(results.and_then(|mut results| results.pop()))
    }

    /// The results of an operation, if there is a kernel for it.
    pub(super) fn compute_with(
        &mut self,
        op: &Op,
        bodies: Vec<Body>,
        xs: &[Operand],
        types: &[&TensorType],
        span: Span,
    ) -> Result<Option<Vec<Operand>>, Diagnostic> {
        let inputs: Vec<&TensorType> = xs.iter().map(|x| &x.ty).collect();
        let request = Request { op, bodies: &bodies, inputs: &inputs, outputs: types };
        let Some((kernel, prepared)) = kernels::find(&request) else { return Ok(None) };
        let results: Result<Vec<Operand>, Diagnostic> = types.iter().map(|t| self.fresh(t, span)).collect();
        let results = results?;
        let mut outputs = results.clone();
        let scratch = prepared.scratch() > 0;
        if scratch {
            outputs.push(self.fresh(&TensorType::new(DType::U8, [prepared.scratch()]), span)?);
        }
        let op = ThunkOp::Compute(Box::new(Compute { kernel, op: op.clone(), bodies, scratch }));
        self.push(Thunk { op, inputs: xs.to_vec(), outputs, bodies: Vec::new(), span })?;
        Ok(Some(results))
    }

    /// An operand with its dimensions in another order, as a fresh value.
    pub(super) fn transposed(
        &mut self,
        from: &Operand,
        permutation: Vec<usize>,
        span: Span,
    ) -> Result<Operand, Diagnostic> {
        let dims: Vec<usize> = permutation.iter().map(|d| from.ty.dims[*d]).collect();
        // Elements of any type are moved alike.
        let from = Operand { id: from.id, ty: from.ty.with_dtype(from.ty.dtype) };
        let ty = from.ty.with_dims(dims);
        let result = self.compute(&Op::Transpose { permutation }, &[from], &ty, span)?;
        result.ok_or_else(|| internal(span, "a layout of a tensor that cannot be transposed"))
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
        Op::CollectiveBroadcast(op) => op.groups.exchange_role(grid),
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
