//! What a handler returns when it fails: one of XLA's sixteen codes and a message.
//!
//! Both reach the caller of the program, the message with the handler's name before it.

use std::any::Any;
use std::fmt;

use crate::abi;

/// What a handler returns: `Ok(())`, or why it failed.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// A result whose error takes one register, for code that must be fast when there is none.
#[doc(hidden)]
pub type Boxed<T = ()> = std::result::Result<T, Box<Error>>;

/// A failure, with one of XLA's codes.
///
/// Any [`std::error::Error`] turns into one with `?`. Well-known errors of the standard library get
/// the code that fits them, such as [`OutOfRange`](ErrorCode::OutOfRange) for a failed integer
/// conversion; any other is [`Unknown`](ErrorCode::Unknown). For this reason `Error` itself does not
/// implement `std::error::Error`.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    message: String,
}

macro_rules! error_codes {
    ($($(#[$meta:meta])* $code:ident $constructor:ident = $number:ident,)*) => {
        /// The codes of `absl::Status`, which XLA and farcall share.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$meta])* $code,)*
        }

        impl ErrorCode {
            /// Every code, in the order of their numbers.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$code,)*];

            /// XLA's spelling: `INVALID_ARGUMENT`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(ErrorCode::$code => stringify!($number),)*
                }
            }
        }

        /// The code's number in the C interface.
        impl From<ErrorCode> for abi::ErrorCode {
            fn from(code: ErrorCode) -> abi::ErrorCode {
                match code {
                    $(ErrorCode::$code => abi::ErrorCode::$number,)*
                }
            }
        }

        /// The code with this number; `OK` and numbers that nobody defined are [`Unknown`](ErrorCode::Unknown).
        impl From<abi::ErrorCode> for ErrorCode {
            fn from(code: abi::ErrorCode) -> ErrorCode {
                match code {
                    $(abi::ErrorCode::$number => ErrorCode::$code,)*
                    _ => ErrorCode::Unknown,
                }
            }
        }

        impl Error {
            $(
                $(#[$meta])*
                #[doc = concat!("(`", stringify!($number), "`)")]
                #[cold]
                pub fn $constructor(message: impl Into<String>) -> Error {
                    Error::new(ErrorCode::$code, message)
                }
            )*
        }
    };
}

error_codes! {
    /// The caller gave up.
    Cancelled cancelled = CANCELLED,
    /// Nothing more is known.
    Unknown unknown = UNKNOWN,
    /// An operand or attribute is wrong, whatever the state of the system.
    InvalidArgument invalid_argument = INVALID_ARGUMENT,
    /// It took too long.
    DeadlineExceeded deadline_exceeded = DEADLINE_EXCEEDED,
    /// Something named does not exist.
    NotFound not_found = NOT_FOUND,
    /// Something to be created exists already.
    AlreadyExists already_exists = ALREADY_EXISTS,
    /// Not allowed.
    PermissionDenied permission_denied = PERMISSION_DENIED,
    /// Out of memory, of quota, ….
    ResourceExhausted resource_exhausted = RESOURCE_EXHAUSTED,
    /// The system is in the wrong state.
    FailedPrecondition failed_precondition = FAILED_PRECONDITION,
    /// Stopped midway, as by a conflict.
    Aborted aborted = ABORTED,
    /// Past the valid range.
    OutOfRange out_of_range = OUT_OF_RANGE,
    /// Not supported.
    Unimplemented unimplemented = UNIMPLEMENTED,
    /// A bug.
    Internal internal = INTERNAL,
    /// Not now; trying again may help.
    Unavailable unavailable = UNAVAILABLE,
    /// Data are lost or corrupt.
    DataLoss data_loss = DATA_LOSS,
    /// The caller did not say who it is.
    Unauthenticated unauthenticated = UNAUTHENTICATED,
}

impl Error {
    /// An error with this code and message.
    #[cold]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error { code, message: message.into() }
    }

    /// Its code.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// Its message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same error with `context` and a colon before its message.
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

fn code_of(error: &dyn Any) -> ErrorCode {
    use std::io::ErrorKind;
    if let Some(io) = error.downcast_ref::<std::io::Error>() {
        return match io.kind() {
            ErrorKind::NotFound => ErrorCode::NotFound,
            ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
            ErrorKind::AlreadyExists => ErrorCode::AlreadyExists,
            ErrorKind::TimedOut => ErrorCode::DeadlineExceeded,
            ErrorKind::OutOfMemory | ErrorKind::StorageFull => ErrorCode::ResourceExhausted,
            ErrorKind::InvalidInput => ErrorCode::InvalidArgument,
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => ErrorCode::DataLoss,
            _ => ErrorCode::Unknown,
        };
    }
    if error.is::<std::num::TryFromIntError>() {
        ErrorCode::OutOfRange
    } else if error.is::<std::num::ParseIntError>()
        || error.is::<std::num::ParseFloatError>()
        || error.is::<std::str::Utf8Error>()
        || error.is::<std::array::TryFromSliceError>()
    {
        ErrorCode::InvalidArgument
    } else if error.is::<std::collections::TryReserveError>() {
        ErrorCode::ResourceExhausted
    } else {
        ErrorCode::Unknown
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
        assert_eq!(ErrorCode::ALL.len(), 16);
        for (i, code) in ErrorCode::ALL.iter().enumerate() {
            assert_eq!(abi::ErrorCode::from(*code), abi::ErrorCode(i as u32 + 1));
            assert_eq!(ErrorCode::from(abi::ErrorCode::from(*code)), *code);
        }
        assert_eq!(ErrorCode::from(abi::ErrorCode(77)), ErrorCode::Unknown);
    }

    #[test]
    fn std_errors_get_codes() {
        let convert = || -> Result<i8> { Ok(i8::try_from(1000)?) };
        assert_eq!(convert().unwrap_err().code(), ErrorCode::OutOfRange);
        let read = || -> Result<String> { Ok(std::fs::read_to_string("/no/such/file")?) };
        assert_eq!(read().unwrap_err().code(), ErrorCode::NotFound);
    }
}
