//! `csr_matmul` on CUDA.

use farcall_cuda::{CudaStream, Kernel, PerDevice, kernels, launch};
use farcall_ffi::GpuBuffer;
use farcall_ffi::prelude::*;

use super::Shape;

kernels! {
    /// Kernels of `csr_matmul.cu`, for each element type.
    pub(crate) struct CsrKernels = include_bytes!("../../kernels/csr_matmul.ptx");
    unsafe fn csr_matmul_f32(
        values: *const f32, columns: *const i32, starts: *const i32, b: *const f32, y: *mut f32,
        entries: u32, rows: u32, k: u32, n: u32, batches: u32, adds: u32,
    );
    unsafe fn csr_matmul_f64(
        values: *const f64, columns: *const i32, starts: *const i32, b: *const f64, y: *mut f64,
        entries: u32, rows: u32, k: u32, n: u32, batches: u32, adds: u32,
    );
    unsafe fn csr_matmul_bwd_f32(
        values: *const f32, columns: *const i32, starts: *const i32, b: *const f32, dy: *const f32,
        dvalues: *mut f32, db: *mut f32, entries: u32, rows: u32, k: u32, n: u32, batches: u32,
    );
    unsafe fn csr_matmul_bwd_f64(
        values: *const f64, columns: *const i32, starts: *const i32, b: *const f64, dy: *const f64,
        dvalues: *mut f64, db: *mut f64, entries: u32, rows: u32, k: u32, n: u32, batches: u32,
    );
}

static KERNELS: PerDevice<CsrKernels> = PerDevice::new();

#[stage(initialize)]
fn load(stream: &CudaStream) -> Result<()> {
    KERNELS.get_or_init(stream, CsrKernels::load).map(drop)
}

type Product<T> =
    Kernel<fn(*const T, *const i32, *const i32, *const T, *mut T, u32, u32, u32, u32, u32, u32)>;
type Gradients<T> =
    Kernel<fn(*const T, *const i32, *const i32, *const T, *const T, *mut T, *mut T, u32, u32, u32, u32, u32)>;

/// An element type with kernels.
pub(crate) trait CsrElement: Element {
    fn product(kernels: &CsrKernels) -> &Product<Self>;
    fn gradients(kernels: &CsrKernels) -> &Gradients<Self>;
}

impl CsrElement for f32 {
    fn product(kernels: &CsrKernels) -> &Product<f32> {
        &kernels.csr_matmul_f32
    }
    fn gradients(kernels: &CsrKernels) -> &Gradients<f32> {
        &kernels.csr_matmul_bwd_f32
    }
}

impl CsrElement for f64 {
    fn product(kernels: &CsrKernels) -> &Product<f64> {
        &kernels.csr_matmul_f64
    }
    fn gradients(kernels: &CsrKernels) -> &Gradients<f64> {
        &kernels.csr_matmul_bwd_f64
    }
}

type Values<T> = GpuBuffer<T>;
type Indices = GpuBuffer<i32, 1>;

/// Row `i` of `y` is the sum of `a[e]·b[columns[e], :]` for `e` from `starts[i]` to `starts[i + 1] - 1`.
/// Entries outside of `a` or `b` count as 0.
#[handler(name = "csr_matmul", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
#[signature((a: T[*, e], columns: s32[e], starts: s32[s], b: T[*, k, n]) -> (y: T[*, s - 1, n])
    where T: f32 | f64; s >= 1; n: map)]
#[vjp(backward = csr_matmul_bwd)]
#[jvp(tangent = csr_matmul_jvp)]
pub(crate) fn csr_matmul<T: CsrElement>(
    a: &Values<T>,
    columns: &Indices,
    starts: &Indices,
    b: &Values<T>,
    y: &mut Values<T>,
    stream: &CudaStream,
) -> Result<()> {
    product([a, b], columns, starts, y, stream, false)
}

/// The product rule.
#[handler(name = "csr_matmul_jvp", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
#[signature((a: T[*, e], columns: s32[e], starts: s32[s], b: T[*, k, n], da: T[*, e], db: T[*, k, n])
    -> (dy: T[*, s - 1, n]) where T: f32 | f64; s >= 1; n: map)]
#[expect(clippy::too_many_arguments, reason = "the signature has seven tensors")]
pub(crate) fn csr_matmul_jvp<T: CsrElement>(
    a: &Values<T>,
    columns: &Indices,
    starts: &Indices,
    b: &Values<T>,
    da: &Values<T>,
    db: &Values<T>,
    dy: &mut Values<T>,
    stream: &CudaStream,
) -> Result<()> {
    product([a, db], columns, starts, dy, stream, false)?;
    product([da, b], columns, starts, dy, stream, true)
}

/// `da[e] = b[columns[e], :]·dy[i, :]`, and `db` is the product of the transposed matrix and `dy`.
#[handler(name = "csr_matmul_bwd", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
#[signature((a: T[*, e], columns: s32[e], starts: s32[s], b: T[*, k, n], dy: T[*, s - 1, n])
    -> (da: T[*, e], db: T[*, k, n]) where T: f32 | f64; s >= 1; n: sum)]
#[expect(clippy::too_many_arguments, reason = "the signature has seven tensors")]
pub(crate) fn csr_matmul_bwd<T: CsrElement>(
    a: &Values<T>,
    columns: &Indices,
    starts: &Indices,
    b: &Values<T>,
    dy: &Values<T>,
    da: &mut Values<T>,
    db: &mut Values<T>,
    stream: &CudaStream,
) -> Result<()> {
    let shape = Shape::of(a.dims(), columns.len(), starts.len(), b.dims(), dy.dims())?;
    ensure!(a.dims() == da.dims() && b.dims() == db.dims(), "da is {da:?}, db is {db:?}");
    stream.zero(da)?;
    stream.zero(db)?;
    let [entries, rows, k, n, batches] = shape.sizes()?;
    // SAFETY: the arrays have the sizes that are passed (`Shape::of`). The kernel skips entries whose column or
    // place is out of range.
    unsafe {
        launch!(T::gradients(KERNELS.get(stream)?), stream, grid: shape.blocks(), block: (WARP, WARPS),
            (a, columns, starts, b, dy, da, db, entries, rows, k, n, batches))
    }
}

/// Enqueues `y = a·b`, or `y += a·b` if `adds`.
fn product<T: CsrElement>(
    [a, b]: [&Values<T>; 2],
    columns: &Indices,
    starts: &Indices,
    y: &mut Values<T>,
    stream: &CudaStream,
    adds: bool,
) -> Result<()> {
    let shape = Shape::of(a.dims(), columns.len(), starts.len(), b.dims(), y.dims())?;
    let [entries, rows, k, n, batches] = shape.sizes()?;
    // SAFETY: the arrays have the sizes that are passed (`Shape::of`). The kernel skips entries whose column or
    // place is out of range.
    unsafe {
        launch!(T::product(KERNELS.get(stream)?), stream, grid: shape.blocks(), block: (WARP, WARPS),
            (a, columns, starts, b, y, entries, rows, k, n, batches, u32::from(adds)))
    }
}

const WARP: u32 = 32;

/// Number of warps of a block, each with one row.
const WARPS: u32 = 8;

impl Shape {
    /// Returns the number of entries, rows of the sparse matrix, rows and columns of the dense one, and
    /// batches.
    fn sizes(self) -> Result<[u32; 5]> {
        let Shape { batches, entries, rows, k, n } = self;
        Ok([
            u32::try_from(entries)?,
            u32::try_from(rows)?,
            u32::try_from(k)?,
            u32::try_from(n)?,
            u32::try_from(batches)?,
        ])
    }

    fn blocks(self) -> usize {
        (self.rows * self.batches).div_ceil(WARPS as usize)
    }
}
