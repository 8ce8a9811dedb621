//! Shardings of the parameters and results of partitioned programs, as XLA's `OpSharding` messages.

use std::ffi::c_char;

use farcall::ir::sharding::TileAssignment;

use crate::protobuf::{Field, fields, packed, put_bytes, put_number};
use crate::status::{Outcome, Status};

// Numbers of the fields of `OpSharding`.
const KIND: u64 = 1;
const TILES: u64 = 3;
const DEVICES: u64 = 4;
const TUPLE: u64 = 5;
const LAST_TILE_IS_REPLICATED: u64 = 6;
const LAST_TILES: u64 = 8;
const IOTA_SIZES: u64 = 9;
const IOTA_ORDER: u64 = 10;

// Kinds of shardings and of groups of devices.
const REPLICATED: usize = 0;
const MAXIMAL: u64 = 1;
const OF_TUPLE: u64 = 2;
const TILED: u64 = 3;
const UNREDUCED: usize = 6;

/// Messages that the caller reads.
#[derive(Default)]
pub(crate) struct Shardings {
    messages: Vec<Vec<u8>>,
    pointers: Vec<*const c_char>,
    sizes: Vec<usize>,
}

// SAFETY: the pointers refer to the messages, which do not change.
unsafe impl Send for Shardings {}
// SAFETY: see above.
unsafe impl Sync for Shardings {}

impl Shardings {
    /// Creates the messages of values: `None` is a token, which every device has.
    pub(crate) fn new<'a>(assignments: impl Iterator<Item = Option<&'a TileAssignment>>) -> Shardings {
        let messages: Vec<Vec<u8>> = assignments.map(message).collect();
        Shardings {
            pointers: messages.iter().map(|message| message.as_ptr().cast()).collect(),
            sizes: messages.iter().map(Vec::len).collect(),
            messages,
        }
    }

    /// Returns the messages, their sizes, and their number.
    pub(crate) fn parts(&self) -> (*const *const c_char, *const usize, usize) {
        if self.messages.is_empty() {
            return (std::ptr::null(), std::ptr::null(), 0);
        }
        (self.pointers.as_ptr(), self.sizes.as_ptr(), self.messages.len())
    }
}

/// Writes an `OpSharding`.
pub(crate) fn message(assignment: Option<&TileAssignment>) -> Vec<u8> {
    let mut out = Vec::new();
    let Some(TileAssignment { tiles, summands, copies, devices, .. }) = assignment else {
        put_number(&mut out, KIND, REPLICATED as u64);
        return out;
    };
    let one_kind = match (tiles.iter().all(|n| *n == 1), *summands, *copies) {
        (true, 1, _) => Some(REPLICATED),
        (true, _, 1) => Some(UNREDUCED),
        _ => None,
    };
    if let Some(kind) = one_kind {
        put_number(&mut out, KIND, kind as u64);
        return out;
    }
    let packed = |numbers: &[usize]| packed(numbers.iter().map(|n| *n as u64));
    let groups: Vec<(usize, usize)> =
        [(UNREDUCED, *summands), (REPLICATED, *copies)].into_iter().filter(|(_, size)| *size > 1).collect();
    let (kinds, sizes): (Vec<usize>, Vec<usize>) = groups.into_iter().unzip();
    put_number(&mut out, KIND, TILED);
    put_bytes(&mut out, TILES, &packed(&[tiles.as_slice(), &sizes].concat()));
    put_bytes(&mut out, DEVICES, &packed(devices));
    match kinds[..] {
        [] => {}
        [REPLICATED] => put_number(&mut out, LAST_TILE_IS_REPLICATED, 1),
        _ => put_bytes(&mut out, LAST_TILES, &packed(&kinds)),
    }
    out
}

/// Reads an `OpSharding` of a tensor of these sizes.
///
/// # Errors
/// If the bytes are not such a message, or if the kind of sharding is not supported.
pub(crate) fn read_one(bytes: &[u8], sizes: &[usize], all_devices: &[usize]) -> Outcome<TileAssignment> {
    let mut all: Vec<usize> = all_devices.to_vec();
    all.sort_unstable();
    // The complete value, on one device or all. Here, every device computes it.
    let Some(mut assignment) = read(bytes)? else {
        return Ok(TileAssignment::replicated(sizes.to_vec(), all));
    };
    let mut sorted = assignment.devices.clone();
    sorted.sort_unstable();
    if assignment.tiles.len() != sizes.len() || sorted != all {
        return Err(Status::invalid(format!(
            "a sharding into {:?} tiles of {} devices does not fit a tensor of rank {} on {} devices",
            assignment.tiles,
            sorted.len(),
            sizes.len(),
            all.len()
        )));
    }
    assignment.sizes = sizes.to_vec();
    Ok(assignment)
}

/// Reads an `OpSharding` of a tensor of unknown sizes. Returns `None` if devices have the complete tensor.
///
/// # Errors
/// See [`read_one`].
pub(crate) fn read(bytes: &[u8]) -> Outcome<Option<TileAssignment>> {
    let (mut kind, mut is_replicated) = (0, false);
    let [mut tiles, mut devices, mut groups, mut iota, mut order] = [const { Vec::new() }; 5];
    for (number, field) in fields(bytes)? {
        match (number, &field) {
            (KIND, Field::Number(n)) => kind = *n,
            (LAST_TILE_IS_REPLICATED, Field::Number(n)) => is_replicated = *n != 0,
            (TILES, _) => field.append_to(&mut tiles)?,
            (DEVICES, _) => field.append_to(&mut devices)?,
            (LAST_TILES, _) => field.append_to(&mut groups)?,
            (IOTA_SIZES, _) => field.append_to(&mut iota)?,
            (IOTA_ORDER, _) => field.append_to(&mut order)?,
            _ => {}
        }
    }
    match kind {
        TILED => {}
        kind if kind == MAXIMAL || kind == REPLICATED as u64 => return Ok(None),
        other => return Err(Status::unimplemented(format!("a sharding of the kind {other}"))),
    }
    let numbers = |from: &[u64]| -> Vec<usize> { from.iter().map(|n| *n as usize).collect() };
    let (mut tiles, mut devices) = (numbers(&tiles), numbers(&devices));
    if devices.is_empty() {
        devices = transposed_iota(&numbers(&iota), &numbers(&order))
            .ok_or_else(|| Status::invalid("a sharding has no valid list of devices"))?;
    }
    if is_replicated {
        groups.push(REPLICATED as u64);
    }
    if groups.iter().any(|kind| *kind != REPLICATED as u64) {
        return Err(Status::unimplemented("a sharding with groups of devices that hold no copies"));
    }
    let of_groups = tiles.len().checked_sub(groups.len()).map(|rank| tiles.split_off(rank));
    let copies: usize = of_groups.map_or(0, |of_groups| of_groups.iter().product());
    if tiles.iter().product::<usize>() * copies != devices.len() {
        return Err(Status::invalid(format!(
            "a sharding into {tiles:?} tiles with {copies} copies lists {} devices",
            devices.len()
        )));
    }
    Ok(Some(TileAssignment { sizes: Vec::new(), tiles, summands: 1, copies, devices }))
}

/// Reads an `OpSharding` of one tensor or of a tuple of tensors, given by their sizes and the devices.
pub(crate) fn read_all(bytes: &[u8], tensors: &[(&[usize], &[usize])]) -> Outcome<Vec<TileAssignment>> {
    let mut parts = Vec::new();
    let mut is_tuple = false;
    for (number, field) in fields(bytes)? {
        match (number, field) {
            (KIND, Field::Number(kind)) => is_tuple = kind == OF_TUPLE,
            (TUPLE, Field::Bytes(part)) => parts.push(part),
            _ => {}
        }
    }
    if !is_tuple {
        parts = vec![bytes; tensors.len().min(1)];
    }
    if parts.len() != tensors.len() {
        return Err(Status::invalid(format!("{} shardings for {} tensors", parts.len(), tensors.len())));
    }
    parts.iter().zip(tensors).map(|(part, (sizes, devices))| read_one(part, sizes, devices)).collect()
}

/// Returns the numbers from 0 in an array of these sizes, whose dimensions are in this order.
fn transposed_iota(sizes: &[usize], order: &[usize]) -> Option<Vec<usize>> {
    let count = sizes.iter().try_fold(1_usize, |n, size| n.checked_mul(*size)).filter(|n| *n <= 1 << 20)?;
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if sizes.is_empty() || !sorted.iter().copied().eq(0..sizes.len()) {
        return None;
    }
    let stride = |dim: usize| sizes[dim + 1..].iter().product::<usize>();
    let mut numbers = vec![0];
    for dim in order {
        let (size, stride) = (sizes[*dim], stride(*dim));
        numbers = numbers.into_iter().flat_map(|at| (0..size).map(move |i| at + i * stride)).collect();
    }
    (numbers.len() == count).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_shardings_are_read() {
        let sizes = vec![4, 6];
        let devices: Vec<usize> = (0..4).collect();
        let of = |tiles: [usize; 2], copies, devices: [usize; 4]| TileAssignment {
            sizes: sizes.clone(),
            tiles: tiles.to_vec(),
            summands: 1,
            copies,
            devices: devices.to_vec(),
        };
        for assignment in [
            of([1, 1], 4, [0, 1, 2, 3]),
            of([2, 2], 1, [0, 2, 1, 3]),
            of([2, 1], 2, [0, 1, 2, 3]),
            of([1, 4], 1, [3, 2, 1, 0]),
        ] {
            let written = message(Some(&assignment));
            assert_eq!(read_one(&written, &sizes, &devices).unwrap(), assignment);
        }
    }

    #[test]
    fn devices_in_an_array_of_sizes_are_read() {
        // {devices=[2,2]<=[2,2]T(1,0)}
        let mut bytes = Vec::new();
        put_number(&mut bytes, KIND, TILED);
        put_bytes(&mut bytes, TILES, &[2, 2]);
        put_bytes(&mut bytes, IOTA_SIZES, &[2, 2]);
        put_bytes(&mut bytes, IOTA_ORDER, &[1, 0]);
        let read = read_one(&bytes, &[4, 6], &[0, 1, 2, 3]).unwrap();
        assert_eq!((read.tiles, read.copies, read.devices), (vec![2, 2], 1, vec![0, 2, 1, 3]));
    }

    #[test]
    fn wrong_shardings_are_errors() {
        let check = |fields: &[(u64, &[u8])], expected: &str| {
            let mut bytes = Vec::new();
            put_number(&mut bytes, KIND, TILED);
            fields.iter().for_each(|(field, numbers)| put_bytes(&mut bytes, *field, numbers));
            let error = read_one(&bytes, &[4], &[0, 1]).unwrap_err();
            assert!(error.message.contains(expected), "{}", error.message);
        };
        check(&[(TILES, &[2])], "no valid list of devices");
        check(&[(TILES, &[2]), (IOTA_SIZES, &[2]), (IOTA_ORDER, &[1])], "no valid list of devices");
        check(&[(TILES, &[2]), (DEVICES, &[0, 0])], "does not fit");
        check(&[(TILES, &[3]), (DEVICES, &[0, 1])], "lists 2 devices");
        check(&[(TILES, &[2, 1]), (DEVICES, &[0, 1])], "does not fit");
        check(&[(TILES, &[1, 2]), (DEVICES, &[0, 1]), (LAST_TILES, &[4])], "hold no copies");
        assert!(read_one(&[8], &[4], &[0, 1]).is_err());
    }
}
