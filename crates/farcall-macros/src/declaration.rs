//! Attributes below a `#[handler]`, which declare the op: `#[signature]`, `#[vjp]`, `#[jvp]`, `#[transpose]`,
//! `#[nondiff]`, `#[shape]`, `#[batch]`, `#[samples]` and `#[lowers]`.
//!
//! A signature consists of Rust tokens (or one string). Its text is reassembled, with a table that maps bytes
//! to tokens, so that an error is reported at its token. Then the function's parameters are compared with the
//! signature: names and order here, types by constant assertions over `farcall_ffi::__private::Declared`,
//! since only the compiler can resolve types.
//!
//! **Invariant.** The descriptor contains a signature's printed form, not the author's text.

use farcall_sig::nearest::nearest;
use farcall_sig::signature::{
    Arity, Attr as SigAttr, ElementType, Name, Operand, Part, ResultDecl, Shape, Span as Bytes, TypeSet,
};
use farcall_sig::{AttrType, DType, ScalarType, Signature};
use proc_macro2::{Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, Lit, LitStr, Meta, Path, Result, Token, parse_quote};

use crate::derivative::{self, Derivative, Residuals};
use crate::function::{Function, Param};
use crate::generic::{Instances, descriptor_type};
use crate::residuals::{self, Own};

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
            let message = "a tag is a namespace and a name, as in \"my.tag\"";
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

/// Returns true for valid names of composites: parts of letters, digits, `_` and (except in the first part)
/// `$`, joined by dots.
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
            let by_function = declaration.lowers.as_ref().is_some_and(|lowers| lowers.function.is_some());
            let needs = |attr: &&Attribute| !(by_function && attr.path().is_ident("lowers"));
            return match ours.iter().find(needs) {
                Some(attr) => {
                    let of = match attr.path() {
                        path if path.is_ident("shape") => "a shape function needs",
                        path if path.is_ident("batch") && declaration.never_batched => "#[batch(none)] needs",
                        path if path.is_ident("batch") => "a batching function needs",
                        path if path.is_ident("samples") => "a function of sample calls needs",
                        path if path.is_ident("lowers") => "a lowering without a function needs",
                        _ => "derivatives need",
                    };
                    let message = format!("{of} a signature: add #[signature((…) -> (…))]");
                    Err(Error::new(attr.path().span(), message))
                }
                None => Ok(declaration),
            };
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
        let operands: Vec<&str> = signature.operands().iter().map(|o| o.name.text.as_str()).collect();
        if let Some(unknown) = names.iter().find(|name| !operands.contains(&name.to_string().as_str())) {
            let message = format!(
                "the signature has no operand `{unknown}`{}",
                hint(&unknown.to_string(), operands.iter().copied())
            );
            return Err(Error::new(unknown.span(), message));
        }
        let derivatives = [&declaration.backward, &declaration.tangent, &declaration.transpose];
        let needs_derivative = names.iter().find(|name| !zero_derivative.contains(&name.to_string()));
        if let (Some(name), true) = (needs_derivative, derivatives.iter().all(|d| d.is_none())) {
            let message =
                format!("nothing differentiates `{name}`: the op has no #[vjp], #[jvp] or #[transpose]");
            return Err(Error::new(name.span(), message));
        }
        declaration.non_differentiable = names.iter().map(ToString::to_string).collect();
        declaration.zero_derivative = zero_derivative;
        Ok(declaration)
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

    /// Returns the declaration of the forward op that the function also implements.
    pub(crate) fn of_forward(&self) -> Option<TokenStream> {
        let (signature, _) = &self.own_residuals.as_ref()?.forward;
        let (signature, shape) = (signature.to_string(), self.rule(self.shape.as_ref(), &SHAPE));
        let never_batched = self.never_batched;
        Some(quote! {
            __ffi::__private::Declaration {
                signature: #signature,
                shape: #shape,
                never_batched: #never_batched,
                ..__ffi::__private::Declaration::EMPTY
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
            __ffi::__private::Declaration {
                signature: #signature,
                vjp_forward: #forward,
                vjp_backward: #backward,
                jvp_tangent: #tangent,
                non_differentiable: #non_differentiable,
                shape: #shape,
                batch: #batch,
                never_batched: #never_batched,
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

    /// Returns the address of the function that returns sample calls.
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

    /// Returns the tag of the blocks that the op lowers, and the address of the function that lowers a block.
    fn lowering(&self) -> (TokenStream, TokenStream) {
        let Some(Lowers { tag, function }) = &self.lowers else { return (quote!(""), option(None)) };
        let address = function.as_ref().map(|path| {
            // Created once, so that both uses have the same span, even if a macro generated the path.
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

    /// Returns the address of a rule, or `None`.
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

    /// Compares the parameters with the signature. `has_stages` means that other functions get the same
    /// attributes, so this function need not have all of them.
    ///
    /// Returns assertions over the constants `SPECS` and `INSTANCES`.
    pub(crate) fn check(
        &self,
        function: &Function,
        instances: &Instances,
        has_stages: bool,
    ) -> Result<TokenStream> {
        let Some((signature, source)) = self.source() else { return Ok(TokenStream::new()) };
        let checker = Checker { signature, source, params: &function.params, instances };
        let mut errors = checker.missing();
        errors.extend(checker.disorder());
        if let Some(error) = errors.into_iter().reduce(|mut all, error| {
            all.combine(error);
            all
        }) {
            return Err(error);
        }
        let params = function.params.iter().enumerate().map(|(i, param)| checker.param(i, param));
        let attrs = if has_stages { Vec::new() } else { checker.attributes() };
        let derivatives = self.derivatives();
        Ok(quote! { #(#params)* #(#attrs)* #derivatives })
    }

    /// Returns assertions that the derivatives of the handler fit.
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

    /// Returns the transpose of the handler.
    pub(crate) fn transpose(&self) -> TokenStream {
        option(self.transpose.as_ref().map(|t| t.describe(&self.non_differentiable, None)))
    }
}

/// Names in `farcall-ffi` for a kind of rule.
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

// ---- Tokens --------------------------------------------------------------------------------

/// Source of a signature: the position of each token in the text, or one string for the whole signature.
pub(crate) struct Source {
    tokens: Vec<(usize, TokenStream)>,
    text: String,
    literal: Option<Span>,
}

/// Reads a signature, and appends residuals to its results.
fn read_signature(attr: &Attribute, residuals: Option<&TokenStream>) -> Result<(Signature, Source)> {
    let literal = |literal: &LitStr| match residuals {
        None => Source::literal(literal),
        Some(residuals) => {
            let tokens = literal.value().parse().unwrap_or_default();
            Source { literal: Some(literal.span()), ..Source::tokens(residuals::append(tokens, residuals)) }
        }
    };
    let source = match &attr.meta {
        Meta::List(list) => match (syn::parse2::<LitStr>(list.tokens.clone()), residuals) {
            (Ok(text), _) => literal(&text),
            (Err(_), Some(residuals)) => Source::tokens(residuals::append(list.tokens.clone(), residuals)),
            (Err(_), None) => Source::tokens(list.tokens.clone()),
        },
        Meta::NameValue(meta) => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => literal(text),
            other => return Err(Error::new(other.span(), "expected a signature in quotes")),
        },
        Meta::Path(path) => {
            return Err(Error::new(path.span(), "expected `#[signature((x: f32[*, n]) -> (y: f32[*, n]))]`"));
        }
    };
    match source.text.parse::<Signature>() {
        Ok(signature) => Ok((signature, source)),
        Err(error) if source.literal.is_some() => {
            Err(source.error(error.span, format!("{}\n{GUIDE}", error.render(&source.text))))
        }
        Err(error) => {
            let notes = error.notes.iter().map(|note| format!("\n= {note}"));
            let notes: String = notes.collect();
            Err(source.error(error.span, format!("{}{notes}\n= {GUIDE}", error.message)))
        }
    }
}

/// Reference to the page that describes signatures.
const GUIDE: &str = "see: farcall guide signatures";

impl Source {
    fn literal(literal: &LitStr) -> Source {
        Source { tokens: Vec::new(), text: literal.value(), literal: Some(literal.span()) }
    }

    fn tokens(tokens: TokenStream) -> Source {
        let mut source = Source { tokens: Vec::new(), text: String::new(), literal: None };
        source.push(tokens);
        source
    }

    fn push(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    let text = group.delimiter();
                    let (open, close) = match text {
                        proc_macro2::Delimiter::Parenthesis => ("(", ")"),
                        proc_macro2::Delimiter::Bracket => ("[", "]"),
                        proc_macro2::Delimiter::Brace => ("{", "}"),
                        proc_macro2::Delimiter::None => ("", ""),
                    };
                    self.token(open, group.span_open());
                    self.push(group.stream());
                    self.token(close, group.span_close());
                }
                TokenTree::Punct(punct) => {
                    self.token(&punct.as_char().to_string(), punct.span());
                    if punct.spacing() == Spacing::Joint {
                        // The next token follows without a space: `->`, `...`.
                        self.text.pop();
                    }
                }
                other => self.token(&other.to_string(), other.span()),
            }
        }
    }

    fn token(&mut self, text: &str, span: Span) {
        // A placeholder with the token's span. Errors need tokens that begin and end at token boundaries.
        let mark = Ident::new("_x", span);
        self.tokens.push((self.text.len(), quote!(#mark)));
        self.text.push_str(text);
        self.text.push(' ');
    }

    /// Returns an error at the tokens that these bytes come from.
    pub(crate) fn error(&self, bytes: Bytes, message: impl std::fmt::Display) -> Error {
        if let Some(span) = self.literal {
            return Error::new(span, message);
        }
        Error::new_spanned(self.tokens_of(bytes), message)
    }

    /// Returns the span of the tokens that these bytes come from.
    pub(crate) fn span(&self, bytes: Bytes) -> Span {
        self.literal.unwrap_or_else(|| self.tokens_of(bytes).span())
    }

    fn tokens_of(&self, bytes: Bytes) -> TokenStream {
        let end = bytes.offset + bytes.len.max(1);
        let first = self.tokens.iter().rposition(|(start, _)| *start <= bytes.offset).unwrap_or(0);
        let covered = self.tokens.iter().enumerate().filter(|(i, (start, _))| *i >= first && *start < end);
        covered.map(|(_, (_, token))| token.clone()).collect()
    }
}

/// Returns `; did you mean …?`, or nothing. Single-letter names are ignored, because they are all similar.
fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known = known.filter(|known| name.len() > 1 && known.len() > 1);
    match nearest(name, known).as_slice() {
        [best, ..] => format!("; did you mean `{best}`?"),
        [] => String::new(),
    }
}

// ---- Parameters ----------------------------------------------------------------------------

pub(crate) struct Checker<'a> {
    pub(crate) signature: &'a Signature,
    pub(crate) source: &'a Source,
    pub(crate) params: &'a [Param],
    pub(crate) instances: &'a Instances,
}

const ATTRIBUTE: &str = "attribute";

/// An entry of a signature.
#[derive(Clone, Copy)]
pub(crate) enum SignatureEntry<'a> {
    Operand(&'a Operand),
    Attr(&'a SigAttr),
    Result(&'a ResultDecl),
}

impl Checker<'_> {
    pub(crate) fn entry(&self, name: &str) -> Option<SignatureEntry<'_>> {
        let signature = self.signature;
        let operand = signature.operands().iter().find(|o| o.name.text == name).map(SignatureEntry::Operand);
        let attr = || signature.attrs().iter().find(|a| a.name.text == name).map(SignatureEntry::Attr);
        let result = || {
            signature
                .results()
                .iter()
                .find(|r| r.name.text == name && r.aliases.is_none())
                .map(SignatureEntry::Result)
        };
        operand.or_else(attr).or_else(result)
    }

    fn has_param(&self, name: &Name) -> bool {
        self.params.iter().any(|p| p.name == name.text)
    }

    /// Returns errors for operands and results without a parameter. Each error is at a parameter with a
    /// similar unknown name, if any, otherwise in the signature. Attributes are only reported if a parameter
    /// has a similar name; [`Checker::attributes`] reports the others.
    fn missing(&self) -> Vec<Error> {
        let operands = self.signature.operands().iter().map(|o| ("operand", &o.name));
        let own = self.signature.results().iter().filter(|r| r.aliases.is_none());
        let results = own.map(|r| ("result", &r.name));
        let attributes = self.signature.attrs().iter().map(|a| (ATTRIBUTE, &a.name));
        let all = operands.chain(results).chain(attributes);
        let mut missing: Vec<_> = all.filter(|(_, name)| !self.has_param(name)).collect();
        let mut errors = Vec::new();
        for param in self.params.iter().filter(|param| self.is_unknown(param)) {
            let names = missing.iter().map(|(_, name)| name.text.as_str());
            let Some(near) = nearest(&param.name, names).first().copied().map(str::to_owned) else {
                continue;
            };
            let message =
                format!("`{}` is not a parameter of the signature; did you mean `{near}`?", param.name);
            errors.push(Error::new(param.ident.span(), message));
            missing.retain(|(_, name)| name.text != near);
        }
        let missing = missing.iter().filter(|(what, _)| *what != ATTRIBUTE);
        errors.extend(
            missing.map(|(what, name)| self.source.error(name.span, self.has_no_parameter(what, name))),
        );
        errors
    }

    fn has_no_parameter(&self, what: &str, name: &Name) -> String {
        let others = self.params.iter().filter(|param| self.is_unknown(param)).map(|p| p.name.as_str());
        let hint = match hint(&name.text, others.clone()) {
            hint if !hint.is_empty() => hint,
            _ => match others.map(|name| format!("`{name}`")).collect::<Vec<_>>().as_slice() {
                [] => String::new(),
                [one] => format!("; its {one} is not in the signature"),
                several => format!("; its {} are not in the signature", several.join(", ")),
            },
        };
        format!("the function has no parameter for the {what} `{name}`{hint}")
    }

    /// Returns true for a parameter that is not in the signature, although it does not look like a parameter
    /// of the host.
    fn is_unknown(&self, param: &Param) -> bool {
        self.entry(&param.name).is_none() && !param.is_of_host()
    }

    /// Returns assertions for attributes without a parameter. The assertions hold if the function takes all
    /// attributes at once.
    fn attributes(&self) -> Vec<TokenStream> {
        let missing = self.signature.attrs().iter().filter(|a| !self.has_param(&a.name));
        let assertions = missing.map(|attr| {
            let message = self.has_no_parameter(ATTRIBUTE, &attr.name);
            quote_spanned! { self.source.span(attr.name.span)=>
                const _: () = ::core::assert!(__ffi::__private::has_all_attributes(&SPECS), #message);
            }
        });
        assertions.collect()
    }

    /// Reports the first operand and the first result that deviate from the signature's order.
    fn disorder(&self) -> Vec<Error> {
        let aliased = |operand: &str| {
            self.signature.results().iter().find(|r| r.aliases.as_ref().is_some_and(|a| a.text == operand))
        };
        let (mut operands, mut results) = (Vec::new(), Vec::new());
        for param in self.params {
            match self.entry(&param.name) {
                Some(SignatureEntry::Operand(operand)) => {
                    operands.push((&operand.name.text, param));
                    results.extend(aliased(&param.name).map(|result| (&result.name.text, param)));
                }
                Some(SignatureEntry::Result(result)) => results.push((&result.name.text, param)),
                Some(SignatureEntry::Attr(_)) | None => {}
            }
        }
        let expected_operands = self.signature.operands().iter().map(|o| &o.name.text);
        let expected_results = self.signature.results().iter().map(|r| &r.name.text);
        let first = |what: &str, found: &[(&String, &Param)], expected: &mut dyn Iterator<Item = &String>| {
            let (name, (_, param)) = expected.zip(found).find(|(name, (found, _))| name != found)?;
            let message =
                format!("the signature's {what} are in a different order: `{name}` is expected here");
            Some(Error::new(param.ident.span(), message))
        };
        [
            first("operands", &operands, &mut { expected_operands }),
            first("results", &results, &mut { expected_results }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns an assertion that a parameter's type matches the signature.
    fn param(&self, i: usize, param: &Param) -> TokenStream {
        let name = &param.name;
        let span = param.ty.span();
        let Some(entry) = self.entry(name) else {
            let signature = self.signature;
            let operands = signature.operands().iter().map(|o| o.name.text.as_str());
            let attrs = signature.attrs().iter().map(|a| a.name.text.as_str());
            let own = signature.results().iter().filter(|r| r.aliases.is_none());
            let all = operands.chain(attrs).chain(own.map(|r| r.name.text.as_str()));
            let aliased = signature.results().iter().find(|r| r.name.text == *name);
            let message = match aliased.and_then(|r| r.aliases.as_ref()) {
                Some(operand) => format!(
                    "the result `{name}` is in the buffer of `{operand}`: it is the parameter `{operand}: &mut InOut<…>`"
                ),
                None => format!("the signature has no `{name}`{}", hint(name, all)),
            };
            return quote_spanned! { param.ident.span()=>
                const _: () = ::core::assert!(__ffi::__private::is_context(&SPECS[#i]), #message);
            };
        };
        let (declared, what, ty) = self.declared(entry);
        let message = format!("the signature has {what}, so the type of `{name}` is {ty}");
        let fits = declared.iter().enumerate().map(|(k, declared)| {
            quote_spanned! { span=>
                __ffi::__private::fits(&INSTANCES[#k][#i], &__ffi::__private::Declared::#declared)
            }
        });
        quote_spanned! { span=> const _: () = ::core::assert!(#(#fits)&&*, #message); }
    }

    /// Returns a constructor of `Declared` for each instance, a description of the declaration, and the
    /// expected types.
    fn declared(&self, entry: SignatureEntry<'_>) -> (Vec<TokenStream>, String, String) {
        match entry {
            SignatureEntry::Operand(operand) => self.operand(operand),
            SignatureEntry::Attr(attr) => {
                let (declared, what, ty) = attribute(attr);
                (vec![declared; self.instances.count()], what, ty)
            }
            SignatureEntry::Result(result) => self.result(result),
        }
    }

    /// Returns the type of a parameter; the most specific one if several match.
    pub(crate) fn ty(&self, entry: SignatureEntry<'_>) -> String {
        let (_, _, types) = self.declared(entry);
        types.split('`').nth(1).unwrap_or_default().to_owned()
    }

    fn operand(&self, operand: &Operand) -> (Vec<TokenStream>, String, String) {
        let name = &operand.name.text;
        let in_out =
            self.signature.results().iter().any(|r| r.aliases.as_ref().is_some_and(|a| a.text == *name));
        let what = format!("the operand `{operand}`");
        let optional = operand.arity == Arity::Optional;
        let role = match operand.arity {
            Arity::Variadic => quote!(RestOperands),
            _ if in_out => quote!(InOut),
            _ => quote!(Operand),
        };
        let (declared, buffer) = self.buffer(&role, optional, &operand.element, &operand.shape);
        if operand.arity == Arity::Variadic {
            return (declared, what, rest("&RestOperands", buffer.as_deref()));
        }
        let what = if in_out { format!("{what} and a result in its buffer") } else { what };
        let ty = |buffer: &str| match (in_out, optional) {
            (true, _) => format!("`&mut InOut<{buffer}>`"),
            (false, true) => format!("`Option<&{buffer}>`"),
            (false, false) => format!("`&{buffer}`"),
        };
        (declared, what, one_of(buffer.as_deref(), self.if_generic(&operand.element, &operand.shape), ty))
    }

    /// Returns a type variable that the function could be generic over, if it stands for floating-point
    /// types, and the buffer type of the generic function.
    fn if_generic<'e>(&self, element: &'e ElementType, shape: &Shape) -> Option<(&'e str, String)> {
        let variable = element.variable().filter(|_| element.functions.is_empty())?;
        match self.signature.type_set(&variable.text)? {
            TypeSet::OneOf(set) if set.iter().all(|dtype| dtype.is_float()) => {
                Some((&variable.text, buffer_of(&variable.text, shape.rank())))
            }
            TypeSet::OneOf(_) | TypeSet::Any => None,
        }
    }

    fn result(&self, result: &ResultDecl) -> (Vec<TokenStream>, String, String) {
        let what = format!("the result `{result}`");
        let optional = result.condition.is_some();
        let role = if result.variadic { quote!(RestResults) } else { quote!(Result) };
        let (declared, buffer) = self.buffer(&role, optional, &result.element, &result.shape);
        if result.variadic {
            return (declared, what, rest("&mut RestResults", buffer.as_deref()));
        }
        let ty = |buffer: &str| match optional {
            true => format!("`Option<&mut {buffer}>`"),
            false => format!("`&mut {buffer}`"),
        };
        (declared, what, one_of(buffer.as_deref(), self.if_generic(&result.element, &result.shape), ty))
    }

    /// Returns a constructor of `Declared` for each instance, and the most specific buffer type.
    fn buffer(
        &self,
        role: &TokenStream,
        optional: bool,
        element: &ElementType,
        shape: &Shape,
    ) -> (Vec<TokenStream>, Option<String>) {
        let rank = shape.rank();
        let rank_value = option(rank.map(|rank| quote!(#rank)));
        let only =
            |types: &[DType]| types.first().copied().filter(|first| types.iter().all(|dtype| dtype == first));
        let mut all = Vec::new();
        let declared = (0..self.instances.count()).map(|instance| {
            let types = self.instances.possible(instance, self.signature, element);
            let dtype_value = option(only(&types).map(descriptor_type));
            all.extend(types);
            quote!(buffer(__ffi::Role::#role, #optional, #dtype_value, #rank_value))
        });
        let declared = declared.collect();
        let element = self.instances.in_words(element).or_else(|| only(&all).map(rust_name));
        let buffer = element.map(|element| buffer_of(&element, rank));
        (declared, buffer)
    }
}

/// Formats a parameter's type for messages: `&Buffer<f32>` if the buffer type is fixed; otherwise
/// `&AnyBuffer`, and the buffer type for a generic function if one is possible.
fn one_of(buffer: Option<&str>, generic: Option<(&str, String)>, ty: impl Fn(&str) -> String) -> String {
    let any = ty("AnyBuffer");
    match (buffer, generic) {
        (Some(buffer), _) => format!("{} or {any}", ty(buffer)),
        (None, Some((variable, buffer))) => {
            format!("{any}, or {} if the function is generic: `<{variable}: Float>`", ty(&buffer))
        }
        (None, None) => any,
    }
}

fn buffer_of(element: &str, rank: Option<usize>) -> String {
    match rank {
        Some(rank) => format!("Buffer<{element}, {rank}>"),
        None => format!("Buffer<{element}>"),
    }
}

/// Returns `&RestOperands<Buffer<f32>>` or `&RestOperands`.
fn rest(all: &str, buffer: Option<&str>) -> String {
    match buffer {
        Some(buffer) => format!("`{all}<{buffer}>` or `{all}`"),
        None => format!("`{all}`"),
    }
}

fn attribute(attr: &SigAttr) -> (TokenStream, String, String) {
    let expects: Vec<String> = match &attr.ty {
        AttrType::Scalar(scalar) if scalar.is_integer() => vec![field_name(*scalar), "integer".into()],
        AttrType::Scalar(scalar) => vec![field_name(*scalar)],
        AttrType::Array(ScalarType::U8) => vec!["[u8]".into(), "[u8] or string".into()],
        AttrType::Array(scalar) => vec![format!("[{}]", field_name(*scalar))],
        AttrType::Str => vec!["string".into(), "[u8] or string".into()],
        AttrType::Choice(_) => vec!["string".into()],
        AttrType::Dict => vec!["dictionary".into()],
    };
    let ty = match &attr.ty {
        AttrType::Scalar(scalar) => scalar.to_string(),
        AttrType::Array(scalar) => format!("&[{scalar}]"),
        AttrType::Str => "&str".into(),
        AttrType::Choice(_) => "&str".into(),
        AttrType::Dict => "&Dict".into(),
    };
    // An attribute with a default may still be missing if a host does not know the signature.
    let (optional, ty) = match (attr.optional, &attr.default) {
        (true, _) => (option(Some(quote!(true))), format!("`Option<{ty}>`")),
        (false, Some(_)) => (option(None), format!("`{ty}`")),
        (false, None) => (option(Some(quote!(false))), format!("`{ty}`")),
    };
    (quote!(attribute(#optional, &[#(#expects),*])), format!("the attribute `{attr}`"), ty)
}

pub(crate) fn option(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

/// Returns the name of a scalar type in messages about attributes: `s32` for `i32`.
fn field_name(scalar: ScalarType) -> String {
    match scalar {
        ScalarType::Bool => "pred".into(),
        other => other.name().replace('i', "s"),
    }
}

/// Returns the Rust type for an element type.
fn rust_name(dtype: DType) -> String {
    match dtype {
        DType::Pred => "Pred".into(),
        DType::C64 => "Complex<f32>".into(),
        DType::C128 => "Complex<f64>".into(),
        DType::S8 | DType::S16 | DType::S32 | DType::S64 => dtype.name().replace('s', "i"),
        other => other.name().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(tokens: &str) -> Source {
        Source::tokens(tokens.parse().unwrap())
    }

    #[test]
    fn source_text_parses_to_the_same_signature() {
        for text in [
            "(x: T[*, n], scale: T[n], eps: f32 = 1e-6) -> (y: T[*, n]) where T: f32",
            "(xs: T[*, n..., d]...) -> (y: T[*, sum(n), d]) where T: any; d: map",
            "(x: T[*, c, n], stride: i64 = -1) -> (y: T[*, (n+2-c)/stride+1]) where T: f32; n >= 1; *: map",
            "(x: T[*, n], m: pred[*]?, side: \"left\" | \"right\" = \"left\") -> (y: complex(T)[*]) where T: f32",
        ] {
            let source = source(text);
            let (again, expected) =
                (source.text.parse::<Signature>().unwrap(), text.parse::<Signature>().unwrap());
            assert_eq!(again.to_string(), expected.to_string());
        }
    }

    #[test]
    fn errors_are_mapped_to_tokens() {
        let source = source("(x: T[n]) -> (y: T[m])");
        let error = source.text.parse::<Signature>().unwrap_err();
        let text = &source.text[error.span.offset..][..error.span.len];
        assert_eq!(source.tokens_of(error.span).into_iter().count(), 1, "{text}");
    }
}
