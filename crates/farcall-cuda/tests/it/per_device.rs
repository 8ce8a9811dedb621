//! Values for each device: as a static, and as the state of a call site.

use std::sync::atomic::{AtomicUsize, Ordering};

use expect_test::expect;
use farcall_cuda::{CudaStream, PerDevice};
use farcall_ffi::State;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;
use farcall_testing::process::alone;

use crate::errors::check;
use crate::standin::{OnStandin, STREAM, Standin};

static MADE: AtomicUsize = AtomicUsize::new(0);

#[stage(instantiate)]
fn site() -> Result<PerDevice<usize>> {
    Ok(PerDevice::new())
}

#[stage(initialize)]
fn tune(site: &State<PerDevice<usize>>, stream: &CudaStream, host: &Context) -> Result<()> {
    if stream.device_ordinal() == 7 {
        return Ok(());
    }
    if host.device_ordinal()? == 6 {
        return site.get_or_init(stream, |_| Err(Error::aborted("not tunable"))).map(drop);
    }
    site.get_or_init(stream, |_| Ok(MADE.fetch_add(1, Ordering::Relaxed))).map(drop)
}

#[handler(name = "tuned", platform = "CUDA", instantiate = site, initialize = tune)]
fn tuned(site: &State<PerDevice<usize>>, stream: &CudaStream) -> Result<()> {
    Err(Error::unknown(format!("value {}", site.get(stream)?)))
}

#[test]
fn a_value_is_made_once_for_each_device() {
    alone("per_device::a_value_is_made_once_for_each_device", || {
        let Some(_standin) = Standin::open() else { return };
        let site = Call::to::<tuned>().instantiate().unwrap();
        let on = |device| Call::to::<tuned>().at(&site).on_standin(device).run();
        check(on(0), expect!["UNKNOWN: tuned: value 0"]);
        check(on(1), expect!["UNKNOWN: tuned: value 1"]);
        check(on(0), expect!["UNKNOWN: tuned: value 0"]);
        check(on(6), expect!["ABORTED: tune: not tunable"]);
        check(
            on(7),
            expect![
                "FAILED_PRECONDITION: tuned: no value was made for device 7: call `PerDevice::get_or_init` in the handler's initialize stage"
            ],
        );
        check(on(-1), expect!["OUT_OF_RANGE: tune: device -1: a process has at most 64 devices"]);
        check(on(64), expect!["OUT_OF_RANGE: tune: device 64: a process has at most 64 devices"]);
    });
}

#[test]
fn threads_that_need_a_value_wait_for_one_to_make_it() {
    alone("per_device::threads_that_need_a_value_wait_for_one_to_make_it", || {
        let Some(_standin) = Standin::open() else { return };
        let values: PerDevice<usize> = PerDevice::default();
        let made = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for device in [0, 1, 0, 1, 0, 1, 0, 1] {
                let (values, made) = (&values, &made);
                scope.spawn(move || {
                    // SAFETY: the stand-in reads no streams.
                    let stream = unsafe { CudaStream::from_raw(STREAM.cast(), device) }.unwrap();
                    let make = |_: &CudaStream| {
                        std::thread::sleep(std::time::Duration::from_millis(5));
                        Ok(made.fetch_add(1, Ordering::Relaxed))
                    };
                    let value = values.get_or_init(&stream, make).unwrap();
                    assert_eq!(values.get(&stream), Ok(value));
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 2);
    });
}
