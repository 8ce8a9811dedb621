//! Factors of a product: their layout in memory, and packing, which copies them into the order in which tiles
//! read them.
//!
//! A factor is a matrix of *lines* (the rows of the result on the left, its columns on the right) by *depth*
//! (the summed dimension). Lines and depth may each consist of several dimensions. An element in the padding
//! or in a hole of a dilated image is zero.

use std::ops::Range;

use farcall_ir::dims;

use super::super::square_transpose;
use super::micro::Stored;

/// Maximum number of dimensions of lines, of dimensions of depth, and of axes of an image.
pub(in super::super) const MAX_DIMS: usize = 8;

/// [Effort](Operand::effort) of packing an element of a matrix.
pub(super) const PACKED_EFFORT: usize = 4;

/// Maximum number of features for which the dimension of features is joined with an axis of the image.
const MAX_JOINED_FEATURES: usize = 32;

/// One dimension of lines or of depth.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Dim {
    pub(in super::super) size: usize,
    pub(in super::super) step: Step,
}

/// Effect of a step along a dimension.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Step {
    /// Advances by this number of elements.
    Stride(usize),
    /// Moves along an axis of the image.
    Along { axis: usize, step: isize },
}

/// An axis of a padded and dilated image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Axis {
    /// Number of elements.
    pub(in super::super) size: usize,
    /// Distance between elements along the axis.
    pub(in super::super) dilation: usize,
    /// Distance between elements in memory.
    pub(in super::super) stride: usize,
    /// Coordinate of the first element of the first line. Coordinates in the padding are negative or too
    /// large.
    pub(in super::super) start: isize,
}

/// A factor of a product. Dimensions are ordered from outer to inner.
#[derive(Clone, Debug)]
pub(in super::super) struct Operand {
    lines: Vec<Dim>,
    depth: Vec<Dim>,
    axes: Vec<Axis>,
}

/// Layout of packed elements: the distances between lines of a panel, along the depth, and between panels;
/// and the number of lines per panel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) line: usize,
    pub(super) depth: usize,
    pub(super) panel: usize,
    pub(super) width: usize,
}

/// A position in the image: an offset in memory, and a coordinate per axis.
#[derive(Clone, Copy)]
struct Position {
    offset: usize,
    at: [isize; MAX_DIMS],
}

impl Position {
    fn step(&mut self, step: Step, count: isize) {
        match step {
            Step::Stride(stride) => self.offset = self.offset.wrapping_add_signed(count * stride as isize),
            Step::Along { axis, step } => self.at[axis] += count * step,
        }
    }
}

/// Iterator over a range of indices of several dimensions. It goes in runs along the innermost dimension.
#[derive(Clone, Copy)]
struct Walk<'a> {
    dims: &'a [Dim],
    index: [usize; MAX_DIMS],
    place: Position,
    left: usize,
}

impl<'a> Walk<'a> {
    fn new(dims: &'a [Dim], range: Range<usize>, mut place: Position) -> Walk<'a> {
        let mut index = [0; MAX_DIMS];
        let mut rest = range.start;
        for (i, dim) in index.iter_mut().zip(dims).rev() {
            *i = rest % dim.size;
            rest /= dim.size;
            place.step(dim.step, *i as isize);
        }
        Walk { dims, index, place, left: range.len() }
    }

    /// Returns the next run: its first position, its step and its length.
    #[inline]
    fn next(&mut self) -> Option<(Position, Step, usize)> {
        if self.left == 0 {
            return None;
        }
        let (place, Some(last)) = (self.place, self.dims.len().checked_sub(1)) else {
            self.left -= 1;
            return Some((self.place, Step::Stride(0), 1));
        };
        let dim = self.dims[last];
        let count = (dim.size - self.index[last]).min(self.left);
        self.left -= count;
        self.index[last] += count;
        self.place.step(dim.step, count as isize);
        for d in (0..=last).rev() {
            if self.index[d] < self.dims[d].size {
                break;
            }
            self.place.step(self.dims[d].step, -(self.index[d] as isize));
            self.index[d] = 0;
            if d > 0 {
                self.index[d - 1] += 1;
                self.place.step(self.dims[d - 1].step, 1);
            }
        }
        Some((place, dim.step, count))
    }
}

impl Operand {
    /// Makes a matrix with these dimensions (size, stride). Contiguous neighbors are joined.
    pub(in super::super) fn matrix(lines: &[(usize, usize)], depth: &[(usize, usize)]) -> Operand {
        let dims = |dims: &[(usize, usize)]| {
            let dims = join(dims).into_iter();
            dims.map(|(size, stride)| Dim { size, step: Step::Stride(stride) }).collect()
        };
        Operand { lines: dims(lines), depth: dims(depth), axes: Vec::new() }
    }

    /// Makes a factor that is a part of an image. Any element of the factor may be in the padding or in a
    /// hole.
    pub(in super::super) fn image(lines: Vec<Dim>, depth: Vec<Dim>, axes: Vec<Axis>) -> Operand {
        let mut image = Operand { lines: joined_strides(lines), depth: joined_strides(depth), axes };
        image.join_features();
        image
    }

    /// Joins the innermost two dimensions if the outer one runs along an axis, the inner one has few
    /// features, and both together are contiguous in memory.
    fn join_features(&mut self) {
        for is_depth in [true, false] {
            let (inner, other) = if is_depth {
                (&mut self.depth, &mut self.lines)
            } else {
                (&mut self.lines, &mut self.depth)
            };
            let &[.., places, features] = inner.as_slice() else { continue };
            let (Step::Along { axis, step: 1 }, Step::Stride(stride)) = (places.step, features.step) else {
                continue;
            };
            let (count, along) = (features.size, &mut self.axes[axis]);
            if along.dilation != 1
                || along.stride != count.saturating_mul(stride)
                || count > MAX_JOINED_FEATURES
            {
                continue;
            }
            *along = Axis { size: along.size * count, stride, start: along.start * count as isize, ..*along };
            inner.pop();
            if let Some(last) = inner.last_mut() {
                last.size = places.size * count;
            }
            for dim in other {
                match &mut dim.step {
                    Step::Along { axis: a, step } if *a == axis => *step *= count as isize,
                    _ => {}
                }
            }
        }
    }

    /// Returns true if a walk supports this many dimensions.
    pub(in super::super) fn is_sound(&self) -> bool {
        self.lines.len() <= MAX_DIMS && self.depth.len() <= MAX_DIMS && self.axes.len() <= MAX_DIMS
    }

    /// Returns the strides of lines and of depth, if each has a single stride and no element can be padding.
    pub(super) fn strides(&self) -> Option<[usize; 2]> {
        let one = |dims: &[Dim]| match dims {
            [] => Some(0),
            [Dim { step: Step::Stride(stride), .. }] => Some(*stride),
            _ => None,
        };
        if self.axes.is_empty() { Some([one(&self.lines)?, one(&self.depth)?]) } else { None }
    }

    /// Cost of packing an element, or of reading it in place if the elements along the depth are contiguous.
    /// The unit is the time of `PRODUCTS_PER_EFFORT` products.
    pub(super) fn effort(&self) -> usize {
        match self.strides() {
            Some([_, 0 | 1]) => 1,
            _ if self.axes.is_empty() => PACKED_EFFORT,
            _ => 3 * PACKED_EFFORT,
        }
    }

    /// Returns true if lines are closer together in memory than the elements of a line.
    pub(super) fn has_lines_together(&self) -> bool {
        let distance = |dims: &[Dim]| dims.last().map_or(usize::MAX, |d| self.distance(d.step));
        distance(&self.lines) < distance(&self.depth)
    }

    /// Returns the distance in memory that a step covers.
    fn distance(&self, step: Step) -> usize {
        match step {
            Step::Stride(stride) => stride,
            Step::Along { axis, step } => self.axes[axis].stride.saturating_mul(step.unsigned_abs()),
        }
    }

    /// Copies the given lines and depth into panels.
    ///
    /// # Safety
    /// `from` must be valid for reads of the operand, and `to` for writes of all elements of the layout.
    pub(super) unsafe fn pack<S: Stored<T>, T: Copy>(
        &self,
        from: *const S,
        [lines, depth]: [Range<usize>; 2],
        zero: T,
        to: *mut T,
        layout: &Layout,
    ) {
        if let Some(strides) = self.strides() {
            // SAFETY: this is the first element of the block, which lies in the operand.
            let from = unsafe { from.add(lines.start * strides[0] + depth.start * strides[1]) };
            // SAFETY: the caller guarantees that `from` is valid for the operand, and `to` for the layout.
            return unsafe { matrix(from, strides, [lines.len(), depth.len()], to, layout) };
        }
        let mut at = [0; MAX_DIMS];
        for (at, axis) in at.iter_mut().zip(&self.axes) {
            *at = axis.start;
        }
        let start = Position { offset: 0, at };
        let all = Walk::new(&self.depth, depth, Position { offset: 0, at: [0; MAX_DIMS] });
        let strides = [layout.line, layout.depth];
        for (panel, first) in lines.clone().step_by(layout.width).enumerate() {
            let mut some = Walk::new(&self.lines, first..(first + layout.width).min(lines.end), start);
            let mut line = 0;
            while let Some((place, along, count)) = some.next() {
                let (mut depths, mut deep) = (all, 0);
                while let Some((more, down, length)) = depths.next() {
                    let mut place = place;
                    place.offset = place.offset.wrapping_add(more.offset);
                    place.at.iter_mut().zip(more.at).for_each(|(a, b)| *a += b);
                    // SAFETY: the offset is within the layout, for which the caller guarantees that `to` is
                    // valid; the run lies in the operand, for which `from` is valid.
                    unsafe {
                        let to = to.add(panel * layout.panel + line * layout.line + deep * layout.depth);
                        self.patch(from, place, [(along, count), (down, length)], zero, to, strides);
                    }
                    deep += length;
                }
                line += count;
            }
        }
    }

    /// Copies a part that consists of one run along the lines and one run along the depth.
    ///
    /// # Safety
    /// Same requirements as [`Operand::pack`].
    unsafe fn patch<S: Stored<T>, T: Copy>(
        &self,
        from: *const S,
        mut place: Position,
        [lines, depth]: [(Step, usize); 2],
        zero: T,
        to: *mut T,
        strides: [usize; 2],
    ) {
        let axis = |step: Step| match step {
            Step::Stride(_) => usize::MAX,
            Step::Along { axis, .. } => axis,
        };
        let moved = [axis(lines.0), axis(depth.0)];
        for (i, axis) in self.axes.iter().enumerate() {
            if i != moved[0] && i != moved[1] {
                match axis.element(place.at[i]) {
                    Some(element) => place.offset += element * axis.stride,
                    // SAFETY: the caller guarantees that `to` is valid for writes of the part (`# Safety` of
                    // `pack`).
                    None => return unsafe { fill(zero, [lines.1, depth.1], to, strides) },
                }
            }
        }
        // The inner loop runs along the first of these two dimensions.
        let [inner, outer] = [(lines, strides[0]), (depth, strides[1])];
        let [inner, outer] =
            if self.gain(inner) < self.gain(outer) { [outer, inner] } else { [inner, outer] };
        let (((step, count), stride), ((other, width), across)) = (inner, outer);
        // SAFETY: the caller guarantees that `from` is valid for every element that is neither padding nor a
        // hole, and `to` for the part (`# Safety` of `pack`).
        unsafe {
            match (step, other) {
                (Step::Stride(step), Step::Stride(other)) => {
                    copy(from.add(place.offset), [step, other], [count, width], to, [stride, across]);
                }
                (Step::Along { axis, step }, Step::Stride(other)) => {
                    let steps = [place.at[axis], step];
                    let from = from.add(place.offset);
                    self.along(axis, from, steps, other, [count, width], zero, to, [stride, across]);
                }
                (Step::Stride(step), Step::Along { axis, step: other }) => {
                    let steps = [place.at[axis], other];
                    let from = from.add(place.offset);
                    self.along(axis, from, steps, step, [width, count], zero, to, [across, stride]);
                }
                (Step::Along { axis, step }, Step::Along { axis: across_axis, step: other }) => {
                    for i in 0..width {
                        let (to, shift) = (to.add(i * across), i as isize * other);
                        let (mut at, mut offset) = (place.at[axis], place.offset);
                        if across_axis == axis {
                            at += shift;
                        } else if let Some(element) =
                            self.axes[across_axis].element(place.at[across_axis] + shift)
                        {
                            offset += element * self.axes[across_axis].stride;
                        } else {
                            fill(zero, [count, 1], to, [stride, 1]);
                            continue;
                        }
                        self.along(axis, from.add(offset), [at, step], 0, [count, 1], zero, to, [stride, 1]);
                    }
                }
            }
        }
    }

    /// Value of making this dimension the inner loop: the number of elements that this loop copies, weighted
    /// by how close together they are in memory.
    fn gain(&self, ((step, count), stride): ((Step, usize), usize)) -> usize {
        let close = match self.distance(step) {
            0 | 1 => 4,
            2..=8 => 2,
            _ => 1,
        };
        count * close * if stride == 1 { 2 } else { 1 }
    }

    /// Copies a part whose first dimension runs along an axis, from coordinate `at` in steps of `step`, and
    /// whose second dimension has the stride `other`.
    ///
    /// # Safety
    /// Same requirements as [`Operand::pack`]; `from` must point to the start of the axis.
    #[expect(clippy::too_many_arguments, reason = "the arguments of `patch`, which calls this function")]
    #[inline]
    unsafe fn along<S: Stored<T>, T: Copy>(
        &self,
        axis: usize,
        from: *const S,
        [at, step]: [isize; 2],
        other: usize,
        [count, width]: [usize; 2],
        zero: T,
        to: *mut T,
        [stride, across]: [usize; 2],
    ) {
        let axis = &self.axes[axis];
        if axis.dilation == 1 {
            // SAFETY: `line` has the contract of this function.
            return unsafe { axis.line(from, [at, step], other, [count, width], zero, to, [stride, across]) };
        }
        // Every `phases` steps advance by a whole number of elements. So a phase (every `phases`th step)
        // leads either only to elements, which are equally far apart, or only to holes.
        let dilation = axis.dilation as isize;
        let phases = axis.dilation / num_integer::gcd(axis.dilation, step.unsigned_abs());
        for phase in 0..phases.min(count) {
            let at = at + phase as isize * step;
            let sizes = [(count - phase).div_ceil(phases), width];
            let strides = [stride * phases, across];
            // SAFETY: the phase is a part of the elements and of the destination that the caller guarantees
            // (`# Safety` above).
            unsafe {
                let to = to.add(phase * stride);
                if at.rem_euclid(dilation) == 0 {
                    let steps = [at.div_euclid(dilation), step * phases as isize / dilation];
                    axis.line(from, steps, other, sizes, zero, to, strides);
                } else {
                    fill(zero, sizes, to, strides);
                }
            }
        }
    }
}

impl Axis {
    /// Returns the element at a coordinate, unless the coordinate is in the padding or in a hole.
    pub(in super::super) fn element(&self, at: isize) -> Option<usize> {
        let at = usize::try_from(at).ok()?;
        let element = if self.dilation == 1 { at } else { at / self.dilation };
        (element < self.size && (self.dilation == 1 || at.is_multiple_of(self.dilation))).then_some(element)
    }

    /// Copies the elements that `count` steps lead to, and zeros where a step leaves the axis.
    ///
    /// # Safety
    /// Same requirements as [`Operand::pack`]; `from` must point to the start of the axis.
    #[expect(clippy::too_many_arguments, reason = "the arguments of `along`, which calls this function")]
    unsafe fn line<S: Stored<T>, T: Copy>(
        &self,
        from: *const S,
        [at, step]: [isize; 2],
        other: usize,
        [count, width]: [usize; 2],
        zero: T,
        to: *mut T,
        strides: [usize; 2],
    ) {
        let inside = self.inside(at, step, count);
        // SAFETY: the caller guarantees that `from` is valid for the elements of the axis, within which
        // `inside` stays, and that `to` is valid for the part.
        unsafe {
            if inside.start > 0 {
                fill(zero, [inside.start, width], to, strides);
            }
            if inside.end < count {
                fill(zero, [count - inside.end, width], to.add(inside.end * strides[0]), strides);
            }
            if inside.is_empty() {
                return;
            }
            let first = at + step * inside.start as isize;
            let (from, to) = (from.offset(first * self.stride as isize), to.add(inside.start * strides[0]));
            if step > 0 || inside.len() == 1 {
                let source = [step.unsigned_abs() * self.stride, other];
                copy(from, source, [inside.len(), width], to, strides);
            } else {
                for i in 0..inside.len() {
                    let from = from.offset(i as isize * step * self.stride as isize);
                    copy(from, [0, other], [1, width], to.add(i * strides[0]), strides);
                }
            }
        }
    }

    /// Returns the range of `count` steps from element `first` that stay within the axis.
    pub(in super::super) fn inside(&self, first: isize, step: isize, count: usize) -> Range<usize> {
        let (size, far, n) = (self.size as isize, step.abs(), count as isize);
        // Steps are counted from the end of the axis at which they begin.
        let first = if step >= 0 { first } else { size - 1 - first };
        let steps =
            |to: isize| if far == 1 { to } else { to.div_euclid(far) + isize::from(to.rem_euclid(far) != 0) };
        let (begin, end) = (steps(-first).clamp(0, n), steps(size - first).clamp(0, n));
        begin as usize..end.max(begin) as usize
    }
}

/// Joins adjacent dimensions with strides that can be walked as one dimension.
fn joined_strides(dims: Vec<Dim>) -> Vec<Dim> {
    dims::join(dims, |outer, dim| match (outer.step, dim.step) {
        (Step::Stride(step), Step::Stride(stride)) if dims::continues(step, dim.size, stride) => {
            Some(Dim { size: outer.size.saturating_mul(dim.size), ..*dim })
        }
        _ => None,
    })
}

/// Joins adjacent dimensions (size and stride, from outer to inner) that can be walked as one dimension.
pub(in super::super) fn join(dims: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let dims = dims.iter().copied().filter(|(size, _)| *size != 1);
    dims::join(dims, |outer, inner| {
        dims::continues(outer.1, inner.0, inner.1).then(|| (outer.0.saturating_mul(inner.0), inner.1))
    })
}

/// Number of indices of the depth that are copied for all panels before the next indices. It is the number of
/// streams that the hardware prefetcher can follow.
const PREFETCH_STREAMS: usize = 8;

/// Packs a matrix with these strides.
///
/// # Safety
/// Same requirements as [`Operand::pack`], for a block that starts at `from`.
unsafe fn matrix<S: Stored<T>, T: Copy>(
    from: *const S,
    strides: [usize; 2],
    [lines, depth]: [usize; 2],
    to: *mut T,
    layout: &Layout,
) {
    let rows = if strides[0] == 1 { PREFETCH_STREAMS } else { depth.max(1) };
    for k in (0..depth).step_by(rows) {
        for (panel, line) in (0..lines).step_by(layout.width).enumerate() {
            let sizes = [layout.width.min(lines - line), rows.min(depth - k)];
            // SAFETY: this is a part of the block and of the panels that the caller guarantees (`# Safety`
            // above).
            unsafe {
                let from = from.add(line * strides[0] + k * strides[1]);
                let to = to.add(panel * layout.panel + k * layout.depth);
                copy(from, strides, sizes, to, [layout.line, layout.depth]);
            }
        }
    }
}

/// Fills a block of these sizes and strides.
///
/// # Safety
/// `to` must be valid for writes of the block.
unsafe fn fill<T: Copy>(x: T, sizes: [usize; 2], to: *mut T, strides: [usize; 2]) {
    let [outer, inner] = if strides[0] == 1 { [1, 0] } else { [0, 1] };
    for i in 0..sizes[outer] {
        for j in 0..sizes[inner] {
            // SAFETY: the element belongs to the block, for which the caller guarantees that `to` is valid.
            unsafe { to.add(i * strides[outer] + j * strides[inner]).write(x) };
        }
    }
}

/// Side of the squares in which a block is transposed, in elements.
const SQUARE_SIDE: usize = 4;

/// Copies a block. `source` are the block's strides in memory at `from`, and `strides` those at `to`.
///
/// # Safety
/// `from` must be valid for reads of the block and `to` for writes, and the two must not overlap.
#[inline]
unsafe fn copy<S: Stored<T>, T: Copy>(
    from: *const S,
    source: [usize; 2],
    sizes: [usize; 2],
    to: *mut T,
    strides: [usize; 2],
) {
    // The inner loop runs along the first dimension if the destinations along it are contiguous, unless the
    // first dimension has a single element. Otherwise, it runs along the second dimension.
    let [outer, inner] = if strides[0] == 1 && (sizes[0] > 1 || sizes[1] == 1) { [1, 0] } else { [0, 1] };
    if source[inner] == 1 && strides[inner] == 1 {
        for i in 0..sizes[outer] {
            // SAFETY: this is a line of the block.
            unsafe { copy_line(from.add(i * source[outer]), to.add(i * strides[outer]), sizes[inner]) };
        }
        return;
    }
    let transposed = source[outer] == 1 && strides[inner] == 1 && can_transpose::<S, T>();
    let large =
        square_transpose::side(size_of::<T>()).is_some_and(|side| sizes[outer].min(sizes[inner]) >= side);
    let whole = match (transposed, large) {
        (true, true) => {
            let strides = [source[inner], strides[outer]];
            // SAFETY: the caller guarantees both blocks, and the transposed squares lie within them.
            unsafe {
                square_transpose::transpose::<T>(
                    from.cast(),
                    to.cast(),
                    strides,
                    [sizes[outer], sizes[inner]],
                    false,
                )
            }
        }
        (true, false) => [sizes[outer] / SQUARE_SIDE * SQUARE_SIDE, sizes[inner] / SQUARE_SIDE * SQUARE_SIDE],
        (false, _) => [0, 0],
    };
    for j in (0..if large { 0 } else { whole[1] }).step_by(SQUARE_SIDE) {
        for i in (0..whole[0]).step_by(SQUARE_SIDE) {
            // SAFETY: the square lies within the block.
            unsafe {
                let to = to.add(i * strides[outer] + j).cast();
                transpose(from.add(i + j * source[inner]).cast(), source[inner], to, strides[outer]);
            }
        }
    }
    for i in 0..sizes[outer] {
        let done = if i < whole[0] { whole[1] } else { 0 };
        for j in done..sizes[inner] {
            // SAFETY: the element belongs to the block.
            unsafe {
                let x = from.add(i * source[outer] + j * source[inner]).read();
                to.add(i * strides[outer] + j * strides[inner]).write(x.widen());
            }
        }
    }
}

/// Length, in elements, below which lines are copied without calling a function.
const MAX_INLINE_COPY: usize = 32;

/// Copies a line of contiguous elements.
///
/// # Safety
/// `from` must be valid for reads of `count` elements and `to` for writes, and the two must not overlap.
#[inline(always)]
unsafe fn copy_line<S: Stored<T>, T: Copy>(from: *const S, to: *mut T, count: usize) {
    if S::IS_IDENTITY && count < MAX_INLINE_COPY {
        let (mut from, mut to) = (from.cast::<T>(), to);
        // SAFETY: the caller guarantees `count` elements; `S::IS_IDENTITY` means that `S` and `T` are the
        // same type.
        unsafe {
            (from, to) = copy_if::<T, 16>(count, from, to);
            (from, to) = copy_if::<T, 8>(count, from, to);
            (from, to) = copy_if::<T, 4>(count, from, to);
            (from, to) = copy_if::<T, 2>(count, from, to);
            copy_if::<T, 1>(count, from, to);
        }
    } else if S::IS_IDENTITY {
        // SAFETY: the caller guarantees `count` elements, and `S` and `T` are the same type
        // (`S::IS_IDENTITY`).
        unsafe { std::ptr::copy_nonoverlapping(from.cast::<T>(), to, count) };
    } else {
        // SAFETY: the caller guarantees `count` elements that do not overlap.
        unsafe { S::widen_line(from, to, count) };
    }
}

/// Copies `N` elements, where `N` is a power of two, if `count & N` is not 0. Returns the pointers to the
/// elements that remain.
///
/// # Safety
/// Same requirements as [`copy_line`].
#[inline(always)]
unsafe fn copy_if<T: Copy, const N: usize>(count: usize, from: *const T, to: *mut T) -> (*const T, *mut T) {
    if count & N == 0 {
        return (from, to);
    }
    // SAFETY: `N` is at most `count`, for which the caller guarantees the elements.
    unsafe {
        to.cast::<[T; N]>().write(from.cast::<[T; N]>().read());
        (from.add(N), to.add(N))
    }
}

/// Returns true if squares of these elements can be transposed with vector instructions.
fn can_transpose<S: Stored<T>, T: Copy>() -> bool {
    cfg!(target_arch = "x86_64") && S::IS_IDENTITY && size_of::<T>() == 4
}

/// Transposes a square of four-byte elements. `source` and `stride` are the distances between its rows.
///
/// # Safety
/// `from` must be valid for reads of the square, and `to` for writes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn transpose(from: *const f32, source: usize, to: *mut f32, stride: usize) {
    use std::arch::x86_64::{_mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_storeu_ps};
    use std::arch::x86_64::{_mm_unpackhi_ps, _mm_unpacklo_ps};
    // SAFETY: the caller guarantees the squares, and every x86-64 processor has SSE.
    unsafe {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| _mm_loadu_ps(from.add(i * source)));
        let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
        let (ab_high, cd_high) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        _mm_storeu_ps(to, _mm_movelh_ps(ab, cd));
        _mm_storeu_ps(to.add(stride), _mm_movehl_ps(cd, ab));
        _mm_storeu_ps(to.add(2 * stride), _mm_movelh_ps(ab_high, cd_high));
        _mm_storeu_ps(to.add(3 * stride), _mm_movehl_ps(cd_high, ab_high));
    }
}

/// # Safety
/// Same requirements as the version for x86-64.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn transpose(from: *const f32, source: usize, to: *mut f32, stride: usize) {
    for i in 0..SQUARE_SIDE {
        for j in 0..SQUARE_SIDE {
            // SAFETY: the caller guarantees the squares.
            unsafe { to.add(j * stride + i).write(from.add(i * source + j).read()) };
        }
    }
}
