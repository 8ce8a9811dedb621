//! Straight-line programs: lists of loops over few elements, whose places are known before a run.
//!
//! ```text
//! a tile program of one tile, a movement ──▶ [`StraightLine`] ──link──▶ [`Linked`], part of a [`Line`]
//! ```
//!
//! With few elements, running a kernel takes less time than deciding what to run. A straight-line program
//! therefore has no tiles, tasks or branches, and its constants are written once. It can run like any other
//! kernel, with [`Args`]. The runtime instead *links* the programs of neighbouring thunks: their loops
//! address memory relative to the base addresses of the run, and no work is left between them.

use std::mem::MaybeUninit;
use std::sync::Arc;

use smallvec::SmallVec;

use super::args::{Args, Place, Prepared};
use super::dynamic_slice::Index;
use super::linked::{self, Address, Linked};
use super::loops::expression::Expr;
use super::map::{Operand, VectorLoop};
use super::movement::Movement;
use super::simd::vectorized;
use super::types::by_size;
use crate::cache::CACHE_LINE_BYTES;

/// Maximum number of bytes of a program's registers, which may be on the stack.
pub(super) const MAX_REGISTER_BYTES: usize = 32 << 10;
/// Maximum number of moved bytes for which a movement is a straight-line program.
pub(super) const MAX_MOVEMENT_BYTES: usize = 4096;

/// A place that a step reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum At {
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

struct Step {
    work: VectorLoop,
    places: Places,
    n: usize,
    what: What,
}

/// Description of a step, from which code can be generated without its loop.
#[derive(Clone)]
#[cfg_attr(
    not(all(target_arch = "x86_64", unix)),
    expect(dead_code, reason = "only read where machine code is generated")
)]
pub(super) enum What {
    /// No description: only the loop can compute the step.
    Other,
    /// Copies elements of this number of bytes.
    Copy(usize),
    /// Repeats the first element of the first operand. Its size is this number of bytes.
    Splat(usize),
    /// An expression over the operands.
    Compute(Arc<Expr>),
    /// Movements, each of a different operand.
    Moves(Arc<[Moves]>),
    /// A movement of the first operand, shifted by indices in the other operands. The shift applies to the
    /// source if true, else to the destination.
    Window(Arc<Window>, bool),
}

/// A movement that is shifted by indices.
pub(super) struct Window {
    pub(super) moves: Moves,
    pub(super) indices: SmallVec<[Index; 2]>,
}

/// The places that a step reads and writes.
#[derive(Clone, Copy)]
struct Places {
    /// Operands; true for operands with one element that is repeated.
    from: [(At, bool); 3],
    to: At,
}

/// A kernel as a sequence of steps.
#[derive(Default)]
pub struct StraightLine {
    steps: Vec<Step>,
    constants: Vec<Aligned<CACHE_LINE_BYTES>>,
    registers: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Aligned<const N: usize>([MaybeUninit<u8>; N]);

impl StraightLine {
    /// Creates a program without steps that has this number of bytes of registers; `None` if these are too
    /// many.
    pub(super) fn new(registers: usize) -> Option<StraightLine> {
        (registers <= MAX_REGISTER_BYTES).then(|| StraightLine { registers, ..StraightLine::default() })
    }

    /// Adds a step: a loop over `n` elements with at most three operands.
    pub(super) fn push(&mut self, work: VectorLoop, from: &[At], to: At, n: usize) {
        let each: Vec<(At, bool)> = from.iter().map(|x| (*x, false)).collect();
        self.push_marked(work, &each, to, n);
    }

    /// Adds a step in which the marked operands have one repeated element.
    pub(super) fn push_marked(&mut self, work: VectorLoop, from: &[(At, bool)], to: At, n: usize) {
        // An absent operand gets an arbitrary place, which the loop does not read.
        let mut all = [(to, false); 3];
        all.iter_mut().zip(from).for_each(|(x, from)| *x = *from);
        self.steps.push(Step { work, places: Places { from: all, to }, n, what: What::Other });
    }

    /// Adds a step that copies `n` elements of `size` bytes, unless source and destination are the same.
    pub(super) fn copy(&mut self, size: usize, from: At, to: At, n: usize) {
        self.push(copies(size), &[from], to, n);
        self.does(What::Copy(size));
    }

    /// Describes the last step.
    pub(super) fn does(&mut self, what: What) {
        if let Some(step) = self.steps.last_mut() {
            step.what = what;
        }
    }

    /// Adds a constant with `n` copies of this element.
    pub(super) fn constant(&mut self, element: &[u8], n: usize) -> At {
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
    pub(super) unsafe fn run(&self, args: &Args<'_>) {
        if self.registers == 0 {
            // SAFETY: the caller guarantees the arguments (`# Safety` above); there are no registers.
            unsafe { self.run_with(args, std::ptr::null_mut()) }
        } else {
            // SAFETY: same requirements as this function.
            unsafe { self.on_stack(args) }
        }
    }

    /// # Safety
    /// Same requirements as [`StraightLine::run`].
    #[inline(never)]
    unsafe fn on_stack(&self, args: &Args<'_>) {
        let mut stack = Aligned::<MAX_REGISTER_BYTES>([const { MaybeUninit::uninit() }; MAX_REGISTER_BYTES]);
        // SAFETY: the caller guarantees the arguments (`# Safety` above); no program has more registers.
        unsafe { self.run_with(args, stack.0.as_mut_ptr().cast()) };
    }

    /// # Safety
    /// Same requirements as [`StraightLine::run`]; `registers` is valid for [`StraightLine::registers`] bytes.
    unsafe fn run_with(&self, args: &Args<'_>, registers: *mut u8) {
        let at = |at: At| -> *mut u8 {
            match at {
                At::Input(i) => args.input_ptr::<u8>(i).cast_mut(),
                At::Output(i) => args.output_ptr(i),
                At::Scratch(offset) => args.ptr(args.scratch_place().from(offset)),
                // SAFETY: the program's creator only uses offsets within the registers that it asked for.
                At::Register(offset) => unsafe { registers.add(offset) },
                // SAFETY: offsets of constants come from `constant`.
                At::Constant(offset) => unsafe { self.constants().cast_mut().add(offset) },
            }
        };
        for step in &self.steps {
            let Places { from, to } = step.places;
            // SAFETY: the caller guarantees the memory of the kernel, and its steps stay within it.
            unsafe { step.work.run(&from.map(|(x, one)| Operand::new(at(x), one)), at(to), step.n) };
        }
    }

    /// Adds the program's steps to a list, for a kernel with these places. `None` if a place is too far from
    /// its base address; then nothing is added.
    pub fn link(&self, linking: &Linking<'_>, to: &mut Vec<Linked>) -> Option<()> {
        let mut steps = Vec::with_capacity(self.steps.len());
        for (step, places) in self.steps.iter().zip(self.without_copies(linking)) {
            let Some(places) = places else { continue };
            let [a, b, c] = places.from.map(|(x, one)| Some((linking.address(x)?, one)));
            let (from, to) = ([a?, b?, c?], linking.address(places.to)?);
            if matches!(step.what, What::Copy(_)) && from[0].0 == to {
                continue;
            }
            let (work, what) = (step.work.clone(), step.what.clone());
            steps.push(Linked::Step(linked::Step { work, from, to, n: step.n, what }));
        }
        to.append(&mut steps);
        Some(())
    }

    /// Returns the places of the steps, without unnecessary copies from registers to outputs (`None`). The
    /// step that writes the register can write the output directly, unless an input that is read later shares
    /// the output's memory.
    fn without_copies(&self, linking: &Linking<'_>) -> Vec<Option<Places>> {
        let mut places: Vec<Option<Places>> = self.steps.iter().map(|step| Some(step.places)).collect();
        for copy in (0..places.len()).filter(|s| matches!(self.steps[*s].what, What::Copy(_))) {
            let Some(Places { from: [(register @ At::Register(_), _), ..], to: output @ At::Output(_) }) =
                places[copy]
            else {
                continue;
            };
            let writes = |place: &Option<Places>| place.is_some_and(|p| p.to == register);
            let Some(made) = places[..copy].iter().rposition(writes) else { continue };
            let mut reads = places[made..copy].iter().flatten().flat_map(|p| p.from);
            let taken = reads.any(|(from, _)| linking.meet(from, output));
            // A uniform value has a block of elements in its register, but may have only one per row in the
            // output.
            if taken || self.steps[made].n != self.steps[copy].n {
                continue;
            }
            places[copy] = None;
            for (s, place) in places.iter_mut().enumerate().skip(made) {
                let Some(place) = place else { continue };
                if s > made {
                    let same = place.from.iter_mut().filter(|x| x.0 == register);
                    same.for_each(|x| x.0 = output);
                    if place.to == register {
                        break;
                    }
                } else {
                    place.to = output;
                }
            }
        }
        places
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

/// Returns a loop that copies elements of `size` bytes. Source and destination are the same, or disjoint.
pub(super) fn copies(size: usize) -> VectorLoop {
    VectorLoop::new(move |[x, ..], to, n| {
        if !std::ptr::eq(x.at, to) {
            // SAFETY: the caller of a step guarantees `n` elements at both places.
            unsafe { copy(x.at, to, n * size) };
        }
    })
}

/// Minimum number of bytes that are copied by the standard library.
const MIN_LIBRARY_COPY_BYTES: usize = 512;

/// Copies bytes. Short copies use parts of the sizes in which loops over elements read: store-to-load
/// forwarding then works when the bytes are read soon after.
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

/// Prepares a kernel that moves the elements of inputs, one after another, to its only output. Elements have
/// `size` bytes.
pub(super) fn movements(size: usize, all: impl IntoIterator<Item = (usize, Movement)>) -> Option<Prepared> {
    let all = all.into_iter().map(|(input, movement)| Some((At::Input(input), Moves::new(movement, size)?)));
    let mut all = all.collect::<Option<Vec<(At, Moves)>>>()?.into_iter();
    let mut line = StraightLine::default();
    while !all.as_slice().is_empty() {
        // As many movements per step as a step has operands.
        let (from, moves): (Vec<At>, Vec<Moves>) = all.by_ref().take(3).unzip();
        let (work, what) = in_one_step(moves);
        line.push(work, &from, At::Output(0), 0);
        line.does(what);
    }
    Some(Prepared::straight(line))
}

/// Returns the loop of up to three movements, each of a different operand.
fn in_one_step(moves: Vec<Moves>) -> (VectorLoop, What) {
    let moves: Arc<[Moves]> = moves.into();
    let what = What::Moves(Arc::clone(&moves));
    let work = VectorLoop::new(move |from, to, _| {
        for (moves, x) in moves.iter().zip(from) {
            // SAFETY: the caller of the step guarantees disjoint tensors of the types that the movements were
            // created for.
            unsafe { moves.run(x.at, to, [0, 0]) };
        }
    });
    (work, what)
}

/// Returns the loop of a movement of elements of `size` bytes from the first operand, shifted by indices in
/// the other operands. The shift applies to the source if `reads`, else to the destination. If `added`,
/// because there are more indices than a step has operands, the last operand is an additional shift in
/// elements.
pub(super) fn moves_shifted(
    size: usize,
    movement: Movement,
    indices: SmallVec<[Index; 2]>,
    added: bool,
    reads: bool,
) -> Option<(VectorLoop, What)> {
    let window = Arc::new(Window { moves: Moves::new(movement, size)?, indices });
    let what = if added { What::Other } else { What::Window(Arc::clone(&window), reads) };
    let work = VectorLoop::new(move |from, to, _| {
        let Window { moves, indices } = &*window;
        // SAFETY: the operands after the first are indices of these types.
        let mut shift: usize =
            indices.iter().zip(&from[1..]).map(|(index, x)| unsafe { index.shift(x) }).sum();
        if added {
            // SAFETY: the previous step has written the number.
            shift += unsafe { from[1 + indices.len()].at.cast::<usize>().read() };
        }
        // SAFETY: the caller of the step guarantees the tensors, and indices are clamped so that the shift
        // fits.
        unsafe { moves.run(from[0].at, to, if reads { [shift, 0] } else { [0, shift] }) };
    });
    Some((work, what))
}

/// Returns the loop that moves elements of `size` bytes: for each operand, pairs of source and destination
/// elements.
pub(super) fn moves_listed(size: usize, pairs: Vec<Vec<[usize; 2]>>) -> Option<(VectorLoop, What)> {
    let moves = pairs.into_iter().map(|pairs| Some(Moves { size, kind: Kind::listed(pairs, size)? }));
    Some(in_one_step(moves.collect::<Option<Vec<Moves>>>().filter(|moves| moves.len() <= 3)?))
}

/// Maximum number of elements in a movement that is stored as a list.
const MAX_LISTED_ELEMENTS: usize = 16;

/// A movement of few elements.
pub(super) struct Moves {
    /// Size of an element in bytes.
    pub(super) size: usize,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// Contiguous elements on both sides: first bytes, and number of bytes.
    Block {
        first: [usize; 2],
        bytes: usize,
    },
    /// The first bytes of each element in source and destination.
    List {
        pairs: Vec<[usize; 2]>,
        run: unsafe fn(&[[usize; 2]], *const u8, *mut u8),
    },
    Other(Movement),
}

impl Kind {
    /// Creates the movement of these pairs of elements, of `size` bytes each.
    fn listed(pairs: Vec<[usize; 2]>, size: usize) -> Option<Kind> {
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
    fn new(movement: Movement, size: usize) -> Option<Moves> {
        let kind = match (movement.block(), movement.pairs(MAX_LISTED_ELEMENTS)) {
            (Some((first, n)), _) => Kind::Block { first: first.map(|x| x * size), bytes: n * size },
            (None, Some(pairs)) => Kind::listed(pairs, size)?,
            (None, None) => Kind::Other(movement),
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
/// At these distances from `x` and `to`, aligned elements of the size of `T` are valid for reads and writes,
/// and they do not overlap.
unsafe fn each<T: Copy>(pairs: &[[usize; 2]], x: *const u8, to: *mut u8) {
    for [src, dst] in pairs {
        // SAFETY: the caller guarantees the elements at these distances (`# Safety` above).
        unsafe { to.add(*dst).cast::<T>().write(x.add(*src).cast::<T>().read()) };
    }
}
