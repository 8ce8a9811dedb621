//! Assigns a place, which is a [`BufferSlice`] of memory, to every value. Live ranges are computed over the
//! program in order ([`live`](super::live)), then the values are placed first fit. If first fit leaves holes,
//! the arena is packed again, largest values first.
//!
//! A result may take over the place of an operand whose life ends at the same instruction, if the kernel
//! allows it ([`Choices::in_place`]).
//!
//! A result of the program is written to its *destination*, the memory that it finally has: its own memory,
//! which the caller gets, or the memory of a donated input. Before the result's life begins, other values may
//! use that memory in turn, if their lives have ended by then: values that replace a donated input in place,
//! and values that the result replaces in place. A result's own memory also takes *lodgers*: any other values
//! that fit and whose lives end in time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use farcall_ir::{Attribute, Func, Inst, InstId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::arena::{Arena, Block, packed};
use super::choices::Choices;
use super::donate;
use super::live::Lives;
use super::order::{self, Event};
use super::scalar_constants::Constants;
use super::storage::{ByteRange, Home, Piece, PieceId, Storage, shares, sharing};
use farcall_plan::{Base, BufferSlice, ParamId, ResultId};

/// Maximum number of results whose memory is tried for one lodger.
const MAX_HOSTS: usize = 16;

/// The places of all values.
#[derive(Debug)]
pub(super) struct Places<'s> {
    pub(super) storage: &'s Storage,
    /// The slices, by piece of memory.
    slices: Vec<BufferSlice>,
    /// The places of the constants.
    pub(super) constants: Constants,
    /// Size of the arena, in bytes.
    pub(super) arena_size: usize,
}

impl Places<'_> {
    /// Returns the place of a value that exists at run time.
    pub(super) fn of(&self, value: ValueId) -> BufferSlice {
        let slice = self.slice(self.storage.of(value));
        match self.storage.part(value) {
            Some(ByteRange { offset, size }) => BufferSlice { offset: slice.offset + offset, size, ..slice },
            None => slice,
        }
    }

    /// Returns the place of a piece of memory.
    pub(super) fn slice(&self, piece: PieceId) -> BufferSlice {
        self.slices[piece.index()]
    }

    /// Returns the scratch memory of an instruction, if it has any.
    pub(super) fn scratch(&self, inst: InstId) -> Option<BufferSlice> {
        self.storage.scratch(inst).map(|id| self.slice(id))
    }

    /// Returns true if the program writes the value, which is then neither an input nor a constant.
    pub(super) fn is_written(&self, value: ValueId) -> bool {
        self.storage.piece(value).home == Home::Open
    }

    /// Returns the inputs whose memory the program writes to.
    pub(super) fn donated(&self) -> FxHashSet<ParamId> {
        let pieces = self.slices.iter().zip(&self.storage.pieces);
        let written = pieces.filter(|(_, piece)| piece.home == Home::Open).map(|(slice, _)| slice.base);
        written.filter_map(|base| if let Base::Param(id) = base { Some(id) } else { None }).collect()
    }

    /// Adds the places to the instructions of a program as attributes: `farcall.places` for results,
    /// `farcall.scratch` for scratch memory.
    pub(super) fn annotate(&self, func: &mut Func) {
        let text = |slice: BufferSlice| Attribute::String(slice.to_string().into_bytes().into());
        let mut notes: Vec<(InstId, &str, Attribute)> = Vec::new();
        for inst in order::instructions(func) {
            if inst.results().is_empty() {
                continue;
            }
            let places = inst.results().iter().map(|r| text(self.of(*r))).collect();
            notes.push((inst.id(), "farcall.places", Attribute::Array(places)));
            if let Some(scratch) = self.scratch(inst.id()) {
                notes.push((inst.id(), "farcall.scratch", text(scratch)));
            }
        }
        for (inst, key, value) in notes {
            func.attrs_mut(inst).insert(key.to_owned(), value);
        }
    }
}

/// Assigns places to all values.
pub(super) fn assign<'s>(
    func: &Func,
    events: &[Event<'_>],
    choices: &Choices,
    storage: &'s Storage,
) -> Places<'s> {
    let lives = Lives::new(func, events, choices, storage);
    let destinations = Destinations::promised(func, storage, &lives);
    let mut a = Assigner {
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
        destinations,
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
        BufferSlice { base, offset: a.offsets[i], size: piece.bytes }
    };
    let slices = storage.pieces.iter().enumerate().map(slice).collect();
    Places { storage, slices, constants, arena_size: a.arena.size }
}

/// The memory that a result finally has: its own memory, or the memory of a donated input.
struct Destination {
    base: Base,
    /// The piece that occupies the memory now, or that occupied it last.
    holder: Option<PieceId>,
    /// The result that the memory is for.
    heir: PieceId,
    /// Values placed in the memory before the result.
    lodgers: Lodgers,
}

/// Values that use the memory of a result before the result's life begins.
struct Lodgers {
    room: Arena,
    /// Size of the memory, in bytes; 0 if it takes no lodgers.
    bytes: usize,
    /// Position before which the lives of all lodgers end: the beginning of the result's life or, if that is
    /// earlier, of the life of a value that the result replaces in place.
    leave: u32,
    /// Last position of all lodgers admitted so far.
    last: u32,
}

impl Lodgers {
    /// Opens a result's own memory to lodgers. They must leave before the life of the result begins, and
    /// before the life of any value that the result replaces in place.
    fn of_result(heir: PieceId, storage: &Storage, lives: &Lives) -> Lodgers {
        // Inputs and constants have separate places, so the result is not computed in their memory.
        let is_made = |piece: &&PieceId| storage.pieces[piece.index()].home == Home::Open;
        let sources = lives.sources.get(&heir).into_iter().flatten().filter(is_made);
        let begins = sources.chain([&heir]).map(|piece| lives.first[piece.index()]).min();
        let bytes = storage.pieces[heir.index()].bytes;
        Lodgers { bytes, leave: begins.unwrap_or(0), ..Lodgers::none() }
    }

    fn none() -> Lodgers {
        Lodgers { room: Arena::default(), bytes: 0, leave: 0, last: 0 }
    }

    /// Admits a piece that lives until this position, and returns its offset, if there is room.
    fn admit(&mut self, piece: Piece, until: u32) -> Option<usize> {
        (until < self.leave).then_some(())?;
        let offset = self.room.allocate_below(self.bytes, piece.bytes, piece.alignment)?;
        self.last = self.last.max(until);
        Some(offset)
    }
}

/// The destinations of all results.
#[derive(Default)]
struct Destinations {
    all: Vec<Destination>,
    /// Indices in `all`, by the destination's result.
    by_heir: FxHashMap<PieceId, usize>,
    /// Indices in `all`, by the piece that has the memory now.
    by_holder: FxHashMap<PieceId, usize>,
    /// Indices in `all`, by the pieces that the destination's result can replace in place.
    by_source: FxHashMap<PieceId, usize>,
    /// Indices in `all` of the destinations that take lodgers, in the order in which the lodgers must have
    /// left.
    lodgings: Vec<usize>,
}

impl Destinations {
    /// Promises each donated input to one result that fits it. All other results get memory of their own.
    fn promised(func: &Func, storage: &Storage, lives: &Lives) -> Destinations {
        let results: Vec<PieceId> = func.body().returned().iter().map(|r| storage.of(*r)).collect();
        let mut destinations = Destinations::default();
        for (param, requested) in donate::donated(func) {
            let input = storage.of(func.params()[param]);
            let bytes = storage.pieces[input.index()].bytes;
            let fits = |r: &PieceId| {
                let piece = storage.pieces[r.index()];
                piece.home == Home::Open
                    && piece.bytes == bytes
                    && lives.comes_before(input, *r)
                    && !destinations.by_heir.contains_key(r)
            };
            if let Some(heir) = requested.iter().filter_map(|r| results.get(*r)).copied().find(fits) {
                destinations.by_holder.insert(input, destinations.all.len());
                let base = Base::Param(ParamId::new(param));
                // The caller's memory may be under-aligned, so it takes no lodgers.
                destinations.promise(
                    Destination { base, holder: Some(input), heir, lodgers: Lodgers::none() },
                    lives,
                );
            }
        }
        for (i, heir) in results.into_iter().enumerate() {
            let piece = storage.pieces[heir.index()];
            if piece.home == Home::Open && piece.bytes > 0 && !destinations.by_heir.contains_key(&heir) {
                let lodgers = Lodgers::of_result(heir, storage, lives);
                destinations.promise(
                    Destination { base: Base::Result(ResultId::new(i)), holder: None, heir, lodgers },
                    lives,
                );
            }
        }
        destinations.lodgings =
            (0..destinations.all.len()).filter(|i| destinations.all[*i].lodgers.bytes > 0).collect();
        destinations.lodgings.sort_by_key(|i| destinations.all[*i].lodgers.leave);
        destinations
    }

    fn promise(&mut self, destination: Destination, lives: &Lives) {
        let number = self.all.len();
        self.by_heir.insert(destination.heir, number);
        for source in lives.sources.get(&destination.heir).into_iter().flatten() {
            self.by_source.entry(*source).or_insert(number);
        }
        self.all.push(destination);
    }
}

struct Assigner<'a> {
    choices: &'a Choices,
    storage: &'a Storage,
    lives: &'a Lives,
    /// Base of each piece, once it has a place.
    bases: Vec<Option<Base>>,
    /// For each lodger, the index of the destination in which it is placed.
    lodging: FxHashMap<PieceId, usize>,
    offsets: Vec<usize>,
    /// For each piece, true if another piece has taken over its place.
    owner_moved: Vec<bool>,
    arena: Arena,
    /// The blocks of the arena, and the block of each piece that is in it.
    blocks: Vec<Block>,
    block_of: Vec<Option<u32>>,
    /// Lodgers, and pieces in the arena. The piece with the earliest last position comes out first.
    expiring: BinaryHeap<Reverse<(u32, PieceId)>>,
    /// Memory other than the arena: the destinations of the program's results.
    destinations: Destinations,
}

impl Assigner<'_> {
    /// Assigns places to the pieces that this instruction, at this position, is the first to write.
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
                if let Some(destination) = self.lodging.get(&other).copied() {
                    self.lodge(piece, destination);
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

    /// Places a piece in the memory of a result that begins later, if there is room.
    fn admitted(&mut self, piece: PieceId) -> bool {
        let (of, until) = (self.storage.pieces[piece.index()], self.lives.last[piece.index()]);
        let Destinations { all, lodgings, .. } = &mut self.destinations;
        // Try the results that begin soonest after the piece ends first, so that later results keep room for
        // longer-lived values.
        let first = lodgings.partition_point(|i| all[*i].lodgers.leave <= until);
        let open = lodgings[first..].iter().copied().take(MAX_HOSTS);
        let free: SmallVec<[usize; MAX_HOSTS]> = open.filter(|i| all[*i].holder.is_none()).collect();
        let admitted = free.into_iter().find_map(|i| Some((i, all[i].lodgers.admit(of, until)?)));
        let Some((number, offset)) = admitted else { return false };
        self.offsets[piece.index()] = offset;
        self.lodge(piece, number);
        true
    }

    fn lodge(&mut self, piece: PieceId, number: usize) {
        self.bases[piece.index()] = Some(self.destinations.all[number].base);
        self.lodging.insert(piece, number);
    }

    /// Finds an operand whose life ends here, and whose place this result may take over. The operand is in
    /// the arena, or is a lodger in a destination. If it is a lodger, the life of the result must also end
    /// before the destination is needed.
    fn ending(&self, inst: Inst<'_>, result: usize, at: u32, taken: &[PieceId]) -> Option<PieceId> {
        let own = self.storage.of(inst.results()[result]);
        let Piece { bytes, alignment, .. } = self.storage.pieces[own.index()];
        let until = self.lives.last[own.index()];
        sharing(self.storage, self.choices, inst, result).find(|x| {
            let i = x.index();
            let stays = |destination: &usize| until < self.destinations.all[*destination].lodgers.leave;
            (self.bases[i] == Some(Base::Arena) || self.lodging.get(x).is_some_and(stays))
                && self.storage.pieces[i].bytes == bytes
                && self.offsets[i].is_multiple_of(alignment)
                && self.lives.last[i] == at
                && !self.owner_moved[i]
                && !taken.contains(x)
        })
    }

    /// Places a result of an instruction in the destination of a program result. The memory must be free at
    /// this position or be taken over in place, and the program result must be able to take it over in turn.
    /// Returns false if there is no such destination.
    fn inherit(&mut self, inst: Inst<'_>, result: usize, piece: PieceId, at: u32) -> bool {
        let (lives, storage, choices) = (self.lives, self.storage, self.choices);
        let bytes = |id: PieceId| storage.pieces[id.index()].bytes;
        // Candidates are the destinations promised to this piece or to a result that can replace it in place,
        // and the destinations that hold an operand of the instruction now.
        let destinations = &mut self.destinations;
        let inputs = choices.inputs(inst).iter().map(|x| storage.of(*x));
        let held = inputs.filter_map(|x| destinations.by_holder.get(&x));
        let promised = [destinations.by_heir.get(&piece), destinations.by_source.get(&piece)];
        let mut candidates: Vec<usize> = promised.into_iter().flatten().chain(held).copied().collect();
        candidates.sort_unstable();
        let found = candidates.into_iter().find(|i| {
            let Destination { holder, heir, lodgers, .. } = &destinations.all[*i];
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
        let destination = &mut destinations.all[i];
        if let Some(w) = destination.holder.replace(piece) {
            destinations.by_holder.remove(&w);
        }
        destinations.by_holder.insert(piece, i);
        self.bases[piece.index()] = Some(destination.base);
        true
    }

    /// Packs the arena anew, if it then needs less memory.
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
                    Some(destination) => &mut self.destinations.all[*destination].lodgers.room,
                    None => &mut self.arena,
                };
                memory.release(self.offsets[i], self.storage.pieces[i].bytes);
            }
        }
    }
}
