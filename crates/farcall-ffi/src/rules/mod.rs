//! Rules that a signature cannot express: shape functions and batching functions.
//!
//! ```
//! use farcall_ffi::prelude::*;
//!
//! /// Reverses the order of dimension `axis`.
//! #[handler(name = "flip")]
//! #[signature((x: f32[..], axis: i64) -> (y: f32[..]))]
//! #[shape(flip_shape)]
//! #[batch(flip_batch)]
//! fn flip(x: &Buffer<f32>, axis: i64, y: &mut Buffer<f32>) -> Result<()> {
//! #   let _ = (x, axis, y);
//!     // …
//!     Ok(())
//! }
//!
//! fn flip_shape(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
//!     let (x, axis) = (call.operand("x")?, call.attr::<i64>("axis")?);
//!     ensure!((0..x.dims.len() as i64).contains(&axis), "x has no dimension {axis}");
//!     Ok(x.dims.to_vec())
//! }
//!
//! /// Makes one call, in which the mapped axis stays in front.
//! fn flip_batch(call: &BatchCall<'_>) -> Result<Batch> {
//!     Ok(Batch::once([Some(0)], [0]).attr("axis", call.attr::<i64>("axis")? + 1))
//! }
//! ```
//!
//! A shape function returns the dimensions of every result declared as `[..]`, except those that alias an
//! operand. Element types come from the signature, and the call has already been checked against it. A
//! batching function is called if at least one operand of a call has a mapped axis.
//!
//! Rules are called whenever a program is traced or compiled, and never while it runs. Their answers must
//! only depend on their arguments.
//!
//! **Invariants.** Arguments from a host are checked like a call frame. A panic becomes an error.

use std::ffi::c_void;
use std::ops::{Deref, Range};

use farcall_sig::AttrValue;
use farcall_sig::signature::OperandType;

use crate::abi as c;
use crate::arena::Arena;
use crate::attr::{Attrs, Dict, FromAttr};
use crate::encode::encode_attrs;
use crate::error::{Error, Result};
use crate::panics::{self, Panic};
use crate::unwind::catch;

pub mod abi;

use abi::{RuleCall, RuleOnce, RuleOperand};

/// A call whose result shapes are to be computed.
#[derive(Debug)]
pub struct ShapeCall<'a> {
    names: &'static [&'static str],
    /// Number of trailing names that are variadic.
    variadic: usize,
    operands: Vec<OperandType<'a>>,
    attrs: &'a Attrs,
}

impl<'a> ShapeCall<'a> {
    /// Types of all operands of the call.
    pub fn operands(&self) -> &[OperandType<'a>] {
        &self.operands
    }

    /// Returns the type of the operand of this name: its dtype and dimensions.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the signature has no such operand, or the call does not pass it.
    pub fn operand(&self, name: &str) -> Result<OperandType<'a>> {
        let missing = || Error::invalid_argument(format!("{name} is not given"));
        self.operand_opt(name)?.ok_or_else(missing)
    }

    /// Returns the type of an operand that may be missing.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the signature has no such operand.
    pub fn operand_opt(&self, name: &str) -> Result<Option<OperandType<'a>>> {
        let at = self.position(name)?;
        Ok(self.operands.get(self.entries(at).start).copied())
    }

    /// Returns the types of the variadic operands of this name.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the signature has no such operands.
    pub fn variadic(&self, name: &str) -> Result<&[OperandType<'a>]> {
        let at = self.position(name)?;
        if at + self.variadic < self.names.len() {
            return Err(Error::invalid_argument(format!("{name} is one operand, not several")));
        }
        Ok(self.operands.get(self.entries(at)).unwrap_or_default())
    }

    /// Returns the range of the call's operands for the name at this position.
    fn entries(&self, at: usize) -> Range<usize> {
        let single = self.names.len() - self.variadic;
        match at.checked_sub(single) {
            None => at..at + 1,
            Some(before) => {
                let each = self.operands.len().saturating_sub(single) / self.variadic;
                single + before * each..single + (before + 1) * each
            }
        }
    }

    /// Returns the attribute of this name, which may be the signature's default.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the signature has no attribute of this name and type.
    pub fn attr<T: FromAttr<'a>>(&self, name: &str) -> Result<T> {
        self.attrs.get(name)
    }

    /// Returns an attribute that may be missing.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the attribute has another type.
    pub fn attr_opt<T: FromAttr<'a>>(&self, name: &str) -> Result<Option<T>> {
        self.attrs.get_opt(name)
    }

    /// All attributes.
    pub fn attrs(&self) -> &'a Attrs {
        self.attrs
    }

    fn position(&self, name: &str) -> Result<usize> {
        let none = || Error::invalid_argument(format!("the signature has no operand `{name}`"));
        self.names.iter().position(|known| *known == name).ok_or_else(none)
    }
}

/// A call under `vmap`. The types of its operands exclude the mapped axis.
#[derive(Debug)]
pub struct BatchCall<'a> {
    call: ShapeCall<'a>,
    batched: Vec<bool>,
    axis_size: i64,
}

impl BatchCall<'_> {
    /// Flags, for each operand of the call, that say whether it has the mapped axis; at least one does.
    pub fn batched(&self) -> &[bool] {
        &self.batched
    }

    /// Returns true if the operand of this name is passed and has the mapped axis.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the signature has no such operand.
    pub fn is_batched(&self, name: &str) -> Result<bool> {
        Ok(self.batched.get(self.call.position(name)?).copied().unwrap_or(false))
    }

    /// Size of the mapped axis.
    pub fn axis_size(&self) -> i64 {
        self.axis_size
    }
}

impl<'a> Deref for BatchCall<'a> {
    type Target = ShapeCall<'a>;

    fn deref(&self) -> &ShapeCall<'a> {
        &self.call
    }
}

/// A call's implementation under `vmap`.
#[derive(Clone, Debug)]
pub struct Batch(Answer);

#[derive(Clone, Debug)]
enum Answer {
    Each(String),
    Once { operands: Vec<Option<usize>>, results: Vec<usize>, attrs: farcall_sig::AttrValues },
}

impl Batch {
    /// Makes one call for each index of the axis; `reason` explains why, for people.
    pub fn each(reason: impl Into<String>) -> Batch {
        Batch(Answer::Each(reason.into()))
    }

    /// Makes one call for all indices.
    ///
    /// `operands` has, for each operand, the dimension at which the operand has the mapped axis. Operands
    /// without the axis are broadcast along it, or passed unchanged if the entry is `None`. `results` has,
    /// for each result, the dimension that is the axis. Dimensions are counted including the axis.
    pub fn once(
        operands: impl IntoIterator<Item = Option<usize>>,
        results: impl IntoIterator<Item = usize>,
    ) -> Batch {
        let (operands, results) = (operands.into_iter().collect(), results.into_iter().collect());
        Batch(Answer::Once { operands, results, attrs: farcall_sig::AttrValues::new() })
    }

    /// Changes an attribute of the one call. The value must have exactly the declared type.
    #[must_use]
    pub fn attr(mut self, name: &str, value: impl Into<AttrValue>) -> Batch {
        if let Answer::Once { attrs, .. } = &mut self.0 {
            attrs.insert(name, value);
        }
        self
    }
}

/// Return value of a shape function: the dimensions of one result, or of several.
#[diagnostic::on_unimplemented(
    message = "a shape function does not return `Result<{Self}>`",
    label = "not the dimensions of results",
    note = "it returns `Result<Vec<i64>>` for one result that is written `[..]`, `Result<[Vec<i64>; N]>` or \
            `Result<Vec<Vec<i64>>>` for several"
)]
pub trait Shapes {
    /// Returns the dimensions of each result.
    fn into_shapes(self) -> Vec<Vec<i64>>;
}

impl Shapes for Vec<i64> {
    fn into_shapes(self) -> Vec<Vec<i64>> {
        vec![self]
    }
}

impl Shapes for Vec<Vec<i64>> {
    fn into_shapes(self) -> Vec<Vec<i64>> {
        self
    }
}

impl<const N: usize> Shapes for [Vec<i64>; N] {
    fn into_shapes(self) -> Vec<Vec<i64>> {
        self.into()
    }
}

// ---- Called by a host ----------------------------------------------------------------------

/// A rule, as the macros name it.
#[doc(hidden)]
pub trait Rule {
    /// Names of the signature's operands.
    const OPERANDS: &'static [&'static str];
    /// Number of trailing operands that are variadic, all with the same number of entries.
    const VARIADIC: usize;
}

/// A shape function.
#[doc(hidden)]
pub trait ShapeRule: Rule {
    fn shapes(call: &ShapeCall<'_>) -> Result<Vec<Vec<i64>>>;
}

/// A batching function.
#[doc(hidden)]
pub trait BatchRule: Rule {
    fn batch(call: &BatchCall<'_>) -> Result<Batch>;
}

/// Entry point of a shape function in the C interface.
///
/// # Safety
/// `call` is null or points to a valid [`RuleCall`].
#[doc(hidden)]
pub unsafe extern "C" fn shape_rule<R: ShapeRule>(call: *mut c_void) {
    // SAFETY: the caller guarantees a null or valid pointer (`# Safety` above).
    let Some(question) = (unsafe { question(call) }) else { return };
    let Some(say) = question.shape else { return };
    answer(question.host, question.fail, "the shape function", || {
        // SAFETY: the call is valid, as the caller guarantees (`# Safety` above).
        let call = unsafe { ShapeCall::read::<R>(&question) }?;
        for dims in R::shapes(&call)? {
            // SAFETY: the host passed this function together with its argument.
            unsafe { say(question.host, dims.as_ptr(), dims.len()) };
        }
        Ok(())
    });
}

/// Entry point of a batching function in the C interface.
///
/// # Safety
/// `call` is null or points to a valid [`RuleCall`].
#[doc(hidden)]
pub unsafe extern "C" fn batch_rule<R: BatchRule>(call: *mut c_void) {
    // SAFETY: the caller guarantees a null or valid pointer (`# Safety` above).
    let Some(question) = (unsafe { question(call) }) else { return };
    let (Some(each), Some(once)) = (question.each, question.once) else { return };
    answer(question.host, question.fail, "the batching function", || {
        // SAFETY: the call is valid, as the caller guarantees (`# Safety` above).
        let call = unsafe { ShapeCall::read::<R>(&question) }?;
        // SAFETY: `read` has checked the table of operands.
        let batched = (0..question.operand_count).map(|i| unsafe { operand(&question, i) }.batched != 0);
        let call = BatchCall { batched: batched.collect(), call, axis_size: question.axis_size };
        match R::batch(&call)?.0 {
            Answer::Each(reason) => {
                // SAFETY: the host passed this function together with its argument.
                unsafe { each(question.host, span(&reason)) };
            }
            Answer::Once { operands, results, attrs: changed } => {
                let position = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
                let operands: Vec<i64> = operands.iter().map(|at| at.map_or(-1, position)).collect();
                let results: Vec<i64> = results.into_iter().map(position).collect();
                let mut arena = Arena::default();
                let changed = encode_attrs(&mut arena, &changed)?;
                let call = RuleOnce {
                    struct_size: size_of::<RuleOnce>(),
                    operands: operands.as_ptr(),
                    operand_count: operands.len(),
                    results: results.as_ptr(),
                    result_count: results.len(),
                    attrs: &raw const changed,
                };
                // SAFETY: the host passed this function together with its argument.
                unsafe { once(question.host, &raw const call) };
            }
        }
        Ok(())
    });
}

/// Reads the call; `None` if the pointer is null or misaligned, or the struct too small.
///
/// # Safety
/// `call` is null or points to a valid [`RuleCall`].
unsafe fn question(call: *mut c_void) -> Option<RuleCall> {
    let call = call.cast::<RuleCall>();
    // SAFETY: the pointer is neither null nor misaligned, and the size is the first member.
    if call.is_null() || !call.is_aligned() || unsafe { (*call).struct_size } < size_of::<RuleCall>() {
        return None;
    }
    // SAFETY: the size covers all members.
    Some(unsafe { call.read() })
}

/// Function through which a rule reports an error to its host.
pub(crate) type Fail = Option<unsafe extern "C" fn(host: *mut c_void, message: c::ByteSpan)>;

/// Runs a rule, and reports its error or panic to the host.
pub(crate) fn answer(host: *mut c_void, fail: Fail, name: &'static str, rule: impl FnOnce() -> Result<()>) {
    panics::install_hook();
    let error = match catch(rule) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error,
        Err(panic) => Panic::caught(panic).into_error().context(name),
    };
    if let Some(fail) = fail {
        // SAFETY: a function of the host, for its own argument.
        unsafe { fail(host, span(error.message())) };
    }
}

impl<'a> ShapeCall<'a> {
    /// Reads and checks the operands and attributes of a call.
    ///
    /// # Safety
    /// Everything reachable from `question` stays valid during `'a`, and the lengths of its tables are right.
    unsafe fn read<R: Rule>(question: &RuleCall) -> Result<ShapeCall<'a>> {
        let malformed =
            |what: &str| Error::invalid_argument(format!("the host's question is malformed: {what}"));
        let RuleCall { attrs, operands, operand_count, operand_stride, .. } = *question;
        if attrs.is_null() || !attrs.is_aligned() {
            return Err(malformed("there are no attributes"));
        }
        let strides =
            operand_stride >= size_of::<RuleOperand>() && operand_stride % align_of::<RuleOperand>() == 0;
        if operand_count > 0 && (operands.is_null() || !operands.is_aligned() || !strides) {
            return Err(malformed("its table of operands"));
        }
        let mut types = Vec::new();
        for i in 0..operand_count {
            // SAFETY: the table has `operand_count` members, `operand_stride` bytes apart.
            let RuleOperand { dtype, rank, dims, .. } = unsafe { operand(question, i) };
            let dtype = dtype.dtype().ok_or_else(|| malformed("the element type of an operand"))?;
            let dims = match rank {
                0 => &[][..],
                _ if dims.is_null()
                    || !dims.is_aligned()
                    || rank > isize::MAX as usize / size_of::<i64>() =>
                {
                    return Err(malformed("the dimensions of an operand"));
                }
                // SAFETY: the pointer is neither null nor misaligned, and points to `rank` sizes that stay
                // valid.
                _ => unsafe { std::slice::from_raw_parts(dims, rank) },
            };
            types.push(OperandType { dtype, dims });
        }
        // SAFETY: the pointer is neither null nor misaligned, and the attributes stay valid.
        let attrs = unsafe { Dict::check(attrs) }.and_then(|dict| dict.check_names().map(|()| dict));
        let attrs = Attrs::from_dict(attrs.map_err(malformed)?);
        let entries = types.len().checked_sub(R::OPERANDS.len() - R::VARIADIC);
        if R::VARIADIC > 0 && !entries.is_some_and(|entries| entries.is_multiple_of(R::VARIADIC)) {
            return Err(malformed("the number of operands"));
        }
        Ok(ShapeCall { names: R::OPERANDS, variadic: R::VARIADIC, operands: types, attrs })
    }
}

/// Reads operand `i`.
///
/// # Safety
/// The question's table has more than `i` operands.
unsafe fn operand(question: &RuleCall, i: usize) -> RuleOperand {
    // SAFETY: the caller guarantees that the table has this operand (`# Safety` above).
    unsafe { question.operands.byte_add(i * question.operand_stride).read() }
}

fn span(text: &str) -> c::ByteSpan {
    c::ByteSpan { ptr: text.as_ptr().cast(), len: text.len() }
}

// ---- For hosts -----------------------------------------------------------------------------

/// Reads attributes that a rule returned.
///
/// # Errors
/// A description of the problem, if the attributes are malformed or have values that a rule cannot return.
///
/// # Safety
/// `attrs` is null, or points to as many bytes as its `struct_size` says, and everything reachable from it is
/// valid.
pub unsafe fn read_attrs(attrs: *const c::Attrs) -> Result<farcall_sig::AttrValues, String> {
    if attrs.is_null() {
        return Ok(farcall_sig::AttrValues::new());
    }
    if !attrs.is_aligned() {
        return Err("its attributes are misaligned".into());
    }
    // SAFETY: the pointer is neither null nor misaligned, and the caller guarantees the rest (`# Safety`
    // above).
    let dict = unsafe { Dict::check(attrs) }?;
    dict.check_names()?;
    let value = |(name, attr): (std::borrow::Cow<'_, str>, crate::attr::Attr<'_>)| match attr.to_value() {
        Some(value) => Ok((name.into_owned(), value)),
        None => Err(format!("its attribute {name} is of a kind that a rule cannot return: {attr:?}")),
    };
    dict.iter().map(value).collect()
}
