//! The `extern "C"` function through which a host calls every handler: [`enter`], instantiated for each
//! entry.
//!
//! [`enter`] checks the frame's size, answers requests for metadata, checks the stage, decodes the frame,
//! calls the function, catches its panic, and converts an error to the host's representation.

use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use crate::abi;
use crate::buffer::View;
use crate::decode::{BufferCounts, Proofs, are_tables, check_tables, malformed};
use crate::error::{Boxed, Error, Result};
use crate::host::{Host, host_of};
use crate::kept::Guard;
use crate::panics::{self, Panic};
use crate::unwind::{Payload, catch};

mod known;
mod residuals;

pub use known::{Entered, operand_is, remember};
pub use residuals::with_residuals;

use known::Known;

/// Oldest version of the interface that a handler needs. This version is the same for every handler, because
/// a handler looks for the additions of newer versions only when it is called.
const MIN_API_VERSION: abi::ApiVersion = abi::ApiVersion::new(0, 1);

/// Maximum number of extensions that are searched.
const MAX_EXTENSIONS: usize = 64;

/// A function that a host can enter: a handler, or another stage of one. Implemented by `#[handler]` and
/// `#[stage]`.
#[doc(hidden)]
pub trait Entry {
    /// Name for messages: the target's, or the function's.
    const NAME: &'static str;
    /// Stage that the function is for.
    const STAGE: abi::Stage;
    /// Bits of [`abi::handler_traits`].
    const TRAITS: abi::HandlerTraits;
    /// Returns the host's type number of the state that the function makes.
    const STATE: Option<fn(&Host) -> Result<abi::TypeId>>;

    /// True if an argument may be kept after the function has returned.
    const KEEPS: bool;
    /// True if decoded arguments stay valid for later calls, as long as the frame does not change.
    const LASTS: bool;
    /// Numbers of operands and of results whose parameters are always one buffer.
    const SHAPE: BufferCounts;
    /// Memory for the views of the parameters that `SHAPE` counts.
    type Views;

    /// Returns the proofs of the function's frames; `None` if its frames cannot have proofs.
    #[inline(always)]
    fn proofs() -> Option<&'static Proofs> {
        None
    }

    /// Calls [`Proofs::compare`] with the numbers of operands and results in `SHAPE`.
    ///
    /// # Safety
    /// Same requirements as [`Proofs::compare`]; the proofs are from [`proofs`](Entry::proofs).
    #[inline(always)]
    unsafe fn compare(_: &'static Proofs, _: *const abi::CallFrame, _: *mut View) -> *const View {
        null()
    }

    /// Decodes the frame and calls the function.
    fn call(entered: Entered) -> Boxed;
}

/// Description of a handler, for a host that requests its metadata.
#[derive(Clone, Copy)]
pub(crate) struct EntryInfo {
    /// Name for messages.
    pub(crate) name: &'static str,
    /// See [`Entry::STAGE`].
    pub(crate) stage: abi::Stage,
    /// See [`Entry::TRAITS`].
    pub(crate) traits: abi::HandlerTraits,
    /// See [`Entry::STATE`].
    pub(crate) state: Option<fn(&Host) -> Result<abi::TypeId>>,
}

/// Entry point of `E` in the C interface.
///
/// # Safety
/// `frame` is null or a call frame as defined by XLA's C interface.
pub unsafe extern "C" fn enter<E: Entry>(frame: *mut abi::CallFrame) -> *mut abi::Error {
    // SAFETY: the caller guarantees that the frame is null or valid (`# Safety` above).
    match catch(|| unsafe { run::<E>(frame) }) {
        Ok(Ok(())) => null_mut(),
        // SAFETY: the caller guarantees that the frame is null or valid (`# Safety` above).
        Ok(Err(error)) => unsafe { refuse(frame, E::NAME, *error) },
        // SAFETY: the caller guarantees that the frame is null or valid (`# Safety` above).
        Err(panic) => unsafe { refuse(frame, E::NAME, panicked(E::NAME, panic)) },
    }
}

/// Reports an error to a frame's host.
///
/// # Safety
/// Same requirements as [`enter`].
#[cold]
#[inline(never)]
unsafe fn refuse(frame: *const abi::CallFrame, name: &str, error: Error) -> *mut abi::Error {
    // SAFETY: the caller guarantees that the frame is null or valid (`# Safety` above).
    match unsafe { host_of(frame) } {
        Some(host) => fail(&host, name, error),
        None => print_error(name, &error),
    }
}

#[inline(always)]
unsafe fn run<E: Entry>(frame: *mut abi::CallFrame) -> Boxed {
    let mut views = CacheAligned::<E::Views>::uninit();
    // SAFETY: the caller, `enter`, guarantees that the frame is null or valid; `views` has space for all
    // views.
    let known = unsafe { Known::of::<E>(frame, views.start().cast()) };
    let mut entered = Entered { frame, handler: E::NAME, known, leaves: true, kept: null() };
    if !entered.is_known() {
        let info =
            const { &EntryInfo { name: E::NAME, stage: E::STAGE, traits: E::TRAITS, state: E::STATE } };
        // SAFETY: the caller, `enter`, guarantees that the frame is null or valid.
        if !unsafe { is_plain_call(frame, E::STAGE) || is_call(frame, info)? } {
            return Ok(());
        }
    }
    if const { !E::KEEPS } {
        return E::call(entered);
    }
    // If a panic drops the guard, it waits for all kept buffers.
    let guard = Guard::new(E::NAME, &entered.decoder().host()?);
    entered.kept = &raw const guard;
    let returned = E::call(entered);
    // SAFETY: the frame of this call.
    unsafe { guard.finish(frame, returned) }
}

/// Memory that begins at the start of a cache line. (Aligning a function's stack frame takes longer.)
struct CacheAligned<T>(MaybeUninit<(T, [u64; 7])>);

impl<T> CacheAligned<T> {
    #[inline(always)]
    fn uninit() -> CacheAligned<T> {
        const { assert!(align_of::<T>() <= 8) };
        CacheAligned(MaybeUninit::uninit())
    }

    #[inline(always)]
    fn start(&mut self) -> *mut T {
        self.0.as_mut_ptr().map_addr(|address| (address + 63) & !63).cast()
    }
}

/// Returns true if [`is_call`] would return true without further work. Not inlined, so that calls with known
/// frames have little to do before they return.
///
/// # Safety
/// Same requirements as [`is_call`].
#[inline(never)]
unsafe fn is_plain_call(frame: *const abi::CallFrame, stage: abi::Stage) -> bool {
    // SAFETY: the caller guarantees that the frame is null or valid (`# Safety` above); the size covers the
    // members.
    unsafe {
        host_of(frame).is_some()
            && (*frame).struct_size >= abi::CallFrame::STRUCT_SIZE
            && (*frame).extension_start.is_null()
            && (*frame).stage == stage
            && are_tables(&(*frame).args, &(*frame).rets, &(*frame).attrs)
            && panics::is_hook_installed()
    }
}

/// Returns true if the frame is a call of the handler's stage whose tables can be read. Returns false if it
/// requests metadata, which is then filled in.
///
/// # Safety
/// `frame` is null or a call frame as defined by XLA's C interface.
#[inline(never)]
pub(crate) unsafe fn is_call(frame: *mut abi::CallFrame, info: &EntryInfo) -> Boxed<bool> {
    // SAFETY: the caller guarantees that the frame is null or valid (`# Safety` above).
    let Some(host) = (unsafe { host_of(frame) }) else {
        return Err(malformed(info.name, "it has no host"));
    };
    panics::install_hook();
    // SAFETY: the frame has a host, so it is valid.
    let (struct_size, extensions) = unsafe { ((*frame).struct_size, (*frame).extension_start) };
    if !extensions.is_null() {
        // SAFETY: the frame's list of extensions, which is valid as the frame is.
        if let Some(metadata) = unsafe { metadata_extension(info.name, extensions) }? {
            // SAFETY: an extension of this type is a metadata extension.
            unsafe { write_metadata(info, metadata, host) }?;
            return Ok(false);
        }
    }
    if struct_size < abi::CallFrame::STRUCT_SIZE {
        return Err(malformed(info.name, "its struct_size is too small"));
    }
    // SAFETY: `struct_size` covers the member.
    let stage = unsafe { (*frame).stage };
    if stage != info.stage {
        return Err(wrong_stage(info.name, info.stage, stage));
    }
    // SAFETY: `struct_size` covers the members.
    unsafe { check_tables(info.name, &(*frame).args, &(*frame).rets, &(*frame).attrs) }?;
    Ok(true)
}

#[cold]
unsafe fn metadata_extension(
    name: &str,
    mut extension: *mut abi::ExtensionBase,
) -> Boxed<Option<*mut abi::MetadataExtension>> {
    for _ in 0..MAX_EXTENSIONS {
        if !extension.is_aligned() {
            return Err(malformed(name, "the pointer to an extension is misaligned"));
        }
        // SAFETY: null, or the header of an extension.
        let Some(head) = (unsafe { extension.as_ref() }) else { return Ok(None) };
        if head.struct_size < abi::ExtensionBase::STRUCT_SIZE {
            return Ok(None);
        }
        if head.r#type == abi::ExtensionType::METADATA {
            return Ok(Some(extension.cast()));
        }
        extension = head.next;
    }
    Ok(None)
}

#[cold]
unsafe fn write_metadata(info: &EntryInfo, extension: *mut abi::MetadataExtension, host: Host) -> Boxed {
    // SAFETY: the header was read. Its size is checked to cover the rest before the rest is read.
    let metadata = unsafe {
        if (*extension).extension_base.struct_size < abi::MetadataExtension::STRUCT_SIZE {
            return Err(malformed(info.name, "the metadata extension is too small"));
        }
        (*extension).metadata
    };
    if !metadata.is_aligned() {
        return Err(malformed(info.name, "the pointer to the metadata is misaligned"));
    }
    // SAFETY: `struct_size` is the first member, and the pointer is neither null nor misaligned.
    if metadata.is_null() || unsafe { (*metadata).struct_size } < abi::Metadata::STRUCT_SIZE {
        return Err(malformed(info.name, "the metadata's struct_size is too small"));
    }
    let state = info.state.map(|type_id| type_id(&host)).transpose()?;
    // SAFETY: the size covers the first members. Hosts also allocate the last one, although their
    // `struct_size` does not cover it.
    unsafe {
        (*metadata).api_version = MIN_API_VERSION;
        (*metadata).traits = info.traits;
        if host.at_least(2) || state.is_some() {
            (*metadata).state_type_id = state.unwrap_or(abi::TypeId::UNKNOWN);
        }
    }
    Ok(())
}

#[cold]
fn wrong_stage(name: &str, expected: abi::Stage, found: abi::Stage) -> Box<Error> {
    let (expected, found) = (expected.name(), found.name());
    let message = format!("{name}: called for stage {found}, but it is for {expected}");
    Box::new(Error::invalid_argument(message))
}

#[cold]
pub(crate) fn fail(host: &Host, name: &str, error: Error) -> *mut abi::Error {
    // XLA does not report which handler an error came from.
    let named = error.message().strip_prefix(name).is_some_and(|rest| rest.starts_with(": "));
    host.error(&if named { error } else { error.context(name) })
}

#[cold]
#[inline(never)]
pub(crate) fn panicked(name: &str, payload: Payload) -> Error {
    Panic::caught(payload).into_error().context(name)
}

/// Prints an error to standard error. A frame without a host cannot be answered, not even with an error.
#[cold]
pub(crate) fn print_error(name: &str, error: &Error) -> *mut abi::Error {
    let message = error.message().strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
    let message = message.unwrap_or(error.message());
    eprintln!(
        "{name}: {message}; the host does not see this error, because there is no call frame or no API table, or one of them \
         is misaligned"
    );
    null_mut()
}
