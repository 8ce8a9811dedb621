//! Frames that look like one that was checked: whatever changes between two calls, the handler sees what it would see if
//! nothing had been proved, and calls that it would refuse then are refused.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::null_mut;

use farcall_ffi::__private::enter;
use farcall_ffi::abi::{self, CallFrame, Handler};
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

/// Address, number of elements and dimensions of a buffer.
type Seen = Vec<(usize, usize, Vec<usize>)>;

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
    let any = |x: &AnyBuffer| (x.bytes().as_ptr().addr(), x.len(), x.dims().to_vec());
    let seen = vec![
        (a.as_ptr().addr(), a.len(), a.dims().to_vec()),
        any(b),
        (c.as_ptr().addr(), c.len(), c.dims().to_vec()),
        (y.as_ptr().addr(), y.len(), y.dims().to_vec()),
        any(z),
    ];
    SEEN.set(seen);
    Ok(())
}

#[handler(name = "look_at_one")]
fn look_at_one(x: &Buffer<f32>) -> Result<()> {
    SEEN.set(vec![(x.as_ptr().addr(), x.len(), x.dims().to_vec())]);
    Ok(())
}

#[handler(name = "scaled")]
fn scaled(x: &Buffer<f32>, by: f32, y: &mut Buffer<f32>) -> Result<()> {
    for (y, x) in y.iter_mut().zip(x.iter()) {
        *y = by * x;
    }
    Ok(())
}

/// More buffers than a proof is kept of.
#[handler(name = "look_at_many")]
#[expect(clippy::too_many_arguments, reason = "the subject")]
fn look_at_many(
    a: &Buffer<f32>,
    _b: &Buffer<f32>,
    _c: &Buffer<f32>,
    _d: &Buffer<f32>,
    _e: &Buffer<f32>,
    _f: &Buffer<f32>,
    _g: &Buffer<f32>,
    _h: &Buffer<f32>,
    _i: &Buffer<f32>,
) -> Result<()> {
    SEEN.set(vec![(a.as_ptr().addr(), a.len(), a.dims().to_vec())]);
    Ok(())
}

/// What a call makes a handler see; none if the call is refused.
fn seen(handler: Handler, frame: &mut CallFrame) -> Option<Seen> {
    SEEN.take();
    // SAFETY: a handler and a frame for it, unless the frame says that it is wrong.
    unsafe { handler(frame) }.is_null().then(|| SEEN.take())
}

/// The same if nothing is proved: a frame whose operands have an extension that no handler knows.
fn seen_anew(handler: Handler, frame: &mut CallFrame) -> Option<Seen> {
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
    // SAFETY: as above.
    unsafe { &mut *(*frame.rets.rets.add(i)).cast() }
}

/// True if calls are proved here: a handler does not notice then that a buffer says it is smaller than it is.
fn are_proved(frame: &mut CallFrame, handler: Handler) -> bool {
    assert!(seen(handler, frame).is_some());
    let size = std::mem::take(&mut operand(frame, 0).struct_size);
    let proved = seen(handler, frame).is_some();
    operand(frame, 0).struct_size = size;
    proved
}

const MEMORY: usize = 4096;

/// Where a buffer is, and its dimensions, whatever the frame says.
#[derive(Clone, Copy)]
struct Place {
    buffer: *mut abi::Buffer,
    dims: *mut i64,
}

/// Runs a test with a frame of `look`. Its dimensions have room for eight of each buffer, and its elements are in one memory.
fn with_frame(test: impl FnOnce(&mut CallFrame, *mut u8, [Place; 5])) {
    let (a, b, c) = ([0f32; 6], [0f64; 6], [0i64; 6]);
    let (mut y, mut z) = ([0f32; 6], [0u8; 6]);
    let mut memory = vec![0u64; MEMORY / 8];
    let mut dims = [[2i64, 3, 1, 1, 1, 1, 1, 1]; 5];
    let call = Call::to::<look>().operand(&a, &[2, 3]).operand(&b, &[2, 3]).operand(&c, &[2, 3]);
    let call = call.result(&mut y, &[2, 3]).result(&mut z, &[2, 3]);
    let outcome = call.run_changed(|frame| {
        let start: *mut u8 = memory.as_mut_ptr().cast();
        let mut i = 0;
        let places = dims.each_mut().map(|dims| {
            let buffer: &mut abi::Buffer = if i < 3 { operand(frame, i) } else { result(frame, i - 3) };
            buffer.data = start.wrapping_add(512 * i).cast();
            buffer.dims = dims.as_mut_ptr();
            i += 1;
            Place { buffer, dims: dims.as_mut_ptr() }
        });
        test(frame, start, places);
    });
    drop(outcome);
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

#[test]
fn frames_that_stay_are_proved() {
    with_frame(|frame, _, _| {
        let proved = are_proved(frame, enter::<look>);
        println!("calls are {}proved on this processor", if proved { "" } else { "not " });
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512vl") {
            assert!(proved);
        }
    });
}

/// Changes one thing of a frame, and says how to undo it.
fn change(
    frame: &mut CallFrame,
    memory: *mut u8,
    places: &[Place; 5],
    random: &mut Random,
) -> Box<dyn FnOnce(&mut CallFrame)> {
    let i = random.below(5);
    let Place { buffer: at, dims } = places[i];
    // SAFETY: a buffer of the frame, for as long as that is there.
    let buffer = unsafe { &mut *at };
    let undo = |old: abi::Buffer| -> Box<dyn FnOnce(&mut CallFrame)> {
        // SAFETY: as above.
        Box::new(move |_| unsafe { at.write(old) })
    };
    let old = || abi::Buffer { ..*buffer };
    match random.below(12) {
        0..=3 => {
            let undo = undo(old());
            buffer.data = match random.below(8) {
                0 => null_mut(),
                1 => memory.wrapping_add(1 + random.below(7)).cast(),
                2 => memory.wrapping_add(8 * random.below(MEMORY / 8 - 16)).cast(),
                3 => memory.wrapping_add(512 * random.below(5)).cast(),
                4 => std::ptr::without_provenance_mut(usize::MAX - 7),
                5 => std::ptr::without_provenance_mut(isize::MAX as usize - 7),
                _ => memory.wrapping_add(3000 + 8 * random.below(100)).cast(),
            };
            undo
        }
        4 | 5 => {
            let dim = dims.wrapping_add(random.below(3));
            let values = [0, 1, 2, 3, 4, -1, 1 << 40, i64::MAX, i64::MIN];
            // SAFETY: one of eight dimensions.
            let old = unsafe { dim.replace(values[random.below(values.len())]) };
            // SAFETY: as above.
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
            // There are seven from there on.
            undo
        }
        9 => {
            let kinds: *mut u32 = if i < 3 { frame.args.types.cast() } else { frame.rets.types.cast() };
            let kind = kinds.wrapping_add(i % 3);
            // SAFETY: the type of a buffer.
            let old = unsafe { kind.replace(random.below(4) as u32) };
            // SAFETY: as above.
            Box::new(move |_| unsafe { kind.write(old) })
        }
        10 => {
            let table = if i < 3 { frame.args.args } else { frame.rets.rets };
            let place = table.wrapping_add(i % 3);
            let values = [null_mut(), at.wrapping_byte_add(4), places[random.below(5)].buffer];
            let value: *mut c_void = values[random.below(3)].cast();
            // SAFETY: the pointer to a buffer.
            let old = unsafe { place.replace(value) };
            // SAFETY: as above.
            Box::new(move |_| unsafe { place.write(old) })
        }
        _ => {
            let (args, rets) = (frame.args.size, frame.rets.size);
            match random.below(3) {
                0 => frame.args.size -= 1,
                1 => frame.rets.size -= 1,
                _ => frame.args.size = -1,
            }
            Box::new(move |frame| (frame.args.size, frame.rets.size) = (args, rets))
        }
    }
}

#[test]
fn whatever_changes_the_handler_sees_it_as_if_nothing_was_proved() {
    with_frame(|frame, memory, places| {
        let mut random = Random(1);
        let (mut refused, mut taken) = (0, 0);
        for round in 0..20_000 {
            assert!(seen(enter::<look>, frame).is_some(), "round {round}: the frame is right");
            let changes = 1 + random.below(3);
            let undo: Vec<_> = (0..changes).map(|_| change(frame, memory, &places, &mut random)).collect();
            let (proved, anew) = (seen(enter::<look>, frame), seen_anew(enter::<look>, frame));
            assert_eq!(proved, anew, "round {round}");
            // What is refused leaves nothing behind.
            assert_eq!(seen(enter::<look>, frame), anew, "round {round}, once more");
            *(if anew.is_some() { &mut taken } else { &mut refused }) += 1;
            undo.into_iter().rev().for_each(|undo| undo(frame));
        }
        assert!(refused > 5_000 && taken > 1_000, "{refused} refused, {taken} taken");
    });
}

#[test]
fn other_stages_and_extensions_of_the_frame_are_seen() {
    with_frame(|frame, _, _| {
        assert!(seen(enter::<look>, frame).is_some() && seen(enter::<look>, frame).is_some());
        frame.stage = abi::Stage::PREPARE;
        assert_eq!(seen(enter::<look>, frame), None);
        frame.stage = abi::Stage::EXECUTE;
        frame.struct_size = 16;
        // Without a host, there is nobody to tell.
        seen(enter::<look>, frame);
        assert!(SEEN.take().is_empty());
        frame.struct_size = CallFrame::STRUCT_SIZE;
        // A question for metadata is no call.
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
    let outcome = call.run_changed(|frame| {
        let handler: Handler = enter::<scaled>;
        let run = |frame: &mut CallFrame| {
            // SAFETY: a handler and a frame for it; the result's first element.
            unsafe { handler(frame).is_null().then(|| *result(frame, 0).data.cast::<f32>()) }
        };
        assert_eq!((run(frame), run(frame)), (Some(3.0), Some(3.0)));
        // SAFETY: the one attribute is a scalar.
        let scalar = unsafe { &*(*frame.attrs.attrs).cast::<abi::Scalar>() };
        // SAFETY: of this type.
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
    let x = [0f32; 4];
    let call = |dims: &[usize]| {
        let all = (0..9).fold(Call::to::<look_at_many>(), |call, _| call.operand(&x, dims));
        let outcome = all.run_changed(|frame| {
            let expected = vec![(x.as_ptr().addr(), 4, dims.to_vec())];
            assert_eq!(seen(enter::<look_at_many>, frame), Some(expected.clone()));
            assert_eq!(seen(enter::<look_at_many>, frame), Some(expected));
        });
        outcome.unwrap();
    };
    call(&[4]);
    call(&[2, 1, 2]);
    for dims in [&[][..], &[4], &[1, 2, 1, 2], &[1, 2, 1, 2, 1], &[1, 1, 1, 1, 1, 1, 1, 1, 4]] {
        let elements = &x[..dims.iter().product()];
        let outcome = Call::to::<look_at_one>().operand(elements, dims).run_changed(|frame| {
            let expected = vec![(x.as_ptr().addr(), elements.len(), dims.to_vec())];
            assert_eq!(seen(enter::<look_at_one>, frame), Some(expected.clone()));
            assert_eq!(seen(enter::<look_at_one>, frame), Some(expected));
        });
        outcome.unwrap();
    }
}

/// Frames of many places, and on many threads: each call sees its own.
#[test]
fn many_frames_at_once() {
    std::thread::scope(|threads| {
        for thread in 0..4usize {
            threads.spawn(move || {
                let x = [0f32; 84];
                for round in 0..200 {
                    let dims: [usize; 3] = [1 + (thread + round) % 7, 1 + round % 3, 1 + thread];
                    let call = Call::to::<look_at_one>().operand(&x[..dims.iter().product()], &dims);
                    let outcome = call.run_changed(|frame| {
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
