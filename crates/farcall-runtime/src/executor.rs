//! The executor: walks the thunks of a plan.

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
use super::observer::{Unwatched, Watch};
use super::pool_tasks::PoolTasks;
use super::{RunError, reference};
use farcall_host::custom_call::{CallError, RunContext};
use farcall_host::processes::SharedMemory;
use farcall_host::runs::Keeping;
use farcall_kernels::{self as kernels, Args, LONG_BYTES, Line, Place, PreparedKernel, Runner};
use farcall_plan::{Base, CallThunk, DeviceNumber, Plan, ResultId, STACK_SIZE, TensorSlice, Thunk, ThunkOp};
use smallvec::SmallVec;

/// Runs a plan once, as part of `run`, observed by `watch`. The inputs have the types of the plan's
/// parameters.
pub(super) fn run<W: Watch>(
    loaded: &Loaded,
    context: &mut Context,
    inputs: Inputs<'_>,
    run: &RunContext,
    watch: W,
) -> Result<Vec<Literal>, RunError> {
    let mode = Mode::enter(loaded.plan.numerics().denormals);
    let ran = stages(context, run, &mode).and_then(|()| thunks(loaded, context, inputs, run, mode, watch));
    // Calls that an interrupt left incomplete may still use the states of the prepare and initialize stages.
    if !matches!(ran, Err(RunError::Interrupted)) || !context.is_pending() {
        end_stages(context);
    }
    ran
}

/// Runs the thunks of a plan, for a run whose prepare and initialize stages have ended.
pub(super) fn thunks<W: Watch>(
    loaded: &Loaded,
    context: &mut Context,
    inputs: Inputs<'_>,
    run: &RunContext,
    mode: Mode,
    watch: W,
) -> Result<Vec<Literal>, RunError> {
    let plan = &*loaded.plan;
    let (lent, mut own) = lent_and_own(loaded, inputs);
    let memory = |error| RunError::Memory { what: "an input", error };
    if loaded.aligns_inputs {
        own.iter_mut().try_for_each(Literal::align).map_err(memory)?;
    }
    context.bases.clear();
    let Context { arena, registers, .. } = &context;
    let mut stack = Stack(MaybeUninit::uninit());
    let own_memory = [arena.as_ptr(), loaded.constants.as_ptr(), registers.as_ptr()];
    context.bases.extend_from_slice(&own_memory);
    context.bases.push(stack.begin(loaded.stack));
    let kept = own.iter().zip(plan.params()).filter(|(_, param)| !param.donated).map(|(input, _)| input);
    lent.iter().chain(kept).try_for_each(Literal::expand).map_err(memory)?;
    context.bases.extend(lent.iter().map(|input| input.bytes().as_ptr().cast_mut()));
    for (param, input) in plan.params().iter().zip(&mut own) {
        // Elements that are shared with another literal are copied before a donated input is written to.
        let data = if param.donated {
            input.unshare().map_err(memory)?;
            input.bytes_mut().as_mut_ptr()
        } else {
            input.bytes().as_ptr().cast_mut()
        };
        context.bases.push(data);
    }
    let mut outs = result_memory(plan, context, run)?;
    let (interrupts, iterations) = (Interrupts::of(run), Budget::new());
    let started = Vec::new();
    let mut executor = Executor { loaded, context, run, interrupts, mode, started, iterations, watch };
    let ran = executor.sequence(plan.thunks(), &loaded.sequence);
    // Wait for incomplete calls even after a failure: their handlers may still use the arena.
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
    interrupts.check_ended()?;
    let inputs = if own.is_empty() { lent } else { &own };
    for (i, (r, at)) in plan.results().iter().zip(&loaded.results).enumerate() {
        if outs[i].is_none() {
            outs[i] = Some(executor.result(r, *at, inputs, &outs)?);
        }
    }
    drop(executor);
    Ok(outs.into_iter().map(|out| out.expect("every result has a literal")).collect())
}

/// Returns the inputs that the run borrows and the inputs that it owns; one of the two lists is empty.
/// Donated inputs are written to, so the run must own them. Without donated inputs, the run reads the
/// caller's memory, unless a handler needs inputs with a stricter alignment: then the inputs are copied.
fn lent_and_own<'a>(loaded: &Loaded, inputs: Inputs<'a>) -> (&'a [Literal], Vec<Literal>) {
    match inputs {
        Inputs::Owned(inputs) => (&[], inputs),
        Inputs::Borrowed(inputs)
            if loaded.plan.params().iter().any(|p| p.donated)
                || loaded.aligns_inputs && !inputs.iter().all(Literal::is_aligned) =>
        {
            (&[], inputs.to_vec())
        }
        Inputs::Borrowed(inputs) => (inputs, Vec::new()),
    }
}

/// Allocates the results that have memory of their own. Thunks write them directly to this memory, which the
/// caller gets. Adds a base address for every result of the plan; it is a placeholder if the result has no
/// memory of its own.
fn result_memory(
    plan: &Plan,
    context: &mut Context,
    run: &RunContext,
) -> Result<Vec<Option<Literal>>, RunError> {
    let mut outs = Vec::with_capacity(plan.results().len());
    for (i, r) in plan.results().iter().enumerate() {
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
    Ok(outs)
}

/// Scratch memory on the stack, for kernels that need only a little.
#[repr(align(64))]
struct Stack(MaybeUninit<[u8; STACK_SIZE]>);

impl Stack {
    /// Returns the start of the memory, with its first `bytes` bytes initialized to zero.
    #[inline]
    fn begin(&mut self, bytes: usize) -> *mut u8 {
        let begin = self.0.as_mut_ptr().cast::<u8>();
        // SAFETY: `begin` points to an array of `STACK_SIZE` bytes, and no more bytes than that are written.
        unsafe { begin.write_bytes(0, bytes.min(STACK_SIZE)) };
        begin
    }
}

/// Creates a literal for a result. The caller must overwrite all of its bytes.
fn for_overwrite(ty: &TensorType) -> Result<Literal, RunError> {
    let mut literal = Literal::try_for_overwrite(ty.dtype, ty.shared_sizes())
        .map_err(|error| RunError::Memory { what: "a result", error })?;
    let bytes = literal.bytes_mut();
    in_large_pages(bytes.as_mut_ptr(), bytes.len());
    Ok(literal)
}

/// Runs the plan of a custom call in a region that the evaluator applies.
fn run_nested(
    loaded: &Loaded,
    context: &mut Context,
    inputs: Vec<Literal>,
    run: &RunContext,
) -> Result<Vec<Literal>, RunError> {
    let mode = Mode::enter(loaded.plan.numerics().denormals);
    thunks(loaded, context, Inputs::Owned(inputs), run, mode, Unwatched)
}

/// The inputs of a run.
pub enum Inputs<'a> {
    /// Inputs that the caller keeps. They are never written to: the run copies an input that the program
    /// donates.
    Borrowed(&'a [Literal]),
    /// Inputs that the run owns. The run writes to an input that the program donates; if the input shares its
    /// elements with another literal, the elements are copied first.
    Owned(Vec<Literal>),
}

/// Runs the prepare stages of all targets that have one, then the initialize stages.
fn stages(context: &mut Context, run: &RunContext, mode: &Mode) -> Result<(), RunError> {
    stage(context, run, mode, false)?;
    stage(context, run, mode, true)
}

fn stage(context: &mut Context, run: &RunContext, mode: &Mode, initialize: bool) -> Result<(), RunError> {
    for number in &context.staged {
        let frame = &mut context.frames[*number];
        let operands = vec![std::ptr::null_mut(); frame.site().operands().len()];
        let results = vec![std::ptr::null_mut(); frame.site().results().len()];
        let done = Interrupts::of(run).during(|| {
            // SAFETY: in these stages, the pointers serve as addresses only, and may be null
            // (`CallFrame::prepare`).
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

/// Waits for incomplete calls, then destroys the states that the prepare and initialize stages created, even
/// if a stage failed.
pub(super) fn end_stages(context: &mut Context) {
    for number in &context.staged {
        context.frames[*number].end_run();
    }
    context.nested.iter_mut().flatten().for_each(end_stages);
}

/// The interrupts that may end a run.
#[derive(Clone, Copy)]
struct Interrupts<'a> {
    /// The interrupt of the run.
    own: Option<&'a Arc<Interrupt>>,
    /// True if the run is part of interruptible work.
    outer: bool,
}

impl<'a> Interrupts<'a> {
    #[inline]
    fn of(run: &'a RunContext) -> Interrupts<'a> {
        Interrupts { own: run.interrupt(), outer: interrupt::Scope::current().is_some() }
    }

    /// Returns an error if an interrupt is due, so that the run has to end.
    #[inline]
    fn check(self) -> Result<(), RunError> {
        let due = self.own.is_some_and(|own| own.is_due()) || self.outer && interrupt::is_due();
        if due { Err(RunError::Interrupted) } else { Ok(()) }
    }

    /// Returns an error if interruptible code in the run may have stopped early.
    #[inline]
    fn check_ended(self) -> Result<(), RunError> {
        if self.outer && interrupt::has_ended() { Err(RunError::Interrupted) } else { Ok(()) }
    }

    /// Runs work that may take a long time, under the run's interrupt.
    fn during<R>(self, work: impl FnOnce() -> R) -> Result<R, RunError> {
        match self.own {
            Some(own) => {
                let done = interrupt::during(own, work).map_err(|_| RunError::Interrupted)?;
                // Check the clock soon, even if the earlier thunks were short.
                own.look_soon();
                Ok(done)
            }
            None => {
                let done = work();
                self.check_ended().map(|()| done)
            }
        }
    }
}

/// Serves a [`Line`] while it runs: grants it loop iterations, and checks for interrupts.
struct LineRunner<'a> {
    interrupts: Interrupts<'a>,
    iterations: &'a mut Budget,
}

impl Runner for LineRunner<'_> {
    type Error = RunError;

    #[inline]
    fn request_iterations(&mut self, most: u64) -> Result<u64, RunError> {
        self.interrupts.check()?;
        Ok(self.iterations.spend_some(most)?)
    }

    fn return_iterations(&mut self, count: u64) {
        self.iterations.give_back(count);
    }

    #[inline]
    fn kernel(&mut self) -> Result<(), RunError> {
        self.interrupts.check()
    }
}

struct Executor<'a, W: Watch> {
    loaded: &'a Loaded,
    context: &'a mut Context,
    run: &'a RunContext,
    interrupts: Interrupts<'a>,
    mode: Mode,
    /// Custom calls whose handler has returned, but which are not complete.
    started: Vec<Started<'a>>,
    iterations: Budget,
    watch: W,
}

/// A custom call that completes after its handler returned.
#[derive(Clone, Copy)]
struct Started<'a> {
    thunk: &'a Thunk,
    number: u32,
    call: &'a CallThunk,
}

impl Started<'_> {
    /// Returns true if the thunk `then` has to wait for this call: one of the two writes memory that the
    /// other reads or writes, both have side effects, or both are the same call site.
    fn blocks(&self, plan: &Plan, then: &Thunk) -> bool {
        let meet = |a: &[TensorSlice], b: &[TensorSlice]| {
            a.iter().any(|a| b.iter().any(|b| a.slice.overlaps(&b.slice)))
        };
        let (first, call) = (self.thunk, self.call);
        meet(&first.outputs, &then.inputs)
            || meet(&first.outputs, &then.outputs)
            || meet(&first.inputs, &then.outputs)
            || match &then.op {
                ThunkOp::CustomCall(c) => c.id == call.id || c.side_effect && call.side_effect,
                ThunkOp::Reference(id) => call.side_effect && plan.references()[id.index()].has_side_effect(),
                _ => false,
            }
    }
}

/// Waits for incomplete calls if a panic unwinds, since handlers may still use the memory of the run.
impl<W: Watch> Drop for Executor<'_, W> {
    fn drop(&mut self) {
        for started in std::mem::take(&mut self.started) {
            // The error is dropped: a panic is already unwinding.
            let _ = self.context.frames[started.call.id.index()].finish();
            self.watch.completed(started.number);
        }
    }
}

impl<'a, W: Watch> Executor<'a, W> {
    #[expect(
        clippy::question_mark,
        reason = "in unoptimized code, `?` takes stack for another copy of the error"
    )]
    fn sequence(&mut self, thunks: &'a [Thunk], sequence: &'a Sequence) -> Result<(), RunError> {
        // Loops rather than iterators, and returns rather than `?`, to take little stack: thunks nest deeply,
        // and each level is one call of this function.
        for stretch in &sequence.stretches {
            let done = match &stretch.line {
                // A profiler must see every thunk, and any thunk may have to wait for a pending call.
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
        self.interrupts.check()?;
        let bases = &self.context.bases;
        let mut runner = LineRunner { interrupts: self.interrupts, iterations: &mut self.iterations };
        // SAFETY: the plan is a `ValidPlan`, so the places hold the buffers that the kernels were prepared
        // for, buffers overlap only where the kernels allow it, and predicates and branch numbers lie where
        // the jumps read them. `Context::new` has allocated the registers. `thunks` sets the base addresses.
        // Memory that is written is separate: the context's own memory, donated inputs that share their
        // elements with no other literal, and new results. The other inputs may share memory with each other,
        // but are not written.
        let mut run = || unsafe { line.run(bases, &mut runner) };
        if line.needs_interrupts() { self.interrupts.during(run)? } else { run() }
    }

    #[inline]
    #[expect(
        clippy::question_mark,
        reason = "in unoptimized code, `?` takes stack for another copy of the error"
    )]
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
        self.interrupts.check()?;
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
                    self.interrupts.check()?;
                    let count = LONG_BYTES.min(size - begin);
                    // SAFETY: the plan is a `ValidPlan`: both places have `size` bytes, and are either equal
                    // or disjoint.
                    unsafe { std::ptr::copy(from.add(begin), to.add(begin), count) };
                }
                Ok(())
            }
            ThunkOp::While => self.repeat(t, step),
            ThunkOp::Case => self.choose(t, step),
            ThunkOp::Reference(id) => {
                let interrupts = self.interrupts;
                interrupts.during(|| self.reference(t, id.index(), &step.places))?
            }
            ThunkOp::Collective(_) => self.collective(t, step),
            ThunkOp::DeviceNumber(number) => {
                self.device_number(*number, step.places[0]);
                Ok(())
            }
            // Handled above.
            ThunkOp::Compute(_) | ThunkOp::CustomCall(_) => Ok(()),
        }
    }

    fn compute(&self, kernel: &PreparedKernel, step: &Step, inputs: usize) -> Result<(), RunError> {
        // SAFETY: the plan is a `ValidPlan`: the places lie in the memory that starts at the base addresses.
        let args = unsafe { Args::new(&step.places, inputs, &self.context.bases) };
        let run = || {
            self.watch.tasks(step.number, &PoolTasks(self.run.pool()), |pool| {
                // SAFETY: the plan is a `ValidPlan`: the places have the sizes of the buffers that the kernel
                // was prepared for, and overlap only where the kernel allows it.
                unsafe { kernel.run(&args, pool) }
            });
        };
        if kernel.needs_interrupts() {
            return self.interrupts.during(run);
        }
        run();
        Ok(())
    }

    fn collective(&mut self, t: &Thunk, step: &Step) -> Result<(), RunError> {
        let Some(collective) = &step.collective else { return Ok(()) };
        let memory = |place: &Place| SharedMemory { data: self.at(*place).cast_const(), size: place.size };
        let (inputs, outputs) = step.places.split_at(t.inputs.len());
        let inputs: SmallVec<[SharedMemory; 4]> = inputs.iter().map(memory).collect();
        let outputs: SmallVec<[SharedMemory; 4]> = outputs.iter().map(memory).collect();
        // SAFETY: the plan is a `ValidPlan`: the places have the types that the collective was loaded for, and
        // results are disjoint from each other and from the operands. Only this thread and the devices of the
        // collective access the memory of this run until the call returns; calls that have been started do
        // not use these places, since `thunk` has finished those that do.
        let done = unsafe { collective.run(&inputs, &outputs, self.run) };
        self.mode.restore();
        done?;
        self.interrupts.check_ended()
    }

    /// Writes a number of the device.
    fn device_number(&self, number: DeviceNumber, to: Place) {
        let process = self.run.participant().map(|participant| participant.process());
        let number = process.map_or(0, |process| match number {
            DeviceNumber::Replica => process.replica(),
            DeviceNumber::Partition => process.partition(),
        });
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        // SAFETY: the plan is a `ValidPlan`: the place holds a `u32` and is aligned for it.
        unsafe { self.at(to).cast::<u32>().write(number) };
    }

    fn repeat(&mut self, t: &'a Thunk, step: &'a Step) -> Result<(), RunError> {
        let pred = self.at(step.places[0]);
        loop {
            // Condition and body may be empty, so the loop itself must poll for interrupts.
            self.interrupts.check()?;
            self.sequence(&t.bodies[0], &step.bodies[0])?;
            // The predicate may come from a call that is not complete.
            let plan = &self.loaded.plan;
            self.finish(|s| s.blocks(plan, t))?;
            // SAFETY: the plan is a `ValidPlan`: the predicate is one byte.
            if unsafe { pred.read() } == 0 {
                return Ok(());
            }
            self.iterations.spend()?;
            self.sequence(&t.bodies[1], &step.bodies[1])?;
        }
    }

    fn choose(&mut self, t: &'a Thunk, step: &'a Step) -> Result<(), RunError> {
        let dtype = t.inputs[0].ty.dtype;
        // SAFETY: the plan is a `ValidPlan`: the input is one integer or `pred`, and there is at least one
        // branch.
        let branch = unsafe { kernels::branch(dtype, self.at(step.places[0]), t.bodies.len()) };
        self.sequence(&t.bodies[branch], &step.bodies[branch])
    }

    #[inline]
    fn custom_call(&mut self, t: &'a Thunk, call: usize, step: &Step) -> Result<(), RunError> {
        let Context { frames, bases, .. } = &mut *self.context;
        // Calls are numbered in the order of the text, so this is most likely the next call to run.
        if let Some(next) = frames.get(call + 1) {
            next.prefetch();
        }
        let frame = &mut frames[call];
        let moving = self.loaded.places.moving(call);
        if !moving.is_empty() {
            let places = frame.places();
            for place in moving {
                // SAFETY: the plan is a `ValidPlan`, and `thunks` has set `bases` to the base addresses of
                // this run.
                places[place.number as usize] = unsafe { place.at(bases) };
            }
        }
        // SAFETY: the plan is a `ValidPlan`, so every leaf has an aligned place of its size. Thunks that
        // touch these places finish the call first, and the run does not end before the call does.
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

    /// Records a call that is not complete.
    #[cold]
    fn go_on(&mut self, t: &'a Thunk, step: &Step) {
        let ThunkOp::CustomCall(call) = &t.op else { return };
        self.watch.started(step.number);
        self.started.push(Started { thunk: t, number: step.number, call });
    }

    /// Waits for the started calls that `chosen` selects. Afterwards these calls are complete, even if one of
    /// them failed.
    ///
    /// # Errors
    /// The error of the first call that failed; [`RunError::Interrupted`] if an interrupt left calls
    /// incomplete.
    #[inline]
    fn finish(&mut self, chosen: impl Fn(&Started<'a>) -> bool) -> Result<(), RunError> {
        if self.started.is_empty() { Ok(()) } else { self.finish_some(chosen) }
    }

    fn finish_some(&mut self, chosen: impl Fn(&Started<'a>) -> bool) -> Result<(), RunError> {
        let interrupts = self.interrupts;
        interrupts.during(|| {
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

    /// After an interrupt, finishes the calls that are complete already. Waiting for the other calls could
    /// take forever: the callback that reported the interrupt may not report it again.
    #[cold]
    fn finish_complete(&mut self) {
        let (frames, watch) = (&mut self.context.frames, &mut self.watch);
        self.started.retain(|s| {
            let frame = &mut frames[s.call.id.index()];
            if frame.started().is_some_and(|call| !call.is_complete()) {
                return true;
            }
            // The run ends with the interrupt, whatever the outcome of the call.
            let _outcome: Result<(), CallError> = frame.finish();
            watch.completed(s.number);
            false
        });
    }

    /// Stops waiting for the calls that an interrupt left incomplete. Returns true if there are any.
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
        let site = &plan.references()[number];
        let results = reference::run(run_nested, plan, site, nested, contexts, self.run, inputs?);
        let took = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.loaded.evaluator_nanoseconds.fetch_add(took, Ordering::Relaxed);
        self.mode.restore();
        let results = results?;
        for (literal, to) in results.iter().zip(to) {
            let bytes = literal.bytes();
            let n = bytes.len().min(to.size);
            // SAFETY: the plan is a `ValidPlan`: the place holds at least `n` bytes. The memory of a new
            // literal is separate from the memory of the run.
            unsafe { self.at(*to).copy_from_nonoverlapping(bytes.as_ptr(), n) };
        }
        Ok(())
    }

    /// Returns a result after all thunks have run. If the result lies in the memory of an input (possibly
    /// updated in place) or of another result, it shares that memory and is not copied.
    fn result(
        &self,
        b: &TensorSlice,
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

    /// Copies the contents of a place into a literal.
    fn literal(&self, ty: &TensorType, at: Place) -> Result<Literal, RunError> {
        // SAFETY: the plan is a `ValidPlan`: the place holds `at.size` bytes. No thunk or call writes to the
        // place now.
        let bytes = unsafe { std::slice::from_raw_parts(self.at(at).cast_const(), at.size) };
        let mut literal = for_overwrite(ty)?;
        literal.bytes_mut().copy_from_slice(bytes);
        Ok(literal)
    }

    /// Returns the address of a place.
    #[inline]
    fn at(&self, place: Place) -> *mut u8 {
        // SAFETY: the plan is a `ValidPlan`: the base address exists, and the place lies in the memory that
        // starts there.
        unsafe { place.at(&self.context.bases) }
    }
}
