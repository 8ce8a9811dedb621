//! Which blocks become calls of the targets of this library. Only those of programs for the host are asked about: the
//! lowerings belong to handlers for the host.

use farcall_ffi::prelude::*;

use super::{EIGH, QR, VERSION};

/// A QR decomposition of real matrices becomes a call of the target for its element type, of integers one of the target
/// for `f32`.
pub(crate) fn lower_qr(block: &Block<'_>) -> Result<Lowered> {
    let ([x], [q, _]) = (block.operands(), block.results()) else {
        return Ok(Lowered::skip(format!("{QR} takes a tensor of matrices and returns two")));
    };
    let dtype = match x.dtype {
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => x.dtype,
        dtype if dtype.is_integer() => DType::F32,
        dtype => return Ok(Lowered::skip(format!("there is no QR decomposition of {dtype} here"))),
    };
    let call = TargetCall::new(format!("qr_cpu_custom_call_{dtype}"));
    let columns = q.dims.last().copied().unwrap_or(0);
    Ok(known(block, dtype, call.attr("columns", columns)))
}

/// An eigendecomposition of symmetric matrices becomes a call of the target for its element type, of integers one of the
/// target for `f32`.
pub(crate) fn lower_eigh(block: &Block<'_>) -> Result<Lowered> {
    let ([x], [_, _]) = (block.operands(), block.results()) else {
        return Ok(Lowered::skip(format!("{EIGH} takes a tensor of matrices and returns two tensors")));
    };
    let dtype = match x.dtype {
        DType::F32 | DType::F64 => x.dtype,
        dtype if dtype.is_integer() => DType::F32,
        dtype => return Ok(Lowered::skip(format!("there is no eigendecomposition of {dtype} here"))),
    };
    Ok(known(block, dtype, TargetCall::new(format!("eigh_cpu_custom_call_{dtype}"))))
}

/// The call, whose operand and results are of one element type, if the block is one that this library knows.
fn known(block: &Block<'_>, dtype: DType, mut call: TargetCall) -> Lowered {
    if block.version() != VERSION {
        return Lowered::skip(format!("version {} of it is unknown", block.version()));
    }
    if block.operands().iter().any(|x| x.dtype != dtype) {
        call = call.operand_type(0, dtype);
    }
    for (i, _) in block.results().iter().enumerate().filter(|(_, result)| result.dtype != dtype) {
        call = call.result_type(i, dtype);
    }
    call.into()
}
