//! Parses `dense<…>` constants directly into the bytes of a literal.
//!
//! The type comes after the elements but is read first. Then one loop reads the elements, however deeply
//! their lists nest. Only splats can describe much memory in little text, and they store a single element
//! until the program runs.

use std::collections::HashMap;
use std::sync::Arc;

use farcall_sig::{DType, DTypeClass};

use super::lexer::{Tok, skip_space};
use super::parser::{Parsed, Parser, span};
use super::types::Tensor;
use crate::attr::Attribute;
use crate::diag::Span;
use crate::literal::Literal;
use crate::scalar::Scalar;
use crate::types::TensorType;

/// An error in an element: its position and message.
type ElementError = (Span, String);

impl<'s> Parser<'s> {
    /// Parses `dense<…> : type`.
    pub(super) fn dense(&mut self) -> Parsed<Attribute> {
        let word = self.expect_word("dense")?;
        let open = self.expect(b'<')?;
        let (start, end) = (open.end, self.end_of_dense(open.end)?);
        self.jump(end + 1);
        self.expect(b':')?;
        let (dtype, dims, index) = self.dense_type()?;
        let after = self.pos();
        let place = Span::new(word.start, after);
        let literal = self.dense_body(start, end, dtype, &dims, place)?;
        self.jump(after);
        Ok(match index {
            true => Attribute::DenseIndex(literal),
            false => Attribute::Dense(literal),
        })
    }

    /// Parses the type of a dense constant. Returns the element type, the dimensions, and true if the
    /// elements are `index`.
    fn dense_type(&mut self) -> Parsed<(DType, Arc<[usize]>, bool)> {
        let at = self.peek();
        let tensor = if at.tok == Tok::Bang {
            match self.ty()? {
                crate::types::Type::Tensor(ty) => Tensor::Of(ty),
                other => {
                    return self.fail("type", span(at), format!("a constant cannot have the type {other}"));
                }
            }
        } else {
            self.tensor()?
        };
        match tensor {
            Tensor::OfIndex(dims) => {
                self.static_type(TensorType::from_dims(DType::S64, dims), at.start, true)
            }
            Tensor::Of(ty) => self.static_type(ty, at.start, false),
        }
    }

    /// Splits the type of a constant, which starts at `start`, into its parts.
    fn static_type(
        &mut self,
        ty: TensorType,
        start: usize,
        index: bool,
    ) -> Parsed<(DType, Arc<[usize]>, bool)> {
        match ty.static_sizes() {
            Some(sizes) => Ok((ty.dtype, sizes.into(), index)),
            None => {
                let at = Span::new(start, self.pos());
                self.fail("type", at, format!("a constant needs a static shape, not {ty}"))
            }
        }
    }

    /// Returns the position of the `>` that closes the `dense<` before `start`.
    fn end_of_dense(&mut self, start: usize) -> Parsed<usize> {
        let bytes = self.bytes();
        let mut pos = start;
        while let Some(n) = bytes[pos..].iter().position(|b| matches!(b, b'>' | b'"' | b'/')) {
            pos += n;
            match bytes[pos] {
                b'>' => return Ok(pos),
                b'"' => match bytes[pos + 1..].iter().position(|b| *b == b'"') {
                    Some(n) => pos += n + 2,
                    None => break,
                },
                _ => pos = skip_space(bytes, pos).max(pos + 1),
            }
        }
        self.fail("parse", Span::new(start - 1, start), "this `<` is never closed")
    }

    fn dense_body(
        &mut self,
        start: usize,
        end: usize,
        dtype: DType,
        dims: &Arc<[usize]>,
        place: Span,
    ) -> Parsed<Literal> {
        let bytes = &self.bytes()[..end];
        let pos = skip_space(bytes, start);
        let ty = TensorType::new(dtype, Arc::clone(dims));
        let mut data = Vec::new();
        match bytes.get(pos) {
            None if ty.elements() == Some(0) => {}
            None => {
                return self.fail(
                    "parse",
                    place,
                    format!("a constant of type {ty} needs elements, but has none"),
                );
            }
            Some(b'"') => {
                let text = self.slice(pos, end).trim().trim_matches('"');
                let Some(raw) = decode_hex(text) else {
                    let message = "a string of elements must be `0x` and pairs of hexadecimal digits";
                    return self.fail("parse", Span::new(pos, end), message);
                };
                return self.literal_of_raw(&raw, &ty, Span::new(pos, end));
            }
            Some(b'[') if !dims.is_empty() => match read_list(self.text, pos, end, dtype, dims, &mut data) {
                Ok(()) => {}
                Err((at, message)) => return self.fail("parse", at, message),
            },
            Some(_) => {
                match read_element(bytes, pos, dtype, &mut data) {
                    Ok(after) if skip_space(bytes, after) == end => {}
                    Ok(after) => {
                        return self.fail("parse", Span::new(after, end), "expected one element here");
                    }
                    Err((at, message)) => return self.fail("parse", at, message),
                }
                return self.splat(&data, &ty, place);
            }
        }
        self.literal_of(dtype, Arc::clone(dims), &data, place)
    }

    /// Returns a tensor whose elements all equal `element`.
    fn splat(&mut self, element: &[u8], ty: &TensorType, place: Span) -> Parsed<Literal> {
        let mut whole = [0; 16];
        whole[..element.len()].copy_from_slice(element);
        match Literal::splat_of(ty.dtype, ty.sizes().into(), whole) {
            Ok(literal) => Ok(literal),
            Err(_) => {
                let message = format!("{ty} has more bytes than can be counted");
                self.fail("constant-size", place, message)
            }
        }
    }

    pub(super) fn literal_of(
        &mut self,
        dtype: DType,
        dims: impl Into<Arc<[usize]>>,
        bytes: &[u8],
        place: Span,
    ) -> Parsed<Literal> {
        match Literal::from_bytes(dtype, dims, bytes) {
            Ok(l) => Ok(l),
            Err(e) => self.fail("parse", place, e.to_string()),
        }
    }

    /// Reads elements in MLIR's memory format: one after the other, or a single element for all. Elements
    /// narrower than a byte take a byte each or are packed, lowest bits first.
    fn literal_of_raw(&mut self, raw: &[u8], ty: &TensorType, place: Span) -> Parsed<Literal> {
        let (Some(n), Some(bytes)) = (ty.elements(), ty.bytes()) else {
            return self.fail("constant-size", place, format!("{ty} is too large"));
        };
        let (size, bits) = (ty.dtype.size(), ty.dtype.bits() as usize);
        let normal = |byte: u8| {
            let mut out = [0];
            Scalar::from_bytes(ty.dtype, &[byte]).write(ty.dtype, &mut out);
            out[0]
        };
        if bits >= 8 && raw.len() == bytes {
            return self.literal_of(ty.dtype, ty.sizes(), raw, place);
        }
        let narrow = bits < 8;
        // A single byte holds up to eight packed booleans, except 0 and 0xff, which stand for false and true
        // in all elements.
        let packed = narrow
            && raw.len() != bytes
            && raw.len() == n.saturating_mul(bits).div_ceil(8)
            && !(bits == 1 && raw.len() == 1 && matches!(raw[0], 0 | 0xff));
        if packed {
            let mask = u8::MAX >> (8 - bits);
            let unpacked: Vec<u8> =
                (0..n).map(|i| normal((raw[i * bits / 8] >> (i * bits % 8)) & mask)).collect();
            return self.literal_of(ty.dtype, ty.sizes(), &unpacked, place);
        }
        if narrow && raw.len() == n {
            let bytes: Vec<u8> = raw.iter().map(|b| normal(*b)).collect();
            return self.literal_of(ty.dtype, ty.sizes(), &bytes, place);
        }
        if raw.len() == size {
            let element = if narrow { vec![normal(raw[0])] } else { raw.to_vec() };
            return self.splat(&element, ty, place);
        }
        self.fail("parse", place, format!("{ty} holds {bytes} bytes of elements, not {}", raw.len()))
    }

    /// Parses one element at the current position.
    pub(super) fn element(&mut self, dtype: DType, out: &mut Vec<u8>) -> Parsed<()> {
        let bytes = self.bytes();
        match read_element(bytes, skip_space(bytes, self.pos()), dtype, out) {
            Ok(after) => {
                self.jump(after);
                Ok(())
            }
            Err((at, message)) => self.fail("parse", at, message),
        }
    }

    /// Parses `dense_resource<name> : tensor<…>`. The elements are in `{-# dialect_resources: … #-}`; if the
    /// printer left them out, the result is a constant without elements.
    pub(super) fn dense_resource(&mut self) -> Parsed<Attribute> {
        self.expect_word("dense_resource")?;
        let body = self.peek();
        let name = self.balanced()?.trim_matches('"').to_owned();
        let place = Span::new(body.start + 1, self.pos() - 1);
        self.expect(b':')?;
        let (dtype, dims, index) = self.dense_type()?;
        let Some(blob) = self.resource(&name) else {
            if index {
                let message = format!("the elements of `{name}` are not in this text");
                return self.fail("resource", place, message);
            }
            return Ok(Attribute::Elided(TensorType::new(dtype, dims)));
        };
        // The first four bytes give the alignment.
        let raw = decode_hex(blob).filter(|b| b.len() >= 4);
        let Some(raw) = raw else {
            return self.fail(
                "resource",
                place,
                format!("resource `{name}` is not a string of hexadecimal digits"),
            );
        };
        let ty = TensorType::new(dtype, Arc::clone(&dims));
        let literal = self.literal_of_raw(&raw[4..], &ty, place)?;
        Ok(match index {
            true => Attribute::DenseIndex(literal),
            false => Attribute::Dense(literal),
        })
    }

    /// Returns the string of a resource, wherever the text defines it.
    fn resource(&mut self, name: &str) -> Option<&'s str> {
        if self.resources.is_none() {
            self.resources = Some(self.read_resources());
        }
        self.resources.as_ref().and_then(|r| r.get(name).copied())
    }

    /// Reads `{-# dialect_resources: {dialect: {name: "…", …}, …} #-}`: the entries two braces deep.
    fn read_resources(&mut self) -> HashMap<&'s str, &'s str> {
        let mut out = HashMap::new();
        let Some(start) = self.text.rfind("{-#") else { return out };
        self.within(start + 3, self.text.len(), |p| {
            let mut depth = 0u32;
            loop {
                let t = p.bump();
                match t.tok {
                    Tok::Punct(b'{') => depth += 1,
                    Tok::Punct(b'}') => depth = depth.saturating_sub(1),
                    Tok::Eof | Tok::ResourcesEnd => return out,
                    Tok::Word | Tok::Str if depth == 2 && p.eat(b':') => {
                        let value = p.peek();
                        if value.tok == Tok::Str {
                            let text = p.slice(value.start + 1, value.end - 1);
                            out.insert(p.str_of(t).trim_matches('"'), text);
                        }
                    }
                    _ => {}
                }
            }
        })
    }
}

/// Parses nested lists of elements, whose shape must be `dims`.
fn read_list(
    text: &str,
    start: usize,
    end: usize,
    dtype: DType,
    dims: &[usize],
    out: &mut Vec<u8>,
) -> Result<(), ElementError> {
    let bytes = &text.as_bytes()[..end];
    // Number of items read so far in each open list.
    let mut open: Vec<usize> = Vec::with_capacity(dims.len());
    let mut pos = start;
    let one = |pos: usize| Span::new(pos, pos + 1);
    loop {
        pos = skip_space(bytes, pos);
        let mut closed = false;
        match bytes.get(pos) {
            Some(b'[') => {
                if open.len() == dims.len() {
                    let message =
                        format!("lists nested deeper than the {} dimensions of the type", dims.len());
                    return Err((one(pos), message));
                }
                open.push(0);
                pos = skip_space(bytes, pos + 1);
                if bytes.get(pos) != Some(&b']') {
                    continue;
                }
                closed = true;
            }
            Some(_) if open.len() == dims.len() => pos = read_element(bytes, pos, dtype, out)?,
            Some(_) => {
                let message = format!("expected `[`: the type has {} dimensions", dims.len());
                return Err((one(pos), message));
            }
            None => return Err((Span::new(end, end + 1), "the lists are not closed".to_owned())),
        }
        // After an item, or at the end of an empty list.
        loop {
            if !closed && let Some(n) = open.last_mut() {
                *n += 1;
            }
            pos = skip_space(bytes, pos);
            match bytes.get(pos) {
                Some(b',') => {
                    pos += 1;
                    break;
                }
                Some(b']') => {
                    let n = open.pop().unwrap_or(0);
                    let dim = open.len();
                    if n != dims[dim] {
                        let message =
                            format!("{n} elements along dimension {dim}, which has size {}", dims[dim]);
                        return Err((one(pos), message));
                    }
                    pos += 1;
                    if open.is_empty() {
                        let rest = skip_space(bytes, pos);
                        return if rest == end {
                            Ok(())
                        } else {
                            Err((Span::new(rest, end), "expected `>`".to_owned()))
                        };
                    }
                    closed = false;
                }
                _ => return Err((one(pos), "expected `,` or `]`".to_owned())),
            }
        }
    }
}

/// Parses the element at `pos` and returns its end.
fn read_element(bytes: &[u8], pos: usize, dtype: DType, out: &mut Vec<u8>) -> Result<usize, ElementError> {
    match dtype.class() {
        DTypeClass::Float => read_float(bytes, pos, dtype, out),
        DTypeClass::Complex => {
            let part = dtype.real();
            let pos = punct(bytes, pos, b'(')?;
            let pos = read_float(bytes, pos, part, out)?;
            let pos = punct(bytes, pos, b',')?;
            let pos = read_float(bytes, pos, part, out)?;
            punct(bytes, pos, b')')
        }
        _ => read_int(bytes, pos, dtype, out),
    }
}

/// Consumes `c` and the white space around it.
fn punct(bytes: &[u8], pos: usize, c: u8) -> Result<usize, ElementError> {
    let pos = skip_space(bytes, pos);
    if bytes.get(pos) == Some(&c) {
        return Ok(skip_space(bytes, pos + 1));
    }
    let message = format!("expected `{}`: a complex number is written `(re, im)`", char::from(c));
    Err((Span::new(pos, pos + 1), message))
}

fn read_int(bytes: &[u8], start: usize, dtype: DType, out: &mut Vec<u8>) -> Result<usize, ElementError> {
    if dtype.is_bool() {
        for (word, value) in [(&b"true"[..], 1), (b"false", 0)] {
            if bytes[start..].starts_with(word) {
                out.push(value);
                return Ok(start + word.len());
            }
        }
    }
    let negative = bytes.get(start) == Some(&b'-');
    let mut pos = start + usize::from(negative);
    let digits = pos;
    let mut value: Option<u64> = Some(0);
    if bytes[pos.min(bytes.len())..].starts_with(b"0x") {
        pos += 2;
        while let Some(d) = bytes.get(pos).and_then(|b| char::from(*b).to_digit(16)) {
            value = value.filter(|v| v >> 60 == 0).map(|v| v << 4 | u64::from(d));
            pos += 1;
        }
    } else {
        while let Some(b @ b'0'..=b'9') = bytes.get(pos) {
            value = value.and_then(|v| v.checked_mul(10)).and_then(|v| v.checked_add(u64::from(b - b'0')));
            pos += 1;
        }
    }
    let at = Span::new(start, pos.max(start + 1));
    if pos == digits || matches!(bytes.get(pos), Some(b'.')) {
        return Err((at, format!("expected an element of type {}", dtype.mlir())));
    }
    let value = value.map(|v| if negative { -i128::from(v) } else { i128::from(v) });
    let Some(value) = value.and_then(|v| int_in_range(v, dtype)) else {
        let text = String::from_utf8_lossy(&bytes[start..pos]).into_owned();
        return Err((at, format!("{text} does not fit {}", dtype.mlir())));
    };
    let mut element = [0; 8];
    value.write(dtype, &mut element);
    out.extend_from_slice(&element[..dtype.size()]);
    Ok(pos)
}

fn read_float(bytes: &[u8], start: usize, dtype: DType, out: &mut Vec<u8>) -> Result<usize, ElementError> {
    let mut pos = start;
    if bytes.get(pos) == Some(&b'-') {
        pos += 1;
    }
    let digits = |mut pos: usize| {
        while bytes.get(pos).is_some_and(u8::is_ascii_digit) {
            pos += 1;
        }
        pos
    };
    let wrong = |end: usize, why: &str| {
        let at = Span::new(start, end.max(start + 1));
        Err((at, format!("expected an element of type {}{why}", dtype.mlir())))
    };
    if bytes.get(pos) == Some(&b'0') && bytes.get(pos + 1) == Some(&b'x') {
        if pos != start {
            return wrong(pos, ": hexadecimal bits have no sign");
        }
        let mut bits: u64 = 0;
        pos += 2;
        while let Some(d) = bytes.get(pos).and_then(|b| char::from(*b).to_digit(16)) {
            if bits >> 60 != 0 {
                return wrong(pos, ": these bits do not fit it");
            }
            bits = bits << 4 | u64::from(d);
            pos += 1;
        }
        if dtype.bits() < 64 && bits >> dtype.bits() != 0 {
            return wrong(pos, ": these bits do not fit it");
        }
        out.extend_from_slice(&bits.to_le_bytes()[..dtype.size()]);
        return Ok(pos);
    }
    let whole = pos;
    pos = digits(pos);
    if pos == whole {
        return wrong(pos, "");
    }
    if bytes.get(pos) != Some(&b'.') {
        return wrong(pos, ": a float must be written with a decimal point, or as hexadecimal bits");
    }
    pos = digits(pos + 1);
    if matches!(bytes.get(pos), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(pos + 1), Some(b'+' | b'-')));
        pos = digits(pos + 1 + sign);
    }
    let value = std::str::from_utf8(&bytes[start..pos]).ok().and_then(|t| t.parse::<f64>().ok());
    let Some(value) = value else { return wrong(pos, "") };
    match dtype {
        DType::F32 => out.extend_from_slice(&(value as f32).to_le_bytes()),
        DType::F64 => out.extend_from_slice(&value.to_le_bytes()),
        _ => {
            let mut element = [0; 8];
            Scalar::Float(value).write(dtype, &mut element);
            out.extend_from_slice(&element[..dtype.size()]);
        }
    }
    Ok(pos)
}

/// Returns the integer as an element of `dtype` if it fits. As in MLIR, a number without a sign may use all
/// bits of a signed type.
pub(super) fn int_in_range(value: i128, dtype: DType) -> Option<Scalar> {
    let bits = dtype.bits();
    let (low, high) = match dtype.class() {
        DTypeClass::Bool => (-1, 1),
        DTypeClass::Unsigned => (0, (1i128 << bits) - 1),
        _ => (-(1i128 << (bits - 1)), (1i128 << bits) - 1),
    };
    if value < low || value > high {
        return None;
    }
    Some(match dtype.class() {
        DTypeClass::Bool => Scalar::Bool(value != 0),
        DTypeClass::Unsigned => Scalar::Unsigned(value as u64),
        _ => Scalar::Signed(value as u64 as i64).round_to(dtype),
    })
}

/// Returns the float with these bits.
pub(super) fn float_of_bits(bits: i128, dtype: DType) -> Option<f64> {
    let bits = u64::try_from(bits).ok().filter(|b| dtype.bits() == 64 || b >> dtype.bits() == 0)?;
    Some(Scalar::from_bytes(dtype, &bits.to_le_bytes()).as_f64())
}

/// Decodes `0x…` into bytes.
fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    if digits.len() % 2 != 0 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 2);
    for pair in digits.chunks_exact(2) {
        let (high, low) = (HEX[usize::from(pair[0])], HEX[usize::from(pair[1])]);
        if high | low > 15 {
            return None;
        }
        out.push(high << 4 | low);
    }
    Some(out)
}

/// The value of each hexadecimal digit; 255 for other bytes.
const HEX: [u8; 256] = {
    let mut table = [255; 256];
    let mut i = 0;
    while i < 10 {
        table[b'0' as usize + i] = i as u8;
        i += 1;
    }
    let mut i = 0;
    while i < 6 {
        table[b'a' as usize + i] = 10 + i as u8;
        table[b'A' as usize + i] = 10 + i as u8;
        i += 1;
    }
    table
};
