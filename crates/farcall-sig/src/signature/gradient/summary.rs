//! Summary of a signature for the rules about derivatives, as data that a constant can hold.

use super::super::Signature;
use super::super::ast::*;
use crate::dtype::DType;

/// The operands, results and attributes of a signature.
#[derive(Clone, Copy, Debug)]
pub struct Outline<'a> {
    /// The operands.
    pub operands: &'a [TensorOutline<'a>],
    /// The results.
    pub results: &'a [TensorOutline<'a>],
    /// The attributes.
    pub attrs: &'a [AttrOutline<'a>],
    /// True if results without `*` may be sums over the batch.
    pub sums_batch: bool,
}

/// An operand or a result.
#[derive(Clone, Copy, Debug)]
pub struct TensorOutline<'a> {
    /// Name of the tensor.
    pub name: &'a str,
    /// Default name of its tangent or cotangent, used unless a binding gives another: `dx`.
    pub derivative: &'a str,
    /// Type as messages show it: `T[*, n]?`.
    pub ty: &'a str,
    /// The possible element types.
    pub types: &'a [DType],
    /// True if the tensor has leading batch dimensions, `*`.
    pub batch: bool,
    /// True if the dimensions are `..`.
    pub any: bool,
    /// The other dimensions in their printed form.
    pub dims: &'a [&'a str],
    /// True if the tensor may be absent. A result may be absent because of an optional operand.
    pub optional: bool,
    /// True if the declaration stands for any number of tensors.
    pub variadic: bool,
}

/// An attribute.
#[derive(Clone, Copy, Debug)]
pub struct AttrOutline<'a> {
    /// Name of the attribute.
    pub name: &'a str,
    /// Type in its printed form.
    pub ty: &'a str,
    /// True if the attribute may be absent.
    pub optional: bool,
}

/// Owned parts of a tensor's outline.
struct Texts<'a> {
    name: &'a str,
    derivative: String,
    ty: String,
    types: Vec<DType>,
    dims: Vec<String>,
    shape: &'a Shape,
    arity: Arity,
}

impl Signature {
    /// Calls a function with the outline of the signature.
    pub fn outline<'a, R>(&'a self, use_it: impl FnOnce(&Outline<'_>) -> R) -> R {
        let texts = |name: &'a str, element: &ElementType, shape: &'a Shape, arity: Arity| {
            let suffix = match arity {
                Arity::Required => "",
                Arity::Optional => "?",
                Arity::Variadic => "...",
            };
            Texts {
                name,
                derivative: format!("d{name}"),
                ty: format!("{element}{shape}{suffix}"),
                types: self.possible_types(element),
                dims: shape.dims.iter().map(DimDecl::to_string).collect(),
                shape,
                arity,
            }
        };
        let operands = self.operands.iter().map(|o| texts(&o.name.text, &o.element, &o.shape, o.arity));
        let results = self.results.iter().map(|r| {
            let arity = match (r.variadic, &r.condition) {
                (true, _) => Arity::Variadic,
                (false, Some(_)) => Arity::Optional,
                (false, None) => Arity::Required,
            };
            texts(&r.name.text, &r.element, &r.shape, arity)
        });
        let texts: Vec<Texts<'_>> = operands.chain(results).collect();
        let dims: Vec<Vec<&str>> =
            texts.iter().map(|t| t.dims.iter().map(String::as_str).collect()).collect();
        let tensors = texts.iter().zip(&dims).map(|(t, dims)| TensorOutline {
            name: t.name,
            derivative: &t.derivative,
            ty: &t.ty,
            types: &t.types,
            batch: t.shape.batch.is_some(),
            any: t.shape.any.is_some(),
            dims,
            optional: t.arity == Arity::Optional,
            variadic: t.arity == Arity::Variadic,
        });
        let tensors: Vec<TensorOutline<'_>> = tensors.collect();
        let (operands, results) = tensors.split_at(self.operands.len());
        let types: Vec<String> = self.attrs.iter().map(|a| a.ty.to_string()).collect();
        let attrs = self.attrs.iter().zip(&types);
        let attrs = attrs.map(|(a, ty)| AttrOutline { name: &a.name.text, ty, optional: a.optional });
        let attrs: Vec<AttrOutline<'_>> = attrs.collect();
        let sums_batch = matches!(self.dim_use("*"), DimUse::Reduce(Reducer::Sum) | DimUse::Whole);
        use_it(&Outline { operands, results, attrs: &attrs, sums_batch })
    }
}
