//! What AVX2 has for comparing frames. Masked loads read what the mask says, and nothing else.

use std::arch::x86_64::*;

use super::compare::{Comparison, Instructions, buffer, compare_frame, write_views};
use super::{MOST_BUFFERS, Proof};
use crate::abi;
use crate::buffer::View;

/// [`super::Proofs::compare`], with a proof.
///
/// # Safety
/// As there; the processor has these instructions.
#[target_feature(enable = "avx2")]
#[inline(never)]
pub(super) unsafe fn compare<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    frame: *const abi::CallFrame,
    views: *mut View,
) -> *const View {
    // SAFETY: the caller's promise.
    match unsafe { compare_frame::<Avx2, OPERANDS, RESULTS>(proof, frame, views) } {
        Comparison::Same => proof.views.as_ptr(),
        // SAFETY: the buffers are as they were, and there are as many views.
        Comparison::Moved => unsafe { move_views::<OPERANDS, RESULTS>(proof, views) },
        Comparison::Other => std::ptr::null(),
    }
}

struct Avx2;

impl Instructions for Avx2 {
    #[inline(always)]
    unsafe fn or_differs(differs: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the processor has these instructions.
        unsafe { _mm256_or_si256(differs, _mm256_xor_si256(a, b)) }
    }

    #[inline(always)]
    unsafe fn masked_load_i64(mask: u8, from: *const i64) -> __m256i {
        // Where a word is read, its lane has the sign. The mask is in every byte: what is shifted is its highest one.
        // SAFETY: the caller's promise.
        unsafe {
            let signs = _mm256_sllv_epi64(_mm256_set1_epi8(mask as i8), _mm256_setr_epi64x(7, 6, 5, 4));
            _mm256_maskload_epi64(from, signs)
        }
    }

    #[inline(always)]
    unsafe fn masked_load_i32(mask: u8, from: *const i32) -> __m128i {
        // SAFETY: the caller's promise.
        unsafe {
            let signs = _mm_sllv_epi32(_mm_set1_epi8(mask as i8), _mm_setr_epi32(7, 6, 5, 4));
            _mm_maskload_epi32(from, signs)
        }
    }
}

/// Lanes of a vector, and vectors of all operands or all results.
const LANES: usize = 4;
const VECTORS: usize = MOST_BUFFERS / LANES;

/// The views, made what the addresses of the elements say; null if anything is wrong with these.
///
/// # Safety
/// The processor has these instructions; the buffers are those of the proof, and there is room for as many views.
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn move_views<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    views: *mut View,
) -> *const View {
    // SAFETY: the caller's promise.
    let (operands, results) = unsafe { (spans::<OPERANDS>(proof, 0), spans::<RESULTS>(proof, 1)) };
    let mut wrong = _mm256_or_si256(operands.wrong, results.wrong);
    let lanes = _mm256_setr_epi64x(0, 1, 2, 3);
    for i in 0..RESULTS {
        let [start, end] = [results.start, results.end].map(|all| broadcast(all[i / LANES], i % LANES));
        // As `buffer::overlap` has it.
        let overlapping = |other: &Spans, v: usize| {
            let (a, b) = (_mm256_sub_epi64(start, other.end[v]), _mm256_sub_epi64(other.start[v], end));
            _mm256_and_si256(a, b)
        };
        for v in 0..const { OPERANDS.div_ceil(LANES) } {
            wrong = _mm256_or_si256(wrong, overlapping(&operands, v));
        }
        for v in 0..=i / LANES {
            // With those before it.
            let before = _mm256_cmpgt_epi64(_mm256_set1_epi64x(i as i64 - (v * LANES) as i64), lanes);
            wrong = _mm256_or_si256(wrong, _mm256_and_si256(overlapping(&results, v), before));
        }
    }
    // The signs say what is wrong.
    if _mm256_movemask_pd(_mm256_castsi256_pd(wrong)) != 0 {
        return std::ptr::null();
    }
    // SAFETY: the caller's promise.
    unsafe { write_views::<OPERANDS, RESULTS>(proof, views) };
    views
}

/// A lane, in all lanes.
#[target_feature(enable = "avx2")]
#[inline]
fn broadcast(x: __m256i, lane: usize) -> __m256i {
    match lane {
        0 => _mm256_permute4x64_epi64::<0b00_00_00_00>(x),
        1 => _mm256_permute4x64_epi64::<0b01_01_01_01>(x),
        2 => _mm256_permute4x64_epi64::<0b10_10_10_10>(x),
        _ => _mm256_permute4x64_epi64::<0b11_11_11_11>(x),
    }
}

/// Addresses of elements, where they begin and where they end. Where there is no buffer, they are those of one without
/// elements.
struct Spans {
    start: [__m256i; VECTORS],
    end: [__m256i; VECTORS],
    /// Negative where one is no address of such elements.
    wrong: __m256i,
}

/// # Safety
/// The processor has these instructions; there are so many buffers.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn spans<const N: usize>(proof: &Proof, side: usize) -> Spans {
    let zero = _mm256_setzero_si256();
    let mut spans = Spans { start: [zero; VECTORS], end: [zero; VECTORS], wrong: zero };
    for v in 0..const { N.div_ceil(LANES) } {
        let data = |lane: usize| match v * LANES + lane {
            // SAFETY: a buffer.
            i if i < N => unsafe { (*buffer(proof, side, i)).data }.addr() as i64,
            _ => 0,
        };
        let data = _mm256_setr_epi64x(data(0), data(1), data(2), data(3));
        // SAFETY: words of the proof.
        let [sizes, misaligned] = [&proof.sizes, &proof.misaligned]
            .map(|all| unsafe { _mm256_loadu_si256(all[side].as_ptr().add(v * LANES).cast()) });
        // Without elements, nobody's address, which is the alignment.
        let one = _mm256_set1_epi64x(1);
        let is_empty = _mm256_cmpeq_epi64(sizes, zero);
        let start = _mm256_blendv_epi8(data, _mm256_add_epi64(misaligned, one), is_empty);
        let end = _mm256_add_epi64(start, sizes);
        // Null, or beyond what a program has; or not aligned.
        let beyond = _mm256_or_si256(_mm256_sub_epi64(start, one), end);
        let unaligned = _mm256_sub_epi64(zero, _mm256_and_si256(start, misaligned));
        spans.wrong = _mm256_or_si256(spans.wrong, _mm256_or_si256(beyond, unaligned));
        (spans.start[v], spans.end[v]) = (start, end);
    }
    spans
}
