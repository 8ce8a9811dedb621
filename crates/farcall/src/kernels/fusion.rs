//! Fusions of operations on corresponding elements: one tile program for all of them.

use farcall_ir::{Op, TensorType};
use smallvec::SmallVec;

use super::args::Prepared;
use super::{Kernel, Request, elementwise, short_name, tile};

/// What the pass `fuse` has put together.
pub(super) static KERNEL: Kernel = Kernel { name: "fusion", prepare, in_place: |_, _| true, describe };

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Fusion, [body], [first, ..]) = (request.op, request.bodies, request.outputs) else {
        return None;
    };
    if !body.args.iter().eq(request.inputs.iter().copied()) || body.returned.len() != request.outputs.len() {
        return None;
    }
    let mut tile = tile::Builder::new(request.inputs, first.elements()?);
    for inst in &body.insts {
        let operands: Option<SmallVec<[(usize, &TensorType); 3]>> =
            inst.operands.iter().map(|x| Some((*x, body.ty(*x)?))).collect();
        tile.op(&inst.op, &operands?, &inst.ty)?;
    }
    for (value, output) in body.returned.iter().zip(request.outputs) {
        (body.ty(*value)? == *output).then_some(())?;
    }
    tile.finish(&body.returned, request.outputs)
}

fn describe(request: &Request<'_>) -> String {
    let names: Vec<&str> = request.bodies.iter().flat_map(|b| &b.insts).map(|i| short_name(&i.op)).collect();
    names.join(" ")
}

/// True if an operation on elements can be part of a fusion.
pub(crate) fn fuses(op: &Op, operands: &[&TensorType], ty: &TensorType) -> bool {
    let dtypes: SmallVec<[_; 3]> = operands.iter().map(|t| t.dtype).collect();
    let plain = operands.iter().chain([&ty]).all(|t| t.quant.is_none());
    plain && elementwise::work(op, &dtypes, ty.dtype).is_some()
}
