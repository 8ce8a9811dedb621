//! The host's state of one call while a handler runs, behind `XLA_FFI_InvokeContext`.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use farcall_ffi::abi::{self, ErrorCode, Stage, TypeId};
use farcall_ir::interrupt::Interrupt;

use super::attrs::EncodedAttrs;
use super::error::{Failure, report_lost, take_error};
use super::guard;
use super::pool::{TaskFailure, ThreadPool};
use super::services::DeviceServices;
use super::types::{self, Deleter};
use crate::processes::Participant;
use crate::transfers::Transfers;

/// Settings of a run other than its inputs. All custom calls of the run share them.
///
/// After an interrupted run, its incomplete calls keep the context unchanged: later changes do not reach
/// their handlers.
#[derive(Debug)]
pub struct RunContext(Arc<Run>);

/// The contents of a [`RunContext`], shared with calls that outlive their run.
#[derive(Clone, Debug)]
pub struct Run {
    run_id: i64,
    device_ordinal: i32,
    pool: Arc<ThreadPool>,
    user_data: Vec<(i64, UserData)>,
    options: Arc<EncodedAttrs>,
    interrupt: Option<Arc<Interrupt>>,
    transfers: Option<Arc<Transfers>>,
    /// The process that the run is, if it is part of a run on several devices.
    participant: Option<Participant>,
    /// Byte that fills the memory of results before they are written; `None` leaves the memory unspecified.
    unwritten: Option<u8>,
    /// Services of the device; `None` for the host's processor.
    services: Option<Arc<dyn DeviceServices>>,
}

/// A pointer to the embedder's data.
#[derive(Clone, Copy, Debug)]
struct UserData(*mut c_void);

// SAFETY: the caller of `RunContext::set_user_data` guarantees that handlers on any thread may use the
// pointer.
unsafe impl Send for UserData {}
// SAFETY: handlers on several threads may use the pointer at once, by the same guarantee.
unsafe impl Sync for UserData {}

impl RunContext {
    /// Creates the context of a run with a new id, device 0 and the threads of the process.
    pub fn new() -> RunContext {
        RunContext(Arc::new(Run {
            run_id: next_run_id(),
            device_ordinal: 0,
            pool: ThreadPool::global(),
            user_data: Vec::new(),
            options: Arc::default(),
            interrupt: None,
            transfers: None,
            participant: None,
            unwritten: None,
            services: None,
        }))
    }

    /// Changes the contents.
    fn changed(mut self, change: impl FnOnce(&mut Run)) -> RunContext {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Sets the pool for handlers' tasks.
    pub fn with_pool(self, pool: Arc<ThreadPool>) -> RunContext {
        self.changed(|run| run.pool = pool)
    }

    /// Sets the device.
    pub fn with_device_ordinal(self, device_ordinal: i32) -> RunContext {
        self.changed(|run| run.device_ordinal = device_ordinal)
    }

    /// Makes the context one of a device other than the host's processor: handlers get the device's stream
    /// and its scratch memory.
    ///
    /// # Safety
    /// Only handlers of the device's platform are called with the context
    /// ([`CallFrame`](crate::custom_call::CallFrame)). Runs of the engine call handlers of the platform
    /// `Host`, which would read memory of the device.
    pub unsafe fn on_device(self, services: Arc<dyn DeviceServices>) -> RunContext {
        let context = self.with_device_ordinal(services.device_ordinal());
        context.changed(|run| run.services = Some(services))
    }

    /// Sets options for this run, which handlers can read (FFI 0.5).
    pub fn with_options(self, options: EncodedAttrs) -> RunContext {
        self.changed(|run| run.options = Arc::new(options))
    }

    /// Sets an interrupt, which may end the run early.
    pub fn with_interrupt(self, interrupt: Arc<Interrupt>) -> RunContext {
        self.changed(|run| run.interrupt = Some(interrupt))
    }

    /// Sets queues for the values that the program exchanges with its caller.
    pub fn with_transfers(self, transfers: Arc<Transfers>) -> RunContext {
        self.changed(|run| run.transfers = Some(transfers))
    }

    /// Returns the context of one process of a run on several devices: with the process's device, threads and
    /// interrupt, and everything else as in this context.
    pub fn for_process(
        &self,
        participant: &Participant,
        device_ordinal: i32,
        pool: Arc<ThreadPool>,
    ) -> RunContext {
        RunContext(Arc::clone(&self.0)).changed(|run| {
            run.interrupt = Some(Arc::clone(participant.interrupt()));
            run.participant = Some(participant.clone());
            run.device_ordinal = device_ordinal;
            run.pool = pool;
        })
    }

    /// Returns the context with queues for the values that the program exchanges with its caller.
    pub fn with_the_transfers(&self, transfers: Arc<Transfers>) -> RunContext {
        RunContext(Arc::clone(&self.0)).with_transfers(transfers)
    }

    /// Fills the memory of results with this byte before they are written, to detect elements that are never
    /// written.
    pub fn with_unwritten(self, byte: u8) -> RunContext {
        self.changed(|run| run.unwritten = Some(byte))
    }

    /// The byte of [`with_unwritten`](RunContext::with_unwritten), if it is set.
    pub fn unwritten(&self) -> Option<u8> {
        self.0.unwritten
    }

    /// Sets the data returned to handlers that ask for user data of this type.
    ///
    /// # Safety
    /// `data` stays valid while this context is in use, for handlers on any thread. After an interrupted run,
    /// `data` stays valid until the run's incomplete calls are complete.
    pub unsafe fn set_user_data(&mut self, type_id: TypeId, data: *mut c_void) {
        let user_data = &mut Arc::make_mut(&mut self.0).user_data;
        user_data.retain(|(id, _)| *id != type_id.type_id);
        user_data.push((type_id.type_id, UserData(data)));
    }

    /// Gives the context a new run id, so that it can serve another run.
    pub fn next_run(&mut self) {
        self.set_run_id(next_run_id());
    }

    /// Returns the id of the run, unique in the process.
    pub fn run_id(&self) -> i64 {
        self.0.run_id()
    }

    /// Sets the id of the run. Runs with the same id are parts of one logical run.
    pub fn set_run_id(&mut self, run_id: i64) {
        Arc::make_mut(&mut self.0).run_id = run_id;
    }

    /// Returns the device that the run executes on.
    pub fn device_ordinal(&self) -> i32 {
        self.0.device_ordinal()
    }

    /// Returns the threads for handlers' tasks.
    pub fn pool(&self) -> &Arc<ThreadPool> {
        self.0.pool()
    }

    /// Returns the contents, for handlers.
    #[inline]
    pub fn run(&self) -> &Arc<Run> {
        &self.0
    }

    /// The interrupt that can end the run, if there is one.
    pub fn interrupt(&self) -> Option<&Arc<Interrupt>> {
        self.0.interrupt.as_ref()
    }

    /// The process that the run is, if it is part of a run on several devices.
    pub fn participant(&self) -> Option<&Participant> {
        self.0.participant.as_ref()
    }

    /// The queues behind infeed and outfeed, if the run has any.
    pub fn transfers(&self) -> Option<&Transfers> {
        self.0.transfers.as_deref()
    }
}

impl Run {
    /// Number of the run.
    pub fn run_id(&self) -> i64 {
        self.run_id
    }

    /// Number of the device that the program runs on.
    pub fn device_ordinal(&self) -> i32 {
        self.device_ordinal
    }

    /// The threads for tasks of handlers and kernels.
    pub fn pool(&self) -> &Arc<ThreadPool> {
        &self.pool
    }

    /// Options for handlers, encoded for the C interface.
    pub fn options(&self) -> &EncodedAttrs {
        &self.options
    }

    /// Returns the user data of a type, if the run has any.
    pub fn user_data(&self, type_id: TypeId) -> Option<*mut c_void> {
        self.user_data.iter().find(|(id, _)| *id == type_id.type_id).map(|(_, data)| data.0)
    }
}

impl Default for RunContext {
    fn default() -> RunContext {
        RunContext::new()
    }
}

fn next_run_id() -> i64 {
    static NEXT: AtomicI64 = AtomicI64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A handler's state. Dropping it calls the deleter of its type.
#[derive(Debug)]
struct State {
    object: *mut c_void,
    type_id: TypeId,
    deleter: Option<Deleter>,
}

// SAFETY: the interface requires that a state can be used on any thread: a handler gives its state to the
// host, which passes it to handlers on any thread.
unsafe impl Send for State {}
// SAFETY: `&State` gives access to the object's address only, and handlers may use the object on any thread.
unsafe impl Sync for State {}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter {
            // SAFETY: the object has the type that the deleter was registered for, and is not used after this
            // call.
            let error = unsafe { guard::deleter(deleter, self.object) };
            if let Some(failure) = take_error(error) {
                let name = types::type_name(self.type_id).unwrap_or_default();
                report_lost(&format!("destroying a handler's state of type `{name}`"), &failure);
            }
        }
    }
}

/// Slot for the state that a stage creates.
#[derive(Debug, Default)]
pub(crate) struct StateSlot(OnceLock<State>);

impl StateSlot {
    pub(crate) fn clear(&mut self) {
        self.0.take();
    }

    fn set(&self, type_id: TypeId, object: *mut c_void) -> Result<(), Failure> {
        let Some(deleter) = types::deleter(type_id) else {
            return Err(Failure::invalid(format!(
                "type id {} of the state is not registered with this host",
                type_id.type_id
            )));
        };
        let failed = Err(Failure::new(ErrorCode::FAILED_PRECONDITION, "the state is set already"));
        let mut new = Some(State { object, type_id, deleter });
        self.0.get_or_init(|| new.take().expect("runs once"));
        match new {
            None => Ok(()),
            Some(refused) => {
                // The refused state still belongs to the handler.
                std::mem::forget(refused);
                failed
            }
        }
    }

    fn get(&self, type_id: TypeId) -> Result<*mut c_void, Failure> {
        let Some(state) = self.0.get() else {
            return Err(Failure::new(ErrorCode::NOT_FOUND, "the state is not set"));
        };
        if state.type_id != type_id {
            let name = |id: TypeId| types::type_name(id).unwrap_or_else(|| format!("type id {}", id.type_id));
            return Err(Failure::invalid(format!(
                "the state is of type `{}`, not `{}`",
                name(state.type_id),
                name(type_id)
            )));
        }
        Ok(state.object)
    }
}

/// The object behind `XLA_FFI_InvokeContext`.
///
/// Handlers use the context from any thread until their call is complete. Members used by every call come
/// first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Context {
    magic: u64,
    run: AtomicPtr<Run>,
    stage: AtomicU32,
    /// True if the handler used scratch memory or tasks, so that work may remain after the call.
    may_leave_work: AtomicBool,
    /// State of the instantiate stage. It belongs to the call site, which outlives its frames.
    instantiated: NonNull<StateSlot>,
    prepared: StateSlot,
    initialized: StateSlot,
    scratch: Mutex<Vec<Scratch>>,
    tasks: Mutex<Option<Arc<TaskFailure>>>,
}

const MAGIC: u64 = u64::from_le_bytes(*b"farcall!");

/// Scratch memory that a handler holds.
#[derive(Debug)]
struct Scratch {
    data: NonNull<c_void>,
    source: ScratchSource,
}

/// Source of scratch memory.
#[derive(Debug)]
enum ScratchSource {
    /// The allocator of the process.
    Process(Layout),
    Device(Arc<dyn DeviceServices>),
}

// SAFETY: `Scratch` is memory without thread affinity, and the list holds its only owning pointer.
unsafe impl Send for Scratch {}

impl Context {
    /// Creates a context for calls whose instantiate stage left its state in `instantiated`.
    pub(crate) fn new(instantiated: NonNull<StateSlot>) -> Context {
        Context {
            magic: MAGIC,
            run: AtomicPtr::new(null_mut()),
            stage: AtomicU32::new(Stage::INSTANTIATE.0),
            instantiated,
            prepared: StateSlot::default(),
            initialized: StateSlot::default(),
            may_leave_work: AtomicBool::new(false),
            scratch: Mutex::default(),
            tasks: Mutex::default(),
        }
    }

    /// Returns the context behind a handler's pointer.
    ///
    /// # Safety
    /// `ctx` is null, or came from a frame of this host whose call is not complete.
    pub(crate) unsafe fn of<'a>(ctx: *mut abi::InvokeContext) -> Result<&'a Context, Failure> {
        let context = ctx.cast::<Context>();
        if context.is_null() || !context.is_aligned() {
            return Err(Failure::invalid("the call's context is null or not a context"));
        }
        // SAFETY: the caller guarantees that `ctx` is null or a context of this host, and null is excluded
        // above.
        let context = unsafe { &*context };
        if context.magic != MAGIC {
            return Err(Failure::invalid("the call's context was not created by this host"));
        }
        Ok(context)
    }

    /// Begins a call.
    #[inline]
    pub(crate) fn enter(&self, stage: Stage, run: *const Run) {
        self.stage.store(stage.0, Ordering::Relaxed);
        self.run.store(run.cast_mut(), Ordering::Release);
    }

    /// Ends a call that leaves no work behind. Returns false, without ending the call, if work may remain.
    #[inline]
    pub(crate) fn leave_at_once(&self) -> bool {
        let is_all = !self.may_leave_work.load(Ordering::Relaxed);
        if is_all {
            self.run.store(null_mut(), Ordering::Release);
        }
        is_all
    }

    /// Ends a call and frees the scratch memory that the handler has not freed. Returns the first failure so
    /// far in the call's tasks.
    #[inline]
    pub(crate) fn leave(&self) -> Option<Failure> {
        self.run.store(null_mut(), Ordering::Release);
        if self.may_leave_work.load(Ordering::Relaxed) { self.clean_up() } else { None }
    }

    /// Ends a call with a known outcome. An error of the call itself takes precedence over an error of its
    /// tasks.
    pub(crate) fn end(&self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        let tasks = self.leave();
        outcome.and(tasks.map_or(Ok(()), Err))
    }

    #[cold]
    fn clean_up(&self) -> Option<Failure> {
        self.may_leave_work.store(false, Ordering::Relaxed);
        self.free_all();
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        tasks.and_then(|tasks| tasks.take())
    }

    /// Returns the object that collects failures of the running call's tasks.
    pub(super) fn tasks(&self) -> Arc<TaskFailure> {
        self.may_leave_work.store(true, Ordering::Relaxed);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tasks.get_or_insert_default())
    }

    /// Drops the state of the prepare or initialize stage: before a run's calls of that stage, after the
    /// stage failed, and when the run ends.
    pub(crate) fn clear_state(&mut self, stage: Stage) {
        match stage {
            Stage::PREPARE => self.prepared.clear(),
            Stage::INITIALIZE => self.initialized.clear(),
            _ => {}
        }
    }

    /// Returns the run that the call is part of.
    pub(crate) fn run(&self) -> Result<&Run, Failure> {
        let run = self.run.load(Ordering::Acquire);
        // SAFETY: the pointer was passed to `enter` and is valid until `leave`, which resets it to null.
        unsafe { run.as_ref() }.ok_or_else(|| {
            let stage = Stage(self.stage.load(Ordering::Relaxed)).name();
            Failure::new(ErrorCode::FAILED_PRECONDITION, format!("there is no run in the {stage} stage"))
        })
    }

    fn slot(&self, stage: Stage) -> Result<&StateSlot, Failure> {
        match stage {
            // SAFETY: the call site owns the slot, and outlives its frames.
            Stage::INSTANTIATE => Ok(unsafe { self.instantiated.as_ref() }),
            Stage::PREPARE => Ok(&self.prepared),
            Stage::INITIALIZE => Ok(&self.initialized),
            Stage::EXECUTE | Stage::RECORD => {
                Err(Failure::invalid(format!("the {} stage has no state", stage.name())))
            }
            Stage(other) => Err(Failure::invalid(format!("there is no stage {other}"))),
        }
    }

    pub(crate) fn set_state(
        &self,
        stage: Stage,
        type_id: TypeId,
        object: *mut c_void,
    ) -> Result<(), Failure> {
        let slot = self.slot(stage)?;
        let now = Stage(self.stage.load(Ordering::Relaxed));
        if now != stage {
            return Err(Failure::new(
                ErrorCode::FAILED_PRECONDITION,
                format!("the state of the {} stage cannot be set in the {} stage", stage.name(), now.name()),
            ));
        }
        slot.set(type_id, object)
    }

    pub(crate) fn state(&self, stage: Stage, type_id: TypeId) -> Result<*mut c_void, Failure> {
        self.slot(stage)?.get(type_id)
    }

    /// Returns the stream of the run's device. As in XLA, the instantiate and prepare stages have none.
    pub(crate) fn stream(&self) -> Result<*mut c_void, Failure> {
        let stage = Stage(self.stage.load(Ordering::Relaxed));
        let services = self.run().ok().and_then(|run| run.services.as_ref());
        match services {
            _ if matches!(stage, Stage::INSTANTIATE | Stage::PREPARE) => Err(Failure::new(
                ErrorCode::UNIMPLEMENTED,
                format!("the {} stage has no stream", stage.name()),
            )),
            None => Err(Failure::new(ErrorCode::UNIMPLEMENTED, "the platform Host has no streams")),
            Some(services) => Ok(services.stream()),
        }
    }

    pub(crate) fn allocate(&self, size: usize, alignment: usize) -> Result<*mut c_void, Failure> {
        let run = self.run()?;
        let alignment = alignment.max(1);
        if !alignment.is_power_of_two() {
            return Err(Failure::invalid(format!("alignment {alignment} is not a power of two")));
        }
        let limit = run.services.as_ref().map_or(MAX_ALIGN_BYTES, |services| services.max_alignment());
        if alignment > limit {
            return Err(Failure::invalid(format!("alignment {alignment} is more than {limit}")));
        }
        let exhausted =
            || Failure::new(ErrorCode::RESOURCE_EXHAUSTED, format!("{size} bytes of scratch memory"));
        let scratch = match &run.services {
            Some(services) => Scratch {
                data: services.allocate(size).ok_or_else(exhausted)?,
                source: ScratchSource::Device(Arc::clone(services)),
            },
            None => {
                let layout = Layout::from_size_align(size.max(1), alignment.max(MIN_ALIGN_BYTES));
                let layout = layout.map_err(|_| exhausted())?;
                // SAFETY: the size is not zero.
                let data = NonNull::new(unsafe { alloc(layout) }).ok_or_else(exhausted)?;
                Scratch { data: data.cast(), source: ScratchSource::Process(layout) }
            }
        };
        let data = scratch.data.as_ptr();
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        self.may_leave_work.store(true, Ordering::Relaxed);
        Ok(data)
    }

    pub(crate) fn free(&self, data: *mut c_void) -> Result<(), Failure> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(i) = scratch.iter().rposition(|s| s.data.as_ptr() == data) else {
            return Err(Failure::invalid("this is not scratch memory of this call, or it is free already"));
        };
        scratch.swap_remove(i).free();
        Ok(())
    }

    fn free_all(&self) {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        scratch.drain(..).for_each(Scratch::free);
    }
}

/// Minimum alignment of scratch memory in bytes: a cache line.
const MIN_ALIGN_BYTES: usize = 64;

/// Maximum alignment of scratch memory in bytes: a huge page.
const MAX_ALIGN_BYTES: usize = 2 << 20;

impl Scratch {
    fn free(self) {
        match self.source {
            // SAFETY: allocated with this layout, and removed from the list that held the only pointer.
            ScratchSource::Process(layout) => unsafe { dealloc(self.data.as_ptr().cast(), layout) },
            // SAFETY: allocated by these services, and removed from the list that held the only pointer.
            ScratchSource::Device(services) => unsafe { services.free(self.data) },
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.free_all();
        self.magic = 0;
    }
}
