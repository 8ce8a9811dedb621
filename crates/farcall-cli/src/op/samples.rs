//! Small operands on which an op can be called, found by trial.

use std::collections::HashMap;

use farcall::ir::types::TensorType;
use farcall::registry::Declaration;
use farcall::sig::attr::AttrType;
use farcall::sig::signature::{Arity, AttrDecl, DimDecl, Expr, OperandDecl, OperandType};
use farcall::sig::{AttrValue, AttrValues, DType, ScalarType, Signature};

/// Requirements for generated calls.
#[derive(Clone, Copy)]
pub(crate) struct CallRequest<'a> {
    /// Attributes that are given.
    pub attrs: &'a AttrValues,
    /// True if optional operands are included.
    pub optional: bool,
    /// Index among the possible types of each operand. If an operand has fewer types, its last type is used.
    pub ty: usize,
    /// Size of batch dimensions.
    pub batch: i64,
}

/// A call that fits the signature.
pub(crate) struct Call {
    pub operands: Vec<TensorType>,
    /// The given attributes, and the required ones.
    pub attrs: AttrValues,
    /// True if none of the results has an element.
    is_empty: bool,
}

/// Rule for choosing the sizes of dimensions.
#[derive(Clone, Copy)]
enum Sizes {
    /// A different size for each name: 3, 4, …
    Different,
    /// A different size for each name, from large to small: 12, 9, 6, 3. A window is then smaller than the
    /// dimension that it slides along.
    Descending,
    /// The same size for all dimensions.
    Same(i64),
}

/// Alternative values of an attribute, best first.
pub(crate) struct Alternatives {
    pub values: Vec<AttrValue>,
    /// True if the attribute has no further values.
    pub are_all: bool,
}

impl Alternatives {
    /// Returns values that differ from `from`, the attribute's present value. `from` is `None` if the
    /// attribute is absent.
    pub(crate) fn of(attr: &AttrDecl, from: Option<&AttrValue>) -> Alternatives {
        let (values, are_all): (Vec<AttrValue>, bool) = match &attr.ty {
            AttrType::Scalar(ScalarType::Bool) => (vec![true.into(), false.into()], true),
            AttrType::Scalar(scalar) if scalar.is_integer() => {
                // The options of LAPACK's routines are letters.
                let letters = (b'A'..=b'Z').filter(|_| *scalar == ScalarType::U8).map(i64::from);
                let values = [2, 3, 1, 4, 0, -1].into_iter().chain(letters);
                (values.map(AttrValue::from).collect(), false)
            }
            AttrType::Scalar(_) => ([0.5, 1.5, 2.0, 0.25, -0.5].map(|value: f64| value.into()).into(), false),
            AttrType::Array(_) => {
                // For each length, permutations come first, and the identity is the last of these.
                let counted = |len: i64| [(0..len).rev().collect(), (0..len).collect::<Vec<i64>>()];
                let equal = |len: usize| [2, 1, 0].map(|value: i64| vec![value; len]);
                let all = [2, 3, 1].into_iter().flat_map(|len| {
                    counted(len).into_iter().chain(usize::try_from(len).map(equal).into_iter().flatten())
                });
                (all.map(|values| AttrValue::from(values.as_slice())).collect(), false)
            }
            AttrType::Choice(choices) => {
                (choices.iter().map(|choice| choice.as_str().into()).collect(), true)
            }
            AttrType::Str | AttrType::Dict => (Vec::new(), false),
        };
        // Values are compared in printed form, which does not show the exact number types.
        let shown = from.map(AttrValue::to_string);
        let values = values.into_iter().filter(|value| Some(value.to_string()) != shown).collect();
        Alternatives { values, are_all }
    }
}

/// Returns calls that fit, best first; none if no sizes that fit are found. Calls whose results have no
/// elements come last, because such results cannot be checked.
pub(crate) fn calls<'a>(
    declaration: &'a Declaration,
    wanted: CallRequest<'a>,
) -> impl Iterator<Item = Call> + use<> {
    let sizes = [
        Sizes::Different,
        Sizes::Same(4),
        Sizes::Same(2),
        Sizes::Descending,
        Sizes::Same(1),
        Sizes::Same(16),
    ];
    let tries = sizes.into_iter().flat_map(|sizes| [2, 1, 0, 4].map(|number| (sizes, number)));
    let calls = tries.filter_map(|(sizes, number)| try_call(declaration, wanted, sizes, number));
    let (empty, full): (Vec<Call>, Vec<Call>) = calls.partition(|call| call.is_empty);
    full.into_iter().chain(empty)
}

/// Returns a call with these sizes if it fits. Required attributes have the value `number`.
fn try_call(declaration: &Declaration, wanted: CallRequest<'_>, sizes: Sizes, number: i64) -> Option<Call> {
    let signature = &declaration.signature;
    let mut attrs = wanted.attrs.clone();
    for attr in signature.attrs().iter().filter(|a| a.is_required()) {
        let value: AttrValue = match &attr.ty {
            _ if attrs.get(&attr.name.text).is_some() => continue,
            AttrType::Scalar(ScalarType::Bool) => true.into(),
            AttrType::Scalar(_) => number.into(),
            AttrType::Array(_) => [number].into(),
            AttrType::Str => "text".into(),
            AttrType::Choice(choices) => choices.first()?.as_str().into(),
            AttrType::Dict => return None,
        };
        attrs.insert(attr.name.text.as_str(), value);
    }
    let all = signature.convert_attrs(&attrs).ok()?;
    let integer =
        |(name, value): (&str, &AttrValue)| Some((name.to_owned(), i64::try_from(value.as_int()?).ok()?));
    let mut known: HashMap<String, i64> = all.iter().filter_map(integer).collect();
    let attributes = known.len();
    let mut operands: Vec<(DType, Vec<i64>)> = Vec::new();
    for operand in signature.operands() {
        let times = match operand.arity {
            Arity::Required => 1,
            Arity::Optional => usize::from(wanted.optional),
            Arity::Variadic => 2,
        };
        let made = make(signature, operand, sizes, wanted, attributes, &mut known)?;
        operands.extend(std::iter::repeat_n(made, times));
    }
    let types: Vec<OperandType<'_>> =
        operands.iter().map(|(dtype, dims)| OperandType { dtype: *dtype, dims }).collect();
    let results = declaration.infer(&types, &all).ok()?.results;
    let is_empty = !results.is_empty() && results.iter().all(|result| result.dims.contains(&0));
    let size = |size: &i64| usize::try_from(*size).ok();
    let ty = |(dtype, dims): &(DType, Vec<i64>)| {
        Some(TensorType::new(*dtype, dims.iter().map(size).collect::<Option<Vec<_>>>()?))
    };
    Some(Call { operands: operands.iter().map(ty).collect::<Option<_>>()?, attrs, is_empty })
}

/// Chooses the type of an operand. Batch dimensions (`*`) become one dimension. A named dimension takes its
/// size from `known`, which also has the values of the integer attributes. A new name takes the next size of
/// `sizes`.
fn make(
    signature: &Signature,
    operand: &OperandDecl,
    sizes: Sizes,
    wanted: CallRequest<'_>,
    attributes: usize,
    known: &mut HashMap<String, i64>,
) -> Option<(DType, Vec<i64>)> {
    let mut dims: Vec<i64> = match (operand.shape.any, operand.shape.batch) {
        (Some(_), _) => match sizes {
            Sizes::Different | Sizes::Descending => vec![2, 3],
            Sizes::Same(size) => vec![size],
        },
        (None, Some(_)) => vec![wanted.batch],
        (None, None) => Vec::new(),
    };
    for dim in &operand.shape.dims {
        let named = i64::try_from(known.len() - attributes).ok()?;
        let next = match sizes {
            Sizes::Different => 3 + named,
            Sizes::Descending => (12 - 3 * named).max(1),
            Sizes::Same(size) => size,
        };
        dims.push(match dim {
            DimDecl::Size(Expr::Literal(size, _)) => *size,
            DimDecl::Size(Expr::Name(name)) | DimDecl::Each(name) => {
                *known.entry(name.text.clone()).or_insert(next)
            }
            // If all names have the same size, most expressions have this size, too.
            DimDecl::Size(_) => match sizes {
                Sizes::Same(size) => size,
                Sizes::Different | Sizes::Descending => return None,
            },
        });
    }
    let possible = signature.possible_types(&operand.element);
    Some((*possible.get(wanted.ty).or(possible.last())?, dims))
}

/// Returns the number of types of the operand with the most possible types.
pub(crate) fn type_count(signature: &Signature) -> usize {
    let counts = signature.operands().iter().map(|o| signature.possible_types(&o.element).len());
    counts.max().unwrap_or(1).max(1)
}
