//! Accounting of memory whose size a program determines. Such memory is requested before it is allocated, and
//! the request may be refused.
//!
//! A few characters of a program can require more memory than any machine has, and Rust aborts the process if
//! an ordinary allocation fails. Worse, Linux grants memory that does not exist, and kills the process when
//! it writes to that memory. So all memory whose size grows with a program's tensors is requested here
//! ([`Charge`], [`reserved`], [`admit_scratch`]), and a refusal is an [`OutOfMemory`].
//!
//! A request is refused
//! - if it exceeds, together with all live tensors, the embedder's limit ([`set_limit`]);
//! - if the machine, or a control group of the process (`machine.rs`), has less memory available. Available
//!   memory is checked before a large request, and again after every [`PROBED`] bytes of smaller requests;
//! - if the allocator fails.
//!
//! When a large tensor is dropped, its memory is kept for new tensors of the same size, since memory that is
//! new from the system is slow. The kept memory is a small part of the machine's memory, and is released
//! before a request is refused, or by [`release`].
//!
//! **Invariant.** Requests below [`COUNTED`] bytes are always granted, so that small tensors cost no time
//! here.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

mod machine;
mod recycle;

use machine::physical;
pub use recycle::{give, take};

/// The error of a refused request for memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub struct OutOfMemory {
    /// Number of bytes requested; `usize::MAX` if the number overflows.
    pub bytes: usize,
    /// Reason for the refusal.
    pub reason: Refusal,
}

/// Reason why a request for memory was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The request exceeds the unused part of the limit.
    Limit {
        /// The limit in bytes, as set by [`set_limit`].
        limit: usize,
        /// Number of bytes in use.
        taken: usize,
    },
    /// Only this many bytes are available.
    Available(usize),
    /// The allocator refused the request.
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
            Refusal::Limit { limit, taken: 0 } => write!(f, ", but the limit is {limit}"),
            Refusal::Limit { limit, taken } => {
                write!(f, ", but the limit is {limit}, of which {taken} are taken")
            }
            Refusal::Available(bytes) => write!(f, ", but only {bytes} are available"),
            Refusal::Refused => f.write_str(", but cannot be allocated"),
        }
    }
}

impl OutOfMemory {
    /// The error for a size that overflows.
    pub fn uncountable() -> OutOfMemory {
        OutOfMemory { bytes: usize::MAX, reason: Refusal::Refused }
    }

    /// The error for memory that the allocator refused.
    pub fn refused(bytes: usize) -> OutOfMemory {
        OutOfMemory { bytes, reason: Refusal::Refused }
    }
}

/// Minimum number of bytes of a request that is counted.
pub const COUNTED: usize = 1 << 14;

/// Number of bytes granted between two checks of the machine's available memory.
pub const PROBED: usize = 64 << 20;

static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static UNPROBED: AtomicUsize = AtomicUsize::new(0);

/// Sets the number of bytes that the tensors and the scratch memory of all programs in this process may take
/// together. Without a limit, they may take all memory that the machine has available.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes, Relaxed);
}

/// The limit in bytes; `usize::MAX` without a limit.
pub fn limit() -> usize {
    LIMIT.load(Relaxed)
}

/// Number of bytes in use by tensors and arenas of at least [`COUNTED`] bytes, including memory kept for new
/// tensors.
pub fn taken() -> usize {
    TAKEN.load(Relaxed)
}

/// Gives memory kept for new tensors back to the system, and returns the number of bytes released.
pub fn release() -> usize {
    recycle::release()
}

/// Checks that this much memory can be granted now.
///
/// # Errors
/// If the limit or the machine's available memory is too small, even after the kept memory is released.
pub fn admit(bytes: usize) -> Result<(), OutOfMemory> {
    admit_now(bytes).or_else(|_| {
        release();
        admit_now(bytes)
    })
}

/// Calls `allocate`; if that returns `None`, releases the memory kept for new tensors and tries again.
pub fn or_release<T>(allocate: impl Fn() -> Option<T>) -> Option<T> {
    allocate().or_else(|| if release() > 0 { allocate() } else { None })
}

fn admit_now(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes < COUNTED {
        return Ok(());
    }
    let (limit, taken) = (limit(), taken());
    if bytes > limit.saturating_sub(taken) {
        return Err(OutOfMemory { bytes, reason: Refusal::Limit { limit, taken } });
    }
    probe(bytes)
}

/// Checks that the machine has this much memory available. Several small requests are checked together.
fn probe(bytes: usize) -> Result<(), OutOfMemory> {
    if UNPROBED.fetch_add(bytes.min(PROBED), Relaxed).saturating_add(bytes) >= PROBED {
        UNPROBED.store(0, Relaxed);
        // Leave a sixteenth to the rest of the system.
        let available = machine::available().map(|a| a - a / 16);
        if let Some(available) = available.filter(|a| *a < bytes) {
            UNPROBED.store(PROBED, Relaxed);
            return Err(OutOfMemory { bytes, reason: Refusal::Available(available) });
        }
    }
    Ok(())
}

/// Checks that this many bytes of scratch memory are available. The caller then allocates the memory at once,
/// and frees it soon.
///
/// One check covers many vectors whose sizes are known together: after it succeeds, the vectors may be
/// allocated as usual.
///
/// # Errors
/// Same errors as [`admit`], and if the allocator would refuse.
pub fn admit_scratch(bytes: usize) -> Result<(), OutOfMemory> {
    admit(bytes)?;
    if bytes >= MIN_ALLOCATOR_CHECK_BYTES {
        room::<u8>(bytes).ok_or(OutOfMemory::refused(bytes))?;
    }
    Ok(())
}

/// Minimum number of bytes of scratch memory for which an allocation is tried.
const MIN_ALLOCATOR_CHECK_BYTES: usize = 1 << 20;

/// Checks whether a program that needs this much memory at once could run on this machine if no other program
/// ran.
///
/// # Errors
/// If the program could not run: the number of bytes that the program needs, and the reason.
pub fn admit_program(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes > limit() {
        return Err(OutOfMemory { bytes, reason: Refusal::Limit { limit: limit(), taken: 0 } });
    }
    if bytes < PROBED {
        return Ok(());
    }
    match machine::physical().filter(|p| *p < bytes) {
        Some(physical) => Err(OutOfMemory { bytes, reason: Refusal::Available(physical) }),
        None => Ok(()),
    }
}

/// Memory that counts as in use while this value lives. Its owner may allocate that much memory.
#[derive(Debug)]
pub struct Charge(usize);

impl Charge {
    /// A charge for no memory.
    pub const EMPTY: Charge = Charge(0);

    /// Counts `bytes` as in use. Fewer than [`COUNTED`] bytes are not counted.
    ///
    /// # Errors
    /// If the memory is not available.
    pub fn new(bytes: usize) -> Result<Charge, OutOfMemory> {
        Charge::now(bytes).or_else(|_| {
            release();
            Charge::now(bytes)
        })
    }

    /// Adds `bytes` to the charge.
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
            return Ok(Charge::EMPTY);
        }
        // One atomic update, so that two threads cannot both take the last free bytes.
        let limit = limit();
        let fits = |taken: usize| taken.checked_add(bytes).filter(|all| *all <= limit);
        let refused = |taken| OutOfMemory { bytes, reason: Refusal::Limit { limit, taken } };
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

/// An empty vector with capacity for `n` elements.
///
/// # Errors
/// If there is not enough memory.
pub fn reserved<T>(n: usize) -> Result<Vec<T>, OutOfMemory> {
    let bytes = n.checked_mul(size_of::<T>()).ok_or_else(OutOfMemory::uncountable)?;
    admit(bytes)?;
    room(n).ok_or(OutOfMemory::refused(bytes))
}

/// An empty vector with capacity for `n` elements, or `None` if the allocator fails even after the kept
/// memory is released.
fn room<T>(n: usize) -> Option<Vec<T>> {
    or_release(|| {
        let mut out = Vec::new();
        out.try_reserve_exact(n).ok()?;
        Some(out)
    })
}

/// Number of elements of a shape; saturates at `usize::MAX`, which no vector can hold.
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
        let mut growing = Charge::EMPTY;
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
