//! Strided copies.

use crate::plan::{Axis, Movement};

/// Elements of one side of the square that a transposition moves at once.
const TILE: usize = 16;

/// Moves elements; `shift` is added to the first element of source and destination.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of every element that the movement names, after the
/// shift; both are aligned for elements of its size, and apart.
pub(in crate::runtime) unsafe fn run(
    m: &Movement,
    src: *const u8,
    dst: *mut u8,
    shift: (usize, usize),
) -> bool {
    macro_rules! go {
        ($t:ty) => {
            // SAFETY: the caller's promise.
            unsafe {
                axes(&m.axes, src.cast::<$t>().add(m.src + shift.0), dst.cast::<$t>().add(m.dst + shift.1))
            }
        };
    }
    if m.elements() == 0 {
        return true;
    }
    match m.element {
        1 => go!(u8),
        2 => go!(u16),
        4 => go!(u32),
        8 => go!([u32; 2]),
        16 => go!([u64; 2]),
        _ => return false,
    }
    true
}

/// # Safety
/// As [`run`].
unsafe fn axes<T: Copy>(all: &[Axis], src: *const T, dst: *mut T) {
    match all {
        // SAFETY: one element, the caller's promise.
        [] => unsafe { dst.write(src.read()) },
        // SAFETY: the caller's promise.
        [inner] => unsafe { line(*inner, src, dst) },
        // SAFETY: the caller's promise.
        [outer, inner] if outer.src == 1 && inner.src != 0 => unsafe { plane(*outer, *inner, src, dst) },
        [outer, rest @ ..] => {
            for i in 0..outer.size as isize {
                // SAFETY: index `i` of the axis is one that the movement names.
                unsafe { axes(rest, src.offset(i * outer.src), dst.offset(i * outer.dst)) };
            }
        }
    }
}

/// # Safety
/// As [`run`], for one axis.
unsafe fn line<T: Copy>(a: Axis, src: *const T, dst: *mut T) {
    match (a.src, a.dst) {
        // SAFETY: the caller's promise: `size` neighbours on both sides, which are apart.
        (1, 1) => unsafe { std::ptr::copy_nonoverlapping(src, dst, a.size) },
        (0, 1) => {
            // SAFETY: the caller's promise.
            let value = unsafe { src.read() };
            for i in 0..a.size {
                // SAFETY: the caller's promise.
                unsafe { dst.add(i).write(value) };
            }
        }
        _ => {
            for i in 0..a.size as isize {
                // SAFETY: the caller's promise.
                unsafe { dst.offset(i * a.dst).write(src.offset(i * a.src).read()) };
            }
        }
    }
}

/// Two axes in tiles, for when neighbours of the source are not those of the destination.
///
/// # Safety
/// As [`run`], for two axes.
unsafe fn plane<T: Copy>(outer: Axis, inner: Axis, src: *const T, dst: *mut T) {
    for i0 in (0..outer.size).step_by(TILE) {
        for j0 in (0..inner.size).step_by(TILE) {
            for i in i0..(i0 + TILE).min(outer.size) {
                for j in j0..(j0 + TILE).min(inner.size) {
                    let (i, j) = (i as isize, j as isize);
                    // SAFETY: both indices are below the sizes.
                    unsafe {
                        let x = src.offset(i * outer.src + j * inner.src).read();
                        dst.offset(i * outer.dst + j * inner.dst).write(x);
                    }
                }
            }
        }
    }
}
