//! The `extern "C"` function through which a host calls every handler: [`enter`], instantiated for each entry.
//!
//! It checks the frame's size, answers requests for metadata, checks the stage, decodes the frame, calls the
//! function, catches its panic, and converts an error to the host's own.

use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use crate::abi;
use crate::buffer::View;
use crate::context::Host;
use crate::decode::{Entered, Known, Proofs, Shape, are_tables, check_tables, malformed};
use crate::error::{Boxed, Error, Result};
use crate::kept::Guard;
use crate::panics::{self, Panic};
use crate::pointer::unusable;
use crate::unwind::{Payload, catch};

/// Lowest version of the interface that a handler needs: what newer hosts add is looked at when it is
/// called, so every handler says this.
const NEEDS: abi::ApiVersion = abi::ApiVersion::new(0, 1);

/// Longest list of extensions that is followed.
const MAX_EXTENSIONS: usize = 64;

/// A function that a host can enter: a handler, or another stage of one. `#[handler]` and `#[stage]`
/// implement it.
#[doc(hidden)]
pub trait Entry {
    /// For messages: the target's name, or the function's.
    const NAME: &'static str;
    /// The stage it is for.
    const STAGE: abi::Stage;
    /// Bits of [`abi::handler_traits`].
    const TRAITS: abi::HandlerTraits;
    /// Number of the type of the state that it makes.
    const STATE: Option<fn(&Host) -> Result<abi::TypeId>>;

    /// Whether an argument may outlive the function's return.
    const KEEPS: bool;
    /// Whether arguments that were decoded once are those of a later call with a frame that has not changed.
    const LASTS: bool;
    /// How many parameters are one buffer.
    const SHAPE: Shape;
    /// Memory for their views.
    type Views;

    /// The proofs of its frames; none where that is not possible.
    #[inline(always)]
    fn proofs() -> Option<&'static Proofs> {
        None
    }

    /// [`Proofs::compare`] for the shape.
    ///
    /// # Safety
    /// As there; the proofs are those above.
    #[inline(always)]
    unsafe fn compare(_: &'static Proofs, _: *const abi::CallFrame, _: *mut View) -> *const View {
        null()
    }

    /// Decodes the frame and calls the function.
    fn call(entered: Entered) -> Boxed;
}

/// What a handler says of itself, to whoever asks for its metadata.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    /// For messages.
    pub(crate) name: &'static str,
    /// See [`Entry::STAGE`].
    pub(crate) stage: abi::Stage,
    /// See [`Entry::TRAITS`].
    pub(crate) traits: abi::HandlerTraits,
    /// See [`Entry::STATE`].
    pub(crate) state: Option<fn(&Host) -> Result<abi::TypeId>>,
}

/// An entry's address in the C interface.
///
/// # Safety
/// `frame` is null or a call frame as XLA's C interface has it.
pub unsafe extern "C" fn enter<E: Entry>(frame: *mut abi::CallFrame) -> *mut abi::Error {
    // SAFETY: the caller's promise.
    match catch(|| unsafe { run::<E>(frame) }) {
        Ok(Ok(())) => null_mut(),
        // SAFETY: as above.
        Ok(Err(error)) => unsafe { refuse(frame, E::NAME, *error) },
        // SAFETY: as above.
        Err(panic) => unsafe { refuse(frame, E::NAME, panicked(E::NAME, panic)) },
    }
}

/// Tells a frame's host of an error.
///
/// # Safety
/// As for the frame of [`enter`].
#[cold]
#[inline(never)]
unsafe fn refuse(frame: *const abi::CallFrame, name: &str, error: Error) -> *mut abi::Error {
    // SAFETY: the caller's promise.
    match unsafe { host_of(frame) } {
        Some(host) => fail(&host, name, error),
        None => nobody_to_tell(name, &error),
    }
}

/// The host that a frame names; `None` if the frame is too small for that, or misaligned.
#[inline(always)]
pub(crate) unsafe fn host_of(frame: *const abi::CallFrame) -> Option<Host> {
    const END: usize = std::mem::offset_of!(abi::CallFrame, stage);
    // SAFETY: if not null, `struct_size` comes first, and the size covers the two members.
    unsafe {
        if unusable(frame) != 0 || (*frame).struct_size < END {
            None
        } else {
            Host::new((*frame).api, (*frame).ctx)
        }
    }
}

#[inline(always)]
unsafe fn run<E: Entry>(frame: *mut abi::CallFrame) -> Boxed {
    let mut views = Lines::<E::Views>::uninit();
    // SAFETY: the caller's promise.
    let known = unsafe { Known::of::<E>(frame, views.start().cast()) };
    let mut entered = Entered { frame, handler: E::NAME, known, leaves: true, kept: null() };
    if !entered.is_known() {
        let facts = const { &Facts { name: E::NAME, stage: E::STAGE, traits: E::TRAITS, state: E::STATE } };
        // SAFETY: the caller's promise.
        if !unsafe { is_plain_call(frame, E::STAGE) || is_call(frame, facts)? } {
            return Ok(());
        }
    }
    if const { !E::KEEPS } {
        return E::call(entered);
    }
    // On the way out of a panic, it waits for what is kept.
    let guard = Guard::new(E::NAME, &entered.decoder().host()?);
    entered.kept = &raw const guard;
    let returned = E::call(entered);
    // SAFETY: the call's frame.
    unsafe { guard.finish(frame, returned) }
}

/// Memory that begins where a cache line begins. (Aligning a function's frame takes longer.)
struct Lines<T>(MaybeUninit<(T, [u64; 7])>);

impl<T> Lines<T> {
    #[inline(always)]
    fn uninit() -> Lines<T> {
        const { assert!(align_of::<T>() <= 8) };
        Lines(MaybeUninit::uninit())
    }

    #[inline(always)]
    fn start(&mut self) -> *mut T {
        self.0.as_mut_ptr().map_addr(|address| (address + 63) & !63).cast()
    }
}

/// True if [`is_call`] would say so at once. Not inlined, so that calls of which something is known have little to do before they
/// can return.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn is_plain_call(frame: *const abi::CallFrame, stage: abi::Stage) -> bool {
    // SAFETY: the caller's promise; the size covers the members.
    unsafe {
        host_of(frame).is_some()
            && (*frame).struct_size >= abi::CallFrame::STRUCT_SIZE
            && (*frame).extension_start.is_null()
            && (*frame).stage == stage
            && are_tables(&(*frame).args, &(*frame).rets, &(*frame).attrs)
            && panics::are_noted()
    }
}

/// True if a frame is one to be decoded, for the handler's stage, with tables that can be read; false if it asked for
/// metadata, which it has then.
///
/// # Safety
/// `frame` is null or a call frame as XLA's C interface has it.
#[inline(never)]
pub(crate) unsafe fn is_call(frame: *mut abi::CallFrame, facts: &Facts) -> Boxed<bool> {
    // SAFETY: the caller's promise.
    let Some(host) = (unsafe { host_of(frame) }) else {
        return Err(malformed(facts.name, "it has no host"));
    };
    panics::note();
    // SAFETY: the frame is there.
    let (struct_size, extensions) = unsafe { ((*frame).struct_size, (*frame).extension_start) };
    if !extensions.is_null() {
        // SAFETY: the frame's list of extensions.
        if let Some(metadata) = unsafe { metadata_extension(facts.name, extensions) }? {
            // SAFETY: an extension of this type has metadata.
            unsafe { write_metadata(facts, metadata, host) }?;
            return Ok(false);
        }
    }
    if struct_size < abi::CallFrame::STRUCT_SIZE {
        return Err(malformed(facts.name, "its struct_size is too small"));
    }
    // SAFETY: the size covers the member.
    let stage = unsafe { (*frame).stage };
    if stage != facts.stage {
        return Err(wrong_stage(facts.name, facts.stage, stage));
    }
    // SAFETY: the size covers the members.
    unsafe { check_tables(facts.name, &(*frame).args, &(*frame).rets, &(*frame).attrs) }?;
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
        // SAFETY: null, or the head of an extension.
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
unsafe fn write_metadata(facts: &Facts, extension: *mut abi::MetadataExtension, host: Host) -> Boxed {
    // SAFETY: the head was read; the size must cover the rest, which is looked at only then.
    let metadata = unsafe {
        if (*extension).extension_base.struct_size < abi::MetadataExtension::STRUCT_SIZE {
            return Err(malformed(facts.name, "the metadata extension is too small"));
        }
        (*extension).metadata
    };
    if !metadata.is_aligned() {
        return Err(malformed(facts.name, "the pointer to the metadata is misaligned"));
    }
    // SAFETY: `struct_size` comes first.
    if metadata.is_null() || unsafe { (*metadata).struct_size } < abi::Metadata::STRUCT_SIZE {
        return Err(malformed(facts.name, "the metadata's struct_size is too small"));
    }
    let state = facts.state.map(|type_id| type_id(&host)).transpose()?;
    // SAFETY: the size covers the first members. Hosts allocate the last one too, although their
    // `struct_size` leaves it out.
    unsafe {
        (*metadata).api_version = NEEDS;
        (*metadata).traits = facts.traits;
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
    // XLA does not say whose error it is.
    let named = error.message().strip_prefix(name).is_some_and(|rest| rest.starts_with(": "));
    host.error(&if named { error } else { error.context(name) })
}

#[cold]
#[inline(never)]
pub(crate) fn panicked(name: &str, payload: Payload) -> Error {
    Panic::caught(payload).into_error().context(name)
}

/// A frame without a host cannot be answered, not even with an error.
#[cold]
pub(crate) fn nobody_to_tell(name: &str, error: &Error) -> *mut abi::Error {
    let message = error.message().strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
    let message = message.unwrap_or(error.message());
    eprintln!(
        "{name}: {message}; the host does not see this error, because there is no call frame or no API table, or one of them \
         is misaligned"
    );
    null_mut()
}
