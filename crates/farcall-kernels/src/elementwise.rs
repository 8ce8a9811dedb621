//! Kernels of single elementwise operations. Each is a tile program of one operation ([`tiles`]).

use farcall_ir::{DType, Op, TensorType};

use super::loops::prepared::PreparedKernel;
use super::loops::tiles;
use super::{InPlace, Kernel, Request, short_name};

/// Kernel for operations on corresponding elements.
pub(super) static KERNEL: Kernel =
    Kernel { name: "elementwise", prepare, in_place: |_| InPlace::Anywhere, describe };

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let [y] = request.outputs else { return None };
    let computes = matches!(
        request.op,
        Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Clamp | Op::Convert
    );
    let reinterprets =
        *request.op == Op::BitcastConvert && request.inputs.iter().all(|x| x.sizes() == y.sizes());
    if !computes && !reinterprets {
        return None;
    }
    tiles::Builder::single(request.op, request.inputs, y)
}

/// Prepares the conversion of a tensor's elements.
pub(super) fn converted(x: &TensorType, to: DType) -> Option<PreparedKernel> {
    tiles::Builder::single(&Op::Convert, &[x], &x.with_dtype(to))
}

fn describe(request: &Request<'_>) -> String {
    let name = short_name(request.op);
    match request.op {
        Op::Compare(c) => format!("{name}.{}", c.direction.name().to_lowercase()),
        _ => name.to_owned(),
    }
}
