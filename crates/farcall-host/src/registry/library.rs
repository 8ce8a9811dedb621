//! Handles of open libraries.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::link;
use super::load_error::LoadError;
use crate::interface::exit::{self, Doing};
use crate::interface::guard;

/// A library that stays open until the process ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Library {
    handle: usize,
}

/// The beginning of `struct link_map` of <link.h>.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const libc::c_char,
    dynamic: *const c_void,
}

impl Library {
    /// Opens a library. Its static initializers run, unless the library is already open.
    ///
    /// # Safety
    /// The caller trusts the library's code, which may do anything.
    pub(super) unsafe fn open(path: &Path) -> Result<Library, LoadError> {
        let failed = |why, words: String| LoadError::Open { path: path.to_owned(), why, words };
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| failed(None, "the path has a null byte".into()))?;
        // SAFETY: the caller trusts the library (`# Safety` above). `dlerror` is per thread.
        unsafe {
            let open = || guard::open(&name, libc::RTLD_NOW | libc::RTLD_LOCAL);
            let handle = exit::within(&Doing::Opening(path), open);
            if handle.is_null() {
                let message = libc::dlerror();
                let message =
                    if message.is_null() { c"for an unknown reason" } else { CStr::from_ptr(message) };
                let words = message.to_string_lossy().into_owned();
                return Err(failed(link::missing(path, &words).map(Box::new), words));
            }
            Ok(Library { handle: handle.addr() })
        }
    }

    /// Returns a library that is already open, given the path by which the dynamic linker knows the library.
    pub(super) fn already_open(file: &Path) -> Option<Library> {
        let name = CString::new(file.as_os_str().as_bytes()).ok()?;
        // SAFETY: `RTLD_NOLOAD` loads nothing, so no code runs. The additional reference keeps the library
        // open.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then(|| Library { handle: handle.addr() })
    }

    /// Returns the address of the dynamic section, which every library has.
    pub(super) fn dynamic_section(&self) -> Option<usize> {
        let mut map: *mut LinkMap = std::ptr::null_mut();
        let handle = std::ptr::with_exposed_provenance_mut(self.handle);
        // SAFETY: the handle is open until the process ends, and the request writes a pointer to `map`.
        let failed = unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
        // SAFETY: the entry belongs to the linker and is valid as long as the library is open.
        (failed == 0 && !map.is_null()).then(|| unsafe { (*map).dynamic }.addr())
    }

    /// Returns the address of a symbol.
    pub(super) fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        let handle = std::ptr::with_exposed_provenance_mut(self.handle);
        // SAFETY: the handle is open until the process ends.
        let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// Returns the address of a symbol that the process offers to the libraries it loads.
pub(super) fn process_symbol(name: &str) -> Option<usize> {
    let name = CString::new(name).ok()?;
    // SAFETY: a look-up without side effects.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then(|| address.addr())
}

/// Returns the file that contains the code at an address; `None` for the program itself.
pub(super) fn file_of(address: usize) -> Option<PathBuf> {
    let info = find(address)?;
    let own = find(file_of as *const () as usize).map(|own| own.dli_fbase);
    if Some(info.dli_fbase) == own {
        return None;
    }
    // SAFETY: the name is valid as long as its library is open.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let file = PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes()));
    Some(file.canonicalize().unwrap_or(file))
}

/// Returns the name of the exported symbol at exactly this address.
pub(super) fn symbol_at(address: usize) -> Option<String> {
    let info = find(address)?;
    if info.dli_saddr.addr() != address || info.dli_sname.is_null() {
        return None;
    }
    // SAFETY: the name is valid as long as its library is open.
    Some(unsafe { CStr::from_ptr(info.dli_sname) }.to_string_lossy().into_owned())
}

/// Returns the dynamic linker's information about an address.
fn find(address: usize) -> Option<libc::Dl_info> {
    // SAFETY: all members are pointers, for which zero is valid.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `dladdr` accepts any address and writes to `info`.
    let found = unsafe { libc::dladdr(std::ptr::without_provenance(address), &raw mut info) };
    (found != 0 && !info.dli_fname.is_null()).then_some(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_code_has_no_library() {
        assert_eq!(file_of(find as *const () as usize), None);
        let libc = file_of(libc::getpid as *const () as usize).expect("libc is a library");
        assert!(libc.to_string_lossy().contains("libc"), "{}", libc.display());
    }
}
