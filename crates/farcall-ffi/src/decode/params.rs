//! The types of a handler's parameters: how each is decoded, and which memory it gives access to.

use super::{Buffers, Decoder, Footprint, Param, Role, Spec, ViewAt, malformed};
use crate::abi;
use crate::attr::{Attr, Attrs, Dict, FromAttr};
use crate::buffer::{AnyBuffer, Buffer, BufferMemory, FromView, InOut, View};
use crate::context::Context;
use crate::element::Element;
use crate::error::{Boxed, Error};
use crate::gpu::{AnyGpuBuffer, GpuBuffer};
use crate::kept::{self, Guard, Kept, KeptMut};
use crate::state::{self, Initialized, Prepared, State};
use std::marker::PhantomData;

const TAKEN_ONCE: &str = "a parameter is taken once, after it was read";

/// Implements parameters that are buffers. (As far as the compiler can tell, a generic implementation for
/// every `FromView` would overlap the one for every `FromAttr`.)
macro_rules! buffer_parameters {
    ($([$($($generic:tt)+)?] $buffer:ty;)+) => {$(
        impl<'a $(, $($generic)+)?> Param<'a> for &'a $buffer {
            const SPEC: Spec = Spec::buffer::<$buffer>(Role::Operand);
            type Slot = ();
            const EMPTY: () = ();

            #[inline(always)]
            fn decode(decoder: &mut Decoder, name: &'static str, (): &mut (), view: ViewAt) -> Boxed {
                // SAFETY: the role is `Operand`, and the parameter is neither optional nor kept, so it is one
                // buffer.
                decoder.operands.next::<$buffer>(decoder.handler, name, unsafe { view.unread() })
            }

            #[inline(always)]
            fn take((): &'a mut (), view: ViewAt) -> &'a $buffer {
                // SAFETY: `decode` checked the view against the type; `no_overlap` checked that no argument
                // writes to the view's memory.
                unsafe { <$buffer>::from_view(view.view()) }
            }

            #[inline(always)]
            fn memory((): &(), view: ViewAt) -> Footprint<'_> {
                Footprint { reads: std::slice::from_ref(viewed(view)), writes: &[] }
            }

            #[inline(always)]
            fn span((): &(), view: ViewAt) -> (usize, usize) {
                viewed(view).span()
            }
        }

        impl<'a $(, $($generic)+)?> Param<'a> for &'a mut $buffer {
            const SPEC: Spec = Spec::buffer::<$buffer>(Role::Result);
            type Slot = ();
            const EMPTY: () = ();

            #[inline(always)]
            fn decode(decoder: &mut Decoder, name: &'static str, (): &mut (), view: ViewAt) -> Boxed {
                // SAFETY: the role is `Result`, and the parameter is neither optional nor kept, so it is one
                // buffer.
                decoder.results.next::<$buffer>(decoder.handler, name, unsafe { view.unread() })
            }

            #[inline(always)]
            fn take((): &'a mut (), view: ViewAt) -> &'a mut $buffer {
                // SAFETY: `decode` checked the view against the type; `no_overlap` checked that no other
                // argument has the view's memory.
                unsafe { <$buffer>::from_view_mut(view.view_mut()) }
            }

            #[inline(always)]
            fn memory((): &(), view: ViewAt) -> Footprint<'_> {
                Footprint { reads: &[], writes: std::slice::from_ref(viewed(view)) }
            }

            #[inline(always)]
            fn span((): &(), view: ViewAt) -> (usize, usize) {
                viewed(view).span()
            }
        }

        impl<'a $(, $($generic)+)?> Param<'a> for Option<&'a $buffer> {
            const SPEC: Spec = Spec { optional: true, ..Spec::buffer::<$buffer>(Role::Operand) };
            type Slot = Option<View>;
            const EMPTY: Option<View> = None;

            #[inline(always)]
            fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut Option<View>, _: ViewAt) -> Boxed {
                if decoder.operands.next == decoder.operands.size {
                    return Ok(());
                }
                decoder.operands.next::<$buffer>(decoder.handler, name, slot.insert(View::EMPTY).unread())
            }

            #[inline(always)]
            fn take(slot: &'a mut Option<View>, _: ViewAt) -> Option<&'a $buffer> {
                // SAFETY: `decode` checked the view against the type; `no_overlap` checked that no argument
                // writes to the view's memory.
                slot.as_ref().map(|view| unsafe { <$buffer>::from_view(view) })
            }

            #[inline(always)]
            fn memory(slot: &Option<View>, _: ViewAt) -> Footprint<'_> {
                Footprint { reads: slot.as_slice(), writes: &[] }
            }

            #[inline(always)]
            fn span(slot: &Option<View>, _: ViewAt) -> (usize, usize) {
                slot.as_ref().map_or((0, 0), View::span)
            }
        }

        impl<'a $(, $($generic)+)?> Param<'a> for Option<&'a mut $buffer> {
            const SPEC: Spec = Spec { optional: true, ..Spec::buffer::<$buffer>(Role::Result) };
            type Slot = Option<View>;
            const EMPTY: Option<View> = None;

            #[inline(always)]
            fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut Option<View>, _: ViewAt) -> Boxed {
                if decoder.results.next == decoder.results.size {
                    return Ok(());
                }
                decoder.results.next::<$buffer>(decoder.handler, name, slot.insert(View::EMPTY).unread())
            }

            #[inline(always)]
            fn take(slot: &'a mut Option<View>, _: ViewAt) -> Option<&'a mut $buffer> {
                // SAFETY: `decode` checked the view against the type; `no_overlap` checked that no other
                // argument has the view's memory.
                slot.as_mut().map(|view| unsafe { <$buffer>::from_view_mut(view) })
            }

            #[inline(always)]
            fn memory(slot: &Option<View>, _: ViewAt) -> Footprint<'_> {
                Footprint { reads: &[], writes: slot.as_slice() }
            }

            #[inline(always)]
            fn span(slot: &Option<View>, _: ViewAt) -> (usize, usize) {
                slot.as_ref().map_or((0, 0), View::span)
            }
        }
    )+};
}

buffer_parameters! {
    [T: Element, const RANK: usize] Buffer<T, RANK>;
    [] AnyBuffer;
    [T: Element, const RANK: usize] GpuBuffer<T, RANK>;
    [] AnyGpuBuffer;
}

/// Returns the view of a parameter that is one buffer.
#[inline(always)]
fn viewed<'a>(view: ViewAt) -> &'a View {
    // SAFETY: `memory` and `span` are only called after the parameter was decoded.
    unsafe { view.view() }
}

/// Operand and result of an `InOut`. The argument only gives access to the result's memory.
#[doc(hidden)]
pub struct InOutSlot {
    operand: View,
    result: View,
}

impl<'a, B: FromView + ?Sized> Param<'a> for &'a mut InOut<B> {
    const SPEC: Spec = Spec::buffer::<B>(Role::InOut);
    type Slot = InOutSlot;
    const EMPTY: InOutSlot = InOutSlot { operand: View::EMPTY, result: View::EMPTY };

    fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut InOutSlot, _: ViewAt) -> Boxed {
        let InOutSlot { operand, result } = slot;
        decoder.operands.next::<B>(decoder.handler, name, operand.unread())?;
        decoder.results.next::<B>(decoder.handler, name, result.unread())?;
        if !operand.same_type(result) {
            let message = format!("the operand is {operand:?}, but the result {result:?}");
            return Err(Box::new(Error::invalid_argument(format!("{}: {name}: {message}", decoder.handler))));
        }
        // `take` relies on this check: `no_overlap` compares different parameters only.
        if operand.overlaps(result) && !operand.same_memory(result) {
            let message = "operand and result share a part of their memory";
            return Err(Box::new(Error::invalid_argument(format!("{}: {name}: {message}", decoder.handler))));
        }
        if operand.same_memory(result) {
            result.set_in_place();
        } else if B::MEMORY == BufferMemory::Gpu {
            let message = "operand and result have different memory on the GPU: the program must let them share it \
                           (output_operand_aliases)";
            return Err(Box::new(Error::invalid_argument(format!("{}: {name}: {message}", decoder.handler))));
        }
        Ok(())
    }

    fn take(slot: &'a mut InOutSlot, _: ViewAt) -> &'a mut InOut<B> {
        let InOutSlot { operand, result } = slot;
        if !operand.same_memory(result) {
            // SAFETY: `decode` checked that both have the same type, lie in the host's memory, and do not
            // overlap unless they are the same memory.
            unsafe { result.copy_from(operand) }
        }
        // SAFETY: `decode` checked the view against the type; `no_overlap` checked that no other argument has
        // the view's memory.
        InOut::from_mut(unsafe { B::from_view_mut(result) })
    }

    fn memory(slot: &InOutSlot, _: ViewAt) -> Footprint<'_> {
        let writes = std::slice::from_ref(&slot.result);
        if slot.operand.same_memory(&slot.result) {
            Footprint { reads: &[], writes }
        } else {
            Footprint { reads: std::slice::from_ref(&slot.operand), writes }
        }
    }

    fn span(slot: &InOutSlot, _: ViewAt) -> (usize, usize) {
        let ((start, end), operand) = (slot.result.span(), slot.operand.span());
        (start.min(operand.0), end.max(operand.1))
    }
}

/// The operands that no other parameter takes, as a last parameter `&RestOperands`, or
/// `&RestOperands<Buffer<T>>` if all have one type. If there are several such parameters, each takes the same
/// number of operands, in order.
#[derive(Debug)]
pub struct RestOperands<B: ?Sized = AnyBuffer>(Vec<View>, PhantomData<B>);

impl<B: FromView + ?Sized> RestOperands<B> {
    /// Number of operands.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns operand `i` of the list.
    pub fn get(&self, i: usize) -> Option<&B> {
        // SAFETY: `decode` checked the views; `no_overlap` checked that no argument writes to their memory.
        self.0.get(i).map(|view| unsafe { B::from_view(view) })
    }

    /// Iterates over the operands, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &B> {
        // SAFETY: `decode` checked the views; `no_overlap` checked that no argument writes to their memory.
        self.0.iter().map(|view| unsafe { B::from_view(view) })
    }
}

impl<'a, B: FromView + ?Sized> Param<'a> for &'a RestOperands<B> {
    const SPEC: Spec = Spec { lasts: false, ..Spec::buffer::<B>(Role::RestOperands) };
    type Slot = RestOperands<B>;
    const EMPTY: RestOperands<B> = RestOperands(Vec::new(), PhantomData);

    fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut RestOperands<B>, _: ViewAt) -> Boxed {
        rest::<B>(&mut decoder.operands, decoder.handler, name, &mut slot.0)
    }

    fn take(slot: &'a mut RestOperands<B>, _: ViewAt) -> &'a RestOperands<B> {
        slot
    }

    fn memory(slot: &RestOperands<B>, _: ViewAt) -> Footprint<'_> {
        Footprint { reads: &slot.0, writes: &[] }
    }
}

/// The results that no other parameter takes, as a last parameter `&mut RestResults`, or
/// `&mut RestResults<Buffer<T>>` if all have one type. If there are several such parameters, each takes the
/// same number of results, in order.
#[derive(Debug)]
pub struct RestResults<B: ?Sized = AnyBuffer>(Vec<View>, PhantomData<B>);

impl<B: FromView + ?Sized> RestResults<B> {
    /// Number of results.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns result `i` of the list.
    pub fn get_mut(&mut self, i: usize) -> Option<&mut B> {
        // SAFETY: `decode` checked the views; `no_overlap` checked that no other argument or result has their
        // memory.
        self.0.get_mut(i).map(|view| unsafe { B::from_view_mut(view) })
    }

    /// Iterates over the results, in order.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut B> {
        // SAFETY: `decode` checked the views; `no_overlap` checked that no other argument or result has their
        // memory.
        self.0.iter_mut().map(|view| unsafe { B::from_view_mut(view) })
    }
}

impl<'a, B: FromView + ?Sized> Param<'a> for &'a mut RestResults<B> {
    const SPEC: Spec = Spec { lasts: false, ..Spec::buffer::<B>(Role::RestResults) };
    type Slot = RestResults<B>;
    const EMPTY: RestResults<B> = RestResults(Vec::new(), PhantomData);

    fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut RestResults<B>, _: ViewAt) -> Boxed {
        rest::<B>(&mut decoder.results, decoder.handler, name, &mut slot.0)
    }

    fn take(slot: &'a mut RestResults<B>, _: ViewAt) -> &'a mut RestResults<B> {
        slot
    }

    fn memory(slot: &RestResults<B>, _: ViewAt) -> Footprint<'_> {
        Footprint { reads: &[], writes: &slot.0 }
    }
}

fn rest<B: FromView + ?Sized>(
    buffers: &mut Buffers,
    handler: &'static str,
    name: &'static str,
    views: &mut Vec<View>,
) -> Boxed {
    // The vector grows one by one, because the frame may claim any number of buffers.
    for _ in 0..buffers.each {
        let mut view = View::EMPTY;
        buffers.next::<B>(handler, name, view.unread())?;
        views.push(view);
    }
    Ok(())
}

impl<'a, T: FromAttr<'a>> Param<'a> for T {
    const SPEC: Spec = Spec { attribute: T::EXPECTS, lasts: T::LASTS.lasts(), ..Spec::of(Role::Attribute) };
    type Slot = Option<T>;
    const EMPTY: Option<T> = None;

    #[inline(always)]
    fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut Option<T>, _: ViewAt) -> Boxed {
        if find_attr(decoder, name, slot)? {
            return Ok(());
        }
        Err(missing_attr(decoder.handler, decoder.attrs(), name, T::EXPECTS))
    }

    #[inline(always)]
    fn take(slot: &'a mut Option<T>, _: ViewAt) -> T {
        T::LASTS.take(slot).expect(TAKEN_ONCE)
    }
}

impl<'a, T: FromAttr<'a>> Param<'a> for Option<T> {
    const SPEC: Spec =
        Spec { optional: true, attribute: T::EXPECTS, lasts: T::LASTS.lasts(), ..Spec::of(Role::Attribute) };
    type Slot = Option<T>;
    const EMPTY: Option<T> = None;

    #[inline(always)]
    fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut Option<T>, _: ViewAt) -> Boxed {
        find_attr(decoder, name, slot).map(|_| ())
    }

    #[inline(always)]
    fn take(slot: &'a mut Option<T>, _: ViewAt) -> Option<T> {
        T::LASTS.take(slot)
    }
}

/// Reads an attribute, if it exists; returns true if it does.
#[inline(always)]
fn find_attr<'a, T: FromAttr<'a>>(
    decoder: &mut Decoder,
    name: &'static str,
    slot: &mut Option<T>,
) -> Boxed<bool> {
    let handler = decoder.handler;
    let mut attr = decoder.attr(name).map(forget_lifetime);
    if attr.is_none() && decoder.skip_unknown(name) {
        attr = decoder.attr(name).map(forget_lifetime);
    }
    let Some(attr) = attr else { return Ok(false) };
    match attr.get() {
        Ok(value) => *slot = Some(value),
        Err(error) => return Err(in_attr(handler, name, error)),
    }
    Ok(true)
}

/// Extends an attribute's lifetime to the frame's. The decoder only borrows the attribute, but the frame
/// outlives every argument.
#[inline(always)]
fn forget_lifetime<'a>(attr: Attr<'_>) -> Attr<'a> {
    // SAFETY: the caller of `Decoder::new` guarantees that the frame's data stay valid until all decoded
    // values are gone.
    unsafe { attr.with_lifetime() }
}

#[cold]
#[inline(never)]
fn missing_attr(handler: &str, attrs: &Dict, name: &str, expects: &str) -> Box<Error> {
    if let Err(what) = attrs.check_names() {
        return malformed(handler, what);
    }
    let there: Vec<_> = (0..attrs.len()).map(|i| String::from_utf8_lossy(attrs.name(i))).collect();
    let there = if there.is_empty() { "no attribute".to_owned() } else { there.join(", ") };
    Box::new(Error::invalid_argument(format!(
        "{handler}: missing attribute {name} ({expects}); found {there}"
    )))
}

#[cold]
#[inline(never)]
fn in_attr(handler: &str, name: &str, error: Error) -> Box<Error> {
    Box::new(error.context(format_args!("{handler}: attribute {name}")))
}

impl<'a> Param<'a> for &'a Attrs {
    const SPEC: Spec = Spec { lasts: true, ..Spec::of(Role::AllAttributes) };
    type Slot = Option<&'a Attrs>;
    const EMPTY: Option<&'a Attrs> = None;

    fn decode(decoder: &mut Decoder, _: &'static str, slot: &mut Option<&'a Attrs>, _: ViewAt) -> Boxed {
        // SAFETY: checked before the decoder was made, and valid as long as the frame; `Dict` is
        // `repr(transparent)`.
        let attrs = unsafe { &*decoder.attrs.cast::<Dict>() };
        attrs.check_names().map_err(|what| malformed(decoder.handler, what))?;
        *slot = Some(Attrs::from_dict(attrs));
        Ok(())
    }

    fn take(slot: &'a mut Option<&'a Attrs>, _: ViewAt) -> &'a Attrs {
        slot.expect(TAKEN_ONCE)
    }
}

impl<'a> Param<'a> for &'a Context {
    // Made anew for each call (`renew`). In a handler whose arguments last, a context has no tasks, so there
    // is nothing to drop.
    const SPEC: Spec = Spec::CONTEXT;
    type Slot = Option<Context>;
    const EMPTY: Option<Context> = None;

    fn decode(decoder: &mut Decoder, _: &'static str, slot: &mut Option<Context>, _: ViewAt) -> Boxed {
        let tasks = decoder.kept().map(Guard::tasks);
        *slot = Some(Context::new(decoder.host()?, tasks));
        Ok(())
    }

    #[inline(always)]
    fn renew(decoder: &mut Decoder, name: &'static str, slot: &mut Option<Context>) -> Boxed {
        Self::decode(decoder, name, slot, ViewAt::NULL)
    }

    fn take(slot: &'a mut Option<Context>, _: ViewAt) -> &'a Context {
        slot.as_ref().expect(TAKEN_ONCE)
    }
}

/// Implements parameters for the states that earlier stages of a call site made.
macro_rules! state_parameters {
    ($($state:ident of $stage:ident)*) => {$(
        impl<'a, T: Send + Sync + 'static> Param<'a> for &'a $state<T> {
            const SPEC: Spec = Spec::CONTEXT;
            type Slot = Option<&'a $state<T>>;
            const EMPTY: Option<&'a $state<T>> = None;

            #[inline(always)]
            fn renew(decoder: &mut Decoder, name: &'static str, slot: &mut Option<&'a $state<T>>) -> Boxed {
                Self::decode(decoder, name, slot, ViewAt::NULL)
            }

            fn decode(decoder: &mut Decoder, _: &'static str, slot: &mut Option<&'a $state<T>>, _: ViewAt) -> Boxed {
                let state = state::get(&decoder.host()?, abi::Stage::$stage);
                let state = state.map_err(|e| Box::new(e.context(decoder.handler)))?;
                // SAFETY: the host holds the state, which has type `T` (`state::get`), at least until the
                // call is over.
                *slot = Some(unsafe { $state::from_raw(state) });
                Ok(())
            }

            fn take(slot: &'a mut Option<&'a $state<T>>, _: ViewAt) -> &'a $state<T> {
                slot.expect(TAKEN_ONCE)
            }
        }
    )*};
}

state_parameters!(State of INSTANTIATE Prepared of PREPARE Initialized of INITIALIZE);

impl<'a, B: FromView + ?Sized> Param<'a> for Kept<B> {
    const SPEC: Spec = {
        assert!(
            B::MEMORY as u8 == BufferMemory::Host as u8,
            "`Kept` buffers are for the host's memory: the work on a GPU's stream may always go on after the handler has returned"
        );
        Spec { keeps: true, lasts: false, ..Spec::buffer::<B>(Role::Operand) }
    };
    type Slot = kept::Slot;
    const EMPTY: kept::Slot = kept::Slot::EMPTY;

    fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut kept::Slot, _: ViewAt) -> Boxed {
        decoder.operands.next::<B>(decoder.handler, name, slot.view.unread())?;
        slot.call = decoder.kept().and_then(Guard::share);
        Ok(())
    }

    fn take(slot: &'a mut kept::Slot, _: ViewAt) -> Kept<B> {
        slot.keep()
    }

    fn memory(slot: &kept::Slot, _: ViewAt) -> Footprint<'_> {
        Footprint { reads: std::slice::from_ref(&slot.view), writes: &[] }
    }

    fn span(slot: &kept::Slot, _: ViewAt) -> (usize, usize) {
        slot.view.span()
    }
}

impl<'a, B: FromView + ?Sized> Param<'a> for KeptMut<B> {
    const SPEC: Spec = {
        assert!(
            B::MEMORY as u8 == BufferMemory::Host as u8,
            "`Kept` buffers are for the host's memory: the work on a GPU's stream may always go on after the handler has returned"
        );
        Spec { keeps: true, lasts: false, ..Spec::buffer::<B>(Role::Result) }
    };
    type Slot = kept::Slot;
    const EMPTY: kept::Slot = kept::Slot::EMPTY;

    fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut kept::Slot, _: ViewAt) -> Boxed {
        decoder.results.next::<B>(decoder.handler, name, slot.view.unread())?;
        slot.call = decoder.kept().and_then(Guard::share);
        Ok(())
    }

    fn take(slot: &'a mut kept::Slot, _: ViewAt) -> KeptMut<B> {
        slot.keep_mut()
    }

    fn memory(slot: &kept::Slot, _: ViewAt) -> Footprint<'_> {
        Footprint { reads: &[], writes: std::slice::from_ref(&slot.view) }
    }

    fn span(slot: &kept::Slot, _: ViewAt) -> (usize, usize) {
        slot.view.span()
    }
}
