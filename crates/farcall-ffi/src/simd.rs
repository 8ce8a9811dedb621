//! Loops compiled for the vector instructions of the processor that runs them. Libraries are built for every
//! processor of their architecture, most of which have wider vectors than the architecture requires.
//!
//! ```
//! # use farcall_ffi::prelude::*;
//! use farcall_ffi::simd;
//!
//! /// Computes `exp(x)` of each element, several at once.
//! #[handler(name = "exp")]
//! #[signature((x: T[*]) -> (y: T[*]) where T: f32 | f64)]
//! fn exp<T: Real>(x: &Buffer<T>, y: &mut Buffer<T>, host: &Context) -> Result<()> {
//!     y.par_chunks_mut(4096).zip(x.par_chunks(4096)).for_each(host, |(y, x)| {
//!         simd::vectorized!(zip!(y.iter_mut(), x).for_each(|(y, &x)| *y = simd::exp(x)));
//!     });
//!     Ok(())
//! }
//! ```
//!
//! Only inlined code is compiled for these instructions: closures, iterators, and functions that are marked
//! `#[inline(always)]`. Functions of the standard library such as `exp` are not inlined, and compute one
//! number after the other.

#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicU8, Ordering};

use crate::float::Real;

/// Evaluates an expression that is compiled for the vectors of this processor: AVX-512 or AVX2 on x86-64, if
/// available. The result does not depend on the vectors.
///
/// The expression is the body of a closure: `return` and `?` leave the expression, not the surrounding
/// function.
// A macro rather than a function: a single closure would be called in three places, and then not be inlined.
#[doc(inline)]
pub use crate::__vectorized as vectorized;

#[doc(hidden)]
#[macro_export]
macro_rules! __vectorized {
    ($expression:expr) => {
        match $crate::simd::widest() {
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Vectors::Avx512 => {
                let f = || $expression;
                // SAFETY: `widest` found these instructions.
                unsafe { $crate::simd::avx512(f) }
            }
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Vectors::Avx2 => {
                let f = || $expression;
                // SAFETY: `widest` found these instructions.
                unsafe { $crate::simd::avx2(f) }
            }
            $crate::simd::Vectors::Plain => $crate::simd::plain(|| $expression),
        }
    };
}

/// Calls a closure, inlined into a function that is compiled for AVX-512.
///
/// # Safety
/// The processor has these instructions.
#[doc(hidden)]
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
pub unsafe fn avx512<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Calls a closure, inlined into a function that is compiled for AVX2.
///
/// # Safety
/// The processor has these instructions.
#[doc(hidden)]
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,popcnt")]
pub unsafe fn avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[doc(hidden)]
#[inline(always)]
pub fn plain<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Vector instructions of a processor.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Vectors {
    /// Vectors that every processor of the architecture has.
    Plain = 1,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Returns the widest vectors of this processor. Takes one load, so it is cheap enough before short loops.
#[doc(hidden)]
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn widest() -> Vectors {
    const AVX2: u8 = Vectors::Avx2 as u8;
    const AVX512: u8 = Vectors::Avx512 as u8;
    match DETECTED.load(Ordering::Relaxed) {
        0 => detect(),
        AVX512 => Vectors::Avx512,
        AVX2 => Vectors::Avx2,
        _ => Vectors::Plain,
    }
}

/// Returns the widest vectors of this processor.
#[doc(hidden)]
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn widest() -> Vectors {
    Vectors::Plain
}

/// Result of `detect`; 0 before its first call.
#[cfg(target_arch = "x86_64")]
static DETECTED: AtomicU8 = AtomicU8::new(0);

#[cfg(target_arch = "x86_64")]
#[cold]
fn detect() -> Vectors {
    // These three features imply the other AVX-512 features that `avx512` enables.
    let has_avx512 = || {
        is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
    };
    let has_avx2 = || {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("popcnt")
    };
    let widest = match has_avx2() {
        true if has_avx512() => Vectors::Avx512,
        true => Vectors::Avx2,
        false => Vectors::Plain,
    };
    DETECTED.store(widest as u8, Ordering::Relaxed);
    widest
}

/// Returns `e` to the power of `x`, within 2 units in the last place. Has no branch or call, so that loops
/// can be vectorized.
#[inline(always)]
pub fn exp<T: Real>(x: T) -> T {
    x.exp_in_loops()
}

/// Computes `c += a·b` for small matrices `c` (`m × n`), `a` (`m × k`) and `b` (`k × n`). The rows of `c` and
/// `b` are contiguous. The element of `a` in row `i` and column `t` is at `i·strides[0] + t·strides[1]`, so
/// `a` may be transposed.
///
/// Products of tiles that fit the processor's caches, of some thousand elements each, are fast; larger
/// products should be split into such tiles. If the processor has fused multiply-add instructions, each
/// product is added with a single rounding.
///
/// # Panics
/// If a matrix has fewer elements than its dimensions require.
pub fn add_product<T: Real>(c: &mut [T], a: &[T], strides: [usize; 2], b: &[T], [m, k, n]: [usize; 3]) {
    if m == 0 || k == 0 || n == 0 {
        return;
    }
    let last = (m - 1).saturating_mul(strides[0]).saturating_add((k - 1).saturating_mul(strides[1]));
    assert!(last < a.len(), "a has {} elements, but {last} is one of its indices", a.len());
    let (c_len, b_len) = (m.saturating_mul(n), k.saturating_mul(n));
    assert!(c_len <= c.len(), "c is {m}×{n}, but has {} elements", c.len());
    assert!(b_len <= b.len(), "b is {k}×{n}, but has {} elements", b.len());
    let product = Product { a, strides, b, k, n };
    // Tiles have as many sums as fit the registers, in rows of two vectors.
    const FUSED: bool = cfg!(target_arch = "aarch64");
    // SAFETY: `widest` found these instructions, and all indices were checked above.
    unsafe {
        match (widest(), size_of::<T>()) {
            #[cfg(target_arch = "x86_64")]
            (Vectors::Avx512, 4) => avx512(|| product.tiles::<true, 8, 32>(c, m)),
            #[cfg(target_arch = "x86_64")]
            (Vectors::Avx512, _) => avx512(|| product.tiles::<true, 8, 16>(c, m)),
            #[cfg(target_arch = "x86_64")]
            (Vectors::Avx2, 4) => avx2(|| product.tiles::<true, 4, 16>(c, m)),
            #[cfg(target_arch = "x86_64")]
            (Vectors::Avx2, _) => avx2(|| product.tiles::<true, 4, 8>(c, m)),
            (Vectors::Plain, _) => product.tiles::<FUSED, 4, 8>(c, m),
        }
    }
}

/// Replaces each element of `x` with a function of this element and the corresponding element of `y`.
#[inline(always)]
pub fn update<T: Copy>(x: &mut [T], y: &[T], f: impl Fn(T, T) -> T) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x = f(*x, *y));
}

/// Returns the transpose of a small matrix with contiguous rows of `columns` elements.
///
/// # Panics
/// If the length is not a multiple of `columns`.
pub fn transposed<T: Real>(matrix: &[T], columns: usize) -> Vec<T> {
    let rows = matrix.len().checked_div(columns).unwrap_or(0);
    assert!(rows * columns == matrix.len(), "{} elements are not rows of {columns}", matrix.len());
    let mut transposed = vec![T::ZERO; matrix.len()];
    for (i, row) in matrix.chunks_exact(columns.max(1)).enumerate() {
        row.iter().enumerate().for_each(|(j, x)| transposed[j * rows + i] = *x);
    }
    transposed
}

/// Operands of a matrix product, without the accumulator `c`.
#[derive(Clone, Copy)]
struct Product<'a, T> {
    a: &'a [T],
    strides: [usize; 2],
    b: &'a [T],
    k: usize,
    n: usize,
}

impl<T: Real> Product<'_, T> {
    /// Adds the product to `c`, in tiles of `ROWS` rows and `LANES` columns.
    ///
    /// # Safety
    /// `a` has the elements of `m` rows, `b` has all its elements, and `c` has `m` rows.
    #[inline(always)]
    unsafe fn tiles<const FUSED: bool, const ROWS: usize, const LANES: usize>(self, c: &mut [T], m: usize) {
        for j in (0..self.n).step_by(LANES) {
            let width = LANES.min(self.n - j);
            for i in (0..m - m % ROWS).step_by(ROWS) {
                // SAFETY: the caller guarantees that all rows and columns exist (`# Safety` above).
                unsafe { self.tile::<FUSED, ROWS, LANES>(c, i, j, width) };
            }
            for i in m - m % ROWS..m {
                // SAFETY: the caller guarantees that all rows and columns exist (`# Safety` above).
                unsafe { self.tile::<FUSED, 1, LANES>(c, i, j, width) };
            }
        }
    }

    /// Adds a tile of the product: `ROWS` rows starting at `i`, and `width` columns starting at `j`.
    ///
    /// # Safety
    /// Same requirements as [`tiles`](Self::tiles); the tile's rows and columns exist.
    #[inline(always)]
    unsafe fn tile<const FUSED: bool, const ROWS: usize, const LANES: usize>(
        self,
        c: &mut [T],
        i: usize,
        j: usize,
        width: usize,
    ) {
        // SAFETY: row `t` of `b` has the columns from `j` to below `j + width`.
        let b = |t: usize| unsafe { self.b.get_unchecked(t * self.n + j..t * self.n + j + width) };
        let start = |r: usize| (i + r) * self.n + j;
        if width == LANES {
            // SAFETY: the rows exist, and `b` returns `width == LANES` columns.
            let sums: [[T; LANES]; ROWS] =
                unsafe { self.sums::<FUSED, ROWS, LANES>(i, |t| *b(t).first_chunk().unwrap_unchecked()) };
            for (r, sums) in sums.iter().enumerate() {
                c[start(r)..][..LANES].iter_mut().zip(sums).for_each(|(c, sum)| *c += *sum);
            }
        } else {
            let padded = |t: usize| {
                let mut row = [T::ZERO; LANES];
                row[..width].copy_from_slice(b(t));
                row
            };
            // SAFETY: the rows exist.
            let sums: [[T; LANES]; ROWS] = unsafe { self.sums::<FUSED, ROWS, LANES>(i, padded) };
            for (r, sums) in sums.iter().enumerate() {
                c[start(r)..][..width].iter_mut().zip(sums).for_each(|(c, sum)| *c += *sum);
            }
        }
    }

    /// Computes the products of `ROWS` rows of `a`, starting at `i`, with `LANES` columns of the matrix `b`.
    /// The function `b` returns the elements of row `t` in these columns.
    ///
    /// # Safety
    /// Same requirements as [`tiles`](Self::tiles); the rows exist.
    #[inline(always)]
    unsafe fn sums<const FUSED: bool, const ROWS: usize, const LANES: usize>(
        self,
        i: usize,
        b: impl Fn(usize) -> [T; LANES],
    ) -> [[T; LANES]; ROWS] {
        let mut sums = [[T::ZERO; LANES]; ROWS];
        for t in 0..self.k {
            let b = b(t);
            for (r, sums) in sums.iter_mut().enumerate() {
                // SAFETY: this is the index of row `i + r` and column `t`, which exist.
                let a = unsafe { *self.a.get_unchecked((i + r) * self.strides[0] + t * self.strides[1]) };
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = if FUSED { a.mul_add(b, *sum) } else { a * b + *sum };
                }
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn exponentials() {
        for i in -1_100_000..=900_000 {
            let x = f64::from(i) * 1e-4 + 1e-5;
            let (found, expected) = (exp(x as f32), f64::from(x as f32).exp() as f32);
            assert!(
                (i64::from(found.to_bits()) - i64::from(expected.to_bits())).abs() <= 2,
                "exp({x}) is {found}, not {expected}"
            );
            let (found, expected) = (exp(8.0 * x), (8.0 * x).exp());
            assert!(
                (found.to_bits() as i64 - expected.to_bits() as i64).abs() <= 2,
                "exp(8 · {x}) is {found}, not {expected}"
            );
        }
        assert_eq!([f32::NEG_INFINITY, 0.0, f32::INFINITY].map(exp), [0.0, 1.0, f32::INFINITY]);
        assert_eq!([f64::NEG_INFINITY, 0.0, f64::INFINITY].map(exp), [0.0, 1.0, f64::INFINITY]);
        assert!(exp(f32::NAN).is_nan() && exp(f64::NAN).is_nan());
    }

    fn products<T: Real>() {
        let mut random = Random::new(1).stream(0);
        for [m, k, n] in [[0, 1, 2], [1, 1, 1], [3, 0, 2], [4, 7, 16], [5, 3, 17], [9, 33, 40], [2, 2, 8]] {
            let mut some = |count: usize| (0..count).map(|_| random.normal()).collect::<Vec<T>>();
            let (a, b, before) = (some(m * k), some(k * n), some(m * n));
            for strides in [[k, 1], [1, m]] {
                let mut c = before.clone();
                add_product(&mut c, &a, strides, &b, [m, k, n]);
                for (at, c) in c.iter().enumerate() {
                    let (i, j) = (at / n, at % n);
                    let terms = (0..k).map(|t| a[i * strides[0] + t * strides[1]] * b[t * n + j]);
                    let rest: f64 = (*c - before[at] - terms.sum::<T>()).into();
                    assert!(rest.abs() < 1e-4, "element {at} of a product of {m}×{k}×{n} is off by {rest}");
                }
            }
        }
    }

    #[test]
    fn products_of_any_size() {
        products::<f32>();
        products::<f64>();
    }

    #[test]
    #[should_panic(expected = "b is 2×4, but has 6 elements")]
    fn too_few_elements() {
        add_product(&mut [0.0; 8], &[0.0; 4], [2, 1], &[0.0; 6], [2, 2, 4]);
    }

    #[test]
    fn transposes() {
        assert_eq!(transposed(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(transposed::<f32>(&[], 0), []);
    }

    #[test]
    fn the_same_on_any_processor() {
        let x = [1.0f32, -2.5, 1e-3];
        let plain = x.map(|x| exp(x) * 3.0 + 1.0);
        assert_eq!(vectorized!(x.map(|x| exp(x) * 3.0 + 1.0)), plain);
    }
}
