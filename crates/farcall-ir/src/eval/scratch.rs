//! Bounds the temporary memory of an operation: the vectors of scalars, numbers and positions with which
//! operations are evaluated.
//!
//! These vectors are allocated like any other vector, so a failed allocation would end the process. A bound
//! of their size is therefore requested before the operation starts. The bound covers any implementation that
//! is linear in the elements it reads and writes; an operation that needs more memory must add it here.

use super::EvalValue;
use super::machine::Machine;
use crate::memory::count;
use crate::module::Inst;
use crate::op::{Convolution, FftKind, FormOp, Op};
use crate::scalar::Scalar;

/// Bytes of one element of temporary memory: a scalar, two numbers, or a number and its position.
const ELEMENT_BYTES: usize = {
    assert!(size_of::<Scalar>() <= 32);
    32
};

/// Upper bound of the bytes that an instruction needs besides its results.
pub(super) fn bytes(m: &Machine<'_>, inst: Inst<'_>, xs: &[EvalValue]) -> usize {
    let operand = |i: usize| xs.get(i).and_then(EvalValue::tensor).map_or(0, |l| l.len());
    let operands = || (0..xs.len()).fold(0usize, |n, i| n.saturating_add(operand(i)));
    let results = || {
        let each = inst.results().iter().filter_map(|r| m.func.tensor(*r));
        // For results of dynamic sizes, the code that determines the sizes requests the memory itself.
        each.fold(0usize, |n, t| n.saturating_add(t.static_sizes().map_or(0, count)))
    };
    let elements = match inst.op() {
        // These operations write directly to their results.
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Select
        | Op::Clamp
        | Op::Convert
        | Op::BitcastConvert
        | Op::Copy
        | Op::ReducePrecision { .. }
        | Op::UniformQuantize
        | Op::UniformDequantize
        | Op::Constant(_)
        | Op::Elided(_)
        | Op::Iota { .. }
        | Op::DynamicIota { .. }
        | Op::BroadcastInDim { .. }
        | Op::DynamicBroadcastInDim { .. }
        | Op::Reshape
        | Op::DynamicReshape
        | Op::Transpose { .. }
        | Op::Slice(_)
        | Op::Concatenate { .. }
        | Op::Pad(_)
        | Op::Reverse { .. }
        | Op::GetDimensionSize { .. }
        | Op::SetDimensionSize { .. }
        | Op::DynamicSlice { .. }
        | Op::DynamicUpdateSlice
        | Op::Gather(_)
        | Op::Scatter(_)
        | Op::Form(FormOp::WrappingGather(_) | FormOp::WrappingScatter(_)) => 0,
        // These operations need temporary memory only for lists of sizes.
        Op::DynamicPad | Op::RealDynamicSlice | Op::DynamicGather(_) => 0,
        // No temporary memory; nested instructions request their own.
        Op::If
        | Op::Case
        | Op::While
        | Op::Call { .. }
        | Op::Composite(_)
        | Op::Return
        | Op::OptimizationBarrier
        | Op::AfterAll
        | Op::CreateToken
        | Op::Tuple
        | Op::GetTupleElement { .. }
        | Op::AsyncStart
        | Op::AsyncDone
        | Op::Transfer(_)
        | Op::PartitionId
        | Op::ReplicaId
        | Op::AllGather(_)
        | Op::AllReduce(_)
        | Op::ReduceScatter(_)
        | Op::AllToAll(_)
        | Op::CollectiveBroadcast(_)
        | Op::CollectiveReduce(_)
        | Op::CollectivePermute(_)
        | Op::Derived(_)
        | Op::CustomCall(_)
        | Op::Form(FormOp::Fusion | FormOp::Copy) => 0,

        Op::Reduce { .. } | Op::Map { .. } => results(),
        // The partial results before and after one dimension is folded, and the run of each window.
        Op::ReduceWindow(_) => sum([results(), operands()]).saturating_mul(2),
        Op::SelectAndScatter(_) => sum([results(), operand(1).saturating_mul(2)]),
        // The slices are handled one at a time.
        Op::Scan(_) => 0,
        Op::Sort { dim, .. } | Op::Form(FormOp::PartialSort { dim, .. }) => {
            let first = xs.first().and_then(EvalValue::tensor);
            let line = first.and_then(|l| l.dims().get(*dim).copied()).unwrap_or(1).max(1);
            let lines = first.map_or(0, |l| l.len() / line);
            // If only a part is kept, whole lines are sorted first.
            let whole = if matches!(inst.op(), Op::Sort { .. }) { 0 } else { operands() };
            sum([line.saturating_mul(xs.len() + 1), lines, whole])
        }
        Op::TopK { .. } => {
            xs.first().and_then(EvalValue::tensor).and_then(|l| l.dims().last().copied()).unwrap_or(1)
        }
        Op::DotGeneral(_) => sum([operands().saturating_mul(2), results()]),
        Op::Convolution(c) | Op::DynamicConvolution(c) => sum([operands(), results(), taps(c, xs)]),
        Op::Cholesky { .. } => operands().saturating_mul(2),
        Op::TriangularSolve(_) => operands(),
        Op::Fft { kind, .. } => {
            // The input or output of a real transform is half as long as the intermediate values.
            let whole = if *kind == FftKind::Fft || *kind == FftKind::Ifft { 3 } else { 4 };
            sum([operands(), results()]).saturating_mul(whole)
        }
        Op::RngBitGenerator(_) | Op::Rng(_) => results(),
    };
    elements.saturating_mul(ELEMENT_BYTES)
}

fn sum<const N: usize>(parts: [usize; N]) -> usize {
    parts.iter().fold(0, |a, b| a.saturating_add(*b))
}

/// Number of positions of a kernel, which are listed for each window.
fn taps(c: &Convolution, xs: &[EvalValue]) -> usize {
    let kernel = xs.get(1).and_then(EvalValue::tensor);
    let size = |d: &usize| kernel.and_then(|l| l.dims().get(*d).copied()).unwrap_or(1);
    c.dims.kernel_spatial.iter().map(size).fold(2, usize::saturating_mul)
}
