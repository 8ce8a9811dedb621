//! Declarations of the operations: name, number of operands, results and regions, and traits.
//!
//! The parser, printer, arity checks, evaluator and tests use them through [`Op::info`]. The rows of
//! functions of one and two variables are in [`super::elementwise`], together with their element types.

use super::{Broadcasted, Broadcasting, Derived, Op, Transfer};

/// An expected number of operands, results or regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Exactly this number.
    Exactly(usize),
    /// This number or more.
    AtLeast(usize),
}

/// Kinds of values that an operation takes as operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// All are tensors.
    Tensors,
    /// All are tokens.
    Tokens,
    /// All are tuples.
    Tuples,
    /// All are futures.
    Futures,
    /// Values of any type. Each operation of this kind checks its own operands.
    Anything,
}

/// A set of properties that hold for every instance of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traits(u16);

impl Traits {
    /// No traits.
    pub const EMPTY: Traits = Traits(0);
    /// Operands can be exchanged.
    pub const COMMUTATIVE: Traits = Traits(1);
    /// `(a ∘ b) ∘ c` is `a ∘ (b ∘ c)`: exactly for integers and booleans, up to rounding for other types.
    pub const ASSOCIATIVE: Traits = Traits(1 << 1);
    /// With two operands, `a ∘ a` is `a`. With one, `f(f(a))` is `f(a)`.
    pub const IDEMPOTENT: Traits = Traits(1 << 2);
    /// The operation has effects besides its results, so it must run exactly once and in order. (A custom
    /// call has its own flag for this.)
    pub const SIDE_EFFECT: Traits = Traits(1 << 3);
    /// Results do not depend on the operands alone.
    pub const OPAQUE: Traits = Traits(1 << 4);
    /// The operation ends a region.
    pub const TERMINATOR: Traits = Traits(1 << 5);
    /// Operands determine the shape of the result, or the shape that the operation works with.
    pub const DYNAMIC: Traits = Traits(1 << 6);
    /// Several processes execute the operation together.
    pub const COLLECTIVE: Traits = Traits(1 << 7);
    /// On quantized operands, the operation computes with the real numbers that they represent.
    pub const ARITHMETIC: Traits = Traits(1 << 8);

    /// The operation structures the program: values other than tensors, calls, facts about the one device.
    /// The middle form has no such operations.
    pub const STRUCTURE: Traits = Traits(1 << 9);

    /// Returns the union of both sets.
    pub const fn and(self, other: Traits) -> Traits {
        Traits(self.0 | other.0)
    }

    /// Returns true if the set contains all of `other`.
    pub const fn has(self, other: Traits) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The declaration of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpInfo {
    /// Name with dialect: `stablehlo.add`.
    pub name: &'static str,
    /// Number of operands.
    pub operands: Count,
    /// Kind of the operands.
    pub kind: Kind,
    /// Number of regions.
    pub regions: Count,
    /// Number of results.
    pub results: Count,
    /// Properties of the operation.
    pub traits: Traits,
}

impl OpInfo {
    /// Declares an operation of `operands` tensors with one result.
    pub(super) const fn of(name: &'static str, operands: usize, traits: Traits) -> OpInfo {
        tensors(Exactly(operands), 0, Exactly(1)).named(name, traits)
    }

    const fn named(self, name: &'static str, traits: Traits) -> OpInfo {
        OpInfo { name, traits, ..self }
    }

    /// Returns true if the operation has all of `traits`.
    pub const fn is(&self, traits: Traits) -> bool {
        self.traits.has(traits)
    }
}

const fn other(operands: Count, kind: Kind, regions: Count, results: Count) -> OpInfo {
    OpInfo { name: "", operands, kind, regions, results, traits: Traits::EMPTY }
}

const fn tensors(operands: Count, regions: usize, results: Count) -> OpInfo {
    other(operands, Tensors, Exactly(regions), results)
}

/// Tensor operands and one tensor result.
const fn simple(operands: usize) -> OpInfo {
    tensors(Exactly(operands), 0, Exactly(1))
}

/// Any number of operands and results, no regions.
const fn any() -> OpInfo {
    other(AtLeast(0), Anything, Exactly(0), AtLeast(0))
}

use Count::{AtLeast, Exactly};
use Kind::{Anything, Futures, Tensors, Tokens, Tuples};

/// Generates [`Op::info`] and [`OPS`] from rows of pattern, name, arity and traits.
macro_rules! declare {
    ($($pattern:pat => $name:literal, $arity:expr, $traits:expr;)*) => {
        impl Op {
            /// Returns the declaration of the operation.
            pub fn info(&self) -> &'static OpInfo {
                match self {
                    Op::Unary(op) => &op.info().op,
                    Op::Binary(op) => &op.info().op,
                    Op::Derived(Derived::Broadcasting(Broadcasting { function: Broadcasted::Binary(op), .. })) => {
                        &op.info().broadcasting
                    }
                    Op::Transfer(transfer) => match **transfer {
                        Transfer::Infeed { .. } => &INFEED,
                        Transfer::Outfeed { .. } => &OUTFEED,
                        Transfer::Send(_) => &SEND,
                        Transfer::Recv(_) => &RECV,
                    },
                    $($pattern => {
                        static INFO: OpInfo = $arity.named($name, $traits);
                        &INFO
                    })*
                }
            }
        }

        /// Declarations of all operations except unary and binary functions.
        static OPS: &[OpInfo] = &[INFEED, OUTFEED, SEND, RECV, $($arity.named($name, $traits)),*];
    };
}

/// Returns the declarations of all operations.
pub fn all() -> impl Iterator<Item = &'static OpInfo> {
    let unary = super::Unary::VARIANTS.iter().map(|op| &op.info().op);
    let binary = super::Binary::VARIANTS.iter().map(|op| &op.info().op);
    let broadcasting = Broadcasted::binary().map(|op| &op.info().broadcasting);
    unary.chain(binary).chain(broadcasting).chain(OPS)
}

const NO_TRAITS: Traits = Traits::EMPTY;
const ARITHMETIC: Traits = Traits::ARITHMETIC;
const OPAQUE: Traits = Traits::OPAQUE;
const DYNAMIC: Traits = Traits::DYNAMIC;
const COLLECTIVE: Traits = Traits::COLLECTIVE;
const STRUCTURE: Traits = Traits::STRUCTURE;

const TRANSFER: Traits = Traits::SIDE_EFFECT.and(OPAQUE);
const INTO: OpInfo = other(Exactly(1), Tokens, Exactly(0), AtLeast(0));
const OUT_OF: OpInfo = other(AtLeast(1), Anything, Exactly(0), Exactly(1));
static INFEED: OpInfo = INTO.named("stablehlo.infeed", TRANSFER);
static OUTFEED: OpInfo = OUT_OF.named("stablehlo.outfeed", TRANSFER);
static SEND: OpInfo = OUT_OF.named("stablehlo.send", TRANSFER);
static RECV: OpInfo = INTO.named("stablehlo.recv", TRANSFER);

declare! {
    // elementwise
    Op::Compare(_) => "stablehlo.compare", simple(2), ARITHMETIC;
    Op::Select => "stablehlo.select", simple(3), ARITHMETIC;
    Op::Clamp => "stablehlo.clamp", simple(3), ARITHMETIC;
    Op::Convert => "stablehlo.convert", simple(1), NO_TRAITS;
    Op::BitcastConvert => "stablehlo.bitcast_convert", simple(1), NO_TRAITS;
    Op::Copy => "mhlo.copy", simple(1), NO_TRAITS;
    Op::ReducePrecision { .. } => "stablehlo.reduce_precision", simple(1), ARITHMETIC;
    Op::UniformQuantize => "stablehlo.uniform_quantize", simple(1), NO_TRAITS;
    Op::UniformDequantize => "stablehlo.uniform_dequantize", simple(1), NO_TRAITS;
    // data
    Op::Constant(_) | Op::Elided(_) => "stablehlo.constant", simple(0), NO_TRAITS;
    Op::Iota { .. } => "stablehlo.iota", simple(0), NO_TRAITS;
    Op::DynamicIota { .. } => "stablehlo.dynamic_iota", simple(1), DYNAMIC;
    Op::BroadcastInDim { .. } => "stablehlo.broadcast_in_dim", simple(1), NO_TRAITS;
    Op::DynamicBroadcastInDim { .. } => "stablehlo.dynamic_broadcast_in_dim", simple(2), DYNAMIC;
    Op::Reshape => "stablehlo.reshape", simple(1), NO_TRAITS;
    Op::DynamicReshape => "stablehlo.dynamic_reshape", simple(2), DYNAMIC;
    Op::Transpose { .. } => "stablehlo.transpose", simple(1), NO_TRAITS;
    Op::Slice(_) => "stablehlo.slice", simple(1), NO_TRAITS;
    Op::Concatenate { .. } => "stablehlo.concatenate", tensors(AtLeast(0), 0, Exactly(1)), NO_TRAITS;
    Op::Pad(_) => "stablehlo.pad", simple(2), NO_TRAITS;
    Op::DynamicPad => "stablehlo.dynamic_pad", simple(5), DYNAMIC;
    Op::Reverse { .. } => "stablehlo.reverse", simple(1), NO_TRAITS;
    Op::GetDimensionSize { .. } => "stablehlo.get_dimension_size", simple(1), STRUCTURE;
    Op::SetDimensionSize { .. } => "stablehlo.set_dimension_size", simple(2), DYNAMIC;
    // indexing
    Op::DynamicSlice { .. } => "stablehlo.dynamic_slice", tensors(AtLeast(1), 0, Exactly(1)), NO_TRAITS;
    Op::DynamicUpdateSlice => "stablehlo.dynamic_update_slice", tensors(AtLeast(2), 0, Exactly(1)), NO_TRAITS;
    Op::RealDynamicSlice => "stablehlo.real_dynamic_slice", simple(4), DYNAMIC;
    Op::Gather(_) => "stablehlo.gather", simple(2), NO_TRAITS;
    Op::DynamicGather(_) => "stablehlo.dynamic_gather", simple(3), DYNAMIC;
    Op::Scatter(_) => "stablehlo.scatter", tensors(AtLeast(0), 1, AtLeast(0)), NO_TRAITS;
    // reduction
    Op::Reduce { .. } => "stablehlo.reduce", tensors(AtLeast(0), 1, AtLeast(0)), NO_TRAITS;
    Op::ReduceWindow(_) => "stablehlo.reduce_window", tensors(AtLeast(0), 1, AtLeast(0)), NO_TRAITS;
    Op::SelectAndScatter(_) => "stablehlo.select_and_scatter", tensors(Exactly(3), 2, Exactly(1)), NO_TRAITS;
    Op::Map { .. } => "stablehlo.map", tensors(AtLeast(0), 1, Exactly(1)), NO_TRAITS;
    Op::Scan(_) => "chlo.scan", tensors(AtLeast(0), 1, AtLeast(0)), NO_TRAITS;
    Op::Sort { .. } => "stablehlo.sort", tensors(AtLeast(0), 1, AtLeast(0)), NO_TRAITS;
    Op::TopK { .. } => "chlo.top_k", tensors(Exactly(1), 0, Exactly(2)), NO_TRAITS;
    // contraction
    Op::DotGeneral(_) => "stablehlo.dot_general", simple(2), ARITHMETIC;
    Op::Convolution(_) => "stablehlo.convolution", simple(2), ARITHMETIC;
    Op::DynamicConvolution(_) => "stablehlo.dynamic_conv", simple(3), ARITHMETIC.and(DYNAMIC);
    // linalg
    Op::Cholesky { .. } => "stablehlo.cholesky", simple(1), ARITHMETIC;
    Op::TriangularSolve(_) => "stablehlo.triangular_solve", simple(2), ARITHMETIC;
    Op::Fft { .. } => "stablehlo.fft", simple(1), NO_TRAITS;
    // random
    Op::RngBitGenerator(_) => "stablehlo.rng_bit_generator", tensors(Exactly(1), 0, Exactly(2)), NO_TRAITS;
    Op::Rng(_) => "stablehlo.rng", simple(3), OPAQUE.and(DYNAMIC);
    // control
    Op::If => "stablehlo.if", tensors(Exactly(1), 2, AtLeast(0)), NO_TRAITS;
    Op::Case => "stablehlo.case", other(Exactly(1), Tensors, AtLeast(0), AtLeast(0)), NO_TRAITS;
    Op::While => "stablehlo.while", other(AtLeast(0), Anything, Exactly(2), AtLeast(0)), NO_TRAITS;
    Op::Call { .. } => "func.call", any(), STRUCTURE;
    Op::Fusion => "mhlo.fusion", tensors(AtLeast(0), 1, AtLeast(0)), NO_TRAITS;
    Op::Composite(_) => "stablehlo.composite", any(), STRUCTURE;
    Op::Return => "stablehlo.return", other(AtLeast(0), Anything, Exactly(0), Exactly(0)), Traits::TERMINATOR;
    Op::OptimizationBarrier => "stablehlo.optimization_barrier", any(), STRUCTURE;
    Op::AfterAll => "stablehlo.after_all", other(AtLeast(0), Tokens, Exactly(0), Exactly(1)), OPAQUE.and(STRUCTURE);
    Op::CreateToken => "stablehlo.create_token", other(Exactly(0), Anything, Exactly(0), Exactly(1)), OPAQUE.and(STRUCTURE);
    Op::Tuple => "stablehlo.tuple", other(AtLeast(0), Anything, Exactly(0), Exactly(1)), STRUCTURE;
    Op::GetTupleElement { .. } => "stablehlo.get_tuple_element",
        other(Exactly(1), Tuples, Exactly(0), Exactly(1)), STRUCTURE;
    Op::AsyncStart => "stablehlo.async_start", tensors(AtLeast(0), 1, Exactly(1)), STRUCTURE;
    Op::AsyncDone => "stablehlo.async_done", other(Exactly(1), Futures, Exactly(0), AtLeast(0)), STRUCTURE;
    Op::PartitionId => "stablehlo.partition_id", simple(0), OPAQUE.and(STRUCTURE);
    Op::ReplicaId => "stablehlo.replica_id", simple(0), OPAQUE.and(STRUCTURE);
    // collective
    Op::AllGather(_) => "stablehlo.all_gather", tensors(AtLeast(0), 0, AtLeast(0)), COLLECTIVE;
    Op::AllReduce(_) => "stablehlo.all_reduce", tensors(AtLeast(0), 1, AtLeast(0)), COLLECTIVE;
    Op::ReduceScatter(_) => "stablehlo.reduce_scatter", tensors(Exactly(1), 1, Exactly(1)), COLLECTIVE;
    Op::AllToAll(_) => "stablehlo.all_to_all", tensors(AtLeast(0), 0, AtLeast(0)), COLLECTIVE;
    Op::CollectiveBroadcast(_) => "stablehlo.collective_broadcast",
        tensors(AtLeast(0), 0, AtLeast(0)), COLLECTIVE;
    Op::CollectiveReduce(_) =>
        "stablehlo.collective_reduce", tensors(AtLeast(0), 1, AtLeast(0)), COLLECTIVE;
    Op::CollectivePermute(_) => "stablehlo.collective_permute", simple(1), COLLECTIVE;
    // derived
    Op::Derived(Derived::Broadcast { .. }) => "stablehlo.broadcast", simple(1), NO_TRAITS;
    Op::Derived(Derived::Broadcasting(Broadcasting { function: Broadcasted::Compare(_), .. })) =>
        "chlo.broadcast_compare", simple(2), ARITHMETIC;
    Op::Derived(Derived::Broadcasting(Broadcasting { function: Broadcasted::Select, .. })) =>
        "chlo.broadcast_select", simple(3), ARITHMETIC;
    Op::Derived(Derived::ConstantLike(_)) => "chlo.constant_like", simple(1), NO_TRAITS;
    Op::Derived(Derived::Dot { .. }) => "stablehlo.dot", simple(2), ARITHMETIC;
    Op::Derived(Derived::Einsum { .. }) => "stablehlo.einsum", simple(2), ARITHMETIC;
    Op::Derived(Derived::UnaryEinsum { .. }) => "stablehlo.unary_einsum", simple(1), ARITHMETIC;
    Op::Derived(Derived::TorchIndexSelect { .. }) => "stablehlo.torch_index_select", simple(2), NO_TRAITS;
    Op::Derived(Derived::BatchNormInference(_)) => "stablehlo.batch_norm_inference", simple(5), ARITHMETIC;
    Op::Derived(Derived::BatchNormTraining(_)) =>
        "stablehlo.batch_norm_training", tensors(Exactly(3), 0, Exactly(3)), ARITHMETIC;
    Op::Derived(Derived::BatchNormGrad(_)) =>
        "stablehlo.batch_norm_grad", tensors(Exactly(5), 0, Exactly(3)), ARITHMETIC;
    Op::Derived(Derived::RaggedDot(_)) => "chlo.ragged_dot", simple(3), NO_TRAITS;
    Op::Derived(Derived::SinCos) => "chlo.sin_cos", tensors(Exactly(1), 0, Exactly(2)), NO_TRAITS;
    // call
    Op::CustomCall(_) => "stablehlo.custom_call", any(), OPAQUE;
}
