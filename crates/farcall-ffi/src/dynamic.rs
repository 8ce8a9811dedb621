//! Handlers whose parameters are only known at run time, such as handlers in another language.
//!
//! [`enter`] is for these handlers what the trampoline is for functions with `#[handler]`: it checks the
//! frame, answers requests for metadata, catches panics and passes errors to the host. These handlers declare
//! no parameters, so a frame is not compared with a declaration: the handler gets every operand, result and
//! attribute of the frame.

use std::ptr::null_mut;

use farcall_sig::{AttrValue, AttrValues, DType};

use crate::abi;
use crate::attr::{Attr, Dict};
use crate::buffer::{AnyBuffer, View};
use crate::decode::{Buffers, Decoder, malformed};
use crate::error::{Boxed, Error, Result};
use crate::host::host_of;
use crate::trampoline::{self, EntryInfo};
use crate::unwind::catch;

/// Name of the handler in messages about a frame that is being decoded.
const HANDLER_NAME: &str = "handler";

/// Maximum nesting depth of dictionaries. Foreign attributes might be cyclic.
const MAX_DICT_DEPTH: usize = 64;

/// A call: operands and attributes, and memory for results.
///
/// Operands and results are in the order of the call. An operand shares memory with a result only if the
/// program declares it (`output_operand_aliases`).
#[derive(Debug)]
pub struct DynamicCall {
    operands: Vec<Option<View>>,
    results: Vec<Option<View>>,
    attributes: *const abi::Attrs,
    api: *const abi::Api,
}

/// An operand or a result.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    /// Element type.
    pub dtype: DType,
    /// Sizes of the dimensions.
    pub dims: &'a [usize],
    /// First element, row-major, aligned for the element type; dangling if there are no elements.
    pub data: *mut u8,
    /// Size of the elements in bytes.
    pub bytes: usize,
}

impl DynamicCall {
    /// Returns true if the call comes from the host with this function table.
    pub fn is_from(&self, api: *const abi::Api) -> bool {
        self.api == api
    }

    /// Operands, which are valid for reads until the handler returns; `None` for a token.
    pub fn operands(&self) -> impl ExactSizeIterator<Item = Option<Tensor<'_>>> {
        self.operands.iter().map(|view| view.as_ref().map(tensor))
    }

    /// Results, which are valid for writes until the handler returns; `None` for a token. Their initial
    /// contents are unspecified.
    pub fn results(&self) -> impl ExactSizeIterator<Item = Option<Tensor<'_>>> {
        self.results.iter().map(|view| view.as_ref().map(tensor))
    }

    /// Attributes by name.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, naming the attribute, if it cannot be read.
    pub fn attributes(&self) -> Result<AttrValues> {
        // SAFETY: `is_call` checked the struct, which stays valid during the call.
        let dict = unsafe { Dict::check(self.attributes) }.map_err(Error::invalid_argument)?;
        Ok(entries(dict, 0)?.into_iter().collect())
    }
}

/// Enters a handler whose parameters are only known at run time. Returns the value that the handler's
/// `extern "C"` function must return.
///
/// `name` is the handler's name in messages. An error or a panic of `handler` becomes the call's error.
///
/// # Safety
/// `frame` is null or a call frame as defined by XLA's C interface.
pub unsafe fn enter(
    frame: *mut abi::CallFrame,
    name: &str,
    handler: impl FnOnce(&DynamicCall) -> Result<()>,
) -> *mut abi::Error {
    // SAFETY: the caller guarantees that the frame is null or valid (`# Safety` above).
    let Some(host) = (unsafe { host_of(frame) }) else {
        return trampoline::print_error(name, &malformed(name, "it has no host"));
    };
    // SAFETY: the caller guarantees that the frame is null or valid (`# Safety` above).
    match catch(|| unsafe { run(frame, handler) }) {
        Ok(Ok(())) => null_mut(),
        Ok(Err(error)) => trampoline::fail(&host, name, *error),
        Err(panic) => trampoline::fail(&host, name, trampoline::panicked(name, panic)),
    }
}

unsafe fn run(frame: *mut abi::CallFrame, handler: impl FnOnce(&DynamicCall) -> Result<()>) -> Boxed {
    const INFO: EntryInfo =
        EntryInfo { name: HANDLER_NAME, stage: abi::Stage::EXECUTE, traits: 0, state: None };
    // SAFETY: the caller, `enter`, guarantees that the frame is valid.
    if !unsafe { trampoline::is_call(frame, &INFO) }? {
        return Ok(());
    }
    // SAFETY: `is_call` checked the frame, which stays valid during the call.
    let decoder = unsafe { Decoder::new(frame, HANDLER_NAME) };
    let (operands, results, attributes) = decoder.tables();
    // SAFETY: `is_call` checked the frame, which stays valid during the call.
    let api = unsafe { (*frame).api };
    let call = DynamicCall { operands: views(operands)?, results: views(results)?, attributes, api };
    Ok(handler(&call)?)
}

/// Reads the buffers of a table.
fn views(mut buffers: Buffers) -> Boxed<Vec<Option<View>>> {
    let mut views = Vec::with_capacity(buffers.len());
    for i in 0..buffers.len() {
        if buffers.dtype(i) == Some(abi::DataType::TOKEN) {
            buffers.skip();
            views.push(None);
            continue;
        }
        let mut view = View::EMPTY;
        buffers.next::<AnyBuffer>(HANDLER_NAME, "of any type", view.unread())?;
        views.push(Some(view));
    }
    Ok(views)
}

fn tensor(view: &View) -> Tensor<'_> {
    let (start, end) = view.span();
    // A dangling pointer with the largest alignment, whatever type the elements are cast to.
    let data = if start == end { std::ptr::dangling_mut::<u128>().cast() } else { view.data() };
    Tensor { dtype: view.dtype(), dims: view.dims(), data, bytes: end - start }
}

fn entries(dict: &Dict, depth: usize) -> Result<Vec<(String, AttrValue)>> {
    dict.check_names().map_err(Error::invalid_argument)?;
    dict.iter().map(|(name, attr)| Ok((name.to_string(), value(&name, attr, depth)?))).collect()
}

fn value(name: &str, attr: Attr<'_>, depth: usize) -> Result<AttrValue> {
    if let Some(value) = attr.to_value() {
        return Ok(value);
    }
    let in_attribute = |error: Error| error.context(format_args!("attribute {name}"));
    let dict: &Dict =
        attr.get().map_err(|_| in_attribute(attr.mismatch("a number, array, string or dictionary")))?;
    if depth == MAX_DICT_DEPTH {
        let message = format!("has dictionaries more than {MAX_DICT_DEPTH} deep");
        return Err(in_attribute(Error::invalid_argument(message)));
    }
    Ok(AttrValue::Dict(entries(dict, depth + 1).map_err(in_attribute)?))
}
