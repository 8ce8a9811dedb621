//! `flash_attention` on CUDA, for `d` up to 128.

use farcall_cuda::{CudaStream, Kernel, PerDevice, kernels, launch};
use farcall_ffi::GpuBuffer;
use farcall_ffi::half::{bf16, f16};
use farcall_ffi::prelude::*;

use super::Shape;

kernels! {
    /// Kernels of `flash_attention.cu`, for each element type and for `d` up to 64 or 128.
    pub(crate) struct AttentionKernels = include_bytes!("../../kernels/flash_attention.ptx");
    unsafe fn flash_attention_f16_64(
        q: *const f16, k: *const f16, v: *const f16, out: *mut f16, lse: *mut f32, n: u32, m: u32, d: u32,
        group: u32, tiles: u32, scale: f32, causal: u32,
    );
    unsafe fn flash_attention_f16_128(
        q: *const f16, k: *const f16, v: *const f16, out: *mut f16, lse: *mut f32, n: u32, m: u32, d: u32,
        group: u32, tiles: u32, scale: f32, causal: u32,
    );
    unsafe fn flash_attention_bf16_64(
        q: *const bf16, k: *const bf16, v: *const bf16, out: *mut bf16, lse: *mut f32, n: u32, m: u32, d: u32,
        group: u32, tiles: u32, scale: f32, causal: u32,
    );
    unsafe fn flash_attention_bf16_128(
        q: *const bf16, k: *const bf16, v: *const bf16, out: *mut bf16, lse: *mut f32, n: u32, m: u32, d: u32,
        group: u32, tiles: u32, scale: f32, causal: u32,
    );
}

static KERNELS: PerDevice<AttentionKernels> = PerDevice::new();

#[stage(initialize)]
fn load(stream: &CudaStream) -> Result<()> {
    let load = |stream: &CudaStream| {
        let kernels = AttentionKernels::load(stream)?;
        kernels.flash_attention_f16_128.allow_shared_bytes(shared_bytes(128))?;
        kernels.flash_attention_bf16_128.allow_shared_bytes(shared_bytes(128))?;
        Ok(kernels)
    };
    KERNELS.get_or_init(stream, load).map(drop)
}

type Attention<T> =
    Kernel<fn(*const T, *const T, *const T, *mut T, *mut f32, u32, u32, u32, u32, u32, f32, u32)>;

/// An element type with kernels.
pub(crate) trait AttentionElement: Element {
    /// Returns the kernel for `d` up to 64.
    fn small(kernels: &AttentionKernels) -> &Attention<Self>;
    /// Returns the kernel for `d` up to 128.
    fn large(kernels: &AttentionKernels) -> &Attention<Self>;
}

impl AttentionElement for f16 {
    fn small(kernels: &AttentionKernels) -> &Attention<f16> {
        &kernels.flash_attention_f16_64
    }
    fn large(kernels: &AttentionKernels) -> &Attention<f16> {
        &kernels.flash_attention_f16_128
    }
}

impl AttentionElement for bf16 {
    fn small(kernels: &AttentionKernels) -> &Attention<bf16> {
        &kernels.flash_attention_bf16_64
    }
    fn large(kernels: &AttentionKernels) -> &Attention<bf16> {
        &kernels.flash_attention_bf16_128
    }
}

/// `out = softmax(q·kᵀ/√d)·v`, and `lse`, the logarithms of the sums that the softmax divides by. `h` heads
/// of queries share `g` heads of keys and values, `h / g` query heads each. If `causal`, query `i` attends
/// only to keys with indices up to `i`.
#[handler(name = "flash_attention", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
#[signature((q: T[*, h, n, d], k: T[*, g, m, d], v: T[*, g, m, d], causal: bool = false)
    -> (out: T[*, h, n, d], lse: f32[*, h, n]) where T: f16 | bf16; min(h, g, n, m, d) >= 1; h % g == 0)]
pub(crate) fn flash_attention<T: AttentionElement>(
    q: &GpuBuffer<T>,
    k: &GpuBuffer<T>,
    v: &GpuBuffer<T>,
    causal: bool,
    out: &mut GpuBuffer<T>,
    lse: &mut GpuBuffer<f32>,
    stream: &CudaStream,
) -> Result<()> {
    let Shape { h, g, n, m, d } = Shape::of(q.dims(), k.dims(), v.dims(), out.dims(), lse.dims())?;
    if d > 128 || !d.is_multiple_of(8) {
        let message = format!("on CUDA, d must be a multiple of 8 up to 128, but it is {d}");
        return Err(Error::unimplemented(message));
    }
    // The kernel loads vectors of 16 bytes, and stores pairs of elements.
    let addresses = [q.as_ptr(), k.as_ptr(), v.as_ptr(), out.as_ptr()];
    let aligned = addresses.iter().all(|address| address.addr().is_multiple_of(16));
    ensure!(aligned, "q, k, v and out must be aligned to 16 bytes, but their addresses are {addresses:?}");
    let kernels = KERNELS.get(stream)?;
    let (kernel, columns) = if d <= 64 { (T::small(kernels), 64) } else { (T::large(kernels), 128) };
    let (heads, tiles) = (lse.len() / n, n.div_ceil(QUERIES));
    let [n, m, d, group, tiles] = [n, m, d, h / g, tiles].map(u32::try_from);
    let (tiles, scale) = (tiles?, 1.0 / (q.dims()[q.rank() - 1] as f32).sqrt());
    // SAFETY: the arrays have the sizes that are passed (`Shape::of`), and fit the kernel: `d` is at most
    // `columns`, and the rows of q, k, v and out are aligned to 16 bytes.
    unsafe {
        launch!(kernel, stream, grid: heads * tiles as usize, block: THREADS, shared: shared_bytes(columns),
            (q, k, v, out, lse, n?, m?, d?, group?, tiles, scale, u32::from(causal)))
    }
}

/// Number of threads of a block, as in `flash_attention.cu`.
const THREADS: u32 = 128;

/// Numbers of queries of a block and of keys of a tile, as in `flash_attention.cu`.
const QUERIES: usize = 128;
const KEYS: usize = 64;

/// Size of a block's queries, keys and values in shared memory, in bytes, for rows of `columns` elements.
/// Each row is padded by 16 bytes.
const fn shared_bytes(columns: usize) -> u32 {
    ((QUERIES + 2 * KEYS) * (2 * columns + 16)) as u32
}
