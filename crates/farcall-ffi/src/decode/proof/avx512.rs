//! Comparing frames in vectors of AVX-512. Masked loads read what the mask says, and nothing else.

use std::arch::asm;
use std::arch::x86_64::*;
use std::ffi::c_void;

use super::{BUFFER, FRAME, MOST_BUFFERS, MOST_DIMS, Proof};
use crate::abi;
use crate::buffer::View;

// Vectors have so many lanes, and masks so many bits.
const _: () = assert!(MOST_BUFFERS == 8 && MOST_DIMS == 4);

const BUFFER_TYPE: i32 = abi::ArgType::BUFFER.0 as i32;

/// What the checks would make of a frame's operands, if it is the one of the proof, or has its elements at other addresses
/// that are right; null if it is not. What they would make of its results is in `views` then, after room for that of the
/// operands.
///
/// # Safety
/// The processor has these instructions. The proof is one of a frame of so many operands and results, with the same stage. The
/// frame covers its attributes. There is room for as many views.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
pub(super) unsafe fn compare<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    frame: *const abi::CallFrame,
    views: *mut View,
) -> *const View {
    let mut differs = _mm256_setzero_si256();
    for (known, from) in proof.frame.iter().zip(FRAME) {
        // SAFETY: words of the frame.
        let words = unsafe { _mm256_loadu_si256(frame.cast::<i64>().add(from).cast()) };
        differs = or_differs(differs, words, known);
    }
    // SAFETY: the frame covers them.
    let (extensions, args, rets) = unsafe { ((*frame).extension_start, &(*frame).args, &(*frame).rets) };
    if any(differs) || !extensions.is_null() {
        return differs_from_it();
    }
    // The tables are where those of a frame were that was right.
    // SAFETY: tables of so many buffers.
    let differs = unsafe {
        table_differs::<OPERANDS>(args.types.cast(), args.args, &proof.tables[0])
            | table_differs::<RESULTS>(rets.types.cast(), rets.rets, &proof.tables[1])
    };
    if differs {
        return differs_from_it();
    }
    // The buffers are where they were.
    let all = const { OPERANDS + RESULTS };
    let mut differs = _mm256_setzero_si256();
    for i in 0..all {
        // SAFETY: so many buffers.
        differs =
            or_differs(differs, unsafe { words_of(any_buffer::<OPERANDS>(proof, i)) }, &proof.buffers[i]);
    }
    // Which of the words is not padding; which is the address of the elements.
    let (words, data) = (_mm256_setr_epi64x(0xffff_ffff, -1, -1, -1), _mm256_setr_epi64x(0, -1, 0, 0));
    if _mm256_testz_si256(differs, _mm256_andnot_si256(data, words)) == 0 {
        return differs_from_it();
    }
    let moved = _mm256_testz_si256(differs, data) == 0;
    // Their dimensions are where they were.
    let mut differs = _mm256_setzero_si256();
    // SAFETY: so many dimensions.
    let dims = |i: usize, mask: u8| unsafe { _mm256_maskz_loadu_epi64(mask, proof.dims_at[i]) };
    if all > 1 && proof.has_one_shape {
        for i in 0..all {
            differs = or_differs(differs, dims(i, proof.dims_masks[0]), &proof.dims[0]);
        }
    } else {
        for i in 0..all {
            differs = or_differs(differs, dims(i, proof.dims_masks[i]), &proof.dims[i]);
        }
    }
    // In most calls, this is what is wanted: it does not wait for the comparison.
    for i in OPERANDS..all {
        // SAFETY: so many views.
        unsafe { *views.add(i) = proof.views[i] };
    }
    if any(differs) {
        return differs_from_it();
    }
    if !moved {
        return proof.views.as_ptr();
    }
    // SAFETY: the buffers are as they were, and there are as many views.
    if unsafe { move_views::<OPERANDS, RESULTS>(proof, views) } { views } else { differs_from_it() }
}

/// What [`compare`] returns for another frame.
#[cold]
fn differs_from_it() -> *const View {
    std::ptr::null()
}

/// An operand or a result of the proof.
#[inline(always)]
fn buffer(proof: &Proof, side: usize, i: usize) -> *const abi::Buffer {
    std::ptr::with_exposed_provenance(proof.tables[side][i] as usize)
}

/// One of all operands, then all results.
#[inline(always)]
fn any_buffer<const OPERANDS: usize>(proof: &Proof, i: usize) -> *const abi::Buffer {
    if i < OPERANDS { buffer(proof, 0, i) } else { buffer(proof, 1, i - OPERANDS) }
}

/// The part of a buffer that is compared.
///
/// # Safety
/// There is a buffer.
#[target_feature(enable = "avx")]
#[inline]
unsafe fn words_of(buffer: *const abi::Buffer) -> __m256i {
    let words: __m256i;
    // SAFETY: the caller's promise. In Rust, padding cannot be loaded; it is not looked at.
    unsafe {
        asm!(
            "vmovdqu {words}, [{buffer} + {from}]",
            words = out(ymm_reg) words,
            buffer = in(reg) buffer,
            from = const 8 * BUFFER,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    words
}

/// `differs | (a ^ b)`.
#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
fn or_differs(differs: __m256i, a: __m256i, b: &[u64; 4]) -> __m256i {
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
    known: &[u64; MOST_BUFFERS],
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
            others = or_differs(others, pointers, &*known.as_ptr().add(i).cast());
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
    for i in 0..OPERANDS + RESULTS {
        let known = proof.views[i];
        // SAFETY: so many buffers, and views.
        unsafe {
            let data = (*any_buffer::<OPERANDS>(proof, i)).data.cast();
            *views.add(i) = if known.size() == 0 { known } else { known.moved_to(data) };
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
