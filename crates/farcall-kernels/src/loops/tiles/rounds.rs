//! Rounds of a hash: add, rotate and xor on two words. Each round is applied to the words of the previous
//! round. Consecutive rounds become one step, in which both words stay in processor registers.
//!
//! ```text
//! a ──▶ + ──┬──────▶ + key ─▶ …        Threefry has twenty rounds, and adds keys after every fourth.
//!       ▲   ╰──▶ ⊕ ─▶ + key ─▶ …
//! b ────┴─▶ ⟲ ───╯
//! ```

use std::sync::Arc;

use farcall_ir::DType;
use farcall_ir::op::Binary;
use smallvec::{SmallVec, smallvec};

use super::super::expression::ScalarOp;
use super::super::ir::{Level, Loop, LoopOp, Slot};
use super::super::vector::rounds::Turn;
use super::{SsaLoop, word};

/// Rough cost of a [`Turn`] (a round or an addition) in picoseconds per pair of words.
const TURN_PICOSECONDS: usize = 20;
/// Minimum number of rounds for a separate step.
const MIN_ROUNDS: usize = 4;
/// Maximum number of added operands, which are in inline storage because a run does not allocate memory.
pub(crate) const MAX_ADDED_OPERANDS: usize = 24;

/// Replaces consecutive rounds by one step for all rounds, and one step for each of the two final words.
pub(crate) fn rounds(steps: &mut [SsaLoop], uses: &mut [usize]) {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    for (s, step) in steps.iter().enumerate().filter(|(s, _)| uses[*s] > 0) {
        for slot in &step.operands {
            if let Slot::Loop(x) = *slot {
                users[x].push(s);
            }
        }
    }
    for s in 0..steps.len() {
        let graph = Graph { steps, uses, users: &users };
        let chain = graph.round(s).map(|round| Chain::new(graph, round));
        if let Some(chain) = chain.filter(|c| c.mixes().count() >= MIN_ROUNDS) {
            let Chain { words, turns, from, taken, .. } = chain;
            install(steps, uses, words.map(|w| w.step), turns, from, &taken);
        }
    }
}

/// The steps of a program, with their users.
#[derive(Clone, Copy)]
struct Graph<'a> {
    steps: &'a [SsaLoop],
    uses: &'a [usize],
    /// The users of each step's result.
    users: &'a [Vec<usize>],
}

/// A round: `sum = a + b`, then `mixed = b.rotate_left(by) ^ sum`.
struct Round {
    /// `a` and `b`
    from: [Slot; 2],
    sum: usize,
    rotation: usize,
    by: u32,
    mixed: usize,
}

impl Graph<'_> {
    /// Returns the operands of a step if it is this operation on words of 32 bits.
    fn binary(self, s: usize, op: Binary) -> Option<[Slot; 2]> {
        let step = &self.steps[s];
        let is = |dtype| step.op.scalar_op() == Some(ScalarOp::Binary(op, dtype));
        let known = self.uses[s] > 0 && step.level == Level::Full && (is(DType::U32) || is(DType::S32));
        known.then(|| <[Slot; 2]>::try_from(&step.operands[..]).ok()).flatten()
    }

    /// Returns the round that ends with this step, if there is one.
    fn round(self, mixed: usize) -> Option<Round> {
        let [x, y] = self.binary(mixed, Binary::Xor)?;
        [(x, y), (y, x)].into_iter().find_map(|(rotated, sum)| {
            let (Slot::Loop(rotation), Slot::Loop(sum)) = (rotated, sum) else { return None };
            let step = &self.steps[rotation];
            let alone = step.op.scalar_op() == Some(ScalarOp::RotateLeft) && self.uses[rotation] == 1;
            let [b, by] = <[Slot; 2]>::try_from(&step.operands[..]).ok().filter(|_| alone)?;
            let a = other(self.binary(sum, Binary::Add)?, b)?;
            Some(Round { from: [a, b], sum, rotation, by: word(self.steps, by)?, mixed })
        })
    }
}

/// Returns the operand that is not `one`, if `one` is an operand.
fn other([x, y]: [Slot; 2], one: Slot) -> Option<Slot> {
    if x == one { Some(y) } else { (y == one).then_some(x) }
}

/// One of the two words after the last turn of a chain.
#[derive(Clone, Copy)]
struct Word {
    /// The step that computes the word.
    step: usize,
    /// A step of the chain that also uses the word, besides the step that computes its next value.
    taker: Option<usize>,
}

/// Consecutive rounds with the additions between them.
struct Chain<'a> {
    graph: Graph<'a>,
    words: [Word; 2],
    turns: Vec<Turn>,
    /// The initial words, then the added operands.
    from: SmallVec<[Slot; 3]>,
    /// The steps that the chain replaces.
    taken: Vec<usize>,
    /// The first step of the chain. Added operands are computed earlier.
    first: usize,
}

impl<'a> Chain<'a> {
    /// Creates the longest chain that begins with this round.
    fn new(graph: Graph<'a>, round: Round) -> Chain<'a> {
        let first = round.sum.min(round.rotation);
        let words = [0, 1].map(|_| Word { step: round.mixed, taker: None });
        let from = SmallVec::from_slice(&round.from);
        let mut chain = Chain { graph, words, turns: Vec::new(), from, taken: Vec::new(), first };
        chain.take(&round);
        while chain.add(0) || chain.add(1) || chain.mix() {}
        chain
    }

    fn mixes(&self) -> impl Iterator<Item = &Turn> {
        self.turns.iter().filter(|turn| matches!(turn, Turn::Mix { .. }))
    }

    fn take(&mut self, round: &Round) {
        self.turns.push(Turn::Mix { by: round.by });
        self.taken.extend([round.sum, round.rotation, round.mixed]);
        self.words =
            [Word { step: round.sum, taker: Some(round.mixed) }, Word { step: round.mixed, taker: None }];
    }

    /// Returns the steps that use a word next; `None` if the word is also a result of the program.
    fn next(&self, word: usize) -> Option<SmallVec<[usize; 2]>> {
        let Word { step, taker } = self.words[word];
        let users = &self.graph.users[step];
        let next = || users.iter().copied().filter(|user| Some(*user) != taker).collect();
        (users.len() == self.graph.uses[step]).then(next)
    }

    /// Extends the chain by an addition to a word if that comes next; returns true if so.
    fn add(&mut self, word: usize) -> bool {
        let added = || {
            let &[next] = &self.next(word)?[..] else { return None };
            let key = other(self.graph.binary(next, Binary::Add)?, Slot::Loop(self.words[word].step))?;
            let known = match key {
                Slot::Loop(s) => {
                    let level = self.graph.steps[s].level;
                    s < self.first && level == Level::Full || level == Level::Uniform
                }
                Slot::Input(_) => true,
            };
            (known && self.from.len() < 2 + MAX_ADDED_OPERANDS).then_some((next, key))
        };
        let Some((next, key)) = added() else { return false };
        self.turns.push(Turn::Add { word, operand: self.from.len() - 2 });
        self.from.push(key);
        self.taken.push(next);
        self.words[word] = Word { step: next, taker: None };
        true
    }

    /// Extends the chain by a round if that comes next; returns true if so.
    fn mix(&mut self) -> bool {
        let round = || {
            let ([sum], [x, y]) = (&self.next(0)?[..], &self.next(1)?[..]) else { return None };
            let rotation = if x == sum { *y } else { *x };
            let &[mixed] = &self.graph.users[rotation][..] else { return None };
            let round = self.graph.round(mixed)?;
            let same = round.from == self.words.map(|w| Slot::Loop(w.step)) && round.sum == *sum;
            same.then_some(round)
        };
        let Some(round) = round() else { return false };
        self.take(&round);
        true
    }
}

/// Replaces the steps of a chain by three steps.
fn install(
    steps: &mut [SsaLoop],
    uses: &mut [usize],
    ends: [usize; 2],
    turns: Vec<Turn>,
    from: SmallVec<[Slot; 3]>,
    taken: &[usize],
) {
    let mut count = |slots: &[Slot], change: isize| {
        for slot in slots {
            if let Slot::Loop(s) = *slot {
                uses[s] = uses[s].wrapping_add_signed(change);
            }
        }
    };
    taken.iter().for_each(|s| count(&steps[*s].operands, -1));
    count(&from, 1);
    // The step for all rounds takes the place of the last replaced step before both ends.
    let least = ends[0].min(ends[1]);
    let Some(place) = taken.iter().copied().filter(|s| *s < least).max() else { return };
    uses[place] = 2;
    let cost = TURN_PICOSECONDS * turns.len();
    let of = |op: LoopOp, operands: SmallVec<[Slot; 3]>, bytes: usize, cost: usize| Loop {
        op: Arc::new(op),
        operands,
        result: (),
        bytes,
        level: Level::Full,
        cost,
    };
    steps[place] = of(LoopOp::HashRounds(turns), from, 8, cost);
    for (half, end) in ends.into_iter().enumerate() {
        steps[end] = of(LoopOp::Half(half), smallvec![Slot::Loop(place)], 4, 50);
    }
}
