//! Memory with instructions.

use std::ptr::NonNull;

/// Instructions that can be entered. Nobody can write to them any more.
pub(super) struct Executable {
    data: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is owned, and only read.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

impl Executable {
    /// These instructions; `None` if the system does not let a process make some.
    pub(super) fn new(code: &[u8]) -> Option<Executable> {
        let (flags, access) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
        if code.is_empty() {
            return None;
        }
        // SAFETY: new memory, anywhere.
        let data = unsafe { libc::mmap(std::ptr::null_mut(), code.len(), access, flags, -1, 0) };
        if data == libc::MAP_FAILED {
            return None;
        }
        let executable = Executable { data: NonNull::new(data.cast::<u8>())?, len: code.len() };
        // SAFETY: it is that long, and nobody else's.
        unsafe { executable.data.as_ptr().copy_from_nonoverlapping(code.as_ptr(), code.len()) };
        // SAFETY: the same memory.
        let done = unsafe { libc::mprotect(data, code.len(), libc::PROT_READ | libc::PROT_EXEC) };
        (done == 0).then_some(executable)
    }

    /// The first instruction.
    pub(super) fn begin(&self) -> *const u8 {
        self.data.as_ptr()
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and not unmapped before.
        unsafe { libc::munmap(self.data.as_ptr().cast(), self.len) };
    }
}
