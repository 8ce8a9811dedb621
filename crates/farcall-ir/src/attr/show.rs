//! Attributes as MLIR text: `Display` of [`Attribute`], floats, dense constants.
//!
//! Reading the text returns the same bits: floats are written as the shortest decimal number with this
//! property, or as hexadecimal bits.

use std::fmt::{self, Display, Formatter, Write};

use farcall_sig::{DType, DTypeClass};

use super::{AttrDict, Attribute, DialectAttr, ELIDED, IntKind};
use crate::literal::Literal;
use crate::quote::{Name, Quoted, is_bare};
use crate::scalar::Scalar;
use crate::types::TensorType;

/// Maximum number of elements of a constant that is written as lists; larger constants are written as one
/// hexadecimal string, as in MLIR.
const HEX_ELEMENTS: usize = 100;

/// Writes the attribute in StableHLO syntax: `5 : i64`, `dense<[1, 2]> : tensor<2xi32>`.
impl Display for Attribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Unit => f.write_str("unit"),
            Attribute::Bool(b) => write!(f, "{b}"),
            Attribute::Int(v, IntKind::Index) => write!(f, "{v} : index"),
            Attribute::Int(v, IntKind::Typed(d)) => write!(f, "{v} : {}", d.mlir()),
            Attribute::Float(bits, d) => {
                let mut bytes = [0; 8];
                Scalar::Float(f64::from_bits(*bits)).write(*d, &mut bytes);
                write_float(f, *d, &bytes)?;
                write!(f, " : {}", d.mlir())
            }
            Attribute::String(bytes) => write!(f, "{}", Quoted(bytes)),
            Attribute::Array(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
            Attribute::Dict(d) => write!(f, "{}", Dict(d)),
            Attribute::Dense(l) => {
                write_literal(f, l)?;
                write!(f, " : {}", TensorType::new(l.dtype(), l.dims()))
            }
            Attribute::Elided(ty) => write!(f, "dense_resource<{ELIDED}> : {ty}"),
            Attribute::DenseIndex(l) => {
                write_literal(f, l)?;
                f.write_str(" : tensor<")?;
                for d in l.dims() {
                    write!(f, "{d}x")?;
                }
                f.write_str("index>")
            }
            Attribute::DenseArray(l) => {
                write!(f, "array<{}", l.dtype().mlir())?;
                for i in 0..l.len() {
                    f.write_str(if i == 0 { ": " } else { ", " })?;
                    write_element(f, l, i)?;
                }
                f.write_str(">")
            }
            Attribute::Symbol(name) => {
                for (i, part) in name.split("::@").enumerate() {
                    let separator = if i > 0 { "::" } else { "" };
                    write!(f, "{separator}@{}", Name(part))?;
                }
                Ok(())
            }
            Attribute::Type(ty) => write!(f, "{ty}"),
            Attribute::Dialect(d) => write_dialect(f, d),
            Attribute::Sharding(sharding) => write!(f, "#sdy.sharding<{sharding}>"),
            Attribute::ShardingPerValue(shardings) => crate::sharding::write_per_value(f, shardings),
        }
    }
}

fn write_dialect(f: &mut Formatter<'_>, d: &DialectAttr) -> fmt::Result {
    if let Some(word) = d.name.strip_prefix("builtin.") {
        return if word == "loc" { write!(f, "loc({})", d.text) } else { write!(f, "{word}<{}>", d.text) };
    }
    match d.name.split_once('.') {
        // Enumerations use MLIR's short forms.
        Some((dialect, name)) if is_bare(&d.text) && matches!(dialect, "stablehlo" | "chlo" | "mhlo") => {
            if name.ends_with("_mode") {
                write!(f, "#{}<{}>", d.name, d.text)
            } else {
                write!(f, "#{dialect}<{name} {}>", d.text)
            }
        }
        // An attribute of StableHLO has angle brackets even if all its parameters are left out.
        Some((dialect, _)) if d.text.is_empty() && dialect != "stablehlo" => write!(f, "#{}", d.name),
        _ => write!(f, "#{}<{}>", d.name, d.text),
    }
}

/// `{a = 1 : i64, b}`
pub(crate) struct Dict<'a>(pub(crate) &'a AttrDict);

impl Display for Dict<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, (key, value)) in self.0.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{}", Name(key))?;
            if *value != Attribute::Unit {
                write!(f, " = {value}")?;
            }
        }
        f.write_str("}")
    }
}

/// `dense<…>` without the type.
fn write_literal(f: &mut dyn Write, l: &Literal) -> fmt::Result {
    f.write_str("dense<")?;
    if l.is_splat() {
        write_element(f, l, 0)?;
    } else if l.len() > HEX_ELEMENTS {
        write_hex(f, l)?;
    } else if !l.is_empty() {
        write_lists(f, l)?;
    }
    f.write_str(">")
}

/// Writes nested lists. There are at most [`HEX_ELEMENTS`] elements, but the rank is unbounded. The loop
/// therefore runs over elements and does not recurse over dimensions.
fn write_lists(f: &mut dyn Write, l: &Literal) -> fmt::Result {
    let dims = l.dims();
    for i in 0..l.len() {
        // Number of lists that begin (or end) at element `i`: those whose number of elements divides `i`.
        let whole = |i: usize| {
            let mut size = 1;
            dims.iter()
                .rev()
                .take_while(|d| {
                    size *= **d;
                    i.is_multiple_of(size)
                })
                .count()
        };
        let begin = whole(i);
        if i > 0 {
            f.write_str(", ")?;
        }
        for _ in 0..begin {
            f.write_char('[')?;
        }
        write_element(f, l, i)?;
        for _ in 0..whole(i + 1) {
            f.write_char(']')?;
        }
    }
    Ok(())
}

fn write_hex(f: &mut dyn Write, l: &Literal) -> fmt::Result {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let bits = l.dtype().bits();
    let mask = if bits < 8 { u8::MAX >> (8 - bits) } else { u8::MAX };
    f.write_str("\"0x")?;
    let mut text = String::with_capacity(8192);
    for chunk in l.bytes().chunks(4096) {
        text.clear();
        for b in chunk {
            text.push(char::from(DIGITS[usize::from((b & mask) >> 4)]));
            text.push(char::from(DIGITS[usize::from(b & mask & 15)]));
        }
        f.write_str(&text)?;
    }
    f.write_str("\"")
}

fn write_element(f: &mut dyn Write, l: &Literal, i: usize) -> fmt::Result {
    let (dtype, size) = (l.dtype(), l.dtype().size());
    let bytes = l.element(i);
    match dtype.class() {
        DTypeClass::Float => write_float(f, dtype, bytes),
        DTypeClass::Complex => {
            f.write_char('(')?;
            write_float(f, dtype.real(), &bytes[..size / 2])?;
            f.write_char(',')?;
            write_float(f, dtype.real(), &bytes[size / 2..])?;
            f.write_char(')')
        }
        _ => match Scalar::from_bytes(dtype, bytes) {
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::Unsigned(v) => write!(f, "{v}"),
            other => write!(f, "{}", other.as_i64()),
        },
    }
}

/// Writes a float of a type, given its bytes (trailing bytes are ignored).
fn write_float(f: &mut dyn Write, dtype: DType, bytes: &[u8]) -> fmt::Result {
    let size = dtype.size();
    let value = Scalar::from_bytes(dtype, bytes).as_f64();
    if value.is_finite() {
        let same = |text: &str| {
            let mut back = [0; 8];
            let parsed = text.parse::<f64>().unwrap_or(f64::NAN);
            Scalar::Float(parsed).write(dtype, &mut back);
            back[..size] == bytes[..size]
        };
        for text in [c_exponent(value), shortest(value, dtype)] {
            if same(&text) {
                return f.write_str(&text);
            }
        }
    }
    let mut bits = [0; 8];
    bits[..size].copy_from_slice(&bytes[..size]);
    write!(f, "0x{:0width$X}", u64::from_le_bytes(bits), width = 2 * size)
}

/// Formats a float as C's `%e` does: `1.500000e+00`.
fn c_exponent(value: f64) -> String {
    let text = format!("{value:.6e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{exponent:+03}")
}

/// Formats a float with the fewest digits that distinguish it from its neighbors, and with a decimal point.
fn shortest(value: f64, dtype: DType) -> String {
    let text = if dtype == DType::F64 { format!("{value:?}") } else { format!("{:?}", value as f32) };
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        Some((mantissa, exponent)) => format!("{mantissa}E{exponent}"),
        None => text,
    }
}
