//! Runs of lines that have been compiled: what their instructions ask, and how they end.

use farcall_ffi::unwind::{Payload, catch};

use super::super::linked::{Kernel, Runner};
use super::{Asked, Native};

/// What instructions ask a runner.
#[repr(C)]
struct Asking<'a, R: Runner> {
    asked: Asked,
    runner: &'a mut R,
    /// Why the run ends: an error, or a panic, which must not leave instructions that know nothing of it.
    end: Option<Result<R::Error, Payload>>,
}

impl<R: Runner> Asking<'_, R> {
    /// Does what instructions ask for; 1 if the run ends.
    fn answer(&mut self, work: impl FnOnce(&mut R, &mut Asked) -> Result<(), R::Error>) -> u8 {
        let (runner, asked) = (&mut *self.runner, &mut self.asked);
        self.end = match catch(|| work(runner, asked)) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Ok(error)),
            Err(panic) => Some(Err(panic)),
        };
        u8::from(self.end.is_some())
    }
}

impl Native {
    /// Runs the instructions of a line.
    ///
    /// # Safety
    /// As [`Line::run`](super::super::linked::Line::run)(super::super::linked::Line::run), for the line that it was compiled from; there are
    /// [`BASES`](super::super::linked::BASES) bases.
    pub(in super::super) unsafe fn run<R: Runner>(
        &self,
        bases: &[*mut u8],
        runner: &mut R,
    ) -> Result<(), R::Error> {
        /// # Safety
        /// It is that of an `Asking` with this runner.
        unsafe extern "sysv64" fn turn<R: Runner>(asked: *mut Asked) -> u8 {
            // SAFETY: the caller's promise: it is the first field.
            let asking = unsafe { &mut *asked.cast::<Asking<'_, R>>() };
            asking.answer(|runner, asked| {
                asked.turns = runner.turns(asked.most)? as i64 - 1;
                Ok(())
            })
        }
        /// # Safety
        /// The same, and as [`Line::run`](super::super::linked::Line::run).
        unsafe extern "sysv64" fn kernel<R: Runner>(
            asked: *mut Asked,
            kernel: *const Kernel,
            bases: *const *mut u8,
        ) -> u8 {
            // SAFETY: as above.
            let asking = unsafe { &mut *asked.cast::<Asking<'_, R>>() };
            asking.answer(|runner, _| {
                runner.kernel()?;
                // SAFETY: the caller's promise; the kernel is one of the line.
                unsafe { (*kernel).run_from(bases) };
                Ok(())
            })
        }
        let asked = Asked { turns: 0, turn: turn::<R>, kernel: kernel::<R>, most: self.turns };
        let mut asking = Asking { asked, runner, end: None };
        // SAFETY: the caller's promise. (The pointer is that of all of it.)
        unsafe { self.enter(bases, (&raw mut asking).cast()) };
        let Asking { asked, runner, end } = asking;
        runner.unused(u64::try_from(asked.turns).unwrap_or(0));
        match end {
            None => Ok(()),
            Some(Ok(error)) => Err(error),
            Some(Err(panic)) => panic.resume(),
        }
    }
}
