//! Rematerialization: a later fusion recomputes a cheap value from stored values instead of loading it.
//!
//! ```text
//! x ─▶ [tanh ─▶ 1 + _ ─▶ _ · x] ─▶ dot … [ _ · (1 + tanh)]     before: tanh and 1 + tanh are stored
//! x ─▶ [tanh ─▶ 1 + _ ─▶ _ · x] ─▶ dot … [1 + tanh ─▶ _ · _]   after: only tanh is stored
//! ```
//!
//! Programs with gradients have many such values: values of the forward pass that the backward pass uses. An
//! elementwise operation on available elements takes less time than writing its result to memory and reading
//! it again, and needs no memory. The pass copies such operations into the generations (see
//! [`fuse`](super::fuse)) of their users; fusion then puts the copies into the users' fusions.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::fuse::{Generations, Level, Role, Roles};
use super::{Pass, PassOptions, erase_unused, running_regions};
use crate::module::{Func, Inst, RegionId, Rewriter, ValueId};
use crate::op::{Binary, Op, Unary};
use crate::types::TensorType;

/// The rematerialization pass.
pub static PASS: Pass = Pass {
    name: "rematerialization",
    about: "recomputes values where that is cheaper than storing them",
    run,
};

/// Minimum size in bytes of a value that is recomputed from stored values; smaller values stay in a cache.
const MIN_BYTES: usize = 1 << 16;
/// Minimum size in bytes of a value that is recomputed from constants, iotas and small values alone.
const MIN_LEAFLESS_BYTES: usize = 1 << 10;
/// Maximum number of operations copied for a value.
const MAX_OPERATIONS: usize = 8;
/// Maximum number of bytes that are read to recompute a value, per byte of the value. Recomputing saves
/// writing the value once and reading it once.
const MAX_READ_FACTOR: usize = 2;
/// Minimum ratio of a broadcast's elements to its operand's elements for the operand to count as free.
const MIN_BROADCAST_FACTOR: usize = 8;

fn run(func: &mut Func, cx: &PassOptions) {
    let regions = running_regions(func);
    let mut r = Rewriter::new(func);
    let mut known = None;
    for region in regions {
        if has_large(r.func(), region) {
            let (roles, generations) =
                known.get_or_insert_with(|| (Roles::new(r.func()), Generations::new(r.func())));
            let recomputation = Recomputation::new(&r, region, cx, roles, generations);
            recomputation.apply(&mut r);
        }
    }
}

fn has_large(func: &Func, region: RegionId) -> bool {
    func.region(region).insts().any(|inst| is_cheap(inst) && is_large(inst))
}

fn is_large(inst: Inst<'_>) -> bool {
    let ty = inst.results().first().and_then(|v| inst.func().tensor(*v));
    ty.and_then(TensorType::bytes).is_some_and(|bytes| bytes >= MIN_LEAFLESS_BYTES)
}

/// Returns true for operations that take less time than reading an element.
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

/// The values to recompute in a region.
struct Recomputation<'a> {
    roles: &'a Roles,
    generations: &'a Generations,
    /// Results of members that are stored in any case.
    stored: FxHashSet<ValueId>,
    /// Results of members to recompute, each with the later generations that use it.
    values: Vec<(ValueId, SmallVec<[u32; 2]>)>,
}

impl<'a> Recomputation<'a> {
    fn new(
        r: &Rewriter<'_>,
        region: RegionId,
        cx: &PassOptions,
        roles: &'a mut Roles,
        generations: &'a mut Generations,
    ) -> Recomputation<'a> {
        let insts: Vec<Inst<'_>> = r.func().region(region).insts().collect();
        roles.add(&insts, cx);
        generations.add(&insts, roles);
        let mut recomputation =
            Recomputation { roles, generations, stored: FxHashSet::default(), values: Vec::new() };
        for inst in &insts {
            let Some(Role::Member(n, Level::Full)) = recomputation.roles.get(inst.id()) else { continue };
            let value = inst.results()[0];
            match recomputation.later_users(r, *inst, n) {
                Some(later) if later.is_empty() => {}
                Some(later) if is_large(*inst) && recomputation.can_be_made(r, *inst, n, &later) => {
                    recomputation.values.push((value, later));
                }
                _ => _ = recomputation.stored.insert(value),
            }
        }
        recomputation
    }

    /// The later generations that use a member's result, in order; `None` if a user is not a member over the
    /// same number of elements.
    fn later_users(&self, r: &Rewriter<'_>, inst: Inst<'_>, n: usize) -> Option<SmallVec<[u32; 2]>> {
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

    /// Returns true if a value can be recomputed from few stored values that still exist in the last of these
    /// generations.
    fn can_be_made(&self, r: &Rewriter<'_>, inst: Inst<'_>, n: usize, later: &[u32]) -> bool {
        let func = r.func();
        let last = later.last().copied().unwrap_or(0);
        let mut leaves: SmallVec<[ValueId; 2]> = SmallVec::new();
        let bytes = |v: ValueId| func.tensor(v).and_then(TensorType::bytes).unwrap_or(usize::MAX);
        let made = bytes(inst.results()[0]);
        let mut left = if made >= MIN_BYTES { made.saturating_mul(MAX_READ_FACTOR) } else { 0 };
        let (mut operations, mut open) = (0, vec![inst]);
        while let Some(inst) = open.pop() {
            operations += 1;
            if operations > MAX_OPERATIONS || !is_cheap(inst) {
                return false;
            }
            for v in inst.operands() {
                let small = |v: ValueId| {
                    func.tensor(v)
                        .and_then(TensorType::elements)
                        .is_some_and(|m| m <= n / MIN_BROADCAST_FACTOR)
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
                        // Inputs of the program always exist. Values that a loop carries may be overwritten.
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

    /// Returns true for an instruction that is copied together with its user.
    fn is_inner(&self, made: Inst<'_>, n: usize) -> bool {
        self.roles.get(made.id()) == Some(Role::Member(n, Level::Full))
            && is_cheap(made)
            && !self.stored.contains(&made.results()[0])
    }

    /// Returns true for a member whose result stays inside a fusion.
    fn is_unstored(&self, made: Inst<'_>) -> bool {
        matches!(self.roles.get(made.id()), Some(Role::Member(_, Level::Full)))
            && !self.stored.contains(&made.results()[0])
    }

    /// Creates the copies, each before its original, and makes the later users use them.
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

    /// Copies a value for a generation, together with the operations it needs: at most [`MAX_OPERATIONS`], so
    /// the function may recurse.
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
