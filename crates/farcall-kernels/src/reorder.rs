//! Operations that only move elements: `broadcast_in_dim`, `transpose`, `slice`, `reverse`.

use farcall_ir::Op;

use super::loops::data_movement;
use super::loops::prepared::PreparedKernel;
use super::view;
use super::{Kernel, Request, apart, nothing};

pub(super) static BROADCAST: Kernel =
    kernel("broadcast", |r| matches!(r.op, Op::BroadcastInDim { .. }).then(|| moved(r))?);
pub(super) static TRANSPOSE: Kernel =
    kernel("transpose", |r| matches!(r.op, Op::Transpose { .. }).then(|| moved(r))?);
pub(super) static SLICE: Kernel = kernel("slice", |r| matches!(r.op, Op::Slice(_)).then(|| moved(r))?);
pub(super) static REVERSE: Kernel =
    kernel("reverse", |r| matches!(r.op, Op::Reverse { .. }).then(|| moved(r))?);

const fn kernel(name: &'static str, prepare: fn(&Request<'_>) -> Option<PreparedKernel>) -> Kernel {
    Kernel { name, prepare, in_place: apart, describe: nothing }
}

/// Prepares a single movement from the only input to the only output.
fn moved(request: &Request<'_>) -> Option<PreparedKernel> {
    let ([from], [to]) = (request.inputs, request.outputs) else { return None };
    data_movement::moved([(0, view::movement(request.op, from, to)?)], to)
}
