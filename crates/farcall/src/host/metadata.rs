//! The metadata of a handler: version, traits, type of its state.
//!
//! The first call of a function shows whether it is a handler at all. One of the untyped API, registered for the typed one
//! by mistake, would take the frame for its result, and whatever is in the next register for its operands. So it gets
//! operands: zeros. If it writes one result that is not too large, it returns, and there is an error instead of a crash.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use farcall_ffi::abi::{
    self, Api, ApiVersion, CallFrame, ErrorCode, ExtensionBase, ExtensionType, HandlerTraits, Metadata,
    MetadataExtension, Stage, TypeId,
};

use super::api::API_VERSION;
use super::error::{Failure, NOT_OURS, take_error};
use super::guard;

/// A handler's answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) api_version: (i32, i32),
    pub(crate) traits: HandlerTraits,
    pub(crate) state_type: TypeId,
}

/// Why there are no facts.
pub(crate) enum NoFacts {
    Version((i32, i32)),
    Refused(Failure),
}

/// What a handler writes to, with room for members that later versions may add.
#[repr(C)]
struct Room {
    metadata: Metadata,
    later: [u64; 8],
}

/// The version that stands in the metadata until the handler writes its own.
const UNANSWERED: (i32, i32) = (-1, -1);

/// What a function of the untyped API may take for its result: the frame, and what it writes behind that.
#[repr(C, align(64))]
struct ResultRoom {
    frame: CallFrame,
    rest: [u8; 1 << 16],
}

/// What such a function may take for each of its operands.
static OPERAND: [u64; 1 << 13] = [0; 1 << 13];

/// As many operands as are provided.
const OPERANDS: usize = 64;

/// Asks a handler for its metadata.
///
/// # Safety
/// `handler` is an XLA FFI handler, and `api` the host's table.
pub(crate) unsafe fn query(api: *const Api, handler: abi::Handler, stage: Stage) -> Result<Facts, NoFacts> {
    let mut room = Room {
        metadata: Metadata {
            struct_size: Metadata::STRUCT_SIZE,
            api_version: ApiVersion::new(UNANSWERED.0, UNANSWERED.1),
            traits: 0,
            state_type_id: TypeId::UNKNOWN,
        },
        later: [0; 8],
    };
    let room_at = &raw mut room;
    let mut extension = MetadataExtension {
        extension_base: ExtensionBase {
            struct_size: MetadataExtension::STRUCT_SIZE,
            r#type: ExtensionType::METADATA,
            next: std::ptr::null_mut(),
        },
        metadata: room_at.cast(),
    };
    let mut result = Box::new(ResultRoom { frame: empty_frame(api, stage), rest: [0; 1 << 16] });
    result.frame.extension_start = (&raw mut extension).cast();
    let operands = [OPERAND.as_ptr().cast::<c_void>(); OPERANDS];
    let at = &raw mut *result;
    // SAFETY: the frame is complete, and what it points to outlives the call. The operands are memory that can be read.
    let error = unsafe { guard::probe(handler, at.cast(), operands.as_ptr()) };
    // SAFETY: initialized above; only the handler wrote to it since.
    let metadata = unsafe { room_at.read() }.metadata;
    let version = (metadata.api_version.major_version, metadata.api_version.minor_version);
    let failure = take_error(error);
    if version == UNANSWERED && failure.as_ref().is_none_or(|failure| failure.message == NOT_OURS) {
        // A function without a result leaves anything in the place of an error.
        let words = "it returned without an answer; is the symbol an XLA FFI handler? A function of the older, untyped \
                     interface is registered with api_version=0";
        return Err(NoFacts::Refused(Failure::new(ErrorCode::INVALID_ARGUMENT, words)));
    }
    if let Some(failure) = failure {
        return Err(NoFacts::Refused(failure));
    }
    if version.0 != API_VERSION.0 || !(0..=API_VERSION.1).contains(&version.1) {
        return Err(NoFacts::Version(version));
    }
    Ok(Facts { api_version: version, traits: metadata.traits, state_type: metadata.state_type_id })
}

/// A frame without operands, results, attributes and context.
pub(crate) fn empty_frame(api: *const Api, stage: Stage) -> CallFrame {
    // SAFETY: all members are integers and pointers.
    let mut frame: CallFrame = unsafe { MaybeUninit::zeroed().assume_init() };
    frame.struct_size = CallFrame::STRUCT_SIZE;
    frame.api = api;
    frame.stage = stage;
    frame.args.struct_size = abi::Args::STRUCT_SIZE;
    frame.rets.struct_size = abi::Rets::STRUCT_SIZE;
    frame.attrs.struct_size = abi::Attrs::STRUCT_SIZE;
    frame
}
