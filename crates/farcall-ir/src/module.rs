//! Modules, functions, regions, instructions and values.
//!
//! A function owns all values of its body and of the regions nested in it; instructions refer to
//! them by [`ValueId`]. Regions form a tree, no deeper than the parser's limit, so that walking it
//! recursively is safe.
//!
//! Two modules are equal (`==`) if they are the same program: places in the source, locations and
//! the module's name do not count.

use std::collections::HashMap;
use std::ops::Index;
use std::sync::Arc;

use crate::attr::AttrDict;
use crate::diag::{Source, Span};
use crate::op::Op;
use crate::types::{TensorType, Type};

/// A value of a function: a parameter, an argument of a region, or a result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ValueId(u32);

impl ValueId {
    /// Position among the values of its function.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A program: functions that call each other by name.
#[derive(Clone, Debug)]
pub struct Module {
    /// `@name`, if it has one.
    pub name: Option<String>,
    /// Attributes of the module.
    pub attrs: AttrDict,
    /// In the order of the source.
    pub funcs: Vec<Func>,
    /// The text it was read from.
    pub source: Arc<Source>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Func {
    /// Name without `@`.
    pub name: String,
    /// True unless `private`.
    pub public: bool,
    /// One dictionary per parameter.
    pub param_attrs: Vec<AttrDict>,
    /// Types of the results.
    pub results: Vec<Type>,
    /// One dictionary per result.
    pub result_attrs: Vec<AttrDict>,
    /// Attributes of the function.
    pub attrs: AttrDict,
    /// Parameters and instructions. The last instruction is [`Op::Return`].
    pub body: Region,
    /// Where its name stands.
    pub span: Span,
    values: Vec<Value>,
}

#[derive(Clone, PartialEq, Debug)]
struct Value {
    ty: Type,
}

/// A single block: arguments, then instructions, the last of which returns.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Region {
    /// Arguments.
    pub args: Vec<ValueId>,
    /// In order of execution; the last one is [`Op::Return`].
    pub insts: Vec<Inst>,
}

/// An instruction: an operation applied to operands.
#[derive(Clone, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// What it takes.
    pub operands: Vec<ValueId>,
    /// What it gives.
    pub results: Vec<ValueId>,
    /// Nested regions: reducers, loop bodies, branches.
    pub regions: Vec<Region>,
    /// Attributes that are not part of the operation (`mhlo.frontend_attributes` and the like).
    pub attrs: AttrDict,
    /// Where its name stands in the text.
    pub span: Span,
    /// The location that it was given with `loc(…)`.
    pub loc: Option<Arc<Loc>>,
}

/// Where an instruction came from, as the program that wrote the text says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Loc {
    /// `loc(unknown)`
    Unknown,
    /// `loc("file":line:column)`
    File {
        /// Path as written.
        file: String,
        /// From 1.
        line: u32,
        /// From 1.
        column: u32,
    },
    /// `loc("name")` or `loc("name"(child))`
    Name(String, Option<Arc<Loc>>),
    /// `loc(callsite(callee at caller))`
    CallSite(Arc<Loc>, Arc<Loc>),
    /// `loc(fused[…])`
    Fused(Vec<Arc<Loc>>),
}

impl Module {
    /// An empty module.
    pub fn new(source: Arc<Source>) -> Module {
        Module { name: None, attrs: AttrDict::new(), funcs: Vec::new(), source }
    }

    /// The function with this name.
    pub fn func(&self, name: &str) -> Option<&Func> {
        self.funcs.iter().find(|f| f.name == name)
    }

    /// Positions of the functions by name.
    pub fn symbols(&self) -> HashMap<&str, usize> {
        self.funcs.iter().enumerate().map(|(i, f)| (f.name.as_str(), i)).collect()
    }

    /// The function that a run starts with: `main`, else the only public function, else the only
    /// function.
    pub fn entry(&self) -> Option<&Func> {
        fn only<'a>(mut it: impl Iterator<Item = &'a Func>) -> Option<&'a Func> {
            it.next().filter(|_| it.next().is_none())
        }
        self.func("main")
            .or_else(|| only(self.funcs.iter().filter(|f| f.public)))
            .or_else(|| only(self.funcs.iter()))
    }
}

impl PartialEq for Module {
    fn eq(&self, other: &Module) -> bool {
        self.attrs == other.attrs && self.funcs == other.funcs
    }
}

impl Func {
    /// A function without parameters and instructions.
    pub fn new(name: impl Into<String>, span: Span) -> Func {
        Func {
            name: name.into(),
            public: true,
            param_attrs: Vec::new(),
            results: Vec::new(),
            result_attrs: Vec::new(),
            attrs: AttrDict::new(),
            body: Region::default(),
            span,
            values: Vec::new(),
        }
    }

    /// A new value of a type.
    ///
    /// # Panics
    /// If the function has 2³² values.
    pub fn new_value(&mut self, ty: Type) -> ValueId {
        let id = ValueId(u32::try_from(self.values.len()).expect("fewer than 2^32 values in a function"));
        self.values.push(Value { ty });
        id
    }

    /// The parameters.
    pub fn params(&self) -> &[ValueId] {
        &self.body.args
    }

    /// Number of values.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Every value.
    pub fn values(&self) -> impl Iterator<Item = ValueId> + use<> {
        (0..self.values.len() as u32).map(ValueId)
    }

    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> &Type {
        &self[value]
    }

    /// Gives a value another type.
    ///
    /// # Panics
    /// If it is no value of this function.
    pub fn set_ty(&mut self, value: ValueId, ty: Type) {
        self.values[value.index()].ty = ty;
    }

    /// The tensor type of a value, if it is a tensor.
    pub fn tensor(&self, value: ValueId) -> Option<&TensorType> {
        self[value].tensor()
    }

    /// Calls `visit` for every instruction, those of nested regions included, in order of the text.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Inst)) {
        fn region<'a>(r: &'a Region, visit: &mut dyn FnMut(&'a Inst)) {
            for inst in &r.insts {
                visit(inst);
                inst.regions.iter().for_each(|r| region(r, visit));
            }
        }
        region(&self.body, visit);
    }
}

impl Index<ValueId> for Func {
    type Output = Type;

    fn index(&self, value: ValueId) -> &Type {
        &self.values[value.index()].ty
    }
}

impl PartialEq for Func {
    fn eq(&self, other: &Func) -> bool {
        self.name == other.name
            && self.public == other.public
            && self.param_attrs == other.param_attrs
            && self.results == other.results
            && self.result_attrs == other.result_attrs
            && self.attrs == other.attrs
            && self.values == other.values
            && self.body == other.body
    }
}

impl PartialEq for Inst {
    fn eq(&self, other: &Inst) -> bool {
        self.op == other.op
            && self.operands == other.operands
            && self.results == other.results
            && self.regions == other.regions
            && self.attrs == other.attrs
    }
}

impl Region {
    /// The terminator, if there is one.
    pub fn terminator(&self) -> Option<&Inst> {
        self.insts.last().filter(|i| i.op == Op::Return)
    }

    /// What the region returns; nothing if it has no terminator.
    pub fn returned(&self) -> &[ValueId] {
        self.terminator().map_or(&[], |i| &i.operands)
    }
}
