//! Aligned memory.

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
