//! `rms_norm` on CUDA.

use farcall_cuda::{CudaStream, Kernel, PerDevice, kernels, launch};
use farcall_ffi::GpuBuffer;
use farcall_ffi::half::{bf16, f16};
use farcall_ffi::prelude::*;

use super::check;

kernels! {
    /// Kernels of `rms_norm.cu`, for each element type.
    pub(crate) struct RmsNormKernels = include_bytes!("../../kernels/rms_norm.ptx");
    unsafe fn rms_norm_f32(x: *const f32, scale: *const f32, y: *mut f32, rows: u32, columns: u32, eps: f32);
    unsafe fn rms_norm_f16(x: *const f16, scale: *const f16, y: *mut f16, rows: u32, columns: u32, eps: f32);
    unsafe fn rms_norm_bf16(x: *const bf16, scale: *const bf16, y: *mut bf16, rows: u32, columns: u32, eps: f32);
    unsafe fn rms_norm_bwd_f32(
        x: *const f32, scale: *const f32, dy: *const f32, dx: *mut f32, sums: *mut f32, rows: u32,
        columns: u32, eps: f32,
    );
    unsafe fn rms_norm_bwd_f16(
        x: *const f16, scale: *const f16, dy: *const f16, dx: *mut f16, sums: *mut f32, rows: u32,
        columns: u32, eps: f32,
    );
    unsafe fn rms_norm_bwd_bf16(
        x: *const bf16, scale: *const bf16, dy: *const bf16, dx: *mut bf16, sums: *mut f32, rows: u32,
        columns: u32, eps: f32,
    );
    unsafe fn rms_norm_scale_f32(sums: *const f32, dscale: *mut f32, count: u32, columns: u32);
    unsafe fn rms_norm_scale_f16(sums: *const f32, dscale: *mut f16, count: u32, columns: u32);
    unsafe fn rms_norm_scale_bf16(sums: *const f32, dscale: *mut bf16, count: u32, columns: u32);
}

static KERNELS: PerDevice<RmsNormKernels> = PerDevice::new();

#[stage(initialize)]
fn load(stream: &CudaStream) -> Result<()> {
    KERNELS.get_or_init(stream, RmsNormKernels::load).map(drop)
}

type Forward<T> = Kernel<fn(*const T, *const T, *mut T, u32, u32, f32)>;
type Backward<T> = Kernel<fn(*const T, *const T, *const T, *mut T, *mut f32, u32, u32, f32)>;
type ColumnSums<T> = Kernel<fn(*const f32, *mut T, u32, u32)>;

/// An element type with kernels.
pub(crate) trait RmsNormElement: Element {
    fn forward(kernels: &RmsNormKernels) -> &Forward<Self>;
    fn backward(kernels: &RmsNormKernels) -> &Backward<Self>;
    fn column_sums(kernels: &RmsNormKernels) -> &ColumnSums<Self>;
}

macro_rules! elements {
    ($($T:ty: $forward:ident $backward:ident $column_sums:ident;)*) => {$(
        impl RmsNormElement for $T {
            fn forward(kernels: &RmsNormKernels) -> &Forward<Self> {
                &kernels.$forward
            }
            fn backward(kernels: &RmsNormKernels) -> &Backward<Self> {
                &kernels.$backward
            }
            fn column_sums(kernels: &RmsNormKernels) -> &ColumnSums<Self> {
                &kernels.$column_sums
            }
        }
    )*};
}

elements! {
    f32: rms_norm_f32 rms_norm_bwd_f32 rms_norm_scale_f32;
    f16: rms_norm_f16 rms_norm_bwd_f16 rms_norm_scale_f16;
    bf16: rms_norm_bf16 rms_norm_bwd_bf16 rms_norm_scale_bf16;
}

/// Divides each row of `x` by its root mean square, then multiplies it by `scale`:
/// `y = x / sqrt(mean(x²) + eps) * scale`, with the mean over the last dimension.
#[handler(name = "rms_norm", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
#[signature((x: T[*, n], scale: T[n], eps: f32 = 1e-6) -> (y: T[*, n]) where T: f32 | f16 | bf16)]
#[vjp(backward = rms_norm_bwd)]
pub(crate) fn rms_norm<T: RmsNormElement>(
    x: &GpuBuffer<T>,
    scale: &GpuBuffer<T, 1>,
    eps: f32,
    y: &mut GpuBuffer<T>,
    stream: &CudaStream,
) -> Result<()> {
    check(x.dims(), scale.len(), y.dims())?;
    let Rows { rows, columns, block, per_block } = Rows::of::<T>(x.dims())?;
    let kernel = T::forward(KERNELS.get(stream)?);
    // SAFETY: x and y have `rows` rows of `columns` elements, and scale has as many elements (`check`).
    unsafe {
        launch!(kernel, stream, grid: rows.div_ceil(per_block), block: block,
            (x, scale, y, rows, columns, eps))
    }
}

/// Gradients of `x` and `scale` from the gradient of `y`: `dscale` is a sum over all rows.
// The sums of the workers lie in scratch memory, which a CUDA graph cannot keep: the handler is not
// compatible with command buffers.
#[handler(name = "rms_norm_bwd", platform = "CUDA", initialize = load)]
#[signature((x: T[*, n], scale: T[n], dy: T[*, n], eps: f32 = 1e-6) -> (dx: T[*, n], dscale: T[n])
    where T: f32 | f16 | bf16; *: sum)]
#[expect(clippy::too_many_arguments, reason = "the signature has six tensors")]
pub(crate) fn rms_norm_bwd<T: RmsNormElement>(
    x: &GpuBuffer<T>,
    scale: &GpuBuffer<T, 1>,
    dy: &GpuBuffer<T>,
    eps: f32,
    dx: &mut GpuBuffer<T>,
    dscale: &mut GpuBuffer<T, 1>,
    stream: &CudaStream,
    host: &Context,
) -> Result<()> {
    check(x.dims(), scale.len(), dy.dims())?;
    check(x.dims(), dscale.len(), dx.dims())?;
    let Rows { rows, columns, block, per_block } = Rows::of::<T>(x.dims())?;
    let blocks = rows.div_ceil(per_block).min(RUNNING_THREADS / (block.0 * block.1));
    let workers = blocks * per_block;
    let mut sums = host.gpu_scratch::<f32>(workers as usize * columns as usize)?;
    let kernels = KERNELS.get(stream)?;
    // SAFETY: x, dy and dx have `rows` rows of `columns` elements, and scale has as many elements (`check`).
    // Each worker has a row of sums. The call is not recorded into a graph, so the sums outlive both kernels.
    unsafe {
        launch!(T::backward(kernels), stream, grid: blocks, block: block,
            (x, scale, dy, dx, &mut sums, rows, columns, eps))?;
    }
    // SAFETY: the sums have `workers` rows, and dscale has `columns` elements (`check`). Workers without a
    // row may leave their sums unwritten, so these are not read.
    unsafe {
        launch!(T::column_sums(kernels), stream, grid: columns.div_ceil(WARP), block: (WARP, SUMMED_ROWS),
            (&sums, dscale, workers.min(rows), columns))
    }
}

const WARP: u32 = 32;

/// Number of vectors of 16 bytes that a thread keeps in registers, as in `rms_norm.cu`.
const KEPT: u32 = 4;

/// Number of rows that a block of `column_sums` adds at once, as in `rms_norm.cu`.
const SUMMED_ROWS: u32 = 16;

/// Maximum number of threads of a block, as in the kernels' launch bounds.
const MAX_THREADS: u32 = 512;

/// Number of threads of a block with several rows.
const SMALL_BLOCK_THREADS: u32 = 256;

/// Number of threads of the backward kernel that run at the same time on an H200. Each of its 132
/// multiprocessors has 512 threads, which use all registers. Further blocks would have to wait, and would
/// need further rows of sums.
const RUNNING_THREADS: u32 = 132 * 512;

/// The launch of a kernel that works on rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rows {
    rows: u32,
    columns: u32,
    /// Number of threads for a row, and number of rows of a block.
    block: (u32, u32),
    per_block: u32,
}

impl Rows {
    /// Returns the launch for a tensor of these dimensions. A row gets as many threads as can keep it in
    /// registers; a block has several rows if one warp can keep a row.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if there are 2³² or more rows or columns.
    fn of<T>(dims: &[usize]) -> Result<Rows> {
        let [rows @ .., columns] = dims else { return Err(Error::invalid_argument("x has no dimensions")) };
        let (rows, columns) = (u32::try_from(rows.iter().product::<usize>())?, u32::try_from(*columns)?);
        // A row without columns has a sum, too.
        let vectors = columns.div_ceil(16 / size_of::<T>() as u32);
        let threads = vectors.div_ceil(KEPT).max(1).next_multiple_of(WARP).min(MAX_THREADS);
        let per_block = if threads == WARP { SMALL_BLOCK_THREADS / WARP } else { 1 };
        Ok(Rows { rows, columns, block: (threads, per_block), per_block })
    }
}
