//! Strided copies: the common implementation of broadcasts, transposes, slices, reversals, concatenations and
//! paddings.

use farcall_ir::{TensorType, dims, interrupt};

use super::square_transpose;
use super::types::by_size;
use crate::cache::CACHE_LINE_BYTES;

/// Side, in elements, of the square tile that a transposition moves at once.
const TILE_SIDE: usize = 16;

/// Minimum number of bytes that a task moves.
const MIN_TASK_BYTES: usize = 1 << 18;
/// Maximum number of tasks of one movement, unless they would move more than [`MAX_UNCHECKED_BYTES`] each.
const PREFERRED_MAX_TASKS: usize = 32;

/// Maximum number of bytes moved between two checks for an interrupt.
const MAX_UNCHECKED_BYTES: usize = 16 << 20;

/// Maximum number of tasks of any movement.
const MAX_TASKS: usize = 1 << 12;

/// Returns the number of tasks for moving `bytes`.
pub(super) fn tasks(bytes: usize) -> usize {
    (bytes / MIN_TASK_BYTES).clamp(1, PREFERRED_MAX_TASKS.max((bytes / MAX_UNCHECKED_BYTES).min(MAX_TASKS)))
}

/// Minimum number of bytes for which a transposition uses non-temporal stores. A smaller result stays in the
/// cache.
const MIN_STREAMED_BYTES: usize = 1 << 24;

/// A copy of the element `src + Σ iᵢ·src_strideᵢ` to `dst + Σ iᵢ·dst_strideᵢ` for every index `i` below the
/// sizes of the axes.
#[derive(Clone, Debug)]
pub(crate) struct Movement {
    /// Axes from outer to inner in the destination, except that the axis along which the source is contiguous
    /// may come second to last. No axis has size 1, and adjacent axes are merged where possible.
    axes: Vec<Axis>,
    /// First element of the source.
    src: usize,
    /// First element of the destination.
    dst: usize,
    /// True if the bytes would not stay in the cache. Squares ([`square_transpose::transpose`]) are then
    /// written with non-temporal stores.
    is_large: bool,
    /// The loop for this element size.
    run: unsafe fn(&Movement, *const u8, *mut u8, [usize; 2]),
}

/// One axis of a movement; strides are in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Axis {
    /// Number of steps.
    pub(super) size: usize,
    /// Stride in the source.
    pub(super) src: isize,
    /// Stride in the destination.
    pub(super) dst: isize,
}

impl Movement {
    /// Creates a movement over these axes, from outer to inner, between tensors of these types. `None` if the
    /// movement would leave the tensors.
    pub(super) fn new(
        [from, to]: [&TensorType; 2],
        axes: impl IntoIterator<Item = Axis>,
        [src, dst]: [usize; 2],
    ) -> Option<Movement> {
        if from.dtype.size() != to.dtype.size() {
            return None;
        }
        let run = by_size!(to.dtype.size(), T => move_all::<T> as unsafe fn(&Movement, *const u8, *mut u8, [usize; 2]))?;
        let mut axes = normal(axes);
        // The order of the axes is free. The axis along which the source is contiguous is moved next to the
        // axis along which the destination is contiguous.
        if let [outer @ .., Axis { src, dst: 1, .. }] = axes.as_mut_slice()
            && !matches!(*src, 0 | 1)
            && let Some(d) = outer.iter().position(|a| a.src == 1)
        {
            outer[d..].rotate_left(1);
        }
        let size = axes.iter().fold(to.dtype.size(), |n: usize, a| n.saturating_mul(a.size));
        let movement = Movement { axes, src, dst, is_large: size >= MIN_STREAMED_BYTES, run };
        movement.fits([from, to], [0, 0]).then_some(movement)
    }

    /// Returns true if the movement stays in tensors of these types when its first elements are shifted by
    /// these numbers of elements.
    pub(super) fn fits(&self, [from, to]: [&TensorType; 2], [src, dst]: [usize; 2]) -> bool {
        if self.is_empty() {
            return true;
        }
        let inside = |start: usize, shift: usize, stride: fn(&Axis) -> isize, ty: &TensorType| {
            let start = start.checked_add(shift)?;
            Some(self.last(start, stride)? < ty.elements()?)
        };
        inside(self.src, src, |a| a.src, from) == Some(true)
            && inside(self.dst, dst, |a| a.dst, to) == Some(true)
    }

    /// Splits the movement into one part per task, for elements of `size` bytes.
    pub(super) fn parts(&self, size: usize) -> Vec<Movement> {
        let bytes = self.axes.iter().fold(size, |n: usize, a| n.saturating_mul(a.size));
        let wanted = tasks(bytes);
        if wanted == 1 {
            return vec![self.clone()];
        }
        // The last axis, and both axes of a transposition, are only split between tiles.
        let (rank, transposes) = (self.axes.len(), self.transposes());
        let step = |d: usize| if d + 1 == rank || (d + 2 == rank && transposes) { TILE_SIDE } else { 1 };
        let pieces = |d: usize| self.axes[d].size.div_ceil(step(d)).min(wanted);
        // For a transposition with non-temporal stores, split the last axis, which goes from one source line
        // to the next, so that each line is read whole.
        let lines = self.is_large && transposes && square_transpose::side(size).is_some();
        let lines = Some(rank.wrapping_sub(1)).filter(|d| lines && pieces(*d) == wanted);
        // Otherwise, split the outermost of the axes with the most parts.
        let Some(d) = lines.or_else(|| (0..rank).rev().max_by_key(|d| pieces(*d))) else {
            return vec![self.clone()];
        };
        let axis = self.axes[d];
        let chunk = axis.size.div_ceil(wanted).next_multiple_of(step(d));
        let part = |first: usize| {
            let mut part = self.clone();
            part.axes[d].size = chunk.min(axis.size - first);
            // The first element of the part is an element of the movement, so these additions do not
            // overflow.
            part.src = part.src.wrapping_add_signed(first as isize * axis.src);
            part.dst = part.dst.wrapping_add_signed(first as isize * axis.dst);
            part
        };
        (0..axis.size).step_by(chunk).map(part).collect()
    }

    /// Returns true if the source is contiguous along the second to last axis, so that the last two axes are
    /// transposed.
    fn transposes(&self) -> bool {
        matches!(self.axes[..], [.., outer, inner] if outer.src == 1 && inner.src != 0)
    }

    /// Returns true if no element is moved.
    fn is_empty(&self) -> bool {
        self.axes.iter().any(|a| a.size == 0)
    }

    /// Returns the largest element number that the movement reaches in the source or in the destination,
    /// whichever `stride` selects. `None` if a number is negative or overflows.
    fn last(&self, start: usize, stride: fn(&Axis) -> isize) -> Option<usize> {
        let start = isize::try_from(start).ok()?;
        let (mut low, mut high) = (start, start);
        for a in &self.axes {
            let far = isize::try_from(a.size.checked_sub(1)?).ok()?.checked_mul(stride(a))?;
            low = low.checked_add(far.min(0))?;
            high = high.checked_add(far.max(0))?;
        }
        usize::try_from(low).ok()?;
        usize::try_from(high).ok()
    }

    /// Returns the first elements in source and destination and the number of elements, if both sides are
    /// contiguous.
    pub(super) fn block(&self) -> Option<([usize; 2], usize)> {
        let n = match self.axes[..] {
            [] => 1,
            [Axis { size, src: 1, dst: 1 }] => size,
            _ => return None,
        };
        Some(([self.src, self.dst], n))
    }

    /// Returns the element numbers in source and destination of each moved element; `None` if there are more
    /// than `most`.
    pub(super) fn pairs(&self, most: usize) -> Option<Vec<[usize; 2]>> {
        let count = self.axes.iter().try_fold(1usize, |n, a| n.checked_mul(a.size))?;
        let all = (0..count).take_while(|_| count <= most).map(|number| {
            let (mut rest, mut pair) = (number, [self.src, self.dst]);
            for a in self.axes.iter().rev() {
                let i = isize::try_from(rest % a.size).ok()?;
                pair = [pair[0].checked_add_signed(i * a.src)?, pair[1].checked_add_signed(i * a.dst)?];
                rest /= a.size;
            }
            Some(pair)
        });
        let all: Vec<[usize; 2]> = all.collect::<Option<_>>()?;
        (all.len() == count).then_some(all)
    }

    /// Moves elements.
    ///
    /// # Safety
    /// `src` is valid for reads and `dst` for writes of tensors of the types that this movement was created
    /// for. Both are aligned for their elements, and they do not overlap.
    pub(super) unsafe fn run(&self, src: *const u8, dst: *mut u8) {
        // SAFETY: the caller guarantees tensors of the movement's types (`# Safety` above).
        unsafe { (self.run)(self, src, dst, [0, 0]) };
    }

    /// Moves elements; the shifts are added to the first elements of source and destination.
    ///
    /// # Safety
    /// Same requirements as [`Movement::run`]. The movement [fits](Movement::fits) with these shifts or with
    /// larger ones.
    pub(super) unsafe fn run_shifted(&self, src: *const u8, dst: *mut u8, shift: [usize; 2]) {
        // SAFETY: the caller guarantees tensors of the movement's types, and shifts that fit (`# Safety`
        // above).
        unsafe { (self.run)(self, src, dst, shift) };
    }
}

/// Runs several parts of a movement on this thread.
///
/// # Safety
/// Same requirements as [`Movement::run_shifted`], for each part.
pub(super) unsafe fn run_parts(parts: &[Movement], src: *const u8, dst: *mut u8, shift: [usize; 2]) {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 && interrupt::is_due() {
            return;
        }
        // SAFETY: the caller guarantees the requirements for each part (`# Safety` above).
        unsafe { part.run_shifted(src, dst, shift) };
    }
}

/// Copies bytes.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of this number of bytes, and they do not overlap.
pub(super) unsafe fn copy_bytes(from: *const u8, to: *mut u8, bytes: usize) {
    for begin in (0..bytes).step_by(MAX_UNCHECKED_BYTES) {
        if begin > 0 && interrupt::is_due() {
            return;
        }
        let count = MAX_UNCHECKED_BYTES.min(bytes - begin);
        // SAFETY: the range is part of the caller's bytes (`# Safety` above).
        unsafe { std::ptr::copy_nonoverlapping(from.add(begin), to.add(begin), count) };
    }
}

/// Removes axes of size 1, and merges axes that can be traversed as one axis.
pub(super) fn normal(axes: impl IntoIterator<Item = Axis>) -> Vec<Axis> {
    let mut normal = dims::join(axes.into_iter().filter(|axis| axis.size != 1), |outer, inner| {
        outer.joins(inner).then(|| Axis { size: outer.size.saturating_mul(inner.size), ..*inner })
    });
    if normal.iter().any(|a| a.size == 0) {
        normal = vec![Axis { size: 0, src: 1, dst: 1 }];
    }
    normal
}

impl Axis {
    /// Returns true if this axis and the axis inside it can be traversed as one axis.
    fn joins(&self, inner: &Axis) -> bool {
        let Ok(n) = isize::try_from(inner.size) else { return false };
        inner.src.checked_mul(n) == Some(self.src) && inner.dst.checked_mul(n) == Some(self.dst)
    }
}

/// Returns the strides of a row-major tensor.
pub(super) fn row_major(sizes: &[usize]) -> Vec<isize> {
    dims::strides(sizes).into_iter().map(|s| isize::try_from(s).unwrap_or(isize::MAX)).collect()
}

/// Returns the axes that write a whole row-major tensor, with these strides in the source.
pub(super) fn fill(to: &TensorType, src: impl Fn(usize) -> isize) -> Vec<Axis> {
    let strides = row_major(to.sizes());
    (0..to.rank()).map(|d| Axis { size: to.sizes()[d], src: src(d), dst: strides[d] }).collect()
}

/// Returns the axes that read all of the row-major tensor `part` and write it into the row-major tensor
/// `whole` of the same rank.
pub(super) fn embed(part: &TensorType, whole: &TensorType) -> Vec<Axis> {
    let sizes = part.sizes().iter().zip(row_major(part.sizes())).zip(row_major(whole.sizes()));
    sizes.map(|((size, src), dst)| Axis { size: *size, src, dst }).collect()
}

/// Returns the movement to a row-major tensor whose dimension `i` is dimension `permutation[i]` of `from`.
pub(super) fn transpose(from: &TensorType, to: &TensorType, permutation: &[usize]) -> Option<Movement> {
    let strides = row_major(from.sizes());
    let same = permutation.iter().map(|p| from.sizes().get(*p)).eq(to.sizes().iter().map(Some));
    if !same {
        return None;
    }
    Movement::new([from, to], fill(to, |d| strides[permutation[d]]), [0, 0])
}

/// # Safety
/// Same requirements as [`Movement::run_shifted`], for elements of the size of `T` and at least its
/// alignment.
unsafe fn move_all<T: Copy>(m: &Movement, src: *const u8, dst: *mut u8, shift: [usize; 2]) {
    if !m.is_empty() {
        let (src, dst) = (src.cast::<T>(), dst.cast::<T>());
        // SAFETY: the caller guarantees tensors that have the elements of the movement (`# Safety` above).
        unsafe { axes(&m.axes, src.add(m.src + shift[0]), dst.add(m.dst + shift[1]), m.is_large) };
    }
}

/// # Safety
/// Same requirements as [`Movement::run`].
unsafe fn axes<T: Copy>(all: &[Axis], src: *const T, dst: *mut T, streams: bool) {
    match all {
        // SAFETY: the caller guarantees one element on both sides.
        [] => unsafe { dst.write(src.read()) },
        // SAFETY: the caller guarantees the requirements of this function, which are the same.
        [inner] => unsafe { line(*inner, src, dst) },
        // SAFETY: the caller guarantees the requirements of this function, which are the same.
        [outer, inner] if outer.src == 1 && inner.src != 0 => unsafe {
            plane(*outer, *inner, src, dst, streams);
        },
        [outer, rest @ ..] => {
            for i in 0..outer.size as isize {
                // SAFETY: `i` is below the size of the axis, so the requirements hold for the remaining axes.
                unsafe { axes(rest, src.offset(i * outer.src), dst.offset(i * outer.dst), streams) };
            }
        }
    }
}

/// # Safety
/// Same requirements as [`Movement::run`], for one axis.
unsafe fn line<T: Copy>(a: Axis, src: *const T, dst: *mut T) {
    match (a.src, a.dst) {
        // SAFETY: the caller guarantees `size` contiguous elements on both sides, which do not overlap.
        (1, 1) => unsafe { std::ptr::copy_nonoverlapping(src, dst, a.size) },
        (0, 1) => {
            // SAFETY: the caller guarantees the source element.
            let value = unsafe { src.read() };
            for i in 0..a.size {
                // SAFETY: the caller guarantees `size` contiguous destination elements.
                unsafe { dst.add(i).write(value) };
            }
        }
        _ => {
            for i in 0..a.size as isize {
                // SAFETY: `i` is below the size of the axis; the caller guarantees its elements.
                unsafe { dst.offset(i * a.dst).write(src.offset(i * a.src).read()) };
            }
        }
    }
}

/// Moves two axes in tiles, for a source and a destination that are contiguous along different axes.
///
/// # Safety
/// Same requirements as [`Movement::run`], for two axes.
unsafe fn plane<T: Copy>(outer: Axis, inner: Axis, src: *const T, dst: *mut T, streams: bool) {
    let mut done = [0, 0];
    let large = square_transpose::side(size_of::<T>()).filter(|side| outer.size.min(inner.size) >= *side);
    if let Some(side) = large
        && inner.dst == 1
        && inner.src > 0
        && outer.dst > 0
    {
        let streams = streams
            && dst.addr().is_multiple_of(CACHE_LINE_BYTES)
            && (outer.dst as usize).is_multiple_of(side);
        let strides = [inner.src as usize, outer.dst as usize];
        // SAFETY: the caller guarantees the elements; `side` returned `Some` for their size.
        done = unsafe { square_transpose::transpose(src, dst, strides, [outer.size, inner.size], streams) };
    }
    // The remainder to the right of the squares and below them.
    for (lines, elements) in [(0..done[0], done[1]..inner.size), (done[0]..outer.size, 0..inner.size)] {
        for i0 in lines.clone().step_by(TILE_SIDE) {
            for j0 in elements.clone().step_by(TILE_SIDE) {
                for i in i0..(i0 + TILE_SIDE).min(lines.end) {
                    for j in j0..(j0 + TILE_SIDE).min(elements.end) {
                        let (i, j) = (i as isize, j as isize);
                        // SAFETY: both indices are below the sizes of the axes, whose elements the caller
                        // guarantees.
                        unsafe {
                            let x = src.offset(i * outer.src + j * inner.src).read();
                            dst.offset(i * outer.dst + j * inner.dst).write(x);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use farcall_ir::DType;

    use super::*;

    fn moves(n: usize, axes: &[Axis], src: usize) -> Option<Movement> {
        let ty = TensorType::new(DType::F32, [n]);
        Movement::new([&ty, &ty], axes.iter().copied(), [src, 0])
    }

    #[test]
    fn neighbours_join() {
        let axes = [
            Axis { size: 2, src: 12, dst: 12 },
            Axis { size: 1, src: 7, dst: 99 },
            Axis { size: 3, src: 4, dst: 4 },
            Axis { size: 4, src: 1, dst: 1 },
        ];
        assert_eq!(moves(24, &axes, 0).unwrap().axes, [Axis { size: 24, src: 1, dst: 1 }]);
        assert!(moves(23, &axes, 0).is_none());
        assert!(moves(24, &axes, 1).is_none());
    }

    #[test]
    fn pairs_list_the_moved_elements() {
        let axes = [Axis { size: 2, src: 1, dst: 3 }, Axis { size: 3, src: 2, dst: 1 }];
        let pairs = moves(7, &axes, 1).unwrap().pairs(6).unwrap();
        assert_eq!(pairs, [[1, 0], [3, 1], [5, 2], [2, 3], [4, 4], [6, 5]]);
        assert!(moves(7, &axes, 1).unwrap().pairs(5).is_none());
    }

    #[test]
    fn a_reversal_reaches_down() {
        let back = [Axis { size: 5, src: -1, dst: 1 }];
        assert!(moves(5, &back, 4).is_some());
        assert!(moves(5, &back, 3).is_none());
        assert!(moves(5, &back, 5).is_none());
    }
}
