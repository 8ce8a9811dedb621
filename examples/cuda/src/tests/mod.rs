//! The handlers for CUDA compared with the handlers for the CPU, and prototypes compared with the PTX.
//!
//! The driver, cuBLAS and NCCL are emulators; the driver runs the committed PTX. With
//! `FARCALL_CUDA_TESTS=device`, the same tests run on the first GPU of this machine.

mod attention;
mod device;
mod host;
mod memory;
mod planted;
mod products;
mod prototypes;
mod relu;
mod rows;
mod sparse;
mod sums;
mod triton;

use farcall_ffi::Float;

/// A generator of reproducible numbers (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Returns an integer less than `end`.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Returns numbers between -1 and 1.
    fn vec<T: Float>(&mut self, len: usize) -> Vec<T> {
        (0..len).map(|_| T::of((self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0)).collect()
    }
}

/// Checks that numbers differ by at most `tolerance` times the largest expected number.
#[track_caller]
fn assert_close<T: Float>(found: &[T], expected: &[T], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let [found, expected] = [found, expected].map(|all| all.iter().map(|&x| x.into()).collect::<Vec<f64>>());
    let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    assert_within(&found, &expected, tolerance * largest, what);
}

/// Checks that numbers differ by at most `distance`.
#[track_caller]
fn assert_within(found: &[f64], expected: &[f64], distance: f64, what: &str) {
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let close = (found - expected).abs() <= distance || found.is_nan() && expected.is_nan();
        assert!(close, "{what}: element {i} is {found}, expected {expected}");
    }
}

/// Distance between 1 and the next number of a type.
fn epsilon<T: Float>() -> f64 {
    2f64.powi(1 - T::MANTISSA_DIGITS as i32)
}
