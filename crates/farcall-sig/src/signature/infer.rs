//! Infers the result types of a call from its operands and attributes, or reports a mismatch with a message
//! that uses the op's own names.
//!
//! Sizes are numbers, or symbolic sizes of a host ([`Size`]). No input causes a panic or an overflow.

use std::collections::BTreeMap;
use std::fmt;

use super::Signature;
use super::ast::*;
use super::size::Size;
use crate::attr::{AttrType, AttrValue, AttrValues};
use crate::dtype::DType;
use crate::nearest::nearest;

mod evaluate;

/// Type of an operand in a call.
#[derive(PartialEq, Eq, Debug)]
pub struct OperandType<'a, S = i64> {
    /// Element type.
    pub dtype: DType,
    /// Dimensions, batch dimensions first.
    pub dims: &'a [S],
}

impl<S> Clone for OperandType<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for OperandType<'_, S> {}

/// Type of a result of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultType<S = i64> {
    /// Index of the declaration in [`Signature::results`].
    pub decl: usize,
    /// Element type.
    pub dtype: DType,
    /// Dimensions, batch dimensions first.
    pub dims: Vec<S>,
    /// The operand of the call whose buffer holds the result.
    pub aliases: Option<usize>,
    /// Dimensions from the fastest in memory to the slowest.
    pub minor_to_major: Vec<usize>,
}

/// Everything that a signature determines about one call.
#[derive(Clone, PartialEq, Debug)]
pub struct Inference<S = i64> {
    /// Results of the call. An absent optional result is left out; a variadic result is repeated for each
    /// entry of the variadic operands.
    pub results: Vec<ResultType<S>>,
    /// For each operand of the call, the index of its declaration in [`Signature::operands`].
    pub operands: Vec<usize>,
    /// For each operand, its dimensions from the fastest in memory to the slowest.
    pub operand_layouts: Vec<Vec<usize>>,
    /// The dimensions that `*` stands for.
    pub batch: Vec<S>,
    /// Sizes of the named dimensions, except for dimensions with dots, which have several sizes.
    pub dims: BTreeMap<String, S>,
    /// Types of the type variables.
    pub types: BTreeMap<String, DType>,
    /// All attributes in the order of [`Signature::attrs`], with defaults filled in.
    pub attrs: AttrValues,
}

/// A call that does not fit a signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// Kind of error.
    pub kind: MismatchKind,
    /// Part of the call that the error is about.
    pub place: CallPart,
    /// Error message, without the op's name.
    pub message: String,
}

/// Kind of a mismatch, for host languages that distinguish type errors from value errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MismatchKind {
    /// Too few or too many operands.
    Count,
    /// An operand of the wrong element type.
    Type,
    /// A wrong number of dimensions, a wrong size, or a condition on sizes that does not hold.
    Shape,
    /// A missing or unknown attribute.
    AttrName,
    /// An attribute of the wrong type.
    AttrType,
    /// An op that cannot be vmapped.
    Batching,
    /// A check that symbolic sizes do not decide.
    Open,
}

/// Part of a call that a mismatch is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallPart {
    /// The call as a whole.
    Call,
    /// The operand of the call with this index.
    Operand(usize),
    /// The attribute of this name.
    Attr(String),
    /// The declared result with this index.
    Result(usize),
}

impl Mismatch {
    /// Formats the message with the op's name: `rms_norm: scale has n = 64 but x has n = 128`.
    pub fn in_op(&self, op: &str) -> String {
        format!("{op}: {}", self.message)
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mismatch {}

type Result<T = ()> = std::result::Result<T, Mismatch>;

fn mismatch<T>(kind: MismatchKind, place: CallPart, message: String) -> Result<T> {
    Err(Mismatch { kind, place, message })
}

impl Signature {
    /// Infers the result types of a call, and the values of its dimension and type variables.
    ///
    /// Attributes must have exactly the declared types ([`Signature::convert_attrs`] converts them). Absent
    /// attributes get their defaults.
    ///
    /// # Errors
    /// The first mismatch, in the order operand count, attributes, operands from left to right, conditions,
    /// results; or the first check that symbolic sizes do not decide ([`MismatchKind::Open`]).
    pub fn infer<S: Size>(
        &self,
        operands: &[OperandType<'_, S>],
        attrs: &AttrValues,
    ) -> Result<Inference<S>> {
        self.infer_with(operands, attrs, |_, results| match results {
            [] => Ok(Vec::new()),
            [name, ..] => Err(format!("the shape of {name} is given by a shape function, which is missing")),
        })
    }

    /// Like [`infer`](Self::infer), with the op's shape function.
    ///
    /// The function receives all attributes and the names of the results whose dimensions it has to compute:
    /// one name for each `[..]` result of the call that does not alias an operand. It is called only if such
    /// results exist, and only if the call fits the rest of the signature.
    ///
    /// # Errors
    /// The errors of `infer`; an error that the function returns; and an error in the shapes that it returns.
    pub fn infer_with<S: Size>(
        &self,
        operands: &[OperandType<'_, S>],
        attrs: &AttrValues,
        shapes: impl FnOnce(&AttrValues, &[String]) -> std::result::Result<Vec<Vec<S>>, String>,
    ) -> Result<Inference<S>> {
        let slots = self.operand_slots(operands.len())?;
        let attrs = self.complete_attrs(attrs)?;
        let mut call = Call {
            signature: self,
            given: operands,
            names: slot_names(self, &slots),
            slots,
            attrs: &attrs,
            batch: None,
            dims: BTreeMap::new(),
            each: BTreeMap::new(),
            types: BTreeMap::new(),
        };
        call.bind()?;
        call.check_derived_types()?;
        call.check_expressions()?;
        call.check_conditions()?;
        let mut results = call.results()?;
        call.any_results(&mut results, shapes)?;
        let layout = |(operand, slot): (&OperandType<'_, S>, &usize)| {
            self.operands[*slot].layout.minor_to_major(operand.dims.len())
        };
        Ok(Inference {
            results,
            operand_layouts: operands.iter().zip(&call.slots).map(layout).collect(),
            batch: call.batch.map(|(dims, _)| dims.to_vec()).unwrap_or_default(),
            dims: call.dims.iter().map(|(name, (size, _))| (name.to_string(), size.clone())).collect(),
            types: call.types.iter().map(|(name, bound)| (name.to_string(), bound.dtype)).collect(),
            operands: call.slots,
            attrs,
        })
    }

    /// Returns, for each operand of a call with `count` operands, the index of its declaration in
    /// [`Signature::operands`].
    ///
    /// # Errors
    /// If a call cannot have this number of operands.
    pub fn operand_slots(&self, count: usize) -> Result<Vec<usize>> {
        let declared = self.operands.len();
        let required = self.operands.iter().filter(|o| o.arity == Arity::Required).count();
        let lists = self.variadic_operands();
        match lists {
            0 if (required..=declared).contains(&count) => return Ok((0..count).collect()),
            1.. if count >= required && (count - required).is_multiple_of(lists) => {
                let each = (count - required) / lists;
                let several = (required..declared).flat_map(|slot| std::iter::repeat_n(slot, each));
                return Ok((0..required).chain(several).collect());
            }
            _ => {}
        }
        let takes = match lists {
            0 if declared == 0 => "no operands".into(),
            0 if required < declared => format!("{required} to {}", counted(declared, "operand")),
            0 => counted(required, "operand"),
            1 => format!("at least {}", counted(required, "operand")),
            2.. if required == 0 => format!("{lists} lists of operands of equal length"),
            2.. => format!("{} and {lists} lists of equal length", counted(required, "operand")),
        };
        let names: Vec<String> = self
            .operands
            .iter()
            .map(|o| match o.arity {
                Arity::Required => o.name.text.clone(),
                Arity::Optional => format!("{}?", o.name),
                Arity::Variadic => format!("{}...", o.name),
            })
            .collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        mismatch(MismatchKind::Count, CallPart::Call, format!("takes {takes}{names}, but is given {count}"))
    }

    /// Returns the number of variadic operands. They come last, and all have the same number of entries.
    pub(super) fn variadic_operands(&self) -> usize {
        self.operands.iter().rev().take_while(|o| o.arity == Arity::Variadic).count()
    }

    /// Returns the number of entries of each variadic operand in a call with these operands.
    fn entries(&self, slots: &[usize]) -> usize {
        match self.variadic_operands() {
            0 => 0,
            lists => (slots.len() + lists - self.operands.len()) / lists,
        }
    }

    /// Returns, for each result of a call with `count` operands, the index of its declaration in
    /// [`Signature::results`]. An absent optional result is left out; a variadic result is repeated for each
    /// entry of the variadic operands.
    ///
    /// # Errors
    /// If a call cannot have this number of operands.
    pub fn result_slots(&self, count: usize) -> Result<Vec<usize>> {
        let operands = self.operand_slots(count)?;
        let given = |name: &str| operands.iter().any(|slot| self.operands[*slot].name.text == name);
        let entries = self.entries(&operands);
        let mut slots = Vec::new();
        for (slot, result) in self.results.iter().enumerate() {
            let is_there = result.condition.as_ref().is_none_or(|condition| given(&condition.text));
            let copies = if result.variadic { entries } else { 1 };
            slots.extend(std::iter::repeat_n(slot, if is_there { copies } else { 0 }));
        }
        Ok(slots)
    }

    /// Returns the names of the operands in a call with `count` operands: `x`, `xs[0]`.
    ///
    /// # Errors
    /// If a call cannot have this number of operands.
    pub fn operand_names(&self, count: usize) -> Result<Vec<String>> {
        Ok(slot_names(self, &self.operand_slots(count)?))
    }

    /// Converts the attributes of a call to the declared types if the conversion is lossless (see
    /// [`AttrType::convert`]), and adds the defaults, in the order of [`Signature::attrs`]. Languages with a
    /// single number type call this before [`Signature::infer`] and before encoding the call.
    ///
    /// # Errors
    /// An attribute that is missing, unknown, or of the wrong type.
    pub fn convert_attrs(&self, given: &AttrValues) -> Result<AttrValues> {
        self.collect_attrs(given, |ty, value| ty.convert(value))
    }

    fn complete_attrs(&self, given: &AttrValues) -> Result<AttrValues> {
        self.collect_attrs(given, |ty, value| match ty.accepts(value) {
            true => Ok(value.clone()),
            false => Err(ty.complaint(value)),
        })
    }

    fn collect_attrs(
        &self,
        given: &AttrValues,
        take: impl Fn(&AttrType, &AttrValue) -> std::result::Result<AttrValue, String>,
    ) -> Result<AttrValues> {
        for (name, _) in given.iter() {
            if self.attr(name).is_none() {
                let near = nearest(name, self.attrs.iter().map(|a| a.name.text.as_str()));
                let hint = match near.as_slice() {
                    _ if self.operand(name).is_some() => "; it is an operand".into(),
                    [] if self.attrs.is_empty() => "; there are none".into(),
                    [] => {
                        let all: Vec<&str> = self.attrs.iter().map(|a| a.name.text.as_str()).collect();
                        format!("; there is {}", all.join(", "))
                    }
                    near => format!("; did you mean {}?", near.join(" or ")),
                };
                let place = CallPart::Attr(name.into());
                return mismatch(
                    MismatchKind::AttrName,
                    place,
                    format!("there is no attribute {name}{hint}"),
                );
            }
        }
        let mut attrs = AttrValues::new();
        for attr in &self.attrs {
            let name = attr.name.text.as_str();
            let place = || CallPart::Attr(name.into());
            match (given.get(name), &attr.default) {
                (Some(value), _) => match take(&attr.ty, value) {
                    Ok(value) => attrs.insert(name, value),
                    Err(why) => {
                        return mismatch(MismatchKind::AttrType, place(), format!("attribute {name} {why}"));
                    }
                },
                (None, Some(default)) => attrs.insert(name, default.clone()),
                (None, None) if attr.optional => {}
                (None, None) => {
                    let message = format!("attribute {name} is missing; it must be {}", attr.ty);
                    return mismatch(MismatchKind::AttrName, place(), message);
                }
            }
        }
        Ok(attrs)
    }
}

/// Maximum number of dimensions of a tensor whose shape is computed by a shape function.
const MAX_RANK: usize = 64;

/// `1 operand`, `2 operands`
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Names of the operands of a call: `x`, `xs[0]`.
pub(super) fn slot_names(signature: &Signature, slots: &[usize]) -> Vec<String> {
    let name = |(i, slot): (usize, &usize)| {
        let operand = &signature.operands[*slot];
        match operand.arity {
            Arity::Variadic => format!("{}[{}]", operand.name, entry(slots, i)),
            _ => operand.name.text.clone(),
        }
    };
    slots.iter().enumerate().map(name).collect()
}

/// Index of a call's operand among the entries of its variadic operand; 0 for any other operand.
pub(super) fn entry(slots: &[usize], i: usize) -> usize {
    i - slots.partition_point(|slot| *slot < slots[i])
}

/// Type of a type variable, and the operand that determined it.
struct BoundType {
    dtype: DType,
    giver: usize,
}

/// A call whose variables are being determined.
struct Call<'a, S> {
    signature: &'a Signature,
    given: &'a [OperandType<'a, S>],
    names: Vec<String>,
    slots: Vec<usize>,
    attrs: &'a AttrValues,
    /// Batch dimensions, and the first operand that has them.
    batch: Option<(&'a [S], usize)>,
    /// Size of each dimension, and the first operand that has it.
    dims: BTreeMap<&'a str, (S, usize)>,
    /// Sizes of dimensions with dots, one for each entry of the variadic operands.
    each: BTreeMap<&'a str, Vec<S>>,
    types: BTreeMap<&'a str, BoundType>,
}

impl<'a, S: Size> Call<'a, S> {
    /// Processes the operands from left to right. Checks the rank of each operand, then binds the variables
    /// that occur in it: the element type, the batch dimensions, and names that are a dimension by
    /// themselves.
    fn bind(&mut self) -> Result {
        for i in 0..self.given.len() {
            let operand = &self.signature.operands[self.slots[i]];
            let dims = self.given[i].dims;
            self.check_rank(i, operand, dims)?;
            self.bind_type(i, &operand.element)?;
            let (batch, dims) = dims.split_at(dims.len() - operand.shape.dims.len());
            if operand.shape.batch.is_some() {
                match self.batch {
                    None => self.batch = Some((batch, i)),
                    Some((known, giver)) if known != batch => {
                        let message = format!(
                            "{} has batch dimensions {batch:?} but {} has {known:?}",
                            self.names[i], self.names[giver]
                        );
                        return mismatch(MismatchKind::Shape, CallPart::Operand(i), message);
                    }
                    Some(_) => {}
                }
            }
            self.bind_dims(i, operand, dims)?;
        }
        Ok(())
    }

    fn check_rank(&self, i: usize, operand: &OperandDecl, dims: &[S]) -> Result {
        let name = &self.names[i];
        let fixed = operand.shape.dims.len();
        let fits = match (operand.shape.any, operand.shape.batch) {
            (Some(_), _) => true,
            (None, Some(_)) => dims.len() >= fixed,
            (None, None) => dims.len() == fixed,
        };
        if !fits {
            let least = if operand.shape.batch.is_some() { "at least " } else { "" };
            let message = format!(
                "{name} has shape {dims:?}, but {} needs {least}{}",
                operand.shape,
                counted(fixed, "dimension")
            );
            return mismatch(MismatchKind::Shape, CallPart::Operand(i), message);
        }
        match dims.iter().position(|d| d.known().is_some_and(|d| d < 0)) {
            None => Ok(()),
            Some(_) => {
                let message = format!("{name} has shape {dims:?}, with a negative dimension");
                mismatch(MismatchKind::Shape, CallPart::Operand(i), message)
            }
        }
    }

    fn bind_type(&mut self, i: usize, element: &'a ElementType) -> Result {
        let dtype = self.given[i].dtype;
        let name = &self.names[i];
        let wrong = |message| mismatch(MismatchKind::Type, CallPart::Operand(i), message);
        let Some(variable) = element.variable() else {
            return match element.apply(dtype) {
                Some(fixed) if fixed == dtype => Ok(()),
                _ => wrong(format!("{name} must be {element}, but is {dtype}")),
            };
        };
        if self.types.contains_key(variable.text.as_str()) {
            return self.check_type(i, element, variable);
        }
        let Some(set) = self.signature.type_set(&variable.text) else { return Ok(()) };
        let bases: Vec<DType> =
            set.types().iter().copied().filter(|t| element.apply(*t) == Some(dtype)).collect();
        match bases.as_slice() {
            [base] => {
                self.types.insert(&variable.text, BoundType { dtype: *base, giver: i });
                Ok(())
            }
            // Several types map to this type, so an operand further right determines the variable.
            [_, _, ..] => Ok(()),
            [] if element.functions.is_empty() => {
                wrong(format!("{name} must be {}, but is {dtype}", set.in_words()))
            }
            [] => wrong(format!(
                "{name} must be {element} where {variable} is {}, but is {dtype}",
                set.in_words()
            )),
        }
    }

    fn check_type(&self, i: usize, element: &ElementType, variable: &Name) -> Result {
        let Some(bound) = self.types.get(variable.text.as_str()) else { return Ok(()) };
        let dtype = self.given[i].dtype;
        let expected = element.apply(bound.dtype);
        if expected == Some(dtype) {
            return Ok(());
        }
        let (name, giver) = (&self.names[i], &self.names[bound.giver]);
        let giver_type = self.given[bound.giver].dtype;
        let message = match expected {
            Some(expected) if expected != giver_type || !element.functions.is_empty() => {
                format!(
                    "{name} must be {element} = {expected}, since {giver} is {giver_type}, but is {dtype}"
                )
            }
            _ => format!("{name} is {dtype} but {giver} is {giver_type}"),
        };
        mismatch(MismatchKind::Type, CallPart::Operand(i), message)
    }

    /// Checks element types that depend on a variable, once every variable is known. A derived type such as
    /// `complex(T)` may precede the operand that determines `T`.
    fn check_derived_types(&self) -> Result {
        for (i, slot) in self.slots.iter().enumerate() {
            let element = &self.signature.operands[*slot].element;
            if let Some(variable) = element.variable() {
                self.check_type(i, element, variable)?;
            }
        }
        Ok(())
    }

    fn bind_dims(&mut self, i: usize, operand: &'a OperandDecl, sizes: &[S]) -> Result {
        let variadic = operand.arity == Arity::Variadic;
        let entry = entry(&self.slots, i);
        for (k, (dim, size)) in operand.shape.dims.iter().zip(sizes).enumerate() {
            let shape = || format!("{} has shape {:?}", self.names[i], self.given[i].dims);
            match dim {
                DimDecl::Size(Expr::Literal(literal, _)) if S::of(*literal) != *size => {
                    let message =
                        format!("{}, but its dimension {k} of {} must be {literal}", shape(), operand.shape);
                    return mismatch(MismatchKind::Shape, CallPart::Operand(i), message);
                }
                DimDecl::Size(Expr::Name(name)) => {
                    let name = name.text.as_str();
                    if let Some(value) = self.attr_size(name) {
                        if size.known().map(i128::from) != Some(value) {
                            let message = format!(
                                "{} has {name} = {size} but attribute {name} is {value}",
                                self.names[i]
                            );
                            return mismatch(MismatchKind::Shape, CallPart::Operand(i), message);
                        }
                        continue;
                    }
                    let (known, giver) = self.dims.entry(name).or_insert_with(|| (size.clone(), i));
                    if known != size {
                        let message = match *giver == i {
                            true => format!(
                                "{}, but {} has {name} twice, which cannot be both {known} and {size}",
                                shape(),
                                operand.shape
                            ),
                            false => format!(
                                "{} has {name} = {size} but {} has {name} = {known}",
                                self.names[i], self.names[*giver]
                            ),
                        };
                        return mismatch(MismatchKind::Shape, CallPart::Operand(i), message);
                    }
                }
                DimDecl::Size(_) => {}
                DimDecl::Each(name) if variadic => {
                    let sizes = self.each.entry(&name.text).or_default();
                    match sizes.get(entry) {
                        None => sizes.push(size.clone()),
                        Some(known) if known != size => {
                            let giver = self.signature.operands.iter().find(|o| o.shape.dims.contains(dim));
                            let message = match giver {
                                Some(giver) if giver.name.text != operand.name.text => format!(
                                    "{} has {name} = {size} but {}[{entry}] has {name} = {known}",
                                    self.names[i], giver.name
                                ),
                                _ => format!(
                                    "{} has {name} twice, which cannot be both {known} and {size}",
                                    self.names[i]
                                ),
                            };
                            return mismatch(MismatchKind::Shape, CallPart::Operand(i), message);
                        }
                        Some(_) => {}
                    }
                }
                DimDecl::Each(_) => {}
            }
        }
        Ok(())
    }

    /// Checks operand dimensions that are expressions, once every name is known.
    fn check_expressions(&self) -> Result {
        for (i, slot) in self.slots.iter().enumerate() {
            let operand = &self.signature.operands[*slot];
            let dims = self.given[i].dims;
            let sizes = &dims[dims.len() - operand.shape.dims.len()..];
            for (dim, size) in operand.shape.dims.iter().zip(sizes) {
                let DimDecl::Size(expr @ (Expr::Binary(..) | Expr::Call(..) | Expr::Fold(..) | Expr::Len(_))) =
                    dim
                else {
                    continue;
                };
                let expected = self.size(expr, CallPart::Operand(i))?;
                if expected != *size {
                    let message = format!(
                        "{} has shape {dims:?}, but {} needs {expr} = {expected}, not {size}{}",
                        self.names[i],
                        operand.shape,
                        self.with_values(&[expr])
                    );
                    return mismatch(MismatchKind::Shape, CallPart::Operand(i), message);
                }
            }
        }
        Ok(())
    }

    fn check_conditions(&self) -> Result {
        for clause in &self.signature.clauses {
            let Clause::Condition(left, comparison, right) = clause else { continue };
            let (left_size, right_size) =
                (self.size(left, CallPart::Call)?, self.size(right, CallPart::Call)?);
            let holds = S::compare(*comparison, &left_size, &right_size);
            let holds = holds.or_else(|_| {
                let message = format!("{clause} may not hold{}", self.with_values(&[left, right]));
                mismatch(MismatchKind::Open, CallPart::Call, message)
            })?;
            if !holds {
                let message = format!("{clause} does not hold{}", self.with_values(&[left, right]));
                return mismatch(MismatchKind::Shape, CallPart::Call, message);
            }
        }
        Ok(())
    }

    fn results(&self) -> Result<Vec<ResultType<S>>> {
        let mut results = Vec::new();
        for (decl, result) in self.signature.results.iter().enumerate() {
            let declared = |name: &Option<Name>| {
                name.as_ref().and_then(|n| self.signature.operands.iter().position(|o| o.name.text == n.text))
            };
            if declared(&result.condition).is_some_and(|slot| !self.slots.contains(&slot)) {
                continue;
            }
            let alias = declared(&result.aliases).and_then(|slot| self.slots.iter().position(|s| *s == slot));
            let count = if result.variadic { self.signature.entries(&self.slots) } else { 1 };
            for entry in 0..count {
                let dtype = self.result_dtype(decl, result)?;
                let dims = self.result_dims(decl, result, entry)?;
                let minor_to_major = result.layout.minor_to_major(dims.len());
                results.push(ResultType { decl, dtype, dims, aliases: alias, minor_to_major });
            }
        }
        Ok(results)
    }

    /// Sets the dimensions of `[..]` results: the dimensions of the aliased operand, or the dimensions
    /// computed by the shape function.
    fn any_results(
        &self,
        results: &mut [ResultType<S>],
        shapes: impl FnOnce(&AttrValues, &[String]) -> std::result::Result<Vec<Vec<S>>, String>,
    ) -> Result {
        let mut unknown: Vec<(usize, String)> = Vec::new();
        for i in 0..results.len() {
            let (decl, first) = (results[i].decl, i == 0 || results[i - 1].decl != results[i].decl);
            let declared = &self.signature.results[decl];
            if declared.shape.any.is_none() {
                continue;
            }
            if let Some(operand) = results[i].aliases {
                results[i].dims = self.given[operand].dims.to_vec();
                results[i].minor_to_major = (0..results[i].dims.len()).rev().collect();
                continue;
            }
            let entry = if first { 0 } else { results[..i].iter().filter(|r| r.decl == decl).count() };
            unknown.push((
                i,
                if declared.variadic {
                    format!("{}[{entry}]", declared.name)
                } else {
                    declared.name.text.clone()
                },
            ));
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = unknown.iter().map(|(_, name)| name.clone()).collect();
        let given = match shapes(self.attrs, &names) {
            Ok(given) => given,
            Err(message) => return mismatch(MismatchKind::Shape, CallPart::Call, message),
        };
        if given.len() != names.len() {
            let message = format!(
                "the shape function returns {}, but the call has {} ({})",
                counted(given.len(), "shape"),
                names.len(),
                names.join(", ")
            );
            return mismatch(MismatchKind::Shape, CallPart::Call, message);
        }
        for ((i, name), dims) in unknown.into_iter().zip(given) {
            let place = CallPart::Result(results[i].decl);
            if dims.len() > MAX_RANK {
                let message = format!(
                    "the shape function returns {name} {} dimensions; the maximum is {MAX_RANK}",
                    dims.len()
                );
                return mismatch(MismatchKind::Shape, place, message);
            }
            if dims.iter().any(|d| d.known().is_some_and(|d| d < 0)) {
                let message = format!(
                    "the shape function returns {name} the shape {dims:?}, with a negative dimension"
                );
                return mismatch(MismatchKind::Shape, place, message);
            }
            results[i].minor_to_major = (0..dims.len()).rev().collect();
            results[i].dims = dims;
        }
        Ok(())
    }

    fn result_dtype(&self, decl: usize, result: &ResultDecl) -> Result<DType> {
        let base = match result.element.variable() {
            // The type has no variable, so `apply` ignores its argument.
            None => Some(DType::F32),
            Some(variable) => self.types.get(variable.text.as_str()).map(|b| b.dtype),
        };
        match base.and_then(|base| result.element.apply(base)) {
            Some(dtype) => Ok(dtype),
            None => mismatch(
                MismatchKind::Count,
                CallPart::Result(decl),
                self.needs_one(&result.element.to_string()),
            ),
        }
    }

    fn result_dims(&self, decl: usize, result: &ResultDecl, entry: usize) -> Result<Vec<S>> {
        let place = CallPart::Result(decl);
        let mut dims = match (result.shape.batch, self.batch) {
            (None, _) => Vec::new(),
            (Some(_), Some((batch, _))) => batch.to_vec(),
            (Some(_), None) => return mismatch(MismatchKind::Count, place, self.needs_one("*")),
        };
        for dim in &result.shape.dims {
            let size = match dim {
                DimDecl::Size(expr) => self.size(expr, place.clone())?,
                DimDecl::Each(name) => match self.each.get(name.text.as_str()).and_then(|s| s.get(entry)) {
                    Some(size) => size.clone(),
                    None => return mismatch(MismatchKind::Count, place, self.needs_one(&name.text)),
                },
            };
            let fits = S::compare(Comparison::Ge, &size, &S::of(0));
            if fits != Ok(true) {
                let values = match dim {
                    DimDecl::Size(expr) => self.with_values(&[expr]),
                    DimDecl::Each(_) => String::new(),
                };
                let message = format!("{} would have the size {dim} = {size}{values}", result.name);
                return match fits {
                    Ok(_) => mismatch(MismatchKind::Shape, place, message),
                    Err(_) => {
                        mismatch(MismatchKind::Open, place, format!("{message}, which may be negative"))
                    }
                };
            }
            dims.push(size);
        }
        Ok(dims)
    }

    /// Formats the error for a name without a value. A name has no value only if a variadic operand has no
    /// entries.
    fn needs_one(&self, what: &str) -> String {
        match self.signature.operands.iter().find(|o| o.arity == Arity::Variadic) {
            Some(operand) => format!("{what} is not known without at least one of {}", operand.name),
            None => format!("{what} is not known"),
        }
    }
}
