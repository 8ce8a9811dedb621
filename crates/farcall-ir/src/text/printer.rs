//! State of the printer, and the functions on which every part of the text is built.

use std::fmt::Write;

use super::names::{Names, number};
use crate::attr::{AttrDict, Dict};
use crate::module::{Func, Module, ValueId};
use crate::types::Type;

/// The text printed so far, and the function that is being printed.
pub(super) struct Printer<'a> {
    pub(super) out: String,
    pub(super) module: &'a Module,
    pub(super) func: &'a Func,
    pub(super) names: Names<'a>,
    pub(super) indent: usize,
    /// True if only the generic form is used.
    pub(super) generic: bool,
}

impl<'a> Printer<'a> {
    /// A printer that appends a function of `module` to `out`.
    pub(super) fn new(out: String, module: &'a Module, func: &'a Func, generic: bool) -> Printer<'a> {
        Printer { out, module, func, names: number(func), indent: 1, generic }
    }

    /// Appends formatted text.
    pub(super) fn put(&mut self, text: std::fmt::Arguments<'_>) {
        put(&mut self.out, text);
    }

    /// Prints a dictionary after a space, unless it is empty.
    pub(super) fn optional_dict(&mut self, d: &AttrDict) {
        if !d.is_empty() {
            self.put(format_args!(" {}", Dict(d)));
        }
    }

    /// Begins an indented line.
    pub(super) fn new_line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    /// Prints the name of a value.
    pub(super) fn value(&mut self, v: ValueId) {
        self.put(format_args!("{}", self.names.of(v)));
    }

    /// Prints `%a, %b`.
    pub(super) fn values(&mut self, values: &[ValueId]) {
        for (i, v) in values.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.value(*v);
        }
    }

    /// Prints `t, t`.
    pub(super) fn type_list<'t>(&mut self, types: impl IntoIterator<Item = &'t Type>) {
        for (i, ty) in types.into_iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            self.put(format_args!("{comma}{ty}"));
        }
    }
}

/// Appends formatted text. Writing to a `String` cannot fail.
pub(super) fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}
