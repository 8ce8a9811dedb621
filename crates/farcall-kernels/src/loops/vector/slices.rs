//! Concatenations of slices of operands, as in a rotation.

use std::ops::Range;

use farcall_ir::TensorType;
use smallvec::SmallVec;

use crate::movement::Movement;

/// A slice of an operand.
#[derive(Clone)]
pub(crate) struct Part {
    /// Number of the operand.
    pub(crate) input: usize,
    /// Type of the slice.
    pub(crate) ty: TensorType,
    /// The movement of its elements, in order.
    pub(crate) movement: Movement,
}

/// Parts of operands, concatenated along a dimension.
pub(crate) struct Parts {
    /// Number of elements after which the sequence of parts repeats.
    period: usize,
    /// For each part: its first element within a period, its number of elements per period, and the part.
    parts: SmallVec<[(usize, usize, Part); 2]>,
}

impl Parts {
    /// Concatenates parts along a dimension of a tensor of this type; `None` if they do not cover it exactly.
    pub(crate) fn new(parts: Vec<Part>, dim: usize, ty: &TensorType) -> Option<Parts> {
        // The number of elements of the tensor bounds all products below.
        ty.elements().filter(|n| *n > 0)?;
        let inner: usize = ty.sizes().get(dim.checked_add(1)?..)?.iter().product();
        let (mut all, mut at) = (SmallVec::new(), 0usize);
        for part in parts {
            let mut sizes = part.ty.sizes().to_vec();
            let along = std::mem::replace(sizes.get_mut(dim)?, ty.sizes()[dim]);
            (along > 0 && part.ty.dtype == ty.dtype && sizes == ty.sizes()).then_some(())?;
            all.push((at * inner, along * inner, part));
            at = at.checked_add(along)?;
        }
        (at == ty.sizes()[dim]).then_some(Parts { period: at * inner, parts: all })
    }

    /// Visits `len` elements from element `start` on, part by part. `visit` gets each part with the numbers
    /// of its elements.
    fn each(&self, [start, len]: [usize; 2], mut visit: impl FnMut(&Part, Range<usize>)) {
        let (mut turn, within) = (start / self.period, start % self.period);
        let mut number = self.parts.partition_point(|(begin, ..)| *begin <= within) - 1;
        let mut skipped = within - self.parts[number].0;
        let mut left = len;
        while left > 0 {
            let (_, own, part) = &self.parts[number];
            let (first, count) = (turn * own + skipped, (own - skipped).min(left));
            visit(part, first..first + count);
            (left, skipped, number) = (left - count, 0, number + 1);
            if number == self.parts.len() {
                (number, turn) = (0, turn + 1);
            }
        }
    }

    /// Copies `len` elements, starting at element `start`.
    ///
    /// # Safety
    /// `operand` returns tensors of the types that the parts were created for, and `to` is valid for writes
    /// of `len` elements. All are aligned for their elements, and `to` does not overlap the operands.
    pub(crate) unsafe fn run(&self, operand: impl Fn(usize) -> *const u8, to: *mut u8, range: [usize; 2]) {
        let mut done = 0;
        self.each(range, |Part { input, movement, .. }, numbers| {
            let count = numbers.len();
            // SAFETY: `numbers` are elements of the part, whose movement is in order and stays in the operand
            // ([`Movement::new`]). There is room for them after the `done` elements before. The caller
            // guarantees alignment and no overlap (`# Safety` above).
            unsafe {
                let to = to.add(done * movement.size());
                movement.run_numbers(operand(*input), to, numbers.start, numbers);
            }
            done += count;
        });
    }

    /// Returns the operands of the first `n` elements, with pairs of source and destination elements for each
    /// operand.
    pub(crate) fn pairs(&self, n: usize) -> Vec<(usize, Vec<[usize; 2]>)> {
        let mut all: Vec<(usize, Vec<[usize; 2]>)> = Vec::new();
        let mut done = 0;
        self.each([0, n], |part, numbers| {
            let i = all.iter().position(|(input, _)| *input == part.input).unwrap_or_else(|| {
                all.push((part.input, Vec::new()));
                all.len() - 1
            });
            let pairs = part.movement.pairs(numbers);
            all[i].1.extend(pairs.iter().zip(done..).map(|([src, _], to)| [*src, to]));
            done += pairs.len();
        });
        all
    }
}
