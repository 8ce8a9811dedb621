//! Tests calls with frames that match a proof. Whatever changes between two calls, the handler sees what it
//! would see without proofs, and calls that would be refused without proofs are refused.

#![expect(clippy::too_many_arguments, reason = "the tests need handlers with many parameters")]

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::null_mut;

use farcall_ffi::__private::{HandlerOp, enter};
use farcall_ffi::abi::{self, CallFrame, HandlerFn};
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;
use farcall_testing::SplitMix;

/// Makes a call with a changed frame.
fn changed(call: Call<'_>, change: impl FnOnce(&mut CallFrame)) -> Result<()> {
    // SAFETY: after the changes of these tests, the entry only reads memory of the test and of the frame.
    unsafe { call.run_changed(change) }
}

/// Address, number of elements and dimensions of each buffer.
type Seen = Vec<(usize, usize, Vec<usize>)>;

fn of_type<T: Element, const RANK: usize>(x: &Buffer<T, RANK>) -> (usize, usize, Vec<usize>) {
    (x.as_ptr().addr(), x.len(), x.dims().to_vec())
}

fn of_any(x: &AnyBuffer) -> (usize, usize, Vec<usize>) {
    (x.bytes().as_ptr().addr(), x.len(), x.dims().to_vec())
}

thread_local! {
    static SEEN: RefCell<Seen> = const { RefCell::new(Vec::new()) };
}

#[handler(name = "look")]
fn look(
    a: &Buffer<f32>,
    b: &AnyBuffer,
    c: &Buffer<i64, 2>,
    y: &mut Buffer<f32>,
    z: &mut AnyBuffer,
    context: &Context,
) -> Result<()> {
    assert_eq!(context.host_version().0, 0);
    SEEN.set(vec![of_type(a), of_any(b), of_type(c), of_type(y), of_any(z)]);
    Ok(())
}

/// Does the same as `look`, for another test: tests run in parallel, and would replace each other's proofs.
#[handler(name = "look_unchanged")]
fn look_unchanged(
    a: &Buffer<f32>,
    b: &AnyBuffer,
    c: &Buffer<i64, 2>,
    y: &mut Buffer<f32>,
    z: &mut AnyBuffer,
    context: &Context,
) -> Result<()> {
    look(a, b, c, y, z, context)
}

#[handler(name = "look_at_one")]
fn look_at_one(x: &Buffer<f32>) -> Result<()> {
    SEEN.set(vec![of_type(x)]);
    Ok(())
}

/// Does the same as `look_at_one`, for another test: tests run in parallel, and would replace each other's
/// proofs.
#[handler(name = "look_at_dimensions")]
fn look_at_dimensions(x: &Buffer<f32>) -> Result<()> {
    look_at_one(x)
}

#[handler(name = "scaled")]
fn scaled(x: &Buffer<f32>, by: f32, y: &mut Buffer<f32>) -> Result<()> {
    for (y, x) in y.iter_mut().zip(x.iter()) {
        *y = by * x;
    }
    Ok(())
}

/// Defines handlers with different numbers of operands and results.
macro_rules! looks {
    ($($name:ident($($x:ident),*; $($y:ident),*);)*) => {$(
        #[handler(name = "looks")]
        fn $name($($x: &AnyBuffer,)* $($y: &mut AnyBuffer,)*) -> Result<()> {
            SEEN.set(vec![$(of_any($x),)* $(of_any($y),)*]);
            Ok(())
        }
    )*};
}

looks! {
    look_1_0(a;);
    look_0_1(; y);
    look_1_1(a; y);
    look_2_2(a, b; y, z);
    look_4_4(a, b, c, d; w, x, y, z);
    look_5_1(a, b, c, d, e; y);
    look_8_8(a, b, c, d, e, f, g, h; s, t, u, v, w, x, y, z);
    look_9_0(a, b, c, d, e, f, g, h, i;);
}

/// Records the element size of the instance that was called.
#[handler(name = "look_at_type")]
#[signature((x: T[*]) -> (y: T[*]) where T: f64 | f32)]
fn look_at_type<T: Element>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
    SEEN.set(vec![(x.as_ptr().addr(), size_of::<T>(), Vec::new()), (y.as_ptr().addr(), y.len(), Vec::new())]);
    Ok(())
}

/// Calls a handler, and returns the buffers that it saw; `None` if the call is refused.
fn seen(handler: HandlerFn, frame: &mut CallFrame) -> Option<Seen> {
    SEEN.take();
    // SAFETY: `frame` is a call frame for `handler`; the handler checks for itself whatever a test has made
    // invalid.
    unsafe { handler(frame) }.is_null().then(|| SEEN.take())
}

/// Calls a handler without proofs, by adding an unknown extension to the operands.
fn seen_anew(handler: HandlerFn, frame: &mut CallFrame) -> Option<Seen> {
    let mut unknown = abi::ExtensionBase {
        struct_size: size_of::<abi::ExtensionBase>(),
        r#type: abi::ExtensionType(77),
        next: null_mut(),
    };
    frame.args.extension_start = &raw mut unknown;
    let seen = seen(handler, frame);
    frame.args.extension_start = null_mut();
    seen
}

fn operand(frame: &mut CallFrame, i: usize) -> &mut abi::Buffer {
    // SAFETY: the frame has this operand, and nothing else uses it now.
    unsafe { &mut *(*frame.args.args.add(i)).cast() }
}

fn result(frame: &mut CallFrame, i: usize) -> &mut abi::Buffer {
    // SAFETY: the frame has this result, and nothing else uses it now.
    unsafe { &mut *(*frame.rets.rets.add(i)).cast() }
}

/// Calls a handler with a buffer whose `struct_size` is 0. The call is refused, unless the frame matches a
/// proof.
fn seen_undersized(handler: HandlerFn, frame: &mut CallFrame, place: Location) -> Option<Seen> {
    // SAFETY: `place` is that of a buffer of the frame.
    let size = unsafe { std::mem::take(&mut (*place.buffer).struct_size) };
    let seen = seen(handler, frame);
    // SAFETY: `place` is that of a buffer of the frame.
    unsafe { (*place.buffer).struct_size = size };
    seen
}

fn is_proved(handler: HandlerFn, frame: &mut CallFrame, place: Location) -> bool {
    seen_undersized(handler, frame, place).is_some()
}

/// Calls a handler, and returns true if another call with the same frame matches a proof.
fn are_proved(handler: HandlerFn, frame: &mut CallFrame) -> bool {
    assert!(seen(handler, frame).is_some());
    let first: *mut abi::Buffer = operand(frame, 0);
    is_proved(handler, frame, Location { buffer: first, dims: null_mut() })
}

const MEMORY_BYTES: usize = 8192;

/// Addresses of a buffer and of its dimensions, independent of the frame's contents.
#[derive(Clone, Copy)]
struct Location {
    buffer: *mut abi::Buffer,
    dims: *mut i64,
}

/// Runs a test with a frame of a handler. Each buffer has space for eight dimensions, and all elements are in
/// one allocation. Unless `one_shape`, ranks differ, and the second buffer is empty.
fn with_frame<H: HandlerOp>(
    operands: usize,
    results: usize,
    one_shape: bool,
    test: impl FnOnce(&mut CallFrame, *mut u8, &[Location]),
) {
    let x = [0i64; 6];
    let mut y = vec![[0i64; 6]; results];
    let mut memory = vec![0u64; MEMORY_BYTES / 8];
    let mut dims = vec![[2i64, 3, 1, 1, 1, 1, 1, 1]; operands + results];
    let mut call = Call::to::<H>();
    for _ in 0..operands {
        call = call.operand(&x, &[2, 3]);
    }
    for y in &mut y {
        call = call.result(y, &[2, 3]);
    }
    let outcome = changed(call, |frame| {
        let start: *mut u8 = memory.as_mut_ptr().cast();
        let mut places = Vec::new();
        for (i, dims) in dims.iter_mut().enumerate() {
            let buffer: &mut abi::Buffer =
                if i < operands { operand(frame, i) } else { result(frame, i - operands) };
            buffer.data = start.wrapping_add(256 * i).cast();
            buffer.dims = dims.as_mut_ptr();
            if !one_shape {
                buffer.rank = [2, 3, 0, 1, 4][i % 5];
                dims[0] = if i == 1 { 0 } else { 2 };
            }
            places.push(Location { buffer, dims: dims.as_mut_ptr() });
        }
        test(frame, start, &places);
    });
    drop(outcome);
}

/// Runs a test with a frame of `look`, which requires element types.
fn with_typed_frame(test: impl FnOnce(&mut CallFrame, *mut u8, &[Location])) {
    with_frame::<look>(3, 2, true, |frame, memory, places| {
        for (place, dtype) in places.iter().zip([DType::F32, DType::F64, DType::S64, DType::F32, DType::U8]) {
            // SAFETY: `place` is that of a buffer of the frame.
            unsafe { (*place.buffer).dtype = abi::DataType::from_dtype(dtype) };
        }
        test(frame, memory, places);
    });
}

/// Returns true if this processor has the vector instructions that proofs need.
fn has_proofs() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[test]
fn unchanged_frames_are_proved() {
    with_typed_frame(|frame, _, _| assert_eq!(are_proved(enter::<look_unchanged>, frame), has_proofs()));
}

/// Makes one random change to a frame, and returns a function that undoes it.
fn change(
    frame: &mut CallFrame,
    operands: usize,
    memory: *mut u8,
    places: &[Location],
    random: &mut SplitMix,
) -> Box<dyn FnOnce(&mut CallFrame)> {
    let i = random.below(places.len());
    let Location { buffer: at, dims } = places[i];
    // SAFETY: `at` points to a buffer of the frame, which lives as long as the frame.
    let buffer = unsafe { &mut *at };
    let undo = |old: abi::Buffer| -> Box<dyn FnOnce(&mut CallFrame)> {
        // SAFETY: `at` points to a buffer of the frame, which lives as long as the frame.
        Box::new(move |_| unsafe { at.write(old) })
    };
    let old = || abi::Buffer { ..*buffer };
    match random.below(12) {
        0..=3 => {
            let undo = undo(old());
            buffer.data = match random.below(8) {
                0 => null_mut(),
                1 => memory.wrapping_add(1 + random.below(7)).cast(),
                2 => memory.wrapping_add(8 * random.below(MEMORY_BYTES / 8 - 16)).cast(),
                3 => memory.wrapping_add(256 * random.below(places.len())).cast(),
                4 => std::ptr::without_provenance_mut(usize::MAX - 7),
                5 => std::ptr::without_provenance_mut(isize::MAX as usize - 7),
                _ => memory.wrapping_add(MEMORY_BYTES - 1024 + 8 * random.below(100)).cast(),
            };
            undo
        }
        4 | 5 => {
            let dim = dims.wrapping_add(random.below(3));
            let values = [0, 1, 2, 3, 4, -1, 1 << 40, i64::MAX, i64::MIN];
            // SAFETY: `dim` points to one of eight dimensions.
            let old = unsafe { dim.replace(values[random.below(values.len())]) };
            // SAFETY: `dim` points to one of eight dimensions.
            Box::new(move |_| unsafe { dim.write(old) })
        }
        6 => {
            let undo = undo(old());
            buffer.rank = random.below(8) as i64 - 1;
            undo
        }
        7 => {
            let undo = undo(old());
            buffer.dtype = abi::DataType(random.below(40) as u32);
            undo
        }
        8 => {
            let undo = undo(old());
            buffer.dims = match random.below(3) {
                0 => null_mut(),
                1 => dims.wrapping_byte_add(4),
                _ => dims.wrapping_add(1),
            };
            // From this address on, seven of the eight dimensions are left.
            undo
        }
        9 => {
            let kind: *mut u32 = if i < operands {
                frame.args.types.cast::<u32>().wrapping_add(i)
            } else {
                frame.rets.types.cast::<u32>().wrapping_add(i - operands)
            };
            // SAFETY: `kind` points to the type of a buffer.
            let old = unsafe { kind.replace(random.below(4) as u32) };
            // SAFETY: `kind` points to the type of a buffer.
            Box::new(move |_| unsafe { kind.write(old) })
        }
        10 => {
            let place = if i < operands {
                frame.args.args.wrapping_add(i)
            } else {
                frame.rets.rets.wrapping_add(i - operands)
            };
            let values = [null_mut(), at.wrapping_byte_add(4), places[random.below(places.len())].buffer];
            let value: *mut c_void = values[random.below(3)].cast();
            // SAFETY: `place` points to an entry of a table of buffers.
            let old = unsafe { place.replace(value) };
            // SAFETY: `place` points to an entry of a table of buffers.
            Box::new(move |_| unsafe { place.write(old) })
        }
        _ => {
            let (args, rets) = (frame.args.size, frame.rets.size);
            match random.below(3) {
                0 => frame.args.size -= 1,
                1 => frame.rets.size -= 1,
                _ => frame.attrs.size = -1,
            }
            Box::new(move |frame| {
                (frame.args.size, frame.rets.size, frame.attrs.size) = (args, rets, 0);
            })
        }
    }
}

/// Changes a frame in many ways, and checks that the handler sees the same buffers as without proofs.
fn change_often(
    handler: HandlerFn,
    frame: &mut CallFrame,
    operands: usize,
    memory: *mut u8,
    places: &[Location],
    rounds: usize,
) {
    let mut random = SplitMix::new(rounds as u64 + places.len() as u64);
    let (mut refused, mut taken, mut proved) = (0, 0, 0);
    for round in 0..rounds {
        assert!(seen(handler, frame).is_some(), "round {round}: the unchanged frame was refused");
        proved += usize::from(is_proved(handler, frame, places[0]));
        let changes = 1 + random.below(3);
        let undo: Vec<_> =
            (0..changes).map(|_| change(frame, operands, memory, places, &mut random)).collect();
        let (again, anew) = (seen(handler, frame), seen_anew(handler, frame));
        assert_eq!(again, anew, "round {round}: calls with and without proofs differ");
        // A refused call does not affect the next call.
        assert_eq!(
            seen(handler, frame),
            anew,
            "round {round}: the second call with the changed frame differs"
        );
        *(if anew.is_some() { &mut taken } else { &mut refused }) += 1;
        undo.into_iter().rev().for_each(|undo| undo(frame));
    }
    assert!(
        refused > rounds / 4 && taken > rounds / 20,
        "only {refused} changed frames were refused, or only {taken} accepted"
    );
    // Some frames are not proved, because a changed frame has taken the place of their proof.
    assert!(!has_proofs() || proved > rounds / 4, "only {proved} frames were proved");
}

#[test]
fn changed_frames_are_seen_as_without_proofs() {
    with_typed_frame(|frame, memory, places| change_often(enter::<look>, frame, 3, memory, places, 10_000));
    fn any<H: HandlerOp>(operands: usize, results: usize) {
        for one_shape in [true, false] {
            with_frame::<H>(operands, results, one_shape, |frame, memory, places| {
                change_often(enter::<H>, frame, operands, memory, places, 3_000);
            });
        }
    }
    any::<look_1_0>(1, 0);
    any::<look_0_1>(0, 1);
    any::<look_1_1>(1, 1);
    any::<look_2_2>(2, 2);
    any::<look_4_4>(4, 4);
    any::<look_5_1>(5, 1);
    any::<look_8_8>(8, 8);
}

#[test]
fn other_stages_and_extensions_of_the_frame_are_seen() {
    with_typed_frame(|frame, _, _| {
        assert!(seen(enter::<look>, frame).is_some() && seen(enter::<look>, frame).is_some());
        frame.stage = abi::Stage::PREPARE;
        assert_eq!(seen(enter::<look>, frame), None);
        frame.stage = abi::Stage::EXECUTE;
        frame.struct_size = 16;
        // A frame without a host cannot be answered, so the call only prints an error.
        seen(enter::<look>, frame);
        assert!(SEEN.take().is_empty());
        frame.struct_size = CallFrame::STRUCT_SIZE;
        // A request for metadata is not a call.
        let mut metadata = abi::Metadata {
            struct_size: size_of::<abi::Metadata>(),
            api_version: abi::ApiVersion::new(0, 0),
            traits: 0,
            state_type_id: abi::TypeId::UNKNOWN,
        };
        let mut question = abi::MetadataExtension {
            extension_base: abi::ExtensionBase {
                struct_size: abi::MetadataExtension::STRUCT_SIZE,
                r#type: abi::ExtensionType::METADATA,
                next: null_mut(),
            },
            metadata: &raw mut metadata,
        };
        frame.extension_start = (&raw mut question).cast();
        assert_eq!(seen(enter::<look>, frame), Some(Vec::new()));
        frame.extension_start = null_mut();
        assert_eq!(metadata.api_version.minor_version, 1);
    });
}

#[test]
fn attributes_are_read_in_every_call() {
    let (x, mut y) = ([1f32, 2.0], [0f32; 2]);
    let call = Call::to::<scaled>().operand(&x, &[2]).result(&mut y, &[2]).attr("by", 3f32);
    let outcome = changed(call, |frame| {
        let handler: HandlerFn = enter::<scaled>;
        let run = |frame: &mut CallFrame| {
            // SAFETY: `frame` is a valid call frame for `handler`, whose result has a first element.
            unsafe { handler(frame).is_null().then(|| *result(frame, 0).data.cast::<f32>()) }
        };
        assert_eq!((run(frame), run(frame)), (Some(3.0), Some(3.0)));
        // SAFETY: the one attribute is a scalar.
        let scalar = unsafe { &*(*frame.attrs.attrs).cast::<abi::Scalar>() };
        // SAFETY: the attribute has this type.
        unsafe { scalar.value.cast::<f32>().write(5.0) };
        assert_eq!(run(frame), Some(5.0));
        frame.attrs.size = 0;
        assert_eq!(run(frame), None);
        frame.attrs.size = -1;
        assert_eq!(run(frame), None);
        frame.attrs.size = 1;
    });
    outcome.unwrap();
    assert_eq!(y, [5.0, 10.0]);
}

#[test]
fn many_buffers_and_many_dimensions_are_read_in_every_call() {
    with_frame::<look_9_0>(9, 0, true, |frame, _, _| assert!(!are_proved(enter::<look_9_0>, frame)));
    let x = [0f32; 4];
    for dims in [&[][..], &[4], &[1, 2, 1, 2], &[1, 2, 1, 2, 1], &[1, 1, 1, 1, 1, 1, 1, 1, 4]] {
        let elements = &x[..dims.iter().product()];
        let outcome = changed(Call::to::<look_at_dimensions>().operand(elements, dims), |frame| {
            let expected = vec![(x.as_ptr().addr(), elements.len(), dims.to_vec())];
            assert_eq!(seen(enter::<look_at_dimensions>, frame), Some(expected.clone()));
            assert_eq!(seen(enter::<look_at_dimensions>, frame), Some(expected));
            assert_eq!(are_proved(enter::<look_at_dimensions>, frame), has_proofs() && dims.len() <= 4);
        });
        outcome.unwrap();
    }
}

#[test]
fn a_generic_handler_is_called_for_the_type_that_is_there() {
    with_frame::<look_at_type>(1, 1, true, |frame, _, places| {
        let handler = enter::<look_at_type>;
        let size_of_elements =
            |frame: &mut CallFrame| seen(handler, frame).map(|seen| seen.first().map_or(0, |x| x.1));
        let set = |dtypes: [DType; 2]| {
            for (place, dtype) in places.iter().zip(dtypes) {
                // SAFETY: `place` is that of a buffer of the frame.
                unsafe { (*place.buffer).dtype = abi::DataType::from_dtype(dtype) };
            }
        };
        for _ in 0..3 {
            set([DType::F32; 2]);
            assert_eq!((size_of_elements(frame), size_of_elements(frame)), (Some(4), Some(4)));
            if let Some(seen) = seen_undersized(handler, frame, places[0]) {
                assert_eq!(seen[0].1, 4, "an instance for another element type was called");
            }
            set([DType::F64; 2]);
            assert_eq!((size_of_elements(frame), size_of_elements(frame)), (Some(8), Some(8)));
            set([DType::F32, DType::F64]);
            assert_eq!(size_of_elements(frame), None);
            set([DType::S32; 2]);
            assert_eq!(size_of_elements(frame), None);
        }
    });
}

#[test]
fn unknown_attributes_are_refused() {
    with_frame::<look_1_1>(1, 1, true, |frame, _, _| {
        let handler = enter::<look_1_1>;
        assert!(seen(handler, frame).is_some() && seen(handler, frame).is_some());
        let (names, types) = (frame.attrs.names, frame.attrs.types);
        for (size, names, types) in [
            (-1, names, types),
            (1, null_mut(), types),
            (1, names.wrapping_byte_add(1), types),
            (1, null_mut(), null_mut()),
        ] {
            (frame.attrs.size, frame.attrs.names, frame.attrs.types) = (size, names, types);
            assert_eq!(seen(handler, frame), None);
        }
        (frame.attrs.size, frame.attrs.names, frame.attrs.types) = (0, names, types);
        assert!(seen(handler, frame).is_some());
    });
}

/// Checks that each call sees its own frame, with frames at many addresses and on many threads.
#[test]
fn many_frames_at_once() {
    std::thread::scope(|threads| {
        for thread in 0..4usize {
            threads.spawn(move || {
                let x = [0f32; 84];
                for round in 0..200 {
                    let dims: [usize; 3] = [1 + (thread + round) % 7, 1 + round % 3, 1 + thread];
                    let call = Call::to::<look_at_one>().operand(&x[..dims.iter().product()], &dims);
                    let outcome = changed(call, |frame| {
                        for _ in 0..20 {
                            let expected = vec![(x.as_ptr().addr(), dims.iter().product(), dims.to_vec())];
                            assert_eq!(seen(enter::<look_at_one>, frame), Some(expected));
                        }
                    });
                    outcome.unwrap();
                }
            });
        }
    });
}
