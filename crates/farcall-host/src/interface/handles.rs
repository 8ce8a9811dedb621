//! Handles for objects that are passed to foreign code: numbers that look like pointers.
//!
//! Foreign code may pass back any number, or the same handle twice. A number that is not in the table is an
//! error, whereas dereferencing an invalid address would crash. Errors and futures are rare enough for a
//! look-up.

use std::collections::HashMap;
use std::ptr::without_provenance_mut;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// A table of objects of one type.
pub(super) struct Handles<T> {
    table: LazyLock<Mutex<Table<T>>>,
}

struct Table<T> {
    objects: HashMap<usize, T>,
    last: usize,
}

/// Distance between consecutive handles, which gives them the alignment of pointers.
const STEP: usize = 16;

impl<T> Handles<T> {
    pub(super) const fn new() -> Handles<T> {
        Handles { table: LazyLock::new(|| Mutex::new(Table { objects: HashMap::new(), last: 0 })) }
    }

    /// Stores an object and returns its handle, which is never null and never reused.
    pub(super) fn insert<P>(&self, object: T) -> *mut P {
        let mut table = self.lock();
        table.last += STEP;
        let handle = table.last;
        table.objects.insert(handle, object);
        without_provenance_mut(handle)
    }

    /// Removes an object; `None` if the handle does not exist (any more).
    pub(super) fn take<P>(&self, handle: *mut P) -> Option<T> {
        self.lock().objects.remove(&handle.addr())
    }

    /// Accesses an object.
    pub(super) fn with<P, R>(&self, handle: *mut P, look: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.lock().objects.get_mut(&handle.addr()).map(look)
    }

    #[cfg(test)]
    pub(super) fn contains<P>(&self, handle: *mut P) -> bool {
        self.lock().objects.contains_key(&handle.addr())
    }

    fn lock(&self) -> MutexGuard<'_, Table<T>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_good_once() {
        static TABLE: Handles<u8> = Handles::new();
        let a: *mut u64 = TABLE.insert(1);
        let b: *mut u64 = TABLE.insert(2);
        assert_eq!(TABLE.with(b, |x| *x), Some(2));
        assert_eq!((TABLE.take(a), TABLE.take(a)), (Some(1), None));
        assert_eq!(TABLE.take(std::ptr::null_mut::<u64>()), None);
        assert!(TABLE.contains(b));
    }
}
