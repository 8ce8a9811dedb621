//! Products of several lines of a matrix and a vector, in `f32`. Hardware prefetching stops at page
//! boundaries, so reading one line at a time stalls at each boundary. These loops read several lines at once.
//! They use intrinsics, because the compiler's loops over several lines contain shuffles.

use super::{PARTIAL_SUM_PRODUCTS, Ring};

/// Number of lines that are read at once.
pub(super) const LINES: usize = 8;

/// Number of partial sums of a line.
const LANES: usize = 16;

type Sums = [[f32; LANES]; LINES];

/// Returns, for each of [`LINES`] lines, its product with the vector `y`. The lines are `line` elements
/// apart, starting at `x`.
///
/// # Safety
/// `y` and each line must be valid for reads of `depth` elements.
pub(super) unsafe fn dots(x: *const f32, line: usize, y: *const f32, depth: usize) -> [f32; LINES] {
    let mut totals = [0.0; LINES];
    let whole = depth / LANES * LANES;
    for part in (0..whole).step_by(LANES * PARTIAL_SUM_PRODUCTS) {
        let count = (LANES * PARTIAL_SUM_PRODUCTS).min(whole - part);
        // SAFETY: the part ends at or before `depth`, for which the caller guarantees the lines and the
        // vector.
        let mut sums = unsafe { sums(x.add(part), line, y.add(part), count) };
        totals.iter_mut().zip(&mut sums).for_each(|(total, sums)| *total += joined(sums));
    }
    for (i, total) in totals.iter_mut().enumerate() {
        for k in whole..depth {
            // SAFETY: `i` is below `LINES` and `k` below `depth`.
            *total += unsafe { x.add(i * line + k).read() * y.add(k).read() };
        }
    }
    totals
}

/// Sums products per lane: lane `i` has the elements `i`, `i + LANES`, …. With every instruction set,
/// products are rounded before they are added, so that the sums are the same.
///
/// # Safety
/// Same requirements as [`dots`], for `count` elements, a multiple of [`LANES`].
unsafe fn sums(x: *const f32, line: usize, y: *const f32, count: usize) -> Sums {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F, and the caller guarantees that the elements can be read
            // (`# Safety`).
            return unsafe { avx512(x, line, y, count) };
        }
        if is_x86_feature_detected!("avx") {
            // SAFETY: the processor has AVX, and the caller guarantees that the elements can be read
            // (`# Safety`).
            return unsafe { avx(x, line, y, count) };
        }
    }
    let mut sums: Sums = [[0.0; LANES]; LINES];
    for (i, sums) in sums.iter_mut().enumerate() {
        for k in (0..count).step_by(LANES) {
            // SAFETY: `k + LANES` is at most `count`, a multiple of `LANES`.
            let (x, y): (&[f32; LANES], &[f32; LANES]) =
                unsafe { (&*x.add(i * line + k).cast(), &*y.add(k).cast()) };
            sums.iter_mut().zip(x).zip(y).for_each(|((sum, x), y)| *sum += x * y);
        }
    }
    sums
}

/// # Safety
/// Same requirements as [`sums`]; the processor must have AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(x: *const f32, line: usize, y: *const f32, count: usize) -> Sums {
    use std::arch::x86_64::{_mm512_add_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_setzero_ps};
    let mut sums = [_mm512_setzero_ps(); LINES];
    for k in (0..count).step_by(LANES) {
        // SAFETY: `k + LANES` is at most `count`.
        let y = unsafe { _mm512_loadu_ps(y.add(k)) };
        for (i, sum) in sums.iter_mut().enumerate() {
            // SAFETY: `k + LANES` is at most `count`, and line `i` has `count` elements.
            let x = unsafe { _mm512_loadu_ps(x.add(i * line + k)) };
            *sum = _mm512_add_ps(*sum, _mm512_mul_ps(x, y));
        }
    }
    // SAFETY: vectors have the layout of arrays of their lanes.
    unsafe { std::mem::transmute(sums) }
}

/// # Safety
/// Same requirements as [`sums`]; the processor must have AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn avx(x: *const f32, line: usize, y: *const f32, count: usize) -> Sums {
    use std::arch::x86_64::{_mm256_add_ps, _mm256_loadu_ps, _mm256_mul_ps, _mm256_setzero_ps};
    // The sums of this many lines fit in registers, beside the factors.
    const LINES_PER_PASS: usize = LINES / 2;
    const HALF_LANES: usize = LANES / 2;
    let mut all = [[[_mm256_setzero_ps(); 2]; LINES_PER_PASS]; 2];
    for (half, sums) in all.iter_mut().enumerate() {
        for k in (0..count).step_by(LANES) {
            // SAFETY: `k + LANES` is at most `count`.
            let y = unsafe { [_mm256_loadu_ps(y.add(k)), _mm256_loadu_ps(y.add(k + HALF_LANES))] };
            for (i, sums) in sums.iter_mut().enumerate() {
                // SAFETY: `k + LANES` is at most `count`, and the line's number is below `LINES`.
                let at = unsafe { x.add((half * LINES_PER_PASS + i) * line + k) };
                for (lanes, (sum, y)) in sums.iter_mut().zip(y).enumerate() {
                    // SAFETY: this half of the lanes lies within the line.
                    let x = unsafe { _mm256_loadu_ps(at.add(lanes * HALF_LANES)) };
                    *sum = _mm256_add_ps(*sum, _mm256_mul_ps(x, y));
                }
            }
        }
    }
    // SAFETY: vectors have the layout of arrays of their lanes.
    unsafe { std::mem::transmute(all) }
}

/// Sums numbers pairwise, by adding the second half to the first half repeatedly. The number of summands must
/// be a power of two.
#[inline(always)]
pub(super) fn joined<T: Ring>(sums: &mut [T]) -> T {
    let mut n = sums.len();
    while n > 1 {
        n /= 2;
        for i in 0..n {
            sums[i] = sums[i].plus(sums[i + n]);
        }
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the bits of the sums do not depend on the instruction set.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn all_instructions_give_the_same_sums() {
        let (line, count) = (1003, 992);
        let numbers: Vec<f32> =
            (0..(LINES + 1) * line).map(|i| (i * 7919 % 1009) as f32 / 997.0 - 0.5).collect();
        let (x, y) = (numbers.as_ptr(), numbers[LINES * line..].as_ptr());
        let plain: Vec<f32> = (0..LINES * LANES)
            .map(|at| {
                let (i, lane) = (at / LANES, at % LANES);
                let products =
                    (lane..count).step_by(LANES).map(|k| numbers[i * line + k] * numbers[LINES * line + k]);
                products.fold(0.0, |sum, x| sum + x)
            })
            .collect();
        let bits = |sums: &[f32]| sums.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: there are `LINES` lines, and the processor has AVX-512F.
            assert_eq!(bits(unsafe { avx512(x, line, y, count) }.as_flattened()), bits(&plain));
        }
        if is_x86_feature_detected!("avx") {
            // SAFETY: there are `LINES` lines, and the processor has AVX.
            assert_eq!(bits(unsafe { avx(x, line, y, count) }.as_flattened()), bits(&plain));
        }
    }
}
