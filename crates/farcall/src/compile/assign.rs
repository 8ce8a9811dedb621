//! Gives every value a place: liveness over the program in order ([`live`](super::live)), then first fit; where that leaves
//! holes, the largest ones first.
//!
//! A result may take over the place of an operand whose life ends at the same instruction, if what computes it allows
//! that ([`Choices::in_place`]).
//!
//! A result of the program is written to its final memory: its own, which the caller gets, or that of a donated input.
//! Before the result's life begins, that memory may be used by other values in turn, like a place in the arena, as
//! long as their lives have ended by then: values that a donated input becomes in place, and values from which the
//! result is computed in place. In a result's own memory, any others that there is room for lodge, too.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use farcall_ir::{Attr, Func, Inst, InstId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::arena::{Arena, Block, packed};
use super::choose::Choices;
use super::donate;
use super::live::Lives;
use super::numbers::Constants;
use super::order::{self, Event};
use super::storage::{Home, Part, Piece, PieceId, Storage, shares, sharing};
use crate::plan::{Base, ParamId, ResultId, Slice};

/// Results whose memory is considered for a value that is over before they begin.
const LODGINGS: usize = 16;

/// The places of all values.
#[derive(Debug)]
pub(super) struct Places<'s> {
    pub(super) storage: &'s Storage,
    /// By piece of memory.
    slices: Vec<Slice>,
    /// The places of the constants.
    pub(super) constants: Constants,
    /// Bytes of the arena.
    pub(super) arena_size: usize,
}

impl Places<'_> {
    /// The place of a value that there is when the program runs.
    pub(super) fn of(&self, value: ValueId) -> Slice {
        let slice = self.slice(self.storage.of(value));
        match self.storage.part(value) {
            Some(Part { offset, size }) => Slice { offset: slice.offset + offset, size, ..slice },
            None => slice,
        }
    }

    /// The place of a piece of memory.
    pub(super) fn slice(&self, piece: PieceId) -> Slice {
        self.slices[piece.index()]
    }

    /// The scratch memory of an instruction.
    pub(super) fn scratch(&self, inst: InstId) -> Option<Slice> {
        self.storage.scratch(inst).map(|id| self.slice(id))
    }

    /// True if the program writes the value: it is neither an input nor a constant.
    pub(super) fn is_written(&self, value: ValueId) -> bool {
        self.storage.piece(value).home == Home::Open
    }

    /// The inputs whose memory the program writes to.
    pub(super) fn donated(&self) -> FxHashSet<ParamId> {
        let pieces = self.slices.iter().zip(&self.storage.pieces);
        let written = pieces.filter(|(_, piece)| piece.home == Home::Open).map(|(slice, _)| slice.base);
        written.filter_map(|base| if let Base::Param(id) = base { Some(id) } else { None }).collect()
    }

    /// Writes the places into a program, as attributes: `farcall.places` of results, `farcall.scratch`.
    pub(super) fn annotate(&self, func: &mut Func) {
        let text = |slice: Slice| Attr::String(slice.to_string().into_bytes().into());
        let mut notes: Vec<(InstId, &str, Attr)> = Vec::new();
        for inst in order::instructions(func) {
            if inst.results().is_empty() {
                continue;
            }
            let places = inst.results().iter().map(|r| text(self.of(*r))).collect();
            notes.push((inst.id(), "farcall.places", Attr::Array(places)));
            if let Some(scratch) = self.scratch(inst.id()) {
                notes.push((inst.id(), "farcall.scratch", text(scratch)));
            }
        }
        for (inst, key, value) in notes {
            func.attrs_mut(inst).insert(key.to_owned(), value);
        }
    }
}

/// Finds places.
pub(super) fn assign<'s>(
    func: &Func,
    events: &[Event<'_>],
    choices: &Choices,
    storage: &'s Storage,
) -> Places<'s> {
    let lives = Lives::new(func, events, choices, storage);
    let slots = Slots::promised(func, storage, &lives);
    let mut a = Assigning {
        choices,
        storage,
        lives: &lives,
        bases: vec![None; storage.pieces.len()],
        lodging: FxHashMap::default(),
        offsets: vec![0; storage.pieces.len()],
        owner_moved: vec![false; storage.pieces.len()],
        arena: Arena::default(),
        blocks: Vec::new(),
        block_of: vec![None; storage.pieces.len()],
        expiring: BinaryHeap::new(),
        slots,
    };
    for (at, event) in (1..).zip(events) {
        if let Event::Do(inst) | Event::End(inst) = event {
            a.outputs(*inst, at);
        }
    }
    a.pack();
    let constants = Constants::new(events, choices, storage, func.body().returned());
    let slice = |(i, piece): (usize, &Piece)| {
        let base = match piece.home {
            Home::Open => a.bases[i].unwrap_or(Base::Arena),
            Home::Stack => Base::Stack,
            Home::Iota(dim) => Base::Iota(dim),
            Home::Constant(id) => constants.base(id),
            Home::Param(id) => Base::Param(id),
        };
        Slice { base, offset: a.offsets[i], size: piece.bytes }
    };
    let slices = storage.pieces.iter().enumerate().map(slice).collect();
    Places { storage, slices, constants, arena_size: a.arena.size }
}

/// The memory that a result is to have in the end: of its own, or a donated input's.
struct Slot {
    base: Base,
    /// The piece that has it, or had it last.
    holder: Option<PieceId>,
    /// The result.
    heir: PieceId,
    /// Who else is there before it.
    lodgers: Lodgers,
}

/// Values that are in the memory of a result before the result is.
struct Lodgers {
    room: Arena,
    /// Bytes of the memory; 0 if nobody may.
    bytes: usize,
    /// Position before which they leave: what is there to stay begins here.
    leave: u32,
    /// Position of the last one that has been let in so far.
    last: u32,
}

impl Lodgers {
    /// In memory of its own, before a result begins, or what it is made of in its place.
    fn of_result(heir: PieceId, storage: &Storage, lives: &Lives) -> Lodgers {
        // Inputs and constants stay where they are.
        let is_made = |piece: &&PieceId| storage.pieces[piece.index()].home == Home::Open;
        let sources = lives.sources.get(&heir).into_iter().flatten().filter(is_made);
        let begins = sources.chain([&heir]).map(|piece| lives.first[piece.index()]).min();
        let bytes = storage.pieces[heir.index()].bytes;
        Lodgers { bytes, leave: begins.unwrap_or(0), ..Lodgers::none() }
    }

    fn none() -> Lodgers {
        Lodgers { room: Arena::default(), bytes: 0, leave: 0, last: 0 }
    }

    /// Where a value can be until this position.
    fn admit(&mut self, piece: Piece, until: u32) -> Option<usize> {
        (until < self.leave).then_some(())?;
        let offset = self.room.allocate_below(self.bytes, piece.bytes, piece.alignment)?;
        self.last = self.last.max(until);
        Some(offset)
    }
}

/// The memory of all results.
#[derive(Default)]
struct Slots {
    all: Vec<Slot>,
    /// By the result.
    by_heir: FxHashMap<PieceId, usize>,
    /// By the piece that has it now.
    by_holder: FxHashMap<PieceId, usize>,
    /// By a piece in whose place the result can be written.
    by_source: FxHashMap<PieceId, usize>,
    /// Those that lodgers may be in, in the order in which these leave.
    lodgings: Vec<usize>,
}

impl Slots {
    /// Promises each donated input to one result, and memory of its own to every other.
    fn promised(func: &Func, storage: &Storage, lives: &Lives) -> Slots {
        let results: Vec<PieceId> = func.body().returned().iter().map(|r| storage.of(*r)).collect();
        let mut slots = Slots::default();
        for (param, wished) in donate::donated(func) {
            let input = storage.of(func.params()[param]);
            let bytes = storage.pieces[input.index()].bytes;
            let fits = |r: &PieceId| {
                let piece = storage.pieces[r.index()];
                piece.home == Home::Open
                    && piece.bytes == bytes
                    && lives.comes_before(input, *r)
                    && !slots.by_heir.contains_key(r)
            };
            if let Some(heir) = wished.iter().filter_map(|r| results.get(*r)).copied().find(fits) {
                slots.by_holder.insert(input, slots.all.len());
                let base = Base::Param(ParamId::new(param));
                // Who knows how the caller's memory is aligned.
                slots.promise(Slot { base, holder: Some(input), heir, lodgers: Lodgers::none() }, lives);
            }
        }
        for (i, heir) in results.into_iter().enumerate() {
            let piece = storage.pieces[heir.index()];
            if piece.home == Home::Open && piece.bytes > 0 && !slots.by_heir.contains_key(&heir) {
                let lodgers = Lodgers::of_result(heir, storage, lives);
                slots.promise(
                    Slot { base: Base::Result(ResultId::new(i)), holder: None, heir, lodgers },
                    lives,
                );
            }
        }
        slots.lodgings = (0..slots.all.len()).filter(|i| slots.all[*i].lodgers.bytes > 0).collect();
        slots.lodgings.sort_by_key(|i| slots.all[*i].lodgers.leave);
        slots
    }

    fn promise(&mut self, slot: Slot, lives: &Lives) {
        let number = self.all.len();
        self.by_heir.insert(slot.heir, number);
        for source in lives.sources.get(&slot.heir).into_iter().flatten() {
            self.by_source.entry(*source).or_insert(number);
        }
        self.all.push(slot);
    }
}

struct Assigning<'a> {
    choices: &'a Choices,
    storage: &'a Storage,
    lives: &'a Lives,
    /// What each piece is in, once it has a place.
    bases: Vec<Option<Base>>,
    /// The slots in which pieces lodge.
    lodging: FxHashMap<PieceId, usize>,
    offsets: Vec<usize>,
    /// True if another piece took over the place.
    owner_moved: Vec<bool>,
    arena: Arena,
    /// What the arena holds, and the block of each piece that is there.
    blocks: Vec<Block>,
    block_of: Vec<Option<u32>>,
    /// Pieces in the arena, and lodgers, by their last position.
    expiring: BinaryHeap<Reverse<(u32, PieceId)>>,
    /// Memory besides the arena.
    slots: Slots,
}

impl Assigning<'_> {
    /// Gives places to those pieces that an instruction, at this position, is the first to write.
    fn outputs(&mut self, inst: Inst<'_>, at: u32) {
        self.expire(at);
        let mut taken: Vec<PieceId> = Vec::new();
        let results = inst.results().iter().enumerate().map(|(r, value)| (Some(r), self.storage.of(*value)));
        let scratch = self.storage.scratch(inst.id()).map(|id| (None, id));
        for (result, piece) in results.chain(scratch) {
            let i = piece.index();
            let open = self.storage.pieces[i].home == Home::Open && self.bases[i].is_none();
            if !open || result.is_some_and(|r| self.inherit(inst, r, piece, at)) {
                continue;
            }
            if let Some(other) = result.and_then(|r| self.ending(inst, r, at, &taken)) {
                taken.push(other);
                self.owner_moved[other.index()] = true;
                self.offsets[i] = self.offsets[other.index()];
                self.bases[i] = self.bases[other.index()];
                if let Some(block) = self.block_of[other.index()] {
                    let all = &mut self.blocks[block as usize];
                    all.last = self.lives.last[i];
                    all.alignment = all.alignment.max(self.storage.pieces[i].alignment);
                    self.block_of[i] = Some(block);
                }
                if let Some(slot) = self.lodging.get(&other).copied() {
                    self.lodge(piece, slot);
                }
            } else if !self.admitted(piece) {
                let Piece { bytes, alignment, .. } = self.storage.pieces[i];
                self.offsets[i] = self.arena.allocate(bytes, alignment);
                self.bases[i] = Some(Base::Arena);
                self.block_of[i] = Some(self.blocks.len() as u32);
                let (first, last) = (at, self.lives.last[i]);
                self.blocks.push(Block { bytes, alignment, first, last });
            }
            self.expiring.push(Reverse((self.lives.last[i], piece)));
        }
    }

    /// Puts a piece into the memory of a result that begins later, if there is room.
    fn admitted(&mut self, piece: PieceId) -> bool {
        let (of, until) = (self.storage.pieces[piece.index()], self.lives.last[piece.index()]);
        let Slots { all, lodgings, .. } = &mut self.slots;
        // The first ones that begin late enough; later ones have room for longer.
        let first = lodgings.partition_point(|i| all[*i].lodgers.leave <= until);
        let open = lodgings[first..].iter().copied().take(LODGINGS);
        let free: SmallVec<[usize; LODGINGS]> = open.filter(|i| all[*i].holder.is_none()).collect();
        let admitted = free.into_iter().find_map(|i| Some((i, all[i].lodgers.admit(of, until)?)));
        let Some((number, offset)) = admitted else { return false };
        self.offsets[piece.index()] = offset;
        self.lodge(piece, number);
        true
    }

    fn lodge(&mut self, piece: PieceId, number: usize) {
        self.bases[piece.index()] = Some(self.slots.all[number].base);
        self.lodging.insert(piece, number);
    }

    /// An operand in the arena, or one that lodges, that ends here, and whose place this result may take over.
    fn ending(&self, inst: Inst<'_>, result: usize, at: u32, taken: &[PieceId]) -> Option<PieceId> {
        let own = self.storage.of(inst.results()[result]);
        let Piece { bytes, alignment, .. } = self.storage.pieces[own.index()];
        let until = self.lives.last[own.index()];
        sharing(self.storage, self.choices, inst, result).find(|x| {
            let i = x.index();
            let stays = |slot: &usize| until < self.slots.all[*slot].lodgers.leave;
            (self.bases[i] == Some(Base::Arena) || self.lodging.get(x).is_some_and(stays))
                && self.storage.pieces[i].bytes == bytes
                && self.offsets[i].is_multiple_of(alignment)
                && self.lives.last[i] == at
                && !self.owner_moved[i]
                && !taken.contains(x)
        })
    }

    /// Puts a result of an instruction into the memory of a result of the program, if it may have it.
    fn inherit(&mut self, inst: Inst<'_>, result: usize, piece: PieceId, at: u32) -> bool {
        let (lives, storage, choices) = (self.lives, self.storage, self.choices);
        let bytes = |id: PieceId| storage.pieces[id.index()].bytes;
        // Only a slot that was promised to it or to what is made of it, or one that an input has now, can be for
        // this result.
        let slots = &mut self.slots;
        let inputs = choices.inputs(inst).iter().map(|x| storage.of(*x));
        let held = inputs.filter_map(|x| slots.by_holder.get(&x));
        let promised = [slots.by_heir.get(&piece), slots.by_source.get(&piece)];
        let mut candidates: Vec<usize> = promised.into_iter().flatten().chain(held).copied().collect();
        candidates.sort_unstable();
        let found = candidates.into_iter().find(|i| {
            let Slot { holder, heir, lodgers, .. } = &slots.all[*i];
            let heir = *heir;
            let over = holder.is_none_or(|w| lives.last[w.index()] < at) && lodgers.last < at;
            let in_place = || {
                holder.is_some_and(|w| {
                    lives.last[w.index()] == at
                        && bytes(w) == bytes(piece)
                        && shares(storage, choices, inst, result, w)
                })
            };
            let handed_on = || bytes(piece) == bytes(heir) && lives.comes_before(piece, heir);
            (over || in_place()) && (piece == heir || handed_on())
        });
        let Some(i) = found else { return false };
        let slot = &mut slots.all[i];
        if let Some(w) = slot.holder.replace(piece) {
            slots.by_holder.remove(&w);
        }
        slots.by_holder.insert(piece, i);
        self.bases[piece.index()] = Some(slot.base);
        true
    }

    /// Moves what is in the arena, if it needs less memory then.
    fn pack(&mut self) {
        let Some((offsets, size)) = packed(&self.blocks, self.arena.size) else { return };
        self.arena.size = size;
        for (offset, block) in self.offsets.iter_mut().zip(&self.block_of) {
            if let Some(block) = block {
                *offset = offsets[*block as usize];
            }
        }
    }

    fn expire(&mut self, at: u32) {
        while let Some(Reverse((last, piece))) = self.expiring.peek().copied() {
            if last >= at {
                break;
            }
            self.expiring.pop();
            let i = piece.index();
            if !self.owner_moved[i] {
                let memory = match self.lodging.get(&piece) {
                    Some(slot) => &mut self.slots.all[*slot].lodgers.room,
                    None => &mut self.arena,
                };
                memory.release(self.offsets[i], self.storage.pieces[i].bytes);
            }
        }
    }
}
