//! Capabilities of the backends: the operations that fusions, expressions and generated code support.
//!
//! The pass `fuse` asks [`fuses`] which elementwise operations a fusion can contain, [`reduces`] which
//! reductions of rows, and [`duplicates`] which operations are repeated in every fusion that uses their
//! results. Expressions for generated code contain only operations for which [`machine_code`] returns a
//! signature, and the code generator supports all of these.

use farcall_ffi::simd::{Vectors, widest};
use farcall_ir::middle::passes::FusionLimits;
use farcall_ir::op::{Binary, CompareKind, ComparisonDirection, Unary};
use farcall_ir::{DType, Op, TensorType};
use smallvec::{SmallVec, smallvec};

use super::expression::ScalarOp;
use super::vector::combine::{self, Combine};
use super::vector::operations;
use crate::movement::MAX_RANK;

/// Maximum sizes of fusions. JAX's random bits and the operations that use them fit into one fusion.
pub const FUSION_LIMITS: FusionLimits = FusionLimits { members: 256, ops: 4 * 256, row_elements: 16_384 };

/// Maximum number of operands of a concatenation inside a fusion.
const MAX_CONCATENATED: usize = 16;

/// Returns true for operations that are duplicated into every fusion that uses them: constants of one value,
/// iotas, broadcasts, slices, concatenations and pads.
pub fn duplicates(op: &Op, operands: &[&TensorType], ty: &TensorType) -> bool {
    let is_plain =
        |t: &&TensorType| t.elements().is_some_and(|n| n > 0) && (1..=MAX_RANK).contains(&t.rank());
    let moves = |operands: &[&TensorType]| ty.dtype.bits() >= 8 && operands.iter().chain([&ty]).all(is_plain);
    match op {
        Op::Constant(literal) => literal.is_splat() || ty.elements() == Some(1),
        Op::Iota { .. } if ty.dtype.is_integer() => ty.dtype.bits() >= 8,
        Op::Iota { .. } => ty.dtype.is_float() && ty.dtype.bits() >= 16,
        Op::BroadcastInDim { dims } => dims.is_sorted() && ty.rank() <= MAX_RANK,
        Op::Slice(_) => moves(operands),
        Op::Concatenate { .. } => operands.len() <= MAX_CONCATENATED && moves(operands),
        Op::Pad(_) => operands.first().is_some_and(|x| moves(&[x])),
        _ => false,
    }
}

/// Types of the operands and the result of an operation in generated code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Signature {
    pub(crate) operands: SmallVec<[Lane; 3]>,
    pub(crate) result: Lane,
    /// The expressions that can contain the operation.
    pub(crate) within: ExprKind,
}

/// The type of a value in generated code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    /// Elements of this number of bytes.
    Elements(usize),
    Pred,
}

/// Kinds of expressions in which code for an operation can be generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExprKind {
    /// An expression in a loop over many elements. Only these loops have constants in memory.
    Loop,
    /// A single operation on few elements.
    Step,
    /// Both kinds.
    Any,
}

impl ExprKind {
    fn covers(self, kind: ExprKind) -> bool {
        self == ExprKind::Any || self == kind
    }
}

/// Returns the operand types and the result type of an operation, if code can be generated for the operation
/// in expressions of this kind.
pub(crate) fn machine_code(op: ScalarOp, kind: ExprKind) -> Option<Signature> {
    signature(op).filter(|signature| signature.within.covers(kind))
}

fn signature(op: ScalarOp) -> Option<Signature> {
    use DType::{F32, F64, Pred, S32, S64, U32, U64};
    let elements = |dtype: DType| Lane::Elements(dtype.size());
    let same = |count: usize, lane: Lane, within: ExprKind| {
        Some(Signature { operands: SmallVec::from_elem(lane, count), result: lane, within })
    };
    match op {
        ScalarOp::Binary(Binary::And | Binary::Or | Binary::Xor, Pred) => same(2, Lane::Pred, ExprKind::Any),
        // The code for maximum and minimum reads a constant from memory. Only loops have such constants.
        ScalarOp::Binary(Binary::Maximum | Binary::Minimum, dtype @ (F32 | F64)) => {
            same(2, elements(dtype), ExprKind::Loop)
        }
        ScalarOp::Binary(op, dtype) if is_binary(op, dtype) => same(2, elements(dtype), ExprKind::Any),
        ScalarOp::Unary(Unary::Negate | Unary::Abs | Unary::Sqrt | Unary::Square, dtype @ (F32 | F64)) => {
            same(1, elements(dtype), ExprKind::Any)
        }
        ScalarOp::Unary(Unary::Rsqrt, dtype @ (F32 | F64)) => same(1, elements(dtype), ExprKind::Loop),
        ScalarOp::Unary(Unary::Negate | Unary::Not, dtype @ (S32 | U32 | S64 | U64)) => {
            same(1, elements(dtype), ExprKind::Any)
        }
        ScalarOp::Unary(Unary::Exponential | Unary::Tanh, F32) if has_fast_exponentials() => {
            same(1, elements(F32), ExprKind::Loop)
        }
        ScalarOp::RotateLeft => same(2, elements(U32), ExprKind::Any),
        ScalarOp::Compare(compare, dtype) => {
            let holds = match dtype {
                F32 | F64 => compare.kind != Some(CompareKind::TotalOrder),
                S32 | S64 => true,
                U32 | U64 => matches!(compare.direction, ComparisonDirection::Eq | ComparisonDirection::Ne),
                _ => false,
            };
            holds.then(|| Signature {
                operands: SmallVec::from_elem(elements(dtype), 2),
                result: Lane::Pred,
                within: ExprKind::Any,
            })
        }
        ScalarOp::Select(size @ (4 | 8)) => {
            let x = Lane::Elements(size);
            Some(Signature { operands: smallvec![Lane::Pred, x, x], result: x, within: ExprKind::Any })
        }
        ScalarOp::Convert(from, to) => {
            let within = match (from, to) {
                (S32, F32) => ExprKind::Any,
                (Pred, S32 | U32 | S64 | U64 | F32)
                | (S32, F64 | S32 | U32 | S64 | U64)
                | (U32, S32 | U32 | S64 | U64)
                | (S64 | U64, S64 | U64)
                | (F32, F64) => ExprKind::Step,
                _ => return None,
            };
            // A `pred` is converted like an unsigned byte.
            Some(Signature { operands: smallvec![elements(from)], result: elements(to), within })
        }
        _ => None,
    }
}

fn is_binary(op: Binary, dtype: DType) -> bool {
    use Binary::{Add, And, Divide, Maximum, Minimum, Multiply, Or, ShiftLeft, Subtract, Xor};
    use Binary::{ShiftRightArithmetic, ShiftRightLogical};
    match dtype {
        DType::F32 | DType::F64 => matches!(op, Add | Subtract | Multiply | Divide),
        DType::S32 | DType::U32 if matches!(op, Multiply | Maximum | Minimum | ShiftRightArithmetic) => true,
        DType::S32 | DType::U32 | DType::S64 | DType::U64 => {
            matches!(op, Add | Subtract | And | Or | Xor | ShiftLeft | ShiftRightLogical)
        }
        _ => false,
    }
}

/// Returns true if a fusion can reduce rows of this type by an operation.
pub fn reduces(op: &Op, dtype: DType) -> bool {
    Combine::by(op, dtype).is_some_and(|by| combine::rows(by, dtype, 1).is_some())
}

/// Returns true if an operation on elements can be part of a fusion.
pub fn fuses(op: &Op, operands: &[&TensorType], ty: &TensorType) -> bool {
    let dtypes: SmallVec<[_; 3]> = operands.iter().map(|t| t.dtype).collect();
    let plain = operands.iter().chain([&ty]).all(|t| t.quant.is_none());
    plain && operations::work(op, &dtypes, ty.dtype).is_some()
}

/// Returns true if generated code computes exponentials as fast as prebuilt loops do. On processors
/// where prebuilt loops have wider vectors, they are faster.
fn has_fast_exponentials() -> bool {
    cfg!(all(target_arch = "x86_64", unix)) && matches!(widest(), Vectors::Avx2)
}
