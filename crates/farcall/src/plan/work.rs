//! How much a thunk has to do, to compare what it achieves with what the machine can do.

use farcall_ir::{Op, TensorType};

use super::{Compute, Plan, Thunk, ThunkOp, types};

/// What one call of a thunk has to do at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Bytes that it reads and writes, each once: of its inputs and results, without scratch memory.
    pub bytes: u64,
    /// Operations on numbers, as the specification defines the result, whatever way the engine takes; but of a long window,
    /// three for each result and dimension, which is all that it takes. A multiplication with an addition is two; an
    /// elementary function is one, as a comparison is. Moving elements is none, nor is what handlers do.
    pub flops: u64,
}

/// Operations along one dimension of a window for each result, at most: from both ends of blocks as long as the window.
const ALONG: u64 = 3;

impl Plan {
    /// What a call of a thunk of this plan has to do; for a loop or a choice, without the thunks nested in it.
    pub fn work(&self, thunk: &Thunk) -> Work {
        let (inputs, results) = (types(&thunk.inputs), types(thunk.results()));
        let flops = match &thunk.op {
            ThunkOp::Compute(compute) => computed(compute, &inputs, &results),
            ThunkOp::Reference(id) => {
                self.references[id.index()].op().map_or(0, |op| flops(op, 1, &inputs, &results))
            }
            ThunkOp::Copy | ThunkOp::While | ThunkOp::Case | ThunkOp::CustomCall(_) => 0,
        };
        let all = thunk.inputs.iter().chain(thunk.results());
        let bytes = match &thunk.op {
            ThunkOp::While | ThunkOp::Case => 0,
            _ => all.fold(0u64, |sum, b| sum.saturating_add(b.slice.size as u64)),
        };
        Work { bytes, flops }
    }
}

fn computed(compute: &Compute, inputs: &[&TensorType], results: &[&TensorType]) -> u64 {
    // A fusion applies its operations to whole tensors, all others to elements.
    if let (Op::Fusion, [body]) = (&compute.op, compute.bodies.as_slice()) {
        let each = body.insts.iter().map(|inst| {
            let operands: Option<Vec<&TensorType>> = inst.operands.iter().map(|x| body.ty(*x)).collect();
            flops(&inst.op, 1, &operands.unwrap_or_default(), &[&inst.ty])
        });
        return each.fold(0, u64::saturating_add);
    }
    let applied = compute.bodies.first().map_or(1, |body| body.insts.len() as u64);
    flops(&compute.op, applied, inputs, results)
}

/// Operations on numbers; `applied` are those of a region that an operation applies.
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
            // Long ones along one dimension after the other.
            let along = window.iter().filter(|size| **size > 1).count() as u64 * ALONG;
            made.saturating_mul(size.saturating_sub(1).min(along)).saturating_mul(applied)
        }
        Op::Map { .. } => made.saturating_mul(applied),
        Op::Scatter(_) => elements(inputs.last()).saturating_mul(applied),
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
