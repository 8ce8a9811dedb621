//! Infers the types of a call's results from its operands and attributes, or returns a message that uses the op's own
//! names.
//!
//! Sizes are numbers, or open ones of a host ([`Size`]). Nothing panics or overflows, whatever they are.

use std::collections::BTreeMap;
use std::fmt;

use super::Signature;
use super::ast::*;
use super::size::{Size, SizeError};
use crate::attr::{AttrType, AttrValue, Attrs};
use crate::dtype::DType;
use crate::nearest::nearest;

/// The type of an operand that a call gives.
#[derive(PartialEq, Eq, Debug)]
pub struct OperandType<'a, S = i64> {
    /// Its element type.
    pub dtype: DType,
    /// Its dimensions, batch dimensions first.
    pub dims: &'a [S],
}

impl<S> Clone for OperandType<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for OperandType<'_, S> {}

/// The type of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultType<S = i64> {
    /// Which of [`Signature::results`] it is.
    pub decl: usize,
    /// Its element type.
    pub dtype: DType,
    /// Its dimensions, batch dimensions first.
    pub dims: Vec<S>,
    /// The operand of the call whose buffer it is in.
    pub aliases: Option<usize>,
    /// Its dimensions from the fastest in memory to the slowest.
    pub minor_to_major: Vec<usize>,
}

/// All that a signature says about one call.
#[derive(Clone, PartialEq, Debug)]
pub struct Inference<S = i64> {
    /// The results of the call. An optional one that is absent is left out; a variadic one is several.
    pub results: Vec<ResultType<S>>,
    /// For each operand of the call, which of [`Signature::operands`] it is.
    pub operands: Vec<usize>,
    /// For each operand, its dimensions from the fastest in memory to the slowest.
    pub operand_layouts: Vec<Vec<usize>>,
    /// What `*` stands for.
    pub batch: Vec<S>,
    /// The named dimensions and their sizes, without those that have several.
    pub dims: BTreeMap<String, S>,
    /// The type variables and what they stand for.
    pub types: BTreeMap<String, DType>,
    /// All attributes in the order of [`Signature::attrs`], with defaults filled in.
    pub attrs: Attrs,
}

/// Why a call does not fit a signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The kind of error.
    pub kind: MismatchKind,
    /// What it is about.
    pub place: Place,
    /// What is wrong, without the op's name.
    pub message: String,
}

/// The kind of a mismatch, for hosts whose languages tell type errors from value errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MismatchKind {
    /// Too few or too many operands.
    Count,
    /// An element type.
    Type,
    /// A number of dimensions, a size, or a condition on sizes.
    Shape,
    /// An attribute that is missing or not known.
    AttrName,
    /// An attribute of the wrong type.
    AttrType,
    /// An op that cannot be vmapped.
    Batching,
    /// Something that does not follow as long as sizes are open.
    Open,
}

/// What a mismatch is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// The call as a whole.
    Call,
    /// The operand of the call with this number.
    Operand(usize),
    /// The attribute of this name.
    Attr(String),
    /// The declared result with this number.
    Result(usize),
}

impl Mismatch {
    /// The message with the op's name: `rms_norm: scale has n = 64 but x has n = 128`.
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

fn mismatch<T>(kind: MismatchKind, place: Place, message: String) -> Result<T> {
    Err(Mismatch { kind, place, message })
}

impl Signature {
    /// The types of the results of a call, and what its names stand for.
    ///
    /// Attributes must be of exactly the declared types ([`Signature::convert_attrs`] brings them there).
    /// Defaults stand in for those that are not given.
    ///
    /// # Errors
    /// The first thing that does not fit, in the order operand count, attributes, operands from left to
    /// right, conditions, results; or that cannot be said while sizes are open ([`MismatchKind::Open`]).
    pub fn infer<S: Size>(&self, operands: &[OperandType<'_, S>], attrs: &Attrs) -> Result<Inference<S>> {
        self.infer_with(operands, attrs, |_, results| match results {
            [] => Ok(Vec::new()),
            [name, ..] => Err(format!("the shape of {name} is given by a shape function, which is missing")),
        })
    }

    /// As [`infer`](Self::infer), with the op's shape function. It is given all attributes and the names of the
    /// results whose dimensions it says (`[..]`, unless they alias an operand), one for each of the call; it is
    /// not called where there are none, nor for a call that does not fit the rest of the signature.
    ///
    /// # Errors
    /// As for `infer`; the function's own, and what is wrong with what it gave.
    pub fn infer_with<S: Size>(
        &self,
        operands: &[OperandType<'_, S>],
        attrs: &Attrs,
        shapes: impl FnOnce(&Attrs, &[String]) -> std::result::Result<Vec<Vec<S>>, String>,
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

    /// For each operand of a call with `count` of them, which of [`Signature::operands`] it is.
    ///
    /// # Errors
    /// If a call cannot have this number.
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
        mismatch(MismatchKind::Count, Place::Call, format!("takes {takes}{names}, but is given {count}"))
    }

    /// How many operands are variadic: all of them at the end, each with the same number of entries.
    pub(super) fn variadic_operands(&self) -> usize {
        self.operands.iter().rev().take_while(|o| o.arity == Arity::Variadic).count()
    }

    /// How many entries each variadic operand has in a call with these operands.
    fn entries(&self, slots: &[usize]) -> usize {
        match self.variadic_operands() {
            0 => 0,
            lists => (slots.len() + lists - self.operands.len()) / lists,
        }
    }

    /// For each result of a call with `count` operands, which of [`Signature::results`] it is. An optional one that is
    /// not there is left out; a variadic one is one for each entry of the variadic operands.
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

    /// Names of the operands of a call with `count` of them: `x`, `xs[0]`.
    ///
    /// # Errors
    /// If a call cannot have this number.
    pub fn operand_names(&self, count: usize) -> Result<Vec<String>> {
        Ok(slot_names(self, &self.operand_slots(count)?))
    }

    /// The attributes of a call brought to the declared types where nothing is lost (see
    /// [`AttrType::convert`]), with defaults filled in, in the order of [`Signature::attrs`]: what a language with one
    /// type of number calls before [`Signature::infer`] and before it encodes the call.
    ///
    /// # Errors
    /// An attribute that is missing, not known, or of another type.
    pub fn convert_attrs(&self, given: &Attrs) -> Result<Attrs> {
        self.collect_attrs(given, |ty, value| ty.convert(value))
    }

    fn complete_attrs(&self, given: &Attrs) -> Result<Attrs> {
        self.collect_attrs(given, |ty, value| match ty.accepts(value) {
            true => Ok(value.clone()),
            false => Err(ty.complaint(value)),
        })
    }

    fn collect_attrs(
        &self,
        given: &Attrs,
        take: impl Fn(&AttrType, &AttrValue) -> std::result::Result<AttrValue, String>,
    ) -> Result<Attrs> {
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
                let place = Place::Attr(name.into());
                return mismatch(
                    MismatchKind::AttrName,
                    place,
                    format!("there is no attribute {name}{hint}"),
                );
            }
        }
        let mut attrs = Attrs::new();
        for attr in &self.attrs {
            let name = attr.name.text.as_str();
            let place = || Place::Attr(name.into());
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

/// Dimensions of a tensor at most, where a function says them.
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

/// Which entry of its variadic operand an operand of a call is, 0 for any other.
pub(super) fn entry(slots: &[usize], i: usize) -> usize {
    i - slots.partition_point(|slot| *slot < slots[i])
}

/// What a type variable stands for, and which operand said so.
struct BoundType {
    dtype: DType,
    giver: usize,
}

/// One call, while what its names stand for is found.
struct Call<'a, S> {
    signature: &'a Signature,
    given: &'a [OperandType<'a, S>],
    names: Vec<String>,
    slots: Vec<usize>,
    attrs: &'a Attrs,
    /// The batch dimensions, and the operand that gave them first.
    batch: Option<(&'a [S], usize)>,
    /// Size of each dimension, and the operand that gave it first.
    dims: BTreeMap<&'a str, (S, usize)>,
    /// Sizes of dimensions with dots, one for each entry of the variadic operands.
    each: BTreeMap<&'a str, Vec<S>>,
    types: BTreeMap<&'a str, BoundType>,
}

impl<'a, S: Size> Call<'a, S> {
    /// Operands from left to right: ranks, element types, batch dimensions, names that stand alone.
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
                        return mismatch(MismatchKind::Shape, Place::Operand(i), message);
                    }
                    Some(_) => {}
                }
            }
            self.bind_dims(i, operand, dims)?;
        }
        Ok(())
    }

    fn check_rank(&self, i: usize, operand: &Operand, dims: &[S]) -> Result {
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
            return mismatch(MismatchKind::Shape, Place::Operand(i), message);
        }
        match dims.iter().position(|d| d.known().is_some_and(|d| d < 0)) {
            None => Ok(()),
            Some(_) => {
                let message = format!("{name} has shape {dims:?}, with a negative dimension");
                mismatch(MismatchKind::Shape, Place::Operand(i), message)
            }
        }
    }

    fn bind_type(&mut self, i: usize, element: &'a ElementType) -> Result {
        let dtype = self.given[i].dtype;
        let name = &self.names[i];
        let wrong = |message| mismatch(MismatchKind::Type, Place::Operand(i), message);
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
            // Several types give this one: an operand further right decides.
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
        mismatch(MismatchKind::Type, Place::Operand(i), message)
    }

    /// Types that were read before their variable was known.
    fn check_derived_types(&self) -> Result {
        for (i, slot) in self.slots.iter().enumerate() {
            let element = &self.signature.operands[*slot].element;
            if let Some(variable) = element.variable() {
                self.check_type(i, element, variable)?;
            }
        }
        Ok(())
    }

    fn bind_dims(&mut self, i: usize, operand: &'a Operand, sizes: &[S]) -> Result {
        let variadic = operand.arity == Arity::Variadic;
        let entry = entry(&self.slots, i);
        for (k, (dim, size)) in operand.shape.dims.iter().zip(sizes).enumerate() {
            let shape = || format!("{} has shape {:?}", self.names[i], self.given[i].dims);
            match dim {
                Dim::Size(Expr::Literal(literal, _)) if S::of(*literal) != *size => {
                    let message =
                        format!("{}, but its dimension {k} of {} must be {literal}", shape(), operand.shape);
                    return mismatch(MismatchKind::Shape, Place::Operand(i), message);
                }
                Dim::Size(Expr::Name(name)) => {
                    let name = name.text.as_str();
                    if let Some(value) = self.attr_size(name) {
                        if size.known().map(i128::from) != Some(value) {
                            let message = format!(
                                "{} has {name} = {size} but attribute {name} is {value}",
                                self.names[i]
                            );
                            return mismatch(MismatchKind::Shape, Place::Operand(i), message);
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
                        return mismatch(MismatchKind::Shape, Place::Operand(i), message);
                    }
                }
                Dim::Size(_) => {}
                Dim::Each(name) if variadic => {
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
                            return mismatch(MismatchKind::Shape, Place::Operand(i), message);
                        }
                        Some(_) => {}
                    }
                }
                Dim::Each(_) => {}
            }
        }
        Ok(())
    }

    /// Operand dimensions that are expressions, once every name is known.
    fn check_expressions(&self) -> Result {
        for (i, slot) in self.slots.iter().enumerate() {
            let operand = &self.signature.operands[*slot];
            let dims = self.given[i].dims;
            let sizes = &dims[dims.len() - operand.shape.dims.len()..];
            for (dim, size) in operand.shape.dims.iter().zip(sizes) {
                let Dim::Size(expr @ (Expr::Binary(..) | Expr::Call(..) | Expr::Fold(..) | Expr::Len(_))) =
                    dim
                else {
                    continue;
                };
                let expected = self.size(expr, Place::Operand(i))?;
                if expected != *size {
                    let message = format!(
                        "{} has shape {dims:?}, but {} needs {expr} = {expected}, not {size}{}",
                        self.names[i],
                        operand.shape,
                        self.with_values(&[expr])
                    );
                    return mismatch(MismatchKind::Shape, Place::Operand(i), message);
                }
            }
        }
        Ok(())
    }

    fn check_conditions(&self) -> Result {
        for clause in &self.signature.clauses {
            let Clause::Condition(left, comparison, right) = clause else { continue };
            let (left_size, right_size) = (self.size(left, Place::Call)?, self.size(right, Place::Call)?);
            let holds = S::compare(*comparison, &left_size, &right_size);
            let holds = holds.or_else(|_| {
                let message = format!("{clause} may not hold{}", self.with_values(&[left, right]));
                mismatch(MismatchKind::Open, Place::Call, message)
            })?;
            if !holds {
                let message = format!("{clause} does not hold{}", self.with_values(&[left, right]));
                return mismatch(MismatchKind::Shape, Place::Call, message);
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

    /// The dimensions of results that can have any: an aliased operand's, or what the shape function says.
    fn any_results(
        &self,
        results: &mut [ResultType<S>],
        shapes: impl FnOnce(&Attrs, &[String]) -> std::result::Result<Vec<Vec<S>>, String>,
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
            Err(message) => return mismatch(MismatchKind::Shape, Place::Call, message),
        };
        if given.len() != names.len() {
            let message = format!(
                "the shape function returns {}, but the call has {} ({})",
                counted(given.len(), "shape"),
                names.len(),
                names.join(", ")
            );
            return mismatch(MismatchKind::Shape, Place::Call, message);
        }
        for ((i, name), dims) in unknown.into_iter().zip(given) {
            let place = Place::Result(results[i].decl);
            if dims.len() > MAX_RANK {
                let message = format!(
                    "the shape function returns {name} {} dimensions; {MAX_RANK} is the most",
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
            // The base is fixed; what is passed is not used.
            None => Some(DType::F32),
            Some(variable) => self.types.get(variable.text.as_str()).map(|b| b.dtype),
        };
        match base.and_then(|base| result.element.apply(base)) {
            Some(dtype) => Ok(dtype),
            None => mismatch(
                MismatchKind::Count,
                Place::Result(decl),
                self.needs_one(&result.element.to_string()),
            ),
        }
    }

    fn result_dims(&self, decl: usize, result: &ResultDecl, entry: usize) -> Result<Vec<S>> {
        let place = Place::Result(decl);
        let mut dims = match (result.shape.batch, self.batch) {
            (None, _) => Vec::new(),
            (Some(_), Some((batch, _))) => batch.to_vec(),
            (Some(_), None) => return mismatch(MismatchKind::Count, place, self.needs_one("*")),
        };
        for dim in &result.shape.dims {
            let size = match dim {
                Dim::Size(expr) => self.size(expr, place.clone())?,
                Dim::Each(name) => match self.each.get(name.text.as_str()).and_then(|s| s.get(entry)) {
                    Some(size) => size.clone(),
                    None => return mismatch(MismatchKind::Count, place, self.needs_one(&name.text)),
                },
            };
            let fits = S::compare(Comparison::Ge, &size, &S::of(0));
            if fits != Ok(true) {
                let values = match dim {
                    Dim::Size(expr) => self.with_values(&[expr]),
                    Dim::Each(_) => String::new(),
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

    /// A name is unknown only because no variadic operand was given.
    fn needs_one(&self, what: &str) -> String {
        match self.signature.operands.iter().find(|o| o.arity == Arity::Variadic) {
            Some(operand) => format!("{what} is not known without at least one of {}", operand.name),
            None => format!("{what} is not known"),
        }
    }

    /// The value of an integer attribute.
    fn attr_size(&self, name: &str) -> Option<i128> {
        self.attrs.get(name)?.as_int()
    }

    fn size(&self, expr: &Expr, place: Place) -> Result<S> {
        match self.eval(expr) {
            Ok(size) => Ok(size),
            Err(EvalError::Unknown(name)) => mismatch(MismatchKind::Count, place, self.needs_one(&name)),
            Err(EvalError::Size(error)) => {
                let values = self.with_values(&[expr]);
                let (kind, what) = match error {
                    SizeError::Overflow => (MismatchKind::Shape, "is too large"),
                    SizeError::DivisionByZero => (MismatchKind::Shape, "divides by zero"),
                    SizeError::Open => (MismatchKind::Open, "has no value yet"),
                };
                mismatch(kind, place, format!("{expr} {what}{values}"))
            }
        }
    }

    fn eval(&self, expr: &Expr) -> std::result::Result<S, EvalError> {
        match expr {
            Expr::Literal(value, _) => Ok(S::of(*value)),
            Expr::Name(name) => match (self.attr_size(&name.text), self.dims.get(name.text.as_str())) {
                (Some(value), _) => number(value),
                (None, Some((size, _))) => Ok(size.clone()),
                (None, None) => Err(EvalError::Unknown(name.text.clone())),
            },
            Expr::Binary(op, left, right) => Ok(S::compute(*op, &self.eval(left)?, &self.eval(right)?)?),
            Expr::Call(function, arguments, _) => {
                let values =
                    arguments.iter().map(|a| self.eval(a)).collect::<std::result::Result<Vec<_>, _>>()?;
                match (function, values.as_slice()) {
                    (Function::CeilDiv, [left, right]) => {
                        let negated = |size| S::compute(BinaryOp::Sub, &S::of(0), size);
                        Ok(negated(&S::compute(BinaryOp::Div, &negated(left)?, right)?)?)
                    }
                    (Function::Min, values) => extreme(false, values, expr),
                    (Function::Max | Function::CeilDiv, values) => extreme(true, values, expr),
                }
            }
            Expr::Fold(fold, name) => {
                let sizes = self.each.get(name.text.as_str()).map_or(&[][..], Vec::as_slice);
                match fold {
                    Fold::Sum => {
                        let add = |sum, size| S::compute(BinaryOp::Add, &sum, size);
                        Ok(sizes.iter().try_fold(S::of(0), add)?)
                    }
                    Fold::Min => extreme(false, sizes, expr),
                    Fold::Max => extreme(true, sizes, expr),
                }
            }
            Expr::Len(operand) => {
                let slot = self.signature.operands.iter().position(|o| o.name.text == operand.text);
                let count = self.slots.iter().filter(|s| Some(**s) == slot).count();
                number(count as i128)
            }
        }
    }

    /// ` (n = 3, k = 5)`: what the names of these expressions stand for.
    fn with_values(&self, exprs: &[&Expr]) -> String {
        let mut seen: Vec<String> = Vec::new();
        for expr in exprs {
            if matches!(expr, Expr::Literal(..)) {
                continue;
            }
            expr.visit(&mut |name, folded| {
                let value = match (self.attr_size(&name.text), self.dims.get(name.text.as_str())) {
                    _ if folded => {
                        self.each.get(name.text.as_str()).map(|sizes| format!("{name} = {sizes:?}"))
                    }
                    (Some(value), _) => Some(format!("{name} = {value}")),
                    (None, Some((size, _))) => Some(format!("{name} = {size}")),
                    (None, None) => None,
                };
                seen.extend(value.filter(|value| !seen.contains(value)));
            });
        }
        if seen.is_empty() { String::new() } else { format!(" ({})", seen.join(", ")) }
    }
}

enum EvalError {
    /// A name that only variadic operands determine, of which none was given.
    Unknown(String),
    Size(SizeError),
}

impl From<SizeError> for EvalError {
    fn from(error: SizeError) -> EvalError {
        EvalError::Size(error)
    }
}

fn number<S: Size>(value: i128) -> std::result::Result<S, EvalError> {
    i64::try_from(value).map(S::of).map_err(|_| SizeError::Overflow.into())
}

/// The least of some sizes, or the greatest.
fn extreme<S: Size>(greatest: bool, sizes: &[S], expr: &Expr) -> std::result::Result<S, EvalError> {
    let Some((first, rest)) = sizes.split_first() else { return Err(EvalError::Unknown(expr.to_string())) };
    Ok(rest.iter().try_fold(first.clone(), |best, size| S::extreme(greatest, &best, size))?)
}
