//! Comparison of numbers that may differ by rounding.

use farcall_ir::{DType, Scalar};
use num_complex::Complex;

/// Maximum difference between a number and the expected number. All NaNs are equal. An infinity equals only
/// itself.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// Maximum difference as a fraction of the expected number's magnitude.
    pub relative: f64,
    /// Maximum difference that is allowed in addition to the relative difference.
    pub absolute: f64,
}

impl Tolerance {
    /// A difference of at most `tolerance · (1 + |wanted|)`.
    pub fn mixed(tolerance: f64) -> Tolerance {
        Tolerance { relative: tolerance, absolute: tolerance }
    }

    /// A relative difference of `count` times the epsilon of a type, which is the distance from 1 to the next
    /// number. Zero for integers.
    pub fn epsilons(count: f64, dtype: DType) -> Tolerance {
        let epsilon = match dtype.real() {
            DType::F64 => f64::EPSILON,
            DType::F32 => f64::from(f32::EPSILON),
            DType::F16 => 2f64.powi(-10),
            DType::BF16 => 2f64.powi(-7),
            _ => 0.0,
        };
        Tolerance { relative: count * epsilon, absolute: 0.0 }
    }

    /// Returns the largest difference from an expected number of this magnitude.
    pub fn of(self, magnitude: f64) -> f64 {
        self.relative * magnitude + self.absolute
    }

    /// Returns true if a number equals the expected number or is near to it.
    pub fn holds(self, found: f64, wanted: f64) -> bool {
        self.holds_for(found, wanted, wanted.abs())
    }

    /// Compares both parts of a complex number, each with a tolerance relative to the larger part.
    pub fn holds_for_parts(self, found: Complex<f64>, wanted: Complex<f64>) -> bool {
        let magnitude = wanted.re.abs().max(wanted.im.abs());
        let magnitude = if magnitude.is_finite() { magnitude } else { 0.0 };
        self.holds_for(found.re, wanted.re, magnitude) && self.holds_for(found.im, wanted.im, magnitude)
    }

    /// Compares two elements of one type. Each part of a complex number is compared by itself. Elements that
    /// are neither floats nor complex numbers must be equal.
    pub fn holds_for_scalars(self, found: Scalar, wanted: Scalar) -> bool {
        match (found, wanted) {
            (Scalar::Float(found), Scalar::Float(wanted)) => self.holds(found, wanted),
            (Scalar::Complex(found), Scalar::Complex(wanted)) => {
                self.holds(found.re, wanted.re) && self.holds(found.im, wanted.im)
            }
            (found, wanted) => found == wanted,
        }
    }

    fn holds_for(self, found: f64, wanted: f64, magnitude: f64) -> bool {
        if found == wanted || (found.is_nan() && wanted.is_nan()) {
            return true;
        }
        let is_finite = found.is_finite() && wanted.is_finite();
        is_finite && (found - wanted).abs() <= self.of(magnitude)
    }
}
