//! Prepared kernels, and the arguments they get when they run.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use farcall_ir::interrupt;
use smallvec::{SmallVec, smallvec};

use super::straight_line::StraightLine;

/// The memory that one run of a kernel works on: inputs, outputs, scratch, as it was prepared for.
///
/// Only who promises that the memory is there can make one: see [`Prepared::run`].
#[derive(Clone, Copy)]
pub(crate) struct Args<'a> {
    /// Inputs, outputs, then scratch memory, if the kernel asked for some.
    places: &'a [Place],
    inputs: usize,
    bases: &'a [*mut u8],
    /// What places of base [`NUMBERS`] are in.
    numbers: &'a [Element],
    /// The number of this run, of kernels that asked for one.
    run: u64,
}

/// The base of places in the numbers that a kernel knows ([`Prepared::knowing`]).
pub(crate) const NUMBERS: usize = usize::MAX;

/// An element of any type.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Element([u8; Element::SIZE]);

impl Element {
    /// Bytes from one to the next.
    pub(crate) const SIZE: usize = 16;

    /// One of these bytes.
    ///
    /// # Panics
    /// If they are more than an element has.
    pub(crate) fn new(bytes: &[u8]) -> Element {
        let mut all = [0; Element::SIZE];
        all[..bytes.len()].copy_from_slice(bytes);
        Element(all)
    }

    /// Its bytes, and what follows them.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

// SAFETY: the pointers are used by a run of a kernel alone, and tasks of one run keep apart: see
// `Prepared::in_tasks`.
unsafe impl Sync for Args<'_> {}

/// A range of bytes at a distance from one of a run's base addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Which base.
    pub(crate) base: usize,
    /// First byte.
    pub(crate) offset: usize,
    /// Number of bytes.
    pub(crate) size: usize,
}

impl Place {
    /// The part of it from byte `offset` on.
    pub(super) fn from(self, offset: usize) -> Place {
        Place { base: self.base, offset: self.offset + offset, size: self.size - offset }
    }

    /// Where it is.
    ///
    /// # Safety
    /// The place lies in the memory that its base address is the begin of.
    #[inline]
    pub(crate) unsafe fn at(self, bases: &[*mut u8]) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { bases[self.base].add(self.offset) }
    }
}

impl<'a> Args<'a> {
    /// The arguments at these places, inputs first.
    #[inline]
    pub(crate) fn new(places: &'a [Place], inputs: usize, bases: &'a [*mut u8]) -> Args<'a> {
        Args { places, inputs, bases, numbers: &[], run: 0 }
    }

    /// The same for other places of the same memory.
    pub(super) fn with<'b>(&self, places: &'b [Place], inputs: usize) -> Args<'b>
    where
        'a: 'b,
    {
        Args { places, inputs, ..*self }
    }

    #[inline]
    fn at<T>(&self, place: Place) -> *mut T {
        let at = match place.base {
            NUMBERS => self.numbers.as_ptr().cast_mut().cast::<u8>().wrapping_add(place.offset),
            // SAFETY: whoever runs the kernel promises that its places are there.
            _ => unsafe { place.at(self.bases) },
        };
        let at = at.cast::<T>();
        debug_assert!(at.is_aligned(), "places are aligned for every element type");
        at
    }

    /// The number of this run, if the kernel asked for one: no other run has it.
    pub(super) fn run_number(&self) -> u64 {
        self.run
    }

    /// Where an input is.
    #[inline]
    pub(super) fn input_place(&self, i: usize) -> Place {
        self.places[i]
    }

    /// Where an output is.
    #[inline]
    pub(super) fn output_place(&self, i: usize) -> Place {
        self.places[self.inputs + i]
    }

    /// Where the scratch memory is, if the kernel asked for some.
    #[inline]
    pub(super) fn scratch_place(&self) -> Place {
        self.places[self.places.len() - 1]
    }

    /// The elements of an input; for kernels whose outputs may be in the same place.
    #[inline]
    pub(super) fn input_ptr<T>(&self, i: usize) -> *const T {
        self.at(self.input_place(i))
    }

    /// The elements of an output; for kernels whose inputs may be in the same place, and for tasks, which share
    /// their outputs.
    #[inline]
    pub(super) fn output_ptr<T>(&self, i: usize) -> *mut T {
        self.at(self.output_place(i))
    }

    /// The address of a place.
    #[inline]
    pub(super) fn ptr<T>(&self, place: Place) -> *mut T {
        self.at(place)
    }
}

/// Runs the parts of a kernel, maybe on several threads.
pub(crate) trait Tasks {
    /// Calls `task` with every number below `count`, in any order, and returns when all calls have.
    fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync));
}

type Work = Box<dyn Fn(&Args<'_>, usize) + Send + Sync>;

/// What runs an operation on tensors of certain types.
pub(crate) struct Prepared {
    /// One after the other.
    phases: SmallVec<[Phase; 1]>,
    scratch: usize,
    slow: bool,
    long: bool,
    numbered: bool,
    /// All of it, if it is one.
    line: Option<Arc<StraightLine>>,
    /// Inputs that are in no memory.
    numbers: Box<[Element]>,
}

/// Number of bytes that take ten milliseconds to move.
pub(crate) const LONG_BYTES: usize = 32 << 20;

/// The number of the next run that gets one.
static NEXT_RUN: AtomicU64 = AtomicU64::new(1);

/// Tasks that may run at once.
struct Phase {
    tasks: usize,
    work: Work,
}

impl Prepared {
    /// A kernel that does everything at once.
    ///
    /// `work` is called with memory for the inputs, outputs and scratch bytes that the kernel was prepared for,
    /// each aligned for all element types. They are apart, but for what the kernel's `in_place` allows.
    pub(super) fn new(work: impl Fn(&Args<'_>) + Send + Sync + 'static) -> Prepared {
        Prepared::in_tasks(1, move |args, _| work(args))
    }

    /// A kernel in `count` parts, which run in any order and at once on several threads: each writes elements
    /// that no other one reads or writes.
    ///
    /// How many there are depends on the types alone, and so does what each computes. A task should take longer
    /// than it takes to wake a thread: a hundred microseconds. One that may take longer than ten milliseconds asks
    /// [`interrupt::is_due`] meanwhile, and returns early if it is true.
    pub(super) fn in_tasks(
        count: usize,
        work: impl Fn(&Args<'_>, usize) + Send + Sync + 'static,
    ) -> Prepared {
        let phase = Phase { tasks: count, work: Box::new(work) };
        Prepared {
            phases: smallvec![phase],
            scratch: 0,
            slow: count > 1,
            long: false,
            numbered: false,
            line: None,
            numbers: Box::default(),
        }
    }

    /// A kernel that is a straight-line program.
    pub(super) fn straight(line: StraightLine) -> Prepared {
        let line = Arc::new(line);
        let own = Arc::clone(&line);
        Prepared { line: Some(line), ..Prepared::new(move |args| own.run(args)) }
    }

    /// The same, with something that is done before the tasks.
    pub(super) fn first(mut self, before: impl Fn(&Args<'_>) + Send + Sync + 'static) -> Prepared {
        self.line = None;
        self.phases.insert(0, Phase { tasks: 1, work: Box::new(move |args, _| before(args)) });
        self
    }

    /// The same, with more tasks, as of [`Prepared::in_tasks`], which run when those before them are done.
    pub(super) fn then(
        mut self,
        count: usize,
        work: impl Fn(&Args<'_>, usize) + Send + Sync + 'static,
    ) -> Prepared {
        self.line = None;
        self.phases.push(Phase { tasks: count, work: Box::new(work) });
        self.slow |= count > 1;
        self
    }

    /// The same, with something that is done when the tasks are.
    pub(super) fn finally(self, after: impl Fn(&Args<'_>) + Send + Sync + 'static) -> Prepared {
        self.then(1, move |args, _| after(args))
    }

    /// The same with this much scratch memory, as one place behind the outputs. What it holds at first is
    /// anything.
    pub(super) fn with_scratch(self, bytes: usize) -> Prepared {
        Prepared { scratch: bytes, ..self }
    }

    /// Marks a kernel that may take longer than ten milliseconds: the interrupt of the run can end it.
    pub(super) fn slow(self) -> Prepared {
        Prepared { slow: true, ..self }
    }

    /// Marks a kernel that moves this number of bytes on one thread.
    pub(super) fn moving(self, bytes: usize) -> Prepared {
        Prepared { long: bytes >= LONG_BYTES, ..self }
    }

    /// The same, but each run has a number of its own, which tasks of one run know one another by.
    pub(super) fn numbered(self) -> Prepared {
        Prepared { numbered: true, ..self }
    }

    /// The same, but some inputs are these numbers, which are in no other memory. Their places have base [`NUMBERS`], and begin
    /// [`Element::SIZE`] bytes after one another.
    pub(crate) fn knowing(self, numbers: Box<[Element]>) -> Prepared {
        Prepared { numbers, ..self }
    }

    /// The inputs that are numbers.
    pub(crate) fn numbers(&self) -> &[Element] {
        &self.numbers
    }

    /// Bytes of scratch memory.
    pub(crate) fn scratch(&self) -> usize {
        self.scratch
    }

    /// What it does, if that is a straight-line program.
    pub(crate) fn line(&self) -> Option<&StraightLine> {
        self.line.as_deref()
    }

    /// True if a run may take long, and is worth several threads.
    pub(crate) fn is_slow(&self) -> bool {
        self.slow
    }

    /// True if a run may take so long that interrupts have to end it.
    pub(crate) fn is_long(&self) -> bool {
        self.slow || self.long
    }

    /// Runs the kernel. If an interrupt ended the work of this thread, the contents of the outputs are
    /// unspecified.
    ///
    /// # Safety
    /// The arguments are places of initialized memory that nobody else writes to, nor reads what is output, for
    /// the inputs and outputs that this was prepared for, and for its scratch memory; they are aligned to the
    /// largest element size, and apart, but for what the kernel's `in_place` allows.
    #[inline]
    pub(crate) unsafe fn run(&self, args: &Args<'_>, tasks: &dyn Tasks) {
        // A kernel that is a part of another one has those of that.
        let numbers = if self.numbers.is_empty() { args.numbers } else { &self.numbers };
        let run = if self.numbered { NEXT_RUN.fetch_add(1, Ordering::Relaxed) } else { 0 };
        let args = Args { numbers, run, ..*args };
        for (number, Phase { tasks: count, work }) in self.phases.iter().enumerate() {
            // A phase may rely on the writes of earlier phases.
            if number > 0 && interrupt::has_ended() {
                return;
            }
            match *count {
                1 => work(&args, 0),
                count => tasks.each(count, &|i| {
                    if !interrupt::is_due() {
                        work(&args, i);
                    }
                }),
            }
        }
    }

    /// Runs it on this thread.
    ///
    /// # Safety
    /// As [`Prepared::run`].
    pub(super) unsafe fn run_here(&self, args: &Args<'_>) {
        // SAFETY: the caller's promise.
        unsafe { self.run(args, &Here) };
    }
}

/// One task after the other.
struct Here;

impl Tasks for Here {
    fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(task);
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks: Vec<usize> = self.phases.iter().map(|p| p.tasks).collect();
        f.debug_struct("Prepared")
            .field("tasks", &tasks)
            .field("scratch", &self.scratch)
            .finish_non_exhaustive()
    }
}
