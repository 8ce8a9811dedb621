//! Read-only views of instructions and regions: a function and an id.

use std::fmt;
use std::sync::Arc;

use super::func::{InstData, RegionData};
use super::{Func, InstId, Loc, RegionId, ValueId};
use crate::attr::AttrDict;
use crate::diag::{Source, Span};
use crate::op::Op;
use crate::scalar::Scalar;

/// An instruction of a function: an operation applied to operands.
#[derive(Clone, Copy)]
pub struct Inst<'f> {
    func: &'f Func,
    id: InstId,
    data: &'f InstData,
}

/// A region of a function. It is a single block: arguments, then instructions, the last of which returns.
#[derive(Clone, Copy)]
pub struct Region<'f> {
    func: &'f Func,
    id: RegionId,
    data: &'f RegionData,
}

impl<'f> Inst<'f> {
    pub(super) fn new(func: &'f Func, id: InstId, data: &'f InstData) -> Inst<'f> {
        Inst { func, id, data }
    }

    /// Returns the instruction's id.
    pub fn id(self) -> InstId {
        self.id
    }

    /// Returns the function that contains the instruction.
    pub fn func(self) -> &'f Func {
        self.func
    }

    /// Returns the operation.
    pub fn op(self) -> &'f Op {
        &self.data.op
    }

    /// Returns all operands, the captures of its regions last (see [`Inst::captures`]).
    pub fn operands(self) -> &'f [ValueId] {
        &self.data.operands
    }

    /// Returns the operands that are passed to every region, after the arguments that the operation itself
    /// provides. Parsed programs have no captures: their regions refer to values of enclosing regions
    /// directly. In the middle form, regions can only use captured values.
    pub fn captures(self) -> &'f [ValueId] {
        let own = self.data.operands.len().saturating_sub(self.data.captures as usize);
        &self.data.operands[own..]
    }

    /// Returns the operands of the operation itself, without [`Inst::captures`].
    pub fn own_operands(self) -> &'f [ValueId] {
        let own = self.data.operands.len().saturating_sub(self.data.captures as usize);
        &self.data.operands[..own]
    }

    /// Returns the results.
    pub fn results(self) -> &'f [ValueId] {
        &self.data.results
    }

    /// Returns the nested regions: reducers, loop bodies, branches.
    pub fn regions(self) -> impl ExactSizeIterator<Item = Region<'f>> + DoubleEndedIterator + use<'f> {
        self.data.regions.iter().map(move |r| self.func.region(*r))
    }

    /// Returns the ids of the nested regions.
    pub fn region_ids(self) -> &'f [RegionId] {
        &self.data.regions
    }

    /// Returns nested region number `i`.
    pub fn region(self, i: usize) -> Option<Region<'f>> {
        self.data.regions.get(i).map(|r| self.func.region(*r))
    }

    /// Returns the index of the region that an `if` or a `case` executes for a predicate or an index. An
    /// index out of range selects the last region.
    pub fn chosen(self, index: Scalar) -> usize {
        let last = self.data.regions.len().saturating_sub(1);
        match self.data.op {
            Op::If => usize::from(!index.as_bool()),
            _ => usize::try_from(index.as_i64()).map_or(last, |i| i.min(last)),
        }
    }

    /// Returns the attributes that are not part of the operation (`mhlo.frontend_attributes` and the like).
    pub fn attrs(self) -> &'f AttrDict {
        &self.data.attrs
    }

    /// Returns the position of the operation's name in the source.
    pub fn span(self) -> Span {
        self.data.span
    }

    /// Returns the location given with `loc(…)`.
    pub fn loc(self) -> Option<&'f Arc<Loc>> {
        self.data.loc.as_ref()
    }

    /// Describes the instruction's position in `source` or, if the program has no source text, the position
    /// that its location gives. Empty if unknown.
    pub fn place(self, source: &Source) -> String {
        match self.loc().filter(|_| source.is_none()) {
            Some(loc) => loc.place().unwrap_or_default(),
            None => source.place(self.span()),
        }
    }

    /// Returns the region that contains the instruction; `None` if the instruction is detached.
    pub fn parent(self) -> Option<Region<'f>> {
        self.data.parent.map(|r| self.func.region(r))
    }

    /// Returns the next instruction of the region.
    pub fn next(self) -> Option<Inst<'f>> {
        self.data.next.map(|i| self.func.inst(i))
    }
}

impl fmt::Debug for Inst<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data.fmt(f)
    }
}

impl<'f> Region<'f> {
    pub(super) fn new(func: &'f Func, id: RegionId, data: &'f RegionData) -> Region<'f> {
        Region { func, id, data }
    }

    /// Returns the region's id.
    pub fn id(self) -> RegionId {
        self.id
    }

    /// Returns the function that contains the region.
    pub fn func(self) -> &'f Func {
        self.func
    }

    /// Returns all arguments.
    pub fn args(self) -> &'f [ValueId] {
        &self.data.args
    }

    /// Returns the arguments that the operation provides, without captured ones ([`Inst::captures`]).
    pub fn own_args(self) -> &'f [ValueId] {
        let captures = self.owner().map_or(0, |i| i.captures().len());
        &self.data.args[..self.data.args.len().saturating_sub(captures)]
    }

    /// Returns the arguments that stand for the captures of the owner, in the same order.
    pub fn captured_args(self) -> &'f [ValueId] {
        &self.data.args[self.own_args().len()..]
    }

    /// Returns the instruction that the region belongs to; `None` for a function's body.
    pub fn owner(self) -> Option<Inst<'f>> {
        self.data.owner.map(|i| self.func.inst(i))
    }

    /// Returns the instructions in execution order. The last one is [`Op::Return`].
    pub fn insts(self) -> Insts<'f> {
        Insts { func: self.func, ends: self.data.first.zip(self.data.last) }
    }

    /// Returns the first instruction.
    pub fn first(self) -> Option<Inst<'f>> {
        self.data.first.map(|i| self.func.inst(i))
    }

    /// Returns the last instruction.
    pub fn last(self) -> Option<Inst<'f>> {
        self.data.last.map(|i| self.func.inst(i))
    }

    /// Returns the instructions if there are exactly `N`.
    pub fn exactly<const N: usize>(self) -> Option<[Inst<'f>; N]> {
        let insts: Vec<Inst<'f>> = self.insts().take(N + 1).collect();
        insts.try_into().ok()
    }

    /// Returns the terminator, if present.
    pub fn terminator(self) -> Option<Inst<'f>> {
        self.last().filter(|i| *i.op() == Op::Return)
    }

    /// Returns the values that the region returns; empty without a terminator.
    pub fn returned(self) -> &'f [ValueId] {
        self.terminator().map_or(&[], Inst::operands)
    }

    /// Calls `visit` for every instruction, including those in nested regions, in the order of the text.
    pub fn walk(self, visit: &mut dyn FnMut(Inst<'f>)) {
        for inst in self.insts() {
            visit(inst);
            inst.regions().for_each(|r| r.walk(visit));
        }
    }
}

impl fmt::Debug for Region<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.insts()).finish()
    }
}

/// The instructions of a region, in order.
#[derive(Clone)]
pub struct Insts<'f> {
    func: &'f Func,
    /// The next instructions at the front and at the back.
    ends: Option<(InstId, InstId)>,
}

impl<'f> Iterator for Insts<'f> {
    type Item = Inst<'f>;

    fn next(&mut self) -> Option<Inst<'f>> {
        let (first, last) = self.ends?;
        let inst = self.func.inst(first);
        self.ends = if first == last { None } else { inst.data.next.map(|n| (n, last)) };
        Some(inst)
    }
}

impl<'f> DoubleEndedIterator for Insts<'f> {
    fn next_back(&mut self) -> Option<Inst<'f>> {
        let (first, last) = self.ends?;
        let inst = self.func.inst(last);
        self.ends = if first == last { None } else { inst.data.prev.map(|p| (first, p)) };
        Some(inst)
    }
}
