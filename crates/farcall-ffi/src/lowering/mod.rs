//! Lowerings: replacing blocks with custom calls when a program is compiled.
//!
//! A *block* is a part of a program with a tag, options, inputs and outputs, and a default body that computes
//! the outputs: a `stablehlo.composite`, as made by `jax.lax.composite`. A *lowering* for a tag is called for
//! each block with that tag. It answers with a custom call that replaces the block, or skips the block and
//! gives a reason.
//!
//! A library declares that a handler lowers a tag with `#[lowers]` below `#[handler]`. Without a lowering
//! function, the handler is called if the block fits its signature: operands by position, options as the
//! attributes of the same names, and results of the types that the signature derives.
//!
//! ```
//! use farcall_ffi::prelude::*;
//!
//! #[handler(name = "halve_f32")]
//! #[signature((x: f32[*]) -> (y: f32[*]))]
//! #[lowers("my.halve", with = lower_halve)]
//! fn halve(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
//! #   let _ = (x, y);
//!     // …
//!     Ok(())
//! }
//!
//! /// Lowers blocks of `f32`, and converts integers to `f32`.
//! fn lower_halve(block: &Block<'_>) -> Result<Lowered> {
//!     let [x] = block.operands() else { return Ok(Lowered::Skip("it takes one operand".into())) };
//!     Ok(match x.dtype {
//!         DType::F32 => TargetCall::new("halve_f32").into(),
//!         dtype if dtype.is_integer() => TargetCall::new("halve_f32").operand_type(0, DType::F32).into(),
//!         dtype => Lowered::Skip(format!("there is no handler for {dtype}")),
//!     })
//! }
//! ```
//!
//! Lowerings are called while a program is compiled, and never while it runs. Their answers must only depend
//! on their arguments. Applications can also write lowerings in this form
//! (`farcall::Registry::register_lowering`).
//!
//! **Invariants.** Arguments from a host are checked like a call frame. A panic becomes an error.

use std::ffi::c_void;

use farcall_sig::signature::OperandType;
use farcall_sig::{AttrValue, DType};

use crate::abi::{ByteSpan, DataType};
use crate::arena::Arena;
use crate::attr::{Attrs, Dict, FromAttr};
use crate::encode::{Encoded, encode_attrs};
use crate::error::{Error, Result};
use crate::rules::answer;

pub mod abi;

use abi::{Alias, LowerCall, LowerQuestion, NamedText, NumberedLayout, NumberedType, Template, table};

/// A block to be lowered: a composite with static shapes.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    tag: &'a str,
    version: i64,
    options: Options<'a>,
    operands: Vec<OperandType<'a>>,
    results: Vec<OperandType<'a>>,
    client: LoweringClient<'a>,
}

impl<'a> Block<'a> {
    /// Makes a block, for hosts and tests.
    pub fn new(
        (tag, version): (&'a str, i64),
        options: Options<'a>,
        operands: Vec<OperandType<'a>>,
        results: Vec<OperandType<'a>>,
        client: LoweringClient<'a>,
    ) -> Block<'a> {
        Block { tag, version, options, operands, results, client }
    }

    /// Tag of the block: the name of the composite.
    pub fn tag(&self) -> &'a str {
        self.tag
    }

    /// Version of the tag's meaning, from the program.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// Types of the inputs.
    pub fn operands(&self) -> &[OperandType<'a>] {
        &self.operands
    }

    /// Types of the outputs.
    pub fn results(&self) -> &[OperandType<'a>] {
        &self.results
    }

    /// Target and compiler of the program.
    pub fn client(&self) -> &LoweringClient<'a> {
        &self.client
    }

    /// Returns the option of this name, which must have exactly this type. JAX passes Python's numbers as
    /// `f64` and `i64`; options that become attributes of a call are converted to the types in the target's
    /// signature.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, naming the option, if it is missing or has another type.
    pub fn option<T: FromAttr<'a>>(&self, name: &str) -> Result<T> {
        self.options.values.get(name)
    }

    /// Returns an option that may be missing.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, naming the option, if it has another type.
    pub fn option_opt<T: FromAttr<'a>>(&self, name: &str) -> Result<Option<T>> {
        self.options.values.get_opt(name)
    }

    /// All options.
    pub fn options(&self) -> &Options<'a> {
        &self.options
    }
}

/// Options of a block: the attributes of the composite.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    values: &'a Attrs,
    texts: Vec<(&'a str, &'a str)>,
}

impl<'a> Options<'a> {
    /// Makes options, with the text of each in MLIR's syntax; for hosts and tests.
    pub fn new(values: &'a Encoded, texts: Vec<(&'a str, &'a str)>) -> Options<'a> {
        Options { values: values.attrs(), texts }
    }

    /// Options that are numbers, strings, arrays of numbers or dictionaries of these.
    pub fn values(&self) -> &'a Attrs {
        self.values
    }

    /// Names and texts of all options: `("eps", "1.000000e-05 : f32")`.
    pub fn texts(&self) -> &[(&'a str, &'a str)] {
        &self.texts
    }

    /// Text of the option of this name.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.texts.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }
}

/// The platform that a program is compiled for, and the engine that compiles it.
#[derive(Clone, Debug)]
pub struct LoweringClient<'a> {
    platform: &'a str,
    engine: &'a str,
    version: &'a str,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> LoweringClient<'a> {
    /// Makes a client, for hosts and tests.
    pub fn new(
        platform: &'a str,
        (engine, version): (&'a str, &'a str),
        options: Vec<(&'a str, &'a str)>,
    ) -> LoweringClient<'a> {
        LoweringClient { platform, engine, version, options }
    }

    /// Canonical name of the device's platform: `Host`, `CUDA`.
    pub fn platform(&self) -> &'a str {
        self.platform
    }

    /// Name of the engine: `farcall`.
    pub fn engine(&self) -> &'a str {
        self.engine
    }

    /// Version of the engine.
    pub fn version(&self) -> &'a str {
        self.version
    }

    /// Value of an option of the engine: `denormals`, `semantics`.
    pub fn option(&self, name: &str) -> Option<&'a str> {
        self.options.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Names and values of all options of the engine.
    pub fn options(&self) -> &[(&'a str, &'a str)] {
        &self.options
    }
}

/// Answer of a lowering.
#[derive(Clone, PartialEq, Debug)]
pub enum Lowered {
    /// The block is left to the next lowering for its tag, or to its default body, for this reason.
    Skip(String),
    /// A custom call replaces the block.
    Call(TargetCall),
}

impl Lowered {
    /// Skips the block; `reason` explains why, for people.
    pub fn skip(reason: impl Into<String>) -> Lowered {
        Lowered::Skip(reason.into())
    }
}

impl From<TargetCall> for Lowered {
    fn from(call: TargetCall) -> Lowered {
        Lowered::Call(call)
    }
}

/// A custom call that replaces a block. By default, it takes the block's operands and returns its results,
/// with the block's types and row-major layouts. Attributes that the target declares and the call does not
/// set are the block's options of the same names, or else the defaults.
///
/// If the target is not registered for the platform, or the call does not fit the target's signature, the
/// block is skipped. A call that can never be valid (because it mentions an operand that does not exist, for
/// example) is an error.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct TargetCall {
    /// Name of the target.
    pub target: String,
    /// Attributes by name.
    pub attrs: Vec<(String, CallAttr)>,
    /// Operands that are converted to another element type.
    pub operand_types: Vec<(usize, DType)>,
    /// Results that the target returns with another element type, and that are converted to the block's.
    pub result_types: Vec<(usize, DType)>,
    /// Layouts of operands: dimensions from the fastest-varying in memory to the slowest.
    pub operand_layouts: Vec<(usize, Vec<usize>)>,
    /// Layouts of results.
    pub result_layouts: Vec<(usize, Vec<usize>)>,
    /// Results that share memory with operands, as (result, operand).
    pub aliases: Vec<(usize, usize)>,
    /// True if the call has effects besides its results, so that it must run exactly once, in the order of
    /// the program.
    pub has_side_effect: bool,
}

/// An attribute of a [`TargetCall`].
#[derive(Clone, PartialEq, Debug)]
pub enum CallAttr {
    /// A value.
    Value(AttrValue),
    /// Text in MLIR's syntax: `42 : i64`.
    Text(String),
}

impl TargetCall {
    /// Makes a call of a target with all defaults.
    pub fn new(target: impl Into<String>) -> TargetCall {
        TargetCall {
            target: target.into(),
            attrs: Vec::new(),
            operand_types: Vec::new(),
            result_types: Vec::new(),
            operand_layouts: Vec::new(),
            result_layouts: Vec::new(),
            aliases: Vec::new(),
            has_side_effect: false,
        }
    }

    /// Passes an attribute.
    #[must_use]
    pub fn attr(mut self, name: impl Into<String>, value: impl Into<AttrValue>) -> TargetCall {
        self.attrs.push((name.into(), CallAttr::Value(value.into())));
        self
    }

    /// Passes an attribute as text in MLIR's syntax: `42 : i64`, `dense<[1, 2]> : tensor<2xi32>`.
    #[must_use]
    pub fn attr_text(mut self, name: impl Into<String>, text: impl Into<String>) -> TargetCall {
        self.attrs.push((name.into(), CallAttr::Text(text.into())));
        self
    }

    /// Converts an operand to another element type before the call.
    #[must_use]
    pub fn operand_type(mut self, index: usize, dtype: DType) -> TargetCall {
        self.operand_types.push((index, dtype));
        self
    }

    /// Sets the element type with which the target returns a result. The result is converted to the block's.
    #[must_use]
    pub fn result_type(mut self, index: usize, dtype: DType) -> TargetCall {
        self.result_types.push((index, dtype));
        self
    }

    /// Sets the layout of an operand in memory: its dimensions from the fastest-varying to the slowest.
    #[must_use]
    pub fn operand_layout(
        mut self,
        index: usize,
        minor_to_major: impl IntoIterator<Item = usize>,
    ) -> TargetCall {
        self.operand_layouts.push((index, minor_to_major.into_iter().collect()));
        self
    }

    /// Sets the layout of a result in memory: its dimensions from the fastest-varying to the slowest.
    #[must_use]
    pub fn result_layout(
        mut self,
        index: usize,
        minor_to_major: impl IntoIterator<Item = usize>,
    ) -> TargetCall {
        self.result_layouts.push((index, minor_to_major.into_iter().collect()));
        self
    }

    /// Marks the call as having effects besides its results. (Unnecessary for a target whose signature
    /// declares them.)
    #[must_use]
    pub fn side_effect(mut self) -> TargetCall {
        self.has_side_effect = true;
        self
    }

    /// Puts a result in the memory of an operand.
    #[must_use]
    pub fn alias(mut self, result: usize, operand: usize) -> TargetCall {
        self.aliases.push((result, operand));
        self
    }
}

// ---- Called by a host ----------------------------------------------------------------------

/// A lowering, as the macros name it.
#[doc(hidden)]
pub trait LowerRule {
    fn lower(block: &Block<'_>) -> Result<Lowered>;
}

/// Entry point of a lowering in the C interface.
///
/// # Safety
/// `question` is null or points to a valid [`LowerQuestion`].
#[doc(hidden)]
pub unsafe extern "C" fn lower_rule<R: LowerRule>(question: *mut c_void) {
    let question = question.cast::<LowerQuestion>();
    if question.is_null() || !question.is_aligned() {
        return;
    }
    // SAFETY: the pointer is neither null nor misaligned, and the size is the first member.
    if unsafe { (*question).struct_size } < size_of::<LowerQuestion>() {
        return;
    }
    // SAFETY: the size covers all members.
    let question = unsafe { question.read() };
    let (Some(skip), Some(call)) = (question.skip, question.call) else { return };
    answer(question.host, question.fail, "the lowering", || {
        // SAFETY: the question is valid, as the caller guarantees (`# Safety` above).
        let block = unsafe { Block::read(&question) }?;
        match R::lower(&block)? {
            // SAFETY: the host passed this function together with its argument.
            Lowered::Skip(reason) => unsafe { skip(question.host, ByteSpan::new(reason.as_bytes())) },
            // SAFETY: the host passed this function together with its argument.
            Lowered::Call(made) => made.tell(|made| unsafe { call(question.host, made) })?,
        }
        Ok(())
    });
}

impl<'a> Block<'a> {
    /// Reads and checks a question.
    ///
    /// # Safety
    /// Everything reachable from `question` stays valid during `'a`, and the lengths of its tables are right.
    unsafe fn read(question: &LowerQuestion) -> Result<Block<'a>> {
        let malformed =
            |what: &str| Error::invalid_argument(format!("the host's question is malformed: {what}"));
        if question.values.is_null() || !question.values.is_aligned() {
            return Err(malformed("there are no options"));
        }
        // SAFETY: the pointer is neither null nor misaligned, and the options stay valid.
        let values =
            unsafe { Dict::check(question.values) }.and_then(|dict| dict.check_names().map(|()| dict));
        let values = Attrs::from_dict(values.map_err(malformed)?);
        // SAFETY: the caller guarantees that texts stay valid (`# Safety` above).
        let text = |span: ByteSpan| std::str::from_utf8(unsafe { span.as_bytes() });
        let text = |span| text(span).map_err(|_| malformed("a text that is not UTF-8"));
        let texts = |first, count| {
            // SAFETY: the caller guarantees that the tables have these lengths (`# Safety` above).
            let all = unsafe { table::<NamedText>(first, count, question.text_stride) };
            let all = all.ok_or_else(|| malformed("a table of options"))?;
            all.iter().map(|one| Ok((text(one.name)?, text(one.text)?))).collect::<Result<Vec<_>>>()
        };
        let templates = |first, count| {
            // SAFETY: the caller guarantees that the tables have these lengths (`# Safety` above).
            let all = unsafe { table::<Template>(first, count, question.tensor_stride) };
            let all = all.ok_or_else(|| malformed("a table of operands or results"))?;
            // SAFETY: the caller guarantees that dimensions stay valid (`# Safety` above).
            all.iter().map(|one| unsafe { one.read() }.map_err(malformed)).collect::<Result<Vec<_>>>()
        };
        let engine = (text(question.engine)?, text(question.engine_version)?);
        let options = texts(question.client_options, question.client_option_count)?;
        Ok(Block {
            tag: text(question.tag)?,
            version: question.version,
            options: Options { values, texts: texts(question.options, question.option_count)? },
            operands: templates(question.operands, question.operand_count)?,
            results: templates(question.results, question.result_count)?,
            client: LoweringClient::new(text(question.platform)?, engine, options),
        })
    }
}

impl Template {
    /// Reads and checks the type of an operand or result.
    ///
    /// # Safety
    /// Unless null or misaligned, `dims` points to `rank` sizes that stay valid during `'a`.
    unsafe fn read<'a>(&self) -> std::result::Result<OperandType<'a>, &'static str> {
        let dtype = self.dtype.dtype().ok_or("the element type of an operand or result")?;
        let dims = match self.rank {
            0 => &[][..],
            rank if self.dims.is_null()
                || !self.dims.is_aligned()
                || rank > isize::MAX as usize / size_of::<i64>() =>
            {
                return Err("the dimensions of an operand or result");
            }
            // SAFETY: the pointer is neither null nor misaligned, and points to `rank` sizes that stay valid.
            rank => unsafe { std::slice::from_raw_parts(self.dims, rank) },
        };
        Ok(OperandType { dtype, dims })
    }
}

impl TargetCall {
    /// Passes the call, in the form of the C interface, to a function.
    fn tell(&self, say: impl FnOnce(*const LowerCall)) -> Result<()> {
        let mut values = farcall_sig::AttrValues::new();
        let mut texts = Vec::new();
        for (name, attr) in &self.attrs {
            match attr {
                CallAttr::Value(value) => values.insert(name, value.clone()),
                CallAttr::Text(text) => texts.push(NamedText {
                    name: ByteSpan::new(name.as_bytes()),
                    text: ByteSpan::new(text.as_bytes()),
                }),
            }
        }
        let mut arena = Arena::default();
        let values = encode_attrs(&mut arena, &values)?;
        let types = |types: &[(usize, DType)]| -> Vec<NumberedType> {
            let one = |(index, dtype): &(usize, DType)| NumberedType {
                index: *index,
                dtype: DataType::from_dtype(*dtype),
                reserved: 0,
            };
            types.iter().map(one).collect()
        };
        let orders = |layouts: &[(usize, Vec<usize>)]| -> Vec<Vec<i64>> {
            let dim = |dim: &usize| i64::try_from(*dim).unwrap_or(i64::MAX);
            layouts.iter().map(|(_, order)| order.iter().map(dim).collect()).collect()
        };
        let layouts = |layouts: &[(usize, Vec<usize>)], orders: &[Vec<i64>]| -> Vec<NumberedLayout> {
            let one = |((index, _), order): (&(usize, Vec<usize>), &Vec<i64>)| NumberedLayout {
                index: *index,
                minor_to_major: order.as_ptr(),
                rank: order.len(),
            };
            layouts.iter().zip(orders).map(one).collect()
        };
        let (operand_types, result_types) = (types(&self.operand_types), types(&self.result_types));
        let (operand_orders, result_orders) = (orders(&self.operand_layouts), orders(&self.result_layouts));
        let operand_layouts = layouts(&self.operand_layouts, &operand_orders);
        let result_layouts = layouts(&self.result_layouts, &result_orders);
        let alias = |(result, operand): &(usize, usize)| Alias { result: *result, operand: *operand };
        let aliases: Vec<Alias> = self.aliases.iter().map(alias).collect();
        let call = LowerCall {
            struct_size: size_of::<LowerCall>(),
            target: ByteSpan::new(self.target.as_bytes()),
            values: &raw const values,
            attributes: texts.as_ptr(),
            attribute_count: texts.len(),
            operand_types: operand_types.as_ptr(),
            operand_type_count: operand_types.len(),
            result_types: result_types.as_ptr(),
            result_type_count: result_types.len(),
            operand_layouts: operand_layouts.as_ptr(),
            operand_layout_count: operand_layouts.len(),
            result_layouts: result_layouts.as_ptr(),
            result_layout_count: result_layouts.len(),
            aliases: aliases.as_ptr(),
            alias_count: aliases.len(),
            has_side_effect: u32::from(self.has_side_effect),
            reserved: 0,
        };
        say(&raw const call);
        Ok(())
    }
}
