//! Transposition of squares of elements of four or eight bytes in vector registers.

#[cfg(target_arch = "x86_64")]
use crate::cache::{past_is_written, prefetch_to_second_level};

/// Number of squares that the variant with ordinary stores transposes along the same source lines before it
/// goes to the next lines. The hardware prefetcher can then follow the lines.
#[cfg(target_arch = "x86_64")]
const RUN_SQUARES: usize = 16;

/// Size of a block that the variant with non-temporal stores moves: the number of contiguous source elements
/// per line, and the number of lines. Cache lines of the block that are adjacent in the destination are
/// written one after another, because memory is faster that way.
#[cfg(target_arch = "x86_64")]
const BLOCK_ELEMENTS: [usize; 2] = [128, 32];

/// Returns the side of a square for elements of `size` bytes: the number of elements in a cache line. `None`
/// if [`transpose`] does not support elements of this size, or needs instructions that the processor lacks.
pub(super) fn side(size: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if matches!(size, 4 | 8) && (is_x86_feature_detected!("avx512f") || is_x86_feature_detected!("avx2")) {
        return Some(crate::cache::CACHE_LINE_BYTES / size);
    }
    let _ = size;
    None
}

/// Transposes a matrix as far as whole squares reach, and returns the size of that part. Element `j` of
/// source line `i` becomes element `i` of destination line `j`; `strides` are the distances between lines of
/// the source and of the destination. If `streams` is true, the destination, which must be aligned to cache
/// lines, is written with non-temporal stores.
///
/// # Safety
/// `from` is valid for reads of `sizes[1]` lines of `sizes[0]` elements, `strides[0]` apart, and `to` for
/// writes of `sizes[0]` lines of `sizes[1]` elements, `strides[1]` apart. The two do not overlap. [`side`]
/// returns `Some` for the size of `T`.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn transpose<T>(
    from: *const T,
    to: *mut T,
    strides: [usize; 2],
    sizes: [usize; 2],
    streams: bool,
) -> [usize; 2] {
    // SAFETY: the caller guarantees the requirements of this function, and `T` has the size of the type that
    // is used instead, `f32` or `f64`.
    unsafe {
        match size_of::<T>() {
            4 => all::<f32>(from.cast(), to.cast(), strides, sizes, streams),
            8 => all::<f64>(from.cast(), to.cast(), strides, sizes, streams),
            _ => [0, 0],
        }
    }
}

/// # Safety
/// Same requirements as [`transpose`].
#[cfg(target_arch = "x86_64")]
unsafe fn all<T: Squares>(
    from: *const T,
    to: *mut T,
    strides: [usize; 2],
    sizes: [usize; 2],
    streams: bool,
) -> [usize; 2] {
    let way = match (is_x86_feature_detected!("avx512f"), streams) {
        (true, true) => avx512::<T, true>,
        (true, false) => avx512::<T, false>,
        (false, true) => avx2::<T, true>,
        (false, false) => avx2::<T, false>,
    };
    let whole = sizes.map(|n| n / T::SIDE * T::SIDE);
    // SAFETY: the caller guarantees the elements; the instructions were detected above, or by `side`.
    unsafe { way(from, to, strides, whole) };
    if streams {
        past_is_written();
    }
    whole
}

/// Elements that can be transposed in squares.
#[cfg(target_arch = "x86_64")]
trait Squares: Sized {
    const SIDE: usize = crate::cache::CACHE_LINE_BYTES / size_of::<Self>();

    /// # Safety
    /// Same requirements as [`transpose`], for one square.
    unsafe fn avx512<const STREAMS: bool>(from: *const Self, to: *mut Self, strides: [usize; 2]);
    /// # Safety
    /// Same requirements as [`transpose`], for one square.
    unsafe fn avx2<const STREAMS: bool>(from: *const Self, to: *mut Self, strides: [usize; 2]);
}

/// Calls `square` with the first source element and the first destination element of each square.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn each<T: Squares, const STREAMS: bool>(
    from: *const T,
    strides: [usize; 2],
    whole: [usize; 2],
    square: impl Fn(usize, usize),
) {
    if STREAMS {
        each_in_blocks(from, strides, whole, square);
    } else {
        each_in_runs::<T>(strides, whole, square);
    }
}

/// Visits squares in an order that suits the processor's prefetching.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn each_in_runs<T: Squares>(strides: [usize; 2], whole: [usize; 2], square: impl Fn(usize, usize)) {
    for first in (0..whole[0]).step_by(RUN_SQUARES * T::SIDE) {
        for j in (0..whole[1]).step_by(T::SIDE) {
            for i in (first..whole[0].min(first + RUN_SQUARES * T::SIDE)).step_by(T::SIDE) {
                square(j * strides[0] + i, i * strides[1] + j);
            }
        }
    }
}

/// Visits one block after another. While a block is visited, the next block is prefetched.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn each_in_blocks<T: Squares>(
    from: *const T,
    strides: [usize; 2],
    whole: [usize; 2],
    square: impl Fn(usize, usize),
) {
    let block = |first: [usize; 2]| {
        let [elements, lines] = [0, 1].map(|d| first[d]..whole[d].min(first[d] + BLOCK_ELEMENTS[d]));
        (elements.step_by(T::SIDE), lines)
    };
    for j in (0..whole[1]).step_by(BLOCK_ELEMENTS[1]) {
        for i in (0..whole[0]).step_by(BLOCK_ELEMENTS[0]) {
            let next = if i + BLOCK_ELEMENTS[0] < whole[0] {
                [i + BLOCK_ELEMENTS[0], j]
            } else {
                [0, j + BLOCK_ELEMENTS[1]]
            };
            let (elements, lines) = block(next);
            for j in lines {
                for i in elements.clone() {
                    prefetch_to_second_level(from.wrapping_add(j * strides[0] + i).cast());
                }
            }
            let (elements, lines) = block([i, j]);
            for i in elements {
                for j in lines.clone().step_by(T::SIDE) {
                    square(j * strides[0] + i, i * strides[1] + j);
                }
            }
        }
    }
}

/// # Safety
/// Same requirements as [`transpose`], for sizes that are multiples of a square.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512<T: Squares, const STREAMS: bool>(
    from: *const T,
    to: *mut T,
    strides: [usize; 2],
    whole: [usize; 2],
) {
    each::<T, STREAMS>(
        from,
        strides,
        whole,
        #[inline(always)]
        // SAFETY: `i` and `j` are the first elements of a square on both sides.
        |i, j| unsafe { T::avx512::<STREAMS>(from.add(i), to.add(j), strides) },
    );
}

/// # Safety
/// Same requirements as [`transpose`], for sizes that are multiples of a square.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<T: Squares, const STREAMS: bool>(
    from: *const T,
    to: *mut T,
    strides: [usize; 2],
    whole: [usize; 2],
) {
    each::<T, STREAMS>(
        from,
        strides,
        whole,
        #[inline(always)]
        // SAFETY: `i` and `j` are the first elements of a square on both sides.
        |i, j| unsafe { T::avx2::<STREAMS>(from.add(i), to.add(j), strides) },
    );
}

#[cfg(target_arch = "x86_64")]
impl Squares for f32 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn avx2<const STREAMS: bool>(from: *const f32, to: *mut f32, strides: [usize; 2]) {
        use std::arch::x86_64::{__m256, _mm_loadu_ps, _mm256_castps128_ps256, _mm256_insertf128_ps};
        use std::arch::x86_64::{_mm256_shuffle_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps};

        // Returns a part of eight lines by four elements, starting at this line and element, as four lines of
        // eight elements.
        let four = |line: usize, element: usize| -> [__m256; 4] {
            // SAFETY: these are four elements of two lines of the square, which the caller guarantees.
            let two = |k: usize| unsafe {
                let part = |line: usize| _mm_loadu_ps(from.add(line * strides[0] + element));
                _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(part(line + k)), part(line + k + 4))
            };
            let (a, b, c, d) = (two(0), two(1), two(2), two(3));
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            let (ef, gh) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            [
                _mm256_shuffle_ps::<0x44>(ab, cd),
                _mm256_shuffle_ps::<0xee>(ab, cd),
                _mm256_shuffle_ps::<0x44>(ef, gh),
                _mm256_shuffle_ps::<0xee>(ef, gh),
            ]
        };
        for element in (0..Self::SIDE).step_by(4) {
            // Both halves of a cache line are written together.
            for (c, halves) in four(0, element).into_iter().zip(four(8, element)).enumerate() {
                // SAFETY: this is a line of the square, which the caller has aligned if `STREAMS`.
                unsafe { put_halves::<STREAMS>(halves, to.add((element + c) * strides[1])) };
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512<const STREAMS: bool>(from: *const f32, to: *mut f32, strides: [usize; 2]) {
        use std::arch::x86_64::{
            __m512, _mm512_castpd_ps, _mm512_castps_pd, _mm512_loadu_ps, _mm512_setzero_ps,
        };
        use std::arch::x86_64::{
            _mm512_unpackhi_pd, _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpacklo_ps,
        };

        let low = |a: __m512, b: __m512| {
            _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)))
        };
        let high = |a: __m512, b: __m512| {
            _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)))
        };
        // Each round transposes lines `4 * i` to `4 * i + 3` in groups of four elements: column `c` of all
        // groups becomes `columns[4 * i + c]`.
        let mut columns = [_mm512_setzero_ps(); Self::SIDE];
        for (i, four) in columns.chunks_exact_mut(4).enumerate() {
            // SAFETY: this is a line of the square, which the caller guarantees.
            let line = |k: usize| unsafe { _mm512_loadu_ps(from.add((4 * i + k) * strides[0])) };
            let (a, b, c, d) = (line(0), line(1), line(2), line(3));
            let (ab, cd) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
            (four[0], four[1]) = (low(ab, cd), high(ab, cd));
            let (ab, cd) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
            (four[2], four[3]) = (low(ab, cd), high(ab, cd));
        }
        for c in 0..4 {
            let parts = [0, 4, 8, 12].map(|i| columns[i + c]);
            // SAFETY: these are lines of the square, which the caller has aligned if `STREAMS`.
            unsafe { put_quarters::<STREAMS>(parts, to.add(c * strides[1]), 4 * strides[1]) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Squares for f64 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn avx2<const STREAMS: bool>(from: *const f64, to: *mut f64, strides: [usize; 2]) {
        use std::arch::x86_64::{__m256, _mm256_castpd_ps, _mm256_loadu_pd, _mm256_permute2f128_pd};
        use std::arch::x86_64::{_mm256_unpackhi_pd, _mm256_unpacklo_pd};

        // Returns a part of four lines by four elements, starting at this line and element, as four lines.
        let four = |line: usize, element: usize| -> [__m256; 4] {
            // SAFETY: these are four elements of a line of the square, which the caller guarantees.
            let part = |k: usize| unsafe { _mm256_loadu_pd(from.add((line + k) * strides[0] + element)) };
            let (a, b, c, d) = (part(0), part(1), part(2), part(3));
            let (even, odd) = (
                [_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d)],
                [_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d)],
            );
            [
                _mm256_permute2f128_pd::<0x20>(even[0], even[1]),
                _mm256_permute2f128_pd::<0x20>(odd[0], odd[1]),
                _mm256_permute2f128_pd::<0x31>(even[0], even[1]),
                _mm256_permute2f128_pd::<0x31>(odd[0], odd[1]),
            ]
            .map(|line| _mm256_castpd_ps(line))
        };
        for element in (0..Self::SIDE).step_by(4) {
            // Both halves of a cache line are written together.
            for (c, halves) in four(0, element).into_iter().zip(four(4, element)).enumerate() {
                // SAFETY: this is a line of the square, which the caller has aligned if `STREAMS`.
                unsafe { put_halves::<STREAMS>(halves, to.add((element + c) * strides[1]).cast()) };
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512<const STREAMS: bool>(from: *const f64, to: *mut f64, strides: [usize; 2]) {
        use std::arch::x86_64::{_mm512_castpd_ps, _mm512_loadu_pd, _mm512_unpackhi_pd, _mm512_unpacklo_pd};

        // SAFETY: this is a line of the square, which the caller guarantees.
        let line = |k: usize| unsafe { _mm512_loadu_pd(from.add(k * strides[0])) };
        // `even` and `odd` interleave two lines each: their elements at even and at odd positions.
        let pairs = [0, 2, 4, 6].map(|k| (line(k), line(k + 1)));
        let even = pairs.map(|(x, y)| _mm512_castpd_ps(_mm512_unpacklo_pd(x, y)));
        let odd = pairs.map(|(x, y)| _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
        for (c, parts) in [even, odd].into_iter().enumerate() {
            // SAFETY: these are lines of the square, which the caller has aligned if `STREAMS`. An `f64` is
            // two elements of four bytes.
            unsafe { put_quarters::<STREAMS>(parts, to.add(c * strides[1]).cast(), 4 * strides[1]) };
        }
    }
}

/// Writes a cache line.
///
/// # Safety
/// `to` is valid for writes of a cache line, and aligned to one if `STREAMS`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn put_halves<const STREAMS: bool>(
    halves: (std::arch::x86_64::__m256, std::arch::x86_64::__m256),
    to: *mut f32,
) {
    use std::arch::x86_64::{_mm256_storeu_ps, _mm256_stream_ps};

    // SAFETY: the caller guarantees the cache line (`# Safety` above).
    unsafe {
        if STREAMS {
            _mm256_stream_ps(to, halves.0);
            _mm256_stream_ps(to.add(8), halves.1);
        } else {
            _mm256_storeu_ps(to, halves.0);
            _mm256_storeu_ps(to.add(8), halves.1);
        }
    }
}

/// Writes four cache lines that are `distance` elements of four bytes apart. The first line gets the first
/// quarters of all parts, the second line gets the second quarters, and so on.
///
/// # Safety
/// The four lines are valid for writes, and aligned to cache lines if `STREAMS`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn put_quarters<const STREAMS: bool>(
    [a, b, c, d]: [std::arch::x86_64::__m512; 4],
    to: *mut f32,
    distance: usize,
) {
    use std::arch::x86_64::{_mm512_shuffle_f32x4, _mm512_storeu_ps, _mm512_stream_ps};

    // `even` holds quarters 0 and 2 of each part, `odd` quarters 1 and 3.
    let even = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0x88>(c, d));
    let odd = (_mm512_shuffle_f32x4::<0xdd>(a, b), _mm512_shuffle_f32x4::<0xdd>(c, d));
    let lines = [
        _mm512_shuffle_f32x4::<0x88>(even.0, even.1),
        _mm512_shuffle_f32x4::<0x88>(odd.0, odd.1),
        _mm512_shuffle_f32x4::<0xdd>(even.0, even.1),
        _mm512_shuffle_f32x4::<0xdd>(odd.0, odd.1),
    ];
    for (quarter, line) in lines.into_iter().enumerate() {
        // SAFETY: the caller guarantees four cache lines, `distance` elements apart.
        unsafe {
            let to = to.add(quarter * distance);
            if STREAMS { _mm512_stream_ps(to, line) } else { _mm512_storeu_ps(to, line) }
        }
    }
}

/// # Safety
/// Never called: [`side`] returns `None` on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn transpose<T>(
    _: *const T,
    _: *mut T,
    _: [usize; 2],
    _: [usize; 2],
    _: bool,
) -> [usize; 2] {
    [0, 0]
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Transposes several blocks of squares, including incomplete blocks, with every variant that the
    /// processor supports.
    fn transposes<T: Squares + Copy + PartialEq + std::fmt::Debug>(number: impl Fn(usize) -> T) {
        type Transpose<T> = unsafe fn(*const T, *mut T, [usize; 2], [usize; 2]);
        let mut ways: Vec<Transpose<T>> = Vec::new();
        if is_x86_feature_detected!("avx2") {
            ways.extend([avx2::<T, true> as Transpose<T>, avx2::<T, false>]);
        }
        if is_x86_feature_detected!("avx512f") {
            ways.extend([avx512::<T, true> as Transpose<T>, avx512::<T, false>]);
        }
        let (sizes, strides) = ([272, 48], [275, 64]);
        let from: Vec<T> = (0..strides[0] * sizes[1]).map(&number).collect();
        for way in ways {
            let mut memory = vec![number(usize::MAX >> 40); sizes[0] * strides[1] + 16];
            let begin = memory.as_ptr().align_offset(64);
            let to = &mut memory[begin..];
            // SAFETY: the vectors have this number of elements, lines of the result are aligned, and the
            // instructions were detected.
            unsafe { way(from.as_ptr(), to.as_mut_ptr(), strides, sizes) };
            past_is_written();
            for (at, x) in to[..sizes[0] * strides[1]].iter().enumerate() {
                let (i, j) = (at / strides[1], at % strides[1]);
                let expected = if j < sizes[1] { from[j * strides[0] + i] } else { number(usize::MAX >> 40) };
                assert_eq!(*x, expected, "element {j} of row {i}");
            }
        }
    }

    #[test]
    fn every_variant_transposes() {
        transposes(|i| i as f32);
        transposes(|i| i as f64);
    }
}
