//! Converts attribute dictionaries to operations and back. The meaning of each attribute is defined here
//! once, for every format with named attributes.
//!
//! [`read`] takes an operation's attributes out of the dictionary and fills in the specification's defaults.
//! [`write()`] returns a dictionary from which `read` creates the same operation; it omits attributes that
//! equal their defaults. The attributes that `read` leaves in a dictionary belong to the instruction. This
//! module does not depend on the format of a program: a reader passes a name, a dictionary, the types of the
//! operands, a function that assigns ids to functions, and a function that reads an attribute from text
//! ([`Fields`]). The files are named after those in [`crate::op`]. The names of each operation's attributes
//! are declared in the operation table ([`crate::op::table`]); debug builds check that `read` and `write` use
//! no others.
//!
//! ```
//! use farcall_ir::attributes::{self, Fields, FunctionIds};
//! use farcall_ir::{AttrDict, Attribute, FuncId, Op};
//!
//! struct NoFunctions;
//! impl FunctionIds for NoFunctions {
//!     fn func(&mut self, _: &str) -> FuncId {
//!         FuncId::new(0)
//!     }
//! }
//!
//! let named = |name: &str, attribute| (name.to_owned(), attribute);
//! let iota = named("iota_dimension", Attribute::i64(1));
//! let mut attrs = AttrDict::from([iota, named("mine", Attribute::Unit)]);
//! let mut fields =
//!     Fields { attrs: &mut attrs, operand: &|_| None, symbols: &mut NoFunctions, parse: &|_| None };
//! assert_eq!(attributes::read("stablehlo.iota", &mut fields), Some(Ok(Op::Iota { dim: 1 })));
//! assert_eq!(attrs.len(), 1);
//! ```

pub(crate) mod call;
pub(crate) mod collective;
pub(crate) mod contraction;
pub(crate) mod control;
pub(crate) mod data;
pub(crate) mod derived;
pub(crate) mod elementwise;
mod fields;
pub(crate) mod form;
pub(crate) mod indexing;
pub(crate) mod linalg;
pub(crate) mod random;
mod read;
pub(crate) mod reduction;

pub use fields::{Bad, Fields, FunctionIds};
pub use read::read;

use farcall_sig::DType;

use crate::attr::{AttrDict, Attribute, IntKind};
use crate::module::{FuncId, Module};
use crate::op::{Op, Opcode};

/// Returns the attributes of an operation by their names in MLIR's generic form.
pub fn write(op: &Op, module: &Module) -> AttrDict {
    let symbol = |id| Attribute::Symbol(module.get(id).map_or("?", |f| f.name.as_str()).into());
    let mut out = AttrDict::new();
    let mut put = |key: &str, value: Attribute| {
        debug_assert!(is_declared(op.opcode(), key), "the row of {} lacks the attribute {key}", op.name());
        out.insert(key.to_owned(), value);
    };
    match op {
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Select
        | Op::Clamp
        | Op::Convert
        | Op::BitcastConvert
        | Op::Copy
        | Op::UniformQuantize
        | Op::UniformDequantize
        | Op::Reshape
        | Op::DynamicReshape
        | Op::DynamicPad
        | Op::DynamicUpdateSlice
        | Op::RealDynamicSlice
        | Op::If
        | Op::Case
        | Op::While
        | Op::Return
        | Op::OptimizationBarrier
        | Op::AfterAll
        | Op::CreateToken
        | Op::Tuple
        | Op::AsyncStart
        | Op::AsyncDone
        | Op::PartitionId
        | Op::ReplicaId => {}
        Op::Compare(op) => elementwise::write_compare(op, &mut put),
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            put("exponent_bits", i32_attr(i64::from(*exponent_bits)));
            put("mantissa_bits", i32_attr(i64::from(*mantissa_bits)));
        }
        Op::Constant(literal) => put("value", Attribute::Dense(literal.clone())),
        Op::Elided(ty) => put("value", Attribute::Elided(ty.clone())),
        Op::Iota { dim } | Op::DynamicIota { dim } => put("iota_dimension", i64_attr(*dim)),
        Op::BroadcastInDim { dims } | Op::DynamicBroadcastInDim { dims } => {
            put("broadcast_dimensions", Attribute::usize_array(dims));
        }
        Op::Transpose { permutation } => put("permutation", Attribute::usize_array(permutation)),
        Op::Slice(op) => data::write_slice(op, &mut put),
        Op::Concatenate { dim } | Op::GetDimensionSize { dim } | Op::SetDimensionSize { dim } => {
            put("dimension", i64_attr(*dim))
        }
        Op::Pad(op) => data::write_pad(op, &mut put),
        Op::Reverse { dims } | Op::Reduce { dims } | Op::Map { dims } => {
            put("dimensions", Attribute::usize_array(dims));
        }
        Op::DynamicSlice { sizes } => put("slice_sizes", Attribute::usize_array(sizes)),
        Op::Gather(op) => indexing::write_gather(op, false, &mut put),
        Op::DynamicGather(op) => indexing::write_gather(op, true, &mut put),
        Op::Scatter(op) => indexing::write_scatter(op, &mut put),
        Op::ReduceWindow(op) => reduction::write_reduce_window(op, &mut put),
        Op::SelectAndScatter(op) => reduction::write_select_and_scatter(op, &mut put),
        Op::Scan(op) => reduction::write_scan(op, &mut put),
        Op::Sort { dim, is_stable } => reduction::write_sort(*dim, *is_stable, &mut put),
        Op::TopK { k } => put("k", i64_attr(*k)),
        Op::DotGeneral(op) => contraction::write_dot_general(op, &mut put),
        Op::Convolution(op) => contraction::write_convolution(op, false, &mut put),
        Op::DynamicConvolution(op) => contraction::write_convolution(op, true, &mut put),
        Op::Cholesky { lower } => {
            if *lower {
                put("lower", Attribute::Bool(true));
            }
        }
        Op::TriangularSolve(op) => linalg::write_triangular_solve(op, &mut put),
        Op::Fft { kind, length } => {
            put("fft_type", Attribute::dialect("stablehlo.fft_type", kind.name()));
            put("fft_length", Attribute::usize_array(length));
        }
        Op::RngBitGenerator(algorithm) => {
            put("rng_algorithm", Attribute::dialect("stablehlo.rng_algorithm", algorithm.name()));
        }
        Op::Rng(distribution) => {
            put("rng_distribution", Attribute::dialect("stablehlo.rng_distribution", distribution.name()));
        }
        Op::Call { callee } => put("callee", symbol(*callee)),
        Op::Composite(op) => control::write_composite(op, &symbol, &mut put),
        Op::Transfer(op) => control::write_transfer(op, &mut put),
        Op::GetTupleElement { index } => {
            put("index", i32_attr(i64::try_from(*index).unwrap_or(i64::MAX)));
        }
        Op::AllGather(op) => collective::write_all_gather(op, &mut put),
        Op::AllReduce(groups) => collective::write_groups(groups, &mut put),
        Op::ReduceScatter(op) => collective::write_reduce_scatter(op, &mut put),
        Op::AllToAll(op) => collective::write_all_to_all(op, &mut put),
        Op::CollectiveBroadcast(op) | Op::CollectiveReduce(op) => {
            collective::write_collective_broadcast(op, &mut put)
        }
        Op::CollectivePermute(op) => collective::write_collective_permute(op, &mut put),
        Op::Derived(op) => derived::write_derived(op, &mut put),
        Op::CustomCall(op) => call::write_custom_call(op, &symbol, &mut put),
        Op::Form(op) => form::write(op, &mut put),
    }
    out
}

/// Returns true for an attribute that the operation table declares, and for attributes of other dialects and
/// of this engine, whose names have a dot.
fn is_declared(opcode: Opcode, key: &str) -> bool {
    key.contains('.') || opcode.info().attribute_names().any(|name| name == key)
}

fn i64_attr(value: usize) -> Attribute {
    Attribute::i64(i64::try_from(value).unwrap_or(i64::MAX))
}

fn i32_attr(value: i64) -> Attribute {
    Attribute::Int(i128::from(value), IntKind::Typed(DType::S32))
}

/// Converts the name of a function to an attribute.
type Symbol<'a> = &'a dyn Fn(FuncId) -> Attribute;

/// The callback with which the helpers of [`write`] add attributes.
type Put<'a> = dyn FnMut(&str, Attribute) + 'a;
