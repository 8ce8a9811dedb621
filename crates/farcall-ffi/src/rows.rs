//! Reductions of rows of numbers that many kernels need.

use crate::float::Float;

/// Computes `Σ x·y`, in [`Float::Acc`].
///
/// # Panics
/// If the lengths differ.
#[track_caller]
pub fn dot<T: Float>(x: &[T], y: &[T]) -> T {
    T::narrow(crate::zip!(x, y).map(|(x, y)| x.widen() * y.widen()).sum())
}

/// Computes `ln Σ exp(x)` without overflow, in [`Float::Acc`]; −∞ for no numbers.
pub fn log_sum_exp<T: Float>(x: &[T]) -> T {
    let max = x.iter().map(|x| x.widen()).fold(T::Acc::NEG_INFINITY, T::Acc::max);
    // Subtracting an infinite maximum from itself below would give NaN.
    if max.abs() == -T::Acc::NEG_INFINITY && !x.iter().any(|x| x.is_nan()) {
        return T::narrow(max);
    }
    T::narrow(max + x.iter().map(|x| (x.widen() - max).exp()).sum::<T::Acc>().ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        assert_eq!(dot(&[1.0f32, 2.0], &[3.0, 4.0]), 11.0);
        assert_eq!(dot::<f64>(&[], &[]), 0.0);
        #[cfg(feature = "half")]
        assert_eq!(f32::from(dot(&[half::f16::ONE; 4096], &[half::f16::ONE; 4096])), 4096.0);
    }

    #[test]
    #[should_panic(expected = "1 items cannot be zipped with 2")]
    fn rows_of_one_length() {
        let _ = dot(&[1.0f32], &[1.0, 2.0]);
    }

    #[test]
    fn logarithms_of_sums() {
        assert_eq!(log_sum_exp(&[1000.0f64, 1000.0]), 1000.0 + 2f64.ln());
        assert_eq!(log_sum_exp::<f32>(&[]), f32::NEG_INFINITY);
        assert_eq!(log_sum_exp(&[f32::NEG_INFINITY; 2]), f32::NEG_INFINITY);
        assert_eq!(log_sum_exp(&[f64::NEG_INFINITY, 3.0]), 3.0);
        assert_eq!(log_sum_exp(&[f32::INFINITY, 3.0]), f32::INFINITY);
        assert!(log_sum_exp(&[f32::NAN, f32::INFINITY]).is_nan() && log_sum_exp(&[1.0, f64::NAN]).is_nan());
        assert!(log_sum_exp(&[f64::NAN, f64::NAN]).is_nan());
    }
}
