//! Generations of instructions: members of one generation can be computed together.

use super::roles::{Level, Role, Roles};
use crate::middle::passes::is_pure;
use crate::module::{Func, Inst, InstId, InstMap};

/// Generations of the instructions of the regions added so far.
pub(in crate::middle::passes) struct Generations {
    of: InstMap<u32>,
    /// Lowest generation among the users of each instruction; `None` unless all users are members with the
    /// same number of elements.
    takers: InstMap<Option<u32>>,
}

impl Generations {
    /// Creates an empty table; [`Generations::add`] fills it in.
    pub(in crate::middle::passes) fn new(func: &Func) -> Generations {
        Generations { of: InstMap::new(func), takers: InstMap::new(func) }
    }

    /// The generation of an instruction, if its region has been added.
    pub(in crate::middle::passes) fn get(&self, inst: InstId) -> Option<u32> {
        self.of.get(inst)
    }

    /// The generation of an instruction whose region has been added.
    pub(in crate::middle::passes) fn of(&self, inst: InstId) -> u32 {
        self.of.get(inst).expect("an instruction of a region has a generation")
    }

    /// Determines the generations of the instructions of a region.
    pub(in crate::middle::passes) fn add(&mut self, insts: &[Inst<'_>], roles: &Roles) {
        let mut effect = 0;
        for inst in insts {
            let own = roles.of(inst.id());
            let mut generation = 0;
            for v in inst.operands() {
                let Some(from) = inst.func().defining_inst(*v) else { continue };
                let Some(before) = self.of.get(from.id()) else { continue };
                let leaves = match (roles.of(from.id()), own) {
                    (Role::Member(_, Level::Column), _) => true,
                    // Within a fusion, a value per row is combined with all elements only after a broadcast
                    // along the rows. A scalar predicate or bound is an operand without a broadcast, so its
                    // producer is in another fusion.
                    (Role::Member(_, Level::Row), Role::Member(_, Level::Full)) => true,
                    (Role::Member(n, _), Role::Member(m, _) | Role::Repeat(m)) => n != m,
                    (Role::Repeat(n), Role::Member(m, level)) => n != m || level != Level::Full,
                    (Role::Member(..) | Role::Repeat(_), _) => true,
                    (Role::Cheap | Role::Other, _) => false,
                };
                generation = generation.max(before + u32::from(leaves));
            }
            if !is_pure(*inst) {
                generation = generation.max(effect);
                effect = generation;
            }
            self.of.insert(inst.id(), generation);
        }
        self.postpone(insts, roles);
    }

    /// Moves members whose users are all members of later generations, with the same number of elements, to
    /// the earliest of these generations. The results of the moved members need not be stored.
    fn postpone(&mut self, insts: &[Inst<'_>], roles: &Roles) {
        for inst in insts.iter().rev() {
            let own = roles.of(inst.id());
            if let (Role::Member(_, Level::Full), Some(Some(lowest))) = (own, self.takers.get(inst.id())) {
                self.of.insert(inst.id(), lowest);
            }
            let generation = self.of(inst.id());
            for v in inst.operands() {
                let Some(from) = inst.func().defining_inst(*v).filter(|from| self.get(from.id()).is_some())
                else {
                    continue;
                };
                let joins = match (roles.of(from.id()), own) {
                    (Role::Member(n, Level::Full), Role::Member(m, _)) => n == m,
                    _ => false,
                };
                let lowest = self.takers.get(from.id()).unwrap_or(Some(u32::MAX));
                self.takers.insert(from.id(), lowest.filter(|_| joins).map(|g| g.min(generation)));
            }
        }
    }
}
