//! Objects behind the handles that the plugin returns.
//!
//! A handle is the address of a boxed [`Object`]. Debug builds keep a list of the live handles, so that a
//! freed handle, or the handle of another kind of object, is an error instead of undefined behavior.

use std::ffi::{c_char, c_void};

use farcall_pjrt_abi::ErrorHandle;

use crate::status::{Outcome, Status};

/// A type whose values the plugin returns as handles.
pub(crate) trait Object: 'static {
    /// The opaque type of the handle.
    type Abi;
    /// Name of the kind of object, for messages.
    const KIND: &'static str;
}

impl Object for Status {
    type Abi = ErrorHandle;
    const KIND: &'static str = "error";
}

impl Status {
    /// Returns an error for the caller to own.
    pub(crate) fn into_handle(self) -> *mut ErrorHandle {
        into_handle(Box::new(self))
    }
}

/// Makes a handle, which the caller owns.
pub(crate) fn into_handle<T: Object>(object: Box<T>) -> *mut T::Abi {
    let handle = Box::into_raw(object).cast::<T::Abi>();
    live::add(handle.addr(), T::KIND, true);
    handle
}

/// Makes a handle of an object that stays owned by the plugin.
pub(crate) fn lend<T: Object>(object: &T) -> *mut T::Abi {
    let handle = std::ptr::from_ref(object).cast_mut().cast::<T::Abi>();
    live::add(handle.addr(), T::KIND, false);
    handle
}

/// Removes a lent handle from the list of live ones, before its object is dropped.
pub(crate) fn withdraw<T: Object>(object: &T) {
    live::remove(std::ptr::from_ref(object).addr());
}

/// Returns the object of a handle.
///
/// # Errors
/// If the handle is null. In debug builds also if the object is freed or of another kind.
///
/// # Safety
/// The handle is null or was returned by this plugin for an object of this type, which lives as long as `'a`.
pub(crate) unsafe fn object<'a, T: Object>(name: &str, handle: *mut T::Abi) -> Outcome<&'a T> {
    check::<T>(name, handle)?;
    // SAFETY: the handle is not null, so it points to a live object of this type (`# Safety` above).
    Ok(unsafe { &*handle.cast::<T>() })
}

/// Takes back the object of a handle that its owner frees.
///
/// # Errors
/// The errors of [`object`].
///
/// # Safety
/// The handle is null or was made by [`into_handle`] for an object of this type. It is not used again.
pub(crate) unsafe fn take<T: Object>(name: &str, handle: *mut T::Abi) -> Outcome<Box<T>> {
    check::<T>(name, handle)?;
    live::check_owned(handle.addr(), name)?;
    live::remove(handle.addr());
    // SAFETY: the handle came from a box of this type, and its owner gives it up (`# Safety` above).
    Ok(unsafe { Box::from_raw(handle.cast::<T>()) })
}

/// Bytes that the caller reads and then frees with [`OwnedBytes::free`].
pub(crate) struct OwnedBytes(Box<[u8]>);

impl OwnedBytes {
    /// Returns the data, its size in bytes, and the object that owns it.
    pub(crate) fn parts(bytes: impl Into<Vec<u8>>) -> (*const c_char, usize, *mut c_void) {
        let owner = Box::new(OwnedBytes(bytes.into().into_boxed_slice()));
        let (data, size) = (owner.0.as_ptr().cast(), owner.0.len());
        (data, size, Box::into_raw(owner).cast())
    }

    /// Frees the object of [`OwnedBytes::parts`], unless it is null.
    ///
    /// # Safety
    /// The object is null or comes from `parts`, and is not used again.
    pub(crate) unsafe extern "C" fn free(object: *mut c_void) {
        if !object.is_null() {
            // SAFETY: the object comes from `parts` and is given up (`# Safety` above).
            drop(unsafe { Box::from_raw(object.cast::<OwnedBytes>()) });
        }
    }
}

/// Handles that the plugin lends to the caller.
pub(crate) struct Handles<H>(Box<[*mut H]>);

// SAFETY: the handles are addresses that the plugin never reads through this type.
unsafe impl<H> Send for Handles<H> {}
// SAFETY: see above.
unsafe impl<H> Sync for Handles<H> {}

impl<H> Handles<H> {
    pub(crate) fn new(handles: impl IntoIterator<Item = *mut H>) -> Handles<H> {
        Handles(handles.into_iter().collect())
    }

    /// Returns the array as the interface passes it.
    pub(crate) fn parts(&self) -> (*const *mut H, usize) {
        (self.0.as_ptr(), self.0.len())
    }

    pub(crate) fn get(&self, index: usize) -> *mut H {
        self.0[index]
    }
}

/// Returns the parts of a text that outlives the call.
pub(crate) fn text(text: &str) -> (*const c_char, usize) {
    (text.as_ptr().cast(), text.len())
}

fn check<T: Object>(name: &str, handle: *mut T::Abi) -> Outcome {
    if handle.is_null() {
        return Err(Status::invalid(format!(
            "`{name}` is null; it must be {} {}",
            article(T::KIND),
            T::KIND
        )));
    }
    if !handle.addr().is_multiple_of(align_of::<T>()) {
        return Err(Status::invalid(format!("`{name}` is not a handle of this plugin")));
    }
    live::check(handle.addr(), name, T::KIND)
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// List of the live handles, in debug builds.
#[cfg(debug_assertions)]
mod live {
    use std::collections::HashMap;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::article;
    use crate::status::{Outcome, Status};

    /// Kind of each object, and true if the caller owns it.
    type Live = HashMap<usize, (&'static str, bool)>;

    static LIVE: Mutex<Option<Live>> = Mutex::new(None);

    fn live() -> MutexGuard<'static, Option<Live>> {
        LIVE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(handle: usize, kind: &'static str, is_owned: bool) {
        live().get_or_insert_default().insert(handle, (kind, is_owned));
    }

    pub(super) fn check_owned(handle: usize, name: &str) -> Outcome {
        match live().get_or_insert_default().get(&handle) {
            Some((_, false)) => {
                Err(Status::invalid(format!("`{name}` belongs to the plugin and cannot be freed")))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn remove(handle: usize) {
        live().get_or_insert_default().remove(&handle);
    }

    pub(super) fn check(handle: usize, name: &str, kind: &'static str) -> Outcome {
        match live().get_or_insert_default().get(&handle) {
            Some((found, _)) if *found == kind => Ok(()),
            Some((found, _)) => {
                let message =
                    format!("`{name}` must be {} {kind}, not {} {found}", article(kind), article(found));
                Err(Status::invalid(message))
            }
            None => Err(Status::invalid(format!("`{name}` is freed, or not a handle of this plugin"))),
        }
    }
}

#[cfg(not(debug_assertions))]
mod live {
    use crate::status::Outcome;

    pub(super) fn add(_: usize, _: &'static str, _: bool) {}
    pub(super) fn check_owned(_: usize, _: &str) -> Outcome {
        Ok(())
    }
    pub(super) fn remove(_: usize) {}
    pub(super) fn check(_: usize, _: &str, _: &'static str) -> Outcome {
        Ok(())
    }
}
