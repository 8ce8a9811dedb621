//! Kinds of errors, for callers that treat them differently.

use farcall_ffi::ErrorCode as Status;

/// What went wrong. Every error of the engine has one (`code`), by which hosts choose exceptions and exit codes; the
/// message is for people.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A program breaks the specification, leaves sizes open, or calls a target that is missing or refuses the call.
    InvalidProgram,
    /// Too few or too many arguments.
    ArgumentCount,
    /// An argument of another element type.
    ElementType,
    /// An argument of another shape, or of sizes that do not go together.
    Shape,
    /// An argument of other elements than those that a program was compiled for.
    Elements,
    /// An attribute that is missing, not known, of another type, or has no form in the C interface.
    Attribute,
    /// An op without a signature.
    NoSignature,
    /// A device that does not exist, or an argument on another device than the program's.
    Device,
    /// An op without the derivative that is needed.
    NotDifferentiable,
    /// An op that is vmapped although it cannot be.
    NotBatched,
    /// A call whose result types do not follow from its signature as long as sizes are open.
    OpenSize,
    /// There is not enough memory.
    OutOfMemory,
    /// A custom call failed, with this code of the handler's.
    CustomCall(Status),
    /// An operation of the program cannot be computed.
    Operation,
    /// A run was interrupted.
    Interrupted,
    /// The loops of a program went round too often.
    TooManyIterations,
    /// A plan, or its file, is not one that can be run.
    InvalidPlan,
    /// There is no such file.
    FileNotFound,
    /// A file cannot be read.
    UnreadableFile,
    /// A file is not a shared library, or not one for this machine.
    NotALibrary,
    /// The dynamic linker refused a library.
    Link,
    /// A library has no such symbol.
    MissingSymbol,
    /// A library brings no targets.
    NoTargets,
    /// Targets or types of a library were refused.
    RefusedTargets,
    /// No target has the name that is called.
    MissingTarget,
    /// Somebody else has the name, or the number, already.
    AlreadyRegistered,
    /// A target, or what is declared about it, does not fit together.
    InvalidTarget,
    /// Text that cannot be parsed as what it should be.
    InvalidText,
}

impl ErrorCode {
    /// The code of `absl::Status` that comes closest.
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
