//! Decodes constants, whose elements are in MLIR's memory format.

use farcall_sig::DType;

use super::table::Table;
use super::ty::Ty;
use crate::attr::Attribute;
use crate::bytecode::{Cursor, Error, Reading};
use crate::literal::{Literal, LiteralError};
use crate::memory;
use crate::scalar::Scalar;
use crate::types::{Dim, TensorType, Type};

/// Decodes a type, the number of bytes, and the bytes.
pub(super) fn read<'a>(table: &mut Table<'_, 'a>, from: &mut Cursor<'a>) -> Reading<Attribute> {
    let before = *from;
    let ty = table.ty(from)?;
    let len = from.size()?;
    let raw = from.take(len)?;
    of_raw(table, ty, raw, &before)
}

/// Returns the constant of a type with these elements.
pub(super) fn of_raw<'a>(
    table: &mut Table<'_, 'a>,
    ty: Ty,
    raw: &[u8],
    at: &Cursor<'a>,
) -> Reading<Attribute> {
    let (dtype, dims, index) = match ty {
        Ty::Whole(Type::Tensor(t)) => (t.dtype, t.dims().collect(), false),
        Ty::OfIndex(dims) => (DType::S64, dims, true),
        other => return Err(at.error("type", format!("a constant cannot have type {other}"))),
    };
    let sizes: Option<Vec<usize>> = dims.iter().copied().map(Dim::size).collect();
    let Some(sizes) = sizes else {
        return Err(
            at.error("type", format!("a constant cannot have type {}", TensorType::from_dims(dtype, dims)))
        );
    };
    let literal = literal(TensorType::new(dtype, sizes), raw, at)?;
    // A small constant is expanded in memory, even if the artifact stores one element for all of it.
    table.copied(literal.byte_len().min(MAX_EXPANDED_BYTES).saturating_add(8 * literal.dims().len()), at)?;
    Ok(if index { Attribute::DenseIndex(literal) } else { Attribute::Dense(literal) })
}

/// Maximum size in bytes of a constant whose elements are stored in full even if all are equal.
pub(super) const MAX_EXPANDED_BYTES: usize = 1 << 14;

/// Reads elements: one after the other, or a single one for all. Booleans are packed, lowest bits first, or
/// take a byte each, as other types narrower than a byte do.
fn literal(ty: TensorType, raw: &[u8], at: &Cursor<'_>) -> Reading<Literal> {
    let (Some(n), Some(bytes)) = (ty.elements(), ty.bytes()) else {
        return Err(at.error("type", format!("{ty} is too large for a constant")));
    };
    let (dtype, size, bits) = (ty.dtype, ty.dtype.size(), ty.dtype.bits());
    let made = if dtype.is_bool() && raw.len() == n.div_ceil(8) && raw.len() != n && raw != [0xff] {
        let mut unpacked = room(n, at)?;
        unpacked.extend((0..n).map(|i| raw[i / 8] >> (i % 8) & 1));
        Literal::from_bytes(dtype, ty.shared_sizes(), &unpacked)
    } else if raw.len() == bytes && bits >= 8 {
        Literal::from_bytes(dtype, ty.shared_sizes(), raw)
    } else if raw.len() == bytes {
        let mut elements = room(n, at)?;
        elements.extend(raw.iter().map(|b| normal(dtype, *b)));
        Literal::from_bytes(dtype, ty.shared_sizes(), &elements)
    } else if raw.len() == size {
        // One element for all; MLIR writes it even if there are none.
        let mut element = [0; 16];
        element[..size].copy_from_slice(raw);
        if bits < 8 {
            element[0] = normal(dtype, raw[0]);
        }
        Literal::splat_of(dtype, ty.shared_sizes(), element).map_err(LiteralError::from)
    } else {
        let message = format!("{ty} holds {bytes} bytes of elements, not {}", raw.len());
        return at.damaged(message);
    };
    made.map_err(|e| match e {
        LiteralError::Memory(e) => Error::memory(at.pos(), "constants", e),
        other => at.error("bytecode", other.to_string()),
    })
}

fn room(n: usize, at: &Cursor<'_>) -> Reading<Vec<u8>> {
    memory::reserved(n).map_err(|e| Error::memory(at.pos(), "constants", e))
}

/// Converts an element of a type narrower than a byte to the form of literals.
fn normal(dtype: DType, byte: u8) -> u8 {
    let mut out = [0];
    Scalar::from_bytes(dtype, &[byte]).write(dtype, &mut out);
    out[0]
}
