//! Inference of result types, with every constraint among operands, attributes and regions.
//!
//! ```text
//! operands, attributes, regions ──infer──▶ result types ──verify compares──▶ declared types
//! ```
//!
//! The specification's constraints on the *inputs* of an operation are checked here, where the result types
//! are computed from the same numbers. [`crate::verify`] calls this module and checks the *outputs*. Each
//! constraint is therefore written once. A check is tagged with the specification's name for the constraint
//! (`reduce_c4`), which is also the diagnostic's code. Constraints on operand types are named as in the
//! specification's tables of inputs (`abs_i1`). Constraints on result types are named by the position of the
//! result in the table of outputs (`iota_o1`). Constraints on CHLO's operations, which the specification does
//! not number, are named by the same pattern (`chlo_acos_c1`).
//!
//! Some operations have a result type that the program chooses (`reshape`, `convert`, `iota`, `custom_call`,
//! …). For these operations, inference takes the free parts from the declared type: `convert` returns the
//! operand's shape with the declared element type.
//!
//! **Invariants.** Malformed instructions cause no out-of-bounds access, because `arity` first checks the
//! kinds of operands and the numbers of operands and regions. Arithmetic on sizes is done in `i128` and
//! saturates. Dynamic dimensions are compatible with every size, as in StableHLO.

mod arity;
mod call;
mod collective;
mod contraction;
mod control;
mod cx;
mod data;
mod derived;
mod elementwise;
mod form;
mod indexing;
mod linalg;
mod random;
mod reduction;
mod shape;
mod transfer;

pub(crate) use arity::results as result_count;
pub(crate) use cx::{Constants, Cx};
pub(crate) use shape::{compatible, compatible_dims};

use crate::diag::Diagnostic;
use crate::module::Inst;
use crate::op::Op;
use crate::types::{Type, TypeList};
use smallvec::smallvec;

/// Returns the types of an instruction's results. Of the declared result types, only the parts that the
/// operation leaves free are used. The regions must be complete.
///
/// # Errors
/// Every violated constraint among operands, attributes and regions. The list is never empty.
pub fn result_types(inst: Inst<'_>) -> Result<Vec<Type>, Vec<Diagnostic>> {
    result_type_list(inst).map(TypeList::into_vec)
}

/// Returns the result types like [`result_types`], without a heap allocation for a single result.
pub(crate) fn result_type_list(inst: Inst<'_>) -> Result<TypeList, Vec<Diagnostic>> {
    let mut cx = Cx::new(inst, None);
    match infer(&mut cx) {
        Some(types) if cx.diagnostics.is_empty() => Ok(types),
        _ => Err(cx.diagnostics),
    }
}

/// Infers the result types like [`result_types`], reporting violations in `cx`. The result may be `Some`
/// although constraints are violated; `None` means that a violation was reported.
pub(crate) fn infer(cx: &mut Cx<'_>) -> Option<TypeList> {
    arity::check(cx)?;
    match cx.inst.op() {
        Op::Unary(op) => elementwise::unary(cx, *op),
        Op::Binary(op) => elementwise::binary(cx, *op),
        Op::Compare(op) => elementwise::compare(cx, op),
        Op::Select => elementwise::select(cx),
        Op::Clamp => elementwise::clamp(cx),
        Op::Convert => elementwise::convert(cx),
        Op::BitcastConvert => elementwise::bitcast_convert(cx),
        Op::Copy => Some(smallvec![cx.t(0).clone().into()]),
        Op::ReducePrecision { exponent_bits, .. } => elementwise::reduce_precision(cx, *exponent_bits),
        Op::UniformQuantize => elementwise::uniform_quantize(cx),
        Op::UniformDequantize => elementwise::uniform_dequantize(cx),

        Op::Constant(value) => data::constant(cx, value.ty()),
        Op::Elided(ty) => data::constant(cx, ty.clone()),
        Op::Iota { dim } => data::iota(cx, *dim),
        Op::DynamicIota { dim } => data::dynamic_iota(cx, *dim),
        Op::BroadcastInDim { dims } => data::broadcast_in_dim(cx, dims, false),
        Op::DynamicBroadcastInDim { dims } => data::broadcast_in_dim(cx, dims, true),
        Op::Reshape => data::reshape(cx, false),
        Op::DynamicReshape => data::reshape(cx, true),
        Op::Transpose { permutation } => data::transpose(cx, permutation),
        Op::Slice(op) => data::slice(cx, op),
        Op::Concatenate { dim } => data::concatenate(cx, *dim),
        Op::Pad(op) => data::pad(cx, op),
        Op::DynamicPad => data::dynamic_pad(cx),
        Op::Reverse { dims } => data::reverse(cx, dims),
        Op::GetDimensionSize { dim } => data::get_dimension_size(cx, *dim),
        Op::SetDimensionSize { dim } => data::set_dimension_size(cx, *dim),

        Op::DynamicSlice { sizes } => indexing::dynamic_slice(cx, sizes),
        Op::DynamicUpdateSlice => indexing::dynamic_update_slice(cx),
        Op::RealDynamicSlice => indexing::real_dynamic_slice(cx),
        Op::Gather(op) => indexing::gather(cx, op, false),
        Op::DynamicGather(op) => indexing::gather(cx, op, true),
        Op::Scatter(op) => indexing::scatter(cx, op),

        Op::Reduce { dims } => reduction::reduce(cx, dims),
        Op::ReduceWindow(op) => reduction::reduce_window(cx, op),
        Op::SelectAndScatter(op) => reduction::select_and_scatter(cx, op),
        Op::Map { dims } => reduction::map(cx, dims),
        Op::Scan(op) => reduction::scan(cx, op),
        Op::Sort { dim, .. } => reduction::sort(cx, *dim),
        Op::TopK { k } => reduction::top_k(cx, *k),

        Op::DotGeneral(op) => contraction::dot_general(cx, op),
        Op::Convolution(op) => contraction::convolution(cx, op, false),
        Op::DynamicConvolution(op) => contraction::convolution(cx, op, true),

        Op::Cholesky { .. } => linalg::cholesky(cx),
        Op::TriangularSolve(op) => linalg::triangular_solve(cx, op),
        Op::Fft { kind, length } => linalg::fft(cx, *kind, length),

        Op::RngBitGenerator(algorithm) => random::rng_bit_generator(cx, *algorithm),
        Op::Rng(distribution) => random::rng(cx, *distribution),

        Op::If => control::conditional(cx, control::Conditional::If),
        Op::Case => control::conditional(cx, control::Conditional::Case),
        Op::While => control::while_loop(cx),
        Op::Call { .. } | Op::Composite(_) => control::call(cx),
        Op::Return => Some(TypeList::new()),
        Op::OptimizationBarrier => control::optimization_barrier(cx),
        Op::AfterAll | Op::CreateToken => Some(smallvec![Type::Token]),
        Op::Tuple => control::tuple(cx),
        Op::GetTupleElement { index } => control::get_tuple_element(cx, *index),
        Op::AsyncStart => control::async_start(cx),
        Op::AsyncDone => control::async_done(cx),
        Op::Transfer(op) => transfer::transfer(cx, op),
        Op::PartitionId | Op::ReplicaId => control::device_id(cx),

        Op::AllGather(op) => collective::all_gather(cx, op),
        Op::AllReduce(groups) => collective::all_reduce(cx, groups),
        Op::ReduceScatter(op) => collective::reduce_scatter(cx, op),
        Op::AllToAll(op) => collective::all_to_all(cx, op),
        Op::CollectiveBroadcast(op) => collective::collective_broadcast(cx, op),
        Op::CollectiveReduce(op) => collective::collective_reduce(cx, op),
        Op::CollectivePermute(op) => collective::collective_permute(cx, op),

        Op::Derived(op) => derived::derived(cx, op),

        Op::CustomCall(_) => call::custom_call(cx),

        Op::Form(op) => form::form(cx, op),
    }
}
