//! Macros that declare the mirror's structs, and a description of each struct for the layout test.

/// Layout of a mirrored struct, which the test compares with a C header.
#[derive(Debug)]
pub struct StructLayout {
    /// Name in Rust.
    pub name: &'static str,
    /// Name in the C header.
    pub c_name: &'static str,
    /// First and last minor version whose header has this layout. (Up to 0.4, the function table [`Api`] is a
    /// prefix of its layout: see [`Api::STRUCT_SIZE_V3`].)
    pub versions: (i32, i32),
    /// `size_of`.
    pub size: usize,
    /// `align_of`.
    pub align: usize,
    /// `STRUCT_SIZE`: the end of the member that the header names as the last one.
    pub struct_size: usize,
    /// Members in order.
    pub fields: &'static [FieldLayout],
}

/// A member of a [`StructLayout`].
#[derive(Debug)]
pub struct FieldLayout {
    /// Name, which is the same in Rust and in C.
    pub name: &'static str,
    /// `offset_of`.
    pub offset: usize,
    /// `size_of` the member's type.
    pub size: usize,
}

/// Declares a `repr(C)` struct, its `STRUCT_SIZE` and its `LAYOUT`.
///
/// `since N` and `until N` are the first and last minor version whose C header has this layout.
macro_rules! abi_struct {
    (
        $(#[$meta:meta])*
        $name:ident = $c_name:literal $(since $since:literal)? $(until $until:literal)? {
            $($(#[$field_meta:meta])* $field:ident: $ty:ty,)*
        } ends at $last:ident: $last_ty:ty;
    ) => {
        #[doc = concat!("`", $c_name, "`")]
        ///
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $ty,)*
        }

        impl $name {
            /// Value of `struct_size` in a struct of this layout: the end of the member that the C header
            /// names as the last one.
            pub const STRUCT_SIZE: usize =
                std::mem::offset_of!($name, $last) + std::mem::size_of::<$last_ty>();

            #[doc(hidden)]
            pub const LAYOUT: $crate::abi::StructLayout = $crate::abi::StructLayout {
                name: stringify!($name),
                c_name: $c_name,
                versions: $crate::abi::layout::versions(&[$($since)?], &[$($until)?]),
                size: std::mem::size_of::<$name>(),
                align: std::mem::align_of::<$name>(),
                struct_size: $name::STRUCT_SIZE,
                fields: &[$($crate::abi::FieldLayout {
                    name: stringify!($field),
                    offset: std::mem::offset_of!($name, $field),
                    size: std::mem::size_of::<$ty>(),
                },)*],
            };
        }
    };
}

/// Declares an [`abi_struct`] that starts with `struct_size` and `extension_start`, as most structs do.
macro_rules! api_struct {
    (
        $(#[$meta:meta])*
        $name:ident = $c_name:literal $(since $since:literal)? $(until $until:literal)? {
            $($(#[$field_meta:meta])* $field:ident: $ty:ty,)*
        } ends at $last:ident: $last_ty:ty;
    ) => {
        $crate::abi::layout::abi_struct! {
            $(#[$meta])*
            $name = $c_name $(since $since)? $(until $until)? {
                /// Size of this struct as its writer knows it; see the module's docs.
                struct_size: usize,
                /// Extensions, or null.
                extension_start: *mut $crate::abi::ExtensionBase,
                $($(#[$field_meta])* $field: $ty,)*
            } ends at $last: $last_ty;
        }
    };
}

pub(super) use {abi_struct, api_struct};

/// Returns the range of minor versions for the macro's optional bounds.
pub(super) const fn versions(since: &[i32], until: &[i32]) -> (i32, i32) {
    (if since.is_empty() { 0 } else { since[0] }, if until.is_empty() { i32::MAX } else { until[0] })
}

use super::*;

/// Every struct of the mirror.
pub const LAYOUTS: &[StructLayout] = &[
    ExtensionBase::LAYOUT,
    ExtensionId::LAYOUT,
    Extension::LAYOUT,
    ApiVersion::LAYOUT,
    ByteSpan::LAYOUT,
    Buffer::LAYOUT,
    Scalar::LAYOUT,
    Array::LAYOUT,
    Args::LAYOUT,
    Rets::LAYOUT,
    Attrs::LAYOUT,
    CallFrame::LAYOUT,
    HandlerBundle::LAYOUT,
    HandlerBundleV4::LAYOUT,
    HandlerRegisterArgs::LAYOUT,
    HandlerRegisterArgsV4::LAYOUT,
    TypeId::LAYOUT,
    TypeInfo::LAYOUT,
    Metadata::LAYOUT,
    MetadataExtension::LAYOUT,
    ErrorCreateArgs::LAYOUT,
    ErrorGetDetailsArgs::LAYOUT,
    ErrorGetMessageArgs::LAYOUT,
    ErrorDestroyArgs::LAYOUT,
    StreamGetArgs::LAYOUT,
    TypeRegisterArgs::LAYOUT,
    InvokeContextGetArgs::LAYOUT,
    StateSetArgs::LAYOUT,
    StateSetArgsV2::LAYOUT,
    StateGetArgs::LAYOUT,
    StateGetArgsV2::LAYOUT,
    DeviceMemoryAllocateArgs::LAYOUT,
    DeviceMemoryFreeArgs::LAYOUT,
    ThreadPoolScheduleArgs::LAYOUT,
    ThreadPoolNumThreadsArgs::LAYOUT,
    FutureCreateArgs::LAYOUT,
    FutureSetAvailableArgs::LAYOUT,
    FutureSetErrorArgs::LAYOUT,
    RunIdGetArgs::LAYOUT,
    DeviceOrdinalGetArgs::LAYOUT,
    InvokeContextFindExtensionArgs::LAYOUT,
    CustomOptionsGetArgs::LAYOUT,
    Api::LAYOUT,
];
