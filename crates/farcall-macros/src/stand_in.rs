//! Replaces a function below a faulty attribute by a stand-in, so that one mistake causes only one error.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Path, Result, Token, Visibility};

use crate::declaration::is_declaration;
use crate::function::{Function, Param};

/// Returns a stand-in for the function below a faulty attribute, so that uses of the function's name do not
/// cause further errors. The stand-in consists of a handler that does nothing, and the function without its
/// body. Returns nothing for methods and for items other than functions.
pub(crate) fn stand_in(item: TokenStream, ffi: &Path) -> TokenStream {
    let (vis, name, function) = match syn::parse2::<Function>(item.clone()) {
        Ok(Function { attrs, vis, name, generics, params, output, .. }) => {
            let is_left = params.iter().all(Param::is_of_host);
            let left = if is_left { left_to_signature(&attrs) } else { Vec::new() };
            let attrs = attrs.iter().filter(|attr| !is_declaration(attr));
            let types = params.iter().map(|param| &param.ty);
            let any: Vec<Ident> = (0..left.len()).map(|i| format_ident!("__Any{i}")).collect();
            let given = any.iter().zip(&left).map(|(any, written)| match written {
                true => quote!(&mut #any),
                false => quote!(#any),
            });
            let bounds = any.iter().zip(&left).map(|(any, written)| match written {
                true => quote!(#any: ?::core::marker::Sized),
                false => quote!(#any),
            });
            let (generics, where_clause) = match left.as_slice() {
                [] => (generics.to_token_stream(), generics.where_clause.to_token_stream()),
                // The author wrote no types for these parameters, so each of them accepts any type.
                _ => (quote!(<#(#bounds),*>), TokenStream::new()),
            };
            let function = quote! {
                #(#attrs)*
                #[allow(dead_code, reason = "it stands for a function with an error")]
                #vis fn #name #generics(#(_: #given,)* #(_: #types),*) #output #where_clause {
                    ::core::unreachable!()
                }
            };
            (vis, name, function)
        }
        Err(_) => match name_of.parse2(item) {
            Ok(Some((vis, name))) => (vis, name, TokenStream::new()),
            Ok(None) | Err(_) => return TokenStream::new(),
        },
    };
    quote! {
        #function

        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code, reason = "named as the function")]
        #vis enum #name {}

        #ffi::__stand_in! { #name }
    }
}

/// Returns a flag for each parameter that the signature adds to a function without parameters: true if the
/// parameter is written to. Tolerates errors in the signature.
fn left_to_signature(attrs: &[Attribute]) -> Vec<bool> {
    let signature = attrs.iter().find(|attr| attr.path().is_ident("signature"));
    let tokens = signature.and_then(|attr| match &attr.meta {
        syn::Meta::List(list) => Some(list.tokens.clone()),
        syn::Meta::NameValue(meta) => match &meta.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => text.parse().ok(),
            _ => None,
        },
        syn::Meta::Path(_) => None,
    });
    let lists = tokens.into_iter().flatten().filter_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Some(group.stream()),
        _ => None,
    });
    // The words of each entry. The first list has the operands and attributes, the second one the results.
    let mut lists = lists.map(|list| {
        let tokens: Vec<TokenTree> = list.into_iter().collect();
        let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
        let entries = tokens.split(is_comma).filter(|entry| !entry.is_empty());
        entries.map(|entry| entry.iter().map(TokenTree::to_string).collect()).collect::<Vec<Vec<String>>>()
    });
    let (taken, made) = (lists.next().unwrap_or_default(), lists.next().unwrap_or_default());
    let alias = |entry: &Vec<String>| {
        let at = entry.iter().position(|word| word == "aliases")?;
        entry.get(at + 1).cloned()
    };
    let aliases: Vec<String> = made.iter().filter_map(alias).collect();
    let taken = taken.iter().map(|entry| aliases.contains(&entry[0]));
    taken.chain(made.iter().filter(|entry| alias(entry).is_none()).map(|_| true)).collect()
}

/// Returns the visibility and the name of a function that cannot be a handler, or `None` if it is a method.
fn name_of(input: ParseStream<'_>) -> Result<Option<(Visibility, Ident)>> {
    input.call(Attribute::parse_outer)?;
    let vis = input.parse()?;
    while !input.peek(Token![fn]) {
        input.parse::<TokenTree>()?;
    }
    input.parse::<Token![fn]>()?;
    let name = input.parse()?;
    let mut is_method = false;
    while let Ok(token) = input.parse::<TokenTree>() {
        if let TokenTree::Group(group) = token
            && group.delimiter() == Delimiter::Parenthesis
        {
            is_method |= group.stream().into_iter().any(|t| matches!(t, TokenTree::Ident(i) if i == "self"));
        }
    }
    Ok((!is_method).then_some((vis, name)))
}
