//! Recomputation: what a later fusion can make again from what is stored anyway is not stored.
//!
//! ```text
//! x ─▶ [tanh ─▶ 1 + _ ─▶ _ · x] ─▶ dot … [ _ · (1 + tanh)]     before: tanh and 1 + tanh are stored
//! x ─▶ [tanh ─▶ 1 + _ ─▶ _ · x] ─▶ dot … [1 + tanh ─▶ _ · _]   after: tanh is
//! ```
//!
//! Programs with gradients are full of such values: those of the forward pass that the backward one takes. An operation on
//! elements that are at hand takes less time than writing its result to memory and reading it again, and no memory. The pass
//! copies such operations for the generations (see [`fuse`](super::fuse)) of those that take their results; that pass then finds
//! the copies with these.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::fuse::{Generations, Level, Role, Roles};
use super::{Context, Pass, erase_unused, running_regions};
use crate::module::{Func, Inst, RegionId, Rewriter, ValueId};
use crate::op::{Binary, Op, Unary};
use crate::types::TensorType;

/// Recomputation.
pub static PASS: Pass =
    Pass { name: "recompute", about: "makes values again where that is less work than storing them", run };

/// Bytes of a value from which on it is worth it: smaller ones stay in a cache.
const LARGE: usize = 1 << 16;
/// The same of a value that is made of constants, iotas and small values alone.
const LARGE_OF_NOTHING: usize = 1 << 10;
/// Operations that are copied for a value at most.
const OPERATIONS: usize = 8;
/// How many times its bytes the stored values have that it is made of, at most: they are read where it would be, and it is not
/// written.
const READ: usize = 2;
/// How much smaller the operand of a broadcast is at least, to count for nothing.
const SMALLER: usize = 8;

fn run(func: &mut Func, cx: &Context) {
    let regions = running_regions(func);
    let mut r = Rewriter::new(func);
    let mut known = None;
    for region in regions {
        if has_large(r.func(), region) {
            let (roles, generations) =
                known.get_or_insert_with(|| (Roles::new(r.func()), Generations::new(r.func())));
            let again = Again::new(&r, region, cx, roles, generations);
            again.apply(&mut r);
        }
    }
}

fn has_large(func: &Func, region: RegionId) -> bool {
    func.region(region).insts().any(|inst| is_cheap(inst) && is_large(inst))
}

fn is_large(inst: Inst<'_>) -> bool {
    let ty = inst.results().first().and_then(|v| inst.func().tensor(*v));
    ty.and_then(TensorType::bytes).is_some_and(|bytes| bytes >= LARGE_OF_NOTHING)
}

/// Operations of which one takes less time than reading an element.
fn is_cheap(inst: Inst<'_>) -> bool {
    use Binary::{Add, And, Divide, Maximum, Minimum, Multiply, Or, Subtract, Xor};
    let is_float = || inst.func().tensor(inst.results()[0]).is_some_and(|ty| ty.dtype.is_float());
    match inst.op() {
        Op::Binary(Divide) => is_float(),
        Op::Binary(op) => {
            matches!(op, Add | Subtract | Multiply | Maximum | Minimum | And | Or | Xor)
        }
        Op::Unary(op) => matches!(op, Unary::Negate | Unary::Abs | Unary::Not),
        Op::Compare(_) | Op::Select | Op::Convert => true,
        _ => false,
    }
}

/// What is made again in a region.
struct Again<'a> {
    roles: &'a Roles,
    generations: &'a Generations,
    /// Results of members that are stored in any case.
    stored: FxHashSet<ValueId>,
    /// Results of members, and the later generations that take each.
    values: Vec<(ValueId, SmallVec<[u32; 2]>)>,
}

impl<'a> Again<'a> {
    fn new(
        r: &Rewriter<'_>,
        region: RegionId,
        cx: &Context,
        roles: &'a mut Roles,
        generations: &'a mut Generations,
    ) -> Again<'a> {
        let insts: Vec<Inst<'_>> = r.func().region(region).insts().collect();
        roles.add(&insts, cx);
        generations.add(&insts, roles);
        let mut again = Again { roles, generations, stored: FxHashSet::default(), values: Vec::new() };
        for inst in &insts {
            let Some(Role::Member(n, Level::Full)) = again.roles.get(inst.id()) else { continue };
            let value = inst.results()[0];
            match again.takers(r, *inst, n) {
                Some(later) if later.is_empty() => {}
                Some(later) if is_large(*inst) && again.can_be_made(r, *inst, n, &later) => {
                    again.values.push((value, later));
                }
                _ => _ = again.stored.insert(value),
            }
        }
        again
    }

    /// The later generations that take a member's result, in order; `None` if somebody else takes it than a member over as many
    /// elements.
    fn takers(&self, r: &Rewriter<'_>, inst: Inst<'_>, n: usize) -> Option<SmallVec<[u32; 2]>> {
        let own = self.generations.of(inst.id());
        let mut later = SmallVec::new();
        for user in r.users(inst.results()[0]) {
            match self.roles.get(*user)? {
                Role::Member(m, _) if m == n => later.push(self.generations.of(*user)),
                _ => return None,
            }
        }
        later.retain(|generation| *generation != own);
        later.sort_unstable();
        later.dedup();
        Some(later)
    }

    /// True if a value can be made from few others that are stored, and still there in the last of these generations.
    fn can_be_made(&self, r: &Rewriter<'_>, inst: Inst<'_>, n: usize, later: &[u32]) -> bool {
        let func = r.func();
        let last = later.last().copied().unwrap_or(0);
        let mut leaves: SmallVec<[ValueId; 2]> = SmallVec::new();
        let bytes = |v: ValueId| func.tensor(v).and_then(TensorType::bytes).unwrap_or(usize::MAX);
        let made = bytes(inst.results()[0]);
        let mut left = if made >= LARGE { made.saturating_mul(READ) } else { 0 };
        let (mut operations, mut open) = (0, vec![inst]);
        while let Some(inst) = open.pop() {
            operations += 1;
            if operations > OPERATIONS || !is_cheap(inst) {
                return false;
            }
            for v in inst.operands() {
                let small = |v: ValueId| {
                    func.tensor(v).and_then(TensorType::elements).is_some_and(|m| m <= n / SMALLER)
                };
                match func.defining_inst(*v) {
                    Some(made) if self.is_inner(made, n) => open.push(made),
                    _ if leaves.contains(v) || small(*v) => {}
                    Some(made) if self.roles.is_cheap(made.id()) => match made.op() {
                        Op::Constant(_) | Op::Iota { .. } | Op::Compare(_) => {}
                        Op::BroadcastInDim { .. } if small(made.operands()[0]) => {}
                        _ => return false,
                    },
                    Some(made) if self.is_unstored(made) => return false,
                    made => {
                        let Some(rest) = left.checked_sub(bytes(*v)) else { return false };
                        left = rest;
                        // The program's own inputs are always there. What a loop carries may be written over.
                        let lasts = made.is_none() && func.params().contains(v);
                        let taken = r.users(*v).iter().filter_map(|user| self.generations.get(*user));
                        if !lasts && taken.max().is_none_or(|g| g < last) {
                            return false;
                        }
                        leaves.push(*v);
                    }
                }
            }
        }
        true
    }

    /// True for what is copied together with what takes it.
    fn is_inner(&self, made: Inst<'_>, n: usize) -> bool {
        self.roles.get(made.id()) == Some(Role::Member(n, Level::Full))
            && is_cheap(made)
            && !self.stored.contains(&made.results()[0])
    }

    /// True for what stays in a fusion.
    fn is_unstored(&self, made: Inst<'_>) -> bool {
        matches!(self.roles.get(made.id()), Some(Role::Member(_, Level::Full)))
            && !self.stored.contains(&made.results()[0])
    }

    /// Makes the copies, all of what stands there now, and gives them to those who take them.
    fn apply(&self, r: &mut Rewriter<'_>) {
        let mut copies = FxHashMap::default();
        for (value, later) in &self.values {
            for generation in later {
                self.copy(r, *value, *generation, &mut copies);
            }
        }
        for (value, later) in &self.values {
            for user in r.users(*value).to_vec() {
                let Some(generation) = self.generations.get(user).filter(|g| later.contains(g)) else {
                    continue;
                };
                let copy = copies[&(*value, generation)];
                let old = r.func().inst(user).operands().to_vec();
                r.set_operands(user, old.into_iter().map(|v| if v == *value { copy } else { v }));
            }
        }
        for (value, _) in &self.values {
            erase_unused(r, *value, is_cheap);
        }
    }

    /// A copy of a value for a generation, with those of what is copied with it: [`OPERATIONS`] at most, so it may recurse.
    fn copy(
        &self,
        r: &mut Rewriter<'_>,
        value: ValueId,
        generation: u32,
        copies: &mut FxHashMap<(ValueId, u32), ValueId>,
    ) -> ValueId {
        if let Some(copy) = copies.get(&(value, generation)) {
            return *copy;
        }
        let inst = r.func().defining_inst(value).expect("a member makes it");
        let Some(Role::Member(n, _)) = self.roles.get(inst.id()) else { unreachable!("a member makes it") };
        let (id, op, ty) = (inst.id(), inst.op().clone(), r.func().ty(value).clone());
        let operands: SmallVec<[ValueId; 3]> = inst.operands().iter().copied().collect();
        let operands: SmallVec<[ValueId; 3]> = operands
            .into_iter()
            .map(|v| match r.func().defining_inst(v) {
                Some(made) if self.is_inner(made, n) => self.copy(r, v, generation, copies),
                _ => v,
            })
            .collect();
        let copy = r.value_before(id, op, operands, ty);
        copies.insert((value, generation), copy);
        copy
    }
}
