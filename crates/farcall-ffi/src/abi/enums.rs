//! Enumerations of the interface as open newtypes, and XLA's element types as [`DType`]s.

use farcall_sig::DType;
use std::fmt;

macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        $name:ident = $prefix:literal {
            $($(#[$variant_meta:meta])* $variant:ident = $value:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(pub u32);

        impl $name {
            $(
                $(#[$variant_meta])*
                #[doc = concat!("(`", $prefix, stringify!($variant), "`)")]
                pub const $variant: $name = $name($value);
            )*

            /// All values that the C header names, as (C name, value).
            #[doc(hidden)]
            pub const C_VALUES: &[(&str, u32)] = &[$((concat!($prefix, stringify!($variant)), $value),)*];
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $($name::$variant => f.write_str(stringify!($variant)),)*
                    $name(other) => write!(f, concat!(stringify!($name), "({})"), other),
                }
            }
        }
    };
}

open_enum! {
    /// `XLA_FFI_Extension_Type`: the kind of struct that an [`ExtensionBase`](super::ExtensionBase) is the
    /// header of.
    ExtensionType = "XLA_FFI_Extension_" {
        /// A [`MetadataExtension`](super::MetadataExtension).
        METADATA = 1,
    }
}

open_enum! {
    /// `XLA_FFI_ArgType`.
    ArgType = "XLA_FFI_ArgType_" {
        /// A [`Buffer`](super::Buffer).
        BUFFER = 1,
    }
}

open_enum! {
    /// `XLA_FFI_RetType`.
    RetType = "XLA_FFI_RetType_" {
        /// A [`Buffer`](super::Buffer).
        BUFFER = 1,
    }
}

open_enum! {
    /// `XLA_FFI_AttrType`.
    AttrType = "XLA_FFI_AttrType_" {
        /// An [`Array`](super::Array).
        ARRAY = 1,
        /// An [`Attrs`](super::Attrs).
        DICTIONARY = 2,
        /// A [`Scalar`](super::Scalar).
        SCALAR = 3,
        /// A [`ByteSpan`](super::ByteSpan).
        STRING = 4,
    }
}

open_enum! {
    /// `XLA_FFI_ExecutionStage`.
    Stage = "XLA_FFI_ExecutionStage_" {
        /// Called once per call site, when the program is compiled.
        INSTANTIATE = 0,
        /// Called before each run, to request resources.
        PREPARE = 1,
        /// Called before each run, when the resources are available.
        INITIALIZE = 2,
        /// Called for the call itself.
        EXECUTE = 3,
        /// Called to record the call into a command buffer (since 0.5).
        RECORD = 4,
    }
}

impl Stage {
    /// Name of the stage for messages, such as `execute`; an unknown value is called `unknown stage`.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::INSTANTIATE => "instantiate",
            Stage::PREPARE => "prepare",
            Stage::INITIALIZE => "initialize",
            Stage::EXECUTE => "execute",
            Stage::RECORD => "record",
            _ => "unknown stage",
        }
    }
}

open_enum! {
    /// `XLA_FFI_Error_Code`: the codes of `absl::Status`.
    ErrorCode = "XLA_FFI_Error_Code_" {
        /// Not an error.
        OK = 0,
        /// The caller canceled the operation.
        CANCELLED = 1,
        /// An unknown error.
        UNKNOWN = 2,
        /// An argument is wrong whatever the state of the system.
        INVALID_ARGUMENT = 3,
        /// The operation took too long.
        DEADLINE_EXCEEDED = 4,
        /// A named entity does not exist.
        NOT_FOUND = 5,
        /// The entity to be created already exists.
        ALREADY_EXISTS = 6,
        /// The caller lacks permission.
        PERMISSION_DENIED = 7,
        /// Out of memory, quota, ….
        RESOURCE_EXHAUSTED = 8,
        /// The system is in the wrong state.
        FAILED_PRECONDITION = 9,
        /// The operation stopped midway, for example because of a conflict.
        ABORTED = 10,
        /// A value is past the valid range.
        OUT_OF_RANGE = 11,
        /// The operation is not supported.
        UNIMPLEMENTED = 12,
        /// A bug.
        INTERNAL = 13,
        /// Temporarily unavailable; try again.
        UNAVAILABLE = 14,
        /// Data were lost or corrupted.
        DATA_LOSS = 15,
        /// The caller is not authenticated.
        UNAUTHENTICATED = 16,
    }
}

impl ErrorCode {
    /// Returns true for the codes that the interface defines.
    pub const fn is_known(self) -> bool {
        self.0 <= 16
    }
}

open_enum! {
    /// `XLA_FFI_DataType`: XLA's `PrimitiveType` numbers.
    ///
    /// [`DataType::dtype`] and [`DataType::from_dtype`] translate to and from [`DType`].
    DataType = "XLA_FFI_DataType_" {
        INVALID = 0,
        PRED = 1,
        S1 = 30,
        S2 = 26,
        S4 = 21,
        S8 = 2,
        S16 = 3,
        S32 = 4,
        S64 = 5,
        U1 = 31,
        U2 = 27,
        U4 = 22,
        U8 = 6,
        U16 = 7,
        U32 = 8,
        U64 = 9,
        F16 = 10,
        F32 = 11,
        F64 = 12,
        BF16 = 16,
        C64 = 15,
        C128 = 18,
        TOKEN = 17,
        F8E5M2 = 19,
        F8E3M4 = 29,
        F8E4M3 = 28,
        F8E4M3FN = 20,
        F8E4M3B11FNUZ = 23,
        F8E5M2FNUZ = 24,
        F8E4M3FNUZ = 25,
        F4E2M1FN = 32,
        F8E8M0FNU = 33,
    }
}

impl From<DType> for DataType {
    fn from(dtype: DType) -> DataType {
        DataType::from_dtype(dtype)
    }
}

impl DataType {
    /// `f6E2M3FN`, for which XLA has no number. This number is private to farcall, far above XLA's; only
    /// handlers that were built with farcall understand it.
    pub const FARCALL_F6E2M3FN: DataType = DataType(0x4643_0001);
    /// `f6E3M2FN`; see [`DataType::FARCALL_F6E2M3FN`].
    pub const FARCALL_F6E3M2FN: DataType = DataType(0x4643_0002);

    /// Returns the number of an element type; a `const` form of `From`.
    pub const fn from_dtype(dtype: DType) -> DataType {
        match dtype {
            DType::Pred => DataType::PRED,
            DType::S2 => DataType::S2,
            DType::S4 => DataType::S4,
            DType::S8 => DataType::S8,
            DType::S16 => DataType::S16,
            DType::S32 => DataType::S32,
            DType::S64 => DataType::S64,
            DType::U2 => DataType::U2,
            DType::U4 => DataType::U4,
            DType::U8 => DataType::U8,
            DType::U16 => DataType::U16,
            DType::U32 => DataType::U32,
            DType::U64 => DataType::U64,
            DType::F4E2M1FN => DataType::F4E2M1FN,
            DType::F6E2M3FN => DataType::FARCALL_F6E2M3FN,
            DType::F6E3M2FN => DataType::FARCALL_F6E3M2FN,
            DType::F8E3M4 => DataType::F8E3M4,
            DType::F8E4M3 => DataType::F8E4M3,
            DType::F8E4M3B11FNUZ => DataType::F8E4M3B11FNUZ,
            DType::F8E4M3FN => DataType::F8E4M3FN,
            DType::F8E4M3FNUZ => DataType::F8E4M3FNUZ,
            DType::F8E5M2 => DataType::F8E5M2,
            DType::F8E5M2FNUZ => DataType::F8E5M2FNUZ,
            DType::F8E8M0FNU => DataType::F8E8M0FNU,
            DType::BF16 => DataType::BF16,
            DType::F16 => DataType::F16,
            DType::F32 => DataType::F32,
            DType::F64 => DataType::F64,
            DType::C64 => DataType::C64,
            DType::C128 => DataType::C128,
        }
    }

    /// Returns the element type with this number; `None` for `INVALID`, `TOKEN`, the one-bit integers and
    /// unknown numbers.
    pub const fn dtype(self) -> Option<DType> {
        /// Element types by XLA's number.
        const BY_NUMBER: [Option<DType>; 34] = {
            let mut table = [None; 34];
            let mut i = 0;
            while i < DType::VARIANTS.len() {
                let number = DataType::from_dtype(DType::VARIANTS[i]).0 as usize;
                if number < table.len() {
                    table[number] = Some(DType::VARIANTS[i]);
                }
                i += 1;
            }
            table
        };
        match self {
            DataType::FARCALL_F6E2M3FN => Some(DType::F6E2M3FN),
            DataType::FARCALL_F6E3M2FN => Some(DType::F6E3M2FN),
            DataType(number) if number < 34 => BY_NUMBER[number as usize],
            _ => None,
        }
    }
}

/// Writes the short name of the element type (`f32`), `token`, or `dtype 99` for an unknown number.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.dtype(), *self) {
            (Some(dtype), _) => f.pad(dtype.name()),
            (None, DataType::TOKEN) => f.pad("token"),
            (None, DataType::S1) => f.pad("s1"),
            (None, DataType::U1) => f.pad("u1"),
            (None, DataType(other)) => write!(f, "dtype {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_has_its_own_number() {
        for dtype in DType::VARIANTS {
            assert_eq!(DataType::from_dtype(dtype).dtype(), Some(dtype));
        }
        for unknown in [DataType::INVALID, DataType::TOKEN, DataType::S1, DataType(34), DataType(u32::MAX)] {
            assert_eq!(unknown.dtype(), None);
        }
        assert_eq!(DataType(99).to_string(), "dtype 99");
    }

    #[test]
    fn unknown_values_print() {
        assert_eq!(format!("{:?} {:?}", Stage::EXECUTE, Stage(9)), "EXECUTE Stage(9)");
        assert_eq!(ErrorCode::C_VALUES[3], ("XLA_FFI_Error_Code_INVALID_ARGUMENT", 3));
    }
}
