//! FlatBuffers: tables, vectors and texts at places that other tables give, each checked before it is read.
//!
//! The format is documented at <https://flatbuffers.dev/internals/>.

/// What is wrong, and at which byte.
#[derive(Debug)]
pub(super) struct Error {
    pub(super) at: usize,
    pub(super) message: String,
}

pub(super) type Reading<T> = Result<T, Error>;

/// The bytes of a file.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

/// A table: some of the fields of its kind.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: Bytes<'a>,
    /// Where it begins.
    pub(super) at: usize,
    /// Where the places of its fields are, and how many these are.
    places: (usize, usize),
    /// Bytes of its fields.
    len: usize,
}

/// A list of numbers, tables or texts.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    bytes: Bytes<'a>,
    /// Where the first one is.
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

    /// The place that an offset at a place leads to.
    fn follow(self, at: usize) -> Reading<usize> {
        let offset = self.u32(at)? as usize;
        match at.checked_add(offset).filter(|to| offset > 0 && *to < self.0.len()) {
            Some(to) => Ok(to),
            None => error(at, format!("an offset of {offset} leads out of the file")),
        }
    }

    /// The table that everything begins with.
    pub(super) fn root(self) -> Reading<Table<'a>> {
        self.table(self.follow(0)?)
    }

    fn table(self, at: usize) -> Reading<Table<'a>> {
        let back = i32::from_le_bytes(self.array(at)?);
        let places = i64::try_from(at).ok().and_then(|at| usize::try_from(at - i64::from(back)).ok());
        let Some(places) = places else { return error(at, "a table without places of its fields") };
        let (size, len) = (usize::from(self.u16(places)?), usize::from(self.u16(places + 2)?));
        if size < 4 || size % 2 != 0 || len < 4 {
            return error(places, "the places of a table's fields make no sense");
        }
        self.slice(places, size)?;
        self.slice(at, len)?;
        Ok(Table { bytes: self, at, places: (places + 4, (size - 4) / 2), len })
    }

    /// A list of things of so many bytes.
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
    /// Where field number `i` of `size` bytes is, if it is present.
    fn field(&self, i: usize, size: usize) -> Reading<Option<usize>> {
        if i >= self.places.1 {
            return Ok(None);
        }
        match usize::from(self.bytes.u16(self.places.0 + 2 * i)?) {
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

    /// A list of things of `size` bytes; empty if absent.
    pub(super) fn list(&self, i: usize, size: usize) -> Reading<List<'a>> {
        match self.field(i, 4)? {
            Some(at) => self.bytes.list(self.bytes.follow(at)?, size),
            None => Ok(List { bytes: self.bytes, at: self.at, len: 0 }),
        }
    }

    /// A list of bytes.
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
    /// An error about this table.
    pub(super) fn wrong<T>(&self, message: impl Into<String>) -> Reading<T> {
        error(self.at, message)
    }
}
