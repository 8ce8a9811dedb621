//! Handlers that learn what they are called with when they are called: those written in another language.
//!
//! [`enter`] is to such a handler what the trampoline is to a function below `#[handler]`: it checks the frame, answers
//! requests for metadata, catches panics and passes errors to the host. Nothing is declared, so nothing is compared
//! with a declaration: the handler gets every operand, result and attribute that the frame has.

use std::ptr::null_mut;

use farcall_sig::{AttrValue, Attrs, DType};

use crate::abi;
use crate::attr::{Attr, Dict};
use crate::buffer::{AnyBuffer, View};
use crate::decode::{Buffers, Decoder, malformed};
use crate::error::{Boxed, Error, Result};
use crate::trampoline::{self, Facts};
use crate::unwind::catch;

/// What messages call a handler that the frame was not decoded for yet.
const HANDLER: &str = "handler";

/// Dictionaries within each other, at most: an attribute is not trusted to end.
const MOST_NESTED: usize = 64;

/// A call: what a handler takes, and where its results go.
///
/// Operands and results are in the order of the call. Memory that an operand shares with a result is that of
/// `output_operand_aliases`.
#[derive(Debug)]
pub struct Call {
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
    /// Bytes of the elements.
    pub bytes: usize,
}

impl Call {
    /// True if the host has this table of functions.
    pub fn is_from(&self, api: *const abi::Api) -> bool {
        self.api == api
    }

    /// The operands, to be read until the handler returns; `None` for a token.
    pub fn operands(&self) -> impl ExactSizeIterator<Item = Option<Tensor<'_>>> {
        self.operands.iter().map(|view| view.as_ref().map(tensor))
    }

    /// The results, to be written until the handler returns; `None` for a token. They hold anything before.
    pub fn results(&self) -> impl ExactSizeIterator<Item = Option<Tensor<'_>>> {
        self.results.iter().map(|view| view.as_ref().map(tensor))
    }

    /// The attributes, by name.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, naming it, for an attribute that cannot be read.
    pub fn attributes(&self) -> Result<Attrs> {
        // SAFETY: the struct was checked, which stays during the call.
        let dict = unsafe { Dict::check(self.attributes) }.map_err(Error::invalid_argument)?;
        Ok(entries(dict, 0)?.into_iter().collect())
    }
}

/// Enters a handler that learns what it is called with: what its own `extern "C"` function returns.
///
/// `name` is what messages call it. An error or a panic of `handler` becomes the call's error.
///
/// # Safety
/// `frame` is null or a call frame as XLA's C interface has it.
pub unsafe fn enter(
    frame: *mut abi::CallFrame,
    name: &str,
    handler: impl FnOnce(&Call) -> Result<()>,
) -> *mut abi::Error {
    // SAFETY: the caller's promise.
    let Some(host) = (unsafe { trampoline::host_of(frame) }) else {
        return trampoline::nobody_to_tell(name, &malformed(name, "it has no host"));
    };
    // SAFETY: the caller's promise.
    match catch(|| unsafe { run(frame, handler) }) {
        Ok(Ok(())) => null_mut(),
        Ok(Err(error)) => trampoline::fail(&host, name, *error),
        Err(panic) => trampoline::fail(&host, name, trampoline::panicked(name, panic)),
    }
}

unsafe fn run(frame: *mut abi::CallFrame, handler: impl FnOnce(&Call) -> Result<()>) -> Boxed {
    const FACTS: Facts = Facts { name: HANDLER, stage: abi::Stage::EXECUTE, traits: 0, state: None };
    // SAFETY: the caller's promise.
    if !unsafe { trampoline::is_call(frame, &FACTS) }? {
        return Ok(());
    }
    // SAFETY: it was checked, and stays during the call.
    let decoder = unsafe { Decoder::new(frame, HANDLER) };
    let (operands, results, attributes) = decoder.tables();
    // SAFETY: as above.
    let api = unsafe { (*frame).api };
    let call = Call { operands: views(operands)?, results: views(results)?, attributes, api };
    Ok(handler(&call)?)
}

/// The buffers of a table.
fn views(mut buffers: Buffers) -> Boxed<Vec<Option<View>>> {
    let mut views = Vec::with_capacity(buffers.len());
    for i in 0..buffers.len() {
        if buffers.dtype(i) == Some(abi::DataType::TOKEN) {
            buffers.skip();
            views.push(None);
            continue;
        }
        let mut view = View::EMPTY;
        buffers.next::<AnyBuffer>(HANDLER, "of any type", view.unread())?;
        views.push(Some(view));
    }
    Ok(views)
}

fn tensor(view: &View) -> Tensor<'_> {
    let (start, end) = view.span();
    // Aligned for whatever the elements are taken for.
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
    if depth == MOST_NESTED {
        let message = format!("has dictionaries more than {MOST_NESTED} deep");
        return Err(in_attribute(Error::invalid_argument(message)));
    }
    Ok(AttrValue::Dict(entries(dict, depth + 1).map_err(in_attribute)?))
}
