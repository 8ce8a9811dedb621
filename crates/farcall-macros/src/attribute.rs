//! `#[derive(FromAttr)]`: reads structs from dictionaries, and enums from strings or integers.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, GenericParam, Ident, Lifetime, Path, Result};

use crate::function::attr_name;
use crate::options::{crate_path, default_crate};

pub(crate) fn derive(item: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(item)?;
    let lifetime = lifetime(&input)?;
    let ffi = ffi(&input.attrs)?;
    match &input.data {
        Data::Struct(data) => structure(&input.ident, lifetime, &data.fields, &ffi),
        Data::Enum(data) => enumeration(&input.ident, data, &ffi),
        Data::Union(_) => Err(Error::new(input.ident.span(), "a union cannot be read from an attribute")),
    }
}

/// Returns the path of `farcall-ffi`: from `#[attr(crate = …)]` before the type, or the default.
fn ffi(attrs: &[syn::Attribute]) -> Result<Path> {
    let mut ffi = None;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("attr")) {
        attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("expected `crate = …`"));
            }
            ffi = Some(meta.value()?.call(crate_path)?);
            Ok(())
        })?;
    }
    Ok(ffi.unwrap_or_else(default_crate))
}

/// Returns the lifetime parameter, which is the only parameter that a type may have.
fn lifetime(input: &DeriveInput) -> Result<Option<&Lifetime>> {
    let mut params = input.generics.params.iter();
    match (params.next(), params.next()) {
        (None, _) => Ok(None),
        (Some(GenericParam::Lifetime(param)), None) if matches!(input.data, Data::Struct(_)) => {
            Ok(Some(&param.lifetime))
        }
        (Some(first), _) => Err(Error::new(
            first.span(),
            "a type that is read from an attribute can have only one parameter, the lifetime of a struct",
        )),
    }
}

fn structure(name: &Ident, lifetime: Option<&Lifetime>, fields: &Fields, ffi: &Path) -> Result<TokenStream> {
    let Fields::Named(fields) = fields else {
        let message = "the entries of a dictionary have names: use a struct with named fields";
        return Err(Error::new(name.span(), message));
    };
    let mut entries = Vec::new();
    for field in &fields.named {
        let ident = field.ident.as_ref().ok_or_else(|| Error::new(field.span(), "expected a name"))?;
        entries.push(name_of(ident.unraw().to_string(), &field.attrs)?);
    }
    if let Some(twice) = (1..entries.len()).find(|&i| entries[..i].contains(&entries[i])) {
        let span = fields.named[twice].span();
        return Err(Error::new(span, format!("two fields are read from the entry `{}`", entries[twice])));
    }
    let read = fields.named.iter().zip(&entries).map(|(field, entry)| {
        let (ident, ty) = (&field.ident, &field.ty);
        quote_spanned! { ty.span()=>
            #ident: {
                let (value, there) = <#ty as #ffi::__private::Field<'__attr>>::read(__dict, #entry)?;
                __taken += ::std::primitive::usize::from(there);
                value
            }
        }
    });
    let of_lifetime = lifetime.map(|_| quote! { <'__attr> });
    let read: Vec<_> = read.collect();
    let rename = lifetime.map(|lifetime| substitute(quote! { #(#read,)* }, lifetime));
    let read = rename.unwrap_or_else(|| quote! { #(#read,)* });
    Ok(quote! {
        impl<'__attr> #ffi::FromAttr<'__attr> for #name #of_lifetime {
            const EXPECTS: &'static str = "dictionary";

            fn from_attr(attr: #ffi::Attr<'__attr>) -> #ffi::Result<Self> {
                let __dict: &'__attr #ffi::Dict = attr.get()?;
                let mut __taken: ::std::primitive::usize = 0;
                let __value = #name { #read };
                if __taken != __dict.len() {
                    return ::std::result::Result::Err(
                        #ffi::__private::unknown_entry(__dict, &[#(#entries),*]),
                    );
                }
                ::std::result::Result::Ok(__value)
            }
        }
    })
}

/// Replaces the struct's lifetime in tokens by the lifetime of the implementation.
fn substitute(tokens: TokenStream, lifetime: &Lifetime) -> TokenStream {
    use proc_macro2::{Group, TokenTree};
    let mut out = TokenStream::new();
    let mut after_quote = false;
    for token in tokens {
        let token = match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), substitute(group.stream(), lifetime));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            TokenTree::Ident(ident) if after_quote && ident == lifetime.ident => {
                TokenTree::Ident(Ident::new("__attr", ident.span()))
            }
            other => other,
        };
        after_quote = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\'');
        out.extend([token]);
    }
    out
}

fn enumeration(name: &Ident, data: &DataEnum, ffi: &Path) -> Result<TokenStream> {
    if let Some(variant) = data.variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
        return Err(Error::new(
            variant.span(),
            "a variant that is read from an attribute cannot have fields",
        ));
    }
    if data.variants.is_empty() {
        return Err(Error::new(name.span(), "an enum without variants cannot be read"));
    }
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    if data.variants.iter().any(|variant| variant.discriminant.is_some()) {
        if let Some(named) = data.variants.iter().find(|v| v.attrs.iter().any(|a| a.path().is_ident("attr")))
        {
            return Err(Error::new(
                named.span(),
                "the enum is read from integers, so its variants cannot have names",
            ));
        }
        return Ok(quote! {
            impl<'__attr> #ffi::FromAttr<'__attr> for #name {
                const EXPECTS: &'static str = "integer";

                fn from_attr(attr: #ffi::Attr<'__attr>) -> #ffi::Result<Self> {
                    let #ffi::__private::Integer(found) = attr.get()?;
                    #(if found == #name::#variants as ::std::primitive::i128 {
                        return ::std::result::Result::Ok(#name::#variants);
                    })*
                    ::std::result::Result::Err(#ffi::__private::no_such_variant(
                        &found,
                        &[#(&(#name::#variants as ::std::primitive::i128)),*],
                    ))
                }
            }
        });
    }
    let mut names = Vec::new();
    for variant in &data.variants {
        let text = name_of(snake_case(&variant.ident.unraw().to_string()), &variant.attrs)?;
        if names.contains(&text) {
            return Err(Error::new(variant.span(), format!("two variants are read from \"{text}\"")));
        }
        names.push(text);
    }
    Ok(quote! {
        impl<'__attr> #ffi::FromAttr<'__attr> for #name {
            const EXPECTS: &'static str = "string";

            fn from_attr(attr: #ffi::Attr<'__attr>) -> #ffi::Result<Self> {
                let found: &'__attr ::std::primitive::str = attr.get()?;
                match found {
                    #(#names => ::std::result::Result::Ok(#name::#variants),)*
                    _ => ::std::result::Result::Err(
                        #ffi::__private::no_such_variant(&found, &[#(&#names),*]),
                    ),
                }
            }
        }
    })
}

/// Returns the name in `#[attr(name = "…")]`, or the default.
fn name_of(default: String, attrs: &[syn::Attribute]) -> Result<String> {
    let mut name = default;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("attr")) {
        name = attr_name(attr)?;
    }
    Ok(name)
}

/// Converts `HalfToEven` to `half_to_even`.
fn snake_case(camel: &str) -> String {
    let mut out = String::new();
    for (i, c) in camel.chars().enumerate() {
        if c.is_uppercase() && i > 0 {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}
