//! Which values share memory.
//!
//! A [`Piece`] of memory is had by one value and by those that are it under another name: other views of its bytes,
//! arguments of regions that capture it, equal constants; and by parts of it ([`parts`](super::parts)). What a loop carries
//! has one piece, from the operand through the arguments and what the body returns to the result; so has the result of a
//! choice with what the branches return, and the result of a custom call with the operand that it changes.
//! [`copies`](super::copies) makes programs in which they may.

use farcall_ir::{Func, Inst, InstId, Op, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::choose::{Choice, Choices};
use super::order;
use crate::plan::{ALIGNMENT, ConstantId, LEAST_ALIGNMENT, ParamId, STACK_SIZE};

/// Bytes from which on values are aligned to [`ALIGNMENT`].
const SMALL: usize = 2 << 10;

/// Values of a program in which small ones lie close together: with more, what is between these and large ones takes
/// longer to look through than it is worth.
const FEW: usize = 1 << 13;

/// A piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct PieceId(u32);

impl PieceId {
    /// That of values which there never are when the program runs.
    const NOWHERE: PieceId = PieceId(u32::MAX);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a piece of memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) home: Home,
    pub(super) bytes: usize,
    pub(super) alignment: usize,
}

/// A part of a piece of memory, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) offset: usize,
    pub(super) size: usize,
}

/// Where a piece of memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// Its place is to be found.
    Open,
    /// On the stack: it is scratch memory, and little.
    Stack,
    /// Nowhere: who takes it counts along this dimension.
    Iota(u32),
    Constant(ConstantId),
    Param(ParamId),
}

/// How far a program has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// What enters and leaves loops and branches, and what calls change, has memory of its own as yet.
    Apart,
    /// Copies have been made, so that these share.
    Joined,
}

/// The memory of all values that there are when a program runs.
#[derive(Debug)]
pub(super) struct Storage {
    of: Vec<PieceId>,
    /// Values that are only a part of their piece.
    parts: FxHashMap<ValueId, Part>,
    pub(super) pieces: Vec<Piece>,
    /// Scratch memory of kernels.
    scratch: FxHashMap<InstId, PieceId>,
}

impl Storage {
    pub(super) fn new(func: &Func, choices: &Choices, state: State) -> Storage {
        let mut joined = Joined {
            to: (0..func.value_count() as u32).collect(),
            constants: vec![None; choices.constants.len()],
            parts: FxHashMap::default(),
            scratch: Vec::new(),
        };
        joined.values(func, choices, state);
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
                // What is small lies close together: no loop over it gains by more.
                let is_small = bytes < SMALL && func.value_count() <= FEW;
                let alignment = if is_small { LEAST_ALIGNMENT } else { ALIGNMENT };
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

    /// The memory of a value that there is when the program runs.
    pub(super) fn of(&self, value: ValueId) -> PieceId {
        self.of[value.index()]
    }

    /// Which part of its piece a value is; `None` if it is all of it.
    pub(super) fn part(&self, value: ValueId) -> Option<Part> {
        self.parts.get(&value).copied()
    }

    /// Where a value is, and of what size.
    pub(super) fn piece(&self, value: ValueId) -> Piece {
        self.pieces[self.of(value).index()]
    }

    /// The scratch memory of an instruction.
    pub(super) fn scratch(&self, inst: InstId) -> Option<PieceId> {
        self.scratch.get(&inst).copied()
    }

    /// What a thunk writes: results whose place is to be found, then scratch memory.
    pub(super) fn outputs(&self, inst: Inst<'_>) -> impl Iterator<Item = PieceId> {
        let results = inst.results().iter().map(|r| self.of(*r));
        let open = results.filter(|id| self.pieces[id.index()].home == Home::Open);
        open.chain(self.scratch(inst.id()))
    }
}

/// True if this result of an instruction may have the memory of this piece, if both end and begin there: every use of
/// the piece as an operand allows it.
pub(super) fn shares(
    storage: &Storage,
    choices: &Choices,
    inst: Inst<'_>,
    result: usize,
    piece: PieceId,
) -> bool {
    sharing(storage, choices, inst, result).any(|x| x == piece)
}

/// The operands of an instruction whose memory this result may have ([`shares`]), in order.
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
    // Seldom both kinds.
    let others: FxHashSet<PieceId> =
        if some.is_empty() { FxHashSet::default() } else { pieces(others).collect() };
    pieces(some).filter(move |piece| !others.contains(piece))
}

/// By value: whether there is one when the program runs. There are none of regions that are applied to elements, nor of
/// instructions that are gone.
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

/// Sets of values that share memory.
struct Joined {
    /// By value: itself, or another one of its set.
    to: Vec<u32>,
    /// A value of each constant.
    constants: Vec<Option<ValueId>>,
    /// Values that are only a part of what their set shares.
    parts: FxHashMap<ValueId, Part>,
    /// Instructions that need scratch memory, and how much.
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

    /// Joins values one by one; one list may be longer.
    fn join_all(&mut self, a: &[ValueId], b: &[ValueId]) {
        a.iter().zip(b).for_each(|(a, b)| self.join(*a, *b));
    }

    /// Joins values with those that they are under another name: of parts, the same parts.
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

    fn values(&mut self, func: &Func, choices: &Choices, state: State) {
        for inst in order::instructions(func) {
            match choices.of(inst.id()) {
                Choice::View => self.rename(inst.operands(), inst.results()),
                Choice::Part(offset) => {
                    self.join_all(inst.operands(), inst.results());
                    for (x, part) in inst.operands().iter().zip(inst.results()) {
                        let before = self.parts.get(x).map_or(0, |part| part.offset);
                        let size = func.tensor(*part).and_then(|t| t.bytes()).unwrap_or(0);
                        self.parts.insert(*part, Part { offset: before + offset, size });
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
                Choice::Call(aliases) if state == State::Joined => {
                    for (output, input) in aliases {
                        self.join(inst.results()[*output], inst.operands()[*input]);
                    }
                }
                Choice::Control => self.control(inst, state),
                _ => {}
            }
        }
    }

    fn control(&mut self, inst: Inst<'_>, state: State) {
        for region in inst.regions() {
            self.rename(inst.captures(), region.captured_args());
        }
        if *inst.op() != Op::While {
            if state == State::Joined {
                inst.regions().for_each(|r| self.join_all(r.returned(), inst.results()));
            }
            return;
        }
        inst.regions().for_each(|r| self.join_all(r.own_args(), inst.results()));
        let Some(body) = inst.region(1) else { return };
        for (i, ((operand, arg), returned)) in
            inst.own_operands().iter().zip(body.own_args()).zip(body.returned()).enumerate()
        {
            // What the body hands through unchanged is the operand all along.
            if state == State::Joined || arg == returned {
                self.join(*operand, inst.results()[i]);
                self.join(*returned, inst.results()[i]);
            }
        }
    }
}
