//! Aligned memory, and large pages.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use farcall_ir::memory::{self, Charge, OutOfMemory};

use farcall_plan::ALIGNMENT;

/// Bytes aligned to [`ALIGNMENT`].
#[derive(Debug)]
pub(super) struct AlignedBytes {
    data: NonNull<u8>,
    layout: Layout,
    _charge: Charge,
}

// SAFETY: the memory is owned by this value and, as in a boxed slice, only written through `&mut self`.
// (`as_ptr` returns a raw pointer; its users guarantee exclusive access where they dereference it.)
unsafe impl Send for AlignedBytes {}
// SAFETY: `&self` gives no safe access to the bytes.
unsafe impl Sync for AlignedBytes {}

impl AlignedBytes {
    /// Allocates zeroed memory. Pages that are never written to take no physical memory.
    pub(super) fn new(size: usize) -> Result<AlignedBytes, OutOfMemory> {
        let charge = Charge::new(size)?;
        // Allocate at least one cache line, so that the address always belongs to an allocation.
        let layout = Layout::from_size_align(size.max(ALIGNMENT), ALIGNMENT)
            .map_err(|_| OutOfMemory::uncountable())?;
        // SAFETY: the layout's size is at least `ALIGNMENT`, so it is not zero.
        let allocate = || NonNull::new(unsafe { alloc_zeroed(layout) });
        let data = memory::or_release(allocate).ok_or(OutOfMemory::refused(size))?;
        in_large_pages(data.as_ptr(), size);
        Ok(AlignedBytes { data, layout, _charge: charge })
    }

    /// Address of the first byte.
    pub(super) fn as_ptr(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// All bytes.
    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the allocation has this size, is initialized, and is borrowed mutably through `self`.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.layout.size()) }
    }
}

impl Drop for AlignedBytes {
    fn drop(&mut self) {
        // SAFETY: `new` allocated the memory with this layout, and only `drop` frees it.
        unsafe { dealloc(self.data.as_ptr(), self.layout) };
    }
}

/// Minimum size, in bytes, of memory for which large pages are requested.
const MIN_LARGE_PAGE_BYTES: usize = 4 << 20;

/// Asks the system for large pages if the memory is large: in small pages, the first use of a tensor causes
/// hundreds of times as many page faults. Linux provides large pages on request, when the memory is first
/// touched.
pub(super) fn in_large_pages(data: *mut u8, size: usize) {
    #[cfg(target_os = "linux")]
    if size >= MIN_LARGE_PAGE_BYTES {
        // SAFETY: `sysconf` only returns a number.
        let page =
            usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(MIN_LARGE_PAGE_BYTES);
        let before = data.addr().wrapping_neg() % page;
        // SAFETY: the range consists of whole pages of memory that belongs to the caller, and the call does
        // not change their contents. The returned status is ignored: without large pages, the memory is only
        // slower.
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
            eprintln!("skipped: this system has no transparent huge pages");
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
        assert!(asks(&AlignedBytes::new(MIN_LARGE_PAGE_BYTES).unwrap()));
    }
}
