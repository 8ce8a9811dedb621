//! The structs through which a host calls a rule, and a rule answers.
//!
//! A rule is a function of type [`RuleFn`] in an op's descriptor. It is called with a [`RuleCall`], and answers by
//! calling the functions in it before it returns; a rule that calls none has not answered. Neither side uses what it
//! was passed after the function that it was passed to has returned.
//!
//! Members are added at the end. A rule that needs a member that `struct_size` does not cover does not answer.

use std::ffi::c_void;

use crate::abi::{Attrs, ByteSpan, DataType};

/// A rule; its argument is a [`RuleCall`].
pub type RuleFn = unsafe extern "C" fn(call: *mut c_void);

/// A question to a rule, and how to answer it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RuleCall {
    /// Size of this struct as the host knows it.
    pub struct_size: usize,
    /// The attributes of the call, all of them.
    pub attrs: *const Attrs,
    /// `operand_count` operands, `operand_stride` bytes apart.
    pub operands: *const RuleOperand,
    /// Number of operands.
    pub operand_count: usize,
    /// Bytes from one operand to the next.
    pub operand_stride: usize,
    /// For a batching function, the size of the mapped axis; else -1.
    pub axis_size: i64,
    /// First argument of the functions below.
    pub host: *mut c_void,
    /// Says why there is no answer, in UTF-8.
    pub fail: Option<unsafe extern "C" fn(host: *mut c_void, message: ByteSpan)>,
    /// A shape function's answer for the next result that is written `[..]` and aliases no operand.
    pub shape: Option<unsafe extern "C" fn(host: *mut c_void, dims: *const i64, rank: usize)>,
    /// A batching function's answer: one call for each index, for this reason.
    pub each: Option<unsafe extern "C" fn(host: *mut c_void, reason: ByteSpan)>,
    /// A batching function's answer: one call for all indices.
    pub once: Option<unsafe extern "C" fn(host: *mut c_void, call: *const RuleOnce)>,
}

/// The type of an operand of a [`RuleCall`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RuleOperand {
    /// Its element type.
    pub dtype: DataType,
    /// For a batching function, 1 if it has the mapped axis; else 0.
    pub batched: u32,
    /// Number of dimensions, without the mapped axis.
    pub rank: usize,
    /// `rank` sizes.
    pub dims: *const i64,
}

/// One call in place of one for each index of the mapped axis.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RuleOnce {
    /// Size of this struct as the rule knows it.
    pub struct_size: usize,
    /// For each operand, which dimension the axis becomes; -1 for an operand that is left as it is.
    pub operands: *const i64,
    /// Number of operands.
    pub operand_count: usize,
    /// For each result, which dimension is the axis.
    pub results: *const i64,
    /// Number of results.
    pub result_count: usize,
    /// The attributes that differ from those of the question; may be null.
    pub attrs: *const Attrs,
}
