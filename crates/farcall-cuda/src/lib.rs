//! Write XLA FFI handlers (custom calls) for CUDA in Rust.
//!
//! A handler for `"CUDA"` is a function like any other handler of `farcall-ffi`. Its buffers are addresses in
//! the memory of the device, and it enqueues work on the host's stream:
//!
//! ```
//! use farcall_cuda::{PerDevice, CudaStream, kernels, launch};
//! use farcall_ffi::prelude::*;
//!
//! # const PTX: &[u8] = b"";
//! kernels! {
//!     /// Kernels of `relu.cu`.
//!     struct ReluKernels = PTX; // include_bytes!("relu.ptx")
//!     /// `y[i] = max(x[i], 0)` for `i < n`.
//!     unsafe fn relu(x: *const f32, y: *mut f32, n: u64);
//! }
//!
//! static KERNELS: PerDevice<ReluKernels> = PerDevice::new();
//!
//! #[stage(initialize)]
//! fn load(stream: &CudaStream) -> Result<()> {
//!     KERNELS.get_or_init(stream, ReluKernels::load).map(drop)
//! }
//!
//! #[handler(name = "relu", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
//! fn relu(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
//!     ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
//!     let n = x.len();
//!     // SAFETY: x and y have n elements.
//!     unsafe {
//!         launch!(KERNELS.get(stream)?.relu, stream, grid: n.div_ceil(256), block: 256, (x, y, n as u64))
//!     }
//! }
//! ```
//!
//! A library of such handlers builds and loads without CUDA: the driver, cuBLAS and NCCL are opened when a
//! handler first needs them. If one of them is missing, the call fails with an error that lists the files
//! that were looked for.
//!
//! - [`CudaStream`]: the stream of a call, as the parameter `&CudaStream`. It enqueues copies and zero fills.
//! - [`kernels!`], [`launch!`]: kernels from PTX, cubins and fatbins. The compiler checks arguments against
//!   prototypes; an `unsafe` block promises that the kernel stays within its arrays.
//! - [`PerDevice`]: values that exist once for each device.
//! - [`Blas`]: matrix products by cuBLAS.
//! - [`nccl`]: collectives by NCCL.
//! - [`extension`]: extensions of the interface that XLA's GPU backend offers: recording of CUDA graphs, and
//!   XLA's own communicators.
//! - [`GpuDevice`]: a device with a stream and memory, for tools and tests that call handlers without XLA.
//! - [`cudarc`](https://docs.rs/cudarc) is re-exported, for everything else that the CUDA libraries offer.
//!   [`CudaStream::as_raw`] returns the handle of the stream.
//!
//! # The stages of a call in XLA
//!
//! XLA's GPU backend (`xla/backends/gpu/runtime/custom_call_thunk.cc`, `gpu_executable.cc`,
//! `command_buffer_thunk.cc`, `traced_command.cc`) calls the functions of a handler as follows.
//!
//! | stage | when | stream | scratch memory | buffers | CUDA context |
//! | --- | --- | --- | --- | --- | --- |
//! | instantiate | once, when the program is compiled, possibly on a machine without a GPU | no | no | none, or types and sizes with null addresses, depending on the version | unknown |
//! | prepare | once a run | no | depends on the version | addresses, or null in older versions | current |
//! | initialize | once a run, after all prepare functions, before the first execute function | yes | yes | yes | current |
//! | execute | once for each step of the program | yes | yes | yes | current |
//! | record (0.5) | instead of execute, to add the call to a CUDA graph | yes | yes | yes | current |
//!
//! - *Context.* A run makes the context of its device current on its thread, then calls the functions of all
//!   stages on this thread. This crate makes another context current only to unload modules and to destroy
//!   the handles of libraries.
//! - *Stream.* In the initialize stage, the stream is the run's main stream, which is never being recorded.
//!   In the execute stage, it may be another stream: a stream of the run, or the one on which XLA records.
//! - *Graphs.* XLA records a call with the trait `command_buffer_compatible` into a CUDA graph: it puts a
//!   separate stream into capture mode (`CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`) and calls the execute
//!   function. Later runs launch the graph without calling the function, unless the addresses of buffers have
//!   changed. So the work must only depend on attributes, shapes and addresses.
//! - *Before a recording*, the initialize function of the call has run, in the same run. In the record stage,
//!   states of the prepare and initialize stages (`&Prepared<T>`, `&Initialized<T>`) are not available; the
//!   state of the call site (`&State<T>`) is.
//! - *Scratch memory* of XLA's allocator is aligned to 256 bytes, but XLA refuses requests for an alignment
//!   of more than 16 bytes.
//!
//! These facts lead to the rules that this crate enforces or expects:
//!
//! - Modules and handles of libraries are made in the **initialize** stage. It is the first stage with a
//!   device, and the last stage that allows this: a thread that records must not load modules or make
//!   handles. [`KernelModule::load`], [`Blas::new`], [`nccl::Communicator`]'s constructors and
//!   [`PerDevice::get_or_init`] return `FAILED_PRECONDITION` while the stream is recorded, before they call
//!   the function that would fail.
//! - Scratch memory is returned to the host when the call returns, but a graph may run at any later time: XLA
//!   keeps the buffers of a recorded call, not its scratch memory. While the stream is recorded, copies,
//!   launches and library calls of this crate return `FAILED_PRECONDITION` for a
//!   [`GpuScratch`](farcall_ffi::GpuScratch). A handler with the trait `command_buffer_compatible` declares
//!   another result instead, or allocates memory in the initialize stage ([`PerDevice`]).
//! - A handler does not wait for the stream: waiting is an error during a recording, and otherwise stalls the
//!   program.
//!
//! # Errors
//!
//! An error of the driver has the name of its function, and the driver's name and text: `cuLaunchKernel:
//! CUDA_ERROR_INVALID_VALUE: invalid argument`, with the kernel and the dimensions of the launch. The error
//! has XLA's code for the driver's status: [`StatusCode`](farcall_ffi::StatusCode).

mod array;
mod blas;
mod device;
mod driver;
pub mod extension;
mod kernel;
mod library;
mod module;
pub mod nccl;
mod per_device;
mod stream;

pub use array::GpuArray;
pub use blas::{Blas, BlasElement, Gemm};
pub use cudarc;
pub use device::{GpuDevice, GpuMemory};
pub use driver::driver_version;
pub use kernel::{Kernel, KernelArgument, KernelArguments, KernelParameter, KernelPrototype, LaunchDims};
pub use module::KernelModule;
pub use per_device::PerDevice;
pub use stream::CudaStream;

/// Items that the expansion of the macros uses. Not a public interface.
#[doc(hidden)]
pub mod __private {
    pub use farcall_ffi::Error;

    use std::ffi::CStr;

    /// Converts a literal that ends with a null byte to a C string.
    ///
    /// # Panics
    /// If the literal contains another null byte.
    pub const fn symbol(literal: &'static str) -> &'static CStr {
        match CStr::from_bytes_with_nul(literal.as_bytes()) {
            Ok(symbol) => symbol,
            Err(_) => panic!("the name of a kernel contains a null byte"),
        }
    }
}
