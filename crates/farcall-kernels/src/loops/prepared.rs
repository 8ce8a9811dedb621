//! Prepared kernels: the code of an operation on tensors of certain types.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use farcall_ir::interrupt;
use smallvec::{SmallVec, smallvec};

use super::straight_line::StraightLine;
use crate::args::{Args, ElementBytes, NUMBERS, Place};

/// A runner for the tasks of a kernel, possibly on several threads.
pub trait Tasks {
    /// Calls `task` once with every number below `count`, in any order, and returns when all calls have
    /// returned.
    fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync));
}

/// The code of a task. Trait objects of `Fn` would contain a second copy of each closure, for `FnOnce`.
trait Work: Send + Sync {
    fn run(&self, args: &Args<'_>, task: usize);
}

impl<F: Fn(&Args<'_>, usize) + Send + Sync> Work for F {
    fn run(&self, args: &Args<'_>, task: usize) {
        self(args, task);
    }
}

/// Code that runs an operation on tensors of certain types.
pub struct PreparedKernel {
    /// Phases, run one after another.
    phases: SmallVec<[Phase; 1]>,
    scratch: usize,
    slow: bool,
    needs_interrupts: bool,
    numbered: bool,
    /// The whole kernel as a straight-line program, if it is one.
    line: Option<Arc<StraightLine>>,
    /// Scalar constants that take the place of inputs. They are not in the memory of a run.
    numbers: Box<[ElementBytes]>,
}

/// Number of bytes that take ten milliseconds to move.
pub const LONG_BYTES: usize = 32 << 20;

/// Number for the next run of a kernel that needs run numbers ([`PreparedKernel::numbered`]).
static NEXT_RUN: AtomicU64 = AtomicU64::new(1);

/// Tasks that may run concurrently.
struct Phase {
    tasks: usize,
    work: Box<dyn Work>,
}

impl PreparedKernel {
    /// Creates a kernel of a single task.
    ///
    /// `work` is called with places for the inputs, outputs and scratch bytes that the kernel was prepared
    /// for. Each place is aligned for all element types. The places are disjoint, except where the kernel's
    /// `in_place` allows sharing.
    pub fn new(work: impl Fn(&Args<'_>) + Send + Sync + 'static) -> PreparedKernel {
        PreparedKernel::in_tasks(1, move |args, _| work(args))
    }

    /// Creates a kernel of `count` tasks, which run in any order, possibly on several threads. Each task
    /// writes elements that no other task reads or writes.
    ///
    /// The number of tasks, and the elements that a task computes, must depend on the types only. A task
    /// should take at least a hundred microseconds, which is longer than waking a thread. A task that may
    /// take longer than ten milliseconds polls [`interrupt::is_due`], and returns early when it is true.
    pub(crate) fn in_tasks(
        count: usize,
        work: impl Fn(&Args<'_>, usize) + Send + Sync + 'static,
    ) -> PreparedKernel {
        let phase = Phase { tasks: count, work: Box::new(work) };
        PreparedKernel {
            phases: smallvec![phase],
            scratch: 0,
            slow: count > 1,
            needs_interrupts: false,
            numbered: false,
            line: None,
            numbers: Box::default(),
        }
    }

    /// Creates a kernel from a straight-line program.
    pub(crate) fn straight(line: StraightLine) -> PreparedKernel {
        let line = Arc::new(line);
        let own = Arc::clone(&line);
        // SAFETY: the caller of `PreparedKernel::run` guarantees the memory of this kernel.
        PreparedKernel { line: Some(line), ..PreparedKernel::new(move |args| unsafe { own.run(args) }) }
    }

    /// Adds the work of another kernel, which starts when all tasks of this kernel are done. The other kernel
    /// has no scratch memory, no constants and no run numbers.
    pub(crate) fn then(mut self, next: PreparedKernel) -> PreparedKernel {
        let has_only_tasks = next.scratch == 0 && !next.numbered && next.numbers.is_empty();
        debug_assert!(has_only_tasks, "a kernel that is added has only tasks");
        self.line = None;
        self.phases.extend(next.phases);
        self.slow |= next.slow;
        self.needs_interrupts |= next.needs_interrupts;
        self
    }

    /// Adds scratch memory of this size, as one place after the outputs. Its initial contents are
    /// unspecified.
    pub(crate) fn with_scratch(self, bytes: usize) -> PreparedKernel {
        PreparedKernel { scratch: bytes, ..self }
    }

    /// Marks a kernel that may take longer than ten milliseconds. The interrupt of the run can end it.
    pub(crate) fn slow(self) -> PreparedKernel {
        PreparedKernel { slow: true, ..self }
    }

    /// Marks a kernel that moves this number of bytes on one thread. From [`LONG_BYTES`] on, interrupts must
    /// be able to end the run.
    pub(crate) fn moving(self, bytes: usize) -> PreparedKernel {
        PreparedKernel { needs_interrupts: bytes >= LONG_BYTES, ..self }
    }

    /// Gives each run a unique number, by which the tasks of one run recognize each other.
    pub(crate) fn numbered(self) -> PreparedKernel {
        PreparedKernel { numbered: true, ..self }
    }

    /// Replaces some inputs by these scalar constants, which are not in the run's memory. Their places have
    /// base [`NUMBERS`](crate::NUMBERS) and are [`ElementBytes::SIZE`] bytes apart.
    pub fn knowing(self, numbers: Box<[ElementBytes]>) -> PreparedKernel {
        PreparedKernel { numbers, ..self }
    }

    /// Returns the inputs that are scalar constants.
    pub fn numbers(&self) -> &[ElementBytes] {
        &self.numbers
    }

    /// Number of bytes of scratch memory.
    pub fn scratch(&self) -> usize {
        self.scratch
    }

    /// Returns the kernel as a straight-line program, if it is one.
    pub fn line(&self) -> Option<&StraightLine> {
        self.line.as_deref()
    }

    /// Returns true if a run may take long enough to use several threads.
    pub fn is_slow(&self) -> bool {
        self.slow
    }

    /// Returns true if a run may take so long that interrupts must be able to end it.
    pub fn needs_interrupts(&self) -> bool {
        self.slow || self.needs_interrupts
    }

    /// Runs the kernel. If an interrupt ended the work of this thread, the contents of the outputs are
    /// unspecified.
    ///
    /// # Safety
    /// The arguments are places of initialized memory for the inputs, outputs and scratch memory that this
    /// kernel was prepared for. During the run, no other thread writes to this memory or reads the outputs.
    /// The places are aligned to the largest element size, and disjoint except where the kernel's `in_place`
    /// allows sharing.
    #[inline]
    pub unsafe fn run(&self, args: &Args<'_>, tasks: &dyn Tasks) {
        // A kernel that is part of another one uses the constants of the outer kernel.
        let args = if self.numbers.is_empty() { *args } else { args.with_numbers(&self.numbers) };
        let args = args.in_run(if self.numbered { NEXT_RUN.fetch_add(1, Ordering::Relaxed) } else { 0 });
        for (number, Phase { tasks: count, work }) in self.phases.iter().enumerate() {
            // A phase may rely on writes of earlier phases, which are incomplete if the run has ended.
            if number > 0 && interrupt::has_ended() {
                return;
            }
            match *count {
                1 => work.run(&args, 0),
                count => tasks.each(count, &|i| {
                    if !interrupt::is_due() {
                        work.run(&args, i);
                    }
                }),
            }
        }
    }

    /// Runs the kernel on this thread.
    ///
    /// # Safety
    /// Same requirements as [`PreparedKernel::run`].
    pub(crate) unsafe fn run_here(&self, args: &Args<'_>) {
        // SAFETY: the caller guarantees the requirements of `PreparedKernel::run` (`# Safety` above).
        unsafe { self.run(args, &ThisThread) };
    }
}

/// A kernel with its places.
pub struct PlacedKernel {
    prepared: Arc<PreparedKernel>,
    /// Places of inputs, outputs and scratch memory.
    places: Arc<[Place]>,
    inputs: usize,
}

impl PlacedKernel {
    /// Creates a kernel with these places, inputs first.
    pub(crate) fn new(prepared: Arc<PreparedKernel>, places: Arc<[Place]>, inputs: usize) -> PlacedKernel {
        PlacedKernel { prepared, places, inputs }
    }

    /// Returns true if the kernel may take so long that interrupts must be able to end it.
    pub(crate) fn needs_interrupts(&self) -> bool {
        self.prepared.needs_interrupts()
    }

    /// Returns the number of base addresses that a run needs, so that it has the base address of each place.
    pub(crate) fn bases(&self) -> usize {
        let used = self.places.iter().map(|place| place.base).filter(|base| *base != NUMBERS);
        used.max().map_or(0, |last| last + 1)
    }

    /// Runs the kernel on this thread.
    ///
    /// # Safety
    /// Same requirements as [`PreparedKernel::run`].
    pub(crate) unsafe fn run(&self, bases: &[*mut u8]) {
        // SAFETY: the caller guarantees the requirements of `PreparedKernel::run` (`# Safety` above).
        unsafe { self.prepared.run_here(&Args::new(&self.places, self.inputs, bases)) };
    }

    /// Runs the kernel with moved places: place `i` is moved by `bytes(i)` bytes.
    ///
    /// # Safety
    /// Same requirements as [`PreparedKernel::run`], for the moved places.
    pub(crate) unsafe fn run_moved(&self, bases: &[*mut u8], bytes: impl Fn(usize) -> usize) {
        let moved = |(i, place): (usize, &Place)| Place { offset: place.offset + bytes(i), ..*place };
        let places: SmallVec<[Place; 12]> = self.places.iter().enumerate().map(moved).collect();
        // SAFETY: the caller guarantees the requirements of `PreparedKernel::run` (`# Safety` above).
        unsafe { self.prepared.run_here(&Args::new(&places, self.inputs, bases)) };
    }
}

/// Runs one task after another on this thread.
struct ThisThread;

impl Tasks for ThisThread {
    fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(task);
    }
}

impl fmt::Debug for PreparedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks: Vec<usize> = self.phases.iter().map(|p| p.tasks).collect();
        f.debug_struct("PreparedKernel")
            .field("tasks", &tasks)
            .field("scratch", &self.scratch)
            .finish_non_exhaustive()
    }
}
