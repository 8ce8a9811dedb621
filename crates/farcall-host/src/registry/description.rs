//! Asks a library for its description, without trusting the answer.
//!
//! An exception or a pointer to unmapped memory becomes an error. A function that crashes ends the process,
//! and the report names the library (`interface/exit.rs`).

use std::ffi::c_void;
use std::path::{Path, PathBuf};

use farcall_ffi::abi::ByteSpan;
use farcall_ffi::descriptor::{
    self, Library, LibraryDescriptor, LibraryFn, LibraryOp, RawOpDescriptor, ReadError,
};

use super::RegisterError;
use super::library::{Library as OpenLibrary, file_of, symbol_at};
use super::private_pages::Readable;
use crate::interface::exit::{self, Doing};
use crate::interface::guard;

/// Calls the function that describes a library, and reads the description.
///
/// # Errors
/// The exception that the function throws, or a defect of the description.
///
/// # Safety
/// `symbol` is a [`LibraryFn`] of a library that stays loaded.
pub(super) unsafe fn library(path: &Path, symbol: *mut c_void) -> Result<Library<'static>, RegisterError> {
    // SAFETY: the caller guarantees that `symbol` is a `LibraryFn` (`# Safety` above).
    let describe = unsafe { std::mem::transmute::<*mut c_void, LibraryFn>(symbol) };
    // SAFETY: a `LibraryFn` takes no arguments and has no preconditions.
    let described = exit::within(&Doing::Describing(path), || unsafe { guard::describe(describe) });
    let descriptor = described.map_err(|failure| RegisterError::Description(failure.message))?;
    // If the system does not list the readable memory, the pointers are trusted.
    if let Some(memory) = Readable::now() {
        check(descriptor, &memory)
            .map_err(|what| RegisterError::Descriptor(ReadError::Malformed { what }))?;
    }
    // SAFETY: the library's function returned the descriptor. Its pointers point to readable memory, or are
    // trusted.
    unsafe { Library::read(descriptor) }.map_err(RegisterError::Descriptor)
}

/// Checks that the pointers of a descriptor point to readable memory. [`Library::read`] checks for null and
/// misaligned pointers.
fn check(descriptor: *const LibraryDescriptor, memory: &Readable) -> Result<(), &'static str> {
    let Some(library) = read(descriptor, memory).map_err(|()| "it is not in readable memory")? else {
        return Ok(());
    };
    text(&[library.name, library.library_version, library.sdk_version, library.namespace], memory)?;
    let bytes = library.op_count.saturating_mul(size_of::<usize>());
    if library.ops.is_null() || !library.ops.is_aligned() {
        return Ok(());
    }
    if !memory.has(library.ops.addr(), bytes) {
        return Err("its table of ops is not in readable memory");
    }
    for i in 0..library.op_count {
        // SAFETY: the check above found all `op_count` members of the table readable.
        let op = unsafe { *library.ops.add(i) };
        if let Some(op) = read(op.cast(), memory).map_err(|()| "an op is not in readable memory")? {
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
        return Err("a function of an op is not in executable memory");
    }
    let stride = op.param_stride as usize;
    let bytes = op.param_count.saturating_mul(stride);
    if op.params.is_null() || !op.params.is_aligned() || op.param_count == 0 {
        return Ok(());
    }
    if !memory.has(op.params.addr(), bytes) {
        return Err("the parameters of an op are not in readable memory");
    }
    if stride < size_of::<farcall_ffi::descriptor::ParamDescriptor>() || !stride.is_multiple_of(8) {
        return Ok(());
    }
    (0..op.param_count).try_for_each(|i| {
        // SAFETY: readable, aligned, and at least as large as this version of the struct.
        let param = unsafe { op.params.byte_add(i * stride).read() };
        text(&[param.name, param.attribute], memory)
    })
}

fn text(spans: &[ByteSpan], memory: &Readable) -> Result<(), &'static str> {
    let is_there =
        |span: &ByteSpan| span.len == 0 || span.ptr.is_null() || memory.has(span.ptr.addr(), span.len);
    if spans.iter().all(is_there) { Ok(()) } else { Err("a text is not in readable memory") }
}

/// Reads as much of a struct as the size in its first member covers, and fills the rest with zeros. `None`
/// for a null or misaligned pointer.
fn read<T: Copy>(at: *const T, memory: &Readable) -> Result<Option<T>, ()> {
    if at.is_null() || !at.is_aligned() {
        return Ok(None);
    }
    if !memory.has(at.addr(), size_of::<usize>()) {
        return Err(());
    }
    // SAFETY: readable and aligned. The first member of every struct of the format is its size.
    let size = unsafe { at.cast::<usize>().read() }.min(size_of::<T>());
    if !memory.has(at.addr(), size) {
        return Err(());
    }
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    let whole = size - size % align_of::<T>();
    // SAFETY: the bytes are readable and fit into `value`. Any part of these structs may be zero.
    unsafe {
        std::ptr::copy_nonoverlapping(at.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), whole);
        Ok(Some(value.assume_init()))
    }
}

/// Returns the library that describes the function at an address as a handler, and the name of its target.
/// Functions that a library exports for its handlers are recognized by their names.
pub(super) fn described_at(address: usize) -> Option<(PathBuf, String)> {
    let file = file_of(address)?;
    let symbol = OpenLibrary::already_open(&file)?.symbol(descriptor::SYMBOL)?;
    // `dlsym` also finds the symbols of the library's dependencies.
    if file_of(symbol.addr())? != file {
        return None;
    }
    // SAFETY: the name of the symbol implies its type, and the library stays loaded.
    let library = unsafe { library(&file, symbol) }.ok()?;
    let exported = symbol_at(address);
    let is_of = |op: &LibraryOp<'_>| {
        if exported.as_deref() == Some(op.name()) {
            return true;
        }
        let bundle = op.bundle();
        let stages = [bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute, bundle.record];
        stages.into_iter().flatten().any(|handler| handler as usize == address)
    };
    let name = library.ops().find(is_of)?.name().to_owned();
    Some((file, name))
}
