//! Checks calls of ops that have a signature against the signature, and fills in attributes that have
//! defaults.
//!
//! Errors use the op's own names: `rms_norm: scale has n = 64 but x has n = 128`.

use std::borrow::Cow;

use farcall_ir::op::{CallConfig, CustomCall};
use farcall_ir::{AttrDict, Attribute, TensorType, Type};
use farcall_sig::signature::{CallFactors, DimDecl, Expr, ExprFn, Inference, OperandType};
use farcall_sig::{AttrType, AttrValue, AttrValues, DType, Signature};

use farcall_host::attributes::value;

use farcall_host::registry::Declaration;

/// Returns the call as the op receives it: with default attributes, and with a side effect if the op declares
/// one.
///
/// # Errors
/// A description of the mismatch, without the op's name.
pub(super) fn check<'c>(
    declaration: &Declaration,
    call: &'c CustomCall,
    operands: &[Type],
    results: &[Type],
) -> Result<Cow<'c, CustomCall>, String> {
    let none = AttrDict::new();
    let given = match &call.config {
        CallConfig::Dict(dict) => dict,
        CallConfig::Absent | CallConfig::Text(_) => &none,
    };
    let attrs = values(given)?;
    let tensors = tensors(operands);
    let dims: Vec<Vec<i64>> = tensors.iter().map(|t| dims(t)).collect();
    let types: Vec<OperandType<'_>> =
        tensors.iter().zip(&dims).map(|(t, dims)| OperandType { dtype: t.dtype, dims }).collect();
    let signature = &declaration.signature;
    let inference = infer(declaration, &types, attrs, results)?;
    check_layouts(signature, &inference, call, &tensors)?;

    let defaults: Vec<(&str, &AttrValue)> =
        inference.attrs.iter().filter(|(name, _)| !given.contains_key(name)).collect();
    let has_side_effect = signature.has_side_effect();
    if defaults.is_empty() && call.has_side_effect >= has_side_effect {
        return Ok(Cow::Borrowed(call));
    }
    let mut call = call.clone();
    call.has_side_effect |= has_side_effect;
    if !defaults.is_empty() {
        let mut all = given.clone();
        for (name, value) in defaults {
            all.insert(
                name.to_owned(),
                Attribute::try_from(value).map_err(|e| format!("attribute {name}: {e}"))?,
            );
        }
        call.config = CallConfig::Dict(all);
        // Only the typed API has attributes.
        call.api_version = call.api_version.map(|_| 4);
    }
    Ok(Cow::Owned(call))
}

/// Returns the factors of a call: the dimensions that devices may divide. `None` if the call does not match the
/// op's signature.
pub(super) fn factors(
    declaration: &Declaration,
    call: &CustomCall,
    operands: &[Type],
    results: &[Type],
) -> Option<CallFactors> {
    let attrs = match &call.config {
        CallConfig::Dict(dict) => values(dict).ok()?,
        CallConfig::Absent | CallConfig::Text(_) => AttrValues::default(),
    };
    let tensors = tensors(operands);
    let dims: Vec<Vec<i64>> = tensors.iter().map(|t| dims(t)).collect();
    let types: Vec<OperandType<'_>> =
        tensors.iter().zip(&dims).map(|(t, dims)| OperandType { dtype: t.dtype, dims }).collect();
    let inference = infer(declaration, &types, attrs, results).ok()?;
    Some(declaration.signature.call_factors(&types, &inference))
}

/// Converts attributes to values.
fn values(attrs: &AttrDict) -> Result<AttrValues, String> {
    let value = |(name, attr): (&String, &Attribute)| match value(attr) {
        Some(value) => Ok((name.clone(), value)),
        None => Err(format!(
            "attribute {name} is neither a number, a string, an array of numbers nor a dictionary"
        )),
    };
    attrs.iter().map(value).collect()
}

/// Infers the results of a call from its operands and attributes, and checks them against the call's results.
fn infer(
    declaration: &Declaration,
    operands: &[OperandType<'_>],
    mut attrs: AttrValues,
    results: &[Type],
) -> Result<Inference, String> {
    let signature = &declaration.signature;
    let inference = declaration.infer(operands, &attrs).map_err(|mismatch| mismatch.message)?;
    let Err(misfit) = check_results(signature, &inference, results) else { return Ok(inference) };
    let mut sizes = sizes_that_are_attributes(signature, &tensors(results));
    sizes.retain(|(name, _)| attrs.get(name).is_none());
    if sizes.is_empty() {
        return Err(misfit);
    }
    for (name, value) in sizes {
        attrs.insert(name, value);
    }
    let inference = declaration.infer(operands, &attrs).map_err(|_| misfit.clone())?;
    check_results(signature, &inference, results).map_err(|_| misfit)?;
    Ok(inference)
}

/// Returns attributes that follow from the sizes of the results. (A front end may state a size, such as a
/// number of columns, by the result types alone.) The size of a dimension determines an attribute if the
/// signature declares that size as the attribute itself (`k`), or with the attribute as its lower bound
/// (`max(k, n)`).
fn sizes_that_are_attributes(signature: &Signature, results: &[&TensorType]) -> Vec<(String, AttrValue)> {
    let mut found = Vec::new();
    for (declared, result) in signature.results().iter().zip(results) {
        let sizes = dims(result);
        for (dim, size) in declared.shape.dims.iter().rev().zip(sizes.into_iter().rev()) {
            let name = match dim {
                DimDecl::Size(Expr::Name(name)) => name,
                DimDecl::Size(Expr::Call(ExprFn::Max, arguments, _)) => match arguments.as_slice() {
                    [Expr::Name(name), ..] => name,
                    _ => continue,
                },
                _ => continue,
            };
            let attr = signature.attrs().iter().find(|attr| attr.name.text == name.text);
            let Some(AttrType::Scalar(ty)) = attr.map(|attr| &attr.ty) else { continue };
            found.push((name.text.clone(), AttrValue::Int(size.into(), *ty)));
        }
    }
    found
}

fn check_results(signature: &Signature, inference: &Inference, results: &[Type]) -> Result<(), String> {
    let results = tensors(results);
    let names: Vec<&str> =
        inference.results.iter().map(|r| signature.results()[r.decl].name.text.as_str()).collect();
    if results.len() != names.len() {
        let gives = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        let count = names.len();
        return Err(format!(
            "returns {count} result{} ({gives}), but the call has {}",
            if count == 1 { "" } else { "s" },
            results.len()
        ));
    }
    for ((declared, found), name) in inference.results.iter().zip(results).zip(names) {
        if declared.dtype != found.dtype || declared.dims != dims(found) {
            let expected = short(declared.dtype, &declared.dims);
            let found = short(found.dtype, &dims(found));
            return Err(format!("{name} is {expected}, but the call's result is {found}"));
        }
    }
    Ok(())
}

/// Checks that operands and results have the layouts that the op declares. Values in tuples, whose layouts
/// cannot be determined, are not checked.
fn check_layouts(
    signature: &Signature,
    inference: &Inference,
    call: &CustomCall,
    operands: &[&TensorType],
) -> Result<(), String> {
    let names = inference.operands.iter().map(|slot| &signature.operands()[*slot].name.text);
    let ranks = operands.iter().map(|t| t.rank());
    let operands = names.zip(&inference.operand_layouts).zip(ranks);
    let found = call.operand_layouts.as_deref();
    let one = operands.enumerate().map(|(i, ((name, layout), rank))| (i, name, layout, rank, found));
    let names = inference.results.iter().map(|r| (&signature.results()[r.decl].name.text, r));
    let found = call.result_layouts.as_deref();
    let other = names.enumerate().map(|(i, (name, r))| (i, name, &r.minor_to_major, r.dims.len(), found));
    for (i, name, wanted, rank, found) in one.chain(other) {
        let row_major: Vec<usize> = (0..rank).rev().collect();
        let found = found.and_then(|layouts| layouts.get(i)).unwrap_or(&row_major);
        if found.len() == rank && found != wanted {
            return Err(format!(
                "{name} must have the layout {wanted:?} (minor to major), but the call has {found:?}"
            ));
        }
    }
    Ok(())
}

/// Returns the types of the tensors in values of these types. Tokens are left out, since they are not
/// operands of an op.
fn tensors(types: &[Type]) -> Vec<&TensorType> {
    types.iter().flat_map(Type::tensors).collect()
}

fn dims(ty: &TensorType) -> Vec<i64> {
    ty.sizes().iter().map(|d| i64::try_from(*d).unwrap_or(i64::MAX)).collect()
}

/// Formats a type: `f32[2, 64]`.
fn short(dtype: DType, dims: &[i64]) -> String {
    let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
    format!("{dtype}[{}]", dims.join(", "))
}
