//! The host's side of rules: calls an op's shape function or batching function, and collects its answer.
//!
//! **Invariants.** A rule is foreign code, and is entered through `guard`. A callback checks that the values
//! passed to it can be read, and copies them before it returns. The caller of this module checks whether the
//! values make sense.

use std::ffi::c_void;

use farcall_ffi::abi::{ByteSpan, DataType};
use farcall_ffi::encode::Encoded;
use farcall_ffi::rules::abi::{RuleCall, RuleFn, RuleOnce, RuleOperand};
use farcall_ffi::rules::read_attrs;
use farcall_sig::AttrValues;
use farcall_sig::signature::OperandType;

use super::error::take_error;
use super::guard;

/// A batching function's answer for a call.
#[derive(Debug)]
pub(crate) enum Batched {
    /// One call for each entry of the batch, with the reason for not using a single call.
    Each(String),
    /// A single call for all entries: the position of the batch axis in each operand and result, and the
    /// attributes that change.
    Once { operands: Vec<Option<usize>>, results: Vec<usize>, attrs: AttrValues },
}

/// Maximum length of an array of numbers from a rule, and maximum number of shapes.
const MAX_COUNT: usize = 1 << 16;

/// Returns the dimensions of results according to a shape function.
///
/// # Errors
/// The function's own error, or unreadable dimensions.
///
/// # Safety
/// `rule` is a shape function.
pub(crate) unsafe fn shapes(
    rule: RuleFn,
    operands: &[OperandType<'_>],
    attrs: &AttrValues,
) -> Result<Vec<Vec<i64>>, String> {
    // SAFETY: the caller guarantees that `rule` is a shape function (`# Safety` above).
    let answer = unsafe { ask(rule, operands, None, attrs) }?;
    Ok(answer.shapes)
}

/// Returns a batching function's answer. The operands are those of a single entry of the batch. `batched`
/// marks the operands that have the batch axis.
///
/// # Errors
/// The function's own error, or a missing answer.
///
/// # Safety
/// `rule` is a batching function.
pub(crate) unsafe fn batching(
    rule: RuleFn,
    operands: &[OperandType<'_>],
    batched: &[bool],
    axis_size: i64,
    attrs: &AttrValues,
) -> Result<Batched, String> {
    // SAFETY: the caller guarantees that `rule` is a batching function (`# Safety` above).
    let answer = unsafe { ask(rule, operands, Some((batched, axis_size)), attrs) }?;
    answer.batched.ok_or_else(|| "the batching function returned no answer".into())
}

/// A rule's answer so far.
#[derive(Default)]
struct Answer {
    shapes: Vec<Vec<i64>>,
    batched: Option<Batched>,
    error: Option<String>,
}

/// # Safety
/// `rule` is a rule of an op whose library is loaded.
unsafe fn ask(
    rule: RuleFn,
    operands: &[OperandType<'_>],
    batched: Option<(&[bool], i64)>,
    attrs: &AttrValues,
) -> Result<Answer, String> {
    let encoded = Encoded::of(attrs).map_err(|e| e.to_string())?;
    let table: Vec<RuleOperand> = operands
        .iter()
        .enumerate()
        .map(|(i, operand)| RuleOperand {
            dtype: DataType::from_dtype(operand.dtype),
            batched: batched.is_some_and(|(flags, _)| flags.get(i) == Some(&true)).into(),
            rank: operand.dims.len(),
            dims: operand.dims.as_ptr(),
        })
        .collect();
    let mut answer = Answer::default();
    let mut call = RuleCall {
        struct_size: size_of::<RuleCall>(),
        attrs: encoded.as_ptr(),
        operands: table.as_ptr(),
        operand_count: table.len(),
        operand_stride: size_of::<RuleOperand>(),
        axis_size: batched.map_or(-1, |(_, size)| size),
        host: (&raw mut answer).cast(),
        fail: Some(fail),
        shape: Some(shape),
        each: Some(each),
        once: Some(once),
    };
    // SAFETY: the caller guarantees that `rule` is an op's rule (`# Safety` above). All parts of `call` live
    // until the rule returns.
    let error = unsafe { guard::task(rule, (&raw mut call).cast()) };
    match (take_error(error), answer.error.take()) {
        (Some(failure), _) => Err(failure.message),
        (None, Some(message)) => Err(message),
        (None, None) => Ok(answer),
    }
}

// ---- Called by a rule ----------------------------------------------------------------------

/// # Safety
/// Same requirements as [`answer_at`]. The span is valid text.
unsafe extern "C" fn fail(host: *mut c_void, message: ByteSpan) {
    // SAFETY: the caller guarantees a valid `host` (`# Safety` above).
    if let Some(answer) = unsafe { answer_at(host) } {
        // SAFETY: the caller guarantees a valid span (`# Safety` above).
        let message = unsafe { text(message) };
        answer.error.get_or_insert(message);
    }
}

/// # Safety
/// Same requirements as [`answer_at`]. `dims` is null, misaligned, or points to `rank` sizes.
unsafe extern "C" fn shape(host: *mut c_void, dims: *const i64, rank: usize) {
    // SAFETY: the caller guarantees a valid `host` (`# Safety` above).
    let Some(answer) = (unsafe { answer_at(host) }) else { return };
    // SAFETY: the caller guarantees `rank` sizes at `dims` (`# Safety` above).
    match unsafe { numbers(dims, rank) } {
        Some(_) if answer.shapes.len() == MAX_COUNT => {
            answer.complain("the shape function returns too many shapes")
        }
        Some(dims) => answer.shapes.push(dims),
        None => answer.complain("the shape function returns dimensions that cannot be read"),
    }
}

/// # Safety
/// Same requirements as [`answer_at`]. The span is valid text.
unsafe extern "C" fn each(host: *mut c_void, reason: ByteSpan) {
    // SAFETY: the caller guarantees a valid `host` (`# Safety` above).
    if let Some(answer) = unsafe { answer_at(host) } {
        // SAFETY: the caller guarantees a valid span (`# Safety` above).
        answer.batched = Some(Batched::Each(unsafe { text(reason) }));
    }
}

/// # Safety
/// Same requirements as [`answer_at`]. `call` is null, or matches its `struct_size` and counts.
unsafe extern "C" fn once(host: *mut c_void, call: *const RuleOnce) {
    // SAFETY: the caller guarantees a valid `host` (`# Safety` above).
    let Some(answer) = (unsafe { answer_at(host) }) else { return };
    // SAFETY: `call` is neither null nor misaligned, and its first member is the size.
    if call.is_null() || !call.is_aligned() || unsafe { (*call).struct_size } < size_of::<RuleOnce>() {
        return answer.complain("the batching function returns a call that cannot be read");
    }
    // SAFETY: the size covers all members.
    let call = unsafe { call.read() };
    // SAFETY: the caller guarantees that the pointers of `call` match its counts (`# Safety` above).
    let (operands, results, attrs) = unsafe {
        (
            numbers(call.operands, call.operand_count),
            numbers(call.results, call.result_count),
            read_attrs(call.attrs),
        )
    };
    let (Some(operands), Some(results)) = (operands, results) else {
        return answer.complain("the batching function returns positions that cannot be read");
    };
    let attrs = match attrs {
        Ok(attrs) => attrs,
        Err(what) => return answer.complain(&format!("the batching function returns a call, but {what}")),
    };
    let results: Result<_, _> = results.into_iter().map(usize::try_from).collect();
    let Ok(results) = results else {
        return answer.complain("the batching function returns a negative position");
    };
    let operands = operands.into_iter().map(|at| usize::try_from(at).ok()).collect();
    answer.batched = Some(Batched::Once { operands, results, attrs });
}

impl Answer {
    fn complain(&mut self, what: &str) {
        self.error.get_or_insert_with(|| what.to_owned());
    }
}

/// # Safety
/// `host` is null or the pointer from the [`RuleCall`], and the rule is running.
unsafe fn answer_at<'a>(host: *mut c_void) -> Option<&'a mut Answer> {
    // SAFETY: the caller guarantees that the rule is running (`# Safety` above). `ask` does not use the
    // answer while the rule runs.
    unsafe { host.cast::<Answer>().as_mut() }
}

/// # Safety
/// `data` is null, misaligned, or points to `count` numbers.
unsafe fn numbers(data: *const i64, count: usize) -> Option<Vec<i64>> {
    match count {
        0 => Some(Vec::new()),
        _ if data.is_null() || !data.is_aligned() || count > MAX_COUNT => None,
        // SAFETY: neither null nor misaligned, so `data` points to `count` numbers (`# Safety` above).
        _ => Some(unsafe { std::slice::from_raw_parts(data, count) }.to_vec()),
    }
}

/// # Safety
/// The span is valid text.
unsafe fn text(span: ByteSpan) -> String {
    // SAFETY: the caller guarantees a valid span (`# Safety` above).
    String::from_utf8_lossy(unsafe { span.as_bytes() }).into_owned()
}
