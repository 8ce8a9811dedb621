//! Builds the operands and results of call frames in memory.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::Tensor;
use crate::abi;
use crate::arena::Arena;

/// Builds the operands of a call.
pub(super) fn args(arena: &mut Arena, tensors: &[Tensor]) -> abi::Args {
    let buffers: Vec<_> = tensors.iter().map(|tensor| buffer(arena, tensor)).collect();
    abi::Args {
        struct_size: abi::Args::STRUCT_SIZE,
        extension_start: null_mut(),
        size: tensors.len() as i64,
        types: arena.put_all(&vec![abi::ArgType::BUFFER; tensors.len()]),
        args: arena.put_all(&buffers),
    }
}

/// Builds the results of a call.
pub(super) fn rets(arena: &mut Arena, tensors: &[Tensor]) -> abi::Rets {
    let buffers: Vec<_> = tensors.iter().map(|tensor| buffer(arena, tensor)).collect();
    abi::Rets {
        struct_size: abi::Rets::STRUCT_SIZE,
        extension_start: null_mut(),
        size: tensors.len() as i64,
        types: arena.put_all(&vec![abi::RetType::BUFFER; tensors.len()]),
        rets: arena.put_all(&buffers),
    }
}

fn buffer(arena: &mut Arena, tensor: &Tensor) -> *mut c_void {
    let dims = arena.put_all(&tensor.dims);
    let buffer = abi::Buffer {
        struct_size: abi::Buffer::STRUCT_SIZE,
        extension_start: null_mut(),
        dtype: tensor.dtype,
        data: tensor.data.cast(),
        rank: tensor.dims.len() as i64,
        dims,
    };
    arena.put(buffer).cast()
}
