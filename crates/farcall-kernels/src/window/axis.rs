//! Windows along one dimension.

/// Placement of windows along a dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    /// Number of elements.
    pub size: usize,
    pub window: usize,
    pub stride: usize,
    pub base_dilation: usize,
    pub window_dilation: usize,
    pub padding: (i64, i64),
}

/// The elements under a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub first: usize,
    /// Distance between adjacent elements.
    pub step: usize,
    pub count: usize,
}

impl Run {
    /// The position after the last element, if the elements are contiguous.
    pub(crate) fn end(self) -> usize {
        self.first + self.count
    }
}

/// Largest size or padding for which the arithmetic of windows does not overflow `i64`.
const MAX_EXTENT: i64 = 1 << 30;

impl Axis {
    /// Returns true if all numbers are small enough that nothing overflows, and windows are not empty.
    pub(crate) fn is_sound(&self) -> bool {
        let [size, window] =
            [self.size, self.window].map(|n| i64::try_from(n).is_ok_and(|n| n <= MAX_EXTENT));
        let steps = [self.stride, self.base_dilation, self.window_dilation];
        let small = |n: &usize| (1..=MAX_EXTENT as usize).contains(n);
        let padding = [self.padding.0, self.padding.1].iter().all(|p| (-MAX_EXTENT..=MAX_EXTENT).contains(p));
        size && window && self.window > 0 && steps.iter().all(small) && padding
    }

    /// Number of windows that fit.
    pub(crate) fn windows(&self) -> usize {
        let dilated = |size: usize, by: usize| if size == 0 { 0 } else { (size as i64 - 1) * by as i64 + 1 };
        let padded = dilated(self.size, self.base_dilation) + self.padding.0 + self.padding.1;
        let window = dilated(self.window, self.window_dilation);
        if padded <= 0 || window > padded {
            return 0;
        }
        usize::try_from((padded - window) / self.stride as i64 + 1).unwrap_or(0)
    }

    /// Returns true if each window `r` consists of element `r` alone.
    pub(crate) fn is_trivial(&self) -> bool {
        self.window == 1 && self.stride == 1 && self.base_dilation == 1 && self.padding == (0, 0)
    }

    /// Maximum number of elements that a window can cover.
    pub(crate) fn most(&self) -> usize {
        self.window.min(self.size)
    }

    /// Returns the elements under window `r`.
    #[inline]
    pub(crate) fn run(&self, r: usize) -> Run {
        let start = r as i64 * self.stride as i64 - self.padding.0;
        let (base, dilation) = (self.base_dilation as i64, self.window_dilation as i64);
        // Returns the number of elements before a position of the padded and dilated dimension.
        let before = |at: i64| {
            let elements = if base == 1 { at } else { (at + base - 1).div_euclid(base) };
            elements.clamp(0, self.size as i64) as usize
        };
        let (first, end) = (before(start), before(start + (self.window as i64 - 1) * dilation + 1));
        if dilation == 1 || self.window == 1 {
            return Run { first, step: 1, count: end.saturating_sub(first) };
        }
        // Of the elements that the window spans, every `step`th one is at a position of the window.
        let step = (dilation / num_integer::gcd(base, dilation)) as usize;
        let under = |e: &usize| (*e as i64 * base - start) % dilation == 0;
        let found = if base == 1 {
            Some(first + (start - first as i64).rem_euclid(dilation) as usize).filter(|e| *e < end)
        } else {
            (first..end).take(step).find(under)
        };
        match found {
            Some(first) => Run { first, step, count: (end - first).div_ceil(step) },
            None => Run { first, step, count: 0 },
        }
    }

    /// Returns the range of the windows that have an element at each of their positions, among the first
    /// `all` windows. The elements of adjacent windows in this range are `stride` elements apart.
    pub(crate) fn inside(&self, all: usize) -> std::ops::Range<usize> {
        if self.base_dilation != 1 {
            return 0..0;
        }
        let stride = self.stride as i64;
        let span = (self.window as i64 - 1) * self.window_dilation as i64;
        let first = (self.padding.0 + stride - 1).div_euclid(stride).max(0) as usize;
        let last = (self.size as i64 - 1 - span + self.padding.0).div_euclid(stride);
        let end = usize::try_from(last + 1).unwrap_or(0).min(all);
        first.min(end)..end
    }
}
