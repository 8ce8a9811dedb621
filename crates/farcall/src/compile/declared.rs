//! Calls of ops with a signature: whether a call fits what the op declares, and the call with the
//! attributes that it leaves to the op's defaults.
//!
//! What does not fit is said in the op's words: `rms_norm: scale has n = 64 but x has n = 128`.

use std::borrow::Cow;

use farcall_ir::attr::IntKind;
use farcall_ir::op::{CallConfig, CustomCall};
use farcall_ir::{Attr, AttrDict, Literal, Scalar, TensorType, Type};
use farcall_sig::signature::{Inference, OperandType};
use farcall_sig::{AttrValue, Attrs, DType, ScalarType, Signature};

/// The call as the op gets it: with defaults, and with a side effect if the op has one.
///
/// # Errors
/// What does not fit, without the op's name.
pub(super) fn check<'c>(
    signature: &Signature,
    call: &'c CustomCall,
    operands: &[Type],
    results: &[Type],
) -> Result<Cow<'c, CustomCall>, String> {
    let none = AttrDict::new();
    let given = match &call.config {
        CallConfig::Dict(dict) => dict,
        CallConfig::Absent | CallConfig::Text(_) => &none,
    };
    let mut attrs = Attrs::new();
    for (name, attr) in given {
        let value = value(attr).ok_or_else(|| {
            format!("attribute {name} is neither a number, a text, an array of numbers nor a dictionary")
        })?;
        attrs.insert(name, value);
    }
    let tensors = tensors(operands);
    let dims: Vec<Vec<i64>> = tensors.iter().map(|t| dims(t)).collect();
    let types: Vec<OperandType<'_>> =
        tensors.iter().zip(&dims).map(|(t, dims)| OperandType { dtype: t.dtype, dims }).collect();
    let inference = signature.infer(&types, &attrs).map_err(|mismatch| mismatch.message)?;
    check_results(signature, &inference, results)?;
    check_layouts(signature, &inference, call, &tensors)?;

    let defaults: Vec<(&str, &AttrValue)> =
        inference.attrs.iter().filter(|(name, _)| !given.contains_key(*name)).collect();
    let has_side_effect = signature.has_side_effect();
    if defaults.is_empty() && call.has_side_effect >= has_side_effect {
        return Ok(Cow::Borrowed(call));
    }
    let mut call = call.clone();
    call.has_side_effect |= has_side_effect;
    if !defaults.is_empty() {
        let defaults = defaults.into_iter().map(|(name, value)| (name.to_owned(), attr(value)));
        call.config = CallConfig::Dict(given.clone().into_iter().chain(defaults).collect());
    }
    Ok(Cow::Owned(call))
}

fn check_results(signature: &Signature, inference: &Inference, results: &[Type]) -> Result<(), String> {
    let results = tensors(results);
    let names: Vec<&str> =
        inference.results.iter().map(|r| signature.results()[r.decl].name.text.as_str()).collect();
    if results.len() != names.len() {
        let gives = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        let count = names.len();
        return Err(format!(
            "gives {count} result{} ({gives}), but the call has {}",
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

/// Operands and results lie in memory as the op wants them. Without tuples, in which layouts cannot be told.
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
                "{name} must have the layout {wanted:?} (minor to major), but the call gives it {found:?}"
            ));
        }
    }
    Ok(())
}

/// The tensors in values of these types; tokens are no operands of an op.
fn tensors(types: &[Type]) -> Vec<&TensorType> {
    fn visit<'t>(ty: &'t Type, out: &mut Vec<&'t TensorType>) {
        match ty {
            Type::Tensor(t) => out.push(t),
            Type::Tuple(parts) => parts.iter().for_each(|p| visit(p, out)),
            Type::Token | Type::Function(_) | Type::Scalar(_) | Type::Opaque(_) => {}
        }
    }
    let mut out = Vec::new();
    types.iter().for_each(|ty| visit(ty, &mut out));
    out
}

fn dims(ty: &TensorType) -> Vec<i64> {
    ty.dims.iter().map(|d| i64::try_from(*d).unwrap_or(i64::MAX)).collect()
}

/// `f32[2, 64]`
fn short(dtype: DType, dims: &[i64]) -> String {
    let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
    format!("{dtype}[{}]", dims.join(", "))
}

// ---- Attributes ----------------------------------------------------------------------------

/// A program's attribute as a signature sees it, if it has a form there.
fn value(attr: &Attr) -> Option<AttrValue> {
    match attr {
        Attr::Bool(b) => Some(AttrValue::Bool(*b)),
        Attr::Int(value, IntKind::Typed(dtype)) => Some(AttrValue::Int(*value, scalar_type(*dtype)?)),
        Attr::Int(value, IntKind::Index) => Some(AttrValue::Int(*value, ScalarType::I64)),
        Attr::Float(bits, dtype) => Some(AttrValue::Float(f64::from_bits(*bits), scalar_type(*dtype)?)),
        Attr::String(_) => attr.as_str().map(|text| AttrValue::Str(text.to_owned())),
        Attr::Array(items) => {
            let items: Vec<AttrValue> = items.iter().map(value).collect::<Option<_>>()?;
            let ty = match items.first()? {
                AttrValue::Bool(_) => ScalarType::Bool,
                AttrValue::Int(_, ty) | AttrValue::Float(_, ty) => *ty,
                _ => return None,
            };
            Some(AttrValue::Array(ty, items))
        }
        Attr::Dense(literal) | Attr::DenseArray(literal) => {
            let ty = scalar_type(literal.dtype())?;
            Some(AttrValue::Array(
                ty,
                literal.iter().map(|scalar| number(scalar, ty)).collect::<Option<_>>()?,
            ))
        }
        Attr::DenseIndex(_, values) => {
            let ty = ScalarType::I64;
            Some(AttrValue::Array(ty, values.iter().map(|v| AttrValue::Int((*v).into(), ty)).collect()))
        }
        Attr::Dict(dict) => {
            let entries = dict.iter().map(|(name, attr)| Some((name.clone(), value(attr)?)));
            Some(AttrValue::Dict(entries.collect::<Option<_>>()?))
        }
        Attr::Unit | Attr::Symbol(_) | Attr::Type(_) | Attr::Dialect(_) => None,
    }
}

fn number(scalar: Scalar, ty: ScalarType) -> Option<AttrValue> {
    match scalar {
        Scalar::Bool(b) => Some(AttrValue::Bool(b)),
        Scalar::Signed(v) => Some(AttrValue::Int(v.into(), ty)),
        Scalar::Unsigned(v) => Some(AttrValue::Int(v.into(), ty)),
        Scalar::Float(v) => Some(AttrValue::Float(v, ty)),
        Scalar::Complex(_) => None,
    }
}

/// A default as a program would write it.
fn attr(value: &AttrValue) -> Attr {
    match value {
        AttrValue::Bool(b) => Attr::Bool(*b),
        AttrValue::Int(v, ty) => Attr::Int(*v, IntKind::Typed(dtype(*ty))),
        AttrValue::Float(v, ty) => Attr::float(*v, dtype(*ty)),
        AttrValue::Str(text) => Attr::string(text),
        AttrValue::Array(ty, items) => {
            let scalar = |i: usize| match &items[i] {
                AttrValue::Bool(b) => Scalar::Bool(*b),
                AttrValue::Int(v, ty) if dtype(*ty).is_unsigned_integer() => Scalar::Unsigned(*v as u64),
                AttrValue::Int(v, _) => Scalar::Signed(*v as i64),
                AttrValue::Float(v, _) => Scalar::Float(*v),
                _ => Scalar::Bool(false),
            };
            Attr::DenseArray(Literal::from_fn(dtype(*ty), [items.len()], scalar))
        }
        AttrValue::Dict(entries) => {
            Attr::Dict(entries.iter().map(|(name, value)| (name.clone(), attr(value))).collect())
        }
    }
}

fn scalar_type(dtype_: DType) -> Option<ScalarType> {
    ScalarType::ALL.into_iter().find(|ty| dtype(*ty) == dtype_)
}

fn dtype(ty: ScalarType) -> DType {
    match ty {
        ScalarType::Bool => DType::Pred,
        ScalarType::I8 => DType::S8,
        ScalarType::I16 => DType::S16,
        ScalarType::I32 => DType::S32,
        ScalarType::I64 => DType::S64,
        ScalarType::U8 => DType::U8,
        ScalarType::U16 => DType::U16,
        ScalarType::U32 => DType::U32,
        ScalarType::U64 => DType::U64,
        ScalarType::F32 => DType::F32,
        ScalarType::F64 => DType::F64,
    }
}
