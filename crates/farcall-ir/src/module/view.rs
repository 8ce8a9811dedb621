//! Read access to instructions and regions: a function and an id in it.

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

/// A region of a function. A single block: arguments, then instructions, the last of which returns.
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

    /// Its number.
    pub fn id(self) -> InstId {
        self.id
    }

    /// The function that it belongs to.
    pub fn func(self) -> &'f Func {
        self.func
    }

    /// What it does.
    pub fn op(self) -> &'f Op {
        &self.data.op
    }

    /// What it takes; what its regions capture is at the end (see [`Inst::captures`]).
    pub fn operands(self) -> &'f [ValueId] {
        &self.data.operands
    }

    /// Operands that are handed to every region, behind the arguments that the operation gives it. There
    /// are none in programs as they are read, whose regions refer to values around them; in the middle
    /// form, whose regions do not, they are all that a region sees.
    pub fn captures(self) -> &'f [ValueId] {
        let own = self.data.operands.len().saturating_sub(self.data.captures as usize);
        &self.data.operands[own..]
    }

    /// Operands of the operation itself, without [`Inst::captures`].
    pub fn own_operands(self) -> &'f [ValueId] {
        let own = self.data.operands.len().saturating_sub(self.data.captures as usize);
        &self.data.operands[..own]
    }

    /// What it returns.
    pub fn results(self) -> &'f [ValueId] {
        &self.data.results
    }

    /// Nested regions: reducers, loop bodies, branches.
    pub fn regions(self) -> impl ExactSizeIterator<Item = Region<'f>> + DoubleEndedIterator + use<'f> {
        self.data.regions.iter().map(move |r| self.func.region(*r))
    }

    /// The numbers of the nested regions.
    pub fn region_ids(self) -> &'f [RegionId] {
        &self.data.regions
    }

    /// Nested region number `i`.
    pub fn region(self, i: usize) -> Option<Region<'f>> {
        self.data.regions.get(i).map(|r| self.func.region(*r))
    }

    /// The number of the region that an `if` or a `case` runs for a predicate or an index: for an index out
    /// of range, the last one.
    pub fn chosen(self, index: Scalar) -> usize {
        let last = self.data.regions.len().saturating_sub(1);
        match self.data.op {
            Op::If => usize::from(!index.as_bool()),
            _ => usize::try_from(index.as_i64()).map_or(last, |i| i.min(last)),
        }
    }

    /// Attributes that are not part of the operation (`mhlo.frontend_attributes` and the like).
    pub fn attrs(self) -> &'f AttrDict {
        &self.data.attrs
    }

    /// Where its name stands in the text.
    pub fn span(self) -> Span {
        self.data.span
    }

    /// The location that it was given with `loc(…)`.
    pub fn loc(self) -> Option<&'f Arc<Loc>> {
        self.data.loc.as_ref()
    }

    /// Where it stands in the text that the program was read from; for a program without text, what its location says.
    /// Empty if neither says something.
    pub fn place(self, source: &Source) -> String {
        match self.loc().filter(|_| source.is_none()) {
            Some(loc) => loc.place().unwrap_or_default(),
            None => source.place(self.span()),
        }
    }

    /// The region that it stands in; none if it was taken out.
    pub fn parent(self) -> Option<Region<'f>> {
        self.data.parent.map(|r| self.func.region(r))
    }

    /// The next instruction of its region.
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

    /// Its number.
    pub fn id(self) -> RegionId {
        self.id
    }

    /// The function that it belongs to.
    pub fn func(self) -> &'f Func {
        self.func
    }

    /// Arguments.
    pub fn args(self) -> &'f [ValueId] {
        &self.data.args
    }

    /// Arguments that the operation gives it, without those that its instruction captures
    /// ([`Inst::captures`]).
    pub fn own_args(self) -> &'f [ValueId] {
        let captures = self.owner().map_or(0, |i| i.captures().len());
        &self.data.args[..self.data.args.len().saturating_sub(captures)]
    }

    /// Arguments that are what its instruction captures, in the same order.
    pub fn captured_args(self) -> &'f [ValueId] {
        &self.data.args[self.own_args().len()..]
    }

    /// The instruction that it belongs to; none for a function's body.
    pub fn owner(self) -> Option<Inst<'f>> {
        self.data.owner.map(|i| self.func.inst(i))
    }

    /// The instructions in order of execution; the last one is [`Op::Return`].
    pub fn insts(self) -> Insts<'f> {
        Insts { func: self.func, ends: self.data.first.zip(self.data.last) }
    }

    /// The first instruction.
    pub fn first(self) -> Option<Inst<'f>> {
        self.data.first.map(|i| self.func.inst(i))
    }

    /// The last instruction.
    pub fn last(self) -> Option<Inst<'f>> {
        self.data.last.map(|i| self.func.inst(i))
    }

    /// The instructions, if they are `N`.
    pub fn exactly<const N: usize>(self) -> Option<[Inst<'f>; N]> {
        let insts: Vec<Inst<'f>> = self.insts().take(N + 1).collect();
        insts.try_into().ok()
    }

    /// The terminator, if there is one.
    pub fn terminator(self) -> Option<Inst<'f>> {
        self.last().filter(|i| *i.op() == Op::Return)
    }

    /// What the region returns; nothing if it has no terminator.
    pub fn returned(self) -> &'f [ValueId] {
        self.terminator().map_or(&[], Inst::operands)
    }

    /// Calls `visit` for every instruction, those of nested regions included, in order of the text.
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
    /// The next one from either end.
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
