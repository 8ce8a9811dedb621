//! Call frames: the structs of the C interface for one call site in one run context.

use std::ptr::null_mut;
use std::sync::Arc;

use farcall_ffi::abi::{Error, ErrorCode, Stage};
use farcall_ir::interrupt::Interrupted;
use smallvec::SmallVec;

use super::error::CallError;
use super::site::{CallSite, Callee};
use super::typed::{Outcome, Typed};
use crate::interface::context::RunContext;
use crate::interface::error::Failure;
use crate::interface::exit::{self, Doing};
use crate::interface::future::Completion;

/// The structs passed to the handler of one call site, built once per run context.
///
/// A run sets the data pointers that change, and calls the handler. Nothing is allocated, locked or looked
/// up. One frame serves one call at a time; each concurrent run has its own frame. A handler may record its
/// checks in the frame's [`FrameMemo`](farcall_ffi::memo::FrameMemo), which remains valid as long as no data
/// pointer and no dimension changes.
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
    /// Pointers to operands, then results.
    Untyped(Box<[*mut u8]>),
}

// SAFETY: the memory behind a frame's pointers is owned by the frame, by its call site (which is `Sync`), or
// by the caller of `execute`, whose guarantee (`# Safety` there) covers the calling thread.
unsafe impl Send for CallFrame {}

impl CallFrame {
    /// Creates a frame for a call site.
    #[expect(clippy::missing_panics_doc, reason = "a registered target has an execute handler")]
    pub fn new(site: &Arc<CallSite>) -> CallFrame {
        let body = match &site.callee {
            Callee::Typed { bundle, attrs, state } => {
                let execute = bundle.execute.expect("a typed target has an execute handler");
                Body::Typed(Typed::new(execute, attrs, state, site.operands(), site.results()))
            }
            Callee::Untyped(_) => {
                Body::Untyped(vec![null_mut(); site.operands().len() + site.results().len()].into())
            }
        };
        CallFrame { site: Arc::clone(site), body, started: None }
    }

    /// Creates the frame of an incomplete call of the typed API.
    pub(super) fn of_incomplete_call(
        site: Arc<CallSite>,
        typed: Typed,
        started: Arc<Completion>,
    ) -> CallFrame {
        CallFrame { site, body: Body::Typed(typed), started: Some(started) }
    }

    /// Returns the call site.
    pub fn site(&self) -> &Arc<CallSite> {
        &self.site
    }

    /// Sets the address of operand number `i` (in [`CallSite::operands`]).
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    pub fn set_operand(&mut self, i: usize, data: *mut u8) {
        let operands = self.site.operands().len();
        self.places()[..operands][i] = data;
    }

    /// Sets the address of result number `i` (in [`CallSite::results`]).
    ///
    /// # Panics
    /// If `i` is out of range.
    #[inline]
    pub fn set_result(&mut self, i: usize, data: *mut u8) {
        let operands = self.site.operands().len();
        self.places()[operands..][i] = data;
    }

    /// Returns the addresses of operands and then results.
    #[inline]
    pub fn places(&mut self) -> &mut [*mut u8] {
        match &mut self.body {
            Body::Typed(typed) => typed.addresses(),
            Body::Untyped(addresses) => addresses,
        }
    }

    /// Sets all pointers, calls the handler, and waits until the call is complete.
    ///
    /// # Errors
    /// If the handler fails.
    ///
    /// # Panics
    /// If the numbers of pointers differ from [`CallSite::operands`] and [`CallSite::results`].
    ///
    /// # Safety
    /// The pointers are valid for the bytes of the operands (to read) and results (to write), and aligned for
    /// their elements. Pointers of tokens may be null. If the target is one of another platform than `Host`,
    /// the pointers are addresses in the memory of the run's device ([`RunContext::on_device`]).
    #[inline]
    pub unsafe fn execute(
        &mut self,
        operands: &[*mut u8],
        results: &[*mut u8],
        run: &RunContext,
    ) -> Result<(), CallError> {
        self.set_all(operands, results);
        // SAFETY: the caller guarantees that the pointers, which were just set, are valid (`# Safety` above).
        unsafe { self.call(run) }
    }

    /// Calls the handler with the pointers that were set last, and waits until the call is complete.
    ///
    /// # Errors
    /// If the handler fails.
    ///
    /// # Safety
    /// Same requirements as [`CallFrame::execute`], with the pointers that were set last.
    #[inline]
    pub unsafe fn call(&mut self, run: &RunContext) -> Result<(), CallError> {
        // SAFETY: the caller guarantees valid pointers (`# Safety` above). An incomplete call is waited for
        // immediately below.
        unsafe { self.begin(run) }.map_err(|error| *error)?;
        self.finish()
    }

    /// Calls the handler with the pointers that were set last. Returns `Some` if the call is not complete
    /// when the handler returns.
    ///
    /// # Errors
    /// If the handler fails.
    ///
    /// # Safety
    /// Same requirements as [`CallFrame::call`]. If the call is pending, the pointers and `run` stay valid,
    /// and the buffers untouched, until it is complete.
    #[inline]
    pub unsafe fn launch<'a>(
        &'a mut self,
        run: &'a RunContext,
    ) -> Result<Option<PendingCall<'a>>, CallError> {
        // SAFETY: the caller guarantees that pointers and `run` stay valid until the call is complete
        // (`# Safety` above).
        unsafe { self.begin(run) }.map_err(|error| *error)?;
        Ok(if self.is_started() { Some(PendingCall { frame: self }) } else { None })
    }

    /// Prefetches the memory that a call accesses.
    #[inline]
    pub fn prefetch(&self) {
        if let Body::Typed(typed) = &self.body {
            typed.prefetch();
        }
    }

    /// Returns true if the last call was not complete when the handler returned, and [`CallFrame::finish`]
    /// has not been called since.
    #[inline]
    pub fn is_started(&self) -> bool {
        self.started.is_some()
    }

    /// Calls the handler with the pointers that were set last. If the call is not complete when this function
    /// returns ([`CallFrame::is_started`]), [`CallFrame::finish`] must be called before the buffers are
    /// accessed.
    ///
    /// # Errors
    /// If the handler fails, or if the preceding call was still incomplete and fails. (Boxed, so that the
    /// result is returned in a register.)
    ///
    /// # Safety
    /// Same requirements as [`CallFrame::call`]. The pointers and `run` stay valid, and the buffers
    /// untouched, until [`CallFrame::finish`] returns or the frame is dropped.
    #[inline]
    pub unsafe fn begin(&mut self, run: &RunContext) -> Result<(), Box<CallError>> {
        match &mut self.body {
            Body::Typed(typed) if self.started.is_none() => {
                let call = (Stage::EXECUTE, typed.execute());
                // SAFETY: the caller guarantees valid pointers and a valid `run` until the call is finished
                // (`# Safety` above).
                let error = unsafe { typed.enter(self.site.name(), call, Arc::as_ptr(run.run())) };
                if typed.is_over(error) { Ok(()) } else { self.settle(error) }
            }
            // SAFETY: the caller guarantees the same contract (`# Safety` above).
            _ => unsafe { self.begin_slow(run) },
        }
    }

    /// Slow path of [`CallFrame::begin`]: after an incomplete call, and for functions of the untyped API.
    ///
    /// # Safety
    /// Same requirements as [`CallFrame::begin`].
    #[inline(never)]
    unsafe fn begin_slow(&mut self, run: &RunContext) -> Result<(), Box<CallError>> {
        self.finish()?;
        match self.body {
            // SAFETY: the caller guarantees the contract of `begin` (`# Safety` above).
            Body::Typed(_) => unsafe { self.begin(run) },
            // SAFETY: the caller guarantees the contract of `begin` (`# Safety` above), which `call_untyped`
            // shares.
            Body::Untyped(_) => unsafe { self.call_untyped() },
        }
    }

    /// Handles a call that is not [over](Typed::is_over) when the handler returns.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, error: *mut Error) -> Result<(), Box<CallError>> {
        let Body::Typed(typed) = &mut self.body else { return Ok(()) };
        let failure = match typed.outcome(error) {
            Outcome::Done => typed.context().leave(),
            Outcome::Failed(failure) => {
                // The handler's failure takes precedence over failures of its tasks.
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
    /// Same requirements as [`CallFrame::begin`].
    unsafe fn call_untyped(&mut self) -> Result<(), Box<CallError>> {
        let (Body::Untyped(addresses), Callee::Untyped(callee)) = (&mut self.body, &self.site.callee) else {
            unreachable!("frames are made after their site's callee")
        };
        // The function gets a copy, because it may write to the array, and later calls use the same
        // addresses.
        let mut addresses: SmallVec<[*mut u8; 16]> = SmallVec::from_slice(addresses);
        let (ins, outs) = addresses.split_at_mut(self.site.operands().len());
        let doing = Doing::Call(self.site.name(), Stage::EXECUTE);
        // SAFETY: the caller guarantees that the addresses are valid (`# Safety` above).
        let called = exit::within(&doing, || unsafe { callee.call(ins, outs) });
        called.map_err(|failure| Box::new(self.site.error(Stage::EXECUTE, failure)))
    }

    /// Waits until the latest call is complete, unless an interrupt of this thread's work is due.
    ///
    /// # Errors
    /// If an interrupt is due before the call is complete.
    pub fn finish_unless_due(&mut self) -> Result<Result<(), CallError>, Interrupted> {
        if let Some(completion) = &self.started {
            let _outcome = completion.wait_unless_due()?;
        }
        Ok(self.finish())
    }

    /// Returns the completion of a call that is still running.
    pub fn started(&self) -> Option<&Arc<Completion>> {
        self.started.as_ref()
    }

    /// Waits until the last call that was begun is complete.
    ///
    /// # Errors
    /// If the call fails.
    pub fn finish(&mut self) -> Result<(), CallError> {
        match (self.started.take(), &self.body) {
            (Some(completion), Body::Typed(typed)) => {
                typed.context().end(completion.wait()).map_err(|f| self.site.error(Stage::EXECUTE, f))
            }
            _ => Ok(()),
        }
    }

    /// Runs the target's prepare stage, if it has one. Called before a run. The pointers serve as addresses
    /// only, and may be null.
    ///
    /// # Errors
    /// If the handler fails.
    ///
    /// # Panics
    /// Same conditions as [`CallFrame::execute`].
    ///
    /// # Safety
    /// Same requirements as [`CallFrame::execute`], but the buffers need no contents yet.
    pub unsafe fn prepare(
        &mut self,
        operands: &[*mut u8],
        results: &[*mut u8],
        run: &RunContext,
    ) -> Result<(), CallError> {
        // SAFETY: the caller guarantees the contract of `prepare` (`# Safety` above).
        unsafe { self.run_stage(Stage::PREPARE, operands, results, run) }
    }

    /// Runs the target's initialize stage, if it has one. Called before a run, after all prepare stages.
    ///
    /// # Errors
    /// If the handler fails.
    ///
    /// # Panics
    /// Same conditions as [`CallFrame::execute`].
    ///
    /// # Safety
    /// Same requirements as [`CallFrame::prepare`].
    pub unsafe fn initialize(
        &mut self,
        operands: &[*mut u8],
        results: &[*mut u8],
        run: &RunContext,
    ) -> Result<(), CallError> {
        // SAFETY: the caller guarantees the contract of `prepare` (`# Safety` above).
        unsafe { self.run_stage(Stage::INITIALIZE, operands, results, run) }
    }

    /// Destroys the states that the run's prepare and initialize stages created. Called after a run. Waits
    /// for an incomplete call.
    pub fn end_run(&mut self) {
        // The outcome was reported to the code that started the call, or is not wanted.
        let _outcome: Result<(), CallError> = self.finish();
        if let Body::Typed(typed) = &mut self.body {
            // Reverse order of creation: the later state may use the earlier one.
            typed.context_mut().clear_state(Stage::INITIALIZE);
            typed.context_mut().clear_state(Stage::PREPARE);
        }
    }

    /// # Safety
    /// Same requirements as [`CallFrame::prepare`].
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
        // An incomplete call uses the context. Its outcome was reported to the code that began the call, or
        // is not wanted.
        let _outcome: Result<(), CallError> = self.finish();
        self.set_all(operands, results);
        let Body::Typed(typed) = &mut self.body else { return Ok(()) };
        typed.context_mut().clear_state(stage);
        let (site, run) = (&self.site, Arc::as_ptr(run.run()));
        // SAFETY: the caller guarantees the contract of `prepare` (`# Safety` above). An incomplete call is
        // waited for, or its memory is kept (`started`).
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
        // The handler may use buffers and context until the call is complete. Its outcome is not wanted.
        let _outcome: Result<(), CallError> = self.finish();
    }
}

/// A call whose handler has returned, but which is not complete.
///
/// Dropping the value waits for the call.
#[derive(Debug)]
#[must_use]
pub struct PendingCall<'a> {
    frame: &'a mut CallFrame,
}

impl PendingCall<'_> {
    /// Waits until the call is complete.
    ///
    /// # Errors
    /// If the call fails.
    pub fn wait(self) -> Result<(), CallError> {
        self.frame.finish()
    }

    /// Returns true if [`PendingCall::wait`] would return immediately.
    pub fn is_complete(&self) -> bool {
        self.frame.started.as_ref().is_none_or(|completion| completion.is_complete())
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        // The handler may use buffers and context until the call is complete. Its outcome is not wanted.
        let _outcome: Result<(), CallError> = self.frame.finish();
    }
}

/// Returns the failure of a stage that an interrupt ended.
pub(super) fn interrupted() -> Failure {
    Failure::new(ErrorCode::CANCELLED, "the wait for the call's future was interrupted")
}
