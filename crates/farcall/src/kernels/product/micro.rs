//! The innermost loops of products: a tile of the result that stays in registers while products are added to it.
//!
//! Those of floating-point numbers are the ones of the crates `gemm-*`, for the instructions that the processor has;
//! integers and complex numbers have a loop of their own, and those of 32 bits one whose sums stay in registers.

use std::ops::{Add, Mul};

#[cfg(target_arch = "x86_64")]
use farcall_ffi::simd::{Vectors, widest};
use half::{bf16, f16};
use num_complex::Complex;

use super::super::halves::{self, Half};
use super::super::simd::vectorized;

/// A tile of the result, row-major, and what is added to it or takes its place.
#[derive(Clone, Copy)]
pub(super) struct Tile<T> {
    /// The first element.
    pub(super) to: *mut T,
    /// Distance of rows.
    pub(super) stride: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Products to add up.
    pub(super) depth: usize,
    /// The left factors: the first one, and the distances along rows and depth.
    pub(super) lhs: (*const T, usize, usize),
    /// The right factors: the first one, and the distance along depth. Columns are neighbours.
    pub(super) rhs: (*const T, usize),
    /// The sum is added to what the tile holds.
    pub(super) add: bool,
}

/// A loop of the crates `gemm-*`. Their columns are our rows: `(rows, columns, depth, to, left, right, …)`.
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
enum Loop<T: 'static> {
    /// For every number of vectors, and every number of rows: `[vectors - 1][rows - 1]`.
    Gemm {
        lanes: usize,
        all: &'static [Gemm<T>],
        one: T,
    },
    Plain(unsafe fn(&Tile<T>)),
}

/// The loops for elements of a type.
#[derive(Clone, Copy)]
pub(in super::super) struct Micro<T: 'static> {
    /// Columns of a tile at most.
    pub(super) columns: usize,
    /// Rows of a tile at most.
    pub(super) rows: usize,
    run: Loop<T>,
}

impl<T: Copy> Micro<T> {
    const fn gemm(lanes: usize, rows: usize, all: &'static [Gemm<T>], one: T) -> Micro<T> {
        Micro { columns: all.len() / rows * lanes, rows, run: Loop::Gemm { lanes, all, one } }
    }

    /// A loop of this file.
    const fn plain(columns: usize, run: unsafe fn(&Tile<T>)) -> Micro<T> {
        Micro { columns, rows: ROWS, run: Loop::Plain(run) }
    }

    /// Columns that right factors are read in.
    pub(super) fn lanes(&self) -> usize {
        match self.run {
            Loop::Gemm { lanes, .. } => lanes,
            Loop::Plain(_) => self.columns,
        }
    }

    /// Computes a tile.
    ///
    /// # Safety
    /// Rows and columns are one or more, and not more than a tile has; depth is one or more. The factors are valid
    /// for reads, those on the right for a whole number of vectors: of all columns that a tile can have. The tile is
    /// valid for reads and writes.
    #[inline]
    pub(super) unsafe fn run(&self, t: &Tile<T>) {
        match self.run {
            // SAFETY: the caller's promise.
            Loop::Plain(run) => unsafe { run(t) },
            Loop::Gemm { lanes, all, one } => {
                let run = all[(t.columns.div_ceil(lanes) - 1) * self.rows + t.rows - 1];
                let ((x, x_row, x_depth), (y, y_depth)) = (t.lhs, t.rhs);
                let s = |stride: usize| stride as isize;
                // SAFETY: the caller's promise; the loop is one for instructions that the processor has.
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

/// Elements that products are computed in.
pub(in super::super) trait Element: Copy + Send + Sync + 'static {
    const ZERO: Self;
    /// The loops for this processor.
    fn micro() -> Micro<Self>;
}

/// The table of a crate for the instructions that the processor has: lanes of vectors without any, with FMA, AVX-512,
/// NEON.
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
    i8: wrapping_add, wrapping_mul;
    i16: wrapping_add, wrapping_mul;
    i32: wrapping_add, wrapping_mul;
    i64: wrapping_add, wrapping_mul;
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
                Micro::plain(COLUMNS, plain::<$ty>)
            }
        }
    )*)*};
}

plain! {
    0 => i8 i16 i64 u8 u16 u64;
    Complex { re: 0.0, im: 0.0 } => Complex<f32> Complex<f64>;
}

macro_rules! words {
    ($($ty:ty)*) => {$(
        impl Element for $ty {
            const ZERO: $ty = 0;
            fn micro() -> Micro<$ty> {
                #[cfg(target_arch = "x86_64")]
                match widest() {
                    Vectors::Avx512 => return Micro::plain(16 * x86::VECTORS, x86::avx512::<$ty>),
                    Vectors::Avx2 => return Micro::plain(8 * x86::VECTORS, x86::avx2::<$ty>),
                    Vectors::Plain => {}
                }
                Micro::plain(COLUMNS, plain::<$ty>)
            }
        }
    )*};
}

words! { i32 u32 }

/// A tile of the loop of this file.
const COLUMNS: usize = 32;
const ROWS: usize = 4;

/// # Safety
/// As [`Micro::run`].
unsafe fn plain<T: Element + Ring>(t: &Tile<T>) {
    vectorized(
        #[inline(always)]
        || {
            let mut sums = [[T::ZERO; COLUMNS]; ROWS];
            let ((x, x_row, x_depth), (y, y_depth)) = (t.lhs, t.rhs);
            for k in 0..t.depth {
                // SAFETY: the columns of a whole tile.
                let right: &[T; COLUMNS] = unsafe { &*y.add(k * y_depth).cast() };
                for (row, sums) in sums.iter_mut().enumerate() {
                    // SAFETY: an element on the left; the last row stands for those that the tile does not have.
                    let left = unsafe { x.add(row.min(t.rows - 1) * x_row + k * x_depth).read() };
                    for (sum, right) in sums.iter_mut().zip(right) {
                        *sum = sum.plus(left.times(*right));
                    }
                }
            }
            // SAFETY: the caller's promise.
            unsafe { write(t, &sums) };
        },
    );
}

/// Puts sums into a tile.
///
/// # Safety
/// As [`Micro::run`].
#[inline(always)]
unsafe fn write<T: Ring, const N: usize>(t: &Tile<T>, sums: &[[T; N]; ROWS]) {
    for (row, sums) in sums[..t.rows].iter().enumerate() {
        for (column, sum) in sums[..t.columns].iter().enumerate() {
            // SAFETY: an element of the tile.
            unsafe {
                let to = t.to.add(row * t.stride + column);
                to.write(if t.add { to.read().plus(*sum) } else { *sum });
            }
        }
    }
}

/// Loops for integers of 32 bits, signed or not.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm256_add_epi32, _mm256_loadu_si256, _mm256_mullo_epi32, _mm256_set1_epi32, _mm256_setzero_si256,
        _mm512_add_epi32, _mm512_loadu_si512, _mm512_mullo_epi32, _mm512_set1_epi32, _mm512_setzero_si512,
    };

    use super::{ROWS, Ring, Tile, write};

    /// Vectors of a row of a tile.
    pub(super) const VECTORS: usize = 2;

    macro_rules! words {
        ($name:ident, $feature:literal, $lanes:literal, $zero:ident, $load:ident, $one:ident, $add:ident, $mul:ident) => {
            /// # Safety
            /// As [`Micro::run`](super::Micro::run), of tiles of [`VECTORS`]; elements are integers of 32 bits, and the
            /// processor has the instructions.
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $name<T: Ring>(t: &Tile<T>) {
                const { assert!(size_of::<T>() == 4) };
                let mut sums = [[$zero(); VECTORS]; ROWS];
                let ((x, x_row, x_depth), (y, y_depth)) = (t.lhs, t.rhs);
                let (x, y) = (x.cast::<i32>(), y.cast::<i32>());
                for k in 0..t.depth {
                    let y = y.wrapping_add(k * y_depth);
                    // SAFETY: the columns of a whole tile.
                    let right = unsafe { [$load(y.cast()), $load(y.add($lanes).cast())] };
                    for (row, sums) in sums.iter_mut().enumerate() {
                        // SAFETY: an element on the left; the last row stands for those that the tile does not have.
                        let left = unsafe { x.add(row.min(t.rows - 1) * x_row + k * x_depth).read() };
                        for (sum, right) in sums.iter_mut().zip(right) {
                            *sum = $add(*sum, $mul($one(left), right));
                        }
                    }
                }
                // SAFETY: vectors are arrays of their lanes, integers of 32 bits; the caller's promise.
                unsafe { write(t, &*(&raw const sums).cast::<[[T; VECTORS * $lanes]; ROWS]>()) };
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

/// Elements that operands are read in, and results written in.
pub(in super::super) trait Stored<T>: Copy + Send + Sync + 'static {
    /// True if it is the type that is computed in.
    const SAME: bool;
    fn widen(self) -> T;
    fn narrow(x: T) -> Self;
    /// Widens `count` elements.
    ///
    /// # Safety
    /// The elements can be read and written; the memory does not overlap.
    #[inline(always)]
    unsafe fn widen_line(from: *const Self, to: *mut T, count: usize) {
        for i in 0..count {
            // SAFETY: the caller's promise.
            unsafe { to.add(i).write(from.add(i).read().widen()) };
        }
    }
}

macro_rules! same {
    ($($ty:ty)*) => {$(
        impl Stored<$ty> for $ty {
            const SAME: bool = true;
            #[inline(always)]
            fn widen(self) -> $ty { self }
            #[inline(always)]
            fn narrow(x: $ty) -> $ty { x }
        }
    )*};
}

same! { f32 f64 Complex<f32> Complex<f64> i8 i16 i32 i64 u8 u16 u32 u64 }

impl Stored<f32> for f16 {
    const SAME: bool = false;
    #[inline(always)]
    fn widen(self) -> f32 {
        Half::widen(self)
    }
    #[inline(always)]
    fn narrow(x: f32) -> f16 {
        Half::narrow(x)
    }
    unsafe fn widen_line(from: *const f16, to: *mut f32, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { halves::widen(from, to, count) };
    }
}

impl Stored<f32> for bf16 {
    const SAME: bool = false;
    /// Without asking for NaNs, of which a product makes quiet ones.
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
    #[inline(always)]
    fn narrow(x: f32) -> bf16 {
        bf16::from_f32(x)
    }
}

/// Integers as floats, which hold products and their sums exactly if there are few enough ([`super::prepare`]), or as
/// integers of 32 bits, which hold the last bits of sums; and the integers that sums become.
macro_rules! small {
    ($($ty:ty as $($float:ty)*;)*) => {$($(
        impl Stored<$float> for $ty {
            const SAME: bool = false;
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
    i16 as i32;
    u16 as i32;
}
