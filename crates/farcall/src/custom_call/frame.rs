//! Call frames: the structs of the C interface for one call site in one run context.

use std::ptr::{null, null_mut};
use std::sync::Arc;

use farcall_ffi::abi::{Error, Stage};
use smallvec::SmallVec;

use super::error::CallError;
use super::site::{CallSite, Callee};
use super::typed::{Outcome, Typed};
use crate::host::context::{Context, RunContext};
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
    /// The call that [`CallFrame::start`] left incomplete.
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
        // SAFETY: the caller's promise; a pending call is waited for right here.
        match unsafe { self.launch(run) } {
            Ok(None) => Ok(()),
            Ok(Some(pending)) => pending.wait(),
            Err(error) => Err(error),
        }
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
        match (&self.body, self.started.take()) {
            (Body::Typed(typed), Some(completion)) => {
                let (site, context) = (&*self.site, typed.context());
                Ok(Some(Pending { site, context, stage: Stage::EXECUTE, completion }))
            }
            _ => Ok(None),
        }
    }

    /// Calls the handler with the pointers that are set. `true` if the call is not complete when the
    /// handler returns: then [`CallFrame::finish`] is to be called before the buffers are touched.
    ///
    /// # Errors
    /// If the handler fails, or the call that was started before this one.
    ///
    /// # Safety
    /// As [`CallFrame::launch`], `run` included, until [`CallFrame::finish`] returns or the frame is
    /// dropped.
    #[inline]
    pub unsafe fn start(&mut self, run: &RunContext) -> Result<bool, CallError> {
        // SAFETY: the caller's promise.
        unsafe { self.begin(run) }.map_err(|error| *error)?;
        Ok(self.is_started())
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

    /// [`CallFrame::start`], with an outcome that is passed on in a register; [`CallFrame::is_started`] says the rest.
    ///
    /// # Errors
    /// As [`CallFrame::start`].
    ///
    /// # Safety
    /// As [`CallFrame::start`].
    #[inline]
    pub(crate) unsafe fn begin(&mut self, run: &RunContext) -> Result<(), Box<CallError>> {
        if self.started.is_some() {
            self.finish()?;
        }
        let Body::Typed(typed) = &mut self.body else {
            // SAFETY: the caller's promise.
            return unsafe { self.call_untyped() };
        };
        // SAFETY: the caller's promise.
        let error = unsafe { typed.enter(self.site.name(), (Stage::EXECUTE, typed.execute()), run) };
        if typed.is_over(error) { Ok(()) } else { self.settle(error) }
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
    /// As [`CallFrame::start`].
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

    /// Waits until the call that [`CallFrame::start`] left incomplete is complete.
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
        self.set_all(operands, results);
        let Body::Typed(typed) = &mut self.body else { return Ok(()) };
        typed.context_mut().clear_state(stage);
        // SAFETY: the caller's promise.
        unsafe { typed.run_to_end(self.site.name(), (stage, handler), run) }.map_err(|f| {
            typed.context_mut().clear_state(stage);
            self.site.error(stage, f)
        })
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
    site: &'a CallSite,
    context: &'a Context,
    stage: Stage,
    completion: Arc<Completion>,
}

impl Pending<'_> {
    /// Waits until the call is complete.
    ///
    /// # Errors
    /// If it fails.
    pub fn wait(self) -> Result<(), CallError> {
        let outcome = self.completion.wait();
        self.context.end(outcome).map_err(|f| self.site.error(self.stage, f))
    }

    /// True if [`Pending::wait`] would not wait.
    pub fn is_complete(&self) -> bool {
        self.completion.is_complete()
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        // The handler may use buffers and context until then, whatever came of it.
        let _outcome: Result<(), Failure> = self.completion.wait();
        self.context.leave();
    }
}

/// Runs a call site's instantiate stage, which leaves its state there.
pub(super) fn instantiate(site: &CallSite) -> Result<(), CallError> {
    let Callee::Typed { bundle, .. } = &site.callee else { return Ok(()) };
    let Some(handler) = bundle.instantiate else { return Ok(()) };
    // No operands and results, as XLA has it: they are not known to this stage.
    let mut typed = Typed::new(site, handler, &[], &[]);
    // SAFETY: there are no buffers.
    unsafe { typed.run_to_end(site.name(), (Stage::INSTANTIATE, handler), null()) }
        .map_err(|f| site.error(Stage::INSTANTIATE, f))
}
