//! Operations that only move elements: `broadcast_in_dim`, `transpose`, `slice`, `reverse`.

use farcall_ir::op::Slice;
use farcall_ir::{Op, TensorType};

use super::loops::data_movement;
use super::loops::prepared::PreparedKernel;
use super::movement::{self, Movement, fill, row_major};
use super::{Kernel, Request, apart, nothing};

pub(super) static BROADCAST: Kernel = kernel("broadcast", |r| match r.op {
    Op::BroadcastInDim { dims } => one(r, |from, to| broadcast(from, to, dims)),
    _ => None,
});

pub(super) static TRANSPOSE: Kernel = kernel("transpose", |r| match r.op {
    Op::Transpose { permutation } => one(r, |from, to| movement::transpose(from, to, permutation)),
    _ => None,
});

pub(super) static SLICE: Kernel = kernel("slice", |r| match r.op {
    Op::Slice(s) => one(r, |from, to| slice(from, to, s)),
    _ => None,
});

pub(super) static REVERSE: Kernel = kernel("reverse", |r| match r.op {
    Op::Reverse { dims } => one(r, |from, to| reverse(from, to, dims)),
    _ => None,
});

const fn kernel(name: &'static str, prepare: fn(&Request<'_>) -> Option<PreparedKernel>) -> Kernel {
    Kernel { name, prepare, in_place: apart, describe: nothing }
}

/// Prepares a single movement from the only input to the only output.
fn one(
    request: &Request<'_>,
    movement: impl Fn(&TensorType, &TensorType) -> Option<Movement>,
) -> Option<PreparedKernel> {
    let ([from], [to]) = (request.inputs, request.outputs) else { return None };
    let movement = movement(from, to).filter(|_| from.dtype == to.dtype)?;
    data_movement::moved([(0, movement)], to)
}

fn broadcast(from: &TensorType, to: &TensorType, dims: &[usize]) -> Option<Movement> {
    if dims.len() != from.rank() {
        return None;
    }
    let strides = row_major(from.sizes());
    let axes = fill(to, |d| match dims.iter().position(|x| *x == d) {
        Some(i) if from.sizes()[i] == to.sizes()[d] => strides[i],
        _ => 0,
    });
    Movement::new([from, to], axes, [0, 0])
}

fn slice(from: &TensorType, to: &TensorType, s: &Slice) -> Option<Movement> {
    let rank = from.rank();
    if [s.start.len(), s.strides.len(), to.rank()] != [rank; 3] {
        return None;
    }
    let strides = row_major(from.sizes());
    let mut src = 0usize;
    for (start, stride) in s.start.iter().zip(&strides) {
        src = src.checked_add(start.checked_mul(stride.unsigned_abs())?)?;
    }
    let step = |d: usize| strides[d].saturating_mul(isize::try_from(s.strides[d]).unwrap_or(isize::MAX));
    Movement::new([from, to], fill(to, step), [src, 0])
}

fn reverse(from: &TensorType, to: &TensorType, dims: &[usize]) -> Option<Movement> {
    if from.sizes() != to.sizes() || dims.iter().any(|d| *d >= from.rank()) {
        return None;
    }
    let strides = row_major(from.sizes());
    let src = (0..from.rank()).filter(|d| dims.contains(d));
    let far = |d: usize| from.sizes()[d].saturating_sub(1).saturating_mul(strides[d].unsigned_abs());
    let src = src.fold(0, |n: usize, d| n.saturating_add(far(d)));
    let axes = fill(to, |d| if dims.contains(&d) { -strides[d] } else { strides[d] });
    Movement::new([from, to], axes, [src, 0])
}
