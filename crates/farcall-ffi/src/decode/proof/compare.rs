//! Compares frames with proofs, generic over the vector instructions.

use std::arch::asm;
use std::arch::x86_64::*;
use std::ffi::c_void;

use super::{BUFFER_WORD, FRAME_WORDS, MAX_BUFFERS, MAX_DIMS, Proof};
use crate::abi;
use crate::buffer::View;

// The vectors and masks below have this many lanes and bits.
const _: () = assert!(MAX_BUFFERS == 8 && MAX_DIMS == 4);

const BUFFER_TYPE: i32 = abi::ArgType::BUFFER.0 as i32;

/// Operations that AVX2 and AVX-512 implement differently. The implementations must be inlined into functions
/// that are compiled for these instructions.
pub(super) trait Instructions {
    /// Returns `differs | (a ^ b)`.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn or_differs(differs: __m256i, a: __m256i, b: __m256i) -> __m256i;

    /// Loads up to four integers: the ones whose mask bit is set. The other lanes are 0; the memory at their
    /// addresses is not accessed, so it need not be mapped.
    ///
    /// # Safety
    /// The processor has the instructions, and the integers whose mask bit is set are valid for reads.
    unsafe fn masked_load_i64(mask: u8, from: *const i64) -> __m256i;

    /// Like [`masked_load_i64`](Instructions::masked_load_i64), for 32-bit integers.
    ///
    /// # Safety
    /// Same requirements as [`masked_load_i64`](Instructions::masked_load_i64).
    unsafe fn masked_load_i32(mask: u8, from: *const i32) -> __m128i;
}

/// Result of comparing a frame with a proof.
pub(super) enum Comparison {
    /// The frame matches the proof.
    Same,
    /// Only addresses of elements differ, and the frame's addresses are not checked yet.
    Moved,
    /// Anything else differs.
    Other,
}

/// Compares a frame with a proof. If the frame matches, or differs only in addresses of elements, the proof's
/// views of the results are written to `views`, after space for the operands' views.
///
/// # Safety
/// The processor has the instructions. The proof describes a frame with `OPERANDS` operands and `RESULTS`
/// results, of the same stage. The frame covers its attributes. `views` has space for `OPERANDS + RESULTS`
/// views.
#[inline(always)]
pub(super) unsafe fn compare_frame<I: Instructions, const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    frame: *const abi::CallFrame,
    views: *mut View,
) -> Comparison {
    // SAFETY: the caller guarantees that the processor has the instructions (`# Safety` above).
    let zero = unsafe { _mm256_setzero_si256() };
    // SAFETY: the caller guarantees that the processor has the instructions; the load is within `known`.
    let or_differs = |differs, words, known: &[u64; 4]| unsafe {
        I::or_differs(differs, words, _mm256_loadu_si256(known.as_ptr().cast()))
    };
    let mut differs = zero;
    for (known, from) in proof.frame.iter().zip(FRAME_WORDS) {
        // SAFETY: the frame covers these words.
        let words = unsafe { _mm256_loadu_si256(frame.cast::<i64>().add(from).cast()) };
        differs = or_differs(differs, words, known);
    }
    // SAFETY: the caller guarantees that the frame covers these members (`# Safety` above).
    let (extensions, args, rets) = unsafe { ((*frame).extension_start, &(*frame).args, &(*frame).rets) };
    // SAFETY: the processor has the instructions.
    if unsafe { any(differs) } || !extensions.is_null() {
        return other_frame();
    }
    // The addresses of the tables match, so the tables can be read.
    // SAFETY: the proof's frame was checked, so the tables have `OPERANDS` and `RESULTS` entries.
    let differs = unsafe {
        table_differs::<I, OPERANDS>(args.types.cast(), args.args, &proof.tables[0])
            | table_differs::<I, RESULTS>(rets.types.cast(), rets.rets, &proof.tables[1])
    };
    if differs {
        return other_frame();
    }
    // The addresses of the buffers match, so the buffers can be read.
    let all = const { OPERANDS + RESULTS };
    let mut differs = zero;
    for i in 0..all {
        // SAFETY: `i` is below the number of buffers.
        let words = unsafe { words_of(any_buffer::<OPERANDS>(proof, i)) };
        differs = or_differs(differs, words, &proof.buffers[i]);
    }
    // Masks of the words without padding, and of the word with the address of the elements.
    // SAFETY: the processor has the instructions.
    let (stays, moved) = unsafe {
        let (words, data) = (_mm256_setr_epi64x(0xffff_ffff, -1, -1, -1), _mm256_setr_epi64x(0, -1, 0, 0));
        let stays = _mm256_testz_si256(differs, _mm256_andnot_si256(data, words)) == 1;
        (stays, _mm256_testz_si256(differs, data) == 0)
    };
    if !stays {
        return other_frame();
    }
    // The addresses of the dimensions match, so the dimensions can be read.
    let mut differs = zero;
    // SAFETY: each buffer has the dimensions of its mask, at the address in the proof.
    let dims = |i: usize, mask: u8| unsafe { I::masked_load_i64(mask, proof.dims_at[i]) };
    if all > 1 && proof.has_one_shape {
        for i in 0..all {
            differs = or_differs(differs, dims(i, proof.dims_masks[0]), &proof.dims[0]);
        }
    } else {
        for i in 0..all {
            differs = or_differs(differs, dims(i, proof.dims_masks[i]), &proof.dims[i]);
        }
    }
    // Most calls need these views. Writing them here does not wait for the result of the comparison.
    for i in OPERANDS..all {
        // SAFETY: the caller guarantees space for all views (`# Safety` above).
        unsafe { *views.add(i) = proof.views[i] };
    }
    // SAFETY: the processor has the instructions.
    if unsafe { any(differs) } {
        return other_frame();
    }
    if moved { Comparison::Moved } else { Comparison::Same }
}

/// Returns [`Comparison::Other`], on a cold path.
#[cold]
fn other_frame() -> Comparison {
    Comparison::Other
}

/// Returns an operand (`side` 0) or a result (`side` 1) of the proof.
#[inline(always)]
pub(super) fn buffer(proof: &Proof, side: usize, i: usize) -> *const abi::Buffer {
    std::ptr::with_exposed_provenance(proof.tables[side][i] as usize)
}

/// Returns a buffer by its index among all operands, then all results.
#[inline(always)]
fn any_buffer<const OPERANDS: usize>(proof: &Proof, i: usize) -> *const abi::Buffer {
    if i < OPERANDS { buffer(proof, 0, i) } else { buffer(proof, 1, i - OPERANDS) }
}

/// Loads the compared words of a buffer.
///
/// # Safety
/// `buffer` is valid, and the processor has AVX.
#[target_feature(enable = "avx")]
#[inline]
unsafe fn words_of(buffer: *const abi::Buffer) -> __m256i {
    let words: __m256i;
    // SAFETY: the caller guarantees that the buffer is valid for reads (`# Safety` above). The load includes
    // padding, which Rust code must not read; hence assembly. Callers mask the padding.
    unsafe {
        asm!(
            "vmovdqu {words}, [{buffer} + {from}]",
            words = out(ymm_reg) words,
            buffer = in(reg) buffer,
            from = const 8 * BUFFER_WORD,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    words
}

/// Returns true if any bit is set.
///
/// # Safety
/// The processor has AVX.
#[inline(always)]
unsafe fn any(differs: __m256i) -> bool {
    // SAFETY: the caller guarantees that the processor has AVX (`# Safety` above).
    unsafe { _mm256_testz_si256(differs, differs) == 0 }
}

/// Returns true if the entries of a table differ from the proof's.
///
/// # Safety
/// The table has `N` entries, and the processor has the instructions.
#[inline(always)]
unsafe fn table_differs<I: Instructions, const N: usize>(
    types: *const i32,
    table: *const *mut c_void,
    known: &[u64; MAX_BUFFERS],
) -> bool {
    if const { N <= 2 } {
        // SAFETY: the caller guarantees that the table has `N` entries (`# Safety` above).
        return !(0..N)
            .all(|i| unsafe { *types.add(i) == BUFFER_TYPE && (*table.add(i)).addr() as u64 == known[i] });
    }
    // SAFETY: the caller guarantees that the table has `N` entries and that the processor has the
    // instructions (`# Safety` above); `known` has 8 words.
    unsafe {
        let (mut other_types, mut others) = (_mm_setzero_si128(), _mm256_setzero_si256());
        for i in (0..N).step_by(4) {
            let mask = ((1u16 << (N - i).min(4)) - 1) as u8;
            let type_of = |k| if i + k < N { BUFFER_TYPE } else { 0 };
            let buffers = _mm_setr_epi32(type_of(0), type_of(1), type_of(2), type_of(3));
            let types = I::masked_load_i32(mask, types.add(i));
            other_types = _mm_or_si128(other_types, _mm_xor_si128(types, buffers));
            let pointers = I::masked_load_i64(mask, table.add(i).cast());
            let known = _mm256_loadu_si256(known.as_ptr().add(i).cast());
            others = I::or_differs(others, pointers, known);
        }
        any(_mm256_or_si256(others, _mm256_zextsi128_si256(other_types)))
    }
}

/// Writes the views of all buffers, with the frame's addresses of elements.
///
/// # Safety
/// The frame's buffers match the proof, and their addresses of elements are valid. `views` has space for all
/// buffers.
#[inline(always)]
pub(super) unsafe fn write_views<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    views: *mut View,
) {
    for i in 0..OPERANDS + RESULTS {
        let known = proof.views[i];
        // SAFETY: `i` is below the number of buffers, and of views.
        unsafe {
            let data = (*any_buffer::<OPERANDS>(proof, i)).data.cast();
            *views.add(i) = if known.size() == 0 { known } else { known.moved_to(data) };
        }
    }
}
