//! Element types of the interface and of the engine.

use farcall_pjrt_abi::ElementType;
use farcall_sig::DType;

macro_rules! elements {
    ($($dtype:ident $element:ident,)*) => {
        /// Returns the interface's element type.
        pub(super) fn of_dtype(dtype: DType) -> ElementType {
            match dtype { $(DType::$dtype => ElementType::$element,)* }
        }

        /// Returns the engine's element type; `None` if it has none.
        pub(super) fn dtype(element: ElementType) -> Option<DType> {
            match element {
                $(ElementType::$element => Some(DType::$dtype),)*
                _ => None,
            }
        }
    };
}

elements! {
    Pred PRED,
    S2 S2,
    S4 S4,
    S8 S8,
    S16 S16,
    S32 S32,
    S64 S64,
    U2 U2,
    U4 U4,
    U8 U8,
    U16 U16,
    U32 U32,
    U64 U64,
    F4E2M1FN F4E2M1FN,
    F6E2M3FN F6E2M3FN,
    F6E3M2FN F6E3M2FN,
    F8E3M4 F8E3M4,
    F8E4M3 F8E4M3,
    F8E4M3B11FNUZ F8E4M3B11FNUZ,
    F8E4M3FN F8E4M3FN,
    F8E4M3FNUZ F8E4M3FNUZ,
    F8E5M2 F8E5M2,
    F8E5M2FNUZ F8E5M2FNUZ,
    F8E8M0FNU F8E8M0FNU,
    BF16 BF16,
    F16 F16,
    F32 F32,
    F64 F64,
    C64 C64,
    C128 C128,
}
