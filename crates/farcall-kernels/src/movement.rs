//! Strided copies, whole or in parts: the common implementation of broadcasts, transposes, slices, reversals,
//! concatenations and paddings.

use std::ops::Range;

use farcall_ir::op::Pad;
use farcall_ir::{TensorType, dims, interrupt};

use super::square_transpose;
use super::types::by_size;
use crate::cache::CACHE_LINE_BYTES;

/// Side, in elements, of the square tile that a transposition moves at once.
const TILE_SIDE: usize = 16;

/// Minimum number of bytes that a task moves.
const MIN_TASK_BYTES: usize = 1 << 18;
/// Maximum number of tasks of one movement, unless a task would then move more than [`MAX_UNCHECKED_BYTES`].
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

/// Number of axes whose indices a traversal keeps in inline storage. Fusions contain no movements with more
/// dimensions.
pub(super) const MAX_RANK: usize = 8;

/// Maximum number of contiguous elements that are copied in a loop rather than by the standard library.
const MAX_SHORT_COPY: usize = 16;

/// A copy of the element `src + Σ iᵢ·src_strideᵢ` to `dst + Σ iᵢ·dst_strideᵢ` for every index `i` below the
/// sizes of the axes. The moved elements are numbered in the order of their indices.
#[derive(Clone, Debug)]
pub(crate) struct Movement {
    /// Axes from outer to inner in the destination, except that the axis along which the source is contiguous
    /// may come second to last. No axis has size 1, and adjacent axes are merged where possible.
    axes: Vec<Axis>,
    /// First element of the source.
    src: usize,
    /// First element of the destination.
    dst: usize,
    /// Size of an element in bytes.
    size: usize,
    /// True if the bytes would not stay in the cache. Squares ([`square_transpose::transpose`]) are then
    /// written with non-temporal stores.
    is_large: bool,
    /// The loop for this element size.
    run: Run,
}

/// Moves the elements with these numbers, between tensors that begin at these addresses.
type Run = unsafe fn(&Movement, *const u8, *mut u8, Range<usize>);

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
        let size = to.dtype.size();
        (from.dtype.size() == size).then_some(())?;
        let run = by_size!(size, T => move_part::<T> as Run)?;
        let mut axes = normal(axes);
        // The order of the axes is free. The axis along which the source is contiguous is moved next to the
        // axis along which the destination is contiguous.
        if let [outer @ .., Axis { src, dst: 1, .. }] = axes.as_mut_slice()
            && !matches!(*src, 0 | 1)
            && let Some(d) = outer.iter().position(|a| a.src == 1)
        {
            outer[d..].rotate_left(1);
        }
        let mut movement = Movement { axes, src, dst, size, is_large: false, run };
        movement.is_large = movement.bytes() >= MIN_STREAMED_BYTES;
        movement.fits([from, to], [0, 0]).then_some(movement)
    }

    /// Creates the movement of an operand's elements to their places in a padded tensor. Elements that fall
    /// outside are cut off.
    pub(super) fn pad(x: &TensorType, y: &TensorType, p: &Pad) -> Option<Movement> {
        let rank = x.rank();
        if [y.rank(), p.low.len(), p.interior.len()] != [rank; 3] || p.interior.iter().any(|i| *i < 0) {
            return None;
        }
        let (src_strides, dst_strides) = (row_major(x.sizes()), row_major(y.sizes()));
        let (mut axes, mut src, mut dst) = (Vec::new(), 0usize, 0usize);
        for (d, size) in x.sizes().iter().enumerate() {
            // Element `i` goes to `low + i * step`.
            let step = i128::from(p.interior[d]) + 1;
            let (low, end) = (i128::from(p.low[d]), y.sizes()[d] as i128);
            let first = if low < 0 { (-low + step - 1) / step } else { 0 };
            let last = ((end - 1 - low).div_euclid(step)).min(*size as i128 - 1);
            let size = usize::try_from(last - first + 1).unwrap_or(0);
            // If all elements are cut off, no element of the operand is moved.
            let at = |first: i128, stride: isize| match size {
                0 => Some(0),
                _ => usize::try_from(first).ok()?.checked_mul(stride.unsigned_abs()),
            };
            src = src.checked_add(at(first, src_strides[d])?)?;
            dst = dst.checked_add(at(low + first * step, dst_strides[d])?)?;
            let step = isize::try_from(step).unwrap_or(isize::MAX);
            axes.push(Axis { size, src: src_strides[d], dst: dst_strides[d].saturating_mul(step) });
        }
        Movement::new([x, y], axes, [src, dst])
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

    /// Number of moved elements.
    pub(super) fn count(&self) -> usize {
        self.axes.iter().fold(1, |n: usize, a| n.saturating_mul(a.size))
    }

    fn bytes(&self) -> usize {
        self.count().saturating_mul(self.size)
    }

    /// Size of an element in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Splits the movement into one part per task.
    pub(super) fn parts(&self) -> Vec<Movement> {
        let wanted = tasks(self.bytes());
        if wanted == 1 {
            return vec![self.clone()];
        }
        // The last axis, and both axes of a transposition, are only split between tiles.
        let (rank, transposes) = (self.axes.len(), self.transposes());
        let step = |d: usize| if d + 1 == rank || (d + 2 == rank && transposes) { TILE_SIDE } else { 1 };
        let pieces = |d: usize| self.axes[d].size.div_ceil(step(d)).min(wanted);
        // For a transposition with non-temporal stores, split the last axis. This axis goes from one source
        // line to the next, so a task then reads whole source lines.
        let lines = self.is_large && transposes && square_transpose::side(self.size).is_some();
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

    /// Returns the movement if its axes are in the order of the destination. Only then can ranges of its
    /// elements be moved separately.
    pub(super) fn in_order(self) -> Option<Movement> {
        (!self.transposes()).then_some(self)
    }

    /// Number of elements of the destination after which the source repeats.
    pub(super) fn period(&self) -> usize {
        let repeated = self.axes.iter().take_while(|a| a.src == 0).count();
        self.axes[repeated..].iter().map(|a| a.size).product()
    }

    /// Number of elements that are contiguous both in the source and in the destination.
    pub(super) fn run_length(&self) -> usize {
        self.axes.last().filter(|a| (a.src, a.dst) == (1, 1)).map_or(1, |a| a.size)
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

    /// Returns the first elements in source and destination, and the number of elements, if the source and
    /// the destination are contiguous.
    pub(super) fn block(&self) -> Option<([usize; 2], usize)> {
        let n = match self.axes[..] {
            [] => 1,
            [Axis { size, src: 1, dst: 1 }] => size,
            _ => return None,
        };
        Some(([self.src, self.dst], n))
    }

    /// Returns the positions in source and destination of the elements with these numbers.
    pub(super) fn pairs(&self, numbers: Range<usize>) -> Vec<[usize; 2]> {
        let mut pairs = Vec::with_capacity(numbers.len());
        each_lines(&self.axes, numbers, |at, next, line| {
            let each = (0..next.size as isize).flat_map(|i| (0..line.size as isize).map(move |j| (i, j)));
            pairs.extend(each.map(|(i, j)| {
                let [src, dst] = [at[0] + i * next.src + j * line.src, at[1] + i * next.dst + j * line.dst];
                [self.src.wrapping_add_signed(src), self.dst.wrapping_add_signed(dst)]
            }));
        });
        pairs
    }

    /// Returns the number of moved elements whose destination is before element `end`, for movements in the
    /// order of the destination.
    fn before(&self, end: usize) -> usize {
        let Some(mut rest) = end.checked_sub(self.dst).filter(|_| !self.is_empty()) else { return 0 };
        let (mut number, mut inner) = (0, self.count());
        for (d, a) in self.axes.iter().enumerate() {
            inner /= a.size;
            let stride = a.dst.unsigned_abs();
            let last = d + 1 == self.axes.len();
            let i = if last { rest.div_ceil(stride) } else { rest / stride };
            if i >= a.size {
                return number + a.size * inner;
            }
            number += i * inner;
            rest -= (i * stride).min(rest);
        }
        if self.axes.is_empty() { rest.min(1) } else { number }
    }

    /// Moves elements.
    ///
    /// # Safety
    /// `src` is valid for reads and `dst` for writes of tensors of the types that this movement was created
    /// for. Both are aligned for their elements, and they do not overlap.
    pub(super) unsafe fn run(&self, src: *const u8, dst: *mut u8) {
        // SAFETY: the caller guarantees tensors of the movement's types (`# Safety` above).
        unsafe { (self.run)(self, src, dst, 0..self.count()) };
    }

    /// Moves elements; the shifts are added to the first elements of source and destination.
    ///
    /// # Safety
    /// Same requirements as [`Movement::run`]. The movement [fits](Movement::fits) with these shifts or with
    /// larger ones.
    pub(super) unsafe fn run_shifted(&self, src: *const u8, dst: *mut u8, shift: [usize; 2]) {
        let [from, to] = shift.map(|elements| elements * self.size);
        // SAFETY: the caller guarantees tensors of the movement's types, and shifts that fit (`# Safety`
        // above).
        unsafe { self.run(src.wrapping_add(from), dst.wrapping_add(to)) };
    }

    /// Moves the elements with these numbers. `to` is the address of the destination's element `origin`.
    ///
    /// # Safety
    /// Same requirements as [`Movement::run`], for the destinations of these elements. The movement is
    /// [in order](Movement::in_order).
    pub(super) unsafe fn run_numbers(
        &self,
        src: *const u8,
        to: *mut u8,
        origin: usize,
        numbers: Range<usize>,
    ) {
        debug_assert!(!self.transposes(), "only a movement in order can be run in parts");
        // SAFETY: the caller guarantees the elements (`# Safety` above).
        unsafe { (self.run)(self, src, to.wrapping_sub(origin * self.size), numbers) };
    }

    /// Moves the elements whose destination is among the `len` elements from `start` on. `to` is the address
    /// of element `start`.
    ///
    /// # Safety
    /// Same requirements as [`Movement::run_numbers`].
    pub(super) unsafe fn run_within(&self, src: *const u8, to: *mut u8, [start, len]: [usize; 2]) {
        // SAFETY: the caller guarantees the elements (`# Safety` above).
        unsafe { self.run_numbers(src, to, start, self.before(start)..self.before(start + len)) };
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

/// # Safety
/// Same requirements as [`Movement::run`], for the elements with these numbers. Elements have the size of
/// `T`, and at least its alignment. If the movement transposes, the numbers are those of all elements.
unsafe fn move_part<T: Copy>(m: &Movement, src: *const u8, dst: *mut u8, numbers: Range<usize>) {
    let (src, dst) = (src.cast::<T>().wrapping_add(m.src), dst.cast::<T>().wrapping_add(m.dst));
    let places = |at: [isize; 2], next: Axis, i: isize| {
        (src.wrapping_offset(at[0] + i * next.src), dst.wrapping_offset(at[1] + i * next.dst))
    };
    if let [planes @ .., inner] = &m.axes[..]
        && m.transposes()
        && !numbers.is_empty()
    {
        return each_lines(planes, 0..numbers.len() / inner.size, |at, next, outer| {
            for i in 0..next.size as isize {
                let (src, dst) = places(at, next, i);
                // SAFETY: the caller guarantees all elements of the movement (`# Safety` above).
                unsafe { plane(outer, *inner, src, dst, m.is_large) };
            }
        });
    }
    each_lines(&m.axes, numbers, |at, next, a| {
        let (src, dst) = places(at, next, 0);
        // SAFETY: the caller guarantees the elements of each line (`# Safety` above). Contiguous elements do
        // not overlap.
        unsafe {
            if next.size == 1 && (a.src, a.dst) == (1, 1) && a.size > MAX_SHORT_COPY {
                std::ptr::copy_nonoverlapping(src, dst, a.size);
            } else {
                lines(next, a, src, dst);
            }
        }
    });
}

/// Moves lines. The function is not inlined, because the loops for short and strided lines would then take
/// processor registers from the caller's loop.
///
/// # Safety
/// Same requirements as [`Movement::run`], for lines along the axis `a`. Each line begins one step along
/// `next` after the previous line.
#[inline(never)]
unsafe fn lines<T: Copy>(next: Axis, a: Axis, src: *const T, dst: *mut T) {
    if next.size > 1 && next.src == 0 && (a.dst, next.dst) == (1, a.size as isize) {
        // SAFETY: the caller guarantees the elements of all lines, which are equal and contiguous.
        unsafe {
            lines(Axis { size: 1, ..next }, a, src, dst);
            repeat(dst, a.size, (next.size - 1) * a.size);
        }
        return;
    }
    match (a.src, a.dst) {
        (1, 1) if a.size > MAX_SHORT_COPY => each(next, src, dst, |src, dst| {
            // SAFETY: the caller guarantees `size` contiguous elements on both sides, which do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(src, dst, a.size) }
        }),
        (1, 1) => each(next, src, dst, |src, dst| {
            for i in 0..a.size {
                // SAFETY: the caller guarantees `size` contiguous elements on both sides.
                unsafe { dst.add(i).write(src.add(i).read()) };
            }
        }),
        (0, 1) => each(next, src, dst, |src, dst| {
            // SAFETY: the caller guarantees the source element.
            let value = unsafe { src.read() };
            for i in 0..a.size {
                // SAFETY: the caller guarantees `size` contiguous destination elements.
                unsafe { dst.add(i).write(value) };
            }
        }),
        // The compiler vectorizes a loop only if the step is a constant.
        (2, 1) => each(next, src, dst, |src, dst| {
            for i in 0..a.size {
                // SAFETY: `i` is below the size of the axis; the caller guarantees its elements.
                unsafe { dst.add(i).write(src.add(2 * i).read()) };
            }
        }),
        (step, 1) => each(next, src, dst, |src, dst| {
            for i in 0..a.size {
                // SAFETY: `i` is below the size of the axis; the caller guarantees its elements.
                unsafe { dst.add(i).write(src.offset(i as isize * step).read()) };
            }
        }),
        _ => each(next, src, dst, |src, dst| {
            for i in 0..a.size as isize {
                // SAFETY: `i` is below the size of the axis; the caller guarantees its elements.
                unsafe { dst.offset(i * a.dst).write(src.offset(i * a.src).read()) };
            }
        }),
    }
}

/// Calls `line` with the first element of each line in the source and in the destination.
#[inline(always)]
fn each<T>(next: Axis, src: *const T, dst: *mut T, line: impl Fn(*const T, *mut T)) {
    for i in 0..next.size as isize {
        line(src.wrapping_offset(i * next.src), dst.wrapping_offset(i * next.dst));
    }
}

/// Visits the indices with these numbers, line by line. A line goes along the last axis; consecutive whole
/// lines along the next-to-last axis are visited at once. `visit` gets three arguments: the distances of the
/// first visited element from the first element of the movement, in source and destination; the axis from one
/// visited line to the next; and the axis along a line.
#[inline(always)]
fn each_lines(axes: &[Axis], numbers: Range<usize>, mut visit: impl FnMut([isize; 2], Axis, Axis)) {
    const SINGLE_STEP: Axis = Axis { size: 1, src: 0, dst: 0 };
    let mut left = numbers.len();
    if left == 0 {
        return;
    }
    let (inner, outer) = axes.split_last().unwrap_or((&SINGLE_STEP, &[]));
    let (mut rest, mut column) = (numbers.start / inner.size, numbers.start % inner.size);
    let moved = |at: [isize; 2], a: &Axis, steps: usize| {
        [at[0] + steps as isize * a.src, at[1] + steps as isize * a.dst]
    };
    let mut at = [0; 2];
    if left <= inner.size - column {
        for a in outer.iter().rev() {
            at = moved(at, a, rest % a.size);
            rest /= a.size;
        }
        return visit(moved(at, inner, column), SINGLE_STEP, Axis { size: left, ..*inner });
    }
    // The index of the line that contains the first element, and the distances of this line.
    let (mut few, mut many) = ([0; MAX_RANK], Vec::new());
    let index = if outer.len() <= MAX_RANK {
        &mut few[..outer.len()]
    } else {
        many.resize(outer.len(), 0);
        &mut many[..]
    };
    for (i, a) in index.iter_mut().zip(outer).rev() {
        *i = rest % a.size;
        rest /= a.size;
        at = moved(at, a, *i);
    }
    while left > 0 {
        let count = (inner.size - column).min(left);
        let next = match (outer, &*index) {
            ([.., a], [.., i]) if left >= 2 * count && count == inner.size => {
                Axis { size: (a.size - i).min(left / count), ..*a }
            }
            _ => SINGLE_STEP,
        };
        visit(moved(at, inner, column), next, Axis { size: count, ..*inner });
        left -= next.size * count;
        column = 0;
        let mut steps = next.size;
        for (i, a) in index.iter_mut().zip(outer).rev() {
            *i += steps;
            at = moved(at, a, steps);
            if *i < a.size {
                break;
            }
            let back = a.size as isize;
            at = [at[0] - back * a.src, at[1] - back * a.dst];
            (*i, steps) = (0, 1);
        }
    }
}

/// Repeats the first `n` elements in the `more` elements after them.
///
/// # Safety
/// The `n` elements are initialized, and the `more` elements after them are valid for writes.
unsafe fn repeat<T: Copy>(first: *mut T, n: usize, more: usize) {
    let (mut written, end) = (n, n + more);
    while written < end {
        // Copies everything written so far: a multiple of `n` elements, except in the last iteration.
        let run = written.min(end - written);
        // SAFETY: the caller guarantees the elements; the destination is after the source.
        unsafe { std::ptr::copy_nonoverlapping(first, first.add(written), run) };
        written += run;
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
    use crate::tests::Random;

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
        let movement = moves(7, &axes, 1).unwrap();
        assert_eq!(movement.count(), 6);
        assert_eq!(movement.pairs(0..6), [[1, 0], [3, 1], [5, 2], [2, 3], [4, 4], [6, 5]]);
        assert_eq!(movement.pairs(2..4), [[5, 2], [2, 3]]);
    }

    /// Compares ranges of random movements with source and destination indices computed by divisions.
    #[test]
    fn ranges_of_random_movements_move_the_right_elements() {
        let mut random = Random(1);
        let mut deep = 0;
        for _ in 0..2000 {
            let (mut axes, mut count) = (Vec::new(), 1);
            let (mut src, mut reach, mut stride) = (0, 0, 1);
            let rank = random.below(13);
            for _ in 0..rank {
                let size = if rank > 6 { 2 } else { 1 + random.below(4) };
                let step = random.below(6) as isize - 2;
                // Axes are made from inner to outer; sometimes the destination has a gap between lines.
                axes.insert(0, Axis { size, src: step, dst: stride as isize });
                stride *= size + random.below(2);
                let far = (size - 1) * step.unsigned_abs();
                (src, reach) = if step < 0 { (src + far, reach) } else { (src, reach + far) };
                count *= size;
            }
            let last = axes.iter().map(|a| (a.size - 1) * a.dst.unsigned_abs()).sum::<usize>();
            let [from, to] = [src + reach + 1, last + 1].map(|n| TensorType::new(DType::U32, [n]));
            let made = Movement::new([&from, &to], axes.iter().copied(), [src, 0]);
            let Some(movement) = made.expect("the movement fits").in_order() else { continue };
            deep += usize::from(movement.axes.len() > MAX_RANK + 1);

            let begin = random.below(count);
            let numbers = begin..begin + random.below(count - begin + 1);
            let place = |number: usize| {
                let (mut rest, mut at) = (number, [src as isize, 0]);
                for a in axes.iter().rev() {
                    let i = (rest % a.size) as isize;
                    rest /= a.size;
                    at = [at[0] + i * a.src, at[1] + i * a.dst];
                }
                at.map(|at| usize::try_from(at).unwrap())
            };
            let pairs: Vec<[usize; 2]> = numbers.clone().map(place).collect();
            assert_eq!(movement.pairs(numbers.clone()), pairs, "elements {numbers:?} of {axes:?}");
            let x: Vec<u32> = (0..=(src + reach) as u32).collect();
            let mut y = vec![u32::MAX; last + 1];
            let mut expected = y.clone();
            pairs.iter().for_each(|[from, to]| expected[*to] = x[*from]);
            // SAFETY: both tensors have the types of the movement, which is in order.
            unsafe { movement.run_numbers(x.as_ptr().cast(), y.as_mut_ptr().cast(), 0, numbers.clone()) };
            assert_eq!(y, expected, "elements {numbers:?} of {axes:?}");
        }
        assert!(deep > 20, "only {deep} movements have more axes than fit in inline storage");
    }

    #[test]
    fn a_reversal_reaches_down() {
        let back = [Axis { size: 5, src: -1, dst: 1 }];
        assert!(moves(5, &back, 4).is_some());
        assert!(moves(5, &back, 3).is_none());
        assert!(moves(5, &back, 5).is_none());
    }
}
