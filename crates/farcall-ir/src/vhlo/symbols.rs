//! Names of functions, which calls may use before the functions are read.

use std::collections::{HashMap, HashSet};

use crate::attributes;
use crate::diag::{Diagnostic, Diagnostics};
use crate::module::{FuncId, Module};

/// The functions that the artifact has named so far. These ids differ from the functions' ids in the module.
#[derive(Default)]
pub(super) struct Symbols {
    by_name: HashMap<String, FuncId>,
    /// Uses of functions, each with its byte position in the artifact.
    uses: Vec<(FuncId, usize)>,
}

impl attributes::FunctionIds for Symbols {
    fn func(&mut self, name: &str) -> FuncId {
        let next = FuncId::new(self.by_name.len());
        match self.by_name.get(name) {
            Some(id) => *id,
            None => *self.by_name.entry(name.to_owned()).or_insert(next),
        }
    }
}

impl Symbols {
    /// Records uses of functions at byte `at` of the artifact.
    pub(super) fn note_uses(&mut self, ids: &[FuncId], at: usize) {
        self.uses.extend(ids.iter().map(|id| (*id, at)));
    }

    /// Checks that every function that is used exists exactly once, and replaces the callees by the
    /// functions' ids in the module.
    pub(super) fn resolve(self, module: &mut Module, diagnostics: &mut Diagnostics) {
        let mut defined = HashSet::new();
        let mut numbers: HashMap<FuncId, FuncId> = HashMap::new();
        for (id, func) in module.func_ids().zip(module.funcs()) {
            if !defined.insert(func.name.as_str()) {
                let message = format!("function @{} is already defined", func.name);
                diagnostics.push(Diagnostic::global("redefinition", message));
            }
            if let Some(used) = self.by_name.get(&func.name) {
                numbers.entry(*used).or_insert(id);
            }
        }
        let mut unknown = self.uses.iter().filter(|(id, _)| !numbers.contains_key(id)).peekable();
        if unknown.peek().is_none() {
            module.renumber_callees(&|id| numbers.get(&id).copied().unwrap_or(id));
            return;
        }
        let names: HashMap<FuncId, &str> =
            self.by_name.iter().map(|(name, id)| (*id, name.as_str())).collect();
        for (id, at) in unknown {
            if diagnostics.is_full() {
                diagnostics.count();
                continue;
            }
            let message = format!("at byte {at}: there is no function @{}", names[id]);
            diagnostics.push(Diagnostic::global("unknown-function", message));
        }
    }
}
