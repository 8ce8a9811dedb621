//! Sample calls, the host's side: obtains an op's sample calls from its library, and copies them.
//!
//! **Invariants.** The library's function is foreign code, and is called through `guard`. Each sample is
//! checked and copied before the callback that receives it returns.

use std::ffi::c_void;

use farcall_ffi::abi::{Buffer, ByteSpan};
use farcall_ffi::rules::read_attrs;
use farcall_ffi::samples::abi::{SampleCall, SamplesCall, SamplesFn};
use farcall_ir::{Literal, TensorType};
use farcall_sig::AttrValues;

use super::error::take_error;
use super::guard;

/// Operands and attributes of sample calls.
pub type SampleCalls = Vec<(Vec<Literal>, AttrValues)>;

/// Maximum number of operands, and of dimensions, in a sample.
const MAX_COUNT: usize = 1 << 10;

/// Returns the sample calls of an op.
///
/// # Errors
/// The function's error, or an answer that cannot be read.
///
/// # Safety
/// `function` comes from an op's descriptor and returns samples.
pub(crate) unsafe fn samples(function: SamplesFn) -> Result<SampleCalls, String> {
    let mut answer: Result<SampleCalls, String> = Ok(Vec::new());
    let mut call = SamplesCall {
        struct_size: size_of::<SamplesCall>(),
        host: (&raw mut answer).cast(),
        fail: Some(fail),
        sample: Some(sample),
    };
    // SAFETY: the caller guarantees the function's type, and `call` lives until the function returns.
    let error = unsafe { guard::task(function, (&raw mut call).cast()) };
    match take_error(error) {
        Some(failure) => Err(failure.message),
        None => answer,
    }
}

/// # Safety
/// `host` is the pointer from the [`SamplesCall`]. The span is valid text.
unsafe extern "C" fn fail(host: *mut c_void, message: ByteSpan) {
    // SAFETY: the caller guarantees a valid `host` (`# Safety` above). `samples` does not use `answer` during
    // the call.
    if let Some(answer) = unsafe { host.cast::<Result<SampleCalls, String>>().as_mut() } {
        // SAFETY: the caller guarantees a valid span (`# Safety` above).
        *answer = Err(String::from_utf8_lossy(unsafe { message.as_bytes() }).into_owned());
    }
}

/// # Safety
/// `host` is the pointer from the [`SamplesCall`]. `call` is null, or matches its `struct_size` and counts.
unsafe extern "C" fn sample(host: *mut c_void, call: *const SampleCall) {
    // SAFETY: the caller guarantees a valid `host` (`# Safety` above). `samples` does not use `answer` during
    // the call.
    let Some(answer) = (unsafe { host.cast::<Result<SampleCalls, String>>().as_mut() }) else { return };
    let Ok(all) = answer else { return };
    // SAFETY: the caller guarantees that `call` matches its size and counts (`# Safety` above).
    match unsafe { read(call) } {
        Ok(one) => all.push(one),
        Err(what) => *answer = Err(format!("a sample cannot be read: {what}")),
    }
}

/// # Safety
/// Same requirements as [`sample`].
unsafe fn read(call: *const SampleCall) -> Result<(Vec<Literal>, AttrValues), String> {
    // SAFETY: `call` is neither null nor misaligned, and its first member is the size.
    if call.is_null() || !call.is_aligned() || unsafe { (*call).struct_size } < size_of::<SampleCall>() {
        return Err("it is null, misaligned, or too small".to_owned());
    }
    // SAFETY: the size covers all members.
    let call = unsafe { call.read() };
    let is_table = call.operand_count == 0 || (!call.operands.is_null() && call.operands.is_aligned());
    if !is_table || call.operand_count > MAX_COUNT {
        return Err("its table of operands is null, misaligned or too long".to_owned());
    }
    // SAFETY: the caller guarantees `operand_count` buffers in the table (`# Safety` above).
    let operands = (0..call.operand_count).map(|i| unsafe { operand(&*call.operands.add(i)) });
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    // SAFETY: the caller guarantees valid attributes (`# Safety` above).
    Ok((operands, unsafe { read_attrs(call.attrs) }?))
}

/// # Safety
/// `dims` is null, misaligned, or points to `rank` sizes. `data` is null, or points to the elements.
unsafe fn operand(buffer: &Buffer) -> Result<Literal, String> {
    let dtype = buffer.dtype.dtype().ok_or("an operand's element type is unknown")?;
    let rank = usize::try_from(buffer.rank).ok().filter(|rank| *rank <= MAX_COUNT);
    let rank = rank.ok_or("an operand's rank is negative or too large")?;
    if rank > 0 && (buffer.dims.is_null() || !buffer.dims.is_aligned()) {
        return Err("an operand's dimensions are null or misaligned".to_owned());
    }
    // SAFETY: the caller guarantees `rank` sizes (`# Safety` above).
    let sizes = (0..rank).map(|i| usize::try_from(unsafe { *buffer.dims.add(i) }));
    let sizes = sizes.collect::<Result<Vec<_>, _>>().map_err(|_| "an operand has a negative size")?;
    let bytes = TensorType::new(dtype, sizes.clone()).bytes().ok_or("an operand is too large")?;
    if bytes > 0 && buffer.data.is_null() {
        return Err("the pointer to an operand's elements is null".to_owned());
    }
    let elements = match bytes {
        0 => &[][..],
        // SAFETY: not null, and the caller guarantees `bytes` bytes of elements (`# Safety` above).
        _ => unsafe { std::slice::from_raw_parts(buffer.data.cast::<u8>(), bytes) },
    };
    Literal::from_bytes(dtype, sizes, elements).map_err(|error| error.to_string())
}
