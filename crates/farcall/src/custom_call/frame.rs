//! Call frames: the structs of the C interface for one call site in one run context.

use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex};

use farcall_ffi::abi::{Error, ErrorCode, Stage};
use farcall_ir::interrupt::Interrupted;
use smallvec::SmallVec;

use super::error::CallError;
use super::site::{CallSite, Callee};
use super::typed::{Outcome, Typed};
use crate::host::context::RunContext;
use crate::host::error::Failure;
use crate::host::exit::{self, Doing};
use crate::host::future::Completion;

/// The structs that one call site's handler is called with, built once per run context.
///
/// A run sets the data pointers that change and calls: nothing is allocated, locked or looked up. One frame
/// serves one call at a time; concurrent runs have a frame each. What a handler has checked, it may note in the frame's
/// [`FrameMemo`](farcall_ffi::memo::FrameMemo), which lasts while nothing changes.
#[derive(Debug)]
pub struct CallFrame {
    site: Arc<CallSite>,
    body: Body,
    /// The call that [`CallFrame::begin`] left incomplete.
    started: Option<Arc<Completion>>,
}

#[derive(Debug)]
enum Body {
    Typed(Typed),
    /// Operands, then results.
    Untyped(Box<[*mut u8]>),
}

// SAFETY: what the pointers in a frame point to is owned by the frame, by its call site (which is
// `Sync`), or by the caller of `execute`, whose promise covers the thread it calls from.
unsafe impl Send for CallFrame {}

impl CallFrame {
    /// A frame of a call site.
    #[expect(clippy::missing_panics_doc, reason = "a registered target has an execute handler")]
    pub fn new(site: &Arc<CallSite>) -> CallFrame {
        let body = match &site.callee {
            Callee::Typed { bundle, .. } => {
                let execute = bundle.execute.expect("a typed target has an execute handler");
                Body::Typed(Typed::new(site, execute, site.operands(), site.results()))
            }
            Callee::Untyped(_) => {
                Body::Untyped(vec![null_mut(); site.operands().len() + site.results().len()].into())
            }
        };
        CallFrame { site: Arc::clone(site), body, started: None }
    }

    /// The call site.
    pub fn site(&self) -> &Arc<CallSite> {
        &self.site
    }

    /// Sets where operand number `i` (in [`CallSite::operands`]) is.
    ///
    /// # Panics
    /// If there is no such operand.
    #[inline]
    pub fn set_operand(&mut self, i: usize, data: *mut u8) {
        let operands = self.site.operands().len();
        self.places()[..operands][i] = data;
    }

    /// Sets where result number `i` (in [`CallSite::results`]) goes.
    ///
    /// # Panics
    /// If there is no such result.
    #[inline]
    pub fn set_result(&mut self, i: usize, data: *mut u8) {
        let operands = self.site.operands().len();
        self.places()[operands..][i] = data;
    }

    /// Where operands are and results go, in this order.
    #[inline]
    pub(crate) fn places(&mut self) -> &mut [*mut u8] {
        match &mut self.body {
            Body::Typed(typed) => typed.places(),
            Body::Untyped(places) => places,
        }
    }

    /// Sets all pointers, calls the handler, and waits until the call is complete.
    ///
    /// # Errors
    /// If the handler fails.
    ///
    /// # Panics
    /// If there are not as many pointers as [`CallSite::operands`] and [`CallSite::results`].
    ///
    /// # Safety
    /// The pointers are valid for the bytes of the operands (to read) and results (to write), and
    /// aligned for their elements; those of tokens may be null.
    #[inline]
    pub unsafe fn execute(
        &mut self,
        operands: &[*mut u8],
        results: &[*mut u8],
        run: &RunContext,
    ) -> Result<(), CallError> {
        self.set_all(operands, results);
        // SAFETY: the caller's promise.
        unsafe { self.call(run) }
    }

    /// Calls the handler with the pointers that are set, and waits until the call is complete.
    ///
    /// # Errors
    /// If the handler fails.
    ///
    /// # Safety
    /// As [`CallFrame::execute`], for the pointers that were set last.
    #[inline]
    pub unsafe fn call(&mut self, run: &RunContext) -> Result<(), CallError> {
        // SAFETY: the caller's promise; a call that is not complete is waited for right here.
        unsafe { self.begin(run) }.map_err(|error| *error)?;
        self.finish()
    }

    /// Calls the handler with the pointers that are set. `Some` if the call is not complete when the
    /// handler returns.
    ///
    /// # Errors
    /// If the handler fails.
    ///
    /// # Safety
    /// As [`CallFrame::call`]; if the call is pending, the pointers and `run` stay valid, and the
    /// buffers untouched, until it is complete.
    #[inline]
    pub unsafe fn launch<'a>(&'a mut self, run: &'a RunContext) -> Result<Option<Pending<'a>>, CallError> {
        // SAFETY: the caller's promise.
        unsafe { self.begin(run) }.map_err(|error| *error)?;
        Ok(if self.is_started() { Some(Pending { frame: self }) } else { None })
    }

    /// Fetches what a call touches, which may be made soon.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Body::Typed(typed) = &self.body {
            typed.prefetch();
        }
    }

    /// True if the last call was not complete when the handler returned, and [`CallFrame::finish`] was not called since.
    #[inline]
    pub(crate) fn is_started(&self) -> bool {
        self.started.is_some()
    }

    /// Calls the handler with the pointers that are set. The call may not be complete when it returns
    /// ([`CallFrame::is_started`]): then [`CallFrame::finish`] is to be called before the buffers are touched.
    ///
    /// # Errors
    /// If the handler fails, or the call that was begun before this one. (Boxed, so that an outcome is passed on in a
    /// register.)
    ///
    /// # Safety
    /// As [`CallFrame::call`]; the pointers and `run` stay valid, and the buffers untouched, until [`CallFrame::finish`]
    /// returns or the frame is dropped.
    #[inline]
    pub(crate) unsafe fn begin(&mut self, run: &RunContext) -> Result<(), Box<CallError>> {
        match &mut self.body {
            Body::Typed(typed) if self.started.is_none() => {
                let call = (Stage::EXECUTE, typed.execute());
                // SAFETY: the caller's promise.
                let error = unsafe { typed.enter(self.site.name(), call, Arc::as_ptr(run.run())) };
                if typed.is_over(error) { Ok(()) } else { self.settle(error) }
            }
            // SAFETY: the caller's promise.
            _ => unsafe { self.begin_rarer(run) },
        }
    }

    /// [`CallFrame::begin`] after a call that is not complete, or of a function of the untyped API.
    ///
    /// # Safety
    /// As [`CallFrame::begin`].
    #[inline(never)]
    unsafe fn begin_rarer(&mut self, run: &RunContext) -> Result<(), Box<CallError>> {
        self.finish()?;
        match self.body {
            // SAFETY: the caller's promise.
            Body::Typed(_) => unsafe { self.begin(run) },
            // SAFETY: the caller's promise.
            Body::Untyped(_) => unsafe { self.call_untyped() },
        }
    }

    /// What comes of a call that is not over when the handler returns.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, error: *mut Error) -> Result<(), Box<CallError>> {
        let Body::Typed(typed) = &mut self.body else { return Ok(()) };
        let failure = match typed.outcome(error) {
            Outcome::Done => typed.context().leave(),
            Outcome::Failed(failure) => {
                // What its tasks have to say comes second.
                typed.context().leave();
                Some(failure)
            }
            Outcome::Pending(completion) => {
                self.started = Some(completion);
                return Ok(());
            }
        };
        failure.map_or(Ok(()), |failure| Err(Box::new(self.site.error(Stage::EXECUTE, failure))))
    }

    /// Calls a function of the untyped API.
    ///
    /// # Safety
    /// As [`CallFrame::begin`].
    unsafe fn call_untyped(&mut self) -> Result<(), Box<CallError>> {
        let (Body::Untyped(places), Callee::Untyped(callee)) = (&mut self.body, &self.site.callee) else {
            unreachable!("frames are made after their site's callee")
        };
        // The function gets a copy: it may write to it, and the places are those of later calls, too.
        let mut places: SmallVec<[*mut u8; 16]> = SmallVec::from_slice(places);
        let (ins, outs) = places.split_at_mut(self.site.operands().len());
        let doing = Doing::Call(self.site.name(), Stage::EXECUTE);
        // SAFETY: the caller's promise.
        let called = exit::within(&doing, || unsafe { callee.call(ins, outs) });
        called.map_err(|failure| Box::new(self.site.error(Stage::EXECUTE, failure)))
    }

    /// Waits until the latest call is complete, unless the work of this thread has to end first.
    ///
    /// # Errors
    /// If the work has to end: the call is not complete.
    pub(crate) fn finish_unless_due(&mut self) -> Result<Result<(), CallError>, Interrupted> {
        if let Some(completion) = &self.started {
            let _outcome = completion.wait_unless_due()?;
        }
        Ok(self.finish())
    }

    /// The completion of a call that is still running.
    pub(crate) fn started(&self) -> Option<&Arc<Completion>> {
        self.started.as_ref()
    }

    /// Waits until the call that was begun last is complete, if it is not.
    ///
    /// # Errors
    /// If it fails.
    pub fn finish(&mut self) -> Result<(), CallError> {
        match (self.started.take(), &self.body) {
            (Some(completion), Body::Typed(typed)) => {
                typed.context().end(completion.wait()).map_err(|f| self.site.error(Stage::EXECUTE, f))
            }
            _ => Ok(()),
        }
    }

    /// Before a run: the target's prepare stage, if it has one. The pointers are addresses only, and
    /// may be null.
    ///
    /// # Errors
    /// If the handler fails.
    ///
    /// # Panics
    /// As [`CallFrame::execute`].
    ///
    /// # Safety
    /// As [`CallFrame::execute`], but nothing needs to be in the buffers yet.
    pub unsafe fn prepare(
        &mut self,
        operands: &[*mut u8],
        results: &[*mut u8],
        run: &RunContext,
    ) -> Result<(), CallError> {
        // SAFETY: the caller's promise.
        unsafe { self.run_stage(Stage::PREPARE, operands, results, run) }
    }

    /// Before a run, after all prepare stages: the target's initialize stage, if it has one.
    ///
    /// # Errors
    /// If the handler fails.
    ///
    /// # Panics
    /// As [`CallFrame::execute`].
    ///
    /// # Safety
    /// As [`CallFrame::prepare`].
    pub unsafe fn initialize(
        &mut self,
        operands: &[*mut u8],
        results: &[*mut u8],
        run: &RunContext,
    ) -> Result<(), CallError> {
        // SAFETY: the caller's promise.
        unsafe { self.run_stage(Stage::INITIALIZE, operands, results, run) }
    }

    /// After a run: destroys the states that its prepare and initialize stages made. Waits for a call
    /// that is not complete.
    pub fn end_run(&mut self) {
        // Whoever started the call had its outcome, or did not want it.
        let _outcome: Result<(), CallError> = self.finish();
        if let Body::Typed(typed) = &mut self.body {
            // What was made last may use what was made first.
            typed.context_mut().clear_state(Stage::INITIALIZE);
            typed.context_mut().clear_state(Stage::PREPARE);
        }
    }

    /// # Safety
    /// As [`CallFrame::prepare`].
    unsafe fn run_stage(
        &mut self,
        stage: Stage,
        operands: &[*mut u8],
        results: &[*mut u8],
        run: &RunContext,
    ) -> Result<(), CallError> {
        let Callee::Typed { bundle, .. } = &self.site.callee else { return Ok(()) };
        let handler = if stage == Stage::PREPARE { bundle.prepare } else { bundle.initialize };
        let Some(handler) = handler else { return Ok(()) };
        // A call that is not complete uses the context. Whoever began it had its outcome, or did not want it.
        let _outcome: Result<(), CallError> = self.finish();
        self.set_all(operands, results);
        let Body::Typed(typed) = &mut self.body else { return Ok(()) };
        typed.context_mut().clear_state(stage);
        let (site, run) = (&self.site, Arc::as_ptr(run.run()));
        // SAFETY: the caller's promise; an incomplete call is waited for, or its memory is kept.
        match unsafe { typed.run_to_end(site.name(), (stage, handler), run) } {
            Ok(outcome) => outcome.map_err(|f| {
                typed.context_mut().clear_state(stage);
                site.error(stage, f)
            }),
            Err(completion) => {
                self.started = Some(completion);
                Err(site.error(stage, interrupted()))
            }
        }
    }

    #[inline]
    fn set_all(&mut self, operands: &[*mut u8], results: &[*mut u8]) {
        let counts = (self.site.operands().len(), self.site.results().len());
        assert_eq!(
            counts,
            (operands.len(), results.len()),
            "a pointer per operand and result of the call site"
        );
        let (ins, outs) = self.places().split_at_mut(operands.len());
        ins.copy_from_slice(operands);
        outs.copy_from_slice(results);
    }
}

impl Drop for CallFrame {
    fn drop(&mut self) {
        // The handler may use buffers and context until then, whatever came of it.
        let _outcome: Result<(), CallError> = self.finish();
    }
}

/// A call whose handler has returned, but which is not complete.
///
/// Dropping it waits for the call.
#[derive(Debug)]
#[must_use]
pub struct Pending<'a> {
    frame: &'a mut CallFrame,
}

impl Pending<'_> {
    /// Waits until the call is complete.
    ///
    /// # Errors
    /// If it fails.
    pub fn wait(self) -> Result<(), CallError> {
        self.frame.finish()
    }

    /// True if [`Pending::wait`] would not wait.
    pub fn is_complete(&self) -> bool {
        self.frame.started.as_ref().is_none_or(|completion| completion.is_complete())
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        // The handler may use buffers and context until then, whatever came of it.
        let _outcome: Result<(), CallError> = self.frame.finish();
    }
}

/// Runs a call site's instantiate stage, which leaves its state there.
pub(super) fn instantiate(site: CallSite) -> Result<CallSite, CallError> {
    let Callee::Typed { bundle, .. } = &site.callee else { return Ok(site) };
    let Some(handler) = bundle.instantiate else { return Ok(site) };
    // No operands and results, as XLA has it: they are not known to this stage.
    let mut typed = Typed::new(&site, handler, &[], &[]);
    // SAFETY: there are no buffers, and an incomplete call keeps the other memory.
    match unsafe { typed.run_to_end(site.name(), (Stage::INSTANTIATE, handler), null()) } {
        Ok(Ok(())) => Ok(site),
        Ok(Err(failure)) => Err(site.error(Stage::INSTANTIATE, failure)),
        Err(completion) => {
            let error = site.error(Stage::INSTANTIATE, interrupted());
            let started = Some(Arc::clone(&completion));
            let frame = CallFrame { site: Arc::new(site), body: Body::Typed(typed), started };
            completion.keep(Arc::new(Mutex::new(frame)));
            Err(error)
        }
    }
}

/// The failure of a stage that an interrupt ended.
fn interrupted() -> Failure {
    Failure::new(ErrorCode::CANCELLED, "the wait for its future was interrupted")
}
