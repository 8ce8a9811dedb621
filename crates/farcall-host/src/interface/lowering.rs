//! The host's side of a library's lowerings: asks a lowering about a block, and collects its answer.
//!
//! **Invariants.** A lowering is foreign code, and is entered through `guard`. A callback checks that the
//! values passed to it can be read, and copies them before it returns. The caller of this module checks
//! whether the values make sense.

use std::ffi::c_void;

use farcall_ffi::abi::{ByteSpan, DataType};
use farcall_ffi::lowering::abi::{
    Alias, LowerCall, LowerFn, LowerQuestion, NamedText, NumberedLayout, NumberedType, Template, table,
};
use farcall_ffi::lowering::{Block, CallAttr, Lowered, TargetCall};
use farcall_ffi::rules::read_attrs;
use farcall_sig::DType;
use farcall_sig::signature::OperandType;

use super::error::take_error;
use super::guard;

/// Maximum number of members of one table from a lowering.
const MAX_COUNT: usize = 1 << 16;

/// Returns the answer of a library's lowering for a block.
///
/// # Errors
/// The lowering's own error, or a missing answer.
///
/// # Safety
/// `lowering` is a lowering of a library that is loaded.
pub(crate) unsafe fn ask(lowering: LowerFn, block: &Block<'_>) -> Result<Lowered, String> {
    let span = |text: &str| ByteSpan::new(text.as_bytes());
    let texts = |texts: &[(&str, &str)]| -> Vec<NamedText> {
        texts.iter().map(|(name, text)| NamedText { name: span(name), text: span(text) }).collect()
    };
    let templates = |types: &[OperandType<'_>]| -> Vec<Template> {
        let one = |ty: &OperandType<'_>| Template {
            dtype: DataType::from_dtype(ty.dtype),
            reserved: 0,
            rank: ty.dims.len(),
            dims: ty.dims.as_ptr(),
        };
        types.iter().map(one).collect()
    };
    let client = block.client();
    let (options, client_options) = (texts(block.options().texts()), texts(client.options()));
    let (operands, results) = (templates(block.operands()), templates(block.results()));
    let mut answer = Answer::default();
    let mut question = LowerQuestion {
        struct_size: size_of::<LowerQuestion>(),
        tag: span(block.tag()),
        version: block.version(),
        values: block.options().values().as_abi(),
        options: options.as_ptr(),
        option_count: options.len(),
        client_options: client_options.as_ptr(),
        client_option_count: client_options.len(),
        text_stride: size_of::<NamedText>(),
        operands: operands.as_ptr(),
        operand_count: operands.len(),
        results: results.as_ptr(),
        result_count: results.len(),
        tensor_stride: size_of::<Template>(),
        platform: span(client.platform()),
        engine: span(client.engine()),
        engine_version: span(client.version()),
        host: (&raw mut answer).cast(),
        fail: Some(fail),
        skip: Some(skip),
        call: Some(call),
    };
    // SAFETY: the caller guarantees that `lowering` is a library's lowering (`# Safety` above). All parts of
    // `question` live until the lowering returns.
    let error = unsafe { guard::task(lowering, (&raw mut question).cast()) };
    match (take_error(error), answer.error, answer.lowered) {
        (Some(failure), ..) => Err(failure.message),
        (None, Some(message), _) => Err(message),
        (None, None, Some(lowered)) => Ok(lowered),
        (None, None, None) => Err("the lowering returned no answer".to_owned()),
    }
}

/// A lowering's answer so far.
#[derive(Default)]
struct Answer {
    lowered: Option<Lowered>,
    error: Option<String>,
}

// ---- Called by a lowering ------------------------------------------------------------------

/// # Safety
/// Same requirements as [`answer_at`]. The span is valid text.
unsafe extern "C" fn fail(host: *mut c_void, message: ByteSpan) {
    // SAFETY: the caller guarantees a valid `host` (`# Safety` above).
    if let Some(answer) = unsafe { answer_at(host) } {
        // SAFETY: the caller guarantees a valid span (`# Safety` above).
        let message = unsafe { lossy(message) };
        answer.error.get_or_insert(message);
    }
}

/// # Safety
/// Same requirements as [`answer_at`]. The span is valid text.
unsafe extern "C" fn skip(host: *mut c_void, reason: ByteSpan) {
    // SAFETY: the caller guarantees a valid `host` (`# Safety` above).
    if let Some(answer) = unsafe { answer_at(host) } {
        // SAFETY: the caller guarantees a valid span (`# Safety` above).
        answer.lowered = Some(Lowered::Skip(unsafe { lossy(reason) }));
    }
}

/// # Safety
/// Same requirements as [`answer_at`]. `call` is null, or matches its `struct_size` and counts.
unsafe extern "C" fn call(host: *mut c_void, call: *const LowerCall) {
    // SAFETY: the caller guarantees a valid `host` (`# Safety` above).
    let Some(answer) = (unsafe { answer_at(host) }) else { return };
    // SAFETY: `call` is neither null nor misaligned, and its first member is the size.
    if call.is_null() || !call.is_aligned() || unsafe { (*call).struct_size } < size_of::<LowerCall>() {
        answer.error.get_or_insert("the lowering returns a call that cannot be read".to_owned());
        return;
    }
    // SAFETY: the size covers all members, and the caller guarantees that the pointers match the counts
    // (`# Safety` above).
    match unsafe { read(&call.read()) } {
        Ok(call) => answer.lowered = Some(call.into()),
        Err(what) => {
            answer.error.get_or_insert_with(|| format!("the lowering returns a call, but {what}"));
        }
    }
}

/// # Safety
/// The pointers of the call match its counts, and everything reachable from the call is valid.
unsafe fn read(call: &LowerCall) -> Result<TargetCall, String> {
    // SAFETY: the caller guarantees that everything reachable from the call is valid (`# Safety` above).
    let mut made = TargetCall::new(unsafe { text(call.target) }?);
    // SAFETY: everything reachable from the call is valid (`# Safety` above).
    let values = unsafe { read_attrs(call.values) }?;
    made.attrs.extend(values.iter().map(|(name, value)| (name.to_owned(), CallAttr::Value(value.clone()))));
    // SAFETY: everything reachable from the call is valid (`# Safety` above).
    for attr in unsafe { members::<NamedText>(call.attributes, call.attribute_count, "attributes") }? {
        // SAFETY: everything reachable from the call is valid (`# Safety` above).
        let (name, value) = unsafe { (text(attr.name)?, text(attr.text)?) };
        made.attrs.push((name, CallAttr::Text(value)));
    }
    // SAFETY: everything reachable from the call is valid (`# Safety` above).
    unsafe {
        made.operand_types = types(call.operand_types, call.operand_type_count)?;
        made.result_types = types(call.result_types, call.result_type_count)?;
        made.operand_layouts = layouts(call.operand_layouts, call.operand_layout_count)?;
        made.result_layouts = layouts(call.result_layouts, call.result_layout_count)?;
    }
    // SAFETY: everything reachable from the call is valid (`# Safety` above).
    let aliases = unsafe { members::<Alias>(call.aliases, call.alias_count, "aliases") }?;
    made.aliases = aliases.into_iter().map(|alias| (alias.result, alias.operand)).collect();
    made.has_side_effect = call.has_side_effect != 0;
    Ok(made)
}

/// # Safety
/// `first` is null, misaligned, or points to `count` members.
unsafe fn types(first: *const NumberedType, count: usize) -> Result<Vec<(usize, DType)>, String> {
    // SAFETY: the caller guarantees `count` members (`# Safety` above).
    let all = unsafe { members(first, count, "element types") }?;
    let one = |ty: NumberedType| {
        let NumberedType { index, dtype, .. } = ty;
        Ok((index, dtype.dtype().ok_or_else(|| format!("{} is not an element type", dtype.0))?))
    };
    all.into_iter().map(one).collect()
}

/// # Safety
/// `first` is null, misaligned, or points to `count` members, each of which points to as many dimensions as
/// its rank.
unsafe fn layouts(first: *const NumberedLayout, count: usize) -> Result<Vec<(usize, Vec<usize>)>, String> {
    // SAFETY: the caller guarantees `count` members (`# Safety` above).
    let all = unsafe { members(first, count, "layouts") }?;
    let one = |layout: NumberedLayout| {
        // SAFETY: the caller guarantees `layout.rank` dimensions (`# Safety` above).
        let order = unsafe { members(layout.minor_to_major, layout.rank, "layout dimensions") }?;
        let dim = |dim: i64| usize::try_from(dim).map_err(|_| format!("a layout has the dimension {dim}"));
        Ok((layout.index, order.into_iter().map(dim).collect::<Result<_, String>>()?))
    };
    all.into_iter().map(one).collect()
}

/// # Safety
/// `first` is null, misaligned, or points to `count` members.
unsafe fn members<T: Copy>(first: *const T, count: usize, what: &str) -> Result<Vec<T>, String> {
    let members = match count {
        0..=MAX_COUNT => {
            // SAFETY: the caller guarantees `count` members (`# Safety` above).
            unsafe { table(first, count, size_of::<T>()) }
        }
        _ => None,
    };
    members.ok_or_else(|| format!("its {what} cannot be read"))
}

/// # Safety
/// `host` is null or the pointer from the [`LowerQuestion`], and the lowering is running.
unsafe fn answer_at<'a>(host: *mut c_void) -> Option<&'a mut Answer> {
    // SAFETY: the caller guarantees that the lowering is running (`# Safety` above). `ask` does not use the
    // answer while the lowering runs.
    unsafe { host.cast::<Answer>().as_mut() }
}

/// # Safety
/// The span is valid text.
unsafe fn text(span: ByteSpan) -> Result<String, String> {
    // SAFETY: the caller guarantees a valid span (`# Safety` above).
    let bytes = unsafe { span.as_bytes() };
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| "one of its texts is not UTF-8".to_owned())
}

/// # Safety
/// The span is valid text.
unsafe fn lossy(span: ByteSpan) -> String {
    // SAFETY: the caller guarantees a valid span (`# Safety` above).
    String::from_utf8_lossy(unsafe { span.as_bytes() }).into_owned()
}
