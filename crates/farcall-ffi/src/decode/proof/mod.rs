//! Proofs: records of checked call frames, with which later frames of the same call site need not be checked
//! in full.
//!
//! A host calls a handler from the same place in a program again and again, with frames that differ only in
//! the addresses of elements, or not at all. The first of these frames is checked, and everything that the
//! checks looked at is copied to a [`Proof`]. A later frame is compared with the proof: every pointer is
//! compared before it is dereferenced, and so is every word that describes a buffer. If all are equal, the
//! buffers are unchanged. If only addresses of elements differ, only those addresses are checked (null,
//! alignment, overlap), in each such call. A frame with any other difference is checked in full. Attributes,
//! contexts and states are read in every call.
//!
//! There are no proofs for frames with extensions, with more than [`MAX_BUFFERS`] operands or results, or
//! with buffers of more than [`MAX_DIMS`] dimensions. Handlers with buffer parameters other than `&Buffer`,
//! `&AnyBuffer` and their `&mut` forms have no proofs either.
//!
//! **Assumptions.** Struct sizes are not compared: a struct at the same address, in the same table, is
//! assumed to be as large as before. The host's function table is not compared either; it is checked when a
//! function is needed. (For hosts that guarantee more, see [`crate::memo`].)
//!
//! Comparing is only faster than checking with the vector instructions of AVX2 or AVX-512 (`compare`).
//! Comparing word by word takes longer than checking, so other processors have no proofs.
//!
//! **Invariants.** Proofs exist only if the processor has the vector instructions. A proof does not change
//! and is never freed: another thread may be reading it, and arguments refer to its views. A handler has one
//! proof for each of [`SITES_PER_HANDLER`] sites, which are found by the addresses of a frame's tables. A
//! handler replaces at most [`MAX_REPLACEMENTS`] proofs, so the replaced ones take little memory in total. A
//! proof describes a frame of the handler's stage, with the handler's number of buffers and no extensions.

use std::ffi::c_void;
use std::mem::offset_of;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::spec::{BufferCounts, Side};
use crate::abi;
use crate::buffer::{self, AnyBuffer, View};
use crate::simd::{Vectors, widest};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod compare;

/// Maximum number of operands, and of results, of a frame with a proof: lanes of an AVX-512 vector, bits of a
/// `u8`.
const MAX_BUFFERS: usize = 8;

/// Maximum number of dimensions of a buffer in such a frame: lanes of a 256-bit vector.
const MAX_DIMS: usize = 4;

/// Number of sites (slots for a proof) of one handler. The addresses of a frame's tables determine its site.
const SITES_PER_HANDLER: usize = 8;

/// Number of misses of a handler before a proof is replaced. A miss is a call whose site holds the proof of a
/// different frame.
const MISSES_BEFORE_REPLACEMENT: u32 = 256;

/// Maximum number of replacements per handler, since replaced proofs are never freed.
const MAX_REPLACEMENTS: u32 = 64;

/// The proofs of one handler.
#[doc(hidden)]
#[derive(Debug)]
pub struct Proofs {
    sites: Sites,
    counters: Counters,
}

/// The handler's proofs. Every call reads them, so they lie in different cache lines than the counters, which
/// are written to.
#[repr(align(64))]
#[derive(Debug)]
struct Sites([AtomicPtr<Proof>; SITES_PER_HANDLER]);

#[repr(align(64))]
#[derive(Debug)]
struct Counters {
    /// Misses since the last replacement.
    misses: AtomicU32,
    /// Number of replaced proofs.
    replaced: AtomicU32,
}

impl Proofs {
    /// Creates an empty set of proofs.
    pub const fn none() -> Proofs {
        Proofs {
            sites: Sites([const { AtomicPtr::new(std::ptr::null_mut()) }; SITES_PER_HANDLER]),
            counters: Counters { misses: AtomicU32::new(0), replaced: AtomicU32::new(0) },
        }
    }

    /// Returns the site of a frame, by the addresses of its tables. Hosts that reuse a frame's tables keep
    /// them in place, whereas the frame itself is often on the stack.
    ///
    /// # Safety
    /// The frame covers its operands and results.
    #[inline(always)]
    unsafe fn site(&self, frame: *const abi::CallFrame) -> &AtomicPtr<Proof> {
        // SAFETY: the caller guarantees that the frame covers its operands and results (`# Safety` above).
        let (args, rets) = unsafe { ((*frame).args.args.addr(), (*frame).rets.rets.addr()) };
        // The factor 2 keeps the sum distinct if both tables lie in the same allocation. The division removes
        // the lowest bits, which are zero because the addresses are aligned.
        &self.sites.0[args.wrapping_add(rets.wrapping_mul(2)) / 16 % SITES_PER_HANDLER]
    }

    /// Compares a frame with the proof in its site. Returns the views of the frame's operands if the frame
    /// matches, or if only addresses of elements differ and the frame's are valid; returns null otherwise.
    /// On a match, the views of the results are written to `views`, after space for the operands' views.
    ///
    /// # Safety
    /// The proofs belong to a handler with `OPERANDS` operands and `RESULTS` results. The frame is for the
    /// handler's stage, and its size covers the attributes. `views` has space for `OPERANDS + RESULTS` views.
    #[inline(always)]
    pub unsafe fn compare<const OPERANDS: usize, const RESULTS: usize>(
        &self,
        frame: *const abi::CallFrame,
        views: *mut View,
    ) -> *const View {
        // SAFETY: the caller guarantees that the frame covers its operands and results (`# Safety` above).
        let proof = unsafe { self.site(frame) }.load(Ordering::Acquire);
        // SAFETY: null, or a proof, which is never freed.
        let Some(proof) = (unsafe { proof.as_ref() }) else { return std::ptr::null() };
        match proof.vectors {
            // SAFETY: the proof was made on a processor with these vectors; the caller guarantees the rest
            // (`# Safety` above).
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Vectors::Avx512 => unsafe { avx512::compare::<OPERANDS, RESULTS>(proof, frame, views) },
            // SAFETY: the proof was made on a processor with AVX2; the caller guarantees the rest (`# Safety`
            // above).
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Vectors::Avx2 => unsafe { avx2::compare::<OPERANDS, RESULTS>(proof, frame, views) },
            // No proof is made for other instruction sets.
            _ => {
                let _ = (frame, views);
                std::ptr::null()
            }
        }
    }

    /// Adds the proof of a frame, if the frame can have one.
    ///
    /// # Safety
    /// All checks of the frame have passed, for a handler with these proofs and this shape.
    #[inline(always)]
    pub(crate) unsafe fn add(&self, frame: *const abi::CallFrame, shape: BufferCounts) {
        if let Some(vectors) = vectors() {
            // SAFETY: the caller guarantees that the frame was checked (`# Safety` above).
            unsafe { self.add_new(frame, shape, vectors) }
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn add_new(&self, frame: *const abi::CallFrame, shape: BufferCounts, vectors: Vectors) {
        // SAFETY: the caller, `add`, requires a checked frame.
        let site = unsafe { self.site(frame) };
        let old = site.load(Ordering::Acquire);
        let Counters { misses, replaced } = &self.counters;
        if !old.is_null() {
            let missed = misses.load(Ordering::Relaxed).saturating_add(1);
            misses.store(missed, Ordering::Relaxed);
            if missed < MISSES_BEFORE_REPLACEMENT || replaced.load(Ordering::Relaxed) >= MAX_REPLACEMENTS {
                return;
            }
            misses.store(0, Ordering::Relaxed);
        }
        // SAFETY: the caller, `add`, requires a checked frame, with this shape.
        let Some(mut proof) = (unsafe { Proof::of(frame, shape, vectors) }) else { return };
        proof.replaced = old;
        let proof = Box::into_raw(Box::new(proof));
        if site.compare_exchange(old, proof, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: the proof was not published, so this is its only pointer.
            drop(unsafe { Box::from_raw(proof) });
        } else if !old.is_null() {
            replaced.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl BufferCounts {
    /// Returns true if frames of a handler can have proofs.
    pub const fn has_proofs(self) -> bool {
        cfg!(all(target_arch = "x86_64", not(miri)))
            && self.is_all
            && self.views() > 0
            && self.operands <= MAX_BUFFERS
            && self.results <= MAX_BUFFERS
    }

    /// Returns the numbers of operands and results for [`Proofs::compare`]; both are 0 if frames have no
    /// proofs.
    pub const fn compared(self) -> (usize, usize) {
        if self.has_proofs() { (self.operands, self.results) } else { (0, 0) }
    }
}

/// Everything that the checks of a frame looked at. Arrays of `2 * MAX_BUFFERS` have all operands, then all
/// results.
#[repr(C, align(64))]
#[derive(Debug)]
struct Proof {
    /// Compared words of each buffer ([`BUFFER_WORD`]), with zeros for padding.
    buffers: [[u64; 4]; 2 * MAX_BUFFERS],
    /// Dimensions of each buffer.
    dims: [[u64; MAX_DIMS]; 2 * MAX_BUFFERS],
    /// Checked view of each buffer.
    views: [View; 2 * MAX_BUFFERS],
    /// Compared words of the frame ([`FRAME_WORDS`]).
    frame: [[u64; 4]; 2],
    /// Tables of operands and of results: addresses of buffers.
    tables: [[u64; MAX_BUFFERS]; 2],
    /// Address of each buffer's dimensions; [`STAND_IN_DIMS`] if it has no dimensions.
    dims_at: [*const i64; 2 * MAX_BUFFERS],
    /// Masks of the dimensions that each buffer has.
    dims_masks: [u8; 2 * MAX_BUFFERS],
    /// True if all buffers have the dimensions of the first one.
    has_one_shape: bool,
    /// Vector instructions to compare with.
    vectors: Vectors,
    /// Size of each buffer's elements in bytes.
    sizes: [[u64; MAX_BUFFERS]; 2],
    /// Bits of the address of a buffer's elements that must be 0.
    misaligned: [[u64; MAX_BUFFERS]; 2],
    /// Masks of the buffers that have elements.
    nonempty: [u8; 2],
    /// The proof that this proof replaced. The pointer keeps the replaced proof reachable.
    replaced: *mut Proof,
}

/// Word offsets of the two compared parts of an [`abi::CallFrame`]. Each part has four words. They include
/// the size and the address of the table of operands (first part) or of results (second part).
const FRAME_WORDS: [usize; 2] = {
    let args = offset_of!(abi::CallFrame, args.size) / 8;
    let rets = offset_of!(abi::CallFrame, rets.rets) / 8;
    assert!(
        offset_of!(abi::CallFrame, args.args) / 8 == args + 2
            && offset_of!(abi::CallFrame, rets.size) / 8 == rets - 2
    );
    [args, rets - 3]
};

/// Word offset of the compared part of an [`abi::Buffer`]. The part has four words: element type, address of
/// the elements, rank, address of the dimensions.
const BUFFER_WORD: usize = {
    let dtype = offset_of!(abi::Buffer, dtype) / 8;
    assert!(
        offset_of!(abi::Buffer, data) / 8 == dtype + 1
            && offset_of!(abi::Buffer, rank) / 8 == dtype + 2
            && offset_of!(abi::Buffer, dims) / 8 == dtype + 3
    );
    dtype
};

/// Stand-in dimensions for rank-0 buffers and unused lanes. Without them, lanes would be loaded from unmapped
/// pages, and even a fully masked load from an unmapped page takes as long as a page fault.
static STAND_IN_DIMS: i64 = 0;

impl Proof {
    /// Makes the proof of a checked frame, if the frame can have one.
    ///
    /// # Safety
    /// Same requirements as [`Proofs::add`].
    unsafe fn of(frame: *const abi::CallFrame, shape: BufferCounts, vectors: Vectors) -> Option<Proof> {
        // SAFETY: the caller guarantees that the frame was checked (`# Safety` above).
        let (args, rets) = unsafe { (&(*frame).args, &(*frame).rets) };
        // SAFETY: the caller guarantees that the frame was checked (`# Safety` above).
        let extensions = unsafe { (*frame).extension_start };
        let has_counts = (args.size, rets.size) == (shape.operands as i64, shape.results as i64);
        if !has_counts || !extensions.is_null() {
            return None;
        }
        let tables = [(Side::Operands, args.args), (Side::Results, rets.rets)];
        // SAFETY: the checks found that the tables have this many entries, which are valid buffers.
        let has_too_many_dims = |(side, table): (Side, *mut *mut c_void)| unsafe {
            (0..shape.of_side(side)).any(|i| (*(*table.add(i)).cast::<abi::Buffer>()).rank > MAX_DIMS as i64)
        };
        if tables.into_iter().any(has_too_many_dims) {
            return None;
        }
        let mut proof = Proof {
            buffers: [[0; 4]; 2 * MAX_BUFFERS],
            dims: [[0; MAX_DIMS]; 2 * MAX_BUFFERS],
            views: [View::EMPTY; 2 * MAX_BUFFERS],
            // SAFETY: the frame was checked to cover these words.
            frame: FRAME_WORDS.map(|from| unsafe { *frame.cast::<u64>().add(from).cast() }),
            tables: [[0; MAX_BUFFERS]; 2],
            dims_at: [&raw const STAND_IN_DIMS; 2 * MAX_BUFFERS],
            dims_masks: [0; 2 * MAX_BUFFERS],
            has_one_shape: true,
            vectors,
            sizes: [[0; MAX_BUFFERS]; 2],
            misaligned: [[0; MAX_BUFFERS]; 2],
            nonempty: [0; 2],
            replaced: std::ptr::null_mut(),
        };
        let mut all = 0;
        for (side, table) in tables {
            for i in 0..shape.of_side(side) {
                // SAFETY: the checks found a valid buffer here.
                let buffer: *const abi::Buffer = unsafe { *table.add(i) }.cast_const().cast();
                let mut view = View::EMPTY;
                // SAFETY: the checks found a valid buffer here.
                let is_right = unsafe { View::read::<AnyBuffer>(view.unread(), buffer) };
                if !is_right {
                    return None;
                }
                // SAFETY: the checks found a valid buffer here.
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

/// Returns the processor's vectors that `compare` supports, if it has any.
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
