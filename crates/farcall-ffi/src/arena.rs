//! An arena for data that are passed across the C interface: plain values at stable addresses.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::ptr::NonNull;

/// Owns values without destructors until it is dropped, with several values in one allocation.
#[derive(Default)]
pub(crate) struct Arena {
    chunks: Vec<Chunk>,
    /// Number of bytes of the last chunk that are in use.
    used: usize,
}

/// An allocation.
struct Chunk {
    data: NonNull<u8>,
    layout: Layout,
}

/// Alignment of chunks and of array data, in bytes; suffices for every element type.
const MAX_ALIGN: usize = 16;

/// Size of chunks in bytes, except for a chunk with a single, larger value.
const CHUNK_BYTES: usize = 512;

/// Allocation failure.
#[derive(Debug)]
pub(crate) struct OutOfMemory;

// SAFETY: an arena owns its memory, and only `&mut` methods access it.
unsafe impl Send for Arena {}
// SAFETY: shared references give no access to the arena's memory.
unsafe impl Sync for Arena {}

impl Arena {
    /// Moves a value into the arena.
    pub(crate) fn put<T>(&mut self, value: T) -> *mut T {
        const { assert!(align_of::<T>() <= MAX_ALIGN && !std::mem::needs_drop::<T>()) };
        let layout = Layout::new::<T>();
        let to = self.reserve(layout.size(), layout.align()).unwrap_or_else(|_| handle_alloc_error(layout));
        let to = to.cast::<T>().as_ptr();
        // SAFETY: the reserved memory is new, aligned, and large enough.
        unsafe { to.write(value) };
        to
    }

    /// Copies values into the arena, contiguously.
    pub(crate) fn put_all<T: Copy>(&mut self, values: &[T]) -> *mut T {
        const { assert!(align_of::<T>() <= MAX_ALIGN) };
        let layout = Layout::for_value(values);
        let to = self.reserve(layout.size(), layout.align()).unwrap_or_else(|_| handle_alloc_error(layout));
        let to = to.cast::<T>().as_ptr();
        // SAFETY: the reserved memory is new, aligned, and large enough for all values.
        unsafe { to.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        to
    }

    /// Copies bytes into the arena, at an address that is aligned for every element type.
    pub(crate) fn put_elements(&mut self, bytes: &[u8]) -> Result<*mut u8, OutOfMemory> {
        let to = self.reserve(bytes.len(), MAX_ALIGN)?.as_ptr();
        // SAFETY: the reserved memory is new and large enough.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(to)
    }

    /// Reserves unused memory; `align` is at most [`MAX_ALIGN`].
    fn reserve(&mut self, size: usize, align: usize) -> Result<NonNull<u8>, OutOfMemory> {
        if size == 0 {
            return Ok(NonNull::<u128>::dangling().cast());
        }
        let start = self.used.next_multiple_of(align);
        let fits = |chunk: &&Chunk| chunk.layout.size().checked_sub(start).is_some_and(|left| left >= size);
        if let Some(last) = self.chunks.last().filter(fits) {
            self.used = start + size;
            // SAFETY: the offset is within the chunk.
            return Ok(unsafe { last.data.add(start) });
        }
        let layout = Layout::from_size_align(size.max(CHUNK_BYTES), MAX_ALIGN).map_err(|_| OutOfMemory)?;
        // SAFETY: the size is not zero.
        let data = NonNull::new(unsafe { alloc(layout) }).ok_or(OutOfMemory)?;
        self.chunks.push(Chunk { data, layout });
        self.used = size;
        Ok(data)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for Chunk { data, layout } in &self.chunks {
            // SAFETY: `reserve` allocated the chunk with this layout, and it is freed only here.
            unsafe { dealloc(data.as_ptr(), *layout) };
        }
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arena({} chunks)", self.chunks.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_where_they_are() {
        let mut arena = Arena::default();
        let first = arena.put(1u8);
        let all: Vec<*mut u64> = (0..200).map(|i| arena.put_all(&[i, i + 1])).collect();
        let large = arena.put_elements(&[7; 10_000]).unwrap();
        let last = arena.put(9u16);
        assert!(all.iter().all(|at| at.is_aligned()) && large.addr() % MAX_ALIGN == 0 && last.is_aligned());
        // SAFETY: the arena is alive, and nothing writes to its values.
        unsafe {
            assert_eq!((*first, *last, *large, *large.add(9_999)), (1, 9, 7, 7));
            assert!(all.iter().zip(0..).all(|(at, i)| (**at, *at.add(1)) == (i, i + 1)));
        }
        assert!(arena.put_all::<u64>(&[]).is_aligned());
    }
}
