//! Call frames: the structs of the C interface for one call site in one run context.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use farcall_ffi::abi::{self, ArgType, Buffer, Error, Handler, RetType, Stage};

use super::error::CallError;
use super::site::{CallSite, Callee, Leaf};
use crate::host::context::{Context, RunContext};
use crate::host::error::{Failure, take_error};
use crate::host::future::{self, Completion};
use crate::host::metadata::empty_frame;
use crate::host::{exit, guard};
use crate::registry::exports::host_api;

/// The structs that one call site's handler is called with, built once per run context.
///
/// A run sets the data pointers and calls: nothing is allocated, locked or looked up. One frame
/// serves one call at a time; concurrent runs have a frame each.
#[derive(Debug)]
pub struct CallFrame {
    site: Arc<CallSite>,
    body: Body,
    /// The call that [`CallFrame::start`] left incomplete.
    started: Option<Arc<Completion>>,
}

#[derive(Debug)]
enum Body {
    Typed(Box<Typed>),
    Untyped { ins: Vec<*const c_void>, outs: Vec<*mut c_void> },
}

// SAFETY: what the pointers in a frame point to is owned by the frame, by its call site (which is
// `Sync`), or by the caller of `execute`, whose promise covers the thread it calls from.
unsafe impl Send for CallFrame {}

/// A frame of the typed API. Not moved once built, as its members point to each other.
#[derive(Debug)]
struct Typed {
    frame: abi::CallFrame,
    context: Context,
    execute: Handler,
    operands: Buffers,
    results: Buffers,
}

impl CallFrame {
    /// A frame of a call site.
    #[expect(clippy::missing_panics_doc, reason = "a registered target has an execute handler")]
    pub fn new(site: &Arc<CallSite>) -> CallFrame {
        let body = match &site.callee {
            Callee::Typed { bundle, .. } => {
                let execute = bundle.execute.expect("a typed target has an execute handler");
                Body::Typed(Typed::new(site, execute, site.operands(), site.results()))
            }
            Callee::Untyped(_) => Body::Untyped {
                ins: vec![std::ptr::null(); site.operands().len()],
                outs: vec![null_mut(); site.results().len()],
            },
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
        match &mut self.body {
            Body::Typed(typed) => typed.operands.set(i, data),
            Body::Untyped { ins, .. } => ins[i] = data.cast_const().cast(),
        }
    }

    /// Sets where result number `i` (in [`CallSite::results`]) goes.
    ///
    /// # Panics
    /// If there is no such result.
    #[inline]
    pub fn set_result(&mut self, i: usize, data: *mut u8) {
        match &mut self.body {
            Body::Typed(typed) => typed.results.set(i, data),
            Body::Untyped { outs, .. } => outs[i] = data.cast(),
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
        let completion = unsafe { self.enter(run) }?;
        match (&self.body, completion) {
            (Body::Typed(typed), Some(completion)) => {
                let (site, context) = (&*self.site, &typed.context);
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
        self.finish()?;
        // SAFETY: the caller's promise.
        self.started = unsafe { self.enter(run) }?;
        Ok(self.started.is_some())
    }

    /// Waits until the call that [`CallFrame::start`] left incomplete is complete.
    ///
    /// # Errors
    /// If it fails.
    #[inline]
    pub fn finish(&mut self) -> Result<(), CallError> {
        match (self.started.take(), &self.body) {
            (Some(completion), Body::Typed(typed)) => {
                typed.context.end(completion.wait()).map_err(|f| self.site.error(Stage::EXECUTE, f))
            }
            _ => Ok(()),
        }
    }

    /// Calls the handler; `Some` if the call is not complete when it returns.
    ///
    /// # Safety
    /// As [`CallFrame::launch`].
    #[inline]
    unsafe fn enter(&mut self, run: &RunContext) -> Result<Option<Arc<Completion>>, CallError> {
        let site = &*self.site;
        match &mut self.body {
            Body::Typed(typed) => {
                let execute = typed.execute;
                let inside = exit::enters(site.name(), Stage::EXECUTE);
                // SAFETY: the caller's promise.
                let outcome = unsafe { typed.enter(Stage::EXECUTE, execute, run) };
                drop(inside);
                match outcome {
                    Outcome::Done => match typed.context.leave() {
                        None => Ok(None),
                        Some(failure) => Err(site.error(Stage::EXECUTE, failure)),
                    },
                    Outcome::Failed(failure) => {
                        // What its tasks have to say comes second.
                        typed.context.leave();
                        Err(site.error(Stage::EXECUTE, failure))
                    }
                    Outcome::Pending(completion) => Ok(Some(completion)),
                }
            }
            Body::Untyped { ins, outs } => {
                let Callee::Untyped(callee) = &site.callee else {
                    unreachable!("frames are made after their site's callee")
                };
                let _inside = exit::enters(site.name(), Stage::EXECUTE);
                // SAFETY: the caller's promise.
                unsafe { callee.call(ins, outs) }.map_err(|f| site.error(Stage::EXECUTE, f))?;
                Ok(None)
            }
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
            typed.context.clear_state(Stage::INITIALIZE);
            typed.context.clear_state(Stage::PREPARE);
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
        let (Body::Typed(typed), Callee::Typed { bundle, .. }) = (&mut self.body, &self.site.callee) else {
            return Ok(());
        };
        let handler = if stage == Stage::PREPARE { bundle.prepare } else { bundle.initialize };
        let Some(handler) = handler else { return Ok(()) };
        typed.context.clear_state(stage);
        typed.operands.set_all(operands);
        typed.results.set_all(results);
        let _inside = exit::enters(self.site.name(), stage);
        // SAFETY: the caller's promise.
        unsafe { typed.run_to_end(stage, handler, run) }.map_err(|f| {
            typed.context.clear_state(stage);
            self.site.error(stage, f)
        })
    }

    #[inline]
    fn set_all(&mut self, operands: &[*mut u8], results: &[*mut u8]) {
        match &mut self.body {
            Body::Typed(typed) => {
                typed.operands.set_all(operands);
                typed.results.set_all(results);
            }
            Body::Untyped { ins, outs } => {
                assert_eq!((ins.len(), outs.len()), (operands.len(), results.len()), "{COUNTS}");
                ins.iter_mut().zip(operands).for_each(|(slot, data)| *slot = data.cast_const().cast());
                outs.iter_mut().zip(results).for_each(|(slot, data)| *slot = data.cast());
            }
        }
    }
}

impl Drop for CallFrame {
    fn drop(&mut self) {
        // The handler may use buffers and context until then, whatever came of it.
        let _outcome: Result<(), CallError> = self.finish();
    }
}

const COUNTS: &str = "a pointer per operand and result of the call site";

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
    let _inside = exit::enters(site.name(), Stage::INSTANTIATE);
    // SAFETY: there are no buffers.
    unsafe { typed.run_to_end(Stage::INSTANTIATE, handler, std::ptr::null()) }
        .map_err(|f| site.error(Stage::INSTANTIATE, f))
}

enum Outcome {
    Done,
    Failed(Failure),
    Pending(Arc<Completion>),
}

impl Typed {
    fn new(site: &CallSite, execute: Handler, operands: &[Leaf], results: &[Leaf]) -> Box<Typed> {
        let mut typed = Box::new(Typed {
            frame: empty_frame(host_api(), Stage::EXECUTE),
            context: Context::new(site.state()),
            execute,
            operands: Buffers::new(operands),
            results: Buffers::new(results),
        });
        let this = &mut *typed;
        if let Callee::Typed { attrs, .. } = &site.callee {
            this.frame.attrs = attrs.abi();
        }
        this.frame.args.size = this.operands.size();
        this.frame.args.types = this.operands.kinds.as_ptr().cast::<ArgType>();
        this.frame.args.args = this.operands.pointers.as_ptr();
        this.frame.rets.size = this.results.size();
        this.frame.rets.types = this.results.kinds.as_ptr().cast::<RetType>();
        this.frame.rets.rets = this.results.pointers.as_ptr();
        typed
    }

    /// Calls a handler of a stage; the context stays entered.
    ///
    /// # Safety
    /// As [`CallFrame::launch`]; `run` may be null in the instantiate stage.
    #[inline]
    unsafe fn enter(&mut self, stage: Stage, handler: Handler, run: *const RunContext) -> Outcome {
        self.operands.restore_dims();
        self.results.restore_dims();
        self.context.enter(stage, run);
        self.frame.ctx = (&raw mut self.context).cast();
        self.frame.stage = stage;
        self.frame.future = null_mut();
        // SAFETY: the frame is complete, and what it points to lives in `self`, in the call site or
        // by the caller's promise.
        let error = unsafe { guard::handler(handler, &raw mut self.frame) };
        if error.is_null() && self.frame.future.is_null() {
            return Outcome::Done;
        }
        after(error, self.frame.future)
    }

    /// Calls a handler of a stage and waits until the call is complete.
    ///
    /// # Safety
    /// As [`Typed::enter`].
    unsafe fn run_to_end(
        &mut self,
        stage: Stage,
        handler: Handler,
        run: *const RunContext,
    ) -> Result<(), Failure> {
        // SAFETY: the caller's promise.
        let outcome = match unsafe { self.enter(stage, handler, run) } {
            Outcome::Done => Ok(()),
            Outcome::Failed(failure) => Err(failure),
            Outcome::Pending(completion) => completion.wait(),
        };
        self.context.end(outcome)
    }
}

/// The outcome of a call that did not just succeed.
#[cold]
fn after(error: *mut Error, future: *mut abi::Future) -> Outcome {
    if let Some(failure) = take_error(error) {
        future::give_up(future);
        return Outcome::Failed(failure);
    }
    match future::claim(future) {
        Some(completion) => Outcome::Pending(completion),
        None => Outcome::Failed(Failure::invalid("the handler returned a future that is not this host's")),
    }
}

/// Buffers of a frame, and the arrays that point to them. Owned here, used through pointers: the
/// frame and the handlers have them too.
#[derive(Debug)]
struct Buffers {
    buffers: NonNull<Buffer>,
    pointers: NonNull<*mut c_void>,
    /// [`ArgType::BUFFER`] and [`RetType::BUFFER`] are the same number.
    kinds: NonNull<u32>,
    /// The dimensions of all buffers, one after the other. Handlers can write to them.
    dims: NonNull<i64>,
    /// What they are.
    true_dims: Box<[i64]>,
    len: usize,
}

const _: () = assert!(ArgType::BUFFER.0 == RetType::BUFFER.0);

impl Buffers {
    fn new(leaves: &[Leaf]) -> Buffers {
        let true_dims: Box<[i64]> = leaves.iter().flat_map(|leaf| leaf.dims.iter().copied()).collect();
        let dims: NonNull<i64> = leak(true_dims.clone()).cast();
        let mut at = 0;
        let buffers = leaves.iter().map(|leaf| {
            // SAFETY: all dimensions before this leaf's are there.
            let first = unsafe { dims.add(at) };
            at += leaf.dims.len();
            Buffer {
                struct_size: Buffer::STRUCT_SIZE,
                extension_start: null_mut(),
                dtype: leaf.dtype,
                data: null_mut(),
                rank: i64::try_from(leaf.dims.len()).unwrap_or(i64::MAX),
                dims: first.as_ptr(),
            }
        });
        let buffers: NonNull<[Buffer]> = leak(buffers.collect());
        let len = buffers.len();
        let buffers: NonNull<Buffer> = buffers.cast();
        // SAFETY: `i` is less than the number of buffers.
        let pointers = leak((0..len).map(|i| unsafe { buffers.add(i) }.as_ptr().cast::<c_void>()).collect());
        let kinds = leak(vec![ArgType::BUFFER.0; len].into());
        Buffers { buffers, pointers: pointers.cast(), kinds: kinds.cast(), dims, true_dims, len }
    }

    /// Undoes what a handler wrote to the dimensions: it must not harm the next call.
    #[inline]
    fn restore_dims(&mut self) {
        // A loop without branches: there are few, and a call has no nanosecond to spare.
        let changed = self.true_dims.iter().enumerate().fold(0, |changed, (i, dim)| {
            // SAFETY: as many dimensions as true ones, and nobody else uses them between calls.
            changed | (unsafe { self.dims.add(i).read() } ^ dim)
        });
        if changed != 0 {
            // SAFETY: as above.
            unsafe {
                self.dims
                    .copy_from_nonoverlapping(NonNull::from(&*self.true_dims).cast(), self.true_dims.len())
            };
        }
    }

    fn size(&self) -> i64 {
        i64::try_from(self.len).unwrap_or(i64::MAX)
    }

    #[inline]
    fn set(&mut self, i: usize, data: *mut u8) {
        assert!(i < self.len, "there are {} buffers, not {}", self.len, i + 1);
        // SAFETY: `i` is in range, and nobody else uses the buffers between calls.
        unsafe { (*self.buffers.add(i).as_ptr()).data = data.cast() };
    }

    #[inline]
    fn set_all(&mut self, data: &[*mut u8]) {
        assert_eq!(data.len(), self.len, "{COUNTS}");
        for (i, data) in data.iter().enumerate() {
            // SAFETY: as in `set`.
            unsafe { (*self.buffers.add(i).as_ptr()).data = data.cast() };
        }
    }
}

/// Gives up a box's memory until [`reclaim`].
fn leak<T>(values: Box<[T]>) -> NonNull<[T]> {
    NonNull::from(Box::leak(values))
}

/// Frees what [`leak`] gave up.
///
/// # Safety
/// `first` is from a `leak` of `len` values, and used no more.
unsafe fn reclaim<T>(first: NonNull<T>, len: usize) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(first.as_ptr(), len)) });
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: all are from `leak` with these lengths, and calls are over.
        unsafe {
            reclaim(self.buffers, self.len);
            reclaim(self.pointers, self.len);
            reclaim(self.kinds, self.len);
            reclaim(self.dims, self.true_dims.len());
        }
    }
}
