//! Element types: all those in the StableHLO specification.

use std::fmt;
use std::str::FromStr;

use crate::nearest::UnknownName;

/// Element type of a tensor.
///
/// Names follow XLA's convention: `s32` for a signed 32-bit integer (StableHLO writes `i32`), `pred` for a
/// boolean. [`DType::name`] gives this short name, [`DType::mlir`] the spelling in StableHLO text. The enum
/// is deliberately not `non_exhaustive`: all matches are exhaustive, so the compiler points out the code that
/// a new variant concerns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "each variant is the type of the same name")]
pub enum DType {
    Pred,
    S2,
    S4,
    S8,
    S16,
    S32,
    S64,
    U2,
    U4,
    U8,
    U16,
    U32,
    U64,
    F4E2M1FN,
    F6E2M3FN,
    F6E3M2FN,
    F8E3M4,
    F8E4M3,
    F8E4M3B11FNUZ,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F8E8M0FNU,
    BF16,
    F16,
    F32,
    F64,
    C64,
    C128,
}

/// Kind of values of an element type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DTypeClass {
    /// `pred`
    Bool,
    /// Two's complement integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// Real floating-point numbers of any width.
    Float,
    /// Complex numbers: a pair of `f32` or `f64`.
    Complex,
}

impl DType {
    /// All element types, narrow to wide within each class.
    pub const VARIANTS: [DType; 30] = [
        DType::Pred,
        DType::S2,
        DType::S4,
        DType::S8,
        DType::S16,
        DType::S32,
        DType::S64,
        DType::U2,
        DType::U4,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F4E2M1FN,
        DType::F6E2M3FN,
        DType::F6E3M2FN,
        DType::F8E3M4,
        DType::F8E4M3,
        DType::F8E4M3B11FNUZ,
        DType::F8E4M3FN,
        DType::F8E4M3FNUZ,
        DType::F8E5M2,
        DType::F8E5M2FNUZ,
        DType::F8E8M0FNU,
        DType::BF16,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];

    /// Short name for signatures and messages: `pred`, `s32`, `f8e4m3fn`, `c64`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Pred => "pred",
            DType::S2 => "s2",
            DType::S4 => "s4",
            DType::S8 => "s8",
            DType::S16 => "s16",
            DType::S32 => "s32",
            DType::S64 => "s64",
            DType::U2 => "u2",
            DType::U4 => "u4",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F4E2M1FN => "f4e2m1fn",
            DType::F6E2M3FN => "f6e2m3fn",
            DType::F6E3M2FN => "f6e3m2fn",
            DType::F8E3M4 => "f8e3m4",
            DType::F8E4M3 => "f8e4m3",
            DType::F8E4M3B11FNUZ => "f8e4m3b11fnuz",
            DType::F8E4M3FN => "f8e4m3fn",
            DType::F8E4M3FNUZ => "f8e4m3fnuz",
            DType::F8E5M2 => "f8e5m2",
            DType::F8E5M2FNUZ => "f8e5m2fnuz",
            DType::F8E8M0FNU => "f8e8m0fnu",
            DType::BF16 => "bf16",
            DType::F16 => "f16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::C64 => "c64",
            DType::C128 => "c128",
        }
    }

    /// Spelling in StableHLO text: `i1`, `i32`, `ui32`, `f8E4M3FN`, `complex<f32>`.
    pub const fn mlir(self) -> &'static str {
        match self {
            DType::Pred => "i1",
            DType::S2 => "i2",
            DType::S4 => "i4",
            DType::S8 => "i8",
            DType::S16 => "i16",
            DType::S32 => "i32",
            DType::S64 => "i64",
            DType::U2 => "ui2",
            DType::U4 => "ui4",
            DType::U8 => "ui8",
            DType::U16 => "ui16",
            DType::U32 => "ui32",
            DType::U64 => "ui64",
            DType::F4E2M1FN => "f4E2M1FN",
            DType::F6E2M3FN => "f6E2M3FN",
            DType::F6E3M2FN => "f6E3M2FN",
            DType::F8E3M4 => "f8E3M4",
            DType::F8E4M3 => "f8E4M3",
            DType::F8E4M3B11FNUZ => "f8E4M3B11FNUZ",
            DType::F8E4M3FN => "f8E4M3FN",
            DType::F8E4M3FNUZ => "f8E4M3FNUZ",
            DType::F8E5M2 => "f8E5M2",
            DType::F8E5M2FNUZ => "f8E5M2FNUZ",
            DType::F8E8M0FNU => "f8E8M0FNU",
            DType::BF16 => "bf16",
            DType::F16 => "f16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::C64 => "complex<f32>",
            DType::C128 => "complex<f64>",
        }
    }

    /// Returns the type with this StableHLO spelling ([`DType::mlir`]); `si32` is accepted for `i32`.
    pub fn from_mlir(name: &str) -> Option<DType> {
        let name = name.strip_prefix('s').filter(|rest| rest.starts_with('i')).unwrap_or(name);
        DType::VARIANTS.into_iter().find(|d| d.mlir() == name)
    }

    /// Class of the type's values.
    pub const fn class(self) -> DTypeClass {
        match self {
            DType::Pred => DTypeClass::Bool,
            DType::S2 | DType::S4 | DType::S8 | DType::S16 | DType::S32 | DType::S64 => DTypeClass::Signed,
            DType::U2 | DType::U4 | DType::U8 | DType::U16 | DType::U32 | DType::U64 => DTypeClass::Unsigned,
            DType::C64 | DType::C128 => DTypeClass::Complex,
            _ => DTypeClass::Float,
        }
    }

    /// Number of significant bits of one element: 1 for `pred`, 4 for `s4`, 64 for `c64`.
    pub const fn bits(self) -> u32 {
        match self {
            DType::Pred => 1,
            DType::S2 | DType::U2 => 2,
            DType::S4 | DType::U4 | DType::F4E2M1FN => 4,
            DType::F6E2M3FN | DType::F6E3M2FN => 6,
            DType::S8 | DType::U8 => 8,
            DType::F8E3M4
            | DType::F8E4M3
            | DType::F8E4M3B11FNUZ
            | DType::F8E4M3FN
            | DType::F8E4M3FNUZ
            | DType::F8E5M2
            | DType::F8E5M2FNUZ
            | DType::F8E8M0FNU => 8,
            DType::S16 | DType::U16 | DType::BF16 | DType::F16 => 16,
            DType::S32 | DType::U32 | DType::F32 => 32,
            DType::S64 | DType::U64 | DType::F64 | DType::C64 => 64,
            DType::C128 => 128,
        }
    }

    /// Size of one element in memory, in bytes. Types narrower than a byte are unpacked: one byte each.
    pub const fn size(self) -> usize {
        (self.bits() as usize).div_ceil(8)
    }

    /// Returns the minimum and maximum of an integer type.
    pub const fn integer_range(self) -> Option<(i128, i128)> {
        let bits = self.bits();
        match self.class() {
            DTypeClass::Signed => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            DTypeClass::Unsigned => Some((0, (1 << bits) - 1)),
            DTypeClass::Bool | DTypeClass::Float | DTypeClass::Complex => None,
        }
    }

    /// Returns true for `pred`.
    pub const fn is_bool(self) -> bool {
        matches!(self.class(), DTypeClass::Bool)
    }

    /// Returns true for signed and unsigned integers (not `pred`).
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), DTypeClass::Signed | DTypeClass::Unsigned)
    }

    /// Returns true for signed integers.
    pub const fn is_signed_integer(self) -> bool {
        matches!(self.class(), DTypeClass::Signed)
    }

    /// Returns true for unsigned integers.
    pub const fn is_unsigned_integer(self) -> bool {
        matches!(self.class(), DTypeClass::Unsigned)
    }

    /// Returns true for real floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self.class(), DTypeClass::Float)
    }

    /// Returns true for complex types.
    pub const fn is_complex(self) -> bool {
        matches!(self.class(), DTypeClass::Complex)
    }

    /// Returns the type of the parts of a complex type, and any other type unchanged.
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// Returns the complex type whose parts are of this type, if there is one.
    pub const fn complex(self) -> Option<DType> {
        match self {
            DType::F32 => Some(DType::C64),
            DType::F64 => Some(DType::C128),
            _ => None,
        }
    }

    /// Returns the type in which sums of this type are accumulated: `f32` for narrower floats, 32-bit
    /// integers for narrower integers and `pred` (as a count), and any other type unchanged.
    pub const fn accumulator(self) -> DType {
        match self.class() {
            DTypeClass::Float if self.bits() < 32 => DType::F32,
            DTypeClass::Signed | DTypeClass::Bool if self.bits() < 32 => DType::S32,
            DTypeClass::Unsigned if self.bits() < 32 => DType::U32,
            _ => self,
        }
    }
}

/// Parses a short name ([`DType::name`]).
///
/// ```
/// use farcall_sig::DType;
///
/// assert_eq!("f32".parse(), Ok(DType::F32));
/// assert_eq!("f31".parse::<DType>().unwrap_err().to_string(), "there is no element type `f31`");
/// ```
impl FromStr for DType {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<DType, UnknownName> {
        let found = DType::VARIANTS.into_iter().find(|d| d.name() == name);
        found.ok_or_else(|| UnknownName::new("element type", name))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for d in DType::VARIANTS {
            assert_eq!(d.name().parse::<DType>().ok(), Some(d));
            assert_eq!(DType::from_mlir(d.mlir()), Some(d));
        }
        assert_eq!(DType::from_mlir("si32"), Some(DType::S32));
        assert_eq!(DType::from_mlir("s32"), None);
    }

    #[test]
    fn narrow_types_take_a_byte() {
        assert_eq!((DType::S4.bits(), DType::S4.size()), (4, 1));
        assert_eq!(DType::Pred.size(), 1);
        assert_eq!(DType::C128.size(), 16);
    }

    #[test]
    fn sums_are_kept_in_32_bits_or_more() {
        let kept =
            [DType::BF16, DType::S8, DType::U16, DType::Pred, DType::F64, DType::C64].map(DType::accumulator);
        assert_eq!(kept, [DType::F32, DType::S32, DType::U32, DType::S32, DType::F64, DType::C64]);
    }
}
