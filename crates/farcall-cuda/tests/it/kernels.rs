//! Modules, prototypes and launches.

use expect_test::expect;
use farcall_cuda::{CudaStream, PerDevice, kernels, launch};
use farcall_ffi::half::bf16;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;
use farcall_testing::process::alone;

use crate::errors::check;
use crate::standin::{OnStandin, STREAM, Standin};

/// The parts of PTX that the stand-in reads: the parameters of each entry.
const PTX: &str = "
.version 8.0
.visible .entry scale(
    .param .u64 scale_param_0, .param .u64 scale_param_1, .param .u32 scale_param_2, .param .f32 scale_param_3
)
{ ret; }
.visible .entry _Z4castPKt(
    .param .u64 a, .param .b16 b, .param .f64 c, .param .s32 d, .param .s64 e, .param .u8 f
)
{ ret; }
.visible .entry nothing()
{ ret; }
";

kernels! {
    /// Kernels of the test.
    struct Kernels = PTX.as_bytes();
    /// Scales.
    unsafe fn scale(x: *const f32, y: *mut f32, n: u32, by: f32);
    unsafe fn cast(x: *const bf16, b: bf16, c: f64, d: i32, e: i64, f: bool) = "_Z4castPKt";
    unsafe fn nothing();
}

static KERNELS: PerDevice<Kernels> = PerDevice::new();

#[stage(initialize)]
fn load(stream: &CudaStream) -> Result<()> {
    KERNELS.get_or_init(stream, Kernels::load).map(drop)
}

#[handler(name = "scale", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
fn scale(x: &GpuBuffer<f32, 2>, threads: u32, y: &mut GpuBuffer<f32, 2>, stream: &CudaStream) -> Result<()> {
    let kernels = KERNELS.get(stream)?;
    let [rows, columns] = x.shape();
    let n = u32::try_from(x.len())?;
    // SAFETY: the stand-in runs no kernels.
    unsafe {
        launch!(kernels.scale, stream, grid: (rows, columns), block: threads, shared: 16usize,
            (x, y, n, 2.5))?;
    }
    // In place, with the same result as before.
    // SAFETY: the stand-in runs no kernels.
    unsafe { launch!(kernels.scale, stream, grid: (1, 2, 3), block: (4, 5, 6), (&*y, y, n, -1.0)) }
}

#[test]
fn a_launch_passes_the_arguments_of_its_prototype() {
    alone("kernels::a_launch_passes_the_arguments_of_its_prototype", || {
        let Some(standin) = Standin::open() else { return };
        let call = |rows: usize, threads: u32| {
            let call = Call::to::<scale>().gpu_operand::<f32>(0x1000, &[rows, 3]).attr("threads", threads);
            call.gpu_result::<f32>(0x2000, &[rows, 3]).on_standin(0).run()
        };
        check(call(2, 128), expect!["()"]);
        expect![[r#"
            cuModuleLoadDataEx(3 kernels)
            cuModuleGetFunction(scale)
            cuModuleGetFunction(_Z4castPKt)
            cuModuleGetFunction(nothing)
            cuLaunchKernel(scale<<<2x3x1, 128x1x1, 16, 0x5000>>>(0x1000, 0x2000, 6, 2.5))
            cuLaunchKernel(scale<<<1x2x3, 4x5x6, 0, 0x5000>>>(0x2000, 0x2000, 6, -1))
        "#]]
        .assert_eq(&standin.log());
        // The module is loaded once.
        check(call(1, 1024), expect!["()"]);
        expect![[r#"
            cuLaunchKernel(scale<<<1x3x1, 1024x1x1, 16, 0x5000>>>(0x1000, 0x2000, 3, 2.5))
            cuLaunchKernel(scale<<<1x2x3, 4x5x6, 0, 0x5000>>>(0x2000, 0x2000, 3, -1))
        "#]]
        .assert_eq(&standin.log());
        // An empty grid.
        check(call(0, 1024), expect!["()"]);
        assert_eq!(standin.log().lines().count(), 1);
        check(
            call(2, 2048),
            expect![
                "INVALID_ARGUMENT: scale: cuLaunchKernel: CUDA_ERROR_INVALID_VALUE: invalid argument (kernel `scale`, grid 2×3×1, block 2048×1×1, 16 bytes of shared memory)"
            ],
        );
    });
}

#[test]
fn arguments_have_all_types_of_parameters() {
    alone("kernels::arguments_have_all_types_of_parameters", || {
        let Some(standin) = Standin::open() else { return };
        // SAFETY: the stand-in reads no streams.
        let stream = unsafe { CudaStream::from_raw(STREAM.cast(), 1) }.unwrap();
        let kernels = Kernels::load(&stream).unwrap();
        standin.log();
        let address = std::ptr::without_provenance::<bf16>(0x40);
        let nothing = None::<&GpuBuffer<bf16>>;
        // SAFETY: the stand-in runs no kernels.
        unsafe {
            launch!(kernels.cast, &stream, grid: 1u8, block: 1i64,
                (address, bf16::ONE, 0.5, -3, -1 << 40, true))
            .unwrap();
            launch!(kernels.cast, &stream, grid: 1, block: 1, (nothing, bf16::ZERO, 0.5, -3, 1, false))
                .unwrap();
            launch!(kernels.nothing, &stream, grid: 1, block: 1, ()).unwrap();
        }
        expect![[r#"
            cuLaunchKernel(_Z4castPKt<<<1x1x1, 1x1x1, 0, 0x5000>>>(0x40, 0x3f80, 0.5, -3, -1099511627776, 1))
            cuLaunchKernel(_Z4castPKt<<<1x1x1, 1x1x1, 0, 0x5000>>>(0, 0, 0.5, -3, 1, 0))
            cuLaunchKernel(nothing<<<1x1x1, 1x1x1, 0, 0x5000>>>())
        "#]]
        .assert_eq(&standin.log());
        check(
            // SAFETY: the stand-in runs no kernels.
            unsafe { launch!(kernels.nothing, &stream, grid: 1u64 << 32, block: 1, ()) },
            expect![
                "INVALID_ARGUMENT: kernel `nothing`: the grid, the block or the shared memory does not fit 32 bits"
            ],
        );
        check(
            // SAFETY: the stand-in runs no kernels.
            unsafe { launch!(kernels.nothing, &stream, grid: -1, block: 1, ()) },
            expect![
                "INVALID_ARGUMENT: kernel `nothing`: the grid, the block or the shared memory does not fit 32 bits"
            ],
        );
        kernels.scale.allow_shared_bytes(100_000).unwrap();
        standin.fail("cuFuncSetAttribute", 1);
        check(
            kernels.scale.allow_shared_bytes(1 << 30),
            expect![
                "INVALID_ARGUMENT: kernel `scale`: cuFuncSetAttribute: CUDA_ERROR_INVALID_VALUE: invalid argument"
            ],
        );
        drop(kernels);
        expect![[r#"
            cuFuncSetAttribute(scale, 8, 100000)
            cuFuncSetAttribute(scale, 8, 1073741824)
            cuCtxPushCurrent(0xc0)
            cuModuleUnload()
            cuCtxPopCurrent()
        "#]]
        .assert_eq(&standin.log());
    });
}

#[test]
fn modules_that_do_not_load() {
    alone("kernels::modules_that_do_not_load", || {
        let Some(standin) = Standin::open() else { return };
        kernels! { struct Malformed = b".version 8.0 .target sm_90"; unsafe fn f(); }
        kernels! { struct Empty = b""; unsafe fn f(); }
        kernels! { struct Missing = PTX.as_bytes(); unsafe fn absent(); }
        kernels! { struct TooFew = PTX.as_bytes(); unsafe fn scale(x: *const f32, y: *mut f32, n: u32); }
        kernels! { struct TooMany = PTX.as_bytes(); unsafe fn nothing(n: u32); }
        kernels! { struct OtherSize = PTX.as_bytes(); unsafe fn scale(x: *const f32, y: *mut f32, n: u64, by: f32); }
        // SAFETY: the stand-in reads no streams.
        let stream = unsafe { CudaStream::from_raw(STREAM.cast(), 1) }.unwrap();
        check(
            Malformed::load(&stream),
            expect![[r#"
                INVALID_ARGUMENT: Malformed: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed
                ptxas fatal   : Unresolved extern function '.version'"#]],
        );
        check(
            Empty::load(&stream),
            expect!["INVALID_ARGUMENT: Empty: the image is neither PTX nor a cubin nor a fatbin"],
        );
        check(
            Missing::load(&stream),
            expect![
                "NOT_FOUND: Missing: kernel `absent`: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND: named symbol not found"
            ],
        );
        check(
            TooFew::load(&stream),
            expect![
                "INVALID_ARGUMENT: TooFew: kernel `scale`: it has more parameters than its prototype, which has 3"
            ],
        );
        check(
            TooMany::load(&stream),
            expect![
                "INVALID_ARGUMENT: TooMany: kernel `nothing`: it has 0 parameters, but its prototype has 1"
            ],
        );
        check(
            OtherSize::load(&stream),
            expect![
                "INVALID_ARGUMENT: OtherSize: kernel `scale`: parameter 2 has 4 bytes, but 8 in the prototype"
            ],
        );
        standin.fail("cuModuleLoadDataEx", 2);
        check(
            Kernels::load(&stream),
            expect![
                "RESOURCE_EXHAUSTED: Kernels: cuModuleLoadDataEx: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
            ],
        );
        standin.context(0);
        check(
            Kernels::load(&stream),
            expect!["FAILED_PRECONDITION: Kernels: the host has made no CUDA context current on this thread"],
        );
        // Each module that was loaded has been unloaded.
        let log = standin.log();
        let count = |what: &str| log.lines().filter(|line| line.starts_with(what)).count();
        assert_eq!(count("cuModuleLoadDataEx(3"), 4, "{log}");
        assert_eq!(count("cuModuleUnload"), 4, "{log}");
    });
}

#[test]
fn an_old_driver_does_not_know_parameters() {
    alone("kernels::an_old_driver_does_not_know_parameters", || {
        let Some(_standin) = Standin::open_old() else { return };
        kernels! { struct OtherSize = PTX.as_bytes(); unsafe fn scale(x: *const f32, y: *mut f32, n: u64, by: f32); }
        // SAFETY: the stand-in reads no streams.
        let stream = unsafe { CudaStream::from_raw(STREAM.cast(), 1) }.unwrap();
        check(OtherSize::load(&stream).map(drop), expect!["()"]);
    });
}

#[test]
fn modules_are_not_loaded_into_a_recording() {
    alone("kernels::modules_are_not_loaded_into_a_recording", || {
        let Some(standin) = Standin::open() else { return };
        // SAFETY: the stand-in reads no streams.
        let stream = unsafe { CudaStream::from_raw(STREAM.cast(), 1) }.unwrap();
        standin.capture(1);
        check(
            Kernels::load(&stream),
            expect![
                "FAILED_PRECONDITION: Kernels: modules cannot be loaded while the stream is recorded into a CUDA graph: do it in the handler's initialize stage"
            ],
        );
        // The driver was not asked.
        assert_eq!(standin.log(), "");
    });
}

#[test]
fn kernels_that_are_loaded_can_be_recorded() {
    alone("kernels::kernels_that_are_loaded_can_be_recorded", || {
        let Some(standin) = Standin::open() else { return };
        let call = || {
            let call = Call::to::<scale>().gpu_operand::<f32>(0x1000, &[1, 3]).attr("threads", 32u32);
            call.gpu_result::<f32>(0x2000, &[1, 3]).on_standin(0).run()
        };
        standin.capture(1);
        check(
            call(),
            expect![
                "FAILED_PRECONDITION: load: values for a device cannot be made while the stream is recorded into a CUDA graph: do it in the handler's initialize stage"
            ],
        );
        standin.capture(0);
        check(call(), expect!["()"]);
        standin.log();
        standin.capture(1);
        check(call(), expect!["()"]);
        expect![[r#"
            cuLaunchKernel(scale<<<1x3x1, 32x1x1, 16, 0x5000>>>(0x1000, 0x2000, 3, 2.5))
            cuLaunchKernel(scale<<<1x2x3, 4x5x6, 0, 0x5000>>>(0x2000, 0x2000, 3, -1))
        "#]]
        .assert_eq(&standin.log());
    });
}

#[handler(name = "in_scratch", platform = "CUDA", initialize = load, traits(command_buffer_compatible))]
fn in_scratch(
    x: &GpuBuffer<f32>,
    y: &mut GpuBuffer<f32>,
    is_read: bool,
    stream: &CudaStream,
    host: &Context,
) -> Result<()> {
    let scale = &KERNELS.get(stream)?.scale;
    let mut scratch = host.gpu_scratch::<f32>(x.len())?;
    let n = u32::try_from(x.len())?;
    if is_read {
        // SAFETY: the stand-in runs no kernels.
        return unsafe { launch!(scale, stream, grid: 1, block: 32, (&scratch, y, n, 2.0)) };
    }
    // SAFETY: the stand-in runs no kernels.
    unsafe { launch!(scale, stream, grid: 1, block: 32, (x, &mut scratch, n, 2.0)) }
}

/// A graph would access the memory after the call has returned it to the host.
#[test]
fn launches_with_scratch_memory_cannot_be_recorded() {
    alone("kernels::launches_with_scratch_memory_cannot_be_recorded", || {
        let Some(standin) = Standin::open() else { return };
        let call = |is_read: bool| {
            let call = Call::to::<in_scratch>().gpu_operand::<f32>(0x1000, &[3]).attr("is_read", is_read);
            call.gpu_result::<f32>(0x2000, &[3]).on_standin(0).run()
        };
        check(call(true), expect!["()"]);
        check(call(false), expect!["()"]);
        let launches = |log: String| log.lines().filter(|line| line.starts_with("cuLaunchKernel")).count();
        assert_eq!(launches(standin.log()), 2);
        standin.capture(1);
        for is_read in [true, false] {
            check(
                call(is_read),
                expect![
                    "FAILED_PRECONDITION: in_scratch: kernel `scale`: scratch memory of the call cannot be used while the stream is recorded into a CUDA graph, which would access it after the call: declare another result, or allocate memory in the handler's initialize stage"
                ],
            );
        }
        assert_eq!(launches(standin.log()), 0);
    });
}
