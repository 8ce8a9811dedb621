//! Compares frames with AVX2. Masked loads only access the lanes of their mask.

use std::arch::x86_64::*;

use super::compare::{Comparison, Instructions, buffer, compare_frame, write_views};
use super::{MAX_BUFFERS, Proof};
use crate::abi;
use crate::buffer::View;

/// Implements [`super::Proofs::compare`] for a given proof.
///
/// # Safety
/// Same requirements as [`super::Proofs::compare`]; the processor has AVX2.
#[target_feature(enable = "avx2")]
#[inline(never)]
pub(super) unsafe fn compare<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    frame: *const abi::CallFrame,
    views: *mut View,
) -> *const View {
    // SAFETY: the caller guarantees AVX2, and the proof, frame and views that `compare_frame` requires
    // (`# Safety` above).
    match unsafe { compare_frame::<Avx2, OPERANDS, RESULTS>(proof, frame, views) } {
        Comparison::Same => proof.views.as_ptr(),
        // SAFETY: only addresses of elements differ, so the buffers match the proof; the caller guarantees
        // the instructions and the space for the views (`# Safety` above).
        Comparison::Moved => unsafe { move_views::<OPERANDS, RESULTS>(proof, views) },
        Comparison::Other => std::ptr::null(),
    }
}

struct Avx2;

impl Instructions for Avx2 {
    #[inline(always)]
    unsafe fn or_differs(differs: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the caller guarantees that the processor has AVX2 (trait's `# Safety`).
        unsafe { _mm256_or_si256(differs, _mm256_xor_si256(a, b)) }
    }

    #[inline(always)]
    unsafe fn masked_load_i64(mask: u8, from: *const i64) -> __m256i {
        // A lane is loaded if its sign bit is set. The mask is broadcast to every byte, and its bit for the
        // lane is shifted to the sign bit of the highest byte.
        // SAFETY: the caller guarantees that the processor has AVX2 and that the masked integers are readable
        // (trait's `# Safety`).
        unsafe {
            let signs = _mm256_sllv_epi64(_mm256_set1_epi8(mask as i8), _mm256_setr_epi64x(7, 6, 5, 4));
            _mm256_maskload_epi64(from, signs)
        }
    }

    #[inline(always)]
    unsafe fn masked_load_i32(mask: u8, from: *const i32) -> __m128i {
        // SAFETY: the caller guarantees that the processor has AVX2 and that the masked integers are readable
        // (trait's `# Safety`).
        unsafe {
            let signs = _mm_sllv_epi32(_mm_set1_epi8(mask as i8), _mm_setr_epi32(7, 6, 5, 4));
            _mm_maskload_epi32(from, signs)
        }
    }
}

/// Number of lanes of a vector.
const LANES: usize = 4;
/// Number of vectors with one lane for each operand, or for each result.
const VECTORS: usize = MAX_BUFFERS / LANES;

/// Writes views with the frame's addresses of elements, and returns them; returns null if an address is
/// invalid or a result overlaps another buffer.
///
/// # Safety
/// The processor has AVX2. The frame's buffers match the proof, and `views` has space for their views.
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn move_views<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    views: *mut View,
) -> *const View {
    // SAFETY: the caller guarantees that the processor has AVX2 and that these are the proof's buffers
    // (`# Safety` above).
    let (operands, results) = unsafe { (spans::<OPERANDS>(proof, 0), spans::<RESULTS>(proof, 1)) };
    let mut wrong = _mm256_or_si256(operands.wrong, results.wrong);
    let lanes = _mm256_setr_epi64x(0, 1, 2, 3);
    for i in 0..RESULTS {
        let [start, end] = [results.start, results.end].map(|all| broadcast(all[i / LANES], i % LANES));
        // Same computation as in `buffer::overlap`.
        let overlapping = |other: &Spans, v: usize| {
            let (a, b) = (_mm256_sub_epi64(start, other.end[v]), _mm256_sub_epi64(other.start[v], end));
            _mm256_and_si256(a, b)
        };
        for v in 0..const { OPERANDS.div_ceil(LANES) } {
            wrong = _mm256_or_si256(wrong, overlapping(&operands, v));
        }
        for v in 0..=i / LANES {
            // A result is compared with the results before it.
            let before = _mm256_cmpgt_epi64(_mm256_set1_epi64x(i as i64 - (v * LANES) as i64), lanes);
            wrong = _mm256_or_si256(wrong, _mm256_and_si256(overlapping(&results, v), before));
        }
    }
    // The sign bits say whether anything is wrong.
    if _mm256_movemask_pd(_mm256_castsi256_pd(wrong)) != 0 {
        return std::ptr::null();
    }
    // SAFETY: the addresses were just checked; the caller guarantees the rest (`# Safety` above).
    unsafe { write_views::<OPERANDS, RESULTS>(proof, views) };
    views
}

/// Broadcasts one lane to all lanes.
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

/// Start and end addresses of the elements of each buffer. Unused lanes look like a buffer without elements.
struct Spans {
    start: [__m256i; VECTORS],
    end: [__m256i; VECTORS],
    /// Negative in lanes with an address that is not valid for the buffer's elements.
    wrong: __m256i,
}

/// Loads the spans of all operands (`side` 0) or results (`side` 1).
///
/// # Safety
/// The processor has AVX2, and the proof has `N` buffers on this side.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn spans<const N: usize>(proof: &Proof, side: usize) -> Spans {
    let zero = _mm256_setzero_si256();
    let mut spans = Spans { start: [zero; VECTORS], end: [zero; VECTORS], wrong: zero };
    for v in 0..const { N.div_ceil(LANES) } {
        let data = |lane: usize| match v * LANES + lane {
            // SAFETY: `i < N`, so this is a valid buffer.
            i if i < N => unsafe { (*buffer(proof, side, i)).data }.addr() as i64,
            _ => 0,
        };
        let data = _mm256_setr_epi64x(data(0), data(1), data(2), data(3));
        // SAFETY: the loads are within the proof's arrays.
        let [sizes, misaligned] = [&proof.sizes, &proof.misaligned]
            .map(|all| unsafe { _mm256_loadu_si256(all[side].as_ptr().add(v * LANES).cast()) });
        // A buffer without elements gets a dangling address, equal to the alignment.
        let one = _mm256_set1_epi64x(1);
        let is_empty = _mm256_cmpeq_epi64(sizes, zero);
        let start = _mm256_blendv_epi8(data, _mm256_add_epi64(misaligned, one), is_empty);
        let end = _mm256_add_epi64(start, sizes);
        // `beyond`: null, or above the highest address of a process. `unaligned`: misaligned.
        let beyond = _mm256_or_si256(_mm256_sub_epi64(start, one), end);
        let unaligned = _mm256_sub_epi64(zero, _mm256_and_si256(start, misaligned));
        spans.wrong = _mm256_or_si256(spans.wrong, _mm256_or_si256(beyond, unaligned));
        (spans.start[v], spans.end[v]) = (start, end);
    }
    spans
}
