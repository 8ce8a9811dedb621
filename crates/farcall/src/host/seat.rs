//! Where a thread of a pool sleeps, and on which cores it wakes.
//!
//! A virtual machine's kernel can take a core that sleeps for one that the host has given to others. It then puts a
//! thread that is woken on the core of the thread that wakes it, where one of the two waits, for milliseconds, while
//! the other core does nothing. So a thread is kept away from the core that wakes it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// A thread's place to sleep.
pub(super) struct Seat {
    thread: Thread,
    is_called: AtomicBool,
    cores: Mutex<Cores>,
}

impl Seat {
    /// This thread's.
    pub(super) fn new() -> Seat {
        let cores = Mutex::new(Cores::of_this_thread());
        Seat { thread: thread::current(), is_called: AtomicBool::new(false), cores }
    }

    /// Until someone wakes this thread, which it is called on. Who has been woken before does not sleep.
    pub(super) fn sleep(&self) {
        while !self.is_called.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }

    /// Wakes the thread, on a core other than this one if it may use any.
    pub(super) fn wake(&self) {
        self.cores().leave_this_one();
        self.is_called.store(true, Ordering::Release);
        self.thread.unpark();
    }

    /// Lets this thread, which it is called on, use all cores that it could use at first.
    pub(super) fn roam(&self) {
        self.cores().leave_none();
    }

    fn cores(&self) -> MutexGuard<'_, Cores> {
        self.cores.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(target_os = "linux")]
use linux::Cores;
#[cfg(not(target_os = "linux"))]
use other::Cores;

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::zeroed;

    use libc::{c_int, cpu_set_t, pid_t};

    /// The cores that a thread may use.
    pub(super) struct Cores {
        id: pid_t,
        /// One that it is kept away from, and which ones it may use for that reason.
        left: Option<(c_int, cpu_set_t)>,
        /// Those that it may use otherwise.
        all: cpu_set_t,
    }

    impl Cores {
        pub(super) fn of_this_thread() -> Cores {
            // SAFETY: a set of cores is a set of bits.
            let none = unsafe { zeroed() };
            // SAFETY: it has no conditions.
            Cores { id: unsafe { libc::gettid() }, left: None, all: none }
        }

        /// Keeps the thread away from the core that this function is called on, unless it has no other one.
        pub(super) fn leave_this_one(&mut self) {
            // SAFETY: it has no conditions.
            let here = unsafe { libc::sched_getcpu() };
            let Ok(number) = usize::try_from(here) else { return };
            if matches!(self.left, Some((core, _)) if core == here) || number >= 8 * size_of::<cpu_set_t>() {
                return;
            }
            let Some(now) = self.get() else { return };
            // What others have asked for meanwhile holds.
            if !matches!(&self.left, Some((_, ours)) if is_same(ours, &now)) {
                self.all = now;
            }
            let mut others = self.all;
            // SAFETY: a number of a bit that the set has.
            unsafe { libc::CPU_CLR(number, &mut others) };
            // SAFETY: as above.
            let is_alone = unsafe { libc::CPU_COUNT(&others) == 0 };
            // Where the system refuses, what it did last holds.
            if is_alone {
                self.left = None;
            } else if self.set(&others) {
                self.left = Some((here, others));
            }
        }

        pub(super) fn leave_none(&mut self) {
            let Some((_, ours)) = &self.left else { return };
            let Some(now) = self.get() else { return };
            if !is_same(ours, &now) || self.set(&self.all) {
                self.left = None;
            }
        }

        fn get(&self) -> Option<cpu_set_t> {
            // SAFETY: a set of cores is a set of bits.
            let mut cores = unsafe { zeroed() };
            // SAFETY: a set of this size can be written.
            let error = unsafe { libc::sched_getaffinity(self.id, size_of::<cpu_set_t>(), &raw mut cores) };
            (error == 0).then_some(cores)
        }

        fn set(&self, cores: &cpu_set_t) -> bool {
            // SAFETY: a set of this size can be read.
            unsafe { libc::sched_setaffinity(self.id, size_of::<cpu_set_t>(), cores) == 0 }
        }
    }

    fn is_same(a: &cpu_set_t, b: &cpu_set_t) -> bool {
        // SAFETY: it has no conditions.
        unsafe { libc::CPU_EQUAL(a, b) }
    }

    #[cfg(test)]
    pub(super) fn count() -> usize {
        let cores = Cores::of_this_thread().get().unwrap();
        // SAFETY: it has no conditions.
        usize::try_from(unsafe { libc::CPU_COUNT(&cores) }).unwrap()
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    /// Threads cannot be kept away from cores.
    pub(super) struct Cores;

    impl Cores {
        pub(super) fn of_this_thread() -> Cores {
            Cores
        }

        pub(super) fn leave_this_one(&mut self) {}

        pub(super) fn leave_none(&mut self) {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::linux::count;
    use super::*;

    #[test]
    fn who_is_woken_uses_other_cores_until_it_roams() {
        let all = count();
        let (send, receive) = channel();
        let sleeper = thread::spawn(move || {
            let seat = Arc::new(Seat::new());
            send.send(Arc::clone(&seat)).unwrap();
            seat.sleep();
            let woken = count();
            seat.roam();
            (woken, count())
        });
        receive.recv().unwrap().wake();
        assert_eq!(sleeper.join().unwrap(), ((all - 1).max(1), all));
    }
}
