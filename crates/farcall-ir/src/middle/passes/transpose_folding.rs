//! Transposes around products: a product can read its operands in any order of dimensions, so a transposed
//! operand need not be materialized, and a transposed result is the product of the operands in the opposite
//! order.
//!
//! The order in which products are summed depends only on the contracting dimensions, which do not change.
//! (In the engine, matrix-vector products are the exception: the layout of the matrix determines the order of
//! a sum, and thus the last bits of the result.)

use super::{Pass, PassOptions, each_inst};
use crate::module::{Func, Inst, InstId, Rewriter, ValueId};
use crate::op::{DotGeneral, Op};
use crate::types::TensorType;

/// The pass for transposes around products.
pub static PASS: Pass =
    Pass { name: "transpose_folding", about: "lets products read and write transposed tensors", run };

fn run(func: &mut Func, _: &PassOptions) {
    each_inst(func, |r, _, id| {
        if let Some((dot, operands)) = transposed_operands(r.func().inst(id)) {
            r.set_op(id, Op::DotGeneral(dot));
            r.set_operands(id, operands);
        } else if let Some(Exchanged { dot, operands, ty, permutation }) = transposed_result(r, id) {
            if permutation.is_sorted() {
                r.set_op(id, Op::DotGeneral(Box::new(dot)));
                r.set_operands(id, operands);
            } else {
                let product = r.value_before(id, Op::DotGeneral(Box::new(dot)), operands, ty);
                r.set_op(id, Op::Transpose { permutation });
                r.set_operands(id, [product]);
            }
        }
    });
}

/// A product with a transposed operand, rewritten to use the untransposed operand.
fn transposed_operands(inst: Inst<'_>) -> Option<(Box<DotGeneral>, Vec<ValueId>)> {
    let (Op::DotGeneral(dot), &[x, y]) = (inst.op(), inst.operands()) else { return None };
    let mut dot = dot.clone();
    let lhs = before_transpose(inst, x, [&mut dot.lhs_batch, &mut dot.lhs_contract]);
    let rhs = before_transpose(inst, y, [&mut dot.rhs_batch, &mut dot.rhs_contract]);
    (lhs.is_some() || rhs.is_some()).then(|| (dot, vec![lhs.unwrap_or(x), rhs.unwrap_or(y)]))
}

/// Returns the operand of the transpose that defines a value, if the transpose keeps the free dimensions in
/// order. Changes `dims` to the corresponding dimensions of that operand.
fn before_transpose(inst: Inst<'_>, operand: ValueId, dims: [&mut Vec<usize>; 2]) -> Option<ValueId> {
    let func = inst.func();
    let made = func.defining_inst(operand)?;
    let (Op::Transpose { permutation }, &[x]) = (made.op(), made.operands()) else { return None };
    let plain = func.tensor(x).is_some_and(|t| t.quant.is_none());
    let free = (0..permutation.len()).filter(|d| !dims.iter().any(|dims| dims.contains(d)));
    if !plain || !free.map(|d| permutation[d]).is_sorted() {
        return None;
    }
    dims.into_iter().flatten().for_each(|d| *d = permutation[*d]);
    Some(x)
}

/// A product of the operands in the opposite order, its type, and the permutation that remains to be applied.
struct Exchanged {
    dot: DotGeneral,
    operands: Vec<ValueId>,
    ty: TensorType,
    permutation: Vec<usize>,
}

/// Rewrites a transpose that moves the columns of a product before its rows, if the product has no other
/// user. Batch dimensions that move as well still need a transpose.
fn transposed_result(r: &Rewriter<'_>, id: InstId) -> Option<Exchanged> {
    let inst = r.func().inst(id);
    let (Op::Transpose { permutation }, &[product]) = (inst.op(), inst.operands()) else { return None };
    let made = r.func().defining_inst(product)?;
    let (Op::DotGeneral(dot), &[x, y]) = (made.op(), made.operands()) else { return None };
    let (x_type, ty) = (r.func().tensor(x)?, r.func().tensor(product)?);
    // An algorithm may specify types of the left and right operands.
    let plain = [x, y, product].iter().all(|v| r.func().tensor(*v).is_some_and(|t| t.quant.is_none()));
    if r.users(product).len() != 1 || dot.algorithm.is_some() || !plain {
        return None;
    }
    let batch = dot.lhs_batch.len();
    let columns = x_type.rank() - dot.lhs_contract.len();
    if columns == batch || columns == ty.rank() {
        return None;
    }
    let free: Vec<usize> = permutation.iter().copied().filter(|d| *d >= batch).collect();
    let exchanged = (columns..ty.rank()).chain(batch..columns);
    if !free.iter().copied().eq(exchanged.clone()) {
        return None;
    }
    let order: Vec<usize> = (0..batch).chain(exchanged).collect();
    let sizes: Vec<usize> = order.iter().map(|d| ty.sizes()[*d]).collect();
    let permutation = permutation.iter().map(|d| order.iter().position(|o| o == d)).collect::<Option<_>>()?;
    let dot = DotGeneral {
        lhs_batch: dot.rhs_batch.clone(),
        rhs_batch: dot.lhs_batch.clone(),
        lhs_contract: dot.rhs_contract.clone(),
        rhs_contract: dot.lhs_contract.clone(),
        precision: dot.precision.iter().rev().copied().collect(),
        algorithm: None,
    };
    Some(Exchanged { dot, operands: vec![y, x], ty: ty.with_sizes(sizes), permutation })
}
