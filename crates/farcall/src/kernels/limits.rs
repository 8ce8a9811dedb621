//! Loops for measuring the limits of the machine.

use super::simd::vectorized;

/// Computes `a = b + s * c`, over as many elements as the shortest slice has.
pub(crate) fn triad(a: &mut [f32], b: &[f32], c: &[f32], s: f32) {
    vectorized(
        #[inline(always)]
        || {
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                *a = b + s * c;
            }
        },
    );
}

/// Executes a batch of fused multiply-adds on independent numbers in registers `times` times. Returns the
/// number of operations in a batch, which is large enough to hide their latency.
pub(crate) fn fused_multiply_adds(times: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions.
            return unsafe { x86::avx512(times) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has these instructions.
            return unsafe { x86::avx2(times) };
        }
    }
    plain(times)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps};
    use std::hint::black_box;

    /// # Safety
    /// The processor has these instructions.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512(times: usize) -> usize {
        let mut sums = [_mm512_set1_ps(1.0); 12];
        let (factor, term) = (_mm512_set1_ps(black_box(0.5)), _mm512_set1_ps(black_box(0.25)));
        for _ in 0..times {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, factor, term);
            }
        }
        black_box(sums).len() * 16
    }

    /// # Safety
    /// The processor has these instructions.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2(times: usize) -> usize {
        let mut sums = [_mm256_set1_ps(1.0); 12];
        let (factor, term) = (_mm256_set1_ps(black_box(0.5)), _mm256_set1_ps(black_box(0.25)));
        for _ in 0..times {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, factor, term);
            }
        }
        black_box(sums).len() * 8
    }
}

/// Multiplications and additions, for processors without a known fused instruction.
fn plain(times: usize) -> usize {
    let mut sums = [1.0f32; 32];
    let (factor, term) = (std::hint::black_box(0.5f32), std::hint::black_box(0.25f32));
    for _ in 0..times {
        for x in &mut sums {
            *x = *x * factor + term;
        }
    }
    std::hint::black_box(sums).len()
}
