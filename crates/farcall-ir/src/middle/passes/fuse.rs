//! Fusion: connected elementwise operations become one instruction.
//!
//! ```text
//! generation    0             1
//!            a ─▶ b ─▶ dot ─▶ c ─▶ d        [a b] dot [c d]: a and d have the same number of
//!             ╰───────────────────▲         elements, but dot is not elementwise
//! ```
//!
//! `roles` decides which instructions can be members of a fusion, and which are duplicated into every fusion
//! that uses them: cheap values (one-element constants, broadcasts, iotas, comparisons of iotas and numbers),
//! and movements of values from outside the fusion (slices, concatenations of slices, and padding), which
//! only change where elements are read.
//!
//! Every instruction has a *generation* (`generations`): the highest generation among the producers of its
//! operands, where a producer in another fusion counts one generation more. Members of the same generation
//! with the same number of elements can be computed together: no path from one such member to another leaves
//! the fusion. A member whose users all belong to later generations joins the earliest of these generations.
//!
//! Small members of one generation are fused even if they are unrelated, unless a member can be postponed
//! until just before its users.
//!
//! Reductions of rows ([`rows`](crate::middle::rows)) are members as well, if all rows in a fusion have the
//! same length. Such a fusion is computed row by row and has elements at two levels: all elements of the
//! rows, and one element for each row. A broadcast of one element per row connects the levels, so that a mean
//! can be subtracted from the elements it is computed from. A reduction across rows, or of all elements, is a
//! member that no other member uses: its result is known only when the fusion is done.

mod explain;
mod generations;
mod roles;

use std::cell::OnceCell;
use std::ops::Range;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::{FusionLimits, Pass, PassOptions, is_pure, running_regions, sink};
use crate::module::{
    Func, Inst, InstId, InstMap, InstSet, NewInst, Region, RegionId, Rewriter, ValueDef, ValueId, ValueMap,
};
use crate::op::{FormOp, Op, Traits};
use crate::types::{TensorType, Type};

pub use explain::{FusionEdge, UnfusedInst, UnfusedReason, fusion_edges, unfused};
pub(super) use generations::Generations;
pub(super) use roles::{Level, Role, Roles};

/// The fusion pass.
pub static PASS: Pass =
    Pass { name: "fuse", about: "computes operations on corresponding elements together", run };

/// Maximum number of elements at which unrelated operations are fused, too.
const MAX_UNRELATED_ELEMENTS: usize = 4096;
/// Minimum size in bytes of a result for which postponing its computation pays.
const MIN_POSTPONED_BYTES: usize = 512;

fn run(func: &mut Func, cx: &PassOptions) {
    let mut scratch = Scratch::new(func);
    let plan = Plan::new(func, cx, &mut scratch);
    let mut r = Rewriter::new(func);
    for (region, groups) in &plan.regions {
        plan.apply(&mut r, *region, groups.clone(), &mut scratch);
    }
}

/// Instructions that become one fusion.
struct Group {
    /// The members, in program order.
    members: Vec<InstId>,
    /// The members together with the duplicated instructions before them.
    inside: Vec<InstId>,
}

/// The groups to form in each region of a function.
struct Plan {
    groups: Vec<Group>,
    /// Regions with groups, and the indices of their groups.
    regions: Vec<(RegionId, Range<usize>)>,
    /// The group of each member.
    of: InstMap<usize>,
    roles: Roles,
    limits: FusionLimits,
}

/// Facts about a region that decide which of its members can be postponed.
struct Postponement {
    /// Cheap instructions whose operands are available at any time.
    cheap: FxHashSet<InstId>,
    /// Returned values. Postponing the computation of a returned value gains nothing, since the value has
    /// separate memory in any case.
    returned: FxHashSet<ValueId>,
}

impl Postponement {
    fn new(region: Region<'_>, roles: &Roles) -> Postponement {
        let mut cheap: FxHashSet<InstId> = FxHashSet::default();
        for inst in region.insts().filter(|inst| roles.is_cheap(inst.id())) {
            if is_made_of(inst, |from| cheap.contains(&from)) {
                cheap.insert(inst.id());
            }
        }
        Postponement { cheap, returned: region.returned().iter().copied().collect() }
    }

    /// Returns true if all operands of the members are available at any time, so that running the members
    /// later costs nothing (see [`sink`]).
    fn can_be_postponed(&self, func: &Func, members: &[InstId]) -> bool {
        let own: FxHashSet<InstId> = members.iter().copied().collect();
        members
            .iter()
            .all(|id| is_made_of(func.inst(*id), |from| own.contains(&from) || self.cheap.contains(&from)))
    }
}

/// Returns true if every operand is available at any time or is a result of an instruction for which `these`
/// holds.
fn is_made_of(inst: Inst<'_>, these: impl Fn(InstId) -> bool) -> bool {
    let func = inst.func();
    let is_one = |v: ValueId| func.defining_inst(v).is_some_and(|from| these(from.id()));
    inst.operands().iter().all(|v| is_one(*v) || sink::is_always_there(func, *v))
}

impl Plan {
    fn new(func: &Func, cx: &PassOptions, scratch: &mut Scratch) -> Plan {
        let (roles, of) = (Roles::new(func), InstMap::new(func));
        let limits = cx.fusion_limits;
        let mut plan = Plan { groups: Vec::new(), regions: Vec::new(), of, roles, limits };
        let mut generations = Generations::new(func);
        for region in running_regions(func) {
            let first = plan.groups.len();
            plan.add_region(func.region(region), cx, &mut generations, scratch);
            if plan.groups.len() > first {
                plan.regions.push((region, first..plan.groups.len()));
            }
        }
        plan
    }

    fn add_region(
        &mut self,
        region: Region<'_>,
        cx: &PassOptions,
        generations: &mut Generations,
        scratch: &mut Scratch,
    ) {
        let insts: Vec<Inst<'_>> = region.insts().collect();
        self.roles.add(&insts, cx);
        generations.add(&insts, &self.roles);

        // Candidate members, grouped by generation and number of elements, in program order.
        let mut members: Vec<(u32, usize, usize)> = Vec::with_capacity(insts.len());
        for (place, inst) in insts.iter().enumerate() {
            if let Some(Role::Member(n, _)) = self.roles.get(inst.id()) {
                members.push((generations.of(inst.id()), n, place));
            }
        }
        members.sort_unstable();
        let postponement = OnceCell::new();
        for alike in members.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let n = alike[0].1;
            let alike: Vec<InstId> = alike.iter().map(|(.., place)| insts[*place].id()).collect();
            // No part uses results of a later part: parts are either unrelated, or consecutive runs of
            // members in program order.
            let parts = self.parts(region, alike, n, &postponement, scratch);
            for part in parts.iter().flat_map(|p| p.chunks(cx.fusion_limits.members)) {
                split(region.func(), part, &self.roles)
                    .into_iter()
                    .for_each(|m| self.add(region.func(), m, scratch));
            }
        }
    }

    /// Splits members with `n` elements each into parts that are computed together. Large members form a part
    /// if they are connected. Small members form one part, except for members that can be postponed.
    /// `postponement` is initialized on first use, since few regions need it.
    fn parts(
        &self,
        region: Region<'_>,
        members: Vec<InstId>,
        n: usize,
        postponement: &OnceCell<Postponement>,
        scratch: &mut Scratch,
    ) -> Vec<Vec<InstId>> {
        let func = region.func();
        if n > MAX_UNRELATED_ELEMENTS {
            return connected(func, &members, &self.roles, scratch);
        }
        let made = |id: InstId| func.inst(id).results()[0];
        let is_large =
            |id: &InstId| func.tensor(made(*id)).and_then(TensorType::bytes) >= Some(MIN_POSTPONED_BYTES);
        if members.len() < 2 || !members.iter().any(is_large) {
            return vec![members];
        }
        let postponement = postponement.get_or_init(|| Postponement::new(region, &self.roles));
        let (mut late, mut rest) = (Vec::new(), FxHashSet::default());
        for part in connected(func, &members, &self.roles, scratch) {
            let is_kept = part
                .last()
                .is_some_and(|last| is_large(last) && !postponement.returned.contains(&made(*last)));
            if is_kept && postponement.can_be_postponed(func, &part) {
                late.push(part);
            } else {
                rest.extend(part);
            }
        }
        late.push(members.iter().copied().filter(|id| rest.contains(id)).collect());
        late.retain(|part: &Vec<InstId>| !part.is_empty());
        late
    }

    /// Makes the members one group, unless that gains nothing. A single operation gains only if it uses a
    /// broadcast that need not be materialized, or a constant that need not be stored.
    fn add(&mut self, func: &Func, members: Vec<InstId>, scratch: &mut Scratch) {
        let roles = &self.roles;
        let computes = |id: &&InstId| !matches!(func.inst(**id).op(), Op::Reshape | Op::BitcastConvert);
        let mut computing = members.iter().filter(computes);
        let (first, more) = (computing.next(), computing.next().is_some());
        let takes_cheap = |id: &InstId| {
            let from = func.inst(*id).operands().iter();
            from.filter_map(|v| func.defining_inst(*v))
                .any(|i| roles.is_cheap(i.id()) && !matches!(i.op(), Op::Constant(c) if c.len() == 1))
        };
        if more || first.is_some_and(takes_cheap) {
            let inside = inside(func, &members, roles, &mut scratch.set);
            if inside.len() > self.limits.ops {
                return self.halve(func, &members, scratch);
            }
            members.iter().for_each(|m| self.of.insert(*m, self.groups.len()));
            self.groups.push(Group { members, inside });
        }
    }

    /// Splits members that are too many for one group into two halves. A single member forms no group, even
    /// if the instructions duplicated for it are too many.
    fn halve(&mut self, func: &Func, members: &[InstId], scratch: &mut Scratch) {
        let (first, second) = members.split_at(members.len() / 2);
        for half in [first, second].into_iter().filter(|_| !first.is_empty()) {
            split(func, half, &self.roles).into_iter().for_each(|m| self.add(func, m, scratch));
        }
    }

    /// Replaces the members of a region's groups by fusions.
    fn apply(&self, r: &mut Rewriter<'_>, region: RegionId, groups: Range<usize>, scratch: &mut Scratch) {
        let Some(end) = r.func().region(region).terminator().map(|t| t.id()) else { return };
        for unit in self.order(r.func(), region, groups, scratch) {
            match unit {
                // A group may have absorbed the instruction.
                Unit::Inst(inst) if r.func().inst(inst).parent().is_some() => r.move_before(inst, end),
                Unit::Inst(_) => {}
                Unit::Group(g) => self.fuse(r, g, end, &mut scratch.set),
            }
        }
    }

    /// Orders the instructions and groups of a region, each after the producers of its operands. Otherwise
    /// the program order is kept; a group takes the position of its last member.
    fn order(&self, func: &Func, region: RegionId, groups: Range<usize>, scratch: &mut Scratch) -> Vec<Unit> {
        let Scratch { number, set } = scratch;
        let mut units: Vec<Unit> = groups.clone().map(Unit::Group).collect();
        let insts: Vec<Inst<'_>> =
            func.region(region).insts().filter(|i| !i.op().info().is(Traits::TERMINATOR)).collect();
        for inst in &insts {
            let unit = match self.of.get(inst.id()) {
                Some(g) => g - groups.start,
                None => {
                    units.push(Unit::Inst(inst.id()));
                    units.len() - 1
                }
            };
            number.insert(inst.id(), unit);
        }
        // Required predecessors of each unit, by unit number.
        let mut needs: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new(); units.len()];
        let mut by_position = Vec::with_capacity(units.len());
        let mut last_effect = None;
        let taken = |id: InstId| {
            let made = func.inst(id).operands().iter().filter_map(|v| func.defining_inst(*v));
            made.filter(|from| from.parent().map(Region::id) == Some(region)).map(|from| from.id())
        };
        for inst in &insts {
            let own = number.get(inst.id()).expect("every instruction is in a unit");
            let unit = |from: InstId| number.get(from);
            let is_last = match units[own] {
                Unit::Inst(id) => {
                    needs[own].extend(taken(id).filter_map(unit));
                    true
                }
                Unit::Group(g) => {
                    let Group { members, inside } = &self.groups[g];
                    // The operands of a group are collected once, at its first member.
                    if members.first() == Some(&inst.id()) {
                        set.fill(inside);
                        let outside = inside.iter().flat_map(|id| taken(*id)).filter(|i| !set.contains(*i));
                        needs[own].extend(outside.filter_map(unit));
                    }
                    members.last() == Some(&inst.id())
                }
            };
            if !is_pure(*inst) {
                needs[own].extend(last_effect);
                last_effect = Some(own);
            }
            if is_last {
                by_position.push(own);
            }
        }
        topological(&by_position, &needs).into_iter().map(|unit| units[unit]).collect()
    }

    /// Returns true for a broadcast along rows that only this group uses.
    fn is_repeated_for(&self, g: usize, inside: &InstSet, r: &Rewriter<'_>, id: InstId) -> bool {
        matches!(self.roles.get(id), Some(Role::Repeat(_)))
            && inside.contains(id)
            && r.func()
                .inst(id)
                .results()
                .iter()
                .all(|v| r.users(*v).iter().all(|u| self.of.get(*u) == Some(g)))
    }

    /// Creates the fusion of a group.
    fn fuse(&self, r: &mut Rewriter<'_>, g: usize, end: InstId, set: &mut InstSet) {
        let Group { members, inside } = &self.groups[g];
        let func = r.func();
        set.fill(inside);
        let mut operands: Vec<ValueId> = Vec::new();
        // Maps each operand first to itself, then to the argument that represents it in the fusion.
        let mut map = ValueMap::default();
        for id in inside {
            for v in func.inst(*id).operands() {
                let made = func.defining_inst(*v).is_some_and(|i| set.contains(i.id()));
                if !made && map.insert(*v, *v).is_none() {
                    operands.push(*v);
                }
            }
        }
        let of_group = |u: &InstId| self.of.get(*u) == Some(g) || self.is_repeated_for(g, set, r, *u);
        let outside = |v: &ValueId| !r.users(*v).iter().all(of_group);
        let results: Vec<ValueId> =
            members.iter().flat_map(|m| func.inst(*m).results()).copied().filter(outside).collect();
        let types: Vec<Type> = results.iter().map(|v| func.ty(*v).clone()).collect();
        let last = func.inst(*members.last().expect("a group has members"));
        let (span, loc) = (last.span(), last.loc().cloned());

        let region = r.new_region(|func, region| {
            for v in &operands {
                let ty = func.ty(*v).clone();
                map.insert(*v, func.add_arg(region, ty));
            }
            for id in inside {
                let copy = func.clone_inst(*id, &mut map);
                func.append(region, copy);
            }
            let returned: Vec<ValueId> = results.iter().map(|v| map[v]).collect();
            func.push(region, NewInst::new(Op::Return, returned), []);
        });
        let new = NewInst::new(FormOp::Fusion.into(), operands).with_regions([region]).at(span, loc);
        let fusion = r.insert_before(end, new, types);
        let values = r.func().inst(fusion).results().to_vec();
        for (old, new) in results.iter().zip(values) {
            r.replace_uses(*old, new);
        }
        // The remaining members are unused once those after them are erased, so erase from the last to the
        // first.
        for id in inside.iter().rev() {
            if self.of.get(*id).is_some() || self.is_repeated_for(g, set, r, *id) {
                r.erase(*id);
            }
        }
    }
}

/// Splits members into the lists that are computed together. If no member reduces rows, the members with one
/// element per row form a separate group, which uses none of the other members.
fn split(func: &Func, members: &[InstId], roles: &Roles) -> Vec<Vec<InstId>> {
    if members.iter().any(|m| reduces_rows(func, *m, roles)) {
        return vec![members.to_vec()];
    }
    let (rows, full): (Vec<InstId>, Vec<InstId>) =
        members.iter().partition(|m| roles.level(**m) == Some(Level::Row));
    [rows, full].into_iter().filter(|part| !part.is_empty()).collect()
}

fn reduces_rows(func: &Func, id: InstId, roles: &Roles) -> bool {
    roles.level(id) == Some(Level::Row) && matches!(func.inst(id).op(), Op::Reduce { .. })
}

/// Returns the members together with the instructions that are duplicated for them. A duplicated instruction
/// has as many elements as the members, or its elements are all equal. On return, `set` holds exactly the
/// members and the duplicated instructions.
fn inside(func: &Func, members: &[InstId], roles: &Roles, set: &mut InstSet) -> Vec<InstId> {
    let mut outside = FxHashSet::default();
    loop {
        let (inside, shared) = gathered(func, members, roles, &outside, set);
        // Fusions slice only operands, so the source of a slice is computed before the fusion, where other
        // users can share it.
        let known = outside.len();
        outside.extend(sliced(func, &inside, set));
        outside.extend(shared);
        if outside.len() == known {
            return inside;
        }
    }
}

/// Returns the instructions in `inside` whose results other instructions in `inside` slice, concatenate or
/// pad.
fn sliced(func: &Func, inside: &[InstId], set: &InstSet) -> Vec<InstId> {
    let all = || inside.iter().map(|id| func.inst(*id));
    if !all().any(|inst| inst.op().moves_elements()) {
        return Vec::new();
    }
    let mut of = Vec::new();
    for inst in all().filter(|inst| inst.op().moves_elements()) {
        // The padding value is computed in the fusion.
        let count = if let Op::Pad(_) = inst.op() { 1 } else { inst.operands().len() };
        let made = inst.operands()[..count].iter().filter_map(|v| func.defining_inst(*v));
        let slices_stay = matches!(inst.op(), Op::Concatenate { .. });
        let is_operand = |from: &Inst<'_>| !(slices_stay && matches!(from.op(), Op::Slice(_)));
        of.extend(made.filter(is_operand).map(|from| from.id()).filter(|id| set.contains(*id)));
    }
    of
}

/// Computes [`inside`] with the instructions in `outside` as operands. Also returns the duplicated
/// instructions that some users can take as operands of the fusion only.
fn gathered(
    func: &Func,
    members: &[InstId],
    roles: &Roles,
    outside: &FxHashSet<InstId>,
    known: &mut InstSet,
) -> (Vec<InstId>, Vec<InstId>) {
    let elements = |v: Option<&ValueId>| v.and_then(|v| func.tensor(*v)?.elements());
    let made = |id: InstId| elements(func.inst(id).results().first());
    let all = |id: InstId| match func.inst(id).op() {
        Op::Reduce { .. } => elements(func.inst(id).operands().first()),
        _ => made(id),
    };
    let rows = members.iter().find(|m| reduces_rows(func, **m, roles));
    let n = all(*rows.unwrap_or(&members[0]));
    let rows = rows.map_or(Some(1), |m| made(*m));
    let can_take =
        |user: InstId, operand: usize, from: InstId| match (func.inst(user).op(), func.inst(from).op()) {
            // In a fusion, only operands of the fusion, or slices of these operands, can be moved.
            (Op::Slice(_), _) => false,
            (Op::Pad(_), _) => operand == 1 && made(from) == Some(1),
            (Op::Concatenate { .. }, op) => matches!(op, Op::Slice(_)),
            (_, op) if op.moves_elements() => made(from) == n,
            _ => made(from) == n || made(from) == Some(1) || made(from) == rows && is_uniform(func, from),
        };
    // The cheap instructions that make operands of an instruction, each with the operand's index.
    let taken_by = |id: InstId| {
        let operands = func.inst(id).operands().iter().enumerate();
        operands.filter_map(|(operand, v)| match func.def(*v) {
            ValueDef::Result(from, _) if roles.is_cheap(from) => Some((operand, from)),
            _ => None,
        })
    };
    let mut list: Vec<InstId> = Vec::with_capacity(members.len() + 4);
    let mut stack = Vec::new();
    known.clear();
    for member in members {
        // Cheap instructions may have cheap operands, such as a broadcast of a constant: walk the operands
        // depth-first.
        stack.push((*member, false));
        while let Some((id, taken)) = stack.pop() {
            if known.contains(id) {
                continue;
            }
            if taken {
                known.insert(id);
                list.push(id);
                continue;
            }
            stack.push((id, true));
            let inner = taken_by(id)
                .filter(|(operand, from)| !outside.contains(from) && can_take(id, *operand, *from));
            stack.extend(inner.map(|(_, from)| (from, false)));
        }
    }
    let shared = list.iter().flat_map(|id| {
        let outer =
            taken_by(*id).filter(|(operand, from)| known.contains(*from) && !can_take(*id, *operand, *from));
        outer.map(|(_, from)| from).collect::<Vec<_>>()
    });
    let shared = shared.collect();
    (list, shared)
}

/// Returns true for a duplicated instruction whose elements are all equal.
fn is_uniform(func: &Func, id: InstId) -> bool {
    let inst = func.inst(id);
    let one = |v: &ValueId| func.tensor(*v).and_then(TensorType::elements) == Some(1);
    match inst.op() {
        Op::BroadcastInDim { .. } => inst.operands().iter().all(one),
        op => matches!(op, Op::Constant(_)),
    }
}

#[derive(Clone, Copy)]
enum Unit {
    Inst(InstId),
    Group(usize),
}

/// Partitions the members by reachability through operands; each part is in program order.
fn connected(func: &Func, members: &[InstId], roles: &Roles, scratch: &mut Scratch) -> Vec<Vec<InstId>> {
    let number = &mut scratch.number;
    members.iter().zip(0..).for_each(|(id, i)| number.insert(*id, i));
    let mut parent: Vec<usize> = (0..members.len()).collect();
    fn root(parent: &mut [usize], mut i: usize) -> usize {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    }
    for (i, id) in members.iter().enumerate() {
        for v in func.inst(*id).operands() {
            let made = func.defining_inst(*v).and_then(|d| match roles.get(d.id()) {
                Some(Role::Repeat(_)) => func.defining_inst(d.operands()[0]),
                _ => Some(d),
            });
            // Instructions that are not members may have stale numbers.
            let made = made.and_then(|d| number.get(d.id()).filter(|i| members.get(*i) == Some(&d.id())));
            if let Some(made) = made {
                let (a, b) = (root(&mut parent, i), root(&mut parent, made));
                parent[a.max(b)] = a.min(b);
            }
        }
    }
    let mut parts: Vec<Vec<InstId>> = vec![Vec::new(); members.len()];
    for (i, id) in members.iter().enumerate() {
        parts[root(&mut parent, i)].push(*id);
    }
    parts.retain(|p| !p.is_empty());
    parts
}

/// Scratch tables that are reused throughout a function.
struct Scratch {
    number: InstMap<usize>,
    set: InstSet,
}

impl Scratch {
    fn new(func: &Func) -> Scratch {
        Scratch { number: InstMap::new(func), set: InstSet::new(func) }
    }
}

/// Returns all units by number, each after its predecessors, and otherwise in the given order.
fn topological(units: &[usize], needs: &[SmallVec<[usize; 4]>]) -> Vec<usize> {
    let mut out = Vec::with_capacity(units.len());
    // Two flags for each unit: its predecessors have been pushed; the unit has been emitted.
    let mut done: Vec<(bool, bool)> = vec![(false, false); needs.len()];
    let mut stack = Vec::new();
    for unit in units {
        // Predecessors come first. A path may be as long as the program, so the walk is not recursive.
        stack.push(*unit);
        while let Some(top) = stack.last().copied() {
            match done[top] {
                (_, true) => _ = stack.pop(),
                (true, false) => {
                    stack.pop();
                    done[top].1 = true;
                    out.push(top);
                }
                (false, false) => {
                    done[top].0 = true;
                    stack.extend(needs[top].iter().copied().filter(|u| !done[*u].0));
                }
            }
        }
    }
    out
}
