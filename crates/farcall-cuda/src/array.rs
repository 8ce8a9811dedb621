//! Arrays in the memory of a device: the arguments of kernels and of this crate's functions.

use farcall_ffi::{AnyGpuBuffer, Element, GpuBuffer, GpuScratch, InOut};

/// An array in the memory of a device: a buffer, or scratch memory. Functions read an `&impl GpuArray`, and
/// write an `&mut impl GpuArray`.
///
/// # Safety
/// The `count` elements from the address `start` on lie in memory of the device, and stay there until the
/// work that the call enqueues has ended. If the call is recorded into a CUDA graph, the elements stay there
/// as long as the graph can run, unless `is_scratch` returns true. As long as the array is borrowed
/// exclusively, nothing else in the process writes to its elements.
pub unsafe trait GpuArray {
    /// Type of the elements.
    type Element;

    /// Address of the first element on the device. Never read from it on the host.
    fn start(&self) -> *const Self::Element;

    /// Number of elements.
    fn count(&self) -> usize;

    /// Size of the elements in bytes.
    fn size(&self) -> usize {
        self.count() * size_of::<Self::Element>()
    }

    /// Returns true if the memory is returned to the host when the call ends, as scratch memory is. Work on
    /// the array cannot be recorded into a CUDA graph, which would access the memory later.
    #[inline]
    fn is_scratch(&self) -> bool {
        false
    }
}

// SAFETY: the trampoline has checked the buffer. The host keeps it until the work on its stream has ended,
// and records a graph again when the address of a buffer has changed.
unsafe impl<T: Element, const RANK: usize> GpuArray for GpuBuffer<T, RANK> {
    type Element = T;

    #[inline]
    fn start(&self) -> *const T {
        self.as_ptr()
    }

    #[inline]
    fn count(&self) -> usize {
        self.len()
    }
}

/// The bytes of a buffer of any element type.
// SAFETY: as for `GpuBuffer`.
unsafe impl GpuArray for AnyGpuBuffer {
    type Element = u8;

    #[inline]
    fn start(&self) -> *const u8 {
        self.as_ptr().cast()
    }

    #[inline]
    fn count(&self) -> usize {
        self.size()
    }
}

// SAFETY: the host has allocated the memory. It does not reuse the memory before the work that is already on
// the call's stream has ended.
unsafe impl<T: Element> GpuArray for GpuScratch<'_, T> {
    type Element = T;

    #[inline]
    fn start(&self) -> *const T {
        self.as_ptr()
    }

    #[inline]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline]
    fn is_scratch(&self) -> bool {
        true
    }
}

// SAFETY: the operand and the result are one buffer.
unsafe impl<B: GpuArray + ?Sized> GpuArray for InOut<B> {
    type Element = B::Element;

    #[inline]
    fn start(&self) -> *const B::Element {
        (**self).start()
    }

    #[inline]
    fn count(&self) -> usize {
        (**self).count()
    }

    #[inline]
    fn is_scratch(&self) -> bool {
        (**self).is_scratch()
    }
}
