//! `#[vjp]`, `#[jvp]` and `#[transpose]`: the handlers of an op's derivatives, and the roles of those
//! handlers' parameters if names do not determine the roles.

use farcall_sig::nearest::nearest;
use farcall_sig::signature::{AttrOutline, Binding, BindingRole, Bindings, Part, TensorOutline};
use farcall_sig::{DType, Signature};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Path, Result, Token, parenthesized, token};

use crate::value::{descriptor_type, option};

/// A handler that is a derivative of the op, and the bindings of its parameters.
pub(crate) struct Derivative {
    pub(crate) part: Part,
    path: Path,
    written: Vec<WrittenBinding>,
    bindings: Bindings,
}

/// `tangent(x) = tx`, or `tangent(_) = t_` for all tangents.
struct WrittenBinding {
    role: Ident,
    of: Ident,
    parameter: Ident,
}

/// One item of an attribute: `backward = f`, `tangent(x) = tx` or `residuals(r: T[*])`.
enum Item {
    Op(Ident, Path),
    Binding(WrittenBinding),
    Residuals(Ident, TokenStream),
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> Result<Item> {
        let key = input.call(Ident::parse_any)?;
        if !input.peek(token::Paren) {
            input.parse::<Token![=]>()?;
            return Ok(Item::Op(key, input.parse()?));
        }
        let inside;
        parenthesized!(inside in input);
        if key == "residuals" {
            return Ok(Item::Residuals(key, inside.parse()?));
        }
        let of = inside.call(Ident::parse_any)?;
        if !inside.is_empty() {
            return Err(inside.error("expected one operand or result"));
        }
        input.parse::<Token![=]>()?;
        Ok(Item::Binding(WrittenBinding { role: key, of, parameter: input.call(Ident::parse_any)? }))
    }
}

/// Source of an op's residuals.
#[derive(Default)]
pub(crate) enum Residuals {
    /// The op has no residuals.
    #[default]
    None,
    /// A forward op.
    Op(Path),
    /// The op's own function, which returns the residuals in addition to the results.
    Own(Ident, TokenStream),
}

/// Parses `#[vjp(forward = f, backward = g, cotangent(y) = dz)]`: the source of residuals, and the backward
/// op.
pub(crate) fn vjp(attr: &syn::Attribute) -> Result<(Residuals, Derivative)> {
    let items = attr.parse_args_with(Punctuated::<Item, Token![,]>::parse_terminated)?;
    let mut own = None;
    let items = items.into_iter().filter_map(|item| match item {
        Item::Residuals(key, tokens) => {
            let before = own.replace((key.clone(), tokens));
            before.map(|_| Err(Error::new(key.span(), "given twice")))
        }
        other => Some(Ok(other)),
    });
    let items = items.collect::<Result<Vec<_>>>()?;
    let ([forward, backward], written) = sort(items, ["forward", "backward"], Part::Backward)?;
    let message =
        "say which op takes the cotangents: #[vjp(backward = f)], or #[vjp(forward = f, backward = g)]";
    let path = backward.ok_or_else(|| Error::new(attr.span(), message))?;
    let residuals = match (own, forward) {
        (Some((key, _)), Some(_)) => {
            let message = "residuals come from the forward op or from the op itself, not from both";
            return Err(Error::new(key.span(), message));
        }
        (Some((key, tokens)), None) => Residuals::Own(key, tokens),
        (None, Some(path)) => Residuals::Op(path),
        (None, None) => Residuals::None,
    };
    if let (Residuals::None, Some(residual)) =
        (&residuals, written.iter().find(|s| s.role == BindingRole::Residual.name()))
    {
        let message = "the op has no residuals: #[vjp(residuals(r: …), backward = g)], or of a forward op, \
                       #[vjp(forward = f, backward = g)]";
        return Err(Error::new(residual.role.span(), message));
    }
    Ok((residuals, Derivative { part: Part::Backward, path, written, bindings: Bindings::EMPTY }))
}

/// Parses `#[jvp(tangent = t, tangent(x) = tx)]`.
pub(crate) fn jvp(attr: &syn::Attribute) -> Result<Derivative> {
    let items = attr.parse_args_with(Punctuated::<Item, Token![,]>::parse_terminated)?;
    let ([tangent], written) = sort(items, ["tangent"], Part::Tangent)?;
    let message = "say which op takes the tangents: #[jvp(tangent = f)]";
    let path = tangent.ok_or_else(|| Error::new(attr.span(), message))?;
    Ok(Derivative { part: Part::Tangent, path, written, bindings: Bindings::EMPTY })
}

/// Parses `#[transpose(t, cotangent(y) = g)]`.
pub(crate) fn transpose(attr: &syn::Attribute) -> Result<Derivative> {
    let (path, items) = attr.parse_args_with(|input: ParseStream<'_>| {
        let path: Path = input.parse()?;
        if !input.is_empty() && !input.peek(Token![,]) {
            return Err(input.error("say which op is the transpose: #[transpose(f)]"));
        }
        input.parse::<Option<Token![,]>>()?;
        Ok((path, Punctuated::<Item, Token![,]>::parse_terminated(input)?))
    })?;
    let ([], written) = sort(items, [], Part::Transpose)?;
    Ok(Derivative { part: Part::Transpose, path, written, bindings: Bindings::EMPTY })
}

/// Sorts the items of an attribute: returns the op for each key, and the bindings of parameters.
fn sort<const N: usize>(
    items: impl IntoIterator<Item = Item>,
    keys: [&str; N],
    part: Part,
) -> Result<([Option<Path>; N], Vec<WrittenBinding>)> {
    let mut ops = [const { None }; N];
    let mut all = Vec::new();
    let expected = || {
        let keys = keys.iter().map(|key| format!("`{key} = …`"));
        let roles = part.roles().iter().map(|role| format!("`{}(…) = …`", role.name()));
        keys.chain(roles).collect::<Vec<_>>().join(", ")
    };
    for item in items {
        match item {
            Item::Op(key, path) => {
                let Some(i) = keys.iter().position(|k| key == k) else {
                    return Err(Error::new(key.span(), format!("expected one of {}", expected())));
                };
                if ops[i].replace(path).is_some() {
                    return Err(Error::new(key.span(), "given twice"));
                }
            }
            Item::Binding(written) => {
                if !part.roles().iter().any(|role| written.role == role.name()) {
                    return Err(Error::new(written.role.span(), format!("expected one of {}", expected())));
                }
                all.push(written);
            }
            Item::Residuals(key, _) => {
                return Err(Error::new(key.span(), format!("expected one of {}", expected())));
            }
        }
    }
    Ok((ops, all))
}

impl Derivative {
    /// Checks the bindings of parameters against the op's signature.
    pub(crate) fn check(&mut self, op: &Signature, non_differentiable: &[Ident]) -> Result<()> {
        self.expand(op, non_differentiable)?;
        for WrittenBinding { role, of, parameter } in &self.written {
            let (name, parameter_name) = (of.unraw().to_string(), parameter.unraw().to_string());
            let Some(known) = BindingRole::named(&role.to_string()) else { continue };
            let names = known.of(op);
            if known != BindingRole::Residual && !names.contains(&name.as_str()) {
                let what = match known {
                    BindingRole::Operand => "operand",
                    BindingRole::Result => "result",
                    _ => "operand or result",
                };
                let hint = match nearest(&name, names.iter().copied().filter(|n| n.len() > 1)).as_slice() {
                    [best, ..] if name.len() > 1 => format!("did you mean `{best}`?"),
                    _ => format!("known here: {}", names.join(", ")),
                };
                return Err(Error::new(of.span(), format!("the signature has no {what} `{name}`; {hint}")));
            }
            let binding = Binding { role: known, of: name, parameter: parameter_name };
            self.bindings.add(binding).map_err(|e| Error::new(parameter.span(), e))?;
        }
        Ok(())
    }

    /// Expands `tangent(_) = t_` to a binding for each operand and result that has a tangent, unless the
    /// tangent has an explicit binding.
    fn expand(&mut self, op: &Signature, non_differentiable: &[Ident]) -> Result<()> {
        let (all, mut written): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.written).into_iter().partition(|written| written.of == "_");
        let Some(WrittenBinding { role, of, parameter }) = all.first() else {
            self.written = written;
            return Ok(());
        };
        if *role != BindingRole::Tangent.name() {
            return Err(Error::new(of.span(), "`_` stands for all that have tangents: `tangent(_) = t_`"));
        }
        if let Some(second) = all.get(1) {
            return Err(Error::new(second.role.span(), "given twice"));
        }
        let text = parameter.to_string();
        let prefix = text.strip_suffix('_').filter(|prefix| !prefix.is_empty()).ok_or_else(|| {
            let message = format!("say what precedes each name: `tangent(_) = {text}_`");
            Error::new(parameter.span(), message)
        })?;
        let moves = |element| op.possible_types(element).iter().any(|t| t.is_float() || t.is_complex());
        let operands = op.operands().iter().filter(|o| non_differentiable.iter().all(|n| *n != o.name.text));
        let operands = operands.filter(|o| moves(&o.element)).map(|o| &o.name.text);
        let results = op.results().iter().filter(|r| moves(&r.element)).map(|r| &r.name.text);
        for name in operands.chain(results) {
            if written.iter().all(|written| {
                written.role != BindingRole::Tangent.name() || written.of.unraw() != name.as_str()
            }) {
                let parameter = Ident::new(&format!("{prefix}{name}"), parameter.span());
                written.push(WrittenBinding {
                    role: role.clone(),
                    of: Ident::new(name, of.span()),
                    parameter,
                });
            }
        }
        self.written = written;
        Ok(())
    }

    /// Returns the name of the handler, and the bindings of its parameters.
    pub(crate) fn value(&self) -> (TokenStream, String) {
        (name(&self.path), self.bindings.to_string())
    }

    /// Returns an expression of `farcall-ffi`'s type `Derivative`. The constant `THIS` in the expression
    /// describes the op that is differentiated. (Mentioning the type of that op's handler would count as a
    /// use of the type.)
    pub(crate) fn describe(&self, non_differentiable: &[String], forward: Option<&Path>) -> TokenStream {
        let part = self.part();
        let forward = option(forward.map(declared_op));
        let (derivative, written) = (declared_op(&self.path), self.bindings.iter().map(binding_value));
        quote! {
            __ffi::__private::Derivative {
                part: #part,
                op: THIS,
                forward: #forward,
                derivative: #derivative,
                non_differentiable: &[#(#non_differentiable),*],
                said: &[#(#written),*],
            }
        }
    }

    fn part(&self) -> TokenStream {
        let part = Ident::new(&format!("{:?}", self.part), Span::call_site());
        quote!(__ffi::__private::signature::Part::#part)
    }

    /// Returns an assertion that the handler is a valid derivative. The compiler reports a failure at the
    /// part of the author's code that does not fit.
    pub(crate) fn assertion(&self, described: &TokenStream, forward: Option<&Path>) -> TokenStream {
        let panic = |span| quote_spanned! { span=> ::core::panic!("{}", __reason.text.as_str()) };
        let part = quote!(__ffi::__private::signature::Part);
        let forward = forward.map(|path| {
            let panic = panic(path.span());
            quote! { #part::Forward => #panic, }
        });
        let written = self.written.iter().enumerate().map(|(i, written)| {
            let panic = panic(written.parameter.span());
            quote! { __ffi::__private::signature::At::Said(#i) => #panic, }
        });
        let otherwise = panic(self.path.span());
        quote! {
            const _: () = {
                #[allow(long_running_const_eval, reason = "ops may have many parameters")]
                const __REASON: ::core::option::Option<__ffi::__private::Reason> = #described.misfit();
                if let ::core::option::Option::Some(__reason) = &__REASON {
                    match __reason.part {
                        #forward
                        _ => match __reason.at { #(#written)* _ => #otherwise },
                    }
                }
            };
        }
    }

    /// Returns an assertion that the handler's transpose, if it has one, yields a reverse derivative.
    pub(crate) fn transposed(&self, described: &TokenStream) -> TokenStream {
        let path = &self.path;
        let panic = quote_spanned! { path.span()=> ::core::panic!("{}", __reason.text.as_str()) };
        quote! {
            const _: () = {
                #[allow(long_running_const_eval, reason = "ops may have many parameters")]
                const __REASON: ::core::option::Option<__ffi::__private::Reason> =
                    #described.untransposed(<#path as __ffi::__private::HandlerOp>::TRANSPOSE);
                if let ::core::option::Option::Some(__reason) = &__REASON {
                    #panic
                }
            };
        }
    }
}

fn binding_value(Binding { role, of, parameter }: &Binding) -> TokenStream {
    let role = Ident::new(&format!("{role:?}"), Span::call_site());
    quote! {
        __ffi::__private::signature::Said {
            role: __ffi::__private::signature::BindingRole::#role,
            of: #of,
            parameter: #parameter,
        }
    }
}

fn declared_op(path: &Path) -> TokenStream {
    quote_spanned! { path.span()=> <#path as __ffi::__private::HandlerOp>::DECLARED }
}

/// Returns the name of the handler that a path leads to.
pub(crate) fn name(path: &Path) -> TokenStream {
    let op = declared_op(path);
    quote!(#op.name)
}

/// Returns an expression for the outline of a signature: the parts that the compiler compares if the op has
/// derivatives or is a derivative.
pub(crate) fn outline(signature: Option<&Signature>) -> TokenStream {
    let tensor = |tensor: &TensorOutline<'_>| {
        let TensorOutline { name, derivative, ty, types, batch, any, dims, optional, variadic } = *tensor;
        let types = if types == DType::VARIANTS {
            quote!(__ffi::DType::VARIANTS)
        } else {
            let types = types.iter().map(|dtype| descriptor_type(*dtype));
            quote!([#(#types),*])
        };
        quote! {
            __ffi::__private::signature::TensorOutline {
                name: #name,
                derivative: #derivative,
                ty: #ty,
                types: &#types,
                batch: #batch,
                any: #any,
                dims: &[#(#dims),*],
                optional: #optional,
                variadic: #variadic,
            }
        }
    };
    let outline = signature.map(|signature| {
        signature.outline(|outline| {
            let operands = outline.operands.iter().map(tensor);
            let results = outline.results.iter().map(tensor);
            let attrs = outline.attrs.iter().map(|AttrOutline { name, ty, optional }| {
                quote!(__ffi::__private::signature::AttrOutline { name: #name, ty: #ty, optional: #optional })
            });
            let sums_batch = outline.sums_batch;
            quote! {
                &__ffi::__private::signature::Outline {
                    operands: &[#(#operands),*],
                    results: &[#(#results),*],
                    attrs: &[#(#attrs),*],
                    sums_batch: #sums_batch,
                }
            }
        })
    });
    option(outline)
}
