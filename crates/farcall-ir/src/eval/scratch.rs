//! Bounds the memory that an operation needs besides its results: the vectors of scalars, numbers and positions that
//! the families work with.
//!
//! They are allocated like any vector. To keep a program from ending the process that way, this bound is requested
//! before the operation starts. The bound fits any implementation that is linear in the elements it reads and writes;
//! an operation that needs more must say so here.

use super::Value;
use super::machine::Machine;
use crate::memory::count;
use crate::module::Inst;
use crate::op::{Convolution, FftKind, Op};
use crate::scalar::Scalar;

/// Bytes of one element among others: a scalar, or two numbers (or a number and where it lies).
const ELEMENT: usize = {
    assert!(size_of::<Scalar>() <= 32);
    32
};

/// A bound of the bytes that an instruction needs besides its results.
pub(super) fn bytes(m: &Machine<'_>, inst: Inst<'_>, xs: &[Value]) -> usize {
    let operand = |i: usize| xs.get(i).and_then(Value::tensor).map_or(0, |l| l.len());
    let operands = || (0..xs.len()).fold(0usize, |n, i| n.saturating_add(operand(i)));
    let results = || {
        let each = inst.results().iter().filter_map(|r| m.func.tensor(*r));
        // What is open now is checked by whoever finds it out.
        each.fold(0usize, |n, t| n.saturating_add(t.static_sizes().map_or(0, count)))
    };
    let elements = match inst.op() {
        // Straight into the results.
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
        | Op::Scatter(_) => 0,
        // Lists of sizes.
        Op::DynamicPad | Op::RealDynamicSlice | Op::DynamicGather(_) => 0,
        // Nothing of their own: what runs inside asks for itself.
        Op::If
        | Op::Case
        | Op::While
        | Op::Fusion
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
        | Op::CustomCall(_) => 0,

        Op::Reduce { .. } | Op::Map { .. } => results(),
        // The tuples before and after a dimension is folded, and what lies under each window.
        Op::ReduceWindow(_) => sum([results(), operands()]).saturating_mul(2),
        Op::SelectAndScatter(_) => sum([results(), operand(1).saturating_mul(2)]),
        // One slice at a time.
        Op::Scan(_) => 0,
        Op::Sort { dim, part, .. } => {
            let first = xs.first().and_then(Value::tensor);
            let line = first.and_then(|l| l.dims().get(*dim).copied()).unwrap_or(1).max(1);
            let lines = first.map_or(0, |l| l.len() / line);
            // Whole lines, of which a part is taken.
            let whole = if part.is_some() { operands() } else { 0 };
            sum([line.saturating_mul(xs.len() + 1), lines, whole])
        }
        Op::TopK { .. } => {
            xs.first().and_then(Value::tensor).and_then(|l| l.dims().last().copied()).unwrap_or(1)
        }
        Op::DotGeneral(_) => sum([operands().saturating_mul(2), results()]),
        Op::Convolution(c) | Op::DynamicConvolution(c) => sum([operands(), results(), taps(c, xs)]),
        Op::Cholesky { .. } => operands().saturating_mul(2),
        Op::TriangularSolve(_) => operands(),
        Op::Fft { kind, .. } => {
            // A real transform reads or gives half of what is between.
            let whole = if *kind == FftKind::Fft || *kind == FftKind::Ifft { 3 } else { 4 };
            sum([operands(), results()]).saturating_mul(whole)
        }
        Op::RngBitGenerator(_) | Op::Rng(_) => results(),
    };
    elements.saturating_mul(ELEMENT)
}

fn sum<const N: usize>(parts: [usize; N]) -> usize {
    parts.iter().fold(0, |a, b| a.saturating_add(*b))
}

/// The places of a kernel, of which a list is made for each window.
fn taps(c: &Convolution, xs: &[Value]) -> usize {
    let kernel = xs.get(1).and_then(Value::tensor);
    let size = |d: &usize| kernel.and_then(|l| l.dims().get(*d).copied()).unwrap_or(1);
    c.dims.kernel_spatial.iter().map(size).fold(2, usize::saturating_mul)
}
