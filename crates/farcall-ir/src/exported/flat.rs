//! FlatBuffers reader: tables, vectors and strings, each bounds-checked before it is read.
//!
//! The format is documented at <https://flatbuffers.dev/internals/>.

/// Error message, and the byte of the file it is about.
#[derive(Debug)]
pub(super) struct Error {
    pub(super) at: usize,
    pub(super) message: String,
}

pub(super) type Reading<T> = Result<T, Error>;

/// The bytes of a file.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

/// A table. Its vtable lists the fields of the schema that are present.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: Bytes<'a>,
    /// Byte at which the table begins.
    pub(super) at: usize,
    /// First byte of the vtable's field offsets, and their number.
    vtable: (usize, usize),
    /// Size of the table's data in bytes.
    len: usize,
}

/// A vector of numbers, tables or strings.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    bytes: Bytes<'a>,
    /// Byte at which the first element begins.
    at: usize,
    pub(super) len: usize,
}

fn error<T>(at: usize, message: impl Into<String>) -> Reading<T> {
    Err(Error { at, message: message.into() })
}

impl<'a> Bytes<'a> {
    fn slice(self, at: usize, len: usize) -> Reading<&'a [u8]> {
        let end = at.checked_add(len).filter(|end| *end <= self.0.len());
        match end {
            Some(end) => Ok(&self.0[at..end]),
            None => error(
                at.min(self.0.len()),
                format!("{len} bytes are expected, the file has {}", self.0.len()),
            ),
        }
    }

    fn array<const N: usize>(self, at: usize) -> Reading<[u8; N]> {
        let bytes = self.slice(at, N)?;
        Ok(std::array::from_fn(|i| bytes[i]))
    }

    fn u32(self, at: usize) -> Reading<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn u16(self, at: usize) -> Reading<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    /// Returns the target of the offset stored at `at`.
    fn follow(self, at: usize) -> Reading<usize> {
        let offset = self.u32(at)? as usize;
        match at.checked_add(offset).filter(|to| offset > 0 && *to < self.0.len()) {
            Some(to) => Ok(to),
            None => error(at, format!("an offset of {offset} leads out of the file")),
        }
    }

    /// Returns the root table of the file.
    pub(super) fn root(self) -> Reading<Table<'a>> {
        self.table(self.follow(0)?)
    }

    fn table(self, at: usize) -> Reading<Table<'a>> {
        let back = i32::from_le_bytes(self.array(at)?);
        let vtable = i64::try_from(at).ok().and_then(|at| usize::try_from(at - i64::from(back)).ok());
        let Some(vtable) = vtable else { return error(at, "a table without a vtable") };
        let (size, len) = (usize::from(self.u16(vtable)?), usize::from(self.u16(vtable + 2)?));
        if size < 4 || size % 2 != 0 || len < 4 {
            return error(vtable, "the vtable has an invalid size");
        }
        self.slice(vtable, size)?;
        self.slice(at, len)?;
        Ok(Table { bytes: self, at, vtable: (vtable + 4, (size - 4) / 2), len })
    }

    /// Reads the header of a vector whose elements have `size` bytes.
    fn list(self, at: usize, size: usize) -> Reading<List<'a>> {
        let len = self.u32(at)? as usize;
        let bytes = len.checked_mul(size);
        match bytes.filter(|bytes| *bytes <= self.0.len() - (at + 4)) {
            Some(_) => Ok(List { bytes: self, at: at + 4, len }),
            None => error(at, format!("a list of {len} does not fit")),
        }
    }

    fn text(self, at: usize) -> Reading<&'a str> {
        let list = self.list(at, 1)?;
        std::str::from_utf8(self.slice(list.at, list.len)?).or_else(|_| error(at, "a text that is not UTF-8"))
    }
}

impl<'a> Table<'a> {
    /// Returns the byte at which field number `i`, of `size` bytes, begins. `None` if the table does not have
    /// the field.
    fn field(&self, i: usize, size: usize) -> Reading<Option<usize>> {
        if i >= self.vtable.1 {
            return Ok(None);
        }
        match usize::from(self.bytes.u16(self.vtable.0 + 2 * i)?) {
            0 => Ok(None),
            place if place + size <= self.len => Ok(Some(self.at + place)),
            place => error(self.at, format!("field {i} is at {place}, but the table has {} bytes", self.len)),
        }
    }

    pub(super) fn u8(&self, i: usize) -> Reading<u8> {
        self.field(i, 1)?.map_or(Ok(0), |at| Ok(self.bytes.array::<1>(at)?[0]))
    }

    pub(super) fn u16(&self, i: usize) -> Reading<u16> {
        self.field(i, 2)?.map_or(Ok(0), |at| self.bytes.u16(at))
    }

    pub(super) fn u32(&self, i: usize) -> Reading<u32> {
        self.field(i, 4)?.map_or(Ok(0), |at| self.bytes.u32(at))
    }

    pub(super) fn text(&self, i: usize) -> Reading<Option<&'a str>> {
        let Some(at) = self.field(i, 4)? else { return Ok(None) };
        self.bytes.text(self.bytes.follow(at)?).map(Some)
    }

    pub(super) fn table(&self, i: usize) -> Reading<Option<Table<'a>>> {
        let Some(at) = self.field(i, 4)? else { return Ok(None) };
        self.bytes.table(self.bytes.follow(at)?).map(Some)
    }

    /// Returns field number `i`, a vector of elements of `size` bytes. The vector is empty if the field is
    /// absent.
    pub(super) fn list(&self, i: usize, size: usize) -> Reading<List<'a>> {
        match self.field(i, 4)? {
            Some(at) => self.bytes.list(self.bytes.follow(at)?, size),
            None => Ok(List { bytes: self.bytes, at: self.at, len: 0 }),
        }
    }

    /// Returns field number `i`, a vector of bytes, and the byte of the file at which the vector begins.
    pub(super) fn bytes(&self, i: usize) -> Reading<(&'a [u8], usize)> {
        let list = self.list(i, 1)?;
        Ok((self.bytes.slice(list.at, list.len)?, list.at))
    }
}

impl<'a> List<'a> {
    pub(super) fn u16(&self, i: usize) -> Reading<u16> {
        self.bytes.u16(self.at + 2 * i)
    }

    pub(super) fn u32(&self, i: usize) -> Reading<u32> {
        self.bytes.u32(self.at + 4 * i)
    }

    pub(super) fn table(&self, i: usize) -> Reading<Table<'a>> {
        self.bytes.table(self.bytes.follow(self.at + 4 * i)?)
    }

    pub(super) fn text(&self, i: usize) -> Reading<&'a str> {
        self.bytes.text(self.bytes.follow(self.at + 4 * i)?)
    }
}

impl Table<'_> {
    /// Returns an error at this table.
    pub(super) fn wrong<T>(&self, message: impl Into<String>) -> Reading<T> {
        error(self.at, message)
    }
}
