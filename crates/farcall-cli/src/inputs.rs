//! Arguments of a program: read from files, or generated from their types.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::ValueEnum;
use clap::builder::{OsStringValueParser, TryMapValueParser, TypedValueParser, ValueParserFactory};
use farcall::ir::interface::Interface;
use farcall::ir::literal::Literal;
use farcall::ir::module::Func;
use farcall::ir::scalar::Scalar;
use farcall::ir::types::{TensorType, Type};
use farcall::sig::nearest::nearest;
use farcall::sig::signature::NumberKind;
use farcall::sig::{DType, DTypeClass};
use num_complex::Complex;

use crate::archive::Archive;
use crate::args::InputArgs;
use crate::npy;
use crate::show::{short, short_type};

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

impl Elided {
    /// Returns a function that chooses the elements of one constant after another.
    pub(crate) fn elements(self) -> impl FnMut(&TensorType) -> Result<Literal> {
        let mut seed = 0;
        move |ty| {
            seed += 1;
            match self {
                Elided::Zeros => Literal::try_zeros(ty.dtype, ty.sizes()).context("zeros for a constant"),
                Elided::Rand => make(Fill::Rand, ty, seed),
            }
        }
    }
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

/// A number or boolean, or several in nested brackets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Array {
    dims: Vec<usize>,
    /// JSON values. NaN and infinities, which JSON lacks, are strings.
    values: Vec<serde_json::Value>,
}

/// Converts the text of an array to JSON: NaN and infinities, in any case and with any sign, become strings
/// that parse as `f64`.
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
                return Err(wrong("its rows are not alike"));
            };
            if rows.iter().any(|row| row.len() != size) {
                return Err(wrong("its rows are not alike"));
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
    /// Returns the kind of the numbers.
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

/// Returns the kind of a number.
fn kind_of(value: &serde_json::Value) -> NumberKind {
    match value {
        serde_json::Value::Bool(_) => NumberKind::Bool,
        value if value.is_f64() || value.is_string() => NumberKind::Float,
        _ => NumberKind::Int,
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

/// Returns one tensor for each parameter of `func` except tokens, which have no value. `interface` has the
/// names of the parameters.
///
/// # Errors
/// If there are too many or too few inputs, if a name matches no argument, or if an input does not fit its
/// parameter.
pub(crate) fn arguments(func: &Func, interface: &Interface, args: &InputArgs) -> Result<Vec<Literal>> {
    let params = func.params().iter().map(|p| func.ty(*p));
    let params: Vec<&Type> = params.filter(|ty| **ty != Type::Token).collect();
    of(interface, &params, args)
}

/// Like [`arguments`], for parameters of these types.
///
/// # Errors
/// The errors of [`arguments`].
pub(crate) fn of(interface: &Interface, params: &[&Type], args: &InputArgs) -> Result<Vec<Literal>> {
    let InputArgs { inputs, fill, seed } = args;
    let what = &interface.name;
    let taken = interface.inputs();
    let (mut archives, mut specs) = (Vec::new(), Vec::new());
    for spec in inputs {
        match spec {
            InputSpec::File(path) => match Archive::open(path)? {
                Some(archive) => archives.push(archive),
                None => specs.push(spec.clone()),
            },
            InputSpec::Fill(..) | InputSpec::Array(_) => specs.push(spec.clone()),
        }
    }
    let named = named(interface, &archives)?;
    let open = params.len().saturating_sub(named.len());
    if specs.len() > open || (specs.len() < open && fill.is_none()) {
        let missing = (0..params.len()).filter(|i| !named.contains_key(i)).map(|i| {
            let name = taken.get(i).map(|a| a.name.as_str()).filter(|n| *n != format!("arg{i}"));
            name.map_or_else(|| short(params[i]), |name| format!("{name}: {}", short(params[i])))
        });
        let missing = missing.collect::<Vec<_>>().join(", ");
        bail!("{}", wrong_count(what, &missing, (params.len(), named.len(), specs.len())));
    }
    let filled = fill.iter().flat_map(|f| std::iter::repeat(InputSpec::Fill(*f, None)));
    let mut specs = specs.into_iter().chain(filled);
    let mut arguments = Vec::with_capacity(params.len());
    for (i, ty) in params.iter().enumerate() {
        let name = taken.get(i).map(|a| a.name.as_str()).filter(|name| *name != format!("arg{i}"));
        let label = || match name {
            Some(name) => format!("argument {i} of {what}, {name}"),
            None => format!("argument {i} of {what}"),
        };
        let ty = ty
            .tensor()
            .with_context(|| format!("{} is a {}; only tensors can be given", label(), short(ty)))?;
        let argument = match named.get(&i) {
            Some((archive, tensor)) => archives[*archive].read(*tensor, ty),
            None => match specs.next() {
                Some(spec) => one(spec, ty, seed.wrapping_add(i as u64)),
                None => Err(anyhow!("it is not given")),
            },
        };
        arguments.push(argument.with_context(label)?);
    }
    Ok(arguments)
}

/// Adds the keyword that may have been meant to the error for a missing file.
fn mistyped(error: anyhow::Error, path: &Path) -> anyhow::Error {
    let words = Fill::value_variants().iter().map(|fill| word(*fill));
    match path.to_str().filter(|_| !path.exists()).map(|text| nearest(text, words)).as_deref() {
        Some([near, ..]) => anyhow!("{error:#}; did you mean `{near}`?"),
        _ => error,
    }
}

/// Reads or generates an argument that is given by position.
fn one(spec: InputSpec, ty: &TensorType, seed: u64) -> Result<Literal> {
    match spec {
        InputSpec::File(path) => npy::read(&path, ty).map_err(|error| mistyped(error, &path)),
        InputSpec::Fill(_, Some(given)) if !fits(&given, ty) => {
            Err(anyhow!("it is {}, but {} is expected", short_type(&given), short_type(ty)))
        }
        InputSpec::Fill(fill, given) => make(fill, given.as_ref().unwrap_or(ty), seed),
        InputSpec::Array(array) => {
            let given = TensorType::new(ty.dtype, array.dims.clone());
            ensure!(fits(&given, ty), "it is {}, but {} is expected", short_type(&given), short_type(ty));
            array.literal(ty.dtype)
        }
    }
}

/// Returns the inputs that archives provide. Maps the number of an input to the index of the archive and the
/// index of the tensor in the archive.
fn named(interface: &Interface, archives: &[Archive]) -> Result<HashMap<usize, (usize, usize)>> {
    let tensors = archives.iter().enumerate().flat_map(|(archive, file)| {
        file.names().into_iter().enumerate().map(move |(tensor, name)| (archive, tensor, name))
    });
    let tensors: Vec<(usize, usize, &str)> = tensors.collect();
    let names: Vec<&str> = tensors.iter().map(|(_, _, name)| *name).collect();
    let bound = interface.bind(&names).map_err(|errors| {
        let files: Vec<String> = archives.iter().map(|a| a.path().display().to_string()).collect();
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow!("cannot use {} for {}: {}", files.join(" and "), interface.name, errors.join("\n"))
    })?;
    // Unused arguments need no value.
    let inputs = bound.iter().zip(&tensors).filter_map(|(argument, (archive, tensor, _))| {
        Some((interface.arguments[*argument].input?, (*archive, *tensor)))
    });
    Ok(inputs.collect())
}

/// Error for a wrong number of arguments. The tuple counts the expected arguments, the arguments given by
/// name, and the arguments given by position.
fn wrong_count(what: &str, missing: &str, (taken, named, given): (usize, usize, usize)) -> String {
    let few = named + given < taken;
    let hint = match (few, named) {
        (false, _) => "",
        (true, 0) => {
            "\nGive a .npy file for each with --input FILE, or make the missing ones with --fill rand"
        }
        (true, _) => "\nGive the others with --input FILE, or make them with --fill rand",
    };
    let listed = if missing.is_empty() { String::new() } else { format!(" ({missing})") };
    match named {
        0 => format!("{what} takes {}{listed}, {given} given{hint}", count(taken, "argument")),
        _ => format!(
            "{what} takes {}, of which {named} are given by name; of the others{listed}, {given} given{hint}",
            count(taken, "argument")
        ),
    }
}

/// Returns true if a tensor of type `given` can be passed for one of type `declared`, which may have dynamic
/// sizes.
fn fits(given: &TensorType, declared: &TensorType) -> bool {
    given.dtype == declared.dtype
        && given.rank() == declared.rank()
        && given.dims().zip(declared.dims()).all(|(g, d)| g == d || d.is_dynamic())
}

/// Formats a count: `1 argument`, `2 arguments`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Generates a tensor of a type.
pub(crate) fn make(fill: Fill, ty: &TensorType, seed: u64) -> Result<Literal> {
    ensure!(
        ty.is_static(),
        "{} has dynamic sizes; give a .npy file, or a type without dynamic sizes, as in rand:{}[4,8]",
        short_type(ty),
        ty.dtype.name()
    );
    let dtype = ty.dtype;
    if let Fill::Between(first, end) = fill {
        let holds = |n: i64| Scalar::Signed(n).round_to(dtype).as_f64() == n as f64;
        let ends = dtype != DType::Pred && holds(first) && (dtype.real().is_float() || holds(end - 1));
        ensure!(ends, "{} does not hold all numbers of {first}..{end}", dtype.name());
    }
    let mut random = SplitMix(seed);
    let made = Literal::try_from_fn(dtype, ty.sizes(), |i| match fill {
        Fill::Zeros => Scalar::zero(dtype),
        Fill::Ones => Scalar::Unsigned(1),
        Fill::Iota => Scalar::Unsigned(i as u64),
        Fill::Between(first, end) if matches!(dtype.class(), DTypeClass::Signed | DTypeClass::Unsigned) => {
            Scalar::Signed(first.wrapping_add_unsigned(random.next() % end.abs_diff(first)))
        }
        Fill::Between(first, end) => {
            let (first, length) = (first as f64, end.abs_diff(first) as f64);
            Scalar::Float(first + (random.unit() + 1.0) / 2.0 * length)
        }
        Fill::Rand => match dtype.class() {
            DTypeClass::Bool => Scalar::Bool(random.next() & 1 == 1),
            DTypeClass::Signed | DTypeClass::Unsigned => {
                // Narrow types do not hold all integers from 0 to 9.
                let values = if dtype.bits() == 2 { 2 } else { 10.min(1 << (dtype.bits().min(8) - 1)) };
                Scalar::Unsigned(random.next() % values)
            }
            DTypeClass::Float => Scalar::Float(random.unit()),
            DTypeClass::Complex => Scalar::Complex(Complex::new(random.unit(), random.unit())),
        },
    });
    made.with_context(|| format!("{} does not fit into memory", short_type(ty)))
}

/// SplitMix64 (Steele, Lea, Flood 2014): the sequence is the same on all machines and must never change.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random number from -1 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(spec: InputSpec) -> Fill {
        match spec {
            InputSpec::Fill(fill, None) => fill,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn made_arguments_depend_on_type_and_seed_alone() {
        for dtype in DType::VARIANTS {
            let ty = TensorType::new(dtype, [40]);
            let a = make(Fill::Rand, &ty, 1).unwrap();
            assert_eq!(a, make(Fill::Rand, &ty, 1).unwrap());
            assert!(!a.is_splat(), "{dtype}");
        }
        let made =
            |spec: &str, dtype, n: usize| make(fill(spec.parse().unwrap()), &TensorType::new(dtype, [n]), 1);
        let indices: Vec<f64> =
            made("rand:-3..2000", DType::S32, 4000).unwrap().iter().map(Scalar::as_f64).collect();
        assert!(indices.iter().all(|i| (-3.0..2000.0).contains(i)), "{indices:?}");
        assert!(indices.iter().any(|i| *i > 1900.0) && indices.iter().any(|i| *i < 100.0));
        let error = |spec, dtype| made(spec, dtype, 1).unwrap_err().to_string();
        assert_eq!(error("rand:0..257", DType::U8), "u8 does not hold all numbers of 0..257");
        assert_eq!(error("rand:0..2", DType::Pred), "pred does not hold all numbers of 0..2");
        let iota = make(Fill::Iota, &TensorType::new(DType::C64, [2]), 0).unwrap();
        assert_eq!(iota.get(1), Scalar::Complex(Complex::new(1.0, 0.0)));
        for size in [usize::MAX, 1 << 61, 1 << 50] {
            assert!(make(Fill::Zeros, &TensorType::new(DType::F32, [size]), 0).is_err(), "{size}");
        }
    }

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
            ("[[1], [2, 3]]", "its rows are not alike"),
            ("[1, [2]]", "its rows are not alike"),
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
