//! Matrix products by cuBLAS.

use expect_test::expect;
use farcall_cuda::{Blas, CudaStream, Gemm, GpuArray, PerDevice};
use farcall_ffi::State;
use farcall_ffi::half::bf16;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;
use farcall_testing::process::alone;

use crate::errors::check;
use crate::standin::{OnStandin, STREAM, Standin};

#[stage(instantiate)]
fn site() -> Result<PerDevice<Blas>> {
    Ok(PerDevice::new())
}

#[stage(initialize)]
fn open(site: &State<PerDevice<Blas>>, stream: &CudaStream) -> Result<()> {
    // SAFETY: the stand-in runs no graphs.
    let make = |stream: &CudaStream| Ok(unsafe { Blas::new(stream)?.allow_recording() });
    site.get_or_init(stream, make).map(drop)
}

/// `c = a b`, or `c = 2 aᵀ bᵀ + c` for matrices of any type.
#[handler(
    name = "gemm",
    platform = "CUDA",
    instantiate = site,
    initialize = open,
    traits(command_buffer_compatible)
)]
fn gemm(
    a: &AnyGpuBuffer,
    b: &AnyGpuBuffer,
    transposed: bool,
    c: &mut AnyGpuBuffer,
    site: &State<PerDevice<Blas>>,
    stream: &CudaStream,
) -> Result<()> {
    let (&[.., m, n], &[.., rows, columns]) = (c.dims(), a.dims()) else {
        panic!("the test passes matrices")
    };
    let batch = c.dims()[..c.rank() - 2].iter().product();
    let product = Gemm { batch, ..Gemm::new(m, n, if transposed { rows } else { columns }) };
    let product = if transposed {
        Gemm { transpose_a: true, transpose_b: true, alpha: 2.0, beta: 1.0, ..product }
    } else {
        product
    };
    let blas = site.get(stream)?;
    dispatch!(c.dtype(), T: f32 | f64 | bf16 => {
        blas.gemm::<T>(stream, product, a.typed::<T, ANY>()?, b.typed::<T, ANY>()?, c.typed_mut::<T, ANY>()?)
    })
}

const ANY: usize = usize::MAX;

fn product<T: Element>(
    site: &farcall_ffi::testing::Instance,
    transposed: bool,
    shapes: [&[usize]; 3],
) -> Result<()> {
    let [a, b, c] = shapes;
    let call = Call::to::<gemm>().at(site).gpu_operand::<T>(0x1000, a).gpu_operand::<T>(0x2000, b);
    call.attr("transposed", transposed).gpu_result::<T>(0x3000, c).on_standin(0).run()
}

#[test]
fn products_are_row_major() {
    alone("blas::products_are_row_major", || {
        let Some(standin) = Standin::open_with(&[("cublas", "libcublas.so.13")]) else { return };
        let site = Call::to::<gemm>().attr("transposed", false).instantiate().unwrap();
        check(product::<f32>(&site, false, [&[2, 3], &[3, 5], &[2, 5]]), expect!["()"]);
        expect![[r#"
            cublasCreate()
            cuMemAlloc(33554432) = 0x700000000000
            cuEventCreate(2)
            cuStreamWaitEvent(0x5000, 0xe0, 0)
            cublasSetStream(0x5000)
            cublasSetWorkspace(0x700000000000, 33554432)
            cublasGemmEx(NN 5x2x3, 1, 0x2000/5, 0x1000/3, 0, 0x3000/5, types 0 0 0 in 68, -1)
            cuEventRecord(0xe0, 0x5000)
        "#]]
        .assert_eq(&standin.log());
        // Products can be recorded.
        standin.capture(1);
        check(product::<f64>(&site, true, [&[3, 2], &[5, 3], &[2, 5]]), expect!["()"]);
        check(product::<bf16>(&site, false, [&[4, 2, 3], &[4, 3, 5], &[4, 2, 5]]), expect!["()"]);
        expect![[r#"
            cublasSetStream(0x5000)
            cublasSetWorkspace(0x700000000000, 33554432)
            cublasGemmEx(TT 5x2x3, 2, 0x2000/3, 0x1000/2, 1, 0x3000/5, types 1 1 1 in 70, -1)
            cublasSetStream(0x5000)
            cublasSetWorkspace(0x700000000000, 33554432)
            cublasGemmStridedBatchedEx(4 * NN 5x2x3, 1, 0x2000/5+15, 0x1000/3+6, 0, 0x3000/5+10, types 14 14 14 in 68, -1)
        "#]]
        .assert_eq(&standin.log());
        standin.capture(0);
        // Without elements of `c`, and without terms.
        check(product::<f32>(&site, false, [&[0, 3], &[3, 5], &[0, 5]]), expect!["()"]);
        check(product::<f32>(&site, false, [&[2, 0], &[0, 5], &[2, 5]]), expect!["()"]);
        expect![[r#"
            cuMemsetD8Async(0x3000, 0, 40, 0x5000)
        "#]]
        .assert_eq(&standin.log());
        check(
            product::<f32>(&site, false, [&[2, 3], &[4, 5], &[2, 5]]),
            expect!["INVALID_ARGUMENT: gemm: the product needs 1×3×5 elements of b, which has 20"],
        );
        standin.fail("cublasGemmEx", 7);
        check(
            product::<f32>(&site, false, [&[2, 3], &[3, 5], &[2, 5]]),
            expect![
                "INVALID_ARGUMENT: gemm: cublasGemmEx: CUBLAS_STATUS_INVALID_VALUE: an unsupported value or parameter was passed to the function"
            ],
        );
        standin.log();
        drop(site);
        expect![[r#"
            cuCtxPushCurrent(0xc0)
            cublasDestroy(0xb1a5)
            cuEventDestroy(0xe0)
            cuMemFree(0x700000000000)
            cuCtxPopCurrent()
        "#]]
        .assert_eq(&standin.log());
    });
}

/// An array in the process's memory, which the stand-in can access.
struct InMemory {
    start: *mut f32,
    count: usize,
}

impl InMemory {
    fn of(elements: &mut [f32]) -> InMemory {
        InMemory { start: elements.as_mut_ptr(), count: elements.len() }
    }
}

// SAFETY: the stand-in accesses the elements before it returns.
unsafe impl GpuArray for InMemory {
    type Element = f32;

    fn start(&self) -> *const f32 {
        self.start
    }

    fn count(&self) -> usize {
        self.count
    }
}

/// Returns an element of a row-major matrix, or of its transpose, whose shape is `[rows, columns]`.
fn element(matrix: &[f32], is_transposed: bool, [rows, columns]: [usize; 2], [i, j]: [usize; 2]) -> f32 {
    if is_transposed { matrix[j * rows + i] } else { matrix[i * columns + j] }
}

/// Returns `2 op(a) op(b) - c`.
fn reference(product: Gemm, a: &[f32], b: &[f32], c: &[f32]) -> Vec<f32> {
    let Gemm { m, n, k, transpose_a, transpose_b, .. } = product;
    let one = |index: usize| {
        let (matrix, i, j) = (index / (m * n), index / n % m, index % n);
        let (a, b) = (&a[matrix * m * k..][..m * k], &b[matrix * k * n..][..k * n]);
        let term = |l| element(a, transpose_a, [m, k], [i, l]) * element(b, transpose_b, [k, n], [l, j]);
        2.0 * (0..k).map(term).sum::<f32>() - c[index]
    };
    (0..c.len()).map(one).collect()
}

/// The stand-in multiplies column-major matrices, as cuBLAS defines it.
#[test]
fn every_transpose_gives_the_product() {
    alone("blas::every_transpose_gives_the_product", || {
        let Some(_standin) = Standin::open_with(&[("cublas", "libcublas.so.13")]) else { return };
        // SAFETY: the stand-in reads no streams.
        let stream = unsafe { CudaStream::from_raw(STREAM.cast(), 0) }.unwrap();
        let blas = Blas::with_workspace(&stream, 0).unwrap();
        let (m, n, k) = (2, 4, 3);
        for case in 0..8 {
            let (transpose_a, transpose_b) = (case & 1 != 0, case & 2 != 0);
            let batch = if case & 4 == 0 { 1 } else { 3 };
            let product =
                Gemm { batch, transpose_a, transpose_b, alpha: 2.0, beta: -1.0, ..Gemm::new(m, n, k) };
            let numbers = |count: usize, factor: usize| -> Vec<f32> {
                (0..count).map(|i| (i * factor % 11) as f32 - 4.0).collect()
            };
            let (mut a, mut b) = (numbers(batch * m * k, 3), numbers(batch * k * n, 5));
            let mut c = numbers(batch * m * n, 7);
            let expected = reference(product, &a, &b, &c);
            let arrays = (InMemory::of(&mut a), InMemory::of(&mut b), &mut InMemory::of(&mut c));
            blas.gemm(&stream, product, &arrays.0, &arrays.1, arrays.2).unwrap();
            assert_eq!(c, expected, "{product:?}");
        }
    });
}

/// Products on two streams share the workspace, so the second waits for the first.
#[test]
fn products_on_several_streams_run_in_order() {
    alone("blas::products_on_several_streams_run_in_order", || {
        let Some(standin) = Standin::open_with(&[("cublas", "libcublas.so.13")]) else { return };
        // SAFETY: the stand-in reads no streams.
        let on = |address: usize, device| unsafe {
            CudaStream::from_raw(std::ptr::without_provenance_mut(address), device).unwrap()
        };
        let blas = Blas::with_workspace(&on(0x5000, 0), 16).unwrap();
        let (mut a, mut b, mut c) = ([2.0], [3.0], [0.0]);
        let (a, b, mut c) = (InMemory::of(&mut a), InMemory::of(&mut b), InMemory::of(&mut c));
        let mut multiply = |stream: &CudaStream| blas.gemm(stream, Gemm::new(1, 1, 1), &a, &b, &mut c);
        standin.log();
        check(multiply(&on(0x5000, 0)), expect!["()"]);
        check(multiply(&on(0x6000, 0)), expect!["()"]);
        let log = standin.log();
        let order: Vec<_> = log.lines().map(|line| line.split("(NN").next().unwrap()).collect();
        assert_eq!(
            order,
            [
                "cuStreamWaitEvent(0x5000, 0xe0, 0)",
                "cublasSetStream(0x5000)",
                "cublasSetWorkspace(0x700000000000, 16)",
                "cublasGemmEx",
                "cuEventRecord(0xe0, 0x5000)",
                "cuStreamWaitEvent(0x6000, 0xe0, 0)",
                "cublasSetStream(0x6000)",
                "cublasSetWorkspace(0x700000000000, 16)",
                "cublasGemmEx",
                "cuEventRecord(0xe0, 0x6000)",
            ]
        );
        check(
            multiply(&on(0x5000, 1)),
            expect!["INVALID_ARGUMENT: the handle of cuBLAS belongs to device 0, but the stream to device 1"],
        );
        standin.context(0xd0);
        check(
            multiply(&on(0x5000, 0)),
            expect!["FAILED_PRECONDITION: the context of the handle of cuBLAS is not current on this thread"],
        );
        standin.context(0xc0);
        standin.capture(1);
        check(
            multiply(&on(0x5000, 0)),
            expect![
                "FAILED_PRECONDITION: a product cannot be recorded into a CUDA graph: the handle of cuBLAS was made without `Blas::allow_recording`"
            ],
        );
        standin.capture(0);
        assert_eq!(standin.log(), "");
        // Without the event, a later product could run at the same time as this one.
        standin.fail("cuEventRecord", 1);
        check(
            multiply(&on(0x5000, 0)),
            expect!["INVALID_ARGUMENT: cuEventRecord: CUDA_ERROR_INVALID_VALUE: invalid argument"],
        );
        check(
            multiply(&on(0x6000, 0)),
            expect![
                "FAILED_PRECONDITION: an earlier product of the handle of cuBLAS left the order of its products unknown"
            ],
        );
    });
}

#[test]
fn scratch_memory_in_recorded_products() {
    alone("blas::scratch_memory_in_recorded_products", || {
        let Some(standin) = Standin::open_with(&[("cublas", "libcublas.so.13")]) else { return };
        let site = Call::to::<scratch_product>().instantiate().unwrap();
        let call = || {
            let call = Call::to::<scratch_product>().at(&site).gpu_operand::<f32>(0x1000, &[2, 2]);
            call.gpu_result::<f32>(0x2000, &[2, 2]).on_standin(0).run()
        };
        check(call(), expect!["()"]);
        standin.log();
        standin.capture(1);
        let error = call().unwrap_err();
        assert_eq!(error.code(), StatusCode::FailedPrecondition);
        assert!(error.message().starts_with("scratch_product: scratch memory of the call cannot be used"));
        assert_eq!(standin.log(), "");
    });
}

/// Multiplies scratch memory by a matrix.
#[handler(
    name = "scratch_product",
    platform = "CUDA",
    instantiate = site,
    initialize = open,
    traits(command_buffer_compatible)
)]
fn scratch_product(
    a: &GpuBuffer<f32, 2>,
    c: &mut GpuBuffer<f32, 2>,
    site: &State<PerDevice<Blas>>,
    stream: &CudaStream,
    host: &Context,
) -> Result<()> {
    let scratch = host.gpu_scratch::<f32>(a.len())?;
    site.get(stream)?.gemm(stream, Gemm::new(2, 2, 2), &scratch, a, c)
}

#[test]
fn a_handle_that_cannot_be_made() {
    alone("blas::a_handle_that_cannot_be_made", || {
        let Some(standin) = Standin::open_with(&[("cublas", "libcublas.so.13")]) else { return };
        // SAFETY: the stand-in reads no streams.
        let stream = unsafe { CudaStream::from_raw(STREAM.cast(), 0) }.unwrap();
        standin.fail("cublasCreate", 3);
        check(
            Blas::new(&stream),
            expect![
                "RESOURCE_EXHAUSTED: cublasCreate: CUBLAS_STATUS_ALLOC_FAILED: the resource allocation failed"
            ],
        );
        standin.fail("cuMemAlloc", 2);
        check(
            Blas::new(&stream),
            expect!["RESOURCE_EXHAUSTED: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory"],
        );
        standin.fail("cuEventCreate", 2);
        check(
            Blas::new(&stream),
            expect!["RESOURCE_EXHAUSTED: cuEventCreate: CUDA_ERROR_OUT_OF_MEMORY: out of memory"],
        );
        standin.capture(1);
        check(
            Blas::new(&stream),
            expect![
                "FAILED_PRECONDITION: handles of cuBLAS cannot be made while the stream is recorded into a CUDA graph: do it in the handler's initialize stage"
            ],
        );
    });
}

#[test]
fn a_missing_cublas_is_an_error_with_the_names_of_its_files() {
    alone("blas::a_missing_cublas_is_an_error_with_the_names_of_its_files", || {
        let Some(_standin) = Standin::open() else { return };
        let files = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"];
        // SAFETY: cuBLAS's initializers have no requirements.
        let is_there = |name: &&str| unsafe { libloading::Library::new(*name) }.is_ok();
        if files.iter().any(is_there) {
            println!("NOT RUN: this machine has cuBLAS");
            return;
        }
        // SAFETY: the stand-in reads no streams.
        let stream = unsafe { CudaStream::from_raw(STREAM.cast(), 0) }.unwrap();
        check(
            Blas::new(&stream),
            expect![
                "NOT_FOUND: cuBLAS is not installed: looked for libcublas.so.13, libcublas.so.12, libcublas.so: libcublas.so.13: cannot open shared object file: No such file or directory"
            ],
        );
    });
}
