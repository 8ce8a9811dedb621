//! What the machine can do, measured here and now: the bandwidth of a triad, and the peak of fused multiply-adds.
//!
//! They are what a program's own figures are compared with (`farcall bench`). A triad is `a[i] = b[i] + s * c[i]` in
//! `f32` (McCalpin, STREAM), in loops compiled for the widest vectors of the processor, without stores that bypass the
//! caches, as kernels are.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::host::pool::ThreadPool;
use crate::kernels::{Tasks, fused_multiply_adds, triad};

/// How long one limit is measured for, at least.
const LONG: Duration = Duration::from_millis(60);

/// Bytes per second of a triad whose three arrays have `working_set` bytes together, on all threads of a pool: the best
/// of several passes.
///
/// A write counts once, though caches may read what is overwritten first. Arrays that fit into a cache are used over
/// and over, so this is the bandwidth of that cache. They have at least 3 KiB.
pub fn triad_bandwidth(working_set: usize, pool: &ThreadPool) -> f64 {
    let n = (working_set / (3 * size_of::<f32>())).max(256);
    let (mut a, b, c) = (vec![0f32; n], vec![1f32; n], vec![2f32; n]);
    let threads = pool.size().max(1);
    // A part for each thread, and several passes over it, so that starting a thread does not count in small sets.
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

/// Operations on `f32` per second that all threads of a pool can do together in fused multiply-adds, each of which is
/// two: the best of several passes over registers.
pub fn peak_flops(pool: &ThreadPool) -> f64 {
    const TIMES: usize = 200_000;
    let threads = pool.size().max(1);
    let each = fused_multiply_adds(1);
    let best = best(|| pool.each(threads, &|_| _ = black_box(fused_multiply_adds(black_box(TIMES)))));
    (each * TIMES * threads * 2) as f64 / best.as_secs_f64()
}

/// The fastest call, after one that does not count.
fn best(call: impl Fn()) -> Duration {
    call();
    let begin = Instant::now();
    let mut best = Duration::MAX;
    for round in 0.. {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed());
        if round >= 2 && begin.elapsed() > LONG {
            break;
        }
    }
    best.max(Duration::from_nanos(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_a_machine() {
        let pool = ThreadPool::new(1);
        let bandwidth = triad_bandwidth(1 << 16, &pool);
        assert!((1e7..1e13).contains(&bandwidth), "{bandwidth}");
        let flops = peak_flops(&pool);
        assert!((1e7..1e13).contains(&flops), "{flops}");
    }
}
