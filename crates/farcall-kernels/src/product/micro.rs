//! The innermost loops of products: a tile of the result stays in registers while products are added to it.
//!
//! Floating-point numbers use the micro-kernels of the `gemm-*` crates for the processor's instruction set.
//! Complex numbers and most integers use the plain loop of this file. 32-bit integers use a vector loop,
//! whose sums stay in registers.

use std::ops::{Add, Mul};

use half::{bf16, f16};
use num_complex::Complex;

use super::super::loops::vector::half_floats::{self, Half};
use super::super::simd::vectorized;
#[cfg(target_arch = "x86_64")]
use farcall_ffi::simd::{Vectors, widest};

/// A row-major tile of the result, with its factors. The sums of their products are added to the tile, or
/// replace its contents.
#[derive(Clone, Copy)]
pub(super) struct Tile<T> {
    /// First element.
    pub(super) to: *mut T,
    /// Distance between rows.
    pub(super) stride: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Number of products to sum.
    pub(super) depth: usize,
    /// Left factors: the first element, and the strides along rows and along depth.
    pub(super) lhs: (*const T, usize, usize),
    /// Right factors: the first element, and the stride along depth. Columns are contiguous.
    pub(super) rhs: (*const T, usize),
    /// True if the sums are added to the contents of the tile.
    pub(super) add: bool,
}

/// A micro-kernel of the `gemm-*` crates: `(rows, columns, depth, to, left, right, …)`. These crates store
/// the result by columns, so what they call columns are our rows.
type Gemm<T> = unsafe fn(
    usize,
    usize,
    usize,
    *mut T,
    *const T,
    *const T,
    isize,
    isize,
    isize,
    isize,
    isize,
    T,
    T,
    u8,
    bool,
    bool,
    bool,
    *const T,
);

#[derive(Clone, Copy)]
enum MicroKernel<T: 'static> {
    /// One micro-kernel per number of vectors and number of rows: `[vectors - 1][rows - 1]`.
    Gemm {
        lanes: usize,
        all: &'static [Gemm<T>],
        one: T,
    },
    Plain(unsafe fn(&Tile<T>)),
}

/// Micro-kernels of an element type.
#[derive(Clone, Copy)]
pub(in super::super) struct Micro<T: 'static> {
    /// Maximum number of columns of a tile.
    pub(super) columns: usize,
    /// Maximum number of rows of a tile.
    pub(super) rows: usize,
    run: MicroKernel<T>,
}

impl<T: Copy> Micro<T> {
    const fn gemm(lanes: usize, rows: usize, all: &'static [Gemm<T>], one: T) -> Micro<T> {
        Micro { columns: all.len() / rows * lanes, rows, run: MicroKernel::Gemm { lanes, all, one } }
    }

    /// Creates the micro-kernels from a loop of this file.
    const fn plain(columns: usize, run: unsafe fn(&Tile<T>)) -> Micro<T> {
        Micro { columns, rows: TILE_ROWS, run: MicroKernel::Plain(run) }
    }

    /// Number of columns of right factors that are read together.
    pub(super) fn lanes(&self) -> usize {
        match self.run {
            MicroKernel::Gemm { lanes, .. } => lanes,
            MicroKernel::Plain(_) => self.columns,
        }
    }

    /// Computes a tile.
    ///
    /// # Safety
    /// The tile must have 1 to [`Micro::rows`] rows and 1 to [`Micro::columns`] columns, and a depth of at
    /// least one. The factors must be valid for reads, and right factors for all columns that a tile can
    /// have, since whole vectors are read. The tile must be valid for reads and writes.
    #[inline]
    pub(super) unsafe fn run(&self, t: &Tile<T>) {
        match self.run {
            // SAFETY: the loop has the contract of this function, which the caller upholds.
            MicroKernel::Plain(run) => unsafe { run(t) },
            MicroKernel::Gemm { lanes, all, one } => {
                let run = all[(t.columns.div_ceil(lanes) - 1) * self.rows + t.rows - 1];
                let ((x, x_row, x_depth), (y, y_depth)) = (t.lhs, t.rhs);
                let s = |stride: usize| stride as isize;
                // SAFETY: the caller guarantees the sizes and that the memory is valid; `micro` selected a
                // table for instructions that the processor has.
                unsafe {
                    run(
                        t.columns,
                        t.rows,
                        t.depth,
                        t.to,
                        y,
                        x,
                        s(t.stride),
                        1,
                        s(y_depth),
                        s(x_depth),
                        s(x_row),
                        one,
                        one,
                        u8::from(t.add),
                        false,
                        false,
                        false,
                        std::ptr::null(),
                    );
                }
            }
        }
    }
}

/// Element types in which products are computed.
pub(in super::super) trait Element: Copy + Send + Sync + 'static {
    const ZERO: Self;
    /// Returns the micro-kernels for this processor.
    fn micro() -> Micro<Self>;
}

/// Selects a crate's table for the processor's instruction set. The four numbers are the lanes of a vector:
/// without SIMD, with FMA, with AVX-512, and with NEON.
macro_rules! gemm {
    ($krate:ident, $ty:ident, [$scalar:expr, $fma:expr, $avx512:expr, $neon:expr]) => {{
        #[cfg(target_arch = "x86_64")]
        {
            use $krate::microkernel::{avx512f, fma};
            if is_x86_feature_detected!("avx512f") {
                return Micro::gemm($avx512, avx512f::$ty::NR, avx512f::$ty::UKR.as_flattened(), 1.0);
            }
            if is_x86_feature_detected!("fma") {
                return Micro::gemm($fma, fma::$ty::NR, fma::$ty::UKR.as_flattened(), 1.0);
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            use $krate::microkernel::neon;
            return Micro::gemm($neon, neon::$ty::NR, neon::$ty::UKR.as_flattened(), 1.0);
        }
        #[cfg(not(target_arch = "aarch64"))]
        {
            use $krate::microkernel::scalar;
            Micro::gemm($scalar, scalar::$ty::NR, scalar::$ty::UKR.as_flattened(), 1.0)
        }
    }};
}

macro_rules! floats {
    ($($ty:ident: $gemm:expr;)*) => {$(
        impl Element for $ty {
            const ZERO: $ty = 0.0;
            fn micro() -> Micro<$ty> {
                $gemm
            }
        }
    )*};
}

floats! {
    f32: gemm!(gemm_f32, f32, [1, 8, 16, 4]);
    f64: gemm!(gemm_f64, f64, [1, 4, 8, 2]);
}

/// Sums and products of two numbers.
pub(in super::super) trait Ring: Copy + 'static {
    fn plus(self, b: Self) -> Self;
    fn times(self, b: Self) -> Self;
}

macro_rules! ring {
    ($($ty:ty: $plus:ident, $times:ident;)*) => {$(
        impl Ring for $ty {
            #[inline(always)]
            fn plus(self, b: $ty) -> $ty {
                self.$plus(b)
            }
            #[inline(always)]
            fn times(self, b: $ty) -> $ty {
                self.$times(b)
            }
        }
    )*};
}

ring! {
    f32: add, mul;
    f64: add, mul;
    Complex<f32>: add, mul;
    Complex<f64>: add, mul;
    u8: wrapping_add, wrapping_mul;
    u16: wrapping_add, wrapping_mul;
    u32: wrapping_add, wrapping_mul;
    u64: wrapping_add, wrapping_mul;
}

macro_rules! plain {
    ($($zero:expr => $($ty:ty)*;)*) => {$($(
        impl Element for $ty {
            const ZERO: $ty = $zero;
            fn micro() -> Micro<$ty> {
                Micro::plain(TILE_COLUMNS, plain::<$ty>)
            }
        }
    )*)*};
}

plain! {
    0 => u8 u16 u64;
    Complex { re: 0.0, im: 0.0 } => Complex<f32> Complex<f64>;
}

macro_rules! words {
    ($($ty:ty)*) => {$(
        impl Element for $ty {
            const ZERO: $ty = 0;
            fn micro() -> Micro<$ty> {
                #[cfg(target_arch = "x86_64")]
                match widest() {
                    Vectors::Avx512 => return Micro::plain(16 * x86::ROW_VECTORS, x86::avx512::<$ty>),
                    Vectors::Avx2 => return Micro::plain(8 * x86::ROW_VECTORS, x86::avx2::<$ty>),
                    Vectors::Plain => {}
                }
                Micro::plain(TILE_COLUMNS, plain::<$ty>)
            }
        }
    )*};
}

words! { u32 }

/// Number of columns of a tile of the plain loop.
const TILE_COLUMNS: usize = 32;
/// Number of rows of a tile of the loops of this file.
const TILE_ROWS: usize = 4;

/// Computes a tile in plain Rust, which the compiler vectorizes.
///
/// # Safety
/// Same requirements as [`Micro::run`].
unsafe fn plain<T: Element + Ring>(t: &Tile<T>) {
    vectorized(
        #[inline(always)]
        || {
            let mut sums = [[T::ZERO; TILE_COLUMNS]; TILE_ROWS];
            let ((x, x_row, x_depth), (y, y_depth)) = (t.lhs, t.rhs);
            for k in 0..t.depth {
                // SAFETY: the caller guarantees that right factors can be read for all columns of a full
                // tile.
                let right: &[T; TILE_COLUMNS] = unsafe { &*y.add(k * y_depth).cast() };
                for (row, sums) in sums.iter_mut().enumerate() {
                    // SAFETY: the row is within the tile: the last row of the tile stands in for missing
                    // rows.
                    let left = unsafe { x.add(row.min(t.rows - 1) * x_row + k * x_depth).read() };
                    for (sum, right) in sums.iter_mut().zip(right) {
                        *sum = sum.plus(left.times(*right));
                    }
                }
            }
            // SAFETY: the caller guarantees that the tile is valid for reads and writes.
            unsafe { write(t, &sums) };
        },
    );
}

/// Stores sums in a tile, or adds them to it.
///
/// # Safety
/// Same requirements as [`Micro::run`].
#[inline(always)]
unsafe fn write<T: Ring, const N: usize>(t: &Tile<T>, sums: &[[T; N]; TILE_ROWS]) {
    for (row, sums) in sums[..t.rows].iter().enumerate() {
        for (column, sum) in sums[..t.columns].iter().enumerate() {
            // SAFETY: the row and the column are within the tile.
            unsafe {
                let to = t.to.add(row * t.stride + column);
                to.write(if t.add { to.read().plus(*sum) } else { *sum });
            }
        }
    }
}

/// Loops for 32-bit integers, signed or unsigned.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm256_add_epi32, _mm256_loadu_si256, _mm256_mullo_epi32, _mm256_set1_epi32, _mm256_setzero_si256,
        _mm512_add_epi32, _mm512_loadu_si512, _mm512_mullo_epi32, _mm512_set1_epi32, _mm512_setzero_si512,
    };

    use super::{Ring, TILE_ROWS, Tile, write};

    /// Number of vectors of a row of a tile.
    pub(super) const ROW_VECTORS: usize = 2;

    macro_rules! words {
        ($name:ident, $feature:literal, $lanes:literal, $zero:ident, $load:ident, $one:ident, $add:ident, $mul:ident) => {
            /// # Safety
            /// Same requirements as [`Micro::run`](super::Micro::run), with tiles of [`ROW_VECTORS`] vectors.
            /// The elements must be 32-bit integers, and the processor must have the instructions.
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $name<T: Ring>(t: &Tile<T>) {
                const { assert!(size_of::<T>() == 4) };
                let mut sums = [[$zero(); ROW_VECTORS]; TILE_ROWS];
                let ((x, x_row, x_depth), (y, y_depth)) = (t.lhs, t.rhs);
                let (x, y) = (x.cast::<i32>(), y.cast::<i32>());
                for k in 0..t.depth {
                    let y = y.wrapping_add(k * y_depth);
                    // SAFETY: the caller guarantees that right factors can be read for all columns of a full
                    // tile.
                    let right = unsafe { [$load(y.cast()), $load(y.add($lanes).cast())] };
                    for (row, sums) in sums.iter_mut().enumerate() {
                        // SAFETY: the row is within the tile: the last row of the tile stands in for missing
                        // rows.
                        let left = unsafe { x.add(row.min(t.rows - 1) * x_row + k * x_depth).read() };
                        for (sum, right) in sums.iter_mut().zip(right) {
                            *sum = $add(*sum, $mul($one(left), right));
                        }
                    }
                }
                // SAFETY: vectors have the layout of arrays of their lanes, 32-bit integers. The caller
                // guarantees that the tile is valid.
                unsafe { write(t, &*(&raw const sums).cast::<[[T; ROW_VECTORS * $lanes]; TILE_ROWS]>()) };
            }
        };
    }

    words!(
        avx2,
        "avx2",
        8,
        _mm256_setzero_si256,
        _mm256_loadu_si256,
        _mm256_set1_epi32,
        _mm256_add_epi32,
        _mm256_mullo_epi32
    );
    words!(
        avx512,
        "avx512f",
        16,
        _mm512_setzero_si512,
        _mm512_loadu_si512,
        _mm512_set1_epi32,
        _mm512_add_epi32,
        _mm512_mullo_epi32
    );
}

/// Element types in which operands are read and results are written.
pub(in super::super) trait Stored<T>: Copy + Send + Sync + 'static {
    /// True if `Self` is `T`, the type in which products are computed.
    const IS_IDENTITY: bool;
    fn widen(self) -> T;
    fn narrow(x: T) -> Self;
    /// Widens `count` elements.
    ///
    /// # Safety
    /// `from` must be valid for reads and `to` for writes of `count` elements, and the two must not overlap.
    #[inline(always)]
    unsafe fn widen_line(from: *const Self, to: *mut T, count: usize) {
        for i in 0..count {
            // SAFETY: the caller guarantees that both are valid for `count` elements.
            unsafe { to.add(i).write(from.add(i).read().widen()) };
        }
    }
}

macro_rules! same {
    ($($ty:ty)*) => {$(
        impl Stored<$ty> for $ty {
            const IS_IDENTITY: bool = true;
            #[inline(always)]
            fn widen(self) -> $ty { self }
            #[inline(always)]
            fn narrow(x: $ty) -> $ty { x }
        }
    )*};
}

same! { f32 f64 Complex<f32> Complex<f64> u8 u16 u32 u64 }

impl Stored<f32> for f16 {
    const IS_IDENTITY: bool = false;
    #[inline(always)]
    fn widen(self) -> f32 {
        Half::widen(self)
    }
    #[inline(always)]
    fn narrow(x: f32) -> f16 {
        Half::narrow(x)
    }
    unsafe fn widen_line(from: *const f16, to: *mut f32, count: usize) {
        // SAFETY: the caller guarantees that both are valid for `count` elements and do not overlap.
        unsafe { half_floats::widen(from, to, count) };
    }
}

impl Stored<f32> for bf16 {
    const IS_IDENTITY: bool = false;
    /// Omits the check for signaling NaNs, because the product makes them quiet.
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
    #[inline(always)]
    fn narrow(x: f32) -> bf16 {
        bf16::from_f32(x)
    }
}

/// Conversions of integers to the type in which products are computed, and of sums back to integers. Floats
/// represent the products and their sums exactly if the depth is small enough ([`super::prepare`]). 32-bit
/// integers hold the low bits of sums.
macro_rules! small {
    ($($ty:ty as $($float:ty)*;)*) => {$($(
        impl Stored<$float> for $ty {
            const IS_IDENTITY: bool = false;
            #[inline(always)]
            fn widen(self) -> $float {
                self as $float
            }
            #[inline(always)]
            fn narrow(x: $float) -> $ty {
                x as i64 as $ty
            }
        }
    )*)*};
}

small! {
    i8 as f32 f64;
    u8 as f32 f64;
    i32 as f32 f64;
    u16 as u32;
}
