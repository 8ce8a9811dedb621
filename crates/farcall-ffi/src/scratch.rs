//! Memory for the duration of a call.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::null_mut;

use crate::abi;
use crate::context::Context;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::host::{Host, function};

/// Alignment of scratch memory in bytes: the size of a cache line, and of the widest vectors.
pub(crate) const ALIGNMENT: usize = 64;

/// Memory for elements during a call, from [`Context::scratch`]. Dereferences to a slice. Dropping it frees
/// the memory.
pub struct Scratch<'a, T: Element> {
    memory: Allocation,
    len: usize,
    elements: PhantomData<(&'a Context, T)>,
}

enum Allocation {
    Host {
        host: Host,
        data: *mut u8,
        size: usize,
    },
    /// Units of [`ALIGNMENT`] bytes.
    Heap(Vec<CacheLine>),
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct CacheLine {
    _bytes: [u8; ALIGNMENT],
}

impl Context {
    /// Allocates memory for `len` elements with unspecified contents: from the host's allocator, or from the
    /// heap if the host has none (XLA on the CPU has none).
    ///
    /// This function is for handlers whose buffers are in the process's own memory. A handler for another
    /// platform uses [`device_memory`](Self::device_memory).
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if there is not enough memory.
    pub fn scratch<T: Element>(&self, len: usize) -> Result<Scratch<'_, T>> {
        let size = len.checked_mul(size_of::<T>()).filter(|&size| size <= isize::MAX as usize);
        let too_much = || Error::resource_exhausted(format!("scratch of {len} elements of {}", T::DTYPE));
        let size = size.ok_or_else(too_much)?;
        // XLA on the CPU has the function, but no allocator behind it.
        let of_host = if size > 0 { allocate(&self.host, size, ALIGNMENT).ok() } else { None };
        let memory = if let Some(data) = of_host {
            Allocation::Host { host: self.host, data: data.cast(), size }
        } else {
            let lines = size.div_ceil(ALIGNMENT);
            let mut heap = Vec::new();
            heap.try_reserve_exact(lines).map_err(|_| too_much())?;
            heap.resize(lines, CacheLine { _bytes: [0; ALIGNMENT] });
            Allocation::Heap(heap)
        };
        Ok(Scratch { memory, len, elements: PhantomData })
    }

    /// Allocates memory of the device that the call runs on, until the call is over or the memory is dropped.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if `alignment` is not a power of two, `UNIMPLEMENTED` if the host has no such
    /// allocator, or the host's own error.
    pub fn device_memory(&self, size: usize, alignment: usize) -> Result<DeviceMemory<'_>> {
        if !alignment.is_power_of_two() {
            let message = format!("alignment {alignment} is not a power of two");
            return Err(Error::invalid_argument(message));
        }
        let data = allocate(&self.host, size, alignment)?;
        Ok(DeviceMemory { host: self.host, data, size, context: PhantomData })
    }
}

impl<T: Element> Deref for Scratch<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory is aligned and holds `len` elements, and every bit pattern is a valid element.
        unsafe { std::slice::from_raw_parts(self.data(), self.len) }
    }
}

impl<T: Element> DerefMut for Scratch<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the memory is aligned and holds `len` elements, and nothing else has a pointer to it.
        unsafe { std::slice::from_raw_parts_mut(self.data(), self.len) }
    }
}

impl<T: Element> Scratch<'_, T> {
    fn data(&self) -> *mut T {
        match &self.memory {
            Allocation::Host { data, .. } => data.cast(),
            Allocation::Heap(lines) => lines.as_ptr().cast_mut().cast(),
        }
    }
}

impl<T: Element> std::fmt::Debug for Scratch<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scratch<{}>[{}]", T::DTYPE, self.len)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if let Allocation::Host { host, data, size } = self {
            free(host, data.cast(), *size);
        }
    }
}

/// Memory of a device, from [`Context::device_memory`].
#[derive(Debug)]
pub struct DeviceMemory<'a> {
    host: Host,
    data: *mut c_void,
    size: usize,
    context: PhantomData<&'a Context>,
}

impl DeviceMemory<'_> {
    /// Address on the device.
    pub fn as_ptr(&self) -> *mut c_void {
        self.data
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Drop for DeviceMemory<'_> {
    fn drop(&mut self) {
        free(&self.host, self.data, self.size);
    }
}

/// Allocates memory from the host, which is aligned as requested, and not null unless `size` is 0.
fn allocate(host: &Host, size: usize, alignment: usize) -> Result<*mut c_void> {
    let function = function!(host, device_memory_allocate)?;
    let mut args = abi::DeviceMemoryAllocateArgs {
        struct_size: abi::DeviceMemoryAllocateArgs::STRUCT_SIZE,
        extension_start: null_mut(),
        ctx: host.ctx,
        size,
        alignment,
        data: null_mut(),
    };
    // SAFETY: a function of the host, with the arguments it expects.
    let error = unsafe { function(&mut args) };
    host.check(error)?;
    if args.data.is_null() && size > 0 {
        return Err(Error::resource_exhausted(format!("the host has no {size} bytes of scratch memory")));
    }
    if !args.data.addr().is_multiple_of(alignment) {
        free(host, args.data, size);
        let message = format!("the host's scratch memory is not aligned to {alignment} bytes");
        return Err(Error::internal(message));
    }
    Ok(args.data)
}

fn free(host: &Host, data: *mut c_void, size: usize) {
    let Ok(function) = function!(host, device_memory_free) else { return };
    let mut args = abi::DeviceMemoryFreeArgs {
        struct_size: abi::DeviceMemoryFreeArgs::STRUCT_SIZE,
        extension_start: null_mut(),
        ctx: host.ctx,
        size,
        data,
    };
    // SAFETY: a function of the host, with the arguments it expects; the memory was allocated by this host
    // and is freed once.
    let error = unsafe { function(&mut args) };
    // If freeing fails, the memory leaks in the host; nothing can be done about it here.
    let _ = host.check(error);
}
