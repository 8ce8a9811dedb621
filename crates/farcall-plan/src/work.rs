//! Cost of thunks. The cost and the time of a thunk give a rate, to compare with the limits of the machine.

use farcall_ir::op::{Binary, FormOp, Unary};
use farcall_ir::{Op, TensorType};

use super::{Compute, Plan, Thunk, ThunkOp, types};

/// Minimum work of one call of a thunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Bytes of the inputs and results, each counted once, without scratch memory.
    pub bytes: u64,
    /// Operations on numbers. The count follows the specification's definition of the result, however the
    /// engine computes it. Long windows are the exception: they count three operations for each result and
    /// dimension, which is all that the engine needs. A multiplication with an addition counts as two
    /// operations. An elementary function and a comparison count as one operation each. Moving elements and
    /// the work of handlers do not count.
    pub flops: u64,
}

/// Maximum number of operations for each result along one dimension of a window. (Kernels divide the
/// dimension into blocks as long as the window, and combine the elements of each block from both ends.)
const MAX_OPS_PER_WINDOW_DIM: u64 = 3;

/// Prices of [`Plan::estimated_picoseconds`]: for an operation in a product of matrices or a convolution, of
/// real and of complex numbers.
const PRODUCT_PICOSECONDS: u64 = 8;
const COMPLEX_PRODUCT_PICOSECONDS: u64 = 32;
/// For any other operation on numbers that is one or a few instructions of the processor.
const OPERATION_PICOSECONDS: u64 = 64;
/// For an elementary function.
const FUNCTION_PICOSECONDS: u64 = 1000;
/// For a byte that is read or written.
const BYTE_PICOSECONDS: u64 = 16;
/// For a byte of the inputs and results of an operation whose work is not counted, such as a sort.
const UNCOUNTED_BYTE_PICOSECONDS: u64 = 256;

impl Plan {
    /// Returns the cost of one call of a thunk of this plan. For a loop or a choice, nested thunks are
    /// excluded.
    pub fn work(&self, thunk: &Thunk) -> Cost {
        let (inputs, results) = (types(&thunk.inputs), types(thunk.results()));
        let flops = match &thunk.op {
            ThunkOp::Compute(compute) => computed(compute, &inputs, &results),
            ThunkOp::Reference(id) => {
                self.parts.references[id.index()].op().map_or(0, |op| flops(op, 1, &inputs, &results))
            }
            ThunkOp::Copy
            | ThunkOp::While
            | ThunkOp::Case
            | ThunkOp::CustomCall(_)
            | ThunkOp::Collective(_)
            | ThunkOp::DeviceNumber(_) => 0,
        };
        let all = thunk.inputs.iter().chain(thunk.results());
        let bytes = match &thunk.op {
            ThunkOp::While | ThunkOp::Case => 0,
            _ => all.fold(0u64, |sum, b| sum.saturating_add(b.slice.size as u64)),
        };
        Cost { bytes, flops }
    }

    /// Returns a rough estimate of the time of one call of a thunk on one thread, in picoseconds. For a loop
    /// or a choice, nested thunks are excluded; the work of handlers and the waits of collectives do not
    /// count.
    pub fn estimated_picoseconds(&self, thunk: &Thunk) -> u64 {
        let Cost { bytes, .. } = self.work(thunk);
        let (inputs, results) = (types(&thunk.inputs), types(thunk.results()));
        let uncounted = || bytes.saturating_mul(UNCOUNTED_BYTE_PICOSECONDS);
        let computing = match &thunk.op {
            ThunkOp::Compute(compute) => match fused(compute) {
                Some(ops) => ops
                    .filter_map(|(op, inputs, result)| price(op, 1, &inputs, &[result]))
                    .fold(0, u64::saturating_add),
                None => price(&compute.op, applied(compute), &inputs, &results).unwrap_or_else(uncounted),
            },
            ThunkOp::Reference(id) => {
                let op = self.parts.references[id.index()].op();
                op.and_then(|op| price(op, 1, &inputs, &results)).unwrap_or_else(uncounted)
            }
            _ => 0,
        };
        computing.saturating_add(bytes.saturating_mul(BYTE_PICOSECONDS))
    }
}

/// Returns the operations of a fusion, which apply to whole tensors, with the types of their operands and
/// results.
fn fused(compute: &Compute) -> Option<impl Iterator<Item = (&Op, Vec<&TensorType>, &TensorType)>> {
    let (Op::Form(FormOp::Fusion), [body]) = (&compute.op, compute.bodies.as_slice()) else { return None };
    Some(body.insts.iter().map(|inst| {
        let operands: Option<Vec<&TensorType>> = inst.operands.iter().map(|x| body.ty(*x)).collect();
        (&inst.op, operands.unwrap_or_default(), &inst.ty)
    }))
}

/// Returns the number of operations in the region that an operation applies to elements.
fn applied(compute: &Compute) -> u64 {
    compute.bodies.first().map_or(1, |body| body.insts.len() as u64)
}

/// Returns the price of an operation in picoseconds; `None` if its work is not counted.
fn price(op: &Op, applied: u64, inputs: &[&TensorType], results: &[&TensorType]) -> Option<u64> {
    let each = match op {
        Op::DotGeneral(_) | Op::Convolution(_) | Op::DynamicConvolution(_) => {
            let is_complex = inputs.first().is_some_and(|ty| ty.dtype.is_complex());
            if is_complex { COMPLEX_PRODUCT_PICOSECONDS } else { PRODUCT_PICOSECONDS }
        }
        Op::Unary(function) if !is_short(*function) => FUNCTION_PICOSECONDS,
        Op::Binary(Binary::Power | Binary::Atan2 | Binary::Remainder) => FUNCTION_PICOSECONDS,
        _ => OPERATION_PICOSECONDS,
    };
    let count = flops(op, applied, inputs, results);
    (count > 0).then(|| count.saturating_mul(each))
}

/// Returns true for a function that is one or a few instructions of the processor.
fn is_short(function: Unary) -> bool {
    use Unary::*;
    matches!(
        function,
        Abs | Ceil
            | Conj
            | CountLeadingZeros
            | Floor
            | Imag
            | IsFinite
            | IsInf
            | IsNegInf
            | IsPosInf
            | Negate
            | Not
            | Popcnt
            | Real
            | RoundNearestAfz
            | RoundNearestEven
            | Rsqrt
            | Sign
            | Sqrt
            | Square
    )
}

fn computed(compute: &Compute, inputs: &[&TensorType], results: &[&TensorType]) -> u64 {
    match fused(compute) {
        Some(ops) => {
            ops.map(|(op, inputs, result)| flops(op, 1, &inputs, &[result])).fold(0, u64::saturating_add)
        }
        None => flops(&compute.op, applied(compute), inputs, results),
    }
}

/// Counts the operations on numbers that an operation of the program needs. `applied` is the number of
/// operations in the region that this operation applies.
fn flops(op: &Op, applied: u64, inputs: &[&TensorType], results: &[&TensorType]) -> u64 {
    let elements = |ty: Option<&&TensorType>| ty.and_then(|t| t.elements()).unwrap_or(0) as u64;
    let (taken, made) = (elements(inputs.first()), elements(results.first()));
    match op {
        Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select => made,
        Op::Clamp => made.saturating_mul(2),
        Op::Reduce { .. } => taken.saturating_sub(made).saturating_mul(applied),
        Op::ReduceWindow(windows) => {
            let window = &windows.window;
            let size = window.iter().fold(1u64, |n, size| n.saturating_mul(*size as u64));
            // Long windows are computed along one dimension after another.
            let along = window.iter().filter(|size| **size > 1).count() as u64 * MAX_OPS_PER_WINDOW_DIM;
            made.saturating_mul(size.saturating_sub(1).min(along)).saturating_mul(applied)
        }
        Op::Map { .. } => made.saturating_mul(applied),
        Op::Scatter(_) | Op::Form(FormOp::WrappingScatter(_)) => {
            elements(inputs.last()).saturating_mul(applied)
        }
        Op::DotGeneral(dot) => {
            let sizes = inputs.first().map_or(&[][..], |lhs| lhs.sizes());
            let contracted = dot.lhs_contract.iter().filter_map(|d| sizes.get(*d));
            let depth = contracted.fold(1u64, |n, size| n.saturating_mul(*size as u64));
            made.saturating_mul(depth).saturating_mul(2)
        }
        Op::Convolution(convolution) | Op::DynamicConvolution(convolution) => {
            let outputs = inputs.get(1).and_then(|k| k.sizes().get(convolution.dims.kernel_output_feature));
            let each = elements(inputs.get(1)) / outputs.map_or(1, |n| (*n as u64).max(1));
            made.saturating_mul(each).saturating_mul(2)
        }
        _ => 0,
    }
}
