//! Parses attributes, in dictionaries and after keywords.

use std::sync::Arc;

use farcall_sig::{DType, DTypeClass};
use smallvec::SmallVec;

use super::lexer::Tok;
use super::parser::{Parsed, Parser, span};
use crate::attr::{AttrDict, Attribute, DialectAttr, IntKind};
use crate::diag::{Diagnostic, Span};
use crate::quote::is_bare;
use crate::scalar::Scalar;
use crate::sharding::Sharding;
use crate::types::Type;

/// Attributes of MHLO that StableHLO has under the same name.
const IN_STABLEHLO: [&str; 16] = [
    "channel_handle",
    "comparison_direction",
    "comparison_type",
    "conv",
    "dot",
    "dot_algorithm",
    "fft_type",
    "gather",
    "output_operand_alias",
    "precision",
    "result_accuracy",
    "result_accuracy_mode",
    "rng_algorithm",
    "rng_distribution",
    "scatter",
    "transpose",
];

/// Parses the attribute `#name<body>` if it is a sharding.
pub(super) fn sharding_attr(name: &str, body: &str) -> Option<Attribute> {
    match name {
        "sdy.sharding" => Some(Attribute::Sharding(Sharding::read(body)?.into())),
        "sdy.sharding_per_value" => Some(Attribute::ShardingPerValue(Sharding::read_per_value(body)?.into())),
        _ => None,
    }
}

impl<'s> Parser<'s> {
    pub(super) fn attr(&mut self) -> Parsed<Attribute> {
        self.enter()?;
        self.nodes += 1;
        let t = self.peek();
        let attr = match t.tok {
            Tok::Punct(b'[') => {
                self.bump();
                let mut items = Vec::new();
                self.list_until(b']', |p| {
                    items.push(p.attr()?);
                    Ok(())
                })?;
                Attribute::Array(items)
            }
            Tok::Punct(b'{') => Attribute::Dict(self.dict()?),
            Tok::Str => {
                let bytes = self.string_bytes()?;
                if self.eat(b':') {
                    self.ty()?;
                }
                Attribute::String(bytes.into())
            }
            Tok::At => {
                let mut name = self.symbol()?;
                while self.peek().tok == Tok::Colons {
                    self.bump();
                    name.push_str("::@");
                    name.push_str(&self.symbol()?);
                }
                Attribute::Symbol(name.into())
            }
            Tok::Hash => self.dialect_attr()?,
            Tok::Int | Tok::Float | Tok::Punct(b'-') => self.number()?,
            Tok::Word => match self.str_of(t) {
                "true" | "false" => {
                    self.bump();
                    Attribute::Bool(self.str_of(t) == "true")
                }
                "unit" => {
                    self.bump();
                    Attribute::Unit
                }
                "dense" => self.dense()?,
                "dense_resource" => self.dense_resource()?,
                "array" => self.dense_array()?,
                "affine_map" | "affine_set" | "strided" => {
                    self.bump();
                    let body = self.balanced()?;
                    Attribute::dialect(&format!("builtin.{}", self.str_of(t)), body)
                }
                "opaque" => self.opaque()?,
                "loc" => {
                    self.trailing_loc()?;
                    Attribute::dialect("builtin.loc", "unknown")
                }
                _ if self.at_type() => Attribute::Type(self.ty()?),
                _ => return self.expected("an attribute"),
            },
            _ if self.at_type() => Attribute::Type(self.ty()?),
            _ => return self.expected("an attribute"),
        };
        self.leave();
        Ok(attr)
    }

    /// Parses `{key = value, "key" = value, key}`.
    pub(super) fn dict(&mut self) -> Parsed<AttrDict> {
        let mut out = AttrDict::new();
        self.expect(b'{')?;
        self.entries(b'}', &mut out)?;
        Ok(out)
    }

    /// Parses `{…}` into `out` if it comes next.
    pub(super) fn optional_dict(&mut self, out: &mut AttrDict) -> Parsed<()> {
        if self.eat(b'{') { self.entries(b'}', out) } else { Ok(()) }
    }

    fn entries(&mut self, close: u8, out: &mut AttrDict) -> Parsed<()> {
        let mut added: SmallVec<[(String, Attribute, Span); 2]> = SmallVec::new();
        self.list_until(close, |p| {
            let t = p.peek();
            let key = match t.tok {
                Tok::Word => {
                    p.bump();
                    p.str_of(t).to_owned()
                }
                Tok::Str => p.string()?,
                _ => return p.expected("the name of an attribute"),
            };
            let value = if p.eat(b'=') { p.attr()? } else { Attribute::Unit };
            added.push((key, value, span(t)));
            Ok(())
        })?;
        // The sort is stable. Of several equal names, the first in the text therefore comes first, and it is
        // kept. The attributes are added in bulk, because inserting many into a sorted list one by one would
        // move its entries each time.
        added.sort_by(|a, b| a.0.cmp(&b.0));
        for i in 0..added.len() {
            let (key, _, at) = &added[i];
            if out.contains_key(key) || added[..i].last().is_some_and(|before| before.0 == *key) {
                self.is_twice(key, *at);
            }
        }
        added.dedup_by(|a, b| a.0 == b.0);
        out.extend(added.into_iter().map(|(key, value, _)| (key, value)));
        Ok(())
    }

    /// Adds an attribute. If one of this name exists, reports an error instead.
    pub(super) fn insert(&mut self, out: &mut AttrDict, key: String, value: Attribute, at: Span) {
        if out.contains_key(&key) {
            self.is_twice(&key, at);
        } else {
            out.insert(key, value);
        }
    }

    fn is_twice(&mut self, key: &str, at: Span) {
        self.report(Diagnostic::new("redefinition", at, format!("attribute `{key}` is given twice")));
    }

    /// Parses `5`, `-5 : i32`, `1.5 : f32`, `0x7F800000 : f32`, `5 : index`.
    fn number(&mut self) -> Parsed<Attribute> {
        let start = self.peek();
        let negative = self.eat(b'-');
        let t = self.peek();
        if t.tok == Tok::Float {
            self.bump();
            let value = self.decimal(t, negative)?;
            let dtype = if self.eat(b':') { self.float_type()? } else { DType::F64 };
            return Ok(Attribute::float(value, dtype));
        }
        if t.tok != Tok::Int {
            return self.expected("a number");
        }
        self.jump(start.start);
        let (value, place) = self.integer()?;
        if !self.eat(b':') {
            return self.int_attr(value, DType::S64, place);
        }
        if self.eat_word("index") {
            return Ok(Attribute::Int(value, IntKind::Index));
        }
        let dtype = self.dtype()?;
        match dtype.class() {
            DTypeClass::Float => match super::dense::float_of_bits(value, dtype) {
                Some(value) if self.str_of(t).starts_with("0x") && !negative => {
                    // The digits are the bits of the float. A NaN keeps its payload where
                    // `Scalar::from_bytes` does.
                    Ok(Attribute::float(value, dtype))
                }
                _ => self.fail(
                    "parse",
                    place,
                    "a float must be written with a decimal point, or as hexadecimal bits",
                ),
            },
            DTypeClass::Complex => self.fail("parse", place, "a number cannot have a complex type"),
            _ => self.int_attr(value, dtype, place),
        }
    }

    fn float_type(&mut self) -> Parsed<DType> {
        let at = self.peek();
        let dtype = self.dtype()?;
        if dtype.is_float() {
            return Ok(dtype);
        }
        self.fail("parse", span(at), "a number with a decimal point must have a floating-point type")
    }

    /// Returns an integer attribute, or a boolean for `i1`.
    fn int_attr(&mut self, value: i128, dtype: DType, at: Span) -> Parsed<Attribute> {
        match super::dense::int_in_range(value, dtype) {
            Some(Scalar::Bool(b)) => Ok(Attribute::Bool(b)),
            Some(Scalar::Unsigned(v)) => Ok(Attribute::Int(i128::from(v), IntKind::Typed(dtype))),
            Some(v) => Ok(Attribute::Int(i128::from(v.as_i64()), IntKind::Typed(dtype))),
            None => self.fail("parse", at, format!("{value} does not fit {}", dtype.mlir())),
        }
    }

    /// Parses a float without a type, for attributes that are `f64` by default.
    pub(super) fn bare_float(&mut self) -> Parsed<f64> {
        let negative = self.eat(b'-');
        let t = self.peek();
        if !matches!(t.tok, Tok::Int | Tok::Float) {
            return self.expected("a number");
        }
        self.bump();
        self.decimal(t, negative)
    }

    /// Parses `#alias`, `#dialect.name<…>` or `#dialect<name …>`.
    fn dialect_attr(&mut self) -> Parsed<Attribute> {
        let t = self.bump();
        let name = &self.str_of(t)[1..];
        let has_body = self.bytes().get(t.end) == Some(&b'<');
        if !has_body {
            if !name.contains('.') {
                return self.attr_alias(t);
            }
            return Ok(Attribute::dialect(name, ""));
        }
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return self.fail("parse", span(t), "the name of a dialect must start with a letter");
        }
        let mut body = self.balanced()?;
        let mut name = name.to_owned();
        // For a time, MHLO was printed with the short form in quotes: `#mhlo<"precision DEFAULT">`.
        if let Some(unquoted) =
            body.strip_prefix('"').and_then(|b| b.strip_suffix('"')).filter(|b| !b.contains('"'))
            && name == "mhlo"
        {
            body = unquoted;
        }
        if !name.contains('.') {
            // In the short form, the name is inside the brackets.
            let end = body.find(|c: char| !(c.is_ascii_alphanumeric() || "_$.".contains(c)));
            let inner = &body[..end.unwrap_or(body.len())];
            if is_bare(inner) {
                name = format!("{name}.{inner}");
                body = body[inner.len()..].trim_start();
                // `#dialect<name<…>>`
                if let Some(unwrapped) = body.strip_prefix('<').and_then(|b| b.strip_suffix('>')) {
                    body = unwrapped.trim();
                }
            }
        }
        if let Some(attr) = sharding_attr(&name, body) {
            return Ok(attr);
        }
        if let Some(base) = name.strip_prefix("mhlo.").filter(|base| IN_STABLEHLO.contains(base)) {
            name = format!("stablehlo.{base}");
        }
        let params = self.params(body);
        Ok(Attribute::Dialect(Arc::new(DialectAttr { name, text: body.to_owned(), params })))
    }

    /// Parses the parameters of a dialect attribute if its text is a list of parameters; otherwise returns an
    /// empty dictionary.
    fn params(&mut self, body: &'s str) -> AttrDict {
        let start = body.as_ptr() as usize - self.text.as_ptr() as usize;
        let reported = self.diagnostics.len();
        let read = self.within(start, start + body.len(), |p| {
            let mut out = Vec::new();
            while p.peek().tok != Tok::Eof {
                let key = p.word("a name")?;
                let value = if p.eat(b'=') { p.param()? } else { Attribute::Unit };
                out.push((p.str_of(key).to_owned(), value));
                if p.peek().tok != Tok::Eof {
                    p.expect(b',')?;
                }
            }
            Parsed::Ok(AttrDict::from_iter(out))
        });
        self.diagnostics.truncate(reported);
        read.unwrap_or_default()
    }

    /// Parses a parameter: an attribute, or a word such as `tf32` or `DEFAULT`.
    fn param(&mut self) -> Parsed<Attribute> {
        let t = self.peek();
        let keyword = t.tok == Tok::Word
            && !self.at_type()
            && !matches!(
                self.str_of(t),
                "true" | "false" | "unit" | "dense" | "dense_resource" | "array" | "affine_map" | "loc"
            );
        if keyword {
            self.bump();
            return Ok(Attribute::string(self.str_of(t)));
        }
        self.attr()
    }

    /// Parses `opaque<"elided_large_const", "0xDEADBEEF"> : type`, which MLIR wrote before 2023 in place of
    /// many elements.
    fn opaque(&mut self) -> Parsed<Attribute> {
        let word = self.bump();
        let body = self.balanced()?;
        if !self.at(b':') {
            return Ok(Attribute::dialect("builtin.opaque", body));
        }
        self.bump();
        let ty = self.ty()?;
        match ty {
            Type::Tensor(ty) if ty.is_static() && body.contains("DEADBEEF") => Ok(Attribute::Elided(ty)),
            _ => self.fail("type", span(word), "the elements of this constant are of another dialect"),
        }
    }

    /// Parses `array<i64: 1, 2>`.
    fn dense_array(&mut self) -> Parsed<Attribute> {
        self.bump();
        self.expect(b'<')?;
        let dtype = self.dtype()?;
        let mut bytes = Vec::new();
        if !self.eat(b'>') {
            self.expect(b':')?;
            let mut n = 0usize;
            self.list_until(b'>', |p| {
                n += 1;
                p.element(dtype, &mut bytes)
            })?;
        }
        let n = bytes.len() / dtype.size();
        self.literal_of(dtype, [n], &bytes, Span::default()).map(Attribute::DenseArray)
    }
}
