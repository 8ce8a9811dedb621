//! Memory whose size a program determines: requested, and possibly refused, before it is allocated.
//!
//! A few characters of text can request more memory than any machine has, and Rust aborts the process if an ordinary
//! allocation fails. Worse, Linux grants memory that does not exist and kills the process once it is written to. So
//! everything that grows with the sizes of a program's tensors is requested here ([`Charge`], [`reserved`],
//! [`admit_scratch`]; [`Literal`](crate::Literal) does the same), and a refusal is an [`OutOfMemory`].
//!
//! A request is refused
//! - if it exceeds, with all live tensors, the limit that the embedder has set ([`set_limit`]);
//! - if the machine, or a control group that the process is in (`machine.rs`), has less memory available. That is checked before a large
//!   request, and again for every [`PROBED`] bytes of smaller ones;
//! - if the allocator fails.
//!
//! Memory of large tensors is kept for reuse by new ones of the same size, since fresh memory is slow. It is a small
//! part of the machine's memory, and is released before a request is refused, or by [`release`].
//!
//! **Invariant.** Requests below [`COUNTED`] bytes are always granted, so that small tensors cost no time here.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

mod machine;
mod recycle;

pub(crate) use machine::physical;
pub(crate) use recycle::{give, take};

/// Memory that cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub struct OutOfMemory {
    /// Bytes that were asked for; `usize::MAX`: more than can be counted.
    pub bytes: usize,
    /// Why it cannot be had.
    pub reason: Reason,
}

/// Why memory cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The limit, in bytes, and what other tensors take of it.
    Limit {
        /// As set by [`set_limit`].
        limit: usize,
        /// Bytes that are taken.
        taken: usize,
    },
    /// No more than this many bytes are available.
    Available(usize),
    /// The allocator refused.
    Refused,
}

impl std::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.bytes {
            usize::MAX => f.write_str("more bytes than can be counted")?,
            bytes => write!(f, "{bytes} bytes")?,
        }
        f.write_str(" of memory are needed")?;
        match self.reason {
            Reason::Limit { limit, taken: 0 } => write!(f, ", but the limit is {limit}"),
            Reason::Limit { limit, taken } => {
                write!(f, ", but the limit is {limit}, of which {taken} are taken")
            }
            Reason::Available(bytes) => write!(f, ", but only {bytes} are available"),
            Reason::Refused => f.write_str(", but cannot be allocated"),
        }
    }
}

impl OutOfMemory {
    /// A size that overflows.
    pub fn uncountable() -> OutOfMemory {
        OutOfMemory { bytes: usize::MAX, reason: Reason::Refused }
    }

    /// The allocator refused.
    pub fn refused(bytes: usize) -> OutOfMemory {
        OutOfMemory { bytes, reason: Reason::Refused }
    }
}

/// Requests below this many bytes are not counted.
pub const COUNTED: usize = 1 << 14;

/// How many bytes are granted before the machine is asked again how much it has.
pub const PROBED: usize = 64 << 20;

static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static UNPROBED: AtomicUsize = AtomicUsize::new(0);

/// Sets how many bytes the tensors and the scratch memory of all programs in this process may take together.
/// Without a limit, they may take what the machine has available.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes, Relaxed);
}

/// The limit; `usize::MAX` if there is none.
pub fn limit() -> usize {
    LIMIT.load(Relaxed)
}

/// Bytes that tensors and arenas of [`COUNTED`] bytes and more take now, and what is kept for new ones.
pub fn taken() -> usize {
    TAKEN.load(Relaxed)
}

/// Gives memory that is kept for new tensors back to the system; returns the number of bytes.
pub fn release() -> usize {
    recycle::release()
}

/// An error if this much memory is out of the question now.
///
/// # Errors
/// If the limit or the machine does not have it, even without what is kept for new tensors.
pub fn admit(bytes: usize) -> Result<(), OutOfMemory> {
    admit_now(bytes).or_else(|_| {
        release();
        admit_now(bytes)
    })
}

/// What `allocate` returns; if that is nothing, once more without the memory that is kept for new tensors.
pub fn or_release<T>(allocate: impl Fn() -> Option<T>) -> Option<T> {
    allocate().or_else(|| if release() > 0 { allocate() } else { None })
}

fn admit_now(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes < COUNTED {
        return Ok(());
    }
    let (limit, taken) = (limit(), taken());
    if bytes > limit.saturating_sub(taken) {
        return Err(OutOfMemory { bytes, reason: Reason::Limit { limit, taken } });
    }
    probe(bytes)
}

/// An error if the machine does not have this much; small requests are asked for together.
fn probe(bytes: usize) -> Result<(), OutOfMemory> {
    if UNPROBED.fetch_add(bytes.min(PROBED), Relaxed).saturating_add(bytes) >= PROBED {
        UNPROBED.store(0, Relaxed);
        // A little is left to everything else.
        let available = machine::available().map(|a| a - a / 16);
        if let Some(available) = available.filter(|a| *a < bytes) {
            UNPROBED.store(PROBED, Relaxed);
            return Err(OutOfMemory { bytes, reason: Reason::Available(available) });
        }
    }
    Ok(())
}

/// An error if scratch memory, which is allocated next and given back soon, cannot be had.
///
/// For many vectors whose sizes are known together: once this has said yes, they may be allocated as usual.
///
/// # Errors
/// As [`admit`], and if the allocator would refuse.
pub fn admit_scratch(bytes: usize) -> Result<(), OutOfMemory> {
    admit(bytes)?;
    if bytes >= ASKED {
        room::<u8>(bytes).ok_or(OutOfMemory::refused(bytes))?;
    }
    Ok(())
}

/// From this many bytes of scratch on, the allocator is asked.
const ASKED: usize = 1 << 20;

/// Asks whether a program that needs this much at once could run on this machine, if nothing else did.
///
/// # Errors
/// If it could not: how much it needs, and why it cannot have that.
pub fn admit_program(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes > limit() {
        return Err(OutOfMemory { bytes, reason: Reason::Limit { limit: limit(), taken: 0 } });
    }
    if bytes < PROBED {
        return Ok(());
    }
    match machine::physical().filter(|p| *p < bytes) {
        Some(physical) => Err(OutOfMemory { bytes, reason: Reason::Available(physical) }),
        None => Ok(()),
    }
}

/// Memory that counts as taken while this lives. Whoever has one may allocate that much.
#[derive(Debug)]
pub struct Charge(usize);

impl Charge {
    /// That of no memory.
    pub(crate) const NONE: Charge = Charge(0);

    /// Counts `bytes` as taken.
    ///
    /// # Errors
    /// If they cannot be had.
    pub fn new(bytes: usize) -> Result<Charge, OutOfMemory> {
        Charge::now(bytes).or_else(|_| {
            release();
            Charge::now(bytes)
        })
    }

    /// Adds bytes to the charge.
    ///
    /// # Errors
    /// If the memory is not available.
    pub fn grow(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let mut more = Charge::new(bytes)?;
        self.0 += std::mem::take(&mut more.0);
        Ok(())
    }

    fn now(bytes: usize) -> Result<Charge, OutOfMemory> {
        if bytes < COUNTED {
            return Ok(Charge::NONE);
        }
        // In one step, so that two threads cannot both take what is left for one.
        let limit = limit();
        let fits = |taken: usize| taken.checked_add(bytes).filter(|all| *all <= limit);
        let refused = |taken| OutOfMemory { bytes, reason: Reason::Limit { limit, taken } };
        TAKEN.fetch_update(Relaxed, Relaxed, fits).map_err(refused)?;
        let charge = Charge(bytes);
        probe(bytes)?;
        Ok(charge)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0, Relaxed);
    }
}

/// An empty vector with room for `n` elements.
///
/// # Errors
/// If there is not that much memory.
pub fn reserved<T>(n: usize) -> Result<Vec<T>, OutOfMemory> {
    let bytes = n.checked_mul(size_of::<T>()).ok_or_else(OutOfMemory::uncountable)?;
    admit(bytes)?;
    room(n).ok_or(OutOfMemory::refused(bytes))
}

/// An empty vector with room for `n` elements, if the allocator has it, even without what is kept for new tensors.
fn room<T>(n: usize) -> Option<Vec<T>> {
    or_release(|| {
        let mut out = Vec::new();
        out.try_reserve_exact(n).ok()?;
        Some(out)
    })
}

/// The number of elements of a shape, `usize::MAX` if there are more: no vector is that long.
pub fn count(dims: &[usize]) -> usize {
    if dims.contains(&0) { 0 } else { dims.iter().fold(1, |n, d| n.saturating_mul(*d)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_an_error() {
        let tera = 1 << 46;
        let e = reserved::<u64>(tera).unwrap_err();
        assert_eq!(e.bytes, tera * 8);
        assert!(e.to_string().starts_with("562949953421312 bytes of memory are needed, but "), "{e}");
        assert_eq!(reserved::<u64>(usize::MAX).unwrap_err(), OutOfMemory::uncountable());
        assert!(reserved::<u8>(tera).is_err());
        assert!(admit_program(tera).is_err());
        assert!(Charge::new(tera).is_err());
    }

    #[test]
    fn small_requests_are_granted() {
        assert!(reserved::<u8>(3).is_ok_and(|v| v.capacity() >= 3));
        let charge = Charge::new(COUNTED).unwrap();
        assert!(taken() >= COUNTED);
        drop(charge);
        let mut growing = Charge::NONE;
        growing.grow(COUNTED).unwrap();
        growing.grow(2 * COUNTED).unwrap();
        assert_eq!(growing.0, 3 * COUNTED);
        assert!(growing.grow(1 << 60).is_err());
        assert_eq!(growing.0, 3 * COUNTED);
    }

    #[test]
    fn shapes_are_counted_without_overflow() {
        assert_eq!(count(&[2, 3]), 6);
        assert_eq!(count(&[usize::MAX, 2]), usize::MAX);
        assert_eq!(count(&[usize::MAX, 2, 0]), 0);
    }
}
