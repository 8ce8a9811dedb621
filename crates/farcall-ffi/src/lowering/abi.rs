//! The structs through which a host asks a library's lowering about a block, and the lowering answers.
//! `include/farcall/lowering.h` has the same for C.
//!
//! A lowering is a function of type [`LowerFn`]. It is called with a [`LowerQuestion`], and answers by calling one of
//! the functions in it before it returns; one that calls none has not answered. Neither side uses what it was passed
//! after the function that it was passed to has returned.
//!
//! Libraries that `farcall-ffi` builds list lowerings with their ops ([`OpDescriptor`](crate::descriptor::OpDescriptor)).
//! Others export the function [`SYMBOL`].
//!
//! Members are added at the end. A lowering that needs a member that `struct_size` does not cover does not answer.

use std::ffi::c_void;

use crate::abi::{Attrs, ByteSpan, DataType};

/// A lowering; its argument is a [`LowerQuestion`].
pub type LowerFn = unsafe extern "C" fn(question: *mut c_void);

/// Name of the function that a library without a descriptor exports, of type [`LoweringsFn`].
pub const SYMBOL: &str = "farcall_lowerings_v1";

/// Type of the exported function: the library's lowerings, which stay as long as it is loaded.
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
    /// Bytes from one lowering to the next.
    pub lowering_stride: usize,
}

/// A lowering of a library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LoweringEntry {
    /// Tag of the blocks that it is asked about.
    pub tag: ByteSpan,
    /// Platform of the programs that it is asked for; empty for any.
    pub platform: ByteSpan,
    /// The function.
    pub lower: Option<LowerFn>,
}

/// A block, and how to say what becomes of it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LowerQuestion {
    /// Size of this struct as the host knows it.
    pub struct_size: usize,
    /// What the block stands for.
    pub tag: ByteSpan,
    /// Version of the tag's meaning.
    pub version: i64,
    /// Those options of the block that the C interface has a form for.
    pub values: *const Attrs,
    /// All options of the block as text in MLIR's syntax: `option_count` of them, `text_stride` bytes apart.
    pub options: *const NamedText,
    /// Number of options.
    pub option_count: usize,
    /// The client's own options: `client_option_count` of them, `text_stride` bytes apart.
    pub client_options: *const NamedText,
    /// Number of the client's options.
    pub client_option_count: usize,
    /// Bytes from one option to the next.
    pub text_stride: usize,
    /// `operand_count` operands, `tensor_stride` bytes apart.
    pub operands: *const Template,
    /// Number of operands.
    pub operand_count: usize,
    /// `result_count` results, `tensor_stride` bytes apart.
    pub results: *const Template,
    /// Number of results.
    pub result_count: usize,
    /// Bytes from one operand or result to the next.
    pub tensor_stride: usize,
    /// The platform that the program is compiled for: `Host`, `CUDA`.
    pub platform: ByteSpan,
    /// Name of the engine that compiles it.
    pub engine: ByteSpan,
    /// Version of the engine.
    pub engine_version: ByteSpan,
    /// First argument of the functions below.
    pub host: *mut c_void,
    /// Says why there is no answer, in UTF-8: the program is not compiled.
    pub fail: Option<unsafe extern "C" fn(host: *mut c_void, message: ByteSpan)>,
    /// Leaves the block to others, for this reason, in UTF-8.
    pub skip: Option<unsafe extern "C" fn(host: *mut c_void, reason: ByteSpan)>,
    /// Puts a custom call in the place of the block.
    pub call: Option<unsafe extern "C" fn(host: *mut c_void, call: *const LowerCall)>,
}

/// A name and a text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NamedText {
    /// The name.
    pub name: ByteSpan,
    /// The text.
    pub text: ByteSpan,
}

/// The type of an operand or a result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Its element type.
    pub dtype: DataType,
    /// Reserved; 0.
    pub reserved: u32,
    /// Number of dimensions.
    pub rank: usize,
    /// `rank` sizes.
    pub dims: *const i64,
}

/// A custom call in the place of a block. Operands and results that are not mentioned have the block's types, and lie
/// row-major.
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
    /// Number of these.
    pub attribute_count: usize,
    /// Operands that the target takes with another element type.
    pub operand_types: *const NumberedType,
    /// Number of these.
    pub operand_type_count: usize,
    /// Results that the target gives with another element type.
    pub result_types: *const NumberedType,
    /// Number of these.
    pub result_type_count: usize,
    /// Layouts of operands.
    pub operand_layouts: *const NumberedLayout,
    /// Number of these.
    pub operand_layout_count: usize,
    /// Layouts of results.
    pub result_layouts: *const NumberedLayout,
    /// Number of these.
    pub result_layout_count: usize,
    /// Results that share memory with operands.
    pub aliases: *const Alias,
    /// Number of these.
    pub alias_count: usize,
    /// Not 0 if the call does something besides computing its results.
    pub has_side_effect: u32,
    /// Reserved; 0.
    pub reserved: u32,
}

/// The element type of the operand or result of this number.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NumberedType {
    /// Which one.
    pub index: usize,
    /// Its element type.
    pub dtype: DataType,
    /// Reserved; 0.
    pub reserved: u32,
}

/// The layout of the operand or result of this number.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NumberedLayout {
    /// Which one.
    pub index: usize,
    /// Its dimensions, from the fastest in memory to the slowest.
    pub minor_to_major: *const i64,
    /// Number of dimensions.
    pub rank: usize,
}

/// A result in the memory of an operand.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// Which result.
    pub result: usize,
    /// Which operand.
    pub operand: usize,
}

/// A lowering of a table, read.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Tag of the blocks that it is asked about.
    pub tag: &'a str,
    /// Platform of the programs that it is asked for; empty for any.
    pub platform: &'a str,
    /// The function.
    pub lower: LowerFn,
}

/// The lowerings of a library's table.
///
/// # Errors
/// What is wrong with the table.
///
/// # Safety
/// `lowerings` is null or came from a library's [`SYMBOL`], which stays loaded during `'a`.
pub unsafe fn entries<'a>(lowerings: *const LoweringTable) -> Result<Vec<Entry<'a>>, &'static str> {
    if lowerings.is_null() || !lowerings.is_aligned() {
        return Err("it is null or misaligned");
    }
    // SAFETY: not null and aligned; the size comes first.
    if unsafe { (*lowerings).struct_size } < size_of::<LoweringTable>() {
        return Err("its struct_size is too small");
    }
    // SAFETY: the size covers all members.
    let LoweringTable { lowerings, lowering_count, lowering_stride, .. } = unsafe { lowerings.read() };
    // SAFETY: the caller's promise.
    let entries = unsafe { table(lowerings, lowering_count, lowering_stride) };
    let entries: Vec<LoweringEntry> = entries.ok_or("its entries are null or misaligned, or too many")?;
    let read = |entry: LoweringEntry| {
        let LoweringEntry { tag, platform, lower } = entry;
        // SAFETY: the caller's promise: texts of the library.
        let text = |span: ByteSpan| std::str::from_utf8(unsafe { span.as_bytes() });
        let text = |span| text(span).map_err(|_| "a tag or platform is not UTF-8");
        let lower = lower.ok_or("a lowering has no function")?;
        match text(tag)? {
            "" => Err("a lowering has no tag"),
            tag => Ok(Entry { tag, platform: text(platform)?, lower }),
        }
    };
    entries.into_iter().map(read).collect()
}

/// The members of a table that the other side made; none if it cannot be one.
///
/// # Safety
/// Unless it is null or misaligned, or the stride too small or misaligned, `first` leads to `count` members, `stride`
/// bytes apart.
pub unsafe fn table<T: Copy>(first: *const T, count: usize, stride: usize) -> Option<Vec<T>> {
    if count == 0 {
        return Some(Vec::new());
    }
    let size = count.checked_mul(stride).filter(|size| *size <= isize::MAX as usize);
    let strides = stride >= size_of::<T>() && stride.is_multiple_of(align_of::<T>());
    if first.is_null() || !first.is_aligned() || !strides || size.is_none() {
        return None;
    }
    // SAFETY: the caller's promise; the checks above.
    Some((0..count).map(|i| unsafe { first.byte_add(i * stride).read() }).collect())
}
