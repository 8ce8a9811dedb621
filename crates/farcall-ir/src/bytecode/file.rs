//! Reads the tables of a file.

use super::{Cursor, Error, MAGIC, NEWEST, Reading};

/// The tables of a file, and its operations.
#[derive(Debug)]
pub(crate) struct File<'a> {
    data: &'a [u8],
    /// Version of the container.
    pub(crate) version: u64,
    /// Name and version of the writer.
    pub(crate) producer: &'a str,
    strings: Vec<&'a [u8]>,
    dialects: Vec<&'a str>,
    ops: Vec<OpName<'a>>,
    /// Attributes, including locations.
    pub(crate) attrs: Vec<Entry>,
    /// Types.
    pub(crate) types: Vec<Entry>,
    /// Start and length of each set of properties, which operations refer to by number.
    properties: Vec<(u32, u32)>,
    /// Resources that attributes refer to by number.
    pub(crate) resources: Vec<Resource<'a>>,
    /// Operations.
    pub(crate) ir: Cursor<'a>,
}

/// The name of an operation.
#[derive(Debug)]
struct OpName<'a> {
    dialect: u32,
    /// Name without the dialect.
    name: &'a str,
}

/// The bytes of an attribute or a type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    dialect: u32,
    start: u32,
    len: u32,
    /// True for the dialect's own encoding, false for text.
    pub(crate) custom: bool,
}

/// A resource: bytes that attributes may share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resource<'a> {
    /// Name of the resource.
    pub(crate) key: &'a [u8],
    /// Contents, if the resource is a blob.
    pub(crate) blob: Option<&'a [u8]>,
}

pub(super) const STRINGS: usize = 0;
pub(super) const DIALECTS: usize = 1;
pub(super) const ATTRS: usize = 2;
pub(super) const OFFSETS: usize = 3;
pub(super) const IR: usize = 4;
const RESOURCES: usize = 5;
const RESOURCE_OFFSETS: usize = 6;
const VERSIONS: usize = 7;
const PROPERTIES: usize = 8;

/// Names of the sections in messages, by section number.
const SECTIONS: [&str; 9] = [
    "string section",
    "dialect section",
    "attribute section",
    "attribute offset section",
    "operation section",
    "resource section",
    "resource offset section",
    "dialect version section",
    "property section",
];

/// Maximum length of a file in bytes. Positions have 32 bits, as in a [`Source`](crate::Source).
const MAX_LEN: usize = u32::MAX as usize - 1;

/// Kind of a resource that is a blob.
const BLOB: u8 = 0;

impl<'a> File<'a> {
    /// Reads all tables. Attributes, types and operations are not decoded.
    pub(crate) fn open(data: &'a [u8]) -> Reading<File<'a>> {
        let mut head = Cursor::new(data, 0, data.len(), "header");
        if data.len() > MAX_LEN {
            return Err(head.error("unsupported", format!("the file is longer than {MAX_LEN} bytes")));
        }
        if head.take(MAGIC.len()).ok() != Some(&MAGIC) {
            return Cursor::new(data, 0, data.len(), "header").damaged("this is not MLIR bytecode");
        }
        let before = head;
        let version = head.number()?;
        let before_producer = head;
        let producer = head.terminated()?;
        let producer = std::str::from_utf8(producer);
        let producer = producer.or_else(|_| before_producer.damaged("the producer's name is not UTF-8"))?;
        if version > NEWEST {
            return Err(before.error(
                "unsupported",
                format!("MLIR bytecode of version {version} (written by {producer:?}); versions up to {NEWEST} are read"),
            ));
        }
        let mut sections = [None; SECTIONS.len()];
        while !head.is_empty() {
            let before = head;
            let (id, section) = section(&mut head).map_err(|e| Error {
                message: format!("{} (the file is truncated or damaged)", e.message),
                ..e
            })?;
            if sections[id].replace(section).is_some() {
                return before.damaged(format!("a second {}", SECTIONS[id]));
            }
        }
        let required = |id: usize| {
            sections[id].map_or_else(|| head.damaged(format!("the file has no {}", SECTIONS[id])), Ok)
        };
        let mut file = File {
            data,
            version,
            producer,
            strings: strings(required(STRINGS)?, data)?,
            dialects: Vec::new(),
            ops: Vec::new(),
            attrs: Vec::new(),
            types: Vec::new(),
            properties: Vec::new(),
            resources: Vec::new(),
            ir: required(IR)?,
        };
        file.read_dialects(required(DIALECTS)?)?;
        if let Some(section) = sections[PROPERTIES] {
            file.read_properties(section)?;
        }
        match (sections[RESOURCES], sections[RESOURCE_OFFSETS]) {
            (Some(resources), Some(offsets)) => file.read_resources(resources, offsets)?,
            (None, None) => {}
            _ => {
                return head
                    .damaged("the file has a resource section or a resource offset section, but not both");
            }
        }
        file.read_entries(required(ATTRS)?, required(OFFSETS)?)?;
        Ok(file)
    }

    /// Reads the number of a string, and returns the string.
    pub(crate) fn string(&self, cursor: &mut Cursor<'a>) -> Reading<&'a [u8]> {
        Ok(self.strings[cursor.index(self.strings.len(), "string")?])
    }

    fn name_at(&self, i: usize, cursor: &Cursor<'a>) -> Reading<&'a str> {
        as_name(cursor, self.strings[cursor.check_index(i, self.strings.len(), "string")?])
    }

    /// Dialect and name of operation name number `i`.
    pub(crate) fn op(&self, i: usize) -> (&'a str, &'a str) {
        let op = &self.ops[i];
        (self.dialects[op.dialect as usize], op.name)
    }

    /// Number of operation names.
    pub(super) fn op_count(&self) -> usize {
        self.ops.len()
    }

    /// Number of property sets.
    pub(super) fn property_count(&self) -> usize {
        self.properties.len()
    }

    /// Property set number `i`.
    pub(crate) fn properties(&self, i: usize) -> Cursor<'a> {
        let (start, len) = self.properties[i];
        Cursor::new(self.data, start as usize, (start + len) as usize, SECTIONS[PROPERTIES])
    }

    /// Dialect of an attribute or a type.
    pub(crate) fn dialect(&self, entry: &Entry) -> &'a str {
        self.dialects[entry.dialect as usize]
    }

    fn read_dialects(&mut self, mut section: Cursor<'a>) -> Reading<()> {
        let n = section.count()?;
        self.dialects = section.room(n)?;
        for _ in 0..n {
            // Dialects have versions since version 1.
            let before = section;
            let (name, versioned) =
                if self.version == 0 { (section.size()?, false) } else { section.flagged()? };
            self.dialects.push(self.name_at(name, &before)?);
            if versioned {
                match self::section(&mut section)? {
                    (VERSIONS, _) => {}
                    _ => return before.damaged("the version of a dialect is expected"),
                }
            }
        }
        if self.version >= 4 {
            let n = section.count()?;
            self.ops = section.room(n)?;
        }
        while !section.is_empty() {
            let dialect = section.index(self.dialects.len(), "dialect")? as u32;
            for _ in 0..section.count()? {
                let before = section;
                // Since version 5, a flag states whether the writer knew the operation.
                let name = if self.version >= 5 { section.flagged()?.0 } else { section.size()? };
                let name = self.name_at(name, &before)?;
                self.ops.push(OpName { dialect, name });
            }
        }
        Ok(())
    }

    fn read_properties(&mut self, mut section: Cursor<'a>) -> Reading<()> {
        if section.is_empty() {
            return Ok(());
        }
        self.properties = section.list(|section| {
            let len = section.size()?;
            let start = section.pos();
            section.take(len)?;
            Ok((start as u32, len as u32))
        })?;
        section.end()
    }

    fn read_resources(&mut self, mut data: Cursor<'a>, mut offsets: Cursor<'a>) -> Reading<()> {
        // Resources that belong to tools come first, before the resources of dialects. Attributes do not
        // refer to resources of tools.
        for _ in 0..offsets.count()? {
            self.string(&mut offsets)?;
            for _ in 0..offsets.count()? {
                self.resource(&mut data, &mut offsets)?;
            }
        }
        while !offsets.is_empty() {
            offsets.index(self.dialects.len(), "dialect")?;
            for _ in 0..offsets.count()? {
                let resource = self.resource(&mut data, &mut offsets)?;
                self.resources.push(resource);
            }
        }
        data.end()
    }

    fn resource(&self, data: &mut Cursor<'a>, offsets: &mut Cursor<'a>) -> Reading<Resource<'a>> {
        let key = self.string(offsets)?;
        let len = offsets.size()?;
        let kind = offsets.byte()?;
        let mut value = data.part(len, SECTIONS[RESOURCES])?;
        // Attributes use only blobs. An empty resource is declared, but has no contents.
        if kind != BLOB || value.is_empty() {
            return Ok(Resource { key, blob: None });
        }
        let alignment = value.number()?;
        let len = value.size()?;
        value.align(alignment)?;
        let blob = Some(value.take(len)?);
        value.end()?;
        Ok(Resource { key, blob })
    }

    fn read_entries(&mut self, mut data: Cursor<'a>, mut offsets: Cursor<'a>) -> Reading<()> {
        // The sum of both counts is at most the number of remaining bytes, since each entry takes at least
        // one.
        let (attrs, types) = (offsets.count()?, offsets.count()?);
        self.attrs = self.entries(attrs, &mut data, &mut offsets)?;
        self.types = self.entries(types, &mut data, &mut offsets)?;
        offsets.end()
    }

    fn entries(&self, n: usize, data: &mut Cursor<'a>, offsets: &mut Cursor<'a>) -> Reading<Vec<Entry>> {
        let mut out: Vec<Entry> = offsets.room(n)?;
        while out.len() < n {
            let dialect = offsets.index(self.dialects.len(), "dialect")? as u32;
            let before = *offsets;
            let group = offsets.count()?;
            if group > n - out.len() {
                let left = n - out.len();
                return before.damaged(format!("a group of {group} entries, but only {left} are left"));
            }
            for _ in 0..group {
                let (len, custom) = offsets.flagged()?;
                let start = data.pos() as u32;
                data.take(len)?;
                out.push(Entry { dialect, start, len: len as u32, custom });
            }
        }
        Ok(out)
    }
}

impl Entry {
    /// Cursor over the entry's bytes.
    pub(crate) fn cursor<'a>(&self, file: &File<'a>) -> Cursor<'a> {
        Cursor::new(file.data, self.start as usize, (self.start + self.len) as usize, SECTIONS[ATTRS])
    }
}

fn as_name<'a>(cursor: &Cursor<'a>, string: &'a [u8]) -> Reading<&'a str> {
    std::str::from_utf8(string).or_else(|_| cursor.damaged("a name that is not UTF-8"))
}

/// Reads the number and the contents of a section.
pub(super) fn section<'a>(from: &mut Cursor<'a>) -> Reading<(usize, Cursor<'a>)> {
    let before = *from;
    let tag = from.byte()?;
    let (id, aligned) = (usize::from(tag & 0x7f), tag & 0x80 != 0);
    let Some(name) = SECTIONS.get(id) else {
        return before.damaged(format!("there is no section of kind {id}"));
    };
    let len = from.size()?;
    if aligned {
        let alignment = from.number()?;
        from.align(alignment)?;
    }
    let data = from.part(len, name).map_err(|e| Error { message: format!("{name}: {}", e.message), ..e })?;
    Ok((id, data))
}

/// Reads the strings: their lengths from the last string to the first, followed by the strings.
fn strings<'a>(mut section: Cursor<'a>, data: &'a [u8]) -> Reading<Vec<&'a [u8]>> {
    let n = section.count()?;
    let mut out: Vec<&[u8]> = section.room(n)?;
    let mut end = section.pos() + section.left();
    for _ in 0..n {
        let before = section;
        let len = section.size()?;
        // The length includes the terminating zero byte.
        if len == 0 || len > end - section.pos().min(end) {
            return before.damaged(format!("a string of {len} bytes does not fit"));
        }
        out.push(&data[end - len..end - 1]);
        end -= len;
    }
    if section.pos() != end {
        return section.damaged("there are bytes between the lengths of the strings and the strings");
    }
    out.reverse();
    Ok(out)
}
