//! The attributes, types and locations of an artifact. Each is decoded on its first use and kept.

use std::rc::Rc;
use std::sync::Arc;

use farcall_sig::DType;
use rustc_hash::FxHashMap;

use super::ty::Ty;
use super::{BYTES_PER_NODE, COPIED, COPIED_PER_BYTE, MAX_NESTING, NODES, NODES_PER_BYTE};
use crate::attr::Attribute;
use crate::bytecode::{Cursor, Entry, File, Reading};
use crate::module::Loc;
use crate::text::MAX_LOC_DEPTH;
use crate::types::Type;

/// Decodes an entry of a file. Attributes and types within the entry are decoded through the table.
type Decode<T> = for<'a> fn(&mut Table<'_, 'a>, &Entry, &mut Cursor<'a>) -> Reading<T>;

/// Decodes a location. The `u32` argument is the number of locations that enclose it. Returns the nesting
/// depth of the location, itself included, and its value.
type DecodeLocation =
    for<'a> fn(&mut Table<'_, 'a>, &mut Cursor<'a>, u32) -> Reading<(u32, Option<Arc<Loc>>)>;

/// Decoders of the entries of a file.
#[derive(Clone, Copy)]
pub(super) struct Decoders {
    pub(super) attr: Decode<Attribute>,
    pub(super) ty: Decode<Ty>,
    pub(super) location: DecodeLocation,
}

/// Decoded attributes, types and locations, with the budgets for their uses.
pub(super) struct Table<'f, 'a> {
    pub(super) file: &'f File<'a>,
    decoders: Decoders,
    attrs: Vec<Lazy<Attribute>>,
    types: Vec<Lazy<Ty>>,
    /// Depth and value of each decoded location; the value of an unknown location is `None`.
    locs: FxHashMap<usize, (u32, Option<Arc<Loc>>)>,
    /// Nesting depth of the attribute or type that is being decoded.
    depth: u32,
    /// Maximum depth of the attributes and types used since the decoding of the current attribute or type
    /// began.
    deepest: u32,
    /// Strings used as attributes or names, by their address in the file.
    strings: FxHashMap<usize, Arc<[u8]>>,
    /// Number of uses so far, and the maximum number.
    spent: usize,
    budget: usize,
    /// Number of bytes that may still be copied.
    copies_left: usize,
}

/// An attribute or a type that is decoded on its first use.
#[derive(Clone)]
enum Lazy<T> {
    Bytes,
    /// Being decoded; a use in this state is a cycle.
    InProgress,
    Decoded(Rc<Decoded<T>>),
}

struct Decoded<T> {
    value: T,
    /// Nesting depth.
    depth: u32,
    /// Number of nodes that each use costs.
    nodes: usize,
}

impl<'f, 'a> Table<'f, 'a> {
    pub(super) fn new(file: &'f File<'a>, len: usize, decoders: Decoders) -> Reading<Table<'f, 'a>> {
        fn lazy<T: Clone>(n: usize, file: &File<'_>) -> Reading<Vec<Lazy<T>>> {
            let mut entries = file.ir.room(n)?;
            entries.resize(n, Lazy::Bytes);
            Ok(entries)
        }
        Ok(Table {
            file,
            decoders,
            attrs: lazy(file.attrs.len(), file)?,
            types: lazy(file.types.len(), file)?,
            locs: FxHashMap::default(),
            depth: 0,
            deepest: 0,
            strings: FxHashMap::default(),
            spent: 0,
            budget: len.saturating_mul(NODES_PER_BYTE).saturating_add(NODES),
            copies_left: len.saturating_mul(COPIED_PER_BYTE).saturating_add(COPIED),
        })
    }

    /// Reads the number of an attribute, and decodes the attribute.
    pub(super) fn attr(&mut self, from: &mut Cursor<'a>) -> Reading<Attribute> {
        let before = *from;
        let i = from.index(self.attrs.len(), "attribute")?;
        self.attr_at(i, &before)
    }

    /// Decodes attribute number `i`, which is used at `here`.
    pub(super) fn attr_at(&mut self, i: usize, here: &Cursor<'a>) -> Reading<Attribute> {
        match std::mem::replace(&mut self.attrs[i], Lazy::InProgress) {
            Lazy::InProgress => here.damaged(format!("attribute {i} contains itself")),
            Lazy::Decoded(known) => {
                self.attrs[i] = Lazy::Decoded(Rc::clone(&known));
                self.used(known.depth, known.nodes, here)?;
                Ok(known.value.clone())
            }
            Lazy::Bytes => {
                let entry = self.file.attrs[i];
                let mut from = entry.cursor(self.file);
                let decode = self.decoders.attr;
                let (value, depth, nodes) = self.nested(here, |table| {
                    let value = decode(table, &entry, &mut from)?;
                    from.end()?;
                    Ok(value)
                })?;
                self.attrs[i] = Lazy::Decoded(Rc::new(Decoded { value: value.clone(), depth, nodes }));
                Ok(value)
            }
        }
    }

    /// Reads the number of a type, and decodes the type.
    pub(super) fn ty(&mut self, from: &mut Cursor<'a>) -> Reading<Ty> {
        let before = *from;
        let i = from.index(self.types.len(), "type")?;
        self.ty_at(i, &before)
    }

    /// Decodes type number `i`, which is used at `here`.
    pub(super) fn ty_at(&mut self, i: usize, here: &Cursor<'a>) -> Reading<Ty> {
        match std::mem::replace(&mut self.types[i], Lazy::InProgress) {
            Lazy::InProgress => here.damaged(format!("type {i} contains itself")),
            Lazy::Decoded(known) => {
                self.types[i] = Lazy::Decoded(Rc::clone(&known));
                self.used(known.depth, known.nodes, here)?;
                Ok(known.value.clone())
            }
            Lazy::Bytes => {
                let entry = self.file.types[i];
                let mut from = entry.cursor(self.file);
                let decode = self.decoders.ty;
                let (value, depth, nodes) = self.nested(here, |table| {
                    let value = decode(table, &entry, &mut from)?;
                    from.end()?;
                    Ok(value)
                })?;
                self.types[i] = Lazy::Decoded(Rc::new(Decoded { value: value.clone(), depth, nodes }));
                Ok(value)
            }
        }
    }

    /// Decodes type number `i`. If values cannot have the type, the inner result is an error that contains
    /// it.
    pub(super) fn value_type(&mut self, i: usize, here: &Cursor<'a>) -> Reading<Result<Type, Type>> {
        Ok(self.ty_at(i, here)?.into_value())
    }

    /// Reads the number of an element type, and decodes the type.
    pub(super) fn element(&mut self, from: &mut Cursor<'a>) -> Reading<DType> {
        let before = *from;
        match self.ty(from)? {
            Ty::Element(dtype) => Ok(dtype),
            other => before.damaged(format!("an element type is expected, not {}", other.into_attr())),
        }
    }

    /// Reads a name, a string of UTF-8.
    pub(super) fn name(&mut self, from: &mut Cursor<'a>) -> Reading<String> {
        let before = *from;
        let name = self.attr(from)?;
        match name.as_str() {
            Some(name) => {
                self.copied(name.len(), &before)?;
                Ok(name.to_owned())
            }
            None => before.damaged("a name is expected, a string of UTF-8"),
        }
    }

    /// Reads the number of a string, and returns the string as an attribute.
    pub(super) fn string(&mut self, from: &mut Cursor<'a>) -> Reading<Attribute> {
        let string = self.file.string(from)?;
        // A string is stored once in the file, and all its uses share one copy.
        let known = self.strings.entry(string.as_ptr() as usize).or_insert_with(|| string.into());
        Ok(Attribute::String(Arc::clone(known)))
    }

    /// Decodes the location of an operation, which is attribute number `i`.
    pub(super) fn location(&mut self, i: usize, here: &Cursor<'a>) -> Reading<Option<Arc<Loc>>> {
        Ok(self.loc(i, 0, here)?.1)
    }

    /// Decodes a location that is nested in `outer` locations. Locations that nest too deep are left out.
    pub(super) fn loc(
        &mut self,
        i: usize,
        outer: u32,
        here: &Cursor<'a>,
    ) -> Reading<(u32, Option<Arc<Loc>>)> {
        if outer >= MAX_LOC_DEPTH {
            return Ok((0, None));
        }
        self.charge(1, here)?;
        if let Some((depth, loc)) = self.locs.get(&i) {
            let known = (*depth, loc.clone());
            return Ok(if outer + known.0 > MAX_LOC_DEPTH { (0, None) } else { known });
        }
        let entry = self.file.attrs[i];
        let mut from = entry.cursor(self.file);
        let known = match (entry.custom, self.file.dialect(&entry)) {
            (true, "builtin") => {
                let known = (self.decoders.location)(self, &mut from, outer)?;
                from.end()?;
                known
            }
            _ => (0, None),
        };
        self.locs.insert(i, known.clone());
        Ok(known)
    }

    /// Decodes an attribute or type that is used at `here`. Returns the value, its nesting depth, and the
    /// number of nodes that each use costs.
    fn nested<T>(
        &mut self,
        here: &Cursor<'a>,
        decode: impl FnOnce(&mut Self) -> Reading<T>,
    ) -> Reading<(T, u32, usize)> {
        let (outside, before) = (std::mem::take(&mut self.deepest), self.spent);
        self.depth += 1;
        self.used(0, 1, here)?;
        let value = decode(self)?;
        self.depth -= 1;
        let depth = self.deepest + 1;
        self.deepest = outside.max(depth);
        Ok((value, depth, self.spent - before))
    }

    /// Charges a use of an attribute or type with this depth and number of nodes.
    fn used(&mut self, depth: u32, nodes: usize, here: &Cursor<'a>) -> Reading<()> {
        self.deepest = self.deepest.max(depth);
        if self.depth + depth > MAX_NESTING {
            return Err(here.error("nesting", format!("nested more than {MAX_NESTING} deep")));
        }
        self.charge(nodes, here)
    }

    /// Charges an attribute or type that is not in the table.
    pub(super) fn measured(&mut self, depth: u32, nodes: usize, here: &Cursor<'a>) -> Reading<()> {
        self.used(depth, nodes, here)
    }

    /// Returns the text of an attribute that becomes part of another attribute.
    pub(super) fn show(&mut self, attr: &Attribute, here: &Cursor<'a>) -> Reading<String> {
        self.copied(text_bytes(attr), here)?;
        Ok(attr.to_string())
    }

    /// Charges a name of `bytes` bytes, which each use copies.
    pub(super) fn named(&mut self, bytes: usize, here: &Cursor<'a>) -> Reading<()> {
        self.charge(bytes / BYTES_PER_NODE, here)
    }

    /// Converts a type to the form it has in attributes. Some types are written out as text at each use.
    pub(super) fn written(&mut self, ty: Ty, here: &Cursor<'a>) -> Reading<Type> {
        let ty = ty.into_attr();
        if let Type::Opaque(text) = &ty {
            self.copied(text.len(), here)?;
        }
        Ok(ty)
    }

    /// Charges bytes that are copied.
    pub(super) fn copied(&mut self, bytes: usize, here: &Cursor<'a>) -> Reading<()> {
        match self.copies_left.checked_sub(bytes) {
            Some(left) => {
                self.copies_left = left;
                Ok(())
            }
            None => {
                Err(here.error("nesting", "the artifact copies too many bytes of names, lists and elements"))
            }
        }
    }

    fn charge(&mut self, nodes: usize, here: &Cursor<'a>) -> Reading<()> {
        self.spent = self.spent.saturating_add(nodes);
        if self.spent > self.budget {
            let message = format!("attributes and types are used more than {} times", self.budget);
            return Err(here.error("nesting", message));
        }
        Ok(())
    }
}

/// Upper bound of the length of an attribute's text in bytes.
fn text_bytes(attr: &Attribute) -> usize {
    const BYTES_PER_NODE: usize = 64;
    BYTES_PER_NODE
        + match attr {
            Attribute::Array(items) => items.iter().map(text_bytes).sum(),
            Attribute::Dict(entries) => {
                entries.iter().map(|(key, value)| 4 * key.len() + text_bytes(value)).sum()
            }
            Attribute::Dialect(d) if d.params.is_empty() => d.text.len(),
            Attribute::Dialect(d) => d.text.len() + d.params.values().map(text_bytes).sum::<usize>(),
            Attribute::String(text) => 4 * text.len(),
            Attribute::Symbol(name) => 4 * name.len(),
            Attribute::Dense(l) | Attribute::DenseArray(l) | Attribute::DenseIndex(l) => {
                l.len().saturating_mul(BYTES_PER_NODE)
            }
            _ => 0,
        }
}
