//! Tests frames with a memo: when a handler stores its arguments, when it uses them, and when it must not.

use std::cell::Cell;

use farcall_ffi::__private::enter;
use farcall_ffi::abi::{self, CallFrame, HandlerFn};
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

/// A memo and its memory for arguments.
struct AttachedMemo {
    memo: FrameMemo,
    _room: Box<[u128]>,
}

impl AttachedMemo {
    /// Adds a memo to a frame.
    fn attach(frame: &mut CallFrame, room_size: usize) -> Box<AttachedMemo> {
        let mut room: Box<[u128]> = vec![u128::MAX; room_size.div_ceil(16).max(1)].into();
        let memo = FrameMemo::new(frame, room.as_mut_ptr().cast(), room_size);
        let mut kept = Box::new(AttachedMemo { memo, _room: room });
        frame.args.extension_start = (&raw mut kept.memo).cast();
        kept
    }

    fn is_filled(&self) -> bool {
        !self.memo.entry.is_null()
    }
}

fn call(handler: HandlerFn, frame: &mut CallFrame) {
    // SAFETY: `frame` is a valid call frame for `handler`.
    assert!(unsafe { handler(frame) }.is_null());
}

fn buffer(buffers: *const *mut std::ffi::c_void, i: usize) -> &'static mut abi::Buffer {
    // SAFETY: the frame has this buffer, and the test uses one reference at a time.
    unsafe { &mut *(*buffers.add(i)).cast() }
}

/// Makes a call with a changed frame.
fn changed(call: Call<'_>, change: impl FnOnce(&mut CallFrame)) -> Result<()> {
    // SAFETY: after the changes of these tests, the entry only reads memory of the test and of the frame.
    unsafe { call.run_changed(change) }
}

/// Calls `scale` on two numbers and the factor 3, with a frame that `change` changes before the call.
fn scaled(change: impl FnOnce(&mut CallFrame)) -> Result<()> {
    let (x, mut y) = ([1f32, 2.0], [0f32; 2]);
    let call = Call::to::<scale>().operand(&x, &[2]).result(&mut y, &[2]).attr("by", 3f32);
    changed(call, change)
}

const MEMO_BYTES: usize = FrameMemo::room_for(4, 4);

#[test]
fn a_frame_that_does_not_change_is_decoded_once() {
    let (x, mut y) = ([1f32, 2.0], [0f32; 2]);
    let elements = x.as_ptr().cast_mut();
    let calls = Call::to::<scale>().operand(&x, &[2]).result(&mut y, &[2]).attr("by", 3f32).attr("unit", "m");
    changed(calls, |frame| {
        let kept = AttachedMemo::attach(frame, MEMO_BYTES);
        for input in [5f32, 7.0] {
            // SAFETY: this is the operand's memory, which no call uses now.
            unsafe { elements.write(input) };
            call(enter::<scale>, frame);
            assert!(kept.is_filled());
            // SAFETY: the result has a first element, which the call has written.
            assert_eq!(unsafe { *buffer(frame.rets.rets, 0).data.cast::<f32>() }, 3.0 * input);
        }
        // The entry trusts the host's memo and reads nothing in the frame, so the entry does not notice the
        // missing operand.
        frame.args.size = 0;
        call(enter::<scale>, frame);
        frame.args.size = 1;
        frame.args.extension_start = std::ptr::null_mut();
    })
    .unwrap();
}

#[test]
fn changed_frames_are_checked() {
    let message = |change: fn(&mut CallFrame)| {
        let kept = Cell::new(None);
        let outcome = scaled(|frame| {
            let mut memo = AttachedMemo::attach(frame, MEMO_BYTES);
            call(enter::<scale>, frame);
            change(frame);
            memo.memo.entry = std::ptr::null();
            kept.set(Some(memo));
        });
        let filled = kept.take().is_some_and(|kept| kept.is_filled());
        (outcome.err().map(|error| error.message().to_owned()), filled)
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
        let mut kept = AttachedMemo::attach(frame, MEMO_BYTES);
        // Stored arguments of another handler have other types, so the entry must not use them.
        kept.memo.entry = enter::<count> as HandlerFn as *const _;
        call(enter::<scale>, frame);
        assert_eq!(kept.memo.entry, enter::<scale> as HandlerFn as *const _);
        // A handler that calls another one with a changed frame passes a copy of its own frame.
        let mut other = [0f32; 2];
        let mut result = abi::Buffer { data: other.as_mut_ptr().cast(), ..*buffer(frame.rets.rets, 0) };
        let mut results = [(&raw mut result).cast()];
        // SAFETY: the struct only has pointers and numbers.
        let mut copy = unsafe { std::ptr::read(frame) };
        copy.rets.rets = results.as_mut_ptr();
        call(enter::<scale>, &mut copy);
        assert_eq!(other, [3.0, 6.0]);
        // Memos that are too small, of another type, or misaligned are ignored.
        for change in [(|memo| memo.base.struct_size -= 8) as fn(&mut FrameMemo), |memo| {
            memo.base.r#type = abi::ExtensionType(7)
        }] {
            kept = AttachedMemo::attach(frame, MEMO_BYTES);
            change(&mut kept.memo);
            call(enter::<scale>, frame);
            assert!(!kept.is_filled());
        }
        frame.args.extension_start = frame.args.extension_start.wrapping_byte_add(4);
        call(enter::<scale>, frame);
        frame.args.extension_start = std::ptr::null_mut();
    })
    .unwrap();
}

#[test]
fn without_enough_memory_every_call_is_decoded() {
    scaled(|frame| {
        for size in [0, 64] {
            let mut kept = AttachedMemo::attach(frame, size);
            call(enter::<scale>, frame);
            assert!(!kept.is_filled());
            kept.memo.room = kept.memo.room.wrapping_byte_add(1);
            kept.memo.room_size = MEMO_BYTES;
            call(enter::<scale>, frame);
            assert!(!kept.is_filled());
        }
        frame.args.extension_start = std::ptr::null_mut();
    })
    .unwrap();
}

#[test]
fn memory_suffices_for_missing_optional_operands() {
    let (x, mut y) = ([1f32, 2.0], [0f32; 2]);
    let calls = Call::to::<optional>().operand(&x, &[2]).result(&mut y, &[2]);
    changed(calls, |frame| {
        let kept = AttachedMemo::attach(frame, FrameMemo::room_for(2, 0));
        for _ in 0..2 {
            call(enter::<optional>, frame);
            assert!(kept.is_filled());
        }
        frame.args.extension_start = std::ptr::null_mut();
    })
    .unwrap();
    assert_eq!(y, x);
}

#[test]
fn contexts_and_copied_operands_are_renewed_in_each_call() {
    let (x, mut y) = ([1f32, 2.0], [0f32; 2]);
    let calls = Call::to::<add_one>().operand(&x, &[2]).result(&mut y, &[2]);
    changed(calls, |frame| {
        let kept = AttachedMemo::attach(frame, MEMO_BYTES);
        for _ in 0..3 {
            call(enter::<add_one>, frame);
            assert!(kept.is_filled());
            // The operand is copied in each call.
            // SAFETY: the result has a first element, which the call has written.
            assert_eq!(unsafe { *buffer(frame.rets.rets, 0).data.cast::<f32>() }, 2.0);
        }
        frame.args.extension_start = std::ptr::null_mut();
    })
    .unwrap();
}

#[test]
fn arguments_that_do_not_last_are_read_again() {
    let (x, mut n) = ([1f32, 2.0], [0i64]);
    let is_never_filled = |handler: HandlerFn| {
        move |frame: &mut CallFrame| {
            let kept = AttachedMemo::attach(frame, MEMO_BYTES);
            for _ in 0..2 {
                call(handler, frame);
                assert!(!kept.is_filled());
            }
            frame.args.extension_start = std::ptr::null_mut();
        }
    };
    let calls = Call::to::<count>().operand(&x, &[2]).operand(&x, &[2]).result(&mut n, &[1]);
    changed(calls, is_never_filled(enter::<count>)).unwrap();
    assert_eq!(n, [2]);
    let dict = farcall_ffi::AttrValue::dict([("size", farcall_ffi::AttrValue::from(5i64))]);
    let calls = Call::to::<window>().result(&mut n, &[1]).attr("window", dict);
    changed(calls, is_never_filled(enter::<window>)).unwrap();
    assert_eq!(n, [5]);
}
