//! Lowers the structure of a text to a module.
//!
//! Tuples are flattened: a tuple becomes the values of its parts, so loops, calls and results have one value
//! for each part. A computation becomes a function if it is called, and a region if an instruction applies it
//! (a reducer, the body of a loop, a branch). A computation that several instructions apply is copied into
//! each region if it is short and applies no computation itself. Otherwise only the first region contains the
//! computation, and the other regions call it, so the size of the module stays proportional to the text.

use std::cell::Cell;
use std::sync::Arc;

use super::attribute_fields::AttrReader;
use super::header;
use super::lowering::{Lowered, Lowering, Stop, wrong};
use super::result_types;
use super::shape::Shape;
use super::stack;
use super::syntax::{Computation, Instruction, Operand, Text, declared};
use super::table::{self, Form, Row};
use super::value::{At, Scope, Shaped, Val, build, element, known, tensors};
use crate::attr::{AttrDict, Attribute};
use crate::diag::{Diagnostic, Diagnostics, Source, Span};
use crate::literal::Literal;
use crate::module::{Func, Loc, Module, NewInst, RegionId, ValueId};
use crate::op::Op;
use crate::text::MAX_NESTING;

/// Maximum length in bytes of a computation that is copied to each instruction that applies it.
const MAX_COPIED_BYTES: usize = 2048;

/// Lowers a text to a module.
pub(super) fn module(
    source: &Arc<Source>,
    text: &Text<'_>,
    constants: &[Literal],
    diagnostics: &mut Diagnostics,
) -> Module {
    let mut module = Module::new(Arc::clone(source));
    module.name = Some(text.name.to_owned());
    let max_parts = (1 << 20) + 16 * source.text().len();
    let mut lowering = Lowering::new(text, constants, diagnostics, header::participants(text), max_parts);
    let entries: Vec<usize> =
        (0..text.computations.len()).filter(|i| text.computations[*i].is_entry).collect();
    let entry = match (entries.as_slice(), text.computations.len()) {
        ([entry, rest @ ..], _) => {
            for other in rest {
                let span = text.computations[*other].span;
                let message = "there is another ENTRY computation";
                lowering.diagnostics.push(Diagnostic::new("redefinition", span, message));
            }
            *entry
        }
        ([], 0) => {
            lowering.diagnostics.push(Diagnostic::global("empty", "the program has no computations"));
            return module;
        }
        // Without `ENTRY`, XLA takes the last computation.
        ([], n) => n - 1,
    };
    let before = lowering.diagnostics.len();
    lowering.imply_results();
    if lowering.diagnostics.len() > before {
        return module;
    }
    lowering.callee(entry);
    let mut next = 0;
    while let Some(computation) = lowering.order.get(next).copied() {
        let func = lowering.function(computation);
        module.add_func(func);
        next += 1;
    }
    let root = lowering.result_shape(entry, text.computations[entry].span).ok();
    header::apply(&mut module, text, entry, root.as_deref(), lowering.diagnostics);
    name_entry(&mut module);
    module
}

/// Names the entry `main`, as in programs that JAX lowers.
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

impl<'s> Lowering<'_, 's> {
    // --- functions and regions

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

    /// Infers the result shapes of computations whose text omits them, in the order of the text. Such a
    /// computation is lowered into a temporary function, which is dropped.
    fn imply_results(&mut self) {
        let text = self.text;
        for (i, computation) in text.computations.iter().enumerate() {
            let is_open = computation.insts.get(computation.root).is_some_and(|root| root.shape.is_none());
            if !is_open || computation.is_broken {
                continue;
            }
            let (functions, uses) = (self.order.len(), self.first_uses.len());
            self.func = Func::new(computation.name, computation.span);
            self.active = vec![i];
            let args = self.region_args(i, Func::BODY, computation.span);
            match args {
                Ok(args) => self.results[i] = self.body(i, &args, Func::BODY).map(|root| root.shape),
                Err(stop) => self.report(stop),
            }
            self.active.clear();
            self.order.truncate(functions);
            self.funcs.retain(|_, id| id.index() < functions);
            for used in self.first_uses.drain(uses..) {
                self.used[used] = false;
            }
        }
    }

    /// Appends the return of a region.
    fn finish(&mut self, root: Val, computation: &Computation<'s>, region: RegionId) {
        let span = computation.insts.get(computation.root).map_or(computation.span, |i| i.span);
        let mut returned = Vec::new();
        if let Err(stop) = self.leaves(&root, region, span, &mut returned) {
            self.report(stop);
        }
        self.func.push(region, NewInst::new(Op::Return, returned).at(span, None), []);
    }

    /// Creates a region for a computation, with an argument for each part of each parameter.
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

    /// Creates a region without arguments for a branch: the computation is applied to the values `args`.
    pub(super) fn branch(&mut self, i: usize, args: &[Val], at: Span) -> Lowered<RegionId> {
        let region = self.func.new_region();
        let root = self.inlined(i, args, region, at)?;
        self.finish(root, &self.text.computations[i], region);
        Ok(region)
    }

    /// Appends the instructions of a computation, or a call of it, to a region, and returns the result.
    pub(super) fn inlined(&mut self, i: usize, args: &[Val], region: RegionId, at: Span) -> Lowered<Val> {
        if !self.is_copied(i) {
            return self.call(i, args, region, at);
        }
        self.enter(i, at)?;
        let root = self.body(i, args, region);
        self.leave();
        root.map(|root| root.val).ok_or(Stop::Known)
    }

    /// True if a computation is inlined here rather than called. Marks the computation as used.
    fn is_copied(&mut self, i: usize) -> bool {
        let computation = &self.text.computations[i];
        let first = !std::mem::replace(&mut self.used[i], true);
        if first {
            self.first_uses.push(i);
        }
        let applies = |inst: &Instruction<'_>| {
            let opcode = inst.opcode.strip_suffix("-start").unwrap_or(inst.opcode);
            matches!(opcode, "while" | "conditional" | "fusion" | "async" | "scan")
                || table::of_opcode(opcode).is_some_and(|row| !row.regions.is_empty())
        };
        // The length is tested first, so that only few instructions are searched.
        first || (computation.len <= MAX_COPIED_BYTES && !computation.insts.iter().any(applies))
    }

    /// Begins to lower a computation, possibly within others. Reports recursion, and nesting that is too
    /// deep.
    fn enter(&mut self, i: usize, at: Span) -> Lowered<()> {
        if self.active.contains(&i) {
            let message = format!("computation {} applies itself", self.text.computations[i].name);
            return wrong("recursion", at, message);
        }
        // A region counts as two levels, as in StableHLO text.
        if self.active.len() >= MAX_NESTING as usize / 2 {
            return wrong("nesting", at, format!("computations nest at most {} deep", MAX_NESTING / 2));
        }
        self.active.push(i);
        Ok(())
    }

    fn leave(&mut self) {
        self.active.pop();
    }

    /// Adds arguments to a region for the parameters of a computation.
    fn region_args(&mut self, i: usize, region: RegionId, at: Span) -> Lowered<Vec<Val>> {
        let mut args = Vec::new();
        for param in self.params(i)?.iter() {
            let shape = declared(param)?;
            let types = shape.leaves();
            self.spend(types.len(), at)?;
            let values: Vec<ValueId> = types.into_iter().map(|ty| self.func.add_arg(region, ty)).collect();
            args.push(build(shape, &mut values.into_iter()));
        }
        Ok(args)
    }

    /// Appends the instructions of a computation to a region, applied to new arguments of the region.
    fn applied(&mut self, i: usize, region: RegionId) -> Option<Val> {
        let at = self.text.computations[i].span;
        match self.region_args(i, region, at) {
            Ok(args) => self.body(i, &args, region).map(|root| root.val),
            Err(stop) => {
                self.report(stop);
                None
            }
        }
    }

    /// Appends the instructions of a computation to a region; returns its result, if known.
    fn body(&mut self, i: usize, args: &[Val], region: RegionId) -> Option<Shaped> {
        let text = self.text;
        let computation = &text.computations[i];
        let mut scope = Scope::default();
        for (number, inst) in computation.insts.iter().enumerate() {
            let value = match self.instruction(inst, args, region, &scope) {
                Ok(value) => value,
                Err(stop) => {
                    self.report(stop);
                    let shape = inst.shape.clone().unwrap_or_else(|| Arc::new(Shape::Tuple(Arc::new([]))));
                    Shaped { val: Val::Unknown, shape }
                }
            };
            scope.values.push(value);
            if !inst.name.is_empty() && scope.names.insert(inst.name, number).is_some() {
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
        scope.values.into_iter().nth(computation.root)
    }

    /// Appends a call of a computation.
    pub(super) fn call(&mut self, i: usize, args: &[Val], region: RegionId, at: Span) -> Lowered<Val> {
        let shape = self.result_shape(i, at)?;
        let callee = self.callee(i);
        let mut operands = Vec::new();
        for arg in args {
            self.leaves(arg, region, at, &mut operands)?;
        }
        self.push(NewInst::new(Op::Call { callee }, operands).at(at, None), &shape, region)
    }

    /// The values of an instruction's operands.
    fn operands(&self, inst: &Instruction<'s>, scope: &Scope<'s>) -> Lowered<Vec<Shaped>> {
        inst.operands.iter().map(|operand| self.operand(operand, scope)).collect()
    }

    fn operand(&self, operand: &Operand<'s>, scope: &Scope<'s>) -> Lowered<Shaped> {
        let (name, span, path) = match operand {
            Operand::Nested(number) => return known(scope.values.get(*number)),
            Operand::Named { name, span, path } => (*name, *span, path),
        };
        let Some(number) = scope.names.get(name) else {
            let message = format!("{name} is not defined before this");
            let d = Diagnostic::new("undefined-value", span, message);
            let near = self.near(name, scope.names.keys().copied());
            return Err(Stop::Wrong(if near.is_empty() {
                d
            } else {
                d.note(format!("did you mean {near}?"))
            }));
        };
        let mut found = known(scope.values.get(*number))?;
        for index in path {
            found = element(&found, *index, span)?;
        }
        Ok(found)
    }

    // --- instructions

    fn instruction(
        &mut self,
        inst: &Instruction<'s>,
        args: &[Val],
        region: RegionId,
        scope: &Scope<'s>,
    ) -> Lowered<Shaped> {
        let operands = self.operands(inst, scope)?;
        let devices = Cell::new(self.devices.get());
        let types = tensors(&self.func, &operands);
        let mut g = AttrReader {
            attrs: inst.attrs.clone(),
            opcode: inst.opcode,
            span: inst.op_span,
            operands: &types,
            shape: inst.shape.as_deref(),
            devices: &devices,
            participants: self.participants,
        };
        let (attrs, loc) = self.extras(&mut g)?;
        let at = At { inst, region, attrs, loc, operands: &operands };
        let value = self.value(inst.shape.clone(), &mut g, args, at);
        self.devices.set(devices.get());
        let surplus = g.attrs.iter().find(|a| !IGNORED.contains(&a.key));
        let value = match (value, surplus) {
            // If a required attribute is missing, the unread attribute may be a misspelling of it. After any
            // other error, the attribute may be unread only because reading stopped early. It is then not
            // reported.
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

    /// Lowers an instruction whose result has this shape, or the shape that follows from its operands.
    pub(super) fn value(
        &mut self,
        shape: Option<Arc<Shape>>,
        g: &mut AttrReader<'_, 's>,
        args: &[Val],
        mut at: At<'_, 's>,
    ) -> Lowered<Shaped> {
        let shape = match shape {
            Some(shape) => Some(shape),
            None => self.implied(g, &at)?,
        };
        if let Some(shape) = &shape
            && let Some(val) = self.special(shape, g, args, &mut at)
        {
            return Ok(Shaped { val: val?, shape: Arc::clone(shape) });
        }
        match table::of_opcode(at.inst.opcode) {
            Some(row) => self.operation(row, shape, g, at),
            None => Err(self.unknown(at.inst)),
        }
    }

    pub(super) fn unknown(&self, inst: &Instruction<'s>) -> Stop {
        if table::UNSUPPORTED.contains(&inst.opcode) {
            let message = format!("{} is not supported: it has no equivalent in StableHLO", inst.opcode);
            return Stop::Wrong(Diagnostic::new("unsupported", inst.op_span, message));
        }
        let message = format!("unknown opcode {}", inst.opcode);
        let d = Diagnostic::new("unknown-op", inst.op_span, message);
        let near = self.near(inst.opcode, table::opcodes());
        Stop::Wrong(if near.is_empty() { d } else { d.note(format!("did you mean {near}?")) })
    }

    /// Lowers an instruction that is a single operation.
    pub(super) fn operation(
        &mut self,
        row: &Row,
        shape: Option<Arc<Shape>>,
        g: &mut AttrReader<'_, 's>,
        at: At<'_, 's>,
    ) -> Lowered<Shaped> {
        let op = match &row.form {
            Form::Attrs(syntax) => g.op(row.op, syntax)?,
            Form::Hook(hook) => (hook.read)(g)?,
        };
        let mut regions = Vec::new();
        for key in row.regions {
            let computation = self.named(g, key)?;
            regions.push(self.region(computation, at.inst.op_span)?);
        }
        let mut values = self.flat_operands(&at)?;
        let element = result_types::element_type(&op, g.operands);
        self.promote(&op, &mut values, shape.as_deref(), element, &at);
        let new = at.op(op, values).with_regions(regions);
        match shape {
            Some(shape) => Ok(Shaped { val: self.push(new, &shape, at.region)?, shape }),
            None => self.inferred(new, element, &at),
        }
    }

    /// The tensors and tokens of all operands, flattened.
    pub(super) fn flat_operands(&mut self, at: &At<'_, 's>) -> Lowered<Vec<ValueId>> {
        let mut values = Vec::new();
        for operand in at.operands {
            self.leaves(&operand.val, at.region, at.inst.op_span, &mut values)?;
        }
        Ok(values)
    }

    /// Reads the attributes that every instruction may have: sharding, frontend attributes, source location.
    fn extras(&self, g: &mut AttrReader<'_, 's>) -> Lowered<(AttrDict, Option<Arc<Loc>>)> {
        let mut attrs = AttrDict::new();
        if let Some(value) = g.take("sharding") {
            attrs.insert(header::SHARDING.to_owned(), Attribute::string(value.rest()));
        }
        if let Some(value) = g.take("frontend_attributes") {
            header::frontend(value, &mut attrs)?;
        }
        let loc = match g.take("metadata") {
            Some(value) => stack::metadata(value, &self.text.frames)?,
            None => None,
        };
        Ok((attrs, loc))
    }
}

/// True if the message is about an attribute whose name is similar to `key`.
fn is_mistyped(message: &str, key: &str) -> bool {
    message.split('`').nth(1).is_some_and(|missing| !farcall_sig::nearest::nearest(key, [missing]).is_empty())
}

/// Attributes that are hints for XLA, or that follow from others.
static IGNORED: &[&str] = &[
    "backend_config",
    "channel_id",
    "constrain_layout",
    "control-predecessors",
    "cross_program_prefetch_index",
    "custom_call_schedule",
    "convolution_kind",
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
