//! Expressions for values in generated code.

use farcall_sig::DType;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// Returns the expression for an optional value.
pub(crate) fn option(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

/// Returns the expression for an element type, as descriptors contain it.
pub(crate) fn descriptor_type(dtype: DType) -> TokenStream {
    let variant = format_ident!("{dtype:?}");
    quote!(__ffi::DType::#variant)
}
