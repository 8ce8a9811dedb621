//! Outer products: products whose contracting dimensions have size 1 become elementwise multiplications,
//! which can be fused.
//!
//! ```text
//! dot(x: [m, 1], y: [1, n])   ──▶   broadcast(x) · broadcast(y) + 0: [m, n]
//! ```
//!
//! A sum of one product starts with 0, so it is never -0; adding 0 turns a -0 of the multiplication into 0.
//! (Products that are rounded or flushed afterwards may be -0, so they are left alone.)

use super::simplify::{reshaped, splat_before};
use super::{Pass, PassOptions, each_inst};
use crate::eval::Denormals;
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
use crate::op::{Binary, Op};
use crate::scalar::Scalar;
use crate::types::TensorType;
use farcall_sig::DType;

/// The outer product pass.
pub static PASS: Pass =
    Pass { name: "outer_products", about: "computes products of a single term elementwise", run };

/// Float types whose products are accumulated in the same type.
const ACCUMULATED_FLOATS: [DType; 2] = [DType::F32, DType::F64];
/// Float types whose products are accumulated in one of [`ACCUMULATED_FLOATS`].
const WIDENED_FLOATS: [DType; 2] = [DType::F16, DType::BF16];

fn run(func: &mut Func, cx: &PassOptions) {
    let keeps_denormals = cx.numerics.denormals == Denormals::Ieee;
    each_inst(func, |r, _, id| {
        if let Some((to, factors)) = factors(r.func().inst(id))
            && (keeps_denormals || to.dtype.is_integer())
        {
            multiply(r, id, to, factors);
        }
    });
}

/// A factor: a value, its type without the contracting dimensions, and the index of each remaining dimension
/// in the result.
type Factor = (ValueId, TensorType, Vec<usize>);

/// The type of an outer product and its factors, if no factor has to be transposed.
fn factors(inst: Inst<'_>) -> Option<(TensorType, [Factor; 2])> {
    let (Op::DotGeneral(dot), &[x, y], &[result]) = (inst.op(), inst.operands(), inst.results()) else {
        return None;
    };
    let plain = |v: ValueId| inst.func().tensor(v).filter(|t| t.quant.is_none());
    let (lhs, rhs, to) = (plain(x)?, plain(y)?, plain(result)?);
    let is_one = dot.lhs_contract.iter().all(|d| lhs.sizes()[*d] == 1);
    if !is_one
        || dot.algorithm.is_some()
        || !sums_exactly(lhs.dtype, to.dtype)
        || !sums_exactly(rhs.dtype, to.dtype)
    {
        return None;
    }
    // The free dimensions follow the batch dimensions in the result.
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

/// Returns true if a product of elements of type `from`, computed in type `to`, equals a sum with this
/// product as its only term.
fn sums_exactly(from: DType, to: DType) -> bool {
    if from.is_integer() {
        return from == to || (to.is_integer() && from.bits() < to.bits());
    }
    ACCUMULATED_FLOATS.contains(&to) && (from == to || WIDENED_FLOATS.contains(&from))
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
