//! Error codes, for callers that handle some errors differently.

use farcall_ffi::StatusCode as Status;
use farcall_sig::signature::MismatchKind;

/// An error of the engine. Its code tells kinds of errors apart, and its message is for people.
pub trait CodedError: std::error::Error {
    /// Returns the kind of the error.
    fn code(&self) -> ErrorCode;
}

/// The kind of an error ([`CodedError::code`]), by which hosts choose exceptions and exit codes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A program violates the specification, has dynamic sizes where they must be known, or calls a target
    /// that is missing or refuses the call.
    InvalidProgram,
    /// Too few or too many arguments.
    ArgumentCount,
    /// An argument has the wrong element type.
    ElementType,
    /// An argument has the wrong shape, or sizes of arguments contradict each other.
    Shape,
    /// An argument does not have the elements that the program was compiled for.
    Elements,
    /// An attribute is missing, is unknown, has the wrong type, or cannot be passed through the C interface.
    Attribute,
    /// An op has no signature.
    NoSignature,
    /// A device does not exist, or an argument and the program are on different devices.
    Device,
    /// An op does not have the required derivative.
    NotDifferentiable,
    /// An op that does not support batching is vmapped.
    NotBatched,
    /// The result types of a call do not follow from its signature while sizes are symbolic.
    OpenSize,
    /// There is not enough memory.
    OutOfMemory,
    /// A custom call failed; this is the handler's code.
    CustomCall(Status),
    /// An operation of the program cannot be computed.
    Operation,
    /// A run was interrupted.
    Interrupted,
    /// The loops of a program exceeded the limit on iterations.
    TooManyIterations,
    /// A plan, or its file, is invalid.
    InvalidPlan,
    /// A file does not exist.
    FileNotFound,
    /// A file cannot be read.
    UnreadableFile,
    /// A file is not a shared library, or not a library for this machine.
    NotALibrary,
    /// The dynamic linker refused a library.
    Link,
    /// A library does not have the required symbol.
    MissingSymbol,
    /// A library has no targets.
    NoTargets,
    /// Targets or types of a library were refused.
    RefusedTargets,
    /// No target has the name that is called.
    MissingTarget,
    /// The name of a target, the id of a type, or the rank of a lowering is already in use.
    AlreadyRegistered,
    /// A target is invalid, or its declarations contradict each other.
    InvalidTarget,
    /// Text cannot be parsed.
    InvalidText,
}

impl ErrorCode {
    /// Returns the closest code of `absl::Status`.
    pub const fn status(self) -> Status {
        match self {
            ErrorCode::CustomCall(status) => status,
            ErrorCode::InvalidProgram
            | ErrorCode::ArgumentCount
            | ErrorCode::ElementType
            | ErrorCode::Shape
            | ErrorCode::Elements
            | ErrorCode::Attribute
            | ErrorCode::NotALibrary
            | ErrorCode::NoTargets
            | ErrorCode::RefusedTargets
            | ErrorCode::InvalidTarget
            | ErrorCode::InvalidText => Status::InvalidArgument,
            ErrorCode::FileNotFound | ErrorCode::MissingSymbol | ErrorCode::MissingTarget => Status::NotFound,
            ErrorCode::AlreadyRegistered => Status::AlreadyExists,
            ErrorCode::Device | ErrorCode::NoSignature | ErrorCode::UnreadableFile | ErrorCode::Link => {
                Status::FailedPrecondition
            }
            ErrorCode::NotDifferentiable | ErrorCode::NotBatched | ErrorCode::OpenSize => {
                Status::Unimplemented
            }
            ErrorCode::OutOfMemory | ErrorCode::TooManyIterations => Status::ResourceExhausted,
            ErrorCode::Interrupted => Status::Cancelled,
            ErrorCode::Operation | ErrorCode::InvalidPlan => Status::Internal,
        }
    }
}

impl From<MismatchKind> for ErrorCode {
    fn from(kind: MismatchKind) -> ErrorCode {
        match kind {
            MismatchKind::Count => ErrorCode::ArgumentCount,
            MismatchKind::Type => ErrorCode::ElementType,
            MismatchKind::Shape => ErrorCode::Shape,
            MismatchKind::AttrName | MismatchKind::AttrType => ErrorCode::Attribute,
            MismatchKind::Batching => ErrorCode::NotBatched,
            MismatchKind::Open => ErrorCode::OpenSize,
        }
    }
}
