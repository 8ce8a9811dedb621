//! Fusion: operations on corresponding elements that feed one another become one instruction.
//!
//! ```text
//! generation    0             1
//!            a ─▶ b ─▶ sum ─▶ c ─▶ d        [a b] sum [c d]: a and d have as many elements, but
//!             ╰───────────────────▲         a value between them is not made element by element
//! ```
//!
//! Every instruction has a *generation*: one more than that of any operand that is made by a member of another
//! fusion, and otherwise the highest of its operands. Members of one generation with as many elements can be computed
//! at once: no path between two of them leaves the fusion. What is made from almost nothing (a constant with one
//! element, a broadcast, an iota) is made again in each fusion that takes it.

mod why;

use rustc_hash::FxHashMap;

use super::{Context, Pass, is_pure, regions_inside_out};
use crate::module::{Func, Inst, InstId, NewInst, Region, RegionId, Rewriter, ValueDef, ValueId, ValueMap};
use crate::op::{Op, Traits};
use crate::types::{TensorType, Type};

pub use why::{Reason, Unfused, unfused};

/// Fusion.
pub static PASS: Pass =
    Pass { name: "fuse", about: "computes operations on corresponding elements together", run };

/// Most members of a fusion.
const MOST: usize = 48;
/// Elements up to which operations that have nothing to do with one another are fused, too.
const SMALL: usize = 4096;

fn run(func: &mut Func, cx: &Context) {
    let mut regions = regions_inside_out(func);
    regions.retain(|region| !is_applied_to_elements(func, *region));
    let mut r = Rewriter::new(func);
    for region in regions {
        let plan = Plan::new(r.func(), region, cx);
        if !plan.groups.is_empty() {
            plan.apply(&mut r, region);
        }
    }
}

/// True for regions that kernels read: reducers, comparators.
fn is_applied_to_elements(func: &Func, region: RegionId) -> bool {
    let owner = func.region(region).owner();
    owner.is_some_and(|inst| !matches!(inst.op(), Op::While | Op::If | Op::Case))
}

/// What an instruction is to fusions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It can be a part of one over so many elements.
    Member(usize),
    /// It is made again wherever it is taken.
    Cheap,
    /// It is no part of any.
    Other,
}

fn role(inst: Inst<'_>, cx: &Context) -> Role {
    let ([result], true) = (inst.results(), inst.region_ids().is_empty()) else { return Role::Other };
    let func = inst.func();
    let Some(ty) = func.tensor(*result) else { return Role::Other };
    let operands: Option<Vec<&TensorType>> = inst.operands().iter().map(|v| func.tensor(*v)).collect();
    let (Some(operands), Some(n)) = (operands, ty.elements()) else { return Role::Other };
    if operands.iter().chain([&ty]).any(|t| t.quant.is_some()) || n == 0 {
        return Role::Other;
    }
    match inst.op() {
        Op::Constant(literal) if literal.is_splat() || n == 1 => Role::Cheap,
        // Of the element types that numbers have elsewhere.
        Op::Iota { .. } if ty.dtype.is_integer() && ty.dtype.bits() >= 8 => Role::Cheap,
        Op::Iota { .. } if ty.dtype.is_float() && ty.dtype.bits() >= 16 => Role::Cheap,
        Op::BroadcastInDim { dims } if dims.is_sorted() && ty.rank() <= 8 => Role::Cheap,
        Op::Reshape => Role::Member(n),
        op if is_pure(inst) && (cx.fuses)(op, &operands, ty) => Role::Member(n),
        _ => Role::Other,
    }
}

/// What becomes one instruction.
#[derive(Default)]
struct Group {
    /// In order.
    members: Vec<InstId>,
}

/// What a region becomes.
struct Plan {
    groups: Vec<Group>,
    /// The group of each member.
    of: FxHashMap<InstId, usize>,
    /// What is made again.
    cheap: FxHashMap<InstId, ()>,
}

impl Plan {
    fn new(func: &Func, region: RegionId, cx: &Context) -> Plan {
        let insts: Vec<Inst<'_>> = func.region(region).insts().collect();
        let mut roles: FxHashMap<InstId, Role> = FxHashMap::default();
        for inst in &insts {
            let role = match role(*inst, cx) {
                // Seen otherwise: together with what it is made by, if that is a member.
                Role::Member(n) if *inst.op() == Op::Reshape => {
                    let from = func.defining_inst(inst.operands()[0]).and_then(|i| roles.get(&i.id()));
                    if from == Some(&Role::Member(n)) { Role::Member(n) } else { Role::Cheap }
                }
                role => role,
            };
            roles.insert(inst.id(), role);
        }
        let cheap = roles.iter().filter(|(_, r)| **r == Role::Cheap).map(|(i, _)| (*i, ())).collect();
        let generations = generations(&insts, &roles);

        // Members that are fused, by what they have in common, in the order of the program.
        let mut sets = Sets::default();
        let mut open: FxHashMap<(u32, usize), Vec<InstId>> = FxHashMap::default();
        for inst in &insts {
            if let Role::Member(n) = roles[&inst.id()] {
                open.entry((generations[&inst.id()], n)).or_default().push(inst.id());
            }
        }
        let mut keys: Vec<(u32, usize)> = open.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            let members = &open[&key];
            if key.1 > SMALL {
                connected(func, members).into_iter().for_each(|part| sets.add(&part));
            } else {
                sets.add(members);
            }
        }
        let mut plan = Plan { groups: Vec::new(), of: FxHashMap::default(), cheap };
        for members in sets.0 {
            if plan.is_worth_it(func, &members) {
                plan.of.extend(members.iter().map(|m| (*m, plan.groups.len())));
                plan.groups.push(Group { members });
            }
        }
        plan
    }

    /// One operation alone gains only by a broadcast that need not be made.
    fn is_worth_it(&self, func: &Func, members: &[InstId]) -> bool {
        let computes = |id: &&InstId| *func.inst(**id).op() != Op::Reshape;
        let mut computing = members.iter().filter(computes);
        let (first, more) = (computing.next(), computing.next().is_some());
        let takes_cheap = |id: &InstId| {
            let from = func.inst(*id).operands().iter();
            from.filter_map(|v| func.defining_inst(*v))
                .any(|i| self.cheap.contains_key(&i.id()) && !matches!(i.op(), Op::Constant(_)))
        };
        more || first.is_some_and(takes_cheap)
    }

    /// Puts instructions that compute the groups in the place of their members.
    fn apply(&self, r: &mut Rewriter<'_>, region: RegionId) {
        let Some(end) = r.func().region(region).terminator().map(|t| t.id()) else { return };
        for unit in self.order(r.func(), region) {
            match unit {
                Unit::Inst(inst) => r.move_before(inst, end),
                Unit::Group(g) => self.fuse(r, &self.groups[g], end),
            }
        }
    }

    /// The instructions and groups of a region, each after what it takes; otherwise as they stand, a group where its
    /// last member does.
    fn order(&self, func: &Func, region: RegionId) -> Vec<Unit> {
        let insts: Vec<Inst<'_>> =
            func.region(region).insts().filter(|i| !i.op().info().is(Traits::TERMINATOR)).collect();
        let unit = |id: InstId| self.of.get(&id).map_or(Unit::Inst(id), |g| Unit::Group(*g));
        let mut needs: FxHashMap<Unit, Vec<Unit>> = FxHashMap::default();
        let mut last_effect = None;
        let mut by_position = Vec::with_capacity(insts.len());
        for inst in &insts {
            let own = unit(inst.id());
            let from = needs.entry(own).or_default();
            let inside =
                |v: &ValueId| func.defining_inst(*v).filter(|i| i.parent().map(Region::id) == Some(region));
            from.extend(
                inst.operands().iter().filter_map(inside).map(|i| unit(i.id())).filter(|u| *u != own),
            );
            if !is_pure(*inst) {
                from.extend(last_effect);
                last_effect = Some(own);
            }
            let ends = match own {
                Unit::Group(g) => self.groups[g].members.last() == Some(&inst.id()),
                Unit::Inst(_) => true,
            };
            if ends {
                by_position.push(own);
            }
        }
        topological(&by_position, &needs)
    }

    /// Makes the instruction of a group.
    fn fuse(&self, r: &mut Rewriter<'_>, group: &Group, end: InstId) {
        let func = r.func();
        let inside = self.inside(func, group);
        let mut operands: Vec<ValueId> = Vec::new();
        for id in &inside {
            for v in func.inst(*id).operands() {
                let made = func.defining_inst(*v).is_some_and(|i| inside.contains(&i.id()));
                if !made && !operands.contains(v) {
                    operands.push(*v);
                }
            }
        }
        let outside =
            |v: &ValueId| r.users(*v).iter().any(|u| self.of.get(u) != self.of.get(&group.members[0]));
        let results: Vec<ValueId> =
            group.members.iter().flat_map(|m| func.inst(*m).results()).copied().filter(outside).collect();
        let types: Vec<Type> = results.iter().map(|v| func.ty(*v).clone()).collect();
        let last = func.inst(*group.members.last().expect("a group has members"));
        let (span, loc) = (last.span(), last.loc().cloned());

        let region = r.new_region(|func, region| {
            let mut map = ValueMap::default();
            for v in &operands {
                let ty = func.ty(*v).clone();
                map.insert(*v, func.add_arg(region, ty));
            }
            for id in &inside {
                let copy = func.clone_inst(*id, &mut map);
                func.append(region, copy);
            }
            let returned: Vec<ValueId> = results.iter().map(|v| map[v]).collect();
            func.push(region, NewInst::new(Op::Return, returned), []);
        });
        let new = NewInst::new(Op::Fusion, operands).with_regions([region]).at(span, loc);
        let fusion = r.insert_before(end, new, types);
        let values = r.func().inst(fusion).results().to_vec();
        for (old, new) in results.iter().zip(values) {
            r.replace_uses(*old, new);
        }
        // What remains of the members takes nothing that is still used, from the last one on.
        group.members.iter().rev().for_each(|m| r.erase(*m));
    }

    /// The members of a group, with what is made again before them: with as many elements, or one.
    fn inside(&self, func: &Func, group: &Group) -> Vec<InstId> {
        let mut inside: Vec<InstId> = Vec::with_capacity(group.members.len() + 4);
        let n = func.inst(group.members[0]).results().first().and_then(|v| func.tensor(*v)?.elements());
        for member in &group.members {
            // A broadcast of a constant: what is cheap may take what is.
            let mut stack = vec![(*member, false)];
            while let Some((id, taken)) = stack.pop() {
                if inside.contains(&id) {
                    continue;
                }
                if taken {
                    inside.push(id);
                    continue;
                }
                stack.push((id, true));
                for v in func.inst(id).operands() {
                    let size = func.tensor(*v).and_then(TensorType::elements);
                    if let ValueDef::Result(from, _) = func.def(*v)
                        && self.cheap.contains_key(&from)
                        && (size == n || size == Some(1))
                    {
                        stack.push((from, false));
                    }
                }
            }
        }
        inside
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Unit {
    Inst(InstId),
    Group(usize),
}

/// The members that reach each other by operands, each part in order.
fn connected(func: &Func, members: &[InstId]) -> Vec<Vec<InstId>> {
    let number: FxHashMap<InstId, usize> = members.iter().copied().zip(0..).collect();
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
            if let Some(made) = func.defining_inst(*v).and_then(|d| number.get(&d.id())) {
                let (a, b) = (root(&mut parent, i), root(&mut parent, *made));
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

/// Lists of members, none too long. Parts of a list are in the order of the program, so none of them needs a later one.
#[derive(Default)]
struct Sets(Vec<Vec<InstId>>);

impl Sets {
    fn add(&mut self, members: &[InstId]) {
        self.0.extend(members.chunks(MOST).map(<[InstId]>::to_vec));
    }
}

/// The generation of each instruction.
fn generations(insts: &[Inst<'_>], roles: &FxHashMap<InstId, Role>) -> FxHashMap<InstId, u32> {
    let mut of: FxHashMap<InstId, u32> = FxHashMap::default();
    let mut effect = 0;
    for inst in insts {
        let own = roles[&inst.id()];
        let mut generation = 0;
        for v in inst.operands() {
            let Some(from) = inst.func().defining_inst(*v) else { continue };
            let Some(before) = of.get(&from.id()) else { continue };
            let together = own != Role::Other && own != Role::Cheap && roles[&from.id()] == own;
            let leaves = matches!(roles[&from.id()], Role::Member(_)) && !together;
            generation = generation.max(before + u32::from(leaves));
        }
        if !is_pure(*inst) {
            generation = generation.max(effect);
            effect = generation;
        }
        of.insert(inst.id(), generation);
    }
    of
}

/// All units, each after those that it needs, otherwise in this order.
fn topological(units: &[Unit], needs: &FxHashMap<Unit, Vec<Unit>>) -> Vec<Unit> {
    let mut out = Vec::with_capacity(units.len());
    let mut done: FxHashMap<Unit, bool> = FxHashMap::default();
    for unit in units {
        // What is needed comes first; a path is as long as the program, so it is walked without recursion.
        let mut stack = vec![*unit];
        while let Some(top) = stack.last().copied() {
            match done.get(&top) {
                Some(true) => {
                    stack.pop();
                }
                Some(false) => {
                    stack.pop();
                    done.insert(top, true);
                    out.push(top);
                }
                None => {
                    done.insert(top, false);
                    let missing = needs.get(&top).into_iter().flatten();
                    stack.extend(missing.filter(|u| !done.contains_key(u)));
                }
            }
        }
    }
    out
}
