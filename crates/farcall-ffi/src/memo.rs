//! Call frames that a host keeps: what a handler has checked once need not be checked again.
//!
//! XLA promises nothing about the next frame, whatever its address, so that every frame is compared with an earlier one, or
//! decoded as a whole (`decode/proof`). A host that calls a handler with the same frame again and again can add a [`FrameMemo`]
//! to its operands ([`Args::extension_start`](abi::Args)). A handler that has decoded the frame leaves its arguments there, and
//! in the next call takes them from there, if nothing has changed in between.
//!
//! **Invariants.** Only the host knows what has changed, and its promise is [`FrameMemo::entry`]: null unless the frame
//! and all that it leads to, data pointers included, are as they were when the handler wrote it. (The elements are
//! not part of that, nor are `stage`, `ctx` and `future`.) A copy of a frame has no memo, because a memo names
//! the frame that it is of.

use std::ffi::c_void;

use crate::abi;

/// What a frame's host keeps for the handler that is called with it.
///
/// Handlers that do not know it take it for an extension of another kind.
#[repr(C)]
#[derive(Debug)]
pub struct FrameMemo {
    /// With [`FrameMemo::TYPE`].
    pub base: abi::ExtensionBase,
    /// The frame.
    pub frame: *const abi::CallFrame,
    /// The handler that left its arguments, by the address of its entry. The handler writes it, and the host sets it to
    /// null when it changes anything.
    pub entry: *const c_void,
    /// Memory for the arguments, for the handler alone, with an alignment of [`FrameMemo::ALIGNMENT`]. It holds anything.
    pub room: *mut c_void,
    /// Bytes of this memory.
    pub room_size: usize,
}

impl FrameMemo {
    /// The kind of the extension.
    pub const TYPE: abi::ExtensionType = abi::ExtensionType(u32::from_be_bytes(*b"farc"));

    /// Bytes to which the memory for arguments is aligned, at least.
    pub const ALIGNMENT: usize = 16;

    /// Bytes of memory with which a handler of so many operands and results, and so many attributes, can leave its
    /// arguments.
    pub const fn room_for(buffers: usize, attributes: usize) -> usize {
        128 * buffers + 32 * attributes + 192
    }

    /// A memo of a frame, in which nobody has left anything.
    pub fn new(frame: *const abi::CallFrame, room: *mut c_void, room_size: usize) -> FrameMemo {
        let base = abi::ExtensionBase {
            struct_size: size_of::<FrameMemo>(),
            r#type: FrameMemo::TYPE,
            next: std::ptr::null_mut(),
        };
        FrameMemo { base, frame, entry: std::ptr::null(), room, room_size }
    }

    /// The memo of a frame; null if it has none.
    ///
    /// # Safety
    /// `frame` is a call frame that covers its operands, and its extensions are what they say.
    #[inline(always)]
    pub(crate) unsafe fn of(frame: *const abi::CallFrame) -> *mut FrameMemo {
        // SAFETY: the caller's promise.
        let (args_size, extension) = unsafe { ((*frame).args.struct_size, (*frame).args.extension_start) };
        if extension.is_null() || args_size < abi::Args::STRUCT_SIZE || !extension.is_aligned() {
            return std::ptr::null_mut();
        }
        let memo: *mut FrameMemo = extension.cast();
        // SAFETY: an extension begins with its size and its type, and the size covers the other members.
        let is_memo = unsafe {
            (*extension).r#type == FrameMemo::TYPE
                && (*extension).struct_size >= size_of::<FrameMemo>()
                && std::ptr::eq((*memo).frame, frame)
        };
        if is_memo { memo } else { std::ptr::null_mut() }
    }
}
