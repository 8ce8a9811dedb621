//! Walks the thunks of a plan.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use farcall_ir::interrupt::{self, Interrupt};
use farcall_ir::iterations::Budget;
use farcall_ir::{Literal, TensorType};

use super::context::Context;
use super::denormals::Mode;
use super::load::{Loaded, Sequence, Step};
use super::memory::in_large_pages;
use super::watch::Watch;
use super::{RunError, reference};
use crate::custom_call::{CallError, RunContext};
use crate::host::keeper::Keeping;
use crate::kernels::{self, Args, LONG_BYTES, Line, Place, Prepared, Runner};
use crate::plan::{Base, Buffer, Call, Plan, ResultId, STACK_SIZE, Thunk, ThunkOp};

/// Runs a plan once, as part of `run`, while `watch` looks on. The inputs have the types of its parameters.
pub(super) fn run<W: Watch>(
    loaded: &Loaded,
    context: &mut Context,
    inputs: Inputs<'_>,
    run: &RunContext,
    watch: W,
) -> Result<Vec<Literal>, RunError> {
    let mode = Mode::enter(loaded.plan.numerics.denormals);
    let ran = stages(context, run, &mode).and_then(|()| thunks(loaded, context, inputs, run, mode, watch));
    // Calls that an interrupt left may use the states until they are complete.
    if !matches!(ran, Err(RunError::Interrupted)) || !context.is_pending() {
        end_stages(context);
    }
    ran
}

/// Runs the thunks of a plan, for a run whose stages are over.
pub(super) fn thunks<W: Watch>(
    loaded: &Loaded,
    context: &mut Context,
    inputs: Inputs<'_>,
    run: &RunContext,
    mode: Mode,
    watch: W,
) -> Result<Vec<Literal>, RunError> {
    let plan = &*loaded.plan;
    // Donated inputs are written to, so the run must own them; a program without any can use the caller's.
    let lent;
    let mut own = Vec::new();
    match inputs {
        Inputs::Owned(inputs) => (lent, own) = (&[][..], inputs),
        Inputs::Borrowed(inputs)
            if plan.params.iter().any(|p| p.donated)
                || loaded.enters_handlers && !inputs.iter().all(Literal::is_aligned) =>
        {
            (lent, own) = (&[][..], inputs.to_vec());
        }
        Inputs::Borrowed(inputs) => lent = inputs,
    }
    let memory = |error| RunError::Memory { what: "an input", error };
    if loaded.enters_handlers {
        own.iter_mut().try_for_each(Literal::align).map_err(memory)?;
    }
    context.bases.clear();
    let Context { arena, registers, .. } = &context;
    let mut stack = Stack(MaybeUninit::uninit());
    let own_memory = [arena.as_ptr(), loaded.constants.as_ptr(), registers.as_ptr()];
    context.bases.extend_from_slice(&own_memory);
    context.bases.push(stack.begin(loaded.stack));
    let kept = own.iter().zip(&plan.params).filter(|(_, param)| !param.donated).map(|(input, _)| input);
    lent.iter().chain(kept).try_for_each(Literal::expand).map_err(memory)?;
    context.bases.extend(lent.iter().map(|input| input.bytes().as_ptr().cast_mut()));
    for (param, input) in plan.params.iter().zip(&mut own) {
        // Elements that are shared with others are copied.
        let data = if param.donated {
            input.unshare().map_err(memory)?;
            input.bytes_mut().as_mut_ptr()
        } else {
            input.bytes().as_ptr().cast_mut()
        };
        context.bases.push(data);
    }
    // Results that do not lie elsewhere are written directly to the caller's memory.
    let mut outs = Vec::with_capacity(plan.results.len());
    for (i, r) in plan.results.iter().enumerate() {
        let (mut out, mut data) = (None, context.arena.as_ptr());
        if r.slice.base == Base::Result(ResultId::new(i)) {
            let mut literal = for_overwrite(&r.ty)?;
            if let Some(byte) = run.unwritten() {
                literal.bytes_mut().fill(byte);
            }
            data = literal.bytes_mut().as_mut_ptr();
            out = Some(literal);
        }
        outs.push(out);
        context.bases.push(data);
    }
    let (stop, iterations) = (Stop::of(run), Budget::new());
    let started = Vec::new();
    let mut executor = Executor { loaded, context, run, stop, mode, started, iterations, watch };
    let ran = executor.sequence(&plan.thunks, &loaded.sequence);
    // Also after a failure: handlers may still use the arena.
    let finished = if matches!(ran, Err(RunError::Interrupted)) {
        executor.finish_complete();
        Ok(())
    } else {
        executor.finish(|_| true)
    };
    if loaded.enters_handlers && Keeping::is_asked() {
        let inputs = if own.is_empty() { lent } else { &own };
        Keeping::keep(inputs.iter().chain(outs.iter().flatten()).cloned().collect::<Vec<Literal>>());
    }
    if executor.leave() {
        drop(executor);
        context.left.extend(lent.iter().cloned().chain(own).chain(outs.into_iter().flatten()));
        return Err(RunError::Interrupted);
    }
    ran?;
    finished?;
    stop.has_not_ended()?;
    let inputs = if own.is_empty() { lent } else { &own };
    for (i, (r, at)) in plan.results.iter().zip(&loaded.results).enumerate() {
        if outs[i].is_none() {
            outs[i] = Some(executor.result(r, *at, inputs, &outs)?);
        }
    }
    drop(executor);
    Ok(outs.into_iter().map(|out| out.expect("every result was made")).collect())
}

/// What kernels with little scratch memory have it in.
#[repr(align(64))]
struct Stack(MaybeUninit<[u8; STACK_SIZE]>);

impl Stack {
    /// Where it begins; so many bytes are initialized.
    #[inline]
    fn begin(&mut self, bytes: usize) -> *mut u8 {
        let begin = self.0.as_mut_ptr().cast::<u8>();
        // SAFETY: it has as many bytes at least.
        unsafe { begin.write_bytes(0, bytes.min(STACK_SIZE)) };
        begin
    }
}

/// A literal for a result that is written as a whole.
fn for_overwrite(ty: &TensorType) -> Result<Literal, RunError> {
    let mut literal = Literal::try_for_overwrite(ty.dtype, ty.shared_sizes())
        .map_err(|error| RunError::Memory { what: "a result", error })?;
    let bytes = literal.bytes_mut();
    in_large_pages(bytes.as_mut_ptr(), bytes.len());
    Ok(literal)
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
        let done = Stop::of(run).during(|| {
            // SAFETY: pointers may be null before the run.
            unsafe {
                if initialize {
                    frame.initialize(&operands, &results, run)
                } else {
                    frame.prepare(&operands, &results, run)
                }
            }
        });
        mode.restore();
        done??;
    }
    for nested in context.nested.iter_mut().flatten() {
        stage(nested, run, mode, initialize)?;
    }
    Ok(())
}

/// Destroys the states that the stages made, even if a stage failed. Waits for incomplete calls.
pub(super) fn end_stages(context: &mut Context) {
    for number in &context.staged {
        context.frames[*number].end_run();
    }
    context.nested.iter_mut().flatten().for_each(end_stages);
}

/// The interrupts that may end a run.
#[derive(Clone, Copy)]
struct Stop<'a> {
    /// The interrupt of the run.
    own: Option<&'a Arc<Interrupt>>,
    /// The run is part of interruptible work.
    outer: bool,
}

impl<'a> Stop<'a> {
    #[inline]
    fn of(run: &'a RunContext) -> Stop<'a> {
        Stop { own: run.interrupt(), outer: interrupt::Scope::current().is_some() }
    }

    /// An error if the run has to end.
    #[inline]
    fn may_go_on(self) -> Result<(), RunError> {
        let due = self.own.is_some_and(|own| own.is_due()) || self.outer && interrupt::is_due();
        if due { Err(RunError::Interrupted) } else { Ok(()) }
    }

    /// An error if something may have stopped early in the run.
    #[inline]
    fn has_not_ended(self) -> Result<(), RunError> {
        if self.outer && interrupt::has_ended() { Err(RunError::Interrupted) } else { Ok(()) }
    }

    /// Does work that may take long.
    fn during<R>(self, work: impl FnOnce() -> R) -> Result<R, RunError> {
        match self.own {
            Some(own) => {
                let done = interrupt::during(own, work).map_err(|_| RunError::Interrupted)?;
                // The clock is due even if the earlier thunks were short.
                own.look_soon();
                Ok(done)
            }
            None => {
                let done = work();
                self.has_not_ended().map(|()| done)
            }
        }
    }
}

/// What a line asks during a run.
struct Turns<'a> {
    stop: Stop<'a>,
    iterations: &'a mut Budget,
}

impl Runner for Turns<'_> {
    type Error = RunError;

    #[inline]
    fn turns(&mut self, most: u64) -> Result<u64, RunError> {
        self.stop.may_go_on()?;
        Ok(self.iterations.spend_some(most)?)
    }

    fn unused(&mut self, turns: u64) {
        self.iterations.give_back(turns);
    }

    #[inline]
    fn kernel(&mut self) -> Result<(), RunError> {
        self.stop.may_go_on()
    }
}

struct Executor<'a, W: Watch> {
    loaded: &'a Loaded,
    context: &'a mut Context,
    run: &'a RunContext,
    stop: Stop<'a>,
    mode: Mode,
    /// Custom calls whose handler has returned, but which are not complete.
    started: Vec<Started<'a>>,
    iterations: Budget,
    watch: W,
}

/// A call that completes later.
#[derive(Clone, Copy)]
struct Started<'a> {
    thunk: &'a Thunk,
    number: u32,
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

/// Guards against a panic: handlers may still use the memory of an incomplete call.
impl<W: Watch> Drop for Executor<'_, W> {
    fn drop(&mut self) {
        for started in std::mem::take(&mut self.started) {
            // A panic is under way.
            let _ = self.context.frames[started.call.id.index()].finish();
            self.watch.completed(started.number);
        }
    }
}

impl<'a, W: Watch> Executor<'a, W> {
    #[expect(clippy::question_mark, reason = "`?` takes room for the error once more in unoptimized code")]
    fn sequence(&mut self, thunks: &'a [Thunk], sequence: &'a Sequence) -> Result<(), RunError> {
        // Loops, not iterators, and returns, not `?`: thunks nest deeply, and each level takes stack.
        for stretch in &sequence.stretches {
            let done = match &stretch.line {
                // What looks on sees each thunk; and each of them may have to wait for a call.
                Some(line) if !W::SEES_THUNKS && self.started.is_empty() => self.line(line),
                _ => self.each(thunks, sequence, &stretch.thunks),
            };
            if done.is_err() {
                return done;
            }
        }
        Ok(())
    }

    #[inline]
    fn line(&mut self, line: &Line) -> Result<(), RunError> {
        self.stop.may_go_on()?;
        let Context { bases, code, .. } = &mut *self.context;
        let mut turns = Turns { stop: self.stop, iterations: &mut self.iterations };
        // SAFETY: the plan is validated: the places are those of the buffers that the kernels were prepared for, and overlap
        // where they allow that, predicates and numbers of branches are where jumps read them; the context has the registers.
        let mut run = || unsafe { line.run(bases, code, &mut turns) };
        if line.is_long() { self.stop.during(run)? } else { run() }
    }

    #[inline]
    #[expect(clippy::question_mark, reason = "`?` takes room for the error once more in unoptimized code")]
    fn each(
        &mut self,
        thunks: &'a [Thunk],
        sequence: &'a Sequence,
        numbers: &Range<usize>,
    ) -> Result<(), RunError> {
        for (thunk, step) in thunks[numbers.clone()].iter().zip(&sequence.steps[numbers.clone()]) {
            self.watch.enter(step.number);
            let done = self.thunk(thunk, step);
            self.watch.leave(step.number);
            if done.is_err() {
                return done;
            }
        }
        Ok(())
    }

    fn thunk(&mut self, t: &'a Thunk, step: &'a Step) -> Result<(), RunError> {
        self.stop.may_go_on()?;
        let plan = &self.loaded.plan;
        self.finish(|s| s.blocks(plan, t))?;
        if let Some(kernel) = &step.kernel {
            return self.compute(kernel, step, t.inputs.len());
        }
        if let Some(call) = step.call {
            return self.custom_call(t, call as usize, step);
        }
        match &t.op {
            ThunkOp::Copy => {
                let [from, to] = [self.at(step.places[0]), self.at(step.places[1])];
                let size = step.places[1].size;
                for begin in (0..size).step_by(LONG_BYTES) {
                    self.stop.may_go_on()?;
                    let count = LONG_BYTES.min(size - begin);
                    // SAFETY: the plan is validated: both places have this size, and are either equal or
                    // disjoint.
                    unsafe { std::ptr::copy(from.add(begin), to.add(begin), count) };
                }
                Ok(())
            }
            ThunkOp::While => self.repeat(t, step),
            ThunkOp::Case => self.choose(t, step),
            ThunkOp::Reference(id) => {
                let stop = self.stop;
                stop.during(|| self.reference(t, id.index(), &step.places))?
            }
            // These are done.
            ThunkOp::Compute(_) | ThunkOp::CustomCall(_) => Ok(()),
        }
    }

    fn compute(&self, kernel: &Prepared, step: &Step, inputs: usize) -> Result<(), RunError> {
        let args = Args::new(&step.places, inputs, &self.context.bases);
        let run = || {
            self.watch.tasks(step.number, self.run.pool().as_ref(), |pool| {
                // SAFETY: the plan is validated: the places have the sizes of the buffers that the kernel was
                // prepared for, and overlap only where it allows that.
                unsafe { kernel.run(&args, pool) }
            });
        };
        if kernel.is_long() {
            return self.stop.during(run);
        }
        run();
        Ok(())
    }

    fn repeat(&mut self, t: &'a Thunk, step: &'a Step) -> Result<(), RunError> {
        let pred = self.at(step.places[0]);
        loop {
            // Condition and body may hold no thunks.
            self.stop.may_go_on()?;
            self.sequence(&t.bodies[0], &step.bodies[0])?;
            // The predicate may come from a call that is not complete.
            let plan = &self.loaded.plan;
            self.finish(|s| s.blocks(plan, t))?;
            // SAFETY: the plan is validated: a byte.
            if unsafe { pred.read() } == 0 {
                return Ok(());
            }
            self.iterations.spend()?;
            self.sequence(&t.bodies[1], &step.bodies[1])?;
        }
    }

    fn choose(&mut self, t: &'a Thunk, step: &'a Step) -> Result<(), RunError> {
        let dtype = t.inputs[0].ty.dtype;
        // SAFETY: the plan is validated: one integer or `pred`, and at least one branch.
        let branch = unsafe { kernels::branch(dtype, self.at(step.places[0]), t.bodies.len()) };
        self.sequence(&t.bodies[branch], &step.bodies[branch])
    }

    #[inline]
    fn custom_call(&mut self, t: &'a Thunk, call: usize, step: &Step) -> Result<(), RunError> {
        let Context { frames, bases, .. } = &mut *self.context;
        // Calls are numbered in the order of the text.
        if let Some(next) = frames.get(call + 1) {
            next.prefetch();
        }
        let frame = &mut frames[call];
        let moving = self.loaded.places.moving(call);
        if !moving.is_empty() {
            let places = frame.places();
            for place in moving {
                // SAFETY: the plan is validated, and these are the bases of this run.
                places[place.number as usize] = unsafe { place.at(bases) };
            }
        }
        // SAFETY: the plan is validated: every leaf has its place, of its size, aligned. Thunks that
        // touch these places finish the call first, and the run ends after it.
        let begun = unsafe { frame.begin(self.run) };
        let is_started = frame.is_started();
        self.mode.restore();
        if let Err(error) = begun {
            return Err(RunError::CustomCall(*error));
        }
        if is_started {
            self.go_on(t, step);
        }
        Ok(())
    }

    /// Notes a call that is not complete.
    #[cold]
    fn go_on(&mut self, t: &'a Thunk, step: &Step) {
        let ThunkOp::CustomCall(call) = &t.op else { return };
        self.watch.started(step.number);
        self.started.push(Started { thunk: t, number: step.number, call });
    }

    /// Waits for the started calls that are chosen; they are complete afterwards, also if one fails.
    ///
    /// # Errors
    /// The error of the first call that failed; [`RunError::Interrupted`] if some are incomplete.
    #[inline]
    fn finish(&mut self, chosen: impl Fn(&Started<'a>) -> bool) -> Result<(), RunError> {
        if self.started.is_empty() { Ok(()) } else { self.finish_some(chosen) }
    }

    fn finish_some(&mut self, chosen: impl Fn(&Started<'a>) -> bool) -> Result<(), RunError> {
        let stop = self.stop;
        stop.during(|| {
            let (mut outcome, mut goes_on) = (Ok(()), true);
            let (frames, watch) = (&mut self.context.frames, &mut self.watch);
            self.started.retain(|s| {
                if !goes_on || !chosen(s) {
                    return true;
                }
                let Ok(ended) = frames[s.call.id.index()].finish_unless_due() else {
                    goes_on = false;
                    return true;
                };
                watch.completed(s.number);
                if let Err(error) = ended
                    && outcome.is_ok()
                {
                    outcome = Err(RunError::from(error));
                }
                false
            });
            outcome
        })?
    }

    /// Ends the complete calls after an interrupt, without waiting: a callback may report an interrupt only once.
    #[cold]
    fn finish_complete(&mut self) {
        let (frames, watch) = (&mut self.context.frames, &mut self.watch);
        self.started.retain(|s| {
            let frame = &mut frames[s.call.id.index()];
            if frame.started().is_some_and(|call| !call.is_complete()) {
                return true;
            }
            // The run ends with the interrupt, whatever became of the call.
            let _outcome: Result<(), CallError> = frame.finish();
            watch.completed(s.number);
            false
        });
    }

    /// Stops waiting for calls that an interrupt left incomplete; true if there are some.
    fn leave(&mut self) -> bool {
        let left = std::mem::take(&mut self.started);
        left.iter().for_each(|s| self.watch.completed(s.number));
        !left.is_empty()
    }

    fn reference(&mut self, t: &Thunk, number: usize, places: &[Place]) -> Result<(), RunError> {
        let (from, to) = places.split_at(t.inputs.len());
        let inputs: Result<Vec<Literal>, RunError> =
            t.inputs.iter().zip(from).map(|(b, at)| self.literal(&b.ty, *at)).collect();
        let (plan, nested) = (&self.loaded.plan, &self.loaded.nested[number]);
        let contexts = &mut self.context.nested[number];
        let begin = Instant::now();
        let results = reference::run(plan, &plan.references[number], nested, contexts, self.run, inputs?);
        let took = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.loaded.evaluator_nanoseconds.fetch_add(took, Ordering::Relaxed);
        self.mode.restore();
        let results = results?;
        for (literal, to) in results.iter().zip(to) {
            let bytes = literal.bytes();
            let n = bytes.len().min(to.size);
            // SAFETY: the place holds that many bytes, and a literal is not part of the arena.
            unsafe { self.at(*to).copy_from_nonoverlapping(bytes.as_ptr(), n) };
        }
        Ok(())
    }

    /// What a buffer holds when all thunks have run. An input (possibly updated in place) or another result is
    /// not copied.
    fn result(
        &self,
        b: &Buffer,
        at: Place,
        inputs: &[Literal],
        outs: &[Option<Literal>],
    ) -> Result<Literal, RunError> {
        let same = match b.slice.base {
            Base::Param(id) => inputs.get(id.index()),
            Base::Result(id) => outs.get(id.index()).and_then(Option::as_ref),
            Base::Arena | Base::Stack | Base::Iota(_) | Base::Constant(_) | Base::Number(_) => None,
        };
        match same.filter(|same| same.dtype() == b.ty.dtype && same.byte_len() == at.size) {
            Some(same) => Ok(same.reshape(b.ty.shared_sizes())),
            None => self.literal(&b.ty, at),
        }
    }

    /// A copy of what a place holds.
    fn literal(&self, ty: &TensorType, at: Place) -> Result<Literal, RunError> {
        // SAFETY: the plan is validated: the place holds that many bytes, and nobody writes now.
        let bytes = unsafe { std::slice::from_raw_parts(self.at(at).cast_const(), at.size) };
        let mut literal = for_overwrite(ty)?;
        literal.bytes_mut().copy_from_slice(bytes);
        Ok(literal)
    }

    /// Where a place is.
    #[inline]
    fn at(&self, place: Place) -> *mut u8 {
        // SAFETY: the plan is validated: the place lies inside of its base.
        unsafe { place.at(&self.context.bases) }
    }
}
