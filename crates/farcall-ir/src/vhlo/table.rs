//! The attributes, types and locations of an artifact, each decoded when it is first used and kept.

use std::rc::Rc;
use std::sync::Arc;

use farcall_sig::DType;
use rustc_hash::FxHashMap;

use super::types::Ty;
use super::{
    BYTES_PER_NODE, COPIED, COPIED_PER_BYTE, MAX_NESTING, NODES, NODES_PER_BYTE, attr, builtin, plain,
    shardy, types,
};
use crate::attr::Attr;
use crate::bytecode::{Cursor, File, Reading};
use crate::module::Loc;
use crate::text::MAX_LOC_DEPTH;
use crate::types::Type;

/// What has been decoded.
pub(super) struct Table<'f, 'a> {
    pub(super) file: &'f File<'a>,
    attrs: Vec<Slot<Attr>>,
    types: Vec<Slot<Ty>>,
    /// How deep a location is, and itself; none if it is unknown.
    locs: FxHashMap<usize, (u32, Option<Arc<Loc>>)>,
    /// How deep the attribute or type that is being decoded is in others.
    depth: u32,
    /// How deep the deepest is that has been used since the current one was begun.
    deepest: u32,
    /// The strings that are attributes or names.
    strings: FxHashMap<usize, Arc<[u8]>>,
    /// Uses so far, and how many there may be.
    spent: usize,
    budget: usize,
    /// Bytes that may still be copied.
    copies_left: usize,
}

#[derive(Clone)]
enum Slot<T> {
    Bytes,
    /// Being decoded.
    Begun,
    Decoded(Rc<Decoded<T>>),
}

struct Decoded<T> {
    value: T,
    /// How deep it nests.
    depth: u32,
    /// What a use of it costs.
    nodes: usize,
}

impl<'f, 'a> Table<'f, 'a> {
    pub(super) fn new(file: &'f File<'a>, len: usize) -> Reading<Table<'f, 'a>> {
        fn slots<T: Clone>(n: usize, file: &File<'_>) -> Reading<Vec<Slot<T>>> {
            let mut slots = file.ir.room(n)?;
            slots.resize(n, Slot::Bytes);
            Ok(slots)
        }
        Ok(Table {
            file,
            attrs: slots(file.attrs.len(), file)?,
            types: slots(file.types.len(), file)?,
            locs: FxHashMap::default(),
            depth: 0,
            deepest: 0,
            strings: FxHashMap::default(),
            spent: 0,
            budget: len.saturating_mul(NODES_PER_BYTE).saturating_add(NODES),
            copies_left: len.saturating_mul(COPIED_PER_BYTE).saturating_add(COPIED),
        })
    }

    /// The attribute of a number, which is read.
    pub(super) fn attr(&mut self, from: &mut Cursor<'a>) -> Reading<Attr> {
        let before = *from;
        let i = from.index(self.attrs.len(), "attribute")?;
        self.attr_at(i, &before)
    }

    /// Attribute number `i`, which is used here.
    pub(super) fn attr_at(&mut self, i: usize, here: &Cursor<'a>) -> Reading<Attr> {
        match std::mem::replace(&mut self.attrs[i], Slot::Begun) {
            Slot::Begun => here.damaged(format!("attribute {i} contains itself")),
            Slot::Decoded(known) => {
                self.attrs[i] = Slot::Decoded(Rc::clone(&known));
                self.used(known.depth, known.nodes, here)?;
                Ok(known.value.clone())
            }
            Slot::Bytes => {
                let entry = self.file.attrs[i];
                let mut from = entry.cursor(self.file);
                let (value, depth, nodes) = self.nested(here, |table| {
                    let dialect = table.file.dialect(&entry);
                    let value = match dialect {
                        _ if !entry.custom => attr::of_text(table, &mut from)?,
                        "vhlo" => attr::read(table, &mut from)?,
                        "builtin" => builtin::attr(table, &mut from)?,
                        "sdy" => shardy::read(table, &mut from)?,
                        "stablehlo" => plain::attr(table, &mut from)?,
                        _ => return Err(unsupported(&from, "an attribute", dialect)),
                    };
                    from.end()?;
                    Ok(value)
                })?;
                self.attrs[i] = Slot::Decoded(Rc::new(Decoded { value: value.clone(), depth, nodes }));
                Ok(value)
            }
        }
    }

    /// The type of a number, which is read.
    pub(super) fn ty(&mut self, from: &mut Cursor<'a>) -> Reading<Ty> {
        let before = *from;
        let i = from.index(self.types.len(), "type")?;
        self.ty_at(i, &before)
    }

    /// Type number `i`, which is used here.
    pub(super) fn ty_at(&mut self, i: usize, here: &Cursor<'a>) -> Reading<Ty> {
        match std::mem::replace(&mut self.types[i], Slot::Begun) {
            Slot::Begun => here.damaged(format!("type {i} contains itself")),
            Slot::Decoded(known) => {
                self.types[i] = Slot::Decoded(Rc::clone(&known));
                self.used(known.depth, known.nodes, here)?;
                Ok(known.value.clone())
            }
            Slot::Bytes => {
                let entry = self.file.types[i];
                let mut from = entry.cursor(self.file);
                let (value, depth, nodes) = self.nested(here, |table| {
                    let dialect = table.file.dialect(&entry);
                    let value = match dialect {
                        _ if !entry.custom => types::of_text(&mut from)?,
                        "vhlo" => types::read(table, &mut from)?,
                        "builtin" => builtin::ty(table, &mut from)?,
                        "stablehlo" => plain::ty(&mut from)?,
                        _ => return Err(unsupported(&from, "a type", dialect)),
                    };
                    from.end()?;
                    Ok(value)
                })?;
                self.types[i] = Slot::Decoded(Rc::new(Decoded { value: value.clone(), depth, nodes }));
                Ok(value)
            }
        }
    }

    /// The type of a value by its number, which is used here; if it is not the type of a value, that.
    pub(super) fn value_type(&mut self, i: usize, here: &Cursor<'a>) -> Reading<Result<Type, Type>> {
        Ok(self.ty_at(i, here)?.into_value())
    }

    /// An element type, which is read.
    pub(super) fn element(&mut self, from: &mut Cursor<'a>) -> Reading<DType> {
        let before = *from;
        match self.ty(from)? {
            Ty::Element(dtype) => Ok(dtype),
            other => before.damaged(format!("an element type is expected, not {}", other.into_attr())),
        }
    }

    /// A name: a string of UTF-8.
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

    /// A string by its number, which is read.
    pub(super) fn string(&mut self, from: &mut Cursor<'a>) -> Reading<Attr> {
        let string = self.file.string(from)?;
        // Each is one place of the file, and shared by those who name it.
        let known = self.strings.entry(string.as_ptr() as usize).or_insert_with(|| string.into());
        Ok(Attr::String(Arc::clone(known)))
    }

    /// Where an operation comes from, by the number of the attribute that says so.
    pub(super) fn location(&mut self, i: usize, here: &Cursor<'a>) -> Reading<Option<Arc<Loc>>> {
        Ok(self.loc(i, 0, here)?.1)
    }

    /// A location that is `outer` locations deep in others. What is too deep is left out.
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
                let known = builtin::location(self, &mut from, outer)?;
                from.end()?;
                known
            }
            _ => (0, None),
        };
        self.locs.insert(i, known.clone());
        Ok(known)
    }

    /// Decodes something that is used here: what it is, how deep it nests, and what a use of it costs.
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

    /// Counts a use of something that nests so deep.
    fn used(&mut self, depth: u32, nodes: usize, here: &Cursor<'a>) -> Reading<()> {
        self.deepest = self.deepest.max(depth);
        if self.depth + depth > MAX_NESTING {
            return Err(here.error("nesting", format!("nested more than {MAX_NESTING} deep")));
        }
        self.charge(nodes, here)
    }

    /// Counts something that nests so deep and is not in the table.
    pub(super) fn measured(&mut self, depth: u32, nodes: usize, here: &Cursor<'a>) -> Reading<()> {
        self.used(depth, nodes, here)
    }

    /// The text of an attribute that becomes part of another.
    pub(super) fn show(&mut self, attr: &Attr, here: &Cursor<'a>) -> Reading<String> {
        self.copied(attr::text_bytes(attr), here)?;
        Ok(attr.to_string())
    }

    /// Counts a name that every use copies.
    pub(super) fn named(&mut self, bytes: usize, here: &Cursor<'a>) -> Reading<()> {
        self.charge(bytes / BYTES_PER_NODE, here)
    }

    /// A type as an attribute has it. Some are written out as text for each use.
    pub(super) fn written(&mut self, ty: Ty, here: &Cursor<'a>) -> Reading<Type> {
        let ty = ty.into_attr();
        if let Type::Opaque(text) = &ty {
            self.copied(text.len(), here)?;
        }
        Ok(ty)
    }

    /// Counts bytes that are copied now.
    pub(super) fn copied(&mut self, bytes: usize, here: &Cursor<'a>) -> Reading<()> {
        match self.copies_left.checked_sub(bytes) {
            Some(left) => {
                self.copies_left = left;
                Ok(())
            }
            None => {
                Err(here
                    .error("nesting", "names, lists and elements are used more often than an artifact may"))
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

fn unsupported(from: &Cursor<'_>, what: &str, dialect: &str) -> crate::bytecode::Error {
    from.error("unsupported", format!("{what} of dialect {dialect} in an encoding of its own"))
}
