//! Lowering of fusions without products, and of similar regions, to loops.

use farcall_ir::middle::rows;
use farcall_ir::{Op, TensorType};
use smallvec::SmallVec;

use super::capability::FUSION_LIMITS;
use super::prepared::PreparedKernel;
use super::{data_movement, tiles};
use crate::InPlace;
use crate::body::{Body, BodyInst};

/// Prepares a kernel for a fusion without products.
pub(crate) fn tiles(inputs: &[&TensorType], body: &Body, outputs: &[&TensorType]) -> Option<PreparedKernel> {
    let first = outputs.first()?;
    let n = reduced(body).or_else(|| first.elements())?;
    let columns = body.insts.iter().filter_map(|inst| row(body, inst)).min();
    let mut tile = tiles::Builder::new(inputs, n, columns);
    for inst in &body.insts {
        let operands: Option<SmallVec<[(usize, &TensorType); 3]>> =
            inst.operands.iter().map(|x| Some((*x, body.ty(*x)?))).collect();
        match &inst.reducer {
            None => tile.op(&inst.op, &operands?, &inst.ty)?,
            Some(by) => tile.reduce(&inst.op, by, &operands?, &inst.ty)?,
        }
    }
    tile.finish(&body.returned, outputs)
}

/// Returns the number of elements in the operand of every reduction, if there are reductions.
fn reduced(body: &Body) -> Option<usize> {
    let reduction = body.insts.iter().find(|inst| inst.reducer.is_some())?;
    body.ty(*reduction.operands.first()?)?.elements()
}

/// Returns the number of elements in a row, if the instruction reduces rows.
fn row(body: &Body, inst: &BodyInst) -> Option<usize> {
    let Op::Reduce { dims } = &inst.op else { return None };
    let columns = rows::reduced(body.ty(*inst.operands.first()?)?, dims)?;
    (columns <= FUSION_LIMITS.row_elements).then_some(columns)
}

/// Returns the outputs that may share memory with inputs: those with as many elements as the fusion computes.
/// Smaller outputs may be written while rows of the inputs are still read. Inputs that are sliced or padded
/// share no memory, because their elements are read and written at different positions.
pub(crate) fn in_place(body: &Body) -> InPlace {
    if data_movement::are_all(body) {
        return InPlace::Nowhere;
    }
    let moved = body.insts.iter().filter(|inst| inst.op.moves_elements());
    let mut inputs: SmallVec<_> =
        moved.flat_map(|inst| &inst.operands).copied().filter(|x| *x < body.args.len()).collect();
    inputs.sort_unstable();
    inputs.dedup();
    let all = reduced(body);
    let is_other =
        |o: &usize| all.is_some() && body.ty(body.returned[*o]).and_then(TensorType::elements) != all;
    let outputs = (0..body.returned.len()).filter(is_other).collect();
    InPlace::But { outputs, inputs }
}
