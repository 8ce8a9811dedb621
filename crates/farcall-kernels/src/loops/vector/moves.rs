//! Movements of few elements. The positions of the elements are known before a run, or are shifted by
//! indices.

use std::sync::Arc;

use farcall_ir::DType;
use smallvec::SmallVec;

use super::{Operand, VectorLoop};
use crate::movement::Movement;
use crate::simd::vectorized;
use crate::types::{ReadIndex, by_size};

/// A movement of the first operand, shifted by indices in the other operands.
pub(crate) struct Window {
    pub(crate) moves: Moves,
    pub(crate) indices: SmallVec<[Index; 2]>,
    /// True if the indices shift the source; false if they shift the destination.
    pub(crate) reads: bool,
    /// True if the last operand is an additional shift in elements, because there are more indices than a
    /// step has operands.
    pub(crate) added: bool,
}

/// A start index: rules for reading it, clamping it and converting it to a shift.
#[derive(Clone, Copy)]
pub(crate) struct Index {
    #[cfg_attr(
        not(all(target_arch = "x86_64", unix)),
        expect(dead_code, reason = "only read where machine code is generated")
    )]
    pub(crate) dtype: DType,
    pub(crate) read: ReadIndex,
    /// The largest index that keeps the window inside the tensor. The index is clamped to the range from 0 to
    /// this limit.
    pub(crate) limit: usize,
    /// Stride in elements.
    pub(crate) stride: usize,
}

impl Index {
    /// Returns the number of elements by which an index shifts the window.
    ///
    /// # Safety
    /// `at` is valid for the read of an aligned element of the index's type.
    #[inline(always)]
    pub(crate) unsafe fn shift(&self, at: &Operand) -> usize {
        // SAFETY: the caller guarantees the element (`# Safety` above).
        self.stride * unsafe { (self.read)(at.at, self.limit) }
    }
}

/// Returns the code that copies elements of `size` bytes. Source and destination are the same, or disjoint.
pub(crate) fn copying(size: usize) -> VectorLoop {
    VectorLoop::new(move |[x, ..], to, n| {
        if !std::ptr::eq(x.at, to) {
            // SAFETY: the caller of the loop guarantees `n` elements at both places.
            unsafe { copy(x.at, to, n * size) };
        }
    })
}

/// Returns the code of up to three movements, each of a different operand.
pub(crate) fn moving(moves: Arc<[Moves]>) -> VectorLoop {
    VectorLoop::new(move |from, to, _| {
        for (moves, x) in moves.iter().zip(from) {
            // SAFETY: the caller of the loop guarantees disjoint tensors of the types that the movements were
            // created for.
            unsafe { moves.run(x.at, to, [0, 0]) };
        }
    })
}

/// Returns the code of a window.
pub(crate) fn shifted(window: Arc<Window>) -> VectorLoop {
    VectorLoop::new(move |from, to, _| {
        let Window { moves, indices, reads, added } = &*window;
        // SAFETY: the operands after the first are indices of these types.
        let mut shift: usize =
            indices.iter().zip(&from[1..]).map(|(index, x)| unsafe { index.shift(x) }).sum();
        if *added {
            // SAFETY: an earlier step has written the additional shift.
            shift += unsafe { from[1 + indices.len()].at.cast::<usize>().read() };
        }
        // SAFETY: the caller of the loop guarantees the tensors, and indices are clamped so that the shift
        // fits.
        unsafe { moves.run(from[0].at, to, if *reads { [shift, 0] } else { [0, shift] }) };
    })
}

/// Returns the code that writes the shift by an index, plus the shift in the second operand if `adds`.
pub(crate) fn shift_sum(index: Index, adds: bool) -> VectorLoop {
    VectorLoop::new(move |[i, before, _], to, _| {
        // SAFETY: an earlier step has written the sum.
        let before = if adds { unsafe { before.at.cast::<usize>().read() } } else { 0 };
        let to = to.cast::<usize>();
        // SAFETY: the register has room for the sum, and the operand is an index of this type.
        unsafe { to.write(before + index.shift(i)) };
    })
}

/// Minimum number of bytes that are copied by the standard library.
const MIN_LIBRARY_COPY_BYTES: usize = 512;

/// Copies bytes. A short copy is made in pieces as large as the reads of loops over elements, so that the
/// processor can forward the stored bytes to a loop that reads them soon after.
///
/// # Safety
/// `x` is valid for reads and `to` for writes of this number of bytes, and they do not overlap.
#[inline(always)]
unsafe fn copy(x: *const u8, to: *mut u8, bytes: usize) {
    if bytes >= MIN_LIBRARY_COPY_BYTES {
        // SAFETY: the caller guarantees both sides for `bytes` bytes without overlap (`# Safety` above).
        return unsafe { x.copy_to_nonoverlapping(to, bytes) };
    }
    let mut at = 0;
    macro_rules! part {
        ($part:ty) => {
            // SAFETY: at least this number of bytes remain, and any bytes are a valid integer.
            unsafe { to.add(at).cast::<$part>().write_unaligned(x.add(at).cast::<$part>().read_unaligned()) };
            at += size_of::<$part>();
        };
    }
    if bytes >= 32 {
        at = vectorized(
            #[inline(always)]
            move || {
                while at + 64 <= bytes {
                    part!([u64; 8]);
                }
                if at + 32 <= bytes {
                    part!([u64; 4]);
                }
                at
            },
        );
    }
    if bytes & 16 != 0 {
        part!([u64; 2]);
    }
    if bytes & 8 != 0 {
        part!(u64);
    }
    if bytes & 4 != 0 {
        part!(u32);
    }
    while at < bytes {
        part!(u8);
    }
}

/// Maximum number of elements in a movement that is stored as a list.
const MAX_LISTED_ELEMENTS: usize = 16;

/// A movement of few elements.
pub(crate) struct Moves {
    /// Size of an element in bytes.
    pub(crate) size: usize,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    /// Contiguous elements on both sides: offsets of the first bytes, and number of bytes.
    Block {
        first: [usize; 2],
        bytes: usize,
    },
    /// The byte offsets of each element in source and destination.
    List {
        pairs: Vec<[usize; 2]>,
        run: unsafe fn(&[[usize; 2]], *const u8, *mut u8),
    },
    Other(Movement),
}

impl Kind {
    /// Creates the movement of these pairs of elements, of `size` bytes each.
    pub(crate) fn listed(pairs: Vec<[usize; 2]>, size: usize) -> Option<Kind> {
        let bytes = |[src, dst]: [usize; 2]| [src * size, dst * size];
        if pairs.windows(2).all(|p| p[0].map(|x| x + 1) == p[1]) {
            let first = pairs.first().map_or([0, 0], |p| bytes(*p));
            return Some(Kind::Block { first, bytes: pairs.len() * size });
        }
        let run = by_size!(size, T => each::<T> as unsafe fn(&[[usize; 2]], *const u8, *mut u8))?;
        Some(Kind::List { pairs: pairs.into_iter().map(bytes).collect(), run })
    }
}

impl Moves {
    pub(crate) fn new(movement: Movement) -> Option<Moves> {
        let (size, count) = (movement.size(), movement.count());
        let kind = match movement.block() {
            Some((first, n)) => Kind::Block { first: first.map(|x| x * size), bytes: n * size },
            None if count <= MAX_LISTED_ELEMENTS => Kind::listed(movement.pairs(0..count), size)?,
            None => Kind::Other(movement),
        };
        Some(Moves { size, kind })
    }

    /// # Safety
    /// Same requirements as [`Movement::run_shifted`].
    #[inline(always)]
    unsafe fn run(&self, x: *const u8, to: *mut u8, shift: [usize; 2]) {
        let [src, dst] = shift.map(|elements| elements * self.size);
        // SAFETY: the caller guarantees the elements that the movement moves (`# Safety` above).
        unsafe {
            match &self.kind {
                Kind::Block { first, bytes } => {
                    copy(x.add(src + first[0]), to.add(dst + first[1]), *bytes);
                }
                Kind::List { pairs, run } => run(pairs, x.add(src), to.add(dst)),
                Kind::Other(movement) => movement.run_shifted(x, to, shift),
            }
        }
    }
}

/// # Safety
/// For each pair, an aligned element of the size of `T` is valid for reads at the first byte offset from `x`,
/// and for writes at the second byte offset from `to`. No written element overlaps an element that is read.
unsafe fn each<T: Copy>(pairs: &[[usize; 2]], x: *const u8, to: *mut u8) {
    for [src, dst] in pairs {
        // SAFETY: the caller guarantees the elements at these distances (`# Safety` above).
        unsafe { to.add(*dst).cast::<T>().write(x.add(*src).cast::<T>().read()) };
    }
}
