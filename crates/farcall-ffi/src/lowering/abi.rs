//! Structs through which a host calls a library's lowering for a block, and the lowering answers.
//! `include/farcall/lowering.h` declares them for C.
//!
//! A lowering is a function of type [`LowerFn`]. It is called with a [`LowerQuestion`], and answers by
//! calling one of the functions in that struct before it returns. A lowering that calls no function has not
//! answered. A pointer that one side passes to a function of the other is only valid until this function
//! returns.
//!
//! Libraries that are built with `farcall-ffi` list lowerings with their ops
//! ([`OpDescriptor`](crate::descriptor::OpDescriptor)). Other libraries export the function [`SYMBOL`].
//!
//! Members are only added at the end. If `struct_size` does not cover a member that a lowering needs, the
//! lowering does not answer.

use std::ffi::c_void;

use crate::abi::{Attrs, ByteSpan, DataType};

/// A lowering; its argument is a [`LowerQuestion`].
pub type LowerFn = unsafe extern "C" fn(question: *mut c_void);

/// Name of the function that a library without a descriptor exports, of type [`LoweringsFn`].
pub const SYMBOL: &str = "farcall_lowerings_v1";

/// Type of the exported function. Returns the library's lowerings, which stay valid as long as the library is
/// loaded.
pub type LoweringsFn = unsafe extern "C" fn() -> *const LoweringTable;

/// The lowerings of a library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LoweringTable {
    /// Size of this struct as the library knows it.
    pub struct_size: usize,
    /// `lowering_count` lowerings, `lowering_stride` bytes apart.
    pub lowerings: *const LoweringEntry,
    /// Number of lowerings.
    pub lowering_count: usize,
    /// Distance between lowerings in bytes.
    pub lowering_stride: usize,
}

/// A lowering of a library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LoweringEntry {
    /// Tag of the blocks that the lowering is called for.
    pub tag: ByteSpan,
    /// Platform of the programs that the lowering is called for; empty for any.
    pub platform: ByteSpan,
    /// The function.
    pub lower: Option<LowerFn>,
}

/// A block to be lowered, and the functions to answer with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LowerQuestion {
    /// Size of this struct as the host knows it.
    pub struct_size: usize,
    /// Tag of the block.
    pub tag: ByteSpan,
    /// Version of the tag's meaning.
    pub version: i64,
    /// Options of the block that can be represented in the C interface.
    pub values: *const Attrs,
    /// All options of the block as text in MLIR's syntax: `option_count` texts, `text_stride` bytes apart.
    pub options: *const NamedText,
    /// Number of options.
    pub option_count: usize,
    /// Options of the client: `client_option_count` texts, `text_stride` bytes apart.
    pub client_options: *const NamedText,
    /// Number of the client's options.
    pub client_option_count: usize,
    /// Distance between options in bytes.
    pub text_stride: usize,
    /// `operand_count` operands, `tensor_stride` bytes apart.
    pub operands: *const Template,
    /// Number of operands.
    pub operand_count: usize,
    /// `result_count` results, `tensor_stride` bytes apart.
    pub results: *const Template,
    /// Number of results.
    pub result_count: usize,
    /// Distance between operands, and between results, in bytes.
    pub tensor_stride: usize,
    /// Platform that the program is compiled for: `Host`, `CUDA`.
    pub platform: ByteSpan,
    /// Name of the engine that compiles the program.
    pub engine: ByteSpan,
    /// Version of the engine.
    pub engine_version: ByteSpan,
    /// First argument of the functions below.
    pub host: *mut c_void,
    /// Reports an error, in UTF-8, which fails the compilation.
    pub fail: Option<unsafe extern "C" fn(host: *mut c_void, message: ByteSpan)>,
    /// Skips the block, with a reason in UTF-8.
    pub skip: Option<unsafe extern "C" fn(host: *mut c_void, reason: ByteSpan)>,
    /// Replaces the block with a custom call.
    pub call: Option<unsafe extern "C" fn(host: *mut c_void, call: *const LowerCall)>,
}

/// A name and its text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NamedText {
    /// Name.
    pub name: ByteSpan,
    /// Text.
    pub text: ByteSpan,
}

/// Type of an operand or a result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Element type.
    pub dtype: DataType,
    /// Reserved; 0.
    pub reserved: u32,
    /// Number of dimensions.
    pub rank: usize,
    /// `rank` sizes.
    pub dims: *const i64,
}

/// A custom call that replaces a block. Operands and results that are not mentioned have the block's types
/// and a row-major layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LowerCall {
    /// Size of this struct as the library knows it.
    pub struct_size: usize,
    /// Name of the target.
    pub target: ByteSpan,
    /// Attributes in the form of the C interface; may be null.
    pub values: *const Attrs,
    /// Further attributes, as text in MLIR's syntax.
    pub attributes: *const NamedText,
    /// Number of `attributes`.
    pub attribute_count: usize,
    /// Operands that the target takes with another element type.
    pub operand_types: *const NumberedType,
    /// Number of `operand_types`.
    pub operand_type_count: usize,
    /// Results that the target returns with another element type.
    pub result_types: *const NumberedType,
    /// Number of `result_types`.
    pub result_type_count: usize,
    /// Layouts of operands.
    pub operand_layouts: *const NumberedLayout,
    /// Number of `operand_layouts`.
    pub operand_layout_count: usize,
    /// Layouts of results.
    pub result_layouts: *const NumberedLayout,
    /// Number of `result_layouts`.
    pub result_layout_count: usize,
    /// Results that share memory with operands.
    pub aliases: *const Alias,
    /// Number of `aliases`.
    pub alias_count: usize,
    /// Nonzero if the call has effects besides its results.
    pub has_side_effect: u32,
    /// Reserved; 0.
    pub reserved: u32,
}

/// Element type of an operand or a result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NumberedType {
    /// Index of the operand or result.
    pub index: usize,
    /// Element type.
    pub dtype: DataType,
    /// Reserved; 0.
    pub reserved: u32,
}

/// Layout of an operand or a result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NumberedLayout {
    /// Index of the operand or result.
    pub index: usize,
    /// Dimensions, from the fastest-varying in memory to the slowest.
    pub minor_to_major: *const i64,
    /// Number of dimensions.
    pub rank: usize,
}

/// A result in the memory of an operand.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// Index of the result.
    pub result: usize,
    /// Index of the operand.
    pub operand: usize,
}

/// A checked [`LoweringEntry`].
#[derive(Clone, Copy, Debug)]
pub struct CheckedEntry<'a> {
    /// Tag of the blocks that the lowering is called for.
    pub tag: &'a str,
    /// Platform of the programs that the lowering is called for; empty for any.
    pub platform: &'a str,
    /// The function.
    pub lower: LowerFn,
}

/// Reads and checks the lowerings of a library's table.
///
/// # Errors
/// A description of the problem, if the table is malformed.
///
/// # Safety
/// `lowerings` is null or was returned by the [`SYMBOL`] of a library that stays loaded during `'a`.
pub unsafe fn entries<'a>(lowerings: *const LoweringTable) -> Result<Vec<CheckedEntry<'a>>, &'static str> {
    if lowerings.is_null() || !lowerings.is_aligned() {
        return Err("it is null or misaligned");
    }
    // SAFETY: the pointer is neither null nor misaligned, and the size is the first member.
    if unsafe { (*lowerings).struct_size } < size_of::<LoweringTable>() {
        return Err("its struct_size is too small");
    }
    // SAFETY: the size covers all members.
    let LoweringTable { lowerings, lowering_count, lowering_stride, .. } = unsafe { lowerings.read() };
    // SAFETY: the table is one of a library, as the caller guarantees (`# Safety` above).
    let entries = unsafe { table(lowerings, lowering_count, lowering_stride) };
    let entries: Vec<LoweringEntry> = entries.ok_or("its entries are null or misaligned, or too many")?;
    let read = |entry: LoweringEntry| {
        let LoweringEntry { tag, platform, lower } = entry;
        // SAFETY: texts of the library, which stays loaded, as the caller guarantees (`# Safety` above).
        let text = |span: ByteSpan| std::str::from_utf8(unsafe { span.as_bytes() });
        let text = |span| text(span).map_err(|_| "a tag or platform is not UTF-8");
        let lower = lower.ok_or("a lowering has no function")?;
        match text(tag)? {
            "" => Err("a lowering has no tag"),
            tag => Ok(CheckedEntry { tag, platform: text(platform)?, lower }),
        }
    };
    entries.into_iter().map(read).collect()
}

/// Copies the members of a foreign table; `None` if it is malformed.
///
/// # Safety
/// `first` points to `count` members, `stride` bytes apart, unless `first` is null or misaligned, or `stride`
/// is too small or misaligned.
pub unsafe fn table<T: Copy>(first: *const T, count: usize, stride: usize) -> Option<Vec<T>> {
    if count == 0 {
        return Some(Vec::new());
    }
    let size = count.checked_mul(stride).filter(|size| *size <= isize::MAX as usize);
    let strides = stride >= size_of::<T>() && stride.is_multiple_of(align_of::<T>());
    if first.is_null() || !first.is_aligned() || !strides || size.is_none() {
        return None;
    }
    // SAFETY: pointer and stride were checked, and the caller guarantees the members (`# Safety` above).
    Some((0..count).map(|i| unsafe { first.byte_add(i * stride).read() }).collect())
}
