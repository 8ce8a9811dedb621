//! Queries to lowerings of libraries, and answers to a querying host.
//!
//! A count is valid for the memory behind its pointer, or too large for any memory, because the callee cannot
//! detect other wrong counts.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::null_mut;

use farcall::ir::{Module, Source, text};
use farcall::{CompileOptions, Registry, compile_plan};
use farcall_ffi::abi::{self, AttrType, ByteSpan, DataType, Scalar};
use farcall_ffi::descriptor::{LibraryOp, OpDescriptor};
use farcall_ffi::lowering::abi::{
    Alias, LowerCall, LowerQuestion, LoweringEntry, LoweringTable, NamedText, NumberedLayout, NumberedType,
    Template, entries,
};

use crate::plugin::blocks::{scale_f32, scale_f64, twice_f32};
use farcall_testing::SplitMix;

const OPS: &[&OpDescriptor] = farcall_ffi::ops![scale_f32, twice_f32, scale_f64];

/// Queries lowerings and answers the host. Returns statistics as text.
pub(crate) fn run(random: &mut SplitMix, iterations: usize) -> String {
    let (mut answered, mut taken, mut listed) = (0, 0, 0);
    let (registry, program) = answering();
    for i in 0..iterations {
        match i % 8 {
            0 => taken += usize::from(answer(random, &registry, &program)),
            1 => listed += usize::from(list(random)),
            _ => answered += usize::from(ask(random)),
        }
    }
    assert!(
        answered > iterations / 50 && taken > iterations / 200 && listed > iterations / 200,
        "too few: {answered} queries were answered, {taken} answers and {listed} tables were accepted"
    );
    format!("{answered} queries were answered, {taken} answers and {listed} tables were accepted")
}

// ---- Questions -----------------------------------------------------------------------------------

unsafe extern "C" fn heard(host: *mut c_void, _: ByteSpan) {
    // SAFETY: `host` is the query's counter.
    unsafe { *host.cast::<usize>() += 1 };
}

unsafe extern "C" fn failed(_: *mut c_void, _: ByteSpan) {}

unsafe extern "C" fn called(host: *mut c_void, _: *const LowerCall) {
    // SAFETY: `host` is the query's counter.
    unsafe { *host.cast::<usize>() += 1 };
}

/// Queries a lowering. Returns true if the lowering answered.
fn ask(r: &mut SplitMix) -> bool {
    let lower = LibraryOp::of(OPS[1]).lower().expect("the op has a lowering");
    let dims = [2i64, 3];
    let template = Template { dtype: DataType::S32, reserved: 0, rank: 2, dims: dims.as_ptr() };
    let mut templates = [template; 3];
    let mut texts = [NamedText { name: ByteSpan::new(b"eps"), text: ByteSpan::new(b"1 : i64") }; 2];
    let mut attrs = abi::Attrs {
        struct_size: abi::Attrs::STRUCT_SIZE,
        extension_start: null_mut(),
        size: 0,
        types: null_mut(),
        names: null_mut(),
        attrs: null_mut(),
    };
    let mut answers = 0usize;
    let mut question = LowerQuestion {
        struct_size: size_of::<LowerQuestion>(),
        tag: ByteSpan::new(b"my.twice"),
        version: 1,
        values: &raw const attrs,
        options: texts.as_ptr(),
        option_count: 1,
        client_options: texts.as_ptr(),
        client_option_count: 2,
        text_stride: size_of::<NamedText>(),
        operands: templates.as_ptr(),
        operand_count: 1,
        results: templates.as_ptr(),
        result_count: 1,
        tensor_stride: size_of::<Template>(),
        platform: ByteSpan::new(b"Host"),
        engine: ByteSpan::new(b"fuzz"),
        engine_version: ByteSpan::new(b"0"),
        host: (&raw mut answers).cast(),
        fail: Some(failed),
        skip: Some(heard),
        call: Some(called),
    };
    let mut at = &raw mut question;
    let spans = [ByteSpan::new(b"\xff\xfe"), ByteSpan { ptr: std::ptr::null(), len: 9 }, ByteSpan::new(b"")];
    for _ in 0..r.below(4) {
        let template = &mut templates[r.below(3)];
        match r.below(20) {
            // A larger size means that the struct has more members, which are not read.
            0 => question.struct_size = r.struct_size(question.struct_size),
            1 => question.tag = r.pick(&spans),
            2 => question.values = r.pointer(question.values.cast_mut()),
            3 => question.options = r.pointer(question.options.cast_mut()),
            4 => question.option_count = r.below(3),
            5 => {
                question.text_stride = r.pick(&[0, 1, 8, 16, size_of::<NamedText>(), usize::MAX]);
                (question.option_count, question.client_option_count) = (1, 1);
            }
            6 => question.operands = r.pointer(question.operands.cast_mut()),
            7 => question.operand_count = r.below(4),
            8 => {
                question.tensor_stride = r.pick(&[0, 1, 8, 12, size_of::<Template>(), usize::MAX]);
                (question.operand_count, question.result_count) = (1, 1);
            }
            9 => question.platform = r.pick(&spans),
            10 => question.fail = None,
            11 => question.skip = None,
            12 => question.call = None,
            13 => template.dtype = DataType(r.number() as u32),
            14 => template.rank = r.pick(&[0, 1, 2, usize::MAX, usize::MAX / 8, 1 << 62]),
            15 => template.dims = r.pointer(template.dims.cast_mut()),
            16 => attrs.size = r.pick(&[-1, 0, 1, i64::MIN]),
            17 => attrs.struct_size = r.struct_size(attrs.struct_size),
            18 => texts[r.below(2)].name = r.pick(&spans),
            _ => at = r.pointer(at),
        }
    }
    // SAFETY: the query is malformed, but its valid pointers are to memory of this function.
    unsafe { lower(at.cast()) };
    answers > 0
}

// ---- Answers -------------------------------------------------------------------------------------

/// Returns a registry with an op whose lowering gives arbitrary answers, and a program with a composite that
/// the lowering is asked about.
fn answering() -> (Registry, Module) {
    let mut op = *OPS[1].raw();
    op.lower = Some(say);
    // SAFETY: `say` is a lowering; the macro has made the other fields.
    let op = unsafe { OpDescriptor::from_raw(op) };
    let registry = Registry::new();
    registry.register_ops(&[OPS[0], &*Box::leak(Box::new(op))]).unwrap();
    let program = "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %0 = stablehlo.composite \"my.twice\" %x {decomposition = @body} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }
    func.func private @body(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      return %x : tensor<2x3xf32>
    }";
    (registry, text::parse(&Source::new("p.mlir", program)).unwrap())
}

thread_local! {
    static RANDOM: RefCell<SplitMix> = RefCell::new(SplitMix::new(1));
}

/// Compiles the program. Returns true if the answer was accepted.
fn answer(r: &mut SplitMix, registry: &Registry, program: &Module) -> bool {
    RANDOM.set(SplitMix::new(r.next()));
    let plan = compile_plan(program, registry, &CompileOptions::new());
    plan.is_ok_and(|plan| !plan.calls().is_empty())
}

unsafe extern "C" fn say(question: *mut c_void) {
    // SAFETY: the host passes a valid query.
    let question = unsafe { &*question.cast::<LowerQuestion>() };
    RANDOM.with_borrow_mut(|r| {
        if r.one_in(12) {
            let text = r.pick(&[ByteSpan::new(b"\xff\xfe"), ByteSpan { ptr: std::ptr::null(), len: 9 }]);
            let tell = r.pick(&[question.fail, question.skip]).expect("this host has all");
            // SAFETY: the text is malformed, but its pointer points to memory.
            unsafe { tell(question.host, text) };
        }
        let number = 3i64;
        let mut scalar = Scalar {
            dtype: DataType(r.enum_value(DataType::S64.0).min(DataType::S64.0)),
            value: r.pointer((&raw const number).cast_mut()).cast(),
        };
        let mut name = ByteSpan::new(b"factor");
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
        let texts: [&[u8]; 5] =
            [b"2.0 : f32", b"1 : i64", b"\xff", b"[[[[", b"dense<0> : tensor<99999999xi8>"];
        let text = NamedText { name: ByteSpan::new(b"factor"), text: ByteSpan::new(texts[r.below(5)]) };
        let mut texts = [text; 2];
        let dtype = DataType(r.pick(&[11, 11, 12, 4, 15, 0, 999, u32::MAX]));
        let mut types = [NumberedType { index: r.pick(&[0, 0, 1, usize::MAX]), dtype, reserved: 0 }; 2];
        let mut order = [r.pick(&[1i64, 0, -1, i64::MAX]), 0];
        let layout = NumberedLayout {
            index: r.pick(&[0, 0, 1, usize::MAX]),
            minor_to_major: r.pointer(order.as_mut_ptr()),
            rank: r.pick(&[2, 2, 0, 1, usize::MAX]),
        };
        let mut layouts = [layout; 2];
        let mut aliases =
            [Alias { result: r.pick(&[0, 1, usize::MAX]), operand: r.pick(&[0, 1, usize::MAX]) }; 2];
        let targets: [&[u8]; 4] = [b"twice_f32", b"scale_f32", b"nowhere", b"\xff"];
        let mut count = || if r.one_in(6) { r.pick(&[1, 2, usize::MAX, usize::MAX / 16]) } else { 0 };
        let counts: [usize; 6] = std::array::from_fn(|_| count());
        let mut call = LowerCall {
            struct_size: r.struct_size(size_of::<LowerCall>()),
            target: ByteSpan::new(targets[r.below(4)]),
            values: r.pointer(&raw mut attrs),
            attributes: r.pointer(texts.as_mut_ptr()),
            attribute_count: counts[0],
            operand_types: r.pointer(types.as_mut_ptr()),
            operand_type_count: counts[1],
            result_types: r.pointer(types.as_mut_ptr()),
            result_type_count: counts[2],
            operand_layouts: r.pointer(layouts.as_mut_ptr()),
            operand_layout_count: counts[3],
            result_layouts: r.pointer(layouts.as_mut_ptr()),
            result_layout_count: counts[4],
            aliases: r.pointer(aliases.as_mut_ptr()),
            alias_count: counts[5],
            has_side_effect: 0,
            reserved: 0,
        };
        let at = r.pointer(&raw mut call);
        // SAFETY: the answer is malformed, but its pointers are to memory.
        unsafe { question.call.expect("this host has all")(question.host, at) };
    });
}

// ---- Tables --------------------------------------------------------------------------------------

/// Reads a library's table of lowerings. Returns true if it is valid.
fn list(r: &mut SplitMix) -> bool {
    let spans: [&[u8]; 4] = [b"my.tag", b"my.tag", b"", b"\xff"];
    let span = |i: usize| ByteSpan::new(spans[i]);
    let lower = r.pick(&[Some(say as unsafe extern "C" fn(*mut c_void)), None]);
    let entry = LoweringEntry { tag: span(r.below(4)), platform: span(r.below(4)), lower };
    let mut lowerings = [entry; 2];
    let mut table = LoweringTable {
        struct_size: r.struct_size(size_of::<LoweringTable>()),
        lowerings: r.pointer(lowerings.as_mut_ptr()),
        lowering_count: r.pick(&[0, 1, 2, 2]),
        lowering_stride: size_of::<LoweringEntry>(),
    };
    if r.one_in(4) {
        table.lowering_stride = r.pick(&[0, 1, 8, 12, 3 * size_of::<LoweringEntry>(), usize::MAX]);
        table.lowering_count = table.lowering_count.min(1);
    }
    // SAFETY: the table is malformed, but its pointers are to memory.
    unsafe { entries(r.pointer(&raw mut table)) }.is_ok()
}
