//! Fusions of elementwise operations and row reductions. The whole fusion becomes one tile program
//! ([`super::loops::tiles`]). A fusion with matrix products is computed by blocks of rows
//! ([`row_blocks`]), which can also write the result of a single product transposed. A fusion that only moves
//! elements becomes one sequence of movements ([`data_movement`]).

use farcall_ir::op::FormOp;
use farcall_ir::{Op, TensorType};

use super::body::{Body, BodyInst};
use super::loops::prepared::PreparedKernel;
use super::loops::{data_movement, lower};
use super::{InPlace, Kernel, Request, dot, row_blocks, short_name};

/// Kernel for fusions created by the passes `fuse`, `product_fusion` and `movement_fusion`.
pub(super) static KERNEL: Kernel = Kernel { name: "fusion", prepare, in_place, describe };

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::Form(FormOp::Fusion), [body]) = (request.op, request.bodies) else { return None };
    if !body.args.iter().eq(request.inputs.iter().copied()) || body.returned.len() != request.outputs.len() {
        return None;
    }
    for (value, output) in body.returned.iter().zip(request.outputs) {
        (body.ty(*value)? == *output).then_some(())?;
    }
    if body.insts.iter().any(|inst| matches!(inst.op, Op::DotGeneral(_))) {
        return row_blocks::prepare(body);
    }
    let moved = if data_movement::are_all(body) { data_movement::prepare(body) } else { None };
    moved.or_else(|| lower::tiles(request.inputs, body, request.outputs))
}

fn in_place(bodies: &[Body]) -> InPlace {
    match bodies {
        [body] if body.insts.iter().any(|inst| matches!(inst.op, Op::DotGeneral(_))) => {
            row_blocks::in_place(body)
        }
        [body] => lower::in_place(body),
        _ => InPlace::Nowhere,
    }
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
