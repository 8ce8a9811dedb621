//! Work for a device, in order.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};

use farcall_ffi::unwind::{Payload, catch, discard};

use super::Device;

type Task = Box<dyn FnOnce() + Send>;

/// A queue of work for a device: what is put there is done in order, one after the other, while the caller goes on.
///
/// Work on different streams is done at the same time. On the host a stream is a thread. Dropping a stream waits
/// for its work, so work that waits for values from outside has to get them, or be interrupted (unless work on the
/// stream itself drops it). Work must not wait for later work of its own stream.
#[derive(Debug)]
pub struct Stream {
    device: Device,
    /// None once the stream ends.
    queue: Option<Sender<Task>>,
    worker: Option<JoinHandle<()>>,
}

/// What work on a stream will return.
#[derive(Debug)]
#[must_use = "an error of the work is in here"]
pub struct Pending<T> {
    outcome: Receiver<Result<T, Payload>>,
}

impl Stream {
    /// A stream without work.
    ///
    /// # Errors
    /// If the system has no thread for it.
    pub fn new(device: Device) -> io::Result<Stream> {
        let (queue, work) = mpsc::channel::<Task>();
        let run = move || work.into_iter().for_each(|task| task());
        let worker = thread::Builder::new().name(format!("farcall-stream-{device}")).spawn(run)?;
        Ok(Stream { device, queue: Some(queue), worker: Some(worker) })
    }

    /// The device that works.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Puts work at the end of the queue.
    pub fn enqueue<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Pending<T> {
        let (give, outcome) = mpsc::sync_channel(1);
        let task = move || {
            if let Err(unsent) = give.send(catch(work)) {
                // The receiver is gone. The destructor of the result may panic.
                discard(unsent);
            }
            // The channel may still hold a result that no receiver waits for.
            discard(give);
        };
        if let Some(queue) = &self.queue {
            // The worker ends when the queue does, so there is one to receive it.
            let _ = queue.send(Box::new(task));
        }
        Pending { outcome }
    }

    /// Waits until all work is done that has been put there so far.
    ///
    /// # Panics
    /// If work on this stream calls it, which would wait for itself.
    pub fn synchronize(&self) {
        let worker = self.worker.as_ref().map(|w| w.thread().id());
        assert_ne!(worker, Some(thread::current().id()), "work on a stream waits for that stream");
        self.enqueue(|| ()).wait();
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.queue.take();
        // Work may hold the last handle of its own stream: then nothing can wait for it.
        let worker = self.worker.take().filter(|w| w.thread().id() != thread::current().id());
        if let Some(worker) = worker {
            // It catches what work panics with, and hands that to who waits for it.
            discard(worker.join());
        }
    }
}

impl<T> Pending<T> {
    /// Waits for the work; what it returned.
    ///
    /// # Panics
    /// If the work did.
    pub fn wait(self) -> T {
        match self.outcome.recv() {
            Ok(outcome) => outcome.unwrap_or_else(|panic| panic.resume()),
            Err(_) => unreachable!("a stream does all of its work"),
        }
    }

    /// What the work returned, if it is done; else this again.
    ///
    /// # Errors
    /// `self`, if the work is not done.
    ///
    /// # Panics
    /// If the work did.
    pub fn try_wait(self) -> Result<T, Pending<T>> {
        match self.outcome.try_recv() {
            Ok(outcome) => Ok(outcome.unwrap_or_else(|panic| panic.resume())),
            Err(TryRecvError::Empty) => Err(self),
            Err(TryRecvError::Disconnected) => unreachable!("a stream does all of its work"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn work_is_done_in_order() {
        let stream = Stream::new(Device::host()).unwrap();
        let done = Arc::new(Mutex::new(Vec::new()));
        let pending: Vec<Pending<i32>> = (0..100)
            .map(|i| {
                let done = Arc::clone(&done);
                stream.enqueue(move || {
                    done.lock().unwrap().push(i);
                    i * i
                })
            })
            .collect();
        stream.synchronize();
        assert_eq!(*done.lock().unwrap(), (0..100).collect::<Vec<_>>());
        let squares: Vec<i32> = pending.into_iter().map(|p| p.try_wait().unwrap()).collect();
        assert_eq!(squares[99], 99 * 99);
    }

    #[test]
    fn a_panic_is_that_of_who_waits() {
        let stream = Stream::new(Device::host()).unwrap();
        let bad = stream.enqueue(|| panic!("on purpose"));
        let good = stream.enqueue(|| 3);
        assert!(catch(|| bad.wait()).is_err());
        assert_eq!(good.wait(), 3);
    }

    #[test]
    fn what_is_not_done_can_be_asked_again() {
        let stream = Stream::new(Device::host()).unwrap();
        let (go, wait) = mpsc::channel::<()>();
        let pending = stream.enqueue(move || wait.recv().is_ok());
        let pending = pending.try_wait().unwrap_err();
        go.send(()).unwrap();
        assert!(pending.wait());
    }
}
