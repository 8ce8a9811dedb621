//! A slot for one value, which many threads empty and fill without a lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A slot that holds one value or none.
#[derive(Debug)]
pub(super) struct Spare<T>(AtomicPtr<T>);

impl<T> Spare<T> {
    pub(super) fn new() -> Spare<T> {
        Spare(AtomicPtr::new(ptr::null_mut()))
    }

    /// Takes the value out, if there is one.
    #[inline]
    pub(super) fn take(&self) -> Option<Box<T>> {
        // SAFETY: the pointer is the result of a swap, and is used only in this call.
        unsafe { from_raw(self.0.swap(ptr::null_mut(), Ordering::Acquire)) }
    }

    /// Puts a value in, and returns the previous one.
    #[inline]
    pub(super) fn replace(&self, value: Box<T>) -> Option<Box<T>> {
        // SAFETY: the pointer is the result of a swap, and is used only in this call.
        unsafe { from_raw(self.0.swap(Box::into_raw(value), Ordering::AcqRel)) }
    }
}

/// Returns the value that a slot's pointer owns, if the pointer is not null.
///
/// # Safety
/// `held` must be the result of a swap of a slot's pointer, and must be passed to this function only once.
unsafe fn from_raw<T>(held: *mut T) -> Option<Box<T>> {
    // SAFETY: a slot holds null or a pointer from `Box::into_raw`, and each swap gives the pointer to one
    // thread only. The caller guarantees that `held` is the result of a swap and is used only once
    // (`# Safety` above).
    (!held.is_null()).then(|| unsafe { Box::from_raw(held) })
}

impl<T> Drop for Spare<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

// SAFETY: values move from one thread to another through the slot, and are never shared.
unsafe impl<T: Send> Sync for Spare<T> {}
// SAFETY: the slot owns its value.
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
