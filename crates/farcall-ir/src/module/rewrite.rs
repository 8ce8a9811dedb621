//! Changes to functions: copies of regions and instructions, and changes that need to know the users of a
//! value.

use std::cell::{Cell, OnceCell};
use std::hash::Hash;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::func::{InstData, RegionData};
use super::{Func, Inst, InstId, NewInst, RegionId, ValueDef, ValueId, ValueIds};
use crate::attr::AttrDict;
use crate::interrupt::Pace;
use crate::op::Op;
use crate::types::{Type, TypeList};

/// Maps the values of a region to the values of its copy.
pub type ValueMap = FxHashMap<ValueId, ValueId>;

/// The function that a copy is made from.
#[derive(Clone, Copy)]
enum CopySource<'a> {
    OtherFunc(&'a Func),
    ThisFunc,
}

impl Func {
    /// Copies a region of this function with all its contents. Values defined outside of the region are
    /// replaced according to `map`, or kept if `map` lacks them. The copies of values defined in the region
    /// are added to `map`.
    pub fn clone_region(&mut self, region: RegionId, map: &mut ValueMap) -> RegionId {
        self.copy_region(CopySource::ThisFunc, region, map)
    }

    /// Copies a region of another function. `map` gives the values of this function that stand for values
    /// defined outside of the region.
    ///
    /// # Panics
    /// If `map` lacks such a value.
    pub fn import_region(&mut self, from: &Func, region: RegionId, map: &mut ValueMap) -> RegionId {
        self.copy_region(CopySource::OtherFunc(from), region, map)
    }

    /// Copies an instruction of another function, detached. `map` is used as in [`Func::import_region`].
    pub fn import_inst(&mut self, from: Inst<'_>, map: &mut ValueMap) -> InstId {
        self.copy_inst(CopySource::OtherFunc(from.func()), from.id(), map)
    }

    /// Copies an instruction of this function, detached. `map` is used as in [`Func::clone_region`].
    pub fn clone_inst(&mut self, inst: InstId, map: &mut ValueMap) -> InstId {
        self.copy_inst(CopySource::ThisFunc, inst, map)
    }

    fn copy_region(&mut self, from: CopySource<'_>, region: RegionId, map: &mut ValueMap) -> RegionId {
        let copy = self.new_region();
        let RegionData { args, first, .. } = from.region(self, region).clone();
        for arg in args {
            let ty = from.ty(self, arg).clone();
            map.insert(arg, self.add_arg(copy, ty));
        }
        let mut next = first;
        while let Some(inst) = next {
            next = from.inst(self, inst).next;
            let inst = self.copy_inst(from, inst, map);
            self.append(copy, inst);
        }
        copy
    }

    fn copy_inst(&mut self, from: CopySource<'_>, inst: InstId, map: &mut ValueMap) -> InstId {
        let InstData { op, operands, results, regions, captures, attrs, span, loc, .. } =
            from.inst(self, inst);
        let (op, captures, attrs, span, loc) = (op.clone(), *captures, attrs.clone(), *span, loc.clone());
        let mut operands = ValueIds::from_slice(operands);
        for v in &mut operands {
            *v = match (map.get(v), from) {
                (Some(new), _) => *new,
                (None, CopySource::ThisFunc) => *v,
                (None, CopySource::OtherFunc(_)) => {
                    panic!("a copied instruction uses a value that is not mapped")
                }
            };
        }
        let results = ValueIds::from_slice(results);
        let regions = regions.clone().into_iter().map(|r| self.copy_region(from, r, map)).collect();
        let types: SmallVec<[Type; 1]> = results.iter().map(|v| from.ty(self, *v).clone()).collect();
        let copy = self.new_inst(NewInst { op, operands, regions, captures, attrs, span, loc }, types);
        map.extend(results.into_iter().zip(self.inst(copy).results().iter().copied()));
        copy
    }

    /// Keeps the selected loop-carried values and removes the others from the operands, the arguments of both
    /// regions, the values that the body returns, and the results. The removed values must be unused.
    pub(crate) fn keep_carried(&mut self, inst: InstId, keep: &[bool]) {
        let view = self.inst(inst);
        let (operands, captures) = (kept(view.operands(), keep), view.captures().len());
        let results = kept(view.results(), keep);
        let args: Vec<(RegionId, ValueIds)> =
            view.regions().map(|r| (r.id(), kept(r.args(), keep))).collect();
        let body = view.region(1).and_then(|r| r.terminator()).map(|t| (t.id(), kept(t.operands(), keep)));
        args.into_iter().for_each(|(region, args)| self.set_args(region, args));
        if let Some((ret, returned)) = body {
            *self.operands_mut(ret) = returned;
        }
        self.set_captures(inst, operands, captures);
        self.keep_results(inst, results);
    }

    /// Sets the types of an instruction's results, adding or removing results at the end. The first results
    /// keep their ids.
    pub(crate) fn set_results(&mut self, inst: InstId, types: TypeList) {
        let mut results = std::mem::take(&mut self.inst_data_mut(inst).results);
        for extra in results.drain(types.len().min(results.len())..) {
            self.set_def(extra, ValueDef::Nowhere);
        }
        for (i, ty) in types.into_iter().enumerate() {
            match results.get(i) {
                Some(value) => self.set_ty(*value, ty),
                None => {
                    let value = self.new_value(ty);
                    self.set_def(value, ValueDef::Result(inst, u32::try_from(i).unwrap_or(u32::MAX)));
                    results.push(value);
                }
            }
        }
        self.inst_data_mut(inst).results = results;
    }
}

/// Returns the values for which `keep` is true, and all values past the end of `keep`.
pub(crate) fn kept(values: &[ValueId], keep: &[bool]) -> ValueIds {
    let stays = |i: usize| keep.get(i).copied().unwrap_or(true);
    values.iter().enumerate().filter(|(i, _)| stays(*i)).map(|(_, v)| *v).collect()
}

impl<'a> CopySource<'a> {
    fn region<'b>(self, to: &'b Func, id: RegionId) -> &'b RegionData
    where
        'a: 'b,
    {
        match self {
            CopySource::OtherFunc(func) => func.region_data(id),
            CopySource::ThisFunc => to.region_data(id),
        }
    }

    fn inst<'b>(self, to: &'b Func, id: InstId) -> &'b InstData
    where
        'a: 'b,
    {
        match self {
            CopySource::OtherFunc(func) => func.inst_data(id),
            CopySource::ThisFunc => to.inst_data(id),
        }
    }

    fn ty<'b>(self, to: &'b Func, id: ValueId) -> &'b Type
    where
        'a: 'b,
    {
        match self {
            CopySource::OtherFunc(func) => func.ty(id),
            CopySource::ThisFunc => to.ty(id),
        }
    }
}

/// The users of a value. Most values have one or two; a constant may have a million.
#[derive(Clone, Debug, Default)]
struct Users {
    all: SmallVec<[InstId; 4]>,
    /// Number of removed users at the front of `all`.
    gone: u32,
    /// The positions of users in `all`. Built when a user is too far from both ends.
    index: Option<Box<Positions<InstId>>>,
}

/// Maximum number of users that are searched from each end; beyond that, an index of all users is built.
const MAX_SEARCHED_USERS: usize = 32;

impl Users {
    fn as_slice(&self) -> &[InstId] {
        &self.all[self.gone as usize..]
    }

    fn push(&mut self, user: InstId) {
        if let Some(index) = &mut self.index {
            index.entry(user).or_default().push(self.all.len() as u32);
        }
        self.all.push(user);
    }

    /// Removes a user. Passes remove users in order or in reverse order, so a user is often near one end even
    /// of a long list.
    fn take(&mut self, user: InstId) {
        if self.index.is_none() {
            let first = self.gone as usize;
            let users = &mut self.all[first..];
            let last = users.len().wrapping_sub(1);
            let searched = users.len().div_ceil(2).min(MAX_SEARCHED_USERS);
            match (0..searched).find(|i| users[*i] == user || users[last - i] == user) {
                Some(i) if users[i] == user => {
                    users.copy_within(..i, 1);
                    self.gone += 1;
                    return;
                }
                Some(i) => {
                    self.all.swap_remove(first + last - i);
                    return;
                }
                None if users.len() <= 2 * searched => return,
                None => {}
            }
        }
        self.take_indexed(user);
    }

    #[cold]
    fn take_indexed(&mut self, user: InstId) {
        let index = self.index.get_or_insert_with(|| {
            self.all.drain(..std::mem::take(&mut self.gone) as usize);
            positions(&self.all)
        });
        let Some(at) = index.get_mut(&user).and_then(SmallVec::pop) else { return };
        let last = self.all.len() as u32 - 1;
        self.all.swap_remove(at as usize);
        if let Some(moved) = self.all.get(at as usize)
            && let Some(place) = index.get_mut(moved).and_then(|all| all.iter_mut().find(|i| **i == last))
        {
            *place = at;
        }
    }
}

/// Minimum number of operands for which positions are indexed rather than searched.
const MIN_INDEXED_OPERANDS: usize = 64;

/// The positions of each item in a list.
type Positions<K> = FxHashMap<K, SmallVec<[u32; 1]>>;

fn positions<K: Copy + Eq + Hash>(list: &[K]) -> Box<Positions<K>> {
    let mut positions = Positions::default();
    for (item, i) in list.iter().zip(0..) {
        positions.entry(*item).or_insert_with(SmallVec::new).push(i);
    }
    Box::new(positions)
}

/// A function that is being rewritten. On first use, the rewriter computes the users of every value, and then
/// keeps them up to date through every change.
///
/// These methods change the function: [`replace_uses`](Rewriter::replace_uses),
/// [`insert_before`](Rewriter::insert_before),
/// [`erase`](Rewriter::erase), [`replace`](Rewriter::replace), [`move_before`](Rewriter::move_before),
/// [`inline`](Rewriter::inline), [`set_op`](Rewriter::set_op), [`set_operands`](Rewriter::set_operands).
#[derive(Debug)]
pub struct Rewriter<'f> {
    func: &'f mut Func,
    /// For each value, the instructions that use it, once per operand. Computed lazily, since many passes
    /// change nothing.
    users: OnceCell<Vec<Users>>,
    /// Operand positions of instructions with many operands. Built when one of the operands is replaced.
    positions: FxHashMap<InstId, Box<Positions<ValueId>>>,
    /// Lets long passes stop when an interrupt is due.
    pace: Cell<Pace>,
}

impl<'f> Rewriter<'f> {
    /// Creates a rewriter for a complete function: all operands of its instructions must be defined.
    pub fn new(func: &'f mut Func) -> Rewriter<'f> {
        Rewriter { func, users: OnceCell::new(), positions: FxHashMap::default(), pace: Cell::default() }
    }

    /// Returns the function in its current state.
    pub fn func(&self) -> &Func {
        self.func
    }

    /// Returns the instructions that use a value, including those in nested regions. An instruction that uses
    /// the value twice is listed twice.
    pub fn users(&self, value: ValueId) -> &[InstId] {
        let mut pace = self.pace.get();
        pace.leave_if_due();
        self.pace.set(pace);
        let all = self.users.get_or_init(|| users_of_all(self.func));
        all.get(value.index()).map_or(&[], Users::as_slice)
    }

    /// Returns true if an instruction uses the value.
    pub fn is_used(&self, value: ValueId) -> bool {
        !self.users(value).is_empty()
    }

    /// Replaces all uses of `old` by `new`.
    pub fn replace_uses(&mut self, old: ValueId, new: ValueId) {
        if old == new || !self.is_used(old) {
            return;
        }
        let users = self.users_mut(old).map(std::mem::take).unwrap_or_default();
        for user in users.as_slice() {
            let operands = self.func.operands_mut(*user);
            if operands.len() < MIN_INDEXED_OPERANDS {
                operands.iter_mut().filter(|operand| **operand == old).for_each(|operand| *operand = new);
                continue;
            }
            let positions = self.positions.entry(*user).or_insert_with(|| positions(operands));
            // One entry per operand: an instruction may use the value twice.
            if let Some(taken) = positions.remove(&old) {
                taken.iter().for_each(|i| operands[*i as usize] = new);
                positions.entry(new).or_default().extend(taken);
            }
        }
        if let Some(of_new) = self.users_mut(new) {
            users.as_slice().iter().for_each(|user| of_new.push(*user));
        }
    }

    /// Inserts a new instruction before `next`, with results of these types.
    pub fn insert_before(
        &mut self,
        next: InstId,
        new: NewInst,
        results: impl IntoIterator<Item = Type>,
    ) -> InstId {
        let id = self.func.new_inst(new, results);
        self.func.insert_before(id, next);
        self.add_uses(id);
        id
    }

    /// Inserts a new instruction without regions before `next`, with the source position of `next`. Returns
    /// its only result.
    pub fn value_before(
        &mut self,
        next: InstId,
        op: Op,
        operands: impl IntoIterator<Item = ValueId>,
        ty: impl Into<Type>,
    ) -> ValueId {
        let at = self.func.inst(next);
        let new = NewInst::new(op, operands).at(at.span(), at.loc().cloned());
        let id = self.insert_before(next, new, [ty.into()]);
        self.func.inst(id).results()[0]
    }

    /// Copies the source position and location of instruction `of` to `inst`.
    pub fn set_place(&mut self, inst: InstId, of: InstId) {
        let of = self.func.inst(of);
        let (span, loc) = (of.span(), of.loc().cloned());
        self.func.set_place(inst, span, loc);
    }

    /// Removes an instruction permanently.
    ///
    /// # Panics
    /// In debug builds, if one of its results is used.
    pub fn erase(&mut self, inst: InstId) {
        debug_assert!(self.func.inst(inst).results().iter().all(|r| !self.is_used(*r)), "erased though used");
        self.drop_uses(inst);
        self.func.detach(inst);
    }

    /// Replaces the results of an instruction by `values`, and erases the instruction.
    pub fn replace(&mut self, inst: InstId, values: &[ValueId]) {
        let results = SmallVec::<[ValueId; 2]>::from(self.func.inst(inst).results());
        for (result, value) in results.into_iter().zip(values) {
            self.replace_uses(result, *value);
        }
        self.erase(inst);
    }

    /// Moves an instruction before `next`, which may be in another region.
    pub fn move_before(&mut self, inst: InstId, next: InstId) {
        self.func.detach(inst);
        self.func.insert_before(inst, next);
    }

    /// Replaces a call by the body of its callee.
    pub fn inline(&mut self, call: InstId, callee: &Func) {
        let operands = self.func.inst(call).operands();
        let mut map: ValueMap = callee.params().iter().copied().zip(operands.iter().copied()).collect();
        for inst in callee.body().insts().filter(|i| *i.op() != Op::Return) {
            let copy = self.func.import_inst(inst, &mut map);
            self.func.insert_before(copy, call);
            self.add_uses(copy);
        }
        let returned: Vec<ValueId> = callee.body().returned().iter().map(|v| map[v]).collect();
        self.replace(call, &returned);
    }

    /// Inserts a copy of an instruction before `next`. `map` is used as in [`Func::clone_inst`].
    pub(crate) fn copy_before(&mut self, inst: InstId, next: InstId, map: &mut ValueMap) {
        let copy = self.func.clone_inst(inst, map);
        self.func.insert_before(copy, next);
        self.add_uses(copy);
    }

    /// Replaces the operation of an instruction.
    pub fn set_op(&mut self, inst: InstId, op: Op) {
        self.func.set_op(inst, op);
    }

    /// Sets the type of a value.
    pub(crate) fn set_ty(&mut self, value: ValueId, ty: impl Into<Type>) {
        self.func.set_ty(value, ty.into());
    }

    /// Sets the types of an instruction's results, like [`Func::set_results`].
    pub(crate) fn set_results(&mut self, inst: InstId, types: TypeList) {
        self.func.set_results(inst, types);
    }

    /// Returns the attributes of an instruction that are not part of its operation.
    pub fn attrs_mut(&mut self, inst: InstId) -> &mut AttrDict {
        self.func.attrs_mut(inst)
    }

    /// Replaces the operands of an instruction.
    pub fn set_operands(&mut self, inst: InstId, operands: impl IntoIterator<Item = ValueId>) {
        let operands: ValueIds = operands.into_iter().collect();
        self.positions.remove(&inst);
        for old in std::mem::take(self.func.operands_mut(inst)) {
            self.forget(old, inst);
        }
        operands.iter().for_each(|new| self.note(*new, inst));
        *self.func.operands_mut(inst) = operands;
    }

    /// Creates a region, filled by `fill`, for an instruction that is about to be created.
    pub fn new_region(&mut self, fill: impl FnOnce(&mut Func, RegionId)) -> RegionId {
        let region = self.func.new_region();
        fill(self.func, region);
        region
    }

    /// Makes the regions of an instruction capture a value (see [`Inst::captures`]). The captured argument
    /// replaces the value in `users`, which are in region number `which`.
    pub(crate) fn capture(&mut self, inst: InstId, which: usize, value: ValueId, users: &[InstId]) {
        let arg = self.captured_arg(inst, value)[which];
        for user in users {
            let operands = self.func.inst(*user).operands().iter();
            let operands: ValueIds = operands.map(|v| if *v == value { arg } else { *v }).collect();
            self.set_operands(*user, operands);
        }
    }

    /// Returns, for each region, the argument that stands for a captured value. Captures the value first if
    /// necessary.
    fn captured_arg(&mut self, inst: InstId, value: ValueId) -> Vec<ValueId> {
        let view = self.func.inst(inst);
        if let Some(i) = view.captures().iter().position(|v| *v == value) {
            return view.regions().map(|r| r.captured_args()[i]).collect();
        }
        let (mut operands, captures) = (ValueIds::from_slice(view.operands()), view.captures().len() + 1);
        let regions = view.region_ids().to_vec();
        operands.push(value);
        self.note(value, inst);
        self.positions.remove(&inst);
        self.func.set_captures(inst, operands, captures);
        let ty = self.func.ty(value).clone();
        regions.into_iter().map(|r| self.func.add_arg(r, ty.clone())).collect()
    }

    /// Turns loop-carried values with these indices into captured values. The body must return them
    /// unchanged.
    pub(crate) fn capture_carried(&mut self, inst: InstId, numbers: &[usize]) {
        for i in numbers {
            let view = self.func.inst(inst);
            let (operand, result) = (view.operands()[*i], view.results()[*i]);
            let args: Vec<ValueId> = view.regions().map(|r| r.args()[*i]).collect();
            let captured = self.captured_arg(inst, operand);
            args.into_iter().zip(captured).for_each(|(old, new)| self.replace_uses(old, new));
            self.replace_uses(result, operand);
        }
        let view = self.func.inst(inst);
        let ret = view.region(1).and_then(|r| r.terminator());
        let uses = [Some(view), ret].into_iter().flatten();
        let dropped: Vec<(ValueId, InstId)> =
            uses.flat_map(|i| numbers.iter().map(move |n| (i.operands()[*n], i.id()))).collect();
        let keep: Vec<bool> = (0..view.results().len()).map(|i| !numbers.contains(&i)).collect();
        for (value, user) in dropped {
            self.positions.remove(&user);
            self.forget(value, user);
        }
        self.func.keep_carried(inst, &keep);
    }

    /// Replaces an instruction by the instructions of one of its regions, and its results by the values that
    /// the region returns. The region must have no arguments except captured ones.
    pub(crate) fn replace_by_region(&mut self, inst: InstId, which: usize) {
        let view = self.func.inst(inst);
        let Some(region) = view.region(which) else { return };
        let args: Vec<(ValueId, ValueId)> =
            region.captured_args().iter().copied().zip(view.captures().iter().copied()).collect();
        let insts: Vec<InstId> = region.insts().filter(|i| *i.op() != Op::Return).map(|i| i.id()).collect();
        args.into_iter().for_each(|(arg, value)| self.replace_uses(arg, value));
        let returned = self.func.inst(inst).region(which).map_or(Vec::new(), |r| r.returned().to_vec());
        insts.into_iter().for_each(|i| self.move_before(i, inst));
        self.replace(inst, &returned);
    }

    /// Returns the users of a value, if users have been computed.
    fn users_mut(&mut self, value: ValueId) -> Option<&mut Users> {
        let all = self.users.get_mut()?;
        if all.len() <= value.index() {
            all.resize_with(self.func.value_count(), Users::default);
        }
        Some(&mut all[value.index()])
    }

    fn note(&mut self, value: ValueId, user: InstId) {
        if let Some(users) = self.users_mut(value) {
            users.push(user);
        }
    }

    fn forget(&mut self, value: ValueId, user: InstId) {
        if let Some(users) = self.users_mut(value) {
            users.take(user);
        }
    }

    /// Records the uses by an instruction and its nested instructions.
    fn add_uses(&mut self, inst: InstId) {
        self.each_use(inst, Rewriter::note);
    }

    fn drop_uses(&mut self, inst: InstId) {
        self.each_use(inst, Rewriter::forget);
    }

    fn each_use(&mut self, inst: InstId, each: impl Fn(&mut Self, ValueId, InstId)) {
        if self.users.get().is_none() {
            return;
        }
        let mut uses: SmallVec<[(ValueId, InstId); 8]> = SmallVec::new();
        let mut note = |i: Inst<'_>| uses.extend(i.operands().iter().map(|v| (*v, i.id())));
        let view = self.func.inst(inst);
        note(view);
        view.regions().for_each(|r| r.walk(&mut note));
        for (value, user) in uses {
            each(self, value, user);
        }
    }
}

/// Computes the users of every value of a function.
fn users_of_all(func: &Func) -> Vec<Users> {
    let mut users: Vec<Users> = Vec::new();
    users.resize_with(func.value_count(), Users::default);
    func.walk(&mut |inst| {
        for operand in inst.operands() {
            users[operand.index()].push(inst.id());
        }
    });
    users
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Removes users in various orders. After each removal, the users must equal those in a plain list.
    #[test]
    fn users_can_be_removed_in_any_order() {
        let id = InstId::new;
        for (count, step) in [(5, 2), (90, 1), (90, 89), (200, 77), (1000, 333), (1000, 501)] {
            let (mut users, mut plain) = (Users::default(), Vec::new());
            for i in 0..count {
                // Some users use the value twice.
                let user = id(i / 2 + i % 3);
                users.push(user);
                plain.push(user);
            }
            for i in 0..count {
                let user = plain[(i * step) % plain.len()];
                users.take(user);
                let at = plain.iter().position(|x| *x == user).unwrap();
                plain.remove(at);
                if i % 7 == 0 {
                    users.push(id(i));
                    plain.push(id(i));
                }
                users.take(id(1_000_000));
                let sorted = |list: &[InstId]| {
                    let mut list = list.to_vec();
                    list.sort_unstable_by_key(|id| id.index());
                    list
                };
                assert_eq!(
                    sorted(users.as_slice()),
                    sorted(&plain),
                    "{count} users, step {step}, after removal {i}"
                );
            }
        }
    }

    /// Replaces the many operands of a return, one by one, by a single value. In the end, the return must
    /// have only this value as operand, and the number of uses of the value must be right.
    #[test]
    fn many_operands_are_replaced_one_by_one() {
        const COUNT: usize = 20_000;
        let list = |item: &dyn Fn(usize) -> String| (0..COUNT).map(item).collect::<Vec<_>>().join(", ");
        let (values, types) = (list(&|i| format!("%{i}")), list(&|_| "tensor<f32>".to_owned()));
        let mut program = format!("func.func @main(%x: tensor<f32>) -> ({types}) {{\n");
        for i in 0..COUNT {
            program += &format!("%{i} = stablehlo.negate %x : tensor<f32>\n");
        }
        program += &format!("return {values} : {types}\n}}");
        let mut module = crate::text::parse(&crate::Source::new("wide.mlir", program)).unwrap();
        let func = module.func_mut(crate::FuncId::new(0));
        let x = func.params()[0];
        let negations: Vec<InstId> =
            func.body().insts().filter(|i| *i.op() != Op::Return).map(|i| i.id()).collect();
        let mut rewriter = Rewriter::new(func);
        assert_eq!(rewriter.users(x).len(), COUNT);
        // Starts in the middle, so that the first replaced operand is not the first in the list.
        for i in (COUNT / 2..COUNT).chain(0..COUNT / 2) {
            rewriter.replace(negations[i], &[x]);
        }
        assert_eq!(rewriter.users(x).len(), COUNT);
        assert!(rewriter.func().body().returned().iter().all(|value| *value == x));
    }
}
