//! `reduce_precision`: rounds elements to fewer bits, with integer operations on their bits.

use farcall_ir::Op;

use super::loops::prepared::PreparedKernel;
use super::loops::tiles;
use super::{InPlace, Kernel, Request};

pub(super) static KERNEL: Kernel =
    Kernel { name: "reduce_precision", prepare, in_place: |_| InPlace::Anywhere, describe };

fn describe(request: &Request<'_>) -> String {
    match request.op {
        Op::ReducePrecision { exponent_bits, mantissa_bits } => format!("e{exponent_bits}m{mantissa_bits}"),
        _ => String::new(),
    }
}

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::ReducePrecision { .. }, [_], [y]) = (request.op, request.inputs, request.outputs) else {
        return None;
    };
    tiles::Builder::single(request.op, request.inputs, y)
}
