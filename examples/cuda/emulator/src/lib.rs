//! Runs PTX on the CPU, so that tests of CUDA kernels and their launches need no GPU.
//!
//! The library has the functions of the CUDA driver that `farcall-cuda` and the tests call. A test opens it
//! in the place of `libcuda.so.1`. Memory of the device is memory of this library, at addresses that the host
//! cannot use. Work on a stream is done when it is enqueued. A kernel that accesses memory outside of all
//! allocations fails, as under `compute-sanitizer`.
//!
//! - `ptx` reads PTX.
//! - `machine` runs kernels.
//! - `driver` has the functions of the driver.

mod driver;
mod machine;
pub mod ptx;
