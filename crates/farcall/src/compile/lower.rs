//! From a module to a tree of thunks over values without a place.
//!
//! Calls and composites are inlined; reshapes, barriers, tuples and tokens leave nothing behind.
//! The walk keeps its frames on the heap, so that deep call chains cannot overflow the stack.
//!
//! **Invariants of the result.** A value is written by one thunk, or by several that each fill a
//! part of it before anyone reads it; or it is the copy of an operand that a custom call changes in
//! place; or it is the carried value of a loop (written before the loop
//! and by the last thunks of its body) or a result of a branch (written by the last thunks of every
//! branch).

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use farcall_ir::diag::Diagnostics;
use farcall_ir::eval::Numerics;
use farcall_ir::{Diagnostic, Func, Inst, Literal, Module, Op, Region, Span, TensorType, Type, ValueId};

use super::excess::Arithmetic;
use crate::custom_call::CallSite;
use crate::plan::{ConstantId, ParamId, ReferenceSite, Thunk, ThunkOp};
use crate::registry::Registry;

/// Most thunks that a program may become when its calls are inlined.
const MAX_THUNKS: usize = 4_000_000;

/// Deepest nesting of loops and branches, counted through calls.
const MAX_NESTING: usize = 1_000;

/// Calls that may be active at once; the verifier's limit on the depth of call chains lies below.
const MAX_CALL_DEPTH: usize = 1_100;

/// A value that thunks read and write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct VirtualId(u32);

impl VirtualId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a value lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// In the arena, place to be found.
    Temp,
    Constant(ConstantId),
    Param(ParamId),
}

/// A value as an operand: which, and seen as what type.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Operand {
    pub(super) id: VirtualId,
    pub(super) ty: TensorType,
}

pub(super) type Step = Thunk<Operand>;

/// What lowering makes of a module.
pub(super) struct Lowered {
    /// Home and bytes of every value.
    pub(super) values: Vec<(Home, usize)>,
    pub(super) params: Vec<TensorType>,
    pub(super) constants: Vec<Literal>,
    pub(super) results: Vec<Operand>,
    pub(super) steps: Vec<Step>,
    pub(super) calls: Vec<Arc<CallSite>>,
    pub(super) references: Vec<ReferenceSite>,
}

/// Lowers the function `entry`.
pub(super) fn lower(
    module: &Module,
    entry: &Func,
    registry: &Registry,
    numerics: Numerics,
) -> Result<Lowered, Diagnostics> {
    let mut l = Lowering {
        module,
        registry,
        numerics,
        values: Vec::new(),
        constants: Vec::new(),
        pool: HashMap::new(),
        known_constants: HashMap::new(),
        symbols: module.symbols(),
        calls: Vec::new(),
        references: Vec::new(),
        activations: Vec::new(),
        frames: Vec::new(),
        nesting: 0,
        emitted: 0,
        diagnostics: Diagnostics::default(),
        noted: HashSet::new(),
    };
    let params = match l.bind_params(entry) {
        Ok(params) => params,
        Err(d) => {
            l.diagnostics.push(d);
            return Err(l.diagnostics);
        }
    };
    let returned = match l.drive(entry) {
        Ok(returned) => returned,
        Err(d) => {
            l.diagnostics.push(d);
            return Err(l.diagnostics);
        }
    };
    if !l.diagnostics.is_empty() {
        return Err(l.diagnostics);
    }
    let (steps, values) = returned;
    let mut results = Vec::new();
    values.iter().for_each(|v| v.leaves(&mut results));
    Ok(Lowered {
        values: l.values,
        params,
        constants: l.constants,
        results,
        steps,
        calls: l.calls,
        references: l.references,
    })
}

/// What a value of the program is.
#[derive(Clone, Debug)]
pub(super) enum Lv {
    Tensor(Operand),
    Token,
    Tuple(Vec<Lv>),
}

impl Lv {
    /// Makes one value another.
    pub(super) fn rename(&mut self, from: VirtualId, to: VirtualId) {
        match self {
            Lv::Tensor(o) if o.id == from => o.id = to,
            Lv::Tensor(_) | Lv::Token => {}
            Lv::Tuple(parts) => parts.iter_mut().for_each(|p| p.rename(from, to)),
        }
    }

    /// The tensors in it.
    fn leaves(&self, out: &mut Vec<Operand>) {
        match self {
            Lv::Tensor(o) => out.push(o.clone()),
            Lv::Token => {}
            Lv::Tuple(parts) => parts.iter().for_each(|p| p.leaves(out)),
        }
    }
}

pub(super) struct Lowering<'m> {
    pub(super) module: &'m Module,
    pub(super) registry: &'m Registry,
    pub(super) numerics: Numerics,
    values: Vec<(Home, usize)>,
    constants: Vec<Literal>,
    pool: HashMap<Literal, VirtualId>,
    /// Constants by their instruction, so that one in a function that is inlined often is looked at once.
    known_constants: HashMap<*const Inst, VirtualId>,
    symbols: HashMap<&'m str, usize>,
    pub(super) calls: Vec<Arc<CallSite>>,
    pub(super) references: Vec<ReferenceSite>,
    activations: Vec<Activation<'m>>,
    frames: Vec<Frame<'m>>,
    nesting: usize,
    emitted: usize,
    /// Mistakes that do not stop the walk: missing targets.
    pub(super) diagnostics: Diagnostics,
    /// Where they are, and what kind they are of.
    pub(super) noted: HashSet<(Option<Span>, &'static str)>,
}

/// A function that is being inlined, with what its values are.
struct Activation<'m> {
    func: &'m Func,
    env: Vec<Option<Lv>>,
    /// How often each value is an operand; counted when it is first asked for.
    uses: OnceCell<Vec<u32>>,
}

impl<'m> Activation<'m> {
    fn new(func: &'m Func) -> Activation<'m> {
        Activation { func, env: vec![None; func.value_count()], uses: OnceCell::new() }
    }
}

/// A region that is being walked.
struct Frame<'m> {
    region: &'m Region,
    next: usize,
    steps: Vec<Step>,
    exit: Exit<'m>,
    arithmetic: Arithmetic,
}

/// What happens when a region has been walked.
enum Exit<'m> {
    Entry,
    Call(&'m Inst),
    OnlyBranch(&'m Inst),
    Condition { inst: &'m Inst, carried: Vec<Lv> },
    Body { inst: &'m Inst, carried: Vec<Lv>, condition: Vec<Step>, pred: Operand },
    Branch { inst: &'m Inst, results: Vec<Lv>, done: Vec<Vec<Step>> },
}

type Returned = (Vec<Step>, Vec<Lv>);

impl<'m> Lowering<'m> {
    fn bind_params(&mut self, entry: &'m Func) -> Result<Vec<TensorType>, Diagnostic> {
        let mut params = Vec::new();
        let mut activation = Activation::new(entry);
        for p in entry.params() {
            let value = self.param(entry.ty(*p), entry.span, &mut params)?;
            activation.env[p.index()] = Some(value);
        }
        self.activations.push(activation);
        Ok(params)
    }

    /// Tuples are taken apart, tokens are no inputs.
    fn param(&mut self, ty: &Type, span: Span, params: &mut Vec<TensorType>) -> Result<Lv, Diagnostic> {
        match ty {
            Type::Tensor(t) => {
                let id = self.value(Home::Param(ParamId::new(params.len())), t, span)?;
                params.push(t.clone());
                Ok(Lv::Tensor(Operand { id, ty: t.clone() }))
            }
            Type::Token => Ok(Lv::Token),
            Type::Tuple(parts) | Type::Future(parts) => {
                let parts: Result<Vec<Lv>, Diagnostic> =
                    parts.iter().map(|p| self.param(p, span, params)).collect();
                Ok(Lv::Tuple(parts?))
            }
            other => {
                Err(Diagnostic::new("compile", span, format!("a parameter of type {other} cannot be passed")))
            }
        }
    }

    /// Walks regions until the entry function returns.
    fn drive(&mut self, entry: &'m Func) -> Result<Returned, Diagnostic> {
        self.enter(&entry.body, Vec::new(), Exit::Entry);
        loop {
            let frame = self.frames.last_mut().expect("the entry's frame is left by returning");
            let region = frame.region;
            let inst = region.insts.get(frame.next);
            frame.next += 1;
            match inst {
                Some(inst) if inst.op != Op::Return => self.inst(inst)?,
                end => {
                    let operands = end.map_or(&[][..], |i| &i.operands);
                    let values = self.get_all(operands, end.map_or(Span::default(), |i| i.span))?;
                    if let Some(done) = self.leave(values)? {
                        return Ok(done);
                    }
                }
            }
        }
    }

    fn enter(&mut self, region: &'m Region, steps: Vec<Step>, exit: Exit<'m>) {
        self.frames.push(Frame { region, next: 0, steps, exit, arithmetic: Arithmetic::new() });
    }

    fn inst(&mut self, inst: &'m Inst) -> Result<(), Diagnostic> {
        let operands = self.get_all(&inst.operands, inst.span)?;
        match &inst.op {
            Op::Call { callee } => self.call(inst, callee, operands),
            Op::Composite(c) => self.call(inst, &c.decomposition, operands),
            Op::While => self.enter_while(inst, operands),
            Op::If | Op::Case => self.enter_branches(inst, &operands),
            Op::OptimizationBarrier => self.bind(&inst.results, operands, inst.span),
            Op::CreateToken | Op::AfterAll => self.bind(&inst.results, vec![Lv::Token], inst.span),
            Op::Tuple => self.bind(&inst.results, vec![Lv::Tuple(operands)], inst.span),
            Op::GetTupleElement { index } => match operands.first() {
                Some(Lv::Tuple(parts)) if *index < parts.len() => {
                    self.bind(&inst.results, vec![parts[*index].clone()], inst.span)
                }
                _ => Err(internal(inst.span, "get_tuple_element of something else than such a tuple")),
            },
            Op::AsyncStart => self.async_start(inst, operands),
            Op::AsyncDone => match operands.as_slice() {
                [Lv::Tuple(parts)] => self.bind(&inst.results, parts.clone(), inst.span),
                _ => Err(internal(inst.span, "async_done of something else than a future")),
            },
            Op::Transfer(_) => {
                let message = format!("{}: the engine has no queues to and from the host", inst.op.name());
                Err(Diagnostic::new("unsupported", inst.span, message).note("the evaluator runs it"))
            }
            _ => {
                let results = self.op(inst, &operands)?;
                self.bind(&inst.results, results, inst.span)
            }
        }
    }

    /// The operation in the region, at once: a future is what it will be.
    fn async_start(&mut self, inst: &'m Inst, operands: Vec<Lv>) -> Result<(), Diagnostic> {
        let [body] = inst.regions.as_slice() else {
            return Err(internal(inst.span, "async_start without a region"));
        };
        if !body.args.is_empty() {
            self.bind(&body.args, operands, inst.span)?;
        }
        for inner in body.insts.iter().filter(|i| i.op != Op::Return) {
            self.inst(inner)?;
        }
        let values = self.get_all(body.returned(), inst.span)?;
        self.bind(&inst.results, vec![Lv::Tuple(values)], inst.span)
    }

    fn call(&mut self, inst: &'m Inst, callee: &str, operands: Vec<Lv>) -> Result<(), Diagnostic> {
        let Some(func) = self.symbols.get(callee).map(|i| &self.module.funcs[*i]) else {
            return Err(internal(inst.span, &format!("@{callee} does not exist")));
        };
        if self.activations.len() > MAX_CALL_DEPTH {
            return Err(Diagnostic::new(
                "compile_depth",
                inst.span,
                "calls are nested too deep to be inlined",
            ));
        }
        self.activations.push(Activation::new(func));
        self.bind(func.params(), operands, inst.span)?;
        let steps = std::mem::take(&mut self.frame().steps);
        self.enter(&func.body, steps, Exit::Call(inst));
        Ok(())
    }

    fn enter_while(&mut self, inst: &'m Inst, initial: Vec<Lv>) -> Result<(), Diagnostic> {
        let [condition, body] = inst.regions.as_slice() else {
            return Err(internal(inst.span, "a loop without condition and body"));
        };
        self.nest(inst.span)?;
        let returned = body.returned();
        let mut carried = Vec::new();
        for (i, value) in initial.into_iter().enumerate() {
            // What the body hands through unchanged needs no place of its own.
            let constant = returned.get(i).is_some_and(|r| body.args.get(i) == Some(r));
            carried.push(if constant { value } else { self.copy_of(&value, inst.span)? });
        }
        self.bind(&condition.args, carried.clone(), inst.span)?;
        self.enter(condition, Vec::new(), Exit::Condition { inst, carried });
        Ok(())
    }

    fn enter_branches(&mut self, inst: &'m Inst, operands: &[Lv]) -> Result<(), Diagnostic> {
        if let Some(branch) = self.known_branch(inst, operands) {
            let steps = std::mem::take(&mut self.frame().steps);
            self.enter(branch, steps, Exit::OnlyBranch(inst));
            return Ok(());
        }
        let Some(first) = inst.regions.first() else {
            return Err(internal(inst.span, "a choice without branches"));
        };
        self.nest(inst.span)?;
        let func = self.func();
        let results: Result<Vec<Lv>, Diagnostic> =
            inst.results.iter().map(|r| self.fresh_value(func.ty(*r), inst.span)).collect();
        self.enter(first, Vec::new(), Exit::Branch { inst, results: results?, done: Vec::new() });
        Ok(())
    }

    /// The branch that is taken, if a constant says so. What the others call need not be there: a program
    /// that was exported for several platforms has a branch for each.
    fn known_branch(&self, inst: &'m Inst, operands: &[Lv]) -> Option<&'m Region> {
        let Some(Lv::Tensor(index)) = operands.first() else { return None };
        let Home::Constant(id) = self.values[index.id.index()].0 else { return None };
        let index = self.constants.get(id.index())?.iter().next()?;
        let last = inst.regions.len().checked_sub(1)?;
        let branch = match inst.op {
            Op::If => usize::from(!index.as_bool()),
            _ => usize::try_from(index.as_i64()).map_or(last, |i| i.min(last)),
        };
        inst.regions.get(branch)
    }

    fn nest(&mut self, span: Span) -> Result<(), Diagnostic> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            let message = format!("loops and branches are nested deeper than {MAX_NESTING}");
            return Err(Diagnostic::new("compile_depth", span, message));
        }
        Ok(())
    }

    /// Ends the innermost frame, which returned `values`.
    fn leave(&mut self, values: Vec<Lv>) -> Result<Option<Returned>, Diagnostic> {
        let frame = self.frames.pop().expect("a frame is left while it is walked");
        let mut steps = frame.steps;
        match frame.exit {
            Exit::Entry => return Ok(Some((steps, values))),
            Exit::Call(inst) => {
                self.activations.pop();
                self.frame().steps = steps;
                self.bind(&inst.results, values, inst.span)?;
            }
            Exit::OnlyBranch(inst) => {
                self.frame().steps = steps;
                self.bind(&inst.results, values, inst.span)?;
            }
            Exit::Condition { inst, carried } => {
                let Some(Lv::Tensor(pred)) = values.into_iter().next() else {
                    return Err(internal(inst.span, "a condition that returns no tensor"));
                };
                let body = &inst.regions[1];
                self.bind(&body.args, carried.clone(), inst.span)?;
                self.enter(body, Vec::new(), Exit::Body { inst, carried, condition: steps, pred });
            }
            Exit::Body { inst, carried, condition, pred } => {
                self.nesting -= 1;
                let outputs = self.hand_over(&values, &carried, &mut steps, inst.span)?;
                let thunk = Thunk {
                    op: ThunkOp::While,
                    inputs: vec![pred],
                    outputs,
                    bodies: vec![condition, steps],
                    span: inst.span,
                };
                self.push(thunk)?;
                self.bind(&inst.results, carried, inst.span)?;
            }
            Exit::Branch { inst, results, mut done } => {
                let outputs = self.hand_over(&values, &results, &mut steps, inst.span)?;
                done.push(steps);
                if let Some(next) = inst.regions.get(done.len()) {
                    self.enter(next, Vec::new(), Exit::Branch { inst, results, done });
                    return Ok(None);
                }
                self.nesting -= 1;
                let index = self.get_all(&inst.operands, inst.span)?;
                let Some(Lv::Tensor(index)) = index.into_iter().next() else {
                    return Err(internal(inst.span, "a choice without a tensor that chooses"));
                };
                let thunk =
                    Thunk { op: ThunkOp::Case, inputs: vec![index], outputs, bodies: done, span: inst.span };
                self.push(thunk)?;
                self.bind(&inst.results, results, inst.span)?;
            }
        }
        Ok(None)
    }

    /// Copies what a region returned to where it is expected, all at once: a value that is itself
    /// about to be overwritten is saved first. Gives the tensors that are expected.
    fn hand_over(
        &mut self,
        values: &[Lv],
        places: &[Lv],
        steps: &mut Vec<Step>,
        span: Span,
    ) -> Result<Vec<Operand>, Diagnostic> {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        values.iter().for_each(|v| v.leaves(&mut from));
        places.iter().for_each(|v| v.leaves(&mut to));
        if from.len() != to.len() {
            return Err(internal(span, "a region that returns another number of values than expected"));
        }
        let mut copies = Vec::new();
        let written: HashSet<VirtualId> = to.iter().map(|d| d.id).collect();
        for (src, dst) in from.into_iter().zip(&to) {
            if src.id == dst.id {
                continue;
            }
            let src = if written.contains(&src.id) {
                let saved = self.fresh(&src.ty, span)?;
                steps.push(copy_step(src, saved.clone(), span));
                saved
            } else {
                src
            };
            copies.push(copy_step(src, dst.clone(), span));
        }
        self.emitted += copies.len();
        steps.extend(copies);
        to.retain(|d| self.values[d.id.index()].0 == Home::Temp);
        Ok(to)
    }

    /// A fresh place that holds a copy of the tensors of a value.
    fn copy_of(&mut self, value: &Lv, span: Span) -> Result<Lv, Diagnostic> {
        Ok(match value {
            Lv::Token => Lv::Token,
            Lv::Tensor(o) => {
                let new = self.fresh(&o.ty, span)?;
                self.push(copy_step(o.clone(), new.clone(), span))?;
                Lv::Tensor(new)
            }
            Lv::Tuple(parts) => {
                let parts: Result<Vec<Lv>, Diagnostic> =
                    parts.iter().map(|p| self.copy_of(p, span)).collect();
                Lv::Tuple(parts?)
            }
        })
    }

    fn fresh_value(&mut self, ty: &Type, span: Span) -> Result<Lv, Diagnostic> {
        match ty {
            Type::Tensor(t) => Ok(Lv::Tensor(self.fresh(t, span)?)),
            Type::Token => Ok(Lv::Token),
            Type::Tuple(parts) | Type::Future(parts) => {
                let parts: Result<Vec<Lv>, Diagnostic> =
                    parts.iter().map(|p| self.fresh_value(p, span)).collect();
                Ok(Lv::Tuple(parts?))
            }
            other => Err(internal(span, &format!("a value of type {other}"))),
        }
    }

    /// A place in the arena for a tensor of this type.
    pub(super) fn fresh(&mut self, ty: &TensorType, span: Span) -> Result<Operand, Diagnostic> {
        Ok(Operand { id: self.value(Home::Temp, ty, span)?, ty: ty.clone() })
    }

    /// The constant that an instruction is.
    pub(super) fn constant_of(
        &mut self,
        inst: &'m Inst,
        literal: &Literal,
        ty: &TensorType,
    ) -> Result<Operand, Diagnostic> {
        if let Some(id) = self.known_constants.get(&std::ptr::from_ref(inst)) {
            return Ok(Operand { id: *id, ty: ty.clone() });
        }
        let operand = self.constant(literal, ty)?;
        self.known_constants.insert(inst, operand.id);
        Ok(operand)
    }

    /// A constant; equal ones share a place.
    pub(super) fn constant(&mut self, literal: &Literal, ty: &TensorType) -> Result<Operand, Diagnostic> {
        if let Some(id) = self.pool.get(literal) {
            return Ok(Operand { id: *id, ty: ty.clone() });
        }
        let home = Home::Constant(ConstantId::new(self.constants.len()));
        let id = self.value(home, ty, Span::default())?;
        self.constants.push(literal.clone());
        self.pool.insert(literal.clone(), id);
        Ok(Operand { id, ty: ty.clone() })
    }

    fn value(&mut self, home: Home, ty: &TensorType, span: Span) -> Result<VirtualId, Diagnostic> {
        let bytes = ty.bytes().filter(|b| *b <= isize::MAX as usize / 4).ok_or_else(|| {
            Diagnostic::new("compile_size", span, format!("{ty} has no size that fits into memory"))
        })?;
        let id = u32::try_from(self.values.len())
            .map_err(|_| Diagnostic::new("compile_size", span, "the program has too many values"))?;
        self.values.push((home, bytes));
        Ok(VirtualId(id))
    }

    /// Appends a thunk to the region that is being walked.
    pub(super) fn push(&mut self, step: Step) -> Result<(), Diagnostic> {
        self.emitted += 1;
        if self.emitted > MAX_THUNKS {
            let message = format!("the program has more than {MAX_THUNKS} steps when its calls are inlined");
            return Err(Diagnostic::new("compile_size", step.span, message));
        }
        self.frame().steps.push(step);
        Ok(())
    }

    fn frame(&mut self) -> &mut Frame<'m> {
        self.frames.last_mut().expect("code is emitted while a region is walked")
    }

    /// What is known of the `bf16`s of the region that is being walked.
    pub(super) fn arithmetic(&mut self) -> &mut Arithmetic {
        &mut self.frame().arithmetic
    }

    /// The function that is being inlined.
    pub(super) fn func(&self) -> &'m Func {
        self.activations.last().expect("a function is being inlined").func
    }

    /// How often a value of the current function is an operand.
    pub(super) fn uses(&self, id: ValueId) -> u32 {
        let activation = self.activations.last().expect("a function is being inlined");
        let uses = activation.uses.get_or_init(|| {
            let mut uses = vec![0; activation.func.value_count()];
            activation.func.walk(&mut |inst| inst.operands.iter().for_each(|id| uses[id.index()] += 1));
            uses
        });
        uses[id.index()]
    }

    fn get_all(&self, ids: &[ValueId], span: Span) -> Result<Vec<Lv>, Diagnostic> {
        ids.iter().map(|id| self.get(*id, span)).collect()
    }

    /// What a value of the current function is.
    pub(super) fn get(&self, id: ValueId, span: Span) -> Result<Lv, Diagnostic> {
        let env = &self.activations.last().expect("a function is being inlined").env;
        env.get(id.index())
            .cloned()
            .flatten()
            .ok_or_else(|| internal(span, "a value is used before it is defined"))
    }

    fn bind(&mut self, ids: &[ValueId], values: Vec<Lv>, span: Span) -> Result<(), Diagnostic> {
        if ids.len() != values.len() {
            return Err(internal(span, &format!("{} values for {} names", values.len(), ids.len())));
        }
        let env = &mut self.activations.last_mut().expect("a function is being inlined").env;
        for (id, value) in ids.iter().zip(values) {
            env[id.index()] = Some(value);
        }
        Ok(())
    }
}

/// A thunk that copies bytes.
pub(super) fn copy_step(from: Operand, to: Operand, span: Span) -> Step {
    Thunk { op: ThunkOp::Copy, inputs: vec![from], outputs: vec![to], bodies: Vec::new(), span }
}

/// A program that the verifier should not have let through.
pub(super) fn internal(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new("internal", span, format!("{what}; the verifier should have found this"))
}
