//! Writes files: tables that grow while operations are written, and the file made from them.
//!
//! Files have version 1 of the container, which every reader knows: attributes of operations are
//! dictionaries, and regions directly follow their operation.
//!
//! The tables refer to the elements of constants. The elements are copied only when the file is written.

use std::collections::HashMap;

use super::{MAGIC, file};
use crate::literal::Literal;
use crate::memory::{self, OutOfMemory};

/// Version of the container that is written.
const VERSION: u64 = 1;

/// Maximum size in bytes of an attribute that is deduplicated: large constants are rarely equal.
const MAX_DEDUPLICATED_BYTES: usize = 1 << 10;

/// Buffer for the bytes of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    /// Writes one byte.
    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Writes a number in as few bytes as possible. The trailing zero bits of the first byte give the number
    /// of bytes that follow.
    pub(crate) fn number(&mut self, n: u64) {
        let bits = (64 - n.leading_zeros() as usize).max(1);
        let len = bits.div_ceil(7);
        if len > 8 {
            self.byte(0);
            self.0.extend(n.to_le_bytes());
        } else {
            let coded = n << len | 1 << (len - 1);
            self.0.extend(&coded.to_le_bytes()[..len]);
        }
    }

    /// Writes a `usize`.
    pub(crate) fn size(&mut self, n: usize) {
        self.number(n as u64);
    }

    /// Writes a signed number, whose sign becomes the lowest bit.
    pub(crate) fn signed(&mut self, n: i64) {
        self.number((n << 1 ^ n >> 63).cast_unsigned());
    }

    /// Writes a number with a flag in its lowest bit.
    pub(crate) fn flagged(&mut self, n: usize, flag: bool) {
        self.number((n as u64) << 1 | u64::from(flag));
    }

    /// Writes a list: the number of items, and the items.
    pub(crate) fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut one: impl FnMut(&mut Self, T),
    ) {
        self.size(items.len());
        items.for_each(|item| one(self, item));
    }

    fn section(&mut self, id: usize, content: &Bytes) {
        self.section_of(id, content.0.len());
        self.0.extend(&content.0);
    }

    /// Writes the header of a section of `len` bytes.
    fn section_of(&mut self, id: usize, len: usize) {
        self.byte(id as u8);
        self.size(len);
    }
}

/// The elements of a constant, encoded when the file is written.
#[derive(Debug)]
pub(crate) struct Elements {
    pub(crate) literal: Literal,
    /// Number of bytes that [`Elements::write`] appends.
    pub(crate) len: usize,
    pub(crate) write: fn(&Literal, &mut Vec<u8>),
}

/// An attribute or a type.
#[derive(Debug)]
struct Entry {
    /// Number of the dialect, a flag that is true for the dialect's own encoding (false for text), and the
    /// bytes.
    key: (usize, bool, Vec<u8>),
    /// Elements that follow the bytes.
    elements: Option<Elements>,
}

impl Entry {
    fn len(&self) -> usize {
        self.key.2.len() + self.elements.as_ref().map_or(0, |elements| elements.len)
    }
}

/// Attributes or types. Equal ones have the same number.
#[derive(Debug, Default)]
struct Entries {
    list: Vec<Entry>,
    known: HashMap<(usize, bool, Vec<u8>), usize>,
}

impl Entries {
    fn add(&mut self, key: (usize, bool, Vec<u8>), elements: Option<Elements>) -> usize {
        let mut entry = Entry { key, elements };
        let number = self.list.len();
        if entry.len() <= MAX_DEDUPLICATED_BYTES {
            if let Some(Elements { literal, write, .. }) = entry.elements.take() {
                write(&literal, &mut entry.key.2);
            }
            if let Some(known) = self.known.get(&entry.key) {
                return *known;
            }
            self.known.insert(entry.key.clone(), number);
        }
        self.list.push(entry);
        number
    }

    /// Total size of the entries in bytes.
    fn len(&self) -> usize {
        self.list.iter().map(Entry::len).sum()
    }

    /// Writes the entries one after the other.
    fn write(&self, out: &mut Bytes) {
        for Entry { key, elements } in &self.list {
            out.0.extend(&key.2);
            if let Some(Elements { literal, len, write }) = elements {
                let end = out.0.len() + len;
                write(literal, &mut out.0);
                debug_assert_eq!(out.0.len(), end, "elements of {}", literal.ty());
            }
        }
    }

    /// Writes the lengths of the entries, grouped by dialect.
    fn write_offsets(&self, offsets: &mut Bytes) {
        for group in self.list.chunk_by(|a, b| a.key.0 == b.key.0) {
            offsets.size(group[0].key.0);
            offsets.list(group.iter(), |offsets, entry| offsets.flagged(entry.len(), entry.key.1));
        }
    }
}

/// The tables of a file that is being written.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    strings: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, usize>,
    /// Names of the dialects, as numbers of strings.
    dialects: Vec<usize>,
    /// Names of operations, as the number of the dialect and the number of the string.
    ops: Vec<(usize, usize)>,
    op_numbers: HashMap<(usize, usize), usize>,
    attrs: Entries,
    types: Entries,
}

impl Tables {
    /// Returns the number of a string.
    pub(crate) fn string(&mut self, text: &[u8]) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.strings.len();
        self.strings.push(text.to_vec());
        self.numbers.insert(text.to_vec(), number);
        number
    }

    fn dialect(&mut self, name: &str) -> usize {
        let name = self.string(name.as_bytes());
        self.dialects.iter().position(|d| *d == name).unwrap_or_else(|| {
            self.dialects.push(name);
            self.dialects.len() - 1
        })
    }

    /// Returns the number of an operation's name.
    pub(crate) fn op(&mut self, dialect: &str, name: &str) -> usize {
        let op = (self.dialect(dialect), self.string(name.as_bytes()));
        let next = self.ops.len();
        *self.op_numbers.entry(op).or_insert_with(|| {
            self.ops.push(op);
            next
        })
    }

    /// Returns the number of an attribute in the dialect's own encoding.
    pub(crate) fn attr(&mut self, dialect: &str, bytes: Bytes) -> usize {
        let dialect = self.dialect(dialect);
        self.attrs.add((dialect, true, bytes.0), None)
    }

    /// Returns the number of an attribute in the dialect's own encoding that ends with the elements of a
    /// constant.
    pub(crate) fn attr_of_elements(&mut self, dialect: &str, bytes: Bytes, elements: Elements) -> usize {
        let dialect = self.dialect(dialect);
        self.attrs.add((dialect, true, bytes.0), Some(elements))
    }

    /// Returns the number of an attribute that is text.
    pub(crate) fn attr_text(&mut self, dialect: &str, text: &str) -> usize {
        let dialect = self.dialect(dialect);
        self.attrs.add((dialect, false, [text.as_bytes(), &[0]].concat()), None)
    }

    /// Returns the number of a type in the dialect's own encoding.
    pub(crate) fn ty(&mut self, dialect: &str, bytes: Bytes) -> usize {
        let dialect = self.dialect(dialect);
        self.types.add((dialect, true, bytes.0), None)
    }

    /// Builds the file with these operations.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn finish(&self, producer: &str, ir: &Bytes) -> Result<Vec<u8>, OutOfMemory> {
        let mut strings = Bytes::default();
        strings.size(self.strings.len());
        self.strings.iter().rev().for_each(|s| strings.size(s.len() + 1));
        self.strings.iter().for_each(|s| strings.0.extend(s.iter().chain(&[0])));

        let mut dialects = Bytes::default();
        dialects.list(self.dialects.iter(), |out, name| out.flagged(*name, false));
        for group in self.ops.chunk_by(|a, b| a.0 == b.0) {
            dialects.size(group[0].0);
            dialects.list(group.iter(), |out, (_, name)| out.size(*name));
        }

        let mut offsets = Bytes::default();
        offsets.size(self.attrs.list.len());
        offsets.size(self.types.list.len());
        self.attrs.write_offsets(&mut offsets);
        self.types.write_offsets(&mut offsets);

        let data = self.attrs.len() + self.types.len();
        let sections = [strings.0.len(), dialects.0.len(), data, offsets.0.len(), ir.0.len()];
        let heads = MAGIC.len() + producer.len() + 16 * sections.len();
        let mut out = Bytes(memory::reserved(sections.iter().sum::<usize>() + heads)?);
        out.0.extend(MAGIC);
        out.number(VERSION);
        out.0.extend(producer.bytes().chain([0]));
        out.section(file::STRINGS, &strings);
        out.section(file::DIALECTS, &dialects);
        out.section_of(file::ATTRS, data);
        self.attrs.write(&mut out);
        self.types.write(&mut out);
        out.section(file::OFFSETS, &offsets);
        out.section(file::IR, ir);
        Ok(out.0)
    }
}

// Bits that tell which fields an operation has.
const ATTRS: u8 = 1;
const RESULTS: u8 = 2;
const OPERANDS: u8 = 4;
const REGIONS: u8 = 16;

/// An operation up to its regions. Numbers are positions in the tables.
#[derive(Debug)]
pub(crate) struct OpHead<'a> {
    pub(crate) name: usize,
    pub(crate) location: usize,
    pub(crate) attrs: usize,
    /// Types of the results.
    pub(crate) results: &'a [usize],
    /// Numbers of the operands' values.
    pub(crate) operands: &'a [usize],
    pub(crate) regions: usize,
    /// True if the regions cannot use values from outside.
    pub(crate) isolated: bool,
}

impl Bytes {
    /// Writes an operation. Its regions must follow.
    pub(crate) fn op(&mut self, op: &OpHead<'_>) {
        let has = |part: u8, there: bool| if there { part } else { 0 };
        self.size(op.name);
        let parts = has(RESULTS, !op.results.is_empty()) | has(OPERANDS, !op.operands.is_empty());
        self.byte(ATTRS | parts | has(REGIONS, op.regions > 0));
        self.size(op.location);
        self.size(op.attrs);
        for list in [op.results, op.operands] {
            if !list.is_empty() {
                self.list(list.iter(), |out, i| out.size(*i));
            }
        }
        if op.regions > 0 {
            self.flagged(op.regions, op.isolated);
        }
    }

    /// Writes a region of one block up to its operations. `ops` is the number of operations, `values` the
    /// number of values that the region defines, and `args` are the types and locations of its arguments.
    pub(crate) fn region(&mut self, ops: usize, values: usize, args: &[(usize, usize)]) {
        self.size(1);
        self.size(values);
        self.block(ops, args);
    }

    /// Writes a block up to its operations.
    pub(crate) fn block(&mut self, ops: usize, args: &[(usize, usize)]) {
        self.flagged(ops, !args.is_empty());
        if !args.is_empty() {
            self.list(args.iter(), |out, (ty, location)| {
                out.size(*ty);
                out.size(*location);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cursor;
    use super::*;

    #[test]
    fn numbers_are_read_back() {
        for shift in 0..64 {
            for n in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Bytes::default();
                bytes.number(n);
                bytes.signed(n.cast_signed());
                let mut from = Cursor::new(&bytes.0, 0, bytes.0.len(), "test");
                assert_eq!(from.number(), Ok(n));
                assert_eq!(from.signed(), Ok(n.cast_signed()));
                assert!(from.is_empty());
            }
        }
    }
}
