//! Reads types, shapes and constants.

use farcall_sig::DType;

use super::wire::{Error, Message, Read};
use crate::literal::Literal;

/// Maximum nesting depth of tuples.
const MAX_NESTING: u32 = 256;

const TUPLE: i64 = 13;
const TOKEN: i64 = 17;
const BUFFER: i64 = 34;

/// Element types: XLA's number, the type, and the field of a literal that contains the elements.
static ELEMENTS: [(i64, DType, u32); 30] = [
    (1, DType::Pred, 2),
    (26, DType::S2, 26),
    (21, DType::S4, 21),
    (2, DType::S8, 15),
    (3, DType::S16, 17),
    (4, DType::S32, 4),
    (5, DType::S64, 5),
    (27, DType::U2, 27),
    (22, DType::U4, 22),
    (6, DType::U8, 3),
    (7, DType::U16, 16),
    (8, DType::U32, 6),
    (9, DType::U64, 7),
    (10, DType::F16, 11),
    (11, DType::F32, 8),
    (12, DType::F64, 9),
    (16, DType::BF16, 13),
    (15, DType::C64, 12),
    (18, DType::C128, 18),
    (19, DType::F8E5M2, 19),
    (20, DType::F8E4M3FN, 20),
    (23, DType::F8E4M3B11FNUZ, 23),
    (24, DType::F8E5M2FNUZ, 24),
    (25, DType::F8E4M3FNUZ, 25),
    (28, DType::F8E4M3, 28),
    (29, DType::F8E3M4, 29),
    (32, DType::F4E2M1FN, 32),
    (33, DType::F8E8M0FNU, 33),
    (35, DType::F6E3M2FN, 35),
    (36, DType::F6E2M3FN, 36),
];

fn element(shape: &Message<'_>) -> Read<(DType, u32)> {
    let number = shape.int(2);
    match ELEMENTS.iter().find(|row| row.0 == number) {
        Some((_, dtype, field)) => Ok((*dtype, *field)),
        None => Err(Error::new(shape.at, format!("element type {number} is not supported"))),
    }
}

/// Prints a shape.
pub(super) fn shape(message: &Message<'_>) -> Read<String> {
    nested(message, 0)
}

fn nested(message: &Message<'_>, depth: u32) -> Read<String> {
    if depth > MAX_NESTING {
        return Err(Error::new(message.at, format!("tuples nest at most {MAX_NESTING} deep")));
    }
    match message.int(2) {
        TUPLE => {
            let parts = message.messages(4)?;
            let parts = parts.iter().map(|part| nested(part, depth + 1)).collect::<Read<Vec<_>>>()?;
            Ok(format!("({})", parts.join(", ")))
        }
        BUFFER => match message.messages(4)?.first() {
            Some(part) => Ok(format!("b({})", nested(part, depth + 1)?)),
            None => Err(Error::new(message.at, "a buffer without a type")),
        },
        TOKEN => Ok("token[]".to_owned()),
        _ => tensor(message),
    }
}

fn tensor(message: &Message<'_>) -> Read<String> {
    let (dtype, _) = element(message)?;
    let dynamic = message.ints(6)?;
    let dim = |(i, size): (usize, &i64)| match dynamic.get(i) {
        Some(1..) if *size < 0 => "?".to_owned(),
        Some(1..) => format!("<={size}"),
        _ => size.to_string(),
    };
    let dims: Vec<String> = message.ints(3)?.iter().enumerate().map(dim).collect();
    let mut out = format!("{dtype}[{}]", dims.join(","));
    if let Some(layout) = message.message(5)?.filter(|_| !dims.is_empty()) {
        out.push('{');
        out.push_str(&list(&layout.ints(1)?));
        for (i, tile) in layout.messages(6)?.iter().enumerate() {
            out.push_str(if i == 0 { ":T(" } else { "(" });
            out.push_str(&list(&tile.ints(1)?));
            out.push(')');
        }
        out.push('}');
    }
    Ok(out)
}

/// Formats numbers separated by commas.
pub(super) fn list(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// Adds a constant to the literals and returns its text: `#3` is the fourth literal.
pub(super) fn constant(message: &Message<'_>, out: &mut Vec<Literal>) -> Read<String> {
    constants(message, out, 0)
}

fn constants(message: &Message<'_>, out: &mut Vec<Literal>, depth: u32) -> Read<String> {
    let Some(shape) = message.message(1)? else {
        return Err(Error::new(message.at, "a constant without a shape"));
    };
    if shape.int(2) == TUPLE && depth <= MAX_NESTING {
        let parts = message.messages(10)?;
        let parts = parts.iter().map(|part| constants(part, out, depth + 1)).collect::<Read<Vec<_>>>()?;
        return Ok(format!("({})", parts.join(", ")));
    }
    out.push(dense(message, &shape)?);
    Ok(format!("#{}", out.len() - 1))
}

fn dense(message: &Message<'_>, shape: &Message<'_>) -> Read<Literal> {
    let (dtype, field) = element(shape)?;
    let sizes: Result<Vec<usize>, _> = shape.ints(3)?.into_iter().map(usize::try_from).collect();
    let Ok(sizes) = sizes else { return Err(Error::new(shape.at, "a constant must have static dimensions")) };
    let numbers = |width: usize| -> Read<Vec<u8>> {
        Ok(message.ints(field)?.iter().flat_map(|n| n.to_le_bytes()[..width].to_vec()).collect())
    };
    let bytes = match dtype {
        DType::Pred => numbers(1)?,
        DType::S32 | DType::U32 => numbers(4)?,
        DType::S64 | DType::U64 => numbers(8)?,
        DType::F32 | DType::C64 => message.fixed(field, 4).into_owned(),
        DType::F64 | DType::C128 => message.fixed(field, 8).into_owned(),
        _ => message.bytes(field).to_vec(),
    };
    // The elements are stored in the order of the layout.
    let order = match shape.message(5)? {
        Some(layout) => layout.ints(1)?,
        None => Vec::new(),
    };
    let bytes = row_major(bytes, dtype.size(), &sizes, &order);
    Literal::from_bytes(dtype, sizes, &bytes).map_err(|e| Error::new(message.at, format!("a constant: {e}")))
}

/// Reorders elements to row-major order. `order` lists the dimensions from minor to major.
fn row_major(bytes: Vec<u8>, width: usize, sizes: &[usize], order: &[i64]) -> Vec<u8> {
    let rank = sizes.len();
    let order: Vec<usize> = order.iter().filter_map(|d| usize::try_from(*d).ok()).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let count = sizes.iter().try_fold(1usize, |n, size| n.checked_mul(*size));
    let is_whole = count.and_then(|n| n.checked_mul(width)) == Some(bytes.len());
    if !is_whole || !sorted.iter().copied().eq(0..rank) || order.iter().copied().eq((0..rank).rev()) {
        return bytes;
    }
    let mut strides = vec![0; rank];
    let mut stride = width;
    for dim in order {
        strides[dim] = stride;
        stride *= sizes[dim];
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = vec![0; rank];
    while out.len() < bytes.len() {
        let from: usize = index.iter().zip(&strides).map(|(i, stride)| i * stride).sum();
        out.extend_from_slice(&bytes[from..from + width]);
        for dim in (0..rank).rev() {
            index[dim] += 1;
            if index[dim] < sizes[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_in_another_order() {
        let columns: Vec<u8> = vec![1, 4, 2, 5, 3, 6];
        assert_eq!(row_major(columns, 1, &[2, 3], &[0, 1]), [1, 2, 3, 4, 5, 6]);
    }
}
