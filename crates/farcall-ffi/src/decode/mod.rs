//! From a call frame to a handler's arguments.
//!
//! The macro expands to a sequence of calls into this module. A frame of which nothing is known is [`read`]: [`begin`] counts
//! its buffers, then comes [`positional`] for each parameter in order, [`named`] for each in the order of their names (a
//! frame's attributes are sorted, so that one pass finds them all), [`finish`], [`may_overlap`] for each pair, and
//! [`remember`]. What a parameter is read into is its *slot*; if it is one buffer, its *view*, of which the call has an array.
//! Then [`zero`] is called for each if the handler asks for that, and [`take`] for each argument.
//!
//! Of a later frame, something may be [`Known`]:
//! - Where the host keeps a [memo](crate::memo) of the frame, and nothing has changed, slots and views are there. [`renew`] is
//!   all that is left to do.
//! - Where the frame looks like one that was read earlier (`proof`), the views are known: those of operands are in the proof,
//!   those of results on the stack. [`attributes`] checks the tables of attributes, [`beside_proof`] reads contexts and states,
//!   then come [`named`] and [`finish`]. Nothing else of the frame is checked, counted or read again.
//!
//! All of it is inlined but the first reading, so that types, names and counts are constants. Nothing allocates, unless there
//! is an error, a proof is kept, or the handler takes a variable number of buffers, or residuals that the host does not ask for.
//!
//! **Speed.** A parameter is read into its slot or its view, and never moved. Cold functions take values instead of `&self`,
//! so that what describes the call stays in registers. `benches/decode.rs` measures it.
//!
//! **Invariants.** A [`Decoder`] is made from a frame whose struct sizes cover every member that is read; it does not outlive
//! the call. What it hands out lives in the trampoline's frame, in the memo, or in a proof, where nothing is written. No result
//! that is handed out shares memory with anything else that is.
#![expect(clippy::missing_errors_doc, reason = "called by what the macros expand to, and by nobody else")]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null;

use farcall_sig::DType;

use crate::abi;
use crate::attr::{Attr, Dict};
use crate::buffer::{self, FromView, View};
use crate::context::Host;
use crate::error::{Boxed, Error};
use crate::kept::Guard;
use crate::memo::FrameMemo;
use crate::panics;
use crate::pointer::unusable;
use crate::trampoline::{Entry, enter, host_of};

mod overlap;
mod params;
mod proof;
mod residuals;
mod spec;

pub use overlap::{Memory, may_overlap, may_overlap_itself, no_overlap};
pub use params::{RestOperands, RestResults};
pub use proof::Proofs;
pub use residuals::{Extent, Place, Residual, Term, with_residuals};
pub use spec::{Role, Shape, Spec, common, keeps, lasts, view_of};

use spec::Side;

/// A type that a handler's parameter can have.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a handler",
    label = "neither an operand, a result, an attribute nor a context",
    note = "an operand is a `&Buffer<T>` or `&AnyBuffer`, a result a `&mut Buffer<T>` or `&mut AnyBuffer`, an operand that becomes a result `&mut InOut<Buffer<T>>`",
    note = "an attribute is a number, bool, `&str`, `&[T]`, `&Dict`, or an `Option` of one"
)]
pub trait Param<'a>: Sized {
    const SPEC: Spec;

    /// What the trampoline keeps while the handler runs.
    type Slot;

    /// A slot before anything was read.
    const EMPTY: Self::Slot;

    /// Reads the parameter from the frame.
    fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut Self::Slot, view: ViewAt) -> Boxed;

    /// Makes what an earlier call read from the same frame, and what `lasts`, that of this call.
    #[inline(always)]
    fn renew(_: &mut Decoder, _: &'static str, _: &mut Self::Slot) -> Boxed {
        Ok(())
    }

    /// The argument, from what was read. If it `lasts`, the slot is as it was afterwards.
    fn take(slot: &'a mut Self::Slot, view: ViewAt) -> Self;

    /// The memory that the argument will give access to.
    #[inline(always)]
    fn memory(_: &Self::Slot, _: ViewAt) -> Memory<'_> {
        Memory::NONE
    }

    /// Addresses of the one buffer of `memory`; both 0 if there is none.
    #[inline(always)]
    fn span(_: &Self::Slot, _: ViewAt) -> (usize, usize) {
        (0, 0)
    }
}

/// Where the view of a parameter is that [is one buffer](Spec::is_one_buffer); anywhere for others.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct ViewAt(*mut View);

impl ViewAt {
    /// Of a parameter that is something else.
    pub(crate) const NONE: ViewAt = ViewAt(std::ptr::null_mut());

    /// To write the view.
    ///
    /// # Safety
    /// The parameter is one buffer, there is memory for its view, which nothing else looks at before it is written, and which
    /// stays.
    #[inline(always)]
    pub(crate) unsafe fn unread<'a>(self) -> &'a mut MaybeUninit<View> {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0.cast() }
    }

    /// The view that was read.
    ///
    /// # Safety
    /// The parameter is one buffer, whose view is there, and stays.
    #[inline(always)]
    pub(crate) unsafe fn view<'a>(self) -> &'a View {
        // SAFETY: the caller's promise.
        unsafe { &*self.0 }
    }

    /// The same, for the argument alone.
    ///
    /// # Safety
    /// As for [`view`](ViewAt::view), of a result; nothing else looks at the view.
    #[inline(always)]
    pub(crate) unsafe fn view_mut<'a>(self) -> &'a mut View {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0 }
    }
}

/// A call whose frame is there, and whose tables can be read: what an [`Entry`] is called with.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Entered {
    pub(crate) frame: *const abi::CallFrame,
    pub(crate) handler: &'static str,
    pub(crate) known: Known,
    /// What is read may be left for later calls.
    pub(crate) leaves: bool,
    /// Null unless parameters may be kept after the handler has returned: then it outlives what is decoded.
    pub(crate) kept: *const Guard,
}

/// What is known of a frame before it is read.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    what: What,
    /// Memory for the views of parameters that are one buffer: those of operands, then those of results. They have been written
    /// unless nothing is known; with a proof, those of operands only if they are the ones that `operands` leads to.
    views: *mut View,
    /// The first view of an operand. It is the same address, unless the views are those of a proof.
    operands: *const View,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Nothing,
    /// The handler's arguments: the host remembers them.
    Arguments,
    /// The buffers: the frame is the one of a proof, addresses of elements aside.
    Buffers,
}

impl Known {
    pub(crate) const fn nothing(views: *mut View) -> Known {
        Known { what: What::Nothing, views, operands: views }
    }

    /// What is known of a frame by its host's memo, or by what proved right earlier.
    ///
    /// # Safety
    /// `frame` is null or a call frame as XLA's C interface has it.
    #[inline(always)]
    pub(crate) unsafe fn of<E: Entry>(frame: *const abi::CallFrame, views: *mut View) -> Known {
        let nothing = Known::nothing(views);
        // SAFETY: `struct_size` comes first, and covers the members.
        let is_readable = unsafe {
            unusable(frame) == 0
                && (*frame).struct_size >= abi::CallFrame::STRUCT_SIZE
                && (*frame).stage == E::STAGE
        };
        if !is_readable {
            return nothing;
        }
        // SAFETY: the size covers the member.
        let memo_extension = unsafe { (*frame).args.extension_start };
        if const { E::LASTS } && !memo_extension.is_null() {
            // SAFETY: the caller's promise.
            let memo = unsafe { FrameMemo::of(frame) };
            // SAFETY: null, or a memo.
            match unsafe { memo.as_ref() } {
                // What the handler left begins with the views.
                Some(memo) if memo.entry == entry::<E>() => {
                    let views = memo.room.cast();
                    Known { what: What::Arguments, views, operands: views }
                }
                _ => nothing,
            }
        } else {
            // SAFETY: the frame's size, and its stage, are right; the caller's promise.
            let operands = E::proofs().map_or(null(), |proofs| unsafe { E::compare(proofs, frame, views) });
            if operands.is_null() { nothing } else { Known { what: What::Buffers, views, operands } }
        }
    }
}

/// What stands for a handler where a host keeps its arguments.
#[inline(always)]
fn entry<E: Entry>() -> *const c_void {
    enter::<E> as abi::Handler as *const c_void
}

/// What a handler leaves in the host's memory.
#[repr(C)]
struct Left<V, S> {
    views: V,
    slots: S,
}

impl Entered {
    /// True if the frame need not be checked.
    #[inline(always)]
    pub fn is_known(&self) -> bool {
        self.known.what != What::Nothing
    }

    /// True if the host remembers the handler's arguments.
    #[inline(always)]
    pub fn is_remembered(&self) -> bool {
        self.known.what == What::Arguments
    }

    /// True if it is known what the buffers are.
    #[inline(always)]
    pub fn is_proved(&self) -> bool {
        self.known.what == What::Buffers
    }

    /// The view of a parameter that is one buffer.
    #[inline(always)]
    pub fn view(&self, (role, i): (Role, usize)) -> ViewAt {
        match role {
            Role::Operand => ViewAt(self.known.operands.cast_mut().wrapping_add(i)),
            _ => ViewAt(self.known.views.wrapping_add(i)),
        }
    }

    /// To read the frame.
    #[inline(always)]
    pub fn decoder(&self) -> Decoder {
        // SAFETY: it was checked, and stays during the call.
        let mut decoder = unsafe { Decoder::new(self.frame, self.handler) };
        decoder.kept = self.kept;
        decoder
    }

    /// The slots of all parameters, as an earlier call with the same frame left them, and nothing has changed since. (They
    /// are what the function makes, which is not called.)
    ///
    /// # Safety
    /// The host remembers the arguments; the types are those that the handler left.
    #[inline(always)]
    pub unsafe fn slots<'s, V, S>(&self, _: &impl Fn() -> S) -> &'s mut S {
        // SAFETY: the handler left them in the room, of which there was enough (`remember`), and which is its own during the
        // call.
        unsafe { &mut (*self.known.views.cast::<Left<V, S>>()).slots }
    }
}

/// A cursor over a call frame.
#[doc(hidden)]
pub struct Decoder {
    pub(crate) handler: &'static str,
    pub(crate) frame: *const abi::CallFrame,
    operands: Buffers,
    results: Buffers,
    attrs: *const abi::Attrs,
    next_attr: usize,
    taken_attrs: usize,
    /// Null unless parameters may be kept after the handler has returned: then it outlives the decoder.
    kept: *const Guard,
}

/// The operands or the results of a frame.
#[derive(Clone, Copy)]
pub(crate) struct Buffers {
    what: &'static str,
    size: usize,
    /// `ArgType` or `RetType`: the one number that both define is 1, a buffer.
    types: *const u32,
    buffers: *const *mut c_void,
    next: usize,
    /// How many of them each parameter takes that takes several.
    each: usize,
}

impl Decoder {
    /// # Safety
    /// `frame` is valid, and was checked, its tables as well. All that it leads to stays, and does not
    /// change, until the decoder and all that it handed out are gone.
    #[inline(always)]
    pub(crate) unsafe fn new(frame: *const abi::CallFrame, handler: &'static str) -> Decoder {
        // SAFETY: the caller's promise.
        let (args, rets, attrs) = unsafe { (&(*frame).args, &(*frame).rets, &(*frame).attrs) };
        let operands = Buffers {
            what: "operand",
            size: args.size as usize,
            types: args.types.cast_const().cast(),
            buffers: args.args,
            next: 0,
            each: 0,
        };
        let results = Buffers {
            what: "result",
            size: rets.size as usize,
            types: rets.types.cast_const().cast(),
            buffers: rets.rets,
            next: 0,
            each: 0,
        };
        Decoder { handler, frame, operands, results, attrs, next_attr: 0, taken_attrs: 0, kept: null() }
    }

    /// The call's host.
    pub(crate) fn host(&self) -> Boxed<Host> {
        // SAFETY: the frame is valid.
        unsafe { host_of(self.frame) }.ok_or_else(|| malformed(self.handler, "it has no host"))
    }

    /// The call as its kept buffers share it; `None` unless parameters may be kept.
    pub(crate) fn kept(&self) -> Option<&Guard> {
        // SAFETY: null, or it outlives the decoder.
        unsafe { self.kept.as_ref() }
    }

    /// Operands, results and attributes, for handlers without parameters.
    pub(crate) fn tables(self) -> (Buffers, Buffers, *const abi::Attrs) {
        (self.operands, self.results, self.attrs)
    }

    fn attrs(&self) -> &Dict {
        // SAFETY: checked before the decoder was made, or by `attributes`; `repr(transparent)`.
        unsafe { &*self.attrs.cast::<Dict>() }
    }

    /// The next attribute if it has this name. Attributes before it are unknown.
    #[inline(always)]
    fn attr(&mut self, name: &'static str) -> Option<Attr<'_>> {
        let i = self.next_attr;
        if i < self.attrs().len() && self.attrs().has_name(i, name) {
            self.next_attr += 1;
            self.taken_attrs += 1;
            return Some(self.attrs().attr(i));
        }
        None
    }

    /// Steps over attributes that sort before `name`; true if there was one.
    #[inline(always)]
    fn skip_unknown(&mut self, name: &'static str) -> bool {
        let next = next_known(self.attrs(), self.next_attr, name);
        let skipped = next > self.next_attr;
        self.next_attr = next;
        skipped
    }
}

/// True if the tables of a frame can be read.
#[inline(always)]
pub(crate) fn are_tables(args: &abi::Args, rets: &abi::Rets, attrs: &abi::Attrs) -> bool {
    args.struct_size >= abi::Args::STRUCT_SIZE
        && rets.struct_size >= abi::Rets::STRUCT_SIZE
        && is_table(args.size, args.types, args.args)
        && is_table(rets.size, rets.types, rets.rets)
        // SAFETY: `attrs` stays.
        && unsafe { Dict::check(attrs) }.is_ok()
}

/// True if a table of buffers can be read. One without members may be anywhere.
#[inline(always)]
fn is_table<T>(size: i64, types: *const T, buffers: *const *mut c_void) -> bool {
    size == 0 || (size > 0 && (unusable(types) | unusable(buffers)) == 0)
}

/// [`are_tables`], with an error that says what is wrong.
pub(crate) fn check_tables(handler: &str, args: &abi::Args, rets: &abi::Rets, attrs: &abi::Attrs) -> Boxed {
    let too_small = args.struct_size < abi::Args::STRUCT_SIZE
        || rets.struct_size < abi::Rets::STRUCT_SIZE
        || attrs.struct_size < abi::Attrs::STRUCT_SIZE;
    if too_small {
        return Err(malformed(handler, "the struct_size of args, rets or attrs is too small"));
    }
    if !is_table(args.size, args.types, args.args) {
        return Err(unusable_table(handler, args.types.is_aligned(), args.args.is_aligned(), Side::Operands));
    }
    if !is_table(rets.size, rets.types, rets.rets) {
        return Err(unusable_table(handler, rets.types.is_aligned(), rets.rets.is_aligned(), Side::Results));
    }
    // SAFETY: `attrs` stays.
    unsafe { check_attrs(handler, attrs) }
}

/// # Safety
/// As for [`Dict::check`].
#[inline(always)]
unsafe fn check_attrs(handler: &str, attrs: *const abi::Attrs) -> Boxed {
    // SAFETY: the caller's promise.
    unsafe { Dict::check(attrs) }.map(|_| ()).map_err(|what| malformed(handler, what))
}

/// The error for tables of operands or results, one of which is misaligned or null, or whose size is negative.
#[cold]
#[inline(never)]
fn unusable_table(handler: &str, types_aligned: bool, buffers_aligned: bool, side: Side) -> Box<Error> {
    let what = match (side, types_aligned, buffers_aligned) {
        (Side::Operands, false, _) => "args.types is misaligned",
        (Side::Operands, true, false) => "args.args is misaligned",
        (Side::Operands, true, true) => "args is malformed",
        (Side::Results, false, _) => "rets.types is misaligned",
        (Side::Results, true, false) => "rets.rets is misaligned",
        (Side::Results, true, true) => "rets is malformed",
    };
    malformed(handler, what)
}

/// The first attribute from `next` on that does not sort before `name`.
#[cold]
#[inline(never)]
fn next_known(attrs: &Dict, mut next: usize, name: &str) -> usize {
    while next < attrs.len() && attrs.name(next) < name.as_bytes() {
        next += 1;
    }
    next
}

impl Buffers {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.size
    }

    /// Steps over the next buffer.
    pub(crate) fn skip(&mut self) {
        self.next += 1;
    }

    /// The element type of a buffer; none if it is not there, or is not a buffer.
    #[inline(always)]
    pub(crate) fn dtype(&self, i: usize) -> Option<abi::DataType> {
        if i >= self.size {
            return None;
        }
        // SAFETY: `i < size`.
        let (kind, buffer) = unsafe { (*self.types.add(i), *self.buffers.add(i)) };
        let buffer: *const abi::Buffer = buffer.cast_const().cast();
        // SAFETY: if it is a buffer, not null and aligned, `struct_size` comes first, and says what else there is.
        let is_whole = kind == abi::ArgType::BUFFER.0
            && unusable(buffer) == 0
            && unsafe { (*buffer).struct_size } >= abi::Buffer::STRUCT_SIZE;
        // SAFETY: as above.
        is_whole.then(|| unsafe { (*buffer).dtype })
    }

    /// How many there are without tokens at the end, of all buffers but the first `least`. By value: see
    /// the module's docs on speed.
    #[cold]
    #[inline(never)]
    fn without_tokens(self, least: usize) -> usize {
        let mut size = self.size;
        while size > least && self.dtype(size - 1) == Some(abi::DataType::TOKEN) {
            size -= 1;
        }
        size
    }

    /// Reads the next buffer as what `B` asks for; without an error, there is a view then. The buffer is there, as the caller
    /// knows.
    #[inline(always)]
    pub(crate) fn next<B: FromView + ?Sized>(
        &mut self,
        handler: &'static str,
        name: &'static str,
        view: &mut MaybeUninit<View>,
    ) -> Boxed {
        let i = self.next;
        self.next += 1;
        // SAFETY: `i < size`, as the counts were checked by `begin`, or by the caller.
        let (kind, buffer) = unsafe { (*self.types.add(i), *self.buffers.add(i)) };
        let buffer: *const abi::Buffer = buffer.cast_const().cast();
        let other = kind != abi::ArgType::BUFFER.0;
        // SAFETY: a buffer, not null and aligned.
        if other || unusable(buffer) != 0 || unsafe { !View::read::<B>(view, buffer) } {
            let buffer = if other { std::ptr::null() } else { buffer };
            // SAFETY: null, or a buffer.
            return Err(unsafe { wrong_buffer((handler, self.what, i, name), buffer, B::DTYPE, B::RANK) });
        }
        Ok(())
    }
}

/// The error for an operand or result that is not what the parameter asks for; null: not a buffer.
///
/// # Safety
/// Unless null, the buffer is as [`View::read`] asks for.
#[cold]
#[inline(never)]
unsafe fn wrong_buffer(
    (handler, what, i, name): (&str, &str, usize, &str),
    buffer: *const abi::Buffer,
    dtype: Option<DType>,
    rank: usize,
) -> Box<Error> {
    let message = if buffer.is_null() {
        "not a buffer".to_owned()
    } else {
        // SAFETY: the caller's promise.
        unsafe { buffer::what_is_wrong(buffer, dtype, rank) }
    };
    Box::new(Error::invalid_argument(format!("{handler}: {what} {i} ({name}): {message}")))
}

/// Checks the number of operands and results against the parameters; if not `exact`, more may be there.
/// Tokens at the end that no parameter is for are left out: they order calls, and hold nothing.
#[inline(always)]
pub fn begin<const N: usize>(
    decoder: &mut Decoder,
    specs: &[Spec; N],
    names: &[&'static str; N],
    exact: bool,
) -> Boxed {
    let Decoder { handler, operands, results, .. } = decoder;
    count(handler, operands, specs, names, Side::Operands, exact)?;
    count(handler, results, specs, names, Side::Results, exact)
}

#[inline(always)]
fn count<const N: usize>(
    handler: &str,
    buffers: &mut Buffers,
    specs: &[Spec; N],
    names: &[&'static str; N],
    side: Side,
    exact: bool,
) -> Boxed {
    let arity = Arity::of(specs, side);
    let most = arity.most();
    let Arity { least, optional, lists } = arity;
    if buffers.size != least || least != most {
        let found = (*buffers).without_tokens(least);
        if found < least || (exact && found > most) {
            return Err(wrong_count(handler, found, specs, names, side));
        }
        if lists > 0 {
            let entries = (found - least).saturating_sub(optional);
            if !entries.is_multiple_of(lists) {
                return Err(wrong_count(handler, found, specs, names, side));
            }
            buffers.each = entries / lists;
        }
        // If all handlers of this kind take the same number, it is not checked again.
        if least != most {
            buffers.size = found;
        }
    }
    Ok(())
}

/// How many buffers of one side parameters take.
struct Arity {
    /// By parameters that need one.
    least: usize,
    /// By parameters that take one if it is there; these come before what others take several of.
    optional: usize,
    /// Parameters that take several, each as many as the others.
    lists: usize,
}

impl Arity {
    const fn of<const N: usize>(specs: &[Spec; N], side: Side) -> Arity {
        let [one, in_out, rest] = side.roles();
        let (mut arity, mut i) = (Arity { least: 0, optional: 0, lists: 0 }, 0);
        while i < N {
            let role = specs[i].role as u32;
            if role == one as u32 || role == in_out as u32 {
                if specs[i].optional {
                    arity.optional += 1;
                } else {
                    arity.least += 1;
                }
            } else if role == rest as u32 {
                arity.lists += 1;
            }
            i += 1;
        }
        arity
    }

    const fn most(&self) -> usize {
        if self.lists > 0 { usize::MAX } else { self.least + self.optional }
    }
}

#[cold]
#[inline(never)]
fn wrong_count<const N: usize>(
    handler: &str,
    found: usize,
    specs: &[Spec; N],
    names: &[&'static str; N],
    side: Side,
) -> Box<Error> {
    let (what, roles) = (side.name(), side.roles());
    let arity = Arity::of(specs, side);
    let (least, most) = (arity.least, arity.most());
    let s = if most == 1 || (most == usize::MAX && least == 1) { "" } else { "s" };
    let expected = match (least, most, arity.lists) {
        (0, _, lists @ 2..) => format!("{lists} lists of {what}s of equal length"),
        (_, _, lists @ 2..) => format!("{least} {what}{s} and {lists} lists of equal length"),
        (least, most, _) if least == most => format!("{least} {what}{s}"),
        (least, usize::MAX, _) => format!("at least {least} {what}{s}"),
        (least, most, _) => format!("{least} to {most} {what}{s}"),
    };
    let taken = |spec: &Spec| roles.contains(&spec.role);
    let names: Vec<_> = specs.iter().zip(names).filter(|(s, _)| taken(s)).map(|(_, name)| *name).collect();
    let list = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    Box::new(Error::invalid_argument(format!("{handler}: expected {expected}{list}, found {found}")))
}

/// Reads a frame of which nothing is known. Not inlined, so that calls of which something is known have little to do before
/// they can return.
#[inline(never)]
pub fn read<S>(slots: &mut S, read: impl FnOnce(&mut S) -> Boxed) -> Boxed {
    read(slots)
}

/// Leaves what was read for later calls: all arguments, if the frame's host keeps them, or else a proof of what the frame
/// looks like.
#[inline(always)]
pub fn remember<E: Entry, S>(entered: Entered, slots: &S) {
    // Calls of which something is known do not ask for panics to be noted.
    if !entered.leaves || !panics::are_noted() {
        return;
    }
    // SAFETY: the call's frame.
    let memo_extension = unsafe { (*entered.frame).args.extension_start };
    if const { E::LASTS } && !memo_extension.is_null() {
        // SAFETY: the call's frame.
        let Some(memo) = (unsafe { FrameMemo::of(entered.frame).as_mut() }) else { return };
        let room: *mut Left<E::Views, S> = memo.room.cast();
        let fits = const { align_of::<Left<E::Views, S>>() <= FrameMemo::ALIGNMENT }
            && memo.room_size >= size_of::<Left<E::Views, S>>();
        if fits && unusable(room) == 0 {
            // SAFETY: room for them. They last, so that this is a copy of all that they are.
            unsafe {
                std::ptr::copy_nonoverlapping(entered.known.views.cast(), &raw mut (*room).views, 1);
                std::ptr::copy_nonoverlapping(slots, &raw mut (*room).slots, 1);
            }
            memo.entry = entry::<E>();
        }
    } else if let Some(proofs) = E::proofs() {
        // SAFETY: all checks have passed.
        unsafe { proofs.add(entered.frame, E::SHAPE) };
    }
}

/// Makes a slot that the host remembered that of this call.
#[inline(always)]
pub fn renew<'a, P: Param<'a>>(
    decoder: &mut Decoder,
    name: &'static str,
    slot: &mut P::Slot,
    _: ViewAt,
) -> Boxed {
    P::renew(decoder, name, slot)
}

/// True if an operand is of this element type, or not there, or not a buffer (which is reported when it is read). [`begin`] has
/// checked the number of operands, unless something is known of them.
#[inline(always)]
pub fn operand_is(entered: &Entered, decoder: &Decoder, i: usize, dtype: DType) -> bool {
    if entered.is_proved() {
        // SAFETY: all operands have views, in the order of the frame, and it is known what they are.
        return unsafe { entered.view((Role::Operand, i)).view() }.dtype() == dtype;
    }
    match decoder.operands.dtype(i) {
        Some(found) => found == abi::DataType::from_dtype(dtype),
        None => true,
    }
}

/// The error of a generic handler for element types that it is not for: for each operand that determines
/// one, its name and the types that it can have.
#[cold]
#[inline(never)]
pub fn no_instance(decoder: &Decoder, operands: &[(usize, &'static str, &[DType])]) -> Boxed {
    let wrong = operands.iter().find_map(|(i, name, types)| {
        let found = decoder.operands.dtype(*i)?;
        let is_one = types.iter().any(|dtype| abi::DataType::from_dtype(*dtype) == found);
        (!is_one).then(|| {
            let types: Vec<_> = types.iter().map(|dtype| dtype.name()).collect();
            format!("operand {i} ({name}): expected {}, found {found}", types.join(" or "))
        })
    });
    let message = wrong.unwrap_or_else(|| "no kernel for these element types".to_owned());
    Err(Box::new(Error::invalid_argument(format!("{}: {message}", decoder.handler))))
}

/// A parameter's slot, before it is read.
#[inline(always)]
pub fn slot<'a, P: Param<'a>>() -> P::Slot {
    P::EMPTY
}

/// Reads a parameter unless it is an attribute.
#[inline(always)]
pub fn positional<'a, P: Param<'a>>(
    decoder: &mut Decoder,
    name: &'static str,
    slot: &mut P::Slot,
    view: ViewAt,
) -> Boxed {
    if const { P::SPEC.is_named() } { Ok(()) } else { P::decode(decoder, name, slot, view) }
}

/// In a frame with a proof: reads what the proof says nothing of and is no attribute (contexts, states).
#[inline(always)]
pub fn beside_proof<'a, P: Param<'a>>(
    decoder: &mut Decoder,
    name: &'static str,
    slot: &mut P::Slot,
    view: ViewAt,
) -> Boxed {
    if const { P::SPEC.is_named() || P::SPEC.has_memory() } {
        Ok(())
    } else {
        P::decode(decoder, name, slot, view)
    }
}

/// Reads a parameter if it is an attribute.
#[inline(always)]
pub fn named<'a, P: Param<'a>>(
    decoder: &mut Decoder,
    name: &'static str,
    slot: &mut P::Slot,
    view: ViewAt,
) -> Boxed {
    if const { P::SPEC.is_named() } { P::decode(decoder, name, slot, view) } else { Ok(()) }
}

/// Checks the tables of attributes of a frame of which only the buffers are known, unless the handler takes none.
#[inline(always)]
pub fn attributes<const N: usize>(decoder: &Decoder, specs: &[Spec; N]) -> Boxed {
    let mut takes_any = false;
    for spec in specs {
        takes_any |= matches!(spec.role, Role::Attribute | Role::AllAttributes);
    }
    // SAFETY: the frame stays, and covers them.
    if takes_any { unsafe { check_attrs(decoder.handler, decoder.attrs) } } else { Ok(()) }
}

/// Checks that no attribute is left, unless the handler takes them all.
#[inline(always)]
pub fn finish<const N: usize>(decoder: &Decoder, specs: &[Spec; N], names: &[&'static str; N]) -> Boxed {
    let mut takes_all = false;
    for spec in specs {
        takes_all |= matches!(spec.role, Role::AllAttributes);
    }
    if !takes_all && decoder.taken_attrs != decoder.attrs().len() {
        return Err(unknown_attr(decoder.handler, decoder.attrs, specs, names));
    }
    Ok(())
}

fn is_parameter<const N: usize>(name: &[u8], specs: &[Spec; N], names: &[&'static str; N]) -> bool {
    specs.iter().zip(names).any(|(spec, known)| spec.is_named() && known.as_bytes() == name)
}

#[cold]
#[inline(never)]
fn unknown_attr<const N: usize>(
    handler: &str,
    attrs: *const abi::Attrs,
    specs: &[Spec; N],
    names: &[&'static str; N],
) -> Box<Error> {
    // Those of a handler that takes none have not been checked, if it is known what the buffers are.
    // SAFETY: the frame stays, and covers them.
    let checked = unsafe { Dict::check(attrs) }.and_then(|attrs| attrs.check_names().map(|()| attrs));
    let attrs = match checked {
        Ok(attrs) => attrs,
        Err(what) => return malformed(handler, what),
    };
    let unknown: Vec<_> = (0..attrs.len())
        .map(|i| attrs.name(i))
        .filter(|name| !is_parameter(name, specs, names))
        .map(String::from_utf8_lossy)
        .collect();
    let known: Vec<_> =
        specs.iter().zip(names).filter(|(spec, _)| spec.is_named()).map(|(_, name)| *name).collect();
    let takes = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let s = if unknown.len() == 1 { "" } else { "s" };
    Box::new(Error::invalid_argument(format!(
        "{handler}: unknown attribute{s} {}; it takes {takes}",
        unknown.join(", ")
    )))
}

/// The memory of a parameter that was read.
#[inline(always)]
pub fn memory<'s, 'a, P: Param<'a>>(slot: &'s P::Slot, view: ViewAt) -> Memory<'s> {
    P::memory(slot, view)
}

/// Fills results with zeros, for a handler that adds to them. What is an operand as well stays.
#[inline(always)]
pub fn zero<'a, P: Param<'a>>(slot: &P::Slot, view: ViewAt) {
    if const { matches!(P::SPEC.role, Role::Result | Role::RestResults) } {
        for result in P::memory(slot, view).writes {
            // SAFETY: `decode` checked the view, and `no_overlap` saw to it that nothing else has its memory. The argument
            // is taken later.
            unsafe { result.zero() }
        }
    }
}

/// The argument of a parameter that was read.
#[inline(always)]
pub fn take<'a, P: Param<'a>>(slot: &'a mut P::Slot, view: ViewAt) -> P {
    P::take(slot, view)
}

#[cold]
#[inline(never)]
pub(crate) fn malformed(handler: &str, what: &str) -> Box<Error> {
    Box::new(Error::invalid_argument(format!("{handler}: malformed call frame: {what}")))
}
