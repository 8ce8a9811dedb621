//! Modules, functions, regions, instructions and values.
//!
//! ```text
//! Module ──FuncId──▶ Func ──┬─ RegionId ─▶ arguments, first and last instruction
//!                           ├─ InstId ───▶ operation, operands, results, regions; its neighbors
//!                           └─ ValueId ──▶ type, where it is defined
//! ```
//!
//! A function owns flat tables of its values, instructions and regions. References are ids: a callee is a
//! [`FuncId`], an operand a [`ValueId`]. The instructions of a region form a linked list, so a pass inserts
//! and removes in constant time. Read through the views [`Inst`] and [`Region`]; change through the methods
//! of [`Func`] and, if uses must be known, of [`Rewriter`]. A [`Builder`](crate::builder::Builder) creates
//! new instructions with inferred result types.
//!
//! Regions form a tree that is no deeper than the parser's limit, so walking it recursively is safe.
//!
//! Two modules are equal (`==`) if they are the same program. The comparison ignores ids of values and
//! instructions, positions in the source, locations and the module's name.

mod equality;
mod extract;
mod func;
mod loc;
mod mesh;
mod rewrite;
mod side_table;
mod table;
mod view;

use std::ops::Index;
use std::sync::Arc;

use crate::attr::AttrDict;
use crate::diag::Source;

pub use crate::ids::{FuncId, InstId, RegionId, ValueId, ValueIds};
pub use func::{Func, NewInst, ValueDef};
pub use loc::Loc;
pub(crate) use loc::MAX_NAME;
pub use mesh::NamedMesh;
pub(crate) use rewrite::kept;
pub use rewrite::{Rewriter, ValueMap};
pub(crate) use side_table::{InstMap, InstSet};
pub use view::{Inst, Insts, Region};

/// A program: functions that call each other.
#[derive(Clone, Debug)]
pub struct Module {
    /// Name without `@`, if the module has one.
    pub name: Option<String>,
    /// Attributes of the module.
    pub attrs: AttrDict,
    /// Text that the module was read from.
    pub source: Arc<Source>,
    /// Device grids that shardings refer to by name.
    pub meshes: Vec<NamedMesh>,
    funcs: Vec<Func>,
}

impl Module {
    /// Creates an empty module.
    pub fn new(source: Arc<Source>) -> Module {
        Module { name: None, attrs: AttrDict::new(), source, meshes: Vec::new(), funcs: Vec::new() }
    }

    /// Adds a function after the existing ones.
    ///
    /// # Panics
    /// At 2³² functions.
    pub fn add_func(&mut self, func: Func) -> FuncId {
        let id = FuncId::new(self.funcs.len());
        self.funcs.push(func);
        id
    }

    /// Returns the functions, in the order of the source.
    pub fn funcs(&self) -> &[Func] {
        &self.funcs
    }

    /// Returns the ids of the functions, in the order of the source.
    pub fn func_ids(&self) -> impl ExactSizeIterator<Item = FuncId> + use<> {
        (0..self.funcs.len()).map(FuncId::new)
    }

    /// Returns a function, or `None` if it is not in this module.
    pub fn get(&self, id: FuncId) -> Option<&Func> {
        self.funcs.get(id.index())
    }

    /// Returns a function mutably.
    ///
    /// # Panics
    /// If the function is not in this module.
    pub fn func_mut(&mut self, id: FuncId) -> &mut Func {
        &mut self.funcs[id.index()]
    }

    /// Returns the first function with this name.
    pub fn func(&self, name: &str) -> Option<&Func> {
        self.funcs.iter().find(|f| f.name == name)
    }

    /// Returns the id of the first function with this name.
    pub fn func_id(&self, name: &str) -> Option<FuncId> {
        self.funcs.iter().position(|f| f.name == name).map(FuncId::new)
    }

    /// Returns the function that a run starts with: `main`, else the only public function, else the only
    /// function.
    pub fn entry(&self) -> Option<&Func> {
        fn only<'a>(mut it: impl Iterator<Item = &'a Func>) -> Option<&'a Func> {
            it.next().filter(|_| it.next().is_none())
        }
        self.func("main")
            .or_else(|| only(self.funcs.iter().filter(|f| f.public)))
            .or_else(|| only(self.funcs.iter()))
    }

    /// Moves the functions out of the module.
    pub(crate) fn take_funcs(&mut self) -> Vec<Func> {
        std::mem::take(&mut self.funcs)
    }

    /// Replaces every function id in an operation according to `number`.
    pub(crate) fn renumber_callees(&mut self, number: &dyn Fn(FuncId) -> FuncId) {
        for func in &mut self.funcs {
            func.ops_mut().flat_map(|op| op.callees_mut()).for_each(|id| *id = number(*id));
        }
    }

    /// Makes a function the entry: the only public one. Functions that are unreachable from the entry are
    /// dropped, and another function called `main` is renamed.
    ///
    /// # Panics
    /// If the function is not in this module.
    pub fn set_entry(&mut self, entry: FuncId) {
        for (i, func) in self.funcs.iter_mut().enumerate() {
            func.public = i == entry.index();
            if !func.public && func.name == "main" {
                func.name = "main.1".to_owned();
            }
        }
        self.keep_reachable(entry);
    }

    /// Drops the functions that are unreachable from the first one.
    pub(crate) fn drop_unreachable(&mut self) {
        if !self.funcs.is_empty() {
            self.keep_reachable(FuncId::new(0));
        }
    }

    /// Keeps a function and its direct and indirect callees.
    fn keep_reachable(&mut self, root: FuncId) {
        let mut reached = vec![false; self.funcs.len()];
        let mut open: Vec<usize> = vec![root.index()];
        while let Some(i) = open.pop() {
            if !std::mem::replace(&mut reached[i], true) {
                self.funcs[i].walk(&mut |inst| open.extend(inst.op().callees().iter().map(|id| id.index())));
            }
        }
        let mut kept = 0;
        let numbers: Vec<FuncId> = reached
            .iter()
            .map(|r| {
                kept += usize::from(*r);
                FuncId::new(kept.saturating_sub(1))
            })
            .collect();
        let mut keep = reached.into_iter();
        self.funcs.retain(|_| keep.next().unwrap_or(false));
        self.renumber_callees(&|id| numbers[id.index()]);
    }
}

impl Index<FuncId> for Module {
    type Output = Func;

    fn index(&self, id: FuncId) -> &Func {
        &self.funcs[id.index()]
    }
}

impl PartialEq for Module {
    fn eq(&self, other: &Module) -> bool {
        self.attrs == other.attrs && self.meshes == other.meshes && self.funcs == other.funcs
    }
}
