//! Limits of the machine, measured on request: the bandwidth of a triad, and the peak rate of fused
//! multiply-adds.
//!
//! `farcall bench` compares the figures of a program with these limits. A triad is `a[i] = b[i] + s * c[i]`
//! in `f32` (McCalpin, STREAM). Like the kernels, its loops are compiled for the widest vectors of the
//! processor, and their stores do not bypass the caches.

#![expect(unsafe_code, reason = "vector instructions, after a test that the processor has them")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use farcall::custom_call::ThreadPool;
use farcall::ffi::simd::vectorized;

/// Minimum time for which one limit is measured.
const MIN_MEASURING_TIME: Duration = Duration::from_millis(60);

/// Measures the bytes per second of a triad whose three arrays have `working_set` bytes together, on all
/// threads of a pool. The result is the best of several passes.
///
/// A write counts once, although caches may first read the memory that is overwritten. Arrays that fit into a
/// cache are used repeatedly, so the result is the bandwidth of that cache. The arrays have at least 3 KiB
/// together.
pub(crate) fn triad_bandwidth(working_set: usize, pool: &ThreadPool) -> f64 {
    let n = (working_set / (3 * size_of::<f32>())).max(256);
    let (mut a, b, c) = (vec![0f32; n], vec![1f32; n], vec![2f32; n]);
    let threads = pool.size().max(1);
    // Each thread makes several passes over its part of the arrays, so that the time to start a thread does
    // not matter even for small arrays.
    let size = n.div_ceil(threads);
    let passes = (1 << 22) / n + 1;
    let parts: Vec<_> = a.chunks_mut(size).zip(b.chunks(size)).zip(c.chunks(size)).collect();
    let parts: Vec<_> = parts.into_iter().map(|((a, b), c)| std::sync::Mutex::new((a, b, c))).collect();
    let work = |i: usize| {
        let mut part = parts[i].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (a, b, c) = &mut *part;
        for _ in 0..passes {
            triad(black_box(&mut **a), black_box(b), black_box(c), black_box(3.0));
        }
    };
    let best = best(|| pool.each(parts.len(), &work));
    (n * 3 * size_of::<f32>() * passes) as f64 / best.as_secs_f64()
}

/// Measures the `f32` operations per second of fused multiply-adds on all threads of a pool; each
/// multiply-add counts as two. The operands stay in registers. The result is the best of several passes.
pub(crate) fn peak_flops(pool: &ThreadPool) -> f64 {
    const ROUNDS_OF_MULTIPLY_ADDS: usize = 200_000;
    let threads = pool.size().max(1);
    let each = fused_multiply_adds(1);
    let best = best(|| {
        pool.each(threads, &|_| _ = black_box(fused_multiply_adds(black_box(ROUNDS_OF_MULTIPLY_ADDS))))
    });
    (each * ROUNDS_OF_MULTIPLY_ADDS * threads * 2) as f64 / best.as_secs_f64()
}

/// Returns the time of the fastest call, after one warm-up call.
fn best(call: impl Fn()) -> Duration {
    call();
    let begin = Instant::now();
    let mut best = Duration::MAX;
    for round in 0.. {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed());
        if round >= 2 && begin.elapsed() > MIN_MEASURING_TIME {
            break;
        }
    }
    best.max(Duration::from_nanos(1))
}

/// Computes `a = b + s * c`, over as many elements as the shortest slice has.
fn triad(a: &mut [f32], b: &[f32], c: &[f32], s: f32) {
    vectorized!(for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + s * c;
    });
}

/// Executes a batch of fused multiply-adds `times` times, on independent numbers in registers. A batch is
/// large enough to hide the latency of its operations. Returns the number of operations in a batch.
fn fused_multiply_adds(times: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the test above found that the processor has AVX-512F.
            return unsafe { x86::avx512(times) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the test above found that the processor has AVX2 and FMA.
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
    /// The processor has AVX-512F.
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
    /// The processor has AVX2 and FMA.
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
    let (factor, term) = (black_box(0.5f32), black_box(0.25f32));
    for _ in 0..times {
        for x in &mut sums {
            *x = *x * factor + term;
        }
    }
    black_box(sums).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_limits_are_plausible() {
        let pool = ThreadPool::new(1);
        let bandwidth = triad_bandwidth(1 << 16, &pool);
        assert!((1e7..1e13).contains(&bandwidth), "a bandwidth of {bandwidth} B/s is not plausible");
        let flops = peak_flops(&pool);
        assert!((1e7..1e13).contains(&flops), "a speed of {flops} FLOP/s is not plausible");
    }
}
