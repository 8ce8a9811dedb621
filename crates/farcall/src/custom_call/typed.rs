//! A call frame of the typed API: the structs of the C interface, and the memory that they point to.
//!
//! A chain of calls is slow where their frames are not in the cache, so what a call touches lies close together, in two
//! allocations whose addresses come with the frame: the [`Structs`] that are the same for all sites, and the [`Tables`].

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;

use farcall_ffi::abi::{self, ArgType, Buffer, Error, Handler, RetType, Stage};
use farcall_ffi::memo::FrameMemo;

use super::site::{CallSite, Callee, Leaf};
use crate::cache::{LINE, prefetch};
use crate::host::context::{Context, Run};
use crate::host::error::{Failure, take_error};
use crate::host::exit::{CallName, Doing};
use crate::host::future::{self, Completion};
use crate::host::metadata::empty_frame;
use crate::host::{exit, guard};
use crate::registry::exports::host_api;

/// A frame.
#[derive(Debug)]
pub(super) struct Typed {
    structs: Box<Structs>,
    tables: Tables,
}

/// What a handler gets, and what the host knows of the call. Not moved, as handlers know where it is.
#[derive(Debug)]
#[repr(C)]
struct Structs {
    frame: abi::CallFrame,
    execute: Handler,
    context: Context,
    memo: FrameMemo,
}

/// What came of a call.
pub(super) enum Outcome {
    Done,
    Failed(Failure),
    Pending(Arc<Completion>),
}

impl Typed {
    /// A frame for calls with these operands and results.
    pub(super) fn new(site: &CallSite, execute: Handler, operands: &[Leaf], results: &[Leaf]) -> Typed {
        let mut frame = empty_frame(host_api(), Stage::EXECUTE);
        if let Callee::Typed { attrs, .. } = &site.callee {
            frame.attrs = attrs.abi();
        }
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
        let memo = FrameMemo::new(null(), tables.at::<c_void>(tables.layout().room), tables.room);
        let context = Context::new(site.state());
        let mut structs = Box::new(Structs { frame, execute, context, memo });
        structs.memo.frame = &raw const structs.frame;
        Typed { structs, tables }
    }

    /// The handler of the execute stage.
    #[inline]
    pub(super) fn execute(&self) -> Handler {
        self.structs.execute
    }

    /// What the handlers see through the host's functions.
    #[inline]
    pub(super) fn context(&self) -> &Context {
        &self.structs.context
    }

    /// The same, to be changed between calls.
    pub(super) fn context_mut(&mut self) -> &mut Context {
        &mut self.structs.context
    }

    /// Fetches what a call touches.
    #[inline]
    pub(super) fn prefetch(&self) {
        /// Bytes of the structs up to what each call sets in the context, and of the tables of a few buffers.
        const BYTES: [usize; 2] = [offset_of!(Structs, context) + LINE, 3 * LINE];
        let structs: *const Structs = &raw const *self.structs;
        for (at, bytes) in [structs.cast::<u8>(), self.tables.at(0)].into_iter().zip(BYTES) {
            (0..bytes).step_by(LINE).for_each(|line| prefetch(at.wrapping_add(line), true));
        }
    }

    /// Where operands are and results go, in this order.
    #[inline]
    pub(super) fn places(&mut self) -> &mut [*mut u8] {
        let Tables { len, .. } = self.tables;
        // SAFETY: there are so many, which nobody else knows of.
        unsafe { std::slice::from_raw_parts_mut(self.tables.at(self.tables.layout().places), len) }
    }

    /// Calls a handler of a stage; the context stays entered. What it returned says [`Typed::is_over`].
    ///
    /// # Safety
    /// As [`CallFrame::launch`](super::CallFrame::launch); `run` may be null in the instantiate stage.
    #[inline]
    pub(super) unsafe fn enter(
        &mut self,
        name: &CallName,
        (stage, handler): (Stage, Handler),
        run: *const Run,
    ) -> *mut Error {
        let structs = &mut *self.structs;
        // Another stage may be another handler, which could write to more than is restored.
        if self.tables.restore() || stage != Stage::EXECUTE {
            structs.memo.entry = null();
        }
        structs.context.enter(stage, run);
        structs.frame.args.extension_start = (&raw mut structs.memo).cast();
        structs.frame.ctx = (&raw mut structs.context).cast();
        structs.frame.stage = stage;
        structs.frame.future = null_mut();
        let doing = Doing::Call(name, stage);
        // SAFETY: the frame is complete, and what it points to lives in `self`, in the call site or
        // by the caller's promise.
        exit::within(&doing, || unsafe { guard::handler(handler, &raw mut structs.frame) })
    }

    /// True if a call succeeded and left nothing to do; the context is left then.
    #[inline]
    pub(super) fn is_over(&self, error: *mut Error) -> bool {
        error.is_null() && self.structs.frame.future.is_null() && self.structs.context.leave_at_once()
    }

    /// The outcome of a call that is not over; the context stays entered.
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
    /// If an interrupt ended the wait: the completion of the call, whose context stays entered.
    ///
    /// # Safety
    /// As [`Typed::enter`]; after an error, until the call is complete.
    pub(super) unsafe fn run_to_end(
        &mut self,
        name: &CallName,
        (stage, handler): (Stage, Handler),
        run: *const Run,
    ) -> Result<Result<(), Failure>, Arc<Completion>> {
        // SAFETY: the caller's promise.
        let error = unsafe { self.enter(name, (stage, handler), run) };
        let outcome = match self.outcome(error) {
            Outcome::Done => Ok(()),
            Outcome::Failed(failure) => Err(failure),
            Outcome::Pending(completion) => completion.wait_unless_due().map_err(|_| completion)?,
        };
        Ok(self.structs.context.end(outcome))
    }
}

/// What a frame's structs point to, operands before results, in one allocation. Owned here, used through pointers: the
/// handlers have them too, and can write to them.
#[derive(Debug)]
struct Tables {
    /// Words of 8 bytes, with the alignment of a [`FrameMemo`]'s memory.
    words: NonNull<u64>,
    /// Number of buffers.
    len: usize,
    /// Number of dimensions of all of them.
    dims: usize,
    /// Bytes of memory for the memo.
    room: usize,
}

/// Where each table begins, in words.
struct Layout {
    /// Where the elements of each buffer are: not known to handlers.
    places: usize,
    /// The dimensions of all buffers, one after the other.
    dims: usize,
    /// What they are: not known to handlers.
    true_dims: usize,
    buffers: usize,
    pointers: usize,
    /// [`ArgType::BUFFER`] and [`RetType::BUFFER`] are the same number.
    kinds: usize,
    /// The handler's memory for its memo.
    room: usize,
}

const WORD: usize = size_of::<u64>();
const _: () = assert!(ArgType::BUFFER.0 == RetType::BUFFER.0);
const _: () = assert!(align_of::<Buffer>() == WORD && align_of::<u128>() >= FrameMemo::ALIGNMENT);

impl Tables {
    fn new(operands: &[Leaf], results: &[Leaf], attributes: usize) -> Tables {
        let leaves = || operands.iter().chain(results);
        let (len, dims) = (leaves().count(), leaves().map(|leaf| leaf.dims.len()).sum());
        let room = FrameMemo::room_for(len, attributes);
        let mut tables = Tables { words: NonNull::dangling(), len, dims, room };
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
            // SAFETY: the layout has room for so many of each.
            unsafe {
                place.write(buffer);
                tables.at::<*mut c_void>(layout.pointers).add(i).write(place.cast());
                tables.at::<u32>(layout.kinds).add(i).write(ArgType::BUFFER.0);
                tables.at::<*mut u8>(layout.places).add(i).write(null_mut());
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
        let pointers = buffers + self.len * (size_of::<Buffer>() / WORD);
        let kinds = pointers + self.len;
        // Of an alignment of two words.
        let room = (kinds + self.len.div_ceil(2)).next_multiple_of(2);
        Layout { places: 0, dims, true_dims, buffers, pointers, kinds, room }
    }

    /// How much memory they take, in steps of 16 bytes.
    fn size(&self) -> usize {
        (self.layout().room * WORD + self.room).div_ceil(size_of::<u128>())
    }

    /// A table.
    #[inline]
    fn at<T>(&self, word: usize) -> *mut T {
        self.words.as_ptr().wrapping_add(word).cast()
    }

    /// Writes where the elements are, and undoes what a handler wrote to the dimensions, which must not harm the next
    /// call. True if anything was different.
    #[inline]
    fn restore(&mut self) -> bool {
        let layout = self.layout();
        let (places, buffers) = (self.at::<*mut u8>(layout.places), self.at::<Buffer>(layout.buffers));
        let mut changed = false;
        for i in 0..self.len {
            // SAFETY: one for each buffer, and nobody else uses them between calls.
            unsafe {
                let (place, data) = (places.add(i).read(), &raw mut (*buffers.add(i)).data);
                if place.cast() != *data {
                    *data = place.cast();
                    changed = true;
                }
            }
        }
        let (dims, true_dims) = (self.at::<i64>(layout.dims), self.at::<i64>(layout.true_dims));
        for i in 0..self.dims {
            // SAFETY: as many dimensions as true ones, and nobody else uses them between calls.
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
        // SAFETY: as many dimensions as true ones, and nobody else uses them between calls.
        unsafe { self.at::<i64>(layout.dims).copy_from(self.at(layout.true_dims), self.dims) }
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        let memory = std::ptr::slice_from_raw_parts_mut(self.words.as_ptr().cast::<u128>(), self.size());
        // SAFETY: leaked with this size, and calls are over.
        drop(unsafe { Box::from_raw(memory) });
    }
}
