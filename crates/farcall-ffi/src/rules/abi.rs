//! Structs through which a host calls a rule, and a rule answers.
//!
//! A rule is a function of type [`RuleFn`] in an op's descriptor. It is called with a [`RuleCall`], and
//! answers by calling the functions in that struct before it returns. A rule that calls no function has not
//! answered. A pointer that one side passes to a function of the other is only valid until this function
//! returns.
//!
//! Members are only added at the end. If `struct_size` does not cover a member that a rule needs, the rule
//! does not answer.

use std::ffi::c_void;

use crate::abi::{Attrs, ByteSpan, DataType};

/// A rule; its argument is a [`RuleCall`].
pub type RuleFn = unsafe extern "C" fn(call: *mut c_void);

/// A call of a rule, and the functions to answer it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RuleCall {
    /// Size of this struct as the host knows it.
    pub struct_size: usize,
    /// All attributes of the call.
    pub attrs: *const Attrs,
    /// `operand_count` operands, `operand_stride` bytes apart.
    pub operands: *const RuleOperand,
    /// Number of operands.
    pub operand_count: usize,
    /// Distance between operands in bytes.
    pub operand_stride: usize,
    /// Size of the mapped axis for a batching function; -1 otherwise.
    pub axis_size: i64,
    /// First argument of the functions below.
    pub host: *mut c_void,
    /// Reports an error, in UTF-8, instead of an answer.
    pub fail: Option<unsafe extern "C" fn(host: *mut c_void, message: ByteSpan)>,
    /// Answer of a shape function, for the next result that is declared as `[..]` and aliases no operand.
    pub shape: Option<unsafe extern "C" fn(host: *mut c_void, dims: *const i64, rank: usize)>,
    /// Answer of a batching function: one call for each index, with the reason.
    pub each: Option<unsafe extern "C" fn(host: *mut c_void, reason: ByteSpan)>,
    /// Answer of a batching function: one call for all indices.
    pub once: Option<unsafe extern "C" fn(host: *mut c_void, call: *const RuleOnce)>,
}

/// Type of an operand of a [`RuleCall`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RuleOperand {
    /// Element type.
    pub dtype: DataType,
    /// 1 for a batching function's operand with the mapped axis; 0 otherwise.
    pub batched: u32,
    /// Number of dimensions, without the mapped axis.
    pub rank: usize,
    /// `rank` sizes.
    pub dims: *const i64,
}

/// One call for all indices of the mapped axis.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RuleOnce {
    /// Size of this struct as the rule knows it.
    pub struct_size: usize,
    /// For each operand, the dimension at which it has the mapped axis; -1 for an operand that is passed
    /// unchanged.
    pub operands: *const i64,
    /// Number of operands.
    pub operand_count: usize,
    /// For each result, the dimension that is the axis.
    pub results: *const i64,
    /// Number of results.
    pub result_count: usize,
    /// Attributes that differ from the [`RuleCall`]'s; may be null.
    pub attrs: *const Attrs,
}
