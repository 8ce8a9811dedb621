//! Limits of the machine, measured on request: the bandwidth of a triad, and the peak rate of fused
//! multiply-adds.
//!
//! `farcall bench` compares the figures of a program with these limits. A triad is `a[i] = b[i] + s * c[i]`
//! in `f32` (McCalpin, STREAM). Like the kernels, its loops are compiled for the widest vectors of the
//! processor, and their stores do not bypass the caches.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::host::pool::ThreadPool;
use crate::kernels::{Tasks, fused_multiply_adds, triad};

/// Minimum time for which one limit is measured.
const MIN_MEASURING_TIME: Duration = Duration::from_millis(60);

/// Measures the bytes per second of a triad whose three arrays have `working_set` bytes together, on all
/// threads of a pool. The result is the best of several passes.
///
/// A write counts once, although caches may first read the memory that is overwritten. Arrays that fit into a
/// cache are used repeatedly, so the result is the bandwidth of that cache. The arrays have at least 3 KiB
/// together.
pub fn triad_bandwidth(working_set: usize, pool: &ThreadPool) -> f64 {
    let n = (working_set / (3 * size_of::<f32>())).max(256);
    let (mut a, b, c) = (vec![0f32; n], vec![1f32; n], vec![2f32; n]);
    let threads = pool.size().max(1);
    // Each thread gets a part and makes several passes over it, so that the start of a thread does not count
    // for small sets.
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
pub fn peak_flops(pool: &ThreadPool) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_limits_are_plausible() {
        let pool = ThreadPool::new(1);
        let bandwidth = triad_bandwidth(1 << 16, &pool);
        assert!((1e7..1e13).contains(&bandwidth), "{bandwidth}");
        let flops = peak_flops(&pool);
        assert!((1e7..1e13).contains(&flops), "{flops}");
    }
}
