//! Decodes VHLO's types.

use std::sync::Arc;

use farcall_sig::DType;

use super::table::Table;
use super::ty::{Ty, not_a_value};
use crate::attr::Attribute;
use crate::bytecode::{Cursor, Reading};
use crate::types::{Dim, FuncType, Quantization, TensorType, Type};

/// Encoding of a dynamic size.
pub(super) const DYNAMIC: i64 = i64::MIN;

/// Decodes a type that is stored as text.
pub(super) fn of_text(from: &mut Cursor<'_>) -> Reading<Ty> {
    let before = *from;
    let Ok(text) = std::str::from_utf8(from.terminated()?) else {
        return before.damaged("the text of a type is not UTF-8");
    };
    match text.parse::<Type>() {
        Ok(Type::Scalar(dtype)) => Ok(Ty::Element(dtype)),
        Ok(ty) => Ok(Ty::Whole(ty)),
        Err(e) => before.damaged(format!("{text:?} is not a type: {}", first_message(&e))),
    }
}

/// The message of the first error.
pub(super) fn first_message(e: &crate::diag::ProgramError) -> String {
    e.diagnostics.first().map_or_else(String::new, |d| crate::diag::shortened(&d.message).into_owned())
}

/// Returns the type with this code, if it has no parameters.
fn plain(code: u64) -> Option<Ty> {
    use DType::*;
    Some(match code {
        0 => Ty::Element(Pred),
        2 => Ty::Element(BF16),
        3 => Ty::Element(F16),
        4 => Ty::Element(F32),
        5 => Ty::Element(F64),
        6 => Ty::Element(F8E4M3FN),
        7 => Ty::Element(F8E5M2),
        9 => Ty::Index,
        10 => Ty::Element(S4),
        11 => Ty::Element(S8),
        12 => Ty::Element(S16),
        13 => Ty::Element(S32),
        14 => Ty::Element(S64),
        15 => Ty::Element(U4),
        16 => Ty::Element(U8),
        17 => Ty::Element(U16),
        18 => Ty::Element(U32),
        19 => Ty::Element(U64),
        22 => Ty::Whole(Type::Token),
        26 => Ty::Other("!shape.witness"),
        27 => Ty::Element(F8E4M3FNUZ),
        28 => Ty::Element(F8E5M2FNUZ),
        29 => Ty::Element(F8E4M3B11FNUZ),
        31 => Ty::Element(S2),
        32 => Ty::Element(U2),
        33 => Ty::Other("none"),
        34 => Ty::Other("tf32"),
        35 => Ty::Element(F8E4M3),
        36 => Ty::Element(F8E3M4),
        37 => Ty::Element(F4E2M1FN),
        38 => Ty::Element(F6E2M3FN),
        39 => Ty::Element(F6E3M2FN),
        40 => Ty::Element(F8E8M0FNU),
        _ => return None,
    })
}

/// Returns the code of the type without parameters for which `is` holds.
pub(super) fn code(is: impl Fn(&Ty) -> bool) -> Option<u64> {
    (0..=NEWEST_PLAIN).find(|code| plain(*code).is_some_and(|ty| is(&ty)))
}

/// Largest code of a type without parameters.
const NEWEST_PLAIN: u64 = 40;

pub(super) const COMPLEX: u64 = 1;
pub(super) const FUNCTION: u64 = 8;
pub(super) const TENSOR: u64 = 20;
pub(super) const TENSOR_WITH_ENCODING: u64 = 21;
pub(super) const TUPLE: u64 = 23;
pub(super) const QUANTIZED: u64 = 24;
const UNRANKED: u64 = 25;
pub(super) const QUANTIZED_PER_AXIS: u64 = 30;
const BUFFER: u64 = 41;
pub(super) const FUTURE: u64 = 42;

/// Decodes a type of VHLO.
pub(super) fn read<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Ty> {
    let before = *from;
    let code = from.number()?;
    if let Some(ty) = plain(code) {
        return Ok(ty);
    }
    match code {
        COMPLEX => complex(table, from),
        FUNCTION => function(table, from),
        TENSOR => tensor(table, from, false),
        TENSOR_WITH_ENCODING => tensor(table, from, true),
        TUPLE => Ok(Ty::Whole(Type::Tuple(value_types(table, from)?.into()))),
        FUTURE => Ok(Ty::Whole(Type::Future(value_types(table, from)?.into()))),
        QUANTIZED => quantized(table, from),
        QUANTIZED_PER_AXIS => quantized_per_axis(table, from),
        UNRANKED => Ok(Ty::Whole(Type::Opaque(format!("tensor<*x{}>", table.ty(from)?).into()))),
        BUFFER => {
            let sizes: String = from.list(Cursor::signed)?.iter().map(|size| format!("{size}x")).collect();
            Ok(Ty::Whole(Type::Opaque(format!("memref<{sizes}{}>", table.ty(from)?).into())))
        }
        _ => Err(before.error("unsupported", format!("a VHLO type with the unknown code {code}"))),
    }
}

/// Decodes `complex<t>`.
pub(super) fn complex<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Ty> {
    let before = *from;
    match table.element(from)? {
        DType::F32 => Ok(Ty::Element(DType::C64)),
        DType::F64 => Ok(Ty::Element(DType::C128)),
        other => before.damaged(format!("the parts of a complex number cannot have type {}", other.mlir())),
    }
}

/// Decodes `(…) -> …`.
pub(super) fn function<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Ty> {
    let mut list = |from: &mut Cursor<'a>| {
        from.list(|from| {
            let ty = table.ty(from)?;
            table.written(ty, from)
        })
    };
    let params = list(from)?;
    let results = list(from)?;
    Ok(Ty::Whole(Type::Function(Arc::new(FuncType { params, results }))))
}

/// Decodes a list of types that values can have.
pub(super) fn value_types<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Vec<Type>> {
    from.list(|from| {
        let before = *from;
        let i = from.index(table.file.types.len(), "type")?;
        table.value_type(i, &before)?.map_err(|other| before.error("type", not_a_value(&other)))
    })
}

/// Decodes bounds, sizes, and the element type.
pub(super) fn tensor<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>, encoded: bool) -> Reading<Ty> {
    let before = *from;
    let encoding = if encoded { Some(table.attr(from)?) } else { None };
    let sizes = from.list(|from| {
        let before = *from;
        match from.signed()? {
            DYNAMIC => Ok(None),
            size => usize::try_from(size).map(Some).or_else(|_| before.damaged(format!("a size of {size}"))),
        }
    })?;
    let bounds = match encoding {
        None => vec![None; sizes.len()],
        Some(attr) => match bounds(&attr) {
            Some(bounds) if bounds.len() == sizes.len() => bounds,
            _ => {
                let message = format!("a tensor of rank {} cannot have the encoding {attr}", sizes.len());
                return Err(before.error("type", message));
            }
        },
    };
    // The bound of a static size is redundant.
    let dim = |(size, bound): (Option<usize>, _)| size.map_or(Dim::Dynamic { bound }, Dim::Static);
    let dims: Vec<Dim> = sizes.into_iter().zip(bounds).map(dim).collect();
    let before = *from;
    match table.ty(from)? {
        Ty::Element(dtype) => Ok(Ty::Whole(TensorType::from_dims(dtype, dims).into())),
        Ty::Quantized(dtype, quant) => {
            Ok(Ty::Whole(TensorType::from_dims(dtype, dims).with_quant(Some(quant)).into()))
        }
        Ty::Index => Ok(Ty::OfIndex(dims)),
        other => Err(before.error("type", format!("the elements of a tensor cannot have type {other}"))),
    }
}

/// Name of the attribute that gives a tensor type the bounds of its dimensions.
pub(super) const BOUNDS: &str = "stablehlo.bounds";

/// Parses `#stablehlo.bounds<3, ?>`, as created by [`super::attr`] or by text.
fn bounds(attr: &Attribute) -> Option<Vec<Option<usize>>> {
    let Attribute::Dialect(d) = attr else { return None };
    if d.name != BOUNDS {
        return None;
    }
    d.text
        .split(',')
        .map(|part| match part.trim() {
            "?" => Some(None),
            bound => bound.parse().ok().map(Some),
        })
        .collect()
}

/// Formats bounds; negative ones are unknown.
pub(super) fn bounds_text(bounds: &[i64]) -> String {
    let parts = bounds.iter().map(|b| if *b < 0 { "?".to_owned() } else { b.to_string() });
    parts.collect::<Vec<_>>().join(", ")
}

/// Flag of a quantized type whose stored integers are signed.
pub(super) const SIGNED: u64 = 1;

/// Decodes the flags, the storage type and the expressed type.
fn quantized_start<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<(DType, DType)> {
    let flags = from.number()?;
    let before = *from;
    let storage = table.element(from)?;
    let storage = match (storage.bits(), flags & SIGNED != 0) {
        _ if !storage.is_integer() => return before.damaged("quantized numbers must be stored as integers"),
        (2, true) => DType::S2,
        (4, true) => DType::S4,
        (8, true) => DType::S8,
        (16, true) => DType::S16,
        (32, true) => DType::S32,
        (2, false) => DType::U2,
        (4, false) => DType::U4,
        (8, false) => DType::U8,
        (16, false) => DType::U16,
        (32, false) => DType::U32,
        _ => return before.damaged(format!("quantized numbers are not stored as {}", storage.mlir())),
    };
    Ok((storage, table.element(from)?))
}

fn quantized<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Ty> {
    let (storage, expressed) = quantized_start(table, from)?;
    let scales = vec![from.signed()?.cast_unsigned()];
    let zero_points = vec![from.signed()?];
    let (storage_min, storage_max) = (from.signed()?, from.signed()?);
    let quant = Quantization { expressed, storage_min, storage_max, axis: None, scales, zero_points };
    Ok(Ty::Quantized(storage, Arc::new(quant)))
}

fn quantized_per_axis<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Ty> {
    let (storage, expressed) = quantized_start(table, from)?;
    let axis = Some(from.size()?);
    let (storage_min, storage_max) = (from.signed()?, from.signed()?);
    let before = *from;
    let scales = from.list(|from| Ok(from.signed()?.cast_unsigned()))?;
    let zero_points = from.list(Cursor::signed)?;
    if scales.len() != zero_points.len() || scales.is_empty() {
        return before.damaged(format!("{} scales and {} zero points", scales.len(), zero_points.len()));
    }
    let quant = Quantization { expressed, storage_min, storage_max, axis, scales, zero_points };
    Ok(Ty::Quantized(storage, Arc::new(quant)))
}

/// Returns the nesting depth of a type, and the number of types that it consists of.
pub(super) fn measure(ty: &Type) -> (u32, usize) {
    let list = |types: &mut dyn Iterator<Item = &Type>| {
        types.fold((1, 1), |(depth, nodes): (u32, usize), ty| {
            let (d, n) = measure(ty);
            (depth.max(d + 1), nodes + n)
        })
    };
    match ty {
        Type::Tuple(parts) | Type::Future(parts) => list(&mut parts.iter()),
        Type::Function(f) => list(&mut f.params.iter().chain(&f.results)),
        Type::Tensor(_) | Type::Token | Type::Scalar(_) | Type::Opaque(_) => (1, 1),
    }
}
