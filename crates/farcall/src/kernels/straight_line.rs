//! Straight-line programs: a list of loops over few elements, whose places are known before a run.
//!
//! ```text
//! a tile program of one tile, a movement ──▶ [`StraightLine`] ──link──▶ [`Linked`], in a [`Line`](super::Line), by the runtime
//! ```
//!
//! With few elements, a kernel takes less time than finding out what it has to do. A straight-line program has no tiles, no
//! tasks and no branches, and its constants are written once. It runs as any kernel does, by [`Args`]; the runtime
//! *links* the programs of neighbouring thunks instead, so that their loops count their places from the base addresses of
//! the run, and nothing is left between them.

use std::mem::MaybeUninit;
use std::sync::Arc;

use smallvec::SmallVec;

use super::args::{Args, Place, Prepared};
use super::dynamic_slice::Index;
use super::linked::{self, Address, Linked};
use super::map::Operand;
use super::movement::Movement;
use super::pair::Formula;
use super::simd::vectorized;
use super::types::by_size;

/// Bytes of the registers of a program at most: they may lie on the stack.
pub(super) const MOST: usize = 32 << 10;
/// Bytes of what is moved up to which a movement is a straight-line program.
pub(super) const SMALL: usize = 4096;
/// Registers and constants begin at multiples of this.
const LINE: usize = 64;

/// A loop over so many elements: of up to three operands, to a result, as [`Work`](super::map::Work).
pub(super) type Loop = Arc<dyn Fn(&[Operand; 3], *mut u8, usize) + Send + Sync>;

/// Where a step reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum At {
    /// The begin of an input of the kernel.
    Input(usize),
    /// The begin of an output.
    Output(usize),
    /// A byte of its scratch memory.
    Scratch(usize),
    /// A byte of the program's registers.
    Register(usize),
    /// A byte of its constants.
    Constant(usize),
}

struct Step {
    work: Loop,
    places: Places,
    n: usize,
    what: What,
}

/// What a step does, for those that can do it without its loop.
#[derive(Clone)]
#[cfg_attr(
    not(all(target_arch = "x86_64", unix)),
    expect(dead_code, reason = "instructions are made of it, where they are")
)]
pub(super) enum What {
    /// Only the loop knows.
    Other,
    /// Copies elements of so many bytes.
    Copy(usize),
    /// Repeats the first element of the first operand, of so many bytes.
    Splat(usize),
    /// An operation.
    One(Formula),
    /// Two operations, the second one on the result of the first one and the last operand; the other way round, if they are
    /// swapped.
    Two(Formula, Formula, bool),
    /// Movements, each of another operand.
    Moves(Arc<[Moves]>),
    /// A movement of the first operand, shifted by indices, which the other operands are: in what is read, or else in what is
    /// written.
    Window(Arc<Window>, bool),
}

/// A movement that is shifted by indices.
pub(super) struct Window {
    pub(super) moves: Moves,
    pub(super) indices: SmallVec<[Index; 2]>,
}

/// Where a step reads and writes.
#[derive(Clone, Copy)]
struct Places {
    /// With those marked that have one element for all.
    from: [(At, bool); 3],
    to: At,
}

/// What a kernel does, step by step.
#[derive(Default)]
pub(crate) struct StraightLine {
    steps: Vec<Step>,
    constants: Vec<Aligned<LINE>>,
    registers: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Aligned<const N: usize>([MaybeUninit<u8>; N]);

impl StraightLine {
    /// One without steps, that has so many bytes of registers; `None` if these are too many.
    pub(super) fn new(registers: usize) -> Option<StraightLine> {
        (registers <= MOST).then(|| StraightLine { registers, ..StraightLine::default() })
    }

    /// Adds a step: a loop over `n` elements of at most three operands.
    pub(super) fn push(&mut self, work: Loop, from: &[At], to: At, n: usize) {
        let each: Vec<(At, bool)> = from.iter().map(|x| (*x, false)).collect();
        self.push_marked(work, &each, to, n);
    }

    /// The same, where the operands that are marked have one element for all.
    pub(super) fn push_marked(&mut self, work: Loop, from: &[(At, bool)], to: At, n: usize) {
        // An operand that there is not is any place: the loop does not read it.
        let mut all = [(to, false); 3];
        all.iter_mut().zip(from).for_each(|(x, from)| *x = *from);
        self.steps.push(Step { work, places: Places { from: all, to }, n, what: What::Other });
    }

    /// Adds a step that copies `n` elements of so many bytes, unless they are there.
    pub(super) fn copy(&mut self, size: usize, from: At, to: At, n: usize) {
        self.push(copies(size), &[from], to, n);
        self.does(What::Copy(size));
    }

    /// Says what the last step does.
    pub(super) fn does(&mut self, what: What) {
        if let Some(step) = self.steps.last_mut() {
            step.what = what;
        }
    }

    /// `n` times this element.
    pub(super) fn constant(&mut self, element: &[u8], n: usize) -> At {
        let begin = self.constants.len();
        self.constants.extend(element.repeat(n).chunks(LINE).map(|part| {
            let mut line = [0; LINE];
            line[..part.len()].copy_from_slice(part);
            Aligned(line.map(MaybeUninit::new))
        }));
        At::Constant(begin * LINE)
    }

    /// The constants, which lie at a place of this alignment when it runs.
    fn constants(&self) -> *const u8 {
        self.constants.as_ptr().cast()
    }

    /// Bytes of the constants.
    pub(crate) fn constant_bytes(&self) -> usize {
        self.constants.len() * LINE
    }

    /// Writes the constants.
    ///
    /// # Panics
    /// If there is not as much room as they take.
    pub(crate) fn write_constants(&self, to: &mut [u8]) {
        let to = &mut to[..self.constant_bytes()];
        // SAFETY: every byte of a line is there.
        unsafe { self.constants().copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    }

    /// Bytes of the registers.
    pub(crate) fn registers(&self) -> usize {
        self.registers
    }

    /// Runs it by itself.
    pub(super) fn run(&self, args: &Args<'_>) {
        if self.registers == 0 { self.run_with(args, std::ptr::null_mut()) } else { self.on_stack(args) }
    }

    #[inline(never)]
    fn on_stack(&self, args: &Args<'_>) {
        let mut stack = Aligned::<MOST>([const { MaybeUninit::uninit() }; MOST]);
        self.run_with(args, stack.0.as_mut_ptr().cast());
    }

    fn run_with(&self, args: &Args<'_>, registers: *mut u8) {
        let at = |at: At| -> *mut u8 {
            match at {
                At::Input(i) => args.input_ptr::<u8>(i).cast_mut(),
                At::Output(i) => args.output_ptr(i),
                At::Scratch(offset) => args.ptr(args.scratch_place().from(offset)),
                // SAFETY: whoever made the program keeps to the bytes that it has of both.
                At::Register(offset) => unsafe { registers.add(offset) },
                // SAFETY: the same.
                At::Constant(offset) => unsafe { self.constants().cast_mut().add(offset) },
            }
        };
        for step in &self.steps {
            let Places { from, to } = step.places;
            (step.work)(&from.map(|(x, one)| Operand::new(at(x), one)), at(to), step.n);
        }
    }

    /// Adds its steps to a list, for a kernel with these places; `None`, and nothing is added, if a place is too far from
    /// its base address.
    pub(crate) fn link(&self, linking: &Linking<'_>, to: &mut Vec<Linked>) -> Option<()> {
        let mut steps = Vec::with_capacity(self.steps.len());
        for (step, places) in self.steps.iter().zip(self.without_copies(linking)) {
            let Some(places) = places else { continue };
            let [a, b, c] = places.from.map(|(x, one)| Some((linking.address(x)?, one)));
            let (from, to) = ([a?, b?, c?], linking.address(places.to)?);
            if matches!(step.what, What::Copy(_)) && from[0].0 == to {
                continue;
            }
            let (work, what) = (Arc::clone(&step.work), step.what.clone());
            steps.push(Linked::Step(linked::Step { work, from, to, n: step.n, what }));
        }
        to.append(&mut steps);
        Some(())
    }

    /// Where the steps read and write; `None` for copies of registers to outputs that need not be: what makes the register
    /// can write the output itself, unless an input that is still read meanwhile lies there.
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
            // A value that is the same everywhere has more elements in a register than one for each row.
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
pub(crate) struct Linking<'a> {
    /// Inputs, outputs, scratch memory.
    pub(crate) places: &'a [Place],
    /// How many of them are inputs.
    pub(crate) inputs: usize,
    /// Where the program's constants have been written.
    pub(crate) constants: Place,
    /// Where the registers are.
    pub(crate) registers: Place,
}

impl Linking<'_> {
    /// True if an input lies where an output does.
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

/// Copies elements of so many bytes, unless they are there: places are the same, or apart.
pub(super) fn copies(size: usize) -> Loop {
    Arc::new(move |[x, ..], to, n| {
        if !std::ptr::eq(x.at, to) {
            // SAFETY: whoever runs a step promises that both places have `n` elements.
            unsafe { copy(x.at, to, n * size) };
        }
    })
}

/// Bytes from which on a copy is one of the standard library.
const LONG: usize = 512;

/// Copies bytes: few of them in parts of the sizes in which loops over elements take them, so that what is read of memory
/// soon after it was written has been written as a whole.
///
/// # Safety
/// So many bytes can be read there and written here; the places are apart.
#[inline(always)]
unsafe fn copy(x: *const u8, to: *mut u8, bytes: usize) {
    if bytes >= LONG {
        // SAFETY: the caller's promise.
        return unsafe { x.copy_to_nonoverlapping(to, bytes) };
    }
    let mut at = 0;
    macro_rules! part {
        ($part:ty) => {
            // SAFETY: there are so many more bytes, and any bytes are such a number.
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

/// Moves the elements of inputs, one after the other, to the only output, of elements of so many bytes.
pub(super) fn movements(size: usize, all: impl IntoIterator<Item = (usize, Movement)>) -> Option<Prepared> {
    let all = all.into_iter().map(|(input, movement)| Some((At::Input(input), Moves::new(movement, size)?)));
    let mut all = all.collect::<Option<Vec<(At, Moves)>>>()?.into_iter();
    let mut line = StraightLine::default();
    while !all.as_slice().is_empty() {
        // As many at once as a step has operands.
        let (from, moves): (Vec<At>, Vec<Moves>) = all.by_ref().take(3).unzip();
        let (work, what) = in_one_step(moves);
        line.push(work, &from, At::Output(0), 0);
        line.does(what);
    }
    Some(Prepared::straight(line))
}

/// The loop of movements, each of another operand, which are three at most.
fn in_one_step(moves: Vec<Moves>) -> (Loop, What) {
    let moves: Arc<[Moves]> = moves.into();
    let what = What::Moves(Arc::clone(&moves));
    let work: Loop = Arc::new(move |from, to, _| {
        for (moves, x) in moves.iter().zip(from) {
            // SAFETY: whoever makes a step of a movement promises that it was made for these tensors, which are apart.
            unsafe { moves.run(x.at, to, [0, 0]) };
        }
    });
    (work, what)
}

/// The loop of a movement of elements of so many bytes from the first operand, shifted by indices, which the other operands
/// are: in what is read, or else in what is written. If there are more indices than a step has operands, the last operand
/// is a number of elements that is added.
pub(super) fn moves_shifted(
    size: usize,
    movement: Movement,
    indices: SmallVec<[Index; 2]>,
    added: bool,
    reads: bool,
) -> Option<(Loop, What)> {
    let window = Arc::new(Window { moves: Moves::new(movement, size)?, indices });
    let what = if added { What::Other } else { What::Window(Arc::clone(&window), reads) };
    let work: Loop = Arc::new(move |from, to, _| {
        let Window { moves, indices } = &*window;
        let mut shift: usize = indices.iter().zip(&from[1..]).map(|(index, x)| index.shift(x)).sum();
        if added {
            // SAFETY: the step before has written it.
            shift += unsafe { from[1 + indices.len()].at.cast::<usize>().read() };
        }
        // SAFETY: as above, and the shift is one that fits.
        unsafe { moves.run(from[0].at, to, if reads { [shift, 0] } else { [0, shift] }) };
    });
    Some((work, what))
}

/// The loop that moves elements of so many bytes: for each operand, which ones go where.
pub(super) fn moves_listed(size: usize, pairs: Vec<Vec<[usize; 2]>>) -> Option<(Loop, What)> {
    let moves = pairs.into_iter().map(|pairs| Some(Moves { size, kind: Kind::listed(pairs, size)? }));
    Some(in_one_step(moves.collect::<Option<Vec<Moves>>>().filter(|moves| moves.len() <= 3)?))
}

/// Elements up to which a movement is a list of them.
const LISTED: usize = 16;

/// A movement of few elements.
pub(super) struct Moves {
    /// Bytes of an element.
    pub(super) size: usize,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// Neighbours that stay neighbours: first bytes, and how many.
    Block {
        first: [usize; 2],
        bytes: usize,
    },
    /// The first bytes of each element, before and after.
    List {
        pairs: Vec<[usize; 2]>,
        run: unsafe fn(&[[usize; 2]], *const u8, *mut u8),
    },
    Other(Movement),
}

impl Kind {
    /// These elements, of so many bytes, to those.
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
        let kind = match (movement.block(), movement.pairs(LISTED)) {
            (Some((first, n)), _) => Kind::Block { first: first.map(|x| x * size), bytes: n * size },
            (None, Some(pairs)) => Kind::listed(pairs, size)?,
            (None, None) => Kind::Other(movement),
        };
        Some(Moves { size, kind })
    }

    /// # Safety
    /// As [`Movement::run_shifted`].
    #[inline(always)]
    unsafe fn run(&self, x: *const u8, to: *mut u8, shift: [usize; 2]) {
        let [src, dst] = shift.map(|elements| elements * self.size);
        // SAFETY: the caller's promise: these are the elements that the movement moves.
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
/// Aligned elements of the size of `T` lie at these distances from both places, which are apart.
unsafe fn each<T: Copy>(pairs: &[[usize; 2]], x: *const u8, to: *mut u8) {
    for [src, dst] in pairs {
        // SAFETY: the caller's promise.
        unsafe { to.add(*dst).cast::<T>().write(x.add(*src).cast::<T>().read()) };
    }
}
