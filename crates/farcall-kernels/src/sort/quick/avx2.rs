//! Registers of 256 bits.
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "each block relies only on the contract of its function"
)]

use std::arch::x86_64::*;

use super::lanes::{Lanes, swapped};

#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256i);

const LANES: usize = 8;

impl Lanes for Avx2 {
    type Mask = __m256i;
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        Avx2(unsafe { _mm256_loadu_si256(from.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut i32) {
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn splat(x: i32) -> Self {
        Avx2(unsafe { _mm256_set1_epi32(x) })
    }
    #[inline(always)]
    unsafe fn less(self, other: Self) -> __m256i {
        unsafe { _mm256_cmpgt_epi32(other.0, self.0) }
    }
    #[inline(always)]
    unsafe fn less_or_greater<const BIT: usize>(self, other: Self) -> __m256i {
        unsafe { Avx2(self.less(other)).merge::<BIT>(Avx2(other.less(self))).0 }
    }
    #[inline(always)]
    unsafe fn bits(mask: __m256i) -> u32 {
        unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(mask)).cast_unsigned() }
    }
    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        Avx2(unsafe { _mm256_min_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Avx2(unsafe { _mm256_max_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn select(self, mask: __m256i, other: Self) -> Self {
        Avx2(unsafe { _mm256_blendv_epi8(self.0, other.0, mask) })
    }
    #[inline(always)]
    unsafe fn merge<const BIT: usize>(self, other: Self) -> Self {
        let upper = const {
            let (mut upper, mut i) = ([0; LANES], 0);
            while i < LANES {
                upper[i] = if i & BIT != 0 { -1 } else { 0 };
                i += 1;
            }
            upper
        };
        unsafe { self.select(Avx2::load(upper.as_ptr()).0, other) }
    }
    #[inline(always)]
    unsafe fn swap<const XOR: usize>(self) -> Self {
        let from = const { swapped::<LANES>(XOR) };
        Avx2(unsafe { _mm256_permutevar8x32_epi32(self.0, Avx2::load(from.as_ptr()).0) })
    }
    #[inline(always)]
    unsafe fn zip(self, other: Self) -> (Self, Self) {
        unsafe {
            let (low, high) =
                (_mm256_unpacklo_epi32(self.0, other.0), _mm256_unpackhi_epi32(self.0, other.0));
            (
                Avx2(_mm256_permute2x128_si256::<0x20>(low, high)),
                Avx2(_mm256_permute2x128_si256::<0x31>(low, high)),
            )
        }
    }
    #[inline(always)]
    unsafe fn split(self, bits: u32, left: *mut i32, right: *mut i32) {
        unsafe {
            let from = Avx2::load(SPLIT_LANES[bits as usize & 0xff].as_ptr());
            let both = Avx2(_mm256_permutevar8x32_epi32(self.0, from.0));
            both.store(left);
            both.store(right.sub(LANES));
        }
    }
}

/// For each mask, the lanes in the mask, then the other lanes.
static SPLIT_LANES: [[i32; LANES]; 1 << LANES] = {
    let (mut all, mut mask) = ([[0; LANES]; 1 << LANES], 0);
    while mask < 1 << LANES {
        let (mut to, mut i) = (0, 0);
        while i < 2 * LANES {
            let is_set = mask >> (i % LANES) & 1 == 1;
            if is_set == (i < LANES) {
                all[mask][to] = (i % LANES) as i32;
                to += 1;
            }
            i += 1;
        }
        mask += 1;
    }
    all
};
