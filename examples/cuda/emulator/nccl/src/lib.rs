//! The collectives of a group of one, so that tests of calls of NCCL need no GPU: each result is the operand.
//! The library has the functions that `farcall-cuda` calls, as NVIDIA's *NCCL* documentation describes them.
//! Memory of the device belongs to the driver, which is `cuda-emulator` in tests.

use std::ffi::{c_char, c_int, c_uint};

const SUCCESS: c_uint = 0;
const UNHANDLED_CUDA_ERROR: c_uint = 1;
const INVALID_USAGE: c_uint = 5;

/// The type `ncclUniqueId` of NCCL.
#[repr(C)]
struct Id {
    _internal: [u8; 128],
}

/// Copies elements with the driver. Returns the status of a collective.
fn copy(from: u64, to: u64, count: usize, ty: c_int, stream: usize) -> c_uint {
    // Sizes of `ncclDataType_t`: int8, uint8, int32, uint32, int64, uint64, float16, float32, float64,
    // bfloat16.
    const BYTES: [usize; 10] = [1, 1, 4, 4, 8, 8, 2, 4, 8, 2];
    let Some(bytes) = usize::try_from(ty).ok().and_then(|ty| BYTES.get(ty)) else { return INVALID_USAGE };
    // SAFETY: the driver has no requirements.
    let Ok(driver) = (unsafe { libloading::Library::new("libcuda.so.1") }) else {
        return UNHANDLED_CUDA_ERROR;
    };
    type Copy = unsafe extern "C" fn(u64, u64, usize, usize) -> c_uint;
    // SAFETY: the function of the driver has this type.
    let Ok(copy) = (unsafe { driver.get::<Copy>(b"cuMemcpyDtoDAsync_v2\0") }) else {
        return UNHANDLED_CUDA_ERROR;
    };
    // SAFETY: the driver checks the addresses.
    if unsafe { copy(to, from, count * bytes, stream) } == 0 { SUCCESS } else { UNHANDLED_CUDA_ERROR }
}

/// The function `ncclGetUniqueId` of NCCL.
///
/// # Safety
/// The pointer is valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGetUniqueId(id: *mut Id) -> c_uint {
    // SAFETY: the caller guarantees the pointer (`# Safety` above).
    unsafe { *id = Id { _internal: [7; 128] } };
    SUCCESS
}

/// The function `ncclCommInitRank` of NCCL, for a group of one.
///
/// # Safety
/// The pointer is valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitRank(group: *mut usize, ranks: c_int, _id: Id, rank: c_int) -> c_uint {
    if (ranks, rank) != (1, 0) {
        return INVALID_USAGE;
    }
    // SAFETY: the caller guarantees the pointer (`# Safety` above).
    unsafe { *group = 1 };
    SUCCESS
}

/// The function `ncclCommDestroy` of NCCL.
#[unsafe(no_mangle)]
extern "C" fn ncclCommDestroy(_group: usize) -> c_uint {
    SUCCESS
}

/// The function `ncclCommCount` of NCCL.
///
/// # Safety
/// The pointer is valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommCount(_group: usize, count: *mut c_int) -> c_uint {
    // SAFETY: the caller guarantees the pointer (`# Safety` above).
    unsafe { *count = 1 };
    SUCCESS
}

/// The function `ncclCommUserRank` of NCCL.
///
/// # Safety
/// The pointer is valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommUserRank(_group: usize, rank: *mut c_int) -> c_uint {
    // SAFETY: the caller guarantees the pointer (`# Safety` above).
    unsafe { *rank = 0 };
    SUCCESS
}

/// The function `ncclAllReduce` of NCCL.
#[unsafe(no_mangle)]
extern "C" fn ncclAllReduce(
    from: u64,
    to: u64,
    count: usize,
    ty: c_int,
    _operation: c_int,
    _group: usize,
    stream: usize,
) -> c_uint {
    copy(from, to, count, ty, stream)
}

/// The function `ncclAllGather` of NCCL.
#[unsafe(no_mangle)]
extern "C" fn ncclAllGather(
    from: u64,
    to: u64,
    count: usize,
    ty: c_int,
    _group: usize,
    stream: usize,
) -> c_uint {
    copy(from, to, count, ty, stream)
}

/// The function `ncclReduceScatter` of NCCL.
#[unsafe(no_mangle)]
extern "C" fn ncclReduceScatter(
    from: u64,
    to: u64,
    count: usize,
    ty: c_int,
    _operation: c_int,
    _group: usize,
    stream: usize,
) -> c_uint {
    copy(from, to, count, ty, stream)
}

/// The function `ncclBroadcast` of NCCL.
#[unsafe(no_mangle)]
extern "C" fn ncclBroadcast(
    from: u64,
    to: u64,
    count: usize,
    ty: c_int,
    _root: c_int,
    _group: usize,
    stream: usize,
) -> c_uint {
    copy(from, to, count, ty, stream)
}

/// The function `ncclGetErrorString` of NCCL.
#[unsafe(no_mangle)]
extern "C" fn ncclGetErrorString(status: c_uint) -> *const c_char {
    let text = match status {
        SUCCESS => c"no error",
        INVALID_USAGE => c"invalid usage",
        _ => c"unhandled cuda error",
    };
    text.as_ptr()
}

/// The function `ncclGetLastError` of NCCL.
#[unsafe(no_mangle)]
extern "C" fn ncclGetLastError(_group: usize) -> *const c_char {
    c"".as_ptr()
}
