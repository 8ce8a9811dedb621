//! Defines the operations of [`crate::op::derived`] by simpler ones.
//!
//! Each definition consists of a few calls of a `Builder`, which creates the simpler instructions. The
//! evaluator runs these instructions in place of the operation, and [`run`] replaces the operation by them,
//! for code that only supports the simpler operations.
//!
//! **Invariants.** Operands are tensors of static types that satisfy the operation's constraints.

mod batch_norm;
mod broadcasting;
pub(crate) mod builder;
pub(crate) mod chlo;
mod einsum;
mod ragged;
mod scan;
mod select;

use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, ValueId, ValueMap};
use crate::op::einsum::EinsumConfig;
use crate::op::{Broadcasted, Derived, DotGeneral, Op, Unary};
use crate::types::{TensorType, Type};
use builder::Builder;

/// The function that defines an operation, for these operand and result types.
pub(crate) fn function(
    op: &Derived,
    operands: &[TensorType],
    results: &[TensorType],
    at: Inst<'_>,
) -> Option<Func> {
    let mut func = Func::new("", at.span());
    let args: Vec<ValueId> = operands.iter().map(|ty| func.add_arg(Func::BODY, ty.clone().into())).collect();
    let mut builder = Builder::at_end(&mut func, at);
    let returned = builder.expand(op, &args, results)?;
    builder.finish(returned);
    func.set_result_types(results.iter().cloned().map(Type::Tensor));
    Some(func)
}

/// Replaces derived operations by the simpler operations that define them, and `chlo.scan` by a loop.
/// Operations on quantized tensors are left alone, since they are computed on the represented real numbers.
///
/// Regions must be closed, as in the [middle form](crate::middle).
///
/// The function must have been verified, and be static.
pub fn run(func: &mut Func) {
    run_where(func, &|_| true);
}

/// Replaces the derived operations that `chosen` selects, like [`run`].
pub(crate) fn run_where(func: &mut Func, chosen: &dyn Fn(Inst<'_>) -> bool) {
    let mut derived = Vec::new();
    func.walk(&mut |inst| {
        if is_derived(inst) && chosen(inst) {
            derived.push(inst.id());
        }
    });
    let mut replaced = ValueMap::default();
    for inst in derived {
        let values = match func.inst(inst).op() {
            Op::Scan(_) => scan::expand(func, inst, &mut replaced),
            _ => expanded(func, inst),
        };
        if let Some(values) = values {
            replaced.extend(func.inst(inst).results().iter().copied().zip(values));
            func.detach(inst);
        }
    }
    func.replace_operands(&replaced);
}

fn is_derived(inst: Inst<'_>) -> bool {
    matches!(inst.op(), Op::Derived(_) | Op::Scan(_))
}

/// The first derived operation that is not on quantized tensors; `None` after [`run`].
pub(crate) fn left(func: &Func) -> Option<Inst<'_>> {
    let is_plain = |id: &ValueId| func.tensor(*id).is_some_and(|ty| ty.quant.is_none());
    let mut found = None;
    func.walk(&mut |inst| {
        if found.is_none() && is_derived(inst) && inst.operands().iter().chain(inst.results()).all(is_plain) {
            found = Some(inst);
        }
    });
    found
}

/// Inserts the definition of an instruction before it, and returns the values of its results. `None` if the
/// instruction is not a derived operation.
fn expanded(func: &mut Func, inst: InstId) -> Option<Vec<ValueId>> {
    let view = func.inst(inst);
    let Op::Derived(op) = view.op().clone() else { return None };
    let plain = |ids: &[ValueId]| -> Option<Vec<TensorType>> {
        let types =
            ids.iter().map(|id| func.tensor(*id).filter(|t| t.is_static() && t.quant.is_none()).cloned());
        types.collect()
    };
    let (_, results) = (plain(view.operands())?, plain(view.results())?);
    let operands = view.operands().to_vec();
    Builder::before(func, inst).expand(&op, &operands, &results)
}

impl Builder<'_> {
    /// Builds the results of an operation. `None` if the operands do not fit the operation.
    fn expand(&mut self, op: &Derived, xs: &[ValueId], results: &[TensorType]) -> Option<Vec<ValueId>> {
        let first = results.first()?;
        Some(match (op, xs) {
            (Derived::Broadcast { sizes }, [x]) => {
                let dims: Vec<usize> = (sizes.len()..first.rank()).collect();
                vec![self.broadcast(*x, &dims, first.static_sizes()?)]
            }
            (Derived::Broadcasting(op), xs) => {
                let xs = self.same_shape(xs, first.static_sizes()?, op)?;
                vec![match (op.function, xs.as_slice()) {
                    (Broadcasted::Binary(op), [a, b]) => self.binary(op, *a, *b)?,
                    (Broadcasted::Compare(op), [a, b]) => self.compare(op, *a, *b),
                    (Broadcasted::Select, [p, a, b]) => self.select(*p, *a, *b),
                    _ => return None,
                }]
            }
            (Derived::ConstantLike(value), [_]) => {
                let value = self.constant(Literal::scalar(value.dtype(), value.get(0)));
                vec![self.broadcast(value, &[], first.static_sizes()?)]
            }
            (Derived::Dot { precision }, [lhs, rhs]) => {
                let dot = DotGeneral {
                    lhs_batch: Vec::new(),
                    rhs_batch: Vec::new(),
                    lhs_contract: vec![self.ty(*lhs).rank().checked_sub(1)?],
                    rhs_contract: vec![0],
                    precision: precision.clone(),
                    algorithm: None,
                };
                vec![self.emit(Op::DotGeneral(Box::new(dot)), &[*lhs, *rhs], first.clone())]
            }
            (Derived::Einsum { config }, [lhs, rhs]) => {
                vec![self.einsum(&EinsumConfig::parse(config, 2).ok()?, &[*lhs, *rhs], first)?]
            }
            (Derived::UnaryEinsum { config }, [x]) => {
                vec![self.einsum(&EinsumConfig::parse(config, 1).ok()?, &[*x], first)?]
            }
            (Derived::TorchIndexSelect { dim, batch_dims }, [x, index]) => {
                vec![self.index_select(*x, *index, *dim, *batch_dims, first)?]
            }
            (Derived::BatchNormInference(norm), [x, scale, offset, mean, variance]) => {
                vec![self.normalized(*norm, *x, *scale, *offset, *mean, *variance)?]
            }
            (Derived::BatchNormTraining(norm), [x, scale, offset]) => {
                self.batch_norm_training(*norm, *x, *scale, *offset)?
            }
            (Derived::BatchNormGrad(norm), [x, scale, mean, variance, grad]) => {
                self.batch_norm_grad(*norm, *x, *scale, *mean, *variance, *grad)?
            }
            (Derived::RaggedDot(dot), [lhs, rhs, sizes]) => {
                vec![self.ragged_dot(dot, *lhs, *rhs, *sizes, first)?]
            }
            (Derived::SinCos, [x]) => vec![self.unary(Unary::Sine, *x)?, self.unary(Unary::Cosine, *x)?],
            _ => return None,
        })
    }
}
