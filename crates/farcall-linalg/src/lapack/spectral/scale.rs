//! Scaling of matrices whose entries are so large or small that intermediate results would overflow or
//! underflow.

use crate::lapack::scalar::Scalar;
use crate::number::{Real, is_finite};

/// A power of two. Scaling by it is exact, except for entries that become negligible.
#[derive(Clone, Copy)]
pub(crate) struct Scale<R> {
    factor: R,
    inverse: R,
}

impl<R: Real> Scale<R> {
    /// Chooses the factor from a matrix's entries. Returns `None` if an entry is infinite or NaN.
    pub(crate) fn new<T: Scalar<Real = R>>(entries: impl Iterator<Item = T>) -> Option<Self> {
        // A sum is NaN if a term is; the largest part alone would hide it.
        let (mut largest, mut nothing) = (R::ZERO, R::ZERO);
        for entry in entries {
            for part in [entry.re(), entry.im()] {
                let size = part.abs();
                largest = if size > largest { size } else { largest };
                nothing += part * R::ZERO;
            }
        }
        if !is_finite(largest) || !is_finite(nothing) {
            return None;
        }
        let largest: f64 = largest.into();
        let exponent = if largest > 0.0 { largest.log2().floor() as i32 } else { 0 };
        let exponent = match exponent.abs() > R::SAFE_EXPONENT {
            true => exponent.clamp(-R::MAX_EXPONENT, R::MAX_EXPONENT),
            false => 0,
        };
        Some(Scale::by_power(-exponent))
    }

    /// Returns the factor that gives a matrix of this norm a norm between 1 and 2.
    pub(crate) fn to_unit(norm: f64) -> Self {
        let exponent = if norm > 0.0 { norm.log2().floor() as i32 } else { 0 };
        Scale::by_power(-exponent.clamp(-R::MAX_EXPONENT, R::MAX_EXPONENT))
    }

    /// Returns the factor 1.
    pub(crate) fn none() -> Self {
        Scale::by_power(0)
    }

    fn by_power(exponent: i32) -> Self {
        let [factor, inverse] = [exponent, -exponent].map(|exponent| R::of(2f64.powi(exponent)));
        Scale { factor, inverse }
    }

    /// Scales numbers.
    pub(crate) fn apply<T: Scalar<Real = R>>(self, entries: &mut [T]) {
        if self.factor != R::ONE {
            entries.iter_mut().for_each(|x| *x = x.times(self.factor));
        }
    }

    /// Undoes the scaling.
    pub(crate) fn restore<T: Scalar<Real = R>>(self, x: T) -> T {
        x.times(self.inverse)
    }

    /// Undoes the scaling of a real number.
    pub(crate) fn restore_real(self, x: R) -> R {
        x * self.inverse
    }
}
