//! Straight-line programs: lists of loops over few elements, whose places are known before a run.
//!
//! ```text
//! a tile program of one tile, a movement ──▶ [`StraightLine`] ──link──▶ steps, part of a `Line`
//! ```
//!
//! For few elements, the computation takes less time than the decisions before it. A straight-line program
//! therefore has no tiles, tasks or branches, and its constants are written once. It can run like any other
//! kernel, with [`Args`]. The runtime, however, *links* the programs of neighboring thunks: their steps
//! address memory relative to the base addresses of the run, and follow one another without work in between.

use std::mem::MaybeUninit;
use std::sync::Arc;

use smallvec::SmallVec;

use super::ir::{Access, Address, LoopOp, LoopStep};
use super::vector::moves::{Index, Moves, Window, copying, moving, shift_sum, shifted};
use super::vector::{Operand, VectorLoop};
use crate::args::{Args, Place};
use crate::cache::CACHE_LINE_BYTES;

/// Maximum number of bytes of a program's registers, which may be on the stack.
pub(crate) const MAX_REGISTER_BYTES: usize = 32 << 10;
/// Maximum number of moved bytes for which a movement is a straight-line program.
pub(crate) const MAX_MOVEMENT_BYTES: usize = 4096;

/// A place that a step reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum At {
    /// Start of an input of the kernel.
    Input(usize),
    /// Start of an output.
    Output(usize),
    /// Byte offset in the kernel's scratch memory.
    Scratch(usize),
    /// Byte offset in the program's registers.
    Register(usize),
    /// Byte offset in the program's constants.
    Constant(usize),
}

/// A kernel as a sequence of steps.
#[derive(Default)]
pub struct StraightLine {
    steps: Vec<LoopStep<At>>,
    constants: Vec<Aligned<CACHE_LINE_BYTES>>,
    registers: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Aligned<const N: usize>([MaybeUninit<u8>; N]);

impl StraightLine {
    /// Creates a program without steps that has this number of bytes of registers; `None` if these are too
    /// many.
    pub(crate) fn new(registers: usize) -> Option<StraightLine> {
        (registers <= MAX_REGISTER_BYTES).then(|| StraightLine { registers, ..StraightLine::default() })
    }

    /// Adds a step that computes `n` elements of `bytes` bytes.
    ///
    /// # Panics
    /// If there are more than three operands.
    pub(crate) fn push(
        &mut self,
        (code, op): (VectorLoop, Arc<LoopOp>),
        from: &[(At, Access)],
        to: At,
        [n, bytes]: [usize; 2],
    ) {
        let mut all = [(to, Access::Each); 3];
        all[..from.len()].copy_from_slice(from);
        self.steps.push(LoopStep { code, op, from: all, to, n, bytes });
    }

    /// Adds a step that copies `n` elements of `bytes` bytes, unless source and destination are the same.
    pub(crate) fn copy(&mut self, bytes: usize, from: At, to: At, n: usize) {
        self.push((copying(bytes), Arc::new(LoopOp::Copy)), &[(from, Access::Each)], to, [n, bytes]);
    }

    /// Adds movements, each of a different operand. There are at most three.
    pub(crate) fn moves(&mut self, moves: Vec<Moves>, from: &[At], to: At) {
        let moves: Arc<[Moves]> = moves.into();
        let code = (moving(Arc::clone(&moves)), Arc::new(LoopOp::Move(moves)));
        self.push(code, &each(from), to, [0, 0]);
    }

    /// Adds the movement of a window. In `from`, the moved operand comes first, then the indices.
    pub(crate) fn window(&mut self, window: Window, from: &[At], to: At) {
        let window = Arc::new(window);
        let code = (shifted(Arc::clone(&window)), Arc::new(LoopOp::Window(window)));
        self.push(code, &each(from), to, [0, 0]);
    }

    /// Adds a step that computes the number of elements by which an index shifts a window. If there is a
    /// second operand, it is the sum of earlier shifts, which the step adds.
    pub(crate) fn shift(&mut self, index: Index, from: &[At], to: At) {
        let code = shift_sum(index, from.len() > 1);
        self.push((code, Arc::new(LoopOp::Shift)), &each(from), to, [1, size_of::<usize>()]);
    }

    /// Adds a constant with `n` copies of this element.
    pub(crate) fn constant(&mut self, element: &[u8], n: usize) -> At {
        let begin = self.constants.len();
        self.constants.extend(element.repeat(n).chunks(CACHE_LINE_BYTES).map(|part| {
            let mut line = [0; CACHE_LINE_BYTES];
            line[..part.len()].copy_from_slice(part);
            Aligned(line.map(MaybeUninit::new))
        }));
        At::Constant(begin * CACHE_LINE_BYTES)
    }

    /// Returns the address of the constants, aligned as at run time.
    fn constants(&self) -> *const u8 {
        self.constants.as_ptr().cast()
    }

    /// Size of the constants in bytes.
    pub fn constant_bytes(&self) -> usize {
        self.constants.len() * CACHE_LINE_BYTES
    }

    /// Writes the constants.
    ///
    /// # Panics
    /// If `to` is too small.
    pub fn write_constants(&self, to: &mut [u8]) {
        let to = &mut to[..self.constant_bytes()];
        // SAFETY: the constants have `constant_bytes` initialized bytes.
        unsafe { self.constants().copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    }

    /// Size of the registers in bytes.
    pub fn registers(&self) -> usize {
        self.registers
    }

    /// Runs the program alone.
    ///
    /// # Safety
    /// The arguments are memory of the kernel that the program was created for.
    pub(crate) unsafe fn run(&self, args: &Args<'_>) {
        // A function of its own, so that programs without registers do not need this much stack memory.
        #[inline(never)]
        unsafe fn on_stack(line: &StraightLine, args: &Args<'_>) {
            let mut stack =
                Aligned::<MAX_REGISTER_BYTES>([const { MaybeUninit::uninit() }; MAX_REGISTER_BYTES]);
            // SAFETY: same requirements as `run`; no program has more than `MAX_REGISTER_BYTES` of registers.
            unsafe { line.run_with(args, stack.0.as_mut_ptr().cast()) };
        }
        // SAFETY: the caller guarantees the arguments (`# Safety` above).
        unsafe {
            match self.registers {
                0 => self.run_with(args, std::ptr::null_mut()),
                _ => on_stack(self, args),
            }
        }
    }

    /// # Safety
    /// Same requirements as [`StraightLine::run`]; `registers` is valid for [`StraightLine::registers`]
    /// bytes.
    unsafe fn run_with(&self, args: &Args<'_>, registers: *mut u8) {
        let at = |at: At| -> *mut u8 {
            match at {
                At::Input(i) => args.input_ptr::<u8>(i).cast_mut(),
                At::Output(i) => args.output_ptr(i),
                At::Scratch(offset) => args.ptr(args.scratch_place().from(offset)),
                // SAFETY: the creator of the program only uses offsets within the registers that it
                // requested.
                At::Register(offset) => unsafe { registers.add(offset) },
                // SAFETY: offsets of constants come from `constant`.
                At::Constant(offset) => unsafe { self.constants().cast_mut().add(offset) },
            }
        };
        for step in &self.steps {
            let from = step.from.map(|(x, access)| Operand::new(at(x), access == Access::Uniform));
            // SAFETY: the caller guarantees the memory of the kernel, and its steps stay within it.
            unsafe { step.code.run(&from, at(step.to), step.n) };
        }
    }

    /// Returns the program's steps for a kernel with these places. `None` if a place is too far from its base
    /// address.
    pub fn link(&self, linking: &Linking<'_>) -> Option<Vec<LoopStep<Address>>> {
        let steps = self.with_direct_outputs(linking);
        let mut steps: Vec<LoopStep<Address>> =
            steps.iter().map(|step| step.at(|place| linking.address(place))).collect::<Option<_>>()?;
        steps.retain(|step| !matches!(*step.op, LoopOp::Copy) || step.from[0].0 != step.to);
        Some(steps)
    }

    /// Returns the program's steps, changed so that fewer copies remain: a step whose register is later
    /// copied to an output writes the output directly. The step stays unchanged if a step before the copy
    /// still reads an input that shares memory with the output. A copy that becomes unnecessary then copies
    /// the output to itself, and [`link`](StraightLine::link) removes it.
    fn with_direct_outputs(&self, linking: &Linking<'_>) -> Vec<LoopStep<At>> {
        let mut steps: Vec<LoopStep<At>> = self.steps.iter().filter_map(|step| step.at(Some)).collect();
        for copy in (0..steps.len()).filter(|s| matches!(*self.steps[*s].op, LoopOp::Copy)) {
            let ([(register @ At::Register(_), _), ..], output @ At::Output(_)) =
                (steps[copy].from, steps[copy].to)
            else {
                continue;
            };
            let Some(made) = steps[..copy].iter().rposition(|step| step.to == register) else { continue };
            let mut reads = steps[made..copy].iter().flat_map(|step| step.from);
            let taken = reads.any(|(from, _)| linking.meet(from, output));
            // A uniform value has a block of elements in its register, but may have only one per row in the
            // output.
            if taken || steps[made].n != steps[copy].n {
                continue;
            }
            steps[made].to = output;
            for step in &mut steps[made + 1..] {
                let same = step.from.iter_mut().filter(|x| x.0 == register);
                same.for_each(|x| x.0 = output);
                if step.to == register {
                    break;
                }
            }
        }
        steps
    }
}

/// The places of a kernel whose program is linked.
pub struct Linking<'a> {
    /// Places of inputs, outputs and scratch memory.
    pub places: &'a [Place],
    /// Number of inputs among the places.
    pub inputs: usize,
    /// Place of the program's constants, which have been written.
    pub constants: Place,
    /// Place of the registers.
    pub registers: Place,
}

impl Linking<'_> {
    /// Returns true if an input overlaps an output.
    fn meet(&self, from: At, output: At) -> bool {
        let (At::Input(i), At::Output(o)) = (from, output) else { return false };
        let (x, y) = (self.places[i], self.places[self.inputs + o]);
        x.base == y.base && x.offset < y.offset + y.size && y.offset < x.offset + x.size
    }

    fn address(&self, at: At) -> Option<Address> {
        let place = match at {
            At::Input(i) => self.places[i],
            At::Output(i) => self.places[self.inputs + i],
            At::Scratch(offset) => self.places.last()?.from(offset),
            At::Register(offset) => self.registers.from(offset),
            At::Constant(offset) => self.constants.from(offset),
        };
        Address::of(place)
    }
}

/// Marks operands that have one element for each result.
fn each(from: &[At]) -> SmallVec<[(At, Access); 3]> {
    from.iter().map(|x| (*x, Access::Each)).collect()
}
