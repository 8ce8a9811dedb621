//! From the middle form to a tree of thunks over values without a place.
//!
//! An instruction becomes a thunk, with a few exceptions: a reshape is another view of the same value, the last steps
//! of a body copy its results to where they are expected, and a custom call may need its operands in a different
//! layout. The walk keeps its frames on the heap, so deep nesting cannot overflow the stack.
//!
//! **Invariants of the result.** A value is written by one thunk; or it is the copy of an operand that a
//! custom call changes in place; or it is the carried value of a loop (written before the loop and by the
//! last thunks of its body) or a result of a branch (written by the last thunks of every branch).

use rustc_hash::{FxHashMap, FxHashSet};

use farcall_ir::diag::Diagnostics;
use farcall_ir::{Diagnostic, Func, Inst, Literal, Module, Op, Region, Span, TensorType, ValueId};

use super::Options;
use crate::plan::{CallSpec, ConstantId, ParamId, ReferenceSite, Thunk, ThunkOp};
use crate::registry::Registry;

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

/// What lowering makes of a program.
pub(super) struct Lowered {
    /// Home and bytes of every value.
    pub(super) values: Vec<(Home, usize)>,
    pub(super) params: Vec<TensorType>,
    pub(super) constants: Vec<Literal>,
    pub(super) results: Vec<Operand>,
    pub(super) steps: Vec<Step>,
    pub(super) calls: Vec<CallSpec>,
    pub(super) references: Vec<ReferenceSite>,
}

/// Lowers a program in the middle form.
pub(super) fn lower(
    form: &Module,
    registry: &Registry,
    options: &Options<'_>,
) -> Result<Lowered, Diagnostics> {
    let func = &form.funcs()[0];
    let mut l = Lowering {
        form,
        func,
        registry,
        options,
        values: Vec::new(),
        constants: Vec::new(),
        pool: FxHashMap::default(),
        env: vec![None; func.value_count()],
        calls: Vec::new(),
        references: Vec::new(),
        frames: Vec::new(),
    };
    let done = l.params().and_then(|params| Ok((params, l.drive()?)));
    let (params, (steps, results)) = done.map_err(|d| Diagnostics::from_iter([d]))?;
    let Lowering { values, constants, calls, references, .. } = l;
    Ok(Lowered { values, params, constants, results, steps, calls, references })
}

pub(super) struct Lowering<'m> {
    pub(super) form: &'m Module,
    pub(super) func: &'m Func,
    pub(super) registry: &'m Registry,
    pub(super) options: &'m Options<'m>,
    values: Vec<(Home, usize)>,
    constants: Vec<Literal>,
    pool: FxHashMap<Literal, VirtualId>,
    /// What the values of the program are.
    env: Vec<Option<Operand>>,
    pub(super) calls: Vec<CallSpec>,
    pub(super) references: Vec<ReferenceSite>,
    frames: Vec<Frame<'m>>,
}

/// A region that is being walked.
struct Frame<'m> {
    next: Option<Inst<'m>>,
    steps: Vec<Step>,
    exit: Exit<'m>,
}

/// What happens when a region has been walked.
enum Exit<'m> {
    Entry,
    Condition { inst: Inst<'m>, carried: Vec<Operand> },
    Body { inst: Inst<'m>, carried: Vec<Operand>, condition: Vec<Step>, pred: Operand },
    Branch { inst: Inst<'m>, results: Vec<Operand>, done: Vec<Vec<Step>> },
}

type Returned = (Vec<Step>, Vec<Operand>);

impl<'m> Lowering<'m> {
    fn params(&mut self) -> Result<Vec<TensorType>, Diagnostic> {
        let mut types = Vec::with_capacity(self.func.params().len());
        for (i, param) in self.func.params().iter().enumerate() {
            let ty = self.ty(*param, self.func.span)?.clone();
            let id = self.value(Home::Param(ParamId::new(i)), &ty, self.func.span)?;
            self.env[param.index()] = Some(Operand { id, ty: ty.clone() });
            types.push(ty);
        }
        Ok(types)
    }

    /// Walks regions until the body returns.
    fn drive(&mut self) -> Result<Returned, Diagnostic> {
        self.enter(self.func.body(), Exit::Entry);
        loop {
            let frame = self.frames.last_mut().expect("the body's frame is left by returning");
            let inst = frame.next;
            frame.next = inst.and_then(Inst::next);
            match inst {
                Some(inst) if *inst.op() != Op::Return => self.inst(inst)?,
                end => {
                    let (ids, span) = end.map_or((&[][..], Span::default()), |i| (i.operands(), i.span()));
                    let values = self.get_all(ids, span)?;
                    if let Some(done) = self.leave(values)? {
                        return Ok(done);
                    }
                }
            }
        }
    }

    fn enter(&mut self, region: Region<'m>, exit: Exit<'m>) {
        self.frames.push(Frame { next: region.first(), steps: Vec::new(), exit });
    }

    fn inst(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let operands = self.get_all(inst.own_operands(), inst.span())?;
        match inst.op() {
            Op::While => self.enter_while(inst, operands),
            Op::If | Op::Case => self.enter_branches(inst),
            Op::CustomCall(call) => {
                let results = self.custom_call(inst, call, operands)?;
                self.bind(inst.results(), results, inst.span())
            }
            _ => {
                let results = self.op(inst, operands)?;
                self.bind(inst.results(), results, inst.span())
            }
        }
    }

    fn enter_while(&mut self, inst: Inst<'m>, initial: Vec<Operand>) -> Result<(), Diagnostic> {
        let (Some(condition), Some(body)) = (inst.region(0), inst.region(1)) else {
            return Err(internal(inst.span(), "a loop without condition and body"));
        };
        let returned = body.returned();
        let mut carried = Vec::with_capacity(initial.len());
        for (i, value) in initial.into_iter().enumerate() {
            // What the body hands through unchanged needs no place of its own.
            let constant = returned.get(i).is_some_and(|r| body.own_args().get(i) == Some(r));
            carried.push(if constant { value } else { self.copy_of(&value, inst.span())? });
        }
        self.bind_args(inst, condition, carried.clone())?;
        self.enter(condition, Exit::Condition { inst, carried });
        Ok(())
    }

    fn enter_branches(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let Some(first) = inst.region(0) else {
            return Err(internal(inst.span(), "a choice without branches"));
        };
        let mut results = Vec::with_capacity(inst.results().len());
        for result in inst.results() {
            let ty = self.ty(*result, inst.span())?;
            results.push(self.fresh(ty, inst.span())?);
        }
        self.bind_args(inst, first, Vec::new())?;
        self.enter(first, Exit::Branch { inst, results, done: Vec::new() });
        Ok(())
    }

    /// Gives a region's arguments their values: the operation's, then what its instruction captures.
    fn bind_args(&mut self, inst: Inst<'m>, region: Region<'m>, own: Vec<Operand>) -> Result<(), Diagnostic> {
        self.bind(region.own_args(), own, inst.span())?;
        let captured = self.get_all(inst.captures(), inst.span())?;
        self.bind(region.captured_args(), captured, inst.span())
    }

    /// Ends the innermost frame, which returned `values`.
    fn leave(&mut self, values: Vec<Operand>) -> Result<Option<Returned>, Diagnostic> {
        let Frame { mut steps, exit, .. } = self.frames.pop().expect("a frame is left while it is walked");
        match exit {
            Exit::Entry => return Ok(Some((steps, values))),
            Exit::Condition { inst, carried } => {
                let (Some(pred), Some(body)) = (values.into_iter().next(), inst.region(1)) else {
                    return Err(internal(inst.span(), "a condition that returns no tensor"));
                };
                self.bind_args(inst, body, carried.clone())?;
                self.enter(body, Exit::Body { inst, carried, condition: steps, pred });
            }
            Exit::Body { inst, carried, condition, pred } => {
                let outputs = self.hand_over(&values, &carried, &mut steps, inst.span())?;
                let bodies = vec![condition, steps];
                self.push(Thunk {
                    op: ThunkOp::While,
                    inputs: vec![pred],
                    outputs,
                    bodies,
                    span: inst.span(),
                });
                self.bind(inst.results(), carried, inst.span())?;
            }
            Exit::Branch { inst, results, mut done } => {
                let outputs = self.hand_over(&values, &results, &mut steps, inst.span())?;
                done.push(steps);
                if let Some(next) = inst.region(done.len()) {
                    self.bind_args(inst, next, Vec::new())?;
                    self.enter(next, Exit::Branch { inst, results, done });
                    return Ok(None);
                }
                let index = self.get_all(&inst.own_operands()[..1], inst.span())?;
                self.push(Thunk {
                    op: ThunkOp::Case,
                    inputs: index,
                    outputs,
                    bodies: done,
                    span: inst.span(),
                });
                self.bind(inst.results(), results, inst.span())?;
            }
        }
        Ok(None)
    }

    /// Copies what a region returned to where it is expected, all at once: a value that is itself
    /// about to be overwritten is saved first. Gives the tensors that are expected.
    fn hand_over(
        &mut self,
        from: &[Operand],
        to: &[Operand],
        steps: &mut Vec<Step>,
        span: Span,
    ) -> Result<Vec<Operand>, Diagnostic> {
        if from.len() != to.len() {
            return Err(internal(span, "a region that returns a wrong number of values"));
        }
        let mut copies = Vec::new();
        let written: FxHashSet<VirtualId> = to.iter().map(|d| d.id).collect();
        for (src, dst) in from.iter().zip(to).filter(|(src, dst)| src.id != dst.id) {
            let src = if written.contains(&src.id) {
                let saved = self.fresh(&src.ty, span)?;
                steps.push(copy_step(src.clone(), saved.clone(), span));
                saved
            } else {
                src.clone()
            };
            copies.push(copy_step(src, dst.clone(), span));
        }
        steps.extend(copies);
        let temp = |d: &&Operand| self.values[d.id.index()].0 == Home::Temp;
        Ok(to.iter().filter(temp).cloned().collect())
    }

    // --- values

    /// A fresh place that holds a copy of a value.
    pub(super) fn copy_of(&mut self, value: &Operand, span: Span) -> Result<Operand, Diagnostic> {
        let new = self.fresh(&value.ty, span)?;
        self.push(copy_step(value.clone(), new.clone(), span));
        Ok(new)
    }

    /// A place in the arena for a tensor of this type.
    pub(super) fn fresh(&mut self, ty: &TensorType, span: Span) -> Result<Operand, Diagnostic> {
        Ok(Operand { id: self.value(Home::Temp, ty, span)?, ty: ty.clone() })
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
            Diagnostic::new("compile-size", span, format!("{ty} has no size that fits into memory"))
        })?;
        let id = u32::try_from(self.values.len())
            .map_err(|_| Diagnostic::new("compile-size", span, "the program has too many values"))?;
        self.values.push((home, bytes));
        Ok(VirtualId(id))
    }

    /// Appends a thunk to the region that is being walked.
    pub(super) fn push(&mut self, step: Step) {
        self.frames.last_mut().expect("code is emitted while a region is walked").steps.push(step);
    }

    /// The type of a value of the program.
    pub(super) fn ty(&self, id: ValueId, span: Span) -> Result<&'m TensorType, Diagnostic> {
        self.func.tensor(id).ok_or_else(|| internal(span, "a value that is not a tensor"))
    }

    pub(super) fn get_all(&self, ids: &[ValueId], span: Span) -> Result<Vec<Operand>, Diagnostic> {
        let missing = || internal(span, "a value is used before it is defined");
        ids.iter().map(|id| self.env[id.index()].clone().ok_or_else(missing)).collect()
    }

    fn bind(&mut self, ids: &[ValueId], values: Vec<Operand>, span: Span) -> Result<(), Diagnostic> {
        if ids.len() != values.len() {
            return Err(internal(span, &format!("{} values for {} names", values.len(), ids.len())));
        }
        for (id, value) in ids.iter().zip(values) {
            self.env[id.index()] = Some(value);
        }
        Ok(())
    }
}

/// A thunk that copies bytes.
pub(super) fn copy_step(from: Operand, to: Operand, span: Span) -> Step {
    Thunk { op: ThunkOp::Copy, inputs: vec![from], outputs: vec![to], bodies: Vec::new(), span }
}

/// A program that is not in the middle form.
pub(super) fn internal(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new("internal", span, format!("{what}; this is a bug in farcall"))
}
