//! `#[vjp]`, `#[jvp]` and `#[transpose]`: the handlers that are an op's derivatives, and what their parameters are where
//! names do not tell.

use farcall_sig::Signature;
use farcall_sig::nearest::nearest;
use farcall_sig::signature::{Binding, Bindings, Part, Role};
use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Path, Result, Token, parenthesized, token};

/// A handler that is a derivative.
pub(crate) struct Derivative {
    part: Part,
    path: Path,
    said: Vec<Said>,
    bindings: Bindings,
}

/// `tangent(x) = tx`
struct Said {
    role: Ident,
    of: Ident,
    parameter: Ident,
}

/// `backward = f`, `tangent(x) = tx`
enum Item {
    Op(Ident, Path),
    Said(Said),
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
        let of = inside.call(Ident::parse_any)?;
        if !inside.is_empty() {
            return Err(inside.error("expected one operand or result"));
        }
        input.parse::<Token![=]>()?;
        Ok(Item::Said(Said { role: key, of, parameter: input.call(Ident::parse_any)? }))
    }
}

/// `#[vjp(forward = f, backward = g, cotangent(y) = dz)]`: the forward op, if there is one, and the backward op.
pub(crate) fn vjp(attr: &Attribute) -> Result<(Option<Path>, Derivative)> {
    let items = attr.parse_args_with(Punctuated::<Item, Token![,]>::parse_terminated)?;
    let ([forward, backward], said) = sort(items, ["forward", "backward"], Part::Backward)?;
    let message =
        "say which op takes the cotangents: #[vjp(backward = f)], or #[vjp(forward = f, backward = g)]";
    let path = backward.ok_or_else(|| Error::new(attr.span(), message))?;
    if let (None, Some(residual)) = (&forward, said.iter().find(|s| s.role == Role::Residual.name())) {
        let message = "residuals come from a forward op: #[vjp(forward = f, backward = g)]";
        return Err(Error::new(residual.role.span(), message));
    }
    Ok((forward, Derivative { part: Part::Backward, path, said, bindings: Bindings::NONE }))
}

/// `#[jvp(tangent = t, tangent(x) = tx)]`
pub(crate) fn jvp(attr: &Attribute) -> Result<Derivative> {
    let items = attr.parse_args_with(Punctuated::<Item, Token![,]>::parse_terminated)?;
    let ([tangent], said) = sort(items, ["tangent"], Part::Tangent)?;
    let message = "say which op takes the tangents: #[jvp(tangent = f)]";
    let path = tangent.ok_or_else(|| Error::new(attr.span(), message))?;
    Ok(Derivative { part: Part::Tangent, path, said, bindings: Bindings::NONE })
}

/// `#[transpose(t, cotangent(y) = g)]`
pub(crate) fn transpose(attr: &Attribute) -> Result<Derivative> {
    let (path, items) = attr.parse_args_with(|input: ParseStream<'_>| {
        let path: Path = input.parse()?;
        if !input.is_empty() && !input.peek(Token![,]) {
            return Err(input.error("say which op is the transpose: #[transpose(f)]"));
        }
        input.parse::<Option<Token![,]>>()?;
        Ok((path, Punctuated::<Item, Token![,]>::parse_terminated(input)?))
    })?;
    let ([], said) = sort(items, [], Part::Transpose)?;
    Ok(Derivative { part: Part::Transpose, path, said, bindings: Bindings::NONE })
}

/// The ops by their keys, and what is said of parameters.
fn sort<const N: usize>(
    items: Punctuated<Item, Token![,]>,
    keys: [&str; N],
    part: Part,
) -> Result<([Option<Path>; N], Vec<Said>)> {
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
            Item::Said(said) => {
                if !part.roles().iter().any(|role| said.role == role.name()) {
                    return Err(Error::new(said.role.span(), format!("expected one of {}", expected())));
                }
                all.push(said);
            }
        }
    }
    Ok((ops, all))
}

impl Derivative {
    /// Compares what is said of parameters with the op's signature.
    pub(crate) fn check(&mut self, op: &Signature) -> Result<()> {
        for Said { role, of, parameter } in &self.said {
            let (name, parameter_name) = (of.unraw().to_string(), parameter.unraw().to_string());
            let Some(known) = Role::named(&role.to_string()) else { continue };
            let names = known.of(op);
            if known != Role::Residual && !names.contains(&name.as_str()) {
                let what = match known {
                    Role::Operand => "operand",
                    Role::Result => "result",
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

    /// The name of the handler, and what is said of its parameters.
    pub(crate) fn value(&self) -> (TokenStream, String) {
        (name(&self.path), self.bindings.to_string())
    }

    /// Assertions that the handler's parameters are those of such a derivative, by name. `has_forward`: there may be
    /// residuals, which nobody knows here.
    pub(crate) fn assertions(
        &self,
        op: &Signature,
        non_differentiable: &[&str],
        has_forward: bool,
    ) -> TokenStream {
        let path = &self.path;
        let last = path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        let derivative = quote_spanned! { path.span()=> __ffi::__private::derivative::<#path>() };
        let assert = |span, condition: TokenStream, message: &str| {
            quote_spanned! { span=> ::core::assert!(#derivative.#condition, #message); }
        };
        let mut all = TokenStream::new();
        for said in &self.said {
            let name = said.parameter.unraw().to_string();
            let message = format!("the signature of `{last}` has no operand or result `{name}`");
            all.extend(assert(said.parameter.span(), quote!(has_parameter(#name)), &message));
        }
        let expected = self.part.expected(op, non_differentiable, &self.bindings);
        for (name, message) in &expected.ambiguous {
            all.extend(assert(path.span(), quote!(lacks_operand(#name)), message));
        }
        for (name, message) in &expected.needed_operands {
            all.extend(assert(path.span(), quote!(has_operand(#name)), message));
        }
        for (name, message) in &expected.needed_results {
            all.extend(assert(path.span(), quote!(has_result(#name)), message));
        }
        let other = |what: &str, names: &[String], say: &str| {
            let names = names.join(", ");
            format!("`{last}` has {what} of another name than {names}: say what it is, as in `{say}`")
        };
        let [operands, results] = [&expected.operands, &expected.results];
        if !(has_forward && self.part == Part::Backward) {
            let say = format!("operand({}) = …", op.operands().first().map_or("x", |o| o.name.text.as_str()));
            let message = other("an operand", operands, &say);
            all.extend(assert(path.span(), quote!(operands_are_among(&[#(#operands),*])), &message));
        }
        let role = if self.part == Part::Tangent { Role::Tangent } else { Role::Cotangent };
        let message = other("a result", results, &format!("{}(…) = …", role.name()));
        all.extend(assert(path.span(), quote!(results_are_among(&[#(#results),*])), &message));
        // The first that fails ends the evaluation.
        quote! { const _: () = { #all }; }
    }
}

/// The name of the handler that a path leads to.
pub(crate) fn name(path: &Path) -> TokenStream {
    quote_spanned! { path.span()=> __ffi::__private::derivative::<#path>().name }
}

/// What a signature has, for the derivatives of other ops: names of operands and of results.
pub(crate) fn parameters(signature: Option<&Signature>) -> TokenStream {
    let is_declared = signature.is_some();
    let operands = signature.iter().flat_map(|s| s.operands()).map(|o| &o.name.text);
    let results = signature.iter().flat_map(|s| s.results()).map(|r| &r.name.text);
    quote! {
        const IS_DECLARED: bool = #is_declared;
        const OPERANDS: &'static [&'static str] = &[#(#operands),*];
        const RESULTS: &'static [&'static str] = &[#(#results),*];
    }
}
