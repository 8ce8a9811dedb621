//! Call frames of the typed API: the structs of the C interface, and the memory that they point to.
//!
//! A chain of calls is slow if their frames are not in the cache. The memory that a call accesses is
//! therefore contiguous, in two allocations whose addresses are part of the frame: the [`Structs`], which
//! have the same size for all sites, and the [`Tables`].

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;

use farcall_ffi::abi::{self, ArgType, Buffer, Error, HandlerFn, RetType, Stage};
use farcall_ffi::memo::FrameMemo;

use super::leaf::Leaf;
use crate::interface::attrs::EncodedAttrs;
use crate::interface::context::{Context, Run, StateSlot};
use crate::interface::error::{Failure, take_error};
use crate::interface::exit::{CallName, Doing};
use crate::interface::future::{self, Completion};
use crate::interface::metadata::empty_frame;
use crate::interface::{exit, guard};
use crate::registry::exports::host_api;
use farcall_ffi::cache::{CACHE_LINE_BYTES, prefetch};

/// A call frame of the typed API.
#[derive(Debug)]
pub(super) struct Typed {
    structs: Box<Structs>,
    tables: Tables,
}

/// The frame that a handler receives, and the host's state of the call. Never moved, because handlers may
/// hold its address.
#[derive(Debug)]
#[repr(C)]
struct Structs {
    frame: abi::CallFrame,
    execute: HandlerFn,
    context: Context,
    memo: FrameMemo,
}

/// Outcome of a call.
pub(super) enum Outcome {
    Done,
    Failed(Failure),
    Pending(Arc<Completion>),
}

impl Typed {
    /// Creates a frame for calls with these operands and results. The attributes and the slot for the state
    /// of the instantiate stage belong to the call site, which lives longer than the frame.
    pub(super) fn new(
        execute: HandlerFn,
        attrs: &EncodedAttrs,
        state: &StateSlot,
        operands: &[Leaf],
        results: &[Leaf],
    ) -> Typed {
        let mut frame = empty_frame(host_api(), Stage::EXECUTE);
        frame.attrs = attrs.abi();
        let attributes = usize::try_from(frame.attrs.size).unwrap_or(0);
        let tables = Tables::new(operands, results, attributes);
        let kinds = |i| tables.at::<u32>(tables.layout().kinds).wrapping_add(i);
        let pointers = |i| tables.at::<*mut c_void>(tables.layout().pointers).wrapping_add(i);
        frame.args.size = i64::try_from(operands.len()).unwrap_or(i64::MAX);
        frame.args.types = kinds(0).cast::<ArgType>();
        frame.args.args = pointers(0);
        frame.rets.size = i64::try_from(results.len()).unwrap_or(i64::MAX);
        frame.rets.types = kinds(operands.len()).cast::<RetType>();
        frame.rets.rets = pointers(operands.len());
        let memo = FrameMemo::new(null(), tables.at::<c_void>(tables.layout().memo), tables.memo_bytes);
        let context = Context::new(NonNull::from(state));
        let mut structs = Box::new(Structs { frame, execute, context, memo });
        structs.memo.frame = &raw const structs.frame;
        Typed { structs, tables }
    }

    /// Returns the handler of the execute stage.
    #[inline]
    pub(super) fn execute(&self) -> HandlerFn {
        self.structs.execute
    }

    /// Returns the context that the host's functions use on behalf of the handlers.
    #[inline]
    pub(super) fn context(&self) -> &Context {
        &self.structs.context
    }

    /// Returns the context, to be changed between calls.
    pub(super) fn context_mut(&mut self) -> &mut Context {
        &mut self.structs.context
    }

    /// Prefetches the memory that a call accesses.
    #[inline]
    pub(super) fn prefetch(&self) {
        /// Bytes to prefetch: of the structs, up to the members of the context that each call sets; of the
        /// tables, enough for a few buffers.
        const BYTES: [usize; 2] = [offset_of!(Structs, context) + CACHE_LINE_BYTES, 3 * CACHE_LINE_BYTES];
        let structs: *const Structs = &raw const *self.structs;
        for (at, bytes) in [structs.cast::<u8>(), self.tables.at(0)].into_iter().zip(BYTES) {
            (0..bytes).step_by(CACHE_LINE_BYTES).for_each(|line| prefetch(at.wrapping_add(line), true));
        }
    }

    /// Returns the addresses of operands and then results.
    #[inline]
    pub(super) fn addresses(&mut self) -> &mut [*mut u8] {
        let Tables { len, .. } = self.tables;
        // SAFETY: the table has `len` addresses, to which handlers have no pointer.
        unsafe { std::slice::from_raw_parts_mut(self.tables.at(self.tables.layout().addresses), len) }
    }

    /// Calls a handler of a stage. Begins the call in the context, and does not end it there.
    /// [`Typed::is_over`] interprets the returned value.
    ///
    /// # Safety
    /// Same requirements as [`CallFrame::launch`](super::CallFrame::launch). `run` may be null in the
    /// instantiate stage.
    #[inline]
    pub(super) unsafe fn enter(
        &mut self,
        name: &CallName,
        (stage, handler): (Stage, HandlerFn),
        run: *const Run,
    ) -> *mut Error {
        let structs = &mut *self.structs;
        // Another stage may have another handler, which could write to more than `restore` restores.
        if self.tables.restore() || stage != Stage::EXECUTE {
            structs.memo.entry = null();
        }
        structs.context.enter(stage, run);
        structs.frame.args.extension_start = (&raw mut structs.memo).cast();
        structs.frame.ctx = (&raw mut structs.context).cast();
        structs.frame.stage = stage;
        structs.frame.future = null_mut();
        let doing = Doing::Call(name, stage);
        // SAFETY: the frame is complete. The memory behind its pointers belongs to `self` or to the call
        // site, or the caller guarantees that it is valid (`# Safety` above).
        exit::within(&doing, || unsafe { guard::handler(handler, &raw mut structs.frame) })
    }

    /// Returns true if a call succeeded and no work of the call remains. If so, ends the call in the context.
    #[inline]
    pub(super) fn is_over(&self, error: *mut Error) -> bool {
        error.is_null() && self.structs.frame.future.is_null() && self.structs.context.leave_at_once()
    }

    /// Returns the outcome of a call that is not over, without ending the call in the context.
    #[cold]
    pub(super) fn outcome(&self, error: *mut Error) -> Outcome {
        let future = self.structs.frame.future;
        if let Some(failure) = take_error(error) {
            future::give_up(future);
            return Outcome::Failed(failure);
        }
        if future.is_null() {
            return Outcome::Done;
        }
        match future::claim(future) {
            Some(completion) => Outcome::Pending(completion),
            None => {
                Outcome::Failed(Failure::invalid("the handler returned a future that is not this host's"))
            }
        }
    }

    /// Calls a handler of a stage and waits until the call is complete.
    ///
    /// # Errors
    /// If an interrupt ended the wait: the completion of the call, which has not ended in the context.
    ///
    /// # Safety
    /// Same requirements as [`Typed::enter`]. After an error, the guarantees extend until the call is
    /// complete.
    pub(super) unsafe fn run_to_end(
        &mut self,
        name: &CallName,
        (stage, handler): (Stage, HandlerFn),
        run: *const Run,
    ) -> Result<Result<(), Failure>, Arc<Completion>> {
        // SAFETY: the caller guarantees the contract of `enter` (`# Safety` above).
        let error = unsafe { self.enter(name, (stage, handler), run) };
        let outcome = match self.outcome(error) {
            Outcome::Done => Ok(()),
            Outcome::Failed(failure) => Err(failure),
            Outcome::Pending(completion) => completion.wait_unless_due().map_err(|_| completion)?,
        };
        Ok(self.structs.context.end(outcome))
    }
}

/// The tables that a frame's structs point to, operands before results, in one allocation. Owned here, but
/// accessed through raw pointers, because the handlers also have pointers to the tables, and can write to
/// them.
#[derive(Debug)]
struct Tables {
    /// Words of 8 bytes, with the alignment of a [`FrameMemo`]'s memory.
    words: NonNull<u64>,
    /// Number of buffers.
    len: usize,
    /// Total number of dimensions of all buffers.
    dims: usize,
    /// Size in bytes of the memo's memory.
    memo_bytes: usize,
}

/// Start of each table, in words.
struct Layout {
    /// Addresses of the buffers' elements. Handlers have no pointer to this table.
    addresses: usize,
    /// Dimensions of all buffers, one after another.
    dims: usize,
    /// Correct dimensions. Handlers have no pointer to this table.
    true_dims: usize,
    buffers: usize,
    pointers: usize,
    /// [`ArgType::BUFFER`] and [`RetType::BUFFER`] have the same value.
    kinds: usize,
    /// Memory for the handler's memo.
    memo: usize,
}

const WORD_BYTES: usize = size_of::<u64>();
const _: () = assert!(ArgType::BUFFER.0 == RetType::BUFFER.0);
const _: () = assert!(align_of::<Buffer>() == WORD_BYTES && align_of::<u128>() >= FrameMemo::ALIGNMENT);

impl Tables {
    fn new(operands: &[Leaf], results: &[Leaf], attributes: usize) -> Tables {
        let leaves = || operands.iter().chain(results);
        let (len, dims) = (leaves().count(), leaves().map(|leaf| leaf.dims.len()).sum());
        let memo_bytes = FrameMemo::room_for(len, attributes);
        let mut tables = Tables { words: NonNull::dangling(), len, dims, memo_bytes };
        let memory: Box<[u128]> = vec![0; tables.size()].into();
        tables.words = NonNull::from(Box::leak(memory)).cast();
        let layout = tables.layout();
        let mut at = 0;
        for (i, leaf) in leaves().enumerate() {
            let first = tables.at::<i64>(layout.dims).wrapping_add(at);
            let buffer = Buffer {
                struct_size: Buffer::STRUCT_SIZE,
                extension_start: null_mut(),
                dtype: leaf.dtype,
                data: null_mut(),
                rank: i64::try_from(leaf.dims.len()).unwrap_or(i64::MAX),
                dims: first,
            };
            let place = tables.at::<Buffer>(layout.buffers).wrapping_add(i);
            // SAFETY: the layout has space for `len` members of each table, and for `dims` dimensions.
            unsafe {
                place.write(buffer);
                tables.at::<*mut c_void>(layout.pointers).add(i).write(place.cast());
                tables.at::<u32>(layout.kinds).add(i).write(ArgType::BUFFER.0);
                tables.at::<*mut u8>(layout.addresses).add(i).write(null_mut());
                for true_dims in [first, tables.at::<i64>(layout.true_dims).add(at)] {
                    true_dims.copy_from_nonoverlapping(leaf.dims.as_ptr(), leaf.dims.len());
                }
            }
            at += leaf.dims.len();
        }
        tables
    }

    #[inline]
    fn layout(&self) -> Layout {
        let dims = self.len;
        let true_dims = dims + self.dims;
        let buffers = true_dims + self.dims;
        let pointers = buffers + self.len * (size_of::<Buffer>() / WORD_BYTES);
        let kinds = pointers + self.len;
        // Aligned to two words.
        let memo = (kinds + self.len.div_ceil(2)).next_multiple_of(2);
        Layout { addresses: 0, dims, true_dims, buffers, pointers, kinds, memo }
    }

    /// Returns the total size in units of 16 bytes.
    fn size(&self) -> usize {
        (self.layout().memo * WORD_BYTES + self.memo_bytes).div_ceil(size_of::<u128>())
    }

    /// Returns a pointer to the table that starts at this word.
    #[inline]
    fn at<T>(&self, word: usize) -> *mut T {
        self.words.as_ptr().wrapping_add(word).cast()
    }

    /// Writes the elements' addresses, and undoes a handler's writes to the dimensions, which must not affect
    /// the next call. Returns true if anything changed.
    #[inline]
    fn restore(&mut self) -> bool {
        let layout = self.layout();
        let (addresses, buffers) = (self.at::<*mut u8>(layout.addresses), self.at::<Buffer>(layout.buffers));
        let mut changed = false;
        for i in 0..self.len {
            // SAFETY: both tables have `len` entries, and nothing else accesses them between calls.
            unsafe {
                let (place, data) = (addresses.add(i).read(), &raw mut (*buffers.add(i)).data);
                if place.cast() != *data {
                    *data = place.cast();
                    changed = true;
                }
            }
        }
        let (dims, true_dims) = (self.at::<i64>(layout.dims), self.at::<i64>(layout.true_dims));
        for i in 0..self.dims {
            // SAFETY: both tables have `dims` dimensions, and nothing else accesses them between calls.
            if unsafe { dims.add(i).read() != true_dims.add(i).read() } {
                self.restore_dims();
                return true;
            }
        }
        changed
    }

    #[cold]
    #[inline(never)]
    fn restore_dims(&mut self) {
        let layout = self.layout();
        // SAFETY: both tables have `dims` dimensions, and nothing else accesses them between calls.
        unsafe { self.at::<i64>(layout.dims).copy_from(self.at(layout.true_dims), self.dims) }
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        let memory = std::ptr::slice_from_raw_parts_mut(self.words.as_ptr().cast::<u128>(), self.size());
        // SAFETY: leaked with this size in `new`, and no call is running.
        drop(unsafe { Box::from_raw(memory) });
    }
}
