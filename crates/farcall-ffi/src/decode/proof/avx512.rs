//! Compares frames with AVX-512. Masked loads only access the lanes of their mask.

use std::arch::x86_64::*;

use super::compare::{Comparison, Instructions, buffer, compare_frame, write_views};
use super::{MAX_BUFFERS, Proof};
use crate::abi;
use crate::buffer::View;

// The number of lanes of the vectors below.
const _: () = assert!(MAX_BUFFERS == 8);

/// Implements [`super::Proofs::compare`] for a given proof.
///
/// # Safety
/// Same requirements as [`super::Proofs::compare`]; the processor has these AVX-512 instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
pub(super) unsafe fn compare<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    frame: *const abi::CallFrame,
    views: *mut View,
) -> *const View {
    // SAFETY: the caller guarantees the instructions, and the proof, frame and views that `compare_frame`
    // requires (`# Safety` above).
    match unsafe { compare_frame::<Avx512, OPERANDS, RESULTS>(proof, frame, views) } {
        Comparison::Same => proof.views.as_ptr(),
        // SAFETY: only addresses of elements differ, so the buffers match the proof; the caller guarantees
        // the instructions and the space for the views (`# Safety` above).
        Comparison::Moved => unsafe { move_views::<OPERANDS, RESULTS>(proof, views) },
        Comparison::Other => std::ptr::null(),
    }
}

struct Avx512;

impl Instructions for Avx512 {
    #[inline(always)]
    unsafe fn or_differs(differs: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller guarantees that the processor has AVX-512 (trait's `# Safety`).
        unsafe { _mm256_ternarylogic_epi64::<0xf6>(differs, a, b) }
    }

    #[inline(always)]
    unsafe fn masked_load_i64(mask: u8, from: *const i64) -> __m256i {
        // SAFETY: the caller guarantees that the processor has AVX-512 and that the masked integers are
        // readable (trait's `# Safety`).
        unsafe { _mm256_maskz_loadu_epi64(mask, from) }
    }

    #[inline(always)]
    unsafe fn masked_load_i32(mask: u8, from: *const i32) -> __m128i {
        // SAFETY: the caller guarantees that the processor has AVX-512 and that the masked integers are
        // readable (trait's `# Safety`).
        unsafe { _mm_maskz_loadu_epi32(mask, from) }
    }
}

/// Writes views with the frame's addresses of elements, and returns them; returns null if an address is
/// invalid or a result overlaps another buffer.
///
/// # Safety
/// The processor has these AVX-512 instructions. The frame's buffers match the proof, and `views` has space
/// for their views.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
unsafe fn move_views<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    views: *mut View,
) -> *const View {
    // SAFETY: the caller guarantees that the processor has AVX-512 and that these are the proof's buffers
    // (`# Safety` above).
    let (operands, results) = unsafe { (spans::<OPERANDS>(proof, 0), spans::<RESULTS>(proof, 1)) };
    let mut wrong = operands.wrong | results.wrong;
    for i in 0..RESULTS {
        let this = _mm512_set1_epi64(i as i64);
        let (start, end) =
            (_mm512_permutexvar_epi64(this, results.start), _mm512_permutexvar_epi64(this, results.end));
        // Same computation as in `buffer::overlap`.
        let overlapping = |other: &Spans| {
            let (a, b) = (_mm512_sub_epi64(start, other.end), _mm512_sub_epi64(other.start, end));
            _mm512_movepi64_mask(_mm512_and_si512(a, b))
        };
        wrong |= overlapping(&operands) | (overlapping(&results) & !(1 << i));
    }
    if wrong != 0 {
        return std::ptr::null();
    }
    // SAFETY: the addresses were just checked; the caller guarantees the rest (`# Safety` above).
    unsafe { write_views::<OPERANDS, RESULTS>(proof, views) };
    views
}

/// Start and end addresses of the elements of each buffer.
struct Spans {
    start: __m512i,
    end: __m512i,
    /// Mask of lanes with an address that is not valid for the buffer's elements.
    wrong: u8,
}

/// Loads the spans of all operands (`side` 0) or results (`side` 1).
///
/// # Safety
/// The processor has these AVX-512 instructions, and the proof has `N` buffers on this side.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn spans<const N: usize>(proof: &Proof, side: usize) -> Spans {
    let mut start = _mm512_setzero_si512();
    for i in 0..N {
        // SAFETY: `i < N`, so this is a valid buffer.
        let data = unsafe { (*buffer(proof, side, i)).data };
        start = _mm512_mask_set1_epi64(start, 1 << i, data.addr() as i64);
    }
    // SAFETY: the loads are within the proof's arrays.
    let (sizes, misaligned) = unsafe {
        (
            _mm512_loadu_si512(proof.sizes[side].as_ptr().cast()),
            _mm512_loadu_si512(proof.misaligned[side].as_ptr().cast()),
        )
    };
    let one = _mm512_set1_epi64(1);
    // A buffer without elements gets a dangling address, equal to the alignment.
    let start = _mm512_mask_mov_epi64(_mm512_add_epi64(misaligned, one), proof.nonempty[side], start);
    let end = _mm512_add_epi64(start, sizes);
    // Null, or above the highest address of a process.
    let beyond = _mm512_movepi64_mask(_mm512_or_si512(_mm512_sub_epi64(start, one), end));
    let there = const { ((1u16 << N) - 1) as u8 };
    Spans { start, end, wrong: there & (_mm512_test_epi64_mask(start, misaligned) | beyond) }
}
