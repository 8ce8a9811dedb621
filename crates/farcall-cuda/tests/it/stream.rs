//! Copies, zeros and the recording of streams.

use expect_test::expect;
use farcall_cuda::CudaStream;
use farcall_ffi::InOut;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;
use farcall_testing::process::alone;

use crate::errors::check;
use crate::standin::{OnStandin, Standin};

#[handler(name = "copy", platform = "CUDA")]
fn copy(x: &GpuBuffer<f32>, y: &mut GpuBuffer<f32>, z: &mut AnyGpuBuffer, stream: &CudaStream) -> Result<()> {
    stream.copy(x, y)?;
    stream.zero(z)
}

#[test]
fn work_is_enqueued_in_order() {
    alone("stream::work_is_enqueued_in_order", || {
        let Some(standin) = Standin::open() else { return };
        let call = |x: &[usize], y: &[usize], z: &[usize]| {
            let call = Call::to::<copy>().gpu_operand::<f32>(0x1000, x).gpu_result::<f32>(0x2000, y);
            call.gpu_result::<i16>(0x3000, z).on_standin(0).run()
        };
        check(call(&[2, 3], &[2, 3], &[5]), expect!["()"]);
        expect![[r#"
            cuMemcpyDtoDAsync(0x2000, 0x1000, 24, 0x5000)
            cuMemsetD8Async(0x3000, 0, 10, 0x5000)
        "#]]
        .assert_eq(&standin.log());
        check(call(&[2, 3], &[5], &[5]), expect!["INVALID_ARGUMENT: copy: cannot copy 6 elements to 5"]);
        check(call(&[0, 3], &[0], &[0]), expect!["()"]);
        assert_eq!(standin.log(), "");
    });
}

#[handler(name = "in_place", platform = "CUDA")]
fn in_place(
    x: &mut InOut<GpuBuffer<f64>>,
    part: &GpuBuffer<f64>,
    stream: &CudaStream,
    host: &Context,
) -> Result<()> {
    let mut scratch = host.gpu_scratch::<f64>(part.len())?;
    stream.copy(part, &mut scratch)?;
    stream.copy(&scratch, x)
}

#[test]
fn arrays_are_buffers_scratch_and_in_place_operands() {
    alone("stream::arrays_are_buffers_scratch_and_in_place_operands", || {
        let Some(standin) = Standin::open() else { return };
        let call = Call::to::<in_place>().gpu_operand::<f64>(0x1000, &[4]).gpu_operand::<f64>(0x2000, &[4]);
        call.gpu_result::<f64>(0x1000, &[4]).on_standin(0).run().unwrap();
        let log = standin.log();
        let lines: Vec<_> = log.lines().collect();
        let [first, second] = lines[..] else { panic!("{log}") };
        assert!(
            first.starts_with("cuMemcpyDtoDAsync(0x") && first.ends_with(", 0x2000, 32, 0x5000)"),
            "{log}"
        );
        assert!(
            second.starts_with("cuMemcpyDtoDAsync(0x1000, 0x") && second.ends_with(", 32, 0x5000)"),
            "{log}"
        );
    });
}

#[handler(name = "clear_scratch", platform = "CUDA", traits(command_buffer_compatible))]
fn clear_scratch(len: u64, stream: &CudaStream, host: &Context) -> Result<()> {
    stream.zero(&mut host.gpu_scratch::<f32>(len as usize)?)
}

/// A graph would access the memory after the call has returned it to the host.
#[test]
fn scratch_memory_cannot_be_recorded() {
    alone("stream::scratch_memory_cannot_be_recorded", || {
        let Some(standin) = Standin::open() else { return };
        let clear = |len: u64| Call::to::<clear_scratch>().attr("len", len).on_standin(0).run();
        let copy = || {
            let call = Call::to::<in_place>().gpu_operand::<f64>(0x1000, &[4]);
            call.gpu_operand::<f64>(0x2000, &[4]).gpu_result::<f64>(0x1000, &[4]).on_standin(0).run()
        };
        standin.capture(1);
        let refused = "scratch memory of the call cannot be used while the stream is recorded into a CUDA \
                       graph, which would access it after the call: declare another result, or allocate \
                       memory in the handler's initialize stage";
        for (outcome, handler) in
            [(clear(4), "clear_scratch"), (clear(0), "clear_scratch"), (copy(), "in_place")]
        {
            let error = outcome.unwrap_err();
            assert_eq!(error.code(), StatusCode::FailedPrecondition);
            assert_eq!(error.message(), format!("{handler}: {refused}"));
        }
        assert_eq!(standin.log(), "");
        standin.capture(0);
        check(clear(4), expect!["()"]);
        check(clear(0), expect!["()"]);
    });
}

#[handler(name = "recorded", platform = "CUDA", traits(command_buffer_compatible))]
fn recorded(stream: &CudaStream) -> Result<()> {
    Err(Error::unknown(format!("{:?}", stream.is_capturing()?)))
}

#[test]
fn a_stream_says_whether_it_is_recorded() {
    alone("stream::a_stream_says_whether_it_is_recorded", || {
        let Some(standin) = Standin::open() else { return };
        let call = |status| {
            standin.capture(status);
            Call::to::<recorded>().on_standin(0).run()
        };
        check(call(0), expect!["UNKNOWN: recorded: false"]);
        check(call(1), expect!["UNKNOWN: recorded: true"]);
        check(
            call(2),
            expect![
                "FAILED_PRECONDITION: recorded: an earlier error has invalidated the recording of the stream into a CUDA graph"
            ],
        );
    });
}
