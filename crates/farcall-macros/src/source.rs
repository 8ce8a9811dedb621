//! The tokens of a signature, and the positions of errors in them.
//!
//! A signature consists of Rust tokens (or one string). Its text is reassembled, with a table that maps bytes
//! to tokens, so that an error is reported at its token.

use farcall_sig::Signature;
use farcall_sig::signature::TextRange as Bytes;
use proc_macro2::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, Lit, LitStr, Meta, Result};

/// Source of a signature: the position of each token in the text, or one string for the whole signature.
pub(crate) struct Source {
    tokens: Vec<(usize, TokenStream)>,
    text: String,
    literal: Option<Span>,
}

/// Reads a signature, and appends residuals to its results.
pub(crate) fn read_signature(
    attr: &Attribute,
    residuals: Option<&TokenStream>,
) -> Result<(Signature, Source)> {
    let literal = |literal: &LitStr| match residuals {
        None => Source::literal(literal),
        Some(residuals) => {
            let tokens = literal.value().parse().unwrap_or_default();
            Source { literal: Some(literal.span()), ..Source::tokens(append(tokens, residuals)) }
        }
    };
    let source = match &attr.meta {
        Meta::List(list) => match (syn::parse2::<LitStr>(list.tokens.clone()), residuals) {
            (Ok(text), _) => literal(&text),
            (Err(_), Some(residuals)) => Source::tokens(append(list.tokens.clone(), residuals)),
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

/// Returns the tokens of a signature with residuals appended to its results.
fn append(signature: TokenStream, residuals: &TokenStream) -> TokenStream {
    let mut lists = 0;
    let with_residuals = |token: TokenTree| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
            lists += 1;
            if lists != 2 {
                return group.into_token_stream();
            }
            let results = group.stream();
            let ends_list = |t: &TokenTree| matches!(t, TokenTree::Punct(punct) if punct.as_char() == ',');
            let needs_comma = results.clone().into_iter().last().is_some_and(|last| !ends_list(&last));
            let comma = needs_comma.then(|| quote!(,));
            Group::new(Delimiter::Parenthesis, quote!(#results #comma #residuals)).into_token_stream()
        }
        other => other.into(),
    };
    signature.into_iter().flat_map(with_residuals).collect()
}

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
        // A placeholder with the token's span. Errors need whole tokens, and a bracket alone is not a token.
        let mark = Ident::new("_x", span);
        self.tokens.push((self.text.len(), quote!(#mark)));
        self.text.push_str(text);
        self.text.push(' ');
    }

    /// Returns an error at the tokens that these bytes of the text come from.
    pub(crate) fn error(&self, bytes: Bytes, message: impl std::fmt::Display) -> Error {
        if let Some(span) = self.literal {
            return Error::new(span, message);
        }
        Error::new_spanned(self.tokens_of(bytes), message)
    }

    /// Returns the span of the tokens that these bytes of the text come from.
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
