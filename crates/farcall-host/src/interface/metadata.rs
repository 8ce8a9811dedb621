//! The metadata of a handler: version, traits, and type of its state.
//!
//! The first call of a function asks for its metadata, and also shows whether the function is a handler at
//! all. A function of the untyped API that was registered for the typed API by mistake would write its result
//! over the frame, and take the contents of the next register for the pointers to its operands. The first
//! call therefore passes a second argument, which a handler ignores: operands whose bytes are all zero. A
//! function of the untyped API that writes a single result of limited size then returns, and the mistake
//! becomes an error instead of a crash. A function of which only the address is known is first called in a
//! child process ([`child_process`]), where its writes do no harm.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use farcall_ffi::abi::{
    self, Api, ApiVersion, CallFrame, ErrorCode, ExtensionBase, ExtensionType, HandlerTraits, Metadata,
    MetadataExtension, Stage, TypeId,
};

use super::api::API_VERSION;
use super::child_process::{self, Outcome};
use super::error::{Failure, NOT_OURS, take_error};
use super::guard;

/// A handler's answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub api_version: (i32, i32),
    pub traits: HandlerTraits,
    pub state_type: TypeId,
}

/// Reason why a handler's metadata is unknown.
pub(crate) enum MetadataError {
    Version((i32, i32)),
    Refused(Failure),
}

/// Memory for the handler's answer, with space for members that later versions may add.
#[repr(C)]
struct MetadataSpace {
    metadata: Metadata,
    later: [u64; 8],
}

/// Version in the metadata until the handler writes its own.
const UNANSWERED_VERSION: (i32, i32) = (-1, -1);

/// Memory that a function of the untyped API may take for its result: the frame and the space after it.
#[repr(C, align(64))]
struct ResultSpace {
    frame: CallFrame,
    rest: [u8; 1 << 16],
}

/// Memory that a function of the untyped API may take for any of its operands.
static OPERAND: [u64; 1 << 13] = [0; 1 << 13];

/// Number of operands that are passed to a function that may belong to the untyped API.
const OPERAND_COUNT: usize = 64;

/// Evidence that a function is a handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The function is known to be a handler.
    Handler,
    /// The user claims that the function is a handler.
    Claimed,
}

/// A request for metadata: the memory that the handler reads and writes.
struct Request {
    answer: MetadataSpace,
    result: ResultSpace,
}

impl Request {
    fn new(api: *const Api, stage: Stage) -> Box<Request> {
        let metadata = Metadata {
            struct_size: Metadata::STRUCT_SIZE,
            api_version: ApiVersion::new(UNANSWERED_VERSION.0, UNANSWERED_VERSION.1),
            traits: 0,
            state_type_id: TypeId::UNKNOWN,
        };
        let result = ResultSpace { frame: empty_frame(api, stage), rest: [0; 1 << 16] };
        Box::new(Request { answer: MetadataSpace { metadata, later: [0; 8] }, result })
    }

    /// Calls the handler; returns the version that it wrote, and its error. `None` if the function is not a
    /// handler.
    ///
    /// # Safety
    /// Same requirements as [`query`].
    unsafe fn ask(&mut self, handler: abi::HandlerFn) -> Option<((i32, i32), Option<Failure>)> {
        let answer = &raw mut self.answer;
        let mut extension = MetadataExtension {
            extension_base: ExtensionBase {
                struct_size: MetadataExtension::STRUCT_SIZE,
                r#type: ExtensionType::METADATA,
                next: std::ptr::null_mut(),
            },
            metadata: answer.cast(),
        };
        self.result.frame.extension_start = (&raw mut extension).cast();
        let operands = [OPERAND.as_ptr().cast::<c_void>(); OPERAND_COUNT];
        let at = &raw mut self.result;
        // SAFETY: the frame is complete, and everything it points to outlives the call. The operands are
        // readable memory.
        let error = unsafe { guard::probe(handler, at.cast(), operands.as_ptr()) };
        // SAFETY: initialized by `new`. Only the handler has written to it since.
        let written = unsafe { answer.read() }.metadata.api_version;
        let version = (written.major_version, written.minor_version);
        let failure = take_error(error);
        // A function without a return value leaves an arbitrary value where the error is expected.
        let silent = version == UNANSWERED_VERSION
            && failure.as_ref().is_none_or(|failure| failure.message == NOT_OURS);
        (!silent).then_some((version, failure))
    }
}

/// Asks a handler for its metadata.
///
/// # Safety
/// `handler` is an XLA FFI handler or, with [`Kind::Claimed`], a function that may be called in a child
/// process to find out whether it is a handler. `api` is the host's table.
pub(crate) unsafe fn query(
    api: *const Api,
    handler: abi::HandlerFn,
    stage: Stage,
    kind: Kind,
) -> Result<Facts, MetadataError> {
    let mut request = Request::new(api, stage);
    let is_none = |what: &str| {
        let words = format!(
            "it {what}; is the symbol an XLA FFI handler? A function of the older, untyped interface is registered with \
             api_version=0"
        );
        MetadataError::Refused(Failure::new(ErrorCode::INVALID_ARGUMENT, words))
    };
    if kind == Kind::Claimed {
        // SAFETY: the caller guarantees that the function may be called in a child process (`# Safety`
        // above). A handler that is asked for its metadata does not wait for other threads.
        match unsafe { child_process::call(|| request.ask(handler).is_some()) } {
            Outcome::Returned(true) | Outcome::Unknown => {}
            Outcome::Returned(false) => return Err(is_none("returned without an answer")),
            Outcome::Crashed => return Err(is_none("crashed when it was asked")),
        }
    }
    // SAFETY: the caller guarantees that the function is a handler (`# Safety` above). For a claimed handler,
    // the trial call has confirmed that it is a handler, or was inconclusive.
    let answer = unsafe { request.ask(handler) };
    let (version, failure) = answer.ok_or_else(|| is_none("returned without an answer"))?;
    if let Some(failure) = failure {
        return Err(MetadataError::Refused(failure));
    }
    if version.0 != API_VERSION.0 || !(0..=API_VERSION.1).contains(&version.1) {
        return Err(MetadataError::Version(version));
    }
    let Metadata { traits, state_type_id, .. } = request.answer.metadata;
    Ok(Facts { api_version: version, traits, state_type: state_type_id })
}

/// Returns a frame without operands, results, attributes and context.
pub(crate) fn empty_frame(api: *const Api, stage: Stage) -> CallFrame {
    // SAFETY: all members are integers and pointers, for which zero is valid.
    let mut frame: CallFrame = unsafe { MaybeUninit::zeroed().assume_init() };
    frame.struct_size = CallFrame::STRUCT_SIZE;
    frame.api = api;
    frame.stage = stage;
    frame.args.struct_size = abi::Args::STRUCT_SIZE;
    frame.rets.struct_size = abi::Rets::STRUCT_SIZE;
    frame.attrs.struct_size = abi::Attrs::STRUCT_SIZE;
    frame
}
