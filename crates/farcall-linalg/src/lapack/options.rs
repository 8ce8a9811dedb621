//! Options of LAPACK's routines, which calls pass as attributes: the ASCII code of a letter, as a `u8`.

use farcall_ffi::{Error, Result};

macro_rules! options {
    ($($(#[$meta:meta])* $name:ident: $($letter:literal => $variant:ident,)*;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum $name {
            $(#[doc = concat!("Letter ", stringify!($letter), ".")] $variant,)*
        }

        impl $name {
            /// Decodes the attribute.
            ///
            /// # Errors
            /// `INVALID_ARGUMENT` with the attribute's value and the valid values.
            pub(crate) fn decode(name: &str, code: u8) -> Result<$name> {
                match code {
                    $($letter => Ok($name::$variant),)*
                    _ => Err(invalid(name, code, &[$($letter),*])),
                }
            }
        }
    )*};
}
options! {
    /// The triangle of a matrix that is read and written.
    Uplo: b'L' => Lower, b'U' => Upper,;
    /// The side from which a matrix multiplies.
    Side: b'L' => Left, b'R' => Right,;
    /// The form in which a matrix is used.
    Transpose: b'N' => No, b'T' => Transposed, b'C' => Adjoint,;
    /// The diagonal of a triangular matrix: its own, or ones that are not stored.
    Diagonal: b'N' => Stored, b'U' => Unit,;
    /// The results of an eigendecomposition or Schur decomposition: values alone, or vectors too.
    Job: b'N' => Values, b'V' => Vectors,;
    /// The results of a singular value decomposition: all vectors, `min(m, n)` vectors, or values alone.
    SvdMode: b'A' => Full, b'S' => Thin, b'N' => Values,;
    /// The order of the eigenvalues of a Schur form.
    Sort: b'N' => No, b'S' => Selected,;
}

/// The form of a triangular system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System {
    /// Side of the unknowns on which the triangular matrix stands.
    pub(crate) side: Side,
    /// Triangle that is read.
    pub(crate) uplo: Uplo,
    /// Form of the triangular matrix.
    pub(crate) transpose: Transpose,
    /// Diagonal of the triangular matrix.
    pub(crate) diagonal: Diagonal,
}

/// Makes the error for an invalid code.
#[cold]
pub(crate) fn invalid(name: &str, code: u8, valid: &[u8]) -> Error {
    let show = |code: u8| match code.is_ascii_graphic() {
        true => format!("{code} ('{}')", char::from(code)),
        false => code.to_string(),
    };
    let valid: Vec<String> = valid.iter().map(|code| show(*code)).collect();
    Error::invalid_argument(format!("{name} is {}, but must be {}", show(code), valid.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_decoded() {
        assert_eq!(Uplo::decode("uplo", b'L').unwrap(), Uplo::Lower);
        assert_eq!(Transpose::decode("trans_x", b'C').unwrap(), Transpose::Adjoint);
        let error = Uplo::decode("uplo", b'X').unwrap_err();
        assert_eq!(error.message(), "uplo is 88 ('X'), but must be 76 ('L') or 85 ('U')");
        let error = Side::decode("side", 0).unwrap_err();
        assert_eq!(error.message(), "side is 0, but must be 76 ('L') or 82 ('R')");
    }
}
