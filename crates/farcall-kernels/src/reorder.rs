//! Operations that only move elements: `broadcast_in_dim`, `transpose`, `slice`, `reverse`.

use farcall_ir::Op;

use super::loops::data_movement;
use super::loops::prepared::PreparedKernel;
use super::view;
use super::{Kernel, Request, apart, nothing};

pub(super) static BROADCAST: Kernel =
    kernel("broadcast", |r| moved(r, matches!(r.op, Op::BroadcastInDim { .. })));
pub(super) static TRANSPOSE: Kernel = kernel("transpose", |r| moved(r, matches!(r.op, Op::Transpose { .. })));
pub(super) static SLICE: Kernel = kernel("slice", |r| moved(r, matches!(r.op, Op::Slice(_))));
pub(super) static REVERSE: Kernel = kernel("reverse", |r| moved(r, matches!(r.op, Op::Reverse { .. })));

const fn kernel(name: &'static str, prepare: fn(&Request<'_>) -> Option<PreparedKernel>) -> Kernel {
    Kernel { name, prepare, in_place: apart, describe: nothing }
}

/// Prepares a single movement from the only input to the only output, if the kernel `serves` the operation.
fn moved(request: &Request<'_>, serves: bool) -> Option<PreparedKernel> {
    let ([from], [to], true) = (request.inputs, request.outputs, serves) else { return None };
    data_movement::moved([(0, view::movement(request.op, from, to)?)], to)
}
