//! Calls a forward op without its residuals, by allocating memory for them during the call.
//!
//! A function that returns residuals is only called by the entry of the forward op. The entry of the op
//! itself calls the forward op, with the same frame plus one result per residual.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use super::Entry;
use super::known::{Entered, Known};
use crate::abi::{self, RetType};
use crate::context::Context;
use crate::decode::{Residual, check_attrs};
use crate::error::{Boxed, Error};

/// Calls the forward op `F` with the call's `results` results, and with memory for its residuals.
///
/// # Errors
/// If the frame does not fit the op, memory for a residual cannot be allocated, or the forward op fails.
pub fn with_residuals<F: Entry>(entered: Entered, results: usize, residuals: &'static [Residual]) -> Boxed {
    let (handler, decoder) = (entered.handler, entered.decoder());
    let host = decoder.host()?;
    // SAFETY: the frame stays valid during the call, and its size covers the attributes.
    unsafe { check_attrs(handler, decoder.attrs) }?;
    let found = decoder.results.without_tokens(results);
    if found != results {
        let s = if results == 1 { "" } else { "s" };
        let message = format!("{handler}: expected {results} result{s}, found {found}");
        return Err(Box::new(Error::invalid_argument(message)));
    }
    let context = Context::new(host, None);
    let mut described = Vec::new();
    for residual in residuals {
        let Some((dtype, mut dims)) = decoder.describe(residual)? else { break };
        let elements = dims.iter().try_fold(1usize, |len, dim| len.checked_mul(usize::try_from(*dim).ok()?));
        let size = elements.and_then(|len| len.checked_mul(dtype.size())).unwrap_or(usize::MAX);
        let mut memory =
            context.scratch::<u8>(size).map_err(|e| e.context(residual.name).context(handler))?;
        let buffer = abi::Buffer {
            struct_size: abi::Buffer::STRUCT_SIZE,
            extension_start: null_mut(),
            dtype: abi::DataType::from_dtype(dtype),
            data: memory.as_mut_ptr().cast(),
            rank: dims.len() as i64,
            dims: dims.as_mut_ptr(),
        };
        described.push((buffer, memory, dims));
    }
    let given = 0..results;
    // SAFETY: `i` is below the number of results, which was just checked.
    let (mut types, mut pointers): (Vec<u32>, Vec<*mut c_void>) =
        given.map(|i| unsafe { (*decoder.results.types.add(i), *decoder.results.buffers.add(i)) }).unzip();
    let all = results + residuals.len();
    types.resize(all, RetType::BUFFER.0);
    pointers.extend(described.iter_mut().map(|(buffer, ..)| (&raw mut *buffer).cast::<c_void>()));
    // If an operand that determines a residual is missing or malformed, the call fails with an error about
    // that operand.
    pointers.resize(all, null_mut());
    let given = entered.frame;
    // SAFETY: the frame of this call, whose size covers all members but the future.
    let frame = unsafe {
        abi::CallFrame {
            args: abi::Args { ..(*given).args },
            rets: abi::Rets {
                size: pointers.len() as i64,
                types: types.as_mut_ptr().cast(),
                rets: pointers.as_mut_ptr(),
                ..(*given).rets
            },
            attrs: abi::Attrs { ..(*given).attrs },
            future: null_mut(),
            ..*given
        }
    };
    let mut views = MaybeUninit::<F::Views>::uninit();
    // The tables are local to this call, so nothing may be remembered for the next one.
    F::call(Entered {
        frame: &raw const frame,
        known: Known::nothing(views.as_mut_ptr().cast()),
        leaves: false,
        ..entered
    })
}
