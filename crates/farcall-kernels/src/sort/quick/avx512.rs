//! Registers of 512 bits.
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "each block relies only on the contract of its function"
)]

use std::arch::x86_64::*;

use super::lanes::{Lanes, swapped};

#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512i);

const LANES: usize = 16;

impl Lanes for Avx512 {
    type Mask = __mmask16;
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        Avx512(unsafe { _mm512_loadu_epi32(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut i32) {
        unsafe { _mm512_storeu_epi32(to, self.0) }
    }
    #[inline(always)]
    unsafe fn splat(x: i32) -> Self {
        Avx512(unsafe { _mm512_set1_epi32(x) })
    }
    #[inline(always)]
    unsafe fn less(self, other: Self) -> __mmask16 {
        unsafe { _mm512_cmplt_epi32_mask(self.0, other.0) }
    }
    #[inline(always)]
    unsafe fn less_or_greater<const BIT: usize>(self, other: Self) -> __mmask16 {
        let (lower, upper) = const { (!lanes_with(BIT), lanes_with(BIT)) };
        unsafe {
            _mm512_mask_cmplt_epi32_mask(lower, self.0, other.0)
                | _mm512_mask_cmpgt_epi32_mask(upper, self.0, other.0)
        }
    }
    #[inline(always)]
    unsafe fn bits(mask: __mmask16) -> u32 {
        u32::from(mask)
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        Avx512(unsafe { _mm512_min_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Avx512(unsafe { _mm512_max_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn select(self, mask: __mmask16, other: Self) -> Self {
        Avx512(unsafe { _mm512_mask_blend_epi32(mask, self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn merge<const BIT: usize>(self, other: Self) -> Self {
        unsafe { self.select(const { lanes_with(BIT) }, other) }
    }
    #[inline(always)]
    unsafe fn swap<const XOR: usize>(self) -> Self {
        let from = const { swapped::<LANES>(XOR) };
        Avx512(unsafe { _mm512_permutexvar_epi32(_mm512_loadu_epi32(from.as_ptr()), self.0) })
    }
    #[inline(always)]
    unsafe fn zip(self, other: Self) -> (Self, Self) {
        let from = const {
            let (mut from, mut i) = ([[0; LANES]; 2], 0);
            while i < 2 * LANES {
                from[i / LANES][i % LANES] = (i / 2 + i % 2 * LANES) as i32;
                i += 1;
            }
            from
        };
        let half = |i: usize| unsafe {
            _mm512_permutex2var_epi32(self.0, _mm512_loadu_epi32(from[i].as_ptr()), other.0)
        };
        (Avx512(half(0)), Avx512(half(1)))
    }
    #[inline(always)]
    unsafe fn split(self, bits: u32, left: *mut i32, right: *mut i32) {
        let (lower, upper) = (bits as __mmask16, !bits as __mmask16);
        unsafe {
            let count = LANES - bits.count_ones() as usize;
            _mm512_storeu_epi32(left, _mm512_maskz_compress_epi32(lower, self.0));
            // A compressing store is slow on some processors.
            let last = ((1u32 << count) - 1) as __mmask16;
            _mm512_mask_storeu_epi32(right.sub(count), last, _mm512_maskz_compress_epi32(upper, self.0));
        }
    }
}

/// Returns the lanes whose number has this bit.
const fn lanes_with(bit: usize) -> __mmask16 {
    let (mut lanes, mut i) = (0, 0);
    while i < LANES {
        lanes |= ((i & bit != 0) as __mmask16) << i;
        i += 1;
    }
    lanes
}
