//! Padding around and between elements, of which any range can be written.

use std::ops::Range;

use farcall_ir::TensorType;
use farcall_ir::op::Pad;
use smallvec::SmallVec;

use super::{MAX_EXTENT, MAX_RANK};
use crate::movement::row_major;
use crate::types::by_size;

/// Mapping of an operand's elements to a padded tensor, of which any range can be written.
pub(crate) struct Padded {
    /// From outer to inner, up to the last axis with padding.
    axes: SmallVec<[PaddedAxis; MAX_RANK]>,
    /// Number of elements of the remaining axes.
    block: usize,
    run: unsafe fn(&Padded, *const u8, *mut u8, [usize; 2]),
}

struct PaddedAxis {
    /// Size with padding, and without.
    size: usize,
    count: usize,
    /// Index of the operand's first element on the padded axis, and distance between the operand's elements.
    low: i64,
    step: i64,
    /// Stride in the operand.
    stride: usize,
}

impl PaddedAxis {
    /// Returns the operand's element at an index of the padded axis, or `None` for padding.
    fn element(&self, place: usize) -> Option<usize> {
        let at = place as i64 - self.low;
        let element = if self.step == 1 { at } else { at / self.step };
        let inside = at >= 0 && element * self.step == at && element < self.count as i64;
        inside.then_some(element as usize)
    }

    /// Returns the operand's elements at the `places` indices of the padded axis from `first` on.
    fn within(&self, first: usize, places: usize) -> Range<usize> {
        let (first, end) = (first as i64 - self.low, (first + places) as i64 - self.low);
        let at = |place: i64| usize::try_from((place + self.step - 1).div_euclid(self.step)).unwrap_or(0);
        at(first).min(self.count)..at(end).min(self.count)
    }

    fn place(&self, element: usize) -> usize {
        (self.low + element as i64 * self.step) as usize
    }
}

/// Returns true if the extents of a padding are in the range that loops support.
pub(crate) fn pads(pad: &Pad) -> bool {
    let mut all = pad.low.iter().chain(&pad.interior);
    all.all(|n| (-MAX_EXTENT..=MAX_EXTENT).contains(n))
}

impl Padded {
    /// Creates the mapping of an operand of type `x` to a padded tensor of type `y`. `None` if `x` or `y` is
    /// empty or too large.
    pub(crate) fn new(x: &TensorType, y: &TensorType, p: &Pad) -> Option<Padded> {
        let rank = x.rank();
        let fits = [y.rank(), p.low.len(), p.high.len(), p.interior.len()] == [rank; 4] && x.dtype == y.dtype;
        let known = pads(p) && p.interior.iter().all(|n| *n >= 0);
        let has_some = |t: &TensorType| t.elements().is_some_and(|n| n > 0 && n < MAX_EXTENT as usize);
        (fits && known && has_some(x) && has_some(y)).then_some(())?;
        let is_whole = |d: usize| {
            let [from, to] = [x, y].map(|t| t.sizes()[d]);
            p.low[d] == 0 && from == to && (p.interior[d] == 0 || from == 1)
        };
        let padded = (0..rank).rev().find(|d| !is_whole(*d)).map_or(0, |d| d + 1);
        (padded <= MAX_RANK).then_some(())?;
        let strides = row_major(x.sizes());
        let axes = (0..padded)
            .map(|d| PaddedAxis {
                size: y.sizes()[d],
                count: x.sizes()[d],
                low: p.low[d],
                step: p.interior[d] + 1,
                stride: strides[d].unsigned_abs(),
            })
            .collect();
        let run = by_size!(y.dtype.size(), T => inside_of::<T> as unsafe fn(&Padded, *const u8, *mut u8, [usize; 2]))?;
        Some(Padded { axes, block: y.sizes()[padded..].iter().product(), run })
    }

    /// Number of elements that are written contiguously.
    pub(crate) fn run_length(&self) -> usize {
        self.axes
            .last()
            .map_or(self.block, |last| if last.step == 1 { last.size * self.block } else { self.block })
    }

    /// Writes `len` elements of the padded tensor from `start` on, except for the padding.
    ///
    /// # Safety
    /// `from` is a tensor of the type that this was created for. `to` is valid for writes of `len` elements,
    /// which the padded tensor has from `start` on.
    pub(crate) unsafe fn run(&self, from: *const u8, to: *mut u8, [start, len]: [usize; 2]) {
        // SAFETY: the caller guarantees the operand and the elements to write (`# Safety` above).
        unsafe { (self.run)(self, from, to, [start, len]) };
    }
}

/// # Safety
/// Same requirements as [`Padded::run`]; elements have the size of `T`.
unsafe fn inside_of<T: Copy>(padded: &Padded, from: *const u8, to: *mut u8, [start, len]: [usize; 2]) {
    let (from, to, block, end) = (from.cast::<T>(), to.cast::<T>(), padded.block, start + len);
    // Copies elements of the operand to the padded tensor, except for elements outside of the range to write.
    let copy = |source: usize, place: usize, count: usize| {
        let [begin, stop] = [place.max(start), (place + count).min(end)];
        if begin < stop {
            // SAFETY: these elements lie in the operand, and their places are among the elements to write.
            unsafe { copy_short(from.add(source + begin - place), to.add(begin - start), stop - begin) };
        }
    };
    let Some((last, outer)) = padded.axes.split_last() else { return copy(0, 0, block) };
    // Starts with the line that contains element `start`. `index` holds its indices on the outer axes, and
    // `bases[d]` the operand's offset for the first `d` of them, or `None` in the padding.
    let mut first = start / block % last.size;
    let mut line = start / block / last.size;
    let mut index = [0; MAX_RANK];
    let mut rest = line;
    for (i, axis) in index.iter_mut().zip(outer).rev() {
        *i = rest % axis.size;
        rest /= axis.size;
    }
    let mut bases = [Some(0); MAX_RANK + 1];
    let mut changed = 0;
    let whole = last.within(0, last.size);
    loop {
        for d in changed..outer.len() {
            let base = bases[d].zip(outer[d].element(index[d]));
            bases[d + 1] = base.map(|(base, element)| base + element * outer[d].stride);
        }
        let begin = line * last.size * block;
        let places = (last.size - first).min(end.div_ceil(block) - begin / block - first);
        let elements = if places == last.size { whole.clone() } else { last.within(first, places) };
        if let Some(base) = bases[outer.len()].filter(|_| !elements.is_empty()) {
            let source = base + elements.start * last.stride;
            let place = begin + last.place(elements.start) * block;
            if last.step == 1 {
                copy(source, place, elements.len() * block);
            } else if block == 1 {
                for i in 0..elements.len() {
                    // SAFETY: the element lies in the operand, and its place is among the elements to write.
                    unsafe {
                        let to = to.add(place - start + i * last.step as usize);
                        to.write(from.add(source + i * last.stride).read());
                    }
                }
            } else {
                for i in 0..elements.len() {
                    copy(source + i * last.stride, place + i * last.step as usize * block, block);
                }
            }
        }
        if begin + (first + places) * block >= end {
            return;
        }
        (first, line, changed) = (0, line + 1, 0);
        for d in (0..outer.len()).rev() {
            index[d] += 1;
            if index[d] < outer[d].size {
                changed = d;
                break;
            }
            index[d] = 0;
        }
    }
}

/// Copies elements; optimized for small counts.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `n` elements, and they do not overlap.
#[inline]
unsafe fn copy_short<T: Copy>(from: *const T, to: *mut T, n: usize) {
    // SAFETY: the caller guarantees `n` elements on both sides.
    unsafe {
        if n > 16 {
            return std::ptr::copy_nonoverlapping(from, to, n);
        }
        for i in 0..n {
            to.add(i).write(from.add(i).read());
        }
    }
}

#[cfg(test)]
mod tests {
    use farcall_ir::DType;

    use super::*;
    use crate::tests::Random;

    /// Compares parts of padded tensors with their elements, computed one by one.
    #[test]
    fn parts_of_padded_tensors() {
        let mut r = Random(1);
        let mut below = |n: usize| r.below(n);
        let mut checked = 0;
        for _ in 0..4000 {
            let rank = 1 + below(3);
            let mut sizes = || (0..rank).map(|_| 1 + below(4)).collect::<Vec<usize>>();
            let from = sizes();
            let plain = below(3);
            let mut edge = |d: usize| if d % 3 == plain { 0 } else { below(5) as i64 - 2 };
            let [low, high]: [Vec<i64>; 2] = [0; 2].map(|_| (0..rank).map(&mut edge).collect());
            let interior: Vec<i64> =
                (0..rank).map(|d| if d % 3 == plain { 0 } else { below(3) as i64 }).collect();
            let size = |d: usize| low[d] + high[d] + from[d] as i64 + (from[d] as i64 - 1) * interior[d];
            let Some(to) = (0..rank)
                .map(|d| usize::try_from(size(d)).ok().filter(|n| *n > 0))
                .collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            let [x, y] = [&from, &to].map(|sizes| TensorType::new(DType::U16, sizes.clone()));
            let pad = Pad { low: low.clone(), high, interior: interior.clone() };
            let padded = Padded::new(&x, &y, &pad).unwrap();
            let elements: Vec<u16> = (1..=x.elements().unwrap() as u16).collect();
            let wanted: Vec<u16> = (0..y.elements().unwrap())
                .map(|number| {
                    let (mut rest, mut at, mut stride) = (number, 0, 1);
                    for d in (0..rank).rev() {
                        let place = (rest % to[d]) as i64 - low[d];
                        rest /= to[d];
                        let element = place.div_euclid(interior[d] + 1);
                        if place < 0 || place % (interior[d] + 1) != 0 || element >= from[d] as i64 {
                            return 0;
                        }
                        at += element as usize * stride;
                        stride *= from[d];
                    }
                    elements[at]
                })
                .collect();
            let start = below(wanted.len());
            let len = 1 + below(wanted.len() - start);
            let mut found = vec![0u16; len];
            // SAFETY: the tensor has the type that `padded` was created for, and `found` has room for the
            // elements.
            unsafe { padded.run(elements.as_ptr().cast(), found.as_mut_ptr().cast(), [start, len]) };
            assert_eq!(found, wanted[start..start + len], "{pad:?} of {from:?}, {len} from {start}");
            checked += 1;
        }
        assert!(checked > 2000, "{checked} of 4000");
    }
}
