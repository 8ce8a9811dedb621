//! Lowerings of the blocks to calls of this library's targets. They are only called in programs for the host,
//! because they belong to handlers for the host.

use farcall_ffi::prelude::*;

use super::{EIGH, QR, VERSION};

/// Lowers a QR decomposition of real matrices to a call of the target for their element type, and of integer
/// matrices to the target for `f32`.
pub(crate) fn lower_qr(block: &Block<'_>) -> Result<Lowered> {
    let ([x], [q, _]) = (block.operands(), block.results()) else {
        return Ok(Lowered::skip(format!("{QR} takes a tensor of matrices and returns two")));
    };
    let dtype = match x.dtype {
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => x.dtype,
        dtype if dtype.is_integer() => DType::F32,
        dtype => return Ok(Lowered::skip(format!("QR decompositions of {dtype} are not supported"))),
    };
    let call = TargetCall::new(format!("qr_cpu_custom_call_{dtype}"));
    let columns = q.dims.last().copied().unwrap_or(0);
    Ok(complete(block, dtype, call.attr("columns", columns)))
}

/// Lowers an eigendecomposition of symmetric matrices to a call of the target for their element type, and of
/// integer matrices to the target for `f32`.
pub(crate) fn lower_eigh(block: &Block<'_>) -> Result<Lowered> {
    let ([x], [_, _]) = (block.operands(), block.results()) else {
        return Ok(Lowered::skip(format!("{EIGH} takes a tensor of matrices and returns two tensors")));
    };
    let dtype = match x.dtype {
        DType::F32 | DType::F64 => x.dtype,
        dtype if dtype.is_integer() => DType::F32,
        dtype => return Ok(Lowered::skip(format!("eigendecompositions of {dtype} are not supported"))),
    };
    Ok(complete(block, dtype, TargetCall::new(format!("eigh_cpu_custom_call_{dtype}"))))
}

/// Completes the call, whose operand and results have one element type, if this library knows the block's
/// version.
fn complete(block: &Block<'_>, dtype: DType, mut call: TargetCall) -> Lowered {
    if block.version() != VERSION {
        return Lowered::skip(format!("version {} of the tag is unknown", block.version()));
    }
    if block.operands().iter().any(|x| x.dtype != dtype) {
        call = call.operand_type(0, dtype);
    }
    for (i, _) in block.results().iter().enumerate().filter(|(_, result)| result.dtype != dtype) {
        call = call.result_type(i, dtype);
    }
    call.into()
}
