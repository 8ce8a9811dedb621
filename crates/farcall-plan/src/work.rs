//! Cost of thunks. The cost and the time of a thunk give a rate, to compare with the limits of the machine.

use farcall_ir::op::FormOp;
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
    /// The operations among [`Cost::flops`] that belong to products of matrices and convolutions, which take less
    /// time each than others.
    pub product_flops: u64,
}

/// Maximum number of operations for each result along one dimension of a window. (Kernels divide the
/// dimension into blocks as long as the window, and combine the elements of each block from both ends.)
const MAX_OPS_PER_WINDOW_DIM: u64 = 3;

impl Plan {
    /// Returns the cost of one call of a thunk of this plan. For a loop or a choice, nested thunks are
    /// excluded.
    pub fn work(&self, thunk: &Thunk) -> Cost {
        let (inputs, results) = (types(&thunk.inputs), types(thunk.results()));
        let computed = match &thunk.op {
            ThunkOp::Compute(compute) => computed(compute, &inputs, &results),
            ThunkOp::Reference(id) => self.parts.references[id.index()]
                .op()
                .map_or(Flops::default(), |op| Flops::of(op, 1, &inputs, &results)),
            ThunkOp::Copy
            | ThunkOp::While
            | ThunkOp::Case
            | ThunkOp::CustomCall(_)
            | ThunkOp::Collective(_)
            | ThunkOp::DeviceNumber(_) => Flops::default(),
        };
        let all = thunk.inputs.iter().chain(thunk.results());
        let bytes = match &thunk.op {
            ThunkOp::While | ThunkOp::Case => 0,
            _ => all.fold(0u64, |sum, b| sum.saturating_add(b.slice.size as u64)),
        };
        Cost { bytes, flops: computed.all, product_flops: computed.of_products }
    }
}

/// Numbers of operations on numbers.
#[derive(Clone, Copy, Default)]
struct Flops {
    all: u64,
    of_products: u64,
}

impl Flops {
    fn of(op: &Op, applied: u64, inputs: &[&TensorType], results: &[&TensorType]) -> Flops {
        let all = flops(op, applied, inputs, results);
        let is_product = matches!(op, Op::DotGeneral(_) | Op::Convolution(_) | Op::DynamicConvolution(_));
        Flops { all, of_products: if is_product { all } else { 0 } }
    }

    fn plus(self, other: Flops) -> Flops {
        Flops {
            all: self.all.saturating_add(other.all),
            of_products: self.of_products.saturating_add(other.of_products),
        }
    }
}

fn computed(compute: &Compute, inputs: &[&TensorType], results: &[&TensorType]) -> Flops {
    // A fusion applies its operations to whole tensors; all other operations apply their regions to elements.
    if let (Op::Form(FormOp::Fusion), [body]) = (&compute.op, compute.bodies.as_slice()) {
        let each = body.insts.iter().map(|inst| {
            let operands: Option<Vec<&TensorType>> = inst.operands.iter().map(|x| body.ty(*x)).collect();
            Flops::of(&inst.op, 1, &operands.unwrap_or_default(), &[&inst.ty])
        });
        return each.fold(Flops::default(), Flops::plus);
    }
    let applied = compute.bodies.first().map_or(1, |body| body.insts.len() as u64);
    Flops::of(&compute.op, applied, inputs, results)
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
