//! Straight-line programs: a list of loops over few elements, whose places are known before a run.
//!
//! ```text
//! a tile program of one tile, a movement ──▶ [`StraightLine`] ──link──▶ [`Linked`], one after the other, by the runtime
//! ```
//!
//! With few elements, a kernel takes less time than finding out what it has to do. A straight-line program has no tiles, no
//! tasks and no branches, and its constants are written once. It runs as any kernel does, by [`Args`]; the runtime
//! *links* the programs of neighbouring thunks instead, so that their loops count their places from the base addresses of
//! the run, and nothing is left between them.

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;

use smallvec::SmallVec;

use super::args::{Args, Place, Prepared};
use super::map::Operand;
use super::movement::Movement;
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
    /// It copies bytes.
    copies: bool,
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
        self.steps.push(Step { work, places: Places { from: all, to }, n, copies: false });
    }

    /// Adds a step that copies `n` elements of so many bytes, unless they are there.
    pub(super) fn copy(&mut self, size: usize, from: At, to: At, n: usize) {
        self.push(copies(size), &[from], to, n);
        self.steps.iter_mut().last().expect("one was added").copies = true;
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
        let steps = self.steps.iter().zip(self.without_copies(linking));
        let steps = steps.filter_map(|(step, places)| Some((step, places?))).map(|(step, places)| {
            let [a, b, c] = places.from.map(|(x, one)| Some((linking.address(x)?, one)));
            let work = Arc::clone(&step.work);
            Some(Linked { work, from: [a?, b?, c?], to: linking.address(places.to)?, n: step.n })
        });
        to.extend(steps.collect::<Option<Vec<Linked>>>()?);
        Some(())
    }

    /// Where the steps read and write; `None` for copies of registers to outputs that need not be: what makes the register
    /// can write the output itself, unless an input that is still read meanwhile lies there.
    fn without_copies(&self, linking: &Linking<'_>) -> Vec<Option<Places>> {
        let mut places: Vec<Option<Places>> = self.steps.iter().map(|step| Some(step.places)).collect();
        for copy in (0..places.len()).filter(|s| self.steps[*s].copies) {
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

/// A place without its size.
#[derive(Clone, Copy, Debug)]
struct Address {
    base: u32,
    offset: u32,
}

impl Address {
    fn of(place: Place) -> Option<Address> {
        Some(Address { base: u32::try_from(place.base).ok()?, offset: u32::try_from(place.offset).ok()? })
    }

    /// # Safety
    /// There is such a base address, of memory that reaches so far.
    #[inline(always)]
    unsafe fn at(self, bases: &[*mut u8]) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { bases.get_unchecked(self.base as usize).add(self.offset as usize) }
    }
}

/// A step that finds its places by the base addresses of a run.
pub(crate) struct Linked {
    work: Loop,
    /// With those marked that have one element for all.
    from: [(Address, bool); 3],
    to: Address,
    n: usize,
}

impl Linked {
    /// A copy of the bytes of a place to another one of the same size, which may be the same; `None` if one of them is too
    /// far from its base address.
    pub(crate) fn copy(from: Place, to: Place) -> Option<Linked> {
        let (from, n, to) = (Address::of(from)?, to.size, Address::of(to)?);
        Some(Linked { work: copies(1), from: [(from, false); 3], to, n })
    }

    /// Runs the step.
    ///
    /// # Safety
    /// As [`Prepared::run`](super::Prepared::run), with the places of the kernel that was linked counted from these base
    /// addresses; its constants have been written, and nobody else uses its registers.
    #[inline(always)]
    pub(crate) unsafe fn run(&self, bases: &[*mut u8]) {
        // SAFETY: the caller's promise.
        let from = self.from.map(|(x, one)| Operand::new(unsafe { x.at(bases) }, one));
        // SAFETY: the same.
        (self.work)(&from, unsafe { self.to.at(bases) }, self.n);
    }
}

impl fmt::Debug for Linked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Linked { work: _, from, to, n } = self;
        f.debug_struct("Linked").field("from", from).field("to", to).field("n", n).finish_non_exhaustive()
    }
}

/// Copies elements of so many bytes, unless they are there.
fn copies(size: usize) -> Loop {
    Arc::new(move |[x, ..], to, n| {
        if !std::ptr::eq(x.at, to) {
            // SAFETY: whoever runs a step promises that both places have `n` elements.
            unsafe { std::ptr::copy(x.at, to, n * size) };
        }
    })
}

/// Moves the elements of inputs, one after the other, to the only output, of elements of so many bytes.
pub(super) fn movements(size: usize, all: impl IntoIterator<Item = (usize, Movement)>) -> Option<Prepared> {
    let all = all.into_iter().map(|(input, movement)| Some((At::Input(input), Moves::new(movement, size)?)));
    let mut all = all.collect::<Option<Vec<(At, Moves)>>>()?.into_iter();
    let mut line = StraightLine::default();
    while !all.as_slice().is_empty() {
        // As many at once as a step has operands.
        let (from, moves): (Vec<At>, SmallVec<[Moves; 1]>) = all.by_ref().take(3).unzip();
        let work: Loop = Arc::new(move |from, to, _| {
            for (moves, x) in moves.iter().zip(from) {
                // SAFETY: whoever makes a step of a movement promises that it was made for these tensors, which are apart.
                unsafe { moves.run(x.at, to, [0, 0]) };
            }
        });
        line.push(work, &from, At::Output(0), 0);
    }
    Some(Prepared::straight(line))
}

/// The loop of a movement of elements of so many bytes from the first operand, shifted in source and destination by what
/// the second one says.
pub(super) fn moves_shifted(
    size: usize,
    movement: Movement,
    shifts: impl Fn(usize) -> [usize; 2] + Send + Sync + 'static,
) -> Option<Loop> {
    let moves = Moves::new(movement, size)?;
    Some(Arc::new(move |[x, shift, _], to, _| {
        // SAFETY: the same, and the shift is one that fits.
        unsafe { moves.run(x.at, to, shifts(shift.at.cast::<usize>().read())) };
    }))
}

/// The loop that moves elements of so many bytes: for each operand, which ones go where.
pub(super) fn moves_listed(size: usize, pairs: Vec<Vec<[usize; 2]>>) -> Option<Loop> {
    let moves = pairs.into_iter().map(|pairs| Some(Moves { size, kind: Kind::listed(pairs, size)? }));
    let moves = moves.collect::<Option<SmallVec<[Moves; 3]>>>().filter(|moves| moves.len() <= 3)?;
    Some(Arc::new(move |from, to, _| {
        for (moves, x) in moves.iter().zip(from) {
            // SAFETY: whoever makes the step promises that these elements are there, in tensors that are apart.
            unsafe { moves.run(x.at, to, [0, 0]) };
        }
    }))
}

/// Elements up to which a movement is a list of them.
const LISTED: usize = 16;

/// A movement of few elements.
struct Moves {
    /// Bytes of an element.
    size: usize,
    kind: Kind,
}

enum Kind {
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
        let kind = match movement.pairs(LISTED) {
            Some(pairs) => Kind::listed(pairs, size)?,
            None => Kind::Other(movement),
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
                    x.add(src + first[0]).copy_to_nonoverlapping(to.add(dst + first[1]), *bytes);
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
