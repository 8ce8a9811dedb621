//! Seats: places in which the idle threads of a pool sleep, with control over the cores on which the threads
//! wake.
//!
//! A virtual machine's kernel can mistake a sleeping core for a core that the hypervisor has given to other
//! machines. The kernel then places a woken thread on the core of the waking thread, where one of the two
//! waits for milliseconds while the other core does nothing. A seat therefore keeps its thread away from the
//! core of the waking thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// A thread's place to sleep.
pub(super) struct Seat {
    thread: Thread,
    is_woken: AtomicBool,
    cores: Mutex<Cores>,
}

impl Seat {
    /// Creates the seat of the calling thread.
    pub(super) fn new() -> Seat {
        let cores = Mutex::new(Cores::of_this_thread());
        Seat { thread: thread::current(), is_woken: AtomicBool::new(false), cores }
    }

    /// Sleeps until another thread calls `wake`. Returns immediately if the thread has been woken before.
    /// Must be called on the seat's own thread.
    pub(super) fn sleep(&self) {
        while !self.is_woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }

    /// Wakes the thread, on a core other than that of the calling thread if the woken thread may use another
    /// core.
    pub(super) fn wake(&self) {
        self.cores().avoid_current();
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }

    /// Lets the thread use all its original cores again. Called on the seat's own thread.
    pub(super) fn roam(&self) {
        self.cores().restore();
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

    /// Cores that a thread may use.
    pub(super) struct Cores {
        id: pid_t,
        /// Core that the thread is kept away from, and the set of the other cores, which the thread may use
        /// until it roams again.
        avoided: Option<(c_int, cpu_set_t)>,
        /// Cores that the thread may use while it is not kept away from any core.
        all: cpu_set_t,
    }

    impl Cores {
        pub(super) fn of_this_thread() -> Cores {
            // SAFETY: a set of cores is a set of bits, for which zero is valid.
            let none = unsafe { zeroed() };
            // SAFETY: `gettid` has no preconditions.
            Cores { id: unsafe { libc::gettid() }, avoided: None, all: none }
        }

        /// Keeps the thread away from the core on which this function is called, unless the thread may use no
        /// other core.
        pub(super) fn avoid_current(&mut self) {
            // SAFETY: `sched_getcpu` has no preconditions.
            let here = unsafe { libc::sched_getcpu() };
            let Ok(number) = usize::try_from(here) else { return };
            if matches!(self.avoided, Some((core, _)) if core == here) || number >= 8 * size_of::<cpu_set_t>()
            {
                return;
            }
            let Some(now) = self.get() else { return };
            // If other code has changed the thread's cores since, that change is respected.
            if !matches!(&self.avoided, Some((_, ours)) if is_same(ours, &now)) {
                self.all = now;
            }
            let mut others = self.all;
            // SAFETY: `number` is a bit of the set.
            unsafe { libc::CPU_CLR(number, &mut others) };
            // SAFETY: `others` is an initialized set.
            let is_alone = unsafe { libc::CPU_COUNT(&others) == 0 };
            // If the system refuses, the previous setting remains in effect.
            if is_alone {
                self.avoided = None;
            } else if self.set(&others) {
                self.avoided = Some((here, others));
            }
        }

        pub(super) fn restore(&mut self) {
            let Some((_, ours)) = &self.avoided else { return };
            let Some(now) = self.get() else { return };
            if !is_same(ours, &now) || self.set(&self.all) {
                self.avoided = None;
            }
        }

        fn get(&self) -> Option<cpu_set_t> {
            // SAFETY: a set of cores is a set of bits, for which zero is valid.
            let mut cores = unsafe { zeroed() };
            // SAFETY: `cores` is writable and has the given size.
            let error = unsafe { libc::sched_getaffinity(self.id, size_of::<cpu_set_t>(), &raw mut cores) };
            (error == 0).then_some(cores)
        }

        fn set(&self, cores: &cpu_set_t) -> bool {
            // SAFETY: `cores` is readable and has the given size.
            unsafe { libc::sched_setaffinity(self.id, size_of::<cpu_set_t>(), cores) == 0 }
        }
    }

    fn is_same(a: &cpu_set_t, b: &cpu_set_t) -> bool {
        // SAFETY: both sets are initialized.
        unsafe { libc::CPU_EQUAL(a, b) }
    }

    #[cfg(test)]
    pub(super) fn count() -> usize {
        let cores = Cores::of_this_thread().get().unwrap();
        // SAFETY: `cores` is an initialized set.
        usize::try_from(unsafe { libc::CPU_COUNT(&cores) }).unwrap()
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    /// Empty: threads cannot be kept away from cores on this system.
    pub(super) struct Cores;

    impl Cores {
        pub(super) fn of_this_thread() -> Cores {
            Cores
        }

        pub(super) fn avoid_current(&mut self) {}

        pub(super) fn restore(&mut self) {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::linux::count;
    use super::*;

    #[test]
    fn a_woken_thread_avoids_a_core_until_it_roams() {
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
