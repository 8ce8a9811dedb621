//! Polling: a thread that will soon have work, or whose work will soon be done, does not sleep.

use std::time::{Duration, Instant};

/// Time for which a thread polls before it sleeps. The next kernel of a program, and the next run of a
/// device, start sooner than a sleeping thread wakes.
pub(crate) const POLL_TIME: Duration = Duration::from_micros(50);

/// Polls a condition for [`POLL_TIME`], and returns its last value.
pub(crate) fn poll(mut is_there: impl FnMut() -> bool) -> bool {
    const POLLS_PER_CLOCK_READ: usize = 64;
    let mut start = None;
    loop {
        for _ in 0..POLLS_PER_CLOCK_READ {
            if is_there() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.get_or_insert_with(Instant::now).elapsed() > POLL_TIME {
            return is_there();
        }
    }
}
