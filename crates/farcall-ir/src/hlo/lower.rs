//! From the structure of a text to a module.
//!
//! Tuples are taken apart: a value of a tuple is the values of its parts, so that loops, calls and results have one
//! value for each. A computation becomes a function if it is called, and a region if an instruction applies it (a
//! reducer, the body of a loop, a branch). One that several instructions apply is copied if it is short, else the
//! other regions call it: the module stays in proportion to the text.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cursor::{Cursor, Expected, Read};
use super::given::Given;
use super::shape::Shape;
use super::stack;
use super::syntax::{Attribute, Computation, Instruction, Text};
use super::table::{self, Form, Row};
use crate::attr::{Attr, AttrDict};
use crate::diag::{Diagnostic, Diagnostics, Source, Span};
use crate::module::{Func, FuncId, Loc, Module, NewInst, RegionId, ValueId};
use crate::op::Op;
use crate::text::MAX_NESTING;
use crate::types::{TensorType, Type};

/// Bytes of a computation that is copied wherever it is applied.
const SHORT: usize = 2048;

/// Numbers of devices that the groups of a text may be written out as, together.
const MAX_DEVICES: usize = 1 << 22;

/// Suggestions for a mistyped name are looked for among at most so many.
const MAX_CANDIDATES: usize = 2000;

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Val {
    One(ValueId),
    Tuple(Rc<[Val]>),
    /// Something that only the second half of a pair of instructions takes.
    Nothing,
    /// An error has been reported.
    Unknown,
}

/// The names that are visible in a computation: what they stand for, and the shape that the text gives them.
pub(super) type Scope<'s> = FxHashMap<&'s str, (Val, Arc<Shape>)>;

pub(super) struct Lowering<'t, 's> {
    pub(super) text: &'t Text<'s>,
    pub(super) diagnostics: &'t mut Diagnostics,
    /// Computations by name.
    names: FxHashMap<&'s str, usize>,
    /// The functions that computations are.
    funcs: FxHashMap<usize, FuncId>,
    /// Computations that become functions, in the order of their numbers.
    order: Vec<usize>,
    /// The parameters of the computations that have been asked for them.
    params: Vec<OnceCell<Rc<[&'t Instruction<'s>]>>>,
    /// Computations that have become a region.
    used: Vec<bool>,
    /// Computations that are being lowered, one within the other.
    active: Vec<usize>,
    /// The function that is being made.
    pub(super) func: Func,
    pub(super) devices: Cell<usize>,
    /// How many replicas and partitions the header has.
    participants: [usize; 2],
    /// Parts of tuples that may still be taken apart.
    parts: usize,
}

/// What stops one instruction.
pub(super) enum Stop {
    /// Something to report.
    Wrong(Diagnostic),
    /// It has been reported.
    Known,
}

pub(super) type Lowered<T> = Result<T, Stop>;

impl From<Expected> for Stop {
    fn from(e: Expected) -> Stop {
        Stop::Wrong(Diagnostic::new("attribute", e.span, e.message))
    }
}

pub(super) fn wrong<T>(code: &'static str, at: Span, message: impl Into<String>) -> Lowered<T> {
    Err(Stop::Wrong(Diagnostic::new(code, at, message)))
}

/// The module of a text.
pub(super) fn module(source: &Arc<Source>, text: &Text<'_>, diagnostics: &mut Diagnostics) -> Module {
    let mut module = Module::new(Arc::clone(source));
    module.name = Some(text.name.to_owned());
    let mut names = FxHashMap::default();
    for (i, computation) in text.computations.iter().enumerate() {
        if names.insert(computation.name, i).is_some() {
            let message = format!("computation {} is already defined", computation.name);
            diagnostics.push(Diagnostic::new("redefinition", computation.span, message));
        }
    }
    let entries: Vec<usize> =
        (0..text.computations.len()).filter(|i| text.computations[*i].is_entry).collect();
    let entry = match (entries.as_slice(), text.computations.len()) {
        ([entry, rest @ ..], _) => {
            for other in rest {
                let span = text.computations[*other].span;
                diagnostics.push(Diagnostic::new("redefinition", span, "there is another ENTRY computation"));
            }
            *entry
        }
        ([], 0) => {
            diagnostics.push(Diagnostic::global("empty", "the program has no computations"));
            return module;
        }
        // As XLA has it.
        ([], n) => n - 1,
    };
    let mut lowering = Lowering {
        text,
        diagnostics,
        names,
        funcs: FxHashMap::default(),
        order: Vec::new(),
        params: vec![OnceCell::new(); text.computations.len()],
        used: vec![false; text.computations.len()],
        active: Vec::new(),
        func: Func::new("", Span::default()),
        devices: Cell::new(MAX_DEVICES),
        participants: super::header::participants(text),
        parts: (1 << 20) + 16 * source.text().len(),
    };
    lowering.callee(entry);
    let mut next = 0;
    while let Some(computation) = lowering.order.get(next).copied() {
        let func = lowering.function(computation);
        module.add_func(func);
        next += 1;
    }
    super::header::apply(&mut module, text, entry, lowering.diagnostics);
    name_entry(&mut module);
    module
}

/// The entry is called `main`, as in programs that JAX lowers.
fn name_entry(module: &mut Module) {
    let mut names: std::collections::HashSet<String> =
        module.funcs().iter().skip(1).map(|f| f.name.clone()).collect();
    for id in module.func_ids().skip(1) {
        if module[id].name == "main" {
            let free = (0..).map(|n| format!("main.{n}")).find(|name| !names.contains(name));
            let name = free.unwrap_or_default();
            names.insert(name.clone());
            module.func_mut(id).name = name;
        }
    }
    if let Some(entry) = module.func_ids().next() {
        let entry = module.func_mut(entry);
        "main".clone_into(&mut entry.name);
        entry.public = true;
    }
}

impl<'t, 's> Lowering<'t, 's> {
    // --- functions and regions

    /// The number of the function that a computation is.
    pub(super) fn callee(&mut self, computation: usize) -> FuncId {
        let next = FuncId::new(self.order.len());
        let id = *self.funcs.entry(computation).or_insert(next);
        if id == next {
            self.order.push(computation);
        }
        id
    }

    /// A computation by its name.
    pub(super) fn computation(&self, name: &str, at: Span) -> Lowered<usize> {
        if let Some(i) = self.names.get(name) {
            return Ok(*i);
        }
        let mut d = Diagnostic::new("unknown-function", at, format!("there is no computation {name}"));
        let near = self.near(name, self.names.keys().copied());
        if !near.is_empty() {
            d = d.note(format!("did you mean {near}?"));
        }
        Err(Stop::Wrong(d))
    }

    /// The computation that an attribute names.
    pub(super) fn named(&self, g: &mut Given<'_, 's>, key: &str) -> Lowered<usize> {
        let mut value = g.required(key)?;
        let (name, span) = value.name()?;
        value.finish()?;
        self.computation(name, span)
    }

    fn near<'a>(&self, name: &str, candidates: impl Iterator<Item = &'a str>) -> String {
        if self.diagnostics.is_full() {
            return String::new();
        }
        farcall_sig::nearest::nearest(name, candidates.take(MAX_CANDIDATES)).join(" or ")
    }

    fn function(&mut self, i: usize) -> Func {
        let computation = &self.text.computations[i];
        self.func = Func::new(computation.name, computation.span);
        self.func.public = false;
        self.active = vec![i];
        if let Some(root) = self.applied(i, Func::BODY) {
            self.finish(root, computation, Func::BODY);
        }
        self.active.clear();
        let mut func = std::mem::replace(&mut self.func, Func::new("", Span::default()));
        func.infer_result_types();
        func
    }

    /// The return of a region.
    fn finish(&mut self, root: Val, computation: &Computation<'s>, region: RegionId) {
        let span = computation.insts.get(computation.root).map_or(computation.span, |i| i.span);
        let mut returned = Vec::new();
        if let Err(stop) = self.leaves(&root, span, &mut returned) {
            self.report(stop);
        }
        self.func.push(region, NewInst::new(Op::Return, returned).at(span, None), []);
    }

    pub(super) fn report(&mut self, stop: Stop) {
        if let Stop::Wrong(diagnostic) = stop {
            self.diagnostics.push(diagnostic);
        }
    }

    /// A region with an argument for each part of each parameter of a computation.
    pub(super) fn region(&mut self, i: usize, at: Span) -> Lowered<RegionId> {
        let region = self.func.new_region();
        if self.is_copied(i) {
            self.enter(i, at)?;
            let root = self.applied(i, region);
            self.leave();
            match root {
                Some(root) => self.finish(root, &self.text.computations[i], region),
                None => return Err(Stop::Known),
            }
        } else {
            let args = self.region_args(i, region, at)?;
            let result = self.call(i, &args, region, at)?;
            self.finish(result, &self.text.computations[i], region);
        }
        Ok(region)
    }

    /// A region without arguments, for a computation of values that are known: a branch.
    pub(super) fn branch(&mut self, i: usize, args: &[Val], at: Span) -> Lowered<RegionId> {
        let region = self.func.new_region();
        let root = self.inlined(i, args, region, at)?;
        self.finish(root, &self.text.computations[i], region);
        Ok(region)
    }

    /// The instructions of a computation at the end of a region, or a call of it; its result.
    pub(super) fn inlined(&mut self, i: usize, args: &[Val], region: RegionId, at: Span) -> Lowered<Val> {
        if !self.is_copied(i) {
            return self.call(i, args, region, at);
        }
        self.enter(i, at)?;
        let root = self.body(i, args, region);
        self.leave();
        root.ok_or(Stop::Known)
    }

    /// True if a computation becomes a part of the function here; it counts as that.
    fn is_copied(&mut self, i: usize) -> bool {
        let computation = &self.text.computations[i];
        let first = !std::mem::replace(&mut self.used[i], true);
        let applies = |inst: &Instruction<'_>| {
            matches!(inst.opcode, "while" | "conditional" | "fusion" | "async-start")
                || table::of_opcode(inst.opcode).is_some_and(|row| !row.regions.is_empty())
        };
        // Before the instructions, of which there are few then.
        first || (computation.len <= SHORT && !computation.insts.iter().any(applies))
    }

    /// Begins a computation within another.
    fn enter(&mut self, i: usize, at: Span) -> Lowered<()> {
        if self.active.contains(&i) {
            let message = format!("computation {} applies itself", self.text.computations[i].name);
            return wrong("recursion", at, message);
        }
        // A region counts twice, as in StableHLO text.
        if self.active.len() >= MAX_NESTING as usize / 2 {
            return wrong("nesting", at, format!("computations nest at most {} deep", MAX_NESTING / 2));
        }
        self.active.push(i);
        Ok(())
    }

    fn leave(&mut self) {
        self.active.pop();
    }

    /// The parameters of a computation, by number.
    pub(super) fn params(&self, i: usize) -> Lowered<Rc<[&'t Instruction<'s>]>> {
        if let Some(known) = self.params[i].get() {
            return Ok(Rc::clone(known));
        }
        let text = self.text;
        let computation = &text.computations[i];
        let mut found: Vec<Option<&Instruction<'s>>> = Vec::new();
        for inst in computation.insts.iter().filter(|inst| inst.opcode == "parameter") {
            let number = parameter_number(inst)?;
            if number >= computation.insts.len() {
                let message = format!("parameter {number} of a computation with fewer instructions");
                return wrong("parameter", inst.args.span(), message);
            }
            if found.len() <= number {
                found.resize(number + 1, None);
            }
            if found[number].replace(inst).is_some() {
                return wrong("redefinition", inst.span, format!("there is another parameter {number}"));
            }
        }
        if let Some(missing) = found.iter().position(Option::is_none) {
            if computation.is_broken {
                return Err(Stop::Known);
            }
            let message =
                format!("computation {} has no parameter {missing}, but a later one", computation.name);
            return wrong("parameter", computation.span, message);
        }
        let found: Rc<[&Instruction<'s>]> = found.into_iter().flatten().collect();
        Ok(Rc::clone(self.params[i].get_or_init(|| found)))
    }

    /// New arguments of a region for the parameters of a computation.
    fn region_args(&mut self, i: usize, region: RegionId, at: Span) -> Lowered<Vec<Val>> {
        let mut args = Vec::new();
        for param in self.params(i)?.iter() {
            let types = param.shape.leaves();
            self.spend(types.len(), at)?;
            let values: Vec<ValueId> = types.into_iter().map(|ty| self.func.add_arg(region, ty)).collect();
            args.push(build(&param.shape, &mut values.into_iter()));
        }
        Ok(args)
    }

    /// A computation of the arguments of a region.
    fn applied(&mut self, i: usize, region: RegionId) -> Option<Val> {
        let at = self.text.computations[i].span;
        match self.region_args(i, region, at) {
            Ok(args) => self.body(i, &args, region),
            Err(stop) => {
                self.report(stop);
                None
            }
        }
    }

    /// The instructions of a computation, at the end of a region; its result, if that is known.
    fn body(&mut self, i: usize, args: &[Val], region: RegionId) -> Option<Val> {
        let text = self.text;
        let computation = &text.computations[i];
        let mut scope = Scope::default();
        for inst in &computation.insts {
            let value = match self.instruction(inst, args, region, &scope) {
                Ok(value) => value,
                Err(stop) => {
                    self.report(stop);
                    Val::Unknown
                }
            };
            if scope.insert(inst.name, (value, Arc::clone(&inst.shape))).is_some() {
                let message = format!("{} is already defined", inst.name);
                self.diagnostics.push(Diagnostic::new("redefinition", inst.span, message));
            }
            if self.diagnostics.is_full() {
                return None;
            }
        }
        if computation.is_broken {
            return None;
        }
        computation.insts.get(computation.root).and_then(|root| Some(scope.get(root.name)?.0.clone()))
    }

    /// A call of a computation.
    pub(super) fn call(&mut self, i: usize, args: &[Val], region: RegionId, at: Span) -> Lowered<Val> {
        let callee = self.callee(i);
        let computation = &self.text.computations[i];
        let Some(root) = computation.insts.get(computation.root) else { return Err(Stop::Known) };
        let mut operands = Vec::new();
        for arg in args {
            self.leaves(arg, at, &mut operands)?;
        }
        self.push(NewInst::new(Op::Call { callee }, operands).at(at, None), &root.shape, region)
    }

    // --- values

    /// Counts parts of tuples.
    fn spend(&mut self, n: usize, at: Span) -> Lowered<()> {
        match self.parts.checked_sub(n) {
            Some(left) => {
                self.parts = left;
                Ok(())
            }
            None => wrong("tuple", at, "the tuples of this text have too many parts together"),
        }
    }

    /// The tensors and tokens of a value, in order.
    pub(super) fn leaves(&mut self, value: &Val, at: Span, out: &mut Vec<ValueId>) -> Lowered<()> {
        match value {
            Val::One(id) => {
                self.spend(1, at)?;
                out.push(*id);
                Ok(())
            }
            Val::Tuple(parts) => {
                self.spend(1, at)?;
                parts.iter().try_for_each(|part| self.leaves(part, at, out))
            }
            Val::Nothing => {
                wrong("unsupported", at, "only the instruction that completes this one can take this value")
            }
            Val::Unknown => Err(Stop::Known),
        }
    }

    /// An instruction with results of this shape; what it gives.
    pub(super) fn push(&mut self, new: NewInst, shape: &Shape, region: RegionId) -> Lowered<Val> {
        let types = shape.leaves();
        self.spend(types.len(), new.span)?;
        let id = self.func.push(region, new, types);
        let results = self.func.inst(id).results().to_vec();
        Ok(build(shape, &mut results.into_iter()))
    }

    /// An operation with one result.
    pub(super) fn one(
        &mut self,
        op: Op,
        operands: impl IntoIterator<Item = ValueId>,
        ty: impl Into<Type>,
        region: RegionId,
        at: Span,
    ) -> ValueId {
        let id = self.func.push(region, NewInst::new(op, operands).at(at, None), [ty.into()]);
        self.func.inst(id).results()[0]
    }

    /// An error if a value is not of a shape.
    pub(super) fn check(&self, value: &Val, shape: &Shape, at: Span) -> Lowered<()> {
        match (value, shape) {
            (Val::Unknown, _) => Err(Stop::Known),
            (Val::Nothing, _) => Ok(()),
            (Val::Tuple(parts), Shape::Tuple(shapes)) if parts.len() == shapes.len() => {
                parts.iter().zip(shapes.iter()).try_for_each(|(v, s)| self.check(v, s, at))
            }
            (Val::One(id), Shape::Tensor(..) | Shape::Token) if *self.func.ty(*id) == shape.ty() => Ok(()),
            (Val::One(id), shape) => {
                let found =
                    super::shape::of(self.func.ty(*id), None).map_or(String::new(), |s| s.to_string());
                wrong("type-mismatch", at, format!("the shape is {shape}, but the value is {found}"))
            }
            (Val::Tuple(parts), shape) => {
                let message = format!("the shape is {shape}, but the value is a tuple of {}", parts.len());
                wrong("type-mismatch", at, message)
            }
        }
    }

    /// The values of an instruction's operands.
    pub(super) fn operands(&self, inst: &Instruction<'s>, scope: &Scope<'s>) -> Lowered<Vec<Val>> {
        let one = |(name, span): &(&'s str, Span)| match scope.get(name) {
            Some((Val::Unknown, _)) => Err(Stop::Known),
            Some((value, _)) => Ok(value.clone()),
            None => {
                let message = format!("{name} is not defined before this");
                let d = Diagnostic::new("undefined-value", *span, message);
                let near = self.near(name, scope.keys().copied());
                Err(Stop::Wrong(if near.is_empty() { d } else { d.note(format!("did you mean {near}?")) }))
            }
        };
        inst.operands.iter().map(one).collect()
    }

    // --- instructions

    fn instruction(
        &mut self,
        inst: &Instruction<'s>,
        args: &[Val],
        region: RegionId,
        scope: &Scope<'s>,
    ) -> Lowered<Val> {
        let operands = self.operands(inst, scope)?;
        let types: Vec<Option<TensorType>> = operands
            .iter()
            .map(|v| match v {
                Val::One(id) => self.func.tensor(*id).cloned(),
                _ => None,
            })
            .collect();
        let devices = Cell::new(self.devices.get());
        let mut g = Given {
            attrs: inst.attrs.clone(),
            opcode: inst.opcode,
            span: inst.op_span,
            operands: &types,
            shape: &inst.shape,
            devices: &devices,
            participants: self.participants,
        };
        let (attrs, loc) = self.extras(&mut g)?;
        let first = inst.operands.first().and_then(|(name, _)| scope.get(name));
        let first = first.map(|(_, shape)| Arc::clone(shape));
        let mut at = At { inst, region, attrs, loc, first };
        let value = match table::of_opcode(inst.opcode) {
            Some(row) => self.operation(row, &mut g, &operands, at),
            None => match self.special(&mut g, &operands, args, &mut at) {
                Some(value) => value,
                None => Err(self.unknown(inst)),
            },
        };
        self.devices.set(devices.get());
        let surplus = g.attrs.iter().find(|a| !IGNORED.contains(&a.key));
        let value = match (value, surplus) {
            // The attribute that is missing may be there, mistyped. Others have not been read yet.
            (Err(Stop::Wrong(d)), Some(attr))
                if d.code == "attribute" && is_mistyped(&d.message, attr.key) =>
            {
                let note = format!("{} has no attribute `{}`", inst.opcode, attr.key);
                return Err(Stop::Wrong(d.note(note)));
            }
            (value, _) => value?,
        };
        match surplus {
            None => Ok(value),
            Some(attr) => {
                let message = format!("{} has no attribute `{}`", inst.opcode, attr.key);
                wrong("attribute", attr.span, message)
            }
        }
    }

    fn unknown(&self, inst: &Instruction<'s>) -> Stop {
        if table::UNSUPPORTED.contains(&inst.opcode) {
            let message = format!("{} is not supported: it has no equivalent in StableHLO", inst.opcode);
            return Stop::Wrong(Diagnostic::new("unsupported", inst.op_span, message));
        }
        let message = format!("unknown opcode {}", inst.opcode);
        let d = Diagnostic::new("unknown-op", inst.op_span, message);
        let near = self.near(inst.opcode, table::opcodes());
        Stop::Wrong(if near.is_empty() { d } else { d.note(format!("did you mean {near}?")) })
    }

    /// An instruction that is one operation.
    pub(super) fn operation(
        &mut self,
        row: &Row,
        g: &mut Given<'_, 's>,
        operands: &[Val],
        at: At<'_, 's>,
    ) -> Lowered<Val> {
        let op = match &row.form {
            Form::Parts(parts) => g.op(row.op, parts)?,
            Form::Hook(hook) => (hook.read)(g)?,
        };
        let mut regions = Vec::new();
        for key in row.regions {
            let computation = self.named(g, key)?;
            regions.push(self.region(computation, at.inst.op_span)?);
        }
        let mut values = Vec::new();
        for operand in operands {
            self.leaves(operand, at.inst.op_span, &mut values)?;
        }
        self.push(at.op(op, values).with_regions(regions), &at.inst.shape, at.region)
    }

    /// What every instruction may say: sharding, attributes for the frontend, where it comes from.
    fn extras(&self, g: &mut Given<'_, 's>) -> Lowered<(AttrDict, Option<Arc<Loc>>)> {
        let mut attrs = AttrDict::new();
        if let Some(value) = g.take("sharding") {
            attrs.insert(super::header::SHARDING.to_owned(), Attr::string(value.rest()));
        }
        if let Some(value) = g.take("frontend_attributes") {
            super::header::frontend(value, &mut attrs)?;
        }
        let loc = match g.take("metadata") {
            Some(value) => stack::metadata(value, &self.text.frames)?,
            None => None,
        };
        Ok((attrs, loc))
    }
}

/// True if a message is about an attribute whose name is like this one.
fn is_mistyped(message: &str, key: &str) -> bool {
    message.split('`').nth(1).is_some_and(|missing| !farcall_sig::nearest::nearest(key, [missing]).is_empty())
}

/// Attributes that advise XLA, or say what follows from others.
static IGNORED: &[&str] = &[
    "backend_config",
    "channel_id",
    "constrain_layout",
    "control-predecessors",
    "cross_program_prefetch_index",
    "custom_call_schedule",
    "delta",
    "domain",
    "entry",
    "exit",
    "async_execution_thread",
    "is_cross_program_prefetch",
    "kind",
    "literal",
    "mode",
    "operand_precision",
    "origin",
    "original_value",
    "outer_dimension_partitions",
    "output_to_operand_aliasing",
    "padding_type",
    "parameter_replication",
    "result_accuracy",
    "schedule",
    "statistics",
];

/// An instruction that is being lowered: where it stands, and what it says besides its operation.
pub(super) struct At<'i, 's> {
    pub(super) inst: &'i Instruction<'s>,
    pub(super) region: RegionId,
    pub(super) attrs: AttrDict,
    pub(super) loc: Option<Arc<Loc>>,
    /// The shape of the first operand, with its layout.
    pub(super) first: Option<Arc<Shape>>,
}

impl At<'_, '_> {
    /// The instruction for an operation.
    pub(super) fn op(&self, op: Op, operands: impl IntoIterator<Item = ValueId>) -> NewInst {
        let new = NewInst::new(op, operands).at(self.inst.op_span, self.loc.clone());
        NewInst { attrs: self.attrs.clone(), ..new }
    }
}

/// The number of a parameter.
pub(super) fn parameter_number(inst: &Instruction<'_>) -> Read<usize> {
    let mut c = inst.args;
    let number = c.usize()?;
    c.finish()?;
    Ok(number)
}

/// The value of a shape, of the tensors and tokens in it.
pub(super) fn build(shape: &Shape, leaves: &mut dyn Iterator<Item = ValueId>) -> Val {
    match shape {
        Shape::Tuple(parts) => Val::Tuple(parts.iter().map(|part| build(part, leaves)).collect()),
        Shape::Tensor(..) | Shape::Token => leaves.next().map_or(Val::Unknown, Val::One),
    }
}

/// Attributes of the header by name.
pub(super) fn attribute<'s>(attrs: &[Attribute<'s>], key: &str) -> Option<Cursor<'s>> {
    attrs.iter().find(|a| a.key == key).map(|a| a.value)
}
