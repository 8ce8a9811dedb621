//! Errors of the driver.

use std::fmt::Debug;

use expect_test::{Expect, expect};
use farcall_cuda::CudaStream;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;
use farcall_testing::process::alone;

use crate::standin::{OnStandin, Standin};

/// Compares the outcome with the expected value, or with the error's code and message.
#[track_caller]
pub(crate) fn check<T: Debug>(found: Result<T>, expected: Expect) {
    expected.assert_eq(&match found {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{error:?}"),
    });
}

#[handler(name = "clear", platform = "CUDA")]
fn clear(y: &mut GpuBuffer<f32>, stream: &CudaStream) -> Result<()> {
    stream.zero(y)
}

#[test]
fn an_error_has_the_function_the_name_and_the_text() {
    alone("errors::an_error_has_the_function_the_name_and_the_text", || {
        let Some(standin) = Standin::open() else { return };
        let failing = |status| {
            standin.fail("cuMemsetD8Async", status);
            Call::to::<clear>().gpu_result::<f32>(0x1000, &[4]).on_standin(0).run()
        };
        check(
            failing(1),
            expect!["INVALID_ARGUMENT: clear: cuMemsetD8Async: CUDA_ERROR_INVALID_VALUE: invalid argument"],
        );
        check(
            failing(2),
            expect!["RESOURCE_EXHAUSTED: clear: cuMemsetD8Async: CUDA_ERROR_OUT_OF_MEMORY: out of memory"],
        );
        check(
            failing(201),
            expect![
                "FAILED_PRECONDITION: clear: cuMemsetD8Async: CUDA_ERROR_INVALID_CONTEXT: invalid device context"
            ],
        );
        check(
            failing(12345),
            expect!["INTERNAL: clear: cuMemsetD8Async: error 12345: the driver has no text for it"],
        );
        check(failing(0), expect!["()"]);
    });
}
