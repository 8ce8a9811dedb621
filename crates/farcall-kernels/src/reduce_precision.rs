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
    let (Op::ReducePrecision { .. }, [x], [y]) = (request.op, request.inputs, request.outputs) else {
        return None;
    };
    let mut tile = tiles::Builder::new(request.inputs, y.elements()?, None);
    tile.op(request.op, &[(0, *x)], y)?;
    tile.finish(&[1], request.outputs)
}
