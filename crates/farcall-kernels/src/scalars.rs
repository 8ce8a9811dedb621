//! Regions on scalars, compiled once and applied to one tuple of elements after another: comparators and
//! reducers that no faster kernel recognizes.
//!
//! ```text
//! a region of plain operations ──tiles──▶ a straight-line program of one element ──link──▶ code over a frame
//! ```
//!
//! A *frame* holds the arguments, results, registers and constants of the program. A caller writes arguments
//! into the frame, applies the region, and reads results.

use std::convert::Infallible;

use farcall_ir::TensorType;

use super::args::Place;
use super::body::Body;
use super::loops::line::Line;
use super::loops::linked::{BASES, Linked, Runner};
use super::loops::lower;
use super::loops::prepared::PreparedKernel;
use super::loops::straight_line::Linking;
use super::types::by_size;

/// Distance in bytes between arguments or results. Multiples of it are aligned for every element type.
const ELEMENT_BYTES: usize = 16;
/// Alignment of registers and constants.
const LINE_BYTES: usize = 64;

/// A compiled region.
pub(super) struct Scalars {
    line: Line,
    args: usize,
    constants: Vec<u8>,
    constants_at: usize,
    frame_bytes: usize,
}

impl Scalars {
    /// Compiles a region; `None` if the region has values or operations that scalar loops do not support.
    pub(super) fn new(body: &Body) -> Option<Scalars> {
        let is_number = |ty: &TensorType| ty.rank() == 0 && ty.quant.is_none();
        if !body.args.iter().chain(body.insts.iter().map(|inst| &inst.ty)).all(is_number) {
            return None;
        }
        let inputs: Vec<&TensorType> = body.args.iter().collect();
        let outputs: Vec<&TensorType> =
            body.returned.iter().map(|value| body.ty(*value)).collect::<Option<_>>()?;
        let prepared: PreparedKernel = lower::tiles(&inputs, body, &outputs)?;
        let line = prepared.line().filter(|_| prepared.scratch() == 0)?;
        let elements = (inputs.len() + outputs.len()).checked_mul(ELEMENT_BYTES)?;
        let registers_at = elements.checked_next_multiple_of(LINE_BYTES)?;
        let constants_at =
            registers_at.checked_add(line.registers())?.checked_next_multiple_of(LINE_BYTES)?;
        let mut constants = vec![0; line.constant_bytes()];
        line.write_constants(&mut constants);
        let frame_bytes = constants_at.checked_add(constants.len())?;
        let at = |offset: usize, size: usize| Place { base: 0, offset, size };
        let place = |(i, ty): (usize, &&TensorType)| at(i * ELEMENT_BYTES, ty.dtype.size());
        let places: Vec<Place> = inputs.iter().chain(&outputs).enumerate().map(place).collect();
        let linking = Linking {
            places: &places,
            inputs: inputs.len(),
            constants: at(constants_at, constants.len()),
            registers: at(registers_at, constants_at - registers_at),
        };
        let mut steps = Vec::new();
        Linked::program(line, &linking, &mut steps)?;
        Some(Scalars {
            line: Line::repeated(steps),
            args: inputs.len(),
            constants,
            constants_at,
            frame_bytes: frame_bytes.checked_next_multiple_of(LINE_BYTES)?,
        })
    }

    /// Size of a frame in bytes. A frame is aligned to a cache line.
    pub(super) fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// Creates a frame in this memory.
    ///
    /// # Safety
    /// `memory` is valid for [`Scalars::frame_bytes`] bytes and aligned to a cache line. Nothing else uses
    /// this memory while the frame is in use.
    pub(super) unsafe fn frame(&self, memory: *mut u8) -> Frame<'_> {
        let constants = &self.constants;
        // SAFETY: the caller guarantees a whole frame, which has room for the constants.
        unsafe {
            memory.add(self.constants_at).copy_from_nonoverlapping(constants.as_ptr(), constants.len());
        }
        Frame { scalars: self, bases: [memory; BASES] }
    }
}

/// Memory in which a region is applied.
pub(super) struct Frame<'a> {
    scalars: &'a Scalars,
    bases: [*mut u8; BASES],
}

impl Frame<'_> {
    /// Returns the address of argument `i`, for writing.
    #[inline(always)]
    pub(super) fn arg(&self, i: usize) -> *mut u8 {
        debug_assert!(i < self.scalars.args, "an argument of the region");
        self.bases[0].wrapping_add(i * ELEMENT_BYTES)
    }

    /// Returns the address of result `i`, for reading.
    #[inline(always)]
    pub(super) fn result(&self, i: usize) -> *const u8 {
        self.bases[0].wrapping_add((self.scalars.args + i) * ELEMENT_BYTES)
    }

    /// Applies the region to the arguments.
    ///
    /// # Safety
    /// The caller has written the arguments that the region uses, as elements of their types.
    #[inline]
    pub(super) unsafe fn apply(&mut self) {
        // SAFETY: the caller has written the arguments; the addresses of the steps are in the frame.
        let Ok(()) = unsafe { self.scalars.line.run(&self.bases, &mut NoLoops) };
    }
}

/// A runner for steps without loops, which need no checks for interrupts.
struct NoLoops;

impl Runner for NoLoops {
    type Error = Infallible;

    fn request_iterations(&mut self, most: u64) -> Result<u64, Infallible> {
        Ok(most)
    }

    fn return_iterations(&mut self, _: u64) {}

    fn kernel(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Copies an element.
pub(super) type CopyElement = unsafe fn(from: *const u8, to: *mut u8);

/// Returns the function that copies an element of this size.
pub(super) fn copy_element(size: usize) -> Option<CopyElement> {
    by_size!(size, T => copy::<T> as CopyElement)
}

/// # Safety
/// `from` is valid for reads and `to` for writes of an aligned element of the size of `T`.
unsafe fn copy<T: Copy>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller guarantees the element on both sides (`# Safety` above).
    unsafe { to.cast::<T>().write(from.cast::<T>().read()) };
}

#[cfg(test)]
mod tests {
    use farcall_ir::op::{Binary, Compare, ComparisonDirection};
    use farcall_ir::{DType, Literal, Op};

    use super::super::BodyInst;
    use super::*;

    /// Compares the results of a region with Rust's arithmetic. The region returns `(a * a + 3) < bitcast(b)`
    /// and `a * a + 3`.
    #[test]
    fn a_region_is_applied_to_several_tuples() {
        let (s32, f32) = (TensorType::scalar(DType::S32), TensorType::scalar(DType::F32));
        let inst = |op: Op, operands: &[usize], ty: &TensorType| BodyInst {
            op,
            operands: operands.to_vec(),
            ty: ty.clone(),
            reducer: None,
        };
        let less = Op::Compare(Compare { direction: ComparisonDirection::Lt, kind: None });
        let insts = vec![
            inst(Op::Binary(Binary::Multiply), &[0, 0], &s32),
            inst(Op::Constant(Literal::from_slice(DType::S32, [], &[3i32])), &[], &s32),
            inst(Op::Binary(Binary::Add), &[2, 3], &s32),
            inst(Op::BitcastConvert, &[1], &s32),
            inst(less, &[4, 5], &TensorType::scalar(DType::Pred)),
        ];
        let body = Body { args: vec![s32, f32], insts, returned: vec![6, 4] };
        let scalars = Scalars::new(&body).unwrap();
        let mut memory = vec![[0u64; 8]; scalars.frame_bytes().div_ceil(64) + 1];
        let begin = memory.as_mut_ptr().cast::<u8>();
        // SAFETY: the memory has room for a frame, and the test writes the arguments before each call.
        unsafe {
            let mut frame = scalars.frame(begin.add(begin.align_offset(LINE_BYTES)));
            for (a, b) in [(2i32, 8i32), (2, 7), (-5, 28), (-5, 29), (1 << 16, 5)] {
                frame.arg(0).cast::<i32>().write(a);
                frame.arg(1).cast::<i32>().write(b);
                frame.apply();
                let sum = a.wrapping_mul(a) + 3;
                assert_eq!(frame.result(0).read(), u8::from(sum < b), "comparison for {a} and {b}");
                assert_eq!(frame.result(1).cast::<i32>().read(), sum, "sum for {a} and {b}");
            }
        }
    }
}
