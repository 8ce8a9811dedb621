//! Services that a handler requests from its host: later completion, scratch memory, user data, options,
//! state of a run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::outcome::check;
use expect_test::expect;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;
use farcall_ffi::{AttrValue, Initialized, Prepared, UserData};

// ---- Completion after the handler's return ---------------------------------------------------

/// Doubles `x` on the pool. `fault` says which failure to cause, and when.
#[handler(name = "later")]
fn later(x: Kept<Buffer<f32>>, mut y: KeptMut<AnyBuffer>, fault: &str, host: &Context) -> Result<()> {
    let fault = fault.to_owned();
    let at_once = fault.clone();
    host.spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        match fault.as_str() {
            "fail" => return y.fail(Error::unavailable(format!("no room for {x:?}"))),
            "panic" => panic!("in the task"),
            _ => {}
        }
        let y = y.typed_mut::<f32, 2>().expect("the test passes f32 of rank 2");
        for (y, x) in y.iter_mut().zip(x.iter()) {
            *y = 2.0 * x;
        }
    })?;
    ensure!(at_once != "error", "an error beside a task");
    assert!(at_once != "panic at once", "a panic beside a task");
    Ok(())
}

#[test]
fn a_call_is_over_when_its_buffers_are_dropped() {
    let x = [1f32, 2.0, 3.0, 4.0];
    let call = |fault: &str, minor: i32| {
        let mut y = [0f32; 4];
        let call = Call::to::<later>().host_version(minor).attr("fault", fault).operand(&x, &[2, 2]);
        call.result(&mut y, &[2, 2]).run().map(|()| y)
    };
    for minor in [1, 2, 3, 5] {
        assert_eq!(call("", minor), Ok([2.0, 4.0, 6.0, 8.0]));
        let check = |fault, expected| check(call(fault, minor).map(drop), expected);
        check("fail", expect!["UNAVAILABLE: later: no room for f32[2, 2]"]);
        check(
            "panic",
            expect![
                "INTERNAL: later: panicked at crates/farcall-ffi/tests/it/host_services.rs:24:24: in the task"
            ],
        );
        check("error", expect!["INVALID_ARGUMENT: later: an error beside a task"]);
        check(
            "panic at once",
            expect![
                "INTERNAL: later: panicked at crates/farcall-ffi/tests/it/host_services.rs:33:5: a panic beside a task"
            ],
        );
    }
}

/// Drops its buffers before it returns, so there is no future.
#[handler(name = "at_once")]
fn at_once(x: Kept<Buffer<f32>>, mut y: KeptMut<Buffer<f32>>, fail: bool) -> Result<()> {
    y.copy_from_slice(&x);
    if fail {
        x.fail(Error::aborted("by request"));
    }
    Ok(())
}

#[test]
fn a_call_that_keeps_nothing_ends_with_its_handler() {
    let mut y = [0f32; 2];
    let call = Call::to::<at_once>().attr("fail", false).operand(&[1f32, 2.0], &[2]);
    check(call.result(&mut y, &[2]).run(), expect!["ok"]);
    assert_eq!(y, [1.0, 2.0]);
    let call = Call::to::<at_once>().attr("fail", true).operand(&[1f32, 2.0], &[2]);
    check(call.result(&mut y, &[2]).run(), expect!["ABORTED: at_once: by request"]);
    let call = Call::to::<at_once>().attr("fail", true).in_place(&mut y, &[2]);
    check(
        call.run(),
        expect![
            "INVALID_ARGUMENT: at_once: result y shares memory with operand x; a handler that allows this takes both as one `&mut InOut<…>`"
        ],
    );
}

// ---- Scratch memory --------------------------------------------------------------------------

#[handler(name = "reverse")]
fn reverse(x: &Buffer<i64>, y: &mut Buffer<i64>, host: &Context) -> Result<()> {
    let mut scratch = host.scratch::<i64>(x.len())?;
    for (s, x) in scratch.iter_mut().rev().zip(x.iter()) {
        *s = *x;
    }
    y.copy_from_slice(&scratch);
    let empty = host.scratch::<f64>(0)?;
    ensure!(empty.is_empty(), "{empty:?}");
    let device = host.device_memory(100, 64)?;
    ensure!(device.as_ptr().addr() % 64 == 0 && device.size() == 100, "{device:?}");
    let too_much = host.scratch::<i64>(usize::MAX / 2).unwrap_err();
    assert_eq!(too_much.code(), StatusCode::ResourceExhausted);
    Ok(())
}

/// Checks that scratch memory is freed: the test host reports memory that is not.
#[test]
fn scratch_is_given_back() {
    let mut y = [0i64; 3];
    Call::to::<reverse>().operand(&[1i64, 2, 3], &[3]).result(&mut y, &[3]).run().unwrap();
    assert_eq!(y, [3, 2, 1]);
}

// ---- User data and options -------------------------------------------------------------------

struct Seed(u64);

// SAFETY: no other type of this process has this name.
unsafe impl UserData for Seed {
    const NAME: &'static str = "host_services.Seed";
}

#[handler(name = "seeded")]
fn seeded(y: &mut Buffer<u64, 0>, host: &Context) -> Result<()> {
    let scale = host.custom_options().ok().and_then(|options| options.get_opt::<i64>("scale").transpose());
    y[0] = host.user_data::<Seed>()?.0 * u64::try_from(scale.unwrap_or(Ok(1))?)?;
    Ok(())
}

#[test]
fn user_data_and_options_reach_the_handler() {
    let seed = Seed(42);
    let mut y = [0u64];
    Call::to::<seeded>().user_data(&seed).result(&mut y, &[]).run().unwrap();
    assert_eq!(y, [42]);
    Call::to::<seeded>().user_data(&seed).option("scale", 2i64).result(&mut y, &[]).run().unwrap();
    assert_eq!(y, [84]);
    // Hosts before 0.5 have no options.
    let call = Call::to::<seeded>().user_data(&seed).option("scale", 2i64).host_version(3);
    call.result(&mut y, &[]).run().unwrap();
    assert_eq!(y, [42]);
    check(
        Call::to::<seeded>().result(&mut y, &[]).run(),
        expect!["NOT_FOUND: seeded: no user data of the type host_services.Seed"],
    );
}

// ---- State of a run --------------------------------------------------------------------------

static ALIVE: AtomicUsize = AtomicUsize::new(0);

struct Counted(i64);

impl Counted {
    fn new(value: i64) -> Counted {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Counted(value)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

#[stage(instantiate)]
fn staged_new() -> Result<Counted> {
    Ok(Counted::new(1))
}

#[stage(prepare)]
fn staged_prepare(state: &State<Counted>) -> Result<Counted> {
    Ok(Counted::new(state.0 * 10))
}

#[stage(initialize)]
fn staged_initialize(prepared: &Prepared<Counted>) -> Result<Counted> {
    Ok(Counted::new(prepared.0 * 10))
}

#[handler(
    name = "staged",
    instantiate = staged_new,
    prepare = staged_prepare,
    initialize = staged_initialize
)]
fn staged(
    state: &State<Counted>,
    prepared: &Prepared<Counted>,
    initialized: &Initialized<Counted>,
    y: &mut Buffer<i64, 0>,
) -> Result<()> {
    y[0] = state.0 + prepared.0 + initialized.0;
    Ok(())
}

#[test]
fn each_stage_has_a_state() {
    let instance = Call::to::<staged>().host_version(3).instantiate().unwrap();
    let mut y = [0i64];
    for _ in 0..3 {
        y = [0];
        Call::to::<staged>().at(&instance).result(&mut y, &[]).run().unwrap();
        assert_eq!(y, [111]);
    }
    assert_eq!(ALIVE.load(Ordering::Relaxed), 3);
    drop(instance);
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);

    let old = Call::to::<staged>().host_version(2).instantiate().unwrap();
    check(
        Call::to::<staged>().at(&old).result(&mut y, &[]).run(),
        expect![
            "UNIMPLEMENTED: staged_prepare: state of the stage prepare needs a host of 0.3 or later, this one speaks 0.2"
        ],
    );
}

// ---- Derived attributes ----------------------------------------------------------------------

#[derive(FromAttr, Debug)]
#[expect(dead_code, reason = "the fields are only printed")]
struct Window<'w> {
    size: &'w [i64],
    #[attr(name = "pad")]
    padding: Option<f32>,
    mode: Mode,
    inner: Option<Inner>,
}

#[derive(FromAttr, Debug)]
#[expect(dead_code, reason = "the fields are only printed")]
struct Inner {
    level: Level,
}

#[derive(FromAttr, Debug)]
enum Mode {
    SameSize,
    #[attr(name = "as is")]
    Valid,
}

#[derive(FromAttr, Clone, Copy, Debug)]
enum Level {
    Low = -1,
    High = 300,
}

#[handler(name = "windows")]
fn windows(window: Window<'_>, level: Option<Level>) -> Result<()> {
    Err(Error::cancelled(format!("{window:?} {level:?}")))
}

#[test]
fn structs_and_enums_are_attributes() {
    let window = |entries: &[(&'static str, AttrValue)]| {
        let size: &[i64] = &[1, 2];
        let mut all = vec![("size", AttrValue::from(size)), ("mode", "same_size".into())];
        for (name, value) in entries {
            all.retain(|(known, _)| known != name);
            all.push((name, value.clone()));
        }
        Call::to::<windows>().attr("window", AttrValue::dict(all))
    };
    let inner = |level: AttrValue| AttrValue::dict([("level", level)]);
    check(
        window(&[]).run(),
        expect![
            "CANCELLED: windows: Window { size: [1, 2], padding: None, mode: SameSize, inner: None } None"
        ],
    );
    let all = window(&[("pad", 0.5f32.into()), ("mode", "as is".into()), ("inner", inner(300i32.into()))]);
    check(
        all.attr("level", -1i64).run(),
        expect![
            "CANCELLED: windows: Window { size: [1, 2], padding: Some(0.5), mode: Valid, inner: Some(Inner { level: High }) } Some(Low)"
        ],
    );
    check(
        window(&[("mode", "other".into())]).run(),
        expect![
            "INVALID_ARGUMENT: windows: attribute window: attribute mode: expected same_size or as is, found other"
        ],
    );
    check(
        window(&[("inner", inner(7u8.into()))]).run(),
        expect![
            "INVALID_ARGUMENT: windows: attribute window: attribute inner: attribute level: expected -1 or 300, found 7"
        ],
    );
    check(
        window(&[("inner", inner("high".into()))]).run(),
        expect![
            "INVALID_ARGUMENT: windows: attribute window: attribute inner: attribute level: expected integer, found string"
        ],
    );
    check(
        window(&[("sise", 1i64.into())]).run(),
        expect![
            "INVALID_ARGUMENT: windows: attribute window: unknown entry sise; it takes size, pad, mode, inner"
        ],
    );
    check(
        window(&[("pad", 1i64.into())]).run(),
        expect!["INVALID_ARGUMENT: windows: attribute window: attribute pad: expected f32, found s64"],
    );
    check(
        Call::to::<windows>().attr("window", "no").run(),
        expect!["INVALID_ARGUMENT: windows: attribute window: expected dictionary, found string"],
    );
}
