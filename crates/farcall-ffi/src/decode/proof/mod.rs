//! Call frames that look like one that was checked: of a handler's next call, only what differs is checked.
//!
//! A host calls a handler from the same place in a program again and again, with frames that differ in the addresses of the
//! elements or not at all. The first of these is checked, and what the checks looked at is copied to a [`Proof`]. A later
//! frame is compared with it: every pointer before what it leads to is read, and every word that says what a buffer is. If
//! they are the same, the buffers are what they were. If only addresses of elements differ, these alone are checked, in each
//! such call: null, alignment, and which of them overlap. A frame that differs in anything else is checked as a whole.
//! Attributes, and what else a handler takes, are read in every call.
//!
//! There are no proofs of frames with extensions, with more than [`MOST_BUFFERS`] operands or results or more than
//! [`MOST_DIMS`] dimensions, and none for handlers that take buffers as anything but `&Buffer`, `&AnyBuffer` and the same with
//! `&mut`.
//!
//! **What is assumed.** Sizes of structs need not be compared: a struct at the same address, in the same table, is taken to be
//! as large as it was. Nor is the host's table of functions, which is checked when one is needed. (For hosts that promise more,
//! see [`crate::memo`].)
//!
//! Comparing pays where it is done in vectors (`compare`), of AVX2 or AVX-512. Word by word, it takes longer than the checks:
//! elsewhere there are no proofs.
//!
//! **Invariants.** There are proofs only where the processor has the vectors. A proof does not change, and is never freed:
//! another thread may be reading it, and arguments are views in it. A handler has one for each of [`SITES`] places, found by
//! the addresses of a frame's tables, and replaces so few that all of them together take little memory. A proof is of a frame
//! of the handler's stage, with the handler's number of buffers and no extensions.

use std::ffi::c_void;
use std::mem::offset_of;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::spec::{Shape, Side};
use crate::abi;
use crate::buffer::{self, AnyBuffer, View};
use crate::simd::{Vectors, widest};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod compare;

/// Most operands, and most results, of a frame with a proof: lanes of a vector of AVX-512, bits of a `u8`.
const MOST_BUFFERS: usize = 8;

/// Most dimensions of a buffer of such a frame: lanes of a vector of 256 bits.
const MOST_DIMS: usize = 4;

/// Places for proofs of one handler: the addresses of a frame's tables say which is its own.
const SITES: usize = 8;

/// Calls in vain, of frames whose place has the proof of another one, after which one is replaced.
const PATIENCE: u32 = 256;

/// Proofs of one handler that are replaced, at most: the replaced ones stay.
const REPLACED: u32 = 64;

/// The proofs of one handler.
#[doc(hidden)]
#[derive(Debug)]
pub struct Proofs {
    sites: Sites,
    counters: Counters,
}

/// Read in every call: apart from what is written.
#[repr(align(64))]
#[derive(Debug)]
struct Sites([AtomicPtr<Proof>; SITES]);

#[repr(align(64))]
#[derive(Debug)]
struct Counters {
    /// Calls in vain since a proof was replaced.
    misses: AtomicU32,
    /// How often one was.
    replaced: AtomicU32,
}

impl Proofs {
    /// None yet.
    pub const fn none() -> Proofs {
        Proofs {
            sites: Sites([const { AtomicPtr::new(std::ptr::null_mut()) }; SITES]),
            counters: Counters { misses: AtomicU32::new(0), replaced: AtomicU32::new(0) },
        }
    }

    /// Where the proof of a frame is, by the addresses of its tables: these stay where a host keeps the frame, and the frame
    /// itself is often on the stack.
    ///
    /// # Safety
    /// The frame covers its operands and results.
    #[inline(always)]
    unsafe fn site(&self, frame: *const abi::CallFrame) -> &AtomicPtr<Proof> {
        // SAFETY: the caller's promise.
        let (args, rets) = unsafe { ((*frame).args.args.addr(), (*frame).rets.rets.addr()) };
        // Both may be in one piece of memory, and are aligned.
        &self.sites.0[args.wrapping_add(rets.wrapping_mul(2)) / 16 % SITES]
    }

    /// What the checks would make of a frame's operands, if it is the one of a proof, or has its elements at other addresses
    /// that are right; null if it is not. What they would make of its results is in `views` then, after room for that of
    /// the operands.
    ///
    /// # Safety
    /// The proofs are of a handler of so many operands and results. The frame is for its stage, and covers its attributes.
    /// There is room for as many views.
    #[inline(always)]
    pub unsafe fn compare<const OPERANDS: usize, const RESULTS: usize>(
        &self,
        frame: *const abi::CallFrame,
        views: *mut View,
    ) -> *const View {
        // SAFETY: the caller's promise.
        let proof = unsafe { self.site(frame) }.load(Ordering::Acquire);
        // SAFETY: a proof, which stays.
        let Some(proof) = (unsafe { proof.as_ref() }) else { return std::ptr::null() };
        match proof.vectors {
            // SAFETY: a proof, so that the processor has the vectors; the caller's promise.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Vectors::Avx512 => unsafe { avx512::compare::<OPERANDS, RESULTS>(proof, frame, views) },
            // SAFETY: as above.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Vectors::Avx2 => unsafe { avx2::compare::<OPERANDS, RESULTS>(proof, frame, views) },
            // There are no such proofs.
            _ => {
                let _ = (frame, views);
                std::ptr::null()
            }
        }
    }

    /// Adds the proof of a frame, if it is of a kind that has one.
    ///
    /// # Safety
    /// All checks of the frame have passed, for a handler with these proofs and of this shape.
    #[inline(always)]
    pub(super) unsafe fn add(&self, frame: *const abi::CallFrame, shape: Shape) {
        if let Some(vectors) = vectors() {
            // SAFETY: the caller's promise.
            unsafe { self.add_new(frame, shape, vectors) }
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn add_new(&self, frame: *const abi::CallFrame, shape: Shape, vectors: Vectors) {
        // SAFETY: the caller's promise.
        let site = unsafe { self.site(frame) };
        let old = site.load(Ordering::Acquire);
        let Counters { misses, replaced } = &self.counters;
        if !old.is_null() {
            let missed = misses.load(Ordering::Relaxed).saturating_add(1);
            misses.store(missed, Ordering::Relaxed);
            if missed < PATIENCE || replaced.load(Ordering::Relaxed) >= REPLACED {
                return;
            }
            misses.store(0, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        let Some(mut proof) = (unsafe { Proof::of(frame, shape, vectors) }) else { return };
        proof.before = old;
        let proof = Box::into_raw(Box::new(proof));
        if site.compare_exchange(old, proof, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(proof) });
        } else if !old.is_null() {
            replaced.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Shape {
    /// True if frames of a handler can have proofs.
    pub const fn has_proofs(self) -> bool {
        cfg!(all(target_arch = "x86_64", not(miri)))
            && self.is_all
            && self.views() > 0
            && self.operands <= MOST_BUFFERS
            && self.results <= MOST_BUFFERS
    }

    /// Numbers of operands and results to compare frames for: 0 where frames have no proofs.
    pub const fn compared(self) -> (usize, usize) {
        if self.has_proofs() { (self.operands, self.results) } else { (0, 0) }
    }
}

/// What the checks of a frame looked at. Lists of buffers have all operands, then all results.
#[repr(C, align(64))]
#[derive(Debug)]
struct Proof {
    /// Of each buffer the part that [`BUFFER`] says; padding is 0.
    buffers: [[u64; 4]; 2 * MOST_BUFFERS],
    /// The dimensions of each.
    dims: [[u64; MOST_DIMS]; 2 * MOST_BUFFERS],
    /// What the checks made of each buffer.
    views: [View; 2 * MOST_BUFFERS],
    /// The frame, in the parts that [`FRAME`] says.
    frame: [[u64; 4]; 2],
    /// The tables of operands and of results: addresses of buffers.
    tables: [[u64; MOST_BUFFERS]; 2],
    /// Where the dimensions of each buffer are: anywhere if there is none.
    dims_at: [*const i64; 2 * MOST_BUFFERS],
    /// Bits of the dimensions that there are.
    dims_masks: [u8; 2 * MOST_BUFFERS],
    /// All buffers have the dimensions of the first one.
    has_one_shape: bool,
    /// What it is compared in.
    vectors: Vectors,
    /// Bytes of the elements.
    sizes: [[u64; MOST_BUFFERS]; 2],
    /// The bits of an address of elements that must be 0.
    misaligned: [[u64; MOST_BUFFERS]; 2],
    /// Bits of the buffers with elements.
    nonempty: [u8; 2],
    /// The proof whose place it took, so that it is not lost.
    before: *mut Proof,
}

/// Parts of an [`abi::CallFrame`] that are compared, each of four words, from where on: the tables of operands and results, how
/// many there are, and what lies between.
const FRAME: [usize; 2] = {
    let args = offset_of!(abi::CallFrame, args.size) / 8;
    let rets = offset_of!(abi::CallFrame, rets.rets) / 8;
    assert!(
        offset_of!(abi::CallFrame, args.args) / 8 == args + 2
            && offset_of!(abi::CallFrame, rets.size) / 8 == rets - 2
    );
    [args, rets - 3]
};

/// The part of an [`abi::Buffer`] that is compared, of four words, from where on: element type, address of the elements, rank,
/// address of the dimensions.
const BUFFER: usize = {
    let dtype = offset_of!(abi::Buffer, dtype) / 8;
    assert!(
        offset_of!(abi::Buffer, data) / 8 == dtype + 1
            && offset_of!(abi::Buffer, rank) / 8 == dtype + 2
            && offset_of!(abi::Buffer, dims) / 8 == dtype + 3
    );
    dtype
};

/// Where dimensions are that are not there: to read none of them from where nothing is takes as long as a fault.
static NOWHERE: i64 = 0;

impl Proof {
    /// The proof of a frame that was checked, if it is of a kind that has one.
    ///
    /// # Safety
    /// As for [`Proofs::add`].
    unsafe fn of(frame: *const abi::CallFrame, shape: Shape, vectors: Vectors) -> Option<Proof> {
        // SAFETY: the caller's promise.
        let (args, rets) = unsafe { (&(*frame).args, &(*frame).rets) };
        // SAFETY: as above.
        let extensions = unsafe { (*frame).extension_start };
        let has_counts = (args.size, rets.size) == (shape.operands as i64, shape.results as i64);
        if !has_counts || !extensions.is_null() {
            return None;
        }
        let tables = [(Side::Operands, args.args), (Side::Results, rets.rets)];
        // SAFETY: buffers, as the checks have seen.
        let has_too_many_dims = |(side, table): (Side, *mut *mut c_void)| unsafe {
            (0..shape.of_side(side)).any(|i| (*(*table.add(i)).cast::<abi::Buffer>()).rank > MOST_DIMS as i64)
        };
        if tables.into_iter().any(has_too_many_dims) {
            return None;
        }
        let mut proof = Proof {
            buffers: [[0; 4]; 2 * MOST_BUFFERS],
            dims: [[0; MOST_DIMS]; 2 * MOST_BUFFERS],
            views: [View::EMPTY; 2 * MOST_BUFFERS],
            // SAFETY: words of the frame.
            frame: FRAME.map(|from| unsafe { *frame.cast::<u64>().add(from).cast() }),
            tables: [[0; MOST_BUFFERS]; 2],
            dims_at: [&raw const NOWHERE; 2 * MOST_BUFFERS],
            dims_masks: [0; 2 * MOST_BUFFERS],
            has_one_shape: true,
            vectors,
            sizes: [[0; MOST_BUFFERS]; 2],
            misaligned: [[0; MOST_BUFFERS]; 2],
            nonempty: [0; 2],
            before: std::ptr::null_mut(),
        };
        let mut all = 0;
        for (side, table) in tables {
            for i in 0..shape.of_side(side) {
                // SAFETY: a buffer, as the checks have seen.
                let buffer: *const abi::Buffer = unsafe { *table.add(i) }.cast_const().cast();
                let mut view = View::EMPTY;
                // SAFETY: as above.
                let is_right = unsafe { View::read::<AnyBuffer>(view.unread(), buffer) };
                if !is_right {
                    return None;
                }
                // SAFETY: as above.
                let abi::Buffer { dtype, data, rank, dims: dims_at, .. } = unsafe { &*buffer };
                let (dims, side) = (view.dims(), side as usize);
                proof.buffers[all] =
                    [u64::from(dtype.0), data.addr() as u64, *rank as u64, dims_at.addr() as u64];
                for (known, dim) in proof.dims[all].iter_mut().zip(dims) {
                    *known = *dim as u64;
                }
                if !dims.is_empty() {
                    proof.dims_at[all] = *dims_at;
                }
                proof.dims_masks[all] = (1 << dims.len()) - 1;
                proof.views[all] = view;
                proof.has_one_shape &= dims == proof.views[0].dims();
                proof.tables[side][i] = buffer.expose_provenance() as u64;
                proof.sizes[side][i] = view.size() as u64;
                proof.misaligned[side][i] = buffer::alignment(view.dtype()) as u64 - 1;
                proof.nonempty[side] |= u8::from(view.size() != 0) << i;
                all += 1;
            }
        }
        Some(proof)
    }
}

/// The vectors of this processor that `compare` is written for, if it has any.
#[inline(always)]
fn vectors() -> Option<Vectors> {
    match widest() {
        Vectors::Plain => None,
        #[cfg(target_arch = "x86_64")]
        vectors => Some(vectors),
    }
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod tests;
