//! `pad`: elements around and between those of the operand.

use farcall_ir::op::Pad;
use farcall_ir::{Op, TensorType};

use smallvec::SmallVec;

use super::args::Prepared;
use super::movement::{Axis, Movement, fill, row_major};
use super::types::by_size;
use super::{Kernel, Request, apart, nothing, straight_line};

pub(super) static KERNEL: Kernel = Kernel { name: "pad", prepare, in_place: apart, describe: nothing };

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Pad(p), [x, value], [y]) = (request.op, request.inputs, request.outputs) else { return None };
    if x.dtype != y.dtype || value.dtype != y.dtype || value.elements() != Some(1) {
        return None;
    }
    let filling = Movement::new([value, y], fill(y, |_| 0), [0, 0])?;
    let inside = inside(x, y, p)?;
    if y.bytes().is_some_and(|n| n <= straight_line::SMALL) {
        return straight_line::movements(y.dtype.size(), [(1, filling), (0, inside)]);
    }
    Some(Prepared::new(move |args| {
        // SAFETY: tensors of these types; the output is apart from both inputs.
        unsafe {
            filling.run(args.input_ptr(1), args.output_ptr(0));
            inside.run(args.input_ptr(0), args.output_ptr(0));
        }
    }))
}

/// The movement of the operand's elements to their places.
fn inside(x: &TensorType, y: &TensorType, p: &Pad) -> Option<Movement> {
    let rank = x.rank();
    if [y.rank(), p.low.len(), p.interior.len()] != [rank; 3] || p.interior.iter().any(|i| *i < 0) {
        return None;
    }
    let (src_strides, dst_strides) = (row_major(x.sizes()), row_major(y.sizes()));
    let (mut axes, mut src, mut dst) = (Vec::new(), 0usize, 0usize);
    for (d, size) in x.sizes().iter().enumerate() {
        // Element `i` goes to `low + i * step`; those that fall outside are cut off.
        let step = i128::from(p.interior[d]) + 1;
        let (low, end) = (i128::from(p.low[d]), y.sizes()[d] as i128);
        let first = if low < 0 { (-low + step - 1) / step } else { 0 };
        let last = ((end - 1 - low).div_euclid(step)).min(*size as i128 - 1);
        let size = usize::try_from(last - first + 1).unwrap_or(0);
        // Where nothing is left, no element of the operand is moved at all.
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

/// Dimensions of what is padded in a fusion at most.
const MAX_AXES: usize = 8;

/// Sizes of padding at most.
const MOST: i64 = 1 << 40;

/// The places of an operand's elements in a padded tensor, for some elements of that at a time.
pub(super) struct Padded {
    /// From outer to inner, up to the last one that has padding.
    axes: SmallVec<[PaddedAxis; MAX_AXES]>,
    /// Elements of the others.
    block: usize,
    run: unsafe fn(&Padded, *const u8, *mut u8, [usize; 2]),
}

struct PaddedAxis {
    /// With padding, and without.
    size: usize,
    count: usize,
    /// The place of the first element, and the distance of neighbours there.
    low: i64,
    step: i64,
    /// The distance of neighbours in the operand.
    stride: usize,
}

impl PaddedAxis {
    /// The elements that have places among so many from one on.
    fn within(&self, first: usize, places: usize) -> std::ops::Range<usize> {
        let (first, end) = (first as i64 - self.low, (first + places) as i64 - self.low);
        let at = |place: i64| usize::try_from((place + self.step - 1).div_euclid(self.step)).unwrap_or(0);
        at(first).min(self.count)..at(end).min(self.count)
    }

    fn place(&self, element: usize) -> usize {
        (self.low + element as i64 * self.step) as usize
    }
}

impl Padded {
    /// Of an operand of type `x`, to a tensor of type `y`, which has elements.
    pub(super) fn new(x: &TensorType, y: &TensorType, p: &Pad) -> Option<Padded> {
        let rank = x.rank();
        let fits = [y.rank(), p.low.len(), p.high.len(), p.interior.len()] == [rank; 4] && x.dtype == y.dtype;
        let small = |n: &i64| (-MOST..=MOST).contains(n);
        let known = p.low.iter().chain(&p.interior).all(small) && p.interior.iter().all(|n| *n >= 0);
        let counts = x.elements().zip(y.elements()).is_some_and(|(x, y)| x.max(y) < MOST as usize && y > 0);
        (fits && known && counts).then_some(())?;
        let is_whole = |d: usize| {
            let [from, to] = [x, y].map(|t| t.sizes()[d]);
            p.low[d] == 0 && from == to && (p.interior[d] == 0 || from == 1)
        };
        let padded = (0..rank).rev().find(|d| !is_whole(*d)).map_or(0, |d| d + 1);
        (padded <= MAX_AXES).then_some(())?;
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

    /// Writes those elements that are not padding, of so many from a number on.
    ///
    /// # Safety
    /// `from` is a tensor that this was made for; `len` elements can be written, which the padded tensor has from
    /// `start` on.
    pub(super) unsafe fn run(&self, from: *const u8, to: *mut u8, [start, len]: [usize; 2]) {
        // SAFETY: the caller's promise.
        unsafe { (self.run)(self, from, to, [start, len]) };
    }
}

/// # Safety
/// As [`Padded::run`]; elements are of the size of `T`.
unsafe fn inside_of<T: Copy>(padded: &Padded, from: *const u8, to: *mut u8, [start, len]: [usize; 2]) {
    let (from, to, block, end) = (from.cast::<T>(), to.cast::<T>(), padded.block, start + len);
    // SAFETY: elements of the operand, with places among those that are written.
    let copy = |source: usize, place: usize, count: usize| unsafe {
        let [begin, stop] = [place.max(start), (place + count).min(end)];
        if begin < stop {
            let from = from.add(source + begin - place);
            std::ptr::copy_nonoverlapping(from, to.add(begin - start), stop - begin);
        }
    };
    let Some((last, outer)) = padded.axes.split_last() else { return copy(0, 0, block) };
    let mut at = start;
    while at < end {
        let (line, first) = (at / block / last.size, at / block % last.size);
        let places = (last.size - first).min(end.div_ceil(block) - at / block);
        let begin = line * last.size * block;
        at = begin + (first + places) * block;
        let (mut rest, mut base) = (line, Some(0));
        for axis in outer.iter().rev() {
            let element = axis.within(rest % axis.size, 1);
            rest /= axis.size;
            let inside = base.filter(|_| !element.is_empty());
            base = inside.map(|base| base + element.start * axis.stride);
        }
        let (Some(base), elements) = (base, last.within(first, places)) else { continue };
        if last.step == 1 && !elements.is_empty() {
            let place = begin + last.place(elements.start) * block;
            copy(base + elements.start * last.stride, place, elements.len() * block);
            continue;
        }
        for element in elements {
            copy(base + element * last.stride, begin + last.place(element) * block, block);
        }
    }
}
