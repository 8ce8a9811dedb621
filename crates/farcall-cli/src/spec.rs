//! Inputs and attributes as specified on the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use clap::builder::{OsStringValueParser, TryMapValueParser, TypedValueParser, ValueParserFactory};
use farcall::ir::literal::Literal;
use farcall::ir::scalar::Scalar;
use farcall::ir::types::TensorType;
use farcall::sig::DType;
use farcall::sig::nearest::nearest;
use farcall::sig::signature::NumberKind;

/// Rule for generating an argument from its type.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fill {
    /// Random: floats from -1 to 1, integers from 0 to 9, true or false
    Rand,
    /// Zeros
    Zeros,
    /// Ones
    Ones,
    /// 0, 1, 2, … in row-major order
    Iota,
    /// Random, from the first number (inclusive) to the second (exclusive)
    #[value(skip)]
    Between(i64, i64),
}

/// Rule for choosing the elements of constants whose elements are elided from the text.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elided {
    /// Zeros
    Zeros,
    /// Random: floats from -1 to 1, integers from 0 to 9, true or false
    Rand,
}

/// Command-line word for a rule.
pub(crate) fn word(fill: Fill) -> &'static str {
    match fill {
        Fill::Rand | Fill::Between(..) => "rand",
        Fill::Zeros => "zeros",
        Fill::Ones => "ones",
        Fill::Iota => "iota",
    }
}

/// Argument of `--input`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum InputSpec {
    /// A `.npy` file, or a file of several named tensors.
    File(PathBuf),
    /// A generated tensor of the argument's type or of a given type: `rand:f32[4,8]`, `rand:0..2000`.
    Fill(Fill, Option<TensorType>),
    /// Numbers: `0.1`, `[0,2]`, `[[1.5,2],[3,4]]`, `-inf`, `[nan,1]`.
    Array(Array),
}

impl FromStr for InputSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<InputSpec, String> {
        if text.starts_with("--") {
            return Err(format!("`{text}` is an option, not an input; write ./{text} for a file"));
        }
        match text.parse() {
            Ok(array) => return Ok(InputSpec::Array(array)),
            Err(why) if text.starts_with('[') => return Err(why),
            Err(_) => {}
        }
        let (word, ty) = text.split_once(':').map_or((text, None), |(word, ty)| (word, Some(ty)));
        if let (true, Some((first, end))) = (word == "rand", ty.and_then(|ty| ty.split_once(".."))) {
            return match (first.trim().parse(), end.trim().parse()) {
                (Ok(first), Ok(end)) if first < end => Ok(InputSpec::Fill(Fill::Between(first, end), None)),
                _ => Err(format!("`{first}..{end}` is not a range of integers; write rand:0..10 for 0 to 9")),
            };
        }
        match Fill::from_str(word, false) {
            Ok(fill) => Ok(InputSpec::Fill(fill, ty.map(tensor_type).transpose()?)),
            Err(_) => Ok(InputSpec::File(PathBuf::from(text))),
        }
    }
}

/// Parses an `OsString`, because a path need not be UTF-8.
impl ValueParserFactory for InputSpec {
    type Parser = TryMapValueParser<OsStringValueParser, fn(OsString) -> Result<InputSpec, String>>;

    fn value_parser() -> Self::Parser {
        OsStringValueParser::new().try_map(|value| match value.to_str() {
            Some(text) => text.parse(),
            None => Ok(InputSpec::File(value.into())),
        })
    }
}

/// A number or boolean, or several in nested brackets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Array {
    pub(crate) dims: Vec<usize>,
    /// JSON values. NaN and infinities, which JSON lacks, are strings.
    values: Vec<serde_json::Value>,
}

impl FromStr for Array {
    type Err = String;

    fn from_str(text: &str) -> Result<Array, String> {
        let wrong = |why: &str| format!("`{text}` is not an array: {why}; write [0,2] or [[1.5,2],[3,4]]");
        let json: serde_json::Value =
            serde_json::from_str(&quoted_specials(text)).map_err(|e| wrong(&e.to_string()))?;
        let (mut dims, mut values) = (Vec::new(), vec![json]);
        while values.iter().any(serde_json::Value::is_array) {
            let rows: Option<Vec<&Vec<serde_json::Value>>> =
                values.iter().map(|row| row.as_array()).collect();
            let size = rows.as_ref().and_then(|rows| Some(rows.first()?.len()));
            let (Some(rows), Some(size)) = (rows, size) else {
                return Err(wrong("its rows have different shapes"));
            };
            if rows.iter().any(|row| row.len() != size) {
                return Err(wrong("its rows have different shapes"));
            }
            dims.push(size);
            values = rows.into_iter().flatten().cloned().collect();
        }
        let is_element =
            |value: &serde_json::Value| value.is_number() || value.is_boolean() || special(value).is_some();
        match values.iter().all(is_element) {
            true => Ok(Array { dims, values }),
            false => Err(wrong("its elements must be numbers or booleans")),
        }
    }
}

impl Array {
    /// Returns the most general kind among the numbers.
    pub(crate) fn kind(&self) -> NumberKind {
        self.values.iter().map(kind_of).max().unwrap_or(NumberKind::None)
    }

    /// Converts the array to a tensor of an element type.
    ///
    /// # Errors
    /// If the type cannot hold numbers of this kind, or an integer type cannot represent a number. Floats are
    /// rounded.
    pub(crate) fn literal(&self, dtype: DType) -> Result<Literal> {
        let scalar = |value: &serde_json::Value| match (
            value.as_bool(),
            value.as_i64(),
            value.as_u64(),
            value.as_f64(),
        ) {
            (Some(value), ..) => Scalar::Bool(value),
            (_, Some(value), ..) => Scalar::Signed(value),
            (_, _, Some(value), _) => Scalar::Unsigned(value),
            (.., finite) => Scalar::Float(finite.or_else(|| special(value)).unwrap_or(f64::NAN)),
        };
        let keeps = |value: Scalar| value.round_to(dtype).as_f64() == value.as_f64();
        for value in &self.values {
            let is_kept = dtype.real().is_float() || keeps(scalar(value));
            let is_held = kind_of(value).is_held_by(dtype) && is_kept;
            ensure!(is_held, "{} is not {dtype}", value.to_string().trim_matches('"'));
        }
        let made = Literal::try_from_fn(dtype, self.dims.clone(), |i| scalar(&self.values[i]));
        made.with_context(|| "it does not fit into memory")
    }
}

/// Converts the text of an array to JSON. NaN and infinities, with any sign and in upper or lower case,
/// become strings that parse as `f64`.
fn quoted_specials(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || matches!(c, '+' | '-' | '"')) {
        let (before, word) = rest.split_at(start);
        out.push_str(before);
        let end = match word.strip_prefix('"') {
            Some(string) => string.find('"').map_or(word.len(), |end| end + 2),
            None => word.find([',', ']', ' ', '[']).unwrap_or(word.len()),
        };
        let (word, after) = word.split_at(end);
        let special = matches!(
            word.trim_start_matches(['+', '-']).to_ascii_lowercase().as_str(),
            "nan" | "inf" | "infinity"
        ) && word.parse::<f64>().is_ok();
        let quote = if special { "\"" } else { "" };
        out.extend([quote, word, quote]);
        rest = after;
    }
    out + rest
}

/// Parses a string as NaN or an infinity.
fn special(value: &serde_json::Value) -> Option<f64> {
    value.as_str()?.parse().ok().filter(|x: &f64| !x.is_finite())
}

/// Returns the kind of a number.
fn kind_of(value: &serde_json::Value) -> NumberKind {
    match value {
        serde_json::Value::Bool(_) => NumberKind::Bool,
        value if value.is_f64() || value.is_string() => NumberKind::Float,
        _ => NumberKind::Int,
    }
}

/// Parses a type such as `f32[4,8]`.
fn tensor_type(text: &str) -> Result<TensorType, String> {
    let parts = text.split_once('[').and_then(|(dtype, dims)| Some((dtype, dims.strip_suffix(']')?)));
    let Some((dtype, dims)) = parts else {
        return Err(format!("`{text}` is not a type; write f32[4,8], or f32[] for a scalar"));
    };
    let Ok(dtype) = dtype.trim().parse::<DType>() else {
        let near = nearest(dtype, DType::VARIANTS.iter().map(|d| d.name()));
        let near = if near.is_empty() { vec!["f32", "s32", "pred", "bf16"] } else { near };
        return Err(format!("`{dtype}` is not an element type; try {}", near.join(", ")));
    };
    // As in StableHLO, a size is at most 2^63 - 1.
    let size = |d: &str| match d.trim().parse::<i64>().map(usize::try_from) {
        Ok(Ok(size)) => Ok(size),
        _ => Err(format!("`{d}` is not a dimension size")),
    };
    let dims = dims.split(',').filter(|_| !dims.trim().is_empty());
    Ok(TensorType::new(dtype, dims.map(size).collect::<Result<Vec<usize>, String>>()?))
}

/// Argument of `--attr`: `NAME=VALUE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AttrSpec {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for AttrSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<AttrSpec, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                Ok(AttrSpec { name: name.trim().to_owned(), value: value.trim().to_owned() })
            }
            _ => Err("an attribute is given as NAME=VALUE".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_fill_and_anything_else_a_file() {
        assert_eq!("rand".parse(), Ok(InputSpec::Fill(Fill::Rand, None)));
        assert_eq!("./rand".parse(), Ok(InputSpec::File("./rand".into())));
        assert_eq!("C:x.npy".parse(), Ok(InputSpec::File("C:x.npy".into())));
        assert_eq!("./3".parse(), Ok(InputSpec::File("./3".into())));
        assert!(matches!("3".parse(), Ok(InputSpec::Array(_))));
    }

    #[test]
    fn brackets_are_an_array() {
        let array = |text: &str, dtype| {
            let literal =
                text.parse::<Array>().and_then(|array| array.literal(dtype).map_err(|e| e.to_string()));
            literal.map(|x| format!("{:?} {:?}", x.dims(), x.iter().map(Scalar::as_f64).collect::<Vec<_>>()))
        };
        let error = |text, dtype| array(text, dtype).unwrap_err();
        assert_eq!(array("[0,2]", DType::S32), Ok("[2] [0.0, 2.0]".to_owned()));
        assert_eq!(array("[[1.5, 2], [3, -4]]", DType::F32), Ok("[2, 2] [1.5, 2.0, 3.0, -4.0]".to_owned()));
        assert_eq!(array("[[], []]", DType::F32), Ok("[2, 0] []".to_owned()));
        assert_eq!(array("[true]", DType::Pred), Ok("[1] [1.0]".to_owned()));
        assert_eq!(array("-2.5", DType::F32), Ok("[] [-2.5]".to_owned()));
        assert_eq!(array("true", DType::Pred), Ok("[] [1.0]".to_owned()));
        assert_eq!(array("nan", DType::F32), Ok("[] [NaN]".to_owned()));
        assert_eq!(array("-inf", DType::BF16), Ok("[] [-inf]".to_owned()));
        assert_eq!(
            array("[[NaN, 1e3], [Infinity,-INF]]", DType::C64),
            Ok("[2, 2] [NaN, 1000.0, inf, -inf]".to_owned())
        );
        assert_eq!(error("[1, -inf]", DType::S32), "-inf is not s32");
        assert_eq!(error("nan", DType::Pred), "nan is not pred");
        assert_eq!(error("3.5", DType::S32), "3.5 is not s32");
        assert_eq!(error("[0, 300]", DType::U8), "300 is not u8");
        assert_eq!(error("[1.5]", DType::S32), "1.5 is not s32");
        assert_eq!(error("[2]", DType::Pred), "2 is not pred");
        for (text, why) in [
            ("[[1], [2, 3]]", "its rows have different shapes"),
            ("[1, [2]]", "its rows have different shapes"),
            ("[null]", "its elements must be numbers or booleans"),
            ("[\"a\"]", "its elements must be numbers or booleans"),
            ("[1,", "EOF while parsing a value at line 1 column 3"),
        ] {
            let expected = format!("`{text}` is not an array: {why}; write [0,2] or [[1.5,2],[3,4]]");
            assert_eq!(error(text, DType::F32), expected);
        }
    }

    #[test]
    fn a_fill_may_have_a_type() {
        let spec = |text: &str| text.parse::<InputSpec>();
        let ty = |dims: &[usize]| Some(TensorType::new(DType::F32, dims));
        assert_eq!(spec("rand:f32[4,8]"), Ok(InputSpec::Fill(Fill::Rand, ty(&[4, 8]))));
        assert_eq!(spec("ones:f32[ 4, 0 ]"), Ok(InputSpec::Fill(Fill::Ones, ty(&[4, 0]))));
        assert_eq!(spec("iota:f32[]"), Ok(InputSpec::Fill(Fill::Iota, ty(&[]))));
        for (text, why) in [
            ("rand:5..5", "`5..5` is not a range of integers; write rand:0..10 for 0 to 9"),
            ("rand:0..n", "`0..n` is not a range of integers; write rand:0..10 for 0 to 9"),
            ("rand:f32", "`f32` is not a type; write f32[4,8], or f32[] for a scalar"),
            ("rand:fp32[1]", "`fp32` is not an element type; try f32"),
            ("rand:float[1]", "`float` is not an element type; try f32, s32, pred, bf16"),
            ("rand:f32[a]", "`a` is not a dimension size"),
            ("rand:f32[18446744073709551615]", "`18446744073709551615` is not a dimension size"),
            ("rand:f32[1,]", "`` is not a dimension size"),
        ] {
            assert_eq!(spec(text), Err(why.to_owned()));
        }
    }
}
