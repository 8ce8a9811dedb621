//! Adds the parameters that a function leaves out because its `#[signature]` gives them.

use farcall_sig::signature::TypeSet;
use farcall_sig::{DType, Signature};
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Error, Result, parse_quote};

use crate::checker::{Checker, SignatureEntry};
use crate::declaration::Declaration;
use crate::function::{Function, Param};
use crate::generic::{Instances, has_rust_type};
use crate::options::HandlerOptions;

/// If a function only has parameters that the host provides (such as `&Context`; see [`Param::is_of_host`]),
/// adds a parameter for each operand, attribute and result, in the signature's order, before the existing
/// parameters.
pub(crate) fn complete(
    function: &mut Function,
    declaration: &Declaration,
    options: &HandlerOptions,
) -> Result<()> {
    let Some((signature, source)) = declaration.source() else { return Ok(()) };
    let instances = Instances::new(function, Some(signature))?;
    let (ffi, buffer) = (&options.ffi, options.buffer());
    let checker = Checker { signature, source, params: &function.params, instances: &instances, buffer };
    let has_tensors = !(signature.operands().is_empty() && signature.results().is_empty());
    // A function whose signature has no tensors may take all attributes as `&Attrs`.
    if !has_tensors || !function.params.iter().all(Param::is_of_host) {
        return Ok(());
    }
    expect_type_parameters(function, signature)?;
    let operands = signature.operands().iter().map(|o| (&o.name, SignatureEntry::Operand(o)));
    let attrs = signature.attrs().iter().map(|a| (&a.name, SignatureEntry::Attr(a)));
    let mut entries: Vec<_> = operands.chain(attrs).collect();
    entries.sort_by_key(|(name, _)| name.span.offset);
    let own = signature.results().iter().filter(|r| r.aliases.is_none());
    entries.extend(own.map(|r| (&r.name, SignatureEntry::Result(r))));
    let params = entries.into_iter().map(|(name, entry)| {
        let span = source.span(name.span);
        let unwritable = |what: &str| {
            let message = format!(
                "cannot generate a parameter for `{name}`, whose {what} has no Rust form: declare this \
                 function's parameters yourself"
            );
            Error::new(span, message)
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

/// Checks that the function has a type parameter for each type variable `T` of an operand, if all types in
/// the variable's set have Rust types. Without the type parameter, the generated parameters for tensors of
/// type `T` would be `&AnyBuffer`, although the author expects typed buffers.
fn expect_type_parameters(function: &Function, signature: &Signature) -> Result<()> {
    let own = function.type_params();
    let operands = signature.operands().iter().filter_map(|o| o.element.variable());
    let forgotten = operands.into_iter().find_map(|variable| match signature.type_set(&variable.text) {
        Some(TypeSet::OneOf(set)) if own.iter().all(|p| *p != variable.text.as_str()) => {
            set.iter().all(|dtype| has_rust_type(*dtype)).then_some((variable, set))
        }
        _ => None,
    });
    let Some((variable, set)) = forgotten else { return Ok(()) };
    let bound = if set.iter().all(|dtype| matches!(dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16))
    {
        "Float"
    } else {
        "Element"
    };
    let message = format!(
        "`{variable}` is a type of the signature, but not a type parameter: add `{variable}: {bound}`, or write this \
         function's parameters, which may be `&AnyBuffer`s"
    );
    Err(Error::new(function.name.span(), message))
}

/// Adds paths to those names in a type that may not be in scope in the author's code. [`Checker::ty`] writes
/// types as messages do, without paths.
fn qualified(ty: TokenStream, ffi: &TokenStream) -> TokenStream {
    const OURS: [&str; 10] = [
        "Buffer",
        "AnyBuffer",
        "GpuBuffer",
        "AnyGpuBuffer",
        "InOut",
        "RestOperands",
        "RestResults",
        "Complex",
        "Pred",
        "Dict",
    ];
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
