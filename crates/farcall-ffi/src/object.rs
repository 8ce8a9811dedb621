//! The shared object that contains this copy of the crate.

use std::sync::Once;

/// Keeps the library that contains this copy of the crate from being unloaded, since hosts never unregister
/// functions or types. Does nothing if the crate is part of the program itself.
pub(crate) fn stay_loaded() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: all members are pointers.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: `dladdr` accepts any address and writes to `info`.
        let found = unsafe { libc::dladdr((&raw const ONCE).cast(), &raw mut info) };
        if found != 0 && !info.dli_fname.is_null() {
            let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
            // SAFETY: the name of a loaded object. The handle is kept on purpose.
            unsafe { libc::dlopen(info.dli_fname, flags) };
        }
    });
}
