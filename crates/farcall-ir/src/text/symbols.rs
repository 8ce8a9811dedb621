//! Names of functions. A function gets an id when its name is first read, in its definition or in a call.
//! After the whole text has been read, these ids are mapped to the module's ids.

use std::collections::HashMap;

use crate::attributes;
use crate::diag::Span;
use crate::module::FuncId;

/// The functions named so far.
#[derive(Default)]
pub(super) struct Symbols {
    by_name: HashMap<String, FuncId>,
    names: Vec<String>,
    /// Uses of functions that must exist, with their positions.
    uses: Vec<(FuncId, Span)>,
    /// Functions that are declared without a body, with their positions.
    declared: Vec<(FuncId, Span)>,
}

impl attributes::FunctionIds for Symbols {
    fn func(&mut self, name: &str) -> FuncId {
        self.id(name)
    }
}

impl Symbols {
    /// The id of the function with this name.
    pub(super) fn id(&mut self, name: &str) -> FuncId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = FuncId::new(self.names.len());
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// The name of the function with this id.
    pub(super) fn name(&self, id: FuncId) -> &str {
        &self.names[id.index()]
    }

    /// Records a declaration without a body.
    pub(super) fn declare(&mut self, name: &str, at: Span) {
        let id = self.id(name);
        self.declared.push((id, at));
    }

    /// Position of a declaration without a body.
    pub(super) fn declared(&self, id: FuncId) -> Option<Span> {
        self.declared.iter().find(|(declared, _)| *declared == id).map(|(_, at)| *at)
    }

    /// Name and position of the first declaration without a body.
    pub(super) fn first_declared(&self) -> Option<(&str, Span)> {
        self.declared.first().map(|(id, at)| (self.name(*id), *at))
    }

    /// Records uses of functions at a position.
    pub(super) fn note_uses(&mut self, ids: &[FuncId], at: Span) {
        self.uses.extend(ids.iter().map(|id| (*id, at)));
    }

    /// Removes and returns the recorded uses, in the order of the text.
    pub(super) fn take_uses(&mut self) -> Vec<(FuncId, Span)> {
        std::mem::take(&mut self.uses)
    }
}
