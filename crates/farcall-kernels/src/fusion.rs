//! Kernel of fusions. A fusion of elementwise operations and reductions of rows becomes one tile program
//! ([`tile`]). A fusion with products is computed by blocks of rows ([`by_rows`]), which also handles a
//! product whose result is written transposed. A fusion that only moves elements becomes one movement
//! ([`moves`]).

use farcall_ir::middle::rows;
use farcall_ir::{DType, Op, TensorType};
use smallvec::SmallVec;

use super::args::Prepared;
use super::body::{Body, BodyInst};
use super::reduce::{self, Combine};
use super::{InPlace, Kernel, Request, by_rows, dot, elementwise, moves, short_name, tile};

/// Kernel for fusions created by the passes `fuse`, `product_fusion` and `movement_fusion`.
pub(super) static KERNEL: Kernel = Kernel { name: "fusion", prepare, in_place, describe };

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Fusion, [body]) = (request.op, request.bodies) else { return None };
    if !body.args.iter().eq(request.inputs.iter().copied()) || body.returned.len() != request.outputs.len() {
        return None;
    }
    for (value, output) in body.returned.iter().zip(request.outputs) {
        (body.ty(*value)? == *output).then_some(())?;
    }
    if body.insts.iter().any(|inst| matches!(inst.op, Op::DotGeneral(_))) {
        return by_rows::prepare(body);
    }
    let moved = if moves::are_all(body) { moves::prepare(body) } else { None };
    moved.or_else(|| tiles(request.inputs, body, request.outputs))
}

/// Prepares a kernel for a fusion without products.
pub(super) fn tiles(inputs: &[&TensorType], body: &Body, outputs: &[&TensorType]) -> Option<Prepared> {
    let first = outputs.first()?;
    let n = reduced(body).or_else(|| first.elements())?;
    let columns = body.insts.iter().filter_map(|inst| row(body, inst)).min();
    let mut tile = tile::Builder::new(inputs, n, columns);
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
    rows::reduced(body.ty(*inst.operands.first()?)?, dims)
}

/// Returns the outputs that may share memory with inputs: outputs with as many elements as the operands of
/// the fusion's reductions, if any. Other outputs may be written while rows are still read. Inputs that are
/// sliced or padded share no memory, because their elements are read and written at different positions.
pub(super) fn in_place(bodies: &[Body]) -> InPlace {
    let [body] = bodies else { return InPlace::Nowhere };
    if body.insts.iter().any(|inst| matches!(inst.op, Op::DotGeneral(_))) {
        return by_rows::in_place(body);
    }
    if moves::are_all(body) {
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

fn describe(request: &Request<'_>) -> String {
    let name = |(body, inst): (&Body, &BodyInst)| {
        let types: Vec<&TensorType> = inst.operands.iter().filter_map(|x| body.ty(*x)).collect();
        let request = Request { op: &inst.op, bodies: &[], inputs: &types, outputs: &[&inst.ty], iotas: &[] };
        match dot::describe(&request) {
            sizes if sizes.is_empty() => short_name(&inst.op).to_owned(),
            sizes => format!("dot {sizes}"),
        }
    };
    let insts = request.bodies.iter().flat_map(|body| body.insts.iter().map(move |inst| (body, inst)));
    insts.map(name).collect::<Vec<String>>().join(" ")
}

/// Returns true if a fusion can reduce rows of this type by an operation.
pub fn reduces(op: &Op, dtype: DType) -> bool {
    Combine::by(op, dtype).is_some_and(|by| reduce::rows(by, dtype, 1).is_some())
}

/// Returns true if an operation on elements can be part of a fusion.
pub fn fuses(op: &Op, operands: &[&TensorType], ty: &TensorType) -> bool {
    let dtypes: SmallVec<[_; 3]> = operands.iter().map(|t| t.dtype).collect();
    let plain = operands.iter().chain([&ty]).all(|t| t.quant.is_none());
    plain && elementwise::work(op, &dtypes, ty.dtype).is_some()
}
