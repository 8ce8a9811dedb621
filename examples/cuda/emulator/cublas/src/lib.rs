//! Computes matrix products on the CPU, so that tests of the calls of cuBLAS need no GPU. The library has the
//! functions of cuBLAS that `farcall-cuda` calls, as NVIDIA's *cuBLAS* documentation describes them. Memory
//! of the device belongs to the driver, which is `cuda-emulator` in tests. Products are computed when they
//! are enqueued, from matrices in column-major order.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_void};

use half::{bf16, f16};

const SUCCESS: c_uint = 0;
const INVALID_VALUE: c_uint = 7;
const EXECUTION_FAILED: c_uint = 13;
const NOT_SUPPORTED: c_uint = 15;

/// An operand or the result of a product.
#[derive(Clone, Copy)]
struct Matrix {
    address: u64,
    /// Number of the element type, a `cudaDataType`.
    ty: c_int,
    /// Distance between columns, in elements.
    leading: usize,
    /// Distance between the matrices of a batch, in elements.
    stride: c_longlong,
    rows: usize,
    columns: usize,
}

impl Matrix {
    fn element_bytes(self) -> Option<usize> {
        const R_32F: c_int = 0;
        const R_64F: c_int = 1;
        const R_16F: c_int = 2;
        const R_16BF: c_int = 14;
        match self.ty {
            R_32F => Some(4),
            R_64F => Some(8),
            R_16F | R_16BF => Some(2),
            _ => None,
        }
    }

    /// Returns the address and the size in bytes of matrix `i` of the batch.
    fn place(self, i: usize) -> Option<(u64, usize)> {
        let bytes = self.element_bytes()?;
        let offset = self.stride.checked_mul(i as c_longlong)?.checked_mul(bytes as c_longlong)?;
        let elements = self.leading * self.columns.saturating_sub(1) + self.rows;
        Some((self.address.wrapping_add_signed(offset), elements * bytes))
    }

    fn decode(self, bytes: &[u8], row: usize, column: usize) -> f64 {
        let size = self.element_bytes().unwrap_or(1);
        let element = &bytes[(column * self.leading + row) * size..][..size];
        match (self.ty, element) {
            (2, &[a, b]) => f16::from_le_bytes([a, b]).into(),
            (_, &[a, b]) => bf16::from_le_bytes([a, b]).into(),
            (_, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).into(),
            (_, element) => element.try_into().map_or(f64::NAN, f64::from_le_bytes),
        }
    }

    fn encode(self, bytes: &mut [u8], row: usize, column: usize, value: f64) {
        let size = self.element_bytes().unwrap_or(1);
        let element = &mut bytes[(column * self.leading + row) * size..][..size];
        match (self.ty, size) {
            (2, _) => element.copy_from_slice(&f16::from_f64(value).to_le_bytes()),
            (_, 2) => element.copy_from_slice(&bf16::from_f64(value).to_le_bytes()),
            (_, 4) => element.copy_from_slice(&(value as f32).to_le_bytes()),
            _ => element.copy_from_slice(&value.to_le_bytes()),
        }
    }
}

/// Functions of the driver that copy memory.
struct Driver {
    to_host: unsafe extern "C" fn(*mut u8, u64, usize) -> c_uint,
    to_device: unsafe extern "C" fn(u64, *const u8, usize) -> c_uint,
}

impl Driver {
    fn get() -> Option<Driver> {
        // SAFETY: the driver has no requirements, and its functions have these types. The process keeps it
        // loaded, since it has called cuBLAS.
        unsafe {
            let library = libloading::Library::new("libcuda.so.1").ok()?;
            let driver = Driver {
                to_host: *library.get(b"cuMemcpyDtoH_v2\0").ok()?,
                to_device: *library.get(b"cuMemcpyHtoD_v2\0").ok()?,
            };
            std::mem::forget(library);
            Some(driver)
        }
    }

    fn read(&self, (address, size): (u64, usize)) -> Option<Vec<u8>> {
        let mut bytes = vec![0; size];
        // SAFETY: the buffer has this size. The driver checks the address.
        let status = unsafe { (self.to_host)(bytes.as_mut_ptr(), address, size) };
        (status == 0).then_some(bytes)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Option<()> {
        // SAFETY: the buffer has this size. The driver checks the address.
        let status = unsafe { (self.to_device)(address, bytes.as_ptr(), bytes.len()) };
        (status == 0).then_some(())
    }
}

/// Computes `c = alpha·op(a)·op(b) + beta·c` for each matrix of the batch. Returns `None` if memory cannot be
/// accessed.
fn multiply(
    [a, b, c]: [Matrix; 3],
    [transpose_a, transpose_b]: [bool; 2],
    k: usize,
    batch: usize,
    [alpha, beta]: [f64; 2],
) -> Option<()> {
    let driver = Driver::get()?;
    for i in 0..batch {
        let (of_a, of_b) = (driver.read(a.place(i)?)?, driver.read(b.place(i)?)?);
        let mut of_c = driver.read(c.place(i)?)?;
        for (row, column) in (0..c.columns).flat_map(|column| (0..c.rows).map(move |row| (row, column))) {
            let entry = |matrix: Matrix, bytes: &[u8], row, column, is_transposed| {
                let (row, column) = if is_transposed { (column, row) } else { (row, column) };
                matrix.decode(bytes, row, column)
            };
            let term = |l| entry(a, &of_a, row, l, transpose_a) * entry(b, &of_b, l, column, transpose_b);
            let sum: f64 = (0..k).map(term).sum();
            // The earlier contents are not read if beta is 0: they may be NaN.
            let before = if beta == 0.0 { 0.0 } else { beta * c.decode(&of_c, row, column) };
            c.encode(&mut of_c, row, column, alpha * sum + before);
        }
        driver.write(c.place(i)?.0, &of_c)?;
    }
    Some(())
}

/// The function `cublasCreate` of cuBLAS.
///
/// # Safety
/// The pointer is valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasCreate_v2(handle: *mut usize) -> c_uint {
    // SAFETY: the caller guarantees the pointer (`# Safety` above).
    unsafe { *handle = 1 };
    SUCCESS
}

/// The function `cublasDestroy` of cuBLAS.
#[unsafe(no_mangle)]
extern "C" fn cublasDestroy_v2(_handle: usize) -> c_uint {
    SUCCESS
}

/// The function `cublasSetStream` of cuBLAS.
#[unsafe(no_mangle)]
extern "C" fn cublasSetStream_v2(_handle: usize, _stream: usize) -> c_uint {
    SUCCESS
}

/// The function `cublasSetWorkspace` of cuBLAS.
#[unsafe(no_mangle)]
extern "C" fn cublasSetWorkspace_v2(_handle: usize, _workspace: *mut c_void, _size: usize) -> c_uint {
    SUCCESS
}

/// The function `cublasGemmEx` of cuBLAS.
///
/// # Safety
/// `alpha` and `beta` point to numbers of the compute type.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGemmEx(
    handle: usize,
    op_a: c_int,
    op_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: u64,
    type_a: c_int,
    leading_a: c_int,
    b: u64,
    type_b: c_int,
    leading_b: c_int,
    beta: *const c_void,
    c: u64,
    type_c: c_int,
    leading_c: c_int,
    compute: c_int,
    algorithm: c_int,
) -> c_uint {
    // SAFETY: the caller guarantees the pointers (`# Safety` above).
    unsafe {
        cublasGemmStridedBatchedEx(
            handle, op_a, op_b, m, n, k, alpha, a, type_a, leading_a, 0, b, type_b, leading_b, 0, beta, c,
            type_c, leading_c, 0, 1, compute, algorithm,
        )
    }
}

/// The function `cublasGemmStridedBatchedEx` of cuBLAS.
///
/// # Safety
/// `alpha` and `beta` point to numbers of the compute type.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGemmStridedBatchedEx(
    _handle: usize,
    op_a: c_int,
    op_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: u64,
    type_a: c_int,
    leading_a: c_int,
    stride_a: c_longlong,
    b: u64,
    type_b: c_int,
    leading_b: c_int,
    stride_b: c_longlong,
    beta: *const c_void,
    c: u64,
    type_c: c_int,
    leading_c: c_int,
    stride_c: c_longlong,
    batch: c_int,
    compute: c_int,
    _algorithm: c_int,
) -> c_uint {
    const COMPUTE_32F: c_int = 68;
    const COMPUTE_64F: c_int = 70;
    let sizes = [m, n, k, batch, leading_a, leading_b, leading_c].map(usize::try_from);
    let [Ok(m), Ok(n), Ok(k), Ok(batch), Ok(leading_a), Ok(leading_b), Ok(leading_c)] = sizes else {
        return INVALID_VALUE;
    };
    // SAFETY: the caller guarantees the pointers and their types (`# Safety` above).
    let factors = unsafe {
        match compute {
            COMPUTE_32F => [alpha, beta].map(|factor| f64::from(*factor.cast::<f32>())),
            COMPUTE_64F => [alpha, beta].map(|factor| *factor.cast::<f64>()),
            _ => return NOT_SUPPORTED,
        }
    };
    let transposed = [op_a != 0, op_b != 0];
    let (rows_a, columns_a) = if transposed[0] { (k, m) } else { (m, k) };
    let (rows_b, columns_b) = if transposed[1] { (n, k) } else { (k, n) };
    let matrices = [
        Matrix {
            address: a,
            ty: type_a,
            leading: leading_a,
            stride: stride_a,
            rows: rows_a,
            columns: columns_a,
        },
        Matrix {
            address: b,
            ty: type_b,
            leading: leading_b,
            stride: stride_b,
            rows: rows_b,
            columns: columns_b,
        },
        Matrix { address: c, ty: type_c, leading: leading_c, stride: stride_c, rows: m, columns: n },
    ];
    if matrices.iter().any(|matrix| matrix.leading < matrix.rows.max(1) || matrix.element_bytes().is_none()) {
        return INVALID_VALUE;
    }
    if multiply(matrices, transposed, k, batch, factors).is_some() { SUCCESS } else { EXECUTION_FAILED }
}

/// The function `cublasGetStatusName` of cuBLAS.
#[unsafe(no_mangle)]
extern "C" fn cublasGetStatusName(status: c_uint) -> *const c_char {
    text(match status {
        SUCCESS => c"CUBLAS_STATUS_SUCCESS",
        INVALID_VALUE => c"CUBLAS_STATUS_INVALID_VALUE",
        EXECUTION_FAILED => c"CUBLAS_STATUS_EXECUTION_FAILED",
        _ => c"CUBLAS_STATUS_NOT_SUPPORTED",
    })
}

/// The function `cublasGetStatusString` of cuBLAS.
#[unsafe(no_mangle)]
extern "C" fn cublasGetStatusString(status: c_uint) -> *const c_char {
    text(match status {
        SUCCESS => c"success",
        INVALID_VALUE => c"an unsupported value or parameter was passed to the function",
        EXECUTION_FAILED => c"the GPU program failed to execute",
        _ => c"the functionality requested is not supported",
    })
}

fn text(text: &'static CStr) -> *const c_char {
    text.as_ptr()
}
