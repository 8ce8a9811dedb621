//! Cursor for reading numbers and bytes of one part of a file.

use super::{Error, Reading};
use crate::memory;

/// Value of a padding byte.
const PADDING: u8 = 0xcb;

/// The unread rest of a part of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    /// The whole file, up to the end of the part.
    data: &'a [u8],
    pos: usize,
    /// Name of the part in messages.
    part: &'static str,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor over `data` from byte `start` to byte `end`, which must be within `data`.
    pub(crate) fn new(data: &'a [u8], start: usize, end: usize, part: &'static str) -> Cursor<'a> {
        Cursor { data: &data[..end], pos: start.min(end), part }
    }

    /// Position of the next byte.
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Number of remaining bytes.
    pub(crate) fn left(&self) -> usize {
        self.data.len() - self.pos
    }

    /// True if no bytes remain.
    pub(crate) fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// Returns an error at the current position.
    pub(crate) fn error(&self, code: &'static str, message: impl Into<String>) -> Error {
        Error { code, at: self.pos, part: self.part, message: message.into() }
    }

    /// Returns an error for malformed data at the current position.
    pub(crate) fn damaged<T>(&self, message: impl Into<String>) -> Reading<T> {
        Err(self.error("bytecode", message))
    }

    /// Returns an error unless all bytes have been read.
    pub(crate) fn end(&self) -> Reading<()> {
        if self.is_empty() { Ok(()) } else { self.damaged(format!("{} bytes are left over", self.left())) }
    }

    /// Reads `n` bytes.
    pub(crate) fn take(&mut self, n: usize) -> Reading<&'a [u8]> {
        if n > self.left() {
            return self.damaged(format!("{n} bytes are expected, but {} are left", self.left()));
        }
        let taken = &self.data[self.pos..self.pos + n];
        self.pos += n;
        Ok(taken)
    }

    /// Splits off a part of `n` bytes with its own cursor.
    pub(crate) fn part(&mut self, n: usize, part: &'static str) -> Reading<Cursor<'a>> {
        let start = self.pos;
        self.take(n)?;
        Ok(Cursor::new(self.data, start, start + n, part))
    }

    /// Reads one byte.
    pub(crate) fn byte(&mut self) -> Reading<u8> {
        Ok(self.take(1)?[0])
    }

    /// Reads a number, which takes one to nine bytes. The trailing zero bits of the first byte give the
    /// number of bytes that follow.
    pub(crate) fn number(&mut self) -> Reading<u64> {
        let first = self.byte()?;
        let more = first.trailing_zeros() as usize;
        let mut bytes = [0; 8];
        if more == 8 {
            bytes.copy_from_slice(self.take(8)?);
            return Ok(u64::from_le_bytes(bytes));
        }
        bytes[0] = first;
        bytes[1..=more].copy_from_slice(self.take(more)?);
        Ok(u64::from_le_bytes(bytes) >> (more + 1))
    }

    /// Reads a signed number, whose sign is the lowest bit.
    pub(crate) fn signed(&mut self) -> Reading<i64> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// Reads a number that fits `usize`.
    pub(crate) fn size(&mut self) -> Reading<usize> {
        let before = *self;
        let n = self.number()?;
        usize::try_from(n).or_else(|_| before.damaged(format!("{n} is too large")))
    }

    /// Reads a number with a flag in its lowest bit.
    pub(crate) fn flagged(&mut self) -> Reading<(usize, bool)> {
        let n = self.size()?;
        Ok((n >> 1, n & 1 != 0))
    }

    /// Reads the number of items that follow, each of which takes at least one byte.
    pub(crate) fn count(&mut self) -> Reading<usize> {
        let before = *self;
        let n = self.size()?;
        if n > self.left() {
            return before.damaged(format!("{n} items do not fit into {} bytes", self.left()));
        }
        Ok(n)
    }

    /// Returns an empty vector with capacity for `n` items, where [`Cursor::count`] returned `n`.
    pub(crate) fn room<T>(&self, n: usize) -> Reading<Vec<T>> {
        memory::reserved(n).map_err(|e| Error::memory(self.pos, self.part, e))
    }

    /// Reads a list: the number of items, and the items.
    pub(crate) fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Reading<T>) -> Reading<Vec<T>> {
        let n = self.count()?;
        let mut out = self.room(n)?;
        for _ in 0..n {
            out.push(one(self)?);
        }
        Ok(out)
    }

    /// Reads an index into a table of `n` items.
    pub(crate) fn index(&mut self, n: usize, what: &str) -> Reading<usize> {
        let before = *self;
        let i = self.size()?;
        before.check_index(i, n, what)
    }

    /// Returns an error unless `i` is less than `n`.
    pub(crate) fn check_index(&self, i: usize, n: usize, what: &str) -> Reading<usize> {
        if i < n { Ok(i) } else { self.damaged(format!("there is no {what} {i}, only {n}")) }
    }

    /// Skips padding up to a multiple of `alignment`, which must be a power of two.
    pub(crate) fn align(&mut self, alignment: u64) -> Reading<()> {
        if !alignment.is_power_of_two() {
            return self.damaged(format!("{alignment} is not an alignment"));
        }
        while !(self.pos as u64).is_multiple_of(alignment) {
            let before = *self;
            if self.byte()? != PADDING {
                return before.damaged("padding is expected");
            }
        }
        Ok(())
    }

    /// Reads text that ends with a zero byte.
    pub(crate) fn terminated(&mut self) -> Reading<&'a [u8]> {
        let rest = &self.data[self.pos..];
        let Some(n) = rest.iter().position(|b| *b == 0) else {
            return self.damaged("a text without an end");
        };
        self.pos += n + 1;
        Ok(&rest[..n])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a value, which must take all bytes.
    fn all<'a, T>(bytes: &'a [u8], read: impl Fn(&mut Cursor<'a>) -> Reading<T>) -> Reading<T> {
        let mut cursor = Cursor::new(bytes, 0, bytes.len(), "test");
        let out = read(&mut cursor)?;
        cursor.end()?;
        Ok(out)
    }

    #[test]
    fn numbers_have_one_to_nine_bytes() {
        for (bytes, number) in [
            (&[0x01][..], 0),
            (&[0xff], 127),
            (&[0x02, 0x02], 128),
            (&[0x04, 0x00, 0x02], 1 << 14),
            (&[0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], (1 << 56) - 1),
            (&[0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], u64::MAX),
        ] {
            assert_eq!(all(bytes, Cursor::number), Ok(number), "{bytes:x?}");
            let cut = all(&bytes[..bytes.len() - 1], Cursor::number);
            assert!(cut.is_err(), "{bytes:x?} without the last byte must be an error");
        }
    }

    #[test]
    fn signed_numbers_have_their_sign_last() {
        for (n, signed) in [(0u8, 0), (1, -1), (2, 1), (3, -2)] {
            assert_eq!(all(&[n << 1 | 1], Cursor::signed), Ok(signed));
        }
        assert_eq!(all(&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Cursor::signed), Ok(i64::MIN));
    }

    #[test]
    fn counts_are_compared_with_what_is_left() {
        let e = all(&[0x07, 0x01, 0x01], |c| c.list(Cursor::number)).unwrap_err();
        assert_eq!((e.at, e.message.as_str()), (0, "3 items do not fit into 2 bytes"));
        assert_eq!(all(&[0x05, 0x01, 0x03], |c| c.list(Cursor::number)), Ok(vec![0, 1]));
    }

    #[test]
    fn padding_is_checked() {
        assert!(all(&[0x01, 0xcb, 0xcb, 0xcb], |c| c.byte().and_then(|_| c.align(4))).is_ok());
        assert!(all(&[0x01, 0xcb, 0x00, 0xcb], |c| c.byte().and_then(|_| c.align(4))).is_err());
        assert!(all(&[], |c| c.align(3)).is_err());
        assert!(all(&[], |c| c.align(0)).is_err());
    }
}
