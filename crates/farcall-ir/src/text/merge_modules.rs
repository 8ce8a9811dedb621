//! Merges the modules of a text into one module.
//!
//! MLIR wraps the modules of a text in one outer module; this reader merges all modules into one. Functions
//! keep their names if they are unique. Other functions get the name of their module as a prefix:
//! `@first.main`, or `@module1.main` if the module has no name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diag::{Diagnostic, Source};
use crate::module::{FuncId, Module};

/// The modules read so far, inner modules first.
pub(super) struct Parts {
    source: Arc<Source>,
    modules: Vec<Module>,
}

impl Parts {
    pub(super) fn new(source: &Arc<Source>) -> Parts {
        Parts { source: Arc::clone(source), modules: Vec::new() }
    }

    pub(super) fn source(&self) -> Arc<Source> {
        Arc::clone(&self.source)
    }

    pub(super) fn push(&mut self, module: Module) {
        self.modules.push(module);
    }

    /// Merges the modules into one with all functions and meshes. The result has the attributes that all
    /// modules with functions share, and the attributes of modules that only contain other modules.
    pub(super) fn join(self) -> Result<Module, Diagnostic> {
        let (mut parts, around): (Vec<Module>, Vec<Module>) =
            self.modules.into_iter().partition(|m| !m.funcs().is_empty());
        let mut out = match parts.len() {
            0 => {
                let mut around = around.into_iter();
                let mut out = around.next().unwrap_or_else(|| Module::new(self.source));
                around.try_for_each(|other| add_surroundings(&mut out, other))?;
                return Ok(out);
            }
            1 => parts.remove(0),
            _ => merged(parts)?,
        };
        around.into_iter().try_for_each(|other| add_surroundings(&mut out, other))?;
        Ok(out)
    }
}

/// Adds the name, attributes and meshes of a module without functions.
fn add_surroundings(out: &mut Module, around: Module) -> Result<(), Diagnostic> {
    if out.name.is_none() {
        out.name = around.name;
    }
    out.attrs.extend_missing(&around.attrs);
    add_meshes(out, around.meshes)
}

fn add_meshes(out: &mut Module, meshes: Vec<crate::module::NamedMesh>) -> Result<(), Diagnostic> {
    for mesh in meshes {
        match out.meshes.iter().find(|known| known.name == mesh.name) {
            None => out.meshes.push(mesh),
            Some(known) if known.mesh == mesh.mesh => {}
            Some(_) => {
                let message = format!("two modules have different meshes of the name @{}", mesh.name);
                return Err(Diagnostic::global("redefinition", message));
            }
        }
    }
    Ok(())
}

fn merged(parts: Vec<Module>) -> Result<Module, Diagnostic> {
    let mut uses: HashMap<String, usize> = HashMap::new();
    for func in parts.iter().flat_map(Module::funcs) {
        *uses.entry(func.name.clone()).or_insert(0) += 1;
    }
    let mut taken: HashSet<String> =
        uses.iter().filter(|(_, n)| **n == 1).map(|(name, _)| name.clone()).collect();
    let mut out = Module::new(Arc::clone(&parts[0].source));
    out.name.clone_from(&parts[0].name);
    out.attrs = parts[0]
        .attrs
        .iter()
        .filter(|(key, value)| parts.iter().all(|part| part.attrs.get(key) == Some(*value)))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for (number, mut part) in parts.into_iter().enumerate() {
        let first = out.funcs().len();
        part.renumber_callees(&|id| FuncId::new(first + id.index()));
        let prefix = part.name.clone().unwrap_or_else(|| format!("module{number}"));
        for mut func in part.take_funcs() {
            if uses.get(&func.name).is_some_and(|n| *n > 1) {
                let mut name = format!("{prefix}.{}", func.name);
                while !taken.insert(name.clone()) {
                    name.push('_');
                }
                func.name = name;
            }
            out.add_func(func);
        }
        add_meshes(&mut out, std::mem::take(&mut part.meshes))?;
    }
    Ok(out)
}
