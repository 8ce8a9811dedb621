//! Events: the completion of asynchronous work.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use farcall::ffi::unwind::{catch, discard};
use farcall_pjrt_abi::{
    EventAwait, EventCallback, EventCreate, EventDestroy, EventError, EventHandle, EventIsReady,
    EventOnReady, EventSet,
};

use crate::call::{Arguments, Call};
use crate::fork;
use crate::object::{Object, into_handle};
use crate::status::{Outcome, Status};

/// Completion of asynchronous work, successful or not. Clones share the state.
#[derive(Clone)]
pub(crate) struct Event {
    /// `None` for work that has succeeded.
    inner: Option<Arc<Inner>>,
}

/// Creates the event of pending work.
impl Default for Event {
    fn default() -> Event {
        Event { inner: Some(Arc::default()) }
    }
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    is_ready: Condvar,
}

enum State {
    Pending(Vec<Callback>),
    Ready(Outcome),
}

type Callback = Box<dyn FnOnce(&Outcome) + Send>;

impl Default for State {
    fn default() -> State {
        State::Pending(Vec::new())
    }
}

impl Object for Event {
    type Abi = EventHandle;
    const KIND: &'static str = "event";
}

impl Event {
    /// Creates the event of work that is complete.
    pub(crate) fn complete(outcome: Outcome) -> Event {
        let failed = |status| {
            Arc::new(Inner { state: Mutex::new(State::Ready(Err(status))), is_ready: Condvar::new() })
        };
        Event { inner: outcome.err().map(failed) }
    }

    /// Completes the event. Further outcomes are ignored.
    pub(crate) fn set(&self, outcome: Outcome) {
        let Some(inner) = &self.inner else { return };
        let callbacks = match &mut *inner.state() {
            State::Ready(_) => return,
            state => match std::mem::replace(state, State::Ready(outcome.clone())) {
                State::Pending(callbacks) => callbacks,
                State::Ready(_) => Vec::new(),
            },
        };
        inner.is_ready.notify_all();
        for callback in callbacks {
            // A callback that panics must not keep the others from being called.
            if let Err(panic) = catch(|| callback(&outcome)) {
                discard(panic);
            }
        }
    }

    /// Returns the outcome if the work is complete.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        let Some(inner) = &self.inner else { return Some(Ok(())) };
        match &*inner.state() {
            State::Ready(outcome) => Some(outcome.clone()),
            State::Pending(_) => None,
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.inner.as_ref().is_none_or(|inner| matches!(&*inner.state(), State::Ready(_)))
    }

    /// Waits for the work.
    pub(crate) fn wait(&self) -> Outcome {
        let Some(inner) = &self.inner else { return Ok(()) };
        let mut state = inner.state();
        loop {
            match &*state {
                State::Ready(outcome) => return outcome.clone(),
                State::Pending(_) if fork::is_forked() => return Err(fork::error()),
                State::Pending(_) => {
                    state = inner.is_ready.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Calls a function once the work is complete: immediately, or on the thread that completes the work.
    pub(crate) fn on_ready(&self, callback: impl FnOnce(&Outcome) + Send + 'static) {
        let Some(inner) = &self.inner else { return callback(&Ok(())) };
        let outcome = match &mut *inner.state() {
            State::Ready(outcome) => outcome.clone(),
            State::Pending(_) if fork::is_forked() => Err(fork::error()),
            State::Pending(callbacks) => return callbacks.push(Box::new(callback)),
        };
        callback(&outcome);
    }

    /// Calls a function once all events are complete: immediately, or on the thread that completes the last one.
    pub(crate) fn after_all(events: Vec<Event>, work: impl FnOnce() + Send + 'static) {
        if events.is_empty() {
            return work();
        }
        let remaining = Arc::new((AtomicUsize::new(events.len()), Mutex::new(Some(work))));
        for event in events {
            let remaining = Arc::clone(&remaining);
            event.on_ready(move |_| {
                let (count, work) = &*remaining;
                if count.fetch_sub(1, Ordering::AcqRel) == 1 {
                    let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
                    work.into_iter().for_each(|work| work());
                }
            });
        }
    }

    /// Returns a handle for the caller to own.
    pub(crate) fn into_handle(self) -> *mut EventHandle {
        into_handle(Box::new(self))
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An argument of the caller's callback. Callbacks may be called on any thread.
struct UserArgument(*mut c_void);

// SAFETY: the interface lets the plugin call an event's callback on any thread.
unsafe impl Send for UserArgument {}

impl UserArgument {
    fn pass(&self, callback: EventCallback, outcome: &Outcome) {
        let error = match outcome {
            Ok(()) => std::ptr::null_mut(),
            Err(status) => status.clone().into_handle(),
        };
        // SAFETY: the caller registered this callback with this argument; it takes over the error.
        unsafe { callback(error, self.0) };
    }
}

impl Call for EventDestroy {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.take::<Event>("event", |a| a.event).map(drop)
    }
}

impl Call for EventIsReady {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.is_ready = args.object::<Event>("event", |a| a.event)?.is_ready().into();
        Ok(())
    }
}

impl Call for EventError {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let event: &Event = args.object("event", |a| a.event)?;
        event.outcome().unwrap_or_else(|| Err(Status::invalid("PJRT_Event_Error: the event is not ready")))
    }
}

impl Call for EventAwait {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.object::<Event>("event", |a| a.event)?.wait()
    }
}

impl Call for EventOnReady {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let event: &Event = args.object("event", |a| a.event)?;
        let Some(callback) = args.members.callback else {
            return Err(Status::invalid("PJRT_Event_OnReady: `callback` is null"));
        };
        let argument = UserArgument(args.members.user_arg);
        event.on_ready(move |outcome| argument.pass(callback, outcome));
        Ok(())
    }
}

impl Call for EventCreate {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        args.members.event = Event::default().into_handle();
        Ok(())
    }
}

impl Call for EventSet {
    fn call(args: &mut Arguments<Self>) -> Outcome {
        let event: &Event = args.object("event", |a| a.event)?;
        let message = args.text("error_message", |a| (a.error_message, a.error_message_size))?;
        if event.is_ready() {
            return Err(Status::invalid("PJRT_Event_Set: the event is set already"));
        }
        event.set(Status::given(args.members.error_code, message).map_or(Ok(()), Err));
        Ok(())
    }
}
