//! Buffers that a handler keeps after it has returned, in calls that complete later.
//!
//! A handler that takes an operand as [`Kept`] or a result as [`KeptMut`] may move it into a task, for
//! example of the host's pool, and return. The call completes when its last kept buffer is dropped. Until
//! then, the host does not touch the memory, delays everything that depends on the results, and continues
//! with the rest of the program.
//!
//! **Invariants.** A [`Pending`] call is shared by its kept buffers and, until the handler has returned, by
//! the [`Guard`] of its decoder. Dropping the last share completes the host's future. A handler never returns
//! with kept buffers but no future. If there can be no future (an old host, a panic), the handler's return
//! waits for the kept buffers, and runs the tasks that no thread of the pool has started.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::null_mut;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::abi;
use crate::buffer::{FromView, View};
use crate::error::{Boxed, Error, Result};
use crate::host::{Host, function};
use crate::panics;
use crate::pool::Tasks;

/// An operand that may be kept after the handler has returned, as a parameter `x: Kept<Buffer<T>>` or
/// `x: Kept<AnyBuffer>`. Dereferences to the buffer.
///
/// ```
/// # use farcall_ffi::prelude::*;
/// use farcall_ffi::{Kept, KeptMut};
///
/// /// Doubles `x` on the host's pool, while the program goes on.
/// #[handler(name = "double_later")]
/// fn double_later(x: Kept<Buffer<f32>>, mut y: KeptMut<Buffer<f32>>, host: &Context) -> Result<()> {
///     ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
///     host.spawn(move || {
///         for (y, x) in y.iter_mut().zip(x.iter()) {
///             *y = 2.0 * x;
///         }
///     })
/// }
/// ```
///
/// The call is over when its last kept buffer is dropped. It fails if the handler returned an error, if
/// [`fail`](Kept::fail) was called, or if a kept buffer was dropped by a panic. A kept buffer that is never
/// dropped (`std::mem::forget`) keeps the program waiting.
pub struct Kept<B: ?Sized> {
    view: View,
    /// Owns the dimensions that `view` points to, because the dimensions in the frame may be freed before the
    /// call is over.
    _dims: Box<[i64]>,
    call: Arc<Pending>,
    buffer: PhantomData<fn() -> *const B>,
}

/// A result that may be kept after the handler has returned, as a parameter `y: KeptMut<Buffer<T>>` or
/// `y: KeptMut<AnyBuffer>`. Dereferences to the buffer; see [`Kept`].
pub struct KeptMut<B: ?Sized>(Kept<B>);

impl<B: ?Sized> Kept<B> {
    /// Drops the buffer and makes the call fail, once all kept buffers are dropped. If a call has several
    /// errors, the first one is reported.
    pub fn fail(self, error: Error) {
        self.call.fail(error);
    }
}

impl<B: ?Sized> KeptMut<B> {
    /// Drops the buffer and makes the call fail, like [`Kept::fail`].
    pub fn fail(self, error: Error) {
        self.0.fail(error);
    }
}

impl<B: FromView + ?Sized> Deref for Kept<B> {
    type Target = B;

    fn deref(&self) -> &B {
        // SAFETY: `decode` checked the view against the type, and the host keeps the memory until the call is
        // over. `no_overlap` checked that no argument writes to an operand's memory; a result is borrowed
        // through `self`.
        unsafe { B::from_view(&self.view) }
    }
}

impl<B: FromView + ?Sized> Deref for KeptMut<B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.0
    }
}

impl<B: FromView + ?Sized> DerefMut for KeptMut<B> {
    fn deref_mut(&mut self) -> &mut B {
        // SAFETY: `decode` checked the view against the type, and the host keeps the memory until the call is
        // over. `no_overlap` checked that this is the only view of the memory.
        unsafe { B::from_view_mut(&mut self.0.view) }
    }
}

// SAFETY: a kept buffer owns its dimensions and its share of the call. It only gives access to elements for a
// `B: FromView` (`Buffer` or `AnyBuffer`), whose elements are `Send + Sync`.
unsafe impl<B: ?Sized> Send for Kept<B> {}
// SAFETY: a shared reference only gives access to the dimensions and to elements, which are `Send + Sync`.
unsafe impl<B: ?Sized> Sync for Kept<B> {}

impl<B: FromView + ?Sized> std::fmt::Debug for Kept<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.view.fmt(f)
    }
}

impl<B: FromView + ?Sized> std::fmt::Debug for KeptMut<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<B: ?Sized> Drop for Kept<B> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.call.fail(panics::current());
        }
    }
}

/// Slot of a kept buffer: its view, and a share of the call, which moves to the argument.
#[doc(hidden)]
pub struct Slot {
    pub(crate) view: View,
    pub(crate) call: Option<Arc<Pending>>,
}

impl Slot {
    pub(crate) const EMPTY: Slot = Slot { view: View::EMPTY, call: None };

    pub(crate) fn keep<B: ?Sized>(&mut self) -> Kept<B> {
        let mut view = self.view;
        let dims = view.own_dims();
        let call = self.call.take().expect("a parameter is taken once, after it was read");
        Kept { view, _dims: dims, call, buffer: PhantomData }
    }

    pub(crate) fn keep_mut<B: ?Sized>(&mut self) -> KeptMut<B> {
        KeptMut(self.keep())
    }
}

/// A call that may complete after its handler has returned.
#[derive(Debug)]
pub(crate) struct Pending {
    handler: &'static str,
    host: Host,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    error: Option<Error>,
    waiter: Waiter,
}

/// The party to notify when the call is over.
#[derive(Debug, Default)]
enum Waiter {
    #[default]
    None,
    /// The host, through its future.
    Future(*mut abi::Future),
    /// The handler's thread.
    Thread(Sender<Option<Error>>),
}

// SAFETY: the host's table and futures may be used from any thread. The call's context may not be used from
// other threads, and is left out (`Guard::new`).
unsafe impl Send for Pending {}
// SAFETY: the host's table and futures may be used from any thread, and the rest is behind a lock.
unsafe impl Sync for Pending {}

impl Pending {
    fn fail(&self, error: Error) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.error.get_or_insert(error);
    }

    fn set_waiter(&self, waiter: Waiter) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).waiter = waiter;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let progress = self.progress.get_mut().unwrap_or_else(PoisonError::into_inner);
        match (std::mem::take(&mut progress.waiter), progress.error.take()) {
            (Waiter::None, _) => {}
            // Sending only fails if the handler's thread no longer waits.
            (Waiter::Thread(thread), error) => drop(thread.send(error)),
            (Waiter::Future(future), error) => {
                let error = error.map(|error| error.context(self.handler));
                if let Err(error) = complete(&self.host, future, error.as_ref()) {
                    eprintln!(
                        "{}: the host did not accept the completion of the call: {error}",
                        self.handler
                    );
                }
            }
        }
    }
}

/// The decoder's share of the call. If dropped by a panic, it waits for the other shares.
#[derive(Debug)]
pub(crate) struct Guard {
    call: Option<Arc<Pending>>,
    tasks: Tasks,
}

impl Guard {
    pub(crate) fn new(handler: &'static str, host: &Host) -> Guard {
        let host = Host { ctx: null_mut(), ..*host };
        let call = Arc::new(Pending { handler, host, progress: Mutex::default() });
        Guard { call: Some(call), tasks: Tasks::default() }
    }

    /// Returns a share for a kept buffer.
    pub(crate) fn share(&self) -> Option<Arc<Pending>> {
        self.call.clone()
    }

    /// Returns the list in which the call's tasks are recorded.
    pub(crate) fn tasks(&self) -> Tasks {
        self.tasks.clone()
    }

    /// Ends the handler's part of the call after it has returned. Gives the frame a future if buffers are
    /// still kept.
    ///
    /// # Safety
    /// `frame` is the call's frame. If the host's table has the functions for futures, the frame has the
    /// member `future`.
    #[cold]
    pub(crate) unsafe fn finish(mut self, frame: *mut abi::CallFrame, returned: Boxed) -> Boxed {
        let Some(call) = self.call.take() else { return returned };
        let call = match Arc::try_unwrap(call) {
            Ok(mut call) => {
                let progress = call.progress.get_mut().unwrap_or_else(PoisonError::into_inner);
                let error = progress.error.take().map(|e| Box::new(e.context(call.handler)));
                return returned.and(error.map_or(Ok(()), Err));
            }
            Err(call) => call,
        };
        // SAFETY: the frame was decoded, so its size covers the stage.
        let future = match unsafe { (*frame).stage } {
            abi::Stage::EXECUTE => create(&call.host).ok(),
            _ => None,
        };
        let Some(future) = future else { return returned.and(wait(call, || self.tasks.run())) };
        if let Err(error) = returned {
            call.fail(*error);
        }
        call.set_waiter(Waiter::Future(future));
        // SAFETY: the host has the functions for futures (`create`), so the caller guarantees this member
        // (`# Safety` above), although the frame's `struct_size` does not cover it.
        unsafe { (*frame).future = future };
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            // The panic is the more informative error.
            let _ = wait(call, || self.tasks.cancel());
        }
    }
}

/// Waits until all kept buffers are dropped. First runs or cancels the tasks that have not started, because
/// this thread may be the only one of the pool.
fn wait(call: Arc<Pending>, settle_tasks: impl FnOnce()) -> Boxed {
    let handler = call.handler;
    let (sender, receiver) = channel();
    call.set_waiter(Waiter::Thread(sender));
    drop(call);
    settle_tasks();
    match receiver.recv() {
        Ok(Some(error)) => Err(Box::new(error.context(handler))),
        Ok(None) | Err(_) => Ok(()),
    }
}

fn create(host: &Host) -> Result<*mut abi::Future> {
    let function = function!(host, future_create)?;
    // A future is only useful if it can be completed.
    function!(host, future_set_available)?;
    function!(host, future_set_error)?;
    let mut args = abi::FutureCreateArgs {
        struct_size: size_of::<abi::FutureCreateArgs>(),
        extension_start: null_mut(),
        future: null_mut(),
    };
    // SAFETY: a function of the host, with the arguments it expects.
    let error = unsafe { function(&mut args) };
    host.check(error)?;
    if args.future.is_null() {
        return Err(Error::internal("the host made no future"));
    }
    Ok(args.future)
}

fn complete(host: &Host, future: *mut abi::Future, error: Option<&Error>) -> Result<()> {
    let outcome = match error {
        None => {
            let mut args = abi::FutureSetAvailableArgs {
                struct_size: abi::FutureSetAvailableArgs::STRUCT_SIZE,
                extension_start: null_mut(),
                future,
            };
            let function = function!(host, future_set_available)?;
            // SAFETY: a function of the host, with the arguments it expects; called once for this future.
            unsafe { function(&mut args) }
        }
        Some(error) => {
            let mut args = abi::FutureSetErrorArgs {
                struct_size: abi::FutureSetErrorArgs::STRUCT_SIZE,
                extension_start: null_mut(),
                future,
                error: host.error(error),
            };
            let function = function!(host, future_set_error)?;
            // SAFETY: a function of the host, with the arguments it expects; called once for this future. The
            // host takes ownership of the error.
            unsafe { function(&mut args) }
        }
    };
    host.check(outcome)
}
