//! Convolutions in which each feature has its own kernel, or which have only one feature and one kernel. A
//! result is the sum of few products. Several results that are neighbors in memory are computed at once.
//!
//! Neighbors are either the features at one position or the windows of one row.

use farcall_ir::{DType, interrupt};
use half::{bf16, f16};

use super::super::loops::prepared::PreparedKernel;
use super::super::product::{Element, Ring, Stored};
use super::super::simd::vectorized;
use super::super::types::{dispatch, unsigned};
use super::shape::{Shape, Spatial};

/// Minimum number of products of a task.
const MIN_TASK_PRODUCTS: usize = 1 << 18;

/// Number of features whose sums are kept in registers at once, if a sum has at most
/// [`MAX_LARGE_BLOCK_SUM_BYTES`].
const FEATURES_PER_LARGE_BLOCK: usize = 64;
/// Maximum size in bytes of a sum for which [`FEATURES_PER_LARGE_BLOCK`] sums fit in registers.
const MAX_LARGE_BLOCK_SUM_BYTES: usize = 4;
/// Number of features whose sums are kept in registers at once if a sum is larger, or if fewer features are
/// left.
const FEATURES_PER_BLOCK: usize = 16;

/// Number of windows that are computed together.
const LANES: usize = 64;
/// Maximum number of windows of a row: longer rows are divided into parts.
const MAX_ROW_WINDOWS: usize = 64 * LANES;

/// Maximum number of products of a sum (taps). Longer sums need partial sums, which only matrix products
/// have.
const MAX_TAPS: usize = 1024;

/// Maximum number of spatial dimensions.
const MAX_SPATIAL_DIMS: usize = 4;

/// Returns true for coordinates at which a dilated image has a hole between two elements, and for coordinates
/// in the padding that continue the pattern of holes. The sums leave out both.
#[inline(always)]
fn is_in_hole(place: isize, dilation: usize) -> bool {
    dilation > 1 && place.rem_euclid(dilation as isize) != 0
}

/// A convolution without sums over features.
pub(super) struct Depthwise {
    /// Number of images and number of features, each with strides in the image, the kernels and the result.
    batch: (usize, [usize; 3]),
    features: (usize, [usize; 3]),
    spatial: Vec<Spatial>,
}

impl Depthwise {
    /// Returns the convolution in this form, or `None` if it has sums over features or too many dimensions,
    /// or is better computed by matrix products.
    pub(super) fn of(s: &Shape) -> Option<Depthwise> {
        let is_one = s.features[0].0 == 1 && s.kernels[0].0 == 1 && s.spatial.len() <= MAX_SPATIAL_DIMS;
        let [(images, image), (_, result)] = s.batch;
        let of = Depthwise {
            batch: (images, [image, 0, result]),
            features: (s.groups, s.group_strides),
            spatial: s.spatial.clone(),
        };
        let is_short = || of.taps_of_window() <= MAX_TAPS && of.spatial.iter().all(|s| s.axis.dilation == 1);
        (is_one && (s.groups > 1 || is_short())).then_some(of)
    }

    /// Prepares the convolution. Returns `None` for types that have no loop here, and if neither features nor
    /// windows are contiguous.
    pub(super) fn prepare(self, [from, to]: [DType; 2]) -> Option<PreparedKernel> {
        let by_feature = self.features.0 > 1 && self.features.1 == [1; 3];
        let by_window = self.spatial.last().is_some_and(|s| s.windows.1 == 1);
        if !by_feature && !by_window {
            return None;
        }
        Some(match (from, to) {
            (DType::F16, DType::F16) => self.tasks::<f16, f32, f16>(by_feature),
            (DType::BF16, DType::BF16) => self.tasks::<bf16, f32, bf16>(by_feature),
            (a, b) if a != b => return None,
            (DType::F32, _) => self.tasks::<f32, f32, f32>(by_feature),
            (DType::F64, _) => self.tasks::<f64, f64, f64>(by_feature),
            _ => return dispatch!(unsigned(from), [unsigned], T => self.tasks::<T, T, T>(by_feature)),
        })
    }

    /// Number of products of a sum: positions within a window.
    fn taps_of_window(&self) -> usize {
        self.spatial.iter().fold(1, |n: usize, s| n.saturating_mul(s.window.0))
    }

    /// Number of windows along the last dimension.
    fn along(&self) -> usize {
        self.spatial.last().map_or(1, |s| s.windows.0)
    }

    /// Number of rows. If features are neighbors, a row consists of the windows along the last dimension,
    /// for all features. Otherwise, it consists of a part of these windows, for one feature.
    fn rows(&self, by_feature: bool) -> usize {
        let outer = self.spatial.split_last().map_or(&[][..], |(_, outer)| outer);
        let rows = outer.iter().fold(self.batch.0, |n, s| n.saturating_mul(s.windows.0));
        if by_feature {
            rows
        } else {
            rows.saturating_mul(self.features.0).saturating_mul(self.along().div_ceil(MAX_ROW_WINDOWS))
        }
    }

    fn tasks<S: Stored<T>, T: Element + Ring, R: Stored<T>>(self, by_feature: bool) -> PreparedKernel {
        let rows = self.rows(by_feature);
        let (taps, along) = (self.taps_of_window(), self.along());
        let row = if by_feature { along.saturating_mul(self.features.0) } else { along.min(MAX_ROW_WINDOWS) };
        let per_task = (MIN_TASK_PRODUCTS / row.saturating_mul(taps).max(1)).max(1);
        let tasks = if row == 0 { 0 } else { rows.div_ceil(per_task) };
        PreparedKernel::in_tasks(tasks, move |args, task| {
            let (x, y, out) = (args.input_ptr::<S>(0), args.input_ptr::<S>(1), args.output_ptr::<R>(0));
            vectorized(
                #[inline(always)]
                || {
                    for row in task * per_task..((task + 1) * per_task).min(rows) {
                        if interrupt::is_due() {
                            return;
                        }
                        // SAFETY: the operands and the result have these types, and no two tasks share a row.
                        unsafe { self.row::<S, T, R>(by_feature, row, x, y, out) };
                    }
                },
            );
        })
    }

    /// Computes a row.
    ///
    /// # Safety
    /// `x`, `y` and `out` must be valid for every element that the strides reach in the image, the kernels
    /// and the result.
    #[inline(always)]
    unsafe fn row<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
        &self,
        by_feature: bool,
        mut row: usize,
        x: *const S,
        y: *const S,
        out: *mut R,
    ) {
        let mut at = [0isize; MAX_SPATIAL_DIMS];
        let mut place = [0; 3];
        let count = self.spatial.len();
        let mut begin = 0;
        if !by_feature {
            let parts = self.along().div_ceil(MAX_ROW_WINDOWS).max(1);
            begin = row % parts * MAX_ROW_WINDOWS;
            row /= parts;
        }
        for (d, s) in self.spatial.iter().enumerate().take(count.saturating_sub(1)).rev() {
            let index = row % s.windows.0;
            row /= s.windows.0;
            at[d] = s.axis.start + index as isize * s.along;
            place[2] += index * s.windows.1;
        }
        let mut step = |index: usize, strides: [usize; 3]| {
            place.iter_mut().zip(strides).for_each(|(place, stride)| *place += index * stride);
        };
        if !by_feature {
            step(row % self.features.0, self.features.1);
            row /= self.features.0;
        }
        step(row, self.batch.1);
        // SAFETY: `place` has the numbers of the row's first elements, which the strides reach. The caller
        // guarantees every element that the strides reach.
        let (x, y, out) = unsafe { (x.add(place[0]), y.add(place[1]), out.add(place[2])) };
        let Some(last) = self.spatial.last() else {
            // SAFETY: the caller guarantees the elements that the strides reach from the start of the row.
            return unsafe { self.features::<S, T, R>(&at, x, y, out) };
        };
        if by_feature {
            for window in 0..last.windows.0 {
                at[count - 1] = last.axis.start + window as isize * last.along;
                // SAFETY: the caller guarantees the elements that the strides reach; `window` is a window of
                // the row.
                unsafe { self.features::<S, T, R>(&at, x, y, out.add(window * last.windows.1)) };
            }
        } else {
            let end = last.windows.0.min(begin + MAX_ROW_WINDOWS);
            for first in (begin..end).step_by(LANES) {
                at[count - 1] = last.axis.start + first as isize * last.along;
                let width = LANES.min(end - first);
                // SAFETY: the caller guarantees the elements that the strides reach; the `width` windows are
                // in the row.
                unsafe { self.windows::<S, T, R>(&at, width, x, y, out.add(first)) };
            }
        }
    }

    /// Calls a function for every position of the window in the first `dims` dimensions, except for positions
    /// that meet a hole. The arguments are the offset of the position's element in the image (`None` in the
    /// padding, which is zero) and the offset of the position's factor in the kernel.
    #[inline(always)]
    fn taps(&self, dims: usize, at: &[isize; MAX_SPATIAL_DIMS], mut f: impl FnMut(Option<usize>, usize)) {
        let spatial = &self.spatial[..dims];
        if spatial.iter().any(|s| s.window.0 == 0) {
            return;
        }
        let mut index = [0; MAX_SPATIAL_DIMS];
        loop {
            let (mut image, mut kernel, mut is_hole) = (Some(0), 0, false);
            for (d, s) in spatial.iter().enumerate() {
                let place = at[d] + index[d] as isize * s.down;
                match s.axis.element(place) {
                    Some(element) => image = image.map(|image| image + element * s.axis.stride),
                    None => {
                        image = None;
                        is_hole |= is_in_hole(place, s.axis.dilation);
                    }
                }
                kernel += index[d] * s.window.1;
            }
            if !is_hole {
                f(image, kernel);
            }
            let mut d = dims;
            loop {
                if d == 0 {
                    return;
                }
                d -= 1;
                index[d] += 1;
                if index[d] < spatial[d].window.0 {
                    break;
                }
                index[d] = 0;
            }
        }
    }

    /// Computes all features at one position of the result.
    ///
    /// # Safety
    /// Same requirements as [`Depthwise::row`].
    #[inline(always)]
    unsafe fn features<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
        &self,
        at: &[isize; MAX_SPATIAL_DIMS],
        x: *const S,
        y: *const S,
        out: *mut R,
    ) {
        let (count, mut done) = (self.features.0, 0);
        while done < count {
            if count - done >= FEATURES_PER_LARGE_BLOCK && size_of::<T>() <= MAX_LARGE_BLOCK_SUM_BYTES {
                // SAFETY: the caller guarantees all features, and the block ends at or before the last
                // feature.
                unsafe {
                    self.block::<S, T, R, { FEATURES_PER_LARGE_BLOCK }>(
                        at,
                        x.add(done),
                        y.add(done),
                        out.add(done),
                    )
                };
                done += FEATURES_PER_LARGE_BLOCK;
            } else if count >= FEATURES_PER_BLOCK {
                // The last features may be computed twice.
                done = done.min(count - FEATURES_PER_BLOCK);
                // SAFETY: the caller guarantees all features, and the block ends at or before the last
                // feature.
                unsafe {
                    self.block::<S, T, R, FEATURES_PER_BLOCK>(at, x.add(done), y.add(done), out.add(done))
                };
                done += FEATURES_PER_BLOCK;
            } else {
                // SAFETY: the caller guarantees all features, and `count` is below `FEATURES_PER_BLOCK`.
                unsafe { self.few::<S, T, R>(at, count, x, y, out) };
                done = count;
            }
        }
    }

    /// Computes `W` features at one position of the result. The sums stay in registers.
    ///
    /// # Safety
    /// Same requirements as [`Depthwise::row`].
    #[inline(always)]
    unsafe fn block<S: Stored<T>, T: Element + Ring, R: Stored<T>, const W: usize>(
        &self,
        at: &[isize; MAX_SPATIAL_DIMS],
        x: *const S,
        y: *const S,
        out: *mut R,
    ) {
        let mut sums = [T::ZERO; W];
        self.taps(self.spatial.len(), at, |image, kernel| {
            let Some(image) = image else {
                // SAFETY: the caller guarantees the kernels, which have a factor for each of the `W` features
                // at this position.
                let y = unsafe { &*y.add(kernel).cast::<[S; W]>() };
                for j in 0..W {
                    sums[j] = sums[j].plus(T::ZERO.times(y[j].widen()));
                }
                return;
            };
            // SAFETY: the caller guarantees the image and the kernels, which have `W` features at this
            // position. (The arrays are borrowed, because arrays that are read by value would be copied
            // first.)
            let (x, y) = unsafe { (&*x.add(image).cast::<[S; W]>(), &*y.add(kernel).cast::<[S; W]>()) };
            for j in 0..W {
                sums[j] = sums[j].plus(x[j].widen().times(y[j].widen()));
            }
        });
        for (j, sum) in sums.iter().enumerate() {
            // SAFETY: the caller guarantees a result for each of the `W` features.
            unsafe { out.add(j).write(R::narrow(*sum)) };
        }
    }

    /// Computes fewer than [`FEATURES_PER_BLOCK`] features at one position of the result.
    ///
    /// # Safety
    /// Same requirements as [`Depthwise::row`].
    #[inline(always)]
    unsafe fn few<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
        &self,
        at: &[isize; MAX_SPATIAL_DIMS],
        width: usize,
        x: *const S,
        y: *const S,
        out: *mut R,
    ) {
        let mut sums = [T::ZERO; FEATURES_PER_BLOCK];
        self.taps(self.spatial.len(), at, |image, kernel| {
            // SAFETY: the caller guarantees the kernels, which have a factor for each of the `width` features
            // at this position.
            let y = unsafe { std::slice::from_raw_parts(y.add(kernel), width) };
            let Some(image) = image else {
                for (sum, y) in sums.iter_mut().zip(y) {
                    *sum = sum.plus(T::ZERO.times(y.widen()));
                }
                return;
            };
            // SAFETY: the caller guarantees the image, which has `width` features at this position.
            let x = unsafe { std::slice::from_raw_parts(x.add(image), width) };
            for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
                *sum = sum.plus(x.widen().times(y.widen()));
            }
        });
        for (i, sum) in sums[..width].iter().enumerate() {
            // SAFETY: the caller guarantees a result for each of the `width` features.
            unsafe { out.add(i).write(R::narrow(*sum)) };
        }
    }

    /// Computes `width` neighboring windows of a row, for one feature.
    ///
    /// # Safety
    /// Same requirements as [`Depthwise::row`].
    #[inline(always)]
    unsafe fn windows<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
        &self,
        at: &[isize; MAX_SPATIAL_DIMS],
        width: usize,
        x: *const S,
        y: *const S,
        out: *mut R,
    ) {
        let mut sums = [T::ZERO; LANES];
        let last = self.spatial.len() - 1;
        let s = &self.spatial[last];
        let stride = s.axis.stride;
        self.taps(last, at, |image, kernel| {
            for k in 0..s.window.0 {
                // SAFETY: `k` is below the size of the window, so this is a factor of the kernel.
                let factor = unsafe { y.add(kernel + k * s.window.1).read() }.widen();
                let begin = at[last] + k as isize * s.down;
                let nothing = T::ZERO.times(factor);
                let Some(image) = image else {
                    for (i, sum) in sums[..width].iter_mut().enumerate() {
                        if !is_in_hole(begin + i as isize * s.along, s.axis.dilation) {
                            *sum = sum.plus(nothing);
                        }
                    }
                    continue;
                };
                if s.axis.dilation == 1 {
                    let inside = s.axis.inside(begin, s.along, width);
                    let padded = (0..inside.start.min(width)).chain(inside.end.max(inside.start)..width);
                    padded.for_each(|i| sums[i] = sums[i].plus(nothing));
                    if inside.is_empty() {
                        continue;
                    }
                    let first = (begin + inside.start as isize * s.along) as usize;
                    let step = s.along as usize * stride;
                    // SAFETY: `first` is inside the axis, so this is an element of the image.
                    let x = unsafe { x.add(image + first * stride) };
                    for (i, sum) in sums[inside].iter_mut().enumerate() {
                        // SAFETY: window `i` of those in `inside` reads an element of the image.
                        let x = unsafe { x.add(if step == 1 { i } else { i * step }).read() };
                        *sum = sum.plus(factor.times(x.widen()));
                    }
                } else {
                    for (i, sum) in sums[..width].iter_mut().enumerate() {
                        let place = begin + i as isize * s.along;
                        if let Some(element) = s.axis.element(place) {
                            // SAFETY: `element` is inside the axis, so this is an element of the image.
                            let x = unsafe { x.add(image + element * stride).read() };
                            *sum = sum.plus(factor.times(x.widen()));
                        } else if !is_in_hole(place, s.axis.dilation) {
                            *sum = sum.plus(nothing);
                        }
                    }
                }
            }
        });
        for (i, sum) in sums[..width].iter().enumerate() {
            // SAFETY: the caller guarantees a result for each of the `width` windows.
            unsafe { out.add(i).write(R::narrow(*sum)) };
        }
    }
}
