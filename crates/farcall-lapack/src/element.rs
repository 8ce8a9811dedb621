//! The element types of matrices.

use num_complex::Complex;

/// An element type of matrices: `f32`, `f64`, `Complex<f32>` or `Complex<f64>`.
pub trait MatrixElement: Copy + Default + sealed::Sealed + 'static {
    /// Type of the real part.
    type Part: Copy + Default + std::fmt::Debug + 'static;
    /// Index in LAPACK's letters `sdcz`.
    #[doc(hidden)]
    const INDEX: usize;
    /// Returns the workspace size that LAPACK stored in this number.
    #[doc(hidden)]
    fn work_size(self) -> f64;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($ty:ty, $part:ty, $index:literal, $size:expr;)*) => {$(
        impl sealed::Sealed for $ty {}

        impl MatrixElement for $ty {
            type Part = $part;
            const INDEX: usize = $index;

            fn work_size(self) -> f64 {
                let size: fn($ty) -> f64 = $size;
                size(self)
            }
        }
    )*};
}
numbers! {
    f32, f32, 0, f64::from;
    f64, f64, 1, |x| x;
    Complex<f32>, f32, 2, |x| f64::from(x.re);
    Complex<f64>, f64, 3, |x| x.re;
}
