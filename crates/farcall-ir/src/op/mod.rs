//! The operations: StableHLO's, and those of CHLO that JAX emits.
//!
//! [`Op`] is closed: the dispatch functions of `infer`, `verify`, `eval` and `attributes` match it without a `_` arm,
//! so the compiler names these places for a new operation (passes and `refine` match only what concerns them). An
//! operation's attributes are fields of its variant; its operands, results and regions belong to the instruction.
//! Properties that do not depend on attributes are declared in one row of a table: [`info`], and [`elementwise`] for
//! functions of one and two variables.
//!
//! One file holds one family: [`elementwise`], [`data`] (constants and movement of elements),
//! [`indexing`] (gather, scatter, dynamic slices), [`reduction`] (reductions, windows, sorting),
//! [`contraction`] (products and convolutions), [`linalg`], [`random`], [`control`], [`collective`]
//! (processes together), [`call`] (custom calls), [`derived`] (what is defined by simpler operations).

pub mod call;
pub mod class;
pub mod collective;
pub mod contraction;
pub mod control;
pub mod data;
pub mod derived;
pub(crate) mod einsum;
pub mod elementwise;
pub mod indexing;
pub mod info;
pub mod linalg;
pub mod random;
pub mod reduction;

pub use call::{CallConfig, CustomCall, OutputAlias};
pub use class::Class;
pub use collective::{
    AllGather, AllToAll, Channel, CollectiveBroadcast, CollectivePermute, Groups, ReduceScatter,
};
pub use contraction::{Convolution, ConvolutionDims, DotGeneral, Precision};
pub use control::{Composite, Endpoint, Transfer};
pub use data::{Pad, Slice};
pub use derived::{BatchNorm, Broadcasted, Broadcasting, Derived, RaggedDot};
pub use elementwise::{Binary, Compare, CompareKind, Direction, Unary};
pub use indexing::{Gather, Scatter};
pub use info::{Count, Kind, OpInfo, Traits};
pub use linalg::{FftKind, TriangularSolve, TriangularTranspose};
pub use random::{RngAlgorithm, RngDistribution};
pub use reduction::{ReduceWindow, Scan, SelectAndScatter};

use std::ops::Range;

use crate::ids::FuncId;
use crate::literal::Literal;
use crate::types::TensorType;

// Programs hold, copy and move many.
const _: () = assert!(size_of::<Op>() <= 80, "large attributes of an operation are in a box");

/// An operation with its attributes.
///
/// Where a variant says `operands`, that is the order in the instruction. Not `non_exhaustive`: it is
/// matched exhaustively on purpose, so that the compiler names the places that a new variant concerns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    // elementwise
    /// One operand, applied to each element.
    Unary(Unary),
    /// Two operands of one type, applied to each pair of elements.
    Binary(Binary),
    /// `compare`: two operands to `pred`.
    Compare(Compare),
    /// `select`: pred (same shape or scalar), on_true, on_false.
    Select,
    /// `clamp`: min, operand, max; the bounds may be scalars.
    Clamp,
    /// `convert` to the result's element type.
    Convert,
    /// `bitcast_convert` to the result's element type.
    BitcastConvert,
    /// `mhlo.copy`: the same value. In the middle form it has memory of its own.
    Copy,
    /// `reduce_precision`
    ReducePrecision {
        /// Bits of the exponent that remain.
        exponent_bits: u32,
        /// Bits of the mantissa that remain.
        mantissa_bits: u32,
    },
    /// `uniform_quantize`
    UniformQuantize,
    /// `uniform_dequantize`
    UniformDequantize,

    // data
    /// `constant`
    Constant(Literal),
    /// A constant of this type whose elements the text left out. It can be printed and compiled, not run.
    Elided(TensorType),
    /// `iota` along a dimension of the result.
    Iota {
        /// Dimension that counts.
        dim: usize,
    },
    /// `dynamic_iota`: output_shape.
    DynamicIota {
        /// Dimension that counts.
        dim: usize,
    },
    /// `broadcast_in_dim`: operand dimension `i` becomes result dimension `dims[i]`.
    BroadcastInDim {
        /// One result dimension per operand dimension.
        dims: Vec<usize>,
    },
    /// `dynamic_broadcast_in_dim`: operand, output_dimensions.
    DynamicBroadcastInDim {
        /// One result dimension per operand dimension.
        dims: Vec<usize>,
    },
    /// `reshape` to the result's dimensions.
    Reshape,
    /// `dynamic_reshape`: operand, output_shape.
    DynamicReshape,
    /// `transpose`: result dimension `i` is operand dimension `permutation[i]`.
    Transpose {
        /// One operand dimension per result dimension.
        permutation: Vec<usize>,
    },
    /// `slice`
    Slice(Slice),
    /// `concatenate` of all operands.
    Concatenate {
        /// Dimension along which they are joined.
        dim: usize,
    },
    /// `pad`: operand, padding_value.
    Pad(Pad),
    /// `dynamic_pad`: operand, padding_value, edge_padding_low, edge_padding_high, interior_padding.
    DynamicPad,
    /// `reverse`
    Reverse {
        /// Dimensions that are reversed.
        dims: Vec<usize>,
    },
    /// `get_dimension_size`
    GetDimensionSize {
        /// The dimension asked for.
        dim: usize,
    },
    /// `set_dimension_size`: operand, size. The first elements along a dimension.
    SetDimensionSize {
        /// The dimension whose size changes.
        dim: usize,
    },

    // indexing
    /// `dynamic_slice`: operand, then one scalar start index per dimension.
    DynamicSlice {
        /// Sizes of the result.
        sizes: Vec<usize>,
    },
    /// `dynamic_update_slice`: operand, update, then one scalar start index per dimension.
    DynamicUpdateSlice,
    /// `real_dynamic_slice`: operand, start_indices, limit_indices, strides.
    RealDynamicSlice,
    /// `gather`: operand, start_indices.
    Gather(Box<Gather>),
    /// `dynamic_gather`: operand, start_indices, slice_sizes. [`Gather::slice_sizes`] is empty.
    DynamicGather(Box<Gather>),
    /// `scatter`: inputs, scatter_indices, updates; a region that combines.
    Scatter(Box<Scatter>),

    // reduction
    /// `reduce`: inputs, then as many init values; a region that combines.
    Reduce {
        /// Dimensions that are reduced.
        dims: Vec<usize>,
    },
    /// `reduce_window`: inputs, then as many init values; a region that combines.
    ReduceWindow(Box<ReduceWindow>),
    /// `select_and_scatter`: operand, source, init_value; regions select and scatter.
    SelectAndScatter(SelectAndScatter),
    /// `map`: a region applied to each tuple of elements.
    Map {
        /// All dimensions, in order.
        dims: Vec<usize>,
    },
    /// `chlo.scan`: inputs, then initial values of what is carried; a region applied to one slice after the other.
    Scan(Scan),
    /// `sort`: any number of operands; a region that compares.
    Sort {
        /// Dimension along which is sorted.
        dim: usize,
        /// True if equal elements keep their order.
        is_stable: bool,
        /// The elements of each line in order that are results; `None`: all of them. The pass
        /// [`slices`](crate::middle::passes::slices) makes such sorts.
        part: Option<Range<usize>>,
    },
    /// `chlo.top_k`: values and indices of the `k` largest along the last dimension.
    TopK {
        /// How many.
        k: usize,
    },

    // contraction
    /// `dot_general`: lhs, rhs.
    DotGeneral(Box<DotGeneral>),
    /// `convolution`: lhs, rhs.
    Convolution(Box<Convolution>),
    /// `dynamic_conv`: lhs, rhs, padding. [`Convolution::padding`] is empty.
    DynamicConvolution(Box<Convolution>),

    // linalg
    /// `cholesky`
    Cholesky {
        /// The lower triangle is read and written, else the upper.
        lower: bool,
    },
    /// `triangular_solve`: a, b.
    TriangularSolve(TriangularSolve),
    /// `fft` over the last dimensions.
    Fft {
        /// Which transform.
        kind: FftKind,
        /// Sizes of the transformed dimensions.
        length: Vec<usize>,
    },

    // random
    /// `rng_bit_generator`: state; new state and random bits.
    RngBitGenerator(RngAlgorithm),
    /// `rng`: a, b, shape.
    Rng(RngDistribution),

    // control
    /// `if`: pred; regions true and false.
    If,
    /// `case`: index; one region a branch, the last one for an index out of range.
    Case,
    /// `while`: initial values; regions cond and body.
    While,
    /// `func.call`
    Call {
        /// The function.
        callee: FuncId,
    },
    /// `fusion`: a region of the operands, which is computed at once. The compiler makes it.
    Fusion,
    /// `composite`: runs its decomposition.
    Composite(Box<Composite>),
    /// `func.return`, `stablehlo.return`
    Return,
    /// `optimization_barrier`
    OptimizationBarrier,
    /// `after_all`: tokens to one token.
    AfterAll,
    /// `create_token`
    CreateToken,
    /// `tuple`
    Tuple,
    /// `get_tuple_element`
    GetTupleElement {
        /// Which element.
        index: usize,
    },
    /// `async_start`: a region of one operation, which may go on beside others; its future.
    AsyncStart,
    /// `async_done`: what a future has become.
    AsyncDone,
    /// `infeed`, `outfeed`, `send`, `recv`: a token, for those that give tensors away behind them.
    Transfer(Box<Transfer>),
    /// `partition_id`
    PartitionId,
    /// `replica_id`
    ReplicaId,

    // collective
    /// `all_gather`: any number of operands.
    AllGather(Box<AllGather>),
    /// `all_reduce`: any number of operands; a region that combines.
    AllReduce(Box<Groups>),
    /// `reduce_scatter`: operand; a region that combines.
    ReduceScatter(Box<ReduceScatter>),
    /// `all_to_all`: any number of operands.
    AllToAll(Box<AllToAll>),
    /// `collective_broadcast`: any number of operands, then, if the root is dynamic, who sends each.
    CollectiveBroadcast(Box<CollectiveBroadcast>),
    /// `collective_reduce`: the same operands; who receives combines what all send, by a region.
    CollectiveReduce(Box<CollectiveBroadcast>),
    /// `collective_permute`
    CollectivePermute(Box<CollectivePermute>),

    // derived
    /// What is defined by simpler operations.
    Derived(Derived),

    // call
    /// `custom_call`
    CustomCall(Box<CustomCall>),
}

impl Op {
    /// The functions that it names.
    pub fn callees(&self) -> &[FuncId] {
        match self {
            Op::Call { callee } => std::slice::from_ref(callee),
            Op::Composite(op) => std::slice::from_ref(&op.decomposition),
            Op::CustomCall(op) => &op.called_computations,
            _ => &[],
        }
    }

    /// The functions that it names, to be changed.
    pub(crate) fn callees_mut(&mut self) -> &mut [FuncId] {
        match self {
            Op::Call { callee } => std::slice::from_mut(callee),
            Op::Composite(op) => std::slice::from_mut(&mut op.decomposition),
            Op::CustomCall(op) => &mut op.called_computations,
            _ => &mut [],
        }
    }

    /// True for operations that make each element of corresponding ones.
    pub fn is_elementwise(&self) -> bool {
        matches!(
            self,
            Op::Unary(_)
                | Op::Binary(_)
                | Op::Compare(_)
                | Op::Select
                | Op::Clamp
                | Op::Convert
                | Op::ReducePrecision { .. }
        )
    }

    /// True for operations that leave elements of their operands as they are, in other places: fusions read them there.
    pub fn moves_elements(&self) -> bool {
        matches!(self, Op::Slice(_) | Op::Concatenate { .. } | Op::Pad(_))
    }

    /// Name with dialect: `stablehlo.add`.
    pub fn name(&self) -> &'static str {
        self.info().name
    }
}
