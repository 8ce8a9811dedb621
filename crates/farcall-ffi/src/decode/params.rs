//! The types that a handler's parameter can have: how each is read, and what memory it gives access to.

use super::{Buffers, Decoder, Memory, Param, Role, Spec};
use crate::abi;
use crate::attr::{Attr, Attrs, Dict, FromAttr};
use crate::buffer::{AnyBuffer, Buffer, FromView, InOut, View};
use crate::context::Context;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::state::{self, State};

const READ: &str = "a parameter is taken once, after it was read";

/// Buffers as parameters. (A generic implementation for every `FromView` would overlap the one for
/// every `FromAttr`, as far as the compiler can tell.)
macro_rules! buffer_parameters {
    ($([$($($generic:tt)+)?] $buffer:ty;)+) => {$(
        impl<'a $(, $($generic)+)?> Param<'a> for &'a $buffer {
            const SPEC: Spec = Spec::buffer::<$buffer>(Role::Operand);
            type Slot = View;

            #[inline(always)]
            fn decode(decoder: &mut Decoder, name: &'static str) -> Result<View> {
                decoder.operands.next::<$buffer>(decoder.handler, name)
            }

            #[inline(always)]
            fn take(slot: &'a mut Option<View>) -> &'a $buffer {
                // SAFETY: `decode` checked the view against the type; `no_overlap` saw to it that nobody writes.
                unsafe { <$buffer>::from_view(slot.as_ref().expect(READ)) }
            }

            #[inline(always)]
            fn memory(slot: &View) -> Memory<'_> {
                Memory { reads: std::slice::from_ref(slot), writes: &[] }
            }
        }

        impl<'a $(, $($generic)+)?> Param<'a> for &'a mut $buffer {
            const SPEC: Spec = Spec::buffer::<$buffer>(Role::Result);
            type Slot = View;

            #[inline(always)]
            fn decode(decoder: &mut Decoder, name: &'static str) -> Result<View> {
                decoder.results.next::<$buffer>(decoder.handler, name)
            }

            #[inline(always)]
            fn take(slot: &'a mut Option<View>) -> &'a mut $buffer {
                // SAFETY: `decode` checked the view against the type; `no_overlap` saw to it that it is the only one.
                unsafe { <$buffer>::from_view_mut(slot.as_mut().expect(READ)) }
            }

            #[inline(always)]
            fn memory(slot: &View) -> Memory<'_> {
                Memory { reads: &[], writes: std::slice::from_ref(slot) }
            }
        }

        impl<'a $(, $($generic)+)?> Param<'a> for Option<&'a $buffer> {
            const SPEC: Spec = Spec { optional: true, ..Spec::buffer::<$buffer>(Role::Operand) };
            type Slot = Option<View>;

            #[inline(always)]
            fn decode(decoder: &mut Decoder, name: &'static str) -> Result<Option<View>> {
                if decoder.operands.next == decoder.operands.size {
                    return Ok(None);
                }
                decoder.operands.next::<$buffer>(decoder.handler, name).map(Some)
            }

            #[inline(always)]
            fn take(slot: &'a mut Option<Option<View>>) -> Option<&'a $buffer> {
                // SAFETY: as for an operand that is not optional.
                slot.as_ref().expect(READ).as_ref().map(|view| unsafe { <$buffer>::from_view(view) })
            }

            #[inline(always)]
            fn memory(slot: &Option<View>) -> Memory<'_> {
                Memory { reads: slot.as_slice(), writes: &[] }
            }
        }

        impl<'a $(, $($generic)+)?> Param<'a> for Option<&'a mut $buffer> {
            const SPEC: Spec = Spec { optional: true, ..Spec::buffer::<$buffer>(Role::Result) };
            type Slot = Option<View>;

            #[inline(always)]
            fn decode(decoder: &mut Decoder, name: &'static str) -> Result<Option<View>> {
                if decoder.results.next == decoder.results.size {
                    return Ok(None);
                }
                decoder.results.next::<$buffer>(decoder.handler, name).map(Some)
            }

            #[inline(always)]
            fn take(slot: &'a mut Option<Option<View>>) -> Option<&'a mut $buffer> {
                // SAFETY: as for a result that is not optional.
                slot.as_mut().expect(READ).as_mut().map(|view| unsafe { <$buffer>::from_view_mut(view) })
            }

            #[inline(always)]
            fn memory(slot: &Option<View>) -> Memory<'_> {
                Memory { reads: &[], writes: slot.as_slice() }
            }
        }
    )+};
}

buffer_parameters! {
    [T: Element, const RANK: usize] Buffer<T, RANK>;
    [] AnyBuffer;
}

/// Operand and result of an `InOut`; only the result's memory is handed out.
#[doc(hidden)]
pub struct InOutSlot {
    operand: View,
    result: View,
}

impl<'a, B: FromView + ?Sized> Param<'a> for &'a mut InOut<B> {
    const SPEC: Spec = Spec::buffer::<B>(Role::InOut);
    type Slot = InOutSlot;

    fn decode(decoder: &mut Decoder, name: &'static str) -> Result<InOutSlot> {
        let operand = decoder.operands.next::<B>(decoder.handler, name)?;
        let result = decoder.results.next::<B>(decoder.handler, name)?;
        if !operand.same_type(&result) {
            let message = format!("the operand is {operand:?}, but the result {result:?}");
            return Err(Error::invalid_argument(format!("{}: {name}: {message}", decoder.handler)));
        }
        if operand.overlaps(&result) && !operand.same_memory(&result) {
            let message = "operand and result share a part of their memory";
            return Err(Error::invalid_argument(format!("{}: {name}: {message}", decoder.handler)));
        }
        Ok(InOutSlot { operand, result })
    }

    fn take(slot: &'a mut Option<InOutSlot>) -> &'a mut InOut<B> {
        let InOutSlot { operand, result } = slot.as_mut().expect(READ);
        if !operand.same_memory(result) {
            // SAFETY: same type, and `no_overlap` saw to it that the result overlaps nothing that is
            // read, this operand included.
            unsafe { result.copy_from(operand) }
        }
        // SAFETY: as for a result.
        InOut::from_mut(unsafe { B::from_view_mut(result) })
    }

    fn memory(slot: &InOutSlot) -> Memory<'_> {
        let writes = std::slice::from_ref(&slot.result);
        if slot.operand.same_memory(&slot.result) {
            Memory { reads: &[], writes }
        } else {
            Memory { reads: std::slice::from_ref(&slot.operand), writes }
        }
    }
}

/// The operands that no other parameter takes, as a last parameter `&RestOperands`.
#[derive(Debug)]
pub struct RestOperands(Vec<View>);

impl RestOperands {
    /// Number of them.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Operand `i` among them.
    pub fn get(&self, i: usize) -> Option<&AnyBuffer> {
        // SAFETY: `decode` checked the views; `no_overlap` saw to it that nobody writes.
        self.0.get(i).map(|view| unsafe { AnyBuffer::from_view(view) })
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &AnyBuffer> {
        // SAFETY: as in `get`.
        self.0.iter().map(|view| unsafe { AnyBuffer::from_view(view) })
    }
}

impl<'a> Param<'a> for &'a RestOperands {
    const SPEC: Spec = Spec::of(Role::RestOperands);
    type Slot = RestOperands;

    fn decode(decoder: &mut Decoder, name: &'static str) -> Result<RestOperands> {
        rest(&mut decoder.operands, decoder.handler, name).map(RestOperands)
    }

    fn take(slot: &'a mut Option<RestOperands>) -> &'a RestOperands {
        slot.as_ref().expect(READ)
    }

    fn memory(slot: &RestOperands) -> Memory<'_> {
        Memory { reads: &slot.0, writes: &[] }
    }
}

/// The results that no other parameter takes, as a last parameter `&mut RestResults`.
#[derive(Debug)]
pub struct RestResults(Vec<View>);

impl RestResults {
    /// Number of them.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Result `i` among them.
    pub fn get_mut(&mut self, i: usize) -> Option<&mut AnyBuffer> {
        // SAFETY: `decode` checked the views; `no_overlap` saw to it that each is the only one.
        self.0.get_mut(i).map(|view| unsafe { AnyBuffer::from_view_mut(view) })
    }

    /// All of them, in order.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut AnyBuffer> {
        // SAFETY: as in `get_mut`.
        self.0.iter_mut().map(|view| unsafe { AnyBuffer::from_view_mut(view) })
    }
}

impl<'a> Param<'a> for &'a mut RestResults {
    const SPEC: Spec = Spec::of(Role::RestResults);
    type Slot = RestResults;

    fn decode(decoder: &mut Decoder, name: &'static str) -> Result<RestResults> {
        rest(&mut decoder.results, decoder.handler, name).map(RestResults)
    }

    fn take(slot: &'a mut Option<RestResults>) -> &'a mut RestResults {
        slot.as_mut().expect(READ)
    }

    fn memory(slot: &RestResults) -> Memory<'_> {
        Memory { reads: &[], writes: &slot.0 }
    }
}

fn rest(buffers: &mut Buffers, handler: &'static str, name: &'static str) -> Result<Vec<View>> {
    (buffers.next..buffers.size).map(|_| buffers.next::<AnyBuffer>(handler, name)).collect()
}

impl<'a, T: FromAttr<'a>> Param<'a> for T {
    const SPEC: Spec = Spec { attribute: T::EXPECTS, ..Spec::of(Role::Attribute) };
    type Slot = T;

    #[inline(always)]
    fn decode(decoder: &mut Decoder, name: &'static str) -> Result<T> {
        optional_attr(decoder, name)?.ok_or_else(|| missing_attr(decoder, name, T::EXPECTS))
    }

    #[inline(always)]
    fn take(slot: &'a mut Option<T>) -> T {
        slot.take().expect(READ)
    }
}

impl<'a, T: FromAttr<'a>> Param<'a> for Option<T> {
    const SPEC: Spec = Spec { optional: true, attribute: T::EXPECTS, ..Spec::of(Role::Attribute) };
    type Slot = Option<T>;

    #[inline(always)]
    fn decode(decoder: &mut Decoder, name: &'static str) -> Result<Option<T>> {
        optional_attr(decoder, name)
    }

    #[inline(always)]
    fn take(slot: &'a mut Option<Option<T>>) -> Option<T> {
        slot.take().expect(READ)
    }
}

#[inline(always)]
fn optional_attr<'a, T: FromAttr<'a>>(decoder: &mut Decoder, name: &'static str) -> Result<Option<T>> {
    let handler = decoder.handler;
    let mut attr = decoder.attr(name).map(forget_lifetime);
    if attr.is_none() && decoder.skip_unknown(name) {
        attr = decoder.attr(name).map(forget_lifetime);
    }
    match attr {
        Some(attr) => match attr.and_then(T::from_attr) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(in_attr(handler, name, error)),
        },
        None => Ok(None),
    }
}

/// An attribute lives as long as the frame, which outlives every argument; the decoder only borrows it.
#[inline(always)]
fn forget_lifetime<'a>(attr: Result<Attr<'_>>) -> Result<Attr<'a>> {
    // SAFETY: the frame's data stay until what the decoder handed out is gone (see `Decoder::new`).
    attr.map(|attr| unsafe { attr.with_lifetime() })
}

#[cold]
#[inline(never)]
fn missing_attr(decoder: &Decoder, name: &str, expects: &str) -> Error {
    let attrs = decoder.attrs();
    let there: Vec<_> = (0..attrs.len()).map(|i| String::from_utf8_lossy(attrs.name(i))).collect();
    let there = if there.is_empty() { "no attribute".to_owned() } else { there.join(", ") };
    Error::invalid_argument(format!(
        "{}: missing attribute {name} ({expects}); found {there}",
        decoder.handler
    ))
}

#[cold]
#[inline(never)]
fn in_attr(handler: &str, name: &str, error: Error) -> Error {
    error.context(format_args!("{handler}: attribute {name}"))
}

impl<'a> Param<'a> for &'a Attrs {
    const SPEC: Spec = Spec::of(Role::AllAttributes);
    type Slot = *const abi::Attrs;

    fn decode(decoder: &mut Decoder, _: &'static str) -> Result<*const abi::Attrs> {
        Ok(decoder.attrs)
    }

    fn take(slot: &'a mut Option<*const abi::Attrs>) -> &'a Attrs {
        // SAFETY: the decoder checked it, and it lives as long as the frame; `repr(transparent)`.
        Attrs::from_dict(unsafe { &*slot.expect(READ).cast::<Dict>() })
    }
}

impl<'a> Param<'a> for &'a Context {
    const SPEC: Spec = Spec::of(Role::Context);
    type Slot = Context;

    fn decode(decoder: &mut Decoder, _: &'static str) -> Result<Context> {
        Ok(Context::new(decoder.host))
    }

    fn take(slot: &'a mut Option<Context>) -> &'a Context {
        slot.as_ref().expect(READ)
    }
}

impl<'a, T: Send + Sync + 'static> Param<'a> for &'a State<T> {
    const SPEC: Spec = Spec::of(Role::Context);
    type Slot = *const T;

    fn decode(decoder: &mut Decoder, _: &'static str) -> Result<*const T> {
        state::get(&decoder.host).map_err(|e| e.context(decoder.handler))
    }

    fn take(slot: &'a mut Option<*const T>) -> &'a State<T> {
        // SAFETY: the host holds this call site's state, of type `T`, at least until the call is over.
        unsafe { State::from_raw(slot.expect(READ)) }
    }
}
