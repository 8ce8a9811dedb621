//! Checks that a lowering's answer, a custom call, can replace the block.

use std::sync::Arc;

use farcall_ffi::lowering::{CallAttr, TargetCall};
use farcall_ir::middle::CompositeCall;
use farcall_ir::op::{CallConfig, CustomCall, OutputAlias};
use farcall_ir::{AttrDict, Attribute, TensorType, Type};
use farcall_sig::{AttrValue, DType};

use super::question::{Question, Tensor};
use crate::declared;
use farcall_host::attributes::value;
use farcall_host::registry::{Declaration, Platform, Registry, Target};

/// A call that cannot replace a block.
pub(super) enum Refused {
    /// This lowering is skipped, and the next lowering is asked.
    Skip(String),
    /// The answer is invalid regardless of the target, so the compilation fails.
    Wrong(String),
}

/// Checks the call that a lowering returned, and resolves its target.
///
/// # Errors
/// If the answer is invalid, or its target is missing or does not accept such a call.
pub(super) fn checked(
    made: TargetCall,
    question: &Question<'_>,
    registry: &Registry,
    platform: &Platform,
) -> Result<(CompositeCall, Arc<Target>), Refused> {
    let operands = converted("operand", &question.operands, &made.operand_types, Direction::In)?;
    let results = converted("result", &question.results, &made.result_types, Direction::Out)?;
    let operand_layouts = layouts("operand", &operands, &made.operand_layouts)?;
    let result_layouts = layouts("result", &results, &made.result_layouts)?;
    // A call has layouts for both operands and results, or none at all.
    let laid_out = !(made.operand_layouts.is_empty() && made.result_layouts.is_empty());
    let mut call = CustomCall {
        operand_layouts: laid_out.then_some(operand_layouts),
        result_layouts: laid_out.then_some(result_layouts),
        aliases: aliases(&made.aliases, &operands, &results)?,
        config: config(&made.attrs)?,
        has_side_effect: made.has_side_effect,
        ..CustomCall::new(made.target)
    };
    let target = registry.resolve(&call, platform).map_err(|e| Refused::Skip(e.message))?;
    if let Some(declaration) = target.declaration() {
        exact(&mut call, &made.attrs, declaration);
        options(&mut call, question, declaration);
        let types = |types: &[TensorType]| types.iter().cloned().map(Type::Tensor).collect::<Vec<_>>();
        declared::check(declaration, &call, &types(&operands), &types(&results))
            .map_err(|message| Refused::Skip(format!("{}: {message}", call.target)))?;
    }
    Ok((CompositeCall { call, operands, results }, target))
}

/// Checks a call with the types of the block, and resolves its target.
///
/// # Errors
/// If the target is missing or does not accept such a call.
pub(super) fn accepted(
    call: CustomCall,
    question: &Question<'_>,
    registry: &Registry,
    platform: &Platform,
) -> Result<(CompositeCall, Arc<Target>), String> {
    let target = registry.resolve(&call, platform).map_err(|e| e.message)?;
    let types = |tensors: &[Tensor<'_>]| tensors.iter().map(|tensor| tensor.ty.clone()).collect::<Vec<_>>();
    let (operands, results) = (types(&question.operands), types(&question.results));
    if let Some(declaration) = target.declaration() {
        let types = |types: &[TensorType]| types.iter().cloned().map(Type::Tensor).collect::<Vec<_>>();
        declared::check(declaration, &call, &types(&operands), &types(&results))?;
    }
    Ok((CompositeCall { call, operands, results }, target))
}

#[derive(Clone, Copy)]
enum Direction {
    /// From the block to the call.
    In,
    /// From the call to the block.
    Out,
}

/// Returns the types of the call's operands or results: the block's types, with the element types that the
/// answer asks for.
fn converted(
    what: &str,
    block: &[Tensor<'_>],
    asked: &[(usize, DType)],
    direction: Direction,
) -> Result<Vec<TensorType>, Refused> {
    let mut types: Vec<TensorType> = block.iter().map(|tensor| tensor.ty.clone()).collect();
    for (index, dtype) in asked {
        let own = get(what, &mut types, *index)?;
        let (from, to) = match direction {
            Direction::In => (own.dtype, *dtype),
            Direction::Out => (*dtype, own.dtype),
        };
        if from.is_complex() && !to.is_complex() {
            return Err(Refused::Wrong(format!(
                "{what} {index} cannot be converted from {from} to {to}, which loses the imaginary part"
            )));
        }
        *own = own.with_dtype(*dtype);
    }
    Ok(types)
}

/// Returns the layouts of all operands or results; row-major unless the answer gives another layout.
fn layouts(
    what: &str,
    types: &[TensorType],
    asked: &[(usize, Vec<usize>)],
) -> Result<Vec<Vec<usize>>, Refused> {
    let mut layouts: Vec<Vec<usize>> = types.iter().map(|ty| (0..ty.rank()).rev().collect()).collect();
    for (index, order) in asked {
        let own = get(what, &mut layouts, *index)?;
        let mut dims = order.clone();
        dims.sort_unstable();
        if !dims.into_iter().eq(0..own.len()) {
            let rank = own.len();
            return Err(Refused::Wrong(format!(
                "{order:?} is not a layout of {what} {index}, which has {rank} dimensions"
            )));
        }
        own.clone_from(order);
    }
    Ok(layouts)
}

/// Returns the results that share memory with operands.
fn aliases(
    asked: &[(usize, usize)],
    operands: &[TensorType],
    results: &[TensorType],
) -> Result<Vec<OutputAlias>, Refused> {
    let mut aliases: Vec<OutputAlias> = Vec::new();
    for (i, (result, operand)) in asked.iter().enumerate() {
        let (to, from) = (at("result", results, *result)?, at("operand", operands, *operand)?);
        if to != from {
            return Err(Refused::Wrong(format!(
                "result {result} cannot share memory with operand {operand}: {to} and {from} are different types"
            )));
        }
        if asked[..i].iter().any(|(r, o)| r == result || o == operand) {
            return Err(Refused::Wrong("an operand can share memory with only one result".to_owned()));
        }
        aliases.push(OutputAlias {
            output_tuple_indices: if results.len() == 1 { Vec::new() } else { vec![*result] },
            operand_index: *operand,
            operand_tuple_indices: Vec::new(),
        });
    }
    Ok(aliases)
}

/// Returns the attributes of the call. Without attributes, there is no dictionary at all, so that typed and
/// untyped targets accept the call.
fn config(attrs: &[(String, CallAttr)]) -> Result<CallConfig, Refused> {
    let mut dict = Vec::with_capacity(attrs.len());
    for (name, attr) in attrs {
        let wrong = |why: String| Refused::Wrong(format!("attribute {name}: {why}"));
        let attr = match attr {
            CallAttr::Value(value) => Attribute::try_from(value).map_err(|e| wrong(e.to_string()))?,
            CallAttr::Text(text) => text.parse::<Attribute>().map_err(|e| {
                let first = e.diagnostics.first().map_or("it is invalid", |d| d.message.as_str());
                wrong(format!("{text:?} is not an attribute in MLIR's syntax: {first}"))
            })?,
        };
        dict.push((name.clone(), attr));
    }
    let dict = AttrDict::unique(dict)
        .map_err(|(_, name)| Refused::Wrong(format!("attribute {name}: it is given twice")))?;
    Ok(if dict.is_empty() { CallConfig::Absent } else { CallConfig::Dict(dict) })
}

/// Adds options of the block that the target declares as attributes, unless the call sets them.
fn options(call: &mut CustomCall, question: &Question<'_>, declaration: &Declaration) {
    let declared = declaration.signature.attrs().iter();
    let open = declared
        .filter(|attr| !matches!(&call.config, CallConfig::Dict(d) if d.contains_key(&attr.name.text)));
    let found: Vec<(String, Attribute)> = open
        .filter_map(|attr| {
            let option = value(question.option(&attr.name.text)?)?;
            Some((attr.name.text.clone(), Attribute::try_from(&attr.ty.convert(&option).ok()?).ok()?))
        })
        .collect();
    if found.is_empty() {
        return;
    }
    match &mut call.config {
        CallConfig::Dict(dict) => dict.extend(found),
        config => *config = CallConfig::Dict(found.into_iter().collect()),
    }
}

/// Converts attributes to the types that the target declares, if they were given as values and the conversion
/// is lossless.
fn exact(call: &mut CustomCall, given: &[(String, CallAttr)], declaration: &Declaration) {
    let CallConfig::Dict(dict) = &mut call.config else { return };
    let declared = declaration.signature.attrs();
    let exact = |name: &str, value: &AttrValue| {
        let ty = &declared.iter().find(|attr| attr.name.text == name)?.ty;
        Attribute::try_from(&ty.convert(value).ok()?).ok()
    };
    for (name, attr) in given {
        if let CallAttr::Value(value) = attr
            && let Some(attr) = exact(name, value)
        {
            dict.insert(name.clone(), attr);
        }
    }
}

fn get<'t, T>(what: &str, all: &'t mut [T], index: usize) -> Result<&'t mut T, Refused> {
    let count = all.len();
    all.get_mut(index).ok_or_else(|| missing(what, index, count))
}

fn at<'t, T>(what: &str, all: &'t [T], index: usize) -> Result<&'t T, Refused> {
    all.get(index).ok_or_else(|| missing(what, index, all.len()))
}

fn missing(what: &str, index: usize, count: usize) -> Refused {
    let has = if count == 1 { "has one".to_owned() } else { format!("has {count}") };
    Refused::Wrong(format!("there is no {what} {index}: the block {has}"))
}
