//! How many operands, results and regions each operation has, and which of them are tensors.
//!
//! Everything after this indexes operands and regions freely.

use crate::infer::cx::Cx;
use crate::op::Op;
use crate::types::Type;

/// A number of operands, results or regions.
#[derive(Clone, Copy)]
enum Count {
    Exactly(usize),
    AtLeast(usize),
}

use Count::{AtLeast, Exactly};

/// What kind of values the operands are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tensors,
    Tokens,
    Tuples,
    Anything,
}

use Kind::{Anything, Tensors, Tokens, Tuples};

struct Arity {
    operands: Count,
    kind: Kind,
    regions: Count,
    results: Count,
}

/// Checks the number of results. Apart from the rest, because a program that is being built has no
/// results yet when it asks for their types.
pub(crate) fn results(cx: &mut Cx<'_>) -> bool {
    let inst = cx.inst;
    let (expected, found) = (arity(inst.op()).results, inst.results().len());
    cx.check(expected.allows(found), "result-count", || {
        format!("{} has {}, found {found}", inst.op().name(), expected.text("result"))
    })
}

/// Checks the number and kind of operands, and that the regions are there and return something.
/// `None` if the instruction cannot be looked at any further.
pub(super) fn check(cx: &mut Cx<'_>) -> Option<()> {
    let inst = cx.inst;
    let name = inst.op().name();
    let arity = arity(inst.op());
    let mut ok = true;
    let counts = [
        ("operand-count", "operand", arity.operands, inst.operands().len()),
        ("region-count", "region", arity.regions, inst.regions().len()),
    ];
    for (code, what, expected, found) in counts {
        ok &= cx.check(expected.allows(found), code, || {
            format!("{name} has {}, found {found}", expected.text(what))
        });
    }
    for (i, operand) in inst.operands().iter().enumerate() {
        let ty = cx.func.ty(*operand);
        let (fits, what) = match arity.kind {
            Tensors => (matches!(ty, Type::Tensor(_)), "a tensor"),
            Tokens => (matches!(ty, Type::Token), "a token"),
            Tuples => (matches!(ty, Type::Tuple(_)), "a tuple"),
            Anything => (true, ""),
        };
        ok &= cx.check(fits, "operand-kind", || format!("operand {i} of {name} must be {what}, found {ty}"));
    }
    for (i, region) in inst.regions().enumerate() {
        ok &= cx.check(region.terminator().is_some(), "missing-terminator", || {
            format!("region {i} of {name} must end with stablehlo.return")
        });
    }
    ok.then_some(())
}

impl Count {
    fn allows(self, n: usize) -> bool {
        match self {
            Exactly(m) => n == m,
            AtLeast(m) => n >= m,
        }
    }

    fn text(self, what: &str) -> String {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        match self {
            Exactly(n) => format!("{n} {what}{}", plural(n)),
            AtLeast(n) => format!("at least {n} {what}{}", plural(n)),
        }
    }
}

fn arity(op: &Op) -> Arity {
    let tensors = |operands: Count, regions: usize, results: Count| Arity {
        operands,
        kind: Tensors,
        regions: Exactly(regions),
        results,
    };
    let simple = |operands: usize| tensors(Exactly(operands), 0, Exactly(1));
    let other = |operands: Count, kind: Kind, regions: Count, results: Count| Arity {
        operands,
        kind,
        regions,
        results,
    };
    match op {
        Op::Unary(_)
        | Op::Convert
        | Op::BitcastConvert
        | Op::ReducePrecision { .. }
        | Op::UniformQuantize
        | Op::UniformDequantize
        | Op::BroadcastInDim { .. }
        | Op::Reshape
        | Op::Transpose { .. }
        | Op::Slice(_)
        | Op::Reverse { .. }
        | Op::GetDimensionSize { .. }
        | Op::DynamicIota { .. }
        | Op::Cholesky { .. }
        | Op::Fft { .. } => simple(1),
        Op::Binary(_)
        | Op::Compare(_)
        | Op::DynamicBroadcastInDim { .. }
        | Op::DynamicReshape
        | Op::Pad(_)
        | Op::Gather(_)
        | Op::DotGeneral(_)
        | Op::Convolution(_)
        | Op::TriangularSolve(_) => simple(2),
        Op::Select | Op::Clamp | Op::DynamicGather(_) | Op::DynamicConvolution(_) | Op::Rng(_) => simple(3),
        Op::RealDynamicSlice => simple(4),
        Op::DynamicPad => simple(5),
        Op::Constant(_) | Op::Iota { .. } | Op::PartitionId | Op::ReplicaId => simple(0),
        Op::Concatenate { .. } => tensors(AtLeast(0), 0, Exactly(1)),
        Op::DynamicSlice { .. } => tensors(AtLeast(1), 0, Exactly(1)),
        Op::DynamicUpdateSlice => tensors(AtLeast(2), 0, Exactly(1)),
        Op::Scatter(_) | Op::Reduce { .. } | Op::ReduceWindow(_) | Op::Sort { .. } => {
            tensors(AtLeast(0), 1, AtLeast(0))
        }
        Op::SelectAndScatter(_) => tensors(Exactly(3), 2, Exactly(1)),
        Op::Map { .. } => tensors(AtLeast(0), 1, Exactly(1)),
        Op::AllGather(_) | Op::AllToAll(_) | Op::CollectiveBroadcast(_) => tensors(AtLeast(0), 0, AtLeast(0)),
        Op::AllReduce(_) => tensors(AtLeast(0), 1, AtLeast(0)),
        Op::ReduceScatter(_) => tensors(Exactly(1), 1, Exactly(1)),
        Op::CollectivePermute(_) => simple(1),
        Op::TopK { .. } => tensors(Exactly(1), 0, Exactly(2)),
        Op::RngBitGenerator(_) => tensors(Exactly(1), 0, Exactly(2)),
        Op::If => tensors(Exactly(1), 2, AtLeast(0)),
        Op::Case => other(Exactly(1), Tensors, AtLeast(0), AtLeast(0)),
        Op::While => other(AtLeast(0), Anything, Exactly(2), AtLeast(0)),
        Op::Call { .. } | Op::Composite(_) | Op::CustomCall(_) | Op::OptimizationBarrier => {
            other(AtLeast(0), Anything, Exactly(0), AtLeast(0))
        }
        Op::Return => other(AtLeast(0), Anything, Exactly(0), Exactly(0)),
        Op::AfterAll => other(AtLeast(0), Tokens, Exactly(0), Exactly(1)),
        Op::CreateToken => other(Exactly(0), Anything, Exactly(0), Exactly(1)),
        Op::Tuple => other(AtLeast(0), Anything, Exactly(0), Exactly(1)),
        Op::GetTupleElement { .. } => other(Exactly(1), Tuples, Exactly(0), Exactly(1)),
    }
}
