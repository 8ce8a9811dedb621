//! Products that add up nothing are elementwise, and fused as such.
//!
//! ```text
//! dot(x: [m, 1], y: [1, n])   ──▶   broadcast(x) · broadcast(y) + 0: [m, n]
//! ```
//!
//! The sum of one product begins with 0, so that it is never -0; hence the last term, where there is a -0. (It may be -0 if
//! it is rounded afterwards, or flushed: such products stay.)

use super::simplify::{reshaped, splat_before};
use super::{Context, Pass, each_inst};
use crate::eval::Denormals;
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
use crate::op::{Binary, Op};
use crate::scalar::Scalar;
use crate::types::TensorType;
use farcall_sig::DType;

/// Outer products.
pub static PASS: Pass =
    Pass { name: "outer", about: "multiplies elements where products add up nothing", run };

/// Floats that are added up as they are.
const WIDE: [DType; 2] = [DType::F32, DType::F64];
/// Floats that are added up as one of those.
const SHORT: [DType; 2] = [DType::F16, DType::BF16];

fn run(func: &mut Func, cx: &Context) {
    let keeps_denormals = cx.numerics.denormals == Denormals::Ieee;
    each_inst(func, |r, _, id| {
        if let Some((to, factors)) = factors(r.func().inst(id))
            && (keeps_denormals || to.dtype.is_integer())
        {
            multiply(r, id, to, factors);
        }
    });
}

/// What is multiplied with what: a value, its type without dimensions that it has alone, and the numbers that the others
/// have in the result.
type Factor = (ValueId, TensorType, Vec<usize>);

/// The type of an outer product, and its factors, if these need not be transposed.
fn factors(inst: Inst<'_>) -> Option<(TensorType, [Factor; 2])> {
    let (Op::DotGeneral(dot), &[x, y], &[result]) = (inst.op(), inst.operands(), inst.results()) else {
        return None;
    };
    let plain = |v: ValueId| inst.func().tensor(v).filter(|t| t.quant.is_none());
    let (lhs, rhs, to) = (plain(x)?, plain(y)?, plain(result)?);
    let is_one = dot.lhs_contract.iter().all(|d| lhs.sizes()[*d] == 1);
    if !is_one || dot.algorithm.is_some() || !is_exact(lhs.dtype, to.dtype) || !is_exact(rhs.dtype, to.dtype)
    {
        return None;
    }
    // Free dimensions follow those of the batch.
    let mut next = dot.lhs_batch.len();
    let mut factor = |v: ValueId, ty: &TensorType, batch: &[usize], contracted: &[usize]| {
        let kept: Vec<usize> = (0..ty.rank()).filter(|d| !contracted.contains(d)).collect();
        let dims = kept.iter().map(|d| {
            batch.iter().position(|b| b == d).unwrap_or_else(|| {
                next += 1;
                next - 1
            })
        });
        let dims: Vec<usize> = dims.collect();
        let sizes: Vec<usize> = kept.iter().map(|d| ty.sizes()[*d]).collect();
        dims.is_sorted().then(|| (v, ty.with_sizes(sizes), dims))
    };
    let x = factor(x, lhs, &dot.lhs_batch, &dot.lhs_contract)?;
    let y = factor(y, rhs, &dot.rhs_batch, &dot.rhs_contract)?;
    Some((to.clone(), [x, y]))
}

/// True if products of elements of one type, as elements of the other, are what a sum of one would be.
fn is_exact(from: DType, to: DType) -> bool {
    if from.is_integer() {
        return from == to || (to.is_integer() && from.bits() < to.bits());
    }
    WIDE.contains(&to) && (from == to || SHORT.contains(&from))
}

fn multiply(r: &mut Rewriter<'_>, id: InstId, to: TensorType, factors: [Factor; 2]) {
    let factors = factors.map(|(mut x, ty, dims)| {
        x = reshaped(r, id, x, ty.clone());
        if ty.dtype != to.dtype {
            x = r.value_before(id, Op::Convert, [x], ty.with_dtype(to.dtype));
        }
        if *ty.sizes() == *to.sizes() {
            x
        } else {
            r.value_before(id, Op::BroadcastInDim { dims }, [x], to.clone())
        }
    });
    if !to.dtype.is_float() {
        r.set_op(id, Op::Binary(Binary::Multiply));
        r.set_operands(id, factors);
        return;
    }
    let product = r.value_before(id, Op::Binary(Binary::Multiply), factors, to.clone());
    let zero = splat_before(r, id, Scalar::Float(0.0), to);
    r.set_op(id, Op::Binary(Binary::Add));
    r.set_operands(id, [product, zero]);
}
