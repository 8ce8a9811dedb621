//! Walks the thunks of a plan.

use farcall_ir::iterations::Budget;
use farcall_ir::{DType, Literal, TensorType};

use super::context::Context;
use super::denormals::Mode;
use super::{Constants, RunError, kernels, reference};
use crate::custom_call::RunContext;
use crate::interrupt::Interrupt;
use crate::plan::{Base, Buffer, Call, Plan, Slice, Thunk, ThunkOp};

/// Runs a plan once, as part of `run`. The inputs have the types of its parameters.
pub(super) fn run(
    plan: &Plan,
    constants: &Constants,
    context: &mut Context,
    inputs: Inputs<'_>,
    run: &RunContext,
) -> Result<Vec<Literal>, RunError> {
    let mode = Mode::enter(plan.numerics.denormals);
    let ran = stages(context, run, &mode).and_then(|()| thunks(plan, constants, context, inputs, run, mode));
    end_stages(context);
    ran
}

/// Runs the thunks of a plan, for a run whose stages are over.
pub(super) fn thunks(
    plan: &Plan,
    constants: &Constants,
    context: &mut Context,
    inputs: Inputs<'_>,
    run: &RunContext,
    mode: Mode,
) -> Result<Vec<Literal>, RunError> {
    // Donated inputs have to be ours to be written to; a program without any can use the caller's.
    let lent;
    let mut own = Vec::new();
    match inputs {
        Inputs::Owned(inputs) => (lent, own) = (&[][..], inputs),
        Inputs::Borrowed(inputs) if plan.params.iter().any(|p| p.donated) => {
            (lent, own) = (&[][..], inputs.to_vec());
        }
        Inputs::Borrowed(inputs) => lent = inputs,
    }
    let memory = |error| RunError::Memory { what: "an input", error };
    context.params.clear();
    lent.iter().chain(&own).try_for_each(Literal::expand).map_err(memory)?;
    context.params.extend(lent.iter().map(|input| input.bytes().as_ptr().cast_mut()));
    for (param, input) in plan.params.iter().zip(&mut own) {
        // What somebody else holds, too, is copied.
        let data = if param.donated {
            input.unshare().map_err(memory)?;
            input.bytes_mut().as_mut_ptr()
        } else {
            input.bytes().as_ptr().cast_mut()
        };
        context.params.push(data);
    }
    let (interrupt, iterations) = (run.interrupt(), Budget::new());
    let started = Vec::new();
    let mut executor = Executor { plan, constants, context, run, interrupt, mode, started, iterations };
    let ran = executor.sequence(&plan.thunks);
    // Also after a failure: handlers may still use the arena.
    let finished = executor.finish(|_| true);
    ran?;
    finished?;
    let inputs = if own.is_empty() { lent } else { &own };
    plan.results.iter().map(|r| executor.result(r, inputs)).collect()
}

/// The inputs of a run.
pub(crate) enum Inputs<'a> {
    /// Not written to: where the program donates one, the run works on a copy.
    Borrowed(&'a [Literal]),
    /// Written to where the program donates them, unless they share their elements with another literal.
    Owned(Vec<Literal>),
}

/// The prepare stages of all targets that have one, then the initialize stages.
fn stages(context: &mut Context, run: &RunContext, mode: &Mode) -> Result<(), RunError> {
    stage(context, run, mode, false)?;
    stage(context, run, mode, true)
}

fn stage(context: &mut Context, run: &RunContext, mode: &Mode, initialize: bool) -> Result<(), RunError> {
    for number in &context.staged {
        let frame = &mut context.frames[*number];
        let operands = vec![std::ptr::null_mut(); frame.site().operands().len()];
        let results = vec![std::ptr::null_mut(); frame.site().results().len()];
        // SAFETY: pointers may be null before the run.
        let done = unsafe {
            if initialize {
                frame.initialize(&operands, &results, run)
            } else {
                frame.prepare(&operands, &results, run)
            }
        };
        mode.restore();
        done?;
    }
    for nested in context.nested.iter_mut().flatten() {
        stage(nested, run, mode, initialize)?;
    }
    Ok(())
}

/// Destroys the states that the stages made, also if one of them failed.
fn end_stages(context: &mut Context) {
    for number in &context.staged {
        context.frames[*number].end_run();
    }
    context.nested.iter_mut().flatten().for_each(end_stages);
}

struct Executor<'a> {
    plan: &'a Plan,
    constants: &'a Constants,
    context: &'a mut Context,
    run: &'a RunContext,
    interrupt: Option<&'a Interrupt>,
    mode: Mode,
    /// Custom calls whose handler has returned, but which are not complete.
    started: Vec<Started<'a>>,
    iterations: Budget,
}

/// A call that completes later.
#[derive(Clone, Copy)]
struct Started<'a> {
    thunk: &'a Thunk,
    call: &'a Call,
}

impl Started<'_> {
    /// True if a thunk has to wait for this call: one of them writes what the other reads or writes,
    /// both have side effects, or they are the same call site.
    fn blocks(&self, plan: &Plan, then: &Thunk) -> bool {
        let meet =
            |a: &[Buffer], b: &[Buffer]| a.iter().any(|a| b.iter().any(|b| a.slice.overlaps(&b.slice)));
        let (first, call) = (self.thunk, self.call);
        meet(&first.outputs, &then.inputs)
            || meet(&first.outputs, &then.outputs)
            || meet(&first.inputs, &then.outputs)
            || match &then.op {
                ThunkOp::CustomCall(c) => c.id == call.id || c.side_effect && call.side_effect,
                ThunkOp::Reference(id) => call.side_effect && plan.references[id.index()].has_side_effect(),
                _ => false,
            }
    }
}

impl<'a> Executor<'a> {
    fn sequence(&mut self, thunks: &'a [Thunk]) -> Result<(), RunError> {
        thunks.iter().try_for_each(|t| self.thunk(t))
    }

    fn thunk(&mut self, t: &'a Thunk) -> Result<(), RunError> {
        self.may_go_on()?;
        if !self.started.is_empty() {
            let plan = self.plan;
            self.finish(|s| s.blocks(plan, t))?;
        }
        let known = match &t.op {
            ThunkOp::While => return self.repeat(t),
            ThunkOp::Case => return self.choose(t),
            ThunkOp::CustomCall(call) => return self.custom_call(t, call),
            ThunkOp::Reference(id) => {
                self.look_soon();
                return self.reference(t, id.index());
            }
            // SAFETY: the plan is validated: the places hold what the operation needs.
            _ => unsafe { self.kernel(t) },
        };
        if matches!(t.op, ThunkOp::Dot(_)) {
            self.look_soon();
        }
        if known {
            return Ok(());
        }
        Err(RunError::NoKernel { kind: t.op.kind(), place: self.plan.source.place(t.span) })
    }

    #[inline]
    fn may_go_on(&self) -> Result<(), RunError> {
        match self.interrupt {
            Some(interrupt) if interrupt.is_due() => Err(RunError::Interrupted),
            _ => Ok(()),
        }
    }

    /// After what may take long, whoever interrupts is asked again, however short the thunks before were.
    fn look_soon(&self) {
        if let Some(interrupt) = self.interrupt {
            interrupt.look_soon();
        }
    }

    /// Runs a kernel; `false` if there is none.
    ///
    /// # Safety
    /// The thunk is one of a validated plan.
    unsafe fn kernel(&self, t: &Thunk) -> bool {
        let input = |i: usize| self.at(&t.inputs[i].slice).cast_const();
        let dtype = t.inputs.first().map_or(DType::Pred, |x| x.ty.dtype);
        let Some(y) = t.outputs.first() else { return false };
        let (out, n) = (self.at(&y.slice), count(&y.ty));
        let many = |i: usize| t.inputs[i].slice.size != t.inputs[i].ty.dtype.size();
        // SAFETY: the caller's promise, which is what each kernel asks for.
        unsafe {
            match &t.op {
                ThunkOp::Unary(op) => kernels::elementwise::unary(*op, dtype, input(0), out, n),
                ThunkOp::Binary(op) => kernels::elementwise::binary(*op, dtype, [input(0), input(1)], out, n),
                ThunkOp::Compare(c) => kernels::elementwise::compare(*c, dtype, [input(0), input(1)], out, n),
                ThunkOp::Select => {
                    let xs = [input(0), input(1), input(2)];
                    kernels::elementwise::select(y.ty.dtype.size(), xs, many(0), out, n)
                }
                ThunkOp::Clamp => {
                    let xs = [input(0), input(1), input(2)];
                    kernels::elementwise::clamp(dtype, xs, [many(0), many(1), many(2)], out, n)
                }
                ThunkOp::Convert => kernels::elementwise::convert(dtype, y.ty.dtype, input(0), out, n),
                ThunkOp::Copy => {
                    // Equal places are possible, others are apart.
                    std::ptr::copy(input(0), out, y.slice.size);
                    true
                }
                ThunkOp::Move(m) => kernels::movement::run(m, input(0), out, (0, 0)),
                ThunkOp::Iota { dim } => {
                    let dims = &y.ty.dims;
                    let sizes = [dims[..*dim].iter().product(), dims[*dim], dims[dim + 1..].iter().product()];
                    kernels::iota(y.ty.dtype, out, sizes)
                }
                ThunkOp::Reduce(r) => kernels::reduce::run(r, dtype, input(0), input(1), out),
                ThunkOp::Dot(d) => kernels::dot::run(d, dtype, input(0), input(1), out),
                ThunkOp::DynamicSlice(w) => {
                    let shift = self.shift(&t.inputs[1..], &w.steps);
                    kernels::movement::run(&w.movement, input(0), out, (shift, 0))
                }
                ThunkOp::DynamicUpdateSlice(w) => {
                    let shift = self.shift(&t.inputs[1..], &w.steps);
                    kernels::movement::run(&w.movement, input(0), out, (0, shift))
                }
                ThunkOp::While | ThunkOp::Case | ThunkOp::CustomCall(_) | ThunkOp::Reference(_) => false,
            }
        }
    }

    /// Elements by which clamped indices shift a window.
    ///
    /// # Safety
    /// The indices are those of a thunk of a validated plan.
    unsafe fn shift(&self, indices: &[Buffer], steps: &[(usize, usize)]) -> usize {
        let each = indices.iter().zip(steps).map(|(index, (limit, stride))| {
            // SAFETY: the caller's promise.
            stride * unsafe { kernels::index(index.ty.dtype, self.at(&index.slice), *limit) }
        });
        each.sum()
    }

    fn repeat(&mut self, t: &'a Thunk) -> Result<(), RunError> {
        let pred = self.at(&t.inputs[0].slice);
        loop {
            // Condition and body may hold no thunks.
            self.may_go_on()?;
            self.sequence(&t.bodies[0])?;
            // The predicate may come from a call that is not complete.
            let plan = self.plan;
            self.finish(|s| s.blocks(plan, t))?;
            // SAFETY: the plan is validated: a byte.
            if unsafe { pred.read() } == 0 {
                return Ok(());
            }
            self.iterations.spend()?;
            self.sequence(&t.bodies[1])?;
        }
    }

    fn choose(&mut self, t: &'a Thunk) -> Result<(), RunError> {
        let index = &t.inputs[0];
        // SAFETY: the plan is validated: one integer or `pred`, and at least one branch.
        let branch = unsafe { kernels::branch(index.ty.dtype, self.at(&index.slice), t.bodies.len()) };
        t.bodies.get(branch).map_or(Ok(()), |body| self.sequence(body))
    }

    fn custom_call(&mut self, t: &'a Thunk, call: &'a Call) -> Result<(), RunError> {
        let number = call.id.index();
        let site = &self.plan.calls[number];
        let mut inputs = t.inputs.iter();
        for (i, leaf) in site.operands().iter().enumerate() {
            let data = if leaf.is_token() { None } else { inputs.next() };
            let data = data.map_or(std::ptr::null_mut(), |b| self.at(&b.slice));
            self.context.frames[number].set_operand(i, data);
        }
        let mut outputs = t.outputs.iter();
        for (i, leaf) in site.results().iter().enumerate() {
            let data = if leaf.is_token() { None } else { outputs.next() };
            let data = data.map_or(std::ptr::null_mut(), |b| self.at(&b.slice));
            self.context.frames[number].set_result(i, data);
        }
        let context = &mut *self.context;
        // SAFETY: the plan is validated: every leaf has its place, of its size, aligned. Thunks that
        // touch these places finish the call first, and the run ends after it.
        let done = unsafe { context.frames[number].start(self.run) };
        self.mode.restore();
        if done? {
            self.started.push(Started { thunk: t, call });
        }
        Ok(())
    }

    /// Waits for the started calls that are chosen; they are complete afterwards, also if one fails.
    ///
    /// # Errors
    /// That of the first one that failed.
    fn finish(&mut self, chosen: impl Fn(&Started<'a>) -> bool) -> Result<(), RunError> {
        let mut outcome = Ok(());
        let frames = &mut self.context.frames;
        self.started.retain(|s| {
            let wait = chosen(s);
            if wait
                && let Err(error) = frames[s.call.id.index()].finish()
                && outcome.is_ok()
            {
                outcome = Err(RunError::from(error));
            }
            !wait
        });
        outcome
    }

    fn reference(&mut self, t: &Thunk, number: usize) -> Result<(), RunError> {
        let inputs: Result<Vec<Literal>, RunError> = t.inputs.iter().map(|b| self.literal(b)).collect();
        let (site, constants) = (&self.plan.references[number], &self.constants.nested[number]);
        let contexts = &mut self.context.nested[number];
        let results = reference::run(self.plan, site, constants, contexts, self.run, inputs?);
        self.mode.restore();
        let results = results?;
        for (literal, output) in results.iter().zip(&t.outputs) {
            let bytes = literal.bytes();
            let n = bytes.len().min(output.slice.size);
            // SAFETY: the place holds that many bytes, and a literal is no part of the arena.
            unsafe { self.at(&output.slice).copy_from_nonoverlapping(bytes.as_ptr(), n) };
        }
        Ok(())
    }

    /// What a buffer holds when all thunks have run. An input, or what has become of one, is not copied.
    fn result(&self, b: &Buffer, inputs: &[Literal]) -> Result<Literal, RunError> {
        match b.slice.base {
            Base::Param(id) if inputs[id.index()].dtype() == b.ty.dtype => {
                Ok(inputs[id.index()].reshape(b.ty.dims.clone()))
            }
            _ => self.literal(b),
        }
    }

    /// A copy of what a buffer holds.
    fn literal(&self, b: &Buffer) -> Result<Literal, RunError> {
        // SAFETY: the plan is validated: the place holds that many bytes, and nobody writes now.
        let bytes = unsafe { std::slice::from_raw_parts(self.at(&b.slice).cast_const(), b.slice.size) };
        let mut literal = Literal::try_zeros(b.ty.dtype, b.ty.dims.clone())
            .map_err(|error| RunError::Memory { what: "a result", error })?;
        literal.bytes_mut().copy_from_slice(bytes);
        Ok(literal)
    }

    /// Where a slice is.
    #[inline]
    fn at(&self, slice: &Slice) -> *mut u8 {
        let base = match slice.base {
            Base::Arena => self.context.arena.as_ptr(),
            Base::Constant(id) => {
                // SAFETY: the offsets were made for this block.
                unsafe { self.constants.block.as_ptr().add(self.constants.offsets[id.index()]) }
            }
            Base::Param(id) => self.context.params[id.index()],
        };
        // SAFETY: the plan is validated: the slice lies inside of its base.
        unsafe { base.add(slice.offset) }
    }
}

/// Number of elements; types in a validated plan have one.
fn count(ty: &TensorType) -> usize {
    ty.elements().unwrap_or(0)
}
