//! Reads and prints constants: `{ {1, 2}, {3, 4} }`, `(1, -0)`, `nan(0x400001)`.

use std::fmt::Write;

use farcall_sig::{DType, DTypeClass};

use super::cursor::{Cursor, Expected, Read};
use crate::diag::Span;
use crate::literal::Literal;
use crate::op::Op;
use crate::scalar::Scalar;
use crate::types::TensorType;

/// Placeholder that XLA prints for a large number of elements.
pub(super) const ELIDED: &str = "{...}";

/// Reads a constant between parentheses as an operation.
pub(super) fn constant(c: Cursor<'_>, ty: &TensorType) -> Read<Op> {
    if c.rest().trim() == ELIDED && ty.is_static() {
        return Ok(Op::Elided(ty.clone()));
    }
    read(c, ty).map(Op::Constant)
}

/// Reads the elements of a constant between parentheses.
pub(super) fn read(mut c: Cursor<'_>, ty: &TensorType) -> Read<Literal> {
    let whole = c.span();
    let Some(dims) = ty.static_sizes() else {
        return Err(Expected::new(whole, "a constant needs static dimensions"));
    };
    let mut data = Vec::new();
    c.skip();
    if dims.is_empty() {
        element(&mut c, ty.dtype, &mut data)?;
    } else {
        lists(&mut c, ty, dims, &mut data)?;
    }
    c.finish()?;
    Literal::from_bytes(ty.dtype, dims, &data).map_err(|e| Expected::new(whole, e.to_string()))
}

/// Reads nested lists of elements in one loop, so that deep nesting needs no stack. Commas are optional,
/// because XLA treats them as white space.
fn lists(c: &mut Cursor<'_>, ty: &TensorType, dims: &[usize], out: &mut Vec<u8>) -> Read<()> {
    // Number of items read so far in each open list.
    let mut open: Vec<usize> = Vec::new();
    loop {
        while c.eat(b',') {}
        let at = Span::new(c.pos(), c.pos() + 1);
        match c.peek() {
            Some(b'{') => {
                if open.len() == dims.len() {
                    let message = format!("lists nest deeper than the {} dimensions", dims.len());
                    return Err(Expected::new(at, message));
                }
                c.eat(b'{');
                if let Some(count) = open.last_mut() {
                    *count += 1;
                }
                open.push(0);
            }
            Some(b'}') if !open.is_empty() => {
                c.eat(b'}');
                let found = open.pop().unwrap_or(0);
                let wanted = dims[open.len()];
                if found != wanted {
                    let message = format!(
                        "dimension {} has size {wanted}, but this list has {found} items",
                        open.len()
                    );
                    return Err(Expected::new(at, message));
                }
                if open.is_empty() {
                    return Ok(());
                }
            }
            _ if open.len() < dims.len() => return c.wrong("`{`"),
            _ => {
                element(c, ty.dtype, out)?;
                if let Some(count) = open.last_mut() {
                    *count += 1;
                }
            }
        }
    }
}

fn element(c: &mut Cursor<'_>, dtype: DType, out: &mut Vec<u8>) -> Read<()> {
    if dtype.is_complex() {
        c.expect(b'(')?;
        number(c, dtype.real(), out)?;
        c.expect(b',')?;
        number(c, dtype.real(), out)?;
        return c.expect(b')');
    }
    number(c, dtype, out)
}

/// Reads one number, or one part of a complex number.
fn number(c: &mut Cursor<'_>, dtype: DType, out: &mut Vec<u8>) -> Read<()> {
    c.skip();
    let start = c.pos();
    let len =
        c.rest().bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.' | b'_'));
    c.jump(start + len.count());
    let text = c.slice(start, c.pos());
    let mut payload = None;
    if matches!(text, "nan" | "-nan") && c.eat(b'(') {
        let Ok(digits) = hexadecimal(c) else { return c.wrong("the bits of a NaN, as in `nan(0x400001)`") };
        payload = Some(digits);
        c.expect(b')')?;
    }
    let mut bytes = [0; 8];
    if text.is_empty() || !write(text, payload, dtype, &mut bytes) {
        c.jump(start);
        let what = match dtype.class() {
            DTypeClass::Bool => "`true` or `false`".to_owned(),
            DTypeClass::Float | DTypeClass::Complex => format!("a number that {dtype} holds"),
            _ => format!("an integer that {dtype} holds"),
        };
        if text.is_empty() {
            return c.wrong(&what);
        }
        let span = Span::new(start, start + text.len());
        return Err(Expected::new(span, format!("expected {what}, found `{text}`")));
    }
    out.extend_from_slice(&bytes[..dtype.size()]);
    Ok(())
}

fn hexadecimal(c: &mut Cursor<'_>) -> Result<u64, ()> {
    if !c.eat_str("0x") {
        return Err(());
    }
    let start = c.pos();
    let len = c.rest().bytes().take_while(u8::is_ascii_hexdigit).count();
    c.jump(start + len);
    u64::from_str_radix(c.slice(start, start + len), 16).map_err(|_| ())
}

/// Writes the bytes of a number; false if the text is not a value of the type.
fn write(text: &str, payload: Option<u64>, dtype: DType, out: &mut [u8; 8]) -> bool {
    let value = match dtype.class() {
        DTypeClass::Bool => match text {
            "true" => Scalar::Bool(true),
            "false" => Scalar::Bool(false),
            _ => match text.parse::<i64>() {
                Ok(v) => Scalar::Bool(v != 0),
                Err(_) => return false,
            },
        },
        DTypeClass::Signed | DTypeClass::Unsigned => {
            let range = dtype.integer_range().unwrap_or((0, 0));
            match text.parse::<i128>() {
                // XLA accepts a negative number and takes its 64 bits as the value.
                Ok(v @ ..0) if dtype == DType::U64 && i64::try_from(v).is_ok() => Scalar::Unsigned(v as u64),
                Ok(v) if v < range.0 || v > range.1 => return false,
                Ok(v) if dtype.is_signed_integer() => Scalar::Signed(v as i64),
                Ok(v) => Scalar::Unsigned(v as u64),
                Err(_) => return false,
            }
        }
        _ => match text {
            "nan" | "-nan" => return write_nan(text == "-nan", payload, dtype, out),
            _ => match float(text, dtype) {
                Some(value) => Scalar::Float(value),
                None => return false,
            },
        },
    };
    value.write(dtype, out);
    // A finite number that rounds to infinity is not a value of the type.
    !matches!((value, value.round_to(dtype)), (Scalar::Float(v), Scalar::Float(kept)) if v.is_finite() && !kept.is_finite())
}

fn float(text: &str, dtype: DType) -> Option<f64> {
    let digits = text.trim_start_matches(['-', '+']);
    if let Some(hex) = digits.strip_prefix("0x") {
        let value = hexadecimal_float(hex)?;
        return Some(if text.starts_with('-') { -value } else { value });
    }
    let ok = digits == "inf" || digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    match dtype {
        _ if !ok => None,
        // Parse as `f32` directly, so that the value is rounded only once.
        DType::F32 => text.parse::<f32>().ok().map(f64::from).filter(|v| v.is_finite() || digits == "inf"),
        _ => text.parse::<f64>().ok().filter(|v| v.is_finite() || digits == "inf"),
    }
}

/// Parses `1.8p3`, after `0x`.
fn hexadecimal_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() == 0 || whole.len() + fraction.len() > 13 {
        return None;
    }
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent =
        exponent.parse::<i32>().ok().filter(|e| e.unsigned_abs() < 5000)? - 4 * fraction.len() as i32;
    Some(libm::scalbn(digits as f64, exponent))
}

/// Number of mantissa bits, for types whose NaNs have a payload.
fn mantissa(dtype: DType) -> Option<u32> {
    match dtype {
        DType::F64 => Some(52),
        DType::F32 => Some(23),
        DType::F16 => Some(10),
        DType::BF16 => Some(7),
        _ => None,
    }
}

fn write_nan(negative: bool, payload: Option<u64>, dtype: DType, out: &mut [u8; 8]) -> bool {
    let Some(mantissa) = mantissa(dtype) else {
        Scalar::Float(f64::NAN).write(dtype, out);
        // For a type without NaNs, `write` has written another value.
        return payload.is_none() && Scalar::from_bytes(dtype, out).as_f64().is_nan();
    };
    let payload = payload.unwrap_or(1 << (mantissa - 1));
    if payload == 0 || payload >= 1 << mantissa {
        return false;
    }
    let bits = dtype.bits();
    let exponent = ((1u64 << (bits - 1 - mantissa)) - 1) << mantissa;
    *out = (u64::from(negative) << (bits - 1) | exponent | payload).to_le_bytes();
    true
}

/// Prints a constant.
pub(super) fn print(literal: &Literal) -> String {
    let mut out = String::new();
    let dims = literal.dims();
    if dims.is_empty() {
        put_element(&mut out, literal, 0);
        return out;
    }
    if literal.is_empty() {
        // Print the lists only down to the dimension of size 0.
        empty(&mut out, dims);
        return out;
    }
    for i in 0..literal.len() {
        // Number of lists that begin (or end) at element `i`: those whose element count divides `i`.
        let whole = |i: usize| {
            let mut size = 1;
            let ends = dims.iter().rev().take_while(|d| {
                size *= **d;
                i.is_multiple_of(size)
            });
            ends.count()
        };
        if i > 0 {
            out.push_str(", ");
        }
        (0..whole(i)).for_each(|_| out.push('{'));
        put_element(&mut out, literal, i);
        (0..whole(i + 1)).for_each(|_| out.push('}'));
    }
    out
}

/// Prints `{ {}, {} }`.
fn empty(out: &mut String, dims: &[usize]) {
    out.push('{');
    if let [size, rest @ ..] = dims
        && *size > 0
        && !rest.is_empty()
    {
        for i in 0..*size {
            out.push_str(if i > 0 { ", " } else { "" });
            empty(out, rest);
        }
    }
    out.push('}');
}

fn put_element(out: &mut String, literal: &Literal, i: usize) {
    let (dtype, bytes) = (literal.dtype(), literal.element(i));
    if dtype.is_complex() {
        let half = dtype.size() / 2;
        out.push('(');
        put_number(out, dtype.real(), &bytes[..half]);
        out.push_str(", ");
        put_number(out, dtype.real(), &bytes[half..]);
        out.push(')');
    } else {
        put_number(out, dtype, bytes);
    }
}

fn put_number(out: &mut String, dtype: DType, bytes: &[u8]) {
    let done = match Scalar::from_bytes(dtype, bytes) {
        Scalar::Bool(b) => write!(out, "{b}"),
        Scalar::Signed(v) => write!(out, "{v}"),
        Scalar::Unsigned(v) => write!(out, "{v}"),
        Scalar::Float(v) if v.is_nan() => put_nan(out, dtype, bytes),
        Scalar::Float(v) if v.is_infinite() => write!(out, "{v}"),
        Scalar::Float(v) if dtype == DType::F64 => write!(out, "{v:?}"),
        // The value is exact in `f32`. Its shortest decimal in `f32` reads back as the same value in narrower
        // types, too.
        Scalar::Float(v) => write!(out, "{:?}", v as f32),
        Scalar::Complex(_) => Ok(()),
    };
    debug_assert!(done.is_ok(), "a string takes everything");
}

fn put_nan(out: &mut String, dtype: DType, bytes: &[u8]) -> std::fmt::Result {
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(bits);
    let Some(mantissa) = mantissa(dtype) else { return write!(out, "nan") };
    let sign = if bits >> (dtype.bits() - 1) & 1 == 1 { "-" } else { "" };
    match bits & ((1 << mantissa) - 1) {
        quiet if quiet == 1 << (mantissa - 1) => write!(out, "{sign}nan"),
        payload => write!(out, "{sign}nan(0x{payload:x})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, dtype: DType, dims: &[usize]) -> Result<Literal, String> {
        read(Cursor::new(text, 0, text.len()), &TensorType::new(dtype, dims)).map_err(|e| e.message)
    }

    #[test]
    fn constants_read_as_they_are_written() {
        for (text, dtype, dims) in [
            ("1.5", DType::F32, &[][..]),
            ("{{1, -2}, {3, 4}}", DType::S8, &[2, 2]),
            ("{(1.0, -0.0), (nan, -nan)}", DType::C64, &[2]),
            ("{nan(0x400001), -nan(0x1), -inf, 1e-45}", DType::F32, &[4]),
            ("{nan, -nan(0x41), 9.1835e-41}", DType::BF16, &[3]),
            ("{}", DType::F32, &[0, 3]),
            ("{{}, {}}", DType::F32, &[2, 0]),
            ("{true, false}", DType::Pred, &[2]),
            ("{18446744073709551615}", DType::U64, &[1]),
        ] {
            assert_eq!(print(&parsed(text, dtype, dims).unwrap()), text);
        }
        let xla = "{ { /*i0=0*/ 1, 2 },\n{ /*i0=1*/ 3, 4 } }";
        assert_eq!(parsed(xla, DType::S32, &[2, 2]), parsed("{{1,2},{3,4}}", DType::S32, &[2, 2]));
        assert_eq!(
            parsed("{{1 2} {3,, 4,}}", DType::S32, &[2, 2]),
            parsed("{{1,2},{3,4}}", DType::S32, &[2, 2])
        );
        assert_eq!(parsed("-1", DType::U64, &[]).unwrap().get(0), Scalar::Unsigned(u64::MAX));
        assert_eq!(parsed("{1, 0, 2}", DType::Pred, &[3]).unwrap().bytes(), [1, 0, 1]);
        assert_eq!(parsed("-0x1.8p1", DType::F64, &[]).unwrap().get(0), Scalar::Float(-3.0));
    }

    #[test]
    fn every_float_of_16_bits_reads_as_it_is_written() {
        for dtype in [DType::BF16, DType::F16, DType::F8E4M3FN, DType::F8E5M2] {
            let codes: Vec<u16> = (0..=u16::MAX).step_by(if dtype.size() == 1 { 256 } else { 1 }).collect();
            let bytes: Vec<u8> = match dtype.size() {
                1 => (0..=255).collect(),
                _ => codes.iter().flat_map(|c| c.to_le_bytes()).collect(),
            };
            let all = Literal::from_bytes(dtype, [bytes.len() / dtype.size()], &bytes).unwrap();
            let again = parsed(&print(&all), dtype, all.dims()).unwrap();
            for i in 0..all.len() {
                let (a, b) = (all.get(i).as_f64(), again.get(i).as_f64());
                assert!(
                    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
                    "{dtype}: {a} is read as {b}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_constant() {
        let message = |text, dtype, dims: &[usize]| parsed(text, dtype, dims).unwrap_err();
        assert!(message("{1, 2}", DType::F32, &[3]).contains("has size 3, but this list has 2 items"));
        assert!(message("{{1}}", DType::F32, &[1]).contains("nest deeper"));
        assert!(message("300", DType::S8, &[]).contains("an integer that s8 holds, found `300`"));
        assert!(message("{1 x}", DType::S8, &[2]).contains("an integer that s8 holds, found `x`"));
        assert!(message("{1, 2", DType::S8, &[2]).contains("an integer"));
        assert!(message("", DType::F32, &[]).contains("a number"));
        assert!(message("{1, }, 2", DType::F32, &[1]).contains("nothing more"));
    }
}
