//! Streams: ordered queues of work for a device.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};

use farcall_ffi::unwind::{Payload, catch, discard};

use super::Device;
use crate::poll::poll;

type Task = Box<dyn FnOnce() + Send>;

/// A queue of work for a device. Work is done in the order in which it is enqueued, one item at a time; the
/// caller does not wait.
///
/// Work on different streams runs concurrently. On the host, a stream is a thread. Dropping a stream waits
/// for its work, unless the stream is dropped by its own work. Work that waits for values from outside
/// must therefore receive them, or be interrupted. Work must not wait for later work on its own stream.
#[derive(Debug)]
pub struct DeviceStream {
    device: Device,
    /// `None` once the stream ends.
    queue: Option<Sender<Task>>,
    worker: Option<JoinHandle<()>>,
}

/// The future result of work on a stream.
#[derive(Debug)]
#[must_use = "the result may be an error, and a panic of the work is only raised by waiting"]
pub struct Pending<T> {
    outcome: Receiver<Result<T, Payload>>,
}

impl DeviceStream {
    /// Creates a stream without work.
    ///
    /// # Errors
    /// If the system cannot create a thread for the stream.
    pub fn new(device: Device) -> io::Result<DeviceStream> {
        let (queue, work) = mpsc::channel::<Task>();
        let run = move || {
            while let Some(task) = next(&work) {
                task();
            }
        };
        let worker = thread::Builder::new().name(format!("farcall-stream-{device}")).spawn(run)?;
        Ok(DeviceStream { device, queue: Some(queue), worker: Some(worker) })
    }

    /// The device that does the work.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Appends work to the queue.
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
            // The worker ends only after `queue` is dropped, so the send cannot fail.
            let _ = queue.send(Box::new(task));
        }
        Pending { outcome }
    }

    /// Waits until all work that has been enqueued so far is done.
    ///
    /// # Panics
    /// If work on this stream calls this method: the work would wait for itself.
    pub fn synchronize(&self) {
        let worker = self.worker.as_ref().map(|w| w.thread().id());
        assert_ne!(
            worker,
            Some(thread::current().id()),
            "work on a stream must not wait for the same stream"
        );
        self.enqueue(|| ()).wait();
    }
}

impl Drop for DeviceStream {
    fn drop(&mut self) {
        self.queue.take();
        // Work may hold the last handle of the stream that runs it. The worker thread cannot join itself.
        let worker = self.worker.take().filter(|w| w.thread().id() != thread::current().id());
        if let Some(worker) = worker {
            // The worker does not panic: it catches panics of the work, and passes them to the waiting
            // caller.
            discard(worker.join());
        }
    }
}

impl<T> Pending<T> {
    /// Waits for the work, and returns its result.
    ///
    /// # Panics
    /// If the work panicked.
    pub fn wait(self) -> T {
        match self.outcome.recv() {
            Ok(outcome) => outcome.unwrap_or_else(|panic| panic.resume()),
            Err(_) => unreachable!("a stream does all of its work"),
        }
    }

    /// Returns the result of the work, if the work is done.
    ///
    /// # Errors
    /// `self`, if the work is not done.
    ///
    /// # Panics
    /// If the work panicked.
    pub fn try_wait(self) -> Result<T, Pending<T>> {
        match self.outcome.try_recv() {
            Ok(outcome) => Ok(outcome.unwrap_or_else(|panic| panic.resume())),
            Err(TryRecvError::Empty) => Err(self),
            Err(TryRecvError::Disconnected) => unreachable!("a stream does all of its work"),
        }
    }
}

/// Returns the next item of work; `None` once the stream ends. A caller that waits for a result often has
/// more work, so the thread polls for [`POLL_TIME`](crate::poll::POLL_TIME) before it sleeps.
fn next(work: &Receiver<Task>) -> Option<Task> {
    let mut received = Err(TryRecvError::Empty);
    poll(|| {
        received = work.try_recv();
        !matches!(received, Err(TryRecvError::Empty))
    });
    match received {
        Err(TryRecvError::Empty) => work.recv().ok(),
        received => received.ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn work_is_done_in_order() {
        let stream = DeviceStream::new(Device::host()).unwrap();
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
    fn a_panic_reaches_the_waiting_caller() {
        let stream = DeviceStream::new(Device::host()).unwrap();
        let bad = stream.enqueue(|| panic!("on purpose"));
        let good = stream.enqueue(|| 3);
        assert!(catch(|| bad.wait()).is_err());
        assert_eq!(good.wait(), 3);
    }

    #[test]
    fn unfinished_work_can_be_polled_again() {
        let stream = DeviceStream::new(Device::host()).unwrap();
        let (go, wait) = mpsc::channel::<()>();
        let pending = stream.enqueue(move || wait.recv().is_ok());
        let pending = pending.try_wait().unwrap_err();
        go.send(()).unwrap();
        assert!(pending.wait());
    }
}
