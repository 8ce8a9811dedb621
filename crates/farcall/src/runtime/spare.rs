//! A place for one value that many threads take from and put into, without a lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A value, or none.
#[derive(Debug)]
pub(super) struct Spare<T>(AtomicPtr<T>);

impl<T> Spare<T> {
    pub(super) fn new() -> Spare<T> {
        Spare(AtomicPtr::new(ptr::null_mut()))
    }

    /// What is there, if anything is.
    #[inline]
    pub(super) fn take(&self) -> Option<Box<T>> {
        // SAFETY: what the spare held.
        unsafe { from_raw(self.0.swap(ptr::null_mut(), Ordering::Acquire)) }
    }

    /// Puts a value in, and returns the one that was there.
    #[inline]
    pub(super) fn replace(&self, value: Box<T>) -> Option<Box<T>> {
        // SAFETY: what the spare held.
        unsafe { from_raw(self.0.swap(Box::into_raw(value), Ordering::AcqRel)) }
    }
}

/// The value that a spare held.
///
/// # Safety
/// A swap has returned it.
unsafe fn from_raw<T>(held: *mut T) -> Option<Box<T>> {
    // SAFETY: a spare holds what `Box::into_raw` returned, and each swap hands that to one thread alone.
    (!held.is_null()).then(|| unsafe { Box::from_raw(held) })
}

impl<T> Drop for Spare<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

// SAFETY: values go from one thread to another through it, and are never shared.
unsafe impl<T: Send> Sync for Spare<T> {}
// SAFETY: it owns its value.
unsafe impl<T: Send> Send for Spare<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn each_value_is_taken_once() {
        let spare = Spare::new();
        let value = Arc::new(());
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..1000 {
                        drop(spare.replace(Box::new(Arc::clone(&value))));
                        drop(spare.take());
                    }
                });
            }
        });
        drop(spare.replace(Box::new(Arc::clone(&value))));
        assert_eq!(Arc::strong_count(&value), 2);
        drop(spare);
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
