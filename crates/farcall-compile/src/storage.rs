//! Decides which values share memory.
//!
//! A [`Piece`] of memory belongs to one value and its aliases: other views of its bytes, arguments of regions
//! that capture it, equal constants, and slices of it that are not copied
//! ([`slice_views`](super::slice_views)). A value carried by a loop has one piece, from the operand through
//! the arguments and the results of the body to the result of the loop. The result of a conditional shares
//! its piece with the results of the branches, and the result of a custom call shares its piece with the
//! operand that the call changes. [`copies`](super::copies) inserts the copies that make this sharing
//! correct.

use farcall_ir::{Func, Inst, InstId, Op, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::choices::{Choice, Choices};
use super::order;
use farcall_plan::{ALIGNMENT, ConstantId, MIN_ALIGNMENT_BYTES, ParamId, STACK_SIZE};

/// Minimum size, in bytes, of values that are aligned to [`ALIGNMENT`].
const MIN_ALIGNED_BYTES: usize = 2 << 10;

/// Maximum number of values in a program whose small values are packed closely. In larger programs, the time
/// to search the gaps between small and large values outweighs the saved memory.
const MAX_PACKED_VALUES: usize = 1 << 13;

/// Number of a piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct PieceId(u32);

impl PieceId {
    /// Placeholder for values that do not exist at run time.
    const NOWHERE: PieceId = PieceId(u32::MAX);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) home: Home,
    pub(super) bytes: usize,
    pub(super) alignment: usize,
}

/// A range of bytes in a piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ByteRange {
    pub(super) offset: usize,
    pub(super) size: usize,
}

/// The place of a piece of memory, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// A place that is still to be assigned.
    Open,
    /// The stack: small scratch memory.
    Stack,
    /// No memory: kernels that take the value compute an iota along this dimension.
    Iota(u32),
    Constant(ConstantId),
    Param(ParamId),
}

/// Extent to which values share memory, which depends on the progress of the passes that assign memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sharing {
    /// Values that enter and leave loops and branches, and operands that calls change, have separate memory.
    Apart,
    /// These values share memory, because copies have been inserted.
    Joined,
}

/// The memory of all values that exist at run time.
#[derive(Debug)]
pub(super) struct Storage {
    of: Vec<PieceId>,
    /// Values that are only a part of their piece.
    parts: FxHashMap<ValueId, ByteRange>,
    pub(super) pieces: Vec<Piece>,
    /// Scratch memory of kernels.
    scratch: FxHashMap<InstId, PieceId>,
}

impl Storage {
    pub(super) fn new(func: &Func, choices: &Choices, sharing: Sharing) -> Storage {
        let mut joined = Joined {
            to: (0..func.value_count() as u32).collect(),
            constants: vec![None; choices.constants.len()],
            parts: FxHashMap::default(),
            scratch: Vec::new(),
        };
        joined.values(func, choices, sharing);
        let mut storage = Storage::of_values(func, choices, &mut joined);
        for (i, value) in joined.constants.into_iter().enumerate() {
            if let Some(value) = value {
                storage.piece_mut(value).home = Home::Constant(ConstantId::new(i));
            }
        }
        for (i, param) in func.params().iter().enumerate() {
            storage.piece_mut(*param).home = Home::Param(ParamId::new(i));
        }
        for inst in order::instructions(func) {
            match choices.of(inst.id()) {
                Choice::Call(_) => {
                    for value in inst.operands().iter().chain(inst.results()) {
                        storage.piece_mut(*value).alignment = ALIGNMENT;
                    }
                }
                Choice::Iota(dim) => {
                    for value in inst.results() {
                        let piece = storage.piece_mut(*value);
                        (piece.home, piece.bytes) = (Home::Iota(*dim as u32), 0);
                    }
                }
                _ => {}
            }
        }
        for (inst, bytes) in joined.scratch {
            let id = PieceId(storage.pieces.len() as u32);
            let home = if bytes <= STACK_SIZE { Home::Stack } else { Home::Open };
            storage.pieces.push(Piece { home, bytes, alignment: ALIGNMENT });
            storage.scratch.insert(inst, id);
        }
        storage
    }

    /// Numbers the pieces.
    fn of_values(func: &Func, choices: &Choices, joined: &mut Joined) -> Storage {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut number = vec![u32::MAX; func.value_count()];
        let runs = running(func, choices);
        let of = func.values().map(|value| {
            if !runs[value.index()] {
                return PieceId::NOWHERE;
            }
            let root = joined.find(value.index() as u32) as usize;
            let bytes = func.tensor(value).and_then(|t| t.bytes()).unwrap_or(0);
            if number[root] == u32::MAX {
                number[root] = pieces.len() as u32;
                // Small values are packed closely, since no loop over them gains from a larger alignment.
                let is_small = bytes < MIN_ALIGNED_BYTES && func.value_count() <= MAX_PACKED_VALUES;
                let alignment = if is_small { MIN_ALIGNMENT_BYTES } else { ALIGNMENT };
                pieces.push(Piece { home: Home::Open, bytes, alignment });
            }
            let piece = &mut pieces[number[root] as usize];
            piece.bytes = piece.bytes.max(bytes);
            PieceId(number[root])
        });
        let of = of.collect();
        Storage { of, parts: std::mem::take(&mut joined.parts), pieces, scratch: FxHashMap::default() }
    }

    /// All pieces.
    pub(super) fn ids(&self) -> impl Iterator<Item = PieceId> {
        (0..self.pieces.len() as u32).map(PieceId)
    }

    fn piece_mut(&mut self, value: ValueId) -> &mut Piece {
        &mut self.pieces[self.of[value.index()].index()]
    }

    /// Returns the memory of a value that exists at run time.
    pub(super) fn of(&self, value: ValueId) -> PieceId {
        self.of[value.index()]
    }

    /// Returns the part of a piece that a value occupies; `None` if the value occupies the whole piece.
    pub(super) fn part(&self, value: ValueId) -> Option<ByteRange> {
        self.parts.get(&value).copied()
    }

    /// Returns the piece of a value that exists at run time.
    pub(super) fn piece(&self, value: ValueId) -> Piece {
        self.pieces[self.of(value).index()]
    }

    /// The scratch memory of an instruction.
    pub(super) fn scratch(&self, inst: InstId) -> Option<PieceId> {
        self.scratch.get(&inst).copied()
    }

    /// Returns the memory that a thunk writes: results whose place is still to be assigned, then scratch
    /// memory.
    pub(super) fn outputs(&self, inst: Inst<'_>) -> impl Iterator<Item = PieceId> {
        let results = inst.results().iter().map(|r| self.of(*r));
        let open = results.filter(|id| self.pieces[id.index()].home == Home::Open);
        open.chain(self.scratch(inst.id()))
    }
}

/// Returns true if this result of an instruction may share the memory of this piece when the piece's life
/// ends at the instruction. Every use of the piece as an operand must allow the sharing.
pub(super) fn shares(
    storage: &Storage,
    choices: &Choices,
    inst: Inst<'_>,
    result: usize,
    piece: PieceId,
) -> bool {
    sharing(storage, choices, inst, result).any(|x| x == piece)
}

/// Returns the operands of an instruction whose memory this result may share ([`shares`]), in order.
pub(super) fn sharing<'a>(
    storage: &'a Storage,
    choices: &'a Choices,
    inst: Inst<'a>,
    result: usize,
) -> impl Iterator<Item = PieceId> {
    let size = move |v: &ValueId| inst.func().tensor(*v).map(|t| t.dtype.size());
    let (in_place, of_result) = (choices.in_place(inst.id()), inst.results().get(result).map(size));
    let allowed = move |(i, x): &(usize, &ValueId)| {
        in_place.allows(result, *i) && Some(size(x)) == of_result && storage.part(**x).is_none()
    };
    let inputs = choices.inputs(inst).iter().enumerate();
    let (some, others): (SmallVec<[_; 8]>, SmallVec<[_; 8]>) = inputs.partition(allowed);
    let pieces = |of: SmallVec<[(usize, &'a ValueId); 8]>| of.into_iter().map(move |(_, x)| storage.of(*x));
    // A piece is excluded if the instruction also takes it as an operand whose memory may not be shared.
    let others: FxHashSet<PieceId> =
        if some.is_empty() { FxHashSet::default() } else { pieces(others).collect() };
    pieces(some).filter(move |piece| !others.contains(piece))
}

/// Returns, for each value, true if the value exists at run time. Values of regions that are applied to
/// elements, and results of removed instructions, do not exist at run time.
fn running(func: &Func, choices: &Choices) -> Vec<bool> {
    let mut runs = vec![false; func.value_count()];
    let mut note = |values: &[ValueId]| values.iter().for_each(|v| runs[v.index()] = true);
    note(func.params());
    for inst in order::instructions(func) {
        note(inst.results());
        if let Choice::Control = choices.of(inst.id()) {
            inst.regions().for_each(|region| note(region.args()));
        }
    }
    runs
}

/// A disjoint-set forest of the values that share memory.
struct Joined {
    /// Parent of each value: itself, or another value of its set.
    to: Vec<u32>,
    /// For each constant, one of the values that are equal to it.
    constants: Vec<Option<ValueId>>,
    /// Values that are only a part of the memory that their set shares.
    parts: FxHashMap<ValueId, ByteRange>,
    /// Instructions that need scratch memory, and the number of bytes.
    scratch: Vec<(InstId, usize)>,
}

impl Joined {
    fn find(&mut self, mut v: u32) -> u32 {
        while self.to[v as usize] != v {
            let next = self.to[self.to[v as usize] as usize];
            self.to[v as usize] = next;
            v = next;
        }
        v
    }

    fn join(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.find(a.index() as u32), self.find(b.index() as u32));
        self.to[a.max(b) as usize] = a.min(b);
    }

    /// Joins corresponding values of two lists; one list may be longer.
    fn join_all(&mut self, a: &[ValueId], b: &[ValueId]) {
        a.iter().zip(b).for_each(|(a, b)| self.join(*a, *b));
    }

    /// Joins values with their aliases. An alias of a part is the same part.
    fn rename(&mut self, from: &[ValueId], to: &[ValueId]) {
        self.join_all(from, to);
        if self.parts.is_empty() {
            return;
        }
        for (from, to) in from.iter().zip(to) {
            if let Some(part) = self.parts.get(from).copied() {
                self.parts.insert(*to, part);
            }
        }
    }

    fn values(&mut self, func: &Func, choices: &Choices, sharing: Sharing) {
        for inst in order::instructions(func) {
            match choices.of(inst.id()) {
                Choice::View => self.rename(inst.operands(), inst.results()),
                Choice::Part(offset) => {
                    self.join_all(inst.operands(), inst.results());
                    for (x, part) in inst.operands().iter().zip(inst.results()) {
                        let before = self.parts.get(x).map_or(0, |part| part.offset);
                        let size = func.tensor(*part).and_then(|t| t.bytes()).unwrap_or(0);
                        self.parts.insert(*part, ByteRange { offset: before + offset, size });
                    }
                }
                Choice::Constant(id) => {
                    let Some(value) = inst.results().first() else { continue };
                    match self.constants[id.index()] {
                        Some(other) => self.join(other, *value),
                        None => self.constants[id.index()] = Some(*value),
                    }
                }
                Choice::Kernel { scratch: bytes @ 1.., .. } => self.scratch.push((inst.id(), *bytes)),
                Choice::Call(aliases) if sharing == Sharing::Joined => {
                    for (output, input) in aliases {
                        self.join(inst.results()[*output], inst.operands()[*input]);
                    }
                }
                Choice::Control => self.control(inst, sharing),
                _ => {}
            }
        }
    }

    fn control(&mut self, inst: Inst<'_>, sharing: Sharing) {
        for region in inst.regions() {
            self.rename(inst.captures(), region.captured_args());
        }
        if *inst.op() != Op::While {
            if sharing == Sharing::Joined {
                inst.regions().for_each(|r| self.join_all(r.returned(), inst.results()));
            }
            return;
        }
        inst.regions().for_each(|r| self.join_all(r.own_args(), inst.results()));
        let Some(body) = inst.region(1) else { return };
        for (i, ((operand, arg), returned)) in
            inst.own_operands().iter().zip(body.own_args()).zip(body.returned()).enumerate()
        {
            // A value that the body returns unchanged is the operand in every iteration.
            if sharing == Sharing::Joined || arg == returned {
                self.join(*operand, inst.results()[i]);
                self.join(*returned, inst.results()[i]);
            }
        }
    }
}
