//! The operations of StableHLO, and the CHLO operations that JAX emits.
//!
//! [`Op`] is closed: the dispatch functions of `infer`, `verify`, `eval` and `attributes` match it without a
//! `_` arm, so the compiler points out all code that a new operation affects. Passes and `refine` match only
//! the operations that concern them. An operation's attributes are fields of its variant; its operands,
//! results and regions belong to the instruction. Facts that do not depend on attributes are declared in one
//! row per operation, in [`table`] or, for functions of one and two variables, in [`elementwise`].
//!
//! One file holds one family: [`elementwise`], [`data`] (constants and data movement), [`indexing`] (gather,
//! scatter, dynamic slices), [`reduction`] (reductions, windows, sorting), [`contraction`] (products and
//! convolutions), [`linalg`], [`random`], [`control`], [`collective`] (communication between processes),
//! [`call`] (custom calls), [`derived`] (operations defined by simpler ones), [`form`] (operations that only
//! the compiler creates).

pub mod call;
pub mod class;
pub mod collective;
pub mod contraction;
pub mod control;
pub mod data;
pub mod derived;
pub(crate) mod einsum;
pub mod elementwise;
pub mod form;
pub mod indexing;
pub mod info;
pub mod linalg;
pub mod random;
pub mod reduction;
pub mod table;

pub use call::{CallConfig, CustomCall, OutputAlias};
pub use class::Class;
pub use collective::{
    AllGather, AllToAll, Channel, CollectiveBroadcast, CollectivePermute, Groups, ReduceScatter,
};
pub use contraction::{Convolution, ConvolutionDims, DotGeneral, Precision};
pub use control::{Composite, Endpoint, Transfer};
pub use data::{Pad, Slice};
pub use derived::{BatchNorm, Broadcasted, Broadcasting, Derived, RaggedDot};
pub use elementwise::{Binary, Compare, CompareKind, ComparisonDirection, Unary};
pub use form::{FormOp, Wrapping};
pub use indexing::{Gather, Scatter};
pub use info::{Count, Kind, OpInfo, Traits};
pub use linalg::{FftKind, TriangularSolve, TriangularTranspose};
pub use random::{RngAlgorithm, RngDistribution};
pub use reduction::{ReduceWindow, Scan, SelectAndScatter};
pub use table::{FormOpcode, Opcode};

use crate::ids::FuncId;
use crate::literal::Literal;
use crate::types::TensorType;

// Programs hold, copy and move many operations.
const _: () = assert!(size_of::<Op>() <= 80, "large attributes of an operation are in a box");

/// An operation with its attributes.
///
/// Operands listed in a variant's documentation are in the order of the instruction. The enum is deliberately
/// not `non_exhaustive`: matches are exhaustive, so that the compiler points out all code that a new variant
/// affects.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    // elementwise
    /// A function of one operand, applied to each element.
    Unary(Unary),
    /// A function of two operands of one type, applied to each pair of elements.
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
    /// `mhlo.copy`: the same value.
    Copy,
    /// `reduce_precision`
    ReducePrecision {
        /// Number of exponent bits kept.
        exponent_bits: u32,
        /// Number of mantissa bits kept.
        mantissa_bits: u32,
    },
    /// `uniform_quantize`
    UniformQuantize,
    /// `uniform_dequantize`
    UniformDequantize,

    // data
    /// `constant`
    Constant(Literal),
    /// A constant of this type whose elements were elided from the text. It can be printed and compiled, but
    /// not run.
    Elided(TensorType),
    /// `iota`: indices along a dimension of the result.
    Iota {
        /// Dimension whose index is the value.
        dim: usize,
    },
    /// `dynamic_iota`: output_shape.
    DynamicIota {
        /// Dimension whose index is the value.
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
        /// Dimension along which the operands are joined.
        dim: usize,
    },
    /// `pad`: operand, padding_value.
    Pad(Pad),
    /// `dynamic_pad`: operand, padding_value, edge_padding_low, edge_padding_high, interior_padding.
    DynamicPad,
    /// `reverse`
    Reverse {
        /// Reversed dimensions.
        dims: Vec<usize>,
    },
    /// `get_dimension_size`
    GetDimensionSize {
        /// The dimension whose size is returned.
        dim: usize,
    },
    /// `set_dimension_size`: operand, size. Keeps the first `size` elements along a dimension.
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
    /// `scatter`: inputs, scatter_indices, updates; a combining region.
    Scatter(Box<Scatter>),

    // reduction
    /// `reduce`: inputs, then the same number of init values; a combining region.
    Reduce {
        /// Reduced dimensions.
        dims: Vec<usize>,
    },
    /// `reduce_window`: inputs, then the same number of init values; a combining region.
    ReduceWindow(Box<ReduceWindow>),
    /// `select_and_scatter`: operand, source, init_value; regions select and scatter.
    SelectAndScatter(SelectAndScatter),
    /// `map`: a region applied to each tuple of elements.
    Map {
        /// All dimensions, in order.
        dims: Vec<usize>,
    },
    /// `chlo.scan`: inputs, then initial values of the carries; a region applied to one slice after another.
    Scan(Scan),
    /// `sort`: any number of operands; a comparator region.
    Sort {
        /// Sorted dimension.
        dim: usize,
        /// True if equal elements keep their order.
        is_stable: bool,
    },
    /// `chlo.top_k`: values and indices of the `k` largest along the last dimension.
    TopK {
        /// Number of elements to return.
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
        /// True to read and write the lower triangle, false for the upper.
        lower: bool,
    },
    /// `triangular_solve`: a, b.
    TriangularSolve(TriangularSolve),
    /// `fft` over the last dimensions.
    Fft {
        /// Kind of transform.
        kind: FftKind,
        /// Sizes of the transformed dimensions.
        length: Vec<usize>,
    },

    // random
    /// `rng_bit_generator`: state; results: new state and random bits.
    RngBitGenerator(RngAlgorithm),
    /// `rng`: a, b, shape.
    Rng(RngDistribution),

    // control
    /// `if`: pred; regions true and false.
    If,
    /// `case`: index; one region per branch, the last of which also handles indices out of range.
    Case,
    /// `while`: initial values; regions cond and body.
    While,
    /// `func.call`
    Call {
        /// The called function.
        callee: FuncId,
    },
    /// `composite`: runs its decomposition function.
    Composite(Box<Composite>),
    /// `func.return`, `stablehlo.return`
    Return,
    /// `optimization_barrier`
    OptimizationBarrier,
    /// `after_all`: joins tokens into one token.
    AfterAll,
    /// `create_token`
    CreateToken,
    /// `tuple`
    Tuple,
    /// `get_tuple_element`
    GetTupleElement {
        /// Index of the element.
        index: usize,
    },
    /// `async_start`: a region of one operation, which may run concurrently with others; returns a future.
    AsyncStart,
    /// `async_done`: waits for a future and returns its results.
    AsyncDone,
    /// `infeed`, `outfeed`, `send`, `recv`: transfers tensors in or out, ordered by a token.
    Transfer(Box<Transfer>),
    /// `partition_id`
    PartitionId,
    /// `replica_id`
    ReplicaId,

    // collective
    /// `all_gather`: any number of operands.
    AllGather(Box<AllGather>),
    /// `all_reduce`: any number of operands; a combining region.
    AllReduce(Box<Groups>),
    /// `reduce_scatter`: operand; a combining region.
    ReduceScatter(Box<ReduceScatter>),
    /// `all_to_all`: any number of operands.
    AllToAll(Box<AllToAll>),
    /// `collective_broadcast`: any number of operands, then, if the root is dynamic, an operand that names
    /// the sender for each of the others.
    CollectiveBroadcast(Box<CollectiveBroadcast>),
    /// `collective_reduce`: the operands of `collective_broadcast`. The receiver combines the values of all
    /// senders by a region.
    CollectiveReduce(Box<CollectiveBroadcast>),
    /// `collective_permute`
    CollectivePermute(Box<CollectivePermute>),

    // derived
    /// An operation defined by simpler ones.
    Derived(Derived),

    // call
    /// `custom_call`
    CustomCall(Box<CustomCall>),

    // form
    /// An operation of the middle form, which programs do not contain.
    Form(FormOp),
}

impl Op {
    /// Returns the functions that the operation names.
    pub fn callees(&self) -> &[FuncId] {
        match self {
            Op::Call { callee } => std::slice::from_ref(callee),
            Op::Composite(op) => std::slice::from_ref(&op.decomposition),
            Op::CustomCall(op) => &op.called_computations,
            _ => &[],
        }
    }

    /// Returns the functions that the operation names, mutably.
    pub(crate) fn callees_mut(&mut self) -> &mut [FuncId] {
        match self {
            Op::Call { callee } => std::slice::from_mut(callee),
            Op::Composite(op) => std::slice::from_mut(&mut op.decomposition),
            Op::CustomCall(op) => &mut op.called_computations,
            _ => &mut [],
        }
    }

    /// Returns true for operations that compute each result element from the corresponding operand elements.
    pub fn is_elementwise(&self) -> bool {
        self.info().is(Traits::ELEMENTWISE)
    }

    /// Returns true for operations that only move elements and that a fusion does not compute as a separate
    /// step: it loads the moved elements directly from the operation's operands.
    pub fn moves_elements(&self) -> bool {
        self.info().is(Traits::FUSES_INTO_LOADS)
    }

    /// Returns the name with its dialect, such as `stablehlo.add`.
    pub fn name(&self) -> &'static str {
        self.info().name
    }
}
