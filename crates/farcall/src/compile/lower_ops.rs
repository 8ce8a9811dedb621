//! Lowers one operation at a time to a thunk.
//!
//! An operation that no kernel serves becomes a reference thunk. The table decides what kernels serve ([`kernels`]).

use std::sync::Arc;

use farcall_ir::op::collective::{Grid, Role};
use farcall_ir::{DType, Diagnostic, Inst, Op, Span, TensorType};

use super::lower::{Lowering, Operand, internal};
use super::{body, nested};
use crate::kernels::{self, Request};
use crate::plan::{Body, Compute, ReferenceId, ReferenceSite, Thunk, ThunkOp};

type Results = Result<Vec<Operand>, Diagnostic>;

impl<'m> Lowering<'m> {
    /// Emits an operation and gives its results.
    pub(super) fn op(&mut self, inst: Inst<'m>, operands: Vec<Operand>) -> Results {
        let types: Result<Vec<&TensorType>, Diagnostic> =
            inst.results().iter().map(|r| self.ty(*r, inst.span())).collect();
        let types = types?;
        if let Some(role) = role(inst.op(), Grid::of(&self.form.attrs)) {
            // Who is alone gets what it gives.
            let same =
                operands.len() >= types.len() && operands.iter().zip(&types).all(|(o, ty)| o.ty == **ty);
            match role {
                Role::Alone if same => {
                    return Ok(operands.into_iter().take(types.len()).collect());
                }
                Role::Alone | Role::Outside => return self.reference(inst, operands, &types),
                Role::OneOf(n) => {
                    let message = format!(
                        "{} takes {n} participants, but a program runs on one device here",
                        inst.op().name()
                    );
                    return Err(Diagnostic::new("participants", inst.span(), message));
                }
            }
        }
        if let [ty] = types.as_slice()
            && let Some(result) = self.view(inst, &operands, ty)?
        {
            return Ok(vec![result]);
        }
        if let Some(bodies) = body::bodies(inst)
            && let Some(results) = self.compute_with(inst.op(), bodies, &operands, &types, inst.span())?
        {
            return Ok(results);
        }
        self.reference(inst, operands, &types)
    }

    /// The result of an operation that needs no code: a constant, or an operand seen as another type.
    fn view(
        &mut self,
        inst: Inst<'m>,
        xs: &[Operand],
        ty: &TensorType,
    ) -> Result<Option<Operand>, Diagnostic> {
        if xs.iter().map(|x| &x.ty).chain([ty]).any(|t| t.quant.is_some()) {
            return Ok(None);
        }
        let first = xs.first().map_or(ty.dtype, |x| x.ty.dtype);
        match inst.op() {
            Op::Constant(literal) => self.constant(literal, ty).map(Some),
            Op::Reshape | Op::BitcastConvert if reinterprets(first, ty.dtype) => {
                Ok(xs.first().map(|x| Operand { id: x.id, ty: ty.clone() }))
            }
            Op::Convert if first == ty.dtype => Ok(xs.first().cloned()),
            _ => Ok(None),
        }
    }

    /// The results of an operation, if there is a kernel for it.
    fn compute_with(
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
        self.push(Thunk { op, inputs: xs.to_vec(), outputs, bodies: Vec::new(), span });
        Ok(Some(results))
    }

    /// An operand with its dimensions in another order, as a fresh value.
    pub(super) fn transposed(
        &mut self,
        from: &Operand,
        permutation: Vec<usize>,
        span: Span,
    ) -> Result<Operand, Diagnostic> {
        let dims: Vec<usize> = permutation.iter().map(|d| from.ty.sizes()[*d]).collect();
        // Elements of any type are moved alike.
        let from = Operand { id: from.id, ty: from.ty.with_dtype(from.ty.dtype) };
        let ty = from.ty.with_sizes(dims);
        let results = self.compute_with(&Op::Transpose { permutation }, Vec::new(), &[from], &[&ty], span)?;
        let result = results.and_then(|mut results| results.pop());
        result.ok_or_else(|| internal(span, "a layout of a tensor that cannot be transposed"))
    }

    fn reference(&mut self, inst: Inst<'m>, operands: Vec<Operand>, types: &[&TensorType]) -> Results {
        let mut inputs = operands;
        inputs.extend(self.get_all(inst.captures(), inst.span())?);
        let outputs: Results = types.iter().map(|t| self.fresh(t, inst.span())).collect();
        let outputs = outputs?;
        let id = ReferenceId::new(self.references.len());
        let program = Arc::new(self.form.extract(inst));
        let calls = nested::calls(&program, self.registry, self.options).map_err(|mistakes| {
            let first = mistakes.kept().first().cloned();
            first.unwrap_or_else(|| internal(inst.span(), "a call that cannot be compiled"))
        })?;
        self.references.push(ReferenceSite { program, calls });
        let op = ThunkOp::Reference(id);
        self.push(Thunk { op, inputs, outputs: outputs.clone(), bodies: Vec::new(), span: inst.span() });
        Ok(outputs)
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
