//! Residuals that an op's own function returns: the signature of the resulting forward op, and the sizes of
//! the residuals in calls of the op itself.

use farcall_sig::DType;
use farcall_sig::signature::{
    Arity, DimDecl, ElementType, Expr, Layout, OperandDecl, ResultDecl, Shape, Signature, TypeSet,
};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Error, Result};

use crate::source::Source;
use crate::value::{descriptor_type, option};

/// The residuals of an op with the signature `op`: the last results of `forward`.
pub(crate) struct Own<'a> {
    pub(crate) key: &'a Ident,
    pub(crate) op: &'a Signature,
    pub(crate) forward: &'a Signature,
    pub(crate) source: &'a Source,
}

impl Own<'_> {
    fn residuals(&self) -> &[ResultDecl] {
        &self.forward.results()[self.op.results().len()..]
    }

    /// Returns the names of the residuals.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.residuals().iter().map(|r| r.name.text.as_str()).collect()
    }

    /// Returns an expression for the descriptions of all residuals, of type `&[Residual]` from `farcall-ffi`.
    pub(crate) fn describe(&self) -> Result<TokenStream> {
        if self.residuals().is_empty() {
            return Err(Error::new(self.key.span(), "expected residuals, as in residuals(r: f32[*], …)"));
        }
        if let Some(result) = self.op.results().iter().find(|r| r.variadic || r.condition.is_some()) {
            let message = format!(
                "the result `{}` is variadic or optional: write a separate forward op, #[vjp(forward = f, …)]",
                result.name
            );
            return Err(Error::new(self.key.span(), message));
        }
        let all = self.residuals().iter().map(|residual| self.residual(residual));
        let all = all.collect::<Result<Vec<_>>>()?;
        Ok(quote!(&[#(#all),*]))
    }

    fn residual(&self, residual: &ResultDecl) -> Result<TokenStream> {
        let wrong = |message: &str| Err(self.source.error(residual.name.span, message));
        let is_plain = !residual.variadic
            && residual.condition.is_none()
            && residual.aliases.is_none()
            && residual.layout == Layout::RowMajor;
        if !is_plain || residual.shape.any.is_some() {
            return wrong(
                "a residual must be a single row-major tensor with explicit dimensions, and must not alias an operand",
            );
        }
        let name = &residual.name.text;
        let (like, types) = self.types(&residual.element);
        let batch = residual.shape.batch.map(|_| {
            let operands = self.operands().map(|(i, o)| (quote!(Operand(#i)), &o.shape));
            let results = self.results().map(|(i, r)| (quote!(Result(#i)), &r.shape));
            let found = operands.chain(results).find(|(_, shape)| shape.batch.is_some());
            found.map(|(place, shape)| {
                let after = shape.dims.len();
                quote!(__ffi::__private::Extent::Batch(__ffi::__private::TensorIndex::#place, #after))
            })
        });
        let dims = residual.shape.dims.iter().map(|dim| self.dim(dim));
        let Some(extents) = batch.into_iter().chain(dims).collect::<Option<Vec<_>>>() else {
            return wrong(
                "a dimension of a residual must be `*`, or an expression of numbers, integer attributes that are always \
                 given, and dimensions of required operands or of results: for other dimensions, write a separate \
                 forward op, #[vjp(forward = f, …)]",
            );
        };
        Ok(quote! {
            __ffi::__private::Residual {
                name: #name,
                like: #like,
                types: &[#(#types),*],
                dims: &[#(#extents),*],
            }
        })
    }

    /// Returns the index of the operand that determines a residual's element type, and the possible pairs of
    /// the operand's type and the residual's type.
    fn types(&self, element: &ElementType) -> (usize, Vec<TokenStream>) {
        let pair = |of: DType, own: DType| {
            let (of, own) = (descriptor_type(of), descriptor_type(own));
            quote!((#of, #own))
        };
        let fixed = || {
            let own = self.forward.possible_types(element).first().copied().unwrap_or(DType::F32);
            (0, vec![pair(own, own)])
        };
        let Some(variable) = element.variable() else { return fixed() };
        let is_like =
            |o: &&(usize, &OperandDecl)| o.1.element.variable().is_some_and(|v| v.text == variable.text);
        let operands: Vec<_> = self.operands().collect();
        let (Some((i, operand)), Some(set)) =
            (operands.iter().find(is_like), self.op.type_set(&variable.text))
        else {
            return fixed();
        };
        let types = TypeSet::types(set).iter();
        let pairs = types.filter_map(|t| Some(pair(operand.element.apply(*t)?, element.apply(*t)?)));
        (*i, pairs.collect())
    }

    /// Returns an expression that describes a dimension, or `None` if the dimension cannot be computed from a
    /// call.
    fn dim(&self, dim: &DimDecl) -> Option<TokenStream> {
        let DimDecl::Size(expr) = dim else { return None };
        let (mut terms, text) = (Vec::new(), dim.to_string());
        self.terms(expr, &mut terms)?;
        Some(quote!(__ffi::__private::Extent::Size(&[#(#terms),*], #text)))
    }

    /// Appends the terms of an expression in postfix order.
    fn terms(&self, expr: &Expr, terms: &mut Vec<TokenStream>) -> Option<()> {
        let term = match expr {
            Expr::Literal(size, _) => quote!(__ffi::__private::Term::Number(#size)),
            Expr::Name(name) => self.attribute(&name.text).or_else(|| self.like(&name.text))?,
            Expr::Binary(op, left, right) => {
                self.terms(left, terms)?;
                self.terms(right, terms)?;
                let op = Ident::new(&format!("{op:?}"), Span::call_site());
                quote!(__ffi::__private::Term::Binary(__ffi::__private::signature::BinaryOp::#op))
            }
            Expr::Call(function, arguments, _) => {
                arguments.iter().try_for_each(|argument| self.terms(argument, terms))?;
                let (function, count) =
                    (Ident::new(&format!("{function:?}"), Span::call_site()), arguments.len());
                quote!(__ffi::__private::Term::Call(__ffi::__private::signature::ExprFn::#function, #count))
            }
            Expr::Fold(..) | Expr::Len(_) => return None,
        };
        terms.push(term);
        Some(())
    }

    /// Returns the term for the integer attribute `name`, if every call has a value for it.
    fn attribute(&self, name: &str) -> Option<TokenStream> {
        let attr = self.op.attrs().iter().find(|attr| attr.name.text == name && !attr.optional)?;
        let default = option(match &attr.default {
            Some(default) => Some(i64::try_from(default.as_int()?).ok()?.into_token_stream()),
            None => None,
        });
        Some(quote!(__ffi::__private::Term::Attribute(#name, #default)))
    }

    /// Returns the term for the dimension `name` of a required operand or a result.
    fn like(&self, name: &str) -> Option<TokenStream> {
        let from_end = |shape: &Shape| {
            let is_it = |dim: &DimDecl| matches!(dim, DimDecl::Size(Expr::Name(own)) if own.text == name);
            let at = shape.dims.iter().position(is_it)?;
            Some(shape.dims.len() - at)
        };
        let operand = self.operands().find_map(|(i, o)| Some((quote!(Operand(#i)), from_end(&o.shape)?)));
        let result = || self.results().find_map(|(i, r)| Some((quote!(Result(#i)), from_end(&r.shape)?)));
        let (place, from_end) = operand.or_else(result)?;
        Some(quote!(__ffi::__private::Term::Like(__ffi::__private::TensorIndex::#place, #from_end)))
    }

    /// Returns the required operands, with their indices.
    fn operands(&self) -> impl Iterator<Item = (usize, &OperandDecl)> {
        self.op.operands().iter().enumerate().filter(|(_, o)| o.arity == Arity::Required)
    }

    fn results(&self) -> impl Iterator<Item = (usize, &ResultDecl)> {
        self.op.results().iter().enumerate()
    }
}
