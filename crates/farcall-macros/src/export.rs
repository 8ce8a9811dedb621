//! `library!` and `ops!`: tables of handlers, and the symbols of a shared library.

use farcall_sig::namespace::{self, is_namespace};
use farcall_sig::reserved::is_reserved;
use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, LitStr, Path, Result, Token, bracketed};

use crate::options::crate_path;

/// Input of `library!`: `path;`, the path of `farcall-ffi`, then `"name", [item, …]` and optionally
/// `, namespace: "…"`, `, stages: [path, …]`, `, register: manual`.
struct Library {
    ffi: Path,
    name: LitStr,
    items: Punctuated<Item<Exported>, Token![,]>,
    /// Prefix of the targets' names.
    namespace: Option<LitStr>,
    stages: Vec<Exported>,
    /// True if the library registers itself when it is loaded.
    registers: bool,
}

/// An entry of a list of ops.
enum Item<H> {
    /// A handler: its path, and in `library!` the exported symbol.
    Handler(H),
    /// A table of ops: `..table`.
    Table(Path),
}

/// The path of a handler or a stage, with the name of its exported symbol.
struct Exported {
    path: Path,
    symbol: Ident,
}

impl Parse for Exported {
    fn parse(input: ParseStream<'_>) -> Result<Exported> {
        let path: Path = input.parse()?;
        let symbol = if input.peek(Token![as]) {
            input.parse::<Token![as]>()?;
            input.call(Ident::parse_any)?
        } else {
            path.segments.last().ok_or_else(|| input.error("expected a path"))?.ident.clone()
        };
        if is_reserved(&symbol.unraw().to_string()) {
            let message = format!(
                "the exported symbol `{symbol}` would replace the C library's function of this name in your \
                 library; give it another one: `{symbol} as my_{symbol}`",
            );
            return Err(Error::new(symbol.span(), message));
        }
        Ok(Exported { path, symbol })
    }
}

impl<H: Parse> Parse for Item<H> {
    fn parse(input: ParseStream<'_>) -> Result<Item<H>> {
        if input.peek(Token![..]) {
            input.parse::<Token![..]>()?;
            return Ok(Item::Table(input.parse()?));
        }
        input.parse().map(Item::Handler)
    }
}

impl Parse for Library {
    fn parse(input: ParseStream<'_>) -> Result<Library> {
        let ffi = leading_crate(input)?;
        if !input.peek(LitStr) {
            return Err(input.error("expected the library's name: library!(\"my_ops\", [rms_norm, …])"));
        }
        let name: LitStr = input.parse()?;
        input.parse::<Token![,]>()?;
        let list;
        let brackets = bracketed!(list in input);
        let items = Punctuated::parse_terminated(&list)?;
        if items.is_empty() {
            return Err(Error::new(brackets.span.join(), "a library must have at least one op"));
        }
        let mut stages = None;
        let mut registers = None;
        let mut namespace = None;
        while input.peek(Token![,]) && !input.peek2(syn::parse::End) {
            input.parse::<Token![,]>()?;
            let key: Ident = input.parse()?;
            input.parse::<Token![:]>()?;
            let twice = match key.to_string().as_str() {
                "stages" => {
                    let list;
                    bracketed!(list in input);
                    let list = Punctuated::<Exported, Token![,]>::parse_terminated(&list)?;
                    stages.replace(list.into_iter().collect()).is_some()
                }
                "namespace" => {
                    let given: LitStr = input.parse()?;
                    if !is_namespace(&given.value()) {
                        let message = format!("a namespace must be {}", namespace::FORM);
                        return Err(Error::new(given.span(), message));
                    }
                    namespace.replace(given).is_some()
                }
                "register" => {
                    let when: Ident = input.parse()?;
                    let automatically = match when.to_string().as_str() {
                        "automatic" => true,
                        "manual" => false,
                        _ => return Err(Error::new(when.span(), "expected `automatic` or `manual`")),
                    };
                    registers.replace(automatically).is_some()
                }
                _ => {
                    return Err(Error::new(key.span(), "unknown option; known: namespace, stages, register"));
                }
            };
            if twice {
                return Err(Error::new(key.span(), "given twice"));
            }
        }
        let stages = stages.unwrap_or_default();
        let registers = registers.unwrap_or(true);
        input.parse::<Option<Token![,]>>()?;
        Ok(Library { ffi, name, items, namespace, stages, registers })
    }
}

/// Returns the function that exports a handler under its symbol.
fn symbol(Exported { path, symbol }: &Exported, ffi: &Path) -> TokenStream {
    quote! {
        const _: () = {
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn #symbol(
                frame: *mut #ffi::abi::CallFrame,
            ) -> *mut #ffi::abi::Error {
                // SAFETY: hosts only call this symbol with a call frame, as `enter` requires.
                unsafe { #ffi::__private::enter::<#path>(frame) }
            }
        };
    }
}

/// Returns the static initializer that registers the library `__LIBRARY` when it is loaded.
fn initializer(ffi: &Path) -> TokenStream {
    quote! {
        #[cfg(target_os = "linux")]
        #[used]
        #[unsafe(link_section = ".init_array")]
        static __REGISTER: extern "C" fn() = {
            extern "C" fn register() {
                // SAFETY: `__LIBRARY` is the static descriptor above.
                unsafe { #ffi::__private::register(&__LIBRARY) };
            }
            register
        };
    }
}

pub(crate) fn library(input: TokenStream) -> Result<TokenStream> {
    let Library { ffi, name, items, namespace, stages, registers } = syn::parse2(input)?;
    let tables = items.iter().map(|item| match item {
        Item::Handler(Exported { path, .. }) => listed(path, &ffi),
        Item::Table(path) => quote! { #path },
    });
    let conflicts = items.iter().enumerate().map(|(i, item)| {
        let (Item::Handler(Exported { path, .. }) | Item::Table(path)) = item;
        quote_spanned! { path.span()=>
            ::std::option::Option::Some((#i, __why)) => ::std::panic!("{}", __why.as_str()),
        }
    });
    let exported = items.iter().filter_map(|item| match item {
        Item::Handler(exported) => Some(exported),
        Item::Table(_) => None,
    });
    let symbols = exported.chain(&stages).map(|exported| symbol(exported, &ffi));
    let in_namespace = namespace.map(|namespace| quote! { .in_namespace(#namespace) });
    let initializer = registers.then(|| initializer(&ffi));
    Ok(quote! {
        #[cfg(panic = "abort")]
        ::std::compile_error!(
            "a library of handlers cannot be built with `panic = \"abort\"`: a panic in a handler must become an \
             error of the call, and not the end of the host's process. Remove the setting from this profile."
        );

        const _: () = {
            const __TABLES: &[&[&#ffi::descriptor::OpDescriptor]] = &[#(#tables),*];
            const __CONFLICT: ::std::option::Option<(usize, #ffi::__private::text::Text)> =
                #ffi::__private::conflict(__TABLES);
            const _: () = match &__CONFLICT {
                #(#conflicts)*
                _ => {}
            };
            static __OPS: [&#ffi::descriptor::OpDescriptor; #ffi::__private::count(__TABLES)] =
                #ffi::__private::concat(__TABLES);
            static __LIBRARY: #ffi::descriptor::LibraryDescriptor =
                #ffi::descriptor::LibraryDescriptor::new(#name, ::std::env!("CARGO_PKG_VERSION"), &__OPS)
                    #in_namespace;

            #[unsafe(no_mangle)]
            pub extern "C" fn farcall_library_v1() -> *const #ffi::descriptor::LibraryDescriptor {
                &__LIBRARY
            }

            #[cfg(target_os = "linux")]
            #[unsafe(no_mangle)]
            pub extern "C" fn farcall_register_v1() -> usize {
                // SAFETY: `__LIBRARY` is the static descriptor above.
                unsafe { #ffi::__private::register(&__LIBRARY) }
            }

            #[cfg(target_os = "linux")]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn farcall_registrations_v1(
                platform: *const ::std::ffi::c_char,
            ) -> *mut ::std::ffi::c_void {
                // SAFETY: this symbol has the same contract as `registrations`.
                unsafe { #ffi::__private::registrations(&__LIBRARY, platform) }
            }

            #initializer

            #(#symbols)*
        };
    })
}

pub(crate) fn ops(input: TokenStream) -> Result<TokenStream> {
    let Ops { ffi, items } = syn::parse2(input)?;
    if items.is_empty() {
        return Ok(quote! { &[] });
    }
    let tables = items.iter().map(|item| match item {
        Item::Handler(path) => listed(path, &ffi),
        Item::Table(path) => quote! { #path },
    });
    Ok(quote! {{
        const __TABLES: &[&[&#ffi::descriptor::OpDescriptor]] = &[#(#tables),*];
        const __OPS: &[&#ffi::descriptor::OpDescriptor; #ffi::__private::count(__TABLES)] =
            &#ffi::__private::concat(__TABLES);
        __OPS
    }})
}

/// Input of `ops!`: `path; handler, ..table, …`.
struct Ops {
    ffi: Path,
    items: Punctuated<Item<Path>, Token![,]>,
}

impl Parse for Ops {
    fn parse(input: ParseStream<'_>) -> Result<Ops> {
        Ok(Ops { ffi: leading_crate(input)?, items: Punctuated::parse_terminated(input)? })
    }
}

/// Parses `path;`.
fn leading_crate(input: ParseStream<'_>) -> Result<Path> {
    let ffi = crate_path(input)?;
    input.parse::<Token![;]>()?;
    Ok(ffi)
}

/// Returns the ops that a handler contributes to a list.
fn listed(path: &Path, ffi: &Path) -> TokenStream {
    quote_spanned! { path.span()=> <#path as #ffi::__private::HandlerOp>::LISTED }
}
