//! Runs of compiled lines: the calls from generated code, and the end of a run.

use farcall_ffi::unwind::{Payload, catch};

use super::super::linked::Runner;
use super::super::prepared::PlacedKernel;
use super::{Asked, Native};

/// The interface of generated code, followed by the runner.
#[repr(C)]
struct Asking<'a, R: Runner> {
    asked: Asked,
    runner: &'a mut R,
    /// The reason why the run ends: an error, or a panic, which must not unwind through generated code.
    end: Option<Result<R::Error, Payload>>,
}

impl<R: Runner> Asking<'_, R> {
    /// Serves a call from generated code; returns 1 to end the run.
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
    /// Runs the code of a line.
    ///
    /// # Safety
    /// Same requirements as [`Line::run`](super::super::line::Line::run), for the line that was compiled;
    /// there are [`BASES`](super::super::linked::BASES) base addresses.
    pub(crate) unsafe fn run<R: Runner>(&self, bases: &[*mut u8], runner: &mut R) -> Result<(), R::Error> {
        /// # Safety
        /// `asked` is the first field of an `Asking` with this runner.
        unsafe extern "sysv64" fn turn<R: Runner>(asked: *mut Asked) -> u8 {
            // SAFETY: the caller guarantees that `asked` is the first field of a valid `Asking`.
            let asking = unsafe { &mut *asked.cast::<Asking<'_, R>>() };
            asking.answer(|runner, asked| {
                asked.turns = runner.request_iterations(asked.most)? as i64 - 1;
                Ok(())
            })
        }
        /// # Safety
        /// Same requirements as `turn` for `asked`, and as [`Line::run`](super::super::line::Line::run) for
        /// the other arguments.
        unsafe extern "sysv64" fn kernel<R: Runner>(
            asked: *mut Asked,
            kernel: *const PlacedKernel,
            bases: *const *mut u8,
        ) -> u8 {
            // SAFETY: the caller guarantees that `asked` is the first field of a valid `Asking`.
            let asking = unsafe { &mut *asked.cast::<Asking<'_, R>>() };
            asking.answer(|runner, _| {
                runner.kernel()?;
                // SAFETY: `kernel` is a kernel of the line. The caller of `Line::run` guarantees the base
                // addresses of all memory that the line uses, and that this memory is valid.
                unsafe { (*kernel).run(std::slice::from_raw_parts(bases, (*kernel).bases())) };
                Ok(())
            })
        }
        let asked = Asked { turns: 0, turn: turn::<R>, kernel: kernel::<R>, most: self.turns };
        let mut asking = Asking { asked, runner, end: None };
        // SAFETY: the caller guarantees the memory. (The pointer has the provenance of the whole `Asking`.)
        unsafe { self.enter(bases, (&raw mut asking).cast()) };
        let Asking { asked, runner, end } = asking;
        runner.return_iterations(u64::try_from(asked.turns).unwrap_or(0));
        match end {
            None => Ok(()),
            Some(Ok(error)) => Err(error),
            Some(Err(panic)) => panic.resume(),
        }
    }
}
