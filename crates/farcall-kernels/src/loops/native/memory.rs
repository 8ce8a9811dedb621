//! Executable memory.

use std::ptr::NonNull;

/// Machine code in memory that is executable and no longer writable.
pub(crate) struct Executable {
    data: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is owned by the value, and only read.
unsafe impl Send for Executable {}
// SAFETY: the memory is owned by the value, and only read.
unsafe impl Sync for Executable {}

impl Executable {
    /// Copies code to executable memory; `None` if the system does not allow the process to create any.
    pub(crate) fn new(code: &[u8]) -> Option<Executable> {
        let (flags, access) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
        if code.is_empty() {
            return None;
        }
        // SAFETY: the mapping is new, and the system chooses an address where no other memory is.
        let data = unsafe { libc::mmap(std::ptr::null_mut(), code.len(), access, flags, -1, 0) };
        if data == libc::MAP_FAILED {
            return None;
        }
        let executable = Executable { data: NonNull::new(data.cast::<u8>())?, len: code.len() };
        // SAFETY: the mapping has this length, and nothing else uses it yet.
        unsafe { executable.data.as_ptr().copy_from_nonoverlapping(code.as_ptr(), code.len()) };
        // SAFETY: the same mapping, with its length.
        let done = unsafe { libc::mprotect(data, code.len(), libc::PROT_READ | libc::PROT_EXEC) };
        (done == 0).then_some(executable)
    }

    /// Returns the address of the first instruction.
    pub(crate) fn begin(&self) -> *const u8 {
        self.data.as_ptr()
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and not unmapped before.
        unsafe { libc::munmap(self.data.as_ptr().cast(), self.len) };
    }
}
