//! Loops that do nothing but keep the machine busy: what its limits are measured with.

use super::simd::vectorized;

/// `a = b + s * c`, over as many elements as the shortest has.
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

/// Numbers in a vector, and vectors: enough independent ones to hide the latency of an addition.
const LANES: usize = 16;
const VECTORS: usize = 12;

/// Does `times` times a number of fused multiply-adds on independent numbers in registers; returns that number.
pub(crate) fn fused_multiply_adds(times: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            /// # Safety
            /// The processor has these instructions.
            #[target_feature(enable = "avx512f")]
            unsafe fn wide(times: usize) -> usize {
                chains::<VECTORS, true>(times)
            }
            // SAFETY: it has them.
            return unsafe { wide(times) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            /// # Safety
            /// The processor has these instructions.
            #[target_feature(enable = "avx2,fma")]
            unsafe fn narrow(times: usize) -> usize {
                // Half as wide, so half as many fit into registers.
                chains::<6, true>(times)
            }
            // SAFETY: it has them.
            return unsafe { narrow(times) };
        }
    }
    // Where `mul_add` is an instruction; elsewhere it would be a call.
    chains::<6, { cfg!(target_arch = "aarch64") }>(times)
}

#[inline(always)]
fn chains<const N: usize, const FUSED: bool>(times: usize) -> usize {
    let mut sums = [[1.0f32; LANES]; N];
    let (factor, term) = (std::hint::black_box(0.5f32), std::hint::black_box(0.25f32));
    for _ in 0..times {
        for vector in &mut sums {
            for x in vector {
                *x = if FUSED { x.mul_add(factor, term) } else { *x * factor + term };
            }
        }
    }
    std::hint::black_box(sums);
    N * LANES
}
