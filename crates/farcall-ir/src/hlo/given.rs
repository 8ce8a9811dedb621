//! What the text says about one instruction, attribute by attribute, for the functions that make operations of it; and
//! what those that write operations put attributes into.

use std::cell::Cell;
use std::fmt::{Display, Write};

use super::cursor::{Cursor, Expected, Read};
use super::shape::{self, Shape};
use super::syntax::Attribute;
use super::table::Part;
use crate::attr::{Attr, AttrDict};
use crate::attributes::{self, Fields, Symbols};
use crate::diag::Span;
use crate::module::{FuncId, Module};
use crate::op::Op;
use crate::types::TensorType;

/// A pair of functions that read and write what a list of [`Part`]s cannot say.
pub(super) struct Hook {
    pub(super) read: fn(&mut Given<'_, '_>) -> Read<Op>,
    pub(super) write: fn(&Op, &mut Out),
}

/// An instruction that is being read.
pub(super) struct Given<'a, 's> {
    /// Attributes that nobody has taken.
    pub(super) attrs: Vec<Attribute<'s>>,
    /// The opcode, for messages.
    pub(super) opcode: &'s str,
    pub(super) span: Span,
    /// Types of the operands, tuples as their parts; `None` for what is no tensor.
    pub(super) operands: &'a [Option<TensorType>],
    /// The shape of the result, if the text has one.
    pub(super) shape: Option<&'a Shape>,
    /// Numbers of devices that groups may still be written out as.
    pub(super) devices: &'a Cell<usize>,
    /// How many replicas and partitions there are.
    pub(super) participants: [usize; 2],
}

impl<'s> Given<'_, 's> {
    /// Takes an attribute out.
    pub(super) fn take(&mut self, key: &str) -> Option<Cursor<'s>> {
        let i = self.attrs.iter().position(|a| a.key == key)?;
        Some(self.attrs.remove(i).value)
    }

    pub(super) fn required(&mut self, key: &str) -> Read<Cursor<'s>> {
        match self.take(key) {
            Some(value) => Ok(value),
            None => self.fail(format!("{} has no attribute `{key}`", self.opcode)),
        }
    }

    /// An error of the instruction as a whole.
    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Read<T> {
        Err(Expected::new(self.span, message))
    }

    /// Takes an attribute that is all `f` reads.
    pub(super) fn read<T>(
        &mut self,
        key: &str,
        f: impl FnOnce(&mut Cursor<'s>) -> Read<T>,
    ) -> Read<Option<T>> {
        let Some(mut value) = self.take(key) else { return Ok(None) };
        let out = f(&mut value)?;
        value.finish()?;
        Ok(Some(out))
    }

    /// `{1,2}`; empty if absent.
    pub(super) fn usizes(&mut self, key: &str) -> Read<Vec<usize>> {
        Ok(self.read(key, Cursor::usizes)?.unwrap_or_default())
    }

    pub(super) fn usize_or(&mut self, key: &str, default: usize) -> Read<usize> {
        Ok(self.read(key, Cursor::usize)?.unwrap_or(default))
    }

    /// `true`; false if absent.
    pub(super) fn flag(&mut self, key: &str) -> Read<bool> {
        Ok(self.read(key, flag)?.unwrap_or(false))
    }

    /// `"text"`; empty if absent.
    pub(super) fn text(&mut self, key: &str) -> Read<String> {
        let bytes = self.read(key, Cursor::string)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The operation of this name, whose attributes are these parts.
    pub(super) fn op(&mut self, name: &str, parts: &[Part]) -> Read<Op> {
        let mut attrs = AttrDict::new();
        for part in parts {
            if let Some((key, attr)) = self.part(part)? {
                attrs.insert(key.to_owned(), attr);
            }
        }
        let operand = |i: usize| self.operands.get(i).and_then(Option::as_ref);
        let mut fields =
            Fields { attrs: &mut attrs, operand: &operand, symbols: &mut NoFunctions, parse: &|_| None };
        match attributes::read(name, &mut fields) {
            Some(Ok(op)) => Ok(op),
            Some(Err(message)) => {
                // In the names of HLO.
                let theirs = |key: &str| parts.iter().find(|p| p.attr() == key).map(Part::key);
                let named = message.split('`').nth(1).and_then(|key| Some((key, theirs(key)?)));
                let message = match named {
                    Some((key, theirs)) => message.replace(&format!("`{key}`"), &format!("`{theirs}`")),
                    None => message,
                };
                self.fail(format!("{}: {message}", self.opcode))
            }
            None => self.fail(format!("there is no operation {name}")),
        }
    }

    fn part(&mut self, part: &Part) -> Read<Option<(&'static str, Attr)>> {
        let key = part.key();
        let attr = match part {
            Part::Ints(..) => self.read(key, Cursor::ints)?.map(|v| Attr::i64_array(&v)),
            Part::Int(..) => self.read(key, Cursor::int)?.map(Attr::i64),
            Part::Flag(..) => self.read(key, flag)?.map(Attr::Bool),
            Part::One(..) => match self.read(key, |c| Ok((c.span(), c.ints()?)))? {
                None => None,
                Some((_, one)) if one.len() == 1 => Some(Attr::i64(one[0])),
                Some((span, other)) => {
                    let message = format!("`{key}` has one number, not {}", other.len());
                    return Err(Expected::new(span, message));
                }
            },
            Part::Word(_, _, prefix) => self.read(key, Cursor::word)?.map(|word| {
                let word = word.strip_prefix(prefix).unwrap_or(word);
                Attr::string(if prefix.is_empty() { word.to_owned() } else { word.to_ascii_uppercase() })
            }),
        };
        Ok(attr.map(|attr| (part.attr(), attr)))
    }
}

/// Operations made of parts name no functions.
struct NoFunctions;

impl Symbols for NoFunctions {
    fn func(&mut self, _: &str) -> FuncId {
        FuncId::new(0)
    }
}

/// `true`, `false`, `1` or `0`
pub(super) fn flag(c: &mut Cursor<'_>) -> Read<bool> {
    for (text, value) in [("true", true), ("false", false), ("1", true), ("0", false)] {
        if c.eat_str(text) {
            return Ok(value);
        }
    }
    c.wrong("`true` or `false`")
}

/// Attributes as they are written.
#[derive(Default)]
pub(super) struct Out(pub(super) String);

impl Out {
    /// `, key=value`
    pub(super) fn put(&mut self, key: &str, value: impl Display) {
        let done = write!(self.0, ", {key}={value}");
        debug_assert!(done.is_ok(), "a string takes everything");
    }

    /// `, key={1,2}`
    pub(super) fn list<T: Display>(&mut self, key: &str, items: &[T]) {
        self.put(key, braced(items));
    }

    /// The same, unless there are none.
    pub(super) fn list_if<T: Display>(&mut self, key: &str, items: &[T]) {
        if !items.is_empty() {
            self.list(key, items);
        }
    }

    pub(super) fn flag(&mut self, key: &str, value: bool) {
        if value {
            self.put(key, true);
        }
    }

    /// The attributes of an operation as its parts.
    pub(super) fn parts(&mut self, op: &Op, parts: &[Part], module: &Module) {
        let attrs = attributes::write(op, module);
        for part in parts {
            let Some(attr) = attrs.get(part.attr()) else { continue };
            let key = part.key();
            match part {
                Part::Ints(..) => self.list(key, &attr.as_i64_list().unwrap_or_default()),
                Part::One(..) => self.list(key, &[attr.as_i64().unwrap_or(0)]),
                Part::Int(..) => self.put(key, attr.as_i64().unwrap_or(0)),
                Part::Flag(..) => self.flag(key, attr.as_bool().unwrap_or(false)),
                Part::Word(_, _, prefix) => {
                    let Attr::Dialect(word) = attr else { continue };
                    if prefix.is_empty() {
                        self.put(key, &word.text);
                    } else {
                        self.put(key, format_args!("{prefix}{}", word.text.to_ascii_lowercase()));
                    }
                }
            }
        }
    }
}

/// `{1,2}`
pub(super) fn braced<T: Display>(items: &[T]) -> String {
    let mut out = String::from("{");
    let done = shape::list(&mut out, items, ",");
    debug_assert!(done.is_ok(), "a string takes everything");
    out.push('}');
    out
}
