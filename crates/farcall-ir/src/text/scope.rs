//! The visible names of values, and the values for which they stand. The names of a region go out of scope at
//! its end.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::diag::Span;
use crate::module::ValueId;

/// The bindings of the visible names.
#[derive(Default)]
pub(super) struct Scope<'s> {
    values: HashMap<&'s str, Binding>,
    /// Bindings of names that are numbers, indexed by the number: most values in generated programs have such
    /// names.
    numbered: Vec<Option<Binding>>,
    /// Names in the order of definition, so that a region's names can be removed.
    order: Vec<&'s str>,
}

/// The values that a name stands for.
pub(super) enum Binding {
    One(ValueId),
    Many(Box<[ValueId]>),
    /// Defined by an operation that was not understood. Uses are not errors.
    Unknown,
}

/// A use of a value.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) id: ValueId,
    /// False if the value's type is unknown because its definition was not understood.
    pub(super) known: bool,
    pub(super) span: Span,
}

/// Uses of values, in order.
pub(super) type Operands = SmallVec<[Operand; 4]>;

/// `%name` or `%name:2` to the left of `=`.
#[derive(Clone, Copy)]
pub(super) struct ResultName<'s> {
    pub(super) name: &'s str,
    pub(super) count: usize,
    pub(super) span: Span,
}

/// Maximum gap between consecutive numeric names that are still stored by number.
const MAX_GAP: usize = 8;

impl<'s> Scope<'s> {
    /// Removes all names, at the beginning of a function.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.numbered.clear();
        self.order.clear();
    }

    /// The values that a name stands for; `None` for an undefined name.
    pub(super) fn get(&self, name: &str) -> Option<&Binding> {
        let numbered = number(name).and_then(|n| self.numbered.get(n)?.as_ref());
        numbered.or_else(|| if self.values.is_empty() { None } else { self.values.get(name) })
    }

    /// The visible names, except numbers.
    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &'s str> {
        self.values.keys().copied()
    }

    /// Binds a name and returns its previous binding.
    pub(super) fn insert(&mut self, name: &'s str, bound: Binding) -> Option<Binding> {
        let old = match number(name) {
            Some(n) if n < self.numbered.len() + MAX_GAP && !self.values.contains_key(name) => {
                if n >= self.numbered.len() {
                    self.numbered.resize_with(n + 1, || None);
                }
                self.numbered[n].replace(bound)
            }
            _ => self.values.insert(name, bound),
        };
        if old.is_none() {
            self.order.push(name);
        }
        old
    }

    /// Opens a scope; returns the mark for [`Scope::close`].
    pub(super) fn open(&self) -> usize {
        self.order.len()
    }

    /// Removes the names defined since [`Scope::open`] returned `mark`.
    pub(super) fn close(&mut self, mark: usize) {
        for name in self.order.drain(mark..) {
            match number(name).and_then(|n| self.numbered.get_mut(n)?.take()) {
                Some(_) => {}
                None => {
                    self.values.remove(name);
                }
            }
        }
    }
}

/// The number of a numeric name such as `%12`; `None` for other names, and for numbers with leading zeros.
fn number(name: &str) -> Option<usize> {
    match name.as_bytes() {
        [b'%', b'0'] => Some(0),
        [b'%', b'1'..=b'9', rest @ ..] if rest.len() < 8 => {
            name[1..].bytes().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + usize::from(b - b'0')))
        }
        _ => None,
    }
}
