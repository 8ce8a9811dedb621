//! Queries to shape functions and batching functions, and answers to a querying host.
//!
//! A count is valid for the memory behind its pointer, or too large for any memory, because the callee cannot
//! detect other wrong counts.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use farcall::Registry;
use farcall::ir::DType;
use farcall::registry::{Platform, Target};
use farcall_ffi::abi::{self, AttrType, ByteSpan, DataType, Scalar};
use farcall_ffi::descriptor::{LibraryOp, OpDescriptor};
use farcall_ffi::rules::abi::{RuleCall, RuleFn, RuleOnce, RuleOperand};
use farcall_sig::signature::OperandType;
use farcall_sig::{AttrValue, AttrValues};

use crate::plugin::by_hand::{stack, transpose, transpose_bwd, transpose_jvp};
use farcall_testing::SplitMix;

const OPS: &[&OpDescriptor] = farcall_ffi::ops![transpose, transpose_jvp, transpose_bwd, stack];

/// Queries rules and answers the host. Returns statistics as text.
pub(crate) fn run(random: &mut SplitMix, iterations: usize) -> String {
    let (mut answered, mut taken) = (0, 0);
    let target = answering();
    for i in 0..iterations {
        if i % 2 == 0 {
            answered += usize::from(ask(random));
        } else {
            taken += usize::from(answer(random, &target));
        }
    }
    assert!(
        answered > iterations / 50 && taken > iterations / 50,
        "too few: {answered} queries were answered, {taken} answers were accepted"
    );
    format!("{answered} queries were answered, {taken} answers were accepted")
}

// ---- Questions -----------------------------------------------------------------------------------

/// Number of answers and number of failures of a rule.
#[derive(Default)]
struct Heard {
    answers: usize,
    failures: usize,
}

unsafe extern "C" fn fail(host: *mut c_void, message: ByteSpan) {
    // SAFETY: `host` is the query's `Heard`, and the message is valid during the call.
    let (heard, message) = unsafe { (&mut *host.cast::<Heard>(), message.as_bytes()) };
    heard.failures += usize::from(!message.is_empty());
}

unsafe extern "C" fn shape(host: *mut c_void, _: *const i64, _: usize) {
    // SAFETY: `host` is the query's `Heard`.
    unsafe { (*host.cast::<Heard>()).answers += 1 };
}

unsafe extern "C" fn each(host: *mut c_void, _: ByteSpan) {
    // SAFETY: `host` is the query's `Heard`.
    unsafe { (*host.cast::<Heard>()).answers += 1 };
}

unsafe extern "C" fn once(host: *mut c_void, _: *const RuleOnce) {
    // SAFETY: `host` is the query's `Heard`.
    unsafe { (*host.cast::<Heard>()).answers += 1 };
}

/// Queries a rule. Returns true if the rule answered.
fn ask(r: &mut SplitMix) -> bool {
    let op = LibraryOp::of(OPS[r.below(OPS.len())]);
    let rules: Vec<RuleFn> = op.shape().into_iter().chain(op.batch()).collect();
    let rule = rules[r.below(rules.len())];
    let dims = [2i64, 3, 4];
    let mut operands = [RuleOperand { dtype: DataType::F32, batched: 1, rank: 3, dims: dims.as_ptr() }; 4];
    let perm = [2i64, 0, 1];
    let mut array = abi::Array { dtype: DataType::S64, size: 3, data: perm.as_ptr().cast_mut().cast() };
    let mut name = ByteSpan::new(b"perm");
    let (mut names, mut values) = ([&raw mut name], [(&raw mut array).cast::<c_void>()]);
    let mut kinds = [AttrType::ARRAY];
    let mut attrs = abi::Attrs {
        struct_size: abi::Attrs::STRUCT_SIZE,
        extension_start: null_mut(),
        size: 1,
        types: kinds.as_mut_ptr(),
        names: names.as_mut_ptr(),
        attrs: values.as_mut_ptr(),
    };
    let mut heard = Heard::default();
    let mut call = RuleCall {
        struct_size: size_of::<RuleCall>(),
        attrs: &raw const attrs,
        operands: operands.as_ptr(),
        operand_count: 1 + r.below(3),
        operand_stride: size_of::<RuleOperand>(),
        axis_size: 5,
        host: (&raw mut heard).cast(),
        fail: Some(fail),
        shape: Some(shape),
        each: Some(each),
        once: Some(once),
    };
    let mut at = &raw mut call;
    for _ in 0..r.below(4) {
        let operand = &mut operands[r.below(4)];
        match r.below(18) {
            // A larger size means that the struct has more members, which are not read.
            0 => call.struct_size = r.struct_size(call.struct_size),
            1 => call.attrs = r.pointer(call.attrs.cast_mut()),
            2 => call.operands = r.pointer(call.operands.cast_mut()),
            3 => call.operand_count = r.below(5),
            4 => {
                call.operand_stride = r.pick(&[0, 1, 7, 8, 16, size_of::<RuleOperand>(), usize::MAX]);
                call.operand_count = call.operand_count.min(1);
            }
            5 => call.axis_size = r.number() as i64,
            6 => call.fail = None,
            7 => call.shape = None,
            8 => call.each = None,
            9 => call.once = None,
            10 => operand.dtype = DataType(r.number() as u32),
            11 => operand.batched = r.number() as u32,
            12 => operand.rank = r.pick(&[0, 1, 2, 3, usize::MAX, usize::MAX / 8, 1 << 62]),
            13 => operand.dims = r.pointer(operand.dims.cast_mut()),
            14 => attrs.size = r.pick(&[-1, 0, 1, i64::MIN]),
            15 => attrs.struct_size = r.struct_size(attrs.struct_size),
            16 => {
                // SAFETY: `values[0]` is the pointer that the rule gets, and points to an array of this
                // function.
                unsafe { (*values[0].cast::<abi::Array>()).size = r.pick(&[0, 1, 2, 3]) };
            }
            _ => at = r.pointer(at),
        }
    }
    // SAFETY: the query is malformed, but its valid pointers are to memory of this function.
    unsafe { rule(at.cast()) };
    heard.answers > 0
}

// ---- Answers -------------------------------------------------------------------------------------

/// Returns an op whose rules give arbitrary answers.
fn answering() -> Arc<Target> {
    let mut op = *OPS[3].raw();
    op.shape = Some(say);
    op.batch = Some(say);
    // SAFETY: `say` is a rule; the macro has made the other fields.
    let op = unsafe { OpDescriptor::from_raw(op) };
    let registry = Registry::new();
    registry.register_ops(Box::leak(Box::new([&*Box::leak(Box::new(op))]))).unwrap();
    registry.lookup("stack", &Platform::Host).unwrap()
}

thread_local! {
    static RANDOM: RefCell<SplitMix> = RefCell::new(SplitMix::new(1));
}

/// Queries the op as the engine does. Returns true if the answer was accepted.
fn answer(r: &mut SplitMix, target: &Target) -> bool {
    RANDOM.set(SplitMix::new(r.next()));
    let declaration = target.declaration().expect("the op has a declaration");
    let operands = [OperandType { dtype: DType::F32, dims: &[2, 3] }; 2];
    let attrs: AttrValues = std::iter::empty::<(String, AttrValue)>().collect();
    if r.one_in(2) {
        return declaration.infer(&operands, &attrs).is_ok();
    }
    declaration.batch_rule(&operands, &[true, false], &attrs).is_ok()
}

unsafe extern "C" fn say(call: *mut c_void) {
    // SAFETY: the host passes a valid query.
    let call = unsafe { &*call.cast::<RuleCall>() };
    RANDOM.with_borrow_mut(|r| {
        let dims = [3i64, 2, 3, -1, i64::MIN];
        if call.axis_size < 0 || r.one_in(2) {
            for _ in 0..r.pick(&[1, 1, 1, 1, 0, 2]) {
                let rank = r.pick(&[0, 1, 2, 2, 3, 5, usize::MAX]);
                let rank = if rank > 5 && r.one_in(2) { usize::MAX >> 3 } else { rank };
                let at = r.pointer(dims.as_ptr().cast_mut());
                // SAFETY: the dimensions are malformed, but the pointer points to memory.
                unsafe { call.shape.expect("this host has all")(call.host, at, rank) };
            }
        }
        if r.one_in(12) {
            let text = r.pick(&[
                ByteSpan::new(b"\xff\xfe"),
                ByteSpan::new(b"why"),
                ByteSpan { ptr: std::ptr::null(), len: 9 },
            ]);
            // SAFETY: the text is malformed, but its pointer is null or to memory.
            unsafe { call.fail.expect("this host has all")(call.host, text) };
        }
        if call.axis_size < 0 {
            return;
        }
        if r.one_in(3) {
            // SAFETY: the text is not UTF-8, but its pointer points to memory.
            unsafe { call.each.expect("this host has all")(call.host, ByteSpan::new(b"\xffwhy")) };
        }
        let positions = [0i64, 0, -1, 1, i64::MIN];
        let number = 3i64;
        let mut scalar = Scalar {
            dtype: DataType(r.enum_value(DataType::S64.0).min(DataType::S64.0)),
            value: r.pointer((&raw const number).cast_mut()).cast(),
        };
        let mut name = ByteSpan::new(r.pick(&[b"perm", b"\xff\xff\xff\xff"]));
        let (mut names, mut kinds) = ([r.pointer(&raw mut name)], [AttrType::SCALAR]);
        let mut values = [r.pointer(&raw mut scalar).cast::<c_void>()];
        let mut attrs = abi::Attrs {
            struct_size: r.struct_size(abi::Attrs::STRUCT_SIZE),
            extension_start: null_mut(),
            size: r.pick(&[0, 0, 0, 1, -1, i64::MIN]),
            types: r.pointer(kinds.as_mut_ptr()),
            names: r.pointer(names.as_mut_ptr()),
            attrs: r.pointer(values.as_mut_ptr()),
        };
        let mut once = RuleOnce {
            struct_size: r.struct_size(size_of::<RuleOnce>()),
            operands: r.pointer(positions.as_ptr().cast_mut()),
            operand_count: r.pick(&[2, 2, 2, 0, 4, usize::MAX]),
            results: r.pointer(positions.as_ptr().cast_mut()),
            result_count: r.pick(&[1, 1, 1, 0, 4, usize::MAX]),
            attrs: r.pointer(&raw mut attrs),
        };
        let at = r.pointer(&raw mut once);
        // SAFETY: the answer is malformed, but its pointers are to memory.
        unsafe { call.once.expect("this host has all")(call.host, at) };
    });
}
