//! Values that a program and its caller exchange during a run.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farcall_ir::{Literal, TensorType};

use crate::device::{BufferError, DeviceBuffer};

/// Queues to and from a running program: the program reads with `infeed` and `recv`, and writes with
/// `outfeed` and `send`.
///
/// The caller keeps the queues, shares them with a [run](crate::custom_call::RunContext::with_transfers), and
/// feeds and reads them before, during and after the run. A program that needs a value waits until the value
/// arrives, the queues are [closed](Transfers::close) or the run is
/// [interrupted](farcall_ir::interrupt::Interrupt).
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use farcall::custom_call::RunContext;
/// use farcall::ir::{DType, Literal, Source, text};
/// use farcall::{CompileOptions, Executable, Registry, Transfers};
///
/// let program = r#"func.func @main() -> !stablehlo.token {
///   %t = stablehlo.create_token : !stablehlo.token
///   %x:2 = "stablehlo.infeed"(%t) {infeed_config = ""}
///     : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
///   %y = stablehlo.add %x#0, %x#0 : tensor<f32>
///   %u = "stablehlo.outfeed"(%y, %x#1) {outfeed_config = ""}
///     : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
///   return %u : !stablehlo.token
/// }"#;
/// let module = text::parse(&Source::new("double.mlir", program))?;
/// let double = Executable::compile(&module, &Registry::new(), &CompileOptions::new())?;
///
/// let transfers = Arc::new(Transfers::new());
/// transfers.feed([Literal::from_slice(DType::F32, [], &[1.5f32])]);
/// let run = RunContext::new().with_transfers(Arc::clone(&transfers));
/// double.execute_with([] as [Literal; 0], &run)?;
/// let out = transfers.read(Duration::ZERO).ok_or("the outfeed is empty")?;
/// assert_eq!(out[0].host().unwrap().as_slice::<f32>(), [3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Transfers {
    queues: Mutex<Queues>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queues {
    all: BTreeMap<Queue, VecDeque<Vec<DeviceBuffer>>>,
    closed: bool,
}

/// A queue, identified by its purpose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Queue {
    /// From the host to the program: `infeed`.
    Infeed,
    /// From the program to the host: `outfeed`.
    Outfeed,
    /// From the host to the program, on a channel.
    ToProgram(i64),
    /// From the program to the host, on a channel.
    ToHost(i64),
}

/// Interval at which a waiting program polls for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl Transfers {
    /// Creates empty queues.
    pub fn new() -> Transfers {
        Transfers::default()
    }

    /// Appends values to the infeed queue: one per tensor that the `infeed` returns.
    pub fn feed<B: Into<DeviceBuffer>>(&self, values: impl IntoIterator<Item = B>) {
        self.put(Queue::Infeed, values.into_iter().map(B::into).collect());
    }

    /// Takes the oldest unread values of `outfeed`, waiting up to `wait` for them.
    pub fn read(&self, wait: Duration) -> Option<Vec<DeviceBuffer>> {
        self.take_within(Queue::Outfeed, wait)
    }

    /// Appends values to the queue that `recv` reads on a channel: one per tensor that the `recv` returns.
    pub fn send<B: Into<DeviceBuffer>>(&self, channel: i64, values: impl IntoIterator<Item = B>) {
        self.put(Queue::ToProgram(channel), values.into_iter().map(B::into).collect());
    }

    /// Takes the oldest unread values of `send` on a channel, waiting up to `wait` for them.
    pub fn receive(&self, channel: i64, wait: Duration) -> Option<Vec<DeviceBuffer>> {
        self.take_within(Queue::ToHost(channel), wait)
    }

    /// Closes the queues in both directions: no more values will come. Reading from an empty queue then
    /// fails, or returns nothing, without waiting.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Takes the values for an `infeed`.
    ///
    /// # Errors
    /// If the run is interrupted, the queue is closed and empty, or its next values have other types.
    pub fn infeed(
        &self,
        types: &[TensorType],
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Literal>, TransferError> {
        self.take(Queue::Infeed, types, interrupted)
    }

    /// Takes the values for a `recv`.
    ///
    /// # Errors
    /// If the run is interrupted, the queue is closed and empty, or its next values have other types.
    pub fn recv(
        &self,
        channel: i64,
        types: &[TensorType],
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Literal>, TransferError> {
        self.take(Queue::ToProgram(channel), types, interrupted)
    }

    /// Puts values of an `outfeed` into the queue.
    pub fn outfeed(&self, values: Vec<Literal>) {
        self.put(Queue::Outfeed, values.into_iter().map(DeviceBuffer::from).collect());
    }

    /// Puts values of a `send` on a channel into the queue.
    pub fn sent(&self, channel: i64, values: Vec<Literal>) {
        self.put(Queue::ToHost(channel), values.into_iter().map(DeviceBuffer::from).collect());
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, queue: Queue, values: Vec<DeviceBuffer>) {
        self.lock().all.entry(queue).or_default().push_back(values);
        self.changed.notify_all();
    }

    fn take_within(&self, queue: Queue, wait: Duration) -> Option<Vec<DeviceBuffer>> {
        let begin = Instant::now();
        let mut queues = self.lock();
        loop {
            if let Some(values) = queues.all.get_mut(&queue).and_then(VecDeque::pop_front) {
                return Some(values);
            }
            if queues.closed {
                return None;
            }
            let left = wait.checked_sub(begin.elapsed()).filter(|left| !left.is_zero())?;
            let woken = self.changed.wait_timeout(queues, left);
            queues = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes the oldest values of a queue, waiting for them if the queue is empty. The values must have the
    /// types that the program takes.
    fn take(
        &self,
        queue: Queue,
        types: &[TensorType],
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Literal>, TransferError> {
        let mut queues = self.lock();
        let values = loop {
            if let Some(waiting) = queues.all.get_mut(&queue)
                && let Some(values) = waiting.front()
            {
                // Values of other types stay in the queue, for a program that takes them.
                fits(queue, types, values)?;
                break waiting.pop_front().unwrap_or_default();
            }
            if queues.closed {
                return Err(TransferError::Closed(queue));
            }
            // The callback of an interrupt may feed the queue, so it runs without the lock.
            drop(queues);
            if interrupted() {
                return Err(TransferError::Interrupted);
            }
            queues = self.lock();
            if queues.all.get(&queue).is_none_or(VecDeque::is_empty) && !queues.closed {
                let woken = self.changed.wait_timeout(queues, POLL_INTERVAL);
                queues = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
        };
        drop(queues);
        values.into_iter().map(|value| Ok(value.into_literal()?)).collect()
    }
}

/// Checks that the values have the types that the program takes.
fn fits(queue: Queue, types: &[TensorType], values: &[DeviceBuffer]) -> Result<(), TransferError> {
    let found: Vec<TensorType> = values.iter().map(DeviceBuffer::ty).collect();
    if found == types {
        return Ok(());
    }
    Err(TransferError::Types { queue, expected: types.into(), found: found.into() })
}

/// Reason why a program cannot get the values that it waits for.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TransferError {
    /// The run was interrupted.
    #[error("the run was interrupted")]
    Interrupted,
    /// The queue is empty, and its other side has closed it.
    #[error("{0} is closed and empty")]
    Closed(Queue),
    /// The values in the queue do not have the types that the program takes.
    #[error("the program takes ({}) from {queue}, but ({}) was put there", list(expected), list(found))]
    Types {
        /// The queue.
        queue: Queue,
        /// Types that the program takes.
        expected: Box<[TensorType]>,
        /// Types of the values in the queue.
        found: Box<[TensorType]>,
    },
    /// A value cannot be copied to the host.
    #[error(transparent)]
    Buffer(#[from] BufferError),
}

fn list(types: &[TensorType]) -> String {
    types.iter().map(TensorType::to_string).collect::<Vec<_>>().join(", ")
}

impl std::fmt::Display for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Queue::Infeed => f.write_str("the infeed"),
            Queue::Outfeed => f.write_str("the outfeed"),
            Queue::ToProgram(channel) | Queue::ToHost(channel) => write!(f, "channel {channel}"),
        }
    }
}
