//! Names of functions. A function gets a number when its name is first read, in its definition or in a call. Once the
//! text has been read, these numbers are mapped to those of the module.

use std::collections::HashMap;

use crate::attributes;
use crate::diag::Span;
use crate::module::FuncId;

/// The functions that a text has named so far.
#[derive(Default)]
pub(super) struct Symbols {
    by_name: HashMap<String, FuncId>,
    names: Vec<String>,
    /// Uses of names that must exist, and where they are.
    uses: Vec<(FuncId, Span)>,
    /// Functions that are declared without a body, and where.
    declared: Vec<(FuncId, Span)>,
}

impl attributes::Symbols for Symbols {
    fn func(&mut self, name: &str) -> FuncId {
        self.id(name)
    }
}

impl Symbols {
    /// The number of a name.
    pub(super) fn id(&mut self, name: &str) -> FuncId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = FuncId::new(self.names.len());
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// The name with a number.
    pub(super) fn name(&self, id: FuncId) -> &str {
        &self.names[id.index()]
    }

    /// Notes a declaration without a body.
    pub(super) fn declare(&mut self, name: &str, at: Span) {
        let id = self.id(name);
        self.declared.push((id, at));
    }

    /// The place of a declaration without a body.
    pub(super) fn declared(&self, id: FuncId) -> Option<Span> {
        self.declared.iter().find(|(declared, _)| *declared == id).map(|(_, at)| *at)
    }

    /// The first declaration without a body: its name and place.
    pub(super) fn first_declared(&self) -> Option<(&str, Span)> {
        self.declared.first().map(|(id, at)| (self.name(*id), *at))
    }

    /// Notes that functions are used at a place.
    pub(super) fn note_uses(&mut self, ids: &[FuncId], at: Span) {
        self.uses.extend(ids.iter().map(|id| (*id, at)));
    }

    /// The uses noted so far, in the order of the text; forgets them.
    pub(super) fn take_uses(&mut self) -> Vec<(FuncId, Span)> {
        std::mem::take(&mut self.uses)
    }
}
