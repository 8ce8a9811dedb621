//! Matrix products by cuBLAS, on the handler's stream.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_void};
use std::fmt;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use cudarc::cublas::sys;
use cudarc::driver::sys as driver_sys;
use farcall_ffi::half::{bf16, f16};
use farcall_ffi::{Element, Error, Result, StatusCode};

use crate::array::GpuArray;
use crate::driver::{Driver, HostContext};
use crate::library::{LibraryFiles, function_table};
use crate::stream::CudaStream;

function_table! {
    /// Functions of cuBLAS.
    struct Cublas of CUBLAS, sys::cublasStatus_t;

    fn cublasCreate_v2(*mut sys::cublasHandle_t);
    fn cublasDestroy_v2(sys::cublasHandle_t);
    fn cublasSetStream_v2(sys::cublasHandle_t, sys::cudaStream_t);
    fn cublasSetWorkspace_v2(sys::cublasHandle_t, *mut c_void, usize);
    fn cublasGemmEx(
        sys::cublasHandle_t, sys::cublasOperation_t, sys::cublasOperation_t, c_int, c_int, c_int,
        *const c_void, *const c_void, sys::cudaDataType, c_int, *const c_void, sys::cudaDataType, c_int,
        *const c_void, *mut c_void, sys::cudaDataType, c_int, sys::cublasComputeType_t, sys::cublasGemmAlgo_t,
    );
    fn cublasGemmStridedBatchedEx(
        sys::cublasHandle_t, sys::cublasOperation_t, sys::cublasOperation_t, c_int, c_int, c_int,
        *const c_void, *const c_void, sys::cudaDataType, c_int, c_longlong, *const c_void, sys::cudaDataType,
        c_int, c_longlong, *const c_void, *mut c_void, sys::cudaDataType, c_int, c_longlong, c_int,
        sys::cublasComputeType_t, sys::cublasGemmAlgo_t,
    );
    unchecked {
        fn cublasGetStatusName(u32) -> *const c_char;
        fn cublasGetStatusString(u32) -> *const c_char;
    }
    optional {}
}

/// The files of cuBLAS: the versions for CUDA 13 and 12, then the name in folders for development.
const CUBLAS: LibraryFiles =
    LibraryFiles { title: "cuBLAS", files: &["libcublas.so.13", "libcublas.so.12", "libcublas.so"] };

/// Size of the workspace on devices of compute capability 9.0 and later, in bytes: NVIDIA's recommendation.
const LARGE_WORKSPACE_BYTES: usize = 32 << 20;

/// Size of the workspace on older devices, in bytes: NVIDIA's recommendation.
const SMALL_WORKSPACE_BYTES: usize = 4 << 20;

/// A handle of cuBLAS with a workspace, for one device.
///
/// Products of one handle never run at the same time, since they share the workspace: a product waits on the
/// device for the handle's earlier products on other streams. So each call site has its own handle, made in
/// the initialize stage. Products can be recorded into a CUDA graph after
/// [`allow_recording`](Self::allow_recording), with which the caller promises that no other product of the
/// handle runs at the same time as the graph:
///
/// ```
/// use farcall_cuda::{Blas, Gemm, PerDevice, CudaStream};
/// use farcall_ffi::prelude::*;
///
/// #[stage(instantiate)]
/// fn site() -> Result<PerDevice<Blas>> {
///     Ok(PerDevice::new())
/// }
///
/// #[stage(initialize)]
/// fn open(site: &State<PerDevice<Blas>>, stream: &CudaStream) -> Result<()> {
///     // SAFETY: only this call site uses the handle, as long as the program exists.
///     let make = |stream: &CudaStream| Ok(unsafe { Blas::new(stream)?.allow_recording() });
///     site.get_or_init(stream, make).map(drop)
/// }
///
/// /// `c = a b`
/// #[handler(
///     name = "gemm", platform = "CUDA",
///     instantiate = site, initialize = open, traits(command_buffer_compatible)
/// )]
/// fn gemm(
///     a: &GpuBuffer<f32, 2>,
///     b: &GpuBuffer<f32, 2>,
///     c: &mut GpuBuffer<f32, 2>,
///     site: &State<PerDevice<Blas>>,
///     stream: &CudaStream,
/// ) -> Result<()> {
///     let ([m, k], [_, n]) = (a.shape(), b.shape());
///     site.get(stream)?.gemm(stream, Gemm::new(m, n, k), a, b, c)
/// }
/// ```
pub struct Blas {
    /// The handle's stream and workspace are set for each product, so its users take turns.
    handle: Mutex<Handle>,
    device_ordinal: i32,
    /// True if products may be recorded into a CUDA graph.
    is_recordable: bool,
}

struct Handle {
    cublas: &'static Cublas,
    driver: &'static Driver,
    raw: sys::cublasHandle_t,
    context: HostContext,
    workspace: driver_sys::CUdeviceptr,
    workspace_bytes: usize,
    /// Recorded on a stream after each product that is not part of a CUDA graph. Null only while the handle
    /// is made.
    last_product: driver_sys::CUevent,
    /// True if an event could not be recorded, so that later products cannot wait for an earlier one.
    is_unordered: bool,
}

// SAFETY: any thread may use a handle, if no other thread uses it at the same time.
unsafe impl Send for Handle {}

/// An element type of matrix products: `f32`, `f64`, `f16` or `bf16`. Products of `f16` and `bf16` are
/// accumulated in `f32`.
pub trait BlasElement: Element + sealed::Sealed {}

mod sealed {
    use cudarc::cublas::sys;

    pub trait Sealed {
        const TYPE: sys::cudaDataType;
        const COMPUTE: sys::cublasComputeType_t;
    }
}

macro_rules! blas_elements {
    ($($ty:ty: $data:ident, $compute:ident;)*) => {$(
        impl sealed::Sealed for $ty {
            const TYPE: sys::cudaDataType = sys::cudaDataType::$data;
            const COMPUTE: sys::cublasComputeType_t = sys::cublasComputeType_t::$compute;
        }

        impl BlasElement for $ty {}
    )*};
}

blas_elements! {
    f32: CUDA_R_32F, CUBLAS_COMPUTE_32F;
    f64: CUDA_R_64F, CUBLAS_COMPUTE_64F;
    f16: CUDA_R_16F, CUBLAS_COMPUTE_32F;
    bf16: CUDA_R_16BF, CUBLAS_COMPUTE_32F;
}

/// A product of row-major matrices, or a batch of products: `c = alpha * op(a) * op(b) + beta * c`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gemm {
    /// Number of rows of `op(a)` and `c`.
    pub m: usize,
    /// Number of columns of `op(b)` and `c`.
    pub n: usize,
    /// Number of columns of `op(a)`, and of rows of `op(b)`.
    pub k: usize,
    /// Number of products, whose matrices lie one after the other.
    pub batch: usize,
    /// True if `op(a)` is the transpose of `a`, which then has the shape `[k, m]` instead of `[m, k]`.
    pub transpose_a: bool,
    /// True if `op(b)` is the transpose of `b`, which then has the shape `[n, k]` instead of `[k, n]`.
    pub transpose_b: bool,
    /// Factor of the product.
    pub alpha: f64,
    /// Factor of the earlier contents of `c`. If the factor is 0, the contents are not read.
    pub beta: f64,
}

impl Gemm {
    /// Returns the product of an `m` by `k` matrix and a `k` by `n` matrix, which overwrites `c`.
    pub const fn new(m: usize, n: usize, k: usize) -> Gemm {
        Gemm { m, n, k, batch: 1, transpose_a: false, transpose_b: false, alpha: 1.0, beta: 0.0 }
    }
}

impl Blas {
    /// Makes a handle for the stream's device, with the workspace that NVIDIA recommends (32 MiB on devices
    /// of compute capability 9.0 and later, 4 MiB on older ones).
    ///
    /// # Errors
    /// Same errors as [`with_workspace`](Self::with_workspace).
    pub fn new(stream: &CudaStream) -> Result<Blas> {
        let driver = stream.driver();
        let attribute = driver_sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
        let (mut device, mut major) = (0, 0);
        // SAFETY: the pointers are valid.
        driver.check("cuCtxGetDevice", unsafe { (driver.cuCtxGetDevice)(&mut device) })?;
        // SAFETY: the pointer is valid.
        let status = unsafe { (driver.cuDeviceGetAttribute)(&mut major, attribute, device) };
        driver.check("cuDeviceGetAttribute", status)?;
        let bytes = if major >= 9 { LARGE_WORKSPACE_BYTES } else { SMALL_WORKSPACE_BYTES };
        Blas::with_workspace(stream, bytes)
    }

    /// Makes a handle for the stream's device, with a workspace of this size in bytes. With less than 16 KiB,
    /// some products may fail.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if the stream is being recorded into a CUDA graph, `NOT_FOUND` if cuBLAS is not
    /// installed, `RESOURCE_EXHAUSTED` if there is no memory for the workspace, or the library's error.
    pub fn with_workspace(stream: &CudaStream, bytes: usize) -> Result<Blas> {
        let (driver, cublas) = (stream.driver(), Cublas::get()?);
        stream.expect_not_capturing("handles of cuBLAS cannot be made")?;
        let context = HostContext::of_this_thread(driver)?;
        let mut raw = null_mut();
        // SAFETY: the pointer is valid.
        cublas.check("cublasCreate", unsafe { (cublas.cublasCreate_v2)(&mut raw) })?;
        let mut handle = Handle {
            cublas,
            driver,
            raw,
            context,
            workspace: 0,
            workspace_bytes: bytes,
            last_product: null_mut(),
            is_unordered: false,
        };
        if bytes > 0 {
            // SAFETY: the pointer is valid.
            let status = unsafe { (driver.cuMemAlloc_v2)(&mut handle.workspace, bytes) };
            driver.check("cuMemAlloc", status)?;
        }
        let flags = driver_sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as c_uint;
        // SAFETY: the pointer is valid.
        let status = unsafe { (driver.cuEventCreate)(&mut handle.last_product, flags) };
        driver.check("cuEventCreate", status)?;
        let device_ordinal = stream.device_ordinal();
        Ok(Blas { handle: Mutex::new(handle), device_ordinal, is_recordable: false })
    }

    /// Allows products to be recorded into CUDA graphs.
    ///
    /// # Safety
    /// - While a graph with a product of the handle runs, no other product of the handle runs: neither one of
    ///   another graph, nor one of an independent node of the graph, nor one that was enqueued. Such products
    ///   would share the workspace, and a graph cannot wait for them by itself.
    /// - The handle exists as long as the graph can run.
    ///
    /// Both hold for a handle that is the state of a call site for XLA, with a handle for each device
    /// ([`PerDevice`](crate::PerDevice)). XLA runs the calls of a site on one device in order, and launches
    /// its graphs only while the program, with the states of its call sites, exists.
    #[must_use]
    pub unsafe fn allow_recording(self) -> Blas {
        Blas { is_recordable: true, ..self }
    }

    /// Enqueues a product of row-major matrices, which runs after the handle's earlier products on any
    /// stream. If the result has no elements, nothing is enqueued.
    ///
    /// The function allocates nothing, so the product can be recorded into a CUDA graph after
    /// [`allow_recording`](Self::allow_recording).
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the size of an array does not fit the product, if the stream belongs to another
    /// device than the handle, or if a size does not fit 32 bits. `FAILED_PRECONDITION` if the context of the
    /// handle is not current on this thread; or if the stream is being recorded into a CUDA graph, and an
    /// array is scratch memory or the handle does not allow recordings. Otherwise the library's error.
    pub fn gemm<T: BlasElement>(
        &self,
        stream: &CudaStream,
        product: Gemm,
        a: &(impl GpuArray<Element = T> + ?Sized),
        b: &(impl GpuArray<Element = T> + ?Sized),
        c: &mut (impl GpuArray<Element = T> + ?Sized),
    ) -> Result<()> {
        let Gemm { m, n, k, batch, beta, .. } = product;
        for (name, found, [rows, columns]) in
            [("a", a.count(), [m, k]), ("b", b.count(), [k, n]), ("c", c.count(), [m, n])]
        {
            if batch.checked_mul(rows).and_then(|size| size.checked_mul(columns)) != Some(found) {
                let message = format!(
                    "the product needs {batch}×{rows}×{columns} elements of {name}, which has {found}"
                );
                return Err(Error::invalid_argument(message));
            }
        }
        stream.expect_device(self.device_ordinal, "the handle of cuBLAS")?;
        stream.check_scratch(a.is_scratch() || b.is_scratch() || c.is_scratch())?;
        if c.count() == 0 {
            return Ok(());
        }
        if k == 0 && beta == 0.0 {
            return stream.zero(c);
        }
        // A row-major matrix is the transpose of a column-major one, and cᵀ = op(b)ᵀ op(a)ᵀ.
        let operands = [(b.start().cast(), product.transpose_b), (a.start().cast(), product.transpose_a)];
        let c = c.start().cast_mut().cast();
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        handle.in_order(stream, self.is_recordable, |handle| {
            let (alpha, beta) = (product.alpha, product.beta);
            if T::COMPUTE == sys::cublasComputeType_t::CUBLAS_COMPUTE_64F {
                handle.gemm::<T, f64>(product, operands, c, [alpha, beta])
            } else {
                handle.gemm::<T, f32>(product, operands, c, [alpha as f32, beta as f32])
            }
        })
    }
}

impl Handle {
    /// Enqueues work on a stream, after the handle's earlier work on any stream. Work that is recorded into a
    /// CUDA graph has the order that `allow_recording` promises: a graph can neither wait for events from
    /// outside, nor signal them.
    fn in_order(
        &mut self,
        stream: &CudaStream,
        is_recordable: bool,
        enqueue: impl FnOnce(&Handle) -> Result<()>,
    ) -> Result<()> {
        let driver = self.driver;
        if !self.context.is_current()? {
            let message = "the context of the handle of cuBLAS is not current on this thread";
            return Err(Error::failed_precondition(message));
        }
        if stream.is_capturing()? {
            if !is_recordable {
                let message = "a product cannot be recorded into a CUDA graph: the handle of cuBLAS was made \
                               without `Blas::allow_recording`";
                return Err(Error::failed_precondition(message));
            }
            self.set_stream(stream)?;
            return enqueue(self);
        }
        if self.is_unordered {
            let message = "an earlier product of the handle of cuBLAS left the order of its products unknown";
            return Err(Error::failed_precondition(message));
        }
        // SAFETY: the stream is valid during the call, and the event is one of its device.
        let status = unsafe { (driver.cuStreamWaitEvent)(stream.as_raw(), self.last_product, 0) };
        driver.check("cuStreamWaitEvent", status)?;
        self.set_stream(stream)?;
        let outcome = enqueue(self);
        // SAFETY: the stream is valid during the call, and the event is one of its device.
        let status = unsafe { (driver.cuEventRecord)(self.last_product, stream.as_raw()) };
        self.is_unordered = status != 0;
        outcome.and(driver.check("cuEventRecord", status))
    }

    /// Directs the products to a stream. Setting the stream resets the workspace, so this sets both.
    fn set_stream(&self, stream: &CudaStream) -> Result<()> {
        let cublas = self.cublas;
        // SAFETY: the handle is valid, and the stream is valid during the call.
        let status = unsafe { (cublas.cublasSetStream_v2)(self.raw, stream.as_raw().cast()) };
        cublas.check("cublasSetStream", status)?;
        let workspace = std::ptr::without_provenance_mut(self.workspace as usize);
        // SAFETY: the workspace is memory of the device, of this size, and lives as long as the handle.
        let status = unsafe { (cublas.cublasSetWorkspace_v2)(self.raw, workspace, self.workspace_bytes) };
        cublas.check("cublasSetWorkspace", status)
    }

    /// Enqueues the column-major product `left * right`, an `n` by `m` matrix. The factors `alpha` and `beta`
    /// have the type `S`.
    fn gemm<T: BlasElement, S>(
        &self,
        product: Gemm,
        [left, right]: [(*const c_void, bool); 2],
        c: *mut c_void,
        [alpha, beta]: [S; 2],
    ) -> Result<()> {
        let Gemm { m, n, k, batch, .. } = product;
        let int = |size: usize| {
            c_int::try_from(size).map_err(|_| {
                Error::invalid_argument(format!("cuBLAS takes sizes of 32 bits, but {product:?} has {size}"))
            })
        };
        let op = |transpose| {
            if transpose { sys::cublasOperation_t::CUBLAS_OP_T } else { sys::cublasOperation_t::CUBLAS_OP_N }
        };
        let (left_stride, right_stride) =
            (int(if left.1 { k } else { n })?, int(if right.1 { m } else { k })?);
        let (m_int, n_int, k_int, batch_int) = (int(m)?, int(n)?, int(k)?, int(batch)?);
        let (alpha, beta) = ((&raw const alpha).cast(), (&raw const beta).cast());
        let algorithm = sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;
        let cublas = self.cublas;
        if batch == 1 {
            // SAFETY: the handle is valid. The arrays have the sizes of the product (checked by
            // `Blas::gemm`), and the factors have the type that goes with `T::COMPUTE`.
            let status = unsafe {
                (cublas.cublasGemmEx)(
                    self.raw,
                    op(left.1),
                    op(right.1),
                    n_int,
                    m_int,
                    k_int,
                    alpha,
                    left.0,
                    T::TYPE,
                    left_stride.max(1),
                    right.0,
                    T::TYPE,
                    right_stride.max(1),
                    beta,
                    c,
                    T::TYPE,
                    n_int,
                    T::COMPUTE,
                    algorithm,
                )
            };
            return cublas.check("cublasGemmEx", status);
        }
        // SAFETY: as above; the matrices of a batch lie one after the other.
        let status = unsafe {
            (cublas.cublasGemmStridedBatchedEx)(
                self.raw,
                op(left.1),
                op(right.1),
                n_int,
                m_int,
                k_int,
                alpha,
                left.0,
                T::TYPE,
                left_stride.max(1),
                (k * n) as c_longlong,
                right.0,
                T::TYPE,
                right_stride.max(1),
                (m * k) as c_longlong,
                beta,
                c,
                T::TYPE,
                n_int,
                (m * n) as c_longlong,
                batch_int,
                T::COMPUTE,
                algorithm,
            )
        };
        cublas.check("cublasGemmStridedBatchedEx", status)
    }
}

impl Cublas {
    /// Converts the status that a function returned to a result.
    fn check(&self, function: &str, status: u32) -> Result<()> {
        if status == 0 { Ok(()) } else { Err(self.error(function, status)) }
    }

    #[cold]
    fn error(&self, function: &str, status: u32) -> Error {
        use sys::cublasStatus_t as Status;
        const CODES: [(Status, StatusCode); 5] = [
            (Status::CUBLAS_STATUS_NOT_INITIALIZED, StatusCode::FailedPrecondition),
            (Status::CUBLAS_STATUS_ALLOC_FAILED, StatusCode::ResourceExhausted),
            (Status::CUBLAS_STATUS_INVALID_VALUE, StatusCode::InvalidArgument),
            (Status::CUBLAS_STATUS_ARCH_MISMATCH, StatusCode::Unimplemented),
            (Status::CUBLAS_STATUS_NOT_SUPPORTED, StatusCode::Unimplemented),
        ];
        let text = |get: unsafe extern "C" fn(u32) -> *const c_char| {
            // SAFETY: the functions accept any number.
            let text = unsafe { get(status) };
            if text.is_null() {
                return format!("status {status}");
            }
            // SAFETY: cuBLAS's texts are null-terminated constants.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        let code = CODES.iter().find(|(known, _)| *known as u32 == status);
        let code = code.map_or(StatusCode::Internal, |(_, code)| *code);
        let (name, reason) = (text(self.cublasGetStatusName), text(self.cublasGetStatusString));
        Error::new(code, format!("{function}: {name}: {reason}"))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let current = self.context.enter();
        if current.is_none() {
            return;
        }
        // SAFETY: the handle is valid, and nothing uses it any more.
        unsafe { (self.cublas.cublasDestroy_v2)(self.raw) };
        if !self.last_product.is_null() {
            // SAFETY: the event is from `cuEventCreate`. Streams that wait for it continue to do so.
            unsafe { (self.driver.cuEventDestroy_v2)(self.last_product) };
        }
        if self.workspace != 0 {
            // SAFETY: the memory is from `cuMemAlloc`. `cuMemFree` waits for the work that uses it.
            unsafe { (self.driver.cuMemFree_v2)(self.workspace) };
        }
    }
}

impl fmt::Debug for Blas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blas").finish_non_exhaustive()
    }
}
