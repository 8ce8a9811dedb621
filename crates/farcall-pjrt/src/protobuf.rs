//! Protocol buffers: the fields of messages.

use crate::status::{Outcome, Status};

/// A field of a message.
pub(crate) enum Field<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

impl Field<'_> {
    /// Appends the numbers of a repeated field, which has one number, or several in packed form.
    pub(crate) fn append_to(&self, numbers: &mut Vec<u64>) -> Outcome {
        match self {
            Field::Number(n) => numbers.push(*n),
            Field::Bytes(packed) => {
                let mut packed = *packed;
                while !packed.is_empty() {
                    numbers.push(varint(&mut packed)?);
                }
            }
        }
        Ok(())
    }
}

/// Returns the fields of a message, with their numbers.
pub(crate) fn fields(mut bytes: &[u8]) -> Outcome<Vec<(u64, Field<'_>)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)?),
            1 => Field::Number(u64::from_le_bytes(*bytes.split_first_chunk().ok_or_else(cut)?.0)),
            2 => {
                let len = usize::try_from(varint(&mut bytes)?).map_err(|_| cut())?;
                Field::Bytes(bytes.get(..len).ok_or_else(cut)?)
            }
            5 => Field::Number(u32::from_le_bytes(*bytes.split_first_chunk().ok_or_else(cut)?.0).into()),
            kind => {
                return Err(Status::invalid(format!("a message has a field of the unknown kind {kind}")));
            }
        };
        let len = match (tag & 7, &field) {
            (1, _) => 8,
            (5, _) => 4,
            (_, Field::Bytes(bytes)) => bytes.len(),
            (_, Field::Number(_)) => 0,
        };
        bytes = &bytes[len..];
        fields.push((tag >> 3, field));
    }
    Ok(fields)
}

/// Takes a varint from the front: seven bits a byte, lowest bits first.
fn varint(bytes: &mut &[u8]) -> Outcome<u64> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or_else(cut)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(cut())
}

fn cut() -> Status {
    Status::invalid("a message is truncated, or not a protocol buffer")
}

pub(crate) fn put_number(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Returns the contents of a repeated field of numbers in packed form.
pub(crate) fn packed(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut packed = Vec::new();
    numbers.into_iter().for_each(|n| put_varint(&mut packed, n));
    packed
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
