//! A machine without a driver, and a driver without a function.

use expect_test::expect;
use farcall_cuda::{CudaStream, driver_version};
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;
use farcall_testing::process::alone;

use crate::errors::check;
use crate::standin::{OnStandin, STREAM, Standin};

#[handler(name = "nothing", platform = "CUDA")]
fn nothing(stream: &CudaStream) -> Result<()> {
    assert_eq!(stream.as_raw().cast(), STREAM);
    assert_eq!(stream.device_ordinal(), 3);
    Ok(())
}

#[test]
fn a_missing_driver_is_an_error_with_the_names_of_its_files() {
    alone("absent::a_missing_driver_is_an_error_with_the_names_of_its_files", || {
        // SAFETY: the driver's initializers have no requirements.
        if unsafe { libloading::Library::new("libcuda.so.1") }.is_ok() {
            println!("NOT RUN: this machine has a CUDA driver");
            return;
        }
        check(
            driver_version(),
            expect![
                "NOT_FOUND: the CUDA driver is not installed: looked for libcuda.so.1, libcuda.so: libcuda.so.1: cannot open shared object file: No such file or directory"
            ],
        );
        check(
            Call::to::<nothing>().on_standin(3).run(),
            expect![[r#"
                NOT_FOUND: nothing: stream: the CUDA driver is not installed: looked for libcuda.so.1, libcuda.so: libcuda.so.1: cannot open shared object file: No such file or directory"#]],
        );
    });
}

#[test]
fn without_a_stream_the_driver_is_not_opened() {
    alone("absent::without_a_stream_the_driver_is_not_opened", || {
        check(Call::to::<nothing>().run(), expect!["UNIMPLEMENTED: nothing: stream: the call has no stream"]);
    });
}

#[test]
fn the_version_is_that_of_the_driver() {
    alone("absent::the_version_is_that_of_the_driver", || {
        let Some(standin) = Standin::open() else { return };
        assert_eq!(driver_version(), Ok((13, 0)));
        Call::to::<nothing>().on_standin(3).run().unwrap();
        assert_eq!(standin.log(), "");
    });
}
