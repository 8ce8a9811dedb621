//! Parses the function below an attribute, except for its body, which is passed through unchanged.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::token::Paren;
use syn::{Attribute, Error, GenericParam, Generics, LitStr, Result, ReturnType, Token, Type, Visibility};

/// A function that is neither async, unsafe, const nor a method. Its generic parameters are types only.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    fn_token: Token![fn],
    pub(crate) name: Ident,
    /// Type parameters, and the where clause.
    pub(crate) generics: Generics,
    parens: Paren,
    pub(crate) params: Vec<Param>,
    pub(crate) output: ReturnType,
    body: TokenStream,
}

pub(crate) struct Param {
    attrs: Vec<Attribute>,
    mutability: Option<Token![mut]>,
    pub(crate) ident: Ident,
    /// Name of the attribute, operand or result that the parameter stands for.
    pub(crate) name: String,
    pub(crate) ty: Type,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Function> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        refuse_qualifiers(input)?;
        if !input.peek(Token![fn]) {
            return Err(input.error("expected a function"));
        }
        let fn_token = input.parse()?;
        let name: Ident = input.parse()?;
        let mut generics: Generics = input.parse()?;
        if let Some(other) = generics.params.iter().find(|p| !matches!(p, GenericParam::Type(_))) {
            return Err(Error::new(other.span(), "a handler can only be generic over element types"));
        }
        let list;
        let parens = syn::parenthesized!(list in input);
        let mut params = Vec::new();
        while !list.is_empty() {
            params.push(list.parse::<Param>()?);
            if list.is_empty() {
                break;
            }
            list.parse::<Token![,]>()?;
        }
        let output = input.parse()?;
        generics.where_clause = input.parse()?;
        match input.parse()? {
            TokenTree::Group(group) if input.is_empty() => {
                let body = group.into_token_stream();
                Ok(Function { attrs, vis, fn_token, name, generics, parens, params, output, body })
            }
            other => Err(Error::new(other.span(), "expected the function's body")),
        }
    }
}

fn refuse_qualifiers(input: ParseStream<'_>) -> Result<()> {
    let message = if input.peek(Token![async]) {
        "a handler cannot be async: its work must be done when it returns"
    } else if input.peek(Token![const]) {
        "a handler cannot be a const fn"
    } else if input.peek(Token![unsafe]) {
        "a handler cannot be unsafe: its operands and results are checked before it is called"
    } else if input.peek(Token![extern]) {
        "a handler is a plain Rust function; its C entry point is generated"
    } else {
        return Ok(());
    };
    Err(input.error(message))
}

impl Parse for Param {
    fn parse(input: ParseStream<'_>) -> Result<Param> {
        let (named, attrs): (Vec<_>, Vec<_>) =
            input.call(Attribute::parse_outer)?.into_iter().partition(|attr| attr.path().is_ident("attr"));
        if input.peek(Token![self]) || (input.peek(Token![&]) && input.peek2(Token![self])) {
            return Err(input.error("a handler cannot be a method"));
        }
        let mutability = input.parse()?;
        if input.peek(Token![_]) || !input.peek(Ident::peek_any) {
            return Err(input.error("a handler's parameter needs a plain name: programs and messages use it"));
        }
        let ident: Ident = input.parse()?;
        if !input.peek(Token![:]) {
            return Err(input.error("a handler's parameter needs a plain name: programs and messages use it"));
        }
        input.parse::<Token![:]>()?;
        let ty = input.parse()?;
        let mut name = ident.unraw().to_string();
        for attr in named {
            name = attr_name(&attr)?;
        }
        Ok(Param { attrs, mutability, ident, name, ty })
    }
}

/// Returns the name in `#[attr(name = "…")]`.
pub(crate) fn attr_name(attr: &Attribute) -> Result<String> {
    let mut name = None;
    attr.parse_nested_meta(|meta| {
        if !meta.path.is_ident("name") {
            return Err(meta.error("expected `name = \"…\"`"));
        }
        let literal: LitStr = meta.value()?.parse()?;
        name = Some(literal.value());
        Ok(())
    })?;
    name.ok_or_else(|| Error::new(attr.span(), "expected `#[attr(name = \"…\")]`"))
}

impl Param {
    /// Creates a parameter that the author did not write.
    pub(crate) fn new(ident: Ident, ty: Type) -> Param {
        Param { attrs: Vec::new(), mutability: None, name: ident.unraw().to_string(), ident, ty }
    }

    /// Returns true if the type's name shows that the parameter is not part of the op's signature: the host
    /// provides it, or it stands for all attributes (`&Attrs`).
    pub(crate) fn is_of_host(&self) -> bool {
        const OURS: [&str; 6] = ["Context", "Attrs", "State", "Prepared", "Initialized", "CudaStream"];
        let Type::Reference(reference) = &self.ty else { return false };
        let Type::Path(path) = &*reference.elem else { return false };
        path.path.segments.last().is_some_and(|last| OURS.iter().any(|name| last.ident == name))
    }
}

impl Function {
    /// Returns the doc comment, without the space that follows `///`.
    pub(crate) fn doc(&self) -> String {
        let lines = self.attrs.iter().filter_map(|attr| match &attr.meta {
            syn::Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        });
        let lines: Vec<_> = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned()).collect();
        lines.join("\n").trim().to_owned()
    }

    /// Returns true if the author allows the function to be unused.
    pub(crate) fn may_be_unused(&self) -> bool {
        let says_so = |attr: &&Attribute| ["allow", "expect"].iter().any(|name| attr.path().is_ident(name));
        self.attrs.iter().filter(says_so).any(|attr| {
            let mut is_dead_code = false;
            let _ = attr.parse_nested_meta(|meta| {
                is_dead_code |= meta.path.is_ident("dead_code") || meta.path.is_ident("unused");
                meta.value().and_then(|value| value.parse::<LitStr>()).map(drop).or(Ok(()))
            });
            is_dead_code
        })
    }

    /// Returns the names of the type parameters.
    pub(crate) fn type_params(&self) -> Vec<&Ident> {
        self.generics.type_params().map(|param| &param.ident).collect()
    }

    /// Returns the location of the return type, or of the function's name if there is no return type.
    pub(crate) fn output_span(&self) -> Span {
        match &self.output {
            ReturnType::Default => self.name.span(),
            ReturnType::Type(_, ty) => ty.span(),
        }
    }

    /// Converts a call of the function to an expression of type `Result`. A function that returns nothing
    /// cannot fail.
    pub(crate) fn result_of(&self, call: TokenStream) -> TokenStream {
        match self.output {
            ReturnType::Default => quote! { { #call; ::core::result::Result::Ok(()) } },
            ReturnType::Type(..) => call,
        }
    }
}

/// The original function, without the attributes of this crate.
impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Function { attrs, vis, fn_token, name, generics, parens, params, output, body } = self;
        let where_clause = &generics.where_clause;
        let params = params.iter().map(|Param { attrs, mutability, ident, ty, .. }| {
            quote! { #(#attrs)* #mutability #ident: #ty }
        });
        tokens.extend(quote! { #(#attrs)* #vis #fn_token #name #generics });
        // Errors about a missing return type point to this span.
        parens.surround(tokens, |tokens| tokens.extend(quote! { #(#params),* }));
        tokens.extend(quote! { #output #where_clause #body });
    }
}
