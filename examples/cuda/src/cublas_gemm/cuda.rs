//! `cublas_gemm` on CUDA: products by cuBLAS.

use farcall_cuda::{Blas, CudaStream, Gemm, PerDevice};
use farcall_ffi::GpuBuffer;
use farcall_ffi::prelude::*;

use super::Shape;

/// Each call site has its own handles, since the products of a handle share a workspace and wait for each
/// other.
#[stage(instantiate)]
fn site() -> Result<PerDevice<Blas>> {
    Ok(PerDevice::new())
}

#[stage(initialize)]
fn open(site: &State<PerDevice<Blas>>, stream: &CudaStream) -> Result<()> {
    // SAFETY: only this call site uses the handle, as long as the program exists.
    let make = |stream: &CudaStream| Ok(unsafe { Blas::new(stream)?.allow_recording() });
    site.get_or_init(stream, make).map(drop)
}

/// The product of matrices: `c = a·b`.
#[handler(
    name = "cublas_gemm", platform = "CUDA",
    instantiate = site, initialize = open, traits(command_buffer_compatible)
)]
pub(crate) fn cublas_gemm(
    a: &GpuBuffer<f32>,
    b: &GpuBuffer<f32>,
    c: &mut GpuBuffer<f32>,
    site: &State<PerDevice<Blas>>,
    stream: &CudaStream,
) -> Result<()> {
    let Shape { batch, m, k, n } = Shape::of(a.dims(), b.dims(), c.dims())?;
    site.get(stream)?.gemm(stream, Gemm { batch, ..Gemm::new(m, n, k) }, a, b, c)
}

/// `da = dc·bᵀ`, `db = aᵀ·dc`
#[handler(
    name = "cublas_gemm_bwd", platform = "CUDA",
    instantiate = site, initialize = open, traits(command_buffer_compatible)
)]
pub(crate) fn cublas_gemm_bwd(
    a: &GpuBuffer<f32>,
    b: &GpuBuffer<f32>,
    dc: &GpuBuffer<f32>,
    da: &mut GpuBuffer<f32>,
    db: &mut GpuBuffer<f32>,
    site: &State<PerDevice<Blas>>,
    stream: &CudaStream,
) -> Result<()> {
    let Shape { batch, m, k, n } = Shape::of(a.dims(), b.dims(), dc.dims())?;
    ensure!(a.dims() == da.dims() && b.dims() == db.dims(), "da is {da:?}, db is {db:?}");
    let blas = site.get(stream)?;
    blas.gemm(stream, Gemm { batch, transpose_b: true, ..Gemm::new(m, k, n) }, dc, b, da)?;
    blas.gemm(stream, Gemm { batch, transpose_a: true, ..Gemm::new(k, n, m) }, a, dc, db)
}
