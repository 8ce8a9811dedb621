//! Misaligns every pointer that is reachable from a call frame. Each call fails with an error that names the
//! pointer, in debug builds as well, where a misaligned access would abort the process.

use expect_test::{Expect, expect};
use farcall_ffi::AttrValue;
use farcall_ffi::abi::{self, CallFrame};
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

#[handler(name = "subject")]
fn subject(x: &Buffer<f32>, any: &AnyBuffer, by: f32, dict: &Dict, y: &mut Buffer<f32>) -> Result<()> {
    let (_, _) = (x.first(), any.bytes().first());
    let entries: Vec<String> = dict.iter().map(|(name, value)| format!("{name}: {value:?}")).collect();
    y.fill(by);
    ensure!(entries == ["k: s64"], "the dictionary holds {entries:?}");
    Ok(())
}

#[handler(name = "takes_all")]
fn takes_all(attrs: &Attrs) -> Result<()> {
    ensure!(attrs.iter().all(|(name, _)| !name.is_empty()), "an attribute has no name");
    Ok(())
}

fn by<T>(pointer: *mut T, bytes: usize) -> *mut T {
    pointer.wrapping_byte_add(bytes)
}

/// Makes a call with a changed frame.
fn changed(call: Call<'_>, change: impl FnOnce(&mut CallFrame)) -> Result<()> {
    // SAFETY: after the changes of these tests, the entry only reads memory of the test and of the frame.
    unsafe { call.run_changed(change) }
}

fn run(change: fn(&mut CallFrame)) -> Result<()> {
    let (x, mut y) = ([1.0f32, 2.0], [0f32; 2]);
    let dict = AttrValue::dict([("k", AttrValue::from(7i64))]);
    let call = Call::to::<subject>().operand(&x, &[2]).operand(&x, &[2]).result(&mut y, &[2]);
    changed(call.attr("by", 1f32).attr("dict", dict), change)
}

#[track_caller]
fn check(change: fn(&mut CallFrame), expected: Expect) {
    expected.assert_eq(&run(change).map_or_else(|error| error.message().to_owned(), |()| "ok".to_owned()));
}

/// Returns the dictionary among the attributes.
fn dict(frame: &mut CallFrame) -> &mut abi::Attrs {
    // SAFETY: the second attribute is a dictionary.
    unsafe { &mut *(*frame.attrs.attrs.add(1)).cast() }
}

fn operand(frame: &mut CallFrame, i: usize) -> &mut abi::Buffer {
    // SAFETY: the frame has two operands.
    unsafe { &mut **frame.args.args.cast::<*mut abi::Buffer>().add(i) }
}

#[test]
fn nothing_is_wrong_with_the_call_itself() {
    check(|_| {}, expect!["ok"]);
}

#[test]
fn tables() {
    check(
        |f| f.args.types = by(f.args.types, 2),
        expect!["subject: malformed call frame: args.types is misaligned"],
    );
    check(
        |f| f.args.args = by(f.args.args, 4),
        expect!["subject: malformed call frame: args.args is misaligned"],
    );
    check(
        |f| f.rets.types = by(f.rets.types, 1),
        expect!["subject: malformed call frame: rets.types is misaligned"],
    );
    check(
        |f| f.rets.rets = by(f.rets.rets, 1),
        expect!["subject: malformed call frame: rets.rets is misaligned"],
    );
    check(
        |f| f.attrs.types = by(f.attrs.types, 1),
        expect!["subject: malformed call frame: attrs.types is misaligned"],
    );
    check(
        |f| f.attrs.names = by(f.attrs.names, 1),
        expect!["subject: malformed call frame: attrs.names is misaligned"],
    );
    check(
        |f| f.attrs.attrs = by(f.attrs.attrs, 4),
        expect!["subject: malformed call frame: attrs.attrs is misaligned"],
    );
    check(
        |f| dict(f).names = by(dict(f).names, 1),
        expect!["subject: attribute dict: attrs.names is misaligned"],
    );
}

#[test]
fn tables_without_members_may_be_anywhere() {
    let odd = |frame: &mut CallFrame| {
        frame.args.args = by(frame.args.args, 1);
        frame.rets.types = by(frame.rets.types, 1);
        frame.attrs.names = by(frame.attrs.names, 1);
    };
    changed(Call::to::<takes_all>(), odd).unwrap();
}

#[test]
fn buffers() {
    check(
        // SAFETY: the frame has two operands.
        |f| unsafe { *f.args.args = by(*f.args.args, 4) },
        expect!["subject: operand 0 (x): the pointer to the buffer is misaligned"],
    );
    check(
        // SAFETY: the frame has two operands.
        |f| unsafe { *f.args.args.add(1) = by(*f.args.args, 1) },
        expect!["subject: operand 1 (any): the pointer to the buffer is misaligned"],
    );
    check(
        |f| operand(f, 0).dims = by(operand(f, 0).dims, 1),
        expect!["subject: operand 0 (x): the pointer to the dimensions is misaligned"],
    );
    check(
        |f| operand(f, 1).dims = by(operand(f, 1).dims, 4),
        expect!["subject: operand 1 (any): the pointer to the dimensions is misaligned"],
    );
    check(
        |f| operand(f, 1).data = by(operand(f, 1).data, 2),
        expect!["subject: operand 1 (any): the data are not aligned for f32"],
    );
}

#[test]
fn attributes() {
    check(
        // SAFETY: the frame has two attributes.
        |f| unsafe { *f.attrs.attrs = by(*f.attrs.attrs, 4) },
        expect!["subject: attribute by: expected f32, found a misaligned pointer"],
    );
    check(
        // SAFETY: the frame has two attributes.
        |f| unsafe { *f.attrs.attrs.add(1) = by(*f.attrs.attrs.add(1), 4) },
        expect!["subject: attribute dict: expected dictionary, found a misaligned pointer"],
    );
    check(
        // SAFETY: the frame has two attributes.
        |f| unsafe { *f.attrs.names = by(*f.attrs.names, 1) },
        expect!["subject: malformed call frame: the pointer to the name of an attribute is misaligned"],
    );
    check(
        // SAFETY: the dictionary has an entry.
        |f| unsafe { *dict(f).names = by(*dict(f).names, 1) },
        expect!["subject: attribute dict: the pointer to the name of an attribute is misaligned"],
    );
    check(
        // SAFETY: the dictionary has an entry.
        |f| unsafe { *dict(f).attrs = by(*dict(f).attrs, 1) },
        expect![[r#"subject: the dictionary holds ["k: a misaligned pointer"]"#]],
    );
    // SAFETY: the call has one attribute.
    let odd = |frame: &mut CallFrame| unsafe { *frame.attrs.names = by(*frame.attrs.names, 1) };
    let refused = changed(Call::to::<takes_all>().attr("a", 1i32), odd).unwrap_err();
    assert_eq!(
        refused.message(),
        "takes_all: malformed call frame: the pointer to the name of an attribute is misaligned"
    );
}

#[test]
fn the_frame_its_extensions_and_the_host() {
    use farcall_ffi::__private::enter;
    check(
        |f| f.extension_start = std::ptr::without_provenance_mut(9),
        expect!["subject: malformed call frame: the pointer to an extension is misaligned"],
    );
    // If a host or a frame cannot be read, the error is only printed to standard error.
    check(|f| f.api = f.api.wrapping_byte_add(1), expect!["ok"]);
    check(
        |f| {
            let mut memory = [0u64; 64];
            let odd: *mut CallFrame = by(memory.as_mut_ptr(), 1).cast();
            let source: *const CallFrame = f;
            // SAFETY: the memory is large enough, and the copied bytes are not used as a frame here.
            unsafe { odd.cast::<u8>().copy_from_nonoverlapping(source.cast(), size_of::<CallFrame>()) };
            // SAFETY: a frame that is valid except for its address.
            let error = unsafe { enter::<subject>(odd) };
            assert!(error.is_null(), "the entry returned an error for a misaligned frame");
        },
        expect!["ok"],
    );
}
