//! Calls handlers through their C entries: valid calls, wrong calls, malformed frames, panics, state.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use crate::outcome::check;
use expect_test::expect;
use farcall_ffi::AttrValue;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;
use farcall_ffi::{RestOperands, RestResults, abi};

/// `y = x * by + offset`
#[handler(name = "affine")]
fn affine(x: &Buffer<f32>, offset: Option<f32>, by: f32, y: &mut Buffer<f32>) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    for (y, x) in y.iter_mut().zip(x.iter()) {
        *y = x * by + offset.unwrap_or(0.0);
    }
    Ok(())
}

#[test]
fn good_calls() {
    let mut y = [0f32; 4];
    let x = [1.0f32, 2.0, 3.0, 4.0];
    Call::to::<affine>().operand(&x, &[2, 2]).attr("by", 2.0f32).result(&mut y, &[2, 2]).run().unwrap();
    assert_eq!(y, [2.0, 4.0, 6.0, 8.0]);
    let call = Call::to::<affine>().attr("by", 2.0f32).attr("offset", 1.0f32);
    call.operand(&x, &[4]).result(&mut y, &[4]).run().unwrap();
    assert_eq!(y, [3.0, 5.0, 7.0, 9.0]);
}

/// Makes a call with a changed frame.
fn changed(call: Call<'_>, change: impl FnOnce(&mut abi::CallFrame)) -> Result<()> {
    // SAFETY: after the changes of these tests, the entry only reads memory of the test and of the frame.
    unsafe { call.run_changed(change) }
}

#[test]
fn empty_buffers_may_have_null_data() {
    let call = Call::to::<affine>().operand::<f32>(&[], &[0, 3]).attr("by", 1.0f32);
    let result = changed(call.result::<f32>(&mut [], &[0, 3]), |frame| {
        // SAFETY: the frame has one operand and one result.
        unsafe {
            (**frame.args.args.cast::<*mut abi::Buffer>()).data = std::ptr::null_mut();
            (**frame.rets.rets.cast::<*mut abi::Buffer>()).data = std::ptr::null_mut();
        }
    });
    check(result, expect!["ok"]);
}

#[test]
fn wrong_calls_name_the_parameter() {
    let x = [1.0f32, 2.0];
    let call = || Call::to::<affine>().operand(&x, &[2]);
    check(
        Call::to::<affine>().operand(&[1.0f64], &[1]).attr("by", 1.0f32).result(&mut [0f32], &[1]).run(),
        expect!["INVALID_ARGUMENT: affine: operand 0 (x): expected f32, found f64"],
    );
    check(
        call().attr("by", 1.0f32).result(&mut [0i64; 2], &[2]).run(),
        expect!["INVALID_ARGUMENT: affine: result 0 (y): expected f32, found s64"],
    );
    check(
        Call::to::<affine>().attr("by", 1.0f32).result(&mut [0f32; 2], &[2]).run(),
        expect!["INVALID_ARGUMENT: affine: expected 1 operand (x), found 0"],
    );
    check(
        call().attr("by", 1.0f32).run(),
        expect!["INVALID_ARGUMENT: affine: expected 1 result (y), found 0"],
    );
    check(
        call().result(&mut [0f32; 2], &[2]).run(),
        expect!["INVALID_ARGUMENT: affine: missing attribute by (f32); found no attribute"],
    );
    check(
        call().attr("by", 1.0f64).result(&mut [0f32; 2], &[2]).run(),
        expect!["INVALID_ARGUMENT: affine: attribute by: expected f32, found f64"],
    );
    check(
        call().attr("by", "fast").result(&mut [0f32; 2], &[2]).run(),
        expect!["INVALID_ARGUMENT: affine: attribute by: expected f32, found string"],
    );
    check(
        call().attr("by", 1.0f32).attr("ofset", 1.0f32).result(&mut [0f32; 2], &[2]).run(),
        expect!["INVALID_ARGUMENT: affine: unknown attribute ofset; it takes offset, by"],
    );
    check(
        call().attr("by", 1.0f32).attr("a", 1.0f32).attr("z", 1i64).result(&mut [0f32; 2], &[2]).run(),
        expect!["INVALID_ARGUMENT: affine: unknown attributes a, z; it takes offset, by"],
    );
    check(
        call().attr("by", 1.0f32).result(&mut [0f32], &[1]).run(),
        expect!["INVALID_ARGUMENT: affine: x is f32[2], but y is f32[1]"],
    );
}

#[test]
fn malformed_frames_are_errors() {
    let run = |change: fn(&mut abi::CallFrame)| {
        let x = [1.0f32, 2.0];
        let mut y = [0f32; 2];
        let call = Call::to::<affine>().operand(&x, &[2]).attr("by", 1.0f32).result(&mut y, &[2]);
        changed(call, change)
    };
    fn operand(frame: &mut abi::CallFrame) -> &mut abi::Buffer {
        // SAFETY: the frame has one operand.
        unsafe { &mut **frame.args.args.cast::<*mut abi::Buffer>() }
    }
    check(
        run(|frame| frame.struct_size = 100),
        expect!["INVALID_ARGUMENT: affine: malformed call frame: its struct_size is too small"],
    );
    check(
        run(|frame| frame.stage = abi::Stage::PREPARE),
        expect!["INVALID_ARGUMENT: affine: called for stage prepare, but it is for execute"],
    );
    check(
        run(|frame| frame.stage = abi::Stage(77)),
        expect!["INVALID_ARGUMENT: affine: called for stage unknown stage, but it is for execute"],
    );
    check(
        run(|frame| frame.args.struct_size = 8),
        expect![
            "INVALID_ARGUMENT: affine: malformed call frame: the struct_size of args, rets or attrs is too small"
        ],
    );
    check(
        run(|frame| frame.args.size = -1),
        expect!["INVALID_ARGUMENT: affine: malformed call frame: args is malformed"],
    );
    check(
        run(|frame| frame.rets.rets = std::ptr::null_mut()),
        expect!["INVALID_ARGUMENT: affine: malformed call frame: rets is malformed"],
    );
    check(
        run(|frame| frame.attrs.names = std::ptr::null_mut()),
        expect![
            "INVALID_ARGUMENT: affine: malformed call frame: attributes without a table of names, types or values"
        ],
    );
    check(
        // SAFETY: the frame has one attribute.
        run(|frame| unsafe { *frame.attrs.attrs = std::ptr::null_mut() }),
        expect!["INVALID_ARGUMENT: affine: attribute by: expected f32, found no value"],
    );
    check(
        // SAFETY: the frame has one attribute.
        run(|frame| unsafe { *frame.attrs.names = std::ptr::null_mut() }),
        expect!["INVALID_ARGUMENT: affine: missing attribute by (f32); found "],
    );
    check(
        // SAFETY: the frame has one attribute.
        run(|frame| unsafe { (*frame.attrs.types).0 = 9 }),
        expect!["INVALID_ARGUMENT: affine: attribute by: expected f32, found attribute of unknown kind 9"],
    );
    check(
        // SAFETY: the frame has one operand.
        run(|frame| unsafe { *frame.args.args = std::ptr::null_mut() }),
        expect!["INVALID_ARGUMENT: affine: operand 0 (x): not a buffer"],
    );
    check(
        // SAFETY: the frame has one operand.
        run(|frame| unsafe { (*frame.args.types).0 = 5 }),
        expect!["INVALID_ARGUMENT: affine: operand 0 (x): not a buffer"],
    );
    check(
        run(|frame| operand(frame).struct_size = 8),
        expect!["INVALID_ARGUMENT: affine: operand 0 (x): the buffer's struct_size is too small"],
    );
    check(
        run(|frame| operand(frame).rank = -1),
        expect!["INVALID_ARGUMENT: affine: operand 0 (x): negative rank -1"],
    );
    check(
        run(|frame| operand(frame).dims = std::ptr::null_mut()),
        expect!["INVALID_ARGUMENT: affine: operand 0 (x): rank 1, but no dimensions"],
    );
    check(
        // SAFETY: the operand has one dimension.
        run(|frame| unsafe { *operand(frame).dims = -2 }),
        expect!["INVALID_ARGUMENT: affine: operand 0 (x): a dimension is negative"],
    );
    check(
        // SAFETY: the operand has one dimension.
        run(|frame| unsafe { *operand(frame).dims = i64::MAX }),
        expect!["INVALID_ARGUMENT: affine: operand 0 (x): larger than the address space"],
    );
    check(
        run(|frame| operand(frame).data = std::ptr::null_mut()),
        expect!["INVALID_ARGUMENT: affine: operand 0 (x): null data"],
    );
    check(
        run(|frame| operand(frame).data = operand(frame).data.wrapping_byte_add(1)),
        expect!["INVALID_ARGUMENT: affine: operand 0 (x): the data are not aligned for f32"],
    );
    check(
        run(|frame| operand(frame).dtype = abi::DataType(99)),
        expect!["INVALID_ARGUMENT: affine: operand 0 (x): expected f32, found dtype 99"],
    );
}

#[test]
fn a_frame_without_a_host_is_left_alone() {
    use farcall_ffi::__private::enter;
    // SAFETY: an entry accepts a null frame.
    assert!(unsafe { enter::<affine>(std::ptr::null_mut()) }.is_null());
    check(changed(Call::to::<affine>(), |frame| frame.api = std::ptr::null()), expect!["ok"]);
}

#[test]
fn shared_memory_needs_in_out() {
    let mut xy = [1.0f32, 2.0];
    check(
        Call::to::<affine>().in_place(&mut xy, &[2]).attr("by", 2.0f32).run(),
        expect![[
            r#"INVALID_ARGUMENT: affine: result y shares memory with operand x; a handler that allows this takes both as one `&mut InOut<…>`"#
        ]],
    );
    assert_eq!(xy, [1.0, 2.0]);
}

/// Doubles in place.
#[handler(name = "double")]
fn double(xy: &mut InOut<Buffer<f32>>) -> Result<()> {
    xy.iter_mut().for_each(|xy| *xy *= 2.0);
    Ok(())
}

#[test]
fn in_out_with_and_without_shared_memory() {
    let mut xy = [1.0f32, 2.0];
    Call::to::<double>().in_place(&mut xy, &[2]).run().unwrap();
    assert_eq!(xy, [2.0, 4.0]);
    let mut y = [0f32; 2];
    Call::to::<double>().operand(&xy, &[2]).result(&mut y, &[2]).run().unwrap();
    assert_eq!((xy, y), ([2.0, 4.0], [4.0, 8.0]));
    check(
        Call::to::<double>().operand(&xy, &[2]).result(&mut y, &[1, 2]).run(),
        expect!["INVALID_ARGUMENT: double: xy: the operand is f32[2], but the result f32[1, 2]"],
    );
}

/// Updates two buffers in place, and writes a third.
#[handler(name = "several")]
fn several(a: &mut InOut<Buffer<f32>>, b: &mut InOut<Buffer<f32>>, z: &mut Buffer<f32>) -> Result<()> {
    a.fill(1.0);
    b.fill(2.0);
    z.fill(3.0);
    Ok(())
}

/// Buffers of two elements lie at positions of a common memory.
#[test]
fn in_out_and_memory_shared_with_others() {
    let run = |operands: [usize; 2], results: [usize; 3]| {
        let mut memory = [0f32; 12];
        let base = memory.as_mut_ptr();
        let (x, y) = ([[0f32; 2]; 2], &mut [[0f32; 2]; 3]);
        let [y0, y1, y2] = y;
        let call = Call::to::<several>().operand(&x[0], &[2]).operand(&x[1], &[2]);
        let call = call.result(y0, &[2]).result(y1, &[2]).result(y2, &[2]);
        changed(call, |frame| {
            let place = |buffer: *mut std::ffi::c_void, at: usize| {
                // SAFETY: the frame's tables have pointers to buffers, and the memory has the position.
                unsafe { (*buffer.cast::<abi::Buffer>()).data = base.add(at).cast() }
            };
            for (i, at) in operands.into_iter().enumerate() {
                // SAFETY: the frame has two operands.
                place(unsafe { *frame.args.args.add(i) }, at);
            }
            for (i, at) in results.into_iter().enumerate() {
                // SAFETY: the frame has three results.
                place(unsafe { *frame.rets.rets.add(i) }, at);
            }
        })
    };
    // In place, apart, and interleaved.
    for (operands, results) in
        [([0, 2], [0, 2, 4]), ([0, 4], [2, 6, 8]), ([0, 2], [8, 10, 4]), ([0, 2], [6, 4, 8])]
    {
        check(run(operands, results), expect!["ok"]);
    }
    check(
        run([0, 4], [1, 4, 8]),
        expect!["INVALID_ARGUMENT: several: a: operand and result share a part of their memory"],
    );
    let operand_b = expect![
        "INVALID_ARGUMENT: several: result a shares memory with operand b; a handler that allows this takes both as one `&mut InOut<…>`"
    ];
    check(run([0, 2], [2, 6, 8]), operand_b);
    check(
        run([0, 4], [2, 8, 5]),
        expect![
            "INVALID_ARGUMENT: several: result z shares memory with operand b; a handler that allows this takes both as one `&mut InOut<…>`"
        ],
    );
    check(run([0, 4], [0, 4, 1]), expect!["INVALID_ARGUMENT: several: results a and z share memory"]);
    check(
        run([0, 4], [2, 3, 8]),
        expect!["INVALID_ARGUMENT: several: b: operand and result share a part of their memory"],
    );
}

#[handler(name = "ranked")]
fn ranked(x: &Buffer<f64, 2>, y: &mut Buffer<i64, 1>) -> Result<()> {
    let [rows, columns] = x.shape();
    y.copy_from_slice(&[rows as i64, columns as i64]);
    Ok(())
}

#[test]
fn known_ranks() {
    let mut y = [0i64; 2];
    Call::to::<ranked>().operand(&[0.0; 6], &[2, 3]).result(&mut y, &[2]).run().unwrap();
    assert_eq!(y, [2, 3]);
    check(
        Call::to::<ranked>().operand(&[0.0; 6], &[6]).result(&mut y, &[2]).run(),
        expect!["INVALID_ARGUMENT: ranked: operand 0 (x): expected rank 2, found f64[6] of rank 1"],
    );
}

#[handler(name = "negate")]
fn negate(x: &AnyBuffer, y: &mut AnyBuffer) -> Result<()> {
    fn all<T: Element + std::ops::Neg<Output = T>>(x: &Buffer<T>, y: &mut Buffer<T>) -> Result<()> {
        y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = -*x);
        Ok(())
    }
    dispatch!(x.dtype(), T: f32 | f64 | i32 => all::<T>(x.typed()?, y.typed_mut()?))
}

#[test]
fn dispatch_by_dtype() {
    let mut y = [0f64; 1];
    Call::to::<negate>().operand(&[1.5f64], &[1]).result(&mut y, &[1]).run().unwrap();
    assert_eq!(y, [-1.5]);
    check(
        Call::to::<negate>().operand(&[1u8], &[1]).result(&mut [0u8], &[1]).run(),
        expect!["UNIMPLEMENTED: negate: expected f32 or f64 or s32, found u8"],
    );
    check(
        Call::to::<negate>().operand(&[1i32], &[1]).result(&mut [0f32], &[1]).run(),
        expect!["INVALID_ARGUMENT: negate: expected s32, found f32"],
    );
}

/// Takes every kind of attribute. The parameters are not in the order of their names.
#[handler(name = "attributes")]
#[expect(clippy::too_many_arguments, reason = "one parameter of each kind")]
fn attributes(
    zeta: i8,
    flag: bool,
    name: &str,
    bytes: &[u8],
    array: &[i64],
    flags: &[bool],
    dict: &Dict,
    #[attr(name = "a.b-c")] odd: u16,
    z: Complex<f32>,
    missing: Option<&str>,
    r#type: f64,
    out: &mut Buffer<u8>,
) -> Result<()> {
    let inner: &Dict = dict.get("inner")?;
    let text = format!(
        "{zeta} {flag} {name} {bytes:?} {array:?} {flags:?} {} {} {odd} {z:?} {missing:?} {type}",
        inner.get::<f32>("x")?,
        dict.get_opt::<i64>("none")?.is_none(),
        type = r#type,
    );
    ensure!(text.len() <= out.len(), "{} bytes are too few", out.len());
    out.fill(b' ');
    out[..text.len()].copy_from_slice(text.as_bytes());
    Ok(())
}

#[test]
fn every_kind_of_attribute() {
    let call = |dict: AttrValue| {
        Call::to::<attributes>()
            .attr("zeta", -3i8)
            .attr("flag", true)
            .attr("name", "größe")
            .attr("bytes", AttrValue::bytes(b"\xff\0"))
            .attr("array", &[1i64, -2][..])
            .attr("flags", [true, false])
            .attr("dict", dict)
            .attr("a.b-c", 7u16)
            .attr("z", Complex::new(1.0f32, -1.0))
            .attr("type", 0.5)
    };
    let mut out = [0u8; 120];
    let inner = AttrValue::dict([("x", 2.5f32.into())]);
    call(AttrValue::dict([("inner", inner), ("another", 1i64.into())]))
        .result(&mut out, &[120])
        .run()
        .unwrap();
    expect!["-3 true größe [255, 0] [1, -2] [true, false] 2.5 true 7 Complex { re: 1.0, im: -1.0 } None 0.5"]
        .assert_eq(std::str::from_utf8(&out).unwrap().trim_end());
    check(
        call(AttrValue::dict([])).result(&mut out, &[120]).run(),
        expect!["INVALID_ARGUMENT: attributes: missing attribute inner (dictionary)"],
    );
    check(
        call(AttrValue::dict([("inner", AttrValue::dict([("x", 1i64.into())]))]))
            .result(&mut out, &[120])
            .run(),
        expect!["INVALID_ARGUMENT: attributes: attribute x: expected f32, found s64"],
    );
    check(
        call(1i64.into()).result(&mut out, &[120]).run(),
        expect!["INVALID_ARGUMENT: attributes: attribute dict: expected dictionary, found s64"],
    );
    check(
        call(AttrValue::dict([])).attr("name", AttrValue::bytes(b"\xff")).result(&mut out, &[120]).run(),
        expect!["INVALID_ARGUMENT: attributes: attribute name: the string is not UTF-8"],
    );
}

#[handler(name = "all_attributes")]
fn all_attributes(attrs: &Attrs, sum: &mut Buffer<i64, 0>) -> Result<()> {
    sum[0] = 0;
    for (_, attr) in attrs.iter() {
        sum[0] += attr.get::<i64>()?;
    }
    Ok(())
}

#[test]
fn attributes_without_names() {
    let mut sum = [0i64];
    Call::to::<all_attributes>().attr("a", 1i64).attr("b", 2i64).result(&mut sum, &[]).run().unwrap();
    assert_eq!(sum, [3]);
}

/// Sums each operand: the first one to `y`, the others to `more`.
#[handler(name = "sums")]
fn sums(first: &Buffer<f32>, rest: &RestOperands, y: &mut Buffer<f32>, more: &mut RestResults) -> Result<()> {
    y[0] = first.iter().sum();
    ensure!(rest.len() == more.len(), "{} operands, {} results", rest.len(), more.len());
    for (x, y) in rest.iter().zip(more.iter_mut()) {
        y.typed_mut::<f32, 0>()?[0] = x.typed::<f32, 1>()?.iter().sum();
    }
    Ok(())
}

#[test]
fn variadic() {
    let (mut a, mut b) = ([0f32], [0f32]);
    let call = Call::to::<sums>().operand(&[1f32, 2.0], &[2]).operand(&[3f32, 4.0], &[2]);
    call.result(&mut a, &[]).result(&mut b, &[]).run().unwrap();
    assert_eq!((a, b), ([3.0], [7.0]));
    check(
        Call::to::<sums>().result(&mut a, &[]).run(),
        expect!["INVALID_ARGUMENT: sums: expected at least 1 operand (first, rest), found 0"],
    );
    let call = Call::to::<sums>().operand(&[1f32], &[1]).operand(&[1f32], &[1]);
    let call = call.result(&mut a, &[]).result(&mut b, &[]);
    // SAFETY: the frame has two results.
    let result = changed(call, |frame| unsafe { *frame.rets.rets = *frame.rets.rets.add(1) });
    check(result, expect!["INVALID_ARGUMENT: sums: results y and more share memory"]);
}

/// Computes `sums[i] = xs[i] + ys[i]` and `differences[i] = xs[i] - ys[i]`, for the `n` entries of each list.
#[handler(name = "pairs")]
#[rustfmt::skip]
fn pairs(
    n: &Buffer<f32>, xs: &RestOperands<Buffer<f32>>, ys: &RestOperands<Buffer<f32>>,
    sums: &mut RestResults<Buffer<f32>>, differences: &mut RestResults<Buffer<f32>>,
) -> Result<()> {
    ensure!(n[0] == xs.len() as f32 && n[0] == ys.len() as f32, "{} and {}", xs.len(), ys.len());
    for (((x, y), sum), difference) in xs.iter().zip(ys.iter()).zip(sums.iter_mut()).zip(differences.iter_mut()) {
        (sum[0], difference[0]) = (x[0] + y[0], x[0] - y[0]);
    }
    Ok(())
}

#[test]
fn several_variadic_parameters_share_what_is_there() {
    let mut found = [[0f32]; 4];
    let call = |n: f32, operands: &[f32], found: &mut [[f32; 1]]| {
        let n = [n];
        let call = Call::to::<pairs>().operand(&n, &[]);
        let call = operands.chunks(1).fold(call, |call, operand| call.operand(operand, &[]));
        found.iter_mut().fold(call, |call, found| call.result(found, &[])).run()
    };
    call(2.0, &[1.0, 2.0, 10.0, 20.0], &mut found).unwrap();
    assert_eq!(found, [[11.0], [22.0], [-9.0], [-18.0]]);
    call(0.0, &[], &mut []).unwrap();
    check(
        call(1.0, &[1.0], &mut found[..2]),
        expect![
            "INVALID_ARGUMENT: pairs: expected 1 operand and 2 lists of equal length (n, xs, ys), found 2"
        ],
    );
    check(
        call(1.0, &[1.0, 2.0], &mut found[..3]),
        expect![
            "INVALID_ARGUMENT: pairs: expected 2 lists of results of equal length (sums, differences), found 3"
        ],
    );
}

/// Takes variadic parameters before other parameters.
#[handler(name = "last")]
#[rustfmt::skip]
fn last(
    xs: &RestOperands<Buffer<f32>>, ys: &RestOperands<Buffer<f32>>, z: &Buffer<f32>,
    sums: &mut RestResults<Buffer<f32>>, count: &mut Buffer<f32>,
) -> Result<()> {
    xs.iter().zip(ys.iter()).zip(sums.iter_mut()).for_each(|((x, y), sum)| sum[0] = x[0] + y[0] + z[0]);
    count[0] = xs.len() as f32;
    Ok(())
}

#[test]
fn variadic_parameters_may_come_first() {
    let (mut sums, mut count) = ([[0f32]; 2], [0f32]);
    let operands = [1f32, 2.0, 10.0, 20.0, 100.0];
    let call = operands.chunks(1).fold(Call::to::<last>(), |call, operand| call.operand(operand, &[]));
    let call = sums.iter_mut().fold(call, |call, sum| call.result(sum, &[]));
    call.result(&mut count, &[]).run().unwrap();
    assert_eq!((sums, count), ([[111.0], [122.0]], [2.0]));
}

/// Takes an optional parameter before variadic parameters.
#[handler(name = "maybe")]
fn maybe(
    a: Option<&Buffer<f32>>,
    xs: &RestOperands<Buffer<f32>>,
    ys: &RestOperands<Buffer<f32>>,
    y: &mut Buffer<f32>,
) -> Result<()> {
    y[0] = a.map_or(-1.0, |a| a[0]) + 10.0 * xs.len() as f32 + 100.0 * ys.len() as f32;
    Ok(())
}

#[test]
fn optional_parameters_come_before_variadic_ones() {
    let mut y = [0f32];
    let mut call = |n: usize| {
        let operands = [1f32; 5];
        let call =
            operands[..n].chunks(1).fold(Call::to::<maybe>(), |call, operand| call.operand(operand, &[]));
        call.result(&mut y, &[]).run().map(|()| y[0])
    };
    assert_eq!([0, 1, 3, 5].map(|n| call(n).unwrap()), [-1.0, 1.0, 111.0, 221.0]);
    assert!(call(2).is_err() && call(4).is_err());
}

#[handler(name = "optional")]
fn optional(x: &Buffer<f32>, bias: Option<&Buffer<f32>>, y: &mut Buffer<f32>) -> Result<()> {
    for (i, (y, x)) in y.iter_mut().zip(x.iter()).enumerate() {
        *y = x + bias.map_or(0.0, |bias| bias[i]);
    }
    Ok(())
}

#[test]
fn optional_operand() {
    let mut y = [0f32];
    let call = || Call::to::<optional>().operand(&[1f32], &[1]);
    call().result(&mut y, &[1]).run().unwrap();
    assert_eq!(y, [1.0]);
    call().operand(&[5f32], &[1]).result(&mut y, &[1]).run().unwrap();
    assert_eq!(y, [6.0]);
    check(
        call().operand(&[5f32], &[1]).operand(&[5f32], &[1]).result(&mut y, &[1]).run(),
        expect!["INVALID_ARGUMENT: optional: expected 1 to 2 operands (x, bias), found 3"],
    );
}

#[handler(name = "fails")]
fn fails(code: i32) -> Result<()> {
    let code = StatusCode::VARIANTS
        .get(usize::try_from(code)?)
        .ok_or_else(|| Error::out_of_range("no such code"))?;
    Err(Error::new(*code, format!("as asked: {}", code.name())))
}

#[test]
fn errors_arrive_with_the_handler_s_name() {
    for (i, code) in StatusCode::VARIANTS.iter().enumerate() {
        let error = Call::to::<fails>().attr("code", i as i32).run().unwrap_err();
        assert_eq!(
            (error.code(), error.message()),
            (*code, format!("fails: as asked: {}", code.name()).as_str())
        );
    }
    check(
        Call::to::<fails>().attr("code", -1i32).run(),
        expect!["OUT_OF_RANGE: fails: out of range integral type conversion attempted"],
    );
}

#[handler(name = "panics")]
fn panics(x: &Buffer<i32>) -> Result<()> {
    assert!(x[0] < 10, "x is {}", x[0]);
    Ok(())
}

#[test]
fn a_panic_is_an_error_with_its_place() {
    let error = Call::to::<panics>().operand(&[11], &[1]).run().unwrap_err();
    assert_eq!(error.code(), StatusCode::Internal);
    let message = error.message();
    assert!(message.starts_with("panics: panicked at ") && message.ends_with(": x is 11"), "{message}");
    assert!(message.contains("handlers.rs:"), "{message}");
    check(Call::to::<panics>().operand(&[1], &[1]).run(), expect!["ok"]);
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct Counter(AtomicI64);

impl Drop for Counter {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

#[stage(instantiate)]
fn counter_new(start: i64) -> Result<Counter> {
    ensure!(start >= 0, "start = {start} is negative");
    Ok(Counter(AtomicI64::new(start)))
}

#[handler(name = "counter", instantiate = counter_new, traits(command_buffer_compatible))]
fn counter(state: &State<Counter>, y: &mut Buffer<i64>) -> Result<()> {
    y[0] = state.0.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

#[test]
fn state_lives_with_the_call_site() {
    let before = DROPPED.load(Ordering::SeqCst);
    for minor in [2, 3, 4, 5] {
        let site = Call::to::<counter>().attr("start", 5i64).host_version(minor).instantiate().unwrap();
        let mut y = [0i64];
        for expected in 5..8 {
            Call::to::<counter>().attr("start", 5i64).result(&mut y, &[]).at(&site).run().unwrap();
            assert_eq!(y, [expected]);
        }
    }
    assert_eq!(DROPPED.load(Ordering::SeqCst) - before, 4);
    check(
        Call::to::<counter>().attr("start", -1i64).instantiate().map(drop),
        expect!["INVALID_ARGUMENT: counter_new: start = -1 is negative"],
    );
    let error = Call::to::<counter>().attr("start", 5i64).result(&mut [0i64], &[]).run().unwrap_err();
    assert_eq!(error.code(), StatusCode::NotFound);
    assert!(error.message().contains(".instantiate()?` makes a call site with a state"), "{error}");
}

#[test]
fn metadata_needs_the_lowest_version() {
    for minor in 1..=5 {
        let metadata = Call::to::<counter>().host_version(minor).metadata().unwrap();
        assert_eq!((metadata.api_version, metadata.traits, metadata.state_type_id), ((0, 1), 1, 0));
        assert_eq!(Call::to::<affine>().host_version(minor).metadata().unwrap().traits, 0);
    }
}

#[handler(name = "parallel")]
fn parallel(context: &Context, fail: bool, y: &mut Buffer<i64>) -> Result<()> {
    let sum = AtomicI64::new(0);
    context.parallel_for(1000, |i| {
        assert!(!fail || i != 500, "as asked");
        sum.fetch_add(i as i64, Ordering::Relaxed);
    });
    y[0] = sum.into_inner() + context.run_id()? + i64::from(context.device_ordinal()?);
    Ok(())
}

#[test]
fn the_host_pool() {
    let mut y = [0i64];
    Call::to::<parallel>().attr("fail", false).result(&mut y, &[]).run().unwrap();
    assert_eq!(y, [499_501]);
    let error = Call::to::<parallel>().attr("fail", true).result(&mut y, &[]).run().unwrap_err();
    assert!(error.message().ends_with("as asked"), "{error:?}");
}

#[handler(name = "stream")]
fn stream(context: &Context) -> Result<()> {
    context.stream().map(drop)
}

#[test]
fn what_the_host_lacks() {
    check(Call::to::<stream>().run(), expect!["UNIMPLEMENTED: stream: the call has no stream"]);
}

mod export {
    use super::*;

    pub(super) const TABLE: &[&farcall_ffi::descriptor::OpDescriptor] = farcall_ffi::ops![counter, negate];

    farcall_ffi::library!("test_ops", [affine, double as test_double, ..TABLE], stages: [counter_new]);
}

unsafe extern "C" {
    fn farcall_library_v1() -> *const farcall_ffi::descriptor::LibraryDescriptor;
    fn test_double(frame: *mut abi::CallFrame) -> *mut abi::Error;
}

#[test]
fn the_library_describes_itself() {
    use farcall_ffi::descriptor::Library;
    use std::fmt::Write as _;

    // SAFETY: the function is exported by `library!`.
    let library = unsafe { Library::read(farcall_library_v1()) }.unwrap();
    let mut text = format!("{} {}\n", library.name(), library.version());
    for op in library.ops() {
        let (file, _) = op.location();
        let stateful = if op.bundle().instantiate.is_some() { " stateful" } else { "" };
        writeln!(text, "{} on {}{stateful}: {:?} ({file})", op.name(), op.platform(), op.doc()).unwrap();
        for param in op.params() {
            let dtype = param.dtype().map_or("any", DType::name);
            let (name, role) = (param.name(), param.role().unwrap());
            let optional = if param.is_optional() { " optional" } else { "" };
            writeln!(text, "  {name}: {role:?}{optional} {dtype} {:?} {}", param.rank(), param.attribute())
                .unwrap();
        }
    }
    expect![[r#"
        test_ops 0.1.0
        affine on Host: "`y = x * by + offset`" (crates/farcall-ffi/tests/it/handlers.rs)
          x: Operand f32 None 
          offset: Attribute optional any None f32
          by: Attribute any None f32
          y: Result f32 None 
        double on Host: "Doubles in place." (crates/farcall-ffi/tests/it/handlers.rs)
          xy: InOut f32 None 
        counter on Host stateful: "" (crates/farcall-ffi/tests/it/handlers.rs)
          state: Context any None 
          y: Result s64 None 
        negate on Host: "" (crates/farcall-ffi/tests/it/handlers.rs)
          x: Operand any None 
          y: Result any None 
    "#]]
    .assert_eq(&text);
    // SAFETY: an entry accepts a null frame.
    assert!(unsafe { test_double(std::ptr::null_mut()) }.is_null());
}
