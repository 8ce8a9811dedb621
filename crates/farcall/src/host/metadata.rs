//! The metadata of a handler: version, traits, type of its state.
//!
//! The first call of a function shows whether it is a handler at all. One of the untyped API, registered for the typed one
//! by mistake, would take the frame for its result, and whatever is in the next register for its operands. So it gets
//! operands: zeros. If it writes one result that is not too large, it returns, and there is an error instead of a crash. A
//! function of which nothing but its address is known is called in a child process first ([`trial`]): whatever it writes
//! there does no harm.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use farcall_ffi::abi::{
    self, Api, ApiVersion, CallFrame, ErrorCode, ExtensionBase, ExtensionType, HandlerTraits, Metadata,
    MetadataExtension, Stage, TypeId,
};

use super::api::API_VERSION;
use super::error::{Failure, NOT_OURS, take_error};
use super::guard;
use super::trial::{self, Outcome};

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

/// Whether a function is known to be a handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Handler,
    /// Somebody says so.
    Claimed,
}

/// What a handler is asked with.
struct Question {
    room: Room,
    result: ResultRoom,
}

impl Question {
    fn new(api: *const Api, stage: Stage) -> Box<Question> {
        let metadata = Metadata {
            struct_size: Metadata::STRUCT_SIZE,
            api_version: ApiVersion::new(UNANSWERED.0, UNANSWERED.1),
            traits: 0,
            state_type_id: TypeId::UNKNOWN,
        };
        let result = ResultRoom { frame: empty_frame(api, stage), rest: [0; 1 << 16] };
        Box::new(Question { room: Room { metadata, later: [0; 8] }, result })
    }

    /// Asks; gives the version that the handler writes, and its error. None: it is no handler.
    ///
    /// # Safety
    /// As for [`query`].
    unsafe fn ask(&mut self, handler: abi::Handler) -> Option<((i32, i32), Option<Failure>)> {
        let room = &raw mut self.room;
        let mut extension = MetadataExtension {
            extension_base: ExtensionBase {
                struct_size: MetadataExtension::STRUCT_SIZE,
                r#type: ExtensionType::METADATA,
                next: std::ptr::null_mut(),
            },
            metadata: room.cast(),
        };
        self.result.frame.extension_start = (&raw mut extension).cast();
        let operands = [OPERAND.as_ptr().cast::<c_void>(); OPERANDS];
        let at = &raw mut self.result;
        // SAFETY: the frame is complete, and what it points to outlives the call. The operands are memory that can be read.
        let error = unsafe { guard::probe(handler, at.cast(), operands.as_ptr()) };
        // SAFETY: initialized by `new`; only the handler wrote to it since.
        let written = unsafe { room.read() }.metadata.api_version;
        let version = (written.major_version, written.minor_version);
        let failure = take_error(error);
        // A function without a result leaves anything in the place of an error.
        let silent =
            version == UNANSWERED && failure.as_ref().is_none_or(|failure| failure.message == NOT_OURS);
        (!silent).then_some((version, failure))
    }
}

/// Asks a handler for its metadata.
///
/// # Safety
/// `handler` is an XLA FFI handler, or a function that may be called in a child process to see whether it is one; `api` is the
/// host's table.
pub(crate) unsafe fn query(
    api: *const Api,
    handler: abi::Handler,
    stage: Stage,
    kind: Kind,
) -> Result<Facts, NoFacts> {
    let mut question = Question::new(api, stage);
    let is_none = |what: &str| {
        let words = format!(
            "it {what}; is the symbol an XLA FFI handler? A function of the older, untyped interface is registered with \
             api_version=0"
        );
        NoFacts::Refused(Failure::new(ErrorCode::INVALID_ARGUMENT, words))
    };
    if kind == Kind::Claimed {
        // SAFETY: the caller's promise; a handler that is asked for its metadata waits for nobody.
        match unsafe { trial::call(|| question.ask(handler).is_some()) } {
            Outcome::Returned(true) | Outcome::Unknown => {}
            Outcome::Returned(false) => return Err(is_none("returned without an answer")),
            Outcome::Crashed => return Err(is_none("crashed when it was asked")),
        }
    }
    // SAFETY: the caller's promise.
    let answer = unsafe { question.ask(handler) };
    let (version, failure) = answer.ok_or_else(|| is_none("returned without an answer"))?;
    if let Some(failure) = failure {
        return Err(NoFacts::Refused(failure));
    }
    if version.0 != API_VERSION.0 || !(0..=API_VERSION.1).contains(&version.1) {
        return Err(NoFacts::Version(version));
    }
    let Metadata { traits, state_type_id, .. } = question.room.metadata;
    Ok(Facts { api_version: version, traits, state_type: state_type_id })
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
