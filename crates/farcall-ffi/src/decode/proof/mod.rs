//! Call frames that look like one that was checked: of a handler's next call, only what differs is checked.
//!
//! A host calls a handler from the same place in a program again and again, with frames that differ in the addresses of the
//! elements or not at all. The first of these is checked, and what the checks looked at is copied to a [`Proof`]. A later
//! frame is compared with it: every pointer before what it leads to is read, and every word that says what a buffer is. If
//! they are the same, the buffers are what they were. If only addresses of elements differ, these alone are checked: null,
//! alignment, and which of them overlap. A frame that differs in anything else is checked as a whole. Attributes, and what
//! else a handler takes, are read in every call.
//!
//! So a proof assumes nothing of the host but that structs at the same addresses are still of the size that they said they
//! were. (For hosts that promise more, see [`crate::memo`].)
//!
//! Comparing pays where it is done in vectors of AVX-512 (`avx512`). Word by word, it takes longer than the checks: elsewhere
//! there are no proofs.
//!
//! **Invariants.** A proof does not change, and is never freed: another thread may be reading it, and arguments are views in
//! it. A handler has one for each of [`SITES`] places, found by the addresses of a frame's tables, and replaces one only after
//! twice as many calls in vain as the last time, so that there are few in the life of a process. A proof is of a frame of the
//! handler's stage, with the handler's number of buffers and no extensions.

use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::spec::{Shape, Side};
use crate::abi;
use crate::buffer::{self, AnyBuffer, View};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;

#[cfg(all(target_arch = "x86_64", not(miri)))]
use avx512::compare;

/// Most operands, and most results, of a frame with a proof.
const MOST: usize = 8;

/// Most dimensions of a buffer of one.
const MOST_DIMENSIONS: usize = 4;

/// Places for proofs of one handler.
const SITES: usize = 8;

/// The proofs of one handler.
#[doc(hidden)]
#[derive(Debug)]
pub struct Proofs {
    sites: [AtomicPtr<Proof>; SITES],
    /// Calls whose place had the proof of another frame, since the last time that one was replaced.
    misses: AtomicU32,
    /// How often that was.
    replaced: AtomicU32,
}

impl Proofs {
    /// None yet.
    pub const fn none() -> Proofs {
        Proofs {
            sites: [const { AtomicPtr::new(std::ptr::null_mut()) }; SITES],
            misses: AtomicU32::new(0),
            replaced: AtomicU32::new(0),
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
        &self.sites[args.wrapping_add(2 * rets) / 16 % SITES]
    }

    /// [`compare`]; null if there is no proof.
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
        if proof.is_null() {
            return std::ptr::null();
        }
        // SAFETY: a proof, which stays; the caller's promise.
        unsafe { compare::<OPERANDS, RESULTS>(&*proof, frame, views) }
    }

    /// Keeps the proof of a frame that was checked.
    ///
    /// # Safety
    /// That is so, and there are at least as many buffers as the shape says.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn keep(&self, frame: *const abi::CallFrame, shape: Shape) {
        if !is_vectorized() {
            return;
        }
        // SAFETY: the caller's promise.
        let site = unsafe { self.site(frame) };
        let old = site.load(Ordering::Acquire);
        if !old.is_null() {
            let misses = self.misses.load(Ordering::Relaxed).saturating_add(1);
            self.misses.store(misses, Ordering::Relaxed);
            let replaced = self.replaced.load(Ordering::Relaxed);
            if misses >> replaced.min(31) == 0 {
                return;
            }
            self.misses.store(0, Ordering::Relaxed);
            self.replaced.store(replaced.saturating_add(1), Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        let Some(mut proof) = (unsafe { Proof::of(frame, shape) }) else { return };
        proof.before = old;
        let proof = Box::into_raw(Box::new(proof));
        if site.compare_exchange(old, proof, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(proof) });
        }
    }
}

impl Shape {
    /// True if frames of a handler can have proofs.
    pub const fn has_proofs(self) -> bool {
        cfg!(all(target_arch = "x86_64", not(miri)))
            && self.is_all
            && self.operands <= MOST
            && self.results <= MOST
    }

    /// Numbers of operands and results to compare frames for: 0 where frames have no proofs.
    pub const fn proved(self) -> (usize, usize) {
        if self.has_proofs() { (self.operands, self.results) } else { (0, 0) }
    }
}

/// What the checks of a frame looked at. Lists of buffers have all operands, then all results.
#[repr(C, align(64))]
#[derive(Debug)]
struct Proof {
    /// Of each buffer the part that [`BUFFER`] says.
    buffers: [[MaybeUninit<u64>; 4]; 2 * MOST],
    /// The dimensions of each.
    dims: [[MaybeUninit<u64>; MOST_DIMENSIONS]; 2 * MOST],
    /// What the checks made of each buffer.
    views: [View; 2 * MOST],
    /// The frame, in the parts that [`FRAME`] says.
    frame: [[MaybeUninit<u64>; 4]; 2],
    /// The tables of operands and of results.
    tables: [[u64; MOST]; 2],
    /// Where the dimensions of each buffer are: anywhere if there is none.
    dims_at: [*const i64; 2 * MOST],
    /// Bits of the dimensions that there are.
    ranks: [u8; 2 * MOST],
    /// All buffers have the dimensions of the first one.
    has_one_shape: bool,
    /// Bytes of the elements.
    sizes: [[u64; MOST]; 2],
    /// The bits of an address of elements that must be 0.
    misaligned: [[u64; MOST]; 2],
    /// Bits of the buffers with elements.
    full: [u8; 2],
    /// The proof whose place it took.
    before: *mut Proof,
}

/// Parts of an [`abi::CallFrame`] that are compared, each of four words, from where on: the tables of operands and results, and
/// how many there are.
const FRAME: [usize; 2] = {
    let args = offset_of!(abi::CallFrame, args.size) / 8;
    let rets = offset_of!(abi::CallFrame, rets.rets) / 8;
    assert!(
        offset_of!(abi::CallFrame, args.args) / 8 == args + 2
            && offset_of!(abi::CallFrame, rets.size) / 8 == rets - 2
    );
    [args, rets - 3]
};

/// The part of an [`abi::Buffer`] that is compared, of four words, from where on.
const BUFFER: usize = {
    let dtype = offset_of!(abi::Buffer, dtype) / 8;
    assert!(offset_of!(abi::Buffer, dims) / 8 == dtype + 3);
    dtype
};

/// What of that part says where the elements are.
const DATA: [i64; 4] = {
    let mut data = [0; 4];
    data[offset_of!(abi::Buffer, data) / 8 - BUFFER] = !0;
    data
};

/// The rest of it, but padding.
const OTHERS: [i64; 4] = [0xffff_ffff, !DATA[1], !DATA[2], !DATA[3]];

/// Where dimensions are that are not there: to read none of them from where nothing is takes as long as a fault.
static NOWHERE: i64 = 0;

impl Proof {
    /// The proof of a frame that was checked, if it is of a kind that has one.
    ///
    /// # Safety
    /// As for [`Proofs::keep`].
    unsafe fn of(frame: *const abi::CallFrame, shape: Shape) -> Option<Proof> {
        // SAFETY: the caller's promise.
        let (args, rets) = unsafe { (&(*frame).args, &(*frame).rets) };
        // SAFETY: as above.
        let extensions = unsafe { (*frame).extension_start };
        let is_shape = (args.size, rets.size) == (shape.operands as i64, shape.results as i64);
        if !is_shape || !extensions.is_null() {
            return None;
        }
        let tables = [(Side::Operands, args.args), (Side::Results, rets.rets)];
        // SAFETY: buffers, as the checks have seen.
        let has_many = |(side, table): (Side, *mut *mut c_void)| unsafe {
            (0..shape.of_side(side))
                .any(|i| (*(*table.add(i)).cast::<abi::Buffer>()).rank > MOST_DIMENSIONS as i64)
        };
        if tables.into_iter().any(has_many) {
            return None;
        }
        let mut proof = Proof {
            buffers: [[MaybeUninit::new(0); 4]; 2 * MOST],
            dims: [[MaybeUninit::new(0); MOST_DIMENSIONS]; 2 * MOST],
            views: [View::EMPTY; 2 * MOST],
            // SAFETY: words of the frame.
            frame: FRAME.map(|from| unsafe { *frame.cast::<u64>().add(from).cast() }),
            tables: [[0; MOST]; 2],
            dims_at: [&raw const NOWHERE; 2 * MOST],
            ranks: [0; 2 * MOST],
            has_one_shape: true,
            sizes: [[0; MOST]; 2],
            misaligned: [[0; MOST]; 2],
            full: [0; 2],
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
                let (dims, side) = (view.dims(), side as usize);
                if !is_right {
                    return None;
                }
                // SAFETY: words of the buffer.
                proof.buffers[all] = unsafe { *buffer.cast::<u64>().add(BUFFER).cast() };
                for (known, dim) in proof.dims[all].iter_mut().zip(dims) {
                    known.write(*dim as u64);
                }
                if !dims.is_empty() {
                    proof.dims_at[all] = dims.as_ptr().cast();
                }
                proof.ranks[all] = (1 << dims.len()) - 1;
                proof.views[all] = view;
                proof.has_one_shape &= dims == proof.views[0].dims();
                proof.tables[side][i] = buffer.addr() as u64;
                proof.sizes[side][i] = view.size() as u64;
                proof.misaligned[side][i] = buffer::alignment(view.dtype()) as u64 - 1;
                proof.full[side] |= u8::from(view.size() != 0) << i;
                all += 1;
            }
        }
        Some(proof)
    }
}

/// True if this processor has the vectors that [`compare`] is written for.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn is_vectorized() -> bool {
    matches!(crate::simd::widest(), crate::simd::Vectors::Avx512)
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn is_vectorized() -> bool {
    false
}

/// Null: there are no proofs.
///
/// # Safety
/// As with vectors.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn compare<const OPERANDS: usize, const RESULTS: usize>(
    _: &Proof,
    _: *const abi::CallFrame,
    _: *mut View,
) -> *const View {
    std::ptr::null()
}
