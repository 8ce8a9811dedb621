//! Known frames: frames for which the host keeps a memo, and frames that match a proof.

use std::ffi::c_void;
use std::ptr::null;

use farcall_sig::DType;

use super::{Entry, enter};
use crate::abi;
use crate::buffer::View;
use crate::decode::{Decoder, Role, ViewAt};
use crate::kept::Guard;
use crate::memo::FrameMemo;
use crate::panics;
use crate::pointer::unusable;

/// A call with a valid frame whose tables can be read; the argument of [`Entry::call`].
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Entered {
    pub(crate) frame: *const abi::CallFrame,
    pub(crate) handler: &'static str,
    pub(crate) known: Known,
    /// True if the decoded arguments may be remembered for later calls.
    pub(crate) leaves: bool,
    /// Null unless parameters may be kept after the handler has returned; otherwise valid for longer than the
    /// decoded values.
    pub(crate) kept: *const Guard,
}

/// Knowledge about a frame before it is read.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    level: Level,
    /// Memory for the views of parameters that are one buffer: first the operands' views, then the results'.
    /// If nothing is known, they are not initialized. With a proof, the operands' views are initialized only
    /// if `operands` points to them.
    views: *mut View,
    /// First operand view. Equal to `views`, unless the views of a proof are used.
    operands: *const View,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Nothing,
    /// The handler's arguments, which are in the host's memo.
    Arguments,
    /// The buffers: the frame matches a proof, except perhaps for the addresses of elements.
    Buffers,
}

impl Known {
    pub(crate) const fn nothing(views: *mut View) -> Known {
        Known { level: Level::Nothing, views, operands: views }
    }

    /// Looks up a frame in the host's memo and in the proofs of earlier calls.
    ///
    /// # Safety
    /// `frame` is null or a call frame as defined by XLA's C interface.
    #[inline(always)]
    pub(crate) unsafe fn of<E: Entry>(frame: *const abi::CallFrame, views: *mut View) -> Known {
        let nothing = Known::nothing(views);
        // SAFETY: the pointer is usable, `struct_size` is the first member, and the size covers the others.
        let is_readable = unsafe {
            unusable(frame) == 0
                && (*frame).struct_size >= abi::CallFrame::STRUCT_SIZE
                && (*frame).stage == E::STAGE
        };
        if !is_readable {
            return nothing;
        }
        // SAFETY: `struct_size` was just checked to cover the member.
        let memo_extension = unsafe { (*frame).args.extension_start };
        if const { E::LASTS } && !memo_extension.is_null() {
            // SAFETY: the caller guarantees that the frame is valid (`# Safety` above), and its size was
            // checked.
            let memo = unsafe { FrameMemo::of(frame) };
            // SAFETY: `FrameMemo::of` returns null or a valid memo.
            match unsafe { memo.as_ref() } {
                // The memo's contents begin with the views.
                Some(memo) if memo.entry == entry::<E>() => {
                    let views = memo.room.cast();
                    Known { level: Level::Arguments, views, operands: views }
                }
                _ => nothing,
            }
        } else {
            // SAFETY: the frame's size and stage were checked above, and the caller guarantees the rest.
            let operands = E::proofs().map_or(null(), |proofs| unsafe { E::compare(proofs, frame, views) });
            if operands.is_null() { nothing } else { Known { level: Level::Buffers, views, operands } }
        }
    }
}

/// Address that identifies a handler in a host's memo.
#[inline(always)]
fn entry<E: Entry>() -> *const c_void {
    enter::<E> as abi::HandlerFn as *const c_void
}

/// Layout of the arguments that a handler stores in the host's memo.
#[repr(C)]
struct MemoContents<V, S> {
    views: V,
    slots: S,
}

impl Entered {
    /// Returns true if the frame need not be checked.
    #[inline(always)]
    pub fn is_known(&self) -> bool {
        self.known.level != Level::Nothing
    }

    /// Returns true if the host's memo has the handler's arguments.
    #[inline(always)]
    pub fn is_remembered(&self) -> bool {
        self.known.level == Level::Arguments
    }

    /// Returns true if the buffers match a proof.
    #[inline(always)]
    pub fn is_proved(&self) -> bool {
        self.known.level == Level::Buffers
    }

    /// Returns the view of a parameter that is one buffer, by its role and index.
    #[inline(always)]
    pub fn view(&self, (role, i): (Role, usize)) -> ViewAt {
        match role {
            Role::Operand => ViewAt(self.known.operands.cast_mut().wrapping_add(i)),
            _ => ViewAt(self.known.views.wrapping_add(i)),
        }
    }

    /// Returns a decoder of the frame.
    #[inline(always)]
    pub fn decoder(&self) -> Decoder {
        // SAFETY: `is_call` or `Known::of` checked the frame, which stays valid during the call.
        let mut decoder = unsafe { Decoder::new(self.frame, self.handler) };
        decoder.kept = self.kept;
        decoder
    }

    /// Returns the slots of all parameters as an earlier call with the same, unchanged frame left them. The
    /// function argument is never called; it only determines the type of the slots.
    ///
    /// # Safety
    /// The host remembers the arguments ([`is_remembered`](Entered::is_remembered)), and `V` and `S` are the
    /// types with which the handler stored them.
    #[inline(always)]
    pub unsafe fn slots<'s, V, S>(&self, _: &impl Fn() -> S) -> &'s mut S {
        // SAFETY: the handler stored them in the memo's memory, after checking that it is large enough
        // (`remember`). The handler has exclusive use of that memory during the call.
        unsafe { &mut (*self.known.views.cast::<MemoContents<V, S>>()).slots }
    }
}

/// Remembers a checked frame for later calls: stores all arguments in the host's memo if the frame has one,
/// and adds a proof of the frame otherwise.
#[inline(always)]
pub fn remember<E: Entry, S>(entered: Entered, slots: &S) {
    // Known frames skip `panics::install_hook`, so a frame is only remembered once the hook is installed.
    if !entered.leaves || !panics::is_hook_installed() {
        return;
    }
    // SAFETY: the frame of this call, which is valid.
    let memo_extension = unsafe { (*entered.frame).args.extension_start };
    if const { E::LASTS } && !memo_extension.is_null() {
        // SAFETY: the frame of this call, which is valid.
        let Some(memo) = (unsafe { FrameMemo::of(entered.frame).as_mut() }) else { return };
        let room: *mut MemoContents<E::Views, S> = memo.room.cast();
        let fits = const { align_of::<MemoContents<E::Views, S>>() <= FrameMemo::ALIGNMENT }
            && memo.room_size >= size_of::<MemoContents<E::Views, S>>();
        if fits && unusable(room) == 0 {
            // SAFETY: the memo's memory is large enough and aligned. All slots stay valid for later calls
            // (`E::LASTS`), so a bytewise copy is complete.
            unsafe {
                std::ptr::copy_nonoverlapping(entered.known.views.cast(), &raw mut (*room).views, 1);
                std::ptr::copy_nonoverlapping(slots, &raw mut (*room).slots, 1);
            }
            memo.entry = entry::<E>();
        }
    } else if let Some(proofs) = E::proofs() {
        // SAFETY: all checks of the frame have passed.
        unsafe { proofs.add(entered.frame, E::SHAPE) };
    }
}

/// Returns true if an operand has this element type. Also true if the operand is missing or not a buffer,
/// which is reported when the operand is read. `begin` has checked the number of operands, unless the frame
/// is known.
#[inline(always)]
pub fn operand_is(entered: &Entered, decoder: &Decoder, i: usize, dtype: DType) -> bool {
    if entered.is_proved() {
        // SAFETY: the frame matches a proof, so every operand has an initialized view, in the frame's order.
        return unsafe { entered.view((Role::Operand, i)).view() }.dtype() == dtype;
    }
    match decoder.operands.dtype(i) {
        Some(found) => found == abi::DataType::from_dtype(dtype),
        None => true,
    }
}
