//! Operands and results in the memory of a GPU: `&GpuBuffer<T>` is read, `&mut GpuBuffer<T>` is written.
//!
//! The trampoline checks these buffers as it checks [`Buffer`]s: element type, rank, alignment, shared memory.
//! No function of this crate accesses their elements, so the dimensions are all that host code can read.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use farcall_sig::DType;

use crate::buffer::{ANY_RANK, AnyBuffer, Buffer, BufferMemory, FromView, View};
use crate::context::Context;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::scratch::DeviceMemory;

/// A dense, row-major array of `T` in a GPU's memory, of any or of a known rank: an operand as
/// `&GpuBuffer<T>`, a result as `&mut GpuBuffer<T>`.
///
/// Handlers of another platform than the host's have these parameters in place of [`Buffer`]s:
///
/// ```
/// # use farcall_ffi::prelude::*;
/// # mod driver {
/// #     pub fn copy(_: *const f32, _: *mut f32, _: usize, _: *mut std::ffi::c_void) {}
/// # }
/// #[handler(name = "copy", platform = "CUDA")]
/// fn copy(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, host: &Context) -> Result<()> {
///     ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
///     driver::copy(x.as_ptr(), y.as_mut_ptr(), x.size(), host.stream()?);
///     Ok(())
/// }
/// ```
#[repr(transparent)]
pub struct GpuBuffer<T: Element, const RANK: usize = ANY_RANK>(Buffer<T, RANK>);

/// A dense, row-major array of any element type and rank in a GPU's memory: an operand as `&AnyGpuBuffer`, a
/// result as `&mut AnyGpuBuffer`.
///
/// [`typed`](AnyGpuBuffer::typed) returns it as a [`GpuBuffer`] of its element type.
#[repr(transparent)]
pub struct AnyGpuBuffer(AnyBuffer);

/// Scratch memory of a GPU for elements, from [`Context::gpu_scratch`]. Dropping it returns the memory to the
/// host's allocator. The host does not reuse the memory before the work that is already on the call's stream
/// has ended.
#[derive(Debug)]
pub struct GpuScratch<'a, T: Element> {
    memory: DeviceMemory<'a>,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Element, const RANK: usize> GpuBuffer<T, RANK> {
    /// Sizes of the dimensions, major to minor.
    pub fn dims(&self) -> &[usize] {
        self.0.dims()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.rank()
    }

    /// Sizes of the dimensions as an array, for a buffer of known rank.
    pub fn shape(&self) -> [usize; RANK] {
        self.0.shape()
    }

    /// Sizes of the last `N` dimensions, major to minor.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if there are fewer.
    pub fn last_dims<const N: usize>(&self) -> Result<[usize; N]> {
        self.0.last_dims()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.checked_view().len()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of the elements in bytes.
    pub fn size(&self) -> usize {
        self.0.checked_view().size()
    }

    /// Address of the first element on the device; dangling if there are no elements.
    pub fn as_ptr(&self) -> *const T {
        self.0.checked_view().data().cast_const().cast()
    }

    /// Address of the first element on the device, for writing; dangling if there are no elements.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.0.checked_view().data().cast()
    }
}

impl<T: Element, const RANK: usize> fmt::Debug for GpuBuffer<T, RANK> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl AnyGpuBuffer {
    /// Element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype()
    }

    /// Sizes of the dimensions, major to minor.
    pub fn dims(&self) -> &[usize] {
        self.0.dims()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.rank()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Size of the elements in bytes; elements narrower than a byte take one byte each.
    pub fn size(&self) -> usize {
        self.0.checked_view().size()
    }

    /// Address of the first element on the device; dangling if there are no elements.
    pub fn as_ptr(&self) -> *const c_void {
        self.0.checked_view().data().cast_const().cast()
    }

    /// Address of the first element on the device, for writing; dangling if there are no elements.
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        self.0.checked_view().data().cast()
    }

    /// Returns the buffer with its element type, and with its rank if `RANK` is given.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the buffer has another element type or rank.
    pub fn typed<T: Element, const RANK: usize>(&self) -> Result<&GpuBuffer<T, RANK>> {
        self.0.typed().map(GpuBuffer::from_buffer)
    }

    /// Mutable [`typed`](Self::typed).
    ///
    /// # Errors
    /// Same errors as [`typed`](Self::typed).
    pub fn typed_mut<T: Element, const RANK: usize>(&mut self) -> Result<&mut GpuBuffer<T, RANK>> {
        self.0.typed_mut().map(GpuBuffer::from_buffer_mut)
    }
}

impl fmt::Debug for AnyGpuBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Element, const RANK: usize> GpuBuffer<T, RANK> {
    fn from_buffer(buffer: &Buffer<T, RANK>) -> &GpuBuffer<T, RANK> {
        // SAFETY: `repr(transparent)`.
        unsafe { &*(std::ptr::from_ref(buffer) as *const GpuBuffer<T, RANK>) }
    }

    fn from_buffer_mut(buffer: &mut Buffer<T, RANK>) -> &mut GpuBuffer<T, RANK> {
        // SAFETY: `repr(transparent)`.
        unsafe { &mut *(std::ptr::from_mut(buffer) as *mut GpuBuffer<T, RANK>) }
    }
}

impl<T: Element, const RANK: usize> FromView for GpuBuffer<T, RANK> {
    const DTYPE: Option<DType> = Some(T::DTYPE);
    const RANK: usize = RANK;
    const MEMORY: BufferMemory = BufferMemory::Gpu;

    #[inline(always)]
    unsafe fn from_view(view: &View) -> &Self {
        // SAFETY: the caller guarantees that the view is valid (contract of `from_view`). A `GpuBuffer` does
        // not access the elements.
        GpuBuffer::from_buffer(unsafe { Buffer::from_view(view) })
    }

    #[inline(always)]
    unsafe fn from_view_mut(view: &mut View) -> &mut Self {
        // SAFETY: the caller guarantees that the view is valid (contract of `from_view_mut`). A `GpuBuffer`
        // does not access the elements.
        GpuBuffer::from_buffer_mut(unsafe { Buffer::from_view_mut(view) })
    }
}

impl FromView for AnyGpuBuffer {
    const DTYPE: Option<DType> = None;
    const RANK: usize = ANY_RANK;
    const MEMORY: BufferMemory = BufferMemory::Gpu;

    #[inline(always)]
    unsafe fn from_view(view: &View) -> &Self {
        // SAFETY: the caller guarantees that the view is valid (contract of `from_view`). An `AnyGpuBuffer`
        // does not access the elements.
        let buffer = unsafe { AnyBuffer::from_view(view) };
        // SAFETY: `repr(transparent)`.
        unsafe { &*(std::ptr::from_ref(buffer) as *const AnyGpuBuffer) }
    }

    #[inline(always)]
    unsafe fn from_view_mut(view: &mut View) -> &mut Self {
        // SAFETY: the caller guarantees that the view is valid (contract of `from_view_mut`). An
        // `AnyGpuBuffer` does not access the elements.
        let buffer = unsafe { AnyBuffer::from_view_mut(view) };
        // SAFETY: `repr(transparent)`.
        unsafe { &mut *(std::ptr::from_mut(buffer) as *mut AnyGpuBuffer) }
    }
}

impl Context {
    /// Allocates memory of the GPU that the call runs on for `len` elements with unspecified contents.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if the size overflows, `UNIMPLEMENTED` if the host has no such allocator, or the
    /// host's own error.
    pub fn gpu_scratch<T: Element>(&self, len: usize) -> Result<GpuScratch<'_, T>> {
        let size = len.checked_mul(size_of::<T>()).filter(|&size| size <= isize::MAX as usize);
        let too_much = || Error::resource_exhausted(format!("scratch of {len} elements of {}", T::DTYPE));
        let memory = self.device_memory(size.ok_or_else(too_much)?, GPU_ALIGNMENT)?;
        Ok(GpuScratch { memory, len, elements: PhantomData })
    }
}

/// Alignment that scratch memory on a GPU is requested with, in bytes. XLA refuses more than 16, although the
/// memory of its allocator is aligned to 256 bytes.
const GPU_ALIGNMENT: usize = 16;

impl<T: Element> GpuScratch<'_, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Size of the elements in bytes.
    pub fn size(&self) -> usize {
        self.memory.size()
    }

    /// Address of the first element on the device.
    pub fn as_ptr(&self) -> *const T {
        self.memory.as_ptr().cast_const().cast()
    }

    /// Address of the first element on the device, for writing.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.memory.as_ptr().cast()
    }
}
