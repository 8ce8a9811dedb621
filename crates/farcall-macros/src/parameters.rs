//! The parameters of a function that leaves them to its signature.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Path, Result, parse_quote};

use crate::declaration::{Checker, Declaration, Entry};
use crate::function::{Function, Param};
use crate::generic::Instances;

/// Gives a function that names nothing of its signature a parameter for each operand, attribute and result, in the
/// signature's order, before those that it has.
pub(crate) fn complete(function: &mut Function, declaration: &Declaration, ffi: &Path) -> Result<()> {
    let Some((signature, source)) = declaration.source() else { return Ok(()) };
    let instances = Instances::new(function, Some(signature))?;
    let checker = Checker { signature, source, params: &function.params, instances: &instances };
    let has_tensors = !(signature.operands().is_empty() && signature.results().is_empty());
    // Attributes alone may be taken at once, as `&Attrs`.
    if !has_tensors || function.params.iter().any(|param| checker.entry(&param.name).is_some()) {
        return Ok(());
    }
    let operands = signature.operands().iter().map(|o| (&o.name, Entry::Operand(o)));
    let attrs = signature.attrs().iter().map(|a| (&a.name, Entry::Attr(a)));
    let mut entries: Vec<_> = operands.chain(attrs).collect();
    entries.sort_by_key(|(name, _)| name.span.offset);
    let own = signature.results().iter().filter(|r| r.aliases.is_none());
    entries.extend(own.map(|r| (&r.name, Entry::Result(r))));
    let params = entries.into_iter().map(|(name, entry)| {
        let span = source.span(name.span);
        let unwritable = |what: &str| {
            let message =
                format!("the {what} of `{name}` cannot be written in Rust: write this function's parameters");
            syn::Error::new(span, message)
        };
        let raw = || syn::parse_str(&format!("r#{name}"));
        let mut ident: Ident =
            syn::parse_str(&name.text).or_else(|_| raw()).map_err(|_| unwritable("name"))?;
        ident.set_span(span);
        let text: TokenStream = checker.ty(entry).parse().map_err(|_| unwritable("type"))?;
        Ok(Param::new(ident, syn::parse2(qualified(text, &quote!(#ffi)))?))
    });
    let params = params.collect::<Result<Vec<_>>>()?;
    function.params.splice(0..0, params);
    function.attrs.push(parse_quote! {
        #[allow(clippy::too_many_arguments, reason = "those of the signature")]
    });
    Ok(())
}

/// A type as messages name it, with the paths of what is not in the author's scope.
fn qualified(ty: TokenStream, ffi: &TokenStream) -> TokenStream {
    const OURS: [&str; 8] =
        ["Buffer", "AnyBuffer", "InOut", "RestOperands", "RestResults", "Complex", "Pred", "Dict"];
    let token = |token: TokenTree| match token {
        TokenTree::Ident(ident) if OURS.iter().any(|name| ident == name) => quote!(#ffi::#ident),
        TokenTree::Ident(ident) if ident == "f16" || ident == "bf16" => quote!(#ffi::half::#ident),
        TokenTree::Ident(ident) if ident == "Option" => quote!(::core::option::Option),
        TokenTree::Group(group) => {
            Group::new(group.delimiter(), qualified(group.stream(), ffi)).to_token_stream()
        }
        other => other.into(),
    };
    ty.into_iter().flat_map(token).collect()
}
