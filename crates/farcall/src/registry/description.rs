//! Asks a library what it is, without trust in its answer.
//!
//! A function that throws is an error, and so is a pointer to memory that is not there. A function that crashes ends the
//! process; what it was is known meanwhile (`host/exit.rs`).

use std::ffi::c_void;
use std::path::Path;

use farcall_ffi::abi::ByteSpan;
use farcall_ffi::descriptor::{Library, LibraryDescriptor, LibraryFn, RawOpDescriptor, ReadError};

use super::RegisterError;
use super::pages::Readable;
use crate::host::exit::{self, Doing};
use crate::host::guard;

/// Calls the function that describes a library, and reads what it returns.
///
/// # Errors
/// The exception that it throws, or what is wrong with the description.
///
/// # Safety
/// `symbol` is a [`LibraryFn`] of a library that stays loaded.
pub(super) unsafe fn library(path: &Path, symbol: *mut c_void) -> Result<Library<'static>, RegisterError> {
    // SAFETY: the caller's promise.
    let describe = unsafe { std::mem::transmute::<*mut c_void, LibraryFn>(symbol) };
    // SAFETY: the function takes nothing.
    let described = exit::within(&Doing::Describing(path), || unsafe { guard::describe(describe) });
    let descriptor = described.map_err(|failure| RegisterError::Description(failure.message))?;
    // Without a list of what is there, its pointers are trusted.
    if let Some(memory) = Readable::now() {
        check(descriptor, &memory)
            .map_err(|what| RegisterError::Descriptor(ReadError::Malformed { what }))?;
    }
    // SAFETY: what the library's function returned.
    unsafe { Library::read(descriptor) }.map_err(RegisterError::Descriptor)
}

/// Follows the pointers of a descriptor. Null and misaligned ones are left to [`Library::read`].
fn check(descriptor: *const LibraryDescriptor, memory: &Readable) -> Result<(), &'static str> {
    let Some(library) = read(descriptor, memory).map_err(|()| "the pointer to it is not to memory")? else {
        return Ok(());
    };
    text(&[library.name, library.library_version, library.sdk_version, library.namespace], memory)?;
    let bytes = library.op_count.saturating_mul(size_of::<usize>());
    if library.ops.is_null() || !library.ops.is_aligned() {
        return Ok(());
    }
    if !memory.has(library.ops.addr(), bytes) {
        return Err("its table of ops is not in memory");
    }
    for i in 0..library.op_count {
        // SAFETY: the table is in memory, as many members as it has.
        let op = unsafe { *library.ops.add(i) };
        if let Some(op) = read(op.cast(), memory).map_err(|()| "the pointer to an op is not to memory")? {
            check_op(&op, memory)?;
        }
    }
    Ok(())
}

fn check_op(op: &RawOpDescriptor, memory: &Readable) -> Result<(), &'static str> {
    let (own, declared) = ([op.name, op.platform, op.doc, op.file], [op.signature, op.lowers]);
    text(&own, memory)?;
    text(&declared, memory)?;
    text(&[op.vjp_forward, op.vjp_backward, op.jvp_tangent, op.transpose, op.non_differentiable], memory)?;
    text(&[op.zero_derivative], memory)?;
    text(&[op.vjp_bindings, op.jvp_bindings, op.transpose_bindings], memory)?;
    let bundle = &op.bundle;
    let handlers = [bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute, bundle.record];
    let functions = handlers.into_iter().flatten().map(|function| function as usize);
    let rules = op.shape.into_iter().chain(op.batch).map(|function| function as usize);
    let lower = op.lower.into_iter().map(|function| function as usize);
    let samples = op.samples.into_iter().map(|function| function as usize);
    if !functions.chain(rules).chain(lower).chain(samples).all(|address| memory.has_code(address)) {
        return Err("a function of an op is not code");
    }
    let stride = op.param_stride as usize;
    let bytes = op.param_count.saturating_mul(stride);
    if op.params.is_null() || !op.params.is_aligned() || op.param_count == 0 {
        return Ok(());
    }
    if !memory.has(op.params.addr(), bytes) {
        return Err("the parameters of an op are not in memory");
    }
    if stride < size_of::<farcall_ffi::descriptor::ParamDescriptor>() || !stride.is_multiple_of(8) {
        return Ok(());
    }
    (0..op.param_count).try_for_each(|i| {
        // SAFETY: in memory; at least as large as it is known here, and aligned.
        let param = unsafe { op.params.byte_add(i * stride).read() };
        text(&[param.name, param.attribute], memory)
    })
}

fn text(spans: &[ByteSpan], memory: &Readable) -> Result<(), &'static str> {
    let is_there =
        |span: &ByteSpan| span.len == 0 || span.ptr.is_null() || memory.has(span.ptr.addr(), span.len);
    if spans.iter().all(is_there) { Ok(()) } else { Err("a text is not in memory") }
}

/// A struct as far as its own size says that it is there, the rest zero; nothing for a pointer that is null or misaligned.
fn read<T: Copy>(at: *const T, memory: &Readable) -> Result<Option<T>, ()> {
    if at.is_null() || !at.is_aligned() {
        return Ok(None);
    }
    if !memory.has(at.addr(), size_of::<usize>()) {
        return Err(());
    }
    // SAFETY: in memory. Every struct of the format begins with its size.
    let size = unsafe { at.cast::<usize>().read() }.min(size_of::<T>());
    if !memory.has(at.addr(), size) {
        return Err(());
    }
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    let whole = size - size % align_of::<T>();
    // SAFETY: in memory, and no more than there is room for. Zeros are a value of these structs, as is what was written.
    unsafe {
        std::ptr::copy_nonoverlapping(at.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), whole);
        Ok(Some(value.assume_init()))
    }
}
