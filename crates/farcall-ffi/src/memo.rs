//! Memos: decoded arguments that a host keeps with a call frame, so that a handler need not check the frame
//! again.
//!
//! XLA guarantees nothing about the next frame, even at the same address, so every frame is compared with an
//! earlier one or decoded in full (`decode/proof`). A host that calls a handler with the same frame
//! repeatedly can add a [`FrameMemo`] to the frame's operands ([`Args::extension_start`](abi::Args)). A
//! handler that has decoded the frame stores its arguments in the memo, and takes them from there in the next
//! call if nothing has changed in between.
//!
//! **Invariants.** Only the host knows about changes, and it reports them through [`FrameMemo::entry`]. The
//! host guarantees that this member is null unless the frame and everything reachable from it, data pointers
//! included, are unchanged since the handler set it. (The elements themselves may change, and so may `stage`,
//! `ctx` and `future`.) A memo records the address of its frame, so a copy of the frame at another address
//! has no memo.

use std::ffi::c_void;

use crate::abi;

/// Memory that a host keeps with a frame for the handler that is called with it.
///
/// Handlers that do not support memos skip it as an extension of an unknown kind.
#[repr(C)]
#[derive(Debug)]
pub struct FrameMemo {
    /// Extension header, of type [`FrameMemo::TYPE`].
    pub base: abi::ExtensionBase,
    /// The frame that this memo belongs to.
    pub frame: *const abi::CallFrame,
    /// Address of the entry of the handler that stored its arguments. The handler sets it, and the host
    /// resets it to null when it changes anything.
    pub entry: *const c_void,
    /// Memory for the arguments, exclusive to the handler and aligned to [`FrameMemo::ALIGNMENT`]. Its
    /// initial contents are unspecified.
    pub room: *mut c_void,
    /// Size of this memory in bytes.
    pub room_size: usize,
}

impl FrameMemo {
    /// Extension type of memos.
    pub const TYPE: abi::ExtensionType = abi::ExtensionType(u32::from_be_bytes(*b"farc"));

    /// Minimum alignment of the memory for arguments, in bytes.
    pub const ALIGNMENT: usize = 16;

    /// Returns a memory size in bytes that suffices for a handler. `buffers` is the number of its operands
    /// and results together.
    pub const fn room_for(buffers: usize, attributes: usize) -> usize {
        128 * buffers + 32 * attributes + 192
    }

    /// Makes an empty memo for a frame.
    pub fn new(frame: *const abi::CallFrame, room: *mut c_void, room_size: usize) -> FrameMemo {
        let base = abi::ExtensionBase {
            struct_size: size_of::<FrameMemo>(),
            r#type: FrameMemo::TYPE,
            next: std::ptr::null_mut(),
        };
        FrameMemo { base, frame, entry: std::ptr::null(), room, room_size }
    }

    /// Returns the memo of a frame, or null if it has none.
    ///
    /// # Safety
    /// `frame` is a call frame whose size covers its operands, and its extensions are valid for their
    /// declared sizes and types.
    #[inline(always)]
    pub(crate) unsafe fn of(frame: *const abi::CallFrame) -> *mut FrameMemo {
        // SAFETY: the caller guarantees that the frame covers its operands (`# Safety` above).
        let (args_size, extension) = unsafe { ((*frame).args.struct_size, (*frame).args.extension_start) };
        if extension.is_null() || args_size < abi::Args::STRUCT_SIZE || !extension.is_aligned() {
            return std::ptr::null_mut();
        }
        let memo: *mut FrameMemo = extension.cast();
        // SAFETY: an extension begins with its size and type, and the size is checked to cover the other
        // members.
        let is_memo = unsafe {
            (*extension).r#type == FrameMemo::TYPE
                && (*extension).struct_size >= size_of::<FrameMemo>()
                && std::ptr::eq((*memo).frame, frame)
        };
        if is_memo { memo } else { std::ptr::null_mut() }
    }
}
