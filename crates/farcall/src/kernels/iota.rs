//! `iota`: counts along a dimension.

use farcall_ir::Op;
use farcall_ir::memory::count;

use super::args::Prepared;
use super::number::Number;
use super::types::dispatch;
use super::{Kernel, Request, apart};

pub(super) static KERNEL: Kernel = Kernel { name: "iota", prepare, in_place: apart, describe };

fn describe(request: &Request<'_>) -> String {
    match request.op {
        Op::Iota { dim } => format!("dim {dim}"),
        _ => String::new(),
    }
}

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Iota { dim }, [], [y]) = (request.op, request.inputs, request.outputs) else { return None };
    let size = *y.sizes().get(*dim)?;
    let inner = count(&y.sizes()[dim + 1..]).max(1);
    dispatch!(y.dtype, [ints, floats], T => Prepared::new(move |args| {
        // SAFETY: the output's elements are of this type, and there is no input.
        let out = unsafe { args.output::<T>(0) };
        for block in out.chunks_exact_mut(size.saturating_mul(inner).max(1)) {
            if inner == 1 {
                block.iter_mut().enumerate().for_each(|(i, x)| *x = T::from_index(i));
            } else {
                block.chunks_exact_mut(inner).enumerate().for_each(|(i, same)| same.fill(T::from_index(i)));
            }
        }
    }))
}
