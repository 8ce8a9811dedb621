//! Encodes attributes and types in VHLO.

use farcall_sig::DType;

use super::super::Version;
use super::super::attr::{
    ALIAS, API_VERSION, ARRAY, BOOLEAN, DICTIONARY, ENUMS, FLOAT, INTEGER, RESULT_ACCURACY, STRING, TENSOR,
    TYPE, TYPE_EXTENSIONS,
};
use super::super::builtin;
use super::super::ty::Ty;
use super::super::types::{
    self, COMPLEX, DYNAMIC, FUNCTION, FUTURE, QUANTIZED, QUANTIZED_PER_AXIS, SIGNED, TENSOR as TENSOR_TYPE,
    TENSOR_WITH_ENCODING, TUPLE,
};
use crate::attr::{AttrDict, Attribute, DialectAttr, IntKind};
use crate::bytecode::{Bytes, Elements, Tables};
use crate::literal::Literal;
use crate::scalar::Scalar;
use crate::types::{Dim, Quantization, TensorType, Type};

/// Encoder with the tables of attributes and types encoded so far.
pub(super) struct Encoder {
    pub(super) tables: Tables,
    /// Oldest version of StableHLO that can read everything encoded so far.
    pub(super) version: Version,
}

type Encoded = Result<usize, String>;

impl Encoder {
    pub(super) fn new(oldest: Version) -> Encoder {
        Encoder { tables: Tables::default(), version: oldest }
    }

    /// Records the use of a feature that StableHLO has had since `version`.
    pub(super) fn needs(&mut self, version: Version) {
        self.version = self.version.max(version);
    }

    // --- MLIR's own

    fn builtin(&mut self, code: u64, fill: impl FnOnce(&mut Bytes)) -> usize {
        let mut bytes = Bytes::default();
        bytes.number(code);
        fill(&mut bytes);
        self.tables.attr("builtin", bytes)
    }

    pub(super) fn unknown_location(&mut self) -> usize {
        self.builtin(builtin::UNKNOWN, |_| {})
    }

    pub(super) fn named_location(&mut self, name: &str) -> usize {
        let (name, child) = (self.builtin_string(name.as_bytes()), self.unknown_location());
        self.builtin(builtin::NAMED, |out| {
            out.size(name);
            out.size(child);
        })
    }

    fn builtin_string(&mut self, text: &[u8]) -> usize {
        let text = self.tables.string(text);
        self.builtin(builtin::STRING, |out| out.size(text))
    }

    fn entries(&mut self, entries: &[(usize, usize)]) -> usize {
        self.builtin(builtin::DICTIONARY, |out| {
            out.list(entries.iter(), |out, (key, value)| {
                out.size(*key);
                out.size(*value);
            });
        })
    }

    /// Encodes the attributes of an operation of VHLO.
    pub(super) fn dictionary(&mut self, attrs: &AttrDict) -> Encoded {
        let mut entries = Vec::with_capacity(attrs.len());
        for (key, value) in attrs {
            let value = self.attr(value).map_err(|message| format!("attribute `{key}`: {message}"))?;
            entries.push((self.builtin_string(key.as_bytes()), value));
        }
        Ok(self.entries(&entries))
    }

    /// Encodes the attributes of an operation of another dialect as text.
    pub(super) fn builtin_dictionary(&mut self, attrs: &AttrDict) -> usize {
        let mut entries = Vec::with_capacity(attrs.len());
        for (key, value) in attrs {
            let value = match value {
                Attribute::String(text) => self.builtin_string(text),
                value => self.text(value),
            };
            entries.push((self.builtin_string(key.as_bytes()), value));
        }
        self.entries(&entries)
    }

    /// Encodes an attribute as text.
    fn text(&mut self, attr: &Attribute) -> usize {
        let dialect = match attr {
            Attribute::Dialect(d) => d.name.split_once('.').map_or("builtin", |(dialect, _)| dialect),
            Attribute::Sharding(_) | Attribute::ShardingPerValue(_) => "sdy",
            _ => "builtin",
        };
        self.tables.attr_text(dialect, &attr.to_string())
    }

    // --- attributes

    fn vhlo(&mut self, code: u64, fill: impl FnOnce(&mut Bytes)) -> usize {
        let mut bytes = Bytes::default();
        bytes.number(code);
        fill(&mut bytes);
        self.tables.attr("vhlo", bytes)
    }

    pub(super) fn attr(&mut self, attr: &Attribute) -> Encoded {
        Ok(match attr {
            Attribute::Unit => self.builtin(builtin::UNIT, |_| {}),
            Attribute::Bool(value) => self.vhlo(BOOLEAN, |out| out.byte(u8::from(*value) << 1 | 1)),
            Attribute::Int(value, IntKind::Index) => {
                let ty = self.plain_type(&Type::Opaque("index".into()))?;
                let value = i64::try_from(*value).map_err(|_| "an index that is too large".to_owned())?;
                self.vhlo(INTEGER, |out| {
                    out.size(ty);
                    out.signed(value);
                })
            }
            Attribute::Int(value, IntKind::Typed(dtype)) => {
                let ty = self.element(*dtype)?;
                let bits = *value as u64 & (u64::MAX >> (64 - dtype.bits().min(64)));
                self.vhlo(INTEGER, |out| number(out, ty, dtype.bits(), bits))
            }
            Attribute::Float(value, dtype) => {
                let ty = self.element(*dtype)?;
                let mut element = [0; 16];
                Scalar::Float(f64::from_bits(*value)).write(*dtype, &mut element[..dtype.size()]);
                let bits = u64::from_le_bytes(std::array::from_fn(|i| element[i]));
                self.vhlo(FLOAT, |out| number(out, ty, dtype.bits(), bits))
            }
            Attribute::String(text) => {
                let text = self.tables.string(text);
                self.vhlo(STRING, |out| out.size(text))
            }
            Attribute::Array(items) => {
                let items = items.iter().map(|item| self.attr(item)).collect::<Result<Vec<_>, String>>()?;
                self.vhlo(ARRAY, |out| out.list(items.iter(), |out, item| out.size(*item)))
            }
            Attribute::Dict(dict) => {
                let mut entries = Vec::with_capacity(dict.len());
                for (key, value) in dict {
                    entries.push((self.attr(&Attribute::string(key))?, self.attr(value)?));
                }
                self.vhlo(DICTIONARY, |out| {
                    out.list(entries.iter(), |out, (key, value)| {
                        out.size(*key);
                        out.size(*value);
                    });
                })
            }
            Attribute::Dense(literal) | Attribute::DenseArray(literal) => {
                let ty = self.ty(&Type::Tensor(literal.ty()))?;
                self.dense(ty, literal)
            }
            Attribute::Elided(ty) => {
                return Err(format!(
                    "artifacts hold all elements, and those of this constant ({ty}) were left out; \
                     `farcall convert --elided zeros` fills them in"
                ));
            }
            Attribute::DenseIndex(literal) => {
                let element = self.plain_type(&Type::Opaque("index".into()))?;
                let dims: Vec<Dim> = literal.dims().iter().map(|d| Dim::Static(*d)).collect();
                let ty = self.tensor_of(&dims, element);
                self.dense(ty, literal)
            }
            Attribute::Symbol(name) => {
                let name = self.builtin_string(name.as_bytes());
                self.builtin(builtin::SYMBOL, |out| out.size(name))
            }
            Attribute::Type(ty) => {
                let ty = self.plain_type(ty)?;
                self.vhlo(TYPE, |out| out.size(ty))
            }
            Attribute::Dialect(d) => self.dialect(d, attr)?,
            Attribute::Sharding(_) | Attribute::ShardingPerValue(_) => self.text(attr),
        })
    }

    /// Encodes the elements of a constant: a single element if all are equal, otherwise all of them. Booleans
    /// are packed, lowest bits first.
    fn dense(&mut self, ty: usize, literal: &Literal) -> usize {
        let (size, pred) = (literal.dtype().size(), literal.dtype() == DType::Pred);
        let (len, write): (usize, fn(&Literal, &mut Vec<u8>)) = match literal.one_element() {
            Some(_) if pred => {
                (1, |literal, out| out.push(if literal.element(0)[0] != 0 { 0xff } else { 0 }))
            }
            Some(_) => (size, |literal, out| write_elements(literal, literal.element(0), out)),
            None if pred => (literal.len().div_ceil(8), write_packed),
            None => (literal.byte_len(), |literal, out| write_elements(literal, literal.bytes(), out)),
        };
        let mut bytes = Bytes::default();
        bytes.number(TENSOR);
        bytes.size(ty);
        bytes.size(len);
        self.tables.attr_of_elements("vhlo", bytes, Elements { literal: literal.clone(), len, write })
    }

    fn dialect(&mut self, d: &DialectAttr, attr: &Attribute) -> Encoded {
        let kind = d.name.strip_prefix("stablehlo.");
        if let Some(e) = ENUMS.iter().find(|e| Some(e.kind) == kind) {
            let word = e.words.iter().position(|w| *w == d.text);
            let word = word.ok_or_else(|| format!("artifacts have no {} `{}`", e.kind, d.text))?;
            return Ok(self.vhlo(e.code, |out| out.size(word)));
        }
        match d.name.as_str() {
            "vhlo.api_version" => {
                let version = d.text.parse().map_err(|_| format!("{} is not a version", d.text))?;
                Ok(self.vhlo(API_VERSION, |out| out.number(version)))
            }
            "stablehlo.output_operand_alias" => {
                let params = parsed(d)?;
                let ints = |key: &str| params.get(key).and_then(Attribute::as_i64_list).unwrap_or_default();
                let operand = params.get("operand_index").and_then(Attribute::as_i64).unwrap_or(0);
                Ok(self.vhlo(ALIAS, |out| {
                    out.list(ints("output_tuple_indices").into_iter(), Bytes::signed);
                    out.signed(operand);
                    out.list(ints("operand_tuple_indices").into_iter(), Bytes::signed);
                }))
            }
            "stablehlo.result_accuracy" => {
                self.needs((1, 9, 0));
                let params = parsed(d)?;
                let float = |key: &str| params.get(key).and_then(Attribute::as_f64).unwrap_or(0.0).to_bits();
                let ulps = params.get("ulps").and_then(Attribute::as_i64).unwrap_or(0);
                let mode = match params.get("mode") {
                    Some(mode) => mode.clone(),
                    None => Attribute::dialect("stablehlo.result_accuracy_mode", "DEFAULT"),
                };
                let mode = self.attr(&mode)?;
                Ok(self.vhlo(RESULT_ACCURACY, |out| {
                    out.signed(float("atol").cast_signed());
                    out.signed(float("rtol").cast_signed());
                    out.signed(ulps);
                    out.size(mode);
                }))
            }
            name if name.starts_with("stablehlo.") => Err(format!("artifacts cannot hold {attr}")),
            _ => Ok(self.text(attr)),
        }
    }

    // --- types

    fn vhlo_type(&mut self, code: u64, fill: impl FnOnce(&mut Bytes)) -> usize {
        let mut bytes = Bytes::default();
        bytes.number(code);
        fill(&mut bytes);
        self.tables.ty("vhlo", bytes)
    }

    /// Encodes the type of a value.
    pub(super) fn ty(&mut self, ty: &Type) -> Encoded {
        let list = |encoder: &mut Encoder, types: &[Type]| {
            types.iter().map(|ty| encoder.ty(ty)).collect::<Result<Vec<_>, String>>()
        };
        Ok(match ty {
            Type::Tensor(tensor) => self.tensor(tensor)?,
            Type::Tuple(parts) => {
                let parts = list(self, parts)?;
                self.vhlo_type(TUPLE, |out| out.list(parts.iter(), |out, ty| out.size(*ty)))
            }
            Type::Future(parts) => {
                self.needs((1, 15, 0));
                let parts = list(self, parts)?;
                self.vhlo_type(FUTURE, |out| out.list(parts.iter(), |out, ty| out.size(*ty)))
            }
            Type::Function(ty) => {
                let (params, results) = (list(self, &ty.params)?, list(self, &ty.results)?);
                self.vhlo_type(FUNCTION, |out| {
                    out.list(params.iter(), |out, ty| out.size(*ty));
                    out.list(results.iter(), |out, ty| out.size(*ty));
                })
            }
            Type::Token | Type::Scalar(_) | Type::Opaque(_) => self.plain_type(ty)?,
        })
    }

    /// Encodes a type without parameters, or a type that only attributes have.
    fn plain_type(&mut self, ty: &Type) -> Encoded {
        match ty {
            Type::Scalar(dtype) => self.element(*dtype),
            Type::Token | Type::Opaque(_) => {
                let name = ty.to_string();
                let code = types::code(|known| known.to_string() == name);
                let code = code.ok_or_else(|| format!("artifacts have no type {ty}"))?;
                if matches!(name.as_str(), "none" | "tf32") {
                    self.needs((1, 6, 0));
                }
                Ok(self.vhlo_type(code, |_| {}))
            }
            _ => self.ty(ty),
        }
    }

    /// Encodes an element type.
    fn element(&mut self, dtype: DType) -> Encoded {
        let part = match dtype {
            DType::C64 => Some(DType::F32),
            DType::C128 => Some(DType::F64),
            _ => None,
        };
        if let Some(part) = part {
            let part = self.element(part)?;
            return Ok(self.vhlo_type(COMPLEX, |out| out.size(part)));
        }
        self.needs(match dtype {
            DType::S2 | DType::U2 => (1, 2, 0),
            DType::F8E3M4 | DType::F8E4M3 => (1, 7, 0),
            DType::F4E2M1FN | DType::F6E2M3FN | DType::F6E3M2FN | DType::F8E8M0FNU => (1, 8, 0),
            _ => (0, 9, 0),
        });
        let code = types::code(|known| matches!(known, Ty::Element(known) if *known == dtype));
        let code = code.ok_or_else(|| format!("artifacts have no type {}", dtype.mlir()))?;
        Ok(self.vhlo_type(code, |_| {}))
    }

    fn tensor(&mut self, ty: &TensorType) -> Encoded {
        let element = match &ty.quant {
            None => self.element(ty.dtype)?,
            Some(quant) => self.quantized(ty.dtype, quant)?,
        };
        let dims: Vec<Dim> = ty.dims().collect();
        Ok(self.tensor_of(&dims, element))
    }

    fn tensor_of(&mut self, dims: &[Dim], element: usize) -> usize {
        let sizes = |out: &mut Bytes| {
            let size = |dim: &Dim| dim.size().map_or(DYNAMIC, |size| i64::try_from(size).unwrap_or(i64::MAX));
            out.list(dims.iter(), |out, dim| out.signed(size(dim)));
            out.size(element);
        };
        if dims.iter().all(|dim| dim.bound().is_none() || !dim.is_dynamic()) {
            return self.vhlo_type(TENSOR_TYPE, sizes);
        }
        let bound = |dim: &Dim| dim.bound().filter(|_| dim.is_dynamic()).and_then(|b| i64::try_from(b).ok());
        let bounds = self.vhlo(TYPE_EXTENSIONS, |out| {
            out.list(dims.iter(), |out, dim| out.signed(bound(dim).unwrap_or(DYNAMIC)));
        });
        self.vhlo_type(TENSOR_WITH_ENCODING, |out| {
            out.size(bounds);
            sizes(out);
        })
    }

    fn quantized(&mut self, storage: DType, quant: &Quantization) -> Encoded {
        let signed = storage.is_signed_integer();
        // The type states the width, and a flag the signedness.
        let same_width = |dtype: &&DType| dtype.is_signed_integer() && dtype.bits() == storage.bits();
        let stored = DType::VARIANTS.iter().find(same_width).copied().unwrap_or(storage);
        let (stored, expressed) = (self.element(stored)?, self.element(quant.expressed)?);
        let start = |out: &mut Bytes| {
            out.number(if signed { SIGNED } else { 0 });
            out.size(stored);
            out.size(expressed);
        };
        let Some(axis) = quant.axis else {
            let (Some(scale), Some(zero)) = (quant.scales.first(), quant.zero_points.first()) else {
                return Err("a quantized type must have a scale".to_owned());
            };
            return Ok(self.vhlo_type(QUANTIZED, |out| {
                start(out);
                for number in [scale.cast_signed(), *zero, quant.storage_min, quant.storage_max] {
                    out.signed(number);
                }
            }));
        };
        Ok(self.vhlo_type(QUANTIZED_PER_AXIS, |out| {
            start(out);
            out.size(axis);
            out.signed(quant.storage_min);
            out.signed(quant.storage_max);
            out.list(quant.scales.iter(), |out, scale| out.signed(scale.cast_signed()));
            out.list(quant.zero_points.iter(), |out, zero| out.signed(*zero));
        }))
    }
}

/// Writes a type and the bits of an element: one byte, or a signed number.
fn number(out: &mut Bytes, ty: usize, width: u32, bits: u64) {
    out.size(ty);
    if width <= 8 { out.byte(bits as u8) } else { out.signed(bits.cast_signed()) }
}

/// Writes elements of a constant, without the unused bits of narrow types.
fn write_elements(literal: &Literal, bytes: &[u8], out: &mut Vec<u8>) {
    match literal.dtype().bits() {
        bits @ 0..8 => out.extend(bytes.iter().map(|byte| byte & (0xff >> (8 - bits)))),
        _ => out.extend_from_slice(bytes),
    }
}

/// Writes booleans, eight in a byte.
fn write_packed(literal: &Literal, out: &mut Vec<u8>) {
    let pack = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit != 0));
    out.extend(literal.bytes().chunks(8).map(pack));
}

/// Returns the parameters of an attribute, which may be stored as text.
fn parsed(d: &DialectAttr) -> Result<AttrDict, String> {
    super::downgrade::params(d)
}
