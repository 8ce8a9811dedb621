//! Decodes a call frame into a handler's arguments.
//!
//! The macros expand to a sequence of calls into this module. [`read`] handles a frame about which nothing is
//! known, in these steps:
//! - [`begin`] counts the buffers.
//! - [`positional`] reads the parameters in order.
//! - [`attribute`] reads the attributes in the order of their names. A frame's attributes are sorted, so one
//!   pass finds them all.
//! - [`finish`] checks that every attribute was read.
//! - [`may_overlap`] tests each pair of parameters for shared memory.
//! - [`remember`](crate::trampoline::remember) stores the outcome for later frames.
//!
//! Each parameter is decoded into its *slot*. A parameter that is always one buffer has a *view* instead, and
//! a call has an array of such views. After decoding, [`zero`] is called for each result if the handler asks
//! for zeroed results, and [`take`] for each argument.
//!
//! For a later frame, some of this may already be [known](crate::trampoline):
//! - If the host keeps a [memo](crate::memo) of the frame and nothing has changed, slots and views are
//!   already filled in. Only [`renew`] is called.
//! - If the frame matches one that was checked earlier (see `proof`), the views are known: the operands'
//!   views are in the proof, the results' views on the stack. [`attributes`] checks the attribute tables,
//!   [`beside_proof`] reads contexts and states, and [`named`] and [`finish`] read the attributes. Nothing
//!   else in the frame is checked, counted or read again.
//!
//! For a known frame, everything is inlined, so that types, names and counts are constants. Most frames are
//! read in full only once. A full read calls one function for each type of parameter. All handlers of a
//! library share these functions, so that a library of hundreds of handlers stays small.
//!
//! Nothing allocates unless there is an error, a proof is added, or the handler takes a variable number of
//! buffers or residuals that the host does not request.
//!
//! **Speed.** A parameter is decoded straight into its slot or view and never moved. Cold functions take
//! values instead of `&self`, so that the description of the call stays in registers. `benches/decode.rs`
//! measures decoding.
//!
//! **Invariants.** A [`Decoder`] is only made from a frame whose struct sizes cover every member that is
//! read, and it does not outlive the call. The decoded values live in the trampoline's stack frame, in the
//! memo, or in a proof, which is never written to. No result that is handed out shares memory with any other
//! argument.
#![expect(clippy::missing_errors_doc, reason = "only called by the expansion of the macros")]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null;

use farcall_sig::DType;

use crate::abi;
use crate::attr::{Attr, Dict};
use crate::buffer::{self, FromView, View};
use crate::context::Context;
use crate::error::{Boxed, Error};
use crate::host::{Host, host_of};
use crate::kept::Guard;
use crate::pointer::unusable;

mod overlap;
mod params;
mod proof;
mod residuals;
mod spec;

pub use overlap::{Footprint, may_overlap, may_overlap_itself, no_overlap};
pub use params::{RestOperands, RestResults};
pub use proof::Proofs;
pub use residuals::{Extent, Residual, TensorIndex, Term};
pub use spec::{BufferCounts, Role, Spec, common, expect_on, expect_stage_on, keeps, lasts, view_of};

use spec::Side;

/// A type that a handler's parameter can have.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a handler",
    label = "neither an operand, a result, an attribute nor a context",
    note = "an operand is a `&Buffer<T>` or `&AnyBuffer`, a result a `&mut Buffer<T>` or `&mut AnyBuffer`, an operand that becomes a result `&mut InOut<Buffer<T>>`",
    note = "an attribute is a number, bool, `&str`, `&[T]`, `&Dict`, or an `Option` of one",
    note = "see: farcall guide kernels"
)]
pub trait Param<'a>: Sized {
    const SPEC: Spec;

    /// Decoded form of the parameter, kept by the trampoline while the handler runs.
    type Slot;

    /// Initial slot, before anything was read.
    const EMPTY: Self::Slot;

    /// Reads the parameter from the frame.
    fn decode(decoder: &mut Decoder, name: &'static str, slot: &mut Self::Slot, view: ViewAt) -> Boxed;

    /// Updates a slot that an earlier call decoded from the same frame, so that it is valid for this call.
    /// The parameter [lasts](Spec::lasts).
    #[inline(always)]
    fn renew(_: &mut Decoder, _: &'static str, _: &mut Self::Slot) -> Boxed {
        Ok(())
    }

    /// Makes the argument from the decoded slot. If the parameter [lasts](Spec::lasts), the slot is left
    /// unchanged.
    fn take(slot: &'a mut Self::Slot, view: ViewAt) -> Self;

    /// Memory that the argument gives access to.
    #[inline(always)]
    fn memory(_: &Self::Slot, _: ViewAt) -> Footprint<'_> {
        Footprint::EMPTY
    }

    /// Start and end addresses of a range that contains all buffers of `memory`; both are 0 if there are
    /// none. Not called for parameters that [take any number of buffers](Spec::has_many).
    #[inline(always)]
    fn span(_: &Self::Slot, _: ViewAt) -> (usize, usize) {
        (0, 0)
    }
}

/// Pointer to the view of a parameter that [is one buffer](Spec::is_one_buffer); arbitrary for other
/// parameters.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct ViewAt(pub(crate) *mut View);

impl ViewAt {
    /// Placeholder for parameters that are not one buffer.
    pub(crate) const NULL: ViewAt = ViewAt(std::ptr::null_mut());

    /// Returns the view's memory, to be initialized.
    ///
    /// # Safety
    /// The parameter is one buffer, and the pointer points to memory for its view. The memory stays valid for
    /// `'a`, and nothing else accesses it until the view is written.
    #[inline(always)]
    pub(crate) unsafe fn unread<'a>(self) -> &'a mut MaybeUninit<View> {
        // SAFETY: the caller guarantees that the memory is valid and not aliased (`# Safety` above).
        unsafe { &mut *self.0.cast() }
    }

    /// Returns the view, which must have been read.
    ///
    /// # Safety
    /// The parameter is one buffer, whose view was written and stays valid for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn view<'a>(self) -> &'a View {
        // SAFETY: the caller guarantees that the view is initialized and valid (`# Safety` above).
        unsafe { &*self.0 }
    }

    /// Returns the view for exclusive use, from which the argument is made.
    ///
    /// # Safety
    /// Same requirements as [`view`](ViewAt::view); the parameter is a result, and nothing else accesses the
    /// view.
    #[inline(always)]
    pub(crate) unsafe fn view_mut<'a>(self) -> &'a mut View {
        // SAFETY: the caller guarantees that the view is initialized, valid and not aliased (`# Safety`
        // above).
        unsafe { &mut *self.0 }
    }
}

/// A cursor over a call frame.
#[doc(hidden)]
pub struct Decoder {
    pub(crate) handler: &'static str,
    pub(crate) frame: *const abi::CallFrame,
    pub(crate) operands: Buffers,
    pub(crate) results: Buffers,
    pub(crate) attrs: *const abi::Attrs,
    next_attr: usize,
    taken_attrs: usize,
    /// Null unless parameters may be kept after the handler has returned; otherwise valid for longer than the
    /// decoder.
    pub(crate) kept: *const Guard,
}

/// The operands or the results of a frame.
#[derive(Clone, Copy)]
pub(crate) struct Buffers {
    what: &'static str,
    size: usize,
    /// `ArgType` or `RetType`; both enums only define 1, a buffer.
    pub(crate) types: *const u32,
    pub(crate) buffers: *const *mut c_void,
    next: usize,
    /// Number of buffers for each parameter that takes a list of them.
    each: usize,
}

impl Decoder {
    /// # Safety
    /// `frame` is valid, and it and its tables were checked. Everything reachable from it stays valid and
    /// unchanged until the decoder and all values it handed out are gone.
    #[inline(always)]
    pub(crate) unsafe fn new(frame: *const abi::CallFrame, handler: &'static str) -> Decoder {
        // SAFETY: the caller guarantees that the frame is valid (`# Safety` above).
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

    /// Returns the call's host.
    #[inline]
    pub(crate) fn host(&self) -> Boxed<Host> {
        // SAFETY: the frame is valid, as the caller of `new` guarantees.
        unsafe { host_of(self.frame) }.ok_or_else(|| malformed(self.handler, "it has no host"))
    }

    /// Name of the handler, for messages.
    pub fn handler(&self) -> &'static str {
        self.handler
    }

    /// Returns the call's context, from which other crates make their parameters. The context cannot keep
    /// buffers.
    #[inline]
    pub fn context(&self) -> Boxed<Context> {
        Ok(Context::new(self.host()?, None))
    }

    /// Returns the guard that kept buffers share; `None` unless parameters may be kept.
    pub(crate) fn kept(&self) -> Option<&Guard> {
        // SAFETY: null, or a guard that outlives the decoder.
        unsafe { self.kept.as_ref() }
    }

    /// Returns operands, results and attributes, for handlers whose parameters are not known at compile time.
    pub(crate) fn tables(self) -> (Buffers, Buffers, *const abi::Attrs) {
        (self.operands, self.results, self.attrs)
    }

    fn attrs(&self) -> &Dict {
        // SAFETY: checked before the decoder was made, or by `attributes`; `Dict` is `repr(transparent)`.
        unsafe { &*self.attrs.cast::<Dict>() }
    }

    /// Returns the next attribute if it has this name. All attributes skipped before it are unknown to the
    /// handler.
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

    /// Skips attributes that sort before `name`, which are unknown; returns true if there were any.
    #[inline(always)]
    fn skip_unknown(&mut self, name: &'static str) -> bool {
        let next = next_known(self.attrs(), self.next_attr, name);
        let skipped = next > self.next_attr;
        self.next_attr = next;
        skipped
    }
}

/// Returns true if the tables of a frame can be read.
#[inline(always)]
pub(crate) fn are_tables(args: &abi::Args, rets: &abi::Rets, attrs: &abi::Attrs) -> bool {
    args.struct_size >= abi::Args::STRUCT_SIZE
        && rets.struct_size >= abi::Rets::STRUCT_SIZE
        && is_table(args.size, args.types, args.args)
        && is_table(rets.size, rets.types, rets.rets)
        // SAFETY: `attrs` is a reference, and stays valid during this function.
        && unsafe { Dict::check(attrs) }.is_ok()
}

/// Returns true if a table of buffers can be read. The pointers of an empty table may be anything.
#[inline(always)]
fn is_table<T>(size: i64, types: *const T, buffers: *const *mut c_void) -> bool {
    size == 0 || (size > 0 && (unusable(types) | unusable(buffers)) == 0)
}

/// Checks the same conditions as [`are_tables`], and returns an error that names the one that fails.
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
    // SAFETY: `attrs` is a reference, and stays valid during this function.
    unsafe { check_attrs(handler, attrs) }
}

/// # Safety
/// Same requirements as [`Dict::check`].
#[inline(always)]
pub(crate) unsafe fn check_attrs(handler: &str, attrs: *const abi::Attrs) -> Boxed {
    // SAFETY: the caller guarantees what `Dict::check` requires (`# Safety` above).
    unsafe { Dict::check(attrs) }.map(|_| ()).map_err(|what| malformed(handler, what))
}

/// Makes the error for a table of operands or results with a null or misaligned pointer, or a negative size.
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

/// Returns the index of the first attribute, from `next` on, that does not sort before `name`.
#[cold]
#[inline(never)]
fn next_known(attrs: &Dict, mut next: usize, name: &str) -> usize {
    while next < attrs.len() && attrs.name(next) < name.as_bytes() {
        next += 1;
    }
    next
}

impl Buffers {
    /// Number of buffers.
    pub(crate) fn len(&self) -> usize {
        self.size
    }

    /// Skips the next buffer.
    pub(crate) fn skip(&mut self) {
        self.next += 1;
    }

    /// Returns the element type of a buffer, or `None` if index `i` is out of range or not a valid buffer.
    #[inline(always)]
    pub(crate) fn dtype(&self, i: usize) -> Option<abi::DataType> {
        if i >= self.size {
            return None;
        }
        // SAFETY: `i < size`, and the tables have `size` members.
        let (kind, buffer) = unsafe { (*self.types.add(i), *self.buffers.add(i)) };
        let buffer: *const abi::Buffer = buffer.cast_const().cast();
        // SAFETY: a pointer of kind `BUFFER` that is neither null nor misaligned points to an `abi::Buffer`.
        // Its `struct_size` is the first member and determines which other members exist.
        let is_whole = kind == abi::ArgType::BUFFER.0
            && unusable(buffer) == 0
            && unsafe { (*buffer).struct_size } >= abi::Buffer::STRUCT_SIZE;
        // SAFETY: `struct_size` covers the member.
        is_whole.then(|| unsafe { (*buffer).dtype })
    }

    /// Returns the number of buffers without trailing tokens, but at least `least`. Takes `self` by value;
    /// see the module's docs on speed.
    #[cold]
    #[inline(never)]
    pub(crate) fn without_tokens(self, least: usize) -> usize {
        let mut size = self.size;
        while size > least && self.dtype(size - 1) == Some(abi::DataType::TOKEN) {
            size -= 1;
        }
        size
    }

    /// Reads the next buffer as a `B`; on success, the view is initialized. The caller has checked that there
    /// is a next buffer.
    #[inline(always)]
    pub(crate) fn next<B: FromView + ?Sized>(
        &mut self,
        handler: &'static str,
        name: &'static str,
        view: &mut MaybeUninit<View>,
    ) -> Boxed {
        let i = self.next;
        self.next += 1;
        // SAFETY: `i < size`, since `begin` or the caller checked the counts.
        let (kind, buffer) = unsafe { (*self.types.add(i), *self.buffers.add(i)) };
        let buffer: *const abi::Buffer = buffer.cast_const().cast();
        let other = kind != abi::ArgType::BUFFER.0;
        // SAFETY: a buffer whose pointer is neither null nor misaligned.
        if other || unusable(buffer) != 0 || unsafe { !View::read::<B>(view, buffer) } {
            let buffer = if other { std::ptr::null() } else { buffer };
            // SAFETY: null, or a valid buffer.
            return Err(unsafe { wrong_buffer((handler, self.what, i, name), buffer, B::DTYPE, B::RANK) });
        }
        Ok(())
    }
}

/// Makes the error for an operand or result that does not match its parameter. A null `buffer` means that the
/// entry is not a buffer.
///
/// # Safety
/// `buffer` is null or satisfies the requirements of [`View::read`].
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
        // SAFETY: the caller guarantees that the buffer is valid (`# Safety` above).
        unsafe { buffer::what_is_wrong(buffer, dtype, rank) }
    };
    Box::new(Error::invalid_argument(format!("{handler}: {what} {i} ({name}): {message}")))
}

/// Checks the number of operands and results against the parameters. Unless `exact`, there may be more
/// operands and results than the parameters take. Trailing tokens without a parameter are ignored: they order
/// calls and hold no data.
#[inline(always)]
pub fn begin<const N: usize>(
    decoder: &mut Decoder,
    specs: &[Spec; N],
    names: &[&'static str; N],
    exact: bool,
) -> Boxed {
    let sizes = [decoder.operands.size, decoder.results.size];
    let are_exact = |side: Side| {
        let Arity { least, optional, lists } = Arity::of(specs, side);
        sizes[side as usize] == least && optional + lists == 0
    };
    if !are_exact(Side::Operands) {
        count(decoder, specs, names, Side::Operands, exact)?;
    }
    if !are_exact(Side::Results) {
        count(decoder, specs, names, Side::Results, exact)?;
    }
    Ok(())
}

/// Checks the number of operands or of results, and divides the buffers among the lists. Not called if the
/// parameters take a fixed number of buffers and the frame has exactly that number.
#[inline(never)]
fn count(decoder: &mut Decoder, specs: &[Spec], names: &[&'static str], side: Side, exact: bool) -> Boxed {
    let Decoder { handler, operands, results, .. } = decoder;
    let buffers = match side {
        Side::Operands => operands,
        Side::Results => results,
    };
    let arity = Arity::of(specs, side);
    let most = arity.most();
    let Arity { least, optional, lists } = arity;
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
    // If this handler always takes the same number of buffers, the number is not read again.
    if least != most {
        buffers.size = found;
    }
    Ok(())
}

/// Numbers of operands, or numbers of results, that the parameters take.
struct Arity {
    /// Number of buffers that required parameters take.
    least: usize,
    /// Number of buffers that optional parameters take; these buffers precede the lists.
    optional: usize,
    /// Number of parameters that take a list of buffers; all lists have the same length.
    lists: usize,
}

impl Arity {
    const fn of(specs: &[Spec], side: Side) -> Arity {
        let [one, in_out, rest] = side.roles();
        let (mut arity, mut i) = (Arity { least: 0, optional: 0, lists: 0 }, 0);
        while i < specs.len() {
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

    fn most(&self) -> usize {
        if self.lists > 0 { usize::MAX } else { self.least + self.optional }
    }
}

#[cold]
#[inline(never)]
fn wrong_count(
    handler: &str,
    found: usize,
    specs: &[Spec],
    names: &[&'static str],
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

/// Reads a frame about which nothing is known. Not inlined, so that calls with known frames have little to do
/// before they return.
#[inline(never)]
pub fn read<S>(slots: &mut S, read: impl FnOnce(&mut S) -> Boxed) -> Boxed {
    read(slots)
}

/// Updates a remembered slot for this call.
#[inline(always)]
pub fn renew<'a, P: Param<'a>>(
    decoder: &mut Decoder,
    name: &'static str,
    slot: &mut P::Slot,
    _: ViewAt,
) -> Boxed {
    P::renew(decoder, name, slot)
}

/// Makes the error of a generic handler that has no instance for the element types. `operands` lists each
/// operand that determines an element type, with its name and its possible types.
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

/// Returns a parameter's initial slot.
#[inline(always)]
pub fn slot<'a, P: Param<'a>>() -> P::Slot {
    P::EMPTY
}

/// Reads a parameter in a full read, unless it is an attribute.
#[inline(always)]
pub fn positional<'a, P: Param<'a>>(
    decoder: &mut Decoder,
    name: &'static str,
    slot: &mut P::Slot,
    view: ViewAt,
) -> Boxed {
    if const { P::SPEC.is_named() } { Ok(()) } else { shared::<P>(decoder, name, slot, view) }
}

/// Reads a parameter in a full read, if it is an attribute.
#[inline(always)]
pub fn attribute<'a, P: Param<'a>>(
    decoder: &mut Decoder,
    name: &'static str,
    slot: &mut P::Slot,
    view: ViewAt,
) -> Boxed {
    if const { P::SPEC.is_named() } { shared::<P>(decoder, name, slot, view) } else { Ok(()) }
}

/// Reads a parameter. All handlers with parameters of this type share the function.
#[inline(never)]
fn shared<'a, P: Param<'a>>(
    decoder: &mut Decoder,
    name: &'static str,
    slot: &mut P::Slot,
    view: ViewAt,
) -> Boxed {
    P::decode(decoder, name, slot, view)
}

/// Reads a parameter of a frame that matches a proof, if it is neither a buffer nor an attribute (a context
/// or a state).
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

/// Reads a parameter of a frame that matches a proof, if it is an attribute.
#[inline(always)]
pub fn named<'a, P: Param<'a>>(
    decoder: &mut Decoder,
    name: &'static str,
    slot: &mut P::Slot,
    view: ViewAt,
) -> Boxed {
    if const { P::SPEC.is_named() } { P::decode(decoder, name, slot, view) } else { Ok(()) }
}

/// Checks the attribute tables of a frame that matches a proof, unless the handler takes no attributes.
#[inline(always)]
pub fn attributes(decoder: &Decoder, specs: &[Spec]) -> Boxed {
    let mut takes_any = false;
    for spec in specs {
        takes_any |= matches!(spec.role, Role::Attribute | Role::AllAttributes);
    }
    // SAFETY: the frame stays valid during the call, and its size covers the attributes.
    if takes_any { unsafe { check_attrs(decoder.handler, decoder.attrs) } } else { Ok(()) }
}

/// Checks that every attribute was read, unless the handler takes all attributes.
#[inline(always)]
pub fn finish(decoder: &Decoder, specs: &[Spec], names: &[&'static str]) -> Boxed {
    let mut takes_all = false;
    for spec in specs {
        takes_all |= matches!(spec.role, Role::AllAttributes);
    }
    if !takes_all && decoder.taken_attrs != decoder.attrs().len() {
        return Err(unknown_attr(decoder.handler, decoder.attrs, specs, names));
    }
    Ok(())
}

fn is_parameter(name: &[u8], specs: &[Spec], names: &[&'static str]) -> bool {
    specs.iter().zip(names).any(|(spec, known)| spec.is_named() && known.as_bytes() == name)
}

#[cold]
#[inline(never)]
fn unknown_attr(
    handler: &str,
    attrs: *const abi::Attrs,
    specs: &[Spec],
    names: &[&'static str],
) -> Box<Error> {
    // If the frame matches a proof and the handler takes no attributes, the tables were not checked before.
    // SAFETY: the frame stays valid during the call, and its size covers the attributes.
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

/// Returns the memory of a parameter that was read.
#[inline(always)]
pub fn memory<'s, 'a, P: Param<'a>>(slot: &'s P::Slot, view: ViewAt) -> Footprint<'s> {
    P::memory(slot, view)
}

/// Fills results with zeros, for a handler that accumulates into them. Operands that are updated in place are
/// left unchanged.
#[inline(always)]
pub fn zero<'a, P: Param<'a>>(slot: &P::Slot, view: ViewAt) {
    if const { matches!(P::SPEC.role, Role::Result | Role::RestResults) } {
        for result in P::memory(slot, view).writes {
            // SAFETY: `decode` checked the view, and `no_overlap` checked that no other argument shares its
            // memory. The argument is only made afterwards, by `take`.
            unsafe { result.zero() }
        }
    }
}

/// Makes the argument of a parameter that was read.
#[inline(always)]
pub fn take<'a, P: Param<'a>>(slot: &'a mut P::Slot, view: ViewAt) -> P {
    P::take(slot, view)
}

#[cold]
#[inline(never)]
pub(crate) fn malformed(handler: &str, what: &str) -> Box<Error> {
    Box::new(Error::invalid_argument(format!("{handler}: malformed call frame: {what}")))
}
