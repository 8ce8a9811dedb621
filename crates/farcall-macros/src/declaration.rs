//! Attributes below a `#[handler]`, which declare the op: `#[signature]`, `#[vjp]`, `#[jvp]`, `#[transpose]`,
//! `#[nondiff]`, `#[shape]`, `#[batch]`, `#[samples]` and `#[lowers]`.
//!
//! `source` reads the signature, and `checker` compares the function's parameters with it.
//!
//! **Invariant.** The descriptor contains a signature's printed form, not the author's text.

use farcall_sig::Signature;
use farcall_sig::signature::{Arity, Part};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, LitStr, Path, Result, Token, parse_quote};

use crate::checker::{Checker, hint};
use crate::derivative::{self, Derivative, Residuals};
use crate::function::Function;
use crate::generic::Instances;
use crate::options::HandlerOptions;
use crate::residuals::Own;
use crate::source::{Source, read_signature};
use crate::value::option;

/// The declarations of an op.
#[derive(Default)]
pub(crate) struct Declaration {
    signature: Option<(Signature, Source)>,
    forward: Option<Path>,
    /// Residuals that the function returns in addition to the results of the signature.
    own_residuals: Option<OwnResiduals>,
    backward: Option<Derivative>,
    tangent: Option<Derivative>,
    transpose: Option<Derivative>,
    non_differentiable: Vec<String>,
    /// Non-differentiable operands with respect to which the derivative is zero.
    zero_derivative: Vec<String>,
    shape: Option<Path>,
    batch: Option<Path>,
    never_batched: bool,
    samples: Option<Path>,
    lowers: Option<Lowers>,
}

/// `x` or `x = zero` in `#[nondiff(…)]`.
struct NonDiff {
    name: Ident,
    is_zero: bool,
}

impl Parse for NonDiff {
    fn parse(input: ParseStream<'_>) -> Result<NonDiff> {
        let name: Ident = input.parse()?;
        let is_zero = input.parse::<Option<Token![=]>>()?.is_some();
        if is_zero {
            let form: Ident = input.parse()?;
            if form != "zero" {
                let message = format!("expected `{name}`, or `{name} = zero` if its derivative is zero");
                return Err(Error::new(form.span(), message));
            }
        }
        Ok(NonDiff { name, is_zero })
    }
}

/// `residuals(r: T[*])` in `#[vjp(…)]`.
struct OwnResiduals {
    key: Ident,
    /// Signature of the function, which is also the signature of the forward op.
    forward: (Signature, Source),
}

/// `#[lowers("tag", with = function)]`.
struct Lowers {
    tag: LitStr,
    function: Option<Path>,
}

impl Parse for Lowers {
    fn parse(input: ParseStream<'_>) -> Result<Lowers> {
        let tag: LitStr = input.parse().map_err(|e| {
            Error::new(
                e.span(),
                "say which blocks: #[lowers(\"my.tag\")], or #[lowers(\"my.tag\", with = f)]",
            )
        })?;
        if !is_tag(&tag.value()) {
            let message = "a tag must be a namespace and a name, as in \"my.tag\"";
            return Err(Error::new(tag.span(), message));
        }
        let mut function = None;
        if input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            let key: Ident = input.parse()?;
            if key != "with" {
                return Err(Error::new(key.span(), "expected `with = …`"));
            }
            input.parse::<Token![=]>()?;
            function = Some(input.parse()?);
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(Lowers { tag, function })
    }
}

/// Returns true if `tag` is a valid name of a composite: two or more parts, joined by dots, of letters,
/// digits, `_` and (except in the first part) `$`. The first part begins with a letter.
fn is_tag(tag: &str) -> bool {
    let (first, rest) = tag.split_once('.').unwrap_or((tag, ""));
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let first_ok = first.starts_with(|c: char| c.is_ascii_alphabetic()) && first.chars().all(word);
    let part = |part: &str| !part.is_empty() && part.chars().all(|c| word(c) || c == '$');
    first_ok && rest.split('.').all(part)
}

impl Declaration {
    /// Removes the declarations from the function's attributes, and returns them.
    pub(crate) fn take(function: &mut Function) -> Result<Declaration> {
        let (ours, others) =
            std::mem::take(&mut function.attrs).into_iter().partition::<Vec<_>, _>(is_declaration);
        function.attrs = others;
        let mut declaration = Declaration::default();
        let mut seen = Vec::new();
        let (mut names, mut zero_derivative) = (Vec::new(), Vec::new());
        let mut residuals = Residuals::None;
        for attr in &ours {
            if seen.contains(&attr.path().get_ident()) {
                return Err(Error::new(attr.path().span(), "given twice"));
            }
            seen.push(attr.path().get_ident());
            if attr.path().is_ident("signature") {
                declaration.signature = Some(read_signature(attr, None)?);
            } else if attr.path().is_ident("vjp") {
                let backward;
                (residuals, backward) = derivative::vjp(attr)?;
                declaration.backward = Some(backward);
            } else if attr.path().is_ident("jvp") {
                declaration.tangent = Some(derivative::jvp(attr)?);
            } else if attr.path().is_ident("transpose") {
                declaration.transpose = Some(derivative::transpose(attr)?);
            } else if attr.path().is_ident("shape") {
                declaration.shape = Some(attr.parse_args()?);
            } else if attr.path().is_ident("batch") {
                let function: Path = attr.parse_args()?;
                declaration.never_batched = function.is_ident("none");
                declaration.batch = Some(function).filter(|_| !declaration.never_batched);
            } else if attr.path().is_ident("samples") {
                declaration.samples = Some(attr.parse_args()?);
            } else if attr.path().is_ident("lowers") {
                declaration.lowers = Some(attr.parse_args()?);
            } else {
                let parser = Punctuated::<NonDiff, Token![,]>::parse_terminated;
                for NonDiff { name, is_zero } in attr.parse_args_with(parser)? {
                    if names.contains(&name) {
                        return Err(Error::new(name.span(), "given twice"));
                    }
                    zero_derivative.extend(is_zero.then(|| name.to_string()));
                    names.push(name);
                }
            }
        }
        let Some((signature, _)) = &declaration.signature else {
            declaration.check_without_signature(&ours)?;
            return Ok(declaration);
        };
        match residuals {
            Residuals::None => {}
            Residuals::Op(path) => declaration.forward = Some(path),
            Residuals::Own(key, tokens) => {
                if let Some(path) = &declaration.batch {
                    let message = "a batching function does not describe residuals: write a forward op, #[vjp(forward = f, …)]";
                    return Err(Error::new(path.span(), message));
                }
                let attr = ours.iter().find(|attr| attr.path().is_ident("signature"));
                declaration.forward = Some(parse_quote!(__Forward));
                if let Some(attr) = attr {
                    let forward = read_signature(attr, Some(&tokens))?;
                    declaration.own_residuals = Some(OwnResiduals { key, forward });
                }
            }
        }
        declaration.check_shape()?;
        let derivatives = [&mut declaration.backward, &mut declaration.tangent, &mut declaration.transpose];
        for derivative in derivatives.into_iter().flatten() {
            derivative.check(signature, &names)?;
        }
        declaration.check_non_differentiable(&names, &zero_derivative)?;
        declaration.non_differentiable = names.iter().map(ToString::to_string).collect();
        declaration.zero_derivative = zero_derivative;
        Ok(declaration)
    }

    /// Checks that no attribute needs the signature, which is missing.
    fn check_without_signature(&self, attrs: &[Attribute]) -> Result<()> {
        let by_function = self.lowers.as_ref().is_some_and(|lowers| lowers.function.is_some());
        let needs = |attr: &&Attribute| !(by_function && attr.path().is_ident("lowers"));
        let Some(attr) = attrs.iter().find(needs) else { return Ok(()) };
        let of = match attr.path() {
            path if path.is_ident("shape") => "a shape function needs",
            path if path.is_ident("batch") && self.never_batched => "#[batch(none)] needs",
            path if path.is_ident("batch") => "a batching function needs",
            path if path.is_ident("samples") => "a function of sample calls needs",
            path if path.is_ident("lowers") => "a lowering without a function needs",
            _ => "derivatives need",
        };
        let message = format!("{of} a signature: add #[signature((…) -> (…))]");
        Err(Error::new(attr.path().span(), message))
    }

    /// Checks the operands that `#[nondiff]` names. `zero_derivative` has those declared with `= zero`.
    fn check_non_differentiable(&self, names: &[Ident], zero_derivative: &[String]) -> Result<()> {
        let Some((signature, _)) = &self.signature else { return Ok(()) };
        let operands: Vec<&str> = signature.operands().iter().map(|o| o.name.text.as_str()).collect();
        if let Some(unknown) = names.iter().find(|name| !operands.contains(&name.to_string().as_str())) {
            let message = format!(
                "the signature has no operand `{unknown}`{}",
                hint(&unknown.to_string(), operands.iter().copied())
            );
            return Err(Error::new(unknown.span(), message));
        }
        let derivatives = [&self.backward, &self.tangent, &self.transpose];
        let needs_derivative = names.iter().find(|name| !zero_derivative.contains(&name.to_string()));
        if let (Some(name), true) = (needs_derivative, derivatives.iter().all(|d| d.is_none())) {
            let message =
                format!("nothing differentiates `{name}`: the op has no #[vjp], #[jvp] or #[transpose]");
            return Err(Error::new(name.span(), message));
        }
        Ok(())
    }

    /// Checks that a shape function is given if and only if the signature needs one.
    fn check_shape(&self) -> Result<()> {
        let Some((signature, source)) = &self.signature else { return Ok(()) };
        match (signature.needs_shape_function(), &self.shape) {
            (Some(result), None) => {
                let bytes = result.shape.any.unwrap_or(result.shape.span);
                let name = &result.name;
                let said =
                    signature.results().iter().filter(|r| r.shape.any.is_some() && r.aliases.is_none());
                let (returned, each) = match said.count() {
                    1 if !result.variadic => ("Vec<i64>", ""),
                    _ => ("Vec<Vec<i64>>", ", which returns the dimensions of all such results in order"),
                };
                let message = format!(
                    "the dimensions of `{name}` need a shape function: add #[shape(f)], with \
                     `fn f(call: &ShapeCall<'_>) -> Result<{returned}>`{each}"
                );
                Err(source.error(bytes, message))
            }
            (None, Some(path)) => {
                let message = "no result needs a shape function: a result that does is written `y: T[..]` and aliases no operand";
                Err(Error::new(path.span(), message))
            }
            _ => Ok(()),
        }
    }

    /// Returns the signature of the function, including residuals, and its source.
    pub(crate) fn source(&self) -> Option<(&Signature, &Source)> {
        let own = self.own_residuals.as_ref().map(|own| &own.forward);
        own.or(self.signature.as_ref()).map(|(signature, source)| (signature, source))
    }

    /// Returns the residuals that the function returns, if any.
    pub(crate) fn own_residuals(&self) -> Option<Own<'_>> {
        let (op, _) = self.signature.as_ref()?;
        let OwnResiduals { key, forward: (forward, source) } = self.own_residuals.as_ref()?;
        Some(Own { key, op, forward, source })
    }

    /// Returns the declaration of the forward op that the function also implements, if it returns residuals.
    pub(crate) fn of_forward(&self) -> Option<TokenStream> {
        let (signature, _) = &self.own_residuals.as_ref()?.forward;
        let (signature, shape) = (signature.to_string(), self.rule(self.shape.as_ref(), &SHAPE));
        let never_batched = self.never_batched;
        Some(quote! {
            __ffi::__private::OpDeclarations {
                signature: #signature,
                shape: #shape,
                never_batched: #never_batched,
                generated: true,
                ..__ffi::__private::OpDeclarations::EMPTY
            }
        })
    }

    /// Returns the declared signature of the op.
    pub(crate) fn signature(&self) -> Option<&Signature> {
        self.signature.as_ref().map(|(signature, _)| signature)
    }

    /// Returns the declaration as an expression for the descriptor.
    pub(crate) fn value(&self) -> TokenStream {
        let forward = self.forward.as_ref().map_or_else(|| quote!(""), derivative::name);
        let signature = self.signature.as_ref().map(|(s, _)| s.to_string()).unwrap_or_default();
        let derivatives = [&self.backward, &self.tangent, &self.transpose];
        let [backward, tangent, transpose] =
            derivatives.map(|d| d.as_ref().map_or_else(|| (quote!(""), String::new()), Derivative::value));
        let (backward, vjp_bindings) = backward;
        let (tangent, jvp_bindings) = tangent;
        let (transpose, transpose_bindings) = transpose;
        let non_differentiable = self.non_differentiable.join(",");
        let zero_derivative = self.zero_derivative.join(",");
        let shape = self.rule(self.shape.as_ref(), &SHAPE);
        let batch = self.rule(self.batch.as_ref(), &BATCH);
        let never_batched = self.never_batched;
        let (lowers, lower) = self.lowering();
        let samples = self.samples();
        quote! {
            __ffi::__private::OpDeclarations {
                signature: #signature,
                vjp_forward: #forward,
                vjp_backward: #backward,
                jvp_tangent: #tangent,
                non_differentiable: #non_differentiable,
                shape: #shape,
                batch: #batch,
                never_batched: #never_batched,
                generated: false,
                lowers: #lowers,
                lower: #lower,
                transpose: #transpose,
                vjp_bindings: #vjp_bindings,
                jvp_bindings: #jvp_bindings,
                transpose_bindings: #transpose_bindings,
                zero_derivative: #zero_derivative,
                samples: #samples,
            }
        }
    }

    /// Returns an expression for the address of the function that returns sample calls, or for `None`.
    fn samples(&self) -> TokenStream {
        option(self.samples.as_ref().map(|path| {
            let call = quote_spanned! { path.span()=>
                let __function: fn() -> ::std::vec::Vec<__ffi::Sample> = #path;
                __function()
            };
            quote! {{
                enum __Samples {}

                impl __ffi::__private::Samples for __Samples {
                    fn samples() -> ::std::vec::Vec<__ffi::Sample> {
                        #call
                    }
                }

                __ffi::__private::samples_rule::<__Samples>
            }}
        }))
    }

    /// Returns expressions for the tag of the blocks that the op lowers, and for the address of the function
    /// that lowers a block.
    fn lowering(&self) -> (TokenStream, TokenStream) {
        let Some(Lowers { tag, function }) = &self.lowers else { return (quote!(""), option(None)) };
        let address = function.as_ref().map(|path| {
            // The identifier is created once, so that both its uses have the same span, even if a macro
            // generated the path.
            let block = Ident::new("__block", Span::call_site());
            let call = quote_spanned! { path.span()=>
                let __function: fn(&__ffi::Block<'_>) -> __ffi::Result<__ffi::Lowered> = #path;
                __function(#block)
            };
            quote! {{
                enum __Lower {}

                impl __ffi::__private::LowerRule for __Lower {
                    fn lower(#block: &__ffi::Block<'_>) -> __ffi::Result<__ffi::Lowered> {
                        #call
                    }
                }

                __ffi::__private::lower_rule::<__Lower>
            }}
        });
        (quote!(#tag), option(address))
    }

    /// Returns an expression for the address of the shape or batching function at `path`, or for `None`.
    fn rule(&self, path: Option<&Path>, rule: &RuleKind) -> TokenStream {
        let (Some(path), Some((signature, _))) = (path, &self.signature) else { return option(None) };
        let operands = signature.operands();
        let names = operands.iter().map(|o| &o.name.text);
        let variadic = operands.iter().filter(|o| o.arity == Arity::Variadic).count();
        let [implements, method, call, entry] = [rule.implements, rule.method, rule.call, rule.entry]
            .map(|name| Ident::new(name, Span::call_site()));
        let (returns, finish): (TokenStream, TokenStream) = if rule.method == "shapes" {
            (
                quote!(::std::vec::Vec<::std::vec::Vec<i64>>),
                quote_spanned! { path.span()=> .map(__ffi::__private::Shapes::into_shapes) },
            )
        } else {
            (quote!(__ffi::Batch), quote!())
        };
        let returned = if rule.method == "shapes" { quote!(_) } else { returns.clone() };
        let function = quote_spanned! { path.span()=>
            let __function: fn(&__ffi::#call<'_>) -> __ffi::Result<#returned> = #path;
            __function(__call)#finish
        };
        let address = quote! {{
            enum __Rule {}

            impl __ffi::__private::Rule for __Rule {
                const OPERANDS: &'static [&'static str] = &[#(#names),*];
                const VARIADIC: ::std::primitive::usize = #variadic;
            }

            impl __ffi::__private::#implements for __Rule {
                fn #method(__call: &__ffi::#call<'_>) -> __ffi::Result<#returns> {
                    #function
                }
            }

            __ffi::__private::#entry::<__Rule>
        }};
        option(Some(address))
    }

    /// Compares the parameters with the signature. If the handler has other stages, their functions get the same
    /// attributes, so this function need not have a parameter for each attribute.
    ///
    /// Returns assertions over the constants `SPECS` and `INSTANCES`.
    pub(crate) fn check(
        &self,
        function: &Function,
        instances: &Instances,
        options: &HandlerOptions,
    ) -> Result<TokenStream> {
        let Some((signature, source)) = self.source() else { return Ok(TokenStream::new()) };
        let buffer = options.buffer();
        let checker = Checker { signature, source, params: &function.params, instances, buffer };
        let mut errors = checker.missing();
        errors.extend(checker.disorder());
        if let Some(error) = errors.into_iter().reduce(|mut all, error| {
            all.combine(error);
            all
        }) {
            return Err(error);
        }
        let params = function.params.iter().enumerate().map(|(i, param)| checker.param(i, param));
        let attrs = if options.has_stages() { Vec::new() } else { checker.attributes() };
        let derivatives = self.derivatives();
        Ok(quote! { #(#params)* #(#attrs)* #derivatives })
    }

    /// Returns assertions that the derivatives of the handler fit the handler's op.
    fn derivatives(&self) -> TokenStream {
        let mut all = TokenStream::new();
        for derivative in [&self.backward, &self.tangent, &self.transpose].into_iter().flatten() {
            let forward = self.forward.as_ref().filter(|_| derivative.part == Part::Backward);
            let described = derivative.describe(&self.non_differentiable, forward);
            all.extend(derivative.assertion(&described, forward));
            if derivative.part == Part::Tangent && self.backward.is_none() {
                all.extend(derivative.transposed(&described));
            }
        }
        all
    }

    /// Returns an expression for the description of the handler's transpose, or for `None`.
    pub(crate) fn transpose(&self) -> TokenStream {
        option(self.transpose.as_ref().map(|t| t.describe(&self.non_differentiable, None)))
    }
}

/// Names in `farcall-ffi` for a kind of rule: a shape function or a batching function.
struct RuleKind {
    implements: &'static str,
    method: &'static str,
    call: &'static str,
    entry: &'static str,
}

const SHAPE: RuleKind =
    RuleKind { implements: "ShapeRule", method: "shapes", call: "ShapeCall", entry: "shape_rule" };
const BATCH: RuleKind =
    RuleKind { implements: "BatchRule", method: "batch", call: "BatchCall", entry: "batch_rule" };

/// Reports a declaration attribute that does not belong to a handler.
pub(crate) fn misplaced(name: &str, item: TokenStream) -> TokenStream {
    let message = format!("#[{name}] belongs below the #[handler(…)] of a function");
    let error = Error::new(Span::call_site(), message).into_compile_error();
    quote! { #error #item }
}

/// Returns true for an attribute that belongs to a handler.
pub(crate) fn is_declaration(attr: &Attribute) -> bool {
    NAMES.iter().any(|name| attr.path().is_ident(name))
}

/// Attributes that belong to a handler.
const NAMES: [&str; 9] =
    ["signature", "vjp", "jvp", "transpose", "nondiff", "shape", "batch", "samples", "lowers"];
