//! Ops with kernels for the CPU and for CUDA. Each op has one signature and one name on both platforms. The
//! handler for the CPU declares the signature and the derivatives. A handler for CUDA repeats the declaration
//! only if the handler is generic, because the signature lists its element types. The compiler compares the
//! two declarations.
//!
//! | op | CUDA kernel | gradient |
//! | --- | --- | --- |
//! | `cublas_gemm` | cuBLAS | yes |
//! | `custom_relu` | PTX, written by hand | yes |
//! | `rms_norm` | CUDA C++ | yes |
//! | `flash_attention` | CUDA C++, tensor cores | none |
//! | `csr_matmul` | CUDA C++ | yes |
//! | `nccl_allreduce` | NCCL | yes |
//!
//! `cargo build -p cuda-ops` builds `libcuda_ops.so`, and needs neither CUDA nor a GPU: the kernels are PTX
//! in `kernels/`, which the driver compiles when a program is loaded. `cargo xtask ptx` makes the PTX from
//! the CUDA C++ beside it.

mod csr_matmul;
mod cublas_gemm;
mod custom_relu;
mod flash_attention;
mod nccl_allreduce;
mod rms_norm;
#[cfg(test)]
mod tests;

farcall_ffi::library!(
    "cuda_ops",
    [
        ..cublas_gemm::OPS,
        ..custom_relu::OPS,
        ..rms_norm::OPS,
        ..flash_attention::OPS,
        ..csr_matmul::OPS,
        ..nccl_allreduce::OPS
    ]
);
