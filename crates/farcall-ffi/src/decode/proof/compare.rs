//! Comparing frames in vectors, in the instructions that the processor has.

use std::arch::asm;
use std::arch::x86_64::*;
use std::ffi::c_void;

use super::{BUFFER, FRAME, MOST_BUFFERS, MOST_DIMS, Proof};
use crate::abi;
use crate::buffer::View;

// Vectors have so many lanes, and masks so many bits.
const _: () = assert!(MOST_BUFFERS == 8 && MOST_DIMS == 4);

const BUFFER_TYPE: i32 = abi::ArgType::BUFFER.0 as i32;

/// What the instructions of a processor do, of those with AVX2. To be inlined into functions that are compiled for them.
pub(super) trait Instructions {
    /// `differs | (a ^ b)`.
    ///
    /// # Safety
    /// The processor has these instructions.
    unsafe fn or_differs(differs: __m256i, a: __m256i, b: __m256i) -> __m256i;

    /// Those of four integers whose bit is set, and 0 for the others, which are not accessed: nothing need be there.
    ///
    /// # Safety
    /// As above; the integers that are read are there.
    unsafe fn masked_load_i64(mask: u8, from: *const i64) -> __m256i;

    /// The same for 32 bits.
    ///
    /// # Safety
    /// As above.
    unsafe fn masked_load_i32(mask: u8, from: *const i32) -> __m128i;
}

/// What a frame is, seen from a proof.
pub(super) enum Comparison {
    /// The one of the proof.
    Same,
    /// The same, with elements at other addresses, which are yet to be checked.
    Moved,
    Other,
}

/// What a frame is. If it is the one of the proof, what the checks would make of its results is in `views`, after room for
/// that of the operands.
///
/// # Safety
/// The processor has these instructions. The proof is one of a frame of so many operands and results, with the same stage. The
/// frame covers its attributes. There is room for as many views.
#[inline(always)]
pub(super) unsafe fn compare_frame<I: Instructions, const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    frame: *const abi::CallFrame,
    views: *mut View,
) -> Comparison {
    // SAFETY: the processor has these instructions.
    let zero = unsafe { _mm256_setzero_si256() };
    // SAFETY: as above.
    let or_differs = |differs, words, known: &[u64; 4]| unsafe {
        I::or_differs(differs, words, _mm256_loadu_si256(known.as_ptr().cast()))
    };
    let mut differs = zero;
    for (known, from) in proof.frame.iter().zip(FRAME) {
        // SAFETY: words of the frame.
        let words = unsafe { _mm256_loadu_si256(frame.cast::<i64>().add(from).cast()) };
        differs = or_differs(differs, words, known);
    }
    // SAFETY: the frame covers them.
    let (extensions, args, rets) = unsafe { ((*frame).extension_start, &(*frame).args, &(*frame).rets) };
    // SAFETY: the processor has the instructions.
    if unsafe { any(differs) } || !extensions.is_null() {
        return differs_from_it();
    }
    // The tables are where those of a frame were that was right.
    // SAFETY: tables of so many buffers.
    let differs = unsafe {
        table_differs::<I, OPERANDS>(args.types.cast(), args.args, &proof.tables[0])
            | table_differs::<I, RESULTS>(rets.types.cast(), rets.rets, &proof.tables[1])
    };
    if differs {
        return differs_from_it();
    }
    // The buffers are where they were.
    let all = const { OPERANDS + RESULTS };
    let mut differs = zero;
    for i in 0..all {
        // SAFETY: so many buffers.
        let words = unsafe { words_of(any_buffer::<OPERANDS>(proof, i)) };
        differs = or_differs(differs, words, &proof.buffers[i]);
    }
    // Which of the words is not padding; which is the address of the elements.
    // SAFETY: the processor has these instructions.
    let (stays, moved) = unsafe {
        let (words, data) = (_mm256_setr_epi64x(0xffff_ffff, -1, -1, -1), _mm256_setr_epi64x(0, -1, 0, 0));
        let stays = _mm256_testz_si256(differs, _mm256_andnot_si256(data, words)) == 1;
        (stays, _mm256_testz_si256(differs, data) == 0)
    };
    if !stays {
        return differs_from_it();
    }
    // Their dimensions are where they were.
    let mut differs = zero;
    // SAFETY: so many dimensions.
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
    // In most calls, this is what is wanted: it does not wait for the comparison.
    for i in OPERANDS..all {
        // SAFETY: so many views.
        unsafe { *views.add(i) = proof.views[i] };
    }
    // SAFETY: as above.
    if unsafe { any(differs) } {
        return differs_from_it();
    }
    if moved { Comparison::Moved } else { Comparison::Same }
}

/// What [`compare_frame`] returns for another frame.
#[cold]
fn differs_from_it() -> Comparison {
    Comparison::Other
}

/// An operand or a result of the proof.
#[inline(always)]
pub(super) fn buffer(proof: &Proof, side: usize, i: usize) -> *const abi::Buffer {
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
/// There is a buffer, and the processor has AVX.
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

/// # Safety
/// The processor has AVX.
#[inline(always)]
unsafe fn any(differs: __m256i) -> bool {
    // SAFETY: the caller's promise.
    unsafe { _mm256_testz_si256(differs, differs) == 0 }
}

/// False if a table has the same buffers.
///
/// # Safety
/// It has so many, and the processor has the instructions.
#[inline(always)]
unsafe fn table_differs<I: Instructions, const N: usize>(
    types: *const i32,
    table: *const *mut c_void,
    known: &[u64; MOST_BUFFERS],
) -> bool {
    if const { N <= 2 } {
        // SAFETY: the caller's promise.
        return !(0..N)
            .all(|i| unsafe { *types.add(i) == BUFFER_TYPE && (*table.add(i)).addr() as u64 == known[i] });
    }
    // SAFETY: the caller's promise, and words of the proof.
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

/// Makes views what the addresses of the elements say.
///
/// # Safety
/// The buffers are those of the proof, the views, too; the addresses are right.
#[inline(always)]
pub(super) unsafe fn write_views<const OPERANDS: usize, const RESULTS: usize>(
    proof: &Proof,
    views: *mut View,
) {
    for i in 0..OPERANDS + RESULTS {
        let known = proof.views[i];
        // SAFETY: so many buffers, and views.
        unsafe {
            let data = (*any_buffer::<OPERANDS>(proof, i)).data.cast();
            *views.add(i) = if known.size() == 0 { known } else { known.moved_to(data) };
        }
    }
}
