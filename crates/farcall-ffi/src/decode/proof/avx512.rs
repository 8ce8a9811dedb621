//! Comparing frames in vectors of AVX-512. Masked loads read what the mask says, and nothing else.

use std::arch::x86_64::*;
use std::ffi::c_void;
use std::mem::MaybeUninit;

use super::{BUFFER, DATA, FRAME, MOST, OTHERS, Proof};
use crate::abi;
use crate::buffer::View;

const BUFFER_TYPE: i32 = abi::ArgType::BUFFER.0 as i32;

/// What the checks would make of a frame's operands, if it is the one of the proof, or has its elements at other addresses
/// that are right; null if it is not. What they would make of its results is in `views` then, after room for that of the
/// operands.
///
/// # Safety
/// The proof is one of a frame of so many operands and results, with the same stage. The frame covers its attributes. There
/// is room for as many views.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
pub(super) unsafe fn compare<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    frame: *const abi::CallFrame,
    views: *mut View,
) -> *const View {
    const DIFFERS: *const View = std::ptr::null();
    let mut differs = _mm256_setzero_si256();
    for (known, from) in proof.frame.iter().zip(FRAME) {
        // SAFETY: words of the frame.
        let words = unsafe { _mm256_loadu_si256(frame.cast::<i64>().add(from).cast()) };
        differs = or_differs(differs, words, known);
    }
    // SAFETY: the frame covers them.
    let (extensions, args, rets) = unsafe { ((*frame).extension_start, &(*frame).args, &(*frame).rets) };
    if any(differs) || !extensions.is_null() {
        return DIFFERS;
    }
    // The tables are where those of a frame were that was right.
    // SAFETY: tables of so many buffers.
    let differs = unsafe {
        table_differs::<OPERANDS>(args.types.cast(), args.args, &proof.tables[0])
            | table_differs::<RESULTS>(rets.types.cast(), rets.rets, &proof.tables[1])
    };
    if differs {
        return DIFFERS;
    }
    // The buffers are where they were.
    let all = const { OPERANDS + RESULTS };
    let buffer_at = |i: usize| if i < OPERANDS { proof.tables[0][i] } else { proof.tables[1][i - OPERANDS] };
    let mut differs = _mm256_setzero_si256();
    for i in 0..all {
        // SAFETY: so many buffers.
        let words = unsafe { _mm256_loadu_si256((buffer_at(i) as *const i64).add(BUFFER).cast()) };
        differs = or_differs(differs, words, &proof.buffers[i]);
    }
    let others = _mm256_setr_epi64x(OTHERS[0], OTHERS[1], OTHERS[2], OTHERS[3]);
    if _mm256_testz_si256(differs, others) == 0 {
        return DIFFERS;
    }
    let data = _mm256_setr_epi64x(DATA[0], DATA[1], DATA[2], DATA[3]);
    let moved = _mm256_testz_si256(differs, data) == 0;
    // Their dimensions are where they were.
    let mut differs = _mm256_setzero_si256();
    // SAFETY: so many dimensions.
    let dims = |i: usize, rank: u8| unsafe { _mm256_maskz_loadu_epi64(rank, proof.dims_at[i]) };
    if all > 1 && proof.has_one_shape {
        let known = &proof.dims[0];
        for i in 0..all {
            differs = or_differs(differs, dims(i, proof.ranks[0]), known);
        }
    } else {
        for i in 0..all {
            differs = or_differs(differs, dims(i, proof.ranks[i]), &proof.dims[i]);
        }
    }
    for i in OPERANDS..all {
        // SAFETY: so many views.
        unsafe { *views.add(i) = proof.views[i] };
    }
    if any(differs) {
        return DIFFERS;
    }
    if !moved {
        return proof.views.as_ptr();
    }
    // SAFETY: the buffers are as they were, and there are as many views.
    if unsafe { move_views::<OPERANDS, RESULTS>(proof, views) } { views } else { DIFFERS }
}

/// `differs | (a ^ b)`.
#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
fn or_differs(differs: __m256i, a: __m256i, b: &[MaybeUninit<u64>; 4]) -> __m256i {
    // SAFETY: of this size.
    let b = unsafe { _mm256_loadu_si256(b.as_ptr().cast()) };
    _mm256_ternarylogic_epi64::<0xf6>(differs, a, b)
}

#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
fn any(differs: __m256i) -> bool {
    _mm256_testz_si256(differs, differs) == 0
}

/// False if a table has the same buffers.
///
/// # Safety
/// It has so many.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn table_differs<const N: usize>(
    types: *const i32,
    table: *const *mut c_void,
    known: &[u64; MOST],
) -> bool {
    if const { N <= 2 } {
        // SAFETY: the caller's promise.
        return !(0..N)
            .all(|i| unsafe { *types.add(i) == BUFFER_TYPE && (*table.add(i)).addr() as u64 == known[i] });
    }
    let (mut other_types, mut others) = (_mm_setzero_si128(), _mm256_setzero_si256());
    for i in (0..N).step_by(4) {
        let mask = ((1u16 << (N - i).min(4)) - 1) as u8;
        let type_of = |k| if i + k < N { BUFFER_TYPE } else { 0 };
        // SAFETY: the caller's promise, and words of the proof.
        unsafe {
            let types = _mm_maskz_loadu_epi32(mask, types.add(i));
            let buffers = _mm_setr_epi32(type_of(0), type_of(1), type_of(2), type_of(3));
            other_types = _mm_ternarylogic_epi64::<0xf6>(other_types, types, buffers);
            let pointers = _mm256_maskz_loadu_epi64(mask, table.add(i).cast());
            let known = _mm256_loadu_si256(known.as_ptr().add(i).cast());
            others = _mm256_ternarylogic_epi64::<0xf6>(others, pointers, known);
        }
    }
    any(_mm256_or_si256(others, _mm256_zextsi128_si256(other_types)))
}

/// Checks the addresses of all elements, and makes the views what they say; false if anything is wrong with them.
///
/// # Safety
/// The buffers are those of the proof, and the views.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
unsafe fn move_views<const OPERANDS: usize, const RESULTS: usize>(proof: &Proof, views: *mut View) -> bool {
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
        return false;
    }
    for (spans, n, before) in [(operands, OPERANDS, 0), (results, RESULTS, OPERANDS)] {
        let (mut starts, mut ends) = ([0usize; MOST], [0usize; MOST]);
        // SAFETY: of this size.
        unsafe {
            _mm512_storeu_si512(starts.as_mut_ptr().cast(), spans.start);
            _mm512_storeu_si512(ends.as_mut_ptr().cast(), spans.end);
        }
        for i in 0..n {
            // SAFETY: so many buffers, and views.
            unsafe {
                *views.add(before + i) = proof.views[before + i].moved_to(starts[i] as *mut u8, ends[i])
            };
        }
    }
    true
}

/// Addresses of elements, where they begin and where they end.
struct Spans {
    start: __m512i,
    end: __m512i,
    /// Which are no addresses of such elements.
    wrong: u8,
}

/// # Safety
/// There are so many buffers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
unsafe fn spans<const N: usize>(proof: &Proof, side: usize) -> Spans {
    let mut start = _mm512_setzero_si512();
    for i in 0..N {
        let buffer = proof.tables[side][i] as *const abi::Buffer;
        // SAFETY: a buffer.
        let data = unsafe { (*buffer).data };
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
    let start = _mm512_mask_mov_epi64(_mm512_add_epi64(misaligned, one), proof.full[side], start);
    let end = _mm512_add_epi64(start, sizes);
    // Null, or beyond what a program has.
    let beyond = _mm512_movepi64_mask(_mm512_or_si512(_mm512_sub_epi64(start, one), end));
    let there = const { ((1u16 << N) - 1) as u8 };
    Spans { start, end, wrong: there & (_mm512_test_epi64_mask(start, misaligned) | beyond) }
}
