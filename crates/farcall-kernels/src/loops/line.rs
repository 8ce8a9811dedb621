//! Lines: sequences of steps and jumps. The steps are linked from the straight-line programs of neighboring
//! thunks, and run one after another without the runtime's work between thunks.
//!
//! ```text
//! [`Linked`], in a sequence ──▶ [`Line`] ──first run──▶ machine code, if the line repeats steps
//!                                     └────many runs──▶ machine code
//! ```
//!
//! On processors for which code can be generated, a line runs as machine code: from the first run if the line
//! repeats steps, otherwise after [`INTERPRETED_RUNS`] runs, which pay for the generation of the code. Before
//! that, the line is interpreted: a loop calls the code of one step after another.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::ir::Address;
use super::linked::{BASES, Linked, Runner, address_at};
use super::native::Native;
use crate::types::branch;

/// Number of runs of a line without repeated steps before it becomes machine code. Tests, which run programs
/// only a few times, reach both forms.
const INTERPRETED_RUNS: usize = if cfg!(debug_assertions) { 1 } else { 64 };

/// A sequence of linked steps and jumps.
pub struct Line {
    /// Shared with the machine code, which contains the addresses of the steps.
    steps: Arc<Vec<Linked>>,
    /// Number of remaining runs before the line becomes machine code.
    interpreted_runs: AtomicUsize,
    /// True if a kernel of the line may take so long that interrupts must be able to end it.
    needs_interrupts: bool,
    /// The line as machine code, where code can be generated.
    native: OnceLock<Option<Native>>,
}

impl Line {
    /// Creates a line of steps and jumps.
    pub fn new(steps: Vec<Linked>) -> Line {
        let repeats = steps.iter().any(|s| !matches!(s, Linked::Step(_) | Linked::Kernel(_)));
        let interpreted_runs = AtomicUsize::new(if repeats { 0 } else { INTERPRETED_RUNS });
        Line { interpreted_runs, ..Line::repeated(steps) }
    }

    /// Creates a line whose steps run often. Even without jumps, its first run is by machine code.
    pub(crate) fn repeated(steps: Vec<Linked>) -> Line {
        let needs_interrupts =
            steps.iter().any(|s| matches!(s, Linked::Kernel(kernel) if kernel.needs_interrupts()));
        let (interpreted_runs, native) = (AtomicUsize::new(0), OnceLock::new());
        Line { steps: Arc::new(steps), interpreted_runs, needs_interrupts, native }
    }

    /// Returns true if a kernel of the line may take so long that interrupts must be able to end it.
    pub fn needs_interrupts(&self) -> bool {
        self.needs_interrupts
    }

    /// Returns the steps, for use in another line; `None` if the line has run as machine code.
    pub fn into_steps(self) -> Option<Vec<Linked>> {
        Arc::into_inner(self.steps)
    }

    /// Counts a run. Returns true if the run should be by machine code.
    #[inline]
    fn is_hot(&self) -> bool {
        let remaining = self.interpreted_runs.load(Ordering::Relaxed);
        if remaining > 0 {
            // If several threads count at once, the line is interpreted more often, which does no harm.
            self.interpreted_runs.store(remaining - 1, Ordering::Relaxed);
        }
        remaining == 0
    }

    /// Runs the line.
    ///
    /// # Errors
    /// The error of the runner.
    ///
    /// # Safety
    /// Same requirements as [`PreparedKernel::run`](crate::PreparedKernel::run) for each linked kernel, with
    /// its places relative to these base addresses. The caller has written the constants of each linked
    /// program ([`StraightLine::write_constants`](crate::StraightLine::write_constants)). Nothing else
    /// accesses the memory of the programs' intermediate values. The values that jumps read are initialized.
    /// Memory that the line writes relative to one base address is not accessed relative to another: machine
    /// code keeps values in processor registers, and identifies them by base and offset.
    #[inline]
    pub unsafe fn run<R: Runner>(&self, bases: &[*mut u8], runner: &mut R) -> Result<(), R::Error> {
        if self.is_hot()
            && let Some(native) = self.native.get_or_init(|| Native::new(&self.steps))
            && bases.len() >= BASES
        {
            // SAFETY: the caller guarantees the memory (`# Safety` above).
            return unsafe { native.run(bases, runner) };
        }
        // SAFETY: the caller guarantees that the values that jumps read are in the memory of these base
        // addresses.
        let at = |address: Address| unsafe { address_at(address, bases.as_ptr()) };
        let mut next = 0;
        while let Some(linked) = self.steps.get(next) {
            match linked {
                // SAFETY: the caller guarantees the elements of each step.
                Linked::Step(step) => unsafe { step.run(bases.as_ptr()) },
                Linked::Kernel(kernel) => {
                    runner.kernel()?;
                    // SAFETY: the caller guarantees the requirements of each kernel.
                    unsafe { kernel.run(bases) };
                }
                Linked::Unless(pred, steps) => {
                    // SAFETY: the caller guarantees that the `pred` is initialized; a `pred` is a byte.
                    if unsafe { at(*pred).read() } == 0 {
                        next += steps;
                        continue;
                    }
                    runner.request_iterations(1)?;
                }
                Linked::Skip(steps) => {
                    next += steps;
                    continue;
                }
                Linked::Back(steps) => {
                    next -= steps;
                    continue;
                }
                Linked::Choose(index, dtype, begins) => {
                    // SAFETY: the caller guarantees that the index is an initialized element of this type.
                    next += begins[unsafe { branch(*dtype, at(*index), begins.len()) }];
                    continue;
                }
            }
            next += 1;
        }
        Ok(())
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("steps", &self.steps.len())
            .field("interpreted_runs", &self.interpreted_runs)
            .finish()
    }
}
