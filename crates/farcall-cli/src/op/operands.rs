//! Operands and attributes of an op on the command line.

use anyhow::{Context, Result, bail};
use farcall::OpError;
use farcall::ir::literal::Literal;
use farcall::registry::Target;
use farcall::sig::attr::{AttrType, MixedList};
use farcall::sig::signature::{GivenType, NumberKind};
use farcall::sig::{AttrValue, AttrValues, DType};

use super::infer_operand::Known;
use crate::inputs;
use crate::npy;
use crate::spec::{AttrSpec, Fill, InputSpec, word};

/// An argument on the command line.
enum Argument<'a> {
    Input(&'a InputSpec),
    Attr(&'a AttrSpec),
}

/// Default of an omitted offset operand (`row: offset(m)` in a signature): 0, the offset of a dimension that
/// is not split.
static BEGIN: InputSpec = InputSpec::Fill(Fill::Zeros, None);

/// Returns the inputs and attributes as arguments of a call of the op: operands by position, attributes by
/// name. The offset operands may be omitted, but only all of them together.
///
/// # Errors
/// If the op has no signature, there are too many or too few inputs, or an operand is given by `--attr`.
pub(crate) fn arguments<'a>(
    target: &Target,
    inputs: &'a [InputSpec],
    attrs: &'a [AttrSpec],
) -> Result<(Vec<&'a InputSpec>, Vec<&'a AttrSpec>)> {
    let named = attrs.iter().map(|spec| (spec.name.clone(), Some(Argument::Attr(spec))));
    let mut positional: Vec<Option<Argument<'a>>> =
        inputs.iter().map(|spec| Some(Argument::Input(spec))).collect();
    if let Some(signature) = target.signature() {
        let mut offsets: Vec<usize> = signature.offsets().map(|(slot, _)| slot).collect();
        offsets.sort_unstable();
        if positional.len() + offsets.len() <= signature.operands().len() {
            for slot in offsets.into_iter().filter(|slot| *slot <= inputs.len()) {
                positional.insert(slot, Some(Argument::Input(&BEGIN)));
            }
        }
    }
    let bound = farcall::bind(target, positional, named)?;
    let input = |argument| match argument {
        Argument::Input(spec) => Ok(spec),
        Argument::Attr(spec) => bail!("{}: {} is an operand; give it with --input", target.name(), spec.name),
    };
    let attr = |(_, argument)| match argument {
        Argument::Attr(spec) => Some(spec),
        Argument::Input(_) => None,
    };
    let inputs = bound.operands.into_iter().map(input).collect::<Result<_>>()?;
    Ok((inputs, bound.attributes.into_iter().filter_map(attr).collect()))
}

/// Returns one tensor for each of `inputs`, in the order of the op's operands. An operand given as a word
/// alone, such as `rand`, gets the type that the other operands determine.
///
/// # Errors
/// If an operand cannot be read or generated. Operands that do not fit the op are not an error here, because
/// the op itself reports them better.
pub(crate) fn operands(
    target: &Target,
    inputs: &[&InputSpec],
    attrs: &AttrValues,
    seed: u64,
) -> Result<Vec<Literal>> {
    let signature = target.signature();
    let declared = |i: usize| {
        let slot = *signature?.operand_slots(inputs.len()).ok()?.get(i)?;
        signature?.operands().get(slot)
    };
    let seed = |i: usize| seed.wrapping_add(i as u64);
    let named = |i: usize| match declared(i) {
        Some(operand) => format!("{} of {}", operand.name, target.name()),
        None => format!("operand {i} of {}", target.name()),
    };
    let mut known = signature.map(|s| Known::new(s, attrs)).unwrap_or_default();
    let mut made: Vec<Option<Literal>> = vec![None; inputs.len()];
    for (i, spec) in inputs.iter().enumerate() {
        let literal = match spec {
            InputSpec::File(path) => {
                let possible = declared(i).zip(signature).map(|(o, s)| s.possible_types(&o.element));
                npy::read_as_one_of(path, &possible.unwrap_or_default())
            }
            InputSpec::Fill(fill, Some(ty)) => inputs::make(*fill, ty, seed(i)),
            InputSpec::Fill(_, None) | InputSpec::Array(_) => continue,
        };
        let literal = literal.with_context(|| named(i))?;
        made[i] = Some(literal);
    }
    arrays(target, inputs, &mut made)?;
    for (i, literal) in made.iter().enumerate() {
        if let (Some(operand), Some(literal)) = (declared(i), literal) {
            known.learn(operand, &literal.ty());
        }
    }
    let rest = inputs.iter().zip(made).enumerate().map(|(i, (spec, made))| match (spec, made) {
        (_, Some(literal)) => Ok(literal),
        (InputSpec::Fill(fill, _), None) => {
            let Some(ty) = declared(i).and_then(|operand| known.ty(operand)) else {
                let is = declared(i).map(|o| format!(" ({o})")).unwrap_or_default();
                let word = word(*fill);
                bail!("operand {i}{is}: the other operands do not determine its type; give it, as in {word}:f32[4,8]")
            };
            inputs::make(*fill, &ty, seed(i)).with_context(|| named(i))
        }
        (InputSpec::File(_) | InputSpec::Array(_), None) => bail!("{} was not read", named(i)),
    });
    rest.collect()
}

/// Creates the operands that are given as arrays of numbers. Their element types are chosen such that the op
/// accepts them together with the other operands.
///
/// # Errors
/// If no types fit.
fn arrays(target: &Target, inputs: &[&InputSpec], made: &mut [Option<Literal>]) -> Result<()> {
    let Some(signature) = target.signature() else { return Ok(()) };
    let given = inputs.iter().zip(made.iter()).map(|(spec, made)| match (spec, made) {
        (_, Some(literal)) => GivenType::Typed(literal.dtype()),
        (InputSpec::Array(array), None) => GivenType::Number(array.kind()),
        (_, None) => GivenType::Number(NumberKind::None),
    });
    let given: Vec<GivenType> = given.collect();
    let groups = signature.number_types(&given, false);
    for group in groups.map_err(|mismatch| OpError::Mismatch { op: target.name().to_owned(), mismatch })? {
        let read = |types: &Vec<DType>| {
            let arrays = group.operands.iter().zip(types).filter_map(|(i, dtype)| match inputs[*i] {
                InputSpec::Array(array) => Some(array.literal(*dtype).map(|literal| (*i, literal))),
                _ => None,
            });
            arrays.collect::<Result<Vec<_>>>()
        };
        let mut tries = group.choices.iter().map(read);
        let first = tries.next().transpose();
        let found = match first {
            Ok(found) => found.unwrap_or_default(),
            // The numbers may be out of the range of the preferred type.
            Err(wrong) => {
                tries.find_map(Result::ok).ok_or(wrong).with_context(|| target.name().to_owned())?
            }
        };
        found.into_iter().for_each(|(i, literal)| made[i] = Some(literal));
    }
    Ok(())
}

/// Parses the attributes as the types that the op declares. The value of an undeclared attribute stays a
/// string, and so does text that cannot be parsed: the op reports the error.
///
/// # Errors
/// If a list in a dictionary contains items other than numbers.
pub(crate) fn attrs(target: &Target, given: &[&AttrSpec]) -> Result<AttrValues> {
    let declared = target.signature().map(|s| s.attrs()).unwrap_or_default();
    let value = |spec: &&AttrSpec| {
        let ty = declared.iter().find(|a| a.name.text == spec.name).map(|a| &a.ty);
        let value = ty.map_or_else(|| Ok(spec.value.as_str().into()), |ty| parse(ty, &spec.value));
        let value = value.with_context(|| format!("{}: attribute {}", target.name(), spec.name))?;
        Ok((spec.name.clone(), value))
    };
    given.iter().map(value).collect()
}

fn parse(ty: &AttrType, text: &str) -> Result<AttrValue, MixedList> {
    Ok(match ty {
        AttrType::Str | AttrType::Choice(_) => text.into(),
        AttrType::Scalar(_) => scalar(text),
        AttrType::Array(_) => {
            let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
            let inner = inner.or_else(|| text.strip_prefix('(').and_then(|t| t.strip_suffix(')')));
            let inner = inner.unwrap_or(text).trim();
            let inner = inner.strip_suffix(',').unwrap_or(inner);
            let items: Vec<AttrValue> =
                inner.split(',').filter(|_| !inner.is_empty()).map(|item| scalar(item.trim())).collect();
            AttrValue::list(&items).unwrap_or_else(|_| text.into())
        }
        AttrType::Dict => match serde_json::from_str(text) {
            Ok(json @ serde_json::Value::Object(_)) => from_json(&json)?,
            _ => text.into(),
        },
    })
}

/// Parses a number or boolean; any other text is a string.
fn scalar(text: &str) -> AttrValue {
    match text {
        "true" | "True" => return true.into(),
        "false" | "False" => return false.into(),
        _ => {}
    }
    if let Ok(value) = text.parse::<i64>() {
        return value.into();
    }
    if let Ok(value) = text.parse::<u64>() {
        return value.into();
    }
    match text.parse::<f64>() {
        Ok(value) => value.into(),
        Err(_) => text.into(),
    }
}

/// Converts a value in a dictionary, whose type is not declared: integers become `i64`, other numbers `f64`.
///
/// # Errors
/// If a list contains items other than numbers.
fn from_json(json: &serde_json::Value) -> Result<AttrValue, MixedList> {
    use serde_json::Value;
    Ok(match json {
        Value::Null => "".into(),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => scalar(&number.to_string()),
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => {
            let items = items.iter().map(from_json).collect::<Result<Vec<AttrValue>, _>>()?;
            AttrValue::list(&items)?
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(name, value)| Ok((name.clone(), from_json(value)?)));
            AttrValue::Dict(entries.collect::<Result<_, _>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcall::sig::ScalarType;

    #[test]
    fn attributes_are_read_as_they_are_declared() {
        let shown = |ty: AttrType, text: &str| match parse(&ty, text)
            .map_err(|e| e.to_string())
            .and_then(|value| ty.convert(&value))
        {
            Ok(value) => value.to_string(),
            Err(why) => why,
        };
        let (f32s, i64s) = (AttrType::Scalar(ScalarType::F32), AttrType::Array(ScalarType::I64));
        assert_eq!(shown(f32s.clone(), "1e-6"), "1e-6");
        assert_eq!(shown(f32s.clone(), "2"), "2.0");
        assert_eq!(shown(f32s.clone(), "-inf"), "-inf");
        assert_eq!(shown(f32s, "small"), "must be f32, but is str");
        assert_eq!(shown(AttrType::Scalar(ScalarType::U64), "18446744073709551615"), "18446744073709551615");
        assert_eq!(
            shown(AttrType::Scalar(ScalarType::U8), "-1"),
            "must be u8, but is -1, which is out of range"
        );
        assert_eq!(shown(AttrType::Scalar(ScalarType::Bool), "True"), "true");
        for text in ["[1, 2]", "1,2", "(1,2,)"] {
            assert_eq!(shown(i64s.clone(), text), "[1, 2]");
        }
        assert_eq!(shown(i64s.clone(), "[]"), "[]");
        assert_eq!(shown(i64s.clone(), "3"), "[3]");
        assert_eq!(shown(i64s, "1,x"), "must be [i64], but is str");
        let mixed = "a list must hold real numbers only, or booleans only";
        assert_eq!(shown(AttrType::Dict, r#"{"a": ["x"]}"#), mixed);
        assert_eq!(shown(AttrType::Str, "7"), "\"7\"");
        assert_eq!(shown(AttrType::Dict, r#"{"a": 1, "b": {"c": [0.5]}}"#), "{a = 1, b = {c = [0.5]}}");
    }
}
