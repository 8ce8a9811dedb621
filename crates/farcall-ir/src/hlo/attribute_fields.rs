//! Reads and writes the attributes of one instruction, one by one, for the functions that convert
//! instructions to operations and back.

use std::cell::Cell;
use std::fmt::{Display, Write};

use farcall_sig::DType;

use super::attr_syntax::AttrSyntax;
use super::cursor::{Cursor, Expected, Read};
use super::shape::{self, Shape};
use super::syntax::KeyValue;
use crate::attr::{AttrDict, Attribute};
use crate::attributes::{self, Fields, FunctionIds};
use crate::diag::Span;
use crate::module::{FuncId, Module};
use crate::op::Op;
use crate::types::TensorType;

/// Reader and writer of the attributes of operations whose syntax a list of [`AttrSyntax`] cannot express.
pub(super) struct Hook {
    pub(super) read: fn(&mut AttrReader<'_, '_>) -> Read<Op>,
    pub(super) write: fn(&Op, &mut AttrWriter),
}

/// The attributes of an instruction that have not been read yet, with the instruction's context.
pub(super) struct AttrReader<'a, 's> {
    /// Attributes that have not been taken.
    pub(super) attrs: Vec<KeyValue<'s>>,
    /// The opcode, for messages.
    pub(super) opcode: &'s str,
    pub(super) span: Span,
    /// Types of the operands; `None` for operands that are not tensors.
    pub(super) operands: &'a [Option<TensorType>],
    /// The shape of the result, if the text states it.
    pub(super) shape: Option<&'a Shape>,
    /// Number of device numbers that the groups in the rest of the text may still expand to.
    pub(super) devices: &'a Cell<usize>,
    /// Numbers of replicas and partitions.
    pub(super) participants: [usize; 2],
}

impl<'s> AttrReader<'_, 's> {
    /// Removes and returns an attribute.
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

    /// Returns an error about the whole instruction.
    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Read<T> {
        Err(Expected::new(self.span, message))
    }

    /// Takes an attribute and reads its value with `f`, which must consume the whole value.
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

    /// Reads `{1,2}`; empty if absent.
    pub(super) fn usizes(&mut self, key: &str) -> Read<Vec<usize>> {
        Ok(self.read(key, Cursor::usizes)?.unwrap_or_default())
    }

    pub(super) fn usize_or(&mut self, key: &str, default: usize) -> Read<usize> {
        Ok(self.read(key, Cursor::usize)?.unwrap_or(default))
    }

    /// Reads `true`; false if absent.
    pub(super) fn flag(&mut self, key: &str) -> Read<bool> {
        Ok(self.read(key, flag)?.unwrap_or(false))
    }

    /// Reads `"text"`; empty if absent.
    pub(super) fn text(&mut self, key: &str) -> Read<String> {
        let bytes = self.read(key, Cursor::string)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Drops a comparison type that does not fit the operands, as XLA does.
    fn drop_misfit_compare_type(&mut self) {
        let Some(Some(operand)) = self.operands.first() else { return };
        let dtype = operand.dtype;
        let fits = |word: &str| match word {
            "FLOAT" | "TOTALORDER" => dtype.is_float() || dtype.is_complex(),
            "SIGNED" => dtype.is_signed_integer(),
            "UNSIGNED" => dtype.is_unsigned_integer() || dtype == DType::Pred,
            // The reader reports unknown words.
            _ => true,
        };
        self.attrs.retain(|attr| attr.key != "type" || fits(attr.value.rest().trim()));
    }

    /// Reads the operation `name`. `syntax` describes its attributes.
    pub(super) fn op(&mut self, name: &str, syntax: &[AttrSyntax]) -> Read<Op> {
        if self.opcode == "compare" {
            self.drop_misfit_compare_type();
        }
        let mut attrs = AttrDict::new();
        for attr in syntax {
            if let Some((key, attr)) = self.attr(attr)? {
                attrs.insert(key.to_owned(), attr);
            }
        }
        let operand = |i: usize| self.operands.get(i).and_then(Option::as_ref);
        let mut fields =
            Fields { attrs: &mut attrs, operand: &operand, symbols: &mut NoFunctions, parse: &|_| None };
        match attributes::read(name, &mut fields) {
            Some(Ok(op)) => Ok(op),
            Some(Err(message)) => {
                // Use HLO's name of the attribute in the message.
                let theirs = |key: &str| syntax.iter().find(|s| s.attr() == key).map(AttrSyntax::key);
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

    fn attr(&mut self, syntax: &AttrSyntax) -> Read<Option<(&'static str, Attribute)>> {
        let key = syntax.key();
        let attr = match syntax {
            AttrSyntax::Ints(..) => self.read(key, Cursor::ints)?.map(|v| Attribute::i64_array(&v)),
            AttrSyntax::Int(..) => self.read(key, Cursor::int)?.map(Attribute::i64),
            AttrSyntax::Flag(..) => self.read(key, flag)?.map(Attribute::Bool),
            AttrSyntax::One(..) => match self.read(key, |c| Ok((c.span(), c.ints()?)))? {
                None => None,
                Some((_, one)) if one.len() == 1 => Some(Attribute::i64(one[0])),
                Some((span, other)) => {
                    let message = format!("`{key}` must have one number, not {}", other.len());
                    return Err(Expected::new(span, message));
                }
            },
            AttrSyntax::Word(_, _, prefix) => self.read(key, Cursor::word)?.map(|word| {
                let word = word.strip_prefix(prefix).unwrap_or(word);
                Attribute::string(if prefix.is_empty() { word.to_owned() } else { word.to_ascii_uppercase() })
            }),
        };
        Ok(attr.map(|attr| (syntax.attr(), attr)))
    }
}

/// Resolver for operations that refer to no functions.
struct NoFunctions;

impl FunctionIds for NoFunctions {
    fn func(&mut self, _: &str) -> FuncId {
        FuncId::new(0)
    }
}

/// Parses `true`, `false`, `1` or `0`.
pub(super) fn flag(c: &mut Cursor<'_>) -> Read<bool> {
    for (text, value) in [("true", true), ("false", false), ("1", true), ("0", false)] {
        if c.eat_str(text) {
            return Ok(value);
        }
    }
    c.wrong("`true` or `false`")
}

/// Text of the attributes that have been written so far.
#[derive(Default)]
pub(super) struct AttrWriter(pub(super) String);

impl AttrWriter {
    /// Writes `, key=value`.
    pub(super) fn put(&mut self, key: &str, value: impl Display) {
        let done = write!(self.0, ", {key}={value}");
        debug_assert!(done.is_ok(), "a string takes everything");
    }

    /// Writes `, key={1,2}`.
    pub(super) fn list<T: Display>(&mut self, key: &str, items: &[T]) {
        self.put(key, braced(items));
    }

    /// Writes `, key={1,2}` unless the list is empty.
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

    /// Writes the attributes of an operation. `syntax` describes them.
    pub(super) fn attrs(&mut self, op: &Op, syntax: &[AttrSyntax], module: &Module) {
        let attrs = attributes::write(op, module);
        for syntax in syntax {
            let Some(attr) = attrs.get(syntax.attr()) else { continue };
            let key = syntax.key();
            match syntax {
                AttrSyntax::Ints(..) => self.list(key, &attr.as_i64_list().unwrap_or_default()),
                AttrSyntax::One(..) => self.list(key, &[attr.as_i64().unwrap_or(0)]),
                AttrSyntax::Int(..) => self.put(key, attr.as_i64().unwrap_or(0)),
                AttrSyntax::Flag(..) => self.flag(key, attr.as_bool().unwrap_or(false)),
                AttrSyntax::Word(_, _, prefix) => {
                    let Attribute::Dialect(word) = attr else { continue };
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

/// Formats `{1,2}`.
pub(super) fn braced<T: Display>(items: &[T]) -> String {
    let mut out = String::from("{");
    let done = shape::list(&mut out, items, ",");
    debug_assert!(done.is_ok(), "a string takes everything");
    out.push('}');
    out
}
