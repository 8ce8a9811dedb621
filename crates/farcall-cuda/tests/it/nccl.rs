//! Collectives by NCCL.

use expect_test::expect;
use farcall_cuda::nccl::{Communicator, ReduceOp, UniqueId};
use farcall_cuda::{CudaStream, GpuArray, PerDevice};
use farcall_ffi::half::bf16;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;
use farcall_testing::process::alone;

use crate::errors::check;
use crate::standin::{OnStandin, STREAM, Standin};

static GROUP: PerDevice<Communicator<'static>> = PerDevice::new();

/// Joins a group as the member with the device's number.
#[stage(initialize)]
fn join(ranks: u64, stream: &CudaStream) -> Result<()> {
    let make = |stream: &CudaStream| match ranks {
        1 => Communicator::alone(stream),
        _ => {
            let id = UniqueId::from_bytes([b'x'; UniqueId::SIZE]);
            Communicator::join(stream, &id, ranks as usize, stream.device_ordinal() as usize)
        }
    };
    GROUP.get_or_init(stream, make).map(drop)
}

#[handler(name = "exchange", platform = "CUDA", initialize = join, traits(command_buffer_compatible))]
fn exchange(
    x: &GpuBuffer<f32>,
    y: &GpuBuffer<bf16>,
    ranks: u64,
    sum: &mut GpuBuffer<f32>,
    all: &mut GpuBuffer<bf16>,
    stream: &CudaStream,
) -> Result<()> {
    let group = GROUP.get(stream)?;
    assert_eq!(group.size_and_rank(), Ok((ranks as usize, stream.device_ordinal() as usize)));
    // SAFETY: the stand-in transfers no data.
    unsafe {
        group.all_reduce(stream, ReduceOp::Sum, x, sum)?;
        group.all_gather(stream, y, all)?;
        group.broadcast(stream, 1, x, sum)?;
        group.reduce_scatter(stream, ReduceOp::Max, x, sum)
    }
}

/// Uses scratch memory as the operand of a collective.
#[handler(name = "scratch_sum", platform = "CUDA", initialize = join, traits(command_buffer_compatible))]
fn scratch_sum(ranks: u64, sum: &mut GpuBuffer<f32>, stream: &CudaStream, host: &Context) -> Result<()> {
    assert_eq!(ranks, 1);
    let scratch = host.gpu_scratch::<f32>(sum.len())?;
    // SAFETY: the stand-in transfers no data.
    unsafe { GROUP.get(stream)?.all_reduce(stream, ReduceOp::Sum, &scratch, sum) }
}

#[test]
fn collectives_of_scratch_memory_cannot_be_recorded() {
    alone("nccl::collectives_of_scratch_memory_cannot_be_recorded", || {
        let Some(standin) = Standin::open_with(&[("nccl", "libnccl.so.2")]) else { return };
        let call = || {
            let call = Call::to::<scratch_sum>().attr("ranks", 1u64);
            call.gpu_result::<f32>(0x3000, &[4]).on_standin(0).run()
        };
        check(call(), expect!["()"]);
        standin.log();
        standin.capture(1);
        let error = call().unwrap_err();
        assert_eq!(error.code(), StatusCode::FailedPrecondition);
        assert!(error.message().starts_with("scratch_sum: scratch memory of the call cannot be used"));
        assert_eq!(standin.log(), "");
    });
}

#[test]
fn collectives_are_enqueued_on_the_stream() {
    alone("nccl::collectives_are_enqueued_on_the_stream", || {
        let Some(standin) = Standin::open_with(&[("nccl", "libnccl.so.2")]) else { return };
        let call = |ranks: u64, device, sum: usize, all: usize| {
            let call = Call::to::<exchange>().attr("ranks", ranks);
            let call = call.gpu_operand::<f32>(0x1000, &[6]).gpu_operand::<bf16>(0x2000, &[4]);
            let call = call.gpu_result::<f32>(0x3000, &[sum]).gpu_result::<bf16>(0x4000, &[all]);
            call.on_standin(device).run()
        };
        check(call(1, 0, 6, 4), expect!["()"]);
        expect![[r#"
            ncclGetUniqueId()
            ncclCommInitRank(1, i…i, 0)
            ncclAllReduce(0x1000, 0x3000, 6, type 7, op 0, 0x100, 0x5000)
            ncclAllGather(0x2000, 0x4000, 4, type 9, 0x100, 0x5000)
            ncclBroadcast(0x1000, 0x3000, 6, type 7, root 1, 0x100, 0x5000)
            ncclReduceScatter(0x1000, 0x3000, 6, type 7, op 2, 0x100, 0x5000)
        "#]]
        .assert_eq(&standin.log());
        check(
            call(2, 1, 6, 8),
            expect!["INVALID_ARGUMENT: exchange: the collective returns 6 elements, but the result has 12"],
        );
        expect![[r#"
            ncclCommInitRank(2, x…x, 1)
            ncclAllReduce(0x1000, 0x3000, 6, type 7, op 0, 0x201, 0x5000)
            ncclAllGather(0x2000, 0x4000, 4, type 9, 0x201, 0x5000)
            ncclBroadcast(0x1000, 0x3000, 6, type 7, root 1, 0x201, 0x5000)
        "#]]
        .assert_eq(&standin.log());
        check(
            call(2, 1, 6, 4),
            expect!["INVALID_ARGUMENT: exchange: the collective returns 8 elements, but the result has 4"],
        );
        check(
            call(2, 1, 5, 8),
            expect!["INVALID_ARGUMENT: exchange: the collective returns 6 elements, but the result has 5"],
        );
        standin.fail("ncclAllReduce", 6);
        check(
            call(2, 1, 6, 8),
            expect![
                "UNAVAILABLE: exchange: ncclAllReduce: remote process exited or there was a network error: rank 0 sent a message of another size"
            ],
        );
    });
}

/// Elements that the stand-in does not access.
struct Elements([f32; 1]);

// SAFETY: no device accesses the elements.
unsafe impl GpuArray for Elements {
    type Element = f32;

    fn start(&self) -> *const f32 {
        self.0.as_ptr()
    }

    fn count(&self) -> usize {
        1
    }
}

#[test]
fn groups_that_cannot_be_joined() {
    alone("nccl::groups_that_cannot_be_joined", || {
        let Some(standin) = Standin::open_with(&[("nccl", "libnccl.so.2")]) else { return };
        // SAFETY: the stand-in reads no streams.
        let stream = unsafe { CudaStream::from_raw(STREAM.cast(), 0) }.unwrap();
        let id = UniqueId::new().unwrap();
        check(
            Communicator::join(&stream, &id, 2, 2),
            expect!["INVALID_ARGUMENT: a group of 2 ranks has no rank 2"],
        );
        standin.fail("ncclCommInitRank", 4);
        check(
            Communicator::join(&stream, &id, 2, 1),
            expect!["INVALID_ARGUMENT: ncclCommInitRank: invalid argument"],
        );
        standin.log();
        let group = Communicator::alone(&stream).unwrap();
        // SAFETY: the stand-in reads no streams.
        let other = unsafe { CudaStream::from_raw(STREAM.cast(), 1) }.unwrap();
        let mut elements = Elements([1.0]);
        check(
            // SAFETY: the stand-in transfers no data.
            unsafe { group.all_reduce(&other, ReduceOp::Sum, &Elements([2.0]), &mut elements) },
            expect!["INVALID_ARGUMENT: the communicator belongs to device 0, but the stream to device 1"],
        );
        drop(group);
        expect![[r#"
            ncclGetUniqueId()
            ncclCommInitRank(1, i…i, 0)
            cuCtxPushCurrent(0xc0)
            ncclCommDestroy(0x100)
            cuCtxPopCurrent()
        "#]]
        .assert_eq(&standin.log());
        standin.capture(1);
        check(
            Communicator::alone(&stream),
            expect![
                "FAILED_PRECONDITION: communicators cannot be made while the stream is recorded into a CUDA graph: do it in the handler's initialize stage"
            ],
        );
        assert_eq!(standin.log(), "");
    });
}
