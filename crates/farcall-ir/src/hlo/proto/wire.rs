//! Protocol buffers on the wire: messages of numbered fields.

use std::borrow::Cow;

/// An error in a file, and its position.
#[derive(Debug)]
pub(super) struct Error {
    at: usize,
    message: String,
}

pub(super) type Read<T> = Result<T, Error>;

impl Error {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Error {
        Error { at, message: message.into() }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at byte {}: {}", self.at, self.message)
    }
}

/// A message: its fields, in the order of the file.
pub(super) struct Message<'b> {
    fields: Vec<(u32, Value<'b>)>,
    /// Byte of the file at which the message begins.
    pub(super) at: usize,
}

#[derive(Clone, Copy)]
enum Value<'b> {
    /// An integer, a boolean, an enumerator, or the bits of a float.
    Number(u64),
    /// A string, a message, or packed numbers, and the byte of the file at which it begins.
    Bytes(&'b [u8], usize),
}

/// Reads a length prefix; returns the length and the number of bytes of the prefix.
pub(super) fn length(bytes: &[u8]) -> Option<(usize, usize)> {
    let (value, width) = varint(bytes)?;
    Some((usize::try_from(value).ok()?, width))
}

/// Reads a varint: seven bits a byte, lowest bits first. The eighth bit is 0 in the last byte.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((value, i + 1));
        }
    }
    None
}

impl<'b> Message<'b> {
    /// Parses the fields of a message that begins at byte `at` of the file.
    pub(super) fn parse(bytes: &'b [u8], at: usize) -> Read<Message<'b>> {
        let mut fields = Vec::new();
        let mut pos = 0;
        while pos < bytes.len() {
            let start = at + pos;
            let cut = || Error::new(start, "the file is truncated, or not a protocol buffer");
            let (tag, width) = varint(&bytes[pos..]).ok_or_else(cut)?;
            pos += width;
            let field = u32::try_from(tag >> 3).map_err(|_| cut())?;
            let fixed = |n: usize| {
                let raw = bytes.get(pos..pos + n).ok_or_else(cut)?;
                let mut wide = [0; 8];
                wide[..n].copy_from_slice(raw);
                Ok((Value::Number(u64::from_le_bytes(wide)), n))
            };
            let (value, width) = match tag & 7 {
                0 => {
                    let (value, width) = varint(&bytes[pos..]).ok_or_else(cut)?;
                    (Value::Number(value), width)
                }
                1 => fixed(8)?,
                5 => fixed(4)?,
                2 => {
                    let (len, width) = length(&bytes[pos..]).ok_or_else(cut)?;
                    let from = pos + width;
                    let raw = from.checked_add(len).and_then(|end| bytes.get(from..end)).ok_or_else(cut)?;
                    (Value::Bytes(raw, at + from), width + len)
                }
                kind => return Err(Error::new(start, format!("a field of the unknown kind {kind}"))),
            };
            pos += width;
            fields.push((field, value));
        }
        Ok(Message { fields, at })
    }

    fn all(&self, field: u32) -> impl DoubleEndedIterator<Item = Value<'b>> {
        self.fields.iter().filter(move |(n, _)| *n == field).map(|(_, value)| *value)
    }

    /// True if the message has the field.
    pub(super) fn has(&self, field: u32) -> bool {
        self.all(field).next().is_some()
    }

    /// A number; 0 if absent.
    pub(super) fn int(&self, field: u32) -> i64 {
        match self.all(field).next_back() {
            Some(Value::Number(n)) => n.cast_signed(),
            _ => 0,
        }
    }

    pub(super) fn bool(&self, field: u32) -> bool {
        self.int(field) != 0
    }

    /// The bits of a 32-bit number.
    pub(super) fn bits32(&self, field: u32) -> u32 {
        self.int(field) as u32
    }

    /// The bytes of a string; empty if absent.
    pub(super) fn bytes(&self, field: u32) -> &'b [u8] {
        match self.all(field).next_back() {
            Some(Value::Bytes(bytes, _)) => bytes,
            _ => &[],
        }
    }

    /// A string; empty if absent.
    pub(super) fn text(&self, field: u32) -> Cow<'b, str> {
        String::from_utf8_lossy(self.bytes(field))
    }

    /// All strings of a repeated field.
    pub(super) fn texts(&self, field: u32) -> Vec<Cow<'b, str>> {
        let text = |value| match value {
            Value::Bytes(bytes, _) => String::from_utf8_lossy(bytes),
            Value::Number(_) => Cow::Borrowed(""),
        };
        self.all(field).map(text).collect()
    }

    /// All numbers of a repeated field, packed or not.
    pub(super) fn ints(&self, field: u32) -> Read<Vec<i64>> {
        let mut out = Vec::new();
        for value in self.all(field) {
            match value {
                Value::Number(n) => out.push(n.cast_signed()),
                Value::Bytes(mut bytes, at) => {
                    while !bytes.is_empty() {
                        let (n, width) =
                            varint(bytes).ok_or_else(|| Error::new(at, "a list of numbers is truncated"))?;
                        out.push(n.cast_signed());
                        bytes = &bytes[width..];
                    }
                }
            }
        }
        Ok(out)
    }

    /// The bytes of all fixed-width numbers of a repeated field, packed or not.
    pub(super) fn fixed(&self, field: u32, width: usize) -> Cow<'b, [u8]> {
        let mut parts = self.all(field);
        if let (Some(Value::Bytes(bytes, _)), None) = (parts.next(), parts.next()) {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::new();
        for value in self.all(field) {
            match value {
                Value::Number(n) => out.extend_from_slice(&n.to_le_bytes()[..width]),
                Value::Bytes(bytes, _) => out.extend_from_slice(bytes),
            }
        }
        Cow::Owned(out)
    }

    /// A message, if present.
    pub(super) fn message(&self, field: u32) -> Read<Option<Message<'b>>> {
        match self.all(field).next_back() {
            Some(Value::Bytes(bytes, at)) => Message::parse(bytes, at).map(Some),
            _ => Ok(None),
        }
    }

    /// All messages of a repeated field.
    pub(super) fn messages(&self, field: u32) -> Read<Vec<Message<'b>>> {
        let parse = |value| match value {
            Value::Bytes(bytes, at) => Message::parse(bytes, at),
            Value::Number(_) => Err(Error::new(self.at, format!("field {field} is not a message"))),
        };
        self.all(field).map(parse).collect()
    }
}
