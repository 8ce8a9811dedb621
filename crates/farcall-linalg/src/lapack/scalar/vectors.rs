//! Vectors of the processor that runs a kernel, for each element type. Kernels implement
//! [`pulp::WithSimd`](faer::traits::pulp::WithSimd).

use faer::traits::pulp::Simd;

use super::{c32, c64};

/// An element type with vectors. Products may be fused with sums, so results depend on the processor.
pub(crate) trait Vectors: Copy + 'static {
    /// A vector of the instruction set `S`.
    type Vector<S: Simd>: Copy;

    /// Returns a vector of equal numbers.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;

    /// Returns `−a`.
    fn negative<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;

    /// Returns `conj(a)`.
    fn conjugates<S: Simd>(simd: S, a: Self::Vector<S>) -> Self::Vector<S>;

    /// Returns `a + b`.
    fn plus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// Returns `a·b`.
    fn product<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// Returns `a·b + c`.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;

    /// Returns `conj(a)·b + c`.
    fn conj_mul_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;

    /// Returns the sum of a vector's numbers.
    fn sum<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;

    /// Divides numbers into vectors and the rest.
    fn split<S: Simd>(numbers: &[Self]) -> (&[Self::Vector<S>], &[Self]);

    /// Divides mutable numbers into vectors and the rest.
    fn split_mut<S: Simd>(numbers: &mut [Self]) -> (&mut [Self::Vector<S>], &mut [Self]);

    /// Reads up to a vector of numbers, followed by zeros.
    fn load<S: Simd>(simd: S, numbers: &[Self]) -> Self::Vector<S>;

    /// Writes the first numbers of a vector.
    fn store<S: Simd>(simd: S, numbers: &mut [Self], vector: Self::Vector<S>);
}

macro_rules! vectors {
    ($($ty:ty: $vector:ident, $splat:ident, $neg:ident, $conj:expr, $add:ident, $mul:ident, $mul_add:ident,
       $conj_mul_add:ident, $sum:ident, $split:ident, $split_mut:ident, $load:ident, $store:ident;)*) => {$(
        impl Vectors for $ty {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: $ty) -> S::$vector {
                simd.$splat(x)
            }

            #[inline(always)]
            fn negative<S: Simd>(simd: S, a: S::$vector) -> S::$vector {
                simd.$neg(a)
            }

            #[inline(always)]
            fn conjugates<S: Simd>(simd: S, a: S::$vector) -> S::$vector {
                $conj(simd, a)
            }

            #[inline(always)]
            fn plus<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }

            #[inline(always)]
            fn product<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$mul(a, b)
            }

            #[inline(always)]
            fn mul_add<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$mul_add(a, b, c)
            }

            #[inline(always)]
            fn conj_mul_add<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$conj_mul_add(a, b, c)
            }

            #[inline(always)]
            fn sum<S: Simd>(simd: S, a: S::$vector) -> $ty {
                simd.$sum(a)
            }

            #[inline(always)]
            fn split<S: Simd>(numbers: &[$ty]) -> (&[S::$vector], &[$ty]) {
                S::$split(numbers)
            }

            #[inline(always)]
            fn split_mut<S: Simd>(numbers: &mut [$ty]) -> (&mut [S::$vector], &mut [$ty]) {
                S::$split_mut(numbers)
            }

            #[inline(always)]
            fn load<S: Simd>(simd: S, numbers: &[$ty]) -> S::$vector {
                simd.$load(numbers)
            }

            #[inline(always)]
            fn store<S: Simd>(simd: S, numbers: &mut [$ty], vector: S::$vector) {
                simd.$store(numbers, vector);
            }
        }
    )*};
}
vectors! {
    f32: f32s, splat_f32s, neg_f32s, |_, a| a, add_f32s, mul_f32s, mul_add_e_f32s, mul_add_e_f32s, reduce_sum_f32s,
        as_simd_f32s, as_mut_simd_f32s, partial_load_f32s, partial_store_f32s;
    f64: f64s, splat_f64s, neg_f64s, |_, a| a, add_f64s, mul_f64s, mul_add_e_f64s, mul_add_e_f64s, reduce_sum_f64s,
        as_simd_f64s, as_mut_simd_f64s, partial_load_f64s, partial_store_f64s;
    c32: c32s, splat_c32s, neg_c32s, S::conj_c32s, add_c32s, mul_e_c32s, mul_add_e_c32s, conj_mul_add_e_c32s,
        reduce_sum_c32s, as_simd_c32s, as_mut_simd_c32s, partial_load_c32s, partial_store_c32s;
    c64: c64s, splat_c64s, neg_c64s, S::conj_c64s, add_c64s, mul_e_c64s, mul_add_e_c64s, conj_mul_add_e_c64s,
        reduce_sum_c64s, as_simd_c64s, as_mut_simd_c64s, partial_load_c64s, partial_store_c64s;
}
