//! Declares each operation once: its name, how many operands, results and regions it has, and its traits.
//!
//! Parser, printer, arity checks, evaluator and tests use it through [`Op::info`]. The rows of functions of one and
//! of two variables are in [`super::elementwise`], together with their element types.

use super::{Broadcasted, Broadcasting, Derived, Op, Transfer};

/// A number of operands, results or regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// So many.
    Exactly(usize),
    /// So many or more.
    AtLeast(usize),
}

/// What kind of values the operands of an operation are.
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
    /// Values of any type; what operations of this kind take is checked by each of them.
    Anything,
}

/// What holds of an operation wherever it stands: a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traits(u16);

impl Traits {
    /// Nothing in particular.
    pub const NONE: Traits = Traits(0);
    /// Its operands can change places.
    pub const COMMUTATIVE: Traits = Traits(1);
    /// `(a ∘ b) ∘ c` is `a ∘ (b ∘ c)`: exactly on integers and booleans, up to rounding on others.
    pub const ASSOCIATIVE: Traits = Traits(1 << 1);
    /// Of two operands: `a ∘ a` is `a`. Of one: `f(f(a))` is `f(a)`.
    pub const IDEMPOTENT: Traits = Traits(1 << 2);
    /// What it does shows elsewhere than in its results: it has to run, once, and in order. (A custom call says
    /// this of itself.)
    pub const SIDE_EFFECT: Traits = Traits(1 << 3);
    /// Its results do not follow from its operands alone.
    pub const OPAQUE: Traits = Traits(1 << 4);
    /// It ends a region.
    pub const TERMINATOR: Traits = Traits(1 << 5);
    /// Operands say what shape its result has, or what shape it works with.
    pub const DYNAMIC: Traits = Traits(1 << 6);
    /// It is done by several processes together.
    pub const COLLECTIVE: Traits = Traits(1 << 7);
    /// On quantized operands it is done with the real numbers that they stand for.
    pub const ARITHMETIC: Traits = Traits(1 << 8);

    /// It structures a program: values of other kinds than tensors, calls, what is known of the one device. The middle
    /// form does without it.
    pub const STRUCTURE: Traits = Traits(1 << 9);

    /// Both sets together; `|` in constants.
    pub const fn and(self, other: Traits) -> Traits {
        Traits(self.0 | other.0)
    }

    /// True if all of `other` holds.
    pub const fn has(self, other: Traits) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The declaration of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpInfo {
    /// Name with dialect: `stablehlo.add`.
    pub name: &'static str,
    /// How many operands it takes.
    pub operands: Count,
    /// What they are.
    pub kind: Kind,
    /// How many regions it has.
    pub regions: Count,
    /// How many results it gives.
    pub results: Count,
    /// What holds of it.
    pub traits: Traits,
}

impl OpInfo {
    /// An operation of `operands` tensors with one result.
    pub(super) const fn of(name: &'static str, operands: usize, traits: Traits) -> OpInfo {
        tensors(Exactly(operands), 0, Exactly(1)).named(name, traits)
    }

    const fn named(self, name: &'static str, traits: Traits) -> OpInfo {
        OpInfo { name, traits, ..self }
    }

    /// True if all of `traits` holds.
    pub const fn is(&self, traits: Traits) -> bool {
        self.traits.has(traits)
    }
}

const fn other(operands: Count, kind: Kind, regions: Count, results: Count) -> OpInfo {
    OpInfo { name: "", operands, kind, regions, results, traits: Traits::NONE }
}

const fn tensors(operands: Count, regions: usize, results: Count) -> OpInfo {
    other(operands, Tensors, Exactly(regions), results)
}

/// Operands are tensors, the result is one.
const fn simple(operands: usize) -> OpInfo {
    tensors(Exactly(operands), 0, Exactly(1))
}

/// As many operands and results as one likes, without regions.
const fn any() -> OpInfo {
    other(AtLeast(0), Anything, Exactly(0), AtLeast(0))
}

use Count::{AtLeast, Exactly};
use Kind::{Anything, Futures, Tensors, Tokens, Tuples};

/// Makes [`Op::info`] and [`OPS`] of rows: which operations, name, arity, traits.
macro_rules! declare {
    ($($pattern:pat => $name:literal, $arity:expr, $traits:expr;)*) => {
        impl Op {
            /// The declaration of the operation.
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

        /// The declarations of all operations but those of unary and binary functions.
        static OPS: &[OpInfo] = &[INFEED, OUTFEED, SEND, RECV, $($arity.named($name, $traits)),*];
    };
}

/// The declarations of all operations.
pub fn all() -> impl Iterator<Item = &'static OpInfo> {
    let unary = super::Unary::ALL.iter().map(|op| &op.info().op);
    let binary = super::Binary::ALL.iter().map(|op| &op.info().op);
    let broadcasting = Broadcasted::binary().map(|op| &op.info().broadcasting);
    unary.chain(binary).chain(broadcasting).chain(OPS)
}

const NONE: Traits = Traits::NONE;
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
    Op::Convert => "stablehlo.convert", simple(1), NONE;
    Op::BitcastConvert => "stablehlo.bitcast_convert", simple(1), NONE;
    Op::Copy => "mhlo.copy", simple(1), NONE;
    Op::ReducePrecision { .. } => "stablehlo.reduce_precision", simple(1), ARITHMETIC;
    Op::UniformQuantize => "stablehlo.uniform_quantize", simple(1), NONE;
    Op::UniformDequantize => "stablehlo.uniform_dequantize", simple(1), NONE;
    // data
    Op::Constant(_) | Op::Elided(_) => "stablehlo.constant", simple(0), NONE;
    Op::Iota { .. } => "stablehlo.iota", simple(0), NONE;
    Op::DynamicIota { .. } => "stablehlo.dynamic_iota", simple(1), DYNAMIC;
    Op::BroadcastInDim { .. } => "stablehlo.broadcast_in_dim", simple(1), NONE;
    Op::DynamicBroadcastInDim { .. } => "stablehlo.dynamic_broadcast_in_dim", simple(2), DYNAMIC;
    Op::Reshape => "stablehlo.reshape", simple(1), NONE;
    Op::DynamicReshape => "stablehlo.dynamic_reshape", simple(2), DYNAMIC;
    Op::Transpose { .. } => "stablehlo.transpose", simple(1), NONE;
    Op::Slice(_) => "stablehlo.slice", simple(1), NONE;
    Op::Concatenate { .. } => "stablehlo.concatenate", tensors(AtLeast(0), 0, Exactly(1)), NONE;
    Op::Pad(_) => "stablehlo.pad", simple(2), NONE;
    Op::DynamicPad => "stablehlo.dynamic_pad", simple(5), DYNAMIC;
    Op::Reverse { .. } => "stablehlo.reverse", simple(1), NONE;
    Op::GetDimensionSize { .. } => "stablehlo.get_dimension_size", simple(1), STRUCTURE;
    Op::SetDimensionSize { .. } => "stablehlo.set_dimension_size", simple(2), DYNAMIC;
    // indexing
    Op::DynamicSlice { .. } => "stablehlo.dynamic_slice", tensors(AtLeast(1), 0, Exactly(1)), NONE;
    Op::DynamicUpdateSlice => "stablehlo.dynamic_update_slice", tensors(AtLeast(2), 0, Exactly(1)), NONE;
    Op::RealDynamicSlice => "stablehlo.real_dynamic_slice", simple(4), DYNAMIC;
    Op::Gather(_) => "stablehlo.gather", simple(2), NONE;
    Op::DynamicGather(_) => "stablehlo.dynamic_gather", simple(3), DYNAMIC;
    Op::Scatter(_) => "stablehlo.scatter", tensors(AtLeast(0), 1, AtLeast(0)), NONE;
    // reduction
    Op::Reduce { .. } => "stablehlo.reduce", tensors(AtLeast(0), 1, AtLeast(0)), NONE;
    Op::ReduceWindow(_) => "stablehlo.reduce_window", tensors(AtLeast(0), 1, AtLeast(0)), NONE;
    Op::SelectAndScatter(_) => "stablehlo.select_and_scatter", tensors(Exactly(3), 2, Exactly(1)), NONE;
    Op::Map { .. } => "stablehlo.map", tensors(AtLeast(0), 1, Exactly(1)), NONE;
    Op::Scan(_) => "chlo.scan", tensors(AtLeast(0), 1, AtLeast(0)), NONE;
    Op::Sort { .. } => "stablehlo.sort", tensors(AtLeast(0), 1, AtLeast(0)), NONE;
    Op::TopK { .. } => "chlo.top_k", tensors(Exactly(1), 0, Exactly(2)), NONE;
    // contraction
    Op::DotGeneral(_) => "stablehlo.dot_general", simple(2), ARITHMETIC;
    Op::Convolution(_) => "stablehlo.convolution", simple(2), ARITHMETIC;
    Op::DynamicConvolution(_) => "stablehlo.dynamic_conv", simple(3), ARITHMETIC.and(DYNAMIC);
    // linalg
    Op::Cholesky { .. } => "stablehlo.cholesky", simple(1), ARITHMETIC;
    Op::TriangularSolve(_) => "stablehlo.triangular_solve", simple(2), ARITHMETIC;
    Op::Fft { .. } => "stablehlo.fft", simple(1), NONE;
    // random
    Op::RngBitGenerator(_) => "stablehlo.rng_bit_generator", tensors(Exactly(1), 0, Exactly(2)), NONE;
    Op::Rng(_) => "stablehlo.rng", simple(3), OPAQUE.and(DYNAMIC);
    // control
    Op::If => "stablehlo.if", tensors(Exactly(1), 2, AtLeast(0)), NONE;
    Op::Case => "stablehlo.case", other(Exactly(1), Tensors, AtLeast(0), AtLeast(0)), NONE;
    Op::While => "stablehlo.while", other(AtLeast(0), Anything, Exactly(2), AtLeast(0)), NONE;
    Op::Call { .. } => "func.call", any(), STRUCTURE;
    Op::Fusion => "mhlo.fusion", tensors(AtLeast(0), 1, AtLeast(0)), NONE;
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
    Op::Derived(Derived::Broadcast { .. }) => "stablehlo.broadcast", simple(1), NONE;
    Op::Derived(Derived::Broadcasting(Broadcasting { function: Broadcasted::Compare(_), .. })) =>
        "chlo.broadcast_compare", simple(2), ARITHMETIC;
    Op::Derived(Derived::Broadcasting(Broadcasting { function: Broadcasted::Select, .. })) =>
        "chlo.broadcast_select", simple(3), ARITHMETIC;
    Op::Derived(Derived::ConstantLike(_)) => "chlo.constant_like", simple(1), NONE;
    Op::Derived(Derived::Dot { .. }) => "stablehlo.dot", simple(2), ARITHMETIC;
    Op::Derived(Derived::Einsum { .. }) => "stablehlo.einsum", simple(2), ARITHMETIC;
    Op::Derived(Derived::UnaryEinsum { .. }) => "stablehlo.unary_einsum", simple(1), ARITHMETIC;
    Op::Derived(Derived::TorchIndexSelect { .. }) => "stablehlo.torch_index_select", simple(2), NONE;
    Op::Derived(Derived::BatchNormInference(_)) => "stablehlo.batch_norm_inference", simple(5), ARITHMETIC;
    Op::Derived(Derived::BatchNormTraining(_)) =>
        "stablehlo.batch_norm_training", tensors(Exactly(3), 0, Exactly(3)), ARITHMETIC;
    Op::Derived(Derived::BatchNormGrad(_)) =>
        "stablehlo.batch_norm_grad", tensors(Exactly(5), 0, Exactly(3)), ARITHMETIC;
    Op::Derived(Derived::RaggedDot(_)) => "chlo.ragged_dot", simple(3), NONE;
    Op::Derived(Derived::SinCos) => "chlo.sin_cos", tensors(Exactly(1), 0, Exactly(2)), NONE;
    // call
    Op::CustomCall(_) => "stablehlo.custom_call", any(), OPAQUE;
}
