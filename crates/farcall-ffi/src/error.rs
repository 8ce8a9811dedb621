//! The error type of handlers: one of XLA's sixteen codes and a message.
//!
//! The code and the message reach the caller of the program. The message is prefixed with the handler's name.

use std::any::Any;
use std::fmt;

use crate::abi;

/// Return type of a handler: `Ok(())`, or the reason why it failed.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// A result whose error fits in one register, for code whose success path must be fast.
#[doc(hidden)]
pub type Boxed<T = ()> = std::result::Result<T, Box<Error>>;

/// A failure, with one of XLA's codes.
///
/// `?` converts any [`std::error::Error`] to this type. Well-known errors of the standard library get a
/// suitable code, such as [`OutOfRange`](StatusCode::OutOfRange) for a failed integer conversion; any other
/// error is [`Unknown`](StatusCode::Unknown). Because of this conversion, `Error` itself does not implement
/// `std::error::Error`.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    code: StatusCode,
    message: String,
}

macro_rules! error_codes {
    ($($(#[$meta:meta])* $code:ident $constructor:ident = $number:ident,)*) => {
        /// The codes of `absl::Status`, which XLA and farcall share.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum StatusCode {
            $($(#[$meta])* $code,)*
        }

        impl StatusCode {
            /// All codes, in the order of their numbers.
            pub const VARIANTS: &[StatusCode] = &[$(StatusCode::$code,)*];

            /// Name in XLA's spelling: `INVALID_ARGUMENT`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(StatusCode::$code => stringify!($number),)*
                }
            }
        }

        /// Returns the code's number in the C interface.
        impl From<StatusCode> for abi::ErrorCode {
            fn from(code: StatusCode) -> abi::ErrorCode {
                match code {
                    $(StatusCode::$code => abi::ErrorCode::$number,)*
                }
            }
        }

        /// Returns the code with this number; `OK` and undefined numbers become
        /// [`Unknown`](StatusCode::Unknown).
        impl From<abi::ErrorCode> for StatusCode {
            fn from(code: abi::ErrorCode) -> StatusCode {
                match code {
                    $(abi::ErrorCode::$number => StatusCode::$code,)*
                    _ => StatusCode::Unknown,
                }
            }
        }

        impl Error {
            $(
                $(#[$meta])*
                #[doc = concat!("(`", stringify!($number), "`)")]
                #[cold]
                pub fn $constructor(message: impl Into<String>) -> Error {
                    Error::new(StatusCode::$code, message)
                }
            )*
        }
    };
}

error_codes! {
    /// The caller canceled the operation.
    Cancelled cancelled = CANCELLED,
    /// An unknown error.
    Unknown unknown = UNKNOWN,
    /// An operand or attribute is wrong, whatever the state of the system.
    InvalidArgument invalid_argument = INVALID_ARGUMENT,
    /// The operation took too long.
    DeadlineExceeded deadline_exceeded = DEADLINE_EXCEEDED,
    /// A named entity does not exist.
    NotFound not_found = NOT_FOUND,
    /// The entity to be created already exists.
    AlreadyExists already_exists = ALREADY_EXISTS,
    /// The caller lacks permission.
    PermissionDenied permission_denied = PERMISSION_DENIED,
    /// Out of memory, quota, ….
    ResourceExhausted resource_exhausted = RESOURCE_EXHAUSTED,
    /// The system is in the wrong state.
    FailedPrecondition failed_precondition = FAILED_PRECONDITION,
    /// The operation stopped midway, for example because of a conflict.
    Aborted aborted = ABORTED,
    /// A value is past the valid range.
    OutOfRange out_of_range = OUT_OF_RANGE,
    /// The operation is not supported.
    Unimplemented unimplemented = UNIMPLEMENTED,
    /// A bug.
    Internal internal = INTERNAL,
    /// Temporarily unavailable; trying again may help.
    Unavailable unavailable = UNAVAILABLE,
    /// Data were lost or corrupted.
    DataLoss data_loss = DATA_LOSS,
    /// The caller is not authenticated.
    Unauthenticated unauthenticated = UNAUTHENTICATED,
}

impl Error {
    /// Makes an error with this code and message.
    #[cold]
    pub fn new(code: StatusCode, message: impl Into<String>) -> Error {
        Error { code, message: message.into() }
    }

    /// Code of the error.
    pub fn code(&self) -> StatusCode {
        self.code
    }

    /// Message of the error.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Prefixes the message with `context` and a colon.
    #[must_use]
    pub fn context(self, context: impl fmt::Display) -> Error {
        Error { code: self.code, message: format!("{context}: {}", self.message) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl<E: std::error::Error + 'static> From<E> for Error {
    #[cold]
    fn from(error: E) -> Error {
        Error::new(code_of(&error), error.to_string())
    }
}

fn code_of(error: &dyn Any) -> StatusCode {
    use std::io::ErrorKind;
    if let Some(io) = error.downcast_ref::<std::io::Error>() {
        return match io.kind() {
            ErrorKind::NotFound => StatusCode::NotFound,
            ErrorKind::PermissionDenied => StatusCode::PermissionDenied,
            ErrorKind::AlreadyExists => StatusCode::AlreadyExists,
            ErrorKind::TimedOut => StatusCode::DeadlineExceeded,
            ErrorKind::OutOfMemory | ErrorKind::StorageFull => StatusCode::ResourceExhausted,
            ErrorKind::InvalidInput => StatusCode::InvalidArgument,
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => StatusCode::DataLoss,
            _ => StatusCode::Unknown,
        };
    }
    if error.is::<std::num::TryFromIntError>() {
        StatusCode::OutOfRange
    } else if error.is::<std::num::ParseIntError>()
        || error.is::<std::num::ParseFloatError>()
        || error.is::<std::str::Utf8Error>()
        || error.is::<std::array::TryFromSliceError>()
    {
        StatusCode::InvalidArgument
    } else if error.is::<std::collections::TryReserveError>() {
        StatusCode::ResourceExhausted
    } else {
        StatusCode::Unknown
    }
}

/// Returns [`Error::invalid_argument`] with the formatted message unless the condition holds.
///
/// ```
/// # use farcall_ffi::prelude::*;
/// fn check(n: usize) -> Result<()> {
///     ensure!(n.is_power_of_two(), "n = {n} is not a power of two");
///     Ok(())
/// }
/// assert_eq!(check(3).unwrap_err().message(), "n = 3 is not a power of two");
/// ```
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return ::std::result::Result::Err($crate::Error::invalid_argument(::std::format!($($message)+)));
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_codes_go_there_and_back() {
        assert_eq!(StatusCode::VARIANTS.len(), 16);
        for (i, code) in StatusCode::VARIANTS.iter().enumerate() {
            assert_eq!(abi::ErrorCode::from(*code), abi::ErrorCode(i as u32 + 1));
            assert_eq!(StatusCode::from(abi::ErrorCode::from(*code)), *code);
        }
        assert_eq!(StatusCode::from(abi::ErrorCode(77)), StatusCode::Unknown);
    }

    #[test]
    fn std_errors_get_codes() {
        let convert = || -> Result<i8> { Ok(i8::try_from(1000)?) };
        assert_eq!(convert().unwrap_err().code(), StatusCode::OutOfRange);
        let read = || -> Result<String> { Ok(std::fs::read_to_string("/no/such/file")?) };
        assert_eq!(read().unwrap_err().code(), StatusCode::NotFound);
    }
}
