//! Aligned memory, and large pages.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use farcall_ir::memory::{self, Charge, OutOfMemory};

use crate::plan::ALIGNMENT;

/// Bytes aligned to [`ALIGNMENT`].
#[derive(Debug)]
pub(super) struct AlignedBytes {
    data: NonNull<u8>,
    layout: Layout,
    _charge: Charge,
}

// SAFETY: the memory is owned, and reached through `&self` and `&mut self` as a slice's is.
unsafe impl Send for AlignedBytes {}
// SAFETY: as above.
unsafe impl Sync for AlignedBytes {}

impl AlignedBytes {
    /// Zeroed memory: pages that are never written to take none.
    pub(super) fn new(size: usize) -> Result<AlignedBytes, OutOfMemory> {
        let charge = Charge::new(size)?;
        // At least one line, so that the address is always one of an allocation.
        let layout = Layout::from_size_align(size.max(ALIGNMENT), ALIGNMENT)
            .map_err(|_| OutOfMemory::uncountable())?;
        // SAFETY: the layout is not of size zero.
        let allocate = || NonNull::new(unsafe { alloc_zeroed(layout) });
        let data = memory::or_release(allocate).ok_or(OutOfMemory::refused(size))?;
        in_large_pages(data.as_ptr(), size);
        Ok(AlignedBytes { data, layout, _charge: charge })
    }

    /// Where it begins.
    pub(super) fn as_ptr(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// All bytes.
    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the allocation is that long, initialized, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.layout.size()) }
    }
}

impl Drop for AlignedBytes {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and not freed before.
        unsafe { dealloc(self.data.as_ptr(), self.layout) };
    }
}

/// Bytes from which on memory is to lie in large pages.
const LARGE: usize = 4 << 20;

/// Asks the system for large pages, if there is so much memory: a fresh tensor in small ones costs hundreds of times as
/// many page faults. Linux gives them to whoever asks, as the memory is first touched.
pub(super) fn in_large_pages(data: *mut u8, size: usize) {
    #[cfg(target_os = "linux")]
    if size >= LARGE {
        // SAFETY: it only tells a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(LARGE);
        let before = data.addr().wrapping_neg() % page;
        // SAFETY: whole pages of memory that is the caller's; this does not change what is in them.
        // What the system says does not matter: without large pages, it is slower.
        unsafe { libc::madvise(data.add(before).cast(), (size - before) / page * page, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (data, size);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn large_memory_asks_for_large_pages() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            eprintln!("left out: this system has no large pages");
            return;
        }
        let asks = |bytes: &AlignedBytes| {
            let at = bytes.as_ptr().addr() + bytes.layout.size() / 2;
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let mut inside = false;
            let flags = maps.lines().find(|line| {
                let range = line.split(' ').next().and_then(|range| range.split_once('-'));
                let range = range.and_then(|(from, to)| {
                    Some(usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?)
                });
                inside = range.map_or(inside, |range| range.contains(&at));
                inside && line.starts_with("VmFlags:")
            });
            flags.expect("the memory is mapped").split(' ').any(|flag| flag == "hg")
        };
        assert!(asks(&AlignedBytes::new(LARGE).unwrap()));
    }
}
