//! What AVX-512 has for comparing frames. Masked loads read what the mask says, and nothing else.

use std::arch::x86_64::*;

use super::compare::{Comparison, Instructions, buffer, compare_frame, write_views};
use super::{MOST_BUFFERS, Proof};
use crate::abi;
use crate::buffer::View;

// Vectors have so many lanes.
const _: () = assert!(MOST_BUFFERS == 8);

/// [`super::Proofs::compare`], with a proof.
///
/// # Safety
/// As there; the processor has these instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
pub(super) unsafe fn compare<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    frame: *const abi::CallFrame,
    views: *mut View,
) -> *const View {
    // SAFETY: the caller's promise.
    match unsafe { compare_frame::<Avx512, OPERANDS, RESULTS>(proof, frame, views) } {
        Comparison::Same => proof.views.as_ptr(),
        // SAFETY: the buffers are as they were, and there are as many views.
        Comparison::Moved => unsafe { move_views::<OPERANDS, RESULTS>(proof, views) },
        Comparison::Other => std::ptr::null(),
    }
}

struct Avx512;

impl Instructions for Avx512 {
    #[inline(always)]
    unsafe fn or_differs(differs: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the processor has these instructions.
        unsafe { _mm256_ternarylogic_epi64::<0xf6>(differs, a, b) }
    }

    #[inline(always)]
    unsafe fn masked_load_i64(mask: u8, from: *const i64) -> __m256i {
        // SAFETY: the caller's promise.
        unsafe { _mm256_maskz_loadu_epi64(mask, from) }
    }

    #[inline(always)]
    unsafe fn masked_load_i32(mask: u8, from: *const i32) -> __m128i {
        // SAFETY: the caller's promise.
        unsafe { _mm_maskz_loadu_epi32(mask, from) }
    }
}

/// The views, made what the addresses of the elements say; null if anything is wrong with these.
///
/// # Safety
/// The processor has these instructions; the buffers are those of the proof, and there is room for as many views.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
unsafe fn move_views<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    views: *mut View,
) -> *const View {
    // SAFETY: the caller's promise.
    let (operands, results) = unsafe { (spans::<OPERANDS>(proof, 0), spans::<RESULTS>(proof, 1)) };
    let mut wrong = operands.wrong | results.wrong;
    for i in 0..RESULTS {
        let this = _mm512_set1_epi64(i as i64);
        let (start, end) =
            (_mm512_permutexvar_epi64(this, results.start), _mm512_permutexvar_epi64(this, results.end));
        // As `buffer::overlap` has it.
        let overlapping = |other: &Spans| {
            let (a, b) = (_mm512_sub_epi64(start, other.end), _mm512_sub_epi64(other.start, end));
            _mm512_movepi64_mask(_mm512_and_si512(a, b))
        };
        wrong |= overlapping(&operands) | (overlapping(&results) & !(1 << i));
    }
    if wrong != 0 {
        return std::ptr::null();
    }
    // SAFETY: the caller's promise.
    unsafe { write_views::<OPERANDS, RESULTS>(proof, views) };
    views
}

/// Addresses of elements, where they begin and where they end.
struct Spans {
    start: __m512i,
    end: __m512i,
    /// Which are no addresses of such elements.
    wrong: u8,
}

/// # Safety
/// The processor has these instructions; there are so many buffers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn spans<const N: usize>(proof: &Proof, side: usize) -> Spans {
    let mut start = _mm512_setzero_si512();
    for i in 0..N {
        // SAFETY: a buffer.
        let data = unsafe { (*buffer(proof, side, i)).data };
        start = _mm512_mask_set1_epi64(start, 1 << i, data.addr() as i64);
    }
    // SAFETY: words of the proof.
    let (sizes, misaligned) = unsafe {
        (
            _mm512_loadu_si512(proof.sizes[side].as_ptr().cast()),
            _mm512_loadu_si512(proof.misaligned[side].as_ptr().cast()),
        )
    };
    let one = _mm512_set1_epi64(1);
    // Without elements, nobody's address, which is the alignment.
    let start = _mm512_mask_mov_epi64(_mm512_add_epi64(misaligned, one), proof.nonempty[side], start);
    let end = _mm512_add_epi64(start, sizes);
    // Null, or beyond what a program has.
    let beyond = _mm512_movepi64_mask(_mm512_or_si512(_mm512_sub_epi64(start, one), end));
    let there = const { ((1u16 << N) - 1) as u8 };
    Spans { start, end, wrong: there & (_mm512_test_epi64_mask(start, misaligned) | beyond) }
}
