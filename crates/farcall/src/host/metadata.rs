//! The metadata of a handler: version, traits, type of its state.

use std::mem::MaybeUninit;

use farcall_ffi::abi::{
    self, Api, ApiVersion, CallFrame, ErrorCode, ExtensionBase, ExtensionType, HandlerTraits, Metadata,
    MetadataExtension, Stage, TypeId,
};

use super::api::API_VERSION;
use super::error::{Failure, take_error};
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
    let mut frame = empty_frame(api, stage);
    frame.extension_start = (&raw mut extension).cast();
    // SAFETY: the frame is complete, and what it points to outlives the call.
    let error = unsafe { guard::handler(handler, &raw mut frame) };
    if let Some(failure) = take_error(error) {
        return Err(NoFacts::Refused(failure));
    }
    // SAFETY: initialized above; only the handler wrote to it since.
    let metadata = unsafe { room_at.read() }.metadata;
    let version = (metadata.api_version.major_version, metadata.api_version.minor_version);
    if version == UNANSWERED {
        let words = "it returned without an answer; is the symbol an XLA FFI handler?";
        return Err(NoFacts::Refused(Failure::new(ErrorCode::INVALID_ARGUMENT, words)));
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
