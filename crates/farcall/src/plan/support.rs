//! Which operations have kernels, for which element types.
//!
//! The compiler asks before it makes a thunk; the runtime's dispatch covers exactly these. Whatever
//! is not covered becomes a [`ThunkOp::Reference`](super::ThunkOp::Reference).

use farcall_ir::DType;
use farcall_ir::op::{Binary, Unary};

/// Integers of 8 to 64 bits.
pub fn is_int(d: DType) -> bool {
    d.is_integer() && d.bits() >= 8
}

/// `f64`, `f32`, `f16`, `bf16`.
pub fn is_float(d: DType) -> bool {
    matches!(d, DType::F64 | DType::F32 | DType::F16 | DType::BF16)
}

/// Integers and floats.
fn is_number(d: DType) -> bool {
    is_int(d) || is_float(d)
}

/// True if there is a kernel for the operation on operands of this type.
pub fn unary(op: Unary, d: DType) -> bool {
    match op {
        Unary::Abs | Unary::Sign => is_float(d) || (is_int(d) && d.is_signed_integer()),
        Unary::Negate => is_number(d) || d.is_complex(),
        Unary::Square => is_number(d),
        Unary::Not => is_int(d) || d.is_bool(),
        Unary::Popcnt | Unary::CountLeadingZeros => is_int(d),
        Unary::Imag | Unary::Real | Unary::Conj => d.is_complex(),
        Unary::Cbrt
        | Unary::Ceil
        | Unary::Cosine
        | Unary::Exponential
        | Unary::ExponentialMinusOne
        | Unary::Floor
        | Unary::IsFinite
        | Unary::Log
        | Unary::LogPlusOne
        | Unary::Logistic
        | Unary::RoundNearestAfz
        | Unary::RoundNearestEven
        | Unary::Rsqrt
        | Unary::Sine
        | Unary::Sqrt
        | Unary::Tan
        | Unary::ChloTan
        | Unary::Tanh
        | Unary::Acos
        | Unary::Acosh
        | Unary::Asin
        | Unary::Asinh
        | Unary::Atan
        | Unary::Atanh
        | Unary::Cosh
        | Unary::Sinh
        | Unary::IsInf
        | Unary::IsNegInf
        | Unary::IsPosInf => is_float(d),
        Unary::AsinAcosKernel
        | Unary::BesselI1e
        | Unary::Digamma
        | Unary::Erf
        | Unary::ErfInv
        | Unary::Erfc
        | Unary::Lgamma => false,
    }
}

/// True if there is a kernel for the operation on operands of this type.
pub fn binary(op: Binary, d: DType) -> bool {
    match op {
        Binary::Add | Binary::Multiply => is_number(d) || d.is_bool() || d.is_complex(),
        Binary::Subtract => is_number(d) || d.is_complex(),
        Binary::Maximum | Binary::Minimum => is_number(d) || d.is_bool(),
        Binary::Divide | Binary::Remainder | Binary::Power => is_number(d),
        Binary::And | Binary::Or | Binary::Xor => is_int(d) || d.is_bool(),
        Binary::MulHi | Binary::ShiftLeft | Binary::ShiftRightArithmetic | Binary::ShiftRightLogical => {
            is_int(d)
        }
        Binary::Atan2 => is_float(d),
        Binary::Complex => matches!(d, DType::F32 | DType::F64),
        Binary::NextAfter | Binary::Polygamma | Binary::Zeta => false,
    }
}

/// True if values of this type can be compared and clamped by a kernel.
pub fn ordered(d: DType) -> bool {
    is_number(d) || d.is_bool()
}

/// True if there is a kernel that converts between these types. Those to 16-bit floats go through
/// `f32`, which has to hold the operand exactly.
pub fn convert(from: DType, to: DType) -> bool {
    let half = matches!(to, DType::F16 | DType::BF16);
    let exact = from != DType::F64 && !(from.is_integer() && from.bits() > 16);
    ordered(from) && ordered(to) && (!half || exact)
}

/// True if there is a kernel that counts in this type.
pub fn iota(d: DType) -> bool {
    is_number(d)
}

/// True if there is a kernel for the reduction.
pub fn reduce(op: super::ReduceOp, d: DType) -> bool {
    use super::ReduceOp;
    match op {
        ReduceOp::Add | ReduceOp::Multiply | ReduceOp::Maximum | ReduceOp::Minimum => is_number(d),
        ReduceOp::And | ReduceOp::Or => is_int(d) || d.is_bool(),
    }
}

/// True if there is a kernel for products of this type.
pub fn dot(d: DType) -> bool {
    is_number(d) || d.is_complex()
}

/// True if an index of a dynamic slice can be of this type.
pub fn index(d: DType) -> bool {
    is_int(d)
}
