//! Frames with a memo: what a handler leaves there, when it uses that, and when it must not.

use std::cell::Cell;

use farcall_ffi::__private::enter;
use farcall_ffi::abi::{self, CallFrame, Handler};
use farcall_ffi::memo::FrameMemo;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

#[handler(name = "scale")]
fn scale(x: &Buffer<f32>, by: f32, unit: Option<&str>, y: &mut Buffer<f32>) -> Result<()> {
    ensure!(unit.is_none_or(|unit| unit == "m"), "the unit is {unit:?}");
    for (y, x) in y.iter_mut().zip(x.iter()) {
        *y = by * x;
    }
    Ok(())
}

#[handler(name = "add_one")]
fn add_one(context: &Context, x: &mut InOut<Buffer<f32>>) -> Result<()> {
    ensure!(context.host_version() == (0, 5), "the host's version is {:?}", context.host_version());
    x.iter_mut().for_each(|x| *x += 1.0);
    Ok(())
}

#[handler(name = "count")]
fn count(x: &RestOperands, n: &mut Buffer<i64, 1>) -> Result<()> {
    n[0] = x.len() as i64;
    Ok(())
}

#[handler(name = "optional")]
fn optional(
    x: &Buffer<f32>,
    bias: Option<&Buffer<f32>>,
    scale: Option<&Buffer<f32>>,
    y: &mut Buffer<f32>,
    context: &Context,
) -> Result<()> {
    ensure!(bias.is_none() && scale.is_none() && context.host_version().0 == 0, "more than was given");
    y.copy_from_slice(x);
    Ok(())
}

#[derive(FromAttr)]
struct Window {
    size: i64,
}

#[handler(name = "window")]
fn window(window: Window, n: &mut Buffer<i64, 1>) -> Result<()> {
    n[0] = window.size;
    Ok(())
}

/// Memory for arguments, and a memo of it.
struct Kept {
    memo: FrameMemo,
    _room: Box<[u128]>,
}

impl Kept {
    /// Adds a memo to a frame.
    fn attach(frame: &mut CallFrame, room_size: usize) -> Box<Kept> {
        let mut room: Box<[u128]> = vec![u128::MAX; room_size.div_ceil(16).max(1)].into();
        let memo = FrameMemo::new(frame, room.as_mut_ptr().cast(), room_size);
        let mut kept = Box::new(Kept { memo, _room: room });
        frame.args.extension_start = (&raw mut kept.memo).cast();
        kept
    }

    fn is_noted(&self) -> bool {
        !self.memo.entry.is_null()
    }
}

fn call(handler: Handler, frame: &mut CallFrame) {
    // SAFETY: a handler and a frame for it.
    assert!(unsafe { handler(frame) }.is_null());
}

fn buffer(buffers: *const *mut std::ffi::c_void, i: usize) -> &'static mut abi::Buffer {
    // SAFETY: the frame has this buffer, and the test uses one reference at a time.
    unsafe { &mut *(*buffers.add(i)).cast() }
}

/// Makes a call with a frame that was changed.
fn changed(call: Call<'_>, change: impl FnOnce(&mut CallFrame)) -> Result<()> {
    // SAFETY: after the changes of these tests, the entry reads only memory of the test and of the frame.
    unsafe { call.run_changed(change) }
}

/// A call of `scale`, of two numbers by 3, with a frame that is changed before.
fn scaled(change: impl FnOnce(&mut CallFrame)) -> Result<()> {
    let (x, mut y) = ([1f32, 2.0], [0f32; 2]);
    let call = Call::to::<scale>().operand(&x, &[2]).result(&mut y, &[2]).attr("by", 3f32);
    changed(call, change)
}

const ROOM: usize = FrameMemo::room_for(4, 4);

#[test]
fn a_frame_that_does_not_change_is_decoded_once() {
    let (x, mut y) = ([1f32, 2.0], [0f32; 2]);
    let elements = x.as_ptr().cast_mut();
    let calls = Call::to::<scale>().operand(&x, &[2]).result(&mut y, &[2]).attr("by", 3f32).attr("unit", "m");
    changed(calls, |frame| {
        let kept = Kept::attach(frame, ROOM);
        for input in [5f32, 7.0] {
            // SAFETY: the operand's memory, which no call is using.
            unsafe { elements.write(input) };
            call(enter::<scale>, frame);
            assert!(kept.is_noted());
            // SAFETY: the result's first element.
            assert_eq!(unsafe { *buffer(frame.rets.rets, 0).data.cast::<f32>() }, 3.0 * input);
        }
        // The entry trusts the host: it looks at nothing in the frame, not even at the missing operand.
        frame.args.size = 0;
        call(enter::<scale>, frame);
        frame.args.size = 1;
        frame.args.extension_start = std::ptr::null_mut();
    })
    .unwrap();
}

#[test]
fn what_has_changed_is_checked() {
    let message = |change: fn(&mut CallFrame)| {
        let kept = Cell::new(None);
        let outcome = scaled(|frame| {
            let mut memo = Kept::attach(frame, ROOM);
            call(enter::<scale>, frame);
            change(frame);
            memo.memo.entry = std::ptr::null();
            kept.set(Some(memo));
        });
        let noted = kept.take().is_some_and(|kept| kept.is_noted());
        (outcome.err().map(|error| error.message().to_owned()), noted)
    };
    assert_eq!(message(|_| {}), (None, true));
    let refused = |message: &str| (Some(message.to_owned()), false);
    assert_eq!(
        message(|frame| buffer(frame.args.args, 0).data = std::ptr::null_mut()),
        refused("scale: operand 0 (x): null data")
    );
    assert_eq!(
        message(|frame| buffer(frame.rets.rets, 0).data = buffer(frame.args.args, 0).data),
        refused(
            "scale: result y shares memory with operand x; a handler that allows this takes both as one `&mut InOut<…>`"
        )
    );
    assert_eq!(
        message(|frame| frame.attrs.size = 0),
        refused("scale: missing attribute by (f32); found no attribute")
    );
}

#[test]
fn a_memo_is_of_one_frame_and_one_handler() {
    scaled(|frame| {
        let mut kept = Kept::attach(frame, ROOM);
        // Another handler's arguments are of other types.
        kept.memo.entry = enter::<count> as Handler as *const _;
        call(enter::<scale>, frame);
        assert_eq!(kept.memo.entry, enter::<scale> as Handler as *const _);
        // A handler that passes on a frame that it has changed passes on a copy.
        let mut other = [0f32; 2];
        let mut result = abi::Buffer { data: other.as_mut_ptr().cast(), ..*buffer(frame.rets.rets, 0) };
        let mut results = [(&raw mut result).cast()];
        // SAFETY: a struct of pointers and numbers.
        let mut copy = unsafe { std::ptr::read(frame) };
        copy.rets.rets = results.as_mut_ptr();
        call(enter::<scale>, &mut copy);
        assert_eq!(other, [3.0, 6.0]);
        // One that is not whole, or misaligned, or something else.
        for change in [(|memo| memo.base.struct_size -= 8) as fn(&mut FrameMemo), |memo| {
            memo.base.r#type = abi::ExtensionType(7)
        }] {
            kept = Kept::attach(frame, ROOM);
            change(&mut kept.memo);
            call(enter::<scale>, frame);
            assert!(!kept.is_noted());
        }
        frame.args.extension_start = frame.args.extension_start.wrapping_byte_add(4);
        call(enter::<scale>, frame);
        frame.args.extension_start = std::ptr::null_mut();
    })
    .unwrap();
}

#[test]
fn without_room_every_call_is_decoded() {
    scaled(|frame| {
        for size in [0, 64] {
            let mut kept = Kept::attach(frame, size);
            call(enter::<scale>, frame);
            assert!(!kept.is_noted());
            kept.memo.room = kept.memo.room.wrapping_byte_add(1);
            kept.memo.room_size = ROOM;
            call(enter::<scale>, frame);
            assert!(!kept.is_noted());
        }
        frame.args.extension_start = std::ptr::null_mut();
    })
    .unwrap();
}

#[test]
fn there_is_room_for_operands_that_are_not_given() {
    let (x, mut y) = ([1f32, 2.0], [0f32; 2]);
    let calls = Call::to::<optional>().operand(&x, &[2]).result(&mut y, &[2]);
    changed(calls, |frame| {
        let kept = Kept::attach(frame, FrameMemo::room_for(2, 0));
        for _ in 0..2 {
            call(enter::<optional>, frame);
            assert!(kept.is_noted());
        }
        frame.args.extension_start = std::ptr::null_mut();
    })
    .unwrap();
    assert_eq!(y, x);
}

#[test]
fn what_belongs_to_a_call_is_of_that_call() {
    let (x, mut y) = ([1f32, 2.0], [0f32; 2]);
    let calls = Call::to::<add_one>().operand(&x, &[2]).result(&mut y, &[2]);
    changed(calls, |frame| {
        let kept = Kept::attach(frame, ROOM);
        for _ in 0..3 {
            call(enter::<add_one>, frame);
            assert!(kept.is_noted());
            // The operand is copied in each call.
            // SAFETY: the result's first element.
            assert_eq!(unsafe { *buffer(frame.rets.rets, 0).data.cast::<f32>() }, 2.0);
        }
        frame.args.extension_start = std::ptr::null_mut();
    })
    .unwrap();
}

#[test]
fn arguments_that_are_used_up_are_read_again() {
    let (x, mut n) = ([1f32, 2.0], [0i64]);
    let none_is_left = |handler: Handler| {
        move |frame: &mut CallFrame| {
            let kept = Kept::attach(frame, ROOM);
            for _ in 0..2 {
                call(handler, frame);
                assert!(!kept.is_noted());
            }
            frame.args.extension_start = std::ptr::null_mut();
        }
    };
    let calls = Call::to::<count>().operand(&x, &[2]).operand(&x, &[2]).result(&mut n, &[1]);
    changed(calls, none_is_left(enter::<count>)).unwrap();
    assert_eq!(n, [2]);
    let dict = farcall_ffi::AttrValue::dict([("size", farcall_ffi::AttrValue::from(5i64))]);
    let calls = Call::to::<window>().result(&mut n, &[1]).attr("window", dict);
    changed(calls, none_is_left(enter::<window>)).unwrap();
    assert_eq!(n, [5]);
}
